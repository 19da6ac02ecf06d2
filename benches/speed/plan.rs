//! What is measured: cases (a command in a state of a repository), and rows that compare two of them with a goal.

use crate::{
    Arguments, Result, corpus,
    lab::{Lab, MOST, State},
    measure::disk_bytes_a_save,
    whose,
};

/// A command to be measured.
pub(crate) struct Case {
    pub(crate) name: String,
    /// Which of the repositories.
    pub(crate) lab: usize,
    pub(crate) state: State,
    pub(crate) line: Vec<String>,
}

/// What a row should be.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Goal {
    /// Whatever it is.
    None,
    /// At most this many times the other's.
    Factor(f64),
    /// At most this long.
    Milliseconds(f64),
    /// At most so many milliseconds more than the other.
    More(f64),
    /// At most this many bytes of memory.
    Peak(u64),
}

/// A line of the table.
pub(crate) struct Row {
    pub(crate) work: String,
    /// The name of our case.
    pub(crate) ours: String,
    /// The name of the case to compare with.
    pub(crate) theirs: Option<String>,
    pub(crate) goal: Goal,
}

/// Cases measured in turn, and the table that is made of them.
#[derive(Default)]
pub(crate) struct Stage {
    pub(crate) cases: Vec<Case>,
    pub(crate) rows: Vec<Row>,
    /// The most rounds it gets.
    pub(crate) rounds: usize,
}

impl Stage {
    /// Returns its rows in parts that have no case in common, each with its cases, which are measured in turn.
    pub(crate) fn parts(self) -> Vec<Self> {
        let names = |row: &Row| [Some(row.ours.clone()), row.theirs.clone()].into_iter().flatten().collect::<Vec<_>>();
        let mut parts: Vec<(Vec<String>, Vec<Row>)> = Vec::new();
        for row in self.rows {
            let (mut all, mut rows) = (names(&row), Vec::new());
            for (its, theirs) in std::mem::take(&mut parts) {
                if its.iter().any(|name| all.contains(name)) {
                    all.extend(its);
                    rows.extend(theirs);
                } else {
                    parts.push((its, theirs));
                }
            }
            rows.push(row);
            parts.push((all, rows));
        }
        let (mut left, mut found) = (self.cases, Vec::with_capacity(parts.len()));
        for (names, rows) in parts {
            let (cases, others) = left.into_iter().partition(|case| names.contains(&case.name));
            left = others;
            found.push(Self { cases, rows, rounds: self.rounds });
        }
        found
    }
}

/// The repositories.
pub(crate) struct Plan {
    pub(crate) labs: Vec<Lab>,
}

/// Places in [`Plan::labs`].
pub(crate) const MAIN: usize = 0;
pub(crate) const SMALL: usize = 1;
const CHAIN: usize = 2;
/// Made when its rows are measured.
const WHOSE: usize = 3;

const CHAIN_LENGTH: usize = 10_000;
const SAVES: usize = 200;
const MOST_BYTES_A_SAVE: u64 = 6_000;
const MOST_MEMORY: u64 = 80_000_000;

/// What scripts do that want a commit of the worktree and leave the index alone.
const TEMPORARY_INDEX: &str = "cp .git/index .git/bench-index && export GIT_INDEX_FILE=.git/bench-index && git add -A && \
    tree=$(git write-tree) && commit=$(git commit-tree -p HEAD -m bench $tree) && git update-ref refs/bench/saved $commit";
/// The part of it that makes a tree.
const TEMPORARY_TREE: &str =
    "cp .git/index .git/bench-index && export GIT_INDEX_FILE=.git/bench-index && git add -A && git write-tree";
/// Two commands that move a ref and add an entry to the operation log, and two that do the rest: find and read that ref.
const TWO_OPERATIONS: &str = "\"$PROGRAM\" verify -q && \"$PROGRAM\" verify -q --reset";
const TWO_LOOKS: &str = "\"$PROGRAM\" verify -q --show && \"$PROGRAM\" verify -q --show";
/// A repository beside, whose worktree is this one.
const SHADOW: &str = "git --git-dir=../shadow.git --work-tree=. add -A && \
    git --git-dir=../shadow.git --work-tree=. commit -q --allow-empty -m bench";

