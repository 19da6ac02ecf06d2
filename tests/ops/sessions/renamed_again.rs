//! Files that an agent renames and changes, and that a person changes or renames further before the commit.

use super::desk::Desk;

/// A desk with a file of 12 lines, which an agent renames; `edit` is what it does to the file.
fn renamed_by_an_agent(edit: &str) -> Desk {
    let desk = Desk::new();
    desk.write("old", (1..=12).map(|line| format!("base v{line}\n")).collect::<String>());
    desk.commit_all();
    desk.prompt("s");
    desk.sh(&format!("git mv old new; {edit}"));
    desk.stop("s");
    desk
}

/// Returns how many lines of `path` an agent has, as `blame` says.
fn blamed(desk: &Desk, path: &str) -> u64 {
    let blame = desk.json(&["blame", path]);
    let lines = blame["lines"].as_array().expect("a list").iter().filter(|it| it["owner"] == "agent");
    lines.map(|it| it["end"].as_u64().expect("a number") + 1 - it["start"].as_u64().expect("a number")).sum()
}

/// The agent adds a line after every second one, so that none is in a block of three.
#[rstest::rstest]
#[case::so_much_that_git_sees_no_rename("sed -i 'n;n;s/$/\\nof a person, with many words/' new", 6, false)]
#[case::so_little_that_git_sees_one("sed -i '1i of a person' new", 1, true)]
fn lines_of_a_file_that_an_agent_renames_stay_whose_they_were(
    #[case] edit: &str,
    #[case] human: u64,
    #[case] is_rename: bool,
    #[values(false, true)] saves: bool,
) {
    let desk = renamed_by_an_agent("sed -i 'n;s/$/\\nof the agent/' new");
    desk.sh(edit);
    if saves {
        desk.json(&["save"]);
    }
    desk.commit_all();
    let status = desk.git(&["show", "-M", "--format=", "--name-status"]);
    assert_eq!(status.starts_with('R'), is_rename, "{status}");
    assert_eq!((desk.lines(), blamed(&desk, "new")), ((6, human), 6));
    let kept = &desk.json(&["attribution", "HEAD"])["summary"]["kept_added"];
    assert_eq!(*kept, if is_rename { 0 } else { 12 });
    desk.finish();
}
