//! Records in `refs/checkpoints/history`: finds them, and appends to them.
//!
//! The layout is that of gitcheckpoint-format(5): sharded trees, so that finding and appending cost the same however many
//! records there are, and commits whose parents are commits of the log only, so that it leads to no code.

mod append;
mod change;
pub(crate) mod evidence;
mod index;
mod limit;
mod linked;
mod log;
mod own;
mod transcript;
mod walk;

use bstr::ByteSlice as _;
use gix::ObjectId;

use crate::{
    error::Result,
    git::{Repo, commit::NewCommit, new_objects::NewObjects},
    model::{
        copied::{Copied, Written, is_copied},
        record::{Chunk, Link, Prompt, Record},
    },
};

pub use append::append;
pub(crate) use append::lock;
pub(crate) use change::SameChange;
pub(crate) use limit::Limit;
pub(crate) use log::{Log, are_here, fetched, is_of_log, root_tree};
pub use own::{find, of_commit, of_parent};
pub(crate) use walk::{Texts, newest, prompts_in};

/// What [`append()`] adds.
#[derive(Clone, Debug, Default)]
pub struct Additions {
    /// New records, and new revisions of old ones.
    pub records: Vec<NewRecord>,
    /// Commits that have a record.
    pub links: Vec<Link>,
}

/// A record, with the data stored beside it.
#[derive(Clone, Debug)]
pub struct NewRecord {
    /// The record; its chunks are those that are stored already.
    pub record: Record,
    /// The attribution; empty: the stored one stays.
    pub attribution: Vec<u8>,
    /// The data of each of its sessions, in the same order.
    pub sessions: Vec<NewSession>,
}

/// The data to store of a session, before redaction.
#[derive(Clone, Debug, Default)]
pub struct NewSession {
    /// The prompts of the turns that are in the commit; none: the stored ones stay.
    pub prompts: Vec<Prompt>,
    /// The part of the transcript after what is already stored.
    pub transcript: Option<Vec<u8>>,
}

/// Creates a commit of the log. Its only parent is `parent`, the log's previous commit.
fn commit(
    repo: &Repo,
    tree_id: ObjectId,
    parent: Option<ObjectId>,
    subject: &str,
    objects: &mut NewObjects<'_>,
) -> Result<ObjectId> {
    let (author, committer, time) = (repo.identity(), repo.identity(), repo.now());
    let parents = parent.into_iter().collect();
    Repo::write_commit(&NewCommit { tree_id, parents, author, committer, time, message: subject }, objects)
}

/// Returns the bytes of a transcript chunk; none if this repository does not have them.
pub fn transcript(repo: &Repo, chunk: &Chunk) -> Result<Option<Vec<u8>>> {
    if repo.has_object(chunk.id) { repo.read_blob(chunk.id).map(Some) } else { Ok(None) }
}

/// Returns true if `commit` was made before the commit of `record`.
pub(crate) fn is_older(repo: &Repo, commit: ObjectId, record: &Record) -> Result<bool> {
    let seconds = repo.with_commit(commit, |commit| commit.committer().map_or(i64::MIN, |who| who.seconds()))?;
    Ok(seconds < record.seconds)
}

/// Returns whether `commit`, which makes the same change as the commit of `record`, is a copy of it.
pub(crate) fn copied(repo: &Repo, commit: ObjectId, record: &Record) -> Result<Copied> {
    let written = |id: ObjectId| {
        repo.with_commit(id, |commit| Written {
            authored: commit.author().map_or(i64::MIN, |who| who.seconds()),
            committed: commit.committer().map_or(i64::MIN, |who| who.seconds()),
            subject: commit.message.lines().next().unwrap_or_default().into(),
        })
    };
    let original = if repo.is_commit(record.commit)? { Some(written(record.commit)?) } else { None };
    Ok(is_copied(&written(commit)?, record.seconds, original.as_ref()))
}
