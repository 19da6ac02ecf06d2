//! The last look at what is about to leave this machine: only what records and transcripts consist of, and no secret.

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::shape::{NewObject, check_commit, check_size, new_objects};
use crate::{
    error::{Error, Result},
    git::Repo,
    model::{log_place::Place, redact},
};

/// Checks all objects that the commit `tip`, whose tree is at `place` of a log, leads to and `known` commits do not: those that a push
/// sends.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if one is none of ours, or looks as if it has a secret. The latter is not asked if
/// there is no `unscanned`, the command that sends it all the same.
pub(super) fn check(
    repo: &Repo,
    place: Place,
    tip: ObjectId,
    known: &[ObjectId],
    unscanned: Option<&str>,
) -> Result<()> {
    let refuse = |what: String, text: &[u8], is_prose: bool| match redact::kind_of_secret(text, is_prose) {
        Some(kind) => match unscanned {
            Some(command) => {
                Err(Error::refused(format!("{what} looks as if it has a secret ({kind}); nothing was sent"))
                    .with_hint(format!("if there is none, '{command}' sends it as it is")))
            }
            None => Ok(()),
        },
        None => Ok(()),
    };
    new_objects(repo, tip, known, &mut |NewObject { id, path }| {
        let Some(path) = path else {
            check_commit(repo, id)?;
            let who = repo.with_commit(id, |commit| commit.author.to_owned())?;
            refuse(format!("the name of the author of the commit {id}"), &who, false)?;
            return Ok(());
        };
        let below = check_size(repo, place, id, path)?;
        if unscanned.is_some() && matches!(below, Place::Piece | Place::File) {
            let is_prose = below == Place::Piece || path.ends_with(b"/prompts.toml");
            refuse(what(place, path), &repo.read_blob(id)?, is_prose)?;
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
        (_, [session, number, ..]) => format!("piece {number} of the transcript of session '{session}'"),
        _ => format!("'{}'", path.as_bstr()),
    }
}
