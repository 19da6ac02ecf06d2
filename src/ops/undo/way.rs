//! Whether something else takes an operation back, and what to type for that. A hint is printed only if what it names works.

use gix::ObjectId;

use super::blocked::blocked;
use crate::{
    error::Result,
    git::read_operations::Recorded,
    model::{
        refname::{self, Base},
        way_back::Way,
    },
    ops::{
        Context,
        chain::shadows,
        operations::{Log, Point, Which, pick},
        restore::check_way_back,
    },
};

/// Returns the hint at the first of `ways` that takes `entry` back now, or would once no turn is open.
///
/// # Errors
/// If the user has interrupted it.
pub(super) fn first_that_works(context: &Context, log: &Log, entry: &Recorded, ways: &[Way]) -> Result<Option<String>> {
    for way in ways {
        let found = hint(context, log, entry, way);
        context.check_interrupt()?;
        match found {
            Ok(None) => {}
            Ok(hint) => return Ok(hint),
            Err(error) => tracing::debug!(%error, "what does not take it back either"),
        }
    }
    Ok(None)
}

/// Returns the hint at `way`; none if that does not work.
fn hint(context: &Context, log: &Log, entry: &Recorded, way: &Way) -> Result<Option<String>> {
    let repo = &context.repo;
    match way {
        Way::First(id) => {
            pick(context, &Which::Named(id.to_string()))?;
            let is_free = blocked(context, log, log.entry(*id)?)?.hindrances.is_empty();
            let id = repo.short_id(id);
            Ok(is_free.then(|| format!("'git checkpoint op undo {id}' takes that one back first")))
        }
        Way::BringBack(tip) => Ok(can_bring_back(context, *tip)?.then(|| {
            let id = repo.short_id(tip);
            format!(
                "'git checkpoint reset' sets the checkpoints since aside, and then \
                 'git checkpoint reset --restore-archived {id}' brings those from before back"
            )
        })),
        Way::GoBack => {
            let Some(before) = log.entry_before(entry.id) else { return Ok(None) };
            check_way_back(context, &Point::find(context, &before.id.to_string())?)?;
            let id = repo.short_id(&before.id);
            Ok(Some(format!(
                "'git checkpoint op restore {id}' brings files and refs back to before it; what was saved since goes to the \
                 archive"
            )))
        }
    }
}

/// Returns true if a reset sets one chain aside now, and the archived one that ends with `tip` can then take its place.
fn can_bring_back(context: &Context, tip: ObjectId) -> Result<bool> {
    let repo = &context.repo;
    let base = Base::of_head(repo.head()?.id);
    let archived = repo.refs_below(refname::ARCHIVE)?.into_iter().any(|(_, id)| id == tip);
    let checkpoint = repo.find_checkpoint(tip)?;
    let is_here = checkpoint.is_some_and(|it| it.base == base && it.worktree == repo.worktree_id());
    Ok(archived && is_here && !shadows::live(repo, base, repo.worktree_id())?.is_empty())
}
