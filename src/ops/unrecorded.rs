//! Says why a commit whose lines are unknown has no record here, so that a command can name what helps.

use gix::ObjectId;

use super::{Context, chain::carry_forward::LiveShadows, known_base::known_base};
use crate::{
    git::Repo,
    model::{
        record::ids_in_message,
        refname::{self, Base},
    },
    state,
};

/// Why commits have no record here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unrecorded {
    /// HEAD has moved from a commit with an agent's checkpoints since we last looked: the next save makes the records.
    AwaitsSave,
    /// The message of one of them names a record that is not here.
    IsElsewhere,
    /// Git has never called our hooks in this repository, and there are no records.
    NeverEnabled,
}

/// Returns why `commits` have no record here; none if nothing is known that helps. This only informs: what cannot be read says
/// nothing.
pub(crate) fn unrecorded(context: &Context, commits: &[ObjectId]) -> Option<Unrecorded> {
    let repo = &context.repo;
    if awaits_save(context) {
        return Some(Unrecorded::AwaitsSave);
    }
    let has_no_records = || repo.find_sound_ref(refname::HISTORY).is_ok_and(|history| history.is_none());
    if commits.is_empty() || !has_no_records() {
        return None;
    }
    let names_record =
        |id: &ObjectId| repo.message_of(*id).is_ok_and(|message| !ids_in_message(message.as_bytes()).is_empty());
    if commits.iter().any(names_record) {
        return Some(Unrecorded::IsElsewhere);
    }
    state::hooks::enabled_since(repo.common_dir()).is_none().then_some(Unrecorded::NeverEnabled)
}

fn awaits_save(context: &Context) -> bool {
    let repo = &context.repo;
    let has_agent = |repo: &Repo, base| LiveShadows::read(repo, base).ok()??.has_agent(repo).ok();
    let known = known_base(context);
    let now = repo.head().ok().map(|head| Base::of_head(head.id));
    known.filter(|known| now.is_some_and(|now| now != *known)).and_then(|known| has_agent(repo, known)).unwrap_or(false)
}
