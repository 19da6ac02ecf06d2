//! What can be undone and redone: a pure function of the operation log.

use std::collections::{HashMap, HashSet};

use gix::ObjectId;

use super::{
    operation::{Operation, Role},
    refname::{self, Base},
};

/// The operations that `undo` and `redo` take back, the next one last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stack {
    /// For `undo`: operations of a person, and what was redone.
    pub(crate) undo: Vec<ObjectId>,
    /// For `redo`: undos.
    pub(crate) redo: Vec<ObjectId>,
    /// Operations that do not count: they were killed before they changed a file, or are undos and redos that were killed half-way
    /// and taken back, which is as if they had not been.
    pub(crate) void: HashSet<ObjectId>,
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
/// clears what could be redone. Operations that only save, or that git and agents cause, change nothing.
pub(crate) fn stack<'o>(log: impl IntoIterator<Item = (ObjectId, &'o Operation)>, live: Option<&str>) -> Stack {
    let log: Vec<(ObjectId, &Operation)> = log.into_iter().collect();
    // One that is tried again in a submodule has the nonce of the first try.
    let live = log.iter().rfind(|(_, it)| live.is_some() && it.nonce.as_deref() == live).map(|(id, _)| *id);
    let (mut stack, mut taken_up) = (Stack::default(), HashSet::new());
    for (id, operation) in log.iter().rev() {
        if !has_begun(!operation.is_unfinished, live == Some(*id), taken_up.contains(id)) {
            stack.void.insert(*id);
        } else if let Role::Undo(of) | Role::Redo(of) | Role::Continues(of) = operation.role {
            taken_up.insert(of);
        }
    }
    annul(&log, &mut stack.void);
    let remove = |list: &mut Vec<ObjectId>, id: ObjectId| list.retain(|known| *known != id);
    for (id, operation) in log {
        if stack.void.contains(&id) {
            continue;
        }
        match operation.role {
            Role::Undo(of) => {
                remove(&mut stack.undo, of);
                stack.redo.push(id);
                stack.next.insert(of, (id, true));
            }
            Role::Redo(of) => {
                remove(&mut stack.redo, of);
                stack.undo.push(id);
                stack.next.insert(of, (id, true));
            }
            Role::Continues(of) => {
                let is_undo = stack.redo.contains(&of);
                let list = if is_undo { &mut stack.redo } else { &mut stack.undo };
                remove(list, of);
                list.push(id);
                stack.next.insert(of, (id, false));
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

/// Adds to `void` the undos and redos that were killed half-way and taken back, and what took them back.
fn annul(log: &[(ObjectId, &Operation)], void: &mut HashSet<ObjectId>) {
    let known: HashMap<ObjectId, &Operation> = log.iter().copied().collect();
    for (id, operation) in log {
        let (Role::Undo(of) | Role::Redo(of)) = operation.role else { continue };
        let mut row = vec![*id, of];
        let mut killed = known.get(&of).filter(|it| it.is_unfinished);
        // It may have been continued before, and killed again.
        while let Some(Role::Continues(earlier)) = killed.map(|it| it.role) {
            row.push(earlier);
            killed = known.get(&earlier);
        }
        let is_undo = killed.is_some_and(|it| matches!(it.role, Role::Undo(_) | Role::Redo(_)));
        if is_undo && !void.contains(id) && !void.contains(&of) {
            void.extend(row);
        }
    }
}

/// Why an operation cannot be taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// The ref points elsewhere now.
    Moved {
        /// The ref.
        name: String,
        /// What it points to now.
        now: Option<ObjectId>,
    },
    /// The object that the ref is to point to is missing or damaged.
    Missing {
        /// The ref.
        name: String,
        /// The object.
        id: ObjectId,
    },
    /// The shadow is to live on a commit where HEAD is no longer.
    Elsewhere {
        /// That commit.
        base: Base,
    },
}

/// What takes an operation back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reversal {
    /// The moves of refs.
    pub(crate) moves: Vec<super::operation::Move>,
    /// The same, and those that are done already: a process may have been killed between two of them.
    pub(crate) all: Vec<super::operation::Move>,
    /// Why it must not be done.
    pub(crate) obstacles: Vec<Obstacle>,
}

/// Returns what takes `operation` back: each of its refs must be where it left it. One that is already back, or was never moved
/// since the operation was interrupted, stays.
pub(crate) fn reversal(
    operation: &Operation,
    now: impl Fn(&str) -> Option<ObjectId>,
    can_read: impl Fn(ObjectId) -> bool,
) -> Reversal {
    let mut reversal = Reversal::default();
    // The logs of records and transcripts only grow.
    for moved in operation.moves.iter().filter(|moved| !refname::is_log(&moved.name)) {
        let now = now(&moved.name);
        reversal.all.push(moved.reversed());
        if now == moved.old {
            continue;
        }
        let name = moved.name.clone();
        if now != moved.new {
            reversal.obstacles.push(Obstacle::Moved { name, now });
        } else if let Some(id) = moved.old.filter(|id| !can_read(*id)) {
            reversal.obstacles.push(Obstacle::Missing { name, id });
        } else {
            reversal.moves.push(moved.reversed());
        }
    }
    // Deletions come last, so that at any time some ref holds the objects.
    reversal.moves.sort_by_key(|moved| moved.new.is_none());
    reversal
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::operation::Move;

    fn id(number: usize) -> ObjectId {
        ObjectId::from_hex(format!("{number:040x}").as_bytes()).expect("40 digits")
    }

    /// Returns the operation that `text` describes: its kind, or `undo <n>`, `redo <n>` or `continue <n>`, from 0. With `?`, it
    /// is not finished, and the journal of now is its own; with `!`, that is another one; with `=`, it is finished, and has the
    /// journal of now.
    fn operation(text: &str) -> Operation {
        let role = match text
            .trim_end_matches(['?', '!', '='])
            .split_once(' ')
            .and_then(|(word, number)| Some((word, id(number.parse().ok()?))))
        {
            Some(("undo", of)) => Role::Undo(of),
            Some(("redo", of)) => Role::Redo(of),
            Some(("continue", of)) => Role::Continues(of),
            _ => Role::Plain,
        };
        // With an asterisk, it has the file of a session.
        let session_of_file = text.ends_with('*').then(|| "7f3a".to_owned());
        let nonces = [("?", "live"), ("!", "gone"), ("=", "live")];
        let nonce = nonces.into_iter().find(|(mark, _)| text.ends_with(*mark)).map(|(_, nonce)| nonce.to_owned());
        let is_unfinished = text.ends_with(['?', '!']);
        let kind = text.trim_end_matches(['*', '?', '!', '=']).to_owned();
        Operation { kind, role, nonce, is_unfinished, session_of_file, ..Operation::default() }
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
    #[case::undone_half_way(&["restore!", "undo 0"], &[], &[1])]
    #[case::undone_half_way_and_killed(&["restore?", "undo 0!"], &[0], &[])]
    #[case::finished(&["restore!", "continue 0"], &[1], &[])]
    #[case::finished_half(&["restore!", "continue 0?"], &[1], &[])]
    #[case::undo_finished(&["restore", "undo 0!", "continue 1"], &[], &[2])]
    #[case::undo_taken_back_half_way(&["restore", "undo 0!", "redo 1"], &[0], &[])]
    #[case::redo_taken_back_half_way(&["restore", "undo 0", "redo 1!", "undo 2"], &[], &[1])]
    #[case::undo_taken_back_half_way_and_killed(&["restore", "undo 0?", "redo 1!"], &[], &[1])]
    #[case::undo_continued_and_taken_back(&["restore", "undo 0!", "continue 1!", "redo 2"], &[0], &[])]
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

    #[rstest::rstest]
    #[case::created(None, Some(1), Some(1), "1 -")]
    #[case::deleted(Some(1), None, None, "- 1")]
    #[case::moved(Some(1), Some(2), Some(2), "2 1")]
    #[case::moved_on(Some(1), Some(2), Some(3), "moved")]
    #[case::deleted_since(Some(1), Some(2), None, "moved")]
    #[case::created_since(Some(1), None, Some(2), "moved")]
    #[case::already_back(Some(1), Some(2), Some(1), "")]
    #[case::gone_again(None, Some(2), None, "")]
    #[case::missing(Some(9), Some(2), Some(2), "missing")]
    fn reversals(
        #[case] old: Option<usize>,
        #[case] new: Option<usize>,
        #[case] now: Option<usize>,
        #[case] expected: &str,
    ) {
        let moved = Move { name: "r".into(), old: old.map(id), new: new.map(id) };
        let operation = Operation { moves: vec![moved], ..Operation::default() };
        let found = reversal(&operation, |_| now.map(id), |other| other != id(9));
        let end = |end: Option<ObjectId>| {
            end.map_or("-".to_owned(), |end| (1..9).find(|it| id(*it) == end).map_or("?".into(), |it| it.to_string()))
        };
        let mut text: Vec<String> = found.moves.iter().map(|it| format!("{} {}", end(it.old), end(it.new))).collect();
        text.extend(found.obstacles.iter().map(|obstacle| match obstacle {
            Obstacle::Moved { .. } => "moved".to_owned(),
            Obstacle::Missing { .. } => "missing".to_owned(),
            Obstacle::Elsewhere { .. } => unreachable!("only 'op restore' asks where HEAD is"),
        }));
        assert_eq!(text.join(" "), expected);
    }

    #[test]
    fn what_begins_to_hold_comes_first() {
        let moved = |name: &str, old, new| Move { name: name.into(), old, new };
        let moves = vec![moved("archive", None, Some(id(1))), moved("shadow", Some(id(1)), None)];
        let operation = Operation { moves, ..Operation::default() };
        let found = reversal(&operation, |name| (name == "archive").then(|| id(1)), |_| true);
        let names: Vec<&str> = found.moves.iter().map(|moved| moved.name.as_str()).collect();
        assert_eq!(names, ["shadow", "archive"]);
    }
}
