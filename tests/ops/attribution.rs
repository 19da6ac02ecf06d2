//! Whose the lines are, through what git does to commits: sums are git's, owners are the truth.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::support::{
    World,
    signed_lines::{FILES, SignedLines, check_sums, named},
};

#[test]
fn interleaved_sessions_and_a_partial_commit() {
    let mut work = SignedLines::new(1);
    work.agent("s1", FILES[0]);
    work.human(FILES[0]);
    work.agent("s2", FILES[0]);
    work.agent("s1", FILES[0]);
    work.git(&["add", FILES[0]]);
    work.agent("s2", FILES[1]);
    work.human(FILES[1]);
    work.git(&["commit", "-qm", "a part"]);
    work.check();
    work.commit_all();
    work.check();
    let found = work.json(&["attribution", "--json", "HEAD~1"]);
    let ids: Vec<&str> =
        found["sessions"].as_array().expect("a list").iter().filter_map(|it| it["id"].as_str()).collect();
    assert!(ids.contains(&"s1") && ids.contains(&"s2"), "{found:#}");
    // The worktree is clean.
    let now = work.json(&["attribution", "--json", "--worktree"]);
    assert_eq!(now["files"].as_array().map(Vec::len), Some(0));
}

#[test]
fn amend_rebase_squash_and_cherry_pick_change_no_owner() {
    let mut work = SignedLines::new(2);
    work.agent("s1", FILES[0]);
    work.commit_all();
    work.git(&["commit", "-q", "--amend", "-m", "another message"]);
    work.check();
    work.human(FILES[0]);
    work.agent("s2", FILES[0]);
    work.git(&["commit", "-qa", "--amend", "--no-edit"]);
    work.check();
    work.agent("s1", FILES[1]);
    work.commit_all();
    work.human(FILES[1]);
    work.agent("s2", FILES[1]);
    work.commit_all();
    // Onto a commit that changes the same file elsewhere.
    work.git(&["checkout", "-q", "-b", "side", "HEAD~3"]);
    let mut lines = work.read(FILES[1]);
    let new = work.line("human");
    lines.insert(0, new);
    work.write(FILES[1], lines.concat());
    work.write("other", "x y human\n");
    work.commit_all();
    work.git(&["checkout", "-q", "main"]);
    drop(work.command("git").args(["rebase", "-q", "side"]).output());
    if work.repo().join(".git/rebase-merge").exists() {
        work.git(&["rebase", "--abort"]);
    }
    work.check();
    let squash = "GIT_SEQUENCE_EDITOR='sed -i 2s/pick/fixup/' git rebase -q -i HEAD~2";
    assert!(work.command("sh").args(["-c", squash]).status().expect("sh runs").success());
    work.check();
    work.git(&["checkout", "-q", "-b", "picked", "side"]);
    drop(work.command("git").args(["cherry-pick", "-x", "main"]).output());
    if work.repo().join(".git/CHERRY_PICK_HEAD").exists() {
        work.git(&["cherry-pick", "--abort"]);
    }
    work.check();
}

#[test]
fn squashed_merges_and_stashes_keep_owners() {
    let mut work = SignedLines::new(3);
    work.git(&["checkout", "-q", "-b", "topic"]);
    work.agent("s1", FILES[0]);
    work.commit_all();
    work.human(FILES[0]);
    work.commit_all();
    work.agent("s2", FILES[0]);
    work.commit_all();
    work.git(&["checkout", "-q", "main"]);
    work.git(&["merge", "-q", "--squash", "topic"]);
    work.git(&["commit", "-q", "--no-edit"]);
    work.check();
    work.agent("s1", FILES[1]);
    work.human(FILES[1]);
    work.git(&["stash", "-q"]);
    work.human(FILES[0]);
    work.commit_all();
    work.git(&["stash", "pop", "-q"]);
    work.commit_all();
    work.check();
}

