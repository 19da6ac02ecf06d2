//! What the browser shows, and how that changes: pure. Keys are in `press`.

use std::{
    collections::{HashMap, HashSet},
    ffi::OsString,
    ops::Range,
};

use bstr::BString;
use gix::ObjectId;

use super::{
    super::output::printable,
    input::Input,
    lines,
    loaded::{Loaded, Shown},
    ran::Words,
    rows::{Authors, Key, Row},
};
use crate::ops::browse::Subject;

/// A part of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pane {
    Timeline,
    Files,
    Diff,
}

/// What keys are for.
#[derive(Debug)]
pub(super) enum Mode {
    Normal,
    /// The list of keys, from this line on.
    Help(usize),
    Input(Input),
    Text(Text),
}

/// What a command has printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Text {
    /// The command.
    pub(super) words: Words,
    pub(super) lines: Vec<String>,
    /// The first line that is shown.
    pub(super) top: usize,
    /// The command that is asked about: this is its plan.
    pub(super) then: Option<Words>,
}

/// What a row is compared with, instead of what was before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Against {
    Worktree,
    Id(ObjectId),
}

/// What a search has found.
#[derive(Debug, Default)]
pub(super) struct Hits {
    /// What was searched for.
    pub(super) text: String,
    /// Checkpoints and commits.
    pub(super) ids: HashSet<ObjectId>,
    /// Turns, by session, printable.
    pub(super) turns: HashMap<String, HashSet<u32>>,
}

impl Hits {
    /// Returns true if `row` is a hit.
    pub(super) fn have(&self, row: &Row, authors: &Authors) -> bool {
        match row {
            Row::Worktree => false,
            Row::Commit { id, .. } => self.ids.contains(id),
            Row::Checkpoint(row) => {
                let session = authors.get(row.author).and_then(|author| author.session.as_deref());
                let turns = session.and_then(|session| self.turns.get(session));
                self.ids.contains(&row.id) || turns.zip(row.turn).is_some_and(|(turns, turn)| turns.contains(&turn))
            }
        }
    }
}

/// Which row is looked for in the part of the list that is not read yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Goal {
    /// The last one.
    End,
    /// The next one that the search has found, from this place on.
    Hit(usize),
    /// The one that was selected before the list was read again, at this place.
    Again(Key, usize),
}

/// All that is shown.
#[derive(Debug)]
pub(super) struct State {
    pub(super) rows: Vec<Row>,
    pub(super) authors: Authors,
    /// True once all rows were read.
    pub(super) is_complete: bool,
    /// The selected row, and the first one that is shown.
    pub(super) at: usize,
    pub(super) top: usize,
    pub(super) pane: Pane,
    pub(super) loaded: Option<Loaded>,
    /// The same of files.
    pub(super) file_at: usize,
    pub(super) file_top: usize,
    /// The same of lines.
    pub(super) line_at: usize,
    pub(super) line_top: usize,
    pub(super) against: Option<Against>,
    pub(super) mode: Mode,
    /// What was done last, and whether that is a failure.
    pub(super) message: Option<(String, bool)>,
    pub(super) hits: Option<Hits>,
    pub(super) goal: Option<Goal>,
    /// The arguments of `list` that were typed as a filter.
    pub(super) filter: String,
    /// The pathspecs of the command line.
    pub(super) paths: Vec<OsString>,
    /// The options of `restore`, if that lets the user pick a checkpoint.
    pub(super) picks: Option<Vec<OsString>>,
    /// The current directory in the worktree.
    pub(super) prefix: BString,
    /// How many rows a pane has.
    pub(super) page: usize,
}

