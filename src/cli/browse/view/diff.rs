//! Draws the changed lines of the selected file.

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    style::Style,
    text::{Line as Text, Span},
};

use super::{
    super::{
        super::{attribution::letter, layout},
        lines::{Changed, Line, Owner},
        state::{Pane, State},
    },
    paint::{Paint, title},
};
use crate::model::line_diff::Side;

/// The columns of the number of a line.
const NUMBER: usize = 5;

pub(super) fn draw(state: &State, paint: Paint, pane: Rect, buffer: &mut Buffer) {
    let is_current = state.pane == Pane::Diff;
    let Some(file) = state.file() else {
        title("changes", is_current, paint, pane, buffer);
        return;
    };
    let width = usize::from(pane.width);
    let owner = selected_owner(state);
    let name = owner.map_or_else(|| file.name.clone(), |owner| format!("{}  {}", file.name, named(owner)));
    title(&name, is_current, paint, pane, buffer);
    let Some(lines) = &file.lines else {
        buffer.set_stringn(pane.x + 1, pane.y + 1, "reading...", width - 1, paint.dim());
        return;
    };
    let height = usize::from(pane.height.saturating_sub(1));
    for (y, (at, line)) in (pane.y + 1..).zip(lines.iter().enumerate().skip(state.line_top).take(height)) {
        let text = match line {
            Line::Header(text) => Text::from(Span::styled(layout::cut(text, width), paint.mark())),
            Line::Changed(line) => changed(line, state, width, paint),
        };
        buffer.set_line(pane.x, y, &text, pane.width);
        if at == state.line_at && is_current {
            buffer.set_style(Rect { y, height: 1, ..pane }, paint.current());
        }
    }
}

fn changed<'t>(line: &Changed, state: &State, width: usize, paint: Paint) -> Text<'t> {
    let (sign, style) = match line.side {
        Side::Common => (' ', Style::new()),
        Side::Added => ('+', paint.added()),
        Side::Deleted => ('-', paint.deleted()),
    };
    let gutter = match &line.owner {
        Some(owner) => Span::styled(format!("{} ", letter(owner.kind)), paint.owner(owner, &state.authors)),
        None => Span::raw("  "),
    };
    let number = line.number.map_or_else(String::new, |number| number.to_string());
    let room = width.saturating_sub(2 + NUMBER + 2);
    let text = layout::cut(&line.text, room);
    Text::from(vec![
        gutter,
        Span::styled(format!("{number:>NUMBER$} "), paint.dim()),
        Span::styled(format!("{sign}{text}"), style),
    ])
}

/// Returns the owner of the selected line.
fn selected_owner(state: &State) -> Option<&Owner> {
    match state.file()?.lines.as_ref()?.get(state.line_at)? {
        Line::Changed(line) => line.owner.as_ref(),
        Line::Header(_) => None,
    }
}

/// Names an owner in the title.
fn named(owner: &Owner) -> String {
    let mut text = owner.kind.as_str().to_owned();
    for part in [&owner.agent, &owner.session].into_iter().flatten() {
        text.push_str(&format!(" {part}"));
    }
    text.push_str(&owner.turn.map_or_else(String::new, |turn| format!(" t{turn}")));
    text
}
