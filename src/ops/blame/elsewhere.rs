//! Finds the file that lines were moved from if the commit that has them does not show it: another commit has taken them out of that
//! file, or none has yet.

use std::collections::HashSet;

use bstr::{BStr, BString, ByteSlice as _};
use gix::ObjectId;

use super::super::provenance::left::{Source, left};
use crate::{
    error::Result,
    git::{Repo, find_line::LONGEST_LINE},
    model::attribution::{TELLING_LETTERS, TELLING_LINES},
    ops::share::letters,
};

/// If more files than this have the longest of the lines, it is unclear from which they are.
const MOST_FILES: usize = 32;

/// A file that lines were moved from, and a commit that has it.
pub(super) struct Origin {
    pub(super) commit: ObjectId,
    pub(super) source: Source,
}

/// Returns where the lines `wanted` (from 1) of `text`, the file at `path` in a commit with the parent `parent`, are in `parent`, or
/// were before it; none if no other file has enough of them, or if several do: then it is unclear whose copy they are.
pub(super) fn origin(
    repo: &Repo,
    parent: ObjectId,
    path: &BStr,
    text: &[u8],
    wanted: &[u32],
) -> Result<Option<Origin>> {
    let lines: Vec<&[u8]> = text.lines().collect();
    let wanted = wanted.iter().filter_map(|number| lines.get(usize::try_from(*number).ok()?.checked_sub(1)?));
    let wanted: Vec<&[u8]> = wanted.map(|line| line.trim()).filter(|line| !line.is_empty()).collect();
    let searched = wanted.iter().filter(|line| line.len() <= LONGEST_LINE);
    // The lines were moved. Few of them, of common words, may be in several files that are not searched.
    let is_telling = |longest: &&&[u8]| wanted.len() >= TELLING_LINES || letters(longest) >= TELLING_LETTERS;
    let Some(longest) = searched.max_by_key(|line| line.len()).filter(is_telling) else {
        return Ok(None);
    };
    let has_all = |other: &[u8]| {
        let there: HashSet<&[u8]> = other.lines().map(bstr::ByteSlice::trim).collect();
        wanted.iter().all(|line| there.contains(line))
    };
    if let Some(removed_in) = repo.last_change_of_line(parent, longest)?
        && let Some(before) = repo.parents_of(removed_in)?.first().copied()
    {
        let trees = (repo.tree_of_commit(before)?, repo.tree_of_commit(removed_in)?);
        let mut lost = left(repo, trees, path, text, std::iter::empty())?;
        lost.retain(|source| has_all(&source.text));
        if let Some(source) = lost.pop() {
            return Ok(lost.is_empty().then_some(Origin { commit: before, source }));
        }
    }
    let mut others = repo.files_with_line(parent, longest)?;
    others.retain(|other| *other != path);
    if others.len() > MOST_FILES {
        return Ok(None);
    }
    let mut found: Option<(BString, Vec<u8>)> = None;
    for other in others {
        let leaf = repo.find_leaf(repo.tree_of_commit(parent)?, other.as_bstr())?;
        if let Some(text) = repo.text_of(leaf)?.filter(|text| has_all(text))
            && found.replace((other, text)).is_some()
        {
            return Ok(None);
        }
    }
    Ok(found.map(|(path, text)| Origin { commit: parent, source: Source { path, text, lines: None } }))
}
