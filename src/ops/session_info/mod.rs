//! A session: its id, its file, and what its caller reports about it.

mod files;
mod id;
mod known;
mod told;

pub(crate) use files::{all, load, open_turns, store};
pub use id::new_id;
pub(crate) use id::{check_id, unknown};
pub(crate) use known::{clock, is_elsewhere, known, prepare, sign_of_life, told_of};
pub(crate) use told::check_transcript;
pub use told::{OnMultisession, Told};
