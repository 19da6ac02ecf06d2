//! What each step does.

use super::{
    desk::Desk,
    step::{Choice, Kind, Step, Who},
};

/// Plays `steps` in a new repository, and calls `at_commit` after each one that moves HEAD, with its number.
pub(super) fn play(choice: &Choice, steps: &[Step], mut at_commit: Option<impl FnMut(&Desk, usize)>) -> Desk {
    let mut desk = Desk::new(choice);
    let mut head = None;
    for (number, step) in (1..).zip(steps) {
        desk.note(&step.to_string());
        if step.kind.is_edit() && step.kind != Kind::Save && step.kind != Kind::EditAndCommit {
            edit(&mut desk, *step);
        } else {
            run(&mut desk, *step);
        }
        if let Some(at_commit) = &mut at_commit {
            let now = desk.ask(&["rev-parse", "HEAD"]);
            if now != head {
                at_commit(&desk, number);
            }
            head = now;
        }
    }
    desk.note("the end");
    desk.stop_all();
    desk
}

impl Step {
    /// Returns the `n`th of the ways that the step may go, of those that `how` has bits for.
    fn is(self, n: u8) -> bool {
        self.how & (1 << n) != 0
    }

    fn ends_turn(self) -> bool {
        self.is(0)
    }

    /// Returns the one of `things` that the step is about.
    fn pick<T>(self, things: &[T]) -> Option<&T> {
        things.get(usize::from(self.which) % things.len().max(1))
    }
}

/// Steps that change the text of a file.
fn edit(desk: &mut Desk, step: Step) {
    let files = desk.files();
    let new = format!("n{:03}", files.len() + usize::from(step.at));
    let path = if step.kind == Kind::Create { Some(&new) } else { step.pick(&files) };
    let Some(path) = path.filter(|path| step.kind != Kind::Create || !files.contains(path)) else { return };
    let by_tool = [path.as_str()];
    let paths: &[&str] = if step.is(1) { &[] } else { &by_tool };
    let who = step.who;
    desk.act(who, paths, step.ends_turn(), |desk| edit_in(desk, step, path));
}

fn edit_in(desk: &mut Desk, step: Step, path: &str) {
    if step.kind == Kind::Remove {
        return desk.remove(path);
    }
    let text = desk.read(path);
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let start = usize::from(step.at) * (lines.len() + 1) / 256;
    let size = usize::from(step.size) + if step.kind == Kind::Create { 4 } else { 0 };
    let gone = if matches!(step.kind, Kind::Change | Kind::Delete) { size } else { 0 };
    let end = (start + gone).min(lines.len());
    let new = if step.kind == Kind::Delete { 0 } else { size };
    let new: Vec<String> = (0..new).map(|_| desk.line(step.who)).collect();
    lines.splice(start..end, new);
    desk.write(path, &lines.concat());
}

/// Steps that run a command.
fn run(desk: &mut Desk, step: Step) {
    if step.kind == Kind::Worktree {
        return worktree(desk);
    }
    desk.act(step.who, &[], step.ends_turn(), |desk| command(desk, step));
}

