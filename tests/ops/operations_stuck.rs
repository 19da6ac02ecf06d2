//! Undo and redo pass over no operation: where one cannot be taken back, they change nothing, and name one command that works.

use std::{fs, process::Stdio};

use crate::support::{World, dice::Dice, processes::described};

fn text(world: &World, name: &str) -> Option<String> {
    fs::read_to_string(world.repo().join(name)).ok()
}

fn refused(world: &World, line: &[&str]) -> String {
    let output = world.checkpoint(line);
    assert_eq!(output.status.code(), Some(1), "{line:?}: {}", described(&output));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns the id of the latest operation.
fn latest(world: &World) -> String {
    world.json(&["op", "log", "--json"])["operations"][0]["id"].as_str().expect("an id").to_owned()
}

/// Returns the command that the hint in `said` names.
fn hinted(said: &str) -> String {
    let hints: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("hint: ")).collect();
    assert_eq!(hints.len(), 1, "{said}");
    assert!(!hints[0].contains('<'), "{said}");
    let words: Vec<&str> = hints[0].split('\'').filter(|part| part.starts_with("git ")).collect();
    assert_eq!(words.len(), 1, "one command is in quotes: {said}");
    words[0].to_owned()
}

/// Runs `command` in a copy of the repository: it must work.
fn assert_works(world: &World, command: &str) {
    world.sh(&format!("rm -rf ../copy && cp -a . ../copy && cd ../copy && {command}"));
}

