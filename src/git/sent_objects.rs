//! Which of the objects that have arrived the other side has sent itself: git completes a pack with objects of ours.

use std::{collections::HashSet, fs::File, os::unix::fs::FileExt as _, path::Path};

use gix::{
    ObjectId,
    odb::pack::{data, index},
};

use super::received::Received;
use crate::error::{Context as _, Kind, Result};

/// The most that an entry needs before its data: its type and size, and the id of what it changes; gitformat-pack(5).
const HEAD: usize = 64;

impl Received {
    /// Returns the objects in the packs that have arrived, except those that git may have put there itself: to a pack with changes of
    /// objects that are not in it, `git index-pack --fix-thin` adds these, if they are here.
    ///
    /// # Errors
    /// If a pack cannot be read.
    pub(crate) fn sent(&self, hash: gix::hash::Kind) -> Result<HashSet<ObjectId>> {
        let mut sent = HashSet::new();
        let Some(directory) = self.objects().map(|objects| objects.join("pack")) else { return Ok(sent) };
        for file in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
            let path = file.path();
            if path.extension().is_some_and(|end| end == "idx") {
                add_sent(&path, hash, &mut sent)?;
            }
        }
        Ok(sent)
    }
}

/// Adds to `sent` what the pack with the index `path` has, but no object that another one there changes by its id.
fn add_sent(path: &Path, hash: gix::hash::Kind, sent: &mut HashSet<ObjectId>) -> Result<()> {
    let what = || format!("cannot read '{}'", path.display());
    let index = index::File::at(path, hash).context(Kind::Internal, what)?;
    let pack = File::open(path.with_extension("pack")).context(Kind::Internal, what)?;
    let (mut ids, mut bases) = (HashSet::new(), HashSet::new());
    for entry in index.iter() {
        let mut head = [0; HEAD];
        let length = pack.read_at(&mut head, entry.pack_offset).context(Kind::Internal, what)?;
        let found = data::Entry::from_bytes(&head[..length], entry.pack_offset, hash).context(Kind::Internal, what)?;
        if let data::entry::Header::RefDelta { base_id } = found.header {
            bases.insert(base_id);
        }
        ids.insert(entry.oid);
    }
    sent.extend(ids.difference(&bases).copied());
    Ok(())
}
