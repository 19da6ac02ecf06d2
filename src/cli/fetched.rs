//! `git checkpoint list --fetched`: the checkpoints of other clones.

use super::{call::Call, date, date_column::date_column, layout, marks::bracketed, output::printable, phrase};
use crate::{
    error::Result,
    ops::{
        Context,
        remotes::{self, FetchedEntry},
    },
};

/// Prints at most `limit` of the checkpoints that were fetched or imported, the latest first.
pub(super) fn list(context: &Context, limit: Option<usize>, is_json: bool, call: &mut Call) -> Result<()> {
    let mut entries = remotes::entries(context)?;
    entries.truncate(limit.unwrap_or(usize::MAX));
    call.start_pager(context)?;
    if is_json {
        return entries.iter().try_for_each(|entry| call.out.json(entry));
    }
    let names: Vec<String> = entries.iter().map(|entry| name(entry, call)).collect();
    let columns = names.iter().map(|name| layout::width(name)).max().unwrap_or_default();
    let now = date::now();
    for (entry, name) in entries.iter().zip(names) {
        let date = date_column(entry.moment, now, call);
        let mut marks: Vec<String> = entry.tags.iter().map(|tag| format!("tag: {}", printable(tag))).collect();
        let note = entry.note.as_deref().and_then(|note| note.lines().next());
        let by = entry.note_author.as_deref().map(|author| format!(" by {}", printable(author))).unwrap_or_default();
        marks.extend(note.map(|note| format!("note{by}: {}", printable(note))));
        let agent = entry.agent.as_deref().map(|agent| format!("  {}", printable(agent))).unwrap_or_default();
        let used = columns + layout::width(&date) + layout::width(&agent) + 6;
        let text = format!("{}{}", printable(&entry.subject), bracketed(&marks));
        let name = call.out.paint(phrase::ID, &layout::padded(&name, columns));
        let (date, text) = (call.out.paint(phrase::DIM, &date), call.out.fit(&text, used));
        call.out.line(&format!("{name}  {date}{agent}  {text}"))?;
    }
    if entries.is_empty() {
        call.out.aside("no checkpoint was fetched or imported");
        call.out.hint("'git checkpoint fetch --checkpoints <remote>' and 'git checkpoint import <file>' get some");
    }
    Ok(())
}

/// Returns what names it here, as short as its id.
fn name(entry: &FetchedEntry, call: &Call) -> String {
    printable(format!("{}/{}", entry.remote, call.names.id(&entry.id)))
}