/// Types undo and, where that is refused, what it hints at, until nothing is left to undo. Returns what was said at last.
fn undo_to_the_end(world: &World) -> String {
    for _ in 0..40 {
        let output = world.checkpoint(&["undo"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        match output.status.code() {
            Some(0) => {}
            _ if said.contains("nothing is left to undo") || said.contains("nothing to undo") => return said,
            _ => drop(world.sh(&hinted(&said))),
        }
    }
    panic!("it goes on for ever");
}

/// Returns a world with hooks, two checkpoints of a person after a turn, and a restore before them.
fn with_history(has_hooks: bool) -> World {
    let world = World::with_commit();
    if has_hooks {
        world.done(&["enable"]);
    }
    world.write("kept", "kept\n");
    world.done(&["save", "-q"]);
    world.done(&["restore", "-q", "base"]);
    world.done(&["session", "prompt", "-q", "s1", "-m", "go"]);
    world.write("g", "of the agent\n");
    world.done(&["session", "stop", "-q", "s1"]);
    for content in ["base\nx\n", "base\nx\nx\n"] {
        world.write("f", content);
        world.done(&["save", "-q"]);
    }
    world
}

/// A commit takes work out of the shadow: nothing brings the shadow back to what it was.
#[rstest::rstest]
#[case::op_restore(&["op", "restore", "@{1}"], true)]
#[case::drop(&["drop", "-f", "@{0}"], true)]
#[case::op_restore_without_hooks(&["op", "restore", "@{1}"], false)]
#[case::drop_without_hooks(&["drop", "-f", "@{0}"], false)]
fn an_operation_from_before_a_commit_is_not_passed_over(#[case] line: &[&str], #[case] has_hooks: bool) {
    let world = with_history(has_hooks);
    world.done(line);
    world.write("g", "of the agent\ny\n");
    world.git(&["add", "-A"]);
    world.git(&["commit", "-q", "-m", "p"]);
    let id = world.json(&["undo", "--list", "--json"])["operations"][0]["id"].as_str().expect("an id").to_owned();
    let said = refused(&world, &["undo"]);
    assert!(said.contains(&format!("cannot take back {} 'git checkpoint {}", &id[..8], line[0])), "{said}");
    assert!(said.contains("has moved since") || said.contains("another commit"), "{said}");
    assert_eq!(said.lines().count(), 2, "{said}");
    let long = said.split(|c: char| !c.is_ascii_hexdigit()).any(|word| word.len() == 10);
    assert!(!long, "ids are as short as everywhere: {said}");
    assert_eq!(text(&world, "kept"), None);
    assert_eq!(refused(&world, &["undo"]), said, "nothing was changed");
    assert_eq!(refused(&world, &["undo", "-n"]), said);
    assert!(hinted(&said).starts_with("git checkpoint op undo "), "{said}");
    world.sh(&hinted(&said));
    assert_eq!(text(&world, "kept").as_deref(), Some("kept\n"));
    let last = refused(&world, &["undo"]);
    assert!(last.contains(&format!("nothing is left to undo: {}", &id[..8])), "{last}");
    assert_eq!(last.lines().count(), 1, "{last}");
    assert!(refused(&world, &["op", "undo", &id]).contains("cannot take back"));
    world.done(&["redo", "-q"]);
    assert_eq!(text(&world, "kept"), None);
    world.assert_sound("at the end");
}

/// An undo of an operation before it has moved the same shadow, and what it brings back is not what was asked for.
#[rstest::rstest]
#[case::a_file_deleted("git checkpoint save -q --allow-empty; rm f; git checkpoint save -q")]
#[case::lines_added("echo a >>f; git checkpoint save -q; echo b >>f; git checkpoint save -q")]
fn undo_and_its_hints_come_to_an_end(#[case] before: &str) {
    let world = World::with_commit();
    world.sh(before);
    world.done(&["restore", "-q", "@{1}"]);
    world.done(&["op", "restore", "-q", "@{2}"]);
    let id = latest(&world);
    world.done(&["op", "undo", "-q", "@{1}"]);
    let said = undo_to_the_end(&world);
    assert!(said.contains(&id[..8]) && said.contains("'git checkpoint op undo -q '@{1}''"), "{said}");
    assert!(said.contains("the shadow of ") && !said.contains("refs/"), "{said}");
    world.sh("rm -rf ../copy; cp -a . ../copy");
    world.sh(&format!("cd ../copy; {}; git checkpoint op undo -q {id}; git checkpoint undo -q", hinted(&said)));
    // A person who names it sees what takes it back.
    let named = refused(&world, &["op", "undo", &id]);
    assert!(named.contains("takes that one back first"), "{named}");
    world.sh(&hinted(&named));
    world.done(&["op", "undo", "-q", &id]);
    undo_to_the_end(&world);
    world.assert_sound("at the end");
}

/// Returns a command of a random history. It may be refused.
fn random_command(dice: &mut Dice) -> String {
    let (file, number) = (["f", "g", "d/x"][dice.roll(3)], dice.below(1000));
    let operation = format!("@{{{}}}", dice.below(5));
    let edit = format!("mkdir -p d; echo {number} >>{file}");
    match dice.below(16) {
        0..=2 => edit,
        3..=5 => format!("{edit}; git checkpoint save -q"),
        6 => format!("git checkpoint restore -q --all {operation}"),
        7 => "git checkpoint restore -q base".to_owned(),
        8 => format!("git checkpoint op restore -q {operation}"),
        9 => "git checkpoint reset -q --force".to_owned(),
        10 => format!("git checkpoint drop -fq {operation}"),
        11 => format!("git checkpoint op undo -q {operation}"),
        12 => "git checkpoint undo -q --all".to_owned(),
        13 => format!("git checkpoint session prompt -q S -m x; {edit}; git checkpoint session stop -q S"),
        14 => "git checkpoint session forget -q S".to_owned(),
        _ => "git switch -q other || git switch -q main || { git add -A; git commit -q -m c; }".to_owned(),
    }
}

/// Each hint on the way must work: the commands in it, as they are printed.
#[test]
fn undo_and_its_hints_come_to_an_end_in_random_histories() {
    for seed in 0..16 {
        let mut dice = Dice(seed);
        let world = World::with_commit();
        world.git(&["branch", "other"]);
        for _ in 0..6 + dice.below(10) {
            world.sh(&format!("({}) || true", random_command(&mut dice)));
        }
        undo_to_the_end(&world);
        world.assert_sound(&format!("seed {seed}"));
    }
}

#[test]
fn what_undid_an_earlier_operation_is_named_as_what_is_in_the_way() {
    let world = World::with_commit();
    world.done(&["save", "-q", "--allow-empty"]);
    world.done(&["session", "prompt", "-q", "s1", "-m", "x"]);
    world.remove("f");
    world.done(&["session", "stop", "-q", "s1"]);
    world.done(&["restore", "-q", "verified"]);
    world.done(&["op", "restore", "-q", "@{2}"]);
    let id = latest(&world);
    world.done(&["op", "undo", "-q", "@{1}"]);
    world.done(&["reset", "-q"]);
    world.done(&["undo", "-q"]);
    let said = refused(&world, &["undo"]);
    assert!(said.contains("nothing is left to undo") && said.contains("has moved since"), "{said}");
    world.sh(&hinted(&refused(&world, &["op", "undo", &id])));
    world.done(&["op", "undo", "-q", &id]);
    world.assert_sound("at the end");
}

fn let_session_go_on(world: &World, id: &str) {
    for step in ["prompt", "stop", "forget", "prompt", "stop"] {
        let message: &[&str] = if step == "prompt" { &["-m", "x"] } else { &[] };
        world.done(&[&["session", step, "-q", id], message].concat());
    }
}

#[test]
fn a_session_that_went_on_is_named_with_what_can_be_taken_back() {
    let world = World::with_commit();
    world.write("f", "base\nW\n");
    world.done(&["restore", "-q", "base"]);
    let_session_go_on(&world, "S");
    let named = refused(&world, &["op", "undo", "@{0}"]);
    assert!(named.contains("the session 'S' went on since"), "{named}");
    assert_eq!(hinted(&named), "git checkpoint session list");
    let said = refused(&world, &["undo"]);
    assert!(said.contains("the session 'S' went on since"), "{said}");
    world.sh(&hinted(&said));
    assert_eq!(text(&world, "f").as_deref(), Some("base\nW\n"));
    assert!(refused(&world, &["undo"]).contains("nothing is left to undo"));
}

/// Returns a world where `op restore` was done on another base than that of now.
fn with_operation_elsewhere(before: &str) -> World {
    let world = World::with_commit();
    world.sh(before);
    world.sh(
        "echo v >>f; git checkpoint save -q; echo w >>f; git checkpoint save -q; git checkpoint op restore -q @{1}",
    );
    world.sh("git stash -q; git switch -q main");
    world
}

#[rstest::rstest]
#[case::head_was_detached("git checkout -q --detach; git commit -q --allow-empty -m d", "git switch --detach ")]
#[case::on_a_branch("git switch -qc b; git commit -q --allow-empty -m d", "git switch b")]
fn git_switch_goes_to_where_it_can_be_taken_back(#[case] before: &str, #[case] expected: &str) {
    let world = with_operation_elsewhere(before);
    let command = hinted(&refused(&world, &["undo"]));
    assert!(command.starts_with(expected), "{command}");
    world.sh(&command);
    world.sh("git stash pop -q; git checkpoint undo -q");
}

#[test]
fn the_branch_of_another_worktree_is_not_needed() {
    let world = with_operation_elsewhere("git switch -qc b; git commit -q --allow-empty -m d");
    world.sh("git worktree add -q ../other b");
    let command = hinted(&refused(&world, &["undo"]));
    assert!(command.starts_with("git switch --detach "), "{command}");
    world.sh(&command);
    world.sh("git stash pop -q; git checkpoint undo -q");
}

/// Git writes over an ignored file, and no checkpoint has it.
#[test]
fn no_switch_is_named_that_writes_over_an_ignored_file() {
    let world = with_operation_elsewhere("git switch -qc b; echo t >t; git add t; git commit -qm t");
    assert_eq!(hinted(&refused(&world, &["undo"])), "git switch b");
    world.sh("echo mine >t; echo t >>.git/info/exclude");
    let said = refused(&world, &["undo"]);
    assert!(!said.contains("git switch"), "{said}");
}

#[test]
fn a_hint_says_that_it_writes_over_what_was_committed() {
    let world = World::with_commit();
    world.sh("echo 1 >f; git checkpoint save -q; git checkpoint restore -q --all base; echo c >f; git commit -qam c");
    let_session_go_on(&world, "F");
    let said = refused(&world, &["undo"]);
    assert!(hinted(&said).starts_with("git checkpoint op undo --all "), "{said}");
    assert!(
        said.contains("back, and writes over what was edited or committed since: git checkpoint restore -q --all base"),
        "{said}"
    );
}

/// For a hint, only some are looked at, as each takes time.
#[test]
fn the_list_is_named_if_there_are_more_operations_than_are_looked_at() {
    let world = World::with_commit();
    world.sh("for i in $(seq 22); do echo $i >f; git checkpoint save -q; git checkpoint restore -q --all base; done");
    world.sh("rm f; mkdir f; echo >f/f");
    let_session_go_on(&world, "F");
    let said = refused(&world, &["undo"]);
    assert_eq!(hinted(&said), "git checkpoint undo --list", "{said}");
}

/// However many operations cannot be taken back, one is named.
#[test]
fn many_operations_in_the_way_are_one_line() {
    let world = World::with_commit();
    for number in 0..6 {
        let_session_go_on(&world, &format!("S{number}"));
    }
    let said = refused(&world, &["undo"]);
    assert_eq!((said.lines().count(), said.contains("'S5'")), (1, true), "{said}");
}

/// A session went on since it was forgotten again, after an undo of that.
#[test]
fn so_it_is_for_redo() {
    let world = World::with_commit();
    world.write("f", "base\nW\n");
    world.done(&["restore", "-q", "base"]);
    for step in ["prompt", "stop", "forget"] {
        let message: &[&str] = if step == "prompt" { &["-m", "x"] } else { &[] };
        world.done(&[&["session", step, "-q", "S"], message].concat());
    }
    for line in ["undo", "undo", "redo", "undo"] {
        world.done(&[line, "-q"]);
    }
    // The last undo is of the restore.
    world.done(&["redo", "-q"]);
    world.done(&["session", "prompt", "-q", "S", "-m", "x"]);
    world.done(&["session", "stop", "-q", "S"]);
    let said = refused(&world, &["redo"]);
    assert!(said.contains("nothing is left to redo") && said.contains("went on since"), "{said}");
}

/// With `op undo` of an undo, the operation is in force again, whatever was done since the undo.
#[rstest::rstest]
#[case::at_once(&[])]
#[case::after_another_operation(&["verify"])]
fn what_is_redone_by_op_undo_can_be_undone_again(#[case] between: &[&str]) {
    let world = World::with_commit();
    world.write("f", "base\nW\n");
    world.done(&["save", "-q"]);
    world.done(&["restore", "-q", "base"]);
    world.done(&["undo", "-q"]);
    let undo = world.json(&["op", "log", "--json"])["operations"][0]["id"].as_str().expect("an id").to_owned();
    if !between.is_empty() {
        world.done(between);
    }
    world.done(&["op", "undo", "-q", &undo]);
    assert_eq!(text(&world, "f").as_deref(), Some("base\n"));
    world.done(&["reset", "-q"]);
    for _ in 0..2 {
        world.done(&["undo", "-q"]);
    }
    assert_eq!(text(&world, "f").as_deref(), Some("base\nW\n"));
    world.done(&["redo", "-q"]);
    assert_eq!(text(&world, "f").as_deref(), Some("base\n"));
}

#[test]
fn a_reset_with_work_since_is_not_passed_over() {
    let world = World::with_commit();
    world.write("f", "base\none\n");
    world.done(&["save", "-q"]);
    world.write("f", "base\nunsaved\n");
    world.done(&["restore", "-q", "base"]);
    world.done(&["reset", "-q"]);
    let id = latest(&world);
    world.write("g", "two\n");
    world.done(&["save", "-q"]);
    let said = refused(&world, &["undo"]);
    assert!(said.contains(&id[..8]) && said.contains("has moved since"), "{said}");
    assert_eq!((text(&world, "f").as_deref(), text(&world, "g").as_deref()), (Some("base\n"), Some("two\n")));
    let named = refused(&world, &["op", "undo", &id]);
    assert!(hinted(&named).starts_with("git checkpoint op restore "), "{named}");
    assert_works(&world, &hinted(&named));
    world.sh(&hinted(&said));
    assert_eq!(text(&world, "f").as_deref(), Some("base\nunsaved\n"));
}

/// The hint asks what the command itself asks, also of files.
#[test]
fn what_was_edited_since_is_taken_back_by_the_hint_too() {
    let world = World::with_commit();
    world.write("f", "one\n");
    world.done(&["save", "-q"]);
    world.done(&["restore", "-q", "base"]);
    world.write("f", "two\n");
    world.done(&["save", "-q"]);
    world.done(&["reset", "-q"]);
    world.write("f", "three\n");
    world.done(&["save", "-q"]);
    let said = refused(&world, &["undo"]);
    assert!(hinted(&said).starts_with("git checkpoint op undo --all "), "{said}");
    world.sh(&hinted(&said));
    assert_eq!(text(&world, "f").as_deref(), Some("one\n"));
}

/// Returns a world where HEAD is at another branch than it was at an `op restore`, before which an old restore stands.
fn elsewhere() -> World {
    let world = World::with_commit();
    world.write("n", "old\n");
    world.done(&["save", "-q"]);
    world.done(&["restore", "-q", "base"]);
    world.write("n", "committed\n");
    world.git(&["add", "-A"]);
    world.git(&["commit", "-q", "-m", "2"]);
    world.git(&["branch", "other"]);
    world.write("f", "on main\n");
    world.git(&["commit", "-q", "-a", "-m", "3"]);
    for content in ["a\n", "b\n"] {
        world.write("w", content);
        world.done(&["save", "-q"]);
    }
    world.done(&["op", "restore", "-q", "@{1}"]);
    world.git(&["stash", "-q", "-u"]);
    world.git(&["switch", "-q", "other"]);
    world
}

#[test]
fn where_head_is_at_another_branch_the_hint_is_to_switch() {
    let world = elsewhere();
    for line in [&["undo"][..], &["undo", "-n"], &["undo", "--all"], &["op", "undo", "@{0}"]] {
        let said = refused(&world, line);
        assert!(said.contains("HEAD was at another commit then"), "{said}");
        assert_eq!(hinted(&said), "git switch main", "{said}");
        assert_eq!(text(&world, "n").as_deref(), Some("committed\n"));
    }
    world.git(&["switch", "-q", "main"]);
    world.git(&["stash", "pop", "-q"]);
    world.done(&["undo", "-q"]);
    assert_eq!(text(&world, "w").as_deref(), Some("b\n"));
    world.assert_sound("at the end");
}

/// Git would refuse to switch.
#[rstest::rstest]
#[case::with_edits_there("echo edited >>f")]
#[case::with_an_untracked_file_there("git rm -q --cached f")]
#[case::in_a_rebase(
    "echo up >f; git commit -qam up; git switch -qc down HEAD~1; echo down >f; git commit -qam down; ! git rebase other"
)]
fn where_git_does_not_switch_the_hint_is_another_one(#[case] then: &str) {
    let world = elsewhere();
    world.sh(then);
    let said = refused(&world, &["undo"]);
    assert!(hinted(&said).starts_with("git checkpoint op undo "), "{said}");
    assert_works(&world, &hinted(&said));
    assert_eq!(text(&world, "n").as_deref(), Some("committed\n"));
}

