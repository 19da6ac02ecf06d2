//! Moves the live shadow to the archive, lists the archive, and makes an archived shadow live again. Never touches
//! files.

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;
use serde::Serialize;

use super::{
    Context, Worktree,
    called::called,
    chain::{
        archive::{archive_name, count, emit_reset, to_archive},
        peek::worktree_tree,
        shadows::{self, Live},
        timeline::{self, Tip},
    },
    closing::close_turn,
    enter::Purpose,
    guard,
    known_base::known_base,
    lookup,
    salvage::{self, Look},
    session_info::{self, find_or_rebuild},
    sessions::State,
    turn::{self, EndReason, pending_of},
};
use crate::{
    config::Storage,
    error::{Error, Kind, Result},
    git::{Repo, refs::RefUpdate},
    model::{
        event::Event,
        id_text, moment, path_text,
        refname::{self, Base},
        session::{Phase, Session},
        set_aside::SetAside,
        turns::EndEvidence,
    },
};

/// How to reset.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Even while a session is active.
    pub force: bool,
    /// Only report what would happen.
    pub dry_run: bool,
}

/// A shadow set aside. Serializes to what `reset --json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ResetDone {
    /// The version of the JSON format.
    pub version: u32,
    /// The ref that held it.
    pub shadow: String,
    /// The ref that holds it now. None in a dry run if something would be saved first.
    pub archive: Option<String>,
    /// The refs that hold the other sessions' own shadows now, which were set aside with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// Its last checkpoint. None as `archive` is.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub tip: Option<ObjectId>,
    /// Its base commit.
    pub base: Base,
    /// How many checkpoints it holds.
    pub checkpoints: usize,
    /// True if nothing was done.
    pub dry_run: bool,
    /// What was saved first for sessions whose process is dead, or would be, in words.
    #[serde(skip)]
    pub notes: Vec<String>,
}

/// A session whose planned reset was cancelled. Serializes to what `reset --session --json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GivenUp {
    /// The version of the JSON format.
    pub version: u32,
    /// The session.
    pub session: State,
    /// The ref that holds the session's own shadow now, if it had one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archive: Option<String>,
    /// True if nothing was done.
    pub dry_run: bool,
}

/// A shadow in the archive. Serializes to an item of `reset --list --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Archived {
    /// The name with which `reset --restore-archived` finds it: the ref without its prefix.
    pub name: String,
    /// The ref.
    pub r#ref: String,
    /// When it was set aside, in ISO 8601.
    #[serde(rename = "archived")]
    pub time: String,
    /// The same in Unix seconds.
    #[serde(skip)]
    pub seconds: i64,
    /// Its last checkpoint.
    #[serde(serialize_with = "id_text::serialize")]
    pub tip: ObjectId,
    /// The subject of that checkpoint.
    pub subject: String,
    /// What it is called for people.
    #[serde(skip)]
    pub called: String,
    /// Its base commit.
    pub base: Option<Base>,
    /// The worktree it belongs to.
    #[serde(serialize_with = "path_text::serialize")]
    pub worktree: BString,
    /// How many checkpoints it holds.
    pub checkpoints: usize,
}

/// Moves the live shadow of this worktree on HEAD to the archive, together with the sessions' own shadows there.
///
/// # Errors
/// [`Kind::Refused`] if there is none, or if a session has an open turn in this worktree.
pub fn reset(context: &Context, options: &Options) -> Result<ResetDone> {
    context.repo.name_operation("reset");
    context.emit_failure("reset", set_aside(context, options))
}

