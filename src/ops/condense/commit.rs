//! Condenses one commit: writes the record of the work that it took, links the commit to existing records, and carries the rest
//! of the work forward.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use bstr::BString;
use gix::ObjectId;

use super::{
    candidates::{Candidate, candidates, touched_live},
    later::has_later,
    made::Made,
    record,
    renamed::renamed_since,
    work::work,
};
use crate::{
    error::Result,
    git::{
        Repo,
        counting::Counting,
        edit_tree::edit_tree,
        new_objects::{NewObjects, Target},
        patch_id::PatchIds,
        refs::RefUpdate,
        written::Written,
    },
    model::{
        change::{Change, Leaf, Mode},
        checkpoint::Origin,
        event::Event,
        record::{How, Link, Parts, Record, RecordId, ids_in_message},
        refname::{self, Base, Settled},
    },
    ops::{
        Context, Worktree,
        chain::{
            Shadow,
            carry_forward::{Aim, LiveShadows, Rest},
            limits,
            lost::is_any_noted,
        },
        provenance::{covered, doubt::doubtful_lines, moved_from::Parents, recorded, replay::Work, step::Step},
        records::{self, Additions},
        rewrite,
        session_info::open_turns,
    },
    state::{commit_note::CommitNote, failpoint},
};

/// Returns the shadows on `base` if a session contributed to them. If only humans did, the shadows stay on their base.
pub(super) fn shadows_of_sessions(repo: &Repo, base: Base) -> Result<Option<LiveShadows>> {
    match LiveShadows::read(repo, base)? {
        Some(on_base) if on_base.has_agent(repo)? => Ok(Some(on_base)),
        _ => Ok(None),
    }
}

/// Returns the shadows on `base` if their work has to be carried forward to another base. While a turn is open, that includes
/// work of humans alone: left behind, it would look like a change that the turn made.
pub(crate) fn shadows_to_carry(worktree: &Worktree<'_>, base: Base) -> Result<Option<LiveShadows>> {
    let repo = &worktree.repo;
    if open_turns(worktree)?.is_empty() { shadows_of_sessions(repo, base) } else { LiveShadows::read(repo, base) }
}

/// Links the commit to records that existed before it. `reconcile` does not call this for commits that a rebase only copies: they
/// are linked when the rebase ends.
pub(crate) fn link_existing(worktree: &Worktree<'_>, made: &Made, note: &CommitNote) -> Result<()> {
    let commit = made.commit;
    let parts = note.parts();
    let only = |record: &RecordId| parts.get(record).cloned().unwrap_or_default();
    let reused = note.reused.iter().filter_map(|id| RecordId::parse(id));
    let link = |record| Link { record, commit, from: None, how: How::Recommit, only: only(&record) };
    let links: Vec<Link> = reused.map(link).collect();
    if !links.is_empty() {
        records::append(worktree, Additions { records: Vec::new(), links })?;
    }
    let id = |hex: &String| ObjectId::from_hex(hex.as_bytes()).ok();
    let squashed: Vec<ObjectId> = note.squashed.iter().filter_map(id).collect();
    rewrite::link_from(worktree, commit, &squashed, How::Squash, &parts)?;
    let copied: Vec<ObjectId> = note.copied.iter().filter_map(id).collect();
    rewrite::link_from(worktree, commit, &copied, How::Copy, &parts)?;
    match made.amended() {
        Some(old) => rewrite::link_from(worktree, commit, &[old], How::Amend, &Parts::new()),
        None => rewrite::link_copies(worktree, commit, &parts),
    }
}

/// Makes the record of the work that the commit took, carries the rest of the shadow on its base forward to the commit, and marks
/// archived shadows whose work is now all committed. `patch_id` is the computation of the commit's patch id, if git has begun it.
pub(crate) fn condense(
    worktree: &Worktree<'_>,
    made: &Made,
    note: &CommitNote,
    patch_id: Option<PatchIds>,
) -> Result<()> {
    let repo = &worktree.repo;
    let found = record_work(worktree, made, note, patch_id)?;
    failpoint::hit("condense:before-carry");
    let tree_id = repo.tree_of_commit(made.commit)?;
    for candidate in &found {
        if candidate.is_live {
            carry_forward(worktree, made.base, made.commit, Rest::IsSetAside)?;
        } else if candidate.tip.archived
            && !candidate.touched.is_empty()
            && !has_later(repo, &candidate.checkpoint, made.when)
            && candidate.unless_damaged(repo, candidate.is_all_in(repo, tree_id))?.unwrap_or(false)
        {
            settle(repo, candidate, Settled::Condensed)?;
        }
    }
    Ok(())
}

