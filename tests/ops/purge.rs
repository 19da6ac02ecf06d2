//! Purging a text: no object and no file below the git directory has it afterwards, and all else is as it was.

use std::{
    fs,
    io::{Read as _, Write as _},
    os::unix::process::ExitStatusExt as _,
    path::Path,
    process::{Output, Stdio},
};

use serde_json::{Value, json};

use crate::support::{World, processes::described, program};

pub(super) const SECRET: &str = "the \"door\" code is caf\u{e9} 4711";

/// Returns the names of files below `folder` that hold one of `spellings`, as they are or inflated.
fn files_with(folder: &Path, spellings: &[String], found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("readable").flatten() {
        let path = entry.path();
        if path.is_dir() {
            files_with(&path, spellings, found);
            continue;
        }
        let bytes = fs::read(&path).expect("readable");
        let mut inflated = Vec::new();
        drop(flate2::read::ZlibDecoder::new(&bytes[..]).read_to_end(&mut inflated));
        if has(&bytes, spellings) || has(&inflated, spellings) {
            found.push(path.display().to_string());
        }
    }
}

fn has(bytes: &[u8], spellings: &[String]) -> bool {
    spellings.iter().any(|spelling| bytes.windows(spelling.len()).any(|part| part == spelling.as_bytes()))
}

/// The text as it is, and as it is in JSON.
fn spellings(text: &str) -> Vec<String> {
    let json = serde_json::to_string(text).expect("text").trim_matches('"').to_owned();
    let twice = serde_json::to_string(&json).expect("text").trim_matches('"').to_owned();
    vec![text.to_owned(), json.replace('\u{e9}', "\\u00e9"), json, twice]
}

/// Returns where the repository of `world` has `text`: files, and `object` for one in a pack.
pub(super) fn places(world: &World, text: &str) -> Vec<String> {
    let spellings = spellings(text);
    let mut found = Vec::new();
    files_with(&world.repo().join(".git"), &spellings, &mut found);
    let objects = world.command("git").args(["cat-file", "--batch-all-objects", "--unordered", "--batch"]).output();
    if has(&objects.expect("git runs").stdout, &spellings) {
        found.push("object".into());
    }
    found
}

pub(super) fn purge(world: &World, arguments: &[&str], text: &str) -> Output {
    let mut child = world
        .command(program())
        .args(["purge", "--stdin"])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    child.stdin.take().expect("piped").write_all(text.as_bytes()).expect("it reads");
    child.wait_with_output().expect("it ends")
}

