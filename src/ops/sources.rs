//! Finds the records of the commits that a commit was made from, where no hook has seen that: a forge has squashed or rebased them.
//!
//! The surest sign comes first: the trailers, and what is linked; the commits that were merged, if the caller knows them; the same tree;
//! the same patch; the same lines. The last three only look at records of commits that the range does not lead to.

use std::collections::{BTreeMap, HashMap, HashSet};

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use crate::{
    error::Result,
    git::{Repo, revision::Reachable},
    model::record::{Record, RecordId},
    ops::{
        Context,
        found_again::{by_patch, by_tree},
        provenance::recorded::{files_in, is_in},
        records::{self, Log},
        shallow::{refuse_without_parent, whole_range},
        share::Least,
    },
};

/// So many records, the newest, are compared with a commit line by line.
const MOST_COMPARED: usize = 200;

/// A record of a commit that another one was made from.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) record: RecordId,
    /// By what it was found: `trailer`, `link`, `change`, `merged`, `tree`, `patch`, `content` or `parent`.
    pub(crate) by: &'static str,
    /// The only files of the record whose work the commit has; empty: all, or what its link says.
    pub(crate) only: Vec<BString>,
}

/// Looks for the sources of the commits of a range.
pub(crate) struct Search<'c> {
    context: &'c Context,
    log: &'c Log<'c>,
    /// The records of commits that the range does not lead to, the newest first.
    lost: Vec<Record>,
    /// The commits that a branch still leads to, and the range does not.
    elsewhere: HashSet<ObjectId>,
    /// Those of `lost` that make the same change, or have the same tree, by commit.
    same: HashMap<ObjectId, Vec<Source>>,
    /// The commits that were merged.
    merged: Option<ObjectId>,
    /// The last commit of the range: that of the merge, if these are known.
    newest: Option<ObjectId>,
}

impl<'c> Search<'c> {
    /// Prepares for `commits`, of which the first is the newest.
    pub(crate) fn new(
        context: &'c Context,
        log: &'c Log<'c>,
        commits: &[Reachable],
        merged: Option<ObjectId>,
    ) -> Result<Self> {
        let lost = commits.first().map_or(Ok(Vec::new()), |newest| lost(context, log, newest.id))?;
        Self::among(context, log, commits, lost, merged)
    }

    /// Prepares for `commits`, of which the first is the newest, with the records `lost`, of commits that they do not lead to: the
    /// newest first.
    pub(crate) fn among(
        context: &'c Context,
        log: &'c Log<'c>,
        commits: &[Reachable],
        lost: Vec<Record>,
        merged: Option<ObjectId>,
    ) -> Result<Self> {
        let repo = &context.repo;
        let elsewhere = match commits.first().filter(|_| !lost.is_empty()) {
            Some(newest) => elsewhere(repo, newest.id)?,
            None => HashSet::new(),
        };
        let mut same: HashMap<ObjectId, Vec<Source>> = HashMap::new();
        if !lost.is_empty() {
            let all: Vec<&Record> = lost.iter().collect();
            let mut ids = Vec::new();
            for commit in commits {
                context.check_interrupt()?;
                ids.extend(may_be_same(repo, commit, &lost)?.then_some(commit.id));
            }
            for found in by_tree(repo, commits, &all)?.into_iter().chain(by_patch(repo, &ids, &all)?) {
                // The same change may have been made before.
                let Some(record) = lost.iter().find(|record| record.id == found.record) else { continue };
                if records::is_older(repo, found.commit, record)? {
                    continue;
                }
                // While a branch still has the original, a person may have made a small change as well, but not with its author and date.
                let parent = commits.iter().find(|commit| commit.id == found.commit).and_then(|it| it.parent_id);
                let is_copy = repo.is_commit(record.commit)?
                    && repo
                        .stamp(found.commit)?
                        .is_some_and(|stamp| repo.stamp(record.commit).is_ok_and(|it| it == Some(stamp)));
                if elsewhere.contains(&record.commit)
                    && !is_copy
                    && !is_in(context, parent, found.commit, &record.id, Least::Telling)?
                {
                    continue;
                }
                let sources = same.entry(found.commit).or_default();
                add_of_all(sources, [found.record], found.by);
            }
        }
        Ok(Self { context, log, lost, elsewhere, same, merged, newest: commits.first().map(|commit| commit.id) })
    }

