//! `git checkpoint tour`, played with what users type.

use std::{io::Write as _, process::Stdio};

use crate::support::World;

/// Plays the tour with `typed`, and returns what it prints.
fn play(world: &World, typed: &str) -> String {
    let mut command = world.command("git");
    let child =
        command.args(["checkpoint", "tour"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = child.spawn().expect("git runs");
    let mut stdin = child.stdin.take().expect("piped");
    // Of a tour that ends, the rest is not read.
    let _ = stdin.write_all(typed.as_bytes());
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    let told: Vec<_> = said.lines().filter(|line| !line.starts_with("hint: ")).collect();
    assert!(told.is_empty(), "{said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Returns what is in the world, `tests` aside.
fn files(world: &World) -> String {
    world.sh("cd .. && find . -type f -exec sha256sum {} + | sort")
}

#[test]
fn enter_plays_the_whole_tour_and_nothing_stays() {
    let world = World::new();
    // Settings of the user that would stop a commit or a hook, if the tour read them.
    world.sh("printf '[commit]\\n\\tgpgSign = true\\n[core]\\n\\thooksPath = /nowhere\\n' >../home/.gitconfig");
    let before = files(&world);
    let text = play(&world, &"\n".repeat(40));
    for (step, shown) in [
        ("saved", "before the agent [start]"),
        ("status names both files", "\tnotes.txt\n\tshop.py"),
        ("prompts", "add a discount"),
        ("rewind", "restored 2 paths from"),
        ("notes are back", "ideas: a discount, a bill"),
        ("blame of the agent", "agent   demo-agent demo t1"),
        ("blame of the user", "human   You"),
        ("why", "Prompt of turn 1\n    add a discount"),
        ("trailer", "\nCheckpoint: "),
        ("two agents", "other-agent other"),
        ("the end", "git checkpoint enable --agent <agent>"),
    ] {
        assert!(text.contains(shown), "{step}: {text}");
    }
    assert_eq!(files(&world), before);
}

#[test]
fn another_command_is_run_and_the_step_shown_again() {
    let world = World::new();
    let text = play(&world, "\nbasename \"$PWD\"\nq\n");
    assert_eq!(text.matches("$ git checkpoint save -m 'before the agent'").count(), 2, "{text}");
    assert!(text.contains("shop\n"), "{text}");
    assert!(text.ends_with("The tour ends here; its repository is deleted.\n"), "{text}");
}

#[test]
fn the_end_of_the_input_ends_the_tour() {
    let world = World::new();
    let before = files(&world);
    assert!(play(&world, "\n").contains("The tour ends here"));
    assert_eq!(files(&world), before);
}
