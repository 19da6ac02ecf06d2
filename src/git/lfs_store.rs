//! What Git LFS keeps beside the objects of git: the files that pointers name, each called after the SHA-256 of its content. A copy of
//! a repository gets those of its commit, and gives back those that were made in it.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::{
    Repo,
    copy_file::{Copied, copy_file},
    filter::LFS_POINTER,
};
use crate::error::{Context as _, Error, Kind, Result};

/// A longer blob is no pointer (git-lfs's specification).
const LONGEST_POINTER: u64 = 1024;
const DIGITS: usize = 64;

/// Returns the SHA-256 that the pointer `text` names; none if it is no pointer.
fn named_by(text: &[u8]) -> Option<String> {
    let rest =
        text.starts_with(LFS_POINTER).then(|| text.lines().find_map(|line| line.strip_prefix(b"oid sha256:")))?;
    rest.and_then(|oid| oid.trim().to_str().ok()).filter(|oid| is_name(oid)).map(str::to_owned)
}

fn is_name(name: &str) -> bool {
    name.len() == DIGITS && name.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// Returns where the file `oid` is below the folder of the files.
fn place(oid: &str) -> BString {
    format!("{}/{}/{oid}", &oid[..2], &oid[2..4]).into()
}

/// Returns true if the content of the regular file `path` has the SHA-256 `oid`.
fn is_sound(path: &Path, oid: &str) -> io::Result<bool> {
    let (mut file, mut hasher) = (File::open(path)?, gix::hash::hasher(gix::hash::Kind::Sha256));
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => {
                let named = ObjectId::from_hex(oid.as_bytes()).ok();
                return Ok(hasher.try_finalize().is_ok_and(|id| named == Some(id)));
            }
            length => hasher.update(&buffer[..length]),
        }
    }
}

impl Repo {
    /// Returns the folder of the files of Git LFS: where the setting `lfs.storage` says, or else in the common directory.
    fn lfs_folder(&self) -> PathBuf {
        let set = self.config_pairs("lfs").into_iter().rfind(|pair| pair.key == "storage" && !pair.value.is_empty());
        let storage =
            set.and_then(|pair| pair.value.to_path().ok().map(Path::to_owned)).unwrap_or_else(|| "lfs".into());
        self.common_dir().join(storage).join("objects")
    }

    /// Copies the files that the pointers in the tree `tree_id` name from the repository `from`, as far as that has them.
    ///
    /// # Errors
    /// If the tree cannot be read, or a file not be copied.
    pub(crate) fn copy_lfs(&self, from: &Self, tree_id: ObjectId) -> Result<()> {
        let folder = from.lfs_folder();
        if !folder.is_dir() {
            return Ok(());
        }
        for oid in from.lfs_named_in(tree_id)? {
            self.take_lfs(&folder, &oid)?;
        }
        Ok(())
    }

    /// Brings all files that were made in `copy`, and that this repository does not have.
    ///
    /// # Errors
    /// If one cannot be copied, or is not what its name says.
    pub(crate) fn bring_lfs(&self, copy: &Self) -> Result<()> {
        // Where the copy was made: its settings may name any folder by now.
        let folder = copy.common_dir().join("lfs/objects");
        for oid in names_below(&folder)? {
            self.take_lfs(&folder, &oid)?;
        }
        Ok(())
    }

    /// Returns which files the pointers in the tree `tree_id` name that have changed since the tree `before`, and that this repository
    /// does not have.
    ///
    /// # Errors
    /// If the trees cannot be read.
    pub(crate) fn lfs_missing(&self, before: ObjectId, tree_id: ObjectId) -> Result<Vec<BString>> {
        let (folder, mut missing) = (self.lfs_folder(), Vec::new());
        for change in self.diff_trees(before, tree_id)? {
            let Some(leaf) = change.after else { continue };
            let oid = self.lfs_named(leaf.id)?;
            if oid.is_some_and(|oid| !folder.join(place(&oid).to_path_lossy()).is_file()) {
                missing.push(change.path);
            }
        }
        Ok(missing)
    }

