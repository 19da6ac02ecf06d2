//! Whose lines has git put into the worktree? An agent's command may run git, which moves lines and writes none:
//! `git checkout <branch> -- <path>`, `git restore -s`, `git cherry-pick -n`, `git merge --squash`, a rebase with a conflict.
//!
//! There must be evidence of git: the whole file, or what is staged of it, is as a commit has it, or git notes which commit it
//! is picking, squashing or merging. Then the lines that the commit has in these places keep the authors that they have there.

mod owners;

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
    time::{Duration, Instant},
};

use bstr::{BStr, BString, ByteSlice as _};
use gix::ObjectId;

use self::owners::Owners;
use super::{
    Worktree,
    chain::{Seen, Shadow, carry::base_tree},
    provenance::set_aside::{Waiting, waiting},
    rewrite::squashed_commits,
};
use crate::{
    error::Result,
    git::{
        Repo,
        line_edits::{is_binary, step_edits},
        new_objects::NewObjects,
        versions::Version,
    },
    model::{
        attribution::{
            FileOwnership, Owner, Span,
            text::{Attribution, File},
        },
        change::{Change, Leaf, Mode},
        checkpoint::Checkpoint,
        moved::Moved,
        refname::{self, Base, ShadowName},
    },
};

/// If a command changes more files than this, we do not look: the agent waits for us.
const MOST_FILES: usize = 1_000;
/// How long we look for commits that have a file.
const LONGEST_SEARCH: Duration = Duration::from_millis(300);
/// How many checkpoints back we look for the content of a file.
const MOST_CHECKPOINTS: usize = 64;
/// How many files of a commit we compare with one that may be any of them under a new name.
const MOST_NAMES: usize = 16;
/// How many commits of files staged by a cherry-pick we look at.
const MOST_PICKED: usize = 100;

/// Returns the attribution of the lines in `seen` that git brought from commits; none if there are none. A failure is only
/// logged: then the lines count as work of the session.
pub(crate) fn moved_lines(
    worktree: &Worktree<'_>,
    session: &str,
    shadow: &Shadow,
    seen: &Seen,
    objects: &NewObjects<'_>,
) -> Result<Option<Attribution>> {
    Search::new(worktree, session, shadow, seen, objects).and_then(|search| search.attribution(session)).or_else(
        |error| {
            worktree.check_interrupt()?;
            tracing::warn!(%error, "lines that git brought from elsewhere count as work of the session");
            Ok(None)
        },
    )
}

/// Where git may have taken a file from.
struct Source {
    place: Place,
    path: BString,
    leaf: Leaf,
}

#[derive(Clone)]
enum Place {
    Commit(ObjectId),
    /// A stash entry that no shadow knows: its own lines are a person's.
    Entry(ObjectId),
    /// A shadow that was set aside, or is of another worktree.
    Shadow(Rc<Checkpoint>),
}

/// A shadow of another commit or worktree.
struct Other {
    tip: Rc<Checkpoint>,
    /// True if the command has moved HEAD away from it: the command may have taken its work with it.
    is_left: bool,
}

/// A changed file, and where its lines may be from, the best evidence first.
struct Suspect {
    change: Change,
    sources: Vec<Source>,
}

struct Search<'s> {
    worktree: &'s Worktree<'s>,
    shadow: &'s Shadow,
    objects: &'s NewObjects<'s>,
    suspects: Vec<Suspect>,
}

