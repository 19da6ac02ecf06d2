//! Translates a file's mode on disk to git's modes.

use rustix::fs::{FileType, RawMode};

use super::Repo;
use crate::model::change::Mode;

/// Returns git's mode for a file of the type `kind`; none for a directory or special file.
pub(crate) fn mode_of(kind: FileType, bits: RawMode) -> Option<Mode> {
    match kind {
        FileType::RegularFile if bits & 0o100 != 0 => Some(Mode::Executable),
        FileType::RegularFile => Some(Mode::File),
        FileType::Symlink => Some(Mode::Link),
        _ => None,
    }
}

/// What this file system cannot represent, according to git's settings.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Modes {
    ignores_executable: bool,
    lacks_links: bool,
}

impl Modes {
    /// Returns the mode to store for a file whose mode is `mode` on disk and was `before` in the last tree.
    pub(crate) fn stored(self, mode: Mode, before: Option<Mode>) -> Mode {
        let is_file = |mode| matches!(mode, Mode::File | Mode::Executable);
        match before {
            Some(Mode::Link) if is_file(mode) && self.lacks_links => Mode::Link,
            _ if mode == before.unwrap_or(Mode::File) || !is_file(mode) => mode,
            before if self.ignores_executable => before.filter(|before| is_file(*before)).unwrap_or(Mode::File),
            _ => mode,
        }
    }
}

impl Repo {
    /// Returns what the file system of this worktree cannot represent.
    pub(crate) fn modes(&self) -> Modes {
        Modes {
            ignores_executable: self.config_bool("core.fileMode") == Some(false),
            lacks_links: self.config_bool("core.symlinks") == Some(false),
        }
    }
}
