//! Mends the log of records: what can be read of it becomes the log.

use std::collections::HashSet;

use bstr::ByteSlice as _;
use gix::ObjectId;

use crate::{
    error::{Kind, Result},
    git::{
        Repo,
        commit::{Identity, Moment, NewCommit},
        new_objects::{NewObjects, Target},
        refs::RefUpdate,
    },
    model::{operation, record, refname},
    ops::records,
};

/// What is damaged of the log of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HistoryDamage {
    /// Its newest commit, or the tree of that: no record can be read.
    Newest(ObjectId),
    /// An earlier commit, or its tree. All records can be read, but git cannot walk the log.
    Earlier(ObjectId),
}

/// Returns what is damaged of the log of records, which ends with the commit `tip`.
///
/// # Errors
/// If something may be whole, and cannot be read now.
pub(crate) fn history_damage(repo: &Repo, tip: ObjectId) -> Result<Option<HistoryDamage>> {
    let (mut next, mut seen) = (vec![tip], HashSet::new());
    while let Some(id) = next.pop() {
        if !seen.insert(id) {
            continue;
        }
        match sound(repo, id)? {
            Some(sound) => next.extend(sound.before),
            None if id == tip => return Ok(Some(HistoryDamage::Newest(id))),
            // Not all commits need to have been fetched.
            None => {
                let is_partial = repo.is_shallow() || repo.is_partial_clone();
                return Ok((!is_partial).then_some(HistoryDamage::Earlier(id)));
            }
        }
    }
    Ok(None)
}

/// A commit of the log that can be read, with its tree.
struct Sound {
    /// Its parents, two if it joins logs; none: the log begins with it.
    before: Vec<ObjectId>,
}

/// Reads `id`, a commit of the log; none if the commit or its tree is damaged.
fn sound(repo: &Repo, id: ObjectId) -> Result<Option<Sound>> {
    let read = records::root_tree(repo, id).and_then(|_| repo.parents_of(id));
    match read {
        Err(error) if error.kind() == Kind::Corrupt => {
            // An object that may be whole is not given up.
            if repo.is_whole(id)? {
                repo.is_whole(repo.tree_of_commit(id)?)?;
            }
            Ok(None)
        }
        read => read.map(|before| Some(Sound { before })),
    }
}

/// Lets the log of records lead to the newest commit of it that can be read, without the earlier ones from the first that cannot.
/// If its newest commit is gone, looks for the one before it among the commits that no ref leads to. Returns what it has done;
/// none if the log is sound.
pub(crate) fn mend_history(repo: &Repo) -> Result<Option<String>> {
    let Some(tip) = repo.find_sound_ref(refname::HISTORY)? else { return Ok(None) };
    let Some(damage) = history_damage(repo, tip)? else { return Ok(None) };
    let newest = match damage {
        HistoryDamage::Earlier(_) => Some(tip),
        HistoryDamage::Newest(_) => newest_readable(repo, tip)?,
    };
    let Some(newest) = newest else {
        return Ok(Some("no earlier state of the records was found".to_owned()));
    };
    // What is damaged may be on the other side of a join; then all are written anew, one after the other.
    let (mut chain, mut next) = (Vec::new(), Some(newest));
    let mut is_cut = matches!(damage, HistoryDamage::Earlier(_));
    while let Some(id) = next {
        let Some(sound) = sound(repo, id)? else {
            is_cut = true;
            break;
        };
        chain.push(id);
        next = sound.before.first().copied();
    }
    let _way = repo.on_the_way(operation::REPAIR);
    let (mut objects, mut last) = (NewObjects::new(repo, Target::Loose), None);
    for id in chain.into_iter().rev().filter(|_| is_cut) {
        last = Some(write_anew(repo, id, last, &mut objects)?);
    }
    let written = objects.write()?;
    let new = last.unwrap_or(newest);
    repo.update_refs(&[RefUpdate { name: refname::HISTORY.into(), old: Some(tip), new: Some(new) }])?;
    written.check_and_release()?;
    Ok(Some(match damage {
        HistoryDamage::Earlier(_) => "all records can be read, and the log begins after what is damaged".to_owned(),
        HistoryDamage::Newest(_) => {
            format!(
                "it leads to an earlier state of the records now, {new}: what came after that is lost, unless {tip} comes back"
            )
        }
    }))
}

/// Returns the newest commit of the log that can be read, while its last one, `tip`, cannot, or its tree.
fn newest_readable(repo: &Repo, tip: ObjectId) -> Result<Option<ObjectId>> {
    if let Ok(mut next) = repo.with_commit(tip, |commit| commit.parents().next()) {
        while let Some(id) = next {
            if sound(repo, id)?.is_some() {
                return Ok(Some(id));
            }
            next = repo.with_commit(id, |commit| commit.parents().next()).unwrap_or_default();
        }
    }
    // Without the commit that leads to it, the one before is a commit that nothing leads to.
    let said = repo.try_git(&["fsck", "--no-reflogs", "--no-progress", "--connectivity-only", "--dangling"], None)?;
    let mut found: Vec<(i64, ObjectId)> = Vec::new();
    for line in said.stdout.lines() {
        let Some(id) = line.strip_prefix(b"dangling commit ").and_then(|id| ObjectId::from_hex(id.trim()).ok()) else {
            continue;
        };
        if records::is_of_log(repo, id) {
            found.push((repo.with_commit(id, |commit| commit.committer().map_or(0, |who| who.seconds()))?, id));
        }
    }
    Ok(found.into_iter().max().map(|(_, id)| id))
}

/// Adds a copy of `id`, a commit of the log, to `objects`: after the commit `before`.
fn write_anew(repo: &Repo, id: ObjectId, before: Option<ObjectId>, objects: &mut NewObjects<'_>) -> Result<ObjectId> {
    let (tree_id, message, time) = repo.with_commit(id, |commit| {
        let time = commit.time().ok();
        let moment = Moment {
            seconds: time.map_or(0, |time| time.seconds),
            micros: 0,
            offset: time.map_or(0, |time| time.offset),
        };
        (commit.tree(), commit.message.to_str_lossy().into_owned(), moment)
    })?;
    // A join has the same name wherever it is made: with another one, other clones would refuse the log.
    let who = || if message.trim_end() == record::JOINED { Identity::fallback() } else { repo.identity() };
    let (author, committer, parents) = (who(), who(), before.into_iter().collect());
    Repo::write_commit(&NewCommit { tree_id, parents, author, committer, time, message: &message }, objects)
}
