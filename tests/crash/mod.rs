//! Processes that die: at known steps, at random moments, by Ctrl-C. The repository stays sound, nothing is torn or
//! lost, and the next command works.

mod calls_that_fail;
mod halts;
mod interrupts;
mod kills;
mod sessions;
mod steps;
