//! Which checkpoints a list has.

use std::collections::HashSet;

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::{entry::Entry, marks::Marked};
use crate::{
    error::{Context as _, Error, Kind, Result},
    git::{Repo, pathspec::Pathspec},
    model::checkpoint::Checkpoint,
    ops::{Context, called::called, chain::changes, notes, restored_target::restored, session_info},
};

/// Which checkpoints to list.
#[derive(Clone, Debug, Default)]
pub struct ListOptions {
    /// Only those of this session: its id, the beginning of that, or its agent.
    pub session: Option<String>,
    /// Only those of this agent, in any case of letters.
    pub agent: Option<String>,
    /// Only those that changed one of these pathspecs (relative to the worktree's root).
    pub paths: Vec<BString>,
    /// Only those taken at or after this moment, in Unix seconds.
    pub since: Option<i64>,
    /// Only those taken at or before this moment, in Unix seconds.
    pub until: Option<i64>,
    /// Only those whose message or note matches this regular expression.
    pub grep: Option<String>,
    /// Only those that have a tag which this pattern matches, as `git tag --list` matches; each is an entry of its own.
    pub tag: Option<String>,
    /// Only those of the archive.
    pub archived: bool,
    /// Only those of live shadows.
    pub live: bool,
    /// Those of all worktrees.
    pub all_worktrees: bool,
    /// Each one; otherwise, those of one turn that follow each other are one entry, a restore is one, and a checkpoint that was
    /// carried forward to another commit is one with what was carried.
    pub all: bool,
    /// At most this many entries.
    pub limit: Option<usize>,
    /// Whether [`Entry::paths`] is wanted; it costs a tree difference for each entry.
    pub with_paths: bool,
    /// Whether [`Entry::commits`] is wanted.
    pub with_commits: bool,
}

/// Decides which checkpoints are entries of a list.
pub(super) struct Filter<'r> {
    repo: &'r Repo,
    pub(super) options: &'r ListOptions,
    /// The id of the session that is asked for.
    session: Option<String>,
    grep: Option<regex::Regex>,
    /// Those that have a tag that is asked for.
    tagged: Option<HashSet<ObjectId>>,
    pathspec: Pathspec<'r>,
    notes: notes::Reader<'r>,
    /// Why the paths of some checkpoints are not known.
    pub(super) broken: Vec<Error>,
}

impl<'r> Filter<'r> {
    pub(super) fn new(
        context: &'r Context,
        options: &'r ListOptions,
        tagged: Option<HashSet<ObjectId>>,
    ) -> Result<Self> {
        let repo = &context.repo;
        let id = |name: &String| Ok(session_info::find(context, name)?.unwrap_or_else(|| name.clone()));
        let compile = |text: &String| {
            regex::Regex::new(text).context(Kind::User, || format!("'{text}' is not a regular expression"))
        };
        let grep = options.grep.as_ref().map(compile).transpose()?;
        let session = options.session.as_ref().map(id).transpose()?;
        let (pathspec, notes) = (repo.pathspec(&options.paths)?, notes::Reader::new(repo)?);
        Ok(Self { repo, options, session, grep, tagged, pathspec, notes, broken: Vec::new() })
    }

    /// Returns the entry of `checkpoint`, if it passes all filters; the expensive ones come last.
    pub(super) fn entry(
        &mut self,
        checkpoint: Checkpoint,
        archived: bool,
        marked: impl FnOnce(&Checkpoint) -> Marked,
    ) -> Result<Option<Entry>> {
        let note = self.notes.text(&checkpoint.id).or_else(|| checkpoint.origin.note.clone());
        if !self.passes(&checkpoint, note.as_deref()) {
            return Ok(None);
        }
        let mut paths = None;
        if self.options.with_paths || !self.pathspec.is_empty() {
            let changed = match changes(self.repo, &checkpoint) {
                Err(error) if error.kind() == Kind::Corrupt => {
                    self.broken.push(error);
                    Vec::new()
                }
                changed => changed?,
            };
            if !self.pathspec.is_empty() && !changed.iter().any(|change| self.pathspec.matches(change.path.as_bstr())) {
                return Ok(None);
            }
            paths = self.options.with_paths.then(|| changed.into_iter().map(|change| change.path).collect());
        }
        let Marked { tags, verified, start } = marked(&checkpoint);
        let restored = restored(&checkpoint.origin);
        let called = called(self.repo, &checkpoint);
        let (number, commits, folded, undone) = (None, Vec::new(), 0, false);
        let before = checkpoint.before_id();
        Ok(Some(Entry {
            checkpoint,
            number,
            called,
            restored,
            commits,
            paths,
            tags,
            note,
            verified,
            start,
            archived,
            is_set_aside: false,
            undone,
            folded,
            before,
        }))
    }

    fn passes(&self, checkpoint: &Checkpoint, note: Option<&str>) -> bool {
        let (options, origin) = (self.options, &checkpoint.origin);
        let is_agent = |agent: &String| origin.agent.as_ref().is_some_and(|it| it.eq_ignore_ascii_case(agent));
        let says = |grep: &regex::Regex| {
            grep.is_match(&checkpoint.subject)
                || grep.is_match(&checkpoint.body)
                || note.is_some_and(|note| grep.is_match(note))
        };
        // A restore of an agent's work is the user's.
        let is_of_agent = restored(origin).is_none();
        self.tagged.as_ref().is_none_or(|tagged| tagged.contains(&checkpoint.id))
            && self.session.as_ref().is_none_or(|session| is_of_agent && origin.session.as_ref() == Some(session))
            && options.agent.as_ref().is_none_or(|agent| is_of_agent && is_agent(agent))
            && options.since.is_none_or(|since| checkpoint.seconds >= since)
            && options.until.is_none_or(|until| checkpoint.seconds <= until)
            && self.grep.as_ref().is_none_or(says)
    }
}