/// Makes the record of the work that the commit took. Returns the shadows that the work may come from.
fn record_work(
    worktree: &Worktree<'_>,
    made: &Made,
    note: &CommitNote,
    patch_id: Option<PatchIds>,
) -> Result<Vec<Candidate>> {
    let repo = &worktree.repo;
    let found = candidates(repo, made.base, true)?;
    let named = ids_in_message(repo.message_of(made.commit)?.as_bytes());
    let promised = note.reserved.as_deref().and_then(RecordId::parse).filter(|id| named.contains(id));
    if found.is_empty() && promised.is_none() && !is_any_noted(repo) {
        return Ok(found);
    }
    let mut committed = repo.detect_renames(made.changes(repo)?)?;
    let renamed = renamed_since(repo, touched_live(&found), &committed)?;
    let mut counting = Counting::new(repo).of_trees(made.base_tree_id(repo)?, repo.tree_of_commit(made.commit)?);
    let (mut work, steps) = work(worktree, &found, (&committed, made.when), renamed, &mut counting)?;
    leave_out_resolved(repo, made, &committed, &mut work)?;
    if work.needs_record() {
        // In a file that earlier records cover, this record counts only what was done after them.
        let earlier = earlier_records(repo, note, &named)?;
        (work, committed) =
            covered::leave_out_covered(repo, &earlier, &steps, work, committed, promised.is_some(), &mut counting)?;
    }
    // Another process may have noticed the commit first and made its record. If we made another one, both would count the work
    // of archived shadows.
    if promised.is_none()
        && let Some(record) = record_of(worktree, made.commit)?
    {
        // That process may have crashed before it updated the sessions.
        let partial = record.sessions.iter().filter(|part| part.is_partial).map(|part| part.id.as_str());
        record::note_sessions(worktree, made, record.id, partial, None)?;
        return Ok(found);
    }
    // A promised record is made even if nothing is left of the work: the commit's trailer names it.
    if work.needs_record() || promised.is_some() {
        let id = match promised {
            Some(id) => id,
            None => free_id(repo, made, &named)?,
        };
        let (new, offsets) = {
            let patch_id = patch_id.map_or_else(|| repo.start_patch_ids(&[made.commit]), Ok)?;
            record::build(worktree, made, id, &committed, (&work, &steps), patch_id)?
        };
        let (sessions, paths) = (new.record.sessions.len(), new.record.files.len());
        // If the record exists, a process crashed after writing it. It may have advanced the sessions' positions in their
        // transcripts, so leave these as they are.
        let is_first = records::find(repo, &id).unwrap_or_default().is_none();
        failpoint::hit("condense:before-record");
        records::append(worktree, Additions { records: vec![new], links: Vec::new() })?;
        failpoint::hit("condense:after-record");
        record::note_sessions(worktree, made, id, work.all_sessions(), is_first.then_some(&offsets))?;
        failpoint::hit("condense:after-sessions");
        let (record, commit) = (id.to_string(), made.commit.to_string());
        worktree.emit(&Event::Condense { record, commit, sessions, paths });
    }
    Ok(found)
}

/// Makes the lines that a merge has from other files of the commits merged base lines in `work`: these commits' records have them.
fn leave_out_resolved(repo: &Repo, made: &Made, committed: &[Change], work: &mut Work) -> Result<()> {
    let parents = repo.parents_of(made.commit)?;
    let others = parents.get(1..).unwrap_or_default();
    let mut others = Parents::of(repo, others, repo.tree_of_commit(made.commit)?)?;
    for (change, ownership) in committed.iter().zip(&mut work.ownership.files) {
        others.leave_out_moved(change, ownership)?;
    }
    Ok(())
}

