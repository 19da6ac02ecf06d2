//! Finds the archived shadows without which lines of uncommitted work would count as a person's.

use std::collections::HashSet;

use gix::ObjectId;

use crate::{
    error::{Kind, Result},
    git::{Repo, notes::Notes},
    model::refname,
    ops::{
        Context,
        chain::timeline::{self, Tip},
        replace::{Place, lines_of_sessions, uncommitted},
    },
};

/// Returns the tips of those shadows among `dropped` that alone say that lines of uncommitted work are an agent's; false if they may,
/// and cannot be read. `kept` are those that stay in the archive. `places` has that work, once it is known.
pub(super) fn needed_for_lines<'t>(
    context: &Context,
    kept: &[Tip],
    dropped: impl Iterator<Item = &'t Tip>,
    places: &mut Option<Vec<Place>>,
) -> Result<Vec<(ObjectId, bool)>> {
    let (repo, mut needed) = (&context.repo, Vec::new());
    let mut stay = None;
    // The work of a settled one is in a record or in another shadow.
    for tip in dropped.filter(|tip| !refname::is_settled(&tip.name)) {
        repo.check_interrupt()?;
        if stay.is_none() {
            stay = Some(checkpoints_that_stay(repo, kept)?);
        }
        let stay = stay.as_ref().expect("it was just set");
        if places.is_none() {
            *places = Some(uncommitted(context)?);
        }
        match is_needed(repo, tip, stay, places.as_deref().unwrap_or_default()) {
            Ok(is_needed) => needed.extend(is_needed.then_some((tip.id, true))),
            Err(error) if error.kind() == Kind::Corrupt => needed.push((tip.id, false)),
            Err(error) => return Err(error),
        }
    }
    Ok(needed)
}

/// Returns what has a note and no ref that leads to it once only `kept` stay in the archive, and `dropped` are gone.
pub(super) fn noted_without_ref<'t>(
    notes: &Notes<'_>,
    repo: &Repo,
    kept: &[Tip],
    dropped: impl Iterator<Item = &'t Tip>,
) -> Result<HashSet<ObjectId>> {
    let noted: HashSet<ObjectId> = notes.all().map(|(id, _)| id).collect();
    if noted.is_empty() {
        return Ok(noted);
    }
    let mut gone = HashSet::new();
    for tip in dropped {
        let chain = repo.chain_in_time(tip.id).map_while(Result::ok).map(|checkpoint| checkpoint.id);
        gone.extend(chain.filter(|id| noted.contains(id)));
    }
    if !gone.is_empty() {
        let stay = checkpoints_that_stay(repo, kept)?;
        gone.retain(|id| !stay.contains(id));
    }
    Ok(gone)
}

/// Returns the checkpoints that a ref leads to after the drop, except those that cannot be read.
fn checkpoints_that_stay(repo: &Repo, kept: &[Tip]) -> Result<HashSet<ObjectId>> {
    let mut tips: Vec<ObjectId> = kept.iter().map(|tip| tip.id).collect();
    tips.extend(timeline::live_tips(repo, None)?.into_iter().map(|tip| tip.id));
    for prefix in [refname::VERIFIED, refname::TAGS] {
        tips.extend(repo.sound_refs(prefix)?.into_iter().map(|(_, id)| id));
    }
    let mut stay = HashSet::new();
    for tip in tips {
        // A checkpoint also leads to those of other sessions that came before it.
        stay.extend(repo.chain_in_time(tip).map_while(Result::ok).map(|checkpoint| checkpoint.id));
    }
    Ok(stay)
}

/// Returns true if `places`, uncommitted work, have a line that a checkpoint behind `tip` says is an agent's, and none of `stay`.
///
/// # Errors
/// If one of these checkpoints cannot be read.
fn is_needed(repo: &Repo, tip: &Tip, stay: &HashSet<ObjectId>, places: &[Place]) -> Result<bool> {
    let own = repo.chain(tip.id).map(|checkpoint| checkpoint.map(|checkpoint| checkpoint.id));
    let mut own = own.collect::<Result<HashSet<ObjectId>>>()?;
    own.retain(|id| !stay.contains(id));
    let are_here = |lines: &HashSet<Vec<u8>>| -> Result<bool> {
        for place in places.iter().filter(|_| !lines.is_empty()) {
            if place.find_line(lines)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    };
    // Only then is it worth to look at those that stay.
    Ok(are_here(&lines_of_sessions(repo, &own, std::iter::empty())?)?
        && are_here(&lines_of_sessions(repo, &own, stay.iter().copied())?)?)
}
