//! What tokens have cost, by the prices that the user has set. There are no others.

use serde::Serialize;

use super::{Tokens, Used};

/// How many parts of the currency an amount is counted in.
const PARTS: u64 = 1_000_000;
/// A price for a million tokens that is higher makes no sense.
const HIGHEST: u64 = 1_000_000 * PARTS;

/// What a million tokens of a model cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Price {
    /// The name of the model, or, if it ends with `*`, how that begins.
    model: String,
    /// In millionths of the currency, in the order of [`Tokens::NAMES`]; none: it is not known.
    million: [Option<u64>; 5],
}

/// What was paid.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// The amount.
    pub amount: f64,
    /// The currency.
    pub currency: String,
    /// How many tokens it lacks, because they have no price.
    pub unpriced: u64,
}

impl Price {
    /// Returns the price that `text` sets: a model, and what a million tokens cost, as in `name* input=3 output=15.5`. The error says
    /// what is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut words = text.split_whitespace();
        let model = words.next().ok_or("it names no model")?.to_owned();
        if model.trim_end_matches('*').contains(['*', '=']) {
            return Err(format!("'{model}' is not the name of a model, which may end with '*'"));
        }
        let mut million = [None; 5];
        for word in words {
            let known = word.split_once('=').and_then(|(name, value)| {
                Some((Tokens::NAMES.iter().position(|known| *known == name)?, parse_amount(value)?))
            });
            let (at, amount) = known.ok_or_else(|| {
                format!("'{word}' is no price: write {}, each with '=' and an amount", Tokens::NAMES.join(", "))
            })?;
            million[at] = Some(amount);
        }
        // What a model writes for itself costs as much as the rest, unless there is a price for it.
        million[4] = million[4].or(million[1]);
        Ok(Self { model, million })
    }

    fn is_of(&self, model: &str) -> bool {
        self.model.strip_suffix('*').map_or(self.model == model, |beginning| model.starts_with(beginning))
    }
}

/// Returns how many millionths an amount in decimal digits is.
fn parse_amount(text: &str) -> Option<u64> {
    let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || rest.len() > 6 || !is_number(whole) || !is_number(rest) {
        return None;
    }
    let amount = whole.parse::<u64>().ok()?.checked_mul(PARTS)?.checked_add(format!("{rest:0<6}").parse().ok()?)?;
    (amount <= HIGHEST).then_some(amount)
}

/// Returns what `used` has cost by `prices`, the first of which counts that is for a model; none if there are no prices.
pub(crate) fn cost<'u>(prices: &[Price], currency: &str, used: impl IntoIterator<Item = &'u Used>) -> Option<Cost> {
    if prices.is_empty() {
        return None;
    }
    let (mut parts, mut unpriced) = (0_u128, 0_u64);
    for it in used {
        let price = it.model.as_deref().and_then(|model| prices.iter().find(|price| price.is_of(model)));
        for (at, number) in it.tokens.numbers().into_iter().enumerate() {
            match price.and_then(|price| price.million[at]) {
                Some(million) => parts += u128::from(number) * u128::from(million),
                None => unpriced = unpriced.saturating_add(number),
            }
        }
    }
    // A tenth of a thousandth is enough, and looks the same everywhere.
    let tenths = parts / u128::from(PARTS) / 100;
    #[expect(clippy::cast_precision_loss, reason = "more money than that was never paid")]
    let amount = tenths as f64 / 10_000.0;
    Some(Cost { amount, currency: currency.to_owned(), unpriced })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(model: Option<&str>, numbers: [u64; 5]) -> Used {
        Used { turn: 1, model: model.map(str::to_owned), tokens: Tokens::of(numbers) }
    }

    #[test]
    fn the_first_price_of_a_model_counts() {
        let texts = ["big-2 input=1 output=2 cache-read=0 cache-write=0", "big* input=3 output=15.5 cache-read=0.3"];
        let prices: Vec<Price> = texts.iter().map(|text| Price::parse(text).expect("a price")).collect();
        let of = |model, numbers| cost(&prices, "EUR", &[used(model, numbers)]).expect("there are prices");
        assert_eq!(of(Some("big-1"), [1_000_000, 2_000_000, 10_000, 0, 0]).amount.to_string(), "34.003");
        assert_eq!(
            of(Some("big-2"), [1_000_000, 1_000_000, 9, 9, 1_000_000]).amount.to_string(),
            "5",
            "reasoning is output"
        );
        let unknown = of(Some("big-1"), [0, 0, 0, 7, 0]);
        assert_eq!((unknown.amount.to_string().as_str(), unknown.unpriced), ("0", 7));
        assert_eq!(of(None, [1, 2, 3, 4, 5]).unpriced, 15);
        assert_eq!(of(Some("other"), [1, 2, 3, 4, 5]).unpriced, 15);
        assert_eq!(cost(&[], "EUR", &[used(Some("big-1"), [1; 5])]), None);
        assert!(of(Some("big-1"), [u64::MAX; 5]).amount > 0.0, "it overflows nothing");
    }

    #[rstest::rstest]
    #[case("", "names no model")]
    #[case("a=1", "not the name of a model")]
    #[case("a*b input=1", "not the name of a model")]
    #[case("a input", "'input' is no price")]
    #[case("a inputs=1", "'inputs=1' is no price")]
    #[case("a input=-1", "is no price")]
    #[case("a input=1e3", "is no price")]
    #[case("a input=0.1234567", "is no price")]
    #[case("a input=99999999999", "is no price")]
    fn a_price_that_makes_no_sense_is_refused(#[case] text: &str, #[case] what: &str) {
        let error = Price::parse(text).expect_err("it makes no sense");
        assert!(error.contains(what), "{error}");
    }
}