/// Makes a record of a person's commit, which takes no work of a session, in two cases:
/// - Commands like `blame` would otherwise take the commit for a copy of a commit with a record. They would if an agent and a
///   person make the same change, and the person commits it again after a reset or by an amend: by its dates, the new commit may
///   be a copy of the agent's commit.
/// - It has some lines of the records `perhaps`, too few to be sure that they come from there: their author is unknown.
pub(crate) fn record_of_person(worktree: &Worktree<'_>, made: &Made, perhaps: &[RecordId]) -> Result<()> {
    let repo = &worktree.repo;
    let is_mistakable = recorded::is_mistakable(worktree, made.base.commit_id(), made.commit, made.amended())?;
    let is_doubtful = !perhaps.is_empty() && records::evidence::of_commit(repo, made.commit)?.is_empty();
    if !is_mistakable && !is_doubtful {
        return Ok(());
    }
    let id = free_id(repo, made, &[])?;
    let committed = repo.detect_renames(made.changes(repo)?)?;
    let mut step = Step::new(Origin::default(), committed.clone());
    if is_doubtful {
        step.moved = doubtful_lines(repo, &committed, perhaps)?.map(Rc::new);
    }
    if !is_mistakable && step.moved.is_none() {
        return Ok(());
    }
    let steps = [step];
    let work = Work::of(repo, &steps, &committed, &mut Counting::usual(repo))?;
    let patch_id = repo.start_patch_ids(&[made.commit])?;
    let (new, _) = record::build(worktree, made, id, &committed, (&work, &steps), patch_id)?;
    records::append(worktree, Additions { records: vec![new], links: Vec::new() })
}

/// Returns an id for the record of a commit for which none was reserved: the last id in its message that has no record and
/// that the amended commit does not name. Without one, derives the id from the commit id, so that all processes use the same.
fn free_id(repo: &Repo, made: &Made, named: &[RecordId]) -> Result<RecordId> {
    // A record of others keeps its id.
    let log = records::Log::open(repo)?;
    let amended = made.amended().map(|old| repo.message_of(old)).transpose()?.unwrap_or_default();
    let of_amended = ids_in_message(amended.as_bytes());
    for id in named.iter().rev().filter(|id| !of_amended.contains(id)) {
        if !log.as_ref().map_or(Ok(false), |log| log.has(id))? {
            return Ok(*id);
        }
    }
    let own = RecordId::of_commit(made.commit);
    // The record of another commit may have that id.
    let is_taken = log.map_or(Ok(None), |log| log.find(&own))?.is_some_and(|record| record.commit != made.commit);
    Ok(if is_taken { RecordId::random() } else { own })
}

/// Returns the records whose work the commit of `note` repeats: those that it reuses, and those of the commits that it squashes
/// or copies. Of records of others, only those that its message names, `named`, are found again.
fn earlier_records(repo: &Repo, note: &CommitNote, named: &[RecordId]) -> Result<Vec<RecordId>> {
    let mut ids: Vec<RecordId> = note.reused.iter().filter_map(|id| RecordId::parse(id)).collect();
    let from = note.squashed.iter().chain(&note.copied);
    for commit in from.filter_map(|hex| ObjectId::from_hex(hex.as_bytes()).ok()) {
        ids.extend(records::evidence::of_commit(repo, commit)?);
    }
    if let Some(own) = records::Log::own(repo)? {
        let mut kept = Vec::with_capacity(ids.len());
        for id in ids {
            kept.extend((named.contains(&id) || own.has(&id)?).then_some(id));
        }
        return Ok(kept);
    }
    ids.retain(|id| named.contains(id));
    Ok(ids)
}

/// Carries the work of the shadow on `base` forward to `commit`. Leaves out what the commit contains. If HEAD is at `commit`,
/// also leaves out files that the worktree has as the commit has them, according to git's index.
pub(crate) fn carry_forward(worktree: &Worktree<'_>, base: Base, commit: ObjectId, rest: Rest) -> Result<()> {
    let repo = &worktree.repo;
    let Some(on_base) = shadows_to_carry(worktree, base)? else { return Ok(()) };
    let mut shadow = Shadow::read_at(repo, Base::Commit(commit))?;
    let now_tree_id = without_committed(worktree, &on_base, commit)?;
    let aim = Aim { now_tree_id, is_now_seen: false, rest };
    let moved = on_base.carry_forward(worktree, &mut shadow, aim, &|_| false)?;
    failpoint::hit("condense:before-refs");
    repo.update_refs(&moved.updates)?;
    failpoint::hit("condense:after-refs");
    Written::check_and_release_all(moved.written)
}

