//! Searches records, our own and those that were fetched: notes, messages of commits, prompts, paths, names, changed lines.

use std::collections::HashMap;

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::{
    content,
    hit::{Hit, Kind},
    options::{Options, Search},
};
use crate::{
    error::{Error, Kind as ErrorKind, Result},
    git::{Repo, pathspec::Pathspec},
    model::{
        contributor::Contributor,
        hit::{Excerpt, Field},
        path_text,
        record::{Prompt, Record, RecordId, SessionPart},
    },
    ops::{
        Context,
        records::{Log, Texts, prompts_in},
    },
};

/// A match in a record.
struct Found {
    field: Field,
    excerpt: Excerpt,
    /// The number of the session, and the prompt.
    prompt: Option<(usize, Prompt)>,
    path: Option<String>,
}

impl Found {
    fn new(field: Field, excerpt: Excerpt) -> Self {
        Self { field, excerpt, prompt: None, path: None }
    }
}

/// Adds the records that match to `found`. Returns the errors of notes that cannot be read.
pub(super) fn search(
    context: &Context,
    options: &Options,
    search: &Search,
    found: &mut Vec<Hit>,
) -> Result<Vec<Error>> {
    let (repo, mut broken) = (&context.repo, Vec::new());
    let log = Log::open(repo)?;
    let wants_notes = search.wants(Field::Note);
    let notes = if wants_notes { noted(repo, log.as_ref(), search, &mut broken)? } else { HashMap::new() };
    let Some(log) = log else { return Ok(broken) };
    let mut pathspec = repo.pathspec(&options.paths)?;
    for stored in log.stored()? {
        context.check_interrupt()?;
        // A damaged one is no hit: `doctor` names it.
        let texts = match stored.texts(repo, search.wants(Field::Prompt)) {
            Err(error) if error.kind() == ErrorKind::Corrupt => continue,
            texts => texts?,
        };
        let note = notes.get(&stored.id).map(|excerpt| Found::new(Field::Note, excerpt.clone()));
        let hit = note.map_or_else(|| first(repo, &texts, search, options, &mut pathspec), |note| Ok(Some(note)))?;
        let Some(hit) = hit else { continue };
        let Some(record) = texts.record().filter(|record| passes(record, options, &mut pathspec)) else { continue };
        let session = hit.prompt.as_ref().and_then(|(number, _)| record.sessions.get(*number));
        let session = session.or_else(|| record.sessions.iter().find(|part| is_of(options, part)));
        let turns = record.sessions.iter().flat_map(|part| part.turns.iter().map(|turn| (part.id.clone(), *turn)));
        found.push(Hit {
            turns: turns.collect(),
            kind: Kind::Record,
            id: record.id.to_string(),
            field: hit.field,
            session: session.map(|part| part.id.clone()),
            turn: hit.prompt.as_ref().map(|(_, prompt)| prompt.turn),
            agent: session.and_then(|part| part.agent.clone()),
            commit: Some(record.commit),
            remote: stored.remote,
            path: hit.path,
            ..Hit::new((record.seconds, 0), hit.excerpt)
        });
    }
    Ok(broken)
}

/// Returns the records with notes that match.
fn noted(
    repo: &Repo,
    log: Option<&Log<'_>>,
    search: &Search,
    broken: &mut Vec<Error>,
) -> Result<HashMap<RecordId, Excerpt>> {
    let mut found = HashMap::new();
    let Some(notes) = unless_broken(repo.notes(), broken)? else { return Ok(found) };
    for (commit, _) in notes.all() {
        let text = unless_broken(notes.text(&commit), broken)?.flatten();
        let Some(excerpt) = text.and_then(|text| search.query.find(text.as_bytes())) else { continue };
        for id in log.map_or(Ok(Vec::new()), |log| log.of_commit(commit))? {
            found.insert(id, excerpt.clone());
        }
    }
    Ok(found)
}

/// Returns what was read; none, with the error in `broken`, if it is damaged.
fn unless_broken<T>(read: Result<T>, broken: &mut Vec<Error>) -> Result<Option<T>> {
    match read {
        Err(error) if error.kind() == ErrorKind::Corrupt => {
            broken.push(error);
            Ok(None)
        }
        read => read.map(Some),
    }
}

