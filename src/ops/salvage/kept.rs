//! Puts into the archive what was kept while it could not be read, and can be read now.

use std::fs;

use super::survey::{Damage, Survey};
use crate::{
    error::Result,
    git::Repo,
    model::event::Event,
    ops::{Worktree, holding::hold},
    state::kept::{Kept, all, keep},
};

/// Returns true if the own commit of `kept` was missing and can be read now, with all that it leads to.
pub(crate) fn is_back(repo: &Repo, kept: &Kept) -> bool {
    kept.missing == kept.id && damage(repo, kept).is_ok_and(|damage| damage.lost.is_empty())
}

fn damage(repo: &Repo, kept: &Kept) -> Result<Damage> {
    if repo.is_whole(kept.missing)? {
        Survey::new(repo).damage_behind(kept.id)
    } else {
        Ok(Damage { lost: vec![kept.missing], ..Damage::default() })
    }
}

/// Lets the archive lead to what can be read again. Returns each, with its ref in the archive.
pub(crate) fn bring_back(worktree: &Worktree<'_>) -> Result<Vec<(Kept, String)>> {
    let repo = &worktree.repo;
    let mut brought = Vec::new();
    for kept in all(repo.common_dir()) {
        // What cannot be looked at now may be whole.
        let Ok(Damage { lost, .. }) = damage(repo, &kept) else { continue };
        if let Some(missing) = lost.first() {
            if *missing != kept.missing {
                keep(repo.common_dir(), kept.id, *missing, &kept.name)?;
            }
            continue;
        }
        let archive = hold(repo, kept.id)?;
        drop(fs::remove_file(&kept.path));
        worktree.emit(&Event::Recovered { r#ref: kept.name.clone(), archive: Some(archive.clone()), file: None });
        brought.push((kept, archive));
    }
    Ok(brought)
}
