//! `worktree setup`: runs the commands that the settings have for a new worktree, and those for one that is to be removed.

use std::{ffi::OsString, os::fd::BorrowedFd, path::Path};

use bstr::ByteSlice as _;
use serde::Serialize;

use super::{
    super::Context,
    approval::{Purpose, digest_of, is_approved},
    in_use::just_changed,
    named::{self, short},
    worktree_lock::{WorktreeLock, gone, lock_set_up},
};
use crate::{
    error::{Error, Result},
    git::registrations::Registration,
    model::exact_text::exact_start,
    state::{
        owner,
        rounds::copied_from,
        setup::{self, Progress},
    },
};

/// Environment variables with their values; without a value, the variable is taken out of the environment.
pub(crate) type Variables = Vec<(&'static str, Option<OsString>)>;

/// A command that is to run.
#[derive(Debug)]
pub(crate) struct Step<'a> {
    /// What it is for.
    pub(crate) purpose: Purpose,
    /// The command.
    pub(crate) line: &'a str,
    /// The root of the worktree in which it runs.
    pub(crate) directory: &'a Path,
    /// What its environment has beside the user's.
    pub(crate) variables: &'a Variables,
    /// The file of the lock that it holds, and what it starts, as long as any of them lives.
    pub(crate) lock: BorrowedFd<'a>,
    /// True for the first one, if the commands of the project's file run in place of the user's own.
    pub(crate) replaces_own: bool,
}

/// Runs a command, and returns its exit status as a shell gives it: 128 and the number of the signal, if one ended it.
pub(crate) type Run<'a> = &'a mut dyn FnMut(&Step<'_>) -> Result<i32>;

/// A command that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct FailedCommand {
    /// The command.
    pub(crate) command: String,
    /// Its exit status as a shell gives it.
    pub(crate) status: i32,
}

/// What became of the commands. Serializes to a part of what `worktree add --json` and `worktree setup --json` print.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Ran {
    /// How many commands there are.
    pub(crate) total: usize,
    /// How many of them have succeeded, from the first.
    pub(crate) done: usize,
    /// False if the project's file has them, and the user has not approved them: none has run.
    pub(crate) approved: bool,
    /// The one that failed.
    pub(crate) failed: Option<FailedCommand>,
    /// True if the commands of the project's file are in place of the user's own.
    #[serde(skip)]
    pub(crate) replaces_own: bool,
}

impl Ran {
    /// Returns true if all commands have succeeded.
    pub(crate) fn is_complete(&self) -> bool {
        self.done == self.total
    }
}

/// Returns the variables with which programs run in the worktree `found`, for `session`.
pub(crate) fn variables(context: &Context, found: &Registration, session: Option<&str>) -> Result<Variables> {
    // A copy of an isolated round is called after where its files are from.
    let main = match copied_from(&found.git_dir) {
        Some(from) => Some(from),
        None => context.repo.registrations()?.first().map(Registration::directory),
    };
    let branch = found.head.branch.as_ref().map(|branch| short(branch.as_bstr()));
    let path = || Some(found.path.clone().into_os_string());
    Ok(vec![
        ("GIT_CHECKPOINT_WORKTREE", path()),
        ("GIT_CHECKPOINT_MAIN", main.map(Into::into)),
        ("GIT_CHECKPOINT_BRANCH", branch.map(|branch| branch.to_os_str_lossy().into_owned())),
        ("GIT_CHECKPOINT_PORT", branch.map(|branch| super::port(&context.repo, branch).to_string().into())),
        ("GIT_CHECKPOINT_SESSION", session.map(Into::into)),
        // A shell sets them, and no shell goes there.
        ("PWD", path()),
        ("OLDPWD", None),
    ])
}

