//! The hunks of a file, and the pieces of which they are made.

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::super::attribution::{ChangedFile, Who};
use crate::{
    git::digest::sha256,
    model::{
        attribution::kind::Kind,
        change::{Change, Leaf, Mode},
        line_diff::{self, Side},
        review::{Decision, Mark, Part, Piece, Span, State, alike, holding, number, pieces, split},
    },
};

/// How many digits of a digest identify a piece.
const DIGITS: usize = 16;
/// How many digits of a digest are compared.
const STORED: usize = 40;

/// A file that was changed.
pub(crate) struct File {
    /// The commit that has changed it; none if that is not committed.
    pub(crate) commit: Option<ObjectId>,
    /// What it was, and is.
    pub(crate) change: Change,
    /// What can be decided about it.
    pub(crate) items: Vec<Item>,
    /// The same as it is shown.
    pub(crate) hunks: Vec<Hunk>,
}

/// The least thing that can be decided.
#[derive(Debug)]
pub(crate) struct Item {
    /// What it is known by, here and in JSON.
    pub(crate) id: String,
    /// What it changes.
    pub(crate) what: What,
    /// What identifies it.
    pub(super) mark: Mark,
    /// How many are like it in the file.
    pub(super) alike: u32,
    /// How many lines it removes, and adds.
    pub(crate) lines: (u32, u32),
    /// Who has added its lines.
    pub(crate) owners: Vec<Who>,
    /// What was decided.
    pub(crate) decision: Option<Decision>,
}

/// What a piece changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// Lines.
    Lines(Span),
    /// The file as a whole: it has no lines, or is of another type than before.
    Content,
    /// Whether it can be executed.
    Mode,
    /// The name.
    Name,
}

/// What is shown together.
#[derive(Clone, Debug)]
pub(crate) struct Hunk {
    /// Its pieces, by their numbers in the file.
    pub(crate) items: Vec<usize>,
    /// Its lines, with the owners of the added ones; none of a piece without lines.
    pub(crate) lines: Option<(line_diff::Hunk, Vec<Who>)>,
}

impl Item {
    /// Returns how far it is reviewed.
    pub(crate) fn state(&self) -> State {
        State::of(self.decision.as_ref().map(|decision| decision.verdict))
    }

    /// Returns the sessions that have a part in it.
    pub(crate) fn sessions(&self) -> Vec<Part> {
        let part = |who: &Who| Some(Part { session: who.session.clone()?, turn: who.turn });
        let mut parts: Vec<Part> = self.owners.iter().filter_map(part).collect();
        parts.sort();
        parts.dedup();
        parts
    }
}

/// Returns the author of a line as far as review compares authors: where it changes, a piece ends. None for a line that only moved.
fn author(who: &Who) -> Option<(Kind, Option<&str>, Option<u32>)> {
    (who.owner != Kind::Base).then_some((who.owner, who.session.as_deref(), who.turn))
}

pub(super) fn digest(parts: &[&[u8]]) -> String {
    let mut whole = sha256(parts);
    whole.truncate(STORED);
    whole
}

fn mark(removed: &[u8], added: &[u8], near: [Option<&BString>; 2]) -> Mark {
    let [before, after] = near.map(|line| line.map(|line| digest(&[line])));
    Mark { removed: digest(&[removed]), added: digest(&[added]), before, after, nth: 0, of: 1 }
}

/// Returns the mark of a piece without lines, which changes `before` to `after`.
fn mark_of(kind: &str, before: &[u8], after: &[u8]) -> Mark {
    let of = |side: &[u8]| digest(&[kind.as_bytes(), b"\0", side]);
    Mark { removed: of(before), added: of(after), before: None, after: None, nth: 0, of: 1 }
}

pub(super) fn is_executable(mode: Mode) -> bool {
    mode == Mode::Executable
}

impl File {
    /// Returns the file of `changed`, which `commit` has, of which nothing is decided yet.
    pub(super) fn of(changed: ChangedFile, commit: Option<ObjectId>) -> Self {
        let ChangedFile { change, patch, whole } = changed;
        let patch = patch.filter(|_| !is_of_another_type(&change));
        let is_whole = patch.is_none();
        let mut file = Self { commit, change, items: Vec::new(), hunks: Vec::new() };
        if let Some(old) = file.change.old_path.clone() {
            file.add(What::Name, mark_of("name", &old, &file.change.path), whole.clone());
        }
        if let (Some(before), Some(after)) = (file.change.before, file.change.after)
            && !is_whole
            && is_executable(before.mode) != is_executable(after.mode)
        {
            let word = |mode| if is_executable(mode) { b"executable" as &[u8] } else { b"" };
            file.add(What::Mode, mark_of("mode", word(before.mode), word(after.mode)), whole.clone());
        }
        let lines = patch.map(|patch| patch.hunks).unwrap_or_default();
        let has_both_empty = lines.is_empty() && (file.change.before.is_none() || file.change.after.is_none());
        let is_other = file.change.before.map(|it| it.id) != file.change.after.map(|it| it.id);
        if is_whole && is_other || is_of_another_type(&file.change) || has_both_empty {
            let of = |leaf: Option<Leaf>| leaf.map_or_else(String::new, |leaf| format!("{:?} {}", leaf.mode, leaf.id));
            let mark = mark_of("content", of(file.change.before).as_bytes(), of(file.change.after).as_bytes());
            file.add(What::Content, mark, whole);
        }
        for (hunk, owners) in lines {
            file.add_lines(hunk, owners);
        }
        let mut marks: Vec<Mark> = file.items.iter().map(|item| item.mark.clone()).collect();
        number(&mut marks);
        let counts = alike(&marks);
        for ((item, mark), count) in file.items.iter_mut().zip(marks).zip(counts) {
            (item.mark, item.alike) = (mark, count);
            item.id = id_of(&file.change.path, &item.mark);
        }
        file
    }

