//! Files that are not as one expects: links, read-only, broken, elsewhere, scripts, and what a kill leaves.

use std::{
    fs,
    os::unix::fs::symlink,
    process::{Output, Stdio},
};

use super::{Format, Scope, World, actions, dialects, done_in, ends, home, picture, put, read, world};
use crate::support::{processes::described, program};

#[test]
fn links_into_another_place_are_followed_and_stay() {
    let world = world();
    let (link, real) = (home(&world).join(".claude/settings.json"), home(&world).join("dotfiles/claude.json"));
    put(&real, "{\"a\": 1}\n", 0o600);
    fs::create_dir_all(link.parent().expect("one")).expect("it can be made");
    symlink("../dotfiles/claude.json", &link).expect("links can be made");
    let before = picture(&world);
    let enable = ["enable", "--agent", "claude-code", "--user"];
    world.done(&enable);
    assert!(link.is_symlink() && read(&real).contains("hook --agent claude-code"));
    world.done(&["disable"]);
    assert_eq!(picture(&world), before);
    // A link to nowhere stays one.
    fs::remove_file(&real).expect("it is ours");
    let before = picture(&world);
    world.done(&enable);
    assert!(link.is_symlink() && real.exists());
    world.done(&["disable"]);
    assert_eq!(picture(&world), before);
    fs::remove_file(&link).expect("it is ours");
    symlink("settings.json", &link).expect("links can be made");
    assert!(ends(&world, 128, &enable).contains("leads to itself"));
}

#[test]
fn a_project_cannot_lead_out_of_the_worktree() {
    let world = world();
    let outside = home(&world).join("outside");
    put(&outside.join("settings.json"), "{}", 0o644);
    let claude = world.repo().join(".claude");
    for (link, target) in [
        (claude.clone(), outside.clone()),
        (claude.join("settings.json"), outside.join("settings.json")),
        (claude.join("settings.json"), outside.join("new/settings.json")),
        (claude.join("settings.json"), world.repo().join(".git/settings.json")),
        (claude.join("settings.json"), "../../repo/../home/x".into()),
        (claude.join("settings.json"), "missing/../../../x".into()),
    ] {
        fs::create_dir_all(link.parent().expect("one")).expect("it can be made");
        symlink(&target, &link).expect("links can be made");
        let before = picture(&world);
        let said = ends(&world, 128, &["enable", "--agent", "claude-code", "--project"]);
        assert!(said.contains("leads out of the worktree"), "{}: {said}", target.display());
        assert_eq!(picture(&world), before);
        assert!(!world.repo().join(".git/settings.json").exists());
        fs::remove_file(&link).expect("it is ours");
    }
    // Inside, a link is one's own affair.
    symlink("../conf/claude.json", claude.join("settings.json")).expect("links can be made");
    world.done(&["enable", "--agent", "claude-code", "--project"]);
    assert!(world.repo().join("conf/claude.json").exists());
}

#[test]
fn enable_writes_nothing_if_it_cannot_change_one_of_the_files() {
    let world = world();
    let path = world.repo().join(".claude/settings.local.json");
    let enable = ["enable", "--agent", "codex", "--agent", "claude-code"];
    let cases: [(&[u8], u32, &str); 5] = [
        (b"{ \"a\": 1", 0o644, "line 1 is no JSON"),
        (b"[]", 0o644, "the file is not an object"),
        (b"{\"hooks\": 7}", 0o644, "the map of hooks is not an object"),
        (b"{\"a\": \"\xff\"}", 0o644, "is not UTF-8"),
        (b"{}", 0o444, "is read-only"),
    ];
    for (text, mode, why) in cases {
        put(&path, text, mode);
        let before = picture(&world);
        let said = ends(&world, 128, &enable);
        assert!(said.contains(why) && said.contains(".claude/settings.local.json'"), "{said}");
        assert_eq!(picture(&world), before, "codex and git's hooks are as they were, too");
        assert!(!world.repo().join(".git/hooks/post-commit").exists());
        fs::remove_file(&path).expect("it is ours");
    }
    fs::create_dir(&path).expect("it can be made");
    assert!(ends(&world, 128, &enable).contains("is not a file"));
    // What was broken later is left, and said.
    fs::remove_dir(&path).expect("it is ours");
    world.done(&["enable", "--agent", "claude-code"]);
    let text = format!("{} what?", read(&path));
    put(&path, &text, 0o644);
    let said = ends(&world, 1, &["disable"]);
    assert!(said.contains("kept") && said.contains("is no JSON"), "{said}");
    assert_eq!(read(&path), text);
}

