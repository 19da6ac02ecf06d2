//! How fast git-checkpoint is, compared with git in the same run.
//!
//! `cargo bench --bench speed` makes a repository of a Linux kernel's source (a Debian package) and a generated one,
//! runs our commands and git's in turn, round by round, and prints the medians as a table. `--small` leaves the kernel
//! out, `--rounds <n>`, `--only <text>` (rows whose name holds it), `--cache <directory>` and `--binary <program>` say
//! the rest; `--check` ends with 1 if a goal is missed. What is measured is in `plan`, how in `measure`.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "this is a program with one table to print")]
#![expect(clippy::disallowed_methods, reason = "git and git-checkpoint are what is measured")]

mod corpus;
mod lab;
mod measure;
mod overlap;
mod plan;
mod sessions;
mod table;
mod whose;
mod worktrees;

use std::{io::Write as _, path::PathBuf, process::ExitCode};

use measure::measure;
use plan::Plan;

/// Any error ends the run.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// The command line.
struct Arguments {
    is_small: bool,
    rounds: usize,
    only: Option<String>,
    cache: PathBuf,
    binary: PathBuf,
    checks: bool,
}

impl Arguments {
    fn parse() -> Result<Self> {
        let binary = PathBuf::from(env!("CARGO_BIN_EXE_git-checkpoint"));
        let cache = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("speed");
        let mut parsed = Self { is_small: false, rounds: 10, only: None, cache, binary, checks: false };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("'{argument}' needs a value"));
            match argument.as_str() {
                // What cargo adds.
                "--bench" => {}
                "--small" => parsed.is_small = true,
                "--check" => parsed.checks = true,
                "--rounds" => parsed.rounds = value()?.parse()?,
                "--only" => parsed.only = Some(value()?),
                "--cache" => parsed.cache = value()?.into(),
                "--binary" => parsed.binary = value()?.into(),
                other => return Err(format!("unknown argument '{other}'").into()),
            }
        }
        parsed.cache = std::path::absolute(&parsed.cache)?;
        parsed.binary = std::path::absolute(&parsed.binary)?;
        Ok(parsed)
    }

    /// Copies the program to the cache in one write: the system keeps such a file in memory in large pieces, as one that it has
    /// read from the disk, and starts it up to a third faster than what a linker has written page by page.
    fn install(&mut self) -> Result<()> {
        let installed = self.cache.join("git-checkpoint");
        // A program that runs cannot be written, but be replaced.
        drop(std::fs::remove_file(&installed));
        std::fs::write(&installed, std::fs::read(&self.binary)?)?;
        std::fs::set_permissions(&installed, std::fs::metadata(&self.binary)?.permissions())?;
        self.binary = installed;
        Ok(())
    }
}

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("fatal: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<bool> {
    let mut arguments = Arguments::parse()?;
    std::fs::create_dir_all(&arguments.cache)?;
    arguments.install()?;
    let mut plan = Plan::new(&arguments)?;
    let load = || std::fs::read_to_string("/proc/loadavg").unwrap_or_default().trim().to_owned();
    println!("load before: {}", load());
    let mut is_good = true;
    for stage in plan.stages(&arguments)? {
        table::begin();
        // Each part is printed as soon as it is measured: a run that is cut off has the rows before.
        for part in stage.parts() {
            is_good &= table::print(&measure(&mut plan.labs, part, arguments.rounds)?);
            std::io::stdout().flush()?;
        }
    }
    if arguments.only.as_deref().is_none_or(|only| "disk".contains(only)) {
        is_good &= plan.disk()?;
    }
    println!("load after: {}", load());
    Ok(is_good || !arguments.checks)
}
