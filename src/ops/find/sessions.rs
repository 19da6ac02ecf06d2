//! Searches what sessions were asked, and their transcripts that are stored here.

use std::collections::{HashMap, HashSet};

use bstr::{BStr, ByteSlice as _};
use gix::ObjectId;
use serde_json::Value;

use super::{
    hit::{Hit, Kind},
    options::{Options, Search},
    query::Query,
};
use crate::{
    error::Result,
    git::Repo,
    model::{
        contributor::Contributor,
        hit::{Excerpt, Field},
        log_place, moment, refname,
    },
    ops::Context,
    state,
};

/// Returns true if prompts and transcripts may pass the filters: they have no paths, and are about the work of agents.
fn may_pass(options: &Options) -> bool {
    options.paths.is_empty() && options.owner.is_none_or(|owner| owner == Contributor::Agent)
}

fn is_of(options: &Options, session: &str, agent: Option<&str>) -> bool {
    options.session.as_ref().is_none_or(|wanted| wanted == session)
        && options.agent.as_ref().is_none_or(|wanted| agent.is_some_and(|agent| agent.eq_ignore_ascii_case(wanted)))
}

/// Adds the turns whose prompts match to `found`, but for those of records there.
pub(super) fn prompts(context: &Context, options: &Options, search: &Search, found: &mut Vec<Hit>) -> Result<()> {
    if !search.wants(Field::Prompt) || !may_pass(options) {
        return Ok(());
    }
    let known: HashSet<(String, u32)> = found.iter().flat_map(|hit| hit.turns.iter().cloned()).collect();
    let common_dir = context.repo.common_dir();
    for session in state::sessions::all(common_dir)? {
        context.check_interrupt()?;
        if !is_of(options, &session.id, session.agent.as_deref()) {
            continue;
        }
        for prompt in state::sessions::prompts(common_dir, &session.id)? {
            let is_in_time = options.since.is_none_or(|since| prompt.seconds >= since)
                && options.until.is_none_or(|until| prompt.seconds <= until);
            let is_known = known.contains(&(session.id.clone(), prompt.turn));
            let Some(excerpt) = search.query.find(prompt.text.as_bytes()).filter(|_| is_in_time && !is_known) else {
                continue;
            };
            found.push(Hit {
                kind: Kind::Session,
                id: format!("{}@{}", session.id, prompt.turn),
                field: Field::Prompt,
                session: Some(session.id.clone()),
                turn: Some(prompt.turn),
                agent: session.agent.clone(),
                ..Hit::new((prompt.seconds, 0), excerpt)
            });
        }
    }
    Ok(())
}

/// A log of transcripts.
struct Log {
    tip: ObjectId,
    month: String,
    remote: Option<String>,
}

/// Returns the logs of transcripts, the latest month first, and in it our own first.
fn logs(repo: &Repo) -> Result<Vec<Log>> {
    let mut logs = Vec::new();
    for (name, tip) in repo.refs_below(refname::TRANSCRIPTS)? {
        logs.extend(refname::transcripts_month(&name).map(|month| Log { tip, month: month.to_owned(), remote: None }));
    }
    for (name, tip) in repo.refs_below(refname::FETCHED)? {
        let Some((remote, log)) = refname::fetched_log(&name) else { continue };
        let month = refname::transcripts_month(&log);
        logs.extend(month.map(|month| Log { tip, month: month.to_owned(), remote: Some(remote.clone()) }));
    }
    logs.sort_by(|a, b| (&b.month, &a.remote).cmp(&(&a.month, &b.remote)));
    Ok(logs)
}

/// Adds the sessions whose transcripts match to `found`, each once: the latest piece with a match.
pub(super) fn transcripts(context: &Context, options: &Options, search: &Search, found: &mut Vec<Hit>) -> Result<()> {
    if !search.wants(Field::Transcript) || !may_pass(options) {
        return Ok(());
    }
    let repo = &context.repo;
    let known = state::sessions::all(repo.common_dir())?;
    let agents: HashMap<String, Option<String>> = known.into_iter().map(|it| (it.id, it.agent)).collect();
    let (mut done, mut read) = (HashSet::new(), HashSet::new());
    for log in logs(repo)? {
        // Of the time, only the month is stored.
        let Some((first, last)) = moment::span_of_month(&log.month) else { continue };
        if options.since.is_some_and(|since| last < since) || options.until.is_some_and(|until| first > until) {
            continue;
        }
        for (folder, is_tree, tree_id) in repo.tree_entries(repo.tree_of_commit(log.tip)?)? {
            let Some(session) = session_of(folder.as_bstr()).filter(|_| is_tree) else { continue };
            let agent = agents.get(&session).cloned().flatten();
            if done.contains(&session) || !is_of(options, &session, agent.as_deref()) {
                continue;
            }
            let digits = repo.object_hash().len_in_hex();
            for (name, is_tree, blob) in repo.tree_entries(tree_id)?.into_iter().rev() {
                context.check_interrupt()?;
                if is_tree || log_place::piece(&name, digits).is_none() || !read.insert(blob) {
                    continue;
                }
                let Some(excerpt) = find_in_lines(&repo.read_blob(blob)?, &search.query) else { continue };
                done.insert(session.clone());
                found.push(Hit {
                    kind: Kind::Session,
                    id: session.clone(),
                    field: Field::Transcript,
                    session: Some(session.clone()),
                    agent,
                    remote: log.remote.clone(),
                    ..Hit::new((first, 0), excerpt)
                });
                break;
            }
        }
    }
    Ok(())
}

fn session_of(folder: &BStr) -> Option<String> {
    refname::decode_component(folder.to_str().ok()?)?.to_str().ok().map(str::to_owned)
}

/// Returns the last match in lines of JSON, or of text.
fn find_in_lines(text: &[u8], query: &Query) -> Option<Excerpt> {
    text.lines().rev().filter(|line| query.may_be_in_json(line)).find_map(|line| match serde_json::from_slice(line) {
        Ok(value) => find_in_value(&value, query),
        Err(_) => query.find(line),
    })
}

fn find_in_value(value: &Value, query: &Query) -> Option<Excerpt> {
    match value {
        Value::String(text) => query.find(text.as_bytes()),
        Value::Array(list) => list.iter().find_map(|value| find_in_value(value, query)),
        Value::Object(map) => map.values().find_map(|value| find_in_value(value, query)),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}
