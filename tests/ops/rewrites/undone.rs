//! Commits undone and repeated: `git reset --soft`, the stash, and tools that run no hook.

use git_checkpoint::testing::model::record::How;

use super::{World, lines, unreported::sessions_of_lines};
use crate::support::template::Template;

fn is(world: &World, revision: &str, sessions: &[&str]) {
    assert_eq!(world.sessions(revision), sessions, "{}", world.message(revision));
}

/// A commit with two files of session a.
static START: Template = Template::new(|world| {
    let world = world.commit_old();
    world.turn("a", || {
        world.write("one", lines("one", 6));
        world.write("two", lines("two", 6));
    });
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "one and two"]);
});

fn world() -> World {
    World::copied(&START)
}

#[test]
fn committed_again_as_it_was() {
    let world = world();
    let ids = world.ids("HEAD");
    world.git(&["reset", "-q", "--soft", "HEAD~1"]);
    world.git(&["commit", "-qm", "again"]);
    assert_eq!((world.ids("HEAD"), world.how("HEAD")), (ids.clone(), vec![How::Recommit]));
    assert_eq!(world.all(), ids);
    world.is_whole();
}

#[test]
fn committed_again_with_the_old_message() {
    let world = world();
    let ids = world.ids("HEAD");
    world.git(&["reset", "-q", "--soft", "HEAD~1"]);
    world.git(&["commit", "-q", "-C", "ORIG_HEAD"]);
    assert_eq!(world.ids("HEAD"), ids);
    assert_eq!(world.all(), ids);
    world.is_whole();
}

#[test]
fn committed_again_in_parts() {
    let world = world();
    let ids = world.ids("HEAD");
    world.git(&["reset", "-q", "HEAD~1"]);
    for path in ["one", "two"] {
        world.git(&["add", path]);
        world.git(&["commit", "-qm", path]);
        assert_eq!(world.ids("HEAD"), ids, "{path}");
    }
    world.human_commit("hand");
    is(&world, "HEAD", &[]);
    assert_eq!(world.all(), ids);
    world.is_whole();
}

#[test]
fn several_committed_again_as_one() {
    let world = world();
    world.agent_commit("b", "three");
    world.agent_commit("c", "four");
    world.git(&["reset", "-q", "--soft", "HEAD~3"]);
    world.git(&["commit", "-qm", "all"]);
    is(&world, "HEAD", &["a", "b", "c"]);
    assert_eq!(world.all().len(), 3);
    world.is_whole();
}

#[test]
fn committed_again_after_two_resets() {
    let world = world();
    world.agent_commit("b", "three");
    world.git(&["reset", "-q", "--soft", "HEAD~1"]);
    world.git(&["reset", "-q", "--soft", "HEAD~1"]);
    world.git(&["commit", "-qm", "all"]);
    is(&world, "HEAD", &["a", "b"]);
    world.is_whole();
}

const MERGED: &str = "git merge -q --no-ff --no-edit topic";
const MERGED_TO_ANOTHER: &str = "echo more >>g; git commit -qam mine; git merge -q --no-edit topic";
const MERGED_TWICE: &str =
    "git merge -q --no-ff --no-edit topic~; git merge -q --no-ff --no-edit topic; git reset -q --soft HEAD~";

/// The session's commits come with a merge, which the person undoes.
#[rstest::rstest]
#[case::merged(MERGED, 1, "--soft", true)]
#[case::merged_and_mixed_without_hooks(MERGED, 1, "--mixed", false)]
#[case::fast_forward("git merge -q --ff-only topic", 2, "--mixed", true)]
#[case::fast_forward_without_hooks("git merge -q --ff-only topic", 2, "--soft", false)]
#[case::merged_to_a_commit_of_its_own(MERGED_TO_ANOTHER, 1, "--mixed", true)]
#[case::merged_to_a_commit_of_its_own_without_hooks(MERGED_TO_ANOTHER, 1, "--soft", false)]
#[case::merged_twice(MERGED_TWICE, 1, "--soft", true)]
#[case::merged_twice_and_mixed_without_hooks(MERGED_TWICE, 1, "--mixed", false)]
fn a_merge_that_is_undone_and_committed_again(
    #[case] merge: &str,
    #[case] commits: u32,
    #[case] how: &str,
    #[case] has_hooks: bool,
) {
    let world = World::with_old_commit();
    world.git(&["checkout", "-q", "-b", "topic"]);
    world.agent_commit("a", "one");
    world.agent_commit("b", "two");
    world.git(&["checkout", "-q", "main"]);
    if !has_hooks {
        world.git(&["config", "core.hooksPath", "/dev/null"]);
    }
    world.sh(&format!("{merge}; git reset -q {how} HEAD~{commits}; git add -A; git commit -qm again"));
    world.done(&["save", "-q", "--allow-empty"]);
    assert_eq!(sessions_of_lines(&world, "one"), ["a"; 6]);
    assert_eq!(sessions_of_lines(&world, "two"), ["b"; 6]);
    is(&world, "HEAD", &["a", "b"]);
    world.is_whole();
}

