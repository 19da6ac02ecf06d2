//! `git checkpoint ci`: what jobs of continuous integration do with records.

mod check;
mod event;
mod forges;
mod place;
mod relink;

use super::{Exit, call::Call};
use crate::error::{Kind, Result};

/// Check who wrote the lines of a range, and find records again, in continuous integration
///
/// Without <range>, the environment of the job says which commits to look at: GitHub's or GitLab's variables, or else origin/HEAD..HEAD.
#[derive(clap::Args, Debug)]
pub(super) struct Ci {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand, Debug)]
enum Action {
    Check(check::Check),
    Relink(relink::Relink),
}

impl Ci {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let done = match self.action {
            Action::Check(command) => command.run(call),
            Action::Relink(command) => command.run(call),
        };
        // To a job, 1 is an answer about the commits.
        done.map_err(|error| if error.kind() == Kind::Refused { error.with_kind(Kind::User) } else { error })
    }
}
