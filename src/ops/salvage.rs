//! Sets a broken chain aside. A chain is broken if its newest checkpoint, or an object behind that, is gone or damaged.
//!
//! The archive keeps what can be read of the chain: sound checkpoints as they are, and copies of the damaged ones and of those
//! that came after them. Where a commit itself is gone, the log of events names the checkpoint before it. The next checkpoint
//! begins at the base and reads every file. Writing commands do this before they write. Reading commands and dry runs do not.
//!
//! `doctor --fix` copies what other refs lead to in the same way.

mod blank;
mod copies;
mod head;
mod history;
pub(crate) mod kept;
mod known;
mod logs;
mod others;
mod survey;

use gix::ObjectId;

use super::{
    Context, Worktree,
    chain::{
        archive::archive_name,
        cache_path,
        shadows::{self, Live},
    },
    known_base::known_base,
};
use crate::{
    error::{Error, Kind, Result},
    git::{
        Repo,
        new_objects::{NewObjects, Target},
        notes::NoteFate,
        readable::Reader,
        refs::RefUpdate,
    },
    model::{
        event::Event,
        operation,
        refname::{self, Base},
        set_aside::SetAside,
    },
    state::{self, journal::Journal},
};
use copies::{Copier, Copies};

pub(crate) use blank::{Blank, set_all_blank_aside};
pub(crate) use head::refuse_without_head;
pub(crate) use history::{HistoryDamage, history_damage, mend_history};
pub(crate) use logs::{MendedLog, mend_logs};
pub(crate) use others::{Fate, mend_refs};
pub(crate) use survey::{Damage, Survey};

/// How many lost objects a warning and an event name.
const MOST_NAMED: usize = 5;

/// How much of a chain is read to find out whether it is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// What the next checkpoint reads: the newest checkpoint, its tree, and its side commit with the manifest.
    AtTip,
    /// All that the newest checkpoint leads to, without the checkpoints before it.
    BehindTip,
    /// All checkpoints, and all that they lead to.
    AtAll,
}

/// Sets aside the broken ones among the chains that the next checkpoint of this worktree may continue: the one on HEAD, and
/// the one on the commit where HEAD was when we last looked.
pub(crate) fn set_broken_aside(worktree: &Worktree<'_>, look: Look) -> Result<Vec<SetAside>> {
    let repo = &worktree.repo;
    let _way = repo.on_the_way(operation::REPAIR);
    kept::bring_back(worktree)?;
    blank::set_blank_aside(worktree)?;
    let mut bases = vec![Base::of_head(repo.head()?.id)];
    bases.extend(known_base(worktree).filter(|base| *base != bases[0]));
    let mut done = Vec::new();
    for base in bases {
        for live in shadows::live(repo, base, repo.worktree_id())? {
            if look == Look::AtTip && why_unreadable(repo, live.id).is_none() {
                continue;
            }
            done.extend(set_aside(worktree, &live, look)?);
        }
    }
    Ok(done)
}

/// Returns why no checkpoint can follow the checkpoint `id`: its commit, its tree or its side commit cannot be read. The kind of
/// the error is [`Kind::Corrupt`], or another one if the operating system denies access to an object that may be whole.
pub(crate) fn why_unreadable(repo: &Repo, id: ObjectId) -> Option<Error> {
    let denied_or = |id, error| repo.is_whole(id).err().unwrap_or(error);
    let checkpoint = match repo.checkpoint(id) {
        Ok(Some(checkpoint)) => checkpoint,
        Ok(None) => return Some(Error::corrupt(format!("'{id}' is no checkpoint"))),
        Err(error) => return Some(denied_or(id, error)),
    };
    let tree = repo.find_entry(checkpoint.tree_id, ".".into()).map(drop);
    let tree = tree.map_err(|error| denied_or(checkpoint.tree_id, error));
    let side =
        checkpoint.side_id.map_or(Ok(()), |id| repo.read_side(id).map(drop).map_err(|error| denied_or(id, error)));
    tree.and(side).err()
}

/// Returns the value of `read`; none if it is gone or damaged: then adds the error to `broken`.
pub(crate) fn if_readable<T>(read: Result<T>, broken: &mut Vec<String>) -> Result<Option<T>> {
    match read {
        Err(error) if error.kind() == Kind::Corrupt => {
            broken.push(error.to_string());
            Ok(None)
        }
        read => read.map(Some),
    }
}

