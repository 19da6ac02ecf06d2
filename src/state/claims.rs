//! `<git-dir>/checkpoint/claims`: which sessions have tools at work in a worktree, one small file each.
//!
//! Read and written under the worktree's lock. What makes no sense is no claim. Beside them are two files of one line, a
//! session's id: `owner`, written by whoever makes a linked worktree for a session, and `lost`.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use super::{directory, ensure_directory, replace_file};
use crate::{
    error::{Context as _, Error, Kind, Result},
    model::{claim::Claim, refname::encode_component, session::is_valid_id},
};

/// More than this is in a claim's file only if it is damaged.
const LONGEST: u64 = 1 << 16;

/// Returns where the claims on the worktree of `git_dir` are.
pub(crate) fn folder(git_dir: &Path) -> PathBuf {
    directory(git_dir).join("claims")
}

fn file(git_dir: &Path, session: &str) -> PathBuf {
    folder(git_dir).join(format!("{}.toml", encode_component(session.into())))
}

/// Returns the claim of `session` on the worktree of `git_dir`.
pub(crate) fn load(git_dir: &Path, session: &str) -> Option<Claim> {
    read(&file(git_dir, session)).filter(|claim| claim.session == session)
}

/// Returns the claims of all sessions but `session`, by id.
pub(crate) fn others(git_dir: &Path, session: &str) -> Vec<Claim> {
    let entries = fs::read_dir(folder(git_dir)).into_iter().flatten().flatten();
    let mut claims: Vec<Claim> = entries.filter_map(|entry| read(&entry.path())).collect();
    claims.retain(|claim| claim.session != session);
    claims.sort_by(|a, b| a.session.cmp(&b.session));
    claims
}

fn read(path: &Path) -> Option<Claim> {
    let is_sound = fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() <= LONGEST);
    let text = is_sound.then(|| fs::read_to_string(path).ok())??;
    Claim::parse(&text)
}

/// Writes `claim`.
pub(crate) fn store(git_dir: &Path, claim: &Claim) -> Result<()> {
    ensure_directory(git_dir)?;
    let folder = folder(git_dir);
    fs::create_dir_all(&folder).context(Kind::Internal, || format!("cannot create '{}'", folder.display()))?;
    replace_file(&file(git_dir, &claim.session), claim.to_toml().as_bytes())
}

/// Removes the claim of `session`, if it has one.
pub(crate) fn remove(git_dir: &Path, session: &str) -> Result<()> {
    let path = file(git_dir, session);
    match fs::remove_file(&path) {
        Err(cause) if cause.kind() != ErrorKind::NotFound => {
            Err(Error::internal(format!("cannot remove '{}'", path.display())).with_cause(cause))
        }
        _ => Ok(()),
    }
}

fn owner_file(git_dir: &Path) -> PathBuf {
    directory(git_dir).join("owner")
}

/// Returns the session that the linked worktree of `git_dir` was made for, if it was made for one.
pub(crate) fn owner(git_dir: &Path) -> Option<String> {
    let path = owner_file(git_dir);
    let is_sound = fs::metadata(&path).is_ok_and(|metadata| metadata.is_file() && metadata.len() <= LONGEST);
    let text = is_sound.then(|| fs::read_to_string(path).ok())??;
    text.lines().next().filter(|id| is_valid_id(id)).map(Into::into)
}

/// Hands the worktree of `git_dir` over to `session`, if it was made for another one.
pub(crate) fn hand_over(git_dir: &Path, session: &str) -> Result<()> {
    match owner(git_dir) {
        Some(owner) if owner != session => replace_file(&owner_file(git_dir), format!("{session}\n").as_bytes()),
        _ => Ok(()),
    }
}

fn lost_file(git_dir: &Path) -> PathBuf {
    directory(git_dir).join("lost")
}

/// Notes that what was known of `session` was gone before its tool had ended.
pub(crate) fn note_lost(git_dir: &Path, session: &str) -> Result<()> {
    ensure_directory(git_dir)?;
    replace_file(&lost_file(git_dir), format!("{session}\n").as_bytes())
}

/// Returns the session that was noted so last, until [`forget_lost`].
pub(crate) fn lost(git_dir: &Path) -> Option<String> {
    let text = fs::read_to_string(lost_file(git_dir)).ok()?;
    text.lines().next().filter(|id| is_valid_id(id)).map(Into::into)
}

/// Takes that note away: a new turn begins.
pub(crate) fn forget_lost(git_dir: &Path) {
    // What stays is an old note in `status`.
    drop(fs::remove_file(lost_file(git_dir)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_come_back_and_damage_is_no_claim() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let git_dir = directory.path();
        assert_eq!(load(git_dir, "../x"), None);
        let mut claim = Claim::new("../x");
        claim.seen = 5;
        store(git_dir, &claim).expect("it can be written");
        store(git_dir, &Claim::new("y")).expect("it can be written");
        assert_eq!(load(git_dir, "../x"), Some(claim.clone()));
        assert_eq!(others(git_dir, "y"), [claim]);
        fs::write(file(git_dir, "../x"), "version = 1").expect("it is ours");
        assert_eq!(load(git_dir, "../x"), None);
        assert_eq!(others(git_dir, "y"), []);
        remove(git_dir, "../x").expect("it is ours");
        remove(git_dir, "../x").expect("nothing to do");
        assert_eq!(others(git_dir, "").len(), 1);
    }
}
