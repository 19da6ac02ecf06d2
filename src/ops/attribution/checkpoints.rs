//! The attribution of what one checkpoint has changed, or several that follow each other.

use std::collections::BTreeSet;

use bstr::BString;
use gix::ObjectId;

use super::{
    commit::{OfCommit, OfFile, Reader},
    patch::PatchFile,
    present::Sum,
    report::Attribution,
};
use crate::{
    error::Result,
    git::Repo,
    model::{change::Change, checkpoint::Checkpoint},
    ops::{
        Context,
        provenance::{
            replay::Work,
            step::Step,
            steps::{own_step, steps},
        },
        restored_target::restored,
    },
};

/// How many checkpoints are replayed at most.
const MOST: usize = 1000;

/// Returns the attribution of `changes`, the differences from the commit `from` to the checkpoint `to`, sorted by path, with the
/// changed lines. Returns none if `from` is not among the commits before `to`, or too far before it: then the owners are not known.
pub(crate) fn of_checkpoints(
    context: &Context,
    from: ObjectId,
    to: &Checkpoint,
    changes: &[Change],
) -> Result<Option<Attribution>> {
    let repo = &context.repo;
    let Some(steps) = steps_since(repo, from, to, changes)? else { return Ok(None) };
    let mut reader = Reader::of_repo(repo)?;
    let work = Work::of(repo, &steps, changes, &mut reader.counting)?;
    let (mut files, mut patch) = (Vec::with_capacity(changes.len()), Vec::with_capacity(changes.len()));
    for (change, ownership) in changes.iter().zip(work.ownership.files) {
        context.check_interrupt()?;
        let text = reader.text(change)?;
        let file = OfFile { change: change.clone(), ownership };
        patch.push(PatchFile::of(&file, text.as_ref()));
        files.push(file);
    }
    let of_all = OfCommit {
        id: to.id,
        parent: Some(from),
        seconds: to.seconds,
        committer: String::new(),
        records: Vec::new(),
        fetched: Vec::new(),
        missing: Vec::new(),
        is_earlier: false,
        inferred: Vec::new(),
        files,
    };
    let mut sum = Sum::new(true);
    sum.add(&of_all, &work.authors, true);
    sum.patch(patch, &work.authors);
    Ok(Some(sum.finish()))
}

/// Returns what each checkpoint after `from` has done to the files of `changes`, up to `to`, oldest first; none if `from` is not found.
fn steps_since(repo: &Repo, from: ObjectId, to: &Checkpoint, changes: &[Change]) -> Result<Option<Vec<Step>>> {
    let mut passed = Vec::new();
    let mut is_found = from == to.id;
    for checkpoint in repo.chain_in_time(to.id) {
        repo.check_interrupt()?;
        let checkpoint = checkpoint?;
        is_found = is_found || checkpoint.id == from;
        if is_found || passed.len() == MOST {
            break;
        }
        is_found = checkpoint.before_id() == from;
        passed.push(checkpoint);
    }
    if !is_found {
        return Ok(None);
    }
    let names = |change: &Change| [Some(change.path.clone()), change.old_path.clone()].into_iter().flatten();
    let mut wanted: BTreeSet<BString> = changes.iter().flat_map(names).collect();
    // What was carried or put back has authors in other shadows.
    if passed.iter().any(|it| it.origin.carried.is_some() || restored(&it.origin).is_some()) {
        return steps(repo, to, &|path| wanted.contains(path)).map(Some);
    }
    let mut found = Vec::new();
    for checkpoint in passed {
        repo.check_interrupt()?;
        let before = repo.tree_of_commit(checkpoint.before_id())?;
        let mut own = repo.detect_renames(repo.diff_trees(before, checkpoint.tree_id)?)?;
        own.retain(|change| names(change).any(|name| wanted.contains(&name)));
        own.sort_by(|one, other| one.path.cmp(&other.path));
        // Before that, a renamed file had another name.
        wanted.extend(own.iter().flat_map(names));
        found.push(own_step(repo, checkpoint, own));
    }
    found.reverse();
    Ok(Some(found))
}
