//! Reads the reflog of HEAD.

use std::{
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
    path::PathBuf,
};

use bstr::{BStr, ByteSlice as _};
use gix::ObjectId;

use super::{Repo, ref_store::RefStore};
use crate::{
    error::Result,
    model::{
        head_move::{HeadMove, LogEnd, MoveKind, When},
        refname::Base,
    },
};

/// How many bytes of the reflog we read, from its end or from before a known position.
const LONGEST: u64 = 64 << 10;

/// How many moves we return one by one; older ones count as one of unknown kind.
const MOST_MOVES: usize = 256;

/// How many entries git prints of a reflog that is not a file.
const MOST_PRINTED: usize = 256;

/// How many entries identify a position in such a reflog: of two equal ones, those before them differ.
const TELLING_ENTRIES: usize = 3;

/// How many seconds `git stash` may take from making an entry to resetting the worktree.
const LONGEST_STASH: i64 = 10;

/// How many commits back we look for the commits of a move that the reflog does not have.
const MOST_UNLOGGED: usize = MOST_MOVES;

/// The newest entries of the reflog of HEAD in this worktree.
struct HeadLog {
    /// In the format of the file, oldest first.
    text: Vec<u8>,
    /// The position of the first byte; none if the reflog is not a file: then a digest of entries serves as position.
    start: Option<LogEnd>,
}

/// One entry.
#[derive(Clone, Copy)]
struct Entry<'l> {
    old: Base,
    new: ObjectId,
    /// Who moved it.
    name: &'l BStr,
    email: &'l BStr,
    /// When, in Unix seconds.
    seconds: i64,
    /// Why.
    message: &'l [u8],
    end: Option<LogEnd>,
}

impl HeadLog {
    /// Returns the entries, the newest first; stops at a malformed one.
    fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        let mut end = self.text.len();
        self.text.lines_with_terminator().rev().map_while(move |line| {
            let at = end;
            end -= line.len();
            let position = self.start.map(|start| start + at as u64).or_else(|| digest(&self.text[..at]));
            Entry::parse(line.trim_end_with(|it| it == '\n'), position)
        })
    }

    /// Returns when each of the entries was made, the newest first.
    fn whens(&self) -> Vec<When> {
        let now = jiff::Timestamp::now().as_second();
        let mut whens: Vec<i64> = self.entries().map(|entry| entry.seconds).collect();
        let mut before = None;
        let of_entry = |said: i64| {
            let when = When::of_entry(said, before, now);
            before = before.max(Some(said).filter(|said| *said <= now));
            when
        };
        whens.reverse();
        let mut whens: Vec<When> = whens.into_iter().map(of_entry).collect();
        whens.reverse();
        whens
    }

    /// Returns where the last entry ends.
    fn end(&self) -> Option<LogEnd> {
        self.entries().next().and_then(|entry| entry.end)
    }
}

/// Returns a number for the position after the last entries of `text`.
fn digest(text: &[u8]) -> Option<LogEnd> {
    let mut hasher = gix::hash::hasher(gix::hash::Kind::Sha1);
    text.lines_with_terminator().rev().take(TELLING_ENTRIES).for_each(|line| hasher.update(line));
    let bytes = hasher.try_finalize().ok()?;
    bytes.as_slice().first_chunk().map(|bytes| LogEnd::from_be_bytes(*bytes))
}

impl<'l> Entry<'l> {
    fn parse(line: &'l [u8], end: Option<LogEnd>) -> Option<Self> {
        let (facts, message) = line.split_once_str("\t").unwrap_or((line, b""));
        let mut words = facts.splitn_str(3, " ");
        let mut id = || ObjectId::from_hex(words.next()?).ok();
        let (old, new) = (id()?, id()?);
        let who = gix::actor::SignatureRef::from_bytes(words.next()?).ok()?;
        let old = Base::of_head(Some(old).filter(|id| !id.is_null()));
        Some(Self { old, new, name: who.name, email: who.email, seconds: who.seconds(), message, end })
    }
}

