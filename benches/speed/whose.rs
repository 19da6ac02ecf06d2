//! A repository in which people and agents have written: a long file, a thousand commits, a hundred records.

use std::{
    fs,
    io::{BufWriter, Write as _},
    process::Stdio,
};

use crate::{Result, lab::Lab};

/// Lines of the long file.
const LINES: usize = 11_000;
/// Commits without a record, and with one.
const PLAIN: usize = 900;
const RECORDED: usize = 100;
/// How many lines a commit changes; the last one more.
const CHANGED: usize = 8;
const LAST: usize = 200;

/// Checkpoints of work that is not committed yet, and how many lines each changes.
const CHECKPOINTS: usize = 20;
const STEP: usize = 10;

/// The long file.
pub(crate) const FILE: &str = "long.txt";
/// Another one, of work that is not committed yet.
const WORK: &str = "work.txt";

/// Makes the commits upon what `lab` has.
pub(crate) fn write(lab: &Lab) -> Result<()> {
    let mut state = 7u64;
    let mut next = move |limit: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap_or_default() % limit
    };
    let mut lines: Vec<String> =
        (0..LINES).map(|line| format!("line {line}: {:x} {:x}\n", next(1 << 30), next(99))).collect();
    fs::write(lab.root().join(WORK), lines.concat())?;
    lab.git_output(&["add", WORK])?;
    lab.git_output(&["commit", "-q", "-m", "step"])?;
    plain(lab, &mut lines, &mut next)?;
    recorded(lab, &mut lines, &mut next)?;
    lab.git_output(&["gc", "-q"])?;
    work(lab, &mut next)
}

/// Changes `count` lines.
fn change(lines: &mut [String], count: usize, number: usize, next: &mut impl FnMut(usize) -> usize) {
    for _ in 0..count {
        let at = next(LINES);
        lines[at] = format!("changed {number}: {:x} {:x}\n", next(1 << 30), next(1 << 30));
    }
}

/// Makes the commits without a record.
fn plain(lab: &Lab, lines: &mut [String], next: &mut impl FnMut(usize) -> usize) -> Result<()> {
    let branch = lab.git_output(&["symbolic-ref", "HEAD"])?;
    let mut import = lab.command(&["git", "fast-import", "--quiet"]).stdin(Stdio::piped()).spawn()?;
    let mut input = BufWriter::new(import.stdin.take().ok_or("no pipe to git fast-import")?);
    for number in 0..PLAIN {
        change(lines, CHANGED, number, next);
        let from = if number == 0 { format!("from {}^0\n", branch.trim()) } else { String::new() };
        let (branch, text) = (branch.trim(), lines.concat());
        writeln!(input, "commit {branch}\ncommitter Bench <bench@example.com> 1700000000 +0000\ndata 5\nstep\n")?;
        writeln!(input, "{from}M 100644 inline {FILE}\ndata {}\n{text}", text.len())?;
    }
    drop(input);
    if !import.wait()?.success() {
        return Err("git fast-import has failed".into());
    }
    lab.git_output(&["reset", "-q", "--hard"])?;
    Ok(())
}

/// Makes the commits with one.
fn recorded(lab: &Lab, lines: &mut [String], next: &mut impl FnMut(usize) -> usize) -> Result<()> {
    lab.output(&["checkpoint", "session", "start", "bench", "--agent", "bench"])?;
    for number in PLAIN..PLAIN + RECORDED {
        let count = if number + 1 == PLAIN + RECORDED { LAST } else { CHANGED };
        change(lines, count, number, next);
        lab.output(&["checkpoint", "session", "prompt", "bench", "--message", "go on"])?;
        fs::write(lab.root().join(FILE), lines.concat())?;
        lab.output(&["checkpoint", "save", "--session", "bench", "--paths", FILE])?;
        lab.output(&["checkpoint", "session", "stop", "bench"])?;
        lab.git_output(&["commit", "-q", "-m", "step", "--", FILE])?;
        lab.output(&["checkpoint", "hook", "post-commit"])?;
    }
    Ok(())
}

/// Makes the work that is not committed, half of it people's: what a commit of it would condense.
fn work(lab: &Lab, next: &mut impl FnMut(usize) -> usize) -> Result<()> {
    let path = lab.root().join(WORK);
    let mut lines: Vec<String> = fs::read_to_string(&path)?.split_inclusive('\n').map(str::to_owned).collect();
    for number in 0..CHECKPOINTS {
        let is_agents = number % 2 == 0;
        for _ in 0..STEP {
            let at = next(LINES);
            lines[at] = format!("step {number}: {:x} {:x}\n", next(1 << 30), next(1 << 30));
        }
        if is_agents {
            lab.output(&["checkpoint", "session", "prompt", "bench", "--message", "go on"])?;
        }
        fs::write(&path, lines.concat())?;
        let session: &[&str] = if is_agents { &["--session", "bench"] } else { &[] };
        lab.output(&[&["checkpoint", "save", "--paths", WORK], session].concat())?;
        if is_agents {
            lab.output(&["checkpoint", "session", "stop", "bench"])?;
        }
    }
    Ok(())
}
