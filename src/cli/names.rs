//! Prints paths and ids for people as git's settings say: paths relative to the current directory, and ids abbreviated.

use std::{path::Path, sync::Arc};

use bstr::{BString, ByteSlice as _};

use gix::ObjectId;

use super::{output::printable, phrase};
use crate::{
    error::Error,
    git::{Abbreviation, Repo},
    model::path_text,
};

/// How a command prints paths and ids for people. In JSON and with `-z`, paths begin at the root, and ids are whole.
#[derive(Default)]
pub(super) struct Names {
    /// The directory that paths are relative to, with final `/`; empty for the root.
    prefix: BString,
    abbreviation: Option<Arc<Abbreviation>>,
}

impl Names {
    /// Returns how to print paths and ids in the current directory, by the settings of `repo`.
    pub(super) fn new(repo: &Repo) -> Self {
        let is_relative = repo.config_bool("status.relativePaths").unwrap_or(true);
        let prefix = if is_relative { repo.prefix(Path::new(".")) } else { BString::default() };
        Self { prefix, abbreviation: Some(repo.abbreviation()) }
    }

    /// Returns `path` as `git status` prints it: relative to the current directory, unless `status.relativePaths` is false.
    pub(super) fn path(&self, path: &BString) -> String {
        phrase::quoted(&path_text::relative(path.as_bstr(), self.prefix.as_bstr()))
    }

    /// Returns `message`, which has `path` in single quotes, with the path as people read it.
    pub(super) fn in_message(&self, message: &str, path: Option<&BString>) -> String {
        let Some(path) = path else { return message.to_owned() };
        message.replacen(&format!("'{}'", printable(path)), &format!("'{}'", self.path(path)), 1)
    }

    /// Returns `error` with the path that it is about as people read it.
    pub(super) fn in_error(&self, error: Error) -> Error {
        let message = self.in_message(error.message(), error.path());
        error.with_message(message)
    }

    /// Returns `id` abbreviated as `core.abbrev` wants it; whole without a repository.
    pub(super) fn id(&self, id: &ObjectId) -> String {
        self.abbreviation.as_ref().map_or_else(|| id.to_string(), |abbreviation| abbreviation.of(id))
    }

    /// Returns the name of a ref with the ids in it abbreviated, for where the whole name has no room.
    pub(super) fn in_ref(&self, name: &str) -> String {
        let part = |part: &str| ObjectId::from_hex(part.as_bytes()).map_or_else(|_| part.to_owned(), |id| self.id(&id));
        name.split('/').map(part).collect::<Vec<_>>().join("/")
    }

    /// Returns how many digits most ids of `kind` have.
    pub(super) fn digits(&self, kind: gix::hash::Kind) -> usize {
        self.abbreviation.as_ref().map_or_else(|| kind.len_in_hex(), |abbreviation| abbreviation.digits(kind))
    }
}
