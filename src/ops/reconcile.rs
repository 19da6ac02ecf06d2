//! Brings records and shadows up to date with HEAD: reads how it moved, plans the effects, and applies them.
//!
//! Hooks of git only decide when this runs. Commits by programs that run no hooks get the same records, without trailers.

use std::collections::BTreeMap;

use gix::ObjectId;

use super::{
    Context, Worktree, author,
    chain::carry_forward::Rest,
    condense::{self, Candidate, Made},
    known_base::{known_head, note_base},
    provenance::recorded,
    rewrite,
};
use crate::{
    error::{Kind, Result},
    git::{Repo, patch_id::PatchIds},
    model::{
        head_move::{HeadMove, LogEnd, MoveKind},
        reconcile::{Effect, plan},
        record::{RecordId, ids_in_message},
        refname::Base,
    },
    state::{
        commit_note::{CommitNote, Prepared},
        failpoint,
    },
};

/// Condenses the commits that moved HEAD since we last looked, and links those that repeat recorded work. Never scans the
/// worktree: it looks only at files in which HEAD and the last checkpoint differ. For moves of HEAD after the last commit that
/// took work, [`follow`](super::follow) carries the work forward.
///
/// If one command both changed files and committed them without our hooks, the changes are the committer's, or unknown if an agent
/// may have run it.
///
/// Runs once while `worktree` is locked; returns where the reflog ends.
pub(crate) fn reconcile(worktree: &Worktree<'_>) -> Result<Option<LogEnd>> {
    if let Some(end) = worktree.reconciled_up_to() {
        return Ok(*end);
    }
    let end = reconcile_with(worktree, None)?;
    worktree.note_reconciled(end);
    Ok(end)
}

/// Does the same as [`reconcile`], but emits a failure instead of returning it.
///
/// # Errors
/// If the user interrupts it.
pub(crate) fn try_reconcile(worktree: &Worktree<'_>) -> Result<()> {
    let reconciled = reconcile(worktree);
    if reconciled.is_err() {
        worktree.check_interrupt()?;
    }
    worktree.emit_failure("condense", reconciled.map(drop)).or(Ok(()))
}

/// Reconciles when git reports that it has just made the commit at HEAD. A new or amended commit counts as taking work even if
/// it takes none, so that the work on its base is carried forward to it at once.
pub(crate) fn commit_made(worktree: &Worktree<'_>) -> Result<()> {
    reconcile_with(worktree, worktree.repo.head()?.id).map(drop)
}

/// Reconciles before a commit is prepared, if the commits that we have not seen yet may take work. If not, they are
/// reconciled together with this commit.
pub(crate) fn before_commit(worktree: &Worktree<'_>) -> Result<()> {
    let repo = &worktree.repo;
    let now = (Base::of_head(repo.head()?.id), repo.head_log_end());
    let Some(known) = known_head(worktree).filter(|known| *known != now) else { return Ok(()) };
    if !Prepared::is_there(repo.git_dir()) && !condense::has_work_on(repo, known.0)? {
        return Ok(());
    }
    reconcile(worktree).map(drop)
}

