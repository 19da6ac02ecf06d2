//! Reads objects; `new_objects` writes them.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc::sync_channel,
    },
    time::Duration,
};

use bstr::{BStr, BString, ByteSlice as _};
use gix::{
    ObjectId,
    objs::{CommitRef, Find as _, Kind as ObjectKind, TreeRefIter},
};

use super::{
    Repo,
    abbreviation::Abbreviation,
    holders::entries_of,
    line_edits::is_binary,
    loose::{self, Found},
    threads,
};
use crate::{
    error::{Context as _, Error, Kind, Result},
    model::{
        change::{Leaf, Mode},
        checkpoint::Checkpoint,
    },
};

/// The pauses between attempts to find a missing object.
const PAUSES: [Duration; 3] = [Duration::ZERO, Duration::from_millis(5), Duration::from_millis(25)];
/// How many objects a process waits for. If more are missing, they are not just being repacked.
const MOST_AWAITED: usize = 8;

impl Repo {
    /// Returns the directories of other repositories in which this one has objects, too (`objects/info/alternates`).
    pub(crate) fn alternates(&self) -> Result<Vec<PathBuf>> {
        let what = || "cannot read 'objects/info/alternates'".into();
        self.inner.objects.store_ref().alternate_db_paths().context(Kind::Internal, what)
    }

    /// Returns true if this repository itself has the object `id`, whether another one in which it has objects has it or not.
    ///
    /// # Errors
    /// If its packs cannot be listed.
    pub(crate) fn own_objects_have(&self, id: ObjectId) -> Result<bool> {
        if self.loose_path(id).exists() {
            return Ok(true);
        }
        let indexes = entries_of(&self.objects_path().join("pack"))?.into_iter();
        let indexes = indexes.filter(|path| path.extension().is_some_and(|end| end == "idx"));
        let mut opened = indexes.filter_map(|path| gix::odb::pack::index::File::at(path, self.object_hash()).ok());
        Ok(opened.any(|index| index.lookup(id).is_some()))
    }

    /// Returns true if this repository has the object `id` (never fetches).
    pub fn has_object(&self, id: ObjectId) -> bool {
        use gix::objs::Exists as _;
        self.inner.objects.exists(&id)
    }

    /// Returns true if this repository had the object `id` when it last looked for packs, which it does for one that is missing.
    pub(crate) fn had_object(&self, id: ObjectId) -> bool {
        // The library says that this one exists everywhere; there is nothing in it.
        !id.is_empty_blob() && self.inner.objects.exists_without_refresh(&id)
    }

    /// Returns true if the object `id` was stored before `other`, as far as that is known: by the times of their files, which only
    /// loose objects have, or because only `id` is packed. What is only in memory was not.
    pub(crate) fn was_stored_before(&self, id: ObjectId, other: ObjectId) -> bool {
        use gix::objs::Exists as _;
        let stored: &gix::odb::Handle = &self.inner.objects;
        let is_loose = |id| loose::path(stored.store_ref().path(), id).exists();
        match (self.stored_at(id), self.stored_at(other)) {
            (Some(id), Some(other)) => id < other,
            _ => stored.exists(&id) && !is_loose(id),
        }
    }

    /// Returns false if the object `id` is not stored, or was stored after `other`; in doubt, true.
    pub(crate) fn may_be_older(&self, id: ObjectId, other: ObjectId) -> bool {
        use gix::objs::Exists as _;
        let stored: &gix::odb::Handle = &self.inner.objects;
        match (self.stored_at(id), self.stored_at(other)) {
            (Some(id), Some(other)) => id <= other,
            _ => stored.exists(&id),
        }
    }

    /// Returns when the file of the loose object `id` was made.
    fn stored_at(&self, id: ObjectId) -> Option<std::time::SystemTime> {
        let path = loose::path(self.inner.objects.store_ref().path(), id);
        std::fs::metadata(path).and_then(|metadata| metadata.created()).ok()
    }

    /// Returns true if the object `id` is loose and its file was made at `began` or later, in Unix milliseconds. Git touches the file
    /// of an object that it has already, so that only the time of its birth counts; not every file system knows it.
    pub(crate) fn was_stored_since(&self, id: ObjectId, began: i64) -> bool {
        let born = self.stored_at(id).and_then(|born| born.duration_since(std::time::UNIX_EPOCH).ok());
        began > 0 && born.is_some_and(|born| i64::try_from(born.as_millis()).is_ok_and(|born| born >= began))
    }

