//! Three-way merges of files, and what the reflog says about commits.

use std::io::{Read as _, Seek as _, SeekFrom, Write as _};

use bstr::{BStr, BString, ByteSlice as _};
use gix::{ObjectId, objs::Kind as ObjectKind};

use super::{Repo, ref_store::RefStore};
use crate::error::{Context as _, Kind, Result};

/// A line of the reflog of HEAD.
struct HeadMove<'l> {
    /// Where HEAD was; none on an unborn branch.
    old: Option<ObjectId>,
    new: ObjectId,
    /// Who moved it.
    name: &'l BStr,
    email: &'l BStr,
    /// Why.
    said: &'l [u8],
}

impl<'l> HeadMove<'l> {
    fn parse(line: &'l [u8]) -> Option<Self> {
        let (facts, said) = line.split_once_str("\t").unwrap_or((line, b""));
        let mut words = facts.splitn_str(3, " ");
        let mut id = || ObjectId::from_hex(words.next()?).ok();
        let (old, new) = (id()?, id()?);
        let who = gix::actor::SignatureRef::from_bytes(words.next()?).ok()?;
        Some(Self { old: Some(old).filter(|id| !id.is_null()), new, name: who.name, email: who.email, said })
    }

    /// Returns true if the entry is of a new commit, not of one that git repeats. Git does not translate these words,
    /// and other programs use the same ones.
    fn is_commit(&self) -> bool {
        let is_again = ["commit (cherry-pick)", "commit (rebase)"].iter().any(|it| self.said.starts_with_str(it));
        self.said.starts_with(b"commit") && !is_again
    }
}

/// Commits that moved HEAD, oldest first, each with the position of HEAD before it.
#[derive(Debug, Default)]
pub(crate) struct Committed {
    /// Commits before any other kind of move.
    pub(crate) first: Vec<(Option<ObjectId>, ObjectId)>,
    /// Commits after another kind of move, such as a reset.
    pub(crate) later: Vec<(Option<ObjectId>, ObjectId)>,
}

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

    /// Returns the commits that the last `count` moves of HEAD in this worktree led to, the last one first; none
    /// without a reflog file.
    pub(crate) fn where_head_was(&self, count: usize) -> Vec<ObjectId> {
        let text = self.head_log();
        let id = |line: &[u8]| ObjectId::from_hex(line.split_str(" ").nth(1)?).ok();
        text.lines().rev().take(count).filter_map(id).collect()
    }

    /// Returns the commits made in this worktree since HEAD was at `known`; none if HEAD moved more than `count` times,
    /// or if there is no reflog file.
    pub(crate) fn committed_since(&self, known: Option<ObjectId>, head: ObjectId, count: usize) -> Result<Committed> {
        let text = self.head_log();
        let (mut moves, mut at) = (Vec::new(), head);
        for line in text.lines().rev().take(count) {
            let Some(moved) = HeadMove::parse(line).filter(|moved| moved.new == at) else { break };
            let (before, is_first) = (moved.old, moved.old == known);
            moves.push(moved);
            if is_first {
                return self.commits_of(moves);
            }
            let Some(before) = before else { break };
            at = before;
        }
        Ok(Committed::default())
    }

    /// Returns the commits among `moves`, of which the last one comes first.
    fn commits_of(&self, moves: Vec<HeadMove<'_>>) -> Result<Committed> {
        let (mut made, mut was_moved) = (Committed::default(), false);
        // Skip entries that do not move HEAD, such as the creation of a branch.
        for moved in moves.into_iter().rev().filter(|moved| moved.old != Some(moved.new)) {
            if !self.is_commit(moved.new)? || !(moved.is_commit() || self.is_unsaid_commit(&moved)?) {
                was_moved = true;
            } else if was_moved {
                made.later.push((moved.old, moved.new));
            } else {
                made.first.push((moved.old, moved.new));
            }
        }
        Ok(made)
    }

    /// Returns true if `moved`, which has no message (as by `git update-ref`), is a move to a child commit whose
    /// committer also moved HEAD.
    fn is_unsaid_commit(&self, moved: &HeadMove<'_>) -> Result<bool> {
        let is_by_them = self.with_commit(moved.new, |commit| {
            commit.committer().is_ok_and(|it| it.name == moved.name && it.email == moved.email)
        })?;
        Ok(moved.said.is_empty() && is_by_them && self.parents_of(moved.new)? == moved.old.as_slice())
    }

    /// Returns the commits that HEAD left in its last `count` moves, the last one first, each with whether a reset did
    /// it; none without a reflog file.
    pub(crate) fn left_lately(&self, count: usize) -> Vec<(ObjectId, bool)> {
        let text = self.head_log();
        let left = |line: &[u8]| {
            // Git does not translate this.
            let (ids, said) = line.split_once_str("\t").unwrap_or((line, b""));
            let mut ids = ids.split_str(" ").map(ObjectId::from_hex);
            let (old, new) = (ids.next()?.ok()?, ids.next()?.ok()?);
            (old != new).then_some((old, said.starts_with(b"reset:")))
        };
        text.lines().rev().take(count).filter_map(left).collect()
    }

    /// Returns true if HEAD of this worktree has a reflog.
    pub(crate) fn has_reflog(&self) -> bool {
        !self.head_log().is_empty()
    }

    /// Returns the end of the reflog of HEAD in this worktree, in the format of the file; empty if there is none.
    fn head_log(&self) -> Vec<u8> {
        // An unreadable reflog counts as none.
        match self.ref_store {
            RefStore::Files => self.head_log_in_file().unwrap_or_default(),
            RefStore::Git => self.head_log_by_git().unwrap_or_default(),
        }
    }

    fn head_log_in_file(&self) -> std::io::Result<Vec<u8>> {
        const LONGEST: i64 = 64 << 10;
        let mut file = std::fs::File::open(self.git_dir().join("logs/HEAD"))?;
        if file.seek(SeekFrom::End(-LONGEST)).is_err() {
            file.rewind()?;
        }
        let mut text = Vec::new();
        file.read_to_end(&mut text).map(|_| text)
    }

    fn head_log_by_git(&self) -> Result<Vec<u8>> {
        const MOST: usize = 256;
        let (most, format) = (format!("--max-count={}", MOST + 1), "--format=%H %gn <%ge> 0 +0000%x09%gs");
        let said = self.try_git(&["log", "-g", &most, format, "HEAD", "--"], None)?.stdout;
        let mut lines: Vec<&[u8]> = said.lines().collect();
        lines.reverse();
        // A line begins with the position of HEAD before, which git does not print.
        let id_of = |line: &[u8]| line.split_str(" ").next().unwrap_or_default().to_vec();
        let mut old = ObjectId::null(self.object_hash()).to_string().into_bytes();
        if lines.len() > MOST {
            old = id_of(lines.remove(0));
        }
        let mut text = Vec::new();
        for line in lines {
            text.extend([old.as_slice(), b" ", line, b"\n"].concat());
            old = id_of(line);
        }
        Ok(text)
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
