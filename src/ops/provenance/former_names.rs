//! Follows files through the steps of a chain, back in time, under the names that they had then. `steps` calls it for each
//! checkpoint.

use std::collections::{BTreeSet, HashMap, HashSet};

use bstr::{BString, ByteSlice as _};

use super::{super::chain::carry_forward::base_tree, moved_lines::take_sources};
use crate::{
    error::Result,
    git::Repo,
    model::{
        change::{Change, Leaf, Status},
        checkpoint::Checkpoint,
    },
};

/// If a step deletes more files than this, we look for no renames in it. Git's limit for renames is the same.
const MOST_GONE: usize = 1_000;
/// If a step deletes more files than this, we look for no lines that were moved out of them into several files.
const MOST_SPLIT: usize = 32;
/// If a step changes more files than this, we do not look for those whose content another file has now.
const MOST_REPLACED: usize = 100;

/// Returns those of `changes` whose path `wanted` accepts, or is in `former`, the earlier names of wanted files. Adds the files
/// that a wanted file may come from, to the result and to `former`: deleted files, files whose names others have taken, files
/// whose content another one has now, and files that lost lines to a wanted one, for which it reads at most `bytes_left`.
pub(super) fn changes_of(
    repo: &Repo,
    changes: Vec<Change>,
    wanted: &dyn Fn(&BString) -> bool,
    former: &mut BTreeSet<BString>,
    bytes_left: &mut u64,
) -> Result<Vec<Change>> {
    let (mut taken, others) = renamed_or_wanted(repo, changes, wanted, former)?;
    let sources = take_sources(repo, &taken, others, bytes_left);
    if !sources.is_empty() {
        former.extend(sources.iter().map(|change| change.path.clone()));
        taken.extend(sources);
        taken.sort_by(|one, other| one.path.cmp(&other.path));
    }
    Ok(taken)
}

/// Does the same without the files that lost lines. Returns the other changes, too.
fn renamed_or_wanted(
    repo: &Repo,
    changes: Vec<Change>,
    wanted: &dyn Fn(&BString) -> bool,
    former: &mut BTreeSet<BString>,
) -> Result<(Vec<Change>, Vec<Change>)> {
    let is_asked = |path: &BString, former: &BTreeSet<BString>| wanted(path) || former.contains(path);
    // Two files may have exchanged their names.
    let before: HashSet<Leaf> = changes.iter().filter_map(|change| change.before).collect();
    let is_replaced = |it: &&Change| it.before.is_some() && it.after.is_some_and(|after| before.contains(&after));
    let replaced: BTreeSet<BString> = changes.iter().filter(is_replaced).map(|change| change.path.clone()).collect();
    let is_new = |change: &Change| change.before.is_none() || replaced.contains(&change.path);
    let has_new = changes.iter().any(|change| is_new(change) && is_asked(&change.path, former));
    let gone = changes.iter().filter(|change| change.after.is_none()).count();
    let gone_others = changes.iter().filter(|change| change.after.is_none() && !is_asked(&change.path, former)).count();
    let has_changed = || changes.iter().any(|change| change.after.is_some() && is_asked(&change.path, former));
    let may_be_onto = !has_new && (1..=MOST_SPLIT).contains(&gone_others) && has_changed();
    if !(has_new || may_be_onto) || gone > MOST_GONE {
        return Ok(changes.into_iter().partition(|change| is_asked(&change.path, former)));
    }
    former.extend(replaced);
    // Deleted files that are wanted take part as well. A commit may show no rename between two wanted names, because others
    // have changed the file since.
    let (changes, others): (Vec<_>, Vec<_>) =
        changes.into_iter().partition(|change| change.after.is_none() || is_asked(&change.path, former));
    let (ends, mut rest): (Vec<_>, Vec<_>) =
        changes.into_iter().partition(|change| change.after.is_none() || change.before.is_none());
    for change in repo.detect_renames(ends)? {
        // A deleted file without a rename may have been split into several files, or edited heavily. In a step with many
        // deletions, we ignore that.
        let is_unpaired = change.after.is_none() && !is_asked(&change.path, former);
        if !is_unpaired || gone_others <= MOST_SPLIT {
            former.extend(change.old_path.clone().or_else(|| is_unpaired.then(|| change.path.clone())));
            rest.push(change);
        }
    }
    let others = take_renames_onto(repo, &mut rest, others, former)?;
    rest.sort_by(|one, other| one.path.cmp(&other.path));
    Ok((rest, others))
}

/// Makes renames of those new files of `changes` that have the content which a file of `changes` or `others` had before, where
/// other content has taken its name. Adds these changes of `others` to `changes`, and the names to `former`. Returns the rest of
/// `others`.
fn take_renames_onto(
    repo: &Repo,
    changes: &mut Vec<Change>,
    others: Vec<Change>,
    former: &mut BTreeSet<BString>,
) -> Result<Vec<Change>> {
    let is_new = |change: &Change| change.before.is_none() && change.after.is_some();
    let is_changed = |change: &&Change| {
        let before = change.before.filter(|_| change.after.is_some() && change.old_path.is_none());
        before.is_some_and(|before| change.after.map(|after| after.id) != Some(before.id))
    };
    let changed: Vec<Change> = changes.iter().chain(&others).filter(is_changed).cloned().collect();
    if changed.is_empty() || changed.len() > MOST_REPLACED || !changes.iter().any(is_new) {
        return Ok(others);
    }
    let names: Vec<_> = changed.iter().filter_map(|it| Some((it.path.clone(), it.before?.id))).collect();
    let ends = changes.iter().filter(|change| is_new(change)).chain(&changed).cloned();
    let found = repo.find_renamed(&names, ends)?;
    let mut taken = BTreeSet::new();
    for change in changes.iter_mut().filter(|change| is_new(change)) {
        let Some(other) = found.get(&change.path).map(|at| &changed[*at]) else { continue };
        (change.old_path, change.before, change.status) = (Some(other.path.clone()), other.before, Status::Renamed);
        taken.insert(other.path.clone());
    }
    let (mut own, others) = others.into_iter().partition(|change: &Change| taken.contains(&change.path));
    changes.append(&mut own);
    former.extend(taken);
    Ok(others)
}

/// Finds files of `changes`, with which `carrier` carries the work of `source` forward, that were moved meanwhile: such a file has the
/// content in `carrier` that another one has in `source`. Makes renames of them.
///
/// Returns the files that `carrier` has at the old names all the same: they are new after the renames.
pub(super) fn find_moved(
    repo: &Repo,
    source: &Checkpoint,
    carrier: &Checkpoint,
    changes: &mut [Change],
) -> Result<Vec<Change>> {
    let mut work: Option<HashMap<Leaf, BString>> = None;
    let mut back = Vec::new();
    for change in changes {
        let Some(after) = change.after.filter(|_| change.old_path.is_none()) else { continue };
        if repo.find_leaf(source.tree_id, change.path.as_bstr())? == Some(after) {
            continue;
        }
        if work.is_none() {
            let changed = repo.diff_trees(base_tree(repo, source)?, source.tree_id)?;
            work = Some(changed.into_iter().filter_map(|it| Some((it.after?, it.path))).collect());
        }
        let Some(path) = work.as_mut().and_then(|work| work.remove(&after)) else { continue };
        let now = repo.find_leaf(carrier.tree_id, path.as_bstr())?;
        if now != Some(after) {
            back.extend(Change::between(path.clone(), None, now));
            (change.old_path, change.before, change.status) = (Some(path), Some(after), Status::Renamed);
        }
    }
    back.sort_by(|one: &Change, other| one.path.cmp(&other.path));
    Ok(back)
}
