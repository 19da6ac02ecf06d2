//! What worktrees of agents cost: to make one, to list thirty, to remove one.

use std::{fs, path::Path, process::Command};

use crate::{
    Arguments, Result, corpus,
    lab::{Lab, State},
    plan::{Goal, MAIN, Plan, SMALL, Stage},
};

/// How many worktrees are listed.
const MANY: usize = 30;
/// The ignored folder: so many files of a megabyte.
const IGNORED: &str = "data";
const MEGABYTES: usize = 1024;
/// The branch of the worktree that is made and removed.
pub(crate) const BRANCH: &str = "bench";

const STATUS: [&str; 4] = ["git", "status", "--porcelain", "-uall"];
const ADD: [&str; 5] = ["checkpoint", "worktree", "add", "--create", BRANCH];
const GIT_ADD: &str = "git worktree add -q -b bench \"../${PWD##*/}-wt-bench\"";
const GIT_REMOVE: &str = "\"$PROGRAM\" -C \"../${PWD##*/}-wt-bench\" save -q && \
    git worktree remove --force \"../${PWD##*/}-wt-bench\"";
const EACH_STATUS: &str = "for at in . ../thirty-wt-*; do git -C \"$at\" status --porcelain -uall || exit 1; done";

/// Returns what is to be measured, with the repositories it takes.
pub(crate) fn stage(plan: &mut Plan, arguments: &Arguments) -> Result<Stage> {
    // Each round writes the worktree anew, four times.
    let mut stage = Stage { rounds: 5, ..Stage::default() };
    let (ignored, thirty) = (plan.labs.len(), plan.labs.len() + 1);
    let git_and_copy = format!("{GIT_ADD} && cp -a {IGNORED} \"../${{PWD##*/}}-wt-bench/\"");
    let root = plan.labs[MAIN].root().to_str().ok_or("the path of the cache is no text")?.to_owned();
    stage.case("git --version", MAIN, State::Settled, &["git", "--version"]);
    stage.case("validate", MAIN, State::Settled, &["checkpoint", "worktree", "validate", &root]);
    stage.case("git worktree add", MAIN, State::Alone, &["sh", "-c", GIT_ADD]);
    stage.case("worktree add", MAIN, State::Alone, &ADD);
    stage.case("save, git worktree remove", MAIN, State::Beside, &["sh", "-c", GIT_REMOVE]);
    stage.case("worktree remove", MAIN, State::Beside, &["checkpoint", "worktree", "remove", "--force", BRANCH]);
    stage.case("git worktree add, cp -a", ignored, State::Alone, &["sh", "-c", &git_and_copy]);
    stage.case("git worktree add alone", ignored, State::Alone, &["sh", "-c", GIT_ADD]);
    stage.case("add with 1 GB", ignored, State::Alone, &ADD);
    stage.case("git status of one", thirty, State::Settled, &STATUS);
    stage.case("git status of each", thirty, State::Settled, &["sh", "-c", EACH_STATUS]);
    stage.case("worktree list", thirty, State::Settled, &["checkpoint", "worktree", "list"]);
    stage.row("worktree validate", "validate", "git --version", Goal::Factor(3.0));
    stage.row("worktree add", "worktree add", "git worktree add", Goal::Factor(1.1));
    stage.row("worktree remove", "worktree remove", "save, git worktree remove", Goal::Factor(1.5));
    let with = "worktree add with an ignored folder of 1 GB";
    stage.row(with, "add with 1 GB", "git worktree add, cp -a", Goal::Factor(1.1));
    let by_reflink = if reflinks(&arguments.cache) { Goal::Factor(1.1) } else { Goal::None };
    stage.row(&format!("{with} by reflink"), "add with 1 GB", "git worktree add alone", by_reflink);
    stage.row("worktree list of 30", "worktree list", "git status of each", Goal::Factor(1.5));
    stage.row("worktree list of 30 beside one", "worktree list", "git status of one", Goal::None);
    stage.keep(arguments.only.as_deref());
    let is_used = |lab: usize, stage: &Stage| stage.cases.iter().any(|case| case.lab == lab);
    let small = plan.labs[SMALL].root().to_owned();
    if is_used(ignored, &stage) || is_used(thirty, &stage) {
        let lab = Lab::new(corpus::clone(&arguments.cache, &small, "ignored")?, &arguments.binary)?;
        write_ignored(lab.root())?;
        plan.labs.push(lab);
    }
    if is_used(thirty, &stage) {
        let lab = Lab::new(corpus::clone(&arguments.cache, &small, "thirty")?, &arguments.binary)?;
        add_many(&lab)?;
        plan.labs.push(lab);
    }
    Ok(stage)
}

/// Returns true if files in `directory` can share their content.
fn reflinks(directory: &Path) -> bool {
    let (from, to) = (directory.join("reflink-from"), directory.join("reflink-to"));
    let copy = || {
        fs::write(&from, [1; 4096]).ok()?;
        Command::new("cp").arg("--reflink=always").args([&from, &to]).output().ok()
    };
    let can = copy().is_some_and(|output| output.status.success());
    drop(fs::remove_file(&from));
    drop(fs::remove_file(&to));
    can
}

/// Makes the ignored folder in the worktree at `root`, and lets new worktrees have it.
fn write_ignored(root: &Path) -> Result<()> {
    fs::write(root.join(".git/info/exclude"), format!("/{IGNORED}/\n/.worktreeinclude\n"))?;
    fs::write(root.join(".worktreeinclude"), format!("/{IGNORED}/\n"))?;
    let folder = root.join(IGNORED);
    for number in 0..MEGABYTES {
        let directory = folder.join(format!("{}", number % 32));
        fs::create_dir_all(&directory)?;
        let content: Vec<u8> = (0..1 << 20).map(|at: usize| (at ^ (at >> 8) ^ number).to_le_bytes()[0]).collect();
        fs::write(directory.join(format!("file{number}")), content)?;
    }
    Ok(())
}

/// Makes thirty linked worktrees, in each of which a checkpoint has been taken.
fn add_many(lab: &Lab) -> Result<()> {
    for number in 0..MANY {
        let place = lab.root().with_file_name(format!("thirty-wt-{number}"));
        drop(fs::remove_dir_all(&place));
        let place = place.to_str().ok_or("the path of the cache is no text")?.to_owned();
        lab.git_output(&["worktree", "add", "-q", "-b", &format!("many{number}"), &place])?;
        lab.output(&["checkpoint", "-C", &place, "save", "--allow-empty", "-m", "first"])?;
    }
    Ok(())
}
