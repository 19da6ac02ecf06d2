//! The files that open tool calls name, for example the one file that an edit tool is about to write.
//!
//! A change in such a file belongs to the session of the call, even if another session or a person saves it. So a save first
//! takes a checkpoint of these files for that session: [`requests`] returns what to save. If it is not sure that the call made
//! the change, the author is unknown, never a guess.

use std::collections::{BTreeMap, BTreeSet};

use bstr::{BString, ByteSlice as _};

use super::{
    Context, author,
    chain::{Author, Request, Scope, Seen, Shadow},
    session_info,
};
use crate::{
    error::Result,
    git::new_objects::NewObjects,
    model::{checkpoint::Origin, turns::Call},
};

/// How many times a save starts again with the named files while tools keep changing them.
pub(crate) const MOST_ATTEMPTS: usize = 4;

/// A session, and its subagent if that has made the call.
type Maker<'t> = (&'t str, Option<&'t str>);

/// What triggers the save of the files that open tool calls name. It decides whether the call surely made the change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trigger<'s> {
    /// The turn of this session ends.
    EndOf(&'s str),
    /// A command saves, commits or shows unsaved changes, and no tool in use is known to have run it. A person may have.
    Command,
    /// Any other event: a tool call begins or ends, or a tool in use runs the command.
    Event,
}

impl Trigger<'_> {
    /// Returns the trigger of a save with the author `origin` that does not end a turn.
    pub(crate) fn of_author(origin: &Origin) -> Self {
        if origin.session.is_none() { Self::Command } else { Self::Event }
    }
}

/// Returns the requests that save the files that open tool calls name, one for each author.
///
/// The author is unknown if several sessions name the file, or if the agent was killed.
///
/// It is also unknown if the user may have refused the call and then edited the file. No event reports a refusal, but there are
/// signs of one: the turn ends before the call does, a person saves or commits meanwhile, the call takes long, or its agent has
/// begun another call.
pub(crate) fn requests(context: &Context, trigger: Trigger<'_>) -> Vec<Request> {
    let turns = author::turns_without_stale_calls(context);
    let mut makers = BTreeMap::<&str, BTreeSet<Option<Maker<'_>>>>::new();
    let may_be_sure = |session: &str| match trigger {
        Trigger::EndOf(its) => its != session,
        // A call is sure if its own agent saves or commits.
        Trigger::Command => author::runs_us(context, session),
        Trigger::Event => true,
    };
    let is_sure = |session: &str, call: &Call| !author::edit_may_be_refused(call) && may_be_sure(session);
    let (sure, in_doubt): (Vec<_>, Vec<_>) = turns.calls().partition(|(session, call)| is_sure(session, call));
    for (session, call) in sure {
        for path in call.paths.iter().flatten() {
            makers.entry(path).or_default().insert(Some((session, call.agent_id.as_deref())));
        }
    }
    for (session, call) in in_doubt {
        for path in call.paths.iter().flatten() {
            // If a sure call of the same session names the file, too, the session made the change in any case.
            let its = makers.entry(path).or_default();
            if its.iter().flatten().all(|(other, _)| *other != session) {
                its.insert(None);
            }
        }
    }
    let mut paths_of: BTreeMap<Option<Maker<'_>>, Vec<BString>> = BTreeMap::new();
    for (path, makers) in makers {
        paths_of.entry(one_of(&makers)).or_default().push(path.into());
    }
    let request = |(maker, paths): (Option<Maker<'_>>, _)| {
        let origin = maker.map_or_else(author::unknown, |maker| origin(context, maker));
        let turn_of = maker.map(|(session, _)| session.to_owned());
        let (scope, author) = (Scope::PathsIfThere(paths), Author::Is(origin));
        Request { scope, author, turn_of, ..Request::default() }
    };
    paths_of.into_iter().map(request).collect()
}

/// Returns the files that open tool calls name, each with the author that such a save gives it.
pub(crate) fn authors(context: &Context, trigger: Trigger<'_>) -> Vec<(Vec<BString>, Origin)> {
    let named = |request: Request| match (request.scope, request.author) {
        (Scope::PathsIfThere(paths), Author::Is(origin)) => Some((paths, origin)),
        _ => None,
    };
    requests(context, trigger).into_iter().filter_map(named).collect()
}

/// Returns the session of `makers`; none if they are of several sessions, or one is unknown. Includes the subagent if it is the
/// only maker.
fn one_of<'t>(makers: &BTreeSet<Option<Maker<'t>>>) -> Option<Maker<'t>> {
    let (session, agent_id) = (*makers.first()?)?;
    let is_one = makers.iter().all(|maker| maker.is_some_and(|(its, _)| its == session));
    is_one.then_some((session, agent_id.filter(|_| makers.len() == 1)))
}

/// Returns the author for a maker: unknown if the agent's process is dead.
fn origin(context: &Context, (session, agent_id): Maker<'_>) -> Origin {
    let session = session_info::peek(context, session).filter(|_| !author::is_gone(context, session));
    session.map_or_else(author::unknown, |session| author::of_session(&session, agent_id.map(Into::into)))
}

/// Splits `paths`, which a tool of `session` has named, in two: those that an open call of another session names, too, and the
/// rest. Either session may have changed the first ones. A call that the user may have refused does not count.
pub(crate) fn split_shared(context: &Context, session: &str, paths: Vec<BString>) -> (Vec<BString>, Vec<BString>) {
    let turns = author::turns_without_stale_calls(context);
    let others = turns.calls().filter(|(its, call)| *its != session && !author::edit_may_be_refused(call));
    let named: BTreeSet<&str> =
        others.filter_map(|(_, call)| call.paths.as_ref()).flatten().map(String::as_str).collect();
    paths.into_iter().partition(|path| path.to_str().is_ok_and(|path| named.contains(path)))
}

/// Returns true if an open tool call names files that it may change.
pub(crate) fn is_any_file_named(context: &Context) -> bool {
    let names = |call: &Call| call.paths.as_ref().is_some_and(|paths| !paths.is_empty());
    author::turns_without_stale_calls(context).calls().any(|(_, call)| names(call))
}

/// Returns true if the files that open tool calls name need checkpoints before `request` is saved: it includes all files, or
/// its author is still to be inferred. They need none if the user has said whose all changes are.
pub(crate) fn needs_named_first(context: &Context, request: &Request) -> bool {
    let is_limited = matches!(request.scope, Scope::Paths(_) | Scope::PathsIfThere(_) | Scope::OwnSteps(_));
    (!is_limited || request.author == Author::Infer) && !request.is_all_human && is_any_file_named(context)
}

/// Returns true if `seen` differs from the last checkpoint in a file that an open tool call names.
pub(crate) fn has_changed(context: &Context, shadow: &Shadow, seen: &Seen, objects: &NewObjects<'_>) -> Result<bool> {
    let turns = author::turns_without_stale_calls(context);
    let named: BTreeSet<&str> =
        turns.calls().filter_map(|(_, call)| call.paths.as_ref()).flatten().map(String::as_str).collect();
    if named.is_empty() {
        return Ok(false);
    }
    let changes = objects.changes_of_trees(shadow.last_tree_id(), seen.tree_id)?;
    Ok(changes.iter().any(|change| change.path.to_str().is_ok_and(|path| named.contains(path))))
}
