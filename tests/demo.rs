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
