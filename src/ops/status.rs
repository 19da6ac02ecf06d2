//! `status`: what is saved, what is not, and what needs attention.

use std::collections::BTreeMap;

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;
use serde::Serialize;

use super::{
    Context,
    chain::{
        peek::{Worktree, worktree_tree},
        shadows,
    },
    guard,
    hooks::{self, HookDone},
    inside::LeftOut,
    overlap::{Summary, summaries},
    remotes::{ToFetch, to_fetch},
    review,
    salvage::{if_readable, why_unreadable},
    save::{SkippedPath, UnfilteredPath},
    session_info,
    start::start,
    stats::{Part, Stats},
};
use crate::{
    error::{Error, Kind, Result},
    git::{Repo, hooks::Health},
    model::{
        change::Change,
        id_text, path_text,
        process::Life,
        refname::{self, Base},
        session::Phase,
        submodule::Submodule,
    },
    state::{
        self,
        journal::{Journal, Progress},
        process,
    },
};

/// The live shadow of a worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShadowStatus {
    /// Its ref.
    pub r#ref: String,
    /// Its last checkpoint.
    #[serde(serialize_with = "id_text::serialize")]
    pub tip: ObjectId,
    /// How many checkpoints it has.
    pub checkpoints: usize,
    /// When the last one was taken, in Unix seconds.
    pub tip_time: i64,
    /// The paths in which it differs from its base.
    #[serde(serialize_with = "path_text::serialize_list")]
    pub touched: Vec<BString>,
}

/// A session that works in this worktree, or has work on the live shadow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SessionStatus {
    /// Its id.
    pub id: String,
    /// The agent's name.
    pub agent: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// Its phase.
    pub phase: Phase,
    /// The number of its last turn.
    pub turn: Option<u32>,
    /// True if the next checkpoint of its turn sets the shadow aside.
    pub should_reset_shadow: bool,
    /// How many checkpoints it has on the live shadow.
    pub checkpoints: usize,
    /// The paths it changed, of those in which the shadow differs from its base.
    #[serde(serialize_with = "path_text::serialize_list")]
    pub touched: Vec<BString>,
    /// When it was last seen, in Unix seconds.
    pub last_seen: i64,
    /// Whether its process lives; none if it is ended, or only known by its checkpoints.
    pub life: Option<Life>,
}

/// A remote with which records could not be exchanged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailedExchange {
    /// Its name.
    pub remote: String,
    /// When, in Unix seconds.
    pub time: i64,
    /// Why.
    pub message: String,
}

