//! Reads changed files as git would store them, each file at most once.

use std::{
    os::fd::OwnedFd,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
};

use bstr::{BStr, ByteSlice as _};
use gix::{ObjectId, objs::Kind as ObjectKind};
use rustix::{
    fs::{OFlags, RawMode},
    io::Errno,
};

use super::{
    Repo,
    attribute_files::{AttributeFiles, is_attribute_file},
    beneath,
    converter::{Converter, Failure, Storable},
    counter::{Counter, Phase},
    limits::open_root,
    new_objects::{NewObjects, Prepared, Target, id_of},
    scan::Candidate,
    stat_cache::Stat,
    threads,
};
use crate::{
    error::{Error, Result},
    model::change::Mode,
};

/// From this number of files on, several threads read.
const PARALLEL_FROM: usize = 16;
/// The largest number of threads.
const MOST_THREADS: usize = 8;
/// How often a file that changes while it is read is read again before it counts as racy.
const ATTEMPTS: usize = 3;

/// A captured file.
#[derive(Clone, Debug)]
pub(crate) struct Content {
    /// The blob.
    pub(crate) id: ObjectId,
    /// The blob with the exact bytes, if the stored ones do not survive a round trip through the conversions.
    pub(crate) raw_id: Option<ObjectId>,
    /// The stat of the file while it was read.
    pub(crate) stat: Stat,
    /// The mode that git would store.
    pub(crate) mode: Mode,
    /// True if the file changed while it was read.
    pub(crate) is_torn: bool,
    /// Why a filter failed, so that the blob has the exact bytes; none if no filter failed.
    pub(super) failure: Option<Failure>,
}

/// The result for a candidate.
#[derive(Clone, Debug)]
pub(crate) enum Captured {
    /// It was read.
    Content(Content),
    /// It does not exist any more.
    Gone,
    /// It cannot be read.
    Unreadable,
}

/// Reads all `candidates`, adds new content to `objects` and returns the result of each, in the same order.
///
/// `files` are the attribute files of the tree being built; they decide whether exact bytes are kept beside it.
fn capture(
    repo: &Repo,
    candidates: &[Candidate],
    files: &AttributeFiles,
    objects: &mut NewObjects<'_>,
) -> Result<Vec<Captured>> {
    let mut results: Vec<Option<Captured>> = vec![None; candidates.len()];
    let target = objects.target();
    repo.counter().begin(Phase::Reading, candidates.len());
    let mut take = |message: Message| {
        let (at, captured, prepared) = message?;
        repo.counter().add(1);
        results[at] = Some(captured);
        prepared.into_iter().try_for_each(|object| objects.add_prepared(object))
    };
    let how = (files, target);
    if candidates.len() < PARALLEL_FROM || !read_by_others(repo, candidates, how, &mut take)? {
        let mut reader = Reader::new(repo, files, target)?;
        for (at, candidate) in candidates.iter().enumerate() {
            take(reader.read(candidate).map(|(captured, prepared)| (at, captured, prepared)))?;
        }
    }
    results.into_iter().map(|result| result.ok_or_else(|| Error::internal("a file was not read"))).collect()
}

/// Reads all `candidates` as [`capture`] does, and also returns the attribute files of the resulting tree; `files` are
/// those of the tree without the candidates.
///
/// Attribute files apply to all other files, so they are read first.
pub(crate) fn capture_by_rules(
    repo: &Repo,
    candidates: &[Candidate],
    mut files: AttributeFiles,
    objects: &mut NewObjects<'_>,
) -> Result<(Vec<Captured>, AttributeFiles)> {
    if candidates.is_empty() {
        return Ok((Vec::new(), files));
    }
    let is_rule = |candidate: &&Candidate| is_attribute_file(candidate.path.as_bstr());
    let rules: Vec<Candidate> = candidates.iter().filter(is_rule).cloned().collect();
    let mut attempt = 0;
    loop {
        attempt += 1;
        let read_first = if rules.is_empty() { Vec::new() } else { capture(repo, &rules, &files, objects)? };
        files = with_captured(repo, &files, &rules, &read_first, objects)?;
        let mut captured = capture(repo, candidates, &files, objects)?;
        if with_captured(repo, &files, candidates, &captured, objects)? == files {
            return Ok((captured, files));
        }
        if attempt == ATTEMPTS {
            // An attribute file that keeps changing is stored as it was when it was applied to the other files.
            let slots = candidates.iter().zip(&mut captured).filter(|(candidate, _)| is_rule(candidate));
            for ((_, slot), mut first) in slots.zip(read_first) {
                if let Captured::Content(content) = &mut first {
                    content.is_torn = true;
                }
                *slot = first;
            }
            return Ok((captured, files));
        }
    }
}

