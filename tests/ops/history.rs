//! Lists of checkpoints, held against `git log`.

use git_checkpoint::{
    Context, Entry, ListOptions, Origin,
    testing::{
        model::refname::{archive_ref, tag_ref, verified_ref},
        ops::show,
    },
};

use crate::support::{START, World, checkpoints::agent, processes::described, template::Template};

fn list(world: &World, options: &ListOptions) -> Vec<Entry> {
    let context = Context::open(&world.repo()).expect("a repository");
    let mut entries = Vec::new();
    git_checkpoint::list(&context, options, &mut |entry| {
        entries.push(entry);
        Ok(true)
    })
    .expect("the list can be read");
    entries
}

fn subjects(world: &World, options: &ListOptions) -> String {
    list(world, options).into_iter().map(|entry| entry.checkpoint.subject).collect::<Vec<_>>().join(" ")
}

/// Two shadows of this worktree, one of another, one in the archive.
static SHADOWS: Template = Template::new(|world| {
    world.commit_base();
    let mut archived = world.shadow("main", -10_000);
    world.write("f", "archived\n");
    let tip = archived.save("archived", &Origin::default());
    world.git(&["update-ref", &archive_ref(START, tip), &tip.to_string()]);
    world.git(&["update-ref", "-d", &archived.name()]);

    let mut first = world.shadow("main", 0);
    world.write("src/a", "1\n");
    first.save("a1", &agent("s1", 1));
    world.write("src/b", "1\n");
    first.save("a2", &agent("s1", 1));
    world.write("src/b", "2\n");
    let a3 = first.save("a3", &agent("s1", 2));
    world.git(&["update-ref", &tag_ref("good"), &a3.to_string()]);
    world.git(&["update-ref", &verified_ref("main".into()), &a3.to_string()]);

    world.git(&["commit", "-q", "--allow-empty", "-m", "next"]);
    let mut second = world.shadow("main", 90);
    world.write("other", "1\n");
    second.save("b1", &Origin { note: Some("of a human".into()), ..Origin::default() });
    world.write("other", "2\n");
    second.save("b2", &agent("s2", 1));

    world.write("other", "3\n");
    world.shadow("linked", 30).save("linked", &Origin::default());
    // It is none of a worktree, as a copy expects.
    world.remove("../index-of-tree");
});

fn world() -> World {
    SHADOWS.world()
}

#[rstest::rstest]
#[case::everything(ListOptions { all: true, ..Default::default() }, "b2 a3 b1 a2 a1 archived")]
#[case::folded(ListOptions::default(), "b2 a3 b1 a2 archived")]
#[case::limit(ListOptions { limit: Some(2), ..Default::default() }, "b2 a3")]
#[case::limit_none(ListOptions { limit: Some(0), ..Default::default() }, "")]
#[case::session(ListOptions { session: Some("s1".into()), all: true, ..Default::default() }, "a3 a2 a1")]
#[case::agent(ListOptions { agent: Some("Claude-Code".into()), ..Default::default() }, "b2 a3 a2")]
#[case::path(ListOptions { paths: vec!["src/b".into()], all: true, ..Default::default() }, "a3 b1 a2")]
#[case::directory(ListOptions { paths: vec!["src".into()], all: true, ..Default::default() }, "a3 b1 a2 a1")]
#[case::glob(ListOptions { paths: vec!["*/b".into(), ":(exclude)src/a".into()], all: true, ..Default::default() }, "a3 b1 a2")]
#[case::since(ListOptions { since: Some(START + 100), ..Default::default() }, "b2 a3")]
#[case::until(ListOptions { until: Some(START + 60), all: true, ..Default::default() }, "a2 a1 archived")]
#[case::grep_subject(ListOptions { grep: Some("^[ab]1$".into()), ..Default::default() }, "b1 a1")]
#[case::grep_note(ListOptions { grep: Some("human".into()), ..Default::default() }, "b1")]
#[case::tag(ListOptions { tag: Some("good".into()), ..Default::default() }, "a3")]
#[case::archived(ListOptions { archived: true, ..Default::default() }, "archived")]
#[case::live(ListOptions { live: true, ..Default::default() }, "b2 a3 b1 a2")]
#[case::all_worktrees(ListOptions { all_worktrees: true, all: true, ..Default::default() }, "b2 a3 b1 a2 linked a1 archived")]
fn filters(#[case] options: ListOptions, #[case] expected: &str) {
    assert_eq!(subjects(&world(), &options), expected);
}