#[test]
fn a_merge_is_only_what_it_changed_itself() {
    let mut work = SignedLines::new(4);
    work.git(&["checkout", "-q", "-b", "topic"]);
    work.agent("s1", FILES[0]);
    work.commit_all();
    work.git(&["checkout", "-q", "main"]);
    work.agent("s2", FILES[1]);
    work.commit_all();
    work.git(&["merge", "-q", "--no-edit", "topic"]);
    let clean = work.json(&["attribution", "--json"]);
    assert_eq!(clean["summary"]["total_committed"], 0, "{clean:#}");
    // An edit that neither side has.
    let mut lines = work.read(FILES[0]);
    let new = work.line("human");
    lines.push(new);
    work.write(FILES[0], lines.concat());
    work.git(&["commit", "-qa", "--amend", "--no-edit"]);
    let evil = work.json(&["attribution", "--json"]);
    assert_eq!(evil["summary"]["human_added"], 1, "{evil:#}");
    assert_eq!(evil["summary"]["total_committed"], 1);
    assert!(work.done(&["attribution", "--patch"]).contains("H  +"));
}

#[test]
fn ranges_are_the_sum_of_their_commits() {
    let mut work = SignedLines::new(5);
    for session in ["s1", "s2", "s1"] {
        work.agent(session, FILES[0]);
        work.human(FILES[1]);
        work.commit_all();
    }
    let whole = work.json(&["attribution", "--json", "HEAD~3..HEAD"]);
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for commit in ["HEAD~2", "HEAD~1", "HEAD"] {
        let one = work.json(&["attribution", "--json", commit]);
        for (key, value) in one["summary"].as_object().expect("an object") {
            *sums.entry(key.clone()).or_default() += value.as_u64().unwrap_or_default();
        }
    }
    for key in ["agent_lines", "human_added", "agent_removed", "human_removed", "total_committed"] {
        assert_eq!(whole["summary"][key].as_u64(), Some(sums[key]), "{key}");
    }
    assert_eq!(whole["commits"].as_array().map(Vec::len), Some(3));
    assert_eq!(whole["range"], "HEAD~3..HEAD");
    let part = work.json(&["attribution", "--json", "HEAD~3..HEAD", "--", "dir"]);
    assert_eq!(part["summary"]["agent_lines"], 0);
}

