//! `git checkpoint worktree`, on repositories whose worktrees git has made.

mod adds;
mod approval;
mod brought;
mod contained;
mod endless;
mod files;
mod halves;
mod known_again;
mod left_alone;
mod merge_findings;
mod merge_races;
mod merge_refusals;
mod merges;
mod mounted;
mod not_ours;
mod places;
mod prunes;
mod purged;
mod removal_races;
mod removed;
mod sessions;
mod setup;
mod teardown;
mod typed_here;
mod whereabouts;

#[cfg(target_os = "linux")]
pub(super) use removal_races::wait_until_halted;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Output,
};

use rstest::rstest;
use serde_json::{Value, json};

use crate::support::World;

/// The branches of the source's examples, with the directories that it gives them.
const EXAMPLES: [(&str, &str); 3] = [
    ("feature/auth", "repo-wt-feature-auth"),
    ("bugfix-42", "repo-wt-bugfix-42"),
    ("experiment/ui", "repo-wt-experiment-ui"),
];

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs the program with `arguments` in `directory`.
fn run_in(world: &World, directory: &Path, arguments: &[&str]) -> Output {
    let directory = directory.to_str().expect("temporary paths are plain");
    world.checkpoint(&[&["-C", directory], arguments].concat())
}

/// Returns the JSON that the program prints for `arguments` in the main worktree.
fn json_of(world: &World, arguments: &[&str]) -> Value {
    let output = world.checkpoint(arguments);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{arguments:?}: {}", said(&output)))
}

/// Makes a worktree of a new branch, and returns its path.
fn add(world: &World, branch: &str) -> PathBuf {
    let output = world.checkpoint(&["worktree", "add", "--create", branch, "--json"]);
    assert!(output.status.success(), "{branch}: {}", said(&output));
    let added: Value = serde_json::from_slice(&output.stdout).expect("it prints JSON");
    assert_eq!((&added["branch"], &added["created"], &added["version"]), (&json!(branch), &json!(true), &json!(1)));
    PathBuf::from(added["path"].as_str().expect("a path"))
}

/// What `git worktree list` says of a worktree, and what we say.
type Facts = Vec<(String, Option<String>, Option<String>, bool)>;

/// Returns path, commit, branch and whether it is prunable, as git lists them.
fn by_git(world: &World) -> Facts {
    let text = world.git(&["worktree", "list", "--porcelain", "-z"]);
    let mut all = Vec::new();
    for record in text.split("\0\0").filter(|record| !record.is_empty()) {
        let field = |name: &str| {
            let mut lines = record.split('\0');
            lines.find_map(|line| line.strip_prefix(name).filter(|rest| rest.is_empty() || rest.starts_with(' ')))
        };
        let value = |name: &str| field(name).map(|value| value.trim_start().to_owned());
        let head = value("HEAD").filter(|id| id.bytes().any(|digit| digit != b'0'));
        let branch = value("branch").map(|name| name.trim_start_matches("refs/heads/").to_owned());
        all.push((value("worktree").expect("a path"), head, branch, field("prunable").is_some()));
    }
    all
}

/// Returns the same as we list it.
fn by_us(world: &World) -> Facts {
    let listed = json_of(world, &["worktree", "list", "--json"]);
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let facts = |it: &Value| {
        let path = text(&it["path"]).expect("a path");
        (path, text(&it["head"]), text(&it["branch"]), it["prunable"] == json!(true))
    };
    listed["worktrees"].as_array().expect("a list").iter().map(facts).collect()
}

#[rstest]
#[case::files(&[])]
#[case::sha256(&["--object-format=sha256"])]
#[case::reftable(&["--ref-format=reftable"])]
fn the_list_is_gits(#[case] options: &[&str]) {
    let world = World::new();
    world.git(&[&["init", "-q", "-b", "main"], options, &["."]].concat());
    // No commit yet.
    assert_eq!(by_us(&world), by_git(&world));
    world.git(&["commit", "-q", "--allow-empty", "-m", "base"]);
    world.git(&["worktree", "add", "-q", "../z", "-b", "feature/x"]);
    world.git(&["worktree", "add", "-q", "--detach", "../a b"]);
    world.git(&["worktree", "add", "-q", "../forged\nworktree /etc", "-b", "forged"]);
    world.git(&["worktree", "add", "-q", "../main", "-b", "other"]);
    world.git(&["worktree", "add", "-q", "../gone", "-b", "gone"]);
    world.git(&["worktree", "add", "-q", "../held", "-b", "held"]);
    world.git(&["worktree", "lock", "--reason", "on a disk that is not here", "../held"]);
    for name in ["gone", "held"] {
        fs::remove_dir_all(world.root().join(name)).expect("it can be removed");
    }
    let listed = by_git(&world);
    assert_eq!(listed.len(), 7, "{listed:?}");
    assert_eq!(by_us(&world), listed);
    let held = json_of(&world, &["worktree", "list", "--json"]);
    let held = held["worktrees"].as_array().into_iter().flatten().find(|it| it["branch"] == "held").cloned();
    assert_eq!(held.map(|it| it["locked"].clone()), Some(json!("on a disk that is not here")));
}

