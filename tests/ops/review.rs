//! `review`: a person decides hunk by hunk what of an agent's work stays.

use std::{
    io::Write as _,
    process::{Output, Stdio},
};

use crate::support::World;

/// Runs `git checkpoint review` with `arguments`, while the user types `answers`.
fn answer(world: &World, arguments: &[&str], answers: &str) -> Output {
    let mut command = world.command("git");
    command.args(["checkpoint", "review"]).args(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("git runs");
    let mut stdin = child.stdin.take().expect("piped");
    // Where nothing is asked, nothing is read.
    let _ = stdin.write_all(answers.as_bytes());
    drop(stdin);
    child.wait_with_output().expect("it ends")
}

/// The same, which must succeed; returns what was printed.
fn answered(world: &World, arguments: &[&str], answers: &str) -> String {
    let output = answer(world, arguments, answers);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout) + &text(&output.stderr)
}

/// A file of 60 lines in which an agent changes lines 5, 25 and 45 in two turns, and makes another file; then a person changes line 58.
fn world() -> World {
    let world = World::with_hooks();
    world.sh("seq 60 >f; git add f; git commit -qm base");
    for (turn, script) in [
        (1, "sed -i -e 's/^5$/five/' -e 's/^25$/twenty-five/' f"),
        (2, "sed -i 's/^45$/forty-five/' f; printf 'a\nb\n' >new"),
    ] {
        world.done(&["session", "prompt", "s1", "--agent", "claude-code", "-m", &format!("prompt {turn}")]);
        world.sh(script);
        world.done(&["save", "--session", "s1"]);
        world.done(&["session", "stop", "s1"]);
    }
    world.sh("sed -i 's/^58$/fifty-eight/' f");
    world
}

/// Returns the lines of `f` that are words, and `new`.
fn state(world: &World) -> String {
    world.sh("grep '[a-z]' f || true; cat new 2>/dev/null || true")
}

/// Returns the hunks of `review --json` with these arguments: what they add, and their states.
fn hunks(world: &World, arguments: &[&str]) -> Vec<String> {
    let printed = world.done(&[&["review", "--json"], arguments].concat());
    let shown: serde_json::Value = serde_json::from_str(&printed).expect("JSON");
    let files = shown["files"].as_array().expect("files").iter();
    let hunks = files.flat_map(|file| file["hunks"].as_array().expect("hunks").clone());
    let hunk = |hunk: serde_json::Value| {
        let lines = hunk["lines"].as_array().cloned().unwrap_or_default();
        let added =
            lines.iter().filter(|line| line["side"] == "added").map(|line| line["text"].as_str().expect("text"));
        format!("{} {}", added.collect::<Vec<_>>().join(","), hunk["state"].as_str().expect("a word"))
    };
    hunks.map(hunk).collect()
}

/// Returns the id of the hunk that adds the line `text`.
fn id_of(world: &World, text: &str) -> String {
    let shown: serde_json::Value = serde_json::from_str(&world.done(&["review", "--json"])).expect("JSON");
    let files = shown["files"].as_array().expect("files").iter();
    let mut hunks = files.flat_map(|file| file["hunks"].as_array().expect("hunks").clone());
    let found = hunks.find(|hunk| hunk["lines"].to_string().contains(&format!("\"{text}\""))).expect("it is there");
    found["id"].as_str().expect("text").to_owned()
}

