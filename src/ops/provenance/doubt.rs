//! Finds lines of a commit that a record has, too, but that are too few to be sure that they come from there.

use std::collections::BTreeSet;

use super::super::records;
use crate::{
    error::Result,
    git::{Repo, line_edits::step_edits},
    model::{
        attribution::{
            Author, AuthorId, FileOwnership, Owner, Span,
            kind::{Kind, kind_of},
            text::{Attribution, File},
        },
        change::{Change, Leaf, Mode},
        contributor::Contributor,
        moved::Moved,
        record::RecordId,
    },
};

/// Returns the attribution of the lines that `changes` add and that the records `ids` give to no person: their author is
/// unknown. None if there are no such lines.
pub(crate) fn doubtful_lines(repo: &Repo, changes: &[Change], ids: &[RecordId]) -> Result<Option<Attribution>> {
    let mut stored = Vec::new();
    for id in ids {
        let text = records::attribution(repo, id)?.unwrap_or_default();
        // A damaged record says nothing.
        stored.extend(Attribution::from_text(&text).ok());
    }
    let unknown = Owner::Author(AuthorId::default());
    let mut files = Vec::new();
    for change in changes {
        // Without a record of the file, there is nothing to read.
        if !stored.iter().flat_map(|it| &it.files).any(|file| file.ownership.path == change.path) {
            continue;
        }
        // A partial clone may lack the content.
        if change.after.is_none() || [change.before, change.after].iter().flatten().any(|it| !repo.has_object(it.id)) {
            continue;
        }
        let [before, after] = [change.before, change.after].map(|leaf| repo.text_of(leaf));
        let (Some(before), Some(after)) = (before?, after?) else { continue };
        let added = step_edits(&before, &after);
        let mut lines: BTreeSet<u32> = BTreeSet::new();
        for Attribution { authors, files } in &stored {
            let is_here = |file: &&File| file.ownership.path == change.path;
            let Some(File { blob: Some(blob), ownership }) = files.iter().find(is_here) else { continue };
            let leaf = Some(Leaf { id: *blob, mode: Mode::File }).filter(|leaf| repo.has_object(leaf.id));
            let Some(recorded) = leaf.map_or(Ok(None), |leaf| repo.text_of(Some(leaf)))? else { continue };
            let mut moved = Moved::new(&after, &added);
            moved.look_in(0, &step_edits(&recorded, &after));
            let is_of_person = |line: u32| matches!(kind_of(ownership.owner(line), authors), Kind::Human | Kind::Base);
            lines.extend(moved.found_in(0).filter(|(_, from)| !is_of_person(*from)).map(|(line, _)| line));
        }
        if lines.is_empty() {
            continue;
        }
        let spans = lines.into_iter().map(|line| Span { start: line, end: line, owner: unknown }).collect();
        let ownership = FileOwnership { path: change.path.clone(), spans, ..FileOwnership::default() };
        files.push(File { blob: change.after.map(|leaf| leaf.id), ownership });
    }
    let authors = vec![Author::plain(Contributor::Unknown)];
    Ok((!files.is_empty()).then_some(Attribution { authors, files }))
}
