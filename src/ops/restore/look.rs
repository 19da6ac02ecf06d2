//! Compares the files at the paths of a plan with what the plan saw, byte for byte.

use std::collections::BTreeSet;

use bstr::{BStr, BString, ByteSlice as _};
use gix::{ObjectId, objs::Kind as ObjectKind};
use rustix::fs::{FileType, Stat};

use super::snapshot::Snapshot;
use crate::{
    error::{Error, Kind, Result},
    git::{
        Repo,
        check_blobs::ReadAhead,
        checkout::{Checkout, Outcome, Stop},
        checkout_names::is_valid_path,
        counter::Phase,
        exact::Exact,
        new_objects::id_of,
        temporary_file::Seen,
    },
    model::{
        change::Mode,
        plan::is_below,
        step::{Content, Step},
        verdict::Why,
    },
};

/// The tree that content belongs to: its attributes (see gitattributes(5)) decide how git converts the content.
#[derive(Clone, Copy)]
pub(super) enum Side {
    Before,
    After,
}

/// What a step finds at its path.
pub(super) enum Found {
    /// What the plan saw: the step is to be done.
    AsBefore(Option<Seen>),
    /// What the step would write: it is already done.
    AsAfter,
}

/// The worktree, and what is needed to compare it with checkpoints.
pub(super) struct Site<'a> {
    repo: &'a Repo,
    pub(super) checkout: Checkout,
    before: Exact<'a>,
    after: Exact<'a>,
    /// Empty directories that the checkpoint before the restore lists.
    empty_directories: BTreeSet<BString>,
    pub(super) has_links: bool,
    has_modes: bool,
    /// Blobs that will be asked for.
    pub(super) ahead: ReadAhead,
}

impl<'a> Site<'a> {
    /// Begins to count: `groups` are to be written.
    pub(super) fn count(&self, groups: usize) {
        self.repo.counter().begin(Phase::Writing, groups);
    }

    /// Counts the group whose turn it is; returns an error once the operation is interrupted.
    pub(super) fn next_group(&self) -> Result<()> {
        self.repo.check_interrupt()?;
        self.repo.counter().add(1);
        Ok(())
    }

    /// Opens the worktree for `steps`, which lead from the state `before` to the state `after`.
    pub(super) fn new(
        repo: &'a Repo,
        nonce: &str,
        (before, after): (&Snapshot, &Snapshot),
        steps: &[Step],
        empty_directories: &[BString],
    ) -> Result<Self> {
        let paths: Vec<BString> = steps.iter().map(|step| step.path.clone()).collect();
        Ok(Self {
            repo,
            checkout: Checkout::open(repo.worktree_root(), nonce)?,
            before: before.exact(repo, &paths)?,
            after: after.exact(repo, &paths)?,
            empty_directories: empty_directories.iter().cloned().collect(),
            has_links: repo.config_bool("core.symlinks").unwrap_or(true),
            has_modes: repo.config_bool("core.fileMode").unwrap_or(true),
            ahead: ReadAhead::default(),
        })
    }

    /// Returns the directories to remove, deepest first, before a file can replace the directory `path`.
    ///
    /// Stops if they contain anything that `clears` does not list: it would be lost.
    pub(super) fn room(&mut self, path: &BStr, clears: &[Step]) -> Outcome<Vec<BString>> {
        let (files, directories) = self.checkout.list(path)?;
        let cleared: BTreeSet<&BString> = clears.iter().map(|step| &step.path).collect();
        let is_known = |directory: &BString| {
            let is_inside = |path: &BString| is_below(path.as_bstr(), directory.as_bstr());
            self.empty_directories.contains(directory)
                || cleared.iter().any(|path| is_inside(path))
                || self.empty_directories.iter().any(is_inside)
        };
        if files.iter().all(|file| cleared.contains(file)) && directories.iter().all(is_known) {
            Ok(directories)
        } else {
            Err(Stop::Left(Why::InTheWay))
        }
    }

