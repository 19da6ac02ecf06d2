//! The files that open tool calls name: changes in them are their session's, even if another session takes the checkpoint.

use std::collections::{BTreeMap, BTreeSet};

use bstr::{BString, ByteSlice as _};

use super::{
    Context, author,
    chain::{Author, Request, Scope, Seen, Shadow},
    session_info::{self, clock},
};
use crate::{
    error::Result,
    git::new_objects::NewObjects,
    model::{checkpoint::Origin, turns::Call},
};

/// How often a save looks at the worktree again while tools keep changing the files that they name.
pub(crate) const MOST_LOOKS: usize = 4;

/// If a tool that only writes files is open for longer than this many seconds, the agent may be waiting for the user's
/// permission. Meanwhile, the user may edit the file.
const LONGEST_CALL: i64 = 30;

/// A session, and its helper that makes the call.
type Maker<'t> = (&'t str, Option<&'t str>);

/// Returns the requests that save the files that open tool calls name, one for each author. The author is unknown if several
/// sessions name the file, if the agent was killed, if the call takes too long, or if the turn of its session (`ending`) ends before
/// the call does: the user may have refused the call and edited the file.
pub(crate) fn requests(context: &Context, ending: Option<&str>) -> Vec<Request> {
    let turns = author::open(context);
    let (mut makers, oldest) = (BTreeMap::<&str, BTreeSet<Option<Maker<'_>>>>::new(), clock() - LONGEST_CALL);
    for (session, call) in turns.calls() {
        let is_known = ending != Some(session) && call.started >= oldest;
        let maker = Some((session, call.agent_id.as_deref())).filter(|_| is_known);
        for path in call.paths.iter().flatten() {
            makers.entry(path).or_default().insert(maker);
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

/// Returns the one session of `makers`, and its helper if there is one only.
fn one_of<'t>(makers: &BTreeSet<Option<Maker<'t>>>) -> Option<Maker<'t>> {
    let (session, agent_id) = (*makers.first()?)?;
    let is_one = makers.iter().all(|maker| maker.is_some_and(|(its, _)| its == session));
    is_one.then_some((session, agent_id.filter(|_| makers.len() == 1)))
}

fn origin(context: &Context, (session, agent_id): Maker<'_>) -> Origin {
    let session = session_info::peek(context, session).filter(|_| !author::is_gone(context, session));
    session.map_or_else(author::unknown, |session| author::of_session(&session, agent_id.map(Into::into)))
}

/// Returns true if an open tool call names files that it may change.
pub(crate) fn is_any(context: &Context) -> bool {
    let names = |call: &Call| call.paths.as_ref().is_some_and(|paths| !paths.is_empty());
    author::open(context).calls().any(|(_, call)| names(call))
}

/// Returns true if open tool calls name files that need checkpoints of their own first: `request` includes all files, or names no
/// author.
pub(crate) fn must_come_first(context: &Context, request: &Request) -> bool {
    let is_limited = matches!(request.scope, Scope::Paths(_) | Scope::PathsIfThere(_) | Scope::Known(_));
    (!is_limited || request.author == Author::Infer) && is_any(context)
}

/// Returns true if `seen` differs from the last checkpoint in a file that an open tool call names.
pub(crate) fn has_changed(context: &Context, shadow: &Shadow, seen: &Seen, objects: &NewObjects<'_>) -> Result<bool> {
    let turns = author::open(context);
    let named: BTreeSet<&str> =
        turns.calls().filter_map(|(_, call)| call.paths.as_ref()).flatten().map(String::as_str).collect();
    if named.is_empty() {
        return Ok(false);
    }
    let changes = objects.changes_of_trees(shadow.last_tree_id(), seen.tree_id)?;
    Ok(changes.iter().any(|change| change.path.to_str().is_ok_and(|path| named.contains(path))))
}
