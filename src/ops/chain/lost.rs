//! Finds unsaved changes that may be work of damaged checkpoints. The worktree may still have that work, and only the checkpoints
//! could say who wrote it: so its author is unknown.
//!
//! If the live shadow on HEAD is damaged, all unsaved changes may be its work, until the next checkpoint is taken. If another shadow
//! is, most often one in the archive, only changes at paths that it may have changed are; what can be read of it and around it shows
//! which paths these are. The code that looks for the work of shadows notes the damaged ones, and this module looks only at those.

use std::collections::{BTreeSet, HashMap};

use bstr::{BStr, BString, ByteSlice as _};
use gix::ObjectId;

use super::{carry_forward::base_tree, shadows};
use crate::{
    error::Result,
    git::Repo,
    model::{
        change::{Change, Leaf, Mode},
        checkpoint::Checkpoint,
        refname::{self, Base, ShadowName},
    },
    ops::Context,
    state::{events, kept},
};

/// Returns true if the unsaved changes of this worktree may be work of a live shadow that cannot be read.
pub(crate) fn may_have_lost_work(context: &Context) -> Result<bool> {
    Ok(!context.broken().is_empty() || is_shadow_lost(&context.repo)?)
}

/// Returns true if a shadow on HEAD was set aside because it could not be read, and none has followed it.
fn is_shadow_lost(repo: &Repo) -> Result<bool> {
    let kept = kept::all(repo.common_dir());
    if kept.is_empty() {
        return Ok(false);
    }
    let base = Base::of_head(repo.head()?.id);
    let is_here = |name: ShadowName| name.base == base && name.worktree == repo.worktree_id();
    let is_lost = kept.iter().filter_map(|kept| ShadowName::from_ref(&kept.name)).any(is_here);
    Ok(is_lost && shadows::live(repo, base, repo.worktree_id())?.is_empty())
}

/// Returns the words for the shadows that were found to be unreadable; none if there are none.
pub(crate) fn unreadable_shadows(context: &Context) -> Option<String> {
    let names = context.unreadable();
    names.first().map(|name| words(name, names.len() - 1))
}

/// Returns the words for the shadow `name` and `others`, of which checkpoints cannot be read.
pub(crate) fn words(name: &str, others: usize) -> String {
    let more = match others {
        0 => String::new(),
        1 => " and of another shadow".to_owned(),
        _ => format!(" and of {others} other shadows"),
    };
    format!("checkpoints of '{name}'{more} cannot be read")
}

/// Returns true if shadows whose work may come back were noted as damaged.
pub(crate) fn is_any_noted(repo: &Repo) -> bool {
    !noted(repo).is_empty()
}

/// Returns those of `changes` that may be work of shadows that were noted as damaged, as [`lost_among`] does.
pub(crate) fn lost_changes(context: &Context, changes: &[Change]) -> Result<Vec<Change>> {
    if !is_any_noted(&context.repo) {
        return Ok(Vec::new());
    }
    let names = |change: &Change| [Some(change.path.clone()), change.old_path.clone()].into_iter().flatten();
    let lost = lost_among(context, &changes.iter().flat_map(names).collect::<Vec<_>>())?;
    let is_lost = |change: &&Change| change.after.is_some() && names(change).any(|name| lost.contains(&name));
    Ok(changes.iter().filter(is_lost).cloned().collect())
}

/// Returns those of the `changed` paths that may have work of shadows that were noted as damaged. Notes in `context` which ones were
/// found to be unreadable.
pub(crate) fn lost_among(context: &Context, changed: &[BString]) -> Result<BTreeSet<BString>> {
    let (repo, mut lost) = (&context.repo, BTreeSet::new());
    if changed.is_empty() {
        return Ok(lost);
    }
    for name in noted(repo) {
        if let Some(id) = repo.find_sound_ref(&name)? {
            let left = changed.iter().filter(|path| !lost.contains(*path));
            if let Some(found) = Tip::read(repo, id).lost_among(context, &left.cloned().collect::<Vec<_>>()) {
                lost.extend(found);
                context.note_unreadable(name);
            }
            repo.check_interrupt()?;
        }
    }
    Ok(lost)
}

fn noted(repo: &Repo) -> Vec<String> {
    let mut names = repo.damaged_refs();
    names.retain(|name| !refname::is_settled(name));
    names
}

/// The newest checkpoint of a shadow, as far as it can be read.
enum Tip {
    /// It is no checkpoint: it holds no work.
    None,
    /// Its commit can be read.
    Read(Box<Checkpoint>),
    Lost(ObjectId),
}

