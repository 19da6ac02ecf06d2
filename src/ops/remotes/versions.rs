//! The versions of a record that two logs may have: which of them completes another, and which of the others is shown.

use std::collections::BTreeMap;

use bstr::ByteSlice as _;
use gix::ObjectId;

use crate::{
    error::Result,
    git::{
        Repo,
        whole_tree::{DIRECTORY, TreeEntry},
    },
    model::record::{Chunk, Record},
};

/// All of a record but its links: its tree without them.
#[derive(Clone)]
pub(super) struct Version {
    /// The id that this tree has.
    pub(super) id: ObjectId,
    pub(super) entries: Vec<TreeEntry>,
    /// None if it cannot be understood: then it completes nothing.
    content: Option<Content>,
}

#[derive(Clone)]
struct Content {
    revision: u32,
    /// The record without what a later revision may change.
    fixed: Record,
    /// Its sessions: the blob of the prompts, and the pieces of the transcript.
    sessions: Vec<(Option<ObjectId>, Vec<Chunk>)>,
    /// True if a text in the prompts was purged.
    is_purged: bool,
}

impl Version {
    /// Reads the version that consists of `entries`.
    pub(super) fn read(repo: &Repo, entries: Vec<TreeEntry>) -> Result<Self> {
        let (id, _) = repo.tree_of(entries.clone())?;
        let content = Content::read(repo, &entries)?;
        Ok(Self { id, entries, content })
    }

    fn revision(&self) -> u32 {
        self.content.as_ref().map_or(0, |content| content.revision)
    }

    fn entry(&self, name: &str) -> Option<&TreeEntry> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    /// Returns true if this one has all that `other` has, and a higher revision: `other` is not needed beside it.
    fn completes(&self, other: &Self) -> bool {
        let (Some(later), Some(earlier)) = (&self.content, &other.content) else { return false };
        let has_all_of = |(prompts, pieces): &(Option<ObjectId>, Vec<Chunk>), at: usize| {
            let (earlier_prompts, earlier_pieces) = &earlier.sessions[at];
            (earlier_prompts.is_none() || earlier_prompts == prompts) && pieces.starts_with(earlier_pieces)
        };
        later.revision > earlier.revision
            && self.entry("attribution") == other.entry("attribution")
            && later.fixed == earlier.fixed
            && later.sessions.iter().enumerate().all(|(at, session)| has_all_of(session, at))
    }

    /// Returns true if a purge may have changed the one or the other: both are the same but for prompts and transcripts, or are
    /// revisions of the same record of which only one has prompts that were purged.
    fn is_rewritten(&self, other: &Self) -> bool {
        let is_same = |name| self.entry(name) == other.entry(name);
        let is_of_same = match (&self.content, &other.content) {
            (Some(one), Some(other)) => one.fixed == other.fixed && one.is_purged != other.is_purged,
            _ => false,
        };
        self.id != other.id && (is_of_same || is_same("record.toml") && is_same("attribution"))
    }
}

impl Content {
    fn read(repo: &Repo, entries: &[TreeEntry]) -> Result<Option<Self>> {
        let find = |name: &str| entries.iter().find(|entry| entry.name == name);
        let Some(file) = find("record.toml") else { return Ok(None) };
        let Ok(mut fixed) = Record::from_toml(&repo.read_blob(file.id)?) else { return Ok(None) };
        let mut is_purged = false;
        let mut sessions = vec![(None, Vec::new()); fixed.sessions.len()];
        let folders = find("sessions").filter(|entry| entry.mode == DIRECTORY);
        for folder in folders.map_or_else(|| Ok(Vec::new()), |entry| repo.read_tree(entry.id))? {
            let at = folder.name.to_str().ok().and_then(|name| name.parse::<usize>().ok());
            // One that the record does not name.
            let Some(session) = at.and_then(|at| sessions.get_mut(at)) else { return Ok(None) };
            for file in repo.read_tree(folder.id)? {
                match file.name.as_slice() {
                    b"prompts.toml" => {
                        session.0 = Some(file.id);
                        is_purged |= repo.read_blob(file.id)?.contains_str(PURGED);
                    }
                    _ => match Chunk::list_from_toml(&repo.read_blob(file.id)?) {
                        Ok(pieces) => session.1 = pieces,
                        Err(_) => return Ok(None),
                    },
                }
            }
        }
        let revision = std::mem::take(&mut fixed.revision);
        for part in &mut fixed.sessions {
            // Some agents report their model only when they stop, and what it has used.
            (part.is_partial, part.model, part.usage) = (false, None, Vec::new());
        }
        Ok(Some(Self { revision, fixed, sessions, is_purged }))
    }
}

/// The most versions of a record that are kept beside the one that is shown. One comes into being only if two clones complete the same
/// record in different ways; each is compared with each.
pub(super) const MOST_BESIDE: usize = 64;

/// What a purge writes in the place of a text.
pub(super) const PURGED: &str = "[purged]";

/// The versions of one record, none of which another one completes.
#[derive(Default)]
pub(super) struct Versions(BTreeMap<ObjectId, Version>);

impl Versions {
    pub(super) fn add(&mut self, version: Version) {
        self.0.insert(version.id, version);
    }

    /// Returns the version that is shown: of the highest revision, or the highest id; and the others, by their ids.
    pub(super) fn split(mut self) -> (Option<Version>, Vec<Version>) {
        let completed = |one: &Version| self.0.values().any(|other| other.completes(one));
        let gone: Vec<ObjectId> = self.0.values().filter(|one| completed(one)).map(|one| one.id).collect();
        self.0.retain(|id, _| !gone.contains(id));
        let first = self.0.values().max_by_key(|version| (version.revision(), version.id)).map(|version| version.id);
        let first = first.and_then(|id| self.0.remove(&id));
        (first, self.0.into_values().collect())
    }
}

/// Returns true if some two of `versions` are the same but for prompts and transcripts.
pub(super) fn are_rewritten(versions: &[&Version]) -> bool {
    versions.iter().any(|one| versions.iter().any(|other| one.is_rewritten(other)))
}
