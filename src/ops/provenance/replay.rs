//! Finds the author of each line of a commit, of the staged changes, or of the worktree.
//!
//! `steps` reads what each checkpoint of a shadow changed, oldest first. [`Work::of`] replays these steps, and then the
//! change from the last step to the commit. The author of that change is the committer. A line belongs to the author of the
//! step that added it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::step::{Step, author_of, left_by};
use crate::{
    error::Result,
    git::{
        Repo,
        counting::Counting,
        line_edits::{self, Algorithm},
        version_edits::VersionEdits,
    },
    model::{
        attribution::{
            self, Author, AuthorId, Committed, Content, Differ, FileOwnership, Owner, Ownership, Replay,
            text::{Attribution, File, renumber},
        },
        change::{Change, Leaf, Mode},
        contributor::Contributor,
    },
};

/// The author of changes that are in no checkpoint: the committer.
pub(crate) const COMMITTER: AuthorId = 0;

/// The attribution of some files: who wrote which line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Work {
    pub(crate) authors: Vec<Author>,
    pub(crate) ownership: Ownership,
    /// The sessions that contributed to the commit, by path.
    pub(crate) sessions: BTreeMap<BString, BTreeSet<String>>,
}

impl Work {
    /// Replays `steps` and then `committed`, the changes of the commit; `counting` counts lines as git does.
    pub(crate) fn of(repo: &Repo, steps: &[Step], committed: &[Change], counting: &mut Counting<'_>) -> Result<Self> {
        let (mut authors, mut ids) = (vec![Author::plain(Contributor::Human)], HashMap::new());
        let (in_steps, edits) = (line_edits::step_edits, VersionEdits::default());
        let versions = |texts: [&[u8]; 2], ends: [usize; 2]| edits.edits(texts, ends);
        let usual = |before: &[u8], after: &[u8]| line_edits::counted_edits(Algorithm::Myers, before, after);
        let mut replay = Replay::new(Differ::new(&in_steps, &usual).with_versions(&versions));
        let leaves = steps.iter().flat_map(|step| step.changes.iter().filter_map(|change| change.after));
        let mut ahead =
            repo.read_blobs_ahead(leaves.filter(|leaf| leaf.mode != Mode::Gitlink).map(|leaf| leaf.id).collect());
        let mut next = |id| ahead.next().unwrap_or_else(|| repo.read_blob(id));
        let mut bases: HashMap<Leaf, Option<Content>> =
            committed.iter().filter_map(|it| Some((it.before?, None))).collect();
        let since_bases = since_other_bases(repo, steps, committed)?;
        if !since_bases.is_empty() {
            replay.step(COMMITTER, since_bases);
        }
        let mut left: HashMap<&BString, Option<Leaf>> = HashMap::new();
        let mut renamed: HashMap<&BString, &BString> = HashMap::new();
        let apart = [come_back(steps, committed), put_back(steps)].concat();
        for (at, step) in steps.iter().enumerate() {
            let mut id_of = |author: &Author| {
                *ids.entry(author.clone()).or_insert_with(|| {
                    authors.push(author.clone());
                    AuthorId::try_from(authors.len() - 1).expect("a chain has fewer authors")
                })
            };
            // An earlier chain may have deleted or renamed a file that the base of this step's chain has: bring the file back
            // first. Lines that are in the renamed file keep their authors; the author of the other lines is unknown.
            let mut back = Vec::new();
            for change in &step.changes {
                let known = change.old_path.as_ref().unwrap_or(&change.path);
                let is_new = change.before.is_some_and(|leaf| !bases.contains_key(&leaf));
                let is_gone = is_new && replay.knows(known.as_bstr()) && replay.current(known.as_bstr()).is_none();
                // Only then: the content that a step begins with was read as that of the step before.
                let before = if is_gone { content(repo, change.before)? } else { None };
                if let Some(after) = before {
                    let from = renamed.get(known).filter(|to| replay.current(to.as_bstr()).is_some());
                    let (path, from, after) = (known.clone(), from.map(|to| (*to).clone()), Some(after));
                    back.push(attribution::Change { path, from, before: None, after, moved: None });
                }
            }
            if !back.is_empty() {
                replay.step(id_of(&Author::plain(Contributor::Unknown)), back);
            }
            let committed = committed_between(repo, &replay, &left, step)?;
            if !committed.is_empty() {
                replay.step(COMMITTER, committed);
            }
            renamed.extend(step.changes.iter().filter_map(|change| Some((change.old_path.as_ref()?, &change.path))));
            let id = id_of(&author_of(&step.origin));
            let movers: Vec<AuthorId> = step.moved.iter().flat_map(|moved| &moved.authors).map(&mut id_of).collect();
            let mut changes = Vec::with_capacity(step.changes.len());
            for change in &step.changes {
                let known = change.old_path.as_ref().unwrap_or(&change.path);
                let before = if replay.knows(known.as_bstr()) { None } else { content(repo, change.before)? };
                if let Some(base) = change.before.and_then(|leaf| bases.get_mut(&leaf)) {
                    *base = before.clone().or(base.take());
                }
                left.insert(&change.path, change.after);
                let (path, from) = (change.path.clone(), change.old_path.clone());
                let after = content_by(change.after, &mut next)?;
                let moved = step.brought(change).map(|moved| {
                    let mut moved = moved.clone();
                    renumber(&mut moved, |id| movers.get(id as usize).copied().unwrap_or(id));
                    moved
                });
                changes.push(attribution::Change { path, from, before, after, moved });
            }
            replay.step(id, changes);
            if apart.contains(&at) {
                replay.keep_apart();
            }
        }
        let mut finals = Vec::with_capacity(committed.len());
        for change in committed {
            // The replay has read most of the content already, at the first step or at the last one.
            let before = match change.before.and_then(|leaf| bases.remove(&leaf)).flatten() {
                Some(base) => Some(base),
                None => content(repo, change.before)?,
            };
            let after = match replay.current(change.path.as_bstr()) {
                Some(last) if left.get(&change.path) == Some(&change.after) => Some(last.clone()),
                _ => content(repo, change.after)?,
            };
            let edits = match (change.before, change.after, &before, &after) {
                (Some(old), Some(new), Some(Content::Bytes(before)), Some(Content::Bytes(after))) => {
                    counting.unusual_edits((old.id, new.id), before, after)?
                }
                _ => None,
            };
            let (path, from) = (change.path.clone(), change.old_path.clone());
            finals.push(Committed { path, from, before, after, edits, author: COMMITTER });
        }
        let ownership = replay.finish(&finals);
        let sessions = sessions_by_path(&authors, &ownership, steps, committed);
        Ok(Self { authors, ownership, sessions })
    }

