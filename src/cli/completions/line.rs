//! The command line that is being completed, up to the cursor, and which candidates a shell may insert into it.

use std::{
    ffi::{OsStr, OsString},
    path::Path,
};

use clap_complete::Shell;

/// Options of git whose value is the next word.
const WITH_VALUE: &[&str] = &["-c", "--config-env", "--namespace", "--super-prefix", "--attr-source"];
/// Options of git that name another repository, for which there are no candidates.
const ELSEWHERE: &[&str] = &["--git-dir", "--work-tree"];

/// A command line of ours.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// The directories of the options `-C`, in order.
    directories: Vec<OsString>,
    /// The words, with the program's name first; the last one is being typed, and may be empty.
    pub(super) words: Vec<OsString>,
}

impl Line {
    /// Reads the words of `git-checkpoint ...` or `git ... checkpoint ...`; none if the command is still missing, or if git is
    /// given another repository than that of the current directory.
    pub(super) fn read(words: &[OsString]) -> Option<Self> {
        let mut directories = Vec::new();
        let mut rest = words.iter();
        let program = rest.next()?;
        if Path::new(program).file_name() == Some(OsStr::new("git")) {
            loop {
                let word = rest.next()?.to_str()?;
                let name = word.split('=').next().unwrap_or(word);
                match word {
                    "-C" => directories.push(rest.next()?.clone()),
                    _ if ELSEWHERE.contains(&name) => return None,
                    _ if WITH_VALUE.contains(&word) => drop(rest.next()),
                    _ if word.starts_with('-') => {}
                    // `checkpoint`, or an alias.
                    _ => break,
                }
            }
        }
        let mut own: Vec<OsString> = vec!["git-checkpoint".into()];
        own.extend(rest.cloned());
        let before_cursor = &own[..own.len() - 1];
        let options = before_cursor.iter().take_while(|word| *word != "--").zip(&before_cursor[1.min(own.len() - 1)..]);
        directories.extend(options.filter(|(option, _)| *option == "-C").map(|(_, directory)| directory.clone()));
        (own.len() > 1).then_some(Self { directories, words: own })
    }

    /// Returns the word that is being typed; empty if it is not UTF-8.
    pub(super) fn current(&self) -> &str {
        self.words.last().and_then(|word| word.to_str()).unwrap_or_default()
    }

    /// Returns true if `--` stands before the cursor: options end there.
    pub(super) fn has_double_dash(&self) -> bool {
        self.has("--")
    }

    /// Returns the word after `word`, before the cursor and before `--`.
    pub(super) fn after(&self, word: &str) -> Option<&str> {
        let end = self.words.iter().position(|it| it == "--").unwrap_or(self.words.len());
        let before_cursor = &self.words[..end.min(self.words.len() - 1)];
        let at = before_cursor.iter().position(|it| it == word)?;
        before_cursor[at + 1..].iter().filter_map(|it| it.to_str()).find(|it| !it.starts_with('-'))
    }

    /// Returns true if `word` stands before the cursor.
    pub(super) fn has(&self, word: &str) -> bool {
        self.words[..self.words.len() - 1].iter().any(|it| it == word)
    }

    /// Returns the word before the cursor that may name the checkpoint whose files are meant, after `restore` or `diff`.
    pub(super) fn checkpoint(&self) -> Option<&str> {
        ["restore", "diff"].into_iter().find_map(|command| self.after(command))
    }

    /// Returns true if the shell cannot know the files: they are in another directory than its own.
    pub(super) fn is_elsewhere(&self) -> bool {
        !self.directories.is_empty()
    }

    /// Changes to the directories of the options `-C`; returns false if one of them does not exist.
    pub(super) fn enter(&self) -> bool {
        self.directories.iter().all(|directory| std::env::set_current_dir(directory).is_ok())
    }
}

/// Returns true if `shell` may insert `value`, for example the name of a branch that another person chose.
///
/// Bash inserts values other than paths without quoting them, so special characters would take effect. The other shells quote
/// what they insert.
pub(super) fn may_insert(shell: Shell, value: &str, is_path: bool) -> bool {
    !value.is_empty() && super::printable(value) == value && (shell != Shell::Bash || is_path || is_plain(value))
}

