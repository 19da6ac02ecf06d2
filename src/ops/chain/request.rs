//! What is asked of a save: by users and programs, and by other operations.

use bstr::BString;
use gix::ObjectId;

use crate::{
    git::exact::Basis,
    model::{change::Change, checkpoint::Origin, manifest::Tied, step::Step, submodule::Recurse},
};

/// How to save.
#[derive(Clone, Debug, Default)]
pub struct SaveOptions {
    /// The message; its first line is the subject. None: the subject names the changed paths.
    pub message: Option<String>,
    /// Who made the change.
    pub author: Author,
    /// Look only at these paths (relative to the worktree's root); none: at all.
    pub paths: Option<Vec<BString>>,
    /// Mark it as the verified checkpoint.
    pub verify: bool,
    /// Take it even if nothing has changed.
    pub allow_empty: bool,
    /// Take it even in a protected directory.
    pub force: bool,
    /// Take one in each submodule and nested repository, too, unless `paths` are named.
    pub recurse_submodules: Recurse,
}

/// Who made a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Author {
    /// The caller knows it. The default is a person.
    Is(Origin),
    /// Infer it from the open turns and tool calls.
    Infer,
}

impl Default for Author {
    fn default() -> Self {
        Self::Is(Origin::default())
    }
}

/// What an operation asks of a save.
#[derive(Clone, Debug, Default)]
pub(crate) struct Request {
    /// Where to look.
    pub(crate) scope: Scope,
    /// Who made the change.
    pub(crate) author: Author,
    /// The session whose turn the checkpoint belongs to, if another author made the changes.
    pub(crate) turn_of: Option<String>,
    /// True if that turn is about to end: who made the changes of its unfinished tool calls is unknown then.
    pub(crate) ends_turn: bool,
    /// The message, as in [`SaveOptions`].
    pub(crate) message: Option<String>,
    /// What has to be there afterwards.
    pub(crate) hold: Hold,
    /// Mark it as the verified checkpoint.
    pub(crate) verify: bool,
    /// Take it even if nothing has changed.
    pub(crate) allow_empty: bool,
    /// Take one in each repository inside the worktree, too, if the whole worktree is looked at.
    pub(crate) recurse: Recurse,
    /// True if what may be work of unreadable checkpoints has a checkpoint of its own already.
    pub(crate) is_lost_saved: bool,
    /// True if the user has said that all changes are a person's, also those in files that open tool calls name.
    pub(crate) is_all_human: bool,
}

/// Where a save looks for changes.
#[derive(Clone, Debug, Default)]
pub(crate) enum Scope {
    /// At the whole worktree and the index.
    #[default]
    All,
    /// At these paths. It is an error if one exists neither in the worktree nor in the last checkpoint.
    Paths(Vec<BString>),
    /// The same, but those that exist in neither are ignored.
    PathsIfThere(Vec<BString>),
    /// At the paths of these staged changes; at the whole worktree where that is needed to see whether files were renamed.
    Staged(Vec<Change>),
    /// Not at the worktree: the steps of a restore are all that has changed there.
    OwnSteps(OwnSteps),
    /// At what this stash entry took away and the last checkpoint lacks.
    Stashed(ObjectId),
    /// Not at the worktree: git had put files back in this way before they were modified again.
    PutBack(Vec<Change>),
}

/// What a restore has changed since the last checkpoint.
#[derive(Clone, Debug)]
pub(crate) struct OwnSteps {
    /// The steps that were taken.
    pub(crate) steps: Vec<Step>,
    /// The checkpoint or commit that the new content is from.
    pub(crate) from: Basis,
    /// Directories that may be empty by now, beside those that were.
    pub(crate) directories: Vec<BString>,
    /// The checkpoints of repositories inside that were restored with them.
    pub(crate) submodules: Vec<Tied>,
    /// The index has changed as well, and is read.
    pub(crate) and_index: bool,
}

/// What has to hold the state of the worktree after a save that finds nothing new.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Hold {
    /// What held it before.
    #[default]
    AsBefore,
    /// A ref that leads to it: to a checkpoint, or to the base commit.
    Ref,
    /// A checkpoint: a restore is about to change the worktree.
    ForRestore {
        /// True if it changes the index, too. Then staged content alone makes a new checkpoint.
        index: bool,
    },
}

impl Scope {
    /// Returns true if the save looks at the worktree as it is now.
    pub(crate) fn is_of_now(&self) -> bool {
        matches!(self, Self::All | Self::Paths(_) | Self::PathsIfThere(_) | Self::Staged(_))
    }

    /// Returns the paths that the scope is limited to.
    pub(crate) fn paths(&self) -> Option<&[BString]> {
        match self {
            Self::Paths(paths) | Self::PathsIfThere(paths) => Some(paths),
            Self::All | Self::Staged(_) | Self::OwnSteps(_) | Self::Stashed(_) | Self::PutBack(_) => None,
        }
    }
}

impl From<&SaveOptions> for Request {
    fn from(options: &SaveOptions) -> Self {
        let SaveOptions { message, author, paths, verify, allow_empty, force: _, recurse_submodules: recurse } =
            options.clone();
        let scope = paths.map_or(Scope::All, Scope::Paths);
        let is_all_human = author == Author::Is(Origin::default());
        Self { scope, author, message, verify, allow_empty, recurse, is_all_human, hold: Hold::Ref, ..Self::default() }
    }
}
