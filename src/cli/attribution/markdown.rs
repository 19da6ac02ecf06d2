//! Tables for pull requests.

use super::{
    super::{call::Call, output::printable, phrase},
    text::share_of_file,
    title,
};
use crate::{error::Result, ops::attribution::Attribution};

/// How many files the table has.
const ROWS: usize = 50;

/// Prints `found`.
pub(super) fn print(found: &Attribution, call: &mut Call) -> Result<()> {
    let figures = &found.summary;
    let human = figures.human_added + figures.human_modified;
    let lines = figures.total_committed;
    let place = match (&found.commit, &found.range) {
        (Some(commit), _) => format!(" in {}", call.names.id(commit)),
        (None, Some(_)) => {
            let recorded = found.commits.iter().filter(|commit| !commit.records.is_empty()).count();
            format!(" in {}, {recorded} with a record", phrase::count(found.commits.len(), "commit"))
        }
        (None, None) => String::new(),
    };
    let share = match figures.agent_percentage {
        Some(share) => format!("**{share:.1} % agent**"),
        None => "**Authors unknown**".to_owned(),
    };
    let unknown = match figures.agent_percentage {
        Some(_) if figures.unknown > 0 => format!(", {:.1} % unknown", figures.percentage(figures.unknown)),
        _ => String::new(),
    };
    call.out.line(&format!("{share}{unknown} of {lines} committed lines{place}"))?;
    if let Some(missing) = title::missing(found) {
        call.out.line("")?;
        call.out.line(&format!("Records {missing}"))?;
    }
    call.out.line("")?;
    call.out.line("| | agent | human | mixed | unknown | moved or formatted |")?;
    call.out.line("|---|---:|---:|---:|---:|---:|")?;
    call.out.line(&format!(
        "| added | {} | {human} | {} | {} | {} |",
        figures.agent_lines, figures.mixed, figures.unknown, figures.kept_added
    ))?;
    call.out.line(&format!(
        "| deleted | {} | {} | | {} | {} |",
        figures.agent_removed, figures.human_removed, figures.unknown_removed, figures.kept_removed
    ))?;
    if !found.sessions.is_empty() {
        call.out.line("")?;
        call.out.line("| agent | model | session | lines | mixed | deleted | files |")?;
        call.out.line("|---|---|---|---:|---:|---:|---:|")?;
    }
    for session in found.sessions.iter().take(ROWS) {
        let names = [&session.agent, &session.model, &session.id].map(|name| cell(name.as_deref().unwrap_or("-")));
        let (lines, mixed, removed, files) = (session.lines, session.mixed, session.removed, session.files);
        call.out.line(&format!("| {} | {lines} | {mixed} | {removed} | {files} |", names.join(" | ")))?;
    }
    if !found.files.is_empty() {
        call.out.line("")?;
        call.out.line("| file | added | deleted | agent |")?;
        call.out.line("|---|---:|---:|---:|")?;
    }
    for file in found.files.iter().take(ROWS) {
        let share = share_of_file(&file.figures, " %");
        let path = cell(&phrase::quoted(&file.path));
        call.out.line(&format!("| {path} | {} | {} | {share} |", file.added, file.deleted))?;
    }
    if found.files.len() > ROWS {
        call.out.line("")?;
        call.out.line(&format!("and {} more", phrase::count(found.files.len() - ROWS, "file")))?;
    }
    if !found.inferred.is_empty() {
        let names: Vec<String> = found.inferred.iter().map(|name| cell(name)).collect();
        call.out.line("")?;
        call.out
            .line(&format!("Inferred from messages of commits without a record, not counted: {}", names.join(", ")))?;
    }
    Ok(())
}

/// Escapes text so that it stays in its table cell and contains no markup.
pub(in crate::cli) fn cell(text: &str) -> String {
    let mut out = String::new();
    for c in printable(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '!' | '#' | '@' | '~' => {
                // An entity, so that neither table, link nor mention is made of it.
                out.push_str(&format!("&#{};", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_make_no_markup() {
        assert_eq!(cell("a|b"), "a&#124;b");
        assert_eq!(cell("![x](<y>)\n@me"), "&#33;&#91;x&#93;(&lt;y&gt;)\\n&#64;me".replace('\\', "&#92;"));
    }
}