pub(super) fn purged(world: &World, text: &str) -> Value {
    let output = purge(world, &["--force", "--json"], text);
    assert!(output.status.success(), "{}", described(&output));
    assert!(!described(&output).contains("4711"), "it prints no secret: {}", described(&output));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn prompt(world: &World, transcript: &Path, text: &str) {
    let mut file = fs::File::options().append(true).create(true).open(transcript).expect("it can be written");
    let line = json!({ "type": "user", "text": text, "raw": json!({ "text": text }).to_string() }).to_string();
    file.write_all(format!("{line}\n").as_bytes()).expect("it can be written");
    let path = transcript.to_str().expect("plain");
    world.done(&["session", "prompt", "s", "--agent", "claude-code", "--transcript", path, "--message", text]);
}

/// A repository in which all that we store has the text.
fn world() -> World {
    let world = World::with_hooks();
    let transcript = world.root().join("transcript.jsonl");
    let config = |line: &str| format!("one\n{line}\nthree\n");
    prompt(&world, &transcript, &format!("use {SECRET} for it\nplease"));
    world.write("config.env", config(SECRET));
    world.write("f", "of the agent\n");
    world.settle();
    world.done(&["save", "-q", "-m", &format!("saved: {SECRET}\n\nand {SECRET}")]);
    world.write("f", "of the agent\nmore\n");
    world.settle();
    world.done(&["session", "stop", "s"]);
    world.git(&["add", "f"]);
    world.git(&["commit", "-q", "-m", "f"]);
    world.write("config.env", config(SECRET) + "mine\n");
    world.write("crlf", format!("{SECRET}\r\nx\n"));
    world.write(".gitattributes", "crlf text\n");
    world.settle();
    world.done(&["save", "-q", "-m", "mine"]);
    world.done(&["verify", "-q"]);
    world.git(&["update-ref", "refs/checkpoints/tags/t", "refs/checkpoints/verified/main"]);
    world.write("f", "later\n");
    world.done(&["restore", "-q", "@{1}", "f"]);
    world.done(&["reset", "-q"]);
    world.write("config.env", "one\ngone\nthree\nmine\n");
    world.write("crlf", "gone\r\nx\n");
    world.write("g", "1\n");
    world.settle();
    world.done(&["save", "-q", "-m", "later"]);
    prompt(&world, &transcript, &format!("again {SECRET}"));
    world.done(&["session", "stop", "s"]);
    world
}

#[test]
fn nothing_of_ours_has_it_afterwards() {
    for is_packed in [false, true] {
        let world = world();
        let record = world.json(&["explain", "--json", "HEAD"]);
        let before = places(&world, SECRET);
        assert!(before.iter().any(|place| place == "object"), "{before:?}");
        assert!(before.iter().any(|place| place.contains("sessions/")), "{before:?}");
        if is_packed {
            world.git(&["gc", "-q"]);
            world.git(&["multi-pack-index", "write"]);
            world.git(&["commit-graph", "write", "--reachable"]);
        }
        let (facts, others) = (world.facts(), world.json(&["attribution", "--json", "HEAD"]));
        let plan = purge(&world, &["--dry-run", "--json"], SECRET);
        let plan: Value = serde_json::from_slice(&plan.stdout).expect("JSON");
        assert_eq!((places(&world, SECRET).is_empty(), plan["dry_run"].as_bool()), (false, Some(true)));
        let done = purged(&world, &format!("{SECRET}\n"));
        assert_eq!(places(&world, SECRET), Vec::<String>::new(), "{done:#}");
        assert_eq!(done["paths"], json!(["config.env", "crlf"]), "{done:#}");
        assert!(done["prompts"].as_u64() > Some(0) && done["transcripts"].as_u64() > Some(0), "{done:#}");
        assert_eq!((&done["kept"], &done["left"], &done["worktree"]), (&json!([]), &json!([]), &json!([])));
        world.assert_accounted("after the purge");
        assert_eq!(world.facts(), facts);
        assert_eq!(world.json(&["attribution", "--json", "HEAD"]), others);
        let now = world.json(&["explain", "--json", "HEAD"]);
        assert_eq!(now["commit"], record["commit"]);
        assert!(now.to_string().contains("use [purged] for it"), "{now:#}");
        let listed = world.done(&["list", "--all"]);
        assert!(listed.contains("saved: [purged]"), "{listed}");
        assert_eq!(
            world.git(&["rev-parse", "refs/checkpoints/tags/t"]),
            world.git(&["rev-parse", "refs/checkpoints/verified/main"])
        );
        assert_eq!(world.git(&["show", "refs/checkpoints/tags/t:config.env"]), "one\n[purged]\nthree\nmine\n");
        assert_eq!(world.checkpoint(&["undo"]).status.code(), Some(128), "undo begins anew");
        world.write("g", "2\n");
        world.settle();
        world.done(&["save", "-q"]);
        world.done(&["doctor"]);
        world.assert_sound("after the next save");
        let again = purge(&world, &["--force"], SECRET);
        assert_eq!(again.status.code(), Some(0), "{}", described(&again));
        assert!(described(&again).contains("nothing of it is left"), "{}", described(&again));
    }
}

#[test]
fn other_lines_keep_their_authors() {
    let world = World::with_commit();
    world.write("h", format!("mine\n{SECRET}\n"));
    world.settle();
    world.done(&["save", "-q"]);
    world.done(&["session", "prompt", "s", "--agent", "claude-code"]);
    world.write("h", format!("mine\n{SECRET}\nof the agent\n"));
    world.settle();
    world.done(&["session", "stop", "s"]);
    world.write("h", "mine\nfrom the environment\nof the agent\n");
    let lines = || world.json(&["blame", "--json", "h"])["lines"].clone();
    let before = lines();
    purged(&world, SECRET);
    assert_eq!(lines(), before);
    world.assert_sound("after the purge");
}

#[test]
fn what_the_user_holds_stays_and_is_named() {
    let world = World::with_commit();
    world.write("kept.env", format!("{SECRET}\n"));
    world.write("lost.env", format!("1 {SECRET}\n"));
    world.write("staged.env", format!("2 {SECRET}\n"));
    world.write("ours.env", format!("3 {SECRET}\n"));
    world.settle();
    world.done(&["save", "-q"]);
    // One is in a commit, one in a commit that was dropped, and one is staged.
    world.sh("git add lost.env; git commit -q -m lost; git reset -q HEAD~; git reflog expire --expire=all --all");
    world.sh("git add kept.env; git commit -q -m kept; git add staged.env; rm ours.env lost.env");
    let output = purge(&world, &[], SECRET);
    assert_eq!(output.status.code(), Some(1), "{}", described(&output));
    assert!(described(&output).contains("still has the text in 'staged.env'"), "{}", described(&output));
    world.sh("git rm -q --cached staged.env; rm staged.env");
    let facts = world.facts();
    let output = purge(&world, &[], SECRET);
    assert!(described(&output).contains("--force"), "without a terminal, nobody can agree: {}", described(&output));
    let output = purge(&world, &["--force", "--json"], SECRET);
    assert_eq!(output.status.code(), Some(1), "git's objects stay: {}", described(&output));
    let done: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let kept: Vec<&str> =
        done["kept"].as_array().expect("a list").iter().filter_map(|it| it["path"].as_str()).collect();
    let paths = json!(["kept.env", "lost.env", "ours.env", "staged.env"]);
    assert_eq!((kept, &done["paths"]), (vec!["kept.env", "lost.env"], &paths), "{done:#}");
    assert_eq!((done["kept"][0]["ref"].as_str(), done["kept"][1]["ref"].as_str()), (Some("main"), None));
    assert_eq!(world.facts(), facts);
    world.assert_sound("after the purge");
}

#[test]
fn other_worktrees_are_purged_too() {
    let world = World::with_commit();
    world.git(&["worktree", "add", "-q", "../other"]);
    world.write("../other/a.env", format!("{SECRET}\n"));
    world.settle();
    world.sh("cd ../other; git checkpoint session prompt s --agent claude-code --message x; echo 1 >b; git checkpoint save -q");
    let lock = fs::File::open(world.repo().join(".git/worktrees/other/checkpoint/lock")).expect("it is there");
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).expect("it can be locked");
    world.git(&["config", "checkpoint.lock-timeout", "100ms"]);
    let output = purge(&world, &["--force"], SECRET);
    assert!(!output.status.success() && !places(&world, SECRET).is_empty(), "{}", described(&output));
    drop(lock);
    world.sh("cd ../other; rm a.env; git checkpoint session stop s");
    let done = purged(&world, SECRET);
    assert_eq!(places(&world, SECRET), Vec::<String>::new(), "{done:#}");
    world.sh("cd ../other; git checkpoint list");
    world.assert_sound("after the purge");
}

