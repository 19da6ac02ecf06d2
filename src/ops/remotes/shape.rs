//! What a log from a remote may look like: paths of our format, ordinary files of bounded size, and commits of the log alone.

use std::collections::{HashMap, HashSet};

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use crate::{
    error::{Context as _, Error, Kind, Result},
    git::{
        Repo,
        whole_tree::{DIRECTORY, FILE, TreeEntry},
    },
    model::{
        attribution::text::Attribution,
        log_place::Place,
        path_text::printable,
        record::{self, Chunk, Link, MOST_REVISIONS, Prompt, Record, RecordId},
    },
};

/// Returns the error that something at `path` of a log is not of our format.
pub(super) fn foreign(path: &[u8], why: &str) -> Error {
    let why = if why.is_empty() { "a log of git-checkpoint has no such path" } else { why };
    // What is wrong with a file may quote it.
    let why: String = printable(why.into()).chars().take(200).collect();
    Error::refused(format!("the log has '{}': {why}", printable(path.as_bstr())))
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
///
/// # Errors
/// [`Kind::Refused`] if something in it is not of our format.
pub(super) fn check_log(repo: &Repo, place: Place, tip: ObjectId, known: &[ObjectId]) -> Result<()> {
    let digits = repo.object_hash().len_in_hex();
    let mut roots = HashSet::new();
    for id in new_commits(repo, tip, known)? {
        let tree_id = repo.tree_of_commit(id)?;
        if roots.insert(tree_id) {
            repo.check_interrupt()?;
            for entry in repo.read_tree(tree_id)? {
                checked(place, &entry, digits).map_err(|why| foreign(&entry.name, why))?;
            }
        }
        let is_ours =
            repo.with_commit(id, |commit| commit.message.lines().next().is_some_and(record::is_subject_of_log))?;
        if !is_ours || tree_id.is_empty_tree() {
            return Err(Error::refused(format!("'{id}' is no commit of a log of git-checkpoint")));
        }
    }
    let known = known.iter().map(|id| repo.tree_of_commit(*id)).collect::<Result<Vec<_>>>()?;
    let mut check = Check { repo, digits, seen: HashSet::new() };
    check.tree(place, repo.tree_of_commit(tip)?, &known, &BString::default())
}

/// Returns the commits that `tip` leads to and none of `known` does.
pub(super) fn new_commits(repo: &Repo, tip: ObjectId, known: &[ObjectId]) -> Result<Vec<ObjectId>> {
    let mut input = format!("{tip}\n");
    input.extend(known.iter().map(|id| format!("^{id}\n")));
    let output = repo.run_git(&["rev-list", "--stdin"], Some(input.as_bytes()))?;
    let parse = |line| ObjectId::from_hex(line).context(Kind::Internal, || "git lists commits without ids".into());
    output.lines().map(parse).collect()
}

struct Check<'r> {
    repo: &'r Repo,
    digits: usize,
    /// What was looked at; a tree may be named many times.
    seen: HashSet<(Place, ObjectId)>,
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
        for entry in self.repo.read_tree(id)? {
            let mut full = path.clone();
            full.extend_from_slice(if path.is_empty() { b"" } else { b"/" });
            full.extend_from_slice(&entry.name);
            let below = checked(place, &entry, self.digits).map_err(|why| foreign(&full, why))?;
            let known = of_known.get(&entry.name).map_or(&[][..], Vec::as_slice);
            if below.is_tree() {
                self.tree(below, entry.id, known, &full)?;
            } else if !known.contains(&entry.id) {
                let size = self.repo.size_of_object(entry.id).ok_or_else(|| foreign(&full, "it is missing"))?;
                if size > below.most_bytes(&entry.name) {
                    return Err(foreign(&full, "it is too large"));
                }
                if below != Place::Piece {
                    parsed(below, &full, &self.repo.read_blob(entry.id)?).map_err(|why| foreign(&full, &why))?;
                }
            }
        }
        Ok(())
    }
}
