//! `worktree remove` and `worktree restore`: a removed worktree comes back byte for byte.

use std::{fs, path::Path};

use rstest::rstest;
use serde_json::{Value, json};

use super::{add, by_git, by_us, json_of, run_in, said};
use crate::support::{World, processes::described};

/// Returns all that a person sees of the worktree at `path`: files with their modes, times and bytes, the index, HEAD.
pub(super) fn state(world: &World, path: &Path) -> String {
    world.sh(&format!(
        "cd '{}'; git symbolic-ref -q HEAD || git rev-parse HEAD; git ls-files --stage
         find . -path ./.git -prune -o -mindepth 1 -printf '%P %y %m %T@ %l\\n' | sort
         find . -type f -exec cksum {{}} + | sort
         git status --porcelain=v2 --ignored; git reflog show HEAD",
        path.display()
    ))
}

/// Makes a worktree of the branch `side` with work of each kind in it.
pub(super) fn with_work(world: &World) -> std::path::PathBuf {
    let path = add(world, "side");
    world.sh(&format!(
        "cd '{}'; echo tracked >t; printf '.env\\nout/\\n' >.gitignore; git add .; git commit -qm work
         echo secret >.env; chmod 600 .env; mkdir out empty; echo built >out/o
         echo staged >t; git add t; echo unstaged >t; echo new >'a b'; chmod +x 'a b'; ln -s nowhere link
         echo only staged >gone; git add gone; rm gone",
        path.display()
    ));
    world.settle();
    path
}

/// Removes the worktree of the branch `side`, and returns what is printed.
fn removed(world: &World) -> Value {
    let value = json_of(world, &["worktree", "remove", "--force", "side", "--json"]);
    assert_eq!(value["version"], json!(1), "{value}");
    value
}

#[rstest]
#[case::files(&[])]
#[case::sha256(&["--object-format=sha256"])]
#[case::reftable(&["--ref-format=reftable"])]
fn a_removed_worktree_comes_back_byte_for_byte(#[case] options: &[&str]) {
    let world = World::new();
    world.git(&[&["init", "-q", "-b", "main"], options, &["."]].concat());
    world.git(&["commit", "-q", "--allow-empty", "-m", "base"]);
    let path = with_work(&world);
    run_in(&world, &path, &["save", "-q", "-m", "mine"]);
    let (before, listed) = (state(&world, &path), by_us(&world));
    let value = removed(&world);
    assert!(!path.exists() && world.sh("ls .git/worktrees 2>&1 || true").contains("No such file"), "{value}");
    assert_eq!((by_us(&world).len(), by_git(&world).len()), (1, 1));
    assert_eq!(value["ignored"], json!([".env", "out/"]));
    assert_eq!((&value["branch"], &value["merged"], &value["dirty"]), (&json!("side"), &json!(false), &json!(4)));
    // The branch stays, and nothing that is needed goes with the objects that nothing leads to.
    world.sh("git reflog expire --expire=now --all; git gc -q --prune=now; git fsck --strict --no-dangling");
    let checkpoint = value["checkpoint"].as_str().expect("an id");
    assert_eq!(world.git(&["show", &format!("{checkpoint}:t")]), "unstaged\n");
    let list = json_of(&world, &["worktree", "restore", "--list", "--json"]);
    assert_eq!((&list["removed"][0]["id"], &list["removed"][0]["files"]), (&value["id"], &json!(true)));
    let back = json_of(&world, &["worktree", "restore", value["id"].as_str().expect("an id"), "--json"]);
    assert_eq!((&back["branch"], &back["created"], &back["detached"]), (&json!("side"), &json!(false), &Value::Null));
    assert_eq!(state(&world, &path), before);
    assert_eq!((by_us(&world), by_git(&world)), (listed.clone(), listed));
    let list = json_of(&world, &["worktree", "restore", "--list", "--json"]);
    assert_eq!(list["removed"], json!([]));
    world.sh("git fsck --strict --no-dangling");
    // Its checkpoints go on where they were.
    let saved = run_in(&world, &path, &["list", "--json"]);
    assert!(String::from_utf8_lossy(&saved.stdout).contains("mine"), "{}", said(&saved));
    assert!(run_in(&world, &path, &["save", "-q", "--allow-empty"]).status.success());
}

