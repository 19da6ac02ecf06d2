//! What a checkpoint, a commit or the uncommitted work has changed, with the owner of each line.

use std::collections::HashMap;

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::super::{
    Context,
    attribution::{self, Attribution, FileLines, Options, PatchFile, Target, Who, of_checkpoints},
    called::called,
    lookup,
    notes::Reader,
};
use crate::{
    error::Result,
    git::Repo,
    model::{attribution::summary::Figures, change::Change, checkpoint::Checkpoint, line_diff::Hunk},
    state,
};

/// Of how many files the lines are read at once; those of the others once they are asked for.
pub(super) const MOST_AT_ONCE: usize = 200;
/// How many bytes of files are read at once to find the owners of their lines.
const MOST_BYTES: u64 = 16 << 20;

/// What was changed, and by which checkpoint or commit.
#[derive(Debug)]
pub(crate) struct Details {
    /// What is known of it.
    pub(crate) about: About,
    /// The files, by path.
    pub(crate) files: Vec<File>,
    /// The errors of what cannot be read.
    pub(crate) troubles: Vec<String>,
}

/// What is known of a checkpoint or a commit.
#[derive(Debug)]
pub(crate) enum About {
    /// The uncommitted work.
    Worktree,
    /// A commit: its author, the time (in Unix seconds, with an offset), and the first paragraph of its message.
    Commit(ObjectId, String, (i64, i32), String),
    /// A checkpoint, what it is called, its note, and what its agent was asked in that turn.
    Checkpoint(Box<Checkpoint>, String, Option<String>, Option<String>),
    /// Two states.
    Compared,
}

/// A file that was changed.
#[derive(Debug)]
pub(crate) struct File {
    /// The path.
    pub(crate) path: BString,
    /// Where a renamed file was.
    pub(crate) old_path: Option<BString>,
    /// What happened to it, as `--name-status` says it.
    pub(crate) letter: char,
    /// The lines that were added and deleted, if they were counted.
    pub(crate) counted: Option<(u32, u32)>,
    /// Whose lines were added, if that is known.
    pub(crate) figures: Option<Figures>,
    /// The changed lines, if they were read.
    pub(crate) lines: Option<Lines>,
}

/// Changed lines.
#[derive(Debug)]
pub(crate) struct Lines {
    /// True if there are none, because the file has no lines.
    pub(crate) is_binary: bool,
    /// The hunks; in each, the owners of its added lines, in order, if they are known.
    pub(crate) hunks: Vec<(Hunk, Option<Vec<Who>>)>,
}

impl From<PatchFile> for Lines {
    fn from(file: PatchFile) -> Self {
        let hunks = file.hunks.into_iter().map(|(hunk, owners)| (hunk, Some(owners)));
        Self { is_binary: file.is_binary, hunks: hunks.collect() }
    }
}

impl From<Change> for File {
    fn from(change: Change) -> Self {
        Self {
            path: change.path,
            old_path: change.old_path,
            letter: change.status.letter(),
            counted: None,
            figures: None,
            lines: None,
        }
    }
}

pub(super) fn of_worktree(context: &Context, pathspecs: &[BString], only: Option<&BString>) -> Result<Details> {
    let pathspecs = only.map_or_else(|| pathspecs.to_vec(), |path| vec![literal(path)]);
    let options = Options { target: Target::Worktree, pathspecs, patch: true, ..Options::default() };
    let found = attribution::attribution(context, &options)?;
    let troubles = found.troubles.clone();
    Ok(Details { about: About::Worktree, files: files(found), troubles })
}

pub(super) fn of_commit(
    context: &Context,
    id: ObjectId,
    pathspecs: &[BString],
    only: Option<&BString>,
) -> Result<Details> {
    let repo = &context.repo;
    let header = repo.headers_of(&[id])?.into_iter().next();
    let parent = repo.parents_of(id)?.first().copied();
    // Also for the first commit of a shallow clone: the attribution says what is wrong.
    let parent = parent.filter(|parent| repo.has_object(*parent));
    let before = parent.map_or_else(|| Ok(repo.empty_tree_id()), |parent| repo.tree_of_commit(parent))?;
    let changes = changes(context, (before, repo.tree_of_commit(id)?), pathspecs)?;
    let wanted = at_once(repo, &changes, only);
    let pathspecs: Vec<BString> = wanted.iter().map(|change| literal(&change.path)).collect();
    let options = Options { target: Target::Revision(id.to_string()), pathspecs, patch: true, ..Options::default() };
    let (found, troubles) = if wanted.is_empty() {
        (Vec::new(), Vec::new())
    } else {
        let found = attribution::attribution(context, &options)?;
        let troubles = found.troubles.clone();
        (files(found), troubles)
    };
    let about = header.map_or(About::Compared, |it| About::Commit(id, it.author, (it.seconds, it.offset), it.subject));
    Ok(Details { about, files: joined(changes, found), troubles })
}

