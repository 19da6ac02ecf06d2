//! Whether something was recorded here since our logs were last sent to a remote.

use std::collections::BTreeMap;

use super::known::Remote;
use crate::{
    error::Result,
    git::Repo,
    model::refname,
    state::exchanges::{self, Exchange},
};

/// Notes that our own logs were sent to `remote` as they were at `tips`.
pub(super) fn note_sent(repo: &Repo, remote: &Remote, tips: BTreeMap<String, String>) -> Result<()> {
    let exchange = Exchange { urls: remote.digest.clone(), sent: tips, failure: None };
    exchanges::write(repo.common_dir(), &remote.name, &exchange)
}

/// Returns the ids of our own logs by the names of their refs; with `transcripts` or without.
pub(super) fn own_tips(repo: &Repo, transcripts: bool) -> Result<BTreeMap<String, String>> {
    let mut tips = repo.refs_below(refname::PREFIX)?;
    tips.retain(|(name, _)| name == refname::HISTORY || transcripts && refname::transcripts_month(name).is_some());
    Ok(tips.into_iter().map(|(name, id)| (name, id.to_string())).collect())
}

/// Returns true if our own logs are not what was last sent to these addresses of `remote`.
pub(super) fn has_news(repo: &Repo, remote: &Remote, known: &Exchange, transcripts: bool) -> Result<bool> {
    let own = own_tips(repo, transcripts)?;
    Ok(known.urls != remote.digest || own.iter().any(|(name, id)| known.sent.get(name) != Some(id)))
}