#[test]
fn a_foreign_script_runs_first_and_comes_back() {
    let world = world();
    let hooks = home(&world).join("Documents/Cline/Hooks");
    put(
        &hooks.join("PreToolUse"),
        "#!/bin/sh\ncat >\"$LOG\"\necho '{\"cancel\":false,\"contextModification\":\"mine\"}'\n",
        0o750,
    );
    put(&hooks.join("PostToolUse"), "#!/bin/sh\nexit 1\n", 0o640);
    let before = picture(&world);
    world.done(&["enable", "--agent", "cline", "--user"]);
    let log = world.root().join("log");
    let payload = b"{\"hookName\":\"Notification\",\"taskId\":\"t\"}\n";
    let run = || {
        let mut command = world.command(hooks.join("PreToolUse").to_str().expect("plain"));
        command.env("LOG", &log).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it is executable");
        std::io::Write::write_all(&mut child.stdin.take().expect("piped"), payload).expect("it reads");
        let output = child.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.contains("\"contextModification\":\"mine\""), "{}", described(&output));
        assert!(output.stderr.is_empty(), "{}", described(&output));
    };
    run();
    assert_eq!(fs::read(&log).expect("the foreign one ran"), payload);
    let script = read(&hooks.join("PreToolUse"));
    put(&hooks.join("PreToolUse"), script.replace(program(), "/gone/git-checkpoint"), 0o755);
    run();
    fs::remove_file(&log).expect("it is ours");
    world.done(&["disable"]);
    assert_eq!(picture(&world), before);
    // Two foreign scripts: only the user knows which one to keep.
    let aside = hooks.join("PreToolUse.before-git-checkpoint");
    put(&aside, "#!/bin/sh\n", 0o755);
    let before = picture(&world);
    let said = ends(&world, 128, &["enable", "--agent", "cline", "--user"]);
    assert!(said.contains("is there already"), "{said}");
    assert_eq!(picture(&world), before);
}

#[test]
fn scripts_of_ours_that_a_user_edited_are_left() {
    for name in ["cline", "opencode", "kiro"] {
        let world = world();
        let file = &dialects::named(name).expect("known").files[0];
        let path = home(&world).join(file.path);
        world.done(&["enable", "--agent", name, "--user"]);
        let edited = format!("{}\n// mine\n", read(&path));
        fs::write(&path, &edited).expect("it is ours");
        let said = ends(&world, 1, &["enable", "--agent", name, "--user"]);
        assert!(said.contains("edited since"), "{said}");
        assert_eq!(read(&path), edited);
        let said = ends(&world, 1, &["disable"]);
        assert!(said.contains("edited since"), "{said}");
        assert_eq!(read(&path), edited);
        fs::remove_file(&path).expect("it is ours");
        assert!(!ends(&world, 0, &["disable"]).contains("edited"));
    }
}

#[test]
fn a_moved_program_is_written_anew() {
    let world = world();
    for name in ["claude-code", "opencode", "goose", "cline"] {
        world.done(&["enable", "--agent", name, "--user"]);
        let file = &dialects::named(name).expect("known").files[0];
        let path = home(&world).join(file.path);
        let text = read(&path);
        let old = text.replace(program(), "/gone/git-checkpoint");
        fs::write(&path, &old).expect("it is ours");
        let enable = ["enable", "--agent", name, "--user", "--json"];
        assert_eq!(actions(&world, &enable)[0], "updated", "{name}");
        assert_eq!(read(&path), text);
    }
}

#[test]
fn leftovers_of_a_killed_enable_are_removed_by_the_next_command() {
    for (name, point) in [
        ("codex", "agent-hooks:after-note"),
        ("codex", "agent-hooks:before-rename"),
        ("cline", "agent-hooks:before-script"),
    ] {
        for repair in ["enable", "disable"] {
            let world = world();
            put(&home(&world).join("Documents/Cline/Hooks/TaskStart"), "#!/bin/sh\n", 0o755);
            let before = picture(&world);
            let child = world.start_with(&["enable", "--agent", name, "--user"], point);
            assert!(!child.wait_with_output().expect("it ends").status.success(), "{point}");
            if repair == "enable" {
                world.done(&["enable", "--agent", name, "--user"]);
            }
            world.done(&["disable"]);
            assert_eq!(picture(&world), before, "{point}, then {repair}");
        }
    }
}

#[test]
fn disable_can_be_repeated_after_it_was_killed() {
    let world = world();
    put(&home(&world).join(".codex/hooks.json"), "{\"a\": 1}", 0o600);
    let before = picture(&world);
    world.done(&["enable", "--agent", "codex"]);
    let with = picture(&world);
    let child = world.start_with(&["disable", "--agent", "codex"], "agent-hooks:before-rename");
    assert!(!child.wait_with_output().expect("it ends").status.success());
    assert!(picture(&world).len() > with.len(), "what was in the making is left");
    assert!(read(&home(&world).join(".codex/hooks.json")).contains("hook --agent codex"), "all or nothing");
    world.done(&["disable"]);
    assert_eq!(picture(&world), before);
}