fn with_captured(
    repo: &Repo,
    files: &AttributeFiles,
    candidates: &[Candidate],
    captured: &[Captured],
    objects: &NewObjects<'_>,
) -> Result<AttributeFiles> {
    let edits = candidates.iter().zip(captured).filter_map(|(candidate, captured)| match captured {
        Captured::Content(content) if content.mode != Mode::Link => Some((&candidate.path, Some(content.id))),
        Captured::Content(_) | Captured::Gone => Some((&candidate.path, None)),
        Captured::Unreadable => None,
    });
    files.with_edits(repo, edits, objects)
}

type Message = Result<(usize, Captured, Vec<Prepared>)>;

/// Reads with several threads, and passes the results to `take`; returns false if no thread can be started.
fn read_by_others(
    repo: &Repo,
    candidates: &[Candidate],
    how: (&AttributeFiles, Target),
    take: &mut impl FnMut(Message) -> Result<()>,
) -> Result<bool> {
    let next = AtomicUsize::new(0);
    let shared = repo.inner.clone().into_sync();
    // The short queue limits how much is read but not yet stored.
    let (sender, receiver) = mpsc::sync_channel(32);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..threads::useful(MOST_THREADS))
            .map_while(|_| {
                let (sender, next, shared, facts) = (sender.clone(), &next, &shared, repo.for_thread());
                threads::start(scope, move || read_all(&facts.open(shared), candidates, how, next, &sender))
            })
            .collect();
        drop(sender);
        let is_read = !readers.is_empty();
        let taken = receiver.into_iter().try_for_each(take);
        let ended = readers.into_iter().try_for_each(threads::end);
        // All threads have ended, so what they waited for is noted.
        repo.check_interrupt().and(ended).and(taken).map(|()| is_read)
    })
}

fn read_all(
    repo: &Repo,
    candidates: &[Candidate],
    (files, target): (&AttributeFiles, Target),
    next: &AtomicUsize,
    sender: &mpsc::SyncSender<Message>,
) {
    let mut reader = match Reader::new(repo, files, target) {
        Ok(reader) => reader,
        Err(error) => return drop(sender.send(Err(error))),
    };
    loop {
        let at = next.fetch_add(1, Ordering::Relaxed);
        let Some(candidate) = candidates.get(at) else { return };
        let message = reader.read(candidate).map(|(captured, prepared)| (at, captured, prepared));
        // The receiver is dropped at the first error.
        if sender.send(message).is_err() {
            return;
        }
    }
}

/// Reads files of one repository.
pub(crate) struct Reader<'r> {
    repo: &'r Repo,
    root: OwnedFd,
    converter: Converter<'r>,
    target: Target,
}

impl<'r> Reader<'r> {
    pub(crate) fn new(repo: &'r Repo, files: &AttributeFiles, target: Target) -> Result<Self> {
        let (root, converter) =
            (open_root(repo.worktree_root())?, Converter::new(repo, files, target == Target::Memory)?);
        Ok(Self { repo, root, converter, target })
    }