impl State {
    pub(super) fn new(paths: Vec<OsString>, picks: Option<Vec<OsString>>, prefix: BString) -> Self {
        let mut state = Self {
            rows: Vec::new(),
            authors: Authors::default(),
            is_complete: false,
            at: 0,
            top: 0,
            pane: Pane::Timeline,
            loaded: None,
            file_at: 0,
            file_top: 0,
            line_at: 0,
            line_top: 0,
            against: None,
            mode: Mode::Normal,
            message: None,
            hits: None,
            goal: None,
            filter: String::new(),
            paths,
            picks,
            prefix,
            page: 1,
        };
        state.begin();
        state
    }

    /// Begins the list. What is not committed yet cannot be picked: the worktree has it.
    fn begin(&mut self) {
        self.rows.clear();
        self.rows.extend(self.picks.is_none().then_some(Row::Worktree));
        self.is_complete = false;
    }

    pub(super) fn row(&self) -> Option<&Row> {
        self.rows.get(self.at)
    }

    /// Returns the selected file of what was read of the selected row.
    pub(super) fn file(&self) -> Option<&Shown> {
        let subject = self.subject();
        let loaded = self.loaded.as_ref().filter(|loaded| Some(&loaded.subject) == subject.as_ref())?;
        loaded.files.get(self.file_at)
    }

    /// Returns what is to be shown of the selected row.
    pub(super) fn subject(&self) -> Option<Subject> {
        let row = self.row()?;
        let (Some(against), Some(id)) = (self.against, row.id()) else { return Some(row.subject()) };
        Some(match against {
            Against::Worktree => Subject::Compared { from: id, to: None },
            Against::Id(other) if other == id => row.subject(),
            // What is further down is older.
            Against::Id(other) if self.is_above(other) => Subject::Compared { from: id, to: Some(other) },
            Against::Id(other) => Subject::Compared { from: other, to: Some(id) },
        })
    }

    /// Returns true if the row of `id` is above the selected one.
    fn is_above(&self, id: ObjectId) -> bool {
        self.rows[..self.at].iter().any(|row| row.id() == Some(id))
    }

    /// Returns what has to be read: of the selected row, or only of one file of it.
    pub(super) fn wanted(&self) -> Option<(Subject, Option<BString>)> {
        let subject = self.subject()?;
        match self.loaded.as_ref().filter(|loaded| loaded.subject == subject) {
            None => Some((subject, None)),
            Some(loaded) => {
                let file = loaded.files.get(self.file_at)?;
                (file.lines.is_none() || !file.is_owned).then(|| (subject, Some(file.path.clone())))
            }
        }
    }

    /// Takes what was read of a row, if it is still the selected one.
    pub(super) fn load(&mut self, loaded: Loaded) {
        if Some(&loaded.subject) != self.subject().as_ref() {
            return;
        }
        let is_same = self.loaded.as_ref().is_some_and(|known| known.subject == loaded.subject);
        if !is_same {
            (self.file_at, self.file_top, self.line_at, self.line_top) = (0, 0, 0, 0);
        }
        self.file_at = self.file_at.min(loaded.files.len().saturating_sub(1));
        self.loaded = Some(loaded);
    }

    /// Notes that what `wanted` returned cannot be read, and `why`.
    pub(super) fn give_up(&mut self, subject: Subject, only: Option<&BString>, why: &str) {
        match (&mut self.loaded, only) {
            (Some(loaded), Some(path)) if loaded.subject == subject => loaded.give_up(path, why),
            (_, Some(_)) => {}
            (_, None) => self.load(Loaded::unreadable(subject, why)),
        }
    }

    /// Lets all that was read of the selected row be read again.
    pub(super) fn unload(&mut self) {
        self.loaded = None;
    }

    /// Returns how many rows of the list have to be read.
    pub(super) fn needed(&self) -> usize {
        if self.goal.is_some() { usize::MAX } else { self.at.max(self.top) + 2 * self.page + 2 }
    }

    /// Takes more rows of the list.
    pub(super) fn add(&mut self, rows: Vec<Row>) {
        self.rows.extend(rows);
        self.approach();
    }

