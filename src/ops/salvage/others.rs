//! Lets refs beside live shadows lead to copies of what can be read: archives, tags, the verified mark, what was before a turn.

use gix::ObjectId;

use super::{
    clean_up,
    copies::{Copier, Replacement},
    head::refuse_without_head,
};
use crate::{
    error::Result,
    git::{Repo, refs::RefUpdate},
    model::{operation, refname},
    ops::{Worktree, chain::archive::archive_name},
    state,
};

/// What became of a ref that led to something damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The ref of this name leads to what can be read.
    Mended(String),
    /// It stays, as nothing can be read.
    Lost,
}

/// Copies what can be read of all that refs beside live shadows lead to, if something is damaged, and moves the refs there.
/// Returns the names of these refs, with what became of each.
pub(crate) fn mend_refs(worktree: &Worktree<'_>) -> Result<Vec<(String, Fate)>> {
    let repo = &worktree.repo;
    let _way = repo.on_the_way(operation::REPAIR);
    repo.distrust_objects();
    let mut copier = Copier::new(worktree);
    let (mut fates, mut updates) = (Vec::new(), Vec::new());
    for prefix in [refname::ARCHIVE, refname::VERIFIED, refname::TAGS, refname::PENDING] {
        for (name, id) in repo.sound_refs(prefix)? {
            let replacement = copier.replacement_of(id, None)?;
            if replacement.id == Some(id) {
                continue;
            }
            let fate = mend(repo, (&name, id), replacement, &mut updates)?;
            fates.push((name, fate));
        }
    }
    if !updates.is_empty() {
        refuse_without_head(repo)?;
    }
    let (copies, reader, written) = copier.write()?;
    for (update, id) in updates.iter().filter_map(|update| Some((update, update.old?))) {
        let missing = if reader.lost.contains(&id) { id } else { reader.lost.first().copied().unwrap_or(id) };
        state::kept::keep(repo.common_dir(), id, missing, &update.name)?;
    }
    repo.update_refs(&updates)?;
    clean_up(worktree, &copies, &reader)?;
    written.check_and_release()?;
    Ok(fates)
}

/// Adds to `updates` what lets the ref `name`, which points to `id`, lead to `replacement`.
fn mend(
    repo: &Repo,
    (name, id): (&str, ObjectId),
    replacement: Replacement,
    updates: &mut Vec<RefUpdate>,
) -> Result<Fate> {
    let name = name.to_owned();
    match replacement.id {
        Some(new) if name.starts_with(refname::ARCHIVE) => {
            let renamed = match refname::renamed_archive(&name, new) {
                Some(renamed) if repo.find_ref(&renamed)?.is_none() => renamed,
                _ => archive_name(repo, new)?,
            };
            if !updates.iter().any(|update| update.name == renamed) {
                updates.push(RefUpdate { name: renamed.clone(), old: None, new: replacement.id });
            }
            updates.push(RefUpdate { name, old: Some(id), new: None });
            Ok(Fate::Mended(renamed))
        }
        // Any other ref is about this very checkpoint, not about those before it.
        Some(_) if !replacement.is_lost => {
            updates.push(RefUpdate { name: name.clone(), old: Some(id), new: replacement.id });
            Ok(Fate::Mended(name))
        }
        _ => Ok(Fate::Lost),
    }
}
