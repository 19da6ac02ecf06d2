//! Warnings that an agent cannot show at once: they wait for its next event that can.

use super::{
    super::{Context, Worktree, enter::Purpose, guard::Verdict, turn},
    report::{Answer, Message, Report, What},
};
use crate::{error::Result, model::unsaid};

/// Keeps a warning that the agent of `session` cannot show now.
pub(crate) fn keep(context: &Context, session: &str, text: String) -> Result<()> {
    let worktree = Worktree::enter(context, Purpose::Change)?;
    worktree.edit_turns(|turns| unsaid::keep(&mut turns.unsaid, session, text));
    turn::write(&worktree)
}

/// Adds the warning that waits for the session of `report` to `answer`, if its agent can show it now. The beginning of the next
/// turn makes it obsolete.
pub(super) fn add(worktree: &Worktree<'_>, report: &Report, answer: Answer) -> Answer {
    let is_obsolete = matches!(report.what, What::Prompt(_) | What::End);
    let may_show = report.is_shown && !matches!(answer, Answer::Deny(_));
    let is_waiting = worktree.turns().unsaid.iter().any(|unsaid| unsaid.session == report.session);
    if !is_waiting || !may_show && !is_obsolete {
        return answer;
    }
    let text = worktree.edit_turns(|turns| unsaid::take(&mut turns.unsaid, &report.session));
    let Some(note) = text.filter(|_| may_show).map(|text| text.trim_end().to_owned()) else { return answer };
    match answer {
        Answer::Warn(message) => Answer::Warn(with_note(message, note)),
        Answer::Ask(message) => Answer::Ask(with_note(message, note)),
        Answer::Allow | Answer::Deny(_) => {
            Answer::Warn(Message::Guard(Box::new(Verdict { notes: vec![note], ..Verdict::allow() })))
        }
    }
}

fn with_note(mut message: Message, note: String) -> Message {
    match &mut message {
        Message::Guard(verdict) => verdict.notes.push(note),
        Message::Others(_, notes) => notes.push(note),
    }
    message
}
