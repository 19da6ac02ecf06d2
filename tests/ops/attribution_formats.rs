//! What is printed in the formats of others is what they define.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::support::{World, processes::described, program, template::Template};

/// One agent, two files with blanks in their names, and a person.
static WORK: Template = Template::new(|world| {
    world.commit_base();
    world.done(&["enable"]);
    world.done(&["session", "start", "s|1", "--agent", "claude-code", "--model", "claude-x"]);
    world.done(&["session", "prompt", "s|1", "--message", "go"]);
    world.write("a b", "1 alpha\n2 beta\n3 gamma\n");
    world.write("c", "4 delta\n");
    world.done(&["save", "--session", "s|1"]);
    world.done(&["session", "stop", "s|1"]);
    world.write("a b", "1 alpha\n2 beta\n3 gamma\n5 epsilon\n");
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "work"]);
});

fn world() -> World {
    WORK.world()
}

/// The rules of Agent Trace's JSON schema, version 0.1.0.
fn check_trace(record: &Value) {
    let text = |value: &Value| value.as_str().expect("a string").to_owned();
    let version = text(&record["version"]);
    assert!(version.split('.').count() == 3 && version.split('.').all(|part| part.parse::<u32>().is_ok()));
    let id = text(&record["id"]);
    let lengths: Vec<usize> = id.split('-').map(str::len).collect();
    assert_eq!(lengths, [8, 4, 4, 4, 12]);
    assert!(id.chars().all(|c| c == '-' || c.is_ascii_hexdigit()));
    let time = text(&record["timestamp"]);
    assert!(time.len() >= 20 && time.as_bytes()[10] == b'T', "{time}");
    assert_eq!(record["vcs"]["type"], "git");
    assert_eq!(text(&record["vcs"]["revision"]).len(), 40);
    text(&record["tool"]["name"]);
    text(&record["tool"]["version"]);
    for key in record["metadata"].as_object().expect("an object").keys() {
        assert!(key.contains('.'), "vendors' keys are reverse domains");
    }
    let check_contributor = |contributor: &Value| {
        if !contributor.is_null() {
            assert!(["human", "ai", "mixed", "unknown"].contains(&contributor["type"].as_str().expect("a type")));
            assert!(contributor["model_id"].as_str().is_none_or(|id| id.chars().count() <= 250));
        }
    };
    for file in record["files"].as_array().expect("a list") {
        text(&file["path"]);
        for conversation in file["conversations"].as_array().expect("a list") {
            check_contributor(&conversation["contributor"]);
            for related in conversation["related"].as_array().into_iter().flatten() {
                text(&related["type"]);
                assert!(text(&related["url"]).split_once(':').is_some());
            }
            for range in conversation["ranges"].as_array().expect("a list") {
                let (start, end) = (range["start_line"].as_u64(), range["end_line"].as_u64());
                assert!(start >= Some(1) && start <= end);
                check_contributor(&range["contributor"]);
            }
        }
    }
}

#[test]
fn agent_trace_records_follow_the_schema() {
    let world = world();
    let text = world.done(&["attribution", "--format", "agent-trace", "HEAD~1..HEAD"]);
    let records: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(records.len(), 1);
    records.iter().for_each(check_trace);
    let file = &records[0]["files"][0];
    assert_eq!(file["path"], "a b");
    let agent = file["conversations"].as_array().expect("a list").iter().find(|it| it["contributor"]["type"] == "ai");
    let agent = agent.expect("the agent's");
    assert_eq!(agent["contributor"]["model_id"], "anthropic/claude-x");
    assert_eq!((&agent["ranges"][0]["start_line"], &agent["ranges"][0]["end_line"]), (&1.into(), &3.into()));
}

/// Keys, and the lines that each has.
type Entries = Vec<(String, Vec<u32>)>;

/// A parser of git-ai's notes: paths, keys with ranges, `---`, metadata.
fn parse_note(note: &str) -> (BTreeMap<String, Entries>, Value) {
    let (attestations, metadata) = note.split_once("---\n").expect("a divider");
    let mut files: BTreeMap<String, Entries> = BTreeMap::new();
    let mut path = String::new();
    for line in attestations.lines() {
        let Some(entry) = line.strip_prefix("  ") else {
            let plain = line.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(line);
            plain.clone_into(&mut path);
            assert!(path.len() < line.len() || !line.contains(' '), "blanks are quoted");
            files.insert(path.clone(), Vec::new());
            continue;
        };
        let (key, ranges) = entry.split_once(' ').expect("a key and ranges");
        let mut lines = Vec::new();
        for range in ranges.split(',') {
            let (start, end) = range.split_once('-').unwrap_or((range, range));
            lines.extend(start.parse::<u32>().expect("a number")..=end.parse().expect("a number"));
        }
        files.get_mut(&path).expect("a path stands above").push((key.to_owned(), lines));
    }
    (files, serde_json::from_str(metadata).expect("JSON"))
}

