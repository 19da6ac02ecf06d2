//! Refs as loose and packed files: read and changed as git does it, with its locks and in its order.
//!
//! gix reads the packed refs before the loose ones, and before it locks them. If `git pack-refs` (each `git gc`) moves
//! a ref in between, gix would read its old value, and a deletion would write that old value back for all refs,
//! branches among them.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    rc::Rc,
};

use bstr::ByteSlice as _;
use gix::{
    ObjectId,
    refs::{FullName, FullNameRef, Target, file::loose::Reference, packed},
};

use super::{
    Head, Repo,
    lock_files::{LockFile, LockRequest},
    refs::RefUpdate,
};
use crate::{
    error::{Context as _, Error, Kind, Result},
    model::refname,
    state::{failpoint, lock_note::Note},
};

/// How many symbolic refs in a row git follows.
const MOST_STEPS: usize = 5;

/// A locked ref, and what to do with it.
enum Locked {
    /// The lock has the new content.
    Update(LockFile),
    Delete(FullName, LockFile),
    Nothing(#[expect(dead_code, reason = "it is held")] LockFile),
}

impl Repo {
    pub(super) fn head_in_files(&self) -> Result<Head> {
        let name = full_name("HEAD")?;
        let Some(head) = self.ref_in_files(name.as_ref())? else {
            return Err(Error::corrupt("cannot read HEAD"));
        };
        let branch = head.try_name().map(|name| name.as_bstr().to_owned());
        let mut target = Some(head);
        for _ in 0..MOST_STEPS {
            match target {
                Some(Target::Symbolic(name)) => target = self.ref_in_files(name.as_ref())?,
                _ => break,
            }
        }
        Ok(Head { id: target.and_then(|target| target.try_id().map(ToOwned::to_owned)), branch })
    }

    /// Returns what the ref `name` points to; none if it does not exist, or is a symbolic ref.
    pub(super) fn find_ref_in_files(&self, name: &str) -> Result<Option<ObjectId>> {
        let target = self.ref_in_files(full_name(name)?.as_ref())?;
        Ok(target.and_then(|target| target.try_id().map(ToOwned::to_owned)))
    }

    fn ref_in_files(&self, name: &FullNameRef) -> Result<Option<Target>> {
        if let Some(target) = self.loose_ref(name)? {
            return Ok(Some(target));
        }
        // The packed refs come second: git writes them before it removes the loose file.
        Ok(self.packed_refs()?.map(|packed| packed_ref(&packed, name)).transpose()?.flatten())
    }

    fn loose_ref(&self, name: &FullNameRef) -> Result<Option<Target>> {
        let what = || format!("cannot read '{}'", name.as_bstr());
        let text = match fs::read(self.ref_path(name)) {
            Ok(text) => text,
            Err(cause) if is_absent(&cause) => return Ok(None),
            Err(cause) => return Err(Error::corrupt(what()).with_cause(cause)),
        };
        let reference = Reference::try_from_path(name.to_owned(), &text, self.object_hash());
        reference.map(|reference| Some(reference.target)).context(Kind::Corrupt, what)
    }

    /// Reads the packed refs anew. gix would compare modification times to find out whether its copy is current, and
    /// two versions may have the same time.
    fn packed_refs(&self) -> Result<Option<packed::Buffer>> {
        self.inner.refs.open_packed_buffer().context(Kind::Corrupt, || "cannot read the packed refs".into())
    }

    /// Returns true if there is a file of the ref `name`, and it can be read and makes no sense.
    pub(super) fn has_no_id(&self, name: &str) -> bool {
        let Ok(name) = FullName::try_from(name) else { return false };
        let text = fs::read(self.ref_path(name.as_ref()));
        text.is_ok_and(|text| Reference::try_from_path(name, &text, self.object_hash()).is_err())
    }

    fn ref_path(&self, name: &FullNameRef) -> PathBuf {
        let of_worktree = ["refs/bisect/", "refs/rewritten/", "refs/worktree/"];
        let name = name.as_bstr();
        let is_shared = name.starts_with_str("refs/") && !of_worktree.iter().any(|prefix| name.starts_with_str(prefix));
        let directory = if is_shared { self.common_dir() } else { self.git_dir() };
        directory.join(name.to_path_lossy())
    }

    /// Returns the refs whose names begin with `prefix` (which ends in `/`), with their values, sorted by name.
    pub(super) fn refs_below_in_files(&self, prefix: &str) -> Result<Vec<(String, ObjectId)>> {
        let mut found = BTreeMap::new();
        self.add_loose_refs(prefix, &self.common_dir().join(prefix), &mut found)
            .map_err(|error| Error::corrupt(format!("cannot list the refs below '{prefix}'")).with_cause(error))?;
        // Second, as in `ref_in_files`.
        for (name, id) in self.packed_refs_below(prefix)? {
            found.entry(name).or_insert(Some(id));
        }
        Ok(found.into_iter().filter_map(|(name, id)| Some((name, id?))).collect())
    }

