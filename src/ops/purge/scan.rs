//! Finds the text in the objects that our refs lead to, and in those that we wrote and that nothing leads to any more.

use std::collections::{BTreeSet, HashMap, HashSet};

use bstr::{BString, ByteSlice as _};
use gix::{ObjectId, objs::Kind as ObjectKind};

use super::{
    fetched,
    leaves::{leaves_at, leaves_of},
};
use crate::{
    error::{Kind, Result},
    git::{
        Repo,
        recorder::{FILES, SESSION},
    },
    model::{
        checkpoint::Checkpoint, log_place::Place, note::is_subject_of_notes, operation::Operation,
        record::is_subject_of_log, refname, secret::Secret,
    },
};

/// What the objects of a repository have of a text.
pub(super) struct Scan {
    /// The blobs that have it.
    pub(super) found: HashSet<ObjectId>,
    /// The blobs that checkpoints have at one of the paths to remove.
    pub(super) at_paths: HashSet<ObjectId>,
    /// Those of both that the user holds as well. These objects stay, but nothing of ours leads to them afterwards.
    pub(super) of_user: BTreeSet<ObjectId>,
    /// The commits of `own` that the user holds.
    pub(super) held: HashSet<ObjectId>,
    /// A path of each object behind our refs; empty for commits.
    pub(super) paths: HashMap<ObjectId, BString>,
    /// The commits of the logs of records and transcripts that are stored, reachable or not.
    pub(super) logs: BTreeSet<ObjectId>,
    /// The checkpoints that are stored, reachable or not.
    pub(super) checkpoints: Vec<ObjectId>,
    /// The entries of operation logs that are stored, reachable or not.
    pub(super) operations: BTreeSet<ObjectId>,
    /// How many of these have the text.
    pub(super) operations_with_text: usize,
    /// The commits that are ours, reachable or not: these checkpoints, their side commits, and those of logs.
    pub(super) own: HashSet<ObjectId>,
    /// The objects that we wrote and that none of these leads to; perhaps some that the user holds.
    pub(super) noted: Vec<ObjectId>,
    /// The logs that were fetched from remotes and have it.
    pub(super) fetched: Vec<(String, ObjectId)>,
    /// True if a name in a tree has it, of a ref, of a session, of an agent or of a model.
    pub(super) is_in_names: bool,
    /// How many blobs have it to which nothing but lost commits leads, and of which it is not known whose they are.
    pub(super) unreachable: usize,
}

/// All our commits that are stored, reachable or not.
pub(super) struct Commits {
    pub(super) checkpoints: Vec<ObjectId>,
    pub(super) sides: Vec<ObjectId>,
    /// Those of the logs of records and transcripts.
    pub(super) logs: BTreeSet<ObjectId>,
    /// The entries of operation logs.
    pub(super) operations: BTreeSet<ObjectId>,
}

impl Commits {
    pub(super) fn read(repo: &Repo) -> Result<Self> {
        let refs = repo.refs_below(refname::PREFIX)?;
        let is_log = |name: &str| refname::is_notes(name) || refname::is_log(name);
        let log_tips: Vec<ObjectId> = refs.iter().filter(|(name, _)| is_log(name)).map(|(_, id)| *id).collect();
        let logs = log_commits(repo, &log_tips)?;
        let mut commits = Self { checkpoints: Vec::new(), sides: Vec::new(), logs, operations: BTreeSet::new() };
        for id in repo.all_commits()? {
            repo.check_interrupt()?;
            match if commits.logs.contains(&id) { Sort::Log } else { sort_of(repo, id)? } {
                Sort::Checkpoint => commits.checkpoints.push(id),
                Sort::Side => commits.sides.push(id),
                Sort::Log => drop(commits.logs.insert(id)),
                Sort::Operation => drop(commits.operations.insert(id)),
                Sort::OfUser => {}
            }
        }
        Ok(commits)
    }

    pub(super) fn all(&self) -> HashSet<ObjectId> {
        self.checkpoints.iter().chain(&self.sides).chain(&self.logs).chain(&self.operations).copied().collect()
    }
}

/// What a commit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    Checkpoint,
    Side,
    Log,
    Operation,
    OfUser,
}

fn sort_of(repo: &Repo, id: ObjectId) -> Result<Sort> {
    repo.with_commit(id, |commit| {
        if Checkpoint::from_commit(id, commit).is_some() {
            return Sort::Checkpoint;
        }
        if Operation::parse(commit.message.as_bstr()).is_some() {
            return Sort::Operation;
        }
        match commit.message.lines().next().unwrap_or_default() {
            b"side data of a checkpoint" => Sort::Side,
            subject if is_subject_of_log(subject) || is_subject_of_notes(subject) => Sort::Log,
            _ => Sort::OfUser,
        }
    })
    .and_then(|sort| {
        let is_ours = match sort {
            Sort::Log => is_log(repo, id)?,
            Sort::Operation => is_operation(repo, id)?,
            Sort::Checkpoint | Sort::Side | Sort::OfUser => true,
        };
        Ok(if is_ours { sort } else { Sort::OfUser })
    })
}

