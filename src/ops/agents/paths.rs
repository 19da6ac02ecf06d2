//! The files that an agent says a tool changes: they come from outside, and may be anywhere.

use std::path::{Component, Path, PathBuf};

use bstr::{BString, ByteVec as _};

use crate::git::Repo;

/// Returns `named` (absolute, or relative to `cwd`) relative to the worktree's root; none if one of them is not surely
/// inside of it.
pub(super) fn inside(repo: &Repo, cwd: &Path, named: &[String]) -> Option<Vec<BString>> {
    let mut paths: Vec<BString> = named.iter().map(|name| resolve(repo, cwd, name)).collect::<Option<_>>()?;
    paths.sort();
    paths.dedup();
    (!paths.is_empty()).then_some(paths)
}

fn resolve(repo: &Repo, cwd: &Path, name: &str) -> Option<BString> {
    let real = real(cwd, name)?;
    let inside = real.strip_prefix(repo.worktree_root()).ok()?;
    let path = Vec::from_path_buf(inside.to_owned()).ok()?;
    // The root itself is no file.
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
