//! The stat cache: never believed where it may be wrong, never needed.

use super::{bench::Bench, child::Order};

/// The same size and times: only the bytes differ.
#[test]
fn same_size_edits_within_a_tick_are_seen() {
    let bench = Bench::on_disk("base; echo 0000 >racy; git add racy; git commit -qm racy");
    let racy = bench.root().join("racy");
    for number in 1..=100 {
        let content = format!("{number:04}\n");
        std::fs::write(&racy, &content).expect("files can be written");
        let saved = bench.attempt(&Order::default()).expect("saved");
        let held = bench.git(&["cat-file", "blob", &format!("{}:racy", saved.id().expect("a checkpoint"))]);
        assert_eq!(held, content.trim_end(), "round {number}");
    }
    bench.save_warm_and_cold();
}

#[test]
fn an_edit_right_after_a_save_is_seen() {
    // In one process, so that hardly any time passes.
    let bench = Bench::on_disk("base; echo 0000 >racy; echo u >untracked");
    bench.save();
    for number in 1..=20 {
        std::fs::write(bench.root().join("racy"), format!("{number:04}\n")).expect("files can be written");
        std::fs::write(bench.root().join("untracked"), format!("{}\n", number % 10)).expect("files can be written");
        bench.attempt(&Order::default()).expect("saved");
        std::fs::write(bench.root().join("racy"), format!("{:04}\n", number + 1000)).expect("files can be written");
        let saved = bench.attempt(&Order::default()).expect("saved");
        let held = bench.git(&["cat-file", "blob", &format!("{}:racy", saved.id().expect("a checkpoint"))]);
        assert_eq!(held, format!("{:04}", number + 1000));
    }
    bench.save_warm_and_cold();
}

#[rstest::rstest]
#[case::time_is_put_back("echo new1 >a; touch -r reference a")]
#[case::time_is_put_back_after_a_rename("echo new1 >t; touch -r a t; mv t a")]
#[case::time_is_long_ago("echo new1 >a; touch -d 1999-01-01 a")]
#[case::time_is_zero("echo new1 >a; touch -d @0 a")]
#[case::replaced_by_a_twin("cp -p a t; echo new1 >t; touch -r a t; mv t a")]
#[case::bit_and_time("chmod +x a; touch -r reference a")]
#[case::link_and_time("ln -sfn 1234 a; touch -h -r reference a")]
fn times_may_lie(#[case] then: &str) {
    for first in [
        "base; echo old1 >a; touch -d 2020-01-01 a reference; commit",
        "base; echo old1 >a; touch -d 2020-01-01 a reference",
    ] {
        let bench = Bench::on_disk(first);
        bench.save_warm_and_cold();
        bench.save();
        bench.run(then);
        // Git with its own index may be fooled where we are not.
        let bench = bench.oracle("git read-tree --empty; git add -A");
        bench.save_warm_and_cold();
    }
}

#[rstest::rstest]
#[case::empty(": >$F")]
#[case::torn("head -c 200 $F >t; mv t $F")]
#[case::one_byte_less("head -c -1 $F >t; mv t $F")]
#[case::one_byte_more("printf x >>$F")]
#[case::flipped(
    "python3 -c 'import sys; f = open(sys.argv[1], \"r+b\"); f.seek(100); b = f.read(1); f.seek(100); f.write(bytes([b[0] ^ 1]))' $F"
)]
#[case::garbage("head -c 5000 /dev/urandom >$F")]
#[case::zeros("head -c 5000 /dev/zero >$F")]
#[case::huge_count("printf 'GCPSTAT\\001\\024' >$F; head -c 5000 /dev/zero | tr '\\0' '\\377' >>$F")]
#[case::gone("rm $F")]
#[case::a_directory("rm $F; mkdir $F")]
#[case::of_another_repository("cp $W/other $F")]
fn a_damaged_cache_is_none(#[case] damage: &str) {
    let bench = Bench::new("base; echo u >u; echo x >>file");
    let first = bench.save();
    bench.run(&format!(
        "git init -q $W/o; echo other >$W/o/file; cp .git/checkpoint/index $W/other; F=.git/checkpoint/index; {damage}"
    ));
    let again = bench.attempt(&Order::default()).expect("the cache is no need");
    assert!(!again.is_created() && again.id() == first.id(), "{again:?}");
    bench.run("rm -rf .git/checkpoint/index t; echo y >>file");
    bench.save_warm_and_cold();
}

