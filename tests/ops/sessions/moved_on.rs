//! Recorded lines that are moved to another file when their commit is amended, squashed, or committed again.

use super::desk::{Desk, words};
use crate::support::World;

/// A repository in which a clock gives each commit a second of its own.
pub(super) fn desk() -> Desk {
    let desk = Desk::on(&World::with_lines().with_clock());
    desk.world.next_second();
    desk
}

pub(super) const MOVE: &str = "tail -6 f >>m; sed -i '21,$d' f";

/// Who moves the lines.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mover {
    Person,
    PersonWhoSaves,
    Writer,
    OtherAgent,
}

impl Desk {
    pub(super) fn move_lines(&self, mover: Mover, script: &str) {
        match mover {
            Mover::Person => self.sh(script),
            Mover::PersonWhoSaves => self.sh(&format!("{script}; git checkpoint save -q")),
            Mover::Writer => self.turn_with_calls("s", &[("m", &|| self.sh(script))]),
            Mover::OtherAgent => self.turn_with_calls("t", &[("m", &|| self.sh(script))]),
        }
    }

    pub(super) fn write_and_commit(&self) {
        self.turn_with_tool("s", "f", &format!("{}{}", self.read("f"), words("agent", 1..=6)));
        self.commit_all();
    }

    /// Returns the owner of each line of `path` with the word `agent`, as `blame` names it: the session of an agent.
    pub(super) fn owners_in(&self, path: &str) -> Vec<String> {
        let (found, text) = (self.json(&["blame", "--", path]), self.read(path));
        let text: Vec<&str> = text.lines().collect();
        let number = |value: &serde_json::Value| usize::try_from(value.as_u64().expect("a number")).expect("small");
        let spans = found["lines"].as_array().expect("a list").iter();
        let lines =
            spans.flat_map(|span| (number(&span["start"])..=number(&span["end"])).map(move |line| (line, span)));
        let own = lines.filter(|(line, _)| text[line - 1].contains("agent"));
        own.map(|(_, span)| span["session"].as_str().or(span["owner"].as_str()).expect("a word").to_owned()).collect()
    }
}

#[rstest::rstest]
#[case::amended("", "git commit -qa --amend --no-edit")]
#[case::committed_again_after_a_soft_reset("git reset -q --soft HEAD~1", "git commit -qam again")]
#[case::committed_again_after_a_reset("git reset -q HEAD~1", "git commit -qam again")]
#[case::two_commits_as_one("", "git commit -qam 2; git reset -q --soft HEAD~2; git commit -qm both")]
#[case::a_fixup("", "git commit -qam 2; GIT_SEQUENCE_EDITOR='sed -i 2s/pick/fixup/' git rebase -q -i HEAD~2")]
#[case::a_squash_merge(
    "",
    "git commit -qam 2; git checkout -q -b main2 HEAD~2; git merge -q --squash main; git commit -qm both"
)]
#[case::a_fixup_with_a_third_commit(
    "",
    "git commit -qam 2; echo third >>m; git commit -qam 3; GIT_SEQUENCE_EDITOR='sed -i 2,3s/pick/fixup/' git rebase -q -i HEAD~3"
)]
fn lines_that_another_version_of_their_commit_moves(
    #[case] before: &str,
    #[case] commit: &str,
    #[values(Mover::Person, Mover::PersonWhoSaves, Mover::Writer, Mover::OtherAgent)] mover: Mover,
) {
    let desk = desk();
    desk.sh("git mv g m; git commit -qm m");
    desk.write_and_commit();
    desk.sh(before);
    desk.move_lines(mover, MOVE);
    desk.sh(commit);
    assert_eq!(desk.owners_in("m"), ["s"; 6]);
    assert_eq!(desk.owners_in("f").len(), 0);
    let found = desk.json(&["attribution", "HEAD"]);
    assert_eq!(found["summary"]["agent_lines"].as_u64(), Some(6), "{found}");
}

/// The other lines stay where they were.
#[test]
fn a_part_of_the_lines_is_moved() {
    let desk = desk();
    desk.write_and_commit();
    desk.sh("tail -3 f >>m; sed -i '24,$d' f; git add m; git commit -qa --amend --no-edit");
    assert_eq!(desk.owners_in("m"), ["s"; 3]);
    assert_eq!(desk.owners_in("f"), ["s"; 3]);
}

/// The commit has nothing of the session any more: what a person wrote instead is the person's, and no trailer is left.
#[test]
fn lines_that_are_gone_are_not_moved() {
    let desk = desk();
    desk.write_and_commit();
    desk.sh("sed -i '21,$d' f; echo 'a line in place of those of the agent' >m; git add m; git commit -qa --amend --no-edit");
    assert_eq!(desk.owners_in("m"), ["human"]);
    assert!(!desk.git(&["log", "-1", "--format=%B"]).contains("Checkpoint"), "no trailer");
}

