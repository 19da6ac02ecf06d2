//! Finds the authors of lines that git has put into the worktree. An agent's command may run git, which only moves lines:
//! `git checkout <branch> -- <path>`, `git restore -s`, `git cherry-pick -n`, `git merge --squash`, a rebase with a conflict.
//!
//! We need evidence that git did it: the file, or its staged content, equals the file in a commit, or git's own files name the
//! commit that git is picking, squashing or merging. Then the lines from that commit keep the authors that they have there.

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
        side::MOVED_LINES_LOST,
        versions::{Found, Version},
    },
    model::{
        attribution::{
            FileOwnership, Owner, Span,
            text::{Attribution, File},
        },
        change::{Change, Leaf, Mode},
        moved::Moved,
        turns::Call,
    },
};

/// If git may have brought more files than this, we do not look for their authors: the agent waits for us.
const MOST_FILES: usize = 1_000;
/// How long we look for commits that have a file.
const LONGEST_SEARCH: Duration = Duration::from_millis(300);
/// How many checkpoints back we look for the content of a file.
const MOST_CHECKPOINTS: usize = 64;

/// The index stage that has the other side's version of an unmerged file.
const THEIRS: u8 = 3;

/// A tool call of a session that may change any file, and may have run git.
pub(crate) struct OpenCall {
    session: String,
    call: Call,
}

/// Returns the open tool call of `session` that may have run git. Of several, the oldest in the foreground, else the oldest.
pub(crate) fn call_of(worktree: &Worktree<'_>, session: &str) -> Option<OpenCall> {
    let turns = worktree.turns();
    let mut calls = turns.find(session)?.calls.iter().filter(|call| call.paths.is_none());
    let call = calls.clone().find(|call| !call.is_background).or_else(|| calls.next())?.clone();
    Some(OpenCall { session: session.to_owned(), call })
}

/// Returns a tool call of any session that may have run git, as [`call_of`] does.
pub(crate) fn any_call(worktree: &Worktree<'_>) -> Option<OpenCall> {
    worktree.turns().entries.iter().find_map(|entry| call_of(worktree, &entry.id))
}

/// Returns the turn of `session` as one call: a person, or a tool call that the session did not report, may have run git.
pub(crate) fn turn_as_call(worktree: &Worktree<'_>, session: &str) -> Option<OpenCall> {
    let started = worktree.turns().turn_of(session)?.started;
    Some(OpenCall { session: session.to_owned(), call: Call { started, ..Call::default() } })
}

/// Returns the attribution, as text, of the lines in `seen` that git brought while `call` was open; none if there are no such
/// lines. If the search fails, logs the error, and the author of all changes is unknown.
pub(crate) fn moved_lines(
    worktree: &Worktree<'_>,
    call: &OpenCall,
    shadow: &Shadow,
    seen: &Seen,
    objects: &NewObjects<'_>,
) -> Result<Option<Vec<u8>>> {
    let search = Search::new(worktree, call, shadow, seen, objects);
    let found = search.and_then(|search| search.attribution(&call.session));
    found.map(|found| found.map(Attribution::to_text)).or_else(|error| {
        worktree.check_interrupt()?;
        tracing::warn!(%error, "the author of the changes is unknown: git may have brought them from elsewhere");
        Ok(Some(MOVED_LINES_LOST.to_vec()))
    })
}

/// A changed file, and where its lines may be from, the best evidence first.
struct Suspect {
    change: Change,
    /// None if git may have written the file and we did not find its source.
    sources: Option<Vec<Source>>,
}

