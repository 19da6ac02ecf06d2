//! Finds checkpoints that were fetched from a remote: `<remote>/<id>`.

use bstr::ByteSlice as _;
use gix::ObjectId;

use crate::{
    error::{Error, Result},
    git::Repo,
    model::{checkpoint::Origin, contributor::Contributor, path_text::shell_word, refname, shared},
};

/// Returns the remote, and the beginning of an id, that `text` may name.
fn parse(text: &str) -> Option<(&str, String)> {
    let (remote, hex) = text.rsplit_once('/')?;
    let is_hex = (4..=64).contains(&hex.len()) && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_hex && !remote.is_empty()).then(|| (remote, hex.to_ascii_lowercase()))
}

/// Returns the commit that carries the checkpoint which `text` names; none if none was fetched.
///
/// # Errors
/// If there are several.
pub(super) fn find(repo: &Repo, text: &str) -> Result<Option<ObjectId>> {
    let Some((remote, hex)) = parse(text) else { return Ok(None) };
    let namespace = refname::fetched_shared(remote);
    let mut found = repo.refs_below(&namespace)?;
    found.retain(|(name, _)| name[namespace.len()..].starts_with(&hex));
    match found.as_slice() {
        [] => Ok(None),
        [(_, commit)] => Ok(Some(*commit)),
        several => Err(Error::user(format!("'{text}' is ambiguous: {} checkpoints match", several.len()))
            .with_hint("more digits of the id tell them apart")),
    }
}

/// Returns the author of what a restore of the commit `id` brings, if that carries a checkpoint of another clone: unknown, since its
/// message says who took the last step to it, and not who made the others.
pub(crate) fn author_of(repo: &Repo, id: ObjectId) -> Option<Origin> {
    let message = repo.with_commit(id, |commit| commit.message.to_owned()).ok()?;
    shared::id_in(message.to_str().ok()?)?;
    Some(Origin { contributor: Contributor::Unknown, ..Origin::default() })
}

/// Adds to `error`, of a `text` that names nothing, how to get a checkpoint of the remote that it begins with.
pub(super) fn with_hint(repo: &Repo, text: &str, error: Error) -> Error {
    let Some((remote, _)) = parse(text) else { return error };
    let is_remote = repo.remote_names().is_ok_and(|names| names.iter().any(|name| name == remote));
    if !is_remote {
        return error;
    }
    let word = shell_word(remote);
    error.with_hint(format!("'git checkpoint fetch --checkpoints {word}' gets the checkpoints that '{remote}' has"))
}