impl<'s> Search<'s> {
    fn new(
        worktree: &'s Worktree<'s>,
        session: &str,
        shadow: &'s Shadow,
        seen: &'s Seen,
        objects: &'s NewObjects<'s>,
    ) -> Result<Self> {
        let mut search = Self { worktree, shadow, objects, suspects: Vec::new() };
        let mut changes = objects.changes_of_trees(shadow.last_tree_id(), seen.tree_id)?;
        changes.retain(|change| change.after.is_some_and(is_file) && change.before.is_none_or(is_file));
        if changes.is_empty() || changes.len() > MOST_FILES {
            return Ok(search);
        }
        let staged = search.newly_staged(seen)?;
        let unmerged: BTreeSet<&BString> = seen.side.manifest.unmerged.iter().map(|entry| &entry.path).collect();
        let mut wanted: Vec<Version> = Vec::new();
        for change in &changes {
            let head = worktree.repo.find_leaf(shadow.head_tree_id, change.path.as_bstr())?;
            let after = change.after.filter(|leaf| !objects.is_new(leaf.id));
            let index = staged.get(&change.path).copied().flatten();
            let mut leaves: Vec<Leaf> = after.into_iter().chain(index).collect();
            leaves.dedup_by_key(|leaf| leaf.id);
            leaves.retain(|leaf| head.is_none_or(|head| head.id != leaf.id));
            wanted.extend(leaves.into_iter().map(|leaf| Version { path: change.path.clone(), leaf }));
        }
        let entries = search.stash_entries();
        let popped = search.popped(&entries)?;
        let others = search.shadows(session, !wanted.is_empty() || !popped.is_empty())?;
        let mut found = search.found_in_shadows(&others, &mut wanted)?;
        let stashed: Vec<ObjectId> = entries.iter().flat_map(|entry| trees_of_entry(&worktree.repo, *entry)).collect();
        let commits = worktree.repo.commits_with(&wanted, &stashed, Instant::now() + LONGEST_SEARCH)?;
        found.extend(wanted.into_iter().zip(commits).filter_map(|(Version { path, leaf }, commit)| {
            let commit = commit?;
            let place = if stashed.contains(&commit) { Place::Entry(commit) } else { Place::Commit(commit) };
            Some(Source { place, path, leaf })
        }));
        let is_by_git = |change: &Change| staged.contains_key(&change.path) || unmerged.contains(&change.path);
        let noted = if changes.iter().any(is_by_git) { search.noted(&staged)? } else { Vec::new() };
        for change in changes {
            let mut sources: Vec<Source> = found.extract_if(.., |source| source.path == change.path).collect();
            for commit in noted.iter().filter(|_| is_by_git(&change)) {
                sources.extend(search.sources_in(*commit, &change.path)?);
            }
            for shadow in others.iter().filter(|shadow| shadow.is_left) {
                let leaf = search.changed_by(shadow, &change.path);
                let place = || Place::Shadow(Rc::clone(&shadow.tip));
                sources.extend(leaf.map(|leaf| Source { place: place(), path: change.path.clone(), leaf }));
            }
            let is_conflict = noted.is_empty() && unmerged.contains(&change.path);
            for entry in if is_conflict { &entries } else { &popped } {
                sources.extend(search.source_in_entry(*entry, &change.path, &others)?);
            }
            if !sources.is_empty() && !search.had(&change)? {
                search.suspects.push(Suspect { change, sources });
            }
        }
        Ok(search)
    }

    /// Returns the file at `path` in `commit`. If there is none, git may have merged a file that has a new name here: returns the
    /// files that the commit changes and that the last checkpoint does not have.
    fn sources_in(&self, commit: ObjectId, path: &BString) -> Result<Vec<Source>> {
        let repo = &self.worktree.repo;
        let tree_id = repo.tree_of_commit(commit)?;
        let place = Place::Commit(commit);
        let source = |path: &BString, leaf: Leaf| Source { place: place.clone(), path: path.clone(), leaf };
        if let Some(leaf) = repo.find_leaf(tree_id, path.as_bstr())? {
            return Ok(Vec::from_iter(is_file(leaf).then(|| source(path, leaf))));
        }
        let Some(parent) = repo.parents_of(commit)?.first().copied() else { return Ok(Vec::new()) };
        let mut sources = Vec::new();
        for change in repo.diff_trees(repo.tree_of_commit(parent)?, tree_id)? {
            let leaf = change.after.filter(|leaf| is_file(*leaf));
            if let Some(leaf) = leaf
                && repo.find_leaf(self.shadow.last_tree_id(), change.path.as_bstr())?.is_none()
            {
                sources.push(source(&change.path, leaf));
            }
        }
        sources.truncate(MOST_NAMES);
        Ok(sources)
    }