    /// Notes that there are no more rows.
    pub(super) fn end(&mut self) {
        self.is_complete = true;
        self.approach();
    }

    /// Goes to the row that is looked for, if it was read.
    fn approach(&mut self) {
        match self.goal {
            Some(Goal::End) if self.is_complete => {
                self.goal = None;
                self.at = self.rows.len().saturating_sub(1);
            }
            Some(Goal::Hit(from)) => {
                self.goal = None;
                self.seek_from(from);
            }
            Some(Goal::Again(key, at)) => {
                if let Some(found) = self.rows.iter().position(|row| row.key() == key) {
                    (self.at, self.goal) = (found, None);
                } else if self.is_complete || self.rows.len() > at + 2 * self.page {
                    // It is gone: stay at its place.
                    (self.at, self.goal) = (at.min(self.rows.len().saturating_sub(1)), None);
                }
            }
            _ => {}
        }
    }

    /// Forgets the rows, which are read again; selects the same one afterwards.
    pub(super) fn restart(&mut self) {
        if let Some(row) = self.row() {
            self.goal = Some(Goal::Again(row.key(), self.at));
        }
        self.begin();
        self.approach();
    }

    /// Goes to the next row that the search has found, or to the one before.
    pub(super) fn seek(&mut self, is_forward: bool) {
        if is_forward {
            return self.seek_from(self.at + 1);
        }
        let found = self.hit_in(0..self.at, true).or_else(|| self.hit_in(0..self.rows.len(), true));
        self.arrive(found);
    }

    /// Goes to the first row from `from` on that the search has found; if there is none, to the first of all.
    fn seek_from(&mut self, from: usize) {
        let found = self.hit_in(from..self.rows.len(), false);
        if found.is_none() && !self.is_complete && self.hits.is_some() {
            self.goal = Some(Goal::Hit(self.rows.len()));
            return;
        }
        let found = found.or_else(|| self.hit_in(0..self.rows.len(), false));
        self.arrive(found);
    }

    fn arrive(&mut self, found: Option<usize>) {
        match (found, &self.hits) {
            (Some(found), _) => self.at = found,
            (None, None) => self.message = Some(("nothing was searched for; '/' does".to_owned(), true)),
            (None, Some(hits)) => {
                self.message = Some((format!("no row of this list has '{}'", printable(&hits.text)), true));
            }
        }
    }

    /// Returns the first row of `places` that the search has found, or the last one.
    fn hit_in(&self, places: Range<usize>, is_last: bool) -> Option<usize> {
        let hits = self.hits.as_ref()?;
        let begin = places.start;
        let rows = self.rows.get(places)?;
        let is_hit = |row: &Row| hits.have(row, &self.authors);
        let found = if is_last { rows.iter().rposition(is_hit) } else { rows.iter().position(is_hit) };
        found.map(|place| begin + place)
    }

    /// Takes what a search has found, and goes to the first one.
    pub(super) fn find(&mut self, hits: Hits) {
        let count = hits.ids.len() + hits.turns.len();
        self.hits = Some(hits);
        self.message = if count == 0 { Some(("nothing was found".to_owned(), true)) } else { None };
        if count > 0 {
            self.seek(true);
        }
    }

    /// Takes what the command `words` has printed. With `then`, it is the plan of that command.
    pub(super) fn ran(&mut self, words: Words, then: Option<Words>, printed: &str, is_failure: bool) {
        let lines = lines::printed(printed);
        if then.is_none() && lines.len() <= 1 {
            let line = lines.into_iter().next().unwrap_or_else(|| "done".to_owned());
            self.message = Some((line, is_failure));
            self.mode = Mode::Normal;
            return;
        }
        // Where nothing would be done, there is nothing to ask.
        let then = then.filter(|_| lines.iter().any(|line| line.starts_with("would ")));
        self.message = None;
        self.mode = Mode::Text(Text { words, lines, top: 0, then });
    }
}