/// No branch that can be switched to is there.
#[rstest::rstest]
#[case::in_another_worktree("git worktree add -q ../side main")]
#[case::moved_on("git branch -f main other")]
fn the_commit_itself_is_named(#[case] then: &str) {
    let world = elsewhere();
    world.sh(then);
    let command = hinted(&refused(&world, &["undo"]));
    assert!(command.starts_with("git switch --detach "), "{command}");
    world.sh(&format!("{command}; git stash pop -q; git checkpoint undo -q"));
    assert_eq!(text(&world, "w").as_deref(), Some("b\n"));
}

/// The files are back already, so that no file has to change.
#[rstest::rstest]
#[case::named(&["op", "undo", "@{1}"])]
#[case::the_last(&["undo"])]
fn what_is_back_already_is_taken_back_once(#[case] line: &[&str]) {
    let world = World::with_commit();
    world.write("f", "one\n");
    world.done(&["save", "-q"]);
    world.done(&["restore", "-q", "base"]);
    world.write("f", "one\n");
    world.done(&["save", "-q"]);
    let before = latest(&world);
    world.done(line);
    let log = world.json(&["op", "log", "--json"]);
    assert_eq!(log["operations"][1]["id"].as_str(), Some(before.as_str()), "{log}");
    assert!(log["operations"][0]["undoes"].is_string(), "{log}");
    world.done(&["redo"]);
    world.done(&["undo"]);
    assert_eq!(text(&world, "f").as_deref(), Some("one\n"));
}