#[test]
fn policies_decide_and_hints_are_not_counted() {
    let mut work = SignedLines::new(6);
    work.agent("s1", FILES[0]);
    work.commit_all();
    work.done(&["attribution", "--check"]);
    work.git(&["config", "checkpoint.attribution.max-agent-percentage", "10"]);
    let output = work.checkpoint(&["attribution", "--check"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("at most 10 %"));
    work.human(FILES[0]);
    work.git(&["commit", "-qam", "x\n\nCo-authored-by: Claude <noreply@anthropic.com>"]);
    work.done(&["attribution", "--check"]);
    let found = work.json(&["attribution", "--json"]);
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

/// Without its parent, nobody knows which lines a commit added.
#[test]
fn the_first_commit_of_a_shallow_clone_is_refused_with_the_way_out() {
    let world = World::with_commit();
    world.done(&["enable"]);
    world.done(&["session", "prompt", "s1", "--agent", "ag", "-m", "add"]);
    world.write("f", "1\n2\n");
    world.done(&["session", "stop", "s1"]);
    world.git(&["commit", "-qam", "1"]);
    let clone = world.root().join("shallow");
    let (url, clone) = (format!("file://{}", world.repo().display()), clone.to_str().expect("UTF-8"));
    world.git(&["clone", "-q", "--depth", "1", &url, clone]);
    world.git(&["-C", clone, "fetch", "-q", "origin", "refs/checkpoints/history:refs/checkpoints/history"]);
    for arguments in [&["attribution", "--check"][..], &["attribution", "HEAD"], &["explain", "HEAD"]] {
        let output = world.checkpoint(&[&["-C", clone], arguments].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("this shallow clone begins at") && said.contains("git fetch --deepen=1"), "{said}");
    }
    world.git(&["-C", clone, "fetch", "-q", "--deepen=1"]);
    let here = world.json(&["attribution", "--json"]);
    assert_eq!(world.json(&["-C", clone, "attribution", "--json"])["summary"], here["summary"]);
    assert_eq!(here["summary"]["agent_lines"], 2, "{here}");
}

/// Git blames the first commit of a shallow clone for all lines that are older.
#[test]
fn lines_that_are_older_than_a_shallow_clone_are_unknown() {
    let world = World::with_commit();
    world.done(&["enable"]);
    world.done(&["session", "prompt", "s1", "--agent", "ag", "-m", "add"]);
    world.write("f", "1\n2\n");
    world.done(&["session", "stop", "s1"]);
    world.git(&["commit", "-qam", "1"]);
    world.write("g", "of a person\n");
    world.commit_all("second");
    let clone = world.root().join("shallow");
    let (url, clone) = (format!("file://{}", world.repo().display()), clone.to_str().expect("UTF-8"));
    world.git(&["clone", "-q", "--depth", "1", &url, clone]);
    world.git(&["-C", clone, "fetch", "-q", "origin", "refs/checkpoints/history:refs/checkpoints/history"]);
    let owner = |file: &str| world.json(&["-C", clone, "blame", "--json", file])["lines"][0]["owner"].clone();
    assert_eq!((owner("f"), owner("g")), ("unknown".into(), "unknown".into()));
    assert_eq!(world.json(&["-C", clone, "why", "--json", "f:1"])["owner"], "unknown");
    world.git(&["-C", clone, "fetch", "-q", "--unshallow"]);
    assert_eq!((owner("f"), owner("g")), ("agent".into(), "human".into()));
}

#[test]
fn formatted_and_renamed_lines_stay_whose_they_were() {
    let mut work = SignedLines::new(7);
    work.agent("s1", FILES[0]);
    work.commit_all();
    let before = work.json(&["blame", "--json", FILES[0]]);
    // Another session formats the file, and renames it.
    work.done(&["session", "start", "s2", "--agent", "codex"]);
    work.done(&["session", "prompt", "s2", "--message", "format"]);
    let lines = work.read(FILES[0]);
    let text: String = lines.iter().map(|line| format!("    {line}")).collect();
    work.write("new.txt", text + &work.read(FILES[1]).concat());
    std::fs::remove_file(work.repo().join(FILES[0])).expect("it is there");
    work.done(&["save", "--session", "s2"]);
    work.done(&["session", "stop", "s2"]);
    work.commit_all();
    check_sums(&work.world, "HEAD");
    let now = work.json(&["blame", "--json", "new.txt"]);
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
    let copied = vec!["s2".to_owned(); work.read(FILES[1]).len()];
    assert_eq!(now, [before, copied].concat());
}

#[test]
fn why_tells_prompt_and_transcript() {
    let mut work = SignedLines::new(8);
    let transcript = work.root().join("transcript.jsonl");
    let said = concat!(
        "{\"role\":\"user\",\"content\":\"add \\u001b[31m one line\"}\n",
        "{\"role\":\"assistant\",\"content\":\"here it is\"}\n"
    );
    std::fs::write(&transcript, said).expect("a file can be written");
    let path = transcript.to_str().expect("temporary paths are plain").to_owned();
    let _ = work.line("s1");
    work.done(&["session", "start", "s1", "--agent", "claude-code", "--transcript", &path]);
    work.done(&["session", "prompt", "s1", "--message", "add \u{1b}[31m one line"]);
    work.write("new", "one line\n");
    work.done(&["save", "--session", "s1"]);
    work.done(&["session", "stop", "s1"]);
    let live = work.json(&["why", "--json", "new:1"]);
    assert_eq!((live["commit"].clone(), live["session"].as_str()), (Value::Null, Some("s1")), "{live:#}");
    assert_eq!(live["prompt"]["turn"], 1);
    work.commit_all();
    let found = work.json(&["why", "--json", "new:1"]);
    assert_eq!(found["prompt"]["text"], "add \u{1b}[31m one line");
    assert_eq!(found["transcript"][0]["text"], "here it is", "{found:#}");
    let shown = work.done(&["why", "new:1"]);
    assert!(shown.contains("here it is") && !shown.contains('\u{1b}'), "{shown}");
    let explained = work.json(&["explain", "--json"]);
    assert_eq!(explained["records"][0]["sessions"][0]["lines"], 1);
    assert_eq!(explained["records"][0]["agent_percentage"], 100.0);
}
