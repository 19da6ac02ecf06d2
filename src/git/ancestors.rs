//! The `git commit` or `git push` that runs us as a hook: its options, which it does not pass on.

use std::fs;

use crate::state::process::{Started, parent_of};

/// How many ancestors are searched for git: the hook's shell comes in between, and maybe a hook manager.
const MOST_ANCESTORS: usize = 8;

/// Returns whether the `git commit` that runs our hook has `--amend`; none if another command runs it, or if the
/// processes cannot be read (not Linux).
///
/// The arguments of prepare-commit-msg (githooks(5)) do not suffice: with `-m` there are none, and `-C HEAD` has the
/// same as `--amend`. After the commit, post-rewrite says whether it was an amend.
pub(crate) fn is_amending() -> Option<bool> {
    let mut process = parent_of(std::process::id());
    for _ in 0..MOST_ANCESTORS {
        let pid = process.filter(|pid| *pid > 1)?;
        let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
        if is_git(words[0]) {
            let is_commit = words[0].ends_with(b"git-commit") || is_commit(&words[1..]);
            return if asks_for_amend(&words[1..]) { Some(true) } else { is_commit.then_some(false) };
        }
        process = parent_of(pid);
    }
    None
}

/// A `git push` that runs our hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pushing {
    /// Its process; none if it has ended, or is not known.
    pub(crate) process: Option<Started>,
    /// True if it sends nothing.
    pub(crate) is_dry_run: bool,
}

/// Returns what is known of the `git push` that runs our hook, the process `pid` if the hook's shell says so.
pub(crate) fn pushing(pid: Option<u32>) -> Pushing {
    let line = |pid: u32| fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let is_git = |pid: &u32| is_git(line(*pid).split(|byte| *byte == 0).next().unwrap_or_default());
    let mut above = std::iter::successors(parent_of(std::process::id()), |pid| parent_of(*pid)).take(MOST_ANCESTORS);
    let Some(pid) = pid.or_else(|| above.find(is_git)) else { return Pushing { process: None, is_dry_run: false } };
    let line = line(pid);
    let is_dry_run = line.split(|byte| *byte == 0).skip(1).any(asks_for_dry_run);
    Pushing { process: Started::of(pid), is_dry_run }
}

/// Git accepts unambiguous abbreviations, and several short options in one word.
fn asks_for_dry_run(word: &[u8]) -> bool {
    let is_short =
        |letters: &[u8]| letters.contains(&b'n') && letters.iter().all(|letter| b"vqnfud46".contains(letter));
    word.len() >= b"--dr".len() && b"--dry-run".starts_with(word) || word.strip_prefix(b"-").is_some_and(is_short)
}

/// Returns true if the command after git's own options is `commit`, or `merge --continue`, which does the same.
fn is_commit(words: &[&[u8]]) -> bool {
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        match *word {
            b"-c" | b"-C" | b"--git-dir" | b"--work-tree" | b"--namespace" | b"--config-env" => drop(rest.next()),
            word if word.starts_with(b"-") => {}
            word => return word == b"commit" || word == b"merge" && rest.any(|word| *word == b"--continue"),
        }
    }
    false
}

fn is_git(program: &[u8]) -> bool {
    program.rsplit(|byte| *byte == b'/').next().is_some_and(|name| name == b"git" || name == b"git-commit")
}

/// Options whose value may be the next word, so that a message `--amend` does not count.
const WITH_VALUE: [&[u8]; 11] = [
    b"--message",
    b"--file",
    b"--author",
    b"--date",
    b"--reuse-message",
    b"--reedit-message",
    b"--template",
    b"--cleanup",
    b"--trailer",
    b"--fixup",
    b"--squash",
];

/// Options end at `--`; git accepts unambiguous abbreviations.
fn asks_for_amend(words: &[&[u8]]) -> bool {
    let mut options = words.iter().take_while(|word| **word != b"--");
    while let Some(word) = options.next() {
        if word.len() >= b"--am".len() && b"--amend".starts_with(word) {
            return true;
        }
        if takes_next(word) {
            options.next();
        }
    }
    false
}

/// Returns true if the word after the option `word` is its value.
fn takes_next(word: &[u8]) -> bool {
    if word.starts_with(b"--") {
        return WITH_VALUE.contains(&word);
    }
    // In a word with several short options, the rest after an option with a value is that value.
    let letters = word.strip_prefix(b"-").unwrap_or_default();
    letters.iter().position(|letter| b"mFCct".contains(letter)).is_some_and(|at| at + 1 == letters.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::whole(&["commit", "-q", "--amend", "-m", "x"], true)]
    #[case::short(&["commit", "--am"], true)]
    #[case::ambiguous(&["commit", "--a"], false)]
    #[case::path(&["commit", "--", "--amend"], false)]
    #[case::other(&["commit", "-m", "--amending"], false)]
    #[case::message(&["commit", "-qam", "--amend"], false)]
    #[case::long_message(&["commit", "--message", "--amend"], false)]
    #[case::after_a_message(&["commit", "-mwords", "--amend"], true)]
    #[case::after_a_setting(&["-c", "a.b=c", "commit", "--amend"], true)]
    fn options_are_read_as_git_does(#[case] words: &[&str], #[case] expected: bool) {
        let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        assert_eq!(asks_for_amend(&words), expected);
    }

    #[rstest::rstest]
    #[case::whole("--dry-run", true)]
    #[case::abbreviated("--dry", true)]
    #[case::ambiguous("--d", false)]
    #[case::short("-n", true)]
    #[case::several("-fn", true)]
    #[case::value("-omain", false)]
    #[case::force("-f", false)]
    #[case::branch("n", false)]
    fn a_push_that_sends_nothing_is_known(#[case] word: &str, #[case] expected: bool) {
        assert_eq!(asks_for_dry_run(word.as_bytes()), expected);
    }

    #[rstest::rstest]
    #[case::plain(&["commit", "-q"], true)]
    #[case::options(&["-c", "a.b=commit", "-C", "commit", "--no-pager", "commit"], true)]
    #[case::rebase(&["rebase", "commit"], false)]
    #[case::merge_goes_on(&["merge", "--continue"], true)]
    #[case::merge(&["merge", "topic"], false)]
    #[case::option_value(&["-c", "commit", "merge"], false)]
    #[case::nothing(&["-c"], false)]
    fn the_command_is_found(#[case] words: &[&str], #[case] expected: bool) {
        let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        assert_eq!(is_commit(&words), expected);
    }
}
