//! Whether a place has the work of a record: the index, the worktree, or a commit.

use std::{
    cell::OnceCell,
    collections::{BTreeMap, HashMap},
    ops::Range,
};

use bstr::{BString, ByteSlice};
use gix::ObjectId;

use super::{
    super::{
        records::evidence,
        share::{Least, Share, is_telling, share_of},
    },
    moved_lines::MOST_BYTES,
    moved_on::{Gained, Left, lines_of, spans_from},
    names_now::{Former, LeftOut, Names, Renamed, changed_names, renamed},
};
use crate::{
    error::Result,
    git::Repo,
    model::{
        attribution::{
            FileOwnership, Owner, Span,
            kind::{Kind, agent_of, kind_of},
            moved_on::Enough,
            text::Attribution,
        },
        change::{Change, Leaf, Mode},
        record::{Record, RecordFile, RecordId},
    },
};

/// Where to look for recorded work.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// In the index.
    Staged,
    /// In the worktree, which has this tree.
    Worktree(ObjectId),
    /// In this commit.
    In(ObjectId),
}

impl Place {
    /// Returns the files at `paths`.
    pub(super) fn leaves(self, repo: &Repo, paths: &[BString]) -> Result<BTreeMap<BString, Option<Leaf>>> {
        let tree_id = match self {
            Self::Staged => return repo.staged_leaves(paths),
            Self::Worktree(tree_id) => tree_id,
            Self::In(commit) => repo.tree_of_commit(commit)?,
        };
        let leaf = |path: &BString| Ok((path.clone(), repo.find_leaf(tree_id, path.as_bstr())?));
        paths.iter().map(leaf).collect()
    }

    /// Returns how the place differs from the tree `head_tree_id`.
    pub(super) fn changes(self, repo: &Repo, head_tree_id: ObjectId) -> Result<Vec<Change>> {
        match self {
            Self::Staged => repo.staged_changes(head_tree_id),
            Self::Worktree(tree_id) => repo.diff_trees(head_tree_id, tree_id),
            Self::In(commit) => repo.diff_trees(head_tree_id, repo.tree_of_commit(commit)?),
        }
    }
}

/// Returns the tree of the commit `head`; the empty one if there is none yet.
pub(super) fn head_tree(repo: &Repo, head: Option<ObjectId>) -> Result<ObjectId> {
    head.map_or_else(|| Ok(repo.empty_tree_id()), |id| repo.tree_of_commit(id))
}

/// Returns those of the records `ids` whose work is at `place`: in one file, at least as much as the id is paired with. `changes`
/// are all changes from `head_tree_id` to `place`; none if the caller does not have them.
pub(super) fn records_found_at(
    place: Place,
    repo: &Repo,
    head_tree_id: ObjectId,
    changes: Option<&[Change]>,
    ids: impl IntoIterator<Item = (RecordId, Least)>,
) -> Result<Vec<RecordId>> {
    Ok(found_at(place, repo, head_tree_id, changes, ids)?.into_iter().map(|found| found.id).collect())
}

/// A record whose work is at a place.
pub(super) struct FoundAt {
    pub(super) id: RecordId,
    /// The files of the record of which the place has any work.
    pub(super) files: Vec<BString>,
    /// The other files of the record that the place changes.
    pub(super) others: Vec<BString>,
    /// How many files of the record have work.
    pub(super) count: usize,
}

