//! Stores a pack that another repository sends, with git's own checks.

use std::{
    fs::File,
    io::{Read, Seek as _},
    path::Path,
};

use bstr::ByteSlice as _;

use super::super::{Repo, keep::Keep};
use crate::{
    error::{Context as _, Error, Kind, Result},
    model::path_text,
};

/// Objects that have arrived. Git keeps them while this exists; then, only what refs lead to is safe.
#[derive(Debug, Default)]
#[must_use = "the objects are kept until this is dropped"]
pub(crate) struct Received {
    _keep: Option<Keep>,
}

/// Stores `pack` in the object database of `repo`, if it has at most `limit` bytes.
///
/// # Errors
/// If git finds a malformed object, or one that leads to an object that is missing. Nothing is stored then.
pub(super) fn store(repo: &Repo, pack: &mut dyn Read, limit: Option<u64>) -> Result<Received> {
    let what = || "cannot store what the other side sent".to_owned();
    // Git leaves a part of a pack behind that it refuses. `git prune` removes what has this name, should this process be killed.
    let aside = tempfile::Builder::new().prefix("tmp_objdir-checkpoint-").tempdir_in(repo.objects_path());
    let aside = aside.context(Kind::Internal, what)?;
    let limit = limit.map(|limit| format!("--max-input-size={limit}"));
    // `--strict` is what `git fetch` asks for with `fetch.fsckObjects`.
    let arguments = ["index-pack", "--stdin", "--fix-thin", "--strict"].map(ToOwned::to_owned);
    // A file, since nothing reads a pipe while the pack is written to the other one.
    let mut said = tempfile::tempfile().context(Kind::Internal, what)?;
    let stderr = said.try_clone().context(Kind::Internal, what)?;
    let arguments = arguments.into_iter().chain(limit);
    let mut git = repo.start_storing_git(arguments, aside.path(), stderr).context(Kind::Internal, what)?;
    let copied = std::io::copy(pack, &mut git);
    let output = git.output(b"").context(Kind::Internal, what)?;
    if !output.status.success() {
        said.rewind().context(Kind::Internal, what)?;
        let mut text = Vec::new();
        // Git says one thing for each malformed object.
        said.take(1 << 16).read_to_end(&mut text).context(Kind::Internal, what)?;
        return Err(Error::user(what()).with_cause(path_text::printable(text.trim().as_bstr())));
    }
    copied.context(Kind::User, what)?;
    let name = output.stdout.trim().strip_prefix(b"pack\t").and_then(|name| name.to_str().ok());
    let name = name.ok_or_else(|| Error::internal("cannot read what 'git index-pack' prints"))?;
    adopt(&aside.path().join("pack"), &repo.objects_path().join("pack"), name).context(Kind::Internal, what)?
}

/// Moves the pack `name` from one directory to the other.
fn adopt(from: &Path, to: &Path, name: &str) -> std::io::Result<Result<Received>> {
    std::fs::create_dir_all(to)?;
    let file = |directory: &Path, suffix| directory.join(format!("pack-{name}.{suffix}"));
    let keep = match Keep::new(&file(to, "pack")) {
        Ok(keep) => keep,
        Err(error) => return Ok(Err(error)),
    };
    // Git uses a pack once it has an index.
    for suffix in ["rev", "pack", "idx"] {
        match std::fs::rename(file(from, suffix), file(to, suffix)) {
            Err(error) if suffix == "rev" && error.kind() == std::io::ErrorKind::NotFound => {}
            moved => moved?,
        }
    }
    File::open(to)?.sync_all()?;
    Ok(Ok(Received { _keep: keep }))
}
