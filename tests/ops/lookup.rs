//! Names of checkpoints.

use git_checkpoint::{
    Context, Kind, Origin,
    testing::model::refname::{archive_ref, tag_ref, verified_ref},
};
use gix::ObjectId;

use crate::support::{World, processes::described, program};

#[test]
fn every_way_to_name_a_checkpoint() {
    let world = World::with_commit();
    let mut shadow = world.shadow("main", 0);
    let ids: Vec<_> = (0..3)
        .map(|n| {
            world.write("f", format!("{n}\n"));
            shadow.save(&format!("save {n}"), &Origin::default())
        })
        .collect();
    world.git(&["update-ref", &tag_ref("beef"), &ids[0].to_string()]);
    world.git(&["update-ref", &tag_ref("before it"), &ids[1].to_string()]);
    let context = Context::open(&world.repo()).expect("a repository");
    let resolve =
        |text: &str| git_checkpoint::resolve(&context, text).map(|id| id.to_string()).map_err(|it| it.to_string());
    let expect = |id: gix::ObjectId| Ok(id.to_string());

    assert_eq!(resolve("@"), expect(ids[2]));
    assert_eq!(resolve("@{0}"), expect(ids[2]));
    assert_eq!(resolve("@{2}"), expect(ids[0]));
    assert_eq!(resolve("@{3}"), Err("no checkpoint matches '@{3}'".into()));
    assert_eq!(resolve("base"), expect(world.id(&["rev-parse", "HEAD"])));
    assert_eq!(resolve("beef"), expect(ids[0]));
    assert_eq!(resolve("before it"), expect(ids[1]));
    assert_eq!(resolve(&ids[1].to_string()), expect(ids[1]));
    assert_eq!(resolve(&ids[1].to_string()[..10].to_uppercase()), expect(ids[1]));
    assert_eq!(resolve("verified"), expect(ids[0]), "nothing is marked: the start");
    world.git(&["update-ref", &verified_ref("main".into()), &ids[1].to_string()]);
    assert_eq!(resolve("verified"), expect(ids[1]));
}

#[test]
fn a_name_of_no_checkpoint_is_refused_with_a_hint() {
    let world = World::with_commit();
    let context = Context::open(&world.repo()).expect("a repository");
    let resolve = |text: &str| git_checkpoint::resolve(&context, text).expect_err(text);

    assert_eq!(resolve("@").message(), "this worktree has no checkpoint yet");
    let tree = world.git(&["rev-parse", "HEAD^{tree}"]).trim().to_owned();
    assert_eq!(resolve(&tree).message(), format!("'{tree}' is not a checkpoint"));
    let error = resolve("a1b2");
    assert_eq!((error.kind(), error.message()), (Kind::User, "no checkpoint matches 'a1b2'"));
    assert_eq!(error.hint(), Some("'git checkpoint list' shows the checkpoints of this worktree"));
    let git_only = ["@^", "@~1", "@{0}^", "@{0", "main@{0"];
    for text in ["", "@{x}", "@{+0}", "no such tag", "../../HEAD", &"0".repeat(40)].into_iter().chain(git_only) {
        assert_eq!(resolve(text).kind(), Kind::User, "{text}");
    }
}

#[test]
fn a_revision_names_a_commit() {
    let world = World::with_commit();
    world.git(&["tag", "-a", "-m", "a tag", "v1"]);
    world.git(&["commit", "-q", "--allow-empty", "-m", "next"]);
    let context = Context::open(&world.repo()).expect("a repository");
    let head = world.id(&["rev-parse", "HEAD"]);
    for text in ["HEAD", "main", &head.to_string(), &head.to_string()[..8], "v1", "HEAD~1"] {
        let expected = world.id(&["rev-parse", &format!("{text}^{{commit}}")]);
        assert_eq!(git_checkpoint::resolve(&context, text).expect("a commit"), expected, "{text}");
    }
}

