//! Rounds whose agents write the same text, and users who type beside it: whose line is it?

use rstest::rstest;
use serde_json::{Value, json};

use super::races::{authors, race};
use crate::support::World;

/// Several programs write the same new file, and something of their own beside it: each has its own work, as has the commit of the one
/// that is applied.
#[rstest]
#[case::in_the_same_file("parse.py")]
#[case::in_files_of_their_own("made by $n.txt")]
fn programs_that_write_the_same_text_have_their_own_work(#[case] file: &str) {
    let world = World::with_hooks();
    world.sh("printf 'hu %s\\n' one two three >n.txt; git add .; git commit -qm n");
    let script = format!(
        "n=$GIT_CHECKPOINT_NUMBER; sed -i \"2s/.*/ag $n replaced two/\" n.txt
         printf 'def parse(line):\\n    fields = line.split(\",\")\\n    return [f.strip() for f in fields]\\n' >\"{file}\"; sleep 0.$n"
    );
    let (printed, code) = race(&world, &["--count", "3", "--group", "run", "--", "sh", "-c", &script]);
    assert_eq!(code, Some(0), "{printed}");
    let name = |number: usize| file.replace("$n", &number.to_string());
    let mut sessions = Vec::new();
    for (at, round) in printed["rounds"].as_array().expect("a list").iter().enumerate() {
        let session = authors(&world, &round["branch"], "n.txt")[1].1.clone();
        assert_eq!(authors(&world, &round["branch"], &name(at + 1)), vec![("agent".to_owned(), session.clone()); 3]);
        let explained = world.json(&["explain", "--json", round["branch"].as_str().expect("a branch")]);
        let of_records = explained["records"].as_array().expect("a list").iter();
        let of_records = of_records.flat_map(|record| record["sessions"].as_array().expect("a list"));
        assert!(of_records.clone().all(|part| part["id"] == session.as_str()), "{explained}");
        assert!(!sessions.contains(&session));
        sessions.push(session);
    }
    let second = &printed["rounds"][1]["branch"];
    world.done(&["round", "apply", second.as_str().expect("a branch")]);
    let check = |when: &str, files: &[(&str, usize)]| {
        for (file, at) in files {
            let line = world.json(&["blame", "--json", file])["lines"][*at].clone();
            assert_eq!((&line["owner"], &line["session"]), (&json!("agent"), &json!(sessions[1])), "{when}: {line}");
        }
    };
    // Until it is committed, a new file may be that of another round that has it under another name.
    let new = name(2);
    let all = [("n.txt", 1), (new.as_str(), 0)];
    check("before the commit", if name(1) == new { &all } else { &all[..1] });
    world.sh("git add -A; git commit -qm winner");
    check("after the commit", &all);
    let explained = world.json(&["explain", "--json", "HEAD"]);
    let of_records = explained["records"].as_array().expect("a list").iter();
    for part in of_records.flat_map(|record| record["sessions"].as_array().expect("a list")) {
        assert_eq!(part["id"], sessions[1].as_str(), "{explained}");
    }
}

/// The user takes one file of a round, and types the other one.
#[test]
fn what_the_user_types_beside_a_file_of_a_round() {
    let world = World::with_hooks();
    world.sh("printf 'hu %s\\n' one two three >n.txt; git add .; git commit -qm n");
    let script = "sed -i '2s/.*/ag replaced two/' n.txt
         printf 'def parse(line):\\n    fields = line.split(\",\")\\n    return [f.strip() for f in fields]\\n' >other.py";
    let (printed, code) = race(&world, &["--count", "1", "--", "sh", "-c", script]);
    assert_eq!(code, Some(0), "{printed}");
    let branch = printed["rounds"][0]["branch"].as_str().expect("a branch");
    world.done(&["round", "apply", branch, "--files", "other.py"]);
    world.sh("sed -i '2s/.*/hu replaced two/' n.txt");
    let check = |when: &str| {
        let lines = |file: &str| world.json(&["blame", "--json", file])["lines"].clone();
        let kinds =
            |lines: &Value| lines.as_array().expect("a list").iter().map(|it| it["owner"].clone()).collect::<Vec<_>>();
        assert!(kinds(&lines("n.txt")).iter().all(|owner| owner == "human"), "{when}: {}", lines("n.txt"));
        assert!(kinds(&lines("other.py")).iter().all(|owner| owner == "agent"), "{when}: {}", lines("other.py"));
    };
    check("before the commit");
    world.sh("git add -N .; git commit -qam mine");
    check("after the commit");
}

/// Two programs write files that are partly equal, in two commits each. However the work of one comes here, it is that one's.
#[rstest]
#[case::all("git checkpoint round apply $branch", "new same t")]
#[case::files("git checkpoint round apply $branch --files new t", "new t")]
#[case::one_file("git checkpoint round apply $branch --files same", "same")]
#[case::hunks("printf 'y\\ny\\n' | git checkpoint round apply -p $branch --files t", "t")]
#[case::checkout("git checkout $branch -- new t", "new t")]
#[case::restore("git checkpoint restore $branch -- new t", "new t")]
#[case::squash("git merge -q --squash $branch", "new t")]
#[case::pick("git cherry-pick -n $branch~1", "new t")]
// Nothing says of which of them a file is that both have as a whole: it is left out.
#[case::patch("git diff HEAD $branch -- new t | git apply", "new t")]
fn files_of_two_programs_that_are_partly_equal(#[case] how: &str, #[case] files: &str, #[values(0, 1)] winner: usize) {
    let world = World::with_hooks();
    world.sh("seq -f 'a line that a person wrote, %g' 20 >t; git add t; git commit -qm t");
    let script = r#"n=$GIT_CHECKPOINT_NUMBER; common() { seq -f 'both of them wrote this line, %g' 5; }
        (common; echo "a line of its own by program $n") >new
        sed -i -e '3s/.*/both of them replaced line three/' -e "17s/.*/program $n replaced line seventeen/" t
        git add -A; git commit -qm work; common >same; sleep 1.$n"#;
    let (printed, code) = race(&world, &["--count", "2", "--", "sh", "-c", script]);
    assert_eq!(code, Some(0), "{printed}");
    let branch = printed["rounds"][winner]["branch"].as_str().expect("a branch");
    let session = authors(&world, &printed["rounds"][winner]["branch"], "new")[0].1.clone();
    world.sh(&format!("branch={branch}; {how}"));
    for when in ["before the commit", "after the commit"] {
        for file in files.split(' ') {
            let blamed = world.json(&["blame", "--json", file]);
            let lines = blamed["lines"].as_array().expect("a list").iter();
            let own: Vec<_> = lines.filter(|line| file != "t" || line["owner"] != "human").collect();
            assert_eq!(own.len(), if file == "t" { 2 } else { 1 }, "{when}, {file}: {blamed:#}");
            for line in own {
                let found = (&line["owner"], &line["session"]);
                assert_eq!(found, (&json!("agent"), &json!(session)), "{when}, {file}: {blamed:#}");
            }
        }
        if when == "before the commit" {
            world.sh("git add -A; git commit -qm taken");
        }
    }
    let explained = world.json(&["explain", "--json", "HEAD"]);
    let of_records = explained["records"].as_array().expect("a list").iter();
    for part in of_records.flat_map(|record| record["sessions"].as_array().expect("a list")) {
        assert_eq!(part["id"], session.as_str(), "{explained:#}");
    }
    world.assert_sound("after the work of one program was taken");
}