#[test]
fn names_are_those_of_the_source() {
    let world = World::with_commit();
    for (branch, name) in EXAMPLES {
        let path = add(&world, branch);
        assert_eq!(path, world.root().join(name));
        assert_eq!(world.git(&["-C", path.to_str().expect("plain"), "branch", "--show-current"]).trim(), branch);
    }
}

/// `Feature/Auth` and `feature/auth` have the same name in lower case; the second gets a mark, which is the same in every run.
#[test]
fn a_branch_with_the_name_of_another_gets_a_mark() {
    let world = World::with_commit();
    let [first, second] = ["feature/auth", "Feature-Auth"].map(|branch| add(&world, branch));
    let mark = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned()).expect("a name");
    let (first, second) = (mark(&first), mark(&second));
    let digits = second.strip_prefix(&format!("{first}-")).expect("the same name and a mark");
    assert!(digits.len() == 6 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()), "{second}");
    // Where that is taken as well, nothing is made.
    world.git(&["worktree", "remove", &format!("../{second}")]);
    world.git(&["branch", "-D", "-q", "Feature-Auth"]);
    fs::write(world.root().join(&second), b"mine").expect("a file can be written");
    let output = world.checkpoint(&["worktree", "add", "--create", "Feature-Auth"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("exists already"), "{}", said(&output));
    assert_eq!(world.git(&["branch", "--list", "Feature-Auth"]), "");
    assert_eq!(fs::read(world.root().join(&second)).expect("it is there"), b"mine");
}

#[rstest]
#[case::no_such_branch(&["nope"], 128, "there is no branch 'nope'")]
#[case::exists(&["--create", "side"], 128, "the branch 'side' exists already")]
#[case::checked_out_here(&["main"], 1, "the branch 'main' is checked out in '")]
#[case::an_option_as_a_name(&["--create", "--", "-x"], 128, "'-x' is not a valid name for a branch")]
#[case::blank(&["--create", "a b"], 128, "'a b' is not a valid name")]
#[case::dots(&["--create", "a..b"], 128, "'a..b' is not a valid name")]
#[case::head(&["--create", "HEAD"], 128, "'HEAD' is not a valid name")]
#[case::empty(&["--create", ""], 128, "'' is not a valid name")]
#[case::line_break(&["--create", "a\nb"], 128, "'a\\nb' is not a valid name")]
#[case::base_of_an_old_branch(&["side", "--base", "HEAD"], 128, "--base needs --create")]
#[case::no_commit(&["--create", "n", "--base", "nope"], 128, "'nope' is no commit")]
#[case::at(&["--create", "@"], 128, "'@' is not a valid name")]
#[case::below_another(&["--create", "side/x"], 128, "git cannot make the branch 'side/x'")]
fn what_cannot_be_made_leaves_nothing(#[case] arguments: &[&str], #[case] status: i32, #[case] words: &str) {
    let world = World::with_commit();
    world.git(&["branch", "-M", "main"]);
    world.git(&["branch", "side"]);
    let everything = |world: &World| world.sh("git for-each-ref; ls -A .. ; ls -A .git/worktrees 2>/dev/null || true");
    let before = everything(&world);
    let output = world.checkpoint(&[&["worktree", "add"], arguments].concat());
    assert_eq!(output.status.code(), Some(status), "{}", said(&output));
    assert!(said(&output).contains(words), "{}", said(&output));
    assert_eq!(everything(&world), before);
}

#[test]
fn a_branch_is_made_at_the_base_that_is_asked_for() {
    let world = World::with_commit();
    world.git(&["tag", "v1"]);
    world.git(&["commit", "-q", "--allow-empty", "-m", "later"]);
    let output = world.checkpoint(&["worktree", "add", "--create", "fix", "--base", "v1", "--json"]);
    let added: Value = serde_json::from_slice(&output.stdout).expect("it prints JSON");
    assert_eq!(added["head"].as_str(), Some(world.git(&["rev-parse", "v1"]).trim()));
    // No upstream is set: two adds at once would fail at the lock of git's configuration.
    world.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    world.checkpoint(&["worktree", "add", "--create", "remote", "--base", "origin/main"]);
    assert_eq!(world.try_git(&["config", "branch.remote.merge"]).status.code(), Some(1));
}