/// Lines that a person had before the agent's commit, and that the agent moved, stay the person's when both commits are squashed.
#[test]
fn base_lines_stay_base_lines_in_a_squash() {
    let desk = desk();
    desk.sh(&format!("printf '%s' '{}' >>h; git commit -qam h", words("person with an agent", 1..=6)));
    desk.write_and_commit();
    desk.turn_with_calls("t", &[("g", &|| desk.sh("grep person h >>g; sed -i /person/d h"))]);
    desk.commit_all();
    desk.sh("git reset -q --soft HEAD~2; git commit -qm both");
    assert_eq!(desk.owners_in("g"), ["human"; 6]);
    assert_eq!(desk.owners_in("f"), ["s"; 6]);
}

/// The checkpoint that ends the turn does not have the work; the next prompt finds it in the worktree again, and then it is moved.
#[rstest::rstest]
#[case::stashed("git stash -q", "", "git stash pop -q")]
#[case::copied("cp f ../kept; git checkout -q f", "", "cp ../kept f")]
#[case::stashed_at_a_save("git stash -q; git checkpoint save -q", "", "git stash pop -q")]
#[case::with_another_turn_after_it("git stash -q", "", "git stash pop -q; echo own >own")]
#[case::with_another_turn_before_it("git stash -q", "echo z >z", "git stash pop -q")]
#[case::with_another_commit("git stash -q", "echo z >z; git add z; git commit -qm z", "git stash pop -q")]
fn work_that_was_away_and_is_moved(
    #[case] away: &str,
    #[case] between: &str,
    #[case] back: &str,
    #[values(Mover::Writer, Mover::OtherAgent, Mover::Person)] mover: Mover,
) {
    let desk = desk();
    let work = format!("{}{}", desk.read("f"), words("agent", 1..=6));
    desk.turn_with_calls(
        "s",
        &[
            ("f", &|| {
                desk.write("f", &work);
            }),
            ("g", &|| desk.sh(away)),
        ],
    );
    if !between.is_empty() {
        desk.turn_with_calls("u", &[("z", &|| desk.sh(between))]);
    }
    desk.sh(back);
    match mover {
        Mover::Person | Mover::PersonWhoSaves => {
            desk.prompt("t");
            desk.sh(MOVE);
            desk.stop("t");
        }
        agent => desk.move_lines(agent, MOVE),
    }
    desk.commit_all();
    assert_eq!(desk.owners_in("m"), ["s"; 6]);
}

pub(super) const LICENCE: &str =
    "copyright of the agent and of others\nlicensed under the agent licence\nwithout any warranty of an agent\n";

/// Two files begin with the same lines, and the agent's goes: the person's lines are a person's, and there is no trailer.
#[rstest::rstest]
#[case::squashed(
    "git add -A; git commit -qm 2; git rm -q s; git commit -qm 3; git reset -q --soft HEAD~3; git commit -qm all"
)]
#[case::thrown_away("mv m ..; git reset -q --hard HEAD~1; mv ../m m; git add m; git commit -qm m")]
#[case::amended("git add m; git rm -q s; git commit -q --amend -m m")]
#[case::committed_first("git reset -q HEAD~1; git add m; git commit -qm m")]
#[case::on_top_of_a_file(
    "rm m; git reset -q --hard HEAD~1; cat ../licence h >m; mv m h; git commit -qam h; git mv h m; git commit -qm m"
)]
#[case::without_hooks(
    "mv m ..; git reset -q --hard HEAD~1; mv ../m m; git add m; git -c core.hooksPath=/dev/null commit -qm m"
)]
#[case::reordered(
    "git add m; git commit -qm m; GIT_SEQUENCE_EDITOR=\"sed -i '1{h;d};2{G}'\" git rebase -q -i HEAD~2; git checkout -q HEAD~1"
)]
#[case::edited(
    "git add m; git commit -qm m; GIT_SEQUENCE_EDITOR='sed -i 1s/pick/edit/' git rebase -q -i HEAD~2 2>/dev/null; \
     sed -i 1,3d s; git commit -qa --amend --no-edit; GIT_EDITOR=true git rebase --continue 2>/dev/null"
)]
fn what_two_files_begin_with_is_not_moved(#[case] script: &str) {
    begin_alike(script, 12);
}

