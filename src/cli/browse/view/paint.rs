//! The colours: one for each session, and those of owners.

use gix::ObjectId;
use ratatui::{
    buffer::Buffer,
    layout::Rect,
    style::{Color, Modifier, Style},
};

use super::super::{super::layout, lines::Owner, rows::Authors};
use crate::model::{attribution::kind::Kind, contributor::Contributor};

/// The colours of sessions, in the order in which they are listed. Those of people, of mixed and of unknown lines are others.
const SESSIONS: [Color; 6] =
    [Color::Magenta, Color::Cyan, Color::Blue, Color::LightMagenta, Color::LightCyan, Color::LightBlue];

/// How to paint.
#[derive(Clone, Copy, Debug)]
pub(super) struct Paint {
    pub(super) is_coloured: bool,
}

#[expect(clippy::unused_self, reason = "all styles are asked for in the same way")]
impl Paint {
    fn colour(self, colour: Color) -> Style {
        if self.is_coloured { Style::new().fg(colour) } else { Style::new() }
    }

    pub(super) fn plain(self) -> Style {
        self.colour(Color::Reset)
    }

    pub(super) fn dim(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    pub(super) fn bold(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// Of what failed.
    pub(super) fn warning(self) -> Style {
        self.colour(Color::Red).add_modifier(Modifier::BOLD)
    }

    /// Of the title of a pane.
    pub(super) fn title(self) -> Style {
        self.bold().add_modifier(Modifier::UNDERLINED)
    }

    /// Of what has the keys.
    pub(super) fn current(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    pub(super) fn id(self) -> Style {
        self.colour(Color::Yellow)
    }

    pub(super) fn mark(self) -> Style {
        self.colour(Color::Cyan)
    }

    pub(super) fn added(self) -> Style {
        self.colour(Color::Green)
    }

    pub(super) fn deleted(self) -> Style {
        self.colour(Color::Red)
    }

    /// Of the session at `place`.
    pub(super) fn session(self, place: usize) -> Style {
        self.colour(SESSIONS[place % SESSIONS.len()])
    }

    /// Of an owner without a session.
    pub(super) fn kind(self, kind: Kind) -> Style {
        match kind {
            Kind::Agent => self.colour(SESSIONS[0]),
            Kind::Human => self.colour(Color::Green),
            Kind::Mixed => self.colour(Color::Yellow),
            Kind::Unknown => self.colour(Color::Red),
            Kind::Base => self.dim(),
        }
    }

    /// Of the author of a row.
    pub(super) fn author(self, authors: &Authors, id: u32) -> Style {
        match authors.get(id) {
            Some(author) if author.session.is_some() => self.session(author.place),
            Some(author) => self.contributor(author.contributor),
            None => self.plain(),
        }
    }

    fn contributor(self, contributor: Contributor) -> Style {
        self.kind(contributor.into())
    }

    /// Of the owner of a line: an agent's is that of its session.
    pub(super) fn owner(self, owner: &Owner, authors: &Authors) -> Style {
        let place = owner.session.as_deref().filter(|_| owner.kind == Kind::Agent);
        match place.and_then(|session| authors.place(session)) {
            Some(place) => self.session(place),
            None => self.kind(owner.kind),
        }
    }
}

/// How things look, whatever the state.
pub(in crate::cli::browse) struct Look<'l> {
    /// The time, in Unix seconds.
    pub(in crate::cli::browse) now: i64,
    /// Abbreviates an id.
    pub(in crate::cli::browse) short: &'l dyn Fn(&ObjectId) -> String,
    pub(in crate::cli::browse) is_coloured: bool,
}

/// Draws the title of a pane.
pub(super) fn title(text: &str, is_current: bool, paint: Paint, pane: Rect, buffer: &mut Buffer) {
    let style = if is_current { paint.current() } else { paint.title() };
    buffer.set_style(Rect { height: 1, ..pane }, style);
    let text = layout::cut(&format!(" {text}"), usize::from(pane.width));
    buffer.set_string(pane.x, pane.y, text, style);
}
