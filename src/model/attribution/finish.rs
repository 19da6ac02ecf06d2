//! Turns the replayed state into what a commit adds and deletes, as git counts it.

use std::{collections::BTreeMap, ops::Range};

use bstr::ByteSlice as _;

use super::{
    AuthorId, Change, Committed, FileOwnership, Owner, Ownership,
    file::{self, File, Line, line_count},
    replay::{NOT_DELETED, Replay},
    spans,
};
use crate::model::line_diff::Edit;

/// How often the two views may send us from line to line; after that, the line counts as moved.
const MOST_HOPS: usize = 100;

impl Replay<'_> {
    /// Returns the attribution of `committed`, all files that differ between the parent and the commit.
    pub fn finish(mut self, committed: &[Committed]) -> Ownership {
        replay_rest(&mut self, committed);
        self.flush();
        std::mem::take(&mut self.moved_later).give_back(&mut self.files);
        Ownership { files: committed.iter().map(|entry| ownership(&self, entry)).collect() }
    }
}

/// Replays the difference between the last step and the commit.
fn replay_rest(replay: &mut Replay<'_>, committed: &[Committed]) {
    if committed.iter().any(|entry| entry.from.is_some()) {
        replay.flush();
    }
    let mut steps: BTreeMap<AuthorId, Vec<Change>> = BTreeMap::new();
    for entry in committed {
        let changes = steps.entry(entry.author).or_default();
        let change =
            |path: &bstr::BString, from, before, after| Change { path: path.clone(), from, before, after, moved: None };
        let Some(from) = &entry.from else {
            changes.push(change(&entry.path, None, entry.before.clone(), entry.after.clone()));
            continue;
        };
        let is_there = replay.current(entry.path.as_ref()).is_some();
        let is_left = !replay.knows(from.as_ref()) || replay.current(from.as_ref()).is_some();
        // A file that was there before knows its lines better than the one that git takes for its old name.
        if !is_there && is_left && !replay.remembers(entry.path.as_ref()) {
            changes.push(change(&entry.path, Some(from.clone()), entry.before.clone(), entry.after.clone()));
        } else {
            changes.push(change(&entry.path, None, None, entry.after.clone()));
            changes.push(change(from, None, entry.before.clone(), None));
        }
    }
    for (author, changes) in steps {
        replay.step_of(author, changes, true);
    }
}

/// Returns the attribution of a committed file.
fn ownership(replay: &Replay<'_>, entry: &Committed) -> FileOwnership {
    let absent = File::absent();
    let file = replay.files.get(&entry.path).unwrap_or(&absent);
    let (before, after) = (file::text(entry.before.as_ref()), file::text(entry.after.as_ref()));
    let base = replay.bases.get(entry.from.as_ref().unwrap_or(&entry.path)).copied();
    let is_large = before.len().max(after.len()) > replay.limits.file_bytes;
    let has_no_lines = file::has_no_lines(entry.before.as_ref()) || file::has_no_lines(entry.after.as_ref());
    let edits = match (has_no_lines, &entry.edits) {
        (true, _) => Vec::new(),
        (_, Some(edits)) => edits.clone(),
        _ if is_large => ends(before, after),
        _ => counted(replay, before, after),
    };
    let side = Side {
        file: base,
        lines: &file.lines,
        fates: base.map_or(&[], |base| replay.fates[base as usize].as_slice()),
        edits: &edits,
        images: images(&file.lines, base),
        author: entry.author,
    };
    let added = edits.iter().flat_map(|(_, new)| new.clone());
    let mut removed: BTreeMap<AuthorId, u32> = BTreeMap::new();
    let mut kept = 0;
    for line in edits.iter().flat_map(|(old, _)| old.clone()) {
        match side.who_removed(line) {
            NOT_DELETED => kept += 1,
            author => *removed.entry(author).or_default() += 1,
        }
    }
    FileOwnership {
        path: entry.path.clone(),
        from: entry.from.clone(),
        spans: spans(added.map(|line| (line, side.owner(line)))),
        removed: removed.into_iter().collect(),
        kept,
        whole: has_no_lines.then_some(if file.content.is_none() { Owner::Author(entry.author) } else { file.whole }),
        is_cut_off: file.is_cut_off || is_large,
    }
}