/// The result of `status`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Status {
    /// The version of this shape.
    pub version: u32,
    /// `main`, or git's id of the linked worktree.
    pub worktree: String,
    /// The commit at HEAD.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub head: Option<ObjectId>,
    /// The branch at HEAD; none if it is detached.
    pub branch: Option<String>,
    /// The base commit of the shadow, or of the one that a save would begin.
    pub base: Base,
    /// The live shadow.
    pub shadow: Option<ShadowStatus>,
    /// The paths in which the worktree differs from HEAD.
    #[serde(serialize_with = "path_text::serialize_list")]
    pub dirty: Vec<BString>,
    /// The paths in which the worktree differs from the last checkpoint, or from HEAD if there is no checkpoint.
    #[serde(serialize_with = "path_text::serialize_list")]
    pub unsaved: Vec<BString>,
    /// The paths both dirty and touched.
    #[serde(serialize_with = "path_text::serialize_list")]
    pub overlap: Vec<BString>,
    /// The other worktrees that have changed paths that this one has changed, too, by their last checkpoints; and those of which that
    /// is not known.
    pub overlaps: Vec<Summary>,
    /// The sessions of this worktree that are not ended, and those on the live shadow; the one seen last first.
    pub sessions: Vec<SessionStatus>,
    /// The verified checkpoint.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub verified: Option<ObjectId>,
    /// While nothing is marked as verified, the state before the first change of an agent.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub start: Option<ObjectId>,
    /// How many shadows are in the archive.
    pub archived: usize,
    /// Paths that a save would leave out now.
    pub skipped: Vec<SkippedPath>,
    /// Files that a save would store as they are, because filters failed for them.
    pub unfiltered: Vec<UnfilteredPath>,
    /// Repositories inside the worktree that are no submodules.
    #[serde(serialize_with = "path_text::serialize_list")]
    pub nested: Vec<BString>,
    /// Those of them with changes of their own, which are not saved.
    #[serde(serialize_with = "path_text::serialize_list")]
    pub changed_nested: Vec<BString>,
    /// Submodules with changes of their own, which are not saved.
    pub submodules: Vec<Submodule>,
    /// Whether git's hooks call us, by name; empty if they were never enabled.
    pub hooks: BTreeMap<String, Health>,
    /// Those of them to which the user has to add the line that calls us: their files are another program's or the user's.
    #[serde(skip)]
    pub(crate) hooks_without_line: Vec<HookDone>,
    /// The checkpoint that a restore was putting back when it was interrupted.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub interrupted_restore: Option<ObjectId>,
    /// The part of the live shadow that cannot be read.
    pub broken: Option<String>,
    /// True if that part may be intact, but the system does not let us read it.
    pub hidden: bool,
    /// The last failed operation, if none has succeeded since.
    pub last_error: Option<String>,
    /// Remotes with which records could not be exchanged after the last `git push`.
    pub failed_exchanges: Vec<FailedExchange>,
    /// Records that commits name and that are not here, but may be had from a remote.
    pub(crate) to_fetch: Option<ToFetch>,
    /// What else the user should know.
    pub notes: Vec<String>,
    /// Bytes on disk of objects that saves wrote and git has not repacked yet.
    pub bytes: u64,
}

