//! Checkpoints that cannot be read any more: the worktree may still have the work that was in them, and nothing else tells whose
//! that is.
//!
//! Of a live shadow, all unsaved changes may be such work, until the next checkpoint follows. Of an archived one, only those are
//! that are at paths that the shadow may have changed, as far as anything that can be read shows. Where the work of archived shadows
//! is looked for, the damaged ones are noted; only they are looked at here.

use std::collections::{BTreeSet, HashMap};

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::{carry_forward::base_tree, shadows};
use crate::{
    error::Result,
    git::Repo,
    model::{
        change::{Leaf, Mode},
        checkpoint::Checkpoint,
        refname::{self, Base, ShadowName},
    },
    ops::Context,
    state::{events, kept},
};

/// How many archived shadows are looked at, the newest ones.
const MOST_SHADOWS: usize = 64;

/// For so many paths, it is cheaper to look each up than to compare trees.
const FEW: usize = 16;

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

/// Returns true if archived shadows whose work may come back were noted as damaged.
pub(crate) fn is_any_noted(repo: &Repo) -> bool {
    !noted(repo).is_empty()
}

/// Returns those of the `changed` paths that may have work of archived shadows that were noted as damaged. Notes in `context` which
/// ones were found to be unreadable.
pub(crate) fn lost_among(context: &Context, changed: &[BString]) -> Result<BTreeSet<BString>> {
    among(context, changed, noted(&context.repo))
}

/// Does the same for a reader, which has not looked for the work of archived shadows before: looks at each of them.
pub(crate) fn lost_among_any(context: &Context, changed: &[BString]) -> Result<BTreeSet<BString>> {
    among(context, changed, archived(&context.repo)?)
}

fn among(context: &Context, changed: &[BString], names: Vec<String>) -> Result<BTreeSet<BString>> {
    let (repo, mut lost) = (&context.repo, BTreeSet::new());
    if changed.is_empty() {
        return Ok(lost);
    }
    for name in names {
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

/// Returns true if there are archived shadows whose work may come back.
pub(crate) fn has_archived(repo: &Repo) -> Result<bool> {
    Ok(!archived(repo)?.is_empty())
}

fn noted(repo: &Repo) -> Vec<String> {
    let mut names = repo.damaged_refs();
    names.retain(|name| name.starts_with(refname::ARCHIVE) && !refname::is_settled(name));
    names
}

/// Returns the refs of the newest archived shadows whose work may come back: no record and no other shadow has it.
fn archived(repo: &Repo) -> Result<Vec<String>> {
    let mut names = repo.ref_names_below(refname::ARCHIVE)?;
    names.retain(|name| !refname::is_settled(name));
    names.sort_by_key(|name| std::cmp::Reverse(refname::archived_at(name)));
    names.truncate(MOST_SHADOWS);
    Ok(names)
}

/// The newest checkpoint of an archived shadow, as far as it can be read.
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

    fn is_readable(&self, repo: &Repo) -> bool {
        match self {
            Self::None => true,
            Self::Read(checkpoint) => {
                let changes = base_tree(repo, checkpoint).and_then(|base| repo.diff_trees(base, checkpoint.tree_id));
                changes.is_ok_and(|changes| changes.iter().all(|change| is_here(repo, change.after)))
            }
            Self::Lost(_) => false,
        }
    }

    /// Returns those of the `changed` paths that may have work of the shadow; none if it can be read there.
    fn lost_among(&self, context: &Context, changed: &[BString]) -> Option<Vec<BString>> {
        let repo = &context.repo;
        let (id, tree_id) = match self {
            Self::None => return None,
            Self::Read(checkpoint) => (checkpoint.id, Some(checkpoint.tree_id)),
            Self::Lost(id) => (*id, None),
        };
        let Some(tree_id) = tree_id.filter(|tree_id| repo.find_entry(*tree_id, ".".into()).is_ok()) else {
            let near = near(context, id);
            return Some(changed.iter().filter(|path| near.contains(*path)).cloned().collect());
        };
        if changed.len() > FEW && self.is_readable(repo) {
            return None;
        }
        let is_lost = |path: &&BString| match repo.find_leaf(tree_id, path.as_bstr()) {
            Ok(leaf) => !is_here(repo, leaf) && self.was_changed(repo, path, leaf),
            // A directory of the path cannot be read.
            Err(_) => true,
        };
        let lost: Vec<BString> = changed.iter().filter(is_lost).cloned().collect();
        (!lost.is_empty()).then_some(lost)
    }

    /// Returns true if the shadow has `leaf` at `path` and its base has not.
    fn was_changed(&self, repo: &Repo, path: &BString, leaf: Option<Leaf>) -> bool {
        let Self::Read(checkpoint) = self else { return false };
        let before = base_tree(repo, checkpoint).and_then(|base| repo.find_leaf(base, path.as_bstr()));
        before.is_ok_and(|before| before != leaf)
    }
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
