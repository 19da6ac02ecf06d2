//! Which paths this worktree and another one of the repository have both changed since their histories parted, and whether git could
//! merge the changes.
//!
//! `sides` finds what each worktree has now, `compare` what both have changed, `hidden` what saves skip, and `makers` the sessions
//! that made the changes. `warning` is for an agent before it changes a file. `found` has the shapes. `model::both_changed` and
//! `model::three_way` decide. Nothing is written, and no lock is taken.

mod compare;
mod found;
mod hidden;
mod makers;
mod sides;
mod warning;

use std::ffi::OsString;

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::{Context, worktrees};
use crate::{
    error::{Error, Result},
    git::{
        Repo,
        pathspec::Pathspec,
        registrations::{Place, Registration},
    },
    model::{manifest::Manifest, path_text},
};
use compare::Limits;
use sides::{Now, Saved, Seen, why};

pub(crate) use found::{Maker, OfSide, Overlaps, PathOverlap, Summary, WorktreeOverlap};
pub(crate) use warning::before_change;

/// What `overlap` looks at.
#[derive(Clone, Debug, Default)]
pub(crate) struct OverlapOptions {
    /// The other worktree, by a name as of [`worktrees::registered`]; none: all others.
    pub with: Option<OsString>,
    /// Only these paths: pathspecs from the root of the worktree.
    pub pathspecs: Vec<BString>,
}

/// What one side has: a commit, or the files of a worktree as they are now, stored or not.
pub(crate) struct Sight<'c> {
    of: Of<'c>,
    manifest: Manifest,
}

enum Of<'c> {
    Commit(&'c Repo, ObjectId, ObjectId),
    Worktree(Box<Seen>),
}

impl<'c> Sight<'c> {
    /// Looks at the commit `id`, or at the worktree of `context`.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(crate) fn of(context: &'c Context, id: Option<ObjectId>) -> Result<Self> {
        let of = match id {
            Some(id) => Of::Commit(&context.repo, id, context.repo.tree_of_commit(id)?),
            None => Of::Worktree(Box::new(Seen::of(context)?)),
        };
        Ok(Self { of, manifest: Manifest::default() })
    }

    fn now(&self) -> Now<'_> {
        match &self.of {
            Of::Commit(repo, id, tree_id) => Now { repo, tree_id: *tree_id, manifest: &self.manifest, head: Some(*id) },
            Of::Worktree(seen) => seen.now(),
        }
    }
}

/// Returns what both sides have changed since their histories parted.
///
/// # Errors
/// If that is not known.
pub(crate) fn meetings(here: &Sight<'_>, there: &Sight<'_>) -> Result<Vec<PathOverlap>> {
    let (here, there) = (here.now(), there.now());
    compare::compare((here, there), sides::base(here, there)?, &[], Limits::USUAL)
}

/// Compares this worktree with others: what the files have now, saved or not.
///
/// # Errors
/// [`Kind::User`](crate::error::Kind::User) if `options` name no other worktree, or a pathspec is malformed; those of reading this
/// worktree. What cannot be read of another one is unknown, and no error.
pub(crate) fn overlap(context: &Context, options: &OverlapOptions) -> Result<Overlaps> {
    let others = match &options.with {
        Some(name) => vec![other(context, name)?],
        None => sides::others(&context.repo)?,
    };
    // What is wrong with a pathspec is an error of the caller.
    let mut search = context.repo.pathspec(&options.pathspecs)?;
    let mut worktrees = Vec::new();
    if !others.is_empty() {
        let here = Seen::of(context)?;
        look_for(&mut search, here.now(), None)?;
        for other in &others {
            worktrees.push(with_other(context, here.now(), other, options, &mut search));
            // What was interrupted is not unknown.
            context.check_interrupt()?;
        }
        // What cannot be read may have it.
        if worktrees.iter().all(|it| it.unknown.is_none()) {
            refuse_unmatched(context, &search)?;
        }
    }
    Ok(Overlaps { version: 1, worktree: context.repo.worktree_id().to_owned(), worktrees })
}

/// Returns [`summaries`] of this worktree as its files are now.
///
/// # Errors
/// If this worktree cannot be read.
pub(crate) fn summaries_now(context: &Context) -> Result<Vec<Summary>> {
    if sides::others(&context.repo)?.is_empty() {
        return Ok(Vec::new());
    }
    let seen = Seen::of(context)?;
    let Now { repo, tree_id, manifest, .. } = seen.now();
    summaries(context, repo, tree_id, manifest)
}

