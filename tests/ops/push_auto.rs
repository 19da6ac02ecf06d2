//! Records that are exchanged after `git push`: never inside of it, never without consent, and a failure is said.

use std::{fs, time::Duration};

use crate::{
    ops::sharing::{HISTORY, Team},
    support::{files::write_script, processes::described},
};

/// A member with an approved remote, and `push.auto`.
fn automatic() -> Team {
    let team = Team::of(&["a"]);
    team.done("a", &["config", "set", "push.auto", "true"]);
    team.done("a", &["enable", "-q"]);
    team
}

/// Exchanges as the process in the background does.
fn exchange(team: &Team) {
    assert_eq!(team.done("a", &["sync", "--quiet", "--after", "", "--", "origin"]), "");
}

fn status(team: &Team) -> serde_json::Value {
    serde_json::from_str(&team.done("a", &["status", "--json"])).expect("JSON")
}

/// Waits for `is_so`, which a process in the background brings about.
fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..600 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("never: {what}");
}

/// The push has ended, with all that has its pipes, before records are sent.
#[test]
fn records_are_sent_after_a_push_and_not_inside_of_it() {
    let team = automatic();
    team.work("a", "x", "of an agent");
    let lock = fs::File::create(team.path("a/.git/checkpoint/exchange.lock")).expect("made");
    lock.lock().expect("it is free");
    team.git("a", &["push", "-q", "origin", "HEAD:refs/heads/topic"]);
    assert_eq!(team.id("server.git", HISTORY), "");
    // One more waits; the next ones leave it to that.
    wait_until("one waits", || team.path("a/.git/checkpoint/exchange-next-origin.lock").exists());
    team.git("a", &["push", "-q", "origin", "HEAD:refs/heads/more"]);
    drop(lock);
    let events = || team.done("a", &["events", "--json"]);
    wait_until("records are there", || events().contains("\"event\":\"exchange\""));
    assert_eq!(team.id("server.git", HISTORY), team.id("a", HISTORY));
    let exchanges =
        events().lines().filter(|line| line.contains("\"exchange\"")).map(str::to_owned).collect::<Vec<_>>();
    let event: serde_json::Value = serde_json::from_str(&exchanges[0]).expect("JSON");
    assert_eq!(
        (&event["remote"], &event["sent_records"], &event["failure"]),
        (&"origin".into(), &1.into(), &serde_json::Value::Null)
    );
}

#[test]
fn the_hook_comes_and_goes_with_the_setting() {
    let team = Team::of(&["a"]);
    let hook = team.path("a/.git/hooks/pre-push");
    assert!(!hook.exists());
    let said = described(&team.run("a", &["config", "set", "push.auto", "true"]));
    assert!(said.contains("'git checkpoint enable' installs the hook pre-push"), "{said}");
    let said = team.fails("a", &["doctor"]);
    assert!(said.contains("pre-push: the hook is not there any more"), "{said}");
    assert_eq!(status(&team)["hooks"]["pre-push"], "missing");
    team.done("a", &["enable"]);
    assert!(hook.exists());
    assert_eq!(status(&team)["hooks"]["pre-push"], "ok");
    team.done("a", &["doctor"]);
    team.done("a", &["config", "set", "push.auto", "false"]);
    let said = team.done("a", &["doctor"]);
    assert!(said.contains("'push.auto' is off, so that the hook has nothing to do"), "{said}");
    let said = team.done("a", &["enable"]);
    assert!(said.contains("pre-push") && !hook.exists(), "{said}");
    assert_eq!(status(&team)["hooks"]["pre-push"], serde_json::Value::Null);
    team.done("a", &["config", "set", "push.auto", "true"]);
    team.done("a", &["enable"]);
    team.done("a", &["disable"]);
    assert!(!hook.exists());
}

/// The user's own hook runs first, gets what git says, and decides.
#[test]
fn a_hook_of_the_user_decides() {
    let team = Team::of(&["a"]);
    let hook = team.path("a/.git/hooks/pre-push");
    let script = "#!/bin/sh\necho \"$1\" >>../seen; cat >>../seen; test ! -e ../refuses\n";
    write_script(&hook, script);
    team.done("a", &["config", "set", "push.auto", "true"]);
    team.done("a", &["enable", "-q"]);
    team.work("a", "x", "of an agent");
    fs::write(team.path("refuses"), "").expect("written");
    let a = team.path("a");
    let push = ["-C", a.to_str().expect("plain"), "push", "-q", "origin", "HEAD:refs/heads/topic"];
    assert!(!team.world.try_git(&push).status.success());
    let seen = fs::read_to_string(team.path("seen")).expect("it has run");
    assert!(seen.starts_with("origin\n") && seen.contains("refs/heads/topic"), "{seen}");
    assert!(!team.path("a/.git/checkpoint/exchange.lock").exists());
    fs::remove_file(team.path("refuses")).expect("it is there");
    assert!(team.world.try_git(&push).status.success());
    wait_until("records are there", || !team.id("server.git", HISTORY).is_empty());
    team.done("a", &["disable", "-q"]);
    assert_eq!(fs::read_to_string(&hook).expect("it is back"), script);
}