fn reconcile_with(worktree: &Worktree<'_>, reported: Option<ObjectId>) -> Result<Option<LogEnd>> {
    let repo = &worktree.repo;
    let log_end = repo.head_log_end();
    // On an unborn branch, only the reflog still names the last commit that HEAD was at.
    let Some(head) = repo.head()?.id.or_else(|| repo.last_head()) else { return Ok(log_end) };
    if !repo.is_commit(head)? {
        return Ok(log_end);
    }
    let before = reported.map(|commit| head_before(repo, commit)).transpose()?;
    let Some(known) = known_head(worktree).or(before.map(|before| (before, None))) else { return Ok(log_end) };
    let prepared = worktree.prepared()?;
    let now = Base::of_head(repo.head()?.id);
    if known == (now, log_end) && prepared.commits.is_empty() {
        return Ok(log_end);
    }
    let mut patch_id =
        reported.zip(before).and_then(|(commit, before)| patch_id_beside(repo, commit, before, &prepared));
    let (mut moves, log_end) = repo.head_moves(known, head)?;
    // What git has just reported was made now, whatever date was set.
    moves.iter_mut().filter(|moved| Some(moved.to) == reported).for_each(|moved| moved.seconds = None);
    if reported.is_none() {
        let of_commands = moves_of_commands(worktree, &moves)?;
        // If each move is a commit of an open command, the work in these commits is still in the shadow on the known base:
        // nothing has carried it forward yet.
        let is_on_known_base = of_commands.len() == moves.len() && moves.iter().all(|moved| moved.kind.is_by_hand());
        for moved in of_commands {
            take_unseen(worktree, moved, &prepared, is_on_known_base.then_some(known.0))?;
        }
    }
    let mut judge = Judge {
        worktree,
        known: known.0,
        prepared: &prepared,
        reported,
        shadows: BTreeMap::new(),
        aside: None,
        is_in_rebase: false,
    };
    let takes_work = moves.iter().map(|moved| judge.takes_work(moved)).collect::<Result<Vec<bool>>>()?;
    let now = now.to_string();
    let mut done: Vec<CommitNote> = prepared.commits.iter().filter(|note| note.head != now).cloned().collect();
    for effect in plan(&moves, &takes_work) {
        worktree.check_interrupt()?;
        apply(worktree, effect, &prepared, &mut patch_id, &mut done)?;
    }
    if !done.is_empty() {
        failpoint::hit("condense:before-note");
        // Another commit may have been prepared since.
        let mut left = Prepared::read(repo.git_dir())?;
        left.commits.retain(|note| !done.contains(note));
        worktree.write_prepared(&left)?;
    }
    Ok(log_end)
}

/// Returns those of `moves` that agents may have made in their turns: the moves since HEAD was where the first of their open
/// commands found it, or all if an agent reports no tools.
fn moves_of_commands<'m>(context: &Context, moves: &'m [HeadMove]) -> Result<&'m [HeadMove]> {
    if author::is_any_silent(context)? {
        return Ok(moves);
    }
    let turns = context.turns();
    let in_turn = turns.entries.iter().filter(|entry| entry.turn.is_some());
    let commands = in_turn.flat_map(|entry| &entry.calls).filter(|call| call.paths.is_none());
    let starts = commands.filter_map(|call| Some(call.start.as_ref()?.head.as_deref()));
    let from = starts.map(|head| {
        let is_it = |base: Base| base.commit_id().map(|id| id.to_string()).as_deref() == head;
        // If HEAD has not moved there since we last looked, the command may have made all moves.
        moves.iter().rposition(|moved| is_it(Base::Commit(moved.to))).map_or(0, |at| at + 1)
    });
    Ok(from.min().map_or(&[], |from| &moves[from..]))
}

/// If a command made the commit of `moved` without our hooks, adds a checkpoint of the commit's changes to the shadow on `base`;
/// by default, to the shadow on the commit's own base: its parent, or the commit that it amends.
fn take_unseen(worktree: &Worktree<'_>, moved: &HeadMove, prepared: &Prepared, base: Option<Base>) -> Result<()> {
    let is_unseen = moved.kind.makes_commit() && moved.from != Base::Commit(moved.to);
    if !is_unseen || prepared.on(&moved.from.to_string()).is_some() || !worktree.repo.is_commit(moved.to)? {
        return Ok(());
    }
    let made = Made::by(&worktree.repo, moved)?;
    if !moved.kind.is_by_hand() && !condense::has_met_conflict(&worktree.repo, &made)? {
        return Ok(());
    }
    if condense::record_of(worktree, moved.to)?.is_some() {
        return Ok(());
    }
    condense::take_unseen(worktree, &made, base.unwrap_or(made.base))
}

/// Returns where HEAD was before `commit`.
fn head_before(repo: &Repo, commit: ObjectId) -> Result<Base> {
    match repo.head_before(commit) {
        Some(before) => Ok(before),
        None => Ok(Base::of_head(repo.parents_of(commit)?.first().copied())),
    }
}

