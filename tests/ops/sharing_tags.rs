//! The tags of a checkpoint go along with it; they never move in a remote, and those of others lead only to checkpoints that are sound.

use std::fs;

use crate::{
    ops::sharing::Team,
    support::{files::write_script, processes::described},
};

const SHARED: &str = "refs/checkpoints/shared";
const TAGS: &str = "refs/checkpoints/tags";
const FETCHED: &str = "refs/checkpoints-remote/origin/tags";

/// Saves a checkpoint with `text` in a file in the clone, and returns its id.
fn saved(team: &Team, name: &str, text: &str) -> String {
    fs::write(team.path(name).join("work"), format!("{text}\n")).expect("written");
    let saved: serde_json::Value =
        serde_json::from_str(&team.done(name, &["save", "-m", text, "--json"])).expect("JSON");
    saved["id"].as_str().expect("an id").to_owned()
}

/// Returns the refs of the clone below `below`, with what they lead to.
fn refs(team: &Team, name: &str, below: &str) -> Vec<String> {
    let format = "--format=%(refname) %(objectname)";
    team.git(name, &["for-each-ref", format, below]).lines().map(str::to_owned).collect()
}

fn json(team: &Team, name: &str, arguments: &[&str]) -> serde_json::Value {
    serde_json::from_slice(&team.run(name, &[arguments, &["--json"]].concat()).stdout).expect("JSON")
}

#[test]
fn a_tag_goes_along_and_names_the_checkpoint_elsewhere() {
    let team = Team::of(&["a", "b"]);
    let id = saved(&team, "a", "half of it");
    team.done("a", &["tag", "try/one", "@"]);
    saved(&team, "a", "another one");
    team.done("a", &["tag", "later", "@"]);
    let planned = json(&team, "a", &["push", "-n", "--checkpoint", "try/one"]);
    assert_eq!(planned["checkpoints"][0]["tags"][0]["state"], "sent", "{planned}");
    assert_eq!(refs(&team, "server.git", TAGS), [""; 0]);
    let said = described(&team.run("a", &["push", "--checkpoint", "try/one"]));
    assert!(said.contains("sent the tag 'try/one' of "), "{said}");
    let carrier = team.id("server.git", &format!("{SHARED}/{id}"));
    // The tags of others stay.
    assert_eq!(refs(&team, "server.git", TAGS), [format!("{TAGS}/try%2Fone {carrier}")]);

    let planned = json(&team, "b", &["fetch", "-n", "--checkpoints"]);
    assert_eq!(planned["tags"][0]["tag"], "try/one", "{planned}");
    assert_eq!(refs(&team, "b", "refs/checkpoints-remote"), [""; 0]);
    let said = team.done("b", &["fetch", "--checkpoints"]);
    assert!(said.contains("fetched origin/try/one, a tag"), "{said}");
    assert!(team.done("b", &["fetch", "--checkpoints"]).contains("no checkpoint is new"));
    assert!(team.done("b", &["list", "--fetched"]).contains("half of it [tag: try/one]"));
    assert!(team.done("b", &["show", "origin/try/one"]).contains("half of it"));
    assert!(team.done("b", &["diff", "origin/try/one"]).contains("half of it"));
    team.done("b", &["restore", "origin/try/one"]);
    assert_eq!(team.world.sh("cat ../b/work"), "half of it\n");
    assert!(!described(&team.run("b", &["doctor"])).contains("tags"));
    team.assert_sound(&["a", "b", "server.git"]);
    let long = format!("origin/{}", "x".repeat(400));
    assert!(team.fails("b", &["show", &long]).contains("xxx"));
    team.done("b", &["remote", "remove", "origin", "--yes"]);
    assert_eq!(refs(&team, "b", "refs/checkpoints-remote"), [""; 0]);
}

