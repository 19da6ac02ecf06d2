//! What models have used, in words.

use super::{output::printable, phrase};
use crate::ops::usage::{OfRecords, Usage};

/// Returns `120 input, 30 output, 1000 from cache`, and what that has cost.
pub(super) fn words(usage: &Usage) -> String {
    let names = ["input", "output", "from cache", "into cache", "reasoning"];
    let numbers = usage.tokens.numbers().into_iter().zip(names);
    let parts: Vec<String> =
        numbers.filter(|(number, _)| *number > 0).map(|(number, name)| format!("{number} {name}")).collect();
    let parts = if parts.is_empty() { "none".to_owned() } else { parts.join(", ") };
    format!("{parts}{}", cost(usage))
}

/// Returns what `usage` has cost, with something before it; nothing if the user has set no prices.
pub(super) fn cost(usage: &Usage) -> String {
    let Some(cost) = &usage.cost else { return String::new() };
    let amount = format!("  ({:.4} {}", cost.amount, printable(&cost.currency));
    match cost.unpriced {
        0 => format!("{amount})"),
        count => format!("{amount}, and {count} without a price)"),
    }
}

/// Says of how many of the sessions nothing is known; nothing if there are none.
pub(super) fn unreported(usage: &OfRecords) -> Option<String> {
    let count = usage.unreported.len();
    (count > 0).then(|| format!("{} reported nothing", phrase::count(count, "session")))
}
