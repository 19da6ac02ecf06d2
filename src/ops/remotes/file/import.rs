//! `import`: brings what a file has beside our own, as a fetch from a remote does. Nothing of it comes into our own logs.
//!
//! The file is looked at as a whole before anything of it becomes part of the repository, and then all refs move at once.

use std::{
    collections::{BTreeSet, HashSet},
    fs::File,
    io::{BufReader, Read, Seek, SeekFrom},
};

use gix::ObjectId;
use serde::Serialize;

use super::{
    super::{
        fetch_shared::FetchedCheckpoint,
        fetch_tags::FetchedTag,
        follow::{FetchedRef, following, join_followed, updates},
        shape::check_log,
        shared::Checks,
        tracking::set_damaged_aside,
        wanted::Wanted,
    },
    contents::{Contents, refuse_without},
};
use crate::{
    error::{Error, Kind, Result},
    git::{
        Repo,
        bundle::{is_whole_pack, read_header},
        new_objects::{NewObjects, Target},
        notes::{Notes, Writer},
        received::Received,
        refs::RefUpdate,
        written::Written,
    },
    model::{
        bundle::{Header, LONGEST_HEADER, MANIFEST_FILE, is_of_other_version, other_use},
        log_place::Place,
        refname::{self, NOTES, tracking_ref},
    },
    ops::{Context, Worktree, enter::Purpose},
};

/// What to import, and as what.
#[derive(Clone, Debug, Default)]
pub(crate) struct ImportOptions {
    /// What is imported is called so.
    pub(crate) name: String,
    /// Change nothing.
    pub(crate) dry_run: bool,
}

/// What was imported. Serializes to what `import --json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Imported {
    version: u32,
    /// What it is called.
    pub(crate) name: String,
    pub(crate) dry_run: bool,
    /// The logs that the file has.
    pub(crate) refs: Vec<FetchedRef>,
    /// How many records are here that were not before.
    pub(crate) new_records: usize,
    /// The checkpoints that were not here.
    pub(crate) checkpoints: Vec<FetchedCheckpoint>,
    /// The tags that were not here, or named another checkpoint.
    pub(crate) tags: Vec<FetchedTag>,
    /// How many notes are new, or have another text.
    pub(crate) notes: usize,
    /// Refs with what was imported before that could not be read.
    pub(crate) damaged: Vec<String>,
}

/// The most bytes of a name.
const LONGEST_NAME: usize = 100;

/// Refuses a `name` for an import that could be taken for something else.
///
/// # Errors
/// If it has other characters than letters, digits and `_`, `+`, `.` and `-`, or does not begin with one of the first two.
pub(crate) fn check_name(name: &str) -> Result<()> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_+.-".contains(&byte);
    let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    if begins && name.len() <= LONGEST_NAME && name.bytes().all(is_plain) {
        return Ok(());
    }
    Err(Error::user(format!("'{name}' cannot be what an import is called"))
        .with_hint("'--as <name>' names it: letters, digits, '_', '+', '.' and '-'"))
}

/// Imports what `file` has, from where it is read.
///
/// # Errors
/// [`Kind::Refused`] if it is damaged or not of ours, if commits are missing that it needs, or if it would bring back what was purged
/// here. Then nothing has changed.
pub(crate) fn import(context: &Context, file: &mut File, options: &ImportOptions) -> Result<Imported> {
    check_name(&options.name)?;
    let repo = &context.repo;
    if repo.remote_names()?.contains(&options.name) {
        return Err(Error::user(format!("'{}' is a remote: what it has has this name", options.name))
            .with_hint("'--as <name>' calls what is imported something else"));
    }
    let mut reader = BufReader::new(file);
    let header = match read_header(&mut reader) {
        Err(error) => return Err(with_other_use(error, &mut reader)),
        Ok(header) => header,
    };
    if header.format != repo.object_hash() {
        return Err(Error::refused(format!(
            "its objects have ids of {}, and those of this repository of {}: they cannot be exchanged",
            header.format,
            repo.object_hash()
        )));
    }
    let contents = Contents::of(&header)?;
    let unreadable = |cause: std::io::Error| Error::user("it cannot be read").with_cause(cause);
    let pack = reader.stream_position().map_err(unreadable)?;
    if !is_whole_pack(&mut reader, header.format)? {
        return Err(Error::refused("it is damaged, or was cut off").with_hint("copy it, or export it, once more"));
    }
    refuse_without(repo, &header.prerequisites)?;
    reader.seek(SeekFrom::Start(pack)).map_err(unreadable)?;
    let received =
        repo.receive_pack(&mut reader).map_err(|error| error.with_message("its objects are refused".into()))?;
    let seen = received.beside(repo)?.ok_or_else(|| Error::internal("nothing has arrived"))?;
    check(context, &received, &seen, (&header, &contents))?;
    bring(context, received, &seen, &contents, options)
}

