//! A restore of a session's checkpoint takes back only what is that session's: a path that anyone else has changed since is kept.

use std::process::Output;

use bstr::ByteSlice as _;
use git_checkpoint::RestoreOptions;

use crate::support::{
    World,
    checkpoints::agent,
    processes::described,
    stage::{Stage, picture},
};

/// Reports a turn of `session` to the hook for Claude Code, in which the tool Write changes `file` by `command`.
fn turn(world: &World, session: &str, file: &str, command: &str) {
    world.sh(&format!(
        r#"tell() {{
            printf '{{"session_id":"{session}","cwd":"%s","hook_event_name":"%s"%s}}' "$PWD" "$1" "$2" |
                git checkpoint hook --agent claude-code
        }}
        tool=',"tool_name":"Write","tool_use_id":"t","tool_input":{{"file_path":"'$PWD'/{file}"}}'
        tell UserPromptSubmit ',"prompt":"do it"'; tell PreToolUse "$tool"
        {command}
        tell PostToolUse "$tool"; tell Stop ''"#
    ));
}

fn numbers() -> World {
    let world = World::with_hooks();
    world.sh("seq 10 >f; git add f; git commit -qm numbers");
    world
}

/// Checks that a restore with `arguments` keeps `path` for `why`, as the only one that differs, and that a dry run says the same.
fn keeps(world: &World, arguments: &[&str], path: &str, why: &str) -> Output {
    let before = world.disk();
    let dry = world.checkpoint(&[&["restore", "-n"], arguments].concat());
    let output = world.checkpoint(&[&["restore"], arguments].concat());
    for output in [&dry, &output] {
        let said = described(output);
        assert!(said.contains(&format!("kept     {path} ({why})")), "{said}");
        assert_eq!(output.status.code(), Some(1), "{said}");
    }
    assert_eq!(world.disk(), before);
    output
}

#[rstest::rstest]
#[case::after(&["S@1"])]
#[case::before(&["--before", "S@1"])]
fn a_persons_line_in_the_middle_of_a_file_is_kept(#[case] arguments: &[&str]) {
    let world = numbers();
    turn(&world, "S", "f", "sed -i s/^2$/S2/ f");
    let one = world.read("f");
    world.sh("sed -i s/^5$/HUMAN5/ f");
    turn(&world, "S", "f", "sed -i s/^9$/S9/ f");
    let all = world.read("f");
    let output = keeps(&world, arguments, "f", "changed by a human since");
    // What is hinted at does it.
    let said = described(&output);
    let hint = said.split('\'').find(|words| words.starts_with("git checkpoint restore")).expect("a hint");
    world.sh(hint);
    if arguments == ["S@1"] {
        assert_eq!(world.read("f"), one);
    }
    assert!(!world.read("f").contains_str("HUMAN5"));
    world.done(&["undo"]);
    assert_eq!(world.read("f"), all);
    world.done(&[&["restore"], arguments, &["--", "f"]].concat());
    assert!(!world.read("f").contains_str("HUMAN5"));
}

#[test]
fn a_file_that_a_person_made_and_the_agent_touched_last_is_kept() {
    let world = numbers();
    turn(&world, "S", "f", "echo S >>f");
    world.write("notes", "mine\n");
    turn(&world, "S", "notes", "echo S >>notes");
    keeps(&world, &["S@1"], "notes", "changed by a human since");
    let output = world.checkpoint(&["restore", "--before", "S@1"]);
    let said = described(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("written  f") && said.contains("kept     notes (changed by a human since)"), "{said}");
    assert_eq!(world.read("notes"), "mine\nS\n");
}

#[test]
fn another_agents_lines_are_kept() {
    let world = numbers();
    turn(&world, "B", "f", "sed -i s/^2$/B2/ f");
    turn(&world, "A", "f", "sed -i s/^5$/A5/ f");
    turn(&world, "B", "f", "sed -i s/^9$/B9/ f");
    keeps(&world, &["--before", "B@1"], "f", "changed by session 'A'");
    keeps(&world, &["B@1"], "f", "changed by session 'A'");
    keeps(&world, &["--before", "A@1"], "f", "changed by session 'B'");
    // After the last change of A, all that has changed it is of B.
    assert!(world.done(&["restore", "--before", "B@2"]).contains("written  f"));
    assert!(world.read("f").contains_str("A5") && !world.read("f").contains_str("B9"));
    world.done(&["undo"]);
}

#[rstest::rstest]
#[case::one_shadow("shared")]
#[case::own_shadows("session")]
fn another_chain_counts_as_well(#[case] storage: &str) {
    let stage = Stage::with(|world| drop(world.git(&["config", "checkpoint.storage", storage])));
    let save = |content: &str, session: &str, turn: u32| {
        stage.write("f", content);
        stage.save_as(&agent(session, turn))
    };
    let first = save("one\n", "s1", 1);
    save("one\ntwo\n", "s2", 1);
    save("one\ntwo\nthree\n", "s1", 2);
    assert_eq!(picture(&stage.restore(first)), ["=f: changed by session 's2'"]);
}

#[test]
fn a_change_by_nobody_known_counts_as_someone_elses() {
    let stage = Stage::new();
    stage.write("f", "one\n");
    let first = stage.save_as(&agent("s1", 1));
    stage.write("f", "one\ntwo\n");
    let unknown = git_checkpoint::Contributor::Unknown;
    stage.save_as(&git_checkpoint::Origin { contributor: unknown, ..git_checkpoint::Origin::default() });
    stage.write("f", "one\ntwo\nthree\n");
    stage.save_as(&agent("s1", 2));
    assert_eq!(picture(&stage.restore(first)), ["=f: changed since, by whom is not known"]);
}

