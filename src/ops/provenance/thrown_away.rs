//! Work that git has thrown away: it has put files back as HEAD has them. What they have since is typed anew.
//!
//! The index shows it until git reads the file again: with the content of HEAD, git notes there when the file was modified, which it
//! cannot if the file has other content. `git checkout`, `git restore`, `git reset --hard` and `git stash` do so; a reset of the index
//! alone does not.

use std::collections::{BTreeMap, BTreeSet};

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::{
    super::{chain::carry_forward::base_tree, records::evidence, share::Least},
    place::{Place, found_at, head_tree},
};
use crate::{
    error::{Kind, Result},
    git::{Repo, stat_cache::StatCache},
    model::{
        change::Change,
        checkpoint::Checkpoint,
        record::{Parts, RecordId},
        refname::Base,
    },
    state,
};

/// Returns those of the records `ids`, whose work was brought to the index or the worktree in the files that `has` accepts, that are not
/// all here: not all files were brought, or git has brought them, as `is_by_git` says, and has then put files back as `head` has them.
/// Each comes with the files that are left.
pub(super) fn parts_left(
    repo: &Repo,
    head: Option<ObjectId>,
    place: Place,
    ids: impl IntoIterator<Item = RecordId>,
    has: impl Fn(&RecordId, &BString) -> bool,
    is_by_git: impl Fn(&RecordId) -> bool,
) -> Result<Parts> {
    let (head_tree_id, mut left) = (head_tree(repo, head)?, BTreeMap::new());
    let mut records: Vec<(RecordId, Vec<BString>)> = Vec::new();
    for id in ids {
        // A damaged record is no reason to refuse a commit.
        let Some(record) = evidence::find(repo, &id).ok().flatten() else { continue };
        records.push((id, record.files.into_iter().map(|file| file.path).collect()));
    }
    // The index, which may be large, is read once for all records.
    let by_git = || records.iter().filter(|(id, _)| is_by_git(id)).flat_map(|(_, paths)| paths);
    let seen = repo.seen_by_git(by_git())?;
    let leaves = place.leaves(repo, &seen.keys().map(|path| (*path).clone()).collect::<Vec<_>>())?;
    let mut put_back = BTreeSet::new();
    for (path, seen) in &seen {
        let head = repo.find_leaf(head_tree_id, path.as_bstr())?;
        if head == Some(seen.leaf) && leaves.get(*path).copied().flatten().is_some_and(|now| now != seen.leaf) {
            put_back.insert((*path).clone());
        }
    }
    for (id, paths) in records.iter().cloned() {
        let is_put_back = |path: &&BString| is_by_git(&id) && put_back.contains(*path);
        let put_back: BTreeSet<BString> = paths.iter().filter(is_put_back).cloned().collect();
        left.insert(id, (paths, put_back));
    }
    // The work may have come back by other means. Then the file shows it.
    let asked = left.iter().filter(|(_, (_, put_back))| !put_back.is_empty()).map(|(id, _)| (*id, Least::Any));
    for found in found_at(place, repo, head_tree_id, None, asked.collect::<Vec<_>>())? {
        if let Some((_, put_back)) = left.get_mut(&found.id) {
            put_back.retain(|path| !found.files.contains(path));
        }
    }
    let part = |(id, (mut paths, put_back)): (RecordId, (Vec<BString>, BTreeSet<BString>))| {
        let all = paths.len();
        paths.retain(|path| has(&id, path) && !put_back.contains(path));
        (paths.len() < all).then_some((id, paths))
    };
    Ok(left.into_iter().filter_map(part).collect())
}

/// Returns how git has put files of the last checkpoint `tip` back as HEAD has them since, if they have been modified again after that.
/// What is damaged says nothing.
pub(crate) fn since(repo: &Repo, tip: &Checkpoint) -> Result<Vec<Change>> {
    match put_back_since(repo, tip) {
        Err(error) if error.kind() == Kind::Corrupt => {
            tracing::warn!(%error, "cannot find out whether git has put files back");
            Ok(Vec::new())
        }
        found => found,
    }
}

fn put_back_since(repo: &Repo, tip: &Checkpoint) -> Result<Vec<Change>> {
    if tip.base != Base::of_head(repo.head()?.id) {
        return Ok(Vec::new());
    }
    let mut touched = repo.diff_trees(base_tree(repo, tip)?, tip.tree_id)?;
    touched.retain(|change| change.before.is_some() && change.after.is_some());
    let mut seen = repo.seen_by_git(touched.iter().map(|change| &change.path))?;
    let is_put_back = |change: &&Change| {
        seen.get(&change.path).is_some_and(|seen| seen.is_modified && Some(seen.leaf) == change.before)
    };
    let put_back: Vec<Change> = touched.iter().filter(is_put_back).cloned().collect();
    if put_back.is_empty() {
        return Ok(put_back);
    }
    // Our own index has when the file was changed that the last checkpoint has.
    let path = state::directory(repo.git_dir()).join("index");
    let Some(cache) = StatCache::load(&path, repo.object_hash()) else { return Ok(Vec::new()) };
    let back = |change: Change| {
        let known =
            cache.find(change.path.as_bstr()).filter(|known| change.after.is_some_and(|it| it.id == known.id))?;
        let is_later = seen.remove(&change.path)?.ctime > known.stat.ctime;
        Change::between(change.path, change.after, change.before).filter(|_| is_later)
    };
    Ok(put_back.into_iter().filter_map(back).collect())
}
