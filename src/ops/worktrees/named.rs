//! Finds the worktree that a person names on the command line.

use std::{ffi::OsStr, fs, os::unix::ffi::OsStrExt as _, path::PathBuf};

use bstr::{BStr, ByteSlice as _};

use super::{
    super::Context,
    validate::{root, roots},
};
use crate::{
    error::{Error, Result},
    git::registrations::{Place, Registration},
    model::likely,
};

/// Returns the name of the branch as people use it.
pub(super) fn short(branch: &BStr) -> &BStr {
    branch.strip_prefix(b"refs/heads/").map_or(branch, |short| short.as_bstr())
}

/// Returns the worktrees of `all` that `name` may stand for: a branch, the name of the worktree's directory, or git's id of it.
fn matching<'a>(all: &'a [Registration], name: &OsStr) -> Vec<&'a Registration> {
    let name = name.as_bytes();
    let is_branch = |it: &Registration| {
        // HEAD of a bare repository is no checkout.
        it.place != Place::Bare
            && it.head.branch.as_ref().is_some_and(|branch| branch.strip_prefix(b"refs/heads/") == Some(name))
    };
    let is_called =
        |it: &Registration| it.id == name || it.path.file_name().is_some_and(|last| last.as_bytes() == name);
    let by_branch: Vec<_> = all.iter().filter(|it| is_branch(it)).collect();
    // A branch has one worktree at most; a directory's name may stand for several.
    if by_branch.is_empty() { all.iter().filter(|it| is_called(it)).collect() } else { by_branch }
}

/// Returns the worktree of `all` that has the root `name`, a path: links in what was typed do no harm, nor do links on the way to
/// a path that git has registered. If several lead there, it is the one that is there.
fn at<'a>(all: &'a [Registration], name: &OsStr) -> Option<&'a Registration> {
    let real = fs::canonicalize(name).ok();
    let leads_there = |it: &&Registration| match &real {
        Some(real) => fs::canonicalize(&it.path).is_ok_and(|path| path == *real),
        None => it.path.as_os_str() == name,
    };
    let there: Vec<_> = all.iter().filter(leads_there).collect();
    there.iter().find(|it| it.place == Place::Worktree).or(there.first()).copied()
}

/// Returns the registered worktree that `name` stands for: the path of its root, its branch, the name of its directory, or git's
/// id of it; without `name`, the one of this process. Its path is the canonical one of its root, never the path as it was typed.
/// The main one may have none ([`Place::Bare`], [`Place::Unknown`]).
///
/// # Errors
/// [`Kind::User`](crate::error::Kind::User) if there is none, or `name` stands for several;
/// [`Kind::Refused`](crate::error::Kind::Refused) if the worktree is gone, or something else is in its place.
pub(crate) fn find(context: &Context, name: Option<&OsStr>) -> Result<Registration> {
    let found = registered(context, name)?;
    if matches!(found.place, Place::Bare | Place::Unknown) { Ok(found) } else { with_root(context, &found, name) }
}

/// Returns the branch, or the name of the directory, of a worktree of `all` that `name` was probably meant to be.
fn meant(all: &[Registration], name: &str) -> Option<String> {
    let branches =
        all.iter().filter_map(|it| it.head.branch.as_ref()).map(|branch| short(branch.as_bstr()).to_string());
    let directories = all.iter().filter_map(|it| Some(it.path.file_name()?.to_str()?.to_owned()));
    let names: Vec<String> = branches.chain(directories).collect();
    likely::most_similar(name, names.iter().map(String::as_str)).map(str::to_owned)
}

/// Returns the same if it has a root to work in.
///
/// # Errors
/// As [`find`]; [`Kind::Refused`](crate::error::Kind::Refused) for a bare repository.
pub(crate) fn find_root(context: &Context, name: Option<&OsStr>) -> Result<Registration> {
    with_root(context, &registered(context, name)?, name)
}

/// As [`checked`]; the worktree of this process, which has no `name` here, need not be below `worktree.roots`: it was not named
/// from outside.
fn with_root(context: &Context, found: &Registration, name: Option<&OsStr>) -> Result<Registration> {
    let roots = if name.is_some() { roots(context) } else { Vec::new() };
    below(found, &roots)
}

/// Returns the worktree that `name` stands for, whatever is there.
pub(crate) fn registered(context: &Context, name: Option<&OsStr>) -> Result<Registration> {
    let all = context.repo.registrations()?;
    let found = match name {
        None => all.iter().filter(|it| it.id == context.repo.worktree_id()).collect(),
        Some(name) => match matching(&all, name) {
            none if none.is_empty() => at(&all, name).into_iter().collect(),
            found => found,
        },
    };
    let name =
        || name.map_or_else(|| context.repo.worktree_root().display().to_string(), |name| name.display().to_string());
    let hint = "'git checkpoint worktree list' shows the worktrees of this repository";
    match found[..] {
        [found] => Ok(found.clone()),
        [] => Err(Error::user(format!("'{}' names no worktree of this repository", name()))
            .with_hint(likely::hint(meant(&all, &name()).as_deref(), hint))),
        [..] => Err(Error::user(format!("'{}' stands for {} worktrees", name(), found.len()))
            .with_hint(format!("give the path of its root: {hint}"))),
    }
}

/// Returns the worktree with git's `id`, with its canonical path; none if git has registered none, or its directory is gone.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if something else is in its place.
pub(crate) fn by_id(context: &Context, id: &BStr) -> Result<Option<Registration>> {
    let all = context.repo.registrations()?;
    let found = all.iter().find(|it| it.id == id && it.place != Place::Nothing);
    found.map(|found| checked(context, found)).transpose()
}

/// Returns `found` with the canonical path of its root, if it has one.
pub(crate) fn checked(context: &Context, found: &Registration) -> Result<Registration> {
    below(found, &roots(context))
}

fn below(found: &Registration, roots: &[PathBuf]) -> Result<Registration> {
    let real = fs::canonicalize(&found.path).ok();
    let root = root(found, real.as_deref(), roots).map_err(|code| code.error(&found.path))?;
    Ok(Registration { path: root.to_owned(), ..found.clone() })
}