#[test]
fn the_order_is_that_of_git_log() {
    let world = world();
    let names =
        world.git(&["for-each-ref", "--format=%(refname)", "refs/checkpoints/shadow/", "refs/checkpoints/archive/"]);
    let mut arguments = vec!["log", "--format=%H", "--first-parent", "--date-order", "--exclude=refs/heads/*"];
    arguments.extend(names.lines());
    arguments.extend(["--not", "HEAD"]);
    let ours: Vec<String> = list(&world, &ListOptions { all: true, all_worktrees: true, ..Default::default() })
        .iter()
        .map(|entry| entry.checkpoint.id.to_string())
        .collect();
    assert_eq!(ours, world.git(&arguments).lines().collect::<Vec<_>>());
}

#[test]
fn the_callback_ends_the_walk() {
    let world = world();
    let context = Context::open(&world.repo()).expect("a repository");
    let mut calls = 0;
    git_checkpoint::list(&context, &ListOptions::default(), &mut |_| {
        calls += 1;
        Ok(false)
    })
    .expect("the list can be read");
    assert_eq!(calls, 1);
}

#[test]
fn list_shows_checkpoints_before_a_gap_and_reports_the_gap() {
    let world = world();
    let all = ListOptions { all: true, ..Default::default() };
    let ids: Vec<_> = list(&world, &all).iter().map(|entry| entry.checkpoint.id.to_string()).collect();
    // b1 has a child, and another shadow continues after it.
    let lost = &ids[2];
    std::fs::remove_file(world.repo().join(format!(".git/objects/{}/{}", &lost[..2], &lost[2..]))).expect("loose");
    let context = Context::open(&world.repo()).expect("a repository");
    let mut seen = Vec::new();
    let result = git_checkpoint::list(&context, &all, &mut |entry| {
        seen.push(entry.checkpoint.subject);
        Ok(true)
    });
    let broken = result.expect("what can be read is listed");
    assert!(broken.iter().any(|error| error.message().contains(lost)), "{broken:?}");
    assert_eq!(seen[0], "b2");
    assert!(seen.len() < ids.len(), "{seen:?}");
}

#[test]
fn the_line_of_json_has_every_field() {
    let world = world();
    let entries = list(&world, &ListOptions { with_paths: true, session: Some("s1".into()), ..Default::default() });
    let line = serde_json::to_value(&entries[0]).expect("an entry is JSON");
    let expected = ["src/b"];
    assert_eq!(line["paths"], serde_json::json!(expected));
    assert_eq!(line["tags"], serde_json::json!(["good"]));
    assert_eq!((line["verified"].as_bool(), line["archived"].as_bool()), (Some(true), Some(false)));
    assert_eq!(line["time"], "2025-06-01T12:02:00+00:00");
    assert_eq!((line["session"].as_str(), line["turn"].as_u64()), (Some("s1"), Some(2)));
    let folded = serde_json::to_value(&entries[1]).expect("an entry is JSON");
    assert_eq!((folded["subject"].as_str(), folded["folded"].as_u64()), (Some("a2"), Some(1)));
    assert_eq!(folded["paths"], serde_json::json!(["f", "src/a", "src/b"]));
    let keys: Vec<_> = line.as_object().expect("an object").keys().map(String::as_str).collect();
    let contract = "version id parent tree base worktree session agent model contributor turn tool subject time paths tags note verified start archived undone folded number restored";
    assert_eq!(keys.join(" "), contract);
}

