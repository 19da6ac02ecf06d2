//! Where the worktree stands: for git, and for jj where that shares the repository.

use crate::{
    config::Jj,
    error::Result,
    git::{
        Head,
        jj::{Answer, Change},
    },
    ops::Context,
};

/// Where the worktree stands.
pub(super) struct Scene {
    /// HEAD.
    pub(super) head: Head,
    /// True if people use jj here.
    pub(super) is_jj: bool,
    /// The change at `@`, if jj tells.
    pub(super) at: Option<Change>,
    /// What the change is now that was asked for.
    pub(super) original: Vec<Change>,
}

impl Scene {
    /// Looks at it; `original` is jj's id of a change.
    pub(super) fn now(context: &Context, original: Option<&str>) -> Result<Self> {
        let head = context.repo.head()?;
        let is_jj = context.settings.jj != Jj::Off && context.repo.is_colocated();
        let mut scene = Self { head, is_jj, at: None, original: Vec::new() };
        let answer = if is_jj { context.repo.jj_changes(original) } else { Ok(Answer::NoProgram) };
        match answer {
            Ok(Answer::Changes(changes)) => scene.take(changes, original),
            // Git's checks remain; `status` tells of it.
            Ok(Answer::NoProgram | Answer::Silent(_)) => {}
            Err(error) => tracing::warn!(%error, "jj does not tell where it is"),
        }
        Ok(scene)
    }

    /// Jj marks the change at `@`, if there is more than one.
    fn take(&mut self, changes: Vec<Change>, original: Option<&str>) {
        self.at = changes.iter().find(|change| change.is_at).cloned();
        self.original = changes.into_iter().filter(|change| Some(change.id.as_str()) == original).collect();
    }

    /// Returns true if what jj has at `@` is all that counts: git's HEAD is what that stands on.
    pub(super) fn is_jj_current(&self) -> bool {
        self.at.as_ref().is_some_and(|at| at.stands_on(self.head.id))
    }
}

/// Returns why jj cannot tell where it is, if it should; for `status`.
pub(super) fn trouble(context: &Context) -> Option<String> {
    if context.settings.jj == Jj::Off || !context.repo.is_colocated() {
        return None;
    }
    match context.repo.jj_changes(None) {
        Ok(Answer::Changes(_)) => None,
        Ok(Answer::NoProgram) => {
            Some("there is no 'jj' command: of this jj repository only git's side is checked".into())
        }
        Ok(Answer::Silent(why)) => Some(format!("jj does not tell where it is, only git's side is checked: {why}")),
        Err(error) => Some(format!("jj does not tell where it is, only git's side is checked: {error}")),
    }
}
