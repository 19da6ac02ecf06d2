//! Creates and removes the empty directories of a restore, and those that its deletions have emptied.

use std::collections::BTreeSet;

use bstr::{BString, ByteSlice as _};

use super::{
    apply::{Applied, Applier},
    carry_out::RestoreRun,
    look::is_dir,
    planned::Planned,
};
use crate::{
    error::Result,
    git::checkout::Stop,
    model::plan::is_below,
    state::journal::{Journal, Progress},
};

impl RestoreRun<'_> {
    /// Removes the directories without files that the restore of `journal` may have made before it was killed: on the way to a
    /// file that it had not moved there yet. Keeps the empty directories of the target.
    pub(super) fn remove_half_made(&self, journal: &Journal) -> Result<()> {
        if journal.progress != Progress::Applying {
            return Ok(());
        }
        let mut directories: BTreeSet<BString> = BTreeSet::new();
        for step in journal.steps.iter().filter(|step| step.before.is_none()) {
            directories.extend(step.path.find_iter("/").map(|at| step.path[..at].into()));
        }
        for known in &self.to.manifest.empty_directories {
            directories.remove(known);
        }
        let mut applier = self.applier(&journal.nonce, &[])?;
        // A directory sorts after those it is in.
        for directory in directories.iter().rev() {
            if let Err(Stop::Failed(error)) = applier.site.checkout.remove_directory(directory.as_bstr()) {
                return Err(error);
            }
        }
        Ok(())
    }
}

impl Applier<'_> {
    /// Adds to `applied`, which has the steps, what [`change_directories`](Self::change_directories) would do.
    pub(super) fn preview_directories(&mut self, planned: &Planned, applied: &mut Applied) {
        for directory in planned.removed.iter().rev() {
            let is_filled = |path: &BString| path == directory || is_below(path.as_bstr(), directory.as_bstr());
            if !self.has_directory(directory) || applied.written.iter().any(is_filled) {
                continue;
            }
            let listed = self.site.checkout.list(directory.as_bstr());
            let is_empty = listed.is_ok_and(|(files, directories)| {
                files.is_empty() && directories.iter().all(|it| it == directory || applied.removed.contains(it))
            });
            if is_empty {
                applied.removed.push(directory.clone());
            }
        }
        for directory in &planned.directories {
            let is_freed = |path: &BString| path == directory || is_below(directory.as_bstr(), path.as_bstr());
            let is_absent = matches!(self.site.checkout.stat(directory.as_bstr()), Ok(None));
            if is_absent || applied.deleted.iter().any(is_freed) {
                applied.directories.push(directory.clone());
            }
        }
    }

    /// Removes the directories that are to go and those that the steps in `applied` have emptied, and creates those that are to be
    /// there.
    pub(super) fn change_directories(&mut self, planned: &Planned, applied: &mut Applied) -> Result<()> {
        for directory in planned.removed.iter().rev() {
            let was_there = self.has_directory(directory);
            match self.site.checkout.remove_directory(directory.as_bstr()) {
                // The run that was interrupted may have removed it.
                Ok(true) if was_there || self.is_resumed => applied.removed.push(directory.clone()),
                Ok(_) | Err(Stop::Left(_)) => {}
                Err(Stop::Failed(error)) => return Err(error),
            }
        }
        self.remove_emptied(applied, &planned.directories.iter().collect())?;
        for directory in &planned.directories {
            match self.site.checkout.make_directory(directory.as_bstr()) {
                Ok(true) => applied.directories.push(directory.clone()),
                Ok(false) => {}
                Err(Stop::Left(why)) => applied.leave(directory.as_bstr(), why),
                Err(Stop::Failed(error)) => return Err(error),
            }
        }
        Ok(())
    }

    /// Returns true if a directory is at `path`.
    fn has_directory(&mut self, path: &BString) -> bool {
        self.site.checkout.stat(path.as_bstr()).is_ok_and(|stat| stat.is_some_and(|stat| is_dir(&stat)))
    }

    /// Removes the directories that our own deletions have emptied, of files or of directories, except those in `keep`.
    fn remove_emptied(&mut self, applied: &Applied, keep: &BTreeSet<&BString>) -> Result<()> {
        let mut done: BTreeSet<BString> = BTreeSet::new();
        for path in applied.deleted.iter().chain(&applied.removed) {
            let mut path = path.as_bstr();
            while let Some(at) = path.rfind_byte(b'/') {
                path = path[..at].as_bstr();
                if keep.contains(&path.to_owned()) || done.contains(path) {
                    break;
                }
                match self.site.checkout.remove_directory(path) {
                    Ok(true) => done.insert(path.to_owned()),
                    Ok(false) | Err(Stop::Left(_)) => break,
                    Err(Stop::Failed(error)) => return Err(error),
                };
            }
        }
        Ok(())
    }
}
