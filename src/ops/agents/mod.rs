//! What is done when an agent reports an event: follows its sessions and turns, and takes an attributed checkpoint before
//! and after each tool call.
//!
//! Each event is handled under the worktree's lock, and once: some agents run the hooks of another one, too, and report
//! everything twice. What is left between events, and when events are missing, the next event takes up.

mod allowed;
mod event;
mod full_pass;
pub(crate) mod home;
mod opening;
mod paths;
mod report;
mod sign_of_life;
mod submodules;
mod tool;
mod unprotected;
mod unsaid;
mod visit;

use super::{
    Context, Worktree, author,
    closing::save_unless_turns_are_known,
    condense,
    enter::Purpose,
    guard::{self, Verdict},
    review,
    session_info::{OnMultisession, SessionInfo, check_id, clock, find_or_rebuild, is_elsewhere, prepare},
    sessions::{Opening, Question, begin_session, leave, leave_elsewhere, question},
    turn, usage,
};
use crate::{
    error::{Kind, Result},
    model::{
        session::{Action, Phase, SessionEvent, transition},
        turns::EndEvidence,
    },
    state::{agents, missed},
};

pub(crate) use report::{Answer, Message, Reach, Report, Tool, What};
pub(crate) use tool::{Saving, save_before_commit, saving_before_commit};
pub(crate) use unsaid::keep as keep_unsaid;

/// Handles the event of `report`. Before a turn and after it, takes out what a person has rejected meanwhile.
///
/// # Errors
/// Those of the operations that it calls; what they did before the error stays, and the next event continues from there. The
/// agent must not notice.
pub(crate) fn handle(context: &Context, report: &Report) -> Result<Answer> {
    if matches!(report.what, What::Prompt(_)) {
        drop(context.emit_failure("review", review::take_out_queued(context)));
    }
    let answer = handle_in_repositories(context, report);
    if matches!(report.what, What::Stop | What::End) {
        drop(context.emit_failure("review", review::take_out_queued(context)));
    }
    answer
}

/// Handles the event of `report` here and in submodules.
fn handle_in_repositories(context: &Context, report: &Report) -> Result<Answer> {
    let Some(parts) = submodules::parts(context, report) else { return handle_in_worktrees(context, report) };
    let answer = handle_in_worktrees(context, &parts.here);
    if !matches!((&answer, &report.what), (Ok(Answer::Deny(_)), What::BeforeTool(_))) {
        drop(context.emit_failure(&format!("hook {}", report.agent), parts.save(context, report)));
    }
    answer
}

/// Handles the event of `report` in this worktree and in the others of the repository.
fn handle_in_worktrees(context: &Context, report: &Report) -> Result<Answer> {
    if matches!(report.what, What::Prompt(_)) {
        visit::leave(context, &report.session);
    }
    match visit::began(&context.repo, report) {
        visit::Began::Here => {}
        visit::Began::At(root) => {
            // The tool may have changed files in both worktrees. Here, we have not seen what was there before it.
            let answer = visit::open(context, &root).and_then(|there| handle_here(&there, report));
            drop(context.emit_failure(&format!("hook {}", report.agent), tool::save_as_unknown_here(context)));
            return answer;
        }
        visit::Began::Handled => {
            // Usually the same report comes twice, but some models count the calls of each answer from zero.
            drop(context.emit_failure(&format!("hook {}", report.agent), tool::save_as_unknown_here(context)));
            return Ok(Answer::Allow);
        }
    }
    let Some(parts) = visit::parts(&context.repo, report) else {
        let answer = handle_here(context, report);
        if matches!(report.what, What::Stop | What::End) {
            visit::leave(context, &report.session);
        }
        return answer;
    };
    // A turn begins where the agent works.
    let mut answer = handle_here(context, &parts.here);
    for (root, part) in &parts.there {
        if matches!((&answer, &part.what), (Ok(Answer::Deny(_)), What::BeforeTool(_))) {
            break;
        }
        let handled = visit::open(context, root).and_then(|there| handle_here(&there, part));
        match context.emit_failure(&format!("hook {}", report.agent), handled) {
            Ok(Answer::Allow) | Err(_) => {}
            more => answer = answer.and(more),
        }
    }
    answer
}

