//! Turns the part of shadows that a commit took into a record, and lets the rest go on upon the commit.
//!
//! Only content counts: a commit that holds nothing of a session's work makes no record. Each step can be done again, so
//! that whoever comes after a crash finishes what is left.

mod candidates;
mod earlier;
mod journal;
mod record;
mod unseen;

use bstr::ByteSlice as _;
use gix::ObjectId;

use super::{
    Context,
    known_base::{known_base, note_base},
    onward::{Aim, Line, Rest},
    records::{self, Additions},
    rewrite,
    save::{self, Shadow},
};
use crate::{
    error::Result,
    git::{Repo, counting::Counting, refs::RefUpdate, written::Written},
    model::{
        change::Change,
        event::Event,
        record::{How, Link, RecordId, ids_in_message},
        refname::{self, Base, Settled},
        session::Session,
    },
    state::{
        commit_note::{CommitNote, Unkept},
        failpoint,
        lock::Lock,
        sessions,
    },
};
use candidates::{Candidate, candidates, hold_work, left_out, steps_to, touched_live, work};

pub(crate) use candidates::{renamed_since, steps_aside};
pub(crate) use journal::finish;
pub(crate) use unseen::commits_unseen;

/// How a commit came to be.
struct Made {
    /// The commit.
    commit: ObjectId,
    /// Its first parent.
    parent: Option<ObjectId>,
    /// What the shadow stands on: the parent, or the commit that was amended.
    base: Base,
    /// What the work of the commit begins with: the same, unless it was rewritten since.
    from: Base,
}

/// Returns whether the commit to come, of what is staged, holds work of a session that is not in the records `told` alone.
pub(crate) fn holds_work(context: &Context, base: Base, told: &[RecordId]) -> Result<bool> {
    let repo = &context.repo;
    // What lives here is most of what is committed, and few have to look any further.
    let live = candidates(repo, base, false)?;
    if holds_work_of(context, base, &live, told)? {
        return Ok(true);
    }
    holds_work_of(context, base, &candidates(repo, base, true)?, told)
}

/// Returns true if work of a session lives on `base`: it goes on upon a commit that does not take it.
pub(crate) fn has_work_on(repo: &Repo, base: Base) -> Result<bool> {
    Ok(session_line(repo, base)?.is_some())
}

/// Returns the shadows on `base` if a session has a part in them: people's own checkpoints stay where they were taken.
fn session_line(repo: &Repo, base: Base) -> Result<Option<Line>> {
    match Line::read(repo, base)? {
        Some(line) if line.has_agent(repo)? => Ok(Some(line)),
        _ => Ok(None),
    }
}

fn holds_work_of(context: &Context, base: Base, found: &[Candidate], told: &[RecordId]) -> Result<bool> {
    let repo = &context.repo;
    let mut paths: Vec<_> = found.iter().flat_map(|it| it.touched.iter().map(|change| change.path.clone())).collect();
    paths.sort();
    paths.dedup();
    if paths.is_empty() {
        return Ok(false);
    }
    let head_tree_id = base.commit_id().map_or_else(|| Ok(repo.empty_tree_id()), |id| repo.tree_of_commit(id))?;
    let mut staged = Vec::new();
    for (path, leaf) in repo.staged_leaves(&paths)? {
        let before = repo.find_leaf(head_tree_id, path.as_bstr())?;
        staged.extend(Change::between(path, before, leaf));
    }
    // What is there no more may be staged under another name.
    if left_out(touched_live(found), &staged).next().is_some() {
        staged.extend(repo.staged_anew(head_tree_id)?.into_iter().filter(|it| paths.binary_search(&it.path).is_err()));
        staged.sort_by(|one, other| one.path.cmp(&other.path));
    }
    drop_brought(repo, &repo.merge_heads(), &mut staged)?;
    if !told.is_empty() {
        let steps = steps_to(repo, found, &staged, &[])?;
        earlier::drop_told(repo, told, &steps, &mut staged);
    }
    if staged.is_empty() {
        return Ok(false);
    }
    hold_work(repo, found, &staged)
}

