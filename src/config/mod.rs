//! The settings: eight layers, from the compiled-in defaults to the command line, become one [`Settings`].
//!
//! The doors say in [`Sources`] where the layers are and what environment and flags hold; this room
//! reads the files and nothing else. Running an editor and printing are left to `cli`.
//!
//! - [`keys`]: every setting with its type, and what the project's file may do to it.
//! - `value`: values with their sizes and durations; `kind`: the check of a value against its type.
//! - `toml_file`: one TOML file as a list of keys with lines.
//! - [`Sources`]: the layers as they come from outside.
//! - `gathering`: what each says, checked.
//! - `layers`: their composition by [`load`].
//! - [`Loaded`]: what that gives.
//! - [`edit`], `replace`: changes one file and keeps its comments and order.
//! - [`migrate`]: from the old name of a setting to the new one.

pub(crate) mod edit;
mod gathering;
pub(crate) mod keys;
mod kind;
mod layers;
mod loaded;
pub(crate) mod migrate;
mod policy;
mod replace;
pub mod settings;
mod sources;
mod toml_file;
mod usage;
mod value;

#[cfg(test)]
mod tests;

pub(crate) use layers::{load, load_lenient};
pub(crate) use loaded::{Loaded, Origin, Warning};
pub(crate) use policy::{Ci, Policy};
pub(crate) use replace::leftovers;
pub(crate) use settings::{
    BranchPolicy, Color, Commands, Concurrency, Jj, Link, Mirror, Overlap, RoundMode, Settings, Storage, Store,
    Transcript,
};
pub(crate) use sources::{GitEntry, Layer, Sources};
pub(crate) use value::{ByteSize, Value, parse_duration};