/// Handles the event of `report` in the worktree of `context`.
fn handle_here(context: &Context, report: &Report) -> Result<Answer> {
    check_id(&report.session)?;
    let handled = prepare(context).and_then(|()| handle_under_lock(context, report, false));
    if handled.as_ref().is_err_and(|error| error.kind() != Kind::Refused) {
        missed::note(context.repo.git_dir());
    }
    handled
}

/// Saves what agents may have changed while their events could not be handled, with an unknown author.
fn save_missed(worktree: &Worktree<'_>) -> Result<()> {
    let git_dir = worktree.repo.git_dir();
    if missed::is_noted(git_dir) {
        turn::write_after(worktree, tool::save(worktree, &tool::Saving::unknown()).map(drop))?;
        missed::forget(git_dir);
    }
    Ok(())
}

/// Locks the worktree and handles the event. `has_left`: the session had its turn in another worktree, and that was ended.
fn handle_under_lock(context: &Context, report: &Report, has_left: bool) -> Result<Answer> {
    // Before a tool, the guard is asked first: when it denies the call, nothing has changed.
    let is_before_tool = matches!(report.what, What::BeforeTool(_));
    let worktree = Worktree::enter(context, if is_before_tool { Purpose::ToolBegins } else { Purpose::Event })?;
    save_unless_turns_are_known(&worktree)?;
    let event = event::Event::of(&context.repo, report);
    if event.is_repeated(&author::turns_without_stale_calls(&worktree), report) {
        return Ok(Answer::Allow);
    }
    if !has_left && let Some(ended) = turn_elsewhere(&worktree, report)? {
        // Ends that turn without this lock: two sessions that change places at the same time would wait for each other.
        drop(worktree);
        let left = leave_elsewhere(context, &report.session, &report.info, ended);
        // A process that begins must not fail because the old one has left another worktree damaged.
        if matches!(report.what, What::Start(_)) {
            drop(context.emit_failure("session start", left));
        } else {
            left?;
        }
        // Meanwhile, another process may have handled a second report of this event.
        return handle_under_lock(context, report, true);
    }
    note_turn(&worktree, report)?;
    let answer = match dispatch(&worktree, report, &event, has_left) {
        Err(error) => return turn::write_after(&worktree, Err(error)),
        answer => unsaid::add(&worktree, report, answer?),
    };
    let is_denied = matches!(answer, Answer::Deny(_));
    if !is_denied {
        worktree.edit_turns(|turns| event.note(turns, report));
    }
    turn::write(&worktree)?;
    if !is_denied {
        save_missed(&worktree)?;
        // The tool may run, or has run, all the same.
        drop(worktree.emit_failure("jj", manage(&worktree, report)));
    }
    if let Some(session) = report.ended_session() {
        // The event is handled all the same; the next prompt completes the records.
        if let Err(error) = condense::complete_ended(&worktree, session) {
            tracing::warn!(%error, "cannot complete the record of a commit made during the turn");
        }
    }
    if !is_denied {
        agents::note(context.repo.common_dir(), report.agent, report.moment, clock())?;
    }
    Ok(answer)
}

/// Lets a change of jj's begin before a tool, and end after it, if the settings say so.
fn manage(worktree: &Worktree<'_>, report: &Report) -> Result<()> {
    match &report.what {
        What::BeforeTool(tool) if tool.reach != Reach::Nothing => guard::managed::begin(worktree, &report.session),
        // After an interrupt, an agent may report neither the end of a tool nor that of the turn.
        What::AfterTool(_) | What::Stop | What::End | What::SubagentStop | What::Prompt(_) => {
            guard::managed::end(worktree, &report.session, report.agent)
        }
        _ => Ok(()),
    }
}

