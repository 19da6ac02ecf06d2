//! Which commits a job is about: what the user says, or else what the environment of the job does.

use std::{
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
};

use gix::ObjectId;
use serde::Serialize;

use super::{
    super::environment,
    event::{self, Event, commit_id},
};
use crate::{
    error::{Context as _, Error, Kind, Result},
    git::Repo,
};

/// A longer file of an event does not come from GitHub.
const LONGEST_EVENT: u64 = 64 << 20;

/// What helps if a clone lacks commits.
const DEPTH: &str = "a job needs the history: 'fetch-depth: 0' of actions/checkout, GIT_DEPTH: 0 of GitLab, or \
                     'git fetch --unshallow'";

/// The commits of a job.
pub(super) struct Place {
    /// A range, as git takes it.
    pub(super) range: String,
    /// What has said so, in words.
    pub(super) said_by: String,
    /// The last of the commits that the forge has made others of, if it is known.
    pub(super) merged: Option<ObjectId>,
    /// How to fetch those, if they are not here.
    pub(super) missing: Option<String>,
}

/// A result, with what has said which commits it is about.
#[derive(Serialize)]
pub(super) struct Said<'r, T: Serialize> {
    #[serde(flatten)]
    pub(super) result: &'r T,
    pub(super) source: &'r str,
}

/// Returns the commits that `range` names; without it, those of the environment. With `after_merge`, a job runs after a merge.
pub(super) fn place(repo: &Repo, range: Option<&str>, after_merge: bool) -> Result<Place> {
    if let Some(range) = range {
        let said_by = "the command line".to_owned();
        return Ok(Place { range: as_range(repo, range)?, said_by, merged: None, missing: None });
    }
    if let Some(found) = of_github(repo, after_merge)? {
        return Ok(found);
    }
    if let Some(found) = of_gitlab(repo)? {
        return Ok(found);
    }
    between(repo, &End::Name("origin/HEAD"), &End::Name("HEAD"), "origin/HEAD, as no CI is known here".to_owned())
        .map_err(|error| {
            error.with_hint(
                "name a range, such as 'main..HEAD', or let 'git remote set-head origin --auto' find the main branch",
            )
        })
}

/// One end of a range.
enum End<'n> {
    Id(ObjectId),
    Name(&'n str),
}

fn of_github(repo: &Repo, after_merge: bool) -> Result<Option<Place>> {
    let event = match environment::variable("GITHUB_EVENT_PATH") {
        Some(path) => read_event(&PathBuf::from(path), after_merge)?,
        None => None,
    };
    let base_ref = text_of("GITHUB_BASE_REF")?;
    let mut event = match event {
        // A new branch: what it is compared with has to be known otherwise.
        Some(event) if event.base.is_some() => event,
        _ => Event::default(),
    };
    let Some(base) = event.base else {
        let Some(base_ref) = base_ref else { return Ok(None) };
        let name = format!("refs/remotes/origin/{base_ref}");
        return between(repo, &End::Name(&name), &End::Name("HEAD"), "GITHUB_BASE_REF".to_owned()).map(Some);
    };
    // What is checked out is not what the event is about in a job of `pull_request_target`.
    let head = event.head.map_or(End::Name("HEAD"), End::Id);
    let said_by = format!("GITHUB_EVENT_PATH: {}", event.what);
    let mut found = between(repo, &End::Id(base), &head, said_by)?;
    if let Some(merged) = event.merged.take() {
        if repo.is_commit(merged)? {
            found.merged = Some(merged);
        } else {
            let from = event.number.map_or_else(|| merged.to_string(), |number| format!("refs/pull/{number}/head"));
            found.missing = Some(format!("git fetch origin {from}"));
        }
    }
    Ok(Some(found))
}

fn of_gitlab(repo: &Repo) -> Result<Option<Place>> {
    for (base, heads) in [
        ("CI_MERGE_REQUEST_DIFF_BASE_SHA", ["CI_MERGE_REQUEST_SOURCE_BRANCH_SHA", "CI_COMMIT_SHA"]),
        ("CI_COMMIT_BEFORE_SHA", ["CI_COMMIT_SHA", "CI_COMMIT_SHA"]),
    ] {
        let Some(from) = text_of(base)? else { continue };
        let is_nothing = from.bytes().all(|byte| byte == b'0');
        let Some(from) = commit_id(&from) else {
            if is_nothing {
                continue;
            }
            return Err(Error::user(format!("the variable '{base}' has no commit id")));
        };
        let mut head = None;
        for name in heads {
            head = head.or(text_of(name)?.as_deref().and_then(commit_id));
        }
        let head = head.map_or(End::Name("HEAD"), End::Id);
        return between(repo, &End::Id(from), &head, base.to_owned()).map(Some);
    }
    Ok(None)
}

/// Returns the commits that `head` has and `base` does not.
fn between(repo: &Repo, base: &End<'_>, head: &End<'_>, said_by: String) -> Result<Place> {
    let commit = |end: &End<'_>| -> Result<ObjectId> {
        let (found, name) = match end {
            End::Id(id) => (if repo.is_commit(*id)? { Some(*id) } else { None }, id.to_string()),
            End::Name(name) => (repo.find_commit(name)?, (*name).to_owned()),
        };
        let lacks = || Error::user(format!("this clone lacks the commit '{name}' ({said_by})")).with_hint(DEPTH);
        found.ok_or_else(lacks)
    };
    let range = format!("{}..{}", commit(base)?, commit(head)?);
    Ok(Place { range, said_by, merged: None, missing: None })
}

fn read_event(path: &Path, after_merge: bool) -> Result<Option<Event>> {
    let what = || format!("cannot read what GITHUB_EVENT_PATH names, '{}'", path.display());
    let mut text = Vec::new();
    File::open(path).and_then(|file| file.take(LONGEST_EVENT).read_to_end(&mut text)).context(Kind::User, what)?;
    event::read(&text, after_merge).context(Kind::User, what)
}

/// Returns the value of a variable, if it is set and not empty.
fn text_of(name: &str) -> Result<Option<String>> {
    let text = environment::variable(name).map(std::ffi::OsString::into_string).transpose();
    let text = text.map_err(|_| Error::user(format!("the variable '{name}' is no text")))?;
    match text {
        Some(text) if text.chars().any(char::is_control) => {
            Err(Error::user(format!("the variable '{name}' has control characters")))
        }
        text => Ok(text),
    }
}

/// Returns the range `text`; of a single commit, the range that has only this.
fn as_range(repo: &Repo, text: &str) -> Result<String> {
    if text.contains("..") || text.starts_with('^') || text.ends_with("^!") {
        return Ok(text.to_owned());
    }
    let unknown = || Error::user(format!("no commit matches '{text}'")).with_hint("a range is such as 'main..HEAD'");
    repo.find_commit(text)?.map(|_| format!("{text}^!")).ok_or_else(unknown)
}
