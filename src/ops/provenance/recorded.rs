//! Finds records whose work is committed again: after `git reset --soft`, `git cherry-pick -n`, or a squash without message.
//!
//! [`records_again`] and its variants first collect the records that may be meant: git says where the work may come from, for
//! example by a reset in the reflog. Then they compare content. After a reset, any part of the work is enough, else half.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    ops::Range,
};

use bstr::{BStr, BString, ByteSlice};
use gix::ObjectId;

use super::{
    super::{
        Context,
        records::{self, Log},
        share::share_of,
    },
    amended::{Amended, is_undone},
    earlier::{MOST_KEPT, first_parents, of_earlier_versions},
};
use crate::{
    error::Result,
    git::Repo,
    model::{
        attribution::{
            FileOwnership, Owner,
            kind::{Kind, agent_of, kind_of},
            text::Attribution,
        },
        change::{Change, Leaf, Mode},
        record::{Record, RecordFile, RecordId, ids_in_message},
        refname,
    },
};

/// How many moves of HEAD back we look for a reset.
const MOST_MOVES: usize = 32;
/// How many commits removed by resets we look at.
const MOST_RESET_COMMITS: usize = 100;
/// How many commits that touch the files of a cherry-pick or revert we look at.
const MOST_TOUCHING: usize = 100;

/// The last paragraph of a revert's message begins with this and a commit id.
const REVERTS: &str = "This reverts commit ";
/// How many digits of an id git prints at least.
const SHORTEST_ID: usize = 4;

/// Where to look for recorded work.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// In the index.
    Staged,
    /// In the worktree, which has this tree.
    Worktree(ObjectId),
    /// In this commit.
    In(ObjectId),
}

impl Place {
    /// Returns the files at `paths`.
    fn leaves(self, repo: &Repo, paths: &[BString]) -> Result<BTreeMap<BString, Option<Leaf>>> {
        let tree_id = match self {
            Self::Staged => return repo.staged_leaves(paths),
            Self::Worktree(tree_id) => tree_id,
            Self::In(commit) => repo.tree_of_commit(commit)?,
        };
        let leaf = |path: &BString| Ok((path.clone(), repo.find_leaf(tree_id, path.as_bstr())?));
        paths.iter().map(leaf).collect()
    }

    /// Returns how the place differs from the tree `head_tree_id`.
    fn changes(self, repo: &Repo, head_tree_id: ObjectId) -> Result<Vec<Change>> {
        match self {
            Self::Staged => repo.staged_changes(head_tree_id),
            Self::Worktree(tree_id) => repo.diff_trees(head_tree_id, tree_id),
            Self::In(commit) => repo.diff_trees(head_tree_id, repo.tree_of_commit(commit)?),
        }
    }
}

/// Returns the records of other commits whose work is staged on `head`.
pub(crate) fn records_again(context: &Context, head: Option<ObjectId>) -> Result<Vec<RecordId>> {
    let place = Place::Staged;
    let changes = place.changes(&context.repo, head_tree(&context.repo, head)?)?;
    again(&context.repo, head, place, &changes)
}

/// Returns the same records for `changes` from `head` to the worktree, which has the tree `tree_id` in `repo`.
pub(crate) fn records_again_in_worktree(
    repo: &Repo,
    head: Option<ObjectId>,
    tree_id: ObjectId,
    changes: &[Change],
) -> Result<Vec<RecordId>> {
    again(repo, head, Place::Worktree(tree_id), changes)
}

/// Returns the records of other commits whose work `commit` contains again. `head` is its parent, or the commit that it amends.
pub(crate) fn records_again_in(context: &Context, head: Option<ObjectId>, commit: ObjectId) -> Result<Vec<RecordId>> {
    let repo = &context.repo;
    let linked = records::of_commit(repo, commit)?;
    let seconds = repo.with_commit(commit, |commit| commit.committer().map_or(i64::MAX, |who| who.seconds()))?;
    let place = Place::In(commit);
    let mut ids = again(repo, head, place, &place.changes(repo, head_tree(repo, head)?)?)?;
    // A commit repeats only work that was recorded before. Of the same second, only records of this worktree are surely older.
    let was_earlier = |record: Record| {
        record.seconds < seconds || (record.seconds == seconds && record.worktree == *repo.worktree_id())
    };
    ids.retain(|id| !linked.contains(id) && records::find(repo, id).ok().flatten().is_some_and(was_earlier));
    Ok(ids)
}

