//! Checkpoints that travel alone, in commits of their own: what such a commit may be.
//!
//! It has the files of the checkpoint, and at most one parent, the commit that the checkpoint stands on. It is not itself a checkpoint,
//! so that nothing of another clone counts as work that was saved here.

use std::collections::HashMap;

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::shape::foreign;
use crate::{
    error::{Error, Result},
    git::{Repo, checkout_names::is_valid_path, readable::Reader, ref_names, whole_tree::DIRECTORY},
    model::{path_text::printable, refname, shared, tag_name},
};

/// The largest file. Hosts refuse larger ones.
pub(super) const LARGEST_FILE: u64 = 100 << 20;
/// How many bytes all new files of a checkpoint may have.
pub(super) const LARGEST: u64 = 1 << 30;
/// More than this many files, or directories in each other, are in no worktree.
const MOST_FILES: usize = 2_000_000;
const DEEPEST: usize = 200;
/// How many bytes all files of a checkpoint may have, those included that the commit which it stands on has: a disk may be full before.
const MOST_BYTES: u64 = 32 << 30;
const TOO_MANY: &str = "there are too many files or directories";
/// No id and path of a file on a disk need more.
pub(super) const LONGEST_PATH: usize = 8 << 10;
/// The longest message.
const LONGEST_MESSAGE: usize = 1 << 20;

const SYMLINK: u32 = 0o120_000;
const SUBMODULE: u32 = 0o160_000;
const MODES: [u32; 4] = [0o100_644, 0o100_755, SYMLINK, SUBMODULE];

/// Checks that the commit `commit` carries the checkpoint `id`, with nothing but files that can be put into a worktree.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if it does not.
pub(super) fn check(repo: &Repo, commit: ObjectId, id: ObjectId) -> Result<()> {
    Checks::new(repo).check(commit, id)
}

/// Does that for several checkpoints, and looks at what they share once.
pub(super) struct Checks<'r> {
    repo: &'r Repo,
    /// Trees that were looked at. One that is named again is there once more.
    seen: HashMap<ObjectId, Below>,
    /// How many files and directories the checkpoint has so far.
    files: usize,
    /// How many bytes these files have.
    bytes: u64,
}

impl<'r> Checks<'r> {
    pub(super) fn new(repo: &'r Repo) -> Self {
        Self { repo, seen: HashMap::new(), files: 0, bytes: 0 }
    }

    /// Checks that the commit `commit` carries the checkpoint `id`.
    ///
    /// # Errors
    /// As [`check`].
    pub(super) fn check(&mut self, commit: ObjectId, id: ObjectId) -> Result<()> {
        refuse_foreign(self.repo, commit, id)?;
        (self.files, self.bytes) = (0, 0);
        self.tree(self.repo.tree_of_commit(commit)?, &BString::default(), 0).map(drop)
    }
}

/// Refuses a commit that does not carry the checkpoint `id`.
fn refuse_foreign(repo: &Repo, commit: ObjectId, id: ObjectId) -> Result<()> {
    let is_ours = repo.is_commit(commit)?
        && repo.with_commit(commit, |commit| {
            let message = commit.message.to_str().ok().filter(|message| message.len() <= LONGEST_MESSAGE);
            message.and_then(shared::id_in) == Some(id)
                && commit.parents.len() <= 1
                && commit.encoding.is_none()
                && commit.extra_headers.is_empty()
        })?;
    if is_ours { Ok(()) } else { Err(Error::refused(format!("'{commit}' does not carry the checkpoint {id}"))) }
}

