//! Random histories of people and agents who use git: each line is typed once, and names its author,
//! whom the program must report at the end.

mod check;
mod common;
mod glance;
mod play;
mod recorder;
mod search;
mod step;

use std::time::Duration;

use search::Search;
use step::{Choice, parse};

/// The steps after which no line is unknown: agents edit and commit what they edit, people run git.
const SURE: &str = "edit,format,common,commit,amend,stash,worktree,branch,merge,squash,rebase,fixup,reorder,pick,pick-bare,am,\
     revert,restore,reset,rename,checkout-path,together";

/// The same if git runs no hooks, except what they alone can know: what one command of an agent changes and commits, and
/// what happens in a new worktree before we look at it.
const SURE_WITHOUT_HOOKS: &str = "edit,format,common,commit,amend,stash,branch,merge,squash,rebase,fixup,reorder,pick,am,\
     revert,restore,together,without-hooks,-edit-and-commit";

/// In each set, 50 histories; no line may have another author, and in those of the first two, none may be unknown.
#[rstest::rstest]
#[case::hooks(SURE, true)]
#[case::no_hooks(SURE_WITHOUT_HOOKS, true)]
#[case::agents_run_git("all", false)]
#[case::agents_run_git_without_hooks("all,without-hooks", false)]
fn lines_are_whose_they_are(#[case] steps: &str, #[case] is_strict: bool, #[values(0, 25)] first: usize) {
    let found = in_ci(steps, is_strict).run(first);
    assert!(found.sorts.is_empty(), "{found}");
}

