//! `save`: takes a checkpoint of the whole worktree, or of named paths on top of the last one.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use bstr::{BStr, BString, ByteSlice as _};
use gix::ObjectId;
use serde::Serialize;

use super::Context;
use crate::{
    error::{Error, Kind, Result},
    git::{
        Repo,
        commit::{Identity, NewCommit},
        named::named_paths,
        new_objects::{NewObjects, Target},
        refs::RefUpdate,
        side::{Side, tree_of_blobs, tree_of_unmerged, write_side_tree},
        snapshot::{edit_tree, full_pass},
        stat_cache::StatCache,
        untracked::Limits,
    },
    model::{
        change::{Change, Status},
        checkpoint::{self, Checkpoint, Origin},
        contributor::Contributor,
        event::Event,
        manifest::Skipped,
        path_text,
        refname::{self, Base, ShadowName},
    },
    state::{self, lock::Lock},
};

/// How a checkpoint is to be taken.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The message; the first line is the subject. None: one is made of the changed paths.
    pub message: Option<String>,
    /// Who made the change.
    pub origin: Origin,
    /// Look only at these paths (relative to the worktree's root); none: at all.
    pub paths: Option<Vec<BString>>,
    /// Mark it as the verified checkpoint.
    pub verify: bool,
    /// Take it even if nothing has changed.
    pub allow_empty: bool,
    /// Take it even in a protected directory.
    pub force: bool,
    /// Take it if what is staged differs in any way, so that the index can be put back exactly.
    pub(crate) exact_index: bool,
    /// Take one if no checkpoint holds this state yet, be it the base's.
    pub(crate) must_exist: bool,
}

/// A path that a checkpoint changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SavedPath {
    /// The path.
    #[serde(serialize_with = "path_text::serialize")]
    pub path: BString,
    /// What happened to it.
    pub status: Status,
}

/// A path that is not in the checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SkippedPath {
    /// The path.
    #[serde(serialize_with = "path_text::serialize")]
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

/// The result of a save.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Saved {
    /// The version of this shape.
    pub version: u32,
    /// The checkpoint that holds the state of the worktree; none if the base does.
    #[serde(serialize_with = "serialize_id")]
    pub id: Option<ObjectId>,
    /// The checkpoint before, or the base commit; none on an unborn branch without checkpoints.
    #[serde(serialize_with = "serialize_id")]
    pub parent: Option<ObjectId>,
    /// The worktree's content.
    #[serde(serialize_with = "serialize_display")]
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
    /// True if it is the verified checkpoint.
    pub verified: bool,
    /// True if a shadow was set aside before.
    pub reset: bool,
    /// How long it took.
    pub duration_ms: u64,
}

pub(crate) fn serialize_id<S: serde::Serializer>(id: &Option<ObjectId>, serializer: S) -> Result<S::Ok, S::Error> {
    id.map(|id| id.to_string()).serialize(serializer)
}