/// The hint of a command that names an operation names that, too: 'undo --all' would take another one back.
#[test]
fn edits_are_taken_back_with_the_named_operation() {
    let world = World::with_commit();
    world.write("f", "one\n");
    world.done(&["save", "-q"]);
    world.done(&["restore", "-q", "base"]);
    let id = latest(&world);
    world.write("g", "kept\n");
    world.done(&["save", "-q"]);
    world.done(&["restore", "-q", "base"]);
    world.write("f", "edited\n");
    let said = refused(&world, &["op", "undo", &id]);
    assert!(hinted(&said).starts_with("git checkpoint op undo --all "), "{said}");
    world.sh(&hinted(&said));
    assert_eq!((text(&world, "f").as_deref(), text(&world, "g")), (Some("one\n"), None));
}

#[test]
fn an_undo_that_restores_nothing_does_not_say_that_it_did() {
    let world = World::with_commit();
    world.write("g", "first\n");
    world.done(&["restore", "-q", "base"]);
    world.write("x", "one\n");
    world.done(&["restore", "-q", "base"]);
    world.write(".gitignore", "x\n");
    world.write("x", "ignored\n");
    let said = refused(&world, &["undo"]);
    assert!(said.contains("nothing restored: 1 path kept"), "{said}");
    let output = world.checkpoint(&["undo"]);
    assert!(!described(&output).contains("undone"), "{}", described(&output));
    assert_eq!(text(&world, "x").as_deref(), Some("ignored\n"));
    assert!(said.contains("git checkpoint op undo "), "{said}");
    let hint = said.lines().find(|line| line.contains("op undo")).expect("one");
    world.sh(&hinted(hint));
    assert_eq!(text(&world, "g").as_deref(), Some("first\n"));
}

