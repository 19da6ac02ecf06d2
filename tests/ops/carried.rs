//! What a commit of a part carries on: whose it is, and where the work of agents starts.

use crate::support::World;

/// A person saves notes.txt, which git never gets; an agent changes f twice and deletes the notes; the person takes the second turn
/// back and commits f.
fn with_restored_notes() -> World {
    let world = World::with_hooks();
    world.write("notes.txt", "ideas\n");
    world.done(&["save", "-q", "-m", "notes"]);
    turn(&world, "one", "echo one >>f");
    turn(&world, "two", "echo two >>f; rm notes.txt");
    world.done(&["restore", "-q", "d@1"]);
    world.git(&["commit", "-qam", "x"]);
    world
}

/// Runs `script` in a turn of the session d.
fn turn(world: &World, prompt: &str, script: &str) {
    world.done(&["session", "prompt", "-q", "d", "--agent", "claude-code", "-m", prompt]);
    world.sh(script);
    world.done(&["session", "stop", "-q", "d"]);
}

/// Returns the rows of `list` from their authors on.
fn rows(world: &World) -> Vec<String> {
    let listed = world.done(&["list"]);
    listed.lines().filter_map(|line| Some(line.split_once("+00:00  ")?.1.trim().to_owned())).collect()
}

#[test]
fn what_a_restore_left_is_a_persons_after_a_commit() {
    let world = with_restored_notes();
    let listed = world.done(&["list"]);
    let first = rows(&world).remove(0);
    assert!(first.starts_with("human ") && first.contains("restored ") && first.contains("'one' ("), "{listed}");
    assert!(!listed.contains("restore "), "one row, not two: {listed}");
    for arguments in [&["prompts"][..], &["session", "list"]] {
        let said = world.done(arguments);
        assert!(!said.contains("uncommitted"), "{arguments:?}: {said}");
    }
    let status = world.json(&["status", "--json"]);
    assert_eq!(status["sessions"][0]["checkpoints"], 0, "{status}");
    let blame = world.done(&["blame", "f"]);
    assert!(blame.contains("one") && blame.contains("claude-code"), "{blame}");
    // Once more, and it still is.
    world.sh("echo by hand >>f; git commit -qam y");
    let first = rows(&world).remove(0);
    assert!(first.starts_with("human ") && first.contains("restored "), "{}", world.done(&["list"]));
    assert_eq!(world.read("notes.txt"), "ideas\n");
    world.git(&["add", "notes.txt"]);
    world.git(&["commit", "-qm", "the notes"]);
    let blame = world.done(&["blame", "notes.txt"]);
    assert!(!blame.contains("claude-code"), "{blame}");
}

#[test]
fn what_a_restore_put_back_of_an_agent_keeps_its_authors_over_commits() {
    let world = World::with_hooks();
    turn(&world, "one", "echo one >>f; echo of the agent >g");
    turn(&world, "two", "rm g");
    world.done(&["restore", "-q", "d@1"]);
    let of_part = ["commit", "-qam", "f alone"];
    world.git(&of_part);
    let first = rows(&world).remove(0);
    assert!(first.starts_with("human ") && first.contains("restored "), "{first}");
    assert!(world.done(&["session", "list"]).contains("1 file"), "{}", world.done(&["session", "list"]));
    // The agent made g on this base: the start is without it.
    let plan = world.done(&["restore", "-n", "verified"]);
    assert!(plan.lines().any(|line| line == "would delete g"), "{plan}");
    world.git(&["add", "g"]);
    world.git(&["commit", "-qm", "g"]);
    let blame = world.done(&["blame", "g"]);
    assert!(blame.contains("claude-code"), "{blame}");
}

