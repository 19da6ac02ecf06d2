//! `git checkpoint hook --agent`: the command that agents run. No error here may reach the agent.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    time::Duration,
};

use super::{
    super::{Exit, call::Call, date, environment, session::warning_text, settings},
    place::{self, Place},
    stdin, transcript,
    trouble::log,
};
use crate::{
    agent::{
        self, Reply,
        dialect::{self, Dialect, Environment},
        dialects,
        event::{self, Event, Moment},
    },
    config,
    error::{Error, Kind, Result},
    git::Repo,
    ops::{
        Context,
        agents::{self, Answer, Message, Reach, Report, Tool, What, home::parts},
        review,
        sessions::{self, OnMultisession, SessionInfo},
    },
};

/// An agent waits for us, and has other things to do.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// Follows the question, where only another prompt can answer it.
const HOW_TO_GO_ON: &str = "\nSend the prompt again to continue.\n";

/// Handles the event on standard input, and prints the reply that the agent called `name` expects.
pub(super) fn run(name: &str, on_multisession: OnMultisession, call: &mut Call) -> Exit {
    // The text of a panic would be shown to the user, and its exit code denies tools.
    std::panic::set_hook(Box::new(|_| {}));
    let reply = catch_unwind(AssertUnwindSafe(|| serve(name, on_multisession, call))).unwrap_or_else(|_| {
        note(Path::new("."), name, &Error::internal("a bug stopped the hook of an agent"));
        allowed(dialects::named(name), Moment::Ignore)
    });
    // An agent that has closed the pipe wants no answer.
    drop(call.out.text(&reply.stdout));
    if !reply.stderr.is_empty() {
        call.out.stderr(&reply.stderr);
    }
    if reply.code == 0 { Exit::Done } else { Exit::Denied }
}

/// Notes that a command line with `--agent` makes no sense, which is nothing to trouble the agent with.
pub(in crate::cli) fn excuse(message: &str) {
    // An agent may fail that cannot write what it has to say.
    drop(stdin::read());
    note(Path::new("."), "agent", &Error::user(message.lines().next().unwrap_or_default().to_owned()));
}

fn allowed(dialect: Option<&'static Dialect>, moment: Moment) -> Reply {
    dialect.map(|dialect| dialect.allow(moment)).unwrap_or_default()
}

fn serve(name: &str, on_multisession: OnMultisession, call: &mut Call) -> Reply {
    let named = dialects::named(name);
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    let environment: Environment = environment::all().filter_map(text).collect();
    let read = agent::read(&stdin::read(), &environment, named);
    if named.is_none() {
        note(Path::new("."), "agent", &Error::user("'--agent' names an unknown agent"));
    }
    let (event, dialect) = match read {
        Ok(read) => read,
        Err(error) => {
            note(Path::new("."), named.map_or("agent", |dialect| dialect.name), &error);
            return allowed(named, Moment::Ignore);
        }
    };
    if event.moment == Moment::Ignore {
        return dialect.allow(event.moment);
    }
    let cwd = match &event.cwd {
        Some(cwd) => PathBuf::from(cwd),
        None => std::env::current_dir().unwrap_or_default(),
    };
    let heard = Heard { event: &event, dialect, environment: &environment, on_multisession };
    let whole = report(&event, dialect, &cwd);
    match place::of(&event, dialect, &cwd, &environment) {
        Place::Nowhere => dialect.allow(event.moment),
        Place::One(repo) => heard.handled(*repo, whole, call).1,
        Place::Both(home, here) => {
            let (part, rest) = parts(&home, &here, &whole);
            let (home_answer, home_reply) = heard.handled(*home, part, call);
            // What is held back does not happen here either.
            if matches!(home_answer, Answer::Deny(_)) && event.moment.is_blockable() {
                return home_reply;
            }
            let (answer, reply) = heard.handled(*here, rest, call);
            if matches!(answer, Answer::Allow) { home_reply } else { reply }
        }
    }
}

/// An event, and who reports it.
struct Heard<'e> {
    event: &'e Event,
    dialect: &'static Dialect,
    environment: &'e Environment,
    on_multisession: OnMultisession,
}

