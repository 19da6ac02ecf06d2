//! What shows that the work of a record is here again, and of which files.

use std::collections::{BTreeMap, BTreeSet};

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::{
    super::{
        chain::carry_forward::LiveShadows,
        records::{Log, evidence},
        share::Least,
    },
    brought_from::BroughtFrom,
    place::{FoundAt, Place, head_tree},
    step::{Step, first_with},
    steps::steps,
};
use crate::{
    error::{Kind, Result},
    git::{Repo, seen_by_git::SeenByGit},
    model::{
        change::{Change, Leaf, Mode},
        record::{Parts, RecordId},
        refname::Base,
    },
};

/// What shows that the work of a record may be here again, the weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Evidence {
    /// Only the content. Another branch has the work, and a person may have typed a part of it here, too.
    Elsewhere,
    /// Only the content, in a file that had another name. A person may have typed a short line since it has its present one.
    FormerName,
    /// Only the content.
    Content,
    /// A file is as an earlier commit has it: git has brought it.
    Brought,
    /// Git has removed the work from HEAD, or put it back.
    Removed,
    /// Git names the commit from which it has prepared the next one.
    Named,
}

impl Evidence {
    /// Returns how much of the work has to be here.
    pub(super) fn least(self) -> Least {
        match self {
            Self::Elsewhere => Least::Telling,
            Self::FormerName => Least::LongHalf,
            Self::Content => Least::Half,
            Self::Brought | Self::Removed | Self::Named => Least::Any,
        }
    }

    /// Returns how much of the work makes the author of its lines doubtful; none: a person may have typed the same.
    pub(super) fn least_for_doubt(self) -> Option<Least> {
        match self {
            Self::Elsewhere | Self::FormerName | Self::Content => None,
            Self::Brought | Self::Removed | Self::Named => Some(Least::Line),
        }
    }

    /// Returns true if git says that all of the work was here. Otherwise, each file has to show it.
    pub(super) fn is_of_all(self) -> bool {
        self >= Self::Removed
    }
}

/// Records whose work may be here again, each with the strongest evidence.
#[derive(Default)]
pub(super) struct Candidates {
    pub(super) known: BTreeMap<RecordId, Evidence>,
    /// Of records of commits that git has removed or put back, the only files whose work these commits have; none: all.
    limits: BTreeMap<RecordId, Option<Vec<BString>>>,
    /// Those that a restore has put into the worktree: git's index does not know of it.
    pub(super) restored: BTreeSet<RecordId>,
}

impl Candidates {
    pub(super) fn add(&mut self, ids: impl IntoIterator<Item = RecordId>, evidence: Evidence) {
        for id in ids {
            let known = self.known.entry(id).or_insert(evidence);
            *known = evidence.max(*known);
        }
    }

    /// Adds the record `id` of a commit that git has removed or put back. The commit has the work of the files `only`; none: of all.
    pub(super) fn add_removed(&mut self, id: RecordId, only: Vec<BString>) {
        self.add([id], Evidence::Removed);
        let limit = self.limits.entry(id).or_insert_with(|| Some(Vec::new()));
        match limit {
            Some(files) if !only.is_empty() => files.extend(only),
            limit => *limit = None,
        }
    }

    /// Adds the records of `commit`, which git has removed.
    pub(super) fn add_of_removed(&mut self, repo: &Repo, log: &Log<'_>, commit: ObjectId) -> Result<()> {
        for id in evidence::of_commit(repo, commit)? {
            self.add_removed(id, log.limit(&id, commit)?.certain());
        }
        Ok(())
    }

    /// Returns true if the commit that git has removed or put back may have had the work of the record `id` in the file `path`.
    pub(super) fn had(&self, id: &RecordId, path: &BString) -> bool {
        self.limits.get(id).and_then(Option::as_ref).is_none_or(|files| files.contains(path))
    }
}

/// Returns those of the records `found` whose work counts, and of those of which only some files count, these files.
///
/// A record that some files have shown lends authors to those files only. The person may have typed what the others have, in which a
/// session's line then looks edited. What a session has written here is its own, though a commit elsewhere has the same; and what git,
/// or a restore, has brought is of the record that they name.
pub(super) fn by_file(
    repo: &Repo,
    log: &Log<'_>,
    (head, place): (Option<ObjectId>, Place),
    changes: &[Change],
    found: Vec<FoundAt>,
    evidence: impl Fn(&RecordId) -> Evidence,
) -> Result<(Vec<RecordId>, Parts)> {
    let (mut certain, mut parts) = (Vec::new(), Parts::new());
    let (of_all, shown): (Vec<_>, Vec<_>) = found.into_iter().partition(|found| evidence(&found.id).is_of_all());
    certain.extend(of_all.iter().map(|found| found.id));
    let head_tree_id = head_tree(repo, head)?;
    let others: Vec<BString> = shown.iter().flat_map(|found| found.others.iter().cloned()).collect();
    let seen = repo.seen_by_git(&others)?;
    let shown: Vec<_> =
        shown.into_iter().map(|found| with_brought(repo, head_tree_id, &seen, found)).collect::<Result<_>>()?;
    let known = Known::read(repo, head, changes, &of_all, &shown)?;
    let all: Vec<&FoundAt> = of_all.iter().chain(&shown).collect();
    let from = BroughtFrom::read(repo, log, head, place, if shown.is_empty() { &[] } else { &all })?;
    for FoundAt { id, mut files, count, .. } in shown {
        let known = known.files(repo, &id, changes, (&files, &from))?;
        files.retain(|path| !known.contains(path));
        if files.is_empty() {
            continue;
        }
        // Whatever this commit changes: a later one, which is made of this one, may change more.
        if files.len() < count {
            parts.insert(id, files);
        }
        certain.push(id);
    }
    Ok((certain, parts))
}