pub(crate) fn serialize_display<S: serde::Serializer>(id: &ObjectId, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(id)
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
/// [`Kind::Refused`] in a protected directory; [`Kind::Race`] if another process holds the lock for too long. No id is
/// ever returned for a save that failed.
pub fn save(context: &Context, options: &Options) -> Result<Saved> {
    let taken = refuse_protected(context, options.force).and_then(|()| {
        let lock = lock(context)?;
        save_under_lock(context, options, &lock)
    });
    match taken {
        Ok(taken) => Ok(taken.saved),
        Err(error) => {
            context.emit(&Event::Error { operation: "save".into(), message: error.to_string() });
            Err(error)
        }
    }
}

/// Takes the lock of this worktree's checkpoints.
pub(crate) fn lock(context: &Context) -> Result<Lock> {
    let directory = state::ensure_directory(context.repo.git_dir())?;
    Lock::acquire(&directory.join("lock"), context.settings.lock_timeout)
}

/// Refuses directories that are too much to be one project: `/`, the home directory and what is above it, and those
/// that the settings name.
pub(crate) fn refuse_protected(context: &Context, force: bool) -> Result<()> {
    let root = context.repo.worktree_root();
    let home = context.repo.home_dir().map(|home| std::fs::canonicalize(&home).unwrap_or(home));
    let is_above_home = home.as_deref().is_some_and(|home| home.starts_with(root));
    let is_listed = context.settings.save.protected_paths.iter().any(|path| {
        let path = match (path.strip_prefix("~"), &home) {
            (Ok(rest), Some(home)) => home.join(rest),
            _ => path.clone(),
        };
        std::fs::canonicalize(&path).unwrap_or(path) == root
    });
    if force || !(root == Path::new("/") || is_above_home || is_listed) {
        return Ok(());
    }
    let root = path_text::printable(root.to_string_lossy().as_bytes().as_bstr());
    Err(Error::refused(format!("refusing to checkpoint the protected directory '{root}'"))
        .with_hint("run it in a project below, or add '--force' if all of this is one project"))
}

/// The state of a shadow when a save begins.
struct Shadow {
    name: ShadowName,
    tip: Option<Checkpoint>,
    tip_side: Option<Side>,
    head_tree_id: ObjectId,
}

impl Shadow {
    fn read(repo: &Repo) -> Result<Self> {
        let head = repo.head()?.id;
        let name = ShadowName { base: Base::of_head(head), worktree: repo.worktree_id().to_owned() };
        let reference = name.to_ref();
        let tip = match repo.find_ref(&reference)? {
            Some(id) => Some(repo.checkpoint(id)?.ok_or_else(|| {
                Error::corrupt(format!("'{reference}' points to '{id}', which is no checkpoint"))
                    .with_hint("'git checkpoint reset' sets it aside and begins afresh")
            })?),
            None => None,
        };
        let tip_side = tip.as_ref().and_then(|tip| tip.side_id).map(|id| repo.read_side(id)).transpose()?;
        let head_tree_id = head.map_or_else(|| Ok(repo.empty_tree_id()), |id| repo.tree_of_commit(id))?;
        Ok(Self { name, tip, tip_side, head_tree_id })
    }

    /// Returns the tree that the next checkpoint is compared with.
    fn last_tree_id(&self) -> ObjectId {
        self.tip.as_ref().map_or(self.head_tree_id, |tip| tip.tree_id)
    }
}

/// What the worktree is now.
struct Seen {
    tree_id: ObjectId,
    side: Side,
    /// The staged tree.
    index_tree_id: Option<ObjectId>,
    cache: Option<(StatCache, bool)>,
    /// Only what this save looked at.
    skipped: Vec<Skipped>,
}

/// Takes a checkpoint while `_lock` is held.
pub(crate) fn save_under_lock(context: &Context, options: &Options, _lock: &Lock) -> Result<Taken> {
    let start = Instant::now();
    let repo = &context.repo;
    let shadow = Shadow::read(repo)?;
    let (seen, objects) = match (&options.paths, &shadow.tip) {
        (Some(paths), Some(tip)) => look_at_paths(context, paths, tip, shadow.tip_side.clone().unwrap_or_default())?,
        _ => look_at_all(context, &shadow)?,
    };
    let is_changed = is_changed(repo, &shadow, &seen, options, &objects)?;
    let must_exist = options.must_exist && shadow.tip.is_none();
    let saved = if is_changed || options.allow_empty || must_exist {
        let saved = take(context, options, &shadow, &seen, objects, start)?;
        tell(context, &saved, &shadow);
        saved
    } else {
        unchanged(context, options, &shadow, &seen, start)?
    };
    repo.fold_if_due();
    if let Some((cache, true)) = &seen.cache {
        let stored = cache.store(&cache_path(repo)?, repo.object_hash());
        if let Err(error) = stored {
            // The checkpoint is taken; the next pass reads more than it had to.
            tracing::warn!(%error, "stat cache not stored");
        }
    }
    Ok(Taken { saved, cache: seen.cache.map(|(cache, _)| cache), side: seen.side })
}

pub(crate) fn cache_path(repo: &Repo) -> Result<std::path::PathBuf> {
    Ok(state::ensure_directory(repo.git_dir())?.join("index"))
}

/// Returns the limits that the settings and the disk set.
pub(crate) fn limits(context: &Context) -> Limits {
    let save = &context.settings.save;
    Limits {
        max_file_size: save.max_file_size,
        max_untracked_files: save.max_untracked_files,
        is_disk_low: context.repo.free_space().is_some_and(|free| free < save.min_free_space),
        exclude: save.exclude.clone(),
    }
}

fn look_at_all<'r>(context: &'r Context, shadow: &Shadow) -> Result<(Seen, NewObjects<'r>)> {
    let repo = &context.repo;
    let limits = limits(context);
    let cache = StatCache::load(&cache_path(repo)?, repo.object_hash());
    let (snapshot, mut objects) = match full_pass(repo, &limits, cache.as_ref(), false) {
        // What the cache relies on may have been pruned.
        Err(error) if error.kind() == Kind::Corrupt && cache.is_some() => full_pass(repo, &limits, None, false)?,
        other => other?,
    };
    let raw_tree_id = tree_of_blobs(repo, snapshot.raw_paths(), &mut objects)?;
    let unmerged_tree_id = tree_of_unmerged(repo, &snapshot.manifest, &mut objects)?;
    let index_tree_id = (snapshot.index_tree_id != shadow.head_tree_id).then_some(snapshot.index_tree_id);
    let skipped = snapshot.manifest.skipped.clone();
    let side = Side { index_tree_id, raw_tree_id, unmerged_tree_id, manifest: snapshot.manifest };
    let cache = Some((snapshot.cache, snapshot.is_cache_new));
    Ok((Seen { tree_id: snapshot.tree_id, side, index_tree_id: Some(snapshot.index_tree_id), cache, skipped }, objects))
}