/// Does the same, and says of which files the place has work.
pub(super) fn found_at(
    place: Place,
    repo: &Repo,
    head_tree_id: ObjectId,
    changes: Option<&[Change]>,
    ids: impl IntoIterator<Item = (RecordId, Least)>,
) -> Result<Vec<FoundAt>> {
    // A commit that only renames a file changes none of its lines, but it has the work under the new name.
    let (mut all, mut may_be_renamed) = (Vec::new(), false);
    for (id, least) in ids {
        let Some(work) = RecordedWork::read(place, repo, id)? else { continue };
        may_be_renamed |= matches!(place, Place::In(_)) && work.has_new(repo, head_tree_id)?;
        all.push((work, least));
    }
    let left_out: Vec<_> = all.iter().flat_map(|(work, _)| work.left_out(repo)).collect();
    let new = match changes {
        _ if left_out.is_empty() && !may_be_renamed => Vec::new(),
        Some(changes) => changes.to_vec(),
        None => place.changes(repo, head_tree_id)?,
    };
    let renames = if may_be_renamed { repo.detect_renames(new.clone())? } else { Vec::new() };
    let former: Former =
        renames.into_iter().filter(|it| it.old_path.is_some()).map(|it| (it.path, it.before)).collect();
    let moved_to = renamed(repo, &left_out, &new)?;
    let changed = changed_names(repo, &left_out, &new)?;
    let (mut found, gained) = (Vec::new(), OnceCell::new());
    let gained = || gained.get_or_init(|| Gained::all(repo, &new)).as_slice();
    for (work, least) in all {
        let names = (&moved_to, &former, &changed);
        let is_there = work.is_there(repo, head_tree_id, names, least)?
            || !work.moved(repo, head_tree_id, (gained(), &moved_to), least)?.is_empty();
        if !is_there {
            continue;
        }
        let (mut files, mut others) = work.split(repo, head_tree_id, names, least.min(Least::Any))?;
        // The place may have a file as HEAD has it, and its lines in another one.
        if files.is_empty() || !others.is_empty() {
            let moved = work.moved(repo, head_tree_id, (gained(), &moved_to), least.min(Least::Any))?;
            others.retain(|path| !moved.contains(path));
            files.extend(moved.into_iter().filter(|path| !files.contains(path)).collect::<Vec<_>>());
        }
        found.push(FoundAt { id: work.id, files, others, count: work.files.len() });
    }
    Ok(found)
}

/// Returns true if lines of the record `id` are in other files at `place`, where its files have the names `renamed`. The changes from
/// `parent_tree_id` that may have brought them there are `changes`.
pub(super) fn is_moved(
    place: Place,
    repo: &Repo,
    id: &RecordId,
    (parent_tree_id, changes): (ObjectId, &[Change]),
    renamed: &Renamed,
) -> Result<bool> {
    let Some(work) = RecordedWork::read(place, repo, *id)? else { return Ok(false) };
    Ok(!work.moved(repo, parent_tree_id, (&Gained::all(repo, changes), renamed), Least::Any)?.is_empty())
}

/// The work of sessions and unknown authors in a record.
struct RecordedWork {
    id: RecordId,
    files: Vec<RecordFile>,
    /// By path, the lines that [`lines_of_no_person`] returns.
    counted_lines: HashMap<BString, Vec<Range<usize>>>,
    /// What the place has at the paths of the files.
    leaves: BTreeMap<BString, Option<Leaf>>,
    /// True if the place is the index.
    is_staged: bool,
}

impl RecordedWork {
    /// Returns none if this repository does not have the record, or if it is damaged: that is no reason to refuse a commit.
    fn read(place: Place, repo: &Repo, id: RecordId) -> Result<Option<Self>> {
        let Ok(Some(Record { mut files, .. })) = evidence::find(repo, &id) else { return Ok(None) };
        let counted_lines = lines_of_no_person(repo, &id)?;
        files.retain(|file| !file.sessions.is_empty() || counted_lines.contains_key(&file.path));
        let paths: Vec<_> = files.iter().map(|file| file.path.clone()).collect();
        let is_staged = matches!(place, Place::Staged);
        Ok(Some(Self { id, leaves: place.leaves(repo, &paths)?, files, counted_lines, is_staged }))
    }

