//! Lines that an agent's command moves with git keep their authors.

use super::desk::{Desk, parts};
use crate::support::template::Template;

pub(super) const TOOL: &str =
    r#","tool_name":"Bash","tool_input":{"command":"x"},"tool_response":{},"tool_use_id":"t1""#;

/// Reports an event of session `session`.
pub(super) fn tell(desk: &Desk, session: &str, event: &str, rest: &str) {
    let place = desk.folder();
    let payload =
        format!(r#"{{"session_id":"{session}","cwd":"{}","hook_event_name":"{event}"{rest}}}"#, place.display());
    desk.hear(&payload);
}

/// Reports that a tool of `session` writes the file `path`, and adds `line` to the file meanwhile.
pub(super) fn write(desk: &Desk, session: &str, path: &str, id: &str, line: &str) {
    let tool = write_tool(desk, path, id);
    tell(desk, session, "PreToolUse", &tool);
    desk.sh(&format!("echo '{line}' >>{path}"));
    tell(desk, session, "PostToolUse", &tool);
}

/// Returns what an event says of a tool that writes the file `path`.
pub(super) fn write_tool(desk: &Desk, path: &str, id: &str) -> String {
    let file = desk.folder().join(path).display().to_string();
    format!(
        r#","tool_name":"Write","tool_input":{{"file_path":"{file}","content":""}},"tool_response":{{}},"tool_use_id":"{id}""#
    )
}

/// A turn of `session` with one command.
pub(super) fn command(desk: &Desk, session: &str, command: &str) {
    tell(desk, session, "UserPromptSubmit", r#","prompt":"do it""#);
    tell(desk, session, "PreToolUse", TOOL);
    desk.sh(command);
    tell(desk, session, "PostToolUse", TOOL);
    tell(desk, session, "Stop", "");
}

/// Returns the lines of `path` that are not as they are in the first commit, each with the author that blame names: a session,
/// or else a word.
pub(super) fn blamed(desk: &Desk, path: &str) -> Vec<String> {
    let json = desk.json(&["blame", path]);
    let text = desk.read(path);
    let mut lines = Vec::new();
    for part in json["lines"].as_array().expect("lines") {
        let who = part["session"].as_str().or(part["owner"].as_str()).expect("an author");
        let number = |name: &str| usize::try_from(part[name].as_u64().expect("a number")).expect("small");
        let here = text.lines().skip(number("start") - 1).take(number("end") + 1 - number("start"));
        lines.extend(here.filter(|line| !line.starts_with("line ")).map(|line| format!("{line}: {who}")));
    }
    lines
}

/// The first word of each line names its author.
pub(super) fn expected(desk: &Desk, path: &str) -> Vec<String> {
    let text = desk.read(path);
    let lines = text.lines().filter(|line| !line.starts_with("line "));
    lines.map(|line| format!("{line}: {}", line.split(' ').next().unwrap_or_default())).collect()
}

/// `f` with the line `number` replaced, and those of `others` as they are.
pub(super) fn lines(others: &[(u32, &str)]) -> String {
    (1..=20)
        .map(|number| match others.iter().find(|(at, _)| *at == number) {
            Some((_, text)) => format!("{text}\n"),
            None => format!("line {number}\n"),
        })
        .collect()
}

/// On `topic`, a person and the session `b` have changed `f`, and a person has added `k`. On `main`, a person has changed
/// another line of `f`.
pub(super) static TOPIC: Template = Template::new(|world| {
    let desk = Desk::begin(world);
    desk.write("f", lines(&[]));
    desk.git(&["commit", "-qam", "lines", "--allow-empty"]);
    desk.git(&["checkout", "-q", "-b", "topic"]);
    desk.write("f", lines(&[(3, "human three")]));
    desk.write("k", "human one\nhuman two\n");
    desk.commit_all();
    command(&desk, "b", "sed -i 's/^line 6$/b six/' f; echo 'b three' >>k; git commit -qam 'of b'");
    desk.git(&["checkout", "-q", "main"]);
    desk.write("f", lines(&[(15, "human fifteen")]));
    desk.commit_all();
});

pub(super) fn with_topic() -> Desk {
    Desk::after(&TOPIC)
}

#[rstest::rstest]
#[case::checkout("git checkout -q topic -- f k", false)]
#[case::checkout_at_once("git checkout -q topic -- f k", true)]
#[case::restore("git restore -s topic f k", true)]
#[case::restore_and_add("git restore -s topic f k; git add -A", false)]
#[case::show("git show topic:f >f; git show topic:k >k", false)]
#[case::show_at_once("git show topic:f >f; git show topic:k >k", true)]
#[case::pick("git cherry-pick -n main..topic", true)]
#[case::pick_and_edit("git cherry-pick -n main..topic; sed -i 's/^line 10$/a ten/' f; echo 'a more' >>k", false)]
#[case::pick_of_the_last("git cherry-pick -n topic || git checkout -q topic -- k; sed -i '/^[<=>|]\\{7\\}/d' f", true)]
#[case::squash("git merge -q --squash topic", false)]
#[case::squash_and_edit_at_once("git merge -q --squash topic; sed -i 's/^line 10$/a ten/' f; echo 'a more' >>k", true)]
#[case::merge("git merge -q --no-commit topic; sed -i 's/^line 10$/a ten/' f", false)]
#[case::merge_at_once("git merge -q --no-commit topic; sed -i 's/^line 10$/a ten/' f", true)]
#[case::old_version("git checkout -q HEAD~1 -- f; git checkout -q topic~1 -- k", false)]
#[case::old_version_at_once("git checkout -q HEAD~1 -- f; git checkout -q topic~1 -- k", true)]
#[case::tag("git tag -a -m tagged v1 topic; git update-ref -d refs/heads/topic; git checkout -q v1 -- f k", true)]
fn lines_that_a_command_brings_keep_their_authors(#[case] script: &str, #[case] is_one_call: bool) {
    let desk = with_topic();
    if is_one_call {
        command(&desk, "a", &format!("{script}; git add -A; git commit -qm 'all in one'"));
        assert_eq!(desk.git(&["status", "--porcelain"]), "");
    } else {
        command(&desk, "a", script);
        assert_eq!(blamed(&desk, "f"), expected(&desk, "f"));
        if !script.contains("old") {
            desk.sh("git add -A");
        }
        desk.git(&["commit", "-qm", "by hand", "--allow-empty"]);
    }
    for path in ["f", "k"] {
        assert_eq!(blamed(&desk, path), expected(&desk, path));
    }
    if !script.contains("'a ") && !script.contains("/a ") {
        let records = desk.records("HEAD");
        assert!(records.iter().flat_map(|record| &record.sessions).all(|part| part.id != "a"), "{records:?}");
    }
    desk.finish();
}

/// A session that reports no tools.
#[rstest::rstest]
#[case::checkout("git checkout -q topic -- f k")]
#[case::restore("git restore -s topic f k")]
#[case::show("git show topic:f >f; git show topic:k >k")]
#[case::pick("git cherry-pick -n main..topic")]
#[case::squash("git merge -q --squash topic")]
#[case::old_version("git checkout -q HEAD~1 -- f; git checkout -q topic~1 -- k")]
#[case::checkout_and_own_file("git checkout -q topic -- f k; echo 'a own' >own")]
fn lines_that_a_turn_without_tools_brings_keep_their_authors(
    #[case] script: &str,
    #[values(false, true)] is_saved: bool,
) {
    let desk = with_topic();
    desk.prompt("a");
    desk.sh(script);
    if is_saved {
        desk.json(&["save", "--session", "a"]);
    }
    desk.stop("a");
    for path in ["f", "k"] {
        assert_eq!(blamed(&desk, path), expected(&desk, path));
    }
    desk.commit_all();
    for path in ["f", "k"] {
        assert_eq!(blamed(&desk, path), expected(&desk, path));
    }
    if script.contains("own") {
        assert_eq!(blamed(&desk, "own"), ["a own: a"]);
    }
    desk.finish();
}

/// What is staged still is what git brought.
#[test]
fn lines_that_a_command_brings_and_edits_keep_their_authors() {
    let desk = with_topic();
    command(&desk, "a", "git checkout -q topic -- f k; echo 'a added' >>f; sed -i '1i a more' k");
    for path in ["f", "k"] {
        assert_eq!(blamed(&desk, path), expected(&desk, path));
    }
    desk.commit_all();
    for path in ["f", "k"] {
        assert_eq!(blamed(&desk, path), expected(&desk, path));
    }
    desk.finish();
}

/// Another commit has the message of the one that is picked, and a line that the session types.
#[test]
fn a_commit_with_the_same_message_is_not_the_one_that_is_picked() {
    let desk = with_topic();
    desk.sh("git checkout -q -b old; sed -i 's/^line 5$/a five/' f; echo more >>g; git commit -qam wip; git checkout -q main");
    desk.sh("git checkout -q -b new; echo 'human new' >n; git add n; git commit -qm wip; git checkout -q main");
    command(&desk, "a", "git cherry-pick -n new; sed -i 's/^line 5$/a five/; s/^line 7$/a seven/' f; git add f");
    assert_eq!(blamed(&desk, "f"), expected(&desk, "f"));
    assert_eq!(blamed(&desk, "n"), expected(&desk, "n"));
    desk.finish();
}

/// HEAD has the file under a new name.
#[test]
fn lines_that_are_picked_onto_a_renamed_file_keep_their_authors() {
    let desk = with_topic();
    desk.sh("git mv f renamed; git commit -qm renamed");
    command(&desk, "a", "git cherry-pick -n topic || true; sed -i 's/^line 10$/a ten/' renamed; rm -f k; git add -A");
    assert_eq!(blamed(&desk, "renamed"), ["b six: b", "a ten: a", "human fifteen: human"]);
    desk.commit_all();
    assert_eq!(blamed(&desk, "renamed"), ["b six: b", "a ten: a", "human fifteen: human"]);
    desk.finish();
}

#[test]
fn a_rebase_that_stops_at_a_conflict_makes_nothing_the_sessions() {
    let desk = with_topic();
    desk.sh("sed -i 's/^line 6$/human main six/' f; git commit -qam six; git checkout -q topic");
    command(&desk, "a", "git rebase -q main || true");
    assert_eq!(desk.chain().len(), 1, "it has stopped");
    desk.sh("sed -i '/^[<=>|]\\{7\\}/d' f; git add -A; GIT_EDITOR=true git rebase --continue");
    for path in ["f", "k"] {
        assert_eq!(blamed(&desk, path), expected(&desk, path));
    }
    desk.finish();
}

#[test]
fn lines_that_a_revert_brings_back_keep_their_authors() {
    let desk = with_topic();
    desk.sh("git checkout -q topic; sed -i '/six$/d; /three$/d' f k; git commit -qam without; sed -i '1i human zero' k; git commit -qam zero");
    command(&desk, "a", "git revert -n HEAD~1");
    desk.commit_all();
    for path in ["f", "k"] {
        assert_eq!(blamed(&desk, path), expected(&desk, path));
    }
    desk.finish();
}

/// What the agent types is its own, even if a branch has the same line by chance, and even if it is staged.
#[test]
fn a_line_that_a_branch_has_by_chance_is_the_sessions() {
    let desk = Desk::new();
    desk.write("f", lines(&[]));
    desk.git(&["commit", "-qam", "lines", "--allow-empty"]);
    desk.git(&["checkout", "-q", "-b", "topic"]);
    desk.write("f", lines(&[(3, "return the same thing"), (9, "human nine")]));
    desk.commit_all();
    desk.git(&["checkout", "-q", "main"]);
    command(&desk, "a", "sed -i 's/^line 3$/return the same thing/; s/^line 12$/a twelve/' f; git add -A");
    assert_eq!(blamed(&desk, "f"), ["return the same thing: a", "a twelve: a"]);
    desk.finish();
}

/// Where no hook of ours runs, the author of the agent's own commit in another worktree is unknown, not a person.
#[test]
fn lines_of_an_unrecorded_commit_of_the_turn_have_an_unknown_author() {
    let desk = Desk::new();
    tell(&desk, "a", "UserPromptSubmit", r#","prompt":"do it""#);
    // An amended commit keeps the date of its author.
    let commit = "git worktree add -q ../other -b other; echo 'new line' >../other/n; git -C ../other add n; \
         GIT_COMMITTER_DATE=\"$(date +%s) +0000\" git -C ../other -c core.hooksPath=/dev/null commit -q --amend --no-edit";
    for script in [commit, "git checkout -q other -- n"] {
        tell(&desk, "a", "PreToolUse", TOOL);
        desk.sh(script);
        tell(&desk, "a", "PostToolUse", TOOL);
    }
    tell(&desk, "a", "Stop", "");
    assert_eq!(blamed(&desk, "n"), ["new line: unknown"]);
    desk.commit_all();
    assert_eq!(blamed(&desk, "n"), ["new line: unknown"]);
    desk.finish();
}

/// What has no lines to blame: a binary file, a link, lines without letters, deleted lines and files.
#[rstest::rstest]
#[case::binary("printf '\\0\\1' >image", "git checkout -q topic -- image")]
#[case::link("ln -s f link", "git checkout -q topic -- link")]
#[case::no_letters("printf '{\\n}\\n' >n", "git restore -s topic n")]
#[case::deleted_lines("sed -i 3,6d f", "git checkout -q topic -- f")]
#[case::deleted_file("git rm -q g; sed -i 3,6d f", "git merge -q --squash topic")]
fn changes_without_lines_that_git_brings_are_not_the_sessions(#[case] change: &str, #[case] script: &str) {
    let desk = Desk::new();
    desk.write("f", lines(&[]));
    desk.git(&["commit", "-qam", "lines", "--allow-empty"]);
    desk.sh(&format!("git checkout -q -b topic; {change}; git add -A; git commit -qm change; git checkout -q main"));
    command(&desk, "a", script);
    desk.commit_all();
    assert_ne!(desk.git(&["diff", "--stat", "HEAD^", "HEAD"]), "");
    let summary = &desk.json(&["attribution", "HEAD"])["summary"];
    for figure in ["agent_lines", "agent_removed", "agent_binaries"] {
        assert_eq!(summary[figure], 0, "{figure}: {summary}");
    }
    assert!(desk.records("HEAD").iter().all(|record| record.sessions.is_empty()));
    desk.finish();
}

/// The command fetches what it checks out, and what it brought is saved before its end.
#[rstest::rstest]
#[case::fetched("git fetch -q ../other; git checkout -q FETCH_HEAD -- n")]
#[case::saved_before_the_end("git fetch -q ../other; git checkout -q FETCH_HEAD -- n; git checkpoint save -m mid")]
fn lines_that_a_command_fetches_and_checks_out_keep_their_authors(#[case] script: &str) {
    let desk = Desk::new();
    desk.sh("git clone -q . ../other; cd ../other; echo 'human one' >n; git add n; git commit -qm n");
    command(&desk, "a", script);
    desk.commit_all();
    assert!(desk.records("HEAD").iter().all(|record| record.sessions.is_empty()));
    desk.finish();
}

/// Another command of the session runs in the background, from before what a person has committed: it may have made that.
#[test]
fn a_command_in_the_background_does_not_hide_what_another_brings() {
    let desk = with_topic();
    tell(&desk, "a", "UserPromptSubmit", r#","prompt":"do it""#);
    let background = TOOL.replace("t1", "t0").replace(r#""command":"x""#, r#""command":"x","run_in_background":true"#);
    tell(&desk, "a", "PreToolUse", &background);
    tell(&desk, "a", "PostToolUse", &background);
    desk.sh("git checkout -q topic; echo 'human late' >>k; git commit -qam late; git checkout -q main");
    tell(&desk, "a", "PreToolUse", TOOL);
    desk.sh("git checkout -q topic -- k");
    tell(&desk, "a", "PostToolUse", TOOL);
    tell(&desk, "a", "Stop", "");
    let expected: Vec<String> =
        expected(&desk, "k").into_iter().map(|line| line.replace("human late: human", "human late: unknown")).collect();
    assert_eq!(blamed(&desk, "k"), expected);
    desk.finish();
}

/// Without the attribution of moved lines, their author is unknown.
#[rstest::rstest]
#[case::at_once(false)]
#[case::in_a_copy(true)]
fn lines_whose_authors_are_lost_are_unknown(#[case] is_copied: bool) {
    let desk = with_topic();
    command(&desk, "a", "git checkout -q topic -- k");
    let id = desk.git(&["rev-parse", &format!("{}^2:moved", desk.shadow().expect("it is live"))]);
    let (directory, name) = id.trim().split_at(2);
    desk.sh(&format!("rm -f .git/objects/{directory}/{name}"));
    if is_copied {
        desk.sh("git checkpoint doctor --fix || true");
    }
    assert!(blamed(&desk, "k").iter().all(|line| line.ends_with(": unknown")), "{:?}", blamed(&desk, "k"));
}

/// The search for what git has brought fails.
#[test]
fn lines_are_unknown_if_the_search_for_what_git_brings_fails() {
    let desk = with_topic();
    command(&desk, "a", "mkdir .git/SQUASH_MSG; git checkout -q topic -- k");
    assert!(blamed(&desk, "k").iter().all(|line| line.ends_with(": unknown")), "{:?}", blamed(&desk, "k"));
    desk.sh("rmdir .git/SQUASH_MSG");
    desk.commit_all();
    assert!(blamed(&desk, "k").iter().all(|line| line.ends_with(": unknown")), "{:?}", blamed(&desk, "k"));
    desk.finish();
}

/// Side data may come from elsewhere: what is no id of a session is no author.
#[test]
fn an_author_with_a_session_that_is_none_is_unknown() {
    let desk = with_topic();
    command(&desk, "a", "git checkout -q topic -- k");
    let shadow = desk.shadow().expect("it is live");
    let text = desk.git(&["cat-file", "-p", &format!("{shadow}^2:moved")]);
    let forged = text.replace("session=b", &format!("session={}", "x".repeat(400)));
    assert_ne!(forged, text);
    desk.write("forged", forged);
    desk.sh(&format!(
        "moved=$(git hash-object -w forged); rm forged; tree=$(git ls-tree {shadow}^2 | sed \"/moved/s/[0-9a-f]\\{{40\\}}/$moved/\" | git mktree); \
         side=$(git commit-tree -m side $tree); git cat-file -p {shadow} | sed \"s/$(git rev-parse {shadow}^2)/$side/\" >c; \
         git update-ref {shadow} $(git hash-object -w -t commit c); rm c"
    ));
    desk.commit_all();
    assert_eq!(blamed(&desk, "k"), ["human one: human", "human two: human", "b three: unknown"]);
    desk.finish();
}

/// What a command brings and what it deletes besides.
#[test]
fn a_line_that_a_moved_line_replaces_is_not_deleted_by_the_session() {
    let desk = with_topic();
    command(&desk, "a", "git cherry-pick -n topic~1");
    desk.commit_all();
    assert_eq!(desk.recorded("HEAD"), parts(&[]));
    desk.finish();
}

/// A checkpoint with moved lines stays known when work is carried to another base, and when it is restored.
#[test]
fn moved_lines_are_known_on_another_base_and_after_a_restore() {
    let desk = with_topic();
    command(&desk, "a", "git checkout -q topic -- k; echo 'a four' >>k");
    desk.git(&["stash", "-q"]);
    desk.git(&["commit", "-q", "--allow-empty", "-m", "other"]);
    desk.git(&["stash", "pop", "-q"]);
    assert_eq!(blamed(&desk, "k"), expected(&desk, "k"));
    command(&desk, "b", "rm k");
    desk.git(&["checkpoint", "restore", "@{1}", "--all"]);
    assert_eq!(blamed(&desk, "k"), expected(&desk, "k"));
    desk.commit_all();
    assert_eq!(blamed(&desk, "k"), expected(&desk, "k"));
    desk.finish();
}

/// A person's and another session's uncommitted lines, which one command of an agent stashes and brings back on another base.
#[rstest::rstest]
#[case::base_moves("git stash -q -u; git commit -q --allow-empty -m moved; git stash pop -q")]
#[case::another_branch("git stash -q -u; git checkout -q topic; git stash pop -q")]
#[case::another_branch_and_edit("git stash -q -u; git checkout -q topic; git stash pop -q; echo 'a more' >>n")]
#[case::autostash("git rebase -q --autostash topic")]
#[case::merged("git stash -q -u; git checkout -q elsewhere; git stash pop -q")]
#[case::staged("git add -A; git stash -q; git checkout -q elsewhere; git stash pop -q --index")]
fn lines_that_one_command_stashes_and_pops_on_another_base_keep_their_authors(#[case] script: &str) {
    let desk = Desk::new();
    desk.write("f", lines(&[]));
    desk.git(&["commit", "-qam", "lines", "--allow-empty"]);
    desk.git(&["branch", "topic"]);
    desk.sh("git checkout -q -b elsewhere; sed -i '1s/.*/line first/' f; git commit -qam first; git checkout -q main");
    desk.sh("git checkout -q topic; echo 1 >k; git add k; git commit -qm k; git checkout -q main");
    desk.write("f", lines(&[(12, "human twelve")]));
    desk.write("n", "human one\n");
    command(&desk, "b", "sed -i 's/^line 16$/b sixteen/' f; echo 'b two' >>n");
    command(&desk, "a", script);
    for path in ["f", "n"] {
        assert_eq!(blamed(&desk, path), expected(&desk, path));
    }
    desk.commit_all();
    for path in ["f", "n"] {
        assert_eq!(blamed(&desk, path), expected(&desk, path));
    }
    desk.finish();
}

/// An entry from before the turn, onto a commit that changes the file, so that git merges it.
#[rstest::rstest]
#[case::clean("git stash pop -q")]
#[case::edited("git stash pop -q; sed -i 's/^line 9$/a nine/' f")]
#[case::conflict("git stash pop -q || sed -i '/^[<=>|]\\{7\\}/d; /^line 13$/d' f")]
fn a_stash_that_git_merges_into_another_commit_keeps_its_authors(#[case] script: &str) {
    let desk = Desk::new();
    desk.write("f", lines(&[]));
    desk.git(&["commit", "-qam", "lines", "--allow-empty"]);
    desk.write("f", lines(&[(12, "human twelve")]));
    command(&desk, "b", "sed -i 's/^line 16$/b sixteen/' f");
    desk.git(&["stash", "-q"]);
    let other = if script.contains("||") { 13 } else { 2 };
    desk.write("f", lines(&[(other, "line other")]));
    desk.commit_all();
    command(&desk, "a", script);
    assert_eq!(blamed(&desk, "f"), expected(&desk, "f"));
    desk.sh("git add -A; git commit -qm by-hand");
    assert_eq!(blamed(&desk, "f"), expected(&desk, "f"));
    desk.finish();
}

/// A rebase of people's and a session's commits onto a commit that changes the same line, resolved by the agent.
#[rstest::rstest]
#[case::one_command(&["git rebase -q main || { RESOLVE; git add -A; GIT_EDITOR=true git rebase --continue; }"])]
#[case::separate_commands(&["git rebase -q main || true", "RESOLVE; git add -A", "GIT_EDITOR=true git rebase --continue"])]
#[case::pick(&["git checkout -q main; git cherry-pick topic~1 topic || true", "RESOLVE; git add -A; GIT_EDITOR=true git cherry-pick --continue"])]
#[case::pick_in_steps(&["git checkout -q main; git cherry-pick topic~1 topic || true", "RESOLVE", "git add -A", "GIT_EDITOR=true git cherry-pick --continue"])]
fn a_conflict_that_an_agent_resolves_makes_no_other_lines_the_agents(#[case] commands: &[&str]) {
    let desk = with_topic();
    desk.sh("sed -i 's/^line 3$/human main three/' f; git commit -qam three; git checkout -q topic");
    tell(&desk, "a", "UserPromptSubmit", r#","prompt":"do it""#);
    for script in commands {
        tell(&desk, "a", "PreToolUse", TOOL);
        desk.sh(&script.replace("RESOLVE", "sed -i '/^[<=>|]\\{7\\}/d; s/^human main three$/a resolved/' f"));
        tell(&desk, "a", "PostToolUse", TOOL);
    }
    tell(&desk, "a", "Stop", "");
    assert_eq!(desk.git(&["status", "--porcelain"]), "");
    let others = |lines: Vec<String>| lines.into_iter().filter(|line| !line.starts_with("a ")).collect::<Vec<_>>();
    for path in ["f", "k"] {
        assert_eq!(others(blamed(&desk, path)), others(expected(&desk, path)));
    }
    // What it resolves of a rebase in a command of its own is its session's.
    if commands.len() == 3 {
        assert_eq!(blamed(&desk, "f"), expected(&desk, "f"));
    }
    desk.finish();
}

/// A person's stash, a commit and a pop in the middle of a turn whose tools name their files; one file of the session stays.
#[rstest::rstest]
#[case::commit("git stash -q; git commit -q --allow-empty -m moved; git stash pop -q")]
#[case::autostash("git rebase -q --autostash topic")]
fn a_sessions_work_that_a_person_stashes_in_mid_turn_stays_its_own(#[case] script: &str) {
    let desk = Desk::new();
    desk.sh("git checkout -q -b topic; git commit -q --allow-empty -m topic; git checkout -q main");
    tell(&desk, "a", "UserPromptSubmit", r#","prompt":"do it""#);
    for path in ["f", "new"] {
        let tool = format!(
            r#","tool_name":"Write","tool_input":{{"file_path":"{path}"}},"tool_response":{{}},"tool_use_id":"{path}""#
        );
        tell(&desk, "a", "PreToolUse", &tool);
        desk.sh(&format!("echo 'a last' >>{path}"));
        tell(&desk, "a", "PostToolUse", &tool);
    }
    desk.sh(script);
    assert_eq!(blamed(&desk, "f").last().map(String::as_str), Some("a last: a"));
    tell(&desk, "a", "Stop", "");
    assert_eq!(blamed(&desk, "f").last().map(String::as_str), Some("a last: a"));
    desk.commit_all();
    assert_eq!(blamed(&desk, "f").last().map(String::as_str), Some("a last: a"));
    desk.finish();
}

/// A stash with lines of a person and of a session comes back in the turn of another session whose agent reports no tools. With
/// `is_seen`, a third session has a turn before that.
#[rstest::rstest]
#[case::pop("pop", false, false)]
#[case::pop_after_another_turn_without_hooks("pop", true, true)]
#[case::apply_after_another_turn("apply", true, false)]
#[case::apply_without_hooks("apply", false, true)]
#[case::pop_and_edit_without_hooks("pop; sed -i 's/^line 9$/c nine/' f", false, true)]
#[case::pop_and_edit_after_another_turn("pop; sed -i 's/^line 9$/c nine/' f", true, false)]
fn a_stash_that_comes_back_in_a_silent_turn_keeps_its_authors(
    #[case] how: &str,
    #[case] is_seen: bool,
    #[case] are_hooks_off: bool,
) {
    let desk = Desk::new();
    if are_hooks_off {
        desk.git(&["config", "core.hooksPath", "/dev/null"]);
    }
    desk.write("f", lines(&[(2, "human two")]));
    desk.turn("a", &[("f", &lines(&[(2, "human two"), (5, "a five")])), ("new", "a new\n")]);
    desk.sh("sed -i 's/^line 14$/human fourteen/' f; echo human more >>new; echo human k >k; git stash -q -u");
    if is_seen {
        desk.turn("b", &[("other", "b other\n")]);
    }
    desk.prompt("c");
    desk.write("own", "c own\n");
    desk.sh(&format!("git stash {how}"));
    desk.stop("c");
    for path in ["f", "new", "k", "own"] {
        let wrong: Vec<String> = blamed(&desk, path)
            .into_iter()
            .filter(|line| {
                let (text, who) = line.rsplit_once(": ").expect("an author");
                text.split(' ').next() != Some(who)
            })
            .collect();
        assert_eq!(wrong, Vec::<String>::new(), "{path}");
    }
    desk.commit_all();
    desk.json(&["save"]);
    for path in ["f", "new", "k", "own"] {
        assert_eq!(blamed(&desk, path), expected(&desk, path));
    }
    desk.finish();
}

#[test]
fn a_file_that_was_emptied_on_another_branch_is_emptied_here_by_who_did_it() {
    let desk = Desk::new();
    desk.git(&["checkout", "-q", "-b", "other"]);
    desk.turn("one", &[("g", "")]);
    desk.commit_all();
    desk.git(&["checkout", "-q", "main"]);
    desk.write("h", "more\n");
    desk.commit_all();
    desk.turn("two", &[("g", "")]);
    let found = desk.json(&["attribution", "--worktree"]);
    assert_eq!(found["summary"]["agent_removed"], 1, "{found:#}");
}