#[test]
fn committed_again_with_changes_by_hand() {
    let world = world();
    world.git(&["reset", "-q", "--soft", "HEAD~1"]);
    world.add_to("one", "by hand\n");
    world.add_to("two", "by hand\n");
    world.git(&["commit", "-qam", "again"]);
    is(&world, "HEAD", &["a"]);
    world.is_whole();
}

#[test]
fn committed_again_with_new_work() {
    let world = world();
    world.git(&["reset", "-q", "--soft", "HEAD~1"]);
    world.agent("b", "three", &lines("three", 6));
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "again"]);
    is(&world, "HEAD", &["a", "b"]);
    world.is_whole();
}

#[test]
fn committed_again_on_another_branch() {
    let world = world();
    world.git(&["branch", "other", "HEAD~1"]);
    world.git(&["checkout", "-q", "other"]);
    world.human_commit("hand");
    world.git(&["checkout", "-q", "main", "--", "one", "two"]);
    world.git(&["commit", "-qm", "the same files"]);
    // `git checkout` leaves no trace of the branch: only the content shows it.
    is(&world, "HEAD", &["a"]);
    assert_eq!(world.named("HEAD").len(), 1);
    assert_eq!(sessions_of_lines(&world, "one"), ["a"; 6]);
    assert_eq!(sessions_of_lines(&world, "two"), ["a"; 6]);
    world.is_whole();
}

#[test]
fn a_commit_by_hand_after_a_hard_reset_has_no_record() {
    let world = world();
    world.git(&["reset", "-q", "--hard", "HEAD~1"]);
    world.write("one", "by hand, from nothing\n");
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "mine"]);
    is(&world, "HEAD", &[]);
    world.is_whole();
}

#[test]
fn a_stash_that_is_popped_on_another_base() {
    let world = World::with_old_commit();
    world.agent("a", "one", &lines("one", 6));
    world.git(&["stash", "push", "-q", "-u"]);
    world.git(&["checkout", "-q", "-b", "other"]);
    world.human_commit("hand");
    world.git(&["stash", "pop", "-q"]);
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "one"]);
    is(&world, "HEAD", &["a"]);
    assert_eq!(world.named("HEAD").len(), 1);
    world.is_whole();
}

#[test]
fn a_stash_that_is_popped_over_a_change_of_the_same_file() {
    let world = World::with_old_commit();
    world.agent("a", "f", &(lines("base", 9) + &lines("agent", 6)));
    world.git(&["stash", "push", "-q"]);
    world.write("f", &(lines("top", 3) + &lines("base", 9)));
    world.git(&["commit", "-qam", "by hand"]);
    is(&world, "HEAD", &[]);
    world.git(&["stash", "pop", "-q"]);
    world.git(&["commit", "-qam", "both"]);
    is(&world, "HEAD", &["a"]);
    world.is_whole();
}

#[test]
fn a_part_that_is_stashed_while_the_rest_is_committed() {
    let world = World::with_old_commit();
    world.turn("a", || {
        world.write("one", lines("one", 6));
        world.write("two", lines("two", 6));
    });
    world.git(&["stash", "push", "-q", "-u", "--", "two"]);
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "one"]);
    is(&world, "HEAD", &["a"]);
    world.git(&["stash", "pop", "-q"]);
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "two"]);
    is(&world, "HEAD", &["a"]);
    assert_eq!(world.all().len(), 2);
    world.is_whole();
}

