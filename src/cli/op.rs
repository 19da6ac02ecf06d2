//! `git checkpoint op`: the operations of a worktree.

use super::{
    Exit,
    call::Call,
    date,
    date_column::date_column,
    layout,
    output::printable,
    phrase::{self, REDONE, RESTORED, UNDONE},
    restore::Format,
    undone::{How, note_changed, print},
};
use crate::{
    error::Result,
    ops::{
        Context,
        called::with_short_ids,
        operations::{self, Listed},
        undo,
    },
};

/// Show the operations of this worktree and take them back
///
/// Each command that moves a ref of checkpoints or changes files is an operation. An operation is named by its id, or by
/// @{<n>}: the latest is @{0}.
#[derive(clap::Args, Debug)]
pub(super) struct Op {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand, Debug)]
enum Action {
    /// List the operations, latest first
    Log(Log),
    /// Show what an operation did to refs and files
    Show(Show),
    /// Take one operation back, also one before the last
    Undo(TakeBack),
    /// Bring files and refs back to what they were after an operation
    ///
    /// The worktree is saved first, and what would be left goes to the archive; 'git checkpoint undo' takes all of that back.
    Restore(GoBack),
}

#[derive(clap::Args, Debug)]
struct Log {
    /// At most this many
    #[arg(short = 'n', long, value_name = "number")]
    max_count: Option<usize>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args, Debug)]
struct Show {
    /// The operation: an id or @{<n>} (default: the latest)
    #[arg(value_name = "op", default_value = "@{0}", hide_default_value = true)]
    op: String,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args, Debug)]
struct TakeBack {
    /// The operation: an id or @{<n>}
    #[arg(value_name = "op")]
    op: String,
    #[command(flatten)]
    how: How,
    #[command(flatten)]
    format: Format,
}

#[derive(clap::Args, Debug)]
struct GoBack {
    /// The operation: an id or @{<n>}
    #[arg(value_name = "op")]
    op: String,
    /// Say what would be done, and do nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    #[command(flatten)]
    format: Format,
}

/// What `op log --json` prints.
#[derive(serde::Serialize)]
struct Operations {
    version: u32,
    operations: Vec<Listed>,
}

/// What `op show --json` prints.
#[derive(serde::Serialize)]
struct Shown {
    version: u32,
    #[serde(flatten)]
    operation: Listed,
}

impl Op {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        match self.action {
            Action::Log(log) => {
                let context = call.context()?;
                print_log(&context, log.json, log.max_count, false, call)
            }
            Action::Show(show) => show.run(call),
            Action::Undo(undo) => {
                let context = call.writing_context()?;
                let progress = call.progress("undoing");
                let undone = undo::undo_named(&context, &undo.how.options(), &undo.op)?;
                drop(progress);
                note_changed(&context, "op undo", &undone);
                let verb = if undone.is_redo { REDONE } else { UNDONE };
                print(&undone, &undo.format, (verb, true), call)
            }
            Action::Restore(restore) => restore.run(call),
        }
    }
}

/// Prints at most `count` operations of the log; with `undoable`, only those that `undo` and `redo` can take back.
pub(super) fn print_log(
    context: &Context,
    json: bool,
    count: Option<usize>,
    undoable: bool,
    call: &mut Call,
) -> Result<Exit> {
    let (operations, broken) = operations::list(context)?;
    let numbered = operations.into_iter().enumerate();
    let mut wanted: Vec<(usize, Listed)> = numbered.filter(|(_, it)| !undoable || it.undoable || it.redoable).collect();
    wanted.truncate(count.unwrap_or(usize::MAX));
    if json {
        let operations = wanted.into_iter().map(|(_, operation)| operation).collect();
        call.out.json(&Operations { version: 1, operations })?;
    } else {
        call.start_pager(context)?;
        if wanted.is_empty() {
            call.out.aside(if undoable { "nothing to undo or redo" } else { "no operation yet" });
        }
        let now = date::now();
        for (number, operation) in &wanted {
            let line = line(context, *number, operation, now, call);
            call.out.line(&line)?;
        }
    }
    if let Some(error) = broken {
        call.out.warning(&format!("the operation log is damaged, and earlier operations are missing: {error}"));
        call.out.hint("'git checkpoint doctor' says what can be done");
    }
    Ok(Exit::Done)
}