    /// Adds the loose refs in `directory`, that of `prefix`; the value of a symbolic ref is none.
    fn add_loose_refs(
        &self,
        prefix: &str,
        directory: &Path,
        found: &mut BTreeMap<String, Option<ObjectId>>,
    ) -> Result<()> {
        let what = || format!("cannot read '{}'", directory.display());
        let entries = match fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(cause) if is_absent(&cause) => return Ok(()),
            Err(cause) => return Err(Error::corrupt(what()).with_cause(cause)),
        };
        for entry in entries {
            let entry = entry.context(Kind::Corrupt, what)?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let name = format!("{prefix}{name}");
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                self.add_loose_refs(&format!("{name}/"), &entry.path(), found)?;
            } else if let Ok(full_name) = FullName::try_from(name.as_str()) {
                match self.loose_ref(full_name.as_ref()) {
                    Ok(Some(target)) => drop(found.insert(name, target.try_id().map(ToOwned::to_owned))),
                    // A lock file, or a ref that was packed or deleted since.
                    Ok(None) => {}
                    Err(error) if !self.skips(&name) => return Err(error),
                    // An older value in the packed refs is not what it points to.
                    Err(_) => drop(found.insert(name, None)),
                }
            }
        }
        Ok(())
    }

    /// Returns the names of the refs directly in `prefix` (which ends in `/`), in no order, some of them twice.
    pub(super) fn ref_names_below_in_files(&self, prefix: &str) -> Result<Vec<String>> {
        let files = fs::read_dir(self.common_dir().join(prefix)).into_iter().flatten().flatten();
        let names = files.filter_map(|file| file.file_name().into_string().ok());
        let mut names: Vec<String> =
            names.filter(|name| name.strip_suffix(".lock").is_none()).map(|name| format!("{prefix}{name}")).collect();
        // Second, as in `ref_in_files`.
        names.extend(self.packed_refs_below(prefix)?.into_iter().map(|(name, _)| name));
        Ok(names)
    }

    fn packed_refs_below(&self, prefix: &str) -> Result<Vec<(String, ObjectId)>> {
        let what = || "cannot read the packed refs".to_owned();
        let mut found = Vec::new();
        if let Some(packed) = self.packed_refs()? {
            for reference in packed.iter_prefixed(prefix.into()).context(Kind::Corrupt, what)? {
                let reference = reference.context(Kind::Corrupt, what)?;
                found.extend(reference.name.as_bstr().to_str().ok().map(|name| (name.to_owned(), reference.target())));
            }
        }
        Ok(found)
    }

    /// Carries out all of `updates` or none. Returns false without doing anything if the packed refs would have to be
    /// rewritten, which is left to git.
    ///
    /// The updates take effect in their order, except that deletions come last. If the process is killed in between,
    /// the earlier ones stay: a ref that starts to hold something must come before the ref that stops holding it.
    ///
    /// # Errors
    /// [`Kind::Race`] if a ref is not as expected or is locked by another process.
    pub(super) fn update_refs_in_files(&self, updates: &[RefUpdate]) -> Result<bool> {
        let mut changed = Vec::new();
        let outcome = self.change_refs(updates, &mut changed);
        if outcome.is_err() && !changed.is_empty() {
            let back: Vec<RefUpdate> = changed
                .into_iter()
                .rev()
                .map(|RefUpdate { name, old, new }| RefUpdate { name: name.clone(), old: *new, new: *old })
                .collect();
            // If another process has moved such a ref since, its value stays.
            let taken_back = match self.change_refs(&back, &mut Vec::new()) {
                Ok(false) => self.update_refs_by_git(&back),
                other => other.map(drop),
            };
            if let Err(error) = taken_back {
                tracing::warn!(%error, "moved some of the refs only");
            }
        }
        outcome
    }

    /// The same, but if an update fails, the earlier ones stay and are in `changed`.
    fn change_refs<'u>(&self, updates: &'u [RefUpdate], changed: &mut Vec<&'u RefUpdate>) -> Result<bool> {
        let is_deleting = updates.iter().any(|update| update.new.is_none());
        // Locks that do not write a ref share one note.
        let held = if is_deleting { self.note_locks(b"") } else { None };
        let mut locked = Vec::with_capacity(updates.len());
        for update in updates {
            locked.push((update, self.lock_ref(update, held.as_ref())?));
            failpoint::hit("refs:after-lock");
        }
        // Held to the end: otherwise, `git pack-refs` might pack a ref that we delete, and it would be back.
        let mut _packing = None;
        if is_deleting {
            let path = self.packed_refs_path();
            let request = LockRequest { name: "packed-refs", path: &path, boundary: None, content: b"" };
            _packing = Some(self.take_lock(&request, held.as_ref())?);
            failpoint::hit("refs:after-packed-lock");
            if let Some(packed) = self.packed_refs()? {
                for (_, lock) in &locked {
                    if let Locked::Delete(name, _) = lock
                        && packed_ref(&packed, name.as_ref())?.is_some()
                    {
                        return Ok(false);
                    }
                }
            }
        }
        // Deletions come last: until then, the old refs hold what only changes its name.
        locked.sort_by_key(|(_, lock)| matches!(lock, Locked::Delete(..)));
        for (update, lock) in locked {
            let done = match lock {
                Locked::Update(lock) => lock.commit(),
                Locked::Delete(name, lock) => self.delete(name.as_ref(), lock),
                Locked::Nothing(_) => continue,
            };
            if let Err(error) = done {
                match self.find_ref_in_files(&update.name) {
                    // Some file systems report an error for a rename that they have done.
                    Ok(now) if now == update.new => {}
                    Ok(_) => return Err(error),
                    // A ref that may be the only one to hold something is not rolled back.
                    Err(_) => {
                        changed.clear();
                        return Err(error);
                    }
                }
            }
            changed.push(update);
            failpoint::hit("refs:after-change");
        }
        Ok(true)
    }

    fn lock_ref(&self, update: &RefUpdate, held: Option<&Rc<Note>>) -> Result<Locked> {
        let name = full_name(&update.name)?;
        let (path, refs) = (self.ref_path(name.as_ref()), self.common_dir().join("refs"));
        let content = update.new.map(|new| format!("{new}\n")).unwrap_or_default();
        let content = content.as_bytes();
        let note = if update.new.is_some() { self.note_locks(content) } else { held.cloned() };
        let request = LockRequest { name: &update.name, path: &path, boundary: Some(&refs), content };
        let lock = self.take_lock(&request, note.as_ref())?;
        let old = self.check_old(update, name.as_ref())?;
        Ok(match update.new {
            None => Locked::Delete(name, lock),
            Some(new) if old == Some(new) => Locked::Nothing(lock),
            Some(_) => Locked::Update(lock),
        })
    }

    /// Returns what the locked ref of `update` points to, if that is as expected. A ref that already has the new value
    /// also satisfies "must not exist"; a tag does not, for of several processes that make it, one alone has made it.
    fn check_old(&self, update: &RefUpdate, name: &FullNameRef) -> Result<Option<ObjectId>> {
        let target = self.ref_in_files(name)?;
        let id = target.as_ref().and_then(|target| target.try_id().map(ToOwned::to_owned));
        let is_as_expected = if target.is_some() && id.is_none() {
            false
        } else {
            let is_made = update.old.is_none() && id == update.new && !update.name.starts_with(refname::TAGS);
            id == update.old || is_made
        };
        if is_as_expected {
            return Ok(id);
        }
        let found = target.map_or_else(|| "nothing".to_owned(), |target| target.to_string());
        let expected = update.old.map_or_else(|| "nothing".to_owned(), |old| old.to_string());
        let cause = format!("expected {expected}, found {found}");
        Err(Error::race(format!("cannot update '{}'", update.name)).with_cause(cause))
    }

    fn delete(&self, name: &FullNameRef, lock: LockFile) -> Result<()> {
        let log = self.common_dir().join("logs").join(name.as_bstr().to_path_lossy());
        for path in [log, self.ref_path(name)] {
            match fs::remove_file(&path) {
                Err(cause) if !is_absent(&cause) => {
                    return Err(Error::internal(format!("cannot remove '{}'", path.display())).with_cause(cause));
                }
                _ => {}
            }
            failpoint::hit("refs:after-removal");
        }
        // Dropping the lock also removes directories that are empty now.
        drop(lock);
        Ok(())
    }
}

fn full_name(name: &str) -> Result<FullName> {
    FullName::try_from(name).context(Kind::Internal, || format!("'{name}' is not a ref name"))
}

fn packed_ref(packed: &packed::Buffer, name: &FullNameRef) -> Result<Option<Target>> {
    // A pseudo ref such as `ORIG_HEAD` is never packed, and gix would look for a branch of that name.
    if !name.as_bstr().starts_with_str("refs/") {
        return Ok(None);
    }
    let found = packed.try_find(name).context(Kind::Corrupt, || "cannot read the packed refs".into())?;
    Ok(found.map(|found| Target::Object(found.target())))
}

fn is_absent(cause: &io::Error) -> bool {
    // If there is a directory instead of the ref, it contains other refs.
    [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory, io::ErrorKind::IsADirectory].contains(&cause.kind())
}
