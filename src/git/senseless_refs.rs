//! Files of refs that have no id: empty or full of zeros, as a power cut leaves them.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use gix::ObjectId;

use super::{Repo, lock_files::LockRequest, ref_store::RefStore, repo::RefNames};
use crate::error::{Context as _, Kind, Result};

impl Repo {
    /// Returns the names of the refs whose files have no id: `prefix` itself, or, if it ends in `/`, those that begin with it.
    pub(crate) fn refs_without_id(&self, prefix: &str) -> Vec<String> {
        let mut found = Vec::new();
        if self.ref_store == RefStore::Files {
            self.add_refs_without_id(prefix, &mut found);
        }
        found.sort_unstable();
        found
    }

    /// Returns what the ref `name` points to; none if it does not exist, or its file has no id.
    pub(crate) fn find_sound_ref(&self, name: &str) -> Result<Option<ObjectId>> {
        self.find_ref(name).or_else(|error| if self.skips(name) { Ok(None) } else { Err(error) })
    }

    /// Returns true if the file of the ref `name` has no id, and notes that.
    pub(super) fn skips(&self, name: &str) -> bool {
        let is_senseless = self.ref_store == RefStore::Files && self.has_no_id(name);
        if is_senseless && let Ok(mut skipped) = self.skipped_refs.lock() {
            skipped.insert(format!("the file of '{name}' has no id, and the ref is skipped"));
        }
        is_senseless
    }

    /// Returns what says which refs are skipped, and why; grows as more of them are met.
    pub(crate) fn skipped_refs(&self) -> RefNames {
        Arc::clone(&self.skipped_refs)
    }

    fn add_refs_without_id(&self, name: &str, found: &mut Vec<String>) {
        let Some(directory) = name.strip_suffix('/') else {
            found.extend(self.has_no_id(name).then(|| name.to_owned()));
            return;
        };
        for entry in fs::read_dir(self.common_dir().join(directory)).into_iter().flatten().flatten() {
            let Ok(file) = entry.file_name().into_string() else { continue };
            let end = if entry.file_type().is_ok_and(|kind| kind.is_dir()) { "/" } else { "" };
            self.add_refs_without_id(&format!("{name}{file}{end}"), found);
        }
    }

    /// Moves the file of the ref `name` to `directory` if it has no id, and returns where it is now.
    pub(crate) fn put_ref_away(&self, name: &str, directory: &Path) -> Result<Option<PathBuf>> {
        let (path, refs) = (self.common_dir().join(name), self.common_dir().join("refs"));
        let request = LockRequest { name, path: &path, boundary: Some(&refs), content: b"" };
        let _lock = self.take_lock(&request, self.note_locks(b"").as_ref())?;
        if !self.has_no_id(name) {
            return Ok(None);
        }
        let what = || format!("cannot move '{}' away", path.display());
        fs::create_dir_all(directory).context(Kind::Internal, what)?;
        let place = |number: usize| directory.join(format!("{}.{number}.bad", name.replace('/', ",")));
        let place = (1..1000).map(place).find(|path| path.symlink_metadata().is_err()).unwrap_or_else(|| place(0));
        fs::rename(&path, &place).context(Kind::Internal, what)?;
        Ok(Some(place))
    }
}
