//! Copies a directory that is in no repository, as a whole: its files become the first commit of the copy.

use std::{
    fs, io,
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::Path,
};

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::{super::Context, mirror::BASELINE, names::Folders};
use crate::{
    error::{Context as _, Error, Kind, Result},
    git::{
        checkout_names::is_valid_path,
        copy_file::{Copied, copy_file},
    },
    model::{path_text, round::WORKTREES},
};

/// What is in a directory, relative to it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Content {
    /// The directories, each after the one that it is in.
    directories: Vec<BString>,
    /// The files and symbolic links.
    files: Vec<BString>,
}

/// Copies `content`, which is in the directory `from`, to the empty worktree of `there`, commits it to `branch`, and returns the commit.
/// What the rules of `.gitignore` name is copied, and not in the commit.
///
/// # Errors
/// If something cannot be copied.
pub(super) fn fill(there: &Context, from: &Path, branch: &str, content: &Content) -> Result<ObjectId> {
    let to = there.repo.worktree_root();
    for directory in &content.directories {
        let what = || format!("cannot copy '{}'", from.join(directory.to_path_lossy()).display());
        let made = to.join(directory.to_path_lossy());
        fs::create_dir(&made).context(Kind::User, what)?;
    }
    for path in &content.files {
        there.check_interrupt()?;
        let full = from.join(path.to_path_lossy());
        let what = || format!("cannot copy '{}'", full.display());
        match copy_file(from, to, path.as_bstr()).context(Kind::User, what)? {
            Copied::Yes => keep_inside(from, to, path).context(Kind::User, what)?,
            Copied::Gone => return Err(Error::race(format!("'{}' has just been removed", full.display()))),
            Copied::Exists => {
                return Err(Error::race(format!(
                    "'{}' is in its place already",
                    to.join(path.to_path_lossy()).display()
                )));
            }
        }
    }
    // Only now: nothing can be written to a directory that is read-only.
    for directory in content.directories.iter().rev() {
        let of = |root: &Path| root.join(directory.to_path_lossy());
        let what = || format!("cannot copy '{}'", of(from).display());
        let permissions = fs::metadata(of(from)).context(Kind::User, what)?.permissions();
        fs::set_permissions(of(to), permissions).context(Kind::User, what)?;
    }
    // Its files are what they are in the directory: attributes and settings convert none.
    there.repo.convert_nothing()?;
    let tree_id = there.repo.stage_all()?;
    there.repo.commit_to(format!("refs/heads/{branch}").as_str().into(), None, tree_id, BASELINE)
}

/// Lets the symbolic link `path` below `to` lead to the same place there as it does below `from`, if it leads there by an absolute path:
/// what is written through it is not to reach what was copied.
fn keep_inside(from: &Path, to: &Path, path: &BString) -> io::Result<()> {
    let link = to.join(path.to_path_lossy());
    if !link.symlink_metadata()?.is_symlink() {
        return Ok(());
    }
    let target = fs::read_link(&link)?;
    let real = fs::canonicalize(from)?;
    let inside = [from, &real].into_iter().find_map(|root| target.strip_prefix(root).ok());
    let Some(inside) = inside.filter(|_| target.is_absolute()) else { return Ok(()) };
    fs::remove_file(&link)?;
    std::os::unix::fs::symlink(to.join(inside), &link)
}

/// Returns what is in the directory `root`, but for the folders of rounds.
///
/// # Errors
/// [`Kind::Refused`] if a repository, or something that is neither a file nor a directory nor a symbolic link, is in it.
pub(super) fn look(context: &Context, root: &Path, folders: &Folders) -> Result<Content> {
    let ours = [WORKTREES, &folders.scratch, &folders.archive];
    let mut content = Content::default();
    let mut todo = vec![BString::default()];
    while let Some(directory) = todo.pop() {
        context.check_interrupt()?;
        let full = root.join(directory.to_path_lossy());
        let what = || format!("cannot look into '{}'", full.display());
        let mut entries =
            fs::read_dir(&full).context(Kind::User, what)?.collect::<io::Result<Vec<_>>>().context(Kind::User, what)?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let name = entry.file_name();
            if directory.is_empty() && ours.iter().any(|it| name == *it) {
                continue;
            }
            if name.as_bytes().eq_ignore_ascii_case(b".git") {
                return Err(Error::refused(format!("'{}' is a repository, or what is left of one", full.display()))
                    .with_hint("a directory is copied as a whole only if none is in it: give that one as '--context', or move it away"));
            }
            let path = if directory.is_empty() {
                BString::from(name.into_vec())
            } else {
                [directory.as_slice(), b"/", name.as_bytes()].concat().into()
            };
            let kind = entry.file_type().context(Kind::User, what)?;
            if !is_valid_path(path.as_bstr(), kind.is_symlink()) {
                let shown = path_text::printable(entry.path().as_os_str().as_bytes().as_bstr());
                return Err(Error::refused(format!("git has no files of the name of '{shown}'"))
                    .with_hint("give it another name, or move it away"));
            }
            if kind.is_dir() {
                content.directories.push(path.clone());
                todo.push(path);
            } else if kind.is_file() || kind.is_symlink() {
                content.files.push(path);
            } else {
                let shown = path_text::printable(entry.path().as_os_str().as_bytes().as_bstr());
                return Err(Error::refused(format!(
                    "'{shown}' is neither a file nor a directory nor a symbolic link, and cannot be copied"
                ))
                .with_hint("move it away, or end the program that has made it"));
            }
        }
    }
    Ok(content)
}
