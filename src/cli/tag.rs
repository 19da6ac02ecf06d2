//! `git checkpoint tag`: names checkpoints, lists the names, deletes them.

use super::{Exit, call::Call, date, date_column::date_column, layout, output::printable, phrase};
use crate::{
    error::{Error, Result},
    model::{likely, path_text::shell_word},
    ops::{
        Context, lookup,
        tags::{self, ListedTag},
    },
};

/// Name a checkpoint, or list and delete such names
///
/// Commands take the name wherever they take a checkpoint, and no prune drops the checkpoint. Without arguments, it lists the tags.
#[derive(clap::Args, Debug)]
pub(super) struct Tag {
    /// Move the tag if there is one of this name
    #[arg(short, long, requires = "name")]
    force: bool,
    /// Delete these tags
    #[arg(short, long, requires = "name", conflicts_with_all = ["force", "list"])]
    delete: bool,
    /// List the tags that one of the patterns matches, or all
    #[arg(short, long, conflicts_with = "force")]
    list: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    /// The name; with --delete, each name; with --list, patterns
    #[arg(value_name = "tag")]
    name: Option<String>,
    /// The checkpoint: an id, @{<n>} or a tag (default: the latest)
    #[arg(value_name = "checkpoint")]
    others: Vec<String>,
}

impl Tag {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let is_list = self.list || self.name.is_none();
        let words: Vec<String> = self.name.iter().chain(&self.others).cloned().collect();
        match self.name {
            _ if is_list => list(&words, self.json, call),
            _ if self.delete => delete(&words, self.json, call),
            Some(name) => match self.others.as_slice() {
                [] => tag(&name, None, self.force, self.json, call),
                [checkpoint] => tag(&name, Some(checkpoint), self.force, self.json, call),
                _ => {
                    Err(Error::user("a tag names one checkpoint").with_hint("'git checkpoint tag <tag> <checkpoint>'"))
                }
            },
            None => list(&words, self.json, call),
        }
    }
}

fn tag(name: &str, checkpoint: Option<&String>, is_forced: bool, is_json: bool, call: &mut Call) -> Result<Exit> {
    let context = call.writing_context()?;
    let tagged = tags::tag(&context, name, checkpoint.map(String::as_str), is_forced)?;
    if is_json {
        call.out.json(&tagged)?;
        return Ok(Exit::Done);
    }
    let id = call.out.paint(phrase::ID, &call.names.id(&tagged.id));
    let start = match tagged.previous {
        Some(previous) => format!("updated tag '{}' (was {}):", printable(name), call.names.id(&previous)),
        None => format!("tagged '{}':", printable(name)),
    };
    call.out.note(&format!("{start} {id} {}", printable(&tagged.called)))?;
    if tagged.is_revision {
        call.out.warning(&format!("git has a commit of the name '{name}'; 'git checkpoint' reads it as the tag"));
    }
    Ok(Exit::Done)
}

fn delete(names: &[String], is_json: bool, call: &mut Call) -> Result<Exit> {
    let context = call.writing_context()?;
    let untagged = tags::delete(&context, names)?;
    if is_json {
        call.out.json(&untagged)?;
    } else {
        for it in &untagged.deleted {
            let was = call.out.paint(phrase::ID, &call.names.id(&it.id));
            call.out.note(&format!("deleted tag '{}' (was {was})", printable(&it.tag)))?;
        }
    }
    for name in &untagged.missing {
        call.out.error("error", &Error::user(format!("tag '{name}' not found")));
    }
    let meant = untagged.missing.first().and_then(|name| lookup::meant_tag(&context, name));
    match (untagged.missing.is_empty(), untagged.deleted.len()) {
        (true, 0) => {}
        (true, count) if !is_json => {
            let what = if count == 1 { "it" } else { "them" };
            call.out.hint(&format!("'git checkpoint undo' brings {what} back"));
        }
        (true, _) => {}
        (false, _) => call.out.hint(&likely::hint(meant.as_deref(), "'git checkpoint tag' lists the tags")),
    }
    Ok(if untagged.missing.is_empty() { Exit::Done } else { Exit::No })
}

fn list(patterns: &[String], is_json: bool, call: &mut Call) -> Result<Exit> {
    let context = call.context()?;
    let listed = tags::list(&context, patterns)?;
    call.start_pager(&context)?;
    if is_json {
        listed.iter().try_for_each(|tag| call.out.json(tag))?;
    } else {
        let names = listed.iter().map(|it| layout::width(&printable(&it.tag))).max().unwrap_or_default();
        let room = call.out.columns().map_or(names, |columns| names.min(columns / 3));
        let now = date::now();
        listed.iter().try_for_each(|tag| print_row(tag, room, now, call))?;
    }
    if listed.is_empty() {
        say_nothing(&context, patterns, call);
    }
    Ok(Exit::Done)
}

fn print_row(tag: &ListedTag, room: usize, now: i64, call: &mut Call) -> Result<()> {
    // A name that is cut names nothing: it is whole, and the columns move.
    let name = layout::padded(&printable(&tag.tag), room);
    let id = call.names.id(&tag.id);
    let date = tag.moment.map(|moment| date_column(moment, now, call)).unwrap_or_default();
    let called = tag.called.as_deref().map_or_else(|| "(cannot be read)".to_owned(), printable);
    let used = layout::width(&name) + id.len() + layout::width(&date) + 6;
    let called = call.out.fit(&called, used);
    let (name, id) = (call.out.paint(phrase::MARK, &name), call.out.paint(phrase::ID, &id));
    let date = call.out.paint(phrase::DIM, &date);
    call.out.line(&format!("{name}  {id}  {date}  {called}"))
}

fn say_nothing(context: &Context, patterns: &[String], call: &mut Call) {
    match patterns {
        [] => {
            call.out.aside("no checkpoint has a tag");
            call.out.hint("'git checkpoint tag <tag> <checkpoint>' names one");
        }
        [pattern] if tags::list(context, &[format!("*{pattern}*")]).is_ok_and(|tags| !tags.is_empty()) => {
            call.out.aside("no tag matches");
            let pattern = shell_word(&format!("*{pattern}*"));
            call.out.hint(&format!("a pattern matches the whole name: 'git checkpoint tag --list {pattern}'"));
        }
        _ => call.out.aside("no tag matches"),
    }
}
