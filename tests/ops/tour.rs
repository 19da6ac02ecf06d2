//! `git checkpoint tour`, played with what users type.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::Stdio,
    time::{Duration, Instant},
};

use crate::support::{World, program, terminal::Terminal};

/// Plays the tour with `typed`, and returns what it prints.
fn play(world: &World, typed: &str) -> String {
    play_with(world, typed, &[])
}

/// The same, with these environment variables.
fn play_with(world: &World, typed: &str, variables: &[(&str, &std::path::Path)]) -> String {
    let mut command = world.command("git");
    command.envs(variables.iter().copied());
    let child =
        command.args(["checkpoint", "tour"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = child.spawn().expect("git runs");
    let mut stdin = child.stdin.take().expect("piped");
    // A tour that has ended does not read the rest.
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

/// An agent's own variable says where its settings are; the tour must not write there.
#[test]
fn settings_of_agents_are_those_of_the_tour() {
    let world = World::new();
    let settings = world.root().join("settings");
    std::fs::create_dir(&settings).expect("it is ours");
    let variables = ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "FACTORY_HOME_OVERRIDE"].map(|name| (name, settings.as_path()));
    let typed =
        "git checkpoint enable --user --agent claude-code; git checkpoint enable --user --agent codex\nenv\nq\n";
    let text = play_with(&world, typed, &variables);
    assert!(std::fs::read_dir(&settings).expect("it is there").next().is_none(), "{text}");
    assert!(text.contains("\nPATH=") && !text.contains("CODEX_HOME"), "{text}");
}

/// The directory of the tour may be in a repository of the user's.
#[test]
fn without_its_repository_the_tour_finds_no_other() {
    let world = World::with_commit();
    let directory = world.repo().join("tmp");
    std::fs::create_dir(&directory).expect("it is ours");
    let typed =
        "rm -rf .git; git rev-parse --git-dir 2>&1; git checkpoint enable 2>&1; cd ..; git checkpoint enable 2>&1\nq\n";
    let text = play_with(&world, typed, &[("TMPDIR", &directory)]);
    assert!(text.contains("not a git repository"), "{text}");
    assert!(!world.repo().join(".git/hooks/post-commit").exists(), "{text}");
}

#[test]
fn a_signal_ends_a_tour_that_reads_a_pipe() {
    let world = World::new();
    let mut command = world.command(program());
    let mut tour = command.arg("tour").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it runs");
    let mut output = BufReader::new(tour.stdout.take().expect("piped"));
    let mut shown = Vec::new();
    // The first command is shown: the tour waits for an answer.
    output.read_until(b']', &mut shown).expect("it is text");
    rustix::process::kill_process(rustix::process::Pid::from_child(&tour), rustix::process::Signal::TERM)
        .expect("it is ours");
    let begin = Instant::now();
    while tour.try_wait().expect("it is ours").is_none() {
        if begin.elapsed() > Duration::from_secs(30) {
            tour.kill().expect("it is ours");
            panic!("the tour does not end");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn ctrl_c_ends_a_typed_command_and_not_the_tour() {
    let world = World::new();
    let mut terminal = Terminal::start(&world, "git checkpoint tour", |_| {});
    terminal.wait_for("[1/");
    // What tail shows says that tail runs: a shell that is about to start a command does not pass on the signal that it gets.
    terminal.press("echo 2$((1))2 >x; tail -f x\n");
    terminal.wait_for("212");
    terminal.press("\u{3}");
    terminal.wait_for("[1/");
    terminal.press("echo 4$((1))2\n");
    terminal.wait_for("412");
    // The command has ended: Ctrl-C is for the tour.
    terminal.wait_for("[1/");
    terminal.press("\u{3}");
    terminal.wait_for("The tour ends here");
}

#[rstest::rstest]
#[case::no_git("PATH=$(cd ../bin && pwd)", "git cannot be run")]
#[case::no_room("trap '' XFSZ; ulimit -f 1", "File too large")]
fn what_keeps_the_tour_from_going_on_is_named(#[case] prepare: &str, #[case] cause: &str) {
    let world = World::new();
    world.sh("mkdir ../bin && ln -s \"$(command -v sh)\" ../bin/sh");
    let script = format!("{prepare}; '{}' tour </dev/null 2>&1 || true", program());
    let said = world.sh(&script);
    assert!(said.contains("the tour cannot go on") && said.contains(cause), "{said}");
}
