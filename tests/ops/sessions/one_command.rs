//! What one command of an agent does with git beside the work of people and other sessions.

use super::{
    desk::Desk,
    moved::{TOOL, blamed, command, expected, lines, tell, with_topic, write, write_tool},
};
use crate::support::template::Template;

/// What a person has staged before the command, and replaced, is not its session's; nor is what git stages.
#[rstest::rstest]
#[case::before_the_turn("git commit -qm n; git checkout -q n")]
#[case::and_edited("echo 'a one' >>g; git add g; git commit -qm n; git checkout -q n")]
fn a_persons_staged_and_replaced_lines_are_not_the_sessions(
    #[case] script: &str,
    #[values(false, true)] is_saved: bool,
) {
    let desk = Desk::new();
    desk.sh("echo 'human one' >n; git add n; echo 'human two' >n");
    if is_saved {
        desk.json(&["save"]);
    }
    command(&desk, "a", script);
    assert!(!blamed(&desk, "n").contains(&"human one: a".to_owned()), "{:?}", blamed(&desk, "n"));
    desk.finish();
}

/// A person's uncommitted lines, which the command does not stage, stay theirs.
#[test]
fn lines_that_a_command_does_not_stage_keep_their_author() {
    let desk = Desk::new();
    desk.write("f", lines(&[]));
    desk.git(&["commit", "-qam", "lines", "--allow-empty"]);
    desk.write("f", lines(&[(12, "human twelve")]));
    command(
        &desk,
        "a",
        "cp f saved; git checkout -q f; sed -i 's/^line 3$/a three/' f; git add f; sed 's/^line 5$/a five/' saved >f; rm saved; git commit -qm three",
    );
    assert_eq!(blamed(&desk, "f"), ["a five: a", "human twelve: human"]);
    desk.commit_all();
    assert_eq!(blamed(&desk, "f"), ["a five: a", "human twelve: human"]);
    desk.finish();
}

/// A linked worktree that has commits of its own since we last looked there.
#[rstest::rstest]
#[case::edit("sed -i 's/^line 9$/a nine/' f; git commit -qam nine", false)]
#[case::edit_of_what_is_seen("sed -i 's/^line 9$/a nine/' f; git commit -qam nine", true)]
#[case::new("echo 'a one' >n; git add n; git commit -qm n; git mv n f -f; git commit -qm moved", false)]
#[case::two(
    "sed -i 's/^line 9$/a nine/' f; git commit -qam nine; sed -i 's/^line 12$/a twelve/' f; git commit -qam twelve",
    true
)]
#[case::merged("git merge -q main; sed -i 's/^line 9$/a nine/' f; git commit -qam nine", false)]
#[case::picked("git cherry-pick main; sed -i 's/^line 9$/a nine/' f; git commit -qam nine", true)]
#[case::reset("git reset -q --soft HEAD^; git commit -qm three", false)]
#[case::reset_of_what_is_seen("git reset -q --soft HEAD^; git commit -qm three", true)]
fn lines_that_a_command_commits_in_another_worktree_are_not_a_persons(#[case] script: &str, #[case] is_seen: bool) {
    let desk = with_topic();
    desk.git(&["worktree", "add", "-q", "../linked", "-b", "linked", "topic"]);
    desk.go("linked");
    if is_seen {
        desk.json(&["save"]);
    }
    desk.sh("sed -i 's/^line 17$/human seventeen/' f; git commit -qam three");
    desk.go("repo");
    command(&desk, "a", &format!("cd ../linked; {script}"));
    desk.go("linked");
    assert_eq!(desk.git(&["status", "--porcelain"]), "");
    let may_be = |line: &String| {
        let is_by_agent = line.starts_with("a ");
        if is_by_agent { !line.ends_with(": human") } else { expected(&desk, "f").contains(line) }
    };
    assert!(blamed(&desk, "f").iter().all(may_be), "{:?}", blamed(&desk, "f"));
    desk.finish();
}

