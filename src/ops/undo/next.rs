//! Which operation an undo or a redo takes back, and what it says if something is in the way of that. Changes nothing.

use gix::ObjectId;

use super::{
    blocked::{Blocked, Files, Scene},
    way::first_that_works,
};
use crate::{
    error::{Error, Result},
    git::read_operations::Recorded,
    model::{
        verdict::Why,
        way_back::{Asked, Hindrance, ways, ways_by_name},
    },
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
    // A filter that fails may work again: then the same command does.
    let has_failed = restored.conflicts.iter().any(|left| left.why == Why::Unconvertible);
    let is_stuck =
        restored.is_idle() && !has_failed && causes_of_left(restored).is_some_and(|(_, is_edited)| !is_edited);
    let Some(id) = picked.id().filter(|_| is_stuck) else { return Ok(None) };
    if is_interrupted(context)? {
        return Ok(None);
    }
    let log = Log::read(context)?;
    let (others, _) = others(&log, which, id);
    first_that_works(&Scene::new(context, &log), (which, id), &ways(&[Hindrance::Final], asked(which, &others)))
}

/// Returns true if a restore is half-way: that goes first.
pub(super) fn is_interrupted(context: &Context) -> Result<bool> {
    Ok(Journal::read(context.repo.git_dir())?.is_some_and(|live| live.progress == Progress::Applying))
}

/// How many other operations are looked at for a hint: the files of each one are compared.
const MOST_TRIED: usize = 20;

/// Returns the operations that `which` may ask for, without `id`, and whether there are more.
fn others(log: &Log, which: &Which, id: ObjectId) -> (Vec<ObjectId>, bool) {
    let mut others: Vec<ObjectId> = candidates(log, which).into_iter().filter(|other| *other != id).collect();
    let are_more = others.len() > MOST_TRIED;
    others.truncate(MOST_TRIED);
    (others, are_more)
}

fn asked<'o>(which: &Which, others: &'o [ObjectId]) -> Asked<'o> {
    if matches!(which, Which::Named(_)) { Asked::Named } else { Asked::Last(others) }
}

/// Returns the error if `entry` is what `which` asks for, and is `blocked`: it says why, and what works.
fn stop(scene: &Scene<'_>, which: &Which, entry: &Recorded, blocked: &Blocked) -> Result<Error> {
    let Scene { context, log, .. } = scene;
    let ((others, are_more), title) = (others(log, which, entry.id), title_of(&context.repo, log, entry));
    let found = first_that_works(scene, (which, entry.id), &ways(&blocked.hindrances, asked(which, &others)))?;
    let (causes, is_named) = (&blocked.causes, matches!(which, Which::Named(_)));
    if found.is_none() && !is_named && !are_more {
        let word = if *which == Which::LastUndo { "redo" } else { "undo" };
        let error =
            Error::refused(format!("nothing is left to {word}: {title} cannot be taken back, because {causes}"));
        let named = Which::Named(entry.id.to_string());
        let later = first_that_works(scene, (&named, entry.id), &ways_by_name(&blocked.hindrances))?;
        let then = || format!("; after that, op undo {} works", context.repo.short_id(&entry.id));
        return Ok(match later {
            Some(hint) => error.with_hint(hint + &then()),
            None => error,
        });
    }
    let error = Error::refused(format!("cannot take back {title}: {causes}"));
    let hint = match found {
        None if !is_named => Some("'git checkpoint undo --list' shows what else can be taken back".to_owned()),
        None => instead(context, entry)?,
        found => found,
    };
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