/// Starts computing the patch id of `commit`, made on `before`, if a record is reserved for it: git computes it while we look for
/// the work that the commit took.
fn patch_id_beside(repo: &Repo, commit: ObjectId, before: Base, prepared: &Prepared) -> Option<(ObjectId, PatchIds)> {
    prepared.on(&before.to_string())?.reserved.as_ref()?;
    // If this fails, the code that needs the patch id tries again.
    repo.start_patch_ids(&[commit]).ok().map(|started| (commit, started))
}

/// Carries out `effect`. `patch_id` names the commit whose patch id git computes meanwhile. Adds to `done` the entries of
/// `commit.toml` for the commits that are condensed or linked now: these can be removed.
fn apply(
    worktree: &Worktree<'_>,
    effect: Effect,
    prepared: &Prepared,
    patch_id: &mut Option<(ObjectId, PatchIds)>,
    done: &mut Vec<CommitNote>,
) -> Result<()> {
    match effect {
        Effect::Condense(moved) | Effect::Link(moved) => {
            let made = Made::by(&worktree.repo, &moved)?;
            let note = note_of(worktree, &made, &moved, prepared)?;
            emit_if_damaged(worktree, condense::link_existing(worktree, &made, &note))?;
            if matches!(effect, Effect::Condense(_)) {
                let started = patch_id.take_if(|(commit, _)| *commit == made.commit).map(|(_, started)| started);
                condense::condense(worktree, &made, &note, started)?;
            }
            done.push(note);
        }
        Effect::LinkRewritten(rewrite) => emit_if_damaged(worktree, rewrite::link_unreported(worktree, &rewrite))?,
        Effect::CarryForward(from, to) => condense::carry_forward(worktree, from, to, Rest::Stays)?,
        Effect::Note(head, end) => {
            failpoint::hit("condense:before-base");
            note_base(worktree, Base::Commit(head), end)?;
        }
    }
    Ok(())
}

/// Emits an error about a missing or damaged object instead of returning it: the record is still made, without the link.
fn emit_if_damaged(worktree: &Worktree<'_>, result: Result<()>) -> Result<()> {
    match result {
        Err(error) if error.kind() == Kind::Corrupt => worktree.emit_failure("condense", Err(error)).or(Ok(())),
        result => result,
    }
}

/// Returns the entry of `commit.toml` that a hook wrote for the commit of `moved`. Without one, returns a new entry with the
/// records whose work the commit repeats.
fn note_of(worktree: &Worktree<'_>, made: &Made, moved: &HeadMove, prepared: &Prepared) -> Result<CommitNote> {
    let repo = &worktree.repo;
    let named = ids_in_message(repo.message_of(made.commit)?.as_bytes());
    let is_named = |note: &&CommitNote| note.reserved_id().is_some_and(|id| named.contains(&id));
    // A commit that names another record than the reserved one is not the one that was prepared.
    let may_be = |note: &&CommitNote| named.is_empty() || note.reserved.is_none();
    // When git copies a commit by itself, hooks write an entry only for a cherry-pick, and set `copied`. An entry without
    // `copied` is left over from a `git commit` that the user aborted.
    let is_prepared = |note: &&CommitNote| made.kind.is_by_hand() || note.copied.is_some();
    let on_head = || prepared.on(&moved.from.to_string()).filter(may_be).filter(is_prepared);
    if let Some(note) = prepared.commits.iter().find(is_named).or_else(on_head) {
        return Ok(note.clone());
    }
    let mut note = CommitNote { head: moved.from.to_string(), ..CommitNote::default() };
    if repo.parents_of(made.commit)?.len() < 2 {
        let reused = recorded::records_again_in(worktree, made.base.commit_id(), made.commit);
        let noted = reused.map(|ids| note.reused = ids.iter().map(ToString::to_string).collect());
        emit_if_damaged(worktree, noted)?;
    }
    Ok(note)
}

