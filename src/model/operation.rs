//! An operation: what one command did to our refs and to files, as an entry of the operation log, and its message form.

use bstr::{BStr, ByteSlice as _};
use gix::ObjectId;

use super::{path_text, refname, session::is_valid_id, trailer};

/// The kinds of operations that a person asks for by name, and that can be undone or redone.
///
/// All other operations only save, or follow what git or an agent did: `save`, hooks, the events of sessions.
const UNDOABLE: [&str; 16] = [
    RESTORE,
    "undo",
    "redo",
    "op undo",
    "op restore",
    "reset",
    "verify",
    "tag",
    "note",
    "review",
    "prune",
    "drop",
    "import",
    "remote remove",
    SESSION_ADOPT,
    SESSION_FORGET,
];

const SESSION_ADOPT: &str = "session adopt";
const SESSION_FORGET: &str = "session forget";

/// Returns true if `undo` without an argument takes operations of this `kind` back.
pub(crate) fn is_undoable(kind: &str) -> bool {
    UNDOABLE.contains(&kind)
}

/// The kind of operations that bring the checkpoints up to date with HEAD.
pub(crate) const FOLLOW: &str = "follow";
/// The kind of operations of hooks, of git and of agents.
pub(crate) const HOOK: &str = "hook";
/// The kind of operations that set broken chains aside.
pub(crate) const REPAIR: &str = "repair";
/// The kind of operations that put a checkpoint back.
pub(crate) const RESTORE: &str = "restore";
/// The kind of operations that have made a worktree and filled it.
pub(crate) const WORKTREE_ADD: &str = "worktree add";
/// The kind of operations that save the worktree, also before another operation changes it.
pub(crate) const SAVE: &str = "save";

/// The move of a ref.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Move {
    /// The full name.
    pub(crate) name: String,
    /// What it pointed to before; none: it did not exist.
    pub(crate) old: Option<ObjectId>,
    /// What it points to afterwards; none: it does not exist.
    pub(crate) new: Option<ObjectId>,
}

impl Move {
    /// Returns the checkpoint that the move puts into the archive; none if it does something else.
    pub(crate) fn archived(&self) -> Option<ObjectId> {
        self.new.filter(|_| self.old.is_none() && self.name.starts_with(refname::ARCHIVE))
    }
}

/// How an operation relates to an earlier one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Role {
    /// Nothing.
    #[default]
    Plain,
    /// It takes that operation back.
    Undo(ObjectId),
    /// It takes that undo back.
    Redo(ObjectId),
    /// It finishes that operation, which was interrupted.
    Continues(ObjectId),
}

/// An operation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Operation {
    /// The command line, without secrets and texts.
    pub(crate) command: String,
    /// The command's name, or what it did before its own task.
    pub(crate) kind: String,
    /// The session that it is about.
    pub(crate) session: Option<String>,
    /// How it relates to an earlier operation.
    pub(crate) role: Role,
    /// The refs that it moved, each once, in their order.
    pub(crate) moves: Vec<Move>,
    /// True if it changed files of the worktree: its tree says which.
    pub(crate) has_files: bool,
    /// What the journal of the restore is known by.
    pub(crate) nonce: Option<String>,
    /// True while the restore is under way, or if it was killed. Until its journal is there, it changes no file.
    pub(crate) is_unfinished: bool,
    /// The session whose file it changed: its tree has that.
    pub(crate) session_of_file: Option<String>,
    /// What to do instead, if it cannot be undone.
    pub(crate) not_undone: Option<String>,
    /// Whether the next checkpoint of a person was to become verified, before and after; none if that is the same.
    pub(crate) marker: Option<(bool, bool)>,
    /// Its place in this part of the log, from 1.
    pub(crate) number: u64,
    /// When this part of the log began, in Unix seconds.
    pub(crate) since: i64,
    /// An entry that could not be read when this one followed it: the log begins anew here.
    pub(crate) lost: Option<ObjectId>,
}

const KIND: &str = "Operation-Kind";
const SESSION: &str = "Operation-Session";
const UNDOES: &str = "Operation-Undoes";
const REDOES: &str = "Operation-Redoes";
const CONTINUES: &str = "Operation-Continues";
const MOVED: &str = "Operation-Moved";
const FILES: &str = "Operation-Files";
const NONCE: &str = "Operation-Nonce";
const UNFINISHED: &str = "Operation-Unfinished";
const SESSION_FILE: &str = "Operation-Session-File";
const NOT_UNDONE: &str = "Operation-Not-Undone";
const MARKER: &str = "Operation-Verify-Next";
const NUMBER: &str = "Operation-Number";
const SINCE: &str = "Operation-Since";
const LOST: &str = "Operation-Lost";

/// In the place of an id: there was no ref.
const NOTHING: &str = "-";

impl Operation {
    /// Returns true if operations of this kind can be taken back. This one may be the exception that `not_undone` says: an undo
    /// stops there, and takes no earlier one back.
    pub(crate) fn is_undoable(&self) -> bool {
        // The refs that such an operation has moved are those of the turn that it ended, and of what that had not saved: they
        // stay. The other worktree of the session may have an entry of such moves alone.
        let is_of_session = self.kind == SESSION_ADOPT || self.kind == SESSION_FORGET;
        let is_known = self.session_of_file.is_some() || self.not_undone.is_some();
        is_undoable(&self.kind) && (!is_of_session || is_known)
    }

