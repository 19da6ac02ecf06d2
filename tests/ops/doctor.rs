//! The doctor names what is wrong, mends what it can, and finds commits again that were rewritten behind our back.

use git_checkpoint::testing::{
    model::record::{How, Link},
    ops::{
        doctor::{self, Diagnosis, Options, Severity},
        explain::{self, Subject},
        records,
    },
    repo,
};

use super::records::{ONE, TWO, an_id, record_of};
use crate::support::{World, template::Template};

/// A base, and two commits with records, the second without a trailer.
static RECORDS: Template = Template::new(|world| {
    world.commit_base();
    for (file, id, message) in [("a", ONE, "add a\n\nCheckpoint: 0123456789abcdef"), ("b", TWO, "add b")] {
        world.write(file, format!("{file}\n{file} again\nthree\n"));
        world.git(&["add", "-A"]);
        world.git(&["commit", "-qm", message]);
        world.append(vec![record_of(world, "HEAD", id)], Vec::new());
    }
});

fn world() -> World {
    RECORDS.world()
}

fn look(world: &World, fix: bool, relink: bool) -> Diagnosis {
    doctor::doctor(&world.context(), Options { fix, relink }).expect("it can look")
}

fn codes(diagnosis: &Diagnosis) -> Vec<&'static str> {
    diagnosis.problems.iter().map(|problem| problem.code).collect()
}

fn by(diagnosis: &Diagnosis) -> Vec<(String, &'static str)> {
    let mut found: Vec<_> = diagnosis.relinked.iter().map(|it| (it.record.to_string(), it.by)).collect();
    found.sort();
    found
}

