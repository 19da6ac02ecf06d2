//! The names that files of a record have now: a person, or a later commit, may have renamed them.

use std::collections::{BTreeMap, HashMap};

use bstr::BString;
use gix::ObjectId;

use crate::{
    error::Result,
    git::Repo,
    model::{
        change::{Change, Leaf},
        record::RecordFile,
    },
};

/// The files of a record that have other names now, those that a commit renames, and those that had other names in HEAD already.
pub(super) type Names<'n> = (&'n Renamed, &'n Former, &'n Changed);

/// What HEAD has of the files that a commit renames, by their new names.
pub(super) type Former = HashMap<BString, Option<Leaf>>;

/// A file with the blob that a record left there, which `changes` may have under another name.
pub(super) struct LeftOut {
    path: BString,
    /// The blob before the work.
    before: Option<ObjectId>,
    after: ObjectId,
    /// True if the place has other content under the name, or another file.
    is_replaced: bool,
}

impl LeftOut {
    /// Returns the file of a record if a place has it as `now` and not as `after`, as the work or a later commit left it: it may
    /// have another name there. Git may have put the earlier content back, or another file may have the name.
    pub(super) fn of(repo: &Repo, file: &RecordFile, after: Option<ObjectId>, now: Option<Leaf>) -> Option<Self> {
        let after = after.filter(|after| now.map(|leaf| leaf.id) != Some(*after) && repo.has_object(*after))?;
        let is_replaced = now.is_some_and(|leaf| Some(leaf.id) != file.before);
        Some(Self { path: file.path.clone(), before: file.before, after, is_replaced })
    }
}

/// The content of files that have other names now, by their former names.
pub(super) type Renamed = BTreeMap<BString, Vec<Leaf>>;

/// Returns the content of those files of `left_out` that have other names in `changes`, by their former names. These are new
/// files, and files that had the same content before. One search for all files reads `changes` once.
pub(super) fn renamed(repo: &Repo, left_out: &[LeftOut], changes: Vec<Change>) -> Result<Renamed> {
    let now: HashMap<BString, Leaf> = changes.iter().filter_map(|it| Some((it.path.clone(), it.after?))).collect();
    let changed = changes.iter().filter(|it| left_out.iter().all(|left| left.path != it.path));
    let changed: HashMap<ObjectId, Leaf> = changed.filter_map(|it| Some((it.before?.id, it.after?))).collect();
    let changed = left_out.iter().filter_map(|it| Some((it.path.clone(), *changed.get(&it.before?)?)));
    // Several records may have the same file under different names. A file that is gone is a likelier source than one that may
    // only have changed, so it comes first.
    let new: Vec<Change> = changes.iter().filter(|change| change.before.is_none()).cloned().collect();
    let mut found = Vec::new();
    for (is_replaced, changes) in [(false, new), (true, changes)] {
        let left_out = left_out.iter().filter(|it| it.is_replaced == is_replaced);
        let former: Vec<_> = left_out.map(|it| (it.path.clone(), it.after)).collect();
        let renamed = repo.find_renamed(&former, changes)?.into_iter();
        found.extend(renamed.filter_map(|(path, at)| Some((former[at].0.clone(), *now.get(&path)?))));
    }
    let mut renamed = Renamed::new();
    changed.chain(found).for_each(|(path, leaf)| renamed.entry(path).or_default().push(leaf));
    Ok(renamed)
}

/// What HEAD and a place have of files that had another name when they were recorded, by that name.
pub(super) type Changed = BTreeMap<BString, (Option<Leaf>, Leaf)>;

/// Returns the files of `changes` that HEAD has, too, and that are those of `gone` under another name: a revert brings work back in a
/// file that was renamed since.
pub(super) fn changed_names(repo: &Repo, gone: &[(BString, ObjectId)], changes: &[Change]) -> Result<Changed> {
    let known = || changes.iter().filter(|change| change.before.is_some());
    if gone.is_empty() || known().next().is_none() {
        return Ok(Changed::new());
    }
    // The search is for new files.
    let found = repo.find_renamed(gone, known().map(|change| Change { before: None, ..change.clone() }))?;
    let named =
        known().filter_map(|change| Some((gone[*found.get(&change.path)?].0.clone(), (change.before, change.after?))));
    Ok(named.collect())
}
