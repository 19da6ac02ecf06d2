//! The report of commits: one page that runs nothing and needs nothing, the same as data, and a comment for a pull request.

use std::{fs, os::unix::fs::symlink};

use base64::Engine as _;
use serde_json::Value;

use crate::support::{World, processes::described, program, terminal::Terminal};

/// A text that would be markup, a control sequence and a change of direction.
const HOSTILE: &str = "</pre></script><script>alert(1)</script><img src=x onerror=alert(2)> & \u{1b}[31m\u{202e}";
/// What no page may contain: scripts, and what a terminal or a reader would obey.
const NEVER: [&str; 5] = ["<script>", "<img", "</script><", "\u{1b}", "\u{202e}"];

/// A world with a commit of a person's, one of an agent's (with a prompt) and a person's, and one of an agent's.
fn world() -> World {
    let world = World::with_commit();
    world.done(&["enable", "-q"]);
    turn(&world, "s1", "add the two lines\nplease", "a.py", "one = 1\ntwo = 2\n");
    world.write("b.py", "three = 3\n");
    world.sh("git add -A; git commit -qm 'add numbers'");
    turn(&world, "s2", "four", "dir/c.py", "four = 4\n");
    world.sh("git add -A; git commit -qm 'add four'");
    world
}

fn turn(world: &World, session: &str, prompt: &str, file: &str, content: &str) {
    world.done(&["session", "prompt", session, "--agent", "claude-code", "--message", prompt]);
    world.write(file, content);
    world.done(&["session", "stop", session]);
}

/// Returns the data that lie in `page`.
fn data(page: &str) -> Value {
    let (_, data) = page.split_once("<script type=\"application/json\" id=\"report-data\">").expect("it has data");
    let (data, _) = data.split_once("</script>").expect("they end");
    serde_json::from_str(data).expect("they are JSON")
}

fn subjects(report: &Value) -> Vec<&str> {
    let commits = report["commits"].as_array().expect("a list");
    commits.iter().map(|commit| commit["subject"].as_str().expect("a text")).collect()
}

#[test]
fn the_page_shows_prompts_owners_and_figures() {
    let world = world();
    let page = world.done(&["report"]);
    assert!(page.starts_with("<!DOCTYPE html><!-- git-checkpoint report -->"), "{page}");
    for text in [
        "add the two lines\nplease",
        "<h3>add numbers</h3>",
        "<span class=\"agent\" title=\"claude-code, session s1, turn 1\">A+ one = 1\nA+ two = 2\n</span>",
        "<span class=\"human\">H+ three = 3\n</span>",
        "aria-label=\"67% agent, 33% human\"",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    let found = data(&page);
    assert_eq!(found, world.json(&["report", "--json"]));
    assert_eq!(subjects(&found), ["add four", "add numbers", "base"]);
    let commit = &found["commits"][1];
    assert_eq!(commit["sessions"][0]["prompts"][0]["text"], "add the two lines\nplease");
    assert_eq!((&commit["sessions"][0]["lines"], commit["sessions"][0]["id"].as_str()), (&2.into(), Some("s1")));
    assert_eq!(found["directories"][1]["name"], "dir/");
    assert_eq!(found["directories"][1]["agent_percentage"], 100.0);
    let all = world.json(&["attribution", "--json", "HEAD"]);
    assert_eq!(found["commits"][0]["summary"], all["summary"], "the figures are those of attribution");
}

/// Each text that comes from outside: subject, author, path, prompt, session, content, directory.
#[test]
fn what_comes_from_outside_is_text() {
    let world = World::with_commit();
    world.done(&["enable", "-q"]);
    let line = HOSTILE.replace('/', "|");
    turn(&world, "s1", HOSTILE, &line, &format!("{HOSTILE}\n"));
    world.write(&format!("d{line}/x"), HOSTILE.to_owned() + "\n");
    world.git(&["config", "user.name", &HOSTILE.replace(['<', '>', '\u{1b}'], "")]);
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", HOSTILE]);
    let page = world.done(&["report"]);
    let (before, after) =
        page.split_once("<script type=\"application/json\" id=\"report-data\">").expect("it has data");
    let (json, after) = after.split_once("</script>").expect("they end");
    for part in [before, json, after] {
        for never in NEVER {
            assert!(!part.contains(never), "{never:?} in {part}");
        }
    }
    assert_eq!(data(&page)["commits"][0]["sessions"][0]["prompts"][0]["text"], HOSTILE);
    let comment = world.done(&["report", "--format", "markdown"]);
    assert!(!comment.contains("<script>") && !comment.contains("![") && !comment.contains('\u{1b}'), "{comment}");
}

/// The page's policy allows the style that is in it, by its digest, and nothing else.
#[test]
fn the_policy_is_of_the_style() {
    let world = world();
    let page = world.done(&["report"]);
    let (_, style) = page.split_once("<style>").expect("it has a style");
    let (style, _) = style.split_once("</style>").expect("it ends");
    world.write("../style", style);
    let hex = world.sh("sha256sum <../style");
    let byte = |at: usize| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).expect("two digits");
    let digest = base64::engine::general_purpose::STANDARD.encode((0..32).map(byte).collect::<Vec<_>>());
    let policy =
        format!("content=\"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'\"");
    assert!(page.contains(&policy), "{policy}: {page}");
    for word in ["http://", "https://", "url(", "@import", "<link", "javascript:", " style="] {
        assert!(!page.contains(word), "{word}");
    }
}

