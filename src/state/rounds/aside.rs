//! Copies in which isolated rounds have worked, once these have ended: `<common-dir>/checkpoint/rounds/<id>/<id>-<place>-<seconds>`,
//! or, if that is on another file system, a directory of the same name where the copy was: then a file has that place, and names it.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{Phase, all, folder, kept_scratch, mark};
use crate::{
    error::{Context as _, Kind, Result},
    model::round::is_id,
    state::{
        read_text,
        removed_files::{make_writable, refuse_used, remove_all},
    },
};

/// How many are in a second.
const MICROSECONDS: i64 = 1_000_000;

/// More is in the file that names a copy elsewhere only if it is damaged.
const LONGEST_PATH: u64 = 1 << 16;

/// A copy that was moved aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Aside {
    /// The round.
    pub(crate) round: String,
    /// Where it is.
    pub(crate) path: PathBuf,
    /// When it was moved, in Unix seconds.
    pub(crate) seconds: i64,
}

/// Returns where a copy that the place number `at` of the round `id` has is moved: a free name in our directory, and the same name in
/// the directory that the copy, at `path`, is in.
///
/// # Errors
/// If our directory cannot be made.
pub(crate) fn name_aside(common_dir: &Path, id: &str, at: usize, path: &Path) -> Result<(PathBuf, PathBuf)> {
    let folder = super::ensure_folder(common_dir)?.join(id);
    let what = || format!("cannot create '{}'", folder.display());
    fs::create_dir_all(&folder).context(Kind::Internal, what)?;
    // It is printed, and the common directory may be given with `..`.
    let folder = fs::canonicalize(&folder).context(Kind::Internal, what)?;
    let beside = path.parent().unwrap_or(path);
    let is_there = |path: &Path| fs::symlink_metadata(path).is_ok();
    // The clock may be behind: the copy counts as old from then on.
    let began = super::read(common_dir, id).ok().flatten().map_or(0, |round| round.began / MICROSECONDS);
    let mut seconds = jiff::Timestamp::now().as_second().max(began);
    loop {
        let name = format!("{id}-{}-{seconds}", at + 1);
        let both = (folder.join(&name), beside.join(&name));
        if !is_there(&both.0) && !is_there(&both.1) {
            return Ok(both);
        }
        seconds += 1;
    }
}

/// Returns the copies that were moved aside and are still there, the oldest first.
///
/// # Errors
/// If our directory cannot be read.
pub(crate) fn all_aside(common_dir: &Path) -> Result<Vec<Aside>> {
    let mut found = Vec::new();
    let ours = folder(common_dir);
    let ours = fs::canonicalize(&ours).unwrap_or(ours);
    for round in entries(&ours)? {
        let name = round.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if is_id(name) && is_directory(&round) {
            for path in entries(&round)? {
                found.extend(read(name, path.clone()).or_else(|| beside(name, &path)));
            }
        }
    }
    for round in all(common_dir)?.sound {
        for (at, place) in round.places.iter().enumerate() {
            let Some(path) = place.aside.as_ref().filter(|path| !path.starts_with(&ours)) else { continue };
            let is_its = || mark(&path.join(".git")).is_some_and(|mark| mark == format!("{}-{}", round.id, at + 1));
            if !found.iter().any(|known| known.path == *path) && is_its() {
                found.extend(read(&round.id, path.clone()));
            }
        }
    }
    // The end of a round that goes on may have been killed after it had moved the copy.
    let goes_on = |id: &str| super::read(common_dir, id).is_ok_and(|it| it.is_some_and(|it| it.phase != Phase::Ended));
    found.retain(|aside| !goes_on(&aside.round));
    found.sort_by(|one, other| (one.seconds, &one.path).cmp(&(other.seconds, &other.path)));
    Ok(found)
}