impl Plan {
    /// Makes the repositories.
    pub(crate) fn new(arguments: &Arguments) -> Result<Self> {
        let small = corpus::small(&arguments.cache)?;
        corpus::sweep(&small)?;
        let large = if arguments.is_small { None } else { corpus::large(&arguments.cache)? };
        let main = match large {
            Some(large) => {
                corpus::sweep(&large)?;
                large
            }
            None => corpus::clone(&arguments.cache, &small, "main")?,
        };
        let chain = corpus::clone(&arguments.cache, &small, "chain")?;
        let roots = [main, small, chain].into_iter();
        let mut labs = roots.map(|root| Lab::new(root, &arguments.binary)).collect::<Result<Vec<_>>>()?;
        for lab in &mut labs {
            lab.edit(0, 1)?;
            lab.output(&["checkpoint", "save", "-m", "first"])?;
            lab.settle()?;
        }
        corpus::lengthen(&labs[CHAIN], CHAIN_LENGTH - 2)?;
        Ok(Self { labs })
    }

    /// Returns what is to be measured, and prints what was measured meanwhile.
    pub(crate) fn stages(&mut self, arguments: &Arguments) -> Result<Vec<Stage>> {
        let only = arguments.only.as_deref();
        let mut stages = vec![self.everyday()?, self.many_files(), long_chain(self)?];
        stages.push(whose_lines());
        for stage in &mut stages {
            stage.keep(only);
        }
        // Before the repositories of sessions, which come after those that are there.
        if stages.iter().any(|stage| stage.cases.iter().any(|case| case.lab == WHOSE)) {
            let root = corpus::clone(&arguments.cache, self.labs[SMALL].root(), "whose")?;
            let lab = Lab::new(root, &arguments.binary)?;
            whose::write(&lab)?;
            self.labs.push(lab);
        }
        stages.push(crate::sessions::stage(self, arguments)?);
        stages.push(crate::overlap::stage(self, arguments)?);
        stages.push(crate::worktrees::stage(self, arguments)?);
        stages.retain(|stage| !stage.rows.is_empty());
        if stages.iter().any(|stage| stage.cases.iter().any(|case| case.line.iter().any(|part| part == SHADOW))) {
            self.make_shadow()?;
        }
        Ok(stages)
    }

    /// The checkpoints that `diff` and `restore` are measured with: the settled state, and a hundred files after it.
    fn two_checkpoints(&mut self) -> Result<(String, String)> {
        let lab = &mut self.labs[MAIN];
        lab.enter(State::Settled)?;
        lab.output(&["checkpoint", "save"])?;
        let reference = lab.shadow_ref()?;
        let settled = lab.git_output(&["rev-parse", &reference])?.trim().to_owned();
        lab.enter(State::Changed(100))?;
        lab.output(&["checkpoint", "save"])?;
        let changed = lab.git_output(&["rev-parse", &reference])?.trim().to_owned();
        lab.settle()?;
        Ok((settled, changed))
    }

    fn make_shadow(&self) -> Result<()> {
        let lab = &self.labs[MAIN];
        let directory = lab.root().with_file_name("shadow.git");
        drop(std::fs::remove_dir_all(&directory));
        lab.git_output(&["init", "-q", "--bare", "../shadow.git"])?;
        for setting in [["core.bare", "false"], ["gc.auto", "0"], ["user.name", "b"], ["user.email", "b@example.com"]] {
            lab.git_output(&["--git-dir=../shadow.git", "config", setting[0], setting[1]])?;
        }
        lab.output(&["sh", "-c", SHADOW]).map(drop)
    }

