//! `save`: takes a checkpoint of the whole worktree, or of named paths on top of the last one.

mod locking;
mod look;
mod protected;
mod shadow;
mod take;

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use bstr::BString;
use gix::ObjectId;
use serde::Serialize;

use super::{
    Context,
    agents::whose,
    follow::follow_head,
    salvage::{Look, SetAside, set_broken_aside},
    sessions::check_id,
    turn::OpenTurn,
};
use crate::{
    error::{Kind, Result},
    git::{Repo, side::Side, stat_cache::StatCache},
    model::{
        change::Status,
        checkpoint::Origin,
        contributor::Contributor,
        event::Event,
        id_text,
        manifest::{Skipped, Unfiltered},
        path_text,
        refname::{self, Base},
        step::Step,
    },
    state::{self, lock::Lock},
};
use look::{leave_out_unknown_paths, look_at_index, look_at_known, look_at_paths, refuse_unknown_paths};
use take::take;

pub(crate) use locking::{lock, lock_soon, lock_to_write, try_lock};
pub(crate) use look::{Seen, is_changed, limits, look_at_all};
pub(crate) use protected::refuse_protected;
pub(crate) use shadow::Shadow;
pub(crate) use take::{side_commit, write_again};

/// How a checkpoint is to be taken.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The message; the first line is the subject. None: one is made of the changed paths.
    pub message: Option<String>,
    /// Who made the change.
    pub origin: Origin,
    /// Nobody says who made the change: it is the work of the turn under way, if that may be.
    pub is_anybodys: bool,
    /// Look only at these paths (relative to the worktree's root); none: at all.
    pub paths: Option<Vec<BString>>,
    /// Mark it as the verified checkpoint.
    pub verify: bool,
    /// Take it even if nothing has changed.
    pub allow_empty: bool,
    /// Take it even in a protected directory.
    pub force: bool,
}

/// What other operations ask of a save.
#[derive(Clone, Debug, Default)]
pub(crate) struct Demands {
    /// Take it if what is staged differs in any way, so that the index can be put back exactly.
    pub(crate) exact_index: bool,
    /// Take one if no checkpoint holds this state yet, be it the base's.
    pub(crate) must_exist: bool,
    /// Take one if no ref leads to this state yet, neither to a checkpoint of it nor to the base.
    pub(crate) must_be_held: bool,
    /// Look at nothing: this is what has changed since the last checkpoint.
    pub(crate) known: Option<Known>,
    /// Look at the index all the same.
    pub(crate) looks_at_index: bool,
    /// The session in whose turn it is taken, if that is not whose change it is.
    pub(crate) turn_of: Option<String>,
    /// Leave named paths out that are nowhere.
    pub(crate) forgives_unknown_paths: bool,
}

/// What has changed since the last checkpoint.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    /// The steps that were taken.
    pub(crate) steps: Vec<Step>,
    /// The tree whose attributes say which bytes the new content stands for.
    pub(crate) from: ObjectId,
}

/// A path that a checkpoint changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SavedPath {
    /// The path.
    #[serde(flatten, serialize_with = "path_text::serialize_fields")]
    pub path: BString,
    /// What happened to it.
    pub status: Status,
}

/// A path that is not in the checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SkippedPath {
    /// The path.
    #[serde(flatten, serialize_with = "path_text::serialize_fields")]
    pub path: BString,
    /// Why.
    pub reason: &'static str,
    /// Bytes, or the number of files of a directory.
    pub size: u64,
}

impl From<&Skipped> for SkippedPath {
    fn from(skipped: &Skipped) -> Self {
        Self { path: skipped.path.clone(), reason: skipped.reason.as_str(), size: skipped.size }
    }
}

/// A file that was saved as it is, because the filter that git would use for it failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnfilteredPath {
    /// The path.
    #[serde(flatten, serialize_with = "path_text::serialize_fields")]
    pub path: BString,
    /// The name of the filter (gitattributes(5)).
    pub filter: String,
    /// What went wrong; empty if that is not known.
    pub reason: String,
    /// True if the checkpoint before has it otherwise.
    #[serde(rename = "new")]
    pub is_new: bool,
}

impl UnfilteredPath {
    /// Returns those of `files`, of which those in `before` are known.
    pub(crate) fn list(files: &[Unfiltered], before: &[Unfiltered]) -> Vec<Self> {
        let known: BTreeMap<&BString, &String> = before.iter().map(|file| (&file.path, &file.reason)).collect();
        let listed = |file: &Unfiltered| {
            let earlier = known.get(&file.path);
            let reason = earlier.filter(|_| file.reason.is_empty()).map_or(&file.reason, |reason| *reason).clone();
            let (path, filter) = (file.path.clone(), file.filter.to_string());
            Self { path, filter, reason, is_new: earlier.is_none() }
        };
        files.iter().map(listed).collect()
    }
}

