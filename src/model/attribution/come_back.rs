//! Lines of others that were gone and that a step has again: has it brought them back, or has its author typed the same?
//!
//! Of the lines that were given up at once, more than half have to come back, or a telling run of them: single common lines, such
//! as `return None`, are the author's. [`Share`] has the thresholds.

use std::collections::{HashMap, HashSet};

use bstr::ByteSlice as _;

use super::{
    AuthorId, Content, Differ,
    align::{Pair, is_telling, pairs_without_blanks},
    file::{Grave, text},
    work::{Places, Work},
};
use crate::model::share::{Share, letters};

/// How many deleted lines around a place (and four more for each line there) are compared with the new lines: the last
/// ones.
const MOST_NEAR: usize = 400;

impl Work<'_> {
    /// Finds lines that were deleted here before, by any author: they get their owner back, unless `typist` has typed them.
    pub(super) fn place_restored(&mut self, differ: &Differ<'_>, typist: Option<AuthorId>, graves: &[Grave]) {
        if graves.is_empty() {
            return;
        }
        let places = Places::new(graves);
        // Lines that come back together: each with its grave.
        let mut runs: Vec<Vec<Pair>> = Vec::new();
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
            let is_next = |one: &Pair, next: &Pair| {
                let is_same_burial = || graves[near[one.0]].burial == graves[near[next.0]].burial;
                one.0 + 1 == next.0 && open[one.1] + 1 == open[next.1] && is_same_burial()
            };
            for run in pairs.chunk_by(is_next) {
                let run: Vec<Pair> = run.iter().map(|&(old, new)| (near[old], open[new])).collect();
                taken.extend(run.iter().map(|(at, _)| *at));
                runs.push(run);
            }
        }
        let is_of_other = |at: usize| {
            let owner = graves[at].line.owner.author();
            owner.zip(typist).is_some_and(|(owner, typist)| owner != typist)
        };
        let mut given_up: HashMap<usize, Vec<usize>> = HashMap::new();
        for at in (0..graves.len()).filter(|at| is_of_other(*at)) {
            given_up.entry(graves[at].burial).or_default().push(at);
        }
        let mut typed: HashSet<usize> = HashSet::new();
        for (burial, given_up) in given_up {
            let here: Vec<&[Pair]> =
                runs.iter().map(Vec::as_slice).filter(|run| graves[run[0].0].burial == burial).collect();
            typed.extend(typed_anew(&given_up, &here, |at| &graves[at].text));
        }
        for (at, new) in runs.into_iter().flatten().filter(|(at, _)| !(is_of_other(*at) && typed.contains(at))) {
            self.placed[new] = Some(graves[at].line);
            self.reopened.insert(at);
        }
    }

    /// Parts the old lines of others that were gone in one of the contents `between` from the new lines that are like them, if the
    /// author has typed these.
    pub(super) fn part_retyped(&mut self, differ: &Differ<'_>, author: AuthorId, between: &[Option<Content>]) {
        let is_of_other = |old: usize| self.known[old].owner.author().is_some_and(|owner| owner != author);
        let others: Vec<usize> = (0..self.old.len()).filter(|old| is_of_other(*old)).collect();
        if others.is_empty() || self.is_cut_off {
            return;
        }
        for content in between {
            let kept = self.kept_in(differ, text(content.as_ref()));
            let given_up: Vec<usize> = others.iter().copied().filter(|old| !kept.contains(old)).collect();
            let gone: HashSet<usize> = given_up.iter().copied().collect();
            let back: Vec<Pair> = self.carried.iter().copied().filter(|(old, _)| gone.contains(old)).collect();
            let runs: Vec<&[Pair]> = back.chunk_by(|one, next| (one.0 + 1, one.1 + 1) == *next).collect();
            let typed = typed_anew(&given_up, &runs, |old| self.old[old]);
            // Of given-up lines, an edited one is the author's as well.
            let is_back = back.iter().any(|(old, _)| !typed.contains(old));
            self.given_up.extend(given_up.iter().filter(|_| !is_back));
            for (old, new) in back.into_iter().filter(|(old, _)| typed.contains(old)) {
                self.placed[new] = None;
                self.lives[old] = false;
            }
        }
    }

    /// Returns the old lines that the file had as `content`, too.
    fn kept_in(&self, differ: &Differ<'_>, content: &[u8]) -> HashSet<usize> {
        let content: Vec<&[u8]> = content.lines_with_terminator().collect();
        let mut kept: HashSet<usize> =
            pairs_without_blanks(differ, &self.old, &content).into_iter().map(|(old, _)| old).collect();
        let mut at = 0;
        for (gone, _) in (differ.steps)(&self.old.concat(), &content.concat()) {
            kept.extend(at..gone.start);
            at = gone.end;
        }
        kept.extend(at..self.old.len());
        kept
    }
}

/// Returns those of the lines in `runs` that the author has typed anew. A run is of lines that come back together, each with its
/// new place; `given_up` are all lines that were given up with them.
fn typed_anew<'t>(given_up: &[usize], runs: &[&[Pair]], text: impl Fn(usize) -> &'t [u8]) -> HashSet<usize> {
    let counts = |at: &usize| is_telling(text(*at));
    let total = given_up.iter().filter(|at| counts(at)).count();
    let given_up: HashSet<usize> = given_up.iter().copied().collect();
    let back = runs.iter().copied().flatten().map(|(at, _)| at);
    let held = back.filter(|at| given_up.contains(at) && counts(at)).count();
    let mut typed = HashSet::new();
    for run in runs {
        let letters = run.iter().map(|(at, _)| letters(text(*at))).sum();
        let share = Share { held, total, letters, is_exact: false };
        if total > 0 && !share.is_any() {
            typed.extend(run.iter().map(|(at, _)| *at));
        }
    }
    typed
}
