//! An object in the form in which it is stored.

use gix::{ObjectId, objs::Kind as ObjectKind};

use super::deflate::deflate;

/// From this many objects on, one pack is written instead of a file for each.
const PACK_FROM: usize = 64;

/// Where new objects go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// One file an object.
    Loose,
    /// One pack for all.
    Pack,
    /// Nowhere: only this process sees them, through the repository's object memory.
    Memory,
}

impl Target {
    /// Returns where about `count` new objects go best.
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
    /// As it is for [`Target::Loose`] and [`Target::Memory`], deflated for [`Target::Pack`].
    pub(super) data: Vec<u8>,
}

impl Prepared {
    /// Hashes `data`, and deflates it if `target` wants that. Costs time, needs no repository: fit for threads.
    pub(crate) fn new(kind: ObjectKind, data: &[u8], id: ObjectId, target: Target) -> Self {
        let stored = if target == Target::Pack { deflate(&[data]) } else { data.to_vec() };
        Self { id, kind, size: data.len(), data: stored }
    }

    /// Returns the zlib stream of an object that was prepared for [`Target::Loose`].
    pub(super) fn deflated(&self) -> Vec<u8> {
        deflate(&[&self.data])
    }
}
