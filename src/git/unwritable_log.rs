//! Finds out why the operation log cannot be written, though it can be read.

use std::path::PathBuf;

use rustix::fs::{Access, access};

use super::Repo;
use crate::model::refname;

/// Why an operation log cannot be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoLog {
    /// What is at `path`.
    InTheWay {
        /// What that is.
        why: &'static str,
        /// Its path.
        path: PathBuf,
    },
    /// This directory cannot be written to.
    ReadOnly(PathBuf),
}

impl Repo {
    /// Returns why the operation log of this worktree cannot be written, though what its ref leads to can be read; none if it can.
    pub(crate) fn why_no_operation_log(&self) -> Option<NoLog> {
        let file = self.common_dir().join(refname::operations_ref(self.worktree_id()));
        let is_symbolic = || std::fs::read(&file).is_ok_and(|text| text.starts_with(b"ref:"));
        match file.symlink_metadata() {
            Ok(metadata) if metadata.is_dir() => {
                return Some(NoLog::InTheWay { why: "a directory is in the place of its file", path: file });
            }
            Ok(_) if is_symbolic() => return Some(NoLog::InTheWay { why: "it is a symbolic ref", path: file }),
            _ => {}
        }
        let path = file.parent()?.to_owned();
        match path.symlink_metadata() {
            Ok(metadata) if !metadata.is_dir() => {
                Some(NoLog::InTheWay { why: "a file is in the place of its directory", path })
            }
            Ok(_) if access(&path, Access::WRITE_OK).is_err() => Some(NoLog::ReadOnly(path)),
            _ => None,
        }
    }
}
