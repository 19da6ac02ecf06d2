//! Draws what a command has printed, and the list of keys, above the panes.

use ratatui::{buffer::Buffer, layout::Rect};

use super::{
    super::{
        super::layout,
        press::KEYS,
        state::{State, Text},
    },
    paint::{Paint, title},
};

/// The columns of the keys in their list.
const KEY: usize = 14;

/// Draws what the command of `text` has printed.
pub(super) fn draw(text: &Text, state: &State, paint: Paint, area: Rect, buffer: &mut Buffer) {
    let what = match &text.then {
        Some(_) if state.picks.is_some() => "restore this?",
        Some(_) => "do this?",
        None => "result",
    };
    let width = usize::from(area.width).saturating_sub(4).max(1);
    let wrapped = |line: &String| {
        let lines = layout::wrap(line, width, 0);
        if lines.is_empty() { vec![String::new()] } else { lines }
    };
    let lines: Vec<String> = text.lines.iter().skip(text.top).flat_map(wrapped).collect();
    panel(what, lines, paint, area, buffer);
}

/// Draws the list of keys, from the line `top` on.
pub(super) fn draw_help(top: usize, paint: Paint, area: Rect, buffer: &mut Buffer) {
    let width = usize::from(area.width).saturating_sub(4).max(1);
    let line = |(key, what): &(&str, &str)| layout::wrap(&format!("{key:<KEY$} {what}"), width, KEY + 1);
    panel("keys", KEYS.iter().skip(top).flat_map(line).collect(), paint, area, buffer);
}

/// Draws `lines` under a title at the bottom of `area`, as many as have room.
fn panel(text: &str, lines: Vec<String>, paint: Paint, area: Rect, buffer: &mut Buffer) {
    let most = usize::from(area.height).saturating_sub(1);
    let rows = u16::try_from(lines.len().min(most)).unwrap_or(area.height);
    let pane = Rect { y: area.y + area.height - rows - 1, height: rows + 1, ..area };
    reset(pane, buffer);
    title(text, true, paint, pane, buffer);
    for (y, line) in (pane.y + 1..pane.y + pane.height).zip(lines) {
        buffer.set_stringn(pane.x + 2, y, &line, usize::from(pane.width).saturating_sub(2), paint.plain());
    }
}

/// Takes what was drawn there before away, with its style.
fn reset(pane: Rect, buffer: &mut Buffer) {
    for position in pane.positions() {
        if let Some(cell) = buffer.cell_mut(position) {
            cell.reset();
        }
    }
}
