//! Tags that follow those of a remote or a file: names of checkpoints that are here from there. Others are not followed.

use std::collections::{BTreeMap, HashMap};

use gix::ObjectId;
use serde::Serialize;

use super::shared::is_tag;
use crate::{
    error::Result,
    git::{Repo, refs::RefUpdate},
    model::{
        id_text,
        refname::{self, tracking_ref},
    },
};

/// A tag that was fetched or imported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct FetchedTag {
    /// Its name.
    pub(crate) tag: String,
    /// The ref that leads here to what it names.
    #[serde(rename = "ref")]
    pub(crate) name: String,
    /// What that was before.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub(crate) old: Option<ObjectId>,
    /// The commit that carries what it names; none if the remote no longer has it.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub(crate) new: Option<ObjectId>,
}

impl FetchedTag {
    /// Returns the tag `tag` of `remote`, which leads to `new` now; none if it did so before.
    pub(super) fn of(repo: &Repo, remote: &str, tag: &str, new: Option<ObjectId>) -> Result<Option<Self>> {
        let name = tracking_ref(remote, &refname::tag_ref(tag));
        let old = repo.find_sound_ref(&name)?;
        Ok((old != new).then(|| Self { tag: tag.to_owned(), name, old, new }))
    }

    /// Returns what lets it follow.
    pub(super) fn update(&self) -> RefUpdate {
        RefUpdate { name: self.name.clone(), old: self.old, new: self.new }
    }
}

/// Returns how the tags of `remote` move, which has `listed` its refs. Of the checkpoints that are not here yet, `to_come` are about to be
/// fetched.
///
/// The remote may have a checkpoint in another commit than the one that is here: the tag leads to that.
pub(super) fn moves(
    repo: &Repo,
    remote: &str,
    listed: &[(String, ObjectId)],
    to_come: &HashMap<ObjectId, ObjectId>,
) -> Result<Vec<FetchedTag>> {
    let below = refname::fetched_shared(remote);
    let mut here: HashMap<ObjectId, ObjectId> = to_come.clone();
    for (name, commit) in repo.sound_refs(&below)? {
        let there = name.strip_prefix(&below).map(|rest| format!("{}{rest}", refname::SHARED));
        here.extend(there.and_then(|name| refname::shared_id(&name)).map(|id| (id, commit)));
    }
    let mut carried: HashMap<ObjectId, ObjectId> = here.values().map(|commit| (*commit, *commit)).collect();
    for (name, commit) in listed {
        carried.extend(refname::shared_id(name).and_then(|id| here.get(&id)).map(|ours| (*commit, *ours)));
    }
    let mut tags: BTreeMap<String, Option<ObjectId>> = BTreeMap::new();
    // One that is gone there, or names nothing that is here, goes.
    for (name, _) in repo.sound_refs(&tracking_ref(remote, refname::TAGS))? {
        tags.extend(refname::fetched_ref(&name).and_then(|(_, there)| Some((refname::tag_of_ref(&there)?, None))));
    }
    for (name, commit) in listed {
        let tag = refname::tag_of_ref(name).filter(|tag| is_tag(tag, name));
        tags.extend(tag.zip(carried.get(commit)).map(|(tag, ours)| (tag, Some(*ours))));
    }
    let moves = tags.into_iter().map(|(tag, new)| FetchedTag::of(repo, remote, &tag, new));
    Ok(moves.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}
