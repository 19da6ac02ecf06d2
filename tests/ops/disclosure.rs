//! The setting `commit.disclosure`: messages name the agents that have a part in the commit, and no others.

use std::process::Output;

use crate::support::{World, files, processes::described};

fn world(disclosure: &str) -> World {
    let world = World::with_hooks();
    world.git(&["config", "checkpoint.commit.disclosure", disclosure]);
    // Its name is in no list of what is expected below.
    world.git(&["config", "checkpoint.link", "none"]);
    world
}

fn agent(world: &World, session: &str, model: &str, file: &str) {
    world.sh(&format!(
        "git checkpoint session prompt {session} --agent claude-code --model '{model}' -q -m please
        printf '%s\\n' 'first line of {session}' 'second line of {session}' 'third line of {session}' >>{file}
        git checkpoint session stop {session} -q; git add -A"
    ));
}

fn message(world: &World) -> String {
    world.git(&["log", "-1", "--format=%B"]).trim_end().to_owned()
}

fn commit(world: &World, editor: &str, arguments: &[&str]) -> Output {
    let script = world.root().join("editor");
    files::write_script(&script, &format!("#!/bin/sh\n{editor}\n"));
    let mut command = world.command("git");
    command.env("EDITOR", &script).args(["commit", "-q"]).args(arguments).output().expect("git runs")
}

const SAID: &str = "Assisted-by: claude-code:opus-5";