#[test]
fn a_range_a_count_and_a_session_choose_the_commits() {
    let world = world();
    let of = |arguments: &[&str]| world.json(&[&["report", "--json"], arguments].concat());
    assert_eq!(subjects(&of(&["-n", "1"])), ["add four"]);
    assert_eq!(subjects(&of(&["HEAD~1"])), ["add numbers"], "one commit");
    let range = of(&["HEAD~2..HEAD~1"]);
    assert_eq!((subjects(&range), range["range"].as_str()), (vec!["add numbers"], Some("HEAD~2..HEAD~1")));
    world.git(&["commit", "-q", "--amend", "-m", "add 4"]);
    let session = of(&["--session", "s2"]);
    assert_eq!((subjects(&session), session["session"].as_str()), (vec!["add 4"], Some("s2")), "as it is now, once");

    let empty = world.checkpoint(&["report", "HEAD..HEAD", "-o", "empty.html"]);
    assert_eq!(empty.status.code(), Some(1), "{}", described(&empty));
    assert!(!world.repo().join("empty.html").exists());
    for (arguments, why) in [(["report", "nothing"], "no commit matches"), (["report", "--session=x"], "no session")] {
        let output = world.checkpoint(&arguments);
        assert_eq!(output.status.code(), Some(128), "{}", described(&output));
        assert!(String::from_utf8_lossy(&output.stderr).contains(why), "{}", described(&output));
    }
}

#[test]
fn only_a_report_is_replaced() {
    let world = world();
    let write = |more: &[&str], file: &str| world.checkpoint(&[&["report", "-o", file], more].concat());
    world.write("notes.txt", "precious: look for <!-- git-checkpoint report -->\n");
    let refused = write(&[], "notes.txt");
    assert_eq!(refused.status.code(), Some(128), "{}", described(&refused));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("'notes.txt' exists already and is no report"));
    assert!(world.read("notes.txt").starts_with(b"precious"));

    for format in ["html", "markdown"] {
        let first = write(&["--format", format, "-n", "1"], "r");
        assert!(first.status.success(), "{}", described(&first));
        let before = world.read("r");
        assert!(write(&["--format", format], "r").status.success());
        assert_ne!(world.read("r"), before, "a report is replaced by the next one");
        fs::remove_file(world.repo().join("r")).expect("it is there");
    }
    // What a link leads to counts, and the link stays.
    symlink("notes.txt", world.repo().join("link")).expect("it can be made");
    assert_eq!(write(&[], "link").status.code(), Some(128));
    assert!(write(&["--force"], "link").status.success());
    assert!(world.repo().join("link").is_symlink());
    assert!(world.read("notes.txt").starts_with(b"<!DOCTYPE html>"));
    for (file, why) in [("dir", "is a directory"), ("none/r", "cannot write 'none/r'")] {
        let output = write(&[], file);
        assert_eq!(output.status.code(), Some(128), "{}", described(&output));
        assert!(String::from_utf8_lossy(&output.stderr).contains(why), "{}", described(&output));
    }
    let left = world.sh("ls -A | grep git-checkpoint-report || true");
    assert_eq!(left, "", "nothing is left over");
}

#[test]
fn a_report_keeps_the_permissions_of_the_one_that_it_replaces() {
    let world = world();
    world.write("r", "");
    for mode in [0o600, 0o666, 0o444] {
        world.chmod("r", mode);
        world.done(&["report", "-n", "1", "-o", "r"]);
        assert_eq!((world.mode("r") & 0o777, world.read("r").is_empty()), (mode, false));
    }
}

#[test]
fn a_link_that_leads_nowhere_stays() {
    let world = world();
    symlink("nowhere", world.repo().join("link")).expect("it can be made");
    for more in [&[][..], &["--force"]] {
        let output = world.checkpoint(&[&["report", "-o", "link"], more].concat());
        assert_eq!(output.status.code(), Some(128), "{}", described(&output));
        assert!(String::from_utf8_lossy(&output.stderr).contains("leads nowhere"), "{}", described(&output));
    }
    assert!(world.repo().join("link").is_symlink() && !world.exists("nowhere"));
}

