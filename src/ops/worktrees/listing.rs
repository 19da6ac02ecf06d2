//! `worktree list` and `worktree show`: where each worktree is, what is in it, and who works there.

use std::os::unix::ffi::OsStrExt as _;

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;
use serde::Serialize;

use super::super::{Context, chain::peek::worktree_tree, session_info};
use crate::{
    error::Result,
    git::{
        Repo,
        registrations::{Place, Registration},
    },
    model::{
        id_text, path_text,
        process::Life,
        session::{Phase, Session},
    },
    state::process,
};

/// A worktree with what is known of it. Serializes to an entry of what `worktree list --json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Listed {
    /// Its root, as git has registered it; the git directory of a bare repository, and where git has not noted the main worktree.
    #[serde(flatten, serialize_with = "path_text::serialize_fields")]
    pub(crate) path: BString,
    /// `main`, or git's id of the linked worktree.
    pub(crate) id: String,
    /// The branch at HEAD; none if it is detached.
    pub(crate) branch: Option<String>,
    /// The commit at HEAD; none if the branch has no commit.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub(crate) head: Option<ObjectId>,
    /// True for the main worktree, or the bare repository.
    pub(crate) main: bool,
    /// True if it is the bare repository.
    pub(crate) bare: bool,
    /// In how many paths the worktree differs from HEAD; none if that cannot be found out.
    pub(crate) dirty: Option<usize>,
    /// The sessions that work there or wait there, the one seen last first.
    pub(crate) sessions: Vec<ListedSession>,
    /// True if HEAD of the main worktree contains its commit; none if one of them has no commit.
    pub(crate) merged: Option<bool>,
    /// The reason why it is locked; none if it is not.
    pub(crate) locked: Option<String>,
    /// True if `git worktree prune` would forget it: its directory is gone.
    pub(crate) prunable: bool,
    /// True if something else is in its place.
    pub(crate) taken: bool,
    /// The port for servers that are started in it.
    pub(crate) port: Option<u16>,
}

/// A session in a worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ListedSession {
    /// Its id.
    pub(crate) id: String,
    /// The agent's name.
    pub(crate) agent: Option<String>,
    /// Where it stands.
    pub(crate) phase: Phase,
    /// Whether its process lives.
    pub(crate) life: Life,
}

/// Returns all worktrees of the repository: the main one first, then by path.
pub(crate) fn list(context: &Context) -> Result<Vec<Listed>> {
    let registered = context.repo.registrations()?;
    let sessions = session_info::all(context)?;
    let main = registered.first().and_then(|main| main.head.id);
    registered.iter().map(|it| listed(context, it, main, &sessions)).collect()
}

/// Returns one worktree, as [`list`] does.
pub(crate) fn show(context: &Context, name: Option<&std::ffi::OsStr>) -> Result<Listed> {
    let found = super::find(context, name)?;
    let main = context.repo.registrations()?.first().and_then(|main| main.head.id);
    listed(context, &found, main, &session_info::all(context)?)
}

fn listed(context: &Context, it: &Registration, main: Option<ObjectId>, sessions: &[Session]) -> Result<Listed> {
    let repo = &context.repo;
    let branch = it.head.branch.as_ref().map(|name| name.strip_prefix(b"refs/heads/").unwrap_or(name).as_bstr());
    let merged = main.zip(it.head.id).map(|(main, id)| is_merged(repo, main, id)).transpose()?;
    Ok(Listed {
        path: it.path.as_os_str().as_bytes().into(),
        id: path_text::escape(it.id.as_bstr()),
        branch: branch.map(ToString::to_string),
        head: it.head.id,
        main: it.is_main(),
        bare: it.place == Place::Bare,
        dirty: (it.place == Place::Worktree).then(|| dirty(context, it).ok()).flatten(),
        sessions: sessions
            .iter()
            .filter(|session| session_info::is_there(repo, session, it.id.as_bstr()))
            .filter_map(session)
            .collect(),
        merged,
        locked: it.lock.as_ref().map(ToString::to_string),
        prunable: it.place == Place::Nothing && it.lock.is_none() && !it.is_main(),
        taken: it.place == Place::Other,
        port: branch.map(|branch| super::port(repo, branch)),
    })
}

/// Returns in how many paths the worktree `found` differs from its HEAD.
fn dirty(context: &Context, found: &Registration) -> Result<usize> {
    let there = super::open(context, found)?;
    let head = there.repo.head()?.id;
    let tree_id = head.map_or_else(|| Ok(there.repo.empty_tree_id()), |id| there.repo.tree_of_commit(id))?;
    let worktree = worktree_tree(&there)?;
    Ok(worktree.repo.diff_trees(tree_id, worktree.tree_id)?.len())
}

/// Returns whether HEAD of the main worktree contains the commit `id`; none if one of them has no commit.
pub(super) fn is_merged_into_main(context: &Context, id: Option<ObjectId>) -> Result<Option<bool>> {
    let main = context.repo.registrations()?.first().and_then(|main| main.head.id);
    main.zip(id).map(|(main, id)| is_merged(&context.repo, main, id)).transpose()
}

/// Returns true if the commit `main` contains the commit `id`, whatever the dates of the commits are.
fn is_merged(repo: &Repo, main: ObjectId, id: ObjectId) -> Result<bool> {
    match repo.merge_bases(main, id) {
        Ok(bases) => Ok(bases.contains(&id)),
        // Where git takes other commits for some, it knows.
        Err(_) => repo.is_ancestor(id, main),
    }
}

/// Returns what is listed of `session`; nothing if it is ended.
fn session(session: &Session) -> Option<ListedSession> {
    (session.phase != Phase::Ended).then(|| ListedSession {
        id: session.id.clone(),
        agent: session.agent.clone(),
        phase: session.phase,
        life: process::life(session.process.as_ref()),
    })
}
