//! Says whether anything of the work of agents in a record is left after git has replaced the commit, or removed it from HEAD.
//!
//! [`is_undone`] decides for amended, rebased and squashed commits whether the new commit is linked to the record, [`is_kept`]
//! for commits that a reset has removed. Neither needs a threshold: they carry the recorded owner of each line forward to the
//! new file, and look for a line of an agent. In doubt, the commit stays linked.

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::{
    super::records::evidence,
    names_now::{LeftOut, renamed},
    place::{Place, is_moved},
};
use crate::{
    error::Result,
    git::{Repo, line_edits::step_edits},
    model::{
        attribution::{
            Author, AuthorId, Differ, Owner,
            carry::{carry, restrict},
            kind::agent_of,
            text::{Attribution, File},
        },
        change::{Leaf, Mode},
        contributor::Contributor,
        record::{RecordFile, RecordId},
    },
};

/// The new version of a commit.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Amended {
    /// The index.
    Staged,
    /// This commit.
    To(ObjectId),
}

/// Returns true if the new version `new` of the commit `old` has nothing left of what agents did in the record `id`.
pub(crate) fn is_undone(repo: &Repo, id: &RecordId, old: ObjectId, new: Amended) -> Result<bool> {
    let Ok(Some(record)) = evidence::find(repo, id) else { return Ok(false) };
    let stored = evidence::attribution(repo, id)?.unwrap_or_default();
    let Ok(Attribution { mut authors, files: recorded }) = Attribution::from_text(&stored) else { return Ok(false) };
    authors.push(Author::plain(Contributor::Human));
    let files: Vec<RecordFile> = record.files.into_iter().filter(|file| !file.sessions.is_empty()).collect();
    let old_tree_id = repo.tree_of_commit(old)?;
    let parent = repo.parents_of(old)?.first().copied();
    let parent_tree_id = parent.map_or_else(|| Ok(repo.empty_tree_id()), |id| repo.tree_of_commit(id))?;
    // If a rebase has reordered commits, the new parent may have the work.
    let new_parent_tree_id = match new {
        Amended::To(commit) => match repo.parents_of(commit)?.first() {
            Some(parent) if repo.is_commit(*parent)? => repo.tree_of_commit(*parent)?,
            _ => parent_tree_id,
        },
        Amended::Staged => parent_tree_id,
    };
    let paths: Vec<BString> = files.iter().map(|file| file.path.clone()).collect();
    let place = match new {
        Amended::Staged => Place::Staged,
        Amended::To(commit) => Place::In(commit),
    };
    let now = place.leaves(repo, &paths)?;
    let mut is_touched = false;
    for (path, leaf) in &now {
        is_touched |= repo.find_leaf(old_tree_id, path.as_bstr())? != *leaf;
    }
    if !is_touched {
        return Ok(false);
    }
    let holds = |file: &RecordFile, leaf: Option<Leaf>| {
        let before = repo.find_leaf(parent_tree_id, file.path.as_bstr())?;
        let new_before = repo.find_leaf(new_parent_tree_id, file.path.as_bstr())?;
        let recorded = recorded.iter().find(|it| it.ownership.path == file.path);
        let is_new = leaf != before && leaf != new_before;
        Ok(is_new && holds_any(repo, file, recorded, &authors, (new_before, leaf))?)
    };
    for file in &files {
        if holds(file, now.get(&file.path).copied().flatten())? {
            return Ok(false);
        }
    }
    // This amend or an earlier one may have renamed the files. Others may have got their names.
    let mut left_out = Vec::new();
    for file in &files {
        let now = now.get(&file.path).copied().flatten();
        let old =
            repo.find_leaf(old_tree_id, file.path.as_bstr())?.map(|leaf| leaf.id).filter(|id| file.after != Some(*id));
        left_out.extend([file.after, old].into_iter().filter_map(|after| LeftOut::of(repo, file, after, now)));
    }
    let mut changes = Vec::new();
    if !left_out.is_empty() {
        changes = place.changes(repo, old_tree_id)?;
        let mut earlier = place.changes(repo, new_parent_tree_id)?;
        earlier.retain(|change| change.before.is_none() && changes.iter().all(|it| it.path != change.path));
        changes.extend(earlier);
    }
    let renamed = renamed(repo, &left_out, &changes)?;
    for file in &files {
        for leaf in renamed.get(&file.path).into_iter().flatten() {
            if holds(file, Some(*leaf))? {
                return Ok(false);
            }
        }
    }
    let changes = if files.is_empty() { Vec::new() } else { place.changes(repo, new_parent_tree_id)? };
    Ok(!files.is_empty() && !is_moved(place, repo, id, (new_parent_tree_id, &changes), &renamed)?)
}