#[test]
fn a_checkpoint_is_shown_with_its_side_commit() {
    let world = World::with_commit();
    world.write("sub/manifest.toml", "version = 1\n[[skipped]]\npath = \"big\"\nreason = \"too-large\"\nsize = 7\n");
    world.git(&["add", "-A"]);
    world.git(&["mv", "f", "g"]);
    let tree = world.tree();
    let staged = world.id(&["write-tree"]);
    let manifest = world.id(&["rev-parse", ":sub/manifest.toml"]);
    let side_tree = {
        let path = world.root().join("list");
        std::fs::write(&path, format!("040000 tree {staged}\tindex\n100644 blob {manifest}\tmanifest.toml\n"))
            .expect("files can be written");
        let file = std::fs::File::open(path).expect("it was written");
        let output = world.command("git").arg("mktree").stdin(file).output().expect("git runs");
        String::from_utf8(output.stdout).expect("an id").trim().to_owned()
    };
    let side = world.git(&["commit-tree", &side_tree, "-m", "side"]).trim().to_owned();
    let mut shadow = world.shadow("main", 0);
    let plain = shadow.commit(tree, "plain", &Origin::default());
    let message = world.git(&["log", "-1", "--format=%B", &plain.to_string()]);
    let base = world.git(&["rev-parse", "HEAD"]).trim().to_owned();
    let with_side = world.id(&["commit-tree", &tree.to_string(), "-p", &base, "-p", &side, "-m", &message]);
    world.git(&["update-ref", &shadow.name(), &with_side.to_string()]);

    let context = Context::open(&world.repo()).expect("a repository");
    let shown = show::show(&context, "@").expect("the latest is there");
    let json = serde_json::to_value(&shown).expect("it is JSON");
    assert_eq!(json["skipped"], serde_json::json!([{"path": "big", "reason": "too large", "size": 7}]));
    assert_eq!(json["staged"], true);
    assert_eq!(
        json["paths"],
        serde_json::json!([
            {"path": "g", "status": "R", "old_path": "f"},
            {"path": "sub/manifest.toml", "status": "A"},
        ])
    );
}

/// A revision is shown as the commit that it names; the first commit has all it holds as new.
#[test]
fn show_takes_revisions() {
    let world = World::with_commit();
    world.write("f", "changed\n");
    world.git(&["commit", "-qam", "a subject\n\na body"]);
    let context = Context::open(&world.repo()).expect("a repository");
    let json = |text: &str| serde_json::to_value(show::show(&context, text).expect("shown")).expect("it is JSON");
    let shown = json("HEAD");
    assert_eq!(shown, json("base"));
    assert_eq!(shown["id"], world.git(&["rev-parse", "HEAD"]).trim());
    assert_eq!(shown["parent"], world.git(&["rev-parse", "HEAD~"]).trim());
    assert_eq!(shown["author"], world.git(&["log", "-1", "--format=%an <%ae>"]).trim());
    assert_eq!((&shown["subject"], &shown["body"]), (&"a subject".into(), &"a body".into()));
    assert_eq!(shown["paths"], serde_json::json!([{"path": "f", "status": "M"}]));
    let first = json("HEAD~");
    assert_eq!((&first["parent"], &first["paths"][0]["status"]), (&serde_json::Value::Null, &"A".into()));
    let patch = world.checkpoint(&["show", "-p", "HEAD~"]);
    assert!(String::from_utf8_lossy(&patch.stdout).contains("\n@@ -0,0 +1"), "{patch:?}");
}

/// Each row has its selector, whichever are left out; a commit stands between what was taken on it and before it.
#[test]
fn a_list_names_each_checkpoint_and_the_commits_between() {
    let world = World::with_commit();
    world.write("f", "1\n");
    world.done(&["save", "-q", "-m", "first"]);
    world.write("f", "2\n");
    world.done(&["save", "-q", "-m", "second", "--verify"]);
    world.git(&["commit", "-qam", "one"]);
    world.git(&["commit", "-q", "--allow-empty", "-m", "two"]);
    world.write("f", "3\n");
    world.done(&["save", "-q", "-m", "third"]);
    let rows = |arguments: &[&str]| {
        let said = world.done(&[&["list"], arguments].concat());
        let row = |line: &str| match line.split_once("  human") {
            Some((start, rest)) => {
                format!("{} {}", start.split(' ').next().unwrap_or_default(), rest.trim())
            }
            None => line.split_once(" '").map_or(String::new(), |(_, subject)| format!("-- '{subject}")),
        };
        said.lines().map(row).collect::<Vec<_>>()
    };
    assert_eq!(rows(&[]), ["@{0} third", "-- 'two'", "-- 'one'", "@{1} second [verified]", "@{2} first"]);
    assert_eq!(rows(&["--grep", "first"]), ["-- 'two'", "-- 'one'", "@{2} first"]);
    assert_eq!(rows(&["--live"]), ["@{0} third", "-- 'two'", "-- 'one'", "@{1} second [verified]", "@{2} first"]);
    world.done(&["reset", "-q"]);
    assert_eq!(rows(&["--live"]), ["-- 'two'", "-- 'one'", "@{1} second [verified]", "@{2} first"]);
    assert_eq!(rows(&["--archived"]), ["@{0} third"]);
    for entry in list(&world, &ListOptions::default()) {
        let number = format!("@{{{}}}", entry.number.expect("a number"));
        let context = Context::open(&world.repo()).expect("a repository");
        assert_eq!(git_checkpoint::resolve(&context, &number).expect("it is there"), entry.checkpoint.id);
    }
}

