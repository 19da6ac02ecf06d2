//! `storage = "session"`: each session has a shadow of its own, and a commit takes the work of all.

use super::desk::{Desk, changed, parts};
use crate::support::template::Template;

/// Sessions have shadows of their own.
static APART: Template = Template::new(|world| {
    let desk = Desk::begin(world);
    desk.git(&["config", "checkpoint.storage", "session"]);
});

fn apart() -> Desk {
    Desk::after(&APART)
}

/// Returns the ends of the names of the live shadows of HEAD.
pub(super) fn shadows(desk: &Desk) -> Vec<String> {
    let base = format!("refs/checkpoints/shadow/{}/", desk.git(&["rev-parse", "HEAD"]));
    desk.refs("shadow").iter().filter_map(|name| name.strip_prefix(&base)).map(Into::into).collect()
}

/// Returns who took the checkpoints of the shadow `name` of HEAD, oldest first.
fn chain(desk: &Desk, name: &str) -> Vec<String> {
    let head = desk.git(&["rev-parse", "HEAD"]);
    let range = format!("{head}..refs/checkpoints/shadow/{head}/{name}");
    let format = "--format=%(trailers:key=Checkpoint-Contributor,valueonly,separator=)\
        %(trailers:key=Checkpoint-Session,valueonly,separator=)";
    desk.git(&["log", "--first-parent", "--reverse", format, &range]).lines().map(Into::into).collect()
}

/// Returns the sessions of what `list` prints, latest first; `-` where there is none.
fn listed(desk: &Desk, more: &[&str]) -> Vec<String> {
    let output = desk.ours(&[&["list", "--json", "--all"], more].concat());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let session = |line: &str| {
        let entry: serde_json::Value = serde_json::from_str(line).expect("JSON");
        entry["session"].as_str().unwrap_or("-").to_owned()
    };
    text.lines().map(session).collect()
}

/// `a` and `b` change `f` and `g` in turn.
static TWO: Template = Template::new(|world| {
    APART.make(world);
    let desk = Desk::later_on(world);
    desk.turn("a", &[("f", &changed(&[(3, "a")]))]);
    desk.turn("b", &[("g", "b\n")]);
    desk.turn("a", &[("f", &changed(&[(3, "a"), (9, "a")]))]);
});

pub(super) fn two() -> Desk {
    Desk::after(&TWO)
}

#[test]
fn two_sessions_in_turn_have_a_chain_each() {
    let desk = two();
    assert_eq!(shadows(&desk), ["main@/a", "main@/b"]);
    assert_eq!((chain(&desk, "main@/a"), chain(&desk, "main@/b")), (vec!["agenta".into(); 2], vec!["agentb".into()]));
    assert_eq!(listed(&desk, &[]), ["a", "b", "a"]);
    assert_eq!(listed(&desk, &["g"]), ["b"], "each changed what it changed");
    let sessions = desk.sessions();
    let of = |id: &str| (sessions[id]["checkpoints"].clone(), sessions[id]["files"].clone());
    assert_eq!(of("a"), (2.into(), serde_json::json!(["f"])));
    assert_eq!(of("b"), (1.into(), serde_json::json!(["g"])));
    let status = desk.json(&["status"]);
    assert_eq!(status["shadow"]["touched"], serde_json::json!(["f", "g"]));
    assert_eq!((&status["shadow"]["checkpoints"], &status["unsaved"]), (&3.into(), &serde_json::json!([])));
    let shown = desk.json(&["show", "@{1}"]);
    assert_eq!((&shown["session"], shown["paths"][0]["path"].as_str()), (&"b".into(), Some("g")));
    desk.finish();
}

#[test]
fn a_commit_takes_both() {
    let desk = two();
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a"), ("g", "b")]));
    let record = &desk.records("HEAD")[0];
    assert_eq!((record.counts.agent, record.counts.human), (3, 0));
    assert_eq!(record.sessions.iter().map(|part| part.checkpoints).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(desk.refs("shadow"), Vec::<String>::new());
    assert!(desk.refs("archive").iter().all(|name| name.ends_with("-condensed")));
    desk.finish();
}

#[test]
fn two_sessions_lines_in_one_file_keep_their_authors() {
    let desk = apart();
    desk.prompt("a");
    desk.prompt("b");
    desk.work("a", &[("f", &changed(&[(3, "a")]))]);
    desk.work("b", &[("f", &changed(&[(3, "a"), (9, "b")]))]);
    desk.work("a", &[("f", &changed(&[(3, "a"), (9, "b"), (15, "a"), (16, "a")])), ("new", "a\n")]);
    desk.work("b", &[("new", "a\nb\nb\n")]);
    desk.git(&["add", "f"]);
    desk.commit();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a+b")]));
    let output = desk.ours(&["blame", "--json", "f"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!((text.matches("\"a\"").count() > 0, text.matches("\"b\"").count() > 0), (true, true), "{text}");
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("new", "a+b")]));
    let counts = &desk.records("HEAD")[0].counts;
    assert_eq!((counts.agent, counts.human, counts.mixed), (3, 0, 0));
    assert_eq!(desk.refs("shadow"), Vec::<String>::new());
    for session in ["a", "b"] {
        desk.stop(session);
    }
    desk.finish();
}

