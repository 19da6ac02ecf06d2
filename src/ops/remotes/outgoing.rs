//! The last look at what is about to leave this machine: only what records and transcripts consist of, and no secret.

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::shape::{foreign, last};
use crate::{
    error::{Error, Result},
    git::Repo,
    model::{log_place::Place, redact},
};

/// Checks all objects that the commit `tip`, whose tree is at `place` of a log, leads to and `known` commits do not: those that a push
/// sends.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if one is none of ours, or, if `is_scanned`, looks as if it has a secret.
pub(super) fn check(repo: &Repo, place: Place, tip: ObjectId, known: &[ObjectId], is_scanned: bool) -> Result<()> {
    let digits = repo.object_hash().len_in_hex();
    let mut input = format!("{tip}\n");
    input.extend(known.iter().map(|id| format!("^{id}\n")));
    let listed = repo.run_git(&["rev-list", "--objects", "--stdin"], Some(input.as_bytes()))?;
    for line in listed.lines() {
        repo.check_interrupt()?;
        // A commit has no blank behind its id, a root tree no path.
        let Some((id, path)) = line.split_once_str(" ") else { continue };
        let below = place.at(path, digits).ok_or_else(|| foreign(path, ""))?;
        if below.is_tree() {
            continue;
        }
        let Ok(id) = ObjectId::from_hex(id) else { continue };
        if repo.size_of_object(id).is_none_or(|size| size > below.most_bytes(last(path))) {
            return Err(foreign(path, "it is too large"));
        }
        let is_prose = below == Place::Piece || path.ends_with(b"/prompts.toml");
        let is_looked_at = is_scanned && matches!(below, Place::Piece | Place::File);
        let text = if is_looked_at { repo.read_blob(id)? } else { Vec::new() };
        if let Some(kind) = redact::kind_of_secret(&text, is_prose) {
            return Err(Error::refused(format!(
                "{} looks as if it has a secret ({kind}); nothing was sent",
                what(place, path)
            ))
            .with_hint("if there is none, '--no-scan' sends it as it is"));
        }
    }
    Ok(())
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
