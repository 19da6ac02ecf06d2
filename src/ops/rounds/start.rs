//! `round start`: makes the directories of a round. The same call again is the same round; one that was killed goes on.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;
use serde::Serialize;

use super::{
    super::{
        Context,
        sessions::{self, OnMultisession, SessionInfo},
        worktrees::{self, AddOptions},
    },
    copies,
    end::found,
    isolated,
    listing::ShownPlace,
    lock::{lock_all, lock_round},
    made_around, mirror,
    names::{Folders, check, new_branch, random},
    options::{Begun, StartOptions},
    previous,
    retire::{Fates, LeftBranch, Retired},
    scratch,
    source::repo_of,
    to_set_up, undo, workspace,
};
use crate::{
    config::RoundMode,
    error::{Context as _, Error, Kind, Result},
    git::Repo,
    model::round::{Mode, WORKTREES},
    state::{
        failpoint,
        lock::Lock,
        rounds::{self, Asked, Phase, Place, Round},
    },
};

/// A round that has begun. Serializes to what `round start --json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Started {
    /// The version of this shape.
    pub(crate) version: u32,
    /// Its id.
    pub(crate) round: String,
    /// Its directories.
    pub(crate) contexts: Vec<ShownPlace>,
    /// The branches of rounds before that are no more.
    pub(crate) retired: Vec<Retired>,
    /// The branch of the round before, if it was to go and stays.
    pub(crate) left: Vec<LeftBranch>,
    /// What this call has made.
    #[serde(skip)]
    pub(crate) made: Begun,
    /// What is to be set up: that, and what a call before has made that was killed, or whose commands have failed.
    #[serde(skip)]
    pub(crate) due: Begun,
}

/// Begins a round, or returns the one that the same call has begun.
///
/// # Errors
/// [`Kind::User`] for a directory that is not there, or a malformed name; [`Kind::Refused`] for a directory of another repository,
/// or if something is in the way. What has been made by then is removed again.
pub(crate) fn start(context: &Context, options: &StartOptions) -> Result<Started> {
    context.repo.name_operation("round start");
    context.emit_failure("round start", try_start(context, options))
}

fn try_start(context: &Context, options: &StartOptions) -> Result<Started> {
    check(options)?;
    let previous = previous::check(context, options)?;
    let folders = Folders::of(context)?;
    let asked = asked(options)?;
    let mode = options.mode.unwrap_or(context.settings.round.mode);
    options.check_mirror()?;
    let (mut round, is_new, lock) = found_or_new(context, &asked, mode, &folders, options)?;
    let mut made = Begun::default();
    if round.phase == Phase::Starting {
        round.takes_changes |= options.with_changes;
        failpoint::hit("round:after-state");
        if !is_new {
            take_back(context, &mut round)?;
        }
        if let Err(error) = make_all(context, &mut round, &folders, options, &mut made) {
            return Err(undo::undo(context, &mut round, &made, error));
        }
    }
    drop(lock);
    let Fates { retired, left } = previous::follow(context, previous.as_deref(), options);
    refuse_gone(context, &round)?;
    let due = if options.sets_up { to_set_up::due(context, &round)? } else { Begun::default() };
    let contexts = round.places.iter().map(ShownPlace::from).collect();
    Ok(Started { version: 1, round: round.id, contexts, retired, left, made, due })
}

/// Returns the round that is `asked` for, locked, and whether it is a new one, which is written then.
fn found_or_new(
    context: &Context,
    asked: &Asked,
    mode: RoundMode,
    folders: &Folders,
    options: &StartOptions,
) -> Result<(Round, bool, Lock)> {
    let (common, takes_changes) = (context.repo.common_dir(), options.with_changes);
    loop {
        let all = lock_all(context)?;
        let rounds = rounds::all(common)?.sound;
        if options.is_new_group
            && let Some(group) = &asked.group
            && rounds.iter().any(|round| round.asked.group.as_ref() == Some(group))
        {
            return Err(Error::refused(format!("there are rounds of the group '{group}' already")).with_hint(format!(
                "give another name; 'git checkpoint round list --all --group {group}' shows these"
            )));
        }
        let Some(found) = rounds.iter().find(|round| is_same(round, asked)) else {
            let round = Round { takes_changes, ..new(context, asked.clone(), mode, folders, &rounds)? };
            let lock = lock_round(context, &round)?;
            round.write(common)?;
            return Ok((round, true, lock));
        };
        // Another process may make it, which takes a while.
        drop(all);
        let lock = lock_round(context, found)?;
        if let Some(round) = rounds::read(common, &found.id)?.filter(|round| is_same(round, asked)) {
            return Ok((round, false, lock));
        }
    }
}

