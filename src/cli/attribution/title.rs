//! What an attribution is of, and where its records come from.

use std::collections::BTreeMap;

use super::super::{call::Call, output::printable, phrase};
use crate::{error::Result, ops::attribution::Attribution};

/// Prints what the attribution is of, and which records it is made from.
pub(super) fn print(found: &Attribution, call: &mut Call) -> Result<()> {
    let title = match (&found.commit, &found.range) {
        (Some(commit), _) => format!("commit {commit}"),
        (None, Some(range)) => {
            let recorded = found.commits.iter().filter(|commit| !commit.records.is_empty()).count();
            let commits = phrase::count(found.commits.len(), "commit");
            format!("range {}: {commits}, {recorded} with a record", printable(range))
        }
        (None, None) => "not committed yet".to_owned(),
    };
    let title = call.out.paint(phrase::ID, &title);
    call.out.line(&title)?;
    if found.commit.is_some() && found.records.is_empty() {
        call.out.line(&missing(found).unwrap_or_else(|| "no record".to_owned()))?;
    } else if let Some(missing) = missing(found) {
        call.out.line(&missing)?;
    }
    let mut remotes: BTreeMap<&str, usize> = BTreeMap::new();
    for record in &found.fetched_records {
        *remotes.entry(&record.remote).or_default() += 1;
    }
    for (remote, count) in remotes {
        let of = if found.records.len() == 1 { String::new() } else { format!("{}: ", phrase::count(count, "record")) };
        call.out.line(&format!("{of}recorded in '{}', not in this clone", printable(remote)))?;
    }
    if !found.inferred.is_empty() {
        let names: Vec<String> = found.inferred.iter().map(printable).collect();
        call.out.line(&format!("inferred from the message, not counted: {}", names.join(", ")))?;
    }
    Ok(())
}

/// Returns a line about the records that commits name but that are not here or cannot be read; none if there are none.
pub(super) fn missing(found: &Attribution) -> Option<String> {
    let what = if found.troubles.is_empty() { "not here" } else { "cannot be read" };
    match found.missing_records.as_slice() {
        [] => None,
        [id] => Some(format!("{what}: the record {}", id.as_str())),
        [first, others @ ..] => Some(format!("{what}: the record {} and {} more", first.as_str(), others.len())),
    }
}