fn look_at_paths<'r>(
    context: &'r Context,
    paths: &[BString],
    tip: &Checkpoint,
    mut side: Side,
) -> Result<(Seen, NewObjects<'r>)> {
    let repo = &context.repo;
    let mut objects = NewObjects::new(repo, Target::Loose);
    let named = named_paths(repo, tip.tree_id, paths, &limits(context), &mut objects)?;
    let tree_id = edit_tree(tip.tree_id, &named.edits, &mut objects)?;
    if side.raw_tree_id.is_some() || named.raw_edits.iter().any(|(_, edit)| edit.is_some()) {
        let empty = repo.empty_tree_id();
        let raw_tree_id = edit_tree(side.raw_tree_id.unwrap_or(empty), &named.raw_edits, &mut objects)?;
        side.raw_tree_id = (raw_tree_id != empty).then_some(raw_tree_id);
    }
    let is_named = |path: &BStr| {
        let covers = |named: &BString| {
            path.strip_prefix(named.as_slice()).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
        };
        paths.iter().any(covers)
    };
    side.manifest.skipped.retain(|skipped| !is_named(skipped.path.as_bstr()));
    side.manifest.skipped.extend(named.skipped.iter().cloned());
    Ok((Seen { tree_id, side, index_tree_id: None, cache: None, skipped: named.skipped }, objects))
}