/// Runs the commands of `worktree.setup` in the linked worktree `found` that have not succeeded there yet, or, if `again`, all of
/// them. If the setting has other commands before the first of these now, all run. None if it has no commands.
///
/// # Errors
/// [`Kind::Race`](crate::error::Kind::Race) if another process sets it up just now; if a command cannot be started, or the worktree
/// is not there any more. A command that fails is no error.
pub(crate) fn set_up(context: &Context, found: &Registration, again: bool, run: Run<'_>) -> Result<Option<Ran>> {
    let commands = &Purpose::Setup.commands(context).lines;
    let Some(mut ran) = begin(context, Purpose::Setup)? else { return Ok(None) };
    if !ran.approved {
        return Ok(Some(ran));
    }
    let mut lock = lock_set_up(context, found)?;
    let before = setup::read(&found.git_dir)?;
    ran.done = if again { 0 } else { succeeded(&before, commands) };
    let note = |done| {
        let commands = digest_of(Purpose::Setup, &commands[..done]);
        setup::write(&found.git_dir, &Progress { done, commands })
    };
    note(ran.done)?;
    let ended = run_from(context, found, Purpose::Setup, &mut ran, &mut lock, run, &note);
    if context.check_interrupt().is_err() {
        // What the signal has cut off may not have ended.
        lock.leave();
    }
    ended.map(|()| Some(ran))
}

/// Notes that the commands of `worktree.setup` are to run in the worktree with the git directory `git_dir`: if the process is killed
/// that is to run them, [`is_due`] says so.
///
/// # Errors
/// If that cannot be written.
pub(crate) fn note_due(context: &Context, git_dir: &Path) -> Result<()> {
    if has_commands(context, Purpose::Setup) { setup::write(git_dir, &Progress::default()) } else { Ok(()) }
}

/// Returns true if some of the commands of `worktree.setup` are still to run in the worktree with the git directory `git_dir`.
///
/// # Errors
/// If the note cannot be read.
pub(crate) fn is_due(context: &Context, git_dir: &Path) -> Result<bool> {
    let commands = &Purpose::Setup.commands(context).lines;
    Ok(setup::is_noted(git_dir) && succeeded(&setup::read(git_dir)?, commands) < commands.len())
}

/// Returns true if there are commands.
pub(super) fn has_commands(context: &Context, purpose: Purpose) -> bool {
    !purpose.commands(context).lines.is_empty()
}

/// Refuses if the project's file has commands of `worktree.teardown`, and the user has not approved them.
pub(super) fn refuse_not_approved(context: &Context) -> Result<()> {
    if is_approved(context, Purpose::Teardown)? {
        return Ok(());
    }
    Err(Error::refused("the teardown commands of '.checkpoint.toml' are not approved")
        .with_hint("'git checkpoint worktree approve' shows them and asks"))
}

/// Runs the commands of `worktree.teardown` in the worktree `found`. None if the setting has none.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if they are not approved, or one fails.
pub(super) fn tear_down(
    context: &Context,
    found: &Registration,
    lock: &mut WorktreeLock,
    run: Run<'_>,
) -> Result<Option<Ran>> {
    refuse_not_approved(context)?;
    let Some(mut ran) = begin(context, Purpose::Teardown)? else { return Ok(None) };
    // The commands take back what the set-up has done, or a part of it: if the worktree stays or comes back, all of it is to run.
    setup::forget(&found.git_dir)?;
    run_from(context, found, Purpose::Teardown, &mut ran, lock, run, &|_| Ok(()))?;
    // A command may have ended well in spite of the signal.
    if ran.is_complete() && context.check_interrupt().is_ok() {
        return Ok(Some(ran));
    }
    let what = ran.failed.map_or_else(
        || "the teardown was interrupted".to_owned(),
        |FailedCommand { command, status }| {
            let command = exact_start(&command);
            format!("the teardown command '{command}' has failed (exit status {status})")
        },
    );
    Err(Error::refused(what).with_hint("the worktree stays; the next removal begins with the first command"))
}

