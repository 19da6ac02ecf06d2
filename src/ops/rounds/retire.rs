//! Takes branches of rounds out of `refs/heads`: the archive keeps their last commits, as long as it keeps checkpoints.

use gix::ObjectId;
use serde::Serialize;

use super::{
    super::{Context, worktrees},
    lock::locked,
};
use crate::{
    config::BranchPolicy,
    error::{Error, Result},
    git::{Repo, refs::RefUpdate, registrations::Registration},
    model::id_text,
    ops::holding::archive_name,
    state::{
        failpoint,
        rounds::{self, Phase, Place, Round},
    },
};

/// A branch that is no more. Serializes to an entry of `retired`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Retired {
    /// What it was called.
    pub(crate) branch: String,
    /// Its last commit.
    #[serde(serialize_with = "id_text::serialize")]
    pub(crate) commit: ObjectId,
}

/// A branch that stays. Serializes to an entry of `left`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct LeftBranch {
    /// What it is called.
    pub(crate) branch: String,
    /// Why.
    pub(crate) why: String,
    /// True if the branch goes as soon as the reason is gone.
    pub(crate) later: bool,
}

/// What became of branches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fates {
    pub(crate) retired: Vec<Retired>,
    pub(crate) left: Vec<LeftBranch>,
}

/// Lets the branches of the round `id` be retired that `is_meant` is true of, as `policy` says: at once, or as soon as no live round
/// may know them.
///
/// # Errors
/// As [`locked`]; if the file of the round cannot be written.
pub(super) fn retire(
    context: &Context,
    id: &str,
    policy: BranchPolicy,
    is_meant: &dyn Fn(&str) -> bool,
) -> Result<Fates> {
    let mut fates = Fates::default();
    let common = context.repo.common_dir();
    if policy == BranchPolicy::Keep {
        return Ok(fates);
    }
    let (_lock, mut round) = locked(context, id)?;
    for at in 0..round.places.len() {
        let place = &mut round.places[at];
        // One that is there again, the user has made.
        let Some(branch) = place.branch.clone().filter(|branch| is_meant(branch) && place.retired.is_none()) else {
            continue;
        };
        let was_to_go = place.superseded.is_some();
        if !was_to_go {
            place.superseded = Some(jiff::Timestamp::now().as_microsecond());
            round.write(common)?;
        }
        let reader = reader(context, &round, at)?.filter(|_| policy != BranchPolicy::Delete);
        if let Some(why) = reader {
            fates.left.push(LeftBranch { branch, why, later: true });
            continue;
        }
        match retire_now(context, &mut round, at) {
            Ok(retired) => fates.retired.extend(retired),
            Err(error) => {
                // The branch of a live round goes when that has ended. Another one is given up: its user may need it for long.
                let later = was_to_go || round.phase != Phase::Ended;
                if !later {
                    round.places[at].superseded = None;
                    round.write(common)?;
                }
                fates.left.push(LeftBranch { branch, why: error.message().to_owned(), later });
            }
        }
    }
    Ok(fates)
}

/// Retires the branches that wait for that, as far as nothing needs them any more. A failure is no failure of the command.
pub(super) fn retire_waiting(context: &Context) -> Vec<Retired> {
    let mut retired = Vec::new();
    let all = rounds::all(context.repo.common_dir()).unwrap_or_default().sound;
    let waits = |round: &&Round| {
        round.phase == Phase::Ended && round.places.iter().any(|it| it.superseded.is_some() && it.retired.is_none())
    };
    for round in all.iter().filter(waits) {
        let is_waiting = |branch: &str| {
            let waits = |it: &Place| it.superseded.is_some() && it.retired.is_none();
            round.places.iter().any(|it| waits(it) && it.branch.as_deref() == Some(branch))
        };
        match retire(context, &round.id, BranchPolicy::Retire, &is_waiting) {
            Ok(fates) => retired.extend(fates.retired),
            Err(error) => tracing::warn!(%error, round = %round.id, "its branches stay"),
        }
    }
    retired
}