/// Returns the records of other commits whose work is in `changes`, the changes from `head` to `place`.
fn again(repo: &Repo, head: Option<ObjectId>, place: Place, changes: &[Change]) -> Result<Vec<RecordId>> {
    let Some(log) = Log::open(repo)? else { return Ok(Vec::new()) };
    let root = ObjectId::null(repo.object_hash());
    let mut ids: BTreeSet<RecordId> = records::of_parent(repo, head.unwrap_or(root))?.into_iter().collect();
    // Git says that the work of these records may be here: any part of it is enough.
    let mut removed_by_reset = BTreeSet::new();
    if matches!(place, Place::In(_)) {
        // Without our hooks, git may have merged or picked commits of a branch that HEAD was on before.
        for commit in left_lately(repo, head, |_| true)? {
            ids.extend(log.of_commit(commit)?);
        }
    }
    for commit in left_behind(repo, head)? {
        removed_by_reset.extend(log.of_commit(commit)?);
        // An earlier reset may have removed other children of this commit.
        ids.extend(records::of_parent(repo, commit)?);
    }
    let searches_by_path = match place {
        Place::Staged | Place::Worktree(_) => {
            repo.prepared_message().inspect(|message| ids.extend(ids_in_message(message))).is_some()
        }
        Place::In(commit) => names_reverted(repo, &repo.message_of(commit)?)?,
    };
    if searches_by_path {
        ids.extend(of_commits_touching(repo, changes)?);
    }
    if let Some(head) = head {
        for (id, is_by_git) in of_earlier_versions(repo, &log, head, changes)? {
            if is_by_git { &mut removed_by_reset } else { &mut ids }.insert(id);
        }
    }
    // The caller may give only a part of the changes in the worktree.
    let all = Some(changes).filter(|_| !matches!(place, Place::Worktree(_)));
    let ids = ids.union(&removed_by_reset).map(|id| (*id, removed_by_reset.contains(id)));
    records_found_at(place, repo, head, all, ids)
}

