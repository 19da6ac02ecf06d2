//! Random histories of people and agents who use git: each line is typed once, and names its author,
//! whom the program must report at the end.

mod check;
mod desk;
mod play;
mod search;
mod step;

use std::time::Duration;

use search::Search;
use step::{Choice, parse};

/// The steps after which no line is wrong today, and none unknown: agents edit and commit what they edit, people run git.
const SURE: &str =
    "edit,commit,amend,stash,worktree,branch,merge,squash,rebase,fixup,reorder,pick,revert,restore,together";

/// The same if git runs no hooks, except what they alone can know: what one command of an agent changes and commits, and
/// what happens in a new worktree before we look at it.
const SURE_WITHOUT_HOOKS: &str = "edit,commit,amend,stash,branch,merge,squash,rebase,fixup,reorder,pick,revert,restore,\
     together,without-hooks,-edit-and-commit";

#[rstest::rstest]
#[case::hooks(SURE)]
#[case::no_hooks(SURE_WITHOUT_HOOKS)]
fn lines_are_whose_they_are(#[case] steps: &str) {
    let search = Search {
        choice: Choice::parse(steps).expect("known names"),
        seed: 1,
        histories: 20,
        lengths: 8..=24,
        jobs: 1,
        is_strict: true,
        asks_at_each_commit: false,
        shrunk: 1,
        limit: None,
    };
    let found = search.run(0);
    assert!(found.sorts.is_empty(), "{found}");
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
        jobs: number("ORACLE_JOBS", 1),
        is_strict: number("ORACLE_STRICT", 0) > 0,
        asks_at_each_commit: number("ORACLE_EACH", 0) > 0,
        shrunk: number("ORACLE_SHRUNK", 1),
        limit: (limit > 0).then(|| Duration::from_secs(limit as u64)),
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
