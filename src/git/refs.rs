//! Refs: read them, and change several at once, each with its expected old value.

use bstr::ByteSlice as _;
use gix::{
    ObjectId,
    refs::{
        FullName, Target,
        transaction::{Change, PreviousValue, RefEdit},
    },
};

use super::{Head, Repo};
use crate::error::{Context as _, Error, Kind, Result};

/// A change of one ref.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefUpdate {
    /// The full name.
    pub name: String,
    /// What it must point to before; none: it must not exist.
    pub old: Option<ObjectId>,
    /// What it shall point to; none: it is deleted.
    pub new: Option<ObjectId>,
}

/// Who reads and writes refs here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RefStore {
    /// Loose and packed files: gix.
    Files,
    /// Any other format (reftable): gix has none, so git.
    Git,
}

impl RefStore {
    pub(super) fn of(repo: &gix::Repository) -> Self {
        match repo.config_snapshot().string("extensions.refStorage") {
            Some(format) if !format.eq_ignore_ascii_case(b"files") => Self::Git,
            _ => Self::Files,
        }
    }
}

impl Repo {
    /// Returns what HEAD points to.
    pub fn head(&self) -> Result<Head> {
        match self.ref_store {
            RefStore::Files => {
                // Once more for the same reason as in `find_ref`: an unborn branch is seldom.
                let head = self.head_in_files()?;
                if head.id.is_none() { self.head_in_files() } else { Ok(head) }
            }
            RefStore::Git => {
                let branch = self.try_git(&["symbolic-ref", "-q", "HEAD"], None)?;
                let branch = branch.status.success().then(|| branch.stdout.trim().into());
                Ok(Head { id: self.find_ref("HEAD")?, branch })
            }
        }
    }

    fn head_in_files(&self) -> Result<Head> {
        let head = self.inner.head().context(Kind::Corrupt, || "cannot read HEAD".into())?;
        let branch = head.referent_name().map(|name| name.as_bstr().to_owned());
        let id = head.id().map(gix::Id::detach);
        Ok(Head { id, branch })
    }

    /// Returns what the ref `name` points to, without peeling tags.
    pub fn find_ref(&self, name: &str) -> Result<Option<ObjectId>> {
        match self.ref_store {
            RefStore::Files if self.has_no_file_ref(name)? => Ok(None),
            RefStore::Files => {
                let find =
                    || self.inner.try_find_reference(name).context(Kind::Corrupt, || format!("cannot read '{name}'"));
                // gix looks at the packed refs first: what `git pack-refs` moves there meanwhile it sees in neither place.
                let found = find()?.map_or_else(find, |found| Ok(Some(found)))?;
                Ok(found.and_then(|reference| reference.try_id().map(gix::Id::detach)))
            }
            RefStore::Git => {
                let output = self.try_git(&["rev-parse", "--verify", "-q", "--end-of-options", name], None)?;
                if !output.status.success() {
                    return Ok(None);
                }
                ObjectId::from_hex(output.stdout.trim())
                    .map(Some)
                    .context(Kind::Internal, || format!("git's id of '{name}' is none"))
            }
        }
    }

    /// Returns true if there is no ref of exactly this `name`; gix goes on to look for it as a tag, a branch and so on.
    fn has_no_file_ref(&self, name: &str) -> Result<bool> {
        let is_shared = name.starts_with("refs/");
        let directory = if is_shared { self.common_dir() } else { self.git_dir() };
        if self.inner.namespace().is_some() || directory.join(name).symlink_metadata().is_ok() {
            return Ok(false);
        }
        // Packed ones second: git writes them there before it removes the file.
        let what = || "cannot read the packed refs".into();
        let Some(packed) = self.inner.refs.cached_packed_buffer().context(Kind::Corrupt, what)? else {
            return Ok(true);
        };
        let Ok(full_name) = <&gix::refs::FullNameRef>::try_from(name) else { return Ok(false) };
        Ok(packed.try_find(full_name).context(Kind::Corrupt, what)?.is_none())
    }

