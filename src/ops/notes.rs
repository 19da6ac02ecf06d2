//! Notes: text that a person adds to a checkpoint, or to a commit with a record, as git-notes(1) adds it to commits.
//!
//! A note on a commit is one on its records: it is found through every commit that has one of them, so that it survives what a record
//! survives.

use std::collections::{BTreeSet, HashMap};

use gix::{ObjectId, objs::Kind as ObjectKind};
use serde::Serialize;

use super::{Context, Worktree, called::called, enter::Purpose, lookup, records::Log, retried::retried};
use crate::{
    error::{Error, Kind, Result},
    git::{
        Repo,
        new_objects::{NewObjects, Target as StoreAs},
        notes::{Notes, Writer},
    },
    model::{
        id_text, moment,
        note::{MOST_BYTES, REMOVED, WRITTEN},
        record::{Record, RecordId},
        redact::redact,
        refname, shared,
    },
    state::failpoint,
};

/// A note, with who has written it. Serializes to what `note --json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Listed {
    /// The version of the JSON format.
    pub(crate) version: u32,
    /// The checkpoint or commit that it is stored for.
    #[serde(serialize_with = "id_text::serialize")]
    pub(crate) id: ObjectId,
    /// What that is.
    pub(crate) kind: Noted,
    /// The records that the commit has.
    pub(crate) records: Vec<RecordId>,
    /// What the checkpoint is called, or the first line of the commit's message; none if it is not here.
    pub(crate) subject: Option<String>,
    /// The text.
    pub(crate) note: String,
    /// Who has written it.
    #[serde(flatten)]
    pub(crate) written: Written,
}

/// What has a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Noted {
    /// A checkpoint.
    Checkpoint,
    /// Another commit, which may be one that is not here.
    Commit,
}

/// Who has written a note, and when; both are unknown if the commits that say it cannot be read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Written {
    /// The name and the address.
    pub author: Option<String>,
    /// When, in ISO 8601.
    pub time: Option<String>,
    /// The same in seconds since 1970, with the offset from UTC.
    #[serde(skip)]
    pub(crate) moment: Option<(i64, i32)>,
}

impl Written {
    fn by(writer: Option<&Writer>) -> Self {
        let author = writer.map(|it| format!("{} <{}>", it.who.name, it.who.email));
        let moment = writer.map(|it| (it.seconds, it.offset));
        Self { author, time: moment.map(|(seconds, offset)| moment::iso(seconds, offset)), moment }
    }
}

/// A note on a commit, as it is shown with that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShownNote {
    /// The checkpoint or commit that it is stored for.
    #[serde(serialize_with = "id_text::serialize")]
    pub id: ObjectId,
    /// The text.
    pub note: String,
    /// Who has written it.
    #[serde(flatten)]
    pub written: Written,
}

/// When a note may be written over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    /// Never.
    Nothing,
    /// Always.
    Anything,
    /// If it is still this blob; none: if there is still none.
    Known(Option<ObjectId>),
}

/// What became of a note. Serializes to what `note -m --json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Changed {
    /// The version of the JSON format.
    pub(crate) version: u32,
    /// The checkpoint or commit that it is stored for.
    #[serde(serialize_with = "id_text::serialize")]
    pub(crate) id: ObjectId,
    /// What that is.
    pub(crate) kind: Noted,
    /// The note as it is now; none if there is none.
    pub(crate) note: Option<String>,
    /// What it was.
    pub(crate) previous: Option<String>,
    /// True if a secret in it was replaced.
    pub(crate) redacted: bool,
}

/// What a note may be stored for.
struct Target {
    /// The one that was named.
    id: ObjectId,
    kind: Noted,
    /// Those that it may be found at, the one that was named first.
    ids: Vec<ObjectId>,
}

