//! What people ask of sessions: which there are, what one did, and to take one over or forget it.

use std::collections::BTreeMap;

use bstr::{BString, ByteSlice as _};
use serde::Serialize;

use super::{
    super::session_info::{self, clock, find_or_rebuild, is_elsewhere, unknown},
    super::{
        Context, Worktree, author,
        chain::{carry_forward::base_tree, timeline::live_tips},
        enter::Purpose,
        stats::Stats,
        turn::{self, EndReason},
    },
    elsewhere::{Elsewhere, end_elsewhere},
    events::close_interrupted,
    retry::retry_on_race,
    starting::seen_here,
    state::State,
    turns::{ShownTurn, turns},
};
use crate::{
    error::{Error, Result},
    git::recorder::SessionFile,
    model::{
        path_text::{self, shell_word},
        process::Life,
        refname::decode_component,
        session::{Phase, Session},
    },
    state::{owner, process, sessions},
};

/// A session with what the live shadows know of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// What is known of it.
    #[serde(flatten)]
    pub state: State,
    /// How many checkpoints of it are uncommitted.
    pub checkpoints: usize,
    /// The paths that those changed.
    #[serde(serialize_with = "path_text::serialize_list")]
    pub files: Vec<BString>,
    /// Whether its process lives; none if it is ended.
    pub life: Option<Life>,
    /// True if its last turn ended with its process.
    pub interrupted: bool,
    /// True if its worktree was removed, or the directory of it is gone.
    pub worktree_gone: bool,
    /// The first line of its first prompt, if that is stored.
    pub first_prompt: Option<String>,
}

impl Listed {
    fn of(context: &Context, session: &Session, (checkpoints, files): (usize, Vec<BString>)) -> Self {
        let prompts = sessions::prompts(context.repo.common_dir(), &session.id).unwrap_or_default();
        let first = prompts.first().and_then(|prompt| prompt.text.trim().lines().next());
        let worktree = decode_component(&session.worktree);
        Self {
            state: State::from(session),
            worktree_gone: worktree.is_none_or(|id| context.repo.has_lost_worktree(id.as_bstr())),
            checkpoints,
            files,
            life: (session.phase != Phase::Ended).then(|| process::life(session.process.as_ref())),
            interrupted: session.is_interrupted,
            first_prompt: first.map(str::to_owned),
        }
    }
}

/// One session in full. Serializes to what `session show --json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Shown {
    /// The version of this shape.
    pub version: u32,
    /// What is known of it.
    pub session: Listed,
    /// What the user asked for, without secrets.
    pub prompts: Vec<sessions::Prompt>,
    /// Its turns, oldest first.
    pub turns: Vec<ShownTurn>,
}

/// A session was taken over. Serializes to what `session adopt --json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Adopted {
    /// The version of this shape.
    pub version: u32,
    /// The session.
    pub session: State,
    /// The turn of this session in another worktree, which was ended first.
    pub elsewhere: Option<Elsewhere>,
    /// The path of that worktree if the turn could not be ended: what it left unsaved there is not known as its work.
    pub unsaved: Option<String>,
}

/// A session was forgotten. Serializes to what `session forget --json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Forgotten {
    /// The version of this shape.
    pub version: u32,
    /// The session.
    pub id: String,
}

/// Returns the sessions of all worktrees, latest first; ended ones only if `all`.
pub fn list(context: &Context, all: bool) -> Result<Vec<Listed>> {
    let mut work = work(context)?;
    let mut listed = Vec::new();
    for session in session_info::all(context)? {
        let work = work.remove(&session.id).unwrap_or_default();
        if all || session.phase != Phase::Ended || work.0 > 0 {
            listed.push(Listed::of(context, &session, work));
        }
    }
    // Those whose files are lost are still in the checkpoints.
    for (id, work) in work {
        if let Some(session) = find_or_rebuild(context, &id)? {
            listed.push(Listed::of(context, &session, work));
        }
    }
    Ok(listed)
}

type Work = BTreeMap<String, (usize, Vec<BString>)>;

/// Returns, by session, what the live shadows of all worktrees hold of it.
fn work(context: &Context) -> Result<Work> {
    let repo = &context.repo;
    let mut work = Work::new();
    for tip in live_tips(repo, None)? {
        // A broken shadow is `status`' matter.
        let (Ok(Some(checkpoint)), Ok(stats)) = (repo.find_checkpoint(tip.id), Stats::of_chain(repo, tip.id)) else {
            continue;
        };
        let touched = repo.diff_trees(base_tree(repo, &checkpoint)?, checkpoint.tree_id)?;
        let touched: Vec<BString> = touched.into_iter().map(|change| change.path).collect();
        for part in stats.sessions {
            let (checkpoints, files) = work.entry(part.id.clone()).or_default();
            *checkpoints += part.checkpoints;
            files.extend(part.files(&touched));
            files.sort();
            files.dedup();
        }
    }
    Ok(work)
}

/// Returns what is known of the session that `name` stands for: an id, the name of an agent whose last session is meant, or the
/// beginning of an id. Without `name`, that is the session seen last in this worktree.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if there is none.
pub fn show(context: &Context, name: Option<&str>) -> Result<Shown> {
    let id = id_of(context, name)?;
    let Some(session) = find_or_rebuild(context, &id)? else { return Err(unknown(context, &id)) };
    let work = work(context)?.remove(&id).unwrap_or_default();
    let prompts = sessions::prompts(context.repo.common_dir(), &id)?;
    let turns = turns(context, &id, prompts.iter().map(|prompt| prompt.turn))?;
    Ok(Shown { version: 1, session: Listed::of(context, &session, work), prompts, turns })
}

