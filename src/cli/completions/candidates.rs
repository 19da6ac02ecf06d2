//! Candidates of each kind, as the repository, the settings and the manual have them.
//!
//! Writes nothing, and takes no lock. A source that cannot be read has no candidates.

use std::{collections::HashSet, path::Path};

use bstr::ByteSlice as _;
use gix::ObjectId;

use super::super::{date, man, output::printable, settings};
use crate::{
    agent::dialects,
    config::{self, keys},
    git::{Abbreviation, Repo, registrations::Registration},
    ops::{
        Context,
        called::with_short_ids,
        history::{self, Entry, ListOptions},
        operations,
        rounds::{self, Shown},
        sessions,
        tags::{self, ListedTag},
        worktrees::{self, Restorable},
    },
};

/// The most candidates of one source: the newest, or the first by name.
const MOST: usize = 50;
/// The most candidates of each source if several are offered together: bash asks before it lists more than a hundred.
const MOST_OF_SEVERAL: usize = 20;
/// The most checkpoints that are searched for candidates.
const SEARCHED: usize = 2_000;

/// One candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) value: String,
    /// The description, printable.
    pub(super) about: String,
}

impl Candidate {
    fn new(value: impl Into<String>, about: impl AsRef<[u8]>) -> Self {
        Self { value: value.into(), about: printable(about) }
    }
}

/// Returns the context of the repository of the current directory, even if settings are invalid.
pub(super) fn context() -> Option<Context> {
    let repo = Repo::open_from_environment(Path::new(".")).ok()?;
    let settings = config::load_lenient(&settings::sources(Some(&repo))).settings;
    Some(Context::new(repo, settings))
}

/// Calls `each` with the checkpoints of this worktree, newest first, until it returns false.
fn walk(context: &Context, options: &ListOptions, mut each: impl FnMut(&Entry) -> bool) {
    let mut left = SEARCHED;
    // A broken chain has candidates down to the gap.
    let _ = history::list(context, options, &mut |entry| {
        left -= 1;
        Ok(each(&entry) && left > 0)
    });
}

/// Returns the id of the checkpoint if it begins with `typed`: abbreviated, or whole if `typed` is longer than that.
fn id(entry: &Entry, typed: &str, abbreviation: &Abbreviation) -> Option<String> {
    short_or_whole(&entry.checkpoint.id, typed, abbreviation)
}

fn short_or_whole(id: &ObjectId, typed: &str, abbreviation: &Abbreviation) -> Option<String> {
    let whole = id.to_string();
    let short = whole.starts_with(typed).then(|| abbreviation.of(id))?;
    Some(if short.starts_with(typed) { short } else { whole })
}

fn about(entry: &Entry, now: i64) -> String {
    let checkpoint = &entry.checkpoint;
    format!("{}  {}", date::relative(checkpoint.seconds, now), entry.called)
}

/// Returns the names of states of the worktree that begin with `typed`: after `@`, the numbers of checkpoints; else ids,
/// turns, tags and `verified`, and with `and_commits`, `base` and revisions.
pub(super) fn checkpoints(typed: &str, and_commits: bool) -> Vec<Candidate> {
    let Some(context) = context() else { return Vec::new() };
    let (now, abbreviation) = (date::now(), context.repo.abbreviation());
    let mut ids = Vec::new();
    if typed.starts_with('@') {
        walk(&context, &ListOptions::default(), |entry| {
            let value = entry.number.map(|number| format!("@{{{number}}}")).unwrap_or_default();
            if value.starts_with(typed) {
                ids.push(Candidate::new(value, about(entry, now)));
            }
            ids.len() < MOST
        });
        return ids;
    }
    let (mut turns, mut seen) = (Vec::new(), HashSet::new());
    // What the user has typed may also begin the id of a checkpoint within a turn.
    walk(&context, &ListOptions { all: !typed.is_empty(), ..ListOptions::default() }, |entry| {
        let mut add = |list: &mut Vec<Candidate>, value: String| {
            if list.len() < MOST_OF_SEVERAL && value.starts_with(typed) && seen.insert(value.clone()) {
                list.push(Candidate::new(value, about(entry, now)));
            }
        };
        if let Some(id) = id(entry, typed, &abbreviation) {
            add(&mut ids, id);
        }
        if let (Some(session), Some(turn), None) =
            (&entry.checkpoint.origin.session, entry.checkpoint.origin.turn, &entry.restored)
        {
            add(&mut turns, format!("{session}@{turn}"));
        }
        ids.len() < MOST_OF_SEVERAL
    });
    let verified = Candidate::new("verified", "what was marked as good, or the start");
    let base = Candidate::new("base", "the commit that HEAD is at");
    let words = std::iter::once(verified).chain(and_commits.then_some(base));
    let words = words.filter(|it| it.value.starts_with(typed)).collect();
    let revisions = if and_commits { revisions_of(&context.repo, typed, MOST_OF_SEVERAL) } else { Vec::new() };
    [ids, turns, tags_of(&context, typed, MOST_OF_SEVERAL), words, revisions].concat()
}