/// Lets the operation log say in which turn the event is; a prompt begins another one.
fn note_turn(worktree: &Worktree<'_>, report: &Report) -> Result<()> {
    if matches!(report.what, What::Start(_) | What::Prompt(_) | What::End) {
        return Ok(());
    }
    let turn = find_or_rebuild(worktree, &report.session)?.map_or(0, |session| session.turn.number);
    worktree.repo.note_turn_of_hook(turn);
    Ok(())
}

/// Returns how the turn ends that the session has in another worktree; none if it has none, or if the event does not end it.
fn turn_elsewhere(worktree: &Worktree<'_>, report: &Report) -> Result<Option<SessionEvent>> {
    let ended = match report.what {
        What::Start(_) if author::is_gone(worktree, &report.session) => SessionEvent::Stop,
        // A prompt that is denied changes nothing.
        What::Prompt(_) if is_deniable(worktree, report) && others(worktree, report)?.is_some() => return Ok(None),
        What::Prompt(_) | What::Stop => SessionEvent::Stop,
        What::End => SessionEvent::End,
        _ => return Ok(None),
    };
    let session = find_or_rebuild(worktree, &report.session)?;
    Ok(session.is_some_and(|session| is_elsewhere(worktree, &session)).then_some(ended))
}

fn dispatch(worktree: &Worktree<'_>, report: &Report, event: &event::Event, has_left: bool) -> Result<Answer> {
    match &report.what {
        What::Start(continued) => start(worktree, report, continued.as_deref()),
        What::Prompt(text) => prompt(worktree, report, text.as_deref()),
        What::Notice => notice(worktree, report),
        What::BeforeTool(tool) => tool::before(worktree, report, tool, &event.key),
        What::AfterTool(tool) => tool::after(worktree, report, tool, &event.key),
        What::Stop => stop(worktree, report, SessionEvent::Stop, has_left),
        What::End => stop(worktree, report, SessionEvent::End, has_left),
        What::SubagentStop => {
            if let Some(path) = &report.info.subagent_transcript
                && let Some(session) = find_or_rebuild(worktree, &report.session)?
            {
                usage::note_file(worktree, &session, path);
            }
            tool::subagent_stops(worktree, report)
        }
        What::Other => sign_of_life::note(worktree, report).map(|()| Answer::Allow),
    }
}

fn start(worktree: &Worktree<'_>, report: &Report, continued: Option<&str>) -> Result<Answer> {
    let question = others(worktree, report)?;
    if let Some(old) = continued.filter(|old| *old != report.session) {
        // A conversation that continues under another id leaves its turn behind, and keeps its work.
        if let Some(session) = find_or_rebuild(worktree, old)?
            && session.phase == Phase::Active
            && session.is_in(worktree.repo.worktree_id())
        {
            leave(worktree, old, &SessionInfo::default(), SessionEvent::Stop)?;
        }
        worktree.edit_turns(|turns| turns.asked.push(report.session.clone()));
    }
    begin_session(worktree, &report.session, &report.info)?;
    let question = question.filter(|question| question.others.iter().any(|other| Some(&*other.id) != continued));
    Ok(answer(Vec::new(), question))
}

fn prompt(worktree: &Worktree<'_>, report: &Report, text: Option<&str>) -> Result<Answer> {
    let is_deniable = is_deniable(worktree, report);
    let mut notes = crashed(worktree, report);
    let mut unasked = None;
    if let Some(question) = others(worktree, report)? {
        if is_deniable {
            if report.info.on_multisession != OnMultisession::Cancel {
                // A user who sends the prompt again has read it.
                worktree.edit_turns(|turns| turns.asked.push(report.session.clone()));
            }
            return Ok(Answer::Deny(Message::Others(question, notes)));
        }
        unasked = Some(question).filter(|_| !report.is_blockable);
    }
    notes.extend(begin(worktree, report, Opening::Prompt(text))?);
    Ok(answer(notes, unasked))
}

