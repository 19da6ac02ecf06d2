//! The last look at what is about to leave this machine: only what records and transcripts consist of, and no secret.

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::shape::{LONGEST_LINE, NewObject, check_commit, check_size, new_objects};
use crate::{
    error::{Error, Result},
    git::Repo,
    model::{log_place::Place, redact},
};

/// Whether what leaves is searched for secrets, and what is said of one.
pub(super) struct Scan {
    /// False if the user wants no search.
    pub(super) is_on: bool,
    /// What has not been done then.
    pub(super) undone: &'static str,
    /// What to do if there is none.
    pub(super) hint: String,
}

impl Scan {
    /// Returns the search for checkpoints that are sent.
    pub(super) fn of_checkpoints(is_on: bool) -> Self {
        Self { is_on, undone: "nothing was sent", hint: "'--no-scan' sends it as it is".to_owned() }
    }

    /// Returns the search for a file that is exported.
    pub(super) fn of_export(is_on: bool) -> Self {
        let hint = "'--no-scan' writes it as it is".to_owned();
        Self { is_on, undone: "nothing was written", hint }
    }

    /// Refuses `text` if it looks as if it had a secret; `what` says what it is.
    ///
    /// # Errors
    /// [`Kind::Refused`](crate::error::Kind::Refused) with what it is, and not what it says.
    pub(super) fn refuse(&self, what: impl FnOnce() -> String, text: &[u8], is_prose: bool) -> Result<()> {
        if !self.is_on {
            return Ok(());
        }
        let Some(kind) = redact::kind_of_secret(text, is_prose) else { return Ok(()) };
        let (what, undone) = (what(), self.undone);
        Err(Error::refused(format!("{what} looks as if it has a secret ({kind}); {undone}"))
            .with_hint(format!("if there is none, {}", self.hint)))
    }
}

/// Checks all objects that the commit `tip`, whose tree is at `place` of a log, leads to and `known` commits do not: those that
/// leave.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if one is none of ours, or that of `scan`.
pub(super) fn check(repo: &Repo, place: Place, tip: ObjectId, known: &[ObjectId], scan: &Scan) -> Result<()> {
    new_objects(repo, &[tip], known, LONGEST_LINE, &mut |NewObject { id, path }| {
        let Some(path) = path else {
            check_commit(repo, place, id)?;
            let who = repo.with_commit(id, |commit| commit.author.to_owned())?;
            return scan.refuse(|| format!("the name of the author of the commit {id}"), &who, false);
        };
        let (below, _) = check_size(repo, place, id, path)?;
        if scan.is_on && matches!(below, Place::Piece | Place::File | Place::Note) {
            let is_prose = below != Place::File || path.ends_with(b"/prompts.toml");
            scan.refuse(|| what(place, path), &repo.read_blob(id)?, is_prose)?;
        }
        Ok(())
    })
}

/// Says what is at `path` of a log.
fn what(place: Place, path: &[u8]) -> String {
    let parts: Vec<BString> = path.split_str("/").map(BString::from).collect();
    match (place, &parts[..]) {
        (Place::History, [shard, rest, ..]) if path.ends_with(b"prompts.toml") => {
            format!("a prompt in the record {shard}{rest}")
        }
        (Place::History, [shard, rest, ..]) => format!("the record {shard}{rest}"),
        (Place::Notes, [shard, rest]) => format!("the note for {shard}{rest}"),
        (_, [session, number, ..]) => format!("piece {number} of the transcript of session '{session}'"),
        _ => format!("'{}'", path.as_bstr()),
    }
}