    /// Returns all refs whose names begin with `prefix` (which ends in `/`), with what they point to, by name.
    pub fn refs_below(&self, prefix: &str) -> Result<Vec<(String, ObjectId)>> {
        match self.ref_store {
            RefStore::Files => self.files_refs_below(prefix),
            RefStore::Git => {
                let output = self.run_git(&["for-each-ref", "--format=%(objectname) %(refname)", prefix], None)?;
                let parse = |line: &str| {
                    let (id, name) = line.split_once(' ')?;
                    Some((name.to_owned(), ObjectId::from_hex(id.as_bytes()).ok()?))
                };
                Ok(output.to_str_lossy().lines().filter_map(parse).collect())
            }
        }
    }

    /// Packed refs are read first: what `git pack-refs` moves there meanwhile would be seen in neither place.
    fn files_refs_below(&self, prefix: &str) -> Result<Vec<(String, ObjectId)>> {
        const ATTEMPTS: u32 = 8;
        let packed = || {
            let metadata = std::fs::metadata(self.common_dir().join("packed-refs")).ok()?;
            Some((metadata.modified().ok()?, metadata.len(), std::os::unix::fs::MetadataExt::ino(&metadata)))
        };
        let mut attempt = 1;
        loop {
            let before = packed();
            let listed = self.files_refs_once(prefix);
            if attempt == ATTEMPTS || (listed.is_ok() && packed() == before) {
                return listed;
            }
            attempt += 1;
        }
    }

    fn files_refs_once(&self, prefix: &str) -> Result<Vec<(String, ObjectId)>> {
        let what = || format!("cannot list the refs below '{prefix}'");
        let platform = self.inner.references().context(Kind::Corrupt, what)?;
        let mut refs = Vec::new();
        for reference in platform.prefixed(prefix).context(Kind::Corrupt, what)? {
            let reference = reference.map_err(|cause| Error::corrupt(what()).with_cause(cause))?;
            if let (Ok(name), Some(id)) = (reference.name().as_bstr().to_str(), reference.try_id()) {
                refs.push((name.to_owned(), id.detach()));
            }
        }
        Ok(refs)
    }

    /// Returns the refs below `prefix`, with what they point to; none for one that makes no sense.
    pub(crate) fn sound_and_broken_refs(&self, prefix: &str) -> Result<Vec<(String, Option<ObjectId>)>> {
        let output = self.try_git(&["for-each-ref", "--format=%(objectname) %(refname)", prefix], None)?;
        let parse = |line: &[u8]| {
            let (id, name) = line.to_str().ok()?.split_once(' ')?;
            Some((name.to_owned(), ObjectId::from_hex(id.as_bytes()).ok()))
        };
        let said = output.stderr.to_str_lossy();
        let broken = said.lines().filter_map(|line| line.split_once("ignoring broken ref "));
        let broken = broken.map(|(_, name)| (name.to_owned(), None));
        Ok(output.stdout.lines().filter_map(parse).chain(broken).collect())
    }

    /// Returns the names of all refs right below `prefix` (which ends in `/`), in no order, without reading each of them.
    pub(crate) fn ref_names_below(&self, prefix: &str) -> Result<Vec<String>> {
        if self.ref_store == RefStore::Git {
            return Ok(self.refs_below(prefix)?.into_iter().map(|(name, _)| name).collect());
        }
        // Loose ones first: git packs a ref before it removes its file.
        let files = std::fs::read_dir(self.common_dir().join(prefix)).into_iter().flatten().flatten();
        let names = files.filter_map(|file| file.file_name().into_string().ok());
        let mut names: Vec<String> =
            names.filter(|name| name.strip_suffix(".lock").is_none()).map(|name| format!("{prefix}{name}")).collect();
        let what = || "cannot read the packed refs".to_owned();
        if let Some(packed) = self.inner.refs.cached_packed_buffer().context(Kind::Corrupt, what)? {
            for reference in packed.iter_prefixed(prefix.into()).context(Kind::Corrupt, what)? {
                let reference = reference.context(Kind::Corrupt, what)?;
                names.extend(reference.name.as_bstr().to_str().ok().map(ToOwned::to_owned));
            }
        }
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }

