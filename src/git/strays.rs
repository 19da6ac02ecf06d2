//! Finds the temporary files of restores in the worktree: what was killed may have left some that nothing names any more.

use std::{fs, path::PathBuf};

use bstr::{BString, ByteSlice as _, ByteVec as _};

use super::{Repo, checkout_names::is_temporary_name};
use crate::error::Result;

impl Repo {
    /// Returns the paths of all files in the worktree that are named like a restore's temporary files, sorted.
    ///
    /// Reads every directory, also ignored ones, since a file may be tracked there. Does not enter nested repositories,
    /// and neither does a restore.
    pub(crate) fn temporary_files(&self) -> Result<Vec<BString>> {
        let (mut found, mut directories) = (Vec::new(), vec![PathBuf::new()]);
        while let Some(directory) = directories.pop() {
            self.check_interrupt()?;
            let (mut files, mut inner, mut is_nested) = (Vec::new(), Vec::new(), false);
            for entry in fs::read_dir(self.root.join(&directory)).into_iter().flatten().flatten() {
                let (name, is_directory) = (entry.file_name(), entry.file_type().is_ok_and(|kind| kind.is_dir()));
                if name == ".git" {
                    is_nested = !directory.as_os_str().is_empty();
                } else if is_directory {
                    let path = directory.join(name);
                    if !self.own_directories.contain(Vec::from_path_lossy(&path).as_bstr()) {
                        inner.push(path);
                    }
                } else if is_temporary_name(name.as_encoded_bytes()) {
                    files.push(directory.join(name));
                }
            }
            if !is_nested {
                directories.append(&mut inner);
                found.extend(files.into_iter().map(|path| BString::from(Vec::from_path_lossy(&path).into_owned())));
            }
        }
        found.sort();
        Ok(found)
    }
}
