//! Text from nowhere.

use proptest::prelude::{ProptestConfig, Strategy, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest};

use super::Bench;
use crate::config::keys::KEYS;
use crate::config::{ByteSize, GitEntry, Layer, edit, load, load_lenient, parse_duration};

/// Text that looks enough like settings to get past the first byte.
fn toml_like() -> impl Strategy<Value = String> {
    let words = [
        "save",
        "ui",
        "enabled",
        "exclude",
        "[",
        "]",
        "[[",
        "]]",
        "=",
        ".",
        "\n",
        "'",
        "\"",
        "{",
        "}",
        ",",
        "true",
        "1",
        "#",
        " ",
        "\r",
        "\u{0}",
        "é",
        "10 MiB",
        "disable-multisession-warning",
    ];
    prop_oneof![
        any::<String>(),
        prop::collection::vec(prop::sample::select(words.to_vec()), 0..24).prop_map(|words| words.concat())
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn no_text_makes_the_room_panic(text in toml_like(), key in toml_like(), value in toml_like()) {
        let mut bench = Bench::with(Layer::User, &text);
        bench.put(Layer::Project, &text);
        bench.sources.git.push(GitEntry { key: key.clone(), value: Some(value.clone()), origin: String::new() });
        bench.sources.environment.push((format!("GIT_CHECKPOINT_{key}"), value.clone()));
        bench.sources.flags.push((key.clone(), value.clone()));
        let loaded = load_lenient(&bench.sources);
        prop_assert_eq!(loaded.origins.len(), KEYS.len());
        prop_assert_eq!(load(&bench.sources).is_err(), !loaded.errors.is_empty());
        let path = bench.path(Layer::User);
        let _ = edit::unset(Layer::User, &path, &key);
        let _ = edit::check(&key, std::slice::from_ref(&value));
        let _ = (value.parse::<ByteSize>(), parse_duration(&value));
        for (key, value) in [("jj", "off"), ("save.exclude", "x"), ("ui.color", "never")] {
            let was_sound = edit::read(Layer::User, &path).is_ok();
            if was_sound && edit::set(Layer::User, &path, key, &[value.to_owned()]).is_ok() {
                let found = edit::read(Layer::User, &path).expect("what was written can be read");
                prop_assert!(found.iter().any(|(name, ..)| name == key));
                prop_assert!(edit::unset(Layer::User, &path, key).expect("what was written can be removed"));
            }
        }
    }
}