/// Returns the tags.
pub(super) fn tags(typed: &str) -> Vec<Candidate> {
    context().map(|context| tags_of(&context, typed, MOST)).unwrap_or_default()
}

fn tags_of(context: &Context, typed: &str, most: usize) -> Vec<Candidate> {
    let listed = tags::list(context, &[]).unwrap_or_default().into_iter();
    let now = date::now();
    let about = |it: &ListedTag| {
        let (seconds, _) = it.moment?;
        Some(format!("{}  {}", date::relative(seconds, now), it.called.as_deref()?))
    };
    let named = listed.filter(|it| it.tag.starts_with(typed)).take(most);
    named.map(|it| Candidate::new(it.tag.clone(), about(&it).unwrap_or_default())).collect()
}

/// Returns the branches that are checked out in worktrees; that of the main one only with `and_main`.
pub(super) fn worktrees(typed: &str, and_main: bool) -> Vec<Candidate> {
    let mut registered = context().and_then(|context| context.repo.registrations().ok()).unwrap_or_default();
    registered.retain(|it| and_main || !it.is_main());
    let branch =
        |it: &Registration| it.head.branch.as_ref()?.to_str().ok()?.strip_prefix("refs/heads/").map(str::to_owned);
    let named = registered.iter().filter_map(|it| Some((branch(it)?, it)));
    let about = |it: &Registration| it.path.as_os_str().as_encoded_bytes().to_owned();
    named
        .filter(|(name, _)| name.starts_with(typed))
        .take(MOST)
        .map(|(name, it)| Candidate::new(name, about(it)))
        .collect()
}

/// Returns the removed worktrees that can be restored.
pub(super) fn removed(typed: &str) -> Vec<Candidate> {
    let list = context().and_then(|context| worktrees::restorable(&context).ok()).map(|list| list.removed);
    let named = list.unwrap_or_default().into_iter().filter(|it| it.id.starts_with(typed));
    let about = |it: &Restorable| format!("{}  {}", it.removed, it.path).into_bytes();
    named.take(MOST).map(|it| Candidate::new(it.id.clone(), about(&it))).collect()
}

/// Returns the rounds that have not ended.
pub(super) fn rounds(typed: &str) -> Vec<Candidate> {
    let (all, _) = context().and_then(|context| rounds::list(&context, None, false).ok()).unwrap_or_default();
    let named = all.into_iter().filter(|it| it.round.starts_with(typed));
    let about = |it: &Shown| it.agent.iter().map(String::as_str).chain(it.branches()).collect::<Vec<_>>().join("  ");
    named.take(MOST).map(|it| Candidate::new(it.round.clone(), about(&it))).collect()
}

/// Returns the latest checkpoints of archived shadows.
pub(super) fn archived(typed: &str) -> Vec<Candidate> {
    let Some(context) = context() else { return Vec::new() };
    let (now, abbreviation) = (date::now(), context.repo.abbreviation());
    let mut found = Vec::new();
    walk(&context, &ListOptions { archived: true, ..ListOptions::default() }, |entry| {
        found.extend(id(entry, typed, &abbreviation).map(|id| Candidate::new(id, about(entry, now))));
        found.len() < MOST
    });
    found
}

/// Returns the remotes of git.
pub(super) fn remotes(typed: &str) -> Vec<Candidate> {
    let names = context().and_then(|context| context.repo.remote_names().ok()).unwrap_or_default().into_iter();
    names.filter(|name| name.starts_with(typed)).take(MOST).map(|name| Candidate::new(name, "remote")).collect()
}

/// Returns the branches that no worktree has checked out.
pub(super) fn branches(typed: &str) -> Vec<Candidate> {
    let Some(context) = context() else { return Vec::new() };
    let taken: Vec<_> =
        context.repo.registrations().unwrap_or_default().into_iter().filter_map(|it| it.head.branch).collect();
    let names = context.repo.refs_below(BRANCHES).unwrap_or_default().into_iter().map(|(name, _)| name);
    let free = names.filter(|name| !taken.iter().any(|it| it == name.as_str()));
    let named = free.filter_map(|name| name.strip_prefix(BRANCHES).map(str::to_owned));
    named.filter(|name| name.starts_with(typed)).take(MOST).map(|name| Candidate::new(name, "branch")).collect()
}

/// Below it are the branches.
const BRANCHES: &str = "refs/heads/";

