//! Lets the program start faster: hooks of git and of agents start it all the time, and up to a third of that time is spent on the
//! addresses that are corrected where a program may be loaded anywhere. Its libraries, heap and stack still are.
#![expect(clippy::disallowed_methods, reason = "Cargo passes its answers to a build script in the environment")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

fn main() {
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    println!("cargo::rerun-if-changed=build.rs");
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo::rustc-link-arg=-no-pie");
        // Without the archives, the program loads a library more.
        if std::env::var("HOST").ok() == std::env::var("TARGET").ok()
            && let Ok(directory) = std::env::var("OUT_DIR")
            && include_unwinder(Path::new(&directory)).is_some()
        {
            println!("cargo::rustc-link-arg=-L{directory}");
        }
    }
}

/// Writes what makes the linker take the unwinder from GCC's archives, as with `-static-libgcc`: to load it as a library takes
/// longer than most of what a hook does.
fn include_unwinder(directory: &Path) -> Option<()> {
    let (unwinder, rest) = (archive("libgcc_eh.a")?, archive("libgcc.a")?);
    let script = format!("GROUP ( \"{}\" \"{}\" )\n", unwinder.display(), rest.display());
    fs::write(directory.join("libgcc_s.so"), script).ok()
}

fn archive(name: &str) -> Option<PathBuf> {
    let output = Command::new("cc").arg(format!("-print-file-name={name}")).output().ok()?;
    let path = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim_end());
    // A compiler that does not have it repeats the name.
    (path.is_absolute() && path.exists()).then_some(path)
}
