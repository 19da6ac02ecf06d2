//! Finds in the log what brings the refs and files of a worktree back to what they were after an operation.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use gix::ObjectId;

use super::{
    log::{Log, journal},
    pick::recorded_meanwhile,
    refusal::{refuse, short_base},
};
use crate::{
    error::{Error, Result},
    git::{Repo, read_operations::Recorded},
    model::{
        contributor::Contributor,
        note,
        operation::{self, Move, Operation},
        operation_back::{Back, Fate, Later, Place, back, last_saved},
        refname::{self, Base, ShadowName},
        taken_off::TakenOff,
    },
    ops::{
        Context,
        chain::shadows::{self, Live},
    },
};

/// The end of the error if not all is known that was done since.
const CANNOT: &str = "cannot go back to that operation";

/// The hint if no checkpoint is known that has the files of then.
const LISTS_CHECKPOINTS: &str = "'git checkpoint list' shows the checkpoints that can be restored";

/// Returns the hint at what puts the files of the checkpoint `id` back, and nothing else.
pub(crate) fn restores_files(repo: &Repo, id: &ObjectId) -> String {
    format!("'git checkpoint restore --all {}' puts the files back, and leaves all refs", repo.short_id(id))
}

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
            return Err(recorded_meanwhile());
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
                .with_hint(self.hint_at_files(context)));
        }
        let later = entries[..since].iter().rev().map(|entry| Later {
            id: entry.id,
            operation: &entry.operation,
            fate: Fate::TakenBack,
        });
        let back = plan(context, &later.collect::<Vec<_>>(), (TakenOff::All, &|_, _| false), false)?;
        refuse(&context.repo, &log, &back.obstacles, CANNOT)
            .map_err(|error| error.with_hint(self.hint_at_files(context)))?;
        Ok(back)
    }

    /// Returns the hint at what puts the files back, if the refs cannot go back.
    fn hint_at_files(&self, context: &Context) -> String {
        match self.files(context) {
            Ok(id) => restores_files(&context.repo, &id),
            Err(error) => error.hint().unwrap_or(LISTS_CHECKPOINTS).to_owned(),
        }
    }

    /// Returns the checkpoint that has the files as they were after the operation.
    pub(crate) fn files(&self, context: &Context) -> Result<ObjectId> {
        let (log, repo) = (Log::read(context)?, &context.repo);
        let unknown = || {
            Error::refused(format!("{CANNOT}: no checkpoint has the files as they were")).with_hint(LISTS_CHECKPOINTS)
        };
        let entries: Vec<&Recorded> = log.entries.iter().skip_while(|entry| entry.id != self.id).collect();
        let (number, ids) =
            last_saved(entries.iter().map(|entry| &entry.operation), repo.worktree_id()).ok_or_else(unknown)?;
        let base = Base::of_head(repo.head()?.id);
        let name = ShadowName::of_worktree(base, repo.worktree_id());
        let tips: Vec<Live> = ids.into_iter().map(|id| Live { name: name.clone(), id }).collect();
        let tip = shadows::latest(repo, &tips)?.ok_or_else(unknown)?;
        if tip.base != base {
            let what = format!("{CANNOT}: HEAD was at another commit then ({})", short_base(repo, tip.base));
            return Err(Error::refused(what).with_hint(restores_files(repo, &tip.id)));
        }
        // An undo may leave the files that it puts back without a checkpoint of their own: then its target has them.
        let has_begun = !log.stack.not_begun.contains(&entries[number].id);
        let put_back = if has_begun { journal(context, entries[number])? } else { None };
        let put_back = put_back.map(|journal| journal.target).filter(|id| *id != tip.id);
        let follows = |id: &ObjectId| repo.chain(*id).map_while(Result::ok).any(|it| it.id == tip.id);
        // If it removed the shadow, `tip` is what it took back.
        let mut shadows = entries[number].operation.moves.iter().filter(|it| it.name.starts_with(refname::SHADOWS));
        let is_gone = shadows.all(|moved| moved.new != Some(tip.id));
        Ok(put_back.filter(|id| is_gone || follows(id)).unwrap_or(tip.id))
    }
}

/// Says whether all files of a checkpoint are also in states that stay if some ends of chains do.
pub(crate) type IsElsewhere<'e> = &'e dyn Fn(&[ObjectId], ObjectId) -> bool;