    /// Returns the sources of `commit`.
    pub(crate) fn of(&self, commit: &Reachable) -> Result<Vec<Source>> {
        let (log, id) = (self.log, commit.id);
        let mut found: Vec<Source> = Vec::new();
        add_of_all(&mut found, log.named_by(id)?, "trailer");
        add_of_all(&mut found, log.linked_to(id)?, "link");
        if found.is_empty() {
            add_of_all(&mut found, log.of_change(id)?.copied, "change");
        }
        add(&mut found, self.of_merged(commit)?, "merged");
        for same in self.same.get(&id).into_iter().flatten() {
            add_of_all(&mut found, [same.record], same.by);
        }
        let with_content = self.with_content(commit, &found)?;
        add(&mut found, with_content, "content");
        // What a branch has before the commit of such a record was merged with it.
        let mut at = 0;
        while let Some(source) = found.get(at) {
            at += 1;
            // Without the word of the forge, a person may have taken over this commit alone.
            if matches!(source.by, "merged" | "parent") {
                let of_parent = self.of_parent(commit, &source.record)?;
                add(&mut found, of_parent, "parent");
            }
        }
        Ok(found)
    }

    /// Returns the records of the commits that were merged, if some of their work is in `commit`; or half of it, if `commit` is not the
    /// last one: others may have pushed it meanwhile.
    fn of_merged(&self, commit: &Reachable) -> Result<Vec<Part>> {
        let repo = &self.context.repo;
        let Some(merged) = self.merged.filter(|merged| *merged != commit.id) else { return Ok(Vec::new()) };
        let range = commit.parent_id.map_or_else(|| merged.to_string(), |parent| format!("{parent}..{merged}"));
        let least = if self.newest == Some(commit.id) { Least::Any } else { Least::Half };
        let mut parts: Vec<Part> = Vec::new();
        for source in whole_range(repo, &range)?.unwrap_or_default() {
            self.context.check_interrupt()?;
            for id in self.log.of_commit(source)? {
                if parts.iter().all(|(known, _)| *known != id) {
                    parts.extend(self.part(commit, id, least)?);
                }
            }
        }
        Ok(parts)
    }

    /// Returns the lost records of which `commit` has half of the work, and so much text that a person would not type the same; or all
    /// of it, if a branch still has the work as well. Those in `found` are left out.
    fn with_content(&self, commit: &Reachable, found: &[Source]) -> Result<Vec<Part>> {
        let repo = &self.context.repo;
        let before = commit.parent_id.map_or_else(|| Ok(repo.empty_tree_id()), |parent| repo.tree_of_commit(parent))?;
        let changed: HashSet<_> = repo.diff_trees(before, commit.tree_id)?.into_iter().map(|it| it.path).collect();
        let (mut parts, mut compared) = (Vec::new(), 0);
        for record in &self.lost {
            let is_known = found.iter().any(|source| source.record == record.id);
            let is_candidate = record.files.iter().any(|file| changed.contains(&file.path));
            // The same change may have been made before.
            if is_known || !is_candidate || records::is_older(repo, commit.id, record)? {
                continue;
            }
            self.context.check_interrupt()?;
            compared += 1;
            if compared > MOST_COMPARED {
                break;
            }
            let is_elsewhere = self.elsewhere.contains(&record.commit);
            let least = if is_elsewhere { Least::Telling } else { Least::TellingHalf };
            parts.extend(self.part(commit, record.id, least)?);
        }
        Ok(parts)
    }

    /// Returns the lost records of the commit that the commit of `record` builds on, if some of their work is in `commit`.
    fn of_parent(&self, commit: &Reachable, record: &RecordId) -> Result<Vec<Part>> {
        let parent = self.log.find(record).ok().flatten().and_then(|record| record.parent);
        let mut parts = Vec::new();
        for it in self.lost.iter().filter(|it| Some(it.commit) == parent) {
            parts.extend(self.part(commit, it.id, Least::Any)?);
        }
        Ok(parts)
    }

