//! `round apply`.

use std::ffi::OsString;

use serde_json::json;

use super::super::{
    Exit,
    call::Call,
    output::printable,
    phrase,
    restore::{self as shown, Format},
};
use crate::{
    error::Result,
    model::path_text,
    ops::{
        restore::{self, Restored},
        rounds::{self, Drift, Planned},
    },
};

#[derive(clap::Args, Debug)]
#[command(override_usage = "git checkpoint round apply [<option>...] <round> [--files <pathspec>...]")]
pub(super) struct Apply {
    /// The round
    #[arg(value_name = "round")]
    name: String,
    /// Only the changes of these paths
    #[arg(long, value_name = "pathspec", num_args = 1..)]
    files: Vec<OsString>,
    /// Choose which hunks to apply, as 'git reset --patch' asks
    #[arg(short, long, conflicts_with_all = ["json", "dry_run"])]
    patch: bool,
    /// What to do if files have changed here since the round began (default: fail)
    #[arg(long, value_name = "what")]
    drift: Option<OnDrift>,
    /// Say what would be done, and do nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum OnDrift {
    /// Leave these files as they are
    Skip,
    /// Take them from the round
    Prefer,
    /// Change nothing
    Fail,
}

impl From<OnDrift> for Drift {
    fn from(drift: OnDrift) -> Self {
        match drift {
            OnDrift::Skip => Self::Skip,
            OnDrift::Prefer => Self::Prefer,
            OnDrift::Fail => Self::Fail,
        }
    }
}

impl Apply {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let (context, asking) = if self.patch {
            let (context, asking) = call.asking_context()?;
            (context, Some(asking))
        } else {
            (call.writing_context()?, None)
        };
        let drift = self.drift.map(Drift::from).unwrap_or_default();
        let pathspecs = Call::pathspecs(&context.repo, &self.files)?;
        let planned = rounds::plan(&context, &self.name, &pathspecs, drift)?;
        if planned.is_live {
            call.out.warning(&format!("the round {} goes on: only what is on its branch is applied", planned.round));
        }
        if planned.is_merged {
            call.out.warning(&format!("HEAD has all commits of {} already", printable(&planned.branch)));
            call.out.hint("if they were reverted since, 'git revert' of that commit brings their changes again");
        }
        if drift == Drift::Fail && !planned.drift.is_empty() {
            return refuse(&planned, self.json, self.dry_run, call);
        }
        let mut chosen = None;
        if let Some(asking) = asking {
            let mut say = || call.out.aside(shown::ABOUT_QUESTIONS);
            let answers = restore::choose::choose_hunks(&context, &planned.options(false), asking.ends(), &mut say)?;
            call.interrupt.listen()?;
            drop(asking);
            shown::print_not_offered(&answers, call)?;
            if answers.is_nothing() {
                call.out.note(if answers.is_asked() {
                    "no hunk was chosen: nothing was applied"
                } else {
                    "there is no hunk to choose: nothing was applied"
                })?;
                return Ok(Exit::Done);
            }
            chosen = Some(answers);
        }
        let progress = call.progress("applying the round");
        let restored = rounds::apply(&context, &planned, chosen, self.dry_run)?;
        drop(progress);
        if !self.json {
            print_drift(&planned, drift, call)?;
        }
        let json = object(&planned, Some(&restored), self.dry_run);
        Format::of_json(self.json).print(&restored, &json, &shown::Words::of_restore(), call)
    }
}

/// Says which files have changed here, so that nothing was changed.
fn refuse(planned: &Planned, is_json: bool, dry_run: bool, call: &mut Call) -> Result<Exit> {
    if is_json {
        call.out.json(&object(planned, None, dry_run))?;
    } else {
        print_drift(planned, Drift::Fail, call)?;
    }
    let count = planned.drift.len();
    let verb = if count == 1 { "has" } else { "have" };
    call.out.warning(&format!(
        "nothing was applied: {} {verb} changed here since the round began",
        phrase::count(count, "path")
    ));
    call.out.hint("'--drift skip' leaves these as they are, '--drift prefer' takes those of the round");
    Ok(Exit::No)
}

/// Prints which files have changed here since the round began.
fn print_drift(planned: &Planned, drift: Drift, call: &mut Call) -> Result<()> {
    let what = if drift == Drift::Skip { "left out, changed here" } else { "changed here" };
    planned.drift.iter().try_for_each(|path| call.out.row(&format!("{} ({what})", printable(call.names.path(path)))))
}

fn object(planned: &Planned, restored: Option<&Restored>, dry_run: bool) -> serde_json::Value {
    let drift: Vec<String> = planned.drift.iter().map(|path| path_text::escape(path.as_ref())).collect();
    json!({
        "version": 1,
        "round": planned.round,
        "branch": planned.branch,
        "from": planned.from.to_string(),
        "to": planned.to.to_string(),
        "drift": drift,
        "restored": restored,
        "dry_run": dry_run,
    })
}