#[test]
fn after_a_crash_a_second_purge_does_the_rest() {
    for step in ["purge:before-files", "purge:before-refs", "purge:after-refs", "purge:after-pack"] {
        let world = world();
        world.git(&["gc", "-q"]);
        let mut command = world.command(program());
        let died =
            command.args(["purge", "--force", SECRET]).env("CHECKPOINT_FAILPOINT", step).output().expect("it runs");
        assert_eq!(died.status.signal(), Some(6), "{step}: {}", described(&died));
        world.assert_sound(step);
        world.done(&["list"]);
        drop(purge(&world, &["--force"], SECRET));
        assert_eq!(places(&world, SECRET), Vec::<String>::new(), "{step}");
        world.assert_accounted(step);
        assert_eq!(world.checkpoint(&["undo"]).status.code(), Some(128), "undo begins anew");
        world.done(&["save", "-q"]);
        world.assert_sound(step);
    }
}

#[test]
fn what_is_left_of_dropped_checkpoints_goes_too() {
    let world = World::with_commit();
    world.write("a", format!("{SECRET}\n"));
    world.settle();
    world.done(&["save", "-q"]);
    world.done(&["drop", "-f", "@"]);
    world.write("a", "gone\n");
    assert!(!places(&world, SECRET).is_empty());
    purged(&world, SECRET);
    let left: Vec<String> = places(&world, SECRET);
    assert_eq!(left, Vec::<String>::new());
    world.assert_sound("after the purge");
}

