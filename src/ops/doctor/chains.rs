//! Checks of our refs and all that they lead to. What is damaged is mended by copies of what can be read.

use gix::ObjectId;

use super::{Problem, checks, objects};
use crate::{
    error::Result,
    git::Repo,
    model::refname::{self, ShadowName},
    ops::{
        Context, Worktree,
        chain::shadows::Live,
        enter::Purpose,
        lookup,
        salvage::{self, Fate, HistoryDamage, Look},
        save,
    },
    state,
};

/// Returns the refs that lead to something damaged. With `fix`, lets them lead to what can be read, and looks again.
pub(super) fn chains(context: &Context, fix: bool) -> Result<Vec<Problem>> {
    let mut kept = kept(context, fix)?;
    kept.extend(if fix { set_blank_aside(context)? } else { Vec::new() });
    let mut problems = look(context)?;
    if let Some(hint) =
        salvage::refuse_without_head(&context.repo).err().and_then(|error| error.hint().map(str::to_owned))
    {
        // What has taken that commit may have taken the checkpoints with it, and nothing is given up before it is back.
        for problem in &mut problems {
            problem.hint = Some(hint.clone());
        }
        problems.append(&mut kept);
        return Ok(problems);
    }
    problems.append(&mut kept);
    if !fix || !problems.iter().any(|problem| problem.subject.starts_with(refname::PREFIX)) {
        return Ok(problems);
    }
    let before = context.repo.sound_refs(refname::PREFIX)?;
    let words = mend(context, &problems)?;
    let left = look(context)?;
    for problem in &mut problems {
        problem.fixed = !left.iter().any(|other| other.subject == problem.subject);
        let words = words.iter().find(|(name, _)| *name == problem.subject).map(|(_, words)| words.as_str());
        let words = match words {
            None if problem.fixed => Some(became(&context.repo, &problem.subject, &before)?),
            words => words.map(str::to_owned),
        };
        if let Some(words) = words {
            problem.message = format!("{}; {words}", problem.message);
        }
    }
    let is_new = |problem: &Problem| !problems.iter().any(|known| known.subject == problem.subject);
    let new: Vec<Problem> = left.into_iter().filter(is_new).collect();
    problems.extend(new);
    Ok(problems)
}

/// Returns what refs of ours pointed to that could not be read when they were moved away. With `fix`, brings back what can be
/// read now.
fn kept(context: &Context, fix: bool) -> Result<Vec<Problem>> {
    let repo = &context.repo;
    let (mut problems, mut brought) = (Vec::new(), Vec::new());
    if fix && !state::kept::all(repo.common_dir()).is_empty() {
        brought = salvage::kept::bring_back(&Worktree::enter(context, Purpose::Repair)?)?;
    }
    for (kept, archive) in brought {
        let message = format!("what '{}' led to can be read again; it is in '{archive}'", kept.name);
        problems.push(Problem { fixed: true, ..Problem::new("checkpoints-kept", kept.id.to_string(), message) });
    }
    for kept in state::kept::all(repo.common_dir()) {
        let subject = kept.id.to_string();
        if !repo.can_read(kept.id) {
            let message = format!("the checkpoint that '{}' led to cannot be read; its id is kept", kept.name);
            let hint = format!(
                "once its objects are back, 'git checkpoint doctor --fix' or the next save brings it back; removing '{}' \
                 gives it up",
                kept.path.display()
            );
            problems.push(Problem::new("checkpoints-kept", subject, message).note().hint(hint));
        } else if salvage::kept::is_back(repo, &kept) {
            let message = format!("what '{}' led to can be read again, and no ref leads there", kept.name);
            let hint = "'git checkpoint doctor --fix' or the next save puts it into the archive";
            problems.push(Problem::new("checkpoints-kept", subject, message).hint(hint));
        }
    }
    Ok(problems)
}

/// Sets aside the files of refs that have no id.
fn set_blank_aside(context: &Context) -> Result<Vec<Problem>> {
    let repo = &context.repo;
    if repo.refs_without_id(refname::PREFIX).is_empty() || salvage::refuse_without_head(repo).is_err() {
        return Ok(Vec::new());
    }
    let worktree = Worktree::enter(context, Purpose::Repair)?;
    let problem = |done: salvage::Blank| {
        let held = done.held.map_or_else(
            || "no checkpoint that it led to was found".to_owned(),
            |held| format!("what it led to last is in '{held}'"),
        );
        let message = format!("it had no id: its file was moved to '{}', and {held}", done.file);
        Problem { fixed: true, ..Problem::new("ref-broken", done.name, message) }
    };
    Ok(salvage::set_all_blank_aside(&worktree)?.into_iter().map(problem).collect())
}

/// Returns the message about the ref `name`, which was one of `before` and is sound now.
fn became(repo: &Repo, name: &str, before: &[(String, ObjectId)]) -> Result<String> {
    let was = before.iter().find(|(known, _)| known == name).map(|(_, id)| *id);
    match repo.find_ref(name)? {
        Some(id) if Some(id) != was => copied(repo, name),
        // What was only damaged at its end is what it was.
        _ => Ok("its damaged objects were written again".to_owned()),
    }
}

