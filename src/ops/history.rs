//! Lists checkpoints, and shows one.

mod commits;
mod fold;

use std::collections::{HashMap, HashSet};

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;
use serde::{Serialize, Serializer, ser::SerializeMap as _};

pub use super::show::{Shown, show};
use super::{
    Context,
    chain::{
        changes,
        timeline::{self, Timeline},
    },
    lookup,
    restored_target::restored,
};
use crate::{
    error::{Context as _, Error, Kind, Result},
    git::{Repo, pathspec::Pathspec},
    model::{checkpoint::Checkpoint, moment, path_text, refname},
};
use commits::Commits;
use fold::Group;

/// Which checkpoints to list.
#[derive(Clone, Debug, Default)]
pub struct ListOptions {
    /// Only those of this session.
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
    /// Only the one that this tag names.
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

/// A checkpoint in a list. Serializes to the line of `list --json`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Entry {
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// The `n` of `@{n}`, which names it; none if those of all worktrees are listed.
    pub number: Option<usize>,
    /// What a restore put back, if that is what it holds.
    pub restored: Option<Target>,
    /// The commits that HEAD was at after it and before the entry above, newest first, if they were asked for.
    pub commits: Vec<Commit>,
    /// The paths it changed, if they were asked for.
    pub paths: Option<Vec<BString>>,
    /// The tags that name it.
    pub tags: Vec<String>,
    /// True if it is the verified one of its worktree.
    pub verified: bool,
    /// True if its shadow was set aside.
    pub archived: bool,
    /// How many earlier checkpoints this entry represents as well: those of the same turn, or the one before a restore.
    pub folded: usize,
}

/// A commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Its id.
    pub id: ObjectId,
    /// The first line of its message.
    pub subject: String,
}

/// What a restore put back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The checkpoint, or another commit.
    pub id: ObjectId,
    /// The first line of its message; empty if it is gone.
    pub subject: String,
    /// True if it was taken before another restore, which an undo has reversed.
    pub is_undo: bool,
}

/// Calls `each` with the checkpoints that `options` select, newest first, until it returns false. Returns the errors of
/// broken chains, whose earlier checkpoints are left out.
///
/// # Errors
/// If the regular expression or a pathspec is malformed, the tag is unknown, or a checkpoint cannot be read.
pub fn list(
    context: &Context,
    options: &ListOptions,
    each: &mut dyn FnMut(Entry) -> Result<bool>,
) -> Result<Vec<Error>> {
    let repo = &context.repo;
    let mut filter = Filter::new(repo, options)?;
    let marks = Marks::read(repo)?;
    if let Some(tag) = &options.tag {
        let checkpoint = lookup::checkpoint(context, tagged(repo, tag)?)?;
        let archived = timeline::archived_tips(repo, None)?.iter().any(|tip| tip.id == checkpoint.id);
        if let Some(entry) = filter.entry(checkpoint, archived, &marks)? {
            each(entry)?;
        }
        return Ok(filter.broken);
    }
    if options.limit == Some(0) {
        return Ok(Vec::new());
    }
    let mut left = options.limit.unwrap_or(usize::MAX);
    let mut commits = if options.with_commits { Some(Commits::since_head(repo)?) } else { None };
    let mut emit = |mut group: Group| -> Result<bool> {
        left -= 1;
        if let Some(commits) = &mut commits {
            group.entry.commits = commits.down_to(group.entry.checkpoint.base)?;
        }
        Ok(each(group.entry)? && left > 0)
    };
    let mut open: Option<Group> = None;
    let worktree = (!options.all_worktrees).then(|| repo.worktree_id());
    let mut timeline = Timeline::new(repo, &timeline::all_tips(repo, worktree)?)?;
    for (number, (checkpoint, archived)) in timeline.by_ref().enumerate() {
        if (archived && options.live) || (!archived && options.archived) {
            continue;
        }
        let Some(mut entry) = filter.entry(checkpoint, archived, &marks)? else { continue };
        entry.number = worktree.map(|_| number);
        if let Some(group) = open.as_mut().filter(|group| group.takes(repo, &entry)) {
            group.fold(entry);
            continue;
        }
        if let Some(group) = open.take()
            && !emit(group)?
        {
            return Ok(filter.broken);
        }
        let group = Group::new(entry);
        // Pass on at once what no earlier one can be folded into: the caller may need no further one.
        if !options.all && group.may_take_more() {
            open = Some(group);
        } else if !emit(group)? {
            return Ok(filter.broken);
        }
    }
    if let Some(group) = open {
        emit(group)?;
    }
    timeline.broken.append(&mut filter.broken);
    Ok(timeline.broken)
}

fn tagged(repo: &Repo, tag: &str) -> Result<ObjectId> {
    repo.find_ref(&refname::tag_ref(tag))?.ok_or_else(|| Error::user(format!("no checkpoint is tagged '{tag}'")))
}

