//! Whose lines has git put into the worktree? An agent's command may run git, which moves lines and writes none:
//! `git checkout <branch> -- <path>`, `git restore -s`, `git cherry-pick -n`, `git merge --squash`, a rebase with a conflict.
//!
//! There must be evidence of git: the whole file, or what is staged of it, is as a commit has it, or git notes which commit it
//! is picking, squashing or merging. Then the lines that the commit has in these places keep the authors that they have there.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use bstr::{BStr, BString, ByteSlice as _};
use gix::ObjectId;

use super::{
    Worktree,
    attribution::Who,
    blame::{Options, blame, ranges},
    chain::{Seen, Shadow},
    records,
    rewrite::squashed_commits,
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
            Author, AuthorId, FileOwnership, Owner, Span,
            kind::Kind,
            text::{Attribution, File},
        },
        change::{Change, Leaf, Mode},
        contributor::Contributor,
        moved::Moved,
        refname,
    },
};

/// If a command changes more files than this, we do not look: the agent waits for us.
const MOST_FILES: usize = 1_000;
/// How long we look for commits that have a file.
const LONGEST_SEARCH: Duration = Duration::from_millis(300);
/// How long we ask git whose lines are. Later ones have an unknown author.
const LONGEST_BLAME: Duration = Duration::from_secs(1);
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
    Search::new(worktree, shadow, seen, objects).and_then(|search| search.attribution(session)).or_else(|error| {
        worktree.check_interrupt()?;
        tracing::warn!(%error, "lines that git brought from elsewhere count as work of the session");
        Ok(None)
    })
}

/// A file in a commit that git took lines from.
struct Source {
    commit: ObjectId,
    path: BString,
    leaf: Leaf,
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
        let commits = worktree.repo.commits_with(&wanted, Instant::now() + LONGEST_SEARCH)?;
        let found = wanted
            .into_iter()
            .zip(commits)
            .filter_map(|(version, commit)| Some(Source { commit: commit?, path: version.path, leaf: version.leaf }));
        let mut found: Vec<Source> = found.collect();
        let is_by_git = |change: &Change| staged.contains_key(&change.path) || unmerged.contains(&change.path);
        let noted = if changes.iter().any(is_by_git) { search.noted(&staged)? } else { Vec::new() };
        for change in changes {
            let mut sources: Vec<Source> = found.extract_if(.., |source| source.path == change.path).collect();
            for commit in noted.iter().filter(|_| is_by_git(&change)) {
                sources.extend(search.sources_in(*commit, &change.path)?);
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
        let source = |path: &BString, leaf: Leaf| Source { commit, path: path.clone(), leaf };
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

fn is_file(leaf: Leaf) -> bool {
    matches!(leaf.mode, Mode::File | Mode::Executable)
}

/// Asks whose the lines of files in commits are.
struct Owners<'w> {
    worktree: &'w Worktree<'w>,
    has_records: bool,
    /// When the session's turn began, in Unix seconds.
    turn_began: i64,
    until: Instant,
    authors: Vec<Author>,
}

impl<'w> Owners<'w> {
    fn new(worktree: &'w Worktree<'w>, session: &str) -> Result<Self> {
        let has_records = records::Log::open(&worktree.repo)?.is_some();
        let turn_began = worktree.turns().turn_of(session).map_or(i64::MAX, |turn| turn.started);
        Ok(Self { worktree, has_records, turn_began, until: Instant::now() + LONGEST_BLAME, authors: Vec::new() })
    }

    fn owner(&mut self, author: Author) -> Owner {
        let known = self.authors.iter().position(|known| *known == author);
        let at = known.unwrap_or_else(|| {
            self.authors.push(author);
            self.authors.len() - 1
        });
        Owner::Author(AuthorId::try_from(at).unwrap_or(AuthorId::MAX))
    }

    /// Returns the owner of a file without lines, which git cannot blame.
    fn of_binary(&mut self) -> Owner {
        self.owner(Author::plain(if self.has_records { Contributor::Unknown } else { Contributor::Human }))
    }

    /// Returns the owners of `lines`, the numbers of lines of the worktree's file with those in the source.
    fn of(&mut self, source: &Source, lines: &BTreeMap<u32, u32>) -> Result<Vec<(u32, Owner)>> {
        if lines.is_empty() {
            return Ok(Vec::new());
        }
        let unknown = self.owner(Author::plain(Contributor::Unknown));
        if Instant::now() > self.until {
            return Ok(lines.keys().map(|line| (*line, unknown)).collect());
        }
        let options = Options {
            path: source.path.clone(),
            rev: Some(source.commit.to_string()),
            ranges: ranges(lines.values().copied()),
            ..Options::default()
        };
        let mut owners: BTreeMap<u32, Owner> = BTreeMap::new();
        for blamed in blame(self.worktree, &options)?.lines {
            let mut author = author(blamed.who);
            // The agent may have made the commit itself, where no hook of ours runs.
            if blamed.authored > self.turn_began && author.contributor == Contributor::Human {
                author = Author::plain(Contributor::Unknown);
            }
            let owner = self.owner(author);
            owners.extend((blamed.start..=blamed.end).map(|line| (line, owner)));
        }
        Ok(lines.iter().map(|(line, from)| (*line, owners.get(from).copied().unwrap_or(unknown))).collect())
    }
}

fn author(who: Who) -> Author {
    let Who { owner, session, turn, agent, model, agent_id } = who;
    let contributor = match owner {
        _ if session.is_some() => Contributor::Agent,
        Kind::Human => Contributor::Human,
        _ => Contributor::Unknown,
    };
    Author { contributor, session, turn, agent, model, agent_id }
}
