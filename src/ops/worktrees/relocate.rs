//! `worktree move`: gives a worktree another place, by git.

use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use bstr::{BString, ByteSlice as _};
use serde::Serialize;

use super::{
    super::Context,
    in_use::{self, is_there},
    lock::lock,
    named,
    remove::note,
    validate,
};
use crate::{
    error::{Context as _, Error, Kind, Result},
    git::registrations::Registration,
    model::path_text,
    state::failpoint,
};

/// A worktree at its new place. Serializes to what `worktree move --json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Moved {
    /// The version of this shape.
    pub(crate) version: u32,
    /// Git's id of it, which stays.
    pub(crate) id: String,
    /// Where its root was.
    #[serde(serialize_with = "path_text::serialize")]
    pub(crate) from: BString,
    /// Its root.
    #[serde(flatten, serialize_with = "path_text::serialize_fields")]
    pub(crate) path: BString,
}

/// Moves the worktree `name` to `to`, a path where nothing is; if a directory is there, below it, under the name that it has.
///
/// # Errors
/// [`Kind::Refused`] if it is in use or locked, or if something is in the new place; if git cannot move it.
pub(crate) fn relocate(context: &Context, name: &OsStr, to: &Path) -> Result<Moved> {
    context.repo.name_operation("worktree move");
    context.emit_failure("worktree move", try_relocate(context, name, to))
}

fn try_relocate(context: &Context, name: &OsStr, to: &Path) -> Result<Moved> {
    let _lock = lock(context)?;
    let all = context.repo.registrations()?;
    let found = named::registered(context, Some(name))?;
    in_use::refuse_kind(&found)?;
    let found = named::checked(context, &found)?;
    in_use::refuse(context, &found, &found.path)?;
    if let Some(inner) = all.iter().find(|it| is_inside(it, &found.path)) {
        return Err(Error::refused(format!(
            "the worktree '{}' is inside '{}': git would not find it any more",
            inner.path.display(),
            found.path.display()
        ))
        .with_hint("move that one out of there first, or remove it"));
    }
    let to = place(&found, to)?;
    validate::refuse_outside(context, &to)?;
    let from = all.first().map_or_else(|| context.repo.common_dir().to_owned(), Registration::directory);
    failpoint::hit("worktree:before-move");
    context.repo.move_worktree(&from, &found.path, &to)?;
    note(
        context,
        format!("'git checkpoint worktree move {} {}' moves it back", in_use::word(&to), in_use::word(&found.path)),
    );
    let text = |path: &Path| BString::from(path.as_os_str().as_bytes());
    Ok(Moved { version: 1, id: path_text::escape(found.id.as_bstr()), from: text(&found.path), path: text(&to) })
}

/// Returns true if the linked worktree `inner` is below the canonical path `root`.
fn is_inside(inner: &Registration, root: &Path) -> bool {
    let real = std::fs::canonicalize(&inner.path).unwrap_or_else(|_| inner.path.clone());
    real != *root && real.starts_with(root)
}

/// Returns the new place of `found`: absolute, and with no link on the way there.
fn place(found: &Registration, to: &Path) -> Result<PathBuf> {
    let what = || format!("cannot find the directory of '{}'", to.display());
    let full = std::path::absolute(to).context(Kind::User, what)?;
    let (parent, name) = match (full.is_dir(), found.path.file_name()) {
        (true, Some(own)) => (full.as_path(), Some(own)),
        _ => (full.parent().unwrap_or(&full), full.file_name()),
    };
    let parent = std::fs::canonicalize(parent).context(Kind::User, what)?;
    let Some(name) = name else { return Err(Error::user(format!("'{}' is no name of a directory", to.display()))) };
    let place = parent.join(name);
    if is_there(&place) {
        return Err(
            Error::refused(format!("'{}' exists already", place.display())).with_hint("give a path where nothing is")
        );
    }
    if place.starts_with(&found.path) {
        return Err(Error::refused(format!("'{}' is inside the worktree itself", place.display()))
            .with_hint("give a path outside of it"));
    }
    Ok(place)
}
