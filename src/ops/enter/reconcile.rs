//! Brings the records up to date with HEAD: finds the commits that have moved HEAD since the last look, and makes a record of
//! each one that took work of sessions.
//!
//! [`reconcile`] reads from the reflog how HEAD has moved, lets `model::reconcile` plan the effects, and applies them: it makes
//! records, links commits to them, and carries the rest of the shadows forward to the commits. When git's hooks enter, they call
//! [`before_commit`] and [`commit_made`] instead.
//!
//! The hooks only decide when this runs. A commit of a program that runs no hooks gets the same record, but no trailer. Each
//! effect can be repeated: after a crash, the next command applies what is left.

use std::collections::BTreeMap;

use gix::ObjectId;

use crate::{
    error::{Kind, Result},
    git::{Repo, patch_id::PatchIds},
    model::{
        head_move::{HeadMove, LogEnd, MoveKind},
        reconcile::{Effect, plan},
        record::{RecordId, ids_in_message},
        refname::Base,
    },
    ops::{
        Context, Worktree,
        arrived::links_of_arrived,
        author,
        chain::carry_forward::Rest,
        condense::{self, Candidate, Made},
        known_base::{known_head, note_base},
        provenance::recorded,
        records::{self, Additions},
        rewrite,
    },
    state::{
        commit_note::{CommitNote, Prepared},
        failpoint,
    },
};

/// Condenses the commits that have moved HEAD since the last look: makes a record of the sessions' work that each one took. Links
/// a commit that repeats recorded work to the record. Returns where the reflog ends.
///
/// Never scans the worktree: it looks only at files in which HEAD and the last checkpoint differ. Carries work forward only as
/// far as the last commit that took work. If HEAD has moved on since, `follow` carries the work on to HEAD.
///
/// A program may change files and commit them without our hooks. If no save came in between, the author of these changes is the
/// committer, or unknown if an agent may have run the program.
pub(super) fn reconcile(worktree: &Worktree<'_>) -> Result<Option<LogEnd>> {
    reconcile_with(worktree, None)
}

/// Reconciles when a hook of git reports that git has just made the commit at HEAD. Condenses a new or amended commit, or a
/// resolved cherry-pick, even if it takes no work. So the work on the base of the commit is carried forward to it at once.
pub(super) fn commit_made(worktree: &Worktree<'_>) -> Result<()> {
    reconcile_with(worktree, worktree.repo.head()?.id).map(drop)
}

/// Reconciles before git prepares a commit, if commits that we have not seen yet may take work. Otherwise, they wait and are
/// reconciled together with the new commit.
pub(super) fn before_commit(worktree: &Worktree<'_>) -> Result<()> {
    let repo = &worktree.repo;
    let now = (Base::of_head(repo.head()?.id), repo.head_log_end());
    let Some(known) = known_head(worktree).filter(|known| *known != now) else { return Ok(()) };
    if !Prepared::is_there(repo.git_dir()) && !condense::has_work_on(repo, known.0)? {
        return Ok(());
    }
    reconcile(worktree).map(drop)
}

/// Reconciles; `reported` is the commit at HEAD if git has just reported it.
fn reconcile_with(worktree: &Worktree<'_>, reported: Option<ObjectId>) -> Result<Option<LogEnd>> {
    let repo = &worktree.repo;
    let log_end = repo.head_log_end();
    // On an unborn branch (`git switch --orphan`), only the reflog still names the last commit that HEAD was at.
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
    let linked = link_arrived(worktree, known, &moves);
    // The rest must not wait for that: 'ci relink' and 'doctor --relink' look again.
    worktree.check_interrupt()?;
    worktree.emit_failure("relink", linked).unwrap_or_default();
    // Git has just made the commit that it reports. The user may have set another date for it: ignore the date in the reflog.
    moves.iter_mut().filter(|moved| Some(moved.to) == reported).for_each(|moved| moved.when = None);
    if reported.is_none() {
        let of_commands = moves_of_commands(worktree, &moves)?;
        // If open commands may have made all moves, and all moves are plain commits, the work that these commits take is still in
        // the shadow on the known base. So the checkpoints of their changes go to that shadow, too.
        let is_on_known_base =
            of_commands.len() == moves.len() && moves.iter().all(|moved| moved.kind.is_plain_commit());
        for moved in of_commands {
            checkpoint_if_unseen(worktree, moved, &prepared, is_on_known_base.then_some(known.0))?;
        }
    }
    let mut judge = Judge {
        worktree,
        known: known.0,
        prepared: &prepared,
        reported,
        candidates: BTreeMap::new(),
        for_other_bases: None,
        is_in_rebase: false,
    };
    let takes_work = moves.iter().map(|moved| judge.takes_work(moved)).collect::<Result<Vec<bool>>>()?;
    let now = now.to_string();
    // If an entry of `commit.toml` names another HEAD, its commit was made, or the user gave it up: remove the entry.
    let mut done: Vec<CommitNote> = prepared.commits.iter().filter(|note| note.head != now).cloned().collect();
    for effect in plan(&moves, &takes_work) {
        worktree.check_interrupt()?;
        apply(worktree, effect, &prepared, reported, &mut patch_id, &mut done)?;
    }
    if !done.is_empty() {
        failpoint::hit("condense:before-note");
        // Hooks may have prepared another commit meanwhile: read the file again.
        let mut remaining = Prepared::read(repo.git_dir())?;
        remaining.commits.retain(|note| !done.contains(note));
        worktree.write_prepared(&remaining)?;
    }
    Ok(log_end)
}