impl Target {
    /// Returns what `text` names: a record, a checkpoint, or a commit with a record.
    fn find(context: &Context, text: &str) -> Result<Self> {
        let repo = &context.repo;
        let log = Log::open(repo)?;
        if let (Some(log), Some(id)) = (&log, RecordId::parse(text))
            && let Some(record) = log.find(&id)?
        {
            let (id, ids) = (record.commit, commits_of(log, &record)?);
            return Ok(Self { id, kind: Noted::Commit, ids });
        }
        let id = lookup::resolve(context, text)?;
        if repo.find_checkpoint(id)?.is_some() {
            return Ok(Self { id, kind: Noted::Checkpoint, ids: vec![id] });
        }
        // Says what is wrong with it.
        if !repo.can_read(id) {
            lookup::checkpoint(context, id)?;
        }
        let (ids, has_record) = ids_of_commit(log.as_ref(), id)?;
        if !has_record {
            let short = repo.short_id(&id);
            return Err(Error::user(format!("the commit {short} has no record"))
                .with_hint(format!("'git notes add {short}' adds a note to any commit")));
        }
        Ok(Self { id, kind: Noted::Commit, ids })
    }

    /// Returns where the note is, or is to be.
    fn place(&self, notes: &Notes<'_>) -> ObjectId {
        self.ids.iter().copied().find(|id| notes.blob(id).is_some()).unwrap_or(self.id)
    }
}

/// Returns the commits that have the `record`, the one that it was made for first.
fn commits_of(log: &Log<'_>, record: &Record) -> Result<Vec<ObjectId>> {
    let mut ids = vec![record.commit];
    ids.extend(log.links(&record.id)?.into_iter().map(|link| link.commit).filter(|id| *id != record.commit));
    Ok(ids)
}

/// Returns `commit` and all that have one of its records, and whether it has one.
fn ids_of_commit(log: Option<&Log<'_>>, commit: ObjectId) -> Result<(Vec<ObjectId>, bool)> {
    let (mut ids, mut has_record) = (vec![commit], false);
    let Some(log) = log else { return Ok((ids, false)) };
    for id in log.of_commit_or_change(commit)? {
        has_record = true;
        // Of a damaged one, at least the note that is stored for the commit itself.
        let record = match log.find(&id) {
            Err(error) if error.kind() == Kind::Corrupt => None,
            record => record?,
        };
        let Some(record) = record else { continue };
        for other in commits_of(log, &record)? {
            if !ids.contains(&other) {
                ids.push(other);
            }
        }
    }
    Ok((ids, has_record))
}

/// Returns the note of what `text` names, and where it is or would be stored.
///
/// # Errors
/// As [`lookup::resolve`], and if it is a commit without a record.
pub(crate) fn read(context: &Context, text: &str) -> Result<(Option<Listed>, ObjectId)> {
    let (target, notes) = (Target::find(context, text)?, context.repo.notes()?);
    let id = target.place(&notes);
    let note = listed(context, &notes, Some(id))?.into_iter().next();
    Ok((note, id))
}

/// Returns the blob of the note of what `text` names, and its text.
///
/// # Errors
/// As [`read`]; [`Kind::User`] if the note cannot be changed as a text.
pub(crate) fn stored(context: &Context, text: &str) -> Result<(Option<ObjectId>, Option<String>)> {
    let (target, notes) = (Target::find(context, text)?, context.repo.notes()?);
    let id = target.place(&notes);
    let Some(blob) = notes.blob(&id) else { return Ok((None, None)) };
    let refused = |what: &str| {
        let short = context.repo.short_id(&id);
        Error::user(format!("the note of {short} {what}"))
            .with_hint(format!("'git checkpoint note {short} -f -F <file>' writes over it"))
    };
    if context.repo.object_size(blob)?.is_some_and(|size| size > MOST_BYTES) {
        return Err(refused("is too large to be edited"));
    }
    let text = String::from_utf8(context.repo.read_blob(blob)?).map_err(|_| refused("is no text in UTF-8"))?;
    Ok((Some(blob), Some(text)))
}