#[test]
fn a_path_is_removed_whatever_is_in_it() {
    let world = World::with_commit();
    world.write("conf/base.env", "of the base\n");
    world.sh("git add -A; git commit -q -m base");
    world.write("conf/base.env", format!("of the base\n{SECRET}\n"));
    world.write("conf/new.env", format!("{SECRET}\n"));
    world.write("f", "mine\n");
    world.write(".gitattributes", "conf/crlf.env text\n");
    world.write("conf/crlf.env", format!("{SECRET}\r\n"));
    world.settle();
    world.done(&["save", "-q", "-m", "one"]);
    world.write("conf/new.env", format!("{SECRET}\nmore\n"));
    world.write("f", "mine\nmore\n");
    world.settle();
    world.done(&["save", "-q", "-m", "two"]);
    world.done(&["restore", "-q", "@{1}"]);
    world.sh("git checkout -q conf; rm conf/new.env conf/crlf.env");
    let lines = world.json(&["blame", "--json", "f"])["lines"].clone();
    let facts = world.facts();
    let output = world.checkpoint(&["purge", "--json", "--force", "--path", "conf"]);
    assert!(output.status.success(), "{}", described(&output));
    let done: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(done["paths"], json!(["conf/base.env", "conf/crlf.env", "conf/new.env"]), "{done:#}");
    assert_eq!(done["worktree"], json!(["conf/base.env"]));
    assert_eq!(places(&world, SECRET), Vec::<String>::new());
    assert_eq!(world.facts(), facts);
    world.assert_sound("after the purge");
    let tip = world.shadows().join(" ");
    assert_eq!(world.git(&["ls-tree", "-r", "--name-only", &tip]), ".gitattributes\nconf/base.env\nf\n");
    assert_eq!(world.git(&["show", &format!("{tip}:conf/base.env")]), "of the base\n");
    assert_eq!(world.json(&["blame", "--json", "f"])["lines"], lines);
    // A restore leaves what it does not know alone.
    world.write("conf/new.env", format!("{SECRET}\n"));
    world.write("f", "other\n");
    world.done(&["restore", "-q", "@{0}"]);
    world.done(&["undo", "-q"]);
    assert_eq!(fs::read_to_string(world.repo().join("conf/new.env")).expect("it is there"), format!("{SECRET}\n"));
    world.assert_sound("after the restore");
}

