//! Which operation an undo or a redo takes back, if something is in the way of some. Changes nothing.

use gix::ObjectId;
use serde::Serialize;

use super::{
    blocked::{blocked, set_aside},
    way::first_that_works,
};
use crate::{
    error::{Error, Result},
    git::read_operations::Recorded,
    model::{
        id_text,
        way_back::{Next, next, ways},
    },
    ops::{
        Context,
        operations::{Log, Picked, Which, candidates, journal, nothing_left, pick, restores_files, title},
        restore::refuse_open_turns,
    },
    state::journal::{Journal, Progress},
};

/// How an error begins if an operation cannot be taken back.
pub(super) const CANNOT: &str = "cannot take it back";

/// An operation that nothing takes back any more. It stays as it is, and an earlier one is taken back.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct PassedOver {
    /// The operation.
    #[serde(serialize_with = "id_text::serialize")]
    pub operation: ObjectId,
    /// Its command line.
    pub command: String,
    /// What is in the way.
    pub why: String,
    /// Its id and command line for people.
    #[serde(skip)]
    pub(crate) title: String,
}

/// What is to be taken back.
pub(super) struct Choice {
    pub(super) which: Which,
    pub(super) picked: Picked,
    /// The latest first.
    pub(super) passed_over: Vec<PassedOver>,
}

/// Returns the operation that `which` asks for, over those that nothing takes back any more.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if something is in the way, and a person can type what takes the operation
/// back, or has named it; and if there are only operations that nothing takes back any more.
pub(super) fn choose(context: &Context, which: &Which) -> Result<Choice> {
    if is_interrupted(context)? {
        return Ok(Choice { which: which.clone(), picked: pick(context, which)?, passed_over: Vec::new() });
    }
    let (log, is_named) = (Log::read(context)?, matches!(which, Which::Named(_)));
    let ids = if is_named { pick(context, which)?.id().into_iter().collect() } else { candidates(&log, which) };
    let mut passed_over: Vec<PassedOver> = Vec::new();
    for (at, id) in ids.iter().enumerate() {
        let entry = log.entry(*id)?;
        let blocked = blocked(context, &log, entry)?;
        let way = first_that_works(context, &log, entry, &ways(&blocked.hindrances, set_aside(entry)))?;
        match next(!blocked.hindrances.is_empty(), way.is_some(), is_named) {
            Next::TakesBack => {
                let which = if at == 0 { which.clone() } else { Which::Named(id.to_string()) };
                return Ok(Choice { picked: pick(context, &which)?, which, passed_over });
            }
            Next::Stops => {
                if way.is_some() {
                    refuse_open_turns(context, CANNOT)?;
                }
                let mut hint = way.map_or_else(|| instead(context, entry), Ok)?;
                if let Some(other) = first_free(context, &log, &ids[at + 1..])? {
                    let id = context.repo.short_id(&other.id);
                    hint.push_str(&format!(
                        "; 'git checkpoint op undo {id}' leaves it, and takes back the one before it"
                    ));
                }
                return Err(Error::refused(format!("{CANNOT}: {}", blocked.causes)).with_hint(hint));
            }
            Next::PassesOver => passed_over.push(PassedOver {
                operation: *id,
                command: log.command_behind(entry).to_owned(),
                why: blocked.causes,
                title: title(&context.repo, entry),
            }),
        }
    }
    let Some(latest) = passed_over.first() else { return Err(nothing_left(&log, which)) };
    let hint = instead(context, log.entry(latest.operation)?)?;
    let what = match passed_over.as_slice() {
        [only] => format!("{CANNOT}: {}", only.why),
        all => {
            let causes: Vec<String> = all.iter().map(|it| format!("{}: {}", it.title, it.why)).collect();
            format!("nothing takes these back any more:\n{}", causes.join("\n"))
        }
    };
    Err(Error::refused(what).with_hint(hint))
}

/// Returns true if a restore is half-way: that goes first.
pub(super) fn is_interrupted(context: &Context) -> Result<bool> {
    Ok(Journal::read(context.repo.git_dir())?.is_some_and(|live| live.progress == Progress::Applying))
}

/// Returns the first of the operations `ids` that can be taken back.
fn first_free<'l>(context: &Context, log: &'l Log, ids: &[ObjectId]) -> Result<Option<&'l Recorded>> {
    for id in ids {
        let entry = log.entry(*id)?;
        if blocked(context, log, entry)?.hindrances.is_empty() {
            return Ok(Some(entry));
        }
    }
    Ok(None)
}

/// Returns the hint at what to do instead, if nothing takes `entry` back.
fn instead(context: &Context, entry: &Recorded) -> Result<String> {
    if let Some(instead) = &entry.operation.not_undone {
        return Ok(instead.clone());
    }
    let before = journal(context, entry)?.map(|journal| journal.pre_restore);
    Ok(match before.filter(|id| context.repo.can_read(*id)) {
        Some(id) => restores_files(&context.repo, &id),
        None => "'git checkpoint op log' shows the operations".to_owned(),
    })
}