fn command(desk: &mut Desk, step: Step) {
    match step.kind {
        Kind::Save => drop(desk.checkpoint(&["save", "-q"])),
        Kind::EditAndCommit => {
            if let Some(path) = step.pick(&desk.files()) {
                edit_in(desk, Step { kind: Kind::Insert, ..step }, path);
            }
            commit(desk, &["commit", "-qam", "edited"]);
        }
        Kind::Commit => {
            desk.git(&["add", "-A"]);
            commit(desk, &["commit", "-qm", "all"]);
        }
        Kind::CommitPath => {
            if let Some(path) = step.pick(&desk.files()) {
                commit(desk, &["commit", "-qm", "a path", "--", path]);
            }
        }
        Kind::CommitStaged => {
            if let Some(path) = step.pick(&desk.files()) {
                desk.git(&["add", "--", path]);
                commit(desk, &["commit", "-qm", "staged"]);
            }
        }
        Kind::CommitPart => commit_part(desk, step),
        Kind::Amend => {
            let mut arguments = vec!["commit", "-q", "--amend"];
            arguments.extend(if step.is(2) { ["-m", "amended"].as_slice() } else { &["--no-edit"] });
            arguments.extend(step.is(3).then_some("-a"));
            commit(desk, &arguments);
        }
        Kind::ResetSoft => drop(desk.git(&["reset", "-q", "--soft", "HEAD~1"])),
        Kind::ResetMixed => drop(desk.git(&["reset", "-q", "--mixed", "HEAD~1"])),
        Kind::ResetHard => drop(desk.git(&["reset", "-q", "--hard", "HEAD~1"])),
        Kind::StashPush => {
            let arguments: &[&str] = if step.is(2) { &["stash", "push", "-q", "-u"] } else { &["stash", "push", "-q"] };
            desk.git(arguments);
        }
        Kind::StashPop => {
            if !desk.git(&["stash", "pop", "-q"]) && settle(desk) {
                desk.git(&["stash", "drop", "-q"]);
            }
        }
        Kind::Restore => {
            let target = format!("@{{{}}}", step.which % 4);
            desk.checkpoint(&["restore", "-q", &target]);
        }
        Kind::Undo => drop(desk.checkpoint(&["undo", "-q"])),
        Kind::GitMv | Kind::Mv => rename(desk, step),
        Kind::CheckoutPath => {
            if let Some(path) = step.pick(&desk.files()) {
                let from = format!("HEAD~{}", step.at % 3);
                let arguments = if step.is(2) {
                    ["checkout", "-q", &from, "--", path]
                } else {
                    ["restore", "-s", &from, "--", path]
                };
                desk.git(&arguments);
            }
        }
        _ => beside(desk, step),
    }
}

/// Steps with more than one commit.
fn beside(desk: &mut Desk, step: Step) {
    let others = desk.other_branches();
    let other = step.pick(&others).map_or("main", String::as_str);
    match step.kind {
        Kind::Branch => {
            let name = format!("b{}", others.len() + 1);
            let start = ["HEAD", "HEAD~1"][usize::from(step.is(2))];
            desk.git(&["checkout", "-q", "-b", &name, start]);
        }
        Kind::Checkout => drop(desk.git(&["checkout", "-q", other])),
        Kind::Merge => {
            let how = if step.is(2) { "--ff" } else { "--no-ff" };
            if !desk.git(&["merge", "-q", "--no-edit", how, other]) {
                settle(desk);
            }
        }
        Kind::MergeSquash => {
            if !desk.git(&["merge", "-q", "--squash", other]) && !settle(desk) {
                return;
            }
            if step.is(2) {
                commit(desk, &["commit", "-q", "--no-edit"]);
            } else if step.is(3) {
                commit(desk, &["commit", "-qm", "squashed"]);
            }
        }
        Kind::Rebase => {
            let autostash = ["--no-autostash", "--autostash"][usize::from(step.is(2))];
            again(desk, &["rebase", "-q", autostash, other], &[]);
        }
        Kind::Fixup => {
            let editor = format!("sed -i '2s/^pick/{}/'", ["fixup", "squash"][usize::from(step.is(2))]);
            last_two(desk, &editor);
        }
        Kind::Reorder => last_two(desk, "sed -i '1{h;d};2G'"),
        Kind::Pick => {
            let arguments: &[&str] = if step.is(2) { &["cherry-pick", "-x", other] } else { &["cherry-pick", other] };
            again(desk, arguments, &[]);
        }
        Kind::PickBare => {
            if !desk.git(&["cherry-pick", "-n", other]) {
                settle(desk);
            }
        }
        Kind::Revert => again(desk, &["revert", "--no-edit", "HEAD"], &[]),
        _ => unreachable!("{step}"),
    }
}

fn commit(desk: &mut Desk, arguments: &[&str]) {
    desk.git(arguments);
}

