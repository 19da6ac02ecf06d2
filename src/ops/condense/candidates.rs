//! Finds the shadows whose work a commit may contain: the live shadow on its base, and others whose work may have come here.
//! These are archived shadows, and live shadows on other bases or in other worktrees.

use std::collections::BTreeSet;

use bstr::{BString, ByteSlice as _};

use super::{
    super::{
        chain::{
            carry_forward::{LiveShadows, base_tree},
            shadows::Live,
            timeline::Tip,
        },
        provenance::{
            set_aside::{Waiting, may_have_moved, waiting},
            step::{Step, are_here},
            steps::steps,
        },
        restored_target::may_have_session,
        share::share,
    },
    later::leave_out_later,
    renamed::at,
};
use crate::{
    error::{Kind, Result},
    git::{
        Repo,
        new_names::{By, Old},
    },
    model::{
        change::{Change, Status},
        checkpoint::{Checkpoint, Origin},
        head_move::When,
        refname::{Base, ShadowName},
    },
};

/// A shadow, and the paths it touches.
pub(crate) struct Candidate {
    pub(super) tip: Tip,
    pub(super) checkpoint: Checkpoint,
    /// How it differs from its base.
    pub(super) touched: Vec<Change>,
    /// True for the live shadow on the commit's base: its parent, or the commit that it amends.
    pub(super) is_live: bool,
    /// True if a reset removed from HEAD the commit that took the work: then any part of the work counts.
    is_taken_back: bool,
}

/// The part of a commit that may be the work of a shadow.
pub(super) struct Part<'c> {
    pub(super) candidate: &'c Candidate,
    /// The paths whose steps count.
    pub(super) paths: BTreeSet<BString>,
    /// Files of the shadow that have other names in the commit; none for the live shadow.
    renamed: Vec<Change>,
    /// The changes from the commit's parent to the content that the shadow began with; none for the live shadow. The two differ
    /// because of commits between them, not because of the shadow's work.
    since_parent: Vec<Change>,
    /// How files of the shadow have changed since its last checkpoint, if the commit has their lines in other files.
    pub(super) moved_on: Vec<Change>,
}

impl Part<'_> {
    /// Returns the name that the file of `change` has in the shadow.
    pub(super) fn name_of<'p>(&'p self, change: &'p Change) -> &'p BString {
        let renamed = self.renamed.iter().find(|it| it.path == change.path);
        renamed.and_then(|it| it.old_path.as_ref()).unwrap_or(&change.path)
    }

    /// Leaves out the work at `path`, a name in the shadow.
    pub(super) fn leave_out(&mut self, path: &BString) {
        self.paths.remove(path);
        self.since_parent.retain(|change| change.path != *path);
        self.renamed.retain(|renamed| renamed.old_path.as_ref() != Some(path));
    }

    /// Adds the files of `moved_on`, whose lines `committed` has in other files.
    pub(super) fn add_moved_on(&mut self, moved_on: Vec<Change>, committed: &[Change]) {
        for change in moved_on {
            if self.paths.insert(change.path.clone()) {
                let now = at(committed, &change.path).filter(|it| it.old_path.is_none()).and_then(|it| it.before);
                let begin = at(&self.candidate.touched, &change.path).and_then(|own| own.before);
                self.since_parent.extend(now.and_then(|now| Change::between(change.path.clone(), Some(now), begin)));
            }
            self.moved_on.push(change);
        }
        self.since_parent.sort_by(|one, other| one.path.cmp(&other.path));
    }

    /// Adds the steps of the shadow to `all`, without those that are later than a commit of the time `made`.
    pub(super) fn add_steps(self, repo: &Repo, made: Option<When>, all: &mut Vec<Step>) -> Result<()> {
        let of_people = |changes: Vec<Change>| {
            let step = Step::new(Origin::default(), changes);
            Some(step).filter(|step| !step.changes.is_empty())
        };
        let mut own = Vec::new();
        if !self.paths.is_empty() {
            let tip = &self.candidate.checkpoint;
            let found = steps(repo, tip, &|path| self.paths.contains(path));
            let found = found.and_then(|steps| leave_out_later(repo, tip, made, steps));
            let Some(found) = self.candidate.unless_damaged(repo, found)? else { return Ok(()) };
            if !self.candidate.is_live && !are_here(repo, &found) {
                repo.note_damaged(&self.candidate.tip.name);
                return Ok(());
            }
            own = found;
        }
        all.extend(of_people(self.since_parent));
        all.extend(own);
        all.extend(of_people(self.renamed));
        Ok(())
    }
}

/// If more files of a shadow than this are gone, we do not look for their new names.
const MOST_GONE: usize = 1_000;

/// Why a file is not as a shadow left it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Absence {
    Gone,
    /// HEAD has the file as it was before the work. If the file was renamed in the worktree, `git reset --hard` puts it back
    /// under its old name, and leaves the work under the new name.
    PutBack,
    /// The commit changes it, or has another file of its name.
    Replaced,
}

