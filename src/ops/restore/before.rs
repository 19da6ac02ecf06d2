//! The state before a restore: locked and saved, or for a dry run only looked at.

use std::{cell::Cell, collections::BTreeSet, thread::JoinHandle};

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::{
    leftover,
    scope::{self, Scene},
    snapshot::Snapshot,
    versions::Unsaved,
};
use crate::{
    error::{Error, Kind, Result},
    git::{
        Repo,
        check_blobs::ReadAhead,
        refs::RefUpdate,
        side::tree_of_blobs,
        snapshot::{Keep, full_pass},
        stat_cache::StatCache,
        threads,
        user_index::IndexIdentity,
    },
    model::{
        checkpoint::Origin,
        manifest::Tied,
        operation::{self, Role},
        refname::Base,
        submodule::Recurse,
        verdict::Left,
    },
    ops::{
        Context, Worktree,
        chain::shadows,
        enter::Purpose,
        lookup, restored_target,
        save::{self, Author, Hold, OwnSteps, SavedAndSeen, Scope},
    },
    state::{
        self,
        journal::{Journal, Progress},
        temporary,
    },
};

/// How the state before is to be taken.
pub(super) struct BeforeOptions {
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
    /// Save what is in repositories inside the worktree, too.
    pub(super) recurse: Recurse,
    /// For a redo: puts the checkpoint from before the redone restore back on the shadow, from which the undo has removed it.
    pub(super) saved: Option<(RefUpdate, Role)>,
}

/// The worktree as it is, before or after it is saved.
#[derive(Clone, Copy)]
pub(super) struct Sight<'a> {
    /// The repository in which all objects of this state can be read.
    pub(super) repo: &'a Repo,
    pub(super) snapshot: &'a Snapshot,
    pub(super) cache: Option<&'a StatCache>,
    pub(super) unsaved: &'a Unsaved,
}

impl<'a> Sight<'a> {
    /// Returns the scene of a restore of `target`.
    pub(super) fn scene(self, context: &'a Context, target: &'a Snapshot) -> Scene<'a> {
        let Self { repo, snapshot, cache, unsaved } = self;
        Scene { context, repo, pre: snapshot, target, cache, unsaved }
    }
}

/// What a restore has to expect.
pub(super) enum Outlook {
    /// It has something to do, and all content that it needs can be read.
    Work(ReadAhead),
    /// It may have nothing to do, or may find something in its way: only a dry run, which reads the files, knows.
    Undecided,
    /// It cannot be done.
    Refused(Error),
}

/// Decides what a restore has to expect, before a checkpoint is taken for it. What it fails of is refused, too, unless an object is
/// lost, which the save may write again.
pub(super) type Consider<'c> = &'c dyn Fn(Sight<'_>) -> Result<Outlook>;

/// The worktree as it is, with the lock that keeps other operations of ours away.
pub(super) struct Before<'c> {
    worktree: Worktree<'c>,
    pub(super) snapshot: Snapshot,
    /// The checkpoint that holds it; none in a dry run.
    pub(super) checkpoint_id: Option<ObjectId>,
    /// What every path was when it was saved.
    cache: Option<StatCache>,
    /// Nothing, except in a dry run.
    unsaved: Unsaved,
    /// What the last restore has left.
    pub(super) journal: Option<Journal>,
    /// Paths of which an interrupted restore had another program's version, which has a name of its own now.
    pub(super) rescued: Vec<Left>,
    /// What was read before it was saved.
    pub(super) ahead: Cell<ReadAhead>,
    /// The thread that writes what was saved to the disk.
    sync: Cell<Option<JoinHandle<Result<()>>>>,
    index: IndexIdentity,
    /// Holds what a dry run has found, and must not write.
    memory: Option<Repo>,
}

