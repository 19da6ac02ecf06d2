//! The changed lines, each added one marked with its owner.

use std::collections::BTreeSet;

use bstr::BString;

use super::{
    super::{call::Call, output::printable, phrase},
    text::{letter, style},
};
use crate::{
    error::Result,
    model::{
        attribution::kind::Kind,
        line_diff::{Hunk, Line, Side},
    },
    ops::attribution::{Attribution, PatchFile, Who},
};

/// Prints what the marks mean, and the patch.
pub(super) fn print(found: &Attribution, call: &mut Call) -> Result<()> {
    let owners = || found.patch.iter().flat_map(|file| &file.hunks).flat_map(|(_, owners)| owners);
    let sessions = sessions_of(owners());
    print_legend(&sessions, owners(), call)?;
    found.patch.iter().try_for_each(|file| print_file(file, &sessions, call))
}

/// Returns those of `owners` that are agents, each once: the numbers in the marks count them.
pub(in crate::cli) fn sessions_of<'w>(owners: impl Iterator<Item = &'w Who>) -> Vec<&'w Who> {
    let mut sessions: Vec<&Who> = Vec::new();
    for who in owners {
        let is_agent = matches!(who.owner, Kind::Agent | Kind::Mixed);
        if is_agent && !sessions.iter().any(|known| is_same(known, who)) {
            sessions.push(who);
        }
    }
    sessions
}

/// Prints what the marks of `owners` mean, which are people and `sessions`.
pub(in crate::cli) fn print_legend<'w>(
    sessions: &[&Who],
    owners: impl Iterator<Item = &'w Who>,
    call: &mut Call,
) -> Result<()> {
    for (number, who) in (1..).zip(sessions) {
        let mut name = printable(who.agent.as_deref().unwrap_or("agent"));
        for (word, value) in [("session", &who.session), ("model", &who.model)] {
            if let Some(value) = value {
                name.push_str(&format!(", {word} {}", printable(value)));
            }
        }
        let turn = who.turn.map_or_else(String::new, |turn| format!(", turn {turn}"));
        let mark = call.out.paint(style(Kind::Agent), &format!("A{number}"));
        call.out.field(&format!("{mark} "), &format!("{name}{turn}"))?;
    }
    let found: BTreeSet<Kind> = owners.map(|who| who.owner).collect();
    let mut has_legend = !sessions.is_empty();
    for kind in [Kind::Human, Kind::Mixed, Kind::Unknown, Kind::Base].into_iter().filter(|kind| found.contains(kind)) {
        has_legend = true;
        let mark = call.out.paint(style(kind), &letter(kind).to_string());
        let meaning = match kind {
            Kind::Mixed => "mixed: a person and the agent of that number",
            Kind::Unknown => "unknown",
            Kind::Base => "was there before, only moved or formatted",
            Kind::Human | Kind::Agent => "human",
        };
        let padding = " ".repeat(sessions.len().to_string().len());
        call.out.field(&format!("{mark}{padding} "), meaning)?;
    }
    if has_legend { call.out.line("") } else { Ok(()) }
}

fn is_same(one: &Who, other: &Who) -> bool {
    (&one.session, one.turn, &one.agent, &one.model) == (&other.session, other.turn, &other.agent, &other.model)
}

fn print_file(file: &PatchFile, sessions: &[&Who], call: &mut Call) -> Result<()> {
    let old = file.sides.0.then(|| file.old_path.as_ref().unwrap_or(&file.path));
    print_names([old, file.sides.1.then_some(&file.path)], call)?;
    if file.is_binary {
        return call.out.line("no lines");
    }
    for (hunk, owners) in &file.hunks {
        print_hunk(hunk, owners, sessions, call)?;
    }
    Ok(())
}

/// Prints the names that a file had and has; none where it is not there.
pub(in crate::cli) fn print_names(names: [Option<&BString>; 2], call: &mut Call) -> Result<()> {
    for (sign, prefix, path) in [("---", "a/", names[0]), ("+++", "b/", names[1])] {
        let name = path.map_or_else(
            || "/dev/null".to_owned(),
            |path| phrase::quoted(&BString::from([prefix.as_bytes(), path.as_slice()].concat())),
        );
        let line = call.out.paint(phrase::BOLD, &format!("{sign} {name}"));
        call.out.line(&line)?;
    }
    Ok(())
}

/// Prints `hunk`, each added line with the mark of its owner.
pub(in crate::cli) fn print_hunk(hunk: &Hunk, owners: &[Who], sessions: &[&Who], call: &mut Call) -> Result<()> {
    let width = sessions.len().to_string().len() + 1;
    let header = printable(hunk.header());
    let header = call.out.paint(phrase::MARK, &header);
    call.out.line(&header)?;
    let mut owners = owners.iter();
    for line in &hunk.lines {
        let owner = if line.side == Side::Added { owners.next() } else { None };
        let mark = owner.map_or_else(String::new, |who| {
            let number = sessions.iter().position(|known| is_same(known, who)).map(|at| (at + 1).to_string());
            format!("{}{}", letter(who.owner), number.unwrap_or_default())
        });
        let kind = owner.map(|who| who.owner);
        let mark = format!("{mark:<width$} ");
        let mark = kind.map_or_else(|| mark.clone(), |kind| call.out.paint(style(kind), &mark));
        call.out.text(&mark)?;
        print_line(line, kind, call)?;
    }
    Ok(())
}

fn print_line(line: &Line, kind: Option<Kind>, call: &mut Call) -> Result<()> {
    let (sign, style) = match (line.side, kind) {
        (Side::Common, _) => (" ", None),
        (Side::Deleted, _) => ("-", Some(phrase::OLD)),
        (Side::Added, kind) => ("+", kind.map(style)),
    };
    let (on, off) = style.map_or_else(Default::default, |style| call.out.around(style));
    call.out.text(&format!("{on}{sign}"))?;
    let mut from = 0;
    for range in &line.emphasis {
        let (strong, weak) = call.out.around(style.unwrap_or_default().invert());
        call.out.text(&visible(&line.content[from..range.start]))?;
        call.out.text(&format!("{strong}{}{weak}{on}", visible(&line.content[range.clone()])))?;
        from = range.end;
    }
    call.out.text(&format!("{}{off}\n", visible(&line.content[from..])))?;
    if line.is_terminated { Ok(()) } else { call.out.line("\\ No newline at end of file") }
}

/// Returns bytes of a file as text for people; this is no patch that git would take.
pub(in crate::cli) fn visible(bytes: &[u8]) -> String {
    bytes.split(|&byte| byte == b'\t').map(printable).collect::<Vec<_>>().join("\t")
}
