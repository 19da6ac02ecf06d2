//! Who wrote each line of a file: git's blame, with the authors that the records of the commits name.

use std::collections::{BTreeMap, HashMap};

use bstr::{BStr, BString, ByteSlice as _};
use gix::ObjectId;
use serde::Serialize;

use super::{
    Context,
    attribution::{Reader, Text, Who, uncommitted, who},
};
use crate::{
    error::{Error, Kind as ErrorKind, Result},
    git::{
        blame::{Blamed, Question},
        line_edits,
    },
    model::{
        attribution::{AuthorId, Differ, Owner, Span, carry::carry},
        change::Change,
        contributor::Contributor,
        id_text, path_text,
        record::RecordId,
    },
    state,
};

/// How often git is asked where lines that were only moved or reformatted came from.
const MOST_QUESTIONS: usize = 32;

/// What to look at.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The path relative to the worktree's root.
    pub path: BString,
    /// A commit; none for the worktree.
    pub rev: Option<String>,
    /// Only these lines, as `git blame -L` takes them.
    pub ranges: Vec<String>,
    /// Whether changes of blanks are looked through.
    pub ignores_whitespace: bool,
}

/// The lines with their authors. Serializes to what `blame --json` prints.
#[derive(Clone, Debug, Serialize)]
pub struct Blame {
    /// The version of the JSON format.
    pub version: u32,
    /// The commit; none for the worktree.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub rev: Option<ObjectId>,
    /// The path.
    #[serde(flatten, serialize_with = "path_text::serialize_fields")]
    pub path: BString,
    /// The lines, in order; neighbours of one commit and owner together.
    pub lines: Vec<BlamedLines>,
    /// False if it is not known which turns are open, so that lines that no checkpoint has have an unknown author.
    #[serde(skip)]
    pub are_turns_known: bool,
}

/// Lines of one commit and owner.
#[derive(Clone, Debug, Serialize)]
pub struct BlamedLines {
    /// The first, from 1.
    pub start: u32,
    /// The last.
    pub end: u32,
    /// The commit; none if they are not committed yet.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub commit: Option<ObjectId>,
    /// Their author.
    #[serde(flatten)]
    pub who: Who,
    /// The first line's number in the commit.
    #[serde(skip)]
    pub original: u32,
    /// The path in the commit.
    #[serde(skip)]
    pub original_path: BString,
    /// The commit's author.
    #[serde(skip)]
    pub author: BString,
    /// When it was written, in Unix seconds.
    #[serde(skip)]
    pub authored: i64,
    /// When it was committed, in Unix seconds.
    #[serde(skip)]
    pub(crate) committed: i64,
    /// The bytes of each line, without line feed.
    #[serde(skip)]
    pub contents: Vec<BString>,
    /// The commit whose record names the owner: an older one if the lines were only moved or formatted since.
    #[serde(skip)]
    pub(crate) recorded_by: Option<ObjectId>,
}