    /// Returns the record `id` if `commit` has at least `least` of its work, and the only files of which it has any.
    fn part(&self, commit: &Reachable, id: RecordId, least: Least) -> Result<Option<Part>> {
        Ok(files_in(self.context, commit.parent_id, commit.id, &id, least)?.map(|only| (id, only)))
    }
}

/// A record, and the only files of it whose work a commit has; none: all.
type Part = (RecordId, Vec<BString>);

fn add(found: &mut Vec<Source>, parts: impl IntoIterator<Item = Part>, by: &'static str) {
    for (record, only) in parts {
        if !found.iter().any(|known| known.record == record) {
            found.push(Source { record, by, only });
        }
    }
}

/// Adds the records `ids` with all their files.
fn add_of_all(found: &mut Vec<Source>, ids: impl IntoIterator<Item = RecordId>, by: &'static str) {
    add(found, ids.into_iter().map(|id| (id, Vec::new())), by);
}

/// Returns true if `commit` changes the files of one of `lost`, and hardly others: then its patch may be the same. To ask git for the patch
/// of a commit that changes much takes long.
fn may_be_same(repo: &Repo, commit: &Reachable, lost: &[Record]) -> Result<bool> {
    let before = commit.parent_id.map_or_else(|| Ok(repo.empty_tree_id()), |parent| repo.tree_of_commit(parent))?;
    let changed: HashSet<BString> =
        repo.diff_trees(before, commit.tree_id)?.into_iter().map(|change| change.path).collect();
    Ok(lost.iter().filter(|record| record.patch_id.is_some()).any(|record| {
        // A renamed file has two paths.
        changed.len() <= 2 * record.files.len() && record.files.iter().all(|file| changed.contains(&file.path))
    }))
}

/// Returns the records without a commit that `tip` leads to, the newest first.
fn lost(context: &Context, log: &Log<'_>, tip: ObjectId) -> Result<Vec<Record>> {
    let repo = &context.repo;
    let history: HashSet<ObjectId> = repo.commits_in(&tip.to_string())?.unwrap_or_default().into_iter().collect();
    let mut by_time: BTreeMap<(std::cmp::Reverse<i64>, RecordId), Record> = BTreeMap::new();
    for id in log.all()? {
        context.check_interrupt()?;
        // A damaged record says nothing.
        let Some(record) = log.find(&id).ok().flatten() else { continue };
        let is_here = history.contains(&record.commit) || log.links(&id)?.iter().any(|it| history.contains(&it.commit));
        if !is_here {
            by_time.insert((std::cmp::Reverse(record.seconds), id), record);
        }
    }
    Ok(by_time.into_values().collect())
}

/// Returns the commits that a branch leads to, here or of a remote, and `tip` does not.
fn elsewhere(repo: &Repo, tip: ObjectId) -> Result<HashSet<ObjectId>> {
    let words =
        ["rev-list", "--ignore-missing", "--branches", "--remotes", "--not", &tip.to_string()].map(str::to_owned);
    let output = repo.run_git(&words, None)?;
    Ok(output.lines().filter_map(|line| ObjectId::from_hex(line.trim()).ok()).collect())
}

/// Returns `commits`, without merges: the commits that these bring have records of their own.
pub(crate) fn without_merges(repo: &Repo, commits: &[ObjectId]) -> Result<Vec<Reachable>> {
    let mut found = Vec::with_capacity(commits.len());
    for id in commits {
        // Those that the commit names: a merge that a shallow clone begins with is a merge all the same.
        let parents = repo.written_parents_of(*id)?;
        if parents.len() < 2 {
            parents.first().map_or(Ok(()), |parent| refuse_without_parent(repo, *id, *parent))?;
            found.push(Reachable { id: *id, tree_id: repo.tree_of_commit(*id)?, parent_id: parents.first().copied() });
        }
    }
    Ok(found)
}