/// Returns the id of the session that `name` stands for: the one seen last in this worktree without it.
pub(super) fn id_of(context: &Context, name: Option<&str>) -> Result<String> {
    name.map_or_else(|| last_here(context), |name| session_info::named(context, name))
}

/// Returns the id of the session that was seen last in this worktree.
fn last_here(context: &Context) -> Result<String> {
    let here = context.repo.worktree_id();
    let mut sessions = session_info::all(context)?.into_iter();
    let with_file = sessions.find(|session| session.is_in(here)).map(|session| session.id);
    if let Some(id) = with_file {
        return Ok(id);
    }
    // Of others, only their checkpoints are known.
    let all = list(context, true)?;
    if let Some(known) = all.iter().find(|it| it.state.worktree == here) {
        return Ok(known.state.id.clone());
    }
    Err(if all.is_empty() {
        Error::refused("no session in this repository yet")
            .with_hint("'git checkpoint enable --agent <name>' lets an agent report its own")
    } else {
        Error::refused("no session was seen in this worktree")
            .with_hint("'git checkpoint session list --all' lists those of all worktrees")
    })
}

/// Moves the session `id` to this worktree, wherever it was.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if it is not known, or has a turn under way in another worktree and
/// `force` is not set.
pub fn adopt(context: &Context, id: &str, force: bool) -> Result<Adopted> {
    let id = &session_info::whole_id(context, id)?;
    let repo = &context.repo;
    let (mut elsewhere, mut unsaved) = (None, None);
    if force && let Some(session) = find_or_rebuild(context, id)?.filter(|session| is_elsewhere(context, session)) {
        match retry_on_race(|| end_elsewhere(context, id)) {
            Ok(ended) => elsewhere = ended,
            Err(error) => {
                context.check_interrupt()?;
                tracing::warn!(%error, "cannot save what the session left in another worktree as its own");
                unsaved = Some(session.worktree_path);
            }
        }
    }
    let worktree = Worktree::enter(context, Purpose::Change)?;
    worktree.check_turns()?;
    let Some(mut session) = find_or_rebuild(context, id)? else { return Err(unknown(context, id)) };
    let (is_here, was) = (session.is_in(repo.worktree_id()), session.clone());
    if is_here && session.phase == Phase::Active && author::is_gone(&worktree, id) {
        // The process that takes it over has not made the changes since the old one died.
        close_interrupted(&worktree, &mut session)?;
    }
    if is_elsewhere(context, &session) && !force {
        return Err(Error::refused(format!("the session '{id}' has a turn under way in '{}'", session.worktree_path))
            .with_hint(format!(
                "'git checkpoint session stop {}' there ends it; '--force' takes it all the same",
                shell_word(id)
            )));
    }
    if !(is_here && session.phase == Phase::Active) {
        turn::end(&worktree, &mut session, EndReason::Adopted, None)?;
    }
    seen_here(context, &mut session)?;
    session.last_seen = clock();
    // The process that takes it over has not called us yet.
    session.process = None;
    owner::hand_over(repo.git_dir(), id)?;
    session_info::store(&worktree, &session)?;
    turn::write(&worktree)?;
    // Only that it was seen, and that its process may be another one: there is nothing to take back.
    let seen = Session { last_seen: session.last_seen, process: None, ..was.clone() };
    if seen.to_toml() != session.to_toml() {
        record_file(context, id, was.to_toml())?;
    }
    Ok(Adopted { version: 1, session: State::from(&session), elsewhere, unsaved })
}

/// Records that the file of the session `id` was as `before`, and what it is now.
fn record_file(context: &Context, id: &str, before: String) -> Result<()> {
    let after = sessions::bytes(context.repo.common_dir(), id)?;
    if after.as_deref() == Some(before.as_bytes()) {
        return Ok(());
    }
    context.repo.note_session_of_operation(id);
    let file = SessionFile { id: id.to_owned(), before: Some(before.into_bytes()), after };
    context.repo.note_session_file(file);
    context.repo.update_refs(&[])
}

/// Forgets the session `id`: its file and its prompts. Its checkpoints and records stay, and do not bring it back; its next turn
/// does.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if it is not known, or has a turn under way and `force` is not set.
pub fn forget(context: &Context, id: &str, force: bool) -> Result<Forgotten> {
    let id = &session_info::whole_id(context, id)?;
    let worktree = Worktree::enter(context, Purpose::Change)?;
    worktree.check_turns()?;
    let Some(mut session) = find_or_rebuild(context, id)? else { return Err(unknown(context, id)) };
    if session.phase == Phase::Active && !force {
        return Err(Error::refused(format!("the session '{id}' has a turn under way")).with_hint(format!(
            "'git checkpoint session stop {}' ends it; '--force' forgets it all the same",
            shell_word(id)
        )));
    }
    if session.is_in(context.repo.worktree_id()) && session.phase == Phase::Active {
        // Once the session is forgotten, nothing shows that its tools may have made the unsaved changes: save them first.
        close_interrupted(&worktree, &mut session)?;
    }
    turn::end(&worktree, &mut session, EndReason::Forgotten, None)?;
    let before = session.to_toml();
    let common_dir = context.repo.common_dir();
    sessions::keep_last_turn(common_dir, id, session.turn.number)?;
    // Its checkpoints would bring it back.
    if work(context)?.contains_key(id) {
        sessions::mark_forgotten(common_dir, id)?;
    }
    sessions::remove(common_dir, id)?;
    session_info::read_anew(context, id);
    turn::write(&worktree)?;
    record_file(context, id, before)?;
    Ok(Forgotten { version: 1, id: id.to_owned() })
}
