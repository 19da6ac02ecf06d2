//! `round race`.

use std::{cell::RefCell, ffi::OsString, path::PathBuf, sync::atomic::Ordering, time::Duration};

use bstr::ByteSlice as _;

use super::super::{
    Exit,
    awaited::{Awaited, LONGEST_PAUSE},
    call::Call,
    external,
    interrupt::Listening,
    output::printable,
    phrase,
    worktree::{run_step, set_up_new},
};
use super::{
    raced::{Raced, conclude, print_logs},
    tasks::{self, Task},
};
use crate::{
    error::{Error, Result},
    ops::{
        Context,
        rounds::{self, EndOptions, Race, RaceOptions, Ran, ShownPlace, Started, Summary},
        sessions,
        worktrees::{self, Step},
    },
};

#[derive(clap::Args, Debug)]
#[command(override_usage = "git checkpoint round race --count <n> [<option>...] -- <program> [<argument>...]\n       \
                      git checkpoint round race --agents <agent>... [<option>...] -- <prompt>")]
pub(super) struct RaceOf {
    /// How many rounds (with --agents, default: one for each of them)
    #[arg(long, value_name = "n", value_parser = clap::value_parser!(u8).range(1..=99), required_unless_present = "agents")]
    count: Option<u8>,
    /// The agents that try it, in turn: the words after '--' are their prompt
    #[arg(long, value_name = "agent", num_args = 1.., value_parser = tasks::names())]
    agents: Vec<String>,
    /// What you call the race (default: 'race-' and random digits)
    #[arg(long, value_name = "name")]
    group: Option<String>,
    /// Where the branches begin (default: HEAD)
    #[arg(long, value_name = "from")]
    base: Option<String>,
    /// The directory to work on (default: the current one)
    #[arg(long, value_name = "dir")]
    context: Option<PathBuf>,
    /// How many programs run at the same time (default: all)
    #[arg(long, value_name = "n", value_parser = clap::value_parser!(u8).range(1..))]
    jobs: Option<u8>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    /// The program with its arguments, or the prompt; no shell runs it
    #[arg(last = true, value_name = "program", required = true)]
    program: Vec<OsString>,
}

/// Programs that run.
struct Running {
    at: usize,
    child: Awaited,
}

