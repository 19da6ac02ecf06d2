//! What happens around a commit: before its message is edited, after, and when it is made.

mod disclosure;
mod message_file;
mod moved_out;

use std::{collections::BTreeSet, path::Path};

use gix::ObjectId;

use super::{
    Context, Worktree, agents,
    chain::{carry_forward::LiveShadows, lost},
    condense,
    enter::Purpose,
    known_base::{is_head_followable, known_base},
    provenance::{
        amended::{Amended, is_undone},
        recorded,
    },
    records::{self, evidence},
    rewrite, salvage,
    save::{self, Scope},
    session_info,
};
use crate::{
    config::Link,
    error::{Error, Kind, Result},
    git::{Repo, ancestors, message, sequence::GitOperation},
    model::{
        record::{RecordId, TRAILER, ids_in_message},
        refname::Base,
    },
    state::{
        commit_note::{self, CommitNote},
        failpoint,
    },
};
use message_file::{keep_template, note_check, read_message};

pub(crate) use message_file::{check_message, checked, may_have_trailer};

/// Returns what the user is to know in the hook of a commit: data that cannot be read leaves the authors of its lines unknown.
/// `failure` is the error of the hook. Before the commit, that and a broken live shadow count; after it, shadows whose work was
/// looked for: each is named once.
pub(crate) fn damage(context: &Context, failure: Option<&Error>, is_made: bool) -> Option<String> {
    let lost = if is_made {
        lost::unreadable_shadows(context)
    } else {
        let failure = failure.filter(|error| error.kind() == Kind::Corrupt).map(ToString::to_string);
        failure.or_else(|| context.broken().first().map(|aside| lost::words(&aside.shadow, 0)))
    };
    lost.map(|what| format!("{what}: the authors of lines in this commit may be unknown"))
}

/// Prepares the message in `message_file` in git's prepare-commit-msg hook, whose other arguments are `source` and
/// `object`.
///
/// The message gets a trailer only if the index contains a session's work: new work of a shadow, for which a record is
/// reserved and written after the commit, or work of existing records that is committed again.
pub(crate) fn prepare(
    context: &Context,
    message_file: &Path,
    source: Option<&str>,
    object: Option<&str>,
) -> Result<()> {
    commit_note::set_followed_later(context.repo.git_dir(), false)?;
    keep_template(context, message_file, source)?;
    let mut prepared = promise_and_link(context, message_file, source, object);
    // Where a shadow is damaged, the live one may lead to what is gone: then all that is unsaved may be work of it.
    let is_damaged = match &prepared {
        Ok(()) => lost::is_any_noted(&context.repo),
        Err(error) => error.kind() == Kind::Corrupt,
    };
    if is_damaged && set_all_broken_aside(context)? {
        prepared = promise_and_link(context, message_file, source, object);
    }
    let discloses = context.settings.commit.disclosure.key().is_some();
    if source == Some("template") || context.repo.may_have_lone_trailers(message_file, discloses)? {
        note_check(context)?;
    }
    prepared
}

/// Sets aside the shadows of which any checkpoint cannot be read. Returns true if there are some.
fn set_all_broken_aside(context: &Context) -> Result<bool> {
    let worktree = match Worktree::enter(context, Purpose::CommitBegins) {
        // The commit does not wait for another process any longer.
        Err(error) if error.kind() == Kind::Race => return Ok(false),
        entered => entered?,
    };
    Ok(!salvage::set_broken_aside(&worktree, salvage::Look::AtAll)?.is_empty())
}