    fn everyday(&mut self) -> Result<Stage> {
        use State::{Changed, First, Settled};
        let (settled, changed) = self.two_checkpoints()?;
        let file = self.labs[MAIN].path(0).to_owned();
        let small_file = self.labs[SMALL].path(0).to_owned();
        let mut stage = Stage { rounds: usize::MAX, ..Stage::default() };
        stage.case("git status", MAIN, Settled, &["git", "status", "--porcelain", "-uall"]);
        stage.case("save 0", MAIN, Settled, &["checkpoint", "save"]);
        stage.case("git --version", MAIN, Settled, &["git", "--version"]);
        stage.case("--version", MAIN, Settled, &["checkpoint", "--version"]);
        stage.case("temporary index 1", MAIN, Changed(1), &["sh", "-c", TEMPORARY_INDEX]);
        stage.case("save 1", MAIN, Changed(1), &["checkpoint", "save"]);
        stage.case("git stash create 1", MAIN, Changed(1), &["git", "stash", "create"]);
        stage.case("paths 1", MAIN, Changed(1), &["checkpoint", "save", "--paths", &file]);
        stage.case("paths 1 small", SMALL, Changed(1), &["checkpoint", "save", "--paths", &small_file]);
        stage.case("shadow repository 1", MAIN, Changed(1), &["sh", "-c", SHADOW]);
        stage.case("restore 1", MAIN, Changed(1), &["checkpoint", "restore", &settled]);
        stage.case("temporary index 100", MAIN, Changed(100), &["sh", "-c", TEMPORARY_INDEX]);
        stage.case("save 100", MAIN, Changed(100), &["checkpoint", "save"]);
        stage.case("git stash create 100", MAIN, Changed(100), &["git", "stash", "create"]);
        stage.case("restore 100", MAIN, Changed(100), &["checkpoint", "restore", &settled]);
        stage.case("shadow repository 100", MAIN, Changed(100), &["sh", "-c", SHADOW]);
        stage.case("first save", MAIN, First, &["checkpoint", "save"]);
        stage.case("status", MAIN, Settled, &["checkpoint", "status"]);
        stage.case("list", MAIN, Settled, &["checkpoint", "list", "-n", "20"]);
        stage.case("diff", MAIN, Settled, &["checkpoint", "diff", "--stat", &settled, &changed]);
        stage.case("two looks", SMALL, Settled, &["sh", "-c", TWO_LOOKS]);
        stage.case("two operations", SMALL, Settled, &["sh", "-c", TWO_OPERATIONS]);
        stage.case("git diff --stat", MAIN, Settled, &["git", "diff", "--stat", &settled, &changed]);

        stage.row("save, nothing changed", "save 0", "git status", Goal::Factor(0.60));
        stage.row("save, 1 file changed", "save 1", "git status", Goal::Factor(0.70));
        stage.row("save, 100 files changed", "save 100", "git status", Goal::Factor(0.85));
        stage.row("first save in a repository", "first save", "git status", Goal::Factor(1.0));
        stage.row("save --paths of 1 file", "paths 1", "git --version", Goal::Factor(5.0));
        stage.row("the same, 10,000 files", "paths 1 small", "git --version", Goal::Factor(5.0));
        stage.row("... and how that compares", "paths 1", "paths 1 small", Goal::Factor(1.5));
        stage.row("restore over 1 changed file", "restore 1", "git status", Goal::Factor(0.8));
        stage.row("restore over 100 changed files", "restore 100", "git status", Goal::Factor(1.0));
        stage.row("status", "status", "git status", Goal::Factor(0.8));
        stage.row("list -n 20", "list", "git --version", Goal::Milliseconds(10.0));
        stage.row("diff --stat, 100 files", "diff", "git diff --stat", Goal::Factor(1.2));
        // An operation, with its lock, its ref and the log, takes at most 2 ms.
        stage.row("two operations", "two operations", "two looks", Goal::More(4.0));
        stage.row("no-op command", "--version", "git --version", Goal::Factor(2.5));
        stage.row("save, 1 file changed", "save 1", "temporary index 1", Goal::None);
        stage.row("save, 1 file changed", "save 1", "git stash create 1", Goal::None);
        stage.row("save, 1 file changed", "save 1", "shadow repository 1", Goal::None);
        stage.row("save, 100 files changed", "save 100", "temporary index 100", Goal::None);
        stage.row("save, 100 files changed", "save 100", "git stash create 100", Goal::None);
        stage.row("save, 100 files changed", "save 100", "shadow repository 100", Goal::None);
        stage.peak("memory of a save, nothing changed", "save 0");
        stage.peak("memory of a save, 100 files changed", "save 100");
        stage.peak("memory of a first save", "first save");
        stage.peak("memory of a restore over 100 changed files", "restore 100");
        Ok(stage)
    }

    /// Apart and in few rounds, as every run leaves thousands of objects.
    fn many_files(&self) -> Stage {
        let mut stage = Stage { rounds: 5, ..Stage::default() };
        let count = self.labs[MAIN].len();
        stage.case("temporary tree", MAIN, State::Changed(count), &["sh", "-c", TEMPORARY_TREE]);
        stage.case("save 5000", MAIN, State::Changed(count), &["checkpoint", "save"]);
        stage.row("save, 5,000 files changed", "save 5000", "temporary tree", Goal::Factor(0.35));
        stage.peak("memory of that", "save 5000");
        stage
    }

    /// Prints how many bytes on disk a save takes, and returns true if they are few enough.
    pub(crate) fn disk(&mut self) -> Result<bool> {
        println!();
        println!("| disk, {SAVES} saves of 3 changed files | bytes a save | goal | |");
        println!("|---|---:|---:|---|");
        let mut is_good = true;
        // First what an agent does, then the worst case: with different files each time, each save stores their whole content.
        for (name, files, goal) in [("the same 3", 3, Some(MOST_BYTES_A_SAVE)), ("other ones each time", MOST, None)] {
            for (place, lab) in [("", MAIN), (", 10,000 files", SMALL)] {
                let lab = &mut self.labs[lab];
                let bytes = disk_bytes_a_save(lab, SAVES, files.min(lab.len()))?;
                let is_met = goal.is_none_or(|goal| bytes <= goal);
                is_good &= is_met;
                let text = goal.map_or(String::new(), |goal| format!("<= {goal}"));
                let mark = if goal.is_none() {
                    ""
                } else if is_met {
                    "ok"
                } else {
                    "OVER"
                };
                println!("| {name}{place} | {bytes} | {text} | {mark} |");
            }
        }
        Ok(is_good)
    }
}