/// Removes what a killed start has made in part: it is made again. A branch of that name that is not ours stays, and another name
/// is chosen.
///
/// # Errors
/// [`Kind::Refused`] if there is work in it: it stays.
fn take_back(context: &Context, round: &mut Round) -> Result<()> {
    worktrees::put_back(context)?;
    let label = round.asked.label.clone();
    for at in 0..round.places.len() {
        let place = &round.places[at];
        if place.path.is_some() {
            continue;
        }
        match place.mode {
            Mode::Worktree => undo::undo_killed(context, round, place)?,
            Mode::Isolated => undo::undo_copy(context, round, at)?,
            Mode::Workspace | Mode::Legacy => continue,
        }
        let Some(branch) = &round.places[at].branch else { continue };
        if context.repo.find_ref(&format!("refs/heads/{branch}"))?.is_some() {
            // It is another one's.
            let _all = lock_all(context)?;
            let taken = branches_of(&rounds::all(context.repo.common_dir())?.sound);
            round.places[at].branch = Some(new_branch(context, label.as_deref(), &taken)?);
        }
        let place = &mut round.places[at];
        (place.claimed, place.base, place.files, place.mark) = (None, None, None, None);
        (place.brought, place.aside) = (None, None);
        round.write(context.repo.common_dir())?;
    }
    Ok(())
}

/// Returns the branches of `rounds`, those included that are not made yet.
fn branches_of(rounds: &[Round]) -> BTreeSet<String> {
    rounds.iter().flat_map(|it| &it.places).filter_map(|it| it.branch.clone()).collect()
}

/// Refuses if one of the directories of `round` is gone, or is that of another round now.
fn refuse_gone(context: &Context, round: &Round) -> Result<()> {
    let mut is_gone = None;
    for place in round.places.iter().filter(|place| !place.is_done) {
        let Some(path) = &place.path else { continue };
        let is_there = match place.mode {
            Mode::Worktree => found(context, place)?.is_some_and(|found| found.path.is_dir()),
            Mode::Isolated => copies::open(context, place)?.is_some(),
            Mode::Workspace | Mode::Legacy => path.is_dir(),
        };
        is_gone = is_gone.or((!is_there).then_some(path));
    }
    let Some(gone) = is_gone else { return Ok(()) };
    Err(Error::refused(format!("'{}' of the round '{}' is gone", gone.display(), round.id)).with_hint(format!(
        "'git checkpoint worktree restore --list' shows what can be restored; 'git checkpoint round end {}' ends the round",
        round.id
    )))
}

/// Returns what is asked for, with canonical paths.
fn asked(options: &StartOptions) -> Result<Asked> {
    let canonical = |path: &PathBuf| {
        let what = || format!("cannot find the directory '{}'", path.display());
        let real = fs::canonicalize(path).context(Kind::User, what)?;
        if real.is_dir() { Ok(real) } else { Err(Error::user(format!("'{}' is no directory", path.display()))) }
    };
    let mut contexts: Vec<PathBuf> = Vec::new();
    for path in &options.contexts {
        let path = canonical(path)?;
        if !contexts.contains(&path) {
            contexts.push(path);
        }
    }
    Ok(Asked {
        contexts,
        workspace: options.workspace.as_ref().map(canonical).transpose()?,
        session: options.session.clone(),
        agent: options.agent.clone(),
        mode: options.mode.map(|mode| mode.name().to_owned()),
        base: options.base.clone(),
        label: options.label.clone(),
        group: options.group.clone(),
        previous: options.previous.clone(),
        mirror: options.mirror.map(|mirror| mirror.name().to_owned()),
    })
}

/// Returns true if `round` is what is `asked` for: of calls that name neither a workspace nor a session nor an agent, each is for
/// another one.
fn is_same(round: &Round, asked: &Asked) -> bool {
    let is_for_one = asked.workspace.is_some() || asked.session.is_some() || asked.agent.is_some();
    is_for_one && round.phase != Phase::Ended && round.asked == *asked
}

/// Chooses the names of a new round beside `rounds`. Nothing is made yet.
fn new(context: &Context, asked: Asked, mode: RoundMode, folders: &Folders, rounds: &[Round]) -> Result<Round> {
    let mut taken = branches_of(rounds);
    let mut places = Vec::new();
    let in_place = asked.workspace.as_slice();
    let directories = if asked.contexts.is_empty() { in_place } else { &asked.contexts };
    for directory in directories {
        let mode = match mode {
            RoundMode::Legacy => Mode::Legacy,
            _ if asked.contexts.is_empty() => Mode::Workspace,
            RoundMode::Isolated => Mode::Isolated,
            RoundMode::Auto if !Repo::is_inside_repository(directory) => Mode::Isolated,
            RoundMode::Auto | RoundMode::Worktree => Mode::Worktree,
        };
        if mode == Mode::Workspace {
            refuse_second(rounds, directory)?;
        }
        if matches!(mode, Mode::Worktree | Mode::Isolated) {
            made_around::refuse(directory)?;
        }
        let branch = match mode {
            Mode::Legacy => None,
            _ => Some(new_branch(context, asked.label.as_deref(), &taken)?),
        };
        taken.extend(branch.clone());
        places.push(Place {
            context: directory.clone(),
            mode,
            path: None,
            inside: BString::default(),
            branch,
            base: None,
            files: None,
            claimed: None,
            worktree: None,
            mark: None,
            head: None,
            scratch: None,
            archive: None,
            committed: None,
            brought: None,
            aside: None,
            removed: None,
            is_done: false,
            is_kept: false,
            superseded: None,
            retired: None,
        });
    }
    let mut id = random();
    while rounds.iter().any(|round| round.id == id) {
        id = random();
    }
    let (began, archive_folder) = (jiff::Timestamp::now().as_microsecond(), folders.archive.clone());
    Ok(Round { id, began, phase: Phase::Starting, asked, takes_changes: false, archive_folder, ran: None, places })
}