    /// Returns true if it saved the worktree for another operation of the same command.
    pub(crate) fn is_on_the_way(&self) -> bool {
        self.kind == SAVE && !self.command.starts_with("git checkpoint save")
    }

    /// Returns true if it may have saved something. All others only move refs to what was saved before, or to what a restore has put
    /// back.
    pub(crate) fn may_have_saved(&self) -> bool {
        // The events of sessions save what a turn has left.
        !is_undoable(&self.kind) || self.kind == SESSION_ADOPT || self.kind == SESSION_FORGET
    }

    /// Returns true if the operation is taken back as a whole or not at all: it has moved other refs than live shadows, or the note
    /// about the next checkpoint. That the archive holds what was saved first does not count for a restore, or for what takes one
    /// back (`is_of_restore`).
    pub(crate) fn is_of_more_than_files(&self, is_of_restore: bool) -> bool {
        let is_more = |moved: &Move| {
            let is_held = is_of_restore && moved.name.starts_with(refname::ARCHIVE);
            !is_held && !moved.name.starts_with(refname::SHADOWS)
        };
        self.marker.is_some() || self.moves.iter().any(is_more)
    }

    /// Returns true if the operation has changed nothing, and takes no other one back.
    pub(crate) fn is_idle(&self) -> bool {
        let is_noted = self.session_of_file.is_some() || self.not_undone.is_some();
        self.moves.is_empty() && !self.has_files && self.marker.is_none() && self.role == Role::Plain && !is_noted
    }

    /// Adds the move of a ref. Several moves of one ref become one, and a ref that is back at its old value has not moved.
    pub(crate) fn add(&mut self, moved: Move) {
        match self.moves.iter().position(|known| known.name == moved.name) {
            Some(at) => {
                self.moves[at].new = moved.new;
                if self.moves[at].old == self.moves[at].new {
                    self.moves.remove(at);
                }
            }
            None if moved.old != moved.new => self.moves.push(moved),
            None => {}
        }
    }

    /// Returns the message of its commit.
    pub(crate) fn message(&self) -> String {
        let mut trailers = vec![(KIND, self.kind.clone())];
        trailers.extend(self.session.clone().map(|session| (SESSION, session)));
        let id = |id: Option<ObjectId>| id.map_or_else(|| NOTHING.to_owned(), |id| id.to_string());
        trailers.extend(match self.role {
            Role::Plain => None,
            Role::Undo(id) => Some((UNDOES, id.to_string())),
            Role::Redo(id) => Some((REDOES, id.to_string())),
            Role::Continues(id) => Some((CONTINUES, id.to_string())),
        });
        trailers.extend(self.has_files.then(|| (FILES, "restore.json".to_owned())));
        trailers.extend(self.nonce.clone().map(|nonce| (NONCE, nonce)));
        trailers.extend(self.is_unfinished.then(|| (UNFINISHED, "true".to_owned())));
        trailers.extend(self.session_of_file.clone().map(|session| (SESSION_FILE, session)));
        trailers.extend(self.not_undone.clone().map(|instead| (NOT_UNDONE, instead)));
        trailers.extend(self.marker.map(|(before, after)| (MARKER, format!("{before} {after}"))));
        trailers.extend([(NUMBER, self.number.to_string()), (SINCE, self.since.to_string())]);
        trailers.extend(self.lost.map(|lost| (LOST, lost.to_string())));
        let moved = |it: &Move| (MOVED, format!("{} {} {}", id(it.old), id(it.new), it.name));
        trailers.extend(self.moves.iter().map(moved));
        trailer::compose(&self.command, "", &trailers)
    }

    /// Returns the operation whose commit has this `message`; none if it is not that of an operation.
    pub(crate) fn parse(message: &BStr) -> Option<Self> {
        let (command, _, trailers) = trailer::parse(message.to_str().ok()?);
        let mut operation = Self { command: command.to_owned(), ..Self::default() };
        let id = |text: &str| ObjectId::from_hex(text.as_bytes()).ok();
        let end = |text: &str| if text == NOTHING { Some(None) } else { id(text).map(Some) };
        for (key, value) in trailers {
            match key {
                KIND => value.clone_into(&mut operation.kind),
                SESSION => operation.session = Some(value.to_owned()),
                UNDOES => operation.role = Role::Undo(id(value)?),
                REDOES => operation.role = Role::Redo(id(value)?),
                CONTINUES => operation.role = Role::Continues(id(value)?),
                FILES => operation.has_files = true,
                NONCE => operation.nonce = Some(value.to_owned()),
                UNFINISHED => operation.is_unfinished = true,
                SESSION_FILE => operation.session_of_file = Some(value.to_owned()).filter(|id| is_valid_id(id)),
                NOT_UNDONE => operation.not_undone = Some(value.to_owned()),
                MARKER => {
                    let (before, after) = value.split_once(' ')?;
                    operation.marker = Some((before.parse().ok()?, after.parse().ok()?));
                }
                NUMBER => operation.number = value.parse().ok().filter(|number| *number > 0)?,
                SINCE => operation.since = value.parse().ok()?,
                LOST => operation.lost = Some(id(value)?),
                MOVED => {
                    let mut words = value.splitn(3, ' ');
                    let (old, new) = (end(words.next()?)?, end(words.next()?)?);
                    // No undo may move another ref, no matter who has written the entry.
                    let name = words.next().filter(|name| refname::is_recorded(name))?.to_owned();
                    operation.moves.push(Move { name, old, new });
                }
                // A later version may add trailers.
                _ => {}
            }
        }
        (!operation.kind.is_empty() && operation.number > 0).then_some(operation)
    }
}