    /// Returns true if the commit needs a record: a session contributed, or may have.
    pub(crate) fn needs_record(&self) -> bool {
        let may_be_of_session = |id: AuthorId| self.authors[id as usize].contributor == Contributor::Unknown;
        !self.sessions.is_empty() || self.ownership.files.iter().flat_map(contributors).any(may_be_of_session)
    }

    /// Returns the sessions that contributed to the commit.
    pub(crate) fn all_sessions(&self) -> BTreeSet<&str> {
        self.sessions.values().flatten().map(String::as_str).collect()
    }
}

/// Returns which of `steps` left content that the next step at its path replaces, and that a later step or the commit has again.
fn come_back(steps: &[Step], committed: &[Change]) -> Vec<usize> {
    let mut later: HashSet<Leaf> = committed.iter().filter_map(|change| change.after).collect();
    let (mut replaced, mut found) = (HashSet::new(), Vec::new());
    for (at, step) in steps.iter().enumerate().rev() {
        let is_back = |change: &Change| {
            replaced.contains(&change.path) && change.after.is_some_and(|after| later.contains(&after))
        };
        if step.changes.iter().any(is_back) {
            found.push(at);
        }
        later.extend(step.changes.iter().filter_map(|change| change.after));
        replaced.extend(step.names());
    }
    found
}

/// Returns which of `steps` put a file back as it was before all of them: what the same author writes there next is no edit of what was
/// there before.
fn put_back(steps: &[Step]) -> Vec<usize> {
    let (mut begin, mut found): (HashMap<&BString, Option<Leaf>>, _) = (HashMap::new(), Vec::new());
    for (at, step) in steps.iter().enumerate() {
        let is_back = |change: &Change| change.after.is_some() && begin.get(&change.path) == Some(&change.after);
        if step.changes.iter().any(is_back) {
            found.push(at);
        }
        for change in &step.changes {
            begin.entry(&change.path).or_insert(change.before);
        }
    }
    found
}

/// Returns the changes from the content of a commit's parent to the content that `steps` begin with, for files in which the two
/// differ. They differ, for example, if the work is based on a commit that a reset has removed from HEAD.
fn since_other_bases(repo: &Repo, steps: &[Step], committed: &[Change]) -> Result<Vec<attribution::Change>> {
    let mut changes = Vec::new();
    for entry in committed {
        let path = entry.old_path.as_ref().unwrap_or(&entry.path);
        let of_path = |change: &&Change| change.old_path.as_ref().unwrap_or(&change.path) == path;
        let first = steps.iter().flat_map(|step| &step.changes).find(of_path).and_then(|change| change.before);
        if entry.before.is_some() && first.is_some() && first != entry.before {
            let (before, after) = (content(repo, entry.before)?, content(repo, first)?);
            changes.push(attribution::Change { path: path.clone(), from: None, before, after, moved: None });
        }
    }
    Ok(changes)
}

