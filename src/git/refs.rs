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
                let head = self.inner.head().context(Kind::Corrupt, || "cannot read HEAD".into())?;
                let branch = head.referent_name().map(|name| name.as_bstr().to_owned());
                let id = head.id().map(gix::Id::detach);
                Ok(Head { id, branch })
            }
            RefStore::Git => {
                let branch = self.try_git(&["symbolic-ref", "-q", "HEAD"], None)?;
                let branch = branch.status.success().then(|| branch.stdout.trim().into());
                Ok(Head { id: self.find_ref("HEAD")?, branch })
            }
        }
    }

    /// Returns what the ref `name` points to, without peeling tags.
    pub fn find_ref(&self, name: &str) -> Result<Option<ObjectId>> {
        match self.ref_store {
            RefStore::Files => {
                let found =
                    self.inner.try_find_reference(name).context(Kind::Corrupt, || format!("cannot read '{name}'"))?;
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

    fn files_refs_below(&self, prefix: &str) -> Result<Vec<(String, ObjectId)>> {
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

    /// Carries out all of `updates` or none.
    ///
    /// # Errors
    /// [`Kind::Race`] if a ref is not as expected or is locked by another process.
    pub fn update_refs(&self, updates: &[RefUpdate]) -> Result<()> {
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
            Err(cause) => Err(Error::race(format!("cannot update {}", names())).with_cause(cause)),
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
        self.run_git(&["update-ref", "--stdin", "--no-deref"], Some(input.as_bytes()))
            .map(drop)
            .map_err(|cause| Error::race("cannot update the refs of checkpoints").with_cause(cause))
    }
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