/// Returns all notes, the latest first.
pub(crate) fn list(context: &Context) -> Result<Vec<Listed>> {
    let mut notes = listed(context, &context.repo.notes()?, None)?;
    notes.sort_by_key(|note| std::cmp::Reverse(note.written.moment.map(|(seconds, _)| seconds)));
    Ok(notes)
}

fn listed(context: &Context, notes: &Notes<'_>, only: Option<ObjectId>) -> Result<Vec<Listed>> {
    let (repo, log) = (&context.repo, Log::open(&context.repo)?);
    let ids: BTreeSet<ObjectId> =
        notes.all().map(|(id, _)| id).filter(|id| only.is_none_or(|only| only == *id)).collect();
    let writers = notes.writers(&ids)?;
    let mut found = Vec::new();
    for id in ids {
        context.check_interrupt()?;
        let Some(note) = notes.text(&id)? else { continue };
        let checkpoint = if repo.can_read(id) { repo.find_checkpoint(id).ok().flatten() } else { None };
        let records = match (&checkpoint, &log) {
            (None, Some(log)) => log.of_commit(id)?,
            _ => Vec::new(),
        };
        let of_commit = || repo.message_of(id).ok()?.lines().next().map(str::to_owned);
        let kind = if checkpoint.is_some() { Noted::Checkpoint } else { Noted::Commit };
        let subject = checkpoint.map(|it| called(repo, &it)).or_else(|| repo.can_read(id).then(of_commit).flatten());
        let written = Written::by(writers.get(&id));
        found.push(Listed { version: 1, id, kind, records, subject, note, written });
    }
    Ok(found)
}

/// Writes `note` for what `text` names; if it is empty, or none is given, removes the note there.
///
/// # Errors
/// As [`read`]; [`Kind::User`] if the note is too large or no text, or if there is one that must not be written over.
pub(crate) fn write(context: &Context, text: &str, note: Option<&[u8]>, over: Over) -> Result<Changed> {
    let repo = &context.repo;
    let (note, redacted) = note.map_or(Ok((Vec::new(), false)), |note| cleaned(context, note))?;
    Target::find(context, text)?;
    repo.name_operation("note");
    // If HEAD has moved, `@` is another checkpoint than before.
    let _worktree = Worktree::enter(context, Purpose::Change)?;
    let target = Target::find(context, text)?;
    retried(|| {
        let mut notes = repo.notes()?;
        let id = target.place(&notes);
        let (blob, previous) = (notes.blob(&id), notes.text(&id)?);
        match over {
            Over::Nothing if blob.is_some() => return Err(exists(repo, id)),
            Over::Known(known) if known != blob => {
                return Err(Error::refused(format!("the note of {} has changed meanwhile", repo.short_id(&id))));
            }
            _ => {}
        }
        let mut objects = NewObjects::new(repo, StoreAs::Loose);
        let new = if note.is_empty() { None } else { Some(objects.add(ObjectKind::Blob, &note)?) };
        let by = (repo.identity(), repo.now());
        notes.edit(&[(id, new)], by, if new.is_some() { WRITTEN } else { REMOVED }, &mut objects)?;
        let written = objects.write()?;
        failpoint::hit("note:before-refs");
        repo.update_refs(&Vec::from_iter(notes.update()))?;
        failpoint::hit("note:after-refs");
        written.check_and_release()?;
        let text = notes.blob(&id).map(|_| String::from_utf8_lossy(&note).into_owned());
        Ok(Changed { version: 1, id, kind: target.kind, note: text, previous, redacted })
    })
}

/// Returns true if `error` says that there is a note already.
pub(crate) fn is_there_already(error: &Error) -> bool {
    error.kind() == Kind::User && error.message().contains(ALREADY)
}

const ALREADY: &str = " has a note already";

fn exists(repo: &Repo, id: ObjectId) -> Error {
    let short = repo.short_id(&id);
    Error::user(format!("{short}{ALREADY}"))
        .with_hint(format!("'git checkpoint note {short}' shows it; '-f' writes over it, '--edit' changes it"))
}

