//! Servers that do not answer, or never stop: an exchange with them ends, says why, and leaves nothing half done.

use std::{
    net::TcpListener,
    process::{Output, Stdio},
    time::{Duration, Instant},
};

use rstest::rstest;

use super::{
    sharing::{HISTORY, TRACKING, Team},
    sharing_hostile::run,
};
use crate::support::{
    files::write_script,
    processes::{described, ended, signal},
    program,
    terminal::Terminal,
};

/// More than any test waits.
const LONG: Duration = Duration::from_secs(40);

/// A clone with a record, whose remote has one of another clone.
fn team(timeout: &str) -> Team {
    let team = Team::of(&["a", "b"]);
    team.work("b", "y", "of b");
    team.done("b", &["push"]);
    team.work("a", "x", "of a");
    team.git("a", &["config", "checkpoint.remote.timeout", timeout]);
    team
}

/// Lets git's side of a fetch on this machine send nothing, and no sign of life.
fn with_silent_packs(team: &Team) {
    with_packs(team, "exec sleep 1000", 0);
}

/// Lets the shell command `script` make the packs that git's side of a fetch on this machine sends. It says each `keep_alive` seconds
/// that it is alive.
fn with_packs(team: &Team, script: &str, keep_alive: u32) {
    write_script(&team.path("packs"), &format!("#!/bin/sh\n{script}\n"));
    let settings = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/gitconfig");
    let packs = team.path("packs");
    let text = format!(
        "[include]\npath = {settings}\n[uploadpack]\nkeepAlive = {keep_alive}\npackObjectsHook = {}\n",
        packs.display()
    );
    std::fs::write(team.path("gitconfig"), text).expect("written");
}

/// Accepts connections for as long as it lives, and says nothing.
fn silent_server() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let url = format!("http://127.0.0.1:{}/r.git", listener.local_addr().expect("bound").port());
    (listener, url)
}

fn nothing_is_left(team: &Team) {
    assert_eq!(team.id("a", TRACKING), "");
    assert_eq!(team.world.sh("cd ../a/.git/objects; ls -d tmp_* pack/tmp_* pack/*.keep 2>/dev/null || :"), "");
    team.assert_sound(&["a", "server.git"]);
}

fn assert_stalled(output: &Output, begin: Instant) {
    let said = described(output);
    assert_eq!(output.status.code(), Some(128), "{said}");
    assert!(said.contains("has done nothing for 1 s") && said.contains("'remote.timeout' says how long"), "{said}");
    assert!(begin.elapsed() < LONG, "{said}");
}

#[rstest]
fn a_server_that_sends_no_pack(
    #[values(&["fetch"], &["push"], &["sync"])] words: &[&str],
    #[values("auto", "git")] engine: &str,
) {
    let team = team("1s");
    with_silent_packs(&team);
    team.reach_by("a", engine);
    let begin = Instant::now();
    assert_stalled(&run(&team, words), begin);
    nothing_is_left(&team);
    // The next one works.
    team.done("a", &["sync"]);
    assert_eq!(team.records_in("server.git", HISTORY), 2);
}

/// What only keeps the connection open is no progress.
#[rstest]
fn a_server_that_only_says_that_it_is_alive(#[values("auto", "git")] engine: &str) {
    let team = team("3s");
    with_packs(&team, "exec sleep 1000", 1);
    team.reach_by("a", engine);
    let output = run(&team, &["fetch"]);
    let said = described(&output);
    assert_eq!(output.status.code(), Some(128), "{said}");
    assert!(said.contains("has done nothing for 3 s"), "{said}");
    nothing_is_left(&team);
}

#[rstest]
fn a_web_server_that_does_not_answer(#[values("auto", "git")] engine: &str, #[values("fetch", "push")] command: &str) {
    let team = team("1s");
    let (_listener, url) = silent_server();
    team.done("a", &["remote", "add", "web", &url]);
    team.done("a", &["remote", "approve", "web", "--yes"]);
    team.git("a", &["config", "remote.web.checkpointEngine", engine]);
    let begin = Instant::now();
    assert_stalled(&team.run("a", &[command, "web"]), begin);
    nothing_is_left(&team);
}

/// It lists its refs, and takes nothing.
#[test]
fn a_server_that_does_not_receive() {
    let team = team("1s");
    write_script(&team.path("receive"), "#!/bin/sh\nexec sleep 1000\n");
    team.git("a", &["config", "remote.origin.receivepack", team.path("receive").to_str().expect("plain")]);
    let before = team.id("server.git", HISTORY);
    let begin = Instant::now();
    assert_stalled(&team.run("a", &["push"]), begin);
    assert_eq!(team.id("server.git", HISTORY), before);
    nothing_is_left(&team);
    team.git("a", &["config", "--unset", "remote.origin.receivepack"]);
    team.done("a", &["push"]);
}