/// Condenses what the commit at HEAD took, in this worktree.
pub(crate) fn commit_made(context: &Context, _lock: &Lock) -> Result<()> {
    let repo = &context.repo;
    let Some(commit) = repo.head()?.id else { return Ok(()) };
    context.tell_failure("condense", unseen::commits_before(context, Some(commit))).unwrap_or_default();
    let plain = || CommitNote { is_again: repo.is_rebasing(), ..CommitNote::default() };
    let note = CommitNote::read(repo.git_dir())?.unwrap_or_else(plain);
    keep_earlier(context, &note)?;
    // Another commit is being prepared upon this one; whoever prepares it has finished this one, or noted it.
    let is_for_next = note.head == Base::Commit(commit).to_string();
    let note = if is_for_next { plain() } else { journal::keep_promise_to_past(context, commit, note)? };
    keep(context, commit, &note)?;
    failpoint::hit("condense:before-base");
    // A rebase or a pick leaves work where it was, and it goes on from there.
    if !repo.is_rebasing() && !note.is_again {
        note_base(context, Base::Commit(commit))?;
    }
    failpoint::hit("condense:before-note");
    if is_for_next { Ok(()) } else { CommitNote::remove(repo.git_dir()) }
}

fn keep_earlier(context: &Context, note: &CommitNote) -> Result<()> {
    for Unkept { commit, note } in &note.earlier {
        if let Ok(commit) = ObjectId::from_hex(commit.as_bytes())
            && context.repo.is_commit(commit)?
        {
            keep(context, commit, note)?;
        }
    }
    Ok(())
}

/// Keeps what `note` promised to `commit`.
fn keep(context: &Context, commit: ObjectId, note: &CommitNote) -> Result<()> {
    let made = made(&context.repo, commit, note)?;
    link_what_is_there(context, &made, note)?;
    // What is made once more takes no work of now; post-rewrite tells what it was.
    if note.is_again { Ok(()) } else { condense(context, &made, note) }
}

/// Returns the commits, oldest first, whose promises are not kept yet and cannot be now; for the note of the next one.
pub(crate) fn unkept(context: &Context) -> Result<Vec<Unkept>> {
    let repo = &context.repo;
    let head = Base::of_head(repo.head()?.id);
    // The commit to come may take what one that nobody told of has left.
    if let Some(known) = known_base(context).filter(|known| *known != head)
        && has_work_on(repo, known)?
        && let Some(lock) = save::try_lock(context)?
    {
        let kept = finish(context, &lock).and_then(|()| unseen::commits_before(context, None));
        context.tell_failure("condense", kept).unwrap_or_default();
    }
    let Some(note) = CommitNote::read(repo.git_dir())? else { return Ok(Vec::new()) };
    let made = match repo.head()?.id {
        Some(commit) if was_made(repo, commit, &note)? => Some(commit),
        _ => None,
    };
    if made.is_none() && note.earlier.is_empty() {
        return Ok(Vec::new());
    }
    if let Some(lock) = save::try_lock(context)? {
        finish(context, &lock)?;
        return Ok(Vec::new());
    }
    let CommitNote { earlier, .. } = note.clone();
    let last =
        made.map(|commit| Unkept { commit: commit.to_string(), note: CommitNote { earlier: Vec::new(), ..note } });
    Ok(earlier.into_iter().chain(last).collect())
}

/// Returns true if `commit`, at HEAD, is the one that `note` was written for.
fn was_made(repo: &Repo, commit: ObjectId, note: &CommitNote) -> Result<bool> {
    if let Some(id) = note.reserved.as_deref().and_then(RecordId::parse)
        && ids_in_message(repo.message_of(commit)?.as_bytes()).contains(&id)
    {
        return Ok(true);
    }
    if Base::parse(&note.head) == Some(Base::Commit(commit)) {
        return Ok(false);
    }
    let made = made(repo, commit, note)?;
    let is_on_head = made.base.to_string() == note.head;
    let has_promise =
        note.reserved.is_some() || note.copied.is_some() || !(note.reused.is_empty() && note.squashed.is_empty());
    Ok(is_on_head && has_promise && repo.has_just_committed()?)
}

fn made(repo: &Repo, commit: ObjectId, note: &CommitNote) -> Result<Made> {
    let parents = repo.parents_of(commit)?;
    let parent = parents.first().copied();
    let plain = Made { commit, parent, base: Base::of_head(parent), from: Base::of_head(parent) };
    let Some(Base::Commit(head)) = Base::parse(&note.head) else { return Ok(plain) };
    let is_amend = Some(head) != parent && head != commit && repo.is_commit(head)? && repo.parents_of(head)? == parents;
    Ok(if is_amend { Made { base: Base::Commit(head), from: Base::Commit(head), ..plain } } else { plain })
}

