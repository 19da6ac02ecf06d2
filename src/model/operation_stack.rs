//! What can be undone and redone: a pure function of the operation log.

use std::collections::{HashMap, HashSet};

use gix::ObjectId;

use super::operation::{Operation, Role};

/// The operations that `undo` and `redo` take back, the next one last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stack {
    /// For `undo`: operations of a person, and what was redone.
    pub(crate) undo: Vec<ObjectId>,
    /// For `redo`: undos, also those of which `op undo` took the redo back.
    pub(crate) redo: Vec<ObjectId>,
    /// Operations that were killed before they changed a file.
    pub(crate) not_begun: HashSet<ObjectId>,
    /// Operations that were interrupted and taken back half-way, and what took them back: all is as if they had not been.
    pub(crate) called_off: HashSet<ObjectId>,
    /// Undos: operations that take another one back, or take back what takes it back again, and so on.
    undos: HashSet<ObjectId>,
    /// Of the operations that call one off: which.
    calls_off: HashMap<ObjectId, ObjectId>,
    /// The last operation that took an operation back, or finished it; true if it took it back.
    next: HashMap<ObjectId, (ObjectId, bool)>,
}

impl Stack {
    /// Follows a row of undos and redos from the operation `id` to its end. Returns the last one, and true if `id` is taken back
    /// after all of them.
    pub(crate) fn end(&self, id: ObjectId) -> (ObjectId, bool) {
        let (mut last, mut is_undone) = (id, false);
        // An entry names earlier ones only.
        while let Some((next, takes_back)) = self.next.get(&last) {
            (last, is_undone) = (*next, is_undone != *takes_back);
        }
        (last, is_undone)
    }

    /// Returns what `undo` takes back if the operation `id` was interrupted: that operation or, if it was to call another one
    /// off, the other one. A half-way state never comes back.
    pub(crate) fn interrupted(&self, id: ObjectId) -> ObjectId {
        let mut at = id;
        while let Some(of) = self.calls_off.get(&at) {
            at = *of;
        }
        at
    }

    /// Returns true if what takes the operation `id` back is a redo: that is an undo itself.
    pub(crate) fn is_undo(&self, id: ObjectId) -> bool {
        self.undos.contains(&id)
    }

    /// Notes which of the operations of `log` that have begun call an interrupted one off.
    fn call_off(&mut self, log: &[(ObjectId, &Operation)]) {
        // With what each of them continues.
        let mut unfinished: HashMap<ObjectId, Option<ObjectId>> = HashMap::new();
        for (id, operation) in log {
            let mut continued = None;
            match operation.role {
                _ if self.not_begun.contains(id) => continue,
                Role::Undo(of) | Role::Redo(of) if unfinished.contains_key(&of) => {
                    self.calls_off.insert(*id, of);
                    let row = std::iter::successors(Some(of), |at| unfinished.get(at).copied().flatten());
                    self.called_off.extend(row.chain([*id]));
                }
                Role::Continues(of) => {
                    if let Some(other) = self.calls_off.get(&of).copied() {
                        self.calls_off.insert(*id, other);
                        self.called_off.insert(*id);
                    }
                    continued = Some(of);
                }
                Role::Undo(_) | Role::Redo(_) | Role::Plain => {}
            }
            if operation.is_unfinished {
                unfinished.insert(*id, continued);
            }
        }
    }