/// Returns true if the tree of the commit `id` has no other file than those of an operation.
fn is_operation(repo: &Repo, id: ObjectId) -> Result<bool> {
    let entries = repo.tree_entries(repo.tree_of_commit(id)?)?;
    Ok(entries.iter().all(|(name, is_tree, _)| name == if *is_tree { SESSION } else { FILES }))
}

/// Returns true if the tree of the commit `id` is made as those of the logs are: of directories with names that we give.
fn is_log(repo: &Repo, id: ObjectId) -> Result<bool> {
    let digits = repo.object_hash().len_in_hex();
    let has_only = |place: Place, tree_id| -> Result<bool> {
        let entries = repo.tree_entries(tree_id)?;
        Ok(entries
            .iter()
            .all(|(name, is_tree, _)| place.below(name, digits).is_some_and(|it| it.is_tree() == *is_tree)))
    };
    let tree_id = repo.tree_of_commit(id)?;
    if has_only(Place::History, tree_id)? {
        return Ok(true);
    }
    for (root, below) in [(Place::Transcripts, Place::Pieces), (Place::Notes, Place::NoteShard)] {
        if !has_only(root, tree_id)? {
            continue;
        }
        let mut folders = repo.tree_entries(tree_id)?.into_iter();
        if folders.all(|(_, _, tree_id)| has_only(below, tree_id).unwrap_or(false)) {
            return Ok(true);
        }
    }
    Ok(false)
}

impl Scan {
    /// Looks for `secret` in `repo`.
    ///
    /// # Errors
    /// If an object cannot be read: it may have the text.
    pub(super) fn of(repo: &Repo, secret: &Secret, paths_to_remove: &[BString]) -> Result<Self> {
        let commits = Commits::read(repo)?;
        let own = commits.all();
        let Commits { checkpoints, logs, operations, .. } = commits;
        let mut tips: Vec<ObjectId> = repo.refs_below(refname::PREFIX)?.into_iter().map(|(_, id)| id).collect();
        tips.extend(&own);
        let mut paths = repo.objects_behind(&tips, Some(refname::PREFIX))?;
        // Of these, git leaves out what refs of the user lead to, too.
        let mut of_logs: Vec<ObjectId> = logs.iter().copied().collect();
        of_logs.extend(fetched::logs(repo)?.into_iter().map(|(_, tip)| tip));
        paths.extend(repo.objects_behind(&of_logs, None)?);
        for id in &checkpoints {
            repo.check_interrupt()?;
            add_leaves(repo, *id, &mut paths)?;
        }
        let mut noted = repo.noted_objects();
        noted.retain(|id| !paths.contains_key(id) && repo.has_object(*id));
        paths.extend(noted.iter().map(|id| (*id, BString::default())));
        let mut scan = Self {
            found: HashSet::new(),
            at_paths: HashSet::new(),
            of_user: BTreeSet::new(),
            held: HashSet::new(),
            paths,
            logs,
            checkpoints,
            operations,
            operations_with_text: 0,
            own,
            noted,
            fetched: Vec::new(),
            is_in_names: false,
            unreachable: 0,
        };
        scan.read(repo, secret)?;
        scan.fetched = fetched::with_text(repo, &scan.found)?;
        scan.read_names(repo, secret)?;
        scan.read_unreachable(repo, secret)?;
        scan.find_at(repo, paths_to_remove)?;
        let wanted = scan.found.union(&scan.at_paths).chain(&scan.own).copied().collect();
        let of_user = repo.held(&wanted, &scan.own, Some(scan.ours()), None)?;
        let (held, of_user): (Vec<_>, Vec<_>) = of_user.into_iter().partition(|id| scan.own.contains(id));
        scan.held.extend(held);
        scan.of_user.extend(of_user);
        Ok(scan)
    }

