//! The names of rounds: of their branches, folders, labels and archives. What comes from outside is checked here before it is part
//! of a ref or a path.

/// The longest name, in bytes.
const LONGEST: usize = 50;
/// How many hexadecimal digits the id of a round, and the name of an anonymous branch, have.
pub(crate) const DIGITS: usize = 8;
/// The folder of a workspace with its worktrees.
pub(crate) const WORKTREES: &str = ".worktree";

/// How a round works on a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Mode {
    /// In a linked worktree of its own.
    Worktree,
    /// In a copy that is a repository of its own.
    Isolated,
    /// In the directory itself, on a branch of its own.
    Workspace,
    /// In the directory itself, as it is.
    Legacy,
}

/// Returns true if `name` can be one part of a ref, and of a path, on every system: letters, digits, `.`, `_` and `-`, with a letter
/// or a digit first.
pub(crate) fn is_name(name: &str) -> bool {
    name.len() <= LONGEST && is_part(name)
}

/// Returns true for what [`is_name`] accepts, however long it is.
fn is_part(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let lower = name.to_ascii_lowercase();
    !name.is_empty()
        && name.bytes().all(is_plain)
        && name.as_bytes()[0].is_ascii_alphanumeric()
        && !name.contains("..")
        && !name.ends_with('.')
        && ![".lock", ".git"].iter().any(|end| lower.ends_with(end))
        && lower != "head"
}

/// Returns true if the branches of rounds can be below `prefix`.
pub(crate) fn is_branch_prefix(prefix: &str) -> bool {
    prefix.len() <= LONGEST && prefix.split('/').all(is_name)
}

/// Returns true if `name` can be a branch of a round: a label, or below a prefix.
pub(crate) fn is_branch(name: &str) -> bool {
    name.len() <= 2 * LONGEST && name.split('/').all(is_part)
}

/// Returns true if `text` is the id of an object, in full.
pub(crate) fn is_object_id(text: &str) -> bool {
    [40, 64].contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns true if `text` can be what HEAD pointed to: the full name of a branch, which git has accepted, or a commit.
pub(crate) fn is_head(text: &str) -> bool {
    is_object_id(text)
        || text
            .strip_prefix("refs/heads/")
            .is_some_and(|name| !name.is_empty() && !name.starts_with('-') && !name.contains(char::is_control))
}

/// Returns true if `name` can be a folder of ours in a worktree: a name as [`is_name`] has it, perhaps hidden, but neither one of
/// git's nor one of the files that git-checkpoint reads there.
pub(crate) fn is_folder(name: &str) -> bool {
    let rest = name.strip_prefix('.').unwrap_or(name);
    let lower = name.to_ascii_lowercase();
    let is_taken = [WORKTREES, ".worktreeinclude", ".checkpoint.toml"].contains(&lower.as_str());
    is_name(rest) && !lower.starts_with(".git") && !is_taken
}

/// Returns true if `text` is the id of a round, or the last part of an anonymous branch.
pub(crate) fn is_id(text: &str) -> bool {
    text.len() == DIGITS && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Returns the `attempt`-th name for what is called `name`, from 1: the first one is the name itself.
pub(crate) fn numbered(name: &str, attempt: usize) -> String {
    if attempt <= 1 { name.to_owned() } else { format!("{name}-{attempt}") }
}

/// Returns the last part of the name of a branch.
pub(crate) fn last_part(branch: &str) -> &str {
    branch.rsplit('/').next().unwrap_or(branch)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("presenter", true)]
    #[case("agent1", true)]
    #[case("v1.2_x-y", true)]
    #[case("0", true)]
    #[case("", false)]
    #[case("../../x", false)]
    #[case("..", false)]
    #[case("-x", false)]
    #[case("-", false)]
    #[case("a..b", false)]
    #[case("x.lock", false)]
    #[case("x.LOCK", false)]
    #[case("x.git", false)]
    #[case("x.", false)]
    #[case(".x", false)]
    #[case("_x", false)]
    #[case("a/b", false)]
    #[case("a b", false)]
    #[case("a\nb", false)]
    #[case("a\0", false)]
    #[case("a~1", false)]
    #[case("a@{1}", false)]
    #[case("HEAD", false)]
    #[case("head", false)]
    #[case("é", false)]
    #[case("\u{202e}x", false)]
    fn a_name_is_checked(#[case] name: &str, #[case] expected: bool) {
        assert_eq!(is_name(name), expected);
    }

    #[test]
    fn a_long_name_is_refused() {
        assert!(is_name(&"x".repeat(50)) && !is_name(&"x".repeat(51)));
        assert!(is_branch_prefix(&"x".repeat(50)) && !is_branch_prefix(&format!("{}/y", "x".repeat(49))));
    }

    #[rstest]
    #[case("agents", true)]
    #[case("massgen", true)]
    #[case("team/agents", true)]
    #[case("", false)]
    #[case("/agents", false)]
    #[case("agents/", false)]
    #[case("a//b", false)]
    #[case("a/../b", false)]
    #[case("a/.b", false)]
    fn a_prefix_is_checked(#[case] prefix: &str, #[case] expected: bool) {
        assert_eq!(is_branch_prefix(prefix), expected);
    }

    #[rstest]
    #[case(".checkpoint_scratch", true)]
    #[case("scratch", true)]
    #[case(".scratch_archive", true)]
    #[case("", false)]
    #[case(".", false)]
    #[case("..", false)]
    #[case("../x", false)]
    #[case("a/b", false)]
    #[case(".git", false)]
    #[case(".GIT", false)]
    #[case(".gitignore", false)]
    #[case(".worktree", false)]
    #[case(".worktreeinclude", false)]
    #[case(".checkpoint.toml", false)]
    #[case("-x", false)]
    fn a_folder_is_checked(#[case] name: &str, #[case] expected: bool) {
        assert_eq!(is_folder(name), expected);
    }

    #[rstest]
    #[case("f028d1c7", true)]
    #[case("F028D1C7", false)]
    #[case("f028d1c", false)]
    #[case("f028d1c77", false)]
    #[case("../../..", false)]
    fn an_id_is_checked(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(is_id(text), expected);
    }

    #[test]
    fn a_taken_name_is_numbered() {
        assert_eq!([1, 2, 3].map(|attempt| numbered("agent1", attempt)), ["agent1", "agent1-2", "agent1-3"]);
        assert_eq!([last_part("agents/f028d1c7"), last_part("presenter")], ["f028d1c7", "presenter"]);
    }
}