fn promise_and_link(context: &Context, message_file: &Path, source: Option<&str>, object: Option<&str>) -> Result<()> {
    let repo = &context.repo;
    failpoint::hit("condense:before-prepare");
    // Two commits that are prepared at once must not overwrite each other's note.
    let locked = match Worktree::enter(context, Purpose::CommitBegins) {
        // The commit does not wait for another process any longer.
        Err(error) if error.kind() == Kind::Race => None,
        entered => Some(entered?),
    };
    let head = repo.head()?.id;
    let base = Base::of_head(head);
    if let Some(worktree) = &locked {
        let saved = save_before_commit(worktree, base);
        // A failed save must not stop the commit.
        context.emit_failure("save", saved).unwrap_or_default();
    }
    let named_before = disclosure::named(context, message_file)?;
    let mut prepared = context.prepared()?;
    // Of all commits that are being prepared on one HEAD, one is made: they may all be promised the same record.
    let before = prepared.on(&base.to_string());
    let is_alone = before.is_none_or(CommitNote::is_plain);
    let promised = before.and_then(CommitNote::reserved_id);
    let mut note = CommitNote { head: base.to_string(), ..CommitNote::default() };
    let (mut is_new, mut amended) = (false, None);
    let ids = match repo.git_operation()? {
        GitOperation::Again(copied) => {
            note.copied = copied.as_ref().map(ToString::to_string);
            let of_copied = copied.map_or_else(|| Ok(Vec::new()), |commit| evidence::of_commit(repo, commit))?;
            let parts = recorded::parts_brought(repo, head, None, &of_copied)?;
            note.set_parts(&parts);
            // They are in the message already, unless it was given with `-m`.
            let mut ids = copied.map_or_else(|| Ok(Vec::new()), |commit| evidence::of_copied(repo, commit))?;
            let is_left = |id: &RecordId| parts.get(id).is_none_or(|files| !files.is_empty());
            let (left, gone): (Vec<_>, Vec<_>) = ids.into_iter().partition(is_left);
            ids = left;
            remove_trailers(repo, message_file, &gone)?;
            for id in reuse_of_sides(context, head, copied.as_slice(), &mut note)? {
                ids.extend(Some(id).filter(|id| !ids.contains(id)));
            }
            ids
        }
        GitOperation::New => {
            let is_amend = (source, object) == (Some("commit"), Some("HEAD"));
            amended = head.filter(|_| ancestors::is_amending().unwrap_or(is_amend));
            let ids = promise(context, head, amended, source, promised, &mut note)?;
            drop_copied_trailers(context, message_file, head, amended, &ids)?;
            is_new = amended.is_none() && ids.is_empty() && note.is_plain() && note.doubtful.is_empty();
            ids
        }
    };
    let reserved = note.reserved.as_deref().and_then(RecordId::parse);
    let commit = disclosure::Prepared { base, amended, ids: &ids, reserved, named: named_before };
    // The commit does not fail because of that.
    let disclosed = disclosure::lines(context, message_file, &commit);
    let mut lines = context.emit_failure("disclosure", disclosed).unwrap_or_default();
    // Without the lock, another process works here; of two commits prepared at the same time, only one is made.
    // The hook after the commit names shadows that cannot be read.
    let is_sound = !lost::is_any_noted(repo);
    if is_new && is_alone && is_sound && locked.is_some() && is_followed_later(context, message_file, base)? {
        // A note that says nothing means the same as no note, and costs a file write.
        prepared.commits.retain(|note| note.head != base.to_string());
        context.write_prepared(&prepared)?;
        return commit_note::set_followed_later(repo.git_dir(), true);
    }
    prepared.set(note);
    context.write_prepared(&prepared)?;
    failpoint::hit("condense:after-note");
    let mut unnamed = ids;
    // In a cherry-picked message, our trailers may be in the middle.
    let named = if unnamed.is_empty() { Vec::new() } else { ids_in_message(&read_message(message_file)?) };
    unnamed.retain(|id| !named.contains(id));
    if context.settings.link == Link::Trailer {
        lines.extend(unnamed.iter().map(|id| format!("{TRAILER}: {id}")));
    }
    if lines.is_empty() { Ok(()) } else { repo.add_lines(message_file, &lines) }
}

/// Returns true if a commit on `base` that takes no session's work needs nothing from post-commit: it refers to no
/// other commit, and there is no work to carry forward. The next command notices that HEAD has moved, so the hook need
/// not start us.
fn is_followed_later(context: &Context, message_file: &Path, base: Base) -> Result<bool> {
    let repo = &context.repo;
    let is_plain = !repo.is_merging() && !repo.is_rebasing() && !message::is_edited();
    if !is_plain || rewrite::names_commits(&read_message(message_file)?) {
        return Ok(false);
    }
    // The next command reads the new commits from the reflog.
    if !repo.has_reflog() {
        return Ok(false);
    }
    if !session_info::open_turns(context)?.is_empty() || condense::has_work_on(repo, base)? {
        return Ok(false);
    }
    // If readers may take the commit for a copy of a recorded one with the same parent, it needs a record of its own.
    if let Base::Commit(head) = base
        && !records::of_parent(repo, head)?.is_empty()
    {
        return Ok(false);
    }
    if condense::takes_of_others(repo, base)? {
        return Ok(false);
    }
    // Work on an earlier base waits for the last of several commits that git picks or reverts.
    let known = known_base(context).filter(|known| *known != base);
    Ok(!known.map(|known| condense::has_work_on(repo, known)).transpose()?.unwrap_or(false))
}

