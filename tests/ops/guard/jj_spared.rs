//! The setting `jj = "manage"` while git has work of the user's that jj would throw away. A program in the place of jj notes what it is
//! asked to do, and answers as if `@` were a change of the user's.

use std::{fs, os::unix::fs::PermissionsExt};

use crate::support::{World, processes::described, program};

/// Questions that change nothing are not noted.
const STUB: &str = r#"#!/bin/sh
case " $* " in
*" --at-op=@ "*) ;;
*) echo "$*" >>"$ROOT/asked" ;;
esac
case " $* " in
*" log "*)
    head=$(git rev-parse HEAD)
    printf '{"at":true,"empty":false,"conflict":false,"change":{"commit_id":"%s","parents":["%s"],"change_id":"kkkkmmmmkkkkmmmmkkkkmmmmkkkkmmmm","description":"%s\\n","author":{"name":"x"}}}\n' $head $head "$(cat "$ROOT/at")"
    ;;
esac
"#;

/// The events of an agent, while `@` has the description `at`. Returns what jj was asked to do meanwhile.
fn hear(world: &World, at: &str, events: &[&str]) -> String {
    let (bin, root) = (world.root().join("jj-bin"), world.root().display().to_string());
    fs::create_dir_all(&bin).expect("it can be made");
    fs::write(bin.join("jj"), STUB.replace("$ROOT", &root)).expect("it can be written");
    fs::write(world.root().join("at"), at).expect("it can be written");
    fs::write(world.root().join("asked"), "").expect("it can be written");
    fs::set_permissions(bin.join("jj"), fs::Permissions::from_mode(0o755)).expect("it is ours");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    let repo = world.repo().display().to_string();
    for event in events {
        let more = match *event {
            // The same prompt again would be the same event.
            "UserPromptSubmit" => format!(r#""prompt":"{at}""#),
            "Stop" => r#""stop_hook_active":false"#.to_owned(),
            _ => format!(r#""tool_name":"Write","tool_use_id":"c1","tool_input":{{"file_path":"{repo}/f"}}"#),
        };
        let payload = format!(
            r#"{{"session_id":"s1","cwd":"{repo}","hook_event_name":"{event}","transcript_path":"/none",{more}}}"#
        );
        let script = format!("printf '%s' '{payload}' | '{}' hook --agent claude-code", program());
        let output = world.command("sh").env("PATH", &path).args(["-ec", &script]).output().expect("there is a shell");
        assert!(output.status.success(), "{event}: {}", described(&output));
    }
    fs::read_to_string(world.root().join("asked")).expect("it is there")
}

fn before_a_tool(world: &World) -> String {
    hear(world, "user work", &["UserPromptSubmit", "PreToolUse"])
}

/// A world that is colocated as far as we look.
fn colocated() -> World {
    let world = World::new();
    world.commit_base();
    world.sh("mkdir -p .jj/repo/store .jj/working_copy; echo git >.jj/repo/store/type; echo ../../../.git >.jj/repo/store/git_target");
    world.sh("echo /.jj >>.git/info/exclude; git checkpoint config set jj manage; git checkpoint enable -q --agent claude-code");
    world
}

#[test]
fn a_change_begins_before_a_tool() {
    let world = colocated();
    let asked = before_a_tool(&world);
    assert!(asked.contains("new -m [Claude Workspace]"), "{asked}");
}

#[rstest::rstest]
#[case::rebase(
    "git commit -q --allow-empty -m more; GIT_SEQUENCE_EDITOR='sed -i s/pick/edit/' git rebase -q -i --keep-empty HEAD~1 || true; test -d .git/rebase-merge"
)]
#[case::merge(
    "git switch -qc side; git commit -q --allow-empty -m x; git switch -q -; git merge -q --no-ff --no-commit side; \
     test -e .git/MERGE_HEAD"
)]
#[case::bisect("git bisect start; test -e .git/BISECT_LOG")]
#[case::several_picks("mkdir .git/sequencer; echo 'pick 123 x' >.git/sequencer/todo")]
#[case::staged("echo staged >new; git add new; echo later >new")]
fn no_change_begins_while_jj_would_throw_work_away(#[case] script: &str) {
    let world = colocated();
    world.sh(script);
    let asked = before_a_tool(&world);
    assert_eq!(asked, "");
}

/// An interrupt ends the tool and the turn, and the agent says nothing of it.
#[test]
fn a_change_that_an_interrupt_has_left_ends_with_the_next_prompt() {
    let world = colocated();
    before_a_tool(&world);
    // Another session's is left alone.
    let asked = hear(&world, "[Claude Workspace] Temporary workspace for session s2", &["UserPromptSubmit"]);
    assert_eq!(asked, "");
    let asked = hear(&world, "[Claude Workspace] Temporary workspace for session s1", &["UserPromptSubmit"]);
    assert!(asked.contains("@ | @-"), "{asked}");
}

/// What git has begun while the tool ran is not thrown away at its end.
#[test]
fn a_change_does_not_end_while_git_is_at_work() {
    let world = colocated();
    before_a_tool(&world);
    world.sh("git bisect start");
    let asked =
        hear(&world, "[Claude Workspace] Temporary workspace for session s1", &["PostToolUse", "UserPromptSubmit"]);
    assert_eq!(asked, "");
    world.sh("git bisect reset");
    let asked = hear(&world, "[Claude Workspace] Temporary workspace for session s1", &["Stop"]);
    assert!(asked.contains("@ | @-"), "{asked}");
}
