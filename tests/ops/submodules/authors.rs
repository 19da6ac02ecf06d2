//! Whose the changes in a submodule are while an agent works in the superproject.

use serde_json::Value;

use super::{after, run};
use crate::support::World;

/// Returns the repository with the hooks of git in it and in its submodule.
fn enabled() -> World {
    after("git checkpoint enable >/dev/null 2>&1; git -C sub checkpoint enable >/dev/null 2>&1")
}

/// What is unsaved in a submodule where the session has no turn may be a person's work from before the turn.
#[rstest::rstest]
#[case::a_save_in_the_turn(
    "git checkpoint session prompt s1 --agent ag -m q >/dev/null; echo agent >>f
    git checkpoint save -q --recurse-submodules; git checkpoint session stop s1"
)]
#[case::a_restore_in_the_turn(
    "git checkpoint session prompt s1 --agent ag -m q >/dev/null; echo agent >>f
    git -c submodule.recurse=true checkpoint restore -q @{0} >/dev/null 2>&1 || true
    git checkpoint session stop s1; git -C sub checkpoint undo >/dev/null 2>&1 || true"
)]
#[case::a_save_of_the_agents("echo agent >>f; git checkpoint save -q --session s1 --agent ag --recurse-submodules")]
fn a_persons_line_in_a_submodule_is_no_agents(#[case] script: &str) {
    let world = enabled();
    run(&world, &format!("git checkpoint save -q --recurse-submodules; echo person >>sub/l; {script}"));
    let author = run(&world, "git -C sub checkpoint attribution --worktree --json");
    let found: Value = serde_json::from_str(&author).expect("JSON");
    assert!(!found.to_string().contains("\"s1\""), "{found}");
    run(&world, "git -C sub commit -qam mine");
    let blame = run(&world, "git -C sub checkpoint blame l");
    assert!(!blame.contains("s1"), "{blame}");
}

/// Defines `hook`, which reports an event of Claude Code in the superproject, and `edit`, which runs a script as a tool that names a
/// file.
const AGENT: &str = r#"hook() {
        printf '{"session_id":"s1","hook_event_name":"%s","cwd":"%s","transcript_path":"/none"%s}' "$1" "$PWD" "$2" |
            git checkpoint hook --agent claude-code >/dev/null
    }
    edit() {
        tool='"tool_name":"Edit","tool_use_id":"'$1'","tool_input":{"file_path":"'$PWD/$2'","old_string":"","new_string":"agent"}'
        hook PreToolUse ",$tool"; eval "$3"; hook PostToolUse ",$tool,\"tool_response\":{}"
    }
    hook UserPromptSubmit ',"prompt":"q"'; "#;

/// An agent whose tools are known edits files of the submodule, beside a person's line.
#[rstest::rstest]
#[case::at_once("true")]
#[case::after_the_stop("hook Stop")]
#[case::after_a_persons_save("git checkpoint save -q --recurse-submodules")]
#[case::after_a_persons_save_there("git -C sub checkpoint save -q")]
fn what_a_tool_changes_in_a_submodule_is_the_agents(#[case] then: &str) {
    let world = enabled();
    let edits = "edit t1 sub/l 'echo agent >>sub/l'; edit t2 sub/new 'echo agent >sub/new'; edit t3 f 'echo agent >>f'";
    run(&world, &format!("echo person >>sub/l; {AGENT} {edits}; {then}"));
    let check = || {
        let blame: Value = serde_json::from_str(&run(&world, "git -C sub checkpoint blame --json l")).expect("JSON");
        let lines = blame["lines"].as_array().expect("a list");
        let last: Vec<&Value> = lines.iter().rev().take(2).map(|line| &line["session"]).collect();
        assert_eq!(last, [&Value::from("s1"), &Value::Null], "{blame}");
        assert!(run(&world, "git -C sub checkpoint blame new").contains("claude-code"));
        assert!(run(&world, "git checkpoint blame f").lines().last().expect("a line").contains("claude-code"));
    };
    check();
    run(&world, "git -C sub add .; git -C sub commit -qm theirs; git -C sub checkpoint verify; git commit -qam outer");
    check();
}

