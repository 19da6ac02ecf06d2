//! The options of enabling, and what enabling and disabling have done to each hook.

use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice as _, ByteVec as _};
use serde::Serialize;

use crate::model::path_text;

/// How [`enable`](super::enable) does it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    /// The absolute path of the program that hooks call.
    pub program: PathBuf,
    /// True to write into files that the user keeps for a program that manages hooks.
    pub hook_manager: bool,
    /// True to say what would be done, and do nothing.
    pub dry_run: bool,
}

/// What was done to one hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Action {
    /// Our script was written.
    Installed,
    /// Our script was brought up to date.
    Updated,
    /// Our line was added to a file of the user's.
    Added,
    /// It was up to date.
    Unchanged,
    /// The user has to add a line.
    Todo,
    /// Our script or line was removed.
    Removed,
    /// Our script was removed, and the earlier hook is back.
    Restored,
    /// It was left, because it is not as we wrote it.
    Kept,
}

/// What was done to one hook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct HookDone {
    /// Its name.
    pub name: String,
    /// What was done.
    pub action: Action,
    /// The file.
    #[serde(serialize_with = "path_text::serialize")]
    pub path: BString,
    /// Where the earlier hook is now.
    #[serde(serialize_with = "serialize_some")]
    pub before: Option<BString>,
    /// The line that the user has to add.
    pub line: Option<String>,
    /// A remark for the user.
    pub note: Option<String>,
    /// True if the line could be added with [`Options::hook_manager`].
    #[serde(skip)]
    pub is_addable: bool,
}

/// The result of [`enable`](super::enable) and [`disable`](super::disable).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct HooksDone {
    /// The version of the JSON format.
    pub version: u32,
    /// Where git looks for hooks.
    #[serde(serialize_with = "path_text::serialize")]
    pub directory: BString,
    /// The program that manages the hooks of this repository.
    pub manager: Option<String>,
    /// What was done to each hook.
    pub hooks: Vec<HookDone>,
    /// True if nothing was done.
    pub dry_run: bool,
}

impl HookDone {
    /// Returns true if the file, which may be another program's, exists.
    pub(crate) fn has_file(&self) -> bool {
        gix::path::from_bstr(self.path.as_bstr()).is_ok_and(|path| path.symlink_metadata().is_ok())
    }
}

impl HooksDone {
    /// Returns true if the user has something left to do, or to look at.
    pub(crate) fn is_incomplete(&self) -> bool {
        self.hooks.iter().any(|hook| matches!(hook.action, Action::Todo | Action::Kept))
    }
}

#[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
pub(in crate::ops) fn serialize_some<S: serde::Serializer>(
    path: &Option<BString>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    path.as_ref().map(|path| path_text::escape(path.as_ref())).serialize(serializer)
}

/// Returns the bytes of `path`.
pub(in crate::ops) fn bytes(path: &Path) -> BString {
    Vec::from_path_lossy(path).into_owned().into()
}
