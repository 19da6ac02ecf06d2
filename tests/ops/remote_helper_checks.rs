//! `git-remote-checkpoint`: what must not come in, what must not go out, and where it works.

use rstest::rstest;

use super::remote_helper::{HISTORY, Team};
use crate::support::{files::write_script, processes::described};

const TEAM: &str = "refs/checkpoints-remote/team/history";

/// Lets the server have a log that is none, and returns its id.
fn spoil(team: &Team) -> String {
    team.world.sh(&format!(
        "cd ../server.git; git update-ref {HISTORY} $(git commit-tree -m evil 'main^{{tree}}'); git rev-parse {HISTORY}"
    ))
}

#[rstest]
#[case::ours("auto")]
#[case::gits("git")]
fn a_refused_log_is_refused_again(#[case] engine: &str) {
    let team = Team::of(&["a", "b"]);
    team.git("a", &["push", "team"]);
    team.git("b", &["fetch", "team"]);
    let before = team.id("b", TEAM);
    let evil = spoil(&team);
    team.git("b", &["config", "remote.origin.checkpointEngine", engine]);
    for words in [&["fetch", "team"], &["fetch", "team"], &["checkpoint", "fetch"], &["fetch", "team"]] {
        let said = team.fails("b", words);
        assert!(said.contains("is refused"), "{said}");
    }
    let said = team.fails("b", &["checkpoint", "push", "origin"]);
    assert!(said.contains("is refused"), "{said}");
    assert_eq!(team.id("b", TEAM), before);
    team.fails("b", &["cat-file", "-e", evil.trim()]);
    let left = team.world.sh("cd ../b/.git/objects; ls -d tmp_* pack/*.keep 2>/dev/null || :");
    assert_eq!(left, "");
}

#[test]
fn each_fetch_brings_only_what_is_new() {
    let team = Team::of(&["a", "b"]);
    let mut packed = Vec::new();
    for round in 0..5 {
        team.world.sh(&format!(
            "cd ../a; git checkpoint session prompt s-{round} --agent claude-code -q -m write
            echo {round} >{round}.txt
            git checkpoint session stop s-{round} -q
            git add -A; git commit -qm 'round {round}'"
        ));
        team.git("a", &["push", "team"]);
        team.git("b", &["fetch", "team"]);
        let counted = team.git("b", &["count-objects", "-v"]);
        let count = counted.lines().find_map(|line| line.strip_prefix("in-pack: ")).expect("git counts");
        packed.push(count.parse::<usize>().expect("a number"));
    }
    let new: Vec<usize> = packed.windows(2).map(|two| two[1] - two[0]).collect();
    // One record each time; a pack has the objects that its deltas need.
    assert!(new[3] < new[0] * 2, "{packed:?}");
}

