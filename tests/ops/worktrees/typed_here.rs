//! A person types here a part of what an agent has written in another worktree.

use rstest::rstest;

use super::{add, run_in, said};
use crate::support::World;

/// A session in a worktree of its own has written the file x; it is committed there or not.
#[rstest]
fn a_part_that_a_person_types_here_is_the_persons(
    #[values(false, true)] is_committed_there: bool,
    #[values(false, true)] is_saved: bool,
) {
    let world = World::with_hooks();
    let side = add(&world, "side");
    let done = |arguments: &[&str]| {
        let output = run_in(&world, &side, arguments);
        assert!(output.status.success(), "{}", said(&output));
    };
    done(&["session", "prompt", "-q", "s", "--agent", "claude-code", "-m", "x"]);
    std::fs::write(side.join("x"), "import os\nimport sys\nimport re\nprint(os.getcwd())\n").expect("writable");
    done(&["session", "stop", "-q", "s"]);
    if is_committed_there {
        world.sh(&format!("cd '{}'; git add x; git commit -qm x", side.display()));
    }
    world.write("x", "import os\nimport sys\nimport re\nmine()\n");
    if is_saved {
        world.done(&["save", "-q"]);
    }
    world.sh("git add x; git commit -qm mine");
    let blamed = world.done(&["blame", "x"]);
    assert!(!blamed.contains("claude") && blamed.lines().count() == 4, "{blamed}");
}