/// A directory with files from elsewhere may have a `.git` whose settings name commands: none of them runs, and nothing is made there.
#[test]
fn a_repository_that_is_no_submodule_of_ours_is_left_alone() {
    let world = after("git checkpoint enable >/dev/null 2>&1");
    run(
        &world,
        &format!(
            "git init -q ext; mkdir ext/.git/checkpoint; echo '* filter=evil' >ext/.gitattributes
            git -C ext config filter.evil.clean 'touch ../ran; cat'; {AGENT}
            edit t1 ext/f 'echo agent >ext/f'; edit t2 f 'echo agent >>f'; hook Stop"
        ),
    );
    assert!(!world.repo().join("ran").exists(), "a command of the settings has run");
    assert_eq!(run(&world, "git -C ext for-each-ref refs/checkpoints"), "");
    assert!(run(&world, "git checkpoint blame f").lines().last().expect("a line").contains("claude-code"));
}

/// In a linked worktree, the submodules' repositories are elsewhere.
#[test]
fn a_tool_in_a_linked_worktree_changes_a_submodule() {
    let world = enabled();
    run(
        &world,
        &format!(
            "git worktree add -q ../linked; cd ../linked; git submodule -q update --init
            git -C sub checkpoint enable >/dev/null 2>&1; {AGENT} edit t1 sub/l 'echo agent >>sub/l'; hook Stop"
        ),
    );
    let blame = run(&world, "git -C ../linked/sub checkpoint blame l");
    assert!(blame.lines().last().expect("a line").contains("claude-code"), "{blame}");
}

/// Nothing is made in a submodule in which git-checkpoint is not used.
#[test]
fn a_tool_that_names_a_file_of_a_submodule_without_hooks() {
    let world = after("git checkpoint enable >/dev/null 2>&1");
    run(&world, &format!("{AGENT} edit t1 sub/l 'echo agent >>sub/l'; edit t2 f 'echo agent >>f'; hook Stop"));
    assert_eq!(run(&world, "git -C sub for-each-ref refs/checkpoints"), "");
    assert!(run(&world, "git checkpoint blame f").lines().last().expect("a line").contains("claude-code"));
}

/// A turn in the submodule itself says whose the work there is.
#[test]
fn a_turn_of_the_submodules_own_counts() {
    let world = enabled();
    run(
        &world,
        "git checkpoint session prompt s1 --agent ag -m q >/dev/null
        git -C sub checkpoint session prompt s2 --agent bg -m q >/dev/null
        echo s2 >>sub/l; git checkpoint save -q --recurse-submodules
        git -C sub checkpoint session stop s2; git checkpoint session stop s1",
    );
    let log: Value =
        serde_json::from_str(run(&world, "git -C sub checkpoint list --json").lines().next().expect("a checkpoint"))
            .expect("JSON");
    assert_eq!(log["session"], "s2");
}

/// A restore of a session's checkpoint keeps what a person has changed since, at all levels.
#[rstest::rstest]
#[case::head_stays("true")]
#[case::head_of_the_submodule_moved("git -C sub commit -qm empty --allow-empty")]
fn a_restore_of_a_sessions_checkpoint_keeps_a_persons_work(#[case] script: &str) {
    let world = enabled();
    run(
        &world,
        "echo before >>sub/l; git checkpoint save -q --recurse-submodules
        git checkpoint session prompt s1 --agent ag -m q >/dev/null; echo agent >>f
        git checkpoint save -q --recurse-submodules; git checkpoint session stop s1",
    );
    let listed = run(&world, "git checkpoint list --json");
    let latest: Value = serde_json::from_str(listed.lines().next().expect("a checkpoint")).expect("JSON");
    let id = latest["id"].as_str().expect("an id").to_owned();
    run(
        &world,
        &format!(
            "echo more >>f; git checkpoint save -q --session s1 --agent ag
            {script}; echo person >>g; echo person >>sub/l; echo person >sub/notes; echo person >>sub/inner/d"
        ),
    );
    let output = world.checkpoint(&["restore", "--recurse-submodules", &id]);
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    let files = run(&world, "cat f g sub/l sub/notes sub/inner/d");
    assert_eq!(files, "1\nagent\nperson\n1\nbefore\nperson\nperson\n1\nperson\n", "{said}");
    assert!(said.contains("kept     sub/l") && said.contains("restore --all"), "{said}");
    world.done(&["restore", "--recurse-submodules", "--all", &id]);
    assert_eq!(run(&world, "cat f sub/l sub/inner/d; ls g sub/notes 2>/dev/null || true"), "1\nagent\n1\nbefore\n1\n");
    world.done(&["undo"]);
    assert_eq!(run(&world, "cat f g sub/l sub/notes sub/inner/d"), files);
}
