//! Adds our entries to a JSON file that others also edit, and removes them.
//!
//! The spelling of an added entry shows what was there before: in a list or object that existed and was empty, the
//! first item follows exactly one blank; in one that we created, no blank or a line break comes first, and it is
//! removed with its last item.

use serde_json::Value;

use super::{
    command::is_our_command,
    scan::{Item, Kind, Node, scan},
};
use crate::error::{Error, Result};

/// What to add to a file that others also edit.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// The keys that lead to the map of events: at most one.
    pub at: &'static [&'static str],
    /// A key and its value that a new file must have.
    pub beside: Option<(&'static str, &'static str)>,
    /// The events.
    pub events: &'static [&'static str],
    /// Returns the entry of an event that runs a command.
    pub entry: fn(&str, &str) -> Value,
}

pub(super) fn install(shape: Shape, text: Option<&str>, command: &str) -> Result<String> {
    let Some(text) = text else { return Ok(format!("{}\n", fresh(shape, command, "\n"))) };
    if is_installed(shape, text, command)? {
        return Ok(text.to_owned());
    }
    let Some(mut text) = uninstall(shape, text)? else { return install(shape, None, command) };
    let Some(root) = scan(&text)? else { return Ok(format!("{text}{}", fresh(shape, command, ""))) };
    require(&root, &Kind::Object, "the file")?;
    if let [key] = shape.at
        && root.get(key).is_none()
    {
        let style = Style::of(&text, &root);
        return Ok(insert(&text, &root, &style, &member(key, &style.map(shape, command))));
    }
    for event in shape.events {
        let root = scan(&text)?.expect("it was read before");
        let map = events(&root, shape).expect("it is there or was made");
        require(map, &Kind::Object, "the map of hooks")?;
        let entry = spaced(&(shape.entry)(event, command));
        let style = Style::of(&text, map);
        text = match map.get(event) {
            Some(list) => {
                require(list, &Kind::List, "a hook")?;
                insert(&text, list, &Style::of(&text, list), &entry)
            }
            None => insert(&text, map, &style, &member(event, &format!("[{entry}]"))),
        };
    }
    Ok(text)
}

fn require(node: &Node, kind: &Kind, what: &str) -> Result<()> {
    if node.kind == *kind {
        return Ok(());
    }
    let expected = if *kind == Kind::List { "a list" } else { "an object" };
    Err(Error::user(format!("{what} is not {expected}")))
}

/// Returns true if the file has all our entries as they should be, and no other ones of ours.
fn is_installed(shape: Shape, text: &str, command: &str) -> Result<bool> {
    let Some(root) = scan(text)? else { return Ok(false) };
    let Some(map) = events(&root, shape) else { return Ok(false) };
    let mut count = 0;
    for item in &map.items {
        for entry in item.node.items.iter().filter(|entry| has_ours(&entry.node)) {
            let value: Option<Value> = serde_json::from_str(&text[entry.node.start..entry.node.end]).ok();
            let event = item.key.as_deref().unwrap_or_default();
            if !shape.events.contains(&event) || value != Some((shape.entry)(event, command)) {
                return Ok(false);
            }
            count += 1;
        }
    }
    Ok(missing(shape, text).is_empty() && count == shape.events.len())
}

pub(super) fn uninstall(shape: Shape, text: &str) -> Result<Option<String>> {
    let mut text = text.to_owned();
    loop {
        let Some(root) = scan(&text)? else { return Ok(Some(text)) };
        match next(&text, &root, shape) {
            None => return Ok(Some(text)),
            Some(Found::Item(container, at)) => text = without(&text, container, at),
            Some(Found::Root) => {
                let (before, after) = (&text[..root.start], &text[root.end..]);
                let is_pretty = text[root.start + 1..].starts_with(['\n', '\r']);
                let rest = format!("{before}{after}");
                return Ok(match (is_pretty, rest.trim_start_matches('\u{feff}').trim().is_empty()) {
                    (false, _) => Some(rest),
                    (true, true) => None,
                    (true, false) => Some(format!("{before}{{}}{after}")),
                });
            }
        }
    }
}