/// The commit carries the line of the person forward to another checkpoint, which is named after the agent.
#[test]
fn what_was_carried_to_another_commit_is_still_a_persons() {
    let world = numbers();
    world.write("g", "g\n");
    turn(&world, "S", "f", "sed -i s/^2$/S2/ f");
    world.sh("sed -i s/^5$/HUMAN5/ f; git checkpoint save -q");
    world.sh("git add g; git commit -qm g");
    turn(&world, "S", "f", "sed -i s/^9$/S9/ f");
    keeps(&world, &["S@1"], "f", "changed by a human since");
}

#[test]
fn own_work_that_was_carried_to_another_commit_is_taken_back() {
    let world = numbers();
    world.write("g", "g\n");
    turn(&world, "S", "f", "sed -i s/^2$/S2/ f");
    let one = world.read("f");
    turn(&world, "S", "f", "sed -i s/^5$/S5/ f");
    world.sh("git add g; git commit -qm g");
    turn(&world, "S", "f", "sed -i s/^9$/S9/ f");
    assert!(world.done(&["restore", "S@1"]).contains("written  f"));
    assert_eq!(world.read("f"), one);
}

/// A person has taken the agent's work away, and brought it back: nothing of it is a person's.
#[test]
fn work_that_is_as_the_session_left_it_is_the_sessions() {
    let stage = Stage::new();
    let save = |content: &str, origin: &git_checkpoint::Origin| {
        stage.write("f", content);
        stage.save_as(origin)
    };
    let human = git_checkpoint::Origin::default();
    let one = save("one\n", &agent("s1", 1));
    let two = save("two\n", &agent("s1", 2));
    save("other\n", &human);
    save("two\n", &human);
    save("three\n", &agent("s1", 3));
    assert_eq!(picture(&stage.restore(two)), ["+f"]);
    stage.undo();
    assert_eq!(picture(&stage.restore(one)), ["+f"]);
    stage.undo();
    save("two\nhuman\n", &human);
    save("two\nhuman\nfour\n", &agent("s1", 4));
    assert_eq!(picture(&stage.restore(one)), ["=f: changed by a human since"]);
}

/// Back and forth between own checkpoints, in whose history a person has a line: that stays in it.
#[test]
fn what_others_made_before_the_target_is_no_obstacle() {
    let stage = Stage::new();
    stage.write("f", "human\n");
    stage.save();
    stage.write("f", "human\none\n");
    let one = stage.save_as(&agent("s1", 1));
    stage.write("f", "human\none\ntwo\n");
    let two = stage.save_as(&agent("s1", 2));
    assert_eq!(picture(&stage.restore(one)), ["+f"]);
    assert_eq!(picture(&stage.restore(two)), ["+f"]);
    stage.write("f", "human\none\nthree\n");
    stage.save_as(&agent("s1", 3));
    assert_eq!(picture(&stage.restore(two)), ["+f"]);
    let base = RestoreOptions { target: "base".into(), ..RestoreOptions::default() };
    git_checkpoint::restore(&stage.context, &base).expect("restored");
    assert_eq!(picture(&stage.restore(two)), ["+f"]);
    assert_eq!(stage.read("f"), "human\none\ntwo\n");
}

#[rstest::rstest]
#[case::to_what_the_commit_has("cp f ../k; git checkout -q f; git checkpoint save -q; cp ../k f")]
#[case::its_line_ends(
    "git config core.autocrlf input; sed -i 's/$/\\r/' f; git checkpoint save -q; sed -i 's/\\r$//' f"
)]
#[case::its_mode("chmod +x f; git checkpoint save -q; chmod -x f")]
#[case::its_name("mv f k; git checkpoint save -q; mv k f")]
fn what_a_person_changes_and_takes_back_is_nothing_of_theirs(#[case] script: &str) {
    let world = numbers();
    turn(&world, "S", "f", "sed -i s/^2$/S2/ f");
    let one = world.read("f");
    world.sh(script);
    turn(&world, "S", "f", "sed -i s/^9$/S9/ f");
    let said = world.done(&["restore", "S@1"]);
    assert!(said.contains("written  f"), "{said}");
    assert_eq!(world.read("f"), one);
}

#[rstest::rstest]
#[case::reset("git reset -q --hard")]
#[case::checkout("git checkout -q f; rm n")]
#[case::stash("git stash -qu")]
#[case::saved("git checkout -q f; rm n; git checkpoint save -q")]
fn what_a_person_gave_up_comes_back(#[case] script: &str) {
    let world = numbers();
    turn(&world, "S", "f", "echo S11 >>f");
    turn(&world, "S", "n", "echo new >n");
    let (f, n) = (world.read("f"), world.read("n"));
    world.sh(script);
    world.done(&["restore", "S@2"]);
    assert_eq!((world.read("f"), world.read("n")), (f, n));
}

/// What the user has put back is in the past of the session's checkpoint: nobody has changed the file since.
#[test]
fn a_persons_version_below_the_checkpoint_is_no_change_since() {
    let world = numbers();
    world.add_to("f", "mine\n");
    turn(&world, "S", "f", "echo one >>f");
    let one = world.read("f");
    turn(&world, "S", "f", "echo two >>f");
    assert!(world.done(&["restore", "--before", "S@1"]).contains("written  f"));
    assert!(world.read("f").ends_with(b"mine\n"));
    assert!(world.done(&["restore", "S@1"]).contains("written  f"));
    assert_eq!(world.read("f"), one);
    world.done(&["restore", "--before", "S@1"]);
    world.add_to("f", "more of mine\n");
    keeps(&world, &["S@1"], "f", "changed by a human since");
}
