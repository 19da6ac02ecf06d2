//! Abbreviates ids for people: to as many digits as `core.abbrev` says, or more if another object begins with the same digits.

use std::cell::OnceCell;

use bstr::{BString, ByteSlice as _};
use gix::{ObjectId, odb::store::prefix::disambiguate::Candidate};

use super::Repo;

/// The shortest length that git accepts, and the shortest that it chooses if none is set.
const LEAST: usize = 4;
const LEAST_BY_ITSELF: usize = 7;

/// Abbreviates ids as git does.
pub(crate) struct Abbreviation {
    setting: Option<BString>,
    objects: gix::OdbHandle,
    digits: OnceCell<usize>,
}

impl Repo {
    /// Returns how ids are abbreviated here.
    pub(crate) fn abbreviation(&self) -> Abbreviation {
        let mut objects = self.inner.objects.clone();
        // Otherwise each id would make the library read the directory of packs again.
        objects.refresh_never();
        Abbreviation { setting: self.config_value("core.abbrev"), objects, digits: OnceCell::new() }
    }

    /// Returns `id`, abbreviated for people.
    pub(crate) fn short_id(&self, id: &ObjectId) -> String {
        self.abbreviation().of(id)
    }
}

impl Abbreviation {
    /// Returns `id` with as many digits as git would print. If no object here has this id, returns the usual number of digits.
    pub(crate) fn of(&self, id: &ObjectId) -> String {
        let digits = self.digits(id.kind());
        let found = Candidate::new(*id, digits).ok().and_then(|id| self.objects.disambiguate_prefix(id).ok().flatten());
        found.map_or_else(|| id.to_hex_with_len(digits).to_string(), |prefix| prefix.to_string())
    }

    /// Returns how many digits are usual here for ids of `kind`.
    pub(crate) fn digits(&self, kind: gix::hash::Kind) -> usize {
        *self.digits.get_or_init(|| {
            let packed = || self.objects.packed_object_count().unwrap_or_default();
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