/// Returns true if `git commit` makes the commit, not a command that has brought all of its content: a revert, cherry-pick, rebase
/// or merge. What such a command left for `git commit`, as `cherry-pick -n` and a conflict do, is not new, which the save finds out.
fn is_plain(context: &Context) -> Result<bool> {
    let repo = &context.repo;
    let by_git_commit = || ancestors::is_amending().is_some();
    if repo.is_rebasing() {
        if repo.prepared_message().is_some() {
            // After a conflict, `git rebase --continue` runs `git commit`.
            return Ok(by_git_commit() && repo.has_stopped_rebase());
        }
        // Where a rebase stops without a conflict, the worktree is as HEAD.
        return Ok(by_git_commit() && repo.git_operation()? == GitOperation::New);
    }
    let is_prepared = repo.is_merging() || repo.prepared_message().is_some();
    let is_brought = is_prepared && !by_git_commit();
    let is_by_hand = match repo.git_operation()? {
        GitOperation::New => true,
        GitOperation::Again(copied) => copied.is_some() && by_git_commit(),
    };
    Ok(!is_brought && is_by_hand)
}

/// Saves what the authors of the lines of the commit on `base` may not be known without. If a session made the unsaved changes, or
/// may have, that is those of its changes since its last checkpoint that the commit takes; if lines were moved out of a file that the
/// commit does not take, that file and those that have its lines, too.
fn save_before_commit(worktree: &Worktree<'_>, base: Base) -> Result<()> {
    let saving = agents::saving_before_commit(worktree)?;
    if LiveShadows::read(&worktree.repo, base)?.is_some() {
        save::save_thrown_away(worktree)?;
    }
    if saving.is_none() && !moved_out::has_files(worktree, base)? || !is_plain(worktree).unwrap_or(false) {
        return Ok(());
    }
    let is_unknown = saving.as_ref().is_some_and(agents::Saving::is_unknown);
    // A reset leaves lines of other commits in the index. Only the lines of a known session can be distinguished from them.
    if is_unknown && !is_head_followable(worktree)? {
        return Ok(());
    }
    let empty_tree_id = worktree.repo.empty_tree_id();
    let head_tree_id = base.commit_id().map_or(Ok(empty_tree_id), |id| worktree.repo.tree_of_commit(id))?;
    let staged = worktree.repo.staged_changes(head_tree_id)?;
    if saving.is_none() && !moved_out::may_be_any(worktree, base, &staged)? {
        return Ok(());
    }
    // Git has another index for this commit, which is not the user's.
    let repo = Repo::open(worktree.repo.worktree_root())?;
    if repo.git_dir().canonicalize().ok() != worktree.repo.git_dir().canonicalize().ok() {
        return Ok(());
    }
    let at_root = worktree.with_repo(repo);
    let worktree = worktree.with_context(&at_root);
    worktree.catch_up(Purpose::CommitBegins)?;
    // A failure must not prevent the save of what is known to be a session's.
    let warn = |error| tracing::warn!(%error, "cannot find out whether lines were moved");
    let session = saving.as_ref().and_then(agents::Saving::session);
    let to_save = || moved_out::to_save(&worktree, &staged, session).map_err(warn).unwrap_or_default();
    let moved = if is_unknown { None } else { to_save() };
    let saving = saving.or_else(|| moved.is_some().then(agents::Saving::default));
    let scope = moved.map_or(Scope::Staged(staged), Scope::PathsIfThere);
    saving.map_or(Ok(()), |saving| agents::save_before_commit(&worktree, saving, scope))
}

