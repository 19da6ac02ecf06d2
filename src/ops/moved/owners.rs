//! Finds the authors of the lines that git brought: `blame` knows those of a commit, a replay those of a shadow.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    rc::Rc,
    time::{Duration, Instant},
};

use bstr::BString;
use gix::ObjectId;

use super::source::{Place, ShadowWork, Source};
use crate::{
    error::Result,
    git::{Repo, counting::Counting},
    model::{
        attribution::{Author, AuthorId, Owner, kind::Kind},
        contributor::Contributor,
    },
    ops::{
        Worktree,
        attribution::Who,
        blame::{Options, blame, ranges},
        chain::carry_forward::base_tree,
        provenance::{replay::Work, step::Step, steps::steps},
        records,
    },
};

/// How long we look for authors: the agent waits. Lines that we do not reach by then get an unknown author.
const LONGEST_BLAME: Duration = Duration::from_secs(1);

/// Looks up the authors of lines in their sources, and numbers these authors.
pub(super) struct Owners<'w> {
    worktree: &'w Worktree<'w>,
    has_records: bool,
    /// When the session's turn began, in Unix seconds.
    turn_began: i64,
    until: Instant,
    /// The attribution of each shadow, by the id of its last checkpoint; none if the time was up.
    shadows: HashMap<ObjectId, Option<Rc<Work>>>,
    pub(super) authors: Vec<Author>,
}

impl<'w> Owners<'w> {
    pub(super) fn new(worktree: &'w Worktree<'w>, session: &str) -> Result<Self> {
        let has_records = records::are_here(&worktree.repo)?;
        let turn_began = worktree.turns().turn_of(session).map_or(i64::MAX, |turn| turn.started);
        let until = Instant::now() + LONGEST_BLAME;
        Ok(Self { worktree, has_records, turn_began, until, shadows: HashMap::new(), authors: Vec::new() })
    }

    fn owner(&mut self, author: Author) -> Owner {
        let known = self.authors.iter().position(|known| *known == author);
        let at = known.unwrap_or_else(|| {
            self.authors.push(author);
            self.authors.len() - 1
        });
        Owner::Author(AuthorId::try_from(at).unwrap_or(AuthorId::MAX))
    }

    pub(super) fn unknown(&mut self) -> Owner {
        self.owner(Author::plain(Contributor::Unknown))
    }

    /// Returns the owner of what has no lines to blame: of a binary file, and of the lines that the source does not have any
    /// more.
    pub(super) fn of_file(&mut self, source: &Source) -> Result<Owner> {
        let repo = &self.worktree.repo;
        let is_of_people = match &source.place {
            Place::Shadow(ShadowWork { tip, .. }) => {
                tip.origin.contributor == Contributor::Human && tip.origin.carried.is_none()
            }
            Place::Entry(_) => true,
            Place::Patch => false,
            Place::Commit(commit) => {
                let is_older = repo.parent_and_time(*commit)?.is_some_and(|(_, seconds)| seconds < self.turn_began);
                let is_of_people =
                    is_older && (!self.has_records || records::evidence::of_commit(repo, *commit)?.is_empty());
                // If HEAD contains the commit, the lines that its version lacks were added later. Checking that version out
                // deleted them.
                is_of_people && !repo.reaches(repo.head()?.id.into_iter().collect(), *commit, 0)?
            }
        };
        Ok(self.owner(Author::plain(if is_of_people { Contributor::Human } else { Contributor::Unknown })))
    }

    /// Returns the owners of `lines`, which maps numbers of lines of the file in the worktree to those of the source.
    pub(super) fn of(&mut self, source: &Source, lines: &BTreeMap<u32, u32>) -> Result<Vec<(u32, Owner)>> {
        if lines.is_empty() {
            return Ok(Vec::new());
        }
        let found = match &source.place {
            Place::Commit(commit) => self.in_commit(*commit, &[], &source.path, lines),
            Place::Entry(entry) => self.in_entry(*entry, &source.path, lines),
            Place::Shadow(work) => self.in_shadow(work, source, lines),
            Place::Patch => {
                let unknown = self.unknown();
                Ok(lines.keys().map(|line| (*line, unknown)).collect())
            }
        };
        found.or_else(|error| {
            self.worktree.check_interrupt()?;
            tracing::warn!(%error, "cannot find the authors of lines that git has moved");
            let unknown = self.unknown();
            Ok(lines.keys().map(|line| (*line, unknown)).collect())
        })
    }

