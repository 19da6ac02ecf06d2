//! Lists checkpoints.

mod commits;
mod entry;
mod filter;
mod fold;
mod marks;
mod walk;

pub(super) use self::entry::serialize_checkpoint;
pub(super) use self::marks::{Marked, Marks};
pub use self::{
    entry::{Commit, Entry},
    filter::ListOptions,
};
use super::Context;
use crate::error::{Error, Result};
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
    let repo = &context.repo;
    let mut marks = Marks::read(repo, options.all_worktrees)?;
    let mut filter = Filter::new(context, options, options.tag.as_ref().map(|pattern| marks.matching(pattern)))?;
    if options.limit == Some(0) {
        return Ok(Vec::new());
    }
    let mut walk = Walk::new(repo, options)?;
    if options.tag.is_some() {
        return list_tagged(walk, filter, marks, each);
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
    let mut open: Option<Group> = None;
    while let Some(entry) = walk.next(&mut filter, &mut marks)? {
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
    Ok(all_broken(walk, filter))
}

/// The same for those that have a tag: few, among many.
fn list_tagged(
    mut walk: Walk<'_>,
    mut filter: Filter<'_>,
    mut marks: Marks<'_>,
    each: &mut dyn FnMut(Entry) -> Result<bool>,
) -> Result<Vec<Error>> {
    let tagged = marks.matching(filter.options.tag.as_deref().unwrap_or_default());
    let mut entries = walk.beside(&tagged, &mut filter, &mut marks)?;
    while let Some(entry) = walk.next(&mut filter, &mut marks)? {
        entries.push(entry);
    }
    // Those of the walk are in order already.
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.checkpoint.seconds));
    for entry in entries.into_iter().take(filter.options.limit.unwrap_or(usize::MAX)) {
        if !each(entry)? {
            break;
        }
    }
    Ok(all_broken(walk, filter))
}

fn all_broken(walk: Walk<'_>, mut filter: Filter<'_>) -> Vec<Error> {
    let mut broken = walk.into_broken();
    broken.append(&mut filter.broken);
    broken
}
