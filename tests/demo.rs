//! The demo of `examples/install-and-demo.sh`, without the installation: its lines can be pasted.

use std::{fs, path::Path};

use crate::support::{World, processes::described};

#[test]
fn the_lines_of_the_demo_can_be_pasted() {
    let world = World::new();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/install-and-demo.sh");
    let output = world.command("sh").arg(&script).arg("--demo").env("TMPDIR", world.root()).output().expect("it runs");
    assert!(output.status.success(), "{}", described(&output));
    let shown = String::from_utf8(output.stdout).expect("text");
    for text in ["restored 3 paths from", "it works", "undone: ", "it wroks", " M main.rs\n?? plan-b.rs"] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    let typed: Vec<&str> = shown.lines().filter_map(|line| line.strip_prefix("$ ")).collect();
    let typed = typed.join("\n");
    let pasted = world.root().join("pasted");
    fs::create_dir(&pasted).expect("it is ours");
    let mut command = world.command("sh");
    let output = command.args(["-ec", &typed]).current_dir(&pasted).output().expect("it runs");
    assert!(output.status.success(), "{typed}{}", described(&output));
    let said = String::from_utf8(output.stdout).expect("text");
    assert!(said.contains("restored 3 paths from") && said.contains("it wroks"), "{said}");
    assert_eq!(fs::read_to_string(pasted.join("plan-b.rs")).expect("it is there"), "TODO\n");
    assert!(!pasted.join("notes.txt").exists());
}

/// A program drives a round of three agents with what is printed as JSON alone.
#[test]
fn the_orchestrator_commits_the_best_of_three() {
    let world = World::new();
    let path = std::env::var_os("PATH").unwrap_or_default();
    if !std::env::split_paths(&path).any(|folder| folder.join("python3").is_file()) {
        #[expect(clippy::print_stderr, reason = "a test that is left out must be seen")]
        return eprintln!("SKIPPED: there is no 'python3' on the PATH to run 'examples/orchestrator.py' with");
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/orchestrator.py");
    let run = |more: &[&str]| {
        let output = world.command("python3").arg(&script).args(more).output().expect("it runs");
        assert!(output.status.success(), "{}", described(&output));
        String::from_utf8(output.stdout).expect("text")
    };
    let said = run(&[world.repo().join("slugs").to_str().expect("temporary paths are plain")]);
    let lines = |text: &str| said.lines().filter(|line| line.ends_with(text)).count();
    assert_eq!(
        (lines(" 2 lines, test passes"), lines(" 5 lines, test passes"), lines(" test fails")),
        (1, 1, 1),
        "{said}"
    );
    assert!(said.contains("the winner is agent2\nlines of the agent in the commit: 2 of 2\n"), "{said}");
    let shown =
        world.sh("cd slugs; git show HEAD:slug.py; git status --short; git branch | wc -l; git worktree list | wc -l");
    let text = "def slug(title):\n    return '-'.join(title.lower().split())\n1\n1\n";
    assert_eq!(shown.lines().map(str::trim_end).collect::<Vec<_>>(), text.lines().collect::<Vec<_>>());
    // The experiments of the third one, and the work of all, are kept.
    let kept = world
        .sh("cd slugs; cat .git/checkpoint/scratch/agent3/notes; git checkpoint round list --all | grep -c retired");
    assert_eq!(kept, "split() would do, too\n3\n");
    // Without a directory, nothing stays.
    let before = world.sh("ls -A ..");
    run(&[]);
    assert_eq!(world.sh("ls -A .."), before);
}

/// The example with other agents: one that fails in the middle of its turn, and none that passes the test.
#[rstest::rstest]
#[case::one_fails(&[("    write(directory, \"slug.py\", \"def slug(title):\\n    return title.r", "    raise ValueError(\"no idea\")\n#")], 0, "agent1 has failed: no idea")]
#[case::none_passes(&[("== 'hello-new-world'", "== 'x'")], 1, "no result passes the test")]
fn the_orchestrator_ends_all_rounds(#[case] changes: &[(&str, &str)], #[case] status: i32, #[case] text: &str) {
    let world = World::new();
    let mut script = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/orchestrator.py"))
        .expect("it is there");
    for (old, new) in changes {
        assert!(script.contains(old), "{old}");
        script = script.replace(old, new);
    }
    world.write("orchestrator.py", script);
    if world.command("sh").args(["-c", "command -v python3"]).output().is_ok_and(|found| !found.status.success()) {
        #[expect(clippy::print_stderr, reason = "a test that is left out must be seen")]
        return eprintln!("SKIPPED: there is no 'python3' on the PATH");
    }
    let output = world.command("python3").args(["orchestrator.py", "slugs"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(status), "{}", described(&output));
    assert!(described(&output).contains(text), "{}", described(&output));
    assert_eq!(world.sh("cd slugs; git checkpoint round list; git worktree list | wc -l").trim(), "1");
}
