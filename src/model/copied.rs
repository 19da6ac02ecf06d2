//! Whether a commit that makes the same change as another one is a copy of it.

use bstr::BString;

/// What programs that rewrite a commit keep of it, and when they did it. Times are Unix seconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    /// When the author wrote it.
    pub(crate) authored: i64,
    /// When it was made.
    pub(crate) committed: i64,
    /// The first line of its message.
    pub(crate) subject: BString,
}

/// Whether a commit is a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Copied {
    No,
    /// The dates do not say which of the two was first.
    Perhaps,
    Yes,
}

/// Returns whether `commit` is a copy of a commit made at the time `made` that makes the same change. `original` describes that
/// commit; none if this repository does not have it any more.
///
/// A copy is not older than its original. An amended commit keeps the time of its author: one that was written before the other
/// commit is no copy either, however late it was amended.
pub(crate) fn is_copied(commit: &Written, made: i64, original: Option<&Written>) -> Copied {
    let is_same = |it: &Written| (it.authored, &it.subject) == (commit.authored, &commit.subject);
    if commit.committed < made || original.is_some_and(|it| commit.authored < it.authored) {
        Copied::No
    } else if commit.committed > made || original.is_some_and(is_same) {
        Copied::Yes
    } else {
        Copied::Perhaps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(authored: i64, committed: i64, subject: &str) -> Written {
        Written { authored, committed, subject: subject.into() }
    }

    #[rstest::rstest]
    #[case::rewritten_later(written(5, 11, "x"), Copied::Yes)]
    #[case::with_another_message(written(5, 11, "y"), Copied::Yes)]
    #[case::by_another_author(written(11, 11, "y"), Copied::Yes)]
    #[case::with_all_dates(written(5, 10, "x"), Copied::Yes)]
    #[case::in_the_same_second(written(5, 10, "y"), Copied::Perhaps)]
    #[case::written_in_the_same_second(written(10, 10, "x"), Copied::Perhaps)]
    #[case::made_before(written(5, 9, "x"), Copied::No)]
    #[case::written_before_and_amended(written(4, 11, "x"), Copied::No)]
    fn a_copy_comes_after_its_original(#[case] commit: Written, #[case] expected: Copied) {
        assert_eq!(is_copied(&commit, 10, Some(&written(5, 10, "x"))), expected);
    }

    #[rstest::rstest]
    #[case::later(11, Copied::Yes)]
    #[case::in_the_same_second(10, Copied::Perhaps)]
    #[case::before(9, Copied::No)]
    fn the_original_may_be_gone(#[case] committed: i64, #[case] expected: Copied) {
        assert_eq!(is_copied(&written(5, committed, "x"), 10, None), expected);
    }
}