/// The result of a save.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Saved {
    /// The version of this shape.
    pub version: u32,
    /// The checkpoint that holds the state of the worktree; none if the base does.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub id: Option<ObjectId>,
    /// The checkpoint before, or the base commit; none on an unborn branch without checkpoints.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub parent: Option<ObjectId>,
    /// The worktree's content.
    #[serde(serialize_with = "id_text::serialize")]
    pub tree: ObjectId,
    /// The commit that the shadow stands on.
    pub base: Base,
    /// The shadow's ref.
    pub r#ref: String,
    /// True if a checkpoint was taken; false if nothing has changed.
    pub created: bool,
    /// Who made the change.
    pub contributor: Contributor,
    /// The agent's session.
    pub session: Option<String>,
    /// The turn of the session.
    pub turn: Option<u32>,
    /// What changed since the checkpoint before.
    pub paths: Vec<SavedPath>,
    /// What is not in the checkpoint.
    pub skipped: Vec<SkippedPath>,
    /// Files that filters failed for, so that they are saved as they are.
    pub unfiltered: Vec<UnfilteredPath>,
    /// True if it is the verified checkpoint.
    pub verified: bool,
    /// True if a shadow was set aside before.
    pub reset: bool,
    /// Broken shadows of which what can be read was set aside before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub broken: Vec<SetAside>,
    /// How long it took.
    pub duration_ms: u64,
}

/// A save together with what it saw.
pub(crate) struct Taken {
    pub(crate) saved: Saved,
    /// What every path was; only after a pass over the whole worktree.
    pub(crate) cache: Option<StatCache>,
    /// What the tree cannot say.
    pub(crate) side: Side,
}

/// Takes a checkpoint.
///
/// # Errors
/// [`Kind::User`] if the session's id is none; [`Kind::Refused`] in a protected directory; [`Kind::Race`] if another process holds the lock for too long. No id is
/// ever returned for a save that failed.
pub fn save(context: &Context, options: &Options) -> Result<Saved> {
    let checked = options.origin.session.as_deref().map_or(Ok(()), check_id);
    let taken = checked.and_then(|()| refuse_protected(context, options.force)).and_then(|()| {
        context.forget_broken();
        let lock = lock_to_write(context)?;
        save_under_lock(context, options, &Demands { must_be_held: true, ..Demands::default() }, &lock)
    });
    context.tell_failure("save", taken).map(|taken| taken.saved)
}

/// Takes a checkpoint while `lock` is held. Where objects are missing that were not looked for at first, it sets the chain
/// aside that leads to them; where some were removed meanwhile, it begins anew: both once.
pub(crate) fn save_under_lock(context: &Context, options: &Options, demands: &Demands, lock: &Lock) -> Result<Taken> {
    match try_save(context, options, demands, lock) {
        Err(error) if error.kind() == Kind::Corrupt => {
            if set_broken_aside(context, Look::BehindTip, lock)?.is_empty() {
                // What is missing may be in no chain, but in what a cache or the index relies on.
                context.repo.grow_wary();
            }
            try_save(context, options, demands, lock).map_err(|again| again.with_cause(error))
        }
        Err(error) if error.kind() == Kind::Race => try_save(context, options, demands, lock),
        taken => taken,
    }
}