/// Returns the blame that `options` ask for.
///
/// # Errors
/// If there is no such commit, path or range.
pub fn blame(context: &Context, options: &Options) -> Result<Blame> {
    let repo = &context.repo;
    let rev = match &options.rev {
        Some(text) => Some(repo.find_commit(text)?.ok_or_else(|| {
            Error::user(format!("no commit matches '{text}'")).with_hint("'git log' shows the commits")
        })?),
        None => None,
    };
    let question = Question {
        path: options.path.as_bstr(),
        commit: rev,
        ranges: &options.ranges,
        ignores_whitespace: options.ignores_whitespace,
    };
    let blamed = match repo.blame(&question) {
        Err(error) if rev.is_none() && error.kind() == ErrorKind::User => {
            let mut lines = new_file(context, options.path.as_bstr())?.ok_or(error)?;
            if !options.ranges.is_empty() {
                let ranges: Vec<(u32, u32)> =
                    options.ranges.iter().map(|text| plain_range(text, &lines)).collect::<Result<_>>()?;
                lines.retain(|line| ranges.iter().any(|(start, end)| (*start..=*end).contains(&line.line)));
            }
            lines
        }
        other => other?,
    };
    let mut search = Search {
        context,
        reader: Reader::new(context)?,
        known: HashMap::new(),
        worktree: HashMap::new(),
        questions: 0,
    };
    let owners = search.owners(&blamed)?;
    let authors = &search.reader.authors.list;
    let mut lines: Vec<BlamedLines> = Vec::new();
    for (line, (owner, recorded_by)) in blamed.into_iter().zip(owners) {
        let who = who(owner, authors);
        match lines.last_mut() {
            Some(last)
                if (last.commit, last.recorded_by) == (line.commit, recorded_by)
                    && last.who == who
                    && last.end + 1 == line.line
                    && last.original_path == line.path
                    && last.original + (line.line - last.start) == line.original =>
            {
                last.end = line.line;
                last.contents.push(line.content);
            }
            _ => lines.push(BlamedLines {
                start: line.line,
                end: line.line,
                commit: line.commit,
                who,
                original: line.original,
                original_path: line.path,
                author: line.author,
                authored: line.authored,
                committed: line.committed,
                contents: vec![line.content],
                recorded_by,
            }),
        }
    }
    let are_turns_known = rev.is_some() || state::turns::is_known(repo.git_dir());
    Ok(Blame { version: 1, rev, path: options.path.clone(), lines, are_turns_known })
}

/// Parses a plain range for an uncommitted file: git does not blame such files, so it does not parse ranges of them.
fn plain_range(text: &str, lines: &[Blamed]) -> Result<(u32, u32)> {
    let unknown = || {
        Error::user(format!("the range '{text}' is not known in a file that is not committed yet"))
            .with_hint("'-L <first>,<last>' or '-L <first>,+<count>' names lines")
    };
    let number = |text: &str| {
        let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<u32>().ok().filter(|number| is_plain && *number > 0).ok_or_else(unknown)
    };
    let (first, last) = text.split_once(',').unwrap_or((text, ""));
    if first.is_empty() && last.is_empty() {
        return Err(unknown());
    }
    let start = if first.is_empty() { 1 } else { number(first)? };
    let end = match (last.strip_prefix('+'), last.strip_prefix('-')) {
        _ if last.is_empty() => u32::MAX,
        (Some(count), _) => start.saturating_add(number(count)? - 1),
        (_, Some(count)) => start.saturating_sub(number(count)? - 1).max(1),
        _ => number(last)?,
    };
    let (start, end) = (start.min(end), start.max(end));
    match lines.last() {
        Some(line) if start > line.line => {
            let lines = if line.line == 1 { "line" } else { "lines" };
            Err(Error::user(format!("file {} has only {} {lines}", line.path, line.line)))
        }
        _ => Ok((start, end)),
    }
}

/// Returns the lines of an uncommitted new file; none if the path is no such file.
fn new_file(context: &Context, path: &BStr) -> Result<Option<Vec<Blamed>>> {
    let found = uncommitted(context, path)?;
    let Some((file, Some(text))) = found.work.files.iter().zip(&found.texts).next() else { return Ok(None) };
    let is_new = file.change.before.is_none() || file.change.old_path.is_some();
    if !is_new || file.change.after.is_none() {
        return Ok(None);
    }
    let lines = (1..).zip(text.after.lines_with_terminator()).map(|(number, line)| Blamed {
        commit: None,
        path: path.to_owned(),
        original: number,
        line: number,
        author: "Not Committed Yet".into(),
        authored: 0,
        committed: 0,
        content: line.strip_suffix(b"\n").unwrap_or(line).into(),
    });
    Ok(Some(lines.collect()))
}

/// An owner, and the commit whose record names it.
type SessionInfo = (Owner, Option<ObjectId>);

/// A file in a commit, or in the worktree.
type Place = (Option<ObjectId>, BString);