#[rstest::rstest]
#[case::message("exit 1", &["-m", "one"], "one\n\nSAID")]
#[case::body("exit 1", &["-m", "one", "-m", "two"], "one\n\ntwo\n\nSAID")]
#[case::signed("exit 1", &["-s", "-m", "one"], "one\n\nSigned-off-by: C O Mitter <committer@example.com>\nSAID")]
#[case::there_already("exit 1", &["-m", "one\n\nSAID"], "one\n\nSAID")]
#[case::there_in_the_middle("exit 1", &["-m", "one\n\nSAID\n\ntwo"], "one\n\nSAID\n\ntwo")]
#[case::with_a_tool("exit 1", &["-m", "one\n\nSAID [sparse]"], "one\n\nSAID [sparse]")]
#[case::with_the_other_key("exit 1", &["-m", "one\n\nGenerated-by: claude-code:opus-5"], "one\n\nGenerated-by: claude-code:opus-5")]
#[case::another_agent("exit 1", &["-m", "one\n\nAssisted-by: codex:x"], "one\n\nAssisted-by: codex:x\nSAID")]
#[case::editor("sed -i 1s/^/one/ \"$1\"", &[], "one\n\nSAID")]
#[case::verbose("sed -i 1s/^/one/ \"$1\"", &["-v"], "one\n\nSAID")]
#[case::scissors("sed -i 1s/^/one/ \"$1\"", &["--cleanup=scissors"], "one\n\nSAID")]
#[case::scissors_and_verbose("sed -i 1s/^/one/ \"$1\"", &["--cleanup=scissors", "-v"], "one\n\nSAID")]
#[case::taken_out("sed -i /Assisted-by/d \"$1\"", &["-e", "-m", "one"], "one")]
fn a_commit_names_the_agent(#[case] editor: &str, #[case] arguments: &[&str], #[case] expected: &str) {
    let world = world("assisted-by");
    agent(&world, "s1", "opus-5", "f");
    let arguments: Vec<String> = arguments.iter().map(|it| it.replace("SAID", SAID)).collect();
    let output = commit(&world, editor, &arguments.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(output.status.success(), "{}", described(&output));
    assert_eq!(message(&world), expected.replace("SAID", SAID));
}

#[rstest::rstest]
#[case::nothing_typed("true", &[])]
#[case::verbose("true", &["-v"])]
#[case::only_signed("true", &["-s"])]
#[case::empty_argument("exit 1", &["-m", ""])]
fn a_message_with_nothing_else_aborts_as_ever(#[case] editor: &str, #[case] arguments: &[&str]) {
    let world = world("assisted-by");
    agent(&world, "s1", "opus-5", "f");
    let head = world.git(&["rev-parse", "HEAD"]);
    let output = commit(&world, editor, arguments);
    assert_eq!((output.status.success(), world.git(&["rev-parse", "HEAD"])), (false, head), "{}", described(&output));
}

#[test]
fn it_is_beside_the_trailer_of_the_record() {
    let world = world("generated-by");
    world.git(&["config", "--unset", "checkpoint.link"]);
    agent(&world, "s1", "opus-5", "f");
    world.git(&["commit", "-qm", "one"]);
    let keys = world.git(&["log", "-1", "--format=%(trailers:keyonly)"]);
    assert_eq!(keys.trim(), "Generated-by\nCheckpoint");
}

#[test]
fn off_is_off_and_a_persons_commit_names_none() {
    let off = World::with_hooks();
    off.git(&["config", "checkpoint.link", "none"]);
    agent(&off, "s1", "opus-5", "f");
    off.git(&["commit", "-qm", "one"]);
    assert_eq!(message(&off), "one");
    let world = world("assisted-by");
    agent(&world, "s1", "opus-5", "f");
    world.sh("echo by hand >h; git add h; git commit -qm person h");
    assert_eq!(message(&world), "person");
    world.git(&["commit", "-qm", "agent"]);
    assert_eq!(message(&world), format!("agent\n\n{SAID}"));
    // A message that is copied names the agent of another commit.
    world.sh("echo more >>h; git commit -qa -C HEAD");
    assert_eq!(
        message(&world),
        format!("agent\n\n{SAID}"),
        "without a trailer of a record, it may be a person's own words"
    );
}

#[test]
fn an_amend_keeps_it_right() {
    let world = world("assisted-by");
    agent(&world, "s1", "opus-5", "f");
    world.git(&["commit", "-qm", "one"]);
    world.git(&["commit", "-q", "--amend", "--no-edit"]);
    assert_eq!(message(&world), format!("one\n\n{SAID}"));
    world.git(&["commit", "-q", "--amend", "-m", "other words"]);
    assert_eq!(message(&world), format!("other words\n\n{SAID}"));
    agent(&world, "s2", "haiku-5", "g");
    world.git(&["commit", "-q", "--amend", "--no-edit"]);
    assert_eq!(message(&world), format!("other words\n\n{SAID}\nAssisted-by: claude-code:haiku-5"));
    // All work of the first session is taken back.
    world.sh("git checkout -q HEAD^ -- f; git commit -q --amend --no-edit");
    assert_eq!(message(&world), "other words\n\nAssisted-by: claude-code:haiku-5");
}

#[test]
fn squashes_and_rebases_keep_it_right() {
    let world = world("assisted-by");
    world.sh("git branch base; git switch -qc topic");
    agent(&world, "s1", "opus-5", "f");
    world.git(&["commit", "-qm", "one"]);
    agent(&world, "s2", "haiku-5", "g");
    world.git(&["commit", "-qm", "two"]);
    let both = format!("{SAID}\nAssisted-by: claude-code:haiku-5");
    let sorted = |text: String| {
        let mut lines: Vec<String> =
            text.lines().filter(|line| line.starts_with("Assisted-by")).map(str::to_owned).collect();
        lines.sort_by_key(|line| !line.contains("opus"));
        lines.join("\n")
    };
    world.sh("git switch -qc squash base; git merge -q --squash topic >/dev/null; git commit -qm both");
    assert_eq!(sorted(message(&world)), both);
    world.sh("git switch -qc squash2 base; git merge -q --squash topic >/dev/null; GIT_EDITOR=true git commit -q");
    assert_eq!(sorted(message(&world)), both);
    world.sh("git switch -q base; echo x >x; git add x; git commit -qm x; git switch -q topic; git rebase -q base");
    assert_eq!(message(&world), "two\n\nAssisted-by: claude-code:haiku-5");
    world.sh("GIT_SEQUENCE_EDITOR=\"sed -i '2s/^pick/fixup/'\" git rebase -q -i base");
    assert_eq!((sorted(message(&world)), world.git(&["log", "-1", "--format=%s"]).trim()), (both, "one"));
}

#[test]
fn a_name_of_an_agent_forges_nothing() {
    let world = world("assisted-by");
    agent(&world, "s1", "x\nSigned-off-by: A <a@b>\u{1b}[31m", "f");
    world.git(&["commit", "-qm", "one"]);
    let said = message(&world);
    assert_eq!(said.lines().count(), 3, "{said}");
    assert!(!said.contains(['<', '@', '\u{1b}']), "{said}");
}

/// The project may ask for it, and may not take it away from a user.
#[test]
fn the_project_may_only_ask_for_it() {
    let world = World::with_hooks();
    let get = || world.git(&["checkpoint", "config", "get", "commit.disclosure"]).trim().to_owned();
    world.write(".checkpoint.toml", "[commit]\ndisclosure = 'assisted-by'\n");
    assert_eq!(get(), "assisted-by");
    world.write(".checkpoint.toml", "[commit]\ndisclosure = 'off'\n");
    world.git(&["checkpoint", "config", "set", "--user", "commit.disclosure", "generated-by"]);
    assert_eq!(get(), "generated-by");
}

#[test]
fn copies_and_merges_keep_it_right() {
    let world = world("off");
    world.sh("git config checkpoint.link trailer; git branch base; git switch -qc topic");
    agent(&world, "s1", "opus-5", "f");
    world.git(&["commit", "-qm", "one"]);
    world.sh(
        "git config checkpoint.commit.disclosure assisted-by; git switch -q base; git cherry-pick topic >/dev/null",
    );
    assert!(message(&world).contains(SAID), "{}", message(&world));
    world.sh("git switch -qc again base^; git cherry-pick base >/dev/null");
    assert_eq!(message(&world).matches(SAID).count(), 1, "{}", message(&world));
    // A merge has nothing of its own, unless an agent resolves it.
    world
        .sh("git switch -qc other base^; echo other >g; git add g; git commit -qm other; git merge -q --no-edit topic");
    assert!(!message(&world).contains("Assisted-by"), "{}", message(&world));
    world.sh("git switch -qc conflict base^; echo mine >>f; git commit -qam mine; git merge -q topic >/dev/null || :");
    world.sh("git checkpoint session prompt s2 --agent claude-code --model haiku-5 -q -m resolve
        printf '%s\\n' 'an agent has resolved this conflict' 'with two lines of its own' >f
        git checkpoint session stop s2 -q; git add f; git commit -q --no-edit");
    assert!(message(&world).contains("Assisted-by: claude-code:haiku-5"), "{}", message(&world));
}

/// The agent runs `git commit` itself, in the middle of its turn; its model is known from the session.
#[test]
fn an_agent_that_commits_is_named() {
    let world = world("assisted-by");
    world.sh("git checkpoint session prompt s1 --agent claude-code --model opus-5 -q -m please
        printf '%s\\n' 'first line of it' 'second line of it' >>f; git commit -qam 'by itself'
        git checkpoint session stop s1 -q");
    assert_eq!(message(&world), format!("by itself\n\n{SAID}"));
    let figures = world.json(&["attribution", "--json", "HEAD"])["summary"]["agent_lines"].clone();
    assert_eq!(figures, 2);
}

/// Of a file that has lines of both, a part is staged.
#[test]
fn what_is_not_staged_names_none() {
    let world = world("assisted-by");
    agent(&world, "s1", "opus-5", "f");
    world.sh("git reset -q; echo by hand >h; git add h; git commit -qm mine");
    assert_eq!(message(&world), "mine");
    world.sh("git add -A; git commit -qm theirs");
    assert_eq!(message(&world), format!("theirs\n\n{SAID}"));
    world.sh("sed -i '/of s1/d' f; git commit -qam 'by a person'");
    assert_eq!(message(&world), "by a person");
}