/// What was saved for its sake is in the same row, and keeps its number.
#[test]
fn a_restore_is_one_row_of_the_users() {
    let world = World::with_commit();
    world.done(&["session", "prompt", "s", "-q"]);
    world.write("f", "of s\n");
    world.done(&["save", "-q", "--session", "s", "--agent", "mine", "-m", "add mul"]);
    world.done(&["session", "stop", "s", "-q"]);
    let agents = world.id(&["rev-parse", &world.shadows()[0]]);
    world.write("f", "of a person\n");
    world.done(&["restore", "--all", "-q", &agents.to_string()]);
    let before = world.done(&["list"]);
    let rows: Vec<&str> = before.lines().map(|line| line.split_once("+00:00  ").expect("a date").1.trim()).collect();
    let short = &agents.to_string()[..8];
    assert!(rows[0].starts_with("human ") && rows[0].contains(&format!("restored 'add mul' ({short})")), "{before}");
    assert!(rows[1].starts_with("mine s ") && rows[1].ends_with("add mul"), "{before}");
    assert_eq!(rows.len(), 2, "{before}");
    world.done(&["undo", "-q"]);
    let undone = world.done(&["list"]);
    let rows: Vec<&str> = undone.lines().collect();
    assert!(rows.len() == 2 && rows[1].contains("add mul"), "as before the restore: {undone}");
    assert!(rows[0].contains(&format!("before restore of {short}")), "and what was unsaved: {undone}");
    assert!(rows[0].starts_with(' ') && rows[0].ends_with("[undone]"), "{undone}");
    assert!(rows[1].starts_with("@{0}"), "the others are called as before: {undone}");
    assert!(world.done(&["show", "@{0}"]).contains("add mul"));
    world.done(&["redo", "-q"]);
    assert_eq!(world.done(&["list"]), before);
    // What was saved since stays, and the undo is one more row.
    world.write("g", "later\n");
    world.done(&["save", "-q"]);
    world.done(&["undo", "-q"]);
    let said = world.done(&["list"]);
    let first = said.lines().next().expect("a row");
    assert!(first.contains(" human ") && first.contains("undid a restore"), "{said}");
    assert_eq!(subjects(&world, &ListOptions { session: Some("s".into()), ..Default::default() }), "add mul");
}

/// A commit that an agent makes within a turn has a line of its own: the checkpoints around it are not one line.
#[test]
fn a_commit_within_a_turn_stands_between_its_checkpoints() {
    let world = World::with_hooks().with_clock();
    world.sh(r#"tell() {
            printf '{"session_id":"S","cwd":"%s","hook_event_name":"%s"%s}' "$PWD" "$1" "$2" |
                git checkpoint hook --agent claude-code
        }
        tool=',"tool_name":"Write","tool_use_id":"t","tool_input":{"file_path":"'$PWD'/f"}'
        tell UserPromptSubmit ',"prompt":"do it"'; tell PreToolUse "$tool"
        echo a >>f; git commit -qam first; echo b >>f
        tell PostToolUse "$tool"; tell Stop ''"#);
    let listed = world.done(&["list"]);
    let lines: Vec<&str> = listed.lines().collect();
    let at = lines.iter().position(|line| line.contains("-- commit ") && line.contains("'first'"));
    assert_eq!((lines.len(), at), (3, Some(1)), "{listed}");
}