/// Returns HEAD, branches and tags of git.
pub(super) fn revisions(typed: &str) -> Vec<Candidate> {
    context().map(|context| revisions_of(&context.repo, typed, MOST)).unwrap_or_default()
}

fn revisions_of(repo: &Repo, typed: &str, most: usize) -> Vec<Candidate> {
    let mut found = Vec::new();
    if "HEAD".starts_with(typed) {
        found.push(Candidate::new("HEAD", "what is checked out"));
    }
    for (prefix, what) in [(BRANCHES, "branch"), ("refs/remotes/", "branch"), ("refs/tags/", "tag")] {
        let names = repo.refs_below(prefix).unwrap_or_default().into_iter();
        let names = names.filter_map(|(name, _)| name.strip_prefix(prefix).map(str::to_owned));
        found.extend(names.filter(|name| name.starts_with(typed)).take(most).map(|name| Candidate::new(name, what)));
    }
    found.truncate(most);
    found
}

/// Returns the sessions, the last seen first, with their last prompts.
pub(super) fn sessions(typed: &str) -> Vec<Candidate> {
    let Some(context) = context() else { return Vec::new() };
    let now = date::now();
    let known = sessions::asked(&context, typed, MOST).unwrap_or_default().into_iter();
    known
        .map(|session| {
            let prompt = session.prompt.unwrap_or_default();
            let agent = session.agent.map(|agent| agent + ", ").unwrap_or_default();
            let first = prompt.trim().lines().next().unwrap_or_default();
            Candidate::new(session.id, format!("{agent}{}  {first}", date::relative(session.last_seen, now)))
        })
        .collect()
}

/// Returns the operations of this worktree, the latest first: after `@`, their numbers, else their ids. If only those are wanted
/// that can be taken back, only these.
pub(super) fn operations(typed: &str, only_undoable: bool) -> Vec<Candidate> {
    let Some(context) = context() else { return Vec::new() };
    let (now, abbreviation) = (date::now(), context.repo.abbreviation());
    let listed = operations::list(&context).map(|(listed, _)| listed).unwrap_or_default().into_iter().enumerate();
    let wanted = listed.filter(|(_, it)| !only_undoable || it.undoable || it.redoable);
    let named = wanted.filter_map(|(number, it)| {
        let value = if typed.starts_with('@') {
            Some(format!("@{{{number}}}")).filter(|name| name.starts_with(typed))
        } else {
            short_or_whole(&it.id, typed, &abbreviation)
        }?;
        let mut command = with_short_ids(&context.repo, &it.command);
        command.extend(it.of.map(|of| format!(" ({of})")));
        Some(Candidate::new(value, format!("{}  {command}", date::relative(it.seconds, now))))
    });
    named.take(MOST).collect()
}

/// Returns the coding agents that have hooks.
pub(super) fn agents(typed: &str) -> Vec<Candidate> {
    let known = dialects::ALL.iter().filter(|dialect| dialect.name.starts_with(typed));
    let mut found: Vec<_> = known.map(|dialect| Candidate::new(dialect.name, dialect.title)).collect();
    found.sort_unstable_by(|a, b| a.value.cmp(&b.value));
    found
}

/// Returns the settings with the values in force.
pub(super) fn settings(typed: &str) -> Vec<Candidate> {
    let loaded = config::load_lenient(&sources());
    let known = keys::KEYS.iter().filter(|key| key.name.starts_with(typed));
    known
        .map(|key| {
            let value = loaded.origin(key.name).map(|origin| origin.value.to_string()).unwrap_or_default();
            Candidate::new(key.name, value.trim_end().replace('\n', ", "))
        })
        .collect()
}

/// Returns the values that the setting `key` accepts if they can be listed; else the value in force.
pub(super) fn values(key: &str, typed: &str) -> Vec<Candidate> {
    let Some(key) = keys::find(key) else { return Vec::new() };
    let loaded = config::load_lenient(&sources());
    let now = loaded.origin(key.name).map(|origin| origin.value.to_string()).unwrap_or_default();
    let choices = key.choices();
    let values = if choices.is_empty() { vec![now.as_str()] } else { choices.to_vec() };
    let known = values.into_iter().filter(|value| value.starts_with(typed));
    known.map(|value| Candidate::new(value, if value == now { "the value in force" } else { "" })).collect()
}

fn sources() -> config::Sources {
    settings::sources(Repo::open_from_environment(Path::new(".")).ok().as_ref())
}

/// Returns the names that `git checkpoint man` accepts.
pub(super) fn pages(typed: &str) -> Vec<Candidate> {
    man::pages()
        .into_iter()
        .filter(|(name, _)| name.starts_with(typed))
        .map(|(name, what)| Candidate::new(name, what))
        .collect()
}
