//! Commands of agents that edit and commit at once.

use std::collections::BTreeMap;

use crate::support::{World, template::Template};

/// Returns a world with a turn of `s` under way, and a commit of it.
static COMMITTED: Template = Template::new(|world| {
    world.commit_lines();
    world.prompt("s");
    world.edit("s", "0", "g", "of s");
    world.commit();
});

fn world() -> World {
    COMMITTED.world()
}

/// Returns whose the lines of `path` are that have been added to it since the first commit.
fn owners(world: &World, path: &str) -> BTreeMap<String, String> {
    let blame = world.json(&["blame", "--json", path]);
    let lines = world.git(&["show", &format!("HEAD:{path}")]);
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
    let world = world();
    world.add("f", "of a person, before");
    world.commit();
    world.add("h", "of a person, uncommitted");
    world.git(&["config", "checkpoint.agents.preToolScan", "0"]);
    world.before("s", "1", &[]);
    world.add("f", "of s or others");
    world.git(&[&["-c", "core.hooksPath=/dev/null"], commit].concat());
    world.add("f", "of s, uncommitted");
    world.after("s", "1", &[]);
    world.stop("s");
    world.add("f", "of a person, after");
    world.git(&["-c", "core.hooksPath=/dev/null", "commit", "-qam", "of a person"]);
    world.done(&["save", "-q"]);
    let expected = [
        ("of a person, before", "human"),
        ("of s or others", "unknown"),
        ("of s, uncommitted", "agent"),
        ("of a person, after", "human"),
    ];
    assert_eq!(owners(&world, "f"), named(&expected));
    assert_eq!(owners(&world, "h"), named(&[("of a person, uncommitted", "human")]));
    world.finish();
}

/// One command commits, in two parts, what was saved and what was not.
#[test]
fn saved_work_that_a_command_commits_in_two_commits_keeps_its_authors() {
    let world = world();
    world.edit("s", "1", "f", "of s");
    world.edit("s", "2", "h", "of s");
    world.before("s", "3", &[]);
    world.add("h", "of s or others");
    for path in ["f", "h"] {
        world.git(&["-c", "core.hooksPath=/dev/null", "commit", "-qm", "of a command", path]);
    }
    world.after("s", "3", &[]);
    world.stop("s");
    assert_eq!(owners(&world, "f"), named(&[("of s", "agent")]));
    assert_eq!(owners(&world, "h"), named(&[("of s", "agent"), ("of s or others", "unknown")]));
    world.finish();
}

/// It leads HEAD back to where the command began, so the commit before it is easily missed.
#[rstest::rstest]
#[case::mixed("git -c core.hooksPath=/dev/null commit -qam own; git reset -q HEAD~1")]
#[case::soft("git -c core.hooksPath=/dev/null commit -qam own; git reset -q --soft HEAD~1")]
#[case::twice(
    "git -c core.hooksPath=/dev/null commit -qam own; git reset -q HEAD~1; git -c core.hooksPath=/dev/null commit -qam own; git reset -q HEAD~1"
)]
fn what_a_command_commits_and_resets_is_no_persons(#[case] script: &str, #[values(false, true)] has_worked: bool) {
    let world = World::with_commit();
    world.prompt("s");
    if has_worked {
        world.edit("s", "0", "g", "of s");
    }
    world.before("s", "1", &[]);
    world.add("f", "of s or others");
    world.sh(script);
    world.after("s", "1", &[]);
    world.stop("s");
    let blame = world.json(&["blame", "--json", "f"])["lines"].as_array().expect("a list").clone();
    let last = blame.last().expect("a line")["owner"].clone();
    assert!(last == "unknown" || last == "agent", "{blame:?}");
    world.finish();
}

/// What a person commits before the command is theirs, though no hook has seen it either.
#[test]
fn a_commit_without_hooks_before_a_command_is_the_persons() {
    let world = world();
    world.add("f", "of a person");
    world.git(&["-c", "core.hooksPath=/dev/null", "commit", "-qam", "of a person"]);
    world.before("s", "1", &[]);
    world.add("f", "of s or others");
    world.git(&["-c", "core.hooksPath=/dev/null", "commit", "-qam", "of a command"]);
    world.add("f", "of s");
    world.after("s", "1", &[]);
    world.stop("s");
    world.commit();
    let expected = [("of a person", "human"), ("of s or others", "unknown"), ("of s", "agent")];
    assert_eq!(owners(&world, "f"), named(&expected));
    world.finish();
}

/// A command stops a rebase, edits, commits and continues it.
#[rstest::rstest]
#[case::amend(&["commit -qa --amend --no-edit", "rebase --continue"])]
#[case::commit(&["commit -qam more", "rebase --continue"])]
#[case::continues(&["add f", "-c core.editor=true rebase --continue"])]
fn lines_that_a_command_adds_in_a_rebase_are_unknown(#[case] commands: &[&str]) {
    let world = world();
    for (path, line) in [("f", "of a person"), ("h", "of a person")] {
        world.add(path, line);
        world.commit();
    }
    world.before("s", "1", &[]);
    world.git(&["-c", "sequence.editor=sed -i 1s/pick/edit/", "rebase", "-q", "-i", "HEAD~2"]);
    world.add("f", "of s or others");
    for command in commands {
        world.git(&command.split(' ').collect::<Vec<_>>());
    }
    world.after("s", "1", &[]);
    world.stop("s");
    assert_eq!(world.git(&["status", "--porcelain"]), "");
    assert_eq!(owners(&world, "f"), named(&[("of a person", "human"), ("of s or others", "unknown")]));
    assert_eq!(owners(&world, "h"), named(&[("of a person", "human")]));
    world.finish();
}

#[test]
fn lines_that_rebase_exec_adds_for_a_command_are_unknown() {
    let world = world();
    world.add("f", "of a person");
    world.commit();
    world.before("s", "1", &[]);
    world.git(&["rebase", "-q", "-x", "echo of s or others >>h; git commit -qa --amend --no-edit", "HEAD~"]);
    world.after("s", "1", &[]);
    world.stop("s");
    assert_eq!(owners(&world, "f"), named(&[("of a person", "human")]));
    assert_eq!(owners(&world, "h"), named(&[("of s or others", "unknown")]));
    world.finish();
}

/// What a person has not committed waits in git's autostash.
#[test]
fn a_persons_uncommitted_lines_stay_theirs_over_an_autostash() {
    let world = world();
    world.stop("s");
    world.add("f", "of a person");
    world.commit();
    world.add("h", "of a person, uncommitted");
    world.prompt("s");
    world.before("s", "1", &[]);
    world.git(&[
        "rebase",
        "-q",
        "--autostash",
        "-x",
        "echo of s or others >>f; git commit -qa --amend --no-edit",
        "HEAD~",
    ]);
    world.after("s", "1", &[]);
    world.add("h", "of s");
    world.stop("s");
    world.commit();
    assert_eq!(owners(&world, "f"), named(&[("of a person", "human"), ("of s or others", "unknown")]));
    assert_eq!(owners(&world, "h")["of a person, uncommitted"], "human");
    world.finish();
}
