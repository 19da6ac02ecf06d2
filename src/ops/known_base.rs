//! Where HEAD was when git-checkpoint last looked.

use std::{fs, path::PathBuf};

use super::{Context, Worktree};
use crate::{error::Result, model::refname::Base, state};

fn base_file(context: &Context) -> PathBuf {
    state::directory(context.repo.git_dir()).join("base")
}

/// Returns where HEAD was when we last looked.
pub(crate) fn known_base(context: &Context) -> Option<Base> {
    // A cache: what cannot be read is not known.
    fs::read_to_string(base_file(context)).ok().and_then(|text| Base::parse(text.trim()))
}

/// Returns true if HEAD is where it was when we last looked.
pub(crate) fn is_head_known(context: &Context) -> Result<bool> {
    Ok(known_base(context) == Some(Base::of_head(context.repo.head()?.id)))
}

/// Remembers where HEAD is.
pub(crate) fn note_base(worktree: &Worktree<'_>, base: Base) -> Result<()> {
    state::ensure_directory(worktree.repo.git_dir())?;
    state::replace_file(&base_file(worktree), format!("{base}\n").as_bytes())
}
