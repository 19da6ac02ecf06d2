//! A session's work that is given up, after which a person types code of their own that has common lines, as most code has.

use super::{World, lines};

/// The work of the session, with lines that are also in [`OWN`].
const WORK: &str = "import os\ndef of_the_agent(first, second):\n    value = compute_it(first)\n    return None\n\n}\n";
const OWN: &str = "import os\ndef mine():\n    call_something_else_altogether()\n    return None\n\n}\n";

impl World {
    /// Returns who wrote each line of the file at `path` after the first `skipped` ones; `views` are `blame`'s and `attribution`'s.
    fn hands(&self, path: &str, skipped: usize) -> Vec<String> {
        let blame = self.json(&["blame", "--json", path]);
        let mut hands = Vec::new();
        for span in blame["lines"].as_array().expect("a list") {
            let [start, end] = ["start", "end"].map(|key| span[key].as_u64().expect("a number"));
            hands.extend((start..=end).map(|_| span["owner"].as_str().expect("a word").to_owned()));
        }
        hands.drain(..skipped);
        hands
    }

    /// A person types their own code at the end of `path`, and commits it.
    fn type_own(&self, path: &str, kept: &str, how: &[&str]) {
        self.write(path, format!("{kept}{OWN}"));
        let skipped = kept.lines().count();
        let before = self.hands(path, skipped);
        assert!(before.iter().all(|hand| hand == "human" || hand == "unknown"), "{before:?}");
        for command in how {
            self.sh(command);
        }
        let after = self.hands(path, skipped);
        assert!(after.iter().all(|hand| hand == "human" || hand == "unknown"), "{after:?}");
        assert_eq!(self.named("HEAD"), [""; 0], "{}", self.message("HEAD"));
        let report = self.json(&["attribution", "--json"]);
        assert_eq!(report["summary"]["agent_lines"], 0, "{report}");
        self.assert_sound("after own code");
    }
}

const COMMIT: &[&str] = &["git commit -qam own"];
const ADD_AND_COMMIT: &[&str] = &["git add -A", "git commit -qm own"];

#[rstest::rstest]
#[case::checkout("git checkout -q f")]
#[case::restore("git restore f")]
#[case::checkout_by_force("git branch other; git checkout -q -f other")]
#[case::stash("git stash -q; git stash drop -q")]
#[case::reset("git reset -q --hard")]
#[case::restored_and_saved("git restore f; git checkpoint save -q")]
#[case::edited_and_saved("git show HEAD:f >f; git checkpoint save -q")]
fn uncommitted_work(#[case] script: &str) {
    // Once the file is staged, git does not remember that it was put back.
    let how = if script.contains("save") { ADD_AND_COMMIT } else { COMMIT };
    let world = World::with_old_commit();
    let base = lines("base", 9);
    world.agent("s", "f", &format!("{base}{WORK}"));
    world.sh(script);
    world.type_own("f", &base, how);
}

#[rstest::rstest]
#[case::removed("rm new")]
#[case::cleaned("git clean -qf")]
#[case::stashed("git stash -q -u; git stash drop -q")]
fn a_new_file_that_a_save_has_seen_gone(#[case] script: &str) {
    let world = World::with_old_commit();
    world.agent("s", "new", WORK);
    world.sh(script);
    world.done(&["save", "-q"]);
    world.type_own("new", "", ADD_AND_COMMIT);
}

#[rstest::rstest]
#[case::reset("git add -A; git commit -qm work; git reset -q --hard HEAD~1")]
#[case::pick(
    "git checkout -q -b work; git add -A; git commit -qm work; git checkout -q main; git cherry-pick -n work; git rm -qf new"
)]
fn a_new_file_that_was_committed(#[case] script: &str) {
    let world = World::with_old_commit();
    world.agent("s", "new", WORK);
    world.sh(script);
    world.type_own("new", "", ADD_AND_COMMIT);
}

#[rstest::rstest]
#[case::restored("git restore -SW .")]
#[case::checked_out("git checkout -q HEAD -- .")]
#[case::and_saved("git checkout -q HEAD -- .; git checkpoint save -q")]
#[case::reset("git reset -q --hard")]
fn a_squash(#[case] script: &str) {
    let world = World::with_old_commit();
    let base = lines("base", 9);
    world.git(&["checkout", "-q", "-b", "work"]);
    world.agent("s", "f", &format!("{base}{WORK}"));
    world.git(&["commit", "-qam", "work"]);
    world.git(&["checkout", "-q", "main"]);
    world.git(&["merge", "-q", "--squash", "work"]);
    world.sh(script);
    world.type_own("f", &base, COMMIT);
}

/// What comes back with a telling line, or as a whole, is the session's again.
#[test]
fn work_that_comes_back() {
    let world = World::with_old_commit();
    let base = lines("base", 9);
    world.agent("s", "f", &format!("{base}{WORK}"));
    world.git(&["stash", "-q"]);
    world.git(&["stash", "pop", "-q"]);
    world.git(&["commit", "-qam", "work"]);
    assert_eq!(world.hands("f", 9), ["agent"; 6]);
    assert_eq!(world.sessions("HEAD"), ["s"]);
    world.is_whole();
}

/// `attribution --worktree` and the commit name the same authors.
#[test]
fn a_pick_and_a_reset_of_the_persons_own_commit() {
    let world = World::with_old_commit();
    let base = lines("base", 9);
    world.git(&["checkout", "-q", "-b", "work"]);
    world.agent("s", "f", &format!("{base}def of_the_agent():\n    return None\n}}\n"));
    world.git(&["commit", "-qam", "work"]);
    world.git(&["checkout", "-q", "main"]);
    world.git(&["cherry-pick", "-n", "work"]);
    world.git(&["restore", "-SW", "."]);
    let own = format!("{base}def my_own():\n    return None\n}}\n");
    for message in ["own", "again"] {
        world.write("f", &own);
        let before = world.hands("f", 9);
        world.git(&["commit", "-qam", message]);
        assert_eq!(world.hands("f", 9), before, "{message}");
        assert_eq!(before, ["human", "unknown", "unknown"], "{message}");
        assert_eq!(world.named("HEAD"), [""; 0], "{message}");
        if message == "own" {
            world.git(&["reset", "-q", "--hard", "HEAD~1"]);
        }
    }
    world.assert_sound("after all");
}