/// Returns the events without an entry of ours.
pub(super) fn missing(shape: Shape, text: &str) -> Vec<&'static str> {
    let Ok(Some(root)) = scan(text) else { return shape.events.to_vec() };
    let Some(map) = events(&root, shape) else { return shape.events.to_vec() };
    let has = |event: &str| map.get(event).is_some_and(|list| list.items.iter().any(|entry| has_ours(&entry.node)));
    shape.events.iter().copied().filter(|event| !has(event)).collect()
}

/// Returns all texts that may be shell commands of ours.
pub(super) fn commands(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut nodes: Vec<Node> = scan(text).ok().flatten().into_iter().collect();
    while let Some(node) = nodes.pop() {
        for item in node.items.into_iter().rev() {
            let is_command = matches!(item.key.as_deref(), Some("command" | "bash"));
            found.extend(item.node.text().filter(|_| is_command).map(ToOwned::to_owned));
            nodes.push(item.node);
        }
    }
    found
}

fn events(root: &Node, shape: Shape) -> Option<&Node> {
    shape.at.iter().try_fold(root, |node, key| node.get(key))
}

/// An entry of ours to remove.
enum Found<'a> {
    Item(&'a Node, usize),
    Root,
}

/// Returns the first entry of ours, together with the containers that were created for it.
fn next<'a>(text: &str, root: &'a Node, shape: Shape) -> Option<Found<'a>> {
    let map = events(root, shape)?;
    let first = |item: &Item| item.node.items.iter().position(|entry| has_ours(&entry.node));
    let (at, number) = map.items.iter().enumerate().find_map(|(at, event)| Some((at, first(event)?)))?;
    let list = &map.items[at].node;
    let entry = &list.items[number].node;
    let handlers = entry.get("hooks").filter(|_| !is_ours(entry));
    if let Some(handlers) = handlers
        && handlers.items.iter().any(|handler| !is_ours(&handler.node))
    {
        let number = handlers.items.iter().position(|handler| is_ours(&handler.node))?;
        return Some(Found::Item(handlers, number));
    }
    if list.items.len() > 1 || !is_made(text, list) {
        return Some(Found::Item(list, number));
    }
    if map.items.len() > 1 || !is_made(text, map) {
        return Some(Found::Item(map, at));
    }
    let Some(key) = shape.at.first() else { return Some(Found::Root) };
    let position = root.position(key)?;
    let is_all = root.items.len() == 1 || is_beside(text, root, shape);
    let is_root = position == 0 && is_all && is_made(text, root);
    Some(if is_root { Found::Root } else { Found::Item(root, position) })
}

/// Returns true if, beside our hooks, the file contains only what we write to a new file.
fn is_beside(text: &str, root: &Node, shape: Shape) -> bool {
    let Some((key, value)) = shape.beside else { return false };
    let [_, item] = root.items.as_slice() else { return false };
    item.key.as_deref() == Some(key) && &text[item.node.start..item.node.end] == value
}

/// Returns true if we created the container; see the module's documentation.
fn is_made(text: &str, container: &Node) -> bool {
    container.items.first().is_some_and(|first| &text[container.start + 1..first.start] != " ")
}

fn has_ours(entry: &Node) -> bool {
    let handlers = entry.get("hooks").filter(|handlers| handlers.kind == Kind::List);
    is_ours(entry) || handlers.is_some_and(|handlers| handlers.items.iter().any(|handler| is_ours(&handler.node)))
}

fn is_ours(handler: &Node) -> bool {
    let texts = ["command", "bash", "powershell"].iter().filter_map(|key| handler.get(key)?.text());
    handler.kind == Kind::Object && texts.into_iter().any(is_our_command)
}

