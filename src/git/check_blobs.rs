//! Reads blobs before a restore writes them, and checks that all of them are whole.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use gix::{ObjectId, objs::Kind as ObjectKind};

use super::{
    Repo,
    loose::{self, Found},
    readable::read_elsewhere,
    threads,
};
use crate::error::{Error, Result};

/// More threads wait for the disk.
const MOST_THREADS: usize = 8;
/// Fewer blobs than this are not worth a thread.
const FEWEST: usize = 16;
/// Of larger blobs that must be in memory as a whole, in bytes, only one is there at a time.
const LARGE: u64 = 8 << 20;

/// Blobs that were read ahead.
#[derive(Default)]
pub(crate) struct ReadAhead {
    /// With the content, how many times it will be asked for.
    blobs: HashMap<ObjectId, (Vec<u8>, usize)>,
    /// All that were read, and are whole.
    checked: HashSet<ObjectId>,
}

impl ReadAhead {
    /// Returns true if nothing was read.
    pub(crate) fn is_empty(&self) -> bool {
        self.checked.is_empty()
    }

    /// Returns true if the blob `id` was read, and is whole.
    pub(crate) fn has_checked(&self, id: ObjectId) -> bool {
        self.checked.contains(&id)
    }

    /// Returns the content of the blob `id`, which stays only if it will be asked for again; none if it was not read ahead.
    pub(crate) fn take(&mut self, id: ObjectId) -> Option<Vec<u8>> {
        let (data, uses) = self.blobs.get_mut(&id)?;
        *uses -= 1;
        if *uses > 0 { Some(data.clone()) } else { self.blobs.remove(&id).map(|(data, _)| data) }
    }
}

/// Where threads that read blobs find each other's bytes counted.
struct Memory {
    /// How many bytes more may be kept.
    room: AtomicUsize,
    /// Held while a large blob is in memory and not kept.
    large: Mutex<()>,
}

impl Memory {
    /// Returns true if `size` more bytes may be kept, which then count.
    fn keeps(&self, size: usize) -> bool {
        let left = |room: usize| room.checked_sub(size);
        self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left).is_ok()
    }
}

/// What came of reading a blob.
enum Checked {
    Lost,
    Whole,
    Kept(Vec<u8>),
}

impl Repo {
    /// Reads each of the blobs `ids` once, and returns of them what fits into `room` bytes.
    ///
    /// # Errors
    /// What `lost` makes of the first that is gone or damaged. Else, if one may be whole and cannot be read now.
    pub(crate) fn check_blobs(
        &self,
        ids: &[ObjectId],
        room: usize,
        lost: impl FnOnce(ObjectId) -> Error,
    ) -> Result<ReadAhead> {
        let mut uses: HashMap<ObjectId, usize> = HashMap::with_capacity(ids.len());
        let mut is_first = |id: &ObjectId| {
            let uses = uses.entry(*id).or_default();
            *uses += 1;
            *uses == 1
        };
        let ids: Vec<ObjectId> = ids.iter().copied().filter(|id| is_first(id)).collect();
        let (shared, interrupt) = (self.inner.clone().into_sync(), &self.interrupt);
        let memory = Memory { room: AtomicUsize::new(room), large: Mutex::new(()) };
        let read = |ids: &[ObjectId]| {
            let (repo, mut blobs) = (shared.to_thread_local(), Vec::new());
            for id in ids {
                interrupt.check()?;
                match check(&repo, *id, &memory)? {
                    Checked::Lost => return Ok(Err(*id)),
                    Checked::Whole => {}
                    Checked::Kept(data) => blobs.push((*id, data)),
                }
            }
            Ok::<_, Error>(Ok(blobs))
        };
        let share = ids.len().div_ceil(threads::useful(MOST_THREADS)).max(FEWEST);
        let mut ahead = ReadAhead::default();
        for done in threads::each(ids.chunks(share).collect(), read)? {
            match done? {
                Ok(done) => ahead.blobs.extend(done.into_iter().map(|(id, data)| (id, (data, uses[&id])))),
                Err(id) => return Err(lost(id)),
            }
        }
        ahead.checked = ids.into_iter().collect();
        Ok(ahead)
    }
}

/// Reads the blob `id`. Only what `memory` keeps is in memory as a whole, or what a pack holds.
fn check(repo: &gix::Repository, id: ObjectId, memory: &Memory) -> Result<Checked> {
    let mut is_kept = false;
    let own = loose::read_if(repo.objects.store_ref().path(), id, |size| {
        is_kept = memory.keeps(size);
        is_kept
    });
    let own = match own {
        Ok(Found::Whole(found)) if found.kind != ObjectKind::Blob => return Ok(Checked::Lost),
        Ok(Found::Whole(found)) if is_kept => return Ok(Checked::Kept(found.data)),
        Ok(Found::Whole(_)) => return Ok(Checked::Whole),
        own => own,
    };
    let is_large = !matches!(repo.try_find_header(id), Ok(Some(header)) if header.size() <= LARGE);
    let _alone = is_large.then(|| memory.large.lock());
    Ok(match read_elsewhere(repo, id, own)? {
        Some((ObjectKind::Blob, data)) if memory.keeps(data.len()) => Checked::Kept(data),
        Some((ObjectKind::Blob, _)) => Checked::Whole,
        _ => Checked::Lost,
    })
}
