//! How HEAD moved, as git's reflog says it.

use gix::ObjectId;

use super::refname::Base;

/// A position in the reflog of HEAD, after an entry: in bytes if the reflog is a file, else a digest of the last entries.
pub(crate) type LogEnd = u64;

/// One move of HEAD: an entry of its reflog.
///
/// Programs that write no reflog leave gaps. A gap counts as the commits that lead from one position to the next, as an
/// amend, or as [`MoveKind::Reset`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HeadMove {
    /// What moved it.
    pub kind: MoveKind,
    /// Where HEAD was.
    pub from: Base,
    /// The commit that HEAD moved to.
    pub to: ObjectId,
    /// Where the entry ends; none if there is none.
    pub end: Option<LogEnd>,
    /// When HEAD moved; none if nothing says it.
    pub when: Option<When>,
}

/// When something happened: not before a time, and not after another one. Times are Unix seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct When {
    pub(crate) earliest: i64,
    pub(crate) latest: i64,
}

impl When {
    /// Returns when a move happened that the reflog dates `said`. The move before it was at the time `before`, and it is `now`.
    ///
    /// `GIT_COMMITTER_DATE` dates the entries of the reflog, too. A date before that of an earlier entry, or in the future, did not
    /// come from the clock.
    pub(crate) fn of_entry(said: i64, before: Option<i64>, now: i64) -> Self {
        if said > now || before.is_some_and(|before| said < before) {
            Self { earliest: before.unwrap_or(i64::MIN), latest: i64::MAX }
        } else {
            Self { earliest: said, latest: said }
        }
    }
}

/// What moves HEAD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MoveKind {
    /// A new commit on `from`: `git commit`, also of a merge or revert whose conflicts were resolved.
    Commit,
    /// A new commit that replaces `from`.
    Amend,
    /// A commit on `from` that git made from an existing one: `git cherry-pick`, `git revert`, `git am`.
    Copy,
    /// The same, completed by a user or an agent after a conflict of `git cherry-pick`. Of the others, the reflog does not say that.
    Resolved,
    /// A rebase begins: HEAD goes to the commit that it builds on.
    RebaseStart,
    /// A rebase makes one of its commits.
    RebaseStep,
    /// The same, completed by a user or an agent where the rebase has stopped.
    RebaseResolved,
    /// A rebase ends, or is aborted.
    RebaseEnd,
    /// A merge commit that git made by itself.
    Merge,
    /// HEAD goes to a commit that was there: `git switch`, `git pull` that fast-forwards, the creation of a branch.
    Existing,
    /// HEAD goes to a commit that is neither a child of `from` nor replaces it: `git reset`, or a program with messages of its
    /// own.
    Reset,
}

impl MoveKind {
    /// Returns what the reflog message `text` stands for. Git does not translate these messages, and other programs use the
    /// same words. See `reflog_msg` in git's `builtin/commit.c`, and `sequencer.c`.
    /// None if the message does not show it.
    pub(crate) fn of_message(text: &[u8]) -> Option<Self> {
        let end = text.iter().position(|byte| *byte == b':').unwrap_or(text.len());
        let (action, rest) = text.split_at(end);
        let rest = rest.strip_prefix(b": ").unwrap_or_default();
        let word = action.rsplit(|byte| *byte == b' ').next().unwrap_or_default();
        let step = word.strip_prefix(b"(").and_then(|word| word.strip_suffix(b")"));
        let verb = action.split(|byte| *byte == b' ').next().unwrap_or_default();
        Some(match (verb, step) {
            (b"commit", Some(b"amend")) => Self::Amend,
            (b"commit", Some(b"cherry-pick")) => Self::Resolved,
            (b"cherry-pick" | b"revert" | b"am", _) => Self::Copy,
            (b"commit", Some(b"rebase")) => Self::RebaseStep,
            (b"commit", _) => Self::Commit,
            // `git pull --rebase` writes its own arguments before these words.
            (b"rebase" | b"pull", Some(b"start")) => Self::RebaseStart,
            (b"rebase" | b"pull", Some(b"finish" | b"abort")) => Self::RebaseEnd,
            (b"rebase" | b"pull", Some(b"continue")) => Self::RebaseResolved,
            // Git before 2.39, with the apply backend.
            (b"rebase", None) if word == b"finished" => Self::RebaseEnd,
            (b"rebase", _) | (b"pull", Some(_)) => Self::RebaseStep,
            (b"merge" | b"pull", None) if rest.starts_with(b"Merge made by") => Self::Merge,
            (b"merge" | b"pull" | b"checkout" | b"clone" | b"Branch" | b"branch" | b"initial" | b"bisect", _) => {
                Self::Existing
            }
            (b"reset", _) => Self::Reset,
            _ => return None,
        })
    }

