//! The figures as people read them: percentages, bars, sessions, files.

use anstyle::{AnsiColor, Style};

use super::{
    super::{
        call::Call,
        output::{Output, printable},
        phrase,
    },
    title,
};
use crate::{
    error::Result,
    model::attribution::{kind::Kind, summary::Figures},
    ops::attribution::{Attribution, FileLines, SessionLines},
};

/// Columns of a bar where there is room.
const BAR: usize = 30;
/// Columns of the agents' percentage.
const SHARE: usize = 12;
/// Columns of a line beside its bar, and of a file's line beside its bar and name.
const BESIDE: usize = 28;
const BESIDE_NAME: usize = 25;
/// Columns of an owner's line before its bar, and of a session's beside its name, bars and notes.
const BESIDE_OWNER: usize = 20;
const BESIDE_SESSION: usize = 14;
/// The remark beside lines without an author, where there is room.
const MOVED: &str = "  (only moved or formatted)";
/// Columns of the line of a file without lines beside its name.
const NO_LINES: usize = 35;
/// The least of a name and of a bar.
const LEAST_NAME: usize = 8;
const LEAST_BAR: usize = 5;
/// How many agents and models people see.
const ROWS: usize = 20;

/// Returns the colour of an owner.
pub(in crate::cli) fn style(kind: Kind) -> Style {
    match kind {
        Kind::Agent => AnsiColor::Magenta.on_default(),
        Kind::Human => AnsiColor::Green.on_default(),
        Kind::Mixed => AnsiColor::Yellow.on_default(),
        Kind::Unknown => AnsiColor::Red.on_default(),
        Kind::Base => phrase::DIM,
    }
}

/// Returns the number of added lines of each kind.
fn parts(figures: &Figures) -> [(Kind, u32); 5] {
    [
        (Kind::Agent, figures.agent_lines),
        (Kind::Mixed, figures.mixed),
        (Kind::Human, figures.human_added + figures.human_modified),
        (Kind::Unknown, figures.unknown),
        (Kind::Base, figures.kept_added),
    ]
}

/// Prints the summary.
pub(super) fn print(found: &Attribution, call: &mut Call) -> Result<()> {
    title::print(found, call)?;
    let figures = &found.summary;
    if figures.total_committed == 0 && found.files.iter().all(|file| file.added + file.deleted == 0) {
        call.out.line("")?;
        call.out.line("no lines")?;
        return print_odd(found, call);
    }
    call.out.line("")?;
    let share = format!("{:>SHARE$}", share(figures));
    let room = room(BESIDE + share.len() - SHARE);
    let whole = bar(&parts(figures)[..4], figures.total_committed, room, call);
    let percent = call.out.paint(phrase::BOLD, &share);
    call.out.line(&format!("{percent}  {whole}  {}", count(figures.total_committed, "line")))?;
    call.out.line("")?;
    print_owners(figures, call)?;
    print_removed(figures, call)?;
    if !found.sessions.is_empty() {
        print_sessions(found, call)?;
    }
    print_files(found, call)?;
    print_odd(found, call)
}

/// Returns the agents' percentage, and that of lines whose author is unknown, if any.
pub(super) fn share(figures: &Figures) -> String {
    match figures.agent_percentage {
        None => "all unknown".to_owned(),
        Some(agent) if figures.unknown > 0 => {
            format!("{agent:.1}% agent, {:.1}% unknown", figures.percentage(figures.unknown))
        }
        Some(agent) => format!("{agent:.1}% agent"),
    }
}

/// Returns the agents' percentage of a file's lines; `-` if the file has none, and `?` if their authors are unknown.
pub(super) fn share_of_file(figures: &Figures, unit: &str) -> String {
    match figures.agent_percentage {
        _ if figures.total_committed == 0 => "-".to_owned(),
        None => "?".to_owned(),
        Some(agent) => format!("{agent:.0}{unit}"),
    }
}

fn print_owners(figures: &Figures, call: &mut Call) -> Result<()> {
    let most = parts(figures).iter().map(|(_, lines)| *lines).max().unwrap_or(0);
    let edited = match figures.human_modified {
        0 => String::new(),
        lines => format!("  ({lines} edited)"),
    };
    let room = room(BESIDE_OWNER + edited.len().max(BESIDE - BESIDE_OWNER));
    for (kind, lines) in parts(figures) {
        if lines == 0 && !matches!(kind, Kind::Agent | Kind::Human) {
            continue;
        }
        let name = if kind == Kind::Base { "moved" } else { kind.as_str() };
        let length = columns(lines, most, room);
        let bar = call.out.paint(style(kind), &"█".repeat(length));
        let note = match kind {
            Kind::Human => edited.as_str(),
            Kind::Base if BESIDE_OWNER + length + MOVED.len() <= Output::width() => MOVED,
            _ => "",
        };
        call.out.line(format!("  {name:<8} {lines:>7}  {bar}{note}").trim_end())?;
    }
    Ok(())
}

