//! Checks of our refs and files that need no commit to be read.

use std::{
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use bstr::ByteSlice as _;
use gix::ObjectId;

use super::problem::Problem;
use crate::{
    error::Result,
    git::{
        Repo,
        hook_managers::NOT_SHELL,
        hooks::{Health, Hook},
        unwritable_log::NoLog,
    },
    model::{
        path_text::{self, shell_word},
        refname,
        session::{Phase, Session},
    },
    ops::{
        Context, Worktree,
        enter::Purpose,
        guard,
        hooks::{self, HookDone},
        session_info, sessions,
    },
    state::{
        self,
        journal::{self, Journal},
    },
};

/// A lock or a journal that is younger may be in use.
pub(super) const STALE: Duration = Duration::from_secs(10 * 60);

/// Objects that a purge was about to remove when it was killed; `fix` puts them back, or removes what was not to come back.
pub(super) fn objects_aside(repo: &Repo, fix: bool) -> Option<Problem> {
    let path = repo.objects_aside()?;
    let message = "'git checkpoint purge' was killed while it removed these objects: some may be missing";
    let hint = "'git checkpoint doctor --fix' puts them back, and so does the next command that takes a lock";
    let mut problem = Problem::new("objects-aside", path.display().to_string(), message).hint(hint);
    if fix {
        if let Err(error) = repo.put_objects_back() {
            problem.message = format!("{message}: {error}");
            problem.hint = Some("see to the owner and the permissions of this directory, and run it again".into());
        }
        problem.fixed = repo.objects_aside().is_none();
    }
    Some(problem)
}

/// Refs of ours that lead nowhere, or to an object of the wrong kind.
pub(super) fn refs(repo: &Repo) -> Result<Vec<Problem>> {
    let mut problems = Vec::new();
    for (name, id) in repo.sound_and_broken_refs(refname::PREFIX)? {
        // They have their own check.
        if refname::shared_id(&name).is_some() {
            continue;
        }
        let Some(id) = id else {
            let hint = without_id(repo, &name);
            problems.push(Problem::new("ref-broken", name, "it cannot be read").hint(hint));
            continue;
        };
        let is_whole = match repo.is_whole(id) {
            Ok(is_whole) => is_whole,
            Err(error) => {
                problems.push(Problem::unlooked("ref-broken", &name, &error));
                continue;
            }
        };
        let wrong = if !repo.has_object(id) {
            format!("the commit {id} it leads to is missing")
        } else if !is_whole {
            format!("the commit {id} it leads to cannot be read")
        } else if !repo.is_commit(id)? {
            format!("{id} is not a commit")
        } else if name.starts_with(refname::SHADOWS) && refname::ShadowName::from_ref(&name).is_none() {
            "its name is not that of a shadow".to_owned()
        } else if name.starts_with(refname::SHADOWS) && repo.checkpoint(id)?.is_none() {
            format!("{id} is not a checkpoint")
        } else {
            continue;
        };
        let hint = way_out(repo, &name, true, &[id]);
        problems.push(Problem::new("ref-broken", name, wrong).hint(hint));
    }
    Ok(problems)
}

/// Returns what to do about the ref `name`, whose file git cannot parse.
fn without_id(repo: &Repo, name: &str) -> String {
    let fix = "'git checkpoint doctor --fix' sets its file aside and puts what it led to last into the archive";
    let shadow = refname::ShadowName::from_ref(name).filter(|shadow| shadow.worktree != repo.worktree_id());
    let is_log = refname::is_notes(name) || name == refname::HISTORY || name.starts_with(refname::TRANSCRIPTS);
    if repo.refs_without_id(name).is_empty() || is_log {
        return "'git fsck' says what is wrong, and names the dangling commits, of which one may be its last"
            .to_owned();
    }
    match shadow {
        Some(shadow) => format!("in the worktree '{}', {fix}", path_text::printable(shadow.worktree.as_bstr())),
        None => format!("{fix}, as far as that is known"),
    }
}

/// Foreign refs that git cannot parse, or whose objects are missing: git skips some of them, and fails for others.
pub(super) fn other_refs(repo: &Repo) -> Result<Vec<Problem>> {
    let is_ours = |name: &str| name.starts_with(refname::PREFIX) || name.starts_with(refname::FETCHED);
    let refs = repo.sound_and_broken_refs("refs/")?.into_iter().filter(|(name, _)| !is_ours(name));
    let problem = |(name, id): (String, Option<ObjectId>)| {
        let word = shell_word(&name);
        let (message, ways) = match id {
            Some(id) if repo.has_object(id) => return None,
            Some(id) => {
                let ways =
                    format!("'git reflog show {word}' may show what it was; 'git update-ref -d {word}' gives it up");
                (format!("the object {id} that it names is missing"), ways)
            }
            // No git command deletes what it cannot read.
            None => {
                let own = repo.git_dir().join(&name);
                let file = if own.exists() { own } else { repo.common_dir().join(&name) };
                let file = shell_word(&file.display().to_string());
                let log = shell_word(&repo.common_dir().join("logs").join(&name).display().to_string());
                let ways = format!("{log} may show what it was, if it is there; 'rm {file}' gives it up");
                ("it makes no sense to git".to_owned(), ways)
            }
        };
        let hint = format!("it is not of git-checkpoint: {ways}");
        Some(Problem::new("ref-broken", name, message).hint(hint))
    };
    Ok(refs.filter_map(problem).collect())
}

/// Returns what to do about the ref `name`, which leads to the `missing` objects; `is_lost` if that is its own commit.
pub(super) fn way_out(repo: &Repo, name: &str, is_lost: bool, missing: &[ObjectId]) -> String {
    if let Err(error) = repo.refuse_hidden_objects(&missing.iter().copied().collect()) {
        let hint = error.hint().unwrap_or_default();
        return format!("{error}: {hint}; until then nothing is given up");
    }
    let give_up =
        format!("'git update-ref -d {}' gives it up, once nothing of it is wanted any more", shell_word(name));
    match refname::ShadowName::from_ref(name) {
        Some(shadow) if !is_lost && shadow.base.commit_id().is_some_and(|base| missing == [base]) => {
            "its checkpoints are whole, and can be restored; fetch or copy the commit that they stand on from where it still is"
                .to_owned()
        }
        Some(shadow) if shadow.worktree == repo.worktree_id() => {
            "'git checkpoint doctor --fix' sets aside what can be read of it, and so does the next 'git checkpoint save' \
             that cannot continue it; nothing that can be read is lost"
                .to_owned()
        }
        Some(shadow) => format!(
            "'git checkpoint doctor --fix' in the worktree '{}' sets aside what can be read of it",
            path_text::printable(shadow.worktree.as_bstr())
        ),
        None if name.starts_with(refname::OPERATIONS) => {
            "'git checkpoint doctor --fix' keeps the operations that can be read".to_owned()
        }
        None if name.starts_with(refname::ARCHIVE) => format!(
            "fetch or copy the objects from where they still are, or let 'git checkpoint doctor --fix' keep what can be \
             read; {give_up}"
        ),
        None if is_lost && name == refname::verified_ref(repo.worktree_id()) => {
            "fetch or copy the commit from where it still is, or mark another checkpoint with 'git checkpoint verify'"
                .to_owned()
        }
        None if is_lost && name == refname::HISTORY => format!(
            "fetch or copy the commit from where it still is, or let 'git checkpoint doctor --fix' go back to the newest \
             state of the records that can be read; {give_up}"
        ),
        None if is_lost => {
            format!("fetch or copy the commit from where it still is; {give_up}")
        }
        None => "fetch or copy the objects from where they still are, or let 'git checkpoint doctor --fix' copy what can be \
                 read; 'git checkpoint show' lists that"
            .to_owned(),
    }
}

/// A log of this worktree's operations that cannot be written, though what it leads to can be read.
pub(super) fn operation_log(repo: &Repo) -> Vec<Problem> {
    let name = refname::operations_ref(repo.worktree_id());
    let Some(why) = repo.why_no_operation_log() else { return Vec::new() };
    let word = |path: &Path| shell_word(&path.display().to_string());
    let (why, hint) = match why {
        NoLog::InTheWay { why, path } => (why, format!("move {} away; the log begins anew then", word(&path))),
        NoLog::ReadOnly(path) => {
            ("its directory cannot be written to", format!("'chmod u+w {}' makes it writable", word(&path)))
        }
    };
    let message = format!("{why}: saves leave no entry in the operation log, and restore, reset and undo fail");
    vec![Problem::new("ref-broken", name, message).hint(hint)]
}

/// Directories that cannot be written to. A hook that fails there cannot even note that.
pub(super) fn unwritable(repo: &Repo) -> Vec<Problem> {
    let (own, common) = (state::directory(repo.git_dir()), state::directory(repo.common_dir()));
    let shared = repo.common_dir();
    let mut directories = vec![
        common.join("sessions"),
        common.join("agents"),
        own,
        common,
        shared.join("objects"),
        shared.join(refname::PREFIX.trim_end_matches('/')),
        shared.join(refname::OPERATIONS.trim_end_matches('/')),
    ];
    // We create a missing directory below its first existing parent.
    for directory in &mut directories {
        while directory.symlink_metadata().is_err() && directory.pop() {}
    }
    directories.sort();
    directories.dedup();
    let problem = |directory: PathBuf| {
        let error = state::temporary::probe(&directory).err()?;
        let effect = if directory.ends_with(refname::OPERATIONS) {
            "saves leave no entry in the operation log, and restore, reset and undo fail"
        } else {
            "no checkpoint is taken"
        };
        let message = format!("it cannot be written to, so that {effect}: {error}");
        let hint = "see to its owner, its permissions and the room on the disk";
        Some(Problem::new("directory-unwritable", directory.display().to_string(), message).hint(hint))
    };
    directories.into_iter().filter_map(problem).collect()
}

fn is_stale(path: &Path) -> bool {
    let modified = std::fs::metadata(path).and_then(|metadata| metadata.modified());
    modified.is_ok_and(|time| SystemTime::now().duration_since(time).is_ok_and(|age| age > STALE))
}

/// Session files that could not be parsed and were set aside.
pub(super) fn damaged_sessions(repo: &Repo) -> Vec<Problem> {
    let problem = |path: PathBuf| {
        Problem::new(
            "session-damaged",
            path.display().to_string(),
            "this file of a session could not be parsed and was set aside",
        )
        .note()
        .hint("what it was about is in refs; remove it once you have looked at it")
    };
    state::sessions::damaged(repo.common_dir()).into_iter().map(problem).collect()
}

/// Files of open turns that cannot be parsed, and those that were set aside for that.
pub(super) fn damaged_turns(repo: &Repo) -> Vec<Problem> {
    let problem = |path: PathBuf, message, hint| {
        Problem::new("turns-damaged", path.display().to_string(), message).note().hint(hint)
    };
    let mut problems = Vec::new();
    for git_dir in git_dirs(repo) {
        if state::turns::trouble(&git_dir).is_none() && !state::turns::is_known(&git_dir) {
            let message = "this file of turns under way cannot be parsed";
            let hint = "the next save or event sets it aside; what is unsaved then has an unknown author";
            problems.push(problem(state::turns::path(&git_dir), message, hint));
        }
        let aside = state::turns::damaged_path(&git_dir);
        if aside.symlink_metadata().is_ok() {
            let message = "this file of turns under way could not be parsed and was set aside";
            let hint = "what was under way then counts as ended; remove it once you have looked at it";
            problems.push(problem(aside, message, hint));
        }
    }
    problems
}

/// Files of open turns that cannot be read.
pub(super) fn unreadable_turns(repo: &Repo) -> Vec<Problem> {
    let problem = |git_dir: PathBuf| {
        let error = state::turns::trouble(&git_dir)?;
        let cause = error.causes().last().map(|cause| format!(" ({cause})")).unwrap_or_default();
        let message = format!("it is not known which turns are open, as this file cannot be read{cause}");
        let path = state::turns::path(&git_dir).display().to_string();
        Some(Problem::new("turns-unreadable", path, message).hint(error.hint().unwrap_or_default()))
    };
    git_dirs(repo).filter_map(problem).collect()
}

/// Returns the git directories of all worktrees.
fn git_dirs(repo: &Repo) -> impl Iterator<Item = PathBuf> {
    let linked = std::fs::read_dir(repo.common_dir().join("worktrees")).into_iter().flatten().flatten();
    std::iter::once(repo.common_dir().to_owned()).chain(linked.map(|entry| entry.path()))
}

/// Sessions with an open turn whose process is gone. With `fix`, saves the unsaved changes of the turn, and closes it.
pub(super) fn abandoned(context: &Context, fix: bool) -> Result<Vec<Problem>> {
    let is_abandoned = |session: &Session| {
        session.phase == Phase::Active && guard::is_silent(context, session.process.as_ref(), session.last_seen)
    };
    let mut sessions = session_info::all(context)?;
    sessions.retain(is_abandoned);
    if fix && !sessions.is_empty() {
        // Sessions with a claim on the worktree have open tool calls, which show their changes best.
        guard::recover(&Worktree::enter(context, Purpose::Change)?, "")?;
    }
    let problem = |session: &Session| {
        let id = &session.id;
        let is_here = session.is_in(context.repo.worktree_id());
        let hint = if is_here {
            format!(
                "'git checkpoint doctor --fix' saves its work and stops it, as 'session stop {}' does",
                shell_word(id)
            )
        } else {
            let (word, place) = (shell_word(id), &session.worktree_path);
            format!("'git checkpoint session stop {word}' in '{place}' saves its work")
        };
        let message = "its turn was never stopped, and its agent's process is gone";
        let mut problem = Problem::new("session-abandoned", id, message).hint(hint);
        problem.fixed = fix && is_here && sessions::close_abandoned(context, session).is_ok();
        problem
    };
    Ok(sessions.iter().map(problem).collect())
}

/// Commits that were begun and whose record was not written to the end, in any worktree.
pub(super) fn condensations(repo: &Repo) -> Vec<Problem> {
    let journals = git_dirs(repo).map(|git_dir| state::directory(&git_dir).join("commit.toml"));
    let problem = |path: PathBuf| {
        Problem::new(
            "condensation-unfinished",
            path.display().to_string(),
            "a commit was begun, and its record is not finished",
        )
        .note()
        .hint("the next command in that worktree finishes it, or forgets a commit that was given up")
    };
    journals.filter(|path| is_stale(path)).map(problem).collect()
}

/// Journals of restores that cannot be read: nothing is restored or undone there until they are out of the way.
pub(super) fn journals(repo: &Repo) -> Vec<Problem> {
    let problem = |git_dir: PathBuf| {
        let error = Journal::read(&git_dir).err()?;
        let path = journal::path(&git_dir).display().to_string();
        let message = "what the last restore has noted cannot be read, so that none is begun or undone";
        Some(
            Problem::new("restore-damaged", path, message)
                .hint(error.hint().unwrap_or("move the file away").to_owned()),
        )
    };
    git_dirs(repo).filter_map(problem).collect()
}

/// Hooks that git will not call us in, though they were enabled.
pub(super) fn hooks(context: &Context) -> Result<Vec<Problem>> {
    let mut health = hooks::health(context)?;
    health.retain(|(_, health)| *health != Health::Ok);
    let to_add = if health.is_empty() { Vec::new() } else { hooks::lines_to_add(context) };
    let problem = |(hook, health): (Hook, Health)| {
        let foreign = to_add.iter().find(|it| it.name == hook.name());
        let message = match (health, foreign) {
            (_, Some(foreign)) if foreign.has_file() => "the hook is not one of git-checkpoint's, and does not call it",
            (_, Some(_)) => "the hook does not exist",
            (Health::Replaced, None) => "something else has taken the place of the hook",
            (_, None) => "the hook is not there any more, or git ignores it",
        };
        let hint = foreign.map_or_else(|| "'git checkpoint enable' installs it again".to_owned(), how_to_add);
        Problem::new("hook-missing", hook.name().to_owned(), message).hint(hint)
    };
    let mut problems: Vec<Problem> = health.into_iter().map(problem).collect();
    problems.extend(hooks::unneeded(context)?.into_iter().map(|hook| {
        let message = "'push.auto' is off, so that the hook has nothing to do";
        let hint = "'git checkpoint enable' takes it out again";
        Problem::new("hook-unneeded", hook.name(), message).note().hint(hint)
    }));
    Ok(problems)
}

/// Returns what the user does to let the hook `foreign` call us.
fn how_to_add(foreign: &HookDone) -> String {
    let line = foreign.line.as_deref().unwrap_or_default().trim_end();
    match foreign.note.as_deref() {
        _ if foreign.is_addable => "'git checkpoint enable --hook-manager' adds its lines".to_owned(),
        Some(note) if note == NOT_SHELL => format!("'{}': {note}", foreign.path),
        _ if line.contains('\n') => "'git checkpoint enable' shows the lines to add".to_owned(),
        Some(note) => format!("add this line to '{}' ({note}): {line}", foreign.path),
        None => format!("add this line to '{}': {line}", foreign.path),
    }
}
