//! The attribution of one file of a commit: the lines that git counts as added, with the owners that the records name.

use std::{collections::HashSet, rc::Rc};

use bstr::{BStr, BString, ByteSlice as _};
use gix::ObjectId;

use super::{
    authors::{CARRIER, is_in_none},
    commit::Reader,
    known::{Known, Otherwise},
    recorded::Recorded,
    text::{Text, usual_edits},
};
use crate::{
    error::Result,
    git::line_edits::{self, kept_lines},
    model::{
        attribution::{
            AuthorId, Differ, FileOwnership, Owner, Span,
            carry::{carry, restrict},
            combine::{Beside, Removal, combine, owner, removed},
            text::File,
        },
        change::{Change, Leaf, Mode},
        contributor::Contributor,
    },
};

/// How many commits without a record blame examines for lines that were only moved or reformatted: each costs a diff.
const MOST_LOOKED_AT: usize = 100;

/// The owners of the lines that a commit added to a blob.
pub(crate) struct BlobOwners {
    views: Vec<Vec<Span>>,
    beside: Beside,
}

impl BlobOwners {
    /// Returns the owner of `line`, counted from 1.
    pub(crate) fn owner(&self, line: u32) -> Owner {
        owner(&self.views, line.saturating_sub(1) as usize, self.beside)
    }
}

/// The file according to one record.
struct View<'v> {
    record: &'v Recorded,
    file: &'v File,
    before: Option<ObjectId>,
}