    /// Returns which of the operations `later`, in the order of time, leave nothing that stands between the first and the last of
    /// them, so that one before all of them can be taken back over them: what was called off or never began, each one that
    /// another of them takes back, together with that, and what was saved for such an operation.
    pub(crate) fn passed<'o>(&self, later: impl IntoIterator<Item = (ObjectId, &'o Operation)>) -> HashSet<ObjectId> {
        let later: Vec<(ObjectId, &Operation)> = later.into_iter().collect();
        let (mut passed, mut known, mut parts) = (HashSet::new(), HashSet::new(), HashMap::new());
        for (id, operation) in &later {
            known.insert(*id);
            if self.not_begun.contains(id) || self.called_off.contains(id) {
                passed.insert(*id);
                continue;
            }
            match operation.role {
                Role::Undo(of) | Role::Redo(of) if known.contains(&of) && !passed.contains(&of) => {
                    passed.insert(*id);
                    passed.extend(std::iter::successors(Some(of), |at| parts.get(at).copied()));
                }
                Role::Continues(of) if passed.contains(&of) => drop(passed.insert(*id)),
                Role::Continues(of) => drop(parts.insert(*id, of)),
                Role::Undo(_) | Role::Redo(_) | Role::Plain => {}
            }
        }
        // What was saved for an operation shares its fate, also if the operation was killed before it had an entry.
        passed.extend(
            saved_first(&later)
                .filter(|(_, of)| of.is_none_or(|of| passed.contains(&of)))
                .map(|(id, _)| id)
                .collect::<Vec<_>>(),
        );
        passed
    }

    /// Returns which of the operations `later`, in the order of time, were to take back `of`, which was interrupted, with what was
    /// saved for them: that belongs to what takes it back in the end.
    pub(crate) fn tries<'o>(
        &self,
        of: ObjectId,
        later: impl IntoIterator<Item = (ObjectId, &'o Operation)>,
    ) -> HashSet<ObjectId> {
        let later: Vec<(ObjectId, &Operation)> = later.into_iter().collect();
        let is_try = |(id, operation): &&(ObjectId, &Operation)| match operation.role {
            Role::Undo(it) | Role::Redo(it) if self.not_begun.contains(id) => it == of,
            _ => *id != of && self.interrupted(*id) == of,
        };
        let mut tries: HashSet<ObjectId> = later.iter().filter(is_try).map(|(id, _)| *id).collect();
        tries.extend(
            saved_first(&later)
                .filter(|(_, of)| of.is_some_and(|of| tries.contains(&of)))
                .map(|(id, _)| id)
                .collect::<Vec<_>>(),
        );
        tries
    }
}

/// Returns which of `operations`, in the order of time, have saved the worktree for another one, and for which; none: that was killed
/// before it had an entry.
fn saved_first(operations: &[(ObjectId, &Operation)]) -> impl Iterator<Item = (ObjectId, Option<ObjectId>)> {
    let saved = operations.iter().enumerate().filter(|(_, (_, operation))| operation.is_on_the_way());
    saved.map(|(at, (id, operation))| {
        let next = operations.get(at + 1);
        let of = next.filter(|(_, next)| next.command == operation.command && next.kind != operation.kind);
        (*id, of.map(|(of, _)| *of))
    })
}

/// Returns true if the operation has begun to do what its entry says, or had no file to change.
///
/// The entry of a restore, an undo or a redo is written first, then the journal, then the files. An entry of which the journal was
/// not written does not count. If it is live, the journal of this worktree is that of the entry; if it is taken up, a later entry
/// finishes it or takes it back, for which its journal had to be there.
fn has_begun(is_finished: bool, is_live: bool, is_taken_up: bool) -> bool {
    is_finished || is_live || is_taken_up
}

