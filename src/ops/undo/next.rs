//! Which operation an undo or a redo takes back, and what it says if something is in the way of that. Changes nothing.

use gix::ObjectId;

use super::{
    blocked::{Blocked, Files, Scene},
    way::first_that_works,
};
use crate::{
    error::{Error, Result},
    git::read_operations::Recorded,
    model::way_back::{Asked, Hindrance, ways},
    ops::{
        Context,
        operations::{Log, Picked, Which, candidates, journal, pick, restores_files, title_of},
        restore::{Restored, UndoOptions, causes_of_left},
    },
    state::journal::{Journal, Progress},
};

/// Returns the operation that `which` asks for: the last one that is in force, the last undo, or the one with that name.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if something is in the way. No operation is passed over.
pub(super) fn choose(context: &Context, options: &UndoOptions, which: &Which) -> Result<Picked> {
    if is_interrupted(context)? {
        return pick(context, which);
    }
    let log = Log::read(context)?;
    let scene = Scene::new(context, &log);
    if let Some(entry) = candidates(&log, which).first().map(|id| log.entry(*id)).transpose()?
        && entry.operation.not_undone.is_some()
    {
        return Err(stop(&scene, which, entry, &Blocked::for_ever("it cannot be undone".to_owned()))?);
    }
    let picked = pick(context, which)?;
    match (scene.blocked(&picked, (Files::AsUndone, options.all))?, &picked.entry) {
        (Some(blocked), Some(entry)) => Err(stop(&scene, which, entry, &blocked)?),
        _ => Ok(picked),
    }
}

/// Returns the hint at what works, if taking `picked` back, as `which` asks for, changes no file though some should be changed, and
/// `--all` does not help.
pub(super) fn instead_of_nothing(
    context: &Context,
    which: &Which,
    picked: &Picked,
    restored: &Restored,
) -> Result<Option<String>> {
    let is_stuck = restored.is_idle() && causes_of_left(restored).is_some_and(|(_, is_edited)| !is_edited);
    let Some(id) = picked.id().filter(|_| is_stuck) else { return Ok(None) };
    if is_interrupted(context)? {
        return Ok(None);
    }
    let log = Log::read(context)?;
    let others = others(&log, which, id);
    first_that_works(&Scene::new(context, &log), (which, id), &ways(&[Hindrance::Final], asked(which, &others)))
}

/// Returns true if a restore is half-way: that goes first.
pub(super) fn is_interrupted(context: &Context) -> Result<bool> {
    Ok(Journal::read(context.repo.git_dir())?.is_some_and(|live| live.progress == Progress::Applying))
}

/// Returns the operations that `which` may ask for, without `id`.
fn others(log: &Log, which: &Which, id: ObjectId) -> Vec<ObjectId> {
    candidates(log, which).into_iter().filter(|other| *other != id).collect()
}

fn asked<'o>(which: &Which, others: &'o [ObjectId]) -> Asked<'o> {
    if matches!(which, Which::Named(_)) { Asked::Named } else { Asked::Last(others) }
}

/// Returns the error if `entry` is what `which` asks for, and is `blocked`: it says why, and what works.
fn stop(scene: &Scene<'_>, which: &Which, entry: &Recorded, blocked: &Blocked) -> Result<Error> {
    let Scene { context, log, .. } = scene;
    let (others, title) = (others(log, which, entry.id), title_of(&context.repo, log, entry));
    let found = first_that_works(scene, (which, entry.id), &ways(&blocked.hindrances, asked(which, &others)))?;
    let (causes, is_named) = (&blocked.causes, matches!(which, Which::Named(_)));
    if found.is_none() && !is_named {
        let word = if *which == Which::LastUndo { "redo" } else { "undo" };
        return Ok(Error::refused(format!(
            "nothing is left to {word}: {title} cannot be taken back, because {causes}"
        )));
    }
    let error = Error::refused(format!("cannot take back {title}: {causes}"));
    let hint = if found.is_none() { instead(context, entry)? } else { found };
    Ok(match hint {
        Some(hint) => error.with_hint(hint),
        None => error,
    })
}

/// Returns the hint at what helps a little, if nothing takes `entry` back.
fn instead(context: &Context, entry: &Recorded) -> Result<Option<String>> {
    if entry.operation.session_of_file.is_some() {
        return Ok(Some("'git checkpoint session list' shows the sessions as they are now".to_owned()));
    }
    let before = journal(context, entry)?.map(|journal| journal.pre_restore);
    Ok(before.filter(|id| context.repo.can_read(*id)).map(|id| restores_files(&context.repo, &id)))
}
