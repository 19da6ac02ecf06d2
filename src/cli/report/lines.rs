//! The changed lines of a file in the page: each added one with the letter of its owner.

use maud::{Markup, html};

use super::super::attribution::{letter, visible};
use crate::{
    model::{
        attribution::kind::Kind,
        line_diff::{Hunk, Line, Side},
    },
    ops::{attribution::Who, report::Changed},
};

/// Neighbouring lines of one side and one owner.
struct Run<'a> {
    side: Side,
    who: Option<&'a Who>,
    lines: Vec<&'a Line>,
}

/// Returns the changed lines of a file; `command` prints those that are left out.
pub(super) fn changed(changed: &Changed, command: &str) -> Markup {
    html! {
        @if changed.is_binary {
            p.dim { "no lines" }
        } @else if !changed.hunks.is_empty() {
            pre { @for (hunk, owners) in &changed.hunks { (self::hunk(hunk, owners)) } }
        }
        @if changed.is_cut {
            p.dim { "Lines are left out, because the page would become too large: " code { (command) } " prints all." }
        }
    }
}

fn hunk(hunk: &Hunk, owners: &[Who]) -> Markup {
    html! {
        span.hunk { (visible(hunk.header().as_ref())) "\n" }
        @for run in runs(hunk, owners) {
            @match (run.side, run.who) {
                (Side::Added, Some(who)) => {
                    @let sign = format!("{}+", letter(who.owner));
                    span class=(class(who.owner)) title=[title(who)] { (text(&run, &sign)) }
                }
                (Side::Deleted, _) => span.deleted { (text(&run, " -")) },
                _ => (text(&run, "  ")),
            }
        }
    }
}

fn runs<'a>(hunk: &'a Hunk, owners: &'a [Who]) -> Vec<Run<'a>> {
    let mut owners = owners.iter();
    let mut runs: Vec<Run<'a>> = Vec::new();
    for line in &hunk.lines {
        let who = if line.side == Side::Added { owners.next() } else { None };
        match runs.last_mut() {
            Some(run) if run.side == line.side && run.who == who => run.lines.push(line),
            _ => runs.push(Run { side: line.side, who, lines: vec![line] }),
        }
    }
    runs
}

fn text(run: &Run<'_>, sign: &str) -> String {
    run.lines.iter().map(|line| format!("{sign} {}\n", visible(&line.content))).collect()
}

/// Returns the name of the style for lines of `kind`.
pub(super) fn class(kind: Kind) -> &'static str {
    kind.as_str()
}

/// Returns which agent it was, in which turn.
fn title(who: &Who) -> Option<String> {
    let name = |text: &Option<String>| text.as_deref().map(super::printable);
    let session = name(&who.session).map(|session| format!("session {session}"));
    let turn = who.turn.map(|turn| format!("turn {turn}"));
    let parts: Vec<String> = [name(&who.agent), name(&who.model), session, turn].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}
