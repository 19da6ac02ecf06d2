//! What was fetched is shown, and decides nothing about what is written here; but the authors of commits of others stay.

use std::fs;

use super::sharing::{AS_JOINED, HISTORY, TRACKING, Team};

/// The id of a record that a stranger makes up.
pub(super) const FORGED: &str = "0000000000000006";

/// A record that says: the session `s9` has written the first line of `path`, whose blob is `after`.
pub(super) fn record(
    id: &str,
    commit: &str,
    parent: &str,
    (path, before, after): (&str, &str, &str),
) -> Vec<(String, String)> {
    let (shard, rest) = id.split_at(2);
    let none = "0".repeat(40);
    let record = format!(
        "version = 1\nid = \"{id}\"\nrevision = 1\ncommit = \"{commit}\"\nparent = \"{parent}\"\ntree = \"{none}\"\n\
         seconds = 1748779200\nbase = \"{parent}\"\nworktree = \"main\"\ntool = \"0.1.0\"\n\n[counts]\nagent = 1\nhuman = 0\n\
         mixed = 0\nunknown = 0\nagent-removed = 0\nhuman-removed = 0\n\n[[session]]\nid = \"s9\"\nagent = \"claude-code\"\n\
         turns = [1]\ncheckpoints = 1\n\n[[file]]\npath = \"{path}\"\nbefore = \"{before}\"\nafter = \"{after}\"\n\
         sessions = [0]\n"
    );
    let attribution =
        format!("attribution 1\nauthor 0 agent session=s9 turn=1 agent=claude-code\nfile {after} {path}\n1-2 0\n");
    let index = |name: &str, key: &str| (format!("{name}/{}/{}", &key[..2], &key[2..]), format!("{id}\n"));
    vec![
        (format!("{shard}/{rest}/record.toml"), record),
        (format!("{shard}/{rest}/attribution"), attribution),
        (format!("{shard}/{rest}/links/{commit}"), "version = 1\nhow = \"commit\"\n".to_owned()),
        index("commits", commit),
        index("parents", parent),
    ]
}

/// Adds files to the log in the server.
pub(super) fn forge(team: &Team, files: &[(String, String)]) {
    let mut script = format!(
        "cd ../server.git; {AS_JOINED}; export GIT_INDEX_FILE=../forged; rm -f ../forged; parent=
        if git rev-parse -q --verify {HISTORY} >../was; then git read-tree {HISTORY}; parent=\"-p $(cat ../was)\"; fi\n"
    );
    for (at, (path, text)) in files.iter().enumerate() {
        let file = team.path(&format!("forged-{at}"));
        fs::write(&file, text).expect("written");
        script +=
            &format!("git update-index --add --cacheinfo 100644,$(git hash-object -w '{}'),{path}\n", file.display());
    }
    script += &format!(
        "git update-ref {HISTORY} $(git commit-tree $parent -m '1 record added or completed, 1 commit linked' $(git write-tree))\n"
    );
    team.world.sh(&script);
}

/// Runs a script in the clone `name`.
fn sh(team: &Team, name: &str, script: &str) -> String {
    team.world.sh(&format!("cd ../{name}; {script}"))
}

fn message(team: &Team, name: &str) -> String {
    team.git(name, &["log", "-1", "--format=%B"])
}

fn own_paths(team: &Team, name: &str) -> String {
    team.git(name, &["ls-tree", "-r", "--name-only", HISTORY])
}

fn assert_unmoved(team: &Team, name: &str) {
    let message = message(team, name);
    assert!(!message.contains("Checkpoint:"), "{message}");
    let paths = own_paths(team, name);
    assert!(!paths.contains(&FORGED[2..]), "{paths}");
}

/// A stranger says that an agent has written just what a person is about to write.
#[test]
fn a_forged_record_gives_no_trailer_to_a_new_commit() {
    let team = Team::of(&["b"]);
    team.work("b", "y", "of b");
    team.done("b", &["push"]);
    let (head, before) = (team.git("b", &["rev-parse", "HEAD"]), team.git("b", &["rev-parse", "HEAD:y"]));
    sh(&team, "b", "printf 'of b\\nmy own line\\n' >y");
    let after = team.git("b", &["hash-object", "y"]);
    forge(&team, &record(FORGED, &"1".repeat(40), &head, ("y", &before, &after)));
    team.done("b", &["fetch"]);
    sh(&team, "b", "git commit -qam 'my own work'");
    assert_unmoved(&team, "b");
    let blame = team.done("b", &["blame", "y"]);
    assert!(blame.contains("human") && !blame.contains("s9"), "{blame}");
}

