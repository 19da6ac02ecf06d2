//! `sync`: a fetch and a push.

use serde::Serialize;

use super::{
    fetch::{FetchOptions, Fetched, fetch},
    push::{PushOptions, Sent, push},
};
use crate::{error::Result, ops::Context};

/// What a sync has done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Synced {
    version: u32,
    /// What was fetched.
    #[serde(rename = "fetch")]
    pub(crate) fetched: Fetched,
    /// What was sent; none if that failed.
    #[serde(rename = "push")]
    pub(crate) sent: Option<Sent>,
}

/// Fetches from a remote, then pushes to it. Returns what was done, and the error of the push.
///
/// # Errors
/// If nothing was fetched.
pub(crate) fn sync(context: &Context, options: &PushOptions) -> Result<(Synced, Result<()>)> {
    let PushOptions { remote, transcripts, dry_run, .. } = options.clone();
    let fetched = fetch(context, &FetchOptions { remote, transcripts, dry_run, ..FetchOptions::default() })?;
    let options = PushOptions { remote: Some(fetched.remote.clone()), ..options.clone() };
    let (sent, result) = match push(context, &options) {
        Ok(sent) => (Some(sent), Ok(())),
        Err(error) => (None, Err(error)),
    };
    Ok((Synced { version: 1, fetched, sent }, result))
}
