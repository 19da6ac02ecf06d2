//! Histories in few words: who made which content, and the resulting attribution.

use std::ops::Range;

use gix::diff::blob::{Algorithm, Diff, InternedInput, diff_with_slider_heuristics, sources::byte_lines};

use crate::model::{
    attribution::{AuthorId, Change, Committed, Content, Differ, FileOwnership, Limits, Owner, Ownership, Replay},
    line_diff::Edit,
};

pub(super) const HUMAN: AuthorId = 0;
pub(super) const AGENT: AuthorId = 1;
pub(super) const OTHER: AuthorId = 2;

pub(super) fn edits(old: &[u8], new: &[u8]) -> Vec<Edit> {
    let input = InternedInput::new(byte_lines(old), byte_lines(new));
    listed(&diff_with_slider_heuristics(Algorithm::Histogram, &input))
}

pub(super) fn counted(old: &[u8], new: &[u8]) -> Vec<Edit> {
    let input = InternedInput::new(byte_lines(old), byte_lines(new));
    listed(&Diff::compute(Algorithm::Myers, &input))
}

fn listed(diff: &Diff) -> Vec<Edit> {
    let range = |range: Range<u32>| range.start as usize..range.end as usize;
    diff.hunks().map(|hunk| (range(hunk.before), range(hunk.after))).collect()
}

pub(super) const DIFFER: Differ<'static> = Differ { steps: &edits, versions: None, counted: &counted };

#[expect(clippy::unnecessary_wraps, reason = "as the fields of changes have it")]
pub(super) fn bytes(text: &str) -> Option<Content> {
    Some(Content::Bytes(text.as_bytes().to_vec()))
}

/// A history of files; a path without content is a deletion.
pub(super) struct History {
    base: Vec<(&'static str, String)>,
    now: Vec<(&'static str, String)>,
    replay: Replay<'static>,
}

impl History {
    pub(super) fn new(base: &[(&'static str, &str)]) -> Self {
        Self::with_limits(base, Limits::default())
    }

    pub(super) fn with_limits(base: &[(&'static str, &str)], limits: Limits) -> Self {
        let base: Vec<(&'static str, String)> = base.iter().map(|(path, text)| (*path, (*text).to_owned())).collect();
        Self { now: base.clone(), base, replay: Replay::with_limits(DIFFER, limits) }
    }

    pub(super) fn step(mut self, author: AuthorId, files: &[(&'static str, Option<&str>)]) -> Self {
        let changes = files.iter().map(|(path, after)| self.change(path, None, *after)).collect();
        self.replay.step(author, changes);
        self
    }

    pub(super) fn rename(mut self, author: AuthorId, from: &'static str, to: &'static str, after: &str) -> Self {
        let change = self.change(to, Some(from), Some(after));
        self.now.retain(|(path, _)| *path != from);
        self.replay.step(author, vec![change]);
        self
    }

    /// A step with lines from elsewhere.
    pub(super) fn bring(mut self, author: AuthorId, path: &'static str, after: &str, moved: FileOwnership) -> Self {
        let change = Change { moved: Some(moved), ..self.change(path, None, Some(after)) };
        self.replay.step(author, vec![change]);
        self
    }

    fn change(&mut self, path: &'static str, from: Option<&'static str>, after: Option<&str>) -> Change {
        let before = find(&self.now, from.unwrap_or(path));
        self.now.retain(|(other, _)| *other != path);
        self.now.extend(after.map(|after| (path, after.to_owned())));
        Change { path: path.into(), from: from.map(Into::into), before, after: after.and_then(bytes), moved: None }
    }

    /// Commits the current contents, or `committed` if given.
    pub(super) fn commit(self, author: AuthorId, committed: Option<&[(&'static str, &str)]>) -> Ownership {
        let now = match committed {
            Some(files) => files.iter().map(|(path, text)| (*path, (*text).to_owned())).collect(),
            None => self.now.clone(),
        };
        let mut paths: Vec<&str> = self.base.iter().chain(&now).map(|(path, _)| *path).collect();
        paths.sort_unstable();
        paths.dedup();
        let entry = |path: &str| {
            let (before, after) = (find(&self.base, path), find(&now, path));
            let path = path.into();
            (before != after).then_some(Committed { path, from: None, before, after, edits: None, author })
        };
        let committed: Vec<Committed> = paths.into_iter().filter_map(entry).collect();
        self.replay.finish(&committed)
    }
}

fn find(files: &[(&str, String)], path: &str) -> Option<Content> {
    files.iter().find(|(other, _)| *other == path).and_then(|(_, text)| bytes(text))
}

/// Returns a letter for each line of `text`: `.` not added, `b` added but a base line, `h`, `a`, `o`, `?` an author's;
/// for mixed lines the letters of the editor and of the earlier owner, in brackets.
pub(super) fn letters(file: &FileOwnership, text: &str) -> String {
    let author = |id: AuthorId| "hao?".chars().nth(id as usize).expect("there are four");
    let lines = u32::try_from(text.lines().count()).expect("texts are short");
    (1..=lines)
        .map(|line| {
            let is_added = file.spans.iter().any(|span| (span.start..=span.end).contains(&line));
            match file.owner(line) {
                Owner::Base if !is_added => ".".to_owned(),
                Owner::Base => "b".to_owned(),
                Owner::Author(id) => author(id).to_string(),
                Owner::Mixed { of, over, .. } => format!("({}{})", author(of), over.map_or('b', author)),
            }
        })
        .collect()
}

/// Replays versions of one file and returns the letters of its last one.
pub(super) fn replayed(base: &str, steps: &[(AuthorId, &str)]) -> (String, FileOwnership) {
    let history = steps
        .iter()
        .fold(History::new(&[("f", base)]), |history, (author, text)| history.step(*author, &[("f", Some(text))]));
    let mut ownership = history.commit(HUMAN, None);
    let file = ownership.files.pop().unwrap_or_default();
    (letters(&file, steps.last().map_or(base, |(_, text)| text)), file)
}
