//! `op restore`: refs and files become what they were after an operation, and nobody's work, records or lines are lost by that.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    process::Output,
};

use crate::support::{World, dice::Dice, processes::described, program};

/// Returns the refs of checkpoints without the operation logs.
fn refs(world: &World) -> BTreeMap<String, String> {
    let all = world.git(&["for-each-ref", "--format=%(refname) %(objectname)", "refs/checkpoints/"]);
    let pair = |line: &str| line.split_once(' ').map(|(name, id)| (name.to_owned(), id.to_owned()));
    all.lines().filter_map(pair).filter(|(name, _)| !name.contains("/operations/")).collect()
}

/// Returns `refs` without those that `op restore` adds so that nothing is lost.
fn without_archive(mut refs: BTreeMap<String, String>) -> BTreeMap<String, String> {
    refs.retain(|name, _| !name.contains("/archive/"));
    refs
}

fn text(world: &World, name: &str) -> Option<String> {
    fs::read_to_string(world.repo().join(name)).ok()
}

fn save(world: &World, content: &str) -> String {
    world.write("f", content);
    world.json(&["save", "--json"])["id"].as_str().expect("an id").to_owned()
}

/// Returns the id of the newest operation.
fn newest(world: &World) -> String {
    world.json(&["op", "log", "-n", "1", "--json"])["operations"][0]["id"].as_str().expect("an id").to_owned()
}

fn turn(world: &World, session: &str, name: &str, line: &str) {
    world.done(&["session", "start", session, "--agent", "claude-code"]);
    world.done(&["session", "prompt", "-q", session, "-m", "go"]);
    let before = text(world, name).unwrap_or_default();
    world.write(name, format!("{before}{line}\n"));
    world.done(&["session", "stop", "-q", session]);
}

/// Returns true if a ref of checkpoints other than the operation logs leads to a file with this content.
fn is_held(world: &World, content: &str) -> bool {
    let objects =
        world.sh("git rev-list --objects --exclude='refs/checkpoints/operations/*' --glob='refs/checkpoints/*'");
    let file = world.root().join("content");
    fs::write(&file, content).expect("it can be written");
    objects.contains(world.git(&["hash-object", &file.to_string_lossy()]).trim())
}