    /// Returns the result for `candidate`, and the objects that the repository lacks.
    ///
    /// # Errors
    /// If the operating system fails, or the operation is interrupted.
    pub(crate) fn read(&mut self, candidate: &Candidate) -> Result<(Captured, Vec<Prepared>)> {
        self.repo.check_interrupt()?;
        let path = candidate.path.as_bstr();
        if candidate.mode == Mode::Link {
            return self.read_link(candidate);
        }
        let mut is_torn = false;
        let mut attempt = 0;
        let (bytes, stat, bits) = loop {
            attempt += 1;
            match self.read_file(path) {
                Ok((bytes, stat, bits, is_whole)) if is_whole || attempt == ATTEMPTS => {
                    is_torn |= !is_whole;
                    break (bytes, stat, bits);
                }
                Ok(_) => {}
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ISDIR | Errno::NXIO) => {
                    return Ok((Captured::Gone, Vec::new()));
                }
                Err(Errno::ACCESS | Errno::PERM | Errno::IO) => return Ok((Captured::Unreadable, Vec::new())),
                Err(cause) => return Err(Error::internal(format!("cannot read '{path}'")).with_cause(cause)),
            }
        };
        let mode = if bits & 0o100 != 0 { Mode::Executable } else { Mode::File };
        let mut new = Vec::new();
        let Storable { blob, needs_raw, failure } = self.converter.storable(path, &bytes)?;
        let id = self.prepare(blob.as_deref().unwrap_or(&bytes), &mut new)?;
        let raw_id = if needs_raw { Some(self.prepare(&bytes, &mut new)?) } else { None };
        Ok((Captured::Content(Content { id, raw_id, stat, mode, is_torn, failure }), new))
    }

    fn read_link(&self, candidate: &Candidate) -> Result<(Captured, Vec<Prepared>)> {
        let path = candidate.path.as_bstr();
        let target = match rustix::fs::readlinkat(&self.root, path.as_bytes(), Vec::new()) {
            Ok(target) => target,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::INVAL) => return Ok((Captured::Gone, Vec::new())),
            Err(Errno::ACCESS) => return Ok((Captured::Unreadable, Vec::new())),
            Err(cause) => return Err(Error::internal(format!("cannot read the link '{path}'")).with_cause(cause)),
        };
        let mut new = Vec::new();
        let id = self.prepare(target.as_bytes(), &mut new)?;
        let (stat, mode) = (candidate.stat, Mode::Link);
        let content = Content { id, raw_id: None, stat, mode, is_torn: false, failure: None };
        Ok((Captured::Content(content), new))
    }

    /// Returns bytes, stat and mode bits of a file, and whether it stayed unchanged while it was read.
    fn read_file(&self, path: &BStr) -> rustix::io::Result<(Vec<u8>, Stat, RawMode, bool)> {
        // Without NONBLOCK, opening a FIFO that replaced the file would block.
        let fd = beneath::open(&self.root, path, OFlags::RDONLY | OFlags::NONBLOCK)?;
        let before = rustix::fs::fstat(&fd)?;
        if rustix::fs::FileType::from_raw_mode(before.st_mode) != rustix::fs::FileType::RegularFile {
            return Err(Errno::NXIO);
        }
        let mut bytes = Vec::with_capacity(usize::try_from(before.st_size).unwrap_or(0) + 1);
        let mut file = std::fs::File::from(fd);
        std::io::Read::read_to_end(&mut file, &mut bytes)
            .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        let after = rustix::fs::fstat(&file)?;
        let is_whole = Stat::of(&before) == Stat::of(&after);
        Ok((bytes, Stat::of(&before), before.st_mode, is_whole))
    }

    /// Returns the bytes of a file if its stat is still `stat`.
    pub(crate) fn bytes_of(&self, path: &BStr, stat: Stat) -> Option<Vec<u8>> {
        let (bytes, now, _, is_whole) = self.read_file(path).ok()?;
        (is_whole && now == stat).then_some(bytes)
    }

    /// Returns the bytes of a file as it is now.
    pub(super) fn bytes_now(&self, path: &BStr) -> Option<Vec<u8>> {
        let (bytes, _, _, is_whole) = self.read_file(path).ok()?;
        is_whole.then_some(bytes)
    }

    /// Returns the id of `data` as a blob, which is added to `new` if the repository lacks it.
    pub(crate) fn prepare(&self, data: &[u8], new: &mut Vec<Prepared>) -> Result<ObjectId> {
        let id = id_of(ObjectKind::Blob, data, self.repo.object_hash())?;
        if !self.repo.is_stored(id, self.target) {
            new.push(Prepared::new(ObjectKind::Blob, data, id, self.target));
        }
        Ok(id)
    }
}

/// What a thread needs to open its own handle of a repository.
pub(crate) struct ForThread {
    root: std::path::PathBuf,
    worktree_id: bstr::BString,
    ref_store: super::ref_store::RefStore,
    heeds: super::environment::Heeded,
    interrupt: super::interrupt::Interrupt,
    counter: Arc<Counter>,
    distrusts_objects: bool,
}

impl ForThread {
    fn open(self, shared: &gix::ThreadSafeRepository) -> Repo {
        let Self { root, worktree_id, ref_store, heeds, interrupt, counter, distrusts_objects } = self;
        Repo {
            inner: shared.to_thread_local(),
            root,
            worktree_id,
            ref_store,
            heeds,
            above: Vec::new(),
            interrupt,
            counter,
            packs: std::cell::OnceCell::new(),
            abbreviation: std::cell::OnceCell::new(),
            distrusts_objects: std::cell::Cell::new(distrusts_objects),
            touch_time: std::cell::Cell::default(),
            lost_patience: std::cell::RefCell::default(),
            skipped_refs: super::repo::RefNames::default(),
            damaged_refs: super::repo::RefNames::default(),
            // Threads read files of the worktree that a pass has found.
            own_directories: super::own_directories::OwnDirectories::default(),
            seen_head: std::cell::RefCell::default(),
            recorder: super::recorder::Recorder::default(),
        }
    }
}

impl Repo {
    fn for_thread(&self) -> ForThread {
        ForThread {
            root: self.root.clone(),
            worktree_id: self.worktree_id.clone(),
            ref_store: self.ref_store,
            heeds: self.heeds,
            interrupt: self.interrupt.clone(),
            counter: Arc::clone(&self.counter),
            distrusts_objects: self.distrusts_objects.get(),
        }
    }
}
