//! `round branches` and `round context`: the branches of agents, and what an agent reads of them.

use serde::Serialize;

use super::{
    super::{
        Context,
        compare::{DiffOptions, FileDiff, diff},
    },
    changes::compared_of,
    copies::follow_live,
    listing::{named, of_group},
    retire::tip_of,
};
use crate::{
    error::Result,
    model::{
        round::{Mode, last_part},
        round_text::Branches,
    },
    state::rounds::{Phase, Place, Round},
};

/// The branch of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct OfAgent {
    /// What the agent is called.
    pub(crate) agent: String,
    /// Its branch.
    pub(crate) branch: String,
    /// The commit at which it begins.
    #[serde(skip)]
    pub(crate) base: Option<String>,
}

/// How much a branch has changed. Serializes to an entry of `summary`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Summary {
    /// How many files.
    pub(crate) files: usize,
    /// How many lines were added; those of binary files do not count.
    pub(crate) added: usize,
    /// How many lines were removed.
    pub(crate) removed: usize,
}

/// Returns how much has changed since `branch` began, at the commit `base`: up to its tip, or, as long as the round goes on, to what is
/// in its worktree.
///
/// # Errors
/// If one of its ends cannot be read.
pub(crate) fn summary(context: &Context, base: Option<&str>, branch: &str) -> Result<Summary> {
    let Some(base) = base else { return Ok(Summary::default()) };
    let round = named(context, branch)?;
    // If the worktree is gone, the branch is still there.
    let compared = compared_of(context, &round).unwrap_or_default().into_iter();
    let mut live = compared.filter(|(place, of)| place.branch.as_deref() == Some(branch) && of.to.is_none());
    let live = live.next().map(|(_, of)| of.context);
    let to = match live {
        Some(_) => None,
        None => Some(tip_of(&context.repo, branch, None)?.to_string()),
    };
    let options = DiffOptions { from: Some(base.to_owned()), to, renames: false, ..DiffOptions::default() };
    let files = diff(live.as_ref().unwrap_or(context), &options)?.files;
    let sum = |count: fn(&FileDiff) -> Option<u32>| files.iter().filter_map(count).map(|lines| lines as usize).sum();
    Ok(Summary { files: files.len(), added: sum(|file| file.added), removed: sum(|file| file.deleted) })
}

/// Returns the branches of the last round of each agent but `exclude`, of `group` if there is one, by the agents' names: those that
/// are still there, and are not to be retired. An agent without a name is called as its branch.
pub(crate) fn branches(context: &Context, group: Option<&str>, exclude: Option<&str>) -> Result<Vec<OfAgent>> {
    follow_live(context);
    let mut all: Vec<OfAgent> = Vec::new();
    for round in of_group(context, group)?.sound.iter().rev() {
        let Some((branch, base)) = own(round) else { continue };
        let is_to_go = |place: &Place| place.branch.as_deref() == Some(branch) && place.superseded.is_some();
        if round.places.iter().any(is_to_go) || context.repo.find_ref(&format!("refs/heads/{branch}"))?.is_none() {
            continue;
        }
        let agent = round.asked.agent.as_deref().unwrap_or_else(|| last_part(branch)).to_owned();
        if exclude == Some(agent.as_str()) {
            continue;
        }
        if !all.iter().any(|known| known.agent == agent) {
            all.push(OfAgent { agent, branch: branch.to_owned(), base: base.map(str::to_owned) });
        }
    }
    all.sort_by(|one, other| one.agent.cmp(&other.agent));
    Ok(all)
}

/// Returns the branch of `round`, and the commit at which it begins.
fn own(round: &Round) -> Option<(&str, Option<&str>)> {
    round.places.iter().find_map(|place| Some((place.branch.as_deref()?, place.base.as_deref())))
}

/// Returns the part of a system prompt for the agent of the round `name`.
///
/// # Errors
/// If there is no such round.
pub(crate) fn prompt(context: &Context, name: &str) -> Result<String> {
    text(context, name, &|branches| branches.prompt())
}

/// Returns what the agent of the round `name` reads after a restart.
///
/// # Errors
/// If there is no such round.
pub(crate) fn restart(context: &Context, name: &str) -> Result<String> {
    text(context, name, &|branches| branches.restart())
}

fn text(context: &Context, name: &str, write: &dyn Fn(&Branches<'_>) -> String) -> Result<String> {
    let round = named(context, name)?;
    let is_there = |branch: &&str| context.repo.find_ref(&format!("refs/heads/{branch}")).is_ok_and(|it| it.is_some());
    // After its end, nothing is committed to it any more.
    let own = own(&round).map(|(branch, _)| branch).filter(|_| round.phase != Phase::Ended).filter(is_there);
    let all = branches(context, round.asked.group.as_deref(), round.asked.agent.as_deref())?;
    // In a copy, there are no other branches.
    let is_apart = round.places.iter().any(|place| place.mode == Mode::Isolated && place.branch.is_some());
    let others = all.iter().filter(|it| !is_apart && Some(it.branch.as_str()) != own);
    let others = others.map(|it| (it.agent.as_str(), it.branch.as_str())).collect();
    let folder = &round.archive_folder;
    let is_there = round.asked.workspace.as_ref().is_some_and(|workspace| workspace.join(folder).is_dir());
    Ok(write(&Branches { own, others, archive: is_there.then_some(folder.as_str()) }))
}
