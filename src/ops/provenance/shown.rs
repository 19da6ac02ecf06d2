//! What shows that the work of a record is here again, and of which files.

use std::collections::{BTreeMap, BTreeSet};

use bstr::BString;
use gix::ObjectId;

use super::{
    super::{chain::carry_forward::LiveShadows, records::evidence, share::Least},
    place::FoundAt,
    step::{Step, first_with},
    steps::steps,
};
use crate::{
    error::{Kind, Result},
    git::Repo,
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
pub(super) struct Candidates(pub(super) BTreeMap<RecordId, Evidence>);

impl Candidates {
    pub(super) fn add(&mut self, ids: impl IntoIterator<Item = RecordId>, evidence: Evidence) {
        for id in ids {
            let known = self.0.entry(id).or_insert(evidence);
            *known = evidence.max(*known);
        }
    }
}

/// Returns those of the records `found` whose work counts, and of those of which only some files count, these files.
///
/// A record that some files have shown lends authors to those files only. The person may have typed what the others have, in which a
/// session's line then looks edited. What a session has written here is its own, though a commit elsewhere has the same.
pub(super) fn by_file(
    repo: &Repo,
    head: Option<ObjectId>,
    changes: &[Change],
    found: Vec<FoundAt>,
    evidence: impl Fn(&RecordId) -> Evidence,
) -> Result<(Vec<RecordId>, Parts)> {
    let (mut certain, mut parts) = (Vec::new(), Parts::new());
    let shown = found.iter().filter(|found| !evidence(&found.id).is_of_all()).flat_map(|found| &found.files);
    let here = WrittenHere::read(repo, head, &shown.cloned().collect())?;
    for FoundAt { id, mut files, mut others } in found {
        if !evidence(&id).is_of_all() {
            let own = here.files(repo, &id, changes, &files)?;
            files.retain(|path| !own.contains(path));
            others.extend(own);
            if files.is_empty() {
                continue;
            }
            if !others.is_empty() {
                parts.insert(id, files);
            }
        }
        certain.push(id);
    }
    Ok((certain, parts))
}

/// What the live shadow has, which may show that a session has written here what a record of another commit has, too.
struct WrittenHere(Vec<Step>);

impl WrittenHere {
    /// Reads what the live shadow on `head` did to the files `paths`.
    fn read(repo: &Repo, head: Option<ObjectId>, paths: &BTreeSet<BString>) -> Result<Self> {
        let read =
            || match (!paths.is_empty()).then(|| LiveShadows::read(repo, Base::of_head(head))).transpose()?.flatten() {
                Some(live) => steps(repo, &live.latest, &|path| paths.contains(path)),
                None => Ok(Vec::new()),
            };
        match read() {
            // `status` reports a broken shadow. It says nothing here.
            Err(error) if error.kind() == Kind::Corrupt => Ok(Self(Vec::new())),
            steps => Ok(Self(steps?)),
        }
    }

    /// Returns those of `files` of the record `id` whose work another session than those of the record has written here.
    fn files(&self, repo: &Repo, id: &RecordId, changes: &[Change], files: &[BString]) -> Result<Vec<BString>> {
        let mut own = Vec::new();
        // A damaged record is no reason to refuse a commit.
        let Some(record) = evidence::find(repo, id).ok().flatten().filter(|_| !self.0.is_empty()) else {
            return Ok(own);
        };
        let leaf = |id| Leaf { id, mode: Mode::File };
        for file in record.files.iter().filter(|file| files.contains(&file.path)) {
            let ends = [file.before, file.after];
            let Some(work) = Change::between(file.path.clone(), file.before.map(leaf), file.after.map(leaf)) else {
                continue;
            };
            if ends.iter().flatten().any(|id| !repo.has_object(*id)) {
                continue;
            }
            let head = changes.iter().find(|change| change.path == file.path).and_then(|change| change.before);
            let first = first_with(repo, &self.0, &work, head)?;
            let is_own = |step: &Step| {
                let brought = step.at(&file.path).and_then(|it| step.brought(it));
                let session = step.origin.session.as_ref().filter(|_| brought.is_none());
                session.is_some_and(|session| record.sessions.iter().all(|part| part.id != *session))
            };
            own.extend(first.is_some_and(is_own).then(|| file.path.clone()));
        }
        Ok(own)
    }
}
