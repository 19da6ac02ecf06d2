//! Tests of the lock of a worktree's checkpoints.

use super::*;

fn take(path: &Path, timeout: Duration) -> Result<Lock> {
    Lock::acquire(path, timeout, &|| Ok(()))
}

/// Waits until `is_so`: a process that another test starts has a copy of each open file until it is executed.
#[track_caller]
fn assert_soon(is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(20), "it stays as it is");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_second_owner_waits_and_gets_the_holders_name() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("lock");
    let held = take(&path, Duration::ZERO).expect("free");
    assert!(is_held(&path));
    let refused = take(&path, Duration::from_millis(5)).expect_err("taken");
    assert_eq!(refused.kind(), Kind::Race);
    assert!(refused.message().contains(&std::process::id().to_string()), "{refused}");
    drop(held);
    take(&path, Duration::ZERO).map(drop).expect("free again");
    assert_eq!(std::fs::read(&path).expect("the file stays"), b"");
    assert!(!is_held(&path) && !is_held(&dir.path().join("none")));
}

#[test]
fn a_lock_that_is_renewed_is_held_all_the_time() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("lock");
    let mut held = take(&path, Duration::ZERO).expect("free");
    std::thread::scope(|scope| {
        let looking = scope.spawn(|| (0..20_000).all(|_| is_held(&path)));
        while !looking.is_finished() {
            held.renew(&path).expect("it can be renewed");
        }
        assert!(looking.join().expect("it ends"));
    });
}

#[test]
fn a_lock_whose_file_was_removed_is_taken_anew() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let [path, moved] = ["lock", "moved"].map(|name| dir.path().join(name));
    let held = take(&path, Duration::ZERO).expect("free");
    std::fs::write(&moved, "another file").expect("written");
    assert!(!held.remove_file(&moved) && !remove_free(&path), "it is another file, and it is held");
    std::fs::rename(&path, &moved).expect("it can be moved");
    assert!(held.remove_file(&moved) && !held.remove_file(&moved));
    let again = take(&path, Duration::ZERO).expect("that is another file");
    drop(held);
    assert!(is_held(&path));
    drop(again);
    assert!(remove_free(&path) && !remove_free(&path) && !path.exists());
}

#[test]
fn one_that_waits_does_not_get_a_file_that_is_gone() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("lock");
    let held = take(&path, Duration::ZERO).expect("free");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| take(&path, Duration::from_secs(10)).map(|lock| (lock, is_held(&path))));
        std::thread::sleep(Duration::from_millis(20));
        assert!(held.remove_file(&path));
        drop(held);
        let (_lock, is_held) = waiting.join().expect("it ends").expect("free");
        assert!(is_held, "the lock that it has is the one that others see");
    });
}

#[test]
fn a_copy_in_a_started_process_does_not_keep_the_lock() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("lock");
    let held = take(&path, Duration::ZERO).expect("free");
    let copy = held.file.try_clone().expect("a copy, as a fork makes it");
    drop(held);
    take(&path, Duration::ZERO).map(drop).expect("free again");
    drop(copy);
}

#[test]
fn a_lock_that_is_left_is_held_by_those_who_have_the_file() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("lock");
    let held = take(&path, Duration::ZERO).expect("free");
    let copy = held.as_fd().try_clone_to_owned().expect("a copy, as a process that was started has it");
    held.leave();
    assert!(is_held(&path) && !remove_free(&path));
    drop(copy);
    assert_soon(|| remove_free(&path));
}

#[test]
fn those_who_have_an_older_file_do_not_hold_the_lock() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("lock");
    let mut held = take(&path, Duration::ZERO).expect("free");
    let copy = held.as_fd().try_clone_to_owned().expect("a copy, as a process that was started has it");
    held.renew(&path).expect("it is there");
    assert!(is_held(&path) && has_owner(&path) && take(&path, Duration::ZERO).is_err());
    assert_eq!(std::fs::read_dir(dir.path()).expect("readable").count(), 1);
    held.leave();
    assert_soon(|| !is_held(&path));
    assert!(!has_owner(&path));
    drop(copy);
    let mut held = take(&path, Duration::ZERO).expect("free");
    std::fs::remove_file(&path).expect("it is there");
    assert!(held.renew(&path).is_err() && !path.exists(), "it is not there any more");
}

#[test]
fn what_is_no_file_is_not_waited_for() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("lock");
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, 0o600.into()).expect("a named pipe");
    assert_eq!(take(&path, Duration::ZERO).expect_err("no file").kind(), Kind::Internal);
    assert!(!is_held(&path) && !has_owner(&path) && !remove_free(&path) && path.exists());
}

#[test]
fn those_who_were_killed_are_known_until_they_are_forgotten() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("lock");
    std::fs::write(&path, b"12 on host, since then\n0123456789abcdef\nfedcba9876543210\nx\xff\n").expect("written");
    let killed = take(&path, Duration::ZERO).expect("free");
    assert_eq!(killed.dead(), ["0123456789abcdef", "fedcba9876543210"]);
    let text = std::fs::read(&path).expect("readable");
    drop(killed);
    assert_eq!(owner(&path), None, "no process holds it");
    drop(take(&path, Duration::ZERO).expect("free"));
    std::fs::write(&path, text).expect("as it would stay");
    let mut lock = take(&path, Duration::ZERO).expect("free");
    assert_eq!(lock.dead(), [temporary::nonce(), "0123456789abcdef", "fedcba9876543210"]);
    lock.forget_dead();
    drop(lock);
    assert_eq!(take(&path, Duration::ZERO).expect("free").dead(), Vec::<String>::new());
}
