//! `round compare`.

use std::cell::RefCell;

use serde::Serialize;
use serde_json::json;

use super::super::{
    Exit,
    awaited::Awaited,
    call::Call,
    external,
    output::printable,
    phrase, tokens,
    worktree::{run_step, set_up_new},
};
use super::cause::with_cause;
use crate::{
    error::{Context as _, Error, Kind, Result},
    model::{exact_text::exact_start, path_text::shell_word, three_way::Meeting},
    ops::{
        Context,
        rounds::{self, Bench, ChangedPath, Entry, SideBySide, Together},
        worktrees::{self, Step},
    },
};

#[derive(clap::Args, Debug)]
#[command(override_usage = "git checkpoint round compare [<option>...] (<round>... | --group <name>)")]
pub(super) struct CompareOf {
    /// The rounds
    #[arg(value_name = "round", required_unless_present = "group")]
    names: Vec<String>,
    /// All rounds of this group
    #[arg(long, value_name = "name", conflicts_with = "names")]
    group: Option<String>,
    /// Run this command of the shell in a worktree of each of them
    #[arg(long, value_name = "command")]
    test: Option<String>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// What became of a test. Serializes to `test` of an entry.
#[derive(Clone, Debug, Default, Serialize)]
struct Tested {
    /// The exit status as a shell gives it; none if it could not run.
    status: Option<i32>,
    /// How long it took.
    duration_ms: Option<u64>,
    /// Why it could not run, or what it has left.
    message: Option<String>,
}

/// All that is printed of a round.
#[derive(Serialize)]
struct Whole<'a> {
    #[serde(flatten)]
    entry: &'a Entry,
    /// None: there was no test to run.
    test: Option<&'a Tested>,
}

impl CompareOf {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.writing_context()?;
        let progress = call.progress("comparing");
        let SideBySide { entries, paths, failed } = rounds::compare(&context, &self.names, self.group.as_deref())?;
        drop(progress);
        let mut tests = Vec::new();
        if let Some(line) = &self.test {
            for entry in &entries {
                tests.push(test(&context, entry, line, call)?);
            }
        }
        let is_whole = failed.is_empty() && tests.iter().all(|test| test.status.is_some());
        let exit = if is_whole { Exit::Done } else { Exit::No };
        let whole: Vec<_> =
            entries.iter().enumerate().map(|(at, entry)| Whole { entry, test: tests.get(at) }).collect();
        if self.json {
            call.out.json(&json!({ "version": 1, "rounds": whole, "paths": paths, "failed": failed }))?;
        } else {
            whole.iter().enumerate().try_for_each(|(at, it)| print(at, it, call))?;
            print_paths(&paths, call)?;
        }
        for it in &failed {
            call.out.warning(&format!("the round {} is not compared: {}", it.round, printable(&it.message)));
            it.hint.as_deref().into_iter().for_each(|hint| call.out.hint(hint));
        }
        for (it, message) in whole.iter().filter_map(|it| Some((it, it.test?.message.as_ref()?))) {
            call.out.warning(&format!("the test of {}: {}", printable(&it.entry.branch), printable(message)));
        }
        if self.json {
            return Ok(exit);
        }
        let mut passing = whole.iter().filter(|it| it.test.is_some_and(|test| test.status == Some(0)));
        let winner = match (passing.next(), passing.next()) {
            (Some(only), None) => shell_word(&only.entry.branch),
            _ => "<round>".to_owned(),
        };
        call.out.hint(&format!("'git checkpoint round apply {winner}' brings the changes of one into this worktree"));
        Ok(exit)
    }
}