    /// Returns the stash entries from before the turn, and those that took work away since.
    fn stash_entries(&self) -> Vec<ObjectId> {
        let turns = self.worktree.turns();
        let noted = turns.stashes.iter().chain(&turns.stashed);
        let ids: BTreeSet<ObjectId> = noted.filter_map(|id| ObjectId::from_hex(id.as_bytes()).ok()).collect();
        ids.into_iter().collect()
    }

    /// Returns those of `entries` that the stash does not have any more.
    fn popped(&self, entries: &[ObjectId]) -> Result<Vec<ObjectId>> {
        if entries.is_empty() {
            return Ok(Vec::new());
        }
        let now = self.worktree.repo.stash_entries()?;
        Ok(entries.iter().copied().filter(|entry| !now.contains(entry)).collect())
    }

    /// Returns the shadows of other commits and worktrees, archived and live, and those that this save sets aside; only if the
    /// command of `session` has left one, or if they `are_wanted`: there may be many.
    fn shadows(&self, session: &str, are_wanted: bool) -> Result<Vec<Other>> {
        let repo = &self.worktree.repo;
        let here = ShadowName::of_worktree(self.shadow.name.base, repo.worktree_id());
        let turns = self.worktree.turns();
        let calls = turns.find(session).map(|own| own.calls.as_slice()).unwrap_or_default();
        let call = calls.iter().find(|call| call.command.is_some());
        let left = call.and_then(|call| call.command.as_ref()?.head.as_ref());
        let left = left.and_then(|id| ObjectId::from_hex(id.as_bytes()).ok()).map(Base::Commit);
        let is_since = |name: &str| call.zip(refname::archived_at(name)).is_some_and(|(call, at)| at >= call.started);
        let has_left = || left.is_some_and(|left| left != here.base);
        if !are_wanted && !has_left() && !repo.ref_names_below(refname::ARCHIVE)?.iter().any(|name| is_since(name)) {
            return Ok(Vec::new());
        }
        let mut others = Vec::new();
        for live in self.shadow.dropped() {
            others.extend(repo.find_checkpoint(live.id)?.map(|tip| Other { tip: tip.into(), is_left: false }));
        }
        for Waiting { tip, checkpoint } in waiting(repo, &here)? {
            let is_of_call = if tip.archived { is_since(&tip.name) } else { left == Some(checkpoint.base) };
            let is_left = is_of_call && checkpoint.worktree == here.worktree;
            others.push(Other { tip: checkpoint.into(), is_left });
        }
        Ok(others)
    }

    /// Takes those files out of `wanted` that shadows have, and returns them.
    fn found_in_shadows(&self, shadows: &[Other], wanted: &mut Vec<Version>) -> Result<Vec<Source>> {
        let mut found = Vec::new();
        let mut left = Vec::new();
        for Version { path, leaf } in wanted.drain(..) {
            match self.shadow_with(shadows, &path, leaf) {
                Some(tip) => found.push(Source { place: Place::Shadow(tip), path, leaf }),
                None => left.push(Version { path, leaf }),
            }
        }
        *wanted = left;
        Ok(found)
    }

    /// Returns the last checkpoint of the first of `shadows` that has changed the file at `path` to `leaf`.
    fn shadow_with(&self, shadows: &[Other], path: &BString, leaf: Leaf) -> Option<Rc<Checkpoint>> {
        let has = |shadow: &&Other| self.changed_by(shadow, path).is_some_and(|left| left.id == leaf.id);
        shadows.iter().find(has).map(|shadow| Rc::clone(&shadow.tip))
    }

