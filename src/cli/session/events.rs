//! What happens in a conversation: start, prompt, stop, end.

use std::{
    ffi::{OsStr, OsString},
    io::Read as _,
    path::Path,
};

use clap::ValueEnum;

use super::{
    super::{Exit, call::Call, output::printable, phrase, review::take_out_queued, save},
    question::ask,
};
use crate::{
    error::{Context as _, Kind, Result},
    model::{overlap::Reason, path_text::shell_word},
    ops::{
        Context,
        sessions::{self, Elsewhere, OnMultisession, Prompted, SessionInfo},
        worktrees,
    },
};

/// The longest prompt that is taken, in bytes.
const LONGEST_PROMPT: u64 = 16 << 20;

/// What the caller reports about a session.
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
pub(super) struct Start {
    /// The session (default: a new id)
    #[arg(value_name = "session")]
    id: Option<String>,
    #[command(flatten)]
    about: About,
    /// The worktree it works in (default: this one)
    #[arg(long, value_name = "worktree")]
    worktree: Option<OsString>,
    /// What to do if another session has uncommitted work: continue or cancel
    #[arg(long, value_name = "what", hide_possible_values = true)]
    on_multisession: Option<Choice>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args, Debug)]
pub(super) struct Prompt {
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
pub(super) struct Leave {
    /// The session
    #[arg(value_name = "session")]
    id: String,
    #[command(flatten)]
    about: About,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// What to do about another session's uncommitted work.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(in crate::cli) enum Choice {
    Continue,
    Cancel,
}

impl Choice {
    /// Returns what it means; without a choice, the user is asked.
    pub(in crate::cli) fn decision(choice: Option<Self>) -> OnMultisession {
        match choice {
            None => OnMultisession::Ask,
            Some(Self::Continue) => OnMultisession::Continue,
            Some(Self::Cancel) => OnMultisession::Cancel,
        }
    }
}

impl About {
    fn info(self, choice: Option<Choice>) -> Result<SessionInfo> {
        let transcript = self.transcript.map(|path| absolute(&path)).transpose()?;
        let on_multisession = Choice::decision(choice);
        Ok(SessionInfo { agent: self.agent, model: self.model, transcript, on_multisession, ..SessionInfo::default() })
    }
}

fn absolute(path: &str) -> Result<String> {
    let absolute = std::path::absolute(path).context(Kind::User, || format!("cannot find '{path}'"))?;
    Ok(absolute.to_string_lossy().into_owned())
}

/// Goes to the root of another worktree of the repository that this process is in, or that `worktree` is a path of, and returns
/// the context there.
fn context_in(worktree: &OsStr, call: &mut Call) -> Result<Context> {
    // Outside of any repository, the path says which one is meant.
    let here = call.context().or_else(|error| Context::open(Path::new(worktree)).map_err(|_| error))?;
    let root = worktrees::find_root(&here, Some(worktree))?.path;
    let what = || format!("cannot change to '{}'", root.display());
    std::env::set_current_dir(&root).context(Kind::User, what)?;
    call.writing_context()
}

impl Start {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let info = self.about.info(self.on_multisession)?;
        let context = match &self.worktree {
            Some(worktree) => context_in(worktree, call)?,
            None => call.writing_context()?,
        };
        let id = self.id.unwrap_or_else(sessions::new_id);
        let started = sessions::start(&context, &id, &info, &mut |question| ask(question, &context, call))?;
        if self.json {
            call.out.json(&started)?;
        } else {
            call.out.line(&printable(&started.session.id))?;
        }
        Ok(Exit::Done)
    }
}

impl Prompt {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let message = match &self.message_file {
            Some(file) => Some(read_message(file)?),
            None => self.message,
        };
        let info = self.about.info(self.on_multisession)?;
        let context = call.writing_context()?;
        sessions::give_way(&context, &self.id)?;
        let prompted = sessions::prompt(&context, &self.id, message.as_deref(), &info, &mut |question| {
            ask(question, &context, call)
        })?;
        if let Some(elsewhere) = &prompted.elsewhere {
            warn_of(elsewhere, call);
        }
        if self.json {
            call.out.json(&prompted)?;
        } else {
            save::warn_of_skipped(&prompted.skipped, call);
            save::warn_of_filters(&prompted.unfiltered, call);
            if prompted.begins {
                call.out.note(&format!("session {} begins", printable(&self.id)))?;
                // A script may give ids that begin alike, so this cannot be an error.
                let known = sessions::asked(&context, &self.id, 2)?;
                if let Some(known) = known.iter().find(|known| known.id != self.id) {
                    let known = shell_word(&known.id);
                    call.out.hint(&format!("to go on with another session, type its whole id: {known}"));
                }
            }
            print_prompted(&prompted, call)?;
        }
        Ok(Exit::Done)
    }
}

/// Says that a turn in another worktree was ended.
pub(super) fn warn_of(elsewhere: &Elsewhere, call: &mut Call) {
    let saved = elsewhere.checkpoint.map(|id| format!("; what it left unsaved is in {}", call.names.id(&id)));
    let worktree = printable(&elsewhere.worktree);
    call.out.warning(&format!(
        "the session had a turn under way in the worktree '{worktree}', which has ended{}",
        saved.unwrap_or_default()
    ));
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
        Reason::NoShadow => "no checkpoint on this commit yet".to_owned(),
        Reason::Overlap => {
            let count = phrase::count(prompted.overlap.len(), "path");
            format!("work continues from the latest checkpoint ({count} in common)")
        }
        Reason::Clean => "the worktree is clean: the first checkpoint sets the earlier ones aside".to_owned(),
        Reason::NoOverlap => "other paths than before: the first checkpoint sets the earlier ones aside".to_owned(),
        Reason::Unreadable => {
            "the earlier checkpoints were broken, and were set aside: the next one begins afresh".to_owned()
        }
    };
    call.out.note(&format!("turn {}: {what}", prompted.session.turn))?;
    if let Some(line) = phrase::taken_up(&prompted.taken_up) {
        call.out.note(&line)?;
    }
    for note in prompted.notes() {
        call.out.note(&printable(note))?;
    }
    Ok(())
}

impl Leave {
    pub(super) fn run(self, is_end: bool, call: &mut Call) -> Result<Exit> {
        let info = self.about.info(None)?;
        let context = call.writing_context()?;
        let id = sessions::named(&context, &self.id)?;
        let stopped = if is_end { sessions::end(&context, &id, &info)? } else { sessions::stop(&context, &id, &info)? };
        take_out_queued(&context, call)?;
        if self.json {
            call.out.json(&stopped)?;
            return Ok(Exit::Done);
        }
        save::warn_of_skipped(&stopped.skipped, call);
        if let Some(saved) = &stopped.checkpoint {
            save::warn_of_filters(&saved.unfiltered, call);
            if let Some(id) = &saved.id {
                let id = call.out.paint(phrase::ID, &call.names.id(id));
                call.out.note(&format!("saved {id}"))?;
            }
        }
        Ok(Exit::Done)
    }
}
