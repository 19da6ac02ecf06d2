//! What was changed, file by file: the changed lines, and their owners. Of what is not committed, and of commits.

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::{
    super::Context,
    commit::{OfFile, Reader},
    patch::PatchFile,
    text::Text,
    who::{Who, who},
    worktree::beyond,
};
use crate::{
    error::Result,
    git::Repo,
    model::{attribution::Author, change::Change},
};

/// A file that was changed.
pub(crate) struct ChangedFile {
    /// What it was, and is.
    pub(crate) change: Change,
    /// The changed lines, with owners; none if it has no lines.
    pub(crate) patch: Option<PatchFile>,
    /// Who has written all of it, if that is known of the whole file only.
    pub(crate) whole: Option<Who>,
}

impl ChangedFile {
    fn of(file: &OfFile, text: Option<&Text>, authors: &[Author]) -> Self {
        Self {
            change: file.change.clone(),
            patch: text.map(|text| PatchFile::of(file, Some(text)).named(authors)),
            whole: file.ownership.whole.map(|owner| who(owner, authors)),
        }
    }
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
    let files = found.work.files.iter().zip(&found.texts);
    let files = files.map(|(file, text)| ChangedFile::of(file, text.as_ref(), &found.authors)).collect();
    Ok(Changed { files, head: found.work.parent, repo: found.worktree.0 })
}

/// Returns for each of the commits `ids` the files that it changes and `pathspecs` select; of a merge, none.
///
/// # Errors
/// If one cannot be read.
pub(crate) fn changed_in(
    context: &Context,
    ids: &[ObjectId],
    pathspecs: &[BString],
) -> Result<Vec<(ObjectId, Vec<ChangedFile>)>> {
    let mut reader = Reader::new(context)?;
    let mut pathspec = context.repo.pathspec(pathspecs)?;
    let mut wanted = |path: &BString| pathspec.matches(path.as_bstr());
    let mut found = Vec::new();
    for id in ids {
        context.check_interrupt()?;
        if context.repo.parents_of(*id)?.len() > 1 {
            continue;
        }
        let mut files = Vec::new();
        // The authors are all known only at the end.
        reader.commit_with(*id, &mut wanted, &mut |file, text| {
            let patch = text.map(|text| PatchFile::of(file, Some(text)));
            files.push((file.change.clone(), patch, file.ownership.whole));
            Ok(())
        })?;
        let authors = &reader.authors.list;
        let named = files.into_iter().map(|(change, patch, whole)| ChangedFile {
            change,
            patch: patch.map(|patch| patch.named(authors)),
            whole: whole.map(|owner| who(owner, authors)),
        });
        found.push((*id, named.collect()));
    }
    Ok(found)
}
