//! The rules, case by case, and the invariants.

mod carry;
mod combine;
mod histories;
mod large;
mod moved_later;
mod moved_on;
mod odd;
mod rules;
mod stored;
mod support;