#[test]
fn nothing_is_sent_in_the_background_without_consent() {
    let team = automatic();
    team.work("a", "x", "of an agent");
    let nothing = || assert_eq!(team.id("server.git", HISTORY), "");
    // Another address than the one that was approved.
    let url = team.git("a", &["remote", "get-url", "origin"]);
    team.git("a", &["remote", "set-url", "--push", "origin", "../elsewhere.git"]);
    exchange(&team);
    nothing();
    team.git("a", &["remote", "set-url", "--push", "origin", &url]);
    // The setting is off.
    team.done("a", &["config", "set", "push.auto", "false"]);
    exchange(&team);
    nothing();
    // What is committed does not turn it on.
    team.done("a", &["config", "unset", "push.auto"]);
    fs::write(team.path("a/.checkpoint.toml"), "[push]\nauto = true\nremote = \"origin\"\n").expect("written");
    exchange(&team);
    nothing();
    fs::remove_file(team.path("a/.checkpoint.toml")).expect("it is there");
    team.done("a", &["config", "set", "push.auto", "true"]);
    team.done("a", &["sync", "--quiet", "--after", "", "--", "no-such-remote"]);
    nothing();
    exchange(&team);
    assert_eq!(team.id("server.git", HISTORY), team.id("a", HISTORY));
    assert_eq!(status(&team)["failed_exchanges"], serde_json::json!([]));
}

/// The server is asked only if something is new, and transcripts go only if they may.
#[test]
fn nothing_new_is_no_request() {
    let team = automatic();
    team.work("a", "x", "of an agent");
    exchange(&team);
    fs::rename(team.path("server.git"), team.path("gone.git")).expect("moved");
    exchange(&team);
    assert_eq!(status(&team)["failed_exchanges"], serde_json::json!([]));
    // The same name for another address, which was approved since, has nothing yet.
    fs::rename(team.path("gone.git"), team.path("other.git")).expect("moved");
    team.git("other.git", &["update-ref", "-d", HISTORY]);
    team.git("a", &["remote", "set-url", "origin", "../other.git"]);
    team.done("a", &["remote", "approve", "origin", "--yes"]);
    exchange(&team);
    assert_eq!(team.id("other.git", HISTORY), team.id("a", HISTORY));
}

#[test]
fn a_failure_is_said_until_an_exchange_succeeds() {
    let team = automatic();
    team.work("a", "x", "of an agent");
    fs::rename(team.path("server.git"), team.path("gone.git")).expect("moved");
    exchange(&team);
    let failed = status(&team)["failed_exchanges"].clone();
    assert_eq!(failed[0]["remote"], "origin", "{failed}");
    assert!(failed[0]["message"].as_str().is_some_and(|it| it.contains("cannot list the refs")), "{failed}");
    let said = team.done("a", &["status"]);
    assert!(said.contains("Records were not exchanged with 'origin'"), "{said}");
    assert!(said.contains("(use \"git checkpoint sync origin\" to try it again)"), "{said}");
    let said = team.done("a", &["events"]);
    assert!(said.contains("exchange"), "{said}");
    // Not at each push.
    fs::rename(team.path("gone.git"), team.path("server.git")).expect("moved");
    exchange(&team);
    assert_eq!(team.id("server.git", HISTORY), "");
    // An old one does not count, nor one of the future.
    let note = team.path("a/.git/checkpoint/exchanges/origin");
    let text = fs::read_to_string(&note).expect("it was written");
    let time = failed[0]["time"].to_string();
    fs::write(&note, text.replace(&time, "1000000000")).expect("written");
    exchange(&team);
    assert_eq!(team.id("server.git", HISTORY), team.id("a", HISTORY));
    assert_eq!(status(&team)["failed_exchanges"], serde_json::json!([]));
    // By hand, it is tried at once.
    team.work("a", "x", "more");
    fs::write(&note, text).expect("written");
    team.done("a", &["push"]);
    assert_eq!(team.id("server.git", HISTORY), team.id("a", HISTORY));
    assert_eq!(status(&team)["failed_exchanges"], serde_json::json!([]));
}

#[test]
fn a_secret_stays_here() {
    let team = automatic();
    team.done("a", &["config", "set", "transcript.redact", "false"]);
    team.prompted("a", "x", "text", "use the token ghp_0123456789abcdefghijklmnopqrstuvwxyz012345");
    exchange(&team);
    assert_eq!(team.id("server.git", HISTORY), "");
    let said = status(&team)["failed_exchanges"][0]["message"].to_string();
    assert!(said.contains("secret") && !said.contains("ghp_0123"), "{said}");
}

/// A process that is killed leaves nothing that would hold the next one up.
#[test]
fn a_killed_exchange_holds_nothing_up() {
    let team = automatic();
    team.work("a", "x", "of an agent");
    for point in ["exchange:begun", "push:after-remote"] {
        let mut command = team.world.command(crate::support::program());
        command.current_dir(team.path("a")).env("CHECKPOINT_FAILPOINT", point);
        let output = command.args(["sync", "--quiet", "--after", "", "--", "origin"]).output().expect("it runs");
        assert!(!output.status.success(), "{point}: {}", described(&output));
    }
    exchange(&team);
    assert_eq!(team.id("server.git", HISTORY), team.id("a", HISTORY));
    team.assert_sound(&["a", "server.git"]);
}

/// A setting names the remote that records go to, whatever git pushes to.
#[test]
fn records_may_go_to_another_remote_than_code() {
    let team = automatic();
    team.git("a", &["init", "-q", "--bare", "../records.git"]);
    team.done("a", &["remote", "add", "team", "../records.git"]);
    team.done("a", &["remote", "approve", "team", "--yes"]);
    team.done("a", &["config", "set", "push.remote", "team"]);
    team.work("a", "x", "of an agent");
    team.git("a", &["push", "-q", "origin", "HEAD:refs/heads/topic"]);
    wait_until("records are there", || !team.id("records.git", HISTORY).is_empty());
    assert_eq!(team.id("server.git", HISTORY), "");
    // The same by hand.
    team.work("a", "x", "more");
    team.done("a", &["push"]);
    assert_eq!([team.records("records.git"), team.records("a")], [2, 2]);
}