/// Returns the state of this worktree's checkpoints.
pub fn status(context: &Context) -> Result<Status> {
    let repo = &context.repo;
    let head = repo.head()?;
    let base = Base::of_head(head.id);
    let head_tree_id = head.id.map_or_else(|| Ok(repo.empty_tree_id()), |id| repo.tree_of_commit(id))?;
    let look = || {
        let worktree = worktree_tree(context)?;
        let dirty = paths(worktree.repo.diff_trees_if_damaged(head_tree_id, worktree.tree_id)?);
        Ok::<_, Error>((worktree, dirty))
    };
    let (worktree, dirty) = match look() {
        // The tree of the last checkpoint is not what it was.
        Err(error) if error.kind() == Kind::Corrupt => {
            repo.distrust_objects();
            look()?
        }
        seen => seen?,
    };
    let mut broken = Vec::new();
    // Checkpoints stand on what HEAD leads to, and are not broken for that.
    if !repo.has_object(head_tree_id) {
        repo.distrust_objects();
    }
    let look_at_shadow = |broken: &mut _| shadow_status((repo, &worktree.repo), base, head_tree_id, broken);
    let (mut shadow, mut parts) = look_at_shadow(&mut broken)?;
    if !broken.is_empty() && !repo.distrusts_objects() {
        // Reading the worktree may have recreated lost objects of HEAD in memory.
        repo.distrust_objects();
        broken.clear();
        (shadow, parts) = look_at_shadow(&mut broken)?;
    }
    let head_damage =
        repo.distrusts_objects().then(|| repo.diff_trees(repo.empty_tree_id(), head_tree_id).err()).flatten();
    let changes = |tip| worktree.repo.diff_trees_if_damaged(repo.tree_of_commit(tip)?, worktree.tree_id);
    let unsaved = shadow.as_ref().map(|shadow| if_readable(changes(shadow.tip), &mut broken)).transpose()?.flatten();
    let unsaved = unsaved.map_or_else(|| dirty.clone(), paths);
    let touched = shadow.as_ref().map(|shadow| shadow.touched.as_slice()).unwrap_or_default();
    let overlap = dirty.iter().filter(|path| touched.binary_search(path).is_ok()).cloned().collect();
    let sessions = session_status(context, parts, touched)?;
    let tip = shadow.as_ref().and_then(|shadow| repo.checkpoint(shadow.tip).ok().flatten());
    let side = tip.and_then(|tip| tip.side_id).and_then(|id| repo.read_side(id).ok());
    let unfiltered_before = side.map(|side| side.manifest.unfiltered).unwrap_or_default();
    let verified = if_readable(repo.find_ref(&refname::verified_ref(repo.worktree_id())), &mut broken)?.flatten();
    // `status` has reported already what cannot be read.
    let start = if verified.is_none() { start(repo).ok().flatten() } else { None };
    let archived = if_readable(repo.refs_below(refname::ARCHIVE), &mut broken)?.map_or(0, |refs| refs.len());
    let mut notes = [guard::notes(context), review::notes(context)].concat();
    notes.extend(state::turns::trouble(repo.git_dir()).map(|error| {
        let path = state::turns::path(repo.git_dir());
        format!(
            "'{}' cannot be read ({}), so the open turns are unknown: sessions do not continue, and saves have an unknown \
             author; make it readable, or move it away",
            path.display(),
            error.causes().last().map_or_else(|| error.message().to_owned(), Clone::clone)
        )
    }));
    notes.extend(head_damage.map(|_| {
        "what HEAD leads to cannot all be read: 'git checkpoint doctor' names what is lost, and 'git checkpoint save' keeps \
         what the worktree has all the same"
            .to_owned()
    }));
    let hooks: BTreeMap<String, Health> =
        hooks::health(context)?.into_iter().map(|(hook, health)| (hook.name().into(), health)).collect();
    let are_sound = hooks.values().all(|health| *health == Health::Ok);
    let hooks_without_line = if are_sound { Vec::new() } else { hooks::lines_to_add(context) };
    if !context.settings.enabled && !hooks.is_empty() {
        notes.push(
            "the setting 'enabled' is false, so that hooks do nothing here: 'git checkpoint config list --show-origin' \
             shows where it is set"
                .to_owned(),
        );
    }
    let overlaps = overlaps(context, &worktree, &mut notes)?;
    let inside = LeftOut::find(context, Some(&worktree.cache), &worktree.manifest.nested);
    Ok(Status {
        version: 1,
        worktree: repo.worktree_id().to_string(),
        overlaps,
        head: head.id,
        branch: head.branch.map(|branch| branch.strip_prefix(b"refs/heads/").unwrap_or(&branch).as_bstr().to_string()),
        base,
        overlap,
        dirty,
        unsaved,
        shadow,
        sessions,
        verified,
        start,
        archived,
        skipped: worktree.manifest.skipped.iter().map(SkippedPath::from).collect(),
        unfiltered: UnfilteredPath::list(&worktree.manifest.unfiltered, &unfiltered_before),
        nested: worktree.manifest.nested.into_iter().map(|nested| nested.path).collect(),
        changed_nested: inside.nested,
        submodules: inside.submodules,
        hooks,
        hooks_without_line,
        interrupted_restore: interrupted_restore(repo),
        hidden: !broken.is_empty() && is_hidden(repo, base),
        broken: broken.into_iter().next(),
        last_error: state::events::last_error(repo.common_dir(), &repo.worktree_id().to_string()),
        failed_exchanges: failed_exchanges(repo),
        to_fetch: to_fetch(context)?,
        notes,
        bytes: repo.bytes_held(),
    })
}

/// Returns the remotes with which the last exchange has failed.
fn failed_exchanges(repo: &Repo) -> Vec<FailedExchange> {
    let failures = state::exchanges::failures(repo.common_dir()).into_iter();
    failures.map(|(remote, it)| FailedExchange { remote, time: it.time, message: it.message }).collect()
}

/// Returns what this worktree and others have both changed. If that is not known, adds a note.
fn overlaps(context: &Context, worktree: &Worktree, notes: &mut Vec<String>) -> Result<Vec<Summary>> {
    summaries(context, &worktree.repo, worktree.tree_id, &worktree.manifest).or_else(|error| {
        context.check_interrupt()?;
        notes.push(format!("what other worktrees have changed is not known: {}", error.message()));
        Ok(Vec::new())
    })
}

/// Returns true if the system refuses to read a live shadow.
fn is_hidden(repo: &Repo, base: Base) -> bool {
    let live = shadows::live(repo, base, repo.worktree_id()).unwrap_or_default();
    live.iter().filter_map(|live| why_unreadable(repo, live.id)).any(|error| error.kind() != Kind::Corrupt)
}

