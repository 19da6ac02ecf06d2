//! Lines that several authors type, such as `return None`: who may have typed the one that a file has now?
//!
//! A file of a branch has such a line from those who typed it there, or git has brought it from another branch or a stash. So
//! each branch has its own list, and steps that let git bring lines join them. A line is only wrong if its author is not in the
//! list.

use std::collections::{BTreeMap, BTreeSet};

/// Lines that all type.
pub(super) const COMMON: [&str; 8] =
    ["    return None", "}", "", "import os", "from collections import OrderedDict", "    pass", "    });", "else:"];

/// If a line with so many letters and digits is gone from one file, it may have moved to another one.
const MOVABLE: usize = 20;

/// A line without the blanks around it, the file, and who typed it there.
type Entry = (String, String, String);

/// Who typed the common lines that may be in the files of each branch, and in stash entries.
#[derive(Clone, Debug, Default)]
pub(super) struct Typed {
    branches: BTreeMap<String, BTreeSet<Entry>>,
    stashed: BTreeSet<Entry>,
    given_up: BTreeSet<Entry>,
}

/// Returns true if many type the line `text`.
pub(super) fn is_common(text: &str) -> bool {
    COMMON.iter().any(|line| line.trim() == text.trim())
}

/// Returns true if the line has no letters and digits, so that it goes with the lines around it.
pub(super) fn is_bracket(text: &str) -> bool {
    !text.contains(char::is_alphanumeric)
}

/// Returns true if the line may have moved to another file.
fn is_movable(text: &str) -> bool {
    text.chars().filter(|letter| letter.is_alphanumeric()).count() >= MOVABLE
}

/// A renamed file is the same one: each rename adds an `r`.
fn stem(path: &str) -> String {
    path.trim_end_matches('r').to_owned()
}

impl Typed {
    /// Notes that `author` typed `text` in the file at `path` on `branch`.
    pub(super) fn add(&mut self, branch: String, path: &str, text: &str, author: String) {
        self.branches.entry(branch).or_default().insert((text.trim().to_owned(), stem(path), author));
    }

    /// Notes that git may have brought lines of the branch `from` to `to`.
    pub(super) fn bring(&mut self, from: &str, to: &str) {
        let lines = self.branches.get(from).cloned().unwrap_or_default();
        self.branches.entry(to.to_owned()).or_default().extend(lines);
    }

    /// Notes that git may have brought any line to `to`.
    pub(super) fn bring_all(&mut self, to: &str) {
        let lines: BTreeSet<Entry> =
            self.branches.values().flatten().chain(&self.stashed).chain(&self.given_up).cloned().collect();
        self.branches.entry(to.to_owned()).or_default().extend(lines);
    }

    /// Notes that lines of `branch` are in the stash.
    pub(super) fn stash(&mut self, branch: &str) {
        self.stashed.extend(self.branches.get(branch).into_iter().flatten().cloned());
    }

    /// Notes that lines of the stash are on `branch` now.
    pub(super) fn unstash(&mut self, branch: &str) {
        self.branches.entry(branch.to_owned()).or_default().extend(self.stashed.iter().cloned());
    }

    /// Notes that the work in the file at `path` on `branch` was given up: it had the text `before` and has `after`. What is gone must be
    /// typed anew. But if half of what is gone comes back, or a line that tells, the program may take it for the work.
    pub(super) fn give_up(&mut self, branch: &str, path: &str, before: &str, after: &str) {
        let Some(lines) = self.branches.get_mut(branch) else { return };
        let is_here = |line: &str| after.lines().any(|kept| kept.trim() == line);
        let gone: Vec<&str> =
            before.lines().map(str::trim).filter(|line| !is_bracket(line) && !is_here(line)).collect();
        if gone.iter().filter(|line| is_common(line)).count() * 2 < gone.len() {
            let is_gone = |(line, file, _): &Entry| *file == stem(path) && !is_here(line) && !is_movable(line);
            // A checkpoint may have them.
            let (gone, kept): (BTreeSet<Entry>, BTreeSet<Entry>) = std::mem::take(lines).into_iter().partition(is_gone);
            self.given_up.extend(gone);
            *lines = kept;
        }
    }

    /// Returns who may have typed the line `text` in the file at `path` of `branch`.
    pub(super) fn authors(&self, branch: &str, path: &str, text: &str) -> BTreeSet<&str> {
        let is_movable = is_movable(text);
        let lines = self.branches.get(branch).into_iter().flatten();
        let here = lines.filter(|(line, file, _)| line == text.trim() && (is_movable || *file == stem(path)));
        here.map(|(.., author)| author.as_str()).collect()
    }
}
