//! Sessions: start, prompt, stop, end, and what people ask of them.
//!
//! Each event is a step of the table in `model::session`; what the files say is intent, what the refs say is fact.

mod admit;
mod asked;
mod continues;
mod elsewhere;
mod events;
mod handoff;
mod listing;
mod place;
mod prompt;
mod retry;
mod stand_in;
mod starting;
mod state;
mod turns;
mod warning;

pub(crate) use super::session_info::named;
pub use super::session_info::{OnMultisession, SessionInfo, new_id};
pub(crate) use asked::asked;
pub use elsewhere::Elsewhere;
pub(crate) use elsewhere::leave_elsewhere;
pub(crate) use events::{close_abandoned, leave};
pub use events::{end, stop};
pub(crate) use handoff::handoff;
pub use listing::{Listed, adopt, forget, list, show};
pub(crate) use place::{existing, place};
pub(crate) use prompt::{Opening, begin as begin_turn, note_stashes};
pub use prompt::{Prompted, prompt};
pub(crate) use stand_in::{give_way, stand_down, stand_in, stand_in_for_other};
pub use starting::start;
pub(crate) use starting::{begin as begin_session, seen_here};
pub use state::State;
pub(crate) use warning::question;
pub use warning::{Other, Question};
