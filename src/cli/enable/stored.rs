//! What git-checkpoint will store, in words, so that people can decide about it when they enable it.

use crate::config::{Store, Transcript};

/// Returns what is stored and where, and how to store less.
pub(super) fn words(settings: &Transcript) -> Vec<String> {
    let (what, less) = match settings.store {
        Store::Full => ("prompts and transcripts", Some("prompts' (no transcripts) or 'none' (no prompts, either)")),
        Store::Prompts => ("prompts", Some("none' (no prompts)")),
        Store::None => ("", None),
    };
    let what = match (settings.store, settings.redact) {
        (Store::None, _) => "files".to_owned(),
        (_, true) => format!("files, and {what} with secrets replaced,"),
        (_, false) => format!("files, and {what} with the secrets in them,"),
    };
    let stored = format!("{what} are stored in refs of this repository; 'git push' sends these only with --mirror");
    let less = less.map(|less| format!("to store less: 'git checkpoint config set transcript.store {less}"));
    std::iter::once(stored).chain(less).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::full(
        Store::Full,
        true,
        "files, and prompts and transcripts with secrets replaced, are stored",
        "store prompts' (no"
    )]
    #[case::secrets(
        Store::Full,
        false,
        "files, and prompts and transcripts with the secrets in them, are stored",
        "store prompts' (no"
    )]
    #[case::prompts(Store::Prompts, true, "files, and prompts with secrets replaced, are stored", "store none' (no")]
    #[case::nothing(Store::None, true, "files are stored", "")]
    fn they_say_what_the_settings_say(
        #[case] store: Store,
        #[case] redact: bool,
        #[case] what: &str,
        #[case] less: &str,
    ) {
        let words = words(&Transcript { store, redact, max_size: None });
        assert!(words[0].contains(what), "{words:?}");
        assert_eq!(words.len(), if less.is_empty() { 1 } else { 2 });
        assert!(words.iter().skip(1).all(|line| line.contains(less)), "{words:?}");
    }
}
