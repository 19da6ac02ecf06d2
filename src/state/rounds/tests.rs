//! Tests of the files of rounds.

use std::os::unix::ffi::OsStrExt as _;

use gix::ObjectId;

use super::*;
use crate::model::round::Mode;

fn id(byte: u8) -> ObjectId {
    ObjectId::from_bytes_or_panic(&[byte; 20])
}

fn round() -> Round {
    let odd = PathBuf::from(std::ffi::OsStr::from_bytes(b"/w\xff x\n"));
    let place = Place {
        context: odd.clone(),
        mode: Mode::Worktree,
        path: Some(odd.clone()),
        inside: b"a\xff/b".into(),
        branch: Some("agents/f028d1c7".into()),
        base: Some("1".repeat(40)),
        files: Some("2".repeat(40)),
        claimed: Some("/w".into()),
        worktree: Some(b"w\xff".into()),
        mark: Some("0123abcd-1".into()),
        head: None,
        scratch: Some(odd.join("s")),
        archive: None,
        committed: Some(Committed { checkpoint: id(1), commit: None, tip: id(2) }),
        brought: Some("3".repeat(40)),
        aside: Some("/w/aside".into()),
        removed: None,
        is_done: false,
        is_kept: true,
        superseded: Some(7),
        retired: Some("2".repeat(40)),
    };
    let (workspace, agent) = (Some("/ws".into()), Some("agent1".into()));
    let asked = Asked { contexts: vec![odd], workspace, agent, ..Asked::default() };
    let archive_folder = ".scratch_archive".into();
    Round {
        id: "0123abcd".into(),
        began: 5,
        phase: Phase::Live,
        asked,
        takes_changes: true,
        archive_folder,
        ran: Some(Ran { number: 2, status: Some(1), duration_ms: Some(12) }),
        places: vec![place],
    }
}

#[test]
fn a_round_survives_a_round_trip() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    assert_eq!(all(dir.path()).expect("nothing is there").sound, []);
    round().write(dir.path()).expect("written");
    assert_eq!(read(dir.path(), "0123abcd").expect("readable"), Some(round()));
    assert_eq!(all(dir.path()).expect("readable").sound, [round()]);
    round().forget(dir.path()).expect("removed");
    round().forget(dir.path()).expect("it is gone already");
    assert_eq!(all(dir.path()).expect("readable").sound, []);
}

#[test]
fn a_damaged_file_is_left_out_and_left_alone() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    round().write(dir.path()).expect("written");
    let file = folder(dir.path()).join("0123abcd.json");
    let text = fs::read_to_string(&file).expect("readable");
    let texts = [
        "{".to_owned(),
        text.replace("\"version\": 1", "\"version\": 2"),
        text.replace("\"live\"", "\"else\""),
        text.replace("\"/ws\"", "\"ws\""),
        text.replace("\"agent1\"", "\"../../evil\""),
        text.replace("\"agent1\"", "\"a\\n\""),
        text.replace("agents/f028d1c7", "-f"),
        text.replace(&"1".repeat(40), "--output=/x"),
        text.replace("\".scratch_archive\"", "\"src/x\""),
    ];
    for text in texts {
        fs::write(&file, &text).expect("writable");
        let found = all(dir.path()).expect("readable");
        assert_eq!((found.sound.len(), found.damaged.len()), (0, 1), "{text}");
        assert_eq!(fs::read_to_string(&file).expect("it stays"), text);
    }
    assert_eq!(read(dir.path(), "../0123abcd").expect("no id"), None);
}