fn refused(world: &World, arguments: &[&str]) -> String {
    let before = (refs(world), world.git(&["stash", "create"]));
    let output: Output = world.checkpoint(arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert_eq!(refs(world), before.0, "what is refused changes nothing");
    said
}

#[rstest::rstest]
#[case::files(false)]
#[case::reftable(true)]
fn refs_and_files_become_what_they_were_and_undo_takes_that_back(#[case] is_reftable: bool) {
    let world = World::with_commit();
    if is_reftable {
        world.sh("rm -rf .git/logs && git refs migrate --ref-format=reftable");
    }
    let first = save(&world, "one\n");
    save(&world, "two\n");
    let (then, at) = ((refs(&world), text(&world, "f")), newest(&world));
    world.done(&["verify"]);
    world.done(&["restore", "--all", &first]);
    world.done(&["undo"]);
    world.done(&["redo"]);
    world.done(&["reset"]);
    world.write("g", "saved\n");
    world.done(&["save"]);
    let before = (refs(&world), text(&world, "f"), text(&world, "g"));
    let planned = world.done(&["op", "restore", "--dry-run", &at]);
    assert!(planned.contains("would be live") && planned.contains("would delete g"), "{planned}");
    assert_eq!((refs(&world), text(&world, "f"), text(&world, "g")), before, "a dry run changes nothing");
    world.done(&["op", "restore", &at]);
    assert_eq!((without_archive(refs(&world)), text(&world, "f")), then);
    assert_eq!(text(&world, "g"), None);
    assert!(is_held(&world, "saved\n"));
    world.assert_sound("after op restore");
    let after = refs(&world);
    world.done(&["undo"]);
    assert_eq!((refs(&world), text(&world, "f"), text(&world, "g")), before);
    world.done(&["redo"]);
    assert_eq!((refs(&world), text(&world, "f"), text(&world, "g")), (after, then.1, None));
    world.done(&["undo"]);
    assert_eq!((refs(&world), text(&world, "f"), text(&world, "g")), before);
    world.assert_sound("at the end");
}

#[test]
fn nothing_is_done_where_nothing_is_to_do() {
    let world = World::with_commit();
    save(&world, "one\n");
    let (before, at) = (refs(&world), newest(&world));
    world.done(&["op", "restore", "@{0}"]);
    assert_eq!((refs(&world), newest(&world)), (before, at));
}

#[test]
fn what_was_not_saved_is_saved_first_and_stays_in_the_archive() {
    let world = World::with_commit();
    world.git(&["config", "checkpoint.operations.keepCount", "3"]);
    let first = save(&world, "one\n");
    save(&world, "two\n");
    world.done(&["restore", "--all", &first]);
    world.done(&["undo"]);
    world.write("f", "precious\n");
    world.done(&["op", "restore", "@{0}"]);
    assert_eq!(text(&world, "f").as_deref(), Some("two\n"));
    assert!(is_held(&world, "precious\n"));
    for number in 0..8 {
        save(&world, &format!("{number}\n"));
    }
    world.git(&["gc", "-q", "--prune=now"]);
    assert!(is_held(&world, "precious\n"));
    world.assert_sound("after gc");
}

#[test]
fn an_edit_since_can_be_taken_back_with_all_and_is_not_lost() {
    let world = World::with_commit();
    save(&world, "one\n");
    let at = newest(&world);
    save(&world, "two\n");
    let before = refs(&world);
    world.done(&["op", "restore", &at]);
    world.write("f", "edited\n");
    let said = refused(&world, &["undo"]);
    assert!(said.contains("--all") && said.contains("'f'"), "{said}");
    assert_eq!(text(&world, "f").as_deref(), Some("edited\n"));
    world.done(&["undo", "--all"]);
    assert_eq!(text(&world, "f").as_deref(), Some("two\n"));
    assert_eq!(without_archive(refs(&world)), without_archive(before));
    assert!(is_held(&world, "edited\n"));
}

#[test]
fn undo_refuses_once_something_was_saved() {
    let world = World::with_commit();
    save(&world, "one\n");
    let at = newest(&world);
    save(&world, "two\n");
    world.done(&["op", "restore", &at]);
    save(&world, "three\n");
    let said = refused(&world, &["undo", "--all"]);
    assert!(said.contains("the shadow of ") && said.contains("save"), "{said}");
    assert_eq!(text(&world, "f").as_deref(), Some("three\n"));
}

/// Turns and commits in two worktrees: no record goes, neither of this worktree nor of the other one.
#[test]
fn records_stay_also_those_of_other_worktrees() {
    let world = World::with_commit();
    world.git(&["worktree", "add", "-q", "../w", "-b", "w"]);
    world.done(&["enable"]);
    save(&world, "first\n");
    let at = newest(&world);
    let commit = |session: &str, name: &str| {
        turn(&world, session, name, "of the agent");
        world.sh("git add -A && git commit -qm turn");
    };
    commit("s1", "f1");
    world.sh("cd ../w && git checkpoint session start s2 --agent claude-code >/dev/null && \
         git checkpoint session prompt -q s2 -m go && echo agent >g1 && git checkpoint session stop -q s2 && \
         git add -A && git commit -qm there");
    commit("s1", "f2");
    let history = world.git(&["rev-parse", "refs/checkpoints/history"]);
    let said = refused(&world, &["op", "restore", &at]);
    assert!(said.contains("HEAD was at another commit"), "{said}");
    let of_commit = world.json(&["op", "log", "--json"]);
    let hooks = of_commit["operations"].as_array().expect("a list").iter();
    let moves_history = |it: &&serde_json::Value| it["moved"].to_string().contains("checkpoints/history");
    for operation in hooks.filter(moves_history) {
        world.checkpoint(&["op", "undo", operation["id"].as_str().expect("an id")]);
        world.checkpoint(&["op", "restore", operation["id"].as_str().expect("an id")]);
    }
    assert_eq!(world.git(&["rev-parse", "refs/checkpoints/history"]), history);
    world.git(&["gc", "-q", "--prune=now"]);
    assert!(world.sh("cd ../w && git checkpoint blame g1").contains("claude-code"));
    assert!(world.done(&["blame", "f2"]).contains("claude-code"));
    world.assert_sound("after gc");
}

#[test]
fn another_head_is_refused_and_named() {
    let world = World::with_commit();
    save(&world, "one\n");
    world.git(&["commit", "-qam", "second"]);
    save(&world, "two\n");
    let at = world.json(&["op", "log", "--json"])["operations"].as_array().expect("a list").last().expect("one")["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let said = refused(&world, &["op", "restore", &at]);
    assert!(said.contains("HEAD was at another commit") && said.contains("restore --all"), "{said}");
    assert_eq!(text(&world, "f").as_deref(), Some("two\n"));
}

/// The turn is gone from the worktree and in the archive; what a person adds then is theirs alone.
#[test]
fn an_agents_line_never_becomes_a_persons() {
    let world = World::with_commit();
    world.done(&["enable"]);
    save(&world, "person\n");
    let at = newest(&world);
    turn(&world, "s1", "f", "of the agent");
    let (after, tip) = (newest(&world), world.shadows());
    world.done(&["op", "restore", &at]);
    assert_eq!(text(&world, "f").as_deref(), Some("person\n"));
    assert!(is_held(&world, "person\nof the agent\n"));
    world.write("f", "person\nmore\n");
    world.done(&["save", "-q"]);
    let of_agent = |world: &World| {
        let blame = world.done(&["blame", "f"]);
        blame.lines().filter(|line| line.contains("claude-code")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(of_agent(&world), [] as [String; 0]);
    world.done(&["op", "restore", &after]);
    assert_eq!((text(&world, "f").as_deref(), world.shadows()), (Some("person\nof the agent\n"), tip));
    world.write("f", "person\nof the agent\nmore\n");
    world.done(&["save", "-q"]);
    assert_eq!(of_agent(&world).len(), 1, "{}", world.done(&["blame", "f"]));
    world.git(&["commit", "-qam", "all"]);
    assert_eq!(of_agent(&world).len(), 1, "{}", world.done(&["blame", "f"]));
}

/// Back to a state without a live shadow: the files have an agent's lines, which no live shadow has.
#[test]
fn an_agents_line_stays_its_own_where_no_shadow_was_live() {
    let world = World::with_commit();
    world.done(&["enable"]);
    turn(&world, "s1", "f", "of the agent");
    world.done(&["reset"]);
    let at = newest(&world);
    world.write("f", "else\n");
    world.done(&["save", "-q"]);
    let restored = world.checkpoint(&["op", "restore", &at]);
    if restored.status.success() {
        assert!(text(&world, "f").expect("there").contains("of the agent"));
        world.sh("echo more >>f");
        world.done(&["save", "-q"]);
        let blame = world.done(&["blame", "f"]);
        assert!(blame.lines().any(|line| line.contains("of the agent") && line.contains("claude-code")), "{blame}");
        world.git(&["commit", "-qam", "all"]);
        let blame = world.done(&["blame", "f"]);
        assert!(blame.lines().any(|line| line.contains("of the agent") && line.contains("claude-code")), "{blame}");
    }
}

#[test]
fn a_turn_under_way_is_refused() {
    let world = World::with_commit();
    save(&world, "one\n");
    let at = newest(&world);
    save(&world, "two\n");
    world.done(&["session", "start", "s1", "--agent", "claude-code"]);
    world.done(&["session", "prompt", "-q", "s1", "-m", "go"]);
    let said = refused(&world, &["op", "restore", &at]);
    assert!(said.contains("a turn under way"), "{said}");
}

#[test]
fn a_ref_that_something_else_has_moved_in_between_is_refused_by_name() {
    let world = World::with_commit();
    let first = save(&world, "one\n");
    save(&world, "two\n");
    let at = newest(&world);
    world.done(&["verify"]);
    world.git(&["update-ref", "refs/checkpoints/verified/main", &first]);
    world.done(&["verify"]);
    let said = refused(&world, &["op", "restore", &at]);
    assert!(said.contains("'refs/checkpoints/verified/main' has moved since"), "{said}");
}

#[test]
fn a_missing_object_is_refused() {
    let world = World::with_commit();
    save(&world, "one\n");
    let at = newest(&world);
    world.done(&["reset"]);
    save(&world, "two\n");
    let lost = refs(&world).into_iter().find(|(name, _)| name.contains("/archive/")).expect("one").1;
    fs::remove_file(world.repo().join(format!(".git/objects/{}/{}", &lost[..2], &lost[2..]))).expect("loose");
    let output = world.checkpoint(&["op", "restore", &at]);
    assert!(!output.status.success());
    assert_eq!(text(&world, "f").as_deref(), Some("two\n"));
}

#[test]
fn a_lost_part_of_the_log_is_refused() {
    let world = World::with_commit();
    save(&world, "one\n");
    let at = newest(&world);
    world.git(&["config", "checkpoint.operations.keepCount", "2"]);
    world.done(&["verify"]);
    let lost = newest(&world);
    fs::remove_file(world.repo().join(format!(".git/objects/{}/{}", &lost[..2], &lost[2..]))).expect("loose");
    save(&world, "two\n");
    let output = world.checkpoint(&["op", "restore", &at]);
    assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(text(&world, "f").as_deref(), Some("two\n"));
}

#[rstest::rstest]
#[case::before_the_log("restore:after-sync")]
#[case::between_log_and_journal("restore:after-log")]
#[case::after_the_journal("restore:after-journal")]
#[case::between_files("restore:after-write")]
#[case::before_done("restore:before-done")]
#[case::before_the_refs("undo:before-refs")]
#[case::between_refs("refs:after-change")]
#[case::between_refs_later("refs:after-change:2")]
#[case::after_the_refs("undo:after-refs")]
fn what_was_killed_can_be_undone(#[case] point: &str) {
    let world = World::with_commit();
    world.write("g", "one\n");
    save(&world, "one\n");
    let at = newest(&world);
    world.write("g", "two\n");
    save(&world, "two\n");
    world.done(&["verify"]);
    let before = (without_archive(refs(&world)), text(&world, "f"), text(&world, "g"));
    let died = world.command(program()).args(["op", "restore", &at]).env("CHECKPOINT_FAILPOINT", point).output();
    assert!(!died.expect("it runs").status.success());
    let state = || (without_archive(refs(&world)), text(&world, "f"), text(&world, "g"));
    if state() != before || point.starts_with("restore:after-journal") {
        world.done(&["undo"]);
    }
    assert_eq!((state().1, state().2), (before.1.clone(), before.2.clone()));
    assert!(is_held(&world, "two\n"));
    world.assert_sound("after the kill");
    // An entry whose refs were not moved leaves a gap.
    if world.checkpoint(&["op", "restore", &at]).status.success() {
        assert_eq!(text(&world, "f").as_deref(), Some("one\n"));
        world.done(&["undo"]);
    }
    assert_eq!((state().1, state().2), (before.1, before.2));
}

/// A worktree of the repository of `world`, by its path from the main one.
struct Tree<'w>(&'w World, &'static str);

const NAMES: [&str; 3] = ["f", "a", "b"];

impl Tree<'_> {
    fn run(&self, arguments: &[&str]) -> Output {
        let dir = self.0.repo().join(self.1);
        self.0.command(program()).current_dir(dir).args(arguments).output().expect("it runs")
    }

    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let read = |name: &&str| Some(((*name).to_owned(), fs::read(self.0.repo().join(self.1).join(name)).ok()?));
        NAMES.iter().filter_map(read).collect()
    }

    /// Returns the lines that are an agent's.
    fn of_agents(&self) -> BTreeSet<String> {
        let blamed = NAMES.iter().map(|name| self.run(&["blame", name]).stdout);
        let text: String = blamed.map(|text| String::from_utf8_lossy(&text).into_owned()).collect();
        let line = |line: &str| Some(line.rsplit_once(") ")?.1.to_owned()).filter(|_| line.contains("claude-code"));
        text.lines().filter_map(line).collect()
    }

    fn edit(&self, dice: &mut Dice) {
        let path = self.0.repo().join(self.1).join(NAMES[dice.roll(3)]);
        if dice.below(5) == 0 && path.exists() {
            fs::remove_file(path).expect("it is ours");
        } else {
            let mut text = fs::read_to_string(&path).unwrap_or_default();
            if dice.below(3) == 0 {
                text.clear();
            }
            text.push_str(&format!("{}\r\n", dice.next()));
            fs::write(path, text).expect("it can be written");
        }
    }

    fn operations(&self) -> Vec<String> {
        let log = self.run(&["op", "log", "--json"]).stdout;
        let log: serde_json::Value = serde_json::from_slice(&log).expect("JSON");
        log["operations"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|it| it["id"].as_str().expect("an id").to_owned())
            .collect()
    }

    /// Does one thing, which may be refused. Returns false if it may have dropped checkpoints of an agent.
    fn act(&self, dice: &mut Dice, session: &str) -> bool {
        let ids: Vec<String> = self
            .0
            .git(&["rev-list", "--glob=refs/checkpoints/shadow/*", "--not", "--branches"])
            .lines()
            .map(str::to_owned)
            .collect();
        let target = if ids.is_empty() { "base".to_owned() } else { ids[dice.roll(ids.len())].clone() };
        let lines: Vec<Vec<&str>> = match dice.below(12) {
            0 => vec![vec!["verify"]],
            1 => vec![vec!["verify", &target]],
            2 => vec![vec!["verify", "--reset"]],
            3 => vec![vec!["reset"]],
            4 => vec![vec!["prune", "--keep", "1"]],
            5 => vec![vec!["undo"]],
            6 => vec![vec!["redo"]],
            7 | 8 => {
                self.run(&["session", "start", session, "--agent", "claude-code"]);
                self.run(&["session", "prompt", "-q", session, "-m", "go"]);
                self.edit(dice);
                vec![vec!["session", "stop", "-q", session]]
            }
            9 => vec![vec!["restore", "--all", &target]],
            _ => {
                self.edit(dice);
                vec![vec!["save", "-q"]]
            }
        };
        for line in &lines {
            self.run(line);
        }
        lines[0][0] != "prune"
    }
}

/// What every commit that a ref of checkpoints leads to says about its author, and the records.
fn authors(world: &World) -> BTreeMap<String, String> {
    let log =
        world.sh("git log --format='%H %an %ae' --exclude='refs/checkpoints/operations/*' --glob='refs/checkpoints/*'");
    log.lines().filter_map(|line| line.split_once(' ')).map(|(id, who)| (id.to_owned(), who.to_owned())).collect()
}

#[rstest::rstest]
fn random_commands_in_two_worktrees_and_back(#[values(1, 2, 3, 4, 5, 6, 7, 8)] seed: u64) {
    play(seed);
}

#[test]
#[ignore = "takes minutes: OP_RESTORE_SEEDS says how many runs"]
fn random_commands_at_length() {
    let count = std::env::var("OP_RESTORE_SEEDS").map_or(50, |text| text.parse().expect("a number"));
    (100..100 + count).for_each(play);
}

fn play(seed: u64) {
    let world = World::with_commit();
    world.git(&["worktree", "add", "-q", "../w", "-b", "w"]);
    let trees = [Tree(&world, "."), Tree(&world, "../w")];
    let (mut dice, mut done) = (Dice(seed), 0);
    // The lines of agents after each operation.
    let mut seen: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for _ in 0..6 {
        for _ in 0..8 {
            let at = dice.roll(2);
            if trees[at].act(&mut dice, ["s1", "s2"][at]) {
                trees[at].run(&["save", "-q"]);
                seen.extend(trees[at].operations().into_iter().next().map(|id| (id, trees[at].of_agents())));
            } else {
                seen.clear();
            }
        }
        let at = dice.roll(2);
        let tree = &trees[at];
        // What is unsaved is saved by the command itself, and stays saved.
        tree.run(&["save", "-q"]);
        let operations = tree.operations();
        if operations.is_empty() {
            continue;
        }
        let to = &operations[dice.roll(operations.len().min(12))];
        let before = (refs(&world), trees.each_ref().map(Tree::files), authors(&world));
        let of_agents = trees.each_ref().map(Tree::of_agents);
        let output = tree.run(&["op", "restore", to]);
        let context = format!("seed {seed}, {to} in '{}': {}", tree.1, String::from_utf8_lossy(&output.stderr));
        let other = |refs: &BTreeMap<String, String>| {
            let mine = [if at == 0 { "/main" } else { "/w" }, "/archive/", "/tags/"];
            let mut refs = refs.clone();
            refs.retain(|name, _| !mine.iter().any(|part| name.contains(part)));
            refs
        };
        let after = refs(&world);
        assert_eq!(other(&after), other(&before.0), "{context}");
        assert_eq!(trees[1 - at].files(), before.1[1 - at], "{context}");
        let now = authors(&world);
        for (id, author) in &before.2 {
            assert_eq!(now.get(id), Some(author), "no checkpoint is lost: {context}");
        }
        if !output.status.success() || operations == tree.operations() {
            assert_eq!(after, before.0, "{context}");
            continue;
        }
        done += 1;
        if let Some(then) = seen.get(to) {
            assert_eq!(tree.of_agents(), *then, "{context}");
        }
        let undone = tree.run(&["undo"]);
        assert!(undone.status.success(), "{context}{}", String::from_utf8_lossy(&undone.stderr));
        // What would leave the chains may be in the archive.
        let mut now = refs(&world);
        now.retain(|name, _| before.0.contains_key(name) || !name.contains("/archive/"));
        assert_eq!(now, before.0, "{context}");
        assert_eq!(trees.each_ref().map(Tree::files), before.1, "{context}");
        assert_eq!(trees.each_ref().map(Tree::of_agents), of_agents, "{context}");
        if dice.below(2) == 0 {
            tree.run(&["redo"]);
            if let Some(then) = seen.get(to) {
                assert_eq!(tree.of_agents(), *then, "{context}");
            }
        }
    }
    assert!(done > 0, "seed {seed}: some were not refused");
    world.assert_sound(&format!("seed {seed}"));
}

/// The undo has removed the only checkpoint, because it holds what was not saved before.
#[test]
fn an_undo_that_leaves_nothing_saved_is_gone_back_to() {
    let world = World::with_commit();
    world.write("f", "unsaved\n");
    world.write("new", "unsaved\n");
    world.done(&["restore", "--all", "HEAD"]);
    world.done(&["undo"]);
    let undo = world.json(&["op", "log", "--json"])["operations"][0]["id"].as_str().expect("an id").to_owned();
    world.write("f", "later\n");
    world.done(&["save"]);
    world.done(&["op", "restore", &undo]);
    let read = |name: &str| std::fs::read_to_string(world.repo().join(name)).unwrap_or_default();
    assert_eq!((read("f").as_str(), read("new").as_str()), ("unsaved\n", "unsaved\n"));
    world.assert_sound("after op restore");
}

/// Nothing was edited in between: what the archive has, the worktree has, or the next undo or redo brings back.
#[test]
fn no_hint_at_the_archive_where_nothing_was_edited() {
    let world = World::with_commit();
    for turn in ["one", "two"] {
        world.done(&["session", "prompt", "-q", "S", "-m", turn]);
        world.add_to("f", turn);
        world.done(&["session", "stop", "-q", "S"]);
    }
    world.add_to("f", "mine");
    world.done(&["op", "restore", "-q", "@{1}"]);
    for step in ["undo", "redo", "undo", "redo"] {
        let said = described(&world.checkpoint(&[step]));
        assert!(!said.contains("in the archive") && said.contains("goes back to"), "{step}: {said}");
    }
    world.add_to("f", "edited");
    let said = described(&world.checkpoint(&["undo", "--all"]));
    assert!(said.contains("goes back to"), "{said}");
    world.assert_sound("at the end");
}
