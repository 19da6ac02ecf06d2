//! Finds the owner of each line that git has blamed: through renames, moves and changes of blanks that git does not see.

use std::collections::{BTreeMap, HashMap};

use bstr::{BStr, BString, ByteSlice as _};
use gix::ObjectId;

use super::{
    super::{
        Context,
        attribution::{Reader, Text, uncommitted},
        provenance::left::{Source, left},
    },
    elsewhere::origin,
};
use crate::{
    error::Result,
    git::{
        Repo,
        blame::{Blamed, Question},
        line_edits,
    },
    model::{
        attribution::{AuthorId, Differ, Owner, Span, carry::carry},
        change::Change,
        contributor::Contributor,
    },
};

/// How often one blame runs git again, to find where moved or reformatted lines come from: each run reads the history of a file.
/// Files in which no origin is found do not count.
const MOST_QUESTIONS: usize = 32;

/// How often one blame looks through a whole commit, and the commits before it, for lines that were moved from a file that their commit
/// does not change.
const MOST_SEARCHES: usize = 4;

/// An owner, and the commit whose record names it.
type Found = (Owner, Option<ObjectId>);

/// A file in a commit, or in the worktree.
type Place = (Option<ObjectId>, BString);

/// Lines of a file that are older than the commit that git names, but were moved or reformatted.
struct Older {
    /// None for the worktree.
    commit: Option<ObjectId>,
    /// The commits in which git is to look for them, one after the other.
    parents: Vec<ObjectId>,
    path: BString,
    text: Vec<u8>,
    /// Where the lines are in the result, and their numbers in `text` from 1.
    wanted: Vec<(usize, u32)>,
}

/// The attribution of a file in a commit.
enum Known {
    /// All lines have the same owner.
    All(Owner),
    Views(Box<super::super::attribution::BlobOwners>),
    Spans(crate::model::attribution::FileOwnership),
}

/// A search for the owners of lines.
pub(super) struct Search<'c> {
    context: &'c Context,
    pub(super) reader: Reader<'c>,
    known: HashMap<Place, Known>,
    /// How uncommitted files were changed, and their contents.
    worktree: HashMap<BString, (Change, Text)>,
    /// The repository with the worktree in its memory, and the tree of that, if it was looked at.
    seen: Option<(Repo, ObjectId)>,
    questions: usize,
    searches: usize,
}

impl<'c> Search<'c> {
    pub(super) fn new(context: &'c Context) -> Result<Self> {
        let reader = Reader::new(context)?;
        Ok(Self {
            context,
            reader,
            known: HashMap::new(),
            worktree: HashMap::new(),
            seen: None,
            questions: 0,
            searches: 0,
        })
    }

    /// Returns the owner of each of `lines`; [`Owner::Base`] never.
    pub(super) fn owners(&mut self, lines: &[Blamed]) -> Result<Vec<Found>> {
        let mut owners = Vec::with_capacity(lines.len());
        let mut older: BTreeMap<Place, Vec<(usize, u32)>> = BTreeMap::new();
        let mut last: Option<(&Blamed, Place)> = None;
        for (at, line) in lines.iter().enumerate() {
            let key = match last.take() {
                Some((before, key)) if before.commit == line.commit && before.path == line.path => key,
                _ => {
                    let key = (line.commit, line.path.clone());
                    if !self.known.contains_key(&key) {
                        let known = self.look_up(line)?;
                        self.known.insert(key.clone(), known);
                    }
                    key
                }
            };
            let owner = match &self.known[&key] {
                Known::All(owner) => *owner,
                Known::Spans(ownership) => ownership.owner(line.original),
                Known::Views(views) => views.owner(line.original),
            };
            if owner == Owner::Base {
                older.entry((line.commit, line.path.clone())).or_default().push((at, line.original));
            }
            owners.push((owner, line.commit));
            last = Some((line, key));
        }
        self.follow(older, &mut owners)?;
        let unknown = Owner::Author(self.reader.authors.plain(Contributor::Unknown));
        owners.iter_mut().filter(|(owner, _)| *owner == Owner::Base).for_each(|(owner, _)| *owner = unknown);
        Ok(owners)
    }

