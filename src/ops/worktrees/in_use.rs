//! Who works in a worktree: what it is left alone for.

use std::{
    fs,
    io::ErrorKind,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use bstr::{BStr, ByteSlice as _};

use super::{
    super::{Context, session_info},
    validate::Code,
    worktree_lock::{refuse_merge, refuse_set_up},
};
use crate::{
    error::{Context as _, Error, Kind, Result},
    git::{
        Repo,
        registrations::{Place, Registration},
    },
    model::{
        path_text,
        process::Life,
        session::{Phase, Session},
    },
    state::{
        journal::{Journal, Progress},
        process, process_places, rounds, turns,
    },
};

/// How the reason begins with which we lock a worktree while we move it.
pub(super) const REASON: &str = "git-checkpoint moves it, ";

/// Returns `path` as a word of a command.
pub(super) fn word(path: &Path) -> String {
    path_text::shell_word(&path.display().to_string())
}

/// Returns true if something is at `path`, be it a link that leads nowhere.
pub(super) fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// Returns the error for a worktree that is locked for `reason`.
pub(super) fn locked(path: &Path, reason: &BStr) -> Error {
    let why = if reason.is_empty() { String::new() } else { format!(": {}", path_text::printable(reason)) };
    // Git's own lock (builtin/worktree.c).
    let hint = match reason.to_str() {
        Ok("initializing") => format!(
            "git is making it; if no git runs any more, 'git worktree remove -f -f {}' removes the part that there is",
            word(path)
        ),
        Ok(ours) if ours.starts_with(REASON) => {
            "a command was killed: 'git checkpoint worktree prune' puts it back, or says why not".to_owned()
        }
        _ => format!("'git worktree unlock {}' unlocks it", word(path)),
    };
    Error::refused(format!("the worktree '{}' is locked{why}", path.display())).with_hint(hint)
}

/// Refuses the main worktree, one that is locked, and one that is not there.
pub(super) fn refuse_kind(found: &Registration) -> Result<()> {
    let path = found.path.display();
    if found.is_main() {
        return Err(Error::refused(format!("'{path}' is the main worktree"))
            .with_hint("only linked worktrees can be moved or removed: 'git checkpoint worktree list' shows them"));
    }
    if let Some(reason) = &found.lock {
        return Err(locked(&found.path, reason.as_bstr()));
    }
    match found.place {
        Place::Nothing => Err(Code::Gone.error(&found.path)),
        Place::Unreadable => Err(Code::Unreadable.error(&found.path)),
        _ => Ok(()),
    }
}

/// Refuses if a session, git, a restore or a process works in the worktree `found`, whose root is at `root` now.
pub(super) fn refuse(context: &Context, found: &Registration, root: &Path) -> Result<()> {
    if found.id == context.repo.worktree_id() {
        return Err(Error::refused(format!("this command runs in the worktree '{}'", found.path.display()))
            .with_hint("run it in another worktree: 'git checkpoint worktree list' shows them"));
    }
    refuse_at_work(context, found, root)
}

/// As [`refuse`], also for the worktree of `context`.
pub(super) fn refuse_at_work(context: &Context, found: &Registration, root: &Path) -> Result<()> {
    let path = found.path.display();
    // The kernel knows canonical paths alone.
    let root = &fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
    refuse_sessions(context, found)?;
    refuse_set_up(found)?;
    refuse_merge(found)?;
    refuse_git(found)?;
    if let Some(mount) = process_places::mount_in(root) {
        let inside = mount.strip_prefix(root).unwrap_or(&mount);
        return Err(Error::refused(format!("'{}' is a mount point", found.path.join(inside).display()))
            .with_hint("unmount it first"));
    }
    if let Some(mount) = process_places::mount_of(root) {
        return Err(Error::refused(format!("'{path}', or a part of it, is mounted at '{}'", mount.display()))
            .with_hint("unmount it there first"));
    }
    if let Some(process_places::Process { pid, name, has_mount }) = process_places::one_in(root) {
        let name = path_text::printable(name.as_bytes().as_bstr());
        let (what, hint) = if has_mount {
            (format!("has '{path}' mounted"), "end it, or the container that it is in")
        } else {
            (format!("works in '{path}'"), "end it, or let it leave that directory")
        };
        return Err(Error::refused(format!("the process {pid} ({name}) {what}")).with_hint(hint));
    }
    Ok(())
}

/// Refuses if a session has a turn under way in the worktree `found`, or a process that works there. One whose process is gone
/// does not come back to it.
fn refuse_sessions(context: &Context, found: &Registration) -> Result<()> {
    refuse_open_turn(context, found)?;
    let sessions = session_info::all(context)?;
    // One that has stood in for the agent of a round, and has given way to the agent's own, does nothing any more.
    let stand_in = rounds::stand_in(&found.git_dir);
    let has_ended = |it: &Session| match it.phase {
        Phase::Ended => true,
        Phase::Active => false,
        Phase::Idle => stand_in.as_ref() == Some(&it.id),
    };
    let mut here =
        sessions.iter().filter(|it| session_info::is_there(&context.repo, it, found.id.as_bstr()) && !has_ended(it));
    if let Some(session) = here.find(|session| process::life(session.process.as_ref()) == Life::Alive) {
        let id = path_text::printable(session.id.as_bytes().as_bstr());
        return Err(Error::refused(format!("the session '{id}' works in '{}'", found.path.display()))
            .with_hint(format!("end the agent, or {} ends the session", session_command(found, "end", &id))));
    }
    Ok(())
}

/// Refuses if a turn is under way in the worktree `found` that says that something works there.
///
/// # Errors
/// [`Kind::Refused`] if so, or if that is not known.
pub(crate) fn refuse_open_turn(context: &Context, found: &Registration) -> Result<()> {
    let path = found.path.display();
    if !turns::is_known(&found.git_dir) {
        return Err(Error::refused(format!("it is not known whether a session has a turn under way in '{path}'"))
            .with_hint("'git checkpoint doctor' there says why"));
    }
    let sessions = session_info::all(context)?;
    let open = turns::peek(&found.git_dir);
    let is_at_work = |id: &String| {
        sessions.iter().find(|it| it.id == *id).is_none_or(|it| session_info::is_at_work(&found.git_dir, it))
    };
    if let Some(entry) = open.entries.iter().find(|entry| entry.turn.is_some() && is_at_work(&entry.id)) {
        let id = path_text::printable(entry.id.as_bytes().as_bstr());
        return Err(Error::refused(format!("the session '{id}' has a turn under way in '{path}'"))
            .with_hint(format!("wait for its end, or {} ends it", session_command(found, "stop", &id))));
    }
    Ok(())
}

/// Returns the command that does `what` with the session `id` in the worktree `found`, in quotes.
fn session_command(found: &Registration, what: &str, id: &str) -> String {
    format!("'git -C {} checkpoint session {what} {}'", word(&found.path), path_text::shell_word(id))
}

/// Refuses if HEAD of the worktree is not where it was when `found` was read.
pub(super) fn refuse_moved_head(context: &Context, found: &Registration) -> Result<()> {
    let now = context.repo.registration(found.id.as_bstr())?;
    if now.is_some_and(|now| now.head == found.head) {
        return Ok(());
    }
    Err(just_changed(&found.path))
}

/// Returns the error if something in the worktree has changed since it was saved.
pub(super) fn just_changed(path: &Path) -> Error {
    Error::race(format!("'{}' has just been changed", path.display()))
        .with_hint("run it again when that worktree is not in use")
}

/// Refuses if git, or a restore, has begun something in the worktree that is not done.
pub(super) fn refuse_git(found: &Registration) -> Result<()> {
    let (path, directory) = (found.path.display(), word(&found.path));
    if let Some((what, end)) = Repo::under_way(&found.git_dir) {
        let end = end.trim_start_matches("git ");
        // A checkpoint keeps also what was committed there since, of which nothing else may be left.
        let save = if Repo::rebased_branch(&found.git_dir).is_some() { "save --allow-empty" } else { "save" };
        return Err(Error::refused(format!("{what} is under way in '{path}'")).with_hint(format!(
            "finish it; to give it up, save what is there first: 'git -C {directory} checkpoint {save}', then 'git -C \
                 {directory} {end}'"
        )));
    }
    let journal = Journal::read(&found.git_dir)?;
    if journal.is_some_and(|journal| journal.progress == Progress::Applying) {
        return Err(Error::refused(format!("a restore was interrupted in '{path}'")).with_hint(format!(
            "'git -C {directory} checkpoint restore --continue' finishes it, '... checkpoint undo' reverses it"
        )));
    }
    let locks = ["index.lock", "HEAD.lock"].map(|name| found.git_dir.join(name));
    match locks.iter().find(|lock| lock.exists()) {
        Some(lock) => Err(Error::race(format!("another git command is at work: '{}' is there", lock.display()))
            .with_hint("try again when the command is done; if none runs, remove that file")),
        None => Ok(()),
    }
}

/// Refuses if something below `root` was changed at `since` or later, by the clock of the file system, or is a repository of its
/// own. `path` is where the root was.
pub(super) fn refuse_changed(context: &Context, root: &Path, path: &Path, since: Duration) -> Result<()> {
    let mut directories = vec![PathBuf::new()];
    while let Some(directory) = directories.pop() {
        context.check_interrupt()?;
        let full = root.join(&directory);
        let what = || format!("cannot look into '{}'", path.join(&directory).display());
        for entry in fs::read_dir(&full).context(Kind::User, what)? {
            let entry = entry.context(Kind::User, what)?;
            let name = directory.join(entry.file_name());
            let metadata = fs::symlink_metadata(full.join(entry.file_name())).context(Kind::User, what)?;
            let changed = Duration::new(
                u64::try_from(metadata.ctime()).unwrap_or_default(),
                u32::try_from(metadata.ctime_nsec()).unwrap_or_default(),
            );
            if changed >= since {
                return Err(just_changed(&path.join(&name)));
            }
            if entry.file_name() == ".git" && !directory.as_os_str().is_empty() {
                return Err(repository_inside(&path.join(&directory)));
            }
            if metadata.is_dir() {
                directories.push(name);
            }
        }
    }
    Ok(())
}

/// Returns the error for a worktree with a repository in the directory `path`, whose content no checkpoint has.
pub(super) fn repository_inside(path: &Path) -> Error {
    Error::refused(format!(
        "'{}' is a repository of its own, or a submodule: no checkpoint has its content",
        path.display()
    ))
    .with_hint("move it out of the worktree")
}

/// Returns true if git's directory `git_dir` of a worktree has repositories of submodules.
pub(super) fn has_submodules(git_dir: &Path) -> Result<bool> {
    let modules = git_dir.join("modules");
    match fs::read_dir(&modules) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        entries => Ok(entries.context(Kind::User, || format!("cannot read '{}'", modules.display()))?.next().is_some()),
    }
}

/// Refuses if the worktree `found` has repositories of submodules in git's directory of it, where `git submodule deinit` leaves
/// them.
pub(crate) fn refuse_submodules(found: &Registration) -> Result<()> {
    if !has_submodules(&found.git_dir)? {
        return Ok(());
    }
    let (path, modules) = (found.path.display(), found.git_dir.join("modules"));
    Err(Error::refused(format!(
        "the worktree '{path}' has submodules: no checkpoint has their repositories, which are in '{}'",
        modules.display()
    ))
    .with_hint("push what only they have; git-checkpoint-worktree(1) says how the worktree is removed then"))
}
