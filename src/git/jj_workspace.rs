//! Moves work between changes of jj, as the setting `jj = "manage"` asks for: while its tools run, an agent works in a temporary change
//! on top of the user's. Then what it has done there goes to a change of its own, below the user's.
//!
//! The files of the worktree stay as they are. jj first takes a snapshot of them; everything that could change them is computed apart
//! from them, and holds only if all files come out the same and nothing has a conflict.

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;
use serde::Deserialize;

use super::{
    Repo,
    jj::Change,
    process::{self, Jj},
};
use crate::error::{Context as _, Error, Kind, Result};

/// A change, and what can be computed of it.
#[derive(Clone, Debug, Deserialize)]
struct Seen {
    at: bool,
    empty: bool,
    conflict: bool,
    change: Change,
}

/// The template for a [`Seen`].
const TEMPLATE: &str = r#""{\"at\":" ++ json(current_working_copy) ++ ",\"empty\":" ++ json(empty) ++ ",\"conflict\":" ++ json(conflict) ++ ",\"change\":" ++ json(self) ++ "}\n""#;

/// Where the work in a temporary change went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Folded {
    /// There was none.
    Nothing,
    /// To a change below the user's.
    Below,
    /// It stays on top of the user's change, as a change of the agent's, below a new empty one: it would have a conflict elsewhere.
    OnTop,
}

impl Repo {
    /// Begins a change with `message` on top of the one at `@`.
    ///
    /// # Errors
    /// If jj fails.
    pub(crate) fn jj_begin(&self, message: &str) -> Result<()> {
        self.jj_do(Jj::Changes, &["new", "-m", message]).map(drop)
    }

    /// Ends the temporary change at `@`, whose message is `temporary`: what was done in it goes to the newest change below for which
    /// `is_its` returns true, or, if there is none, to a new one with `message`, right below the change that `@` is on top of. That one
    /// is at `@` then. The revset `candidates` finds the changes that may be such.
    ///
    /// # Errors
    /// If jj fails. What was done is at `@`, or in the change that was there, then.
    pub(crate) fn jj_fold(
        &self,
        temporary: &dyn Fn(&str) -> bool,
        candidates: &str,
        is_its: &dyn Fn(&str) -> bool,
        message: &str,
    ) -> Result<Folded> {
        let (workspace, user) = self.jj_workspace(temporary)?;
        if workspace.empty {
            self.jj_do(Jj::Changes, &["edit", &user])?;
            self.jj_leave(&workspace.change.id, &user)?;
            return Ok(Folded::Nothing);
        }
        let tree = self.jj_tree(&workspace.change)?;
        let existing = self.jj_see(Jj::ChangesApart, &format!("heads(mutable() & ::{user} & ({candidates}))"))?;
        let existing = existing.into_iter().map(|it| it.change).find(|it| is_its(&it.description));
        // From now on, what is at `@` has the files that the worktree has, whatever becomes of those below.
        self.jj_do(Jj::Changes, &["new", &workspace.change.id])?;
        let top = self.jj_at()?.change.id;
        let operation = self.jj_do(Jj::ChangesApart, &["op", "log", "--no-graph", "-n", "1", "-T", "id"])?;
        let moved = self.jj_move(&workspace.change.id, &user, existing.as_ref(), message);
        let target = existing.as_ref().map_or(&workspace.change.id, |it| &it.id);
        let is_clean = moved.and_then(|()| self.jj_is_clean(tree, &[&top, &user, target]));
        if !matches!(is_clean, Ok(true)) {
            self.jj_do(Jj::ChangesApart, &["op", "restore", operation.trim().to_str_lossy().as_ref()])?;
            self.jj_do(Jj::Changes, &["describe", &workspace.change.id, "-m", message])?;
            return is_clean.map(|_| Folded::OnTop);
        }
        self.jj_do(Jj::Changes, &["edit", &user])?;
        self.jj_leave(&top, &user)?;
        Ok(Folded::Below)
    }