/// Returns the stack after all operations of `log`, the oldest first; `live` is the nonce of the worktree's journal.
///
/// An undo moves the operation that it takes back to the other stack, and a redo moves it back. A new operation of a person
/// clears what could be redone. Operations that only save, or that git and agents cause, change nothing. Neither do an operation
/// that was interrupted and what took it back half-way, be it a restore, an undo or a redo.
pub(crate) fn stack<'o>(log: impl IntoIterator<Item = (ObjectId, &'o Operation)>, live: Option<&str>) -> Stack {
    let log: Vec<(ObjectId, &Operation)> = log.into_iter().collect();
    // One that is tried again in a submodule has the nonce of the first try.
    let live = log.iter().rfind(|(_, it)| live.is_some() && it.nonce.as_deref() == live).map(|(id, _)| *id);
    let (mut stack, mut taken_up, mut known) = (Stack::default(), HashSet::new(), HashSet::new());
    for (id, operation) in log.iter().rev() {
        if !has_begun(!operation.is_unfinished, live == Some(*id), taken_up.contains(id)) {
            stack.not_begun.insert(*id);
        } else if let Role::Undo(of) | Role::Redo(of) | Role::Continues(of) = operation.role {
            taken_up.insert(of);
        }
    }
    stack.call_off(&log);
    let remove = |list: &mut Vec<ObjectId>, id: ObjectId| list.retain(|known| *known != id);
    for (id, operation) in log.iter().map(|(id, operation)| (*id, *operation)) {
        if stack.not_begun.contains(&id) {
            continue;
        }
        let is_off = stack.called_off.contains(&id);
        let is_undo = match operation.role {
            Role::Plain => false,
            // `op undo` of an undo is a redo, whatever it was when it was written.
            Role::Undo(of) => !stack.is_undo(of),
            // The undo may have left the log.
            Role::Redo(of) => known.contains(&of) && !stack.is_undo(of),
            Role::Continues(of) => stack.is_undo(of),
        };
        known.insert(id);
        stack.undos.extend(is_undo.then_some(id));
        // What is called off has changed nothing about an operation that is not.
        if let Role::Undo(of) | Role::Redo(of) | Role::Continues(of) = operation.role
            && (!is_off || stack.called_off.contains(&of))
        {
            stack.next.insert(of, (id, !matches!(operation.role, Role::Continues(_))));
        }
        if is_off {
            continue;
        }
        match operation.role {
            Role::Undo(of) | Role::Redo(of) | Role::Continues(of) => {
                remove(&mut stack.undo, of);
                remove(&mut stack.redo, of);
                if is_undo { stack.redo.push(id) } else { stack.undo.push(id) }
            }
            Role::Plain if operation.is_undoable() => {
                stack.undo.push(id);
                stack.redo.clear();
            }
            Role::Plain => {}
        }
    }
    stack
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: usize) -> ObjectId {
        ObjectId::from_hex(format!("{number:040x}").as_bytes()).expect("40 digits")
    }

    /// Returns the operation that `text` describes: its kind, or `undo <n>`, `redo <n>` or `continue <n>`, from 0. With `?`, it
    /// is not finished, and the journal of now is its own; with `!`, that is another one; with `=`, it is finished, and has the
    /// journal of now.
    fn operation(text: &str) -> Operation {
        // With an asterisk, it has the file of a session.
        let session_of_file = text.ends_with('*').then(|| "7f3a".to_owned());
        let nonces = [("?", "live"), ("!", "gone"), ("=", "live")];
        let nonce = nonces.into_iter().find(|(mark, _)| text.ends_with(*mark)).map(|(_, nonce)| nonce.to_owned());
        let is_unfinished = text.ends_with(['?', '!']);
        let kind = text.trim_end_matches(['*', '?', '!', '=']);
        let (kind, command) =
            kind.strip_suffix(" r").map_or((kind, "git checkpoint save"), |it| (it, "git checkpoint r"));
        let role = match kind.split_once(' ').and_then(|(word, number)| Some((word, id(number.parse().ok()?)))) {
            Some(("undo", of)) => Role::Undo(of),
            Some(("redo", of)) => Role::Redo(of),
            Some(("continue", of)) => Role::Continues(of),
            _ => Role::Plain,
        };
        let (kind, command) = (kind.to_owned(), command.to_owned());
        Operation { command, kind, role, nonce, is_unfinished, session_of_file, ..Operation::default() }
    }

    #[rstest::rstest]
    #[case::nothing(&[], &[], &[])]
    #[case::one(&["restore"], &[0], &[])]
    #[case::two(&["restore", "reset"], &[0, 1], &[])]
    #[case::saves_do_not_count(&["restore", "save", "hook", "follow", "repair", "session prompt"], &[0], &[])]
    #[case::undone(&["restore", "reset", "undo 1"], &[0], &[2])]
    #[case::undone_twice(&["restore", "reset", "undo 1", "undo 0"], &[], &[2, 3])]
    #[case::redone(&["restore", "reset", "undo 1", "undo 0", "redo 3"], &[4], &[2])]
    #[case::redone_twice(&["restore", "reset", "undo 1", "undo 0", "redo 3", "redo 2"], &[4, 5], &[])]
    #[case::undone_redone_undone(&["restore", "undo 0", "redo 1", "undo 2"], &[], &[3])]
    #[case::new_ends_redo(&["restore", "undo 0", "verify"], &[2], &[])]
    #[case::save_keeps_redo(&["restore", "undo 0", "save"], &[], &[1])]
    #[case::in_the_middle(&["restore", "reset", "verify", "undo 1"], &[0, 2], &[3])]
    #[case::undo_of_an_undo(&["restore", "undo 0", "undo 1"], &[2], &[])]
    #[case::undo_of_an_undo_after_a_new_one(&["restore", "undo 0", "verify", "undo 1", "reset"], &[2, 3, 4], &[])]
    #[case::redo_of_what_has_left_the_log(&["redo 9"], &[0], &[])]
    #[case::undo_of_an_undo_continued(&["restore", "undo 0", "undo 1!", "continue 2"], &[3], &[])]
    #[case::of_a_save(&["save", "verify", "undo 0"], &[1], &[2])]
    #[case::continued(&["restore", "continue 0"], &[1], &[])]
    #[case::sessions(&["session adopt*", "session forget*"], &[0, 1], &[])]
    #[case::sessions_that_were_left(&["restore", "session adopt"], &[0], &[])]
    #[case::gone_back(&["restore", "op restore", "undo 1"], &[0], &[2])]
    #[case::under_way(&["restore?"], &[0], &[])]
    #[case::killed(&["restore!"], &[], &[])]
    #[case::killed_ends_no_redo(&["restore", "undo 0", "restore!"], &[], &[1])]
    #[case::undo_killed(&["restore", "undo 0!"], &[0], &[])]
    #[case::undo_under_way(&["restore", "undo 0?"], &[], &[1])]
    #[case::undo_killed_and_repeated(&["restore", "undo 0!", "undo 0"], &[], &[2])]
    #[case::undo_repeated_under_its_nonce(&["restore", "undo 0?", "undo 0="], &[], &[2])]
    #[case::undo_killed_twice_under_its_nonce(&["restore", "undo 0?", "undo 0?"], &[], &[2])]
    #[case::redo_killed(&["restore", "undo 0", "redo 1!"], &[], &[1])]
    #[case::redo_killed_and_repeated(&["restore", "undo 0", "redo 1!", "redo 1"], &[3], &[])]
    #[case::undone_half_way(&["restore!", "undo 0"], &[], &[])]
    #[case::undone_half_way_keeps_what_was_before(&["reset", "undo 0", "restore!", "undo 2"], &[], &[1])]
    #[case::undone_half_way_twice(&["reset", "restore!", "undo 1!", "undo 1"], &[0], &[])]
    #[case::undone_half_way_is_interrupted(&["reset", "restore!", "undo 1?"], &[0], &[])]
    #[case::undone_half_way_is_finished(&["reset", "restore!", "undo 1!", "continue 2"], &[0], &[])]
    #[case::finished_half_and_undone(&["reset", "restore!", "continue 1!", "undo 2"], &[0], &[])]
    #[case::finished_and_undone(&["reset", "restore!", "continue 1", "undo 2"], &[0], &[3])]
    #[case::undone_half_way_and_killed(&["restore?", "undo 0!"], &[0], &[])]
    #[case::finished(&["restore!", "continue 0"], &[1], &[])]
    #[case::finished_half(&["restore!", "continue 0?"], &[1], &[])]
    #[case::undo_finished(&["restore", "undo 0!", "continue 1"], &[], &[2])]
    #[case::undo_taken_back_half_way(&["restore", "undo 0!", "redo 1"], &[0], &[])]
    #[case::undo_taken_back_half_way_and_killed(&["restore", "undo 0?", "redo 1!"], &[], &[1])]
    #[case::undo_continued_and_taken_back(&["restore", "undo 0!", "continue 1!", "redo 2"], &[0], &[])]
    #[case::undo_taken_back_half_way_and_undone(&["restore", "undo 0!", "redo 1", "undo 0"], &[], &[3])]
    #[case::undo_taken_back_half_way_in_another_role(&["restore", "undo 0!", "undo 1"], &[0], &[])]
    #[case::redo_taken_back_half_way(&["restore", "undo 0", "redo 1!", "undo 2"], &[], &[1])]
    #[case::redo_taken_back_half_way_and_redone(&["restore", "undo 0", "redo 1!", "undo 2", "redo 1"], &[4], &[])]
    #[case::a_later_undo_taken_back_half_way(&["reset", "restore", "undo 1", "undo 0!", "redo 3"], &[0], &[2])]
    fn stacks(#[case] log: &[&str], #[case] undo: &[usize], #[case] redo: &[usize]) {
        let log: Vec<Operation> = log.iter().map(|text| operation(text)).collect();
        let stack = stack(log.iter().enumerate().map(|(number, operation)| (id(number), operation)), Some("live"));
        let ids = |numbers: &[usize]| numbers.iter().map(|number| id(*number)).collect::<Vec<_>>();
        assert_eq!((stack.undo, stack.redo), (ids(undo), ids(redo)));
    }

    #[rstest::rstest]
    #[case::standing(&["restore"], (0, false))]
    #[case::undone(&["restore", "undo 0"], (1, true))]
    #[case::redone(&["restore", "undo 0", "redo 1"], (2, false))]
    #[case::undone_again(&["restore", "undo 0", "redo 1", "undo 2"], (3, true))]
    #[case::redone_again(&["restore", "undo 0", "redo 1", "undo 2", "redo 3"], (4, false))]
    #[case::finished(&["restore!", "continue 0"], (1, false))]
    #[case::finished_and_undone(&["restore!", "continue 0", "undo 1"], (2, true))]
    #[case::undo_finished(&["restore", "undo 0!", "continue 1"], (2, true))]
    #[case::undo_killed(&["restore", "undo 0!"], (0, false))]
    #[case::undone_half_way(&["restore!", "undo 0"], (1, true))]
    #[case::undo_called_off(&["restore", "undo 0!", "redo 1"], (0, false))]
    #[case::undo_called_off_and_repeated(&["restore", "undo 0!", "redo 1", "undo 0"], (3, true))]
    #[case::undo_continued_and_called_off(&["restore", "undo 0!", "continue 1!", "redo 2"], (0, false))]
    #[case::redo_called_off(&["restore", "undo 0", "redo 1!", "undo 2"], (1, true))]
    fn ends(#[case] log: &[&str], #[case] expected: (usize, bool)) {
        let log: Vec<Operation> = log.iter().map(|text| operation(text)).collect();
        let stack = stack(log.iter().enumerate().map(|(number, operation)| (id(number), operation)), Some("live"));
        assert_eq!(stack.end(id(0)), (id(expected.0), expected.1));
    }

    #[rstest::rstest]
    #[case::finished(true, false, false, true)]
    #[case::under_way(false, true, false, true)]
    #[case::finished_by_a_later_one(false, false, true, true)]
    #[case::killed_before_its_journal(false, false, false, false)]
    fn begun(#[case] is_finished: bool, #[case] is_live: bool, #[case] is_taken_up: bool, #[case] expected: bool) {
        assert_eq!(has_begun(is_finished, is_live, is_taken_up), expected);
    }

    /// Over which of those after it the first operation can be taken back. With ` r`, a save is on the way of the one after it.
    #[rstest::rstest]
    #[case::stands(&["reset", "restore", "save"], &[])]
    #[case::undone(&["reset", "restore", "undo 1"], &[1, 2])]
    #[case::one_of_two(&["reset", "restore", "verify", "undo 1"], &[1, 3])]
    #[case::undone_by_a_continued_undo(&["reset", "restore", "undo 1!", "continue 2", "redo 3", "undo 4"], &[1, 2, 3, 4, 5])]
    #[case::redone(&["reset", "restore", "undo 1", "redo 2"], &[1, 2])]
    #[case::redone_and_undone(&["reset", "restore", "undo 1", "redo 2", "undo 3"], &[1, 2, 3, 4])]
    #[case::undo_of_an_earlier_one(&["reset", "undo 9"], &[])]
    #[case::undo_of_an_earlier_one_and_redo(&["undo 8", "undo 9", "redo 1"], &[1, 2])]
    #[case::finished(&["reset", "restore!", "continue 1"], &[])]
    #[case::finished_and_undone(&["reset", "restore!", "continue 1", "undo 2"], &[1, 2, 3])]
    #[case::called_off(&["reset", "restore!", "undo 1"], &[1, 2])]
    #[case::undo_called_off(&["reset", "restore", "undo 1!", "redo 2"], &[2, 3])]
    #[case::killed(&["reset", "restore!"], &[1])]
    #[case::under_way(&["reset", "restore?"], &[])]
    #[case::saved_first(&["reset", "save r", "restore r"], &[])]
    #[case::saved_first_and_undone(&["reset", "save r", "restore r", "undo 2"], &[1, 2, 3])]
    #[case::saved_and_killed(&["reset", "save r", "restore r!"], &[1, 2])]
    #[case::saved_and_killed_before_its_entry(&["reset", "save r"], &[1])]
    #[case::saved_and_killed_before_its_entry_and_a_hook(&["reset", "save r", "hook"], &[1])]
    fn what_an_undo_passes_over(#[case] log: &[&str], #[case] expected: &[usize]) {
        let log: Vec<Operation> = log.iter().map(|text| operation(text)).collect();
        let log: Vec<(ObjectId, &Operation)> = log.iter().enumerate().map(|(number, it)| (id(number), it)).collect();
        let passed = stack(log.clone(), Some("live")).passed(log[1..].iter().copied());
        let found: Vec<usize> = (0..log.len()).filter(|number| passed.contains(&id(*number))).collect();
        assert_eq!(found, expected);
    }

    /// What was to take the first operation back, which was interrupted.
    #[rstest::rstest]
    #[case::none(&["undo 9?"], &[])]
    #[case::saved_for_another(&["undo 9!", "save r", "restore r"], &[])]
    #[case::interrupted(&["undo 9!", "save r", "redo 0 r?"], &[1, 2])]
    #[case::killed_before_its_journal(&["undo 9?", "save r", "redo 0 r!"], &[1, 2])]
    #[case::killed_before_its_entry(&["undo 9?", "save r"], &[])]
    #[case::twice(&["undo 9!", "save r", "redo 0 r!", "save r", "redo 0 r?"], &[1, 2, 3, 4])]
    #[case::continued(&["undo 9!", "redo 0!", "continue 1?"], &[1, 2])]
    #[case::of_a_restore(&["restore!", "undo 0?"], &[1])]
    fn what_was_to_take_it_back(#[case] log: &[&str], #[case] expected: &[usize]) {
        let log: Vec<Operation> = log.iter().map(|text| operation(text)).collect();
        let log: Vec<(ObjectId, &Operation)> = log.iter().enumerate().map(|(number, it)| (id(number), it)).collect();
        let tries = stack(log.clone(), Some("live")).tries(id(0), log[1..].iter().copied());
        let found: Vec<usize> = (0..log.len()).filter(|number| tries.contains(&id(*number))).collect();
        assert_eq!(found, expected);
    }

    #[rstest::rstest]
    #[case::restore(&["restore?"], 0)]
    #[case::undo(&["restore", "undo 0?"], 1)]
    #[case::what_calls_off(&["restore", "undo 0!", "redo 1?"], 1)]
    #[case::again(&["restore", "undo 0!", "redo 1!", "redo 1?"], 1)]
    #[case::continued(&["restore", "undo 0!", "redo 1!", "continue 2?"], 1)]
    #[case::of_a_restore(&["restore!", "undo 0?"], 0)]
    fn what_undo_takes_back_after_an_interrupt(#[case] log: &[&str], #[case] expected: usize) {
        let log: Vec<Operation> = log.iter().map(|text| operation(text)).collect();
        let stack = stack(log.iter().enumerate().map(|(number, operation)| (id(number), operation)), Some("live"));
        assert_eq!(stack.interrupted(id(log.len() - 1)), id(expected));
    }
}
