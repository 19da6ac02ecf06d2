//! `worktree files`: what is in a worktree, for programs that show it. Nothing outside of it is ever read: no path leads through
//! a symbolic link, and git's own files are left out.

use std::{
    ffi::OsStr,
    fs::File,
    io::Read as _,
    os::fd::OwnedFd,
    path::{Component, Path},
};

use bstr::{BStr, BString, ByteSlice as _, ByteVec as _};
use rustix::{
    fs::{AtFlags, Dir, FileType, Mode, OFlags},
    io::Errno,
};
use serde::Serialize;

use super::{super::Context, named};
use crate::{
    error::{Context as _, Error, Kind, Result},
    git::beneath,
    model::{moment, path_text},
};

/// What is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FileKind {
    /// A directory.
    Directory,
    /// A file.
    File,
    /// A symbolic link, whatever it leads to.
    Link,
    /// Something else, such as a socket.
    Other,
}

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct FileEntry {
    /// Its path, relative to the worktree's root.
    #[serde(flatten, serialize_with = "path_text::serialize_fields")]
    pub(crate) path: BString,
    /// What it is.
    pub(crate) kind: FileKind,
    /// The size of a file in bytes.
    pub(crate) size: Option<u64>,
    /// When it was changed, in ISO 8601.
    pub(crate) modified: String,
}

/// Files of a worktree. Serializes to what `worktree files list` and `find` print with `--json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct FileList {
    /// The version of this shape.
    pub(crate) version: u32,
    /// The root of the worktree.
    #[serde(serialize_with = "path_text::serialize")]
    pub(crate) worktree: BString,
    /// The entries: directories first, then by name.
    pub(crate) files: Vec<FileEntry>,
}

/// Opens the worktree that `name` stands for, as a context of its own.
pub(crate) fn context_in(context: &Context, name: &OsStr) -> Result<Context> {
    let found = named::find_root(context, Some(name))?;
    Ok(context.with_repo(context.repo.open_worktree(&found.path)?))
}

/// Returns the entries of `directory`, relative to the root of the worktree `name`.
///
/// # Errors
/// [`Kind::Refused`] if the path leads out of the worktree, or is git's; [`Kind::User`] if it is no directory.
pub(crate) fn list(context: &Context, name: &OsStr, directory: &Path) -> Result<FileList> {
    let found = named::find_root(context, Some(name))?;
    let path = inside(directory)?;
    let opened = open(&found.path, path.as_bstr(), OFlags::RDONLY | OFlags::DIRECTORY)?;
    let what = || format!("cannot read '{}'", directory.display());
    let mut files = Vec::new();
    for entry in Dir::read_from(&opened).context(Kind::User, what)? {
        let entry = entry.context(Kind::User, what)?;
        let name = entry.file_name().to_bytes();
        if !matches!(name, b"." | b"..") && !is_gits(name.as_bstr()) {
            files.extend(look(&opened, path.as_bstr(), name.as_bstr()));
        }
    }
    Ok(sorted(&found.path, files))
}

/// Returns the files of the worktree `name` whose path contains `text`, in any case; ignored ones are left out.
pub(crate) fn find(context: &Context, name: &OsStr, text: &str) -> Result<FileList> {
    let there = context_in(context, name)?;
    let root = there.repo.worktree_root().to_owned();
    let (paths, wanted) = (there.repo.known_paths()?, text.to_lowercase());
    let mut files = Vec::new();
    for path in paths.iter().filter(|path| path.to_str_lossy().to_lowercase().contains(&wanted)) {
        let (directory, file) = path.rsplit_once_str("/").unwrap_or((b"", path.as_slice()));
        // One that is gone, or is behind a link by now, is in the index alone.
        if let Ok(opened) = open(&root, directory.as_bstr(), OFlags::RDONLY | OFlags::DIRECTORY) {
            files
                .extend(look(&opened, directory.as_bstr(), file.as_bstr()).filter(|it| it.kind != FileKind::Directory));
        }
    }
    Ok(sorted(&root, files))
}

