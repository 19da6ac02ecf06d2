//! Splits what the user types into words, as a shell would, without anything that a shell would expand.

use std::ffi::OsString;

/// Returns the words of `text`: blanks separate them, quotes and backslashes keep blanks; none if a quote is not closed.
pub(super) fn words(text: &str) -> Option<Vec<OsString>> {
    let (mut words, mut word): (Vec<OsString>, Option<String>) = (Vec::new(), None);
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            c if c.is_whitespace() => words.extend(word.take().map(OsString::from)),
            '\'' => loop {
                match rest.next()? {
                    '\'' => {
                        word.get_or_insert_default();
                        break;
                    }
                    c => word.get_or_insert_default().push(c),
                }
            },
            '"' => loop {
                match rest.next()? {
                    '"' => {
                        word.get_or_insert_default();
                        break;
                    }
                    '\\' => word.get_or_insert_default().push(rest.next()?),
                    c => word.get_or_insert_default().push(c),
                }
            },
            '\\' => word.get_or_insert_default().push(rest.next()?),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word.map(OsString::from));
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::nothing("  ", Some(vec![]))]
    #[case::plain("--agent codex  src", Some(vec!["--agent", "codex", "src"]))]
    #[case::quoted("--since '2 hours ago'", Some(vec!["--since", "2 hours ago"]))]
    #[case::double("a\"b \\\" c\"d ''", Some(vec!["ab \" cd", ""]))]
    #[case::escaped("a\\ b", Some(vec!["a b"]))]
    #[case::open("'a", None)]
    #[case::open_double("\"a\\", None)]
    #[case::open_escape("a\\", None)]
    fn words_are_split(#[case] text: &str, #[case] expected: Option<Vec<&str>>) {
        assert_eq!(words(text), expected.map(|words| words.into_iter().map(OsString::from).collect()));
    }
}
