//! The defaults, the table of keys, the types and the man page say the same.

use std::path::Path;
use std::time::Duration;

use super::Bench;
use crate::config::keys::{self, KEYS};
use crate::config::kind::Kind;
use crate::config::{Layer, Settings, Sources, Value, load, load_lenient, sources::DEFAULTS, toml_file};

#[test]
fn defaults_are_complete_and_sound() {
    let loaded = load(&Sources::default()).expect("the defaults are sound");
    assert_eq!(loaded.warnings, []);
    let names: Vec<_> = loaded.origins.iter().map(|origin| origin.key).collect();
    let known: Vec<_> = KEYS.iter().map(|key| key.name).collect();
    assert_eq!(names, known);
    let settings = loaded.settings;
    assert_eq!(settings, Settings::default());
    assert!(settings.enabled && !settings.enable_multisession_warning && settings.transcript.redact);
    assert_eq!(settings.lock_timeout, Duration::from_secs(10));
    assert_eq!((settings.save.max_file_size, settings.save.min_free_space), (10 << 20, 512 << 20));
    assert_eq!(settings.save.protected_paths[..2], [Path::new("/"), Path::new("~")], "no home is known");
    assert_eq!((settings.archive.keep_days, settings.archive.keep_count), (Some(30), None));
    assert_eq!((settings.ui.pager, settings.push.remote), (None, None));
}

#[test]
fn the_table_has_the_defaults_of_the_file() {
    let entries = toml_file::parse(DEFAULTS, "default.toml").expect("it is TOML");
    let in_file = entries.into_iter().map(|entry| match entry.content {
        toml_file::Content::Value(value) => (entry.path.join("."), value),
        other => panic!("line {} has {other:?}", entry.line),
    });
    let in_table = KEYS.iter().map(|key| (key.name.to_owned(), key.default.value()));
    assert_eq!(in_table.collect::<Vec<_>>(), in_file.collect::<Vec<_>>());
    for key in KEYS {
        assert!(key.kind.accepts(&key.default.value()), "{}", key.name);
    }
}

#[test]
fn every_default_has_a_comment() {
    for block in DEFAULTS.split("\n\n").skip(1) {
        let lines: Vec<_> = block.lines().filter(|line| !line.starts_with('[')).collect();
        assert!(lines.len() == 2 && lines[0].starts_with("# ") && lines[1].contains(" = "), "{block}");
    }
}

#[test]
fn every_choice_and_type_can_be_extracted() {
    for key in KEYS {
        let texts = match key.kind {
            Kind::Choice(names) => names.to_vec(),
            Kind::Bool => vec!["true", "false"],
            Kind::Count | Kind::Size | Kind::Duration => vec!["0", "9223372036854775807"],
            Kind::Text | Kind::List => vec!["~/x"],
            Kind::Prices => vec!["x input=1"],
        };
        for text in texts {
            let mut bench = Bench::new();
            bench.put(Layer::Flag, &format!("{}={text}", key.name));
            let loaded = bench.load();
            assert_eq!(loaded.origin(key.name).map(|origin| origin.layer), Some(Layer::Flag), "{} {text}", key.name);
        }
    }
}

#[test]
fn every_key_is_in_the_man_page() {
    let page =
        include_str!("../../../man/git-checkpoint-config.5").replace("\\fB", "").replace("\\fR", "").replace('\\', "");
    let defaults = load_lenient(&Sources::default());
    for origin in &defaults.origins {
        let heading = format!("\n.B {}\n", origin.key);
        let (_, text) = page.split_once(&heading).unwrap_or_else(|| panic!("{} has no entry", origin.key));
        let text = text.split("\n.TP").next().unwrap_or(text);
        let default = match &origin.value {
            Value::List(items) if items.is_empty() => "empty".to_owned(),
            Value::List(items) => items.join(", "),
            Value::Text(text) if text.is_empty() => "empty".to_owned(),
            value => value.to_string(),
        };
        assert!(text.contains(&format!("\nDefault: {default}")), "{}: no 'Default: {default}' in {text}", origin.key);
        let key = keys::find(origin.key).expect("origins name known keys");
        let is_marked = text.contains("untrusted");
        assert_eq!(is_marked, key.is_restricted_in_project(), "{} in the page", origin.key);
    }
}

#[test]
fn names_are_distinct_in_every_spelling() {
    for key in KEYS {
        let variable = key.name.to_ascii_uppercase().replace(['.', '-'], "_");
        assert_eq!(keys::find_variable(&variable), Some(key.name));
        assert_eq!(keys::find_git(&key.name.replace('-', "")), Some(key.name));
        assert!(!keys::RESERVED_VARIABLES.contains(&variable.as_str()));
        assert_eq!(keys::suggest(key.name), Some(key.name));
    }
}
