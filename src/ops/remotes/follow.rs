//! How our refs follow the logs of a remote, or of a file: what they have already stays, whatever the other side has lost.

use std::collections::BTreeSet;

use gix::ObjectId;
use serde::Serialize;

use super::{join::join_trees, tracking::Joining};
use crate::{
    error::{Kind, Result},
    git::{
        Repo,
        new_objects::{NewObjects, Target},
        refs::RefUpdate,
    },
    model::{
        id_text,
        log_place::Place,
        record::RecordId,
        refname::{HISTORY, tracking_ref},
    },
    ops::records::Log,
};

/// A log of a remote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct FetchedRef {
    /// Its name there.
    #[serde(rename = "ref")]
    pub(crate) name: String,
    /// What follows it here.
    pub(crate) tracking: String,
    /// What that was before.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub(crate) old: Option<ObjectId>,
    /// What that is now.
    #[serde(serialize_with = "id_text::serialize")]
    pub(crate) new: ObjectId,
    /// True if the remote lacks some of what was here before, so that both were joined.
    pub(crate) joined: bool,
}

impl FetchedRef {
    /// Returns true if something is new here.
    pub(crate) fn is_moved(&self) -> bool {
        self.old != Some(self.new)
    }

    /// Returns true if it is a log of transcripts.
    pub(crate) fn is_of_transcripts(&self) -> bool {
        self.name != HISTORY
    }
}

/// What becomes of the refs that follow logs.
pub(super) struct Followed<'r> {
    joins: Vec<Joining<'r>>,
    /// How many records are here that were not before.
    pub(super) new_records: usize,
    /// Refs that could not be read: they count as nothing.
    pub(super) damaged: Vec<String>,
}

impl Followed<'_> {
    /// Ends the protection of the new objects, once the refs lead to them.
    pub(super) fn release(self) -> Result<()> {
        self.joins.into_iter().try_for_each(Joining::release)
    }
}

/// Returns what follows the logs `listed` of `remote` here, before any of it moves.
pub(super) fn following(repo: &Repo, remote: &str, listed: &[(String, ObjectId)]) -> Result<Vec<FetchedRef>> {
    let follow = |(name, new): &(String, ObjectId)| {
        let tracking = tracking_ref(remote, name);
        let old = repo.find_sound_ref(&tracking)?;
        Ok(FetchedRef { name: name.clone(), tracking, old, new: *new, joined: false })
    };
    listed.iter().map(follow).collect()
}

/// Joins what is new of `refs`, which follow logs of `remote`, with what they have here. Moves no ref. The objects of all of them are
/// in `repo`, which is `ours` or borrows its objects.
///
/// # Errors
/// [`Kind::Refused`] if a log would bring back what was purged here.
pub(super) fn join_followed<'r>(
    ours: &Repo,
    repo: &'r Repo,
    remote: &str,
    refs: &mut [FetchedRef],
) -> Result<Followed<'r>> {
    let (mut joins, mut damaged) = (Vec::new(), Vec::new());
    for it in refs.iter_mut().filter(|it| it.is_moved()) {
        let place = Place::of_ref(&it.name).expect("only logs are followed");
        if let Some(own) = ours.find_sound_ref(&it.name)? {
            let mut objects = NewObjects::new(repo, Target::Memory);
            let trees = (repo.tree_of_commit(own)?, repo.tree_of_commit(it.new)?);
            join_trees(repo, place, trees.0, trees.1, &mut objects)?.1.refuse_rewritten(remote, &it.name)?;
        }
        let mut join = Joining::new(repo, place, Some(it.new));
        if !join.add_tracked(it.old)? {
            damaged.push(it.tracking.clone());
        }
        join.differences.refuse_rewritten(remote, &it.name)?;
        let tip = join.tip.unwrap_or(it.new);
        it.joined = tip != it.new;
        it.new = tip;
        joins.push(join);
    }
    let mut new_records = 0;
    if let Some(history) = refs.iter().filter(|it| it.is_moved()).find(|it| it.name == HISTORY) {
        let before = match record_ids(repo, history.old) {
            // Only without a dry run is it set aside.
            Err(error) if error.kind() == Kind::Corrupt => BTreeSet::new(),
            before => before?,
        };
        let (after, own) = (record_ids(repo, [history.new])?, record_ids(repo, ours.find_sound_ref(HISTORY)?)?);
        new_records = after.iter().filter(|id| !before.contains(id) && !own.contains(id)).count();
    }
    Ok(Followed { joins, new_records, damaged })
}

/// Returns what moves `refs` to what is new.
pub(super) fn updates(refs: &[FetchedRef]) -> Vec<RefUpdate> {
    let moved = refs.iter().filter(|it| it.is_moved());
    moved.map(|it| RefUpdate { name: it.tracking.clone(), old: it.old, new: Some(it.new) }).collect()
}

/// Returns the ids of all records in the logs that end with `tips`.
pub(super) fn record_ids(repo: &Repo, tips: impl IntoIterator<Item = ObjectId>) -> Result<BTreeSet<RecordId>> {
    let mut ids = BTreeSet::new();
    for tip in tips {
        ids.extend(Log::at(repo, repo.tree_of_commit(tip)?).all()?);
    }
    Ok(ids)
}
