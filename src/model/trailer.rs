//! `Key: value` lines at the end of a commit message, as git-interpret-trailers(1) reads them.

/// Returns the message made of `subject`, an optional `body` and `trailers`.
///
/// Line breaks inside a value are folded into spaces, so that no value can forge a trailer.
pub(crate) fn compose(subject: &str, body: &str, trailers: &[(&str, String)]) -> String {
    let mut message = one_line(subject);
    message.push('\n');
    // Git takes no commit with a NUL in it.
    let body = body.replace('\0', "");
    let body = body.trim();
    if !body.is_empty() {
        message.push('\n');
        message.push_str(body);
        message.push('\n');
    }
    if !trailers.is_empty() {
        message.push('\n');
        for (key, value) in trailers {
            message.push_str(&format!("{key}: {}\n", one_line(value)));
        }
    }
    message
}

/// Returns `text` on one line: control characters become spaces, runs of blanks collapse.
pub(crate) fn one_line(text: &str) -> String {
    text.split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Splits `message` into subject, body and the trailers of its last paragraph.
///
/// The last paragraph counts as trailers only if each of its lines is one and it is not the subject.
pub(crate) fn parse(message: &str) -> (&str, &str, Vec<(&str, &str)>) {
    let (subject, rest) = message.split_once('\n').unwrap_or((message, ""));
    let rest = rest.trim_matches('\n');
    let (body, last) = match rest.rfind("\n\n") {
        Some(at) => (&rest[..at], &rest[at + 2..]),
        None => ("", rest),
    };
    let trailers: Option<Vec<_>> = last.lines().map(parse_line).collect();
    match trailers {
        Some(trailers) if !trailers.is_empty() => (subject, body.trim_matches('\n'), trailers),
        _ => (subject, rest, Vec::new()),
    }
}

fn parse_line(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let is_key = !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    is_key.then(|| (key, value.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::subject_only("subject\n", "subject", "", &[])]
    #[case::trailers("subject\n\nA: 1\nB: 2\n", "subject", "", &[("A", "1"), ("B", "2")])]
    #[case::body_and_trailers("s\n\nbody\n\nA: 1\n", "s", "body", &[("A", "1")])]
    #[case::body_is_no_trailer("s\n\nnot a trailer\n", "s", "not a trailer", &[])]
    #[case::mixed_paragraph("s\n\nA: 1\nprose here\n", "s", "A: 1\nprose here", &[])]
    #[case::empty("", "", "", &[])]
    fn parses(#[case] message: &str, #[case] subject: &str, #[case] body: &str, #[case] trailers: &[(&str, &str)]) {
        assert_eq!(parse(message), (subject, body, trailers.to_vec()));
    }

    #[test]
    fn a_value_cannot_forge_a_trailer() {
        let message = compose("evil\n\nCheckpoint-Session: x", "", &[("A", "1\nB: 2".into())]);
        assert_eq!(parse(&message).2, [("A", "1 B: 2")]);
    }
}
