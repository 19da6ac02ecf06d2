//! `fetch --checkpoints`: brings the checkpoints that others have shared, beside our own, and lets our refs follow their tags.
//!
//! Each counts for itself: one that is refused keeps none of the others away, and nothing of it becomes part of the repository.
//!
//! All that it needs must have arrived with it, or be in commits that the remote is known to have. Else its tree could name objects
//! of ours that were sent nowhere, such as a file whose id is in a record: a restore would put the file into the worktree, and the next
//! checkpoint that is pushed would send it there.

use std::collections::{BTreeSet, HashMap, HashSet};

use gix::ObjectId;
use serde::Serialize;

use super::{
    fetch_notes::{self, FetchedNote},
    fetch_tags::{FetchedTag, moves},
    known::{Remote, branches_of},
    shape::{beyond, new_objects},
    shared::{LONGEST_PATH, check},
};
use crate::{
    error::{Error, Kind, Result},
    git::{
        Repo,
        patience::{is_stalled, is_too_much},
        received::{Basis, Received},
        refs::RefUpdate,
    },
    model::{
        id_text,
        refname::{self, SHARED, tracking_ref},
    },
    ops::Context,
    state::failpoint,
};

/// How many commits git is to say that are here, so that the other side does not send what they have.
const MOST_TIPS: usize = 32;
/// How much older than a commit those that build on it may be, in seconds: clocks differ.
const SLACK: i64 = 24 * 3600;

/// A checkpoint that was fetched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct FetchedCheckpoint {
    /// Its id in the clone that has taken it.
    #[serde(serialize_with = "id_text::serialize")]
    pub(crate) id: ObjectId,
    /// The ref that leads to it here.
    #[serde(rename = "ref")]
    pub(crate) name: String,
}

/// A checkpoint that was not fetched, since it is none of ours, or not whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct RefusedCheckpoint {
    /// The id that its ref says.
    #[serde(serialize_with = "id_text::serialize")]
    pub(crate) id: ObjectId,
    /// The ref that leads to it there.
    #[serde(rename = "ref")]
    pub(crate) name: String,
    /// Why it is refused.
    pub(crate) why: String,
    /// What to do if nothing is wrong with it, but with a setting here.
    #[serde(skip)]
    pub(crate) hint: Option<String>,
}

/// A checkpoint that a remote lists, and that is not here.
#[derive(Clone, Debug)]
struct New {
    id: ObjectId,
    /// Its ref there.
    name: String,
    /// The commit that carries it.
    commit: ObjectId,
}

/// What came of a fetch.
#[derive(Debug, Default)]
pub(super) struct FetchedShared {
    pub(super) checkpoints: Vec<FetchedCheckpoint>,
    pub(super) refused: Vec<RefusedCheckpoint>,
    /// The tags that are new here, lead to something else, or are gone.
    pub(super) tags: Vec<FetchedTag>,
    /// The notes that are new here, have another text, are gone, or refused.
    pub(super) notes: Vec<FetchedNote>,
}

/// Fetches the checkpoints of `remote` that are not here, with the tags of those that are here then.
///
/// # Errors
/// If the remote cannot be asked. What was fetched by then stays.
pub(super) fn fetch_shared(context: &Context, remote: &Remote, dry_run: bool) -> Result<FetchedShared> {
    let repo = &context.repo;
    let listed = repo.list_remote(&remote.name, refname::PREFIX)?;
    let new = new_in(repo, remote, &listed)?;
    if dry_run {
        let to_come = new.iter().map(|new| (new.id, new.commit)).collect();
        let tags = moves(repo, &remote.name, &listed, &to_come)?;
        let checkpoints = new.iter().map(|new| new.fetched(remote)).collect();
        return Ok(FetchedShared {
            checkpoints,
            tags,
            notes: fetch_notes::moves(repo, &remote.name, &listed)?,
            ..FetchedShared::default()
        });
    }
    let mut fetched = if new.is_empty() { FetchedShared::default() } else { fetch_new(repo, remote, new)? };
    fetched.tags = moves(repo, &remote.name, &listed, &HashMap::new())?;
    failpoint::hit("fetch:before-tags");
    if !fetched.tags.is_empty() {
        repo.update_refs(&fetched.tags.iter().map(FetchedTag::update).collect::<Vec<_>>())?;
    }
    fetched.notes = fetch_notes::moves(repo, &remote.name, &listed)?;
    fetch_notes::fetch(repo, remote, &mut fetched.notes)?;
    Ok(fetched)
}