/// Returns the shadows whose work a commit on `base` in this worktree may take: the live shadow, which comes last, and the
/// shadows that were restored from the archive beside it. `with_waiting` adds those that [`waiting`] returns.
pub(crate) fn candidates(repo: &Repo, base: Base, with_waiting: bool) -> Result<Vec<Candidate>> {
    let on_base = LiveShadows::read(repo, base)?;
    let mut found = Vec::new();
    let waiting =
        if with_waiting { waiting(repo, &ShadowName::of_worktree(base, repo.worktree_id()))? } else { Vec::new() };
    for Waiting { tip, checkpoint, .. } in waiting.into_iter().rev() {
        found.extend(Candidate::of(repo, tip, checkpoint, false)?);
    }
    let Some(LiveShadows { latest, shadows, beside }) = on_base else { return Ok(found) };
    let tip = |live: &Live| Tip { name: live.name.to_ref(), id: live.id, archived: false };
    for (live, checkpoint) in beside {
        found.extend(Candidate::of(repo, tip(&live), checkpoint, false)?);
    }
    // The latest checkpoint contains the work of all live shadows.
    if let Some((live, _)) = shadows.last() {
        found.extend(Candidate::of(repo, tip(live), latest, true)?);
    }
    Ok(found)
}

impl Candidate {
    /// Returns the shadow that ends with `checkpoint`; none if it is broken.
    fn of(repo: &Repo, tip: Tip, checkpoint: Checkpoint, is_live: bool) -> Result<Option<Self>> {
        // A broken shadow contributes nothing; `doctor` reports it.
        match base_tree(repo, &checkpoint).and_then(|base| repo.diff_trees(base, checkpoint.tree_id)) {
            Ok(touched) => Ok(Some(Self { tip, checkpoint, touched, is_live, is_taken_back: false })),
            Err(error) if error.kind() == Kind::Corrupt => {
                tracing::warn!(%error, shadow = %tip.name, "skipped a shadow that cannot be read");
                repo.note_damaged(&tip.name);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the shadow `waiting`, whose work was in a commit that HEAD does not have any more.
    pub(super) fn taken_back(repo: &Repo, waiting: Waiting) -> Result<Option<Self>> {
        let candidate = Self::of(repo, waiting.tip, waiting.checkpoint, false)?;
        Ok(candidate.map(|candidate| Self { is_taken_back: waiting.is_reset, ..candidate }))
    }

    /// Returns none in the place of an error about damage of this shadow, and notes that: `chain::lost` says what may be its work.
    /// The live shadow on the commit's base is set aside instead.
    pub(super) fn unless_damaged<T>(&self, repo: &Repo, read: Result<T>) -> Result<Option<T>> {
        match read {
            Err(error) if error.kind() == Kind::Corrupt && !self.is_live => {
                repo.note_damaged(&self.tip.name);
                Ok(None)
            }
            read => read.map(Some),
        }
    }

    /// Returns true if an agent contributed, or may have. Carried-forward checkpoints name the agent whose work they carry.
    pub(super) fn has_agent(&self, repo: &Repo) -> Result<bool> {
        for checkpoint in repo.chain_in_time(self.tip.id) {
            let checkpoint = self.unless_damaged(repo, checkpoint)?;
            if checkpoint.is_none_or(|checkpoint| may_have_session(&checkpoint.origin)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub(super) fn touches(&self, path: &BString) -> bool {
        at(&self.touched, path).is_some()
    }

    /// Returns the part of `committed` that may be work of this shadow: all of it for the live shadow on the commit's base. For
    /// another one, a file has to have half of the work, or any part of it if a reset removed the commit that took the work.
    pub(super) fn part(&self, repo: &Repo, committed: &[Change]) -> Result<Part<'_>> {
        let mut part = Part {
            candidate: self,
            paths: BTreeSet::new(),
            renamed: Vec::new(),
            since_parent: Vec::new(),
            moved_on: Vec::new(),
        };
        if self.is_live {
            for change in committed {
                part.paths.insert(change.path.clone());
                part.paths.extend(change.old_path.clone());
            }
            return Ok(part);
        }
        let here = |change: &Change| at(&self.touched, &change.path);
        let mut pairs: Vec<(&Change, &Change)> =
            committed.iter().filter_map(|change| Some((here(change)?, change))).collect();
        pairs.extend(self.renamed(repo, committed)?);
        for (own, change) in pairs {
            let share = share(repo, own, change.before, change.after);
            let Some(share) = self.unless_damaged(repo, share)? else { continue };
            if !(share.is_half() || self.is_taken_back && share.is_any()) {
                continue;
            }
            if !share.is_copy() && !may_have_moved(repo, &self.tip, self.is_taken_back, own)? {
                continue;
            }
            // If the commit renames a file to this path, `change.before` is from the old path. The base has no file at this path.
            let is_new_name = own.path == change.path && change.old_path.is_some();
            let before = change.before.filter(|_| !is_new_name);
            part.since_parent.extend(Change::between(own.path.clone(), before, own.before));
            if own.path != change.path {
                let (path, old_path) = (change.path.clone(), Some(own.path.clone()));
                // This step only renames the file. It does not have the other changes of the commit in the file.
                let (status, before, after) = (Status::Renamed, own.after, own.after);
                part.renamed.push(Change { path, old_path, status, before, after });
            }
            part.paths.insert(own.path.clone());
        }
        part.since_parent.sort_by(|one, other| one.path.cmp(&other.path));
        part.renamed.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(part)
    }

    /// Returns the files of this shadow that have another name in `committed`, each with its change there. This commit renamed
    /// them, or an earlier commit did after the last checkpoint of the shadow. Not for the live shadow.
    fn renamed<'c>(&'c self, repo: &Repo, committed: &'c [Change]) -> Result<Vec<(&'c Change, &'c Change)>> {
        let others: Vec<&Change> =
            committed.iter().filter(|change| change.after.is_some() && !self.touches(&change.path)).collect();
        let left = if others.is_empty() { Vec::new() } else { self.gone_from(repo, committed)? };
        if left.is_empty() {
            return Ok(Vec::new());
        }
        let own = |path: Option<&BString>| left.iter().map(|(own, _)| *own).find(|own| Some(&own.path) == path);
        let is_named = |path: &BString| others.iter().any(|other| other.old_path.as_ref() == Some(path));
        let open: Vec<_> = left.iter().filter(|(own, _)| !is_named(&own.path)).collect();
        let is_open = |change: &Change| change.old_path.is_none() && !self.touches(&change.path);
        let old: Vec<Old> = open.iter().filter_map(|(own, _)| Old::after(own)).collect();
        let mut renames = repo.new_names(&old, committed, By::Git, |it| it.before.is_none() && is_open(it))?;
        // HEAD may have a file under its new name already: as it was before the work, maybe with other changes.
        let gone = open.iter().filter(|(_, absence)| *absence == Absence::Gone);
        let old: Vec<Old> = gone.filter_map(|(own, _)| Old::before(own)).collect();
        let known = others.iter().filter(|other| other.old_path.is_none());
        let known = known.filter_map(|other| Change::between(other.path.clone(), None, other.before));
        renames.extend(repo.new_names(&old, &known.collect::<Vec<_>>(), By::Git, |_| true)?);
        let former = |other: &&'c Change| {
            let found = || renames.iter().find(|it| it.path == other.path)?.old_path.as_ref();
            Some((own(other.old_path.as_ref().or_else(found))?, *other))
        };
        Ok(others.iter().filter_map(former).collect())
    }

    /// Returns the changes of this shadow, except deletions, in files that `committed` changes, deletes or renames, or that HEAD
    /// lacks. A file that HEAD has as it was before the work counts, too. Returns none if there are more than [`MOST_GONE`] such
    /// files.
    fn gone_from(&self, repo: &Repo, committed: &[Change]) -> Result<Vec<(&Change, Absence)>> {
        let head_tree_id = repo.head()?.id.map(|id| repo.tree_of_commit(id)).transpose()?;
        let mut left = Vec::new();
        for own in self.touched.iter().filter(|own| own.after.is_some()) {
            let absence = match (at(committed, &own.path), head_tree_id) {
                (Some(now), _) if now.after.is_none() => Some(Absence::Gone),
                (Some(now), _) => (now.after != own.after).then_some(Absence::Replaced),
                (None, Some(_)) if committed.iter().any(|change| change.old_path.as_ref() == Some(&own.path)) => {
                    Some(Absence::Gone)
                }
                (None, Some(tree_id)) => match repo.find_leaf(tree_id, own.path.as_bstr())? {
                    None => Some(Absence::Gone),
                    now if now == own.before => Some(Absence::PutBack),
                    Some(_) => None,
                },
                (None, None) => Some(Absence::Gone),
            };
            left.extend(absence.map(|absence| (own, absence)));
        }
        Ok(if left.len() > MOST_GONE { Vec::new() } else { left })
    }

    /// Returns true if the tree `tree_id` contains all work of this shadow: each file as the shadow left it, or all
    /// lines that it added.
    pub(super) fn is_all_in(&self, repo: &Repo, tree_id: gix::ObjectId) -> Result<bool> {
        for change in &self.touched {
            let now = repo.find_leaf(tree_id, change.path.as_bstr())?;
            if !share(repo, change, change.before, now)?.is_all() {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Returns the changes of the live shadow among `candidates`; none without one.
pub(super) fn touched_live(candidates: &[Candidate]) -> &[Change] {
    candidates.iter().find(|candidate| candidate.is_live).map_or(&[], |live| &live.touched)
}