/// Its files are all there.
#[test]
fn a_worktree_without_its_dot_git_is_not_called_gone() {
    let world = World::with_commit();
    let path = add(&world, "side");
    fs::remove_file(path.join(".git")).expect("it is there");
    let output = world.checkpoint(&["worktree", "remove", "side"]);
    for words in [&format!("the '.git' of the worktree '{}' is gone", path.display()), "'git worktree repair' makes it"]
    {
        assert!(said(&output).contains(words), "{}", said(&output));
    }
    world.git(&["worktree", "repair"]);
    world.done(&["worktree", "remove", "side"]);
}

/// The operation log has one entry for each, which say what takes them back; `undo` leaves them alone.
#[test]
fn the_operation_log_knows_it() {
    let world = World::with_commit();
    with_work(&world);
    let id = removed(&world)["id"].as_str().expect("an id").to_owned();
    let operations = world.done(&["op", "log"]);
    assert_eq!(operations.lines().filter(|line| line.contains("worktree remove")).count(), 1, "{operations}");
    let output = world.checkpoint(&["op", "undo", "@{0}"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains(&format!("git checkpoint worktree restore {id}")), "{}", said(&output));
    assert!(world.checkpoint(&["worktree", "restore", "side"]).status.success());
    let operations = world.done(&["op", "log"]);
    assert_eq!(operations.lines().filter(|line| line.contains("worktree restore")).count(), 1, "{operations}");
    let undone = world.checkpoint(&["undo"]);
    assert_eq!(undone.status.code(), Some(128));
    assert!(said(&undone).contains("git checkpoint worktree remove"), "{}", said(&undone));
}

#[test]
fn uncommitted_work_is_asked_about_after_it_was_saved() {
    let world = World::with_commit();
    let path = with_work(&world);
    let before = state(&world, &path);
    let output = world.checkpoint(&["worktree", "remove", "side"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("4 paths that differ from HEAD"), "{}", said(&output));
    assert!(said(&output).contains("worktree remove --force"), "{}", said(&output));
    assert_eq!(state(&world, &path), before);
    let saved = String::from_utf8(run_in(&world, &path, &["list"]).stdout).expect("text");
    assert!(saved.contains("Before the worktree was removed"), "{saved}");
    // Without such work, there is no question.
    add(&world, "clean");
    assert!(world.checkpoint(&["worktree", "remove", "clean"]).status.success());
}

#[rstest]
#[case::main("", "main", 1, "is the main worktree")]
#[case::unknown("", "nope", 128, "names no worktree")]
#[case::locked("git worktree lock --reason 'a usb stick' ../repo-wt-side", "side", 1, "is locked: a usb stick")]
#[case::gone("mv ../repo-wt-side ../away", "side", 1, "is gone")]
#[case::locked_and_gone("git worktree lock ../repo-wt-side; mv ../repo-wt-side ../away", "side", 1, "is locked")]
#[case::taken("mv ../repo-wt-side ../away; git init -q ../repo-wt-side", "side", 1, "is no longer the worktree")]
#[case::bisection("git -C ../repo-wt-side bisect start", "side", 1, "a bisection is under way")]
#[case::merge("git rev-parse HEAD >.git/worktrees/repo-wt-side/MERGE_HEAD", "side", 1, "a merge is under way")]
#[case::git_at_work("touch .git/worktrees/repo-wt-side/index.lock", "side", 128, "another git command is at work")]
#[case::repository("git init -q ../repo-wt-side/inner", "side", 1, "is a repository of its own")]
#[case::ignored_repository("git init -q ../repo-wt-side/out/inner", "side", 1, "is a repository of its own")]
#[case::session(
    "cd ../repo-wt-side; git checkpoint session start s1 --agent ag",
    "side",
    1,
    "the session 's1' works in"
)]
#[case::turn(
    "cd ../repo-wt-side; git checkpoint session prompt s1 --agent ag",
    "side",
    1,
    "the session 's1' has a turn under way"
)]
fn what_is_in_use_is_not_removed(#[case] script: &str, #[case] name: &str, #[case] status: i32, #[case] words: &str) {
    let world = World::with_commit();
    world.git(&["branch", "-M", "main"]);
    let path = with_work(&world);
    world.sh(&format!("{script} >/dev/null"));
    let everything =
        || world.sh("git worktree list --porcelain; find .. -path ../repo/.git -prune -o -printf '%p %T@\n' | sort");
    let before = everything();
    let output = world.checkpoint(&["worktree", "remove", "--force", name]);
    assert_eq!(output.status.code(), Some(status), "{}", said(&output));
    assert!(said(&output).contains(words) && said(&output).contains("hint: "), "{}", said(&output));
    assert_eq!(everything(), before);
    assert_eq!(json_of(&world, &["worktree", "restore", "--list", "--json"])["removed"], json!([]));
    drop(path);
}

