//! Whose the lines are: of a commit, of a range of commits, or of what is not committed yet.
//!
//! What git counts as added and deleted is what is counted here, always; records only tell whose it is.

mod authors;
mod commit;
mod export;
mod file;
mod patch;
mod present;
mod recorded;
mod worktree;

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;
use serde::Serialize;

use super::Context;
use crate::{
    error::{Error, Result},
    model::{
        attribution::{kind::Kind, summary::Figures},
        id_text, path_text,
        record::RecordId,
    },
};

pub(crate) use authors::Authors;
pub(crate) use commit::{OfCommit, OfFile, Reader};
pub use export::{agent_trace, git_ai};
pub(crate) use file::{BlobOwners, Text};
pub use patch::PatchFile;
use present::Sum;
pub(crate) use present::who;
pub(crate) use worktree::uncommitted;

/// How many commits of a range are prepared for at once.
const AT_ONCE: usize = 200;

/// What to look at, and what to find out.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What to look at.
    pub target: Target,
    /// Only these paths, relative to the worktree's root.
    pub pathspecs: Vec<BString>,
    /// Whether [`Attribution::patch`] is wanted.
    pub patch: bool,
}

/// What to look at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Target {
    /// HEAD.
    #[default]
    Head,
    /// A commit, or a range of commits in git's notation, such as `main..topic`.
    Revision(String),
    /// What is not committed yet, in this worktree.
    Worktree,
}

/// Whose the lines are. Serializes to what `attribution --json` prints.
#[derive(Clone, Debug, Serialize)]
pub struct Attribution {
    /// The version of the JSON format.
    pub version: u32,
    /// The commit; none for a range and for the worktree.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub commit: Option<ObjectId>,
    /// Its first parent; for the worktree, the commit that it stands on.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub parent: Option<ObjectId>,
    /// The range, as it was asked for.
    pub range: Option<String>,
    /// True if it is what is not committed yet.
    pub worktree: bool,
    /// The records that tell it.
    pub records: Vec<RecordId>,
    /// Agents that messages of commits without record name; they are not counted.
    pub inferred: Vec<String>,
    /// The figures of all files together.
    pub summary: Figures,
    /// What each agent has a part in, most lines first.
    pub sessions: Vec<SessionLines>,
    /// The commits of a range, newest first; empty for anything else.
    pub commits: Vec<CommitLines>,
    /// The files, by path.
    pub files: Vec<FileLines>,
    /// The changed lines, if asked for.
    #[serde(skip)]
    pub patch: Vec<PatchFile>,
    /// When the commit was made, in Unix seconds; none for a range and for the worktree.
    #[serde(skip)]
    pub seconds: Option<i64>,
    /// The committer's name and address.
    #[serde(skip)]
    pub committer: String,
    /// What was wrong with records that could not be read.
    #[serde(skip)]
    pub troubles: Vec<String>,
}

/// What an agent in a session has a part in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SessionLines {
    /// The session; none if it is not known.
    pub id: Option<String>,
    /// The agent's name.
    pub agent: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// Lines that it wrote.
    pub lines: u32,
    /// Lines that it shares with people.
    pub mixed: u32,
    /// Lines that it deleted.
    pub removed: u32,
    /// In how many files.
    pub files: u32,
}

/// A commit of a range.
#[derive(Clone, Debug, Serialize)]
pub struct CommitLines {
    /// The commit.
    #[serde(serialize_with = "id_text::serialize")]
    pub commit: ObjectId,
    /// The records that tell of it.
    pub records: Vec<RecordId>,
    /// Its figures.
    pub summary: Figures,
}

/// Whose the lines of a file are.
#[derive(Clone, Debug, Serialize)]
pub struct FileLines {
    /// The path.
    #[serde(flatten, serialize_with = "path_text::serialize_fields")]
    pub path: BString,
    /// Where a renamed file was.
    #[serde(serialize_with = "serialize_path")]
    pub old_path: Option<BString>,
    /// The blob that the lines are of; none if the file is deleted, and for a range.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub blob: Option<ObjectId>,
    /// Lines that git counts as added.
    pub added: u32,
    /// Lines that git counts as deleted.
    pub deleted: u32,
    /// Whose the file is, if it has no lines.
    pub whole: Option<Kind>,
    /// True if the file was too large to be looked at line by line.
    pub cut_off: bool,
    /// Added lines, in order; empty for a range.
    pub owners: Vec<OwnedLines>,
    /// Who deleted how many lines.
    pub deleted_by: Vec<Remover>,
    /// The figures of the file.
    #[serde(skip)]
    pub figures: Figures,
}

/// Who wrote or deleted lines.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Who {
    /// In a word.
    pub owner: Kind,
    /// The session of the agent that has a part in it.
    pub session: Option<String>,
    /// The turn of the session.
    pub turn: Option<u32>,
    /// The agent's name.
    pub agent: Option<String>,
    /// The agent's model.
    pub model: Option<String>,
    /// The helper of the agent that did it, if it was not the agent itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
}