#[test]
fn a_checkpoint_goes_with_all_that_only_it_has() {
    let world = World::with_commit();
    let save = |text: &str| {
        world.write("a", text);
        world.settle();
        world.json(&["save", "--json"])["id"].as_str().expect("an id").to_owned()
    };
    let ids = [save("1\n"), save(&format!("{SECRET}\n")), save("3\n")];
    let output = world.checkpoint(&["purge", "--checkpoint", &ids[1]]);
    assert_eq!(output.status.code(), Some(1), "{}", described(&output));
    let plan = world.json(&["purge", "--dry-run", "--json", "--checkpoint", &ids[1]]);
    assert_eq!((plan["checkpoints"].as_u64(), plan["rewritten"].as_u64()), (Some(1), Some(1)));
    world.git(&["gc", "-q"]);
    let done = world.json(&["purge", "--force", "--json", "--checkpoint", &ids[1]]);
    // Two commits, and a blob with its tree. Three entries of the operation log.
    assert_eq!(done["objects"].as_u64(), Some(7), "{done:#}");
    assert_eq!(places(&world, SECRET), Vec::<String>::new());
    assert_eq!(world.git(&["show", &format!("{}:a", ids[0])]), "1\n");
    world.assert_sound("after the purge");
    let last = save(&format!("{SECRET}\n"));
    world.write("a", "5\n");
    let plan = world.json(&["purge", "--dry-run", "--json", "--checkpoint", &last]);
    assert_eq!(plan["paths"], json!(["a"]), "what is lost is named: {plan:#}");
    let said = described(&world.checkpoint(&["purge", "--dry-run", "--checkpoint", &last]));
    assert!(said.contains("found in 1 checkpoint\n"), "a ref leads to it: {said}");
    world.done(&["drop", "-f", &last]);
    assert!(!places(&world, SECRET).is_empty());
    world.done(&["purge", "-f", "--checkpoint", &last]);
    assert_eq!(places(&world, SECRET), Vec::<String>::new());
    world.assert_sound("after the second purge");
}

#[test]
fn a_purge_of_a_checkpoint_that_was_killed_is_finished() {
    let world = World::with_commit();
    world.write("a", format!("{SECRET}\n"));
    world.settle();
    let id = world.json(&["save", "--json"])["id"].as_str().expect("an id").to_owned();
    world.write("a", "gone\n");
    let arguments = ["purge", "-f", "--checkpoint", &id];
    let mut command = world.command(program());
    let died = command.args(arguments).env("CHECKPOINT_FAILPOINT", "purge:after-drop").output().expect("it runs");
    assert_eq!(died.status.signal(), Some(6), "{}", described(&died));
    world.assert_sound("after the crash");
    world.done(&arguments);
    assert_eq!(places(&world, SECRET), Vec::<String>::new());
    world.assert_sound("after the purge");
}

#[test]
fn reflogs_of_our_refs_go_whatever_stores_the_refs() {
    for format in ["files", "reftable"] {
        let world = World::new();
        if !world.try_git(&["init", "-q", "-b", "main", &format!("--ref-format={format}"), "."]).status.success() {
            continue;
        }
        world.git(&["config", "core.logAllRefUpdates", "always"]);
        world.git(&["commit", "-q", "--allow-empty", "-m", "first"]);
        world.write("a", format!("{SECRET}\n"));
        world.settle();
        world.done(&["save", "-q"]);
        world.write("a", format!("{SECRET}\nmore\n"));
        world.settle();
        world.done(&["save", "-q"]);
        world.write("a", "gone\n");
        let log = world.git(&["reflog", "HEAD"]);
        let done = purged(&world, SECRET);
        assert_eq!((places(&world, SECRET), &done["kept"]), (Vec::new(), &json!([])), "{format}: {done:#}");
        assert_eq!(world.git(&["reflog", "HEAD"]), log, "{format}");
        world.assert_sound(format);
    }
}

#[test]
fn texts_that_cannot_be_purged_are_refused() {
    let world = World::with_commit();
    for text in ["", "abc", " \n ", "purged"] {
        let output = purge(&world, &["--force"], text);
        assert_eq!(output.status.code(), Some(128), "{text:?}: {}", described(&output));
    }
    let output = world.checkpoint(&["purge"]);
    assert_eq!(output.status.code(), Some(129), "{}", described(&output));
    let output = world.checkpoint(&["purge", "nowhere to be found"]);
    assert_eq!(
        (output.status.code(), String::from_utf8_lossy(&output.stdout).contains("nothing of it is left")),
        (Some(0), true)
    );
}

