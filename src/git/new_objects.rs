//! The new objects of a save: collected in memory, then written so that a crash leaves only unreferenced objects
//! behind.

use std::collections::{HashMap, HashSet};

use gix::{
    ObjectId,
    objs::{Data, Find, Kind as ObjectKind, Write as _},
};

use super::{
    Repo,
    deflate::deflate,
    loose,
    pack::PackWriter,
    settled_packs::{SettledPack, touch},
    written::{Written, has_content},
};
use crate::error::{Context as _, Kind, Result};

pub(crate) use super::prepared::{Prepared, Target};

/// Above this many bytes, blobs wait in a temporary pack instead of memory.
const SPILL_AT: usize = 8 << 20;

/// Returns the id of `data` as an object of `kind`.
pub(crate) fn id_of(kind: ObjectKind, data: &[u8], hash: gix::hash::Kind) -> Result<ObjectId> {
    gix::objs::compute_hash(hash, kind, data).context(Kind::Internal, || format!("cannot hash a {kind}"))
}

/// The objects of one save.
pub(crate) struct NewObjects<'r> {
    repo: &'r Repo,
    target: Target,
    /// Objects that are not in a temporary pack yet; trees stay here, because later edits read them.
    waiting: HashMap<ObjectId, Prepared>,
    order: Vec<ObjectId>,
    /// Objects in the temporary pack.
    spilled: HashMap<ObjectId, ObjectKind>,
    waiting_bytes: usize,
    pack: Option<PackWriter>,
    /// Objects that exist already.
    relied_on: Vec<ObjectId>,
}

impl<'r> NewObjects<'r> {
    /// Returns an empty set of objects for `repo`, to go to `target`.
    pub(crate) fn new(repo: &'r Repo, target: Target) -> Self {
        Self {
            repo,
            target,
            waiting: HashMap::new(),
            order: Vec::new(),
            spilled: HashMap::new(),
            waiting_bytes: 0,
            pack: None,
            relied_on: Vec::new(),
        }
    }

    /// Returns where the objects go.
    pub(crate) fn target(&self) -> Target {
        self.target
    }

    /// From now on, writes all objects to one pack; deflates those that are waiting.
    pub(crate) fn switch_to_pack(&mut self) {
        self.target = Target::Pack;
        for object in self.waiting.values_mut() {
            object.data = deflate(&[&object.data]);
        }
        self.waiting_bytes = self.waiting.values().map(|object| object.data.len()).sum();
    }