/// Runs `script`, drops what would keep the old commits, and returns what is found again.
fn rewritten_by(script: &str) -> (World, Diagnosis) {
    let world = world();
    let output = world
        .command("bash")
        .args(["-c", &format!("set -e; {script}")])
        .env("FILTER_BRANCH_SQUELCH_WARNING", "1")
        .output()
        .expect("bash runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lost = look(&world, false, false);
    assert!(codes(&lost).contains(&"record-without-commit"), "{lost:?}");
    assert!(lost.is_sound() && lost.relinked.is_empty());
    let found = look(&world, false, true);
    for relinked in &found.relinked {
        let context = world.context();
        assert!(records::of_commit(repo(&context), relinked.commit).expect("sound").contains(&relinked.record));
        let link = records::links(repo(&context), &relinked.record).expect("sound");
        assert!(link.iter().any(|link| link.commit == relinked.commit && link.how == How::Relink));
    }
    let again = look(&world, false, true);
    assert!(again.relinked.is_empty() && codes(&again).is_empty(), "{again:?}");
    world.assert_sound("after a relink");
    (world, found)
}

fn found(one: &'static str, two: &'static str) -> Vec<(String, &'static str)> {
    vec![(ONE.to_owned(), one), (TWO.to_owned(), two)]
}

#[test]
fn all_is_well() {
    let world = world();
    let diagnosis = look(&world, false, false);
    assert_eq!((codes(&diagnosis), diagnosis.commits, diagnosis.records), (vec![], 3, 2));
}

#[test]
fn filter_branch_with_other_messages() {
    let script = "git filter-branch -f --msg-filter 'sed -e /^Checkpoint/d -e s/add/Add/' HEAD >/dev/null
                  git update-ref -d refs/original/refs/heads/main";
    assert_eq!(by(&rewritten_by(script).1), found("tree", "tree"));
}

#[test]
fn filter_branch_that_keeps_trailers() {
    let script = "git filter-branch -f --env-filter 'GIT_AUTHOR_NAME=x' HEAD >/dev/null
                  git update-ref -d refs/original/refs/heads/main";
    assert_eq!(by(&rewritten_by(script).1), found("trailer", "tree"));
}

#[test]
fn am_on_another_base() {
    let script = "git format-patch -q -o ../patches HEAD~2
                  sed -i /^Checkpoint/d ../patches/*
                  git reset -q --hard HEAD~2; printf 'other\\n' >other; git add other; git commit -qm other
                  git am -q ../patches/*";
    assert_eq!(by(&rewritten_by(script).1), found("patch", "patch"));
}

#[test]
fn commit_tree_and_update_ref() {
    let script =
        "one=$(git commit-tree -m one -p HEAD~2 HEAD~1^{tree}); two=$(git commit-tree -m two -p $one HEAD^{tree})
                  git update-ref refs/heads/main $two";
    assert_eq!(by(&rewritten_by(script).1), found("tree", "tree"));
}

#[test]
fn export_and_import_after_the_old_objects_are_gone() {
    // A stream says how long a message is, so it is replaced by one as long.
    let script = "git fast-export --reencode=yes main | sed -e 's/^add b$/ADD B/' -e '/^Checkpoint:/s/C/D/' >../stream
                  git update-ref -d refs/heads/main
                  rm -rf .git/logs; git fast-import --quiet --force <../stream; git reset -q --hard
                  git gc -q --prune=now";
    assert_eq!(by(&rewritten_by(script).1), found("tree", "patch"));
}

#[test]
fn one_commit_of_two_with_more_in_it() {
    let script = "git reset -q --soft HEAD~2; printf 'more\\n' >more; git add more; git commit -qm all";
    assert_eq!(by(&rewritten_by(script).1), found("blob", "blob"));
}

/// Half of the agents' work in one file is enough, as elsewhere.
#[test]
fn one_of_three_files() {
    const THREE: &str = "3333333333333333";
    let world = world();
    world.sh("for it in c d e; do printf '%s\\n%s again\\n' $it $it >$it; done; git add -A; git commit -qm three");
    world.append(vec![record_of(&world, "HEAD", THREE)], Vec::new());
    world.sh("git reset -q --soft HEAD~1; git rm -qf d e; git commit -qm 'one of three'");
    assert_eq!(by(&look(&world, false, true)), [(THREE.to_owned(), "blob")]);
}

#[test]
fn a_record_whose_commit_is_gone_is_a_note() {
    let world = world();
    world.git(&["reset", "-q", "--hard", "HEAD~1"]);
    let diagnosis = look(&world, false, true);
    assert_eq!((codes(&diagnosis), diagnosis.is_sound()), (vec!["record-without-commit"], true));
    assert_eq!(diagnosis.problems[0].subject, TWO);
}

#[test]
fn a_trailer_without_record_is_a_problem() {
    let world = world();
    world.git(&["commit", "-q", "--allow-empty", "-m", "x\n\nCheckpoint: ffffffffffffffff"]);
    let diagnosis = look(&world, true, true);
    assert_eq!((codes(&diagnosis), diagnosis.is_sound()), (vec!["trailer-without-record"], false));
    assert_eq!(diagnosis.problems[0].subject, world.git(&["rev-parse", "HEAD"]).trim());
    // A clone without any record gets one message.
    world.git(&["update-ref", "-d", "refs/checkpoints/history"]);
    let diagnosis = look(&world, false, false);
    assert_eq!((codes(&diagnosis), diagnosis.is_sound()), (vec!["trailer-without-record"], false));
}

#[test]
fn the_index_is_written_again() {
    let world = world();
    let index = world.root().join("index-of-log");
    let run = |arguments: &[&str]| {
        let output = world.command("git").env("GIT_INDEX_FILE", &index).args(arguments).output().expect("git runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    run(&["read-tree", "refs/checkpoints/history"]);
    run(&["rm", "-r", "-q", "--cached", "commits"]);
    let tree = run(&["write-tree"]);
    let commit = run(&["commit-tree", "-m", "lost", "-p", "refs/checkpoints/history", &tree]);
    world.git(&["update-ref", "refs/checkpoints/history", &commit]);
    let second = world.id(&["rev-parse", "HEAD"]);
    assert!(records::of_commit(repo(&world.context()), second).expect("sound").is_empty());
    assert_eq!(codes(&look(&world, false, false)), ["index-incomplete"]);
    let mended = look(&world, true, false);
    assert!(mended.is_sound() && mended.problems[0].fixed);
    assert_eq!(records::of_commit(repo(&world.context()), second).expect("sound"), [an_id(TWO)]);
    assert!(codes(&look(&world, false, false)).is_empty());
}

#[test]
fn broken_refs_locks_and_files_are_named() {
    let world = world();
    let git_dir = world.repo().join(".git");
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    let write = |path: &str, text: &str| {
        let path = git_dir.join(path);
        std::fs::create_dir_all(path.parent().expect("one")).expect("it can be made");
        std::fs::write(&path, text).expect("it can be written");
        std::fs::File::options().write(true).open(&path).and_then(|file| file.set_modified(old)).expect("it is ours");
    };
    let head = world.git(&["rev-parse", "HEAD"]);
    write("refs/checkpoints/tags/gone", "0123456789012345678901234567890123456789\n");
    write("refs/checkpoints/tags/noise", "noise\n");
    write(&format!("refs/checkpoints/shadow/{}/main", head.trim()), &head);
    write("refs/checkpoints/history.lock", "");
    write("checkpoint/sessions/s1.bad", "noise");
    write("checkpoint/turns.bad", "noise");
    write("checkpoint/commit.toml", "head = \"unborn\"\n");
    let diagnosis = look(&world, false, false);
    let mut found = codes(&diagnosis);
    found.sort_unstable();
    let expected = [
        "condensation-unfinished",
        "lock-stale",
        "ref-broken",
        "ref-broken",
        "ref-broken",
        "session-damaged",
        "turns-damaged",
    ];
    assert_eq!(found, expected, "{diagnosis:#?}");
    let is_left = |problem: &doctor::Problem| problem.code == "lock-stale" && !problem.fixed;
    assert!(look(&world, true, false).problems.iter().any(is_left));
    assert!(git_dir.join("refs/checkpoints/history.lock").exists(), "we have not made it");
}

#[test]
fn a_damaged_record_does_not_hide_the_others() {
    let world = world();
    let blob = world.id(&["rev-parse", "refs/checkpoints/history:01/23456789abcdef/record.toml"]).to_string();
    std::fs::remove_file(world.repo().join(format!(".git/objects/{}/{}", &blob[..2], &blob[2..]))).expect("loose");
    let diagnosis = look(&world, false, false);
    assert_eq!((codes(&diagnosis), diagnosis.records), (vec!["record-damaged"], 1));
    // Written again, it is sound.
    world.append(vec![record_of(&world, "HEAD~1", ONE)], Vec::new());
    assert!(codes(&look(&world, false, false)).is_empty());
}

#[test]
fn commits_records_and_sessions_are_explained() {
    let world = world();
    let context = world.context();
    let copy = Link {
        record: an_id(ONE),
        commit: world.id(&["rev-parse", "HEAD~2"]),
        from: None,
        how: How::Copy,
        only: Vec::new(),
    };
    world.append(Vec::new(), vec![copy]);
    for text in ["HEAD~1", ONE, "HEAD~2"] {
        let explained = explain::explain(&context, text).expect("it is there");
        assert_eq!(explained.records.len(), 1, "{text}");
        let record = &explained.records[0];
        assert_eq!((record.id, record.links.len()), (an_id(ONE), 2));
        assert_eq!(record.sessions[0].prompts[0].text, "please add numbers");
        assert_eq!((record.files[0].status, record.files[0].path.to_string()), ('A', "a".to_owned()));
    }
    assert_eq!(explain::explain(&context, "HEAD~2").expect("there").records[0].how, Some(How::Copy));
    let session = explain::explain(&context, "s1").expect("it is there");
    assert_eq!((session.kind, session.records.len()), (Subject::Session, 2));
    world.git(&["commit", "-q", "--allow-empty", "-m", "x"]);
    assert!(explain::explain(&context, "HEAD").expect("a commit").records.is_empty());
    for text in ["nothing", "", "--all", "-h", "ffffffffffffffff", "s1\u{0}"] {
        assert!(explain::explain(&context, text).is_err(), "{text:?}");
    }
    assert!(look(&world, false, false).problems.iter().all(|problem| problem.severity == Severity::Note));
}

#[test]
fn the_doctor_names_the_command_that_fetches_records() {
    let world = World::with_commit();
    world.git(&["commit", "-q", "--allow-empty", "-m", "x\n\nCheckpoint: 0123456789abcdef"]);
    let said = String::from_utf8(world.checkpoint(&["doctor"]).stdout).expect("UTF-8");
    assert!(said.contains("'git checkpoint fetch <remote>'"), "{said}");
}
