//! The state before a restore: locked and saved, or for a dry run only looked at.

use std::collections::BTreeSet;

use bstr::BString;
use gix::ObjectId;

use super::{leftover, snapshot::Snapshot};
use crate::{
    error::{Error, Kind, Result},
    git::{
        Repo,
        side::tree_of_blobs,
        snapshot::{Keep, full_pass},
        stat_cache::StatCache,
        user_index::IndexIdentity,
    },
    model::{checkpoint::Origin, refname::Base, verdict::Left},
    ops::{
        Context, Worktree,
        chain::shadows,
        restored_target,
        save::{self, Author, Hold, Known, Scope},
    },
    state::{
        self,
        journal::{Journal, Progress},
    },
};

/// How the state before is to be taken.
pub(super) struct Request {
    /// The first line of the checkpoint's message.
    pub(super) subject: String,
    /// Take no checkpoint.
    pub(super) is_dry: bool,
    /// What is staged must be in it exactly.
    pub(super) keeps_index: bool,
    /// Even in a protected directory.
    pub(super) force: bool,
    /// Even if an earlier restore was interrupted.
    pub(super) after_crash: bool,
}

/// The worktree as it is, with the lock that keeps other operations of ours away.
pub(super) struct Before<'c> {
    worktree: Worktree<'c>,
    pub(super) snapshot: Snapshot,
    /// The checkpoint that holds it; none in a dry run.
    pub(super) checkpoint_id: Option<ObjectId>,
    /// What every path was when it was saved.
    pub(super) cache: Option<StatCache>,
    /// The paths that differ from the last checkpoint, in a dry run.
    pub(super) unsaved: BTreeSet<BString>,
    /// What the last restore has left.
    pub(super) journal: Option<Journal>,
    /// Paths of which an interrupted restore had another program's version, which has a name of its own now.
    pub(super) swept: Vec<Left>,
    index: IndexIdentity,
    /// Holds what a dry run has found, and must not write.
    memory: Option<Repo>,
}

impl<'c> Before<'c> {
    /// Takes the lock and saves everything, unless `request` says otherwise.
    pub(super) fn take(context: &'c Context, request: &Request) -> Result<Self> {
        save::refuse_protected(context, request.force)?;
        let worktree = if request.is_dry { save::lock(context)? } else { save::lock_to_write(context)? };
        let journal = Journal::read(context.repo.git_dir())?;
        if !request.after_crash && journal.as_ref().is_some_and(|journal| journal.progress == Progress::Applying) {
            return Err(Error::refused("an earlier restore was interrupted")
                .with_hint("'git checkpoint restore --continue' finishes it, 'git checkpoint undo' reverses it"));
        }
        if request.is_dry {
            return Self::look(worktree, journal);
        }
        let swept = sweep(context, journal.as_ref())?;
        let index = context.repo.user_index_identity();
        let wanted = save::Request {
            author: Author::Infer,
            message: Some(request.subject.clone()),
            hold: Hold::ForRestore { index: request.keeps_index },
            ..save::Request::default()
        };
        let taken = save::save_and_note(&worktree, &wanted)?;
        let id = taken.saved.id.ok_or_else(|| Error::internal("the worktree was not saved"))?;
        let mut snapshot = Snapshot::read(&context.repo, id)?;
        // A checkpoint that holds this state already may be older than what has been left out since.
        snapshot.manifest = taken.side.manifest;
        let cache = taken.cache;
        Ok(Self {
            worktree,
            snapshot,
            checkpoint_id: Some(id),
            cache,
            unsaved: BTreeSet::new(),
            journal,
            swept,
            index,
            memory: None,
        })
    }

    /// Writes objects of the files again that are not stored any more, though a checkpoint refers to them.
    pub(super) fn write_again(&self) -> Result<()> {
        save::write_again(&self.worktree).map(drop)
    }

    /// Takes the lock and what the interrupted restore has saved.
    pub(super) fn interrupted(context: &'c Context, is_dry: bool) -> Result<Self> {
        let worktree = if is_dry { save::lock(context)? } else { save::lock_to_write(context)? };
        let journal = Journal::read(context.repo.git_dir())?.filter(|it| it.progress == Progress::Applying);
        let journal = journal.ok_or_else(|| {
            Error::user("no restore was interrupted").with_hint("'git checkpoint undo' takes the last one back")
        })?;
        let swept = if is_dry { Vec::new() } else { sweep(context, Some(&journal))? };
        let snapshot = Snapshot::read(&context.repo, journal.pre_restore)?;
        let index = context.repo.user_index_identity();
        let checkpoint_id = Some(journal.pre_restore);
        let unsaved = BTreeSet::new();
        let (cache, journal) = (None, Some(journal));
        Ok(Self { worktree, snapshot, checkpoint_id, cache, unsaved, journal, swept, index, memory: None })
    }