/// Returns true if something that the commit `commit`, which carries a checkpoint, has beside the one that it stands on is missing or
/// damaged, or that one is.
///
/// # Errors
/// If something may be whole, and cannot be read now.
pub(crate) fn is_checkpoint_damaged(repo: &Repo, commit: ObjectId) -> Result<bool> {
    if is_commit_damaged(repo, commit)? {
        return Ok(true);
    }
    let parents: Vec<ObjectId> = repo.with_commit(commit, |commit| commit.parents().collect())?;
    let mut base = repo.empty_tree_id();
    for parent in parents {
        if repo.is_commit_lost(parent)? {
            return Ok(true);
        }
        base = repo.tree_of_commit(parent)?;
    }
    // What was promised may be fetched at any time.
    Ok(!repo.is_partial_clone() && !Reader::new(repo).is_whole(repo.tree_of_commit(commit)?, base)?)
}

/// Returns true if the commit `commit` or its tree is missing or damaged.
///
/// # Errors
/// If they may be whole, and cannot be read now.
pub(super) fn is_commit_damaged(repo: &Repo, commit: ObjectId) -> Result<bool> {
    Ok(repo.is_commit_lost(commit)? || !repo.is_whole(repo.tree_of_commit(commit)?)?)
}

/// What is below a tree.
#[derive(Clone, Copy, Debug, Default)]
struct Below {
    /// How many files and directories.
    files: usize,
    /// How many directories in each other.
    height: usize,
    /// How many bytes all files have.
    bytes: u64,
}

impl Checks<'_> {
    /// Counts `bytes` of what is at `path`.
    fn add_bytes(&mut self, bytes: u64, path: &BString) -> Result<()> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > MOST_BYTES { Err(foreign(path, "all files together are too large")) } else { Ok(()) }
    }

    fn tree(&mut self, id: ObjectId, path: &BString, depth: usize) -> Result<Below> {
        if let Some(below) = self.seen.get(&id).copied() {
            self.files = self.files.saturating_add(below.files);
            let is_too_much = self.files > MOST_FILES || depth + below.height > DEEPEST;
            self.add_bytes(below.bytes, path)?;
            return if is_too_much { Err(foreign(path, TOO_MANY)) } else { Ok(below) };
        }
        self.repo.check_interrupt()?;
        let (first, first_bytes, mut height) = (self.files, self.bytes, 0);
        let mut before: Option<BString> = None;
        for entry in self.repo.read_tree(id)? {
            let mut full = path.clone();
            full.extend_from_slice(if path.is_empty() { b"" } else { b"/" });
            full.extend_from_slice(&entry.name);
            let is_tree = entry.mode == DIRECTORY;
            self.files += 1;
            let wrong = if entry.name.contains(&b'/') || !is_valid_path(entry.name.as_bstr(), entry.mode == SYMLINK) {
                Some("git allows no such name")
            } else if before.as_ref() == Some(&entry.name) {
                Some("it is there twice")
            } else if !is_tree && !MODES.contains(&entry.mode) {
                Some("it is neither a file nor a directory")
            } else if self.files > MOST_FILES || depth > DEEPEST {
                Some(TOO_MANY)
            } else {
                None
            };
            if let Some(why) = wrong {
                return Err(foreign(&full, why));
            }
            if is_tree {
                height = height.max(self.tree(entry.id, &full, depth + 1)?.height + 1);
            } else if entry.mode != SUBMODULE {
                let size = self.repo.size_of_object(entry.id).ok_or_else(|| foreign(&full, "it is missing"))?;
                if size > LARGEST_FILE {
                    return Err(foreign(&full, "it is too large"));
                }
                self.add_bytes(size, &full)?;
            }
            before = Some(entry.name);
        }
        let below = Below { files: self.files - first, height, bytes: self.bytes - first_bytes };
        self.seen.insert(id, below);
        Ok(below)
    }
}

/// Returns true if `tag` is a name that our own tags may have, and `name` its ref.
pub(super) fn is_tag(tag: &str, name: &str) -> bool {
    tag_name::check(tag).is_ok()
        && !tag.starts_with('-')
        && ref_names::is_valid(&format!("{}{tag}", refname::TAGS))
        && refname::tag_ref(tag) == name
}

/// Returns `path` for an error.
pub(super) fn named(path: &BString) -> String {
    printable(path.as_bstr())
}
