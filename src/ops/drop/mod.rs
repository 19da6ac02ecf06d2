//! Takes checkpoints out of their chains. Those after them stay, each with its files.
//!
//! What a dropped checkpoint changed counts to the next one. If that would change the author of a line, nothing is dropped.

mod authors;
mod gone;
mod last;

use std::collections::HashSet;

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;
use serde::Serialize;

use super::{
    Context, Worktree,
    called::called,
    chain::{peek::worktree_tree, shadows},
    enter::Purpose,
    lookup,
    replace::{Copier, Finished, Replaced, follow, ref_moves, refuse_if_needed, updates, worktree_of},
    session_info::{lasting_turns, turns_at_work},
};
use crate::{
    error::{Error, Result},
    git::{Repo, notes::NoteFate},
    model::{
        checkpoint::Checkpoint,
        event::Event,
        id_text, moment, path_text,
        refname::{self, Base},
    },
    state::{
        failpoint,
        journal::{Journal, Progress},
    },
};

pub use super::replace::RefMove;

/// Which checkpoints to drop, and how.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The checkpoints, as [`lookup::resolve`] has them.
    pub targets: Vec<String>,
    /// Drop them without asking.
    pub force: bool,
    /// Only report what would happen.
    pub dry_run: bool,
}

/// A checkpoint that is dropped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DroppedCheckpoint {
    /// Its id.
    #[serde(serialize_with = "id_text::serialize")]
    pub id: ObjectId,
    /// Its subject.
    pub subject: String,
    /// What people call it.
    #[serde(skip)]
    pub called: String,
    /// When it was taken, in ISO 8601.
    pub time: String,
    /// True if it has a note, which goes with it.
    pub noted: bool,
}

/// The result. Serializes to what `drop --json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DropDone {
    /// The version of the JSON format.
    pub version: u32,
    /// The checkpoints, in the order in which they were named.
    pub dropped: Vec<DroppedCheckpoint>,
    /// How many others were written anew because they came after one of these.
    pub rewritten: usize,
    /// The refs that moved.
    pub refs: Vec<RefMove>,
    /// The paths whose content is gone: nothing else has it.
    #[serde(serialize_with = "path_text::serialize_list")]
    pub lost: Vec<BString>,
    /// True if nothing was done.
    pub dry_run: bool,
}

impl DropDone {
    /// Returns true if nothing is lost, or no more than the user has `agreed` to.
    fn is_agreed(&self, agreed: Option<&Self>) -> bool {
        let is_known = |path| agreed.is_some_and(|agreed| agreed.lost.contains(path));
        self.lost.iter().all(is_known)
    }
}

/// Drops checkpoints. If something would be lost for good, asks `ask` first, unless `options` say to force it.
///
/// # Errors
/// [`Kind::User`](crate::error::Kind::User) if a target is no checkpoint; [`Kind::Refused`](crate::error::Kind::Refused) if the
/// answer is no, if another worktree or an open turn needs one of them, or if lines would get another author.
pub fn drop_checkpoints(
    context: &Context,
    options: &Options,
    ask: &mut dyn FnMut(&DropDone) -> Result<bool>,
) -> Result<DropDone> {
    context.emit_failure("drop", try_drop(context, options, ask))
}

/// How far a drop came.
pub(super) enum Step {
    /// To its end.
    Done(DropDone),
    /// To the question whether that may be done.
    Question(DropDone),
}

fn try_drop(context: &Context, options: &Options, ask: &mut dyn FnMut(&DropDone) -> Result<bool>) -> Result<DropDone> {
    context.repo.refuse_other_index()?;
    context.repo.name_operation("drop");
    let (mut options, mut agreed) = (options.clone(), None);
    loop {
        // No lock is held during the question, so that other processes do not wait for the answer.
        let worktree = Worktree::enter(context, Purpose::unless_dry(options.dry_run))?;
        let step = drop_in(&worktree, &options, agreed.as_ref())?;
        drop(worktree);
        match step {
            Step::Done(done) => return Ok(done),
            Step::Question(plan) => {
                if !ask(&plan)? {
                    return Err(Error::refused("nothing was dropped").with_hint("'--force' drops them all the same"));
                }
                // A name such as `@{0}` may be that of another one by now.
                options.targets = plan.dropped.iter().map(|it| it.id.to_string()).collect();
                agreed = Some(plan);
            }
        }
    }
}