impl<'c> Before<'c> {
    /// Takes the lock and saves everything, unless `options` says otherwise. Returns none if something is unsaved, and `consider` is
    /// undecided: then no checkpoint is taken.
    ///
    /// # Errors
    /// Also if `consider` refuses; no checkpoint is taken then.
    pub(super) fn take(
        context: &'c Context,
        options: &BeforeOptions,
        consider: Option<Consider<'_>>,
    ) -> Result<Option<Self>> {
        save::refuse_protected(context, options.force)?;
        let worktree = Worktree::enter(context, Purpose::unless_dry(options.is_dry))?;
        let journal = Journal::read(context.repo.git_dir())?;
        if !options.after_crash && journal.as_ref().is_some_and(|journal| journal.progress == Progress::Applying) {
            return Err(Error::refused("an earlier restore was interrupted")
                .with_hint("'git checkpoint restore --continue' finishes it, 'git checkpoint undo' reverses it"));
        }
        if options.is_dry {
            return Self::look(worktree, journal).map(Some);
        }
        let rescued = sweep(context, journal.as_ref())?;
        if let Some((update, role)) = options.saved.clone() {
            context.repo.note_role(role);
            // It counts once it has a journal.
            context.repo.note_begin(&temporary::random());
            context.repo.update_refs(&[update])?;
        }
        let index = context.repo.user_index_identity();
        let wanted = save::Request {
            author: Author::Infer,
            message: Some(options.subject.clone()),
            hold: Hold::ForRestore { index: options.keeps_index },
            recurse: options.recurse,
            ..save::Request::default()
        };
        let _way = context.repo.on_the_way(operation::SAVE);
        let found = Cell::new(None);
        let taken = match consider {
            Some(consider) => {
                let decide = |unsaved: &save::Unsaved<'_>| {
                    let outlook = outlook(&worktree, unsaved, consider)?;
                    let has_work = matches!(outlook, Outlook::Work(_));
                    found.set(Some(outlook));
                    Ok(has_work)
                };
                save::save_and_write_turns_if(&worktree, &wanted, &decide)?
            }
            None => Some(save::save_and_write_turns(&worktree, &wanted)?),
        };
        let ahead = match found.take() {
            Some(Outlook::Refused(error)) => return Err(error),
            Some(Outlook::Work(ahead)) => Cell::new(ahead),
            _ => Cell::default(),
        };
        let Some(SavedAndSeen { saved, side, cache }) = taken else { return Ok(None) };
        // The system writes the new objects while the plan is made again.
        let sync = Cell::new(threads::detach(context.repo.syncing()).ok());
        let id = saved.id.ok_or_else(|| Error::internal("the worktree was not saved"))?;
        let mut snapshot = Snapshot::read(&context.repo, id)?;
        // A checkpoint that holds this state already may be older than what has been left out since.
        snapshot.manifest = side.manifest;
        let (checkpoint_id, unsaved, memory) = (Some(id), Unsaved::default(), None);
        Ok(Some(Self {
            worktree,
            snapshot,
            checkpoint_id,
            cache,
            unsaved,
            journal,
            rescued,
            ahead,
            sync,
            index,
            memory,
        }))
    }

    /// Writes objects of the files again that are not stored any more, though a checkpoint refers to them.
    pub(super) fn write_again(&self) -> Result<()> {
        // It began before them.
        drop(self.sync.take());
        save::write_again(&self.worktree).map(drop)
    }

    /// Waits until all that was saved is on the disk.
    pub(super) fn make_durable(&self) -> Result<()> {
        match self.sync.take().and_then(|sync| sync.join().ok()) {
            Some(synced) => synced,
            None => self.worktree.repo.make_durable(),
        }
    }

    /// Takes the lock and what the interrupted restore has saved.
    pub(super) fn interrupted(context: &'c Context, is_dry: bool) -> Result<Self> {
        let worktree = Worktree::enter(context, Purpose::unless_dry(is_dry))?;
        let journal = Journal::read(context.repo.git_dir())?.filter(|it| it.progress == Progress::Applying);
        let journal = journal.ok_or_else(|| {
            Error::user("no restore was interrupted").with_hint("'git checkpoint undo' takes the last one back")
        })?;
        let rescued = if is_dry { Vec::new() } else { sweep(context, Some(&journal))? };
        let snapshot = Snapshot::read(&context.repo, journal.pre_restore)?;
        let index = context.repo.user_index_identity();
        let checkpoint_id = Some(journal.pre_restore);
        let (unsaved, ahead, sync, memory) = (Unsaved::default(), Cell::default(), Cell::default(), None);
        let (cache, journal) = (None, Some(journal));
        Ok(Self { worktree, snapshot, checkpoint_id, cache, unsaved, journal, rescued, ahead, sync, index, memory })
    }

    /// Saves what is staged now, and returns that state: what was staged since a crash may be in no checkpoint.
    pub(super) fn save_index(&self) -> Result<Snapshot> {
        let from = self.snapshot.basis(&self.worktree.repo)?;
        let wanted = save::Request {
            scope: Scope::OwnSteps(OwnSteps {
                steps: Vec::new(),
                from,
                directories: Vec::new(),
                submodules: Vec::new(),
                and_index: true,
            }),
            message: Some("before continuing a restore".into()),
            hold: Hold::ForRestore { index: true },
            ..save::Request::default()
        };
        let _way = self.worktree.repo.on_the_way(operation::SAVE);
        let taken = save::save_and_write_turns(&self.worktree, &wanted)?;
        let id = taken.saved.id.ok_or_else(|| Error::internal("the index was not saved"))?;
        self.worktree.repo.make_durable()?;
        Snapshot::read(&self.worktree.repo, id)
    }

    /// Looks at the worktree without writing anything.
    fn look(worktree: Worktree<'c>, journal: Option<Journal>) -> Result<Self> {
        let memory = worktree.repo.with_object_memory();
        let head = memory.head()?.id;
        let base = Base::of_head(head);
        let mut snapshot = last_state(&memory, shadows::latest_on(&memory, base)?.map(|tip| tip.id).or(head))?;
        let index = memory.user_index_identity();
        let cache_path = state::directory(memory.git_dir()).join("index");
        let cache = StatCache::load(&cache_path, memory.object_hash());
        let (now, mut objects) = full_pass(&memory, &save::limits(&worktree), cache, Keep::InMemory)?;
        let raw_tree = tree_of_blobs(&memory, now.raw_paths(), &mut objects)?;
        drop(objects);
        let saved = (snapshot.tree_id, snapshot.raw_tree(&memory));
        snapshot.hold(base, now.tree_id, raw_tree, now.index_tree_id, now.manifest);
        let unsaved = Unsaved::look(&worktree, changed_since(&memory, saved, &snapshot)?)?;
        let (checkpoint_id, cache, ahead) = (None, Some(now.cache), Cell::default());
        let (rescued, sync, memory) = (Vec::new(), Cell::default(), Some(memory));
        Ok(Self { worktree, snapshot, checkpoint_id, cache, unsaved, journal, rescued, ahead, sync, index, memory })
    }

    /// Returns true if the files of this state are as they were saved last.
    pub(super) fn has_nothing_unsaved(&self) -> bool {
        self.unsaved.is_empty()
    }

    /// Returns this state as a plan is made from it.
    pub(super) fn sight(&self) -> Sight<'_> {
        let cache = self.cache.as_ref();
        Sight { repo: self.repo(), snapshot: &self.snapshot, cache, unsaved: &self.unsaved }
    }

    pub(super) fn context(&self) -> &Context {
        &self.worktree
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

    /// Takes a checkpoint of what the restore in `journal` has changed, so that later ones know where it comes from. `submodules`
    /// were restored with it.
    pub(super) fn save_after(&self, journal: &Journal, target: &Snapshot, submodules: Vec<Tied>) {
        if journal.steps.is_empty() {
            return;
        }
        let of_target = target.checkpoint.as_ref().map(|checkpoint| checkpoint.origin.clone());
        let of_target =
            of_target.or_else(|| lookup::author_of_shared(&self.worktree.repo, journal.target)).unwrap_or_default();
        let tool = Some(restored_target::tool(journal.target));
        let author = Author::Is(Origin { note: None, carried: None, tool, ..of_target });
        let saved = target.basis(&self.worktree.repo).and_then(|from| {
            let (steps, and_index) = (journal.steps.clone(), !journal.index.is_empty());
            let mut directories = target.manifest.empty_directories.clone();
            // One that it has emptied may have stayed: that of a process, or one that could not be removed.
            let deleted = journal.steps.iter().filter(|step| step.after.is_none()).map(|step| step.path.as_bstr());
            directories.extend(deleted.flat_map(scope::parents).map(ToOwned::to_owned));
            let scope = Scope::OwnSteps(OwnSteps { steps, from, directories, submodules, and_index });
            let message = Some(restored_target::subject_after(journal.target));
            save::save_and_write_turns(
                &self.worktree,
                &save::Request { scope, author, message, ..save::Request::default() },
            )
        });
        if let Err(error) = saved {
            // The restore is done; the next save takes it up as a change like any other.
            tracing::warn!(%error, "cannot take the checkpoint after the restore");
        }
    }
}

