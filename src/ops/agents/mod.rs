//! What is done when an agent reports an event: follows its sessions and turns, and takes an attributed checkpoint before
//! and after each tool call.
//!
//! Each event is handled under the worktree's lock, and once: some agents run the hooks of another one, too, and report
//! everything twice. What is left between events, and when events are missing, the next event takes up.

mod commit;
mod event;
mod paths;
mod report;
mod sign_of_life;
mod tool;

use super::{
    Context, author,
    follow::follow_head,
    guard::{self, Verdict},
    save,
    session_info::{OnMultisession, Told, check_id, clock, is_elsewhere, known, prepare},
    sessions::{Opening, Question, begin_session, begin_turn, leave, leave_elsewhere, question},
};
use crate::{
    error::Result,
    model::session::{Action, Happening, Phase, transition},
    state::{agents, lock::Lock},
};

pub use report::{Answer, Message, Reach, Report, Tool, What};
pub(crate) use tool::{of_tool_in_use, save_of_tool};

/// Does what the event of `report` asks for.
///
/// # Errors
/// As its parts; whatever was done until then stays, and the next event goes on from there. The agent must not notice.
pub fn handle(context: &Context, report: &Report) -> Result<Answer> {
    check_id(&report.session)?;
    prepare(context)?;
    let lock = save::lock_to_write(context)?;
    let event = event::Event::of(&context.repo, report);
    if event.is_repeated(&author::open(context), report) {
        return Ok(Answer::Allow);
    }
    // Before a tool, the guard is asked first: when it has said no, nothing has changed.
    if !matches!(report.what, What::BeforeTool(_)) {
        commit::look_for_unseen(context, &lock)?;
    }
    let answer = dispatch(context, report, &event, &lock)?;
    let is_denied = matches!(answer, Answer::Deny(_));
    if !is_denied {
        context.edit_turns(|turns| turns.handled.push(event.mark(report)));
    }
    context.write_turns()?;
    if !is_denied {
        agents::note(context.repo.common_dir(), report.agent, report.moment, clock())?;
    }
    Ok(answer)
}

fn dispatch(context: &Context, report: &Report, event: &event::Event, lock: &Lock) -> Result<Answer> {
    match &report.what {
        What::Start(continued) => start(context, report, continued.as_deref(), lock),
        What::Prompt(text) => prompt(context, report, text.as_deref(), lock),
        What::Notice => notice(context, report, lock),
        What::BeforeTool(tool) => tool::before(context, report, tool, &event.key, lock),
        What::AfterTool(tool) => tool::after(context, report, tool, &event.key, lock),
        What::Stop => stop(context, report, Happening::Stop, lock),
        What::End => stop(context, report, Happening::End, lock),
        What::HelperStop => tool::helper_stops(context, report, lock),
        What::Other => sign_of_life::note(context, report).map(|()| Answer::Allow),
    }
}

fn start(context: &Context, report: &Report, continued: Option<&str>, lock: &Lock) -> Result<Answer> {
    let question = others(context, report)?;
    if let Some(old) = continued.filter(|old| *old != report.session) {
        // A conversation that goes on under another id leaves its turn behind, and its work is no other's.
        if let Some(session) = known(context, old)?
            && session.phase == Phase::Active
            && session.is_in(context.repo.worktree_id())
        {
            leave(context, old, &Told::default(), Happening::Stop, lock)?;
        }
        context.edit_turns(|turns| turns.asked.push(report.session.clone()));
    }
    begin_session(context, &report.session, &report.told, lock)?;
    let question = question.filter(|question| question.others.iter().any(|other| Some(&*other.id) != continued));
    Ok(question.map_or(Answer::Allow, |question| Answer::Warn(Message::Others(question))))
}

fn prompt(context: &Context, report: &Report, text: Option<&str>, lock: &Lock) -> Result<Answer> {
    let asked = context.turns().asked;
    let mut answer = crashed(context, report, lock);
    if let Some(question) = others(context, report)? {
        let is_asked = asked.contains(&report.session);
        answer = match (report.told.on_multisession, report.is_blockable) {
            (OnMultisession::Cancel, true) => return Ok(Answer::Deny(Message::Others(question))),
            (_, true) if !is_asked => {
                // A user who sends the prompt again has read it.
                context.edit_turns(|turns| turns.asked.push(report.session.clone()));
                return Ok(Answer::Deny(Message::Others(question)));
            }
            (_, true) => answer,
            (_, false) => Answer::Warn(Message::Others(question)),
        };
    }
    begin(context, report, Opening::Prompt(text), lock)?;
    Ok(answer)
}

/// Follows an agent that goes on by itself: with the turn that it is in, or else with its last one.
fn notice(context: &Context, report: &Report, lock: &Lock) -> Result<Answer> {
    let phase = known(context, &report.session)?.map(|session| session.phase);
    if !transition(phase, Happening::Tool).actions.contains(&Action::BeginTurn) {
        return sign_of_life::note(context, report).map(|()| Answer::Allow);
    }
    let answer = crashed(context, report, lock);
    begin(context, report, Opening::Notice, lock)?;
    // It may be of what has ended, or of a person.
    tool::save(context, &tool::Saving::unknown().in_turn_of(&report.session), lock)?;
    Ok(answer)
}

fn begin(context: &Context, report: &Report, opening: Opening<'_>, lock: &Lock) -> Result<()> {
    leave_elsewhere(context, &report.session, &report.told, Happening::Stop)?;
    // What tools in use have changed until now is not what was there before.
    if author::open(context).calls().any(|(session, _)| session != report.session) {
        tool::boundary(context, report, "", None, lock)?;
    }
    begin_turn(context, &report.session, opening, &report.told, lock)?;
    if report.tells_all_tools {
        context.edit_turns(|turns| {
            turns.entry(&report.session).account(None);
        });
    }
    Ok(())
}

/// Saves what sessions have left whose process is gone, and returns an answer that names them.
fn crashed(context: &Context, report: &Report, lock: &Lock) -> Answer {
    // If that fails, their work is still there, but will count as that of another author.
    let notes = context.tell_failure("guard", guard::recover(context, &report.session, lock)).unwrap_or_default();
    if notes.is_empty() {
        return Answer::Allow;
    }
    Answer::Warn(Message::Guard(Box::new(Verdict { notes, ..Verdict::allow() })))
}

/// Returns what the user is to be asked about other sessions, if anything.
fn others(context: &Context, report: &Report) -> Result<Option<Question>> {
    match report.told.on_multisession {
        OnMultisession::Continue => Ok(None),
        OnMultisession::Ask | OnMultisession::Cancel => question(context, &report.session),
    }
}

fn stop(context: &Context, report: &Report, happening: Happening, lock: &Lock) -> Result<Answer> {
    let Some(session) = known(context, &report.session)? else {
        // Whatever there is, a session that is not known has not made it.
        context.edit_turns(|turns| turns.end(&report.session));
        return Ok(Answer::Allow);
    };
    if is_elsewhere(context, &session) {
        guard::release(context, &report.session);
        tool::save(context, &tool::Saving::all(author::of_session(&session, None)), lock)?;
        leave_elsewhere(context, &report.session, &report.told, happening)?;
    } else {
        follow_head(context, lock)?;
        leave(context, &report.session, &report.told, happening, lock)?;
    }
    Ok(Answer::Allow)
}
