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

/// How the text of a file is changed.
pub trait Edit {
    /// Returns the text with our entries, given the one there is.
    fn install(&self, text: Option<&str>) -> Result<String>;
    /// Returns the text without them; none if nothing else was in the file.
    fn uninstall(&self, text: &str) -> Result<Option<String>>;
    /// Returns true if something in `text` is ours.
    fn is_ours(&self, text: &str) -> bool;
    /// Returns false if the whole of `text` is ours, and was edited since.
    fn is_pristine(&self, text: &str) -> bool;
}

/// A file that makes an agent call us.
pub struct Target {
    /// The agent's name.
    pub agent: String,
    /// Whose the file is: `user`, `project` or `local`.
    pub scope: &'static str,
    /// The directory that the scope stands for. All but the user's must not lead out of it.
    pub root: PathBuf,
    /// The file, below that.
    pub name: String,
    /// What it holds.
    pub edit: Box<dyn Edit>,
    /// What is added to the name of a foreign file, which ours runs then; none unless it is a script.
    pub before: Option<&'static str>,
}

impl Target {
    /// Returns the file.
    pub fn path(&self) -> PathBuf {
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
pub struct FileDone {
    /// The agent's name.
    pub agent: String,
    /// Whose the file is.
    pub scope: &'static str,
    /// What was done.
    pub action: Action,
    /// The file.
    #[serde(serialize_with = "path_text::serialize")]
    pub path: BString,
    /// Where the script is that was there before.
    #[serde(serialize_with = "serialize_some")]
    pub before: Option<BString>,
    /// What else there is to say.
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
