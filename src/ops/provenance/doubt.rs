//! Finds lines of a commit that a record has, too, but that are too few to be sure that they come from there.

use std::collections::BTreeMap;

use super::super::records::evidence;
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
        record::{Parts, RecordId},
    },
};

/// Returns the attribution of the lines that `changes` add and that the records `ids` give to no person: their author is
/// unknown. None if there are no such lines.
pub(crate) fn doubtful_lines(repo: &Repo, changes: &[Change], ids: &[RecordId]) -> Result<Option<Attribution>> {
    let unknown = Owner::Author(AuthorId::default());
    let (_, files) = lines_of_no_person(repo, changes, (ids, &Parts::new()), |_, _| unknown)?;
    let authors = vec![Author::plain(Contributor::Unknown)];
    Ok((!files.is_empty()).then_some(Attribution { authors, files }))
}

/// Returns the attribution of the same lines to the authors that the records say; of a record in `parts`, only of its files there.
pub(crate) fn lines_of_agents(
    repo: &Repo,
    changes: &[Change],
    ids: &[RecordId],
    parts: &Parts,
) -> Result<Option<Attribution>> {
    let offset = |offset: u32, owner: Owner| match owner {
        Owner::Base => Owner::Base,
        Owner::Author(id) => Owner::Author(id + offset),
        Owner::Mixed { of, over, share } => {
            Owner::Mixed { of: of + offset, over: over.map(|over| over + offset), share }
        }
    };
    let (authors, files) = lines_of_no_person(repo, changes, (ids, parts), offset)?;
    Ok((!files.is_empty()).then_some(Attribution { authors, files }))
}

/// Returns the authors of the records `ids`, one record after the other, and the lines that `changes` add and that the records give
/// to no person. `owner` makes the owner of a line from the number of authors before those of its record, and the recorded owner.
fn lines_of_no_person(
    repo: &Repo,
    changes: &[Change],
    (ids, parts): (&[RecordId], &Parts),
    owner: impl Fn(AuthorId, Owner) -> Owner,
) -> Result<(Vec<Author>, Vec<File>)> {
    let (mut stored, mut all) = (Vec::new(), Vec::new());
    for id in ids {
        let text = evidence::attribution(repo, id)?.unwrap_or_default();
        // A damaged record says nothing.
        if let Ok(mut attribution) = Attribution::from_text(&text) {
            if let Some(part) = parts.get(id) {
                attribution.files.retain(|file| part.contains(&file.ownership.path));
            }
            let before = AuthorId::try_from(all.len()).unwrap_or(AuthorId::MAX);
            all.extend(attribution.authors.iter().cloned());
            stored.push((before, attribution));
        }
    }
    let mut files = Vec::new();
    for change in changes {
        // Without a record of the file, there is nothing to read.
        if !stored.iter().flat_map(|(_, it)| &it.files).any(|file| file.ownership.path == change.path) {
            continue;
        }
        // A partial clone may lack the content.
        if change.after.is_none() || [change.before, change.after].iter().flatten().any(|it| !repo.has_object(it.id)) {
            continue;
        }
        let [before, after] = [change.before, change.after].map(|leaf| repo.text_of(leaf));
        let (Some(before), Some(after)) = (before?, after?) else { continue };
        let added = step_edits(&before, &after);
        let mut lines: BTreeMap<u32, Owner> = BTreeMap::new();
        for (offset, Attribution { authors, files }) in &stored {
            let is_here = |file: &&File| file.ownership.path == change.path;
            let Some(File { blob: Some(blob), ownership }) = files.iter().find(is_here) else { continue };
            let leaf = Some(Leaf { id: *blob, mode: Mode::File }).filter(|leaf| repo.has_object(leaf.id));
            let Some(recorded) = leaf.map_or(Ok(None), |leaf| repo.text_of(Some(leaf)))? else { continue };
            let mut moved = Moved::new(&after, &added);
            moved.look_in(0, &step_edits(&recorded, &after));
            for (line, from) in moved.found_in(0) {
                let recorded = ownership.owner(from);
                if !matches!(kind_of(recorded, authors), Kind::Human | Kind::Base) {
                    lines.entry(line).or_insert_with(|| owner(*offset, recorded));
                }
            }
        }
        if lines.is_empty() {
            continue;
        }
        let spans = lines.into_iter().map(|(line, owner)| Span { start: line, end: line, owner }).collect();
        let ownership = FileOwnership { path: change.path.clone(), spans, ..FileOwnership::default() };
        files.push(File { blob: change.after.map(|leaf| leaf.id), ownership });
    }
    Ok((all, files))
}
