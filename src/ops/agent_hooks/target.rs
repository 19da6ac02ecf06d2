//! A file that makes an agent call us, and what was done to it.

use std::path::{Path, PathBuf};

use bstr::BString;
use serde::Serialize;

use super::file;
use crate::{
    error::{Error, Result},
    model::path_text,
    ops::hooks::{Action, bytes, serialize_some},
    state::installed::Installed,
};

/// How to edit the text of a file.
pub(crate) trait Edit {
    /// Returns `text` with our entries added; none means that there is no file yet.
    fn install(&self, text: Option<&str>) -> Result<String>;
    /// Returns the text without our entries; none if nothing else is in the file.
    fn uninstall(&self, text: &str) -> Result<Option<String>>;
    /// Returns true if `text` contains anything of ours.
    fn is_ours(&self, text: &str) -> bool;
    /// Returns false if `text` is a file of ours that was edited since.
    fn is_pristine(&self, text: &str) -> bool;
}

/// A file that makes an agent call us.
pub(crate) struct Target {
    /// The agent's name.
    pub agent: String,
    /// Whom the file is for: `user`, `project` or `local`.
    pub scope: &'static str,
    /// The directory that the scope stands for. Only the user's files may lead out of it.
    pub root: PathBuf,
    /// The file, below that.
    pub name: String,
    /// What it holds.
    pub edit: Box<dyn Edit>,
    /// The suffix for the foreign script that ours replaces and runs first; none if the file is no script.
    pub before: Option<&'static str>,
}

impl Target {
    /// Returns the file.
    pub(crate) fn path(&self) -> PathBuf {
        self.root.join(&self.name)
    }

    pub(super) fn real(&self) -> Result<PathBuf> {
        file::real(&self.path(), (self.scope != "user").then_some(self.root.as_path()))
    }

    pub(super) fn before(&self, path: &Path) -> Option<PathBuf> {
        let mut before = path.as_os_str().to_owned();
        before.push(self.before?);
        Some(before.into())
    }

    pub(super) fn done(&self, action: Action) -> FileDone {
        FileDone {
            agent: self.agent.clone(),
            scope: self.scope,
            action,
            path: bytes(&self.path()),
            before: None,
            note: None,
        }
    }

    pub(super) fn is_noted(&self, entry: &Installed) -> bool {
        (entry.path.as_path(), entry.agent.as_str()) == (&self.path(), &self.agent)
    }
}

/// What was done to one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct FileDone {
    /// The agent's name.
    pub agent: String,
    /// Whom the file is for.
    pub scope: &'static str,
    /// What was done.
    pub action: Action,
    /// The file.
    #[serde(serialize_with = "path_text::serialize")]
    pub path: BString,
    /// Where the replaced foreign script is now.
    #[serde(serialize_with = "serialize_some")]
    pub before: Option<BString>,
    /// A remark for the user.
    pub note: Option<String>,
}

/// Returns `error` with the file that it is about.
pub(super) fn about(path: &Path, error: &Error) -> Error {
    let named = Error::new(error.kind(), format!("cannot change '{}': {error}", path.display()));
    let named = match error.hint() {
        Some(hint) => named.with_hint(hint),
        None => named.with_hint("mend the file, and run it again; nothing was written"),
    };
    error.causes().into_iter().fold(named, Error::with_cause)
}