/// `show`, JSON and the log of events say what `list` says.
#[test]
fn a_restore_is_a_persons_wherever_it_is_shown() {
    let world = World::with_hooks();
    turn(&world, "one", "echo one >>f");
    turn(&world, "two", "echo two >>f");
    world.done(&["restore", "-q", "d@1"]);
    let shown = world.done(&["show", "@{0}"]);
    assert!(shown.contains("By:       human\n"), "{shown}");
    let json = world.json(&["show", "--json", "@{0}"]);
    assert_eq!((&json["contributor"], &json["session"]), (&"human".into(), &serde_json::Value::Null), "{json}");
    let listed = world.done(&["list", "--json"]);
    let first: serde_json::Value = serde_json::from_str(listed.lines().next().expect("a line")).expect("JSON");
    assert_eq!((&first["contributor"], &first["agent"]), (&"human".into(), &serde_json::Value::Null), "{first}");
    let events = world.done(&["events", "--json"]);
    let id = json["id"].as_str().expect("an id");
    let of_restore = |line: &&str| line.contains("\"checkpoint\"") && line.contains(&format!("\"to\":\"{id}\""));
    let event = events.lines().find(of_restore).expect("it was logged");
    assert!(event.contains("\"contributor\":\"human\""), "{event}");
}

/// What a person had before the agent is in the start, also after a commit of a part.
#[test]
fn the_start_has_what_a_person_had_before_the_agent() {
    let world = World::with_hooks();
    world.write("mine.txt", "mine\n");
    turn(&world, "one", "echo one >>f; echo new >g; echo more >>mine.txt");
    let plan = |world: &World| world.done(&["restore", "-n", "verified"]);
    let before = plan(&world);
    assert!(before.contains("delete g") && before.contains("write mine.txt") && before.contains("write f"), "{before}");
    world.git(&["add", "f"]);
    world.git(&["commit", "-qm", "a part"]);
    let after = plan(&world);
    assert!(after.contains("delete g") && after.contains("write mine.txt") && !after.contains("write f"), "{after}");
    assert_eq!(world.json(&["verify", "--show", "--json"])["start"], true);
    // Whose the lines are stays as it is, over several commits.
    world.git(&["commit", "-q", "--allow-empty", "-m", "another"]);
    assert_eq!(plan(&world), after);
    // The rows of the first commit are one with what was carried there.
    let listed = world.done(&["list"]);
    assert_eq!(rows(&world).len(), 4, "{listed}");
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "the rest"]);
    let blame = world.done(&["blame", "mine.txt"]);
    let lines: Vec<&str> = blame.lines().collect();
    assert!(!lines[0].contains("claude-code") && lines[1].contains("claude-code"), "{blame}");
    world.done(&["undo", "--list"]);
}

#[test]
fn a_persons_file_that_no_agent_changed_is_in_the_start() {
    let world = World::with_hooks();
    world.write("mine.txt", "mine\n");
    turn(&world, "one", "echo one >>f; echo new >g");
    world.git(&["add", "f"]);
    world.git(&["commit", "-qm", "a part"]);
    let plan = world.done(&["restore", "-n", "verified"]);
    assert!(plan.contains("delete g") && !plan.contains("mine.txt"), "{plan}");
    world.done(&["restore", "-q", "verified"]);
    assert_eq!((world.read("mine.txt"), world.exists("g")), ("mine\n".into(), false));
    let listed = world.done(&["list"]);
    assert!(rows(&world).iter().any(|row| row.starts_with("human ") && row.contains("[start]")), "{listed}");
}

/// Where a commit has changed what stands next to a person's earlier change, the start has the file as the commit has it: a restore
/// of the start takes no committed line back.
#[test]
fn the_start_has_no_content_older_than_the_commit() {
    let world = World::with_lines();
    let script = "sed -i 's/^line 5$/human 5/' f; git checkpoint save -q
        git checkpoint session prompt -q a; sed -i 's/^line 15$/agent 15/' f; git checkpoint session stop -q a
        sed -i 's/^line 6$/human 6/' f; git show HEAD:f | sed 's/^line 6$/human 6/' >../x
        git update-index --cacheinfo 100644,$(git hash-object -w ../x),f; git commit -qm 'only human 6'
        git checkpoint restore -q verified; git diff HEAD";
    let changed = world.sh(script);
    assert!(!changed.contains("-human 6"), "{changed}");
}