/// Returns true if `message` says that it reverts a commit of this repository. With `revert.reference`, the id is abbreviated.
fn names_reverted(repo: &Repo, message: &str) -> Result<bool> {
    for rest in message.split(REVERTS).skip(1) {
        let end = rest.find(|it: char| !it.is_ascii_hexdigit()).unwrap_or(rest.len());
        if !(SHORTEST_ID..=repo.object_hash().len_in_hex()).contains(&end) {
            continue;
        }
        for id in repo.ids_with_prefix(&rest[..end])? {
            if repo.is_commit(id)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Returns the commits that resets removed from HEAD: for each reset, from where HEAD was back to the commits that `head` still
/// has.
///
/// `ORIG_HEAD` alone does not say that, because `git stash` resets, too, and sets it to HEAD. So this reads the reflog as well.
pub(crate) fn left_behind(repo: &Repo, head: Option<ObjectId>) -> Result<Vec<ObjectId>> {
    left_lately(repo, head, |by_reset| by_reset)
}

/// Does the same for the moves of HEAD that `counts` accepts. Its argument is true for a move by a reset.
fn left_lately(repo: &Repo, head: Option<ObjectId>, counts: fn(bool) -> bool) -> Result<Vec<ObjectId>> {
    let lately = repo.left_lately(MOST_MOVES);
    let mut starts: Vec<ObjectId> =
        lately.iter().filter(|(_, by_reset)| counts(*by_reset)).map(|(id, _)| *id).collect();
    // `ORIG_HEAD` may be from an old operation.
    let is_recent = |id: &ObjectId| lately.is_empty() || lately.iter().any(|(left, _)| left == id);
    starts.extend(repo.find_ref("ORIG_HEAD")?.filter(is_recent));
    starts.retain(|start| Some(*start) != head);
    if starts.is_empty() {
        return Ok(Vec::new());
    }
    // Usually, `head` contains all of them.
    let (kept, oldest) = first_parents(repo, head, MOST_KEPT, |commit, _| {
        starts.retain(|start| *start != commit);
        !starts.is_empty()
    })?;
    if starts.is_empty() {
        return Ok(Vec::new());
    }
    // A commit that is older than all of `kept` has none of them as an ancestor: go back no further.
    let not_before = if kept.len() < MOST_KEPT { i64::MIN } else { oldest };
    let mut left: Vec<ObjectId> = Vec::new();
    for start in starts {
        let most = MOST_RESET_COMMITS.saturating_sub(left.len());
        if left.contains(&start) || most == 0 {
            continue;
        }
        let (line, _) = first_parents(repo, Some(start), most, |_, seconds| seconds >= not_before)?;
        match line.iter().position(|commit| kept.contains(commit) || left.contains(commit)) {
            Some(end) => left.extend(&line[..end]),
            // Both histories were read to their root commits and share no commit.
            None if line.len() < most && kept.len() < MOST_KEPT => left.extend(line),
            None => {}
        }
    }
    Ok(left)
}

/// Returns true if the index may have a line that the records of `commits` attribute to a session. One line is enough: git says
/// that it has squashed these commits.
pub(crate) fn is_any_staged(context: &Context, head: Option<ObjectId>, commits: &[ObjectId]) -> Result<bool> {
    let repo = &context.repo;
    let head_tree_id = head_tree(repo, head)?;
    for commit in commits {
        for id in records::of_commit(repo, *commit)? {
            // A damaged record is no reason to refuse a commit.
            let Ok(Some(Record { files, .. })) = records::find(repo, &id) else { continue };
            let paths: Vec<BString> =
                files.into_iter().filter(|file| !file.sessions.is_empty()).map(|file| file.path).collect();
            let mut is_changed = false;
            for (path, leaf) in repo.staged_leaves(&paths)? {
                // A file that is not in the index counts as changed, because it may have been renamed.
                is_changed = is_changed || leaf.is_none() || repo.find_leaf(head_tree_id, path.as_bstr())? != leaf;
            }
            if is_changed && !is_undone(repo, &id, *commit, Amended::Staged)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Returns the records of commits that touch the files of `changes`. For a cherry-pick without a commit, git notes only the
/// last picked commit, and a revert may bring back work of any commit.
fn of_commits_touching(repo: &Repo, changes: &[Change]) -> Result<Vec<RecordId>> {
    let paths: Vec<&BStr> = changes.iter().map(|change| change.path.as_bstr()).collect();
    let mut ids = Vec::new();
    if !paths.is_empty() {
        let exclude = [format!("{}*", refname::PREFIX), format!("{}*", refname::FETCHED)];
        for commit in repo.commits_touching(&paths, &exclude, MOST_TOUCHING)? {
            ids.extend(records::of_commit(repo, commit)?);
        }
    }
    Ok(ids)
}

fn head_tree(repo: &Repo, head: Option<ObjectId>) -> Result<ObjectId> {
    head.map_or_else(|| Ok(repo.empty_tree_id()), |id| repo.tree_of_commit(id))
}

/// Returns true if a file of the record `id` is staged as the commit had it, or with half of the lines that sessions added.
pub(crate) fn is_staged(context: &Context, head: Option<ObjectId>, id: &RecordId) -> Result<bool> {
    records_found_at(Place::Staged, &context.repo, head, None, [(*id, false)]).map(|found| !found.is_empty())
}

/// Returns true if `commit`, a child of `head`, has half of the work of the record `id` in one of its files. With `any_part`,
/// any part of the work is enough: for a commit that git itself relates to the record.
pub(crate) fn is_in(
    context: &Context,
    head: Option<ObjectId>,
    commit: ObjectId,
    id: &RecordId,
    any_part: bool,
) -> Result<bool> {
    records_found_at(Place::In(commit), &context.repo, head, None, [(*id, any_part)]).map(|found| !found.is_empty())
}

/// Returns those of the records `ids` whose work is at `place`: at least half of it, in one file. If an id comes with true, any
/// part of the work is enough. `changes` are all changes from `head` to `place`; none if the caller does not have them.
fn records_found_at(
    place: Place,
    repo: &Repo,
    head: Option<ObjectId>,
    changes: Option<&[Change]>,
    ids: impl IntoIterator<Item = (RecordId, bool)>,
) -> Result<Vec<RecordId>> {
    let head_tree_id = head_tree(repo, head)?;
    let mut all = Vec::new();
    for (id, any_part) in ids {
        all.extend(RecordedWork::read(place, repo, id)?.map(|work| (work, any_part)));
    }
    let left_out: Vec<_> = all.iter().flat_map(|(work, _)| work.left_out(repo)).collect();
    let new = match changes {
        _ if left_out.is_empty() => Vec::new(),
        Some(changes) => changes.to_vec(),
        None => place.changes(repo, head_tree_id)?,
    };
    let moved_to = renamed(repo, &left_out, new)?;
    let mut found = Vec::new();
    for (work, any_part) in all {
        let id = work.id;
        found.extend(work.is_there(repo, head_tree_id, &moved_to, any_part)?.then_some(id));
    }
    Ok(found)
}

/// Returns the content of those files of `left_out` that have other names in `new`, by their former names. Each file of
/// `left_out` comes with the blob that the new content must be similar to. One search for all files reads `new` once.
fn renamed(repo: &Repo, left_out: &[(BString, ObjectId)], new: Vec<Change>) -> Result<BTreeMap<BString, Leaf>> {
    let now: HashMap<BString, Leaf> = new.iter().filter_map(|it| Some((it.path.clone(), it.after?))).collect();
    let version = |(at, (path, id)): (usize, &(BString, ObjectId))| (format!("{at}/{path}").into(), *id);
    let found: BTreeMap<_, _> = repo.find_renamed(left_out.iter().enumerate().map(version), new)?.into_iter().collect();
    let index = |from: &BString| from.split_once_str("/")?.0.to_str().ok()?.parse::<usize>().ok();
    let former = |(to, from): (&BString, &BString)| Some((left_out[index(from)?].0.clone(), *now.get(to)?));
    Ok(found.iter().filter_map(former).collect())
}

/// The work of sessions and unknown authors in a record.
struct RecordedWork {
    id: RecordId,
    files: Vec<RecordFile>,
    /// By path, the lines that [`lines_of_no_person`] returns.
    counted_lines: HashMap<BString, Vec<Range<usize>>>,
    /// What the place has at the paths of the files.
    leaves: BTreeMap<BString, Option<Leaf>>,
}

impl RecordedWork {
    /// Returns none if this repository does not have the record, or if it is damaged: that is no reason to refuse a commit.
    fn read(place: Place, repo: &Repo, id: RecordId) -> Result<Option<Self>> {
        let Ok(Some(Record { mut files, .. })) = records::find(repo, &id) else { return Ok(None) };
        let counted_lines = lines_of_no_person(repo, &id)?;
        files.retain(|file| !file.sessions.is_empty() || counted_lines.contains_key(&file.path));
        let paths: Vec<_> = files.iter().map(|file| file.path.clone()).collect();
        Ok(Some(Self { id, leaves: place.leaves(repo, &paths)?, files, counted_lines }))
    }

    /// Returns the files that may have another name now, each with the blob that the work left. These are the files that are
    /// gone, and those that are as before the work: git may have put that content back.
    fn left_out(&self, repo: &Repo) -> Vec<(BString, ObjectId)> {
        let is_left_out = |file: &&RecordFile| {
            self.leaves.get(&file.path).copied().flatten().is_none_or(|leaf| Some(leaf.id) == file.before)
        };
        let left_out = self.files.iter().filter(is_left_out).filter_map(|file| Some((file.path.clone(), file.after?)));
        left_out.filter(|(_, blob)| repo.has_object(*blob)).collect()
    }

    /// Returns true if the place has half of the work in one file, or, with `any_part`, any part of it. `moved_to` has the
    /// content of the files that have other names now, by their names in the record.
    fn is_there(
        self,
        repo: &Repo,
        head_tree_id: ObjectId,
        moved_to: &BTreeMap<BString, Leaf>,
        any_part: bool,
    ) -> Result<bool> {
        let left_out: BTreeSet<BString> = self.left_out(repo).into_iter().map(|(path, _)| path).collect();
        for file in self.files {
            let renamed = moved_to.get(&file.path).filter(|_| left_out.contains(&file.path));
            let now = renamed.copied().or_else(|| self.leaves.get(&file.path).copied().flatten());
            let before = repo.find_leaf(head_tree_id, file.path.as_bstr())?;
            if now == before {
                continue;
            }
            if now.map(|leaf| leaf.id) == file.after {
                return Ok(true);
            }
            // Records from another repository may name blobs that are missing here.
            let is_here = [file.before, file.after].iter().flatten().all(|id| repo.has_object(*id));
            let leaf = |id: ObjectId| Leaf { id, mode: Mode::File };
            let change = Change::between(file.path, file.before.map(leaf), file.after.map(leaf)).filter(|_| is_here);
            if let Some(change) = change {
                let lines = self.counted_lines.get(&change.path).map(Vec::as_slice);
                let share = share_of(repo, &change, lines, before, now)?;
                if share.is_half() || any_part && share.is_any() {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

/// Returns the lines (from 0) that count as the work of the record `id`, by file: lines of agents or, in a file without any,
/// lines of unknown authors. A file with neither has no entry: its whole change counts.
fn lines_of_no_person(repo: &Repo, id: &RecordId) -> Result<HashMap<BString, Vec<Range<usize>>>> {
    let stored = records::attribution(repo, id)?.unwrap_or_default();
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