/// Adds to `error`, of a file that is no bundle, what else it is.
fn with_other_use(error: Error, file: &mut (impl Read + Seek)) -> Error {
    const BEGINNING: u64 = 512;
    let mut text = Vec::new();
    let read = file.rewind().and_then(|()| file.take(BEGINNING).read_to_end(&mut text));
    match other_use(&text).filter(|_| read.is_ok()) {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

/// Checks all that has arrived; `seen` has that, and our own objects.
fn check(context: &Context, received: &Received, seen: &Repo, (header, contents): (&Header, &Contents)) -> Result<()> {
    let repo = &context.repo;
    let export = contents.export.ok_or_else(|| Error::internal("the file says nothing of itself"))?;
    refuse_other_header(seen, export, header)?;
    let tips: Vec<ObjectId> = header.refs.iter().map(|(_, id)| *id).collect();
    repo.check_connected(received, &tips)?;
    for log in Wanted::all(repo, &contents.logs)? {
        let name = log.name;
        let refused = |error: Error| {
            let message = format!("'{name}' in it is refused: {}", error.message());
            error.with_message(message)
        };
        let mut borrowed = HashSet::new();
        log.borrowed(repo, seen, &mut borrowed).map_err(refused)?;
        // What is here for other reasons, such as the user's files, is no part of a log.
        for id in borrowed {
            if !seen.own_objects_have(id)? {
                return Err(refused(Error::refused(format!("it needs '{id}', which the file does not have"))));
            }
        }
    }
    if let Some(notes) = contents.notes {
        check_log(seen, Place::Notes, notes, &[], &mut |_| {}).map_err(|error| {
            let message = format!("the notes in it are refused: {}", error.message());
            error.with_message(message)
        })?;
    }
    let mut checks = Checks::new(seen);
    for (id, commit) in &contents.checkpoints {
        context.check_interrupt()?;
        checks.check(*commit, *id).map_err(|error| {
            let message = format!("the checkpoint {id} in it is refused: {}", error.message());
            error.with_message(message)
        })?;
    }
    Ok(())
}

/// Refuses a file whose header is not the one that it says it has: the checksum is of the objects alone.
fn refuse_other_header(seen: &Repo, export: ObjectId, header: &Header) -> Result<()> {
    let foreign = || Error::refused("it says nothing of itself that we could read");
    if !seen.is_commit(export)? {
        return Err(foreign());
    }
    let Some((_, blob)) = seen.find_entry(seen.tree_of_commit(export)?, MANIFEST_FILE.into())? else {
        return Err(foreign());
    };
    if seen.size_of_object(blob).is_none_or(|size| size > LONGEST_HEADER) {
        return Err(foreign());
    }
    let text = seen.read_blob(blob).map_err(|_| foreign())?;
    if is_of_other_version(&text) {
        return Err(Error::refused("it was exported by a later version of git-checkpoint")
            .with_hint("export it with this version, or import it with that one"));
    }
    if text == header.manifest() { Ok(()) } else { Err(Error::refused("its beginning is damaged")) }
}

/// Lets our refs follow what has arrived, which is sound.
fn bring(
    context: &Context,
    received: Received,
    seen: &Repo,
    contents: &Contents,
    options: &ImportOptions,
) -> Result<Imported> {
    let repo = &context.repo;
    let remote = refname::imported(&options.name);
    // Also what a dry run says takes what is damaged as absent.
    let mut refs = following(repo, &remote, &contents.logs)?;
    let followed = join_followed(repo, seen, &remote, &mut refs)?;
    let (new_records, damaged) = (followed.new_records, followed.damaged.clone());
    drop(followed);
    let (checkpoints, tags) = new_carriers(repo, &remote, contents)?;
    let notes = NewNotes::of(repo, seen, &remote, contents.notes)?;
    let mut imported = Imported {
        version: 1,
        name: options.name.clone(),
        dry_run: options.dry_run,
        refs,
        new_records,
        checkpoints: checkpoints.iter().map(|(fetched, _)| fetched.clone()).collect(),
        tags,
        notes: notes.changed,
        damaged,
    };
    let is_new = !updates(&imported.refs).is_empty()
        || !checkpoints.is_empty()
        || !imported.tags.is_empty()
        || notes.changed > 0;
    if options.dry_run || !is_new {
        return Ok(imported);
    }
    repo.name_operation("import");
    let _worktree = Worktree::enter(context, Purpose::Change)?;
    let _kept = received.adopt(repo)?;
    imported.damaged.extend(set_damaged_aside(repo, &remote)?);
    let mut refs = following(repo, &remote, &contents.logs)?;
    let followed = join_followed(repo, repo, &remote, &mut refs)?;
    let notes = NewNotes::of(repo, repo, &remote, contents.notes)?;
    let mut moves = updates(&refs);
    let new = |(fetched, commit): &(FetchedCheckpoint, ObjectId)| RefUpdate {
        name: fetched.name.clone(),
        old: None,
        new: Some(*commit),
    };
    moves.extend(checkpoints.iter().map(new));
    moves.extend(imported.tags.iter().map(FetchedTag::update));
    moves.extend(notes.update.clone());
    repo.update_refs(&moves).map_err(|error| {
        let again = "another command has changed what is imported; run it again";
        if error.kind() == Kind::Race { error.with_hint(again) } else { error }
    })?;
    followed.release()?;
    notes.written.map_or(Ok(()), Written::check_and_release)?;
    Ok(Imported { refs, ..imported })
}

type New = (Vec<(FetchedCheckpoint, ObjectId)>, Vec<FetchedTag>);

/// Returns the checkpoints that are not here, and the tags that are not so here. A checkpoint that is here already stays.
fn new_carriers(repo: &Repo, remote: &str, contents: &Contents) -> Result<New> {
    let (mut checkpoints, mut tags) = (Vec::new(), Vec::new());
    for (id, commit) in &contents.checkpoints {
        let name = tracking_ref(remote, &refname::shared_ref(*id));
        if repo.find_sound_ref(&name)?.is_none() {
            checkpoints.push((FetchedCheckpoint { id: *id, name }, *commit));
        }
    }
    for (tag, commit) in &contents.tags {
        tags.extend(FetchedTag::of(repo, remote, tag, Some(*commit))?);
    }
    Ok((checkpoints, tags))
}

/// The notes that follow those of the file.
#[derive(Default)]
struct NewNotes<'r> {
    update: Option<RefUpdate>,
    /// How many are new, or have another text.
    changed: usize,
    written: Option<Written<'r>>,
}

impl<'r> NewNotes<'r> {
    /// Returns the notes that the commit `new` has, and those that are here and it lacks. The refs are `ours`, the objects in `repo`.
    fn of(ours: &Repo, repo: &'r Repo, remote: &str, new: Option<ObjectId>) -> Result<Self> {
        let Some(new) = new else { return Ok(Self::default()) };
        let name = tracking_ref(remote, NOTES);
        let old = ours.find_sound_ref(&name)?;
        let before = match Notes::at(repo, old) {
            // What cannot be read has nothing.
            Err(error) if error.kind() == Kind::Corrupt => Notes::at(repo, None)?,
            before => before?,
        };
        let mut notes = Notes::at(repo, Some(new))?;
        let changed = notes.all().filter(|(id, blob)| before.blob(id) != Some(*blob)).count();
        if changed == 0 {
            return Ok(Self::default());
        }
        let kept: Vec<(ObjectId, ObjectId)> = before.all().filter(|(id, _)| notes.blob(id).is_none()).collect();
        let mut writers = before.writers(&kept.iter().map(|(id, _)| *id).collect::<BTreeSet<_>>())?;
        let mut objects = NewObjects::new(repo, Target::Loose);
        for (id, blob) in kept {
            let writer = writers.remove(&id).unwrap_or_else(Writer::unknown);
            notes.copy(id, blob, &writer, &mut objects)?;
        }
        let written = Some(objects.write_together()?);
        Ok(Self { update: Some(RefUpdate { name, old, new: notes.tip() }), changed, written })
    }
}
