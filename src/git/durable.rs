//! Makes what was written to the repository survive a power loss.

use super::Repo;
use crate::error::{Context as _, Kind, Result};

impl Repo {
    /// Syncs all objects and refs to disk, including older ones by other programs.
    ///
    /// A checkpoint may refer to objects that an earlier save, or git, wrote a moment ago, so syncing only the new ones
    /// would not suffice. With `core.fsync = none` nothing is synced, as in git.
    pub(crate) fn make_durable(&self) -> Result<()> {
        self.syncing()()
    }

    /// Returns what does the same on another thread.
    pub(crate) fn syncing(&self) -> impl FnOnce() -> Result<()> + Send + use<> {
        let is_wanted = self.config_value("core.fsync").is_none_or(|value| value != "none");
        let directory = is_wanted.then(|| self.common_dir().to_owned());
        let what = || "cannot make the checkpoint durable".into();
        move || directory.map_or(Ok(()), |directory| sync(&directory).context(Kind::Internal, what))
    }
}

#[cfg(target_os = "linux")]
fn sync(directory: &std::path::Path) -> std::io::Result<()> {
    let directory = std::fs::File::open(directory)?;
    match rustix::fs::syncfs(&directory) {
        // Some sandboxes lack it.
        Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) => rustix::fs::sync(),
        other => other?,
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "it is fallible elsewhere")]
fn sync(_directory: &std::path::Path) -> std::io::Result<()> {
    rustix::fs::sync();
    Ok(())
}