/// Returns the bytes of the file `file`, relative to the root of the worktree `name`.
///
/// # Errors
/// As [`list`]; [`Kind::User`] if it is no file.
pub(crate) fn cat(context: &Context, name: &OsStr, file: &Path) -> Result<Vec<u8>> {
    let found = named::find_root(context, Some(name))?;
    // A pipe would wait for a writer.
    let mut opened = File::from(open(&found.path, inside(file)?.as_bstr(), OFlags::RDONLY | OFlags::NONBLOCK)?);
    let what = || format!("cannot read '{}'", file.display());
    if !opened.metadata().context(Kind::User, what)?.is_file() {
        return Err(Error::user(format!("'{}' is no file", file.display()))
            .with_hint("'git checkpoint worktree files list' shows what it is"));
    }
    let mut bytes = Vec::new();
    opened.read_to_end(&mut bytes).context(Kind::User, what)?;
    Ok(bytes)
}

/// Returns `path` if it stays inside a worktree as far as its text says.
fn inside(path: &Path) -> Result<BString> {
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::Normal(name) if !is_gits(name.as_encoded_bytes().as_bstr()) => parts.push(name),
            _ => {
                return Err(Error::refused(format!("'{}' is no path inside the worktree", path.display()))
                    .with_hint("give a path relative to its root, without '..' and '.git'"));
            }
        }
    }
    Ok(Vec::from_path_lossy(&parts.iter().collect::<std::path::PathBuf>()).into_owned().into())
}

/// Returns true if git keeps its own files under the name `name`; file systems that fold case know others.
fn is_gits(name: &BStr) -> bool {
    name.eq_ignore_ascii_case(b".git")
}

/// Opens `path`, which is empty for the root itself, without following links.
fn open(root: &Path, path: &BStr, flags: OFlags) -> Result<OwnedFd> {
    let what = || format!("cannot open '{}'", root.display());
    let top = rustix::fs::open(root, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    let top = top.map_err(std::io::Error::from).context(Kind::User, what)?;
    if path.is_empty() {
        return Ok(top);
    }
    beneath::open(&top, path, flags).map_err(|errno| {
        let shown = path_text::printable(path);
        match errno {
            Errno::LOOP | Errno::XDEV => Error::refused(format!("'{shown}' is, or leads through, a symbolic link"))
                .with_hint("only what is in the worktree itself is shown"),
            Errno::NOENT => Error::user(format!("'{shown}' does not exist")),
            errno => Error::user(format!("cannot open '{shown}'")).with_cause(errno),
        }
    })
}

/// Returns what `name` in the opened directory with the path `directory` is; none if it is gone.
fn look(opened: &OwnedFd, directory: &BStr, name: &BStr) -> Option<FileEntry> {
    let stat = rustix::fs::statat(opened, name.as_bytes(), AtFlags::SYMLINK_NOFOLLOW).ok()?;
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => FileKind::Directory,
        FileType::RegularFile => FileKind::File,
        FileType::Symlink => FileKind::Link,
        _ => FileKind::Other,
    };
    let path = if directory.is_empty() {
        name.to_owned()
    } else {
        [directory.as_bytes(), b"/", name.as_bytes()].concat().into()
    };
    let size = u64::try_from(stat.st_size).ok().filter(|_| kind == FileKind::File);
    Some(FileEntry { path, kind, size, modified: moment::iso(stat.st_mtime, 0) })
}

fn sorted(root: &Path, mut files: Vec<FileEntry>) -> FileList {
    files.sort_by(|one, other| {
        (one.kind != FileKind::Directory, &one.path).cmp(&(other.kind != FileKind::Directory, &other.path))
    });
    FileList { version: 1, worktree: Vec::from_path_lossy(root).into_owned().into(), files }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::a_file("a/b", Some("a/b"))]
    #[case::root("", Some(""))]
    #[case::dot(".", Some(""))]
    #[case::dots_in_between("./a/./b/", Some("a/b"))]
    #[case::up("../x", None)]
    #[case::up_again("a/../../x", None)]
    #[case::absolute("/etc/passwd", None)]
    #[case::gits(".git/config", None)]
    #[case::gits_in_another_case("a/.GIT/config", None)]
    #[case::like_gits(".gitignore", Some(".gitignore"))]
    fn a_path_stays_inside(#[case] path: &str, #[case] expected: Option<&str>) {
        assert_eq!(inside(Path::new(path)).ok(), expected.map(BString::from));
    }
}
