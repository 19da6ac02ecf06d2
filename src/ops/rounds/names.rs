//! The names of the branches and folders of rounds: from the settings, the command line and chance.

use std::collections::BTreeSet;

use super::{
    super::{Context, session_info},
    options::StartOptions,
};
use crate::{
    error::{Error, Result},
    git::Repo,
    model::{
        path_text,
        round::{DIGITS, is_branch_prefix, is_folder, is_name},
    },
    state::temporary,
};

/// The folders of rounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Folders {
    /// For experiments, at the root of each worktree.
    pub(super) scratch: String,
    /// For those of rounds that have ended, in the workspace.
    pub(super) archive: String,
}

impl Folders {
    /// Returns those that the settings name.
    ///
    /// # Errors
    /// [`Kind::Config`](crate::error::Kind::Config) if one of them cannot be a folder of ours, or both are the same.
    pub(super) fn of(context: &Context) -> Result<Self> {
        let round = &context.settings.round;
        for (key, value) in [("round.scratch", &round.scratch), ("round.archive", &round.archive)] {
            if !is_folder(value) {
                return Err(bad_setting(key, value, "no name for a folder of rounds", ".checkpoint_scratch"));
            }
        }
        if round.scratch.eq_ignore_ascii_case(&round.archive) {
            return Err(bad_setting(
                "round.archive",
                &round.archive,
                "the folder of 'round.scratch'",
                ".scratch_archive",
            ));
        }
        Ok(Self { scratch: round.scratch.clone(), archive: round.archive.clone() })
    }
}

fn bad_setting(key: &str, value: &str, what: &str, example: &str) -> Error {
    let value = path_text::printable(value.as_bytes().into());
    Error::config(format!("the setting '{key}' is '{value}', which is {what}"))
        .with_hint(format!("for example '{example}'"))
}

/// Refuses ids and labels that could not be a part of a ref or a path.
///
/// # Errors
/// [`Kind::User`](crate::error::Kind::User) if one is malformed.
pub(crate) fn check(options: &StartOptions) -> Result<()> {
    options.session.as_deref().map_or(Ok(()), session_info::check_id)?;
    let named = [("the agent", &options.agent), ("the label", &options.label), ("the group", &options.group)];
    named
        .into_iter()
        .filter_map(|(what, name)| Some((what, name.as_deref()?)))
        .try_for_each(|(what, name)| check_label(what, name))
}

/// Refuses `label`, which is called `what`, if it could not be a part of a ref or a path.
pub(super) fn check_label(what: &str, label: &str) -> Result<()> {
    if is_name(label) {
        return Ok(());
    }
    let label = path_text::printable(label.as_bytes().into());
    Err(Error::user(format!("{what} '{label}' is not a plain name"))
        .with_hint("at most 50 letters, digits, '.', '_' and '-', with a letter or a digit first, no two dots in a row, and none of '.', '.lock' and '.git' at the end"))
}

/// Returns 8 random hexadecimal digits.
pub(super) fn random() -> String {
    temporary::random()[..DIGITS].to_owned()
}

/// Returns the name of a new branch: `label` if it is free, `label` with random digits if not, and else one that says nothing of
/// the agent, the round or the session. `taken` are the names that rounds have chosen, and may not have made yet.
///
/// # Errors
/// [`Kind::Config`](crate::error::Kind::Config) if the setting `round.branch-prefix` makes no name of a branch.
pub(super) fn new_branch(context: &Context, label: Option<&str>, taken: &BTreeSet<String>) -> Result<String> {
    let prefix = &context.settings.round.branch_prefix;
    if !is_branch_prefix(prefix) {
        return Err(bad_setting("round.branch-prefix", prefix, "no beginning of a branch's name", "agents"));
    }
    let is_free = |name: &str| Ok::<_, Error>(in_the_way(&context.repo, name, taken)?.is_none());
    if let Some(label) = label
        && is_free(label)?
    {
        return Ok(label.to_owned());
    }
    if let Some(other) = above(&context.repo, prefix, taken)?.filter(|_| label.is_none()) {
        return Err(Error::config(format!("there is a branch '{other}', so that git can make none below it"))
            .with_hint("set 'round.branch-prefix' to another beginning, or rename that branch"));
    }
    loop {
        let digits = random();
        let name = label.map_or_else(|| format!("{prefix}/{digits}"), |label| format!("{label}_{digits}"));
        if is_free(&name)? {
            return Ok(name);
        }
    }
}

/// Returns the branch that keeps git from making the branch `name`: that one, one below it, or one that it would be below.
fn in_the_way(repo: &Repo, name: &str, taken: &BTreeSet<String>) -> Result<Option<String>> {
    let below = format!("{name}/");
    if let Some(other) = taken.iter().find(|it| it.starts_with(&below)) {
        return Ok(Some(other.clone()));
    }
    match repo.refs_below(&format!("refs/heads/{below}"))?.into_iter().next() {
        Some((other, _)) => Ok(Some(other)),
        None => above(repo, name, taken),
    }
}

/// Returns the branch `name`, or one that it would be below, if there is one.
fn above(repo: &Repo, name: &str, taken: &BTreeSet<String>) -> Result<Option<String>> {
    let ends = name.match_indices('/').map(|(at, _)| at).chain([name.len()]);
    for other in ends.map(|end| &name[..end]) {
        if taken.contains(other) || repo.find_ref(&format!("refs/heads/{other}"))?.is_some() {
            return Ok(Some(other.to_owned()));
        }
    }
    Ok(None)
}
