//! Who contributed to the files of a commit.

use std::collections::{BTreeMap, BTreeSet};

use bstr::BString;

use super::step::Step;
use crate::model::{
    attribution::{Author, AuthorId, FileOwnership, Owner, Ownership},
    change::Change,
    contributor::Contributor,
};

/// Returns the session that left the file as the commit has it.
pub(crate) fn left_by<'s>(steps: &'s [Step], change: &Change) -> Option<&'s str> {
    let last = steps.iter().rev().find(|step| step.leaves(change))?;
    // If git brought lines into the file, they have authors of their own, and the file as a whole has none.
    let is_own = last.origin.contributor == Contributor::Agent && last.brought(change).is_none();
    last.origin.session.as_deref().filter(|_| is_own)
}

/// Returns the authors who wrote or deleted lines of the file.
pub(super) fn contributors(file: &FileOwnership) -> Vec<AuthorId> {
    let mut found: Vec<AuthorId> = file.removed.iter().map(|(id, _)| *id).collect();
    for owner in file.spans.iter().map(|span| span.owner).chain(file.whole) {
        match owner {
            Owner::Base => {}
            Owner::Author(id) => found.push(id),
            Owner::Mixed { of, over, .. } => found.extend([of].into_iter().chain(over)),
        }
    }
    found
}

/// Returns the sessions that contributed to each file of a commit.
pub(super) fn sessions_by_path(
    authors: &[Author],
    ownership: &Ownership,
    steps: &[Step],
    committed: &[Change],
) -> BTreeMap<BString, BTreeSet<String>> {
    let session =
        |id: AuthorId| authors.get(id as usize).filter(|it| it.contributor == Contributor::Agent)?.session.clone();
    let mut by_path: BTreeMap<BString, BTreeSet<String>> = BTreeMap::new();
    for file in &ownership.files {
        by_path.entry(file.path.clone()).or_default().extend(contributors(file).into_iter().filter_map(session));
    }
    // A deletion, a change of the mode or a binary file may have no lines with an author. It is the work of the session that
    // left the file as the commit has it.
    for change in committed {
        let sessions = by_path.entry(change.path.clone()).or_default();
        let is_other_kind =
            change.before.is_some() && change.before.map(|it| it.mode) != change.after.map(|it| it.mode);
        if !sessions.is_empty() && !is_other_kind {
            continue;
        }
        sessions.extend(left_by(steps, change).map(str::to_owned));
    }
    by_path.retain(|_, sessions| !sessions.is_empty());
    by_path
}
