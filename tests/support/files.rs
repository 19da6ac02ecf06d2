//! The files of a world's repository: what tests write, read and take away.

use std::{
    ffi::OsString,
    fs,
    os::unix::{
        ffi::OsStringExt as _,
        fs::{PermissionsExt as _, symlink},
    },
    path::{Path, PathBuf},
    process::Command,
};

use bstr::BString;

use super::{
    World,
    stage::{Disk, disk},
};

/// Writes scripts to be executed.
///
/// The system executes no file that a process has open for writing, and a process that another thread starts has what we have open
/// until it is executed itself. So a shell writes them.
pub(crate) fn write_scripts(scripts: impl IntoIterator<Item = (PathBuf, Vec<u8>)>) {
    let scripts: Vec<(PathBuf, Vec<u8>)> = scripts.into_iter().collect();
    if scripts.is_empty() {
        return;
    }
    let write = r#"while [ $# -gt 0 ]; do printf %s "$2" >"$1" || exit 1; shift 2; done"#;
    let paths: Vec<PathBuf> = scripts.iter().map(|(path, _)| path.clone()).collect();
    let names_and_texts = scripts.into_iter().flat_map(|(path, text)| [path.into(), OsString::from_vec(text)]);
    let status = Command::new("/bin/sh").args(["-c", write, "sh"]).args(names_and_texts).status();
    assert!(status.expect("a shell runs").success(), "{paths:?} can be written");
    for path in paths {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it is ours");
    }
}

/// Writes one script to be executed.
pub(crate) fn write_script(path: &Path, text: &str) {
    write_scripts([(path.to_owned(), text.into())]);
}

impl World {
    /// Writes the script `path` of the repository.
    pub(crate) fn script(&self, path: &str, text: &str) {
        write_script(&self.place_for(path), text);
    }

    /// Writes the file `path` of the repository.
    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        fs::write(self.place_for(path), content).expect("files can be written");
    }

    /// Adds `text` to the end of the file `path`, which need not be there.
    pub(crate) fn add_to(&self, path: &str, text: &str) {
        let before = fs::read_to_string(self.repo().join(path)).unwrap_or_default();
        self.write(path, before + text);
    }

    pub(crate) fn read(&self, path: &str) -> BString {
        fs::read(self.repo().join(path)).unwrap_or_else(|error| panic!("{path}: {error}")).into()
    }

    pub(crate) fn exists(&self, path: &str) -> bool {
        fs::symlink_metadata(self.repo().join(path)).is_ok()
    }

    pub(crate) fn remove(&self, path: &str) {
        let path = self.repo().join(path);
        let is_directory = fs::symlink_metadata(&path).expect("it is there").is_dir();
        if is_directory { fs::remove_dir_all(path) } else { fs::remove_file(path) }.expect("it can be removed");
    }

    pub(crate) fn link(&self, path: &str, target: &str) {
        symlink(target, self.place_for(path)).expect("links can be made");
    }

    pub(crate) fn chmod(&self, path: &str, mode: u32) {
        fs::set_permissions(self.repo().join(path), fs::Permissions::from_mode(mode)).expect("it is ours");
    }

    pub(crate) fn mode(&self, path: &str) -> u32 {
        fs::symlink_metadata(self.repo().join(path)).expect("it is there").permissions().mode() & 0o7777
    }

    /// Returns everything on the disk but `.git`.
    pub(crate) fn disk(&self) -> Disk {
        disk(&self.repo())
    }

    /// Returns where `path` is, in a directory that is there.
    fn place_for(&self, path: &str) -> PathBuf {
        let path = self.repo().join(path);
        fs::create_dir_all(path.parent().expect("it is in the repository")).expect("directories can be made");
        path
    }
}
