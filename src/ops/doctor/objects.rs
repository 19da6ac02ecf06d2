//! Checks that all objects behind our refs exist: trees, files, and the side commits of checkpoints.
//!
//! git walks all our refs at once, except what other refs reach too. Only if something is missing do we walk each ref by
//! itself. The log of records has its own check, and so have shared checkpoints.

use std::process::Output;

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::{checks::way_out, problem::Problem};
use crate::{
    error::{Error, Result},
    git::Repo,
    model::refname,
    ops::{
        Context, Worktree,
        enter::Purpose,
        salvage::{self, Damage, Survey},
        save,
    },
};

/// How many refs are named, and how many objects of each.
const MOST_NAMED: usize = 20;

/// Refs of ours with objects missing behind them.
pub(super) fn objects(repo: &Repo) -> Result<Vec<Problem>> {
    let mut tips = Vec::new();
    for (name, id) in repo.sound_and_broken_refs(refname::PREFIX)? {
        let has_own_check = name.starts_with(refname::TRANSCRIPTS) || refname::shared_id(&name).is_some();
        if name == refname::HISTORY || has_own_check {
            continue;
        }
        // Refs that lead nowhere are reported already.
        tips.extend(id.filter(|id| repo.can_read(*id) && repo.is_commit(*id).unwrap_or(false)).map(|id| (name, id)));
    }
    if let Some(said) = missing(repo, &[])?.failed {
        let message = format!("what our refs lead to was not looked at: {said}");
        return Ok(vec![
            Problem::new("objects-unknown", refname::PREFIX, message).hint("'git fsck' says what is wrong"),
        ]);
    }
    // An operation log holds what other refs pointed to before.
    let (tips, logs): (Vec<_>, Vec<_>) = tips.into_iter().partition(|(name, _)| refname::is_recorded(name));
    let mut damaged = Vec::new();
    find(repo, &tips, &mut damaged)?;
    find_unreadable(repo, &tips, &mut damaged);
    if damaged.is_empty() {
        find(repo, &logs, &mut damaged)?;
    }
    let left = damaged.len().saturating_sub(MOST_NAMED);
    let mut problems: Vec<Problem> = damaged.into_iter().take(MOST_NAMED).collect();
    if left > 0 {
        let message = format!("objects behind at least {left} more refs are missing");
        problems.push(Problem::new("objects-missing", refname::PREFIX, message));
    }
    Ok(problems)
}

/// What HEAD leads to. With `fix`, stores again what the index and the worktree still have of it, and looks again.
pub(super) fn head(context: &Context, fix: bool) -> Result<Vec<Problem>> {
    let repo = &context.repo;
    let Some(id) = repo.head()?.id else { return Ok(Vec::new()) };
    let look = || {
        let arguments = ["rev-list", "--objects", "--quiet", treatment(repo), "--no-walk", &id.to_string()];
        Ok::<_, Error>(Missing::of(&repo.try_git(&arguments, None)?))
    };
    let found = look()?;
    if found.is_nothing() {
        return Ok(Vec::new());
    }
    let message = found.message();
    let hint = "'git checkpoint save' keeps what the worktree has all the same; fetch or copy the objects from where they \
                still are, or let 'git checkpoint doctor --fix' store again what the index and the worktree still have";
    let mut problem = Problem::new("objects-missing", "HEAD", message).hint(hint);
    if fix && salvage::refuse_without_head(repo).is_ok() {
        save::write_again(&Worktree::enter(context, Purpose::Repair)?)?;
        problem.fixed = look()?.is_nothing();
    }
    Ok(vec![problem])
}

/// Returns that git could not walk the commits that refs without those of `excluded` lead to, for the reason in `error`, with
/// what is missing there.
pub(super) fn unwalkable(repo: &Repo, excluded: &[String], error: &Error) -> Result<Problem> {
    let exclude: Vec<String> = excluded.iter().map(|pattern| format!("--exclude={pattern}")).collect();
    let mut arguments = vec!["rev-list", "--ignore-missing", "--quiet", treatment(repo)];
    arguments.extend(exclude.iter().map(String::as_str).chain(["--all"]));
    let missing = Missing::of(&repo.try_git(&arguments, None)?);
    let what = match missing.ids.as_slice() {
        [] => error.causes().join(": "),
        ids => format!("not here: {}", listed(ids)),
    };
    let message = format!("git cannot walk all commits that branches and tags lead to: {what}");
    let hint =
        "fetch or copy the commits from where they still are; until then it is unknown which records have a commit";
    Ok(Problem::new("objects-missing", "refs/", message).hint(hint))
}