/// Whichever engine brings them, the other side hears of no commit of the user's code.
#[rstest]
#[case::ours("auto")]
#[case::gits("git")]
fn only_logs_are_offered(#[case] engine: &str) {
    let team = Team::of(&["a", "b"]);
    team.git("b", &["config", "remote.origin.checkpointEngine", engine]);
    team.git("a", &["push", "team"]);
    team.git("b", &["fetch", "team"]);
    team.world.sh("cd ../a; git checkpoint session prompt s-2 --agent claude-code -q -m write; echo 2 >2.txt
        git checkpoint session stop s-2 -q; git add -A; git commit -qm two; git push -q team");
    let offered = team.world.root().join("offered");
    let mut command = team.world.command("git");
    command.current_dir(team.world.root().join("b")).env("GIT_TRACE_PACKET", &offered).args(["fetch", "-q", "team"]);
    assert!(command.output().expect("git runs").status.success());
    assert_eq!(team.id("b", TEAM), team.id("a", HISTORY));
    let text = std::fs::read_to_string(&offered).expect("git writes it");
    // Our engine writes no such lines; git's own programs on the other side do.
    let haves: Vec<&str> = text.lines().filter_map(|line| line.split_once("< have ")).map(|(_, id)| id).collect();
    let of_code = team.git("b", &["rev-list", "--branches"]);
    assert!(!haves.is_empty() && haves.iter().all(|id| !of_code.contains(id)), "{haves:?}");
}

#[test]
fn no_other_program_can_collect_a_pack_before_the_ref_leads_to_it() {
    let team = Team::of(&["a", "b"]);
    team.git("a", &["push", "team"]);
    let hook = "#!/bin/sh\n[ \"$1\" = prepared ] && ls .git/objects/pack >&2\nexit 0\n";
    team.world.sh("mkdir -p ../b/.git/hooks");
    write_script(&team.world.root().join("b/.git/hooks/reference-transaction"), hook);
    let said = team.git("b", &["fetch", "team"]);
    assert!(said.contains(".keep"), "{said}");
    assert_eq!(team.world.sh("ls ../b/.git/objects/pack | grep keep || :"), "");
}

/// A log of transcripts that looks like one of records.
#[test]
fn a_log_is_checked_as_what_its_name_says() {
    let team = Team::of(&["a", "b"]);
    team.git("a", &["push", "team"]);
    team.git("server.git", &["update-ref", "refs/checkpoints/transcripts/202601", HISTORY]);
    let said = team.fails("b", &["fetch", "team"]);
    assert!(said.contains("transcripts/202601") && said.contains("is refused"), "{said}");
    assert_eq!(team.id("b", "refs/checkpoints-remote/team"), "");
}

#[rstest]
#[case::removed(&["remote", "remove", "origin"])]
#[case::elsewhere(&["remote", "set-url", "origin", "../other.git"])]
fn an_approval_ends_with_its_remote(#[case] words: &[&str]) {
    let team = Team::of(&["a"]);
    team.git("a", words);
    for address in ["../server.git".to_owned(), team.world.root().join("server.git").display().to_string()] {
        let said = team.fails("a", &["push", &format!("checkpoint::{address}"), HISTORY]);
        assert!(said.contains("is approved"), "{said}");
    }
    assert_eq!(team.id("server.git", HISTORY), "");
}

#[test]
fn a_relative_path_begins_where_git_runs_or_is_refused() {
    let team = Team::of(&["a"]);
    team.git("a", &["push", "team"]);
    team.world.sh("git init -q --bare ../b.git; git -C ../b.git remote add origin server.git; mkdir ../x; cp -a ../server.git ../x");
    let run = |address: &str| {
        let mut command = team.world.command("git");
        command.current_dir(team.world.root().join("x")).env("GIT_DIR", "../b.git");
        command.args(["ls-remote", address]).output().expect("git runs")
    };
    let listed = run("checkpoint::server.git");
    assert!(String::from_utf8_lossy(&listed.stdout).contains(HISTORY), "{}", described(&listed));
    let refused = run("checkpoint::origin");
    assert!(described(&refused).contains("relative path"), "{}", described(&refused));
    let said = team.fails("b.git", &["checkpoint", "remote", "approve", "origin", "--yes"]);
    assert!(said.contains("relative path"), "{said}");
}

/// What git expands is expanded by git.
#[rstest]
#[case::home("~/r.git")]
#[case::encoded("file://HOME/%72.git")]
fn paths_that_only_git_understands(#[case] address: &str) {
    let team = Team::of(&["a"]);
    team.git("a", &["push", "team"]);
    team.world.sh("mkdir -p ../home && cp -a ../server.git ../home/r.git");
    let address = address.replace("HOME", &team.world.root().join("home").display().to_string());
    let listed = team.git("a", &["ls-remote", &format!("checkpoint::{address}")]);
    assert!(listed.contains(HISTORY), "{listed}");
}

/// What was fetched from one remote and can no longer be read stops no fetch from another one.
#[rstest]
#[case::no_commit("git hash-object -w 1.txt")]
#[case::no_tree(
    "id=$(git commit-tree -m x $(git write-tree)); rm .git/objects/$(git rev-parse $id^{tree} | sed 's,..,&/,'); echo $id"
)]
fn a_damaged_log_of_another_remote_stops_nothing(#[case] script: &str) {
    let team = Team::of(&["a", "b"]);
    team.git("a", &["push", "team"]);
    team.world.sh(&format!(
        "cd ../b; echo 1 >1.txt; git add 1.txt; id=$({script}); mkdir -p .git/refs/checkpoints-remote/other
        echo $id >.git/refs/checkpoints-remote/other/history"
    ));
    team.git("b", &["checkpoint", "fetch", "origin"]);
    assert_eq!(team.id("b", "refs/checkpoints-remote/origin/history"), team.id("a", HISTORY));
}

