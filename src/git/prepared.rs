//! An object ready to be written.

use gix::{ObjectId, objs::Kind as ObjectKind};

use super::deflate::deflate;

/// From this many objects on, one pack is written instead of a file for each.
const PACK_FROM: usize = 64;

/// Where to write new objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// One file an object.
    Loose,
    /// One pack for all.
    Pack,
    /// In memory: only this process sees them.
    Memory,
}

impl Target {
    /// Returns the best target for about `count` new objects.
    pub(crate) fn for_count(count: usize) -> Self {
        if count >= PACK_FROM { Self::Pack } else { Self::Loose }
    }
}

/// An object ready to be stored.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(super) id: ObjectId,
    pub(super) kind: ObjectKind,
    pub(super) size: usize,
    /// Plain for [`Target::Loose`] and [`Target::Memory`], deflated for [`Target::Pack`].
    pub(super) data: Vec<u8>,
}

impl Prepared {
    /// Prepares `data` with the id `id`, and deflates it for a pack. Needs no repository, so that threads can do it.
    pub(crate) fn new(kind: ObjectKind, data: &[u8], id: ObjectId, target: Target) -> Self {
        let stored = if target == Target::Pack { deflate(&[data]) } else { data.to_vec() };
        Self { id, kind, size: data.len(), data: stored }
    }

    /// Returns the zlib stream of an object that was prepared for [`Target::Loose`].
    pub(super) fn deflated(&self) -> Vec<u8> {
        deflate(&[&self.data])
    }
}