/// Notes what is promised to a commit of the index on `head` (or replacing `amended`); returns the records for its
/// trailers.
fn promise(
    context: &Context,
    head: Option<ObjectId>,
    amended: Option<ObjectId>,
    source: Option<&str>,
    promised: Option<RecordId>,
    note: &mut CommitNote,
) -> Result<Vec<RecordId>> {
    let repo = &context.repo;
    let (mut ids, mut others) = (Vec::new(), Vec::new());
    let named = amended.map_or_else(|| Ok(Vec::new()), |head| evidence::named_by(repo, head))?;
    if let Some(head) = amended {
        for id in evidence::of_commit(repo, head)? {
            // A person's commit may have a record, and needs no trailer.
            let is_of_person = || {
                let record = evidence::find(repo, &id).ok().flatten();
                record.is_some_and(|record| record.sessions.is_empty() && record.counts.are_of_person())
            };
            if (named.contains(&id) || !is_of_person()) && !is_undone(repo, &id, head, Amended::Staged)? {
                ids.push(id);
            }
        }
    }
    if !repo.is_merging() {
        let mut squashed = rewrite::squashed_commits(context)?;
        // With another message, what it lists may have been given up.
        if source != Some("squash") && !recorded::is_any_staged(context, head, &squashed)? {
            squashed.clear();
        }
        for commit in &squashed {
            others.extend(evidence::of_commit(repo, *commit)?);
        }
        note.squashed = squashed.iter().map(ToString::to_string).collect();
        let parts = recorded::parts_brought(repo, head, None, &others)?;
        others.retain(|id| parts.get(id).is_none_or(|files| !files.is_empty()));
        note.set_parts(&parts);
        if squashed.is_empty() {
            let again = recorded::records_again(context, head)?;
            note.reused = again.certain.iter().map(ToString::to_string).collect();
            note.set_parts(&again.parts);
            note.doubtful = again.perhaps.iter().map(ToString::to_string).collect();
            others.extend(again.certain);
        } else {
            others.extend(reuse_of_sides(context, head, &squashed, note)?);
        }
    }
    if condense::holds_work(context, Base::of_head(head), &others)? {
        let id = promised.unwrap_or_else(RecordId::random);
        note.reserved = Some(id.to_string());
        ids.push(id);
    }
    ids.extend(others);
    let mut seen = BTreeSet::new();
    ids.retain(|id| seen.insert(*id));
    evidence::without_own_whole(repo, ids, &named)
}

/// Notes the records of what a conflict has brought from `sides`, the commits that git copies or squashes, and returns them.
fn reuse_of_sides(
    context: &Context,
    head: Option<ObjectId>,
    sides: &[ObjectId],
    note: &mut CommitNote,
) -> Result<Vec<RecordId>> {
    let found = recorded::records_of_sides(&context.repo, head, None, sides)?;
    note.reused = found.certain.iter().map(ToString::to_string).collect();
    let mut parts = note.parts();
    parts.extend(found.parts);
    note.set_parts(&parts);
    Ok(found.certain)
}

/// Takes trailers out of a message that was copied (`git commit -C`) or is amended, if nothing of the records that they
/// name is staged: all but `ids`.
fn drop_copied_trailers(
    context: &Context,
    message_file: &Path,
    head: Option<ObjectId>,
    amended: Option<ObjectId>,
    ids: &[RecordId],
) -> Result<()> {
    let repo = &context.repo;
    if !may_have_trailer(message_file)? {
        return Ok(());
    }
    let text = read_message(message_file)?;
    // That is the message that another commit is to get.
    if text.starts_with(b"amend! ") {
        return Ok(());
    }
    // An amending commit has the parent of the amended one.
    let stands_on = match amended {
        Some(amended) => repo.parents_of(amended)?.first().copied(),
        None => head,
    };
    let mut copied = Vec::new();
    for id in ids_in_message(&text).into_iter().filter(|id| !ids.contains(id)) {
        // Leave the trailers of records that this repository does not have.
        let is_known = evidence::find(repo, &id).ok().flatten().is_some();
        if is_known && !recorded::is_staged(context, stands_on, &id)? {
            copied.push(id);
        }
    }
    remove_trailers(repo, message_file, &copied)
}

fn remove_trailers(repo: &Repo, message_file: &Path, ids: &[RecordId]) -> Result<()> {
    let ids: Vec<&str> = ids.iter().map(RecordId::as_str).collect();
    if ids.is_empty() { Ok(()) } else { repo.remove_trailers(message_file, &ids) }
}

/// Brings the checkpoints up to date with the commit that was just made: git's post-commit.
pub(crate) fn committed(context: &Context) -> Result<()> {
    Worktree::enter(context, Purpose::CommitMade).map(drop)
}

/// Brings the checkpoints up to date when a hook of git reports that HEAD has moved.
pub(crate) fn head_moved(context: &Context) -> Result<()> {
    context.emit_failure("follow", Worktree::enter(context, Purpose::Change).map(drop))
}

/// Keeps the authors of commits that git has rewritten: its post-rewrite.
pub(crate) fn rewritten(context: &Context, how: &str, pairs: &[(ObjectId, ObjectId)]) -> Result<()> {
    rewrite::rewritten(context, how, pairs)?;
    condense::records_of_rewritten(context, how, pairs)?;
    head_moved(context)
}