/// Returns true if bash expands nothing in `value`, such as a home directory or braces. Braces as in `@{1}` are safe.
fn is_plain(value: &str) -> bool {
    let is_plain = |text: &str| text.chars().all(|c| c.is_alphanumeric() || "-_./@^~+:,=%".contains(c));
    let is_counted = |rest: &str| {
        let (count, rest) = rest.split_once('}')?;
        (!count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit())).then(|| is_plain(rest))
    };
    let mut parts = value.split("@{");
    parts.next().is_some_and(is_plain)
        && parts.all(|rest| is_counted(rest) == Some(true))
        && !value.starts_with('~')
        && !["=~", ":~"].iter().any(|home| value.contains(home))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::own("git-checkpoint|re", Some(("", "re")))]
    #[case::path("/a/git-checkpoint|list|", Some(("", "list|")))]
    #[case::by_git("git|checkpoint|list|", Some(("", "list|")))]
    #[case::as_zsh_calls_it("checkpoint|list|", Some(("", "list|")))]
    #[case::alias("git|-p|cp|list|", Some(("", "list|")))]
    #[case::directories("git|-C|a|-c|x=y|-C|b|checkpoint|", Some(("a|b", "")))]
    #[case::own_directory("git-checkpoint|-C|a|list|", Some(("a", "-C|a|list|")))]
    #[case::directory_being_typed("git-checkpoint|-C|a", Some(("", "-C|a")))]
    #[case::no_option("git-checkpoint|list|--|-C|a|", Some(("", "list|--|-C|a|")))]
    #[case::elsewhere("git|--git-dir=x|checkpoint|", None)]
    #[case::elsewhere_in_two_words("git|--work-tree|x|checkpoint|", None)]
    #[case::no_command("git|-C", None)]
    #[case::no_word("git-checkpoint", None)]
    fn lines_are_read(#[case] words: &str, #[case] expected: Option<(&str, &str)>) {
        let split = |text: &str| text.split('|').map(OsString::from).collect::<Vec<_>>();
        let expected = expected.map(|(directories, words)| Line {
            directories: if directories.is_empty() { Vec::new() } else { split(directories) },
            words: [vec!["git-checkpoint".into()], split(words)].concat(),
        });
        assert_eq!(Line::read(&split(words)), expected);
    }

    #[rstest::rstest]
    #[case::id("1a2b3c4d", true, true)]
    #[case::selector("@{0}", true, true)]
    #[case::turn("s1@2^", true, true)]
    #[case::branch("fix/é-1", true, true)]
    #[case::command("$(id)", false, true)]
    #[case::commands("a;b", false, true)]
    #[case::quote("a'b", false, true)]
    #[case::blank("a b", false, true)]
    #[case::home("~root", false, true)]
    #[case::home_after_equals("a=~/x", false, true)]
    #[case::home_in_a_list("a:~root", false, true)]
    #[case::ancestor("a~1", true, true)]
    #[case::two_selectors("@{10}..@{2}", true, true)]
    #[case::braces("{HEAD,--all,--force}", false, true)]
    #[case::braces_inside("x{a..c}", false, true)]
    #[case::braces_after_a_selector("@{1}{a,b}", false, true)]
    #[case::braces_of_a_selector("@{a,b}", false, true)]
    #[case::two_numbers("@{1,2}", false, true)]
    #[case::numbers("@{1..3}", false, true)]
    #[case::open_brace("@{1", false, true)]
    #[case::no_number("@{}", false, true)]
    #[case::escape("a\u{1b}[2J", false, false)]
    #[case::newline("a\nb", false, false)]
    #[case::bidirectional("a\u{202e}b", false, false)]
    #[case::empty("", false, false)]
    fn what_may_be_inserted(#[case] value: &str, #[case] in_bash: bool, #[case] in_fish: bool) {
        assert_eq!((may_insert(Shell::Bash, value, false), may_insert(Shell::Fish, value, false)), (in_bash, in_fish));
    }

    #[test]
    fn the_word_after_another_one() {
        let line = Line { directories: Vec::new(), words: ["x", "set", "--user", "jj", ""].map(Into::into).to_vec() };
        assert_eq!(line.after("set"), Some("jj"));
        let line = Line { directories: Vec::new(), words: ["x", "set", "j"].map(Into::into).to_vec() };
        assert_eq!(line.after("set"), None);
    }

    #[rstest::rstest]
    #[case::restore("restore|s1@1|a", Some("s1@1"))]
    #[case::options("restore|--all|s1@1|--|a", Some("s1@1"))]
    #[case::diff("diff|s1@1|@|--|a", Some("s1@1"))]
    #[case::the_checkpoint_itself("restore|s1", None)]
    #[case::a_path_before("diff|--|s1|a", None)]
    #[case::another_command("blame|a|b", None)]
    fn the_checkpoint_of_the_line(#[case] words: &str, #[case] expected: Option<&str>) {
        let words = ["git-checkpoint"].into_iter().chain(words.split('|')).map(Into::into).collect();
        assert_eq!(Line { directories: Vec::new(), words }.checkpoint(), expected);
    }
}