/// Returns what there is to do; none if there are no commands.
fn begin(context: &Context, purpose: Purpose) -> Result<Option<Ran>> {
    let total = purpose.commands(context).lines.len();
    let approved = is_approved(context, purpose)?;
    let replaces_own = purpose.commands(context).replaces_own;
    Ok((total > 0).then_some(Ran { total, done: 0, approved, failed: None, replaces_own }))
}

/// Returns how many of `commands`, from the first, have succeeded.
fn succeeded(before: &Progress, commands: &[String]) -> usize {
    let same = commands.get(..before.done).filter(|first| digest_of(Purpose::Setup, first) == before.commands);
    same.map_or(0, <[String]>::len)
}

/// Runs the commands that are not done, until one fails or a signal comes; `note` hears how many have succeeded, each time.
///
/// # Errors
/// If the worktree was removed or moved meanwhile.
fn run_from(
    context: &Context,
    found: &Registration,
    purpose: Purpose,
    ran: &mut Ran,
    lock: &mut WorktreeLock,
    run: Run<'_>,
    note: &dyn Fn(usize) -> Result<()>,
) -> Result<()> {
    let commands = purpose.commands(context);
    let mut now = still(context, found, None)?;
    let mut replaces_own = commands.replaces_own;
    for line in &commands.lines[ran.done..] {
        if context.check_interrupt().is_err() {
            return Ok(());
        }
        let variables = variables(context, &now, owner::owner(&now.git_dir).as_deref())?;
        let (directory, file) = (&now.path, lock.file());
        let status = run(&Step { purpose, line, directory, variables: &variables, lock: file, replaces_own })?;
        // It may have changed what is checked out, or have moved the worktree.
        now = still(context, found, Some(line))?;
        if status != 0 {
            ran.failed = Some(FailedCommand { command: line.clone(), status });
            return Ok(());
        }
        ran.done += 1;
        lock.renew();
        note(ran.done)?;
        replaces_own = false;
    }
    Ok(())
}

/// Returns the worktree `found` as it is now; after the command `line`, if one has run.
///
/// # Errors
/// If it was removed or moved.
fn still(context: &Context, found: &Registration, line: Option<&str>) -> Result<Registration> {
    let now = if found.is_main() {
        // The only worktree of a copy.
        context.repo.registrations()?.into_iter().next()
    } else {
        context.repo.registration(found.id.as_bstr())?
    };
    let Some(now) = now else {
        let Some(line) = line else { return Err(gone(found)) };
        let what = format!("the worktree '{}' was removed while '{}' ran", found.path.display(), exact_start(line));
        return Err(
            Error::user(what).with_hint("'git checkpoint worktree list' shows the worktrees of this repository")
        );
    };
    let now = named::checked(context, &now).map_err(|error| match line {
        Some(line) if now.path.symlink_metadata().is_err() => error.with_hint(format!(
            "if '{}' has moved it, 'git worktree repair <path>' lets git know where it is",
            exact_start(line)
        )),
        _ => error,
    })?;
    if now.path == found.path { Ok(now) } else { Err(just_changed(&found.path)) }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::never_begun(&[], 0, 0)]
    #[case::the_second_failed(&["a"], 1, 1)]
    #[case::all_done(&["a", "b", "c"], 3, 3)]
    #[case::the_first_is_another_one(&["x"], 1, 0)]
    #[case::more_than_there_are(&["a", "b", "c", "d"], 4, 0)]
    #[case::a_wrong_number(&["a"], 2, 0)]
    fn a_set_up_goes_on(#[case] succeeded_before: &[&str], #[case] done: usize, #[case] expected: usize) {
        let list = |commands: &[&str]| commands.iter().map(ToString::to_string).collect::<Vec<_>>();
        let commands = digest_of(Purpose::Setup, &list(succeeded_before));
        assert_eq!(succeeded(&Progress { done, commands }, &list(&["a", "b", "c"])), expected);
        assert_eq!(succeeded(&Progress::default(), &list(&["a"])), 0);
    }
}