#[test]
fn work_that_a_commit_leaves_stays_in_its_sessions_shadow() {
    let desk = two();
    desk.git(&["add", "f"]);
    desk.commit();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a")]));
    assert_eq!(shadows(&desk), ["main@/b"]);
    assert_eq!(desk.turn("b", &[("g", "b\nb\n")]), "overlap");
    desk.turn("a", &[("h", "a\n")]);
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("g", "b"), ("h", "a")]));
    assert_eq!(desk.records("HEAD")[0].counts.human, 0);
    desk.finish();
}

#[test]
fn reset_is_of_one_session_or_of_all() {
    let desk = two();
    desk.json(&["reset", "--session", "a"]);
    assert_eq!((shadows(&desk), listed(&desk, &["--live"])), (vec!["main@/b".into()], vec!["b".into()]));
    assert_eq!(listed(&desk, &["--archived"]), ["a", "a"]);
    assert_eq!(listed(&desk, &[]).len(), 3, "every moment");
    // What was set aside is known again by its content.
    assert_eq!(desk.prompt("a"), "no-shadow");
    desk.work("a", &[("h", "a\n")]);
    desk.stop("a");
    let done = desk.json(&["reset"]);
    assert_eq!(desk.refs("shadow"), Vec::<String>::new());
    assert!(!done["also"].as_array().expect("others").is_empty());
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a"), ("g", "b"), ("h", "a")]));
    desk.finish();
}

#[test]
fn each_prompt_decides_for_its_own_shadow() {
    let desk = two();
    desk.git(&["restore", "f"]);
    assert_eq!(desk.prompt("b"), "overlap");
    desk.stop("b");
    assert_eq!(desk.prompt("a"), "no-overlap");
    desk.work("a", &[("h", "a\n")]);
    desk.stop("a");
    assert_eq!(chain(&desk, "main@/a").last(), Some(&"agenta".into()));
    assert!(!chain(&desk, "main@/a").contains(&"agentb".into()));
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("g", "b"), ("h", "a")]));
    assert_eq!(desk.records("HEAD")[0].counts.human, 0);
    desk.finish();
}

#[test]
fn stashed_work_is_known_again() {
    let desk = two();
    desk.git(&["stash", "-q"]);
    desk.turn("b", &[("h", "b\n")]);
    desk.git(&["stash", "pop", "-q"]);
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a"), ("g", "b"), ("h", "b")]));
    assert_eq!(desk.records("HEAD")[0].counts.human, 0);
    desk.finish();
}

#[rstest::rstest]
#[case::to_one_each("worktree", "session")]
#[case::to_one_for_all("session", "worktree")]
fn another_setting_in_mid_work_loses_nothing(#[case] before: &str, #[case] after: &str) {
    let desk = Desk::new();
    desk.git(&["config", "checkpoint.storage", before]);
    desk.turn("a", &[("f", &changed(&[(3, "a")]))]);
    desk.git(&["config", "checkpoint.storage", after]);
    desk.turn("b", &[("f", &changed(&[(3, "a"), (9, "b")])), ("g", "b\n")]);
    assert_eq!(listed(&desk, &[]), ["b", "a"]);
    desk.git(&["add", "g"]);
    desk.commit();
    assert_eq!(desk.recorded("HEAD"), parts(&[("g", "b")]));
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a+b")]));
    assert_eq!((desk.records("HEAD")[0].counts.human, desk.refs("shadow")), (0, Vec::new()));
    desk.finish();
}

#[test]
fn one_shadow_for_all_is_set_aside_with_those_there_were() {
    let desk = two();
    desk.git(&["config", "checkpoint.storage", "worktree"]);
    desk.git(&["restore", "."]);
    assert_eq!(desk.turn("c", &[("h", "c\n")]), "clean");
    assert_eq!((shadows(&desk), listed(&desk, &["--live"])), (vec!["main".into()], vec!["c".into()]));
    // One more is that of `git restore`.
    assert_eq!(listed(&desk, &["--archived"]).len(), 4);
    assert_eq!(listed(&desk, &[]).len(), 5, "every moment");
    desk.finish();
}

