//! `worktree approve`: which commands of the project's committed file may run. Anyone who can commit writes that file.
//!
//! The user approves a list of commands with all its bytes, for one purpose. The list that is run is the one that was compared.

use std::collections::BTreeSet;

use serde::Serialize;

use super::{super::Context, lock::lock_to_look};
use crate::{
    config::Commands,
    error::{Error, Result},
    git::digest,
    state::approved,
};

/// Linux starts no program with a longer argument.
const LONGEST: usize = 128 * 1024 - 1;

/// What commands are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum Purpose {
    /// They run in a new worktree.
    #[serde(rename = "worktree.setup")]
    Setup,
    /// They run before a worktree is removed.
    #[serde(rename = "worktree.teardown")]
    Teardown,
}

impl Purpose {
    /// Returns the setting that has the commands.
    pub(crate) fn setting(self) -> &'static str {
        match self {
            Self::Setup => "worktree.setup",
            Self::Teardown => "worktree.teardown",
        }
    }

    /// Returns the commands.
    pub(super) fn commands(self, context: &Context) -> &Commands {
        match self {
            Self::Setup => &context.settings.worktree.setup,
            Self::Teardown => &context.settings.worktree.teardown,
        }
    }
}

/// A list of commands in the project's file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct OfProject {
    /// The setting.
    #[serde(rename = "setting")]
    pub(crate) purpose: Purpose,
    /// The commands.
    pub(crate) commands: Vec<String>,
    /// Whether the user has approved them.
    pub(crate) approved: bool,
    /// True if they are in place of the user's own.
    pub(crate) replaces_own: bool,
}

/// Returns the digest of the commands that have the digest `before`, and one more.
fn with_next(before: &str, command: &str) -> String {
    // All digests have the same length.
    digest::sha256(&[before.as_bytes(), command.as_bytes()])
}

/// Returns the digest of a list of commands.
pub(super) fn digest_of(purpose: Purpose, commands: &[String]) -> String {
    let start = digest::sha256(&[purpose.setting().as_bytes()]);
    commands.iter().fold(start, |before, command| with_next(&before, command))
}

/// Returns true if the commands may run: they are the user's own, or the user has approved exactly these.
pub(super) fn is_approved(context: &Context, purpose: Purpose) -> Result<bool> {
    let commands = purpose.commands(context);
    if !commands.is_from_project || commands.lines.is_empty() {
        return Ok(true);
    }
    Ok(approved::read(context.repo.common_dir())?.contains(&digest_of(purpose, &commands.lines)))
}

/// Refuses a command that the system cannot start.
fn refuse_not_runnable(purpose: Purpose, commands: &[String]) -> Result<()> {
    let why = |command: &str| match command {
        it if it.contains('\0') => Some("has a NUL character"),
        it if it.len() > LONGEST => Some("is longer than 128 KiB"),
        _ => None,
    };
    let bad = commands.iter().enumerate().find_map(|(at, command)| Some((at + 1, why(command)?)));
    bad.map_or(Ok(()), |(number, why)| {
        let setting = purpose.setting();
        Err(Error::refused(format!("command {number} of '{setting}' in '.checkpoint.toml' {why}: it cannot run")))
    })
}

/// Returns the lists of commands that the project's file has, without those in whose place other settings are.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if one has a command that cannot run.
pub(crate) fn of_project(context: &Context) -> Result<Vec<OfProject>> {
    let mut lists = Vec::new();
    for purpose in [Purpose::Setup, Purpose::Teardown] {
        let commands = purpose.commands(context);
        if commands.is_from_project && !commands.lines.is_empty() {
            let approved = is_approved(context, purpose)?;
            let (lines, replaces_own) = (commands.lines.clone(), commands.replaces_own);
            refuse_not_runnable(purpose, &lines)?;
            lists.push(OfProject { purpose, commands: lines, approved, replaces_own });
        }
    }
    Ok(lists)
}

/// Approves exactly these lists of commands, in all worktrees of the repository.
pub(crate) fn approve(context: &Context, lists: &mut [OfProject]) -> Result<()> {
    let _lock = lock_to_look(context)?;
    let common = context.repo.common_dir();
    let before = approved::read(common)?;
    let mut after = before.clone();
    after.extend(lists.iter().map(|list| digest_of(list.purpose, &list.commands)));
    if after != before {
        approved::write(common, &after)?;
    }
    for list in lists {
        list.approved = true;
    }
    Ok(())
}

/// Lets no list of commands be approved any more, and returns how many were.
pub(crate) fn revoke(context: &Context) -> Result<usize> {
    let _lock = lock_to_look(context)?;
    let common = context.repo.common_dir();
    let before = approved::read(common)?.len();
    if before > 0 {
        approved::write(common, &BTreeSet::new())?;
    }
    Ok(before)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn digest(purpose: Purpose, commands: &[&str]) -> String {
        digest_of(purpose, &commands.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[rstest]
    #[case::joined(&["a b"])]
    #[case::turned_round(&["b", "a"])]
    #[case::one_more(&["a", "b", ""])]
    #[case::one_less(&["a"])]
    #[case::none(&[])]
    #[case::a_nul(&["a\0b"])]
    #[case::a_space(&["a", "b "])]
    fn lists_that_differ_have_other_digests(#[case] other: &[&str]) {
        assert_ne!(digest(Purpose::Setup, &["a", "b"]), digest(Purpose::Setup, other));
    }

    #[test]
    fn what_is_approved_for_one_purpose_is_not_for_the_other() {
        assert_ne!(digest(Purpose::Setup, &["a"]), digest(Purpose::Teardown, &["a"]));
    }
}