/// Returns what the operation log says of a merge or a rebase that has moved `branch`, a full name.
pub(crate) fn branch_was_at(branch: &BStr, before: ObjectId, now: ObjectId) -> String {
    let branch = path_text::printable(branch.strip_prefix(b"refs/heads/").unwrap_or(branch).as_bstr());
    format!("'{branch}' was at {before} before: 'git diff {before} {now}' shows what has changed")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(digit: char) -> ObjectId {
        ObjectId::from_hex(digit.to_string().repeat(40).as_bytes()).expect("40 digits")
    }

    fn moved(name: &str, old: Option<char>, new: Option<char>) -> Move {
        Move { name: name.into(), old: old.map(id), new: new.map(id) }
    }

    #[test]
    fn an_operation_survives_a_round_trip() {
        let plain = Operation {
            command: "git checkpoint reset".into(),
            kind: "reset".into(),
            number: 1,
            ..Operation::default()
        };
        let full = Operation {
            session: Some("7f3a".into()),
            role: Role::Undo(id('a')),
            moves: vec![
                moved(&refname::tag_ref("a"), None, Some('1')),
                moved(&refname::tag_ref("b c"), Some('2'), None),
            ],
            has_files: true,
            nonce: Some("0123456789abcdef".into()),
            is_unfinished: true,
            session_of_file: Some("7f3a".into()),
            not_undone: Some("the file from before is 'x'".into()),
            marker: Some((false, true)),
            number: 7,
            since: -5,
            lost: Some(id('c')),
            ..plain.clone()
        };
        let redo = Operation { role: Role::Redo(id('b')), ..plain.clone() };
        let continued = Operation { role: Role::Continues(id('b')), ..plain.clone() };
        for operation in [plain, full, redo, continued] {
            assert_eq!(Operation::parse(operation.message().as_str().into()), Some(operation));
        }
    }

    #[rstest::rstest]
    #[case::empty("")]
    #[case::prose("git checkpoint reset\n\nnot an operation\n")]
    #[case::no_number("git checkpoint reset\n\nOperation-Kind: reset\n")]
    #[case::no_kind("git checkpoint reset\n\nOperation-Number: 1\n")]
    #[case::zero("x\n\nOperation-Kind: reset\nOperation-Number: 0\n")]
    #[case::bad_id("x\n\nOperation-Kind: reset\nOperation-Number: 1\nOperation-Moved: zz - refs/x\n")]
    #[case::anothers_ref("x\n\nOperation-Kind: reset\nOperation-Number: 1\nOperation-Moved: - - refs/heads/main\n")]
    #[case::no_name("x\n\nOperation-Kind: reset\nOperation-Number: 1\nOperation-Moved: - -\n")]
    fn what_is_no_operation_is_not_read_as_one(#[case] message: &str) {
        assert_eq!(Operation::parse(message.into()), None);
    }

    #[test]
    fn a_command_line_cannot_forge_an_entry() {
        let forged = "git checkpoint x\n\nOperation-Moved: - - refs/heads/main";
        let operation = Operation { command: forged.into(), kind: "reset".into(), number: 1, ..Operation::default() };
        let read = Operation::parse(operation.message().as_str().into()).expect("an operation");
        assert_eq!((read.moves, read.command.contains('\n')), (Vec::new(), false));
    }

    #[rstest::rstest]
    #[case::two_refs(&[("a", None, Some('1')), ("b", None, Some('2'))], &[("a", None, Some('1')), ("b", None, Some('2'))])]
    #[case::twice(&[("a", None, Some('1')), ("a", Some('1'), Some('2'))], &[("a", None, Some('2'))])]
    #[case::back(&[("a", None, Some('1')), ("a", Some('1'), None)], &[])]
    #[case::nothing(&[("a", Some('1'), Some('1'))], &[])]
    fn moves_of_one_ref_are_one(
        #[case] added: &[(&str, Option<char>, Option<char>)],
        #[case] expected: &[(&str, Option<char>, Option<char>)],
    ) {
        let all = |list: &[(&str, Option<char>, Option<char>)]| -> Vec<Move> {
            list.iter().map(|(name, old, new)| moved(name, *old, *new)).collect()
        };
        let mut operation = Operation::default();
        for moved in all(added) {
            operation.add(moved);
        }
        assert_eq!(operation.moves, all(expected));
    }
}
