//! A restore that is refused, or that finds nothing to do, leaves nothing: no checkpoint, no operation, and each name stays.

use crate::support::{World, processes::described};

/// A repository whose last checkpoint lacks what was typed since.
fn unsaved() -> World {
    let world = World::with_commit();
    world.sh("seq 3 >g; git checkpoint save -qm good; echo unsaved >>f");
    world
}

/// Returns all that a restore may change or leave.
fn state(world: &World) -> String {
    world.sh(
        "git for-each-ref; git checkpoint list --json; git checkpoint op log; git checkpoint status --porcelain 2>&1 || true
        git ls-files --stage; ls -A; cat f; find .git/checkpoint -name restore.json",
    )
}

/// Checks that `restore` with `arguments` ends with `code`, says `words` and changes nothing.
fn refused(world: &World, arguments: &[&str], code: i32, words: &str) {
    let before = state(world);
    let output = world.checkpoint(&[&["restore"], arguments].concat());
    let said = described(&output);
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert!(said.contains(words), "{said}");
    assert_eq!(state(world), before, "{arguments:?}: {said}");
}

#[test]
fn a_path_that_was_skipped() {
    let world = unsaved();
    world.sh("git checkpoint config set save.max-file-size 1KiB; head -c 3000 /dev/zero >b");
    refused(&world, &["base", "--", "b"], 128, "'b' cannot be restored: it was skipped");
    world.sh("rm b; echo small >b; git checkpoint save -q; head -c 3000 /dev/zero >b; echo more >>f");
    refused(&world, &["@{0}", "--", "b"], 1, "kept     b (skipped: too large, save.max-file-size)");
    refused(&world, &["@{0}", "--", "b"], 1, "nothing restored: 1 path kept");
    refused(&world, &["base", "--", "b"], 128, "'git checkpoint config set save.max-file-size 1MiB'");
}

