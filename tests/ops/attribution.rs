//! Whose the lines are, through what git does to commits: sums are git's, owners are the truth.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::support::{
    World,
    play::{FILES, Play, check_sums, named},
};

#[test]
fn interleaved_sessions_and_a_partial_commit() {
    let mut play = Play::new(1);
    play.agent("s1", FILES[0]);
    play.human(FILES[0]);
    play.agent("s2", FILES[0]);
    play.agent("s1", FILES[0]);
    play.git(&["add", FILES[0]]);
    play.agent("s2", FILES[1]);
    play.human(FILES[1]);
    play.git(&["commit", "-qm", "a part"]);
    play.check();
    play.commit_all();
    play.check();
    let found = play.json(&["attribution", "--json", "HEAD~1"]);
    let ids: Vec<&str> =
        found["sessions"].as_array().expect("a list").iter().filter_map(|it| it["id"].as_str()).collect();
    assert!(ids.contains(&"s1") && ids.contains(&"s2"), "{found:#}");
    // The worktree is clean.
    let now = play.json(&["attribution", "--json", "--worktree"]);
    assert_eq!(now["files"].as_array().map(Vec::len), Some(0));
}

#[test]
fn amend_rebase_squash_and_cherry_pick_change_no_owner() {
    let mut play = Play::new(2);
    play.agent("s1", FILES[0]);
    play.commit_all();
    play.git(&["commit", "-q", "--amend", "-m", "another message"]);
    play.check();
    play.human(FILES[0]);
    play.agent("s2", FILES[0]);
    play.git(&["commit", "-qa", "--amend", "--no-edit"]);
    play.check();
    play.agent("s1", FILES[1]);
    play.commit_all();
    play.human(FILES[1]);
    play.agent("s2", FILES[1]);
    play.commit_all();
    // Onto a commit that changes the same file elsewhere.
    play.git(&["checkout", "-q", "-b", "side", "HEAD~3"]);
    let mut lines = play.read(FILES[1]);
    let new = play.line("human");
    lines.insert(0, new);
    play.write(FILES[1], lines.concat());
    play.write("other", "x y human\n");
    play.commit_all();
    play.git(&["checkout", "-q", "main"]);
    drop(play.command("git").args(["rebase", "-q", "side"]).output());
    if play.repo().join(".git/rebase-merge").exists() {
        play.git(&["rebase", "--abort"]);
    }
    play.check();
    let squash = "GIT_SEQUENCE_EDITOR='sed -i 2s/pick/fixup/' git rebase -q -i HEAD~2";
    assert!(play.command("sh").args(["-c", squash]).status().expect("sh runs").success());
    play.check();
    play.git(&["checkout", "-q", "-b", "picked", "side"]);
    drop(play.command("git").args(["cherry-pick", "-x", "main"]).output());
    if play.repo().join(".git/CHERRY_PICK_HEAD").exists() {
        play.git(&["cherry-pick", "--abort"]);
    }
    play.check();
}

#[test]
fn squashed_merges_and_stashes_keep_owners() {
    let mut play = Play::new(3);
    play.git(&["checkout", "-q", "-b", "topic"]);
    play.agent("s1", FILES[0]);
    play.commit_all();
    play.human(FILES[0]);
    play.commit_all();
    play.agent("s2", FILES[0]);
    play.commit_all();
    play.git(&["checkout", "-q", "main"]);
    play.git(&["merge", "-q", "--squash", "topic"]);
    play.git(&["commit", "-q", "--no-edit"]);
    play.check();
    play.agent("s1", FILES[1]);
    play.human(FILES[1]);
    play.git(&["stash", "-q"]);
    play.human(FILES[0]);
    play.commit_all();
    play.git(&["stash", "pop", "-q"]);
    play.commit_all();
    play.check();
}

#[test]
fn a_merge_is_only_what_it_changed_itself() {
    let mut play = Play::new(4);
    play.git(&["checkout", "-q", "-b", "topic"]);
    play.agent("s1", FILES[0]);
    play.commit_all();
    play.git(&["checkout", "-q", "main"]);
    play.agent("s2", FILES[1]);
    play.commit_all();
    play.git(&["merge", "-q", "--no-edit", "topic"]);
    let clean = play.json(&["attribution", "--json"]);
    assert_eq!(clean["summary"]["total_committed"], 0, "{clean:#}");
    // An edit that neither side has.
    let mut lines = play.read(FILES[0]);
    let new = play.line("human");
    lines.push(new);
    play.write(FILES[0], lines.concat());
    play.git(&["commit", "-qa", "--amend", "--no-edit"]);
    let evil = play.json(&["attribution", "--json"]);
    assert_eq!(evil["summary"]["human_added"], 1, "{evil:#}");
    assert_eq!(evil["summary"]["total_committed"], 1);
    assert!(play.done(&["attribution", "--patch"]).contains("H  +"));
}

#[test]
fn ranges_are_the_sum_of_their_commits() {
    let mut play = Play::new(5);
    for session in ["s1", "s2", "s1"] {
        play.agent(session, FILES[0]);
        play.human(FILES[1]);
        play.commit_all();
    }
    let whole = play.json(&["attribution", "--json", "HEAD~3..HEAD"]);
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for commit in ["HEAD~2", "HEAD~1", "HEAD"] {
        let one = play.json(&["attribution", "--json", commit]);
        for (key, value) in one["summary"].as_object().expect("an object") {
            *sums.entry(key.clone()).or_default() += value.as_u64().unwrap_or_default();
        }
    }
    for key in ["agent_lines", "human_added", "agent_removed", "human_removed", "total_committed"] {
        assert_eq!(whole["summary"][key].as_u64(), Some(sums[key]), "{key}");
    }
    assert_eq!(whole["commits"].as_array().map(Vec::len), Some(3));
    assert_eq!(whole["range"], "HEAD~3..HEAD");
    let part = play.json(&["attribution", "--json", "HEAD~3..HEAD", "--", "dir"]);
    assert_eq!(part["summary"]["agent_lines"], 0);
}

