//! Draws the timeline.

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    style::Style,
    text::{Line, Span},
};

use super::{
    super::{
        super::{date, layout, marks, sessions_in_table::Sessions},
        rows::{Checkpoint, Marks, Row},
        state::{Against, Pane, State},
    },
    paint::{Look, Paint, title},
};

/// From so many columns on, a row names the agent.
const WITH_NAMES: usize = 50;
/// From so many columns on, a row also has the name `@{n}`, in so many columns.
const WITH_NUMBERS: usize = 70;
const NUMBER: usize = 7;
/// The columns of marker, date and the blanks around them.
const BESIDE: usize = 9;

pub(super) fn draw(state: &State, look: &Look<'_>, paint: Paint, pane: Rect, buffer: &mut Buffer) {
    title("timeline", state.pane == Pane::Timeline, paint, pane, buffer);
    let height = usize::from(pane.height.saturating_sub(1));
    let shown: Vec<&Row> = state.rows.iter().skip(state.top).take(height).collect();
    let columns = Columns::of(&shown, state, usize::from(pane.width));
    for (y, (at, row)) in (pane.y + 1..).zip((state.top..).zip(shown)) {
        let line = match row {
            Row::Worktree => Line::from(Span::styled("\u{25c7} worktree, not committed yet", paint.bold())),
            Row::Commit { id, subject } => {
                let text = format!("\u{2500}\u{2500} {} {subject} ", (look.short)(id));
                let text = layout::cut(&text, usize::from(pane.width));
                let rule = "\u{2500}".repeat(usize::from(pane.width).saturating_sub(layout::width(&text)));
                Line::from(Span::styled(text + &rule, paint.dim()))
            }
            Row::Checkpoint(row) => columns.line(row, state, look, paint),
        };
        buffer.set_line(pane.x, y, &line, pane.width);
        let is_hit = state.hits.as_ref().is_some_and(|hits| hits.have(row, &state.authors));
        if is_hit {
            buffer.set_string(pane.x, y, "*", paint.bold());
        }
        if let Some(Against::Id(id)) = state.against
            && row.id() == Some(id)
        {
            buffer.set_string(pane.x, y, "=", paint.bold());
        }
        if at == state.at {
            let style = if state.pane == Pane::Timeline { paint.current() } else { paint.title() };
            buffer.set_style(Rect { y, height: 1, ..pane }, style);
        }
    }
}

/// How the columns of the rows share the width.
struct Columns {
    width: usize,
    /// The columns of the author; none if only the turn is named.
    author: Option<usize>,
    sessions: Sessions,
}

impl Columns {
    fn of(rows: &[&Row], state: &State, width: usize) -> Self {
        let checkpoints = || {
            rows.iter().filter_map(|row| match row {
                Row::Checkpoint(row) => Some(row),
                _ => None,
            })
        };
        let authors = || checkpoints().filter_map(|row| state.authors.get(row.author));
        let sessions = Sessions::new(authors().filter_map(|author| author.session.as_deref()));
        let needed = checkpoints().filter_map(|row| {
            let author = state.authors.get(row.author)?;
            Some(sessions.least(&author.name, author.session.as_deref(), &turn(row)))
        });
        let author = (width >= WITH_NAMES).then(|| needed.max().unwrap_or_default().min(width / 3));
        Self { width, author, sessions }
    }

    fn line<'t>(&self, row: &Checkpoint, state: &State, look: &Look<'_>, paint: Paint) -> Line<'t> {
        let id = (look.short)(&row.id);
        let number = row.number.map_or_else(String::new, |number| format!("@{{{number}}}"));
        let number = if self.width < WITH_NUMBERS { String::new() } else { format!("{number:<NUMBER$}") };
        let date = format!("{:<4}", date::brief(row.seconds, look.now));
        let who = match (self.author, state.authors.get(row.author)) {
            (Some(columns), Some(author)) => {
                let name = self.sessions.name(&author.name, author.session.as_deref(), &turn(row), columns);
                layout::padded(&name, columns) + "  "
            }
            _ if row.turn.is_some() => format!("{:<3} ", turn(row).trim()),
            _ => "    ".to_owned(),
        };
        let room = self.width.saturating_sub(BESIDE + number.len() + id.len() + layout::width(&who));
        let (called, marks) = marks::share(&row.called, &marks(row), room);
        let of_author = paint.author(&state.authors, row.author);
        let marker = if row.archived { "\u{25cb} " } else { "\u{25cf} " };
        let plain = if row.archived { paint.dim() } else { Style::new() };
        Line::from(vec![
            Span::styled(marker, of_author),
            Span::styled(number, paint.dim()),
            Span::styled(id, paint.id()),
            Span::styled(format!(" {date} "), paint.dim()),
            Span::styled(who, of_author),
            Span::styled(called, plain),
            Span::styled(marks, paint.mark()),
        ])
    }
}

/// Returns the turn as a row names it, after a blank.
fn turn(row: &Checkpoint) -> String {
    row.turn.map_or_else(String::new, |turn| format!(" t{turn}"))
}

/// Returns the marks behind what a row is called.
fn marks(row: &Checkpoint) -> Vec<String> {
    let none = Marks::default();
    let it = row.marks.as_deref().unwrap_or(&none);
    let folded = usize::try_from(row.folded).unwrap_or(usize::MAX);
    let mut texts = marks::marks(it.start, it.verified, &it.tags, (0, ""));
    texts.extend((folded > 0).then(|| marks::more(folded, "", true)));
    texts.extend(it.undone.then(|| marks::UNDONE.to_owned()));
    texts.extend(it.set_aside.then(|| marks::SET_ASIDE.to_owned()));
    texts.extend(it.note.iter().map(|note| format!("note: {note}")));
    texts
}
