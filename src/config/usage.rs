//! Settings about what models have used.

use serde::Deserialize;

/// What is kept of it, and what it costs.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Usage {
    /// Whether the tokens are counted that agents report.
    pub count: bool,
    /// What a million tokens of each model cost.
    pub prices: Vec<String>,
    /// The currency of these prices.
    pub currency: String,
}
