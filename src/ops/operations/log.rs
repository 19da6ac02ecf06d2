//! The operation log of this worktree, as far as it can be read, with what can be undone.

use gix::ObjectId;

use crate::{
    error::{Error, Result},
    git::read_operations::{Recorded, begins_with},
    model::{
        operation::{self, Role},
        operation_stack::{Stack, stack},
    },
    ops::Context,
    state::journal::Journal,
};

/// The log as it can be read.
pub(crate) struct Log {
    /// Newest first.
    pub(crate) entries: Vec<Recorded>,
    pub(crate) stack: Stack,
    /// Why there may be more.
    pub(crate) broken: Option<Error>,
}

impl Log {
    /// Reads the log of this worktree.
    pub(crate) fn read(context: &Context) -> Result<Self> {
        // Of a journal that is damaged, nothing is known: what it is of counts as killed before it began.
        let live = Journal::read(context.repo.git_dir()).ok().flatten();
        let (mut entries, mut broken) = (Vec::new(), None);
        for entry in context.repo.operations(context.repo.worktree_id())? {
            context.check_interrupt()?;
            match entry {
                Ok(recorded) => entries.push(recorded),
                Err(error) => broken = Some(error),
            }
        }
        let operations = entries.iter().rev().map(|recorded| (recorded.id, &recorded.operation));
        let stack = stack(operations, live.as_ref().map(|live| live.nonce.as_str()));
        Ok(Self { entries, stack, broken })
    }

    /// Returns the last operation that changed files and can be taken back.
    pub(crate) fn last_of_files(&self) -> Option<&Recorded> {
        let mut entries = self.stack.undo.iter().rev().filter_map(|id| self.entry(*id).ok());
        // What `not_undone` stands for may have changed files.
        entries.find(|entry| entry.operation.has_files || entry.operation.not_undone.is_some())
    }

    /// Follows a row of undos and redos: returns the command line of the operation that `recorded` takes back in the end; its own
    /// if it takes none back.
    pub(crate) fn command_behind<'l>(&'l self, recorded: &'l Recorded) -> &'l str {
        let row = self.row(recorded);
        let takes_back = |it: &&&Recorded| matches!(it.operation.role, Role::Undo(_) | Role::Redo(_));
        let behind = row.get(row.iter().take_while(takes_back).count()).or(row.last());
        &behind.unwrap_or(&recorded).operation.command
    }

    /// Returns true if the refs that `recorded` has moved go back together with the files, or nothing does. What takes such an
    /// operation back or finishes it is one, too.
    pub(crate) fn is_of_more(&self, recorded: &Recorded) -> bool {
        let row = self.row(recorded);
        let is_of_restore = row.last().is_some_and(|first| first.operation.kind == operation::RESTORE);
        row.iter().any(|it| it.operation.is_of_more_than_files(is_of_restore))
    }

    /// Returns `recorded`, what it takes back or finishes, and so on.
    fn row<'l>(&'l self, recorded: &'l Recorded) -> Vec<&'l Recorded> {
        let mut row = vec![recorded];
        let mut last = recorded;
        // An entry names earlier ones only.
        while let Role::Undo(of) | Role::Redo(of) | Role::Continues(of) = last.operation.role
            && let Some(earlier) = self.before(last.id).find(|entry| entry.id == of)
        {
            row.push(earlier);
            last = earlier;
        }
        row
    }

    /// Returns the operation directly before `id`.
    pub(crate) fn entry_before(&self, id: ObjectId) -> Option<&Recorded> {
        self.before(id).next()
    }

    /// Returns the operations before `id`, newest first.
    fn before(&self, id: ObjectId) -> impl Iterator<Item = &Recorded> {
        self.entries.iter().skip_while(move |entry| entry.id != id).skip(1)
    }

    /// Returns the newest operation that moved the ref `name`, if it left the ref at `now`.
    pub(crate) fn mover(&self, name: &str, now: Option<ObjectId>) -> Option<&Recorded> {
        let moves = |entry: &&Recorded| entry.operation.moves.iter().any(|moved| moved.name == name);
        let last = self.entries.iter().find(moves)?;
        last.operation.moves.iter().any(|moved| moved.name == name && moved.new == now).then_some(last)
    }

    /// Returns the entry `id`.
    pub(crate) fn entry(&self, id: ObjectId) -> Result<&Recorded> {
        let found = self.entries.iter().find(|entry| entry.id == id);
        found.ok_or_else(|| Error::internal(format!("'{id}' is not in the operation log")))
    }

    /// Returns the entry that `text` names: by `@{<n>}`, by the digits its id begins with, or `@` for the newest.
    pub(crate) fn find(&self, text: &str) -> Result<&Recorded> {
        const FEWEST_DIGITS: usize = 4;
        let none = || {
            let is_number = text.len() < FEWEST_DIGITS && text.parse::<usize>().is_ok_and(|it| it < self.entries.len());
            let name = if is_number { format!("'@{{{text}}}' names one; ") } else { String::new() };
            Error::user(format!("no operation matches '{text}'"))
                .with_hint(format!("{name}'git checkpoint op log' shows the operations"))
        };
        let number = match text {
            "@" => Some(0),
            _ => text.strip_prefix("@{").and_then(|rest| rest.strip_suffix('}')).and_then(|number| number.parse().ok()),
        };
        if let Some(number) = number {
            let number: usize = number;
            return self.entries.get(number).ok_or_else(none);
        }
        let is_id = text.len() >= FEWEST_DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let found: Vec<&Recorded> = self.entries.iter().filter(|entry| is_id && begins_with(entry.id, text)).collect();
        match found.as_slice() {
            [] => Err(none()),
            [only] => Ok(only),
            _ => Err(Error::user(format!("'{text}' is ambiguous")).with_hint("type more of the id")),
        }
    }
}

/// Returns what the operation did to files.
pub(crate) fn journal(context: &Context, recorded: &Recorded) -> Result<Option<Journal>> {
    let text = context.repo.files_of(recorded)?;
    text.map(|text| Journal::parse(&text)).transpose().map_err(|cause| {
        let id = context.repo.short_id(&recorded.id);
        Error::corrupt(format!("what the operation '{id}' did to files cannot be read")).with_cause(cause)
    })
}