/// Does the same under a lock that the caller holds. The user has `agreed` to that.
pub(super) fn drop_in(worktree: &Worktree<'_>, options: &Options, agreed: Option<&DropDone>) -> Result<Step> {
    let repo = &worktree.repo;
    let journal = Journal::read(repo.git_dir())?;
    if journal.as_ref().is_some_and(|journal| journal.progress == Progress::Applying) {
        return Err(Error::refused("an earlier restore was interrupted")
            .with_hint("'git checkpoint restore --continue' finishes it, 'git checkpoint undo' reverses it"));
    }
    let targets = targets(worktree, &options.targets)?;
    let left_out: HashSet<ObjectId> = targets.iter().map(|target| target.id).collect();
    let mut copier = Copier::new(repo, &left_out);
    let refs = ref_moves(repo, &mut copier)?;
    if let Some(target) = targets.iter().find(|target| copier.known(target.id).is_none()) {
        return Err(Error::user(format!(
            "no ref leads to the checkpoint '{}': it is dropped already",
            repo.short_id(&target.id)
        ))
        .with_hint("'git gc' removes it in due time"));
    }
    refuse_in_use(worktree, &copier, &refs)?;
    let lost = loses(worktree, &left_out, &refs)?;
    let notes = repo.readable_notes()?;
    let dropped = targets.into_iter().map(|it| DroppedCheckpoint {
        id: it.id,
        noted: notes.as_ref().is_some_and(|notes| notes.blob(&it.id).is_some()),
        time: moment::iso(it.seconds, it.offset),
        called: called(repo, &it),
        subject: it.subject,
    });
    let (dropped, rewritten, dry_run) = (dropped.collect(), copier.copies.len(), options.dry_run);
    let plan = DropDone { version: 1, dropped, rewritten, refs, lost, dry_run };
    if options.dry_run {
        return Ok(Step::Done(plan));
    }
    if !options.force && !plan.is_agreed(agreed) {
        return Ok(Step::Question(plan));
    }
    carry_out(worktree, copier, &plan)?;
    Ok(Step::Done(plan))
}

fn carry_out(worktree: &Worktree<'_>, copier: Copier<'_, '_>, plan: &DropDone) -> Result<()> {
    let Finished { replaced, mut objects, .. } = copier.finish();
    let mut updates = updates(&plan.refs);
    if let Some(mut notes) = worktree.repo.readable_notes()? {
        let fate = |id| replaced.get(&id).map_or(NoteFate::Stays, |replaced| replaced.note_fate(id));
        notes.carry(fate, &mut objects)?;
        updates.extend(notes.update());
    }
    let written = objects.write()?;
    // First the files: once the refs have moved, git may collect what these named before.
    follow(worktree, &|id| replaced.get(&id).copied())?;
    failpoint::hit("drop:before-refs");
    worktree.repo.update_refs(&updates)?;
    failpoint::hit("drop:after-refs");
    written.check_and_release()?;
    let ids = plan.dropped.iter().map(|it| it.id.to_string()).collect();
    worktree.emit(&Event::Drop { ids, rewritten: plan.rewritten });
    Ok(())
}

/// Returns the checkpoints that `texts` name, each once: of this worktree, or of one that is gone for good.
pub(super) fn targets(context: &Context, texts: &[String]) -> Result<Vec<Checkpoint>> {
    let mut targets: Vec<Checkpoint> = Vec::new();
    for text in texts {
        let id = lookup::resolve(context, text)?;
        let checkpoint = match context.repo.find_checkpoint(id) {
            Ok(None) if context.repo.can_read(id) => {
                return Err(lookup::is_a_commit(&path_text::printable(text.as_str().into())));
            }
            _ => lookup::checkpoint(context, id)?,
        };
        if checkpoint.worktree != context.repo.worktree_id() {
            gone::refuse_of_another(context, checkpoint.worktree.as_bstr(), &id.to_string())?;
        }
        if targets.iter().all(|target| target.id != id) {
            targets.push(checkpoint);
        }
    }
    Ok(targets)
}