#[test]
fn git_ai_notes_are_parsed_back() {
    let world = world();
    let (files, metadata) = parse_note(&world.done(&["attribution", "--format", "git-ai"]));
    assert_eq!(metadata["schema_version"], "authorship/3.0.0");
    assert_eq!(metadata["base_commit_sha"].as_str(), Some(world.git(&["rev-parse", "HEAD"]).trim()));
    let is_hex = |text: &str, length: usize| text.len() == length && text.bytes().all(|it| it.is_ascii_hexdigit());
    let mut lines = BTreeMap::new();
    for (key, ranges) in &files["a b"] {
        if let Some(rest) = key.strip_prefix("h_") {
            assert!(is_hex(rest, 14) && metadata["humans"][key]["author"].is_string());
            lines.insert("human", ranges.clone());
        } else {
            let (session, trace) = key.split_once("::").expect("a session and a trace");
            assert!(is_hex(session.strip_prefix("s_").expect("s_"), 14));
            assert!(is_hex(trace.strip_prefix("t_").expect("t_"), 14));
            assert_eq!(metadata["sessions"][session]["agent_id"]["tool"], "claude-code");
            lines.insert("agent", ranges.clone());
        }
    }
    assert_eq!(lines, BTreeMap::from([("agent", vec![1, 2, 3]), ("human", vec![4])]));
    assert_eq!(files["c"].len(), 1);
}

#[test]
fn markdown_is_a_table_that_names_cannot_break() {
    let world = world();
    let text = world.done(&["attribution", "--format", "markdown"]);
    assert!(text.starts_with("**80.0 % agent** of 5 committed lines in "), "{text}");
    assert!(text.contains("s&#124;1"), "{text}");
}

#[test]
fn records_of_others_do_no_harm() {
    let world = world();
    let id = world.json(&["explain", "--json"])["records"][0]["id"].as_str().expect("an id").to_owned();
    let blob = world.id(&["rev-parse", "HEAD:c"]);
    let lay = |text: &str| {
        let script = format!(
            "export GIT_INDEX_FILE=.git/lay && git read-tree refs/checkpoints/history && \
             git update-index --add --cacheinfo 100644,$(git hash-object -w --stdin),{}/{}/attribution && \
             git update-ref refs/checkpoints/history $(git commit-tree -p refs/checkpoints/history -m x $(git write-tree))",
            &id[..2],
            &id[2..]
        );
        let mut child =
            world.command("sh").args(["-c", &script]).stdin(std::process::Stdio::piped()).spawn().expect("sh");
        std::io::Write::write_all(&mut child.stdin.take().expect("piped"), text.as_bytes()).expect("it reads");
        assert!(child.wait().expect("it runs").success());
    };
    lay(&format!(
        "attribution 1\nauthor 0 agent session=s agent=%1B]0;x%07 model=\u{202e}\nfile {blob} c\n1-4000000000 0\nremoved 200000000 0\n"
    ));
    for arguments in [
        &["attribution"][..],
        &["attribution", "--patch"],
        &["attribution", "--stat"],
        &["attribution", "--porcelain"],
        &["attribution", "--format", "markdown"],
        &["attribution", "--format", "git-ai"],
        &["blame", "c"],
        &["blame", "--porcelain", "c"],
        &["why", "c:1"],
        &["explain"],
    ] {
        let text = world.done(arguments);
        assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{arguments:?}: {text:?}");
    }
    let found = world.json(&["attribution", "--json"]);
    assert_eq!(found["summary"]["agent_lines"], 1, "{found:#}");
    // What is no id of a session is no author.
    lay(&format!("attribution 1\nauthor 0 agent session=%1B[31m%0Ax\nfile {blob} c\n1-5 0\n"));
    let found = world.json(&["attribution", "--json"]);
    assert_eq!((&found["summary"]["agent_lines"], &found["sessions"]), (&json!(0), &json!([])), "{found:#}");
    lay("nonsense\n");
    let output = world.checkpoint(&["attribution", "--json"]);
    assert!(output.status.success() && String::from_utf8_lossy(&output.stderr).contains("damaged"));
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(found["summary"]["total_committed"], 5);
}