/// Returns the message about the ref `name`, which leads to a copy now.
fn copied(repo: &Repo, name: &str) -> Result<String> {
    let is_without_files = repo.find_ref(name)?.is_some_and(|id| lookup::refuse_without_files(repo, id).is_err());
    let words = match (is_without_files, name.starts_with(refname::VERIFIED)) {
        (false, _) => "it leads to a copy of what can be read now",
        (true, false) => "it leads to a copy now that has none of the files",
        (true, true) => {
            "it leads to a copy now that has none of the files: mark another checkpoint with 'git checkpoint verify'"
        }
    };
    Ok(words.to_owned())
}

/// Returns the message about an operation log that was mended.
fn mended(log: &salvage::MendedLog) -> String {
    let cut = if log.is_cut { ", and the earlier ones are lost" } else { "" };
    match log.entries {
        0 => "none of its operations can be read; the log begins anew".to_owned(),
        entries => format!("the latest {entries} operations can be read{cut}; what is damaged cannot be undone"),
    }
}

fn look(context: &Context) -> Result<Vec<Problem>> {
    let mut problems = checks::refs(&context.repo)?;
    problems.extend(objects::objects(&context.repo)?);
    problems.extend(history(&context.repo)?);
    Ok(problems)
}

/// Returns what is damaged of the log of records, unless its newest commit is: that is reported with the other refs.
fn history(repo: &Repo) -> Result<Option<Problem>> {
    let Some(tip) = repo.find_sound_ref(refname::HISTORY)?.filter(|tip| repo.can_read(*tip)) else { return Ok(None) };
    let problem = |message: String| Problem::new("objects-missing", refname::HISTORY, message);
    let hint = |fix: &str| {
        if repo.is_partial_clone() {
            let name = refname::HISTORY;
            return format!(
                "'git fetch --refetch --no-filter <remote> {name}:{name}' brings what this partial clone lacks"
            );
        }
        format!("fetch or copy the objects from where they still are, or let 'git checkpoint doctor --fix' {fix}")
    };
    Ok(match salvage::history_damage(repo, tip) {
        Err(error) => Some(Problem::unlooked("objects-missing", refname::HISTORY, &error)),
        Ok(None) => None,
        Ok(Some(HistoryDamage::Newest(id))) => Some(
            problem(format!(
                "the tree {} of its newest commit {id} cannot be read, so that no record can",
                repo.tree_of_commit(id)?
            ))
            .hint(hint("go back to the newest state of the records that can be read")),
        ),
        Ok(Some(HistoryDamage::Earlier(id))) => Some(
            problem(format!("the earlier commit {id} of the records, or its tree, cannot be read; all records can"))
                .hint(hint("begin the log after it; no record is lost")),
        ),
    })
}

/// Sets the broken chains of this worktree aside, then mends all other refs. Returns a message for each ref.
fn mend(context: &Context, problems: &[Problem]) -> Result<Vec<(String, String)>> {
    let worktree = Worktree::enter(context, Purpose::Repair)?;
    objects::write_anew(&context.repo)?;
    // What is not here may only not have been fetched yet: there, only chains that git finds broken are set aside.
    let is_partial = context.repo.is_partial_clone();
    let is_named = |name: &String| problems.iter().any(|problem| problem.subject == *name);
    for (name, id) in context.repo.sound_refs(refname::SHADOWS)? {
        let is_asked = !is_partial || is_named(&name);
        let name = ShadowName::from_ref(&name).filter(|it| it.worktree == context.repo.worktree_id());
        // One may lead to what another lacks.
        if let Some(name) = name.filter(|_| is_asked) {
            salvage::set_aside(&worktree, &Live { name, id }, Look::AtAll)?;
        }
    }
    let mut words: Vec<(String, String)> = Vec::new();
    for done in context.broken() {
        let held = done.archive.map_or_else(
            || "nothing of it can be read".to_owned(),
            |archive| format!("what can be read is in '{archive}'"),
        );
        words.push((done.shadow, held));
    }
    if !context.broken().is_empty()
        && let Err(error) = save::write_again(&worktree)
    {
        // A damaged pack stays in its place, and the next save would take what is in it for stored.
        tracing::warn!(%error, "cannot store again what the files still have");
    }
    let fates = if is_partial { Vec::new() } else { salvage::mend_refs(&worktree)? };
    let logs = if is_partial { Vec::new() } else { salvage::mend_logs(&context.repo)? };
    for log in logs {
        words.push((log.name.clone(), mended(&log)));
    }
    if !is_partial && let Some(done) = salvage::mend_history(&context.repo)? {
        words.push((refname::HISTORY.to_owned(), done));
    }
    for (name, fate) in fates {
        let held = match fate {
            Fate::Mended(now) if now == name => copied(&context.repo, &name)?,
            Fate::Mended(now) => format!("what can be read is in '{now}'"),
            Fate::Lost => "nothing of it can be read".to_owned(),
        };
        words.push((name, held));
    }
    Ok(words)
}