    fn add(&mut self, what: What, mark: Mark, whole: Option<Who>) {
        self.hunks.push(Hunk { items: vec![self.items.len()], lines: None });
        self.items.push(Item {
            id: String::new(),
            what,
            mark,
            alike: 1,
            lines: (0, 0),
            owners: whole.into_iter().collect(),
            decision: None,
        });
    }

    fn add_lines(&mut self, hunk: line_diff::Hunk, owners: Vec<Who>) {
        let mut left = owners.iter();
        let mut numbers = Vec::new();
        for piece in pieces(&hunk, &|at| author(&owners[at])) {
            let count = |text: &BString| u32::try_from(text.lines().count()).unwrap_or(u32::MAX);
            let mut own: Vec<Who> = left.by_ref().take(piece.span.new.len()).cloned().collect();
            // Lines that only moved are of no session.
            own.retain(|who| who.owner != Kind::Base);
            own.dedup();
            numbers.push(self.items.len());
            self.items.push(Item {
                id: String::new(),
                mark: mark(&piece.removed, &piece.added, [piece.before.as_ref(), piece.after.as_ref()]),
                alike: 1,
                lines: (count(&piece.removed), count(&piece.added)),
                owners: own,
                decision: None,
                what: What::Lines(piece.span),
            });
        }
        self.hunks.push(Hunk { items: numbers, lines: Some((hunk, owners)) });
    }

    /// Returns true if it is at `path`, or was.
    pub(super) fn is_at(&self, path: &BString) -> bool {
        self.change.path == *path || self.change.old_path.as_ref() == Some(path)
    }

    /// Takes over what of `decisions` holds.
    pub(super) fn decide(&mut self, decisions: &[Decision]) {
        let marks: Vec<Mark> = self.items.iter().map(|item| item.mark.clone()).collect();
        for (item, decision) in self.items.iter_mut().zip(holding(&marks, decisions)) {
            item.decision = decision.cloned();
        }
    }

    /// Leaves out the hunks, or parts of them, whose pieces are not `wanted`; that says it of each.
    pub(super) fn limit(&mut self, wanted: &[bool]) {
        let mut kept = Vec::new();
        for hunk in std::mem::take(&mut self.hunks) {
            let is_wanted = |at: &usize| wanted[*at];
            if hunk.items.iter().all(is_wanted) {
                kept.push(hunk);
            } else {
                kept.extend(hunk.split().into_iter().filter(|part| part.items.iter().all(is_wanted)));
            }
        }
        self.hunks = kept;
    }

    /// Returns how far `hunk`, which is one of this file, is reviewed.
    pub(crate) fn state(&self, hunk: &Hunk) -> State {
        State::of_all(hunk.items.iter().map(|at| self.items[*at].state()))
    }

    /// Returns what `hunk` is known by in JSON: the id of its only piece, or one of its own.
    pub(crate) fn id(&self, hunk: &Hunk) -> String {
        match hunk.items.as_slice() {
            [only] => self.items[*only].id.clone(),
            several => {
                let ids: Vec<&[u8]> = several.iter().map(|at| self.items[*at].id.as_bytes()).collect();
                let mut id = sha256(&ids);
                id.truncate(DIGITS);
                id
            }
        }
    }

    /// Returns what was decided about `hunk`, if that is the same for all of it.
    pub(crate) fn decision(&self, hunk: &Hunk) -> Option<&Decision> {
        let mut decisions = hunk.items.iter().map(|at| self.items[*at].decision.as_ref());
        let first = decisions.next()??;
        let is_same =
            |it: Option<&Decision>| it.is_some_and(|it| (it.verdict, &it.text) == (first.verdict, &first.text));
        decisions.all(is_same).then_some(first)
    }
}

impl Hunk {
    /// Returns a hunk for each of its pieces.
    pub(crate) fn split(&self) -> Vec<Self> {
        let Some((hunk, owners)) = &self.lines else {
            return self.items.iter().map(|item| Self { items: vec![*item], lines: None }).collect();
        };
        let pieces: Vec<Piece> = pieces(hunk, &|at| author(&owners[at]));
        let mut left = owners.iter();
        let parts = split(hunk, &pieces).into_iter().zip(&self.items);
        let part = |(part, item): (line_diff::Hunk, &usize)| {
            let added = part.lines.iter().filter(|line| line.side == Side::Added).count();
            Self { items: vec![*item], lines: Some((part, left.by_ref().take(added).cloned().collect())) }
        };
        parts.map(part).collect()
    }
}

fn is_of_another_type(change: &Change) -> bool {
    matches!((change.before, change.after), (Some(before), Some(after)) if !before.mode.same_type(after.mode))
        || [change.before, change.after].iter().flatten().any(|leaf| leaf.mode == Mode::Gitlink)
}

fn id_of(path: &BString, mark: &Mark) -> String {
    let text = |side: &Option<String>| side.clone().unwrap_or_default();
    let place = format!("{} {} {} {} {}", mark.removed, mark.added, text(&mark.before), text(&mark.after), mark.nth);
    let mut id = sha256(&[path, b"\0", place.as_bytes()]);
    id.truncate(DIGITS);
    id
}
