//! What git and other repositories say to people: of it, nothing is read but what it says.

use bstr::ByteSlice as _;

use crate::model::{address::without_userinfo, path_text::printable};

/// Returns what git `said`, fit for a terminal and without passwords.
pub(super) fn shown(said: &[u8]) -> String {
    let said = said.replace("\t", " ");
    let lines = said.lines().map(|line| without_userinfo(&printable(line.trim_end().as_bstr())));
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}
