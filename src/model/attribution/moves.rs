//! Blocks that a step moved, within a file or from one to another: they keep their owners.

use std::{borrow::Cow, collections::HashMap};

use super::{
    TELLING_LETTERS, TELLING_LINES,
    align::{is_letter_or_digit, is_telling, key},
    work::Work,
};

/// At least this many of its lines contain a letter or a digit: braces and blank lines are everywhere.
const LEAST_TELLING: usize = 2;
/// If a block was deleted several times, only this many places are candidates.
const MOST_CANDIDATES: usize = 16;

/// A line of a file of the step.
type Place = (usize, usize);

/// Finds lines in `works` (all files of a step) that disappeared in one place and appeared in another, and gives them
/// their old owner.
pub(super) fn place_moved(works: &mut [Work<'_>]) {
    let index = index(works);
    for file in 0..works.len() {
        if works[file].is_cut_off || index.is_empty() {
            continue;
        }
        for (_, come) in works[file].hunks.clone() {
            let mut at = come.start;
            while at + TELLING_LINES <= come.end {
                at = place_block(works, &index, (file, at)).unwrap_or(at + 1);
            }
        }
    }
    for (from, to) in lone(works) {
        // An earlier block may have included it.
        if works[to.0].placed[to.1].is_none() && !works[from.0].lives[from.1] {
            let (length, from, to) = extent(works, from, to);
            place(works, length, from, to);
        }
    }
}

/// Returns where distinctive lines disappeared and where they appeared, in order, if they disappeared in one place
/// only.
fn lone(works: &[Work<'_>]) -> Vec<(Place, Place)> {
    struct Lone {
        from: Place,
        to: Option<Place>,
        is_several: bool,
    }
    let tells = |line: &[u8]| line.iter().filter(|byte| is_letter_or_digit(**byte)).count() >= TELLING_LETTERS;
    let whole = || works.iter().enumerate().filter(|(_, work)| !work.is_cut_off);
    let mut lines: HashMap<Cow<'_, [u8]>, Lone> = HashMap::new();
    for (file, work) in whole().filter(|(_, work)| work.lives.contains(&false)) {
        for at in work.hunks.iter().flat_map(|(gone, _)| gone.clone()) {
            if !work.lives[at] && tells(work.old[at]) {
                let lone = Lone { from: (file, at), to: None, is_several: false };
                lines.entry(key(work.old[at])).and_modify(|lone| lone.is_several = true).or_insert(lone);
            }
        }
    }
    if lines.is_empty() {
        return Vec::new();
    }
    for (file, work) in whole() {
        for at in work.hunks.iter().flat_map(|(_, come)| come.clone()) {
            if work.placed[at].is_none()
                && tells(work.new[at])
                && let Some(lone) = lines.get_mut(&key(work.new[at]))
            {
                // Later places are copies, but the line's own file comes first.
                let is_nearer = |to: Place| file == lone.from.0 && to.0 != lone.from.0;
                if lone.to.is_none_or(is_nearer) {
                    lone.to = Some((file, at));
                }
            }
        }
    }
    let lines = lines.into_values().filter(|lone| !lone.is_several);
    let mut found: Vec<(Place, Place)> = lines.filter_map(|lone| Some((lone.from, lone.to?))).collect();
    found.sort_unstable_by_key(|(_, to)| *to);
    found
}

/// Where three lines in a row are gone, by their text without blanks.
fn index(works: &[Work<'_>]) -> HashMap<Vec<u8>, Vec<Place>> {
    let mut index: HashMap<Vec<u8>, Vec<Place>> = HashMap::new();
    let has_open = works.iter().any(|work| work.placed.iter().any(Option::is_none));
    for (file, work) in works.iter().enumerate().filter(|(_, work)| has_open && !work.is_cut_off) {
        for (gone, _) in &work.hunks {
            for at in gone.start..(gone.end + 1).saturating_sub(TELLING_LINES).max(gone.start) {
                let block = at..at + TELLING_LINES;
                if work.lives[block.clone()].iter().any(|lives| *lives) {
                    continue;
                }
                if let Some(text) = text(&work.old[block]) {
                    let places = index.entry(text).or_default();
                    if places.len() < MOST_CANDIDATES {
                        places.push((file, at));
                    }
                }
            }
        }
    }
    index
}

/// Returns the text of the lines, if enough of them are distinctive.
fn text(lines: &[&[u8]]) -> Option<Vec<u8>> {
    (lines.iter().filter(|line| is_telling(line)).count() >= LEAST_TELLING).then(|| {
        lines.iter().fold(Vec::new(), |mut text, line| {
            text.extend_from_slice(&key(line));
            text.push(b'\n');
            text
        })
    })
}

/// Places the block around the new lines that begin at `to`, and returns the line after it.
fn place_block(works: &mut [Work<'_>], index: &HashMap<Vec<u8>, Vec<Place>>, to: Place) -> Option<usize> {
    let block = to.1..to.1 + TELLING_LINES;
    if works[to.0].placed[block.clone()].iter().any(Option::is_some) {
        return None;
    }
    let places = index.get(&text(&works[to.0].new[block])?)?;
    let mut best: Option<(usize, Place, Place)> = None;
    for &from in places {
        let (length, from, to) = extent(works, from, to);
        let is_nearer = |other: &Place| from.0 == to.0 && other.0 != to.0;
        if length >= TELLING_LINES
            && best.as_ref().is_none_or(|(most, other, _)| length > *most || length == *most && is_nearer(other))
        {
            best = Some((length, from, to));
        }
    }
    let (length, from, to) = best?;
    place(works, length, from, to);
    Some(to.1 + length)
}

fn place(works: &mut [Work<'_>], length: usize, from: Place, to: Place) {
    for at in 0..length {
        works[to.0].placed[to.1 + at] = Some(works[from.0].known[from.1 + at]);
        works[from.0].lives[from.1 + at] = true;
    }
    if from.0 != to.0 {
        works[to.0].arrived.push((to.1..to.1 + length, from.0));
    }
}

/// Returns the length and start of the block that contains both places.
fn extent(works: &[Work<'_>], mut from: Place, mut to: Place) -> (usize, Place, Place) {
    let (old, new) = (&works[from.0], &works[to.0]);
    let is_same = |from: usize, to: usize| {
        from < old.old.len()
            && to < new.new.len()
            && !old.lives[from]
            && new.placed[to].is_none()
            && key(old.old[from]) == key(new.new[to])
    };
    let length = (0..new.new.len()).take_while(|at| is_same(from.1 + at, to.1 + at)).count();
    let up = (1..=from.1.min(to.1)).take_while(|at| is_same(from.1 - at, to.1 - at)).count();
    from.1 -= up;
    to.1 -= up;
    (length + if length == 0 { 0 } else { up }, from, to)
}