/// Histories that once went wrong, made small.
#[rstest::rstest]
#[case::two_sessions_after_a_reset(
    "create person 0 255 1 1; commit person 0 255 1 1; insert s1 202 255 1 1; reset-mixed person 0 255 1 1; \
     insert person 234 255 4 1; pick-bare s1 0 255 1 198; stash-pop s2 0 255 1 1; insert person 0 255 1 1",
    "all"
)]
#[case::a_squash_that_is_not_committed(
    "branch person 0 255 1 1; insert s1 0 255 1 1; commit person 0 255 1 1; insert s1 1 255 1 1; commit person 0 255 1 1; \
     checkout person 0 255 1 1; insert person 0 0 1 1; commit person 0 255 1 1; merge-squash person 0 255 1 1",
    "all"
)]
#[case::a_squash_of_an_amended_commit(
    "insert person 0 255 1 1; commit person 0 255 1 1; insert s1 0 255 1 1; branch person 0 255 1 1; \
     amend person 0 255 1 155; checkout person 0 255 1 1; merge-squash person 0 255 1 1",
    "all,without-hooks"
)]
#[case::a_pick_that_is_not_committed(
    "insert s1 0 255 1 1; commit person 0 255 1 1; branch person 0 255 1 1; revert person 0 255 1 1; \
     pick-bare person 0 255 1 1",
    "all"
)]
#[case::a_pick_of_which_head_has_most(
    "worktree person 0 255 1 1; delete person 103 215 1 1; insert person 232 255 1 1; commit person 0 255 1 1; \
     pick-bare s1 0 255 1 1",
    "all"
)]
#[case::a_revert_of_a_revert_that_was_squashed(
    "insert s1 0 255 1 1; commit person 0 255 1 1; revert person 0 255 1 1; insert person 0 255 1 1; \
     commit person 0 255 1 1; fixup person 0 255 1 1; revert person 0 255 1 1",
    "all,without-hooks"
)]
#[case::work_that_a_merge_takes_along(
    "git-mv person 0 255 1 1; remove s1 157 255 1 1; commit person 0 255 1 1; worktree person 0 255 1 1; \
     reset-soft person 0 255 1 1; insert s1 0 255 1 1; insert person 0 255 1 1; merge s1 0 255 1 76",
    "all,without-hooks"
)]
#[case::little_of_the_work_after_a_reset(
    "revert person 0 255 1 1; create s1 0 255 1 1; reset-soft person 0 255 1 1; change person 0 88 4 1",
    "all"
)]
#[case::a_file_that_is_changed_and_renamed("change s1 0 49 4 1; change person 0 191 1 1; mv person 0 255 1 1", "all")]
#[case::a_pick_in_conflict_of_which_head_has_a_file(
    "worktree person 0 255 1 1; change person 151 5 1 1; edit-and-commit person 0 255 1 1; pick-bare s1 0 255 1 1",
    "all"
)]
#[case::work_before_a_revert_is_renamed_after_it(
    "insert s1 0 255 1 1; insert person 239 255 1 1; commit-path person 62 255 1 1; insert person 0 255 1 1; \
     revert s1 0 255 1 1; mv person 0 255 1 1",
    "all"
)]
#[case::a_staged_rename_that_a_command_commits(
    "insert person 0 255 1 1; git-mv s1 0 255 1 1; commit-staged s1 149 255 1 1",
    "all,without-hooks"
)]
#[case::a_rename_before_a_turn_that_only_changes_the_index(
    "insert s1 235 255 1 1; git-mv person 202 255 1 1; rebase s1 0 255 1 181",
    "all"
)]
#[case::two_resets_of_a_pick_from_another_worktree(
    "worktree person 0 255 1 1; change s1 0 50 1 1; commit person 0 255 1 1; pick s1 0 255 1 1; \
     reset-mixed person 0 255 1 1; reset-soft s1 0 255 1 1",
    "all"
)]
#[case::a_renamed_file_that_a_stash_puts_back(
    "delete person 217 68 1 1; stash-push s1 0 255 1 1; mv s1 37 255 1 1; stash-pop person 0 255 1 1",
    "all"
)]
#[case::a_persons_line_in_a_stash_that_a_command_pops_in_conflict(
    "mv s1 128 255 1 1; worktree person 0 255 1 1; worktree person 0 255 1 1; merge s1 0 255 1 208; \
     insert person 83 255 1 1; stash-push person 0 255 1 93; insert person 191 255 1 1; stash-pop s1 0 255 1 1",
    "all"
)]
#[case::a_baseline_that_a_command_commits_beside(
    "create s1 0 255 1 1; insert person 187 255 1 1; edit-and-commit s1 0 255 1 1",
    "all,without-hooks"
)]
#[case::a_baseline_of_which_a_command_commits_a_part(
    "commit s1 0 255 1 204; insert person 0 255 1 1; commit person 0 255 1 1; insert person 0 255 1 1; \
     commit person 0 255 1 1; checkout-path person 0 230 1 1; pick-bare s1 0 255 1 1; insert person 0 255 1 1; \
     insert person 226 255 1 1; commit-part s1 112 255 1 1",
    "all,without-hooks"
)]
#[case::a_renamed_file_whose_first_one_a_reset_puts_back(
    "insert s1 91 255 1 1; commit person 0 255 1 1; mv person 217 255 1 1; reset-hard person 0 255 1 1",
    "all"
)]
#[case::and_is_committed(
    "insert s1 91 255 1 1; commit person 0 255 1 1; mv person 217 255 1 1; reset-hard person 0 255 1 1; \
     commit person 0 255 1 1",
    "all"
)]
#[case::a_commit_amended_after_a_reset_in_a_turn(
    "mv person 0 255 1 1; commit person 0 255 1 1; insert s1 0 255 1 1; git-mv person 254 255 1 1; \
     insert s1 0 255 1 194; reset-soft person 0 255 1 1; amend person 0 255 1 1",
    "all,without-hooks"
)]
#[case::a_reorder_in_which_another_commit_takes_the_work(
    "insert s1 82 255 3 1; commit person 0 255 1 1; git-mv person 0 255 1 1; amend s1 0 255 1 1; \
     edit-and-commit person 238 255 1 1; reorder person 0 255 1 1",
    "all,without-hooks"
)]
#[case::a_part_of_the_saved_work_that_a_command_commits(
    "insert person 0 136 1 1; insert s1 0 255 1 1; commit-part s1 0 255 1 1",
    "all,without-hooks"
)]
#[case::a_command_renames_a_file_with_a_persons_line_and_resets_a_merge(
    "edit-and-commit person 0 255 1 1; insert person 224 255 1 1; branch person 0 255 1 87; git-mv s1 62 255 1 1; \
     commit-staged person 0 255 1 1; insert s1 158 255 1 1; merge person 0 255 1 1; reset-soft s1 0 255 1 1",
    "all"
)]
#[case::a_renamed_file_whose_first_one_a_revert_puts_back(
    "remove person 0 255 1 1; insert s1 0 255 1 1; insert person 0 255 1 1; commit person 0 255 1 1; \
     mv person 0 255 1 1; revert person 0 255 1 1",
    "all"
)]
#[case::a_reorder_in_which_a_resolution_takes_an_agents_line(
    "change s1 134 219 1 1; insert person 197 48 1 1; branch person 0 255 1 1; commit s1 0 255 1 1; \
     commit person 0 255 1 1; pick person 0 255 1 1; reorder person 0 255 1 1",
    "all,without-hooks"
)]
#[case::a_pick_of_which_head_has_a_file_that_is_changed_since(
    "worktree person 0 255 1 1; delete person 131 123 1 1; edit-and-commit person 206 255 1 1; \
     insert person 0 255 1 1; pick-bare s1 0 255 1 1",
    "all,without-hooks"
)]
#[case::a_reset_of_a_persons_commit_between_two_checkpoints(
    "commit s1 0 255 1 104; insert person 0 255 1 1; edit-and-commit person 0 255 1 1; create person 0 255 1 1; \
     remove person 63 255 1 1; insert s1 0 255 1 1; reset-mixed person 0 255 1 1",
    "all,without-hooks"
)]
#[case::a_renamed_file_in_two_commits_that_resets_bring_together(
    "git-mv s1 0 255 1 1; commit person 0 255 1 1; insert s1 0 255 1 1; commit person 0 255 1 1; \
     reset-mixed person 0 255 1 1; reset-mixed person 0 255 1 1; insert s1 0 166 1 1; amend person 0 255 1 1; \
     insert person 0 255 1 1; commit s1 0 255 1 1",
    "all"
)]
#[case::a_reorder_of_commits_after_a_rename(
    "remove person 0 255 1 1; git-mv person 25 255 1 1; commit person 0 255 1 1; change s1 143 255 1 1; \
     commit person 0 255 1 96; reorder person 0 255 1 124",
    "all,without-hooks"
)]
#[case::a_renamed_file_whose_name_a_revert_and_a_person_give_to_another_one(
    "insert s1 241 255 1 1; commit person 0 255 1 1; mv person 136 255 1 1; revert person 0 255 1 1; \
     insert person 21 255 1 1",
    "all,without-hooks"
)]
#[case::a_part_of_a_renamed_file_that_a_command_commits(
    "change person 100 154 1 1; git-mv person 19 255 1 1; insert s1 16 98 1 1; commit-part s1 31 198 1 1",
    "all,without-hooks"
)]
#[case::two_records_of_a_file_that_one_of_them_knows_by_its_new_name(
    "insert s1 0 255 1 1; commit person 0 255 1 1; git-mv s1 0 255 1 1; amend person 0 255 1 1; \
     insert person 0 255 1 1; reset-mixed person 0 255 1 1; commit person 0 255 1 1",
    "all,without-hooks"
)]
#[case::a_line_that_its_turn_replaced_is_restored(
    "insert s2 155 138 2 158; change s2 182 149 1 1; restore person 129 255 1 1",
    "all"
)]
#[case::a_renamed_and_edited_file_in_two_commits(
    "git-mv person 0 255 1 1; insert s1 0 255 1 1; stash-push person 0 255 1 1; insert s1 0 255 1 1; \
     amend person 0 255 1 239; mv person 0 255 1 1; edit-and-commit person 0 255 1 1; commit person 0 255 1 1",
    "all"
)]
#[case::a_pick_in_conflict_after_a_revert_of_the_first_commit(
    "insert s1 0 255 1 1; edit-and-commit person 0 255 1 1; branch person 0 255 1 38; revert person 0 255 1 1; \
     pick-bare person 0 255 1 1; worktree person 0 255 1 1; worktree person 0 255 1 1; branch person 0 255 1 1",
    "all,without-hooks"
)]
#[case::a_common_line_that_a_session_has_on_another_branch(
    "branch person 0 255 1 1; insert s1 0 252 1 49; commit person 0 255 1 1; checkout person 0 255 1 1; \
     insert person 0 252 1 49; commit person 0 255 1 1",
    "all"
)]
#[case::a_file_that_was_moved_and_comes_back_under_its_old_name(
    "insert s1 82 255 1 1; git-mv person 25 255 1 1; pick-bare person 0 255 1 1; amend person 0 255 1 1",
    "all"
)]
#[case::a_common_line_in_a_moved_file_that_comes_back_under_its_old_name(
    "mv person 182 255 1 1; insert s1 0 255 1 186; mv person 0 255 1 1; stash-push person 0 255 1 1; \
     insert person 0 255 1 1; amend person 0 255 1 187",
    "all"
)]
#[case::a_moved_file_that_is_moved_again_before_a_squash(
    "mv person 0 255 1 1; commit-staged person 0 255 1 1; branch person 0 255 1 127; insert s1 111 255 1 1; \
     mv s1 209 255 1 1; mv person 157 255 1 1; merge-squash person 0 255 1 59",
    "all"
)]
#[case::a_common_line_after_a_pick_that_was_given_up(
    "branch person 0 255 1 1; insert s1 0 248 3 49; commit person 0 255 1 1; checkout person 0 255 1 1; \
     pick-bare person 0 255 1 13; insert person 0 248 4 49; commit person 0 255 1 1",
    "all"
)]
#[case::a_command_commits_a_rename_and_a_person_has_moved_another_file_onto_the_new_name(
    "git-mv person 196 255 1 1; checkout-other person 0 97 1 1; mv-onto person 63 176 1 1; \
     insert person 0 255 1 1; commit-staged s1 0 255 1 1",
    "all"
)]
#[case::a_file_with_the_name_of_a_renamed_one_is_moved_onto_another_one(
    "mv-taken s1 14 255 1 1; mv-onto person 102 255 1 1",
    "all"
)]
fn what_went_wrong_once_is_right(#[case] history: &str, #[case] steps: &str) {
    let history = parse(history).expect("steps as a failure names them");
    assert_eq!(in_ci(steps, false).fault(&history), None);
}