    /// Reads the object `id`, which must be of `kind`, into `buffer`.
    pub(crate) fn read_object<'b>(&self, id: ObjectId, kind: ObjectKind, buffer: &'b mut Vec<u8>) -> Result<&'b [u8]> {
        read_object(&self.inner, id, kind, buffer)
    }

    /// Returns the content of the blob `id`.
    pub fn read_blob(&self, id: ObjectId) -> Result<Vec<u8>> {
        read_blob(&self.inner, id)
    }

    /// Returns how many bytes the object `id` has; none if it is not here, or damaged.
    pub(crate) fn size_of_object(&self, id: ObjectId) -> Option<u64> {
        Some(self.inner.try_find_header(id).ok()??.size())
    }

    /// Returns the content of a text file, empty for a file that does not exist; none for other files.
    pub(crate) fn text_of(&self, leaf: Option<Leaf>) -> Result<Option<Vec<u8>>> {
        let Some(leaf) = leaf else { return Ok(Some(Vec::new())) };
        if !matches!(leaf.mode, Mode::File | Mode::Executable) {
            return Ok(None);
        }
        Ok(Some(self.read_blob(leaf.id)?).filter(|text| !is_binary(text)))
    }

    /// Returns the content of the blobs `ids`, in order; if possible, other threads read a few blobs ahead. For one, a thread takes
    /// longer to start than it saves.
    pub(crate) fn read_blobs_ahead(&self, ids: Vec<ObjectId>) -> impl Iterator<Item = Result<Vec<u8>>> {
        /// More readers would take cores from the thread that uses the content.
        const READERS: usize = 2;
        const AHEAD: usize = 4;
        let (count, ids) = (ids.len(), Arc::new(ids));
        // Each reader reads every n-th blob, and ends when the receiver is dropped.
        let receivers =
            [(); READERS].map(|()| sync_channel(AHEAD)).into_iter().enumerate().map(|(first, (sender, receiver))| {
                let (shared, ids) = (self.inner.clone().into_sync(), Arc::clone(&ids));
                let read = move || {
                    let repo = shared.to_thread_local();
                    for id in ids.iter().skip(first).step_by(READERS) {
                        if sender.send(read_blob(&repo, *id)).is_err() {
                            return;
                        }
                    }
                };
                // Without a thread, the channel is closed, and each blob is read when it is needed.
                drop((count > 1 && first < count).then(|| threads::detach(read)));
                receiver
            });
        let receivers: Vec<_> = receivers.collect();
        // What this repository holds in its memory alone, no other thread can read.
        let received = move |at: usize| receivers[at % READERS].recv().ok().and_then(Result::ok);
        (0..count).map(move |at| received(at).map_or_else(|| self.read_blob(ids[at]), Ok))
    }

    /// Returns how ids are abbreviated here.
    pub(crate) fn abbreviation(&self) -> Arc<Abbreviation> {
        let new = || Arc::new(Abbreviation::new(self.config_value("core.abbrev"), self.inner.objects.store()));
        Arc::clone(self.abbreviation.get_or_init(new))
    }

    /// Returns `id`, abbreviated for people.
    pub(crate) fn short_id(&self, id: &ObjectId) -> String {
        self.abbreviation().of(id)
    }

    /// Returns the error with `message` that an object is missing, which ends an operation before it has changed anything.
    pub(crate) fn missing(&self, message: String) -> Error {
        let error = missing(&self.inner, message);
        let hint = error.hint().map(|hint| format!("{hint}; nothing was changed"));
        hint.into_iter().fold(error, Error::with_hint)
    }

    /// Returns true if git fetches objects of this repository when it needs them.
    pub(crate) fn is_partial_clone(&self) -> bool {
        is_partial_clone(&self.inner)
    }

    /// Returns the size of the object `id` in bytes; none if it is not present.
    pub fn object_size(&self, id: ObjectId) -> Result<Option<u64>> {
        let header = self.inner.try_find_header(id).context(Kind::Corrupt, || format!("cannot read '{id}'"))?;
        Ok(header.map(|header| header.size()))
    }

    /// Calls `with` on the parsed commit `id`.
    pub(crate) fn with_commit<T>(&self, id: ObjectId, with: impl FnOnce(&CommitRef<'_>) -> T) -> Result<T> {
        let mut buffer = Vec::new();
        let data = self.read_object(id, ObjectKind::Commit, &mut buffer)?;
        let commit = CommitRef::from_bytes(data, self.object_hash())
            .context(Kind::Corrupt, || format!("the commit '{id}' is malformed"))?;
        Ok(with(&commit))
    }

    /// Returns the tree of the commit `id`.
    pub fn tree_of_commit(&self, id: ObjectId) -> Result<ObjectId> {
        #[expect(clippy::redundant_closure, reason = "the method itself is not general enough in its lifetimes")]
        self.with_commit(id, |commit| CommitRef::tree(commit))
    }

    /// Returns the checkpoint with the id `id`; none for another commit.
    pub fn checkpoint(&self, id: ObjectId) -> Result<Option<Checkpoint>> {
        let mut buffer = Vec::new();
        let data = self.read_object(id, ObjectKind::Commit, &mut buffer)?;
        Checkpoint::parse(id, data).context(Kind::Corrupt, || format!("the commit '{id}' is malformed"))
    }

    /// Returns the leaf of the tree `tree_id` at `path`; none if there is nothing or a directory.
    pub fn find_leaf(&self, tree_id: ObjectId, path: &BStr) -> Result<Option<Leaf>> {
        match self.find_entry(tree_id, path)? {
            Some((mode, id)) => Ok(Mode::from_bits(mode).map(|mode| Leaf { id, mode })),
            None => Ok(None),
        }
    }

    /// Returns the mode bits and id of the tree's entry at `path`, which may be a directory.
    pub(crate) fn find_entry(&self, tree_id: ObjectId, path: &BStr) -> Result<Option<(u32, ObjectId)>> {
        if tree_id.is_empty_tree() {
            // Known without being stored.
            return Ok(None);
        }
        let mut buffer = Vec::new();
        let mut current = tree_id;
        let mut components = path.split_str("/").peekable();
        while let Some(component) = components.next() {
            let data = self.read_object(current, ObjectKind::Tree, &mut buffer)?;
            let mut found = None;
            for entry in TreeRefIter::from_bytes(data, self.object_hash()) {
                let entry = entry.context(Kind::Corrupt, || format!("the tree '{current}' is malformed"))?;
                if entry.filename == component {
                    found = Some((u32::from(entry.mode.value()), entry.oid.to_owned()));
                    break;
                }
            }
            let Some((mode, id)) = found else { return Ok(None) };
            if components.peek().is_none() {
                return Ok(Some((mode, id)));
            }
            if mode != 0o40_000 {
                return Ok(None);
            }
            current = id;
        }
        Ok(None)
    }

    /// Returns the paths of all leaves below the directory `path` of the tree `tree_id`; empty if it is no directory.
    pub(crate) fn leaves_below(&self, tree_id: ObjectId, path: &BStr) -> Result<Vec<BString>> {
        let Some((0o40_000, directory_id)) = self.find_entry(tree_id, path)? else { return Ok(Vec::new()) };
        let changes = self.diff_trees(self.empty_tree_id(), directory_id)?;
        Ok(changes
            .into_iter()
            .map(|change| {
                let mut full = path.to_owned();
                full.push(b'/');
                full.extend_from_slice(&change.path);
                full
            })
            .collect())
    }
}

