//! Draws the files of what is selected.

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    text::{Line, Span},
};

use super::{
    super::{
        super::layout,
        loaded::{self, Loaded, Shown},
        state::{Pane, State},
    },
    paint::{Paint, title},
};
use crate::model::attribution::kind::Kind;

/// The columns of a bar.
const BAR: usize = 8;
/// The kinds of lines, in the order of a bar.
const KINDS: [Kind; 5] = [Kind::Agent, Kind::Mixed, Kind::Human, Kind::Unknown, Kind::Base];

/// Returns what was read of the selected row.
fn current(state: &State) -> Option<&Loaded> {
    let subject = state.subject();
    state.loaded.as_ref().filter(|loaded| Some(&loaded.subject) == subject.as_ref())
}

/// Returns the lines above the files, as many as have room.
fn above(state: &State, pane: Rect) -> Vec<String> {
    let Some(loaded) = current(state) else { return Vec::new() };
    let width = usize::from(pane.width).saturating_sub(1);
    let wrapped = |line: &String| layout::wrap(line, width.max(1), 0).into_iter().take(3).collect::<Vec<_>>();
    let mut lines: Vec<String> = loaded.about.iter().flat_map(wrapped).collect();
    lines.extend(loaded.troubles.iter().flat_map(wrapped));
    lines.truncate(usize::from(pane.height / 2));
    lines
}

/// Returns how many files have room in `pane`.
pub(super) fn rows(state: &State, pane: Rect) -> usize {
    usize::from(pane.height).saturating_sub(above(state, pane).len() + 1).max(1)
}

pub(super) fn draw(state: &State, paint: Paint, pane: Rect, buffer: &mut Buffer) {
    let is_current = state.pane == Pane::Files;
    let Some(loaded) = current(state) else {
        title("files", is_current, paint, pane, buffer);
        buffer.set_stringn(pane.x + 1, pane.y + 1, "reading...", usize::from(pane.width) - 1, paint.dim());
        return;
    };
    title(&loaded::count(loaded.files.len()), is_current, paint, pane, buffer);
    let above = above(state, pane);
    let mut y = pane.y + 1;
    for (at, line) in above.iter().enumerate() {
        let style = if at == 0 { paint.id() } else { paint.plain() };
        let text = layout::cut(line, usize::from(pane.width) - 1);
        buffer.set_string(pane.x + 1, y, text, style);
        y += 1;
    }
    let room = rows(state, pane);
    for (at, file) in loaded.files.iter().enumerate().skip(state.file_top).take(room) {
        buffer.set_line(pane.x, y, &line(file, usize::from(pane.width), paint), pane.width);
        if at == state.file_at {
            let style = if is_current { paint.current() } else { paint.title() };
            buffer.set_style(Rect { y, height: 1, ..pane }, style);
        }
        y += 1;
    }
    if loaded.files.is_empty() && room > 0 {
        buffer.set_stringn(pane.x + 1, y, "no files", usize::from(pane.width) - 1, paint.dim());
    }
}

fn line<'t>(file: &Shown, width: usize, paint: Paint) -> Line<'t> {
    let counts = loaded::counts(file);
    let bar = file.bar.as_ref().map(bar).unwrap_or_default();
    let used = 3 + layout::width(&counts) + 2 + BAR + 1;
    let room = width.saturating_sub(used).max(8);
    let name = from_end(&file.name, room);
    let mut spans = vec![
        Span::styled(format!(" {} ", file.letter), paint.mark()),
        Span::raw(layout::padded(&name, room)),
        Span::raw(" "),
        Span::styled(counts, paint.dim()),
        Span::raw(" "),
    ];
    spans.extend(bar.into_iter().map(|(kind, columns)| {
        // Without colours, letters say whose part it is.
        let cell = if paint.is_coloured { "\u{2588}".to_owned() } else { letter(kind).to_string() };
        Span::styled(cell.repeat(columns), paint.kind(kind))
    }));
    Line::from(spans)
}

/// Returns the letter of an owner.
fn letter(kind: Kind) -> char {
    super::super::super::attribution::letter(kind)
}

/// Returns the end of `name` in at most `columns`: the name of a file says more than its directory.
fn from_end(name: &str, columns: usize) -> String {
    if layout::width(name) <= columns {
        return name.to_owned();
    }
    let (mut kept, mut used) = (Vec::new(), 3);
    for c in name.chars().rev() {
        used += layout::width(c.encode_utf8(&mut [0; 4]));
        if used > columns {
            break;
        }
        kept.push(c);
    }
    let end: String = kept.into_iter().rev().collect();
    format!("...{end}")
}

/// Returns how many columns of the bar each kind of line has. Each that is there has at least one, as far as there is room.
fn bar(lines: &[u32; 5]) -> Vec<(Kind, usize)> {
    let sum: u64 = lines.iter().map(|lines| u64::from(*lines)).sum();
    if sum == 0 {
        return Vec::new();
    }
    let part = |lines: u32| (u64::from(lines) * BAR as u64 / sum).max(u64::from(lines > 0));
    let mut parts: Vec<u64> = lines.iter().map(|lines| part(*lines)).collect();
    // What rounding has left, or taken too much, is the largest part's.
    let all: u64 = parts.iter().sum();
    if let Some(largest) = parts.iter_mut().max() {
        *largest = (*largest + BAR as u64).saturating_sub(all);
    }
    let columns = |part: u64| usize::try_from(part).unwrap_or(BAR);
    KINDS.into_iter().zip(parts).map(|(kind, part)| (kind, columns(part))).filter(|(_, part)| *part > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::one([3, 0, 0, 0, 0], &[(Kind::Agent, 8)])]
    #[case::halves([2, 0, 2, 0, 0], &[(Kind::Agent, 4), (Kind::Human, 4)])]
    #[case::little_is_not_nothing([1000, 0, 1, 0, 0], &[(Kind::Agent, 7), (Kind::Human, 1)])]
    #[case::all([1, 1, 1, 1, 1], &[(Kind::Agent, 1), (Kind::Mixed, 1), (Kind::Human, 1), (Kind::Unknown, 1), (Kind::Base, 4)])]
    #[case::none([0; 5], &[])]
    fn a_bar_has_all_kinds(#[case] lines: [u32; 5], #[case] expected: &[(Kind, usize)]) {
        assert_eq!(bar(&lines), expected);
    }

    #[rstest::rstest]
    #[case("src/a.rs", 8, "src/a.rs")]
    #[case("source/a.rs", 8, ".../a.rs")]
    #[case("source/\u{6570}\u{6570}", 6, "...\u{6570}")]
    fn the_end_of_a_name_is_kept(#[case] name: &str, #[case] columns: usize, #[case] expected: &str) {
        assert_eq!(from_end(name, columns), expected);
    }
}
