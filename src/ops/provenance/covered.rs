//! Leaves out of a commit what earlier records have already: its new record is only for the work since.
//!
//! For example, an agent commits, a person runs `git reset --soft HEAD~1`, adds a line and commits again. The record of the
//! agent's commit is linked to the new one, and covers all but the line. `condense` calls [`leave_out_covered`] for a commit
//! that was made, and [`drop_recorded`] before it is made.

use bstr::BString;

use super::{
    super::{
        records::evidence,
        share::{Share, share},
    },
    replay::Work,
    step::Step,
};
use crate::{
    error::Result,
    git::{Repo, counting::Counting},
    model::{
        change::{Change, Leaf},
        record::{RecordFile, RecordId},
    },
};

/// Leaves out of `work` and `committed` what the records `ids` cover. If they cover a part of a file, the file starts from the
/// content that they left.
///
/// Leaves out nothing of a file if a step of an agent left the same content: the checkpoints have its authors, too.
///
/// If `is_promised`, the trailer of the commit names the new record, and the record must not be empty. If no session has done
/// anything since the earlier records, the new record then covers all work.
pub(crate) fn leave_out_covered(
    repo: &Repo,
    ids: &[RecordId],
    steps: &[Step],
    work: Work,
    committed: Vec<Change>,
    is_promised: bool,
    counting: &mut Counting<'_>,
) -> Result<(Work, Vec<Change>)> {
    let recorded = recorded_by(repo, ids);
    let mut since = Vec::with_capacity(committed.len());
    for change in
        committed.iter().filter(|change| !is_recorded(&recorded, change) || is_by_others(ids, repo, steps, change))
    {
        match left_by(repo, &recorded, steps, change)? {
            Some(left) => since.extend(Change::between(change.path.clone(), Some(left), change.after)),
            None => since.push(change.clone()),
        }
    }
    if since == committed {
        return Ok((work, committed));
    }
    let rest = Work::of(repo, steps, &since, counting)?;
    Ok(if rest.sessions.is_empty() && is_promised { (work, committed) } else { (rest, since) })
}

/// Removes from `changes` those that the records `ids` cover completely. Keeps a change if a session that is not in these
/// records has made it again in `steps`.
pub(crate) fn drop_recorded(repo: &Repo, ids: &[RecordId], steps: &[Step], changes: &mut Vec<Change>) {
    let recorded = recorded_by(repo, ids);
    changes.retain(|change| !is_recorded(&recorded, change) || is_by_others(ids, repo, steps, change));
}

/// Returns true if the last of `steps` at the path of `change` is by a session that is not in the records `ids`.
fn is_by_others(ids: &[RecordId], repo: &Repo, steps: &[Step], change: &Change) -> bool {
    let last = steps.iter().rev().find(|step| step.touches(&change.path));
    // If git brought lines into the file, they are the work of earlier commits.
    let own = last.filter(|step| step.changes.iter().all(|it| it.path != change.path || step.brought(it).is_none()));
    let Some(session) = own.and_then(|step| step.origin.session.as_ref()) else { return false };
    let records = ids.iter().filter_map(|id| evidence::find(repo, id).ok().flatten());
    !records.flat_map(|record| record.sessions).any(|part| part.id == *session)
}

/// Returns the files with work of sessions in the records `ids`.
fn recorded_by(repo: &Repo, ids: &[RecordId]) -> Vec<RecordFile> {
    // Skips damaged records.
    let files = ids.iter().filter_map(|id| evidence::find(repo, id).ok().flatten()).flat_map(|record| record.files);
    files.filter(|file| !file.sessions.is_empty()).collect()
}

/// Returns true if the files `recorded`, one after the other, lead from the old content of `change` to the new one.
fn is_recorded(recorded: &[RecordFile], change: &Change) -> bool {
    let [before, mut at] = [change.before, change.after].map(|leaf| leaf.map(|leaf| leaf.id));
    for _ in recorded {
        let Some(file) = recorded.iter().find(|file| file.path == change.path && file.after == at) else {
            return false;
        };
        at = file.before;
        if at == before {
            return change.old_path.is_none();
        }
    }
    false
}

/// Returns what the last record left at the path of `change`, if the commit contains half of its work or more.
fn left_by(repo: &Repo, recorded: &[RecordFile], steps: &[Step], change: &Change) -> Result<Option<Leaf>> {
    let Some(mode) = change.after.map(|leaf| leaf.mode).filter(|_| change.old_path.is_none()) else { return Ok(None) };
    let here: Vec<&RecordFile> = recorded.iter().filter(|file| file.path == change.path).collect();
    let is_last =
        |file: &&&RecordFile| !here.iter().any(|other| other.before == file.after && other.after != file.after);
    let Some(file) = here.iter().find(is_last) else { return Ok(None) };
    let leaf = |id| Leaf { id, mode };
    let Some(left) = file.after.filter(|id| !is_of_agent(steps, &change.path, leaf(*id))).map(leaf) else {
        return Ok(None);
    };
    // Records from another repository may name blobs that are missing here.
    let is_here = [file.before, file.after].iter().flatten().all(|id| repo.has_object(*id));
    let made = Change::between(change.path.clone(), file.before.map(leaf), Some(left)).filter(|_| is_here);
    let is_there =
        made.map_or(Ok(false), |made| share(repo, &made, change.before, change.after).map(Share::is_half))?;
    Ok(is_there.then_some(left))
}

/// Returns true if a step of a session left the content `left` at `path`.
fn is_of_agent(steps: &[Step], path: &BString, left: Leaf) -> bool {
    steps
        .iter()
        .filter(|step| step.origin.session.is_some())
        .flat_map(|step| &step.changes)
        .any(|change| change.path == *path && change.after.is_some_and(|after| after.id == left.id))
}
