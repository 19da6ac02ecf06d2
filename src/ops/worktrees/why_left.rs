//! Why `worktree prune` leaves a worktree.

use std::{os::unix::ffi::OsStringExt as _, path::Path};

use bstr::BString;
use serde::Serialize;

use super::in_use::{has_submodules, is_there};
use crate::{
    git::registrations::{Place, Registration},
    model::path_text,
    state::removed_files::{Hindrance, has_others},
};

/// Why a worktree whose directory is gone is not forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum WhyLeft {
    /// It is locked.
    Locked,
    /// The directory above is gone, too, or empty: its file system may not be mounted.
    NotMounted,
    /// Its directory is there, but has no `.git`.
    NoDotGit,
    /// A session works there, or a process in the files of a removed one.
    InUse,
    /// Its directory cannot be looked at.
    Unreadable,
    /// Only half of it was moved when a removal or a restore was killed, and something else is in its place.
    Half,
    /// Only half of it was moved when a removal or a restore was killed; the next command that is no dry run moves that back.
    Interrupted,
    /// Only its files were moved when a removal was killed, and git has forgotten it since.
    Forgotten,
    /// Git's directory of it is damaged: what it leads to cannot be kept.
    Damaged,
    /// Git's directory of it has repositories of submodules, and nothing else may have what is in them.
    Submodules,
    /// It was removed, and its files cannot be deleted; none of them is.
    NotDeleted,
    /// It was removed, and a part of its files cannot be deleted: the rest is gone.
    PartlyDeleted,
    /// It was removed, and a file system is mounted in its files.
    Mounted,
    /// It was removed, and its files are on a file system that is not mounted.
    FilesNotMounted,
    /// It was removed, and its files belong to another repository, of which this one is a copy.
    OfAnother,
    /// It was removed, and its files name a repository that is not there, or knows nothing of it: this one, if it was moved.
    RepositoryGone,
}

/// A worktree whose directory is gone, and that git still knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Left {
    /// Where its root was.
    #[serde(flatten, serialize_with = "path_text::serialize_fields")]
    pub(crate) path: BString,
    /// Why.
    pub(crate) why: WhyLeft,
    /// The session that works there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) session: Option<String>,
    /// The process that works there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) process: Option<u32>,
    /// Where its files are, if a killed command has moved only them; where the repositories of its submodules are.
    #[serde(serialize_with = "path_text::serialize_optional", skip_serializing_if = "Option::is_none")]
    pub(crate) files: Option<BString>,
    /// What a person can do about it.
    #[serde(skip)]
    pub(crate) hint: Option<String>,
}

impl Left {
    pub(super) fn new(path: BString, why: WhyLeft) -> Self {
        Self { path, why, session: None, process: None, files: None, hint: None }
    }

    /// Returns what is said of a removed worktree that must not be deleted now.
    pub(super) fn hindered(path: BString, hindrance: Hindrance) -> Self {
        match hindrance {
            Hindrance::Mount => Self::new(path, WhyLeft::Mounted),
            Hindrance::Process(pid) => Self { process: Some(pid), ..Self::new(path, WhyLeft::InUse) },
        }
    }

    /// Returns what is said of one with repositories of submodules in git's directory `git_dir` of it.
    pub(super) fn submodules(path: BString, git_dir: &Path) -> Self {
        let files = Some(git_dir.join("modules").into_os_string().into_vec().into());
        Self { files, ..Self::new(path, WhyLeft::Submodules) }
    }
}

/// Returns why git should still know the worktree `found`, whose directory is gone, and where a session works if it is `in_use`.
pub(super) fn why_left(found: &Registration, in_use: bool) -> Option<WhyLeft> {
    let gone = Gone {
        is_locked: found.lock.is_some(),
        is_unreadable: found.place == Place::Unreadable,
        is_there: is_there(&found.path),
        has_others: has_others(&found.path),
        in_use,
        has_submodules: has_submodules(&found.git_dir).unwrap_or(true),
    };
    gone.why_left()
}

/// What is known of a worktree whose `.git` is gone.
#[derive(Clone, Copy, Debug)]
struct Gone {
    is_locked: bool,
    /// Its root cannot be looked at, or into.
    is_unreadable: bool,
    /// Its root is there.
    is_there: bool,
    /// The directory above has something in it.
    has_others: bool,
    in_use: bool,
    /// Git's directory of it has repositories of submodules.
    has_submodules: bool,
}

impl Gone {
    /// Decides why git should still know it; none: it is gone for good.
    fn why_left(self) -> Option<WhyLeft> {
        match self {
            Self { is_locked: true, .. } => Some(WhyLeft::Locked),
            Self { is_unreadable: true, .. } => Some(WhyLeft::Unreadable),
            Self { is_there: true, .. } => Some(WhyLeft::NoDotGit),
            Self { has_others: false, .. } => Some(WhyLeft::NotMounted),
            Self { in_use: true, .. } => Some(WhyLeft::InUse),
            Self { has_submodules: true, .. } => Some(WhyLeft::Submodules),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::gone([false, false, true, false], None)]
    #[case::locked([true, false, true, false], Some(WhyLeft::Locked))]
    #[case::locked_and_not_mounted([true, false, false, false], Some(WhyLeft::Locked))]
    #[case::not_mounted([false, false, false, false], Some(WhyLeft::NotMounted))]
    #[case::without_dot_git([false, true, true, false], Some(WhyLeft::NoDotGit))]
    #[case::in_use([false, false, true, true], Some(WhyLeft::InUse))]
    fn only_what_is_gone_for_good_is_forgotten(#[case] facts: [bool; 4], #[case] expected: Option<WhyLeft>) {
        let [is_locked, is_there, has_others, in_use] = facts;
        let gone = Gone { is_locked, is_unreadable: false, is_there, has_others, in_use, has_submodules: false };
        assert_eq!(gone.why_left(), expected);
    }
}
