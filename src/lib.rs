//! Checkpoints of the whole worktree of a git repository: save any moment, get any moment back.
//!
//! This crate is the program `git checkpoint` ([`cli::main`]), and a library for editors and orchestrators that take
//! checkpoints themselves. The library never prints, never exits, and reads no setting from the environment;
//! `examples/embed.rs` is a whole program.
//!
//! # Open
//! All begins with a [`Context`]: a repository with its [`settings`], and with [`Subscriber`]s that receive an [`Event`]
//! for each thing that is done.
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/doctest.rs"));
//! # fn main() -> git_checkpoint::Result<()> {
//! # let directory = repository("poem", "one\n");
//! use git_checkpoint::{Context, Kind};
//!
//! let mut context = Context::open(directory.path())?;
//! context.settings.save.max_file_size = 1 << 20;
//!
//! let error = Context::open("/".as_ref()).err().expect("no repository");
//! assert_eq!(error.kind(), Kind::User);
//! # Ok(())
//! # }
//! ```
//!
//! # Save
//! [`save()`] takes a checkpoint of all files, tracked and untracked, but the ignored ones. It leaves HEAD, index, stash
//! and branches as they are. Where nothing has changed since the last one there is nothing to take.
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/doctest.rs"));
//! # fn main() -> git_checkpoint::Result<()> {
//! # let directory = repository("poem", "one\n");
//! # let context = git_checkpoint::Context::open(directory.path())?;
//! use git_checkpoint::{SaveOptions, list, save};
//!
//! std::fs::write(directory.path().join("poem"), "two\n").expect("writable");
//! let message = Some("before the agent".to_owned());
//! let saved = save(&context, &SaveOptions { message, ..SaveOptions::default() })?;
//! assert_eq!(saved.paths[0].path, "poem");
//! assert!(!save(&context, &SaveOptions::default())?.created, "nothing has changed since");
//!
//! list(&context, &Default::default(), &mut |entry| {
//!     assert_eq!(entry.checkpoint.subject, "before the agent");
//!     Ok(true)
//! })?;
//! # Ok(())
//! # }
//! ```
//!
//! # Restore
//! [`restore()`] puts a checkpoint back. It first takes a checkpoint of what it replaces, and leaves a file alone that
//! others have changed since, unless the options say otherwise. [`resolve()`] lists the names of checkpoints.
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/doctest.rs"));
//! # fn main() -> git_checkpoint::Result<()> {
//! # let directory = repository("poem", "one\n");
//! # let context = git_checkpoint::Context::open(directory.path())?;
//! use git_checkpoint::{RestoreOptions, restore};
//!
//! let poem = directory.path().join("poem");
//! std::fs::write(&poem, "two\n").expect("writable");
//! let target = "base".to_owned();
//! let restored = restore(&context, &RestoreOptions { target, all: true, ..RestoreOptions::default() })?;
//! assert_eq!(restored.written, ["poem"]);
//! assert_eq!(std::fs::read_to_string(&poem).expect("readable"), "one\n");
//! # Ok(())
//! # }
//! ```
//!
//! # Undo
//! [`undo()`] takes the last restore back, and a second one goes further back.
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/doctest.rs"));
//! # fn main() -> git_checkpoint::Result<()> {
//! # let directory = repository("poem", "one\n");
//! # let context = git_checkpoint::Context::open(directory.path())?;
//! use git_checkpoint::{RestoreOptions, UndoOptions, restore, undo};
//!
//! let poem = directory.path().join("poem");
//! std::fs::write(&poem, "two\n").expect("writable");
//! let target = "base".to_owned();
//! restore(&context, &RestoreOptions { target, all: true, ..RestoreOptions::default() })?;
//! undo(&context, &UndoOptions::default())?;
//! assert_eq!(std::fs::read_to_string(&poem).expect("readable"), "two\n");
//! # Ok(())
//! # }
//! ```
//!
//! # Diff
//! [`diff()`] compares two checkpoints, or one with the worktree. [`verify()`] marks a checkpoint as good, and without
//! options that is what the worktree is compared with.
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/doctest.rs"));
//! # fn main() -> git_checkpoint::Result<()> {
//! # let directory = repository("poem", "one\n");
//! # let context = git_checkpoint::Context::open(directory.path())?;
//! use git_checkpoint::{DiffOptions, SaveOptions, diff, save, verify};
//!
//! let poem = directory.path().join("poem");
//! std::fs::write(&poem, "two\n").expect("writable");
//! save(&context, &SaveOptions::default())?;
//! verify(&context, Some("@"))?;
//! std::fs::write(&poem, "two\nthree\n").expect("writable");
//! let comparison = diff(&context, &DiffOptions::default())?;
//! assert_eq!((comparison.files[0].added, comparison.files[0].deleted), (Some(1), Some(0)));
//! # Ok(())
//! # }
//! ```
//!
//! # The map
//! ```text
//! git, agents, people
//!         |
//!   cli, remote        the doors: `cli` parses, calls, prints, asks `agent` what an agent's event means; `remote` answers git
//!         |
//!        ops          the verbs: save, restore, begin a turn, condense, attribute, ...
//!      /  |  \
//! model  git  state   the nouns (pure), the only door to the repository, our own files and locks
//! ```
//! `config` has the layers of settings, `error` the error type of the crate, `testing` what tests use of its inside. All
//! but `cli::main`, `remote::main` and the names below is private. `tests/architecture.rs` says which module may use which, and checks it.
//! No file uses a file that uses it, directly or through others; `tests/architecture/cycles.rs` checks that.
//!
//! # What always holds
//! - Nothing is lost: before content is replaced, a checkpoint holds it, and shadows that are set aside go to the archive.
//! - HEAD, branches, stash and reflogs are the user's; only `restore` and `undo` change files of the worktree.
//! - Refs below `refs/checkpoints/` are the truth; each update names the expected old value. Session files hold intent
//!   and caches, and are rebuilt from refs.
//! - Each step can be repeated: after a crash, the next command finishes what is left.
//! - A failing hook breaks neither git nor the agent that calls it.
//!
//! # Words
//! - *checkpoint*: the whole worktree at one moment, as a commit ([`Checkpoint`])
//! - *shadow*: the checkpoints on one *base* commit in one worktree, or of one session there: a ref (`model::refname`)
//! - *session*, *turn*: a conversation with an agent; one prompt until the agent stops (`model::session`)
//! - *contributor*: who made a change: agent, human or unknown ([`Contributor`])
//! - *archive*: shadows that were set aside (`ops::reset`)
//! - *condense*: make a *record* of the work that a commit took from shadows (`model::record`)
//! - *attribution*: who wrote each line (`model::attribution`)