/// The attribution of a file in a commit.
enum Known {
    /// All lines have the same owner.
    All(Owner),
    Views(Box<super::attribution::BlobOwners>),
    Spans(crate::model::attribution::FileOwnership),
}

struct Search<'c> {
    context: &'c Context,
    reader: Reader<'c>,
    known: HashMap<Place, Known>,
    /// How uncommitted files were changed, and their contents.
    worktree: HashMap<BString, (Change, Text)>,
    questions: usize,
}

impl Search<'_> {
    fn owners(&mut self, lines: &[Blamed]) -> Result<Vec<SessionInfo>> {
        let mut owners = Vec::with_capacity(lines.len());
        // Lines that are older than the commit that git names, but were moved or reformatted.
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
        for ((commit, path), wanted) in older {
            self.follow(commit, path.as_bstr(), &wanted, &mut owners)?;
        }
        let unknown = Owner::Author(self.reader.authors.plain(Contributor::Unknown));
        owners.iter_mut().filter(|(owner, _)| *owner == Owner::Base).for_each(|(owner, _)| *owner = unknown);
        Ok(owners)
    }

    fn look_up(&mut self, line: &Blamed) -> Result<Known> {
        let Some(commit) = line.commit else {
            let found = uncommitted(self.context, line.path.as_bstr())?;
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
        Ok(match self.reader.blob_owners(commit, line.path.as_bstr(), line.committed)? {
            Ok(views) => Known::Views(Box::new(views)),
            Err(author) => Known::All(Owner::Author(author)),
        })
    }

    /// Finds the origin of lines of `commit`, or of the worktree, that were only moved or reformatted.
    fn follow(
        &mut self,
        commit: Option<ObjectId>,
        path: &BStr,
        wanted: &[(usize, u32)],
        owners: &mut [SessionInfo],
    ) -> Result<()> {
        let repo = &self.context.repo;
        let parent = match commit {
            Some(commit) => repo.parents_of(commit)?.first().copied(),
            None => repo.head()?.id,
        };
        let Some(parent) = parent else { return Ok(()) };
        let leaf = |commit| repo.find_leaf(repo.tree_of_commit(commit)?, path);
        let (was, before) = if let Some(before) = leaf(parent)? {
            (path.to_owned(), before)
        } else {
            let change = match commit {
                Some(commit) => self.reader.change_at(commit, path)?,
                None => self.worktree.get(path).map(|(change, _)| change.clone()),
            };
            let Some(Change { old_path: Some(was), before: Some(before), .. }) = change else { return Ok(()) };
            (was, before)
        };
        let after = match commit {
            Some(commit) => leaf(commit)?.map(|leaf| repo.read_blob(leaf.id)).transpose()?,
            None => self.worktree.get_mut(path).map(|(_, text)| std::mem::take(&mut text.after)),
        };
        let Some(after) = after.filter(|_| self.questions < MOST_QUESTIONS) else { return Ok(()) };
        self.questions += 1;
        let origins = origins(&repo.read_blob(before.id)?, &after);
        let mut places: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (at, line) in wanted {
            if let Some(origin) = origins.get(line) {
                places.entry(*origin).or_default().push(*at);
            }
        }
        if places.is_empty() {
            return Ok(());
        }
        let ranges: Vec<String> = ranges(places.keys().copied());
        let question =
            Question { path: was.as_bstr(), commit: Some(parent), ranges: &ranges, ignores_whitespace: false };
        let blamed = repo.blame(&question)?;
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
    let carried = carry(&Differ { steps: &steps, counted: &steps }, &spans, before, after, carrier);
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

/// Returns the records that name the authors of `lines`.
pub(crate) fn records_of(context: &Context, lines: &BlamedLines) -> Result<Vec<RecordId>> {
    match lines.recorded_by {
        Some(commit) => super::records::of_commit_or_change(&context.repo, commit),
        None => Ok(Vec::new()),
    }
}
