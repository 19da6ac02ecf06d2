//! Lists the operations of this worktree, newest first. Takes no lock, and writes nothing.

use bstr::BString;
use gix::ObjectId;
use serde::Serialize;

use super::log::{Log, journal};
use crate::{
    error::{Error, Result},
    git::read_operations::Recorded,
    model::{id_text, moment, operation::Role, path_text},
    ops::Context,
};

/// An operation. Serializes to an item of `op log --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Listed {
    /// The entry of the log.
    #[serde(serialize_with = "id_text::serialize")]
    pub id: ObjectId,
    /// When it was recorded, in ISO 8601.
    pub time: String,
    /// The same in Unix seconds.
    #[serde(skip)]
    pub seconds: i64,
    /// The command's name, or what it did before its own task: `save`, `follow` or `repair`.
    pub kind: String,
    /// The command line, without secrets and texts.
    pub command: String,
    /// The command line of what it takes back.
    pub of: Option<String>,
    /// The session that it was about.
    pub session: Option<String>,
    /// The operation that it takes back.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub undoes: Option<ObjectId>,
    /// The undo that it takes back.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub redoes: Option<ObjectId>,
    /// The operation that has taken it back.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub undone_by: Option<ObjectId>,
    /// True if `undo` can take it back.
    pub undoable: bool,
    /// True if `redo` can take it back.
    pub redoable: bool,
    /// The refs that it moved.
    pub moved: Vec<ListedMove>,
    /// The files that it changed; only `op show` has them.
    #[serde(serialize_with = "path_text::serialize_list", skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<BString>,
    /// True if it changed files of the worktree.
    pub changed_files: bool,
}

/// The move of a ref.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ListedMove {
    /// The ref.
    pub r#ref: String,
    /// What it pointed to before.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub old: Option<ObjectId>,
    /// What it pointed to afterwards.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub new: Option<ObjectId>,
}

impl Log {
    fn listed(&self, recorded: &Recorded) -> Listed {
        let operation = recorded.operation.clone();
        let (undoes, redoes) = match operation.role {
            Role::Undo(id) => (Some(id), None),
            Role::Redo(id) => (None, Some(id)),
            Role::Plain | Role::Continues(_) => (None, None),
        };
        let (moved, is_possible) = (operation.moves.into_iter(), operation.not_undone.is_none());
        let takes_back = undoes.is_some() || redoes.is_some();
        Listed {
            id: recorded.id,
            time: moment::iso(recorded.seconds, recorded.offset),
            seconds: recorded.seconds,
            kind: operation.kind,
            command: operation.command,
            of: takes_back.then(|| self.command_behind(recorded).to_owned()),
            session: operation.session,
            undoes,
            redoes,
            undone_by: Some(self.stack.end(recorded.id)).filter(|(_, is_undone)| *is_undone).map(|(by, _)| by),
            undoable: is_possible && self.stack.undo.contains(&recorded.id),
            redoable: is_possible && self.stack.redo.contains(&recorded.id),
            moved: moved.map(|it| ListedMove { r#ref: it.name, old: it.old, new: it.new }).collect(),
            files: Vec::new(),
            changed_files: operation.has_files,
        }
    }
}

/// Returns the operations of this worktree, newest first, and why there may be more that cannot be read.
pub fn list(context: &Context) -> Result<(Vec<Listed>, Option<Error>)> {
    let log = Log::read(context)?;
    Ok((log.entries.iter().map(|recorded| log.listed(recorded)).collect(), log.broken))
}

/// Returns the operation that `text` names, with its files.
pub fn show(context: &Context, text: &str) -> Result<Listed> {
    let log = Log::read(context)?;
    let recorded = log.find(text)?;
    let mut listed = log.listed(recorded);
    if let Some(journal) = journal(context, recorded)? {
        listed.files = journal.steps.into_iter().map(|step| step.path).collect();
        listed.files.extend(journal.directories.into_iter().chain(journal.removed));
        listed.files.sort();
    }
    Ok(listed)
}