// With `testing`, all that is public can be reached; without it, what only tests reach would count as unreachable.
#![cfg_attr(feature = "failpoints", warn(unreachable_pub))]
pub mod cli;
pub mod remote;

mod agent;
mod config;
mod error;
mod git;
mod model;
mod ops;
mod state;
#[cfg(feature = "failpoints")]
#[doc(hidden)]
pub mod testing;

pub use bstr::BString;
pub use gix::ObjectId;

pub use crate::{
    config::settings,
    error::{Error, Kind, Result},
    model::{
        change::{Leaf, Mode, Status},
        checkpoint::{Checkpoint, Origin},
        contributor::Contributor,
        event::Event,
        line_diff::{Hunk, Line, Side as LineSide},
        manifest::{Reason, Skipped},
        refname::Base,
        set_aside::SetAside,
        submodule::{Recurse, Submodule},
        verdict::{Left, Why},
    },
    ops::{
        Context, Subscriber,
        compare::{Comparison, DiffOptions, FileDiff, Side, diff},
        history::{Entry, ListOptions, list},
        lookup::resolve,
        restore::{
            ChosenHunks, NotOffered, RestoreOptions, Restored, RestoredSubmodule, UndoOptions, choose::choose_hunks,
            restore, undo,
        },
        save::{
            Author, FailedSubmodule, SaveOptions, Saved, SavedPath, SavedSubmodule, SkippedPath, UnfilteredPath, save,
        },
        verify::{Verified, verify},
    },
};
