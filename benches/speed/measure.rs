//! Runs commands in turn and keeps what each took.

use std::{
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use wait4::Wait4 as _;

use crate::{
    Result,
    lab::{Lab, State},
    plan::{Case, Goal, Row, Stage},
};

/// What one run took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Cost {
    /// From start to end.
    pub(crate) wall: Duration,
    /// The least of that.
    pub(crate) least: Duration,
    /// In all its processes.
    pub(crate) cpu: Duration,
    /// The most memory of a process at any time, in bytes.
    pub(crate) peak: u64,
}

/// A row with its figures.
pub(crate) struct Measured {
    pub(crate) work: String,
    pub(crate) ours: Cost,
    pub(crate) theirs: Option<(String, Cost)>,
    pub(crate) goal: Goal,
}

/// Runs all cases of `stage` in turn, `rounds` times after one to warm up, and returns the medians.
pub(crate) fn measure(labs: &mut [Lab], stage: Stage, rounds: usize) -> Result<Vec<Measured>> {
    let Stage { cases, rows, rounds: most } = stage;
    let rounds = rounds.min(most);
    let mut costs: Vec<Vec<Cost>> = vec![Vec::new(); cases.len()];
    for round in 0..=rounds {
        for (case, costs) in cases.iter().zip(&mut costs) {
            let lab = &mut labs[case.lab];
            lab.enter(case.state)?;
            let cost = run(lab, case)?;
            lab.leave(case.state)?;
            if round > 0 {
                costs.push(cost);
            }
        }
    }
    labs.iter_mut().try_for_each(Lab::settle)?;
    let median_of = |name: &str| {
        let at = cases.iter().position(|case| case.name == name).ok_or_else(|| format!("no case '{name}'"))?;
        Ok::<_, String>(median(&costs[at]))
    };
    let with_figures = |row: Row| {
        let theirs = row.theirs.map(|name| median_of(&name).map(|cost| (name, cost))).transpose()?;
        Ok(Measured { ours: median_of(&row.ours)?, theirs, work: row.work, goal: row.goal })
    };
    rows.into_iter().map(with_figures).collect()
}

fn run(lab: &Lab, case: &Case) -> Result<Cost> {
    let line: Vec<&str> = case.line.iter().map(String::as_str).collect();
    let mut command: Command = lab.command(&line);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let start = Instant::now();
    let mut child = command.spawn()?;
    let usage = child.wait4()?;
    let wall = start.elapsed();
    if !usage.status.success() {
        // Once more, to say why.
        lab.output(&line)?;
        return Err(format!("'{}' has failed", case.name).into());
    }
    Ok(Cost { wall, least: wall, cpu: usage.rusage.utime + usage.rusage.stime, peak: usage.rusage.maxrss })
}

fn median(costs: &[Cost]) -> Cost {
    fn middle<T: Copy + Ord>(mut values: Vec<T>) -> T {
        values.sort_unstable();
        values[values.len() / 2]
    }
    Cost {
        wall: middle(costs.iter().map(|cost| cost.wall).collect()),
        least: costs.iter().map(|cost| cost.least).min().unwrap_or_default(),
        cpu: middle(costs.iter().map(|cost| cost.cpu).collect()),
        // The worst counts: memory that was needed once must be there.
        peak: costs.iter().map(|cost| cost.peak).max().unwrap_or(0),
    }
}

/// Runs `saves` saves in `lab`, each of three edited files out of `files`, and returns how many bytes on disk one takes.
pub(crate) fn disk_bytes_a_save(lab: &mut Lab, saves: usize, files: usize) -> Result<u64> {
    lab.settle()?;
    let before = lab.disk_bytes()?;
    for number in 0..saves {
        lab.edit(number * 3 % (files - 2), 3)?;
        lab.output(&["checkpoint", "save"])?;
    }
    let after = lab.disk_bytes()?;
    lab.enter(State::Settled)?;
    Ok(after.saturating_sub(before) / saves as u64)
}
