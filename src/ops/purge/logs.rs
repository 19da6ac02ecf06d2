//! Replaces the text in the log of records and in transcripts.

use std::collections::{BTreeSet, HashMap};

use bstr::{BStr, ByteSlice as _};
use gix::{ObjectId, objs::Kind as ObjectKind};

use super::{scan::Scan, text::replace_lines};
use crate::{
    error::{Error, Result},
    git::{
        Repo,
        copied_commit::CommitCopy,
        new_objects::NewObjects,
        tree_map::{Leaves, NewLeaf, TreeMap},
    },
    model::{
        record::{Chunk, Prompt},
        secret::Secret,
    },
};

/// The files of records and transcripts.
struct Files<'s> {
    repo: &'s Repo,
    secret: &'s Secret,
    scan: &'s Scan,
    new: HashMap<ObjectId, NewLeaf>,
    prompts: BTreeSet<ObjectId>,
    transcripts: BTreeSet<ObjectId>,
    notes: BTreeSet<ObjectId>,
}

/// How many texts have the secret.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    prompts: usize,
    transcripts: usize,
    notes: usize,
}

impl Counts {
    /// Returns how many lists of prompts, pieces of transcripts, and notes.
    pub(super) fn each(self) -> (usize, usize, usize) {
        (self.prompts, self.transcripts, self.notes)
    }
}

/// Changes the logs.
pub(super) struct Logs<'s> {
    files: Files<'s>,
    pub(super) trees: TreeMap,
    /// By commit: the new one.
    pub(super) commits: HashMap<ObjectId, ObjectId>,
}

impl Leaves for Files<'_> {
    fn may_change(&self, id: ObjectId) -> bool {
        self.scan.paths.contains_key(&id)
    }

    fn needs_paths(&self) -> bool {
        true
    }

    fn leaf(&mut self, path: &BStr, id: ObjectId, objects: &mut NewObjects<'_>) -> Result<NewLeaf> {
        let name = path.rsplit_once_str("/").map_or(path.as_bytes(), |(_, name)| name);
        let is_session = name == b"session.toml";
        if !self.scan.found.contains(&id) && !is_session {
            return Ok(NewLeaf::Same);
        }
        if let Some(new) = self.new.get(&id) {
            return Ok(*new);
        }
        let text = self.repo.read_blob(id)?;
        let new = match name {
            b"session.toml" => self.session(&text, objects)?,
            b"prompts.toml" => self.prompts(&text),
            // They have ids, names and numbers.
            b"record.toml" | b"attribution" => None,
            _ if is_link(path) => None,
            name if is_note(name) => self.secret.replace(&text),
            _ => replace_lines(self.secret, &text),
        };
        let new_id = new.map(|text| objects.add(ObjectKind::Blob, &text)).transpose()?;
        let new = new_id.filter(|new| *new != id).map_or(NewLeaf::Same, NewLeaf::Is);
        if new != NewLeaf::Same && name == b"prompts.toml" {
            self.prompts.insert(id);
        } else if new != NewLeaf::Same && is_note(name) {
            self.notes.insert(id);
        } else if new != NewLeaf::Same && !is_session {
            self.transcripts.insert(id);
        }
        self.new.insert(id, new);
        Ok(new)
    }
}

/// Returns true if a file of this `name` is a note: the names of all others are not that long, or no ids.
fn is_note(name: &[u8]) -> bool {
    name.len() >= 38 && name.iter().all(u8::is_ascii_hexdigit)
}

/// Returns true if the file at `path` of a log says how a commit came to its record.
fn is_link(path: &BStr) -> bool {
    path.rsplit_once_str("/links/").is_some_and(|(_, name)| is_note(name))
}

impl Files<'_> {
    fn prompts(&self, text: &[u8]) -> Option<Vec<u8>> {
        let Ok(mut prompts) = Prompt::list_from_toml(text) else { return self.secret.replace(text) };
        for prompt in &mut prompts {
            prompt.text = self.secret.replace_in(&prompt.text).unwrap_or(std::mem::take(&mut prompt.text));
        }
        let new = Prompt::list_to_toml(&prompts).into_bytes();
        (new != text).then_some(new)
    }

    /// The pieces of a transcript are named by the ids of their blobs.
    fn session(&mut self, text: &[u8], objects: &mut NewObjects<'_>) -> Result<Option<Vec<u8>>> {
        let chunks = Chunk::list_from_toml(text).unwrap_or_default();
        let mut out = text.to_vec();
        for chunk in chunks {
            if let NewLeaf::Is(new) = self.leaf(chunk.path.as_str().into(), chunk.id, objects)? {
                out = out.replace(chunk.id.to_string(), new.to_string());
            }
        }
        Ok((out != text).then_some(out))
    }
}

impl<'s> Logs<'s> {
    pub(super) fn new(repo: &'s Repo, secret: &'s Secret, scan: &'s Scan) -> Self {
        let (prompts, transcripts, notes) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let files = Files { repo, secret, scan, new: HashMap::new(), prompts, transcripts, notes };
        Self { files, trees: TreeMap::default(), commits: HashMap::new() }
    }

    /// Returns the commit `tip` of a log, without the text.
    pub(super) fn replace(&mut self, tip: ObjectId, objects: &mut NewObjects<'_>) -> Result<ObjectId> {
        let repo = self.files.repo;
        let mut work = vec![(tip, false)];
        while let Some((id, are_parents_done)) = work.pop() {
            if self.commits.contains_key(&id) {
                continue;
            }
            let parents = repo.parents_of(id)?;
            if !are_parents_done {
                work.push((id, true));
                work.extend(parents.into_iter().map(|id| (id, false)));
                continue;
            }
            let tree_id = repo.tree_of_commit(id)?;
            let new_tree_id = self.trees.map(repo, tree_id, &mut self.files, objects)?;
            let new_parents: Vec<ObjectId> =
                parents.iter().map(|id| self.commits.get(id).copied().unwrap_or(*id)).collect();
            let new = if new_tree_id == tree_id && new_parents == parents {
                id
            } else {
                let message = repo.message_of(id)?;
                repo.copy_commit(
                    id,
                    &CommitCopy { tree_id: new_tree_id, parents: new_parents, message: &message },
                    objects,
                )?
            };
            self.commits.insert(id, new);
        }
        self.commits.get(&tip).copied().ok_or_else(|| Error::internal(format!("'{tip}' was not looked at")))
    }

    /// Returns how many files with prompts, pieces of transcripts and notes have the text.
    pub(super) fn counts(&self) -> Counts {
        let Files { prompts, transcripts, notes, .. } = &self.files;
        Counts { prompts: prompts.len(), transcripts: transcripts.len(), notes: notes.len() }
    }

    /// Returns the blobs that others replace.
    pub(super) fn changed_blobs(&self) -> impl Iterator<Item = ObjectId> {
        self.files.new.iter().filter(|(_, new)| **new != NewLeaf::Same).map(|(id, _)| *id)
    }
}