#[test]
fn eight_at_once_get_a_worktree_each() {
    let world = World::with_commit();
    let branch = |number: usize| format!("agent/{number}");
    std::thread::scope(|scope| {
        let adds: Vec<_> = (0..8)
            .map(|number| {
                scope.spawn({
                    let world = &world;
                    move || add(world, &branch(number))
                })
            })
            .collect();
        let paths: Vec<PathBuf> = adds.into_iter().map(|add| add.join().expect("it succeeds")).collect();
        for (number, path) in paths.iter().enumerate() {
            let here = world.git(&["-C", path.to_str().expect("plain"), "branch", "--show-current"]);
            assert_eq!(here.trim(), branch(number));
        }
    });
    assert_eq!(by_us(&world), by_git(&world));
}

/// All of them want the same branch: one gets it.
#[test]
fn of_eight_that_want_one_branch_one_gets_it() {
    let world = World::with_commit();
    let outputs: Vec<Output> = std::thread::scope(|scope| {
        let run = || world.checkpoint(&["worktree", "add", "--create", "one"]);
        let adds: Vec<_> = (0..8).map(|_| scope.spawn(run)).collect();
        adds.into_iter().map(|add| add.join().expect("it ends")).collect()
    });
    let made = outputs.iter().filter(|output| output.status.success()).count();
    assert_eq!(made, 1, "{:?}", outputs.iter().map(said).collect::<Vec<_>>());
    let left = world.sh("ls -d ../repo-wt-*");
    assert_eq!(left.lines().count(), 1, "{left}");
    assert_eq!(world.git(&["branch", "--list", "one"]).lines().count(), 1);
}

#[test]
fn no_more_are_made_than_the_setting_allows() {
    let world = World::with_commit();
    world.git(&["config", "checkpoint.worktree.max", "1"]);
    add(&world, "one");
    let output = world.checkpoint(&["worktree", "add", "--create", "two"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("'worktree.max' allows 1"), "{}", said(&output));
}

/// Makes a repository whose worktrees have every fault that a path can have.
fn faulty() -> World {
    let world = World::with_commit();
    for name in ["sound", "gone", "taken", "moved"] {
        world.git(&["worktree", "add", "-q", &format!("../{name}"), "-b", name]);
    }
    world.sh(
        "cd ..; rm -rf gone taken; git init -q taken; mv moved real; ln -s real moved; ln -s sound link; mkdir sound/sub
         git init -q other; mkdir -p forged; printf 'gitdir: %s/repo/.git/worktrees/sound\\n' \"$PWD\" >forged/.git",
    );
    world
}

#[rstest]
#[case::its_root("sound", None)]
#[case::main("repo", None)]
#[case::a_final_slash("repo/", Some("not-registered"))]
#[case::a_final_dot("repo/.", Some("not-registered"))]
#[case::subdirectory("sound/sub", Some("not-registered"))]
#[case::parent("sound/../sound", Some("parent"))]
#[case::a_link("link", Some("link"))]
#[case::moved_behind_a_link("moved", Some("link"))]
#[case::gone("gone", Some("gone"))]
#[case::another_repository_in_its_place("taken", Some("taken"))]
#[case::another_repository("other", Some("not-registered"))]
#[case::a_dot_git_that_names_it("forged", Some("not-registered"))]
#[case::nothing("nowhere", Some("not-registered"))]
#[case::line_break("sound\nworktree /etc", Some("not-registered"))]
fn a_path_is_validated(#[case] path: &str, #[case] code: Option<&str>) {
    let world = faulty();
    let path = format!("{}/{path}", world.root().display());
    let output = world.checkpoint(&["worktree", "validate", &path, "--json"]);
    let answer: Value = serde_json::from_slice(&output.stdout).expect("it prints JSON");
    assert_eq!(output.status.code(), Some(i32::from(code.is_some())), "{answer}");
    assert_eq!((answer["code"].as_str(), &answer["valid"]), (code, &json!(code.is_none())), "{answer}");
    assert_eq!((&answer["path"], answer["id"].is_null()), (&json!(path), code.is_some()));
}

#[rstest]
#[case::relative("sound", "relative")]
#[case::empty("", "malformed")]
fn a_path_must_be_absolute(#[case] path: &str, #[case] code: &str) {
    let world = faulty();
    let output = run_in(&world, &world.root(), &["-C", "repo", "worktree", "validate", path, "--json"]);
    let answer: Value = serde_json::from_slice(&output.stdout).expect("it prints JSON");
    assert_eq!((answer["code"].as_str(), output.status.code()), (Some(code), Some(1)));
}

#[test]
fn a_worktree_must_be_below_one_of_the_roots() {
    let world = faulty();
    let path = world.root().join("sound");
    let path = path.to_str().expect("plain");
    let code = |roots: &str| {
        world.git(&["config", "checkpoint.worktree.roots", roots]);
        json_of(&world, &["worktree", "validate", path, "--json"])["code"].clone()
    };
    assert_eq!(code(world.root().to_str().expect("plain")), Value::Null);
    assert_eq!(code(&format!("{path}x")), json!("outside-roots"));
}

#[test]
fn a_worktree_is_named_by_branch_directory_or_path() {
    let world = faulty();
    let path = world.root().join("sound");
    let shown = format!("{}\n", path.display());
    for name in ["sound", "../sound", "../link", path.to_str().expect("plain")] {
        let output = world.checkpoint(&["worktree", "path", name]);
        assert_eq!(String::from_utf8_lossy(&output.stdout), shown, "{name}: {}", said(&output));
    }
    for (name, status, words) in [
        ("gone", 1, "is gone"),
        ("taken", 1, "is no longer the worktree"),
        ("other", 128, "names no worktree"),
        ("", 128, "names no worktree"),
    ] {
        let output = world.checkpoint(&["worktree", "path", name]);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(status), 0), "{name}: {}", said(&output));
        assert!(said(&output).contains(words), "{name}: {}", said(&output));
    }
}

