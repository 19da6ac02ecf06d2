//! `worktree setup`: runs the commands that the settings have for a new worktree, and those for one that is to be removed.

use std::{ffi::OsString, path::Path};

use bstr::ByteSlice as _;
use serde::Serialize;

use super::{
    super::Context,
    approval::{Purpose, digest_of, is_approved, with_next},
    in_use::just_changed,
    lock::gone,
    named::{self, short},
    setup_lock::lock_set_up,
};
use crate::{
    error::{Error, Result},
    git::registrations::Registration,
    model::path_text,
    state::{
        owner,
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
}

impl Ran {
    /// Returns true if all commands have succeeded.
    pub(crate) fn is_complete(&self) -> bool {
        self.done == self.total
    }
}

/// Returns the variables with which programs run in the worktree `found`, for `session`.
pub(crate) fn variables(context: &Context, found: &Registration, session: Option<&str>) -> Result<Variables> {
    let main = context.repo.registrations()?.first().map(Registration::directory);
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
/// them. If the commands before that are other ones now, all are run. None if the setting has none.
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
    let _lock = lock_set_up(context, found)?;
    let before = setup::read(&found.git_dir)?;
    ran.done = if again { 0 } else { succeeded(&before, commands) };
    let mut digest = digest_of(Purpose::Setup, &commands[..ran.done]);
    let note = |done, digest: &str| setup::write(&found.git_dir, &Progress { done, commands: digest.to_owned() });
    note(ran.done, &digest)?;
    run_from(context, found, Purpose::Setup, &mut ran, run, &mut |line, done| {
        digest = with_next(&digest, line);
        note(done, &digest)
    })?;
    Ok(Some(ran))
}

/// Refuses if the project's file has commands of `worktree.teardown`, and the user has not approved them.
pub(super) fn refuse_not_approved(context: &Context) -> Result<()> {
    if is_approved(context, Purpose::Teardown)? {
        return Ok(());
    }
    Err(Error::refused("the teardown commands of '.checkpoint.toml' are not approved").with_hint(
        "'git checkpoint worktree approve' shows them and asks; with '--no-teardown', the worktree is removed without them",
    ))
}

/// Runs the commands of `worktree.teardown` in the worktree `found`. None if the setting has none.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if they are not approved, or one fails.
pub(super) fn tear_down(context: &Context, found: &Registration, run: Run<'_>) -> Result<Option<Ran>> {
    refuse_not_approved(context)?;
    let Some(mut ran) = begin(context, Purpose::Teardown)? else { return Ok(None) };
    run_from(context, found, Purpose::Teardown, &mut ran, run, &mut |_, _| Ok(()))?;
    if ran.is_complete() {
        // The last command may have moved it.
        still(context, found)?;
        return Ok(Some(ran));
    }
    let what = ran.failed.map_or_else(
        || "the teardown was interrupted".to_owned(),
        |FailedCommand { command, status }| {
            let command = path_text::printable(command.as_bytes().as_bstr());
            format!("the teardown command '{command}' has failed (exit status {status})")
        },
    );
    Err(Error::refused(what)
        .with_hint("the worktree stays; with '--no-teardown', it is removed without the teardown commands"))
}

/// Returns what there is to do; none if there are no commands.
fn begin(context: &Context, purpose: Purpose) -> Result<Option<Ran>> {
    let total = purpose.commands(context).lines.len();
    let approved = is_approved(context, purpose)?;
    Ok((total > 0).then_some(Ran { total, done: 0, approved, failed: None }))
}

/// Returns how many of `commands`, from the first, have succeeded.
fn succeeded(before: &Progress, commands: &[String]) -> usize {
    let same = commands.get(..before.done).filter(|first| digest_of(Purpose::Setup, first) == before.commands);
    same.map_or(0, <[String]>::len)
}

/// Runs the commands that are not done, until one fails or a signal comes; `note` hears of each that has succeeded, and how many
/// have.
fn run_from(
    context: &Context,
    found: &Registration,
    purpose: Purpose,
    ran: &mut Ran,
    run: Run<'_>,
    note: &mut dyn FnMut(&str, usize) -> Result<()>,
) -> Result<()> {
    for line in &purpose.commands(context).lines[ran.done..] {
        if context.check_interrupt().is_err() {
            return Ok(());
        }
        // The command before may have changed what is checked out, or have moved the worktree.
        let now = still(context, found)?;
        let variables = variables(context, &now, owner::owner(&now.git_dir).as_deref())?;
        let status = run(&Step { purpose, line, directory: &now.path, variables: &variables })?;
        if status != 0 {
            ran.failed = Some(FailedCommand { command: line.clone(), status });
            return Ok(());
        }
        ran.done += 1;
        note(line, ran.done)?;
    }
    Ok(())
}

/// Returns the worktree `found` as it is now.
///
/// # Errors
/// If it was removed or moved.
fn still(context: &Context, found: &Registration) -> Result<Registration> {
    let Some(now) = context.repo.registration(found.id.as_bstr())? else { return Err(gone(found)) };
    let now = named::checked(context, &now)?;
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
