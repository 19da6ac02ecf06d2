//! Lists, fetches and pushes refs of a remote by running git, whose transports have the user's credentials, proxies and keys.
//!
//! Of what git prints, only ids, names and the flags of `--porcelain` are read; its prose is for people.

use std::path::Path;

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::{
    Repo, environment,
    patience::{Limits, Patience, limit_of},
    received::{Basis, Received, empty_repository},
    said::shown,
    wire,
};
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

/// Says that git-remote-checkpoint(1) runs, to the git that it starts, and to what that starts.
const HELPER: &str = "GIT_REMOTE_CHECKPOINT_RUNS";

/// Returns true if git-remote-checkpoint(1) has led to this process.
pub(crate) fn is_inside_helper() -> bool {
    environment::variable(HELPER).is_some()
}

/// Returns the repository that git has found before it has started git-remote-checkpoint(1). Outside of any, as `git ls-remote` may
/// be: an empty one, which is gone when the second result is dropped.
///
/// # Errors
/// As [`Repo::open_from_environment`].
pub(crate) fn repository_of_helper() -> Result<(Repo, Option<tempfile::TempDir>)> {
    if environment::variable("GIT_DIR").is_some() {
        return Ok((Repo::open_for_logs(Path::new("."))?, None));
    }
    empty_repository().map(|(repo, directory)| (repo, Some(directory)))
}

impl Repo {
    /// Limits what each exchange with another repository may take from now on.
    pub(crate) fn limit_exchanges(&self, limits: Limits) {
        self.interrupt.limit_exchanges(limits);
    }

    /// Returns the refs below `prefix` that `remote`, the name of a configured one or an address, shows to those who fetch.
    pub(crate) fn list_remote(&self, remote: &str, prefix: &str) -> Result<Vec<(String, ObjectId)>> {
        let what = || format!("cannot list the refs of '{}'", without_userinfo(remote));
        self.counter.talk_to(&printable(without_userinfo(remote).as_str().into()));
        if let Some(mut connection) = self.connection(remote, &what)? {
            let listed = connection.list(prefix).map_err(|error| below(what(), error))?;
            let named = |it: wire::RemoteRef| Some((it.name.to_str().ok()?.to_owned(), it.id));
            return Ok(listed.into_iter().filter_map(named).collect());
        }
        listed(&self.exchange(&list_words(remote, prefix), &[], &what)?, prefix, &what)
    }

    /// Fetches the commits `ids` from `remote` with all they lead to, as far as it is not in `basis`. What arrives is not part of the
    /// repository yet.
    pub(crate) fn fetch_ids(&self, remote: &str, ids: &[ObjectId], basis: Basis<'_>) -> Result<Received> {
        let what = || format!("cannot fetch from '{}'", without_userinfo(remote));
        self.counter.talk_to(&printable(without_userinfo(remote).as_str().into()));
        if let Some(mut connection) = self.connection(remote, &what)? {
            let most = self.interrupt.limits().bytes;
            return connection.fetch(self, ids, basis, most).map_err(|error| below(what(), error));
        }
        self.receive(&fetch_words(remote, ids, basis.haves()), &[], basis, &what)
    }

    /// Returns a connection of our own to fetch from `remote`; none if only git can reach it, or is to: by the setting
    /// `remote.<name>.checkpointEngine`, or because other settings say how git is to go there.
    fn connection(&self, remote: &str, what: &dyn Fn() -> String) -> Result<Option<wire::Connection>> {
        let setting = |key: &str| self.config_value(&format!("remote.{remote}.{key}"));
        let is_for_git = setting("checkpointEngine").is_some_and(|engine| engine == "git")
            || ["vcs", "uploadpack", "proxy", "proxyAuthMethod"].iter().any(|key| setting(key).is_some());
        if is_for_git {
            return Ok(None);
        }
        // The name of a remote stands for its first URL.
        let url = self.run_git(&["ls-remote", "--get-url", "--", remote], None)?;
        let url = url.trim_end_with(|c| c == '\n');
        Ok(match wire::Connection::open(self, url.as_bstr()).map_err(|error| below(what(), error))? {
            wire::Opened::Connection(connection) => Some(*connection),
            wire::Opened::Unsupported(why) => {
                tracing::debug!(remote, why, "git itself connects");
                None
            }
        })
    }