impl Tip {
    fn read(repo: &Repo, id: ObjectId) -> Self {
        match repo.checkpoint(id) {
            Ok(None) => Self::None,
            Ok(Some(checkpoint)) => Self::Read(Box::new(checkpoint)),
            Err(_) => Self::Lost(id),
        }
    }

    /// Returns those of the `changed` paths that may have work of the shadow; none if it can be read there.
    fn lost_among(&self, context: &Context, changed: &[BString]) -> Option<Vec<BString>> {
        let repo = &context.repo;
        let (id, tip) = match self {
            Self::None => return None,
            Self::Read(tip) => (tip.id, Some(tip).filter(|tip| repo.find_entry(tip.tree_id, ".".into()).is_ok())),
            Self::Lost(id) => (*id, None),
        };
        let Some(tip) = tip else {
            let near = near(context, id);
            return Some(changed.iter().filter(|path| near.contains(*path)).cloned().collect());
        };
        let contents = lost_contents(repo, tip);
        let is_lost = |path: &&BString| match &contents {
            Ok(lost) => lost.contains(*path),
            // Without all its checkpoints, nothing of the shadow says who did what.
            Err(_) => may_have_changed(repo, tip, path.as_bstr()),
        };
        let lost: Vec<BString> = changed.iter().filter(is_lost).cloned().collect();
        (!lost.is_empty()).then_some(lost)
    }
}

/// Returns the paths of which a content is not stored that the shadow `tip`, or a checkpoint behind it, has changed.
///
/// # Errors
/// If not all checkpoints and directories can be read.
fn lost_contents(repo: &Repo, tip: &Checkpoint) -> Result<BTreeSet<BString>> {
    let mut changes = repo.diff_trees(base_tree(repo, tip)?, tip.tree_id)?;
    for checkpoint in repo.chain_in_time(tip.id) {
        let checkpoint = checkpoint?;
        changes.extend(repo.diff_trees(repo.tree_of_commit(checkpoint.before_id())?, checkpoint.tree_id)?);
    }
    changes.retain(|change| !is_here(repo, change.after));
    Ok(changes.into_iter().map(|change| change.path).collect())
}

/// Returns true if the shadow `tip` differs from its base at `path`, or if one of them cannot be read there.
fn may_have_changed(repo: &Repo, tip: &Checkpoint, path: &BStr) -> bool {
    let before = base_tree(repo, tip).and_then(|base| repo.find_leaf(base, path));
    !matches!((before, repo.find_leaf(tip.tree_id, path)), (Ok(before), Ok(after)) if before == after)
}

/// Returns true if the content of `leaf` is stored.
fn is_here(repo: &Repo, leaf: Option<Leaf>) -> bool {
    leaf.is_none_or(|leaf| leaf.mode == Mode::Gitlink || repo.has_object(leaf.id))
}

/// Returns the paths at which the checkpoints right before and after the checkpoint `id` differ from their base. The log of events
/// names them, where the commit cannot.
fn near(context: &Context, id: ObjectId) -> BTreeSet<BString> {
    let repo = &context.repo;
    let before = before_each(repo);
    let named = repo.checkpoint(id).ok().flatten().map(|checkpoint| checkpoint.parent_id);
    let (mut next, mut left) = (named.or_else(|| before.get(&id).copied()), before.len());
    let mut near: Vec<Checkpoint> = Vec::new();
    while let Some(earlier) = next.filter(|_| left > 0) {
        left -= 1;
        next = None;
        match repo.checkpoint(earlier) {
            Ok(checkpoint) => near.extend(checkpoint),
            Err(_) => next = before.get(&earlier).copied(),
        }
    }
    let after = before.iter().filter(|(_, from)| **from == id).map(|(to, _)| *to);
    near.extend(after.filter_map(|to| repo.checkpoint(to).ok().flatten()));
    let touched = |checkpoint: &Checkpoint| repo.diff_trees(base_tree(repo, checkpoint)?, checkpoint.tree_id);
    let touched = near.iter().filter_map(|checkpoint| touched(checkpoint).ok()).flatten();
    touched.map(|change| change.path).collect()
}

/// Returns for each checkpoint of the log of events what it came after.
fn before_each(repo: &Repo) -> HashMap<ObjectId, ObjectId> {
    let mut before = HashMap::new();
    let id = |value: &serde_json::Value| ObjectId::from_hex(value.as_str()?.as_bytes()).ok();
    let mut note = |line: &[u8]| {
        if let Ok(event) = serde_json::from_slice::<serde_json::Value>(line)
            && event["event"] == "checkpoint"
        {
            before.extend(id(&event["to"]).zip(id(&event["from"])));
        }
        Ok(true)
    };
    if let Ok(mut reader) = events::Reader::open(repo.common_dir()) {
        drop(reader.read(&mut note));
    }
    before
}
