//! What became of the rounds of a race.

use std::sync::Arc;

use bstr::BString;
use serde::Serialize;

use super::super::{Exit, call::Call, output::printable, phrase};
use super::{cause::with_cause, end::GONE, tasks::Task};
use crate::{
    error::{Error, Result},
    model::path_text,
    ops::{
        Context,
        rounds::{self, Ended, Race, Started},
        sessions, worktrees,
    },
};

/// What became of one round. Serializes to an entry of `rounds`.
#[derive(Debug, Serialize)]
pub(super) struct Raced {
    /// Which one it is, from 1.
    pub(super) number: usize,
    /// Its id.
    pub(super) round: String,
    /// Its branch.
    pub(super) branch: String,
    /// The agent that works in it; none if that is the program of the command line.
    pub(super) agent: Option<String>,
    /// The commit at which that begins.
    #[serde(skip)]
    pub(super) base: Option<String>,
    /// The exit status of the program as a shell gives it; none if it did not run, or does not end.
    pub(super) status: Option<i32>,
    /// How long it took.
    pub(super) duration_ms: Option<u64>,
    /// What it has printed.
    #[serde(serialize_with = "path_text::serialize_optional")]
    pub(super) log: Option<BString>,
    /// The end of the round; none if the round goes on.
    pub(super) ended: Option<Ended>,
    /// Why it goes on, or why the program could not be started.
    pub(super) message: Option<String>,
    /// What to do about it.
    pub(super) hint: Option<String>,
    /// True while a session stands in for the program.
    #[serde(skip)]
    pub(super) has_session: bool,
}

impl Raced {
    pub(super) fn new(number: usize, started: &Started, task: &Task) -> Self {
        let place = &started.contexts[0];
        Self {
            number,
            round: started.round.clone(),
            branch: place.branch.clone().unwrap_or_default(),
            agent: task.label.clone(),
            base: place.base.clone(),
            status: None,
            duration_ms: None,
            log: None,
            ended: None,
            message: None,
            hint: None,
            has_session: false,
        }
    }

    /// Ends the session that stands in for the program, if its worktree is there.
    pub(super) fn end_session(&mut self, context: &Context) -> Result<()> {
        if !std::mem::take(&mut self.has_session) {
            return Ok(());
        }
        // Also after a signal: what is changed there later may be a person's.
        let mut context = context.with_repo(context.repo.open_worktree(context.repo.worktree_root())?);
        context.interrupt_by(Arc::default());
        match rounds::root_of(&context, &self.round)? {
            Some(root) => sessions::stand_down(&worktrees::context_in(&context, root.as_os_str())?),
            None => Ok(()),
        }
    }

    /// Returns true if the program has succeeded, and the round has ended.
    fn is_done(&self) -> bool {
        self.status == Some(0) && self.ended.is_some()
    }

    pub(super) fn fails(&mut self, error: &Error) {
        self.message = Some(with_cause(error));
        self.hint = error.hint().map(str::to_owned);
    }
}

/// Says what to do next, and returns how the command ends.
pub(super) fn conclude(race: &Race, raced: &[Raced], call: &mut Call) -> Exit {
    let mut said: Vec<(&str, bool)> = Vec::new();
    for it in raced {
        let Some(message) = it.message.as_deref() else { continue };
        let trouble = (message, it.ended.is_some());
        if said.contains(&trouble) {
            continue;
        }
        let rounds: Vec<&str> = raced
            .iter()
            .filter(|it| (it.message.as_deref(), it.ended.is_some()) == (Some(message), trouble.1))
            .map(|it| it.round.as_str())
            .collect();
        let what = match (it.ended.is_some(), rounds.len()) {
            (true, _) => "",
            (false, 1) => " goes on",
            (false, _) => " go on",
        };
        let word = if rounds.len() == 1 { "round" } else { "rounds" };
        call.out.warning(&format!("the {word} {}{what}: {}", rounds.join(", "), printable(message)));
        it.hint.as_deref().into_iter().for_each(|hint| call.out.hint(hint));
        said.push(trouble);
    }
    raced.iter().filter_map(|it| it.ended.as_ref()).for_each(|ended| warn_of(ended, call));
    let group = &race.group;
    if raced.iter().any(|it| it.ended.is_none()) {
        call.out.hint(&format!(
            "'git checkpoint round list --group {group}' shows the rounds that go on; once their programs have ended, \
             'git checkpoint round end --group {group} --branches keep' ends them"
        ));
    } else {
        call.out.hint(&format!("'git checkpoint round compare --group {group}' compares them"));
    }
    if call.interrupt.is_raised() {
        return Exit::Interrupted;
    }
    if raced.iter().all(Raced::is_done) { Exit::Done } else { Exit::No }
}

/// Says what went with the worktrees of a round, and what may be missing on its branches.
fn warn_of(ended: &Ended, call: &mut Call) {
    for place in &ended.contexts {
        let branch = printable(place.branch.as_deref().unwrap_or_default());
        if !place.ignored.is_empty() {
            let count = phrase::count(place.ignored.len(), "ignored path");
            call.out.aside(&format!("{branch}: {count} went with the worktree"));
            if let Some(id) = &place.removed {
                call.out.hint(&format!("'git checkpoint worktree restore {id}' brings the worktree back"));
            }
        }
        if place.gone {
            call.out.warning(&format!("{branch}: {GONE}"));
        }
    }
}

/// Prints where the output of the programs is.
pub(super) fn print_logs(raced: &[Raced], call: &mut Call) -> Result<()> {
    let mut logs = raced.iter().filter_map(|it| Some((it.number, it.log.as_ref()?))).peekable();
    if logs.peek().is_some() {
        call.out.note("what the programs have printed is in")?;
    }
    logs.try_for_each(|(number, log)| call.out.row(&format!("{number:>4}  {}", phrase::quoted(log))))
}