#[test]
fn a_command_in_it_does_not_remove_it() {
    let world = World::with_commit();
    let path = with_work(&world);
    let output = run_in(&world, &path, &["worktree", "remove", "--force", "side"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("this command runs in the worktree"), "{}", said(&output));
}

/// Its files stay on their file system.
#[test]
fn a_worktree_on_another_file_system_comes_back() {
    use std::os::unix::fs::MetadataExt as _;
    let world = World::with_commit();
    let elsewhere = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let device = |path: &Path| fs::metadata(path).expect("it is there").dev();
    if device(elsewhere.path()) == device(&world.repo()) {
        return;
    }
    let path = fs::canonicalize(elsewhere.path()).expect("it is there").join("w");
    world.git(&["worktree", "add", "-q", "-b", "side", path.to_str().expect("plain")]);
    fs::write(path.join("new"), "mine\n").expect("writable");
    world.settle();
    std::thread::sleep(std::time::Duration::from_millis(50));
    let before = state(&world, &path);
    removed(&world);
    let beside = || fs::read_dir(elsewhere.path()).expect("it is there").count();
    assert!(!path.exists() && beside() == 1);
    assert!(world.checkpoint(&["worktree", "restore", "side"]).status.success());
    assert_eq!(state(&world, &path), before);
    removed(&world);
    assert_eq!(json_of(&world, &["worktree", "prune", "--removed", "--json"])["kept"], json!(0));
    assert_eq!(beside(), 0);
}

/// What the branch was while the worktree was away decides what HEAD is.
#[rstest]
#[case::as_it_was("true", false, Value::Null, Some("refs/heads/side"))]
#[case::deleted_and_one_is_below("git branch -qD side; git branch side/x", false, json!("not-made"), None)]
#[case::deleted("git branch -qD side", true, Value::Null, Some("refs/heads/side"))]
#[case::moved("git branch -qf side main", false, json!("moved"), None)]
#[case::elsewhere("git worktree add -q ../other side", false, json!("elsewhere"), None)]
fn head_is_at_the_commit_that_the_files_are_from(
    #[case] script: &str,
    #[case] created: bool,
    #[case] detached: Value,
    #[case] branch: Option<&str>,
) {
    let world = World::with_commit();
    world.git(&["branch", "-M", "main"]);
    let path = with_work(&world);
    let commit = world.git(&["rev-parse", "side"]);
    let status = || world.sh(&format!("git -C '{}' status --porcelain", path.display()));
    let before = status();
    removed(&world);
    world.sh(script);
    let back = json_of(&world, &["worktree", "restore", "side", "--json"]);
    assert_eq!((&back["created"], &back["detached"]), (&json!(created), &detached));
    let there = path.to_str().expect("plain");
    assert_eq!(world.git(&["-C", there, "rev-parse", "HEAD"]), commit);
    let at = world.try_git(&["-C", there, "symbolic-ref", "-q", "HEAD"]);
    assert_eq!(String::from_utf8_lossy(&at.stdout).trim(), branch.unwrap_or_default());
    assert_eq!(status(), before);
}

#[rstest]
#[case::outside_roots("git config checkpoint.worktree.roots $PWD", "worktree.roots")]
#[case::something_there("mkdir ../repo-wt-side", "exists already")]
#[case::another_one("git worktree add -q ../repo-wt-side side", "exists already")]
#[case::its_id_is_taken("git worktree add -q ../else/repo-wt-side side", "has given the id")]
fn what_took_its_place_stays(#[case] script: &str, #[case] words: &str) {
    let world = World::with_commit();
    with_work(&world);
    removed(&world);
    world.sh(script);
    let before = by_git(&world);
    let output = world.checkpoint(&["worktree", "restore", "side"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains(words) && said(&output).contains("hint: "), "{}", said(&output));
    assert_eq!(by_git(&world), before);
    assert_eq!(json_of(&world, &["worktree", "restore", "--list", "--json"])["removed"][0]["branch"], "side");
}

#[test]
fn a_session_says_what_brings_its_worktree_back() {
    let world = World::with_commit();
    let path = with_work(&world);
    run_in(&world, &path, &["session", "start", "s1", "--agent", "ag"]);
    run_in(&world, &path, &["session", "end", "s1"]);
    let id = removed(&world)["id"].as_str().expect("an id").to_owned();
    let output = world.checkpoint(&["session", "cwd", "s1"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains(&format!("git checkpoint worktree restore {id}")), "{}", said(&output));
    assert!(world.checkpoint(&["worktree", "restore", &id]).status.success());
    assert_eq!(world.done(&["session", "cwd", "s1"]), format!("{}\n", path.display()));
}

#[test]
fn names_of_removed_worktrees() {
    let world = World::with_commit();
    with_work(&world);
    let first = removed(&world)["id"].as_str().expect("an id").to_owned();
    for (name, status) in [("nope", 128), ("../..", 128), ("", 128)] {
        let output = world.checkpoint(&["worktree", "restore", name]);
        assert_eq!(output.status.code(), Some(status), "{name}: {}", said(&output));
    }
    // Another one with the same branch: only the id says which.
    add_again(&world);
    removed(&world);
    let output = world.checkpoint(&["worktree", "restore", "side"]);
    assert!(said(&output).contains("stands for 2 removed worktrees"), "{}", said(&output));
    assert!(world.checkpoint(&["worktree", "restore", &first]).status.success());
    assert_eq!(fs::read(world.root().join("repo-wt-side/.env")).expect("it is back"), b"secret\n");
}

fn add_again(world: &World) {
    let output = world.checkpoint(&["worktree", "add", "side"]);
    assert!(output.status.success(), "{}", said(&output));
    world.settle();
}

/// A path need not be text: JSON has its bytes, too.
#[test]
fn a_path_that_is_not_text_comes_back() {
    let world = World::with_commit();
    world.sh("git worktree add -q -b odd \"../$(printf 'w\\377')\"");
    let listed = json_of(&world, &["worktree", "show", "odd", "--json"]);
    assert!(listed["worktree"]["path"].as_str().is_some_and(|path| path.ends_with("/w%FF")), "{listed}");
    assert_eq!(listed["worktree"]["id"], json!("w%FF"));
    assert!(listed["worktree"]["path_raw"].is_string(), "{listed}");
    let value = json_of(&world, &["worktree", "remove", "odd", "--json"]);
    assert_eq!((&value["worktree"], value["path_raw"].is_string()), (&json!("w%FF"), true), "{value}");
    let back = json_of(&world, &["worktree", "restore", "odd", "--json"]);
    assert_eq!((&back["id"], back["path_raw"].is_string()), (&json!("w%FF"), true), "{back}");
    assert_eq!(world.git(&["worktree", "list"]).lines().count(), 2);
}

/// Returns the files below git's directories of worktrees, or of removed ones, whose names are those of locks.
fn locks(world: &World) -> String {
    world.sh("find .git/worktrees .git/checkpoint/removed -name '*.lock' 2>/dev/null || true")
}

#[test]
fn a_removal_leaves_no_lock() {
    let world = World::with_commit();
    let path = add(&world, "side");
    // Refused: a process works in it.
    let mut other = world.command("sleep").arg("60").current_dir(&path).spawn().expect("it starts");
    let output = world.checkpoint(&["worktree", "remove", "side"]);
    other.kill().and_then(|()| other.wait()).expect("it is ours");
    assert_eq!((output.status.code(), locks(&world).as_str()), (Some(1), ""), "{}", said(&output));
    let id = removed(&world)["id"].as_str().expect("an id").to_owned();
    assert_eq!(locks(&world), "");
    world.done(&["worktree", "restore", &id]);
    assert_eq!(locks(&world), "");
}

/// A version that left its lock, or one that was killed.
#[rstest]
#[case::main(".", ".git/worktrees/repo-wt-side/checkpoint/removal.lock")]
#[case::linked("../repo-wt-other", "/repo/.git/worktrees/repo-wt-side/checkpoint/removal.lock")]
fn the_doctor_removes_a_lock_of_a_removal(#[case] place: &str, #[case] named: &str) {
    let world = World::with_commit();
    for branch in ["side", "other"] {
        let path = add(&world, branch);
        run_in(&world, &path, &["save", "-q", "--allow-empty", "-m", "x"]);
    }
    let lock = ".git/worktrees/repo-wt-side/checkpoint/removal.lock";
    // One that was left in order is no problem.
    world.sh(&format!("touch -d '20 minutes ago' {lock}"));
    world.done(&["doctor"]);
    world.sh(&format!("echo '1 on host, since then' >{lock}; touch -d '20 minutes ago' {lock}"));
    let place = world.repo().join(place);
    let output = run_in(&world, &place, &["doctor"]);
    let shown = described(&output);
    assert_eq!(output.status.code(), Some(1), "{shown}");
    assert!(shown.contains("a git-checkpoint that was killed has left this lock"), "{shown}");
    assert!(shown.contains(named) && !shown.contains("/../"), "{shown}");
    assert!(shown.contains("doctor --fix' removes it"), "{shown}");
    // One that is held is no problem, and stays.
    let holder = fs::File::open(world.repo().join(lock)).expect("it is there");
    rustix::fs::flock(&holder, rustix::fs::FlockOperation::LockExclusive).expect("it can be locked");
    let held = described(&run_in(&world, &place, &["doctor", "--fix"]));
    drop(holder);
    assert!(!held.contains("removal.lock") && world.repo().join(lock).exists(), "{held}");
    let fixed = run_in(&world, &place, &["doctor", "--fix"]);
    assert_eq!((fixed.status.code(), world.repo().join(lock).exists()), (Some(0), false), "{}", described(&fixed));
    let output = run_in(&world, &place, &["doctor"]);
    assert_eq!(output.status.code(), Some(0), "{}", described(&output));
}

/// A removed worktree is named as it was when it was there: by a relative path, too; its id may be shortened.
#[rstest]
#[case::relative(true)]
#[case::the_beginning_of_its_id(false)]
fn a_removed_worktree_is_named_as_others_are(#[case] is_path: bool) {
    let world = World::with_commit();
    let path = add(&world, "side");
    let value = removed(&world);
    let id = value["id"].as_str().unwrap_or_else(|| panic!("{value}"));
    let relative = format!("../{}", path.strip_prefix(world.root()).expect("it is in the world").display());
    let name = if is_path { relative.as_str() } else { &id[..id.len() - 1] };
    let output = world.checkpoint(&["worktree", "restore", name]);
    assert!(output.status.success() && path.exists(), "{name}: {}", described(&output));
}

#[test]
fn the_usage_of_worktree_restore_says_what_it_needs() {
    let world = World::with_commit();
    let said = described(&world.checkpoint(&["worktree", "restore"]));
    assert!(said.contains("worktree restore [<option>...] <removed>"), "{said}");
}