/// Returns the tree of the last checkpoint of `on_base`, without the work that the user has undone or replaced. This is so if HEAD
/// is at `commit` and the worktree has the same content as `commit` at a path: there, the returned tree has that content, too.
///
/// The user may have moved a file instead of undoing its work. So if work is undone, the tree also has each other file of the
/// worktree whose content is that of such a file.
fn without_committed(worktree: &Worktree<'_>, on_base: &LiveShadows, commit: ObjectId) -> Result<ObjectId> {
    let repo = &worktree.repo;
    let tip_tree_id = on_base.latest.tree_id;
    if repo.head()?.id != Some(commit) {
        return Ok(tip_tree_id);
    }
    let head_tree_id = repo.tree_of_commit(commit)?;
    let touched = on_base.touched(repo)?.into_iter().map(|change| (change.path, change.before));
    let touched: BTreeMap<BString, Option<Leaf>> = touched.collect();
    let mut changes = repo.diff_trees(tip_tree_id, head_tree_id)?;
    changes.retain(|change| touched.contains_key(&change.path));
    let as_committed = repo.unchanged_in_worktree(changes)?;
    if as_committed.is_empty() {
        return Ok(tip_tree_id);
    }
    let is_undone = |change: &Change| touched.get(&change.path) == Some(&change.after);
    let undone: BTreeSet<ObjectId> = as_committed
        .iter()
        .filter(|change| is_undone(change))
        .filter_map(|change| change.before.filter(|leaf| leaf.mode != Mode::Gitlink).map(|leaf| leaf.id))
        .filter(|id| *id != ObjectId::empty_blob(repo.object_hash()))
        .collect();
    let edit = |change: Change| (change.path, change.after.map(|leaf| (leaf.id, leaf.mode)));
    let (from_tree_id, edits): (ObjectId, Vec<_>) = if undone.is_empty() {
        (tip_tree_id, as_committed.into_iter().map(edit).collect())
    } else {
        let as_committed: BTreeSet<BString> = as_committed.into_iter().map(|change| change.path).collect();
        let mut work = repo.diff_trees(head_tree_id, tip_tree_id)?;
        work.retain(|change| touched.contains_key(&change.path) && !as_committed.contains(&change.path));
        let mut places = repo.files_with_content(&undone, &limits(worktree))?;
        places.retain(|(path, _)| !touched.contains_key(path));
        let places = places.into_iter().map(|(path, leaf)| (path, Some((leaf.id, leaf.mode))));
        // If a moved file and the work have one path, the later edit wins: the work.
        (head_tree_id, places.chain(work.into_iter().map(edit)).collect())
    };
    let mut objects = NewObjects::new(repo, Target::Loose);
    let tree_id = edit_tree(from_tree_id, &edits, &mut objects)?;
    // Carrying forward compares this tree with others, so it has to be stored. No ref leads to it.
    drop(objects.write()?);
    Ok(tree_id)
}

/// Marks in an archived shadow's name that all of its work is committed.
fn settle(repo: &Repo, candidate: &Candidate, settled: Settled) -> Result<()> {
    let name = refname::settled_archive_ref(&candidate.tip.name, settled);
    let id = candidate.tip.id;
    repo.update_refs(&[
        RefUpdate { name, old: None, new: Some(id) },
        RefUpdate { name: candidate.tip.name.clone(), old: Some(id), new: None },
    ])
}

/// Returns the record that was made for `commit` itself.
pub(crate) fn record_of(context: &Context, commit: ObjectId) -> Result<Option<Record>> {
    for id in records::of_commit(&context.repo, commit)? {
        if let Some(record) = records::find(&context.repo, &id)?.filter(|record| record.commit == commit) {
            return Ok(Some(record));
        }
    }
    Ok(None)
}