fn set_aside(context: &Context, options: &Options) -> Result<ResetDone> {
    let repo = &context.repo;
    context.forget_broken();
    let worktree = Worktree::enter(context, Purpose::unless_dry(options.dry_run))?;
    let base = Base::of_head(repo.head()?.id);
    if !options.dry_run {
        // Archived shadows must be readable.
        salvage::set_broken_aside(&worktree, Look::BehindTip)?;
    }
    // What a dead session has left unsaved belongs to what is set aside.
    let mut notes = if options.dry_run { Vec::new() } else { guard::recover(&worktree, "")? };
    let mut live = live_shadows(context, options.dry_run)?;
    let latest = shadows::latest(repo, &live)?.map(|tip| tip.id);
    if options.dry_run {
        let would_be = guard::would_be_saved(context);
        notes = if would_be.is_empty() || is_unsaved(context, latest)? { would_be } else { Vec::new() };
    }
    let saves_first = options.dry_run && !notes.is_empty();
    live.sort_by_key(|live| Some(live.id) == latest);
    if live.is_empty() && !saves_first {
        if let Some(done) = context.broken().pop() {
            return Ok(ResetDone::of_broken(done, base));
        }
        return Err(Error::refused("this worktree has no checkpoint on HEAD to set aside")
            .with_hint("'git checkpoint list' shows those on other commits"));
    }
    if !options.force {
        refuse_active(context)?;
    }
    let checkpoints = live.iter().map(|live| count(repo, live.id)).sum::<usize>() + usize::from(saves_first);
    let (mut updates, mut archives) = (Vec::new(), Vec::new());
    for live in &live {
        archives.push(archive_name(repo, live.id)?);
        updates.extend(to_archive(live, archives.last().cloned().unwrap_or_default()));
    }
    let (archive, also) = (archives.pop().filter(|_| !saves_first), archives);
    let last = live.pop();
    let tip = last.as_ref().map(|live| live.id).filter(|_| !saves_first);
    if let (Some(archive), Some(tip), false) = (&archive, tip, options.dry_run) {
        repo.update_refs(&updates)?;
        context.emit(&Event::Reset { archive: archive.clone(), tip: tip.to_string(), checkpoints });
    }
    let name = last.map_or_else(|| shadows::name_for(context, base, None), |live| live.name);
    let (shadow, dry_run) = (name.to_ref(), options.dry_run);
    Ok(ResetDone { version: 1, shadow, archive, also, tip, base, checkpoints, dry_run, notes })
}

/// Returns true if the files or the index differ from the checkpoint `latest`, or from HEAD without one.
fn is_unsaved(context: &Context, latest: Option<ObjectId>) -> Result<bool> {
    let (seen, repo) = (worktree_tree(context)?, &context.repo);
    let (tree_id, index_tree_id) = match (latest, repo.head()?.id) {
        (Some(latest), _) => {
            let checkpoint = lookup::checkpoint(context, latest)?;
            let side = checkpoint.side_id.map(|id| repo.read_side(id)).transpose()?;
            (checkpoint.tree_id, side.and_then(|side| side.index_tree_id))
        }
        (None, Some(head)) => (repo.tree_of_commit(head)?, None),
        (None, None) => (repo.empty_tree_id(), None),
    };
    // What was staged is what HEAD has, if the checkpoint says nothing else.
    Ok(seen.tree_id != tree_id || index_tree_id.is_some_and(|id| id != seen.index_tree_id))
}

impl ResetDone {
    /// Returns the result for a broken shadow, which was set aside before.
    fn of_broken(done: SetAside, base: Base) -> Self {
        let SetAside { shadow, tip, archive, last, checkpoints, .. } = done;
        let tip = last.unwrap_or(tip);
        let (tip, also) = (Some(tip), Vec::new());
        Self { version: 1, shadow, archive, also, tip, base, checkpoints, dry_run: false, notes: Vec::new() }
    }
}

/// Refuses while a session that is not dead has an open turn here: its next checkpoint builds on the ones before, also after HEAD
/// has moved.
fn refuse_active(context: &Context) -> Result<()> {
    let Some(session) = session_info::lasting_turns(context)?.into_iter().next() else { return Ok(()) };
    Err(Error::refused(format!("the session '{}' has a turn under way", session.id)).with_hint(format!(
        "'git checkpoint session stop {0}' ends it; '--force' sets the shadow aside all the same, '--session {0}' only what \
         the session was about to do",
        path_text::shell_word(&session.id)
    )))
}