    /// Returns true if the place has a file that the work changed, and the tree `head_tree_id` has none with that name.
    fn has_new(&self, repo: &Repo, head_tree_id: ObjectId) -> Result<bool> {
        for file in self.files.iter().filter(|file| file.before != file.after) {
            let is_here = self.leaves.get(&file.path).copied().flatten().is_some();
            if is_here && repo.find_leaf(head_tree_id, file.path.as_bstr())?.is_none() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the files that may have another name now.
    fn left_out(&self, repo: &Repo) -> Vec<LeftOut> {
        let now = |file: &RecordFile| self.leaves.get(&file.path).copied().flatten();
        self.files.iter().filter_map(|file| LeftOut::of(repo, file, file.after, now(file))).collect()
    }

    /// Returns true if the place has at least `least` of the work in one file.
    fn is_there(&self, repo: &Repo, head_tree_id: ObjectId, names: Names<'_>, least: Least) -> Result<bool> {
        for file in &self.files {
            if self.is_file_there(repo, head_tree_id, file, names, least)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the files of which the place has at least `least` of the work, and the others that the place changes.
    fn split(
        &self,
        repo: &Repo,
        head_tree_id: ObjectId,
        names: Names<'_>,
        least: Least,
    ) -> Result<(Vec<BString>, Vec<BString>)> {
        let (mut files, mut others) = (Vec::new(), Vec::new());
        for file in &self.files {
            let path = &file.path;
            if self.is_file_there(repo, head_tree_id, file, names, least)? {
                files.push(path.clone());
            } else if repo.find_leaf(head_tree_id, path.as_bstr())? != self.leaves.get(path).copied().flatten() {
                others.push(path.clone());
            }
        }
        Ok((files, others))
    }

    /// Returns true if the place has at least `least` of the work in `file`, under any of its names. `moved_to` has the content of the
    /// files that have other names now, by their names in the record. `former` has what HEAD has under the old name of a file that the
    /// commit renames to a name in the record. `changed` has the files that had other names in HEAD already.
    fn is_file_there(
        &self,
        repo: &Repo,
        head_tree_id: ObjectId,
        file: &RecordFile,
        (moved_to, former, changed): Names<'_>,
        least: Least,
    ) -> Result<bool> {
        let own = self.leaves.get(&file.path).copied().flatten();
        let is_left_out = LeftOut::of(repo, file, file.after, own).is_some();
        let renamed = moved_to.get(&file.path).filter(|_| is_left_out);
        let former = former.get(&file.path).copied().flatten().filter(|_| file.before != file.after);
        let before = repo.find_leaf(head_tree_id, file.path.as_bstr())?.or(former);
        let changed = changed.get(&file.path).filter(|_| is_left_out);
        // If only the content shows it, a person may have typed a short line since the file has its present name.
        let of_changed = if least >= Least::Half { least.max(Least::LongHalf) } else { least };
        let mut ends = Vec::new();
        for now in renamed.into_iter().flatten() {
            match changed.filter(|(_, it)| it == now) {
                Some((known, _)) => ends.push((before.or(*known), Some(*now), of_changed)),
                None => ends.push((before, Some(*now), least)),
            }
        }
        ends.push((before, own, least));
        ends.extend(changed.map(|(before, now)| (*before, Some(*now), of_changed)));
        for (before, now, least) in ends {
            if self.is_in(repo, file, (before, now), least)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the files of which at least `least` of the work was moved to other files. `gained` is what the place adds to HEAD. A file
    /// that is not staged, and that the worktree has as the work left it, has lost nothing. One of which HEAD has a part has lost the rest
    /// before.
    fn moved(
        &self,
        repo: &Repo,
        head_tree_id: ObjectId,
        (gained, moved_to): (&[Gained<'_>], &Renamed),
        least: Least,
    ) -> Result<Vec<BString>> {
        let (mut left, mut paths, mut bytes_left) = (Vec::new(), Vec::new(), MOST_BYTES);
        for file in if gained.is_empty() { &[] } else { self.files.as_slice() } {
            let (Some(own), Some(blob)) = (self.counted_lines.get(&file.path), file.after) else { continue };
            let renamed = moved_to.get(&file.path).and_then(|leaves| leaves.first());
            let now = renamed.copied().or(self.leaves.get(&file.path).copied().flatten());
            let number = |line: usize| u32::try_from(line).unwrap_or(u32::MAX);
            let span = |lines: &Range<usize>| Span {
                start: number(lines.start + 1),
                end: number(lines.end),
                owner: Owner::Author(0),
            };
            let spans: Vec<Span> = own.iter().map(span).collect();
            let head = repo.find_leaf(head_tree_id, file.path.as_bstr())?;
            if head.is_some() && self.is_in(repo, file, (file.before.map(as_file), head), Least::Line)? {
                continue;
            }
            if now.is_none_or(|now| now.id != blob)
                && let Some(lost) = Left::of(repo, (&file.path, &spans), blob, now, &mut bytes_left)
                && !(self.is_staged && lost.is_in_worktree(repo, &mut bytes_left))
            {
                left.push(lost);
                paths.push(file.path.clone());
            }
        }
        let from: Vec<&Left> = left.iter().collect();
        let Some(spans) = spans_from(&from, &gained.iter().collect::<Vec<_>>(), Enough::Half, &|_, _| false) else {
            return Ok(Vec::new());
        };
        let held = gained.iter().zip(&spans).flat_map(|(gained, spans)| lines_of(&gained.after, spans));
        let is_moved = Share::of_lines(held, left.iter().flat_map(Left::lines)).is(least);
        Ok(if is_moved { paths } else { Vec::new() })
    }

    /// Returns true if the change from `before` to `now` has at least `least` of the work in `file`.
    fn is_in(
        &self,
        repo: &Repo,
        file: &RecordFile,
        (before, now): (Option<Leaf>, Option<Leaf>),
        least: Least,
    ) -> Result<bool> {
        if now == before {
            return Ok(false);
        }
        if now.map(|leaf| leaf.id) == file.after {
            let change = Change::between(file.path.clone(), before, now);
            let is_telling = || change.map_or(Ok(false), |change| is_telling(repo, &change));
            return if least >= Least::LongHalf { is_telling() } else { Ok(true) };
        }
        // Records from another repository may name blobs that are missing here.
        let is_here = [file.before, file.after].iter().flatten().all(|id| repo.has_object(*id));
        let change = Change::between(file.path.clone(), file.before.map(as_file), file.after.map(as_file));
        let Some(change) = change.filter(|_| is_here) else { return Ok(false) };
        let lines = self.counted_lines.get(&change.path).map(Vec::as_slice);
        Ok(share_of(repo, &change, lines, before, now)?.is(least))
    }
}

fn as_file(id: ObjectId) -> Leaf {
    Leaf { id, mode: Mode::File }
}

/// Returns the lines (from 0) that count as the work of the record `id`, by file: lines of agents or, in a file without any,
/// lines of unknown authors. A file with neither has no entry: its whole change counts.
fn lines_of_no_person(repo: &Repo, id: &RecordId) -> Result<HashMap<BString, Vec<Range<usize>>>> {
    let stored = evidence::attribution(repo, id)?.unwrap_or_default();
    let Ok(Attribution { authors, files }) = Attribution::from_text(&stored) else { return Ok(HashMap::new()) };
    let is_agents = |owner: Owner| agent_of(owner, &authors).is_some();
    let is_unknown = |owner: Owner| kind_of(owner, &authors) == Kind::Unknown;
    let mut found = HashMap::new();
    for FileOwnership { path, spans, .. } in files.into_iter().map(|file| file.ownership) {
        let has_agent = spans.iter().any(|span| is_agents(span.owner));
        let own = spans.iter().filter(|it| if has_agent { is_agents(it.owner) } else { is_unknown(it.owner) });
        let lines: Vec<_> = own.map(|span| (span.start as usize).saturating_sub(1)..span.end as usize).collect();
        if !lines.is_empty() {
            found.insert(path, lines);
        }
    }
    Ok(found)
}