/// Returns how many checkpoints are live or held by the archive, as people see them.
fn listed(world: &World) -> usize {
    world.sh("git checkpoint list --json").lines().count()
}

/// The restore has filled an empty directory.
#[test]
fn an_undo_puts_an_empty_directory_back() {
    let world = World::with_commit();
    world.write("d/x", "x\n");
    world.done(&["save", "-q"]);
    world.remove("d/x");
    world.done(&["save", "-q"]);
    let before = listed(&world);
    world.done(&["restore", "-q", "@{1}"]);
    world.done(&["undo", "-q"]);
    assert!(world.repo().join("d").is_dir());
    assert_eq!(listed(&world), before);
    assert!(described(&world.checkpoint(&["save"])).contains("nothing has changed"));
    world.done(&["redo", "-q"]);
    assert_eq!(text(&world, "d/x").as_deref(), Some("x\n"));
    world.done(&["undo", "-q"]);
    assert!(world.repo().join("d").is_dir() && text(&world, "d/x").is_none());
}

/// A process is in the directory that the restore has emptied, so that it stays.
#[test]
fn an_undo_in_an_emptied_directory_leaves_no_checkpoint() {
    let world = World::with_commit();
    world.write("d/new", "x\n");
    world.done(&["save", "-q"]);
    let before = listed(&world);
    world.sh("cd d && git checkpoint restore -q base && git checkpoint undo -q");
    assert_eq!(text(&world, "d/new").as_deref(), Some("x\n"));
    assert_eq!(listed(&world), before);
}