/// Returns what takes `entry` back, over all operations since of which nothing stands, and over those after `latest`, by which it is
/// being taken back. If it `is_whole`, or if it was interrupted, what is saved for that does not stand in the way, also not for the
/// times it was tried before.
///
/// What a person had not saved before the operation becomes unsaved again, and is held by the archive unless it `is_elsewhere`.
pub(crate) fn back_over(
    context: &Context,
    log: &Log,
    (entry, latest): (&Recorded, Option<ObjectId>),
    is_whole: bool,
    is_elsewhere: IsElsewhere<'_>,
) -> Result<Back> {
    let (repo, is_interrupted) = (&context.repo, entry.operation.is_unfinished);
    let since: Vec<&Recorded> = log.entries.iter().take_while(|it| it.id != entry.id).collect();
    let in_time = || since.iter().rev().map(|recorded| (recorded.id, &recorded.operation));
    let passed = log.stack.passed(in_time());
    let tries = if is_interrupted { log.stack.tries(entry.id, in_time()) } else { HashSet::new() };
    let newer = log.entries.iter().position(|it| Some(it.id) == latest).unwrap_or(0);
    let own: Vec<ObjectId> = log.entries[..newer].iter().map(|it| it.id).filter(|id| repo.has_recorded(*id)).collect();
    let fate = |recorded: &Recorded| {
        let (is_own, is_save) = (own.contains(&recorded.id), recorded.operation.kind == operation::SAVE);
        match recorded.operation.kind.as_str() {
            operation::FOLLOW | operation::REPAIR => Fate::Stands,
            _ if is_own && is_save && !is_whole && !is_interrupted => Fate::Stands,
            _ if is_own || tries.contains(&recorded.id) => Fate::TakenBack,
            _ if passed.contains(&recorded.id) => Fate::Passed,
            _ => Fate::Stands,
        }
    };
    let since = since.into_iter().map(|recorded| Later {
        id: recorded.id,
        operation: &recorded.operation,
        fate: fate(recorded),
    });
    // What its command has saved first, or had begun when it was killed, belongs to it.
    let earlier = log.entries.iter().skip_while(|it| it.id != entry.id).enumerate();
    let its = earlier.take_while(|(number, recorded)| {
        let operation = &recorded.operation;
        let is_save = operation.is_on_the_way() && is_of_person(repo, operation);
        let is_begun = operation.role == entry.operation.role && log.stack.not_begun.contains(&recorded.id);
        *number == 0 || (operation.command == entry.operation.command && (is_save || is_begun))
    });
    let its = its.map(|(_, recorded)| Later { id: recorded.id, operation: &recorded.operation, fate: Fate::TakenBack });
    let mut later: Vec<Later<'_>> = since.chain(its).collect();
    later.reverse();
    let saves = later.iter().filter(|later| later.operation.may_have_saved());
    let saved: Vec<ObjectId> = saves.flat_map(|later| saved_by(repo, later.operation)).collect();
    // What changed no files moves its refs back wherever HEAD is.
    let back = plan(context, &later, (TakenOff::Saved(&saved), is_elsewhere), !entry.operation.has_files)?;
    let may_be_of_agent = |id: &ObjectId| {
        let checkpoint = repo.find_checkpoint(*id).ok().flatten();
        checkpoint.is_none_or(|checkpoint| checkpoint.origin.contributor != Contributor::Human)
    };
    let is_left = |id: &ObjectId| repo.reaches(back.left.clone(), *id, 0).unwrap_or(true);
    let is_settled = !back.left.is_empty() && !saved.iter().any(|id| may_be_of_agent(id) && is_left(id));
    Ok(Back { is_settled, ..back })
}

/// Returns the checkpoints that `save` has added to chains, in the order of time. A chain that is broken may have more of them.
fn saved_by(repo: &Repo, save: &Operation) -> Vec<ObjectId> {
    let added = |moved: &Move| {
        let chain = moved.new.into_iter().flat_map(|id| repo.chain(id)).map_while(Result::ok).map(|it| it.id);
        let mut added: Vec<ObjectId> = chain.take_while(|id| Some(*id) != moved.old).collect();
        added.reverse();
        added
    };
    let is_chain = |moved: &&Move| moved.name.starts_with(refname::SHADOWS) || moved.name.starts_with(refname::ARCHIVE);
    save.moves.iter().filter(is_chain).flat_map(added).collect()
}

/// Returns true if `save` has only saved what a person had done. Before that, a save may have put an agent's work back on the shadow
/// that had been set aside.
fn is_of_person(repo: &Repo, save: &Operation) -> bool {
    let is_of_person = |moved: &Move| {
        let chain =
            moved.new.map(|id| repo.chain(id).take_while(|it| !it.as_ref().is_ok_and(|it| Some(it.id) == moved.old)));
        chain.is_some_and(|mut chain| {
            chain.all(|it| it.is_ok_and(|checkpoint| checkpoint.origin.contributor == Contributor::Human))
        })
    };
    save.marker.is_none() && save.moves.iter().all(is_of_person)
}

fn plan(
    context: &Context,
    later: &[Later<'_>],
    (taken_off, is_elsewhere): (TakenOff<'_>, IsElsewhere<'_>),
    wherever: bool,
) -> Result<Back> {
    let repo = &context.repo;
    // Git has to be asked only if one of them is damaged.
    let mut refs: BTreeMap<String, ObjectId> = BTreeMap::new();
    for prefix in [refname::PREFIX, refname::FETCHED] {
        refs.extend(repo.refs_below(prefix).or_else(|_| repo.sound_refs(prefix))?);
    }
    refs.retain(|name, _| refname::is_recorded(name) && !refname::is_notes(name));
    // Each note goes back by itself. Where none has to, it does no harm that they cannot be read.
    let moves = later.iter().filter(|it| it.fate == Fate::TakenBack).flat_map(|it| &it.operation.moves);
    let with_notes: BTreeSet<&'static str> = moves.filter_map(|moved| Some(note::noted(&moved.name)?.0)).collect();
    for name in with_notes {
        refs.extend(repo.notes_of(name)?.all().map(|(id, blob)| (note::note_ref(name, id), blob)));
    }
    let worktree = if wherever { None } else { Some((repo.worktree_id(), Base::of_head(repo.head()?.id))) };
    let place = Place { worktree, refs: &refs };
    // Where objects are missing, one archived shadow too many does no harm.
    let leads_to = |tips: &[ObjectId], id| repo.reaches(tips.to_vec(), id, 0).unwrap_or(false);
    Ok(back(later, &place, taken_off, |id| repo.can_read(id), leads_to, is_elsewhere))
}
