//! Which changes of a step belong to a file that has another name now? `replay` asks for each checkpoint, back in time.

use std::collections::{BTreeSet, HashMap, HashSet};

use bstr::{BString, ByteSlice as _};

use super::super::{chain::carry_forward::base_tree, share::is_telling};
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

/// Returns those of `changes` whose path `wanted` accepts, or is in `former`, the earlier names of wanted files. If such a file
/// is new in this step, or has the content that another file had before, deleted and replaced files may have been renamed to it: adds
/// them to the result, and to `former`. If it has changed, a few deleted files may have been renamed onto it.
pub(super) fn changes_of(
    repo: &Repo,
    mut changes: Vec<Change>,
    wanted: &dyn Fn(&BString) -> bool,
    former: &mut BTreeSet<BString>,
) -> Result<Vec<Change>> {
    let is_asked = |path: &BString, former: &BTreeSet<BString>| wanted(path) || former.contains(path);
    // Of several renames at once, each may lead to where another one begins.
    let before: HashSet<Leaf> = changes.iter().filter_map(|change| change.before).collect();
    let is_replaced = |it: &&Change| it.before.is_some() && it.after.is_some_and(|after| before.contains(&after));
    let replaced: BTreeSet<BString> = changes.iter().filter(is_replaced).map(|change| change.path.clone()).collect();
    let is_new = |change: &Change| change.before.is_none() || replaced.contains(&change.path);
    let has_new = changes.iter().any(|change| is_new(change) && is_asked(&change.path, former));
    let gone = changes.iter().filter(|change| change.after.is_none()).count();
    let gone_others = changes.iter().filter(|change| change.after.is_none() && !is_asked(&change.path, former)).count();
    let has_changed = || changes.iter().any(|change| change.after.is_some() && is_asked(&change.path, former));
    let may_be_onto = !has_new && (1..=MOST_SPLIT).contains(&gone_others) && has_changed();
    if !(has_new || may_be_onto) || gone + replaced.len() == 0 || gone > MOST_GONE {
        changes.retain(|change| is_asked(&change.path, former));
        return Ok(changes);
    }
    former.extend(replaced);
    // Deleted files that are wanted take part as well. A commit may show no rename between two wanted names, because others
    // have changed the file since.
    changes.retain(|change| change.after.is_none() || is_asked(&change.path, former));
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
    rest.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(rest)
}

/// Finds files of `changes`, with which `carrier` carries the work of `source` forward, that were moved meanwhile: such a file has the
/// content in `carrier` that another one has in `source`. Makes renames of them. If there is still a file of the old name, work of a
/// short line is no evidence.
///
/// Returns the files that `carrier` has at the old names all the same: they are new after the renames.
pub(super) fn find_moved(
    repo: &Repo,
    source: &Checkpoint,
    carrier: &Checkpoint,
    changes: &mut [Change],
) -> Result<Vec<Change>> {
    let mut work: Option<HashMap<Leaf, Change>> = None;
    let mut back = Vec::new();
    for change in changes {
        let Some(after) = change.after.filter(|_| change.old_path.is_none()) else { continue };
        if repo.find_leaf(source.tree_id, change.path.as_bstr())? == Some(after) {
            continue;
        }
        if work.is_none() {
            let changed = repo.diff_trees(base_tree(repo, source)?, source.tree_id)?;
            work = Some(changed.into_iter().filter_map(|it| Some((it.after?, it))).collect());
        }
        let Some(moved) = work.as_mut().and_then(|work| work.remove(&after)) else { continue };
        let now = repo.find_leaf(carrier.tree_id, moved.path.as_bstr())?;
        if now != Some(after) && (now.is_none() || is_telling(repo, &moved)?) {
            let path = moved.path;
            back.extend(Change::between(path.clone(), None, now));
            (change.old_path, change.before, change.status) = (Some(path), Some(after), Status::Renamed);
        }
    }
    back.sort_by(|one: &Change, other| one.path.cmp(&other.path));
    Ok(back)
}
