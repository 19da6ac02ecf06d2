//! `git checkpoint ci`: what jobs of continuous integration do with records.

mod check;
mod event;
mod forges;
mod place;
mod relink;

use super::{Exit, call::Call};
use crate::error::{Error, Kind, Result};

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

/// Returns the revision of a single commit as a range.
fn as_range(text: &str) -> Result<String> {
    if text.is_empty() || text.starts_with('-') {
        return Err(Error::user(format!("'{text}' is no range")));
    }
    let is_range = text.contains("..") || text.starts_with('^') || text.ends_with("^!");
    Ok(if is_range { text.to_owned() } else { format!("{text}^!") })
}
