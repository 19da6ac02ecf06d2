//! Random bytes in the files of a repository: nothing panics, and no damaged file is trusted.

use bstr::BString;
use proptest::prelude::{ProptestConfig, Strategy, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest};

use super::{environment, stat_cache};

const SHA1: gix::hash::Kind = gix::hash::Kind::Sha1;

fn bytes(longest: usize) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..longest)
}

/// A valid file with some bytes replaced, cut off or added.
fn damaged(sound: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4);
    (changes, any::<prop::sample::Index>(), any::<bool>(), bytes(40)).prop_map(move |(changes, end, is_cut, more)| {
        let mut bytes = sound.clone();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if is_cut {
            bytes.truncate(end.index(bytes.len()));
        }
        bytes.extend(more);
        bytes
    })
}

/// Returns `text` as git quotes it for the shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''").replace('!', r"'\!'"))
}

fn setting() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z.='\\\\! \n\t]{0,12}", any::<String>()]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn no_bytes_make_the_stat_cache_panic(bytes in prop_oneof![bytes(300), damaged(stat_cache::sample_bytes())]) {
        if let Some(mut cache) = stat_cache::decode(&bytes, SHA1) {
            // A cache that decodes has paths for all entries.
            let length: usize = cache.entries().iter().map(|entry| cache.path(entry).len()).sum();
            prop_assert!(length <= bytes.len());
            let _ = (cache.find("b/c".into()).is_some(), cache.below("b/".into()));
            cache.apply(vec![("b/cc".into(), None)]);
        }
        let _ = stat_cache::decode(&bytes, gix::hash::Kind::Sha256);
    }

    #[test]
    fn no_bytes_make_a_section_of_the_stat_cache_panic(
        bytes in prop_oneof![bytes(300), damaged(stat_cache::sample_section())],
    ) {
        let _ = (stat_cache::parse_section(&bytes, SHA1), stat_cache::parse_section(&bytes, gix::hash::Kind::Sha256));
    }

    #[test]
    fn settings_of_git_c_come_back(settings in prop::collection::vec((setting(), prop::option::of(setting())), 0..4)) {
        let text: Vec<String> = settings
            .iter()
            .map(|(key, value)| match value {
                Some(value) => format!("{}={}", quoted(key), quoted(value)),
                None => format!("{}=", quoted(key)),
            })
            .collect();
        let expected: Vec<BString> =
            settings.iter().map(|(key, value)| format!("{key}={}", value.as_deref().unwrap_or_default()).into()).collect();
        prop_assert_eq!(environment::parse_parameters(text.join(" ").as_bytes()), Some(expected));
    }

    #[test]
    fn no_bytes_make_the_settings_of_git_c_panic(bytes in prop_oneof![bytes(60), "['=\\\\ a-z]{0,30}".prop_map(String::into_bytes)]) {
        let _ = environment::parse_parameters(&bytes);
    }
}