/// Returns the live shadows of this worktree on HEAD. A dry run does not follow HEAD: those that it would carry there first.
fn live_shadows(context: &Context, dry_run: bool) -> Result<Vec<Live>> {
    let repo = &context.repo;
    let live = shadows::live(repo, Base::of_head(repo.head()?.id), repo.worktree_id())?;
    match known_base(context).filter(|_| dry_run && live.is_empty()) {
        Some(known) => shadows::live(repo, known, repo.worktree_id()),
        None => Ok(live),
    }
}

/// Cancels the reset that the open turn of the session `id` planned for its first checkpoint, and drops the baseline of the turn.
///
/// Archives the session's own shadow on HEAD, if it has one; other checkpoints stay.
///
/// # Errors
/// [`Kind::Refused`] if the session is unknown here, or has nothing to cancel.
pub fn give_up(context: &Context, id: &str, dry_run: bool) -> Result<GivenUp> {
    context.emit_failure("reset", session_info::whole_id(context, id).and_then(|id| drop_claim(context, &id, dry_run)))
}

fn drop_claim(context: &Context, id: &str, dry_run: bool) -> Result<GivenUp> {
    let repo = &context.repo;
    let worktree = Worktree::enter(context, Purpose::unless_dry(dry_run))?;
    worktree.check_turns()?;
    let session = find_or_rebuild(context, id)?.filter(|session| session.is_in(repo.worktree_id()));
    let has_pending = pending_of(repo, id)?.is_some();
    let open = worktree.turns().turn_of(id).cloned();
    let is_own = |live: &Live| live.name.session.as_deref() == Some(id);
    let mut own = live_shadows(context, dry_run)?.into_iter().find(is_own);
    let has_claim = |session: &Session| session.phase == Phase::Active || has_pending || own.is_some();
    let Some(mut session) = session.filter(has_claim) else {
        return Err(Error::refused(format!("the session '{id}' has no open turn and no checkpoints here"))
            .with_hint("'git checkpoint session list' shows the sessions"));
    };
    if let Some(mut open) = open.filter(|_| !dry_run) {
        // What the turn has left unsaved must not become a person's. To set nothing aside, it need not be saved.
        open.should_reset_shadow = false;
        worktree.edit_turns(|turns| turns.set_turn(id, Some(&open)));
        drop(worktree.emit_failure("save", close_turn(&worktree, &mut session, EndEvidence::Inferred)));
        own = live_shadows(context, dry_run)?.into_iter().find(is_own);
    }
    session.phase = turn::phase_after(session.phase, EndReason::Reset);
    let archive = own.as_ref().map(|own| archive_name(repo, own.id)).transpose()?;
    if !dry_run {
        if let (Some(own), Some(archive)) = (&own, archive.clone()) {
            repo.update_refs(&to_archive(own, archive.clone()))?;
            emit_reset(context, archive, own.id);
        }
        turn::end(&worktree, &mut session, EndReason::Reset, None)?;
        session_info::store(&worktree, &session)?;
        turn::write(&worktree)?;
    }
    Ok(GivenUp { version: 1, session: State::from(&session), archive, dry_run })
}

/// Returns the shadows in the archive, of all worktrees, those set aside last first.
pub fn list_archived(context: &Context) -> Result<Vec<Archived>> {
    let repo = &context.repo;
    let tips = timeline::archived_tips(repo, None)?;
    tips.into_iter().rev().map(|tip| archived(repo, tip)).collect()
}