/// A clone has the commit whose message names a record, but not the record.
#[test]
fn records_that_are_not_here_leave_the_authors_unknown() {
    let work = world();
    let record = work.json(&["attribution", "--json"])["records"][0].as_str().expect("an id").to_owned();
    let clone = work.root().join("clone");
    work.git(&["clone", "-q", &format!("file://{}", work.repo().display()), clone.to_str().expect("UTF-8")]);
    let run = |program: &str, arguments: &[&str]| {
        work.command(program).args(arguments).current_dir(&clone).output().expect("it runs")
    };
    let checkpoint = |arguments: &[&str]| run(program(), arguments);
    let stdout = |output: std::process::Output| String::from_utf8(output.stdout).expect("text");

    let formats: [&[&str]; 4] = [&[], &["--stat"], &["--format", "markdown"], &["HEAD~1..HEAD"]];
    for format in formats {
        let text = stdout(checkpoint(&[&["attribution"], format].concat()));
        assert!(text.to_lowercase().contains("unknown") && !text.contains("0.0"), "{format:?}: {text}");
    }
    let text = stdout(checkpoint(&["attribution"]));
    assert!(text.contains(&format!("not here: the record {record}\n")), "{text}");
    let json: Value = serde_json::from_str(&stdout(checkpoint(&["attribution", "--json"]))).expect("JSON");
    assert_eq!(json["summary"]["agent_percentage"], Value::Null);
    assert_eq!(json["missing_records"], json!([record]));
    let porcelain = stdout(checkpoint(&["attribution", "--porcelain"]));
    assert!(porcelain.contains(&format!("\nmissing-record {record}\n")), "{porcelain}");
    assert!(porcelain.contains("\nsummary agent_percentage -\n"), "{porcelain}");

    let check = checkpoint(&["attribution", "--check"]);
    let stderr = String::from_utf8_lossy(&check.stderr).into_owned();
    assert_eq!((check.status.code(), stderr.contains("error: 100.0 % unknown lines")), (Some(1), true), "{stderr}");
    // Whether it is from before git-checkpoint was in use, only records would say.
    let earlier = checkpoint(&["attribution", "--check", "HEAD~1"]);
    assert_eq!(earlier.status.code(), Some(1), "{}", described(&earlier));
    let hint =
        "hint: there are no records in this repository; if a remote has the records, 'git checkpoint fetch <remote>'";
    assert!(described(&earlier).contains(hint), "{}", described(&earlier));
    // The trailer was dropped; the commit before it still shows that git-checkpoint was in use.
    run("sh", &["-c", "seq 9 >by-whom && git add by-whom && git commit -qm 'no trailer'"]);
    let without = checkpoint(&["attribution", "--check"]);
    assert_eq!(without.status.code(), Some(1), "{}", described(&without));
    run("git", &["reset", "-q", "--hard", "HEAD~1"]);
    run(
        "sh",
        &[
            "-c",
            "git checkout -q --detach && seq 9 >by-whom && git add by-whom && git commit -q --amend -m 'no trailer'",
        ],
    );
    let amended = checkpoint(&["attribution", "--check"]);
    assert_eq!(amended.status.code(), Some(1), "{}", described(&amended));
    assert!(described(&amended).contains(hint), "{}", described(&amended));
    // Since it is enabled, it is known what is earlier; that records are missing is said.
    run("git", &["checkpoint", "enable"]);
    let amended = checkpoint(&["attribution", "--check"]);
    assert_eq!(amended.status.code(), Some(0), "{}", described(&amended));
    let warning = "no record is here: commits without a trailer are not checked";
    assert!(described(&amended).contains(warning), "{}", described(&amended));
    run("git", &["checkpoint", "disable"]);
    run("git", &["checkout", "-q", "-"]);
    run("git", &["config", "checkpoint.attribution.max-unknown-percentage", "100"]);
    assert_eq!(checkpoint(&["attribution", "--check"]).status.code(), Some(0));
    run("git", &["config", "--unset", "checkpoint.attribution.max-unknown-percentage"]);

    let explained = checkpoint(&["explain"]);
    let said = described(&explained);
    assert_eq!(explained.status.code(), Some(1));
    assert!(said.contains(&format!("the record {record} of commit ")) && said.contains(" is not here\n"), "{said}");
    let fetch = said.split('\'').find(|part| part.starts_with("git checkpoint fetch")).expect("a command").to_owned();
    let words: Vec<&str> =
        fetch.split(' ').skip(1).map(|word| if word == "<remote>" { "origin" } else { word }).collect();
    assert!(run("git", &words).status.success(), "{fetch}");
    assert!(stdout(checkpoint(&["attribution", "--stat", "--check"])).contains("80.0% agent\n"));
}

#[test]
fn a_check_of_a_path_that_no_file_has_fails() {
    let world = World::with_hooks();
    world.write("h", "of a person\n");
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "of a person"]);
    let check = |path: &str| world.checkpoint(&["attribution", "--check", "--", path]);
    let refused = check("nothere");
    assert!(refused.status.code() == Some(128) && described(&refused).contains("nothere"), "{}", described(&refused));
    // The commit does not change it.
    assert_eq!(check("f").status.code(), Some(0));
    assert_eq!(check("h").status.code(), Some(0));
}
