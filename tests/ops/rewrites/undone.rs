//! Commits undone and repeated: `git reset --soft`, the stash, and tools that run no hook.

use git_checkpoint::testing::model::record::How;

use super::{Bench, lines, unreported::sessions_of_lines};

fn is(bench: &Bench, revision: &str, sessions: &[&str]) {
    assert_eq!(bench.sessions(revision), sessions, "{}", bench.message(revision));
}

/// A commit with two files of session a.
fn bench() -> Bench {
    let bench = Bench::new();
    bench.turn("a", || {
        bench.write("one", lines("one", 6));
        bench.write("two", lines("two", 6));
    });
    bench.git(&["add", "-A"]);
    bench.git(&["commit", "-qm", "one and two"]);
    bench
}

#[test]
fn committed_again_as_it_was() {
    let bench = bench();
    let ids = bench.ids("HEAD");
    bench.git(&["reset", "-q", "--soft", "HEAD~1"]);
    bench.git(&["commit", "-qm", "again"]);
    assert_eq!((bench.ids("HEAD"), bench.how("HEAD")), (ids.clone(), vec![How::Recommit]));
    assert_eq!(bench.all(), ids);
    bench.is_whole();
}

#[test]
fn committed_again_with_the_old_message() {
    let bench = bench();
    let ids = bench.ids("HEAD");
    bench.git(&["reset", "-q", "--soft", "HEAD~1"]);
    bench.git(&["commit", "-q", "-C", "ORIG_HEAD"]);
    assert_eq!(bench.ids("HEAD"), ids);
    assert_eq!(bench.all(), ids);
    bench.is_whole();
}

#[test]
fn committed_again_in_parts() {
    let bench = bench();
    let ids = bench.ids("HEAD");
    bench.git(&["reset", "-q", "HEAD~1"]);
    for path in ["one", "two"] {
        bench.git(&["add", path]);
        bench.git(&["commit", "-qm", path]);
        assert_eq!(bench.ids("HEAD"), ids, "{path}");
    }
    bench.human_commit("hand");
    is(&bench, "HEAD", &[]);
    assert_eq!(bench.all(), ids);
    bench.is_whole();
}

#[test]
fn several_committed_again_as_one() {
    let bench = bench();
    bench.agent_commit("b", "three");
    bench.agent_commit("c", "four");
    bench.git(&["reset", "-q", "--soft", "HEAD~3"]);
    bench.git(&["commit", "-qm", "all"]);
    is(&bench, "HEAD", &["a", "b", "c"]);
    assert_eq!(bench.all().len(), 3);
    bench.is_whole();
}

#[test]
fn committed_again_after_two_resets() {
    let bench = bench();
    bench.agent_commit("b", "three");
    bench.git(&["reset", "-q", "--soft", "HEAD~1"]);
    bench.git(&["reset", "-q", "--soft", "HEAD~1"]);
    bench.git(&["commit", "-qm", "all"]);
    is(&bench, "HEAD", &["a", "b"]);
    bench.is_whole();
}

#[test]
fn committed_again_with_changes_by_hand() {
    let bench = bench();
    bench.git(&["reset", "-q", "--soft", "HEAD~1"]);
    bench.add_to("one", "by hand\n");
    bench.add_to("two", "by hand\n");
    bench.git(&["commit", "-qam", "again"]);
    is(&bench, "HEAD", &["a"]);
    bench.is_whole();
}

#[test]
fn committed_again_with_new_work() {
    let bench = bench();
    bench.git(&["reset", "-q", "--soft", "HEAD~1"]);
    bench.agent("b", "three", &lines("three", 6));
    bench.git(&["add", "-A"]);
    bench.git(&["commit", "-qm", "again"]);
    is(&bench, "HEAD", &["a", "b"]);
    bench.is_whole();
}

