//! `git checkpoint session`: tells of an agent's conversation, event by event, and shows what is known of it.

use std::{
    ffi::OsString,
    io::{BufRead as _, IsTerminal as _, Read as _},
};

use bstr::BString;
use clap::ValueEnum;

use super::{Exit, call::Call, date, output::printable, phrase};
use crate::{
    error::{Context as _, Kind, Result},
    model::{moment, overlap::Reason},
    ops::sessions::{self, Listed, OnMultisession, Other, Prompted, Question, State, Told},
};

/// How many files of a session are named before the rest is counted.
const LISTED: usize = 5;

/// The longest prompt that is taken, in bytes.
const LONGEST_PROMPT: u64 = 16 << 20;

/// Tell of an agent's session, and show what is known of sessions
///
/// For agents and scripts that have no hooks of their own: 'start', 'prompt', 'stop' and 'end' are what happens in a
/// conversation; 'git checkpoint save --session <id>' between prompt and stop takes an agent's checkpoint.
#[derive(clap::Args, Debug)]
pub(super) struct Session {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand, Debug)]
enum Action {
    /// Begin a session, or go on with an old one; prints its id
    Start(Start),
    /// Begin a turn: the user has sent a prompt, and the agent has changed nothing yet
    Prompt(Prompt),
    /// End the turn: what it left unsaved becomes a checkpoint
    Stop(Leave),
    /// End the session
    End(Leave),
    /// List the sessions of all worktrees, latest first
    List(List),
    /// Show a session: where it stands, its files and prompts
    Show(Named),
    /// Let a session go on in this worktree
    Adopt(Forced),
    /// Forget a session; its checkpoints and records stay
    Forget(Forced),
}

/// What is told of a session.
#[derive(clap::Args, Debug)]
struct About {
    /// The agent, for example claude-code
    #[arg(long, value_name = "name")]
    agent: Option<String>,
    /// The model the agent uses
    #[arg(long, value_name = "name")]
    model: Option<String>,
    /// The file that the agent writes the conversation to
    #[arg(long, value_name = "file")]
    transcript: Option<String>,
}

#[derive(clap::Args, Debug)]
struct Start {
    /// The session (default: a new id)
    #[arg(value_name = "session")]
    id: Option<String>,
    #[command(flatten)]
    about: About,
    /// The worktree it works in (default: this one)
    #[arg(long, value_name = "path")]
    worktree: Option<OsString>,
    /// What to do if another session has uncommitted work: continue or cancel
    #[arg(long, value_name = "what", hide_possible_values = true)]
    on_multisession: Option<Choice>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args, Debug)]
struct Prompt {
    /// The session
    #[arg(value_name = "session")]
    id: String,
    /// What the user asked for
    #[arg(short, long, value_name = "text")]
    message: Option<String>,
    /// Read that from <file>, or from standard input if it is '-'
    #[arg(long, value_name = "file", conflicts_with = "message")]
    message_file: Option<OsString>,
    #[command(flatten)]
    about: About,
    /// What to do if another session has uncommitted work: continue or cancel
    #[arg(long, value_name = "what", hide_possible_values = true)]
    on_multisession: Option<Choice>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args, Debug)]
struct Leave {
    /// The session
    #[arg(value_name = "session")]
    id: String,
    #[command(flatten)]
    about: About,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args, Debug)]
struct List {
    /// Also sessions that were ended and have nothing uncommitted
    #[arg(long)]
    all: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args, Debug)]
struct Named {
    /// The session
    #[arg(value_name = "session")]
    id: String,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args, Debug)]
struct Forced {
    /// The session
    #[arg(value_name = "session")]
    id: String,
    /// Even while it has a turn under way
    #[arg(long)]
    force: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// What to do about another session's uncommitted work.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Choice {
    Continue,
    Cancel,
}

impl Session {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        match self.action {
            Action::Start(start) => start.run(call),
            Action::Prompt(prompt) => prompt.run(call),
            Action::Stop(leave) => leave.run(false, call),
            Action::End(leave) => leave.run(true, call),
            Action::List(list) => list.run(call),
            Action::Show(named) => named.run(call),
            Action::Adopt(forced) => forced.adopt(call),
            Action::Forget(forced) => forced.forget(call),
        }
    }
}

impl About {
    fn told(self, choice: Option<Choice>) -> Result<Told> {
        let transcript = self.transcript.map(|path| absolute(&path)).transpose()?;
        let on_multisession = match choice {
            None => OnMultisession::Ask,
            Some(Choice::Continue) => OnMultisession::Continue,
            Some(Choice::Cancel) => OnMultisession::Cancel,
        };
        Ok(Told { agent: self.agent, model: self.model, transcript, on_multisession })
    }
}