    /// Returns what `shadow` has made of the file at `path`; none if it has not changed it, or cannot be read.
    fn changed_by(&self, shadow: &Other, path: &BString) -> Option<Leaf> {
        let repo = &self.worktree.repo;
        let left = repo.find_leaf(shadow.tip.tree_id, path.as_bstr()).ok()??;
        let before = repo.find_leaf(base_tree(repo, &shadow.tip).ok()?, path.as_bstr()).ok()?;
        Some(left).filter(|left| is_file(*left) && before.is_none_or(|before| before.id != left.id))
    }

    /// Returns what the stash entry `entry` holds at `path`.
    fn source_in_entry(&self, entry: ObjectId, path: &BString, shadows: &[Other]) -> Result<Option<Source>> {
        let repo = &self.worktree.repo;
        for commit in trees_of_entry(repo, entry) {
            let leaf = repo.find_leaf(repo.tree_of_commit(commit)?, path.as_bstr())?.filter(|leaf| is_file(*leaf));
            if let Some(leaf) = leaf {
                let tip = self.shadow_with(shadows, path, leaf);
                let place = tip.map_or(Place::Entry(commit), Place::Shadow);
                return Ok(Some(Source { place, path: path.clone(), leaf }));
            }
        }
        Ok(None)
    }

    /// Returns the files that were staged since the last checkpoint, with what is staged now.
    fn newly_staged(&self, seen: &Seen) -> Result<BTreeMap<BString, Option<Leaf>>> {
        let Some(now) = seen.index_tree_id else { return Ok(BTreeMap::new()) };
        let last = self.shadow.tip_side.as_ref().and_then(|side| side.index_tree_id);
        let changes = self.objects.changes_of_trees(last.unwrap_or(self.shadow.head_tree_id), now)?;
        let staged = changes.into_iter().map(|change| (change.path, change.after.filter(|leaf| is_file(*leaf))));
        Ok(staged.collect())
    }

    /// Returns the commits that git notes as those it is merging, squashing, picking or reverting to.
    fn noted(&self, staged: &BTreeMap<BString, Option<Leaf>>) -> Result<Vec<ObjectId>> {
        let repo = &self.worktree.repo;
        let mut noted: Vec<ObjectId> = squashed_commits(self.worktree)?.into_iter().take(1).collect();
        noted.extend(repo.merge_heads());
        for name in ["CHERRY_PICK_HEAD", "REBASE_HEAD"] {
            noted.extend(repo.find_ref(name)?);
        }
        if let Some(reverted) = repo.find_ref("REVERT_HEAD")? {
            noted.extend(repo.parents_of(reverted)?.first());
        }
        if noted.is_empty()
            && let Some(message) = repo.prepared_message()
        {
            noted = self.picked(message.as_bstr(), staged)?;
        }
        noted.retain(|commit| repo.is_commit(*commit).unwrap_or(false));
        Ok(noted)
    }

