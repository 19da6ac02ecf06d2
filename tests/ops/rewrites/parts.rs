//! Commits that have some files of a record's commit again, and not the others: the record says nothing of what a person has typed
//! in the others.

use super::World;
use crate::support::template::Template;

/// The agent's new file.
const PARSER: &str = "def parse(line):\n    fields = line.split(\",\")\n    return [f.strip() for f in fields]\n";

/// On `main` a file of three lines; on `b1`, session s1 has replaced the second and written a parser.
static START: Template = Template::new(|world| {
    let world = world.commit_old();
    world.write("n.txt", "hu one\nhu two\nhu three\n");
    world.git(&["add", "."]);
    world.git(&["commit", "-qm", "n"]);
    on_branch(&world, "b1", "s1");
});

/// Makes that commit of `session` on `branch`, and leaves the branch.
fn on_branch(world: &World, branch: &str, session: &str) {
    world.git(&["checkout", "-q", "-b", branch]);
    world.turn(session, || {
        world.write("n.txt", format!("hu one\n{session} replaced two\nhu three\n"));
        world.write("parse.py", PARSER);
    });
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "a parser"]);
    world.git(&["checkout", "-q", "main"]);
}

fn world() -> World {
    World::copied(&START)
}

/// Returns who has written each line of `path`.
pub(super) fn owners(world: &World, path: &str) -> Vec<String> {
    let blame = world.json(&["blame", "--json", path]);
    let mut owners = Vec::new();
    for span in blame["lines"].as_array().expect("lines") {
        let count = span["end"].as_u64().expect("a number") + 1 - span["start"].as_u64().expect("a number");
        let word = |name: &str| span[name].as_str().unwrap_or("-").to_owned();
        owners.extend((0..count).map(|_| format!("{} {}", word("owner"), word("session"))));
    }
    owners
}

/// What the person types.
const TYPES: &str = "sed -i '2s/.*/hu replaced two/' n.txt";

#[rstest::rstest]
#[case::of_the_branch("git checkout -q b1 -- parse.py; TYPES")]
#[case::of_the_branch_and_staged("git checkout -q b1 -- parse.py; TYPES; git add -A")]
#[case::typed_first("TYPES; git checkout -q b1 -- parse.py")]
#[case::of_a_squash("git merge -q --squash b1; git checkout -q HEAD n.txt; TYPES")]
#[case::of_a_pick("git cherry-pick -n b1; git checkout -q HEAD n.txt; TYPES")]
#[case::of_a_pick_by_restore("git cherry-pick -n b1; git restore --staged --worktree n.txt; TYPES")]
#[case::of_a_commit_that_a_reset_has_removed(
    "git checkout -q b1; git reset -q --hard HEAD~1; git checkout -q ORIG_HEAD -- parse.py; TYPES"
)]
#[case::in_two_commits("git checkout -q b1 -- parse.py; git commit -qam parser; TYPES")]
fn a_person_types_another_file(#[case] script: &str) {
    let world = world();
    world.sh(&script.replace("TYPES", TYPES));
    let check = |when: &str| {
        assert_eq!(owners(&world, "n.txt")[1], "human -", "{when}");
        assert_eq!(owners(&world, "parse.py"), ["agent s1"; 3], "{when}");
    };
    check("before the commit");
    world.git(&["commit", "-qam", "mine"]);
    check("after the commit");
    world.git(&["commit", "-q", "--amend", "-m", "other words"]);
    check("after an amend");
    world.is_whole();
}

#[test]
fn it_stays_so_when_the_commit_is_rebased_or_picked() {
    let world = world();
    world.sh(&format!("git checkout -q -b mine; git checkout -q b1 -- parse.py; {TYPES}; git commit -qam mine"));
    world.git(&["checkout", "-q", "main"]);
    world.human_commit("hand");
    world.git(&["cherry-pick", "mine"]);
    let check = || {
        assert_eq!(owners(&world, "n.txt")[1], "human -");
        assert_eq!(owners(&world, "parse.py"), ["agent s1"; 3]);
    };
    check();
    world.git(&["checkout", "-q", "mine"]);
    world.git(&["rebase", "-q", "main~1"]);
    check();
    world.sh("git reset -q --soft HEAD~1; git commit -qm again");
    check();
    world.is_whole();
}

/// Git has brought the agent's line, and a person edits it.
#[rstest::rstest]
#[case::of_a_squash("git merge -q --squash b1")]
#[case::of_a_pick("git cherry-pick -n b1")]
#[case::of_a_soft_reset("git checkout -q b1; git reset -q --soft HEAD~1")]
#[case::of_a_mixed_reset("git checkout -q b1; git reset -q HEAD~1")]
#[case::of_a_squash_that_is_not_staged("git merge -q --squash b1; git reset -q n.txt")]
fn a_person_edits_a_line_of_the_agent(#[case] script: &str) {
    let world = world();
    world.sh(&format!("{script}; sed -i '2s/s1/hu/' n.txt"));
    assert_eq!(owners(&world, "n.txt")[1], "mixed s1", "before the commit");
    world.sh("git add -N .; git commit -qam mine");
    assert_eq!(owners(&world, "n.txt")[1], "mixed s1");
    assert_eq!(owners(&world, "parse.py"), ["agent s1"; 3]);
    world.is_whole();
}

