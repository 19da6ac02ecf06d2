//! Comparisons, held against `git diff`.

use bstr::{BString, ByteSlice as _};
use git_checkpoint::{
    Comparison, Context, DiffOptions, Hunk, LineSide, Origin,
    testing::{model::refname::verified_ref, repo},
};

use crate::support::{World, processes::described, program};

/// Takes a checkpoint, runs `script`, takes another.
fn world(before: &str, after: &str) -> World {
    let world = World::with_commit();
    let mut shadow = world.shadow("main", 0);
    for script in [before, after] {
        let status = world.command("bash").args(["-euc", script]).status().expect("bash runs");
        assert!(status.success(), "{script}");
        shadow.save("save", &Origin::default());
    }
    world
}

fn diff(world: &World, options: &DiffOptions) -> Comparison {
    let context = Context::open(&world.repo()).expect("a repository");
    let options = DiffOptions { from: Some("@{1}".into()), to: Some("@{0}".into()), ..options.clone() };
    git_checkpoint::diff(&context, &options).expect("both are there")
}

/// Runs `git diff` on the same two checkpoints.
fn of_git(world: &World, arguments: &[&str]) -> BString {
    let context = Context::open(&world.repo()).expect("a repository");
    let id = |name: &str| git_checkpoint::resolve(&context, name).expect("it is there").to_string();
    let (from, to) = (id("@{1}"), id("@{0}"));
    let mut command = world.command("git");
    command.args(["diff", "--no-ext-diff"]).args(arguments).args([from, to]);
    command.output().expect("git runs").stdout.into()
}

/// Returns `--numstat -z` of our comparison.
fn numstat(comparison: &Comparison) -> BString {
    let mut text = Vec::new();
    for file in &comparison.files {
        let count = |count: Option<u32>| count.map_or("-".into(), |count| count.to_string());
        text.extend_from_slice(format!("{}\t{}\t", count(file.added), count(file.deleted)).as_bytes());
        if let Some(old_path) = &file.old_path {
            text.push(0);
            text.extend_from_slice(old_path);
            text.push(0);
        }
        text.extend_from_slice(&file.path);
        text.push(0);
    }
    text.into()
}

/// Returns the hunks as they stand in a patch.
fn patch(hunks: &[Hunk]) -> BString {
    let mut text = BString::default();
    for hunk in hunks {
        text.extend_from_slice(&hunk.header());
        text.push(b'\n');
        for line in &hunk.lines {
            text.push(match line.side {
                LineSide::Common => b' ',
                LineSide::Deleted => b'-',
                LineSide::Added => b'+',
            });
            text.extend_from_slice(&line.content);
            text.push(b'\n');
            if !line.is_terminated {
                text.extend_from_slice(b"\\ No newline at end of file\n");
            }
        }
    }
    text
}

/// Leaves only the hunks of a patch of git.
fn hunks_of(patch: &[u8]) -> BString {
    let is_hunk = |line: &&[u8]| line.first().is_some_and(|byte| b"@ +-\\".contains(byte));
    let is_head = |line: &&[u8]| line.starts_with(b"--- ") || line.starts_with(b"+++ ");
    patch.lines_with_terminator().filter(|line| is_hunk(line) && !is_head(line)).collect::<Vec<_>>().concat().into()
}

#[rstest::rstest]
#[case::added_and_deleted("seq 9 >a; echo x >b", "rm a; seq 20 >c")]
#[case::edits("seq 200 >a", "sed -i '3d;50s/$/x/;120a new\\nlines' a")]
#[case::no_newline("printf 'a\\nb' >a; printf 'a\\nb\\n' >b", "printf 'a\\nb\\n' >a; printf 'a\\nb' >b")]
#[case::empty("touch a; echo x >b", "echo x >a; : >b")]
#[case::binary("printf 'a\\0b' >a; echo text >b", "printf 'a\\0c' >a; printf '\\0' >b; printf '\\0' >new")]
#[case::nul_after_8000("(seq 3000; printf '\\0\\n') >a", "echo more >>a")]
#[case::attributes(
    "printf '*.bin -diff\\n*.txt diff\\n*.dat binary\\n*.x diff=x\\n' >.gitattributes; echo a >a.bin; printf '\\0' >a.txt; echo a >a.dat; echo a >a.x",
    "echo b >a.bin; printf '\\0\\nb' >a.txt; echo b >a.dat; printf '\\0' >a.x; git config diff.x.binary true"
)]
#[case::renamed("seq 99 >a; seq 300 350 >b", "mv a c; sed -i 's/^50$/fifty/' c; mv b d")]
#[case::mode_only("echo a >a", "chmod +x a")]
#[case::link("ln -s one l", "ln -sf two l")]
#[case::type_changed("printf 'one\\ntwo\\n' >l", "rm l; ln -s target l")]
#[case::submodule("git init -q s; git -C s commit -q --allow-empty -m 1", "git -C s commit -q --allow-empty -m 2")]
#[case::headings("(echo 'fn main() {'; seq 30 | sed 's/^/  /') >a", "sed -i '20s/$/x/' a")]
#[case::names_not_utf8("printf a >$'a\\xff\\nb'", "printf b >$'a\\xff\\nb'")]
#[case::repetitive(
    "for i in $(seq 300); do echo; echo '}'; echo \"line $((i % 7))\"; done >a",
    "for i in $(seq 310); do echo; echo '}'; echo \"line $((i % 5))\"; done >a"
)]
#[case::long_common_tail("(echo head; seq 5000) >a", "(echo other; echo head; seq 5000) >a")]
#[case::moved_block("seq 1000 >a", "(seq 500 1000; seq 499) >a")]
fn counts_and_hunks_are_those_of_git(#[case] before: &str, #[case] after: &str) {
    let world = world(before, after);
    for renames in [true, false] {
        let comparison = diff(&world, &DiffOptions { renames, hunks: Some(3), ..DiffOptions::default() });
        let renames = if renames { "-M" } else { "--no-renames" };
        assert_eq!(numstat(&comparison), of_git(&world, &["--numstat", "-z", renames]));
        let ours: Vec<u8> = comparison.files.iter().flat_map(|file| patch(&file.hunks).to_vec()).collect();
        assert_eq!(BString::from(ours), hunks_of(&of_git(&world, &["-p", renames])));
    }
}

