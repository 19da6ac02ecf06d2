//! The old, inverted name: read in every layer, and rewritten where it may be.

use rstest::rstest;

use super::Bench;
use crate::config::migrate::{GitValue, Place, carry_out, find, find_git};
use crate::config::{GitEntry, Layer, leftovers};
use crate::error::{Kind, Result};

fn migrate(bench: &Bench) -> Result<Vec<Place>> {
    let mut places = find(&bench.sources, None)?;
    places.iter_mut().filter(|place| place.by_hand.is_none()).try_for_each(carry_out)?;
    Ok(places)
}

#[test]
fn the_next_change_removes_leftovers_of_a_killed_one() {
    let bench = Bench::with(Layer::Project, "disable-multisession-warning = true\n");
    let left = bench.directory.path().join(".git-checkpoint-config-a1B2c3");
    let others = [".git-checkpoint-config-a1B2c", ".git-checkpoint-config-a1B2c34", ".git-checkpoint-config-a-B2c3"];
    for name in others {
        std::fs::write(bench.directory.path().join(name), "a user's").expect("written");
    }
    std::fs::write(&left, "link").expect("written");
    let found = leftovers(bench.directory.path(), false);
    assert_eq!(found.into_iter().map(|(path, _)| path).collect::<Vec<_>>(), [left.as_path()]);
    let busy = std::fs::File::open(bench.directory.path()).expect("a directory");
    rustix::fs::flock(&busy, rustix::fs::FlockOperation::LockExclusive).expect("free");
    assert!(leftovers(bench.directory.path(), true).is_empty(), "another one may be writing it");
    drop(busy);
    assert_eq!(migrate(&bench).expect("it is sound").len(), 1);
    assert!(!left.exists());
    std::fs::write(&left, "link").expect("written");
    assert!(matches!(&leftovers(bench.directory.path(), true)[..], [(_, Ok(()))]));
    assert!(!left.exists());
    assert!(others.iter().all(|name| files(&bench).iter().any(|file| file == name)));
}

fn files(bench: &Bench) -> Vec<String> {
    let entries = std::fs::read_dir(bench.directory.path()).expect("the bench is readable");
    let mut names: Vec<_> =
        entries.map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[rstest]
#[case::not_set("# mine\njj = 'off'\n", None)]
#[case::disabled("disable-multisession-warning = true\n", Some("enable-multisession-warning = false\n"))]
#[case::not_disabled("disable-multisession-warning = false\n", Some("enable-multisession-warning = true\n"))]
#[case::place_and_comments(
    "# a\njj = 'off' # b\n\n# c\n  disable-multisession-warning   =  true   # d\n# e\nlink = 'none'\n\n[save] # f\n",
    Some(
        "# a\njj = 'off' # b\n\n# c\n  enable-multisession-warning   =  false   # d\n# e\nlink = 'none'\n\n[save] # f\n"
    )
)]
#[case::quoted("'disable-multisession-warning'=false", Some("enable-multisession-warning=true"))]
#[case::crlf("# a\r\ndisable-multisession-warning = true\r\n", Some("# a\r\nenable-multisession-warning = false\r\n"))]
#[case::mixed_ends(
    "# a\r\n# b\ndisable-multisession-warning = true\n",
    Some("# a\r\n# b\nenable-multisession-warning = false\n")
)]
#[case::byte_order_mark(
    "\u{feff}disable-multisession-warning = true\n",
    Some("\u{feff}enable-multisession-warning = false\n")
)]
#[case::both(
    "# a\ndisable-multisession-warning = true # b\n# c\nenable-multisession-warning = true\n",
    Some("# a\n# b\n# c\nenable-multisession-warning = true\n")
)]
#[case::both_in_turn(
    "enable-multisession-warning = false\ndisable-multisession-warning = false",
    Some("enable-multisession-warning = false\n")
)]
#[case::in_a_table("[save]\ndisable-multisession-warning = true\n", None)]
fn files_are_rewritten_in_place(#[case] before: &str, #[case] after: Option<&str>) {
    for layer in [Layer::System, Layer::User, Layer::Project, Layer::Local] {
        let bench = Bench::with(layer, before);
        let meant = bench.load().settings.enable_multisession_warning;
        let places = migrate(&bench).expect("it is sound");
        assert_eq!(places.len(), usize::from(after.is_some()));
        assert_eq!(bench.read(layer), after.unwrap_or(before));
        assert_eq!(bench.load().settings.enable_multisession_warning, meant, "it means the same");
        assert_eq!(bench.load().warnings.iter().filter(|warning| warning.message.contains("old name")).count(), 0);
        if let Some(place) = places.first() {
            let backup = place.backup.as_deref().expect("it was changed");
            // The backup of a file in the worktree is where git does not see it.
            let name = format!("{}.bak", bench.path(layer).display());
            let hidden = bench.path(Layer::Local).with_file_name("backup").join(".checkpoint.toml.bak");
            assert_eq!(backup, if layer == Layer::Project { hidden.display().to_string() } else { name });
            assert_eq!(std::fs::read_to_string(backup).expect("it is there"), before);
        }
        let now = files(&bench);
        assert_eq!(migrate(&bench).expect("it is sound"), [], "a second time changes nothing");
        assert_eq!(files(&bench), now, "and leaves nothing");
    }
}

