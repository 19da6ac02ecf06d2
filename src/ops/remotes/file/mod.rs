//! Checkpoints and records in files: what is exported, and how it is imported beside our own.
//!
//! A file is a git bundle with the refs that a remote would have. What is imported follows it as if it were a remote, whose name git
//! allows no remote to have.

mod chosen;
mod contents;
mod export;
mod exported;
mod import;
mod patch;
mod tree;

pub(crate) use chosen::Choice;
pub(crate) use export::{Parts, export};
pub(crate) use exported::{Exported, Format};
pub(crate) use import::{ImportOptions, Imported, check_name, import};
pub(crate) use patch::export_series;
pub(crate) use tree::export_tree;