/// Returns how this worktree, whose files are in the tree `tree_id` of `repo`, overlaps with what the others had when their last
/// checkpoint was taken: `status` has no time to look at the files of all worktrees, nor to compare large ones. Leaves out those
/// without overlap, and those that are gone.
///
/// # Errors
/// If git's list of worktrees cannot be read, or the user has interrupted.
pub(crate) fn summaries(
    context: &Context,
    repo: &Repo,
    tree_id: ObjectId,
    manifest: &Manifest,
) -> Result<Vec<Summary>> {
    let (mut found, head) = (Vec::new(), repo.head()?.id);
    let here = Now { repo, tree_id, manifest, head };
    for other in if head.is_none() { Vec::new() } else { sides::others(&context.repo)? } {
        if other.place == Place::Nothing {
            continue;
        }
        let compared = worktrees::open(context, &other).and_then(|there| with_saved(here, &there.repo));
        // What was interrupted is not unknown.
        context.check_interrupt()?;
        let summary = Summary::new(other.id, compared.map_err(|error| why(&error)));
        found.extend(Some(summary).filter(|it| it.paths > 0 || it.unknown.is_some()));
    }
    Ok(found)
}

/// Returns what this worktree, and the one of `repo` when its last checkpoint was taken, have both changed.
fn with_saved(here: Now<'_>, repo: &Repo) -> Result<Vec<PathOverlap>> {
    let saved = Saved::of(repo, repo.worktree_id(), repo.head()?.id)?;
    let manifest = saved.manifest(repo)?;
    let there = Now { repo, tree_id: saved.tree_id, manifest: &manifest, head: saved.head };
    compare::compare((here, there), sides::base(here, there)?, &[], Limits::QUICK)
}

/// Returns the worktree that `name` stands for, which is not this one.
fn other(context: &Context, name: &OsString) -> Result<Registration> {
    let found = worktrees::registered(context, Some(name))?;
    if found.id == context.repo.worktree_id() {
        return Err(Error::user("'--with' names this worktree itself"));
    }
    if found.place == Place::Bare {
        return Err(worktrees::Code::Bare.error(&found.path));
    }
    Ok(found)
}

/// Lets `search` match the paths of a worktree, and those of the commit `base`.
fn look_for(search: &mut Pathspec<'_>, now: Now<'_>, base: Option<ObjectId>) -> Result<()> {
    // What is in no tree, and may be unknown for that.
    let Manifest { skipped, nested, empty_directories, .. } = now.manifest;
    let paths = skipped.iter().map(|it| &it.path).chain(nested.iter().map(|it| &it.path)).chain(empty_directories);
    for path in paths {
        search.matches(path.as_bstr());
    }
    let base = base.map(|base| now.repo.tree_of_commit(base)).transpose()?;
    for tree in [Some(now.tree_id), base].into_iter().flatten() {
        // Most pathspecs are full names, which are found without reading all trees.
        for name in search.unmatched().cloned().collect::<Vec<_>>() {
            if now.repo.find_entry(tree, name.as_bstr())?.is_some() {
                search.matches(name.as_bstr());
            }
        }
        if search.unmatched().next().is_none() {
            break;
        }
        for change in now.repo.diff_trees(now.repo.empty_tree_id(), tree)? {
            search.matches(change.path.as_bstr());
        }
    }
    Ok(())
}

/// Refuses if a pathspec has matched nothing.
fn refuse_unmatched(context: &Context, search: &Pathspec<'_>) -> Result<()> {
    let Some(text) = search.unmatched().next() else { return Ok(()) };
    let shown = path_text::printable(text.as_bstr());
    let error = Error::user(format!("pathspec '{shown}' did not match any file of the worktrees"));
    let is_worktree = worktrees::registered(context, Some(&text.to_os_str_lossy())).is_ok();
    Err(if is_worktree { error.with_hint(format!("'--with {shown}' names a worktree")) } else { error })
}

fn with_other(
    context: &Context,
    here: Now<'_>,
    other: &Registration,
    options: &OverlapOptions,
    search: &mut Pathspec<'_>,
) -> WorktreeOverlap {
    let mut found = WorktreeOverlap::of(other);
    let looked = worktrees::open(context, other).and_then(|there| {
        let seen = Seen::of(&there)?;
        let there = seen.now();
        let base = sides::base(here, there)?;
        found.base = Some(base);
        look_for(search, there, Some(base))?;
        let mut paths = compare::compare((here, there), base, &options.pathspecs, Limits::USUAL)?;
        let made = makers::add(&mut paths, (here, there), base);
        Ok((paths, made))
    });
    match looked {
        Ok((paths, made)) => {
            found.paths = paths;
            found.sessions_unknown = made.err().map(|error| why(&error));
        }
        Err(error) => found.unknown = Some(why(&error)),
    }
    found
}