/// Returns the text without the item at `at` of `container`, its comma, and the blanks that were added with it.
fn without(text: &str, container: &Node, at: usize) -> String {
    let item = &container.items[at];
    let end = item.node.end;
    let (from, to) = match (at.checked_sub(1).map(|before| &container.items[before]), container.items.get(at + 1)) {
        (Some(before), _) => (before.node.end, item.start),
        (None, Some(next)) => (end, next.start),
        (None, None) => {
            let start = container.start + 1;
            let rest = &text[end..container.end];
            // The user may have put a comma after the only item.
            let comma = comma(rest).map_or(end, |at| if rest[..at].trim().is_empty() { end + at + 1 } else { end });
            let from = if text[start..item.start].trim().is_empty() { start } else { item.start };
            return format!("{}{}", &text[..from], &text[comma..]);
        }
    };
    let gap = &text[from..to];
    let (start, end) = (item.start.min(from), end.max(to));
    if gap.trim() == "," {
        return format!("{}{}", &text[..start], &text[end..]);
    }
    // Keep a comment that is there.
    let kept = comma(gap).map_or_else(|| gap.to_owned(), |at| format!("{}{}", &gap[..at], &gap[at + 1..]));
    format!("{}{kept}{}", &text[..start], &text[end..])
}

/// Returns where the first comma outside of comments is.
fn comma(gap: &str) -> Option<usize> {
    let mut at = 0;
    while let Some(c) = gap[at..].chars().next() {
        let rest = &gap[at..];
        at += match c {
            ',' => return Some(at),
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            '}' | ']' => return None,
            c => c.len_utf8(),
        };
    }
    None
}

/// Returns the text with `item` as the last one of `container`.
fn insert(text: &str, container: &Node, style: &Style, item: &str) -> String {
    let (at, before) = match container.items.last() {
        Some(last) => (last.node.end, format!(",{}", style.before)),
        None => (container.start + 1, " ".to_owned()),
    };
    format!("{}{before}{item}{}", &text[..at], &text[at..])
}

/// The layout of a container's items.
struct Style {
    /// The blanks between a comma and the next item.
    before: String,
    /// The end of the line and the indentation of an item; none if items are in one line.
    line: Option<String>,
}

impl Style {
    fn of(text: &str, container: &Node) -> Self {
        let Some(Item { start, .. }) = container.items.last() else {
            let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
            return Self { before: " ".to_owned(), line: text.trim().contains('\n').then(|| end.to_owned()) };
        };
        let head = &text[..*start];
        let blanks = &head[head.trim_end_matches([' ', '\t', '\r', '\n']).len()..];
        match blanks.rfind('\n') {
            Some(at) => {
                let at = if blanks[..at].ends_with('\r') { at - 1 } else { at };
                Self { before: blanks[at..].to_owned(), line: Some(blanks[at..].to_owned()) }
            }
            None => Self { before: " ".to_owned(), line: None },
        }
    }

    /// Returns a map of all events.
    fn map(&self, shape: Shape, command: &str) -> String {
        let members =
            shape.events.iter().map(|event| member(event, &format!("[{}]", spaced(&(shape.entry)(event, command)))));
        let members: Vec<String> = members.collect();
        let Some(line) = &self.line else { return format!("{{{}}}", members.join(", ")) };
        let blanks = line.trim_start_matches(['\r', '\n']);
        let unit = if blanks.is_empty() { "  " } else { blanks };
        format!("{{{line}{unit}{}{line}}}", members.join(&format!(",{line}{unit}")))
    }
}

/// Returns a file that contains only our entries; its items begin after `end`.
fn fresh(shape: Shape, command: &str, end: &str) -> String {
    let line = (!end.is_empty()).then(|| "\n".to_owned());
    let style = Style {
        before: String::new(),
        line: line.clone().map(|line| line + if shape.at.is_empty() { "" } else { "  " }),
    };
    let map = style.map(shape, command);
    let Some(key) = shape.at.first() else { return map };
    let indent = if line.is_some() { "  " } else { "" };
    let beside =
        shape.beside.map(|(key, value)| format!(",{}{indent}{}", line.as_deref().unwrap_or(" "), member(key, value)));
    format!("{{{end}{indent}{}{}{end}}}", member(key, &map), beside.unwrap_or_default())
}

fn member(key: &str, value: &str) -> String {
    format!("{}: {value}", Value::from(key))
}

/// Returns JSON in one line, with blanks as people write them.
fn spaced(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let members: Vec<String> = map.iter().map(|(key, value)| member(key, &spaced(value))).collect();
            format!("{{{}}}", members.join(", "))
        }
        Value::Array(list) => format!("[{}]", list.iter().map(spaced).collect::<Vec<_>>().join(", ")),
        value => value.to_string(),
    }
}
