//! Writes the operation log: a chain of commits, each of which records which of our refs one command has moved.
//!
//! [`Repo::update_refs`](super::Repo::update_refs) moves the ref of the log in the same transaction as the refs whose moves the
//! entry records. If a command needs several transactions, the later ones replace its entry. The parents of an entry are the
//! entry before it and all commits that refs pointed to before the operation, so that git keeps what an undo needs.
//!
//! When a part of the log is full, it becomes the older part and replaces the previous one, and a new part begins. So git can
//! collect what only old entries hold, without a rewrite of the newer ones.

use gix::ObjectId;

use super::{
    Repo,
    commit::{Moment, NewCommit},
    edit_tree::edit_tree,
    new_objects::{NewObjects, Target},
    recorder::{Entry, FILES, FilesChanged, PartLimits, Running, SESSION_AFTER, SESSION_BEFORE, SessionFile},
    refs::RefUpdate,
    written::Written,
};
use crate::{
    error::{Kind, Result},
    model::{
        change::Mode,
        note,
        operation::{self, Move, Operation, Role},
        refname,
    },
};

/// How often a transaction is tried if other processes add entries meanwhile.
const ATTEMPTS: u32 = 10;

/// What a transaction changes in the log.
pub(super) struct LogChange<'r> {
    pub(super) updates: Vec<RefUpdate>,
    tip: Option<ObjectId>,
    entry: Option<Entry>,
    written: Option<Written<'r>>,
}

/// Ends the operation that [`Repo::on_the_way`] has begun when it is dropped.
pub(crate) struct OnTheWay<'r>(&'r Repo);

impl Drop for OnTheWay<'_> {
    fn drop(&mut self) {
        self.0.recorder.0.borrow_mut().running.pop();
    }
}

impl Repo {
    /// Sets when a part of the log is full.
    pub(crate) fn limit_operations(&self, limits: PartLimits) {
        self.recorder.0.borrow_mut().limits = limits;
    }

    /// Records all that this process does from now on as one operation: the command line `command`, of the given kind.
    pub(crate) fn describe_operation(&self, command: String, kind: String) {
        let mut state = self.recorder.0.borrow_mut();
        state.running = vec![Running { command, kind, ..Running::default() }];
        state.is_described = true;
    }

    /// Describes what is done in this worktree as that of `other`, which the same command works on.
    pub(crate) fn describe_operation_like(&self, other: &Self) {
        let other = other.recorder.0.borrow();
        let Some(first) = other.running.first().filter(|_| other.is_described) else { return };
        self.describe_operation(first.command.clone(), first.kind.clone());
        self.recorder.0.borrow_mut().turn = other.turn;
    }

    /// Notes the turn in which the event is that a hook of an agent handles.
    pub(crate) fn note_turn_of_hook(&self, turn: u32) {
        let mut state = self.recorder.0.borrow_mut();
        state.turn = Some(turn).filter(|turn| *turn > 0 && state.is_hook());
    }

    /// Notes commits that a hook makes records of, or links to records.
    pub(crate) fn note_commits_of_hook(&self, commits: impl IntoIterator<Item = ObjectId>) {
        let mut state = self.recorder.0.borrow_mut();
        if state.is_hook() {
            let mut commits: Vec<ObjectId> = commits.into_iter().collect();
            commits.retain(|commit| !state.recorded.contains(commit));
            state.recorded.extend(commits);
            state.recorded.dedup();
        }
    }

    /// Begins another operation, unless [`describe_operation`](Self::describe_operation) has made all that this process does one.
    pub(crate) fn next_operation(&self) {
        let mut state = self.recorder.0.borrow_mut();
        if !state.is_described {
            state.running.clear();
        }
    }

