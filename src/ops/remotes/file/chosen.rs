//! Which checkpoints are exported.

use std::collections::HashSet;

use gix::ObjectId;

use crate::{
    error::Result,
    model::{checkpoint::Checkpoint, refname},
    ops::{
        Context,
        history::{self, ListOptions},
        lookup, tags,
    },
};

/// What the user wants of the checkpoints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// Those of this worktree that were not set aside.
    Live,
    /// Those of all worktrees, set aside or not.
    All,
    /// Those of a session.
    Session(String),
    /// Those that these texts name.
    Named(Vec<String>),
}

/// The checkpoints that were chosen.
#[derive(Debug, Default)]
pub(super) struct Chosen {
    /// In the order of time.
    pub(super) checkpoints: Vec<Checkpoint>,
    /// Why others are missing.
    pub(super) left_out: Vec<String>,
}

/// Returns the checkpoints of `choice`.
///
/// # Errors
/// If one that is named is none, or cannot be read.
pub(super) fn chosen(context: &Context, choice: &Choice) -> Result<Chosen> {
    let repo = &context.repo;
    let mut chosen = Chosen::default();
    let found = &mut chosen.checkpoints;
    if let Choice::Named(texts) = choice {
        for text in texts {
            let checkpoint = lookup::checkpoint(context, lookup::resolve(context, text)?)?;
            lookup::refuse_without_files(repo, checkpoint.id)?;
            found.push(checkpoint);
        }
    } else {
        let session = if let Choice::Session(session) = choice { Some(session.clone()) } else { None };
        let live = *choice == Choice::Live;
        let options = ListOptions { session, live, all_worktrees: !live, all: true, ..ListOptions::default() };
        let broken = history::list(context, &options, &mut |entry| {
            context.check_interrupt()?;
            found.push(entry.checkpoint);
            Ok(true)
        })?;
        chosen.left_out.extend(broken.iter().map(ToString::to_string));
        if *choice == Choice::All {
            found.extend(held(context)?.into_iter().filter_map(|id| repo.find_checkpoint(id).ok().flatten()));
        }
        found.retain(|checkpoint| match lookup::refuse_without_files(repo, checkpoint.id) {
            Err(error) => {
                chosen.left_out.push(error.message().to_owned());
                false
            }
            Ok(()) => true,
        });
    }
    let mut seen = HashSet::new();
    found.retain(|it| seen.insert(it.id));
    // Lists begin with the latest, also of one moment.
    if !matches!(choice, Choice::Named(_)) {
        found.reverse();
    }
    found.sort_by_key(|it| (it.seconds, it.micros));
    Ok(chosen)
}

/// Returns what tags and verified marks hold.
fn held(context: &Context) -> Result<Vec<ObjectId>> {
    let mut held: Vec<ObjectId> = tags::all(&context.repo)?.into_iter().map(|(_, id)| id).collect();
    held.extend(context.repo.sound_refs(refname::VERIFIED)?.into_iter().map(|(_, id)| id));
    Ok(held)
}