/// An agent reports the end of a command from the directory to which the command has changed.
#[test]
fn unsaved_lines_in_the_worktree_where_a_command_ends_are_not_the_agents() {
    let desk = with_topic();
    desk.git(&["worktree", "add", "-q", "../linked", "-b", "linked", "topic"]);
    desk.go("linked");
    desk.sh("echo 'a person typed this' >h");
    desk.go("repo");
    tell(&desk, "a", "UserPromptSubmit", r#","prompt":"do it""#);
    tell(&desk, "a", "PreToolUse", TOOL);
    desk.sh("echo 'the command wrote this' >x; echo 'the command wrote that' >../linked/y");
    desk.go("linked");
    tell(&desk, "a", "PostToolUse", TOOL);
    desk.go("repo");
    tell(&desk, "a", "Stop", "");
    assert_eq!(blamed(&desk, "x"), ["the command wrote this: a"]);
    desk.go("linked");
    assert_eq!(blamed(&desk, "h"), ["a person typed this: unknown"]);
    desk.git(&["add", "-A"]);
    desk.git(&["commit", "-q", "-m", "all"]);
    assert_eq!(blamed(&desk, "h"), ["a person typed this: unknown"]);
    assert_eq!(blamed(&desk, "y"), ["the command wrote that: unknown"]);
    desk.finish();
}

/// The command begins in the worktree that it removes.
#[rstest::rstest]
#[case::by_git("git worktree remove --force ../linked")]
#[case::by_hand("rm -r ../linked")]
fn unsaved_lines_beside_the_end_of_a_command_that_removes_its_worktree_are_not_the_agents(#[case] removal: &str) {
    let desk = with_topic();
    desk.git(&["worktree", "add", "-q", "../linked", "-b", "linked", "topic"]);
    desk.go("linked");
    tell(&desk, "a", "UserPromptSubmit", r#","prompt":"do it""#);
    tell(&desk, "a", "PreToolUse", TOOL);
    desk.go("repo");
    desk.sh(&format!("{removal}; echo 'a person typed this' >h"));
    tell(&desk, "a", "PostToolUse", TOOL);
    assert_eq!(blamed(&desk, "h"), ["a person typed this: unknown"]);
    command(&desk, "a", "echo 'a wrote this' >x");
    desk.commit_all();
    assert_eq!(blamed(&desk, "h"), ["a person typed this: unknown"]);
    assert_eq!(blamed(&desk, "x"), ["a wrote this: a"]);
    desk.finish();
}

/// Two hooks report the end of the command, which changes the directory. It could be the end of another one that has the same id.
#[test]
fn lines_after_the_second_report_of_a_commands_end_in_another_worktree_are_of_unknown_authors() {
    let desk = with_topic();
    desk.git(&["worktree", "add", "-q", "../linked", "-b", "linked", "topic"]);
    tell(&desk, "a", "UserPromptSubmit", r#","prompt":"do it""#);
    tell(&desk, "a", "PreToolUse", TOOL);
    desk.sh("echo 'a wrote this' >x");
    desk.go("linked");
    tell(&desk, "a", "PostToolUse", TOOL);
    desk.sh("echo 'human wrote this' >h");
    tell(&desk, "a", "PostToolUse", TOOL);
    assert_eq!(blamed(&desk, "h"), ["human wrote this: unknown"]);
    desk.commit_all();
    assert_eq!(blamed(&desk, "h"), ["human wrote this: unknown"]);
    desk.go("repo");
    assert_eq!(blamed(&desk, "x"), ["a wrote this: a"]);
    desk.finish();
}

/// A conflict with a stash entry from long before the turn.
#[test]
fn an_old_stash_popped_with_a_conflict_keeps_its_authors() {
    let desk = Desk::new();
    desk.write("f", lines(&[]));
    desk.git(&["commit", "-qam", "lines", "--allow-empty"]);
    command(&desk, "b", "sed -i 's/^line 16$/b sixteen/' f");
    desk.git(&["stash", "-q"]);
    desk.write("f", lines(&[(17, "line other")]));
    desk.commit_all();
    tell(&desk, "a", "UserPromptSubmit", r#","prompt":"do it""#);
    desk.sh("git for-each-ref --format='%(refname)' refs/checkpoints/archive | while read -r ref; do \
         git update-ref refs/checkpoints/archive/1700000000-${ref##*-} $ref; git update-ref -d $ref; done");
    tell(&desk, "a", "PreToolUse", TOOL);
    desk.sh("git stash pop -q || sed -i '/^[<=>|]\\{7\\}/d; /^line 17$/d' f");
    tell(&desk, "a", "PostToolUse", TOOL);
    tell(&desk, "a", "Stop", "");
    assert_eq!(blamed(&desk, "f"), ["b sixteen: b"]);
    desk.finish();
}

/// A commit of the session `b`, one of a person, and one of the session `a`.
static THREE_COMMITS: Template = Template::new(|world| {
    let desk = Desk::begin(world);
    for path in ["f", "w"] {
        desk.write(path, lines(&[]));
    }
    // Commits without a record that are older than our hooks have an unknown author.
    desk.sh("touch -d 2020-01-01 .git/checkpoint/hooks.toml; git add -A; git commit -qm lines");
    command(&desk, "b", "sed -i 's/^line 16$/b sixteen/' f; git commit -qam b");
    desk.sh("sed -i 's/^line 12$/human twelve/' f; git commit -qam human");
    command(&desk, "a", "sed -i 's/^line 4$/a four/' f; git commit -qam a");
});

/// One command of a session takes commits back, edits, and commits all of it.
#[rstest::rstest]
#[case::the_last("git reset -q --soft HEAD~; sed -i 's/^line 9$/a nine/' f; git commit -qam again")]
#[case::all("git reset -q --soft HEAD~3; sed -i 's/^line 9$/a nine/' f; git commit -qam again")]
#[case::unstaged("git reset -q HEAD~2; sed -i 's/^line 9$/a nine/' f; git add -A; git commit -qm again")]
#[case::new_file("git reset -q --soft HEAD~2; echo 'a one' >n; git add n; git commit -qam again")]
#[case::two("git reset -q --soft HEAD~2; git commit -qm again; sed -i 's/^line 9$/a nine/' f; git commit -qam nine")]
#[case::beside("git reset -q --soft HEAD~2; echo 'a two' >>w; git commit -qm again; git commit -qam w")]
fn a_command_that_resets_edits_and_commits_leaves_other_lines_whose_they_are(#[case] script: &str) {
    let desk = Desk::after(&THREE_COMMITS);
    command(&desk, "a", script);
    for path in ["f", "n", "w"].into_iter().filter(|path| desk.world.repo().join(path).exists()) {
        assert_eq!(blamed(&desk, path), expected(&desk, path), "{path}");
    }
    desk.finish();
}

/// The uncommitted work of two sessions and a person, and another branch.
static UNCOMMITTED: Template = Template::new(|world| {
    let desk = Desk::begin(world);
    desk.write("f", lines(&[]));
    desk.git(&["commit", "-qam", "lines", "--allow-empty"]);
    desk.sh("git checkout -q -b topic; echo 1 >k; git add k; git commit -qm k; git checkout -q main");
    command(&desk, "b", "sed -i 's/^line 16$/b sixteen/' f; echo 'b one' >n");
    desk.sh("sed -i 's/^line 12$/human twelve/' f; echo 'human two' >>n");
    command(&desk, "c", "sed -i 's/^line 4$/c four/' f; echo 'c three' >>n");
    desk.sh("sed -i 's/^line 18$/human eighteen/' f; echo 'human four' >>n");
});

/// The uncommitted work of two sessions and a person, which one command of a third session stashes and brings back.
#[rstest::rstest]
#[case::away_and_back("git stash -q -u; git checkout -q topic; git checkout -q main; git stash pop -q")]
#[case::new_branch("git stash -q -u; git checkout -q topic; git checkout -q -b new main; git stash pop -q")]
#[case::detached("git stash -q -u; git checkout -q --detach topic; git checkout -q main; git stash pop -q")]
#[case::reset("git stash -q -u; git reset -q --hard topic; git reset -q --hard ORIG_HEAD; git stash pop -q")]
#[case::tracked_only("git stash -q; git checkout -q topic; git checkout -q main; git stash pop -q")]
#[case::staged("git add -A; git stash -q; git checkout -q topic; git checkout -q main; git stash pop -q --index")]
#[case::on_a_branch(
    "git stash -q -u; git checkout -q -b x; git commit -q --allow-empty -m x; git checkout -q main; git stash pop -q"
)]
#[case::several(
    "git stash -q -u; git checkout -q topic; git checkout -q main; git checkout -q topic; git checkout -q main; git stash pop -q"
)]
#[case::no_hooks(
    "git config core.hooksPath /dev/null; git stash -q -u; git checkout -q topic; git checkout -q main; git stash pop -q; git config --unset core.hooksPath"
)]
#[case::edited_there(
    "git stash -q -u; git checkout -q topic; echo x >k; git commit -qam x; git checkout -q main; git stash pop -q"
)]
#[case::edited(
    "git stash -q -u; git checkout -q topic; git checkout -q main; git stash pop -q; sed -i 's/^line 9$/a nine/' f"
)]
#[case::committed(
    "git stash -q -u; git checkout -q topic; git checkout -q main; git stash pop -q; git add -A; git commit -qm all"
)]
fn lines_that_one_command_stashes_and_pops_on_their_base_keep_their_authors(#[case] script: &str) {
    let desk = Desk::after(&UNCOMMITTED);
    command(&desk, "a", script);
    for path in ["f", "n"] {
        assert_eq!(blamed(&desk, path), expected(&desk, path));
    }
    desk.sh("git add -A; git commit -qm all --allow-empty");
    for path in ["f", "n"] {
        assert_eq!(blamed(&desk, path), expected(&desk, path));
    }
    desk.finish();
}

