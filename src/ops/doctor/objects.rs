//! Whether all that our refs lead to is there: trees, files, and what stands beside a checkpoint.
//!
//! git walks it, all refs at once, as far as no other ref leads there as well. Only where something is missing are they
//! told apart. The log of records has its own check.

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::{checks::way_out, problem::Problem};
use crate::{error::Result, git::Repo, model::refname, ops::salvage::Survey};

/// How many refs are named, and how many objects of each.
const MOST_NAMED: usize = 20;

/// Refs of ours with objects missing behind them.
pub(super) fn objects(repo: &Repo) -> Result<Vec<Problem>> {
    let mut tips = Vec::new();
    for (name, id) in repo.sound_and_broken_refs(refname::PREFIX)? {
        if name == refname::HISTORY || name.starts_with(refname::TRANSCRIPTS) {
            continue;
        }
        // Where a ref itself leads nowhere, that has been said.
        tips.extend(id.filter(|id| repo.can_read(*id) && repo.is_commit(*id).unwrap_or(false)).map(|id| (name, id)));
    }
    if let Some(said) = missing(repo, &[])?.failed {
        let message = format!("what our refs lead to was not looked at: {said}");
        return Ok(vec![
            Problem::new("objects-unknown", refname::PREFIX, message).hint("'git fsck' says what is wrong"),
        ]);
    }
    let mut damaged = Vec::new();
    find(repo, &tips, &mut damaged)?;
    find_unreadable(repo, &tips, &mut damaged);
    let left = damaged.len().saturating_sub(MOST_NAMED);
    let mut problems: Vec<Problem> = damaged.into_iter().take(MOST_NAMED).collect();
    if left > 0 {
        let message = format!("objects behind at least {left} more refs are missing");
        problems.push(Problem::new("objects-missing", refname::PREFIX, message));
    }
    Ok(problems)
}

/// Adds the refs of `tips` that do not lead to all of their objects to `damaged`, by halves.
fn find(repo: &Repo, tips: &[(String, ObjectId)], damaged: &mut Vec<Problem>) -> Result<()> {
    if tips.is_empty() || damaged.len() > MOST_NAMED {
        return Ok(());
    }
    let missing = missing(repo, tips)?;
    if missing.ids.is_empty() && missing.failed.is_none() {
        return Ok(());
    }
    if let [(name, _)] = tips {
        damaged.push(problem(repo, name, &missing));
        return Ok(());
    }
    let (first, second) = tips.split_at(tips.len() / 2);
    find(repo, first, damaged)?;
    find(repo, second, damaged)
}

/// Adds the refs that lead to objects that are here and damaged: git reads no files.
fn find_unreadable(repo: &Repo, tips: &[(String, ObjectId)], damaged: &mut Vec<Problem>) {
    let mut survey = Survey::new(repo);
    for (name, id) in tips {
        let lost = survey.unreadable_behind(*id);
        if damaged.len() > MOST_NAMED || lost.is_empty() || damaged.iter().any(|problem| problem.subject == *name) {
            continue;
        }
        let named: Vec<String> = lost.iter().take(MOST_NAMED).map(ToString::to_string).collect();
        let message = format!("objects behind it cannot be read: {}", named.join(", "));
        damaged.push(Problem::new("objects-missing", name, message).hint(way_out(repo, name, false)));
    }
}

fn problem(repo: &Repo, name: &str, missing: &Missing) -> Problem {
    let named: Vec<&str> = missing.ids.iter().take(MOST_NAMED).map(String::as_str).collect();
    let message = match (named.as_slice(), &missing.failed) {
        ([], said) => format!("what it leads to cannot be read: {}", said.as_deref().unwrap_or_default()),
        ([one], _) => format!("the object {one} behind it is missing"),
        (some, _) => format!("{} objects behind it are missing: {}", missing.ids.len(), some.join(", ")),
    };
    Problem::new("objects-missing", name, message).hint(way_out(repo, name, false))
}

struct Missing {
    ids: Vec<String>,
    /// What git said if it gave up.
    failed: Option<String>,
}

fn missing(repo: &Repo, tips: &[(String, ObjectId)]) -> Result<Missing> {
    let foreign = format!("--exclude={}*", refname::PREFIX);
    // What was promised may be fetched at any time; git then does not list what was not, but gives up.
    let treatment = if repo.is_partial_clone() { "--missing=allow-promisor" } else { "--missing=print" };
    let arguments = ["rev-list", "--objects", "--quiet", treatment, "--stdin", "--not", &foreign, "--all"];
    let input: BString = tips.iter().map(|(_, id)| format!("{id}\n")).collect::<String>().into();
    let output = repo.try_git(&arguments, Some(&input))?;
    let ids = output.stdout.lines().filter_map(|line| line.strip_prefix(b"?"));
    let ids = ids.map(|id| id.to_str_lossy().into_owned()).collect();
    let said = || output.stderr.lines().next_back().map(|line| line.to_str_lossy().into_owned()).unwrap_or_default();
    Ok(Missing { ids, failed: (!output.status.success()).then(said) })
}
