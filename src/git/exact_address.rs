//! Exchanges refs with one address exactly as it is: no setting that changes meanwhile, no `insteadOf` and no remote of that name
//! leads git elsewhere.
//!
//! Git is given a random name, and settings of this command alone that this name stands for the address. Git rewrites an address once, by
//! the longest prefix that fits, and no other rule has one as long as this name.

use std::hash::{BuildHasher as _, Hasher as _};

use bstr::ByteSlice as _;
use gix::ObjectId;

use super::{
    Repo,
    patience::is_stall,
    received::{Basis, Received},
    said::shown,
    transfer::{PushReport, fetch_words, list_words, listed, statuses, unable},
};
use crate::{
    error::{Error, Result},
    model::{
        address::without_userinfo,
        path_text::{printable, shell_word},
        refname,
    },
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
    arguments: Vec<String>,
    /// More settings, of which no other place can have any. In the environment, since git takes the first equals sign on its command
    /// line for the end of the setting's name, and a URL may have one.
    settings: Vec<(String, String)>,
    /// True if settings of the user for this host let the server redirect git all the same.
    follows: bool,
}

impl ExactAddress {
    /// Returns the address `url`, to which git goes as it does to `remote`, a configured one.
    pub(crate) fn new(repo: &Repo, remote: &str, url: &str) -> Self {
        // The standard library seeds this from the operating system's randomness.
        let random = || std::hash::RandomState::new().build_hasher().finish();
        let name = format!("checkpoint-{:016x}{:016x}", random(), random());
        // A server that redirects would decide who gets the records. The command line counts for more than all else.
        let mut arguments = vec!["-c".to_owned(), "http.followRedirects=false".to_owned()];
        let is_http = ["http://", "https://"]
            .iter()
            .any(|scheme| url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)));
        if is_http && !url.contains('=') {
            // A setting of the user for this host alone would count for more.
            arguments.extend(["-c".to_owned(), format!("http.{url}.followRedirects=false")]);
        }
        let mut settings: Vec<(String, String)> =
            ["insteadOf", "pushInsteadOf"].map(|key| (format!("url.{url}.{key}"), name.clone())).into();
        for key in WAYS {
            let value = repo.config_value(&format!("remote.{remote}.{key}"));
            if let Some(value) = value.as_ref().and_then(|value| value.to_str().ok()) {
                settings.push((format!("remote.{name}.{key}"), value.to_owned()));
            }
        }
        let mut address = Self { shown: without_userinfo(url), name, arguments, settings, follows: false };
        if is_http {
            let words = ["config", "--type=bool", "--get-urlmatch", "http.followRedirects", url].map(Into::into);
            let words: Vec<String> = address.arguments.iter().cloned().chain(words).collect();
            address.follows = repo.try_git(&words, None).map_or(true, |found| found.stdout.trim() != b"false");
        }
        address
    }

    /// Returns the address without names and passwords.
    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    /// Returns git's arguments.
    ///
    /// # Errors
    /// If git would follow the server to another address.
    fn words(&self, words: Vec<String>) -> Result<Vec<String>> {
        if self.follows {
            let message = format!("settings of 'http.<url>.followRedirects' let '{}' send git elsewhere", self.shown);
            return Err(Error::refused(message).with_hint(
                "records go only to the approved address: 'git config --get-regexp followredirects' shows the settings",
            ));
        }
        Ok(self.arguments.iter().cloned().chain(words).collect())
    }

    /// As [`Repo::list_remote`].
    pub(crate) fn list(&self, repo: &Repo, prefix: &str) -> Result<Vec<(String, ObjectId)>> {
        let what = || format!("cannot list the refs of '{}'", self.shown);
        repo.counter().talk_to(&printable(self.shown.as_str().into()));
        let printed = repo.exchange(&self.words(list_words(&self.name, prefix))?, &self.settings, &what);
        listed(&printed.map_err(|error| self.explained(error))?, prefix, &what)
    }

    /// As [`Repo::fetch_ids`].
    pub(crate) fn fetch(&self, repo: &Repo, ids: &[ObjectId], basis: Basis<'_>) -> Result<Received> {
        let what = || format!("cannot fetch from '{}'", self.shown);
        repo.counter().talk_to(&printable(self.shown.as_str().into()));
        let words = self.words(fetch_words(&self.name, ids, basis.haves()))?;
        repo.receive(&words, &self.settings, basis, &what).map_err(|error| self.explained(error))
    }

    /// Returns `error`, or a clearer one if the server has sent git elsewhere.
    fn explained(&self, error: Error) -> Error {
        // The words are those of the transport in all languages; if they change, the error stays as it is.
        let is_redirect = error.causes().iter().any(|cause| cause.contains("requested URL returned error: 30"));
        if !is_redirect {
            return error;
        }
        let message = format!("'{}' redirects to another address, and records go only to the approved one", self.shown);
        error.with_message(message).with_hint(
            "give the remote the URL where it is now, with 'git remote set-url', and approve that with 'git checkpoint remote approve'",
        )
    }

    /// Lets the ref `name` there lead to the commit `id`, if that is not a step back for it. If it is `expected` there, `id` must lead to
    /// that: git then sends only what `expected` does not have, and nothing if the other side says something else.
    pub(crate) fn push(&self, repo: &Repo, id: ObjectId, name: &str, expected: Option<ObjectId>) -> Result<PushReport> {
        let leases = expected.map(|expected| format!("--force-with-lease={name}:{expected}"));
        self.push_words(repo, leases.into_iter().collect(), vec![format!("{id}:{name}")])
    }

    /// The same for a ref that is not there yet, if the other side has the refs `anchors` exactly as they are given here: then git sends
    /// nothing that these lead to. None of them moves.
    pub(crate) fn push_beside(
        &self,
        repo: &Repo,
        id: ObjectId,
        name: &str,
        anchors: &[(String, ObjectId)],
    ) -> Result<PushReport> {
        let mut options: Vec<String> =
            anchors.iter().map(|(name, id)| format!("--force-with-lease={name}:{id}")).collect();
        // If one of them is another one there, nothing is sent at all.
        options.extend((!anchors.is_empty()).then(|| "--atomic".to_owned()));
        let kept = anchors.iter().map(|(name, id)| format!("{id}:{name}"));
        self.push_words(repo, options, kept.chain([format!("{id}:{name}")]).collect())
    }

    /// Lets the refs `names`, of which the other side has none, lead to the commit `id` there, to which its ref `known` leads. If it does not,
    /// or has one of them, nothing is sent: all of `names` are made, or none.
    pub(crate) fn push_names(&self, repo: &Repo, id: ObjectId, names: &[String], known: &str) -> Result<PushReport> {
        let mut options = vec!["--atomic".to_owned(), format!("--force-with-lease={known}:{id}")];
        options.extend(names.iter().map(|name| format!("--force-with-lease={name}:")));
        let refspecs = [known].into_iter().chain(names.iter().map(String::as_str)).map(|name| format!("{id}:{name}"));
        self.push_words(repo, options, refspecs.collect())
    }

    /// Lets each ref of `moves` lead to the third of its parts (none: to nothing, it goes), if it leads to the second there (none: if it
    /// is not there). Each counts for itself.
    pub(crate) fn push_moves(
        &self,
        repo: &Repo,
        moves: &[(String, Option<ObjectId>, Option<ObjectId>)],
    ) -> Result<PushReport> {
        let hex = |id: Option<ObjectId>| id.map(|id| id.to_string()).unwrap_or_default();
        let options = moves.iter().map(|(name, old, _)| format!("--force-with-lease={name}:{}", hex(*old)));
        let refspecs = moves.iter().map(|(name, _, new)| format!("{}:{name}", hex(*new)));
        self.push_words(repo, options.collect(), refspecs.collect())
    }

    fn push_words(&self, repo: &Repo, options: Vec<String>, refspecs: Vec<String>) -> Result<PushReport> {
        let mut words: Vec<String> =
            ["push", "--porcelain", "--no-verify", "--no-follow-tags", "--no-progress"].map(Into::into).into();
        words.push("--recurse-submodules=no".to_owned());
        words.extend(options);
        words.extend(["--".to_owned(), self.name.clone()]);
        words.extend(refspecs);
        let what = || format!("cannot push to '{}'", self.shown);
        repo.counter().talk_to(&printable(self.shown.as_str().into()));
        let output = repo.run_transport(&self.words(words)?, &self.settings, None);
        let output = output.map_err(|error| {
            let is_stalled = is_stall(&error);
            let error = unable(what(), &error);
            if !is_stalled {
                return error;
            }
            // The server may be at work on what it has received.
            error.with_hint(format!(
                "whether all has arrived is not known: 'git ls-remote {} {}*' shows it; 'remote.timeout' says how long to wait, 0s means \
                 for ever",
                shell_word(&self.shown),
                refname::PREFIX
            ))
        })?;
        let errors = shown(&output.stderr);
        let refs = statuses(&output.stdout);
        if refs.is_empty() && !output.status.success() {
            return Err(self.explained(Error::user(what()).with_cause(errors)));
        }
        let said =
            errors.lines().filter_map(|line| line.strip_prefix("remote: ")).map(|line| line.trim_end().to_owned());
        Ok(PushReport { refs, said: said.filter(|line| !line.is_empty()).collect(), errors })
    }
}