/// Returns why the branch of the place number `at` of `round` has to wait: a live round that began before it was to be retired. Its
/// agent may know the branch, unless the round is of another group, or has followed on that branch.
fn reader(context: &Context, round: &Round, at: usize) -> Result<Option<String>> {
    let place = &round.places[at];
    let Some((branch, superseded)) = place.branch.as_deref().zip(place.superseded) else { return Ok(None) };
    let may_know = |other: &&Round| {
        let is_of_group = other.asked.group.is_none() || other.asked.group == round.asked.group;
        other.phase != Phase::Ended
            && other.id != round.id
            && other.began < superseded
            && is_of_group
            && other.asked.previous.as_deref() != Some(branch)
    };
    let all = rounds::all(context.repo.common_dir())?.sound;
    Ok(all.iter().find(may_know).map(|other| format!("the agent of the round '{}' may know it", other.id)))
}

/// Retires the branch of the place number `at` of `round`. Returns none if it is gone, or was retired before.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if the round goes on, if the branch is in use, or if it is not where it was at the
/// end of the round;
/// [`Kind::Race`](crate::error::Kind::Race) if it has just been moved. It stays then.
fn retire_now(context: &Context, round: &mut Round, at: usize) -> Result<Option<Retired>> {
    let (repo, common) = (&context.repo, context.repo.common_dir());
    let Some(branch) = round.places[at].branch.clone() else { return Ok(None) };
    // Also where the branch is gone for now: its agent may make it again, and go on.
    if round.phase != Phase::Ended {
        return Err(Error::refused(format!("the round '{}' goes on", round.id)));
    }
    let full = format!("refs/heads/{branch}");
    let tip = round.places[at].committed.as_ref().map(|it| it.tip);
    let Some(commit) = repo.find_ref(&full)? else {
        // A call was killed after it had deleted the branch; or the user has deleted it.
        round.places[at].retired = tip.map(|tip| tip.to_string());
        round.write(common)?;
        return Ok(None);
    };
    let registered = refuse_used(context, &branch)?;
    // The user may have committed to it, or have made another branch of that name.
    if tip != Some(commit) {
        return Err(Error::refused(format!("the branch '{branch}' is not where the round has left it")));
    }
    let archive = archive_name(repo, commit)?;
    repo.update_refs(&[RefUpdate { name: archive, old: None, new: Some(commit) }])?;
    failpoint::hit("round:after-hold");
    let main = registered.first().map_or_else(|| common.to_owned(), Registration::directory);
    repo.delete_made_branch(&main, &branch, commit)?;
    if repo.find_ref(&full)?.is_some() {
        return Err(Error::race(format!("the branch '{branch}' has just been moved")));
    }
    round.places[at].retired = Some(commit.to_string());
    round.write(common)?;
    Ok(Some(Retired { branch, commit }))
}

/// Refuses if a worktree or a round needs the branch `branch`, a short name. Returns the worktrees.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if so.
pub(super) fn refuse_used(context: &Context, branch: &str) -> Result<Vec<Registration>> {
    let full = format!("refs/heads/{branch}");
    let registered = context.repo.registrations()?;
    if let Some(found) = registered.iter().find(|it| worktrees::has_checked_out(it, full.as_str().into())) {
        return Err(Error::refused(format!("the branch '{branch}' is checked out in '{}'", found.path.display())));
    }
    let all = rounds::all(context.repo.common_dir())?;
    // A round that cannot be read may need it.
    if let Some((_, error)) = all.damaged.into_iter().next() {
        return Err(error);
    }
    let goes_back = |round: &&Round| {
        round.phase != Phase::Ended && round.places.iter().any(|it| it.head.as_deref() == Some(full.as_str()))
    };
    if let Some(round) = all.sound.iter().find(goes_back) {
        return Err(Error::refused(format!(
            "the round '{}' goes back to the branch '{branch}' when it ends",
            round.id
        )));
    }
    Ok(registered)
}

/// Returns the commit at the end of the branch of a round: that of the branch, or the one that it had when it was retired.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if there is none any more.
pub(super) fn tip_of(repo: &Repo, branch: &str, retired: Option<&str>) -> Result<ObjectId> {
    if let Some(id) = retired.and_then(|text| ObjectId::from_hex(text.as_bytes()).ok()) {
        if repo.is_commit(id)? {
            return Ok(id);
        }
    } else if let Some(id) = repo.find_ref(&format!("refs/heads/{branch}"))? {
        return Ok(id);
    }
    Err(Error::refused(format!("the branch '{branch}' is no more")))
}