    fn look_up(&mut self, line: &Blamed) -> Result<Known> {
        let Some(commit) = line.commit else {
            let found = uncommitted(self.context, line.path.as_bstr())?;
            self.seen = Some(found.worktree);
            let mut files = found.work.files.into_iter().zip(found.texts);
            let Some((file, text)) = files.find(|(file, _)| file.change.path == line.path) else {
                return Ok(Known::All(Owner::Author(self.reader.authors.plain(Contributor::Human))));
            };
            let mut change = file.change;
            if let Some((name, leaf)) = found.copied.get(&line.path) {
                (change.old_path, change.before) = (Some(name.clone()), Some(*leaf));
            }
            self.worktree.extend(text.map(|text| (line.path.clone(), (change, text))));
            let ownership = self.reader.authors.adopt_file(file.ownership, &found.authors);
            return Ok(match ownership.whole {
                Some(owner) => Known::All(owner),
                None => Known::Spans(ownership),
            });
        };
        Ok(match self.reader.blob_owners(commit, line.path.as_bstr())? {
            Ok(views) => Known::Views(Box::new(views)),
            Err(author) => Known::All(Owner::Author(author)),
        })
    }

    /// Finds the origins of lines that were only moved or reformatted.
    ///
    /// The earlier content of all files comes first: it has most origins, and the search in other files must not use up the limit.
    fn follow(&mut self, older: BTreeMap<Place, Vec<(usize, u32)>>, owners: &mut [Found]) -> Result<()> {
        let mut open = Vec::new();
        for ((commit, path), wanted) in older {
            let Some(mut older) = self.older(commit, path, wanted)? else { continue };
            for parent in older.parents.clone() {
                if let Some((path, blob)) = self.earlier(commit, parent, older.path.as_bstr())? {
                    let text = self.context.repo.read_blob(blob)?;
                    self.follow_to(parent, &Source { path, text, lines: None }, &mut older, owners)?;
                }
            }
            if !older.wanted.is_empty() {
                open.push(older);
            }
        }
        for mut older in open {
            if self.questions >= MOST_QUESTIONS {
                break;
            }
            let repo = &self.context.repo;
            let (repo, tree_id) = match (older.commit, &self.seen) {
                (Some(commit), _) => (repo, repo.tree_of_commit(commit)?),
                (None, Some((repo, tree_id))) => (repo, *tree_id),
                (None, None) => continue,
            };
            let mut found = Vec::new();
            for parent in &older.parents {
                let trees = (repo.tree_of_commit(*parent)?, tree_id);
                let wanted = older.wanted.iter().map(|(_, line)| *line);
                let sources = left(repo, trees, older.path.as_bstr(), &older.text, wanted)?;
                found.extend(sources.into_iter().map(|source| (*parent, source)));
            }
            for (parent, source) in found {
                self.follow_to(parent, &source, &mut older, owners)?;
            }
            if !older.wanted.is_empty() && self.searches < MOST_SEARCHES {
                self.searches += 1;
                self.search(older, owners)?;
            }
        }
        Ok(())
    }

    /// Looks for the origins of lines in the files that their commit does not change.
    fn search(&mut self, mut older: Older, owners: &mut [Found]) -> Result<()> {
        let wanted: Vec<u32> = older.wanted.iter().map(|(_, line)| *line).collect();
        let Some(parent) = older.parents.first() else { return Ok(()) };
        let found = origin(&self.context.repo, *parent, older.path.as_bstr(), &older.text, &wanted)?;
        if let Some(origin) = found {
            self.follow_to(origin.commit, &origin.source, &mut older, owners)?;
        }
        Ok(())
    }

