//! What two worktrees have both changed since a commit, by a three-way merge of what they have now.

use bstr::{BStr, BString, ByteSlice as _};
use gix::ObjectId;

use super::{
    found::{OfSide, PathOverlap},
    sides::{Now, why},
};
use crate::{
    error::Result,
    git::{
        Repo,
        line_edits::{is_binary, merge_edits},
    },
    model::{
        both_changed::{Kind, Pair, Together, into_renamed, pairs},
        change::{Change, Leaf},
        three_way::{Meeting, Place, meet},
    },
};

/// git's `core.bigFileThreshold`: larger files are no text.
const BIG_FILE: u64 = 512 << 20;

/// Returns the paths that both have changed since the commit `base`, of those that the pathspecs match.
///
/// # Errors
/// If a tree cannot be read. A file that cannot be read is unknown.
pub(super) fn compare(
    (here, there): (Now<'_>, Now<'_>),
    base: ObjectId,
    pathspecs: &[BString],
) -> Result<Vec<PathOverlap>> {
    let base_tree = here.repo.tree_of_commit(base)?;
    let ours = changes(here, base_tree)?;
    let theirs = changes(there, base_tree)?;
    if ours.is_empty() || theirs.is_empty() {
        return Ok(Vec::new());
    }
    let ours = here.repo.detect_renames(ours)?;
    let theirs = there.repo.detect_renames(theirs)?;
    let mut pathspec = here.repo.pathspec(pathspecs)?;
    let mut found = pairs(&ours, &theirs);
    let mut add = |one, other| {
        if !found.iter().any(|pair: &Pair| pair.here == one && pair.there == other) {
            found.push(Pair { here: one, there: other, together: Together::Conflict(Kind::Moved) });
        }
    };
    for (new, rename) in into_renamed(&theirs, &ours, &mut |directory| is_gone(here, directory)) {
        add(rename, new);
    }
    for (new, rename) in into_renamed(&ours, &theirs, &mut |directory| is_gone(there, directory)) {
        add(new, rename);
    }
    found.retain(|pair| [pair.here, pair.there].iter().any(|change| pathspec.matches(change.path.as_bstr())));
    Ok(found.iter().map(|pair| of_pair(pair, here.repo, there.repo)).collect())
}

/// Returns true if there is nothing at `directory`; what cannot be read was compared before.
fn is_gone(now: Now<'_>, directory: &BStr) -> bool {
    now.repo.find_entry(now.tree_id, directory).is_ok_and(|entry| entry.is_none())
}

fn changes(now: Now<'_>, base_tree: ObjectId) -> Result<Vec<Change>> {
    now.repo.diff_trees(base_tree, now.tree_id)
}

/// Returns how the changes of `pair` meet. `here` and `there` are the repositories in which the files of each side can be read.
pub(super) fn of_pair(pair: &Pair<'_>, here: &Repo, there: &Repo) -> PathOverlap {
    let mut overlap = PathOverlap {
        state: Meeting::Clean,
        kind: None,
        unknown: None,
        lines: Vec::new(),
        here: OfSide::new(pair.here),
        there: OfSide::new(pair.there),
    };
    match pair.together {
        Together::Same => {}
        Together::Conflict(kind) => (overlap.state, overlap.kind) = (Meeting::Conflict, Some(kind)),
        Together::Content { base, here: one, there: other } => {
            let is_untouched = |leaf: Leaf| base.is_some_and(|base| base.id == leaf.id);
            if one.id == other.id || is_untouched(one) || is_untouched(other) {
                return overlap;
            }
            match texts((here, base), (here, one), (there, other)) {
                Err(error) => (overlap.state, overlap.unknown) = (Meeting::Unknown, Some(why(&error))),
                Ok(None) => (overlap.state, overlap.kind) = (Meeting::Conflict, Some(Kind::Binary)),
                Ok(Some([base_text, one, other])) => {
                    overlap.lines = places(&base_text, &one, &other);
                    overlap.state = overlap.lines.iter().map(|place| place.state).max().unwrap_or(Meeting::Clean);
                    let kind = if base.is_none() { Kind::Added } else { Kind::Content };
                    overlap.kind = (overlap.state != Meeting::Clean).then_some(kind);
                }
            }
        }
    }
    overlap
}

/// Returns the three texts; none if one of them is no text.
fn texts(
    (base_repo, base): (&Repo, Option<Leaf>),
    here: (&Repo, Leaf),
    there: (&Repo, Leaf),
) -> Result<Option<[Vec<u8>; 3]>> {
    let read = |(repo, leaf): (&Repo, Leaf)| {
        if repo.object_size(leaf.id)?.is_some_and(|size| size > BIG_FILE) {
            return Ok(None);
        }
        repo.read_blob(leaf.id).map(|data| (!is_binary(&data)).then_some(data))
    };
    let base = base.map_or(Ok(Some(Vec::new())), |leaf| read((base_repo, leaf)))?;
    Ok(match (base, read(here)?, read(there)?) {
        (Some(base), Some(one), Some(other)) => Some([base, one, other]),
        _ => None,
    })
}

/// Returns where two texts meet that were made from `base`.
fn places(base: &[u8], here: &[u8], there: &[u8]) -> Vec<Place> {
    let lines = |text: &'_ [u8]| -> Vec<std::ops::Range<usize>> {
        let mut at = 0;
        let range = |line: &[u8]| {
            at += line.len();
            at - line.len()..at
        };
        text.lines_with_terminator().map(range).collect()
    };
    let (here_lines, there_lines) = (lines(here), lines(there));
    meet(&merge_edits(base, here), &merge_edits(base, there), &mut |one, other| {
        let of = |text: &'_ [u8], lines: &[std::ops::Range<usize>], wanted: std::ops::Range<usize>| {
            Some(lines.get(wanted)?.iter().map(|line| text[line.clone()].to_vec()).collect::<Vec<_>>())
        };
        of(here, &here_lines, one).is_some_and(|lines| of(there, &there_lines, other) == Some(lines))
    })
}

#[cfg(test)]
mod tests {
    use std::{fs, process as run};

    use proptest::prelude::*;

    use super::*;

    /// Returns true if `git merge-file` merges the texts without a conflict.
    fn is_merged_by_git(base: &[u8], here: &[u8], there: &[u8]) -> bool {
        let directory = tempfile::tempdir().expect("writable");
        for (name, text) in [("base", base), ("here", here), ("there", there)] {
            fs::write(directory.path().join(name), text).expect("writable");
        }
        #[expect(clippy::disallowed_methods, reason = "the test compares with git")]
        let mut git = run::Command::new("git");
        let output =
            git.current_dir(directory.path()).args(["merge-file", "-p", "-q", "here", "base", "there"]).output();
        output.expect("git runs").status.success()
    }

    /// Lines in one order, each at most once; the last one may have no line break. Where lines repeat, a diff can align them in
    /// several ways.
    fn text() -> impl Strategy<Value = Vec<u8>> {
        let lines = vec!["a", "b", "c", "", "d", "e", "}", "f", "g", "h"];
        (prop::sample::subsequence(lines, 0..=10), any::<bool>()).prop_map(|(lines, is_cut)| {
            let mut text = lines.iter().map(|line| format!("{line}\n")).collect::<String>();
            text.truncate(text.len() - usize::from(is_cut && !text.is_empty()));
            text.into_bytes()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

        #[test]
        fn texts_meet_where_git_stops(base in text(), here in text(), there in text()) {
            let found = places(&base, &here, &there);
            prop_assert_eq!(found.is_empty(), is_merged_by_git(&base, &here, &there), "{:?}", found);
        }
    }
}
