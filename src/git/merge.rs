//! Three-way merges of files, and what commits tell of themselves.

use std::io::{Read as _, Seek as _, SeekFrom, Write as _};

use bstr::{BString, ByteSlice as _};
use gix::{ObjectId, objs::Kind as ObjectKind};

use super::Repo;
use crate::error::{Context as _, Kind, Result};

impl Repo {
    /// Returns the blob `ours` with what turns `base` into `theirs`; none if both changed the same lines.
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
        // The status is the number of conflicts, or 255 for what cannot be merged, such as binary files.
        Ok(output.status.success().then(|| output.stdout.into()))
    }

    /// Returns the commits at which HEAD of this worktree was lately, the last of `count` moves first; none without a
    /// reflog in files.
    pub(crate) fn where_head_was(&self, count: usize) -> Vec<ObjectId> {
        let text = self.head_log();
        let id = |line: &[u8]| ObjectId::from_hex(line.split_str(" ").nth(1)?).ok();
        text.lines().rev().take(count).filter_map(id).collect()
    }

    /// Returns the commits that took HEAD from `known` to `head`, oldest first, each with where HEAD was before it; none if
    /// there are more than `count`, anything else has moved HEAD since, or there is no reflog in files.
    pub(crate) fn committed_since(
        &self,
        known: Option<ObjectId>,
        head: ObjectId,
        count: usize,
    ) -> Vec<(Option<ObjectId>, ObjectId)> {
        let text = self.head_log();
        let (mut made, mut at) = (Vec::new(), head);
        for line in text.lines().rev().take(count) {
            // Git does not translate this.
            let Some((ids, said)) = line.split_once_str("\t") else { break };
            let mut ids = ids.split_str(" ").map(ObjectId::from_hex);
            let (Some(Ok(old)), Some(Ok(new))) = (ids.next(), ids.next()) else { break };
            if new != at || !said.starts_with(b"commit") {
                break;
            }
            let before = Some(old).filter(|id| !id.is_null());
            made.push((before, new));
            if before == known {
                made.reverse();
                return made;
            }
            at = old;
        }
        Vec::new()
    }

    /// Returns the commits that a reset has lately taken HEAD away from, the last one first, of the last `count` moves.
    pub(crate) fn left_by_resets(&self, count: usize) -> Vec<ObjectId> {
        let text = self.head_log();
        let left = |line: &[u8]| {
            // Git does not translate this.
            let (ids, said) = line.split_once_str("\t")?;
            let mut ids = ids.split_str(" ").map(ObjectId::from_hex);
            let (old, new) = (ids.next()?.ok()?, ids.next()?.ok()?);
            (said.starts_with(b"reset:") && old != new).then_some(old)
        };
        text.lines().rev().take(count).filter_map(left).collect()
    }

    /// Returns the end of the reflog of HEAD in this worktree; nothing if it is not in a file.
    fn head_log(&self) -> Vec<u8> {
        const LONGEST: i64 = 64 << 10;
        let read = || -> std::io::Result<Vec<u8>> {
            let mut file = std::fs::File::open(self.git_dir().join("logs/HEAD"))?;
            if file.seek(SeekFrom::End(-LONGEST)).is_err() {
                file.rewind()?;
            }
            let mut text = Vec::new();
            file.read_to_end(&mut text).map(|_| text)
        };
        read().unwrap_or_default()
    }

    /// Returns the parents of the commit `id`.
    pub(crate) fn parents_of(&self, id: ObjectId) -> Result<Vec<ObjectId>> {
        self.with_commit(id, |commit| commit.parents().collect())
    }

    /// Returns the first parent of the commit `id`, and when it was made, in Unix seconds; none if it is not here, or no
    /// commit.
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