    /// Finds out whether `step` is to be done or already done. Stops if its path has anything else.
    pub(super) fn look(&mut self, step: &Step, is_swap: bool) -> Outcome<Found> {
        let path = step.path.as_bstr();
        let is_link = step.after.is_some_and(|content| content.leaf.mode == Mode::Link);
        if !is_valid_path(path, is_link) {
            return Err(Stop::Left(Why::Invalid));
        }
        let Some(stat) = self.checkout.stat(path)? else {
            return match (step.before, step.after) {
                (None, _) => Ok(Found::AsBefore(None)),
                (Some(_), None) => Ok(Found::AsAfter),
                (Some(_), Some(_)) => Err(Stop::Left(Why::UnderWay)),
            };
        };
        if is_dir(&stat) {
            return match step.after {
                // The step removes a file to make way for this directory, which already exists.
                None if is_swap => Ok(Found::AsAfter),
                _ => Err(Stop::Left(Why::InTheWay)),
            };
        }
        if let Some(before) = step.before
            && let Some(id) = self.holds(path, &stat, before, Side::Before)?
        {
            return Ok(Found::AsBefore(Some(Seen { stat, id })));
        }
        if let Some(after) = step.after
            && self.holds(path, &stat, after, Side::After)?.is_some()
        {
            return Ok(Found::AsAfter);
        }
        Err(Stop::Left(if step.before.is_some() { Why::UnderWay } else { Why::InTheWay }))
    }

    /// Returns the id of the bytes of the file `path`, which has `stat`, if it is exactly `content`.
    fn holds(&mut self, path: &BStr, stat: &Stat, content: Content, side: Side) -> Outcome<Option<ObjectId>> {
        let kind = FileType::from_raw_mode(stat.st_mode);
        let is_kind = match content.leaf.mode {
            Mode::Link if self.has_links => kind == FileType::Symlink,
            Mode::Link => kind == FileType::RegularFile,
            Mode::File | Mode::Executable => {
                let is_executable = stat.st_mode & 0o100 != 0;
                kind == FileType::RegularFile
                    && (!self.has_modes || is_executable == (content.leaf.mode == Mode::Executable))
            }
            Mode::Gitlink => false,
        };
        if !is_kind {
            return Ok(None);
        }
        // Times are no evidence: where they are coarse, a file edited at once after the save has the same.
        let bytes = self.checkout.read(path, stat)?;
        let exact = self.id_of(&bytes)?;
        let is_it = self.exact(side).is(path, content, (&bytes, exact));
        let is_it = is_it.map_err(|error| self.unconvertible(error))?;
        Ok(is_it.then_some(exact))
    }

    fn exact(&mut self, side: Side) -> &mut Exact<'a> {
        match side {
            Side::Before => &mut self.before,
            Side::After => &mut self.after,
        }
    }

    /// Returns the id of `bytes` as a blob.
    pub(super) fn id_of(&self, bytes: &[u8]) -> Result<ObjectId> {
        id_of(ObjectKind::Blob, bytes, self.repo.object_hash())
    }

    /// Returns the bytes that a file in the worktree has for `content`, after conversion.
    pub(super) fn bytes(&mut self, path: &BStr, content: Content, side: Side) -> Outcome<Vec<u8>> {
        let id = content.raw.unwrap_or(content.leaf.id);
        let blob = self.ahead.take(id).map_or_else(|| self.repo.read_blob(id), Ok)?;
        self.exact(side).bytes(path, content, blob).map_err(|error| self.unconvertible(error))
    }

    /// Returns how to go on after a failed filter: without this path. An interrupt ends filters, too, but it ends the whole
    /// restore.
    fn unconvertible(&self, error: Error) -> Stop {
        if error.kind() == Kind::User && self.repo.check_interrupt().is_ok() {
            tracing::warn!(%error, "not restored");
            Stop::Left(Why::Unconvertible)
        } else {
            Stop::Failed(error)
        }
    }
}

pub(super) fn is_dir(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}