/// Another process records an operation between the look at the log and the lock.
#[test]
fn two_commands_at_once_are_done_one_after_the_other() {
    let world = World::with_commit();
    for number in 0..3 {
        world.write("f", format!("{number}\n"));
        world.done(&["save", "-q"]);
    }
    let script = "for i in 1 2 3 4; do echo $0$i >>f; git checkpoint save -q; git checkpoint restore -q base; \
                  git checkpoint undo -q; git checkpoint redo -q; git checkpoint reset -q; git checkpoint undo -q; \
                  git checkpoint op restore -q @{1}; git checkpoint undo -q; done";
    let loops: Vec<_> = ["a", "b", "c", "d"]
        .map(|name| {
            let mut command = world.command("bash");
            command.args(["-c", script, name]).stderr(Stdio::piped()).stdout(Stdio::null());
            command.spawn().expect("it runs")
        })
        .into_iter()
        .collect();
    for running in loops {
        let output = running.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!said.contains("recorded meanwhile"), "{said}");
    }
    world.assert_sound("at the end");
}

/// A program that reads the JSON needs no second command to find what was unsaved.
#[test]
fn the_json_says_what_was_archived() {
    let world = World::with_commit();
    world.write("f", "saved\n");
    world.done(&["save", "-q"]);
    world.write("f", "unsaved\n");
    world.done(&["restore", "-q", "@{0}"]);
    let planned = world.json(&["undo", "-n", "--json"])["archived"].clone();
    let undone = world.json(&["undo", "--json"]);
    let archived = undone["archived"].as_array().expect("a list").clone();
    assert_eq!((planned, archived.len()), (undone["archived"].clone(), 1), "{undone}");
    let refs = world.git(&["for-each-ref", "--format=%(objectname)", "refs/checkpoints/archive"]);
    let expected: Vec<&str> = refs.lines().collect();
    assert_eq!(archived.iter().filter_map(|id| id.as_str()).collect::<Vec<_>>(), expected, "{undone}");
    world.done(&["reset", "-q"]);
    let undone = world.json(&["undo", "--json"]);
    assert_eq!(undone["archived"].as_array().map(Vec::len), Some(0), "{undone}");
}
