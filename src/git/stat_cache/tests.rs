//! The cache survives a round trip, and nothing that is torn is taken for one.

use super::{file::encode, *};

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
        is_unfiltered: false,
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

/// Returns a sound section.
pub(in crate::git) fn sample_section() -> Vec<u8> {
    let mut cache = sample();
    cache.apply(changes());
    file::section(&cache, gix::hash::Kind::Sha1).split_off(file::SECTION_HEAD)
}

#[test]
fn a_cache_survives_a_round_trip_and_a_torn_one_is_none() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("index");
    sample().store(&path, gix::hash::Kind::Sha1).expect("stored");
    let loaded = StatCache::load(&path, gix::hash::Kind::Sha1).expect("loaded");
    assert_eq!(facts(&loaded), facts(&sample()));
    let bytes = std::fs::read(&path).expect("written");
    for length in [0, 3, bytes.len() / 2, bytes.len() - 1] {
        std::fs::write(&path, &bytes[..length]).expect("torn");
        assert!(StatCache::load(&path, gix::hash::Kind::Sha1).is_none(), "{length} of {} bytes", bytes.len());
    }
}

/// Returns all that a cache says.
fn facts(cache: &StatCache) -> (String, Vec<(BString, Known)>) {
    let head = (cache.tree_id, cache.index, cache.index_tree_id, cache.anchor, cache.filters);
    let entry = |entry: &Entry| (cache.path(entry).to_owned(), cache.known(entry));
    (format!("{head:?}"), cache.entries().iter().map(entry).collect())
}

fn changes() -> Vec<CacheChange> {
    vec![
        ("a".into(), None),
        ("b/cc".into(), Some(known(2))),
        ("b/d".into(), Some(known(7))),
        ("z".into(), Some(known(6))),
    ]
}

#[test]
fn appended_sections_are_read_and_a_torn_end_is_left_out() {
    let hash = gix::hash::Kind::Sha1;
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("index");
    let load = || StatCache::load(&path, hash).expect("loaded");
    sample().store(&path, hash).expect("stored");
    let whole = std::fs::read(&path).expect("written").len();
    let mut states = vec![(whole, facts(&sample()))];
    for (round, changes) in [changes(), vec![("a".into(), Some(known(1)))], Vec::new()].into_iter().enumerate() {
        let mut cache = load();
        cache.apply(changes);
        cache.anchor = Some(id(u8::try_from(round).expect("few") + 50));
        cache.store(&path, hash).expect("stored");
        assert_eq!(facts(&load()), facts(&cache));
        states.push((std::fs::read(&path).expect("written").len(), facts(&cache)));
    }
    let bytes = std::fs::read(&path).expect("written");
    for length in whole..=bytes.len() {
        std::fs::write(&path, &bytes[..length]).expect("torn");
        let (_, expected) = states.iter().rev().find(|(end, _)| *end <= length).expect("the first is there");
        assert_eq!(&facts(&load()), expected, "{length}");
    }
    // A torn end is written over with all of it.
    std::fs::write(&path, &bytes[..bytes.len() - 1]).expect("torn");
    let mut cache = load();
    cache.apply(changes());
    cache.store(&path, hash).expect("stored");
    assert_eq!(facts(&load()), facts(&cache));
}

#[test]
fn many_changes_make_a_new_file_and_so_do_many_paths() {
    let hash = gix::hash::Kind::Sha1;
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("index");
    let mut cache = StatCache { tree_id: Some(id(7)), ..StatCache::default() };
    (0..20_000)
        .for_each(|at| cache.push(format!("{at:06}").as_str().into(), known(u8::try_from(at % 9).expect("few"))));
    cache.store(&path, hash).expect("stored");
    let first = std::fs::metadata(&path).expect("there").len();
    for round in 0..100u8 {
        let mut cache = StatCache::load(&path, hash).expect("loaded");
        assert_eq!(cache.entries().len(), 20_000);
        cache.apply((0..100).map(|at| (format!("{:06}", at * 70).into(), Some(known(round)))).collect());
        cache.store(&path, hash).expect("stored");
        assert_eq!(facts(&StatCache::load(&path, hash).expect("loaded")), facts(&cache));
        assert!(std::fs::metadata(&path).expect("there").len() < first + first / 16);
    }
}

#[test]
fn ranges_and_merging_keep_the_order() {
    let mut merged = sample();
    assert_eq!(merged.below("b/".into()), 1..3);
    merged.apply(vec![("a".into(), None), ("b/cc".into(), Some(known(5))), ("z".into(), Some(known(6)))]);
    let paths: Vec<_> = merged.entries().iter().map(|entry| merged.path(entry).to_string()).collect();
    assert_eq!(paths, ["b/c", "b/cc", "b/d", "b0", "z"]);
    assert_eq!(merged.find("b/d".into()).and_then(|entry| merged.raw_id(entry)), Some(id(9)));
}
