//! The one integration binary: each module below is one way to look at the whole.
#![expect(clippy::disallowed_methods, reason = "tests run programs and read what cargo tells them")]

mod agents;
mod architecture;
mod attribution;
mod completion;
mod crash;
mod demo;
mod hostile;
mod interrupt;
mod manual;
mod ops;
mod oracle;
mod plugins;
mod scenarios;
mod support;
mod together;
