//! Agents that call the built program as their clients do, with git's hooks enabled.

mod apart;
mod committed;
mod damaged;
mod endings;
mod guard;
mod hostile;
mod meeting;
mod named;
mod notice;
mod once;
mod overlap;
mod refused;
mod secrets;
mod sequences;
mod stashed;
mod stdin;
mod steps;
mod trouble;
mod turns;
mod twice;
mod unprotected;
mod warned;
mod whose;
mod words;
mod worktrees;