/// Returns the first match in a record but for notes, as far as fields are wanted.
fn first(
    repo: &Repo,
    texts: &Texts,
    search: &Search,
    options: &Options,
    pathspec: &mut Pathspec<'_>,
) -> Result<Option<Found>> {
    let query = &search.query;
    let commit = texts.commit();
    if let Some(commit) = commit.filter(|_| search.wants(Field::Subject))
        && let Some(excerpt) = message_of(repo, commit).and_then(|message| query.find(&message))
    {
        return Ok(Some(Found::new(Field::Subject, excerpt)));
    }
    // The prompts of a commit are of all its sessions.
    let is_one_wanted = options.session.is_some() || options.agent.is_some();
    let sessions = if is_one_wanted { texts.record().map(|record| record.sessions) } else { None };
    let is_wanted = |number: usize| {
        !is_one_wanted || sessions.as_ref().is_some_and(|all| all.get(number).is_some_and(|part| is_of(options, part)))
    };
    for (number, text) in texts.prompts.iter().filter(|(_, text)| query.may_be_in_toml(text)) {
        if !is_wanted(*number) {
            continue;
        }
        let mut prompts = prompts_in(text).into_iter().rev();
        if let Some((prompt, excerpt)) = prompts.find_map(|it| query.find(it.text.as_bytes()).map(|found| (it, found)))
        {
            return Ok(Some(Found { prompt: Some((*number, prompt)), ..Found::new(Field::Prompt, excerpt) }));
        }
    }
    if let Some(commit) = commit.filter(|_| search.content.is_some())
        && repo.is_commit(commit).unwrap_or(false)
        && let Some((path, excerpt)) = in_changes(repo, commit, search, pathspec)?
    {
        let path = Some(path_text::escape(path.as_bstr()));
        return Ok(Some(Found { path, ..Found::new(Field::Content, excerpt) }));
    }
    if !(search.wants(Field::Path) || search.wants(Field::Record)) || !query.may_be_in_toml(&texts.record) {
        return Ok(None);
    }
    let Some(record) = texts.record() else { return Ok(None) };
    if search.wants(Field::Path)
        && let Some((file, excerpt)) = record.files.iter().find_map(|file| Some((file, query.find(&file.path)?)))
    {
        let path = Some(path_text::escape(file.path.as_bstr()));
        return Ok(Some(Found { path, ..Found::new(Field::Path, excerpt) }));
    }
    let names = record.sessions.iter().flat_map(|it| [Some(&it.id), it.agent.as_ref(), it.model.as_ref()]).flatten();
    let mut names = std::iter::once(record.id.to_string()).chain(names.cloned());
    let named = names.find_map(|name| query.find(name.as_bytes())).filter(|_| search.wants(Field::Record));
    Ok(named.map(|excerpt| Found::new(Field::Record, excerpt)))
}

/// Returns the first change of `commit` that matches. Of a commit whose parent this clone lacks, or that is damaged, nothing is found.
fn in_changes(
    repo: &Repo,
    commit: ObjectId,
    search: &Search,
    pathspec: &mut Pathspec<'_>,
) -> Result<Option<(BString, Excerpt)>> {
    let changes = || {
        let before = match repo.written_parents_of(commit)?.first() {
            Some(parent) if !repo.has_object(*parent) => return Ok(Vec::new()),
            Some(parent) => repo.tree_of_commit(*parent)?,
            None => repo.empty_tree_id(),
        };
        repo.diff_trees(before, repo.tree_of_commit(commit)?)
    };
    match changes() {
        Err(error) if error.kind() == ErrorKind::Corrupt => Ok(None),
        changes => content::find(repo, changes?, search, pathspec),
    }
}

fn message_of(repo: &Repo, commit: ObjectId) -> Option<Vec<u8>> {
    repo.with_commit(commit, |commit| commit.message.to_vec()).ok()
}

/// Returns true if `part` is of the session and the agent that are wanted.
fn is_of(options: &Options, part: &SessionPart) -> bool {
    let is_named = |name: &String| part.agent.as_ref().is_some_and(|agent| agent.eq_ignore_ascii_case(name));
    options.session.as_ref().is_none_or(|session| *session == part.id) && options.agent.as_ref().is_none_or(is_named)
}

fn passes(record: &Record, options: &Options, pathspec: &mut Pathspec<'_>) -> bool {
    let counts = record.counts;
    let wants_any = options.session.is_none() && options.agent.is_none();
    (wants_any || record.sessions.iter().any(|part| is_of(options, part)))
        && options.since.is_none_or(|since| record.seconds >= since)
        && options.until.is_none_or(|until| record.seconds <= until)
        && (pathspec.is_empty() || record.files.iter().any(|file| pathspec.matches(file.path.as_bstr())))
        && options.owner.is_none_or(|owner| match owner {
            Contributor::Agent => counts.agent + counts.mixed > 0,
            Contributor::Human => counts.human + counts.mixed > 0,
            Contributor::Unknown => counts.unknown > 0,
        })
}
