//! How people name a checkpoint on the command line.

/// A way to name a checkpoint; resolved by `ops::lookup`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Selector {
    /// `@{n}`: the n-th latest of this worktree, counted from 0; `@` is `@{0}`.
    Latest(usize),
    /// `base`: the commit that HEAD is at.
    Base,
    /// `verified`: the last verified checkpoint of this worktree.
    Verified,
    /// A hexadecimal prefix of an id (at least four digits), lower case. May be a tag's name too.
    Prefix(String),
    /// The name of a tag.
    Tag(String),
}

impl Selector {
    /// Returns what `text` names, or nothing if it cannot name a checkpoint.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text {
            "" => return None,
            "@" => return Some(Self::Latest(0)),
            "base" => return Some(Self::Base),
            "verified" => return Some(Self::Verified),
            _ => {}
        }
        if let Some(rest) = text.strip_prefix("@{") {
            return rest.strip_suffix('}')?.parse().ok().map(Self::Latest);
        }
        let is_hex = (4..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        Some(if is_hex { Self::Prefix(text.to_ascii_lowercase()) } else { Self::Tag(text.to_owned()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::latest("@", Some(Selector::Latest(0)))]
    #[case::nth("@{12}", Some(Selector::Latest(12)))]
    #[case::open_brace("@{12", None)]
    #[case::negative("@{-1}", None)]
    #[case::prefix("ABCD", Some(Selector::Prefix("abcd".into())))]
    #[case::short("abc", Some(Selector::Tag("abc".into())))]
    #[case::word("before-refactoring", Some(Selector::Tag("before-refactoring".into())))]
    #[case::base("base", Some(Selector::Base))]
    #[case::empty("", None)]
    fn parses(#[case] text: &str, #[case] expected: Option<Selector>) {
        assert_eq!(Selector::parse(text), expected);
    }
}