fn try_save(context: &Context, options: &Options, demands: &Demands, lock: &Lock) -> Result<Taken> {
    let start = Instant::now();
    let repo = &context.repo;
    follow_head(context, lock)?;
    let options = &mut options.clone();
    if options.is_anybodys {
        options.origin = whose::unsaved(context)?;
    }
    let turn_of = demands.turn_of.as_deref().or(options.origin.session.as_deref());
    let mut turn = OpenTurn::of(context, turn_of)?;
    let shadow = match &mut turn {
        Some(turn) => turn.enter(context, options)?,
        None => Shadow::read_for(context, options.origin.session.as_deref())?,
    };
    if shadow.tip.is_none() && !context.broken().is_empty() {
        // No live checkpoint has the other paths any more.
        options.paths = None;
    }
    if let Some(paths) = options.paths.as_mut().filter(|_| demands.forgives_unknown_paths) {
        leave_out_unknown_paths(repo, paths, &shadow)?;
    }
    let (mut seen, objects) = match (&options.paths, &shadow.tip, &demands.known) {
        (None, Some(tip), Some(known)) => {
            let (mut seen, mut objects) = look_at_known(repo, known, tip, shadow.tip_side.clone().unwrap_or_default())?;
            if demands.looks_at_index {
                look_at_index(repo, &shadow, &mut seen, &mut objects)?;
            }
            (seen, objects)
        }
        // The root stands for everything.
        (Some(paths), ..) if !paths.iter().any(|path| path.is_empty()) => look_at_paths(context, paths, &shadow)?,
        (Some(paths), ..) => {
            refuse_unknown_paths(context, paths, &shadow)?;
            look_at_all(context, &shadow, lock)?
        }
        _ => look_at_all(context, &shadow, lock)?,
    };
    let (took, skipped) = (start.elapsed(), seen.skipped.len());
    tracing::debug!(?took, tree = %seen.tree_id, skipped, "walk: have looked at the worktree");
    let is_changed = is_changed(repo, &shadow, &seen, demands, &objects)?;
    // The base itself cannot be marked.
    let must_exist = demands.must_exist || options.verify;
    let is_missing = shadow.held_tip().is_none() && (must_exist || demands.must_be_held && shadow.tip.is_some());
    let saved = if is_changed || options.allow_empty || is_missing {
        let saved = take(context, options, demands, &shadow, &seen, objects, (start, lock))?;
        tell(context, &saved, &shadow);
        if let Some(turn) = turn {
            turn.took_checkpoint(context);
        }
        saved
    } else {
        if repo.is_wary() {
            // The last checkpoint has the same tree, and some of it may have been missing.
            objects.write()?.settle()?;
        }
        unchanged(context, options, &shadow, &seen, start)?
    };
    let folding = Instant::now();
    repo.fold_if_due();
    tracing::debug!(took = ?folding.elapsed(), "fold: have put old objects into packs where due");
    store_cache(repo, &mut seen, saved.id);
    Ok(Taken { saved, cache: seen.cache.map(|(cache, _)| cache), side: seen.side })
}

/// Keeps what every path was for the next pass; `anchor` is the checkpoint that holds the content.
pub(crate) fn store_cache(repo: &Repo, seen: &mut Seen, anchor: Option<ObjectId>) {
    if let Some((cache, true)) = &mut seen.cache {
        cache.anchor = anchor;
        let stored = cache_path(repo).and_then(|path| cache.store(&path, repo.object_hash()));
        if let Err(error) = stored {
            // What was saved is saved; the next pass reads more than it had to.
            tracing::warn!(%error, "stat cache not stored");
        }
    }
}

pub(crate) fn cache_path(repo: &Repo) -> Result<std::path::PathBuf> {
    Ok(state::ensure_directory(repo.git_dir())?.join("index"))
}

fn unchanged(context: &Context, options: &Options, shadow: &Shadow, seen: &Seen, start: Instant) -> Result<Saved> {
    let id = shadow.held_tip();
    if let (true, Some(id)) = (options.verify, id) {
        super::verify::mark_by_hand(context, id)?;
    }
    let verified_id = context.repo.find_ref(&refname::verified_ref(context.repo.worktree_id()))?;
    Ok(Saved {
        version: 1,
        id,
        parent: shadow.tip.as_ref().map(|tip| tip.parent_id).or(shadow.name.base.commit_id()),
        tree: seen.tree_id,
        base: shadow.name.base,
        r#ref: shadow.name.to_ref(),
        created: false,
        contributor: options.origin.contributor,
        session: options.origin.session.clone(),
        turn: options.origin.turn,
        paths: Vec::new(),
        skipped: seen.skipped.iter().map(SkippedPath::from).collect(),
        unfiltered: UnfilteredPath::list(&seen.side.manifest.unfiltered, shadow.unfiltered()),
        verified: id.is_some() && verified_id == id,
        reset: false,
        broken: context.broken(),
        duration_ms: milliseconds(start.elapsed()),
    })
}

fn tell(context: &Context, saved: &Saved, shadow: &Shadow) {
    let worktree = shadow.name.worktree.to_string();
    if shadow.expected.is_none() {
        let (base, created, duration_ms) = (saved.base.to_string(), true, saved.duration_ms);
        context.emit(&Event::Initialize { worktree, base, created, duration_ms });
    }
    let text = |id: Option<ObjectId>| id.map(|id| id.to_string()).unwrap_or_default();
    context.emit(&Event::Checkpoint {
        from: text(saved.parent),
        to: text(saved.id),
        contributor: saved.contributor.as_str().into(),
        session: saved.session.clone(),
        paths: saved.paths.len(),
        verified: saved.verified,
        duration_ms: saved.duration_ms,
    });
    if !saved.skipped.is_empty() {
        context.emit(&Event::Skip { paths: saved.skipped.len(), to: saved.id.map(|id| id.to_string()) });
    }
}

pub(crate) fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