/// Refuses to change what an open turn or another worktree needs.
fn refuse_in_use(worktree: &Worktree<'_>, copier: &Copier<'_, '_>, refs: &[RefMove]) -> Result<()> {
    let repo = &worktree.repo;
    let of_worktree = |moved: &RefMove| worktree_of(&moved.r#ref);
    for other in refs.iter().filter_map(of_worktree).filter(|other| other != repo.worktree_id()) {
        if gone::is_gone(worktree, other.as_bstr())? {
            continue;
        }
        let other = path_text::printable(other.as_bstr());
        return Err(Error::refused(format!("checkpoints of the worktree '{other}' build on it"))
            .with_hint("'git checkpoint list --all-worktrees' shows them"));
    }
    let own = Journal::read(repo.git_dir())?;
    let is_own = |id: &ObjectId| own.as_ref().is_some_and(|own| [own.target, own.pre_restore].contains(id));
    if let Some(id) = repo.needed_to_undo()?.iter().find(|id| copier.changes(**id) && !is_own(id)) {
        return Err(Error::refused(format!("another worktree needs '{id}' to undo its last restore"))
            .with_hint("'git checkpoint undo' there first, or restore another checkpoint there"));
    }
    let is_live = |moved: &RefMove| [refname::SHADOWS, refname::PENDING].iter().any(|it| moved.r#ref.starts_with(it));
    // What only the last checkpoint has is saved nowhere then, and would count as the session's.
    let latest = shadows::latest_on(repo, Base::of_head(repo.head()?.id))?;
    let is_unsaved = latest.is_some_and(|it| matches!(copier.known(it.id), Some(Replaced::LeftOut { .. })));
    let open = if is_unsaved { lasting_turns(worktree)? } else { turns_at_work(worktree)? };
    match open.first() {
        Some(session) if refs.iter().any(is_live) => {
            Err(Error::refused(format!("the session '{}' has a turn under way", session.id))
                .with_hint(format!("'git checkpoint session stop {}' ends it", path_text::shell_word(&session.id))))
        }
        _ => Ok(()),
    }
}

/// Returns the paths whose content is lost without the checkpoints `left_out`.
///
/// # Errors
/// If lines would get another author.
fn loses(worktree: &Worktree<'_>, left_out: &HashSet<ObjectId>, refs: &[RefMove]) -> Result<Vec<BString>> {
    let seen = worktree_tree(worktree)?;
    let repo = &seen.repo;
    // The same copies again, beside the tree of the worktree.
    let mut copier = Copier::new(repo, left_out);
    ref_moves(repo, &mut copier)?;
    let live = shadows::latest_on(repo, Base::of_head(repo.head()?.id))?;
    let live = live.filter(|live| copier.changes(live.id)).map(|live| (live.id, seen.tree_id));
    if let Some(mixed) = authors::mixed(repo, &copier, left_out, live)? {
        return Err(would_mix(repo, &mixed));
    }
    refuse_if_needed(worktree, &copier.objects.in_memory(), left_out, copier.copies.values().copied())?;
    Ok(last::only_there(repo, left_out, refs, seen.tree_id)?.into_iter().collect())
}

fn would_mix(repo: &Repo, mixed: &authors::Mixed) -> Error {
    let path = path_text::printable(mixed.path.as_bstr());
    let subject = |id: ObjectId| {
        repo.checkpoint(id).ok().flatten().map(|it| path_text::printable(called(repo, &it).as_str().into()))
    };
    let (place, hint) = match mixed.checkpoint {
        Some(id) => (
            format!("the checkpoint {} '{}'", repo.short_id(&id), subject(id).unwrap_or_default()),
            "drop it together with those after it, or let 'git checkpoint prune' drop all of them from the archive, where \
             'git checkpoint reset' puts those that are not there yet; 'git checkpoint purge' removes a text or a file from \
             all checkpoints",
        ),
        None => ("the worktree".to_owned(), "commit them, or put an earlier state back with 'git checkpoint restore'"),
    };
    Error::refused(format!("without it, lines of '{path}' in {place} would count as the work of another author"))
        .with_hint(hint)
        .about(mixed.path.clone())
}