/// Returns what `consider` finds of the worktree that `save` is about to save.
fn outlook(context: &Context, save: &save::Unsaved<'_>, consider: Consider<'_>) -> Result<Outlook> {
    let found = (|| {
        let memory = save.objects.in_memory();
        let (shadow, seen) = (save.shadow, save.seen);
        let base = shadow.name.base;
        let mut snapshot = last_state(&memory, shadow.tip.as_ref().map(|tip| tip.id).or(base.commit_id()))?;
        let saved = (snapshot.tree_id, snapshot.raw_tree(&memory));
        let index = seen.index_tree_id.unwrap_or(shadow.head_tree_id);
        snapshot.hold(base, seen.tree_id, seen.side.raw_tree_id, index, seen.side.manifest.clone());
        let paths = changed_since(&memory, saved, &snapshot)?;
        let unsaved = Unsaved::by(paths, save.origin);
        let cache = seen.cache.as_ref().map(|(cache, _)| cache);
        consider(Sight { repo: &memory, snapshot: &snapshot, cache, unsaved: &unsaved })
    })();
    context.repo.check_interrupt()?;
    Ok(match found {
        Err(error) if error.kind() == Kind::Corrupt => {
            tracing::debug!(%error, "plan: not made before the save");
            Outlook::Work(ReadAhead::default())
        }
        found => found.unwrap_or_else(Outlook::Refused),
    })
}

/// Returns the state of the last checkpoint or, without one, of HEAD.
fn last_state(repo: &Repo, id: Option<ObjectId>) -> Result<Snapshot> {
    id.map_or_else(|| Ok(Snapshot::nothing(repo)), |id| Snapshot::read(repo, id))
}

/// Returns the paths that `now` has otherwise than the trees `saved`, of files and of exact bytes.
fn changed_since(repo: &Repo, saved: (ObjectId, ObjectId), now: &Snapshot) -> Result<BTreeSet<BString>> {
    let changes = repo.diff_trees(saved.0, now.tree_id)?;
    let raw_changes = repo.diff_trees(saved.1, now.raw_tree(repo))?;
    Ok(changes.into_iter().chain(raw_changes).map(|change| change.path).collect())
}

/// Sweeps what the restore in `journal` has left, if it was interrupted.
fn sweep(context: &Context, journal: Option<&Journal>) -> Result<Vec<Left>> {
    let interrupted = journal.filter(|journal| journal.progress == Progress::Applying);
    interrupted.map_or_else(|| Ok(Vec::new()), |journal| leftover::sweep(&context.repo, journal))
}