/// A session writes what a session on another branch has written: its work is its own.
#[test]
fn each_branch_has_the_work_of_its_own_session() {
    let world = world();
    world.git(&["checkout", "-q", "-b", "b2"]);
    // What a session without tools leaves as a commit has it counts as brought by git.
    world.agent_with_tool("s2", "n.txt", "hu one\ns2 replaced two\nhu three\n");
    world.agent_with_tool("s2", "parse.py", PARSER);
    world.sh("git add -A; git commit -qm 'a parser'; git checkout -q main");
    assert_eq!(world.sessions("b1"), ["s1"]);
    assert_eq!(world.sessions("b2"), ["s2"], "{}", world.message("b2"));
    world.git(&["checkout", "-q", "b2"]);
    assert_eq!(owners(&world, "parse.py"), ["agent s2"; 3]);
    assert_eq!(owners(&world, "n.txt")[1], "agent s2");
    world.git(&["checkout", "-q", "main"]);
    world.sh(&format!("git checkout -q b1 -- parse.py; {TYPES}; git commit -qam mine"));
    assert_eq!(owners(&world, "n.txt")[1], "human -");
    assert!(owners(&world, "parse.py").iter().all(|owner| owner.starts_with("agent ")));
    world.is_whole();
}

/// Git has put a file back as HEAD has it, and then the work comes back by other means than git's index.
#[rstest::rstest]
#[case::by_a_patch("git format-patch -q -1 --stdout >../p; git reset -q --hard HEAD~1; git apply ../p")]
#[case::by_a_shell("git reset -q --hard HEAD~1; git show ORIG_HEAD:n.txt >n.txt")]
#[case::beside_a_line_of_a_person("git reset -q --hard HEAD~1; git show ORIG_HEAD:n.txt >n.txt; echo hu four >>n.txt")]
#[case::of_a_squash(
    "git checkout -q main; git merge -q --squash b1; git checkout -q HEAD n.txt; git show b1:n.txt >n.txt"
)]
fn work_comes_back(
    #[case] script: &str,
    #[values("git commit -qam back", "git add -A; git commit -qm back")] commit: &str,
) {
    let world = world();
    world.sh(&format!("git checkout -q b1; {script}"));
    let check = |when: &str| {
        let owners = owners(&world, "n.txt");
        assert_eq!(owners[..3], ["human -", "agent s1", "human -"], "{when}");
        assert!(owners[3..].iter().all(|owner| owner == "human -"), "{when}: {owners:?}");
    };
    check("before the commit");
    world.sh(commit);
    check("after the commit");
    world.is_whole();
}

#[rstest::rstest]
#[case::by_name("git checkout -q b2 -- c.py parse.py")]
#[case::all("git checkout -q b2 -- .")]
fn a_person_edits_each_line_of_a_file_that_git_has_brought_with_another(#[case] script: &str) {
    let world = world();
    world.git(&["checkout", "-q", "-b", "b2"]);
    world.turn("s2", || {
        world.sh("for i in 1 2 3; do echo \"value_$i = compute_something($i, of, the, table)\"; done >c.py");
        world.write("parse.py", "def words(line):\n    parts = line.split()\n    return [p.lower() for p in parts]\n");
    });
    world.sh("git add -A; git commit -qm 'two files'; git checkout -q main");
    world.sh(&format!("{script}; sed -i s/something/other/ c.py"));
    let check = |when: &str| {
        assert_eq!(owners(&world, "c.py"), ["mixed s2"; 3], "{when}");
        assert_eq!(owners(&world, "parse.py"), ["agent s2"; 3], "{when}");
    };
    check("before the commit");
    world.git(&["commit", "-qam", "mine"]);
    check("after the commit");
    world.is_whole();
}

/// A copy that no hook reports has only the record's trailer.
#[rstest::rstest]
#[case::by_mail("git format-patch -q -1 --stdout mine | git am -q")]
#[case::without_hooks("git -c core.hooksPath=/nonexistent cherry-pick mine")]
fn it_stays_so_in_a_copy_with_the_trailer(#[case] script: &str) {
    let world = world();
    world.sh(&format!("git checkout -q -b mine; git checkout -q b1 -- parse.py; {TYPES}; git commit -qam mine"));
    world.git(&["checkout", "-q", "main"]);
    world.human_commit("hand");
    world.sh(script);
    for when in ["at once", "after a save"] {
        assert_eq!(owners(&world, "n.txt")[1], "human -", "{when}");
        assert_eq!(owners(&world, "parse.py"), ["agent s1"; 3], "{when}");
        world.done(&["save", "-q"]);
    }
    world.is_whole();
}

#[test]
fn a_purge_leaves_the_names_of_files_alone() {
    let world = world();
    world.sh(&format!("git checkout -q b1 -- parse.py; {TYPES}; git commit -qam mine"));
    // It says that names stay, and fails for that.
    world.sh("git checkpoint purge --force parse.py || :");
    assert_eq!(owners(&world, "n.txt")[1], "human -");
    assert_eq!(owners(&world, "parse.py"), ["agent s1"; 3]);
    world.is_whole();
}

#[test]
fn a_link_that_names_no_file_of_the_record_is_damaged() {
    let world = world();
    world.sh(&format!("git checkout -q b1 -- parse.py; {TYPES}; git commit -qam mine"));
    world.sh(
        "H=refs/checkpoints/history; head=$(git rev-parse HEAD); export GIT_INDEX_FILE=../index
        git read-tree $H; path=$(git ls-files | grep links/$head)
        blob=$(printf 'version = 1\\nhow = \"recommit\"\\n\\n[[file]]\\npath = \"nothing\"\\n' | git hash-object -w --stdin)
        git update-index --cacheinfo 100644,$blob,$path
        git update-ref $H $(git commit-tree -p $H -m '0 records added or completed, 1 commit linked' $(git write-tree))",
    );
    assert_eq!(owners(&world, "parse.py"), ["unknown -"; 3]);
    let output = world.command(crate::support::program()).arg("doctor").output().expect("the program runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("names a file that the record does not have"), "{said}");
}