/// Returns the reply that passes `answer` on to the agent. Keeps a warning that the agent cannot show now.
fn reply(
    answer: &Answer,
    event: &Event,
    dialect: &Dialect,
    on_multisession: OnMultisession,
    context: &Context,
) -> Reply {
    let moment = event.moment;
    let (message, text, reply) = match answer {
        Answer::Allow => return dialect.allow(moment),
        Answer::Warn(message) => {
            let text = said(message, dialect, false);
            let reply = dialect.warn(moment, &text);
            (message, text, reply)
        }
        Answer::Ask(message) => {
            let text = said(message, dialect, false);
            let reply = dialect.ask(moment, &text).unwrap_or_else(|| dialect.warn(moment, &text));
            (message, text, reply)
        }
        Answer::Deny(message) => {
            let is_asked = on_multisession == OnMultisession::Ask && moment == Moment::Prompt;
            let text = said(message, dialect, is_asked);
            let reply = dialect.deny(moment, &text);
            (message, text, reply)
        }
    };
    if !dialect.shows(moment) && reply == dialect.warn(moment, &text) {
        // The reply has to go out all the same.
        drop(context.emit_failure("hook", agents::keep_unsaid(context, &event.session, text)));
    }
    detailed(reply, dialect, message)
}

/// Adds the verdict as values to a reply in the neutral protocol.
fn detailed(reply: Reply, dialect: &Dialect, message: &Message) -> Reply {
    match message {
        Message::Guard(verdict) if dialect.name == dialect::NEUTRAL => match serde_json::to_value(verdict) {
            Ok(value) => reply.with("guard", value),
            Err(_) => reply,
        },
        Message::Guard(_) | Message::Others(..) => reply,
    }
}

fn said(message: &Message, dialect: &Dialect, is_asked: bool) -> String {
    match message {
        Message::Guard(verdict) => {
            let report = verdict.report.as_ref().map(|report| {
                let other = report.other_agent.as_deref();
                report.text(other.map_or(dialect.title, |name| dialects::named(name).map_or(name, |it| it.title)))
            });
            lines(&verdict.notes).chain(report).collect()
        }
        Message::Others(question, notes) => {
            let text = warning_text(&question.others, date::now());
            lines(notes).chain([text]).chain(is_asked.then(|| HOW_TO_GO_ON.to_owned())).collect()
        }
    }
}

fn lines(notes: &[String]) -> impl Iterator<Item = String> {
    notes.iter().map(|note| format!("{note}\n"))
}

impl Heard<'_> {
    /// Handles the event in `repo`, as `report` has it, and returns the answer and the reply that passes it on. Notes an error there.
    fn handled(&self, repo: Repo, report: Report, call: &mut Call) -> (Answer, Reply) {
        let root = repo.worktree_root().to_owned();
        self.handle(repo, report, call).unwrap_or_else(|error| {
            note(&root, self.dialect.name, &error);
            (Answer::Allow, self.dialect.allow(self.event.moment))
        })
    }

    fn handle(&self, repo: Repo, mut report: Report, call: &mut Call) -> Result<(Answer, Reply)> {
        let Self { event, dialect, on_multisession, .. } = *self;
        let loaded = config::load_lenient(&settings::sources(Some(&repo)));
        if !loaded.settings.enabled {
            return Ok((Answer::Allow, dialect.allow(event.moment)));
        }
        let mut context = Context::new(repo, loaded.settings);
        let what = format!("{}: {}", dialect.name, words(event.moment));
        context.repo.describe_operation(what, "hook".to_owned());
        context.repo.note_session_of_operation(&event.session);
        for error in &loaded.errors {
            log(&context, dialect.name, error);
        }
        context.settings.lock_timeout = context.settings.lock_timeout.min(LONGEST_WAIT);
        call.interrupt.listen()?;
        context.interrupt_by(call.interrupt.flag());
        report.info = self.info(&context);
        // A session that has only begun may never say what it does.
        if matches!(event.moment, Moment::Prompt | Moment::PreTool)
            && let Err(error) = sessions::give_way(&context, &event.session)
        {
            log(&context, dialect.name, &error);
        }
        let answer = agents::handle(&context, &report)?;
        let mut reply = reply(&answer, event, dialect, on_multisession, &context);
        if event.moment == Moment::Prompt && !matches!(answer, Answer::Deny(_)) {
            reply = self.informed(reply, &context);
        }
        Ok((answer, reply))
    }

    /// Returns `reply` with what the user has decided about the agent's work. An agent that takes no text at a prompt gets it with its
    /// next warning, and `status` says it until then.
    fn informed(&self, reply: Reply, context: &Context) -> Reply {
        let session = &self.event.session;
        let text = match review::tell(context, session) {
            Ok(Some(text)) => text,
            Ok(None) => return reply,
            Err(error) => {
                log(context, self.dialect.name, &error);
                return reply;
            }
        };
        self.dialect.inform(&reply, &text).unwrap_or_else(|| {
            drop(context.emit_failure("hook", agents::keep_unsaid(context, session, text)));
            reply
        })
    }

    /// Returns what the event says of its session.
    fn info(&self, context: &Context) -> SessionInfo {
        let Self { event, dialect, environment, on_multisession } = *self;
        let checked = |named: &Option<String>, is_logged: bool| {
            transcript::checked(named.as_ref(), dialect, environment, context).unwrap_or_else(|error| {
                if is_logged {
                    log(context, dialect.name, &error);
                }
                None
            })
        };
        // Every event names the transcript; to log its error for the first ones is enough.
        let transcript = checked(&event.transcript, matches!(event.moment, Moment::SessionStart | Moment::Prompt));
        let subagent_transcript = checked(&event.subagent_transcript, false);
        // The neutral protocol names the agent only when the session starts.
        let is_named = event.agent != dialect::NEUTRAL || event.moment == Moment::SessionStart;
        let agent = Some(event.agent.clone()).filter(|_| is_named);
        // Some agents name the model only in the transcript, which has an answer of the model before its first tool call. At the
        // prompt, it still names the model of the last turn.
        let in_transcript = || transcript.as_deref().and_then(|path| transcript::model(path, event.moment));
        let model = event.model.clone().or_else(in_transcript);
        SessionInfo { agent, model, transcript, subagent_transcript, tokens: event.tokens, on_multisession }
    }
}