pub(super) fn of_checkpoint(
    context: &Context,
    before: ObjectId,
    id: ObjectId,
    pathspecs: &[BString],
    only: Option<&BString>,
) -> Result<Details> {
    let repo = &context.repo;
    let checkpoint = lookup::checkpoint(context, id)?;
    let changes = changes(context, (repo.tree_of_commit(before)?, checkpoint.tree_id), pathspecs)?;
    let (files, troubles) = with_owners(context, before, &checkpoint, changes, only)?;
    let note = Reader::new(repo)?.text(&id).or_else(|| checkpoint.origin.note.clone());
    let called = called(repo, &checkpoint);
    let prompt = prompt(context, &checkpoint);
    let about = About::Checkpoint(Box::new(checkpoint), called, note, prompt);
    Ok(Details { about, files, troubles })
}

/// Returns the files of `changes`, the differences from `before` to `checkpoint`, with the owners of the lines of the first ones, or
/// of `only` one.
pub(super) fn with_owners(
    context: &Context,
    before: ObjectId,
    checkpoint: &Checkpoint,
    changes: Vec<Change>,
    only: Option<&BString>,
) -> Result<(Vec<File>, Vec<String>)> {
    let wanted = at_once(&context.repo, &changes, only);
    let found = if wanted.is_empty() { None } else { of_checkpoints(context, before, checkpoint, &wanted)? };
    let troubles = found.as_ref().map(|found| found.troubles.clone()).unwrap_or_default();
    Ok((joined(changes, found.map(files).unwrap_or_default()), troubles))
}

/// Returns the changes between two trees that `pathspecs` select, by path.
pub(super) fn changes(
    context: &Context,
    (before, after): (ObjectId, ObjectId),
    pathspecs: &[BString],
) -> Result<Vec<Change>> {
    let repo = &context.repo;
    let mut changes = repo.diff_trees(before, after)?;
    if !pathspecs.is_empty() {
        let mut pathspec = repo.pathspec(pathspecs)?;
        changes.retain(|change| pathspec.matches(change.path.as_bstr()));
    }
    context.check_interrupt()?;
    let mut changes = repo.detect_renames(changes)?;
    changes.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(changes)
}

/// Returns those of `changes` whose lines are read now: that of `only`, or the first ones.
fn at_once(repo: &Repo, changes: &[Change], only: Option<&BString>) -> Vec<Change> {
    if let Some(only) = only {
        return changes.iter().filter(|change| change.path == *only).cloned().collect();
    }
    let mut left = MOST_BYTES;
    let has_room = |change: &&Change| {
        let leaves = [change.before, change.after].into_iter().flatten();
        let size = leaves.map(|leaf| repo.size_of_object(leaf.id).unwrap_or_default()).sum::<u64>();
        let is_small = size <= left;
        left = left.saturating_sub(size);
        is_small
    };
    changes.iter().take(MOST_AT_ONCE).take_while(has_room).cloned().collect()
}

fn files(found: Attribution) -> Vec<File> {
    let mut patches: HashMap<BString, PatchFile> =
        found.patch.into_iter().map(|patch| (patch.path.clone(), patch)).collect();
    let file = |file: FileLines| {
        let patch = patches.remove(&file.path);
        let letter = match patch.as_ref().map(|patch| patch.sides) {
            _ if file.old_path.is_some() => 'R',
            Some((false, _)) => 'A',
            Some((_, false)) => 'D',
            _ => 'M',
        };
        File {
            path: file.path,
            old_path: file.old_path,
            letter,
            counted: Some((file.added, file.deleted)),
            figures: Some(file.figures),
            lines: patch.map(Lines::from),
        }
    };
    found.files.into_iter().map(file).collect()
}

/// Returns the files of `changes`; those that are in `found` as they are there.
fn joined(changes: Vec<Change>, found: Vec<File>) -> Vec<File> {
    let mut found: HashMap<BString, File> = found.into_iter().map(|file| (file.path.clone(), file)).collect();
    let file = |change: Change| match found.remove(&change.path) {
        Some(file) => File { letter: change.status.letter(), old_path: change.old_path, ..file },
        None => change.into(),
    };
    changes.into_iter().map(file).collect()
}

/// Returns the pathspec that only matches `path`.
pub(super) fn literal(path: &BString) -> BString {
    [b":(top,literal)", path.as_slice()].concat().into()
}

/// Returns what the agent was asked in the turn of `checkpoint`, as far as this clone knows it.
fn prompt(context: &Context, checkpoint: &Checkpoint) -> Option<String> {
    let (session, turn) = (checkpoint.origin.session.as_ref()?, checkpoint.origin.turn?);
    let prompts = state::sessions::prompts(context.repo.common_dir(), session).ok()?;
    prompts.into_iter().find(|prompt| prompt.turn == turn).map(|prompt| prompt.text)
}
