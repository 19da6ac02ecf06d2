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
    model::turns::Turns,
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
pub(super) fn innermost(roots: &[PathBuf], own: &Path, path: &Path) -> Option<PathBuf> {
    let around = |root: &&Path| path.starts_with(root);
    let innermost = roots.iter().map(PathBuf::as_path).chain([own]).filter(around);
    let innermost = innermost.max_by_key(|root| root.components().count())?;
    (innermost != own).then(|| innermost.to_owned())
}

/// Returns the report of the same tool, which changes nothing else.
pub(super) fn limited(report: &Report, reach: Reach) -> Report {
    let mut report = report.clone();
    if let What::BeforeTool(tool) | What::AfterTool(tool) = &mut report.what {
        tool.reach = reach;
    }
    report
}

/// Where a tool began whose end is reported here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Began {
    /// In this worktree, or it is not known where.
    Here,
    /// In the worktree with this root.
    At(PathBuf),
    /// In another worktree, where a report of its end, or of the end of one with the same id, was handled already.
    Handled,
}

/// Returns where the tool began whose end `report` reports, if the tool may have changed any file: agents report where they are
/// after a command, which may have changed the directory.
pub(super) fn began(repo: &Repo, report: &Report) -> Began {
    let What::AfterTool(Tool { reach: Reach::Anything, .. }) = &report.what else { return Began::Here };
    let others = repo.other_worktrees();
    let event = Event::of(repo, report);
    let is_open = |turns: &Turns| {
        turns.find(&report.session).is_some_and(|entry| entry.calls.iter().any(|call| call.key == event.key))
    };
    if others.is_empty() || is_open(&peek(repo.git_dir())) {
        return Began::Here;
    }
    let others: Vec<(PathBuf, Turns)> =
        others.into_iter().map(|(id, root)| (root, peek(&repo.git_dir_of(id.as_bstr())))).collect();
    if let Some((root, _)) = others.iter().find(|(_, turns)| is_open(turns)) {
        return Began::At(root.clone());
    }
    let is_handled = others.iter().any(|(_, turns)| event.is_repeated(turns, report));
    if is_handled { Began::Handled } else { Began::Here }
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
