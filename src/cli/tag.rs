//! What to type to name a checkpoint: `git tag` would take the name for one of a commit, and push what it names.

use std::{ffi::OsString, path::PathBuf};

use super::names::Names;
use crate::{
    config::Settings,
    git::Repo,
    model::{path_text::shell_word, refname},
    ops::{Context, lookup},
};

/// What is typed in the place of a command by those who want to name a checkpoint.
pub(super) const WORDS: [&str; 4] = ["tag", "note", "label", "name"];

/// Returns what to type instead of `arguments`, where one of the [`WORDS`], `typed`, is in the place of the command.
pub(super) fn hint(arguments: &[OsString], typed: &str) -> String {
    let is_it = |argument: &&OsString| *argument == typed;
    let named = named(arguments.iter().skip_while(|it| !is_it(it)).skip(1));
    let name = named.first().filter(|name| is_plain(name)).map_or("<tag>", String::as_str);
    let checkpoint = named.get(1).map_or("@", String::as_str);
    let id = id(arguments.iter().take_while(|it| !is_it(it)), checkpoint).unwrap_or_else(|| "<id>".to_owned());
    format!(
        "'git checkpoint save -m <text>' says what a checkpoint is about, 'git update-ref {}{name} {id}' gives it a tag",
        refname::TAGS
    )
}

/// Returns those of `arguments` that are neither options nor messages.
fn named<'a>(mut arguments: impl Iterator<Item = &'a OsString>) -> Vec<String> {
    let mut named = Vec::new();
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some("-m" | "-F" | "--message" | "--file") => drop(arguments.next()),
            Some(word) if !word.starts_with('-') => named.push(word.to_owned()),
            _ => {}
        }
    }
    named
}

/// Returns true if the ref of a tag ends with `name` as it is, and no shell changes it.
fn is_plain(name: &str) -> bool {
    refname::tag_ref(name) == format!("{}{name}", refname::TAGS) && shell_word(name) == name
}

/// Returns the id of the checkpoint that is named `text` where the directories of `-C` among `arguments` lead; none if there is no
/// such checkpoint.
fn id<'a>(mut arguments: impl Iterator<Item = &'a OsString>, text: &str) -> Option<String> {
    let mut directory = PathBuf::from(".");
    while let Some(argument) = arguments.next() {
        if argument == "-C" {
            directory.push(arguments.next()?);
        }
    }
    let context = Context::new(Repo::open_from_environment(&directory).ok()?, Settings::default());
    let found = lookup::find(&context, text).ok()?.id;
    context.repo.find_checkpoint(found).ok()??;
    Some(Names::new(&context.repo).id(&found))
}