    /// Returns the temporary change at `@`, and the id of the only change below it. jj takes a snapshot first.
    fn jj_workspace(&self, is_temporary: &dyn Fn(&str) -> bool) -> Result<(Seen, String)> {
        let (at, below): (Vec<Seen>, Vec<Seen>) = self.jj_see(Jj::Changes, "@ | @-")?.into_iter().partition(|it| it.at);
        match (&at[..], &below[..]) {
            ([at], [below]) if is_temporary(&at.change.description) => Ok((at.clone(), below.change.id.clone())),
            _ => Err(Error::refused("jj's '@' is not the temporary change that the tool began in")),
        }
    }

    /// Lets the work in `workspace` go to `existing`, or below `user`.
    fn jj_move(&self, workspace: &str, user: &str, existing: Option<&Change>, message: &str) -> Result<()> {
        let apart = Jj::ChangesApart;
        if let Some(existing) = existing {
            let words = ["squash", "--from", workspace, "--into", &existing.id, "--use-destination-message"];
            return self.jj_do(apart, &words).map(drop);
        }
        self.jj_do(apart, &["rebase", "-r", workspace, "--insert-before", user])?;
        self.jj_do(apart, &["describe", workspace, "-m", message]).map(drop)
    }

    /// Returns true if the first two of `changes` have `tree`, and none of them has a conflict.
    fn jj_is_clean(&self, tree: ObjectId, changes: &[&str; 3]) -> Result<bool> {
        let revisions = changes.map(|id| format!("change_id({id})")).join(" | ");
        let seen = self.jj_see(Jj::ChangesApart, &revisions)?;
        for (number, id) in changes.iter().enumerate() {
            let [one] = &seen.iter().filter(|it| it.change.id == **id).collect::<Vec<_>>()[..] else {
                return Ok(false);
            };
            if one.conflict || number < 2 && self.jj_tree(&one.change)? != tree {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Removes the change `left`, at which `@` was. If the user has changed a file meanwhile, jj has found that there: it goes to `user`.
    fn jj_leave(&self, left: &str, user: &str) -> Result<()> {
        let Some(seen) = self.jj_see(Jj::ChangesApart, &format!("change_id({left})"))?.pop() else { return Ok(()) };
        if seen.empty {
            return self.jj_do(Jj::Changes, &["abandon", left]).map(drop);
        }
        self.jj_do(Jj::Changes, &["squash", "--from", left, "--into", user, "--use-destination-message"]).map(drop)
    }

    fn jj_at(&self) -> Result<Seen> {
        let what = || Error::internal("jj has no '@'");
        self.jj_see(Jj::ChangesApart, "@")?.into_iter().find(|it| it.at).ok_or_else(what)
    }

    fn jj_tree(&self, change: &Change) -> Result<ObjectId> {
        let id = change.commit().ok_or_else(|| Error::internal("jj names no commit"))?;
        self.tree_of_commit(id)
    }

    fn jj_see(&self, mode: Jj, revisions: &str) -> Result<Vec<Seen>> {
        let printed = self.jj_do(mode, &["log", "--no-graph", "-r", revisions, "-T", TEMPLATE])?;
        let parse =
            |line: &[u8]| serde_json::from_slice(line).context(Kind::Internal, || "jj's answer makes no sense".into());
        printed.lines().map(parse).collect()
    }

    fn jj_do(&self, mode: Jj, arguments: &[&str]) -> Result<BString> {
        let what = || format!("'jj {}' has failed", arguments.first().copied().unwrap_or_default());
        let Some(output) = process::jj(self.worktree_root(), mode, arguments)? else {
            return Err(Error::user("there is no 'jj' command"));
        };
        if output.status.success() {
            return Ok(output.stdout.into());
        }
        Err(Error::user(what()).with_cause(output.stderr.trim().to_str_lossy().into_owned()))
    }
}
