//! The steps of the work that a commit took from shadows.

use std::cell::OnceCell;

use bstr::BString;

use super::{
    super::{
        Context, author,
        chain::{carriers::Carriers, lost::lost_changes},
        provenance::{
            replay::Work,
            set_aside::taken_back,
            step::{Step, first_with, left_by},
            steps::steps,
        },
    },
    candidates::{Candidate, Part, candidates, touched_live},
    last_steps::{last_steps, moved_on, put_back},
    renamed::{at, renamed_since},
};
use crate::{
    error::{Kind, Result},
    git::{Repo, counting::Counting},
    model::{
        change::Change,
        checkpoint::Origin,
        head_move::When,
        refname::{self, Base},
    },
};

/// Returns true if `staged` contains work of the shadows `found` that a session did, or may have done. `made` is when `staged`
/// was committed; none if that is still to be done.
pub(crate) fn has_work_of(
    context: &Context,
    found: &[Candidate],
    staged: &[Change],
    made: Option<When>,
) -> Result<bool> {
    let repo = &context.repo;
    let steps = steps_to(repo, found, (staged, made), &[])?;
    // Most files are committed as a session left them: then we need not compare lines.
    if staged.iter().any(|change| left_by(&steps, change).is_some_and(|step| !step.is_put_back)) {
        return Ok(true);
    }
    let mut has_agent = steps.iter().any(|step| step.origin.may_be_of_session());
    for candidate in found {
        has_agent = has_agent || candidate.has_agent(repo)?;
    }
    if !has_agent {
        return Ok(!lost_changes(context, staged)?.is_empty());
    }
    let staged = repo.detect_renames(staged.to_vec())?;
    let renamed = renamed_since(repo, touched_live(found), &staged)?;
    let (work, _) = work(context, found, (&staged, made), renamed, &mut Counting::usual(repo))?;
    Ok(work.needs_record())
}

/// Returns the attribution of `committed`, which was committed at the time `made`, to the work of `candidates`, and the steps that
/// led to it.
///
/// `renamed` are files that have another name in the last checkpoint. What may be work of shadows that are damaged, and is in no
/// other one, has an unknown author.
pub(super) fn work(
    context: &Context,
    candidates: &[Candidate],
    (committed, made): (&[Change], Option<When>),
    renamed: Vec<Change>,
    counting: &mut Counting<'_>,
) -> Result<(Work, Vec<Step>)> {
    let repo = &context.repo;
    let (mut all, mut last) = steps_of(repo, candidates, (committed, made), &renamed, false)?;
    // The damaged shadows are noted by now.
    let lost = lost_changes(context, committed)?;
    if !lost.is_empty() && all.is_empty() {
        (all, last) = steps_of(repo, candidates, (committed, made), &renamed, true)?;
    }
    all.extend(Some(Step::new(author::unknown(), lost)).filter(|step| !step.changes.is_empty()));
    if !all.iter().any(|step| step.origin.may_be_of_session()) {
        return Ok((Work::default(), all));
    }
    if !renamed.is_empty() {
        all.push(Step::new(Origin::default(), renamed));
    }
    last.extend(put_back(repo, &all, committed)?);
    all.extend(last);
    Ok((Work::of(repo, &all, committed, counting)?, all))
}

/// Returns the steps of `candidates` that led to `committed`, which was committed at the time `made`; none if no agent
/// contributed.
pub(super) fn steps_to(
    repo: &Repo,
    candidates: &[Candidate],
    committed: (&[Change], Option<When>),
    renamed: &[Change],
) -> Result<Vec<Step>> {
    Ok(steps_of(repo, candidates, committed, renamed, false)?.0)
}

/// Does the same; if `has_agent`, returns the steps in any case. Also returns the last steps of all, if lines were moved on from work that
/// was away.
fn steps_of(
    repo: &Repo,
    candidates: &[Candidate],
    (committed, made): (&[Change], Option<When>),
    renamed: &[Change],
    mut has_agent: bool,
) -> Result<(Vec<Step>, Vec<Step>)> {
    let mut parts = parts(repo, candidates, committed, committed)?;
    for Part { candidate, paths, .. } in &mut parts {
        if candidate.is_live {
            paths.extend(renamed.iter().filter_map(|change| change.old_path.clone()));
        }
        has_agent = has_agent || (!paths.is_empty() && candidate.has_agent(repo)?);
    }
    let (mut all, mut moved) = (Vec::new(), Vec::new());
    // A person may have saved a thousand times. Finding that no agent contributed is fast; collecting the steps is slow.
    if has_agent {
        for mut part in parts {
            moved.append(&mut part.moved_on);
            part.add_steps(repo, made, &mut all)?;
        }
    }
    Ok((all, last_steps(moved, committed)))
}