fn print_removed(figures: &Figures, call: &mut Call) -> Result<()> {
    let removed = [
        (figures.agent_removed, "agent"),
        (figures.human_removed, "human"),
        (figures.unknown_removed, "unknown"),
        (figures.kept_removed, "moved"),
    ];
    let parts: Vec<String> =
        removed.iter().filter(|(lines, _)| *lines > 0).map(|(lines, who)| format!("{lines} {who}")).collect();
    if parts.is_empty() { Ok(()) } else { call.out.line(&format!("  deleted: {}", parts.join(", "))) }
}

fn print_sessions(found: &Attribution, call: &mut Call) -> Result<()> {
    call.out.line("")?;
    heading("Sessions (lines)", call)?;
    let most = found.sessions.iter().map(|it| it.lines + it.mixed).max().unwrap_or(0);
    let listed = call.listed(found.sessions.len());
    let names: Vec<String> = found.sessions.iter().take(listed).map(session_name).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let notes: Vec<String> = found.sessions.iter().take(listed).map(session_notes).collect();
    let longest = notes.iter().map(String::len).max().unwrap_or(0);
    let left = |name: usize| Output::width().saturating_sub(BESIDE_SESSION + name + longest);
    // Names that leave no room have a line of their own.
    let is_wide = left(width) > LEAST_BAR;
    let width = if is_wide { width } else { 0 };
    // Two bars, each of which may be a column more than its part.
    let most_bar = (room(BESIDE + width) / 2).min(left(width).saturating_sub(1));
    for ((session, name), notes) in found.sessions.iter().zip(names).zip(notes) {
        let mut line = format!("  {name}{}", " ".repeat(width.saturating_sub(name.chars().count())));
        if !is_wide {
            call.out.line(&call.out.fit(&line, 0))?;
            line = String::from("  ");
        }
        line.push_str(&format!(" {:>7}  ", session.lines));
        if most_bar > 0 {
            for (kind, lines) in [(Kind::Agent, session.lines), (Kind::Mixed, session.mixed)] {
                line.push_str(&call.out.paint(style(kind), &"█".repeat(columns(lines, most, most_bar))));
            }
            line.push_str("  ");
        }
        call.out.line(&(line + &notes))?;
    }
    more(found.sessions.len(), call)?;
    for (title, lines) in [("Agents", sums(found, |it| &it.agent)), ("Models", sums(found, |it| &it.model))] {
        if lines.len() > 1 {
            let parts: Vec<String> = lines.iter().take(ROWS).map(|(name, lines)| format!("{name} {lines}")).collect();
            call.out.line(&format!("  {title}: {}", parts.join(", ")))?;
        }
    }
    Ok(())
}

fn session_notes(session: &SessionLines) -> String {
    let mut notes = vec![count(session.files, "file")];
    notes.extend((session.mixed > 0).then(|| format!("{} mixed", session.mixed)));
    notes.extend((session.removed > 0).then(|| format!("{} deleted", session.removed)));
    notes.join(", ")
}

fn session_name(session: &SessionLines) -> String {
    let mut name = printable(session.agent.as_deref().unwrap_or("agent"));
    if let Some(id) = &session.id {
        name.push_str(&format!(" {}", printable(id)));
    }
    if let Some(model) = &session.model {
        name.push_str(&format!(" ({})", printable(model)));
    }
    name
}

/// Returns lines by a field of sessions, most first.
fn sums(found: &Attribution, field: fn(&SessionLines) -> &Option<String>) -> Vec<(String, u32)> {
    let mut sums: Vec<(String, u32)> = Vec::new();
    for session in &found.sessions {
        let name = field(session).as_deref().map_or_else(|| "not known".to_owned(), printable);
        match sums.iter_mut().find(|(known, _)| *known == name) {
            Some((_, lines)) => *lines += session.lines,
            None => sums.push((name, session.lines)),
        }
    }
    sums.sort_by_key(|(_, lines)| std::cmp::Reverse(*lines));
    sums
}

fn print_files(found: &Attribution, call: &mut Call) -> Result<()> {
    if found.files.is_empty() {
        return Ok(());
    }
    call.out.line("")?;
    heading("Files (lines added, deleted, agents' %)", call)?;
    let mut files: Vec<&FileLines> = found.files.iter().collect();
    files.sort_by_key(|file| std::cmp::Reverse(file.added + file.deleted));
    files.truncate(call.listed(files.len()));
    print_rows(&files, call)?;
    more(found.files.len(), call)
}

fn more(rows: usize, call: &mut Call) -> Result<()> {
    let listed = call.listed(rows);
    if rows > listed { call.out.line(&format!("  {}", phrase::and_more(rows - listed))) } else { Ok(()) }
}

/// Prints a line for each file, and their sum.
pub(super) fn print_stat(found: &Attribution, call: &mut Call) -> Result<()> {
    let files: Vec<&FileLines> = found.files.iter().collect();
    print_rows(&files, call)?;
    let sum = |count: fn(&FileLines) -> u32| found.files.iter().map(count).sum::<u32>();
    call.out.line(&format!(
        "  {}, +{} -{}, {}",
        phrase::count(files.len(), "file"),
        sum(|file| file.added),
        sum(|file| file.deleted),
        share(&found.summary)
    ))
}