/// Notes that a copy of the round `id` is at `path`, which [`name_aside`] has named, where it was: the round may be forgotten.
///
/// # Errors
/// If that cannot be written.
pub(crate) fn note_beside(common_dir: &Path, id: &str, path: &Path) -> Result<()> {
    let Some(text) = path.to_str() else { return Ok(()) };
    let folder = super::ensure_folder(common_dir)?.join(id);
    fs::create_dir_all(&folder).context(Kind::Internal, || format!("cannot create '{}'", folder.display()))?;
    path.file_name().map_or(Ok(()), |name| super::replace_file_durably(&folder.join(name), text.as_bytes()))
}

/// Returns the copy of the round `id` that the file `note` names, if it is there.
fn beside(id: &str, note: &Path) -> Option<Aside> {
    let path = PathBuf::from(read_text(note, LONGEST_PATH).ok()??);
    let is_its = path.is_absolute() && path.file_name() == note.file_name();
    let (of_mark, _) = path.file_name()?.to_str()?.rsplit_once('-')?;
    is_its.then_some(())?;
    if mark(&path.join(".git")).as_deref() == Some(of_mark) { read(id, path.clone()) } else { None }
}

/// Returns true if `path` is in a copy that was moved into our directory in the git directory `git_dir`.
pub(crate) fn is_in_copy(git_dir: &Path, path: &Path) -> bool {
    path.strip_prefix(folder(git_dir)).is_ok_and(|inside| inside.components().count() > 1)
}

/// Returns true if `path` is among the experiments that are kept in our directory in the git directory `git_dir`.
pub(crate) fn is_kept_scratch(git_dir: &Path, path: &Path) -> bool {
    path.starts_with(kept_scratch(git_dir))
}

/// Returns true if `path` is the log of a round in the git directory `git_dir` that goes on: its program may write there.
pub(crate) fn is_open_log(git_dir: &Path, path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".log"));
    let Some(id) = name.filter(|_| path.parent() == Some(&folder(git_dir))) else { return false };
    super::read(git_dir, id).is_ok_and(|round| round.is_some_and(|round| round.phase != Phase::Ended))
}

/// Deletes the copy, also where directories in it are read-only. Its mark goes last, so that a copy that is left in part is still known
/// as ours.
///
/// # Errors
/// If a process works there, or a file system is mounted there: nothing is deleted then; if a part of it stays.
pub(crate) fn delete_aside(common_dir: &Path, aside: &Aside) -> Result<()> {
    let what = || format!("cannot delete '{}'", aside.path.display());
    delete_copy(&aside.path).context(Kind::User, what)?;
    let folder = folder(common_dir).join(&aside.round);
    if let Some(name) = aside.path.file_name() {
        drop(fs::remove_file(folder.join(name)));
    }
    // It goes with the last one.
    drop(fs::remove_dir(folder));
    Ok(())
}

/// Deletes the copy at `path`, as [`delete_aside`] does.
///
/// # Errors
/// As there.
pub(crate) fn delete_copy(path: &Path) -> io::Result<()> {
    refuse_used(path)?;
    let delete = || -> io::Result<()> {
        for entry in fs::read_dir(path)? {
            let (name, path) = entry.map(|entry| (entry.file_name(), entry.path()))?;
            if name != ".git" {
                if is_directory(&path) { remove_all(&path)? } else { fs::remove_file(&path)? }
            }
        }
        Ok(())
    };
    match delete() {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            make_writable(path);
            delete()?;
        }
        deleted => deleted?,
    }
    remove_all(path)
}

fn is_directory(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let what = || format!("cannot read '{}'", folder.display());
    match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        entries => {
            let paths = entries.context(Kind::Internal, what)?.map(|entry| entry.map(|entry| entry.path()));
            paths.collect::<io::Result<Vec<_>>>().context(Kind::Internal, what)
        }
    }
}

/// Returns the copy at `path`, if its name is one that [`name_aside`] gives those of the round `id`.
fn read(id: &str, path: PathBuf) -> Option<Aside> {
    let (place, seconds) = path.file_name()?.to_str()?.strip_prefix(id)?.strip_prefix('-')?.split_once('-')?;
    place.parse::<usize>().ok()?;
    let seconds = seconds.parse().ok()?;
    is_directory(&path).then(|| Aside { round: id.to_owned(), path, seconds })
}
