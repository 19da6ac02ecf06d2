//! A negotiation in one round: the other side hears what is wanted, and those commits that this side names.
//!
//! The log of records is the only thing that is asked for, and its commits lead to nothing else: each commit that git would name
//! beside it is one that the other side cannot have in common with it.

use gix_protocol::fetch::{
    Arguments, Negotiate, Response,
    negotiate::{Action, Round, one_round::State},
};

use gix::ObjectId;

/// All that is said in the one round.
pub(super) struct Named<'a> {
    pub(super) wants: &'a [ObjectId],
    pub(super) haves: &'a [ObjectId],
}

impl Negotiate for Named<'_> {
    fn mark_complete_and_common_ref(&mut self) -> gix::Result<Action> {
        Ok(Action::MustNegotiate { remote_ref_target_known: Vec::new() })
    }

    fn add_wants(&mut self, arguments: &mut Arguments, _remote_ref_target_known: &[bool]) -> bool {
        self.wants.iter().for_each(|id| arguments.want(id));
        !self.wants.is_empty()
    }

    fn one_round(
        &mut self,
        _state: &mut State,
        arguments: &mut Arguments,
        previous: Option<&Response>,
    ) -> gix::Result<(Round, bool)> {
        // All was said in the round before: another one would end as that did.
        if previous.is_some() {
            return Err(gix::error::message("the other side sends no pack").into());
        }
        self.haves.iter().for_each(|id| arguments.have(id));
        let round = Round {
            haves_sent: self.haves.len(),
            in_vain: 0,
            haves_to_send: self.haves.len(),
            previous_response_had_at_least_one_in_common: false,
        };
        Ok((round, true))
    }
}
