//! `git checkpoint note`: text that a person adds to a checkpoint, or to a commit with a record.

use std::{fs, io::Read as _, path::PathBuf};

use gix::ObjectId;

use super::{Exit, call::Call, date, date_column::date_column, external, layout, output::printable, phrase};
use crate::{
    error::{Context as _, Error, Kind, Result},
    git,
    ops::{
        Context,
        notes::{self, Changed, Listed, Over, ShownNote, Written},
    },
};

/// Add a note to a checkpoint or a record, or show, change or remove it
///
/// Without an option, it shows the note, and without a checkpoint, it lists all. With a note that is empty, there is none
/// afterwards.
#[derive(clap::Args, Debug)]
pub(super) struct Note {
    /// Write this note; with several, each is a paragraph
    #[arg(short, long, value_name = "text", group = "new")]
    message: Vec<String>,
    /// Write what is in the file, or in standard input for -
    #[arg(short = 'F', long, value_name = "file", group = "new")]
    file: Option<PathBuf>,
    /// Write or change the note in the editor
    #[arg(short, long, conflicts_with = "new")]
    edit: bool,
    /// Remove the note
    #[arg(long, conflicts_with_all = ["new", "edit"])]
    remove: bool,
    /// List all notes
    #[arg(short, long, conflicts_with_all = ["target", "new", "edit", "remove"])]
    list: bool,
    /// Write over the note if there is one
    #[arg(short, long, requires = "new")]
    force: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    /// The checkpoint, a record, or a commit with a record (default: the latest checkpoint)
    #[arg(value_name = "checkpoint|record")]
    target: Option<String>,
}

impl Note {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let target = self.target.as_deref().unwrap_or("@");
        let over = if self.force { Over::Anything } else { Over::Nothing };
        if !self.message.is_empty() {
            let text = self.message.join("\n\n");
            write(target, Some(text.as_bytes()), over, self.json, call)
        } else if let Some(file) = &self.file {
            let text = read(file)?;
            write(target, Some(&text), over, self.json, call)
        } else if self.edit {
            edit(target, self.json, call)
        } else if self.remove {
            write(target, None, Over::Anything, self.json, call)
        } else if self.list || self.target.is_none() {
            list(self.json, call)
        } else {
            show(target, self.json, call)
        }
    }
}

fn read(file: &PathBuf) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    if file.as_os_str() == "-" {
        std::io::stdin().lock().read_to_end(&mut text).context(Kind::User, || "cannot read standard input".into())?;
        return Ok(text);
    }
    fs::read(file).context(Kind::User, || format!("cannot read '{}'", file.display()))
}

fn write(target: &str, text: Option<&[u8]>, over: Over, is_json: bool, call: &mut Call) -> Result<Exit> {
    let context = call.writing_context()?;
    match notes::write(&context, target, text, over) {
        Ok(changed) => print(&changed, text.is_none(), is_json, call),
        // As git-notes(1), which could have done it.
        Err(error) if notes::is_there_already(&error) => {
            call.out.error("error", &error);
            Ok(Exit::No)
        }
        Err(error) => Err(error),
    }
}

fn print(changed: &Changed, is_removal: bool, is_json: bool, call: &mut Call) -> Result<Exit> {
    if changed.redacted {
        call.out.warning("a secret in the note was replaced");
    }
    let has_failed = is_removal && changed.previous.is_none();
    let exit = if has_failed { Exit::No } else { Exit::Done };
    if is_json {
        call.out.json(changed)?;
        return Ok(exit);
    }
    let id = call.names.id(&changed.id);
    if has_failed {
        call.out.error("error", &Error::user(format!("{id} has no note")));
        return Ok(exit);
    }
    let id = call.out.paint(phrase::ID, &id);
    call.out.note(&match (&changed.previous, &changed.note) {
        (None, None) => "the note is empty: nothing was written".to_owned(),
        (Some(_), None) => format!("removed the note of {id}"),
        (None, Some(_)) => format!("wrote the note of {id}"),
        (Some(old), Some(new)) if old == new => format!("the note of {id} is the same as before"),
        (Some(_), Some(_)) => format!("changed the note of {id}"),
    })?;
    if changed.note.is_none() && changed.previous.is_some() {
        call.out.hint("'git checkpoint undo' brings it back");
    }
    Ok(exit)
}