/// Calls `look`, and once more if the result does not satisfy `is_there`: while git moves objects to another pack, gix
/// may see an object in neither place.
pub(super) fn look_again<T>(mut look: impl FnMut() -> T, is_there: impl Fn(&T) -> bool) -> T {
    static AWAITED: AtomicUsize = AtomicUsize::new(0);
    let mut seen = look();
    if is_there(&seen) || AWAITED.fetch_add(1, Ordering::Relaxed) >= MOST_AWAITED {
        return seen;
    }
    for pause in PAUSES {
        std::thread::sleep(pause);
        seen = look();
        if is_there(&seen) {
            AWAITED.fetch_sub(1, Ordering::Relaxed);
            break;
        }
    }
    seen
}

fn read_object<'b>(
    repo: &gix::Repository,
    id: ObjectId,
    kind: ObjectKind,
    buffer: &'b mut Vec<u8>,
) -> Result<&'b [u8]> {
    let find = || repo.objects.try_find(&id, buffer).map(|found| found.map(|data| (data.kind, data.data.len())));
    let found = look_again(find, |found| matches!(found, Ok(Some(_))));
    // What gix does not find may be whole in a file of its own, behind a damaged pack or before a damaged end.
    if !matches!(found, Ok(Some(_)))
        && let Ok(Found::Whole(found)) = loose::read(repo.objects.store_ref().path(), id)
        && found.kind == kind
    {
        *buffer = found.data;
        return Ok(buffer);
    }
    match found.context(Kind::Corrupt, || format!("cannot read the {kind} '{id}'"))? {
        Some((found, length)) if found == kind => Ok(&buffer[..length]),
        Some((found, _)) => Err(Error::corrupt(format!("'{id}' is a {found}, not a {kind}"))),
        None => Err(missing(repo, format!("the {kind} '{id}' is missing"))),
    }
}

/// Returns an error with `message` for a missing object. In a partial clone, the hint is to fetch it.
fn missing(repo: &gix::Repository, message: String) -> Error {
    let error = Error::corrupt(message);
    if is_partial_clone(repo) {
        error.with_hint("'git fetch --refetch --no-filter' brings what is not here")
    } else {
        error
    }
}

fn is_partial_clone(repo: &gix::Repository) -> bool {
    let config = repo.config_snapshot();
    let mut remotes = config.plumbing().sections_by_name("remote").into_iter().flatten();
    let has_promisor = remotes.any(|remote| remote.value_implicit("promisor").is_some());
    has_promisor || config.string("extensions.partialClone").is_some()
}

fn read_blob(repo: &gix::Repository, id: ObjectId) -> Result<Vec<u8>> {
    let mut buffer = Vec::new();
    let length = read_object(repo, id, ObjectKind::Blob, &mut buffer)?.len();
    buffer.truncate(length);
    Ok(buffer)
}