fn absolute(path: &str) -> Result<String> {
    let absolute = std::path::absolute(path).context(Kind::User, || format!("cannot find '{path}'"))?;
    Ok(absolute.to_string_lossy().into_owned())
}

impl Start {
    fn run(self, call: &mut Call) -> Result<Exit> {
        let told = self.about.told(self.on_multisession)?;
        if let Some(worktree) = &self.worktree {
            std::env::set_current_dir(worktree)
                .context(Kind::User, || format!("cannot change to '{}'", worktree.display()))?;
        }
        let context = call.writing_context()?;
        let id = self.id.unwrap_or_else(sessions::new_id);
        let started = sessions::start(&context, &id, &told, &mut |question| ask(question, call))?;
        if self.json {
            call.out.json(&started)?;
        } else {
            call.out.line(&printable(&started.session.id))?;
        }
        Ok(Exit::Done)
    }
}

impl Prompt {
    fn run(self, call: &mut Call) -> Result<Exit> {
        let message = match &self.message_file {
            Some(file) => Some(read_message(file)?),
            None => self.message,
        };
        let told = self.about.told(self.on_multisession)?;
        let context = call.writing_context()?;
        let prompted =
            sessions::prompt(&context, &self.id, message.as_deref(), &told, &mut |question| ask(question, call))?;
        if self.json {
            call.out.json(&prompted)?;
        } else {
            print_prompted(&prompted, call)?;
        }
        Ok(Exit::Done)
    }
}

fn read_message(file: &OsString) -> Result<String> {
    let what = || format!("cannot read the prompt in '{}'", file.display());
    let mut bytes = Vec::new();
    if file == "-" {
        std::io::stdin().take(LONGEST_PROMPT).read_to_end(&mut bytes).context(Kind::User, what)?;
    } else {
        let file = std::fs::File::open(file).context(Kind::User, what)?;
        file.take(LONGEST_PROMPT).read_to_end(&mut bytes).context(Kind::User, what)?;
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn print_prompted(prompted: &Prompted, call: &mut Call) -> Result<()> {
    let what = match prompted.reason {
        Reason::NoShadow => "the first checkpoint begins a shadow".to_owned(),
        Reason::Overlap => {
            let count = phrase::count(prompted.overlap.len(), "path");
            format!("work goes on where the latest checkpoint ends ({count} in common)")
        }
        Reason::Clean => "the worktree is clean: the first checkpoint sets the shadow aside".to_owned(),
        Reason::NoOverlap => "other paths than before: the first checkpoint sets the shadow aside".to_owned(),
        Reason::Unreadable => "the shadow is broken: the first checkpoint sets it aside".to_owned(),
    };
    call.out.note(&format!("turn {}: {what}", prompted.session.turn))?;
    if !prompted.taken_up.is_empty() {
        call.out.note(&format!("taken up again: {}", names(&prompted.taken_up)))?;
    }
    if !prompted.stashed.is_empty() {
        let names = names(&prompted.stashed);
        call.out.note(&format!("the stash holds work of {names}, which stays known and is taken up again with it"))?;
    }
    Ok(())
}

fn names(ids: &[String]) -> String {
    ids.iter().map(printable).collect::<Vec<_>>().join(", ")
}

impl Leave {
    fn run(self, is_end: bool, call: &mut Call) -> Result<Exit> {
        let told = self.about.told(None)?;
        let context = call.writing_context()?;
        let stopped =
            if is_end { sessions::end(&context, &self.id, &told)? } else { sessions::stop(&context, &self.id, &told)? };
        if self.json {
            call.out.json(&stopped)?;
        } else if let Some(id) = stopped.checkpoint.as_ref().and_then(|saved| saved.id) {
            let id = call.out.paint(phrase::ID, &phrase::short(&id));
            call.out.note(&format!("saved {id}"))?;
        }
        Ok(Exit::Done)
    }
}

impl List {
    fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.context()?;
        let listed = sessions::list(&context, self.all)?;
        if self.json {
            call.out.json(&serde_json::json!({ "version": 1, "sessions": listed }))?;
            return Ok(Exit::Done);
        }
        call.start_pager(&context)?;
        for session in &listed {
            let line = summary(session, call);
            call.out.line(&line)?;
        }
        Ok(if listed.is_empty() { Exit::No } else { Exit::Done })
    }
}

fn summary(session: &Listed, call: &Call) -> String {
    let state = &session.state;
    let phase = call.out.paint(phrase::MARK, &format!("{:<6}", state.phase.as_str()));
    let mut parts = vec![call.out.paint(phrase::ID, &printable(&state.id))];
    parts.extend(state.agent.as_ref().map(printable));
    parts.push(format!("turn {}", state.turn));
    parts.push(phrase::count(session.checkpoints, "uncommitted checkpoint"));
    parts.push(phrase::count(session.files.len(), "file"));
    parts.push(format!("in {}", printable(&state.worktree)));
    parts.push(when(state.last_seen, call));
    format!("{phase}  {}", parts.join(", "))
}

fn when(seconds: i64, call: &Call) -> String {
    if call.out.is_terminal() { date::relative(seconds, date::now()) } else { moment::iso(seconds, 0) }
}

impl Named {
    fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.context()?;
        let shown = sessions::show(&context, &self.id)?;
        if self.json {
            call.out.json(&shown)?;
            return Ok(Exit::Done);
        }
        let line = summary(&shown.session, call);
        call.out.line(&line)?;
        for prompt in &shown.prompts {
            let first = prompt.text.trim().lines().next().unwrap_or_default();
            let date = call.out.paint(phrase::DIM, &when(prompt.seconds, call));
            call.out.line(&format!("    turn {}  {date}  {}", prompt.turn, printable(first)))?;
        }
        for path in &shown.session.files {
            call.out.line(&format!("\t{}", phrase::quoted(path)))?;
        }
        Ok(Exit::Done)
    }
}