#[test]
fn committed_again_on_another_branch() {
    let bench = bench();
    bench.git(&["branch", "other", "HEAD~1"]);
    bench.git(&["checkout", "-q", "other"]);
    bench.human_commit("hand");
    bench.git(&["checkout", "-q", "main", "--", "one", "two"]);
    bench.git(&["commit", "-qm", "the same files"]);
    // Nothing links the commit; readers know it by its change.
    is(&bench, "HEAD", &[]);
    assert_eq!(sessions_of_lines(&bench, "one"), ["a"; 6]);
    assert_eq!(sessions_of_lines(&bench, "two"), ["a"; 6]);
    bench.is_whole();
}

#[test]
fn a_commit_by_hand_after_a_hard_reset_has_no_record() {
    let bench = bench();
    bench.git(&["reset", "-q", "--hard", "HEAD~1"]);
    bench.write("one", "by hand, from nothing\n");
    bench.git(&["add", "-A"]);
    bench.git(&["commit", "-qm", "mine"]);
    is(&bench, "HEAD", &[]);
    bench.is_whole();
}

#[test]
fn a_stash_that_is_popped_on_another_base() {
    let bench = Bench::new();
    bench.agent("a", "one", &lines("one", 6));
    bench.git(&["stash", "push", "-q", "-u"]);
    bench.git(&["checkout", "-q", "-b", "other"]);
    bench.human_commit("hand");
    bench.git(&["stash", "pop", "-q"]);
    bench.git(&["add", "-A"]);
    bench.git(&["commit", "-qm", "one"]);
    is(&bench, "HEAD", &["a"]);
    assert_eq!(bench.named("HEAD").len(), 1);
    bench.is_whole();
}

#[test]
fn a_stash_that_is_popped_over_a_change_of_the_same_file() {
    let bench = Bench::new();
    bench.agent("a", "f", &(lines("base", 9) + &lines("agent", 6)));
    bench.git(&["stash", "push", "-q"]);
    bench.write("f", &(lines("top", 3) + &lines("base", 9)));
    bench.git(&["commit", "-qam", "by hand"]);
    is(&bench, "HEAD", &[]);
    bench.git(&["stash", "pop", "-q"]);
    bench.git(&["commit", "-qam", "both"]);
    is(&bench, "HEAD", &["a"]);
    bench.is_whole();
}

#[test]
fn a_part_that_is_stashed_while_the_rest_is_committed() {
    let bench = Bench::new();
    bench.turn("a", || {
        bench.write("one", lines("one", 6));
        bench.write("two", lines("two", 6));
    });
    bench.git(&["stash", "push", "-q", "-u", "--", "two"]);
    bench.git(&["add", "-A"]);
    bench.git(&["commit", "-qm", "one"]);
    is(&bench, "HEAD", &["a"]);
    bench.git(&["stash", "pop", "-q"]);
    bench.git(&["add", "-A"]);
    bench.git(&["commit", "-qm", "two"]);
    is(&bench, "HEAD", &["a"]);
    assert_eq!(bench.all().len(), 2);
    bench.is_whole();
}

#[test]
fn a_commit_without_hooks_is_not_mixed_up_with_the_next() {
    let bench = Bench::new();
    bench.agent("a", "one", &lines("one", 6));
    bench.git(&["add", "-A"]);
    bench.git(&["-c", "core.hooksPath=/dev/null", "commit", "-qm", "one"]);
    bench.human_commit("hand");
    assert_eq!(bench.named("HEAD"), [""; 0]);
    is(&bench, "HEAD", &[]);
    assert_eq!(bench.failures(), [""; 0]);
    bench.world.assert_sound("after all");
}

#[test]
fn commits_made_by_plumbing_keep_what_their_message_names() {
    let bench = bench();
    let ids = bench.ids("HEAD");
    let message = bench.message("HEAD");
    let new = bench.git(&["commit-tree", "HEAD^{tree}", "-p", "HEAD~1", "-m", &format!("x {message}")]);
    bench.git(&["update-ref", "refs/heads/main", new.trim()]);
    assert_eq!(bench.ids("HEAD"), ids);
    bench.human_commit("hand");
    is(&bench, "HEAD", &[]);
    bench.relink();
    bench.is_whole();
}

