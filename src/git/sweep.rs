//! Removes what our own processes left when they were killed: temporary files, and the locks of refs.

use super::{Repo, keep};
use crate::state::{self, temporary};

impl Repo {
    /// Removes the files that the processes `nonces` have left, who were killed while they held one of our own locks.
    pub(crate) fn sweep(&self, nonces: &[String]) {
        let objects = self.inner.objects.store_ref().path();
        temporary::sweep(objects, nonces);
        temporary::sweep(&objects.join("pack"), nonces);
        keep::sweep(&objects.join("pack"), nonces);
        for git_dir in [self.git_dir(), self.common_dir()] {
            temporary::sweep(&state::directory(git_dir), nonces);
        }
        temporary::sweep(&state::sessions::folder(self.common_dir()), nonces);
    }
}