/// The base of the work loses the file, while a session has given it another name.
#[test]
fn a_renamed_file_whose_base_is_gone_is_not_the_sessions() {
    let desk = Desk::new();
    desk.sh("git branch topic; git rm -q f; git commit -qm gone; git checkout -q topic; echo 'human last' >>f");
    for script in ["git stash -q", "git stash pop -q", "git mv f moved"] {
        command(&desk, "a", script);
    }
    desk.sh("git rebase -q --autostash main || true");
    assert!(
        desk.json(&["blame", "moved"])["lines"].as_array().expect("lines").iter().all(|it| it["session"].is_null())
    );
    desk.sh("git add -A; git commit -qm moved");
    assert!(desk.records("HEAD").iter().all(|record| record.counts.agent == 0), "{:?}", desk.records("HEAD"));
    desk.finish();
}

/// The tool of the first session ends while the second one has announced that it writes `n`.
#[rstest::rstest]
fn what_a_person_changed_before_the_prompt_of_a_second_agent_stays_theirs(
    #[values("n", "f")] path: &str,
    #[values("worktree", "session")] storage: &str,
    #[values(false, true)] has_checkpoint: bool,
    #[values("true", "echo 'human has changed this' >>g")] edit: &str,
) {
    let desk = Desk::new();
    desk.git(&["config", "checkpoint.storage", storage]);
    let tool = |name: &str, id: &str| {
        let file = desk.folder().join(name).display().to_string();
        format!(
            r#","tool_name":"Write","tool_input":{{"file_path":"{file}","content":""}},"tool_response":{{}},"tool_use_id":"{id}""#
        )
    };
    let write = |session: &str, name: &str, id: &str, line: &str| {
        tell(&desk, session, "PreToolUse", &tool(name, id));
        desk.sh(&format!("echo '{line}' >>{name}"));
        tell(&desk, session, "PostToolUse", &tool(name, id));
    };
    tell(&desk, "b", "UserPromptSubmit", r#","prompt":"do it""#);
    if has_checkpoint {
        write("b", "h", "t0", "b first");
    }
    desk.sh(&format!("echo 'human wrote this' >>{path}; {edit}"));
    tell(&desk, "a", "UserPromptSubmit", r#","prompt":"do that""#);
    tell(&desk, "a", "PreToolUse", &tool(path, "t1"));
    write("b", "g", "t2", "b wrote this");
    desk.sh(&format!("echo 'a wrote this' >>{path}"));
    tell(&desk, "a", "PostToolUse", &tool(path, "t1"));
    tell(&desk, "a", "Stop", "");
    tell(&desk, "b", "Stop", "");
    assert_eq!(blamed(&desk, path), ["human wrote this: human", "a wrote this: a"]);
    desk.commit_all();
    assert_eq!(blamed(&desk, path), ["human wrote this: human", "a wrote this: a"]);
    assert_eq!(blamed(&desk, "g").last().map(String::as_str), Some("b wrote this: b"));
    desk.finish();
}

/// The next tool writes the old name anew, so that no event before it looks at the new one.
#[rstest::rstest]
#[case::one_session("b", "mv k m", &["b one: b", "b two: b", "b three: b"])]
#[case::of_another_session("a", "mv k m", &["b one: b", "b two: b", "b three: b"])]
#[case::and_edited("b", "mkdir d; mv k d/k; echo 'human one' >>d/k", &["b one: b", "b two: b", "b three: b", "human one: human"])]
#[case::after_a_commit("b", "git add k; git commit -qm k; mv k m", &["b one: b", "b two: b", "b three: b"])]
fn lines_of_a_file_that_a_person_moves_before_its_name_is_written_anew_keep_their_authors(
    #[case] writer: &str,
    #[case] moves: &str,
    #[case] authors: &[&str],
    #[values("worktree", "session")] storage: &str,
) {
    let desk = Desk::new();
    desk.git(&["config", "checkpoint.storage", storage]);
    tell(&desk, "b", "UserPromptSubmit", r#","prompt":"do it""#);
    write(&desk, "b", "k", "t1", "b one\nb two\nb three");
    if writer != "b" {
        tell(&desk, writer, "UserPromptSubmit", r#","prompt":"do that""#);
        write(&desk, writer, "g", "t2", "a one");
    }
    desk.sh(moves);
    write(&desk, writer, "k", "t3", "anew");
    tell(&desk, "b", "Stop", "");
    let new = if desk.folder().join("d").exists() { "d/k" } else { "m" };
    assert_eq!(blamed(&desk, new), authors);
    desk.commit_all();
    assert_eq!(blamed(&desk, new), authors);
    assert_eq!(blamed(&desk, "k"), [format!("anew: {writer}")]);
    desk.finish();
}

/// A person has deleted the one that the second tool writes anew.
#[test]
fn of_two_files_written_at_once_both_are_the_sessions() {
    let desk = Desk::new();
    tell(&desk, "b", "UserPromptSubmit", r#","prompt":"do it""#);
    write(&desk, "b", "k", "t1", "b one");
    desk.sh("rm k");
    let (of_g, of_k) = (write_tool(&desk, "g", "t2"), write_tool(&desk, "k", "t3"));
    tell(&desk, "b", "PreToolUse", &of_g);
    desk.sh("echo 'b two' >g");
    tell(&desk, "b", "PreToolUse", &of_k);
    tell(&desk, "b", "PostToolUse", &of_g);
    desk.sh("echo 'b three' >k");
    tell(&desk, "b", "PostToolUse", &of_k);
    tell(&desk, "b", "Stop", "");
    for after in ["the turn", "the commit"] {
        assert_eq!(blamed(&desk, "g").last().map(String::as_str), Some("b two: b"), "after {after}");
        assert_eq!(blamed(&desk, "k"), ["b three: b"], "after {after}");
        desk.sh("git add -A; git diff --cached --quiet || git commit -qm all");
    }
    desk.finish();
}