/// Returns the line of an operation: `@{0}  0a1b2c3d  2 minutes ago  git checkpoint reset`.
fn line(context: &Context, number: usize, operation: &Listed, now: i64, call: &Call) -> String {
    let number = format!("{:<6}", format!("@{{{number}}}"));
    let id = call.names.id(&operation.id);
    let date = match call.out.columns() {
        Some(_) => date_column((operation.seconds, 0), now, call),
        None => operation.time.clone(),
    };
    let mut words = printable(with_short_ids(&context.repo, &operation.command));
    // What a command did before its own task has the command line of the command.
    if ["save", "follow", "repair"].contains(&operation.kind.as_str())
        && !operation.command.starts_with(&format!("git checkpoint {}", operation.kind))
    {
        words.push_str(&format!(" ({})", operation.kind));
    }
    if let Some(of) = &operation.of {
        words.push_str(&format!(" ({})", printable(of)));
    }
    let undone = if operation.undone_by.is_some() { " [undone]" } else { "" };
    let used = number.len() + id.len() + layout::width(&date) + 6 + undone.len();
    let words = call.out.fit(&words, used);
    let (id, date) = (call.out.paint(phrase::ID, &id), call.out.paint(phrase::DIM, &date));
    format!("{number}  {id}  {date}  {words}{}", call.out.paint(phrase::DIM, undone))
}

impl GoBack {
    fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.writing_context()?;
        let progress = call.progress("restoring");
        let done = undo::restore_to(&context, self.dry_run, &self.op)?;
        drop(progress);
        note_changed(&context, "op restore", &done);
        print(&done, &self.format, (RESTORED, true), call)
    }
}

impl Show {
    fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.context()?;
        let operation = operations::show(&context, &self.op)?;
        if self.json {
            call.out.json(&Shown { version: 1, operation })?;
            return Ok(Exit::Done);
        }
        call.start_pager(&context)?;
        let id = call.out.paint(phrase::ID, &format!("operation {}", operation.id));
        call.out.line(&id)?;
        call.out.line(&format!("Date:    {}", date::in_full(&operation.time, call.out.is_terminal())))?;
        call.out.field("Command:", &printable(with_short_ids(&context.repo, &operation.command)))?;
        call.out.line(&format!("Kind:    {}", printable(&operation.kind)))?;
        let about = [
            ("Of", operation.of.as_deref().map(printable)),
            ("Session", operation.session.as_deref().map(printable)),
            ("Undoes", operation.undoes.as_ref().map(|id| call.names.id(id))),
            ("Redoes", operation.redoes.as_ref().map(|id| call.names.id(id))),
            ("Undone", operation.undone_by.as_ref().map(|id| format!("by {}", call.names.id(id)))),
        ];
        for (name, value) in about {
            if let Some(value) = value {
                call.out.field(&format!("{:<8}", format!("{name}:")), &value)?;
            }
        }
        if !operation.moved.is_empty() {
            call.out.line("")?;
        }
        for moved in &operation.moved {
            let end = |id: &Option<gix::ObjectId>| id.as_ref().map_or_else(|| "-".to_owned(), |id| call.names.id(id));
            let ends = format!("    {:<8} {:<8} ", end(&moved.old), end(&moved.new));
            let name = printable(&moved.r#ref);
            let name = match call.room(ends.len()).filter(|room| layout::width(&name) > *room) {
                Some(room) => phrase::shortened(&call.names.in_ref(&name), room),
                None => name,
            };
            call.out.line(&format!("{ends}{name}"))?;
        }
        if !operation.files.is_empty() {
            call.out.line("")?;
        }
        let listed = call.listed(operation.files.len());
        for path in operation.files.iter().take(listed) {
            let path = call.names.path(path);
            let path = call.room(4).map_or_else(|| path.clone(), |room| phrase::shortened(&path, room));
            call.out.line(&format!("    {path}"))?;
        }
        if listed < operation.files.len() {
            call.out.line(&format!("    {}", phrase::and_more(operation.files.len() - listed)))?;
        }
        Ok(Exit::Done)
    }
}
