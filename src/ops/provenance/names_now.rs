//! The names that files of a record have now: a person, or a later commit, may have renamed them.

use std::collections::{BTreeMap, HashMap};

use bstr::BString;
use gix::ObjectId;

use crate::{
    error::Result,
    git::{
        Repo,
        new_names::{By, Old},
    },
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
    /// What the place has under the name.
    now: Option<Leaf>,
}

impl LeftOut {
    /// Returns the file of a record if a place has it as `now` and not as `after`, as the work or a later commit left it: it may
    /// have another name there. Git may have put the earlier content back, or another file may have the name.
    pub(super) fn of(repo: &Repo, file: &RecordFile, after: Option<ObjectId>, now: Option<Leaf>) -> Option<Self> {
        let after = after.filter(|after| now.map(|leaf| leaf.id) != Some(*after) && repo.has_object(*after))?;
        Some(Self { path: file.path.clone(), before: file.before, after, now })
    }

    /// Returns true if the place has other content under the name, or another file.
    fn is_replaced(&self) -> bool {
        self.now.is_some_and(|leaf| Some(leaf.id) != self.before)
    }

    fn as_left(&self) -> Old {
        Old::of_blob(self.path.clone(), self.after)
    }
}

/// The content of files that have other names now, by their former names.
pub(super) type Renamed = BTreeMap<BString, Vec<Leaf>>;

/// Returns the content of those files of `left_out` that have other names in `changes`, by their former names. These are new
/// files, and files that had the same content before. One search for all files reads `changes` once.
pub(super) fn renamed(repo: &Repo, left_out: &[LeftOut], changes: &[Change]) -> Result<Renamed> {
    let changed = changes.iter().filter(|it| left_out.iter().all(|left| left.path != it.path));
    let changed: HashMap<ObjectId, Leaf> = changed.filter_map(|it| Some((it.before?.id, it.after?))).collect();
    let changed = left_out.iter().filter_map(|it| Some((it.path.clone(), *changed.get(&it.before?)?)));
    // Several records may have the same file under different names. A file that is gone is a likelier source than one that may
    // only have changed, so it comes first.
    let new: Vec<Change> = changes.iter().filter(|change| change.before.is_none()).cloned().collect();
    let mut found = Vec::new();
    for (is_replaced, changes) in [(false, new.as_slice()), (true, changes)] {
        let left_out = left_out.iter().filter(|it| it.is_replaced() == is_replaced);
        let old: Vec<Old> = left_out.map(LeftOut::as_left).collect();
        let renamed = repo.new_names(&old, changes, By::Git, |change| change.before.is_none())?.into_iter();
        found.extend(renamed.filter_map(|it| Some((it.old_path?, it.after?))));
    }
    let mut renamed = Renamed::new();
    changed.chain(found).for_each(|(path, leaf)| renamed.entry(path).or_default().push(leaf));
    Ok(renamed)
}

/// What HEAD and a place have of files that had another name when they were recorded, by that name.
pub(super) type Changed = BTreeMap<BString, (Option<Leaf>, Leaf)>;

/// Returns the files of `changes` that HEAD has, too, and that are those of `left_out` under another name: a revert brings work back in
/// a file that was renamed since. Another file may have its old name.
pub(super) fn changed_names(repo: &Repo, left_out: &[LeftOut], changes: &[Change]) -> Result<Changed> {
    let known: BTreeMap<&BString, Leaf> = changes.iter().filter_map(|it| Some((&it.path, it.before?))).collect();
    let there = left_out.iter().map(|left| (&left.path, left.now));
    let there: BTreeMap<_, _> = there.chain(changes.iter().map(|change| (&change.path, change.after))).collect();
    // What they were before is a version of the same file.
    let now = there.into_iter().filter_map(|(path, leaf)| Change::between(path.clone(), None, leaf));
    let old: Vec<Old> = left_out.iter().map(LeftOut::as_left).collect();
    let found = repo.new_names(&old, &now.collect::<Vec<_>>(), By::Git, |change| known.contains_key(&change.path))?;
    let found = found.into_iter().filter_map(|it| Some((it.old_path?, (known.get(&it.path).copied(), it.after?))));
    Ok(found.filter(|(_, (before, _))| before.is_some()).collect())
}