/// A commit stands above what was taken before it in its history, and above nothing else.
#[test]
fn commits_stand_only_above_what_was_taken_before_them() {
    let world = World::with_commit().with_clock();
    let rules = || {
        let listed = world.done(&["list"]);
        let is_rule = |line: &&str| line.starts_with("-- ");
        let names = |line: &str| match line.split_once('\'') {
            Some((_, subject)) if line.starts_with("-- ") => subject.trim_end_matches('\'').to_owned(),
            _ => line.split(' ').find(|word| ["s1", "s2"].contains(word)).unwrap_or_default().to_owned(),
        };
        assert!(listed.lines().filter(is_rule).all(|line| line.starts_with("-- commit ")), "{listed}");
        listed.lines().map(names).collect::<Vec<_>>()
    };
    world.sh("echo 1 >>f; git add f; git commit -qm first; echo s1 >s; git checkpoint save -qm s1");
    assert_eq!(rules(), ["s1"]);
    world.git(&["reset", "-q", "--hard", "HEAD^"]);
    assert_eq!(rules(), ["s1"], "the commit at HEAD is older than the checkpoint");
    world.next_second();
    world.sh("git clean -fdq; git checkout -qb side; echo o >o; git add o; git commit -qm on-side");
    assert_eq!(
        rules(),
        ["on-side", "s1"],
        "the checkpoint's commit is not in this history, and the other one is newer"
    );
    world.sh("echo t >t; git checkpoint save -qm s2; git add t; git commit -qm later");
    assert_eq!(rules(), ["later", "s2", "on-side", "s1"]);
    // A merge brings the commit of the first one in.
    world.sh("git merge -q -m merged ORIG_HEAD");
    assert_eq!(rules(), ["merged", "later", "s2", "s1"]);
}

/// What was taken before an amend or a rebase is below the new commits.
#[rstest::rstest]
#[case::amend("git commit -qa --amend -m y2", &["y2", "s2", "s1"])]
#[case::rebase("git commit -qam y2; git checkout -q main; git commit -q --allow-empty -m m; git checkout -q t; git rebase -q main", &["y2", "y1", "s2", "s1"])]
fn commits_that_were_rewritten_stand_above_their_work(#[case] script: &str, #[case] expected: &[&str]) {
    let world = World::with_commit().with_clock();
    world.sh("git checkout -qb t; echo 1 >>f; git add f; git checkpoint save -q -m s1; git commit -qm y1");
    world.sh("echo 2 >>f; git checkpoint save -q -m s2");
    world.next_second();
    world.sh(script);
    let listed = world.done(&["list"]);
    let place = |name: &&str| listed.lines().position(|line| line.contains(name));
    let places: Vec<_> = expected.iter().map(place).collect();
    assert!(places.is_sorted() && places.iter().all(Option::is_some), "{listed}");
}

/// A restore keeps its name if a commit takes an agent's later work, and what was restored is carried on.
#[test]
fn a_restore_below_an_agents_work_is_called_so_after_a_commit() {
    let world = World::with_hooks();
    world.write("n", "n\n");
    world.done(&["save", "-q", "-m", "first"]);
    world.remove("n");
    world.done(&["restore", "-q", "@{0}"]);
    world.done(&["session", "prompt", "s", "-m", "p", "-q"]);
    world.add_to("f", "of the agent\n");
    world.done(&["session", "stop", "s", "-q"]);
    world.git(&["commit", "-qam", "c"]);
    let listed = world.done(&["list"]);
    let rows: Vec<&str> = listed.lines().filter(|line| line.contains("restore")).collect();
    assert!(!rows.is_empty() && rows.iter().all(|row| row.contains("restored 'first' (")), "{listed}");
}

#[rstest::rstest]
#[case(&["restore", "start"])]
#[case(&["diff", "start"])]
#[case(&["show", "start"])]
fn the_start_has_a_name(#[case] arguments: &[&str]) {
    let world = World::with_commit();
    world.write("f", "2\n");
    world.done(&["save", "-q"]);
    let said = described(&world.checkpoint(arguments));
    assert!(said.contains("hint: 'verified' names the start"), "{said}");
}
