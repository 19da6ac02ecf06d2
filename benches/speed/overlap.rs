//! What a second worktree costs, in which a hundred files were changed as well.

use crate::{
    Arguments, Result, corpus,
    lab::{Lab, State, git_in},
    plan::{Goal, Plan, SMALL, Stage},
};

/// How many files are changed in each worktree.
const CHANGED: usize = 100;
/// What git takes to look at both worktrees, and to merge the same changes, once they are committed.
const LOOKS_AND_MERGE: &str = "git status --porcelain -uall && git -C ../beside-side status --porcelain -uall && \
    git merge-tree --write-tree refs/bench/here refs/bench/there";

/// Returns what is to be measured, with the repositories it takes.
pub(crate) fn stage(plan: &mut Plan, arguments: &Arguments) -> Result<Stage> {
    let mut stage = Stage { rounds: usize::MAX, ..Stage::default() };
    let (alone, beside) = (plan.labs.len(), plan.labs.len() + 1);
    let changed = State::Changed(CHANGED);
    stage.case("git status of both, git merge-tree", beside, changed, &["sh", "-c", LOOKS_AND_MERGE]);
    stage.case("overlap", beside, changed, &["checkpoint", "overlap"]);
    stage.case("diff", alone, changed, &["checkpoint", "diff", "--name-only"]);
    let by_git = "git status of both, git merge-tree";
    stage.row("overlap of two worktrees, 100 files", "overlap", by_git, Goal::Factor(1.0));
    stage.row("... beside a look at one", "overlap", "diff", Goal::More(20.0));
    stage.keep(arguments.only.as_deref());
    if !stage.rows.is_empty() {
        let small = plan.labs[SMALL].root().to_owned();
        for name in ["alone", "beside"] {
            let root = corpus::clone(&arguments.cache, &small, name)?;
            plan.labs.push(Lab::new(root, &arguments.binary)?);
        }
        write(&mut plan.labs[beside])?;
    }
    Ok(stage)
}

/// Makes the second worktree, in which a session has changed the files that are changed here, and commits of both.
fn write(lab: &mut Lab) -> Result<()> {
    let side = lab.root().with_file_name("beside-side");
    drop(std::fs::remove_dir_all(&side));
    let name = side.to_str().ok_or("the path of the cache is no text")?.to_owned();
    lab.git_output(&["worktree", "prune"])?;
    lab.git_output(&["worktree", "add", "-q", "-b", "side", &name])?;
    lab.edit(0, CHANGED)?;
    let commit = "git add -A && git update-ref refs/bench/here $(git commit-tree -p HEAD -m bench $(git write-tree)) && \
        git reset -q";
    lab.output(&["sh", "-c", commit])?;
    for file in 0..CHANGED {
        let path = side.join(lab.path(file));
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        std::fs::write(path, format!("at the beginning\n{text}"))?;
    }
    git_in(&side, &["add", "-A"])?;
    git_in(&side, &["commit", "-q", "-m", "bench"])?;
    git_in(&side, &["update-ref", "refs/bench/there", "HEAD"])?;
    git_in(&side, &["reset", "-q", "--hard", "HEAD~"])?;
    lab.output(&["checkpoint", "-C", &name, "session", "prompt", "there", "-m", "change a hundred files"])?;
    git_in(&side, &["checkout", "-q", "refs/bench/there", "--", "."])?;
    git_in(&side, &["reset", "-q"])?;
    lab.output(&["checkpoint", "-C", &name, "save", "--session", "there"])?;
    lab.settle()
}
