//! Finds the shadows whose work a commit may contain: the live shadow on its base, and others whose work may have come here.
//! These are archived shadows, and live shadows on other bases or in other worktrees.

use std::{cell::OnceCell, collections::BTreeSet};

use bstr::{BString, ByteSlice as _};

use super::{
    super::{
        chain::{
            carriers::Carriers,
            carry_forward::{LiveShadows, base_tree},
            shadows::Live,
            timeline::Tip,
        },
        provenance::{
            replay::{Work, left_by, steps},
            set_aside::{Waiting, taken_back, waiting},
            step::Step,
        },
        restored_target::may_have_session,
        share::share,
    },
    later::leave_out_later,
    renamed::{at, renamed_since},
};
use crate::{
    error::{Kind, Result},
    git::{Repo, counting::Counting},
    model::{
        change::{Change, Leaf, Status},
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
struct Part<'c> {
    candidate: &'c Candidate,
    /// The paths whose steps count.
    paths: BTreeSet<BString>,
    /// Files of the shadow that have other names in the commit; none for the live shadow.
    renamed: Vec<Change>,
    /// The changes from the commit's parent to the content that the shadow began with; none for the live shadow. The two differ
    /// because of commits between them, not because of the shadow's work.
    since_parent: Vec<Change>,
}

impl Part<'_> {
    /// Returns the name that the file of `change` has in the shadow.
    fn name_of<'p>(&'p self, change: &'p Change) -> &'p BString {
        let renamed = self.renamed.iter().find(|it| it.path == change.path);
        renamed.and_then(|it| it.old_path.as_ref()).unwrap_or(&change.path)
    }

    /// Leaves out the work at `path`, a name in the shadow.
    fn leave_out(&mut self, path: &BString) {
        self.paths.remove(path);
        self.since_parent.retain(|change| change.path != *path);
        self.renamed.retain(|renamed| renamed.old_path.as_ref() != Some(path));
    }

    /// Adds the steps of the shadow to `all`, without those that are later than a commit of the time `made`.
    fn add_steps(self, repo: &Repo, made: Option<When>, all: &mut Vec<Step>) -> Result<()> {
        let of_people = |changes: Vec<Change>| {
            let step = Step::new(Origin::default(), changes);
            Some(step).filter(|step| !step.changes.is_empty())
        };
        all.extend(of_people(self.since_parent));
        if !self.paths.is_empty() {
            let tip = &self.candidate.checkpoint;
            all.extend(leave_out_later(repo, tip, made, steps(repo, tip, &|path| self.paths.contains(path))?)?);
        }
        all.extend(of_people(self.renamed));
        Ok(())
    }
}

/// If more files of a shadow than this are gone, we do not look for their new names.
const MOST_GONE: usize = 1_000;

/// Why a file is not as a shadow left it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Absence {
    Gone,
    /// HEAD has the file as it was before the work. If the file was renamed in the worktree, `git reset --hard` puts it back
    /// under its old name, and leaves the work under the new name.
    PutBack,
}