/// Decides whether commits take work of shadows.
struct Judge<'w, 'c> {
    worktree: &'w Worktree<'c>,
    /// Where HEAD was when we last looked.
    known: Base,
    prepared: &'w Prepared,
    /// The commit that git has just reported.
    reported: Option<ObjectId>,
    /// The live shadows on each base. The list of the known base, and each list in a rebase, also has the waiting shadows:
    /// archived ones, and live ones elsewhere, whose work is in no record yet.
    shadows: BTreeMap<Base, Vec<Candidate>>,
    /// The shadows for commits on other bases than the known one. Here, the shadow on the known base is a waiting one: its
    /// files are also found under new names. Read for the first such commit, and used for all.
    aside: Option<Vec<Candidate>>,
    is_in_rebase: bool,
}

impl Judge<'_, '_> {
    /// Returns true if `moved` made a commit to condense: it takes work, it names the record reserved for it, git has just
    /// reported it, or an earlier run has begun to condense it.
    fn takes_work(&mut self, moved: &HeadMove) -> Result<bool> {
        self.worktree.check_interrupt()?;
        match moved.kind {
            MoveKind::RebaseStart => self.is_in_rebase = true,
            MoveKind::RebaseEnd => self.is_in_rebase = false,
            _ => {}
        }
        if moved.from == Base::Commit(moved.to) || !moved.kind.makes_commit() && moved.kind != MoveKind::Reset {
            return Ok(false);
        }
        if self.names_reserved(moved.to)? {
            return Ok(true);
        }
        // A resolved cherry-pick that git has just reported is condensed even if it takes no work: this run removes its entry in
        // `commit.toml`, without which a later run would judge it wrongly.
        if moved.kind == MoveKind::Resolved && self.reported == Some(moved.to) {
            return Ok(true);
        }
        // A commit that is not made by hand is made from existing ones: its only new work is a session's conflict resolution.
        if !moved.kind.is_by_hand() {
            let note = self.prepared.on(&moved.from.to_string());
            let copied = note.and_then(|note| ObjectId::from_hex(note.copied.as_ref()?.as_bytes()).ok());
            let repo = &self.worktree.repo;
            return condense::takes_resolution(repo, &Made::by(repo, moved)?, copied);
        }
        // If the commit has a record, an earlier run has begun to condense it.
        if self.reported == Some(moved.to) || condense::record_of(self.worktree, moved.to)?.is_some() {
            return Ok(true);
        }
        let made = Made::by(&self.worktree.repo, moved)?;
        let changes = made.changes(&self.worktree.repo)?;
        // The work on the known base counts as well, because the plan first carries it forward to this commit's parent; not in a
        // rebase, which leaves that work where it is.
        let known = Some(self.known).filter(|known| *known != made.base && !self.is_in_rebase);
        for base in [Some(made.base), known].into_iter().flatten() {
            let repo = &self.worktree.repo;
            if condense::hold_work(repo, self.shadows_on(base)?, &changes, made.seconds)? {
                return Ok(true);
            }
        }
        if known.is_none() {
            return Ok(false);
        }
        // What moved HEAD away from the known base may have renamed the files with the work.
        let repo = &self.worktree.repo;
        if self.aside.is_none() {
            self.aside = Some(condense::candidates(repo, made.base, true)?);
        }
        condense::hold_work(repo, self.aside.as_deref().unwrap_or_default(), &changes, made.seconds)
    }

    fn names_reserved(&self, commit: ObjectId) -> Result<bool> {
        let reserved: Vec<RecordId> = self.prepared.commits.iter().filter_map(CommitNote::reserved_id).collect();
        if reserved.is_empty() || !self.worktree.repo.is_commit(commit)? {
            return Ok(false);
        }
        let named = ids_in_message(self.worktree.repo.message_of(commit)?.as_bytes());
        Ok(reserved.iter().any(|id| named.contains(id)))
    }

    fn shadows_on(&mut self, base: Base) -> Result<&[Candidate]> {
        if !self.shadows.contains_key(&base) {
            // One list with the waiting shadows is enough: usually that of the known base. In a rebase we never ask for that one,
            // so each list has them.
            let with_waiting = base == self.known || self.is_in_rebase;
            self.shadows.insert(base, condense::candidates(&self.worktree.repo, base, with_waiting)?);
        }
        Ok(&self.shadows[&base])
    }
}