    /// Writes all objects as [`write`](Self::write) does: as one pack if they are many.
    pub(crate) fn write_together(mut self) -> Result<Written<'r>> {
        if self.target == Target::Loose && Target::for_count(self.order.len()) == Target::Pack {
            self.switch_to_pack();
        }
        self.write()
    }

    /// Adds `data` as an object of `kind`, unless the repository has it, and returns its id.
    pub(crate) fn add(&mut self, kind: ObjectKind, data: &[u8]) -> Result<ObjectId> {
        let id = id_of(kind, data, self.repo.object_hash())?;
        self.add_with_id(kind, data, id)?;
        Ok(id)
    }

    /// Adds `data`, an object of `kind` with the id `id`, unless the repository has it.
    pub(crate) fn add_with_id(&mut self, kind: ObjectKind, data: &[u8], id: ObjectId) -> Result<()> {
        if self.contains(id) {
            return Ok(());
        }
        if self.repo.is_stored(id, self.target) {
            self.relied_on.push(id);
            return Ok(());
        }
        self.add_prepared(Prepared::new(kind, data, id, self.target))
    }

    /// Adds an object that was prepared for [`target`](Self::target).
    pub(crate) fn add_prepared(&mut self, object: Prepared) -> Result<()> {
        if self.contains(object.id) {
            return Ok(());
        }
        if self.target == Target::Memory {
            let written = self.repo.inner.objects.write_buf(object.kind, &object.data);
            return written.map(drop).context(Kind::Internal, || "cannot keep an object in memory".into());
        }
        self.waiting_bytes += object.data.len();
        self.order.push(object.id);
        self.waiting.insert(object.id, object);
        if self.target == Target::Pack && self.waiting_bytes > SPILL_AT {
            self.spill()?;
        }
        Ok(())
    }

    /// Returns true if the repository has the object `id`, or is about to get it.
    pub(super) fn has(&self, id: ObjectId) -> bool {
        self.contains(id) || self.repo.has_object(id)
    }

    /// Returns true if the repository did not have the object `id` before.
    pub(crate) fn is_new(&self, id: ObjectId) -> bool {
        self.contains(id)
    }

    /// Returns the blob `id`, stored or new; none if it cannot be read.
    pub(crate) fn read_blob(&self, id: ObjectId) -> Option<Vec<u8>> {
        let mut buffer = Vec::new();
        let found = self.try_find(&id, &mut buffer).ok().flatten();
        found.filter(|data| data.kind == ObjectKind::Blob).map(|data| data.data.to_vec())
    }

    /// Returns the repository that the objects are for.
    pub(super) fn repo(&self) -> &'r Repo {
        self.repo
    }

    /// Returns the repository with these objects in memory: all trees, and the blobs that are not in the temporary pack.
    pub(crate) fn in_memory(&self) -> Repo {
        let mut repo = self.repo.with_object_memory();
        // Not by the library's function, which would hash each of them again.
        let mut memory = repo.inner.objects.take_object_memory().unwrap_or_default();
        memory.extend(self.waiting.iter().map(|(id, object)| (*id, (object.kind, self.data_of(object)))));
        repo.inner.objects.set_object_memory(memory);
        repo
    }

    /// Returns what `object` holds.
    fn data_of(&self, object: &Prepared) -> Vec<u8> {
        let mut data = Vec::new();
        self.read(object, &mut data);
        data
    }

    /// Puts what `object` holds into `buffer`.
    fn read(&self, object: &Prepared, buffer: &mut Vec<u8>) {
        buffer.clear();
        if self.target == Target::Pack {
            buffer.reserve(object.size);
            let mut decoder = flate2::bufread::ZlibDecoder::new(object.data.as_slice());
            std::io::Read::read_to_end(&mut decoder, buffer).expect("our own stream is whole");
        } else {
            buffer.extend_from_slice(&object.data);
        }
    }

    fn contains(&self, id: ObjectId) -> bool {
        self.waiting.contains_key(&id) || self.spilled.contains_key(&id)
    }

    fn spill(&mut self) -> Result<()> {
        let pack = match &mut self.pack {
            Some(pack) => pack,
            None => self
                .pack
                .insert(PackWriter::begin(self.repo.inner.objects.store_ref().path(), self.repo.object_hash())?),
        };
        let mut kept = Vec::new();
        for id in self.order.drain(..) {
            let object = self.waiting.get(&id).expect("ordered objects wait");
            if object.kind != ObjectKind::Blob {
                kept.push(id);
                continue;
            }
            pack.add(id, object.kind, object.size, &object.data)?;
            self.spilled.insert(id, object.kind);
            self.waiting_bytes -= object.data.len();
            self.waiting.remove(&id);
        }
        self.order = kept;
        Ok(())
    }

    /// Writes all objects as durably as git does: packs are synced, loose objects follow git's default.
    pub(crate) fn write(mut self) -> Result<Written<'r>> {
        let (repo, relied_on) = (self.repo, std::mem::take(&mut self.relied_on));
        // At its end, `git gc` deletes loose objects that were unreferenced when it began.
        if self.target == Target::Loose && !self.order.is_empty() && repo.is_git_collecting() {
            self.switch_to_pack();
        }
        let mut written = Written {
            repo,
            loose: Vec::new(),
            packs: Vec::new(),
            packed: HashSet::new(),
            keeps: Vec::new(),
            relied_on,
        };
        match self.target {
            Target::Memory => {}
            Target::Pack => {
                if self.order.is_empty() && self.pack.is_none() {
                    return Ok(written);
                }
                self.spill()?;
                let mut pack = self.pack.take().expect("spilling begins a pack");
                for id in &self.order {
                    let object = &self.waiting[id];
                    pack.add(*id, object.kind, object.size, &object.data)?;
                }
                written.packed = self.order.iter().chain(self.spilled.keys()).copied().collect();
                let (path, keep) = pack.finish()?;
                written.packs.push(path);
                written.keeps.extend(keep);
            }
            Target::Loose => written.loose = self.write_loose()?,
        }
        Ok(written)
    }

    fn write_loose(mut self) -> Result<Vec<Prepared>> {
        let objects: Vec<Prepared> = self.order.iter().filter_map(|id| self.waiting.remove(id)).collect();
        for object in &objects {
            loose::write(self.repo.inner.objects.store_ref().path(), object.id, object.kind, &object.data)?;
        }
        Ok(objects)
    }
}