/// Returns `note` as it may be stored, and whether a secret in it was replaced.
fn cleaned(context: &Context, note: &[u8]) -> Result<(Vec<u8>, bool)> {
    if note.len() as u64 > MOST_BYTES {
        return Err(Error::user("the note is too large").with_hint("a note may have 1 MiB"));
    }
    if std::str::from_utf8(note).is_err() || note.contains(&0) {
        return Err(Error::user("the note is no text in UTF-8").with_hint("iconv(1) converts other encodings"));
    }
    // As git-notes(1): no blanks at the ends of lines, and no empty lines but single ones between others.
    let stripped: Vec<u8> = context.repo.run_git(&["stripspace"], Some(note))?.into();
    if !context.settings.transcript.redact {
        return Ok((stripped, false));
    }
    let redacted = redact(stripped.clone());
    let is_other = redacted != stripped;
    Ok((redacted, is_other))
}

/// Returns true if the ref `there` of a remote or a file has notes.
fn is_notes_there(there: &str) -> bool {
    there == refname::NOTES || refname::shared_note_id(there).is_some()
}

/// The notes, for readers that show them beside something else. Nothing can be read of damaged ones.
pub(crate) struct Reader<'r> {
    repo: &'r Repo,
    notes: Option<Notes<'r>>,
    /// Those that were fetched or imported.
    others: Vec<Notes<'r>>,
}

impl<'r> Reader<'r> {
    /// Reads which notes there are.
    pub(crate) fn new(repo: &'r Repo) -> Result<Self> {
        let readable = |notes: Result<Notes<'r>>| match notes {
            Err(error) if error.kind() == Kind::Corrupt => {
                tracing::warn!(%error, "the notes cannot be read");
                Ok(None)
            }
            notes => notes.map(Some),
        };
        let mut others = Vec::new();
        for (name, tip) in repo.refs_below(refname::FETCHED)? {
            if refname::fetched_ref(&name).is_some_and(|(_, there)| is_notes_there(&there)) {
                others.extend(readable(Notes::at(repo, Some(tip)))?);
            }
        }
        Ok(Self { repo, notes: readable(repo.notes())?, others })
    }

    /// Returns the note for `id`.
    pub(crate) fn text(&self, id: &ObjectId) -> Option<String> {
        self.notes.as_ref()?.text(id).ok().flatten()
    }

    /// Returns the notes for `ids`, with who has written them: our own first, then those of others that say something else.
    pub(crate) fn shown(&self, ids: &[ObjectId]) -> Result<Vec<ShownNote>> {
        let mut all: Vec<ShownNote> = Vec::new();
        for notes in self.notes.iter().chain(&self.others) {
            let known: Vec<ObjectId> = ids.iter().copied().filter(|id| notes.blob(id).is_some()).collect();
            let writers =
                if known.is_empty() { HashMap::new() } else { notes.writers(&known.iter().copied().collect())? };
            for id in known {
                let Some(note) = notes.text(&id).ok().flatten() else { continue };
                if !all.iter().any(|it| it.id == id && it.note == note) {
                    all.push(ShownNote { id, note, written: Written::by(writers.get(&id)) });
                }
            }
        }
        Ok(all)
    }

    /// Returns the notes for all commits that have the `record`.
    pub(crate) fn of_record(&self, log: &Log<'_>, record: &Record) -> Result<Vec<ShownNote>> {
        self.shown(&commits_of(log, record)?)
    }

    /// Returns the notes for `commit` and for all that have one of its records.
    pub(crate) fn of_commit(&self, commit: ObjectId) -> Result<Vec<ShownNote>> {
        let log = match Log::open(self.repo) {
            Err(error) if error.kind() == Kind::Corrupt => None,
            log => log?,
        };
        let mut ids = ids_of_commit(log.as_ref(), commit)?.0;
        // It may carry a checkpoint of another clone, which has the note.
        ids.extend(self.repo.message_of(commit).ok().and_then(|message| shared::id_in(&message)));
        self.shown(&ids)
    }
}