    /// Runs git with `words` and the settings `settings`, and returns what it prints.
    pub(super) fn exchange(
        &self,
        words: &[String],
        settings: &[(String, String)],
        what: &dyn Fn() -> String,
    ) -> Result<BString> {
        let output = self.run_transport(words, settings, None).map_err(|error| unable(what(), &error))?;
        if output.status.success() {
            return Ok(output.stdout.into());
        }
        Err(Error::user(what()).with_cause(shown(&output.stderr)))
    }

    /// Runs git with `words`, made by [`fetch_words`]. What arrives is not part of the repository yet.
    pub(super) fn receive(
        &self,
        words: &[String],
        settings: &[(String, String)],
        basis: Basis<'_>,
        what: &dyn Fn() -> String,
    ) -> Result<Received> {
        let received = Received::begin(self, basis)?;
        let output = self.run_transport(words, settings, Some(&received)).map_err(|error| unable(what(), &error))?;
        if output.status.success() {
            received.check_size(self.interrupt.limits().bytes).map_err(|error| unable(what(), &error))?;
            return Ok(received);
        }
        Err(Error::user(what()).with_cause(shown(&output.stderr)))
    }

    pub(super) fn run_transport(
        &self,
        words: &[impl AsRef<std::ffi::OsStr>],
        settings: &[(String, String)],
        received: Option<&Received>,
    ) -> std::io::Result<std::process::Output> {
        self.check_interrupt().map_err(std::io::Error::other)?;
        let mut command = self.git(words);
        command.env(HELPER, "1");
        Self::add_settings(&mut command, settings);
        if let Some(received) = received {
            Self::lead_to(received, &mut command);
        }
        Self::let_git_ask(&mut command);
        let place = received.and_then(Received::objects);
        let patience = Patience::with_processes(self.interrupt.limits(), place);
        self.start_within(&mut command, patience)?.output(b"")
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
        ["-c", "fetch.fsckObjects=true", "-c", "fetch.unpackLimit=1", "-c", "fetch.prune=false", "-c"]
            .map(Into::into)
            .into();
    // Without a tip, git would offer the commits of all branches, one by one.
    let is_first = tips.is_empty();
    words.push(format!("fetch.negotiationAlgorithm={}", if is_first { "noop" } else { "default" }));
    // What arrives goes to a place that borrows our objects: git would offer the commits of all branches here, too.
    words.extend(["-c", "core.alternateRefsCommand=exit 0;"].map(Into::into));
    words.extend(
        ["fetch", "--no-write-fetch-head", "--no-tags", "--no-auto-maintenance", "--no-progress"].map(Into::into),
    );
    words.extend(["--no-recurse-submodules", "--no-filter", "--refmap="].map(Into::into));
    words.extend(tips.iter().map(|id| format!("--negotiation-tip={id}")));
    words.extend(["--".to_owned(), remote.to_owned()]);
    words.extend(ids.iter().map(ToString::to_string));
    words
}

/// Returns the error that `what` because of `error`.
fn below(what: String, error: Error) -> Error {
    let hint = limit_of(&error).or(error.hint()).map(ToOwned::to_owned);
    let outer = Error::new(error.kind(), what).with_cause(error);
    match hint {
        Some(hint) => outer.with_hint(hint),
        None => outer,
    }
}

/// Returns the error that `what` since a program of git could not be run to its end because of `error`.
pub(super) fn unable(what: String, error: &std::io::Error) -> Error {
    let is_limit = matches!(error.kind(), std::io::ErrorKind::TimedOut | std::io::ErrorKind::FileTooLarge);
    below(what, Error::new(if is_limit { Kind::User } else { Kind::Internal }, error.to_string()))
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
