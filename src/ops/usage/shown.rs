//! What commands show of the tokens that sessions have used, and of what these have cost.

use serde::Serialize;

use super::{
    super::{Context, records::Log},
    settle,
};
use crate::{
    error::{Kind, Result},
    model::{
        record::RecordId,
        usage::{
            self, Tokens, Used,
            price::{Cost, Price, cost},
        },
    },
    state,
};

/// What was used, as commands show it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Usage {
    /// The tokens.
    #[serde(flatten)]
    pub tokens: Tokens,
    /// How many these are together.
    pub total: u64,
    /// What they have cost; none if the user has set no prices.
    pub cost: Option<Cost>,
}

/// What a session has used.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct OfSession {
    /// The session.
    pub(crate) id: String,
    /// The agent's name.
    pub(crate) agent: Option<String>,
    /// How much.
    #[serde(flatten)]
    pub(crate) usage: Usage,
}

/// What the sessions of some records have used.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct OfRecords {
    /// All together.
    #[serde(flatten)]
    pub(crate) usage: Usage,
    /// By session, in the order of the records.
    pub(crate) sessions: Vec<OfSession>,
    /// The sessions whose agents have reported nothing: these have used tokens, too.
    pub(crate) unreported: Vec<String>,
}

/// The prices that the user has set.
pub(crate) struct Prices {
    prices: Vec<Price>,
    currency: String,
}

impl Prices {
    /// Returns the prices of the settings, which have none that makes no sense.
    pub(crate) fn new(context: &Context) -> Self {
        let settings = &context.settings.usage;
        let prices = settings.prices.iter().filter_map(|text| Price::parse(text).ok()).collect();
        Self { prices, currency: settings.currency.clone() }
    }

    /// Returns what `used` is together, and what it has cost; none if nothing was reported.
    pub(crate) fn usage(&self, used: &[Used]) -> Option<Usage> {
        let tokens = usage::sum(used);
        let cost = cost(&self.prices, &self.currency, used);
        (!tokens.is_empty()).then(|| Usage { tokens, total: tokens.total(), cost })
    }
}

/// Returns what the sessions of the records `ids` have used, each record counted once; none if they have no sessions.
///
/// # Errors
/// If the log cannot be read. A record that cannot be read is left out.
pub(crate) fn of_records(context: &Context, ids: impl IntoIterator<Item = RecordId>) -> Result<Option<OfRecords>> {
    let log = match Log::open(&context.repo) {
        Err(error) if error.kind() == Kind::Corrupt => None,
        log => log?,
    };
    let mut ids: Vec<RecordId> = ids.into_iter().collect();
    let mut seen = std::collections::HashSet::new();
    ids.retain(|id| seen.insert(*id));
    let mut all: Vec<(String, Option<String>, Vec<Used>)> = Vec::new();
    for id in ids {
        let Some(Ok(Some(record))) = log.as_ref().map(|log| log.find(&id)) else { continue };
        for part in record.sessions {
            match all.iter_mut().find(|(session, ..)| *session == part.id) {
                Some((_, agent, used)) => {
                    *agent = agent.take().or(part.agent);
                    used.extend(part.usage);
                }
                None => all.push((part.id, part.agent, part.usage)),
            }
        }
    }
    if all.is_empty() {
        return Ok(None);
    }
    let prices = Prices::new(context);
    let together: Vec<Used> = all.iter().flat_map(|(.., used)| used.iter().cloned()).collect();
    let none = Usage { tokens: Tokens::default(), total: 0, cost: None };
    let mut found =
        OfRecords { usage: prices.usage(&together).unwrap_or(none), sessions: Vec::new(), unreported: Vec::new() };
    for (id, agent, used) in all {
        match prices.usage(&used) {
            Some(usage) => found.sessions.push(OfSession { id, agent, usage }),
            None => found.unreported.push(id),
        }
    }
    Ok(Some(found))
}

/// Returns what the session `id` has used that no record has; none if that is nothing, or nothing is known.
///
/// # Errors
/// If the file of it cannot be read.
pub(crate) fn unrecorded(context: &Context, id: &str) -> Result<Vec<Used>> {
    let Some(mut ledger) = state::usage::read(context.repo.common_dir(), id)? else { return Ok(Vec::new()) };
    settle(context, &mut ledger);
    Ok(ledger.unrecorded())
}
