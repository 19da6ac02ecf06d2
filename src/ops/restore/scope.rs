//! Decides which steps a restore may take: by pathspecs, by the authors of changes, and by the paths that it must not touch.

use std::collections::{BTreeMap, BTreeSet};

use bstr::{BStr, BString, ByteSlice as _};

use super::{
    installed,
    snapshot::{Snapshot, all_paths},
    versions::{States, Unsaved},
};
use crate::{
    error::{Error, Result},
    git::{Repo, checkout_names::is_valid_path, ignore::Excludes, pathspec::Pathspec, stat_cache::StatCache},
    model::{
        change::{Leaf, Mode},
        manifest::{Part, Reason},
        path_text,
        step::Step,
        verdict::{Facts, Left, Verdict, Why, decide},
    },
    ops::{Context, lookup},
};

/// The states and files that facts are found in.
pub(super) struct Scene<'a> {
    pub(super) context: &'a Context,
    /// Where all objects of both states can be read.
    pub(super) repo: &'a Repo,
    pub(super) pre: &'a Snapshot,
    pub(super) target: &'a Snapshot,
    /// What every path was when it was saved, or looked at.
    pub(super) cache: Option<&'a StatCache>,
    pub(super) unsaved: &'a Unsaved,
}

impl Scene<'_> {
    /// Returns those of `steps` that `pathspecs` name.
    ///
    /// # Errors
    /// If one names no file of either state.
    pub(super) fn limit(&self, steps: Vec<Step>, pathspecs: &[BString]) -> Result<Vec<Step>> {
        if pathspecs.is_empty() {
            return Ok(steps);
        }
        let mut search = self.repo.pathspec(pathspecs)?;
        let steps: Vec<Step> = steps.into_iter().filter(|step| search.matches(step.path.as_bstr())).collect();
        if search.unmatched().next().is_some() {
            for snapshot in [self.target, self.pre] {
                for path in all_paths(self.repo, snapshot)? {
                    search.matches(path.as_bstr());
                }
                let nested = snapshot.manifest.nested.iter().map(|nested| &nested.path);
                for path in snapshot.manifest.empty_directories.iter().chain(nested) {
                    search.matches(path.as_bstr());
                }
            }
        }
        refuse_unmatched(&mut search, &[self.target, self.pre])?;
        Ok(steps)
    }

    /// Returns the directories without files of the target that `pathspecs` name.
    pub(super) fn directories(&self, pathspecs: &[BString]) -> Result<Vec<BString>> {
        let known: BTreeSet<&BString> = self.pre.manifest.empty_directories.iter().collect();
        let mut search = self.repo.pathspec(pathspecs)?;
        let guarded = self.guarded(&[]);
        let wanted = self.target.manifest.empty_directories.iter().filter(|path| {
            !known.contains(path)
                && is_valid_path(path.as_bstr(), false)
                && !guarded.iter().any(|guard| is_at_or_below(path.as_bstr(), guard))
                && !self.repo.own_directories.contain(path.as_bstr())
                && search.matches(path.as_bstr())
        });
        Ok(wanted.cloned().collect())
    }

    /// Returns `steps`, each with its verdict. Without `session`, the author of a path's change does not matter; paths that
    /// commits have changed as well are kept. The user has asked for `pathspecs`.
    pub(super) fn judge(
        &self,
        steps: Vec<Step>,
        session: Option<&str>,
        committed: &BTreeMap<BString, Why>,
        pathspecs: &[BString],
    ) -> Result<Vec<(Step, Verdict)>> {
        let states = States { pre: self.pre, target: self.target, unsaved: self.unsaved };
        let others = |session| states.changed_by_others(self.repo, &steps, session, committed);
        let foreign = session.map(others).transpose()?.unwrap_or_default();
        let ignored = self.ignored(&steps)?;
        let nested = self.guarded(&steps);
        let mut installed = installed::in_the_way(self.repo, &steps, |path| self.has_file(path))?;
        installed.retain(|path, _| !pathspecs.contains(path));
        let skipped = self.skipped();
        let judged = steps.into_iter().map(|step| {
            let path = step.path.as_bstr();
            let is_link = step.after.is_some_and(|after| after.leaf.mode == Mode::Link);
            let reason = skipped.reason(path);
            let facts = Facts {
                // We must not remove an existing file with such a name either.
                is_invalid: !is_valid_path(path, is_link),
                is_in_nested: parents(path).any(|parent| nested.contains(parent))
                    || self.repo.own_directories.contain(path),
                gone: self.gone_repository(&step),
                is_skipped: reason.is_some() || self.may_be_skipped(&step),
                skipped: reason,
                is_sparse: self.is_sparse(&step),
                is_ignored: ignored.contains(path),
                installed: installed.remove(path),
                foreign: match foreign.get(&step.path) {
                    known @ (None | Some(Why::Unknown)) => committed.get(path).or(known).cloned(),
                    other => other.cloned(),
                },
            };
            let verdict = decide(&step, &facts);
            (step, verdict)
        });
        Ok(judged.collect())
    }

    /// Returns the paths that one of the two states left out.
    pub(super) fn skipped(&self) -> SkippedPaths<'_> {
        let all = self.pre.manifest.skipped.iter().chain(&self.target.manifest.skipped);
        SkippedPaths(all.map(|it| (it.path.as_bstr(), it.reason)).collect())
    }

    /// Returns the paths of repositories inside the worktree, of then, now, and in `steps`.
    fn guarded(&self, steps: &[Step]) -> BTreeSet<BString> {
        let nested = [self.pre, self.target]
            .into_iter()
            .flat_map(|snapshot| snapshot.manifest.nested.iter().map(|nested| nested.path.clone()));
        let gitlinks = steps
            .iter()
            .filter(|step| step.before.iter().chain(&step.after).any(|side| side.leaf.mode == Mode::Gitlink))
            .map(|step| step.path.clone());
        nested.chain(gitlinks).collect()
    }

    /// Returns the reason to leave the path of `step` if the target has a repository there, and nothing of it is there. What
    /// another worktree of this repository had is in checkpoints of its own.
    fn gone_repository(&self, step: &Step) -> Option<Why> {
        step.after.filter(|after| after.leaf.mode == Mode::Gitlink)?;
        let nested = self.target.manifest.nested.iter().find(|nested| nested.path == step.path);
        let is_of_here = self.has_files(&step.path) || nested.is_some_and(|nested| nested.is_worktree);
        (!is_of_here).then_some(if nested.is_some() { Why::RepositoryGone } else { Why::SubmoduleGone })
    }

    /// Returns true if there is a directory at `path` with anything in it.
    fn has_files(&self, path: &BString) -> bool {
        let directory = self.repo.worktree_root().join(gix::path::from_bstr(path.as_bstr()).unwrap_or_default());
        let is_directory = directory.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
        is_directory && directory.read_dir().is_ok_and(|mut entries| entries.next().is_some())
    }

    /// Returns the repositories of the target that are gone, and of which its tree says nothing, as they had no commit. Only those
    /// that `pathspecs` name.
    pub(super) fn gone_without_commit(&self, pathspecs: &[BString]) -> Result<Vec<Left>> {
        let mut search = self.repo.pathspec(pathspecs)?;
        let nested = self.target.manifest.nested.iter().filter(|it| it.head.is_none() && !it.is_worktree);
        let named = nested.filter(|it| !self.has_files(&it.path) && search.matches(it.path.as_bstr()));
        Ok(named.map(|it| Left { path: it.path.clone(), why: Why::RepositoryGone }).collect())
    }

    /// Returns true if a sparse checkout keeps the path of `step` out of the worktree, and it is not there.
    fn is_sparse(&self, step: &Step) -> bool {
        let entry = self.cache.and_then(|cache| cache.find(step.path.as_bstr()));
        entry.is_some_and(|entry| entry.skips_worktree) && !self.has_file(step.path.as_bstr())
    }

    /// Returns true if there is anything but a directory at `path`. What a symbolic link above it leads to is another path.
    pub(super) fn has_file(&self, path: &BStr) -> bool {
        let kind = |path: &BStr| {
            let inside = gix::path::from_bstr(path).unwrap_or_default();
            std::fs::symlink_metadata(self.repo.worktree_root().join(inside)).map(|metadata| metadata.file_type()).ok()
        };
        kind(path).is_some_and(|kind| !kind.is_dir())
            && !parents(path).any(|parent| kind(parent).is_some_and(|kind| kind.is_symlink()))
    }

    /// Returns true if the target is the copy of a damaged checkpoint that may have had the path of `step` just as it is now,
    /// though the copy lacks the evidence.
    fn may_be_skipped(&self, step: &Step) -> bool {
        let has_lost = |part| self.target.manifest.lacks(&[part]);
        let is_same = step.before.map(|content| content.leaf) == step.after.map(|content| content.leaf);
        (step.after.is_none() && has_lost(Part::Manifest)) || (is_same && has_lost(Part::Raw))
    }

    /// Returns those paths that `steps` delete although the ignore rules of then or now cover them.
    fn ignored(&self, steps: &[Step]) -> Result<BTreeSet<BString>> {
        let deleted: Vec<BString> =
            steps.iter().filter(|step| step.after.is_none()).map(|step| step.path.clone()).collect();
        let mut ignored = BTreeSet::new();
        if deleted.is_empty() {
            return Ok(ignored);
        }
        let extra = &self.context.settings.save.exclude;
        let mut now = Excludes::for_worktree(self.repo, extra)?;
        let mut then = Excludes::for_tree(self.repo, self.target.tree_id, &deleted, extra)?;
        for path in deleted {
            if now.is_ignored(path.as_bstr(), false)? || then.is_ignored(path.as_bstr(), false)? {
                ignored.insert(path);
            }
        }
        Ok(ignored)
    }
}