#[test]
fn a_commit_without_hooks_is_not_mixed_up_with_the_next() {
    let world = World::with_old_commit();
    world.agent("a", "one", &lines("one", 6));
    world.git(&["add", "-A"]);
    world.git(&["-c", "core.hooksPath=/dev/null", "commit", "-qm", "one"]);
    world.human_commit("hand");
    assert_eq!(world.named("HEAD"), [""; 0]);
    is(&world, "HEAD", &[]);
    assert_eq!(world.failures(), [""; 0]);
    world.assert_sound("after all");
}

#[test]
fn commits_made_by_plumbing_keep_what_their_message_names() {
    let world = world();
    let ids = world.ids("HEAD");
    let message = world.message("HEAD");
    let new = world.git(&["commit-tree", "HEAD^{tree}", "-p", "HEAD~1", "-m", &format!("x {message}")]);
    world.git(&["update-ref", "refs/heads/main", new.trim()]);
    assert_eq!(world.ids("HEAD"), ids);
    world.human_commit("hand");
    is(&world, "HEAD", &[]);
    world.relink();
    world.is_whole();
}

#[test]
fn filter_branch_keeps_the_records() {
    let world = world();
    world.agent_commit("b", "three");
    let mut command = world.command("git");
    command.env("FILTER_BRANCH_SQUELCH_WARNING", "1");
    let filter = ["filter-branch", "-f", "--tree-filter", "echo x >everywhere", "HEAD"];
    assert!(command.args(filter).output().expect("git runs").status.success());
    is(&world, "HEAD", &["b"]);
    is(&world, "HEAD~1", &["a"]);
    world.human_commit("hand");
    is(&world, "HEAD", &[]);
    world.relink();
    world.is_whole();
}

/// The messages lose their trailers, and other refs still lead to the old commits.
#[rstest::rstest]
#[case::message("--msg-filter 'sed 1q'")]
#[case::author("--msg-filter 'sed 1q' --env-filter 'GIT_AUTHOR_NAME=Other'")]
fn filter_branch_keeps_the_records_beside_a_backup(#[case] filters: &str) {
    let world = world();
    world.human_commit("hand");
    world.agent_commit("b", "three");
    let ids = [world.ids("HEAD~2"), world.ids("HEAD")];
    world.git(&["branch", "backup"]);
    world.sh(&format!("git filter-branch -f {filters} HEAD~3..HEAD"));
    let files = ["one", "two", "hand", "three"];
    let is_known = || files.map(|path| sessions_of_lines(&world, path)[0].clone()) == ["a", "a", "-", "b"];
    assert!(is_known() && world.commit_id("HEAD") != world.commit_id("backup"));
    assert_eq!((world.named("HEAD"), world.ids("HEAD")), (Vec::new(), Vec::new()));
    world.relink();
    assert_eq!([world.ids("HEAD~2"), world.ids("HEAD")], ids);
    assert_eq!((world.how("HEAD"), world.ids("HEAD~1")), (vec![How::Relink], Vec::new()));
    assert!(is_known());
    world.is_whole();
}

/// A person's commit is older than the record of the same change.
#[rstest::rstest]
#[case::beside_it("git checkout -q main")]
#[case::the_only_one("git checkout -q main; git branch -qD side")]
#[case::after_a_reset("git reset -q --hard main; git checkpoint save -q --allow-empty")]
fn what_a_person_did_before_is_not_linked(#[case] script: &str) {
    let world = World::with_old_commit();
    world.write("one", lines("one", 6));
    world.git(&["add", "one"]);
    // After the hooks were enabled, and before the record.
    world.next_second();
    world.git(&["commit", "-qm", "by hand"]);
    world.next_second();
    world.git(&["branch", "side", "HEAD~1"]);
    world.git(&["checkout", "-q", "side"]);
    world.agent_commit("a", "one");
    world.sh(script);
    world.relink();
    is(&world, "HEAD", &[]);
    assert_eq!(sessions_of_lines(&world, "one"), ["-"; 6]);
    world.is_whole();
}

