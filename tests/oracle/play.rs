//! What each step does.

use super::{
    common::{COMMON, is_common},
    recorder::Recorder,
    step::{Choice, Kind, Step, Who},
};

/// Plays `steps` in a new repository, and calls `at_commit` after each one that moves HEAD, with its number.
pub(super) fn play(choice: &Choice, steps: &[Step], mut at_commit: Option<impl FnMut(&Recorder, usize)>) -> Recorder {
    let mut recorder = Recorder::new(choice);
    let mut head = None;
    for (number, step) in (1..).zip(steps) {
        recorder.note(&step.to_string());
        if step.kind == Kind::CutLater {
            cut_later(&mut recorder, *step);
        } else if step.kind.is_edit() && step.kind != Kind::Save && step.kind != Kind::EditAndCommit {
            edit(&mut recorder, *step);
        } else {
            run(&mut recorder, *step);
        }
        if let Some(at_commit) = &mut at_commit {
            let now = recorder.ask(&["rev-parse", "HEAD"]);
            if now != head {
                at_commit(&recorder, number);
            }
            head = now;
        }
    }
    recorder.note("the end");
    recorder.stop_all();
    recorder
}

impl Step {
    /// Returns the `n`th of the ways that the step may go, of those that `how` has bits for.
    fn is(self, n: u8) -> bool {
        self.how & (1 << n) != 0
    }