/// Sets the chain of `live` aside if the part that `look` covers is broken. Returns none if that part is sound.
pub(crate) fn set_aside(worktree: &Worktree<'_>, live: &Live, look: Look) -> Result<Option<SetAside>> {
    let repo = &worktree.repo;
    let mut copier = Copier::new(worktree);
    if look != Look::AtAll && !copier.is_broken(live.id)? {
        // We can read objects whose file is damaged at its end only, but git cannot.
        repo.write_anew(&copier.reader.damaged_ends)?;
        return Ok(None);
    }
    repo.distrust_objects();
    let _way = repo.on_the_way(operation::REPAIR);
    let replacement = copier.replacement_of(live.id, Some(&live.name))?;
    if replacement.id == Some(live.id) {
        return Ok(None);
    }
    refuse_without_head(repo)?;
    let (copies, reader, written) = copier.write()?;
    let missing = if replacement.is_lost { live.id } else { reader.lost.first().copied().unwrap_or(live.id) };
    state::kept::keep(repo.common_dir(), live.id, missing, &live.name.to_ref())?;
    let archive = replacement.id.map(|tip| archive_name(repo, tip)).transpose()?;
    let mut updates = Vec::new();
    updates.extend(archive.clone().map(|name| RefUpdate { name, old: None, new: replacement.id }));
    updates.push(RefUpdate { name: live.name.to_ref(), old: Some(live.id), new: None });
    for prefix in [refname::VERIFIED, refname::TAGS] {
        for (name, id) in repo.sound_refs(prefix)? {
            let copy = copies.iter().find(|(of, _)| *of == id).map(|(_, copy)| *copy);
            updates.extend(copy.map(|copy| RefUpdate { name, old: Some(id), new: Some(copy) }));
        }
    }
    repo.update_refs(&updates)?;
    let checkpoints = replacement.id.map_or(0, |tip| repo.chain(tip).take_while(Result::is_ok).count());
    let unreadable = reader.lost.iter().take(MOST_NAMED).map(ToString::to_string).collect();
    let (shadow, last) = (live.name.to_ref(), replacement.id);
    let done = SetAside { shadow, tip: live.id, archive, last, checkpoints, unreadable };
    worktree.emit(&Event::Broken {
        shadow: done.shadow.clone(),
        archive: done.archive.clone(),
        tip: live.id.to_string(),
        checkpoints,
        unreadable: done.unreadable.clone(),
    });
    worktree.note_broken(done.clone());
    clean_up(worktree, &copies, &reader)?;
    written.check_and_release()?;
    Ok(Some(done))
}

/// Cleans up after refs lead to `copies`: moves the damaged files away that `reader` met, deletes the stat cache, and makes the
/// journal of the last restore and the verified mark name the copies.
fn clean_up(context: &Context, copies: &Copies, reader: &Reader<'_>) -> Result<()> {
    let repo = &context.repo;
    let damaged = state::ensure_directory(repo.common_dir())?.join("damaged");
    if let Err(error) = repo.put_damaged_away(&reader.lost, &damaged) {
        tracing::warn!(%error, "cannot move damaged objects away");
    }
    // The cache may say that a lost object is stored.
    drop(std::fs::remove_file(cache_path(repo)?));
    if let Err(error) = logs::mend_logs(repo) {
        tracing::warn!(%error, "the operation log leads to objects that are damaged");
    }
    if let Err(error) = follow_copies(repo, copies) {
        tracing::warn!(%error, "the journal of the last restore names checkpoints that git may remove");
    }
    if let Err(error) = carry_notes(repo, copies) {
        tracing::warn!(%error, "notes stay at the checkpoints that are damaged");
    }
    Ok(())
}

/// Lets the notes follow the copies.
fn carry_notes(repo: &Repo, copies: &Copies) -> Result<()> {
    let (mut notes, mut objects) = (repo.notes()?, NewObjects::new(repo, Target::Loose));
    let copy_of = |id| copies.iter().find(|(of, _)| *of == id).map(|(_, copy)| *copy);
    notes.carry(|id| copy_of(id).map_or(NoteFate::Stays, NoteFate::GoesTo), &mut objects)?;
    let written = objects.write()?;
    repo.update_refs(&Vec::from_iter(notes.update()))?;
    written.check_and_release()
}

/// Makes the journal of the last restore name the copies, because no ref leads to the original checkpoints any more. Leaves out
/// copies that lack some content of their original.
fn follow_copies(repo: &Repo, copies: &Copies) -> Result<()> {
    let Some(mut journal) = Journal::read(repo.git_dir())? else { return Ok(()) };
    let named = [journal.target, journal.pre_restore];
    let content = |id| Ok(repo.checkpoint(id)?.map(|checkpoint| (checkpoint.tree_id, checkpoint.side_id)));
    for (original, copy) in copies {
        if named.contains(original) && content(*original)? == content(*copy)? {
            let names = [&mut journal.target, &mut journal.pre_restore];
            names.into_iter().filter(|id| **id == *original).for_each(|id| *id = *copy);
        }
    }
    if named == [journal.target, journal.pre_restore] { Ok(()) } else { journal.write(repo.git_dir()) }
}
