//! The rules, case by case, and the invariants.

mod carry;
mod combine;
mod histories;
mod large;
mod moved_later;
mod odd;
mod rules;
mod stored;
mod support;
