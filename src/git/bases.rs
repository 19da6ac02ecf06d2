//! Chooses the base of a delta: among the objects packed last, the one that differs least from the new one.

use std::collections::VecDeque;

use gix::objs::Kind as ObjectKind;

/// The longest chain of deltas: each delta slows down every later read.
const DEEPEST: u32 = 20;
/// Larger objects are stored whole.
const LARGEST: usize = 1 << 20;
/// How many bytes of objects are kept in memory.
const MEMORY: usize = 8 << 20;

/// An object in the pack being written.
#[derive(Debug)]
pub(super) struct Base {
    pub(super) kind: ObjectKind,
    /// Its offset in the pack.
    pub(super) offset: u64,
    /// The length of its chain of deltas.
    pub(super) depth: u32,
    pub(super) data: Vec<u8>,
}

/// The objects packed last.
#[derive(Debug, Default)]
pub(super) struct Bases {
    bases: VecDeque<Base>,
    bytes: usize,
}

impl Bases {
    /// Keeps `base` as a candidate for later objects.
    pub(super) fn push(&mut self, base: Base) {
        if base.data.len() > LARGEST || base.depth >= DEEPEST {
            return;
        }
        self.bytes += base.data.len();
        self.bases.push_back(base);
        while self.bytes > MEMORY {
            self.bytes -= self.bases.pop_front().map_or(self.bytes, |base| base.data.len());
        }
    }

    /// Returns the best base for `data`, if a delta is worth it.
    pub(super) fn find(&self, kind: ObjectKind, data: &[u8]) -> Option<&Base> {
        if data.len() > LARGEST {
            return None;
        }
        let of_kind = self.bases.iter().filter(|base| base.kind == kind);
        let (common, best) = of_kind
            .map(|base| (common(&base.data, data), base))
            .max_by_key(|(common, base)| (*common, std::cmp::Reverse(base.depth)))?;
        (common > data.len() / 2).then_some(best)
    }
}

/// Returns how many bytes `a` and `b` share at their beginning and at their end.
fn common(a: &[u8], b: &[u8]) -> usize {
    let start = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let most = a.len().min(b.len()) - start;
    start + a.iter().rev().zip(b.iter().rev()).take(most).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base(offset: u64, depth: u32, data: &[u8]) -> Base {
        Base { kind: ObjectKind::Blob, offset, depth, data: data.to_owned() }
    }

    #[test]
    fn the_most_similar_one_is_found_if_it_is_similar_at_all() {
        let mut bases = Bases::default();
        for (offset, data) in [&b"one two three four"[..], b"one two six four", b"unlike"].into_iter().enumerate() {
            bases.push(base(offset as u64, 0, data));
        }
        bases.push(base(9, DEEPEST, b"one two 3 four"));
        let find = |data: &[u8]| bases.find(ObjectKind::Blob, data).map(|base| base.offset);
        assert_eq!(find(b"one two 3 four"), Some(1), "the same one is too deep");
        assert_eq!(find(b"one two three or four"), Some(0));
        assert_eq!(find(b"nothing like it"), None);
        assert!(bases.find(ObjectKind::Tree, b"one two three four").is_none());
    }
}
