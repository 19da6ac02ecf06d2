//! `git checkpoint doctor`: what is not as it should be, and how to mend it.

pub(super) mod agents;

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Exit, agent_files::Places, call::Call, output::printable, phrase, settings};
use crate::{
    config::{self, Layer},
    error::Result,
    ops::{
        Context,
        doctor::{self, Diagnosis, Options, Problem, Severity},
        hooks::{self, Action},
    },
};
use agents::Listed;

/// How many problems of a kind people see.
const SHOWN: usize = 10;

/// Check refs, records, commits, hooks and agents, and mend what can be mended
///
/// Runs the commands in the agents' settings as the agents would, with an event that has no effect. The exit status is
/// 1 if a problem is left.
#[derive(clap::Args, Debug)]
pub(super) struct Doctor {
    /// Mend what can be mended
    #[arg(long)]
    fix: bool,
    /// Find commits of records again, after tools that run no hook rewrote them
    #[arg(long)]
    relink: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// All that `doctor --json` prints.
#[derive(Serialize)]
struct Whole<'a> {
    #[serde(flatten)]
    diagnosis: &'a Diagnosis,
    agents: &'a [Listed],
}

impl Doctor {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.writing_context()?;
        let places = Places::new(&context)?;
        if let Some(diagnosis) = doctor::in_the_way(&context) {
            return self.tell(&diagnosis, &[], call);
        }
        let progress = call.progress("looking at commits and records");
        let mut diagnosis = doctor::doctor(&context, Options { fix: self.fix, relink: self.relink })?;
        if self.fix {
            mend_hooks(&context, &places, &mut diagnosis)?;
        }
        diagnosis.problems.extend(settings_left(&context, self.fix));
        let enabled = places.enabled(&context)?;
        diagnosis.problems.extend(agents::check(&context, &places, &enabled, self.fix)?);
        drop(progress);
        self.tell(&diagnosis, &Listed::all(&enabled), call)
    }

    fn tell(self, diagnosis: &Diagnosis, agents: &[Listed], call: &mut Call) -> Result<Exit> {
        if self.json {
            call.out.json(&Whole { diagnosis, agents })?;
        } else {
            print(diagnosis, call)?;
            if !agents.is_empty() {
                call.out.note(&format!("agents: {}", Listed::lines(agents, call).join(", ")))?;
            }
        }
        Ok(if diagnosis.is_sound() { Exit::Done } else { Exit::No })
    }
}

/// Returns temporary files left by processes that were killed while they changed settings.
fn settings_left(context: &Context, fix: bool) -> Vec<Problem> {
    let sources = settings::sources(Some(&context.repo));
    let layers = [Layer::User, Layer::Project, Layer::Local];
    let directories = layers.into_iter().filter_map(|layer| sources.file(layer)?.parent());
    let found = directories.flat_map(|directory| config::leftovers(directory, fix));
    let problem = |(path, removed): (std::path::PathBuf, std::io::Result<()>)| {
        let message = "a git-checkpoint that was killed while it wrote settings has left this file";
        let hint = "'git checkpoint doctor --fix' removes it, and so does the next change of settings there";
        let mut problem = Problem::new("settings-left", path.display().to_string(), message).note().hint(hint);
        match removed {
            Ok(()) => problem.fixed = fix,
            Err(error) => problem.message = format!("{message}, and it cannot be removed: {error}"),
        }
        problem
    };
    found.map(problem).collect()
}

/// Installs git's hooks again, if some were enabled and are missing. Leaves foreign files alone.
fn mend_hooks(context: &Context, places: &Places, diagnosis: &mut Diagnosis) -> Result<()> {
    let is_hook = |problem: &&mut Problem| problem.code == "hook-missing";
    if diagnosis.problems.iter_mut().filter(is_hook).count() == 0 {
        return Ok(());
    }
    let program = places.program.clone();
    let done = hooks::enable(context, &hooks::Options { program, hook_manager: false, dry_run: false })?;
    for problem in diagnosis.problems.iter_mut().filter(is_hook) {
        let hook = done.hooks.iter().find(|hook| hook.name == problem.subject);
        problem.fixed = hook.is_some_and(|hook| matches!(hook.action, Action::Installed | Action::Updated));
    }
    Ok(())
}

fn print(diagnosis: &Diagnosis, call: &mut Call) -> Result<()> {
    let mut shown: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, problem) in diagnosis.problems.iter().enumerate() {
        let count = shown.entry(problem.code).or_default();
        *count += 1;
        if *count <= SHOWN {
            let next = diagnosis.problems[at + 1..].iter().filter(|other| other.code == problem.code);
            let is_said_later = next.take(SHOWN - *count).any(|other| !other.fixed && advice(other) == advice(problem));
            print_problem(problem, is_said_later, call)?;
        }
    }
    for (code, count) in shown.into_iter().filter(|(_, count)| *count > SHOWN) {
        call.out.line(&format!("and {} more of {code}; '--json' lists all", count - SHOWN))?;
    }
    for relinked in diagnosis.relinked.iter().take(SHOWN) {
        let (record, commit) = (relinked.record, call.names.id(&relinked.commit));
        call.out.line(&format!("linked {commit} to record {record} again (by its {})", relinked.by))?;
    }
    if diagnosis.relinked.len() > SHOWN {
        call.out.line(&format!("and {} more", diagnosis.relinked.len() - SHOWN))?;
    }
    let looked =
        format!("{}, {}", phrase::count(diagnosis.commits, "commit"), phrase::count(diagnosis.records, "record"));
    let open = diagnosis.problems.iter().filter(|problem| !problem.fixed && problem.severity == Severity::Problem);
    match open.count() {
        0 => call.out.note(&format!("looked at {looked}: no problems found")),
        count => call.out.note(&format!("looked at {looked}: {}", phrase::count(count, "problem"))),
    }
}

/// Returns what to do, whatever it is about.
fn advice(problem: &Problem) -> Option<String> {
    problem.hint.as_ref().map(|hint| hint.replace(&problem.subject, ""))
}

/// Prints `problem`, without its hint if the same hint follows with a later problem.
fn print_problem(problem: &Problem, is_said_later: bool, call: &mut Call) -> Result<()> {
    let word = match (problem.fixed, problem.severity) {
        (true, _) => call.out.paint(phrase::NEW, "fixed"),
        (_, Severity::Problem) => call.out.paint(phrase::OLD, "problem"),
        (_, Severity::Note) => call.out.paint(phrase::DIM, "note"),
    };
    call.out.prose(&format!("{word}: {}: {}", printable(&problem.subject), printable(&problem.message)))?;
    match &problem.hint {
        Some(hint) if !is_said_later && !problem.fixed => call.out.prose(&format!("    {}", printable(hint))),
        _ => Ok(()),
    }
}
