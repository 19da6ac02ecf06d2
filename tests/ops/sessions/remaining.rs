//! What a commit leaves is carried forward by content: by path, by hunk, and for all ways to commit.

use super::desk::{Desk, changed, parts};
use crate::support::template::Template;

/// Sessions `a` and `b` have three files each their own way: `f` of both, `g` of `a`, `new` of `b`.
static TWO: Template = Template::new(|world| {
    let desk = Desk::begin(world);
    desk.turn("a", &[("f", &changed(&[(3, "a")])), ("g", "a\n")]);
    desk.turn("b", &[("f", &changed(&[(3, "a"), (17, "b")])), ("new", "b 1\nb 2\n")]);
});

fn two() -> Desk {
    Desk::after(&TWO)
}

/// Commits all that is left, which must be as if nothing had come in between.
fn rest(desk: &Desk, expected: &[(&str, &str)]) {
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(expected));
    assert_eq!(desk.records("HEAD")[0].counts.human, 0);
    assert_eq!((desk.shadow(), desk.git(&["status", "--porcelain"])), (None, String::new()));
    let trailers = [desk.trailers("HEAD"), desk.trailers("HEAD^")].concat();
    assert_eq!(trailers.iter().collect::<std::collections::BTreeSet<_>>().len(), 2);
    desk.finish();
}

#[test]
fn by_path() {
    let desk = two();
    desk.git(&["add", "g"]);
    desk.commit();
    assert_eq!((desk.recorded("HEAD"), desk.chain()), (parts(&[("g", "a")]), vec!["b*".into()]));
    rest(&desk, &[("f", "a+b"), ("new", "b")]);
}

#[test]
fn by_hunk() {
    let desk = two();
    desk.sh("printf 'y\\nn\\n' | git add -p f");
    desk.commit();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a")]));
    rest(&desk, &[("f", "b"), ("g", "a"), ("new", "b")]);
}

#[test]
fn by_the_other_hunk() {
    let desk = two();
    desk.sh("printf 'n\\ny\\n' | git add -p f");
    desk.commit();
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "b")]));
    rest(&desk, &[("f", "a"), ("g", "a"), ("new", "b")]);
}

#[test]
fn by_an_applied_patch_with_half_a_new_file() {
    let desk = two();
    desk.git(&["add", "-N", "new"]);
    desk.sh(
        "git diff new | sed -e '/^+b 2/d' -e 's/+1,2/+1,1/' >../patch; git reset -q new; git apply --cached ../patch",
    );
    assert_eq!(desk.git(&["show", ":new"]), "b 1");
    desk.commit();
    assert_eq!(desk.recorded("HEAD"), parts(&[("new", "b")]));
    rest(&desk, &[("f", "a+b"), ("g", "a"), ("new", "b")]);
}

#[test]
fn commit_with_a_path() {
    let desk = two();
    desk.git(&["add", "g"]);
    desk.git(&["commit", "-qm", "a commit", "f"]);
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a+b")]));
    rest(&desk, &[("g", "a"), ("new", "b")]);
}

#[test]
fn commit_only() {
    let desk = two();
    desk.git(&["add", "f"]);
    desk.git(&["commit", "-qm", "a commit", "--only", "g"]);
    assert_eq!(desk.recorded("HEAD"), parts(&[("g", "a")]));
    rest(&desk, &[("f", "a+b"), ("new", "b")]);
}

#[test]
fn commit_including() {
    let desk = two();
    desk.git(&["add", "new"]);
    desk.git(&["commit", "-qm", "a commit", "--include", "g"]);
    assert_eq!(desk.recorded("HEAD"), parts(&[("g", "a"), ("new", "b")]));
    rest(&desk, &[("f", "a+b")]);
}

#[test]
fn commit_all_that_is_tracked() {
    let desk = two();
    desk.git(&["commit", "-qam", "a commit"]);
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a+b"), ("g", "a")]));
    rest(&desk, &[("new", "b")]);
}

