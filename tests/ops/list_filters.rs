//! What `list` filters, and how it prints that in a format: both as `git log` does.

use std::process::Output;

use super::tags::world;
use crate::support::{World, processes::described};

fn list(world: &World, arguments: &[&str]) -> Output {
    let all: Vec<&str> = ["list"].iter().chain(arguments).copied().collect();
    let output = world.checkpoint(&all);
    assert!(output.status.success(), "{arguments:?}: {}", described(&output));
    output
}

fn printed(world: &World, arguments: &[&str]) -> String {
    String::from_utf8(list(world, arguments).stdout).expect("text")
}

#[rstest::rstest]
#[case::session(&["--session", "none"], "no session 'none'")]
#[case::agent(&["--agent", "none"], "no checkpoint matches")]
#[case::path(&["--path", "none"], "no checkpoint matches")]
#[case::since(&["--since", "2099-01-01"], "no checkpoint matches")]
#[case::until(&["--until", "1999-01-01"], "no checkpoint matches")]
#[case::grep(&["--grep", "none"], "no checkpoint matches")]
#[case::tag(&["--tag", "none"], "no tag matches")]
#[case::one_of_two(&["--tag", "good", "--grep", "none"], "no checkpoint matches")]
fn a_filter_that_nothing_passes_says_so_and_succeeds(#[case] filter: &[&str], #[case] message: &str) {
    let (world, ids) = world(2);
    world.done(&["tag", "good", &ids[0]]);
    for form in [&[][..], &["--json"], &["--format", "%H"]] {
        let output = list(&world, &[filter, form].concat());
        assert!(output.stdout.is_empty(), "{}", described(&output));
        assert!(String::from_utf8_lossy(&output.stderr).starts_with(message), "{}", described(&output));
    }
}

#[test]
fn filters_are_combined() {
    let (world, ids) = world(4);
    for (name, id) in [("a/1", &ids[0]), ("a/2", &ids[2]), ("b", &ids[3])] {
        world.done(&["tag", name, id]);
    }
    let subjects = |arguments: &[&str]| printed(&world, &[&["--format", "%gd %s"], arguments].concat());
    assert_eq!(subjects(&["--tag", "a/*"]), "@{1} number 3\n@{3} number 1\n");
    assert_eq!(subjects(&["--tag", "a*", "-n", "1"]), "@{1} number 3\n");
    assert_eq!(subjects(&["--tag", "*", "--grep", "[14]"]), "@{0} number 4\n@{3} number 1\n");
    assert_eq!(subjects(&["--tag", "b", "--path", "f"]), "@{0} number 4\n");
    assert_eq!(subjects(&["--tag", "*", "--archived"]), "");
    let json = printed(&world, &["--json", "--tag", "a/1"]);
    let json: serde_json::Value = serde_json::from_str(&json).expect("one object");
    assert_eq!((json["number"].as_u64(), &json["tags"]), (Some(3), &serde_json::json!(["a/1"])));
}

/// Git reads these, and we read them as git does.
#[rstest::rstest]
#[case("last friday")]
#[case("noon yesterday")]
#[case("Jan 5 2001")]
#[case("5 Jan 2025 12:00:00 +0100")]
#[case("2025.06.01 11:00")]
#[case("Sun, 1 Jun 2025 13:30:00 +0200")]
#[case("01/06/2031")]
fn dates_are_as_git_reads_them(#[case] date: &str) {
    let (world, _) = world(3);
    let tip = world.shadows().join(" ");
    for option in ["--since", "--until"] {
        let of_git = world.git(&["log", "--format=%s", &format!("{option}={date}"), &tip, "--not", "HEAD"]);
        assert_eq!(printed(&world, &["--format", "%s", option, date]), of_git, "{option} {date}");
    }
}

/// Git takes the time of now for a day without a time; for us, the day has begun.
#[rstest::rstest]
#[case("%d %b %Y")]
#[case("%Y/%m/%d")]
#[case("%m/%d/%Y")]
#[case("%d.%m.%Y")]
#[case("%b %d")]
fn this_day_has_many_names(#[case] format: &str) {
    let (world, _) = world(2);
    world.sh("sleep 1.1");
    let [today, other] =
        ["", "-d '3 days ago'"].map(|more| world.sh(&format!("date {more} '+{format}'")).trim().to_owned());
    let subjects = |option: &str, date: &str| printed(&world, &["--format", "%s", option, date]);
    assert_eq!(subjects("--since", &today), subjects("--since", "today"), "{today}");
    assert_eq!(subjects("--until", &today), subjects("--until", "today"), "{today}");
    assert_eq!(subjects("--since", &other), subjects("--since", "today"), "{other}");
}

#[rstest::rstest]
#[case::nonsense("whenever")]
#[case::empty("")]
fn what_is_no_date_is_refused(#[case] date: &str) {
    let (world, _) = world(1);
    let output = world.checkpoint(&["list", "--since", date]);
    assert_eq!(output.status.code(), Some(128), "{}", described(&output));
    assert!(String::from_utf8_lossy(&output.stderr).contains(&format!("'{date}' is not a date")));
}

#[test]
fn placeholders_of_git_mean_what_they_mean_in_git() {
    let (world, _) = world(3);
    let tip = world.shadows().join(" ");
    for format in ["%H", "%h", "%T %t", "%P", "%p", "%s", "%cI", "%ci", "%cs %ct", "%cr", "100%%%n-", "%x41%x09|"] {
        let of_git = world.git(&["log", "--first-parent", &format!("--format={format}"), &tip, "--not", "HEAD"]);
        // Git has more parents: the base, and what the tree cannot say.
        let first = |text: String| match format {
            "%P" | "%p" => {
                text.lines().map(|line| line.split(' ').next().unwrap_or_default().to_owned() + "\n").collect()
            }
            // Newer ones write UTC as `Z`.
            "%cI" => text.replace('Z', "+00:00"),
            _ => text,
        };
        assert_eq!(printed(&world, &["--format", format]), first(of_git), "{format}");
    }
}

/// A subject, a note and a session come from others; the bytes of the format from the user.
#[test]
fn nothing_from_a_checkpoint_controls_a_terminal() {
    let world = World::with_commit();
    world.write("f", "1\n");
    world.done(&["save", "-m", "red \u{1b}[31m\u{202e}\n\nbody \u{7}\nmore", "--agent", "tester", "--session", "s1"]);
    let text = printed(&world, &["--format", "%s|%b|%(agent)|%(session)|%(note)|%(worktree)"]);
    assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{7}']), "{text:?}");
    assert!(text.contains("|tester|s1||main\n"), "{text}");
    assert_eq!(printed(&world, &["--format", "%x00%x1b%%"]).as_bytes(), b"\0\x1b%\n");
}

#[rstest::rstest]
#[case::unknown("%q")]
#[case::no_placeholder("oneline")]
#[case::open("%(session")]
fn a_format_with_a_mistake_is_refused(#[case] format: &str) {
    let (world, _) = world(1);
    let output = world.checkpoint(&["list", "--format", format]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(128), 0), "{}", described(&output));
}