    /// Carries out all of `updates` or none.
    ///
    /// # Errors
    /// [`Kind::Race`] if a ref is not as expected or is locked by another process.
    pub fn update_refs(&self, updates: &[RefUpdate]) -> Result<()> {
        // Whoever lists refs meanwhile may see neither where it was nor where it goes.
        for gone in updates.iter().filter(|update| update.new.is_none()) {
            if let Some(id) = gone.old.filter(|id| updates.iter().any(|update| update.new == Some(*id))) {
                self.renew(id);
            }
        }
        match self.ref_store {
            // While others pack refs, or have died doing so, gix changes no ref at all; git only deletes none.
            RefStore::Files => match self.update_refs_in_files(updates) {
                Err(_) if self.common_dir().join("packed-refs.lock").exists() => self.update_refs_by_git(updates),
                done => done,
            },
            RefStore::Git => self.update_refs_by_git(updates),
        }
    }

    fn update_refs_in_files(&self, updates: &[RefUpdate]) -> Result<()> {
        let edits = updates.iter().map(edit).collect::<Result<Vec<_>>>()?;
        // Only repositories with `core.logAllRefUpdates = always` write a reflog here; git then wants an identity too.
        let identity = gix::actor::SignatureRef {
            name: "git-checkpoint".into(),
            email: "checkpoint@agent.invalid".into(),
            time: "0 +0000",
        };
        let names = || updates.iter().map(|update| format!("'{}'", update.name)).collect::<Vec<_>>().join(", ");
        match self.inner.edit_references_as(edits, Some(identity)) {
            Ok(_) => Ok(()),
            Err(cause) => {
                // Somebody else's lock, or another value than expected; a full disk is no race.
                let is_race = cause.is_conflict() || cause.is_retryable() || cause.is_not_found();
                let kind = if is_race { Kind::Race } else { Kind::Internal };
                Err(Error::new(kind, format!("cannot update {}", names())).with_cause(cause))
            }
        }
    }

    fn update_refs_by_git(&self, updates: &[RefUpdate]) -> Result<()> {
        let zero = ObjectId::null(self.object_hash());
        let mut input = String::from("start\n");
        for update in updates {
            let old = update.old.unwrap_or(zero);
            match update.new {
                Some(new) => input.push_str(&format!("update {} {new} {old}\n", update.name)),
                None => input.push_str(&format!("delete {} {old}\n", update.name)),
            }
        }
        input.push_str("prepare\ncommit\n");
        let output = self.try_git(&["update-ref", "--stdin", "--no-deref"], Some(input.as_bytes()))?;
        if output.status.success() {
            return Ok(());
        }
        let said = output.stderr.trim().to_str_lossy().into_owned();
        let kind = if is_race(&said) { Kind::Race } else { Kind::Internal };
        Err(Error::new(kind, "cannot update the refs of checkpoints").with_cause(said))
    }
}

/// Returns true if git-update-ref(1), which only has one exit code for all failures, `said` that a ref is locked or not as
/// expected (refs.c, refs/files-backend.c, reftable/error.c).
fn is_race(said: &str) -> bool {
    const SAYINGS: [&str; 7] = [
        "but expected",
        "reference already exists",
        "unable to resolve reference",
        "reference is missing",
        "File exists",
        "data is locked",
        "data concurrently modified",
    ];
    SAYINGS.iter().any(|saying| said.contains(saying))
}

