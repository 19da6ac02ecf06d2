//! Lists checkpoints.

mod commits;
mod entry;
mod fold;

use std::collections::{HashMap, HashSet};

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

pub(super) use self::entry::serialize_checkpoint;
pub use self::entry::{Commit, Entry};
use super::{
    Context,
    called::called,
    chain::{
        changes,
        timeline::{self, Numbers, Timeline},
    },
    lookup,
    restored_target::restored,
    session_info,
    start::StartSearch,
    verified_mark,
};
use crate::{
    error::{Context as _, Error, Kind, Result},
    git::{Repo, pathspec::Pathspec},
    model::{
        checkpoint::Checkpoint,
        refname::{self, Base, verified_ref},
    },
};
use commits::Commits;
use fold::Group;

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
    let mut filter = Filter::new(context, options)?;
    let mut marks = Marks::read(repo, options.all_worktrees)?;
    if let Some(tag) = &options.tag {
        let checkpoint = lookup::checkpoint(context, tagged(repo, tag)?)?;
        let archived = timeline::archived_tips(repo, None)?.iter().any(|tip| tip.id == checkpoint.id);
        if let Some(entry) = filter.entry(checkpoint, archived, |it| marks.of(it, &HashSet::new()))? {
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
            group.entry.commits = commits.down_to(&group.entry.checkpoint);
        }
        Ok(each(group.entry)? && left > 0)
    };
    let base = Base::of_head(repo.head()?.id);
    let mut open: Option<Group> = None;
    let worktree = (!options.all_worktrees).then(|| repo.worktree_id());
    let tips = timeline::all_tips(repo, worktree)?;
    let (mut timeline, mut numbers) = (Timeline::new(repo, &tips)?, Numbers::of(&tips));
    while let Some((checkpoint, archived)) = timeline.next() {
        let number = numbers.next(checkpoint.id, archived);
        if (archived && options.live) || (!archived && options.archived) {
            continue;
        }
        let marked = |checkpoint: &Checkpoint| marks.of(checkpoint, timeline.read());
        let Some(mut entry) = filter.entry(checkpoint, archived, marked)? else { continue };
        entry.undone = number.is_none();
        entry.number = worktree.and(number);
        // A commit moves HEAD on from the checkpoints that it sets aside.
        let is_here = worktree.is_some() && entry.checkpoint.base == base;
        entry.is_set_aside = archived && is_here && !(entry.undone || options.archived);
        if let Some(group) = open.as_mut().filter(|group| group.takes(repo, &entry)) {
            group.fold(repo, entry);
            continue;
        }
        if let Some(group) = open.take()
            && !emit(group)?
        {
            return Ok(filter.broken);
        }
        let group = Group::new(repo, entry);
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

/// The names of checkpoints besides their ids.
pub(super) struct Marks<'r> {
    tags: HashMap<ObjectId, Vec<String>>,
    verified: HashSet<ObjectId>,
    /// What finds the start, if nothing is marked as verified.
    start: Option<StartSearch<'r>>,
}

/// What is said of a checkpoint beside its message.
#[derive(Clone, Debug, Default)]
pub(super) struct Marked {
    pub(super) tags: Vec<String>,
    pub(super) verified: bool,
    pub(super) start: bool,
}

impl<'r> Marks<'r> {
    /// Reads the tags, and the marks of this worktree or of all.
    pub(super) fn read(repo: &'r Repo, all_worktrees: bool) -> Result<Self> {
        let mut tags: HashMap<_, Vec<_>> = HashMap::new();
        for (name, id) in repo.refs_below(refname::TAGS)? {
            let tag = name.strip_prefix(refname::TAGS).and_then(refname::decode_component);
            if let Some(tag) = tag {
                tags.entry(id).or_default().push(tag.to_string());
            }
        }
        let mut verified = repo.refs_below(refname::VERIFIED)?;
        if !all_worktrees {
            let own = verified_ref(repo.worktree_id());
            verified.retain(|(name, _)| *name == own);
        }
        let verified = verified.into_iter().map(|(_, id)| id).collect();
        let start = match verified_mark::marked(repo)? {
            Some(_) => None,
            // Of a broken chain, the list has what it can read.
            None => StartSearch::new(repo).ok().flatten(),
        };
        Ok(Self { tags, verified, start })
    }

    /// Returns what names `checkpoint`; `read` are checkpoints that were read already.
    pub(super) fn of(&mut self, checkpoint: &Checkpoint, read: &HashSet<ObjectId>) -> Marked {
        let is_start = |search: &mut StartSearch<'_>| search.is_start(checkpoint, read).unwrap_or(false);
        Marked {
            tags: self.tags.get(&checkpoint.id).cloned().unwrap_or_default(),
            verified: self.verified.contains(&checkpoint.id),
            start: self.start.as_mut().is_some_and(is_start),
        }
    }
}

struct Filter<'r> {
    repo: &'r Repo,
    options: &'r ListOptions,
    /// The id of the session that is asked for.
    session: Option<String>,
    grep: Option<regex::Regex>,
    pathspec: Pathspec<'r>,
    /// Why the paths of some checkpoints are not known.
    broken: Vec<Error>,
}

impl<'r> Filter<'r> {
    fn new(context: &'r Context, options: &'r ListOptions) -> Result<Self> {
        let repo = &context.repo;
        let id = |name: &String| Ok(session_info::find(context, name)?.unwrap_or_else(|| name.clone()));
        let compile = |text: &String| {
            regex::Regex::new(text).context(Kind::User, || format!("'{text}' is not a regular expression"))
        };
        let grep = options.grep.as_ref().map(compile).transpose()?;
        let session = options.session.as_ref().map(id).transpose()?;
        Ok(Self { repo, options, session, grep, pathspec: repo.pathspec(&options.paths)?, broken: Vec::new() })
    }

    /// Returns the entry of `checkpoint`, if it passes all filters; the expensive ones come last.
    fn entry(
        &mut self,
        checkpoint: Checkpoint,
        archived: bool,
        marked: impl FnOnce(&Checkpoint) -> Marked,
    ) -> Result<Option<Entry>> {
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
        let Marked { tags, verified, start } = marked(&checkpoint);
        let restored = restored(&checkpoint.origin);
        let called = called(self.repo, &checkpoint);
        let (number, commits, folded, undone) = (None, Vec::new(), 0, false);
        Ok(Some(Entry {
            checkpoint,
            number,
            called,
            restored,
            commits,
            paths,
            tags,
            verified,
            start,
            archived,
            is_set_aside: false,
            undone,
            folded,
        }))
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
        self.session.as_ref().is_none_or(|session| is_of_agent && origin.session.as_ref() == Some(session))
            && options.agent.as_ref().is_none_or(|agent| is_of_agent && is_agent(agent))
            && options.since.is_none_or(|since| checkpoint.seconds >= since)
            && options.until.is_none_or(|until| checkpoint.seconds <= until)
            && self.grep.as_ref().is_none_or(says)
    }
}