#[test]
fn it_lists_outside_of_a_repository() {
    let team = Team::of(&["a"]);
    team.git("a", &["push", "team"]);
    let id = team.id("a", HISTORY);
    let path = team.world.root().join("server.git").display().to_string();
    for address in [path, "server.git".into()] {
        let listed = team.git("", &["ls-remote", &format!("checkpoint::{address}")]);
        assert_eq!(listed, format!("{id}\t{HISTORY}\n{id}\tHEAD\n"));
    }
}

#[test]
fn a_mirror_sends_records_on() {
    let team = Team::of(&["a"]);
    team.git("a", &["push", "team"]);
    let root = team.world.root();
    let address = format!("checkpoint::{}", root.join("server.git").display());
    team.git("", &["clone", "-q", "--mirror", &address, "mirror.git"]);
    team.world.sh("git init -q --bare ../backup.git");
    team.git("mirror.git", &["remote", "add", "backup", root.join("backup.git").to_str().expect("plain")]);
    let said = team.fails("mirror.git", &["push", "checkpoint::backup", HISTORY]);
    assert!(said.contains("remote approve backup"), "{said}");
    assert!(team.git("mirror.git", &["checkpoint", "remote"]).contains("backup"));
    team.git("mirror.git", &["checkpoint", "remote", "approve", "backup", "--yes"]);
    team.git("mirror.git", &["push", "checkpoint::backup", HISTORY]);
    assert_eq!(team.id("backup.git", HISTORY), team.id("a", HISTORY));
}

#[rstest]
#[case::filter("--filter=blob:none")]
#[case::depth("--depth=1")]
fn a_part_of_a_log_is_refused(#[case] option: &str) {
    let team = Team::of(&["a", "b"]);
    team.git("a", &["push", "team"]);
    let said = team.fails("b", &["fetch", option, "team"]);
    assert!(said.contains("as a whole"), "{said}");
    assert_eq!(team.id("b", TEAM), "");
}

/// `doctor` finds nothing wrong with what the manual page says, and no hint of it would stop the exchange.
#[test]
fn doctor_agrees_with_the_manual_page() {
    let team = Team::of(&["a"]);
    let said = team.git("a", &["checkpoint", "doctor"]);
    assert!(!said.contains("remote.team"), "{said}");
    team.git("a", &["config", "--add", "remote.team.fetch", "+refs/*:refs/*"]);
    let said = team.fails("a", &["checkpoint", "doctor"]);
    assert!(said.contains("remote.team.fetch") && !said.contains("'git config --add"), "{said}");
}