#[rstest::rstest]
#[case::one_each("session")]
#[case::one_for_all("worktree")]
fn a_checkpoint_of_another_session_can_be_restored(#[case] storage: &str) {
    let desk = two();
    desk.git(&["config", "checkpoint.storage", storage]);
    let of_b = desk.json(&["show", "@{1}"])["id"].as_str().expect("an id").to_owned();
    desk.turn("a", &[("g", "a\n"), ("new", "a\n")]);
    desk.world.done(&["restore", &of_b, "--all"]);
    assert_eq!((desk.read("f"), desk.read("g")), (changed(&[(3, "a")]), "b\n".into()));
    desk.world.done(&["undo"]);
    assert_eq!((desk.read("g"), desk.read("new")), ("a\n".into(), "a\n".into()));
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a"), ("g", "a+b"), ("new", "a")]));
    desk.finish();
}

#[rstest::rstest]
#[case::packed("git pack-refs --all --prune")]
#[case::collected("git gc -q --prune=now")]
#[case::repacked("git repack -adq; git prune --expire=now")]
#[case::reftable("rm -r .git/logs; git refs migrate --ref-format=reftable")]
fn housekeeping_changes_nothing(#[case] script: &str) {
    let desk = two();
    let probe = desk.try_git(&["refs", "migrate", "-h"]);
    if script.contains("migrate") && !String::from_utf8_lossy(&probe.stdout).contains("ref-format") {
        return;
    }
    desk.sh(script);
    desk.turn("b", &[("g", "b\nb\n")]);
    desk.sh(if script.contains("migrate") { "git pack-refs --all" } else { script });
    assert_eq!(listed(&desk, &[]), ["b", "a", "b", "a"]);
    desk.git(&["add", "f"]);
    desk.commit();
    desk.commit_all();
    assert_eq!((desk.recorded("HEAD^"), desk.recorded("HEAD")), (parts(&[("f", "a")]), parts(&[("g", "b")])));
    desk.finish();
}

#[test]
fn both_follow_a_pull() {
    let desk = two();
    desk.sh("git clone -q . ../other; cd ../other; echo upstream >h; git commit -qam upstream");
    desk.git(&["pull", "-q", "../other", "main"]);
    desk.turn("b", &[("g", "b\nb\n")]);
    assert_eq!(shadows(&desk), ["main@/a", "main@/b"]);
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a"), ("g", "b")]));
    assert_eq!((desk.records("HEAD")[0].counts.human, desk.refs("shadow")), (0, Vec::new()));
    desk.finish();
}

#[test]
fn saves_by_people_go_to_the_worktrees_shadow() {
    let desk = two();
    desk.write("h", "human\n");
    desk.json(&["save"]);
    assert_eq!(
        (shadows(&desk), chain(&desk, "main")),
        (vec!["main".into(), "main@/a".into(), "main@/b".into()], vec!["human".into()])
    );
    assert_eq!(listed(&desk, &["h"]), ["-"]);
    // What they change without saving it comes before the next turn.
    desk.write("g", "b\nhuman\n");
    desk.turn("a", &[("f", &changed(&[(3, "a")]))]);
    assert_eq!(listed(&desk, &["g"]), ["-", "b"]);
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a"), ("g", "b"), ("h", "")]));
    let counts = &desk.records("HEAD")[0].counts;
    assert_eq!((counts.agent, counts.human), (2, 2));
    desk.finish();
}

#[test]
fn pruning_one_leaves_the_others() {
    let desk = apart();
    desk.turn("a", &[("f", &changed(&[(3, "a")]))]);
    desk.turn("b", &[("g", "b\n")]);
    desk.turn("a", &[("f", &changed(&[(3, "a"), (9, "given up")]))]);
    // What the worktree still has of a session, a prune would not drop.
    desk.write("f", changed(&[(3, "a")]));
    desk.json(&["verify", "@{1}"]);
    desk.json(&["reset", "--session", "a"]);
    assert_eq!(desk.json(&["prune", "--keep", "0"])["dropped"].as_array().map(Vec::len), Some(1));
    desk.sh("git reflog expire --all --expire=now; git gc -q --prune=now");
    assert_eq!(listed(&desk, &[]), ["b"]);
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a"), ("g", "b")]));
    desk.finish();
}

#[test]
fn an_awkward_name_is_no_obstacle() {
    let desk = apart();
    let id = "../main@{1}.lock";
    desk.turn(id, &[("f", &changed(&[(3, "a")]))]);
    assert_eq!(shadows(&desk).len(), 1);
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", id)]));
    desk.finish();
}