/// Decides about the hunk that adds the line `text`.
fn decide(world: &World, text: &str, verdict: &str, why: &str) -> Output {
    let id = id_of(world, text);
    let given = format!(r#"{{"decisions":[{{"id":"{id}","verdict":"{verdict}","text":"{why}"}}]}}"#);
    answer(world, &["--decide", "-"], &given)
}

#[test]
fn each_hunk_is_asked_about_and_what_is_rejected_goes() {
    let world = world();
    let before = world.facts();
    let printed = answered(&world, &[], "y\nn\nno reason\nc\nname it\nl\ny\n");
    assert!(printed.contains("accepted 2 changes, rejected 1 change, commented on 1 change, left for later 1 change"));
    assert_eq!(state(&world), "five\nforty-five\nfifty-eight\na\nb\n");
    assert_eq!(world.facts(), before, "HEAD, the index and all refs of others stay");
    assert_eq!(hunks(&world, &[]), ["five accepted", "forty-five commented", "fifty-eight open", "a,b accepted"]);
    // Only what is open is asked about again.
    let printed = answered(&world, &[], "");
    assert!(printed.contains("(1/1)") && printed.contains("+fifty-eight"), "{printed}");
    world.sh("git checkpoint undo");
    assert_eq!(state(&world), "five\ntwenty-five\nforty-five\nfifty-eight\na\nb\n");
    world.sh("git checkpoint redo");
    assert_eq!(state(&world), "five\nforty-five\nfifty-eight\na\nb\n");
}

#[test]
fn a_rejected_hunk_that_is_back_is_open() {
    let world = world();
    assert!(decide(&world, "five", "reject", "why not").status.success());
    assert!(!state(&world).contains("five\ntwenty"));
    world.sh("git checkpoint undo");
    assert!(hunks(&world, &[]).contains(&"five rejected".to_owned()));
    let printed = answered(&world, &[], "");
    assert!(printed.contains("rejected before: why not"), "{printed}");
    // Another undo goes back to before the decision.
    world.sh("git checkpoint undo");
    assert!(hunks(&world, &[]).contains(&"five open".to_owned()));
}

#[test]
fn decisions_are_taken_back_by_undo() {
    let world = world();
    answered(&world, &[], "y\ny\nq\n");
    assert_eq!(hunks(&world, &[])[..2], ["five accepted", "twenty-five accepted"]);
    let printed = world.sh("git checkpoint undo 2>&1");
    assert!(printed.contains("what was decided about 1 file is as before"), "{printed}");
    assert_eq!(hunks(&world, &[])[..2], ["five open", "twenty-five open"]);
    world.sh("git checkpoint redo");
    assert_eq!(hunks(&world, &[])[..2], ["five accepted", "twenty-five accepted"]);
    assert!(decide(&world, "five", "later", "").status.success());
    assert_eq!(hunks(&world, &[])[..2], ["five open", "twenty-five accepted"]);
}

#[test]
fn nothing_is_done_without_an_answer() {
    let world = world();
    world.done(&["save"]);
    let all = || world.sh("sha256sum f new .git/index; git for-each-ref; git checkpoint op log");
    let before = all();
    for answers in ["", "q\n", "n\nbecause\n!\n", "?\n", "k\nx\n"] {
        answered(&world, &[], answers);
        assert_eq!(all(), before, "{answers:?}");
    }
}

#[test]
fn the_work_of_a_session_and_of_a_turn() {
    let world = world();
    assert_eq!(hunks(&world, &["s1"]), ["five open", "twenty-five open", "forty-five open", "a,b open"]);
    assert_eq!(hunks(&world, &["s1@1"]), ["five open", "twenty-five open"]);
    assert_eq!(hunks(&world, &["claude-code@2"]), ["forty-five open", "a,b open"]);
    assert_eq!(hunks(&world, &["s1", "--", "new"]), ["a,b open"]);
    assert_eq!(hunks(&world, &["--", "f"]).len(), 4);
    assert_eq!(answer(&world, &["nothing"], "").status.code(), Some(128));
}

#[test]
fn of_a_hunk_that_two_have_written_only_the_part_of_the_session_is_its_own() {
    let world = World::with_hooks();
    world.sh("seq 9 >f; git add f; git commit -qm base");
    world.done(&["session", "prompt", "s1", "--agent", "claude-code", "-m", "x"]);
    world.sh("sed -i 's/^3$/three/' f");
    world.done(&["save", "--session", "s1"]);
    world.done(&["session", "stop", "s1"]);
    world.sh("sed -i 's/^6$/six/' f");
    assert_eq!(hunks(&world, &[]), ["three,six open"]);
    assert_eq!(hunks(&world, &["s1"]), ["three open"]);
    answered(&world, &["s1"], "d\n\n");
    assert_eq!(state(&world), "six\n");
    // The whole is split by the user.
    world.sh("git checkpoint undo");
    answered(&world, &[], "s\ny\nn\n\n");
    assert_eq!(state(&world), "three\n");
}

#[test]
fn what_is_accepted_stays_so_when_other_lines_change() {
    let world = world();
    answered(&world, &[], "a\n");
    assert_eq!(hunks(&world, &[]).iter().filter(|hunk| hunk.ends_with("accepted")).count(), 4);
    // Above it, beside it, and by a commit of another part.
    world.sh("sed -i -e '1i zero' -e 's/^4$/four /' f; git add new; git commit -qm 'a part'");
    assert_eq!(
        hunks(&world, &[]),
        ["zero,four ,five open", "twenty-five accepted", "forty-five accepted", "fifty-eight accepted"]
    );
    world.sh("git stash -q; sed -i 's/^60$/sixty/' f; git commit -qam upstream; git stash pop -q");
    assert!(hunks(&world, &[]).contains(&"twenty-five accepted".to_owned()));
    world.sh("sed -i 's/^twenty-five$/25 or so/' f");
    assert!(hunks(&world, &[]).contains(&"25 or so open".to_owned()), "it is another change");
    world.sh("git mv f g");
    assert!(hunks(&world, &[]).contains(&"forty-five accepted".to_owned()), "{:?}", hunks(&world, &[]));
}

#[test]
fn what_has_changed_since_it_was_shown_is_left_alone() {
    let world = world();
    let id = id_of(&world, "five");
    world.sh("sed -i 's/^five$/5 again/' f");
    let given = format!(r#"{{"decisions":[{{"id":"{id}","verdict":"reject"}}]}}"#);
    let before = state(&world);
    let output = answer(&world, &["--decide", "-"], &given);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(state(&world), before);
}

#[test]
fn a_file_that_changes_while_the_user_is_asked_is_left_alone() {
    let world = world();
    let mut command = world.command("git");
    command.args(["checkpoint", "review"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("git runs");
    let mut stdin = child.stdin.take().expect("piped");
    let mut errors = child.stderr.take().expect("piped");
    // The first question is on the screen.
    let mut seen = Vec::new();
    while !seen.ends_with(b"]? ") {
        let mut byte = [0];
        std::io::Read::read_exact(&mut errors, &mut byte).expect("it asks");
        seen.extend(byte);
    }
    world.sh("echo more >>f");
    stdin.write_all(b"y\nn\n\nq\n").expect("it reads");
    drop((stdin, errors));
    let output = child.wait_with_output().expect("it ends");
    assert!(!output.status.success());
    assert_eq!(state(&world), "five\ntwenty-five\nforty-five\nfifty-eight\nmore\na\nb\n");
    assert_eq!(hunks(&world, &[])[..2], ["five accepted", "twenty-five rejected"], "the rest is done");
}

#[test]
fn decisions_of_editors_are_checked() {
    let world = world();
    let id = id_of(&world, "five");
    let before = world.sh("git for-each-ref; sha256sum f");
    for given in [
        String::new(),
        "[]".to_owned(),
        r#"{"decisions":[{"id":"0000000000000000","verdict":"accept"}]}"#.to_owned(),
        format!(r#"{{"decisions":[{{"id":"{id}","verdict":"drop"}}]}}"#),
        format!(r#"{{"decisions":[{{"id":"{id}","verdict":"comment"}}]}}"#),
        format!(r#"{{"decisions":[{{"id":"{id}","verdict":"comment","text":" "}}]}}"#),
        format!(r#"{{"decisions":[{{"id":"{id}","verdict":"accept","txt":""}}]}}"#),
        format!(r#"{{"decisions":[{{"id":"{id}","verdict":"comment","text":"{}"}}]}}"#, "x".repeat(5000)),
        format!(r#"{{"decisions":[{{"id":"{id}","verdict":"reject"}},{{"id":"x","verdict":"reject"}}]}}"#),
    ] {
        let output = answer(&world, &["--decide", "-"], &given);
        assert!(!output.status.success(), "{given}");
        assert_eq!(world.sh("git for-each-ref; sha256sum f"), before, "{given}");
    }
}

/// What is done to a file of HEAD, and what rejecting all of it has to bring back.
#[rstest::rstest]
#[case::new("echo x >n")]
#[case::new_and_empty(": >n")]
#[case::new_in_a_directory("mkdir d; echo x >d/n")]
#[case::deleted("rm f")]
#[case::binary("printf 'a\\0b' >b")]
#[case::executable("chmod +x f")]
#[case::executable_and_changed("chmod +x f; echo x >>f")]
#[case::renamed("git mv f g")]
#[case::renamed_and_changed("git mv f g; echo x >>g")]
#[case::a_link("rm f; ln -s b f")]
#[case::a_link_elsewhere("ln -sf f l")]
#[case::no_last_line_feed("printf 'x' >>f")]
#[case::odd_name("echo x >\"$(printf 'a\\nb\\377')\"")]
fn what_was_rejected_is_as_in_head(#[case] change: &str) {
    let world = World::with_hooks();
    world.sh("seq 9 >f; printf 'a\\0' >b; ln -s b l; git add -A; git commit -qm base");
    let all =
        || world.sh("find . -path ./.git -prune -o -printf '%p %y %m %l\\n' | sort | grep -v '^. d'; cat f b || true");
    let clean = all();
    world.sh(change);
    let changed = all();
    let index = world.sh("git ls-files --stage");
    answered(&world, &[], &"d\n\n".repeat(4));
    assert_eq!(all(), clean);
    assert_eq!(world.sh("git ls-files --stage"), index, "the index is the user's");
    world.sh("git checkpoint undo");
    assert_eq!(all(), changed);
}

#[test]
fn a_part_of_what_was_done_to_a_renamed_file_is_rejected() {
    let world = World::with_hooks();
    world.sh("seq 40 >f; git add -A; git commit -qm base; git mv f g; chmod +x g; sed -i -e 's/^5$/five/' -e 's/^30$/thirty/' g");
    // The name, the mode, and two hunks.
    answered(&world, &[], "y\nn\n\nn\n\ny\n");
    assert_eq!(world.sh("ls; stat -c %A g; grep '[a-z]' g"), "g\n-rw-r--r--\nthirty\n");
    world.sh("git checkpoint undo");
    answered(&world, &["--all"], "n\n\ny\ny\nn\n\n");
    assert_eq!(world.sh("ls; stat -c %A f; grep '[a-z]' f"), "f\n-rwxr-xr-x\nfive\n");
}

#[test]
fn before_the_first_commit() {
    let world = World::with_hooks();
    world.sh("git switch -q --orphan new; git rm -rqf . 2>/dev/null || true; echo a >a; echo b >b");
    answered(&world, &[], "n\n\ny\n");
    assert_eq!(world.sh("ls"), "b\n");
    world.sh("git checkpoint undo");
    assert_eq!(world.sh("ls"), "a\nb\n");
}

#[test]
fn of_a_file_whose_bytes_git_converts_no_part_is_rejected() {
    let world = World::with_hooks();
    world.sh("git config core.autocrlf true; seq 40 | sed 's/$/\\r/' >f; git add f; git commit -qm base 2>/dev/null
        sed -i -e 's/^5\\r$/five\\r/' -e 's/^30\\r$/thirty/' f");
    let before = world.sh("sha256sum f");
    let output = answer(&world, &[], "n\n\ny\n");
    let is_whole = output.status.success();
    // Either the lines that were accepted have the bytes that they had, or nothing has changed.
    if is_whole {
        assert_eq!(world.sh("sed -n 30p f | od -c | head -n 1"), "0000000   t   h   i   r   t   y  \\n\n");
    } else {
        assert_eq!(world.sh("sha256sum f"), before);
    }
}

#[test]
fn during_a_merge_nothing_is_reviewed() {
    let world = world();
    world.sh(
        "git add -A; git commit -qm work; git switch -qc side HEAD^; echo x >side; git add side; git commit -qm side
        git switch -q main; git merge -q --no-commit side 2>/dev/null",
    );
    assert_eq!(answer(&world, &[], "y\n").status.code(), Some(1));
}

#[test]
fn what_others_have_put_in_the_store_does_no_harm() {
    let world = world();
    answered(&world, &[], "y\nc\nnot \u{1b}[31mthis\nq\n");
    let printed = answered(&world, &["--status"], "");
    assert!(printed.contains("not ") && !printed.contains('\u{1b}'), "{printed:?}");
    // Each blob begins with lines that are no decisions.
    world.sh("set -- $(git ls-tree -r refs/checkpoints/reviews)
        blob=$( (printf 'no json\\n\\377\\n{}\\n'; git cat-file blob $3) | git hash-object -w --stdin)
        tree=$(printf '100644 blob %s\\tx\\n100644 blob %s\\t%s\\n' $3 $blob $(echo $4 | tr -d /) | git mktree)
        git update-ref refs/checkpoints/reviews $(git commit-tree -m x $tree)");
    assert_eq!(hunks(&world, &[])[..2], ["five accepted", "twenty-five commented"]);
    answered(&world, &[], "y\n");
    world.sh("git update-ref refs/checkpoints/reviews $(git commit-tree -m x $(git mktree </dev/null))");
    assert_eq!(hunks(&world, &[])[0], "five open");
}

#[test]
fn purge_takes_a_secret_out_of_reasons() {
    let world = world();
    answered(&world, &[], "c\nthe word is xyzzy-plugh\nq\n");
    assert!(world.sh("git log -p --all --format= refs/checkpoints/reviews").contains("xyzzy-plugh"));
    answered(&world, &[], "y\nq\n");
    world.sh("printf xyzzy-plugh | git checkpoint purge --force --stdin");
    let all = world
        .sh("git cat-file --batch-all-objects --batch-check='%(objectname) %(objecttype)' | while read id type; do
        test $type != blob || git cat-file blob $id; done");
    assert!(!all.contains("xyzzy-plugh"));
    assert_eq!(hunks(&world, &[])[1], "twenty-five accepted");
}

#[test]
fn what_was_accepted_stays_so_in_commits_through_amend_and_rebase() {
    let world = world();
    answered(&world, &[], "y\nc\nname it\ny\nq\n");
    world.sh("git add -A; git commit -qm work");
    let expected = ["five accepted", "twenty-five commented", "forty-five accepted", "fifty-eight open", "a,b open"];
    assert_eq!(hunks(&world, &["HEAD"]), expected);
    assert_eq!(hunks(&world, &[]), [""; 0]);
    world.sh("echo more >>new; git commit -qa --amend -m 'work, in other words'");
    assert_eq!(hunks(&world, &["HEAD^.."])[..4], expected[..4]);
    world.sh("git switch -qc side HEAD^; sed -i -e '1i zero' -e 's/^35$/thirty-five/' f; git commit -qam upstream
        git switch -q main; git rebase -q side");
    assert_eq!(hunks(&world, &["side.."])[..4], expected[..4]);
    assert_eq!(hunks(&world, &["side"]), ["zero open", "thirty-five open"]);
    // In the order of the commits, each with its own.
    let printed = answered(&world, &["HEAD~2..", "--", "f"], "");
    assert!(printed.contains("upstream") && printed.contains("(1/3)"), "{printed}");
    answered(&world, &["side..", "--", "f"], "y\n");
    assert_eq!(hunks(&world, &["HEAD"])[3], "fifty-eight accepted");
}

#[test]
fn what_is_committed_is_not_taken_out() {
    let world = world();
    world.sh("git add -A; git commit -qm work");
    let shown: serde_json::Value = serde_json::from_str(&world.done(&["review", "--json", "HEAD"])).expect("JSON");
    let hunk = &shown["files"][0]["hunks"][0];
    let given = format!(r#"{{"decisions":[{{"id":{},"verdict":"reject"}}]}}"#, hunk["id"]);
    let all = || world.sh("git for-each-ref; sha256sum f");
    let before = all();
    assert_eq!(answer(&world, &["HEAD", "--decide", "-"], &given).status.code(), Some(1));
    assert_eq!(all(), before);
    let printed = answered(&world, &["HEAD"], "n\nd\nq\n");
    assert!(!printed.contains("reject this hunk"), "{printed}");
    assert_eq!(all(), before);
    assert_eq!(answer(&world, &["HEAD..nothing"], "").status.code(), Some(128));
}

/// Runs `script` as a turn of the agent's session `id`.
fn turn(world: &World, id: &str, script: &str) {
    world.done(&["session", "prompt", id, "--agent", "claude-code", "-m", "x"]);
    world.sh(script);
    world.done(&["save", "--session", id]);
    world.done(&["session", "stop", id]);
}

/// What an agent does in the file of the lines 1 to 9, then a person; what is left of it when all hunks of the session are rejected.
#[rstest::rstest]
#[case::below_it("s/^3$/three/", "s/^4$/FOUR/", "1 2 3 4 FOUR 5 6 7 8 9")]
#[case::above_it("s/^4$/four/", "s/^3$/THREE/", "1 2 THREE 5 6 7 8 9")]
#[case::on_both_sides("s/^4$/four/", "s/^[35]$/P&/", "1 2 P3 P5 6 7 8 9")]
#[case::in_the_middle("3a one\\ntwo", "s/^one$/&\\nPERSON/", "1 2 3 PERSON 4 5 6 7 8 9")]
#[case::at_the_end("$a last", "$a PERSON", "1 2 3 4 5 6 7 8 9 PERSON")]
#[case::the_same_line("s/^5$/the agent has written a line/", "s/the agent has written/PERSON and &/", "*")]
fn under_a_session_no_line_of_a_person_is_taken_out(#[case] agent: &str, #[case] person: &str, #[case] expected: &str) {
    let world = World::with_hooks();
    world.sh("seq 9 >f; git add f; git commit -qm base");
    turn(&world, "s1", &format!("sed -i '{agent}' f"));
    world.sh(&format!("sed -i '{person}' f"));
    let lines = || world.sh("tr '\\n' ' ' <f").trim().to_owned();
    let before = lines();
    let has_all = |text: &str| before.split(' ').filter(|word| word.contains('P')).all(|word| text.contains(word));
    answered(&world, &["s1"], "d\n\n");
    assert!(has_all(&lines()), "{before}: {}", lines());
    assert!(expected == "*" || lines() == expected, "{before}: {}", lines());
    // One hunk after the other, and as editors do it.
    world.sh("git checkpoint undo 2>/dev/null || true");
    answered(&world, &["s1"], &"n\n\n".repeat(9));
    assert!(has_all(&lines()), "{before}: {}", lines());
    world.sh("git checkpoint undo 2>/dev/null || true");
    let shown: serde_json::Value = serde_json::from_str(&world.done(&["review", "--json", "s1"])).expect("JSON");
    let files = shown["files"].as_array().expect("files").iter();
    let hunks = files.flat_map(|file| file["hunks"].as_array().expect("hunks"));
    let given: Vec<String> = hunks.map(|hunk| format!(r#"{{"id":{},"verdict":"reject"}}"#, hunk["id"])).collect();
    answered(&world, &["s1", "--decide", "-"], &format!(r#"{{"decisions":[{}]}}"#, given.join(",")));
    assert!(has_all(&lines()), "{before}: {}", lines());
}

#[test]
fn a_block_that_a_person_wrote_and_an_agent_moved_is_the_persons() {
    let world = World::with_hooks();
    world.sh("seq 40 >f; git add f; git commit -qm base
        for i in 1 2 3 4; do echo \"the person has written a rather long line number $i of a block\"; done >>f
        git checkpoint save -q");
    turn(
        &world,
        "s2",
        "(sed -n 1,3p f; grep person f; echo the agent; sed 1,3d f | grep -v person) >g; cat g >f; rm g",
    );
    assert_eq!(hunks(&world, &["s2"]), ["the agent open"]);
    answered(&world, &["s2"], "d\n\n");
    assert_eq!(world.sh("grep -c person f; grep agent f || true"), "4\n");
}

#[test]
fn of_a_new_file_only_the_lines_of_the_session_are_taken_out() {
    let world = World::with_hooks();
    world.sh("seq 9 >f; git add f; git commit -qm base");
    turn(&world, "s1", "printf 'a\\nb\\n' >n");
    world.sh("printf 'PERSON\\n' >>n");
    answered(&world, &["s1"], "d\n\n");
    assert_eq!(world.sh("cat n"), "PERSON\n");
}

#[test]
fn what_an_agent_has_indented_goes_with_what_it_wrote_around_it() {
    let world = World::with_hooks();
    world.sh("printf 'a\\nfirst\\nsecond\\nz\\n' >f; git add f; git commit -qm base");
    turn(&world, "s1", "printf 'a\\nif x {\\n    first\\n    second\\n}\\nz\\n' >f");
    answered(&world, &["s1"], &"n\n\n".repeat(9));
    assert_eq!(world.sh("cat f"), "a\nfirst\nsecond\nz\n");
}

/// What takes the old place of the file `d/f`, which is `g` now.
#[rstest::rstest]
#[case::a_file("mkdir -p d; echo precious >d/f; echo d/f >.git/info/exclude", "")]
#[case::a_link("ln -s out d", "l\n")]
#[case::a_file_above("echo precious >d; echo d >.git/info/exclude", "")]
fn a_rejected_rename_whose_old_place_is_taken_changes_nothing(#[case] script: &str, #[case] first: &str) {
    let world = World::with_hooks();
    world.sh("mkdir d out; touch out/x; seq 9 >d/f; git add -A; git commit -qm base; git mv d/f g; rm -rf d");
    world.sh(script);
    let all = || world.sh("cat g; ls -R; cat d/f d 2>/dev/null || true");
    let before = all();
    for answers in ["n\n\n", "d\n\n"] {
        // The link is asked about first.
        let output = answer(&world, &[], &format!("{first}{answers}"));
        let printed = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{printed}");
        assert!(printed.contains("conflict d/f (") && !printed.contains("rejected 1"), "{printed}");
        assert_eq!(all(), before);
    }
}

#[test]
fn a_rejected_rename_that_is_left_does_not_keep_the_rest() {
    let world = World::with_hooks();
    world.sh("seq 9 >f; seq 9 >h; git add -A; git commit -qm base; git mv f g; echo x >>h
        echo f >.git/info/exclude; echo precious >f");
    let output = answer(&world, &[], "n\n\nn\n\n");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("rejected 1 change"), "{output:?}");
    assert_eq!(world.sh("cat f; tail -n 1 h; ls"), "precious\n9\nf\ng\nh\n");
}

#[test]
fn a_session_has_no_part_in_what_was_done_elsewhere_or_by_others() {
    let world = World::with_hooks();
    world.sh("seq 40 >f; seq 9 >gone; seq 9 >h; git add .; git commit -qm base; git worktree add -q ../wt");
    world.sh("cd ../wt; git checkpoint session prompt s1 --agent claude-code -m x; sed -i 's/^20$/agent/' f
        git checkpoint save -q --session s1; git checkpoint session stop s1");
    world.sh("sed -i /^30$/d f");
    assert_eq!(hunks(&world, &["s1"]), [""; 0]);
    turn(&world, "s2", "sed -i -e /^5$/d -e 's/^20$/agent/' f; rm gone; chmod +x h");
    world.sh("sed -i -e /^35$/d f; sed -i /^5$/d h");
    assert_eq!(hunks(&world, &["s2"]), [" open", "agent open", " open", " open"]);
    answered(&world, &["s2"], &"n\n\n".repeat(9));
    assert_eq!(
        world.sh("grep -cE '^(5|20|30|35)$' f; wc -l <gone; stat -c %A h; grep -c 5 h || true"),
        "2\n9\n-rw-r--r--\n0\n"
    );
    assert_eq!(hunks(&world, &["s2"]), [""; 0]);
}

#[test]
fn what_was_never_shown_is_open() {
    let world = World::with_hooks();
    world.sh("seq 30 >f; git add f; git commit -qm base; sed -i '5a check = False' f");
    answered(&world, &[], "y\n");
    world.sh("git commit -qam one; sed -i '20a check = False' f");
    assert_eq!(hunks(&world, &[]), ["check = False open"]);
    world.sh("git checkout -q -- f; sed -i '5a check = False' f");
    assert_eq!(hunks(&world, &[]), ["check = False open"]);
}

#[test]
fn what_was_committed_since_it_was_shown_stays() {
    let world = world();
    let mut command = world.command("git");
    command.args(["checkpoint", "review"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("git runs");
    let mut stdin = child.stdin.take().expect("piped");
    let mut errors = child.stderr.take().expect("piped");
    let mut seen = Vec::new();
    while !seen.ends_with(b"]? ") {
        let mut byte = [0];
        std::io::Read::read_exact(&mut errors, &mut byte).expect("it asks");
        seen.extend(byte);
    }
    world.sh("git commit -qam meanwhile");
    stdin.write_all(b"n\n\nq\n").expect("it reads");
    drop((stdin, errors));
    assert!(!child.wait_with_output().expect("it ends").status.success());
    assert_eq!(world.sh("git diff"), "");
}

#[test]
fn a_pathspec_that_names_nothing_is_an_error() {
    let world = world();
    for arguments in [["--status", "--", "nothing"], ["HEAD", "--", "nothing"], ["s1", "--", "nothing"]] {
        let output = answer(&world, &arguments, "");
        assert_eq!(output.status.code(), Some(128), "{arguments:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("pathspec 'nothing' did not match"));
    }
    world.sh("seq 3 >same; git add same; git commit -qm same same");
    let all: [&[&str]; 3] = [&["--status", "--", "same"], &["s1", "--", "f"], &["--status", "--", ".", ":!*.lock"]];
    for arguments in all {
        assert_eq!(answer(&world, arguments, "").status.code(), Some(0), "{arguments:?}");
    }
}

#[test]
fn a_file_with_mixed_line_endings_keeps_its_bytes_when_only_its_name_is_rejected() {
    let world = World::with_hooks();
    world.sh("git config core.autocrlf true; seq 9 | sed 's/$/\\r/' >f; git add f; git commit -qm base 2>/dev/null
        git mv f g; sed -i -e 's/^4\\r$/four/' g");
    let before = world.sh("sha256sum <g");
    answered(&world, &[], "n\n\ny\n");
    assert_eq!(world.sh("ls; sha256sum <f"), format!("f\n{before}"));
    // A part of its lines cannot go.
    world.sh("git checkpoint undo; sed -i -e 's/^9\\r$/nine\\r/' g");
    let before = world.sh("ls; sha256sum <g");
    assert_eq!(answer(&world, &["--all"], "n\n\ns\nn\n\ny\n").status.code(), Some(1));
    assert_eq!(world.sh("ls; sha256sum <g"), before);
}

#[test]
fn two_decisions_about_one_change_are_refused() {
    let world = world();
    let id = id_of(&world, "five");
    let one = |verdict: &str| format!(r#"{{"id":"{id}","verdict":"{verdict}"}}"#);
    let before = state(&world);
    let given = format!(r#"{{"decisions":[{},{}]}}"#, one("reject"), one("accept"));
    let output = answer(&world, &["--decide", "-"], &given);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && said.contains("two decisions about"), "{said}");
    assert_eq!(state(&world), before);
}