/// Policies of git that are set, but to nothing.
#[rstest]
#[case::no_protocol(&[("GIT_ALLOW_PROTOCOL", "")], "")]
#[case::not_from_the_user(&[("GIT_PROTOCOL_FROM_USER", "")], "")]
#[case::setting_without_a_value(&[], "[protocol \"file\"]\n\tallow\n")]
#[case::setting_for_all(&[], "[protocol]\n\tallow = never\n")]
fn what_git_may_not_reach_is_not_reached(#[case] variables: &[(&str, &str)], #[case] setting: &str) {
    let team = Team::of(&["a", "b"]);
    team.git("a", &["push", "team"]);
    let path = team.world.root().join("server.git");
    team.git("b", &["remote", "set-url", "origin", path.to_str().expect("plain")]);
    let config = team.world.root().join("b/.git/config");
    let text = std::fs::read_to_string(&config).expect("a file") + setting;
    std::fs::write(config, text).expect("written");
    for words in [&["ls-remote", "origin"], &["checkpoint", "fetch"], &["ls-remote", "checkpoint::origin"]] {
        let mut command = team.world.command("git");
        command.current_dir(team.world.root().join("b")).envs(variables.iter().copied()).args(words);
        let output = command.output().expect("git runs");
        assert!(!output.status.success(), "{words:?}: {}", described(&output));
    }
    assert_eq!(team.id("b", "refs/checkpoints-remote"), "");
}

