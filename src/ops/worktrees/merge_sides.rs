//! The two sides of `worktree merge`: the worktree whose branch is merged, and this one.

use std::ffi::OsStr;

use bstr::{BStr, BString, ByteSlice as _};
use gix::ObjectId;

use super::{
    super::{
        Context, Worktree,
        enter::Purpose,
        save::save_before,
        uncommitted::{refuse_changes, refuse_changes_in_submodules},
    },
    in_use,
    named::{self, short},
};
use crate::{
    error::{Error, Kind, Result},
    git::{
        Head, Repo,
        registrations::{Place, Registration},
    },
    model::path_text::{self, shell_word},
    state::rounds,
};

/// A branch that is checked out in a worktree, and where that is.
pub(super) struct Side {
    pub(super) found: Registration,
    /// Its full name.
    pub(super) full: BString,
    /// The name as people use it.
    pub(super) branch: String,
    /// The commit that was looked at.
    pub(super) commit: ObjectId,
}

impl Side {
    fn of(found: Registration, detached: String) -> Result<Self> {
        let path = found.path.display();
        let Some(full) = found.head.branch.clone() else {
            return Err(Error::refused(format!("HEAD is on no branch in '{path}'")).with_hint(detached));
        };
        let branch = short(full.as_bstr()).to_str_lossy().into_owned();
        let Some(commit) = found.head.id else {
            return Err(Error::refused(format!(
                "the branch '{}' in '{path}' has no commit yet",
                path_text::printable(branch.as_bytes().into())
            ))
            .with_hint("make the first one with 'git commit'"));
        };
        Ok(Self { found, full, branch, commit })
    }

    /// Returns the name of the branch as people use it, byte for byte.
    pub(super) fn short(&self) -> &BStr {
        short(self.full.as_bstr())
    }

    /// Returns the commit of the branch now, of which `there` is the worktree.
    pub(super) fn commit_now(&self, there: &Context) -> Result<Option<ObjectId>> {
        let head = there.repo.head()?;
        if head.branch.as_ref() == Some(&self.full) { Ok(head.id) } else { there.repo.find_ref(&self.full.to_string()) }
    }

    /// Returns the branch, fit for a message.
    pub(super) fn shown(&self) -> String {
        path_text::printable(self.branch.as_bytes().into())
    }

    /// Refuses if HEAD of the worktree `there` is not where it was when this was looked at.
    pub(super) fn refuse_moved(&self, there: &Context) -> Result<()> {
        let head = Head { id: Some(self.commit), branch: Some(self.full.clone()) };
        if there.repo.head()? == head {
            return Ok(());
        }
        Err(Error::race(format!("HEAD of '{}' has just been moved", self.found.path.display()))
            .with_hint("nothing was merged: look at what is there now, and run it again"))
    }
}

/// Refuses if several worktrees have checked out the `branch`, a full name: what moves it in one of them does not change the files of
/// the others.
fn refuse_several(context: &Context, branch: &BStr) -> Result<()> {
    let mut all = context.repo.registrations()?;
    // HEAD is detached as long as it is rebased.
    let is_rebased = |it: &Registration| Repo::rebased_branch(&it.git_dir).is_some_and(|full| full == branch);
    let has_it = |it: &Registration| it.head.branch.as_ref().is_some_and(|full| full == branch) || is_rebased(it);
    // HEAD of a bare repository is no checkout.
    all.retain(|it| it.place != Place::Bare && has_it(it));
    if all.len() < 2 {
        return Ok(());
    }
    let branch = path_text::printable(short(branch));
    let paths = all.iter().map(|it| format!("'{}'", it.path.display())).collect::<Vec<_>>().join(", ");
    Err(Error::refused(format!("'{branch}' is checked out in {} worktrees: {paths}", all.len()))
        .with_hint("'git switch' goes to another branch in all of them but one, if what is there is committed"))
}

/// Returns the side of this worktree.
///
/// # Errors
/// [`Kind::Refused`] if HEAD is on no branch, or on one without a commit, or on one that another worktree has, too, or if git has
/// something under way here.
pub(super) fn here(context: &Context) -> Result<Side> {
    let root = context.repo.worktree_root().to_owned();
    let found = named::registered(context, None)?;
    // Its path may not be known to git.
    let found = Registration { path: root, head: context.repo.head()?, ..found };
    in_use::refuse_git(&found)?;
    if let Some(path) = context.repo.unmerged_paths()?.first() {
        return Err(Error::refused(format!("'{}' has a conflict", path_text::printable(path.as_ref())))
            .with_hint("resolve it, then 'git add' and 'git commit'"));
    }
    let side = Side::of(found, "'git switch <branch>' goes to the one that is to get the commits".to_owned())?;
    refuse_several(context, side.full.as_bstr())?;
    Ok(side)
}