/// Returns what a person committed between two chains. The earlier chain left the files as `left` says. `step` belongs to the
/// later chain, whose base is a later commit that a reset has removed from HEAD. Returns only files that gained lines and lost
/// none: any other difference may come from work that is in both chains.
fn committed_between(
    repo: &Repo,
    replay: &Replay<'_>,
    left: &HashMap<&BString, Option<Leaf>>,
    step: &Step,
) -> Result<Vec<attribution::Change>> {
    let mut committed = Vec::new();
    for change in &step.changes {
        let known = change.old_path.as_ref().unwrap_or(&change.path);
        if left.get(known).is_none_or(|last| last.is_none() || *last == change.before) {
            continue;
        }
        if let (Some(Content::Bytes(now)), Some(after @ Content::Bytes(_))) =
            (replay.current(known.as_bstr()), content(repo, change.before)?)
            && let Content::Bytes(before) = &after
            && line_edits::step_edits(now, before).iter().all(|(old, _)| old.is_empty())
        {
            let path = known.clone();
            committed.push(attribution::Change { path, from: None, before: None, after: Some(after), moved: None });
        }
    }
    Ok(committed)
}

fn content(repo: &Repo, leaf: Option<Leaf>) -> Result<Option<Content>> {
    content_by(leaf, &mut |id| repo.read_blob(id))
}

fn content_by(leaf: Option<Leaf>, read: &mut impl FnMut(ObjectId) -> Result<Vec<u8>>) -> Result<Option<Content>> {
    let Some(leaf) = leaf else { return Ok(None) };
    Ok(Some(match leaf.mode {
        Mode::File | Mode::Executable => Content::Bytes(read(leaf.id)?),
        Mode::Link => Content::Opaque(read(leaf.id)?),
        Mode::Gitlink => Content::Opaque(leaf.id.to_string().into_bytes()),
    }))
}

/// Returns the authors who wrote or deleted lines of the file.
pub(crate) fn contributors(file: &FileOwnership) -> Vec<AuthorId> {
    let mut found: Vec<AuthorId> = file.removed.iter().map(|(id, _)| *id).collect();
    for owner in file.spans.iter().map(|span| span.owner).chain(file.whole) {
        match owner {
            Owner::Base => {}
            Owner::Author(id) => found.push(id),
            Owner::Mixed { of, over, .. } => found.extend([of].into_iter().chain(over)),
        }
    }
    found
}

/// Returns the sessions that contributed to each file of a commit.
fn sessions_by_path(
    authors: &[Author],
    ownership: &Ownership,
    steps: &[Step],
    committed: &[Change],
) -> BTreeMap<BString, BTreeSet<String>> {
    let session =
        |id: AuthorId| authors.get(id as usize).filter(|it| it.contributor == Contributor::Agent)?.session.clone();
    let mut by_path: BTreeMap<BString, BTreeSet<String>> = BTreeMap::new();
    for (file, change) in ownership.files.iter().zip(committed) {
        let contributors = contributors(file);
        let mut sessions: BTreeSet<String> = contributors.iter().copied().filter_map(session).collect();
        let is_other_kind =
            change.before.is_some() && change.before.map(|it| it.mode) != change.after.map(|it| it.mode);
        // A deletion, a change of the mode or a binary file may have no lines with an author. It is the work of the session
        // that left the file as the commit has it. A restore is a person's: where the file has lines, they alone say which
        // session's work came back.
        if sessions.is_empty() || is_other_kind {
            let left = left_by(steps, change).filter(|step| !step.is_put_back || contributors.is_empty());
            sessions.extend(left.and_then(|step| step.origin.session.clone()));
        }
        by_path.insert(change.path.clone(), sessions);
    }
    by_path.retain(|_, sessions| !sessions.is_empty());
    by_path
}

/// Returns the attribution of the files of a commit, in the stored format.
pub(crate) fn text(work: &Work, committed: &[Change]) -> Vec<u8> {
    let files = work.ownership.files.iter().zip(committed);
    let files = files.map(|(its, change)| File { blob: change.after.map(|leaf| leaf.id), ownership: its.clone() });
    Attribution { authors: work.authors.clone(), files: files.collect() }.to_text()
}
