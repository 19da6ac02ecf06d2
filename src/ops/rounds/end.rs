//! `round end`: commits what is there, checks that the branch has it, keeps the experiments, and only then removes worktrees.
//!
//! The file of the round says how far it has come. Each step can be repeated: after a crash, or a failure, the next call goes on.

use std::{os::unix::ffi::OsStrExt as _, path::Path};

use bstr::BString;
use gix::ObjectId;
use serde::Serialize;

use super::{
    super::{
        Context,
        worktrees::{self, RemoveOptions},
    },
    archive,
    commit::{self, MESSAGE, commit_all},
    listing::{bytes, named},
    lock::lock_round,
    names::check_label,
    workspace,
};
use crate::{
    error::{Error, Result},
    git::{Repo, registrations::Registration},
    model::{id_text, path_text, round::Mode},
    state::{
        failpoint,
        rounds::{self, Phase, Place, Round},
    },
};

/// How to end it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct EndOptions {
    /// What its experiments are kept as.
    pub(crate) archive_label: Option<String>,
    /// The message of the commits.
    pub(crate) message: Option<String>,
    /// Do not run the commands of `worktree.teardown`.
    pub(crate) no_teardown: bool,
}

/// What became of one directory. Serializes to an entry of `contexts`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct EndedPlace {
    /// The directory that was worked on.
    #[serde(serialize_with = "path_text::serialize")]
    pub(crate) context: BString,
    /// How it was isolated.
    pub(crate) mode: Mode,
    /// Its branch, which stays.
    pub(crate) branch: Option<String>,
    /// The checkpoint of what was there.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub(crate) checkpoint: Option<ObjectId>,
    /// The commit that was made; none if there was nothing to commit.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub(crate) commit: Option<ObjectId>,
    /// Where the experiments are.
    #[serde(serialize_with = "path_text::serialize_optional")]
    pub(crate) archive: Option<BString>,
    /// What `worktree restore` takes.
    pub(crate) removed: Option<String>,
    /// The ignored files and directories that were removed with the worktree.
    #[serde(serialize_with = "path_text::serialize_list")]
    pub(crate) ignored: Vec<BString>,
    /// True if another command had removed the worktree before.
    pub(crate) gone: bool,
}

/// A round that has ended. Serializes to what `round end --json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Ended {
    /// The version of this shape.
    pub(crate) version: u32,
    /// Its id.
    pub(crate) round: String,
    /// Its directories.
    pub(crate) contexts: Vec<EndedPlace>,
}

impl EndedPlace {
    fn of(place: &Place) -> Self {
        Self {
            context: bytes(&place.context),
            mode: place.mode,
            branch: place.branch.clone(),
            checkpoint: None,
            commit: None,
            archive: place.archive.as_deref().map(bytes),
            removed: place.removed.clone(),
            ignored: Vec::new(),
            gone: false,
        }
    }
}

/// Ends the round that `name` stands for: its branches stay. Of a round that has ended, it says what became of it. `run` runs the
/// commands of `worktree.teardown`.
///
/// # Errors
/// As `commit` and `worktree remove`: what is not committed, checked and kept by then is where it was.
pub(crate) fn end(context: &Context, name: &str, options: &EndOptions, run: worktrees::Run<'_>) -> Result<Ended> {
    context.repo.name_operation("round end");
    context.emit_failure("round end", try_end(context, name, options, run))
}

fn try_end(context: &Context, name: &str, options: &EndOptions, run: worktrees::Run<'_>) -> Result<Ended> {
    options.archive_label.as_deref().map_or(Ok(()), |label| check_label("the label", label))?;
    let id = named(context, name)?.id;
    let common = context.repo.common_dir();
    let unknown = || Error::race(format!("the round '{id}' is no more"));
    let _lock = lock_round(context, &rounds::read(common, &id)?.ok_or_else(unknown)?)?;
    let mut round = rounds::read(common, &id)?.ok_or_else(unknown)?;
    worktrees::put_back(context)?;
    let mut ended = Vec::new();
    for at in 0..round.places.len() {
        if round.places[at].is_done {
            ended.push(EndedPlace::of(&round.places[at]));
            continue;
        }
        let place = match round.places[at].mode {
            Mode::Legacy => end_legacy(context, &round.places[at])?,
            Mode::Workspace => end_workspace(context, &mut round, at, options)?,
            Mode::Worktree => end_worktree(context, &mut round, at, options, run)?,
        };
        ended.push(place);
        round.places[at].is_done = true;
        round.write(common)?;
    }
    round.phase = Phase::Ended;
    round.write(common)?;
    Ok(Ended { version: 1, round: round.id, contexts: ended })
}

