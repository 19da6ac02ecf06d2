//! Follows files through the steps of a chain, back in time, under the names that they had then. `steps` calls it for each
//! checkpoint.

use std::collections::{BTreeSet, HashMap, HashSet};

use bstr::{BString, ByteSlice as _};

use super::{super::chain::carry_forward::base_tree, moved_lines::take_sources};
use crate::{
    error::Result,
    git::{
        Repo,
        new_names::{By, Old},
    },
    model::{
        change::{Change, Leaf},
        checkpoint::Checkpoint,
    },
};

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
    let before = leaves_before(&changes);
    let is_new = |change: &Change| is_new(change, &before);
    let has_new = changes.iter().any(|change| is_new(change) && is_asked(&change.path, former));
    let gone_others = changes.iter().filter(|change| change.after.is_none() && !is_asked(&change.path, former)).count();
    let has_changed = || changes.iter().any(|change| change.after.is_some() && is_asked(&change.path, former));
    let may_be_onto = !has_new && (1..=MOST_SPLIT).contains(&gone_others) && has_changed();
    if !(has_new || may_be_onto) {
        return Ok(changes.into_iter().partition(|change| is_asked(&change.path, former)));
    }
    let mut renamed = renamed(repo, &changes, &|path| is_asked(path, former))?;
    let sources: BTreeSet<BString> = renamed.values().filter_map(|change| change.old_path.clone()).collect();
    // Other content may have taken the name of such a file.
    former.extend(sources.iter().cloned());
    let (mut taken, mut others) = (Vec::new(), Vec::new());
    for change in changes {
        let (is_gone, is_source) = (change.after.is_none(), sources.contains(&change.path));
        if let Some(renamed) = renamed.remove(&change.path) {
            taken.push(renamed);
        } else if !(is_gone && is_source) && is_asked(&change.path, former) {
            taken.push(change);
        } else if !is_gone {
            others.push(change);
        } else if !is_source && gone_others <= MOST_SPLIT {
            // An unpaired deletion may have been split into several files, or edited heavily. In a step with many deletions, we
            // ignore that.
            former.insert(change.path.clone());
            taken.push(change);
        }
    }
    Ok((taken, others))
}

/// Returns true if `change` makes a file, or leaves one with the content that another file had `before`: two files may have exchanged
/// their names.
fn is_new(change: &Change, before: &HashSet<Leaf>) -> bool {
    change.before.is_none() || change.after.is_some_and(|after| before.contains(&after))
}

/// Returns what the files had before `changes`.
fn leaves_before(changes: &[Change]) -> HashSet<Leaf> {
    changes.iter().filter_map(|change| change.before).collect()
}

/// Returns the renames among `changes`, all changes of a step, by their new names: to new files that `is_asked` accepts, and from files
/// whose names they have. What they come from was deleted, or has other content under its name now. If that was renamed, too, its own
/// rename is among them.
pub(super) fn renamed(
    repo: &Repo,
    changes: &[Change],
    is_asked: &dyn Fn(&BString) -> bool,
) -> Result<HashMap<BString, Change>> {
    let before = leaves_before(changes);
    if !changes.iter().any(|change| is_new(change, &before) && is_asked(&change.path)) {
        return Ok(HashMap::new());
    }
    let is_equal = |change: &Change| change.after.is_some_and(|after| before.contains(&after));
    let is_target = |change: &Change| is_equal(change) || change.before.is_none() && is_asked(&change.path);
    let after: HashSet<Leaf> = changes.iter().filter_map(|change| change.after).collect();
    let is_changed = |change: &Change| match (change.before, change.after) {
        (Some(before), Some(after)) => before.id != after.id,
        _ => false,
    };
    let has_many = changes.iter().filter(|change| is_changed(change)).count() > MOST_REPLACED;
    let is_known = |change: &Change| change.before.is_some_and(|before| after.contains(&before));
    let is_old = |it: &&Change| it.after.is_none() || is_changed(it) && (!has_many || is_known(it));
    let old: Vec<Old> = changes.iter().filter(is_old).filter_map(Old::before).collect();
    let found = repo.new_names(&old, changes, By::Git, is_target)?;
    let left: HashSet<&BString> = found.iter().filter_map(|change| change.old_path.as_ref()).collect();
    let come: HashSet<&BString> = found.iter().map(|change| &change.path).collect();
    let new: HashSet<&BString> = changes.iter().filter(|it| it.before.is_none()).map(|it| &it.path).collect();
    let is_one = |change: &&Change| {
        let old_path = change.old_path.as_ref();
        // A file that was only moved over another one is compared with that.
        let is_in_row = left.contains(&change.path) || old_path.is_some_and(|old_path| come.contains(old_path));
        (new.contains(&change.path) || is_in_row) && (is_asked(&change.path) || old_path.is_some_and(is_asked))
    };
    Ok(found.iter().filter(is_one).map(|change| (change.path.clone(), change.clone())).collect())
}

/// Finds files of `changes`, with which `carrier` carries the work of `source` forward, that were moved meanwhile: such a file has the
/// content in `carrier` that another one has in `source`. Makes renames of them.
pub(super) fn find_moved(repo: &Repo, source: &Checkpoint, carrier: &Checkpoint, changes: &mut [Change]) -> Result<()> {
    let mut open = Vec::new();
    for change in changes.iter().filter(|change| change.after.is_some() && change.old_path.is_none()) {
        if repo.find_leaf(source.tree_id, change.path.as_bstr())? != change.after {
            open.push(change.clone());
        }
    }
    if open.is_empty() {
        return Ok(());
    }
    let work = repo.diff_trees(base_tree(repo, source)?, source.tree_id)?;
    let old: Vec<Old> = work.iter().filter_map(Old::after).collect();
    for renamed in repo.new_names(&old, &open, By::Whole, |_| true)? {
        let Some(old_path) = &renamed.old_path else { continue };
        let now = repo.find_leaf(carrier.tree_id, old_path.as_bstr())?;
        // Else, it is a copy.
        if now.map(|leaf| leaf.id) != renamed.before.map(|leaf| leaf.id) {
            changes.iter_mut().filter(|change| change.path == renamed.path).for_each(|it| *it = renamed.clone());
        }
    }
    Ok(())
}