#[rstest::rstest]
#[case("patience")]
#[case("histogram")]
#[case("minimal")]
fn the_algorithm_is_the_configured_one(#[case] algorithm: &str) {
    let world = world(
        "for i in $(seq 100); do echo; echo \"f$i {\"; echo '}'; done >a",
        "for i in $(seq 3 110); do echo; echo \"f$i {\"; echo 'x'; echo '}'; done >a",
    );
    world.git(&["config", "diff.algorithm", algorithm]);
    let comparison = diff(&world, &DiffOptions::default());
    assert_eq!(numstat(&comparison), of_git(&world, &["--numstat", "-z"]));
}

#[test]
fn pathspecs_limit_the_files() {
    let world =
        world("mkdir -p src/a; touch src/a/x.rs src/y.c z.rs", "for f in src/a/x.rs src/y.c z.rs; do echo 1 >$f; done");
    let paths = |specs: &[&str]| {
        let pathspecs = specs.iter().map(|&spec| spec.into()).collect();
        let comparison = diff(&world, &DiffOptions { pathspecs, ..DiffOptions::default() });
        comparison.files.into_iter().map(|file| file.path.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(paths(&["src"]), ["src/a/x.rs", "src/y.c"]);
    assert_eq!(paths(&["*.rs"]), ["src/a/x.rs", "z.rs"]);
    assert_eq!(paths(&[":(glob)*.rs"]), ["z.rs"]);
    assert_eq!(paths(&[":!src"]), ["z.rs"]);
    assert_eq!(paths(&["nothing"]), [""; 0]);
}

#[test]
fn pathspecs_of_a_subdirectory_become_those_of_the_root() {
    let world = World::with_commit();
    let context = Context::open(&world.repo()).expect("a repository");
    let root =
        |text: &str| repo(&context).root_pathspecs(&[text.into()], "src/a/".into()).map(|specs| specs[0].to_string());
    let absolute = world.repo().join("x/y");
    assert_eq!(root("f").expect("inside"), "src/a/f");
    assert_eq!(root("../f").expect("inside"), "src/f");
    assert_eq!(root("./:f").expect("inside"), "src/a/:f");
    assert_eq!(root(":/f").expect("inside"), ":(top)f");
    assert_eq!(root(":!*.c").expect("inside"), ":(exclude)src/a/*.c");
    assert_eq!(root(absolute.to_str().expect("UTF-8")).expect("inside"), "x/y");
    assert!(root("../../../f").expect_err("outside").message().contains("outside the worktree"));
}

#[test]
fn variables_of_git_say_what_pathspecs_mean() {
    let world = world("echo one >a", "mkdir sub; for name in '[x]' x sub/x 'sub/[x]'; do echo one >\"$name\"; done");
    let paths = |variable: &str, directory: &str, pathspec: &str| {
        let mut command = world.command(program());
        command.current_dir(world.repo().join(directory)).env(variable, "1");
        let output = command.args(["diff", "--name-only", "@{1}", "@{0}", "--", pathspec]).output().expect("it runs");
        assert!(output.status.success(), "{}", described(&output));
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    assert_eq!(paths("GIT_LITERAL_PATHSPECS", "", "[x]"), "[x]\n");
    assert_eq!(paths("GIT_LITERAL_PATHSPECS", "sub", "[x]"), "sub/[x]\n");
    assert_eq!(paths("GIT_GLOB_PATHSPECS", "", "*x"), "x\n");
    assert_eq!(paths("GIT_ICASE_PATHSPECS", "sub", "X"), "sub/x\n");
}

#[test]
fn the_json_has_the_fields_of_the_contract() {
    let world = world("echo one >a; printf '\\xff' >b", "echo two >a; rm b; printf '\\0' >c");
    let comparison = diff(&world, &DiffOptions { content: true, ..DiffOptions::default() });
    let json = serde_json::to_value(&comparison).expect("it is JSON");
    let keys =
        |value: &serde_json::Value| value.as_object().expect("an object").keys().cloned().collect::<Vec<_>>().join(" ");
    assert_eq!(keys(&json), "version from to files");
    let contract = "path absolute old_path status before_id after_id binary added deleted before after";
    assert_eq!(keys(&json["files"][0]), contract);
    assert_eq!(
        (json["files"][0]["before"].as_str(), json["files"][0]["after"].as_str()),
        (Some("one\n"), Some("two\n"))
    );
    assert_eq!(json["files"][0]["absolute"], world.repo().join("a").to_str().expect("UTF-8"));
    assert_eq!(
        (json["files"][1]["status"].as_str(), json["files"][1]["before_raw"].as_str()),
        (Some("D"), Some("/w=="))
    );
    assert_eq!((json["files"][2]["binary"].as_bool(), json["files"][2]["added"].as_u64()), (Some(true), None));
    let without = serde_json::to_value(diff(&world, &DiffOptions::default())).expect("it is JSON");
    assert!(without["files"][0].get("before").is_none());
}

#[test]
fn sides_are_checkpoints_the_base_or_full_ids() {
    let world = world("echo 1 >f", "echo 2 >f");
    let context = Context::open(&world.repo()).expect("a repository");
    let head = world.git(&["rev-parse", "HEAD"]).trim().to_owned();
    let paths = |from: Option<&str>, to: &str| {
        let options = DiffOptions { from: from.map(Into::into), to: Some(to.into()), ..DiffOptions::default() };
        let comparison = git_checkpoint::diff(&context, &options).expect("both are there");
        (serde_json::to_value(comparison.from).expect("JSON"), comparison.files.len())
    };
    assert_eq!(paths(None, "@{1}"), (head.as_str().into(), 1));
    assert_eq!(paths(Some("base"), "@{1}"), (head.as_str().into(), 1));
    assert_eq!(paths(Some(&head), "base"), (head.as_str().into(), 0));
    let latest = world.git(&["for-each-ref", "--format=%(objectname)", "refs/checkpoints/shadow/"]).trim().to_owned();
    world.git(&["update-ref", &verified_ref("main".into()), &latest]);
    assert_eq!(paths(None, "@"), (latest.as_str().into(), 0));
}

#[test]
fn names_are_known_where_content_is_missing() {
    let world = world("seq 100 >a; seq 300 400 >b", "sed -i 3d a; mv b c; echo >>c");
    let origin = world.repo();
    world.git(&["config", "uploadpack.allowFilter", "true"]);
    world.git(&["config", "uploadpack.allowAnySHA1InWant", "true"]);
    let clone = world.root().join("clone");
    let url = format!("file://{}", origin.display());
    world.git(&["clone", "-q", "--no-checkout", "--filter=blob:none", &url, clone.to_str().expect("UTF-8")]);
    world.git(&[
        "-C",
        clone.to_str().expect("UTF-8"),
        "fetch",
        "-q",
        "origin",
        "+refs/checkpoints/*:refs/checkpoints/*",
    ]);
    let context = Context::open(&clone).expect("a repository");
    let options =
        DiffOptions { from: Some("@{1}".into()), to: Some("@".into()), counts: false, ..DiffOptions::default() };
    let names: Vec<_> = git_checkpoint::diff(&context, &options)
        .expect("no content is needed")
        .files
        .iter()
        .map(|file| format!("{} {}", file.status.letter(), file.path))
        .collect();
    assert_eq!(names, ["M a", "D b", "A c"]);
    let error =
        git_checkpoint::diff(&context, &DiffOptions { counts: true, ..options }).expect_err("content is missing");
    assert!(error.message().contains("is missing"), "{error}");
}

#[test]
fn the_worktree_is_compared_as_it_is_now() {
    let world = world("echo 1 >f", "echo 2 >f; seq 40 >old");
    world.write("new", "untracked\n");
    std::fs::rename(world.repo().join("old"), world.repo().join("moved")).expect("files can be moved");
    let context = Context::open(&world.repo()).expect("a repository");
    let objects = world.git(&["count-objects", "-v"]);
    let options = DiffOptions { from: Some("@".into()), content: true, hunks: Some(3), ..DiffOptions::default() };
    let comparison = git_checkpoint::diff(&context, &options).expect("the worktree can be read");
    let lines: Vec<_> = comparison.files.iter().map(|file| (file.status.letter(), file.path.to_string())).collect();
    assert_eq!(lines, [('R', "moved".into()), ('A', "new".into())]);
    assert_eq!(comparison.files[1].after.as_deref(), Some(b"untracked\n".as_slice()));
    let json = serde_json::to_value(&comparison.files[1]).expect("JSON");
    assert_eq!((json.get("before"), &json["after"]), (Some(&serde_json::Value::Null), &"untracked\n".into()));
    assert_eq!(serde_json::to_value(comparison.to).expect("JSON"), "worktree");
    assert_eq!(world.git(&["count-objects", "-v"]), objects, "comparing writes no objects");
}
