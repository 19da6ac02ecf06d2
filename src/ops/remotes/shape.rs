//! What a log from a remote may look like: paths of our format, ordinary files of bounded size, and commits of the log alone.

use std::{
    collections::{HashMap, HashSet},
    ops::ControlFlow,
};

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::versions::MOST_BESIDE;
use crate::{
    error::{Context as _, Error, Kind, Result},
    git::{
        Repo,
        whole_tree::{DIRECTORY, FILE, TreeEntry},
    },
    model::{
        attribution::text::Attribution,
        log_place::Place,
        note::is_subject_of_notes,
        path_text::printable,
        record::{self, Chunk, JOINED, Link, MOST_REVISIONS, Prompt, Record, RecordId},
    },
};

/// Returns the error that something at `path` of a log is not of our format.
pub(super) fn foreign(path: &[u8], why: &str) -> Error {
    let why = if why.is_empty() { "a log of git-checkpoint has no such path" } else { why };
    // What is wrong with a file may quote it.
    let [why, path] = [why.into(), path.as_bstr()].map(|text| printable(text).chars().take(200).collect::<String>());
    Error::refused(format!("the log has '{path}': {why}"))
}

/// Returns the last name in `path`.
pub(super) fn last(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}

/// Says what is wrong with `text`, the file at `path` of a log, which is at `place`: only what can be read later may come in.
fn parsed(place: Place, path: &[u8], text: &[u8]) -> std::result::Result<(), String> {
    let name = last(path);
    let digits: Vec<u8> = path.splitn(3, |byte| *byte == b'/').take(2).flatten().copied().collect();
    let id = digits.to_str().ok().and_then(RecordId::parse);
    match (place, name) {
        (Place::Ids, _) => {
            let is_id = |line: &[u8]| line.to_str().is_ok_and(|line| RecordId::parse(line).is_some());
            if text.lines().all(is_id) { Ok(()) } else { Err("it has more than ids of records".to_owned()) }
        }
        (Place::Link, _) => {
            let (Some(id), Ok(commit)) = (id, ObjectId::from_hex(name)) else { return Err(String::new()) };
            Link::from_toml(id, commit, text).map(drop)
        }
        (Place::Note, _) => {
            let is_text = text.to_str().is_ok() && !text.contains(&0);
            if is_text { Ok(()) } else { Err("it is no text in UTF-8".to_owned()) }
        }
        (_, b"record.toml") => {
            let record = Record::from_toml(text)?;
            if Some(record.id) != id {
                return Err("it is another record".to_owned());
            }
            let is_sound = record.revision <= MOST_REVISIONS;
            if is_sound { Ok(()) } else { Err(format!("no record has {} revisions", record.revision)) }
        }
        (_, b"attribution") => Attribution::from_text(text).map(drop),
        (_, b"session.toml") => Chunk::list_from_toml(text).map(drop),
        (_, b"prompts.toml") => Prompt::list_from_toml(text).map(drop),
        _ => Ok(()),
    }
}

/// Returns where `entry`, of a tree at `place`, is; or why it cannot be there.
pub(super) fn checked(place: Place, entry: &TreeEntry, digits: usize) -> std::result::Result<Place, &'static str> {
    let below = place.below(&entry.name, digits).ok_or("")?;
    if entry.mode != if below.is_tree() { DIRECTORY } else { FILE } {
        return Err("it is neither an ordinary file nor a directory, or the other of the two");
    }
    Ok(below)
}

/// Checks the log that ends with the commit `tip`, whose trees are at `place`. What the commits `known` lead to is not looked at again.
/// Calls `each` for all that is new.
///
/// # Errors
/// [`Kind::Refused`] if something in it is not of our format.
pub(super) fn check_log(
    repo: &Repo,
    place: Place,
    tip: ObjectId,
    known: &[ObjectId],
    each: &mut dyn FnMut(ObjectId),
) -> Result<()> {
    let digits = repo.object_hash().len_in_hex();
    let (mut roots, mut sizes) = (HashSet::new(), HashMap::new());
    new_objects(repo, &[tip], known, LONGEST_LINE, &mut |object| {
        each(object.id);
        let NewObject { id, path: Some(path) } = object else {
            let tree_id = repo.tree_of_commit(object.id)?;
            if roots.insert(tree_id) {
                for entry in repo.read_tree(tree_id)? {
                    checked(place, &entry, digits).map_err(|why| foreign(&entry.name, why))?;
                }
            }
            return check_commit(repo, place, object.id);
        };
        // Also what only an earlier commit has stays here for good.
        let (_, size) = check_size(repo, place, id, path)?;
        sizes.extend(size.map(|size| (id, size)));
        Ok(())
    })?;
    let known = known.iter().map(|id| repo.tree_of_commit(*id)).collect::<Result<Vec<_>>>()?;
    let mut check = Check { repo, digits, sizes, seen: HashSet::new(), texts: HashSet::new(), files: Vec::new() };
    check.tree(place, repo.tree_of_commit(tip)?, &known, &BString::default())?;
    check.texts()
}

