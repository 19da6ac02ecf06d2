//! The real `jj`, where there is one: `tests/jj.sh` brings one along.

use super::World;

/// Returns false, and says so, if there is no `jj` to test with; where one is required, that is a failure.
pub(crate) fn is_there(world: &World) -> bool {
    let is_there = world.command("jj").arg("--version").output().is_ok_and(|output| output.status.success());
    let is_required = std::env::var_os("GIT_CHECKPOINT_TEST_JJ").is_some();
    assert!(is_there || !is_required, "GIT_CHECKPOINT_TEST_JJ is set, and there is no 'jj' on the PATH");
    if !is_there {
        // Not by the macro, whose words are only seen when the test fails.
        let word = b"SKIPPED: there is no 'jj' on the PATH; 'tests/jj.sh' installs one and runs these tests\n";
        drop(std::io::Write::write_all(&mut std::io::stderr(), word));
    }
    is_there
}

impl World {
    /// Runs jj with `arguments`, which must succeed, and returns what it printed.
    pub(crate) fn jj(&self, arguments: &[&str]) -> String {
        let mut command = self.command("jj");
        command.env("JJ_USER", "J J").env("JJ_EMAIL", "jj@example.com").env("JJ_CONFIG", "/dev/null");
        let output = command.args(["--no-pager", "--color=never"]).args(arguments).output().expect("jj runs");
        assert!(output.status.success(), "jj {arguments:?}: {}", super::processes::described(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Makes the repository a colocated jj repository.
    pub(crate) fn colocate(&self) {
        self.jj(&["git", "init", "--colocate", "."]);
    }

    /// Returns the id of the change that `revision` names.
    pub(crate) fn change(&self, revision: &str) -> String {
        self.jj(&["--ignore-working-copy", "log", "--no-graph", "-r", revision, "-T", "change_id"])
    }

    /// Returns how many operations jj has noted.
    pub(crate) fn operations(&self) -> usize {
        self.jj(&["--ignore-working-copy", "--at-op=@", "op", "log", "--no-graph", "-T", "id ++ \"\\n\""])
            .lines()
            .count()
    }
}
