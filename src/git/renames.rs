//! Finds renames among changes as git does (diffcore-rename.c): first equal content, then equal file names, then the
//! most similar pairs.
//!
//! Similarity is computed as in git, so that both find the same pairs.

use std::collections::HashMap;

use bstr::{BStr, ByteSlice as _};
use gix::ObjectId;

use super::Repo;
use crate::{
    error::{Error, Result},
    model::change::{Change, Leaf, Mode, Status},
};

/// Similarity is counted from 0 to this, as git does.
const MAX_SCORE: u64 = 60_000;
/// Half of the larger file must be common: git's default.
const MIN_SCORE: u64 = MAX_SCORE / 2;
/// The score that a pair with the same file name needs to be accepted without looking at other pairs.
const MIN_BASENAME_SCORE: u64 = MIN_SCORE + (MAX_SCORE - MIN_SCORE) / 2;
/// git's default of `diff.renameLimit`.
const DEFAULT_LIMIT: usize = 1000;
/// git's default of `merge.renameLimit`.
const MERGE_LIMIT: usize = 7000;
/// More files are not compared for a question that is to be answered at once.
const MOST_TO_MERGE: usize = 2000;
/// How many candidates are kept for each added path.
const CANDIDATES: usize = 4;
/// git's `core.bigFileThreshold`: larger blobs are not read to be compared.
const BIG_FILE: u64 = 512 << 20;

impl Repo {
    /// Returns `changes`, sorted by path, with pairs of a deleted and an added path joined to renames.
    ///
    /// `diff.renameLimit` limits the search for similar content, as in git; missing blobs are not compared.
    pub fn detect_renames(&self, changes: Vec<Change>) -> Result<Vec<Change>> {
        Ok(self.renames_within(changes, self.rename_limit("diff.renameLimit").unwrap_or(DEFAULT_LIMIT))?.0)
    }

    /// The same as a merge searches, which has another limit.
    ///
    /// # Errors
    /// Also if so many files have come and gone that git might leave some out.
    pub(crate) fn detect_renames_to_merge(&self, changes: Vec<Change>) -> Result<Vec<Change>> {
        let limit = self.rename_limit("merge.renameLimit").or_else(|| self.rename_limit("diff.renameLimit"));
        // A merge knows no search without limit.
        let limit = limit.filter(|limit| *limit != usize::MAX).unwrap_or(MERGE_LIMIT);
        match self.renames_within(changes, limit.min(MOST_TO_MERGE))? {
            (changes, true) => Ok(changes),
            (_, false) => Err(Error::corrupt("so many files were added and deleted that renames cannot be searched")),
        }
    }

    /// Returns `changes` with pairs of a deleted and an added path joined if they have equal content, and are not empty.
    pub(super) fn equal_renames(&self, mut changes: Vec<Change>) -> Vec<Change> {
        let empty = ObjectId::empty_blob(self.object_hash());
        changes.retain(|change| change.before.or(change.after).is_some_and(|leaf| leaf.id != empty));
        let mut search = Search::new(self, changes);
        search.match_equal();
        search.finish()
    }

    /// Returns how much of the file `old` the file `new` has, of [`MAX_SCORE`]; 0 if one of them is no file, or too large.
    pub(super) fn part_of(&self, old: Leaf, new: Leaf) -> Result<u64> {
        let (mut old, mut new) = (Side::new(0, old), Side::new(0, new));
        let is_comparable = is_file(old.leaf.mode) && is_file(new.leaf.mode);
        let (Some(size), Some(other)) = (old.size(self)?, new.size(self)?) else { return Ok(0) };
        if !is_comparable || size == 0 || size.max(other) > BIG_FILE {
            return Ok(0);
        }
        let (Some(old), Some(new)) = (old.spans(self)?, new.spans(self)?) else { return Ok(0) };
        Ok(common_bytes(old, new) * MAX_SCORE / size)
    }

    /// Returns the changes with renames, and false if the search for similar content was left out.
    fn renames_within(&self, changes: Vec<Change>, limit: usize) -> Result<(Vec<Change>, bool)> {
        let mut search = Search::new(self, changes);
        if search.sources.is_empty() || search.targets.is_empty() {
            return Ok((search.changes, true));
        }
        search.match_equal();
        if search.has_open_pairs() {
            search.match_names()?;
        }
        let is_whole = !search.has_open_pairs() || search.is_within(limit);
        if search.has_open_pairs() && is_whole {
            search.match_similar()?;
        }
        Ok((search.finish(), is_whole))
    }

    /// Returns the limit that `key` names, if it does; 0 means that there is none.
    fn rename_limit(&self, key: &str) -> Option<usize> {
        let limit = usize::try_from(self.inner.config_snapshot().integer(key)?).ok()?;
        Some(if limit == 0 { usize::MAX } else { limit })
    }
}

/// How many bytes of each line (or piece of 64 bytes) a blob contains, by its hash.
type Spans = Vec<(u32, u64)>;

/// A deleted or added path in the search.
struct Side {
    change: usize,
    leaf: Leaf,
    is_matched: bool,
    size: Option<u64>,
    spans: Option<Spans>,
}

