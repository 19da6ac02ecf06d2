//! What is not committed, file by file: both contents, the changed lines, and their owners.

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::{
    super::Context,
    patch::PatchFile,
    who::{Who, who},
    worktree::beyond,
};
use crate::{error::Result, git::Repo, model::change::Change};

/// A file that was changed.
pub(crate) struct ChangedFile {
    /// What it was, and is.
    pub(crate) change: Change,
    /// Both contents; none if it has no lines.
    pub(crate) text: Option<(Vec<u8>, Vec<u8>)>,
    /// The changed lines, with owners.
    pub(crate) patch: PatchFile,
    /// Who has written all of it, if that is known of the whole file only.
    pub(crate) whole: Option<Who>,
}

/// What is not committed.
pub(crate) struct Changed {
    /// The files, by path.
    pub(crate) files: Vec<ChangedFile>,
    /// The commit that HEAD is at.
    pub(crate) head: Option<ObjectId>,
    /// The repository with the files of the worktree in its memory.
    pub(crate) repo: Repo,
}

/// Returns what is not committed of the files that `pathspecs` select, all if there are none.
///
/// # Errors
/// If it cannot be read.
pub(crate) fn changed(context: &Context, pathspecs: &[BString]) -> Result<Changed> {
    let mut pathspec = context.repo.pathspec(pathspecs)?;
    let found = beyond(context, &[], &mut |path| pathspec.matches(path.as_bstr()), true, false)?;
    let authors = &found.authors;
    let files = found.work.files.into_iter().zip(found.texts).map(|(file, text)| ChangedFile {
        patch: PatchFile::of(&file, text.as_ref()).named(authors),
        whole: file.ownership.whole.map(|owner| who(owner, authors)),
        text: text.map(|text| (text.before, text.after)),
        change: file.change,
    });
    Ok(Changed { files: files.collect(), head: found.work.parent, repo: found.worktree.0 })
}
