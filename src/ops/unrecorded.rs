//! Says why a commit whose lines are unknown has no record here, so that a command can name what helps.

use gix::ObjectId;

use super::{Context, arrived::links_to_come, chain::carry_forward::LiveShadows, known_base::known_base, records};
use crate::{
    git::Repo,
    model::{
        record::{RecordId, ids_in_message},
        refname::Base,
    },
    state,
};

/// Why commits have no record here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unrecorded {
    /// HEAD has moved from a commit with an agent's checkpoints since we last looked, or to commits with work of records: the next save
    /// makes the records, or links them.
    AwaitsSave,
    /// The message of one of them names this record, which is not here.
    IsElsewhere(RecordId),
    /// Git has never called our hooks in this repository, and there are no records.
    NeverEnabled,
}

/// Returns why `commits` have no record here; none if nothing is known that helps. This only informs: what cannot be read says
/// nothing.
pub(crate) fn unrecorded(context: &Context, commits: &[ObjectId]) -> Option<Unrecorded> {
    let repo = &context.repo;
    if awaits_save(context) || have_arrived(context, commits) {
        return Some(Unrecorded::AwaitsSave);
    }
    let has_no_records = || records::are_here(repo).is_ok_and(|are_here| !are_here);
    if commits.is_empty() || !has_no_records() {
        return None;
    }
    let record = |id: &ObjectId| ids_in_message(repo.message_of(*id).ok()?.as_bytes()).into_iter().next();
    if let Some(id) = commits.iter().find_map(record) {
        return Some(Unrecorded::IsElsewhere(id));
    }
    state::hooks::enabled_since(repo.common_dir()).is_none().then_some(Unrecorded::NeverEnabled)
}

/// Returns true if one of `commits` has come from elsewhere, and the next command that writes will link it to a record.
fn have_arrived(context: &Context, commits: &[ObjectId]) -> bool {
    !commits.is_empty()
        && links_to_come(context).is_ok_and(|links| links.iter().any(|link| commits.contains(&link.commit)))
}

fn awaits_save(context: &Context) -> bool {
    let repo = &context.repo;
    let has_agent = |repo: &Repo, base| LiveShadows::read(repo, base).ok()??.has_session(repo).ok();
    let known = known_base(context);
    let now = repo.head().ok().map(|head| Base::of_head(head.id));
    known.filter(|known| now.is_some_and(|now| now != *known)).and_then(|known| has_agent(repo, known)).unwrap_or(false)
}
