//! Small phrases that several commands print: ids, people, counts, sizes, colours.

use anstyle::{AnsiColor, Style};
use bstr::BString;

use super::{layout, output::printable};
use crate::{
    model::{
        checkpoint::Checkpoint,
        manifest::Reason,
        path_text::shell_word,
        process::Life,
        record::RecordId,
        session::{Phase, SHOWN_OF_ID},
    },
    ops::{remotes::ToFetch, restored_target::shown},
};

pub(super) use crate::model::refname::FETCH;

/// The colour of ids.
pub(super) const ID: Style = AnsiColor::Yellow.on_default();
/// The colour of marks such as `verified`.
pub(super) const MARK: Style = AnsiColor::Cyan.on_default();
/// The colour of new content.
pub(super) const NEW: Style = AnsiColor::Green.on_default();
/// The colour of deleted content, and of what needs attention.
pub(super) const OLD: Style = AnsiColor::Red.on_default();
/// The style of headings.
pub(super) const BOLD: Style = Style::new().bold();
/// The style of what matters less.
pub(super) const DIM: Style = Style::new().dimmed();

/// What a restore says it has done.
pub(super) const RESTORED: &str = "restored";
/// What an undo says it has done.
pub(super) const UNDONE: &str = "undone: restored";
/// What a redo says it has done.
pub(super) const REDONE: &str = "redone: restored";

/// Returns the state of a session, whose agent's process has the state `life`, in words.
pub(super) fn session_state(phase: Phase, life: Option<Life>) -> &'static str {
    match phase {
        Phase::Ended => "finished",
        _ if life == Some(Life::Dead) => "process gone",
        Phase::Active => "working",
        Phase::Idle => "waiting for you",
    }
}

/// Says which records may be had from a remote.
pub(super) fn to_fetch(to_fetch: &ToFetch) -> String {
    let from = match &to_fetch.remote {
        Some(remote) => format!("'{}'", printable(remote)),
        None => "a remote".to_owned(),
    };
    let (commits, verb) = (count(to_fetch.commits, "commit"), if to_fetch.commits == 1 { "names" } else { "name" });
    let (records, are) = (count(to_fetch.records, "record"), if to_fetch.records == 1 { "is" } else { "are" });
    format!("{commits} of HEAD {verb} {records} that {are} not here, and that {from} may have")
}

/// Returns the command that fetches these records.
pub(super) fn fetch_command(to_fetch: &ToFetch) -> String {
    let remote = to_fetch.remote.as_deref().map_or_else(|| "<remote>".to_owned(), shell_word);
    format!("git checkpoint fetch {remote}")
}

/// Returns the record `id`, and the `remote` it was fetched from, if this clone has not made it.
pub(super) fn record(id: &RecordId, remote: Option<&str>) -> String {
    let from = remote.map_or_else(String::new, |remote| format!(" (recorded in '{}')", printable(remote)));
    format!("{id}{from}")
}

/// Returns `count` and `noun`, with an `s` unless `count` is 1.
pub(super) fn count(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Says how many lines of a list that was cut are left out, and how to see them.
pub(super) fn and_more(left_out: usize) -> String {
    format!("and {left_out} more (-v lists all)")
}

/// Returns the line about the `sessions` whose work was set aside and has come back; none if there are none.
pub(super) fn taken_up(sessions: &[String]) -> Option<String> {
    let names = sessions.iter().map(printable).collect::<Vec<_>>();
    (!names.is_empty()).then(|| format!("uncommitted work has come back, of {}", names.join(", ")))
}

/// Returns `name` in at most `columns`: the end of it, from a `/` on if possible.
pub(super) fn shortened(name: &str, columns: usize) -> String {
    if layout::width(name) <= columns {
        return name.to_owned();
    }
    let fits = |(at, _): &(usize, char)| layout::width(&name[*at..]) <= columns.saturating_sub(3);
    let kept = name.char_indices().find(fits).map_or("", |(at, _)| &name[at..]);
    let from_slash = kept.find('/').map_or(kept, |at| &kept[at..]);
    format!("...{from_slash}")
}

/// Returns `parts` behind `start`, with commas, in lines of `columns` if possible; what follows the first is indented.
pub(super) fn wrapped(start: &str, parts: &[String], indent: usize, columns: usize) -> Vec<String> {
    wrapped_with(",", start, parts, indent, columns)
}

/// The same with `mark` instead of commas.
pub(super) fn wrapped_with(mark: &str, start: &str, parts: &[String], indent: usize, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = start.to_owned();
    for (at, part) in parts.iter().enumerate() {
        let mark = if at + 1 < parts.len() { mark } else { "" };
        if at > 0 && layout::width(&line) + 1 + layout::width(part) + mark.len() > columns {
            lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
        } else if at > 0 {
            line.push(' ');
        }
        line.push_str(part);
        line.push_str(mark);
    }
    lines.push(line);
    lines
}

/// Returns the id of a session for a table, cut to a line of `columns` of which `used` are taken; whole if this is no terminal.
/// The end is not cut, because two ids may differ only there.
pub(super) fn session_id(id: &str, columns: Option<usize>, used: usize) -> String {
    const END: usize = 6;
    let id = printable(id);
    let Some(room) = columns.map(|columns| columns.saturating_sub(used)) else { return id };
    let count = id.chars().count();
    if count <= room || room < 3 * END {
        return layout::cut(&id, room);
    }
    let end: String = id.chars().skip(count - END).collect();
    layout::cut(&id, room - END) + &end
}

/// Returns the name of `turn` of the session `id`, to be typed in a command. On a narrow terminal, it has only the beginning of
/// the id, which names the session, too.
pub(super) fn turn_name(id: &str, turn: &str, columns: Option<usize>) -> String {
    let id = printable(id);
    let id = if layout::is_narrow(columns) { id.chars().take(SHOWN_OF_ID).collect() } else { id };
    format!("{id}@{}", printable(turn))
}

/// Returns all that is known of who took `checkpoint`.
pub(super) fn origin(checkpoint: &Checkpoint) -> String {
    let origin = shown(&checkpoint.origin);
    let mut parts = vec![origin.contributor.as_str().to_owned()];
    parts.extend(origin.agent.as_deref().map(printable));
    parts.extend(origin.model.as_deref().map(|model| format!("model {}", printable(model))));
    parts.extend(origin.session.as_deref().map(|session| format!("session {}", printable(session))));
    parts.extend(origin.agent_id.as_deref().map(|id| format!("subagent {}", printable(id))));
    parts.extend(origin.turn.map(|turn| format!("turn {turn}")));
    parts.extend(origin.tool.as_deref().map(|tool| format!("tool {}", printable(tool))));
    parts.join(", ")
}

/// Returns `path` as git writes names that a terminal or a patch would garble: in double quotes, with C escapes.
pub(super) fn quoted(path: &BString) -> String {
    let plain = printable(path);
    if plain.as_bytes() == path.as_slice() && !plain.contains(['"', '\\']) {
        return plain;
    }
    let mut out = String::from('"');
    for &byte in path.iter() {
        match byte {
            b'"' | b'\\' => out.extend(['\\', char::from(byte)]),
            b'\n' => out.push_str("\\n"),
            b'\t' => out.push_str("\\t"),
            b'\r' => out.push_str("\\r"),
            b' '..=b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("\\{byte:03o}")),
        }
    }
    out.push('"');
    out
}