    /// Records what is done until the result is dropped as an operation of its own, of the given kind.
    pub(crate) fn on_the_way(&self, kind: &str) -> OnTheWay<'_> {
        self.edit_operation(|_| ());
        let mut state = self.recorder.0.borrow_mut();
        let command = state.running.last().map(|running| running.command.clone()).unwrap_or_default();
        state.running.push(Running { command, kind: kind.to_owned(), ..Running::default() });
        OnTheWay(self)
    }

    /// Notes how the operation under way relates to an earlier one.
    pub(crate) fn note_role(&self, role: Role) {
        self.edit_operation(|running| running.role = role);
    }

    /// Notes moves of refs that belong to the operation under way, whether they are done already or will be.
    pub(crate) fn note_moves(&self, moves: Vec<Move>) {
        self.edit_operation(|running| running.moves = moves);
    }

    /// Notes the session that the operation under way is about.
    pub(crate) fn note_session_of_operation(&self, session: &str) {
        self.edit_operation(|running| running.session = Some(session.to_owned()));
    }

    /// Notes whether the next checkpoint of a person was, and is, to become verified.
    pub(crate) fn note_marker(&self, before: bool, after: bool) {
        self.edit_operation(|running| {
            let before = running.marker.map_or(before, |(first, _)| first);
            running.marker = (before != after).then_some((before, after));
        });
    }

    /// Notes the files that the operation under way changes; none: it has changed none. The next update of refs writes that.
    pub(crate) fn note_files(&self, files: Option<FilesChanged>) {
        self.edit_operation(|running| running.files = files);
    }

    /// Notes that a restore is under way whose journal is known by `nonce`. The next update of refs writes that.
    pub(crate) fn note_begin(&self, nonce: &str) {
        self.edit_operation(|running| (running.nonce, running.is_unfinished) = (Some(nonce.to_owned()), true));
    }

    /// Notes that the restore under way has changed all files. The next update of refs writes that.
    pub(crate) fn note_end(&self) {
        self.edit_operation(|running| running.is_unfinished = false);
    }

    /// Notes the file of a session that the operation under way has changed. The next update of refs writes that.
    pub(crate) fn note_session_file(&self, file: SessionFile) {
        self.edit_operation(|running| running.session_file = Some(file));
    }

    /// Notes that the operation under way cannot be undone, and what to do instead. The next update of refs writes that.
    pub(crate) fn note_not_undone(&self, instead: String) {
        self.edit_operation(|running| running.not_undone = Some(instead));
    }

    /// Lets the entry of the operation under way, if it has one, be of `kind`, which no undo takes back: `instead` says what does.
    pub(crate) fn rename_recorded(&self, kind: &str, instead: String) -> Result<()> {
        if self.recorder.0.borrow().running.last().is_none_or(|running| running.written.is_none()) {
            return Ok(());
        }
        self.edit_operation(|running| (running.kind, running.not_undone) = (kind.to_owned(), Some(instead)));
        self.update_refs(&[])
    }

    /// Returns true if this process has written the entry `id`.
    pub(crate) fn has_recorded(&self, id: ObjectId) -> bool {
        self.recorder.0.borrow().entries.contains(&id)
    }

    /// Returns the moves of refs in the newest entry that this process has written.
    pub(crate) fn moves_recorded(&self) -> Vec<Move> {
        let state = self.recorder.0.borrow();
        let written = state.running.last().and_then(|running| running.written.as_ref());
        written.map(|entry| entry.operation.moves.clone()).unwrap_or_default()
    }

    /// Lets the rest of the command under way leave no entry.
    pub(crate) fn stop_recording(&self) {
        self.recorder.0.borrow_mut().is_off = true;
    }

    /// Names the operation that a program does through the library.
    pub(crate) fn name_operation(&self, kind: &str) {
        let mut state = self.recorder.0.borrow_mut();
        if !state.is_described {
            kind.clone_into(&mut state.named);
            state.running.clear();
        }
    }

    fn edit_operation(&self, edit: impl FnOnce(&mut Running)) {
        let mut state = self.recorder.0.borrow_mut();
        if state.running.is_empty() {
            let kind = if state.named.is_empty() { "library".to_owned() } else { state.named.clone() };
            let command = format!("git checkpoint {kind}, by a program");
            state.running.push(Running { command, kind, ..Running::default() });
        }
        edit(state.running.last_mut().expect("there is one"));
    }

    /// Carries out `updates` and, in the same transaction, what records them in the log.
    ///
    /// If the log cannot be written, an operation that could be undone fails. All others go on without an entry: without a save,
    /// the user's work would be in no checkpoint.
    pub(super) fn update_and_record(&self, updates: &[RefUpdate]) -> Result<()> {
        let Err(error) = self.update_with_log(updates) else { return Ok(()) };
        let is_needed =
            self.recorder.0.borrow().running.last().is_none_or(|running| operation::is_undoable(&running.kind));
        if is_needed || updates.is_empty() {
            let is_of_log = error.kind() != Kind::Race || self.why_no_operation_log().is_some();
            let has_way = !is_of_log || error.hint().is_some();
            return Err(if has_way { error } else { error.with_hint("'git checkpoint doctor' says what can be done") });
        }
        // If another process has moved one of these refs, this fails, too.
        self.move_refs(updates)?;
        tracing::warn!(%error, "the operation log cannot be written; 'git checkpoint doctor' shows why");
        Ok(())
    }

    fn update_with_log(&self, updates: &[RefUpdate]) -> Result<()> {
        for attempt in 1.. {
            let Some(change) = self.log_change(updates)? else { return self.move_refs(updates) };
            // The log comes first: if the process is killed between two of them, an entry of moves that were not made is
            // harmless.
            let all: Vec<RefUpdate> = change.updates.iter().chain(updates).cloned().collect();
            match self.move_refs(&all) {
                Ok(()) => {
                    let id = change.entry.as_ref().map(|entry| entry.id);
                    self.edit_operation(|running| running.written = change.entry);
                    self.recorder.0.borrow_mut().entries.extend(id);
                    if let Some(Err(error)) = change.written.map(Written::check_and_release) {
                        // The refs have moved, and their own objects are not affected.
                        tracing::warn!(%error, "the entry of the operation log is lost");
                    }
                    return Ok(());
                }
                Err(error) if error.kind() == Kind::Race && attempt < ATTEMPTS => {
                    let log = refname::operations_ref(self.worktree_id());
                    if self.find_ref(&log)? == change.tip {
                        return Err(error);
                    }
                }
                Err(error) => return Err(error),
            }
        }
        unreachable!("the last attempt returns")
    }

    /// Returns the change of the log that records `updates`; none if there is nothing to record.
    fn log_change(&self, updates: &[RefUpdate]) -> Result<Option<LogChange<'_>>> {
        if self.recorder.0.borrow().is_off {
            return Ok(None);
        }
        let moves = self.moves_of(updates)?;
        self.edit_operation(|_| ());
        let (running, limits) = {
            let state = self.recorder.0.borrow();
            let mut running = state.running.last().cloned().expect("there is one");
            running.command.push_str(&state.detail());
            (running, state.limits)
        };
        let is_noted = running.files.is_some()
            || running.marker.is_some()
            || running.role != Role::Plain
            || running.session_file.is_some()
            || running.not_undone.is_some();
        if moves.is_empty() && !is_noted && running.written.is_none() {
            return Ok(None);
        }
        let name = refname::operations_ref(self.worktree_id());
        let tip = self.find_sound_ref(&name)?;
        let known = running.written.clone().filter(|entry| Some(entry.id) == tip);
        let (is_new, last) = (known.is_none(), known.clone());
        let (mut operation, before) = match known {
            Some(entry) => (entry.operation, entry.before),
            None => (Operation::default(), tip),
        };
        let (files, session_file) = (running.files.clone(), running.session_file.clone());
        operation = running.describe(operation);
        if is_new {
            operation.moves = running.moves;
        }
        for moved in moves {
            operation.add(moved);
        }
        let mut change = LogChange { updates: Vec::new(), tip, entry: None, written: None };
        if operation.is_idle() {
            // The operation has taken back what it did.
            if !is_new {
                change.updates.push(RefUpdate { name, old: tip, new: before });
            }
            return Ok((!is_new).then_some(change));
        }
        let text = files.as_ref().map(|files| files.text.clone());
        if last.is_some_and(|last| last.operation == operation && last.text == text) {
            return Ok(None);
        }
        let mut before = before;
        if is_new {
            self.place(&mut operation, &mut before, limits, &mut change.updates)?;
        }
        let mut objects = NewObjects::new(self, Target::Loose);
        let id = self.write_entry(&operation, before, (files.as_ref(), session_file.as_ref()), &mut objects)?;
        change.written = Some(objects.write()?);
        change.updates.push(RefUpdate { name, old: tip, new: Some(id) });
        change.entry = Some(Entry { id, text, before, operation });
        Ok(Some(change))
    }

    /// Returns the moves that `updates` are. Of a ref of notes, these are the notes that change.
    fn moves_of(&self, updates: &[RefUpdate]) -> Result<Vec<Move>> {
        let mut moves = Vec::new();
        for RefUpdate { name, old, new } in updates.iter().filter(|update| update.old != update.new) {
            if refname::is_notes(name) {
                moves.extend(self.moves_of_notes(name, *old, *new)?);
            } else if refname::is_recorded(name) {
                moves.push(Move { name: name.clone(), old: *old, new: *new });
            }
        }
        Ok(moves)
    }

    /// Gives `operation` its place after the entry `before`, or, if that part of the log is full, at the beginning of a new one.
    fn place(
        &self,
        operation: &mut Operation,
        before: &mut Option<ObjectId>,
        limits: PartLimits,
        updates: &mut Vec<RefUpdate>,
    ) -> Result<()> {
        // The real time: `git rebase` may set GIT_COMMITTER_DATE to the date of an old commit.
        let now = jiff::Timestamp::now().as_second();
        (operation.number, operation.since) = (1, now);
        let Some(last) = *before else { return Ok(()) };
        let known = if self.is_whole(last).unwrap_or(false) { self.operation(last).ok().flatten() } else { None };
        let Some(known) = known.map(|recorded| recorded.operation) else {
            (operation.lost, *before) = (Some(last), None);
            return Ok(());
        };
        let is_full = limits.count.is_some_and(|count| known.number >= count)
            || limits.seconds.is_some_and(|seconds| known.since < now.saturating_sub(seconds));
        if is_full {
            let name = refname::older_operations_ref(self.worktree_id());
            updates.push(RefUpdate { old: self.find_ref(&name)?, name, new: Some(last) });
            *before = None;
        } else {
            (operation.number, operation.since) = (known.number + 1, known.since);
        }
        Ok(())
    }

    /// Adds the commit of a new entry to `objects`, and returns its id.
    fn write_entry(
        &self,
        operation: &Operation,
        before: Option<ObjectId>,
        (files, session_file): (Option<&FilesChanged>, Option<&SessionFile>),
        objects: &mut NewObjects<'_>,
    ) -> Result<ObjectId> {
        // A repair moves refs away from objects that cannot be read. If the entry held these, git would report the log as broken.
        let is_held = operation.kind != operation::REPAIR;
        // The logs of records only grow, so they still hold their earlier commits. So do the notes.
        let is_in_log = |name: &str| refname::is_log(name) || note::noted(name).is_some();
        let moves = operation.moves.iter().filter(|moved| is_held && !is_in_log(&moved.name));
        let of_moves = moves.filter_map(|moved| moved.old);
        let of_files = files.into_iter().flat_map(|files| files.held.iter().copied());
        let mut held: Vec<ObjectId> = Vec::new();
        for id in of_moves.chain(of_files) {
            if !held.contains(&id) && self.is_commit(id).unwrap_or(false) {
                held.push(id);
            }
        }
        let Moment { seconds, offset, .. } = self.now();
        self.write_entry_anew(operation, (before, &held), (files, session_file), (seconds, offset), objects)
    }

    /// Adds the commit of an entry to `objects`, and returns its id: after the entry `before`, with `held` as its other parents.
    pub(crate) fn write_entry_anew(
        &self,
        operation: &Operation,
        (before, held): (Option<ObjectId>, &[ObjectId]),
        (files, session_file): (Option<&FilesChanged>, Option<&SessionFile>),
        (seconds, offset): (i64, i32),
        objects: &mut NewObjects<'_>,
    ) -> Result<ObjectId> {
        let mut tree_id = objects.add(gix::objs::Kind::Tree, b"")?;
        let of_session = session_file.map(|file| [(SESSION_BEFORE, &file.before), (SESSION_AFTER, &file.after)]);
        let of_session = of_session.into_iter().flatten().filter_map(|(name, text)| Some((name, text.as_deref()?)));
        let texts = files.map(|files| (FILES, files.text.as_slice())).into_iter().chain(of_session);
        let mut edits = Vec::new();
        for (name, text) in texts {
            edits.push((name.into(), Some((objects.add(gix::objs::Kind::Blob, text)?, Mode::File))));
        }
        if !edits.is_empty() {
            tree_id = edit_tree(tree_id, &edits, objects)?;
        }
        let parents = before.iter().chain(held.iter().filter(|id| Some(**id) != before)).copied().collect();
        let who = self.identity();
        let (author, time, message) = (who.clone(), Moment { seconds, micros: 0, offset }, operation.message());
        Self::write_commit(&NewCommit { tree_id, parents, author, committer: who, time, message: &message }, objects)
    }
}
