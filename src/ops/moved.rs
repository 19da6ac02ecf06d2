//! Whose lines has git put into the worktree? An agent's command may run git, which moves lines and writes none:
//! `git checkout <branch> -- <path>`, `git restore -s`, `git cherry-pick -n`, `git merge --squash`, a rebase with a conflict.
//!
//! There must be evidence of git: the whole file, or what is staged of it, is as a commit has it, or git notes which commit it
//! is picking, squashing or merging. Then the lines that the commit has in these places keep the authors that they have there.

mod aside;
mod noted;
mod owners;
mod source;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use bstr::{BString, ByteSlice as _};

use self::{
    aside::Aside,
    noted::{noted, sources_in},
    owners::Owners,
    source::{Place, Source, is_file},
};
use super::{
    Worktree,
    chain::{Seen, Shadow},
};
use crate::{
    error::Result,
    git::{
        line_edits::{is_binary, step_edits},
        new_objects::NewObjects,
        versions::Version,
    },
    model::{
        attribution::{
            FileOwnership, Owner, Span,
            text::{Attribution, File},
        },
        change::{Change, Leaf},
        moved::Moved,
        turns::Command,
    },
};

/// If a command changes more files than this, we do not look: the agent waits for us.
const MOST_FILES: usize = 1_000;
/// How long we look for commits that have a file.
const LONGEST_SEARCH: Duration = Duration::from_millis(300);
/// How many checkpoints back we look for the content of a file.
const MOST_CHECKPOINTS: usize = 64;
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

/// Returns the command that `session` runs.
fn command_of(worktree: &Worktree<'_>, session: &str) -> Option<Command> {
    worktree.turns().find(session)?.calls.iter().find_map(|call| call.command.clone())
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
        let began = command_of(worktree, session).map_or(0, |command| command.began);
        for change in &changes {
            let head = worktree.repo.find_leaf(shadow.head_tree_id, change.path.as_bstr())?;
            let index = staged.get(&change.path).copied().flatten();
            let mut leaves: Vec<Leaf> = change.after.into_iter().chain(index).collect();
            leaves.dedup_by_key(|leaf| leaf.id);
            // No commit had what was stored for the first time since the command began.
            leaves.retain(|leaf| {
                head.is_none_or(|head| head.id != leaf.id)
                    && !objects.is_new(leaf.id)
                    && !worktree.repo.was_stored_since(leaf.id, began)
            });
            if leaves.is_empty() || search.had(change)? {
                continue;
            }
            wanted.extend(leaves.into_iter().map(|leaf| Version { path: change.path.clone(), leaf }));
        }
        let aside = Aside::read(worktree, session, shadow, !wanted.is_empty())?;
        let mut found = aside.find(&mut wanted);
        let stashed = aside.commits();
        let commits = worktree.repo.commits_with(&wanted, &stashed, Instant::now() + LONGEST_SEARCH)?;
        found.extend(wanted.into_iter().zip(commits).filter_map(|(Version { path, leaf }, commit)| {
            let commit = commit?;
            let place = if stashed.contains(&commit) { Place::Entry(commit) } else { Place::Commit(commit) };
            Some(Source { place, path, leaf })
        }));
        let is_by_git = |change: &Change| staged.contains_key(&change.path) || unmerged.contains(&change.path);
        let noted = if changes.iter().any(is_by_git) { noted(worktree, &staged)? } else { Vec::new() };
        for change in changes {
            let mut sources: Vec<Source> = found.extract_if(.., |source| source.path == change.path).collect();
            for commit in noted.iter().filter(|_| is_by_git(&change)) {
                sources.extend(sources_in(&worktree.repo, shadow, *commit, &change.path)?);
            }
            let is_conflict = noted.is_empty() && unmerged.contains(&change.path);
            sources.extend(aside.sources(&change.path, is_conflict)?);
            if !sources.is_empty() && !search.had(&change)? {
                search.suspects.push(Suspect { change, sources });
            }
        }
        Ok(search)
    }

    /// Returns the files that were staged since the last checkpoint, with what is staged now.
    fn newly_staged(&self, seen: &Seen) -> Result<BTreeMap<BString, Option<Leaf>>> {
        let Some(now) = seen.index_tree_id else { return Ok(BTreeMap::new()) };
        let last = self.shadow.tip_side.as_ref().and_then(|side| side.index_tree_id);
        let changes = self.objects.changes_of_trees(last.unwrap_or(self.shadow.head_tree_id), now)?;
        let staged = changes.into_iter().map(|change| (change.path, change.after.filter(|leaf| is_file(*leaf))));
        Ok(staged.collect())
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