struct Candidate {
    source: usize,
    target: usize,
    score: u64,
    same_name: bool,
}

struct Search<'r> {
    repo: &'r Repo,
    changes: Vec<Change>,
    sources: Vec<Side>,
    targets: Vec<Side>,
    pairs: Vec<(usize, usize)>,
}

impl<'r> Search<'r> {
    fn new(repo: &'r Repo, changes: Vec<Change>) -> Self {
        let (mut sources, mut targets) = (Vec::new(), Vec::new());
        for (at, change) in changes.iter().enumerate() {
            let side = |leaf| Side::new(at, leaf);
            match (change.before, change.after) {
                (Some(leaf), None) => sources.push(side(leaf)),
                (None, Some(leaf)) => targets.push(side(leaf)),
                _ => {}
            }
        }
        Self { repo, changes, sources, targets, pairs: Vec::new() }
    }

    fn name(&self, side: &Side) -> &BStr {
        file_name(self.changes[side.change].path.as_bstr())
    }

    fn join(&mut self, source: usize, target: usize) {
        self.sources[source].is_matched = true;
        self.targets[target].is_matched = true;
        self.pairs.push((source, target));
    }

    fn has_open_pairs(&self) -> bool {
        let is_open = |side: &Side| !side.is_matched && is_file(side.leaf.mode);
        self.sources.iter().any(is_open) && self.targets.iter().any(is_open)
    }

    fn is_within(&self, limit: usize) -> bool {
        let open = |sides: &[Side]| sides.iter().filter(|side| !side.is_matched).count();
        open(&self.sources).saturating_mul(open(&self.targets)) <= limit.saturating_mul(limit)
    }

    /// Joins paths with equal ids; among several, prefers one with the same file name.
    fn match_equal(&mut self) {
        let mut by_id: HashMap<ObjectId, Vec<usize>> = HashMap::new();
        for (at, source) in self.sources.iter().enumerate() {
            by_id.entry(source.leaf.id).or_default().push(at);
        }
        for target in 0..self.targets.len() {
            let leaf = self.targets[target].leaf;
            let Some(candidates) = by_id.get(&leaf.id) else { continue };
            let fits = |&&at: &&usize| {
                let source = &self.sources[at];
                !source.is_matched && source.leaf.mode.same_type(leaf.mode)
            };
            let is_namesake = |&&at: &&usize| self.name(&self.sources[at]) == self.name(&self.targets[target]);
            let best = candidates.iter().filter(fits).find(is_namesake).or_else(|| candidates.iter().find(fits));
            if let Some(&source) = best {
                self.join(source, target);
            }
        }
    }

    /// Pairs paths whose file name was deleted once and added once, if they are similar enough.
    fn match_names(&mut self) -> Result<()> {
        let (sources, targets) = (self.unique_names(&self.sources), self.unique_names(&self.targets));
        let mut pairs: Vec<(usize, usize)> =
            sources.iter().filter_map(|(name, &source)| Some((source?, (*targets.get(name)?)?))).collect();
        pairs.sort_unstable();
        for (source, target) in pairs {
            if self.score(source, target)? >= MIN_BASENAME_SCORE {
                self.join(source, target);
            }
        }
        Ok(())
    }

    /// Maps a file name to the only open side that has it, or to none if several do.
    fn unique_names(&self, sides: &[Side]) -> HashMap<Vec<u8>, Option<usize>> {
        let mut names: HashMap<Vec<u8>, Option<usize>> = HashMap::new();
        for (at, side) in sides.iter().enumerate().filter(|(_, side)| !side.is_matched) {
            names.entry(self.name(side).to_vec()).and_modify(|only| *only = None).or_insert(Some(at));
        }
        names
    }

    fn match_similar(&mut self) -> Result<()> {
        let mut candidates = Vec::new();
        for target in 0..self.targets.len() {
            if self.targets[target].is_matched {
                continue;
            }
            let mut best = Vec::new();
            for source in 0..self.sources.len() {
                if self.sources[source].is_matched {
                    continue;
                }
                let score = self.score(source, target)?;
                if score < MIN_SCORE {
                    continue;
                }
                let same_name = self.name(&self.sources[source]) == self.name(&self.targets[target]);
                best.push(Candidate { source, target, score, same_name });
                if best.len() > CANDIDATES {
                    best.sort_by(better);
                    best.truncate(CANDIDATES);
                }
            }
            // Keep the spans of sources, which every target is compared with, but not those of a finished target.
            self.targets[target].spans = None;
            candidates.append(&mut best);
        }
        candidates.sort_by(better);
        for candidate in candidates {
            if !self.sources[candidate.source].is_matched && !self.targets[candidate.target].is_matched {
                self.join(candidate.source, candidate.target);
            }
        }
        Ok(())
    }

    fn score(&mut self, source: usize, target: usize) -> Result<u64> {
        self.sources[source].score(&mut self.targets[target], self.repo)
    }