#[test]
fn intent_to_add() {
    let desk = two();
    desk.git(&["add", "-N", "new"]);
    desk.git(&["commit", "-qm", "a commit", "g"]);
    assert_eq!(desk.recorded("HEAD"), parts(&[("g", "a")]));
    rest(&desk, &[("f", "a+b"), ("new", "b")]);
}

#[test]
fn from_a_subdirectory() {
    let desk = two();
    desk.turn("c", &[("below/one", "1\n"), ("below/two", "2\n")]);
    desk.sh("cd below && git add one && git commit -qm 'a commit'");
    assert_eq!(desk.recorded("HEAD"), parts(&[("below/one", "c")]));
    rest(&desk, &[("below/two", "c"), ("f", "a+b"), ("g", "a"), ("new", "b")]);
}

#[test]
fn a_stash_in_between_is_harmless() {
    let desk = two();
    desk.git(&["add", "g"]);
    desk.commit();
    desk.git(&["stash", "-q", "-u"]);
    assert_eq!(desk.question("c"), "clean");
    assert_eq!(desk.saved("f"), Some(changed(&[(3, "a"), (17, "b")])));
    desk.git(&["stash", "pop", "-q"]);
    rest(&desk, &[("f", "a+b"), ("new", "b")]);
}

#[test]
fn the_worktree_is_not_read_again() {
    let desk = two();
    desk.git(&["add", "g"]);
    // Changes made during the commit belong to no session.
    desk.write("f", "in between\n");
    desk.commit();
    assert_eq!(desk.saved("f"), Some(changed(&[(3, "a"), (17, "b")])));
    desk.write("f", changed(&[(3, "a"), (17, "b")]));
    rest(&desk, &[("f", "a+b"), ("new", "b")]);
}

#[test]
fn a_stash_other_work_and_a_pop() {
    let desk = Desk::new();
    desk.turn("a", &[("a", "a\n"), ("b", "b\n"), ("c", "c\n")]);
    desk.git(&["add", "a"]);
    desk.commit();
    assert_eq!(desk.recorded("HEAD"), parts(&[("a", "a")]));
    desk.git(&["stash", "-q", "-u"]);
    assert_eq!(desk.turn("b", &[("d", "d\n"), ("e", "e\n")]), "clean");
    desk.git(&["stash", "pop", "-q"]);
    rest(&desk, &[("b", "a"), ("c", "a"), ("d", "b"), ("e", "b")]);
}

#[test]
fn one_commit_for_each_file() {
    let desk = Desk::new();
    desk.turn("a", &[("a", "a\n"), ("b", "b\n"), ("c", "c\n"), ("d", "d\n")]);
    let mut ids = Vec::new();
    for path in ["a", "b", "c", "d"] {
        desk.git(&["add", path]);
        desk.commit();
        assert_eq!(desk.recorded("HEAD"), parts(&[(path, "a")]));
        ids.extend(desk.trailers("HEAD"));
    }
    ids.sort();
    ids.dedup();
    assert_eq!((ids.len(), desk.shadow()), (4, None));
    assert!(desk.refs("archive").iter().all(|name| name.ends_with("ed")), "{:?}", desk.refs("archive"));
    desk.finish();
}

#[test]
fn a_prompt_continues_the_work_that_a_commit_left() {
    let desk = two();
    desk.git(&["add", "g"]);
    desk.commit();
    assert_eq!(desk.turn("c", &[("new", "b 1\nb 2\nc 3\n")]), "overlap");
    rest(&desk, &[("f", "a+b"), ("new", "b+c")]);
}

#[test]
fn a_file_deleted_by_the_agent_and_left_out() {
    let desk = Desk::new();
    desk.prompt("a");
    desk.remove("g");
    desk.work("a", &[("f", &changed(&[(3, "a")]))]);
    desk.stop("a");
    desk.git(&["commit", "-qm", "a commit", "f"]);
    assert_eq!(desk.recorded("HEAD"), parts(&[("f", "a")]));
    rest(&desk, &[("g", "a")]);
}