fn fetch_new(repo: &Repo, remote: &Remote, new: Vec<New>) -> Result<FetchedShared> {
    let known: BTreeSet<ObjectId> = branches_of(repo, remote)?.into_iter().map(|(_, id)| id).collect();
    let known = Vec::from_iter(known);
    let mut fetching =
        Fetching { repo, remote, haves: haves(repo, &known)?, known, fetched: Vec::new(), refused: Vec::new() };
    let mut groups = vec![new];
    while let Some(mut group) = groups.pop() {
        repo.check_interrupt()?;
        let Err(error) = fetching.group(&group) else { continue };
        repo.check_interrupt()?;
        if is_stalled(&error) || !matches!(error.kind(), Kind::User | Kind::Refused | Kind::Corrupt) {
            return Err(error);
        }
        // A remote that does not answer any more is not asked for each. One may have been taken back meanwhile.
        let Ok(listed) = list(repo, remote) else { return Err(error) };
        group.retain(|new| listed.iter().any(|now| (now.id, now.commit) == (new.id, new.commit)));
        match group.as_slice() {
            [] => {}
            [one] => fetching.refuse(one, &error),
            // One that git does not accept lets it refuse all that comes with it.
            _ => {
                let second = group.split_off(group.len() / 2);
                groups.extend([second, group]);
            }
        }
    }
    let Fetching { fetched: mut checkpoints, mut refused, .. } = fetching;
    checkpoints.sort_by(|one, other| one.name.cmp(&other.name));
    refused.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(FetchedShared { checkpoints, refused, ..FetchedShared::default() })
}

/// Returns the checkpoints that `remote` lists and that are not here.
fn list(repo: &Repo, remote: &Remote) -> Result<Vec<New>> {
    new_in(repo, remote, &repo.list_remote(&remote.name, SHARED)?)
}

/// Returns those of the refs `listed` of `remote` that are of checkpoints which are not here.
fn new_in(repo: &Repo, remote: &Remote, listed: &[(String, ObjectId)]) -> Result<Vec<New>> {
    let mut new = Vec::new();
    for (name, commit) in listed {
        let Some(id) = refname::shared_id(name).filter(|id| id.kind() == repo.object_hash()) else { continue };
        // What is here already stays, whatever the remote has now.
        if repo.find_sound_ref(&tracking_ref(&remote.name, name))?.is_none() {
            new.push(New { id, name: name.clone(), commit: *commit });
        }
    }
    Ok(new)
}

/// Returns commits that the remote, which has the commits `known`, hears that are here.
fn haves(repo: &Repo, known: &[ObjectId]) -> Result<Vec<ObjectId>> {
    let mut haves = Vec::new();
    // What others share is most often built on what is checked out.
    if let Some(head) = repo.head()?.id.filter(|head| repo.is_commit(*head).unwrap_or(false))
        && repo.reaches(known.to_vec(), head, SLACK)?
    {
        haves.push(head);
    }
    haves.extend(known.iter().filter(|id| haves.first() != Some(id)).take(MOST_TIPS).copied().collect::<Vec<_>>());
    Ok(haves)
}

impl New {
    fn fetched(&self, remote: &Remote) -> FetchedCheckpoint {
        FetchedCheckpoint { id: self.id, name: tracking_ref(&remote.name, &self.name) }
    }
}

/// A fetch from `remote` under way.
struct Fetching<'a> {
    repo: &'a Repo,
    remote: &'a Remote,
    /// The commits that the remote is known to have, and those of them that it hears of.
    known: Vec<ObjectId>,
    haves: Vec<ObjectId>,
    fetched: Vec<FetchedCheckpoint>,
    refused: Vec<RefusedCheckpoint>,
}

