//! `round end`.

use std::cell::{Cell, RefCell};

use super::super::{Exit, call::Call, output::printable, phrase, worktree::run_step};
use crate::{
    error::Result,
    ops::{
        rounds::{self, EndOptions, EndedPlace},
        worktrees::Step,
    },
};

#[derive(clap::Args, Debug)]
pub(super) struct End {
    /// The round
    #[arg(value_name = "round")]
    name: String,
    /// What its experiments are kept as (default: the name of its agent, or the digits of its branch)
    #[arg(long, value_name = "name")]
    archive_label: Option<String>,
    /// The message of the commit
    #[arg(short, long, value_name = "text")]
    message: Option<String>,
    /// Do not run the commands of the setting 'worktree.teardown'
    #[arg(long)]
    no_teardown: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

impl End {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.writing_context()?;
        let options =
            EndOptions { archive_label: self.archive_label, message: self.message, no_teardown: self.no_teardown };
        let progress = Cell::new(Some(call.progress("ending the round")));
        let shared = RefCell::new(&mut *call);
        let mut run = |step: &Step<'_>| {
            // It would overwrite what the command prints.
            drop(progress.take());
            run_step(&mut shared.borrow_mut(), step)
        };
        let ended = rounds::end(&context, &self.name, &options, &mut run)?;
        drop(progress.take());
        if self.json {
            call.out.json(&ended)?;
            return Ok(Exit::Done);
        }
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
            if place.gone {
                call.out.warning(
                    "another command had removed or moved a worktree: the branch may lack what was not committed there",
                );
            }
        }
        Ok(Exit::Done)
    }
}

/// Returns what is said of a directory.
fn report(place: &EndedPlace, call: &Call) -> Vec<String> {
    let mut lines = Vec::new();
    match (&place.branch, place.commit) {
        (Some(branch), Some(id)) => {
            lines.push(format!("the work is on the branch {}: {}", printable(branch), call.names.id(&id)));
        }
        (Some(branch), None) if place.checkpoint.is_some() => {
            lines.push(format!("the branch {} has all work", printable(branch)));
        }
        (Some(_), None) => {}
        (None, _) => lines.extend(place.checkpoint.map(|id| format!("the checkpoint {}", call.names.id(&id)))),
    }
    lines.extend(place.archive.as_ref().map(|path| format!("the experiments are in {}", phrase::quoted(path))));
    if !place.ignored.is_empty() {
        lines.push(format!("{} went with the worktree", phrase::count(place.ignored.len(), "ignored path")));
    }
    lines
}