impl Reader<'_> {
    /// Returns the lines of both sides of `change`; none if git does not count any.
    pub(crate) fn text(&mut self, change: &Change) -> Result<Option<Text>> {
        if let Some(text) = self.texts.remove(&change.path) {
            return Ok(text);
        }
        let (Some(before), Some(after)) = (self.side(change, change.before)?, self.side(change, change.after)?) else {
            return Ok(None);
        };
        let edits = match (change.before, change.after) {
            (Some(old), Some(new)) => self.counting.edits((old.id, new.id), &before, &after)?,
            _ => usual_edits(&before, &after),
        };
        Ok(Some(Text::new(before, after, edits)))
    }

    /// Returns the content of a file: empty if the file is absent, none if git does not treat it as text.
    fn side(&mut self, change: &Change, leaf: Option<Leaf>) -> Result<Option<Vec<u8>>> {
        let Some(leaf) = leaf else { return Ok(Some(Vec::new())) };
        if matches!(leaf.mode, Mode::Link | Mode::Gitlink) {
            return Ok(None);
        }
        let bytes = self.repo.read_blob(leaf.id)?;
        let declared = self.attributes.is_binary(change.path.as_bstr())?;
        Ok((!declared.unwrap_or_else(|| line_edits::is_binary(&bytes))).then_some(bytes))
    }

    /// Returns the attribution of `change` by `records` (newest first); lines that are in none of them are as
    /// `otherwise` says.
    pub(super) fn file(
        &mut self,
        commit: ObjectId,
        change: &Change,
        records: &[Rc<Recorded>],
        otherwise: Otherwise,
    ) -> Result<(FileOwnership, Option<Text>)> {
        let views = self.views(commit, change, records)?;
        let text = self.text(change)?;
        let mut ownership =
            FileOwnership { path: change.path.clone(), from: change.old_path.clone(), ..Default::default() };
        let Some(text) = text else {
            let exact = views.iter().find(|view| view.file.blob == change.after.map(|leaf| leaf.id));
            let recorded = exact.map(|view| &view.file.ownership);
            // A file that git now treats as binary may have had lines when it was recorded.
            let whole =
                recorded.and_then(|recorded| recorded.whole.or_else(|| recorded.spans.first().map(|span| span.owner)));
            ownership.whole = Some(whole.unwrap_or(Owner::Author(otherwise.author)));
            return Ok((ownership, None));
        };
        ownership.is_cut_off = views.iter().any(|view| view.file.ownership.is_cut_off);
        self.spans(commit, change, &text, (&views, records), otherwise, &mut ownership)?;
        self.removals(change, &text, &views, otherwise, &mut ownership)?;
        Ok((ownership, Some(text)))
    }

    /// Returns the owners of all lines that the commit may have added at `path`; without a record, the presumed author of the
    /// whole file. Agrees with [`commit`](Self::commit).
    pub(crate) fn blob_owners(
        &mut self,
        commit: ObjectId,
        path: &BStr,
    ) -> Result<std::result::Result<BlobOwners, AuthorId>> {
        let Known { deciding: records, otherwise, .. } = self.known(commit)?;
        let author = otherwise.author;
        if records.is_empty() {
            if author != self.authors.plain(Contributor::Human) || self.looked_at == MOST_LOOKED_AT {
                return Ok(Err(author));
            }
            self.looked_at += 1;
        }
        let Some(change) = self.change_at(commit, path)? else { return Ok(Err(author)) };
        let views = self.views(commit, &change, &records)?;
        // git-blame(1) shows lines even for a file that counts as one without lines.
        let exact = views.iter().find(|view| view.file.blob == change.after.map(|leaf| leaf.id));
        if let Some(Owner::Author(author)) = exact.and_then(|view| view.file.ownership.whole) {
            return Ok(Err(author));
        }
        if let ([view], [_]) = (views.as_slice(), records.as_slice())
            && self.is_all_recorded(commit, view, &change, otherwise)?
        {
            let beside = Beside { carrier: CARRIER, author, unclaimed: Owner::Base, keeps_base: true };
            return Ok(Ok(BlobOwners { views: vec![view.file.ownership.spans.clone()], beside }));
        }
        let mut text = if let Some(text) = self.text(&change)? {
            text
        } else {
            let after = change.after.map(|leaf| self.repo.read_blob(leaf.id)).transpose()?;
            Text::new(Vec::new(), after.unwrap_or_default(), Vec::new())
        };
        let is_of_steps = self.is_of_steps(commit, &records)?;
        let has_moves = !is_of_steps && self.look_for_moves(commit, &change, &mut text)?;
        if !is_of_steps && change.before.is_none() && !has_moves {
            return Ok(Err(author));
        }
        let (views, beside) = self.joined(commit, &change, &text, (&views, &records), otherwise)?;
        Ok(Ok(BlobOwners { views, beside }))
    }

    /// Returns how `commit` changes the file at `path`, with the name it had before.
    pub(crate) fn change_at(&self, commit: ObjectId, path: &BStr) -> Result<Option<Change>> {
        let repo = self.repo;
        let tree_id = repo.tree_of_commit(commit)?;
        let parent = repo.parents_of(commit)?.first().copied();
        let parent_tree_id = parent.map_or_else(|| Ok(repo.empty_tree_id()), |id| repo.tree_of_commit(id))?;
        let before = repo.find_leaf(parent_tree_id, path)?;
        if before.is_some() || parent.is_none() {
            return Ok(Change::between(path.to_owned(), before, repo.find_leaf(tree_id, path)?));
        }
        let changes = repo.detect_renames(repo.diff_trees(parent_tree_id, tree_id)?)?;
        Ok(changes.into_iter().find(|change| change.path == path))
    }

    /// Returns the spans of all views, carried to the lines of the commit, and the rules for the other lines.
    fn joined(
        &mut self,
        commit: ObjectId,
        change: &Change,
        text: &Text,
        (views, records): (&[View<'_>], &[Rc<Recorded>]),
        otherwise: Otherwise,
    ) -> Result<(Vec<Vec<Span>>, Beside)> {
        let mut carried: Vec<Vec<Span>> = Vec::with_capacity(views.len());
        let (mut base, mut lost) = (HashSet::new(), Vec::new());
        let human = self.authors.plain(Contributor::Human);
        for view in views {
            let Some(mut spans) = self.carried(commit, view, change, text)? else {
                lost.push(view.record.id);
                continue;
            };
            let mut is_blind = !otherwise.is_complete;
            for older in records.iter().skip_while(|it| it.id != view.record.id).skip(1) {
                is_blind |= self.records.is_blind(view.record, older)?;
            }
            if is_blind {
                // This record counts as human what an older or missing record may attribute to an agent.
                spans.retain(|span| span.owner != Owner::Author(human));
            }
            base.extend(base_lines(&spans));
            if self.records.has_newer_base(view.record, commit)? {
                spans.retain(|span| span.owner != Owner::Base);
            }
            carried.push(spans);
        }
        // The author of lines that cannot be compared with a record is unknown.
        let author = if lost.is_empty() { otherwise.author } else { self.authors.plain(Contributor::Unknown) };
        self.add_moved_on(commit, change, text, (records, &base), &mut carried)?;
        if otherwise.author == human {
            // Lines that are in no record, and were only moved or formatted, are base lines.
            if self.is_of_steps(commit, records)? && self.may_have_moves(commit, records)? {
                let moved = self.moved_in_steps(commit, change, text, |line| is_in_none(&carried, line))?;
                carried.push(moved);
            }
            carried.extend(text.by_content(change).map(|recorded| recorded.spans.clone()));
        }
        if !lost.is_empty() && text.added().into_iter().flatten().any(|line| is_in_none(&carried, line)) {
            self.lacking.extend(lost);
        }
        Ok((carried, Beside { carrier: CARRIER, author, unclaimed: Owner::Author(author), keeps_base: true }))
    }

    /// Adds to `carried` what `records` say about lines of the file that they have in other files. What is in `carried` counts more: it
    /// is from records that have the file. Lines that one of these records calls moved are in `base`.
    fn add_moved_on(
        &mut self,
        commit: ObjectId,
        change: &Change,
        text: &Text,
        (records, base): (&[Rc<Recorded>], &HashSet<usize>),
        carried: &mut Vec<Vec<Span>>,
    ) -> Result<()> {
        let none = Owner::Author(CARRIER);
        let beside = Beside { carrier: CARRIER, author: CARRIER, unclaimed: none, keeps_base: false };
        if text.added().into_iter().flatten().all(|line| owner(carried, line, beside) != none) {
            return Ok(());
        }
        for record in records {
            let moved = self.moved_on(commit, record, change, text, base)?;
            carried.extend(moved);
        }
        Ok(())
    }

    /// Returns true if the only record of `commit` covers exactly this change, and no other record is missing.
    fn is_all_recorded(
        &mut self,
        commit: ObjectId,
        view: &View<'_>,
        change: &Change,
        otherwise: Otherwise,
    ) -> Result<bool> {
        let is_exact =
            view.file.blob == change.after.map(|leaf| leaf.id) && view.before == change.before.map(|leaf| leaf.id);
        let has_base = || view.file.ownership.spans.iter().any(|span| span.owner == Owner::Base);
        Ok(is_exact && otherwise.is_complete && !(has_base() && self.records.has_newer_base(view.record, commit)?))
    }

    fn spans(
        &mut self,
        commit: ObjectId,
        change: &Change,
        text: &Text,
        (views, records): (&[View<'_>], &[Rc<Recorded>]),
        otherwise: Otherwise,
        ownership: &mut FileOwnership,
    ) -> Result<()> {
        let added = text.added();
        if added.is_empty() {
            return Ok(());
        }
        if let ([view], [_]) = (views, records)
            && self.is_all_recorded(commit, view, change, otherwise)?
        {
            ownership.spans = restrict(&view.file.ownership.spans, &added, Owner::Base);
            return Ok(());
        }
        let (carried, beside) = self.joined(commit, change, text, (views, records), otherwise)?;
        ownership.spans = combine(&carried, &added, beside);
        Ok(())
    }

    /// Returns the recorded spans, carried to the lines of the commit; none if the recorded blob is gone.
    fn carried(&self, commit: ObjectId, view: &View<'_>, change: &Change, text: &Text) -> Result<Option<Vec<Span>>> {
        match view.file.blob {
            Some(blob) if Some(blob) == change.after.map(|leaf| leaf.id) => {
                self.with_base_lines(commit, view, change, &text.after).map(Some)
            }
            Some(blob) if self.repo.has_object(blob) => {
                let before = self.repo.read_blob(blob)?;
                let spans = self.with_base_lines(commit, view, change, &before)?;
                let steps = line_edits::step_edits;
                let differ = Differ::new(&steps, &steps);
                Ok(Some(carry(&differ, &spans, &before, &text.after, CARRIER)))
            }
            Some(_) => Ok(None),
            None => Ok(Some(Vec::new())),
        }
    }

    /// Returns the spans of the recorded file, whose content is `recorded`. If git saw a rename then and sees a new file in `commit`,
    /// they include the lines that the old file has in its parent: of these, the record says nothing.
    fn with_base_lines(
        &self,
        commit: ObjectId,
        view: &View<'_>,
        change: &Change,
        recorded: &[u8],
    ) -> Result<Vec<Span>> {
        let (repo, mut spans) = (self.repo, view.file.ownership.spans.clone());
        let Some(from) = view.file.ownership.from.as_ref().filter(|_| change.before.is_none()) else {
            return Ok(spans);
        };
        let parent = repo.parents_of(commit)?.first().map(|parent| repo.tree_of_commit(*parent)).transpose()?;
        let leaf = parent.map(|tree_id| repo.find_leaf(tree_id, from.as_bstr())).transpose()?.flatten();
        let Some(leaf) = leaf.filter(|leaf| leaf.mode != Mode::Gitlink && repo.has_object(leaf.id)) else {
            return Ok(spans);
        };
        let mut base = restrict(&spans, &kept_lines(&repo.read_blob(leaf.id)?, recorded), Owner::Base);
        base.retain(|span| span.owner == Owner::Base);
        spans.retain(|span| span.owner != Owner::Base);
        spans.extend(base);
        spans.sort_by_key(|span| span.start);
        Ok(spans)
    }

    fn removals(
        &mut self,
        change: &Change,
        text: &Text,
        views: &[View<'_>],
        otherwise: Otherwise,
        ownership: &mut FileOwnership,
    ) -> Result<()> {
        let deleted = text.deleted();
        let total = deleted.iter().map(ExactSizeIterator::len).sum::<usize>();
        if total == 0 {
            return Ok(());
        }
        let human = self.authors.plain(Contributor::Human);
        if let [view] = views
            && view.file.ownership.deleted() as usize == total
            && otherwise.is_complete
        {
            let recorded = &view.file.ownership;
            (ownership.removed, ownership.kept) = (recorded.removed.clone(), recorded.kept);
            return Ok(());
        }
        if views.is_empty() && otherwise.author == human {
            ownership.kept = text.by_content(change).map_or(0, |recorded| recorded.kept);
            let removed = u32::try_from(total).unwrap_or(u32::MAX) - ownership.kept;
            ownership.removed = if removed > 0 { vec![(otherwise.author, removed)] } else { Vec::new() };
            return Ok(());
        }
        let mut removals = Vec::new();
        for view in views.iter().rev() {
            let recorded = &view.file.ownership;
            let blob = |id: Option<ObjectId>| match id {
                Some(id) if self.repo.has_object(id) => self.repo.read_blob(id).map(Some),
                Some(_) => Ok(None),
                None => Ok(Some(Vec::new())),
            };
            if let (Some(before), Some(after)) = (blob(view.before)?, blob(view.file.blob)?) {
                let mut by = recorded.removed.clone();
                by.retain(|(author, _)| *author != human || otherwise.is_complete);
                removals.push(Removal { before, after, by, kept: recorded.kept });
            }
        }
        if change.before.is_some() {
            (ownership.removed, ownership.kept) =
                removed(&text.before, &deleted, &removals, &usual_edits, otherwise.author);
        }
        Ok(())
    }

    /// Returns what `records` contain about the file that `commit` changes, newest first, under all names it had.
    fn views<'v>(&mut self, commit: ObjectId, change: &Change, records: &'v [Rc<Recorded>]) -> Result<Vec<View<'v>>> {
        let mut names: Vec<BString> =
            [Some(&change.path), change.old_path.as_ref()].into_iter().flatten().cloned().collect();
        let mut found = Vec::new();
        for record in records {
            // A file that is new in the commit, or to the record, may have had another name when it was recorded.
            let is_new = change.before.is_none() || names.iter().any(|name| record.has_left(name));
            let new = change.after.filter(|_| is_new).and_then(|leaf| record.file_of_blob(leaf.id));
            let known = names.iter().find_map(|name| record.file(name.as_bstr()));
            let mut file = known.filter(|file| file.blob.is_some() || change.after.is_none()).or(new);
            if file.is_none() {
                let former = match self.former_name(commit, record, &names)? {
                    None if is_new || known.is_none() => self.renamed_from(commit, record, &change.path)?,
                    former => former,
                };
                file = former.and_then(|name| record.file(name.as_bstr())).or(known);
            }
            let Some(file) = file else { continue };
            let recorded = &file.ownership;
            let before = record.before(recorded.path.as_bstr());
            found.push(View { record, file, before });
            // An older record has the file under the name that this one begins with.
            names.extend([Some(&recorded.path), recorded.from.as_ref()].into_iter().flatten().cloned());
        }
        Ok(found)
    }
}

/// Returns the lines, from 0, that a record has added and calls base lines: they were moved.
fn base_lines(spans: &[Span]) -> impl Iterator<Item = usize> {
    let base = spans.iter().filter(|span| span.owner == Owner::Base);
    base.flat_map(|span| span.start as usize - 1..span.end as usize)
}
