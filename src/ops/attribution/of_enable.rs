//! Files for the project that `enable` has made. As long as nobody has edited one, nobody has written its lines.

use bstr::ByteSlice as _;
use gix::ObjectId;

use crate::{
    error::Result,
    git::Repo,
    model::change::Change,
    state::installed::{self, Installed},
};

/// What `enable` has made in this repository.
pub(super) struct OfEnable(Vec<(String, ObjectId)>);

impl OfEnable {
    pub(super) fn read(repo: &Repo) -> Result<Self> {
        let of_project = |it: Installed| Some((it.name, it.wrote?)).filter(|_| it.scope == "project");
        Ok(Self(installed::read(repo.common_dir())?.into_iter().filter_map(of_project).collect()))
    }

    /// Returns true if `change` adds such a file as `enable` has left it.
    pub(super) fn has(&self, change: &Change) -> bool {
        let is_it = |(name, id): &(String, ObjectId)| {
            change.path == name.as_bytes().as_bstr() && change.after.is_some_and(|leaf| leaf.id == *id)
        };
        change.before.is_none() && self.0.iter().any(is_it)
    }
}