/// Git is silent while much arrives: what its processes do is progress.
#[test]
fn a_slow_server_is_waited_for() {
    let team = team("2s");
    // For longer than the limit, some kilobytes now and then.
    let script = "#!/bin/sh\nfor n in 1 2 3 4 5 6 7 8 9 10; do sleep 0.5; head -c 60000 /dev/urandom; done >/dev/null\n\
                  exec git-upload-pack \"$@\"\n";
    write_script(&team.path("slow"), script);
    team.git("a", &["config", "remote.origin.uploadpack", team.path("slow").to_str().expect("plain")]);
    team.done("a", &["fetch"]);
    assert_eq!(team.id("a", TRACKING), team.id("server.git", HISTORY));
}

#[rstest]
fn a_signal_ends_the_wait(#[values("auto", "git")] engine: &str, #[values("INT", "TERM")] name: &str) {
    let team = team("0s");
    with_silent_packs(&team);
    team.reach_by("a", engine);
    let mut command = team.world.command(program());
    command.current_dir(team.path("a")).env("GIT_CONFIG_GLOBAL", team.path("gitconfig")).arg("fetch");
    let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program starts");
    std::thread::sleep(Duration::from_millis(1500));
    signal(&child, name);
    assert_eq!(ended(&mut child, LONG).code(), Some(130));
    nothing_is_left(&team);
}

#[test]
fn a_terminal_shows_who_is_waited_for() {
    let team = team("4s");
    let (_listener, url) = silent_server();
    team.done("a", &["remote", "add", "web", &url]);
    let line = format!("cd '{}'; exec {} fetch web", team.path("a").display(), program());
    let terminal = Terminal::start(&team.world, &line, |_| {});
    terminal.wait_for("Fetching records, waiting for 'web'...");
    terminal.wait_for("has done nothing for 4 s");
}

#[rstest]
fn more_than_is_allowed_does_not_arrive(#[values("auto", "git")] engine: &str) {
    let team = team("2m");
    team.reach_by("a", engine);
    team.git("a", &["config", "checkpoint.remote.max-fetch-size", "100"]);
    let output = team.run("a", &["fetch"]);
    let said = described(&output);
    assert_eq!(output.status.code(), Some(128), "{said}");
    assert!(said.contains("sends more than 100 bytes") && said.contains("'remote.max-fetch-size'"), "{said}");
    nothing_is_left(&team);
    team.git("a", &["config", "--unset", "checkpoint.remote.max-fetch-size"]);
    team.done("a", &["fetch"]);
}

/// It is ended while it sends, also if the server says something all the time.
#[test]
fn what_is_too_much_is_ended_while_it_arrives() {
    let team = team("2m");
    let noise = "#!/bin/sh\n( while kill -0 $PPID 2>/dev/null; do echo working; sleep 0.02; done >&2 ) &\n\
                 exec git-upload-pack \"$@\"\n";
    write_script(&team.path("noise"), noise);
    let sent = team.path("sent");
    // Three megabytes, and then it goes on for longer than the test may take, with a little now and then.
    let slow = format!(
        "head -c 3000000 /dev/urandom | git -C '{0}' hash-object -w --stdin >/dev/null
         {{ git -C '{0}' cat-file --batch-all-objects --batch-check='%(objectname)'; }} | git -C '{0}' pack-objects --stdout -q >'{1}.pack'
         cat '{1}.pack'; n=0; while [ $n -lt 200 ]; do sleep 0.1; n=$((n+1)); echo $n >'{1}'; echo x; done",
        team.path("server.git").display(),
        sent.display()
    );
    with_packs(&team, &slow, 0);
    team.git("a", &["config", "remote.origin.uploadpack", team.path("noise").to_str().expect("plain")]);
    team.git("a", &["config", "checkpoint.remote.max-fetch-size", "1MiB"]);
    let output = run(&team, &["fetch"]);
    let said = described(&output);
    assert!(said.contains("sends more than 1 MiB"), "{said}");
    let sent = std::fs::read_to_string(&sent).ok().and_then(|text| text.trim().parse::<u32>().ok()).unwrap_or(0);
    assert!(sent < 200, "all was waited for: {said}");
    nothing_is_left(&team);
}