/// Links the commits that `moves` have brought from elsewhere to the records whose work they have.
fn link_arrived(worktree: &Worktree<'_>, known: (Base, Option<LogEnd>), moves: &[HeadMove]) -> Result<()> {
    let links = links_of_arrived(worktree, known, moves)?;
    if links.is_empty() { Ok(()) } else { records::append(worktree, Additions { records: Vec::new(), links }) }
}

/// Returns those of `moves` whose commits may have unsaved changes of agents: all moves since the first of their open commands
/// began. If an agent reports no tools, or a turn has left a command in the background, these are all moves. When a command
/// begins, `ops::guard` notes where HEAD is.
fn moves_of_commands<'m>(context: &Context, moves: &'m [HeadMove]) -> Result<&'m [HeadMove]> {
    if author::has_any_left_command(context) || author::is_any_silent(context)? {
        return Ok(moves);
    }
    let turns = context.turns();
    let in_turn = turns.entries.iter().filter(|entry| entry.turn.is_some());
    let commands = in_turn.flat_map(|entry| &entry.calls).filter(|call| call.paths.is_none());
    let starts = commands.filter_map(|call| call.start.as_ref());
    let from = starts.map(|start| {
        let is_start = |moved: &HeadMove| {
            let end = moved.end.map(|end| end.to_string());
            // If the command has moved HEAD away and back, one move led HEAD to this commit before the command began, and another
            // one led it back. The command began after the one whose entry was the last in the reflog then.
            start.head == Some(moved.to.to_string()) && (start.log_end.is_none() || start.log_end == end)
        };
        // If no move leads to where the command began, it may have made all of them.
        moves.iter().rposition(is_start).map_or(0, |index| index + 1)
    });
    Ok(from.min().map_or(&[], |from| &moves[from..]))
}

/// Takes a checkpoint of the changes in the commit of `moved`, if a command made it without our hooks and it has no record yet.
/// Skips what git made from existing commits, for example by `git cherry-pick`, unless a conflict was resolved in it.
///
/// The checkpoint goes to the shadow on `base`. Without `base`, it goes to the shadow on the parent of the commit, or on the
/// commit that this one amends.
fn checkpoint_if_unseen(
    worktree: &Worktree<'_>,
    moved: &HeadMove,
    prepared: &Prepared,
    base: Option<Base>,
) -> Result<()> {
    let is_unseen = moved.kind.makes_commit() && moved.from != Base::Commit(moved.to);
    if !is_unseen || prepared.on(&moved.from.to_string()).is_some() || !worktree.repo.is_commit(moved.to)? {
        return Ok(());
    }
    let made = Made::by(&worktree.repo, moved)?;
    if !moved.kind.is_plain_commit() && !condense::has_met_conflict(&worktree.repo, &made)? {
        return Ok(());
    }
    if condense::record_of(worktree, moved.to)?.is_some() {
        return Ok(());
    }
    condense::checkpoint_unseen(worktree, &made, base.unwrap_or(made.base))
}

/// Returns where HEAD was before it moved to `commit`; its first parent if the reflog does not have that.
fn head_before(repo: &Repo, commit: ObjectId) -> Result<Base> {
    match repo.head_before(commit) {
        Some(before) => Ok(before),
        None => Ok(Base::of_head(repo.parents_of(commit)?.first().copied())),
    }
}