impl Repo {
    /// Returns how HEAD of this worktree moved from `known` to `head`, oldest move first, and where the reflog ends after
    /// that. `known` is a former position of HEAD, and where the reflog ended then, if that was noted.
    ///
    /// Where the reflog has a gap, the first parents tell the moves: see [`HeadMove`].
    pub(crate) fn head_moves(
        &self,
        (known, end): (Base, Option<LogEnd>),
        head: ObjectId,
    ) -> Result<(Vec<HeadMove>, Option<LogEnd>)> {
        let log = self.head_log(end);
        let (mut since, mut found_end) = (Vec::new(), None);
        let whens = log.whens();
        for (entry, when) in log.entries().zip(whens) {
            let is_found = match known {
                Base::Commit(known) => entry.new == known && (end.is_none() || entry.end == end),
                // HEAD was at a branch without a commit, of which the reflog says nothing.
                Base::Unborn => end.is_some() && entry.end == end,
            };
            if is_found {
                found_end = Some(entry.end);
                break;
            }
            since.push((entry, when));
        }
        if found_end.is_none() {
            // The reflog was rewritten by `git reflog expire`, or HEAD was at `known` without an entry.
            let first = match known {
                Base::Unborn => since.iter().position(|(entry, _)| entry.old == known).map(|at| at + 1),
                Base::Commit(_) => since.iter().position(|(entry, _)| Base::Commit(entry.new) == known),
            };
            since.truncate(first.unwrap_or(0));
        }
        // Git writes an entry before it moves HEAD: such a move is not over.
        let head_at = match since.iter().position(|(entry, _)| entry.new == head) {
            Some(at) => at,
            None if known == Base::Commit(head) => return Ok((Vec::new(), end.or(found_end.flatten()))),
            None => 0,
        };
        let log_end = since.get(head_at).map_or_else(|| log.end(), |(entry, _)| entry.end);
        since.truncate(head_at + MOST_MOVES);
        let (mut moves, mut at) = (Vec::new(), known);
        for (entry, when) in since[head_at.min(since.len())..].iter().rev() {
            // A renamed branch is deleted and created again.
            if entry.new.is_null() || entry.old == Base::Unborn && at == Base::Commit(entry.new) {
                continue;
            }
            if let Base::Commit(old) = entry.old
                && at != entry.old
            {
                moves.extend(self.unlogged(at, old, Some(*when))?);
            }
            moves.extend(self.typed(entry, *when)?);
            at = Base::Commit(entry.new);
        }
        if at != Base::Commit(head) {
            moves.extend(self.unlogged(at, head, None)?);
        }
        Ok((moves, log_end))
    }

    /// Returns the commit that the last move of HEAD led to.
    pub(crate) fn last_head(&self) -> Option<ObjectId> {
        self.head_log(None).entries().next().map(|entry| entry.new)
    }

    /// Returns where HEAD was when this linked worktree was made, and where the reflog ended then; none if the reflog does not go
    /// back to that, or in the main worktree.
    pub(crate) fn first_head(&self) -> Option<(Base, Option<LogEnd>)> {
        let log = self.head_log(None);
        let is_whole = self.worktree_id() != "main" && log.start.is_none_or(|start| start == 0);
        let first =
            log.entries().last().filter(|entry| is_whole && entry.old == Base::Unborn && !entry.new.is_null())?;
        Some((Base::Commit(first.new), first.end))
    }

    /// Returns where HEAD was before the last move that its reflog has; none if that did not lead to `head`.
    pub(crate) fn head_before(&self, head: ObjectId) -> Option<Base> {
        self.head_log(None).entries().next().filter(|entry| entry.new == head).map(|entry| entry.old)
    }

