//! Servers that redirect, lists that are out of date, races that are lost, and logs that cannot be read.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    net::TcpListener,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use crate::{
    ops::sharing::{HISTORY, TRACKING, Team},
    support::{files::write_script, processes::described},
};

/// Answers each request on a port of the loopback device with `answer`. Returns the port, and how many requests there were.
fn answering(answer: String) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = listener.local_addr().expect("bound").port();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            counted.fetch_add(1, Ordering::SeqCst);
            let lines = BufReader::new(&stream).lines().map_while(Result::ok);
            lines.take_while(|line| !line.is_empty()).for_each(drop);
            drop((&stream).write_all(answer.as_bytes()));
        }
    });
    (port, count)
}

/// The server that was approved sends git to another one, which gets nothing.
#[test]
fn redirects_are_not_followed() {
    let team = Team::of(&["a"]);
    team.work("a", "x", "of a");
    let end = "Content-Length: 0\r\nConnection: close\r\n\r\n";
    let (other, asked) = answering(format!("HTTP/1.1 404 Not Found\r\n{end}"));
    let to = format!("Location: http://127.0.0.1:{other}/r.git/info/refs?service=git-receive-pack");
    let (port, _) = answering(format!("HTTP/1.1 302 Found\r\n{to}\r\n{end}"));
    let url = format!("http://127.0.0.1:{port}/r.git");
    team.done("a", &["remote", "add", "team", &url]);
    team.done("a", &["remote", "approve", "team", "--yes"]);
    team.git("a", &["config", &format!("http.http://127.0.0.1:{port}/.followRedirects"), "true"]);
    let said = team.fails("a", &["push", "team"]);
    assert!(said.contains("redirects to another address") && said.contains("git remote set-url"), "{said}");
    // Of such an address, git takes no setting on its command line that would count for more than the user's.
    team.done("a", &["remote", "add", "other", &format!("{url}?a=b")]);
    team.done("a", &["remote", "approve", "other", "--yes"]);
    let said = team.fails("a", &["push", "other"]);
    assert!(said.contains("send git elsewhere") && said.contains("followredirects"), "{said}");
    assert_eq!(asked.load(Ordering::SeqCst), 0);
}

/// The ref of what was fetched names an object that is not here, or nothing.
#[rstest::rstest]
#[case::missing("0123456789012345678901234567890123456789\n")]
#[case::garbage("garbage\n")]
#[case::empty("")]
fn a_damaged_tracking_ref_is_set_aside(#[case] content: &str, #[values("fetch", "push", "sync")] command: &str) {
    let team = Team::of(&["a", "b"]);
    team.work("a", "x", "of a");
    team.done("a", &["push"]);
    team.work("b", "y", "of b");
    team.done("b", &["fetch"]);
    fs::write(team.path("b/.git").join(TRACKING), content).expect("written");
    let said = described(&team.run("b", &["doctor"]));
    assert!(said.contains(TRACKING) && said.contains("what was fetched cannot all be read"), "{said}");
    let said = described(&team.run("b", &[command]));
    assert!(said.contains("set aside"), "{said}");
    assert_eq!(team.id("b", TRACKING), team.id("server.git", HISTORY));
    assert!(!described(&team.run("b", &["doctor"])).contains(TRACKING));
}

/// A push of another clone comes between the list and the fetch, and the server gives only what it lists now.
#[rstest::rstest]
fn what_is_no_longer_listed_is_asked_for_anew(#[values("fetch", "push")] command: &str) {
    let team = Team::of(&["a", "b"]);
    team.work("a", "x", "of a");
    team.done("a", &["push"]);
    let first = team.id("server.git", HISTORY);
    team.work("a", "x", "more of a");
    team.done("a", &["push"]);
    let second = team.id("server.git", HISTORY);
    team.work("b", "y", "of b");
    // Neither leads to the other one for the server: the older one is in no ref any more.
    team.git("server.git", &["update-ref", HISTORY, &first]);
    let (wrapper, flag, server) = (team.path("wrapper"), team.path("flag"), team.path("server.git"));
    let script = format!(
        "#!/bin/sh\ngit-upload-pack \"$@\"; code=$?\n\
         if test ! -e '{0}'; then >'{0}'; git --git-dir='{1}' update-ref {HISTORY} {second}; fi\nexit $code\n",
        flag.display(),
        server.display()
    );
    write_script(&wrapper, &script);
    team.git("b", &["config", "protocol.version", "0"]);
    team.git("b", &["config", "remote.origin.uploadpack", wrapper.to_str().expect("plain")]);
    team.done("b", &[command]);
    assert!(flag.exists());
    assert_eq!(team.records_in("b", TRACKING), if command == "push" { 3 } else { 2 });
}

/// What git prints of a race that was lost is not said once the records are there.
#[test]
fn a_lost_race_is_not_reported() {
    let team = Team::of(&["a", "b"]);
    team.work("a", "x", "of a");
    team.done("a", &["push"]);
    let first = team.id("server.git", HISTORY);
    team.work("a", "x", "more of a");
    team.done("a", &["push"]);
    let second = team.id("server.git", HISTORY);
    team.git("server.git", &["update-ref", HISTORY, &first]);
    team.work("b", "y", "of b");
    let (hook, flag) = (team.path("server.git/hooks/pre-receive"), team.path("flag"));
    fs::create_dir_all(hook.parent().expect("it has one")).expect("made");
    let script = format!(
        "#!/bin/sh\nif test ! -e '{0}'; then >'{0}'; env -u GIT_QUARANTINE_PATH git update-ref {HISTORY} {second}; fi\n\
         echo checked >&2\n",
        flag.display()
    );
    write_script(&hook, &script);
    let output = team.run("b", &["push"]);
    let said = described(&output);
    assert!(output.status.success() && flag.exists(), "{said}");
    assert!(said.contains("checked") && !said.contains("cannot lock"), "{said}");
    assert_eq!(team.records("server.git"), 3);
}

/// Something else than a commit stands where the log should be.
#[rstest::rstest]
#[case::blob("git rev-parse HEAD:f")]
#[case::tree("git rev-parse HEAD^{tree}")]
#[case::tag("git tag -a -m x tag; git rev-parse tag")]
fn what_is_no_log_is_refused(#[case] object: &str) {
    let team = Team::of(&["a"]);
    team.work("a", "x", "of a");
    let id = team.world.sh(object).trim().to_owned();
    team.world.sh(&format!("git push -q origin {id}:refs/other/x"));
    fs::create_dir_all(team.path("server.git/refs/checkpoints")).expect("made");
    fs::write(team.path("server.git").join(HISTORY), format!("{id}\n")).expect("written");
    for command in ["fetch", "push", "sync"] {
        let output = team.run("a", &[command]);
        let said = described(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("is refused") && said.contains("no commit"), "{said}");
    }
}

/// A ref that is called like one of ours, of a month that no year has.
#[test]
fn a_month_that_does_not_exist_is_not_ours() {
    let team = Team::of(&["a"]);
    team.work("a", "x", "of a");
    let foreign = "refs/checkpoints/transcripts/202513";
    team.git("server.git", &["update-ref", foreign, "main"]);
    team.git("a", &["update-ref", foreign, "HEAD"]);
    team.done("a", &["fetch", "--transcripts"]);
    team.done("a", &["push", "--transcripts"]);
    assert_eq!(team.records("server.git"), 1);
}
