//! Whether a turn's work continues a shadow: decided at the prompt, before anything has changed.

use std::collections::BTreeSet;

use bstr::BString;
use serde::Serialize;

/// The live shadow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Touched<'a> {
    /// There is no live shadow.
    NoShadow,
    /// It cannot be read.
    Unreadable,
    /// It differs from its base in these paths.
    Paths(&'a BTreeSet<BString>),
}

/// Why the shadow is continued or set aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// There is no shadow yet.
    NoShadow,
    /// The worktree is as it was committed.
    Clean,
    /// It is dirty, and in other paths than the shadow's.
    NoOverlap,
    /// It is dirty in paths of the shadow.
    Overlap,
    /// The shadow was broken, and was set aside.
    Unreadable,
}

/// What the first checkpoint of a turn does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decision {
    /// True if it sets the shadow aside before.
    pub should_reset: bool,
    /// Why.
    pub reason: Reason,
    /// The paths both dirty and touched.
    pub overlap: Vec<BString>,
}

/// Decides for a worktree that differs from HEAD in the paths `dirty`.
pub(crate) fn decide(touched: Touched<'_>, dirty: &BTreeSet<BString>) -> Decision {
    let overlap: Vec<BString> = match touched {
        Touched::Paths(touched) => touched.intersection(dirty).cloned().collect(),
        Touched::NoShadow | Touched::Unreadable => Vec::new(),
    };
    let (should_reset, reason) = match touched {
        Touched::NoShadow => (false, Reason::NoShadow),
        Touched::Unreadable => (false, Reason::Unreadable),
        Touched::Paths(_) if dirty.is_empty() => (true, Reason::Clean),
        Touched::Paths(_) if overlap.is_empty() => (true, Reason::NoOverlap),
        Touched::Paths(_) => (false, Reason::Overlap),
    };
    Decision { should_reset, reason, overlap }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(paths: &[&str]) -> BTreeSet<BString> {
        paths.iter().map(|path| BString::from(*path)).collect()
    }

    #[rstest::rstest]
    #[case::clean(&["a"], &[], true, Reason::Clean)]
    #[case::nothing_in_common(&["a"], &["b"], true, Reason::NoOverlap)]
    #[case::one_in_common(&["a", "b"], &["b", "c"], false, Reason::Overlap)]
    #[case::untouched_shadow(&[], &["a"], true, Reason::NoOverlap)]
    #[case::a_directory_is_no_path(&["a/b"], &["a"], true, Reason::NoOverlap)]
    fn the_table(#[case] touched: &[&str], #[case] dirty: &[&str], #[case] should_reset: bool, #[case] reason: Reason) {
        let touched = set(touched);
        let decision = decide(Touched::Paths(&touched), &set(dirty));
        assert_eq!((decision.should_reset, decision.reason), (should_reset, reason));
    }

    #[rstest::rstest]
    #[case::none(Touched::NoShadow, false)]
    #[case::broken(Touched::Unreadable, false)]
    fn without_a_shadow_to_read(#[case] touched: Touched<'_>, #[case] should_reset: bool) {
        for dirty in [&[] as &[&str], &["a"]] {
            assert_eq!(decide(touched, &set(dirty)).should_reset, should_reset);
        }
    }
}