#[test]
fn filter_branch_keeps_the_records() {
    let bench = bench();
    bench.agent_commit("b", "three");
    let mut command = bench.command("git");
    command.env("FILTER_BRANCH_SQUELCH_WARNING", "1");
    let filter = ["filter-branch", "-f", "--tree-filter", "echo x >everywhere", "HEAD"];
    assert!(command.args(filter).output().expect("git runs").status.success());
    is(&bench, "HEAD", &["b"]);
    is(&bench, "HEAD~1", &["a"]);
    bench.human_commit("hand");
    is(&bench, "HEAD", &[]);
    bench.relink();
    bench.is_whole();
}

/// The messages lose their trailers, and other refs still lead to the old commits.
#[rstest::rstest]
#[case::message("--msg-filter 'sed 1q'")]
#[case::author("--msg-filter 'sed 1q' --env-filter 'GIT_AUTHOR_NAME=Other'")]
fn filter_branch_keeps_the_records_beside_a_backup(#[case] filters: &str) {
    let bench = bench();
    bench.human_commit("hand");
    bench.agent_commit("b", "three");
    let ids = [bench.ids("HEAD~2"), bench.ids("HEAD")];
    bench.git(&["branch", "backup"]);
    bench.sh(&format!("git filter-branch -f {filters} HEAD~3..HEAD"));
    let files = ["one", "two", "hand", "three"];
    let is_known = || files.map(|path| sessions_of_lines(&bench, path)[0].clone()) == ["a", "a", "-", "b"];
    assert!(is_known() && bench.id("HEAD") != bench.id("backup"));
    assert_eq!((bench.named("HEAD"), bench.ids("HEAD")), (Vec::new(), Vec::new()));
    bench.relink();
    assert_eq!([bench.ids("HEAD~2"), bench.ids("HEAD")], ids);
    assert_eq!((bench.how("HEAD"), bench.ids("HEAD~1")), (vec![How::Relink], Vec::new()));
    assert!(is_known());
    bench.is_whole();
}

/// A person's commit is older than the record of the same change.
#[test]
fn what_a_person_did_before_is_not_linked() {
    let bench = Bench::new();
    bench.write("one", lines("one", 6));
    bench.git(&["add", "one"]);
    bench.sh("export GIT_COMMITTER_DATE=\"@$(($(date +%s) - 10)) +0000\"; git commit -qm 'by hand'");
    bench.git(&["branch", "side", "HEAD~1"]);
    bench.git(&["checkout", "-q", "side"]);
    bench.agent_commit("a", "one");
    bench.git(&["checkout", "-q", "main"]);
    bench.relink();
    is(&bench, "HEAD", &[]);
    assert_eq!(sessions_of_lines(&bench, "one"), ["-"; 6]);
    bench.is_whole();
}

/// A person renames a file that an agent has created, and adds a line to it.
#[rstest::rstest]
#[case::amend("git commit -qa --amend --no-edit")]
#[case::fixup("git commit -qam r; GIT_SEQUENCE_EDITOR='sed -i 2s/pick/fixup/' git rebase -qi HEAD~2")]
#[case::soft_reset("git commit -qam r; git reset -q --soft HEAD~2; git commit -qm again")]
#[case::reset("git reset -q HEAD~; git add -A; git commit -qm again")]
#[case::pick("git commit -qam r; git checkout -q -b x HEAD~2; git cherry-pick -n main~ main; git commit -qm picked")]
fn a_new_file_that_is_renamed_and_changed_keeps_its_authors(#[case] script: &str) {
    let bench = Bench::new();
    bench.agent_commit("a", "one");
    bench.sh(&format!("git mv one renamed; echo 'by hand' >>renamed; {script}"));
    assert_eq!(sessions_of_lines(&bench, "renamed"), ["a", "a", "a", "a", "a", "a", "-"]);
    bench.is_whole();
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
    let bench = Bench::new();
    bench.human_commit("one");
    bench.agent("b", "one", &format!("{}the second\nand third\n", lines("one", 4)));
    bench.sh(&format!("git commit -qam two; git mv one renamed{edit}; git commit -qam r; {script}"));
    let mut expected = vec!["-", "-", "-", "-", "b", "b"];
    if !edit.is_empty() {
        expected.push("-");
    }
    assert_eq!(sessions_of_lines(&bench, "renamed"), expected);
    bench.is_whole();
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
    let bench = Bench::new();
    bench.agent_commit("a", "one");
    bench.agent("b", "one", &format!("{}the second\nand third\n", lines("one", 6)));
    bench.sh(&format!("git commit -qam two; git mv one renamed{edit}; git commit -qam r; {script}"));
    let mut expected = vec!["a"; 6];
    expected.extend(["b", "b"]);
    if !edit.is_empty() {
        expected.push("-");
    }
    assert_eq!(sessions_of_lines(&bench, "renamed"), expected);
    bench.is_whole();
}

