//! The repository that the directory of a round is in.

use std::fs;

use bstr::BString;

use super::{super::Context, scratch};
use crate::{
    error::{Error, Result},
    git::Repo,
    state::rounds::Place,
};

/// Opens the repository of the directory of `place`, which must be this one; returns also where in its worktree the directory is.
pub(super) fn repo_of(context: &Context, place: &Place) -> Result<(Repo, BString)> {
    let path = place.context.display();
    if !Repo::is_inside_repository(&place.context) {
        return Err(Error::refused(format!("'{path}' is in no git repository"))
            .with_hint("'--mode isolated' lets an agent work in a copy, and '--mode legacy' in the directory itself"));
    }
    let repo = Repo::open(&place.context)?;
    let directory = scratch::place_in(&repo, &place.context)?;
    let real = |repo: &Repo| fs::canonicalize(repo.common_dir()).ok();
    if real(&repo).is_some() && real(&repo) == real(&context.repo) {
        return Ok((repo, directory));
    }
    Err(Error::refused(format!("'{path}' is in another repository than this one"))
        .with_hint("a round has directories of one repository: run it there"))
}
