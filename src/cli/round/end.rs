//! `round end`.

use std::cell::{Cell, RefCell};

use super::super::{Exit, call::Call, output::printable, phrase, worktree::run_step};
use crate::{
    config::BranchPolicy,
    error::Result,
    model::round::Mode,
    ops::{
        rounds::{self, EndOptions, Ended, EndedPlace, EndedSeveral, LeftBranch, Retired},
        worktrees::Step,
    },
};

#[derive(clap::Args, Debug)]
pub(super) struct End {
    /// The round
    #[arg(value_name = "round", required_unless_present_any = ["group", "all"])]
    name: Option<String>,
    /// End all rounds of this group
    #[arg(long, value_name = "name", conflicts_with_all = ["name", "all"])]
    group: Option<String>,
    /// End all rounds of this repository
    #[arg(long, conflicts_with = "name")]
    all: bool,
    /// With --group or --all: what becomes of the branches (default: the setting 'round.branches')
    #[arg(long, value_name = "policy", conflicts_with = "name")]
    branches: Option<Branches>,
    /// What its experiments are kept as (default: the name of its agent, or the digits of its branch)
    #[arg(long, value_name = "name")]
    archive_label: Option<String>,
    /// The message of the commit
    #[arg(short, long, value_name = "text")]
    message: Option<String>,
    /// Let the worktrees stay where they are
    #[arg(long)]
    keep_worktree: bool,
    /// Do not run the commands of the setting 'worktree.teardown'
    #[arg(long)]
    no_teardown: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Branches {
    /// They stay
    Keep,
    /// They go to the archive once no agent works that may know them
    Retire,
    /// They go to the archive at once
    Delete,
}

impl From<Branches> for BranchPolicy {
    fn from(branches: Branches) -> Self {
        match branches {
            Branches::Keep => Self::Keep,
            Branches::Retire => Self::Retire,
            Branches::Delete => Self::Delete,
        }
    }
}

/// What is said of a worktree that was gone when its round ended.
pub(super) const GONE: &str =
    "something had removed or moved a worktree, or a copy: the branch may lack what was not committed there";

impl End {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.writing_context()?;
        let options = EndOptions {
            archive_label: self.archive_label,
            message: self.message,
            no_teardown: self.no_teardown,
            keep_worktree: self.keep_worktree,
        };
        let progress = Cell::new(Some(call.progress("ending the round")));
        let shared = RefCell::new(&mut *call);
        let mut run = |step: &Step<'_>| {
            // It would overwrite what the command prints.
            drop(progress.take());
            run_step(&mut shared.borrow_mut(), step)
        };
        if let Some(name) = self.name {
            let ended = rounds::end(&context, &name, &options, &mut run)?;
            drop(progress.take());
            if self.json {
                call.out.json(&ended)?;
            } else {
                print(&ended, call)?;
            }
            return Ok(Exit::Done);
        }
        let policy = self.branches.map_or(context.settings.round.branches, BranchPolicy::from);
        let ended = rounds::end_several(&context, self.group.as_deref(), policy, &options, &mut run)?;
        drop(progress.take());
        let is_refused = !ended.failed.is_empty() || ended.left.iter().any(|left| !left.later);
        if self.json {
            call.out.json(&ended)?;
        } else {
            print_several(&ended, call)?;
        }
        Ok(if is_refused { Exit::No } else { Exit::Done })
    }
}

