//! Commits that git has rewritten before they were pushed: another clone knows the authors of their lines as the clone of their author does.

use serde_json::Value;

use super::{
    ci::{json, sh},
    sharing::{HISTORY, Team},
    sharing_trust::{FORGED, forge, record},
};
use crate::support::processes::described;

/// How many lines the file of [`team`] has.
const BASE: usize = 8;

/// Two clones, and a file that both have.
fn team() -> Team {
    let team = Team::of(&["ana", "ben"]);
    sh(
        &team,
        "ana",
        "seq -f 'base line %g of the file' 8 >f; git add f; git commit -qm base; git push -q origin HEAD:main",
    );
    sh(&team, "ana", "git fetch -q; git branch -qu origin/main");
    sh(&team, "ben", "git pull -q origin main; git branch -qu origin/main");
    team
}

/// Functions for scripts: `turn <session> <file> <word>` lets an agent append three lines, and `mine <file> <word>` a person one.
const TURN: &str = "
    turn() {
        git checkpoint session prompt $1 --agent claude-code --model opus-5 -q -m \"please write $3\"
        printf '%s\\n' \"$3 first line of it\" \"$3 second line of it\" \"$3 third line of it\" >>$2
        git checkpoint session stop $1 -q
    }
    mine() { echo \"$2 typed by hand\" >>$1; }
    commit() { git add -A; git commit -qm \"$1\"; }
";

/// Ben has pushed a change of the first line meanwhile.
fn ben_pushes(team: &Team) {
    sh(team, "ben", "sed -i '1s/.*/ben was here/' f; git commit -qam ben; git push -q origin HEAD:main");
}

/// Returns the owner and the session of each line of `file`, as `blame` in the clone `name` says.
fn owners(team: &Team, name: &str, file: &str) -> Vec<String> {
    let blamed: Value = serde_json::from_str(&team.done(name, &["blame", "--json", file])).expect("JSON");
    let mut owners = Vec::new();
    for lines in blamed["lines"].as_array().expect("a list") {
        let [start, end] = ["start", "end"].map(|key| lines[key].as_u64().expect("a number"));
        let text = |key: &str| lines[key].as_str().unwrap_or_default().to_owned();
        owners.extend((start..=end).map(|_| format!("{} {}{}", text("owner"), text("session"), lines["turn"])));
    }
    // Ben's clone has not recorded anything when the lines of the base were written.
    owners.split_off(if file == "f" { BASE } else { 0 })
}

/// Returns the lines of the last `count` commits by author.
fn summary(team: &Team, name: &str, count: usize) -> Value {
    let found: Value =
        serde_json::from_str(&team.done(name, &["attribution", "--json", &format!("HEAD~{count}..HEAD")]))
            .expect("JSON");
    found["summary"].clone()
}

/// Sends all of ana's, and lets the others get it: ben, and a new clone.
fn share(team: &Team) {
    sh(team, "ana", "git push -q origin HEAD:main");
    team.done("ana", &["sync"]);
    sh(team, "ben", "git fetch -q; git reset -q --hard origin/main");
    team.world.sh("rm -rf ../late; git clone -qb main file://$PWD/../server.git ../late");
    for name in ["ben", "late"] {
        team.done(name, &["fetch"]);
    }
}

const AMEND: &str = "turn s1 am one; commit first; sed -i 2d am; mine am mine; git commit -qa --amend --no-edit";
const AMEND_BY_AGENT: &str =
    "turn s1 am one; commit first; sed -i 2d am; turn s2 am two; git commit -qa --amend --no-edit";
const AMEND_TWICE: &str = "turn s1 am one; commit first; mine am mine; git commit -qa --amend -m other;
    turn s1 am two; sed -i 1d am; git commit -qa --amend --no-edit";
const PULL: &str = "turn s1 f one; mine f mine; commit 'ana f'; git pull -q --rebase";
const SQUASH: &str = "git switch -qc tp; turn s1 sq one; commit a; turn s1 sq two; sed -i 1d sq; mine sq mine; commit b
    git switch -q -; git merge -q --squash tp >../log; git commit -qm squashed; git branch -qD tp";
const PICK: &str = "git switch -qc tp; turn s1 f one; mine f mine; commit a; git switch -q -
    sed -i '1s/.*/by hand above/' f; git commit -qam above; git cherry-pick tp >../log; git branch -qD tp";
const AUTOSQUASH: &str =
    "turn s1 au one; commit first; turn s2 b two; commit second; sed -i 2d au; mine au mine; git add -A
    git commit -q --fixup HEAD~1; git -c sequence.editor=: rebase -qi --autosquash HEAD~3";
const RECOMMIT: &str = "turn s1 re one; commit first; sed -i 2d re; mine re mine; commit second
    git reset -q --soft HEAD~2; git commit -qm both";
const NO_TRAILERS: &str = "git config checkpoint.link none; turn s1 am one; commit first; sed -i 2d am; mine am mine
    git commit -qa --amend --no-edit";
const RENAMED: &str = "turn s1 old one; turn s1 old two; commit first; git mv old new; sed -i 2d new; mine new mine
    git commit -qa --amend --no-edit";

const MERGE: &str = "git switch -qc side; turn s1 me side; commit side; git switch -q -; echo 'main has this' >me; commit main
    git merge -q side >../log || :; git checkpoint session prompt s2 --agent claude-code -q -m 'please write two'
    sed -i '/^<<<<<<<\\|^=======\\|^>>>>>>>/d' me; sed -i '1s/.*/both resolved by the agent/' me; echo 'agent two adds it' >>me
    git checkpoint session stop s2 -q; git add -A; git commit -qm merged; git branch -qD side
    sed -i '2s/.*/by hand in the merge/' me; git commit -qa --amend --no-edit";

#[rstest::rstest]
#[case::amended_merge(MERGE, "me", 1)]
#[case::amend(AMEND, "am", 1)]
#[case::amend_by_an_agent(AMEND_BY_AGENT, "am", 1)]
#[case::amend_twice(AMEND_TWICE, "am", 1)]
#[case::pull_rebase(PULL, "f", 1)]
#[case::squash(SQUASH, "sq", 1)]
#[case::pick(PICK, "f", 1)]
#[case::autosquash(AUTOSQUASH, "au", 2)]
#[case::recommit(RECOMMIT, "re", 1)]
#[case::without_trailers(NO_TRAILERS, "am", 1)]
#[case::renamed(RENAMED, "new", 1)]
fn others_know_what_the_author_knows(#[case] script: &str, #[case] file: &str, #[case] commits: usize) {
    let team = team();
    if script == PULL {
        ben_pushes(&team);
    }
    sh(&team, "ana", &format!("{TURN}{script}"));
    let (expected, counts) = (owners(&team, "ana", file), summary(&team, "ana", commits));
    let kinds = |kind: &str| expected.iter().filter(|owner| owner.starts_with(kind)).count();
    assert!(kinds("agent") > 1 && kinds("unknown") == 0, "{expected:?}");
    share(&team);
    for name in ["ana", "ben", "late"] {
        assert_eq!(owners(&team, name, file), expected, "{name}");
        assert_eq!(summary(&team, name, commits), counts, "{name}");
    }
    let range = format!("HEAD~{commits}..HEAD");
    let checked = team.run("ben", &["ci", "check", "--max-unknown-percentage", "0", &range]);
    assert!(checked.status.success(), "{}", described(&checked));
    let line = expected.iter().position(|owner| owner.starts_with("agent")).expect("an agent's") + 1;
    let line = line + if file == "f" { BASE } else { 0 };
    let why = described(&team.run("ben", &["why", &format!("{file}:{line}")]));
    assert!(why.contains("please write") && why.contains("agent, claude-code"), "{why}");
    let explained = described(&team.run("ben", &["explain", "HEAD"]));
    assert!(explained.contains("claude-code") && !explained.contains("unknown"), "{explained}");
    // Nothing is left to do.
    let before = team.id("ana", HISTORY);
    let again = json(&team.run("ana", &["sync", "--json"]));
    assert_eq!(again["push"]["refs"][0]["sent_records"], 0, "{again}");
    assert_eq!((team.id("ana", HISTORY), team.id("server.git", HISTORY)), (before.clone(), before));
    team.assert_sound(&["ana", "ben", "server.git"]);
}

/// The place up to which a push has looked, as if an earlier version had sent the records.
const LOOKED: &str = "git rev-parse refs/checkpoints/history >.git/checkpoint/rewritten";

#[test]
fn what_is_lacking_is_said_and_sent_later() {
    let team = team();
    sh(&team, "ana", &format!("{TURN}{AMEND}; {LOOKED}"));
    let expected = owners(&team, "ana", "am");
    share(&team);
    assert!(owners(&team, "ben", "am").iter().all(|owner| owner.starts_with("unknown")));
    let said = |arguments: &[&str]| described(&team.run("ben", arguments));
    let check = ["ci", "check", "--max-unknown-percentage", "0", "HEAD~1..HEAD"];
    for arguments in [&["blame", "am"][..], &["why", "am:1"], &["explain", "HEAD"], &["attribution"], &check] {
        let said = said(arguments);
        assert!(said.contains("what it was before is not here"), "{arguments:?}: {said}");
    }
    let found = json(&team.run("ben", &["attribution", "--json"]));
    assert_eq!(found["lacking_records"], found["records"], "{found}");
    // The state is only a cache.
    sh(&team, "ana", "rm .git/checkpoint/rewritten");
    team.done("ana", &["push"]);
    team.done("ben", &["fetch"]);
    assert_eq!(owners(&team, "ben", "am"), expected);
    assert!(!said(&["blame", "am"]).contains("is not here"));
}

/// Returns how many whole records the own log of ana has.
fn whole(team: &Team) -> usize {
    let found = sh(team, "ana", &format!("git grep -c '^whole = true' {HISTORY} || :"));
    found.lines().count()
}

#[test]
fn a_commit_that_comes_back_is_known() {
    let team = team();
    sh(&team, "ana", &format!("{TURN}{AMEND}; sed -i 1d am; git commit -qa --amend --no-edit"));
    let before = team.id("ana", HISTORY);
    team.done("ana", &["push", "--dry-run"]);
    assert_eq!((team.id("ana", HISTORY), whole(&team)), (before, 0));
    share(&team);
    assert_eq!(whole(&team), 1);
    sh(&team, "ana", "git reset -q --hard HEAD@{1}; git push -qf origin HEAD:main");
    let expected = owners(&team, "ana", "am");
    share(&team);
    assert_eq!((whole(&team), owners(&team, "ben", "am")), (2, expected));
    // No commit gets a trailer for what was only written for others.
    sh(&team, "ana", "echo more >>am; git commit -qa --amend --no-edit");
    let trailers = team.git("ana", &["log", "-1", "--format=%(trailers:key=Checkpoint)"]);
    assert_eq!(trailers.lines().count(), 1, "{trailers}");
}

#[test]
fn git_push_sends_it_too() {
    let team = team();
    sh(&team, "ana", &format!("{TURN}{AMEND}; git push -q origin HEAD:main"));
    let expected = owners(&team, "ana", "am");
    sh(&team, "ana", &format!("git push -q checkpoint::origin {HISTORY}"));
    sh(&team, "ben", "git fetch -q; git reset -q --hard origin/main");
    team.done("ben", &["fetch"]);
    assert_eq!(owners(&team, "ben", "am"), expected);
}

/// A stranger says that ana's commit is the work of a session: that does not become ana's word.
#[test]
fn what_others_say_is_not_sent_as_our_own() {
    let team = team();
    sh(&team, "ana", &format!("{TURN}{AMEND}"));
    let expected = owners(&team, "ana", "am");
    let [commit, parent, after] = ["HEAD", "HEAD~1", "HEAD:am"].map(|it| team.git("ana", &["rev-parse", it]));
    let mut files = record(FORGED, &commit, &parent, ("am", &"0".repeat(40), &after));
    files[0].1 = files[0].1.replace("tool = ", "whole = true\ntool = ");
    forge(&team, &files);
    team.done("ana", &["fetch"]);
    share(&team);
    assert_eq!((whole(&team), owners(&team, "ana", "am")), (1, expected));
    assert_eq!(sh(&team, "ana", &format!("git grep -l s9 {HISTORY} || :")), "");
}

/// What was fetched may be for the remote alone that it came from.
#[test]
fn what_was_fetched_is_not_sent_to_another_remote() {
    let team = team();
    sh(&team, "ben", &format!("{TURN}git switch -qc tp; turn sBEN g one; commit 'ben g'; git push -q origin tp"));
    team.done("ben", &["push"]);
    sh(&team, "ana", "git fetch -q; git init -q --bare ../public.git; git remote add public ../public.git");
    team.done("ana", &["fetch", "origin"]);
    team.done("ana", &["remote", "approve", "public", "--yes"]);
    let squash = "git switch -qc tp origin/tp; turn s1 h two; commit 'ana h'; mine g mine; commit 'ana g'
        git switch -q -; git merge -q --squash tp >../log; git commit -qm squashed";
    sh(&team, "ana", &format!("{TURN}{squash}"));
    team.done("ana", &["push", "public"]);
    assert_eq!(sh(&team, "public.git", &format!("git grep -l sBEN {HISTORY} || :")), "");
    assert_eq!(whole(&team), 0);
    // Here, nothing is lost.
    assert!(owners(&team, "ana", "g")[..3].iter().all(|owner| owner.starts_with("agent sBEN")));
}

/// The content before an amend may be away for a while, as that of a partial clone without its server.
#[test]
fn a_commit_that_could_not_be_completed_is_looked_at_again() {
    let team = team();
    sh(
        &team,
        "ana",
        &format!("{TURN}turn s1 am one; commit first; git rev-parse HEAD:am >../id; sed -i 2d am; mine am mine"),
    );
    sh(&team, "ana", "git commit -qa --amend --no-edit");
    let expected = owners(&team, "ana", "am");
    let object = "f=.git/objects/$(sed 's#^..#&/#' ../id)";
    sh(&team, "ana", &format!("{object}; mv $f ../object; git push -q origin HEAD:main"));
    let said = described(&team.run("ana", &["push"]));
    assert!(said.contains("who wrote the lines of 1 commit:"), "{said}");
    let sent = json(&team.run("ana", &["push", "--json"]));
    assert_eq!((&sent["incomplete_commits"], whole(&team)), (&1.into(), 0), "{sent}");
    sh(&team, "ana", &format!("{object}; mv ../object $f"));
    let sent = json(&team.run("ana", &["push", "--json"]));
    assert_eq!((&sent["incomplete_commits"], whole(&team)), (&0.into(), 1), "{sent}");
    share(&team);
    assert_eq!(owners(&team, "ben", "am"), expected);
}

#[test]
fn nothing_is_said_to_be_unknown_if_no_line_is() {
    let team = team();
    sh(&team, "ana", &format!("{TURN}{AMEND}"));
    share(&team);
    sh(
        &team,
        "ben",
        "git switch -qc rel HEAD~1; git commit -q --allow-empty -m other; git cherry-pick origin/main >../log",
    );
    let found = json(&team.run("ben", &["attribution", "--json"]));
    assert_eq!((&found["summary"]["unknown"], found["lacking_records"].to_string()), (&0.into(), "[]".to_owned()));
    for arguments in [&["explain", "HEAD"][..], &["ci", "check", "HEAD~1..HEAD"]] {
        let said = described(&team.run("ben", arguments));
        assert!(!said.contains("is not here"), "{arguments:?}: {said}");
    }
}

/// Ana's agent has written two files in two commits of a branch that is not merged; ben's clone takes the files, not the commits.
#[rstest::rstest]
#[case::pick("git cherry-pick -n origin/topic~ origin/topic")]
#[case::checkout("git checkout -q origin/topic -- one two")]
#[case::apply("git diff main origin/topic | git apply --index")]
#[case::saved("git checkout -q origin/topic -- one two; git checkpoint save -q")]
#[case::one_of_them("git checkout -q origin/topic -- two; printf 'one first line of ben\\n' >one; git add one")]
fn files_of_a_branch_of_others_keep_their_authors(#[case] script: &str) {
    let team = team();
    sh(
        &team,
        "ana",
        &format!("{TURN}git switch -qc topic; turn s1 one one; commit first; turn s2 two two; commit second"),
    );
    let expected = ["one", "two"].map(|file| owners(&team, "ana", file));
    sh(&team, "ana", "git push -q origin topic");
    team.done("ana", &["sync"]);
    sh(&team, "ben", "git branch -M main; git fetch -q");
    team.done("ben", &["fetch"]);
    sh(&team, "ben", &format!("{script}; git commit -qm taken"));
    let is_whole = !script.contains("of ben");
    assert_eq!(owners(&team, "ben", "two"), expected[1]);
    let one = owners(&team, "ben", "one");
    assert!(if is_whole { one == expected[0] } else { one.iter().all(|owner| owner.starts_with("human")) }, "{one:?}");
    let counts = summary(&team, "ben", 1);
    assert_eq!(counts["agent_lines"], if is_whole { 6 } else { 3 }, "{counts}");
    team.assert_sound(&["ben"]);
}