/// Refuses a round in the directory `path` itself if one of `rounds` is there.
fn refuse_second(rounds: &[Round], path: &PathBuf) -> Result<()> {
    let is_there = |round: &&Round| {
        round.phase != Phase::Ended && round.places.iter().any(|it| it.mode == Mode::Workspace && it.context == *path)
    };
    let Some(other) = rounds.iter().find(is_there) else { return Ok(()) };
    Err(Error::refused(format!("the round '{}' is in '{}' already", other.id, path.display()))
        .with_hint(format!("'git checkpoint round end {}' ends it", other.id)))
}

/// Makes what `round` does not have yet; adds to `made` the worktrees.
fn make_all(
    context: &Context,
    round: &mut Round,
    folders: &Folders,
    options: &StartOptions,
    made: &mut Begun,
) -> Result<()> {
    let common = context.repo.common_dir();
    if let Some(workspace) =
        round.asked.workspace.clone().filter(|_| round.places.iter().any(|it| it.mode != Mode::Legacy))
    {
        scratch::exclude_in(context, &workspace, folders)?;
    }
    for at in 0..round.places.len() {
        context.check_interrupt()?;
        if round.places[at].path.is_some() {
            continue;
        }
        match round.places[at].mode {
            Mode::Legacy => round.places[at].path = Some(round.places[at].context.clone()),
            Mode::Workspace => workspace::begin(context, round, at, folders)?,
            Mode::Worktree => make_worktree(context, round, at, folders, options, made)?,
            Mode::Isolated => isolated::make(context, round, at, folders, options, made)?,
        }
        if options.sets_up {
            to_set_up::note_due(context, &round.places[at])?;
        }
        round.write(common)?;
        failpoint::hit("round:after-place");
    }
    round.phase = Phase::Live;
    round.write(common)
}

/// Makes the worktree of the place number `at`.
fn make_worktree(
    context: &Context,
    round: &mut Round,
    at: usize,
    folders: &Folders,
    asked: &StartOptions,
    made: &mut Begun,
) -> Result<()> {
    let place = &round.places[at];
    let branch = place.branch.clone().ok_or_else(|| Error::internal("a round has no branch"))?;
    let (repo, directory) = repo_of(context, place)?;
    let here = context.with_repo(repo);
    scratch::exclude(&here, folders)?;
    let session = round.asked.session.clone().filter(|_| at == 0);
    let taken = mirror::take(&here, asked.mirror_in(&here))?;
    let base = taken.as_ref().map(|it| it.base.to_string()).or_else(|| round.asked.base.clone());
    let inside = round.asked.workspace.as_ref().map(|it| scratch::make_folder(&it.join(WORKTREES))).transpose()?;
    let options =
        AddOptions { branch: branch.clone(), create: true, base, from_here: false, session: session.clone(), inside };
    let (common, mark) = (context.repo.common_dir(), format!("{}-{}", round.id, at + 1));
    let mut note = |path: &Path, commit: Option<ObjectId>| {
        let place = &mut round.places[at];
        (place.claimed, place.base) = (Some(path.to_owned()), commit.map(|id| id.to_string()));
        place.mark = Some(mark.clone());
        round.write(common)
    };
    let added = worktrees::add_noted(&here, &options, &mut note)?;
    let path = added.path.to_path_lossy().into_owned();
    round.places[at].files = added.checkpoint.map(|id| id.to_string());
    made.worktrees.push(path.clone());
    failpoint::hit("round:after-worktree");
    let there = worktrees::context_in(context, path.as_os_str())?;
    rounds::write_mark(there.repo.git_dir(), &mark)?;
    failpoint::hit("round:after-mark");
    if let Some(session) = &session {
        // The worktree is new: no other session has worked there.
        let info = SessionInfo { on_multisession: OnMultisession::Continue, ..SessionInfo::default() };
        sessions::start(&there, session, &info, &mut |_| Ok(true))?;
    }
    scratch::make_inside(&path, directory.as_bstr())?;
    if let Some(taken) = taken {
        let committed = mirror::bring(&there, &round.places[at], &branch, taken)?;
        round.places[at].base = Some(committed.tip.to_string());
    }
    let place = &mut round.places[at];
    place.inside = directory;
    place.scratch = Some(scratch::make(&there, folders)?);
    place.worktree = Some(there.repo.worktree_id().to_owned());
    place.path = Some(path);
    Ok(())
}
