//! Puts our entries at the end of a TOML file that others write to, and takes them out again.

use serde_json::Value;
use toml_edit::DocumentMut;

use super::{Shape, is_our_command};
use crate::error::{Context as _, Error, Kind, Result};

pub(super) fn install(shape: Shape, text: Option<&str>, command: &str) -> Result<String> {
    let entries = shape.events.iter().map(|event| block(event, &(shape.entry)(event, command)));
    let ours = entries.collect::<Vec<_>>().join("\n");
    let Some(text) = text else { return Ok(ours) };
    // One end of line before it, whether the file ends with one or not: it goes with what it came with.
    let ours = format!("\n{ours}");
    parse(text)?;
    if text.contains(&ours) {
        return Ok(text.to_owned());
    }
    let Some(rest) = uninstall(text)? else { return install(shape, None, command) };
    let new = format!("{rest}{ours}");
    let document = new.parse::<DocumentMut>().map_err(|error| {
        Error::user("its hooks are not written as '[[hooks.Event]]'").with_hint("use hooks.json").with_cause(error)
    })?;
    let hooks = document.get("hooks").and_then(|hooks| hooks.as_table());
    let is_there =
        |event: &&str| hooks.is_some_and(|hooks| hooks.get(event).is_some_and(toml_edit::Item::is_array_of_tables));
    if shape.events.iter().all(is_there) { Ok(new) } else { Err(Error::internal("the hooks were not added")) }
}

pub(super) fn uninstall(text: &str) -> Result<Option<String>> {
    parse(text)?;
    let mut rest = text.to_owned();
    while let Some((start, end)) = find(&rest) {
        rest.replace_range(start..end, "");
    }
    if rest.len() != text.len() {
        parse(&rest)?;
    }
    Ok(if rest.is_empty() && text.starts_with("[[hooks.") { None } else { Some(rest) })
}

/// Returns the commands of our entries.
pub(super) fn commands(text: &str) -> Vec<String> {
    let mut rest = text;
    let mut found = Vec::new();
    while let Some((start, end)) = find(rest) {
        found.extend(rest[start..end].parse::<DocumentMut>().ok().and_then(|entry| command_of(&entry)));
        rest = &rest[end..];
    }
    found
}

fn parse(text: &str) -> Result<DocumentMut> {
    text.parse().context(Kind::User, || "it is no TOML".to_owned())
}

fn block(event: &str, entry: &Value) -> String {
    let value = |value: &Value| match value {
        Value::String(text) => toml_edit::Value::from(text.as_str()).to_string(),
        value => value.to_string(),
    };
    let mut text = format!("[[hooks.{event}]]\n");
    if let Some(matcher) = entry.get("matcher") {
        text.push_str(&format!("matcher = {}\n", value(matcher)));
    }
    let handler = entry["hooks"][0].as_object().into_iter().flatten();
    let handler = handler.map(|(key, item)| format!("{key} = {}", value(item).trim()));
    text.push_str(&format!("hooks = [{{ {} }}]\n", handler.collect::<Vec<_>>().join(", ")));
    text
}

/// Returns where an entry of ours is, with the end of the line before it.
fn find(text: &str) -> Option<(usize, usize)> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        if line.starts_with("[[hooks.")
            && let Some(length) = length(&text[start..])
        {
            let before = usize::from(text[..start].ends_with('\n'));
            return Some((start - before, start + length));
        }
    }
    None
}

/// Returns the length of the entry that `text` begins with, if it is as we write it.
fn length(text: &str) -> Option<usize> {
    let mut lines = text.split_inclusive('\n');
    let mut length = lines.next()?.len();
    for line in lines.take(2) {
        length += line.len();
        if line.starts_with("hooks = ") {
            let document: DocumentMut = text[..length].parse().ok()?;
            return is_our_command(&command_of(&document)?).then_some(length);
        }
        if !line.starts_with("matcher = ") {
            return None;
        }
    }
    None
}

/// Returns the command of an entry that has one handler.
fn command_of(entry: &DocumentMut) -> Option<String> {
    let (_, list) = entry.get("hooks")?.as_table()?.iter().next()?;
    let handlers = list.as_array_of_tables()?.get(0)?.get("hooks")?.as_array()?;
    let command = handlers.get(0)?.as_inline_table()?.get("command")?.as_str()?;
    (handlers.len() == 1).then(|| command.to_owned())
}
