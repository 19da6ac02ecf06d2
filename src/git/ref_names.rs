//! Names of refs, by git's rules: which are valid (git-check-ref-format(1)), and which a pattern matches (git-tag(1)).

use bstr::ByteSlice as _;
use gix::glob::wildmatch::Mode;

/// Returns true if git accepts `name`, a full name, for a ref.
pub(crate) fn is_valid(name: &str) -> bool {
    gix::validate::reference::name(name.into()).is_ok()
}

/// Returns true if one of `patterns` matches the short name `name` as `git tag --list` matches: `*` and `?` match a slash, too.
pub(crate) fn matches_one(patterns: &[String], name: &str) -> bool {
    patterns.iter().any(|pattern| gix::glob::wildmatch(pattern.as_bytes().as_bstr(), name.into(), Mode::empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::whole("v1", "v1", true)]
    #[case::no_part("v", "v1", false)]
    #[case::star("v*", "v1/rc", true)]
    #[case::question("v?", "v1", true)]
    #[case::class("v[0-9]", "v7", true)]
    #[case::escaped(r"v\*", "v1", false)]
    #[case::case("V*", "v1", false)]
    fn patterns(#[case] pattern: &str, #[case] name: &str, #[case] expected: bool) {
        assert_eq!(matches_one(&[pattern.to_owned()], name), expected);
    }
}