/// Returns the patch's version of the unmerged file at `path`.
fn patched(seen: &Seen, path: &BString) -> Option<Source> {
    let theirs = seen.side.manifest.unmerged.iter().find(|entry| entry.path == *path && entry.stage == THEIRS)?;
    let leaf = Leaf { id: theirs.id, mode: Mode::from_bits(theirs.mode)? };
    Some(Source { place: Place::Patch, path: path.clone(), leaf: Some(leaf).filter(|leaf| is_file(*leaf)) })
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
        open: &OpenCall,
        shadow: &'s Shadow,
        seen: &'s Seen,
        objects: &'s NewObjects<'s>,
    ) -> Result<Self> {
        let mut search = Self { worktree, shadow, objects, suspects: Vec::new() };
        let mut changes = objects.changes_of_trees(shadow.last_tree_id(), seen.tree_id)?;
        let may_be = |leaf: Option<Leaf>| leaf.is_none_or(|leaf| leaf.mode != Mode::Gitlink);
        changes.retain(|change| may_be(change.before) && may_be(change.after));
        if changes.is_empty() {
            return Ok(search);
        }
        let staged = search.newly_staged(seen)?;
        let unmerged: BTreeSet<&BString> = seen.side.manifest.unmerged.iter().map(|entry| &entry.path).collect();
        let mut wanted: Vec<Version> = Vec::new();
        let began = open.call.command.as_ref().map_or(0, |command| command.began);
        // After a fetch, content that is new in the object database may still be from old commits.
        let has_fetched = worktree.repo.last_fetch().is_some_and(|fetched| fetched >= began);
        for change in &changes {
            let head = worktree.repo.find_leaf(shadow.head_tree_id, change.path.as_bstr())?;
            let index = staged.get(&change.path).copied().flatten();
            let mut leaves: Vec<Leaf> = change.after.into_iter().chain(index).collect();
            leaves.dedup_by_key(|leaf| leaf.id);
            // No earlier commit has content that was first stored since the command began, and git cannot have brought what was first
            // stored when the file had it already: others have written the same. That a commit has an empty file says nothing: it
            // brings no line.
            let written = worktree.repo.modified_at(change.path.as_bstr());
            leaves.retain(|leaf| {
                let is_written = change.after == Some(*leaf) && worktree.repo.was_stored_since(leaf.id, written);
                !leaf.id.is_empty_blob()
                    && head.is_none_or(|head| head.id != leaf.id)
                    && !objects.is_new(leaf.id)
                    && !is_written
                    && (has_fetched || !worktree.repo.was_stored_since(leaf.id, began))
            });
            if leaves.is_empty() || search.is_in_chain(change)? {
                continue;
            }
            wanted.extend(leaves.into_iter().map(|leaf| Version { path: change.path.clone(), leaf }));
        }
        // An unmerged file may come from a stash entry that is still there: git keeps it if `git stash pop` has a conflict.
        let are_wanted = !wanted.is_empty() || changes.iter().any(|change| unmerged.contains(&change.path));
        let aside = Aside::read(worktree, &open.call, shadow, are_wanted)?;
        let mut found = aside.find(&mut wanted);
        let stashed = aside.commits();
        let undecided = if wanted.len() > MOST_FILES { std::mem::take(&mut wanted) } else { Vec::new() };
        let Found { commits, is_complete } =
            worktree.repo.commits_with(&wanted, &stashed, Instant::now() + LONGEST_SEARCH)?;
        let mut undecided: BTreeSet<BString> = undecided.into_iter().map(|version| version.path).collect();
        for (Version { path, leaf }, commit) in wanted.into_iter().zip(commits) {
            match commit {
                Some(commit) if stashed.contains(&commit) => {
                    found.push(Source { place: Place::Entry(commit), path, leaf: Some(leaf) });
                }
                Some(commit) => found.push(Source { place: Place::Commit(commit), path, leaf: Some(leaf) }),
                None if is_complete => {}
                None => drop(undecided.insert(path)),
            }
        }
        let is_by_git = |change: &Change| staged.contains_key(&change.path) || unmerged.contains(&change.path);
        let noted = if changes.iter().any(is_by_git) { noted(worktree, shadow, &staged)? } else { Vec::new() };
        for change in changes {
            let mut sources: Vec<Source> = found.extract_if(.., |source| source.path == change.path).collect();
            for commit in noted.iter().filter(|_| is_by_git(&change)) {
                sources.extend(sources_in(&worktree.repo, shadow, *commit, &change.path)?);
            }
            let is_unmerged = unmerged.contains(&change.path);
            let is_conflict = noted.is_empty() && is_unmerged;
            // `git am` applies the patch in the mail. The mail may name a commit, but the patch may differ from it.
            if is_unmerged && worktree.repo.is_applying() {
                sources.extend(patched(seen, &change.path));
            }
            sources.extend(aside.sources(&change.path, is_conflict)?);
            if sources.iter().any(|source| matches!(source.place, Place::Entry(_))) {
                sources.splice(0..0, aside.before_entries(&change.path)?);
            }
            // Git wrote an unmerged file even if we found no source: the file may have another name in the source.
            let is_by_git = is_unmerged || undecided.contains(&change.path);
            let sources = Some(sources).filter(|sources| !sources.is_empty());
            if (sources.is_some() || is_by_git) && !search.is_in_chain(&change)? {
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

    /// Returns true if an earlier checkpoint of the chain has the file as it is now: that one knows the authors of its lines.
    fn is_in_chain(&self, change: &Change) -> Result<bool> {
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
            let ownership = match sources {
                Some(sources) => self.ownership(change, sources, &mut owners)?,
                None => {
                    Some(FileOwnership { whole: Some(owners.unknown()), ..self.all_added(change, owners.unknown()) })
                }
            };
            if let Some(ownership) = ownership {
                files.push(File { blob: change.after.map(|leaf| leaf.id), ownership });
            }
        }
        Ok((!files.is_empty()).then_some(Attribution { authors: owners.authors, files }))
    }

    /// Returns the ownership of the file in which all added lines are `owner`'s.
    fn all_added(&self, change: &Change, owner: Owner) -> FileOwnership {
        let empty = FileOwnership { path: change.path.clone(), ..FileOwnership::default() };
        let Some((before, after)) = self.texts(change) else { return empty };
        let edits = step_edits(&before, &after).into_iter().filter(|(_, new)| !new.is_empty());
        let number = |line: usize| u32::try_from(line).unwrap_or(u32::MAX);
        let spans = edits.map(|(_, new)| Span { start: number(new.start + 1), end: number(new.end), owner });
        FileOwnership { spans: spans.collect(), ..empty }
    }

    /// Returns the content before and after the change; none if either is not text.
    fn texts(&self, change: &Change) -> Option<(Vec<u8>, Vec<u8>)> {
        let text = |leaf: Option<Leaf>| match leaf {
            None => Some(Vec::new()),
            Some(leaf) if is_file(leaf) => self.objects.read_blob(leaf.id).filter(|text| !is_binary(text)),
            Some(_) => None,
        };
        text(change.before).zip(text(change.after))
    }

    /// Returns the owners of those lines of a file that come from `sources`. If the file equals one of the sources, all of the
    /// change comes from it.
    fn ownership(&self, change: &Change, sources: &[Source], owners: &mut Owners<'_>) -> Result<Option<FileOwnership>> {
        let id = |leaf: Option<Leaf>| leaf.map(|leaf| leaf.id);
        let exact = sources.iter().position(|source| id(source.leaf) == id(change.after));
        let whole = exact.map(|at| owners.of_file(&sources[at])).transpose()?;
        let Some((before, after)) = self.texts(change) else {
            return Ok(whole.map(|whole| FileOwnership {
                path: change.path.clone(),
                whole: Some(whole),
                ..FileOwnership::default()
            }));
        };
        let mut moved = Moved::new(&after, &step_edits(&before, &after));
        // A stash entry comes after the shadows: if none has the whole file of the entry, one may still have some of its lines.
        let is_entry = |at: usize| matches!(sources[at].place, Place::Entry(_));
        if let Some(at) = exact.filter(|at| !is_entry(*at)) {
            moved.take_all(at);
        }
        for (at, source) in sources.iter().enumerate() {
            if exact == Some(at) && is_entry(at) {
                moved.take_all(at);
                continue;
            }
            // A partial clone may lack the content.
            if let Some(leaf) = source.leaf
                && let Ok(content) = self.worktree.repo.read_blob(leaf.id)
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
        let is_any = !spans.is_empty() || whole.is_some();
        Ok(is_any.then(|| FileOwnership { path: change.path.clone(), spans, whole, ..FileOwnership::default() }))
    }
}