/// Lines with one owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OwnedLines {
    /// The first, from 1.
    pub start: u32,
    /// The last.
    pub end: u32,
    /// Whose they are.
    #[serde(flatten)]
    pub who: Who,
    /// How much of them is the agent's, in percent.
    pub agent_share: u8,
}

/// Who deleted lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Remover {
    /// Who; `base` for lines that were only moved or formatted.
    #[serde(flatten)]
    pub who: Who,
    /// How many.
    pub lines: u32,
}

fn serialize_path<S: serde::Serializer>(path: &Option<BString>, serializer: S) -> Result<S::Ok, S::Error> {
    path.as_ref().map(|path| path_text::escape(path.as_bstr())).serialize(serializer)
}

/// Returns whose the lines are that `options` ask for.
///
/// # Errors
/// If the revision names no commit, or objects are missing.
pub fn attribution(context: &Context, options: &Options) -> Result<Attribution> {
    let mut sum = Sum::new(options.patch);
    match &options.target {
        Target::Worktree => worktree::add(context, options, &mut sum),
        Target::Head => one(context, options, "HEAD", &mut sum),
        Target::Revision(text) if is_range(text) => range(context, options, text, &mut sum),
        Target::Revision(text) => one(context, options, text, &mut sum),
    }?;
    Ok(sum.finish())
}

fn is_range(text: &str) -> bool {
    text.contains("..") || text.starts_with('^')
}

fn one(context: &Context, options: &Options, text: &str, sum: &mut Sum) -> Result<()> {
    let id = context.repo.find_commit(text)?.ok_or_else(|| unknown(text))?;
    let mut reader = Reader::new(context)?;
    let mut pathspec = context.repo.pathspec(&options.pathspecs)?;
    let mut wanted = |path: &BString| pathspec.matches(path.as_bstr());
    let mut patch = Vec::new();
    let commit = reader.commit_with(id, &mut wanted, &mut |file, text| {
        if options.patch {
            patch.push(PatchFile::of(file, text));
        }
        Ok(())
    })?;
    sum.commit = Some((commit.id, commit.seconds));
    sum.parent = commit.parent;
    sum.committer.clone_from(&commit.committer);
    sum.add(&commit, &reader.authors.list, true);
    sum.patch(patch, &reader.authors.list);
    sum.troubles = reader.troubles().to_vec();
    Ok(())
}

fn range(context: &Context, options: &Options, text: &str, sum: &mut Sum) -> Result<()> {
    if options.patch {
        return Err(Error::user("a patch is of one commit, not of a range")
            .with_hint("'git checkpoint attribution --patch <commit>' shows one"));
    }
    let ids = context.repo.commits_in(text)?.ok_or_else(|| unknown(text))?;
    let mut reader = Reader::new(context)?;
    let mut pathspec = context.repo.pathspec(&options.pathspecs)?;
    let mut wanted = |path: &BString| pathspec.matches(path.as_bstr());
    sum.range = Some(text.to_owned());
    for ids in ids.chunks(AT_ONCE) {
        reader.foresee(ids);
        for id in ids {
            context.check_interrupt()?;
            let commit = reader.commit(*id, &mut wanted)?;
            if options.pathspecs.is_empty() || !commit.files.is_empty() {
                sum.add(&commit, &reader.authors.list, false);
            }
        }
    }
    sum.troubles = reader.troubles().to_vec();
    Ok(())
}

/// Returns the commits that `text` names, newest first, each with whose its lines are; `each` gets them one by one.
pub(crate) fn each_commit(
    context: &Context,
    options: &Options,
    each: &mut dyn FnMut(&OfCommit, &Authors) -> Result<()>,
) -> Result<()> {
    let text = match &options.target {
        Target::Head => "HEAD",
        Target::Revision(text) => text,
        Target::Worktree => {
            return Err(Error::user("this format is of commits, not of the worktree")
                .with_hint("'--format markdown' and '--json' are of both"));
        }
    };
    let ids = if is_range(text) {
        context.repo.commits_in(text)?.ok_or_else(|| unknown(text))?
    } else {
        vec![context.repo.find_commit(text)?.ok_or_else(|| unknown(text))?]
    };
    let mut reader = Reader::new(context)?;
    let mut pathspec = context.repo.pathspec(&options.pathspecs)?;
    let mut wanted = |path: &BString| pathspec.matches(path.as_bstr());
    for ids in ids.chunks(AT_ONCE) {
        reader.foresee(ids);
        for id in ids {
            context.check_interrupt()?;
            let commit = reader.commit(*id, &mut wanted)?;
            each(&commit, &reader.authors)?;
        }
    }
    Ok(())
}

fn unknown(text: &str) -> Error {
    Error::user(format!("no commit matches '{text}'")).with_hint(match text {
        "HEAD" => "there is no commit yet; 'git checkpoint attribution --worktree' tells of the first one to come",
        _ => "'git checkpoint attribution HEAD' tells of the last commit",
    })
}
