//! Lists checkpoints.

mod commits;
mod entry;
mod filter;
mod fold;
mod marks;
mod walk;

use std::{collections::HashSet, vec};

use gix::ObjectId;

pub(super) use self::entry::serialize_checkpoint;
pub(super) use self::marks::{Marked, Marks};
pub use self::{
    entry::{Commit, Entry},
    filter::ListOptions,
};
use super::Context;
use crate::{
    error::{Error, Result},
    git::Repo,
};
use commits::Commits;
use filter::Filter;
use fold::Group;
use walk::Walk;

/// Calls `each` with the checkpoints that `options` select, newest first, until it returns false. Returns the errors of
/// broken chains, whose earlier checkpoints are left out.
///
/// # Errors
/// If the regular expression or a pathspec is malformed, or a checkpoint cannot be read.
pub fn list(
    context: &Context,
    options: &ListOptions,
    each: &mut dyn FnMut(Entry) -> Result<bool>,
) -> Result<Vec<Error>> {
    let mut listing = Listing::new(context, options)?;
    while let Some(entry) = listing.next()? {
        if !each(entry)? {
            break;
        }
    }
    Ok(listing.into_broken())
}

/// Returns true if a worktree of the repository, this one or another, has a checkpoint that can be read.
pub(crate) fn is_any(context: &Context) -> bool {
    let options = ListOptions { all_worktrees: true, limit: Some(1), ..ListOptions::default() };
    Listing::new(context, &options).is_ok_and(|mut listing| matches!(listing.next(), Ok(Some(_))))
}

/// A list that is read as far as it is needed.
pub(crate) struct Listing<'r> {
    repo: &'r Repo,
    walk: Walk<'r>,
    filter: Filter<'r>,
    marks: Marks<'r>,
    commits: Option<Commits<'r>>,
    /// Those that have a tag, if only these are listed: few, among many.
    tagged: Option<vec::IntoIter<Entry>>,
    /// An entry into which earlier checkpoints may still be folded.
    open: Option<Group>,
    /// The entry after one that was just returned.
    closed: Option<Group>,
    /// How many entries may still be returned.
    left: usize,
}

impl<'r> Listing<'r> {
    /// Begins the list of what `options` select, newest first.
    ///
    /// # Errors
    /// As [`list`].
    pub(crate) fn new(context: &'r Context, options: &'r ListOptions) -> Result<Self> {
        let repo = &context.repo;
        let mut marks = Marks::read(repo, options.all_worktrees)?;
        let tagged = options.tag.as_ref().map(|pattern| marks.matching(pattern));
        let mut filter = Filter::new(context, options, tagged.clone())?;
        let left = options.limit.unwrap_or(usize::MAX);
        let mut walk = if left == 0 { Walk::empty(repo, options)? } else { Walk::new(repo, options)? };
        let tagged = match tagged.filter(|_| left > 0) {
            Some(tagged) => Some(all_tagged(&mut walk, &mut filter, &mut marks, &tagged)?.into_iter()),
            None => None,
        };
        let commits = if options.with_commits && tagged.is_none() { Some(Commits::since_head(repo)?) } else { None };
        Ok(Self { repo, walk, filter, marks, commits, tagged, open: None, closed: None, left })
    }

    /// Returns the next entry; none at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Entry>> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        if let Some(tagged) = &mut self.tagged {
            return Ok(tagged.next());
        }
        let Some(Group { mut entry, .. }) = self.next_group()? else { return Ok(None) };
        if let Some(commits) = &mut self.commits {
            entry.commits = commits.down_to(&entry.checkpoint);
        }
        Ok(Some(entry))
    }

    fn next_group(&mut self) -> Result<Option<Group>> {
        if let Some(closed) = self.closed.take() {
            return Ok(Some(closed));
        }
        while let Some(entry) = self.walk.next(&mut self.filter, &mut self.marks)? {
            if let Some(group) = self.open.as_mut().filter(|group| group.takes(self.repo, &entry)) {
                group.fold(self.repo, entry);
                continue;
            }
            let group = Group::new(self.repo, entry);
            // Pass on at once what no earlier one can be folded into: the caller may need no further one.
            let may_take_more = !self.filter.options.all && group.may_take_more();
            match (self.open.take(), may_take_more) {
                (None, false) => return Ok(Some(group)),
                (None, true) => self.open = Some(group),
                (Some(before), false) => {
                    self.closed = Some(group);
                    return Ok(Some(before));
                }
                (Some(before), true) => {
                    self.open = Some(group);
                    return Ok(Some(before));
                }
            }
        }
        Ok(self.open.take())
    }

    /// Returns why some checkpoints are left out, as far as the list was read.
    pub(crate) fn broken(&self) -> impl Iterator<Item = &Error> {
        self.walk.broken().iter().chain(&self.filter.broken)
    }

    fn into_broken(mut self) -> Vec<Error> {
        let mut broken = self.walk.into_broken();
        broken.append(&mut self.filter.broken);
        broken
    }
}

/// Returns the entries of those that are `tagged`, newest first.
fn all_tagged(
    walk: &mut Walk<'_>,
    filter: &mut Filter<'_>,
    marks: &mut Marks<'_>,
    tagged: &HashSet<ObjectId>,
) -> Result<Vec<Entry>> {
    let mut entries = walk.beside(tagged, filter, marks)?;
    while let Some(entry) = walk.next(filter, marks)? {
        entries.push(entry);
    }
    // Those of the walk are in order already.
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.checkpoint.seconds));
    Ok(entries)
}
