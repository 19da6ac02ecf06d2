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
        rounds::{self, Place, Round},
    },
};

/// Moves the folder for experiments of the place number `at` of `round` to the archive, unless it is empty or gone, and notes where
/// it is, before: whatever happens then, that is known.
///
/// # Errors
/// If it cannot be moved. It is where it was then.
pub(super) fn archive(context: &Context, round: &mut Round, at: usize, label: Option<&str>) -> Result<()> {
    let Some(from) = round.places[at].scratch.clone() else { return Ok(()) };
    if is_empty(&from)? {
        // With it, nothing is lost; it is made again if it is needed.
        drop(fs::remove_dir(&from));
        return Ok(());
    }
    let label = label.map_or_else(|| label_of(round, &round.places[at]), str::to_owned);
    let folder = folder(context, round)?;
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
