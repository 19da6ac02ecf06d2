//! Finds the worktree that a person names on the command line.

use std::{ffi::OsStr, fs, os::unix::ffi::OsStrExt as _};

use bstr::BStr;

use super::{super::Context, validate::decide};
use crate::{
    error::{Error, Result},
    git::registrations::{Place, Registration},
};

/// Returns the worktrees of `all` that `name` may stand for: a branch, the name of the worktree's directory, or git's id of it.
fn matching<'a>(all: &'a [Registration], name: &OsStr) -> Vec<&'a Registration> {
    let name = name.as_bytes();
    let is_branch = |it: &Registration| {
        it.head.branch.as_ref().is_some_and(|branch| branch.strip_prefix(b"refs/heads/") == Some(name))
    };
    let is_called =
        |it: &Registration| it.id == name || it.path.file_name().is_some_and(|last| last.as_bytes() == name);
    let by_branch: Vec<_> = all.iter().filter(|it| is_branch(it)).collect();
    // A branch has one worktree at most; a directory's name may stand for several.
    if by_branch.is_empty() { all.iter().filter(|it| is_called(it)).collect() } else { by_branch }
}

/// Returns the registered worktree that `name` stands for: the path of its root, its branch, the name of its directory, or git's id
/// of it; without `name`, the one of this process. The result is what git has registered, never the path as it was typed.
///
/// # Errors
/// [`Kind::User`](crate::error::Kind::User) if there is none, or `name` stands for several;
/// [`Kind::Refused`](crate::error::Kind::Refused) if the worktree is gone, or something else is in its place.
pub(crate) fn find(context: &Context, name: Option<&OsStr>) -> Result<Registration> {
    let all = context.repo.registrations()?;
    let found = match name {
        None => vec![all.iter().find(|it| it.id == context.repo.worktree_id())],
        Some(name) => match matching(&all, name)[..] {
            // A path: links in what was typed do no harm, since the path that git has registered is used.
            [] => vec![fs::canonicalize(name).ok().and_then(|real| all.iter().find(|it| it.path == real))],
            ref found => found.iter().copied().map(Some).collect(),
        },
    };
    let name =
        || name.map_or_else(|| context.repo.worktree_root().display().to_string(), |name| name.display().to_string());
    let hint = "'git checkpoint worktree list' shows the worktrees of this repository";
    let found = match found[..] {
        [Some(found)] => found,
        [None] | [] => {
            return Err(Error::user(format!("'{}' names no worktree of this repository", name())).with_hint(hint));
        }
        [..] => {
            return Err(Error::user(format!("'{}' stands for {} worktrees", name(), found.len()))
                .with_hint(format!("give the path of its root: {hint}")));
        }
    };
    // A caller may want to know of a bare repository.
    if found.place == Place::Bare { Ok(found.clone()) } else { checked(context, found) }
}

/// Returns the worktree with git's `id`; none if git has registered none, or its directory is gone.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if something else is in its place.
pub(crate) fn by_id(context: &Context, id: &BStr) -> Result<Option<Registration>> {
    let all = context.repo.registrations()?;
    let found = all.iter().find(|it| it.id == id && it.place != Place::Nothing);
    found.map(|found| checked(context, found)).transpose()
}

/// Returns `found` if its root is what git has registered.
fn checked(context: &Context, found: &Registration) -> Result<Registration> {
    let real = fs::canonicalize(&found.path).ok();
    let decided = decide(&found.path, real.as_deref(), std::slice::from_ref(found), &context.settings.worktree.roots);
    decided.cloned().map_err(|code| code.error(&found.path))
}