/// Links the commit to records that were there before it.
fn link_what_is_there(context: &Context, made: &Made, note: &CommitNote) -> Result<()> {
    let commit = made.commit;
    let links: Vec<Link> = note
        .reused
        .iter()
        .filter_map(|id| RecordId::parse(id))
        .map(|record| Link { record, commit, from: None, how: How::Recommit })
        .collect();
    if !links.is_empty() {
        records::append(context, Additions { records: Vec::new(), links })?;
    }
    let id = |hex: &String| ObjectId::from_hex(hex.as_bytes()).ok();
    let squashed: Vec<ObjectId> = note.squashed.iter().filter_map(id).collect();
    rewrite::link_from(context, commit, &squashed, How::Squash)?;
    let copied: Vec<ObjectId> = note.copied.iter().filter_map(id).collect();
    rewrite::link_from(context, commit, &copied, How::Copy)?;
    match made.base {
        Base::Commit(old) if made.parent != Some(old) => rewrite::link_from(context, commit, &[old], How::Amend),
        // A rebase tells of its commits when it is done.
        _ if note.is_again && context.repo.is_rebasing() => Ok(()),
        _ => rewrite::link_copies(context, commit),
    }
}

fn condense(context: &Context, made: &Made, note: &CommitNote) -> Result<()> {
    let repo = &context.repo;
    let found = record_work(context, made, note)?;
    failpoint::hit("condense:before-carry");
    let tree_id = repo.tree_of_commit(made.commit)?;
    for candidate in &found {
        if candidate.is_live {
            carry_forward(context, made.base, made.commit)?;
        } else if candidate.tip.archived && !candidate.touched.is_empty() && candidate.is_all_in(repo, tree_id)? {
            settle(repo, candidate, Settled::Condensed)?;
        }
    }
    Ok(())
}

/// Makes the record of what the commit took; returns the shadows it may have taken it from.
fn record_work(context: &Context, made: &Made, note: &CommitNote) -> Result<Vec<Candidate>> {
    let repo = &context.repo;
    let found = candidates(repo, made.base, true)?;
    let message = repo.message_of(made.commit)?;
    let named = ids_in_message(message.as_bytes());
    let reserved = note.reserved.as_deref().and_then(RecordId::parse);
    let promised = reserved.filter(|id| named.contains(id));
    if found.is_empty() && promised.is_none() {
        return Ok(found);
    }
    let start_patch_ids = || repo.start_patch_ids(&[made.commit]);
    let promised_patch_ids = promised.map(|_| start_patch_ids()).transpose()?;
    let base_tree_id = made.from.commit_id().map_or_else(|| Ok(repo.empty_tree_id()), |id| repo.tree_of_commit(id))?;
    let tree_id = repo.tree_of_commit(made.commit)?;
    let mut committed = repo.diff_trees(base_tree_id, tree_id)?;
    drop_brought(repo, repo.parents_of(made.commit)?.get(1..).unwrap_or_default(), &mut committed)?;
    let mut committed = repo.detect_renames(committed)?;
    let renamed = renamed_since(repo, touched_live(&found), &committed)?;
    let mut counting = Counting::new(repo).of_trees(base_tree_id, tree_id);
    let (mut work, steps) = work(repo, &found, &committed, renamed, &mut counting)?;
    if work.is_to_tell() {
        let earlier = earlier_records(repo, note)?;
        (work, committed) =
            earlier::begin_after(repo, &earlier, &steps, work, committed, promised.is_some(), &mut counting)?;
    }
    // Somebody else may have made it meanwhile, who saw the commit first; what was set aside since holds the work again.
    if promised.is_none()
        && let Some(record) = unseen::record_of(context, made.commit)?
    {
        // Whoever it was may have died before the sessions knew.
        let partial = record.sessions.iter().filter(|part| part.is_partial).map(|part| part.id.as_str());
        record::note_sessions(context, made, record.id, partial, None)?;
        return Ok(found);
    }
    // No trailer without a record: what was promised is kept, whatever has become of the shadow since.
    if work.is_to_tell() || promised.is_some() {
        // Of two commits that were prepared at once, the note may be the other's: what the message names counts.
        let log = records::Log::open(repo)?;
        let is_free = |id: &RecordId| log.as_ref().map_or(Ok(true), |log| log.has(id).map(|is_there| !is_there));
        let mut named_first = None;
        for id in named.iter().filter(|_| !note.is_again) {
            if named_first.is_none() && is_free(id)? {
                named_first = Some(*id);
            }
        }
        let id = promised.or(named_first).or(reserved).unwrap_or_else(RecordId::random);
        let (new, offsets) = {
            let patch_ids = promised_patch_ids.map_or_else(start_patch_ids, Ok)?;
            record::build(context, made, id, &committed, (&work, &steps), patch_ids)?
        };
        let (sessions, paths) = (new.record.sessions.len(), new.record.files.len());
        // Made already, before somebody died: whoever did may have moved on in the transcripts, or not.
        let is_first = records::find(repo, &id).unwrap_or_default().is_none();
        failpoint::hit("condense:before-record");
        records::append(context, Additions { records: vec![new], links: Vec::new() })?;
        failpoint::hit("condense:after-record");
        record::note_sessions(context, made, id, work.all_sessions(), is_first.then_some(&offsets))?;
        failpoint::hit("condense:after-sessions");
        let (record, commit) = (id.to_string(), made.commit.to_string());
        context.emit(&Event::Condense { record, commit, sessions, paths });
    }
    Ok(found)
}

