//! Processes that die: at known steps, at random moments, by Ctrl-C. The repository stays sound, nothing is torn or
//! lost, and the next command works.

mod calls_that_fail;
mod exchanges;
mod halts;
mod interrupts;
mod kills;
mod locks;
mod races;
mod sessions;
mod steps;