/// A stranger says that a commit which was made here, by a person, is an agent's.
#[rstest::rstest]
#[case::message("git commit -q --amend -m 'other words'")]
#[case::content("echo more >>y; git commit -qa --amend --no-edit")]
#[case::reset("git reset -q --soft HEAD~1; git commit -qm 'once more'")]
fn a_forged_record_gives_no_trailer_to_an_amended_commit(#[case] amend: &str) {
    let team = Team::of(&["b"]);
    team.work("b", "z", "of b");
    team.done("b", &["push"]);
    sh(&team, "b", "printf 'my own line\\nanother one\\n' >y; git add y; git commit -qm 'my own work'");
    let [head, parent, after] = ["HEAD", "HEAD~1", "HEAD:y"].map(|it| team.git("b", &["rev-parse", it]));
    let mut files = record(FORGED, &head, &parent, ("y", &"0".repeat(40), &after));
    files[0].1 = files[0].1.replace(&format!("before = \"{}\"\n", "0".repeat(40)), "");
    forge(&team, &files);
    team.done("b", &["fetch"]);
    sh(&team, "b", amend);
    assert_unmoved(&team, "b");
    let blame = team.done("b", &["blame", "y"]);
    assert!(blame.contains("human") && !blame.contains("s9"), "{blame}");
}

/// Where commits of others are rewritten, their authors stay, though our own log has no record of them.
#[rstest::rstest]
#[case::pick("git checkout -q main; git cherry-pick theirs~1 theirs")]
#[case::pick_without_commit(
    "git checkout -q main; git cherry-pick theirs~1; git cherry-pick -n theirs; git commit -qm 'other words'"
)]
#[case::pick_and_edit(
    "git checkout -q main; git cherry-pick theirs~1; git cherry-pick -n theirs
    echo 'a human line' >>x; git add x; git commit -q --no-edit"
)]
#[case::rebase("git rebase -q main theirs")]
#[case::amend("git checkout -q theirs; git commit -q --amend -m 'other words'")]
#[case::amend_content("git checkout -q theirs; echo 'a human line' >>x; git commit -qa --amend --no-edit")]
#[case::squash("git checkout -q main; git merge -q --squash theirs; git commit -q --no-edit")]
#[case::squash_with_other_words(
    "git checkout -q main; git merge -q --squash theirs; echo 'a human line' >>x; git add x; git commit -qm 'both'"
)]
#[case::fixup("git checkout -q theirs; GIT_SEQUENCE_EDITOR=\"sed -i '2s/pick/fixup/'\" git rebase -q -i HEAD~2")]
#[case::reset("git checkout -q theirs; git reset -q --soft HEAD~2; git commit -qm 'once more'")]
fn authors_of_others_stay(#[case] rewrite: &str, #[values("trailer", "theirs-none", "none")] link: &str) {
    let team = Team::of(&["a", "b"]);
    if link != "trailer" {
        team.done("a", &["config", "set", "link", "none"]);
    }
    if link == "none" {
        team.done("b", &["config", "set", "link", "none"]);
    }
    team.work("a", "x", "the first line");
    team.work("a", "x", "the second line");
    team.done("a", &["push"]);
    team.work("b", "y", "of b");
    sh(&team, "b", "git branch -qM main; git fetch -q ../a HEAD:theirs");
    team.done("b", &["fetch"]);
    sh(&team, "b", rewrite);
    let blame = team.done("b", &["blame", "--json", "x"]);
    let blame: serde_json::Value = serde_json::from_str(&blame).expect("JSON");
    let text = fs::read_to_string(team.path("b/x")).expect("it is there");
    for (at, line) in (1..).zip(text.lines()) {
        let mut groups = blame["lines"].as_array().expect("lines").iter();
        let is_here = |it: &&serde_json::Value| (it["start"].as_u64()..=it["end"].as_u64()).contains(&Some(at));
        let owner = &groups.find(is_here).expect("each line has an owner")["owner"];
        let expected = if line.contains("human") { "human" } else { "agent" };
        assert_eq!(owner, expected, "{line}: {blame}\n{}", message(&team, "b"));
    }
    let paths = own_paths(&team, "b");
    let theirs = team.git("b", &["ls-tree", "-r", "--name-only", TRACKING]);
    for id in theirs.lines().filter(|path| path.ends_with("/record.toml")) {
        assert!(!paths.contains(id.trim_end_matches("record.toml")), "{id}: {paths}");
    }
}