/// The person's file has little else. The amended commit has the rest of the agent's work, so nothing of it comes back in another one.
#[test]
fn what_a_short_file_begins_with_is_not_moved_by_an_amend_before_it() {
    begin_alike(
        "git add m; git commit -qm m; GIT_SEQUENCE_EDITOR='sed -i 1s/pick/edit/' git rebase -q -i HEAD~2 2>/dev/null; \
         sed -i 1,3d s; git commit -qa --amend --no-edit; GIT_EDITOR=true git rebase --continue 2>/dev/null",
        2,
    );
}

fn begin_alike(script: &str, own: u32) {
    let desk = desk();
    desk.turn_with_tool("s", "s", &format!("{LICENCE}{}", words("some agent", 1..=6)));
    desk.commit_all();
    desk.sh(&format!("printf '%s' '{LICENCE}' >../licence"));
    desk.write("m", format!("{LICENCE}{}", words("the person", 1..=own)));
    desk.sh(script);
    assert_eq!(desk.owners_in("m"), ["human"; 3]);
    let found = desk.json(&["attribution", "HEAD"]);
    assert_eq!(found["summary"]["unknown"].as_u64(), Some(0), "{found}");
    assert_eq!(desk.git(&["log", "-1", "--format=%B", "--", "m"]).matches("Checkpoint").count(), 0);
}

/// The agent's draft was thrown away; a person's file of the same name begins as it did.
#[test]
fn a_draft_that_was_thrown_away_is_not_back() {
    let desk = desk();
    desk.turn_with_tool("s", "x", &format!("{LICENCE}{}", words("some agent", 1..=3)));
    desk.sh("rm x; git checkpoint save -q");
    desk.write("x", format!("{LICENCE}{}", words("the person", 1..=12)));
    desk.turn_with_tool("t", "g", "g\nother\n");
    desk.commit_all();
    assert_eq!(desk.owners_in("x"), ["human"; 3]);
}

/// A person's lines that an agent moves to another file, and lines of an older commit that are moved: both are in another commit than
/// the one whose record is linked.
#[rstest::rstest]
#[case::amended("git commit -qa --amend --no-edit")]
#[case::two_commits_as_one("git commit -qam 2; git reset -q --soft HEAD~2; git commit -qm both")]
#[case::a_fixup("git commit -qam 2; GIT_SEQUENCE_EDITOR='sed -i 2s/pick/fixup/' git rebase -q -i HEAD~2")]
#[case::a_squash_merge(
    "git commit -qam 2; git checkout -q -b main2 HEAD~2; git merge -q --squash main; git commit -qm both"
)]
fn lines_of_another_commit_that_are_moved(#[case] commit: &str, #[values(false, true)] is_older: bool) {
    let desk = desk();
    let expected = if is_older { "s" } else { "human" };
    if is_older {
        desk.write_and_commit();
        desk.turn_with_tool("u", "h", "h\nanother line\n");
        desk.commit_all();
        desk.sh(&format!("{MOVE}; git add m"));
    } else {
        desk.write("f", format!("{}{}", desk.read("f"), words("a person or an agent", 1..=6)));
        desk.commit_all();
        let paste = || desk.sh("tail -6 f >>g; echo more words of t >>g");
        desk.turn_with_calls("t", &[("g", &paste), ("f", &|| desk.sh("sed -i '21,$d' f"))]);
    }
    let path = if is_older { "m" } else { "g" };
    assert_eq!(desk.owners_in(path), [expected; 6]);
    desk.sh(commit);
    assert_eq!(desk.owners_in(path), [expected; 6]);
    let found = desk.json(&["attribution", "HEAD"]);
    let human = if is_older { 0 } else { 6 };
    assert_eq!(found["summary"]["human_added"].as_u64(), Some(human), "{found}");
}

/// Lines are edited on the way to another file, before anything has saved them.
#[rstest::rstest]
#[case::in_the_middle("s/number 4/NUMBER FOUR/", 9)]
#[case::at_the_end("s/number 10/NUMBER TEN/", 9)]
#[case::left_out("/number 4/d", 9)]
fn lines_that_are_moved_and_edited(
    #[case] edit: &str,
    #[case] expected: usize,
    #[values(Mover::Person, Mover::PersonWhoSaves, Mover::OtherAgent)] mover: Mover,
) {
    let desk = desk();
    desk.turn_with_tool("s", "f", &format!("{}{}", desk.read("f"), words("agent", 1..=10)));
    desk.move_lines(mover, &format!("tail -10 f | sed '{edit}' >>g; sed -i '21,$d' f"));
    let count = || desk.owners_in("g").iter().filter(|owner| *owner == "s").count();
    assert_eq!(count(), expected);
    desk.commit_all();
    assert_eq!(count(), expected);
}
