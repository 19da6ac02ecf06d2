//! Commands of agents that edit and commit at once.

use std::collections::BTreeMap;

use super::desk::Desk;

/// Returns a desk with a turn of `s` under way, and a commit of it.
fn desk() -> Desk {
    let desk = Desk::new();
    desk.prompt("s");
    desk.edit("s", "0", "g", "of s");
    desk.commit();
    desk
}

/// Returns whose the lines of `path` are that have been added to it since the first commit.
fn owners(desk: &Desk, path: &str) -> BTreeMap<String, String> {
    let blame = desk.json(&["blame", "--json", path]);
    let lines = desk.git(&["show", &format!("HEAD:{path}")]);
    let lines: Vec<&str> = lines.lines().collect();
    let mut owners = BTreeMap::new();
    for part in blame["lines"].as_array().expect("lines") {
        let number = |key: &str| usize::try_from(part[key].as_u64().expect("a number")).expect("it is small");
        for line in &lines[number("start") - 1..number("end")] {
            if line.starts_with("of ") {
                owners.insert((*line).to_owned(), part["owner"].as_str().unwrap_or_default().to_owned());
            }
        }
    }
    owners
}

fn named(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(line, owner)| ((*line).to_owned(), (*owner).to_owned())).collect()
}

/// Git runs none of our hooks for it: it may have brought the lines from anywhere.
#[rstest::rstest]
#[case::commit(&["commit", "-qam", "of s"])]
#[case::amend(&["commit", "-qa", "--amend", "--no-edit"])]
fn a_commit_by_a_command_without_hooks_has_an_unknown_author(#[case] commit: &[&str]) {
    let desk = desk();
    desk.add("f", "of a person, before");
    desk.commit();
    desk.add("h", "of a person, uncommitted");
    desk.git(&["config", "checkpoint.agents.preToolScan", "0"]);
    desk.before("s", "1", &[]);
    desk.add("f", "of s or others");
    desk.git(&[&["-c", "core.hooksPath=/dev/null"], commit].concat());
    desk.add("f", "of s, uncommitted");
    desk.after("s", "1", &[]);
    desk.stop("s");
    desk.add("f", "of a person, after");
    desk.git(&["-c", "core.hooksPath=/dev/null", "commit", "-qam", "of a person"]);
    desk.done(&["save", "-q"]);
    let expected = [
        ("of a person, before", "human"),
        ("of s or others", "unknown"),
        ("of s, uncommitted", "agent"),
        ("of a person, after", "human"),
    ];
    assert_eq!(owners(&desk, "f"), named(&expected));
    assert_eq!(owners(&desk, "h"), named(&[("of a person, uncommitted", "human")]));
    desk.finish();
}

/// One command commits, in two parts, what was saved and what was not.
#[test]
fn saved_work_that_a_command_commits_in_two_commits_keeps_its_authors() {
    let desk = desk();
    desk.edit("s", "1", "f", "of s");
    desk.edit("s", "2", "h", "of s");
    desk.before("s", "3", &[]);
    desk.add("h", "of s or others");
    for path in ["f", "h"] {
        desk.git(&["-c", "core.hooksPath=/dev/null", "commit", "-qm", "of a command", path]);
    }
    desk.after("s", "3", &[]);
    desk.stop("s");
    assert_eq!(owners(&desk, "f"), named(&[("of s", "agent")]));
    assert_eq!(owners(&desk, "h"), named(&[("of s", "agent"), ("of s or others", "unknown")]));
    desk.finish();
}

/// What a person commits before the command is theirs, though no hook has seen it either.
#[test]
fn a_commit_without_hooks_before_a_command_is_the_persons() {
    let desk = desk();
    desk.add("f", "of a person");
    desk.git(&["-c", "core.hooksPath=/dev/null", "commit", "-qam", "of a person"]);
    desk.before("s", "1", &[]);
    desk.add("f", "of s or others");
    desk.git(&["-c", "core.hooksPath=/dev/null", "commit", "-qam", "of a command"]);
    desk.add("f", "of s");
    desk.after("s", "1", &[]);
    desk.stop("s");
    desk.commit();
    let expected = [("of a person", "human"), ("of s or others", "unknown"), ("of s", "agent")];
    assert_eq!(owners(&desk, "f"), named(&expected));
    desk.finish();
}

/// A command stops a rebase, edits, commits and continues it.
#[rstest::rstest]
#[case::amend(&["commit -qa --amend --no-edit", "rebase --continue"])]
#[case::commit(&["commit -qam more", "rebase --continue"])]
#[case::continues(&["add f", "-c core.editor=true rebase --continue"])]
fn lines_that_a_command_adds_in_a_rebase_are_unknown(#[case] commands: &[&str]) {
    let desk = desk();
    for (path, line) in [("f", "of a person"), ("h", "of a person")] {
        desk.add(path, line);
        desk.commit();
    }
    desk.before("s", "1", &[]);
    desk.git(&["-c", "sequence.editor=sed -i 1s/pick/edit/", "rebase", "-q", "-i", "HEAD~2"]);
    desk.add("f", "of s or others");
    for command in commands {
        desk.git(&command.split(' ').collect::<Vec<_>>());
    }
    desk.after("s", "1", &[]);
    desk.stop("s");
    assert_eq!(desk.git(&["status", "--porcelain"]), "");
    assert_eq!(owners(&desk, "f"), named(&[("of a person", "human"), ("of s or others", "unknown")]));
    assert_eq!(owners(&desk, "h"), named(&[("of a person", "human")]));
    desk.finish();
}

#[test]
fn lines_that_rebase_exec_adds_for_a_command_are_unknown() {
    let desk = desk();
    desk.add("f", "of a person");
    desk.commit();
    desk.before("s", "1", &[]);
    desk.git(&["rebase", "-q", "-x", "echo of s or others >>h; git commit -qa --amend --no-edit", "HEAD~"]);
    desk.after("s", "1", &[]);
    desk.stop("s");
    assert_eq!(owners(&desk, "f"), named(&[("of a person", "human")]));
    assert_eq!(owners(&desk, "h"), named(&[("of s or others", "unknown")]));
    desk.finish();
}

/// What a person has not committed waits in git's autostash.
#[test]
fn a_persons_uncommitted_lines_stay_theirs_over_an_autostash() {
    let desk = desk();
    desk.stop("s");
    desk.add("f", "of a person");
    desk.commit();
    desk.add("h", "of a person, uncommitted");
    desk.prompt("s");
    desk.before("s", "1", &[]);
    desk.git(&[
        "rebase",
        "-q",
        "--autostash",
        "-x",
        "echo of s or others >>f; git commit -qa --amend --no-edit",
        "HEAD~",
    ]);
    desk.after("s", "1", &[]);
    desk.add("h", "of s");
    desk.stop("s");
    desk.commit();
    assert_eq!(owners(&desk, "f"), named(&[("of a person", "human"), ("of s or others", "unknown")]));
    assert_eq!(owners(&desk, "h")["of a person, uncommitted"], "human");
    desk.finish();
}
