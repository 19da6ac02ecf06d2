//! The join and the check of logs, in real repositories of both hash functions.

mod join;
mod shape;
mod shared;
mod versions;
