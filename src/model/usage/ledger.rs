//! What the models of one session have used, and which of it is in records.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Tokens, Used, reading::Position};

const VERSION: u32 = 1;

/// What was used in a turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    turn: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(flatten)]
    tokens: Tokens,
    /// How much of it records have.
    #[serde(default, skip_serializing_if = "Tokens::is_empty")]
    recorded: Tokens,
}

/// A record that was about to be written. If it is there, it has what is claimed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Claim {
    /// The record.
    pub(crate) record: String,
    /// Its revision.
    pub(crate) revision: u32,
    /// How much of each entry is in records then, in their order.
    upto: Vec<Tokens>,
}

/// What the models of one session have used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ledger {
    version: u32,
    /// The files that were read, and how far.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) files: BTreeMap<String, Position>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    used: Vec<Entry>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) claim: Option<Claim>,
}

impl Default for Ledger {
    fn default() -> Self {
        Self { version: VERSION, files: BTreeMap::new(), used: Vec::new(), claim: None }
    }
}

impl Ledger {
    /// Returns the ledger that `text` holds; none if that makes no sense.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok().filter(|ledger: &Self| ledger.version == VERSION)
    }

    /// Returns its text.
    pub(crate) fn to_text(&self) -> String {
        serde_json::to_string(self).expect("plain values have a JSON form") + "\n"
    }

    /// Adds what was used in a turn. Entries are never moved: a claim counts on their places.
    pub(crate) fn add(&mut self, turn: u32, used: &Used) {
        let own = self.used.iter_mut().rev().find(|entry| entry.turn == turn && entry.model == used.model);
        match own {
            Some(entry) => entry.tokens = entry.tokens.plus(used.tokens),
            None => self.used.push(Entry {
                turn,
                model: used.model.clone(),
                tokens: used.tokens,
                recorded: Tokens::default(),
            }),
        }
    }

    /// Returns what no record has of it.
    pub(crate) fn unrecorded(&self) -> Vec<Used> {
        self.beyond_records(self.used.iter().map(|entry| entry.tokens))
    }

    /// Returns how much of each entry up to `upto` no record has.
    fn beyond_records(&self, upto: impl Iterator<Item = Tokens>) -> Vec<Used> {
        let mut all = Vec::new();
        for (entry, upto) in self.used.iter().zip(upto) {
            let tokens = upto.minus(entry.recorded);
            if !tokens.is_empty() {
                super::add(&mut all, &Used { turn: entry.turn, model: entry.model.clone(), tokens });
            }
        }
        all
    }

    /// Lets revision `revision` of the record `id` have all that no record has, and returns that. The claim before must be settled.
    pub(crate) fn claim(&mut self, id: &str, revision: u32) -> Vec<Used> {
        let upto = self.used.iter().map(|entry| entry.tokens).collect();
        self.claim = Some(Claim { record: id.to_owned(), revision, upto });
        self.unrecorded()
    }

    /// Returns what the claim is of, if it is of revision `revision` of the record `id`: a command that was killed is run again.
    pub(crate) fn claimed(&self, id: &str, revision: u32) -> Option<Vec<Used>> {
        let claim = self.claim.as_ref().filter(|claim| claim.record == id && claim.revision == revision)?;
        Some(self.beyond_records(claim.upto.iter().copied()))
    }

    /// Ends the claim: `is_there`, if the record is.
    pub(crate) fn settle(&mut self, is_there: bool) {
        let Some(claim) = self.claim.take().filter(|_| is_there) else { return };
        for (entry, upto) in self.used.iter_mut().zip(&claim.upto) {
            entry.recorded = entry.recorded.or_more(*upto);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(turn: u32, output: u64) -> Used {
        Used { turn, model: None, tokens: Tokens { output, ..Tokens::default() } }
    }

    #[test]
    fn each_token_is_in_one_record() {
        let mut ledger = Ledger::default();
        ledger.add(1, &used(0, 10));
        ledger.add(2, &used(0, 5));
        assert_eq!(ledger.claim("a", 1), [used(1, 10), used(2, 5)]);
        // In the same turn, another commit.
        ledger.add(2, &used(0, 7));
        assert_eq!(ledger.claimed("a", 1), Some(vec![used(1, 10), used(2, 5)]), "it may be written again");
        assert_eq!((ledger.claimed("a", 2), ledger.claimed("b", 1)), (None, None));
        ledger.settle(true);
        assert_eq!(ledger.claim("b", 1), [used(2, 7)]);
        ledger.settle(false);
        assert_eq!(ledger.claim("c", 1), [used(2, 7)], "the record was never written");
        ledger.settle(true);
        assert_eq!(ledger.unrecorded(), []);
        assert_eq!(Ledger::parse(&ledger.to_text()), Some(ledger));
    }

    #[rstest::rstest]
    #[case("")]
    #[case("{}")]
    #[case(r#"{"version":2}"#)]
    #[case(r#"{"version":1,"used":[{"turn":-1}]}"#)]
    fn damage_is_noticed(#[case] text: &str) {
        assert_eq!(Ledger::parse(text), None);
    }
}
