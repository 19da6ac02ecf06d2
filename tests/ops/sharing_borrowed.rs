//! Shared checkpoints that name what is only here: a restore would put it into the worktree, and the next push of that would send it.

use rstest::rstest;

use super::{
    sharing::{AS_JOINED, Team},
    sharing_hostile::{run, with_forged_packs},
};
use crate::support::processes::described;

const ID: &str = "1234567890123456789012345678901234567890";
const TRACKING: &str = "refs/checkpoints-remote/origin/shared";

/// A clone `a` with a commit that was pushed nowhere, and a server that lists a checkpoint with a part of it and sends the objects
/// `sent`: shell lines that set `tree` and `parent`, with the ids of what is private in `commit`, `directory` and `file`.
fn thief(forge: &str, sent: &str) -> Team {
    let team = Team::of(&["a"]);
    let lines: String = (0..400).map(|at| format!("the private line {at} of a\n")).collect();
    team.work("a", "private.c", &lines);
    team.world.sh(&format!(
        "{AS_JOINED}; git init -q --bare ../forge.git; cd ../forge.git; echo ../../a/.git/objects >objects/info/alternates
        private=$(git -C ../a rev-parse HEAD); directory=$(git rev-parse $private^{{tree}}); file=$(git rev-parse $private:private.c)
        parent=; {forge}
        commit=$(printf 'x\\n\\nCheckpoint-Shared: {ID}\\nCheckpoint-Base: unborn\\n' | git commit-tree $parent $tree)
        {sent} >../evil.pack
        cp -r objects/?? ../server.git/objects/; echo $commit >../server.git/refs/commit
        mkdir -p ../server.git/refs/checkpoints/shared; mv ../server.git/refs/commit ../server.git/refs/checkpoints/shared/{ID}"
    ));
    with_forged_packs(&team);
    team
}

/// Sends what is new in the forged checkpoint.
const NEW: &str =
    "{ echo $commit; git cat-file -e $tree && test $tree = $directory || echo $tree; } | git pack-objects -q --stdout";

/// Sends a changed copy of the private file as a change of that, by its id: git then stores both.
const THIN: &str =
    "{ echo -$directory; echo $commit; echo $tree; echo $new private.c; } | git pack-objects -q --stdout";

#[rstest]
#[case::file("tree=$(printf '100644 blob %s\\tx\\n' $file | git mktree)", NEW)]
#[case::directory("tree=$(printf '040000 tree %s\\tx\\n' $directory | git mktree)", NEW)]
#[case::root("tree=$directory", NEW)]
#[case::commit(
    "tree=$(printf '100644 blob %s\\tx\\n' $(git rev-parse $private~:f) | git mktree); parent=\"-p $private\"",
    NEW
)]
#[case::base_of_a_change(
    "new=$({ git cat-file blob $file; echo more; } | git hash-object -w --stdin)
     tree=$(printf '100644 blob %s\\tx\\n100644 blob %s\\ty\\n' $file $new | git mktree)",
    THIN
)]
fn a_shared_checkpoint_borrows_nothing(#[case] forge: &str, #[case] sent: &str, #[values("auto", "git")] engine: &str) {
    let team = thief(forge, sent);
    team.reach_by("a", engine);
    let output = run(&team, &["fetch", "--checkpoints", "origin"]);
    let said = described(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("is refused: it needs '") && said.contains("', which 'origin' has not sent"), "{said}");
    assert_eq!(team.id("a", TRACKING), "");
    team.assert_sound(&["a"]);
}

/// What the remote is known to have need not be sent again.
#[rstest]
fn what_was_pushed_is_no_secret(#[values("auto", "git")] engine: &str) {
    let team = thief("tree=$(printf '100644 blob %s\\tx\\n' $file | git mktree); parent=\"-p $private\"", NEW);
    team.reach_by("a", engine);
    team.git("a", &["push", "-q", "origin", "HEAD:main"]);
    let output = run(&team, &["fetch", "--checkpoints", "origin"]);
    assert!(output.status.success(), "{}", described(&output));
    assert_ne!(team.id("a", TRACKING), "");
}

/// Another remote whose name begins with that of this one.
#[test]
fn what_another_remote_has_is_a_secret() {
    let team = thief("tree=$(printf '100644 blob %s\\tx\\n' $file | git mktree); parent=\"-p $private\"", NEW);
    team.world.sh(
        "git init -q --bare ../other.git; cd ../a; git config remote.origin/other.url ../other.git
        git config remote.origin/other.fetch '+refs/heads/*:refs/remotes/origin/other/*'; git push -q origin/other HEAD:main",
    );
    let said = described(&run(&team, &["fetch", "--checkpoints", "origin"]));
    assert!(said.contains("is refused: it needs '"), "{said}");
    assert_eq!(team.id("a", TRACKING), "");
}
