//! Directories that are too large to be one project.

use std::path::Path;

use bstr::ByteSlice as _;

use crate::{
    error::{Error, Result},
    git,
    model::path_text,
    ops::Context,
};

/// Refuses directories that are too large to be one project: `/`, the home directory and its parents, and those that
/// the settings name.
pub(crate) fn refuse_protected(context: &Context, force: bool) -> Result<()> {
    let root = context.repo.worktree_root();
    let home = git::home().map(|home| std::fs::canonicalize(&home).unwrap_or(home));
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
