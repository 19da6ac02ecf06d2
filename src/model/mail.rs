//! Messages of patches that travel as mail, for git-am(1): what it would take for something else is indented.

/// How lines begin that end a message, begin a patch or another mail, or are taken for a header of the mail. In lower case.
const TAKEN: [&str; 9] = ["---", "diff -", "index: ", "from ", ">from ", "from:", "subject:", "date:", "[patch"];

/// Returns the message for a patch. git-am(1) removes brackets at the beginning of a subject.
pub(crate) fn message(subject: &str, body: &str) -> String {
    let subject = match subject.trim() {
        "" => "checkpoint".to_owned(),
        subject if subject.starts_with('[') || is_taken(subject) => format!("checkpoint: {subject}"),
        subject => subject.to_owned(),
    };
    let mut message = format!("{subject}\n");
    if !body.trim().is_empty() {
        message.push('\n');
    }
    for line in body.trim_end().lines() {
        message.push_str(if is_taken(line) { " " } else { "" });
        message.push_str(line);
        message.push('\n');
    }
    message
}

fn is_taken(line: &str) -> bool {
    let beginning: String = line.chars().take(10).collect::<String>().to_lowercase();
    TAKEN.iter().any(|taken| beginning.starts_with(taken))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::plain("a subject", "", "a subject\n")]
    #[case::with_a_body("a", "one\n\ntwo\n", "a\n\none\n\ntwo\n")]
    #[case::no_subject(" ", "", "checkpoint\n")]
    #[case::brackets("[wip] it", "", "checkpoint: [wip] it\n")]
    #[case::a_patch("a", "diff --git a/x b/x\n--- a/x\n+++ b/x\n", "a\n\n diff --git a/x b/x\n --- a/x\n+++ b/x\n")]
    #[case::headers("a", "From: me\nfrom 1 to 2\nIndex: x", "a\n\n From: me\n from 1 to 2\n Index: x\n")]
    fn messages_survive_mail(#[case] subject: &str, #[case] body: &str, #[case] expected: &str) {
        assert_eq!(message(subject, body), expected);
    }
}
