//! Whether a command of git is at work whose result nothing leads to yet.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use super::{Repo, holders::entries_of, presence::may_exist, received};
use crate::{
    error::{Error, Result},
    state::lock::Lock,
};

/// Until then, a short command such as `git status`, or a repack of ours, is done.
const LONGEST: Duration = Duration::from_secs(2);
/// How often we look whether it is.
const PAUSE: Duration = Duration::from_millis(20);

/// Permission to remove objects: no other command of git-checkpoint repacks meanwhile. As long as it exists, our own commands give
/// the files of objects that they rely on no later time than `since`.
pub(crate) struct Removing<'r> {
    repo: &'r Repo,
    /// What got a later time is used by others.
    pub(super) since: Duration,
    _lock: Lock,
}

impl Drop for Removing<'_> {
    fn drop(&mut self) {
        self.repo.touch_time.set(None);
    }
}

impl Repo {
    /// Waits until no command of git works on an index or on the objects, and keeps our own commands from repacking.
    ///
    /// # Errors
    /// [`Kind::Race`](crate::error::Kind::Race) if one still works after a while, or repacks.
    pub(crate) fn lock_to_remove(&self) -> Result<Removing<'_>> {
        let start = Instant::now();
        received::sweep(&self.objects_path());
        loop {
            self.wait_for_git()?;
            if let Some(lock) = self.lock_objects()? {
                self.put_back()?;
                let since = lock.taken_at();
                self.touch_time.set(Some(since));
                return Ok(Removing { repo: self, since, _lock: lock });
            }
            self.check_interrupt()?;
            if start.elapsed() > LONGEST {
                return Err(Error::race("the objects are being repacked").with_hint("run it again when that is done"));
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Refuses to remove objects where `git gc` asks a hook of the user which ones to keep.
    pub(crate) fn refuse_recent_objects_hook(&self) -> Result<()> {
        const HOOK: &str = "gc.recentObjectsHook";
        if self.config_value(HOOK).is_none() {
            return Ok(());
        }
        Err(Error::user(format!("'{HOOK}' is set: it may keep objects that purge would remove"))
            .with_hint("unset it meanwhile, if it keeps none that purge removes"))
    }

    /// Returns once no command of git is about to change an index or the objects.
    ///
    /// # Errors
    /// [`Kind::Race`](crate::error::Kind::Race) if one still is after a while.
    pub(super) fn wait_for_git(&self) -> Result<()> {
        let start = Instant::now();
        while let Some(path) = self.git_at_work()? {
            self.check_interrupt()?;
            if start.elapsed() > LONGEST {
                let what = format!("another git command is at work: '{}' is there", path.display());
                return Err(
                    Error::race(what).with_hint("run it again when the command is done; if none runs, remove it")
                );
            }
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// Returns what an unfinished command of git has: an index, or objects that it receives. What is in it, or what it leads to,
    /// is in no other place. Or the mark of a `git gc`.
    pub(super) fn git_at_work(&self) -> Result<Option<PathBuf>> {
        let is_index = |name: &[u8]| {
            name == b"index.lock" || name.starts_with(b"next-index-") || name.starts_with(b"index.stash.")
        };
        let is_received = |name: &[u8]| name.starts_with(b"tmp_objdir-") || name.starts_with(b"incoming-");
        let find = |directory: &Path, is_at_work: &dyn Fn(&[u8]) -> bool| {
            let is_at_work = |path: &PathBuf| {
                path.file_name().is_some_and(|name| is_at_work(name.as_encoded_bytes())) && may_exist(path)
            };
            Ok(entries_of(directory)?.into_iter().find(is_at_work))
        };
        for git_dir in self.git_dirs()? {
            if let Some(path) = find(&git_dir, &is_index)? {
                return Ok(Some(path));
            }
        }
        let collecting = self.is_git_collecting().then(|| self.common_dir().join("gc.pid"));
        Ok(find(&self.objects_path(), &is_received)?.or(collecting))
    }
}
