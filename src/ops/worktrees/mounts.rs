//! `worktree mounts`: what a container must have for a worktree.

use std::{
    ffi::OsString,
    fs,
    path::{Component, Path, PathBuf},
};

use serde::Serialize;

use super::{super::Context, claimed::directory_of_new, find_root, named::registered};
use crate::{
    error::{Error, Result},
    git::registrations::named_common_dir,
    model::{
        mounts::{Mount, needed},
        path_text,
    },
};

/// The worktrees that a container is to have.
#[derive(Clone, Debug, Default)]
pub(crate) struct MountOptions {
    /// Their names; none: the one of this process.
    pub(crate) names: Vec<OsString>,
    /// True if it also gets the directory in which `worktree add` makes new ones.
    pub(crate) with_new: bool,
}

/// What a container must have. Serializes to what `worktree mounts --json` prints.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Needed {
    /// The version of this shape.
    pub(crate) version: u32,
    /// The root of the first worktree.
    #[serde(flatten, serialize_with = "path_text::serialize_path_fields")]
    pub(crate) path: PathBuf,
    /// The directories, by path.
    pub(crate) mounts: Vec<Mount>,
}

/// Returns what a container must have for worktrees.
///
/// # Errors
/// As [`find_root`]; [`Kind::Refused`](crate::error::Kind::Refused) if new worktrees are made in the root of the file system.
pub(crate) fn mounts(context: &Context, options: &MountOptions) -> Result<Needed> {
    let names: Vec<_> = options.names.iter().map(|name| Some(name.as_os_str())).collect();
    let names = if names.is_empty() { vec![None] } else { names };
    let found = names.iter().map(|name| find_root(context, *name)).collect::<Result<Vec<_>>>()?;
    let mut written = paths(context.repo.common_dir());
    for (found, name) in found.iter().zip(names) {
        written.extend(paths(&registered(context, name)?.path));
        written.extend(named_common_dir(found).iter().flat_map(|path| paths(path)));
    }
    let mut mounts: Vec<_> = written.into_iter().map(Mount::writable).collect();
    let read = context.repo.alternates()?;
    mounts.extend(read.iter().flat_map(|path| paths(path)).map(|path| Mount { path, read_only: true }));
    if options.with_new {
        mounts.push(Mount::writable(directory(context)?));
    }
    let path = found.into_iter().next().expect("there is one name at least").path;
    Ok(Needed { version: 1, path, mounts: needed(mounts) })
}

/// Returns the directory in which `worktree add` makes new worktrees.
fn directory(context: &Context) -> Result<PathBuf> {
    let directory = directory_of_new(context)?.filter(|directory| directory.is_dir());
    let directory = directory.ok_or_else(|| {
        Error::refused("the directory for new worktrees does not exist")
            .with_hint("'git checkpoint config get worktree.dir' shows it; without '--with-new', it is left out")
    })?;
    if directory.parent().is_none() {
        return Err(Error::refused("new worktrees are made in '/', which is not for a container")
            .with_hint("set 'worktree.dir' to a directory that a container may have"));
    }
    Ok(directory)
}

/// Returns the path of `noted` without symbolic links, and, if that is another one, the path as git has noted it: by that path,
/// worktrees and repositories find each other.
fn paths(noted: &Path) -> Vec<PathBuf> {
    let is_plain = noted.is_absolute() && !noted.components().any(|part| part == Component::ParentDir);
    let real = fs::canonicalize(noted).ok();
    [real, is_plain.then(|| noted.components().collect())].into_iter().flatten().collect()
}
