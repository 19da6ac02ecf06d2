//! `git checkpoint review`: a person decides hunk by hunk what of an agent's work stays.

mod ask;
mod input;
mod json;
mod show;

use std::{ffi::OsString, path::PathBuf};

use super::{Exit, call::Call, output::printable, phrase};
use crate::{
    error::Result,
    model::review::State,
    ops::{
        Context,
        review::{self, Choice, Decided, Review, Scope},
    },
};

/// Decide hunk by hunk what of an agent's work stays
///
/// It shows what is not committed as git add -p does, each added line with the mark of who wrote it, and asks. What you reject
/// is taken out of the worktree, which is saved first: 'git checkpoint undo' brings it back.
#[derive(clap::Args, Debug)]
#[command(override_usage = "git checkpoint review [<option>...] [<session>|<commit>|<range>] [-- <pathspec>...]")]
pub(super) struct ReviewCommand {
    /// A session or <session>@<turn>: its uncommitted work; or a commit or range (default: all that is not committed)
    #[arg(value_name = "session|commit|range")]
    target: Option<String>,
    /// Only these paths
    #[arg(last = true, value_name = "pathspec")]
    pathspecs: Vec<OsString>,
    /// Say how far it is reviewed, and ask nothing
    #[arg(long, conflicts_with = "decide")]
    status: bool,
    /// Ask about decided hunks, too
    #[arg(short, long, conflicts_with_all = ["status", "decide"])]
    all: bool,
    /// Take the decisions from a file, - for standard input
    #[arg(long, value_name = "file")]
    decide: Option<PathBuf>,
    /// Print the hunks as JSON, or what was decided
    #[arg(long)]
    json: bool,
}

impl ReviewCommand {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let is_asking = !self.status && !self.json && self.decide.is_none();
        let context = if is_asking || self.decide.is_some() { call.writing_context()? } else { call.context()? };
        if is_asking || self.decide.is_some() {
            // The end of the turn may not have been reported.
            take_out_queued(&context, call)?;
        }
        let pathspecs = Call::pathspecs(&context.repo, &self.pathspecs)?;
        let scope = Scope::find(&context, self.target.as_deref())?;
        let review = review::look(&context, scope, &pathspecs)?;
        if let Some(file) = &self.decide {
            let choices = input::choices(&review, &input::read(file)?)?;
            return self.decide(&context, &review, &choices, call);
        }
        if self.json {
            call.out.json(&json::Shown::of(&review, !self.status))?;
            return Ok(Exit::Done);
        }
        if self.status {
            call.start_pager(&context)?;
            return show::print(&context, &review, call).map(|()| Exit::Done);
        }
        let is_asked = |state: State| self.all || state.is_undecided();
        if !review.hunks().any(|(at, hunk)| is_asked(review.files[at].state(hunk))) {
            show::print_nothing(&review, call)?;
            return Ok(Exit::Done);
        }
        let choices = ask::ask(&context, &review, &is_asked, call)?;
        if choices.is_empty() {
            call.out.note("nothing was decided: nothing was changed")?;
            return Ok(Exit::Done);
        }
        self.decide(&context, &review, &choices, call)
    }

    fn decide(&self, context: &Context, review: &Review, choices: &[Choice], call: &mut Call) -> Result<Exit> {
        let decided = review::decide(context, review, choices)?;
        if self.json {
            call.out.json(&decided)?;
        } else {
            print(&decided, call)?;
        }
        Ok(if decided.left.is_empty() { Exit::Done } else { Exit::No })
    }
}

/// Takes out what was rejected during a turn that has ended, and says so. If that fails, it warns, and the rejections still wait: the
/// command is about something else.
///
/// # Errors
/// If the command was interrupted.
pub(super) fn take_out_queued(context: &Context, call: &mut Call) -> Result<()> {
    match context.emit_failure("review", review::take_out_queued(context)) {
        Ok(Some(done)) if done.rejected > 0 => {
            let changes = phrase::count(done.rejected, "change");
            call.out.aside(&format!("took out {changes} that you rejected during the last turn"));
            call.out.hint("'git checkpoint undo' brings that back");
        }
        Ok(_) => {}
        Err(error) => {
            context.check_interrupt()?;
            let why = error.message();
            call.out.warning(&format!("what you rejected during the last turn is not taken out yet: {why}"));
            call.out.hint("'git checkpoint review' tries again");
        }
    }
    match review::take_left(context) {
        Ok(Some(left)) => {
            call.out.aside(&left);
            call.out.hint("'git checkpoint review' asks about them again");
        }
        Ok(None) => {}
        Err(error) => {
            context.check_interrupt()?;
            call.out.warning(error.message());
        }
    }
    Ok(())
}

/// Prints what became of decisions.
fn print(decided: &Decided, call: &mut Call) -> Result<()> {
    for left in &decided.left {
        let word = call.out.paint(phrase::OLD, "conflict");
        let line = format!("{word} {} ({})", call.names.path(&left.path), printable(left.why.to_string()));
        call.out.line(&line)?;
    }
    let counts = [
        (decided.accepted, "accepted"),
        (decided.rejected, "rejected"),
        (decided.queued, "will reject"),
        (decided.commented, "commented on"),
        (decided.later, "left for later"),
    ];
    let words: Vec<String> = counts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{word} {}", phrase::count(count, "change")))
        .collect();
    if !words.is_empty() {
        call.out.note(&words.join(", "))?;
    }
    if let Some(id) = decided.checkpoint.filter(|_| decided.rejected > 0).map(|id| call.names.id(&id)) {
        call.out.hint(&format!("'git checkpoint undo' brings back what was taken out; {id} has it"));
    }
    if decided.queued > 0 {
        call.out.hint("a turn is under way: what is rejected is taken out when the turn ends");
    }
    if !decided.left.is_empty() {
        call.out.hint("'git checkpoint review' asks about the paths above again");
    }
    Ok(())
}
