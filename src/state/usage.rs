//! The file of a session with what its models have used: `<common-dir>/checkpoint/sessions/<session>.usage`.

use std::{fs, path::Path};

use super::{
    ensure_directory, read_text, replace_file,
    sessions::{USAGE, file, folder},
};
use crate::{
    error::{Context as _, Kind, Result},
    model::usage::ledger::Ledger,
};

/// More is in it only if it is damaged.
const LONGEST: u64 = 1 << 24;

/// Returns what the models of the session `id` have used; none if nothing is known, or the file makes no sense.
pub(crate) fn read(common_dir: &Path, id: &str) -> Result<Option<Ledger>> {
    let text = read_text(&file(common_dir, id, USAGE), LONGEST)?;
    Ok(text.and_then(|text| Ledger::parse(&text)))
}

/// Writes what the models of the session `id` have used.
pub(crate) fn write(common_dir: &Path, id: &str, ledger: &Ledger) -> Result<()> {
    ensure_directory(common_dir)?;
    let folder = folder(common_dir);
    fs::create_dir_all(&folder).context(Kind::Internal, || format!("cannot create '{}'", folder.display()))?;
    replace_file(&file(common_dir, id, USAGE), ledger.to_text().as_bytes())
}
