//! A shadow: reads it, looks at the worktree, takes the next checkpoint, carries work forward to another base, archives
//! it.

pub(crate) mod archive;
mod cache;
pub(crate) mod carriers;
pub(crate) mod carry_forward;
mod changes;
pub(crate) mod commit;
mod look;
pub(crate) mod lost;
pub(crate) mod made_again;
pub(crate) mod peek;
mod repair;
mod request;
mod saved;
mod shadow;
pub(crate) mod shadows;
pub(crate) mod stashed;
pub(crate) mod timeline;
mod write;

pub(crate) use cache::cache_path;
pub(crate) use changes::changes;
pub(crate) use look::{
    Seen, add_new_names, add_old_names, is_changed, leave_out_unknown_paths, limits, look_at_all, look_at_index,
    look_at_own_steps, look_at_paths, look_at_put_back, refuse_unknown_paths, scope_of_staged, store_cache,
};
pub(crate) use repair::{repair_before_next, repair_unchanged};
pub use request::{Author, SaveOptions};
pub(crate) use request::{Hold, OwnSteps, Request, Scope};
pub use saved::{FailedSubmodule, Saved, SavedPath, SavedSubmodule, SkippedPath, UnfilteredPath};
pub(crate) use saved::{SaveBelow, SavedBelow, milliseconds};
pub(crate) use shadow::Shadow;
pub(crate) use write::{publish, side_commit, take, write_again};