fn print_rows(files: &[&FileLines], call: &mut Call) -> Result<()> {
    let names: Vec<String> = files
        .iter()
        .map(|file| match &file.old_path {
            Some(old) => format!("{} => {}", call.names.path(old), call.names.path(&file.path)),
            None => call.names.path(&file.path),
        })
        .collect();
    let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let left = Output::width().saturating_sub(BESIDE_NAME);
    let most_name = left.saturating_sub(BAR / 3).max(left.saturating_sub(LEAST_BAR).min(BAR / 3)).max(LEAST_NAME);
    let width = longest.min(most_name);
    let room = room(BESIDE_NAME + width);
    let most = files.iter().map(|file| file.added).max().unwrap_or(0);
    for (file, name) in files.iter().zip(names) {
        let name = phrase::shortened(&name, width);
        let padding = " ".repeat(width.saturating_sub(name.chars().count()));
        let counts = format!("{:>6} {:>6}", format!("+{}", file.added), format!("-{}", file.deleted));
        let tail = if let Some(kind) = file.whole {
            let text = if width + NO_LINES <= Output::width() { "no lines, " } else { "" };
            format!("  {text}{}", kind.as_str())
        } else {
            let bar = bar(&parts(&file.figures), file.added, columns(file.added, most, room), call);
            format!(" {:>6}  {bar}", share_of_file(&file.figures, "%"))
        };
        let cut = if file.cut_off { "  (too large to be looked at line by line)" } else { "" };
        call.out.line(format!("  {name}{padding} {counts}{tail}{cut}").trim_end())?;
    }
    Ok(())
}

/// What the figures do not say.
fn print_odd(found: &Attribution, call: &mut Call) -> Result<()> {
    let figures = &found.summary;
    let binaries = figures.agent_binaries + figures.other_binaries;
    if binaries > 0 {
        let text = format!("{} without lines, {} of agents", count(binaries, "file"), figures.agent_binaries);
        call.out.line(&text)?;
    }
    if figures.cut_off > 0 {
        let text = format!("{} too large to be looked at line by line in each step", count(figures.cut_off, "file"));
        call.out.line(&text)?;
    }
    Ok(())
}

fn heading(text: &str, call: &mut Call) -> Result<()> {
    let text = call.out.paint(phrase::BOLD, text);
    call.out.line(&text)
}

fn count(lines: u32, noun: &str) -> String {
    phrase::count(usize::try_from(lines).unwrap_or(usize::MAX), noun)
}

/// Returns how many columns a bar has at most, `beside` something.
fn room(beside: usize) -> usize {
    BAR.min(Output::width().saturating_sub(beside)).max(LEAST_BAR)
}

/// Returns how many of `width` columns represent `part` of `whole`; at least one if `part` is not zero.
fn columns(part: u32, whole: u32, width: usize) -> usize {
    let (part, whole) = (u64::from(part), u64::from(whole.max(1)));
    let width = u64::try_from(width).unwrap_or(0);
    let columns = (part * width + whole / 2) / whole;
    usize::try_from(columns.max(u64::from(part > 0))).unwrap_or(0)
}

/// Returns a bar of `width` columns in the colours of its parts; without colours, each part has its letter.
fn bar(parts: &[(Kind, u32)], whole: u32, width: usize, call: &Call) -> String {
    let mut text = String::new();
    let (mut sum, mut used) = (0, 0);
    for (kind, lines) in parts {
        sum += lines;
        let until = columns(sum, whole, width).min(width).max(used);
        text.push_str(&call.out.paint(style(*kind), &letter(*kind).to_string().repeat(until - used)));
        used = until;
    }
    text
}

/// Returns the letter of an owner.
pub(in crate::cli) fn letter(kind: Kind) -> char {
    match kind {
        Kind::Agent => 'A',
        Kind::Human => 'H',
        Kind::Mixed => 'M',
        Kind::Unknown => '?',
        Kind::Base => '=',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::known(0, Some(25.0), "25.0% agent", "25%")]
    #[case::partly(1, Some(25.0), "25.0% agent, 25.0% unknown", "25%")]
    #[case::unknown(4, None, "all unknown", "?")]
    fn unknown_lines_are_no_ones(
        #[case] unknown: u32,
        #[case] agent_percentage: Option<f64>,
        #[case] whole: &str,
        #[case] of_file: &str,
    ) {
        let mut figures = Figures::default();
        (figures.unknown, figures.total_committed, figures.agent_percentage) = (unknown, 4, agent_percentage);
        assert_eq!((&*share(&figures), &*share_of_file(&figures, "%")), (whole, of_file));
    }

    #[rstest::rstest]
    #[case(0, 10, 0)]
    #[case(1, 1000, 1)]
    #[case(5, 10, 15)]
    #[case(10, 10, 30)]
    #[case(0, 0, 0)]
    #[case(u32::MAX, u32::MAX, 30)]
    fn bars_are_to_scale(#[case] part: u32, #[case] whole: u32, #[case] expected: usize) {
        assert_eq!(columns(part, whole, BAR), expected);
    }
}