/// Prints what became of a round.
fn print(ended: &Ended, call: &mut Call) -> Result<()> {
    let what = if ended.already { "has ended already" } else { "has ended" };
    call.out.note(&format!("the round {} {what}", ended.round))?;
    for place in &ended.contexts {
        for line in report(place, call) {
            call.out.note(&format!("    {line}"))?;
        }
    }
    for place in ended.contexts.iter().filter(|_| !ended.already) {
        if let Some(id) = &place.removed {
            call.out.hint(&format!("'git checkpoint worktree restore {id}' brings the worktree back"));
        }
        if place.aside.is_some() {
            call.out.hint("'git checkpoint prune' deletes the copy after 'archive.keep-days' days");
        }
        if let (Mode::Workspace, Some(branch)) = (place.mode, &place.branch) {
            call.out.hint(&format!("'git checkpoint round apply {}' brings the files there", printable(branch)));
        }
        if let Some(why) = &place.left_out {
            call.out.warning(&format!("the copy has more than its branch: {}", printable(why)));
        }
        if place.gone {
            call.out.warning(GONE);
        }
    }
    print_retired(&ended.retired, call)
}

/// Prints the branches that are no more.
pub(super) fn print_retired(retired: &[Retired], call: &mut Call) -> Result<()> {
    for Retired { branch, commit } in retired {
        let id = call.names.id(commit);
        call.out.note(&format!("retired the branch {}; the archive has its last commit {id}", printable(branch)))?;
    }
    if let Some(Retired { branch, commit }) = retired.first() {
        call.out.hint(&format!("'git branch {branch} {}' brings a branch back", call.names.id(commit)));
    }
    Ok(())
}

/// Prints the branches that stay although they were to go.
pub(super) fn print_left(all: &[LeftBranch], call: &mut Call) -> Result<()> {
    for left in all {
        let line = format!("the branch {} stays: {}", printable(&left.branch), printable(&left.why));
        if left.later { call.out.note(&line)? } else { call.out.warning(&line) }
    }
    Ok(())
}

/// Prints what became of the rounds of a group, and of their branches.
fn print_several(ended: &EndedSeveral, call: &mut Call) -> Result<()> {
    ended.rounds.iter().try_for_each(|round| print(round, call))?;
    if ended.rounds.is_empty() && ended.failed.is_empty() {
        call.out.note("no round was live")?;
    }
    print_retired(&ended.retired, call)?;
    print_left(&ended.left, call)?;
    for failed in &ended.failed {
        call.out.warning(&format!("the round {} goes on: {}", failed.round, failed.message));
        if let Some(hint) = &failed.hint {
            call.out.hint(hint);
        }
    }
    Ok(())
}

/// Returns what is said of a directory.
fn report(place: &EndedPlace, call: &Call) -> Vec<String> {
    let mut lines = Vec::new();
    match (&place.branch, place.commit) {
        (Some(branch), Some(id)) if place.has_lost_branch => {
            lines.push(format!("the branch {} is no more; its work was {}", printable(branch), call.names.id(&id)));
        }
        (Some(branch), None) if place.has_lost_branch => {
            lines.push(format!("the branch {} is no more", printable(branch)));
        }
        (Some(branch), Some(id)) => {
            lines.push(format!("the work is on the branch {}: {}", printable(branch), call.names.id(&id)));
        }
        (Some(branch), None) if place.checkpoint.is_some() => {
            lines.push(format!("the branch {} has all work", printable(branch)));
        }
        (Some(_), None) => {}
        (None, _) => lines.extend(place.checkpoint.map(|id| format!("the checkpoint {}", call.names.id(&id)))),
    }
    if place.mode == Mode::Workspace && place.branch.is_some() {
        lines.push("the workspace is back where it was, without the files of the round".to_owned());
    }
    lines.extend(place.aside.as_ref().map(|path| format!("the copy is in {}", phrase::quoted(path))));
    lines.extend(place.archive.as_ref().map(|path| format!("the experiments are in {}", phrase::quoted(path))));
    lines.extend(place.kept.as_ref().map(|path| {
        let what = if place.mode == Mode::Isolated { "copy" } else { "worktree" };
        format!("the {what} stays in {}", phrase::quoted(path))
    }));
    if !place.ignored.is_empty() {
        lines.push(format!("{} went with the worktree", phrase::count(place.ignored.len(), "ignored path")));
    }
    lines
}