    /// Returns the file that has the lines `wanted`; none if it has no earlier commit. During a merge, the worktree has the commits that
    /// are being merged as its parents, too.
    fn older(&mut self, commit: Option<ObjectId>, path: BString, wanted: Vec<(usize, u32)>) -> Result<Option<Older>> {
        let repo = &self.context.repo;
        let parents = match commit {
            Some(commit) => repo.parents_of(commit)?,
            None => repo.head()?.id.into_iter().chain(repo.merge_heads()).collect(),
        };
        if parents.is_empty() {
            return Ok(None);
        }
        let leaf = |commit| repo.find_leaf(repo.tree_of_commit(commit)?, path.as_bstr());
        let text = match commit {
            Some(commit) => leaf(commit)?.map(|leaf| repo.read_blob(leaf.id)).transpose()?,
            None => self.worktree.get_mut(&path).map(|(_, text)| std::mem::take(&mut text.after)),
        };
        Ok(text.map(|text| Older { commit, parents, path, text, wanted }))
    }

    /// Returns the path and the blob of the file in `parent`, under the same name or the one that git takes for its old one.
    fn earlier(&self, commit: Option<ObjectId>, parent: ObjectId, path: &BStr) -> Result<Option<(BString, ObjectId)>> {
        let repo = &self.context.repo;
        let in_worktree = self.worktree.get(path).map(|(change, _)| change).filter(|_| commit.is_none());
        let is_replaced = in_worktree.is_some_and(|change| change.old_path.is_some());
        if let Some(before) = repo.find_leaf(repo.tree_of_commit(parent)?, path)?.filter(|_| !is_replaced) {
            return Ok(Some((path.to_owned(), before.id)));
        }
        let change = match commit {
            Some(commit) => self.reader.change_at(commit, path)?,
            None => in_worktree.cloned(),
        };
        let Some(Change { old_path: Some(was), before: Some(before), .. }) = change else { return Ok(None) };
        Ok(Some((was, before.id)))
    }

    /// Finds the owners of those wanted lines of `older` that come from `source`, a file in the commit `parent`, and takes them out of
    /// those wanted.
    fn follow_to(&mut self, parent: ObjectId, source: &Source, older: &mut Older, owners: &mut [Found]) -> Result<()> {
        if older.wanted.is_empty() || self.questions >= MOST_QUESTIONS {
            return Ok(());
        }
        let origins = origins(&source.text, &older.text);
        let in_file = |origin: u32| source.lines.as_ref().map_or(origin, |lines| lines[origin as usize - 1]);
        let mut places: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        older.wanted.retain(|(at, line)| match origins.get(line) {
            Some(origin) => {
                places.entry(in_file(*origin)).or_default().push(*at);
                false
            }
            None => true,
        });
        if places.is_empty() {
            return Ok(());
        }
        self.questions += 1;
        let ranges: Vec<String> = ranges(places.keys().copied());
        let question =
            Question { path: source.path.as_bstr(), commit: Some(parent), ranges: &ranges, ignores_whitespace: false };
        let blamed = self.context.repo.blame(&question)?;
        let found = self.owners(&blamed)?;
        for (line, recorded) in blamed.iter().zip(found) {
            for at in places.get(&line.line).into_iter().flatten() {
                owners[*at] = recorded;
            }
        }
        Ok(())
    }
}

/// Returns, for each line of `after` that was not newly written, the line of `before` that it comes from. Both count
/// from 1.
fn origins(before: &[u8], after: &[u8]) -> HashMap<u32, u32> {
    let carrier = AuthorId::MAX;
    let count = u32::try_from(before.lines_with_terminator().count()).unwrap_or(u32::MAX);
    let one = |line: u32| Span { start: line, end: line, owner: Owner::Author(line) };
    let spans: Vec<Span> = (1..=count).map(one).collect();
    let steps = line_edits::step_edits;
    let carried = carry(&Differ::new(&steps, &steps), &spans, before, after, carrier);
    let mut origins = HashMap::new();
    for span in carried {
        if let Owner::Author(origin) = span.owner
            && origin != carrier
        {
            origins.extend((span.start..=span.end).map(|line| (line, origin)));
        }
    }
    origins
}

/// Joins lines, in order, into ranges for `-L`.
pub(crate) fn ranges(lines: impl Iterator<Item = u32>) -> Vec<String> {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for line in lines {
        match ranges.last_mut() {
            Some((_, end)) if *end + 1 == line => *end = line,
            _ => ranges.push((line, line)),
        }
    }
    ranges.into_iter().map(|(start, end)| format!("{start},{end}")).collect()
}