/// An object of a log that is new to the other side.
#[derive(Clone, Copy)]
pub(super) struct NewObject<'a> {
    pub(super) id: ObjectId,
    /// One of its paths, empty for the tree of a commit; none for a commit.
    pub(super) path: Option<&'a [u8]>,
}

/// Calls `each` for the objects that one of the commits `tips` leads to and none of the commits `known` does, as git finds them: what
/// others have made may have paths without end.
///
/// # Errors
/// [`Kind::Refused`] if an id with its path is longer than `longest`, and that of `each`.
pub(super) fn new_objects(
    repo: &Repo,
    tips: &[ObjectId],
    known: &[ObjectId],
    longest: usize,
    each: &mut dyn FnMut(NewObject<'_>) -> Result<()>,
) -> Result<()> {
    let mut input: String = tips.iter().map(|id| format!("{id}\n")).collect();
    input.extend(known.iter().map(|id| format!("^{id}\n")));
    repo.lines_of_git(&["rev-list", "--objects", "--stdin"], input.as_bytes(), longest, &mut |line| {
        repo.check_interrupt()?;
        // A commit has no blank behind its id, a root tree no path.
        let (id, path) = line.split_once_str(" ").map_or((line, None), |(id, path)| (id, Some(path)));
        if line.len() > longest {
            let start: String = printable(path.unwrap_or_default().as_bstr()).chars().take(40).collect();
            return Err(Error::refused(format!("it has a path that is too long: '{start}...'")));
        }
        let id = ObjectId::from_hex(id).context(Kind::Internal, || "git lists objects without ids".into())?;
        each(NewObject { id, path })?;
        Ok(ControlFlow::Continue(()))
    })
}

/// Returns those of `ids` that the commits `known` do not lead to. No id with its path is longer than `longest`.
pub(super) fn beyond(
    repo: &Repo,
    known: &[ObjectId],
    longest: usize,
    mut ids: HashSet<ObjectId>,
) -> Result<HashSet<ObjectId>> {
    if ids.is_empty() || known.is_empty() {
        return Ok(ids);
    }
    let input: String = known.iter().map(|id| format!("{id}\n")).collect();
    repo.lines_of_git(&["rev-list", "--objects", "--stdin"], input.as_bytes(), longest, &mut |line| {
        repo.check_interrupt()?;
        let id = line.split_once_str(" ").map_or(line, |(id, _)| id);
        ids.remove(&ObjectId::from_hex(id).context(Kind::Internal, || "git lists objects without ids".into())?);
        Ok(if ids.is_empty() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    Ok(ids)
}

/// What is wrong with a record that has more than [`MOST_BESIDE`] of them.
pub(super) const TOO_MANY_VERSIONS: &str = "there are more than 64 other versions of the record";

/// No id and path of a log need more.
pub(super) const LONGEST_LINE: usize = 1_000;

/// Checks the path of the object `id` of a log whose trees are at `place`, and its size; returns where it is, and the size of a file.
pub(super) fn check_size(repo: &Repo, place: Place, id: ObjectId, path: &[u8]) -> Result<(Place, Option<u64>)> {
    let below = place.at(path, repo.object_hash().len_in_hex()).ok_or_else(|| foreign(path, ""))?;
    if below.is_tree() {
        return Ok((below, None));
    }
    let size = repo.size_of_object(id).ok_or_else(|| foreign(path, "it is missing"))?;
    if size > below.most_bytes(last(path)) {
        return Err(foreign(path, "it is too large"));
    }
    Ok((below, Some(size)))
}

/// Who made a commit has a name and an address, and no more room than that.
const LONGEST_IDENTITY: usize = 1_000;

/// Checks that the commit `id` is as we make commits of logs whose trees are at `place`: message, identities and parents.
pub(super) fn check_commit(repo: &Repo, place: Place, id: ObjectId) -> Result<()> {
    let is_ours = repo.with_commit(id, |commit| {
        let is_of_notes = place == Place::Notes;
        let is_joined = commit.message == format!("{JOINED}\n").as_bytes() && !is_of_notes;
        let is_made_by_us = commit.author.starts_with(b"git-checkpoint <checkpoint@agent.invalid> ");
        let is_message = match commit.message.strip_suffix(b"\n") {
            Some(subject) if is_of_notes => is_subject_of_notes(subject),
            _ => !is_of_notes && record::is_message_of_log(commit.message),
        };
        is_message
            && commit.author == commit.committer
            && commit.author.len() <= LONGEST_IDENTITY
            && commit.encoding.is_none()
            && commit.extra_headers.is_empty()
            && (!is_joined || is_made_by_us)
            && commit.parents.len() <= if is_joined { 2 } else { 1 }
            && ObjectId::from_hex(commit.tree).is_ok_and(|tree_id| !tree_id.is_empty_tree())
    })?;
    if is_ours { Ok(()) } else { Err(Error::refused(format!("'{id}' is no commit of a log of git-checkpoint"))) }
}

struct Check<'r> {
    repo: &'r Repo,
    digits: usize,
    /// The sizes of files that are known already.
    sizes: HashMap<ObjectId, u64>,
    /// What was looked at; a tree may be named many times.
    seen: HashSet<(Place, ObjectId)>,
    /// The texts that are among the `files`, by what they have to be.
    texts: HashSet<(Place, BString, ObjectId)>,
    /// Files whose text is to be checked.
    files: Vec<File>,
}

/// A file of a log.
struct File {
    place: Place,
    path: BString,
    id: ObjectId,
}

impl Check<'_> {
    /// Checks the tree `id` at `place`, as far as none of the trees `known` of the same place has the same.
    fn tree(&mut self, place: Place, id: ObjectId, known: &[ObjectId], path: &BString) -> Result<()> {
        if known.contains(&id) || !self.seen.insert((place, id)) {
            return Ok(());
        }
        self.repo.check_interrupt()?;
        let mut of_known: HashMap<BString, Vec<ObjectId>> = HashMap::new();
        for known in known {
            for entry in self.repo.read_tree(*known)? {
                of_known.entry(entry.name).or_default().push(entry.id);
            }
        }
        let entries = self.repo.read_tree(id)?;
        if place == Place::Others && entries.len() > MOST_BESIDE {
            return Err(foreign(path, TOO_MANY_VERSIONS));
        }
        for entry in entries {
            let mut full = path.clone();
            full.extend_from_slice(if path.is_empty() { b"" } else { b"/" });
            full.extend_from_slice(&entry.name);
            let below = checked(place, &entry, self.digits).map_err(|why| foreign(&full, why))?;
            // A version has the id of its tree as its name; the join would drop an empty one.
            if below == Place::Other && (entry.id.is_empty_tree() || entry.name != entry.id.to_string()) {
                return Err(foreign(&full, "it is no version of a record"));
            }
            let known = of_known.get(&entry.name).map_or(&[][..], Vec::as_slice);
            if below.is_tree() {
                self.tree(below, entry.id, known, &full)?;
            } else if !known.contains(&entry.id) {
                let size = match self.sizes.get(&entry.id) {
                    Some(size) => *size,
                    None => self.repo.size_of_object(entry.id).ok_or_else(|| foreign(&full, "it is missing"))?,
                };
                if size > below.most_bytes(&entry.name) {
                    return Err(foreign(&full, "it is too large"));
                }
                self.add(below, entry.id, full);
            }
        }
        Ok(())
    }

    /// Lets the file `id` at `path` be checked, unless another one with the same text is, of which the same is asked.
    fn add(&mut self, place: Place, id: ObjectId, path: BString) {
        // What is asked of these does not depend on where they are.
        let kind = match last(&path) {
            _ if place == Place::Piece => return,
            _ if matches!(place, Place::Ids | Place::Link | Place::Note) => Some(BString::default()),
            b"record.toml" => None,
            name => Some(name.into()),
        };
        if kind.is_none_or(|kind| self.texts.insert((place, kind, id))) {
            self.files.push(File { place, path, id });
        }
    }

    /// Checks what the files have, and names the first one that is not as it should be.
    fn texts(self) -> Result<()> {
        let ids: Vec<ObjectId> = self.files.iter().map(|file| file.id).collect();
        let check = |at: usize, text: Result<Vec<u8>>| {
            let File { place, path, .. } = &self.files[at];
            parsed(*place, path, &text?).map_err(|why| foreign(path, &why))
        };
        let checked = self.repo.each_blob(&ids, check)?;
        checked.into_iter().collect()
    }
}