#[test]
fn lost_content() {
    let world = unsaved();
    world.sh("id=$(git rev-parse :f); git checkpoint save -q; echo x >h; git checkpoint save -q; rm h; echo more >>f
        blob=$(echo x | git hash-object --stdin); rm -f .git/objects/$(echo $blob | sed 's,^..,&/,')");
    refused(&world, &["@{0}"], 128, "of 'h' in");
}

#[test]
fn damaged_content() {
    let world = unsaved();
    world.sh("echo x >h; git checkpoint save -q; rm h; echo more >>f
        blob=.git/objects/$(echo x | git hash-object --stdin | sed 's,^..,&/,'); chmod u+w $blob; printf junk >$blob");
    refused(&world, &["@{0}"], 128, "of 'h' in");
}

/// An open tool call names a file that has changed: that would be saved first.
#[rstest::rstest]
#[case::restore(&["restore", "--all", "@{0}"])]
#[case::op_restore(&["op", "restore", "@{0}"])]
fn damaged_content_while_a_tool_is_open(#[case] line: &[&str]) {
    let world = unsaved();
    world.sh("echo x >h; git checkpoint save -q; git checkpoint session prompt -q S -m p; rm h; echo more >>g");
    world.sh(r#"printf '{"event":"pre-tool","session":"S","cwd":"%s","tool":{"name":"write","id":"1","paths":["f"]}}' "$PWD" |
        git checkpoint hook --agent generic >/dev/null; echo of the tool >>f"#);
    world.sh(
        "blob=.git/objects/$(echo x | git hash-object --stdin | sed 's,^..,&/,'); chmod u+w $blob; printf junk >$blob",
    );
    let before = state(&world);
    let output = world.checkpoint(line);
    assert_ne!(output.status.code(), Some(0), "{}", described(&output));
    assert_eq!(state(&world), before, "{}", described(&output));
}

#[test]
fn lost_staged_content() {
    let world = unsaved();
    world.sh("echo staged >>f; git add f; blob=$(git rev-parse :f); echo more >>f; git checkpoint save -q; git add f
        echo most >>f; rm -f .git/objects/$(echo $blob | sed 's,^..,&/,')");
    let id = world.sh("git checkpoint list | head -1 | cut -d' ' -f4");
    refused(&world, &["--staged", id.trim()], 128, "cannot be read");
}

#[test]
fn a_file_that_no_checkpoint_has_in_the_way_of_another() {
    let world = World::with_commit();
    world.sh("echo file >d; git checkpoint save -qm file; rm d; mkdir d; echo 1 >d/saved; echo '*.o' >.gitignore
        git checkpoint save -q; echo 1 >d/x.o; echo unsaved >>f; echo 2 >>d/saved");
    refused(&world, &["@{1}", "--", "d"], 1, "conflict d");
}

#[test]
fn what_others_have_changed() {
    let world = World::with_commit();
    world.done(&["session", "prompt", "S", "--agent", "x", "-m", "one"]);
    world.sh("echo S >>f");
    world.done(&["session", "stop", "S"]);
    world.sh("echo mine >>f");
    refused(&world, &["--before", "S@1"], 1, "kept     f (changed by a human since)");
}

/// While a tool is open that names a file, a save first takes a checkpoint of that file.
#[test]
fn while_a_tool_names_a_changed_file() {
    let world = World::with_commit();
    let tell = |event: &str, more: &str| {
        world.sh(&format!(
            r#"printf '{{"session_id":"S","cwd":"%s","hook_event_name":"{event}"{more}}}' "$PWD" |
                git checkpoint hook --agent claude-code"#
        ));
    };
    world.sh("git checkpoint config set save.max-file-size 1KiB; head -c 3000 /dev/zero >b");
    tell("UserPromptSubmit", r#","prompt":"do it""#);
    let repo = world.repo();
    let tool = format!(r#","tool_name":"Edit","tool_use_id":"t","tool_input":{{"file_path":"{}/f"}}"#, repo.display());
    tell("PreToolUse", &tool);
    refused(&world, &["base", "--", "b"], 128, "it was skipped");
    world.sh("echo S >>f; echo mine >g");
    refused(&world, &["base", "--", "b"], 128, "it was skipped");
    // What is not refused is saved first, each with its author.
    let restored = world.done(&["restore", "base"]);
    assert!(restored.contains("written  f"), "{restored}");
    world.done(&["undo"]);
    assert_eq!(world.sh("tail -n 1 f; cat g"), "S\nmine\n");
}

#[test]
fn a_hunk_of_a_file_that_was_edited_meanwhile() {
    let world = World::with_commit();
    world.sh("seq 30 >f; git checkpoint save -qm good; sed -i -e 's/^3$/three/' -e 's/^27$/twenty-seven/' f
        printf '#!/bin/sh\\necho edited >>f\\n' >../editor; chmod +x ../editor");
    let before = world.sh("git for-each-ref; git checkpoint list; git checkpoint op log");
    let mut command = world.command("sh");
    command.args(["-c", "printf 'e\\ny\\n' | GIT_EDITOR=\"$PWD/../editor\" git checkpoint restore -p '@{0}'"]);
    let output = command.output().expect("a shell");
    assert!(described(&output).contains("'f' has changed since the hunks were chosen"), "{}", described(&output));
    assert_eq!(world.sh("git for-each-ref; git checkpoint list; git checkpoint op log"), before);
}

#[test]
fn a_part_of_a_file_that_is_restored_as_a_whole() {
    let world = World::with_commit();
    world.sh("git config core.autocrlf input; seq 30 | sed 's/$/\\r/' >f; git checkpoint save -qm good
        sed -i -e 's/^3\\r/three\\r/' -e 's/^27\\r/twenty-seven\\r/' f");
    let before = world.sh("git for-each-ref; git checkpoint list; git checkpoint op log");
    let output = world.command("sh").args(["-c", "printf 'n\\ny\\n' | git checkpoint restore -p '@{0}'"]).output();
    let said = described(&output.expect("a shell"));
    assert!(said.contains("'f' has bytes that git would not write"), "{said}");
    assert_eq!(world.sh("git for-each-ref; git checkpoint list; git checkpoint op log"), before);
}