    /// Returns the move of `entry`. An entry with an unknown message counts as a gap if the committer of its commits also moved
    /// HEAD, and otherwise as one move of unknown kind.
    fn typed(&self, entry: &Entry<'_>, when: When) -> Result<Vec<HeadMove>> {
        let one = |kind| HeadMove { kind, from: entry.old, to: entry.new, end: entry.end, when: Some(when) };
        let Some(kind) = MoveKind::of_message(entry.message) else {
            let mut moves = self.unlogged(entry.old, entry.new, Some(when))?;
            for moved in &moves {
                if moved.kind != MoveKind::Reset && !self.is_by_mover(moved.to, entry)? {
                    return Ok(vec![one(MoveKind::Reset)]);
                }
            }
            if let Some(last) = moves.last_mut() {
                last.end = entry.end;
            }
            return Ok(moves);
        };
        let is_lost = kind.makes_commit() && !self.is_commit(entry.new)?;
        let kind = if is_lost { MoveKind::Reset } else { kind };
        Ok(vec![one(kind)])
    }

    /// Returns true if the committer of `commit` is the one who moved HEAD.
    fn is_by_mover(&self, commit: ObjectId, entry: &Entry<'_>) -> Result<bool> {
        self.with_commit(commit, |commit| {
            commit.committer().is_ok_and(|it| it.name == entry.name && it.email == entry.email)
        })
    }

    /// Returns the moves from `from` to `to` that the reflog does not have: the commits between them, an amend if both have
    /// the same parents, or one move of unknown kind; `when` is the time of the next entry: the commits existed then.
    fn unlogged(&self, from: Base, to: ObjectId, when: Option<When>) -> Result<Vec<HeadMove>> {
        let (mut moves, mut next) = (Vec::new(), Some(to));
        while let Some(commit) = next.filter(|_| moves.len() < MOST_UNLOGGED) {
            let Some((parent, _)) = self.parent_and_time(commit)? else { break };
            let (kind, from_parent) = (MoveKind::Commit, Base::of_head(parent));
            moves.push(HeadMove { kind, from: from_parent, to: commit, end: None, when });
            if from_parent == from {
                moves.reverse();
                return Ok(moves);
            }
            next = parent;
        }
        let is_amended = match from {
            Base::Commit(old) => {
                self.is_commit(old)? && self.is_commit(to)? && self.parents_of(old)? == self.parents_of(to)?
            }
            Base::Unborn => false,
        };
        let kind = if is_amended { MoveKind::Amend } else { MoveKind::Reset };
        Ok(vec![HeadMove { kind, from, to, end: None, when }])
    }

