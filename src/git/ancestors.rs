//! The git that runs us as a hook: what it was asked for, where it does not say.

use std::fs;

use crate::state::process::parent_of;

/// How many processes up git is looked for: there is the hook's shell in between, and maybe a hook manager.
const MOST_ANCESTORS: usize = 8;

/// Returns true if we run in a hook of `git commit --amend`.
///
/// Git tells prepare-commit-msg so only where it takes the old message (githooks(5)); with `-m` its command line is all
/// there is. False where that cannot be read: not Linux, or an alias; then post-rewrite tells after the commit.
pub(crate) fn is_amending() -> bool {
    let mut process = parent_of(std::process::id());
    for _ in 0..MOST_ANCESTORS {
        let Some(pid) = process.filter(|pid| *pid > 1) else { return false };
        let Ok(line) = fs::read(format!("/proc/{pid}/cmdline")) else { return false };
        let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
        if is_git(words[0]) {
            return asks_for_amend(&words[1..]);
        }
        process = parent_of(pid);
    }
    false
}

fn is_git(program: &[u8]) -> bool {
    program.rsplit(|byte| *byte == b'/').next().is_some_and(|name| name == b"git" || name == b"git-commit")
}

/// Options whose value may be the next word: a message that says `--amend` is none.
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

/// Options end at `--`; git takes any beginning that is unambiguous.
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
    // Of several in one word, what comes after a letter with a value is that value.
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
}
