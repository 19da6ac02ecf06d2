//! The commands that the settings have for worktrees: `worktree.setup` once one is made, `worktree.teardown` before it is removed.
//!
//! Those of the project's committed file run only if the user has approved exactly this list of commands.

use std::{collections::BTreeSet, ffi::OsString, path::Path};

use bstr::ByteSlice as _;
use serde::Serialize;

use super::{
    super::Context,
    lock::{lock, lock_set_up},
    remove::short,
};
use crate::{
    config::settings::Commands,
    error::Result,
    git::{digest, registrations::Registration},
    state::{
        approved,
        setup::{self, Progress},
    },
};

/// Environment variables with their values.
pub(crate) type Variables = Vec<(&'static str, OsString)>;

/// Runs a command line in a directory with these variables, and returns its exit status as a shell gives it.
pub(crate) type Run<'a> = &'a mut dyn FnMut(&str, &Path, &Variables) -> Result<i32>;

/// A command that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct FailedCommand {
    /// The command.
    pub(crate) command: String,
    /// Its exit status as a shell gives it: 128 and the number of the signal, if one ended it.
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

/// A list of commands in the project's file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct OfProject {
    /// The setting.
    pub(crate) setting: &'static str,
    /// The commands.
    pub(crate) commands: Vec<String>,
    /// Whether the user has approved them.
    pub(crate) approved: bool,
}

/// Returns the digest of a list of commands.
fn digest_of(lines: &[String]) -> String {
    // Lists that differ have other texts, unless a command has a NUL byte: no shell runs that one.
    let parts: Vec<&[u8]> = lines.iter().flat_map(|line| [line.as_bytes(), b"\0"]).collect();
    digest::sha256(&parts)
}

/// Returns the variables with which programs run in the worktree `found`.
pub(crate) fn variables(context: &Context, found: &Registration, session: Option<&str>) -> Result<Variables> {
    let main = context.repo.registrations()?.first().map(Registration::directory);
    let branch = found.head.branch.as_ref().map(|branch| short(branch.as_bstr()).to_owned());
    let mut variables = vec![("GIT_CHECKPOINT_WORKTREE", found.path.clone().into_os_string())];
    variables.extend(main.map(|main| ("GIT_CHECKPOINT_MAIN", main.into_os_string())));
    if let Some(branch) = branch {
        variables.push(("GIT_CHECKPOINT_BRANCH", branch.to_os_str_lossy().into_owned()));
        variables.push(("GIT_CHECKPOINT_PORT", super::port(&context.repo, branch.as_bstr()).to_string().into()));
    }
    variables.extend(session.map(|session| ("GIT_CHECKPOINT_SESSION", session.into())));
    Ok(variables)
}

/// Runs the commands of `worktree.setup` in the worktree `found` that have not succeeded there yet; all, if they have changed
/// since, or with `from_first`. None if there are none.
///
/// # Errors
/// [`Kind::Race`] if another process does that just now; or if the way to run a command fails. A command that fails is no error.
pub(crate) fn set_up(
    context: &Context,
    found: &Registration,
    session: Option<&str>,
    from_first: bool,
    run: Run<'_>,
) -> Result<Option<Ran>> {
    let commands = &context.settings.worktree.setup;
    let Some(mut ran) = begin(context, commands)? else { return Ok(None) };
    if !ran.approved {
        return Ok(Some(ran));
    }
    let _lock = lock_set_up(context, found)?;
    let digest = digest_of(&commands.lines);
    let before = setup::progress(&found.git_dir)?;
    let first = if from_first { 0 } else { succeeded(before.as_ref(), &digest, ran.total) };
    let mut note = |done| setup::write(&found.git_dir, &Progress { commands: digest.clone(), done });
    run_from(context, (found, session), (commands, first), &mut ran, run, &mut note)?;
    Ok(Some(ran))
}