/// Runs `line` in a worktree of the round `entry`.
///
/// # Errors
/// If a signal came. What goes wrong otherwise is in the result.
fn test(context: &Context, entry: &Entry, line: &str, call: &mut Call) -> Result<Tested> {
    context.check_interrupt()?;
    call.out.aside(&format!("test of {}: {}", printable(&entry.branch), exact_start(line)));
    let mut tested = Tested::default();
    let bench = match rounds::bench(context, entry) {
        Ok(bench) => bench,
        Err(error) => {
            context.check_interrupt()?;
            return Ok(Tested { message: Some(with_cause(&error)), ..tested });
        }
    };
    if let Err(error) = run(context, entry, &bench, line, &mut tested, call) {
        tested.message = Some(with_cause(&error));
    }
    // The signal was for the test; the worktree is removed all the same.
    let is_interrupted = call.interrupt.is_raised();
    call.interrupt.lower();
    let shared = RefCell::new(&mut *call);
    let cleared = rounds::clear(context, &bench, &mut |step: &Step<'_>| run_step(&mut shared.borrow_mut(), step));
    if let Err(error) = cleared {
        let what = with_cause(&error);
        tested.message = Some(tested.message.map_or_else(|| what.clone(), |message| format!("{message}; {what}")));
    }
    if is_interrupted {
        if let Some(message) = tested.message {
            call.out.warning(&format!("the test of {}: {}", printable(&entry.branch), printable(&message)));
        }
        call.interrupt.raise();
        return Err(Error::user("interrupted"));
    }
    Ok(tested)
}

/// Sets up the worktree, if it was made for the test, and runs `line` in it.
fn run(
    context: &Context,
    entry: &Entry,
    bench: &Bench,
    line: &str,
    tested: &mut Tested,
    call: &mut Call,
) -> Result<()> {
    let Bench { root, made } = bench;
    if made.is_some() && set_up_new(context, root, call)? != Exit::Done {
        return Err(Error::user("its worktree is not set up"));
    }
    let directory = rounds::below(root, &entry.inside)?;
    let mut variables = if made.is_none() && entry.is_in_copy() {
        let (there, found) = worktrees::copy_at(context, root)?;
        worktrees::variables(&there, &found, None)?
    } else {
        worktrees::variables(context, &worktrees::find_root(context, Some(root.as_os_str()))?, None)?
    };
    variables.push(("PWD", Some(directory.clone().into())));
    variables.push(("GIT_CHECKPOINT_ROUND", Some(entry.round.clone().into())));
    call.out.flush()?;
    // While it runs, it decides what Ctrl-C means.
    let listening = call.interrupt.listen_only()?;
    let what = || format!("cannot run it in '{}'", directory.display());
    let child = external::start_line(line, &directory, &variables).context(Kind::User, what)?;
    let mut child = Awaited::new(child);
    let status = child.wait(&call.interrupt, &listening).context(Kind::User, || "it is left alone".into())?;
    (tested.status, tested.duration_ms) = (Some(status), child.milliseconds());
    Ok(())
}

/// Prints a line about a round.
fn print(at: usize, it: &Whole<'_>, call: &mut Call) -> Result<()> {
    let Entry { branch, agent, files, added, deleted, ran, usage, .. } = it.entry;
    let mut line = format!("{:>4}  {}", at + 1, printable(branch));
    line.extend(agent.as_deref().map(|agent| format!("  {}", printable(agent))));
    line.push_str(&format!("  {} (+{added} -{deleted})", phrase::count(*files, "file")));
    let failed = ran.and_then(|ran| ran.status).filter(|status| *status != 0);
    line.extend(failed.map(|status| format!("  exit status {status}")));
    line.extend(ran.and_then(|ran| ran.duration_ms).map(|duration| format!("  in {}", seconds(duration))));
    line.extend(usage.as_ref().map(|it| format!("  {} tokens{}", it.total, tokens::cost(it))));
    if let Some(test) = it.test {
        line.push_str(&match test.status {
            Some(0) => "  test passed".to_owned(),
            Some(status) => format!("  test failed ({status})"),
            None => "  test not run".to_owned(),
        });
        line.extend(test.duration_ms.map(|duration| format!(" in {}", seconds(duration))));
    }
    call.out.row(&line)
}

fn seconds(milliseconds: u64) -> String {
    format!("{}.{} s", milliseconds / 1000, milliseconds % 1000 / 100)
}

/// Prints which rounds have changed each path, and how the changes meet.
fn print_paths(paths: &[ChangedPath], call: &mut Call) -> Result<()> {
    let Some(first) = paths.first() else { return Ok(()) };
    let columns = |cells: Vec<String>| cells.iter().map(|cell| format!("{cell:>4}")).collect::<String>();
    call.out.row("")?;
    call.out.row(&columns((1..=first.changes.len()).map(|number| number.to_string()).collect()))?;
    for it in paths {
        let letter = |status: &Option<_>| status.map_or('-', crate::model::change::Status::letter).to_string();
        let mut line = columns(it.changes.iter().map(letter).collect());
        let path = call.names.path(&it.path);
        line.push_str(&format!("  {}", printable(path)));
        line.push_str(match it.state {
            None | Some(Together::Meeting(Meeting::Clean)) => "",
            Some(Together::Equal) => "  (equal)",
            Some(Together::Meeting(Meeting::Touching)) => "  (touching)",
            Some(Together::Meeting(Meeting::Conflict)) => "  (conflict)",
            Some(Together::Meeting(Meeting::Unknown)) => "  (unknown)",
        });
        call.out.row(&line)?;
    }
    Ok(())
}