/// Drops from what a merge changes what one of the commits `others` has brought: that is in that one's record.
fn drop_brought(repo: &Repo, others: &[ObjectId], changes: &mut Vec<Change>) -> Result<()> {
    for other in others {
        let tree_id = repo.tree_of_commit(*other)?;
        let mut kept = Vec::with_capacity(changes.len());
        for change in changes.drain(..) {
            if repo.find_leaf(tree_id, change.path.as_bstr())? != change.after {
                kept.push(change);
            }
        }
        *changes = kept;
    }
    Ok(())
}

/// Returns the records that the commit of `note` has beside its own.
fn earlier_records(repo: &Repo, note: &CommitNote) -> Result<Vec<RecordId>> {
    let mut ids: Vec<RecordId> = note.reused.iter().filter_map(|id| RecordId::parse(id)).collect();
    for commit in note.squashed.iter().filter_map(|hex| ObjectId::from_hex(hex.as_bytes()).ok()) {
        ids.extend(records::of_commit(repo, commit)?);
    }
    Ok(ids)
}

/// Lets what the commit did not take go on upon it; nothing is read from the worktree.
fn carry_forward(context: &Context, base: Base, commit: ObjectId) -> Result<()> {
    let repo = &context.repo;
    let Some(line) = session_line(repo, base)? else { return Ok(()) };
    let mut shadow = Shadow::read_at(repo, Base::Commit(commit))?;
    let aim = Aim { now_tree_id: line.latest.tree_id, is_now_seen: false, rest: Rest::IsSetAside };
    let moved = line.go_on(context, &mut shadow, aim, &|_| false)?;
    failpoint::hit("condense:before-refs");
    repo.update_refs(&moved.updates)?;
    failpoint::hit("condense:after-refs");
    Written::settle_all(moved.written)
}

/// Says in the name of an archived shadow that nothing in it waits any more.
fn settle(repo: &Repo, candidate: &Candidate, settled: Settled) -> Result<()> {
    let name = refname::settled_archive_ref(&candidate.tip.name, settled);
    let id = candidate.tip.id;
    repo.update_refs(&[
        RefUpdate { name, old: None, new: Some(id) },
        RefUpdate { name: candidate.tip.name.clone(), old: Some(id), new: None },
    ])
}

/// Completes the records of commits that `session` made in the middle of its turn, now that the turn is over.
pub(crate) fn complete(context: &Context, session: &mut Session) -> Result<()> {
    let ids: Vec<RecordId> = session.open_records.iter().filter_map(|id| RecordId::parse(id)).collect();
    if ids.is_empty() {
        return Ok(());
    }
    record::complete(context, session, &ids)?;
    session.open_records.clear();
    sessions::store(context.repo.common_dir(), session)
}
