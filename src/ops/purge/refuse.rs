//! When nothing may be purged: the authors of lines would get mixed up.
//!
//! If the worktree still has what checkpoints have no more, the next save sees a change there, and takes it for the work of
//! the agent or person that works then.

use bstr::{BStr, BString, ByteSlice as _};

use super::removed::refuse_if_one_has;
use crate::{
    error::{Error, Result},
    model::{path_text, secret::Secret},
    ops::{
        Context,
        replace::{Place, all_turns_at_work, uncommitted},
    },
};

/// Refuses while a turn is under way, and, if files in checkpoints are `to_change`, while uncommitted work has the text or one of
/// the paths; or while a removed worktree has it.
pub(super) fn if_it_would_mix(context: &Context, secret: &Secret, paths: &[BString], to_change: bool) -> Result<()> {
    if let Some(session) = all_turns_at_work(context)?.first() {
        return Err(Error::refused(format!("the session '{}' has a turn under way", session.id))
            .with_hint(format!("'git checkpoint session stop {}' ends it", path_text::shell_word(&session.id))));
    }
    if to_change || !paths.is_empty() {
        if_uncommitted(context, secret, paths, &|_| true)?;
    }
    refuse_if_one_has(context, secret, paths)
}

/// Refuses to say that nothing is left while the next save of a worktree would store the text.
pub(super) fn if_a_save_would_store_it(context: &Context, secret: &Secret) -> Result<()> {
    if_uncommitted(context, secret, &[], &|place| place.name.starts_with("the worktree"))?;
    refuse_if_one_has(context, secret, &[])
}

/// Refuses while uncommitted work, in the places that are `wanted`, has the text; if there are `paths`, one of these.
fn if_uncommitted(
    context: &Context,
    secret: &Secret,
    paths: &[BString],
    wanted: &dyn Fn(&Place) -> bool,
) -> Result<()> {
    let mut pathspec = context.repo.pathspec(paths)?;
    let is_about_paths = !paths.is_empty();
    let mut is_wanted = |path: &BStr, content: &[u8]| {
        if is_about_paths { pathspec.matches(path) } else { secret.is_in(content) }
    };
    for place in uncommitted(context)?.iter().filter(|place| wanted(place)) {
        let Some(file) = place.find(&mut is_wanted)? else { continue };
        let (name, path) = (&place.name, path_text::printable(file.path.as_bstr()));
        let what = if is_about_paths {
            format!("{name} still has '{path}'")
        } else {
            format!("{name} still has the text in '{path}'")
        };
        let hint = match name.as_str() {
            stash if stash.starts_with("'stash@") => {
                "drop the entry, or apply it and remove what is to be purged, before"
            }
            aside if aside.starts_with("the autostash") => {
                "finish the rebase or merge before: 'git rebase --continue' or '--abort', 'git merge --continue' or '--abort'"
            }
            index if index.starts_with("the index") => "unstage the file before: 'git restore --staged <file>'",
            _ if is_about_paths => {
                "remove the file, let git ignore it, or commit it, before: the next save would store it again"
            }
            _ => {
                "remove the text there, let git ignore the file, or commit it, before: the next save would store it again"
            }
        };
        let error = Error::refused(what).with_hint(hint);
        return Err(if place.is_here { error.about(file.path.clone()) } else { error });
    }
    Ok(())
}
