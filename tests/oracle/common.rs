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
}

/// Returns true if many type the line `text`.
pub(super) fn is_common(text: &str) -> bool {
    COMMON.iter().any(|line| line.trim() == text.trim())
}

/// Returns true if the line has no letters and digits, so that it goes with the lines around it.
pub(super) fn is_bracket(text: &str) -> bool {
    !text.contains(char::is_alphanumeric)
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

    /// Notes that the file `from` is moved to `to`.
    pub(super) fn rename(&mut self, from: &str, to: &str) {
        for lines in self.branches.values_mut() {
            let moved = lines.iter().filter(|(_, file, _)| *file == stem(from));
            let moved: Vec<Entry> = moved.map(|(text, _, author)| (text.clone(), stem(to), author.clone())).collect();
            lines.extend(moved);
        }
    }

    /// Notes that git may have brought any line to `to`.
    pub(super) fn bring_all(&mut self, to: &str) {
        let lines: BTreeSet<Entry> = self.branches.values().flatten().chain(&self.stashed).cloned().collect();
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

    /// Returns who may have typed the line `text` in the file at `path` of `branch`.
    pub(super) fn authors(&self, branch: &str, path: &str, text: &str) -> BTreeSet<&str> {
        let is_movable = text.chars().filter(|letter| letter.is_alphanumeric()).count() >= MOVABLE;
        let lines = self.branches.get(branch).into_iter().flatten();
        let here = lines.filter(|(line, file, _)| line == text.trim() && (is_movable || *file == stem(path)));
        here.map(|(.., author)| author.as_str()).collect()
    }
}