/// Returns the worktree `name`, or the one where the branch `name` is rebased: HEAD is detached there as long.
///
/// # Errors
/// [`Kind::User`] if there is none.
pub(super) fn find(context: &Context, name: &OsStr) -> Result<Registration> {
    named::find_root(context, Some(name)).or_else(|error| {
        let rebased = name.to_str().filter(|_| error.kind() == Kind::User).and_then(|name| rebased(context, name));
        rebased.ok_or_else(|| without_worktree(context, name, error))
    })
}

/// Returns the worktree where the branch `name` is rebased.
fn rebased(context: &Context, name: &str) -> Option<Registration> {
    let is_it =
        |found: &Registration| Repo::rebased_branch(&found.git_dir).is_some_and(|full| short(full.as_ref()) == name);
    context.repo.registrations().unwrap_or_default().into_iter().find(is_it)
}

/// Returns the side of the worktree `name`, which is to be the one that is `locked`, and another one than this.
///
/// # Errors
/// [`Kind::User`] if there is none; [`Kind::Race`] if it is another one by now; [`Kind::Refused`] if it is this one, if HEAD there is on no branch, or on one without a commit, or on
/// one that another worktree has, too, if git has something under way there, or a session a turn.
pub(super) fn source(context: &Context, name: &OsStr, locked: &Registration) -> Result<Side> {
    let found = named::find_root(context, Some(name)).map_err(|error| without_worktree(context, name, error))?;
    if found.id != locked.id {
        return Err(in_use::just_changed(&locked.path));
    }
    if found.id == context.repo.worktree_id() {
        return Err(Error::refused(format!("this command runs in the worktree '{}'", found.path.display()))
            .with_hint("run it in the worktree that is to get the commits: 'git checkpoint worktree list' shows all"));
    }
    in_use::refuse_git(&found)?;
    in_use::refuse_open_turn(context, &found)?;
    let detached = format!("'git -C {} switch -c <branch>' makes one for its commits", in_use::word(&found.path));
    let side = Side::of(found, detached)?;
    refuse_several(context, side.full.as_bstr())?;
    Ok(side)
}

/// Returns `error`, that there is no worktree `name`, with what helps if that is a branch or a round.
fn without_worktree(context: &Context, name: &OsStr, error: Error) -> Error {
    let Some(name) = name.to_str().filter(|_| error.kind() == Kind::User) else { return error };
    if let Err(several) = refuse_several(context, format!("refs/heads/{name}").as_bytes().as_bstr()) {
        return several;
    }
    if let Some(Err(under_way)) = rebased(context, name).as_ref().map(in_use::refuse_git) {
        return under_way;
    }
    let is_branch = || context.repo.find_ref(&format!("refs/heads/{name}")).is_ok_and(|id| id.is_some());
    let hint = if is_branch() {
        format!("no worktree has this branch: 'git merge {}' merges it", shell_word(name))
    } else if rounds::read(context.repo.common_dir(), name).is_ok_and(|round| round.is_some()) {
        format!("'git checkpoint round apply {}' brings what a round has changed here", shell_word(name))
    } else {
        return error;
    };
    error.with_hint(hint)
}

/// Takes a checkpoint of the worktree of `there`, and returns it.
pub(super) fn checkpoint(there: &Context, message: &str) -> Result<Option<ObjectId>> {
    let worktree = Worktree::enter(there, Purpose::Change)?;
    Ok(save_before(&worktree, message, true)?.saved.id)
}

/// Refuses if something in the worktree of `there`, which `side` is about, is not committed: it would not be merged.
pub(super) fn refuse_uncommitted(there: &Context, side: &Side) -> Result<()> {
    let hint =
        format!("commit it there, or ignore it: 'git -C {} status' shows all of it", in_use::word(&side.found.path));
    refuse_changes(there, &hint)?;
    refuse_changes_in_submodules(&there.repo)
}
