//! Where the experiments of a round are kept when it has ended: moved as a whole, under a name that nothing else has.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{super::Context, scratch};
use crate::{
    error::{Context as _, Error, Kind, Result},
    model::round::{last_part, numbered},
    state::{
        self, failpoint,
        removed::{is_of_two_mounts, move_directory},
        rounds::{self, Phase, Place, Round},
    },
};

/// Where experiments are to be kept.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Kept<'a> {
    /// What they are called there; none: as [`label_of`] has it.
    pub(super) label: Option<&'a str>,
    /// The folder, as [`chosen`] returns it; none: the archive.
    pub(super) folder: Option<&'a Path>,
}

/// Returns the absolute path of the folder `to`, which the user has chosen for experiments of `round`. It is not made yet.
///
/// # Errors
/// [`Kind::User`] if the directory that it is in cannot be found; [`Kind::Refused`] if it is a symbolic link, or no directory, a
/// directory of git's own, or one in which the round works: its end would commit or remove the archive.
pub(super) fn chosen(context: &Context, round: &Round, to: &Path) -> Result<PathBuf> {
    let what = || format!("cannot find the directory of '{}'", to.display());
    let chosen = match to.file_name() {
        Some(name) => {
            let parent = to.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
            fs::canonicalize(parent).context(Kind::User, what)?.join(name)
        }
        None => fs::canonicalize(to).context(Kind::User, what)?,
    };
    if is_there(&chosen) && !fs::symlink_metadata(&chosen).is_ok_and(|metadata| metadata.is_dir()) {
        return Err(scratch::not_a_folder(&chosen));
    }
    let is_git = |part: std::path::Component<'_>| part.as_os_str().eq_ignore_ascii_case(".git");
    let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let is_ours = |directory: &Path| chosen.starts_with(real(directory));
    if is_ours(context.repo.common_dir()) || is_ours(context.repo.git_dir()) || chosen.components().any(is_git) {
        return Err(Error::refused(format!("'{}' is in a directory of git's own", chosen.display()))
            .with_hint("name a directory elsewhere with '--to'"));
    }
    let works_there = |place: &Place| {
        let places = [place.path.as_ref(), place.scratch.as_ref()];
        places.into_iter().flatten().any(|path| is_ours(path))
    };
    let rounds = rounds::all(context.repo.common_dir())?.sound;
    let others = rounds.iter().filter(|other| other.id != round.id && other.phase != Phase::Ended);
    if let Some(other) = [round].into_iter().chain(others).find(|it| it.places.iter().any(works_there)) {
        return Err(Error::refused(format!(
            "the round '{}' works in '{}': its end would take the archive along",
            other.id,
            chosen.display()
        ))
        .with_hint("name a directory elsewhere with '--to'"));
    }
    Ok(chosen)
}

/// Moves the folder for experiments of the place number `at` of `round` to the archive, unless it is empty or gone, and notes where
/// it is, before: whatever happens then, that is known.
///
/// # Errors
/// If it cannot be moved. It is where it was then.
pub(super) fn archive(context: &Context, round: &mut Round, at: usize, kept: &Kept<'_>) -> Result<()> {
    let Some(from) = round.places[at].scratch.clone() else { return Ok(()) };
    if is_empty(&from)? {
        // With it, nothing is lost; it is made again if it is needed.
        drop(fs::remove_dir(&from));
        return Ok(());
    }
    let label = kept.label.map_or_else(|| label_of(round, &round.places[at]), str::to_owned);
    let folder = match kept.folder {
        Some(folder) => scratch::make_folder(folder)?,
        None => folder(context, round)?,
    };
    for attempt in 1_usize.. {
        let to = folder.join(numbered(&label, attempt));
        if is_there(&to) {
            continue;
        }
        round.places[at].archive = Some(to.clone());
        round.write(context.repo.common_dir())?;
        failpoint::hit("round:before-archive");
        match move_directory(&from, &to) {
            Ok(()) => {
                failpoint::hit("round:after-archive");
                return Ok(());
            }
            // Another round has just taken the name.
            Err(_) if is_there(&to) => {}
            Err(error) => {
                round.places[at].archive = None;
                round.write(context.repo.common_dir())?;
                let is_elsewhere = is_of_two_mounts(&error);
                let hint = "they are on different file systems: move its content elsewhere first";
                return Err(if is_elsewhere { error.with_hint(hint) } else { error });
            }
        }
    }
    Err(Error::internal("no name is left"))
}

/// Returns what the experiments in `place` are kept as: under the agent's name among others, or the digits of the branch.
fn label_of(round: &Round, place: &Place) -> String {
    let branch = place.branch.as_deref().map(last_part);
    round.asked.agent.as_deref().or(branch).unwrap_or(&round.id).to_owned()
}

/// Returns the folder of the archive, which is made if need be.
fn folder(context: &Context, round: &Round) -> Result<PathBuf> {
    let Some(workspace) = &round.asked.workspace else {
        state::ensure_directory(context.repo.common_dir())?;
        return scratch::make_folder(&rounds::kept_scratch(context.repo.common_dir()));
    };
    scratch::make_folder(&workspace.join(&round.archive_folder))
}

/// Returns true if the folder `path` is empty, or gone.
///
/// # Errors
/// [`Kind::Refused`] if something else is there; if it cannot be read.
fn is_empty(path: &Path) -> Result<bool> {
    let what = || format!("cannot look into '{}'", path.display());
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        found => {
            if !found.context(Kind::User, what)?.is_dir() {
                return Err(scratch::not_a_folder(path));
            }
        }
    }
    Ok(fs::read_dir(path).context(Kind::User, what)?.next().is_none())
}

fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}