/// Two sessions take turns; the second turn of `abc` goes on after a commit.
#[test]
fn a_turn_names_the_states_before_and_after_it() {
    let world = World::with_commit();
    let turn = |session: &str, before: &str, contents: &[&str], middle: &dyn Fn()| {
        world.done(&["session", "prompt", session, "-q", "--agent", if session == "abd" { "mine" } else { "its" }]);
        if !before.is_empty() {
            world.write("f", before);
        }
        for (at, content) in contents.iter().enumerate() {
            world.write("f", content);
            world.done(&["save", "-q", "--session", session, "--agent", "mine"]);
            if at == 0 {
                middle();
            }
        }
        world.done(&["session", "stop", session, "-q"]);
    };
    turn("abc", "", &["1\n", "2\n"], &|| {});
    world.write("f", "of a person\n");
    turn("abc", "", &["3\n", "4\n"], &|| drop(world.git(&["commit", "-qam", "in the turn"])));
    turn("abd", "", &["5\n"], &|| {});
    turn("abd", "", &[], &|| {});
    let context = Context::open(&world.repo()).expect("a repository");
    let content = |text: &str| {
        let id = git_checkpoint::resolve(&context, text).map_err(|error| error.to_string())?;
        Ok::<_, String>(world.git(&["show", &format!("{id}:f")]).trim().to_owned())
    };
    let states = ["abc@1^", "abc@1", "abc@2^", "abc@2", "abd@1^", "abd@1", "mine@1"].map(content);
    let expected = ["base", "2", "of a person", "4", "4", "5", "5"].map(|text| Ok(text.to_owned()));
    assert_eq!(states, expected);
    assert_eq!(content("ab@1"), Err("'ab' is ambiguous: 2 sessions match".into()));
    assert_eq!(content("abd@2"), Err("turn 2 of the session 'abd' has no checkpoint".into()));
    assert_eq!(content("nobody@1"), Err("no session 'nobody'".into()));

    world.done(&["restore", "--before", "abd@1"]);
    assert_eq!(world.read("f"), "4\n");
    assert_eq!(content("abd@1"), Ok("5".into()), "a restore of a turn is not its end");
    world.git(&["update-ref", &tag_ref("abd@1"), "HEAD"]);
    assert_eq!(content("abd@1"), Ok("3".into()), "a tag comes first");
}

/// A full id comes before an agent, and that before the beginning of an id.
#[test]
fn a_session_is_named_by_its_id_or_its_agent() {
    let world = World::with_commit();
    let turn = |session: &str, agent: &str, content: &str| {
        world.done(&["session", "prompt", session, "-q", "--agent", agent]);
        world.write("f", content);
        world.done(&["session", "stop", session, "-q"]);
    };
    turn("s1", "codex", "1\n");
    turn("s10", "gemini", "2\n");
    turn("codexx", "claude-code", "3\n");
    world.done(&["session", "forget", "s1"]);
    let context = Context::open(&world.repo()).expect("a repository");
    let resolve = |text: &str| git_checkpoint::resolve(&context, text).expect(text);
    let content = |text: &str| world.git(&["show", &format!("{}:f", resolve(text))]).trim().to_owned();
    assert_eq!(["s1@1", "s10@1", "claude-code@1", "code@1"].map(content), ["1", "2", "3", "3"]);
    turn("s2", "codex", "4\n");
    assert_eq!(content("codex@1"), "4");
    world.git(&["branch", "rel@2"]);
    assert_eq!(resolve("rel@2"), world.id(&["rev-parse", "HEAD"]));
    assert!(!world.checkpoint(&["show", "codex@2"]).status.success(), "the session has no such turn");
}

/// After a commit of another file, the checkpoint is on the new base, and holds the same work.
#[test]
fn before_a_checkpoint_that_was_carried_forward_is_what_was_before_its_original() {
    let world = World::with_commit();
    world.write("g", "committed\n");
    world.done(&["save", "-q"]);
    world.write("f", "1\n");
    world.done(&["save", "-q"]);
    world.git(&["add", "g"]);
    world.git(&["commit", "-qm", "g"]);
    world.write("f", "2\n");
    world.done(&["save", "-q"]);
    world.done(&["restore", "--all", "--before", "@{1}"]);
    assert_eq!((world.read("f"), world.read("g")), ("base\n".into(), "committed\n".into()));
}

