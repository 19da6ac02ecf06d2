//! Stores a pack that another repository sends, with git's own checks.

use std::io::{Read, Seek as _};

use bstr::ByteSlice as _;

use super::super::{
    Repo,
    patience::{is_stall, too_much},
    received::{Basis, Received},
    said::shown,
};
use crate::error::{Context as _, Error, Kind, Result};

/// Stores `pack`, built on `basis`, beside the objects of `repo`, if it has at most `limit` bytes.
///
/// # Errors
/// If git finds a malformed object, or one that leads to an object that is missing. Nothing is stored then.
pub(in crate::git) fn store(
    repo: &Repo,
    pack: &mut dyn Read,
    basis: Basis<'_>,
    limit: Option<u64>,
) -> Result<Received> {
    let what = || "cannot store what the other side sent".to_owned();
    let received = Received::begin(repo, basis)?;
    let most = limit.map(|limit| format!("--max-input-size={limit}"));
    // `--strict` is what `git fetch` asks for with `fetch.fsckObjects`.
    let arguments = ["index-pack", "--stdin", "--fix-thin", "--strict"].map(ToOwned::to_owned);
    // A file, since nothing reads a pipe while the pack is written to the other one.
    let mut said = tempfile::tempfile().context(Kind::Internal, what)?;
    let stderr = said.try_clone().context(Kind::Internal, what)?;
    let arguments = arguments.into_iter().chain(most);
    let mut git = repo.start_storing_git(arguments, &received, stderr).context(Kind::Internal, what)?;
    let copied = std::io::copy(pack, &mut git);
    if copied.as_ref().is_err_and(is_stall) {
        // That nothing came, it would take for the end.
        git.end();
        return copied.context(Kind::User, what).map(|_| received);
    }
    let output = git.output(b"").context(Kind::Internal, what)?;
    if !output.status.success() {
        said.rewind().context(Kind::Internal, what)?;
        let mut text = Vec::new();
        // Git says one thing for each malformed object.
        said.take(1 << 16).read_to_end(&mut text).context(Kind::Internal, what)?;
        // The words are those of git in all languages; if they change, the message is the other one.
        let message = match () {
            () if text.contains_str("early EOF") => "the other side has stopped sending".into(),
            () if text.contains_str("maximum allowed size") => too_much(limit.unwrap_or_default()),
            () => what(),
        };
        return Err(Error::user(message).with_cause(shown(&text)));
    }
    copied.context(Kind::User, what)?;
    Ok(received)
}
