//! `git checkpoint import`: checkpoints and records from a file.

use std::{
    fs::File,
    io::{self, Read, Seek as _},
    path::{Path, PathBuf},
};

use super::{Exit, call::Call, output::printable, phrase};
use crate::{
    error::{Context as _, Error, Kind, Result},
    model::path_text::shell_word,
    ops::remotes::{self, ImportOptions, Imported},
};

/// Read checkpoints and records from a file that 'git checkpoint export' has written
///
/// They stay beside your own, as those of a remote do. All of the file is checked first; if something is wrong, nothing changes.
#[derive(clap::Args, Debug)]
pub(super) struct Import {
    /// The file; '-' is the standard input
    #[arg(value_name = "file")]
    file: PathBuf,
    /// Call what is imported so (default: the name of the file)
    #[arg(long = "as", value_name = "name")]
    name: Option<String>,
    /// Check the file and say what would be imported, and change nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

impl Import {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let shown = printable(self.file.as_os_str().as_encoded_bytes());
        let name = match self.name {
            Some(name) => name,
            None => name_of(&self.file)?,
        };
        remotes::check_name(&name)?;
        let context = call.writing_context()?;
        let mut file = opened(&self.file)?;
        let options = ImportOptions { name, dry_run: self.dry_run };
        let imported = {
            let _progress = call.progress("importing");
            remotes::import(&context, &mut file, &options)
        };
        let imported = imported.map_err(|error| match error.kind() {
            Kind::Race | Kind::Config => error,
            _ => {
                let message = format!("cannot import '{shown}': {}", error.message());
                error.with_message(message)
            }
        })?;
        if self.json {
            call.out.json(&imported)?;
        } else {
            say(&imported, call)?;
        }
        Ok(Exit::Done)
    }
}

/// Returns how what `file` has is called: as the file, without its extension.
fn name_of(file: &Path) -> Result<String> {
    let name = file.file_stem().filter(|_| file != Path::new("-")).and_then(|name| name.to_str());
    name.map(str::to_owned)
        .ok_or_else(|| Error::user("what is imported needs a name").with_hint("'--as <name>' names it"))
}

/// Opens `path`. What cannot be read twice is copied first.
fn opened(path: &Path) -> Result<File> {
    let shown = printable(path.as_os_str().as_encoded_bytes());
    let what = || format!("cannot read '{shown}'");
    if path == Path::new("-") {
        return copied(&mut io::stdin().lock()).context(Kind::User, what);
    }
    let mut file = File::open(path).context(Kind::User, what)?;
    let metadata = file.metadata().context(Kind::User, what)?;
    if metadata.is_dir() {
        return Err(Error::user(format!("'{shown}' is a directory")));
    }
    if metadata.is_file() { Ok(file) } else { copied(&mut file).context(Kind::User, what) }
}

fn copied(from: &mut impl Read) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    io::copy(from, &mut file)?;
    file.rewind()?;
    Ok(file)
}

/// Says what was imported, and what to do with it.
fn say(imported: &Imported, call: &mut Call) -> Result<()> {
    for name in &imported.damaged {
        call.out.warning(&format!("'{}' could not be read, and counts as nothing", printable(name)));
    }
    let (name, verb) = (&imported.name, if imported.dry_run { "would import" } else { "imported" });
    for checkpoint in &imported.checkpoints {
        call.out.line(&format!("{verb} {name}/{}", call.names.id(&checkpoint.id)))?;
    }
    for tag in &imported.tags {
        call.out.line(&format!("{verb} {name}/{}, a tag", printable(&tag.tag)))?;
    }
    let months = imported.refs.iter().filter(|it| it.is_moved() && it.is_of_transcripts()).count();
    let many = |count: usize, noun: &str| (count > 0).then(|| phrase::count(count, noun));
    let others = [
        many(imported.new_records, "record"),
        many(imported.notes, "note"),
        many(months, "month").map(|months| format!("transcripts of {months}")),
    ];
    let others: Vec<String> = others.into_iter().flatten().collect();
    if !others.is_empty() {
        call.out.note(&format!("{verb} {}", others.join(", ")))?;
    }
    let are_changed = imported.refs.iter().any(remotes::FetchedRef::is_moved);
    match imported.checkpoints.first() {
        _ if imported.dry_run => {}
        Some(first) => {
            let word = shell_word(&format!("{name}/{}", call.names.id(&first.id)));
            call.out.hint(&format!(
                "'git checkpoint show {word}' shows it, 'git checkpoint restore {word}' brings its files here, \
                 'git checkpoint list --fetched' lists all"
            ));
        }
        None if others.is_empty() && imported.tags.is_empty() && are_changed => {
            call.out.note(&format!("{verb} changes of records"))?;
        }
        None => {}
    }
    if others.is_empty() && imported.tags.is_empty() && imported.checkpoints.is_empty() && !are_changed {
        call.out.note(&format!("nothing in it is new to '{name}'"))?;
    }
    Ok(())
}