/// Ssh is git's own: the host, the port and the program are those that git has.
#[rstest]
#[case::port("[host:22]:p")]
#[case::letters("Work:p")]
#[case::url("ssh://Work/p")]
fn ssh_gets_what_git_gives_it(#[case] address: &str) {
    let team = Team::of(&["a"]);
    let ssh = team.world.root().join("ssh");
    write_script(&ssh, "#!/bin/sh\necho \"ssh $*\" >&2\nexit 1\n");
    let run = |address: &str| {
        let mut command = team.world.command("git");
        command.current_dir(team.world.root().join("a")).env("GIT_SSH", &ssh).env("GIT_SSH_VARIANT", "ssh");
        let output = command.args(["ls-remote", address]).output().expect("git runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let line = said.lines().find_map(|line| Some(line[line.find("ssh ")?..].to_owned()));
        line.filter(|line| line.contains("upload-pack")).expect("ssh is run")
    };
    assert_eq!(run(&format!("checkpoint::{address}")), run(address));
}

/// What a helper that was killed has received so far goes, and what another one receives at this moment stays.
#[test]
fn halves_of_packs_go() {
    let team = Team::of(&["a", "b"]);
    team.git("a", &["push", "team"]);
    team.world.sh(
        "cd ../b/.git/objects
        for name in dead alive; do git init -q --bare tmp_objdir-checkpoint-$name; echo x >tmp_objdir-checkpoint-$name/objects/pack/tmp_pack_x; done
        mkdir tmp_objdir-checkpoint-new tmp_objdir-incoming-x
        flock tmp_objdir-checkpoint-alive git -C ../.. fetch -q team",
    );
    let left = team.world.sh("cd ../b/.git/objects; ls -d tmp_*");
    assert_eq!(left, "tmp_objdir-checkpoint-alive\ntmp_objdir-checkpoint-new\ntmp_objdir-incoming-x\n");
}

/// Where a push goes to is asked there, and not where git fetches from.
#[rstest]
#[case::another_one(&["../pub.git"])]
#[case::several(&["../server.git", "../pub.git"])]
fn a_push_goes_to_each_push_url(#[case] urls: &[&str]) {
    let team = Team::of(&["a"]);
    team.git("a", &["push", "team"]);
    team.world.sh("git init -q --bare ../pub.git");
    for url in urls {
        team.git("a", &["config", "--add", "remote.origin.pushurl", url]);
    }
    team.git("a", &["checkpoint", "remote", "approve", "origin", "--yes"]);
    team.git("a", &["push", "team"]);
    assert_eq!(team.id("pub.git", HISTORY), team.id("a", HISTORY));
    let said = team.git("a", &["push", "team"]);
    assert!(said.contains("up-to-date"), "{said}");
}

/// Settings that many users have for all remotes.
#[rstest]
#[case::includes("push.useForceIfIncludes=true")]
#[case::signs_if_it_can("push.gpgSign=if-asked")]
fn settings_that_ask_for_nothing_stop_nothing(#[case] setting: &str) {
    let team = Team::of(&["a"]);
    let said = team.fails("a", &["-c", "push.gpgSign=true", "push", "team"]);
    assert!(said.contains("signed"), "{said}");
    team.git("a", &["-c", setting, "push", "team"]);
    assert_eq!(team.id("server.git", HISTORY), team.id("a", HISTORY));
}

#[test]
fn what_looks_like_a_secret_is_sent_if_the_user_says_so() {
    let team = Team::of(&["a"]);
    let name = format!("ghp_{}", "aB3dE6gH9j".repeat(4).get(..36).expect("long enough"));
    team.world.sh(&format!(
        "cd ../a; git checkpoint session prompt s-2 --agent claude-code -q -m write; echo 1 >{name}
        git checkpoint session stop s-2 -q; git add -A; git commit -qm two"
    ));
    let said = team.fails("a", &["checkpoint", "push", "origin"]);
    assert!(said.contains("'git checkpoint push --no-scan origin' sends it"), "{said}");
    let said = team.fails("a", &["push", "team"]);
    assert!(said.contains("'git push -o checkpoint.no-scan' sends it") && !said.contains(&name), "{said}");
    let said = team.fails("a", &["push", "-o", "another", "team"]);
    assert!(said.contains("push-option"), "{said}");
    team.git("a", &["push", "-o", "checkpoint.no-scan", "team"]);
    assert_eq!(team.id("server.git", HISTORY), team.id("a", HISTORY));
}

/// Git cannot be given the path of the file that keeps the pack.
#[test]
fn no_pack_is_kept_for_ever_where_paths_have_line_breaks() {
    let team = Team::of(&["a", "b"]);
    team.git("a", &["push", "team"]);
    team.world.sh("cd ..; mv b 'b\nb'");
    team.git("b\nb", &["fetch", "team"]);
    assert_eq!(team.id("b\nb", TEAM), team.id("a", HISTORY));
    assert_eq!(team.world.sh("ls ../b*/.git/objects/pack | grep keep || :"), "");
}

/// Two commands change at the same time what is approved.
#[test]
fn approvals_stay_apart() {
    let team = Team::of(&["a"]);
    let listed =
        team.world.sh("cd ../a; for n in 1 2 3 4 5 6 7 8; do git checkpoint remote add r$n $PWD/../server.git -q; done
        for n in 1 2 3 4 5 6 7 8; do git checkpoint remote approve r$n --yes -q & done; wait
        git checkpoint remote list");
    assert_eq!(listed.matches("(approved)").count(), 9, "{listed}");
}

/// A fetch that was killed keeps its pack, and a purge has to remove it all the same.
#[test]
fn a_purge_reaches_what_a_killed_fetch_has_left() {
    let team = Team::of(&["a", "b"]);
    team.world.sh(
        "cd ../a; git checkpoint session prompt s-2 --agent claude-code -q -m 'XYZZY is the word'; echo 2 >2.txt
        git checkpoint session stop s-2 -q; git add -A; git commit -qm two; git push -q team; mkdir -p ../b/.git/hooks",
    );
    let hook = team.world.root().join("b/.git/hooks/reference-transaction");
    write_script(&hook, "#!/bin/sh\n[ \"$1\" = prepared ] && kill -9 $PPID\nexit 0\n");
    team.fails("b", &["fetch", "team"]);
    let keeps = || team.world.sh("ls ../b/.git/objects/pack | grep keep || :");
    assert_ne!(keeps(), "", "the pack is kept");
    std::fs::remove_file(&hook).expect("removed");
    team.world.sh("cd ../b/.git/objects; git init -q --bare tmp_objdir-checkpoint-dead");
    let purged = team.world.sh("cd ../b; printf 'XYZZY is the word' | git checkpoint purge --stdin -f 2>&1");
    assert!(!purged.contains("stays"), "{purged}");
    assert_eq!(keeps(), "");
    let left = team.world.sh("cd ../b; git cat-file --batch-all-objects --batch | grep -a -c XYZZY || :");
    assert_eq!(left.trim(), "0", "{purged}");
}