/// Returns for each of `candidates` the part of `committed` that may be its work.
///
/// `all` are all changes beside which `committed` are; the same, if that is a commit.
fn parts<'c>(repo: &Repo, candidates: &'c [Candidate], committed: &[Change], all: &[Change]) -> Result<Vec<Part<'c>>> {
    let mut parts = Vec::with_capacity(candidates.len());
    let live = candidates.iter().find(|candidate| candidate.is_live);
    // Read on first use: a chain may be long.
    let (carriers, done) = (OnceCell::new(), OnceCell::new());
    let mut moved_on = moved_on(repo, candidates, all)?;
    for (number, candidate) in candidates.iter().enumerate() {
        let part = candidate.part(repo, committed);
        let Some(mut part) = candidate.unless_damaged(repo, part)? else { continue };
        let moved_on = std::mem::take(&mut moved_on[number]);
        let Some(live) = live.filter(|_| !candidate.is_live) else {
            part.add_moved_on(moved_on, committed);
            parts.push(part);
            continue;
        };
        // If the live shadow has the same work, because it was carried forward there or a session did it again, only the live
        // shadow gets credit: its steps have the work in the right order.
        for change in committed {
            let path = part.name_of(change).clone();
            if !live.touches(&path) || !part.paths.contains(&path) {
                continue;
            }
            let carriers = carriers.get_or_init(|| Carriers::read(repo, live.checkpoint.id));
            let is_known = carriers.has(repo, &candidate.checkpoint, &path);
            let is_done = || {
                if done.get().is_none() {
                    let is_aside = |path: &BString| candidates.iter().any(|it| !it.is_live && it.touches(path));
                    drop(done.set(steps(repo, &live.checkpoint, &is_aside)?));
                }
                let own = at(&candidate.touched, &path);
                let steps = done.get().map(Vec::as_slice).unwrap_or_default();
                let step = own.map_or(Ok(None), |own| first_with(repo, steps, own, change.before))?;
                // A step without a session counts only if no agent contributed to the archived shadow either, or if it is a restore and
                // the work of the shadow is in records: what a restore has brought is of the record of its commit.
                let is_restored = |step: &Step| step.is_put_back && refname::is_settled(&candidate.tip.name);
                step.map_or(Ok(false), |step| {
                    Ok(step.origin.session.is_some() || is_restored(step) || !candidate.has_agent(repo)?)
                })
            };
            if is_known || is_done()? {
                part.leave_out(&path);
            }
        }
        // Lines that the live shadow has had, too, are moved there.
        let is_known = |change: &Change| {
            let carriers = carriers.get_or_init(|| Carriers::read(repo, live.checkpoint.id));
            live.touches(&change.path) || carriers.has_again(repo, &candidate.checkpoint, &change.path)
        };
        part.add_moved_on(moved_on.into_iter().filter(|change| !is_known(change)).collect(), committed);
        parts.push(part);
    }
    Ok(parts)
}

/// Returns the steps that archived shadows took to the uncommitted `changes`: work that came back with `git stash pop`,
/// or from a commit that was undone. Also returns the last steps of all, if lines of that work are in other files. `uncommitted`
/// are all changes from HEAD.
pub(crate) fn steps_aside(
    repo: &Repo,
    base: Base,
    changes: &[Change],
    uncommitted: &[Change],
) -> Result<(Vec<Step>, Vec<Step>)> {
    let mut found = Vec::new();
    // Where the records are damaged, the caller takes the author of what may be theirs for unknown.
    let taken_back = match taken_back(repo, base) {
        Err(error) if error.kind() == Kind::Corrupt => Vec::new(),
        found => found?,
    };
    for waiting in taken_back.into_iter().rev() {
        found.extend(Candidate::taken_back(repo, waiting)?);
    }
    found.extend(candidates(repo, base, true)?);
    let (mut all, mut moved) = (Vec::new(), Vec::new());
    for mut part in parts(repo, &found, changes, uncommitted)?.into_iter().filter(|part| !part.candidate.is_live) {
        moved.append(&mut part.moved_on);
        part.add_steps(repo, None, &mut all)?;
    }
    Ok((all, last_steps(moved, changes)))
}
