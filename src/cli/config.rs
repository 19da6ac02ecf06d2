//! `git checkpoint config`: shows the settings with where they come from, and edits the files they are in.

mod here;
mod migrate;

use std::path::Path;

use clap::{Args, Subcommand};
use serde::Serialize;

use super::{
    Exit,
    call::Call,
    external,
    output::{Output, printable},
    settings,
};
use crate::{
    config::{self, Layer, Origin, Value, edit},
    error::{Error, Result},
    git::{self, Repo},
};
use here::{Here, Place};

/// Show and edit the settings
///
/// Without --user, --project or --local, 'get' and 'list' show the values in force, and 'set', 'unset' and
/// 'edit' change the file of this repository (--local). git-checkpoint-config(5) explains every setting.
#[derive(Args, Debug)]
#[command(subcommand_value_name = "action", disable_help_subcommand = true)]
pub(super) struct Config {
    #[command(flatten)]
    place: Place,
    #[command(subcommand)]
    action: Action,
}

#[derive(Args, Clone, Copy, Debug)]
struct Format {
    /// Print JSON, with where each value comes from
    #[arg(long)]
    json: bool,
    /// Print before each value the layer, file and line that it comes from
    #[arg(long, conflicts_with = "json")]
    show_origin: bool,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Print the value of a setting; a list has one item per line
    Get {
        /// The setting, such as save.max-file-size
        #[arg(value_name = "key")]
        key: String,
        #[command(flatten)]
        format: Format,
    },
    /// Write a setting to a file, once it is known to be sound
    Set {
        /// The setting, such as save.max-file-size
        #[arg(value_name = "key")]
        key: String,
        /// The value; for a list, any number of them
        #[arg(value_name = "value", allow_hyphen_values = true)]
        values: Vec<String>,
    },
    /// Remove a setting from a file
    Unset {
        /// The setting, such as save.max-file-size
        #[arg(value_name = "key")]
        key: String,
    },
    /// Print all settings
    List {
        #[command(flatten)]
        format: Format,
    },
    /// Rewrite old names of settings to the new ones, keeping comments and order
    Migrate(migrate::Migrate),
    /// Print which files are read
    Path,
    /// Open a file in your editor
    Edit,
}

impl Config {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let (repo, outside) = match Repo::open_from_environment(Path::new(".")) {
            Ok(repo) => (Some(repo), None),
            // In a broken repository, neither its settings nor what to migrate is known.
            Err(error) if !self.place.user && Repo::is_inside_repository(Path::new(".")) => return Err(error),
            Err(error) => (None, Some(error)),
        };
        let mut here = Here { sources: settings::sources(repo.as_ref()), place: self.place, outside };
        if let (Action::Migrate(_), Some(repo)) = (&self.action, &repo) {
            call.describe(repo);
        }
        let out = &mut call.out;
        match self.action {
            Action::Get { key, format } => get(here, &key, format, out),
            Action::List { format } => list(here, format, out),
            Action::Set { key, values } => set(here, &key, &values, out),
            Action::Unset { key } => unset(here, &key, out),
            Action::Migrate(migrate) => migrate.run(&mut here, repo.as_ref(), out),
            Action::Path => path(here, out),
            Action::Edit => edit_file(here, out),
        }
    }
}

/// One setting with where it comes from.
#[derive(Serialize)]
struct Row {
    key: String,
    value: Value,
    layer: Layer,
    source: String,
    line: Option<usize>,
}

impl From<Origin> for Row {
    fn from(origin: Origin) -> Self {
        let Origin { key, value, layer, source, line } = origin;
        Self { key: key.to_owned(), value, layer, source, line }
    }
}

impl Row {
    /// Returns the layer and the place in it, each followed by a tab.
    fn origin(&self) -> String {
        let line = self.line.map(|line| format!(":{line}")).unwrap_or_default();
        format!("{}\t{}{line}\t", self.layer.name(), printable(&self.source))
    }

    /// Returns the value on one line: a list as an array.
    fn text(&self) -> String {
        match &self.value {
            Value::List(items) => {
                let items: Vec<_> = items.iter().map(|item| format!("\"{}\"", printable(item))).collect();
                format!("[{}]", items.join(", "))
            }
            value => printable(value.to_string()),
        }
    }
}