/// Returns true if `place` has a file of the record `id` exactly as a commit with one of the trees `tree_ids` has it, and there
/// may be anything left in it of what agents did in the record. Git has removed these commits from HEAD, whose tree is now
/// `head_tree_id`, but not from `place`: a person has not typed it again.
pub(super) fn is_kept(
    repo: &Repo,
    id: &RecordId,
    place: Place,
    head_tree_id: ObjectId,
    tree_ids: &[ObjectId],
) -> Result<bool> {
    // Skips damaged records.
    let Ok(Some(record)) = evidence::find(repo, id) else { return Ok(false) };
    let files: Vec<RecordFile> = record.files.into_iter().filter(|file| !file.sessions.is_empty()).collect();
    let now = place.leaves(repo, &files.iter().map(|file| file.path.clone()).collect::<Vec<_>>())?;
    let mut stored = None;
    for file in &files {
        let Some(leaf) = now.get(&file.path).copied().flatten() else { continue };
        let before = repo.find_leaf(head_tree_id, file.path.as_bstr())?;
        let mut is_kept = false;
        for tree_id in tree_ids.iter().filter(|_| before != Some(leaf)) {
            is_kept = is_kept || repo.find_leaf(*tree_id, file.path.as_bstr())? == Some(leaf);
        }
        if !is_kept {
            continue;
        }
        if stored.is_none() {
            let text = evidence::attribution(repo, id)?.unwrap_or_default();
            let Ok(mut attribution) = Attribution::from_text(&text) else { return Ok(false) };
            attribution.authors.push(Author::plain(Contributor::Human));
            stored = Some(attribution);
        }
        let Some(Attribution { authors, files }) = &stored else { continue };
        let recorded = files.iter().find(|it| it.ownership.path == file.path);
        if holds_any(repo, file, recorded, authors, (before, Some(leaf)))? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns true if the change from `before` to `now` may contain anything that an agent did to `file`; `recorded` is the stored
/// attribution of the file.
fn holds_any(
    repo: &Repo,
    file: &RecordFile,
    recorded: Option<&File>,
    authors: &[Author],
    (before, now): (Option<Leaf>, Option<Leaf>),
) -> Result<bool> {
    if now.map(|leaf| leaf.id) == file.after {
        return Ok(true);
    }
    // The agent created the file and it is gone, or the agent deleted it and it is back.
    let (Some(now), Some(after)) = (now, file.after) else { return Ok(false) };
    let (Some(recorded), true) = (recorded, repo.has_object(after)) else { return Ok(true) };
    let is_agent = |id: AuthorId| authors.get(id as usize).is_some_and(|it| it.contributor == Contributor::Agent);
    if !repo.has_object(now.id) {
        return Ok(true);
    }
    let [after, now] = [Leaf { id: after, mode: Mode::File }, now].map(|leaf| repo.text_of(Some(leaf)));
    let (Some(after), Some(now)) = (after?, now?) else { return Ok(true) };
    let before = repo.text_of(before.filter(|leaf| repo.has_object(leaf.id)))?.unwrap_or_default();
    let (deleted, added): (Vec<_>, Vec<_>) = step_edits(&before, &now).into_iter().unzip();
    // The record does not say which lines the agent deleted. This may be the same deletion.
    if deleted.iter().any(|lines| !lines.is_empty()) && recorded.ownership.removed.iter().any(|(id, _)| is_agent(*id)) {
        return Ok(true);
    }
    let differ = Differ::new(&step_edits, &step_edits);
    // Only lines of agents matter here, so the author of the amendment may count as a human.
    let amender = AuthorId::try_from(authors.len() - 1).unwrap_or(AuthorId::MAX);
    let spans = carry(&differ, &recorded.ownership.spans, &after, &now, amender);
    Ok(restrict(&spans, &added, Owner::Base).iter().any(|span| agent_of(span.owner, authors).is_some()))
}