/// A tag is made after the checkpoint was sent, and the remote has that in another commit than would be sent now.
#[test]
fn a_later_push_sends_the_tags_that_are_missing() {
    let team = Team::of(&["a", "b"]);
    team.world.sh("cd ../a; echo one >one; git add one; git commit -qm one");
    let id = saved(&team, "a", "work");
    team.done("a", &["push", "--shadow"]);
    let carrier = team.id("server.git", &format!("{SHARED}/{id}"));
    team.done("b", &["fetch", "--checkpoints"]);
    team.git("a", &["push", "-q", "origin", "HEAD:main"]);
    team.done("a", &["tag", "good"]);
    let sent = json(&team, "a", &["push", "--shadow"]);
    let one = &sent["checkpoints"][0];
    assert_eq!((&one["is_new"], &one["tags"][0]["state"]), (&false.into(), &"sent".into()), "{sent}");
    assert_eq!(refs(&team, "server.git", TAGS), [format!("{TAGS}/good {carrier}")]);
    let sent = json(&team, "a", &["push", "--shadow"]);
    assert_eq!(sent["checkpoints"][0]["tags"][0]["state"], "same", "{sent}");
    team.done("b", &["fetch", "--checkpoints"]);
    assert_eq!(refs(&team, "b", FETCHED), [format!("{FETCHED}/good {carrier}")]);
    // It was taken back, and shared once more, with its base.
    team.git("server.git", &["update-ref", "-d", &format!("{SHARED}/{id}")]);
    team.git("server.git", &["update-ref", "-d", &format!("{TAGS}/good")]);
    team.git("a", &["fetch", "-q", "origin"]);
    team.done("a", &["push", "--shadow"]);
    assert_ne!(team.id("server.git", &format!("{SHARED}/{id}")), carrier);
    assert!(team.done("b", &["fetch", "--checkpoints"]).contains("no checkpoint is new"));
    assert_eq!(refs(&team, "b", FETCHED), [format!("{FETCHED}/good {carrier}")]);
    // A commit that is not made here says nothing of what a tag is for.
    team.git("server.git", &["update-ref", &format!("{SHARED}/{id}"), "main"]);
    team.done("a", &["tag", "better"]);
    let said = described(&team.run("a", &["push", "--shadow"]));
    assert!(said.contains("has refused the tag 'better'"), "{said}");
}

/// A tag of the remote that names something else stays; the checkpoint goes all the same.
#[rstest::rstest]
fn a_tag_of_the_remote_never_moves(#[values("before", "meanwhile")] when: &str) {
    let team = Team::of(&["a"]);
    let id = saved(&team, "a", "work");
    team.done("a", &["tag", "good"]);
    if when == "before" {
        team.git("server.git", &["update-ref", &format!("{TAGS}/good"), "main"]);
    } else {
        let hook = team.path("server.git/hooks/pre-receive");
        fs::create_dir_all(hook.parent().expect("it has one")).expect("made");
        write_script(
            &hook,
            &format!("#!/bin/sh\ngrep -q tags && env -u GIT_QUARANTINE_PATH git update-ref {TAGS}/good main\nexit 0\n"),
        );
    }
    let main = team.id("server.git", "refs/heads/main");
    let output = team.run("a", &["push", "--shadow"]);
    let said = described(&output);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("'origin' has a tag 'good' that names something else, and keeps it"), "{said}");
    assert_eq!(refs(&team, "server.git", TAGS), [format!("{TAGS}/good {main}")]);
    assert_eq!(refs(&team, "server.git", SHARED).len(), 1);
    assert_eq!(json(&team, "a", &["push", "--checkpoint", &id])["checkpoints"][0]["tags"][0]["state"], "kept");
}

#[test]
fn a_server_that_refuses_a_tag_has_the_checkpoint() {
    let team = Team::of(&["a"]);
    saved(&team, "a", "work");
    team.done("a", &["tag", "good"]);
    let hook = team.path("server.git/hooks/pre-receive");
    fs::create_dir_all(hook.parent().expect("it has one")).expect("made");
    write_script(&hook, "#!/bin/sh\nif grep -q tags; then echo 'no tags here' >&2; exit 1; fi\n");
    let output = team.run("a", &["push", "--shadow"]);
    let said = described(&output);
    assert!(output.status.success() && said.contains("has refused the tag 'good': "), "{said}");
    assert!(said.contains("no tags here"), "{said}");
    assert_eq!(refs(&team, "server.git", SHARED).len(), 1);
    assert_eq!(refs(&team, "server.git", TAGS), [""; 0]);
    team.git("server.git", &["config", "receive.advertiseAtomic", "false"]);
    fs::remove_file(hook).expect("it is there");
    let said = described(&team.run("a", &["push", "--shadow"]));
    assert!(said.contains("does not support --atomic"), "{said}");
}

#[test]
fn a_tag_follows_what_becomes_of_it_in_the_remote() {
    let team = Team::of(&["a", "b"]);
    let ids = ["one", "two"].map(|text| {
        let id = saved(&team, "a", text);
        team.done("a", &["push", "--shadow"]);
        id
    });
    let [one, two] = ids.map(|id| team.id("server.git", &format!("{SHARED}/{id}")));
    team.git("server.git", &["update-ref", &format!("{TAGS}/t"), &one]);
    team.done("b", &["fetch", "--checkpoints"]);
    assert_eq!(refs(&team, "b", FETCHED), [format!("{FETCHED}/t {one}")]);
    team.git("server.git", &["update-ref", &format!("{TAGS}/t"), &two]);
    let said = team.done("b", &["fetch", "--checkpoints"]);
    assert!(said.contains("fetched origin/t, a tag, which has moved"), "{said}");
    assert_eq!(refs(&team, "b", FETCHED), [format!("{FETCHED}/t {two}")]);
    team.git("server.git", &["update-ref", "-d", &format!("{TAGS}/t")]);
    let said = described(&team.run("b", &["fetch", "--checkpoints"]));
    assert!(said.contains("the tag origin/t is gone"), "{said}");
    assert_eq!(refs(&team, "b", FETCHED), [""; 0]);
    // The checkpoints stay.
    assert_eq!(refs(&team, "b", "refs/checkpoints-remote/origin/shared").len(), 2);
}