/// Takes a checkpoint, if the directory is in a repository.
fn end_legacy(context: &Context, place: &Place) -> Result<EndedPlace> {
    let mut ended = EndedPlace::of(place);
    if Repo::is_inside_repository(&place.context) {
        let there = context.with_repo(Repo::open(&place.context)?);
        ended.checkpoint = Some(commit::checkpoint(&there)?);
    }
    Ok(ended)
}

fn end_workspace(context: &Context, round: &mut Round, at: usize, options: &EndOptions) -> Result<EndedPlace> {
    let place = round.places[at].clone();
    let Some(branch) = place.branch.as_deref().filter(|_| place.head.is_some()) else {
        // It was killed before it has changed anything.
        return Ok(EndedPlace::of(&place));
    };
    let here = context.with_repo(Repo::open(&place.context)?);
    let mut ended = EndedPlace::of(&place);
    if workspace::is_back(&here, &place)? {
        // The last call was killed after that, or the user has switched back. Nothing is removed.
        archive::archive(context, round, at, options.archive_label.as_deref())?;
        return Ok(EndedPlace::of(&round.places[at]));
    }
    let committed = commit_all(&here, branch, options.message.as_deref().unwrap_or(MESSAGE))?;
    (ended.checkpoint, ended.commit) = (Some(committed.checkpoint), committed.commit);
    archive::archive(context, round, at, options.archive_label.as_deref())?;
    ended.archive = round.places[at].archive.as_deref().map(bytes);
    workspace::switch_back(&here, &place)?;
    Ok(ended)
}

fn end_worktree(
    context: &Context,
    round: &mut Round,
    at: usize,
    options: &EndOptions,
    run: worktrees::Run<'_>,
) -> Result<EndedPlace> {
    let place = round.places[at].clone();
    let Some((branch, found)) = place.branch.as_deref().zip(found(context, &place)?) else {
        let gone = place.path.is_some();
        return Ok(EndedPlace { gone, ..EndedPlace::of(&place) });
    };
    worktrees::refuse_in_use(context, &found)?;
    // It may have been moved since.
    let name = place.scratch.as_deref().and_then(Path::file_name);
    round.places[at].scratch = name.map(|name| found.path.join(name));
    let there = context.with_repo(context.repo.open_worktree(&found.path)?);
    let committed = commit_all(&there, branch, options.message.as_deref().unwrap_or(MESSAGE))?;
    archive::archive(context, round, at, options.archive_label.as_deref())?;
    failpoint::hit("round:before-removal");
    let remove =
        RemoveOptions { name: found.path.clone().into_os_string(), force: false, no_teardown: options.no_teardown };
    // It looks at the worktree once more: what is not at HEAD then is not in the branch.
    let mut refuse = |removal: &worktrees::Removal| {
        Err(Error::race(format!("'{}' has just been changed", path_text::printable(removal.path.as_ref())))
            .with_hint("run it again when the agent has ended"))
    };
    let removal = worktrees::remove(context, &remove, &mut refuse, run)?;
    failpoint::hit("round:after-removal");
    let place = &mut round.places[at];
    place.removed = Some(removal.id);
    let mut ignored = removal.ignored;
    // What was in it is kept elsewhere.
    let scratch = name.map(|name| [name.as_bytes(), b"/"].concat());
    ignored.retain(|path| scratch.as_ref().is_none_or(|scratch| *path != *scratch));
    let ended = EndedPlace::of(place);
    Ok(EndedPlace { checkpoint: Some(committed.checkpoint), commit: committed.commit, ignored, ..ended })
}

/// Returns the worktree of `place`, as git has registered it; none if another command has removed it. Git may have given its id to
/// another one since, and the branch may be checked out elsewhere.
fn found(context: &Context, place: &Place) -> Result<Option<Registration>> {
    let full = place.branch.as_ref().map(|branch| format!("refs/heads/{branch}"));
    let is_on_it = |it: &Registration| {
        it.head.branch.as_ref().is_some_and(|at| full.as_ref().is_some_and(|full| *at == full.as_str()))
    };
    let is_its = |it: &Registration| match &place.worktree {
        Some(id) => *id == it.id && (place.path.as_ref() == Some(&it.path) || is_on_it(it)),
        // The start was killed.
        None => !it.is_main() && is_on_it(it),
    };
    let found = context.repo.registrations()?.into_iter().find(is_its);
    found.map(|found| worktrees::checked(context, &found)).transpose()
}
