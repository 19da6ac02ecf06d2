//! What models have used, in tokens: as agents report it, by turn and by model.
//!
//! `reading` finds it in the files in which agents write their conversations down, `ledger` keeps what was found of one session,
//! `price` says what it has cost the user.

pub(crate) mod ledger;
pub(crate) mod price;
pub(crate) mod reading;

use serde::{Deserialize, Serialize};

/// No answer of a model has as many: a higher number makes no sense.
pub(crate) const MOST: u64 = 1_000_000_000_000;

/// The longest name of a model, in characters.
const LONGEST: usize = 100;

/// Returns true if `name` may be that of a model. Messages of the agent itself have a name in angle brackets.
pub(crate) fn is_model_name(name: &str) -> bool {
    let is_name = !name.is_empty() && name.chars().count() <= LONGEST && !name.starts_with('<');
    is_name && !name.chars().any(char::is_control)
}

/// Numbers of tokens. None is counted in two of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tokens {
    /// Read by the model, and in no cache.
    pub input: u64,
    /// Written by the model.
    pub output: u64,
    /// Read from a cache.
    pub cache_read: u64,
    /// Written to a cache, and read thereby.
    pub cache_write: u64,
    /// Written by the model for itself, where the agent reports that apart; otherwise part of the output.
    pub reasoning: u64,
}

impl Tokens {
    /// The names of the five numbers.
    pub const NAMES: [&str; 5] = ["input", "output", "cache-read", "cache-write", "reasoning"];

    /// Returns the five numbers, in the order of [`NAMES`](Self::NAMES).
    pub fn numbers(&self) -> [u64; 5] {
        [self.input, self.output, self.cache_read, self.cache_write, self.reasoning]
    }

    /// Returns these five numbers; those that make no sense are cut.
    pub fn of(numbers: [u64; 5]) -> Self {
        let [input, output, cache_read, cache_write, reasoning] = numbers.map(|number| number.min(MOST * 1000));
        Self { input, output, cache_read, cache_write, reasoning }
    }

    fn each(self, other: Self, join: fn(u64, u64) -> u64) -> Self {
        let (one, other) = (self.numbers(), other.numbers());
        Self::of(std::array::from_fn(|at| join(one[at], other[at])))
    }

    /// Returns both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        self.each(other, u64::saturating_add)
    }

    /// Returns what these have more than `other`.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        self.each(other, u64::saturating_sub)
    }

    /// Returns the higher of each.
    #[must_use]
    pub(crate) fn or_more(self, other: Self) -> Self {
        self.each(other, u64::max)
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.numbers() == [0; 5]
    }

    /// Returns how many these are together.
    pub fn total(&self) -> u64 {
        self.numbers().into_iter().fold(0, u64::saturating_add)
    }
}

/// What a model has used in a turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Used {
    /// The turn of the session, from 1.
    pub turn: u32,
    /// The model; none if the agent does not name it.
    pub model: Option<String>,
    /// How much.
    #[serde(flatten)]
    pub tokens: Tokens,
}

/// Adds `more` to `all`, which has one entry for each turn and model, sorted.
pub(crate) fn add(all: &mut Vec<Used>, more: &Used) {
    let key = |used: &Used| (used.turn, used.model.clone());
    match all.binary_search_by_key(&key(more), key) {
        Ok(at) => all[at].tokens = all[at].tokens.plus(more.tokens),
        Err(at) => all.insert(at, more.clone()),
    }
}

/// Returns how much `all` are together.
pub(crate) fn sum<'u>(all: impl IntoIterator<Item = &'u Used>) -> Tokens {
    all.into_iter().fold(Tokens::default(), |sum, used| sum.plus(used.tokens))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_is_kept_by_turn_and_model() {
        let used = |turn, model: &str, output| Used {
            turn,
            model: Some(model.to_owned()),
            tokens: Tokens { output, ..Tokens::default() },
        };
        let mut all = Vec::new();
        for it in [used(2, "b", 1), used(1, "b", 2), used(2, "a", 4), used(2, "b", 8)] {
            add(&mut all, &it);
        }
        assert_eq!(all, [used(1, "b", 2), used(2, "a", 4), used(2, "b", 9)]);
        assert_eq!(sum(&all).total(), 15);
    }

    #[test]
    fn numbers_that_make_no_sense_overflow_nothing() {
        let most = Tokens::of([u64::MAX; 5]);
        assert_eq!(most.plus(most), most);
        assert_eq!(Tokens::default().minus(most), Tokens::default());
        assert!(i64::try_from(most.input).is_ok(), "a file can hold it");
    }
}
