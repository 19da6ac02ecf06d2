//! The rules, case by case, and the invariants.

mod rules;
mod support;
