//! Work of an agent that git throws away, or that git brings in beside other work: what a person types then is the person's, and what
//! git has brought is the agent's.

use super::{World, parts::owners};

/// Session s1 has changed two lines of `net.py`, and nothing is committed. A template would have other times of files than our index.
fn world() -> World {
    let world = World::with_old_commit();
    world.write(
        "net.py",
        "def connect(host):\n    timeout = 10\n    retries = 1\n    return open_socket(host, timeout)\n",
    );
    world.git(&["add", "."]);
    world.git(&["commit", "-qm", "net"]);
    world.turn("s1", || {
        let text = "def connect(host):\n    timeout = 3000  # wait long enough\n    retries = 1\n    return open_socket(host, timeout, retries)\n";
        world.write("net.py", text);
    });
    world
}

/// What the person types on a clean worktree.
const TYPES: &str = "sed -i 's/timeout = 10/timeout = 30  # wait long/; s/host, timeout)/host, timeout + 1)/' net.py";

#[rstest::rstest]
#[case::stashed("git stash -q")]
#[case::stashed_for_another_branch("git stash -q; git checkout -q -b own")]
#[case::checked_out("git checkout -q .")]
#[case::restored("git restore net.py")]
#[case::reset("git reset -q --hard")]
fn what_a_person_types_in_the_place_of_work_that_git_has_thrown_away(#[case] script: &str) {
    for then in ["git commit -qam mine", "git checkpoint save -q; git add -A; git commit -qm mine"] {
        let world = world();
        world.sh(&format!("{script}; {TYPES}"));
        let all = ["human -"; 4];
        assert_eq!(owners(&world, "net.py"), all, "before the commit");
        world.sh(then);
        assert_eq!(owners(&world, "net.py"), all, "{then}");
        assert_eq!(world.sessions("HEAD"), [""; 0], "{then}");
        world.is_whole();
    }
}

/// Only the index is reset, or the work is back: a person edits lines of the agent.
#[rstest::rstest]
#[case::reset_in_the_index("git add -A; git reset -q")]
#[case::popped("git stash -q; git stash pop -q")]
fn what_a_person_edits_of_work_that_is_there(#[case] script: &str) {
    let world = world();
    world.sh(&format!("{script}; sed -i 's/3000/30/' net.py"));
    assert_eq!(owners(&world, "net.py")[1], "mixed s1", "before the commit");
    world.sh("git commit -qam mine");
    assert_eq!(owners(&world, "net.py")[1], "mixed s1");
    assert_eq!(owners(&world, "net.py")[3], "agent s1");
    world.is_whole();
}

/// A pick brings a line of an agent that is the neighbour of the picked one, of a commit that is not picked.
#[rstest::rstest]
#[case::and_another_line("s/.*base 9 .*/s3 nine by agent three/")]
#[case::alone("")]
fn a_line_of_an_agent_beside_the_picked_one(#[case] also: &str) {
    let world = World::with_old_commit();
    world.sh("seq -f 'hu base %g of the file' 1 12 >a; git add .; git commit -qm a; git checkout -q -b t");
    world.turn("s3", || {
        world.sh(&format!(
            "sed -i 's/.*base 2 .*/s3 two by agent three/; {also}' a; echo '# notes of agent three' >notes"
        ));
    });
    world.sh("git add -A; git commit -qm part1; sed -i '1s/.*/hu one of the picked/' a; git commit -qam pick; git checkout -q main");
    world.stops(&["cherry-pick", "t"]);
    world.sh("sed -i '/^<<<<<<<\\|^=======\\|^>>>>>>>/d' a; echo 'notes of a person' >notes; git add .");
    let check = |when: &str| {
        let owners = owners(&world, "a");
        assert_eq!(world.sh("cat a").lines().position(|line| line == "s3 two by agent three"), Some(3), "{when}");
        assert_eq!(owners[3], "agent s3", "{when}");
        assert_eq!(owners.iter().filter(|owner| *owner != "human -").count(), 1, "{when}: {owners:?}");
        assert_eq!(self::owners(&world, "notes"), ["human -"], "{when}");
    };
    check("before the commit");
    world.git(&["-c", "core.editor=true", "cherry-pick", "--continue"]);
    check("after the commit");
    world.is_whole();
}
