//! What is searched for.

use crate::{
    error::{Context as _, Kind, Result},
    model::hit::{Excerpt, excerpt},
};

/// A text or a regular expression.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pattern {
    /// What is searched for.
    pub(crate) text: String,
    /// True if that is no regular expression.
    pub(crate) is_fixed: bool,
    /// True if upper and lower case are the same.
    pub(crate) ignores_case: bool,
}

/// A pattern, ready to be searched for.
pub(super) struct Query {
    regex: regex::bytes::Regex,
    /// True if TOML has the pattern as it is, whatever is escaped there.
    is_plain_in_toml: bool,
    /// The same of JSON, where more may be escaped.
    is_plain_in_json: bool,
}

impl Query {
    pub(super) fn new(pattern: &Pattern) -> Result<Self> {
        let Pattern { text, is_fixed, ignores_case } = pattern;
        let source = if *is_fixed { regex::escape(text) } else { text.clone() };
        let regex = regex::bytes::RegexBuilder::new(&source).case_insensitive(*ignores_case).multi_line(true).build();
        let regex = regex.context(Kind::User, || format!("'{text}' is not a regular expression"))?;
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'_' | b'-' | b'/' | b',');
        let is_kept = |byte: u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
        let is_plain_in_toml = text.bytes().all(|byte| if *is_fixed { is_kept(byte) } else { is_word(byte) });
        // Writers of JSON may escape any character; some escape those that mean something in HTML.
        let is_escaped = |byte: u8| b"/<>&'+`".contains(&byte);
        let is_plain_in_json = is_plain_in_toml && !text.bytes().any(is_escaped);
        Ok(Self { regex, is_plain_in_toml, is_plain_in_json })
    }

    /// Returns false if no text in `raw`, which is TOML, has a match.
    pub(super) fn may_be_in_toml(&self, raw: &[u8]) -> bool {
        !self.is_plain_in_toml || self.regex.is_match(raw)
    }

    /// Returns false if no text in `raw`, which is JSON, has a match.
    pub(super) fn may_be_in_json(&self, raw: &[u8]) -> bool {
        !self.is_plain_in_json || self.regex.is_match(raw)
    }

    /// Returns the line of the first match in `text`.
    pub(super) fn find(&self, text: &[u8]) -> Option<Excerpt> {
        self.regex.find(text).map(|found| excerpt(text, (found.start(), found.end())))
    }

    /// Returns how many matches `text` has.
    pub(super) fn count(&self, text: &[u8]) -> usize {
        self.regex.find_iter(text).count()
    }

    pub(super) fn is_in(&self, text: &[u8]) -> bool {
        self.regex.is_match(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(text: &str, is_fixed: bool) -> Query {
        Query::new(&Pattern { text: text.to_owned(), is_fixed, ignores_case: false }).expect("it is one")
    }

    #[rstest::rstest]
    #[case::word("needle", false, (true, true))]
    #[case::two_words("a needle", false, (true, true))]
    #[case::path("src/main", false, (true, false))]
    #[case::regex("need.e", false, (false, false))]
    #[case::fixed("need.e()", true, (true, true))]
    #[case::of_html("Vec<String>", true, (true, false))]
    #[case::apostrophe("don't", true, (true, false))]
    #[case::quote("\"needle\"", true, (false, false))]
    #[case::line_feed("a\nb", true, (false, false))]
    #[case::not_ascii("né", true, (false, false))]
    fn what_is_stored_as_it_is(#[case] text: &str, #[case] is_fixed: bool, #[case] expected: (bool, bool)) {
        let query = query(text, is_fixed);
        assert_eq!((query.is_plain_in_toml, query.is_plain_in_json), expected);
        assert_eq!((!query.may_be_in_toml(b"x"), !query.may_be_in_json(b"x")), expected, "others have to be read");
    }

    #[test]
    fn a_fixed_text_is_no_regular_expression() {
        assert!(query("a.c", false).is_in(b"abc"));
        assert!(!query("a.c", true).is_in(b"abc"));
        let error = Query::new(&Pattern { text: "a(".into(), ..Pattern::default() }).err().expect("it is none");
        assert_eq!(error.kind(), Kind::User);
    }
}