/// Returns true if the worktree holds bytes, or the index content, that the last checkpoint does not.
fn is_changed(repo: &Repo, shadow: &Shadow, seen: &Seen, options: &Options, objects: &NewObjects<'_>) -> Result<bool> {
    let last_raw = shadow.tip_side.as_ref().and_then(|side| side.raw_tree_id);
    if seen.tree_id != shadow.last_tree_id() || seen.side.raw_tree_id != last_raw {
        return Ok(true);
    }
    let Some(index_tree_id) = seen.index_tree_id else { return Ok(false) };
    let last_index = shadow.tip_side.as_ref().and_then(|side| side.index_tree_id);
    let last_unmerged = shadow.tip_side.as_ref().and_then(|side| side.unmerged_tree_id);
    if seen.side.index_tree_id == last_index && seen.side.unmerged_tree_id == last_unmerged {
        return Ok(false);
    }
    if options.exact_index || seen.side.unmerged_tree_id.is_some() {
        return Ok(true);
    }
    // Staging what the worktree holds anyway is no reason for a checkpoint; content that only the index has is one.
    let staged = objects.changes_of_trees(shadow.head_tree_id, index_tree_id)?;
    for change in staged {
        let Some(leaf) = change.after else { continue };
        if repo.find_leaf(seen.tree_id, change.path.as_bstr())?.is_none_or(|held| held.id != leaf.id) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn unchanged(context: &Context, options: &Options, shadow: &Shadow, seen: &Seen, start: Instant) -> Result<Saved> {
    let id = shadow.tip.as_ref().map(|tip| tip.id);
    if let (true, Some(id)) = (options.verify, id) {
        super::verify::mark(context, id)?;
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
        verified: id.is_some() && verified_id == id,
        reset: false,
        duration_ms: milliseconds(start.elapsed()),
    })
}

/// Writes objects, then the commit, then moves the refs: a crash leaves the state before, or after.
fn take(
    context: &Context,
    options: &Options,
    shadow: &Shadow,
    seen: &Seen,
    mut objects: NewObjects<'_>,
    start: Instant,
) -> Result<Saved> {
    let repo = &context.repo;
    let side_tree_id = write_side_tree(&seen.side, &mut objects)?;
    state::failpoint::hit("save:before-objects");
    objects.write()?;
    state::failpoint::hit("save:after-objects");
    let changes = repo.diff_trees(shadow.last_tree_id(), seen.tree_id)?;
    let mut commits = NewObjects::new(repo, Target::Loose);
    let parent_id = match (&shadow.tip, shadow.name.base) {
        (Some(tip), _) => tip.id,
        (None, Base::Commit(id)) => id,
        (None, Base::Unborn) => repo.write_unborn_base(&mut commits)?,
    };
    let time = repo.now();
    let committer = repo.identity();
    let author = match (options.origin.contributor, &options.origin.agent, &options.origin.session) {
        (Contributor::Agent, agent, session) => {
            Identity::of_agent(agent.as_deref().unwrap_or("agent"), session.as_deref())
        }
        _ => committer.clone(),
    };
    let mut parents = vec![parent_id];
    if let Some(tree_id) = side_tree_id {
        let last = shadow.tip.as_ref().and_then(|tip| tip.side_id);
        let is_same = |id: ObjectId| Ok::<_, Error>(repo.tree_of_commit(id)? == tree_id);
        let reused = last.map(|id| is_same(id).map(|same| same.then_some(id))).transpose()?.flatten();
        let side_id = match reused {
            Some(id) => id,
            None => {
                let message = "side data of a checkpoint\n\nStaged tree, exact bytes and manifest; see gitcheckpoint-format(5).\n";
                let commit = NewCommit {
                    tree_id,
                    parents: Vec::new(),
                    author: author.clone(),
                    committer: committer.clone(),
                    time,
                    message,
                };
                repo.write_commit(commit, &mut commits)?
            }
        };
        parents.push(side_id);
    }
    let (subject, body) = subject_and_body(options.message.as_deref(), &changes);
    let message =
        checkpoint::message(&subject, body, &options.origin, shadow.name.base, shadow.name.worktree.as_bstr());
    let commit = NewCommit { tree_id: seen.tree_id, parents, author, committer, time, message: &message };
    let id = repo.write_commit(commit, &mut commits)?;
    commits.write()?;
    state::failpoint::hit("save:after-commit");
    let verified = options.verify || shadow.tip.is_none() || super::verify::wants_verification(context)?;
    move_refs(repo, shadow, id, verified)?;
    state::failpoint::hit("save:after-refs");
    if verified {
        super::verify::satisfied(context)?;
    }
    Ok(Saved {
        version: 1,
        id: Some(id),
        parent: Some(parent_id),
        tree: seen.tree_id,
        base: shadow.name.base,
        r#ref: shadow.name.to_ref(),
        created: true,
        contributor: options.origin.contributor,
        session: options.origin.session.clone(),
        turn: options.origin.turn,
        paths: changes.into_iter().map(|change| SavedPath { path: change.path, status: change.status }).collect(),
        skipped: seen.skipped.iter().map(SkippedPath::from).collect(),
        verified,
        reset: false,
        duration_ms: milliseconds(start.elapsed()),
    })
}

/// The shadow is ours alone while the lock is held, so only the verified mark can be moved by others meanwhile.
fn move_refs(repo: &Repo, shadow: &Shadow, id: ObjectId, verified: bool) -> Result<()> {
    const ATTEMPTS: u32 = 5;
    let mut attempt = 0;
    loop {
        let mut updates =
            vec![RefUpdate { name: shadow.name.to_ref(), old: shadow.tip.as_ref().map(|tip| tip.id), new: Some(id) }];
        if verified {
            let name = refname::verified_ref(repo.worktree_id());
            updates.push(RefUpdate { old: repo.find_ref(&name)?, name, new: Some(id) });
        }
        attempt += 1;
        match repo.update_refs(&updates) {
            Err(error) if error.kind() == Kind::Race && attempt < ATTEMPTS => {
                std::thread::sleep(Duration::from_millis(10 << attempt));
            }
            other => return other,
        }
    }
}

fn tell(context: &Context, saved: &Saved, shadow: &Shadow) {
    let worktree = shadow.name.worktree.to_string();
    if shadow.tip.is_none() {
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

fn subject_and_body<'m>(message: Option<&'m str>, changes: &[Change]) -> (String, &'m str) {
    if let Some((subject, body)) =
        message.map(|text| text.trim_start().split_once('\n').unwrap_or((text.trim_start(), "")))
        && !subject.trim().is_empty()
    {
        return (subject.trim().to_owned(), body);
    }
    let name = |change: &Change| path_text::printable(change.path.as_bstr());
    let subject = match changes {
        [] => "no change".to_owned(),
        [one] => name(one),
        [one, two] => format!("{} and {}", name(one), name(two)),
        [one, rest @ ..] => format!("{} and {} more paths", name(one), rest.len()),
    };
    (subject, "")
}

pub(crate) fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