/// Returns those of `steps` whose path is in `only`.
///
/// # Errors
/// [`Kind::Race`](crate::error::Kind::Race) if one of them is not what it is to be.
pub(super) fn limit_to(mut steps: Vec<Step>, only: &BTreeMap<BString, Option<Leaf>>) -> Result<Vec<Step>> {
    steps.retain(|step| only.contains_key(&step.path));
    let is_other = |step: &&Step| only.get(&step.path) != Some(&step.before.map(|content| content.leaf));
    match steps.iter().find(is_other) {
        Some(step) => Err(Error::race(format!("'{}' has just been changed; nothing was changed", step.path))),
        None => Ok(steps),
    }
}

/// Refuses to restore what `target` lacks because it is a damaged checkpoint, or the copy of one.
pub(super) fn refuse_lost(target: &Snapshot, staged: bool) -> Result<()> {
    if target.manifest.lacks(&[Part::Tree]) {
        return Err(lookup::without_files(target.id));
    }
    if staged && target.manifest.lacks(&[Part::Staged, Part::Manifest]) {
        let what = format!("what was staged in '{}' cannot be read: objects of it or its base are lost", target.id);
        return Err(
            Error::corrupt(what).with_hint("without '--staged' the worktree can be restored; nothing was changed")
        );
    }
    Ok(())
}

