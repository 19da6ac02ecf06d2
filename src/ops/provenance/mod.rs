//! Whose is this content? Finds the work of sessions that a commit, the index or the worktree contains.
//!
//! - `set_aside` finds shadows, archived or of other worktrees, whose work is here again.
//! - `recorded` finds records whose work is here again; `earlier` helps with lines of earlier versions of a file, `left_lately` reads which
//!   commits HEAD has left, `put_back` from which commits a restore has put files here, and `touching` which commits touch the same files.
//!   Where several records have the same lines, `brought_from` finds the commits that a file has come from.
//! - `moved_on` finds lines of a record that an amend or a squash has in other files.
//! - `moved_from` finds lines that a merge or a squash has moved. `left` reads which lines files lost from one commit to another.
//! - `amended` decides whether an amend has removed all work of a record.
//! - `covered` leaves out of a commit what earlier records have.
//! - `doubt` finds lines that may come from a record, but are too few to be sure.
//! - `steps` reads the steps of a shadow. For it, `former_names` follows a file through renames, and `moved_lines` finds the files that
//!   lines were moved from. `replay` finds the author of each line.
//!
//! How much of the work must be here? Only `ops::share` has thresholds. Callers ask it for:
//! - one line, if git names the commit that it prepared the new one from. If git only says where the work may have gone, one line
//!   makes its author unknown.
//! - any part, if git says where the work went: for example, a reset removed its commit from HEAD.
//! - half of the work, if only the content shows that it is here again.
//! - all of the work, before an archived shadow is marked as committed.

pub(crate) mod amended;
mod brought_from;
pub(crate) mod covered;
pub(crate) mod doubt;
pub(crate) mod earlier;
mod former_names;
pub(crate) mod left;
mod left_lately;
pub(crate) mod moved_from;
pub(crate) mod moved_lines;
pub(crate) mod moved_on;
mod names_now;
mod place;
mod put_back;
pub(crate) mod recorded;
pub(crate) mod replay;
pub(crate) mod set_aside;
mod shown;
pub(crate) mod step;
pub(crate) mod steps;
pub(crate) mod thrown_away;
mod touching;
