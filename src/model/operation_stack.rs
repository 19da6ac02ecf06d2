//! What can be undone and redone: a pure function of the operation log.

use std::collections::HashMap;

use gix::ObjectId;

use super::{
    operation::{Operation, Role},
    refname,
};

/// The operations that `undo` and `redo` take back, the next one last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stack {
    /// For `undo`: operations of a person, and what was redone.
    pub(crate) undo: Vec<ObjectId>,
    /// For `redo`: undos.
    pub(crate) redo: Vec<ObjectId>,
    /// Which operation was undone by which.
    pub(crate) undone: HashMap<ObjectId, ObjectId>,
}

/// Returns the stack after all operations of `log`, the oldest first.
///
/// An undo moves the operation that it takes back to the other stack, and a redo moves it back. A new operation of a person
/// clears what could be redone. Operations that only save, or that git and agents cause, change nothing.
pub(crate) fn stack<'o>(log: impl IntoIterator<Item = (ObjectId, &'o Operation)>) -> Stack {
    let mut stack = Stack::default();
    let remove = |list: &mut Vec<ObjectId>, id: ObjectId| list.retain(|known| *known != id);
    for (id, operation) in log {
        match operation.role {
            Role::Undo(of) => {
                remove(&mut stack.undo, of);
                stack.redo.push(id);
                stack.undone.insert(of, id);
            }
            Role::Redo(of) => {
                remove(&mut stack.redo, of);
                stack.undo.push(id);
                stack.undone.retain(|_, undo| *undo != of);
                stack.undone.insert(of, id);
            }
            Role::Continues(of) => {
                remove(&mut stack.undo, of);
                stack.undo.push(id);
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

    /// Returns the operation that `text` describes: its kind, or `undo <n>`, `redo <n>` or `continue <n>`, from 0.
    fn operation(text: &str) -> Operation {
        let role = match text.split_once(' ').and_then(|(word, number)| Some((word, id(number.parse().ok()?)))) {
            Some(("undo", of)) => Role::Undo(of),
            Some(("redo", of)) => Role::Redo(of),
            Some(("continue", of)) => Role::Continues(of),
            _ => Role::Plain,
        };
        Operation { kind: text.to_owned(), role, ..Operation::default() }
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
    #[case::sessions(&["session adopt", "session forget"], &[0, 1], &[])]
    fn stacks(#[case] log: &[&str], #[case] undo: &[usize], #[case] redo: &[usize]) {
        let log: Vec<Operation> = log.iter().map(|text| operation(text)).collect();
        let stack = stack(log.iter().enumerate().map(|(number, operation)| (id(number), operation)));
        let ids = |numbers: &[usize]| numbers.iter().map(|number| id(*number)).collect::<Vec<_>>();
        assert_eq!((stack.undo, stack.redo), (ids(undo), ids(redo)));
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
