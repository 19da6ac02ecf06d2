//! The files that an agent says a tool changes: they come from outside, and may be anywhere.

use std::path::{Component, Path, PathBuf};

use bstr::{BString, ByteSlice as _, ByteVec as _};

use super::super::{Worktree, chain::Shadow, turn};
use crate::{error::Result, git::Repo};

/// Returns `named` (absolute, or relative to `cwd`) relative to the worktree's root; none if one of them is not surely
/// inside of it. If a file is a symbolic link, the file that it leads to is added: a tool writes to that one.
pub(super) fn inside(repo: &Repo, cwd: &Path, named: &[String]) -> Option<Vec<BString>> {
    let mut paths = Vec::with_capacity(named.len());
    for name in named {
        let real = real(cwd, name)?;
        paths.push(relative(repo, &real)?);
        if real.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink()) {
            // Where a dangling link leads is not known; outside of the worktree, we save nothing.
            let target = std::fs::canonicalize(&real).ok()?;
            paths.extend(relative(repo, &target).filter(|_| !target.is_dir()));
        }
    }
    paths.sort();
    paths.dedup();
    (!paths.is_empty()).then_some(paths)
}

/// How many files may be gone for one of them to count as renamed.
const MOST_GONE: usize = 32;

/// Returns the uncommitted files of the last checkpoint that are not there any more, if one of `paths` is new since: it may have been
/// one of them. A save that knows that gives their lines to their authors. Git sees other renames in the commit.
pub(super) fn gone(worktree: &Worktree<'_>, session: &str, paths: &[BString]) -> Result<Vec<BString>> {
    let repo = &worktree.repo;
    let shadow = Shadow::read(repo)?;
    let baseline = turn::baseline(worktree, session, shadow.tip.as_ref())?;
    let last_tree_id = baseline.map_or_else(|| shadow.last_tree_id(), |baseline| baseline.tree_id);
    let mut is_any_new = false;
    for path in paths {
        is_any_new = is_any_new || repo.find_leaf(last_tree_id, path.as_bstr())?.is_none();
    }
    if !is_any_new {
        return Ok(Vec::new());
    }
    let is_gone = |path: &BString| {
        let file = path.to_path().map(|path| repo.worktree_root().join(path).symlink_metadata());
        file.is_ok_and(|file| file.is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound))
    };
    let uncommitted = repo.diff_trees(shadow.head_tree_id, last_tree_id)?.into_iter();
    let gone = uncommitted.filter(|change| change.after.is_some() && is_gone(&change.path));
    let gone: Vec<BString> = gone.map(|change| change.path).collect();
    Ok(if gone.len() > MOST_GONE { Vec::new() } else { gone })
}

/// Returns the path `real` relative to the worktree's root; none outside of it, and for the root, which is no file.
fn relative(repo: &Repo, real: &Path) -> Option<BString> {
    let inside = real.strip_prefix(repo.worktree_root()).ok()?;
    let path = Vec::from_path_buf(inside.to_owned()).ok()?;
    (!path.is_empty()).then(|| path.into())
}

/// Returns the canonical path of the file `name`; none if that cannot be known.
///
/// The directories on the way may be symbolic links, and may not be there yet; what the link itself is, is what counts.
pub(super) fn real(cwd: &Path, name: &str) -> Option<PathBuf> {
    if name.is_empty() || name.contains('\0') {
        return None;
    }
    let path = plain(&cwd.join(name))?;
    let (mut parent, mut rest) = (path.parent()?.to_owned(), PathBuf::from(path.file_name()?));
    let real = loop {
        match std::fs::canonicalize(&parent) {
            Ok(real) => break real,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                // Where a dangling link leads is not known.
                if parent.symlink_metadata().is_ok() {
                    return None;
                }
                rest = Path::new(parent.file_name()?).join(rest);
                parent = parent.parent()?.to_owned();
            }
            Err(_) => return None,
        }
    };
    Some(real.join(rest))
}

/// Returns `path` without `.`; with `..` only where what comes before is a directory that is there.
fn plain(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain = std::fs::canonicalize(&plain).ok()?;
                // The root's parent is the root.
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain.is_absolute().then_some(plain)
}