fn archived(repo: &Repo, tip: Tip) -> Result<Archived> {
    let checkpoint = repo.find_checkpoint(tip.id)?;
    let seconds = refname::archived_at(&tip.name).unwrap_or_default();
    let called = checkpoint.as_ref().map(|it| called(repo, it)).unwrap_or_default();
    let (subject, base, worktree) = checkpoint.map(|it| (it.subject, Some(it.base), it.worktree)).unwrap_or_default();
    Ok(Archived {
        name: short(&tip.name).to_owned(),
        time: moment::iso(seconds, 0),
        seconds,
        subject,
        called,
        base,
        worktree,
        checkpoints: count(repo, tip.id),
        tip: tip.id,
        r#ref: tip.name,
    })
}

fn short(archive: &str) -> &str {
    archive.strip_prefix(refname::ARCHIVE).unwrap_or(archive)
}

/// Makes the archived shadow that `text` names live again: by its name in the archive, or by any of its checkpoints.
///
/// The result describes the archived shadow; its `shadow` is the new live ref.
///
/// # Errors
/// [`Kind::Refused`] if a live shadow is in its place, or if it belongs to another worktree.
pub fn restore_archived(context: &Context, text: &str) -> Result<ResetDone> {
    context.repo.name_operation("reset");
    context.emit_failure("restore-archived", bring_back(context, text))
}

fn bring_back(context: &Context, text: &str) -> Result<ResetDone> {
    let repo = &context.repo;
    let _worktree = Worktree::enter(context, Purpose::Change)?;
    let tip = find_archived(context, text)?;
    let checkpoint = lookup::checkpoint(context, tip.id)?;
    if checkpoint.worktree != repo.worktree_id() {
        let worktree = path_text::printable(checkpoint.worktree.as_bstr());
        return Err(Error::refused(format!("'{}' belongs to the worktree '{worktree}'", short(&tip.name)))
            .with_hint("run it there; 'git checkpoint restore <id>' brings its files here"));
    }
    // If sessions have shadows of their own, only the same session's live shadow is in the way.
    let name = shadows::name_for(context, checkpoint.base, checkpoint.origin.session.as_deref());
    let live = shadows::live(repo, checkpoint.base, repo.worktree_id())?;
    let shadow = name.to_ref();
    if live.iter().any(|live| context.settings.storage == Storage::Worktree || live.name == name) {
        return Err(Error::refused(format!("there is a live shadow on '{}' already", checkpoint.base))
            .with_hint("'git checkpoint reset' sets it aside first"));
    }
    repo.update_refs(&[
        RefUpdate { name: shadow.clone(), old: None, new: Some(tip.id) },
        RefUpdate { name: tip.name.clone(), old: Some(tip.id), new: None },
    ])?;
    let checkpoints = count(repo, tip.id);
    context.emit(&Event::RestoreArchived { archive: tip.name.clone(), tip: tip.id.to_string(), checkpoints });
    Ok(ResetDone {
        version: 1,
        shadow,
        archive: Some(tip.name),
        also: Vec::new(),
        tip: Some(tip.id),
        base: checkpoint.base,
        checkpoints,
        dry_run: false,
        notes: Vec::new(),
    })
}

fn find_archived(context: &Context, text: &str) -> Result<Tip> {
    let repo = &context.repo;
    let tips = timeline::archived_tips(repo, None)?;
    if let Some(tip) = tips.iter().find(|tip| tip.name == text || short(&tip.name) == text) {
        return Ok(tip.clone());
    }
    let none = || {
        Error::user(format!("no shadow in the archive matches '{text}'"))
            .with_hint("'git checkpoint reset --list' shows them")
    };
    let id = match lookup::resolve(context, text) {
        Ok(id) => id,
        Err(error) if error.kind() == Kind::User && !error.message().contains("ambiguous") => return Err(none()),
        Err(error) => return Err(error),
    };
    for tip in tips {
        for checkpoint in repo.chain(tip.id) {
            if checkpoint?.id == id {
                return Ok(tip);
            }
        }
    }
    Err(none())
}
