//! The files that open tool calls name: changes in them belong to the session of the call, even if another session saves them.

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

/// How often a save looks at the worktree again while tools keep changing the files that they name.
pub(crate) const MOST_ATTEMPTS: usize = 4;

/// A session, and its subagent that makes the call.
type Maker<'t> = (&'t str, Option<&'t str>);

/// When the files that open tool calls name are saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trigger<'s> {
    /// The turn of this session ends.
    EndOf(&'s str),
    /// A command saves, commits or shows unsaved changes, and no tool in use is known to have run it: a person may have.
    Command,
    /// Another event of an agent.
    Event,
}

impl Trigger<'_> {
    /// Returns the trigger of a save by `origin` that does not end a turn.
    pub(crate) fn of_author(origin: &Origin) -> Self {
        if origin.session.is_none() { Self::Command } else { Self::Event }
    }
}

/// Returns the requests that save the files that open tool calls name, one for each author.
///
/// The author is unknown if several sessions name the file, or if the agent was killed. It is also unknown if the user may have
/// refused the call, which no event reports, and then edited the file. Signs of that: the turn ends before the call does, a
/// person saves or commits meanwhile, the call takes long, or its agent has begun another one.
pub(crate) fn requests(context: &Context, trigger: Trigger<'_>) -> Vec<Request> {
    let turns = author::turns_without_stale_calls(context);
    let mut makers = BTreeMap::<&str, BTreeSet<Option<Maker<'_>>>>::new();
    let may_be_sure = |session: &str| match trigger {
        Trigger::EndOf(its) => its != session,
        // The agent may save or commit itself.
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
            // A call in doubt does not matter if a sure call of the same session names the file, too.
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

/// Returns the only session of `makers`, with the subagent if it is the only maker; none if a maker is unknown.
fn one_of<'t>(makers: &BTreeSet<Option<Maker<'t>>>) -> Option<Maker<'t>> {
    let (session, agent_id) = (*makers.first()?)?;
    let is_one = makers.iter().all(|maker| maker.is_some_and(|(its, _)| its == session));
    is_one.then_some((session, agent_id.filter(|_| makers.len() == 1)))
}

fn origin(context: &Context, (session, agent_id): Maker<'_>) -> Origin {
    let session = session_info::peek(context, session).filter(|_| !author::is_gone(context, session));
    session.map_or_else(author::unknown, |session| author::of_session(&session, agent_id.map(Into::into)))
}

/// Splits `paths`, which a tool of `session` has named, in two: those that an open call of another session names, too, so that
/// either session may have changed them, and the rest. A call that the user may have refused does not count.
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

/// Returns true if open tool calls name files that need checkpoints of their own first: `request` includes all files, or names no
/// author.
pub(crate) fn needs_named_first(context: &Context, request: &Request) -> bool {
    let is_limited = matches!(request.scope, Scope::Paths(_) | Scope::PathsIfThere(_) | Scope::OwnSteps(_));
    (!is_limited || request.author == Author::Infer) && is_any_file_named(context)
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