/// Makes sure that each of `pathspecs` names something in `target` or in the worktree, before anything is saved for it.
pub(super) fn refuse_unknown(repo: &Repo, target: &Snapshot, pathspecs: &[BString]) -> Result<()> {
    // Most pathspecs are full names of files, which we find without reading all trees.
    let is_file = |text: &BString| Ok::<_, Error>(target.content(repo, text.as_bstr())?.is_some());
    let are_files = pathspecs.iter().try_fold(true, |all, text| Ok::<_, Error>(all && is_file(text)?))?;
    if are_files {
        return Ok(());
    }
    let mut search = repo.pathspec(pathspecs)?;
    let nested = target.manifest.nested.iter().map(|nested| &nested.path);
    for path in all_paths(repo, target)?.iter().chain(&target.manifest.empty_directories).chain(nested) {
        search.matches(path.as_bstr());
    }
    if search.unmatched().next().is_some() {
        for path in repo.worktree_paths()? {
            search.matches(path.as_bstr());
        }
    }
    refuse_unmatched(&mut search, &[target])
}

/// Refuses if a pathspec has matched nothing. It may name a path that one of `snapshots` left out.
fn refuse_unmatched(search: &mut Pathspec<'_>, snapshots: &[&Snapshot]) -> Result<()> {
    let Some(text) = search.unmatched().next() else { return Ok(()) };
    // Git turns a '.' in the root of the worktree into this.
    let text = if text == ":" { ".".into() } else { text.to_string() };
    let mut skipped = snapshots.iter().flat_map(|snapshot| &snapshot.manifest.skipped);
    let Some(skipped) = skipped.find(|skipped| search.matches(skipped.path.as_bstr())) else {
        return Err(Error::user(format!("pathspec '{text}' did not match any file of the checkpoint or the worktree")));
    };
    let (path, why) = (path_text::printable(skipped.path.as_bstr()), skipped.reason.as_str());
    let error = Error::user(format!("'{path}' cannot be restored: it was skipped ({why})")).about(skipped.path.clone());
    let (setting, value) = (skipped.reason.setting(), enough(skipped.reason, skipped.size));
    let allowed = setting.map(|setting| format!("'git checkpoint config set {setting} {value}'"));
    Err(match allowed {
        Some(allowed) => error.with_hint(format!("later checkpoints have it after {allowed}")),
        None => error,
    })
}

/// Returns the value of the setting with which a save takes what it skipped for `reason`: a file of `size` bytes, or a directory
/// with that many new files or more.
fn enough(reason: Reason, size: u64) -> String {
    match reason {
        Reason::TooLarge => format!("{}MiB", (size >> 20) + 1),
        Reason::TooManyFiles => size.saturating_mul(10).to_string(),
        _ => "0".to_owned(),
    }
}

/// The paths that a save left out, files and whole directories, with the reasons.
pub(super) struct SkippedPaths<'s>(BTreeMap<&'s BStr, Reason>);

impl SkippedPaths<'_> {
    /// Returns why `path`, or a directory that it is in, was left out.
    pub(super) fn reason(&self, path: &BStr) -> Option<Reason> {
        parents(path).chain([path]).find_map(|path| self.0.get(path)).copied()
    }
}

/// Returns the directories that `path` is in, outermost first.
pub(super) fn parents(path: &BStr) -> impl Iterator<Item = &BStr> {
    path.find_iter("/").map(|at| path[..at].as_bstr())
}

fn is_at_or_below(path: &BStr, directory: &BString) -> bool {
    path == directory || crate::model::plan::is_below(path, directory.as_bstr())
}