impl Fetching<'_> {
    /// Fetches those of `group` that are as they should be; the others are refused.
    ///
    /// # Errors
    /// If nothing of the group has arrived, for one of them or for all.
    fn group(&mut self, group: &[New]) -> Result<()> {
        let mut left: Vec<&New> = group.iter().collect();
        let mut alone = Vec::new();
        while !left.is_empty() {
            let received = self.receive(&left, Basis::Ours(&self.haves))?;
            let beside = received.beside(self.repo)?;
            let sent = received.sent(self.repo.object_hash())?;
            let (mut sound, mut are_all_sound) = (Vec::new(), true);
            for new in left {
                let looked = self.look(beside.as_ref().unwrap_or(self.repo), new, &sent);
                self.repo.check_interrupt()?;
                match looked {
                    Ok(None) => sound.push(new),
                    Ok(Some(borrowed)) => alone.push((new, borrowed)),
                    Err(error) => self.refuse(new, &error),
                }
                are_all_sound &= sound.last().is_some_and(|last| last.id == new.id);
            }
            if are_all_sound {
                self.adopt(received, &sound)?;
                break;
            }
            // Anew without the others: nothing of these is to come in.
            left = sound;
        }
        for (new, borrowed) in alone {
            self.as_a_whole(new, borrowed)?;
        }
        Ok(())
    }

    fn receive(&self, wanted: &[&New], basis: Basis<'_>) -> Result<Received> {
        let ids: Vec<ObjectId> = wanted.iter().map(|new| new.commit).collect();
        self.repo.fetch_ids(&self.remote.name, &ids, basis)
    }

    /// Fetches `new` once more, with nothing of ours: it needs the object `borrowed` that is here, and may have been left out for that.
    fn as_a_whole(&mut self, new: &New, borrowed: ObjectId) -> Result<()> {
        let whole = || {
            let received = self.receive(&[new], Basis::Nothing)?;
            if let Some(seen) = received.beside(self.repo)? {
                check(&seen, new.commit, new.id)?;
                new_objects(&seen, &[new.commit], &[], LONGEST_PATH, &mut |_| Ok(()))?;
            }
            Ok(received)
        };
        let whole: Result<Received> = whole();
        self.repo.check_interrupt()?;
        match whole {
            Ok(received) => self.adopt(received, &[new]),
            Err(error) => {
                let name = &self.remote.name;
                let why = format!("it needs '{borrowed}', which '{name}' has not sent");
                self.refuse(new, &Error::refused(why).with_cause(error));
                Ok(())
            }
        }
    }

    /// Looks at `new` in `seen`, which has what has arrived and what is here; the remote has `sent` those objects itself. Returns an
    /// object that it needs, and that is only here.
    ///
    /// # Errors
    /// If it is none of ours, or not whole.
    fn look(&self, seen: &Repo, new: &New, sent: &HashSet<ObjectId>) -> Result<Option<ObjectId>> {
        check(seen, new.commit, new.id)?;
        let mut ours = HashSet::new();
        new_objects(seen, &[new.commit], &self.known, LONGEST_PATH, &mut |object| {
            ours.extend(Some(object.id).filter(|id| self.repo.had_object(*id) && !sent.contains(id)));
            Ok(())
        })?;
        Ok(beyond(self.repo, &self.known, LONGEST_PATH, ours)?.into_iter().min())
    }

    /// Makes `sound` checkpoints, which have arrived, part of the repository.
    fn adopt(&mut self, received: Received, sound: &[&New]) -> Result<()> {
        let _kept = received.adopt(self.repo)?;
        let fetched: Vec<FetchedCheckpoint> = sound.iter().map(|new| new.fetched(self.remote)).collect();
        let update = |(new, fetched): (&&New, &FetchedCheckpoint)| RefUpdate {
            name: fetched.name.clone(),
            old: None,
            new: Some(new.commit),
        };
        self.repo.update_refs(&sound.iter().zip(&fetched).map(update).collect::<Vec<_>>())?;
        self.fetched.extend(fetched);
        Ok(())
    }

    fn refuse(&mut self, new: &New, error: &Error) {
        let why: Vec<String> = std::iter::once(error.message().to_owned()).chain(error.causes()).collect();
        let why = why.join(": ").lines().collect::<Vec<_>>().join("; ");
        let hint = error.hint().filter(|_| is_too_much(error)).map(str::to_owned);
        self.refused.push(RefusedCheckpoint { id: new.id, name: new.name.clone(), why, hint });
    }
}