/// What is no tag of ours, or leads to no checkpoint that is sound, is not followed, and nothing of it comes here.
#[test]
fn hostile_tags_are_left_alone() {
    let team = Team::of(&["a", "b"]);
    let id = saved(&team, "a", "work");
    team.done("a", &["push", "--shadow"]);
    let carrier = team.id("server.git", &format!("{SHARED}/{id}"));
    let evil = team.git("server.git", &["commit-tree", "-m", "evil", &format!("{carrier}^{{tree}}")]);
    let bad = "1234567890123456789012345678901234567890";
    team.git("server.git", &["update-ref", &format!("{SHARED}/{bad}"), &evil]);
    for (name, id) in [
        ("evil", evil.as_str()),
        ("branch", "main"),
        // A name that commands read as another checkpoint, one that is encoded as we do not, and others that no tag may have.
        ("1234abcd", &carrier),
        ("HEAD", &carrier),
        ("s@2", &carrier),
        ("x%61", &carrier),
        ("%2Dx", &carrier),
        ("a%1B%5B2J", &carrier),
        ("%2E%2E%2Fshared", &carrier),
        ("a/b", &carrier),
    ] {
        team.git("server.git", &["update-ref", &format!("{TAGS}/{name}"), id]);
    }
    let output = team.run("b", &["fetch", "--checkpoints"]);
    assert_eq!(output.status.code(), Some(1), "{}", described(&output));
    assert_eq!(refs(&team, "b", FETCHED), [""; 0]);
    team.git("server.git", &["update-ref", &format!("{TAGS}/good"), &carrier]);
    let said = described(&team.run("b", &["fetch", "--checkpoints"]));
    assert_eq!(refs(&team, "b", FETCHED), [format!("{FETCHED}/good {carrier}")], "{said}");
    team.assert_sound(&["b"]);
}

/// What is damaged lets git itself fail: `fetch` and `doctor --fix` set it aside, and the next fetch gets it anew.
#[rstest::rstest]
#[case::missing("0123456789012345678901234567890123456789\n")]
#[case::garbage("garbage\n")]
fn a_damaged_ref_of_a_tag_is_set_aside(#[case] content: &str, #[values("doctor", "fetch")] command: &str) {
    let team = Team::of(&["a", "b"]);
    saved(&team, "a", "work");
    team.done("a", &["tag", "good"]);
    team.done("a", &["push", "--shadow"]);
    team.done("b", &["fetch", "--checkpoints"]);
    let name = format!("{FETCHED}/good");
    fs::write(team.path("b/.git").join(&name), content).expect("written");
    let said = described(&team.run("b", &["doctor"]));
    assert!(
        said.contains(&name) && said.contains("'git checkpoint fetch --checkpoints origin' gets it anew"),
        "{said}"
    );
    let words = if command == "doctor" { vec!["doctor", "--fix"] } else { vec!["fetch", "--checkpoints"] };
    let said = described(&team.run("b", &words));
    assert!(said.contains(&name) && said.contains("set aside"), "{said}");
    team.done("b", &["fetch", "--checkpoints"]);
    assert!(team.done("b", &["show", "origin/good"]).contains("work"));
    team.assert_sound(&["b"]);
}

/// A process that ends between the checkpoint and its tags: the next one goes on.
#[test]
fn what_is_interrupted_goes_on() {
    let team = Team::of(&["a", "b"]);
    saved(&team, "a", "work");
    team.done("a", &["tag", "good"]);
    killed(&team, "a", "push:before-tags", &["push", "--shadow"]);
    assert_eq!((refs(&team, "server.git", SHARED).len(), refs(&team, "server.git", TAGS).len()), (1, 0));
    let said = described(&team.run("a", &["push", "--shadow"]));
    assert!(said.contains("already") && said.contains("sent the tag 'good'"), "{said}");
    killed(&team, "b", "fetch:before-tags", &["fetch", "--checkpoints"]);
    assert_eq!(refs(&team, "b", FETCHED), [""; 0]);
    assert!(team.done("b", &["fetch", "--checkpoints"]).contains("fetched origin/good, a tag"));
}

fn killed(team: &Team, name: &str, failpoint: &str, arguments: &[&str]) {
    let mut command = team.world.command(crate::support::program());
    let output = command.current_dir(team.path(name)).env("CHECKPOINT_FAILPOINT", failpoint).args(arguments).output();
    let output = output.expect("the program runs");
    assert!(!output.status.success(), "{}", described(&output));
}
