//! The repository that a session is at home in: an agent may go on in a directory outside of it, and still change its files.

use std::path::{Path, PathBuf};

use super::{
    paths,
    report::{Reach, Report, What},
    visit::{innermost, limited},
};
use crate::{
    git::Repo,
    ops::session_info::check_id,
    state::{self, repositories, sessions},
};

/// A shorter id may be a number or a name, which conversations in other repositories have, too.
const SHORTEST_UNIQUE: usize = 20;

/// Returns true if the session `id` is known in `repo`.
pub(crate) fn is_known(repo: &Repo, id: &str) -> bool {
    check_id(id).is_ok() && sessions::read(repo.common_dir(), id).is_ok_and(|session| session.is_some())
}

/// Returns true if git-checkpoint is used in `repo`.
pub(crate) fn is_used(repo: &Repo) -> bool {
    state::directory(repo.common_dir()).is_dir()
}

/// Returns true if the id of a session is surely of one conversation.
pub(crate) fn is_unique(id: &str) -> bool {
    id.len() >= SHORTEST_UNIQUE
}

/// Returns the worktree of `repo` in which the session `id` was seen last, or else `repo`.
pub(crate) fn last_worktree(repo: Repo, id: &str) -> Repo {
    let last = worktree_of(repo.common_dir(), id).and_then(|(_, path)| open_of(&path, repo.common_dir()));
    last.unwrap_or(repo)
}

/// Returns the worktree of the repository that saw the session `id` first, of those that the list `file` has and of `here`.
pub(crate) fn of_session(file: &Path, here: Option<&Repo>, id: &str) -> Option<Repo> {
    if check_id(id).is_err() || !is_unique(id) {
        return None;
    }
    let own = here.map(|here| here.common_dir().to_owned());
    let listed = repositories::all(file).unwrap_or_default();
    let all = own.into_iter().chain(listed);
    let seen = all.filter_map(|common| worktree_of(&common, id).map(|(started, path)| (started, path, common)));
    let (_, path, common) = seen.min_by_key(|(started, ..)| *started)?;
    open_of(&path, &common)
}

/// Returns the worktree that the file `path` is in, if its repository is in the list `file`: a `.git` that came with files is not.
pub(crate) fn of_file(file: &Path, cwd: &Path, path: &str) -> Option<Repo> {
    let path = paths::real(cwd, path)?;
    let directory = path.ancestors().skip(1).find(|path| path.is_dir())?;
    let repo = Repo::open(directory).ok()?;
    let common = std::fs::canonicalize(repo.common_dir()).ok()?;
    repositories::all(file).ok()?.contains(&common).then_some(repo)
}

/// Returns true if `one` and `other` are of the same repository.
pub(crate) fn is_same(one: &Repo, other: &Repo) -> bool {
    is_same_path(one.common_dir(), other.common_dir())
}

fn is_same_path(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    real(one).is_some_and(|one| Some(one) == real(other))
}

/// Returns when the session `id` was first seen in the repository with this common directory, and in which worktree last.
fn worktree_of(common: &Path, id: &str) -> Option<((i64, i32), PathBuf)> {
    let session = check_id(id).ok().and_then(|()| sessions::read(common, id).ok().flatten())?;
    Some(((session.started, session.started_nanos), PathBuf::from(session.worktree_path)))
}

/// Opens the worktree `path`, if it is one of the repository with the directory `common`.
fn open_of(path: &Path, common: &Path) -> Option<Repo> {
    let repo = Some(path).filter(|path| path.is_absolute()).and_then(|path| Repo::open(path).ok());
    let repo = repo.or_else(|| Repo::open(common).ok())?;
    is_same_path(repo.common_dir(), common).then_some(repo)
}

/// Returns the parts of a report that is handled in two repositories: what the tool may change in that of `home`, and the rest,
/// which is for `here`.
pub(crate) fn parts(home: &Repo, here: &Repo, report: &Report) -> (Report, Report) {
    let away = Report { is_elsewhere: true, ..report.clone() };
    let (What::BeforeTool(tool) | What::AfterTool(tool)) = &report.what else { return (away, report.clone()) };
    let Reach::Files(named) = &tool.reach else { return (away, report.clone()) };
    let mut roots: Vec<PathBuf> = home.other_worktrees().into_iter().map(|(_, root)| root).collect();
    roots.push(home.worktree_root().to_owned());
    let is_of_home = |name: &&String| {
        paths::real(&report.cwd, name).is_some_and(|path| innermost(&roots, here.worktree_root(), &path).is_some())
    };
    let (home, here): (Vec<&String>, Vec<&String>) = named.iter().partition(is_of_home);
    let part = |named: Vec<&String>| {
        let reach = if named.is_empty() { Reach::Nothing } else { Reach::Files(named.into_iter().cloned().collect()) };
        limited(report, reach)
    };
    (Report { is_elsewhere: true, ..part(home) }, part(here))
}
