//! The result in a form for scripts: one line each, fields separated by tabs, `-` for an unknown value.

use super::super::{call::Call, output::printable};
use crate::{
    error::Result,
    ops::attribution::{Attribution, Who},
};

/// Prints `found`.
pub(super) fn print(found: &Attribution, call: &mut Call) -> Result<()> {
    call.out.line("version 1")?;
    for (name, value) in [("commit", found.commit), ("parent", found.parent)] {
        if let Some(id) = value {
            call.out.line(&format!("{name} {id}"))?;
        }
    }
    if let Some(range) = &found.range {
        call.out.line(&format!("range {}", printable(range)))?;
    }
    for id in &found.records {
        call.out.line(&format!("record {id}"))?;
    }
    for record in &found.fetched_records {
        call.out.line(&format!("fetched-record {} {}", record.id, printable(&record.remote)))?;
    }
    for id in &found.missing_records {
        call.out.line(&format!("missing-record {id}"))?;
    }
    for agent in &found.inferred {
        call.out.line(&format!("inferred {}", printable(agent)))?;
    }
    let summary = serde_json::to_value(found.summary).unwrap_or_default();
    for (name, value) in summary.as_object().into_iter().flatten() {
        let value = if value.is_null() { "-".to_owned() } else { value.to_string() };
        call.out.line(&format!("summary {name} {value}"))?;
    }
    for session in &found.sessions {
        let names = [&session.id, &session.agent, &session.model].map(field).join("\t");
        let (lines, mixed, removed, files) = (session.lines, session.mixed, session.removed, session.files);
        call.out.line(&format!("session\t{names}\t{lines}\t{mixed}\t{removed}\t{files}"))?;
    }
    for file in &found.files {
        let path = printable(&file.path);
        call.out.line(&format!("file\t{}\t{}\t{path}", file.added, file.deleted))?;
        for lines in &file.owners {
            call.out.line(&format!(
                "lines\t{}\t{}\t{}\t{}",
                lines.start,
                lines.end,
                who(&lines.who),
                lines.agent_share
            ))?;
        }
        for remover in &file.deleted_by {
            call.out.line(&format!("deleted\t{}\t{}", remover.lines, who(&remover.who)))?;
        }
    }
    Ok(())
}

/// Returns owner, session, turn, agent and model.
fn who(who: &Who) -> String {
    let turn = who.turn.map(|turn| turn.to_string());
    let fields = [&who.session, &turn, &who.agent, &who.model].map(field);
    format!("{}\t{}", who.owner.as_str(), fields.join("\t"))
}

fn field(value: &Option<String>) -> String {
    value.as_deref().filter(|value| !value.is_empty()).map_or_else(|| "-".to_owned(), printable)
}