impl Find for NewObjects<'_> {
    fn try_find<'a>(&self, id: &gix::oid, buffer: &'a mut Vec<u8>) -> gix::Result<Option<Data<'a>>> {
        let Some(object) = self.waiting.get(id) else { return self.repo.inner.objects.try_find(id, buffer) };
        self.read(object, buffer);
        Ok(Some(Data { kind: object.kind, object_hash: self.repo.object_hash(), data: buffer }))
    }
}

impl Repo {
    /// Returns this repository with in-memory objects, so that a tree of the worktree can be compared without being
    /// written.
    pub(crate) fn with_object_memory(&self) -> Self {
        Self {
            inner: self.inner.clone().with_object_memory(),
            root: self.root.clone(),
            worktree_id: self.worktree_id.clone(),
            own_directories: self.own_directories.clone(),
            ref_store: self.ref_store,
            heeds: self.heeds,
            above: self.above.clone(),
            seen_head: self.seen_head.clone(),
            recorder: super::recorder::Recorder::default(),
            interrupt: self.interrupt.clone(),
            counter: std::sync::Arc::clone(&self.counter),
            packs: std::cell::OnceCell::new(),
            abbreviation: std::cell::OnceCell::new(),
            distrusts_objects: self.distrusts_objects.clone(),
            touch_time: self.touch_time.clone(),
            lost_patience: std::cell::RefCell::default(),
            skipped_refs: self.skipped_refs(),
            damaged_refs: std::sync::Arc::clone(&self.damaged_refs),
        }
    }

    /// Returns true if an object for `target` need not be written.
    pub(super) fn is_stored(&self, id: ObjectId, target: Target) -> bool {
        match target {
            Target::Memory => {
                self.inner.objects.exists_without_refresh(&id) && (!self.distrusts_objects() || self.is_sound(id))
            }
            Target::Loose | Target::Pack => self.freshen(id) && (!self.distrusts_objects.get() || self.is_sound(id)),
        }
    }

    /// Returns true if the repository has the object `id`, and makes `git gc` treat it as a new one.
    ///
    /// Git collects unreferenced objects that are older than two weeks. As git does when it writes an object that
    /// exists, we update the time of its file before we rely on it. If that fails, the result is false, and the object
    /// is written again.
    pub(crate) fn freshen(&self, id: ObjectId) -> bool {
        let path = self.loose_path(id);
        // The library says that these two exist everywhere, so only a file of their own that is whole is evidence.
        if id.is_empty_blob() || id.is_empty_tree() {
            let found = loose::read_if(self.inner.objects.store_ref().path(), id, |_| true);
            return matches!(found, Ok(loose::Found::Whole(_))) && touch(&path, self.touch_time.get());
        }
        // To look for new packs would cost more than to write the object twice.
        if !self.inner.objects.exists_without_refresh(&id) {
            return false;
        }
        // A running `git gc` may be about to delete the object, whatever the age of its pack.
        (has_content(&path) && touch(&path, self.touch_time.get()))
            || (!self.is_git_collecting() && self.freshen_pack_of(id))
    }

    /// From now on, reads each object before it counts as stored, and ignores caches: some objects are damaged.
    pub(crate) fn distrust_objects(&self) {
        self.distrusts_objects.set(true);
    }

    /// Returns true if objects were found to be damaged.
    pub(crate) fn distrusts_objects(&self) -> bool {
        self.distrusts_objects.get()
    }

    /// Updates the time of the object `id` and of the other objects in its pack, so that `git gc` keeps them for a
    /// while even if it finds them unreferenced.
    pub(super) fn renew(&self, id: ObjectId) {
        if !touch(&self.loose_path(id), self.touch_time.get()) {
            self.freshen_pack_of(id);
        }
    }

    /// Touches the pack that holds `id`; false if no settled pack does, or it cannot be touched.
    fn freshen_pack_of(&self, id: ObjectId) -> bool {
        let packs = self.packs.get_or_init(|| {
            let directory = self.inner.objects.store_ref().path().join("pack");
            SettledPack::all_in(&directory, self.object_hash())
        });
        let touch = |pack: &SettledPack| pack.touch(self.distrusts_objects(), self.touch_time.get());
        packs.iter().filter(|pack| pack.holds(id)).any(touch)
    }
}