    /// Returns the commits that HEAD left in its last `count` moves, the last one first, each with the kind of the move if the
    /// message shows it; none without a reflog.
    pub(crate) fn left_lately(&self, count: usize) -> Vec<(ObjectId, Option<MoveKind>)> {
        let left = |entry: Entry<'_>| {
            let old = entry.old.commit_id().filter(|old| *old != entry.new)?;
            Some((old, MoveKind::of_message(entry.message)))
        };
        self.head_log(None).entries().take(count).filter_map(left).collect()
    }

    /// Returns true if the reflog has evidence that the stash entry `id` was made in this worktree: `git stash` resets HEAD to
    /// itself, unless it stashes only some paths.
    pub(crate) fn was_stashed_here(&self, id: ObjectId) -> bool {
        let Some((_, made)) = self.parent_and_time(id).ok().flatten() else { return false };
        let is_of_stash = |entry: Entry<'_>| {
            let is_reset = entry.old.commit_id() == Some(entry.new) && entry.message.starts_with(b"reset:");
            is_reset && (made..=made + LONGEST_STASH).contains(&entry.seconds)
        };
        self.head_log(None).entries().take(MOST_MOVES).any(is_of_stash)
    }

    /// Returns true if the reflog of HEAD, in this worktree or another one that is there, says that the commit `id` was made here.
    pub(crate) fn was_made_here(&self, id: ObjectId) -> bool {
        let makes = |entry: Entry<'_>| {
            // A rebase and a cherry-pick say so of a commit that they take as it is.
            !entry.message.contains_str("fast-forward")
                && MoveKind::of_message(entry.message).is_some_and(MoveKind::makes_commit)
        };
        let is_in = |there: &Self| there.head_log(None).entries().any(|entry| entry.new == id && makes(entry));
        is_in(self)
            || self.other_worktrees().iter().any(|(_, root)| self.open_worktree(root).is_ok_and(|there| is_in(&there)))
    }

    /// Returns where HEAD of this worktree was before `known`, as far as the end of its reflog says so.
    pub(crate) fn heads_before(&self, (known, end): (Base, Option<LogEnd>)) -> Vec<ObjectId> {
        let log = self.head_log(None);
        let is_known = |entry: &Entry<'_>| end.is_some() && entry.end == end && Base::Commit(entry.new) == known;
        let before = log.entries().skip_while(|entry| !is_known(entry)).skip(1).take(MOST_MOVES);
        before.map(|entry| entry.new).filter(|id| !id.is_null()).collect()
    }

    /// Returns true if HEAD of this worktree has a reflog.
    pub(crate) fn has_reflog(&self) -> bool {
        self.head_log(None).entries().next().is_some()
    }

    /// Returns where the reflog of HEAD ends now.
    pub(super) fn head_log_end_now(&self) -> Option<LogEnd> {
        match self.ref_store {
            RefStore::Files => std::fs::metadata(self.head_log_file()).ok().map(|metadata| metadata.len()),
            RefStore::Git => self.head_log_by_git(TELLING_ENTRIES).ok()?.end(),
        }
    }

    fn head_log_file(&self) -> PathBuf {
        self.git_dir().join("logs/HEAD")
    }

    /// Reads the reflog from a little before `known` on, or its last entries. An unreadable one counts as empty.
    fn head_log(&self, known: Option<LogEnd>) -> HeadLog {
        match self.ref_store {
            RefStore::Files => self.head_log_in_file(known).ok(),
            RefStore::Git => self.head_log_by_git(MOST_PRINTED).ok(),
        }
        .unwrap_or(HeadLog { text: Vec::new(), start: None })
    }

    fn head_log_in_file(&self, known: Option<LogEnd>) -> io::Result<HeadLog> {
        let mut file = File::open(self.head_log_file())?;
        let now = file.metadata()?.len();
        let length = self.head_log_end().map_or(now, |end| end.min(now));
        let start = known.map_or(length, |known| known.min(length)).saturating_sub(LONGEST);
        file.seek(SeekFrom::Start(start))?;
        let mut text = Vec::new();
        file.take(length - start).read_to_end(&mut text)?;
        Ok(HeadLog { text, start: Some(start) })
    }

    /// Lets git print the last entries, `count` at most.
    fn head_log_by_git(&self, count: usize) -> Result<HeadLog> {
        // With `--date=raw`, %gd is 'HEAD@{<seconds> <time zone>}'.
        let (most, format) = (format!("--max-count={}", count + 1), "--format=%gd%x00%H%x00%gn <%ge>%x00%gs");
        let said = self
            .try_git(&["log", "-g", "--no-show-signature", "--date=raw", &most, format, "HEAD", "--"], None)?
            .stdout;
        // A line of the file begins with the position of HEAD before, which git does not print.
        let mut old = ObjectId::null(self.object_hash()).to_string().into_bytes();
        let (mut text, total) = (Vec::new(), said.lines().count());
        for (at, line) in said.lines().rev().enumerate() {
            let mut parts = line.splitn_str(4, "\0").map(ToOwned::to_owned);
            let mut part = || parts.next().unwrap_or_default();
            let (selector, new, who, message) = (part(), part(), part(), part());
            if at > 0 || total <= count {
                let time = selector.rsplit_str("{").next().unwrap_or_default().trim_end_with(|it| it == '}');
                text.extend([&old, " ".as_bytes(), &new, b" ", &who, b" ", time, b"\t", &message, b"\n"].concat());
            }
            old = new;
        }
        Ok(HeadLog { text, start: None })
    }
}