/// Where a shell finds its commands, and not the program.
const PATH: &str = "/usr/bin:/bin";

/// Runs `line` as an agent does, with nothing of the environment that a terminal has but `path`.
fn as_agents_do(world: &World, path: &str, line: &str, payload: &str) -> Output {
    loop {
        let mut command = world.command("/bin/sh");
        command.env_clear().env("HOME", home(world)).env("PATH", path).args(["-c", line]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("there is a shell");
        // A program that is gone reads nothing.
        drop(std::io::Write::write_all(&mut child.stdin.take().expect("piped"), payload.as_bytes()));
        let output = child.wait_with_output().expect("it ends");
        // A child that another test starts has the script open, which was just written, until it has become another program.
        if !(output.status.code() == Some(126) && String::from_utf8_lossy(&output.stderr).contains("busy")) {
            return output;
        }
    }
}

#[test]
fn installed_commands_answer_and_are_silent_once_the_program_is_gone() {
    for dialect in dialects::ALL.iter().filter(|dialect| !dialect.files.is_empty()) {
        let world = world();
        world.done(&["enable", "--agent", dialect.name, "--user"]);
        for file in dialect.files.iter().filter(|file| file.scope == Scope::User) {
            let path = home(&world).join(file.path);
            let text = read(&path);
            let is_script = matches!(file.format, Format::Script);
            let lines = if is_script { vec![path.display().to_string()] } else { file.commands(&text) };
            for line in lines {
                let output = as_agents_do(&world, PATH, &line, dialect.ignored);
                assert!(output.status.success() && output.stderr.is_empty(), "{line}: {}", described(&output));
                let answer = String::from_utf8(output.stdout).expect("text");
                if !answer.is_empty() {
                    serde_json::from_str::<serde_json::Value>(&answer).expect("JSON");
                }
                let gone = |text: &str| text.replace(program(), "/gone/git-checkpoint");
                if is_script {
                    put(&path, gone(&text), 0o755);
                }
                let output = as_agents_do(&world, PATH, &gone(&line), dialect.ignored);
                assert!(output.status.success() && output.stderr.is_empty(), "{line}: {}", described(&output));
                let expected: &[u8] = if is_script { b"{\"cancel\":false}\n" } else { b"" };
                assert_eq!(output.stdout, expected, "{line}");
            }
        }
        assert!(!world.repo().join(".git/checkpoint/sessions").exists(), "{}: it was no event", dialect.name);
    }
}

#[test]
fn committed_commands_find_the_program_in_path_and_are_silent_without_it() {
    for dialect in dialects::ALL.iter().filter(|dialect| !dialect.files.is_empty()) {
        let world = world();
        let log = world.root().join("log");
        put(&world.root().join("bin/git-checkpoint"), format!("#!/bin/sh\necho \"$@\" >>{}\n", log.display()), 0o755);
        let with = format!("{}:{PATH}", world.root().join("bin").display());
        world.done(&["enable", "--agent", dialect.name, "--project"]);
        for file in dialect.files.iter().filter(|file| file.scope == Scope::Project) {
            let path = world.repo().join(file.path);
            let text = read(&path);
            let is_script = matches!(file.format, Format::Script);
            let lines = if is_script { vec![path.display().to_string()] } else { file.commands(&text) };
            for line in lines {
                let output = as_agents_do(&world, &with, &line, dialect.ignored);
                assert!(output.status.success() && output.stderr.is_empty(), "{line}: {}", described(&output));
                assert_eq!(read(&log), format!("hook --agent {}\n", dialect.name), "{line}");
                fs::remove_file(&log).expect("it is ours");
                let output = as_agents_do(&world, PATH, &line, dialect.ignored);
                assert!(output.status.success() && output.stderr.is_empty(), "{line}: {}", described(&output));
                let expected: &[u8] = if is_script { b"{\"cancel\":false}\n" } else { b"" };
                assert_eq!(output.stdout, expected, "{line}");
            }
        }
    }
}

#[test]
fn a_worktree_that_is_gone_is_no_trouble() {
    let world = world();
    world.git(&["worktree", "add", "-q", "../side"]);
    let side = world.root().join("side");
    let in_side = |arguments: &[&str]| done_in(&world, &side, arguments);
    in_side(&["enable", "--agent", "claude-code"]);
    assert!(side.join(".claude/settings.local.json").exists());
    // It is known from the other one, too.
    world.done(&["disable"]);
    assert!(!side.join(".claude").exists());
    in_side(&["enable", "--agent", "claude-code"]);
    fs::remove_dir_all(&side).expect("it is ours");
    world.done(&["disable"]);
    assert!(!world.repo().join(".git/checkpoint/installed.toml").exists());
}