/// Returns the shadows whose work a commit on `base` in this worktree may take: the live shadow, which comes last, and the
/// shadows that were restored from the archive beside it. `with_waiting` adds those that [`waiting`] returns.
pub(crate) fn candidates(repo: &Repo, base: Base, with_waiting: bool) -> Result<Vec<Candidate>> {
    let on_base = LiveShadows::read(repo, base)?;
    let mut found = Vec::new();
    let waiting =
        if with_waiting { waiting(repo, &ShadowName::of_worktree(base, repo.worktree_id()))? } else { Vec::new() };
    for Waiting { tip, checkpoint } in waiting.into_iter().rev() {
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
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Returns true if an agent contributed, or may have. Carried-forward checkpoints name the agent whose work they carry.
    fn has_agent(&self, repo: &Repo) -> Result<bool> {
        for checkpoint in repo.chain_in_time(self.tip.id) {
            if may_have_session(&checkpoint?.origin) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn touches(&self, path: &BString) -> bool {
        at(&self.touched, path).is_some()
    }

    /// Returns the part of `committed` that may be work of this shadow: all of it for the live shadow on the commit's base. For
    /// another one, a file has to have half of the work, or any part of it if a reset removed the commit that took the work.
    fn part(&self, repo: &Repo, committed: &[Change]) -> Result<Part<'_>> {
        let mut part = Part { candidate: self, paths: BTreeSet::new(), renamed: Vec::new(), since_parent: Vec::new() };
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
            let share = share(repo, own, change.before, change.after)?;
            if !(share.is_half() || self.is_taken_back && share.is_any()) {
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
        let pairs = |own: fn(&Change, Absence) -> Option<Leaf>, now: fn(&Change) -> Option<Leaf>| {
            let left = left.iter().filter(|(own, _)| !is_named(&own.path));
            let left = left.map(|(change, absence)| (&change.path, own(change, *absence), None));
            let found = others.iter().filter(|other| other.old_path.is_none());
            let ends = left.chain(found.map(|other| (&other.path, None, now(other))));
            let mut ends: Vec<Change> =
                ends.filter_map(|(path, before, after)| Change::between(path.clone(), before, after)).collect();
            ends.sort_by(|one, other| one.path.cmp(&other.path));
            repo.detect_renames(ends)
        };
        let mut renames = pairs(|own, _| own.after, |other| other.after.filter(|_| other.before.is_none()))?;
        renames.extend(pairs(|own, absence| own.before.filter(|_| absence == Absence::Gone), |other| other.before)?);
        let former = |other: &&'c Change| {
            let found = || renames.iter().find(|it| it.path == other.path)?.old_path.as_ref();
            Some((own(other.old_path.as_ref().or_else(found))?, *other))
        };
        Ok(others.iter().filter_map(former).collect())
    }

    /// Returns the changes of this shadow, except deletions, in files that `committed` deletes or renames, or that HEAD lacks. A
    /// file that HEAD has as it was before the work counts, too. Returns none if there are more than [`MOST_GONE`] such files.
    fn gone_from(&self, repo: &Repo, committed: &[Change]) -> Result<Vec<(&Change, Absence)>> {
        let head_tree_id = repo.head()?.id.map(|id| repo.tree_of_commit(id)).transpose()?;
        let mut left = Vec::new();
        for own in self.touched.iter().filter(|own| own.after.is_some()) {
            let absence = match (at(committed, &own.path), head_tree_id) {
                (Some(now), _) => now.after.is_none().then_some(Absence::Gone),
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

/// Returns true if `staged` contains work of the shadows `found` that a session did, or may have done. `made` is when `staged`
/// was committed; none if that is still to be done.
pub(crate) fn has_work_of(repo: &Repo, found: &[Candidate], staged: &[Change], made: Option<When>) -> Result<bool> {
    let steps = steps_to(repo, found, (staged, made), &[])?;
    // Most files are committed as a session left them: then we need not compare lines.
    if staged.iter().any(|change| left_by(&steps, change).is_some()) {
        return Ok(true);
    }
    let mut has_agent = steps.iter().any(|step| step.origin.may_be_of_session());
    for candidate in found {
        has_agent = has_agent || candidate.has_agent(repo)?;
    }
    if !has_agent {
        return Ok(false);
    }
    let staged = repo.detect_renames(staged.to_vec())?;
    let renamed = renamed_since(repo, touched_live(found), &staged)?;
    let (work, _) = work(repo, found, (&staged, made), renamed, &mut Counting::usual(repo))?;
    Ok(work.needs_record())
}

/// Returns the attribution of `committed` to the work of `candidates`, and the steps that led to it. The attribution is empty if
/// no session may have contributed. `made` is when `committed` was committed.
///
/// `renamed` are files that have another name in the last checkpoint.
pub(super) fn work(
    repo: &Repo,
    candidates: &[Candidate],
    (committed, made): (&[Change], Option<When>),
    renamed: Vec<Change>,
    counting: &mut Counting<'_>,
) -> Result<(Work, Vec<Step>)> {
    let mut all = steps_to(repo, candidates, (committed, made), &renamed)?;
    if !all.iter().any(|step| step.origin.may_be_of_session()) {
        return Ok((Work::default(), all));
    }
    if !renamed.is_empty() {
        all.push(Step::new(Origin::default(), renamed));
    }
    Ok((Work::of(repo, &all, committed, counting)?, all))
}

/// Returns the steps of `candidates` that led to `committed`, which was committed at the time `made`; none if no agent
/// contributed.
pub(super) fn steps_to(
    repo: &Repo,
    candidates: &[Candidate],
    (committed, made): (&[Change], Option<When>),
    renamed: &[Change],
) -> Result<Vec<Step>> {
    let mut parts = parts(repo, candidates, committed)?;
    let mut has_agent = false;
    for Part { candidate, paths, .. } in &mut parts {
        if candidate.is_live {
            paths.extend(renamed.iter().filter_map(|change| change.old_path.clone()));
        }
        has_agent = has_agent || (!paths.is_empty() && candidate.has_agent(repo)?);
    }
    let mut all = Vec::new();
    // A person may have saved a thousand times. Finding that no agent contributed is fast; collecting the steps is slow.
    if has_agent {
        for part in parts {
            part.add_steps(repo, made, &mut all)?;
        }
    }
    Ok(all)
}

/// Returns for each of `candidates` the part of `committed` that may be its work.
fn parts<'c>(repo: &Repo, candidates: &'c [Candidate], committed: &[Change]) -> Result<Vec<Part<'c>>> {
    let mut parts = Vec::with_capacity(candidates.len());
    let live = candidates.iter().find(|candidate| candidate.is_live);
    // Read on first use: a chain may be long.
    let (carriers, done) = (OnceCell::new(), OnceCell::new());
    for candidate in candidates {
        let mut part = candidate.part(repo, committed)?;
        let Some(live) = live.filter(|_| !candidate.is_live) else {
            parts.push(part);
            continue;
        };
        // If the live shadow has the same work, because it was carried forward there or a session did it again, only the live
        // shadow gets credit: its steps have the work in the right order.
        for change in committed {
            let path = part.name_of(change).clone();
            if !live.touches(&path) || !part.paths.contains(&path) {
                continue;
            }
            let carriers = carriers.get_or_init(|| Carriers::read(repo, live.checkpoint.id));
            let is_known = carriers.has(repo, candidate.checkpoint.id, &path);
            let is_done = || {
                if done.get().is_none() {
                    let is_aside = |path: &BString| candidates.iter().any(|it| !it.is_live && it.touches(path));
                    drop(done.set(steps(repo, &live.checkpoint, &is_aside)?));
                }
                let own = at(&candidate.touched, &path);
                let steps = done.get().map(Vec::as_slice).unwrap_or_default();
                let step = own.map_or(Ok(None), |own| first_with(repo, steps, own, change.before))?;
                // A step without a session counts only if no agent contributed to the other shadow either.
                step.map_or(Ok(false), |step| Ok(step.origin.session.is_some() || !candidate.has_agent(repo)?))
            };
            if is_known || is_done()? {
                part.leave_out(&path);
            }
        }
        parts.push(part);
    }
    Ok(parts)
}

/// Returns the first of `steps` after which the file has half of the work `own`, without counting what `head` has of it.
fn first_with<'s>(repo: &Repo, steps: &'s [Step], own: &Change, head: Option<Leaf>) -> Result<Option<&'s Step>> {
    for step in steps {
        let left = at(&step.changes, &own.path).and_then(|change| change.after);
        if left.is_some() && share(repo, own, head, left)?.is_half() {
            return Ok(Some(step));
        }
    }
    Ok(None)
}

/// Returns the steps of the shadows whose work the uncommitted `changes` contain, except those of the live shadow on `base`. The
/// work came back by `git stash pop`, for example, or by a reset that removed its commit.
pub(crate) fn steps_aside(repo: &Repo, base: Base, changes: &[Change]) -> Result<Vec<Step>> {
    let mut found = Vec::new();
    for waiting in taken_back(repo, base)?.into_iter().rev() {
        let candidate = Candidate::of(repo, waiting.tip, waiting.checkpoint, false)?;
        found.extend(candidate.map(|candidate| Candidate { is_taken_back: true, ..candidate }));
    }
    found.extend(candidates(repo, base, true)?);
    let mut all = Vec::new();
    for part in parts(repo, &found, changes)?.into_iter().filter(|part| !part.candidate.is_live) {
        part.add_steps(repo, None, &mut all)?;
    }
    Ok(all)
}
