//! Questions on a terminal: a signal ends each of them at once, and nothing is done.

use std::{fs, path::Path, process::Command};

use crate::support::{World, program, terminal::Terminal};

/// A world in which each of the commands below asks.
fn world() -> World {
    let world = World::with_commit();
    world.git(&["config", "checkpoint.enable-multisession-warning", "true"]);
    world.write("k", "the agent's\n");
    world.done(&["save", "-q", "--session", "a", "--agent", "mine"]);
    world.write("f", "the only copy\n");
    world.done(&["save", "-q"]);
    world.write("f", "another\n");
    world
}

/// Starts a command in a terminal, and waits until it asks `question`. What its process is, is in the file `pid` of the world.
fn asked(world: &World, arguments: &str, question: &str) -> Terminal {
    let line = format!(
        "trap : INT; sh -c 'echo $$ >../pid; exec \"$0\" \"$@\"' {} {arguments}; echo \"status $?.\"",
        program()
    );
    let terminal = Terminal::start(world, &line, |_| {});
    terminal.wait_for(question);
    terminal
}

fn send(pid: &Path, signal: &str) {
    let pid = fs::read_to_string(pid).expect("it was written");
    assert!(Command::new("kill").args(["-s", signal, pid.trim()]).status().expect("kill runs").success());
}

#[rstest::rstest]
#[case::purge("purge copy", "Purge it? [y/N] ")]
#[case::drop("drop @{0}", "Drop 1 checkpoint? [y/N] ")]
#[case::session("session prompt b -m go", "Continue? [y/N] ")]
fn a_signal_ends_a_question(
    #[case] arguments: &str,
    #[case] question: &str,
    #[values("ctrl-c", "TERM", "HUP")] signal: &str,
) {
    let world = world();
    let refs = world.git(&["for-each-ref"]);
    let mut terminal = asked(&world, arguments, question);
    if signal == "ctrl-c" {
        terminal.press("\u{3}");
    } else {
        send(&world.root().join("pid"), signal);
    }
    let said = terminal.wait_for("status ");
    assert_eq!(terminal.wait_for("."), "130.", "{said}");
    assert_eq!(world.git(&["for-each-ref"]), refs, "nothing was done");
    assert!(world.checkpoint(&["save"]).status.success(), "nothing stays locked");
}

#[rstest::rstest]
#[case::yes("y\n", "0.")]
#[case::no("n\n", "1.")]
#[case::neither("\n", "1.")]
#[case::the_end_of_input("\u{4}", "1.")]
fn an_answer_is_a_line(#[case] keys: &str, #[case] status: &str) {
    let world = world();
    let mut terminal = asked(&world, "drop @{0}", "Drop 1 checkpoint? [y/N] ");
    terminal.press(keys);
    let said = terminal.wait_for("status ");
    assert_eq!(terminal.wait_for("."), status, "{said}");
}

#[test]
fn a_signal_ends_the_second_question_of_a_purge() {
    let world = world();
    let mut terminal = asked(&world, "purge --stdin", "Text to purge (not shown): ");
    terminal.press("copy\n");
    terminal.wait_for("Purge it? [y/N] ");
    send(&world.root().join("pid"), "TERM");
    let said = terminal.wait_for("status ");
    assert_eq!(terminal.wait_for("."), "130.", "{said}");
}

/// At the end of input, a terminal sends what is typed so far, and the line goes on.
#[test]
fn a_signal_ends_a_question_in_the_middle_of_the_answer() {
    let world = world();
    let mut terminal = asked(&world, "drop @{0}", "Drop 1 checkpoint? [y/N] ");
    terminal.press("y\u{4}");
    std::thread::sleep(std::time::Duration::from_millis(500));
    send(&world.root().join("pid"), "TERM");
    let said = terminal.wait_for("status ");
    assert_eq!(terminal.wait_for("."), "130.", "{said}");
}

/// What was listed before the question is not listed again after the answer.
#[test]
fn a_purge_lists_what_it_finds_once() {
    let world = world();
    world.remove("f");
    let mut terminal = asked(&world, "purge copy", "Purge it? [y/N] ");
    terminal.press("y\n");
    let said = terminal.wait_for("status ");
    assert!(said.contains("purged; removed") && !said.contains("found in"), "{said}");
}