/// A person renames a file that an agent has created, and adds a line to it.
#[rstest::rstest]
#[case::amend("git commit -qa --amend --no-edit")]
#[case::fixup("git commit -qam r; GIT_SEQUENCE_EDITOR='sed -i 2s/pick/fixup/' git rebase -qi HEAD~2")]
#[case::soft_reset("git commit -qam r; git reset -q --soft HEAD~2; git commit -qm again")]
#[case::reset("git reset -q HEAD~; git add -A; git commit -qm again")]
#[case::pick("git commit -qam r; git checkout -q -b x HEAD~2; git cherry-pick -n main~ main; git commit -qm picked")]
fn a_new_file_that_is_renamed_and_changed_keeps_its_authors(#[case] script: &str) {
    let world = World::with_old_commit();
    world.agent_commit("a", "one");
    world.sh(&format!("git mv one renamed; echo 'by hand' >>renamed; {script}"));
    assert_eq!(sessions_of_lines(&world, "renamed"), ["a", "a", "a", "a", "a", "a", "-"]);
    world.is_whole();
}

const AMEND: &str = "git commit -q --amend --no-edit";
const FIXUP: &str = "git commit -qm r; GIT_SEQUENCE_EDITOR='sed -i 2s/pick/fixup/' git rebase -qi HEAD~2";
const SOFT_RESET: &str = "git commit -qm r; git reset -q --soft HEAD~2; git commit -qm again";
const RESET: &str = "git reset -q HEAD~; git add -A; git commit -qm again";
const SQUASH: &str =
    "git commit -qm r; git checkout -q -b x HEAD~2; git merge -q --squash main; git commit -qm squashed";
const PICK: &str =
    "git commit -qm r; git checkout -q -b x HEAD~2; git cherry-pick -n main~ main; git commit -qm picked";
const EDIT: &str = "; echo 'by hand' >>renamed";

/// A person renames a file that an agent has created, and makes another one with its name.
#[rstest::rstest]
#[case::amend(AMEND, "", true)]
#[case::amend_of_an_edited_file_without_hooks(AMEND, EDIT, false)]
#[case::fixup(FIXUP, EDIT, true)]
#[case::fixup_without_hooks(FIXUP, "", false)]
#[case::soft_reset(SOFT_RESET, "", true)]
#[case::soft_reset_of_an_edited_file_without_hooks(SOFT_RESET, EDIT, false)]
#[case::reset(RESET, EDIT, true)]
#[case::reset_without_hooks(RESET, "", false)]
#[case::squash(SQUASH, "", true)]
#[case::squash_of_an_edited_file_without_hooks(SQUASH, EDIT, false)]
#[case::pick(PICK, EDIT, true)]
#[case::pick_without_hooks(PICK, "", false)]
fn a_renamed_file_whose_name_another_one_gets_keeps_its_authors(
    #[case] script: &str,
    #[case] edit: &str,
    #[case] has_hooks: bool,
) {
    let world = World::with_old_commit();
    world.agent_commit("a", "one");
    if !has_hooks {
        world.git(&["config", "core.hooksPath", "/dev/null"]);
    }
    world.sh(&format!(
        "git mv one renamed{edit}; for at in 1 2 3; do echo \"a new file $at\"; done >one; git add -A; {script}"
    ));
    world.done(&["save", "-q", "--allow-empty"]);
    let mut expected = vec!["a"; 6];
    if !edit.is_empty() {
        expected.push("-");
    }
    assert_eq!(sessions_of_lines(&world, "renamed"), expected);
    assert_eq!(sessions_of_lines(&world, "one"), ["-"; 3]);
    // The new file changes once more, and the renamed one does not.
    world.sh("echo more >>one; git commit -qa --amend --no-edit");
    world.done(&["save", "-q", "--allow-empty"]);
    assert_eq!(sessions_of_lines(&world, "renamed"), expected);
    if has_hooks {
        world.is_whole();
    }
}

/// A person renames a file of HEAD that an agent has changed, and commits both changes anew.
#[rstest::rstest]
#[case::soft_reset("git reset -q --soft HEAD~2; git commit -qm again")]
#[case::squash("git checkout -qb x HEAD~2; git merge -q --squash main; git commit -qm again")]
#[case::fixup("GIT_SEQUENCE_EDITOR='sed -i 2s/pick/fixup/' git rebase -qi HEAD~2")]
fn a_changed_file_that_is_renamed_keeps_its_authors(
    #[case] script: &str,
    #[values("", "; echo 'by hand' >>renamed")] edit: &str,
) {
    let world = World::with_old_commit();
    world.human_commit("one");
    world.agent("b", "one", &format!("{}the second\nand third\n", lines("one", 4)));
    world.sh(&format!("git commit -qam two; git mv one renamed{edit}; git commit -qam r; {script}"));
    let mut expected = vec!["-", "-", "-", "-", "b", "b"];
    if !edit.is_empty() {
        expected.push("-");
    }
    assert_eq!(sessions_of_lines(&world, "renamed"), expected);
    world.is_whole();
}