/// Whether the number of checkpoints taken before makes a difference.
fn long_chain(plan: &Plan) -> Result<Stage> {
    let mut stage = Stage { rounds: usize::MAX, ..Stage::default() };
    let reference = plan.labs[CHAIN].shadow_ref()?;
    let file = plan.labs[CHAIN].path(0).to_owned();
    stage.case("list all", CHAIN, State::Settled, &["checkpoint", "list"]);
    stage.case("git log", CHAIN, State::Settled, &["git", "log", "--format=%H", &reference]);
    for (suffix, lab) in [("", SMALL), (" of 10000", CHAIN)] {
        stage.case(&format!("save{suffix}"), lab, State::Changed(1), &["checkpoint", "save"]);
        stage.case(&format!("paths{suffix}"), lab, State::Changed(1), &["checkpoint", "save", "--paths", &file]);
        stage.case(&format!("status{suffix}"), lab, State::Settled, &["checkpoint", "status"]);
        stage.case(&format!("list{suffix}"), lab, State::Settled, &["checkpoint", "list", "-n", "20"]);
    }
    stage.row("list of 10,000 checkpoints", "list all", "git log", Goal::Factor(2.0));
    stage.row("save after 10,000 checkpoints", "save of 10000", "save", Goal::Factor(1.2));
    stage.row("save --paths after 10,000", "paths of 10000", "paths", Goal::Factor(1.2));
    stage.row("status after 10,000", "status of 10000", "status", Goal::Factor(1.2));
    stage.row("list -n 20 after 10,000", "list of 10000", "list", Goal::Factor(1.2));
    Ok(stage)
}

/// Commands that show the authors of lines, beside git's own.
fn whose_lines() -> Stage {
    let mut stage = Stage { rounds: usize::MAX, ..Stage::default() };
    let settled = State::Settled;
    stage.case("git show --numstat", WHOSE, settled, &["git", "show", "--numstat", "HEAD"]);
    stage.case("attribution", WHOSE, settled, &["checkpoint", "attribution", "HEAD"]);
    stage.case("git blame", WHOSE, settled, &["git", "blame", whose::FILE]);
    stage.case("blame", WHOSE, settled, &["checkpoint", "blame", whose::FILE]);
    stage.case("git log --numstat", WHOSE, settled, &["git", "log", "--numstat", "HEAD~1000..HEAD"]);
    stage.case("range", WHOSE, settled, &["checkpoint", "attribution", "HEAD~1000..HEAD"]);
    stage.case("diff", WHOSE, settled, &["checkpoint", "diff", "--stat", "base"]);
    stage.case("worktree", WHOSE, settled, &["checkpoint", "attribution", "--worktree"]);
    stage.row("attribution of 200 lines over 20 checkpoints", "worktree", "diff", Goal::More(20.0));
    stage.row("attribution of a recorded commit", "attribution", "git show --numstat", Goal::Factor(1.5));
    stage.row("blame of 11,000 lines", "blame", "git blame", Goal::Factor(1.3));
    stage.row("attribution of 1,000 commits", "range", "git log --numstat", Goal::Factor(3.0));
    stage
}

impl Stage {
    pub(crate) fn case(&mut self, name: &str, lab: usize, state: State, line: &[&str]) {
        let line = line.iter().map(ToString::to_string).collect();
        self.cases.push(Case { name: name.into(), lab, state, line });
    }

    pub(crate) fn row(&mut self, work: &str, ours: &str, theirs: &str, goal: Goal) {
        self.rows.push(Row { work: work.into(), ours: ours.into(), theirs: Some(theirs.into()), goal });
    }

    fn peak(&mut self, work: &str, ours: &str) {
        self.rows.push(Row { work: work.into(), ours: ours.into(), theirs: None, goal: Goal::Peak(MOST_MEMORY) });
    }

    /// Keeps the rows whose name holds `only`, and the cases they need.
    pub(crate) fn keep(&mut self, only: Option<&str>) {
        self.rows.retain(|row| only.is_none_or(|only| row.work.contains(only)));
        let rows = &self.rows;
        self.cases.retain(|case| {
            rows.iter().any(|row| row.ours == case.name || row.theirs.as_ref().is_some_and(|name| *name == case.name))
        });
    }
}