/// What is known of a person's lines is the same before and after an exchange.
#[test]
fn an_exchange_makes_no_line_unknown() {
    let team = Team::of(&["a", "b"]);
    for name in ["a", "b"] {
        team.work(name, name, "of an agent");
    }
    sh(&team, "a", "echo 'a human line' >>a; git commit -qam 'of a person'");
    let blame = |when: &str| {
        let blame = team.done("a", &["blame", "a"]);
        assert!(blame.contains("human ") && !blame.contains("unknown"), "{when}: {blame}");
    };
    blame("before");
    team.done("a", &["push"]);
    blame("after a push");
    team.done("b", &["push"]);
    team.done("a", &["fetch"]);
    blame("after a fetch");
}

/// A stranger says more of our own record than we do.
#[test]
fn our_own_version_of_a_record_stays() {
    let team = Team::of(&["b"]);
    sh(
        &team,
        "b",
        "git checkpoint session prompt s-b --agent claude-code -q -m 'please write'
        echo 'of an agent' >>x; git add x; git commit -qm 'in the middle of a turn'",
    );
    team.done("b", &["push"]);
    let path = own_paths(&team, "b").lines().find(|path| path.ends_with("/record.toml")).expect("one").to_owned();
    let folder = path.trim_end_matches("/record.toml");
    let show = |path: &str| team.git("b", &["show", &format!("{HISTORY}:{path}")]) + "\n";
    let record = show(&path);
    assert!(record.contains("revision = 1\n") && record.contains("partial = true"), "{record}");
    let attribution =
        show(&format!("{folder}/attribution")).replace("author 0 agent", "author 0 human\nauthor 1 agent");
    forge(
        &team,
        &[
            (path.clone(), record.replace("revision = 1\n", "revision = 99\n")),
            (format!("{folder}/attribution"), attribution),
        ],
    );
    team.done("b", &["fetch"]);
    let is_agents = || assert!(team.done("b", &["blame", "x"]).contains("s-b"));
    is_agents();
    sh(&team, "b", "git checkpoint session stop s-b -q");
    let record = show(&path);
    assert!(record.contains("revision = 2\n") && !record.contains("partial = true"), "{record}");
    is_agents();
    assert!(!team.done("b", &["explain", "HEAD"]).contains("in the middle of a turn, "));
}

/// Records of others are shown as theirs.
#[test]
fn records_of_others_name_their_remote() {
    let team = Team::of(&["a", "b"]);
    team.work("a", "x", "of an agent");
    team.done("a", &["push"]);
    sh(&team, "b", "git pull -q ../a HEAD");
    team.done("b", &["fetch"]);
    for (name, remote) in [("a", serde_json::Value::Null), ("b", "origin".into())] {
        let json = |arguments: &[&str]| -> serde_json::Value {
            serde_json::from_str(&team.done(name, arguments)).expect("JSON")
        };
        assert_eq!(json(&["explain", "--json"])["records"][0]["remote"], remote);
        assert_eq!(json(&["why", "x:1", "--json"])["record_remote"], remote);
        let said = team.done(name, &["explain"]) + &team.done(name, &["why", "x:1"]);
        assert_eq!(said.matches("origin").count(), if remote.is_null() { 0 } else { 2 }, "{said}");
    }
}