/// A cache from another repository is whole, but what it says is not there.
#[test]
fn a_cache_of_foreign_content_is_not_believed() {
    let other = Bench::new("init; echo other >other; echo x >x; mkdir d; echo d >d/d");
    other.save();
    let bench = Bench::new("base; echo u >u");
    bench.save();
    std::fs::copy(other.git_dir().join("checkpoint/index"), bench.git_dir().join("checkpoint/index")).expect("copied");
    bench.run("echo x >>file");
    bench.save_warm_and_cold();
}

/// The cache knows objects that are no longer there.
#[rstest::rstest]
#[case::refs_and_objects(
    "git for-each-ref --format='delete %(refname)' refs/checkpoints | git update-ref --stdin; git gc -q --prune=now"
)]
#[case::all_unreferenced(
    "git for-each-ref --format='delete %(refname)' refs/checkpoints | git update-ref --stdin; git prune --expire=now"
)]
fn pruned_objects_are_written_again(#[case] prune: &str) {
    let bench = Bench::new(
        "base; echo u >u; mkdir d; for i in $(seq 5); do echo $i >d/$i; done; echo staged >s; git add s; echo s >s; git config core.autocrlf input; printf 'a\\r\\n' >crlf",
    );
    let first = bench.save();
    bench.run(prune);
    let second = bench.save_warm_and_cold();
    assert!(second.is_created(), "{second:?}");
    assert_eq!(second.tree(), first.tree());
    bench.run(prune);
    bench.run("echo x >>d/1");
    bench.save_warm_and_cold();
    bench.run(prune);
    bench.save_with(&Order { paths: Some(vec!["d/1".into()]), ..Order::default() });
    bench.save_warm_and_cold();
}

/// The same with a pack: more than sixty-four new files.
#[test]
fn pruned_packs_are_written_again() {
    let bench = Bench::new("base; mkdir d; for i in $(seq 100); do echo $i >d/$i; done");
    bench.save();
    bench.run("git for-each-ref --format='delete %(refname)' refs/checkpoints | git update-ref --stdin; git gc -q --prune=now; test -z \"$(ls .git/objects/?? 2>/dev/null | head -1)\"");
    bench.save_warm_and_cold();
    bench.run("git gc -q --prune=now; echo x >d/7");
    bench.save_warm_and_cold();
}

#[test]
fn many_saves_stay_sound() {
    let bench = Bench::new("base; echo u >u");
    let trees: Vec<String> = (0..30)
        .map(|number| {
            bench.run(&format!("echo {number} >>file; echo {number} >dir/n{number}; rm -f dir/n{}", number - 3));
            bench.attempt(&Order::default()).expect("saved").tree().to_owned()
        })
        .collect();
    let saved = bench.save_warm_and_cold();
    let chain = bench.git(&["log", "--first-parent", "--format=%T", "-n30", saved.id().expect("a checkpoint")]);
    assert_eq!(chain.lines().rev().map(str::to_owned).collect::<Vec<_>>(), trees);
    bench.run("git gc -q --prune=now");
    bench.check_repository();
    bench.run("echo x >>file");
    bench.save_warm_and_cold();
}

/// Files that come and go while a pass looks at them.
#[test]
fn a_restless_worktree_does_not_fail_a_save() {
    let bench = Bench::new("base; mkdir r; for i in $(seq 40); do echo $i >r/$i; done; commit");
    let root = bench.root();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut round = 0;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                round += 1;
                for number in 1..40 {
                    let path = root.join(format!("r/{number}"));
                    match (round + number) % 4 {
                        0 => drop(std::fs::remove_file(&path)),
                        1 => drop(std::fs::write(&path, format!("{round}").repeat(1000))),
                        2 => drop(std::fs::remove_file(&path).and_then(|()| std::fs::create_dir(&path))),
                        _ => drop(std::fs::remove_dir(&path).and_then(|()| std::os::unix::fs::symlink("x", &path))),
                    }
                }
            }
        });
        for _ in 0..15 {
            bench.attempt(&Order::default()).expect("a save while files change");
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    bench.save_warm_and_cold();
}

#[test]
fn unreadable_files_are_listed_and_kept() {
    let bench = Bench::new(
        "base; echo secret >secret; mkdir closed; echo c >closed/c; git add closed; git commit -qm c; echo u >closed/u",
    );
    if rustix::process::geteuid().is_root() {
        // Root may read everything.
        return;
    }
    let first = bench.save();
    bench.run("chmod 000 secret dir/one closed; echo x >>file");
    let saved = bench.attempt(&Order::default()).expect("saved");
    bench.run("chmod 755 closed; chmod 644 secret dir/one");
    assert_eq!(saved.skipped(), ["closed: unreadable"]);
    assert_eq!(saved.paths(), ["M file"], "{first:?}");
    bench.save_warm_and_cold();
}