/// Returns which path was left out of a checkpoint and why: `big.bin (too large, 12.0 MiB)`; `path` is printable.
pub(super) fn skipped(path: &str, reason: &str, size: u64) -> String {
    if reason == Reason::TooManyFiles.as_str() {
        return format!("{path} (more than {} new files)", size.saturating_sub(1));
    }
    let amount = if reason == Reason::TooLarge.as_str() || reason == Reason::LowDiskSpace.as_str() {
        format!(", {}", self::size(size))
    } else {
        String::new()
    };
    format!("{path} ({reason}{amount})")
}

/// Returns `bytes` with a binary unit.
pub(super) fn size(bytes: u64) -> String {
    let units = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
    match units.into_iter().find(|(shift, _)| bytes >> shift > 0) {
        None => format!("{bytes} bytes"),
        Some((shift, unit)) => {
            let tenths = (u128::from(bytes) * 10) >> shift;
            format!("{}.{} {unit}", tenths / 10, tenths % 10)
        }
    }
}

/// Returns how to call the worktree `id`.
pub(super) fn worktree(id: &BString) -> String {
    if id == "main" { "the main worktree".to_owned() } else { format!("the worktree '{}'", printable(id)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_lose_their_beginning() {
        assert_eq!(shortened("a/very/long/path/to/file", 16), ".../path/to/file");
        assert_eq!(shortened("abcdefghijkl", 8), "...hijkl");
    }

    #[test]
    fn lists_are_wrapped() {
        let parts: Vec<String> = ["one", "two", "three"].map(str::to_owned).into();
        assert_eq!(wrapped("List: ", &parts, 2, usize::MAX), ["List: one, two, three"]);
        assert_eq!(wrapped("List: ", &parts, 2, 15), ["List: one, two,", "  three"]);
        assert_eq!(wrapped("List: ", &parts, 2, 1), ["List: one,", "  two,", "  three"]);
        assert_eq!(wrapped("List: ", &[], 2, 1), ["List: "]);
        assert_eq!(wrapped_with(";", "", &parts, 0, 9), ["one; two;", "three"]);
    }

    #[rstest::rstest]
    #[case(0, "0 bytes")]
    #[case(1023, "1023 bytes")]
    #[case(1536, "1.5 KiB")]
    #[case(3 << 30, "3.0 GiB")]
    fn sizes(#[case] bytes: u64, #[case] expected: &str) {
        assert_eq!(size(bytes), expected);
    }

    #[rstest::rstest]
    #[case::plain("a b/\u{e4}", "a b/\u{e4}")]
    #[case::newline("a\nb", r#""a\nb""#)]
    #[case::quote("a\"b", r#""a\"b""#)]
    #[case::reordering("a\u{202e}b", r#""a\342\200\256b""#)]
    fn names_are_quoted_as_git_does(#[case] path: &str, #[case] expected: &str) {
        assert_eq!(quoted(&path.into()), expected);
    }

    #[test]
    fn the_id_of_a_session_is_whole_or_looks_cut() {
        let id = "0196b1f2-aaaa-7bbb-8ccc-0123456789ab";
        assert_eq!(session_id(id, None, 17), id);
        assert_eq!(session_id(id, Some(60), 17), id);
        assert_eq!(session_id(id, Some(40), 20), "0196b1f2-aa...6789ab");
        assert_eq!(turn_name(id, "2", Some(60)), "0196b1f2-aaaa-7bbb@2");
        assert_eq!(turn_name(id, "2", Some(100)), format!("{id}@2"));
    }
}