/// Two agents wrote a file, each in a commit, before a person renamed it.
#[rstest::rstest]
#[case::fixup("GIT_SEQUENCE_EDITOR='sed -i 2,3s/pick/fixup/' git rebase -qi HEAD~3")]
#[case::soft_reset("git reset -q --soft HEAD~3; git commit -qm again")]
#[case::squash("git checkout -qb x HEAD~3; git merge -q --squash main; git commit -qm again")]
fn a_file_of_two_commits_that_is_renamed_keeps_its_authors(
    #[case] script: &str,
    #[values("", "; echo 'by hand' >>renamed")] edit: &str,
) {
    let world = World::with_old_commit();
    world.agent_commit("a", "one");
    world.agent("b", "one", &format!("{}the second\nand third\n", lines("one", 6)));
    world.sh(&format!("git commit -qam two; git mv one renamed{edit}; git commit -qam r; {script}"));
    let mut expected = vec!["a"; 6];
    expected.extend(["b", "b"]);
    if !edit.is_empty() {
        expected.push("-");
    }
    assert_eq!(sessions_of_lines(&world, "renamed"), expected);
    world.is_whole();
}

/// Many files that one commit of an agent has created are found again where a person has moved all of them.
#[test]
fn many_new_files_that_are_renamed_and_changed_keep_their_authors() {
    let world = World::with_old_commit();
    world.turn("a", || {
        for at in 0..40 {
            world.write(&format!("file-{at}"), lines(&format!("{at}"), 6));
        }
    });
    world.sh("git add -A; git commit -qm many; mkdir d
        for at in $(seq 0 39); do git mv file-$at d/other-$at; echo \"more of $at\" >>d/other-$at; done
        git commit -qa --amend --no-edit");
    for at in [0, 7, 39] {
        assert_eq!(sessions_of_lines(&world, &format!("d/other-{at}")), ["a", "a", "a", "a", "a", "a", "-"]);
    }
    world.is_whole();
}

#[test]
fn filter_repo_keeps_the_records() {
    let world = world();
    if !world.try_git(&["filter-repo", "--version"]).status.success() {
        #[expect(clippy::print_stderr, reason = "a test that is left out must be seen")]
        return eprintln!("SKIPPED: there is no git-filter-repo");
    }
    world.agent_commit("b", "three");
    world.git(&["filter-repo", "--force", "--path-rename", "three:drei"]);
    is(&world, "HEAD", &["b"]);
    is(&world, "HEAD~1", &["a"]);
    world.relink();
    world.is_whole();
}

#[test]
fn fast_export_and_import_keep_the_records() {
    let world = world();
    world.agent_commit("b", "three");
    let ids = world.ids("HEAD");
    let script = "git fast-export --signed-tags=strip main | sed 's/^base$/BASE/' |
        git fast-import --quiet --force && git reset -q --hard";
    assert!(world.command("sh").args(["-c", script]).status().expect("a shell runs").success());
    assert_eq!(world.ids("HEAD"), ids);
    world.human_commit("hand");
    is(&world, "HEAD", &[]);
    world.relink();
    world.is_whole();
}

#[test]
fn copies_that_lost_their_trailers_are_found_by_what_they_do() {
    let world = world();
    let ids = world.ids("HEAD");
    let new = world.git(&["commit-tree", "HEAD^{tree}", "-p", "HEAD~1", "-m", "no trailer"]);
    world.git(&["update-ref", "refs/heads/main", new.trim()]);
    assert_eq!(world.ids("HEAD"), []);
    world.relink();
    assert_eq!((world.ids("HEAD"), world.how("HEAD")), (ids, vec![How::Relink]));
    world.is_whole();
}

#[test]
fn a_commit_while_bisecting() {
    let world = world();
    world.git(&["bisect", "start", "HEAD", "HEAD~1"]);
    world.agent_commit("b", "three");
    is(&world, "HEAD", &["b"]);
    world.git(&["bisect", "reset"]);
    world.is_whole();
}