    /// Saves what is staged now, and returns that state: what was staged since a crash may be in no checkpoint.
    pub(super) fn save_index(&self) -> Result<Snapshot> {
        let from = self.snapshot.basis(&self.worktree.repo)?;
        let wanted = save::Request {
            scope: Scope::Known(Known { steps: Vec::new(), from, and_index: true }),
            message: Some("before continuing a restore".into()),
            hold: Hold::ForRestore { index: true },
            ..save::Request::default()
        };
        let taken = save::save_and_note(&self.worktree, &wanted)?;
        let id = taken.saved.id.ok_or_else(|| Error::internal("the index was not saved"))?;
        self.worktree.repo.make_durable()?;
        Snapshot::read(&self.worktree.repo, id)
    }

    /// Looks at the worktree without writing anything.
    fn look(worktree: Worktree<'c>, journal: Option<Journal>) -> Result<Self> {
        let memory = worktree.repo.with_object_memory();
        let head = memory.head()?.id;
        let last = shadows::latest_on(&memory, Base::of_head(head))?.map(|tip| tip.id).or(head);
        let mut snapshot = match last {
            Some(id) => Snapshot::read(&memory, id)?,
            None => Snapshot::nothing(&memory),
        };
        let index = memory.user_index_identity();
        let cache_path = state::directory(memory.git_dir()).join("index");
        let cache = StatCache::load(&cache_path, memory.object_hash());
        let (now, mut objects) = full_pass(&memory, &save::limits(&worktree), cache, Keep::InMemory)?;
        let raw_tree = tree_of_blobs(&memory, now.raw_paths(), &mut objects)?;
        drop(objects);
        let (saved_tree, saved_raw) = (snapshot.tree_id, snapshot.raw_tree(&memory));
        snapshot.hold(now.tree_id, raw_tree, now.index_tree_id, now.manifest);
        let changes = memory.diff_trees(saved_tree, snapshot.tree_id)?;
        let raw_changes = memory.diff_trees(saved_raw, snapshot.raw_tree(&memory))?;
        let unsaved = changes.into_iter().chain(raw_changes).map(|change| change.path).collect();
        let (checkpoint_id, cache) = (None, Some(now.cache));
        let swept = Vec::new();
        Ok(Self { worktree, snapshot, checkpoint_id, cache, unsaved, journal, swept, index, memory: Some(memory) })
    }

    /// Returns the repository in which all objects of this state can be read.
    pub(super) fn repo(&self) -> &Repo {
        self.memory.as_ref().unwrap_or(&self.worktree.repo)
    }

    /// Makes sure that the user's index still is the one that was saved.
    pub(super) fn check_index(&self, repo: &Repo) -> Result<()> {
        if repo.user_index_identity() == self.index {
            Ok(())
        } else {
            Err(Error::new(Kind::Race, "the index changed under way"))
        }
    }

    /// Takes a checkpoint of what the restore in `journal` has changed, so that later ones know where it comes from.
    pub(super) fn save_after(&self, journal: &Journal, target: &Snapshot) {
        if journal.steps.is_empty() {
            return;
        }
        let short = journal.target.to_hex_with_len(10);
        let of_target = target.checkpoint.as_ref().map(|checkpoint| checkpoint.origin.clone()).unwrap_or_default();
        let tool = Some(restored_target::tool(journal.target));
        let author = Author::Is(Origin { note: None, carried: None, tool, ..of_target });
        let saved = target.basis(&self.worktree.repo).and_then(|from| {
            let (steps, and_index) = (journal.steps.clone(), !journal.index.is_empty());
            let scope = Scope::Known(Known { steps, from, and_index });
            let message = Some(format!("restore {short}"));
            save::save_and_note(&self.worktree, &save::Request { scope, author, message, ..save::Request::default() })
        });
        if let Err(error) = saved {
            // The restore is done; the next save takes it up as a change like any other.
            tracing::warn!(%error, "cannot take the checkpoint after the restore");
        }
    }
}

/// Sweeps what the restore in `journal` has left, if it was interrupted.
fn sweep(context: &Context, journal: Option<&Journal>) -> Result<Vec<Left>> {
    let interrupted = journal.filter(|journal| journal.progress == Progress::Applying);
    interrupted.map_or_else(|| Ok(Vec::new()), |journal| leftover::sweep(&context.repo, journal))
}
