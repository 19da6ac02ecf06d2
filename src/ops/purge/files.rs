//! Replaces the text in our own files below the git directories.

use std::{
    fs,
    path::{Path, PathBuf},
};

use bstr::{BStr, ByteSlice as _};
use gix::ObjectId;

use super::text::replace_lines;
use crate::{
    error::{Context as _, Error, Kind, Result},
    git::holders::files_below_without,
    model::{secret::Secret, slot::Slot, step::Content, turns::Turns},
    state::{self, journal::Journal, lock::Lock, removed, rounds, turns},
};

/// The files that hold no text of others, or that other code of this command changes.
const LEFT: [&str; 12] = [
    "lock",
    "index",
    "base",
    "loose",
    "loose.repacking",
    "packs",
    "packs.repacking",
    "turns.toml",
    "restore.json",
    "hooks.toml",
    "config.toml",
    "verify-next",
];

/// The files of a repository that have the text.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Those to change.
    pub(super) changes: Vec<(PathBuf, Change)>,
    /// Those that stay as they are, because the user writes them or they name files.
    pub(super) left: Vec<PathBuf>,
}

/// What happens to a file.
#[derive(Clone, Copy, Debug)]
pub(super) enum Change {
    /// The text is replaced.
    Replace,
    /// The file goes.
    Remove,
}

/// Looks through our files in `git_dirs`. Those of open turns are not among the result: [`turns_without`] changes these.
pub(super) fn find(git_dirs: &[PathBuf], secret: &Secret) -> Result<Found> {
    let mut found = Found::default();
    let mut paths = Vec::new();
    for git_dir in git_dirs {
        // Those in there are the user's: see `refuse`.
        paths.extend(files_below_without(&state::directory(git_dir), &removed::folder(git_dir))?);
    }
    for path in paths.into_iter().filter(|path| path.symlink_metadata().is_ok_and(|metadata| metadata.is_file())) {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let is_lock = name == "lock" || path.extension().is_some_and(|end| end == "lock");
        if is_lock || name == "index" {
            continue;
        }
        let text = match fs::read(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            read => read.context(Kind::Internal, || format!("cannot read '{}'", path.display()))?,
        };
        let is_damaged = path.parent().is_some_and(|directory| directory.ends_with("checkpoint/damaged"));
        if is_damaged {
            let inflated = inflated(&text);
            if secret.is_in(&text) || inflated.is_some_and(|text| secret.is_in(&text)) {
                found.changes.push((path, Change::Remove));
            }
            continue;
        }
        if !secret.is_in(&text) {
            continue;
        }
        // What a round has left there is the user's, be it a repository of its own or experiments.
        let is_users = |git_dir: &PathBuf| {
            rounds::is_in_copy(git_dir, &path)
                || rounds::is_kept_scratch(git_dir, &path)
                || rounds::is_open_log(git_dir, &path)
        };
        if git_dirs.iter().any(is_users) {
            found.left.push(path);
            continue;
        }
        if name == "turns.toml" {
            continue;
        }
        match without(secret, &path, &text) {
            Some(_) if !LEFT.contains(&name) => found.changes.push((path, Change::Replace)),
            _ => found.left.push(path),
        }
    }
    Ok(found)
}

/// Returns the content `text` of the file `path` without the secret; none if it does not have it, or would not be read any more.
fn without(secret: &Secret, path: &Path, text: &[u8]) -> Option<Vec<u8>> {
    if path.extension().is_none_or(|end| end != "toml") {
        return replace_lines(secret, text);
    }
    let table = |text: &[u8]| toml::from_str::<toml::Table>(text.to_str().ok()?).ok();
    let new = secret.replace(text)?;
    // The name of a session is that of its file, too.
    (table(text)?.get("id") == table(&new)?.get("id")).then_some(new)
}

/// Returns the content of the file of an object; none if it is none.
fn inflated(bytes: &[u8]) -> Option<Vec<u8>> {
    use std::io::Read as _;
    let mut text = Vec::new();
    // A damaged one has a beginning.
    let read = flate2::read::ZlibDecoder::new(bytes).read_to_end(&mut text);
    (read.is_ok() || !text.is_empty()).then_some(text)
}