/// Returns the settings of the chosen file, or those in force, and whether all of them are sound; says what
/// is wrong with them.
fn rows(here: &mut Here, out: &mut Output) -> Result<(Vec<Row>, bool)> {
    if here.place.layer().is_some() {
        let (layer, path) = here.target()?;
        let source = path.to_string_lossy().into_owned();
        let found = edit::read(layer, &path)?.into_iter();
        let row = |(key, value, line)| Row { key, value, layer, source: source.clone(), line: Some(line) };
        return Ok((found.map(row).collect(), true));
    }
    let loaded = config::load_lenient(&here.sources);
    settings::warn(&loaded.warnings, out);
    for error in &loaded.errors {
        out.error("error", error);
    }
    Ok((loaded.origins.into_iter().map(Row::from).collect(), loaded.errors.is_empty()))
}

fn get(mut here: Here, key: &str, format: Format, out: &mut Output) -> Result<Exit> {
    let key = edit::find(key)?;
    let (rows, is_sound) = rows(&mut here, out)?;
    let Some(row) = rows.into_iter().find(|row| row.key == key.name) else { return Ok(Exit::No) };
    if format.json {
        #[derive(Serialize)]
        struct One {
            version: u32,
            #[serde(flatten)]
            row: Row,
        }
        out.json(&One { version: 1, row })?;
    } else if format.show_origin {
        out.line(&format!("{}{}", row.origin(), row.text()))?;
    } else {
        let text = row.value.to_string();
        // Scripts get the bytes as they are; a terminal does not.
        let lines = text.lines().map(|line| if out.is_terminal() { printable(line) } else { line.to_owned() });
        for line in lines.collect::<Vec<_>>() {
            out.line(&line)?;
        }
    }
    Ok(if is_sound { Exit::Done } else { Exit::Fatal })
}

fn list(mut here: Here, format: Format, out: &mut Output) -> Result<Exit> {
    let (rows, is_sound) = rows(&mut here, out)?;
    if format.json {
        #[derive(Serialize)]
        struct All {
            version: u32,
            settings: Vec<Row>,
        }
        out.json(&All { version: 1, settings: rows })?;
    } else {
        for row in rows {
            let origin = if format.show_origin { row.origin() } else { String::new() };
            let line = format!("{origin}{}={}", printable(&row.key), row.text());
            out.line(&if format.show_origin { line } else { out.fit(&line, 0) })?;
        }
    }
    Ok(if is_sound { Exit::Done } else { Exit::Fatal })
}

fn set(mut here: Here, key: &str, values: &[String], out: &mut Output) -> Result<Exit> {
    // A mistake in the command line comes before one in the place.
    edit::check(key, values)?;
    let (layer, path) = here.target()?;
    edit::set(layer, &path, key, values)?;
    let now = config::load_lenient(&here.sources);
    if let Some(winner) = now.origin(key).filter(|origin| origin.layer > layer) {
        let place = if winner.source.is_empty() { winner.layer.name() } else { &winner.source };
        out.warning(&format!("'{key}' in '{}' has no effect: '{place}' sets it too", path.display()));
    }
    if key == "push.auto" {
        out.hint("'git checkpoint enable' installs the hook pre-push, or takes it out again");
    }
    Ok(Exit::Done)
}

fn unset(mut here: Here, key: &str, out: &mut Output) -> Result<Exit> {
    let (layer, path) = here.target()?;
    if edit::unset(layer, &path, key)? {
        return Ok(Exit::Done);
    }
    out.warning(&format!("'{key}' is not set in '{}'", path.display()));
    if let Some(hint) = edit::find(key).err().as_ref().and_then(Error::hint) {
        out.hint(hint);
    }
    Ok(Exit::No)
}

fn path(mut here: Here, out: &mut Output) -> Result<Exit> {
    if here.place.layer().is_some() {
        let (_, path) = here.target()?;
        out.line(&printable(path.to_string_lossy().as_bytes()))?;
        return Ok(Exit::Done);
    }
    for layer in [Layer::System, Layer::User, Layer::Project, Layer::Local] {
        if let Some(path) = here.sources.file(layer) {
            out.line(&format!("{}\t{}", layer.name(), printable(path.to_string_lossy().as_bytes())))?;
        }
    }
    Ok(Exit::Done)
}

fn edit_file(mut here: Here, out: &mut Output) -> Result<Exit> {
    let (layer, path) = here.target()?;
    let editor = git::process::editor()?;
    let is_new = edit::create(layer, &path)?;
    let status = external::edit(&editor, &path)?;
    if is_new {
        edit::remove_untouched(layer, &path)?;
    }
    if !status.success() {
        return Err(Error::user(format!("the editor '{}' ended with {status}", editor.display())));
    }
    let now = config::load_lenient(&here.sources);
    settings::warn(&now.warnings, out);
    for error in &now.errors {
        out.error("error", error);
    }
    Ok(if now.errors.is_empty() { Exit::Done } else { Exit::Fatal })
}