#[test]
fn policies_decide_and_hints_are_not_counted() {
    let mut play = Play::new(6);
    play.agent("s1", FILES[0]);
    play.commit_all();
    play.done(&["attribution", "--check"]);
    play.git(&["config", "checkpoint.attribution.max-agent-percentage", "10"]);
    let output = play.checkpoint(&["attribution", "--check"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("at most 10 %"));
    play.human(FILES[0]);
    play.git(&["commit", "-qam", "x\n\nCo-authored-by: Claude <noreply@anthropic.com>"]);
    play.done(&["attribution", "--check"]);
    let found = play.json(&["attribution", "--json"]);
    assert_eq!(found["inferred"][0], "claude-code");
    assert_eq!(found["summary"]["agent_lines"], 0);
    assert_eq!(found["summary"]["unknown"], 0, "git-checkpoint was in use");
}

#[test]
fn lines_of_a_repository_that_never_used_it_are_unknown() {
    let world = World::with_commit();
    let found = world.json(&["attribution", "--json"]);
    assert_eq!((&found["summary"]["unknown"], &found["summary"]["total_committed"]), (&1.into(), &1.into()));
    let blame = world.json(&["blame", "--json", "f"]);
    assert_eq!(blame["lines"][0]["owner"], "unknown");
    world.write("f", "base\nnew\n");
    world.write("g", "new\n");
    let blame = world.json(&["blame", "--json", "f"]);
    assert_eq!((&blame["lines"][1]["owner"], &blame["lines"][1]["commit"]), (&"human".into(), &Value::Null));
    assert_eq!(world.json(&["blame", "--json", "g"])["lines"][0]["owner"], "human");
}

#[test]
fn formatted_and_renamed_lines_stay_whose_they_were() {
    let mut play = Play::new(7);
    play.agent("s1", FILES[0]);
    play.commit_all();
    let before = play.json(&["blame", "--json", FILES[0]]);
    // Another session formats the file, and renames it.
    play.done(&["session", "start", "s2", "--agent", "codex"]);
    play.done(&["session", "prompt", "s2", "--message", "format"]);
    let lines = play.read(FILES[0]);
    let text: String = lines.iter().map(|line| format!("    {line}")).collect();
    play.write("new.txt", text + &play.read(FILES[1]).concat());
    std::fs::remove_file(play.repo().join(FILES[0])).expect("it is there");
    play.done(&["save", "--session", "s2"]);
    play.done(&["session", "stop", "s2"]);
    play.commit_all();
    check_sums(&play.world, "HEAD");
    let now = play.json(&["blame", "--json", "new.txt"]);
    let owners = |blame: &Value| {
        let mut owners = Vec::new();
        for group in blame["lines"].as_array().expect("a list") {
            let lines = group["end"].as_u64().expect("a number") + 1 - group["start"].as_u64().expect("a number");
            owners.extend((0..lines).map(|_| named(group).to_owned()));
        }
        owners
    };
    let (before, now) = (owners(&before), owners(&now));
    let agent = |owners: &[String]| owners.iter().filter(|owner| *owner == "s1").count();
    assert!(agent(&before) > 0);
    // The copy of another file is what it wrote.
    let copied = vec!["s2".to_owned(); play.read(FILES[1]).len()];
    assert_eq!(now, [before, copied].concat());
}

#[test]
fn why_tells_prompt_and_transcript() {
    let mut play = Play::new(8);
    let transcript = play.root().join("transcript.jsonl");
    let said = concat!(
        "{\"role\":\"user\",\"content\":\"add \\u001b[31m one line\"}\n",
        "{\"role\":\"assistant\",\"content\":\"here it is\"}\n"
    );
    std::fs::write(&transcript, said).expect("a file can be written");
    let path = transcript.to_str().expect("temporary paths are plain").to_owned();
    let _ = play.line("s1");
    play.done(&["session", "start", "s1", "--agent", "claude-code", "--transcript", &path]);
    play.done(&["session", "prompt", "s1", "--message", "add \u{1b}[31m one line"]);
    play.write("new", "one line\n");
    play.done(&["save", "--session", "s1"]);
    play.done(&["session", "stop", "s1"]);
    let live = play.json(&["why", "--json", "new:1"]);
    assert_eq!((live["commit"].clone(), live["session"].as_str()), (Value::Null, Some("s1")), "{live:#}");
    assert_eq!(live["prompt"]["turn"], 1);
    play.commit_all();
    let found = play.json(&["why", "--json", "new:1"]);
    assert_eq!(found["prompt"]["text"], "add \u{1b}[31m one line");
    assert_eq!(found["transcript"][0]["text"], "here it is", "{found:#}");
    let shown = play.done(&["why", "new:1"]);
    assert!(shown.contains("here it is") && !shown.contains('\u{1b}'), "{shown}");
    let explained = play.json(&["explain", "--json"]);
    assert_eq!(explained["records"][0]["sessions"][0]["lines"], 1);
    assert_eq!(explained["records"][0]["agent_percentage"], 100.0);
}