    /// Returns how the names of the refs begin that are not to have it afterwards.
    pub(super) fn ours(&self) -> &'static str {
        if self.fetched.is_empty() { refname::PREFIX } else { refname::OURS }
    }

    /// Returns true if only we hold the blob `id`, which has the text.
    pub(super) fn is_only_ours(&self, id: ObjectId) -> bool {
        self.found.contains(&id) && !self.of_user.contains(&id)
    }

    /// Returns true if the user holds the blob `id`, too, which has the text.
    pub(super) fn is_shared(&self, id: ObjectId) -> bool {
        self.found.contains(&id) && self.of_user.contains(&id)
    }

    fn read(&mut self, repo: &Repo, secret: &Secret) -> Result<()> {
        if secret.is_nothing() {
            return Ok(());
        }
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

    /// Looks at the names that checkpoints and refs have.
    fn read_names(&mut self, repo: &Repo, secret: &Secret) -> Result<()> {
        if secret.is_nothing() {
            return Ok(());
        }
        for id in &self.checkpoints {
            let Some(Checkpoint { origin, .. }) = repo.checkpoint(*id)? else { continue };
            let names = [&origin.session, &origin.agent, &origin.model, &origin.agent_id];
            self.is_in_names |= names.into_iter().flatten().any(|name| secret.is_in(name.as_bytes()));
        }
        for id in &self.operations {
            let has_text = repo.with_commit(*id, |commit| secret.is_in(commit.message))?;
            let mut files = repo.tree_entries(repo.tree_of_commit(*id)?)?.into_iter();
            self.operations_with_text += usize::from(has_text || files.any(|(_, _, blob)| self.found.contains(&blob)));
        }
        let mut refs = repo.refs_below(refname::PREFIX)?.into_iter();
        self.is_in_names |= refs.any(|(name, _)| secret.is_in(name.as_bytes()));
        Ok(())
    }

    /// Looks at the blobs that nothing leads to but lost commits: of saves that were killed, or of the user, as of a dropped stash.
    fn read_unreachable(&mut self, repo: &Repo, secret: &Secret) -> Result<()> {
        if secret.is_nothing() {
            return Ok(());
        }
        let mut blobs = repo.all_blobs()?;
        blobs.retain(|id| !self.paths.contains_key(id));
        let held = repo.held_by_names(&blobs)?;
        let mut buffer = Vec::new();
        for id in blobs.difference(&held) {
            repo.check_interrupt()?;
            // Nothing here removes what only another repository has; and a ref there may lead to it.
            let is_found = secret.is_in(repo.read_object(*id, ObjectKind::Blob, &mut buffer)?);
            self.unreachable += usize::from(is_found && repo.own_objects_have(*id)?);
        }
        Ok(())
    }

    fn find_at(&mut self, repo: &Repo, paths: &[BString]) -> Result<()> {
        let mut pathspec = repo.pathspec(paths)?;
        for id in &self.checkpoints {
            let Some(checkpoint) = repo.checkpoint(*id)? else { continue };
            for (tree, change) in leaves_at(repo, &checkpoint, &mut pathspec)? {
                if let Some(leaf) = change.after {
                    self.at_paths.insert(leaf.id);
                    self.paths.insert(leaf.id, tree.path_of(&change));
                }
            }
        }
        Ok(())
    }
}

/// Adds the blobs in which the checkpoint `id` differs from its base to `paths`.
fn add_leaves(repo: &Repo, id: ObjectId, paths: &mut HashMap<ObjectId, BString>) -> Result<()> {
    let Some(checkpoint) = repo.checkpoint(id)? else { return Ok(()) };
    let leaves = match leaves_of(repo, &checkpoint) {
        // Where a tree is missing, what is left of the others is among the objects that git lists.
        Err(error) if error.kind() == Kind::Corrupt => return Ok(()),
        leaves => leaves?,
    };
    for (tree, change) in leaves {
        if let Some(leaf) = change.after {
            paths.entry(leaf.id).or_insert_with(|| tree.path_of(&change));
        }
    }
    Ok(())
}

/// Returns true if any object has `secret`, whether it is ours or the user's.
pub(super) fn is_in_any_object(repo: &Repo, secret: &Secret) -> Result<bool> {
    let mut buffer = Vec::new();
    let mut all: Vec<(ObjectKind, ObjectId)> = repo.all_blobs()?.into_iter().map(|id| (ObjectKind::Blob, id)).collect();
    all.extend(repo.all_commits()?.into_iter().map(|id| (ObjectKind::Commit, id)));
    all.extend(repo.all_tags()?.into_iter().map(|id| (ObjectKind::Tag, id)));
    for (kind, id) in all {
        repo.check_interrupt()?;
        if secret.is_in(repo.read_object(id, kind, &mut buffer)?) {
            return Ok(true);
        }
    }
    for id in repo.all_trees()? {
        repo.check_interrupt()?;
        if repo.tree_entries(id)?.iter().any(|(name, _, _)| secret.is_in(name)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the objects of the `operations`.
pub(super) fn objects_of(repo: &Repo, operations: &BTreeSet<ObjectId>) -> Result<HashSet<ObjectId>> {
    let mut objects = HashSet::new();
    for id in operations {
        objects.insert(*id);
        let mut trees = vec![repo.tree_of_commit(*id)?];
        while let Some(tree_id) = trees.pop() {
            objects.insert(tree_id);
            for (_, is_tree, id) in repo.tree_entries(tree_id)? {
                if is_tree {
                    trees.push(id);
                } else {
                    objects.insert(id);
                }
            }
        }
    }
    Ok(objects)
}

/// Returns the commits behind `tips`, which are of logs.
pub(super) fn log_commits(repo: &Repo, tips: &[ObjectId]) -> Result<BTreeSet<ObjectId>> {
    let (mut commits, mut work) = (BTreeSet::new(), tips.to_vec());
    while let Some(id) = work.pop() {
        if commits.insert(id) {
            work.extend(repo.parents_of(id)?);
        }
    }
    Ok(commits)
}