    /// Returns true if `to` is a commit that did not exist before this move.
    pub(crate) fn makes_commit(self) -> bool {
        matches!(
            self,
            Self::Commit
                | Self::Amend
                | Self::Copy
                | Self::Resolved
                | Self::RebaseStep
                | Self::RebaseResolved
                | Self::Merge
        )
    }

    /// Returns true for a new or amended commit; false for commits of a cherry-pick or rebase, even with resolved conflicts.
    pub(crate) fn is_plain_commit(self) -> bool {
        matches!(self, Self::Commit | Self::Amend)
    }
}

#[cfg(test)]
mod tests {
    use super::{
        MoveKind::{self, *},
        When,
    };

    #[rstest::rstest]
    #[case::after_the_one_before(5, Some(3), (5, 5))]
    #[case::in_the_same_second(5, Some(5), (5, 5))]
    #[case::before_the_one_before(5, Some(6), (6, i64::MAX))]
    #[case::the_first(5, None, (5, 5))]
    #[case::now(10, Some(3), (10, 10))]
    #[case::in_the_future(11, Some(3), (3, i64::MAX))]
    fn only_a_date_of_the_clock_says_when(#[case] said: i64, #[case] before: Option<i64>, #[case] when: (i64, i64)) {
        let (earliest, latest) = when;
        assert_eq!(When::of_entry(said, before, 10), When { earliest, latest });
    }

    #[rstest::rstest]
    #[case("commit: a: b", Commit)]
    #[case("commit (initial): first", Commit)]
    #[case("commit (merge): Merge branch 'side'", Commit)]
    #[case("commit (amend): a", Amend)]
    #[case("commit (cherry-pick): a", Resolved)]
    #[case("commit (rebase): a", RebaseStep)]
    #[case("cherry-pick: a", Copy)]
    #[case("cherry-pick: fast-forward", Copy)]
    #[case("am: a", Copy)]
    #[case("revert: Revert \"a\"", Copy)]
    #[case("rebase (start): checkout main", RebaseStart)]
    #[case("rebase -i (start): checkout HEAD~2", RebaseStart)]
    #[case("rebase (pick): a", RebaseStep)]
    #[case("rebase (fixup): a", RebaseStep)]
    #[case("rebase (continue): a", RebaseResolved)]
    #[case("pull --rebase origin main (continue): a", RebaseResolved)]
    #[case("rebase (finish): returning to refs/heads/main", RebaseEnd)]
    #[case("rebase (abort): returning to refs/heads/main", RebaseEnd)]
    #[case("pull --rebase origin main (start): checkout 0123456", RebaseStart)]
    #[case("pull --rebase origin main (pick): a", RebaseStep)]
    #[case("pull --rebase (finish): returning to refs/heads/main", RebaseEnd)]
    #[case("pull: Fast-forward", Existing)]
    #[case("pull origin main: Merge made by the 'ort' strategy.", Merge)]
    #[case("merge side: Merge made by the 'ort' strategy.", Merge)]
    #[case("merge side: Fast-forward", Existing)]
    #[case("checkout: moving from main to side", Existing)]
    #[case("clone: from /srv/a.git", Existing)]
    #[case("Branch: renamed refs/heads/a to refs/heads/b", Existing)]
    #[case("rebase finished: returning to refs/heads/main", RebaseEnd)]
    #[case("rebase: a", RebaseStep)]
    #[case("reset: moving to HEAD~1", Reset)]
    fn messages_are_read(#[case] message: &str, #[case] expected: MoveKind) {
        assert_eq!(MoveKind::of_message(message.as_bytes()), Some(expected));
    }

    #[rstest::rstest]
    fn other_messages_say_nothing(#[values("", "filter-branch: rewrite", "committed by another tool")] message: &str) {
        assert_eq!(MoveKind::of_message(message.as_bytes()), None);
    }
}
