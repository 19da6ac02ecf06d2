//! Draws the state: pure, into a buffer.

mod diff;
mod files;
mod paint;
mod text;
mod timeline;

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    text::{Line, Span},
};

pub(super) use self::paint::Look;
use self::paint::Paint;
use super::{
    super::{layout, output::printable},
    state::{Goal, Mode, Pane, State},
    words,
};

/// From so many columns on, the three panes stand beside each other.
const WIDE: u16 = 140;
/// With fewer columns, one pane is shown at a time.
const NARROW: u16 = 80;

/// Where the panes are; none of those that are not shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Panes {
    timeline: Option<Rect>,
    files: Option<Rect>,
    diff: Option<Rect>,
}

impl Panes {
    /// Divides `area`; if it is narrow, `pane` has all of it.
    fn of(area: Rect, pane: Pane) -> Self {
        let Rect { x, y, width, height } = area;
        if width < NARROW {
            let one = |it: Pane| (it == pane).then_some(area);
            return Self { timeline: one(Pane::Timeline), files: one(Pane::Files), diff: one(Pane::Diff) };
        }
        // A column between two panes belongs to none.
        if width < WIDE {
            let left = width * 45 / 100;
            let right = Rect { x: x + left + 1, y, width: width - left - 1, height };
            let upper = (height * 2 / 5).max(height.min(4));
            return Self {
                timeline: Some(Rect { width: left, ..area }),
                files: Some(Rect { height: upper, ..right }),
                diff: Some(Rect { y: y + upper, height: height - upper, ..right }),
            };
        }
        let (left, middle) = (width * 36 / 100, width * 22 / 100);
        Self {
            timeline: Some(Rect { width: left, ..area }),
            files: Some(Rect { x: x + left + 1, width: middle, ..area }),
            diff: Some(Rect { x: x + left + middle + 2, width: width - left - middle - 2, ..area }),
        }
    }
}

/// Returns the part of the screen without the two lines at the bottom.
fn body(area: Rect) -> Rect {
    Rect { height: area.height.saturating_sub(2), ..area }
}

/// Scrolls so that what is selected is on a screen of `area`.
pub(super) fn fit(state: &mut State, area: Rect) {
    let area = body(area);
    let panes = Panes::of(area, state.pane);
    // The first line of a pane is its title.
    let rows = |pane: Option<Rect>| pane.map_or(1, |pane| usize::from(pane.height.saturating_sub(1)).max(1));
    let of_pane = match state.pane {
        Pane::Timeline => panes.timeline,
        Pane::Files => panes.files,
        Pane::Diff => panes.diff,
    };
    state.page = rows(of_pane);
    state.top = scrolled(state.top, state.at, rows(panes.timeline));
    let of_files = panes.files.map_or(1, |pane| files::rows(state, pane));
    state.file_top = scrolled(state.file_top, state.file_at, of_files);
    state.line_top = scrolled(state.line_top, state.line_at, rows(panes.diff));
}

/// Returns the first of `rows` rows to show so that `at` is among them, near `top`.
fn scrolled(top: usize, at: usize, rows: usize) -> usize {
    top.clamp((at + 1).saturating_sub(rows), at)
}

/// Draws `state`, which [`fit`]s into `area`.
pub(super) fn draw(state: &State, look: &Look<'_>, area: Rect, buffer: &mut Buffer) {
    let paint = Paint { is_coloured: look.is_coloured };
    if area.width < 20 || area.height < 5 {
        buffer.set_stringn(area.x, area.y, "too small", usize::from(area.width), paint.plain());
        return;
    }
    let inside = body(area);
    let panes = Panes::of(inside, state.pane);
    if let Some(pane) = panes.timeline {
        timeline::draw(state, look, paint, pane, buffer);
    }
    if let Some(pane) = panes.files {
        files::draw(state, paint, pane, buffer);
    }
    if let Some(pane) = panes.diff {
        diff::draw(state, paint, pane, buffer);
    }
    for pane in [panes.files, panes.diff].into_iter().flatten().filter(|pane| pane.x > inside.x) {
        for y in pane.y..pane.y + pane.height {
            buffer.set_string(pane.x - 1, y, "\u{2502}", paint.dim());
        }
    }
    match &state.mode {
        Mode::Text(text) => text::draw(text, state, paint, inside, buffer),
        Mode::Help(top) => text::draw_help(*top, paint, inside, buffer),
        Mode::Normal | Mode::Input(_) => {}
    }
    bottom(state, look, paint, area, buffer);
}

/// Draws the line with the message, and below it that with the command.
fn bottom(state: &State, look: &Look<'_>, paint: Paint, area: Rect, buffer: &mut Buffer) {
    let width = usize::from(area.width);
    let (message_y, command_y) = (area.y + area.height - 2, area.y + area.height - 1);
    let left = match (&state.mode, &state.message) {
        (Mode::Input(input), _) => {
            let text = format!("{}{}_", input.prompt(), printable(&input.text));
            // What is typed last is always on the screen.
            let over = layout::width(&text).saturating_sub(width);
            Span::styled(text.chars().skip(over).collect::<String>(), paint.bold())
        }
        (_, Some((text, is_failure))) => {
            let style = if *is_failure { paint.warning() } else { paint.bold() };
            Span::styled(layout::cut(text, width), style)
        }
        _ => Span::styled(place(state), paint.dim()),
    };
    let keys = match &state.mode {
        Mode::Normal if state.picks.is_some() => "enter restores  ? keys  q quits",
        Mode::Normal => "? keys  q quits",
        Mode::Input(_) => "enter  esc",
        Mode::Text(text) if words::is_plan_of_restore(&text.words) && text.then.is_some() => "y does it  a: all  esc",
        Mode::Text(text) if words::is_plan_of_restore(&text.words) => "a: all  esc closes",
        Mode::Text(text) if text.then.is_some() => "y does it  esc leaves it",
        Mode::Text(_) | Mode::Help(_) => "esc closes",
    };
    let used = layout::width(&left.content);
    buffer.set_line(area.x, message_y, &Line::from(left), area.width);
    if used + layout::width(keys) + 2 <= width {
        let x = area.x + area.width - u16::try_from(layout::width(keys)).unwrap_or_default();
        buffer.set_string(x, message_y, keys, paint.dim());
    }
    let command = format!("$ {}", words::text(&state.command(), look.short));
    buffer.set_style(Rect { y: command_y, height: 1, ..area }, paint.title());
    buffer.set_string(area.x, command_y, layout::cut(&command, width), paint.title());
}

/// Says where in the list the selected row is, and what the list is limited to.
fn place(state: &State) -> String {
    // The first row is the worktree.
    let rows = state.rows.len();
    let more = if state.is_complete { "" } else { "+" };
    let mut text = match state.goal {
        Some(Goal::Again(..)) | None => format!("{}/{rows}{more}", state.at + 1),
        Some(Goal::End | Goal::Hit(_)) => format!("reading, {rows} rows so far"),
    };
    if !state.filter.trim().is_empty() {
        text.push_str(&format!("  filter: {}", printable(state.filter.trim())));
    }
    if let Some(hits) = &state.hits {
        text.push_str(&format!("  search: {}", printable(&hits.text)));
    }
    text
}