#[test]
fn before_a_turn_that_was_committed_is_left_to_the_commits() {
    let world = World::with_commit();
    world.done(&["session", "prompt", "s", "-q"]);
    world.write("f", "1\n");
    world.done(&["session", "stop", "s", "-q"]);
    world.git(&["commit", "-qam", "1"]);
    world.git(&["commit", "-q", "--allow-empty", "-m", "2"]);
    let restored = world.checkpoint(&["restore", "--json", "--before", "s@1"]);
    assert_eq!(restored.status.code(), Some(1));
    let restored: serde_json::Value = serde_json::from_slice(&restored.stdout).expect("JSON");
    assert_eq!((&restored["committed"], &restored["kept"]), (&serde_json::json!(["f"]), &serde_json::json!([])));
    world.done(&["restore", "--all", "--before", "s@1"]);
    assert_eq!(world.read("f"), "base\n");
}

#[test]
fn a_commit_of_a_shallow_clone_can_be_shown() {
    let world = World::with_commit();
    world.write("f", "1\n");
    world.git(&["commit", "-qam", "1"]);
    let clone = world.root().join("shallow");
    let url = format!("file://{}", world.repo().display());
    world.git(&["clone", "-q", "--depth", "1", &url, clone.to_str().expect("UTF-8")]);
    let shown = world.command(program()).current_dir(clone).args(["show", "--json", "base"]).output().expect("it runs");
    assert!(shown.status.success(), "{}", described(&shown));
    let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).expect("JSON");
    assert_eq!((&shown["parent"], &shown["paths"][0]["status"]), (&serde_json::Value::Null, &"A".into()));
}

#[test]
fn a_prefix_finds_only_checkpoints_of_any_worktree_and_the_archive() {
    let world = World::with_commit();
    let tree = world.tree();
    // Enough of them that some share their first digits.
    let mut shadow = world.shadow("other", 0);
    let ids = shadow.commits(tree, &numbered("save", 600));
    world.git(&["update-ref", &archive_ref(1, ids[599]), &ids[599].to_string()]);
    world.git(&["update-ref", "-d", &shadow.name()]);
    let context = Context::open(&world.repo()).expect("a repository");
    let hex: Vec<String> = ids.iter().map(ToString::to_string).collect();

    let is_shared = |at: &usize, length: usize| hex.iter().filter(|it| it[..length] == hex[*at][..length]).count() > 1;
    let shared = (0..600).find(|at| is_shared(at, 4)).expect("600 ids share four digits somewhere");
    let error = git_checkpoint::resolve(&context, &hex[shared][..4]).expect_err("ambiguous");
    assert_eq!(error.message(), format!("'{}' is ambiguous: 2 checkpoints match", &hex[shared][..4]));
    // Opened without the settings of the test's user, the repository abbreviates ids to git's shortest length.
    assert!(error.hint().is_some_and(|hint| hint.contains(&format!("\n  {} save", &hex[shared][..7]))), "{error:?}");

    let unique = (0..600).find(|at| !is_shared(at, 4)).expect("most are unique");
    assert_eq!(git_checkpoint::resolve(&context, &hex[unique][..4]).expect("unique"), ids[unique]);
}

#[test]
fn a_left_over_does_not_make_a_prefix_ambiguous() {
    let world = World::with_commit();
    let tree = world.tree();
    let mut dropped = world.shadow("dropped", 100_000);
    let left_over = dropped.commits(tree, &numbered("left over", 400));
    world.git(&["update-ref", "-d", &dropped.name()]);
    let mut shadow = world.shadow("main", 0);
    let digits = |id: &ObjectId| id.to_string()[..4].to_owned();
    let lives = shadow.commits(tree, &numbered("live", 1000));
    let is_twin = |id: &&ObjectId| left_over.iter().any(|other| digits(other) == digits(id));
    let twin = *lives.iter().find(is_twin).expect("some id has the digits of another");
    world.git(&["update-ref", &shadow.name(), &twin.to_string()]);
    let context = Context::open(&world.repo()).expect("a repository");
    assert_eq!(git_checkpoint::resolve(&context, &digits(&twin)).expect("the live one wins"), twin);
}

fn numbered(what: &str, count: usize) -> Vec<String> {
    (0..count).map(|number| format!("{what} {number}")).collect()
}

/// Two sessions, of which `nightly-build` has a turn under way.
fn with_sessions() -> World {
    let world = World::with_commit();
    for (session, agent) in [("other", "codex"), ("nightly-build", "claude-code")] {
        world.done(&["session", "start", session, "--agent", agent]);
        world.done(&["session", "prompt", session, "-m", "write"]);
        world.write(session, "new\n");
        world.done(&["session", "stop", session]);
    }
    world.done(&["session", "prompt", "nightly-build", "-m", "and more"]);
    world
}

