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
    /// `<session>@<turn>`: what the worktree was when the turn ended; with `^` after it, before its prompt. May be a tag's name too.
    Turn(TurnName),
    /// The name of a tag, or a revision of git's.
    Tag(String),
}

/// A turn, as people name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TurnName {
    /// What names the session: its id, the beginning of one, or the name of its agent.
    pub(crate) session: String,
    /// Counted from 1.
    pub(crate) turn: u32,
    /// True for the state before its prompt.
    pub(crate) is_before: bool,
}

impl TurnName {
    fn parse(text: &str) -> Option<Self> {
        let (rest, is_before) = text.strip_suffix('^').map_or((text, false), |rest| (rest, true));
        let (session, turn) = rest.rsplit_once('@')?;
        let is_plain = !session.is_empty() && turn.bytes().all(|byte| byte.is_ascii_digit());
        let turn = turn.parse().ok().filter(|turn| is_plain && *turn > 0)?;
        Some(Self { session: session.to_owned(), turn, is_before })
    }
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
        // For git, these are revisions of HEAD; here, '@' is the latest checkpoint.
        if let Some(rest) = text.strip_prefix('@').filter(|rest| rest.starts_with(['{', '^', '~'])) {
            let number = rest.strip_prefix('{')?.strip_suffix('}')?;
            return number.parse().ok().filter(|_| !number.starts_with('+')).map(Self::Latest);
        }
        if text.contains("@{") && !text.contains('}') {
            return None;
        }
        let is_hex = (4..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_hex {
            return Some(Self::Prefix(text.to_ascii_lowercase()));
        }
        Some(TurnName::parse(text).map_or_else(|| Self::Tag(text.to_owned()), Self::Turn))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(session: &str, turn: u32, is_before: bool) -> Selector {
        Selector::Turn(TurnName { session: session.into(), turn, is_before })
    }

    #[rstest::rstest]
    #[case::latest("@", Some(Selector::Latest(0)))]
    #[case::nth("@{12}", Some(Selector::Latest(12)))]
    #[case::open_brace("@{12", None)]
    #[case::open_brace_of_a_branch("main@{1", None)]
    #[case::plus("@{+1}", None)]
    #[case::parent_of_a_checkpoint("@{0}^", None)]
    #[case::parent("@^", None)]
    #[case::ancestor("@~2", None)]
    #[case::negative("@{-1}", None)]
    #[case::prefix("ABCD", Some(Selector::Prefix("abcd".into())))]
    #[case::short("abc", Some(Selector::Tag("abc".into())))]
    #[case::word("before-refactoring", Some(Selector::Tag("before-refactoring".into())))]
    #[case::base("base", Some(Selector::Base))]
    #[case::empty("", None)]
    #[case::turn("claude@3", Some(turn("claude", 3, false)))]
    #[case::before_a_turn("a@b@12^", Some(turn("a@b", 12, true)))]
    #[case::no_turn_0("claude@0", Some(Selector::Tag("claude@0".into())))]
    #[case::signed("claude@+3", Some(Selector::Tag("claude@+3".into())))]
    #[case::reflog("main@{1}", Some(Selector::Tag("main@{1}".into())))]
    #[case::no_session("@3", Some(Selector::Tag("@3".into())))]
    fn parses(#[case] text: &str, #[case] expected: Option<Selector>) {
        assert_eq!(Selector::parse(text), expected);
    }
}