/// The program runs in the worktree, with its arguments as they are, its exit status and no variable that leads git elsewhere.
#[test]
fn a_program_runs_in_the_worktree() {
    let world = World::with_commit();
    let path = add(&world, "side");
    let script = "pwd; echo \"$GIT_CHECKPOINT_WORKTREE\"; git rev-parse --git-dir; printf '%s|' \"$@\"; exit 7";
    let mut command = world.command(crate::support::program());
    command.args(["worktree", "exec", "side", "--", "sh", "-c", script, "sh", "a b", "*", "$x", ""]);
    for name in ["GIT_INDEX_FILE", "GIT_PREFIX", "GIT_NAMESPACE"] {
        command.env(name, "elsewhere");
    }
    let output = command.output().expect("it runs");
    assert_eq!(output.status.code(), Some(7), "{}", said(&output));
    let path = path.display();
    let git_dir = world.repo().join(".git/worktrees/repo-wt-side");
    let expected = format!("{path}\n{path}\n{}\na b|*|$x||", git_dir.display());
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
    fs::write(world.root().join("no-program"), b"").expect("a file can be written");
    for (program, status) in [("no-such-program", 127), ("../no-program", 126), ("..", 126)] {
        let output = world.checkpoint(&["worktree", "exec", "side", "--", program]);
        assert_eq!(output.status.code(), Some(status), "{program}: {}", said(&output));
        assert!(said(&output).contains(&format!("cannot run '{program}'")), "{}", said(&output));
    }
}

/// A session that does not exist is a mistake; one that does is named by its whole id.
#[test]
fn a_program_belongs_to_a_session_that_exists() {
    let world = World::with_commit();
    let path = add(&world, "side");
    run_in(&world, &path, &["session", "start", "s1", "--agent", "ag"]);
    let exec = |session: &str| {
        let script =
            ["worktree", "exec", "--session", session, "side", "--", "sh", "-c", "echo $GIT_CHECKPOINT_SESSION"];
        world.checkpoint(&script)
    };
    assert_eq!(exec("ag").stdout, b"s1\n");
    let output = exec("zz");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(128), 0), "{}", said(&output));
    assert!(said(&output).contains("no session 'zz'"), "{}", said(&output));
}

#[test]
fn the_list_says_who_works_where() {
    let world = World::with_commit();
    let path = add(&world, "side");
    run_in(&world, &path, &["session", "prompt", "s1", "--agent", "ag"]);
    fs::write(path.join("new"), b"1\n").expect("a file can be written");
    let listed = json_of(&world, &["worktree", "list", "--json"]);
    let [main, side] = [&listed["worktrees"][0], &listed["worktrees"][1]];
    assert_eq!((&main["dirty"], &main["sessions"]), (&json!(0), &json!([])));
    assert_eq!((&side["dirty"], &side["merged"]), (&json!(1), &json!(true)));
    assert_eq!((&side["sessions"][0]["id"], &side["sessions"][0]["phase"]), (&json!("s1"), &json!("active")));
    run_in(&world, &path, &["session", "stop", "s1"]);
    world.git(&["-C", path.to_str().expect("plain"), "commit", "-q", "--allow-empty", "-m", "more"]);
    let shown = json_of(&world, &["worktree", "show", "side", "--json"]);
    assert_eq!((&shown["worktree"]["merged"], &shown["worktree"]["id"]), (&json!(false), &json!("repo-wt-side")));
}

