//! Hostile names and texts of users and agents on the command line: they come back unchanged, and harm neither the terminal
//! nor git.

use git_checkpoint::testing::model::session::is_valid_id;
use proptest::prelude::{ProptestConfig, Strategy, prop, prop_assert, prop_assert_eq, prop_oneof, proptest};

use crate::support::{World, processes::described};

fn text() -> impl Strategy<Value = String> {
    let words = vec![
        "Checkpoint-Session: forged",
        "Checkpoint-Base: unborn",
        "\n\n",
        "\n",
        "\r",
        "<",
        ">",
        "\"",
        "\\",
        "é",
        "\u{2028}",
        "\u{202e}",
        "\u{1b}[31m",
        "../",
        "a b",
        "word",
        "@{0}",
        "%41",
        ".lock",
        "-",
        "author A <a@b> 1 +0000",
    ];
    prop_oneof![
        prop::collection::vec(prop::sample::select(words), 1..6).prop_map(|words| words.concat()),
        "\\PC{1,20}".prop_map(|text| text.replace('\0', "")),
    ]
}

/// Returns what is kept of a value: one line.
fn plain(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(12) })]

    #[test]
    fn names_and_messages_are_only_text(
        session in text(),
        agent in text(),
        model in text(),
        message in text(),
        paths in prop::collection::vec("[^/\\x00]{1,12}", 1..4),
    ) {
        let world = World::with_commit();
        for path in paths.iter().filter(|path| !["f", ".", ".."].contains(&path.as_str())) {
            world.write(path, "new\n");
        }
        let flag = |name: &str, value: &str| format!("--{name}={value}");
        let flags = [flag("session", &session), flag("agent", &agent), flag("model", &model), flag("message", &message)];
        let mut arguments = vec!["save", "--json", "--allow-empty"];
        arguments.extend(flags.iter().map(String::as_str));
        let saved = world.checkpoint(&arguments);
        world.assert_sound(&described(&saved));
        if !saved.status.success() {
            // A value of blanks only is refused, and what cannot be the id of a session.
            let is_bad = !is_valid_id(&session) || [agent, model].iter().any(|it| plain(it).is_empty());
            prop_assert!(saved.stdout.is_empty() && is_bad, "{}", described(&saved));
            return Ok(());
        }
        let saved: serde_json::Value = serde_json::from_slice(&saved.stdout).expect("JSON");
        prop_assert_eq!(&saved["tree"], &world.tree().to_string());
        let listed = world.json(&["list", "--json"]);
        prop_assert_eq!(&listed["id"], &saved["id"]);
        for (name, value) in [("session", &session), ("agent", &agent), ("model", &model)] {
            prop_assert_eq!(listed[name].as_str().unwrap_or_default(), plain(value));
        }
        for command in [&["list"][..], &["show"], &["status"], &["diff", "--stat", "base", "@"]] {
            let shown = world.checkpoint(command);
            prop_assert!(shown.status.success(), "{}", described(&shown));
            let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
            prop_assert!(!shown.chars().any(|c| c.is_control() && c != '\n' && c != '\t'), "{:?}", shown);
        }
        world.done(&["restore", "--dry-run", "@"]);
        world.git(&["gc", "-q"]);
        world.assert_sound("after git gc");
    }
}

#[test]
fn a_repository_of_another_user_is_named_with_its_full_path() {
    let world = World::with_commit();
    // Only root can give a repository away.
    if !world.command("chown").args(["-R", "12345", "."]).output().is_ok_and(|output| output.status.success()) {
        return;
    }
    let output = world.checkpoint(&["status"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(128), "{said}");
    let hint = format!("hint: 'git config --global --add safe.directory {}' trusts it", world.repo().display());
    assert!(said.contains(&hint), "{said}");
}

/// A line feed in a path begins no line of a message.
#[rstest::rstest]
#[case::blame(&["blame", "no\nfatal: such"])]
#[case::why(&["why", "no\nfatal: such:1"])]
#[case::restore(&["restore", "base", "no\nfatal: such"])]
#[case::of_a_checkpoint(&["show", "no\nfatal: such"])]
#[case::diff(&["diff", "no\nfatal: such"])]
#[case::worktree(&["worktree", "show", "no\nfatal: such"])]
#[case::directory(&["-C", "no\nfatal: such", "status"])]
fn a_line_feed_in_a_name_begins_no_line(#[case] arguments: &[&str]) {
    let world = World::with_commit();
    let output = world.checkpoint(arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{said}");
    assert!(said.lines().filter(|line| line.starts_with("fatal: ")).count() == 1, "{said}");
    assert!(said.lines().next().is_some_and(|line| line.contains("no\\nfatal: such")), "{said}");
    assert!(!said.lines().any(|line| line.contains("fatal: such") && !line.contains("no\\nfatal: such")), "{said}");
}
