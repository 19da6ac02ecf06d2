//! Lets the program start faster: hooks of git and of agents start it all the time, and up to a third of that time is spent on the
//! addresses that are corrected where a program may be loaded anywhere. Its libraries, heap and stack still are. Each library that
//! is loaded takes time as well: the code that unwinds the stack is linked in.
#![expect(clippy::disallowed_methods, reason = "Cargo passes its answers to a build script in the environment")]

use std::{path::PathBuf, process::Command};

fn main() {
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=RUSTC_LINKER");
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo::rustc-link-arg=-no-pie");
        if let Some(directory) = unwinder_inside() {
            println!("cargo::rustc-link-search=native={}", directory.display());
        }
        // Tests start the program a hundred thousand times: the system can then show it to a process in pages of this size.
        if std::env::var_os("CARGO_FEATURE_FAILPOINTS").is_some() {
            println!("cargo::rustc-link-arg-bins=-Wl,-z,max-page-size=2097152");
            println!("cargo::rustc-link-arg-tests=-Wl,-z,max-page-size=2097152");
        }
    }
}

/// Returns a directory where the linker finds the static library of the code that unwinds the stack under the name of the shared one,
/// for which the compiler asks; none if the C compiler that links does not say that it has it.
fn unwinder_inside() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name);
    if variable("HOST") != variable("TARGET") {
        return None;
    }
    let linker = variable("RUSTC_LINKER").unwrap_or_else(|| "cc".into());
    let output = Command::new(linker).arg("-print-file-name=libgcc_eh.a").output().ok()?;
    let path = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    // Where it has none, the C compiler prints the name as it is. A linker script has no way to quote a quotation mark.
    let text = path.to_str().filter(|text| !text.contains('"'))?;
    if !path.is_absolute() || !path.exists() {
        return None;
    }
    let directory = PathBuf::from(variable("OUT_DIR")?);
    std::fs::write(directory.join("libgcc_s.so"), format!("GROUP ( \"{text}\" -lgcc )\n")).ok()?;
    Some(directory)
}
