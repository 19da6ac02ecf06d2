//! Who wrote each line of a file: git's blame, with the authors that the records of the commits name.

mod elsewhere;
mod search;

use std::collections::HashMap;

use bstr::{BStr, BString, ByteSlice as _};
use gix::ObjectId;
use serde::Serialize;

use self::search::Search;
pub(crate) use self::search::ranges;
use super::{
    Context,
    attribution::{Who, uncommitted, who},
    records::Log,
};
use crate::{
    error::{Error, Kind as ErrorKind, Result},
    git::{
        Repo,
        blame::{Blamed, Question},
    },
    model::{
        attribution::kind::Kind,
        id_text, path_text,
        record::{Record, RecordId},
    },
};

/// What to look at.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
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
pub(crate) struct Blame {
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
    /// The errors of unreadable records.
    #[serde(skip)]
    pub troubles: Vec<String>,
    /// The records without content here that lines may be of.
    #[serde(skip)]
    pub lacking: Vec<RecordId>,
}

/// Lines of one commit and owner.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct BlamedLines {
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
    /// The remote that the record which names the author was fetched from; none if this clone has made it, or there is none.
    pub record_remote: Option<String>,
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

/// Returns the blame that `options` describe.
///
/// # Errors
/// If there is no such commit, path or range.
pub(crate) fn blame(context: &Context, options: &Options) -> Result<Blame> {
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
    let mut search = Search::new(context)?;
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
                record_remote: None,
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
    let are_turns_known = rev.is_some() || context.are_turns_known();
    name_remotes(&context.repo, &mut lines)?;
    let troubles = search.reader.troubles().to_vec();
    let lacking = search.reader.lacking();
    Ok(Blame { version: 1, rev, path: options.path.clone(), lines, are_turns_known, troubles, lacking })
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

/// Says of each group of `lines` which remote the record comes from that names its author.
fn name_remotes(repo: &Repo, lines: &mut [BlamedLines]) -> Result<()> {
    // Where the log is damaged, the authors are unknown.
    let Some(log) = Log::open(repo).ok().flatten().filter(Log::is_with_fetched) else { return Ok(()) };
    let mut known: HashMap<(ObjectId, Option<String>), Option<String>> = HashMap::new();
    for group in lines.iter_mut().filter(|group| group.who.owner != Kind::Unknown) {
        let Some(commit) = group.recorded_by else { continue };
        let key = (commit, group.who.session.clone());
        if !known.contains_key(&key) {
            let record = naming(&log, commit, key.1.as_deref(), None)?;
            let remote = record.map(|(record, _)| log.remote_of(&record.id)).transpose()?.flatten();
            known.insert(key.clone(), remote);
        }
        group.record_remote.clone_from(&known[&key]);
    }
    Ok(())
}

/// Returns the record of `commit` that names `session`, best with its `turn`, and which of its sessions that is; if none does, the first
/// record of the commit.
pub(crate) fn naming(
    log: &Log<'_>,
    commit: ObjectId,
    session: Option<&str>,
    turn: Option<u32>,
) -> Result<Option<(Record, Option<usize>)>> {
    // A whole record has no prompts: those are in the records that it was made of.
    let rank = |(record, at): &(Record, Option<usize>)| {
        let part = at.and_then(|at| record.sessions.get(at));
        (part.is_some(), part.is_some_and(|part| turn.is_some_and(|turn| part.turns.contains(&turn))), !record.is_whole)
    };
    let mut best: Option<(Record, Option<usize>)> = None;
    for id in log.of_commit_or_change(commit)? {
        let Some(record) = log.find(&id).ok().flatten() else { continue };
        let at = session.and_then(|session| record.sessions.iter().position(|part| part.id == session));
        let found = (record, at);
        if best.as_ref().is_none_or(|best| rank(&found) > rank(best)) {
            best = Some(found);
        }
    }
    Ok(best)
}