/// If a record is reserved for `commit`, made on `before`, lets git begin to compute the patch id of the commit. Meanwhile, we
/// look for the work that the commit took.
fn patch_id_beside(repo: &Repo, commit: ObjectId, before: Base, prepared: &Prepared) -> Option<(ObjectId, PatchIds)> {
    prepared.on(&before.to_string())?.reserved.as_ref()?;
    // If this fails, the code that needs the patch id tries again.
    repo.start_patch_ids(&[commit]).ok().map(|started| (commit, started))
}

/// Carries out `effect`. Adds to `done` the entry of `commit.toml` for each commit that is now condensed or linked: the caller
/// can remove it. `reported` is the commit that git has just reported, and `patch_id` is a commit and the patch id that git is
/// computing for it.
fn apply(
    worktree: &Worktree<'_>,
    effect: Effect,
    prepared: &Prepared,
    reported: Option<ObjectId>,
    patch_id: &mut Option<(ObjectId, PatchIds)>,
    done: &mut Vec<CommitNote>,
) -> Result<()> {
    match effect {
        Effect::Condense(moved) | Effect::Link(moved) => {
            let made = Made::by(&worktree.repo, &moved)?;
            let (note, perhaps) = note_of(worktree, &made, &moved, prepared, reported)?;
            emit_if_damaged(worktree, condense::link_existing(worktree, &made, &note))?;
            if matches!(effect, Effect::Condense(_)) {
                let started = patch_id.take_if(|(commit, _)| *commit == made.commit).map(|(_, started)| started);
                condense::condense(worktree, &made, &note, started)?;
            }
            if made.kind.is_plain_commit() {
                emit_if_damaged(worktree, condense::record_of_person(worktree, &made, &perhaps))?;
            }
            emit_if_damaged(worktree, condense::record_of_others(worktree, &made, &note))?;
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

/// If an object is missing or damaged, emits an event and drops the error. The commit then lacks the link or the record that
/// `result` is about, but the caller goes on with the rest.
fn emit_if_damaged(worktree: &Worktree<'_>, result: Result<()>) -> Result<()> {
    match result {
        Err(error) if error.kind() == Kind::Corrupt => worktree.emit_failure("condense", Err(error)).or(Ok(())),
        result => result,
    }
}

/// Returns the entry of `commit.toml` that a hook wrote for the commit of `moved`. If there is none, returns a new entry. Unless
/// the commit is a merge, the new entry lists the records whose work the commit repeats.
///
/// Also returns the records of whose work the commit has too little to be sure.
fn note_of(
    worktree: &Worktree<'_>,
    made: &Made,
    moved: &HeadMove,
    prepared: &Prepared,
    reported: Option<ObjectId>,
) -> Result<(CommitNote, Vec<RecordId>)> {
    let repo = &worktree.repo;
    let named = ids_in_message(repo.message_of(made.commit)?.as_bytes());
    let is_named = |note: &&CommitNote| note.reserved_id().is_some_and(|id| named.contains(&id));
    // If the commit names records, but not the reserved one, the entry is not its own. If it names none, the user may have
    // replaced the message.
    let may_be = |note: &&CommitNote| named.is_empty() || note.reserved.is_none();
    // When git copies a commit, a hook writes an entry only for a cherry-pick, and sets `copied`. Any other entry is left over
    // from a `git commit` that the user aborted.
    let is_prepared = |note: &&CommitNote| made.kind.is_plain_commit() || note.copied.is_some();
    let on_head = || prepared.on(&moved.from.to_string()).filter(may_be).filter(is_prepared);
    let prepared = prepared.commits.iter().find(is_named).or_else(on_head);
    let mut note =
        prepared.cloned().unwrap_or_else(|| CommitNote { head: moved.from.to_string(), ..CommitNote::default() });
    let mut perhaps: Vec<RecordId> = note.doubtful.iter().filter_map(|id| RecordId::parse(id)).collect();
    // A hook that has found work does not leave any doubt.
    if note.is_plain() && repo.parents_of(made.commit)?.len() < 2 {
        let is_quiet = reported != Some(made.commit);
        let again = recorded::records_again_in(worktree, made.base.commit_id(), made.commit, is_quiet);
        let noted = again.map(|again| {
            note.reused = again.certain.iter().map(ToString::to_string).collect();
            note.set_parts(&again.parts);
            perhaps.extend(again.perhaps);
        });
        emit_if_damaged(worktree, noted)?;
    }
    Ok((note, perhaps))
}

/// Decides which commits take work of shadows.
struct Judge<'w, 'c> {
    worktree: &'w Worktree<'c>,
    /// Where HEAD was when we last looked.
    known: Base,
    prepared: &'w Prepared,
    /// The commit that git has just reported.
    reported: Option<ObjectId>,
    /// By base, the shadows whose work a commit there may take: the live shadows on that base. The list of the known base also
    /// has the waiting shadows: archived ones, and live ones elsewhere, whose work is in no record yet. During a rebase, each
    /// list has the waiting shadows.
    candidates: BTreeMap<Base, Vec<Candidate>>,
    /// The shadows whose work a commit on another base than the known one may take. The shadow on the known base is in this list
    /// as a waiting shadow, because a commit in between may have renamed its files, and we look for renamed files only in waiting
    /// shadows. The first such commit reads the list, and all others use it.
    for_other_bases: Option<Vec<Candidate>>,
    /// True between the start and the end of a rebase.
    is_in_rebase: bool,
}

impl Judge<'_, '_> {
    /// Returns true if the commit of `moved` has to be condensed:
    /// - any commit that names a reserved record,
    /// - a plain commit, if it takes work, if git has just reported it, or if an earlier run has begun to condense it,
    /// - a copy that takes a session's resolution of a conflict, and
    /// - a resolved cherry-pick that git has just reported.
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
        // Condense a resolved cherry-pick that git has just reported even if it takes no work. This run removes its entry in
        // `commit.toml`, and a later run cannot judge the commit without that entry.
        if moved.kind == MoveKind::Resolved && self.reported == Some(moved.to) {
            return Ok(true);
        }
        // Git makes all other commits from existing ones: their only new work is a session's resolution of a conflict. A reset
        // without a reserved record has no new work.
        if !moved.kind.is_plain_commit() {
            let note = self.prepared.on(&moved.from.to_string());
            let copied = note.and_then(|note| ObjectId::from_hex(note.copied.as_ref()?.as_bytes()).ok());
            let repo = &self.worktree.repo;
            return condense::takes_resolution(self.worktree, &Made::by(repo, moved)?, copied);
        }
        // If the commit has a record, an earlier run has begun to condense it.
        if self.reported == Some(moved.to) || condense::record_of(self.worktree, moved.to)?.is_some() {
            return Ok(true);
        }
        let made = Made::by(&self.worktree.repo, moved)?;
        let changes = made.changes(&self.worktree.repo)?;
        // The work on the known base counts as well, because the plan first carries it forward to this commit's parent. During
        // a rebase, that work stays where it is.
        let known = Some(self.known).filter(|known| *known != made.base && !self.is_in_rebase);
        for base in [Some(made.base), known].into_iter().flatten() {
            let worktree = self.worktree;
            if condense::has_work_of(worktree, self.candidates_on(base)?, &changes, made.when)? {
                return Ok(true);
            }
        }
        if known.is_none() {
            return Ok(false);
        }
        // The commits between the known base and this one may have renamed the files with the work.
        let worktree = self.worktree;
        if self.for_other_bases.is_none() {
            self.for_other_bases = Some(condense::candidates(&worktree.repo, made.base, true)?);
        }
        condense::has_work_of(worktree, self.for_other_bases.as_deref().unwrap_or_default(), &changes, made.when)
    }

    /// Returns true if the message of `commit` names a record that is reserved.
    fn names_reserved(&self, commit: ObjectId) -> Result<bool> {
        let reserved: Vec<RecordId> = self.prepared.commits.iter().filter_map(CommitNote::reserved_id).collect();
        if reserved.is_empty() || !self.worktree.repo.is_commit(commit)? {
            return Ok(false);
        }
        let named = ids_in_message(self.worktree.repo.message_of(commit)?.as_bytes());
        Ok(reserved.iter().any(|id| named.contains(id)))
    }

    fn candidates_on(&mut self, base: Base) -> Result<&[Candidate]> {
        if !self.candidates.contains_key(&base) {
            // It is enough if one list has the waiting shadows: usually, the list of the known base. During a rebase,
            // [`Self::takes_work`] asks only for the list of the commit's own base, so each list has them.
            let with_waiting = base == self.known || self.is_in_rebase;
            self.candidates.insert(base, condense::candidates(&self.worktree.repo, base, with_waiting)?);
        }
        Ok(&self.candidates[&base])
    }
}
