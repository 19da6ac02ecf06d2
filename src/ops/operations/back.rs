//! Finds in the log what brings the refs and files of a worktree back to what they were after an operation.

use std::collections::BTreeMap;

use gix::ObjectId;

use super::{
    log::{Log, journal},
    refusal::refuse,
};
use crate::{
    error::{Error, Result},
    git::read_operations::Recorded,
    model::{
        operation_back::{Back, Later, Place, back, last_saved},
        refname::{self, Base, ShadowName},
    },
    ops::{
        Context,
        chain::shadows::{self, Live},
    },
};

/// The end of the error if not all is known that was done since.
const CANNOT: &str = "cannot go back to that operation";

/// An operation to go back to.
pub(crate) struct Point {
    pub(crate) id: ObjectId,
    pub(crate) command: String,
    /// The latest operation when it was asked for.
    latest: ObjectId,
}

impl Point {
    /// Returns the operation that `text` names.
    pub(crate) fn find(context: &Context, text: &str) -> Result<Self> {
        let log = Log::read(context)?;
        let found = log.find(text)?;
        let (id, command) = (found.id, found.operation.command.clone());
        Ok(Self { id, command, latest: log.entries.first().map_or(id, |entry| entry.id) })
    }

    /// Returns what brings the refs back. What this process has recorded meanwhile is taken back, too.
    ///
    /// # Errors
    /// [`Kind::Refused`](crate::error::Kind::Refused) if something is in the way.
    pub(crate) fn back(&self, context: &Context) -> Result<Back> {
        let log = Log::read(context)?;
        let is_others = |entry: &&Recorded| !context.repo.has_recorded(entry.id);
        if log.entries.iter().take_while(|entry| entry.id != self.latest).any(|entry| is_others(&entry)) {
            return Err(Error::race("another operation was recorded meanwhile"));
        }
        let since = log.entries.iter().take_while(|entry| entry.id != self.id).count();
        let Some(entries) = log.entries.get(..=since) else {
            return Err(Error::race("the operation is no longer in the log"));
        };
        let follows = |pair: &[Recorded]| match pair[0].before {
            Some(before) => before == pair[1].id,
            // A new part of the log, which follows the older one unless the entry before it is lost.
            None => pair[0].operation.lost.is_none(),
        };
        if !entries.windows(2).all(follows) {
            return Err(Error::refused(format!("{CANNOT}: an operation after it cannot be read"))
                .with_hint("'git checkpoint restore <checkpoint>' puts files back"));
        }
        let later = entries[..since].iter().rev();
        let later: Vec<Later<'_>> =
            later.map(|entry| Later { operation: &entry.operation, is_undone: false }).collect();
        let back = plan(context, &later)?;
        refuse(&log, &back.obstacles, CANNOT, None)?;
        Ok(back)
    }

    /// Returns the checkpoint that has the files as they were after the operation.
    pub(crate) fn files(&self, context: &Context) -> Result<ObjectId> {
        let (log, repo) = (Log::read(context)?, &context.repo);
        let hint = "'git checkpoint list' shows the checkpoints, 'git checkpoint restore <checkpoint>' puts files back";
        let unknown = || Error::refused(format!("{CANNOT}: no checkpoint has the files as they were")).with_hint(hint);
        let entries: Vec<&Recorded> = log.entries.iter().skip_while(|entry| entry.id != self.id).collect();
        let (number, ids) =
            last_saved(entries.iter().map(|entry| &entry.operation), repo.worktree_id()).ok_or_else(unknown)?;
        let base = Base::of_head(repo.head()?.id);
        let name = ShadowName::of_worktree(base, repo.worktree_id());
        let tips: Vec<Live> = ids.into_iter().map(|id| Live { name: name.clone(), id }).collect();
        let tip = shadows::latest(repo, &tips)?.ok_or_else(unknown)?;
        if tip.base != base {
            let what = format!("{CANNOT}: HEAD was at another commit then ({})", tip.base);
            let id = tip.id.to_hex_with_len(8);
            return Err(Error::refused(what)
                .with_hint(format!("'git checkpoint restore --all {id}' puts the files back, and leaves all refs")));
        }
        // An undo may leave the files that it puts back without a checkpoint of their own: then its target has them.
        let put_back = journal(context, entries[number])?.map(|journal| journal.target).filter(|id| *id != tip.id);
        let follows = |id: &ObjectId| repo.chain(*id).map_while(Result::ok).any(|it| it.id == tip.id);
        // If it removed the shadow, `tip` is what it took back.
        let is_gone = entries[number].operation.moves.iter().all(|moved| moved.new != Some(tip.id));
        Ok(put_back.filter(|id| is_gone || follows(id)).unwrap_or(tip.id))
    }
}

/// Returns what takes `entry` back; what this process has recorded since does not stand in the way. Of that, a checkpoint that
/// `is_known` need not be held: it has what the operation itself has put into the files.
pub(crate) fn back_over_own(context: &Context, entry: &Recorded, is_known: impl Fn(ObjectId) -> bool) -> Result<Back> {
    let log = Log::read(context)?;
    let own: Vec<&Recorded> =
        log.entries.iter().take_while(|it| it.id != entry.id && context.repo.has_recorded(it.id)).collect();
    let is_known = |entry: &Recorded| entry.operation.moves.iter().filter_map(|moved| moved.new).all(&is_known);
    let own = own.into_iter().rev().map(|entry| Later { operation: &entry.operation, is_undone: is_known(entry) });
    let later: Vec<Later<'_>> =
        [Later { operation: &entry.operation, is_undone: true }].into_iter().chain(own).collect();
    let back = plan(context, &later)?;
    refuse(&log, &back.obstacles, "cannot take it back", Some(entry))?;
    Ok(back)
}

fn plan(context: &Context, later: &[Later<'_>]) -> Result<Back> {
    let repo = &context.repo;
    let mut refs: BTreeMap<String, ObjectId> = repo.sound_refs(refname::PREFIX)?.into_iter().collect();
    refs.retain(|name, _| refname::is_recorded(name));
    let place = Place { worktree: repo.worktree_id(), base: Base::of_head(repo.head()?.id), refs: &refs };
    // Where objects are missing, one archived shadow too many does no harm.
    let leads_to = |tips: &[ObjectId], id| repo.reaches(tips.to_vec(), id, 0).unwrap_or(false);
    Ok(back(later, &place, |id| repo.can_read(id), leads_to))
}
