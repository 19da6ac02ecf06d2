//! Exchanges refs with one address exactly as it is: no setting that changes meanwhile, no `insteadOf` and no remote of that name
//! leads git elsewhere.
//!
//! Git is given a random name, and settings on its own command line that this name alone stands for the address. Git rewrites an
//! address once, by the longest prefix that fits, and no other rule has one as long as this name.

use std::hash::{BuildHasher as _, Hasher as _};

use bstr::ByteSlice as _;
use gix::ObjectId;

use super::{
    Repo,
    received::Received,
    transfer::{PushReport, fetch_words, list_words, listed, shown, statuses},
};
use crate::{
    error::{Context as _, Error, Kind, Result},
    model::address::without_userinfo,
};

/// Settings of a remote that say how git goes there, and not where.
const WAYS: &[&str] = &["proxy", "proxyAuthMethod", "uploadpack", "receivepack"];

/// An address.
#[derive(Clone, Debug)]
pub(crate) struct ExactAddress {
    shown: String,
    /// The random name.
    name: String,
    /// The arguments that go before git's command.
    settings: Vec<String>,
}

impl ExactAddress {
    /// Returns the address `url`, to which git goes as it does to `remote`, a configured one.
    pub(crate) fn new(repo: &Repo, remote: &str, url: &str) -> Self {
        // The standard library seeds this from the operating system's randomness.
        let random = || std::hash::RandomState::new().build_hasher().finish();
        let token = format!("checkpoint-{:016x}{:016x}", random(), random());
        // On its command line, git takes the first equals sign for the end of the setting's name.
        let (base, rest) = url.split_at(url.find('=').unwrap_or(url.len()));
        let name = format!("{token}{rest}");
        let mut settings = Vec::new();
        for key in ["insteadOf", "pushInsteadOf"] {
            settings.extend(["-c".to_owned(), format!("url.{base}.{key}={token}")]);
        }
        for key in WAYS.iter().filter(|_| rest.is_empty()) {
            let value = repo.config_value(&format!("remote.{remote}.{key}"));
            if let Some(value) = value.as_ref().and_then(|value| value.to_str().ok()) {
                settings.extend(["-c".to_owned(), format!("remote.{name}.{key}={value}")]);
            }
        }
        Self { shown: without_userinfo(url), name, settings }
    }

    /// Returns the address without names and passwords.
    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    fn words(&self, words: Vec<String>) -> Vec<String> {
        self.settings.iter().cloned().chain(words).collect()
    }

    /// As [`Repo::list_remote`].
    pub(crate) fn list(&self, repo: &Repo, prefix: &str) -> Result<Vec<(String, ObjectId)>> {
        let what = || format!("cannot list the refs of '{}'", self.shown);
        listed(&repo.exchange(&self.words(list_words(&self.name, prefix)), &what)?, prefix, &what)
    }

    /// As [`Repo::fetch_ids`].
    pub(crate) fn fetch(&self, repo: &Repo, ids: &[ObjectId], tips: &[ObjectId]) -> Result<Received> {
        let what = || format!("cannot fetch from '{}'", self.shown);
        repo.receive(&self.words(fetch_words(&self.name, ids, tips)), &what)
    }

    /// Lets each ref of `updates` there lead to a commit, if that is not a step back for the ref there.
    pub(crate) fn push(&self, repo: &Repo, updates: &[(ObjectId, String)]) -> Result<PushReport> {
        let mut words: Vec<String> =
            ["push", "--porcelain", "--no-verify", "--no-follow-tags", "--no-progress"].map(Into::into).into();
        words.extend(["--recurse-submodules=no".to_owned(), "--".to_owned(), self.name.clone()]);
        words.extend(updates.iter().map(|(id, name)| format!("{id}:{name}")));
        let what = || format!("cannot push to '{}'", self.shown);
        let output = repo.run_transport(&self.words(words)).context(Kind::Internal, what)?;
        let errors = shown(&output.stderr);
        let refs = statuses(&output.stdout);
        if refs.is_empty() && !output.status.success() {
            return Err(Error::user(what()).with_cause(errors));
        }
        let said =
            errors.lines().filter_map(|line| line.strip_prefix("remote: ")).map(|line| line.trim_end().to_owned());
        Ok(PushReport { refs, said: said.filter(|line| !line.is_empty()).collect(), errors })
    }
}
