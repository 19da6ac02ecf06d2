//! The setting `jj = "manage"`, with the real jj and the events of an agent: what it does goes to a change of its own, and no file of the
//! worktree changes by that.

use std::{
    io::Write as _,
    os::unix::fs::PermissionsExt,
    process::{Output, Stdio},
};

use crate::support::{World, jj, processes::described, program};

/// A colocated repository with work of the user's at `@`.
struct Desk {
    world: World,
    /// The user's change.
    user: String,
}

impl Desk {
    /// Returns one; none without jj.
    fn new() -> Option<Self> {
        let world = World::new();
        if !jj::is_there(&world) {
            return None;
        }
        world.commit_base();
        world.colocate();
        world.sh("git checkpoint config set jj manage; git checkpoint enable -q --agent claude-code 2>/dev/null");
        world.jj(&["describe", "-m", "user work"]);
        world.write("user", "one\ntwo\nthree\n");
        world.jj(&["status"]);
        let user = world.change("@");
        let desk = Self { world, user };
        desk.hear("s1", "UserPromptSubmit", r#""prompt":"do it""#);
        Some(desk)
    }

    fn hear(&self, session: &str, event: &str, more: &str) {
        let output = self.say(session, event, more);
        assert!(output.status.success(), "{event} {more}: {}", described(&output));
    }

    fn say(&self, session: &str, event: &str, more: &str) -> Output {
        let cwd = self.world.repo().display().to_string();
        let payload = format!(
            "{{\"session_id\":\"{session}\",\"cwd\":\"{cwd}\",\"hook_event_name\":\"{event}\",\"transcript_path\":\"/none\",{more}}}"
        );
        let mut command = self.world.command(program());
        let bin = self.world.root().join("bin");
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", bin.display())).args(["hook", "--agent", "claude-code"]);
        command.env("JJ_USER", "J J").env("JJ_EMAIL", "jj@example.com").env("JJ_CONFIG", "/dev/null");
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().expect("it starts");
        child.stdin.take().expect("piped").write_all(payload.as_bytes()).expect("it reads");
        child.wait_with_output().expect("it runs")
    }

    fn tool(&self, event: &str, tool: &str, call: &str, file: &str) {
        let path = self.world.repo().join(file).display().to_string();
        let more = format!(
            "\"tool_name\":\"{tool}\",\"tool_use_id\":\"{call}\",\"tool_input\":{{\"file_path\":\"{path}\"}},\"tool_response\":{{}}"
        );
        self.hear("s1", event, &more);
    }

    /// Lets the agent write `text` to `file`.
    fn write(&self, call: &str, file: &str, text: &str) {
        self.tool("PreToolUse", "Write", call, file);
        assert_eq!(self.at(), workspace());
        self.world.write(file, text);
        self.tool("PostToolUse", "Write", call, file);
    }

    fn at(&self) -> String {
        self.log("@", "description.first_line()")
    }

    fn log(&self, revisions: &str, template: &str) -> String {
        let template = format!("{template} ++ \"\\n\"");
        let printed = self.world.jj(&["--ignore-working-copy", "log", "--no-graph", "-r", revisions, "-T", &template]);
        printed.trim_end().to_owned()
    }

    /// Returns the files of the commit that `revisions` names, beside those of its parent.
    fn files(&self, revisions: &str) -> String {
        self.world.jj(&["--ignore-working-copy", "diff", "--name-only", "-r", revisions]).trim_end().replace('\n', " ")
    }

    /// Puts a program in the place of jj that runs `first` before a command with the word `word`.
    fn before_jj(&self, word: &str, first: &str) {
        let bin = self.world.root().join("bin");
        std::fs::create_dir_all(&bin).expect("made");
        let script = format!(
            "#!/bin/sh\nPATH=${{PATH#*:}}\nfor it; do if test \"$it\" = {word}; then {first}\nfi; done\nexec jj \"$@\"\n"
        );
        std::fs::write(bin.join("jj"), script).expect("written");
        std::fs::set_permissions(bin.join("jj"), PermissionsExt::from_mode(0o755)).expect("it is ours");
    }
}

fn workspace() -> String {
    "[Claude Workspace] Temporary workspace for session s1".into()
}

const CHANGE: &str = "Claude Code Session s1";

#[test]
fn each_tool_adds_to_one_change_below_the_users() {
    let Some(desk) = Desk::new() else { return };
    for number in ["1", "2", "3"] {
        desk.write(number, &format!("agent{number}"), "the agent's\n");
        assert_eq!(desk.log("@", "change_id"), desk.user);
    }
    assert_eq!(desk.log("::@", "description.first_line()"), format!("user work\n{CHANGE}\nbase"));
    assert_eq!((desk.files("@"), desk.files("@-")), ("user".into(), "agent1 agent2 agent3".into()));
    assert_eq!(
        desk.log("@-", "trailers.map(|it| it.key() ++ \" \" ++ it.value()).join(\",\")"),
        "Claude-Session-Id s1"
    );
    desk.hear("s1", "Stop", "\"stop_hook_active\":false");
    assert_eq!(desk.world.git(&["log", "-1", "--format=%s"]).trim(), CHANGE);
    let counted: serde_json::Value =
        serde_json::from_str(&desk.world.git(&["checkpoint", "attribution", "--json", "HEAD"])).expect("JSON");
    assert_eq!(counted["summary"]["agent_lines"], 3, "{counted}");
    assert_eq!(desk.world.git(&["status", "--short"]), " A user\n");
}

#[test]
fn a_tool_that_changes_nothing_leaves_no_change() {
    let Some(desk) = Desk::new() else { return };
    let operations = desk.world.operations();
    desk.tool("PreToolUse", "Read", "1", "base");
    desk.tool("PostToolUse", "Read", "1", "base");
    assert_eq!(desk.world.operations(), operations, "a tool that reads moves nothing");
    desk.tool("PreToolUse", "Write", "2", "x");
    desk.tool("PostToolUse", "Write", "2", "x");
    assert_eq!(desk.log("@", "change_id"), desk.user);
    assert_eq!(desk.log("all()", "description.first_line()"), "user work\nbase");
}

#[test]
fn another_session_waits_and_two_tools_share_a_change() {
    let Some(desk) = Desk::new() else { return };
    desk.tool("PreToolUse", "Write", "1", "a");
    let denied =
        desk.say("s2", "PreToolUse", r#""tool_name":"Write","tool_use_id":"9","tool_input":{"file_path":"b"}"#);
    assert!(String::from_utf8_lossy(&denied.stderr).contains("Temporary workspace"), "{}", described(&denied));
    // Both run at the same time, as those of subagents may.
    desk.tool("PreToolUse", "Bash", "2", "b");
    desk.world.write("a", "a\n");
    desk.world.write("b", "b\n");
    desk.tool("PostToolUse", "Write", "1", "a");
    desk.tool("PostToolUse", "Bash", "2", "b");
    desk.hear("s1", "Stop", "\"stop_hook_active\":false");
    assert_eq!((desk.log("@", "change_id"), desk.files("@-")), (desk.user.clone(), "a b".into()));
}

#[test]
fn what_would_have_a_conflict_stays_on_top() {
    let Some(desk) = Desk::new() else { return };
    desk.write("1", "user", "one\nAGENT\nthree\n");
    assert_eq!(desk.world.read("user"), "one\nAGENT\nthree\n");
    assert_eq!(desk.log("::@", "description.first_line()"), format!("\n{CHANGE}\nuser work\nbase"));
    assert_eq!(desk.log("conflicts()", "change_id"), "");
    assert_eq!((desk.files("@"), desk.files("@--")), (String::new(), "user".into()));
    // The user goes on in the new change, and the agent in its own.
    desk.world.write("more", "the user's\n");
    desk.write("2", "agent", "the agent's\n");
    assert_eq!(desk.log("::@", "description.first_line()"), format!("\n{CHANGE}\nuser work\nbase"));
    assert_eq!((desk.files("@"), desk.files("@-")), ("more".into(), "agent user".into()));
}

#[test]
fn the_user_moves_to_another_change_while_a_tool_runs() {
    let Some(desk) = Desk::new() else { return };
    desk.tool("PreToolUse", "Write", "1", "a");
    desk.world.jj(&["new", "-m", "another", &desk.user]);
    desk.world.write("a", "a\n");
    desk.tool("PostToolUse", "Write", "1", "a");
    desk.world.jj(&["status"]);
    assert_eq!((desk.at(), desk.files("@")), ("another".into(), "a".into()));
}

#[test]
fn the_furthest_change_of_the_session_counts() {
    let Some(desk) = Desk::new() else { return };
    desk.write("1", "a", "a\n");
    desk.world.jj(&["new", "--insert-before", "@", "--no-edit", "-m", "second\n\nClaude-Session-Id: s1"]);
    desk.write("2", "b", "b\n");
    assert_eq!((desk.files("@-"), desk.files("@--")), ("b".into(), "a".into()));
    assert_eq!(desk.log("@-", "description.first_line()"), "second");
}

#[test]
fn what_the_user_writes_meanwhile_stays_in_the_users_change() {
    let Some(desk) = Desk::new() else { return };
    desk.before_jj("edit", "printf 'meanwhile\\n' >>user");
    desk.write("1", "a", "a\n");
    assert_eq!(desk.world.read("user"), "one\ntwo\nthree\nmeanwhile\n");
    assert_eq!(desk.log("::@", "description.first_line()"), format!("user work\n{CHANGE}\nbase"));
    assert_eq!((desk.files("@"), desk.files("@-")), ("user".into(), "a".into()));
    assert_eq!(desk.log("all() ~ ::@", "change_id"), "", "nothing is left over");
}

#[rstest::rstest]
fn a_jj_that_fails_loses_nothing(#[values("new", "op", "rebase", "describe", "edit", "abandon")] word: &str) {
    let Some(desk) = Desk::new() else { return };
    desk.tool("PreToolUse", "Write", "1", "a");
    desk.before_jj(word, "exit 1");
    desk.world.write("a", "a\n");
    desk.tool("PostToolUse", "Write", "1", "a");
    assert_eq!((desk.world.read("a"), desk.world.read("user")), ("a\n".into(), "one\ntwo\nthree\n".into()));
    std::fs::remove_file(desk.world.root().join("bin/jj")).expect("it is ours");
    // Tools go on.
    desk.tool("PreToolUse", "Write", "2", "b");
    desk.world.write("b", "b\n");
    desk.tool("PostToolUse", "Write", "2", "b");
    for (file, text) in [("a", "a\n"), ("b", "b\n"), ("user", "one\ntwo\nthree\n")] {
        assert_eq!(desk.world.read(file), text, "{file}");
    }
    assert_eq!(desk.log("conflicts()", "change_id"), "");
}