impl RaceOf {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let tasks = tasks::tasks(&self.agents, self.count, &self.program)?;
        let context = call.writing_context()?;
        let options = RaceOptions {
            directory: self.context.clone().unwrap_or_else(|| ".".into()),
            group: self.group.clone(),
            base: self.base.clone(),
            agents: tasks.iter().map(|task| task.label.clone()).collect(),
        };
        let progress = call.progress("beginning the rounds");
        let race = rounds::begin_race(&context, &options)?;
        drop(progress);
        if !self.json {
            let count = phrase::count(race.rounds.len(), "round");
            let said = call.out.note(&format!("race {} of {count}", printable(&race.group)));
            said.and_then(|()| call.out.flush()).map_err(|error| rounds::take_back(&context, &race, error))?;
        }
        // While programs run, they decide what Ctrl-C means.
        let listening = call.interrupt.listen_only().map_err(|error| rounds::take_back(&context, &race, error))?;
        let mut said = Ok(());
        let raced = self.race(&context, &race, &tasks, &listening, call, &mut said);
        drop(listening);
        if self.json {
            said = call.out.json(&serde_json::json!({ "version": 1, "group": race.group, "rounds": raced }));
        } else {
            said = said.and_then(|()| print_logs(&raced, call));
        }
        let exit = conclude(&race, &raced, call);
        // Also if nothing can be printed, what goes on is named.
        said.map(|()| exit)
    }

    /// Runs the programs, and ends the round of each that has ended. `said` is the first error of printing that: no program is left
    /// alone because of it.
    fn race(
        &self,
        context: &Context,
        race: &Race,
        tasks: &[Task],
        listening: &Listening,
        call: &mut Call,
        said: &mut Result<()>,
    ) -> Vec<Raced> {
        let mut say = |printed: Result<()>| {
            if said.is_ok() {
                *said = printed;
            }
        };
        let mut all: Vec<Raced> =
            race.rounds.iter().enumerate().map(|(at, it)| Raced::new(at + 1, it, &tasks[at])).collect();
        let most = self.jobs.map_or(all.len(), usize::from);
        let (mut next, mut running): (usize, Vec<Running>) = (0, Vec::new());
        while !running.is_empty() || (next < all.len() && !call.interrupt.is_raised()) {
            while running.len() < most && next < all.len() && !call.interrupt.is_raised() {
                match start(context, &race.rounds[next], &tasks[next], &mut all[next], call) {
                    Ok(Some(child)) => {
                        running.push(Running { at: next, child });
                    }
                    Ok(None) => say(self.finish(context, &mut all[next], call)),
                    Err(error) => {
                        all[next].fails(&error);
                        say(self.print(context, &all[next], call));
                    }
                }
                next += 1;
            }
            let came = listening.came().swap(false, Ordering::Relaxed);
            let (mut still, mut ended) = (Vec::new(), Vec::new());
            for mut it in running {
                let raced = &mut all[it.at];
                match it.child.look(&call.interrupt, listening, came) {
                    Ok(None) => still.push(it),
                    Ok(status) => {
                        raced.status = status;
                        raced.duration_ms = it.child.milliseconds();
                        ended.push(it.at);
                    }
                    Err(cause) => raced.message = Some(cause.to_string()),
                }
            }
            for at in ended {
                say(self.finish(context, &mut all[at], call));
            }
            running = still;
            std::thread::sleep(if running.is_empty() { Duration::ZERO } else { LONGEST_PAUSE });
        }
        // The rounds of the others go on. What is changed there from now on may be the user's.
        for raced in &mut all {
            if let Err(error) = raced.end_session(context)
                && raced.message.is_none()
            {
                raced.fails(&error);
            }
        }
        all
    }

    /// Notes how the program of `raced` has ended, ends the round, unless a signal came, and prints that.
    fn finish(&self, context: &Context, raced: &mut Raced, call: &mut Call) -> Result<()> {
        let Raced { number, status, duration_ms, .. } = *raced;
        let noted = rounds::note(context, &raced.round, Ran { number, status, duration_ms });
        // If the session is gone, the round ends all the same. If its turn is under way, the end refuses.
        if let Err(error) = raced.end_session(context) {
            raced.fails(&error);
        }
        let shared = RefCell::new(&mut *call);
        let mut run = |step: &Step<'_>| run_step(&mut shared.borrow_mut(), step);
        let ended = noted.and_then(|()| rounds::end(context, &raced.round, &EndOptions::default(), &mut run));
        match ended {
            Ok(ended) => raced.ended = Some(ended),
            Err(error) => raced.fails(&error),
        }
        self.print(context, raced, call)
    }

    /// Prints a line about a round.
    fn print(&self, context: &Context, raced: &Raced, call: &mut Call) -> Result<()> {
        if self.json {
            return Ok(());
        }
        let mut line = format!("{:>4}  {}", raced.number, printable(&raced.branch));
        line.extend(raced.agent.as_deref().map(|agent| format!("  {}", printable(agent))));
        if let Some(ended) = &raced.ended {
            let summary = rounds::summary(context, raced.base.as_deref(), &raced.branch);
            let Summary { files, added, removed } = summary.unwrap_or_default();
            line.push_str(&format!("  {} (+{added} -{removed})", phrase::count(files, "file")));
            if ended.contexts.iter().any(|place| place.gone) {
                line.push_str("  worktree gone");
            }
        } else {
            line.push_str("  goes on");
        }
        if let Some(status) = raced.status.filter(|status| *status != 0) {
            line.push_str(&format!("  exit status {status}"));
        }
        call.out.row(&line)?;
        call.out.flush()
    }
}

/// Starts the program in the worktree of `started`. None if it cannot be started.
///
/// # Errors
/// If the worktree is not set up, or its log cannot be made: the round goes on.
fn start(
    context: &Context,
    started: &Started,
    task: &Task,
    raced: &mut Raced,
    call: &mut Call,
) -> Result<Option<Awaited>> {
    let ShownPlace { path: Some(path), directory: Some(directory), .. } = &started.contexts[0] else {
        return Err(Error::internal("a round has no worktree"));
    };
    let path = path.to_path_lossy();
    if set_up_new(context, &path, call)? != Exit::Done {
        return Err(Error::user("its worktree is not set up"));
    }
    let directory = rounds::below(&path, &directory.to_path_lossy())?;
    let found = worktrees::find_root(context, Some(path.as_os_str()))?;
    let mut variables = worktrees::variables(context, &found, None)?;
    variables.push(("PWD", Some(directory.as_os_str().to_owned())));
    variables.push(("GIT_CHECKPOINT_ROUND", Some(raced.round.clone().into())));
    variables.push(("GIT_CHECKPOINT_NUMBER", Some(raced.number.to_string().into())));
    variables.push(("GIT_CHECKPOINT_SESSION", Some(rounds::stand_in_of(&raced.round).into())));
    let (file, log) = rounds::make_log(context, &raced.round)?;
    raced.log = Some(log);
    let Some((program, arguments)) = task.words.split_first() else {
        return Err(Error::internal("there is no program"));
    };
    let there = worktrees::context_in(context, path.as_os_str())?;
    sessions::stand_in(&there, &task.agent, &task.prompt)?;
    raced.has_session = true;
    let output = file.try_clone().map(|errors| (file.into(), errors.into()));
    match output.and_then(|output| external::start_apart(program, arguments, &directory, &variables, output)) {
        Ok(child) => Ok(Some(Awaited::new(child))),
        Err(cause) => {
            raced.status = Some(if cause.kind() == std::io::ErrorKind::NotFound { 127 } else { 126 });
            raced.message = Some(format!("cannot run '{}': {cause}", program.display()));
            Ok(None)
        }
    }
}