/// Returns true if the prompt is denied should other sessions have uncommitted work: its user has not been asked, or wants it.
fn is_deniable(worktree: &Worktree<'_>, report: &Report) -> bool {
    let is_asked = worktree.turns().asked.contains(&report.session);
    report.is_blockable && (report.info.on_multisession == OnMultisession::Cancel || !is_asked)
}

/// Follows an agent that continues without a prompt: in its open turn, or else in its last one.
fn notice(worktree: &Worktree<'_>, report: &Report) -> Result<Answer> {
    let phase = find_or_rebuild(worktree, &report.session)?.map(|session| session.phase);
    if !transition(phase, SessionEvent::Tool).actions.contains(&Action::BeginTurn) {
        return sign_of_life::note(worktree, report).map(|()| Answer::Allow);
    }
    let mut notes = crashed(worktree, report);
    notes.extend(begin(worktree, report, Opening::Notice)?);
    // It may be of what has ended, or of a person.
    tool::save(worktree, &tool::Saving::unknown().in_turn_of(&report.session))?;
    Ok(answer(notes, None))
}

/// Begins a turn, and returns notes for the user.
fn begin(worktree: &Worktree<'_>, report: &Report, opening: Opening<'_>) -> Result<Vec<String>> {
    // What tools in use have changed until now is not what was there before. Those of a turn that was not stopped are closed
    // with it.
    let has_turn = worktree.turns().turn_of(&report.session).is_some();
    if author::turns_without_stale_calls(worktree).calls().any(|(session, _)| session != report.session || !has_turn) {
        tool::save_before_call(worktree, report, "", None)?;
    }
    let notes = opening::begin(worktree, report, opening)?;
    if report.reports_all_tools {
        worktree.edit_turns(|turns| {
            turns.entry(&report.session).account(None);
        });
    }
    Ok(notes)
}

/// Saves what sessions have left whose process is gone, and returns notes that name them.
fn crashed(worktree: &Worktree<'_>, report: &Report) -> Vec<String> {
    // If that fails, their work is still there, but will count as that of another author.
    worktree.emit_failure("guard", guard::recover(worktree, &report.session)).unwrap_or_default()
}

/// Returns the answer that lets the agent continue, with the notes or the question for it.
fn answer(notes: Vec<String>, question: Option<Question>) -> Answer {
    match question {
        Some(question) => Answer::Warn(Message::Others(question, notes)),
        None if notes.is_empty() => Answer::Allow,
        None => Answer::Warn(Message::Guard(Box::new(Verdict { notes, ..Verdict::allow() }))),
    }
}

/// Returns what the user is to be asked about other sessions, if anything.
fn others(context: &Context, report: &Report) -> Result<Option<Question>> {
    match report.info.on_multisession {
        OnMultisession::Continue => Ok(None),
        OnMultisession::Ask | OnMultisession::Cancel => question(context, &report.session),
    }
}

/// Ends the turn or the session. `has_left`: its turn was in another worktree, where it has ended already.
fn stop(worktree: &Worktree<'_>, report: &Report, session_event: SessionEvent, has_left: bool) -> Result<Answer> {
    let Some(session) = find_or_rebuild(worktree, &report.session)? else {
        // Whatever there is, a session that is not known has not made it.
        worktree.edit_turns(|turns| turns.end(&report.session));
        return Ok(Answer::Allow);
    };
    if has_left {
        let saving = if worktree.turns().find(&report.session).is_some() {
            // Its tools have changed files here, too.
            Some(tool::Saving::all(author::at_turn_end(worktree, &session, EndEvidence::Reported)?))
        } else if session.has_reported_tools {
            None
        } else {
            Some(tool::Saving::unknown())
        };
        guard::release(worktree, &report.session);
        if let Some(saving) = saving {
            tool::save(worktree, &saving)?;
        }
    } else {
        leave(worktree, &report.session, &report.info, session_event)?;
    }
    Ok(Answer::Allow)
}