/// Lines of others that an agent here amends, and lines of a person in the same commit.
#[test]
fn an_agent_amends_a_commit_of_others() {
    let team = Team::of(&["a", "b"]);
    team.work("a", "x", "the first line");
    team.done("a", &["push"]);
    team.work("b", "y", "of b");
    sh(&team, "b", "git fetch -q ../a HEAD:theirs; git checkout -q theirs");
    team.done("b", &["fetch"]);
    sh(
        &team,
        "b",
        "git checkpoint session prompt s-b2 --agent codex -q -m 'more'
        echo 'the second line' >>x
        git checkpoint session stop s-b2 -q
        echo 'a human line' >>x; git commit -qa --amend --no-edit",
    );
    let blame = team.done("b", &["blame", "x"]);
    let owners = ["s-a", "s-b2", "human "];
    assert_eq!(blame.lines().zip(owners).filter(|(line, owner)| line.contains(owner)).count(), 3, "{blame}");
    assert_eq!(message(&team, "b").matches("Checkpoint:").count(), 2);
}

/// Lets a forge rebase the branch `topic` onto a newer `main`, and returns the new commit.
fn rebase_by_forge(team: &Team) -> String {
    team.world.sh("git clone -q ../server.git ../forge; cd ../forge; git checkout -q -B main origin/main
        git commit -q --allow-empty -m other; git cherry-pick origin/topic; git push -q origin HEAD:main");
    team.git("forge", &["rev-parse", "HEAD"])
}

/// Returns who has written the second line of `path`.
fn second(team: &Team, name: &str, path: &str) -> String {
    let blame = team.done(name, &["blame", path]);
    let line = blame.lines().nth(1).unwrap_or_default();
    line.split_whitespace().nth(1).unwrap_or_default().to_owned()
}

/// A commit has the work of a record in one of two files. A forge and a teammate copy it.
#[test]
fn copies_of_others_have_the_same_part_of_a_record() {
    let team = Team::of(&["a", "b", "c"]);
    sh(
        &team,
        "a",
        "git branch -qM main; printf 'hu one\\nhu two\\n' >n; git add n; git commit -qm n; git checkout -q -b b1
        git checkpoint session prompt s-a --agent claude-code -q -m 'please write'
        printf 'hu one\\ns1 replaced two\\n' >n; printf '%s\\n' 'def parse(line):' '    return line.split(\",\")' >parse
        git checkpoint session stop s-a -q
        git add -A; git commit -qm 'a parser'; git checkout -q -b topic main
        git checkout -q b1 -- parse; printf 'hu one\\nhu replaced two\\n' >n; git commit -qam mine
        git push -q origin main topic",
    );
    team.done("a", &["push"]);
    rebase_by_forge(&team);
    for name in ["b", "c"] {
        team.work(name, "y", "of another agent");
    }
    sh(&team, "a", "git checkout -q main; git pull -q origin main");
    sh(&team, "b", "git fetch -q origin; git checkout -q -b own origin/main~1; git cherry-pick origin/topic");
    sh(&team, "c", "git fetch -q origin main; git checkout -q FETCH_HEAD");
    for name in ["b", "c"] {
        team.done(name, &["fetch"]);
    }
    for (name, typed) in [("a", "human"), ("b", "human"), ("c", "unknown")] {
        assert_eq!([second(&team, name, "n"), second(&team, name, "parse")], [typed, "agent"], "{name}");
    }
}

/// A stranger says that a commit has nothing of our own record.
#[test]
fn a_forged_link_takes_no_authors_from_our_own_record() {
    let team = Team::of(&["b"]);
    sh(&team, "b", "git branch -qM main; git checkout -q -b topic");
    team.work("b", "y", "of b\nand more");
    sh(&team, "b", "git push -q origin topic");
    team.done("b", &["push"]);
    let commit = rebase_by_forge(&team);
    sh(&team, "b", "git checkout -q main; git pull -q origin main");
    assert_eq!(second(&team, "b", "y"), "agent");
    let id = team.git("b", &["log", "-1", "--format=%(trailers:key=Checkpoint,valueonly)"]);
    let link = "version = 1\nhow = \"commit\"\n\n[[file]]\npath = \"nothing\"\n";
    forge(&team, &[(format!("{}/{}/links/{commit}", &id[..2], &id[2..]), link.to_owned())]);
    team.done("b", &["fetch"]);
    assert_eq!(second(&team, "b", "y"), "agent");
}
