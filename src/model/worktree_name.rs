//! What a worktree gets from its branch: the name of its directory, and a port.

/// The most bytes that a branch gives to the name of a directory.
const LONGEST: usize = 50;
/// The name for a branch that has no character which a name may have.
const NAMELESS: &str = "worktree";
/// What Windows takes for a device, whatever its extension.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];
/// The first port, and how many there are: below those that systems give to outgoing connections.
const PORTS: (u16, u16) = (10_000, 10_000);

/// Returns what `branch` is called in the name of a directory: in lower case, with one `-` for each run of characters that are
/// neither letters nor digits, `_` or `.`, at most 50 bytes.
///
/// Two branches may get one name; see [`with_mark`].
pub(crate) fn of_branch(branch: &str) -> String {
    let mut name = String::new();
    for c in branch.chars().flat_map(char::to_lowercase) {
        let is_plain = c.is_alphanumeric() || c == '_' || c == '.';
        if is_plain {
            name.push(c);
        } else if !name.ends_with('-') {
            name.push('-');
        }
    }
    let is_edge = |c: char| c == '-' || c == '.';
    let name = name.trim_matches(is_edge);
    let end = (0..=LONGEST.min(name.len())).rev().find(|end| name.is_char_boundary(*end)).unwrap_or_default();
    let name = name[..end].trim_end_matches(is_edge);
    if name.is_empty() {
        return NAMELESS.to_owned();
    }
    let (stem, rest) = name.split_at(name.find('.').unwrap_or(name.len()));
    if is_device(stem) { format!("{stem}-{NAMELESS}{rest}") } else { name.to_owned() }
}

fn is_device(stem: &str) -> bool {
    let numbered = stem.strip_prefix("com").or_else(|| stem.strip_prefix("lpt"));
    DEVICES.contains(&stem) || numbered.is_some_and(|rest| rest.len() == 1 && rest.bytes().all(|b| b.is_ascii_digit()))
}

/// Returns `name` with six digits of the branch's `digest`: where another branch has the directory `name`.
pub(crate) fn with_mark(name: &str, digest: &str) -> String {
    format!("{name}-{}", digest.get(..6).unwrap_or(digest))
}

/// Returns a port from 10000 to 19999 that depends on `digest` alone, which has hexadecimal digits. Two worktrees may get one
/// port.
pub(crate) fn port(digest: &str) -> u16 {
    let number = digest.get(..8).and_then(|digits| u32::from_str_radix(digits, 16).ok()).unwrap_or_default();
    let (first, count) = PORTS;
    first + u16::try_from(number % u32::from(count)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("feature/auth", "feature-auth")]
    #[case("bugfix-42", "bugfix-42")]
    #[case("experiment/ui", "experiment-ui")]
    #[case("Feature/Auth", "feature-auth")]
    #[case("a//b--c-", "a-b-c")]
    #[case("feature auth", "feature-auth")]
    #[case("fix:#123", "fix-123")]
    #[case("v1.2_x", "v1.2_x")]
    #[case("../../etc", "etc")]
    #[case(".hidden.", "hidden")]
    #[case("a\nb\0c\\d", "a-b-c-d")]
    #[case("日本/é", "日本-é")]
    #[case("", "worktree")]
    #[case("-/-", "worktree")]
    #[case("con", "con-worktree")]
    #[case("nul.txt", "nul-worktree.txt")]
    #[case("com7", "com7-worktree")]
    #[case("com10", "com10")]
    #[case("console", "console")]
    fn a_branch_gives_a_name(#[case] branch: &str, #[case] name: &str) {
        assert_eq!(of_branch(branch), name);
    }

    #[test]
    fn a_long_name_is_cut_on_a_character_and_trimmed_again() {
        assert_eq!(of_branch(&"x".repeat(60)), "x".repeat(50));
        assert_eq!(of_branch(&format!("{}/y", "x".repeat(49))), "x".repeat(49));
        // Each has three bytes.
        assert_eq!(of_branch(&"語".repeat(30)), "語".repeat(16));
    }

    #[test]
    fn a_mark_is_the_beginning_of_the_digest() {
        assert_eq!(with_mark("feature-auth", "0a1b2c3d4e"), "feature-auth-0a1b2c");
    }

    #[rstest]
    #[case("00000000ff", 10_000)]
    #[case("0000270f00", 19_999)]
    #[case("0000271000", 10_000)]
    #[case("ffffffff00", 17_295)]
    fn a_port_is_in_its_range(#[case] digest: &str, #[case] expected: u16) {
        assert_eq!(port(digest), expected);
    }
}
