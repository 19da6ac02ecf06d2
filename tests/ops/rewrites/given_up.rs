//! A session's work that is given up, after which a person types code of their own that has common lines, as most code has.

use super::{World, lines};

/// The work of the session, with lines that are also in [`OWN`].
const WORK: &str = "import os\ndef of_the_agent(first, second):\n    value = compute_it(first)\n    return None\n\n}\n";
const OWN: &str = "import os\ndef mine():\n    call_something_else_altogether()\n    return None\n\n}\n";

impl World {
    /// Returns who wrote each line of the file at `path` after the first `skipped` ones.
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

    /// A person types their own code at the end of `path`, and commits it. All of it is the person's if `is_seen`: if the program saw
    /// that the work was gone.
    fn type_own(&self, path: &str, kept: &str, is_seen: bool, is_staged: bool) {
        self.write(path, format!("{kept}{OWN}"));
        let skipped = kept.lines().count();
        let mut expected = ["human"; 6];
        if !is_seen {
            (expected[0], expected[3], expected[4], expected[5]) = ("unknown", "unknown", "unknown", "unknown");
        }
        assert_eq!(self.hands(path, skipped), expected);
        self.sh(if is_staged { "git add -A; git commit -qm own" } else { "git add -N .; git commit -qam own" });
        assert_eq!(self.hands(path, skipped), expected);
        assert_eq!(self.named("HEAD"), [""; 0], "{}", self.message("HEAD"));
        let report = self.json(&["attribution", "--json"]);
        assert_eq!(report["summary"]["agent_lines"], 0, "{report}");
        self.assert_sound("after own code");
    }
}

#[rstest::rstest]
fn uncommitted_work(
    #[values(
        "git checkout -q f",
        "git restore f",
        "git restore f; git checkpoint save -q",
        "git show HEAD:f >f; git checkpoint save -q",
        "git branch other; git checkout -q -f other",
        "git stash -q; git stash drop -q",
        "git reset -q --hard",
        "git show HEAD:f >f"
    )]
    script: &str,
    #[values(false, true)] is_staged: bool,
) {
    let world = World::with_old_commit();
    let base = lines("base", 9);
    world.agent("s", "f", &format!("{base}{WORK}"));
    world.sh(script);
    let is_seen = ["checkout -q f", "restore f", "save"].iter().any(|word| script.contains(word));
    world.type_own("f", &base, is_seen, is_staged);
}

#[rstest::rstest]
fn a_new_file(
    #[values("rm new", "git clean -qf", "git stash -q -u; git stash drop -q")] script: &str,
    #[values(false, true)] is_saved: bool,
    #[values(false, true)] is_staged: bool,
) {
    let world = World::with_old_commit();
    world.agent("s", "new", WORK);
    world.sh(script);
    if is_saved {
        world.done(&["save", "-q"]);
    }
    world.type_own("new", "", is_saved, is_staged);
}

#[rstest::rstest]
#[case::reset("git add -A; git commit -qm work; git reset -q --hard HEAD~1")]
#[case::pick(
    "git checkout -q -b work; git add -A; git commit -qm work; git checkout -q main; git cherry-pick -n work; git rm -qf new"
)]
fn a_new_file_that_was_committed(#[case] script: &str, #[values(false, true)] is_staged: bool) {
    let world = World::with_old_commit();
    world.agent("s", "new", WORK);
    world.sh(script);
    world.type_own("new", "", false, is_staged);
}

#[rstest::rstest]
fn a_squash(
    #[values(
        "git restore -SW .",
        "git checkout -q HEAD -- .",
        "git restore -SW f; git checkpoint save -q",
        "git reset -q --hard"
    )]
    script: &str,
    #[values(false, true)] is_staged: bool,
) {
    let world = World::with_old_commit();
    let base = lines("base", 9);
    world.git(&["checkout", "-q", "-b", "work"]);
    world.agent("s", "f", &format!("{base}{WORK}"));
    world.git(&["commit", "-qam", "work"]);
    world.git(&["checkout", "-q", "main"]);
    world.git(&["merge", "-q", "--squash", "work"]);
    world.sh(script);
    world.type_own("f", &base, script.contains("reset"), is_staged);
}

/// After it was given up, the work is squashed again, and a person leaves one line of it.
#[test]
fn a_squash_after_one_that_was_given_up() {
    let world = World::with_old_commit();
    world.git(&["checkout", "-q", "-b", "work"]);
    world.agent_commit("s", "new");
    world.git(&["checkout", "-q", "main"]);
    world.sh("git merge -q --squash work; git restore -SW new; git merge -q --squash work");
    let line = world.read("new").to_string().lines().next().expect("it has some").to_owned();
    world.write("new", format!("{line}\nown text of a person\n"));
    world.sh("git add new; git commit -qm squashed");
    assert_eq!(world.hands("new", 0), ["agent", "human"]);
    assert_eq!(world.sessions("HEAD"), ["s"]);
    world.assert_sound("after all");
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