#[rstest]
#[case::number("# a\ndisable-multisession-warning = 1\n", "line 2: expected true or false, found the number '1'")]
#[case::text("disable-multisession-warning = 'yes'\n", "line 1: expected true or false, found the string 'yes'")]
#[case::table("[disable-multisession-warning]\nx = 1\n", "line 1: expected true or false, found a table")]
#[case::beside_the_new(
    "enable-multisession-warning = true\ndisable-multisession-warning = []\n",
    "line 2: expected true or false, found a list"
)]
fn a_value_that_is_no_boolean_changes_nothing(#[case] bad: &str, #[case] expected: &str) {
    let mut bench = Bench::with(Layer::User, "disable-multisession-warning = true\n");
    bench.put(Layer::Local, bad);
    let before = files(&bench);
    let error = migrate(&bench).expect_err("it is bad");
    assert_eq!(error.kind(), Kind::Config);
    let expected = format!("bad value for 'disable-multisession-warning' in 'local.toml', {expected}");
    assert_eq!(bench.short(error.message()), expected);
    assert_eq!(bench.read(Layer::User), "disable-multisession-warning = true\n", "no other file is, either");
    assert_eq!(bench.read(Layer::Local), bad);
    assert_eq!(files(&bench), before);
}

#[test]
fn a_file_that_is_no_toml_changes_nothing() {
    let mut bench = Bench::with(Layer::User, "disable-multisession-warning = true\n");
    bench.put(Layer::Project, "= no toml");
    assert_eq!(migrate(&bench).expect_err("it is bad").kind(), Kind::Config);
    assert_eq!(bench.read(Layer::User), "disable-multisession-warning = true\n");
    let mut places = find(&bench.sources, Some(Layer::User)).expect("only this one is asked for");
    places.iter_mut().try_for_each(carry_out).expect("it is sound");
    assert_eq!(bench.read(Layer::User), "enable-multisession-warning = false\n");
}

#[test]
fn the_environment_is_left_to_the_user() {
    let mut bench = Bench::new();
    bench.put(Layer::Environment, "GIT_CHECKPOINT_DISABLE_MULTISESSION_WARNING=off");
    assert!(bench.load().settings.enable_multisession_warning);
    let places = migrate(&bench).expect("it is sound");
    let expected = "unset it, and set 'GIT_CHECKPOINT_ENABLE_MULTISESSION_WARNING=true'";
    assert_eq!(places[0].by_hand.as_deref(), Some(expected));
    bench.put(Layer::Environment, "GIT_CHECKPOINT_ENABLE_MULTISESSION_WARNING=false");
    assert!(!bench.load().settings.enable_multisession_warning, "the new name wins");
    assert_eq!(migrate(&bench).expect("it is sound")[0].by_hand.as_deref(), Some("unset it"));
    let mut bench = Bench::new();
    bench.put(Layer::Environment, "GIT_CHECKPOINT_DISABLE_MULTISESSION_WARNING=perhaps");
    let expected = "bad value for 'disable-multisession-warning' in the variable \
                    'GIT_CHECKPOINT_DISABLE_MULTISESSION_WARNING': expected true or false, found 'perhaps'";
    assert_eq!(migrate(&bench).expect_err("it is bad").message(), expected);
    assert_eq!(bench.error(), expected);
}