/// Runs the commands of `worktree.teardown` in the worktree `found`. None if there are none.
///
/// # Errors
/// If the way to run a command fails. A command that fails is no error.
#[expect(dead_code, reason = "`worktree remove` does not run these commands yet")]
pub(super) fn tear_down(context: &Context, found: &Registration, run: Run<'_>) -> Result<Option<Ran>> {
    let commands = &context.settings.worktree.teardown;
    let Some(mut ran) = begin(context, commands)? else { return Ok(None) };
    if ran.approved {
        run_from(context, (found, None), (commands, 0), &mut ran, run, &mut |_| Ok(()))?;
    }
    Ok(Some(ran))
}

/// Returns what there is to do; none if there are no commands.
fn begin(context: &Context, commands: &Commands) -> Result<Option<Ran>> {
    let total = commands.lines.len();
    let approved = total == 0 || is_approved(context, commands)?;
    Ok((total > 0).then_some(Ran { total, done: 0, approved, failed: None }))
}

fn run_from(
    context: &Context,
    (found, session): (&Registration, Option<&str>),
    (commands, first): (&Commands, usize),
    ran: &mut Ran,
    run: Run<'_>,
    note: &mut dyn FnMut(usize) -> Result<()>,
) -> Result<()> {
    let variables = variables(context, found, session)?;
    ran.done = first;
    for command in commands.lines.iter().skip(first) {
        let status = run(command, &found.path, &variables)?;
        context.check_interrupt()?;
        if status != 0 {
            ran.failed = Some(FailedCommand { command: command.clone(), status });
            return Ok(());
        }
        ran.done += 1;
        note(ran.done)?;
    }
    Ok(())
}

/// Returns how many commands of the list with this digest have succeeded, of `total`.
fn succeeded(before: Option<&Progress>, digest: &str, total: usize) -> usize {
    before.filter(|progress| progress.commands == digest).map_or(0, |progress| progress.done.min(total))
}

fn is_approved(context: &Context, commands: &Commands) -> Result<bool> {
    if !commands.is_from_project {
        return Ok(true);
    }
    Ok(approved::approved(context.repo.common_dir())?.contains(&digest_of(&commands.lines)))
}

/// Returns the lists of commands that the project's file has.
pub(crate) fn of_project(context: &Context) -> Result<Vec<OfProject>> {
    let worktree = &context.settings.worktree;
    let lists = [("worktree.setup", &worktree.setup), ("worktree.teardown", &worktree.teardown)];
    let lists = lists.into_iter().filter(|(_, list)| list.is_from_project && !list.lines.is_empty());
    let of_project = |(setting, list): (_, &Commands)| {
        Ok(OfProject { setting, commands: list.lines.clone(), approved: is_approved(context, list)? })
    };
    lists.map(of_project).collect()
}

/// Approves exactly these lists of commands, or no longer does, in all worktrees of the repository.
pub(crate) fn approve(context: &Context, lists: &[OfProject], is_approved: bool) -> Result<()> {
    let _lock = lock(context)?;
    let common = context.repo.common_dir();
    let before = approved::approved(common)?;
    let digests: BTreeSet<String> = lists.iter().map(|list| digest_of(&list.commands)).collect();
    let after = if is_approved { &before | &digests } else { &before - &digests };
    if after == before { Ok(()) } else { approved::write(common, &after) }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::never_begun(None, 0)]
    #[case::the_second_failed(Some(("a", 1)), 1)]
    #[case::all_done(Some(("a", 3)), 3)]
    #[case::other_commands(Some(("b", 2)), 0)]
    #[case::damaged(Some(("a", 9)), 3)]
    fn a_set_up_goes_on(#[case] before: Option<(&str, usize)>, #[case] expected: usize) {
        let before = before.map(|(commands, done)| Progress { commands: commands.into(), done });
        assert_eq!(succeeded(before.as_ref(), "a", 3), expected);
    }

    #[rstest]
    #[case(&["a", "b"], &["a b"])]
    #[case(&["a", "b"], &["b", "a"])]
    #[case(&["a"], &["a", ""])]
    fn lists_that_differ_have_other_digests(#[case] one: &[&str], #[case] other: &[&str]) {
        let [one, other] = [one, other].map(|list| list.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_ne!(digest_of(&one), digest_of(&other));
    }
}