/// Returns the target of an interrupted restore. A restore that is still running holds the lock.
fn interrupted_restore(repo: &Repo) -> Option<ObjectId> {
    let journal = Journal::read(repo.git_dir()).ok().flatten().filter(|it| it.progress == Progress::Applying)?;
    let is_running = state::lock::is_held(&state::directory(repo.git_dir()).join("lock"));
    (!is_running).then_some(journal.target)
}

fn paths(changes: Vec<Change>) -> Vec<BString> {
    changes.into_iter().map(|change| change.path).collect()
}

/// Returns what can be read of the live shadows, and adds to `broken` what cannot. `memory` is the same repository, but
/// has in its object memory what was lost and the worktree still has. If sessions have shadows of their own, the one with
/// the latest checkpoint represents all.
fn shadow_status(
    (repo, memory): (&Repo, &Repo),
    base: Base,
    base_tree_id: ObjectId,
    broken: &mut Vec<String>,
) -> Result<(Option<ShadowStatus>, Vec<Part>)> {
    let mut live = if_readable(shadows::live(repo, base, repo.worktree_id()), broken)?.unwrap_or_default();
    broken.extend(live.iter().filter_map(|live| why_unreadable(repo, live.id)).map(|error| error.to_string()));
    live.retain(|live| repo.checkpoint(live.id).is_ok());
    let latest = shadows::latest(repo, &live)?.map(|tip| tip.id);
    let last = live.iter().find(|it| Some(it.id) == latest).or(live.last());
    let Some((r#ref, tip)) = last.map(|live| (live.name.to_ref(), live.id)) else { return Ok((None, Vec::new())) };
    let Stats { checkpoints, tip_time, sessions, broken: uncounted, .. } =
        Stats::of_chains(repo, live.iter().map(|live| live.id))?;
    broken.extend(uncounted);
    let changes = repo.tree_of_commit(tip).and_then(|tree_id| memory.diff_trees_if_damaged(base_tree_id, tree_id));
    let touched = paths(if_readable(changes, broken)?.unwrap_or_default());
    Ok((Some(ShadowStatus { r#ref, tip, checkpoints, tip_time, touched }), sessions))
}

/// Joins what the shadow knows of sessions, the `parts`, with their files.
fn session_status(context: &Context, parts: Vec<Part>, touched: &[BString]) -> Result<Vec<SessionStatus>> {
    let mut joined: Vec<SessionStatus> = parts
        .into_iter()
        .map(|part| SessionStatus {
            touched: part.files(touched),
            id: part.id,
            agent: part.agent,
            model: part.model,
            phase: Phase::Idle,
            turn: part.turn,
            should_reset_shadow: false,
            checkpoints: part.checkpoints,
            last_seen: part.last_seen,
            life: None,
        })
        .collect();
    for session in session_info::all(context)? {
        let at = joined.iter().position(|it| it.id == session.id);
        if at.is_none() && (session.phase == Phase::Ended || !session.is_in(context.repo.worktree_id())) {
            continue;
        }
        let part = at.map(|at| joined.swap_remove(at));
        let (agent, model, checkpoints, touched, last_seen) = match part {
            Some(part) => (part.agent, part.model, part.checkpoints, part.touched, part.last_seen),
            None => (None, None, 0, Vec::new(), session.last_seen),
        };
        joined.push(SessionStatus {
            id: session.id,
            agent: session.agent.or(agent),
            model: session.model.or(model),
            phase: session.phase,
            turn: Some(session.turn.number).filter(|number| *number > 0),
            should_reset_shadow: session.under_way.as_ref().is_some_and(|turn| turn.should_reset_shadow),
            checkpoints,
            touched,
            last_seen: session.last_seen.max(last_seen),
            life: (session.phase != Phase::Ended).then(|| process::life(session.process.as_ref())),
        });
    }
    joined.sort_by(|a, b| b.last_seen.cmp(&a.last_seen).then_with(|| a.id.cmp(&b.id)));
    Ok(joined)
}
