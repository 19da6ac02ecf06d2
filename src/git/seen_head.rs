//! HEAD as an operation sees it: read once, with the end of its reflog. What moves later is for the next operation.

use std::sync::Arc;

use super::{Head, Repo, SeenHead};
use crate::{error::Result, model::head_move::LogEnd};

impl Repo {
    /// Lets [`head`](Self::head) and the reflog of HEAD be what `seen` has, as long as that lives.
    pub(crate) fn see_head_by(&self, seen: &Arc<SeenHead>) {
        *self.seen_head.borrow_mut() = Arc::downgrade(seen);
    }

    /// Returns what HEAD points to.
    pub fn head(&self) -> Result<Head> {
        let Some(seen) = self.seen_head.borrow().upgrade() else { return self.head_now() };
        if let Some((head, _)) = seen.0.get() {
            return Ok(head.clone());
        }
        // In this order: of a move that is under way, git writes the entry first.
        let (end, head) = (self.head_log_end_now(), self.head_now()?);
        Ok(seen.0.get_or_init(|| (head, end)).0.clone())
    }

    /// Returns where the reflog of HEAD ends.
    pub(crate) fn head_log_end(&self) -> Option<LogEnd> {
        let Some(seen) = self.seen_head.borrow().upgrade() else { return self.head_log_end_now() };
        self.head().ok()?;
        seen.0.get().and_then(|(_, end)| *end)
    }
}

#[cfg(test)]
mod tests {
    use std::process as run;

    use super::*;

    /// Runs `script` in the repository.
    fn sh(directory: &tempfile::TempDir, script: &str) {
        let identity = "commit() { git -c user.name=a -c user.email=a@b commit -q --allow-empty -m \"$1\"; }";
        #[expect(clippy::disallowed_methods, reason = "the test moves HEAD with git")]
        let status =
            run::Command::new("sh").args(["-ec", &format!("{identity}; {script}")]).current_dir(directory).status();
        assert!(status.expect("sh runs").success());
    }

    #[test]
    fn head_and_its_reflog_stay_as_they_were_first_seen() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        sh(&directory, "git init -q .; commit 1");
        let repo = Repo::open(directory.path()).expect("a repository");
        let first = repo.head().expect("it can be read");
        let seen = Arc::new(SeenHead::default());
        repo.see_head_by(&seen);
        sh(&directory, "commit 2");
        let second = repo.head().expect("it can be read");
        assert_ne!(first, second, "it is read when it is first asked for");
        let (id, end) = (second.id.expect("it is born"), repo.head_log_end());
        let before = first.id.map(crate::model::refname::Base::Commit);
        assert_eq!(repo.head_before(id), before);
        sh(&directory, "commit 3");
        assert_eq!((repo.head().expect("it is known"), repo.head_log_end()), (second.clone(), end));
        assert_eq!(repo.head_before(id), before, "the third entry is for the next operation");
        drop(seen);
        let third = repo.head().expect("it can be read");
        assert!(third != second && repo.head_log_end() != end);
        assert_eq!(repo.head_before(third.id.expect("it is born")), Some(crate::model::refname::Base::Commit(id)));
    }
}
