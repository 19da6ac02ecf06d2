//! The cache survives a round trip, and nothing that is torn is taken for one.

use super::*;

fn id(byte: u8) -> ObjectId {
    ObjectId::try_from([byte; 20].as_slice()).expect("20 bytes")
}

fn known(byte: u8) -> Known {
    Known {
        stat: Stat { mtime: (-1, 2), ctime: (3, 4), size: 5, inode: 6 },
        id: id(byte),
        raw_id: (byte == 2).then(|| id(9)),
        mode: Mode::Executable,
        is_tracked: true,
        skips_worktree: false,
        is_racy: byte == 1,
    }
}

fn sample() -> StatCache {
    let mut cache = StatCache { tree_id: Some(id(7)), ..StatCache::default() };
    for (at, path) in ["a", "b/c", "b/d", "b0"].into_iter().enumerate() {
        cache.push(path.into(), known(u8::try_from(at).expect("few")));
    }
    cache
}

/// Returns a sound file without its checksum.
pub(in crate::git) fn sample_bytes() -> Vec<u8> {
    encode(&sample(), gix::hash::Kind::Sha1)
}

#[test]
fn a_cache_survives_a_round_trip_and_a_torn_one_is_none() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("index");
    sample().store(&path, gix::hash::Kind::Sha1).expect("stored");
    let loaded = StatCache::load(&path, gix::hash::Kind::Sha1).expect("loaded");
    assert_eq!(format!("{loaded:?}"), format!("{:?}", sample()));
    let bytes = std::fs::read(&path).expect("written");
    for length in [0, 3, bytes.len() / 2, bytes.len() - 1] {
        std::fs::write(&path, &bytes[..length]).expect("torn");
        assert!(StatCache::load(&path, gix::hash::Kind::Sha1).is_none(), "{length} of {} bytes", bytes.len());
    }
}

#[test]
fn ranges_and_merging_keep_the_order() {
    let cache = sample();
    assert_eq!(cache.below("b/".into()), 1..3);
    let merged = cache.merged(&[("a".into(), None), ("b/cc".into(), Some(known(5))), ("z".into(), Some(known(6)))]);
    let paths: Vec<_> = merged.entries().iter().map(|entry| merged.path(entry).to_string()).collect();
    assert_eq!(paths, ["b/c", "b/cc", "b/d", "b0", "z"]);
    assert_eq!(merged.find("b/d".into()).and_then(|entry| entry.raw_id), Some(id(9)));
}
