//! The comment for a pull request: figures, sessions, and the files with the most lines of agents. It is always short enough for
//! the usual forges, which take 60,000 characters and more.

use super::{
    super::{attribution::cell, layout, output::printable, phrase},
    mark::MARK,
};
use crate::{model::attribution::summary::Figures, ops::report::Report};

/// How many sessions are listed.
const SESSIONS: usize = 10;
/// How many columns of a name are shown.
const NAME: usize = 80;

/// Returns the comment.
pub(super) fn comment(report: &Report) -> String {
    let figures = &report.summary;
    let mut out = format!("{MARK}\n");
    let share = figures.agent_percentage.map_or("**Authors unknown**".to_owned(), |it| format!("**{it:.1} % agent**"));
    let recorded = report.commits.iter().filter(|commit| !commit.records.is_empty()).count();
    let commits = phrase::count(report.commits.len(), "commit");
    out.push_str(&format!(
        "{share} of {} in {commits}, {recorded} with a record\n\n",
        phrase::count(figures.total_committed as usize, "line")
    ));
    let Figures { agent_lines, mixed, unknown, human_added, human_modified, kept_added, .. } = figures;
    out.push_str("| | agent | human | mixed | unknown | moved or formatted |\n|---|---:|---:|---:|---:|---:|\n");
    let human = human_added + human_modified;
    out.push_str(&format!("| added | {agent_lines} | {human} | {mixed} | {unknown} | {kept_added} |\n"));
    out.push_str(&format!(
        "| deleted | {} | {} | | {} | {} |\n",
        figures.agent_removed, figures.human_removed, figures.unknown_removed, figures.kept_removed
    ));
    let sessions = &report.sums.sessions;
    if !sessions.is_empty() {
        out.push_str(
            "\n| agent | model | session | lines | mixed | deleted | files |\n|---|---|---|---:|---:|---:|---:|\n",
        );
    }
    for session in sessions.iter().take(SESSIONS) {
        let names = [&session.agent, &session.model, &session.id].map(|it| name(it.as_deref().unwrap_or("-")));
        let (lines, mixed, removed, files) = (session.lines, session.mixed, session.removed, session.files);
        out.push_str(&format!("| {} | {lines} | {mixed} | {removed} | {files} |\n", names.join(" | ")));
    }
    if sessions.len() > SESSIONS {
        out.push_str(&format!("\nand {}\n", phrase::count(sessions.len() - SESSIONS, "more session")));
    }
    if !report.agent_files.is_empty() {
        out.push_str("\n| file | added | deleted | agent |\n|---|---:|---:|---:|\n");
    }
    for file in &report.agent_files {
        let agent = file.agent_percentage.map_or("-".to_owned(), |it| format!("{it:.0} %"));
        let path = name(&phrase::quoted(&file.path));
        out.push_str(&format!("| {path} | {} | {} | {agent} |\n", file.added, file.deleted));
    }
    if !report.missing_records.is_empty() {
        let count = phrase::count(report.missing_records.len(), "record");
        out.push_str(&format!("\nNot counted: {count} that this clone lacks or cannot read.\n"));
    }
    out
}

fn name(text: &str) -> String {
    cell(&layout::cut(&printable(text), NAME))
}