    fn lfs_named_in(&self, tree_id: ObjectId) -> Result<BTreeSet<String>> {
        let all = self.diff_trees(self.empty_tree_id(), tree_id)?.into_iter();
        let ids: BTreeSet<ObjectId> = all.filter_map(|change| Some(change.after?.id)).collect();
        let mut named = BTreeSet::new();
        for id in ids {
            named.extend(self.lfs_named(id)?);
        }
        Ok(named)
    }

    /// Returns the file that the blob `id` names, if that is a pointer.
    fn lfs_named(&self, id: ObjectId) -> Result<Option<String>> {
        let header = self.inner.try_find_header(id).context(Kind::Corrupt, || format!("cannot read '{id}'"))?;
        let is_short = header.is_some_and(|it| it.kind().is_blob() && it.size() <= LONGEST_POINTER);
        Ok(if is_short { named_by(&self.read_blob(id)?) } else { None })
    }

    /// Copies the file `oid` from `folder`, if it is there and this repository lacks it.
    fn take_lfs(&self, folder: &Path, oid: &str) -> Result<()> {
        let (mine, place) = (self.lfs_folder(), place(oid));
        let (source, target) = (folder.join(place.to_path_lossy()), mine.join(place.to_path_lossy()));
        let is_file = |path: &Path| fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file());
        if is_file(&target) || !is_file(&source) {
            return Ok(());
        }
        let what = || format!("cannot copy '{}'", source.display());
        if !is_sound(&source, oid).context(Kind::User, what)? {
            return Err(Error::refused(format!("'{}' is not what its name says", source.display()))
                .with_hint("'git lfs fsck' there looks at such files"));
        }
        // A file that is there counts as whole: what is written in part has another name.
        fs::create_dir_all(&mine).context(Kind::User, what)?;
        let beside = tempfile::Builder::new().prefix(".copy-").tempdir_in(&mine).context(Kind::User, what)?;
        if copy_file(folder, beside.path(), place.as_bstr()).context(Kind::User, what)? != Copied::Yes {
            return Ok(());
        }
        let copied = beside.path().join(place.to_path_lossy());
        if !is_sound(&copied, oid).context(Kind::User, what)? {
            return Err(Error::race(format!("'{}' has just been changed", source.display())));
        }
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent).context(Kind::User, what)?;
        }
        fs::rename(&copied, &target).context(Kind::User, what)
    }
}

/// Returns the names of the files below `folder`; none if it is not there.
fn names_below(folder: &Path) -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    let mut work = vec![(folder.to_owned(), 0)];
    while let Some((path, depth)) = work.pop() {
        let what = || format!("cannot read '{}'", path.display());
        let found = match fs::read_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            found => found.context(Kind::User, what)?,
        };
        for entry in found {
            let entry = entry.context(Kind::User, what)?;
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let name = entry.file_name().to_string_lossy().into_owned();
            if is_folder && depth < 2 {
                work.push((entry.path(), depth + 1));
            } else if !is_folder && depth == 2 && is_name(&name) {
                names.insert(name);
            }
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const OID: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[rstest]
    #[case::pointer(format!("version https://git-lfs.github.com/spec/v1\noid sha256:{OID}\nsize 3\n"), Some(OID))]
    #[case::no_version(format!("oid sha256:{OID}\nsize 3\n"), None)]
    #[case::another_hash("version https://git-lfs.github.com/spec/v1\noid sha512:00\n".to_owned(), None)]
    #[case::a_path("version https://git-lfs.github.com/spec/v1\noid sha256:../../x\n".to_owned(), None)]
    fn a_pointer_names_a_file(#[case] text: String, #[case] oid: Option<&str>) {
        assert_eq!(named_by(text.as_bytes()).as_deref(), oid);
    }

    #[test]
    fn a_file_is_what_its_name_says() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("file");
        fs::write(&path, "abc").expect("writable");
        assert!(is_sound(&path, OID).expect("readable"));
        fs::write(&path, "abd").expect("writable");
        assert!(!is_sound(&path, OID).expect("readable"));
    }
}