/// The entry of such an operation has the file of the session.
#[test]
fn an_operation_on_a_session_holds_nothing() {
    let world = World::with_commit();
    world.write("f", SECRET);
    world.done(&["save", "-q"]);
    world.done(&["session", "start", "s1", "--agent", "claude-code"]);
    world.done(&["reset", "-q"]);
    world.done(&["session", "forget", "s1"]);
    world.git(&["checkout", "-q", "f"]);
    let done = purge(&world, &["--force"], SECRET);
    assert!(done.status.success(), "{}", described(&done));
    assert_eq!(places(&world, SECRET), Vec::<String>::new(), "{}", described(&done));
}

#[test]
fn the_plan_counts_what_the_purge_removes() {
    let world = World::with_commit();
    world.write("f", SECRET);
    world.done(&["save", "-q"]);
    world.write("f", "without\n");
    world.done(&["save", "-q"]);
    world.done(&["restore", "-q", "--all", "base"]);
    let plan = described(&purge(&world, &["--dry-run"], SECRET));
    let counted = plan.split_once("would remove ").and_then(|(_, rest)| rest.split_once(' ')).expect("a count").0;
    let done = described(&purge(&world, &["--force"], SECRET));
    assert!(done.contains(&format!("removed {counted} objects")), "{plan}\n{done}");
}

/// The text was never saved: the next save would store it.
#[rstest::rstest]
#[case::untracked("cp ../secret new", Some("'new'"))]
#[case::modified("cat ../secret >>f", Some("'f'"))]
#[case::staged("cp ../secret new; git add new", Some("'new'"))]
#[case::in_another_worktree(
    "git worktree add -q ../other; cp ../secret ../other/new",
    Some("the worktree 'other' still has")
)]
#[case::ignored("echo new >.git/info/exclude; cp ../secret new", None)]
fn a_text_that_is_only_in_the_worktree_is_left(#[case] script: &str, #[case] place: Option<&str>) {
    let world = World::with_commit();
    fs::write(world.root().join("secret"), SECRET).expect("writable");
    world.sh(script);
    for arguments in [&["--dry-run"], &["--force"]] {
        let output = purge(&world, arguments, SECRET);
        let said = described(&output);
        assert_eq!(said.contains("nothing of it is left"), place.is_none(), "{said}");
        assert_eq!(output.status.code(), Some(i32::from(place.is_some())), "{said}");
        if let Some(place) = place {
            assert!(said.contains("still has the text in") && said.contains(place), "{said}");
        }
    }
}

/// No save stores an ignored file: the user hears that it stays, and not that a save brings it back.
#[rstest::rstest]
#[case::text(false)]
#[case::path(true)]
fn an_ignored_file_that_stays_is_named_as_one(#[case] is_path: bool) {
    let world = World::with_commit();
    world.write("c.ini", format!("{SECRET}\n"));
    world.done(&["save", "-q"]);
    world.write(".gitignore", "c.ini\n");
    let output =
        if is_path { world.checkpoint(&["purge", "-f", "--path", "c.ini"]) } else { purge(&world, &["-f"], SECRET) };
    let said = described(&output);
    assert!(output.status.success() && said.contains("still in the worktree, ignored: c.ini"), "{said}");
    assert!(!said.contains("still in the worktree: ") && !said.contains("stores it again"), "{said}");
}

/// Without the operation log, no undo goes back to what the last restore has put back.
#[test]
fn a_purge_keeps_nothing_for_a_restore_that_cannot_be_undone() {
    let world = World::with_commit();
    world.write("k", "one\n");
    let id = world.json(&["save", "--json"])["id"].as_str().expect("an id").to_owned();
    world.write("k", "two\n");
    world.done(&["restore", "-q", "--all", &id]);
    world.done(&["undo", "-q"]);
    world.done(&["reset", "-q"]);
    world.done(&["prune", "-q", "--keep", "0"]);
    let said = described(&world.checkpoint(&["purge", "-f", "--checkpoint", &id]));
    assert!(!world.try_git(&["cat-file", "-e", &id]).status.success(), "{said}");
    assert!(!said.contains("stays"), "{said}");
}