/// Wherever a person looks at a session, the beginning of its id or its agent is enough.
#[rstest::rstest]
#[case::beginning("night")]
#[case::agent("claude-code")]
#[case::id("nightly-build")]
fn a_session_is_shown_by_what_is_known_of_it(#[case] name: &str) {
    let world = with_sessions();
    assert_eq!(world.json(&["list", "--session", name, "--json"])["session"], "nightly-build");
    assert_eq!(world.json(&["session", "show", name, "--json"])["session"]["id"], "nightly-build");
    let explained = world.checkpoint(&["explain", name, "--json"]);
    let explained: serde_json::Value = serde_json::from_slice(&explained.stdout).expect("JSON");
    assert_eq!(explained["session"], "nightly-build");
}

/// Commands that change a session take its whole id: a script that runs twice must not find another session, whose id begins like
/// it.
#[test]
fn what_changes_a_session_takes_its_whole_id() {
    let world = with_sessions();
    let commands: &[&[&str]] =
        &[&["session", "forget", "--force"], &["session", "adopt", "--force"], &["reset", "--session"]];
    let before = world.json(&["session", "list", "--all", "--json"]);
    for command in commands {
        for (name, how) in [("night", "begins with it"), ("claude-code", "whose last session is")] {
            let output = world.checkpoint(&[command, &[name][..]].concat());
            let said = described(&output);
            assert_eq!(output.status.code(), Some(1), "{command:?} {name}: {said}");
            assert!(said.contains(&format!("no session has the id '{name}'")), "{command:?}: {said}");
            assert!(said.contains(how) && said.contains("'nightly-build'"), "{command:?}: {said}");
        }
    }
    assert_eq!(world.json(&["session", "list", "--all", "--json"]), before);
    assert_eq!(world.json(&["reset", "--session", "nightly-build", "-n", "--json"])["session"]["id"], "nightly-build");
    assert_eq!(world.json(&["session", "adopt", "nightly-build", "--json"])["session"]["id"], "nightly-build");
    assert_eq!(world.done(&["session", "forget", "nightly-build", "--force"]), "forgot nightly-build\n");
    assert_eq!(world.checkpoint(&["session", "forget", "nobody"]).status.code(), Some(1));
}

/// In a clone, only the records know the sessions of others.
#[test]
fn the_id_of_a_session_that_only_records_know_comes_before_the_beginning_of_another() {
    let world = World::with_commit();
    world.done(&["enable"]);
    world.done(&["session", "prompt", "ab", "-m", "write"]);
    world.write("f", "new\n");
    world.done(&["session", "stop", "ab"]);
    world.git(&["commit", "-qam", "of the agent"]);
    let clone = world.root().join("clone");
    let url = format!("file://{}", world.repo().display());
    world.git(&["clone", "-q", &url, clone.to_str().expect("UTF-8")]);
    let run = |name: &str, arguments: &[&str]| {
        let output = world.command(name).args(arguments).current_dir(&clone).output().expect("it runs");
        assert!(output.status.success(), "{arguments:?}: {}", described(&output));
        output.stdout
    };
    run("git", &["fetch", "-q", "origin", "refs/checkpoints/history:refs/checkpoints/history"]);
    for other in ["abx", "aby"] {
        run(program(), &["session", "start", other]);
        let explained: serde_json::Value =
            serde_json::from_slice(&run(program(), &["explain", "ab", "--json"])).expect("JSON");
        assert_eq!(explained["session"], "ab", "{explained}");
        assert_eq!(explained["records"].as_array().map(Vec::len), Some(1), "{explained}");
    }
}

#[test]
fn the_beginning_of_several_ids_is_refused() {
    let world = World::with_commit();
    for session in ["night-1", "night-2"] {
        world.done(&["session", "start", session]);
    }
    let commands: &[&[&str]] =
        &[&["list", "--session"], &["explain"], &["reset", "--session"], &["session", "adopt"], &["session", "forget"]];
    for command in commands {
        let output = world.checkpoint(&[command, &["night"][..]].concat());
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains("'night' is ambiguous: 2 sessions match"), "{command:?}: {}", described(&output));
        assert!(!output.status.success());
    }
}
