//! Agents' sessions through real git and its hooks: one file per group of cases.

mod apart;
mod cases;
mod commands;
mod desk;
mod findings;
mod heads;
mod index;
mod linking;
mod losses;
mod manual;
mod moved;
mod one_command;
mod remaining;
mod renames;
mod replaced;
mod resolved;
mod staged;
mod stashes;
mod status;
mod storage;
mod taken_back;
mod turn_ends;
mod turns;
mod unseen;
mod warning;