/// Changes what [`find`] has found. The files are read again: meanwhile, other processes may have added lines.
pub(super) fn write(found: &Found, secret: &Secret) -> Result<()> {
    for (path, change) in &found.changes {
        match change {
            Change::Replace => {
                let _lock = match path.file_name().and_then(|name| name.to_str()) {
                    // It does no harm without: a process that holds it is about to rotate the file.
                    Some(name) if name.starts_with("events") => Lock::try_acquire(&path.with_file_name("events.lock"))?,
                    _ => None,
                };
                let text = fs::read(path).context(Kind::Internal, || format!("cannot read '{}'", path.display()))?;
                if let Some(new) = without(secret, path, &text) {
                    state::replace_file(path, &new)?;
                }
            }
            Change::Remove => {
                fs::remove_file(path).context(Kind::Internal, || format!("cannot remove '{}'", path.display()))?;
            }
        }
    }
    Ok(())
}

/// Returns open turns without the text; none if they do not have it.
///
/// # Errors
/// If they could not be read any more without it.
pub(super) fn turns_without(turns: &Turns, secret: &Secret) -> Result<Option<Turns>> {
    let Some(text) = secret.replace_in(&turns.to_toml()) else { return Ok(None) };
    let parsed = Turns::parse(&text).ok_or_else(|| {
        Error::refused("a name in 'turns.toml' has the text").with_hint("end the sessions whose names have it")
    });
    let mut new = parsed?;
    // Sessions keep their names.
    for (new, old) in new.entries.iter_mut().zip(&turns.entries) {
        new.id.clone_from(&old.id);
    }
    Ok((new.to_toml() != turns.to_toml()).then_some(new))
}

/// Changes the open turns of the worktree with git directory `git_dir`, whose lock the caller holds. Returns true if they had the
/// text.
pub(super) fn purge_turns(git_dir: &Path, secret: &Secret, dry_run: bool) -> Result<bool> {
    let held = turns::Held::read(git_dir)?;
    let Some(new) = turns_without(&held.get(), secret)? else { return Ok(false) };
    if !dry_run {
        held.edit(|turns| *turns = new);
        held.write()?;
    }
    Ok(true)
}

/// Makes the journal of the last restore in `git_dir` name the blobs that `new` returns for those that are gone. Files with a
/// path and a blob for which `is_removed` returns true are not undone any more.
pub(super) fn follow_blobs(
    git_dir: &Path,
    new: &dyn Fn(ObjectId) -> Option<ObjectId>,
    is_removed: &dyn Fn(&BStr, &ObjectId) -> bool,
) -> Result<()> {
    let Some(mut journal) = Journal::read(git_dir)? else { return Ok(()) };
    let before = journal.clone();
    let is_left = |path: &BStr, content: &Content| {
        [Some(content.leaf.id), content.raw].iter().flatten().all(|id| !is_removed(path, id))
    };
    journal.steps.retain(|step| step.before.iter().chain(&step.after).all(|it| is_left(step.path.as_bstr(), it)));
    journal.index.retain_mut(|change| {
        let slots = [&mut change.before, &mut change.after];
        slots.into_iter().flat_map(Slot::blobs_mut).all(|id| !is_removed(change.path.as_bstr(), id))
    });
    let follow = |id: &mut ObjectId| *id = new(*id).unwrap_or(*id);
    for content in journal.steps.iter_mut().flat_map(|step| [&mut step.before, &mut step.after]).flatten() {
        follow(&mut content.leaf.id);
        content.raw.iter_mut().for_each(follow);
    }
    for slot in journal.index.iter_mut().flat_map(|change| [&mut change.before, &mut change.after]) {
        slot.blobs_mut().into_iter().for_each(follow);
    }
    if journal == before { Ok(()) } else { journal.write(git_dir) }
}

/// The stat cache names blobs that are gone.
pub(super) fn remove_cache(git_dir: &Path) -> Result<()> {
    let path = state::directory(git_dir).join("index");
    match fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).context(Kind::Internal, || format!("cannot remove '{}'", path.display()))
        }
        _ => Ok(()),
    }
}