/// Returns what happened, as the operation log has it.
fn words(moment: Moment) -> &'static str {
    match moment {
        Moment::SessionStart => "start of a session",
        Moment::Prompt => "prompt",
        Moment::Notice => "notice",
        Moment::PreTool => "before a tool",
        Moment::PostTool => "tool",
        Moment::Stop => "end",
        Moment::Interrupt => "interrupt",
        Moment::SubagentStart | Moment::SubagentStop => "subagent",
        Moment::SessionEnd => "end of a session",
        Moment::Compact => "summary",
        Moment::Ignore => "event",
    }
}

/// Returns the report of `event`; what it says of its session is still to be added.
fn report(event: &Event, dialect: &'static Dialect, cwd: &Path) -> Report {
    let tool = || {
        event.tool.as_ref().map_or_else(
            || Tool {
                name: "unknown".into(),
                call: None,
                reach: Reach::Anything,
                is_background: false,
                runs_command: false,
                may_destroy: false,
            },
            |tool| Tool {
                name: tool.name.clone(),
                call: tool.call.clone(),
                reach: match tool.reach {
                    event::Reach::Files => Reach::Files(tool.paths.clone()),
                    event::Reach::Anything => Reach::Anything,
                    event::Reach::Nothing => Reach::Nothing,
                },
                is_background: tool.is_background,
                runs_command: tool.runs_command,
                may_destroy: tool.may_destroy,
            },
        )
    };
    let what = match event.moment {
        Moment::SessionStart => What::Start(event.resumed_from.clone()),
        Moment::Prompt => What::Prompt(event.prompt.clone()),
        Moment::Notice => What::Notice,
        Moment::PreTool => What::BeforeTool(tool()),
        Moment::PostTool => What::AfterTool(tool()),
        Moment::Stop | Moment::Interrupt => What::Stop,
        Moment::SubagentStop => What::SubagentStop,
        Moment::SessionEnd => What::End,
        Moment::SubagentStart | Moment::Compact | Moment::Ignore => What::Other,
    };
    let agent_id = event.agent_id.clone().filter(|id| crate::model::session::is_valid_id(id));
    Report {
        agent: dialect.name,
        moment: event.moment.as_str(),
        what,
        session: event.session.clone(),
        agent_id,
        info: SessionInfo::default(),
        cwd: cwd.to_owned(),
        is_elsewhere: false,
        reports_all_tools: dialect.reports_all_tools,
        is_blockable: event.moment.is_blockable()
            && dialect.deny(event.moment, "no") != dialect.warn(event.moment, "no"),
        is_shown: dialect.shows(event.moment),
    }
}

/// Logs `error` in the repository of `dir`, if there is one.
fn note(dir: &Path, name: &str, error: &Error) {
    // A place of which the user wants no checkpoints is no trouble.
    if error.kind() == Kind::Refused {
        return;
    }
    if let Ok(repo) = Repo::open(dir) {
        let is_enabled = config::load_lenient(&settings::sources(Some(&repo))).settings.enabled;
        if is_enabled {
            log(&Context::new(repo, config::Settings::default()), name, error);
        }
    }
}