impl Forced {
    fn adopt(self, call: &mut Call) -> Result<Exit> {
        let context = call.writing_context()?;
        let adopted = sessions::adopt(&context, &self.id, self.force)?;
        if self.json {
            call.out.json(&adopted)?;
        } else {
            call.out.note(&format!("{} goes on in this worktree", describe(&adopted.session)))?;
        }
        Ok(Exit::Done)
    }

    fn forget(self, call: &mut Call) -> Result<Exit> {
        let context = call.writing_context()?;
        let forgotten = sessions::forget(&context, &self.id, self.force)?;
        if self.json {
            call.out.json(&forgotten)?;
        } else {
            call.out.note(&format!("forgot {}", printable(&forgotten.id)))?;
        }
        Ok(Exit::Done)
    }
}

fn describe(state: &State) -> String {
    let agent = state.agent.as_ref().map(|agent| format!(" ({})", printable(agent))).unwrap_or_default();
    format!("session {}{agent}", printable(&state.id))
}

/// Shows whose uncommitted work a session would join, and asks on a terminal; elsewhere the answer is no.
fn ask(question: &Question, call: &mut Call) -> Result<bool> {
    let text = warning_text(&question.others, date::now());
    call.out.flush()?;
    call.out.stderr(&text);
    let stdin = std::io::stdin();
    if !stdin.is_terminal() || !std::io::stderr().is_terminal() {
        return Ok(false);
    }
    call.out.stderr("Continue? [y/N] ");
    let mut answer = String::new();
    stdin.lock().read_line(&mut answer).context(Kind::User, || "cannot read the answer".into())?;
    Ok(["y", "yes", "continue"].contains(&answer.trim().to_lowercase().as_str()))
}

/// Returns the warning as people read it, `now` being the time in Unix seconds.
fn warning_text(others: &[Other], now: i64) -> String {
    let mut text = "warning: an existing session has uncommitted work on this base\n".to_owned();
    for other in others {
        let agent = printable(other.agent.as_deref().unwrap_or("agent"));
        let idle = phrase::count(usize::try_from((now - other.last_seen).max(0) / 60).unwrap_or(0), "minute");
        text.push_str(&format!("\n  session      {} ({agent}, idle {idle})\n", printable(&other.id)));
        text.push_str(&format!("  checkpoints  {} uncommitted\n", other.checkpoints));
        text.push_str(&format!("  files        {}\n", files(&other.files)));
    }
    text.push_str(
        "\nStarting a new session merges with it:\n\
         \x20 - if files overlap, the work continues on the same shadow\n\
         \x20 - if not, the shadow is reset and the old one archived ('git checkpoint list --archived')\n",
    );
    text
}

fn files(files: &[BString]) -> String {
    let mut named: Vec<String> = files.iter().take(LISTED).map(phrase::quoted).collect();
    if files.len() > LISTED {
        named.push(format!("and {} more", files.len() - LISTED));
    }
    named.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_warning_names_at_most_five_files() {
        let other = Other {
            id: "2026-01-31-abc123".into(),
            agent: Some("claude-code".into()),
            last_seen: 0,
            checkpoints: 3,
            files: (1..=7).map(|number| format!("src/{number}.rs").into()).collect(),
        };
        let expected = "warning: an existing session has uncommitted work on this base

  session      2026-01-31-abc123 (claude-code, idle 12 minutes)
  checkpoints  3 uncommitted
  files        src/1.rs, src/2.rs, src/3.rs, src/4.rs, src/5.rs, and 2 more

Starting a new session merges with it:
  - if files overlap, the work continues on the same shadow
  - if not, the shadow is reset and the old one archived ('git checkpoint list --archived')
";
        assert_eq!(warning_text(&[other], 12 * 60 + 5), expected);
    }
}
