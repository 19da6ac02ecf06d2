//! Finds checkpoints that were fetched from a remote, or imported from a file: `<remote>/<id>`, `<remote>/<tag>`, and the same of an import.

use std::collections::{BTreeMap, BTreeSet};

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
    if let Some(tagged) = tagged(repo, text)? {
        return Ok(Some(tagged));
    }
    let Some((remote, hex)) = parse(text) else { return Ok(None) };
    // A remote and an import may have the same name, and the same checkpoint: then it has the same files.
    let mut found: BTreeMap<(String, ObjectId), ObjectId> = BTreeMap::new();
    for namespace in [remote, &refname::imported(remote)].map(refname::fetched_shared) {
        for (name, commit) in repo.refs_below(&namespace)? {
            if let Some(id) = name.strip_prefix(&namespace).filter(|id| id.starts_with(&hex)) {
                found.entry((id.to_owned(), repo.tree_of_commit(commit)?)).or_insert(commit);
            }
        }
    }
    if found.len() <= 1 {
        return Ok(found.into_values().next());
    }
    let ids: BTreeSet<&String> = found.keys().map(|(id, _)| id).collect();
    let error = Error::user(format!("'{text}' is ambiguous: {} checkpoints match", found.len()));
    Err(error.with_hint(match ids.len() {
        1 => {
            "one was fetched and one imported: 'git checkpoint import --as <name>' gives the imported one another name"
        }
        _ => "more digits of the id tell them apart",
    }))
}

/// Returns the author of what a restore of the commit `id` brings, if that carries a checkpoint of another clone: unknown, since its
/// message says who took the last step to it, and not who made the others.
pub(crate) fn author_of(repo: &Repo, id: ObjectId) -> Option<Origin> {
    let message = repo.with_commit(id, |commit| commit.message.to_owned()).ok()?;
    shared::id_in(message.to_str().ok()?)?;
    Some(Origin { contributor: Contributor::Unknown, ..Origin::default() })
}

/// Returns the commit that carries the checkpoint with a tag that was fetched or imported.
///
/// # Errors
/// If there are several.
fn tagged(repo: &Repo, text: &str) -> Result<Option<ObjectId>> {
    let mut found: Vec<(ObjectId, ObjectId)> = Vec::new();
    // The names of remotes and of tags may have slashes.
    for (at, _) in text.match_indices('/') {
        let (remote, tag) = (&text[..at], &text[at + 1..]);
        for remote in [remote.to_owned(), refname::imported(remote)] {
            let Some(commit) = repo.find_sound_ref(&refname::tracking_ref(&remote, &refname::tag_ref(tag)))? else {
                continue;
            };
            // With the same files, it is the same to all commands.
            let tree_id = repo.tree_of_commit(commit)?;
            if found.iter().all(|(known, _)| *known != tree_id) {
                found.push((tree_id, commit));
            }
        }
    }
    if found.len() > 1 {
        let error = Error::user(format!("'{text}' is ambiguous: {} tags match", found.len()));
        return Err(error.with_hint("'git checkpoint list --fetched' shows them; <remote>/<id> names one"));
    }
    Ok(found.pop().map(|(_, commit)| commit))
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
