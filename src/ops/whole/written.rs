//! Makes the record of a commit from what readers find in the records of those that it was made from. It says who wrote the lines, and
//! needs no content but the commit's own: the other commits may be gone soon.

use std::collections::HashMap;

use bstr::BString;
use gix::ObjectId;

use crate::{
    error::Result,
    git::Repo,
    model::{
        attribution::{
            Author,
            kind::{Kind, kind_of},
            summary::Figures,
            text::{Attribution, File},
        },
        change::Leaf,
        contributor::Contributor,
        record::{Counts, Record, RecordFile, RecordId, SessionPart},
        refname::Base,
    },
    ops::{
        attribution::OfCommit,
        provenance::replay::contributors,
        records::{Log, NewRecord, NewSession},
    },
};

/// Returns true if others may not know who wrote the lines of `commit` although they have its `records`: it has no whole record, and one
/// of another commit has another content, before or after, in one of its files.
pub(crate) fn is_needed(repo: &Repo, commit: ObjectId, records: &[Record]) -> Result<bool> {
    let (own, others): (Vec<&Record>, Vec<&Record>) = records.iter().partition(|record| record.commit == commit);
    if others.is_empty() || own.iter().any(|record| record.is_whole) {
        return Ok(false);
    }
    let parent = repo.parents_of(commit)?.first().copied();
    let before = parent.map_or_else(|| Ok(repo.empty_tree_id()), |parent| repo.tree_of_commit(parent))?;
    let changes = repo.detect_renames(repo.diff_trees(before, repo.tree_of_commit(commit)?)?)?;
    let id = |leaf: Option<Leaf>| leaf.map(|leaf| leaf.id);
    let sides: HashMap<&BString, _> =
        changes.iter().map(|change| (&change.path, (id(change.before), id(change.after)))).collect();
    let is_same = |file: &RecordFile| sides.get(&file.path) == Some(&(file.before, file.after));
    Ok(!others.iter().all(|record| record.files.iter().all(is_same)))
}

/// Adds their patch ids to `records`.
pub(crate) fn with_patch_ids(repo: &Repo, records: &mut [NewRecord]) -> Result<()> {
    let commits: Vec<ObjectId> = records.iter().map(|new| new.record.commit).collect();
    let mut ids = repo.patch_ids(&commits)?;
    for new in records {
        new.record.patch_id = ids.remove(&new.record.commit);
    }
    Ok(())
}

/// Returns the record of the commit that `found` is the attribution of, without its patch id; its ids are of `authors`.
pub(crate) fn record_of(repo: &Repo, log: &Log<'_>, found: &OfCommit, authors: &[Author]) -> Result<NewRecord> {
    let mut parts: Vec<SessionPart> = Vec::new();
    let (mut files, mut stored, mut figures) = (Vec::new(), Vec::new(), Figures::default());
    for file in &found.files {
        figures = figures.plus(&Figures::of_file(&file.ownership, authors));
        let mut sessions = Vec::new();
        for author in contributors(&file.ownership).into_iter().filter_map(|id| authors.get(id as usize)) {
            let Some(id) = author.session.as_ref().filter(|_| author.contributor == Contributor::Agent) else {
                continue;
            };
            let at = parts.iter().position(|part| part.id == *id).unwrap_or_else(|| {
                let (agent, model) = (author.agent.clone(), author.model.clone());
                parts.push(SessionPart { id: id.clone(), agent, model, ..SessionPart::default() });
                parts.len() - 1
            });
            parts[at].turns.extend(author.turn);
            sessions.push(at);
        }
        sessions.sort_unstable();
        sessions.dedup();
        let [before, after] = [file.change.before, file.change.after].map(|leaf| leaf.map(|leaf| leaf.id));
        files.push(RecordFile { path: file.change.path.clone(), before, after, sessions });
        stored.push(File { blob: after, ownership: file.ownership.clone() });
    }
    for part in &mut parts {
        part.turns.sort_unstable();
        part.turns.dedup();
    }
    // The same ids wherever and whenever it is made.
    let mut id = RecordId::of_commit(found.id);
    for other in [RecordId::second_of_commit(found.id), RecordId::random()] {
        if log.has(&id)? {
            id = other;
        }
    }
    let record = Record {
        id,
        revision: 1,
        commit: found.id,
        parent: found.parent,
        tree: repo.tree_of_commit(found.id)?,
        patch_id: None,
        seconds: found.seconds,
        base: Base::of_head(found.parent),
        worktree: repo.worktree_id().to_owned(),
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        sessions: parts,
        files,
        counts: Counts::from(&figures),
        is_whole: true,
    };
    let sessions = vec![NewSession::default(); record.sessions.len()];
    let attribution = Attribution { authors: authors.to_vec(), files: stored }.to_text();
    Ok(NewRecord { record, attribution, sessions })
}

/// Returns the files of the records `ids` that have lines of agents, as `(record, path, blob)`.
pub(crate) fn work_of(log: &Log<'_>, ids: &[RecordId]) -> Result<Vec<(RecordId, BString, ObjectId)>> {
    let mut found = Vec::new();
    for id in ids {
        let text = log.attribution(id)?.unwrap_or_default();
        // A damaged record is reported as a missing one.
        let Ok(Attribution { authors, files }) = Attribution::from_text(&text) else { continue };
        for File { blob, ownership } in files {
            let owners = ownership.spans.iter().map(|span| span.owner).chain(ownership.whole);
            let mut kinds = owners.map(|owner| kind_of(owner, &authors));
            if let Some(blob) = blob.filter(|_| kinds.any(|kind| !matches!(kind, Kind::Human | Kind::Base))) {
                found.push((*id, ownership.path.clone(), blob));
            }
        }
    }
    Ok(found)
}
