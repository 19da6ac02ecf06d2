//! Where HEAD is in this worktree, and jj's `@` if jj shares the repository.

use crate::{
    config::Jj,
    error::Result,
    git::{
        Head,
        jj::{Answer, Change},
    },
    ops::Context,
};

/// Where HEAD is, and jj's `@`.
pub(super) struct Scene {
    /// HEAD.
    pub(super) head: Head,
    /// True if the repository is used with jj.
    pub(super) is_jj: bool,
    /// The change at `@`, if jj reports it.
    pub(super) at: Option<Change>,
    /// The current version of the requested change.
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
            // Git's checks still work; `status` mentions the problem.
            Ok(Answer::NoProgram | Answer::Silent(_)) => {}
            Err(error) => tracing::warn!(%error, "cannot read jj's state"),
        }
        Ok(scene)
    }

    /// If there are several changes, jj marks the one at `@`.
    fn take(&mut self, changes: Vec<Change>, original: Option<&str>) {
        self.at = changes.iter().find(|change| change.is_at).cloned();
        self.original = changes.into_iter().filter(|change| Some(change.id.as_str()) == original).collect();
    }

    /// Returns true if jj's `@` is a child of git's HEAD, so that looking at `@` is enough.
    pub(super) fn is_jj_current(&self) -> bool {
        self.at.as_ref().is_some_and(|at| at.stands_on(self.head.id))
    }
}

/// Returns why jj does not report its `@` though it should; for `status`.
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
