//! The sessions that made the changes which two worktrees have in common, with what they were asked.

use std::collections::{BTreeSet, HashMap};

use bstr::BString;
use gix::ObjectId;

use super::{
    found::{Maker, OfSide, PathOverlap},
    sides::Now,
};
use crate::{
    error::Result,
    git::Repo,
    model::{refname::Base, session::is_valid_id},
    ops::{chain::shadows::latest_on, provenance::replay::steps, records::Log},
    state::sessions::{self, Prompt},
};

/// How many commits since the base are searched for records.
const MOST_COMMITS: usize = 256;

/// A maker of `path`.
struct Made {
    path: BString,
    maker: Maker,
}

/// Adds to `paths` the sessions that changed them on each side since the commit `base`.
///
/// # Errors
/// If checkpoints or records cannot be read; then what was found stays.
pub(super) fn add(paths: &mut [PathOverlap], (here, there): (Now<'_>, Now<'_>), base: ObjectId) -> Result<()> {
    if paths.is_empty() {
        return Ok(());
    }
    let ours = fill(paths.iter_mut().map(|path| &mut path.here).collect(), here, base);
    fill(paths.iter_mut().map(|path| &mut path.there).collect(), there, base).and(ours)
}

fn fill(mut sides: Vec<&mut OfSide>, now: Now<'_>, base: ObjectId) -> Result<()> {
    let wanted: BTreeSet<BString> =
        sides.iter().flat_map(|side| [Some(&side.path), side.old_path.as_ref()]).flatten().cloned().collect();
    let (made, result) = made(now, base, &wanted);
    for Made { path, maker } in made {
        for side in sides.iter_mut().filter(|side| side.path == path || side.old_path.as_ref() == Some(&path)) {
            if side.sessions.iter().all(|known| known.id != maker.id) {
                side.sessions.push(maker.clone());
            }
        }
    }
    result
}

/// Returns the sessions that changed one of the `wanted` paths in the worktree `now` since `base`, the latest first.
pub(super) fn of_paths(now: Now<'_>, base: ObjectId, wanted: &BTreeSet<BString>) -> Vec<Maker> {
    let mut makers: Vec<Maker> = Vec::new();
    for Made { maker, .. } in made(now, base, wanted).0 {
        if makers.iter().all(|known| known.id != maker.id) {
            makers.push(maker);
        }
    }
    makers
}

fn made(now: Now<'_>, base: ObjectId, wanted: &BTreeSet<BString>) -> (Vec<Made>, Result<()>) {
    let mut made = Vec::new();
    let result = uncommitted(now, wanted, &mut made).and_then(|()| committed(now, base, wanted, &mut made));
    (made, result)
}

/// Adds those of the checkpoints on HEAD.
fn uncommitted(now: Now<'_>, wanted: &BTreeSet<BString>, made: &mut Vec<Made>) -> Result<()> {
    let repo = now.repo;
    let Some(tip) = latest_on(repo, Base::of_head(now.head))? else { return Ok(()) };
    let mut known = HashMap::new();
    for step in steps(repo, &tip, &|path| wanted.contains(path))?.into_iter().rev() {
        let Some(id) = step.origin.session.filter(|id| is_valid_id(id)) else { continue };
        let prompts = known.entry(id.clone()).or_insert_with(|| prompts_of(repo, &id));
        let prompt = prompts.iter().rev().find(|prompt| Some(prompt.turn) == step.origin.turn);
        let prompt = prompt.and_then(|prompt| first_line(&prompt.text));
        for change in step.changes {
            let maker = Maker {
                id: id.clone(),
                agent: step.origin.agent.clone(),
                turn: step.origin.turn,
                prompt: prompt.clone(),
            };
            made.extend(
                [change.old_path, Some(change.path)]
                    .into_iter()
                    .flatten()
                    .map(|path| Made { path, maker: maker.clone() }),
            );
        }
    }
    Ok(())
}

/// Adds those that the records of the commits since `base` name, as far as the first parents lead.
fn committed(now: Now<'_>, base: ObjectId, wanted: &BTreeSet<BString>, made: &mut Vec<Made>) -> Result<()> {
    let repo = now.repo;
    let mut next = now.head.filter(|head| *head != base);
    let Some(log) = next.and_then(|_| Log::open(repo).transpose()).transpose()? else { return Ok(()) };
    for _ in 0..MOST_COMMITS {
        let Some(commit) = next else { break };
        for id in log.of_commit(commit)? {
            let Some(record) = log.find(&id)? else { continue };
            for file in record.files.iter().filter(|file| wanted.contains(&file.path)) {
                for at in &file.sessions {
                    let Some(part) = record.sessions.get(*at) else { continue };
                    let turn = part.turns.last().copied();
                    let prompts = log.prompts(&id, *at)?;
                    let prompt = turn.and_then(|turn| prompts.iter().rev().find(|prompt| prompt.turn == turn));
                    let prompt = prompt.and_then(|prompt| first_line(&prompt.text));
                    let maker = Maker { id: part.id.clone(), agent: part.agent.clone(), turn, prompt };
                    made.push(Made { path: file.path.clone(), maker });
                }
            }
        }
        next = repo.parents_of(commit)?.first().copied().filter(|parent| *parent != base);
    }
    Ok(())
}

/// Returns what `session` was asked for; nothing if that is not stored.
fn prompts_of(repo: &Repo, session: &str) -> Vec<Prompt> {
    sessions::prompts(repo.common_dir(), session).unwrap_or_default()
}

fn first_line(text: &str) -> Option<String> {
    text.trim().lines().next().map(str::to_owned)
}
