//! What a submodule has that the commit it is at does not, in git's words.

use bstr::BString;
use serde::Serialize;

use super::path_text;

/// Which repositories inside the worktree a command works in, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recurse {
    /// None.
    #[default]
    No,
    /// Submodules, because git's setting `submodule.recurse` says so; a save leaves out what cannot be saved.
    Setting,
    /// Submodules and all others, because the user asks for it.
    All,
}

/// The changes inside a repository, since the commit at its HEAD.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Inside {
    /// Tracked files differ, or what is staged, or a submodule of it is at another commit.
    pub(crate) modified: bool,
    /// There are untracked files.
    pub(crate) untracked: bool,
}

impl Inside {
    /// Returns true if there are any.
    pub(crate) fn is_any(self) -> bool {
        self.modified || self.untracked
    }

    /// Returns the changes of both.
    pub(crate) fn and(self, other: Self) -> Self {
        Self { modified: self.modified || other.modified, untracked: self.untracked || other.untracked }
    }
}

/// Which changes of a submodule git reports: `submodule.<name>.ignore` and `diff.ignoreSubmodules` in git-config(1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Ignored {
    /// It reports all.
    #[default]
    Nothing,
    /// It reports no untracked files.
    Untracked,
    /// It reports only other commits.
    Content,
    /// It reports none.
    All,
}

impl Ignored {
    /// Returns what the value `word` of the setting means; none if git does not know it.
    pub(crate) fn from_word(word: &[u8]) -> Option<Self> {
        Some(match word {
            b"none" => Self::Nothing,
            b"untracked" => Self::Untracked,
            b"dirty" => Self::Content,
            b"all" => Self::All,
            _ => return None,
        })
    }
}

/// A submodule with changes of its own. A checkpoint has only the id of the commit that the submodule is at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Submodule {
    /// Where it is.
    #[serde(flatten, serialize_with = "path_text::serialize_fields")]
    pub path: BString,
    /// Its HEAD is at another commit than the index of the superproject says.
    pub new_commits: bool,
    /// Its tracked files differ from its HEAD.
    pub modified_content: bool,
    /// It has untracked files.
    pub untracked_content: bool,
}

impl Submodule {
    /// Returns the submodule `path` with what git reports of its changes; none if that is nothing.
    pub(crate) fn reported(path: BString, new_commits: bool, inside: Inside, ignored: Ignored) -> Option<Self> {
        let submodule = Self {
            path,
            new_commits: new_commits && ignored != Ignored::All,
            modified_content: inside.modified && matches!(ignored, Ignored::Nothing | Ignored::Untracked),
            untracked_content: inside.untracked && ignored == Ignored::Nothing,
        };
        (!submodule.words().is_empty()).then_some(submodule)
    }

    /// Returns its changes in the words of `git status`.
    pub fn words(&self) -> String {
        let words = [
            (self.new_commits, "new commits"),
            (self.modified_content, "modified content"),
            (self.untracked_content, "untracked content"),
        ];
        words.into_iter().filter(|(is_so, _)| *is_so).map(|(_, word)| word).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLEAN: Inside = Inside { modified: false, untracked: false };
    const MODIFIED: Inside = Inside { modified: true, untracked: false };
    const BOTH: Inside = Inside { modified: true, untracked: true };

    #[rstest::rstest]
    #[case::clean(false, CLEAN, "none", None)]
    #[case::commits(true, CLEAN, "none", Some("new commits"))]
    #[case::modified(false, MODIFIED, "none", Some("modified content"))]
    #[case::all(true, BOTH, "none", Some("new commits, modified content, untracked content"))]
    #[case::without_untracked(true, BOTH, "untracked", Some("new commits, modified content"))]
    #[case::without_content(true, BOTH, "dirty", Some("new commits"))]
    #[case::only_content(false, BOTH, "dirty", None)]
    #[case::ignored(true, BOTH, "all", None)]
    fn a_submodule_is_reported_as_git_reports_it(
        #[case] new_commits: bool,
        #[case] inside: Inside,
        #[case] ignored: &str,
        #[case] expected: Option<&str>,
    ) {
        let ignored = Ignored::from_word(ignored.as_bytes()).expect("git knows it");
        let found = Submodule::reported("sub".into(), new_commits, inside, ignored);
        assert_eq!(found.map(|found| found.words()).as_deref(), expected);
    }

    #[test]
    fn git_knows_four_words() {
        assert_eq!(Ignored::from_word(b"everything"), None);
    }
}