/// Returns the search for the tests that always run.
fn in_ci(steps: &str, is_strict: bool) -> Search {
    Search {
        choice: Choice::parse(steps).expect("known names"),
        seed: 1,
        histories: 25,
        lengths: 8..=30,
        is_brief: true,
        jobs: 1,
        is_strict,
        asks_at_each_commit: false,
        shrunk: 1,
        limit: None,
        prints: false,
    }
}

/// What `tests/oracle/run` runs.
#[test]
#[ignore = "tests/oracle/run says what to play"]
fn at_length() {
    let number = |name: &str, usual: usize| {
        std::env::var(name).map_or(usual, |text| text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
    };
    let text = |name: &str, usual: &str| std::env::var(name).unwrap_or_else(|_| usual.to_owned());
    let limit = number("ORACLE_SECONDS", 0);
    let search = Search {
        choice: Choice::parse(&text("ORACLE_STEPS", "all")).expect("names of tests/oracle/step.rs"),
        seed: number("ORACLE_SEED", 1) as u64,
        histories: number("ORACLE_HISTORIES", 100),
        lengths: 8..=number("ORACLE_LENGTH", 30).max(8),
        is_brief: number("ORACLE_BRIEF", 0) > 0,
        jobs: number("ORACLE_JOBS", 1),
        is_strict: number("ORACLE_STRICT", 0) > 0,
        asks_at_each_commit: number("ORACLE_EACH", 0) > 0,
        shrunk: number("ORACLE_SHRUNK", 1),
        limit: (limit > 0).then(|| Duration::from_secs(limit as u64)),
        prints: true,
    };
    if let Ok(steps) = std::env::var("ORACLE_PLAY") {
        let steps = parse(&steps).expect("steps as a failure names them");
        #[expect(clippy::print_stdout, reason = "it is run by hand")]
        return println!("{}", search.report(0, "played", &steps));
    }
    let found = search.run(number("ORACLE_FIRST", 0));
    assert!(found.sorts.is_empty(), "{found}");
    #[expect(clippy::print_stdout, reason = "it is run by hand")]
    {
        println!("{found}");
    }
}
