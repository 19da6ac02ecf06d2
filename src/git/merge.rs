//! Three-way merges of files, and the parents and messages of commits.

use std::io::Write as _;

use bstr::{BString, ByteSlice as _};
use gix::{ObjectId, objs::Kind as ObjectKind};

use super::Repo;
use crate::error::{Context as _, Kind, Result};

impl Repo {
    /// Applies the change from `base` to `theirs` to the blob `ours`; none if both changed the same lines.
    pub(crate) fn merge_blobs(&self, base: ObjectId, ours: ObjectId, theirs: ObjectId) -> Result<Option<BString>> {
        let what = || "cannot merge two versions of a file".to_owned();
        let file = |id| {
            let mut file = tempfile::NamedTempFile::new().context(Kind::Internal, what)?;
            file.write_all(&self.read_blob(id)?).context(Kind::Internal, what)?;
            Ok::<_, crate::error::Error>(file.into_temp_path())
        };
        let (base, ours, theirs) = (file(base)?, file(ours)?, file(theirs)?);
        let arguments = ["merge-file".as_ref(), "-p".as_ref(), "-q".as_ref(), &*ours, &*base, &*theirs];
        let output = self.try_git(&arguments, None)?;
        // The exit status is the number of conflicts, or 255 for files that cannot be merged, such as binary ones.
        Ok(output.status.success().then(|| output.stdout.into()))
    }

    /// Returns the parents of the commit `id`, as git does: none for the boundary of a shallow clone.
    pub(crate) fn parents_of(&self, id: ObjectId) -> Result<Vec<ObjectId>> {
        let parents: Vec<ObjectId> = self.with_commit(id, |commit| commit.parents().collect())?;
        if parents.is_empty() {
            return Ok(parents);
        }
        let what = || "cannot read where the shallow clone begins".into();
        let is_first = self.inner.shallow_commits().context(Kind::Corrupt, what)?.is_some_and(|all| all.contains(&id));
        Ok(if is_first { Vec::new() } else { parents })
    }

    /// Returns the first parent of the commit `id` and its time in Unix seconds; none if this repository does not have
    /// it, or if it is no commit.
    pub(crate) fn parent_and_time(&self, id: ObjectId) -> Result<Option<(Option<ObjectId>, i64)>> {
        let found =
            self.inner.try_find_object(id).context(Kind::Corrupt, || format!("cannot read the object '{id}'"))?;
        let Some(commit) = found.filter(|object| object.kind == ObjectKind::Commit) else { return Ok(None) };
        let malformed = || format!("the commit '{id}' is malformed");
        let commit = commit.try_to_commit_ref().context(Kind::Corrupt, malformed)?;
        let seconds = commit.time().context(Kind::Corrupt, malformed)?.seconds;
        let parent = commit.parents().next();
        Ok(Some((parent, seconds)))
    }

    /// Returns the message of the commit `id`.
    pub(crate) fn message_of(&self, id: ObjectId) -> Result<String> {
        self.with_commit(id, |commit| commit.message.to_str_lossy().into_owned())
    }
}
