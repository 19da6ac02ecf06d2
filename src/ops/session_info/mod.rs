//! A session: its id, its file, and what its caller reports about it.

mod conversation;
mod files;
mod find;
mod id;
mod info;
mod known;
mod place;

pub(crate) use conversation::open_conversation;
pub(crate) use files::{all, is_at_work, lasting_turns, load, open_turns, peek, read_anew, store, turns_at_work};
pub(crate) use find::{find, meant, named, unknown, whole_id};
pub(crate) use id::check_id;
pub use id::new_id;
pub(crate) use info::check_transcript;
pub use info::{OnMultisession, SessionInfo};
pub(crate) use known::{
    add_info, clock, find_or_rebuild, found_or_new, has_lost_worktree, is_elsewhere, prepare, sign_of_life,
};
pub(crate) use place::{is_there, set_here};