/// Adds the refs of `tips` that do not lead to all of their objects to `damaged`, by halves.
fn find(repo: &Repo, tips: &[(String, ObjectId)], damaged: &mut Vec<Problem>) -> Result<()> {
    if tips.is_empty() || damaged.len() > MOST_NAMED {
        return Ok(());
    }
    let missing = missing(repo, tips)?;
    if missing.is_nothing() {
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
        let found = survey.damage_behind(*id);
        if damaged.len() > MOST_NAMED || damaged.iter().any(|problem| problem.subject == *name) {
            continue;
        }
        let problem = |message: String| Problem::new("objects-missing", name, message);
        match found {
            Err(error) => damaged.push(Problem::unlooked("objects-missing", name, &error)),
            Ok(Damage { lost, .. }) if !lost.is_empty() => {
                let message = format!("objects behind it cannot be read: {}", listed(&lost));
                damaged.push(problem(message).hint(way_out(repo, name, false, &lost)));
            }
            Ok(Damage { damaged_ends, .. }) if !damaged_ends.is_empty() => {
                let damaged_ends: Vec<ObjectId> = damaged_ends.into_iter().collect();
                let message =
                    format!("git does not read objects behind it, whose files end wrongly: {}", listed(&damaged_ends));
                damaged.push(problem(message).hint("'git checkpoint doctor --fix' writes these files anew"));
            }
            Ok(_) => {}
        }
    }
}

/// Writes the files of objects anew of which only the end is damaged, behind all refs of ours.
pub(super) fn write_anew(repo: &Repo) -> Result<()> {
    let mut survey = Survey::new(repo);
    for (_, id) in repo.sound_refs(refname::PREFIX)? {
        // The caller sets aside what cannot be read.
        if let Ok(damage) = survey.damage_behind(id) {
            repo.write_anew(&damage.damaged_ends)?;
        }
    }
    Ok(())
}

fn listed(ids: &[ObjectId]) -> String {
    ids.iter().take(MOST_NAMED).map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn problem(repo: &Repo, name: &str, missing: &Missing) -> Problem {
    Problem::new("objects-missing", name, missing.message()).hint(way_out(repo, name, false, &missing.ids))
}

struct Missing {
    ids: Vec<ObjectId>,
    /// What git said if it gave up.
    failed: Option<String>,
}

impl Missing {
    /// Reads what git-rev-list(1) has printed.
    fn of(output: &Output) -> Self {
        let ids = output.stdout.lines().filter_map(|line| line.strip_prefix(b"?"));
        let ids = ids.filter_map(|id| ObjectId::from_hex(id).ok()).collect();
        let said =
            || output.stderr.lines().next_back().map(|line| line.to_str_lossy().into_owned()).unwrap_or_default();
        Self { ids, failed: (!output.status.success()).then(said) }
    }

    fn is_nothing(&self) -> bool {
        self.ids.is_empty() && self.failed.is_none()
    }

    fn message(&self) -> String {
        match (self.ids.as_slice(), &self.failed) {
            ([], said) => format!("what it leads to cannot be read: {}", said.as_deref().unwrap_or_default()),
            ([one], _) => format!("the object {one} behind it is missing"),
            (some, _) => format!("{} objects behind it are missing: {}", some.len(), listed(some)),
        }
    }
}

/// Returns what git is to do about objects that are not here: what was promised may be fetched at any time; git then does not
/// list what was not, but gives up.
fn treatment(repo: &Repo) -> &'static str {
    if repo.is_partial_clone() { "--missing=allow-promisor" } else { "--missing=print" }
}

fn missing(repo: &Repo, tips: &[(String, ObjectId)]) -> Result<Missing> {
    let foreign = format!("--exclude={}*", refname::PREFIX);
    // Other refs that name nothing are reported elsewhere, or not ours.
    let start = ["rev-list", "--ignore-missing", "--objects", "--quiet", treatment(repo), "--stdin", "--not"];
    let arguments = [start.as_slice(), &[&foreign, "--all"]].concat();
    let input: BString = tips.iter().map(|(_, id)| format!("{id}\n")).collect::<String>().into();
    Ok(Missing::of(&repo.try_git(&arguments, Some(&input))?))
}