#[test]
fn a_backup_replaces_no_other_and_keeps_the_mode() {
    use std::os::unix::fs::PermissionsExt as _;
    let bench = Bench::with(Layer::User, "disable-multisession-warning = true\n");
    let path = bench.path(Layer::User);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("the file is ours");
    std::os::unix::fs::symlink("elsewhere", path.with_extension("toml.bak")).expect("the bench is writable");
    let places = migrate(&bench).expect("it is sound");
    let backup = path.with_extension("toml.bak.1");
    assert_eq!(places[0].backup.as_deref(), backup.to_str());
    assert!(!bench.directory.path().join("elsewhere").exists());
    for path in [&path, &backup] {
        assert_eq!(path.metadata().expect("it is there").permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn the_file_behind_a_link_is_rewritten_and_a_committed_link_is_refused() {
    let bench = Bench::new();
    let target = bench.directory.path().join("dotfiles.toml");
    std::fs::write(&target, "disable-multisession-warning = true\n").expect("the bench is writable");
    std::os::unix::fs::symlink(&target, bench.path(Layer::Project)).expect("the bench is writable");
    assert_eq!(migrate(&bench).expect_err("it may lead anywhere").kind(), Kind::Config);
    std::fs::rename(bench.path(Layer::Project), bench.path(Layer::User)).expect("the bench is writable");
    migrate(&bench).expect("it is the user's own");
    assert!(bench.path(Layer::User).is_symlink());
    assert_eq!(bench.read(Layer::User), "enable-multisession-warning = false\n");
}

fn entry(key: &str, value: &str, origin: &str) -> GitEntry {
    GitEntry { key: key.into(), value: Some(value.into()), origin: origin.into() }
}

#[rstest]
#[case::same_file(&[("enableMultisessionWarning", "false", "a"), ("disable-multisession-warning", "false", "a")], false)]
#[case::later_file(&[("enable-multisession-warning", "false", "a"), ("disableMultisessionWarning", "no", "b")], true)]
#[case::earlier_file(&[("disable-multisession-warning", "false", "a"), ("enable-multisession-warning", "false", "b")], false)]
#[case::last_value(&[("disable-multisession-warning", "false", "a"), ("disablemultisessionwarning", "true", "b")], false)]
fn of_git_config_the_later_file_wins(#[case] entries: &[(&str, &str, &str)], #[case] expected: bool) {
    let mut bench = Bench::new();
    bench.sources.git = entries.iter().map(|(key, value, origin)| entry(key, value, origin)).collect();
    let loaded = bench.load();
    assert_eq!(loaded.settings.enable_multisession_warning, expected);
    assert_eq!(loaded.warnings.len(), 1);
}

#[test]
fn git_config_says_what_is_ours_and_what_is_not() {
    let value = |scope: &str, file: &str, name: &str, value: Option<&str>| GitValue {
        scope: scope.into(),
        file: file.into(),
        name: format!("checkpoint.{name}"),
        value: value.map(Into::into),
        is_own: scope == "local",
    };
    let places = find_git(&[
        value("global", "/g", "disablemultisessionwarning", Some("off")),
        value("local", "/l", "disablemultisessionwarning", Some("off")),
        value("local", "/l", "disable-multisession-warning", None),
        value("local", "/l", "lock-timeout", Some("soon")),
        value("command", "", "disable-multisession-warning", Some("1")),
    ])
    .expect("they are sound");
    let [global, local, command] = places.as_slice() else { panic!("{places:?}") };
    let by_hand = "'git config --global checkpoint.enable-multisession-warning true', then \
                   'git config --global --unset-all checkpoint.disablemultisessionwarning'";
    assert_eq!(global.by_hand.as_deref(), Some(by_hand));
    assert_eq!((local.by_hand.as_deref(), local.old, local.new, local.git_names.len()), (None, true, Some(false), 2));
    assert_eq!(command.by_hand.as_deref(), Some("give 'checkpoint.enable-multisession-warning=false' instead"));
    let bad = find_git(&[value("local", "/l", "disable-multisession-warning", Some("x"))]).expect_err("no boolean");
    assert_eq!(
        bad.message(),
        "bad value for 'disable-multisession-warning' in git config (/l): expected true or false, found 'x'"
    );
}