/// The user writes a file of that name while the report is made.
#[test]
fn a_file_that_appears_meanwhile_is_not_replaced() {
    let world = world();
    let path = std::env::var("PATH").expect("a path");
    fs::create_dir_all(world.root().join("bin")).expect("a folder");
    world.script(
        "../bin/git",
        &format!(
            "#!/bin/sh\ncase \" $* \" in *' --no-walk=unsorted '*) echo precious >'{}';; esac\nPATH='{path}' exec git \"$@\"",
            world.repo().join("r").display()
        ),
    );
    let report = |more: &[&str]| {
        let mut command = world.command(program());
        command.args(["report", "-o", "r"]).args(more);
        command.env("PATH", format!("{}:{path}", world.root().join("bin").display())).output().expect("it runs")
    };
    let output = report(&[]);
    assert_eq!(output.status.code(), Some(128), "{}", described(&output));
    assert!(String::from_utf8_lossy(&output.stderr).contains("'r' exists already and is no report"));
    assert_eq!(world.read("r"), "precious\n");
    assert!(report(&["--force"]).status.success());
    assert_ne!(world.read("r"), "precious\n");
}

#[test]
fn a_linked_worktree_knows_the_name_of_the_repository() {
    let world = world();
    world.git(&["worktree", "add", "-q", "../w"]);
    let name = |found: String| serde_json::from_str::<Value>(&found).expect("JSON")["repository"].clone();
    let linked = name(world.sh("cd ../w && git checkpoint report --json -n 1"));
    assert!(linked != "" && linked == name(world.done(&["report", "--json", "-n", "1"])), "{linked}");
}

/// What the first commit of a shallow clone changed is not known.
#[test]
fn a_shallow_clone_is_reported_on_without_its_first_commit() {
    let world = world();
    world.sh("git clone -q --depth 2 \"file://$PWD\" ../shallow");
    let found = world.sh("cd ../shallow && git checkpoint report --json 2>../said");
    assert_eq!(subjects(&serde_json::from_str(&found).expect("JSON")), ["add four"]);
    let said = world.read("../said").to_string();
    assert!(said.contains("that one is left out") && said.contains("--unshallow"), "{said}");
    world.sh("git clone -q --depth 1 \"file://$PWD\" ../shallower");
    let nothing = world.sh("cd ../shallower && git checkpoint report --json 2>../said || echo $?");
    assert_eq!(nothing, "1\n", "{}", world.read("../said"));
}

/// A page on a terminal is refused, with the ways that work; a browser that does not exist is named.
#[test]
fn a_page_is_not_for_a_terminal() {
    let world = world();
    let terminal = Terminal::start(&world, "git checkpoint report; echo done $?", |_| {});
    let seen = terminal.wait_for("done 128");
    assert!(seen.contains("--output report.html"), "{seen}");
    world.git(&["config", "web.browser", "mine"]);
    world.git(&["config", "browser.mine.cmd", "false"]);
    let open =
        || world.command(program()).args(["report", "--open"]).env("TMPDIR", world.root()).output().expect("it starts");
    let output = open();
    assert_eq!(output.status.code(), Some(128), "{}", described(&output));
    assert!(String::from_utf8_lossy(&output.stderr).contains("in a browser"), "{}", described(&output));
    world.git(&["config", "browser.mine.cmd", "head -c 15"]);
    let output = open();
    assert!(output.status.success(), "{}", described(&output));
    assert!(String::from_utf8_lossy(&output.stdout).ends_with("<!DOCTYPE html>"), "the browser gets the page");
    let mut below = world.command(program());
    below.args(["report", "-o", "r.html", "--open"]).current_dir(world.repo().join("dir"));
    assert!(below.status().expect("it starts").success(), "the file is beside the user, not at the root");
}

/// However long the names are, a forge takes the comment.
#[test]
fn a_comment_is_never_too_long() {
    let world = World::with_commit();
    world.done(&["enable", "-q"]);
    let long = "|".repeat(200);
    for number in 0..30 {
        let session = format!("{}-{number}", "s".repeat(80));
        turn(&world, &session, "x", &format!("{long}{number}/{long}"), "a line that is long enough\n");
    }
    world.sh("git add -A; git commit -qm many");
    let comment = world.done(&["report", "--format", "markdown", "HEAD"]);
    assert!(comment.len() < 60_000 && comment.contains("and 20 more sessions"), "{} {comment}", comment.len());
    assert_eq!(comment.matches("\n| &#124;").count(), 10, "{comment}");
}
