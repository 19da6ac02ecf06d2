//! `round list` and `round show`.

use serde_json::json;

use super::super::{Exit, call::Call, output::printable, phrase};
use crate::{
    error::{Error, Result},
    ops::rounds::{self, Shown, ShownPlace},
};

#[derive(clap::Args, Debug)]
pub(super) struct List {
    /// Also those that have ended
    #[arg(long)]
    all: bool,
    /// Only those of this group
    #[arg(long, value_name = "name")]
    group: Option<String>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args, Debug)]
pub(super) struct Show {
    /// The round
    #[arg(value_name = "round")]
    name: String,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

impl List {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.context()?;
        let (all, damaged) = rounds::list(&context, self.group.as_deref(), self.all)?;
        for error in &damaged {
            call.out.warning(error.message());
        }
        damaged.first().and_then(Error::hint).into_iter().for_each(|hint| call.out.hint(hint));
        if self.json {
            call.out.json(&json!({ "version": 1, "rounds": all }))?;
            return Ok(Exit::Done);
        }
        if all.is_empty() && damaged.is_empty() {
            let of =
                self.group.as_ref().map(|group| format!(" in the group '{}'", printable(group))).unwrap_or_default();
            call.out.aside(&if self.all { format!("there is no round{of}") } else { format!("no round is live{of}") });
            if !self.all {
                call.out.hint("'git checkpoint round list --all' shows those that have ended, too");
            }
            return Ok(Exit::Done);
        }
        call.start_pager(&context)?;
        all.iter().try_for_each(|round| print(round, call))?;
        Ok(Exit::Done)
    }
}

impl Show {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.context()?;
        let round = rounds::find(&context, &self.name)?;
        if self.json {
            call.out.json(&json!({ "version": 1, "round": round }))?;
        } else {
            print(&round, call)?;
        }
        Ok(Exit::Done)
    }
}

/// Prints a round, and below it its directories.
fn print(round: &Shown, call: &mut Call) -> Result<()> {
    let mut line = call.out.paint(phrase::ID, &round.round);
    line.push_str(&format!("  {}", round.phase.name()));
    if let Some(agent) = &round.agent {
        line.push_str(&format!("  {}", printable(agent)));
    }
    if let Some(group) = &round.group {
        line.push_str(&format!("  (group {})", printable(group)));
    }
    if let Some(session) = &round.session {
        line.push_str(&format!("  (session {})", printable(session)));
    }
    call.out.line(&line)?;
    print_places(&round.contexts, call)
}

/// Prints the directories of a round: the branch of each, and where the work is done.
pub(super) fn print_places(places: &[ShownPlace], call: &mut Call) -> Result<()> {
    for place in places {
        let path = phrase::quoted(place.path.as_ref().unwrap_or(&place.context));
        let line = match &place.branch {
            Some(branch) if place.retired.is_some() => format!("    {} (retired)", printable(branch)),
            Some(branch) if place.removed.is_some() || place.is_put_aside => format!("    {}", printable(branch)),
            Some(branch) => format!("    {} in {path}", printable(branch)),
            None => format!("    {path}"),
        };
        call.out.line(&line)?;
        if let Some(aside) = &place.aside {
            call.out.line(&format!("        its copy in {}", phrase::quoted(aside)))?;
        }
        if let Some(archive) = &place.archive {
            call.out.line(&format!("        experiments in {}", phrase::quoted(archive)))?;
        }
    }
    Ok(())
}