/// Returns `found` with those of its other files that git's index, as `seen`, has as the record left them, and HEAD, which has the tree
/// `head_tree_id`, has not: git has brought them, too, and each line may have been edited since.
fn with_brought(
    repo: &Repo,
    head_tree_id: ObjectId,
    seen: &BTreeMap<&BString, SeenByGit>,
    mut found: FoundAt,
) -> Result<FoundAt> {
    // A damaged record is no reason to refuse a commit.
    let record = if found.others.is_empty() { None } else { evidence::find(repo, &found.id).ok().flatten() };
    let mut brought = BTreeSet::new();
    for file in record.into_iter().flat_map(|record| record.files) {
        let is_seen = seen.get(&file.path).is_some_and(|seen| Some(seen.leaf.id) == file.after);
        if is_seen && repo.find_leaf(head_tree_id, file.path.as_bstr())?.map(|leaf| leaf.id) != file.after {
            brought.insert(file.path);
        }
    }
    found.others.retain(|path| !brought.contains(path));
    found.files.extend(brought);
    Ok(found)
}

/// What is known of files, so that a record of another commit has nothing to say of them, though it has the same.
struct Known {
    /// What the live shadow did to them.
    steps: Vec<Step>,
    /// Their content in the records of which git, or a restore, says that the work was here.
    of_all: BTreeSet<ObjectId>,
}

impl Known {
    /// Reads what is known of the files of `shown`. The live shadow on `head` may have the same under another name, a new one in `changes`.
    fn read(
        repo: &Repo,
        head: Option<ObjectId>,
        changes: &[Change],
        of_all: &[FoundAt],
        shown: &[FoundAt],
    ) -> Result<Self> {
        let mut known = Self { steps: Vec::new(), of_all: BTreeSet::new() };
        if shown.is_empty() {
            return Ok(known);
        }
        for FoundAt { id, files, .. } in of_all {
            let record = evidence::find(repo, id).ok().flatten();
            let found = record.into_iter().flat_map(|record| record.files).filter(|file| files.contains(&file.path));
            known.of_all.extend(found.filter_map(|file| file.after));
        }
        let mut paths: BTreeSet<&BString> = shown.iter().flat_map(|found| &found.files).collect();
        paths.extend(changes.iter().filter(|change| change.before.is_none()).map(|change| &change.path));
        let read = || match LiveShadows::read(repo, Base::of_head(head))? {
            Some(live) => steps(repo, &live.latest, &|path| paths.contains(path)),
            None => Ok(Vec::new()),
        };
        match read() {
            // `status` reports a broken shadow. It says nothing here.
            Err(error) if error.kind() == Kind::Corrupt => {}
            steps => known.steps = steps?,
        }
        Ok(known)
    }

    /// Returns those of `files` of the record `id` whose work another session than those of the record has written here, that are as
    /// in a record which is known to be here, or that have come here `from` other commits.
    fn files(
        &self,
        repo: &Repo,
        id: &RecordId,
        changes: &[Change],
        (files, from): (&[BString], &BroughtFrom<'_>),
    ) -> Result<Vec<BString>> {
        let mut known = Vec::new();
        // A damaged record is no reason to refuse a commit.
        let Some(record) = evidence::find(repo, id).ok().flatten() else { return Ok(known) };
        let is_others = |step: &Step, path: &BString| {
            let brought = step.at(path).and_then(|it| step.brought(it));
            let session = step.origin.session.as_ref().filter(|_| brought.is_none());
            session.is_some_and(|session| record.sessions.iter().all(|part| part.id != *session))
        };
        for file in record.files.iter().filter(|file| files.contains(&file.path)) {
            if file.after.is_some_and(|after| self.of_all.contains(&after)) {
                known.push(file.path.clone());
                continue;
            }
            let now = changes.iter().find(|change| change.path == file.path).and_then(|change| change.after);
            if from.excludes(&record, &file.path, now.map(|leaf| leaf.id)) {
                known.push(file.path.clone());
                continue;
            }
            if [file.before, file.after].iter().flatten().any(|id| !repo.has_object(*id)) {
                continue;
            }
            let is_same = |change: &&Change| {
                change.path == file.path || change.before.is_none() && change.after.map(|leaf| leaf.id) == file.after
            };
            for Change { path, before: head, .. } in changes.iter().filter(is_same) {
                let [before, after] = [file.before, file.after].map(|id| id.map(|id| Leaf { id, mode: Mode::File }));
                let Some(work) = Change::between(path.clone(), before, after) else { continue };
                let first = first_with(repo, &self.steps, &work, *head)?;
                let is_restored = match first.and_then(|step| step.from) {
                    Some(commit) => from.is_restored_without(commit, &record, &file.path)?,
                    None => false,
                };
                if is_restored || first.is_some_and(|step| is_others(step, path)) {
                    known.push(file.path.clone());
                    break;
                }
            }
        }
        Ok(known)
    }
}