/// Stages the first hunk of a file and commits it.
fn commit_part(desk: &mut Desk, step: Step) {
    let Some(path) = step.pick(&desk.files()).cloned() else { return };
    let diff = desk.ask(&["diff", "-U0", "--", &path]).unwrap_or_default();
    let hunks: Vec<usize> = diff.match_indices("\n@@ ").map(|(at, _)| at + 1).collect();
    let Some(first) = hunks.first() else { return };
    let at = usize::from(step.at) % hunks.len();
    let end = hunks.get(at + 1).copied().unwrap_or(diff.len());
    let patch = format!("{}{}", &diff[..*first], &diff[hunks[at]..end]);
    if desk.git_with(&["apply", "--cached", "--unidiff-zero", "-"], &[], &patch) {
        commit(desk, &["commit", "-qm", "a part"]);
    }
}

fn rename(desk: &mut Desk, step: Step) {
    let files = desk.files();
    let Some(path) = step.pick(&files) else { return };
    let new = format!("{path}r");
    if files.contains(&new) {
        return;
    }
    if step.kind == Kind::GitMv {
        desk.git(&["mv", path, &new]);
    } else {
        desk.mv(path, &new);
    }
}

fn last_two(desk: &mut Desk, editor: &str) {
    if desk.has_two_plain_commits() {
        again(desk, &["rebase", "-q", "-i", "--autostash", "HEAD~2"], &[("GIT_SEQUENCE_EDITOR", editor)]);
    }
}

/// Runs a command that repeats commits, and continues it where it stops.
fn again(desk: &mut Desk, arguments: &[&str], variables: &[(&str, &str)]) {
    let is_done = desk.git_with(arguments, variables, "");
    // If only its autostash meets a conflict, a rebase says that all went well, and keeps the entry.
    let is_in_conflict = !is_done || !desk.unmerged().is_empty();
    if is_in_conflict && settle(desk) && is_done {
        desk.git(&["stash", "drop", "-q"]);
    }
}

/// Goes to the other worktree, which is made if it is not there.
fn worktree(desk: &mut Desk) {
    let (main, side) = (desk.world.repo(), desk.world.root().join("side"));
    desk.act(Who::Person, &[], true, |desk| {
        if !side.exists() {
            desk.git(&["worktree", "add", "-q", "-b", "side", "../side"]);
        }
        desk.go_to(if desk.place == main { side } else { main });
    });
}

/// Resolves conflicts by taking both sides, and continues git's operation; returns false if there was no conflict.
fn settle(desk: &mut Desk) -> bool {
    let mut is_settled = false;
    for _ in 0..12 {
        is_settled |= resolve(desk);
        let (go_on, skip): (&[&str], &[&str]) = if desk.has_in_git_dir("rebase-merge") {
            (&["rebase", "--continue"], &["rebase", "--skip"])
        } else if desk.has_in_git_dir("CHERRY_PICK_HEAD") {
            (&["cherry-pick", "--continue"], &["cherry-pick", "--skip"])
        } else if desk.has_in_git_dir("REVERT_HEAD") {
            (&["revert", "--continue"], &["revert", "--skip"])
        } else if desk.has_in_git_dir("MERGE_HEAD") {
            (&["commit", "-q", "--no-edit"], &["merge", "--abort"])
        } else {
            return is_settled;
        };
        if !desk.git(go_on) && desk.unmerged().is_empty() {
            desk.git(skip);
        }
    }
    is_settled
}

/// Takes the marks out of the files in conflict and stages them.
fn resolve(desk: &mut Desk) -> bool {
    let paths = desk.unmerged();
    for path in &paths {
        if desk.files().iter().any(|file| file == path) {
            let text = desk.read(path);
            let is_mark =
                |line: &&str| ["<<<<<<<", "=======", ">>>>>>>", "|||||||"].iter().any(|it| line.starts_with(it));
            let kept: String = text.split_inclusive('\n').filter(|line| !is_mark(line)).collect();
            if kept != text {
                desk.write(path, &kept);
            }
            desk.git(&["add", "--", path]);
        } else {
            desk.git(&["rm", "-q", "--cached", "--", path]);
        }
    }
    !paths.is_empty()
}
