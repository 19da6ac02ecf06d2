//! Lets the program start faster: hooks of git and of agents start it all the time, and up to a third of that time is spent on the
//! addresses that are corrected where a program may be loaded anywhere. Its libraries, heap and stack still are.
#![expect(clippy::disallowed_methods, reason = "Cargo passes its answers to a build script in the environment")]

fn main() {
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    println!("cargo::rerun-if-changed=build.rs");
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo::rustc-link-arg=-no-pie");
        // Tests start the program a hundred thousand times: the system can then show it to a process in pages of this size.
        if std::env::var_os("CARGO_FEATURE_FAILPOINTS").is_some() {
            println!("cargo::rustc-link-arg-bins=-Wl,-z,max-page-size=2097152");
            println!("cargo::rustc-link-arg-tests=-Wl,-z,max-page-size=2097152");
        }
    }
}
