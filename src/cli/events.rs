//! `git checkpoint events`: the log of operations, for people or as it is.

use gix::ObjectId;
use serde_json::Value;

use super::{Exit, call::Call, date, date_column::date_column, layout, list, output::printable, phrase};
use crate::{error::Result, ops::events};

/// Print what happened, one line an operation
#[derive(clap::Args, Debug)]
pub(super) struct Events {
    /// Only what happened since then, for example '2 hours ago' or 2026-01-31
    #[arg(long, value_name = "date")]
    since: Option<String>,
    /// Keep printing new events until interrupted
    #[arg(short, long)]
    follow: bool,
    /// Print the lines as they are in the log
    #[arg(long)]
    json: bool,
}

impl Events {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.writing_context()?;
        let since = self.since.as_deref().map(|text| list::moment_of(&context.repo, text)).transpose()?;
        if self.follow {
            call.out.raise_when_closed(call.interrupt.flag());
        } else {
            call.start_pager(&context)?;
        }
        let mut found = 0;
        let read = events::read(&context, since, self.follow, &mut |event| {
            found += 1;
            if self.json {
                call.out.json(event)?;
            } else {
                lines(event, call).iter().try_for_each(|line| call.out.line(line))?;
            }
            if self.follow {
                call.out.flush()?;
            }
            Ok(!call.interrupt.is_raised() && !call.out.is_closed())
        });
        if found == 0 && !self.json && !self.follow && read.is_ok() {
            call.out.aside(if since.is_some() { "no event since then" } else { "no event yet" });
        }
        // A reader that has seen enough raises the flag of the interrupt too.
        if call.out.is_closed() { Ok(Exit::Done) } else { read.map(|()| Exit::Done) }
    }
}

/// The fields that open a line, or that every event has.
const COMMON: [&str; 4] = ["version", "time", "worktree", "event"];

/// How far the lines of an event after the first are indented.
const INDENT: usize = 4;

fn lines(event: &Value, call: &Call) -> Vec<String> {
    let columns = call.out.columns().unwrap_or(usize::MAX);
    let text = |key: &str| event.get(key).map(|value| word(value, call)).unwrap_or_default();
    let time = text("time");
    let moment = time.parse::<jiff::Timestamp>().map(jiff::Timestamp::as_second);
    let time = match moment {
        Ok(moment) if call.out.is_terminal() => date_column((moment, 0), date::now(), call),
        _ => time,
    };
    let fields = event
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(key, value)| !COMMON.contains(&key.as_str()) && !value.is_null());
    let fields = fields.map(|(key, value)| format!("{}={}", printable(key), word(value, call)));
    let fields: Vec<String> = fields.map(|field| layout::cut(&field, columns.saturating_sub(INDENT))).collect();
    let name = call.out.paint(phrase::BOLD, &format!("{:<10}", text("event")));
    layout::wrap(&format!("{time}  {name}  {}  {}", text("worktree"), fields.join(" ")), columns, INDENT)
}

/// Returns `value` as a word: ids abbreviated, text in quotes if it has blanks.
fn word(value: &Value, call: &Call) -> String {
    if let Some(id) = value.as_str().and_then(|text| ObjectId::from_hex(text.as_bytes()).ok()) {
        return call.names.id(&id);
    }
    match value {
        Value::String(text) if text.contains(' ') => format!("'{}'", printable(text)),
        Value::String(text) => printable(text),
        other => printable(other.to_string()),
    }
}
