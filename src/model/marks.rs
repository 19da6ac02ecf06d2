//! What a commit message says about agents' sessions: our trailers, and those of other tools.
//!
//! Anyone can write a message. We look generously for signs of another session, and strictly for signs that only this
//! session is named: git, jj and users differ in what they consider a trailer.

/// Trailers that name the session a commit belongs to, in lower case.
const SESSIONS: [&str; 2] = ["checkpoint-session", "claude-session-id"];

/// Trailers of commits that are an agent's temporary workspace, in lower case.
const TEMPORARY: [&str; 2] = ["claude-temp-change", "claude-precommit-session-id"];

/// A text in the messages of such commits, at any place.
const MARKER: &str = "[Claude Workspace]";

/// What comes between the marker and the session on the first line.
const AFTER_MARKER: &str = "Temporary workspace for session";

/// Returns the message of the temporary workspace of `session`.
pub(crate) fn workspace_message(session: &str) -> String {
    format!("{MARKER} {AFTER_MARKER} {session}")
}

/// Returns true if `message` is that of the temporary workspace of `session`.
pub(crate) fn is_workspace_of(message: &str, session: &str) -> bool {
    message.trim_end() == workspace_message(session)
}

/// Returns the trailer of changes in which the work of `session` is kept.
pub(crate) fn change_trailer(session: &str) -> String {
    format!("Claude-Session-Id: {session}")
}

/// Returns true if `message` ends with the trailer of `session`, and names no other one.
pub(crate) fn is_change_of(message: &str, session: &str) -> bool {
    message.trim_end().lines().last() == Some(&change_trailer(session)) && read(message, session) == Mark::Plain
}

/// The owner of a commit according to its message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// No other session is named.
    Plain,
    /// Another session's.
    Session(String),
    /// An agent's temporary workspace; the session, if another one is named.
    Temporary(Option<String>),
}

/// Returns the owner of the commit with `message`, from the point of view of the session `own`.
pub(crate) fn read(message: &str, own: &str) -> Mark {
    let trailers = trailers(message);
    let values = |keys: [&'static str; 2]| {
        trailers.iter().filter(move |(key, _)| keys.iter().any(|it| key.eq_ignore_ascii_case(it))).map(|(_, it)| *it)
    };
    if let Some(mark) = temporary(message, values(TEMPORARY).collect(), own) {
        return mark;
    }
    match values(SESSIONS).find(|id| *id != own) {
        Some(other) => Mark::Session(other.to_owned()),
        None => Mark::Plain,
    }
}

fn temporary(message: &str, named: Vec<&str>, own: &str) -> Option<Mark> {
    let first = message.lines().next().unwrap_or_default();
    let after = first.strip_prefix(MARKER).and_then(|rest| rest.strip_prefix(' ')?.strip_prefix(AFTER_MARKER));
    let owner = after.and_then(|rest| rest.strip_prefix(' '));
    let is_marked = message.contains(MARKER);
    if !is_marked && named.is_empty() {
        return None;
    }
    let is_own = (!is_marked || owner == Some(own)) && named.iter().all(|id| *id == own);
    if is_own {
        return None;
    }
    let other = named.into_iter().chain(owner.map(str::trim)).find(|id| *id != own && !id.is_empty());
    Some(Mark::Temporary(other.map(Into::into)))
}

/// Returns all lines of the last paragraph that may be meant as trailers.
fn trailers(message: &str) -> Vec<(&str, &str)> {
    let is_blank = |line: &&str| line.trim().is_empty();
    let last = message.split('\n').rev().skip_while(is_blank).take_while(|line| !is_blank(line));
    last.filter_map(trailer).collect()
}

fn trailer(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let (key, value) = (key.trim(), value.trim());
    (!key.is_empty() && !value.is_empty()).then_some((key, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(id: &str) -> Mark {
        Mark::Session(id.into())
    }

    fn temporary(id: &str) -> Mark {
        Mark::Temporary((!id.is_empty()).then(|| id.into()))
    }

    #[rstest::rstest]
    #[case::plain("fix: a thing\n\nwhy\n", Mark::Plain)]
    #[case::empty("", Mark::Plain)]
    #[case::record("t\n\nCheckpoint: 0123456789abcdef\n", Mark::Plain)]
    #[case::other("t\n\nClaude-Session-Id: x\n", session("x"))]
    #[case::ours("t\n\nCheckpoint-Session: x\n", session("x"))]
    #[case::own("t\n\nClaude-Session-Id: own\n", Mark::Plain)]
    #[case::capitals("t\n\nclaude-SESSION-id: x\n", session("x"))]
    #[case::only_paragraph("Claude-Session-Id: x", session("x"))]
    #[case::amid_noise("t\n\nClaude-Session-Id: x\nnoise\n", session("x"))]
    #[case::beside_another("t\n\nSigned-off-by: a\nClaude-Session-Id: x\n", session("x"))]
    #[case::before_the_last_paragraph("t\n\nClaude-Session-Id: x\n\nmore\n", Mark::Plain)]
    #[case::two_below_own("t\n\nClaude-Session-Id: x\nClaude-Session-Id: own\n", session("x"))]
    #[case::two_above_own("t\n\nClaude-Session-Id: own\nClaude-Session-Id: x\n", session("x"))]
    #[case::carriage_returns("t\r\n\r\nClaude-Session-Id: x\r\n\r\n", session("x"))]
    #[case::blanks("t\n \t\n  Claude-Session-Id :  x  \n \n", session("x"))]
    #[case::no_value("t\n\nClaude-Session-Id:\n", Mark::Plain)]
    #[case::longer_key("t\n\nX-Claude-Session-Id: x\n", Mark::Plain)]
    #[case::own_is_not_a_beginning("t\n\nClaude-Session-Id: own2\n", session("own2"))]
    #[case::workspace("[Claude Workspace] Temporary workspace for session x", temporary("x"))]
    #[case::own_workspace("[Claude Workspace] Temporary workspace for session own", Mark::Plain)]
    #[case::own_workspace_with_more("[Claude Workspace] Temporary workspace for session own\n\nmore", Mark::Plain)]
    #[case::own_in_the_text("t\n\n[Claude Workspace] Temporary workspace for session own", temporary(""))]
    #[case::own_and_more_on_the_line("[Claude Workspace] Temporary workspace for session own x", temporary("own x"))]
    #[case::marker_in_the_text("t\n\nabout [Claude Workspace]\n", temporary(""))]
    #[case::temp_change("t\n\nClaude-Temp-Change: x\n", temporary("x"))]
    #[case::own_temp_change("t\n\nClaude-Temp-Change: own\n", Mark::Plain)]
    #[case::precommit("t\n\nClaude-precommit-session-id: x\n", temporary("x"))]
    #[case::own_precommit_of_another("t\n\nClaude-precommit-session-id: own\nClaude-session-id: x\n", session("x"))]
    #[case::own_marker_other_trailer(
        "[Claude Workspace] Temporary workspace for session own\n\nClaude-Temp-Change: x\n",
        temporary("x")
    )]
    #[case::hostile("t\n\nClaude-Session-Id: \u{1b}[2J\u{202e}x\u{0}\n", session("\u{1b}[2J\u{202e}x\u{0}"))]
    fn messages_are_read(#[case] message: &str, #[case] expected: Mark) {
        assert_eq!(read(message, "own"), expected);
    }
}
