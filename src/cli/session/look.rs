//! What people ask of sessions: list, show, adopt, forget.

use super::{
    super::{Exit, call::Call, date, date_column::date_column, layout, output::printable, phrase},
    events::warn_of,
};
use crate::{
    error::Result,
    model::{moment, session::Phase},
    ops::sessions::{self, Listed, State},
};

#[derive(clap::Args, Debug)]
pub(super) struct List {
    /// Also sessions that were ended and have nothing uncommitted
    #[arg(long)]
    all: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Show what a session was asked, turn by turn, and the files that it changed
///
/// Each turn begins with its name: 'git checkpoint restore --before <session>@<turn>' goes back to before its prompt.
#[derive(clap::Args, Debug)]
pub(in super::super) struct Named {
    /// The session: an id, an agent's name, or the beginning of an id (default: the last one here)
    #[arg(value_name = "session")]
    id: Option<String>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args, Debug)]
pub(super) struct Forced {
    /// The session: its whole id
    #[arg(value_name = "session")]
    id: String,
    /// Even while it has a turn under way
    #[arg(long)]
    force: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args, Debug)]
pub(super) struct Cwd {
    /// The session: an id, an agent's name, or the beginning of an id (default: the last one here)
    #[arg(value_name = "session")]
    id: Option<String>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

impl Cwd {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.context()?;
        let place = sessions::place(&context, self.id.as_deref())?;
        if self.json {
            call.out.json(&place)?;
        } else {
            // As it is: a shell reads it.
            call.out.bytes(&[place.path.as_slice(), b"\n"].concat())?;
        }
        Ok(Exit::Done)
    }
}

impl List {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.context()?;
        let listed = sessions::list(&context, self.all)?;
        if self.json {
            call.out.json(&serde_json::json!({ "version": 1, "sessions": listed }))?;
            return Ok(Exit::Done);
        }
        call.start_pager(&context)?;
        for session in &listed {
            print_summary(session, session.first_prompt.as_deref(), call)?;
        }
        if listed.is_empty() && !self.all && !sessions::list(&context, true)?.is_empty() {
            call.out.aside("no session is open");
            call.out.hint("'git checkpoint session list --all' shows those that were ended, too");
        } else if listed.is_empty() {
            call.out.aside("no session in this repository yet");
            call.out.hint("'git checkpoint enable --agent <name>' lets an agent report its own");
        }
        Ok(if listed.is_empty() { Exit::No } else { Exit::Done })
    }
}

/// Prints what is known of `session`, with its first `prompt`.
fn print_summary(session: &Listed, prompt: Option<&str>, call: &mut Call) -> Result<()> {
    let state = &session.state;
    let words = phrase::session_state(state.phase, session.life);
    let words = call.out.paint(phrase::MARK, &format!("{words:<15}"));
    let columns = call.out.columns().unwrap_or(usize::MAX);
    let mut parts = vec![call.out.paint(phrase::ID, &phrase::session_id(&state.id, call.out.columns(), STATE + 1))];
    parts.extend(state.agent.as_ref().map(printable));
    let longest = call.out.columns().map_or(usize::MAX, |_| LONGEST_PROMPT);
    parts.extend(prompt.map(|prompt| format!("'{}'", layout::cut(&printable(prompt), longest))));
    parts.push(format!("turn {}", state.turn));
    if session.checkpoints > 0 {
        parts.push(phrase::count(session.checkpoints, "uncommitted checkpoint"));
        parts.push(format!("{} to commit", phrase::count(session.files.len(), "file")));
    }
    let gone = if session.worktree_gone && state.phase != Phase::Ended { " (gone)" } else { "" };
    parts.push(format!("in {}{gone}", printable(&state.worktree)));
    parts.push(when(state.last_seen, call));
    if session.interrupted {
        parts.push("interrupted".to_owned());
    }
    phrase::wrapped(&format!("{words}  "), &parts, STATE, columns).iter().try_for_each(|line| call.out.line(line))
}

/// How many columns of a terminal a prompt takes at most.
const LONGEST_PROMPT: usize = 40;
/// Columns of the state of a session and what is between it and the rest.
const STATE: usize = 17;

fn when(seconds: i64, call: &Call) -> String {
    if call.out.is_terminal() { date::relative(seconds, date::now()) } else { moment::iso(seconds, 0) }
}

impl Named {
    pub(in super::super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.context()?;
        let shown = sessions::show(&context, self.id.as_deref())?;
        if self.json {
            call.out.json(&shown)?;
            return Ok(Exit::Done);
        }
        call.start_pager(&context)?;
        print_summary(&shown.session, None, call)?;
        for turn in &shown.turns {
            let mut prompts = shown.prompts.iter().filter(|prompt| prompt.turn == turn.turn).peekable();
            let name = turn.name.clone().unwrap_or_else(|| format!("turn {}", turn.turn));
            let name = match name.rsplit_once('@') {
                Some((id, turn)) => phrase::turn_name(id, turn, call.out.columns()),
                None => printable(&name),
            };
            let used = layout::width(&name);
            let name = call.out.paint(phrase::ID, &name);
            if prompts.peek().is_none() {
                call.out.line(&name)?;
            }
            for prompt in prompts {
                let first = prompt.text.trim().lines().next().unwrap_or_default();
                let date = date_column((prompt.seconds, 0), date::now(), call);
                let text = call.out.fit(&printable(first), used + layout::width(&date) + 4);
                let date = call.out.paint(phrase::DIM, &date);
                call.out.line(&format!("{name}  {date}  {text}"))?;
            }
            let files = turn.files.iter().map(|path| call.names.path(path));
            for line in call.long_lists().cut_after("\t", files) {
                call.out.line(&line)?;
            }
        }
        Ok(Exit::Done)
    }
}

impl Forced {
    pub(super) fn adopt(self, call: &mut Call) -> Result<Exit> {
        let context = call.writing_context()?;
        let adopted = sessions::adopt(&context, &self.id, self.force)?;
        if let Some(elsewhere) = &adopted.elsewhere {
            warn_of(elsewhere, call);
        }
        if let Some(worktree) = &adopted.unsaved {
            call.out.warning(&format!(
                "the session's turn in the worktree '{}' could not be ended; what it left unsaved there is not known as \
                its work",
                printable(worktree)
            ));
        }
        if self.json {
            call.out.json(&adopted)?;
        } else {
            call.out.note(&format!("{} continues in this worktree", describe(&adopted.session)))?;
        }
        Ok(Exit::Done)
    }

    pub(super) fn forget(self, call: &mut Call) -> Result<Exit> {
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