/// `--worktree` takes the name of a worktree, also from a subdirectory and from outside; nothing else is taken in its place.
/// For scripts: the lines of git, and ours after them. No path forges a line.
#[test]
fn the_list_for_scripts_has_the_lines_of_git() {
    let world = World::with_commit();
    add(&world, "side");
    world.sh(
        "echo x >../repo-wt-side/new; git worktree add -q --detach ../apart; git worktree lock --reason 'on a disk' ../apart
         git worktree add -q -b odd '../line\nworktree x'",
    );
    let records = |text: &str| -> Vec<Vec<String>> {
        let records = text.split("\0\0").filter(|record| !record.is_empty());
        records.map(|record| record.split('\0').map(str::to_owned).collect()).collect()
    };
    let ours = records(&world.done(&["worktree", "list", "--porcelain", "-z"]));
    let of_git = records(&world.git(&["worktree", "list", "--porcelain", "-z"]));
    assert_eq!((ours.len(), of_git.len()), (4, 4), "{ours:?}");
    for record in &of_git {
        let same = ours.iter().find(|it| it[0] == record[0]).unwrap_or_else(|| panic!("{record:?}"));
        assert!(record.iter().all(|line| same.contains(line)), "{record:?}: {same:?}");
    }
    let side = ours.iter().find(|it| it[0].ends_with("repo-wt-side")).expect("it is listed");
    assert!(["dirty 1", "merged", "id repo-wt-side"].iter().all(|line| side.iter().any(|it| it == line)), "{side:?}");
    let text = world.done(&["worktree", "list", "--porcelain"]);
    assert_eq!(text.lines().filter(|line| line.starts_with("worktree ")).count(), 4, "{text}");
    assert!(text.contains("line\\nworktree x\""), "{text}");
}

/// The clock of another machine was years ahead.
#[test]
fn the_dates_of_commits_do_not_decide_what_is_merged() {
    let world = World::with_commit();
    let path = add(&world, "side");
    let path = path.to_str().expect("plain");
    world.sh(&format!("cd {path}; GIT_COMMITTER_DATE='2035-01-01 00:00 +0000' git commit -q --allow-empty -m later"));
    let merged = || json_of(&world, &["worktree", "show", "side", "--json"])["worktree"]["merged"].clone();
    assert_eq!(merged(), json!(false));
    world.git(&["merge", "-q", "--no-ff", "-m", "merge", "side"]);
    assert_eq!(merged(), json!(true));
}

#[test]
fn a_session_begins_in_the_worktree_that_is_named() {
    let world = faulty();
    fs::create_dir(world.repo().join("below")).expect("a directory can be made");
    let path = world.root().join("sound");
    let path = path.to_str().expect("plain");
    for (number, (directory, name)) in
        [(world.repo(), "sound"), (world.repo().join("below"), "../../sound"), (world.root(), path)]
            .into_iter()
            .enumerate()
    {
        let id = format!("s{number}");
        let output = run_in(&world, &directory, &["session", "start", &id, "--worktree", name]);
        assert!(output.status.success(), "{name}: {}", said(&output));
        let output = world.checkpoint(&["session", "cwd", &id]);
        assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{path}\n"), "{}", said(&output));
    }
    for (name, status) in
        [("sound/sub", 128), ("../sound/sub", 128), ("../other", 128), ("../taken", 1), ("gone", 1), ("taken", 1)]
    {
        let output = world.checkpoint(&["session", "start", "x", "--worktree", name]);
        assert_eq!(output.status.code(), Some(status), "{name}: {}", said(&output));
    }
    assert_eq!(world.checkpoint(&["session", "cwd", "x"]).status.code(), Some(128));
    let expected = json!({ "version": 1, "session": "s0", "path": path, "worktree": "sound" });
    assert_eq!(json_of(&world, &["session", "cwd", "s0", "--json"]), expected);
    // It is where git has it now.
    world.git(&["worktree", "move", path, "../elsewhere"]);
    let path = world.root().join("elsewhere");
    let output = world.checkpoint(&["session", "cwd", "s0"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{}\n", path.display()), "{}", said(&output));
    fs::remove_dir_all(path).expect("it can be removed");
    let output = world.checkpoint(&["session", "cwd", "s0"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{}", said(&output));
    assert!(said(&output).contains("is gone") && said(&output).contains("session adopt s0"), "{}", said(&output));
}