    /// Returns the commits with the message of the one that `git cherry-pick -n` picked last: git keeps nothing else of that.
    fn picked(&self, message: &BStr, staged: &BTreeMap<BString, Option<Leaf>>) -> Result<Vec<ObjectId>> {
        let repo = &self.worktree.repo;
        let text = |message: &BStr| -> Vec<BString> {
            message
                .lines()
                .map(|line| line.trim_end().into())
                .take_while(|line: &BString| !line.starts_with(b"#"))
                .collect()
        };
        let trimmed = |message: &BStr| {
            let mut lines = text(message);
            lines.truncate(lines.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1));
            lines
        };
        let wanted = trimmed(message);
        let exclude = [format!("{}*", refname::PREFIX), format!("{}*", refname::FETCHED)];
        let paths: Vec<&BStr> = staged.keys().map(|path| path.as_bstr()).collect();
        if wanted.is_empty() || paths.is_empty() {
            return Ok(Vec::new());
        }
        let mut found = Vec::new();
        // If the file has another name by now, no such commit touches it.
        for paths in [paths.as_slice(), &[]] {
            for commit in repo.commits_touching(paths, &exclude, MOST_PICKED)? {
                if trimmed(repo.message_of(commit)?.as_bytes().as_bstr()) == wanted {
                    found.push(commit);
                }
            }
            if !found.is_empty() {
                break;
            }
        }
        Ok(found)
    }

    /// Returns true if an earlier checkpoint has the file as it is now: then that knows the authors.
    fn had(&self, change: &Change) -> Result<bool> {
        let repo = &self.worktree.repo;
        for checkpoint in self.shadow.tip.iter().flat_map(|tip| repo.chain_in_time(tip.id).take(MOST_CHECKPOINTS)) {
            if repo.find_leaf(checkpoint?.tree_id, change.path.as_bstr())? == change.after {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn attribution(self, session: &str) -> Result<Option<Attribution>> {
        if self.suspects.is_empty() {
            return Ok(None);
        }
        let mut owners = Owners::new(self.worktree, session)?;
        let mut files = Vec::new();
        for Suspect { change, sources } in &self.suspects {
            self.worktree.check_interrupt()?;
            if let Some(ownership) = self.ownership(change, sources, &mut owners)? {
                files.push(File { blob: change.after.map(|leaf| leaf.id), ownership });
            }
        }
        Ok((!files.is_empty()).then_some(Attribution { authors: owners.authors, files }))
    }

    /// Returns the owners of the lines of a file that are from `sources`.
    fn ownership(&self, change: &Change, sources: &[Source], owners: &mut Owners<'_>) -> Result<Option<FileOwnership>> {
        let text = |leaf: Option<Leaf>| leaf.map_or(Some(Vec::new()), |leaf| self.objects.read_blob(leaf.id));
        let (Some(before), Some(after)) = (text(change.before), text(change.after)) else { return Ok(None) };
        let empty = || FileOwnership { path: change.path.clone(), ..FileOwnership::default() };
        if is_binary(&before) || is_binary(&after) {
            let is_whole = sources.iter().any(|source| Some(source.leaf.id) == change.after.map(|leaf| leaf.id));
            return Ok(is_whole.then(|| FileOwnership { whole: Some(owners.of_binary()), ..empty() }));
        }
        let mut moved = Moved::new(&after, &step_edits(&before, &after));
        for (at, source) in sources.iter().enumerate() {
            // A partial clone may lack it.
            if let Ok(content) = self.worktree.repo.read_blob(source.leaf.id)
                && !is_binary(&content)
            {
                moved.look_in(at, &step_edits(&content, &after));
            }
        }
        let mut lines: Vec<(u32, Owner)> = Vec::new();
        for (at, source) in sources.iter().enumerate() {
            let here: BTreeMap<u32, u32> = moved.found_in(at).collect();
            lines.extend(owners.of(source, &here)?);
        }
        lines.sort_unstable_by_key(|(line, _)| *line);
        let spans = lines.into_iter().map(|(line, owner)| Span { start: line, end: line, owner }).collect::<Vec<_>>();
        Ok((!spans.is_empty()).then(|| FileOwnership { spans, ..empty() }))
    }
}

/// Returns the commits that hold the files of a stash entry: the entry, and the one of untracked files.
fn trees_of_entry(repo: &Repo, entry: ObjectId) -> Vec<ObjectId> {
    let untracked = repo.parents_of(entry).ok().and_then(|parents| parents.get(2).copied());
    [Some(entry), untracked].into_iter().flatten().filter(|commit| repo.is_commit(*commit).unwrap_or(false)).collect()
}

fn is_file(leaf: Leaf) -> bool {
    matches!(leaf.mode, Mode::File | Mode::Executable)
}
