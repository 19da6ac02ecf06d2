//! The files that uncommitted lines were moved from, as far as no checkpoint has seen it.

use std::collections::BTreeSet;

use bstr::BString;

use crate::{
    git::Repo,
    model::change::Change,
    ops::provenance::{
        moved_lines::{MOST_BYTES, losing_rows, lost_to, moved_out, take_sources},
        step::Step,
    },
};

/// Returns the files of `unsaved`, what no checkpoint has yet, that lost lines to those that are `asked` for, without the latter; and true
/// if these lost lines, too. `changes` are all uncommitted ones of the files that are asked for.
pub(super) fn moved_since(
    repo: &Repo,
    unsaved: &[Change],
    changes: &[Change],
    asked: &dyn Fn(&BString) -> bool,
) -> (BTreeSet<BString>, bool) {
    let (own, others): (Vec<Change>, Vec<Change>) = unsaved.iter().cloned().partition(|change| asked(&change.path));
    // What a file has lost since the last checkpoint, others may have had before.
    let mut moved = lost_to(repo, &[others.clone(), changes.to_vec()], asked, &mut { MOST_BYTES });
    let beside = take_sources(repo, &own, others, &mut { MOST_BYTES });
    let out = moved_out(repo, unsaved, beside, &mut { MOST_BYTES });
    moved.extend(out.into_iter().map(|change| change.path));
    (moved, !losing_rows(repo, own).is_empty())
}

/// Returns the files of `unsaved`, what no checkpoint has yet, that `chain` touches and `names` lacks: lines that a checkpoint has moved
/// may be back by now in the file that they were moved from.
pub(super) fn passed_by(chain: &[Step], unsaved: &[Change], names: &[&BString]) -> Vec<BString> {
    let paths = unsaved.iter().map(|change| &change.path);
    let is_passed = |path: &&BString| names.binary_search(path).is_err() && chain.iter().any(|it| it.touches(path));
    paths.filter(is_passed).cloned().collect()
}

/// Returns those of `beside`, other uncommitted changes, that lost lines to the files of `changes` and are not their old names.
pub(super) fn sources(repo: &Repo, changes: &[Change], mut beside: Vec<Change>) -> Vec<Change> {
    beside.retain(|it| changes.iter().all(|change| change.old_path.as_ref() != Some(&it.path)));
    take_sources(repo, changes, beside, &mut { MOST_BYTES })
}
