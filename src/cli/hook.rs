//! `git checkpoint hook`: where git's hooks, and agents', call us. They never break what git or the agent is doing.

mod agent;
mod place;
mod stdin;
mod transcript;
mod trouble;

use std::{
    ffi::OsString,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use bstr::ByteSlice as _;
use gix::ObjectId;

use super::{Exit, call::Call, output::printable, session::Choice, settings};
use crate::{
    config,
    error::{Context as _, Error, Kind, Result},
    git::{Repo, hooks::Hook},
    ops::{Context, commit, remotes},
};
use trouble::log;

/// More than this does not come from git.
const LONGEST_INPUT: u64 = 256 << 20;

/// Handle a call by a hook of git or of an agent (called by the hooks that 'enable' installs)
///
/// Exits with 0 whatever happens: a failure is noted, and 'git checkpoint status' shows it. Only an agent that has to be
/// held back is answered in its own way.
#[derive(clap::Args, Debug)]
pub(super) struct HookCommand {
    /// Read an event of the agent <name> as JSON from standard input
    #[arg(long, value_name = "name", conflicts_with = "name")]
    agent: Option<String>,
    /// What to do if another session has uncommitted work: continue or cancel
    #[arg(long, value_name = "what", hide_possible_values = true, requires = "agent")]
    on_multisession: Option<Choice>,
    /// The name of the hook, as in githooks(5)
    #[arg(value_name = "hook", required_unless_present = "agent")]
    name: Option<String>,
    /// What git passes to it
    #[arg(value_name = "args", trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// Returns true if `arguments` are a call by an agent's hook: then no mistake in them may trouble the agent.
pub(super) fn is_agents(arguments: &[OsString]) -> bool {
    let mut words = arguments.iter().skip(1).filter_map(|argument| argument.to_str());
    words.any(|word| word == "hook") && words.any(|word| word == "--agent" || word.starts_with("--agent="))
}

pub(super) use agent::excuse;

impl HookCommand {
    /// Returns the command if git or an agent calls with `arguments` as our hooks do: `hook <name> <args>` or
    /// `hook --agent <name>`, without another option. To describe these to a parser takes a tenth of most hooks' time.
    pub(super) fn from_plain(arguments: &[OsString]) -> Option<Self> {
        let is_word = |word: &&OsString| !word.is_empty() && !word.as_encoded_bytes().starts_with(b"-");
        let [_, command, first, rest @ ..] = arguments else { return None };
        let (agent, name, arguments) = match (first.to_str()?, rest) {
            _ if command != "hook" => return None,
            ("--agent", [agent]) if is_word(&agent) => (Some(agent.to_str()?.to_owned()), None, Vec::new()),
            (name, rest) if Hook::parse(name).is_some() && rest.iter().all(|word| is_word(&word)) => {
                (None, Some(name.to_owned()), rest.to_vec())
            }
            _ => return None,
        };
        Some(Self { agent, on_multisession: None, name, arguments })
    }

    /// Returns true if an agent calls.
    pub(super) fn is_agents(&self) -> bool {
        self.agent.is_some()
    }

    #[expect(clippy::unnecessary_wraps, reason = "all commands have one shape")]
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        if let Some(agent) = &self.agent {
            return Ok(agent::run(agent, Choice::decision(self.on_multisession), call));
        }
        let name = self.name.as_deref().unwrap_or_default();
        let Some(hook) = Hook::parse(name) else {
            call.out.warning(&format!("git-checkpoint has nothing to do in the hook '{name}'"));
            return Ok(Exit::Done);
        };
        if let Err(error) = self.serve(hook, call) {
            note(hook, &error);
        }
        Ok(Exit::Done)
    }

    fn serve(&self, hook: Hook, call: &mut Call) -> Result<()> {
        if hook == Hook::CommitMsg {
            let message_file = self.message_file()?;
            commit::checked(&message_file);
            if !commit::may_have_trailer(&message_file)? {
                return Ok(());
            }
        }
        let repo = Repo::open_from_environment(Path::new("."))?;
        let loaded = config::load_lenient(&settings::sources(Some(&repo)));
        if !loaded.settings.enabled {
            return Ok(());
        }
        let mut context = Context::new(repo, loaded.settings);
        context.repo.describe_operation(format!("hook {}", hook.name()), "hook".to_owned());
        for error in &loaded.errors {
            log(&context, hook.name(), error);
        }
        call.interrupt.listen()?;
        context.interrupt_by(call.interrupt.flag());
        let failure = self.dispatch(hook, &context).err();
        if let Hook::PrepareCommitMsg | Hook::PostCommit = hook
            && let Some(damage) = commit::damage(&context, failure.as_ref(), hook == Hook::PostCommit)
        {
            call.out.warning(&printable(&damage));
            call.out.hint("'git checkpoint doctor' says what can be done");
        }
        if let Some(error) = failure {
            log(&context, hook.name(), &error);
        }
        Ok(())
    }

    fn dispatch(&self, hook: Hook, context: &Context) -> Result<()> {
        match hook {
            Hook::PrepareCommitMsg => commit::prepare(context, &self.message_file()?, self.word(1), self.word(2)),
            Hook::CommitMsg => commit::check_message(context, &self.message_file()?),
            Hook::PostCommit => commit::committed(context),
            Hook::PostRewrite => {
                let pairs = read_pairs(io::stdin().lock())?;
                commit::rewritten(context, self.word(0).unwrap_or("rebase"), &pairs)
            }
            // The last argument is 0 if only files were checked out.
            Hook::PostCheckout if self.word(2) == Some("0") => Ok(()),
            Hook::PostCheckout | Hook::PostMerge => commit::head_moved(context),
            // The third argument is our script's.
            Hook::PrePush => {
                let git = self.word(2).and_then(|pid| pid.parse().ok());
                remotes::begin(context, self.word(0), self.word(1), git)
            }
        }
    }

    fn word(&self, at: usize) -> Option<&str> {
        self.arguments.get(at).and_then(|argument| argument.to_str()).filter(|word| !word.is_empty())
    }

    /// Git names it relative to the directory that it runs hooks in.
    fn message_file(&self) -> Result<PathBuf> {
        let file = self.arguments.first().ok_or_else(|| Error::internal("git named no file with the message"))?;
        std::path::absolute(file).context(Kind::Internal, || "cannot tell the current directory".into())
    }
}

/// Logs `error` of a hook that failed before it had a context, if there is a repository to log it in.
fn note(hook: Hook, error: &Error) {
    let here = Path::new(".");
    if let Ok(repo) = Repo::open_from_environment(here).or_else(|_| Repo::open(here)) {
        log(&Context::new(repo, config::Settings::default()), hook.name(), error);
    }
}

/// Reads lines of an old and a new commit id; what may follow them is git's to extend.
fn read_pairs(input: impl io::Read) -> Result<Vec<(ObjectId, ObjectId)>> {
    let mut text = Vec::new();
    input
        .take(LONGEST_INPUT)
        .read_to_end(&mut text)
        .context(Kind::Internal, || "cannot read the list of rewritten commits".into())?;
    let mut pairs = Vec::new();
    for line in text.lines() {
        let mut ids = line.split(|byte| *byte == b' ').map(ObjectId::from_hex);
        if let (Some(Ok(old)), Some(Ok(new))) = (ids.next(), ids.next()) {
            pairs.push((old, new));
        }
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_read_and_nothing_else() {
        let (one, two) = ("1".repeat(40), "2".repeat(40));
        let text = format!("{one} {two}\n{two} {one} more\n\n{one}\nx y\n");
        let pairs = read_pairs(text.as_bytes()).expect("readable");
        let ids = [&one, &two].map(|id| ObjectId::from_hex(id.as_bytes()).expect("an id"));
        assert_eq!(pairs, [(ids[0], ids[1]), (ids[1], ids[0])]);
    }
}
