//! Tools that name files of other worktrees of the repository: what they change there gets its checkpoints there.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use bstr::ByteSlice as _;

use super::{
    event::Event,
    paths,
    report::{Reach, Report, Tool, What},
};
use crate::{
    error::Result,
    git::Repo,
    ops::{Context, Worktree, enter::Purpose, named::Trigger, save, turn},
    state::turns::peek,
};

/// A report, as each worktree gets it.
pub(super) struct Parts {
    /// The one where the agent works.
    pub(super) here: Report,
    /// The others, by their roots.
    pub(super) there: BTreeMap<PathBuf, Report>,
}

/// Returns the parts of a tool's report; none if the tool names no file of another worktree.
pub(super) fn parts(repo: &Repo, report: &Report) -> Option<Parts> {
    let (What::BeforeTool(tool) | What::AfterTool(tool)) = &report.what else { return None };
    let Reach::Files(named) = &tool.reach else { return None };
    let roots: Vec<PathBuf> = repo.other_worktrees().into_iter().map(|(_, root)| root).collect();
    let (mut here, mut there) = (Vec::new(), BTreeMap::<PathBuf, Vec<String>>::new());
    for name in named {
        let path = paths::real(&report.cwd, name);
        match path.and_then(|path| innermost(&roots, repo.worktree_root(), &path)) {
            Some(root) => there.entry(root).or_default().push(name.clone()),
            None => here.push(name.clone()),
        }
    }
    if there.is_empty() {
        return None;
    }
    let here = limited(report, if here.is_empty() { Reach::Nothing } else { Reach::Files(here) });
    let there = there.into_iter().map(|(root, named)| (root, limited(report, Reach::Files(named)))).collect();
    Some(Parts { here, there })
}

/// Returns the root of the worktree that `path` is in, if that is one of `roots`: one worktree may be inside of another.
fn innermost(roots: &[PathBuf], own: &Path, path: &Path) -> Option<PathBuf> {
    let around = |root: &&Path| path.starts_with(root);
    let innermost = roots.iter().map(PathBuf::as_path).chain([own]).filter(around);
    let innermost = innermost.max_by_key(|root| root.components().count())?;
    (innermost != own).then(|| innermost.to_owned())
}

/// Returns the report of the same tool, which changes nothing else.
fn limited(report: &Report, reach: Reach) -> Report {
    let mut report = report.clone();
    if let What::BeforeTool(tool) | What::AfterTool(tool) = &mut report.what {
        tool.reach = reach;
    }
    report
}

/// Returns the root of the other worktree in which the tool began whose end `report` reports, if the tool may have changed any
/// file: agents report where they are after a command, which may have changed the directory.
pub(super) fn began_in(repo: &Repo, report: &Report) -> Option<PathBuf> {
    let What::AfterTool(Tool { reach: Reach::Anything, .. }) = &report.what else { return None };
    let others = repo.other_worktrees();
    if others.is_empty() {
        return None;
    }
    let key = Event::of(repo, report).key;
    let is_open = |git_dir: &Path| {
        peek(git_dir).find(&report.session).is_some_and(|entry| entry.calls.iter().any(|call| call.key == key))
    };
    if is_open(repo.git_dir()) {
        return None;
    }
    others.into_iter().find(|(id, _)| is_open(&repo.git_dir_of(id.as_bstr()))).map(|(_, root)| root)
}

/// Returns the worktree with the root `root`, to handle a report there.
pub(super) fn open(context: &Context, root: &Path) -> Result<Context> {
    Ok(context.with_repo(Repo::open(root)?))
}

/// Closes the tool calls of `session`, whose turn has ended, that are open in other worktrees: `turn_end` decides who has made
/// what they name.
pub(super) fn leave(context: &Context, session: &str) {
    for (id, root) in context.repo.other_worktrees() {
        let turns = peek(&context.repo.git_dir_of(id.as_bstr()));
        if !turns.find(session).is_some_and(|entry| entry.turn.is_none() && !entry.calls.is_empty()) {
            continue;
        }
        let closed = open(context, &root).and_then(|there| {
            let worktree = Worktree::enter(&there, Purpose::Change)?;
            let saved = save::save_named(&worktree, Trigger::EndOf(session)).map(drop);
            worktree.edit_turns(|turns| turns.end(session));
            turn::write_after(&worktree, saved)
        });
        context.emit_failure("hook", closed).unwrap_or_default();
    }
}
