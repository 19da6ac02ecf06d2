//! Whose lines are whose once checkpoints are dropped: what one changed then counts as the work of the one after it.
//!
//! Each later state is attributed twice, with the checkpoints and without them. If the two differ, they cannot be dropped.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use bstr::BString;
use gix::ObjectId;

use crate::{
    error::Result,
    git::{Repo, counting::Counting},
    model::{
        attribution::{Author, AuthorId, Owner},
        checkpoint::Checkpoint,
    },
    ops::{
        chain::{carry_forward::base_tree, changes},
        provenance::{replay::Work, steps::steps},
        replace::{Copier, Replaced},
    },
};

/// The first file in which another author would count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mixed {
    pub(super) path: BString,
    /// The checkpoint in which that would be so; none: the worktree.
    pub(super) checkpoint: Option<ObjectId>,
}

/// Returns where the lines of a later checkpoint, or of the worktree, would have another author without those that are
/// `left_out`. `copier` has the copies; its repository has the tree of `worktree` in memory: with the latest checkpoint that it
/// follows.
pub(super) fn mixed(
    repo: &Repo,
    copier: &Copier<'_, '_>,
    left_out: &HashSet<ObjectId>,
    worktree: Option<(ObjectId, ObjectId)>,
) -> Result<Option<Mixed>> {
    let memory = &copier.objects.in_memory();
    let mut wanted = BTreeSet::new();
    for id in left_out {
        let changed = repo.checkpoint(*id)?.map_or_else(|| Ok(Vec::new()), |checkpoint| changes(repo, &checkpoint))?;
        wanted.extend(changed.into_iter().map(|change| change.path));
    }
    let mut later = Vec::new();
    for (old, new) in &copier.copies {
        let (Some(old), Some(new)) = (repo.checkpoint(*old)?, memory.checkpoint(*new)?) else { continue };
        later.push((old, new));
    }
    later.sort_by_key(|(old, _)| old.seconds);
    let mut checked = Vec::new();
    for (old, new) in later {
        repo.check_interrupt()?;
        let changed = repo.detect_renames(changes(repo, &old)?)?;
        let is_wanted = |path: &BString| wanted.contains(path);
        let names = changed.iter().filter(|it| it.old_path.as_ref().is_some_and(is_wanted)).map(|it| it.path.clone());
        let names: Vec<BString> = names.collect();
        if left_out.contains(&old.before_id()) || !names.is_empty() || changed.iter().any(|it| is_wanted(&it.path)) {
            checked.push((old, new));
        }
        wanted.extend(names);
    }
    for (old, new) in &checked {
        repo.check_interrupt()?;
        if let Some(path) = differing(memory, (Some(old), Some(new)), old, old.tree_id, &wanted)? {
            return Ok(Some(Mixed { path, checkpoint: Some(old.id) }));
        }
    }
    let Some((tip, tree_id)) = worktree else { return Ok(None) };
    let Some(old) = repo.checkpoint(tip)? else { return Ok(None) };
    let new = match copier.known(tip) {
        Some(Replaced::By(id) | Replaced::LeftOut { in_time: id, .. }) => memory.checkpoint(id)?,
        None => Some(old.clone()),
    };
    let path = differing(memory, (Some(&old), new.as_ref()), &old, tree_id, &wanted)?;
    Ok(path.map(|path| Mixed { path, checkpoint: None }))
}

/// Returns a file of `wanted` in which the authors of `tree_id`, on the base of `on`, differ between the two chains.
fn differing(
    repo: &Repo,
    (old, new): (Option<&Checkpoint>, Option<&Checkpoint>),
    on: &Checkpoint,
    tree_id: ObjectId,
    wanted: &BTreeSet<BString>,
) -> Result<Option<BString>> {
    let (old, new) = (authors(repo, old, on, tree_id, wanted)?, authors(repo, new, on, tree_id, wanted)?);
    let paths = old.keys().chain(new.keys());
    Ok(paths.filter(|path| old.get(*path) != new.get(*path)).min().cloned())
}

/// Who wrote the lines of a file, who deleted lines of it, and which sessions worked on it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Authors {
    lines: Vec<(u32, Who)>,
    whole: Option<Who>,
    removed: BTreeMap<Author, u32>,
    sessions: BTreeSet<String>,
}

/// The author of a line and, if another one edited it, the author before; none for a line of the base.
type Who = Option<(Author, Option<Author>)>;

fn authors(
    repo: &Repo,
    tip: Option<&Checkpoint>,
    on: &Checkpoint,
    tree_id: ObjectId,
    wanted: &BTreeSet<BString>,
) -> Result<BTreeMap<BString, Authors>> {
    let is_wanted = |path: &BString| wanted.contains(path);
    let steps = tip.map_or_else(|| Ok(Vec::new()), |tip| steps(repo, tip, &is_wanted))?;
    let mut committed = repo.diff_trees(base_tree(repo, on)?, tree_id)?;
    committed.retain(|change| is_wanted(&change.path));
    let work = Work::of(repo, &steps, &committed, &mut Counting::usual(repo))?;
    let author = |id: AuthorId| work.authors[id as usize].clone();
    let who = |owner: Owner| match owner {
        Owner::Base => None,
        Owner::Author(id) => Some((author(id), None)),
        Owner::Mixed { of, over, .. } => Some((author(of), over.map(author).filter(|over| *over != author(of)))),
    };
    let mut files = BTreeMap::new();
    for file in &work.ownership.files {
        let lines = file.spans.iter().flat_map(|span| (span.start..=span.end).map(|line| (line, who(span.owner))));
        let mut removed = BTreeMap::new();
        for (id, count) in &file.removed {
            *removed.entry(author(*id)).or_default() += count;
        }
        let sessions = work.sessions.get(&file.path).cloned().unwrap_or_default();
        let authors = Authors { lines: lines.collect(), whole: file.whole.map(who), removed, sessions };
        files.insert(file.path.clone(), authors);
    }
    Ok(files)
}