    fn finish(mut self) -> Vec<Change> {
        let mut is_gone = vec![false; self.changes.len()];
        for &(source, target) in &self.pairs {
            let (from, to) = (self.sources[source].change, self.targets[target].change);
            is_gone[from] = true;
            let (old_path, before) = (self.changes[from].path.clone(), self.changes[from].before);
            let change = &mut self.changes[to];
            change.old_path = Some(old_path);
            change.before = before;
            change.status = Status::Renamed;
        }
        let mut is_gone = is_gone.into_iter();
        self.changes.retain(|_| !is_gone.next().unwrap_or(false));
        self.changes
    }
}

impl Side {
    fn new(change: usize, leaf: Leaf) -> Self {
        Self { change, leaf, is_matched: false, size: None, spans: None }
    }

    /// Returns the common part of the larger file, of [`MAX_SCORE`]; 0 if the sizes alone make it less than [`MIN_SCORE`].
    fn score(&mut self, to: &mut Self, repo: &Repo) -> Result<u64> {
        if !is_file(self.leaf.mode) || !is_file(to.leaf.mode) {
            return Ok(0);
        }
        let (Some(from_size), Some(to_size)) = (self.size(repo)?, to.size(repo)?) else { return Ok(0) };
        let (smaller, larger) = (from_size.min(to_size), from_size.max(to_size));
        if larger * (MAX_SCORE - MIN_SCORE) < (larger - smaller) * MAX_SCORE || smaller == 0 || larger > BIG_FILE {
            return Ok(0);
        }
        let (Some(old), Some(new)) = (self.spans(repo)?, to.spans(repo)?) else { return Ok(0) };
        Ok(common_bytes(old, new) * MAX_SCORE / larger)
    }

    fn size(&mut self, repo: &Repo) -> Result<Option<u64>> {
        if self.size.is_none() {
            self.size = repo.object_size(self.leaf.id)?;
        }
        Ok(self.size)
    }

    fn spans(&mut self, repo: &Repo) -> Result<Option<&Spans>> {
        if self.spans.is_none() && repo.has_object(self.leaf.id) {
            self.spans = Some(spans_of(&repo.read_blob(self.leaf.id)?));
        }
        Ok(self.spans.as_ref())
    }
}

fn better(a: &Candidate, b: &Candidate) -> std::cmp::Ordering {
    b.score.cmp(&a.score).then_with(|| b.same_name.cmp(&a.same_name))
}

fn is_file(mode: Mode) -> bool {
    matches!(mode, Mode::File | Mode::Executable)
}

fn file_name(path: &BStr) -> &BStr {
    path.rfind_byte(b'/').map_or(path, |at| path[at + 1..].as_bstr())
}

/// Hashes lines, and long ones in pieces of 64 bytes, with the hash of git's diffcore-delta.c; sorted by hash.
fn spans_of(data: &[u8]) -> Spans {
    const HASH_BASE: u32 = 107_927;
    let is_text = !super::line_edits::is_binary(data);
    let mut spans: Spans = Vec::with_capacity(data.len() / 32);
    let (mut first, mut second, mut length) = (0_u32, 0_u32, 0_u64);
    let mut hash = |first: u32, second: u32, length| {
        spans.push((first.wrapping_add(second.wrapping_mul(0x61)) % HASH_BASE, length));
    };
    for (at, &byte) in data.iter().enumerate() {
        if is_text && byte == b'\r' && data.get(at + 1) == Some(&b'\n') {
            continue;
        }
        let old = first;
        first = (first << 7) ^ (second >> 25);
        second = (second << 7) ^ (old >> 25);
        first = first.wrapping_add(u32::from(byte));
        length += 1;
        if length >= 64 || byte == b'\n' {
            hash(first, second, length);
            (first, second, length) = (0, 0, 0);
        }
    }
    if length > 0 {
        hash(first, second, length);
    }
    spans.sort_unstable();
    spans.dedup_by(|next, kept| {
        let is_same = next.0 == kept.0;
        if is_same {
            kept.1 += next.1;
        }
        is_same
    });
    spans
}

fn common_bytes(old: &Spans, new: &Spans) -> u64 {
    let mut common = 0;
    let mut new = new.iter().peekable();
    for &(hash, length) in old {
        while new.next_if(|span| span.0 < hash).is_some() {}
        if let Some(span) = new.next_if(|span| span.0 == hash) {
            common += length.min(span.1);
        }
    }
    common
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::equal("a\nb\nc\n", "a\nb\nc\n", 6)]
    #[case::moved_lines("a\nb\nc\n", "c\na\nb\n", 6)]
    #[case::one_line_differs("aa\nbb\ncc\n", "aa\nxx\ncc\n", 6)]
    #[case::nothing("a\n", "b\n", 0)]
    #[case::line_ends("a\r\nb\r\n", "a\nb\n", 4)]
    fn common_bytes_are_those_of_equal_lines(#[case] old: &str, #[case] new: &str, #[case] expected: u64) {
        assert_eq!(common_bytes(&spans_of(old.as_bytes()), &spans_of(new.as_bytes())), expected);
    }
}
