//! Compares lines that replace each other word by word: some were rewrapped, some edited, and some are new.

use super::Differ;

/// A line counts as edited if at least this percentage of it comes from old lines, and this percentage of those
/// remains.
const LEAST_COMMON: u32 = 50;

/// The origin of a new line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Derived {
    /// Nothing.
    New,
    /// An old line whose words are in other lines now.
    Kept(usize),
    /// An old line, with the percentage that is new.
    Edited(usize, u8),
}

/// How lines were derived.
pub(super) struct Pairs {
    /// One for each new line.
    pub(super) lines: Vec<Derived>,
    /// Old lines whose words all still exist.
    pub(super) kept: Vec<usize>,
}

/// A word of a line: the line's number and the bytes.
type Word<'t> = (usize, &'t [u8]);

/// Returns the origin of each of the lines `new`, which replace the lines `old`.
pub(super) fn pair(differ: &Differ<'_>, old: &[&[u8]], new: &[&[u8]]) -> Pairs {
    let (old_words, new_words) = (words(old), words(new));
    let matches = matches(differ, &old_words, &new_words);
    let (old_weight, new_weight) = (weights(&old_words, old.len()), weights(&new_words, new.len()));
    let mut left = vec![0; old.len()];
    for (from, _) in &matches {
        left[old_words[*from].0] += weight(old_words[*from].1);
    }
    // By new line: from which old line how much.
    let mut sources: Vec<Vec<(usize, u32)>> = vec![Vec::new(); new.len()];
    let mut tells = vec![false; new.len()];
    for (from, to) in matches {
        let (line, text) = old_words[from];
        if left[line] * 100 < LEAST_COMMON * old_weight[line] {
            continue;
        }
        let at = new_words[to].0;
        tells[at] |= is_name(text);
        match sources[at].last_mut() {
            Some((last, sum)) if *last == line => *sum += weight(text),
            _ => sources[at].push((line, weight(text))),
        }
    }
    let is_whole = |line: usize| left[line] == old_weight[line];
    let mut users = vec![0; old.len()];
    for line in sources.iter().flatten().map(|(line, _)| *line) {
        users[line] += 1;
    }
    // If an old line was split into several, words that it lost do not make any of them count as edited.
    let is_all_there = |(line, _): &(usize, u32)| is_whole(*line) || users[*line] > 1;
    let mut lines: Vec<Derived> = Vec::with_capacity(new.len());
    for (at, sources) in sources.iter().enumerate() {
        let common: u32 = sources.iter().map(|(_, sum)| sum).sum();
        let best = sources.iter().rev().max_by_key(|(_, sum)| *sum).map(|(line, _)| *line);
        lines.push(match best {
            // Blank lines belong to the block around them.
            None if new_weight[at] == 0 => match lines.last() {
                Some(Derived::Kept(line)) => Derived::Kept(*line),
                _ => Derived::New,
            },
            Some(best) if common == new_weight[at] && sources.iter().all(is_all_there) => Derived::Kept(best),
            Some(best) if tells[at] && common * 100 >= LEAST_COMMON * new_weight[at] => {
                Derived::Edited(best, u8::try_from(100 - common * 100 / new_weight[at]).unwrap_or(100))
            }
            _ => Derived::New,
        });
    }
    let kept = (0..old.len()).filter(|&line| old_weight[line] > 0 && is_whole(line)).collect();
    Pairs { lines, kept }
}

/// Returns the words that both have, in order, by their indices.
fn matches(differ: &Differ<'_>, old: &[Word<'_>], new: &[Word<'_>]) -> Vec<(usize, usize)> {
    let column = |words: &[Word<'_>]| -> Vec<u8> {
        words.iter().fold(Vec::new(), |mut text, (_, word)| {
            text.extend_from_slice(word);
            text.push(b'\n');
            text
        })
    };
    let mut matches = Vec::new();
    let (mut from, mut to) = (0, 0);
    let end = (old.len()..old.len(), new.len()..new.len());
    for (gone, come) in (differ.steps)(&column(old), &column(new)).into_iter().chain([end]) {
        while from < gone.start && to < come.start {
            matches.push((from, to));
            (from, to) = (from + 1, to + 1);
        }
        (from, to) = (gone.end, come.end);
    }
    matches
}

/// Splits lines into runs of letters and digits and into single other characters, without blanks.
///
/// Commas are dropped, because rewrapping adds and removes them.
fn words<'t>(lines: &[&'t [u8]]) -> Vec<Word<'t>> {
    let mut words = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let mut start = 0;
        while start < line.len() {
            let length = line[start..].iter().take_while(|byte| is_letter(**byte)).count().max(1);
            if !line[start].is_ascii_whitespace() && line[start] != b',' {
                words.push((number, &line[start..start + length]));
            }
            start += length;
        }
    }
    words
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

fn is_name(word: &[u8]) -> bool {
    word.first().is_some_and(|byte| is_letter(*byte))
}

fn weight(word: &[u8]) -> u32 {
    u32::try_from(word.len()).unwrap_or(u32::MAX)
}

fn weights(words: &[Word<'_>], lines: usize) -> Vec<u32> {
    let mut weights = vec![0; lines];
    for (line, text) in words {
        weights[*line] += weight(text);
    }
    weights
}
