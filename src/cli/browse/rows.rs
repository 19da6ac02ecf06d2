//! The rows of the timeline, in little memory: there may be a hundred thousand.

use std::collections::HashMap;

use gix::ObjectId;

use super::super::output::printable;
use crate::{
    model::contributor::Contributor,
    ops::{
        browse::Subject,
        history::{Commit, Entry},
    },
};

/// A row of the timeline.
#[derive(Debug)]
pub(super) enum Row {
    /// What is not committed yet.
    Worktree,
    /// A commit of HEAD's history.
    Commit {
        id: ObjectId,
        subject: Box<str>,
    },
    Checkpoint(Box<Checkpoint>),
}

/// A checkpoint, or the last one of a turn.
#[derive(Debug)]
pub(super) struct Checkpoint {
    pub(super) id: ObjectId,
    pub(super) before: ObjectId,
    /// The `n` of `@{n}`.
    pub(super) number: Option<u32>,
    pub(super) seconds: i64,
    /// Where its author is in [`Authors`].
    pub(super) author: u32,
    pub(super) turn: Option<u32>,
    /// How many more this row stands for.
    pub(super) folded: u32,
    /// What it is called, printable.
    pub(super) called: Box<str>,
    pub(super) archived: bool,
    /// What few have.
    pub(super) marks: Option<Box<Marks>>,
}

/// The marks of a row.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Marks {
    pub(super) start: bool,
    pub(super) verified: bool,
    pub(super) undone: bool,
    pub(super) set_aside: bool,
    pub(super) restore: bool,
    pub(super) tags: Vec<String>,
    /// The first line of its note, printable.
    pub(super) note: Option<String>,
}

/// What names a row after the list was read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Worktree,
    Id(ObjectId),
}

impl Row {
    pub(super) fn commit(commit: Commit) -> Self {
        Self::Commit { id: commit.id, subject: printable(commit.subject).into() }
    }

    pub(super) fn key(&self) -> Key {
        match self {
            Self::Worktree => Key::Worktree,
            Self::Commit { id, .. } => Key::Id(*id),
            Self::Checkpoint(row) => Key::Id(row.id),
        }
    }

    /// Returns what it has changed.
    pub(super) fn subject(&self) -> Subject {
        match self {
            Self::Worktree => Subject::Worktree,
            Self::Commit { id, .. } => Subject::Commit(*id),
            Self::Checkpoint(row) => Subject::Checkpoint { before: row.before, id: row.id },
        }
    }

    /// Returns the id of the commit or the checkpoint.
    pub(super) fn id(&self) -> Option<ObjectId> {
        match self.key() {
            Key::Worktree => None,
            Key::Id(id) => Some(id),
        }
    }
}

/// Who made checkpoints, each once, printable.
#[derive(Debug, Default)]
pub(super) struct Authors {
    pub(super) list: Vec<Author>,
    known: HashMap<Author, u32>,
    /// How many sessions there are.
    sessions: usize,
}

/// Who made a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Author {
    /// The agent's name, or the word for the contributor.
    pub(super) name: String,
    pub(super) session: Option<String>,
    pub(super) contributor: Contributor,
    /// Which of the sessions it is, in the order in which they are listed.
    pub(super) place: usize,
}

impl Authors {
    fn id(&mut self, name: String, session: Option<String>, contributor: Contributor) -> u32 {
        let place = match &session {
            Some(session) => self.place(session).unwrap_or(self.sessions),
            None => 0,
        };
        let author = Author { name, session, contributor, place };
        if let Some(id) = self.known.get(&author) {
            return *id;
        }
        self.sessions += usize::from(author.session.is_some() && place == self.sessions);
        let id = u32::try_from(self.list.len()).unwrap_or(u32::MAX);
        self.list.push(author.clone());
        self.known.insert(author, id);
        id
    }

    /// Returns which session `session` is.
    pub(super) fn place(&self, session: &str) -> Option<usize> {
        self.list.iter().find(|author| author.session.as_deref() == Some(session)).map(|author| author.place)
    }

    pub(super) fn get(&self, id: u32) -> Option<&Author> {
        self.list.get(id as usize)
    }

    /// Returns the rows of `entry`: the commits after it, and itself.
    pub(super) fn rows(&mut self, entry: Entry) -> Vec<Row> {
        let mut rows: Vec<Row> = entry.commits.into_iter().map(Row::commit).collect();
        let origin = &entry.checkpoint.origin;
        let is_restore = entry.restored.is_some();
        // A restore is a person's, whatever it has put back.
        let author = if is_restore {
            self.id(Contributor::Human.as_str().to_owned(), None, Contributor::Human)
        } else {
            let name = printable(origin.agent.as_deref().unwrap_or(origin.contributor.as_str()));
            self.id(name, origin.session.as_deref().map(printable), origin.contributor)
        };
        let marks = Marks {
            start: entry.start,
            verified: entry.verified,
            undone: entry.undone,
            set_aside: entry.is_set_aside,
            restore: is_restore,
            tags: entry.tags.iter().map(printable).collect(),
            note: entry.note.as_deref().and_then(|note| note.lines().next()).map(printable),
        };
        rows.push(Row::Checkpoint(Box::new(Checkpoint {
            id: entry.checkpoint.id,
            before: entry.before,
            number: entry.number.and_then(|number| u32::try_from(number).ok()),
            seconds: entry.checkpoint.seconds,
            author,
            turn: origin.turn.filter(|_| !is_restore),
            folded: u32::try_from(entry.folded).unwrap_or(u32::MAX),
            called: printable(&entry.called).into(),
            archived: entry.archived,
            marks: (marks != Marks::default()).then(|| Box::new(marks)),
        })));
        rows
    }
}
