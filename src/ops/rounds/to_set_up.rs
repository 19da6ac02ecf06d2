//! Finds what `worktree setup`, and `round start`, is to set up: a linked worktree, or the copy in which an isolated round goes on.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use super::{
    super::{Context, worktrees},
    copies,
    end::found,
    options::Begun,
};
use crate::{
    error::{Error, Kind, Result},
    git::registrations::Registration,
    model::{path_text::shell_word, round::Mode},
    state::{
        approved,
        rounds::{self, Phase, Place, Round},
    },
};

/// Returns the linked worktree that `name` stands for, or the copy of an isolated round with the root `name`, which is the only
/// worktree of another repository; without `name`, the worktree of this process.
///
/// # Errors
/// [`Kind::User`] if there is none; [`Kind::Refused`] for the main worktree.
pub(crate) fn to_set_up(context: Context, name: Option<&OsStr>) -> Result<(Context, Registration)> {
    let found = match worktrees::find_root(&context, name) {
        Err(error) if error.kind() == Kind::User => {
            let copy = name.map(|name| live_copy(&context, Path::new(name))).transpose()?.flatten();
            return copy.ok_or(error);
        }
        found => found?,
    };
    if !found.is_main() {
        return Ok((context, found));
    }
    let path = found.path.display();
    Err(match rounds::copied_from(&found.git_dir) {
        Some(from) => Error::refused(format!("'{path}' is the copy of an isolated round")).with_hint(format!(
            "the commands are those of the repository that has begun it: 'git -C {} checkpoint worktree setup {}'",
            shell_word(&from.to_string_lossy()),
            shell_word(&found.path.to_string_lossy())
        )),
        None => Error::refused(format!("'{path}' is the main worktree"))
            .with_hint("the commands are for linked ones: 'git checkpoint worktree list' shows them"),
    })
}

/// Opens the copy at `path` in which an isolated round goes on, and gives it what the user has approved here since; none if no round
/// works there.
fn live_copy(context: &Context, path: &Path) -> Result<Option<(Context, Registration)>> {
    let Ok(path) = fs::canonicalize(path) else { return Ok(None) };
    let common = context.repo.common_dir();
    let all = rounds::all(common)?.sound;
    let mut places = all.iter().filter(|round| round.phase == Phase::Live).flat_map(|round| &round.places);
    let is_there = |place: &&Place| {
        let real = place.path.as_ref().and_then(|it| fs::canonicalize(it).ok());
        place.mode == Mode::Isolated && !place.is_done && real.as_ref() == Some(&path)
    };
    let Some(place) = places.find(is_there) else { return Ok(None) };
    let there = copies::open(context, place)?.ok_or_else(|| copies::gone(place))?;
    let copy = there.repo.common_dir();
    let (here, its) = (approved::read(common)?, approved::read(copy)?);
    if !here.is_subset(&its) {
        approved::write(copy, &here.union(&its).cloned().collect())?;
    }
    worktrees::copy_at(context, &path).map(Some)
}

/// Notes that the worktree, or the copy, that was made for `place` is to be set up.
///
/// # Errors
/// If that cannot be written.
pub(super) fn note_due(context: &Context, place: &Place) -> Result<()> {
    whereabouts(context, place)?.map_or(Ok(()), |(_, git_dir)| worktrees::note_due(context, &git_dir))
}

/// Returns which worktrees and copies of `round` are to be set up, by this call or because a call before has not come to the end.
///
/// # Errors
/// If that cannot be read.
pub(super) fn due(context: &Context, round: &Round) -> Result<Begun> {
    let mut due = Begun::default();
    for place in round.places.iter().filter(|place| !place.is_done) {
        let Some((path, git_dir)) = whereabouts(context, place)? else { continue };
        if worktrees::is_due(context, &git_dir)? {
            let all = if place.mode == Mode::Isolated { &mut due.copies } else { &mut due.worktrees };
            all.push(path);
        }
    }
    Ok(due)
}

/// Returns where the worktree, or the copy, is that was made for `place`, and git's directory of it; none if there is none.
fn whereabouts(context: &Context, place: &Place) -> Result<Option<(PathBuf, PathBuf)>> {
    Ok(match place.mode {
        Mode::Worktree => found(context, place)?.map(|found| (found.path, found.git_dir)),
        Mode::Isolated => copies::open(context, place)?
            .map(|there| (there.repo.worktree_root().to_owned(), there.repo.git_dir().to_owned())),
        Mode::Workspace | Mode::Legacy => None,
    })
}
