//! Tools that name files of submodules: what they change there gets its checkpoints there.

use std::{collections::BTreeMap, path::Path};

use bstr::{BStr, BString, ByteSlice as _};

use super::{
    paths,
    report::{Reach, Report, What},
    tool::tool_name,
    visit::limited,
};
use crate::{
    error::Result,
    model::{checkpoint::Origin, operation},
    ops::{
        Context, Worktree, author,
        enter::Purpose,
        save::{Author, Request, Scope, save_and_write_turns},
        session_info,
    },
    state,
};

/// The parts of a tool's report.
pub(super) struct Parts {
    /// For the worktree.
    pub(super) here: Report,
    /// The files that the tool names in each submodule, by its path and relative to it.
    below: BTreeMap<BString, Vec<BString>>,
}

/// Returns the parts of a tool's report; none if the tool names no file of a submodule in which git-checkpoint is used.
pub(super) fn parts(context: &Context, report: &Report) -> Option<Parts> {
    let (What::BeforeTool(tool) | What::AfterTool(tool)) = &report.what else { return None };
    let Reach::Files(named) = &tool.reach else { return None };
    let (mut here, mut below) = (Vec::new(), BTreeMap::<BString, Vec<BString>>::new());
    for name in named {
        let path = paths::inside(&context.repo, &report.cwd, std::slice::from_ref(name));
        let found: Option<Vec<_>> =
            path.map(|all| all.iter().map(|path| split(context, path.as_bstr())).collect()).unwrap_or_default();
        let Some(parts) = found else {
            here.push(name.clone());
            continue;
        };
        for (repository, path) in parts {
            below.entry(repository).or_default().push(path);
        }
    }
    if below.is_empty() {
        return None;
    }
    let reach = if here.is_empty() { Reach::Nothing } else { Reach::Files(here) };
    Some(Parts { here: limited(report, reach), below })
}

/// Returns the innermost repository around `path`, and the rest of `path`, if that is a submodule in which git-checkpoint is used.
fn split(context: &Context, path: &BStr) -> Option<(BString, BString)> {
    let slashes = path.rfind_iter("/").map(|at| (path[..at].as_bstr(), path[at + 1..].as_bstr()));
    let (repository, rest) = slashes.into_iter().find(|(directory, _)| context.repo.has_dot_git(directory))?;
    submodule(context, repository).map(|_| (repository.to_owned(), rest.to_owned()))
}

/// Returns the submodule in the directory `path`; none if git-checkpoint is not used in it, or if it has a `.git` of its own.
///
/// Such a `.git` may have come with the files, and its settings name commands. Only git makes the directories in our `modules`.
fn submodule(context: &Context, path: &BStr) -> Option<Context> {
    let below = context.below(path).ok().flatten()?;
    let git_dir = std::fs::canonicalize(below.repo.git_dir()).ok()?;
    let is_in = |ours: &Path| std::fs::canonicalize(ours.join("modules")).is_ok_and(|ours| git_dir.starts_with(ours));
    // A linked worktree has submodules of its own.
    let is_ours = [context.repo.common_dir(), context.repo.git_dir()].into_iter().any(is_in);
    (is_ours && state::directory(&git_dir).is_dir()).then_some(below)
}

impl Parts {
    /// Takes a checkpoint of the files in each of the submodules. After the tool, they are the work of its session. Before it, what
    /// is unsaved is not: its author is inferred there.
    pub(super) fn save(&self, context: &Context, report: &Report) -> Result<()> {
        let session = session_info::peek(context, &report.session);
        for (repository, paths) in &self.below {
            let Some(below) = submodule(context, repository.as_bstr()) else { continue };
            let worktree = Worktree::enter(&below, Purpose::Change)?;
            let origin = match (&report.what, &session) {
                (What::AfterTool(tool), Some(session)) => {
                    Origin { tool: tool_name(tool), ..author::of_session(session, report.agent_id.clone()) }
                }
                (What::AfterTool(_), None) => author::unknown(),
                _ => author::unsaved(&worktree)?,
            };
            let (scope, author) = (Scope::PathsIfThere(paths.clone()), Author::Is(origin));
            let _way = below.repo.on_the_way(operation::SAVE);
            save_and_write_turns(&worktree, &Request { scope, author, ..Request::default() })?;
        }
        Ok(())
    }
}
