//! Which paths this worktree and another one of the repository have both changed since their histories parted, and whether git could
//! merge the changes.
//!
//! `sides` finds what each worktree has now, `compare` what both have changed, `makers` the sessions that changed it, and `told`
//! what an agent is told before it changes a file. `found` has the shapes. `model::both_changed` and `model::three_way` decide. Nothing is written, and no
//! lock is taken.

mod compare;
mod found;
mod makers;
mod sides;
mod told;

use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::Context;
use crate::{
    error::{Error, Kind, Result},
    git::Repo,
    model::{path_text, three_way::Meeting},
};
use sides::{Now, Other, Seen, why};

pub(crate) use found::Summary;
pub(crate) use found::{Maker, OfSide, Overlaps, PathOverlap, WorktreeOverlap};
pub(crate) use told::before_change;

/// What `overlap` looks at.
#[derive(Clone, Debug, Default)]
pub(crate) struct OverlapOptions {
    /// The other worktree: its name, its path, the end of its path, or its branch; none: all others.
    pub with: Option<BString>,
    /// Only these paths: pathspecs from the root of the worktree.
    pub pathspecs: Vec<BString>,
}

/// Compares this worktree with others: what the files have now, saved or not.
///
/// # Errors
/// [`Kind::User`] if the worktree of `options` is not there, or a pathspec is malformed; those of reading this worktree. What cannot
/// be read of another one is unknown, and no error.
pub(crate) fn overlap(context: &Context, options: &OverlapOptions) -> Result<Overlaps> {
    let mut others = sides::others(&context.repo);
    if let Some(name) = &options.with {
        others = vec![named(context, others, name)?];
    }
    // What is wrong with a pathspec is an error of the caller.
    context.repo.pathspec(&options.pathspecs)?;
    let mut worktrees = Vec::new();
    if !others.is_empty() {
        let here = Seen::of(context)?;
        for other in &others {
            context.check_interrupt()?;
            worktrees.push(with_other(context, here.now(), other, options));
        }
    }
    Ok(Overlaps { version: 1, worktree: context.repo.worktree_id().to_owned(), worktrees })
}

fn with_other(context: &Context, here: Now<'_>, other: &Other, options: &OverlapOptions) -> WorktreeOverlap {
    let mut found = WorktreeOverlap::of(other);
    let looked = sides::open(context, other).and_then(|there| {
        found.branch = sides::branch(&there);
        let seen = Seen::of(&there)?;
        let there = seen.now();
        let base = sides::base(here, there)?;
        found.base = Some(base);
        let mut paths = compare::compare((here, there), base, &options.pathspecs)?;
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

/// Returns how this worktree, as its files are in the tree `tree_id` of `repo`, overlaps with what the others had when their last
/// checkpoint was taken; those without overlap are left out. `status` has no time to look at the files of all worktrees.
pub(crate) fn summaries(context: &Context, repo: &Repo, tree_id: ObjectId) -> Vec<Summary> {
    let others = sides::others(&context.repo);
    if others.is_empty() {
        return Vec::new();
    }
    let Ok(head) = repo.head() else { return Vec::new() };
    let here = Now { repo, tree_id, head: head.id };
    let summary = |other: &Other| {
        let paths = sides::open(context, other).and_then(|there| {
            let there = Now::of_checkpoints(&there.repo)?;
            compare::compare((here, there), sides::base(here, there)?, &[])
        });
        let count = |paths: &[PathOverlap], state| paths.iter().filter(|path| path.state == state).count();
        let worktree = other.id.clone();
        match paths {
            Ok(paths) => Summary {
                worktree,
                conflicts: count(&paths, Meeting::Conflict),
                touching: count(&paths, Meeting::Touching),
                unknown: paths.iter().find_map(|path| path.unknown.clone()),
                paths: paths.len(),
            },
            Err(error) => Summary { worktree, paths: 0, conflicts: 0, touching: 0, unknown: Some(why(&error)) },
        }
    };
    let found = others.iter().map(summary);
    found.filter(|summary| summary.paths > 0 || summary.unknown.is_some()).collect()
}

/// Returns the one of `others` that `name` names: a path, git's id, the end of a path (as in git-worktree(1)), or a branch.
fn named(context: &Context, mut others: Vec<Other>, name: &BString) -> Result<Other> {
    let path: PathBuf = name.to_path_lossy().into_owned();
    let real = std::fs::canonicalize(&path).ok();
    if real.as_deref() == Some(context.repo.worktree_root()) || name == context.repo.worktree_id() {
        return Err(Error::user("'--with' names this worktree itself"));
    }
    let is_at = |other: &Other| other.root == path || real.as_deref() == Some(other.root.as_path());
    let has_id = |other: &Other| other.id == *name;
    let ends_so = |other: &Other| other.root.ends_with(Path::new(&path));
    let has_branch = |other: &Other| {
        sides::open(context, other).is_ok_and(|there| {
            sides::branch(&there)
                .is_some_and(|branch| branch.as_bytes() == name.strip_prefix(b"refs/heads/").unwrap_or(name))
        })
    };
    let ways: [&dyn Fn(&Other) -> bool; 4] = [&is_at, &has_id, &ends_so, &has_branch];
    for is_meant in ways {
        let found: Vec<usize> = (0..others.len()).filter(|at| is_meant(&others[*at])).collect();
        match found[..] {
            [] => {}
            [at] => return Ok(others.swap_remove(at)),
            _ => {
                return Err(Error::user(format!("'{}' names several worktrees", path_text::printable(name.as_bstr()))));
            }
        }
    }
    Err(Error::new(Kind::User, format!("no other worktree is called '{}'", path_text::printable(name.as_bstr())))
        .with_hint("'git worktree list' lists them; a path, a name or a branch will do"))
}