    /// Returns true if what git has prepared is thrown away, but not its message.
    fn is_given_up(self) -> bool {
        self.is(2) && self.is(3)
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
fn edit(recorder: &mut Recorder, step: Step) {
    let files = recorder.files();
    let new = format!("n{:03}", files.len() + usize::from(step.at));
    let path = if step.kind == Kind::Create { Some(&new) } else { step.pick(&files) };
    let Some(path) = path.filter(|path| step.kind != Kind::Create || !files.contains(path)) else { return };
    let by_tool = [path.as_str()];
    let paths: &[&str] = if step.is(1) { &[] } else { &by_tool };
    let who = step.who;
    recorder.act(who, paths, step.ends_turn(), |recorder| edit_in(recorder, step, path));
}

fn edit_in(recorder: &mut Recorder, step: Step, path: &str) {
    if step.kind == Kind::Remove {
        return recorder.remove(path);
    }
    let text = recorder.read(path);
    if step.kind == Kind::Format {
        // Git knows no renamed file in one that is formatted as a whole.
        if recorder.committed().contains_key(path) {
            recorder.write(path, &formatted(&text));
        }
        return;
    }
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let start = usize::from(step.at) * (lines.len() + 1) / 256;
    let size = usize::from(step.size) + if step.kind == Kind::Create { 4 } else { 0 };
    let gone = if matches!(step.kind, Kind::Change | Kind::Delete) { size } else { 0 };
    let end = (start + gone).min(lines.len());
    let new = if step.kind == Kind::Delete { 0 } else { size };
    let mut new: Vec<String> = (0..new).map(|_| recorder.line(step.who)).collect();
    if step.has_common_line() && !new.is_empty() {
        if step.is(3) {
            new.clear();
        }
        let text = COMMON[usize::from(step.which ^ step.at) % COMMON.len()];
        let line = recorder.common_line(step.who, path, text);
        new.insert(usize::from(step.how >> 6) % (new.len() + 1), line);
    }
    lines.splice(start..end, new);
    recorder.write(path, &lines.concat());
}

/// Returns `text` with four blanks more before each line, or without the ones that it begins with.
fn formatted(text: &str) -> String {
    let is_indented = text.starts_with("        ");
    let line = |line: &str| match line.strip_prefix("    ") {
        _ if line.trim().is_empty() => line.to_owned(),
        Some(rest) if is_indented => rest.to_owned(),
        _ => format!("    {line}"),
    };
    text.split_inclusive('\n').map(line).collect()
}

/// Steps that run a command.
fn run(recorder: &mut Recorder, step: Step) {
    if step.kind == Kind::Worktree {
        return worktree(recorder);
    }
    recorder.act(step.who, &[], step.ends_turn(), |recorder| command(recorder, step));
}

fn command(recorder: &mut Recorder, step: Step) {
    match step.kind {
        Kind::Save => drop(recorder.checkpoint(&["save", "-q"])),
        Kind::EditAndCommit => {
            if let Some(path) = step.pick(&recorder.files()) {
                edit_in(recorder, Step { kind: Kind::Insert, ..step }, path);
            }
            commit(recorder, &["commit", "-qam", "edited"]);
        }
        Kind::Commit => {
            recorder.git(&["add", "-A"]);
            commit(recorder, &["commit", "-qm", "all"]);
        }
        Kind::CommitPath => {
            if let Some(path) = step.pick(&recorder.files()) {
                commit(recorder, &["commit", "-qm", "a path", "--", path]);
            }
        }
        Kind::CommitStaged => {
            if let Some(path) = step.pick(&recorder.files()) {
                recorder.git(&["add", "--", path]);
                commit(recorder, &["commit", "-qm", "staged"]);
            }
        }
        Kind::CommitPart => commit_part(recorder, step),
        Kind::Amend => {
            let mut arguments = vec!["commit", "-q", "--amend"];
            arguments.extend(if step.is(2) { ["-m", "amended"].as_slice() } else { &["--no-edit"] });
            arguments.extend(step.is(3).then_some("-a"));
            commit(recorder, &arguments);
        }
        Kind::ResetSoft => drop(recorder.git(&["reset", "-q", "--soft", "HEAD~1"])),
        Kind::ResetMixed => drop(recorder.git(&["reset", "-q", "--mixed", "HEAD~1"])),
        Kind::ResetHard => drop(recorder.git(&["reset", "-q", "--hard", "HEAD~1"])),
        Kind::StashPush => {
            recorder.typed.stash(&recorder.branch());
            let arguments: &[&str] = if step.is(2) { &["stash", "push", "-q", "-u"] } else { &["stash", "push", "-q"] };
            recorder.git(arguments);
        }
        Kind::StashPop => {
            recorder.typed.unstash(&recorder.branch());
            if !recorder.git(&["stash", "pop", "-q"]) && settle(recorder) {
                recorder.git(&["stash", "drop", "-q"]);
            }
        }
        Kind::Restore => {
            let target = format!("@{{{}}}", step.which % 4);
            recorder.typed.bring_all(&recorder.branch());
            recorder.checkpoint(&["restore", "-q", &target]);
        }
        Kind::Undo => {
            recorder.typed.bring_all(&recorder.branch());
            recorder.checkpoint(&["undo", "-q"]);
        }
        Kind::GitMv | Kind::Mv | Kind::MvTaken => rename(recorder, step),
        Kind::MvOnto => move_onto(recorder, step),
        Kind::Cut => cut(recorder, step),
        Kind::CheckoutPath => {
            if let Some(path) = step.pick(&recorder.files()) {
                let from = format!("HEAD~{}", step.at % 3);
                let arguments = if step.is(2) {
                    ["checkout", "-q", &from, "--", path]
                } else {
                    ["restore", "-s", &from, "--", path]
                };
                recorder.git(&arguments);
            }
        }
        _ => beside(recorder, step),
    }
}

/// Steps with more than one commit.
fn beside(recorder: &mut Recorder, step: Step) {
    let others = recorder.other_branches();
    let other = step.pick(&others).map_or("main", String::as_str);
    let branch = recorder.branch();
    let brings = match step.kind {
        Kind::Branch | Kind::Checkout | Kind::Fixup | Kind::Reorder | Kind::Revert => false,
        Kind::PickBare => !step.is_given_up(),
        _ => true,
    };
    if brings {
        recorder.typed.bring(other, &branch);
    } else if step.kind == Kind::Checkout && recorder.is_dirty() {
        recorder.typed.bring(&branch, other);
    }
    match step.kind {
        Kind::CheckoutOther => {
            let files = recorder.ask(&["ls-tree", "--name-only", "-r", other]).unwrap_or_default();
            let files: Vec<&str> = files.lines().collect();
            if let Some(path) = files.get(usize::from(step.at) % files.len().max(1)) {
                recorder.git(&["checkout", "-q", other, "--", path]);
            }
        }
        Kind::Branch => {
            let name = format!("b{}", others.len() + 1);
            let start = ["HEAD", "HEAD~1"][usize::from(step.is(2))];
            recorder.typed.bring(&branch, &name);
            recorder.git(&["checkout", "-q", "-b", &name, start]);
        }
        Kind::Checkout => drop(recorder.git(&["checkout", "-q", other])),
        Kind::Merge => {
            let how = if step.is(2) { "--ff" } else { "--no-ff" };
            if !recorder.git(&["merge", "-q", "--no-edit", how, other]) {
                settle(recorder);
            }
        }
        Kind::MergeSquash => {
            if !recorder.git(&["merge", "-q", "--squash", other]) && !settle(recorder) {
                return;
            }
            if step.is(2) {
                commit(recorder, &["commit", "-q", "--no-edit"]);
            } else if step.is(3) {
                commit(recorder, &["commit", "-qm", "squashed"]);
            }
        }
        Kind::Rebase => {
            let autostash = ["--no-autostash", "--autostash"][usize::from(step.is(2))];
            again(recorder, &["rebase", "-q", autostash, other], &[]);
        }
        Kind::Fixup => {
            let editor = format!("sed -i '2s/^pick/{}/'", ["fixup", "squash"][usize::from(step.is(2))]);
            last_two(recorder, &editor);
        }
        Kind::Reorder => last_two(recorder, "sed -i '1{h;d};2G'"),
        Kind::Pick => {
            let arguments: &[&str] = if step.is(2) { &["cherry-pick", "-x", other] } else { &["cherry-pick", other] };
            again(recorder, arguments, &[]);
        }
        Kind::PickBare => {
            let is_picked = recorder.git(&["cherry-pick", "-n", other]);
            if step.is_given_up() {
                recorder.git(&["restore", "-SW", "."]);
            } else if !is_picked {
                settle(recorder);
            }
        }
        Kind::Am => {
            let patch = recorder.ask(&["format-patch", "-1", "--stdout", other]).unwrap_or_default();
            if !patch.is_empty() && !recorder.git_with(&["am", "-q", "-3"], &[], &patch) {
                settle(recorder);
            }
        }
        Kind::Revert => again(recorder, &["revert", "--no-edit", "HEAD"], &[]),
        _ => unreachable!("{step}"),
    }
}

fn commit(recorder: &mut Recorder, arguments: &[&str]) {
    recorder.git(arguments);
}

/// Stages the first hunk of a file and commits it.
fn commit_part(recorder: &mut Recorder, step: Step) {
    let Some(path) = step.pick(&recorder.files()).cloned() else { return };
    let diff = recorder.ask(&["diff", "-U0", "--", &path]).unwrap_or_default();
    let hunks: Vec<usize> = diff.match_indices("\n@@ ").map(|(at, _)| at + 1).collect();
    let Some(first) = hunks.first() else { return };
    let at = usize::from(step.at) % hunks.len();
    let end = hunks.get(at + 1).copied().unwrap_or(diff.len());
    let patch = format!("{}{}", &diff[..*first], &diff[hunks[at]..end]);
    if recorder.git_with(&["apply", "--cached", "--unidiff-zero", "-"], &[], &patch) {
        commit(recorder, &["commit", "-qm", "a part"]);
    }
}

fn rename(recorder: &mut Recorder, step: Step) {
    let files = recorder.files();
    let Some(path) = step.pick(&files) else { return };
    let (new, text) = (format!("{path}r"), recorder.read(path));
    let is_formatted = |before: &String| !before.lines().any(|before| text.lines().any(|line| line == before));
    if files.contains(&new) || recorder.committed().get(path).is_some_and(is_formatted) {
        return;
    }
    if step.kind == Kind::GitMv {
        recorder.git(&["mv", path, &new]);
    } else {
        recorder.mv(path, &new);
    }
    if step.kind == Kind::MvTaken {
        let lines: String = (0..step.size).map(|_| recorder.line(step.who)).collect();
        recorder.write(path, &lines);
    }
}

/// Moves a file over another one.
fn move_onto(recorder: &mut Recorder, step: Step) {
    let files = recorder.files();
    let Some(path) = step.pick(&files) else { return };
    let others: Vec<&String> = files.iter().filter(|other| *other != path).collect();
    if let Some(other) = others.get(usize::from(step.at) % others.len().max(1)) {
        recorder.typed.rename(path, other);
        recorder.mv(path, other);
    }
}

/// Lines of a file that are moved to the end of another one.
struct Block {
    from: String,
    /// The first file without the lines.
    rest: String,
    to: String,
    /// The other file with them.
    more: String,
}

impl Block {
    /// Returns the one of `size` lines that `step` is about.
    fn of(recorder: &Recorder, step: Step, size: usize) -> Option<Self> {
        let files = recorder.files();
        let from = step.pick(&files)?;
        let others: Vec<&String> = files.iter().filter(|other| *other != from).collect();
        let to = *others.get(usize::from(step.at) % others.len().max(1))?;
        let text = recorder.read(from);
        let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
        let start = usize::from(step.at) * (lines.len() + 1) / 256;
        let block: String = lines.drain(start..(start + size).min(lines.len())).collect();
        // Only blanks may tell a formatted line from what git brings back.
        let is_plain = !block.is_empty() && !block.lines().any(|line| is_common(line) || line.starts_with(' '));
        let more = format!("{}{block}", recorder.read(to));
        is_plain.then(|| Self { from: from.clone(), rest: lines.concat(), to: to.clone(), more })
    }
}

/// Cuts lines out of a file and adds them to another one.
fn cut(recorder: &mut Recorder, step: Step) {
    if let Some(block) = Block::of(recorder, step, usize::from(step.size)) {
        recorder.write(&block.from, &block.rest);
        recorder.write(&block.to, &block.more);
    }
}

/// Adds lines of a file to another one, lets someone make a new file, cuts the lines out, and saves. There are enough of them to be
/// known again.
fn cut_later(recorder: &mut Recorder, step: Step) {
    let Some(block) = Block::of(recorder, step, usize::from(step.size) + 2) else { return };
    let cut = |path: &str| recorder.read(path).lines().count() - block.rest.lines().count();
    if cut(&block.from) < 3 {
        return;
    }
    recorder.act(step.who, &[&block.to], step.ends_turn(), |recorder| recorder.write(&block.to, &block.more));
    let who = if step.is(2) { Who::Person } else { Who::Agent(2) };
    edit(recorder, Step { kind: Kind::Create, who, ..step });
    recorder.act(step.who, &[&block.from], step.ends_turn(), |recorder| recorder.write(&block.from, &block.rest));
    recorder.checkpoint(&["save", "-q"]);
}

fn last_two(recorder: &mut Recorder, editor: &str) {
    if recorder.has_two_plain_commits() {
        again(recorder, &["rebase", "-q", "-i", "--autostash", "HEAD~2"], &[("GIT_SEQUENCE_EDITOR", editor)]);
    }
}

/// Runs a command that repeats commits, and continues it where it stops.
fn again(recorder: &mut Recorder, arguments: &[&str], variables: &[(&str, &str)]) {
    let is_done = recorder.git_with(arguments, variables, "");
    // If only its autostash meets a conflict, a rebase says that all went well, and keeps the entry.
    let is_in_conflict = !is_done || !recorder.unmerged().is_empty();
    if is_in_conflict && settle(recorder) && is_done {
        recorder.git(&["stash", "drop", "-q"]);
    }
}

/// Goes to the other worktree, which is made if it is not there.
fn worktree(recorder: &mut Recorder) {
    let (main, side) = (recorder.world.repo(), recorder.world.root().join("side"));
    recorder.act(Who::Person, &[], true, |recorder| {
        if !side.exists() {
            recorder.typed.bring(&recorder.branch(), "side");
            recorder.git(&["worktree", "add", "-q", "-b", "side", "../side"]);
        }
        recorder.go_to(if recorder.place == main { side } else { main });
    });
}

/// Resolves conflicts by taking both sides, and continues git's operation; returns false if there was no conflict.
fn settle(recorder: &mut Recorder) -> bool {
    let mut is_settled = false;
    for _ in 0..12 {
        is_settled |= resolve(recorder);
        let (go_on, skip): (&[&str], &[&str]) = if recorder.has_in_git_dir("rebase-merge") {
            (&["rebase", "--continue"], &["rebase", "--skip"])
        } else if recorder.has_in_git_dir("rebase-apply") {
            (&["am", "--continue"], &["am", "--skip"])
        } else if recorder.has_in_git_dir("CHERRY_PICK_HEAD") {
            (&["cherry-pick", "--continue"], &["cherry-pick", "--skip"])
        } else if recorder.has_in_git_dir("REVERT_HEAD") {
            (&["revert", "--continue"], &["revert", "--skip"])
        } else if recorder.has_in_git_dir("MERGE_HEAD") {
            (&["commit", "-q", "--no-edit"], &["merge", "--abort"])
        } else {
            return is_settled;
        };
        if !recorder.git(go_on) && recorder.unmerged().is_empty() {
            recorder.git(skip);
        }
    }
    is_settled
}

/// Takes the marks out of the files in conflict and stages them.
fn resolve(recorder: &mut Recorder) -> bool {
    let paths = recorder.unmerged();
    for path in &paths {
        if recorder.files().iter().any(|file| file == path) {
            let text = recorder.read(path);
            let is_mark =
                |line: &&str| ["<<<<<<<", "=======", ">>>>>>>", "|||||||"].iter().any(|it| line.starts_with(it));
            let kept: String = text.split_inclusive('\n').filter(|line| !is_mark(line)).collect();
            if kept != text {
                recorder.write(path, &kept);
            }
            recorder.git(&["add", "--", path]);
        } else {
            recorder.git(&["rm", "-q", "--cached", "--", path]);
        }
    }
    !paths.is_empty()
}
