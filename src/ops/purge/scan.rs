//! Finds the text in the objects that our refs lead to, and in those that we wrote and that nothing leads to any more.

use std::collections::{BTreeSet, HashMap, HashSet};

use bstr::{BString, ByteSlice as _};
use gix::{ObjectId, objs::Kind as ObjectKind};

use crate::{
    error::Result,
    git::Repo,
    model::{checkpoint::Checkpoint, refname, secret::Secret},
};

/// What the objects of a repository have of a text.
pub(super) struct Scan {
    /// The blobs that have it and that only we hold.
    pub(super) found: HashSet<ObjectId>,
    /// The blobs that have it and that the user holds as well.
    pub(super) of_user: BTreeSet<ObjectId>,
    /// A path of each object behind our refs; empty for commits.
    pub(super) paths: HashMap<ObjectId, BString>,
    /// The commits of the logs of records and transcripts that are stored, reachable or not.
    pub(super) logs: BTreeSet<ObjectId>,
    /// The checkpoints that are stored, reachable or not.
    pub(super) checkpoints: Vec<ObjectId>,
    /// The commits that are not ours, reachable or not.
    pub(super) others: Vec<ObjectId>,
    /// The objects that we wrote and that none of these leads to; perhaps some that the user holds.
    pub(super) noted: Vec<ObjectId>,
    /// True if a name in a tree has it.
    pub(super) is_in_names: bool,
}

/// What a commit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    Checkpoint,
    Side,
    Log,
    OfUser,
}

fn sort_of(repo: &Repo, id: ObjectId) -> Result<Sort> {
    repo.with_commit(id, |commit| {
        if Checkpoint::from_commit(id, commit).is_some() {
            return Sort::Checkpoint;
        }
        match commit.message.lines().next().unwrap_or_default() {
            b"side data of a checkpoint" => Sort::Side,
            subject if is_subject_of_log(subject) => Sort::Log,
            _ => Sort::OfUser,
        }
    })
    .and_then(|sort| Ok(if sort == Sort::Log && !is_log(repo, id)? { Sort::OfUser } else { sort }))
}

/// Returns true if commits of the logs of records and transcripts have such a subject.
fn is_subject_of_log(subject: &[u8]) -> bool {
    subject == b"transcripts" || (subject.ends_with(b" linked") && subject.contains_str(" added or completed, "))
}

/// Returns true if the tree of the commit `id` is made as those of the logs are: of directories with names that we give.
fn is_log(repo: &Repo, id: ObjectId) -> Result<bool> {
    const INDICES: [&[u8]; 3] = [b"commits", b"parents", b"changes"];
    let is_number = |name: &[u8]| name.len() == 6 && name.iter().all(u8::is_ascii_digit);
    for (name, is_tree, tree_id) in repo.tree_entries(repo.tree_of_commit(id)?)? {
        let is_of_records =
            INDICES.contains(&name.as_slice()) || (name.len() == 2 && name.iter().all(u8::is_ascii_hexdigit));
        if !is_tree || !(is_of_records || repo.tree_entries(tree_id)?.iter().all(|(name, _, _)| is_number(name))) {
            return Ok(false);
        }
    }
    Ok(true)
}

impl Scan {
    /// Looks for `secret` in `repo`.
    ///
    /// # Errors
    /// If an object cannot be read: it may have the text.
    pub(super) fn of(repo: &Repo, secret: &Secret) -> Result<Self> {
        let refs = repo.refs_below(refname::PREFIX)?;
        let mut tips: Vec<ObjectId> = refs.iter().map(|(_, id)| *id).collect();
        let is_log = |name: &str| name == refname::HISTORY || name.starts_with(refname::TRANSCRIPTS);
        let log_tips: Vec<ObjectId> = refs.iter().filter(|(name, _)| is_log(name)).map(|(_, id)| *id).collect();
        let mut logs = log_commits(repo, &log_tips)?;
        let (mut checkpoints, mut others) = (Vec::new(), Vec::new());
        for id in repo.all_commits()? {
            repo.check_interrupt()?;
            match if logs.contains(&id) { Sort::Log } else { sort_of(repo, id)? } {
                Sort::Checkpoint => checkpoints.push(id),
                Sort::Side => tips.push(id),
                Sort::Log => drop(logs.insert(id)),
                Sort::OfUser => others.push(id),
            }
        }
        tips.extend(checkpoints.iter().chain(&logs));
        let mut paths = repo.objects_behind(&tips, refname::PREFIX)?;
        let mut noted = repo.noted_objects();
        noted.retain(|id| !paths.contains_key(id) && repo.has_object(*id));
        paths.extend(noted.iter().map(|id| (*id, BString::default())));
        let mut scan = Self {
            found: HashSet::new(),
            of_user: BTreeSet::new(),
            paths,
            logs,
            checkpoints,
            others,
            noted,
            is_in_names: false,
        };
        scan.read(repo, secret)?;
        let of_user = repo.held(&scan.found, &scan.others, Some(refname::PREFIX))?;
        scan.found.retain(|id| !of_user.contains(id));
        scan.of_user.extend(of_user);
        Ok(scan)
    }

    fn read(&mut self, repo: &Repo, secret: &Secret) -> Result<()> {
        let mut buffer = Vec::new();
        for id in self.paths.keys() {
            repo.check_interrupt()?;
            match repo.kind_of(*id)? {
                Some(ObjectKind::Blob) if secret.is_in(repo.read_object(*id, ObjectKind::Blob, &mut buffer)?) => {
                    self.found.insert(*id);
                }
                Some(ObjectKind::Tree) => {
                    self.is_in_names |= repo.tree_entries(*id)?.iter().any(|(name, _, _)| secret.is_in(name));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Returns the commits behind `tips`, which are of logs.
fn log_commits(repo: &Repo, tips: &[ObjectId]) -> Result<BTreeSet<ObjectId>> {
    let (mut commits, mut work) = (BTreeSet::new(), tips.to_vec());
    while let Some(id) = work.pop() {
        if commits.insert(id) {
            work.extend(repo.parents_of(id)?);
        }
    }
    Ok(commits)
}
