//! What a restore, or an undo, of a worktree does in a repository inside it.

use bstr::BString;
use gix::ObjectId;

/// One thing to do in a repository inside the worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepBelow {
    /// The directory of the repository.
    pub path: BString,
    /// The nonce of the journal that is written there: by it, the operation is known again.
    pub nonce: String,
    /// What is done.
    pub action: ActionBelow,
    /// Also what others have changed.
    pub all: bool,
    /// The session whose checkpoint is restored: only what it has changed since.
    pub session: Option<String>,
    /// True if other repositories inside that one are left alone.
    pub only_submodules: bool,
}

/// What is done there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ActionBelow {
    /// A checkpoint is restored.
    Restore {
        /// The checkpoint, which is in that repository.
        checkpoint: ObjectId,
        /// With what was staged.
        staged: bool,
    },
    /// An operation is taken back.
    TakeBack {
        /// The nonce of its journal.
        nonce: String,
        /// False if it may not have begun: what took it on its way was interrupted.
        has_begun: bool,
    },
}

impl StepBelow {
    /// Returns what takes this back, under the name `nonce`.
    pub(crate) fn reversed(&self, nonce: String, all: bool, has_begun: bool) -> Self {
        let action = ActionBelow::TakeBack { nonce: self.nonce.clone(), has_begun };
        Self { path: self.path.clone(), nonce, action, all, session: None, only_submodules: self.only_submodules }
    }
}
