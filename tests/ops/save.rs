//! The catalogue of `save`: each case is a repository made by git, and its checkpoint is held against `git add -A`.

mod attributes;
mod bench;
mod cache;
mod child;
mod endless_rules;
mod ignores;
mod index;
mod limits;
mod modes;
mod named;
mod nested;
mod random;
mod repositories;
mod shadow;