fn edit(update: &RefUpdate) -> Result<RefEdit> {
    let name = FullName::try_from(update.name.as_str())
        .context(Kind::Internal, || format!("'{}' is not a ref name", update.name))?;
    let change = match (update.old, update.new) {
        (old, Some(new)) => Change::Update {
            log: gix::refs::transaction::LogChange { message: "git-checkpoint".into(), ..Default::default() },
            expected: old
                .map_or(PreviousValue::MustNotExist, |old| PreviousValue::MustExistAndMatch(Target::Object(old))),
            new: Target::Object(new),
        },
        (old, None) => Change::Delete {
            expected: old
                .map_or(PreviousValue::MustNotExist, |old| PreviousValue::MustExistAndMatch(Target::Object(old))),
            log: gix::refs::transaction::RefLog::AndReference,
        },
    };
    Ok(RefEdit { change, name, deref: false })
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _, process as run};

    use super::*;

    fn repository(extra: &[&str]) -> (tempfile::TempDir, Repo) {
        let directory = tempfile::tempdir().expect("a temporary directory");
        #[expect(clippy::disallowed_methods, reason = "the test makes its repository with git")]
        let status = run::Command::new("git").args(["init", "-q"]).args(extra).arg(directory.path()).status();
        assert!(status.expect("git runs").success());
        let repo = Repo::open(directory.path()).expect("a repository");
        (directory, repo)
    }

    fn update(name: &str, old: Option<ObjectId>, new: ObjectId) -> [RefUpdate; 1] {
        [RefUpdate { name: name.into(), old, new: Some(new) }]
    }

    #[rstest::rstest]
    #[case::files(&[])]
    #[case::reftable(&["--ref-format=reftable"])]
    fn what_others_changed_is_a_race(#[case] format: &[&str]) {
        let (_directory, repo) = repository(format);
        // The object must exist for git.
        let mut objects = crate::git::new_objects::NewObjects::new(&repo, crate::git::new_objects::Target::Loose);
        let id = objects.add(gix::objs::Kind::Blob, b"a").expect("it can be written");
        let other = objects.add(gix::objs::Kind::Blob, b"b").expect("it can be written");
        drop(objects.write().expect("they can be written"));
        let name = "refs/x/ours/tags/a";
        repo.update_refs(&update(name, None, id)).expect("it is new");
        for update in [update(name, None, other), update(name, Some(other), other), update("refs/x/y", Some(id), other)]
        {
            let error = repo.update_refs(&update).expect_err("it is not as expected");
            assert_eq!(error.kind(), Kind::Race, "{:?}", error.causes());
        }
        let error = repo.update_refs(&update("refs/x/ours/a..b", None, id)).expect_err("no ref name");
        assert_eq!(error.kind(), Kind::Internal, "{:?}", error.causes());
    }

    #[test]
    fn a_directory_that_cannot_be_written_is_no_race() {
        let (directory, repo) = repository(&[]);
        let folder = directory.path().join(".git/refs/x/ours");
        fs::create_dir_all(&folder).expect("it can be made");
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o500)).expect("it is ours");
        let id = repo.empty_tree_id();
        if fs::write(folder.join("probe"), "").is_ok() {
            // Root may write anywhere: a file in the place of a directory is as bad.
            fs::remove_file(folder.join("probe")).expect("it is ours");
            fs::write(folder.join("shadow"), "").expect("it can be written");
        }
        let error = repo.update_refs(&update("refs/x/ours/shadow/a", None, id)).expect_err("no place");
        assert_eq!(error.kind(), Kind::Internal, "{:?}", error.causes());
    }

    #[test]
    fn no_hook_runs() {
        let (directory, repo) = repository(&["--ref-format=reftable"]);
        let hook = directory.path().join(".git/hooks/reference-transaction");
        fs::create_dir_all(hook.parent().expect("it has one")).expect("it can be made");
        fs::write(&hook, "#!/bin/sh\necho ran >\"$GIT_DIR/ran\"\n").expect("it can be written");
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o700)).expect("it is ours");
        let id = repo.empty_tree_id();
        repo.run_git(&["hash-object", "-t", "tree", "-w", "--stdin"], Some(b"")).expect("it can be written");
        repo.update_refs(&update("refs/x/ours/tags/a", None, id)).expect("it is new");
        assert!(!directory.path().join(".git/ran").exists());
    }
}