    fn in_entry(&mut self, entry: ObjectId, path: &BString, lines: &BTreeMap<u32, u32>) -> Result<Vec<(u32, Owner)>> {
        // A stash entry has the index in its second parent and, with `--include-untracked`, untracked files in its third.
        let parents = self.worktree.repo.parents_of(entry)?;
        let own: Vec<ObjectId> = parents.into_iter().skip(1).chain([entry]).collect();
        self.in_commit(entry, &own, path, lines)
    }

    /// Returns the owners of `lines` as [`of`](Self::of) does, by blaming `path` in `commit`. Lines that the commits `of_people`
    /// add are a human's.
    fn in_commit(
        &mut self,
        commit: ObjectId,
        of_people: &[ObjectId],
        path: &BString,
        lines: &BTreeMap<u32, u32>,
    ) -> Result<Vec<(u32, Owner)>> {
        let unknown = self.unknown();
        if Instant::now() > self.until {
            return Ok(lines.keys().map(|line| (*line, unknown)).collect());
        }
        let options = Options {
            path: path.clone(),
            rev: Some(commit.to_string()),
            ranges: ranges(lines.values().copied()),
            ..Options::default()
        };
        let mut owners: BTreeMap<u32, Owner> = BTreeMap::new();
        for blamed in blame(self.worktree, &options)?.lines {
            let is_of_people = blamed.commit.is_some_and(|commit| of_people.contains(&commit));
            let mut author = if is_of_people { Author::plain(Contributor::Human) } else { author(blamed.who) };
            // The agent may have made the commit itself, where no hook of ours runs.
            if blamed.committed >= self.turn_began && author.contributor == Contributor::Human {
                author = Author::plain(Contributor::Unknown);
            }
            let owner = self.owner(author);
            owners.extend((blamed.start..=blamed.end).map(|line| (line, owner)));
        }
        Ok(lines.iter().map(|(line, from)| (*line, owners.get(from).copied().unwrap_or(unknown))).collect())
    }

    fn in_shadow(
        &mut self,
        work: &ShadowWork,
        source: &Source,
        lines: &BTreeMap<u32, u32>,
    ) -> Result<Vec<(u32, Owner)>> {
        let id = work.tip.id;
        if !self.shadows.contains_key(&id) {
            let replayed = if Instant::now() > self.until { None } else { Some(replayed(&self.worktree.repo, work)?) };
            self.shadows.insert(id, replayed);
        }
        let work = self.shadows.get(&id).and_then(Clone::clone);
        let file = work.as_ref().and_then(|work| work.ownership.files.iter().find(|file| file.path == source.path));
        let mut owners = Vec::with_capacity(lines.len());
        for (line, from) in lines {
            let author = match (file.map_or(Owner::Base, |file| file.owner(*from)), &work) {
                (Owner::Author(id) | Owner::Mixed { of: id, .. }, Some(work)) => work.authors[id as usize].clone(),
                // A line of the shadow's base commit that HEAD lacks: the shadow does not know its author.
                _ => Author::plain(Contributor::Unknown),
            };
            owners.push((*line, self.owner(author)));
        }
        Ok(owners)
    }
}

/// Returns the attribution of all that the shadow has changed.
fn replayed(repo: &Repo, ShadowWork { tip, after }: &ShadowWork) -> Result<Rc<Work>> {
    let changes = repo.diff_trees(base_tree(repo, tip)?, tip.tree_id)?;
    let paths: BTreeSet<&BString> = changes.iter().map(|change| &change.path).collect();
    let is_wanted = |path: &BString| paths.contains(path);
    let mut all = steps(repo, after.as_ref().unwrap_or(tip), &is_wanted)?;
    if let Some(after) = after {
        let mut since = repo.diff_trees(after.tree_id, tip.tree_id)?;
        since.retain(|change| is_wanted(&change.path));
        all.push(Step::new(tip.origin.clone(), since));
    }
    Work::of(repo, &all, &changes, &mut Counting::usual(repo)).map(Rc::new)
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
