//! Names that a tag must not have, because commands read them as another checkpoint.

use super::{refname, selector::Selector};
use crate::error::{Error, Result};

/// The most bytes of a file name that git can lock (`<name>.lock`) on common file systems.
const MOST_BYTES: usize = 250;

/// Refuses `name` if it may be mistaken for another checkpoint. Whether git accepts it for a ref is not asked here.
///
/// # Errors
/// [`Kind::User`](crate::error::Kind::User) with what the name means.
pub(crate) fn check(name: &str) -> Result<()> {
    let refuse = |meaning: &str| {
        let error = Error::user(format!("a tag cannot be called '{name}': {meaning}"));
        Err(error.with_hint("choose another name; git-checkpoint-tag(1) lists those that are taken"))
    };
    match Selector::parse(name) {
        Some(Selector::Latest(_)) => return refuse("that names a checkpoint by its place in the list"),
        Some(Selector::Base) => return refuse("that names the commit that HEAD is at"),
        Some(Selector::Verified) => return refuse("that names the verified checkpoint"),
        Some(Selector::Prefix(_)) => return refuse("that may be the beginning of an id"),
        Some(Selector::Turn(turn)) => {
            return refuse(&format!("that names turn {} of the session '{}'", turn.turn, turn.session));
        }
        Some(Selector::Tag(_)) | None => {}
    }
    match name {
        "start" => refuse("lists call a checkpoint so that is not marked by a tag"),
        _ if name == "HEAD" || name.ends_with("_HEAD") => refuse("git names a commit so"),
        _ if refname::encode_component(name.into()).len() > MOST_BYTES => {
            Err(Error::user("the name of the tag is too long").with_hint(format!(
                "its ref may have {MOST_BYTES} bytes, and takes three for each that is not a plain letter"
            )))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::latest("@", "place in the list")]
    #[case::number("@{1}", "place in the list")]
    #[case::base("base", "HEAD is at")]
    #[case::verified("verified", "verified checkpoint")]
    #[case::start("start", "lists call")]
    #[case::hex("deadbeef", "an id")]
    #[case::upper_hex("FACADE", "an id")]
    #[case::date("20260131", "an id")]
    #[case::turn("s1@3", "turn 3 of the session 's1'")]
    #[case::before_turn("s1@3^", "turn 3 of the session 's1'")]
    #[case::head("HEAD", "git names")]
    #[case::orig_head("ORIG_HEAD", "git names")]
    fn names_of_other_checkpoints_are_refused(#[case] name: &str, #[case] why: &str) {
        let error = check(name).expect_err("it is refused");
        assert!(error.message().contains(why), "{error}");
    }

    #[rstest::rstest]
    #[case::word("before-refactoring")]
    #[case::short_hex("abc")]
    #[case::version("v1.0")]
    #[case::folder("rc/1")]
    #[case::session("claude-code")]
    #[case::letters("vóór")]
    fn other_names_are_free(#[case] name: &str) {
        check(name).expect("it is free");
    }

    #[test]
    fn a_name_must_fit_into_a_file_name() {
        check(&"x".repeat(250)).expect("it fits");
        assert!(check(&"x".repeat(251)).expect_err("too long").message().contains("too long"));
        assert!(check(&"ж".repeat(42)).expect_err("six bytes each").message().contains("too long"));
    }
}
