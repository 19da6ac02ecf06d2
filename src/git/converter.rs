//! Converts a file for a save: the content of its blob, and whether the exact bytes are kept beside it.

use bstr::BStr;

use super::{Repo, attribute_files::AttributeFiles, driver::is_of_the_moment, filter::Filters};
use crate::error::{Error, Result};

/// The longest reason, in characters.
const LONGEST_REASON: usize = 200;

/// Converts files of the worktree for a save.
pub(super) struct Converter<'r> {
    repo: &'r Repo,
    worktree: Filters<'r>,
    checkpoint: Filters<'r>,
}

/// A file converted for a save.
pub(super) struct Storable {
    /// The content of the blob; none: the bytes of the file.
    pub(super) blob: Option<Vec<u8>>,
    /// True if the exact bytes must be kept beside it.
    pub(super) needs_raw: bool,
    /// Why the blob is not what the filter would make; none if no filter failed. Git continues without an optional one.
    pub(super) failure: Option<Failure>,
}

/// Why a filter failed.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub(super) reason: String,
    /// True if the next try may succeed, because the system refused to start the filter.
    pub(super) is_of_the_moment: bool,
}

impl Failure {
    fn of(error: &Error) -> Self {
        let causes = error.causes();
        let reason = causes.last().map_or_else(|| error.message(), String::as_str);
        let reason = reason.lines().next().unwrap_or_default().chars().take(LONGEST_REASON).collect();
        Self { reason, is_of_the_moment: is_of_the_moment(error) }
    }
}

impl<'r> Converter<'r> {
    /// Returns a converter for a tree with the attribute files `files`. If it `stores_nothing`, nor does git that converts for it.
    pub(super) fn new(repo: &'r Repo, files: &AttributeFiles, stores_nothing: bool) -> Result<Self> {
        let worktree = if stores_nothing { Filters::for_look(repo)? } else { Filters::for_worktree(repo)? };
        Ok(Self { repo, worktree, checkpoint: Filters::of_checkpoint(repo, files.clone())? })
    }

    /// Converts `bytes` of the file `path`. If a filter fails, the exact bytes are stored.
    ///
    /// # Errors
    /// If the operation is interrupted, or if reading an attribute file might never end.
    pub(super) fn storable(&mut self, path: &BStr, bytes: &[u8]) -> Result<Storable> {
        self.worktree.refuse_endless(path)?;
        drop(self.worktree.take_forgiven());
        let stored = self.worktree.to_git(path, bytes).map(|blob| {
            let failure = self.worktree.take_forgiven().map(|error| Failure::of(&error));
            let needs_raw =
                failure.is_some() || self.checkpoint.needs_raw(path, bytes, blob.as_deref()).unwrap_or(true);
            Storable { blob, needs_raw, failure }
        });
        self.repo.check_interrupt()?;
        Ok(stored.unwrap_or_else(|error| {
            tracing::debug!(%error, "stored a file without conversion");
            let failure = Some(Failure::of(&error));
            Storable { blob: None, needs_raw: true, failure }
        }))
    }
}