/// Where base lines are now, by line of the base.
fn images(lines: &[Line], base: Option<u32>) -> BTreeMap<u32, usize> {
    let origins = lines.iter().enumerate().filter_map(|(at, line)| Some((line.origin?, at)));
    // The first place wins.
    origins.rev().filter(|(origin, _)| Some(origin.file) == base).map(|(origin, at)| (origin.line, at)).collect()
}

/// The two views of a file: the replayed one, and git's comparison of the parent with the commit.
///
/// If a line occurs several times, they may disagree on which of them is old. Git's view decides which ones count as
/// added; such a line gets the owner that the replayed view gives to the line which git considers old, and so on.
struct Side<'s> {
    file: Option<u32>,
    lines: &'s [Line],
    fates: &'s [AuthorId],
    edits: &'s [Edit],
    images: BTreeMap<u32, usize>,
    author: AuthorId,
}

impl Side<'_> {
    fn owner(&self, line: usize) -> Owner {
        let mut line = line;
        for _ in 0..MOST_HOPS {
            let Some(known) = self.lines.get(line) else { return Owner::Author(self.author) };
            let Some(origin) = known.origin else { return known.owner };
            if Some(origin.file) != self.file {
                break;
            }
            match counterpart(self.edits, origin.line as usize, |(old, new)| (old, new)) {
                Some(next) if next != line => line = next,
                _ => break,
            }
        }
        Owner::Base
    }

    fn who_removed(&self, line: usize) -> AuthorId {
        let mut line = line;
        for _ in 0..MOST_HOPS {
            match self.fates.get(line) {
                None => return self.author,
                Some(&NOT_DELETED) => {}
                Some(&author) => return author,
            }
            let image = u32::try_from(line).ok().and_then(|line| self.images.get(&line));
            match image.and_then(|image| counterpart(self.edits, *image, |(old, new)| (new, old))) {
                Some(next) if next != line => line = next,
                _ => break,
            }
        }
        NOT_DELETED
    }
}

/// Returns the line of the other side that git pairs with this one; `sides` says which side is which.
fn counterpart(edits: &[Edit], line: usize, sides: fn(&Edit) -> (&Range<usize>, &Range<usize>)) -> Option<usize> {
    let after = edits.partition_point(|edit| sides(edit).0.start <= line);
    let Some(edit) = after.checked_sub(1).map(|at| &edits[at]) else { return Some(line) };
    let (this, other) = sides(edit);
    (line >= this.end).then(|| line - this.end + other.end)
}

fn counted(replay: &Replay<'_>, before: &[u8], after: &[u8]) -> Vec<Edit> {
    match (line_count(before) as usize, line_count(after) as usize) {
        (0, 0) => Vec::new(),
        (old, new) if old == 0 || new == 0 => vec![(0..old, 0..new)],
        _ => (replay.differ.counted)(before, after),
    }
}

/// Returns the edit between the common lines at both ends.
fn ends(before: &[u8], after: &[u8]) -> Vec<Edit> {
    let (old, new) = (line_count(before) as usize, line_count(after) as usize);
    let same = |(a, b): &(&[u8], &[u8])| a == b;
    let top = before.lines_with_terminator().zip(after.lines_with_terminator()).take_while(same).count();
    let common = before.iter().rev().zip(after.iter().rev()).take_while(|(a, b)| a == b).count();
    let bottom = before[before.len() - common..].find_byte(b'\n');
    let bottom = bottom.map_or(0, |at| line_count(&before[before.len() - common + at + 1..]) as usize);
    let bottom = bottom.min(old - top).min(new - top);
    if top == old && top == new { Vec::new() } else { vec![(top..old - bottom, top..new - bottom)] }
}
