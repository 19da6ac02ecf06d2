//! Lets debug builds start faster: the tests start them tens of thousands of times, and half of the time that takes is
//! spent on the 100,000 addresses that are corrected when the program may be loaded anywhere.
#![expect(clippy::disallowed_methods, reason = "what Cargo tells a build script is in its environment")]

fn main() {
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    println!("cargo::rerun-if-changed=build.rs");
    if is("PROFILE", "debug") && is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo::rustc-link-arg=-no-pie");
    }
}
