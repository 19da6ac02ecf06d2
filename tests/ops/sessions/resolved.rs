//! Conflicts of git that a session resolves.

use super::{
    desk::Desk,
    moved::{TOOL, TOPIC, blamed, expected, tell, with_topic},
};
use crate::support::template::Template;

/// A turn of `session` with these commands.
fn commands(desk: &Desk, session: &str, commands: &[&str]) {
    tell(desk, session, "UserPromptSubmit", r#","prompt":"do it""#);
    for script in commands {
        tell(desk, session, "PreToolUse", TOOL);
        desk.sh(script);
        tell(desk, session, "PostToolUse", TOOL);
    }
    tell(desk, session, "Stop", "");
}

/// The lines that are said to be a person's or another session's, and are not.
fn wrong(desk: &Desk, path: &str) -> Vec<String> {
    let may_be = |(found, expected): &(String, String)| found == expected || found.ends_with(": unknown");
    blamed(desk, path).into_iter().zip(expected(desk, path)).filter(|it| !may_be(it)).map(|it| it.0).collect()
}

/// On `main`, a person has changed a line that one has changed on `topic`, too.
static CONFLICT: Template = Template::new(|world| {
    TOPIC.make(world);
    let desk = Desk::later_on(world);
    desk.sh("sed -i 's/^line 3$/human main three/' f; git commit -qam three");
});

const RESOLVE: &str = "sed -i '/^[<=>|]\\{7\\}/d; s/^human main three$/a resolved/' f";
const THEIRS: &str = "sed -i '/^[<=>|]\\{7\\}/d; /^human main three$/d' f";
const THEIR_FILE: &str = "git checkout -q --theirs f";

/// Commits of a person and of the session `b` meet a commit that changes the same line. The session resolves the conflict and
/// continues in one command, or in several.
#[rstest::rstest]
// For each operation: each resolution, each number of calls, with and without hooks.
#[case::pick_at_once("cherry-pick", RESOLVE, 1, true)]
#[case::pick("cherry-pick", RESOLVE, 2, false)]
#[case::pick_of_their_lines("cherry-pick", THEIRS, 3, false)]
#[case::pick_of_their_file("cherry-pick", THEIR_FILE, 3, true)]
#[case::merge_at_once("merge", RESOLVE, 1, true)]
#[case::merge("merge", RESOLVE, 3, true)]
#[case::merge_of_their_lines("merge", THEIRS, 2, true)]
#[case::merge_of_their_file("merge", THEIR_FILE, 2, false)]
#[case::rebase_at_once("rebase", RESOLVE, 1, true)]
#[case::rebase("rebase", RESOLVE, 2, false)]
#[case::rebase_of_their_lines("rebase", THEIRS, 3, false)]
#[case::rebase_of_their_file("rebase", THEIR_FILE, 3, true)]
// `git am` runs no hook of ours, and its reflog does not say that there was a conflict: at once, the author would be unknown.
#[case::am("am", RESOLVE, 3, true)]
#[case::am_without_hooks("am", RESOLVE, 2, false)]
#[case::am_of_their_lines("am", THEIRS, 2, true)]
#[case::am_of_their_file("am", THEIR_FILE, 2, false)]
fn a_sessions_conflict_resolution_is_its_own(
    #[case] operation: &str,
    #[case] resolve: &str,
    #[case] calls: u8,
    #[case] has_hooks: bool,
) {
    let start = match operation {
        "cherry-pick" => "git cherry-pick topic~1 topic",
        "merge" => "git merge -q topic",
        "rebase" => "git checkout -q topic; git rebase -q main",
        _ => "git format-patch -q --stdout main..topic | git am -3 -q",
    };
    let is_unseen = !has_hooks || ["rebase", "am"].contains(&operation);
    let desk = Desk::after(&CONFLICT);
    let quiet = if has_hooks { "" } else { "git config core.hooksPath /dev/null" };
    let onward = format!("GIT_EDITOR=true git {operation} --continue");
    let scripts = match calls {
        1 => vec![format!("{quiet}\n{start} || {{ {resolve}; git add -A; {onward}; }}")],
        2 => vec![format!("{quiet}\n{start} || true"), format!("{resolve}; git add -A; {onward}")],
        _ => vec![format!("{quiet}\n{start} || true"), resolve.to_owned(), format!("git add -A; {onward}")],
    };
    commands(&desk, "a", &scripts.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(desk.git(&["status", "--porcelain"]), "");
    if calls <= 2 && is_unseen {
        // What one command changes and commits without a hook is unknown.
        assert_eq!([wrong(&desk, "f"), wrong(&desk, "k")], [const { Vec::<String>::new() }; 2]);
    } else {
        for path in ["f", "k"] {
            assert_eq!(blamed(&desk, path), expected(&desk, path));
        }
    }
    desk.finish();
}

/// A person begins, and the session resolves the conflict and continues in one command: the baseline of its turn has the conflict.
#[rstest::rstest]
#[case::rebase("git checkout -q topic; git rebase -q main", "rebase")]
#[case::am("git format-patch -q --stdout main..topic | git am -3 -q", "am")]
fn what_a_session_resolves_at_once_is_no_persons(#[case] start: &str, #[case] operation: &str) {
    let desk = Desk::after(&CONFLICT);
    desk.sh(&format!("{start} || true"));
    commands(&desk, "a", &[&format!("{RESOLVE}; git add -A; GIT_EDITOR=true git {operation} --continue")]);
    assert_eq!(desk.git(&["status", "--porcelain"]), "");
    assert_eq!([wrong(&desk, "f"), wrong(&desk, "k")], [const { Vec::<String>::new() }; 2]);
    desk.finish();
}

/// The commit of a patch is in another repository.
#[test]
fn lines_of_a_foreign_patch_in_a_conflict_are_not_the_sessions() {
    let desk = with_topic();
    desk.sh("git clone -q . ../other; cd ../other; sed -i 's/^line 3$/human elsewhere/' f; git commit -qam elsewhere");
    desk.sh("sed -i 's/^line 3$/human main three/' f; git commit -qam three");
    commands(
        &desk,
        "a",
        &[
            "git -C ../other format-patch -q -1 --stdout | git am -3 -q || true",
            RESOLVE,
            "git add -A; git am --continue",
        ],
    );
    assert_eq!(blamed(&desk, "f"), ["a resolved: a", "human elsewhere: unknown", "human fifteen: human"]);
    desk.finish();
}

/// The session only makes the commit.
#[rstest::rstest]
#[case::continues("git add -A; GIT_EDITOR=true git cherry-pick --continue")]
#[case::commits("git add -A; git commit -q --no-edit")]
fn a_persons_conflict_resolution_stays_theirs_if_the_session_commits_it(#[case] script: &str) {
    let desk = with_topic();
    desk.sh("sed -i 's/^line 3$/human main three/' f; git commit -qam three; git cherry-pick topic~1 || true");
    desk.sh("sed -i '/^[<=>|]\\{7\\}/d; s/^human main three$/human resolved/' f");
    commands(&desk, "a", &[script]);
    assert_eq!(desk.git(&["status", "--porcelain"]), "");
    for path in ["f", "k"] {
        assert_eq!(blamed(&desk, path), expected(&desk, path));
    }
    desk.finish();
}

/// Who sends a mail may have changed the patch in it since the commit that it names.
#[test]
fn a_mail_is_not_the_commit_that_it_names() {
    let desk = Desk::after(&CONFLICT);
    commands(
        &desk,
        "a",
        &[
            "git format-patch -q -1 --stdout topic~1 | sed 's/^+human three$/+human mailed/' | git am -3 -q || true",
            RESOLVE,
            "git add -A; git am --continue",
        ],
    );
    assert_eq!(wrong(&desk, "f"), Vec::<String>::new());
    desk.finish();
}
