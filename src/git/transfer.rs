//! Lists, fetches and pushes refs of a remote by running git, whose transports have the user's credentials, proxies and keys.
//!
//! Of what git prints, only ids, names and the flags of `--porcelain` are read; its prose is for people.

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::{Repo, environment};
use crate::{
    error::{Context as _, Error, Kind, Result},
    model::{address::without_userinfo, path_text::printable},
};

/// What a push has done to one ref.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pushed {
    pub(crate) name: String,
    pub(crate) outcome: Outcome,
}

/// What became of an update of a ref there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It was made.
    Done,
    /// The ref is there already.
    Same,
    /// It was refused, and what git says of that.
    Refused(String),
}

/// What the server said during a push, and what became of each ref.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PushReport {
    pub(crate) refs: Vec<Pushed>,
    /// The lines that the server's hooks print.
    pub(crate) said: Vec<String>,
    /// All that git has printed for people.
    pub(crate) errors: String,
}

impl Repo {
    /// Returns the refs below `prefix` that `remote`, the name of a configured one, shows to those who fetch.
    pub(crate) fn list_remote(&self, remote: &str, prefix: &str) -> Result<Vec<(String, ObjectId)>> {
        let what = || format!("cannot list the refs of '{remote}'");
        listed(&self.exchange(&list_words(remote, prefix), &what)?, prefix, &what)
    }

    /// Fetches the commits `ids` from `remote` with all they lead to. Tells it that we have `tips`, and moves no ref.
    pub(crate) fn fetch_ids(&self, remote: &str, ids: &[ObjectId], tips: &[ObjectId]) -> Result<()> {
        self.exchange(&fetch_words(remote, ids, tips), &|| format!("cannot fetch from '{remote}'")).map(drop)
    }

    pub(super) fn exchange(&self, words: &[impl AsRef<std::ffi::OsStr>], what: &dyn Fn() -> String) -> Result<BString> {
        let output = self.run_transport(words).context(Kind::Internal, what)?;
        if output.status.success() {
            return Ok(output.stdout.into());
        }
        Err(Error::user(what()).with_cause(shown(&output.stderr)))
    }

    pub(super) fn run_transport(&self, words: &[impl AsRef<std::ffi::OsStr>]) -> std::io::Result<std::process::Output> {
        self.check_interrupt().map_err(std::io::Error::other)?;
        let mut command = self.git(words);
        // The user is there to be asked for a password, unless the caller says otherwise.
        match environment::variable("GIT_TERMINAL_PROMPT") {
            Some(value) => command.env("GIT_TERMINAL_PROMPT", value.to_os_str_lossy()),
            None => command.env_remove("GIT_TERMINAL_PROMPT"),
        };
        self.start_to_end(&mut command)?.output(b"")
    }
}

/// Returns the arguments with which git lists the refs below `prefix` of `remote`.
pub(super) fn list_words(remote: &str, prefix: &str) -> Vec<String> {
    let words = ["ls-remote", "--quiet", "--", remote].map(Into::into);
    words.into_iter().chain([format!("{prefix}*")]).collect()
}

/// Returns the refs below `prefix` in what git has `printed` for [`list_words`].
pub(super) fn listed(printed: &[u8], prefix: &str, what: &dyn Fn() -> String) -> Result<Vec<(String, ObjectId)>> {
    let mut refs = Vec::new();
    for line in printed.lines() {
        let Some((id, name)) = line.split_once_str("\t") else { continue };
        let Some(name) = name.to_str().ok().filter(|name| name.starts_with(prefix)) else { continue };
        refs.push((name.to_owned(), ObjectId::from_hex(id).context(Kind::Internal, what)?));
    }
    Ok(refs)
}

/// Returns the arguments with which git fetches the commits `ids` from `remote`, and says that we have `tips`.
pub(super) fn fetch_words(remote: &str, ids: &[ObjectId], tips: &[ObjectId]) -> Vec<String> {
    let mut words: Vec<String> =
        ["-c", "fetch.fsckObjects=true", "-c", "fetch.prune=false", "-c"].map(Into::into).into();
    // Without a tip, git would offer the commits of all branches, one by one.
    let is_first = tips.is_empty();
    words.push(format!("fetch.negotiationAlgorithm={}", if is_first { "noop" } else { "default" }));
    words.extend(
        ["fetch", "--no-write-fetch-head", "--no-tags", "--no-auto-maintenance", "--no-progress"].map(Into::into),
    );
    words.extend(["--no-recurse-submodules", "--no-filter", "--refmap="].map(Into::into));
    words.extend(tips.iter().map(|id| format!("--negotiation-tip={id}")));
    words.extend(["--".to_owned(), remote.to_owned()]);
    words.extend(ids.iter().map(ToString::to_string));
    words
}

/// Returns what git `said`, fit for a terminal and without passwords.
pub(super) fn shown(said: &[u8]) -> String {
    let lines = said.lines().map(|line| without_userinfo(&printable(line.trim_end().as_bstr())));
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Returns the outcomes in what `git push --porcelain` prints (git-push(1), OUTPUT).
pub(super) fn statuses(printed: &[u8]) -> Vec<Pushed> {
    let mut found = Vec::new();
    for line in printed.lines() {
        let mut parts = line.splitn(3, |byte| *byte == b'\t');
        let (Some(flag), Some(refs), Some(summary)) = (parts.next(), parts.next(), parts.next()) else { continue };
        let Some(name) = refs.to_str().ok().and_then(|refs| refs.split_once(':')).map(|(_, name)| name.to_owned())
        else {
            continue;
        };
        let outcome = match flag {
            b" " | b"*" | b"+" => Outcome::Done,
            b"=" => Outcome::Same,
            b"!" => Outcome::Refused(shown(summary)),
            _ => continue,
        };
        found.push(Pushed { name, outcome });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::new("*\t1:refs/x\t[new reference]", Some(Outcome::Done))]
    #[case::forward(" \t1:refs/x\t1..2", Some(Outcome::Done))]
    #[case::same("=\t1:refs/x\t[up to date]", Some(Outcome::Same))]
    #[case::refused("!\t1:refs/x\t[remote rejected] (deny\u{1b}[2J)", Some(Outcome::Refused("[remote rejected] (deny\\u{1b}[2J)".into())))]
    #[case::deleted("-\t:refs/x\t[deleted]", None)]
    #[case::address("To https://h", None)]
    #[case::end("Done", None)]
    fn flags_are_read(#[case] line: &str, #[case] expected: Option<Outcome>) {
        let found = statuses(format!("To x\n{line}\nDone\n").as_bytes());
        assert_eq!(found.first().map(|pushed| pushed.outcome.clone()), expected);
        assert!(found.iter().all(|pushed| pushed.name == "refs/x"));
    }
}
