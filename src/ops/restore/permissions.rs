//! Permissions that git's modes do not know. A file that only its owner may read, and that a restore deletes, comes back as it was.

use std::collections::BTreeMap;

use bstr::{BString, ByteSlice as _};
use rustix::fs::FileType;

use crate::{
    error::{Context as _, Kind, Result},
    git::{Repo, checkout::Checkout},
    model::{change::Mode, step::Step},
    state::{self, journal::Journal, temporary},
};

/// The bits that allow reading and writing; git knows whether a file is executable.
const READ_AND_WRITE: u32 = 0o666;
/// What they are in an ordinary new file with the usual umask.
const USUAL: u32 = 0o644;

/// Returns the permissions, by path, of the files that `steps` delete, if they are narrower than those of an ordinary new file,
/// and those that `last`, the journal of the restore before, has of paths that have no file now.
pub(super) fn of_files_gone(repo: &Repo, steps: &[Step], last: Option<&Journal>) -> Result<Vec<(BString, u32)>> {
    let mut checkout = Checkout::open(repo.worktree_root(), temporary::nonce())?;
    let mut found = BTreeMap::new();
    for (path, mode) in last.into_iter().flat_map(|last| &last.permissions) {
        let there = checkout.stat(path.as_bstr()).ok().flatten();
        if there.is_none_or(|stat| FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile) {
            found.insert(path.clone(), *mode);
        }
    }
    let mut ordinary = None;
    for step in steps.iter().filter(|step| step.before.is_some() && !is_file(step)) {
        // What cannot be looked at is left alone, too.
        let Ok(Some(stat)) = checkout.stat(step.path.as_bstr()) else { continue };
        let mode = stat.st_mode & 0o777;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile || mode & READ_AND_WRITE == READ_AND_WRITE {
            continue;
        }
        if ordinary.is_none() {
            let directory = state::ensure_directory(repo.git_dir())?;
            let read = temporary::ordinary_permissions(&directory);
            ordinary = Some(read.context(Kind::Internal, || "cannot find out the umask".into())?);
        }
        // The umask may be another one when the file comes back.
        if ordinary.is_some_and(|ordinary| is_narrower(mode, ordinary | USUAL)) {
            found.insert(step.path.clone(), mode);
        }
    }
    Ok(found.into_iter().collect())
}

/// Returns true if `step` leaves a regular file, whose permissions stay.
fn is_file(step: &Step) -> bool {
    step.after.is_some_and(|after| matches!(after.leaf.mode, Mode::File | Mode::Executable))
}

/// Returns true if a file with `mode` may be read or written by fewer than one with the mode `ordinary`.
fn is_narrower(mode: u32, ordinary: u32) -> bool {
    ordinary & !mode & READ_AND_WRITE != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::ordinary(0o644, 0o644, false)]
    #[case::executable(0o755, 0o644, false)]
    #[case::wider(0o664, 0o644, false)]
    #[case::private(0o600, 0o644, true)]
    #[case::of_the_group(0o640, 0o644, true)]
    #[case::read_only(0o444, 0o644, true)]
    #[case::narrow_in_one_way(0o620, 0o644, true)]
    #[case::private_as_all(0o600, 0o600, false)]
    fn narrower_permissions_are_kept(#[case] mode: u32, #[case] ordinary: u32, #[case] expected: bool) {
        assert_eq!(is_narrower(mode, ordinary), expected);
    }
}
