//! The identity of an event, so that one that is reported twice is handled once.

use super::{
    super::session_info::clock,
    paths,
    report::{Reach, Report, Tool, What},
};
use crate::{
    git::Repo,
    model::turns::{Call, Handled, Turns},
};

/// How long after the first the second report of the use of a tool may come, in seconds. Ids are not for ever: some models
/// count from zero in every answer.
const SAME_CALL: i64 = 60;

/// The same for an event that has no id, only content, with nothing in between.
const SAME_CONTENT: i64 = 5;

/// What two reports of the same event have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Event {
    /// Of a tool, the same before and after it. A digest, so that no text of an agent gets into a file of ours by accident.
    pub(super) key: String,
    has_id: bool,
    is_before: bool,
    is_after: bool,
}

impl Event {
    pub(super) fn of(repo: &Repo, report: &Report) -> Self {
        let who = [report.session.as_str(), report.agent_id.as_deref().unwrap_or_default()];
        let (key, has_id) = match &report.what {
            What::BeforeTool(tool) | What::AfterTool(tool) => (tool_key(repo, report, tool, &who), tool.call.is_some()),
            What::Prompt(text) => {
                (digest(&[&who[..], &["prompt", text.as_deref().unwrap_or_default()]].concat()), false)
            }
            _ => (digest(&[&who[..], &[report.moment]].concat()), false),
        };
        let (is_before, is_after) =
            (matches!(report.what, What::BeforeTool(_)), matches!(report.what, What::AfterTool(_)));
        Self { key, has_id, is_before, is_after }
    }

    /// Returns true if it was handled already.
    pub(super) fn is_repeated(&self, turns: &Turns, report: &Report) -> bool {
        let now = clock();
        let calls = turns.find(&report.session).map_or(&[][..], |entry| &entry.calls);
        let open = calls.iter().find(|call| call.key == self.key);
        let mut own = turns.handled.iter().rev().filter(|handled| handled.session == report.session);
        if self.is_before {
            return self.has_id && open.is_some_and(|call| (0..SAME_CALL).contains(&(now - call.started)));
        }
        if self.is_after {
            let is_it = |handled: &Handled| handled.key == self.mark_key() && is_recent(handled, now);
            return self.has_id && open.is_none() && own.any(is_it);
        }
        own.next().is_some_and(|last| last.key == self.mark_key() && (0..SAME_CONTENT).contains(&(now - last.seconds)))
    }

    /// Notes in `turns` that it was handled, and removes the notes that are too old to be compared with a second report: each
    /// event of an agent reads and writes all that are left.
    pub(super) fn note(&self, turns: &mut Turns, report: &Report) {
        let now = clock();
        turns.handled.retain(|handled| is_recent(handled, now));
        turns.handled.push(Handled { session: report.session.clone(), key: self.mark_key(), seconds: now });
    }

    fn mark_key(&self) -> String {
        if self.is_before { format!("before {}", self.key) } else { self.key.clone() }
    }
}

/// Returns true if a second report of a tool's event can still match `handled`. The clock may have been set back since.
fn is_recent(handled: &Handled, now: i64) -> bool {
    (0..SAME_CALL).contains(&(now - handled.seconds))
}

/// Without an id, a call is known by its tool and files, which may be named differently before and after.
fn tool_key(repo: &Repo, report: &Report, tool: &Tool, who: &[&str]) -> String {
    if let Some(call) = &tool.call {
        return digest(&[who, &[&tool.name, call]].concat());
    }
    let files = match &tool.reach {
        Reach::Files(named) => paths::inside(repo, &report.cwd, named).unwrap_or_default(),
        Reach::Anything | Reach::Nothing => Vec::new(),
    };
    let files: Vec<String> = files.iter().map(ToString::to_string).collect();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    format!("{}{WITHOUT_ID}{}", digest(&[who, &[&tool.name]].concat()), digest(&files))
}

/// Follows the part of a key that stands for the tool, if the calls of the tool have no ids.
const WITHOUT_ID: char = '.';

/// Returns which of the calls `open` of a session is the one with `key`, which has ended.
pub(super) fn ended(open: &[Call], key: &str) -> Option<usize> {
    let is_same_tool = |call: &Call| {
        let tool = key.split_once(WITHOUT_ID).map(|(tool, _)| tool);
        tool.is_some() && call.key.split_once(WITHOUT_ID).map(|(tool, _)| tool) == tool
    };
    open.iter().position(|call| call.key == key).or_else(|| open.iter().position(is_same_tool))
}

/// Returns a text that shows whether the parts are the same, and nothing else of them.
pub(super) fn digest(parts: &[&str]) -> String {
    let text = parts.join("\n");
    let id = gix::objs::compute_hash(gix::hash::Kind::Sha1, gix::objs::Kind::Blob, text.as_bytes());
    id.map(|id| id.to_string()).unwrap_or_default()
}