/// Lets the user change the note in the editor.
fn edit(target: &str, is_json: bool, call: &mut Call) -> Result<Exit> {
    let context = call.writing_context()?;
    let (blob, text) = notes::stored(&context, target)?;
    let (editor, directory) = (git::process::editor()?, tempfile::tempdir());
    let directory = directory.context(Kind::Internal, || "cannot make a temporary directory".into())?;
    let file = directory.path().join("NOTES_EDITMSG");
    let what = || format!("cannot write '{}'", file.display());
    fs::write(&file, template(&context, target, text.as_deref())?).context(Kind::Internal, what)?;
    let status = external::edit(&editor, &file)?;
    if !status.success() {
        let error = Error::user(format!("the editor '{}' ended with {status}", editor.display()));
        return Err(error.with_hint("'-m' or '-F' gives the note without an editor"));
    }
    let edited = fs::read(&file).context(Kind::User, || format!("cannot read '{}'", file.display()))?;
    let edited = context.repo.run_git(&["stripspace", "--strip-comments"], Some(&edited))?;
    match notes::write(&context, target, Some(&edited), Over::Known(blob)) {
        Ok(changed) => print(&changed, false, is_json, call),
        Err(error) => {
            let file = directory.keep().join("NOTES_EDITMSG");
            Err(error.with_hint(format!("what you have written is in '{}'", file.display())))
        }
    }
}

/// Returns what the editor opens: the note, and comments.
fn template(context: &Context, target: &str, text: Option<&str>) -> Result<Vec<u8>> {
    let comment = format!(
        "\nThe note of {}. An empty note removes it.\nLines like these are left out.\n",
        printable(target.as_bytes())
    );
    let comment = context.repo.run_git(&["stripspace", "--comment-lines"], Some(comment.as_bytes()))?;
    let mut template = text.unwrap_or_default().as_bytes().to_vec();
    template.push(b'\n');
    template.extend_from_slice(&comment);
    Ok(template)
}

fn show(target: &str, is_json: bool, call: &mut Call) -> Result<Exit> {
    let context = call.context()?;
    let (note, id) = notes::read(&context, target)?;
    let Some(note) = note else {
        call.out.error("error", &Error::user(format!("{} has no note", call.names.id(&id))));
        return Ok(Exit::No);
    };
    if is_json {
        call.out.json(&note)?;
    } else {
        call.start_pager(&context)?;
        note.note.lines().try_for_each(|line| call.out.line(&printable(line)))?;
    }
    Ok(Exit::Done)
}

fn list(is_json: bool, call: &mut Call) -> Result<Exit> {
    let context = call.context()?;
    let listed = notes::list(&context)?;
    call.start_pager(&context)?;
    if is_json {
        listed.iter().try_for_each(|note| call.out.json(note))?;
    } else {
        let now = date::now();
        listed.iter().try_for_each(|note| print_row(note, now, call))?;
    }
    if listed.is_empty() && !is_json {
        call.out.aside("no notes yet");
        call.out.hint("'git checkpoint note <checkpoint> -m <text>' writes one");
    }
    Ok(Exit::Done)
}

fn print_row(note: &Listed, now: i64, call: &mut Call) -> Result<()> {
    let id = call.names.id(&note.id);
    let date = note.written.moment.map(|moment| date_column(moment, now, call)).unwrap_or_default();
    let used = id.len() + layout::width(&date) + 4;
    let first = printable(note.note.lines().next().unwrap_or_default());
    let text = call.out.fit(&first, used);
    let (id, date) = (call.out.paint(phrase::ID, &id), call.out.paint(phrase::DIM, &date));
    call.out.line(&format!("{id}  {date}  {text}"))
}

/// Prints `note` below what it belongs to; if that is not `of`, with what it is stored for.
pub(super) fn print_shown(note: &ShownNote, of: ObjectId, call: &mut Call) -> Result<()> {
    call.out.line("")?;
    let Written { author, time, .. } = &note.written;
    let mut title = "Note".to_owned();
    if note.id != of {
        title.push_str(&format!(" on {}", call.names.id(&note.id)));
    }
    title.extend(author.iter().map(|author| format!(" by {}", printable(author))));
    title.extend(time.iter().map(|time| format!(", {}", date::in_full(time, call.out.is_terminal()))));
    call.out.line(&format!("{title}:"))?;
    note.note.lines().try_for_each(|line| call.out.prose(format!("    {}", printable(line)).trim_end()))
}