/// Many files that one commit of an agent has created are found again where a person has moved all of them.
#[test]
fn many_new_files_that_are_renamed_and_changed_keep_their_authors() {
    let bench = Bench::new();
    bench.turn("a", || {
        for at in 0..40 {
            bench.write(&format!("file-{at}"), lines(&format!("{at}"), 6));
        }
    });
    bench.sh("git add -A; git commit -qm many; mkdir d
        for at in $(seq 0 39); do git mv file-$at d/other-$at; echo \"more of $at\" >>d/other-$at; done
        git commit -qa --amend --no-edit");
    for at in [0, 7, 39] {
        assert_eq!(sessions_of_lines(&bench, &format!("d/other-{at}")), ["a", "a", "a", "a", "a", "a", "-"]);
    }
    bench.is_whole();
}

#[test]
fn filter_repo_keeps_the_records() {
    let bench = bench();
    if !bench.try_git(&["filter-repo", "--version"]).status.success() {
        #[expect(clippy::print_stderr, reason = "a test that is left out must be seen")]
        return eprintln!("SKIPPED: there is no git-filter-repo");
    }
    bench.agent_commit("b", "three");
    bench.git(&["filter-repo", "--force", "--path-rename", "three:drei"]);
    is(&bench, "HEAD", &["b"]);
    is(&bench, "HEAD~1", &["a"]);
    bench.relink();
    bench.is_whole();
}

#[test]
fn fast_export_and_import_keep_the_records() {
    let bench = bench();
    bench.agent_commit("b", "three");
    let ids = bench.ids("HEAD");
    let script = "git fast-export --signed-tags=strip main | sed 's/^base$/BASE/' |
        git fast-import --quiet --force && git reset -q --hard";
    assert!(bench.command("sh").args(["-c", script]).status().expect("a shell runs").success());
    assert_eq!(bench.ids("HEAD"), ids);
    bench.human_commit("hand");
    is(&bench, "HEAD", &[]);
    bench.relink();
    bench.is_whole();
}

#[test]
fn copies_that_lost_their_trailers_are_found_by_what_they_do() {
    let bench = bench();
    let ids = bench.ids("HEAD");
    let new = bench.git(&["commit-tree", "HEAD^{tree}", "-p", "HEAD~1", "-m", "no trailer"]);
    bench.git(&["update-ref", "refs/heads/main", new.trim()]);
    assert_eq!(bench.ids("HEAD"), []);
    bench.relink();
    assert_eq!((bench.ids("HEAD"), bench.how("HEAD")), (ids, vec![How::Relink]));
    bench.is_whole();
}

#[test]
fn a_commit_while_bisecting() {
    let bench = bench();
    bench.git(&["bisect", "start", "HEAD", "HEAD~1"]);
    bench.agent_commit("b", "three");
    is(&bench, "HEAD", &["b"]);
    bench.git(&["bisect", "reset"]);
    bench.is_whole();
}
