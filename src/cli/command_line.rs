//! The command line as the operation log keeps it: without secrets, prompts and messages.

use std::ffi::OsString;

use crate::model::{path_text, redact::redact, trailer};

/// Commands with commands of their own.
const WITH_ACTIONS: [&str; 4] = ["session", "op", "remote", "config"];
/// Options whose value is a text that the log does not keep.
const TEXTS: [&str; 2] = ["--message", "--note"];
/// What takes the place of such a text.
const LEFT_OUT: &str = "...";

/// The words of a command line after the program's name, without the directories of `-C`.
#[derive(Debug)]
pub(super) struct CommandLine(Vec<String>);

impl CommandLine {
    /// Returns the command line `arguments`, with the program's name first.
    pub(super) fn new(arguments: &[OsString]) -> Self {
        let mut words = Vec::new();
        let mut rest = arguments.iter().skip(1).map(|argument| argument.to_string_lossy().into_owned());
        while let Some(word) = rest.next() {
            if word == "-C" {
                rest.next();
            } else if words.is_empty() && word.starts_with('-') {
                // A global option before the command says nothing of what was done.
            } else if word == "--" {
                words.push(word);
                words.extend(rest.by_ref());
            } else if let Some(option) =
                word.split_once('=').map_or(word.as_str(), |(option, _)| option).strip_prefix("--")
            {
                let option = format!("--{option}");
                // An option may be abbreviated.
                let is_text = option.len() > 3 && TEXTS.iter().any(|text| text.starts_with(&option));
                if !is_text {
                    words.push(word);
                    continue;
                }
                words.extend([option, LEFT_OUT.to_owned()]);
                if !word.contains('=') {
                    rest.next();
                }
            } else if let Some(at) = word.strip_prefix('-').and_then(|flags| flags.find('m')) {
                // The flags before it take no value.
                let is_all = word.len() == at + 2;
                words.extend([word[..at + 2].to_owned(), LEFT_OUT.to_owned()]);
                if is_all {
                    rest.next();
                }
            } else {
                words.push(word);
            }
        }
        if words.first().is_some_and(|command| command == "hook") {
            // Git and agents add paths of temporary files, and ids of commits.
            words.retain(|word| is_plain(word));
        }
        Self(words)
    }

    /// Returns the name of the command, with that of its action.
    pub(super) fn kind(&self) -> String {
        let has_action = self.0.first().is_some_and(|command| WITH_ACTIONS.contains(&command.as_str()));
        let is_name = |word: &&String| is_plain(word);
        self.0.iter().take(if has_action { 2 } else { 1 }).take_while(is_name).cloned().collect::<Vec<_>>().join(" ")
    }

    /// Returns the command line on one line, with each secret replaced.
    pub(super) fn text(&self) -> String {
        // With its line feeds as they are, a secret of several lines is found.
        let quoted = |word: &String| if is_plain(word) { word.clone() } else { path_text::quoted_word(word) };
        let words: Vec<String> = self.0.iter().map(quoted).collect();
        let text = format!("git checkpoint {}", words.join(" "));
        // Compiling the patterns of secrets takes time, and the command lines of hooks consist of names alone.
        let text = if self.0.iter().all(|word| is_plain(word)) {
            text
        } else {
            String::from_utf8_lossy(&redact(text.into_bytes())).into_owned()
        };
        trailer::one_line(&text)
    }
}

/// Returns true if `word` is the name of a command or an option, or looks like one: no secret does.
fn is_plain(word: &str) -> bool {
    const LONGEST: usize = 24;
    word == LEFT_OUT || (word.len() <= LONGEST && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::plain(&["reset", "--force"], "reset", "reset --force")]
    #[case::of_an_agent(&["hook", "--agent", "claude-code"], "hook", "hook --agent claude-code")]
    #[case::of_git(&["hook", "commit-msg", ".git/COMMIT_EDITMSG"], "hook", "hook commit-msg")]
    #[case::action(&["session", "adopt", "7f3a"], "session adopt", "session adopt 7f3a")]
    #[case::elsewhere(&["-C", "/home/me/x", "--no-pager", "verify"], "verify", "verify")]
    #[case::message(&["save", "-m", "my thoughts"], "save", "save -m ...")]
    #[case::glued(&["save", "-mmy thoughts"], "save", "save -m ...")]
    #[case::with_flags(&["save", "-qm", "my thoughts", "--json"], "save", "save -qm ... --json")]
    #[case::long(&["save", "--message=my thoughts"], "save", "save --message ...")]
    #[case::abbreviated(&["save", "--mess", "my thoughts"], "save", "save --mess ...")]
    #[case::prompt(&["session", "prompt", "s1", "-m", "do it"], "session prompt", "session prompt s1 -m ...")]
    #[case::pathspecs(&["restore", "@{1}", "--", "-m", "a b"], "restore", "restore '@{1}' -- -m 'a b'")]
    #[case::secret(
        &["restore", "@", "ghp_16C7e42F292c6912E7710c838347Ae178B4a"],
        "restore",
        "restore @ [redacted github-token]"
    )]
    #[case::lines(&["restore", "a\nb"], "restore", "restore 'a b'")]
    #[case::nothing(&[], "", "")]
    fn what_is_kept(#[case] words: &[&str], #[case] kind: &str, #[case] text: &str) {
        let arguments: Vec<OsString> = ["git-checkpoint"].iter().chain(words).map(OsString::from).collect();
        let line = CommandLine::new(&arguments);
        assert_eq!(line.kind(), kind);
        assert_eq!(line.text(), format!("git checkpoint {text}").trim_end());
    }
}