impl Serialize for Entry {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("version", &1)?;
        serialize_checkpoint(&self.checkpoint, &mut map)?;
        let paths: Vec<String> = self.paths.iter().flatten().map(|path| path_text::escape(path.as_bstr())).collect();
        map.serialize_entry("paths", &paths)?;
        map.serialize_entry("tags", &self.tags)?;
        map.serialize_entry("verified", &self.verified)?;
        map.serialize_entry("archived", &self.archived)?;
        map.serialize_entry("folded", &self.folded)?;
        map.serialize_entry("number", &self.number)?;
        map.serialize_entry("restored", &self.restored.as_ref().map(|target| target.id.to_string()))?;
        map.end()
    }
}

/// The fields that `list --json` and `show --json` share.
pub(super) fn serialize_checkpoint<M: serde::ser::SerializeMap>(
    checkpoint: &Checkpoint,
    map: &mut M,
) -> Result<(), M::Error> {
    let origin = &checkpoint.origin;
    map.serialize_entry("id", &checkpoint.id.to_string())?;
    map.serialize_entry("parent", &checkpoint.parent_id.to_string())?;
    if let Some(after) = checkpoint.after {
        map.serialize_entry("after", &after.to_string())?;
    }
    map.serialize_entry("tree", &checkpoint.tree_id.to_string())?;
    map.serialize_entry("base", &checkpoint.base)?;
    map.serialize_entry("worktree", &path_text::escape(checkpoint.worktree.as_bstr()))?;
    map.serialize_entry("session", &origin.session)?;
    map.serialize_entry("agent", &origin.agent)?;
    map.serialize_entry("model", &origin.model)?;
    map.serialize_entry("contributor", &origin.contributor)?;
    map.serialize_entry("turn", &origin.turn)?;
    map.serialize_entry("tool", &origin.tool)?;
    map.serialize_entry("subject", &checkpoint.subject)?;
    map.serialize_entry("time", &moment::iso(checkpoint.seconds, checkpoint.offset))
}

/// The refs that name checkpoints.
pub(super) struct Marks {
    tags: HashMap<ObjectId, Vec<String>>,
    verified: HashSet<ObjectId>,
}

impl Marks {
    pub(super) fn read(repo: &Repo) -> Result<Self> {
        let mut tags: HashMap<_, Vec<_>> = HashMap::new();
        for (name, id) in repo.refs_below(refname::TAGS)? {
            let tag = name.strip_prefix(refname::TAGS).and_then(refname::decode_component);
            if let Some(tag) = tag {
                tags.entry(id).or_default().push(tag.to_string());
            }
        }
        let verified = repo.refs_below(refname::VERIFIED)?.into_iter().map(|(_, id)| id).collect();
        Ok(Self { tags, verified })
    }

    /// Returns the tags of the checkpoint `id`, and whether it is verified.
    pub(super) fn of(&self, id: ObjectId) -> (Vec<String>, bool) {
        (self.tags.get(&id).cloned().unwrap_or_default(), self.verified.contains(&id))
    }
}

struct Filter<'r> {
    repo: &'r Repo,
    options: &'r ListOptions,
    grep: Option<regex::Regex>,
    pathspec: Pathspec<'r>,
    /// Why the paths of some checkpoints are not known.
    broken: Vec<Error>,
}

impl<'r> Filter<'r> {
    fn new(repo: &'r Repo, options: &'r ListOptions) -> Result<Self> {
        let compile = |text: &String| {
            regex::Regex::new(text).context(Kind::User, || format!("'{text}' is not a regular expression"))
        };
        let grep = options.grep.as_ref().map(compile).transpose()?;
        Ok(Self { repo, options, grep, pathspec: repo.pathspec(&options.paths)?, broken: Vec::new() })
    }

    /// Returns the entry of `checkpoint`, if it passes all filters; the expensive ones come last.
    fn entry(&mut self, checkpoint: Checkpoint, archived: bool, marks: &Marks) -> Result<Option<Entry>> {
        if !self.passes(&checkpoint) {
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
        let (tags, verified) = marks.of(checkpoint.id);
        let restored = restored(&checkpoint.origin).map(|id| fold::target(self.repo, id));
        let (number, commits, folded) = (None, Vec::new(), 0);
        Ok(Some(Entry { checkpoint, number, restored, commits, paths, tags, verified, archived, folded }))
    }

    fn passes(&self, checkpoint: &Checkpoint) -> bool {
        let (options, origin) = (self.options, &checkpoint.origin);
        let is_agent = |agent: &String| origin.agent.as_ref().is_some_and(|it| it.eq_ignore_ascii_case(agent));
        let says = |grep: &regex::Regex| {
            grep.is_match(&checkpoint.subject)
                || grep.is_match(&checkpoint.body)
                || origin.note.as_ref().is_some_and(|note| grep.is_match(note))
        };
        // A restore of an agent's work is the user's.
        let is_of_agent = restored(origin).is_none();
        options.session.as_ref().is_none_or(|session| is_of_agent && origin.session.as_ref() == Some(session))
            && options.agent.as_ref().is_none_or(|agent| is_of_agent && is_agent(agent))
            && options.since.is_none_or(|since| checkpoint.seconds >= since)
            && options.until.is_none_or(|until| checkpoint.seconds <= until)
            && self.grep.as_ref().is_none_or(says)
    }
}
