//! The files that an agent says a tool changes: they come from outside, and may be anywhere.

use std::path::{Component, Path, PathBuf};

use bstr::{BString, ByteVec as _};

use crate::git::Repo;

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
