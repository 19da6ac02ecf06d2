//! Lines of sessions that a person's step has again, or still: has the person kept them, or typed the same?
//!
//! A person may give a session's work up, and then type code of their own with common lines such as `return None`. So of all lines of
//! sessions that are gone, or may have been, more than half have to be there, or a telling run of them. [`Share`] has the
//! thresholds. Other lines are the person's if a step has left the file without them, and else of an unknown author.

use std::collections::{HashMap, HashSet};

use bstr::ByteSlice as _;

use super::{
    AuthorId, Differ, Owner,
    align::{Pair, is_telling, pairs_without_blanks},
    file::{File, Grave, Hands, Line},
    work::{Places, Work},
};
use crate::model::share::{Share, letters};

/// The author of lines of whom nobody can know whether a session wrote them or a person has typed the same.
pub(crate) const DOUBT: AuthorId = AuthorId::MAX - 1;

/// How many deleted lines around a place (and four more for each line there) are compared with the new lines: the last
/// ones.
const MOST_NEAR: usize = 400;

impl Work<'_> {
    /// Finds lines that were deleted here before, by any author: they get their owner back, unless a person has typed them.
    pub(super) fn place_restored(&mut self, differ: &Differ<'_>, hands: Hands<'_>, graves: &[Grave]) {
        if graves.is_empty() {
            return;
        }
        let places = Places::new(graves);
        // Lines that come back together: each with its grave.
        let mut back: Vec<Pair> = Vec::new();
        let mut taken = HashSet::new();
        for (gone, come) in self.hunks.clone() {
            let open: Vec<usize> = come.filter(|&new| self.placed[new].is_none()).collect();
            if open.is_empty() {
                continue;
            }
            let mut near = places.between(self.skip + gone.start, self.skip + gone.end);
            near.retain(|at| !taken.contains(at));
            near.sort_unstable();
            let most = MOST_NEAR + 4 * open.len();
            near.drain(..near.len().saturating_sub(most));
            near.sort_by_key(|&at| graves[at].first_gap);
            let texts: Vec<&[u8]> = near.iter().map(|&at| &*graves[at].text).collect();
            let lines: Vec<&[u8]> = open.iter().map(|&new| self.new[new]).collect();
            let pairs = pairs_without_blanks(differ, &texts, &lines);
            taken.extend(pairs.iter().map(|(old, _)| near[*old]));
            back.extend(pairs.into_iter().map(|(old, new)| (near[old], open[new])));
        }
        let mut given_up: HashMap<usize, Vec<usize>> = HashMap::new();
        for at in (0..graves.len()).filter(|at| hands.has(&graves[*at].line)) {
            given_up.entry(graves[at].burial).or_default().push(at);
        }
        let mut typed = HashSet::new();
        for given_up in given_up.into_values() {
            typed.extend(typed_anew(&given_up, &back, &[], |at| &graves[at].text));
        }
        for (at, new) in back.into_iter().filter(|(at, _)| !typed.contains(at)) {
            self.placed[new] = Some(graves[at].line);
            self.reopened.insert(at);
        }
    }

    /// Makes the author of lines unknown that the step seems to have kept, if too few are left of what the sessions had in `file` and
    /// a person has typed something there. The person may have given all up and typed these lines, too.
    ///
    /// `edited` says which old lines are there in another form.
    pub(super) fn doubt(&mut self, hands: Hands<'_>, file: &File, edited: &[bool]) {
        // Without a new line, a commit only takes a part of the work, or the person has deleted some.
        if self.is_cut_off || self.placed.iter().all(Option::is_some) || !file.lines.iter().any(|line| hands.has(line))
        {
            return;
        }
        let texts: Vec<&[u8]> = file.text().lines_with_terminator().collect();
        let end = self.skip + self.old.len();
        let carried: HashSet<usize> = self.carried.iter().map(|(old, _)| old + self.skip).collect();
        // A line that was moved is still there.
        let is_moved =
            |at: usize| (self.skip..end).contains(&at) && self.lives[at - self.skip] && !carried.contains(&at);
        let theirs: Vec<usize> = (0..texts.len()).filter(|at| hands.has(&file.lines[*at]) && !is_moved(*at)).collect();
        let above = (0..self.skip).map(|at| (at, at));
        let below = (end..texts.len()).map(|at| (at, at - self.old.len() + self.new.len()));
        let mut here = self.carried.clone();
        here.sort_unstable();
        let here = here.into_iter().map(|(old, new)| (old + self.skip, new + self.skip));
        let kept: Vec<Pair> = above.chain(here).chain(below).collect();
        let edited: Vec<usize> =
            (self.skip..end).filter(|at| edited[at - self.skip] && !carried.contains(at)).collect();
        let typed = typed_anew(&theirs, &kept, &edited, |at| texts[at]);
        for (at, new) in kept.into_iter().filter(|(at, _)| typed.contains(at)) {
            if let Some(place) = new.checked_sub(self.skip).and_then(|new| self.placed.get_mut(new)) {
                *place = place.map(|line| {
                    if hands.has(&file.lines[at]) { Line { owner: Owner::Author(DOUBT), ..line } } else { line }
                });
            }
        }
    }
}

/// Returns those of the lines `given_up` that a person has typed anew, as far as one can know. `back` has the lines that are there, in
/// order, each with its new place; those in `edited` are there in another form.
fn typed_anew<'t>(
    given_up: &[usize],
    back: &[Pair],
    edited: &[usize],
    text: impl Fn(usize) -> &'t [u8],
) -> HashSet<usize> {
    let all: HashSet<usize> = given_up.iter().copied().filter(|at| is_telling(text(*at))).collect();
    let is_here = back.iter().map(|(at, _)| at).chain(edited);
    let (held, total) = (is_here.filter(|at| all.contains(at)).count(), all.len());
    let all: HashSet<usize> = given_up.iter().copied().collect();
    let back: Vec<Pair> = back.iter().copied().filter(|(at, _)| all.contains(at)).collect();
    let mut typed = HashSet::new();
    for run in back.chunk_by(|one, next| (one.0 + 1, one.1 + 1) == *next) {
        let letters = run.iter().map(|(at, _)| letters(text(*at))).sum();
        let share = Share { held, total, letters, is_exact: false };
        if total > 0 && !share.is_any() {
            typed.extend(run.iter().map(|(at, _)| *at));
        }
    }
    typed
}
