//! Abbreviates ids for people: to as many digits as `core.abbrev` says, or more if another object begins with the same digits.

use std::sync::{Arc, OnceLock};

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::namesakes::Namesakes;

/// The shortest length that git accepts, and the shortest that it chooses if none is set.
const LEAST: usize = 4;
const LEAST_BY_ITSELF: usize = 7;

/// Abbreviates ids as git does.
pub(crate) struct Abbreviation {
    setting: Option<BString>,
    objects: Arc<gix::odb::Store>,
    digits: OnceLock<usize>,
    namesakes: OnceLock<Namesakes>,
}

impl Abbreviation {
    /// Returns how the ids of `objects` are abbreviated with the value `setting` of `core.abbrev`.
    pub(super) fn new(setting: Option<BString>, objects: Arc<gix::odb::Store>) -> Self {
        Self { setting, objects, digits: OnceLock::new(), namesakes: OnceLock::new() }
    }

    /// Returns `id` with as many digits as git would print: the usual number, or more if another object begins with the same ones.
    pub(crate) fn of(&self, id: &ObjectId) -> String {
        let (usual, full) = (self.digits(id.kind()), id.kind().len_in_hex());
        let is_enough = |digits: &usize| {
            let namesakes = self.namesakes.get_or_init(|| Namesakes::new(&self.objects));
            !namesakes.has_other(*id, *digits)
        };
        let digits = (usual..full).find(is_enough).unwrap_or(full);
        id.to_hex_with_len(digits).to_string()
    }

    /// Returns how many digits are usual here for ids of `kind`.
    pub(crate) fn digits(&self, kind: gix::hash::Kind) -> usize {
        *self.digits.get_or_init(|| {
            let packed = || self.objects.to_handle_arc().packed_object_count().unwrap_or_default();
            digits(self.setting.as_ref().map(|setting| setting.as_slice()), packed, kind.len_in_hex())
        })
    }
}

/// Returns the length for the value `setting` of `core.abbrev` (git-config(1)), in a repository with `packed` objects in packs.
///
/// Git fails if the value is no number or out of range. This ignores a value that is no number, and takes the nearest valid
/// length.
fn digits(setting: Option<&[u8]>, packed: impl Fn() -> u64, full: usize) -> usize {
    let by_itself = || {
        // As many as make it unlikely that two of the objects share them: git's `repo_find_unique_abbrev_r`.
        let bits = (u64::BITS - packed().leading_zeros()) as usize;
        bits.div_ceil(2).max(LEAST_BY_ITSELF)
    };
    let Some(setting) = setting.and_then(|setting| setting.to_str().ok()) else { return by_itself() };
    match setting.to_ascii_lowercase().as_str() {
        "no" | "off" | "false" | "" => full,
        number => number.parse().map_or_else(|_| by_itself(), |number: usize| number.clamp(LEAST, full)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::of_a_small_repository(None, 300, 7)]
    #[case::of_git_itself(None, 380_000, 10)]
    #[case::of_a_large_one(None, 12_000_000, 12)]
    #[case::auto(Some("auto"), 380_000, 10)]
    #[case::a_number(Some("9"), 380_000, 9)]
    #[case::off(Some("no"), 300, 40)]
    #[case::off_in_capitals(Some("False"), 300, 40)]
    #[case::too_small(Some("2"), 300, 4)]
    #[case::too_large(Some("99"), 300, 40)]
    #[case::no_number(Some("many"), 300, 7)]
    fn lengths(#[case] setting: Option<&str>, #[case] packed: u64, #[case] expected: usize) {
        assert_eq!(digits(setting.map(str::as_bytes), || packed, 40), expected);
    }
}
