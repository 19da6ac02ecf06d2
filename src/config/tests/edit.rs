//! Changes of a file on disk.

use rstest::rstest;

use super::Bench;
use crate::config::{Layer, edit, load, sources::DEFAULTS};
use crate::error::Kind;

#[rstest]
#[case::new_file("", "jj", "off", "jj = \"off\"\n")]
#[case::new_table("", "save.max-file-size", "1k", "[save]\nmax-file-size = \"1k\"\n")]
#[case::below_comments("# mine\n", "enabled", "no", "# mine\n\nenabled = false\n")]
#[case::replaced(
    "# a\njj = 'off' # b\n\n# c\nlink = 'none'\n",
    "jj",
    "detect",
    "# a\njj = \"detect\" # b\n\n# c\nlink = 'none'\n"
)]
#[case::spacing("jj   =   'off'\n", "jj", "detect", "jj   =   \"detect\"\n")]
#[case::in_table(
    "[save]\n# a\nmax-file-size = 1\n\n[ui] # u\ncolor = 'auto'\n",
    "save.max-untracked-files",
    "7",
    "[save]\n# a\nmax-file-size = 1\nmax-untracked-files = 7\n\n[ui] # u\ncolor = 'auto'\n"
)]
#[case::beside_tables(
    "enabled = true\n\n[ui]\ncolor = 'auto'\n",
    "save.exclude",
    "*.o",
    "enabled = true\n\n[ui]\ncolor = 'auto'\n\n[save]\nexclude = [\"*.o\"]\n"
)]
#[case::above_tables("[ui]\ncolor = 'auto'\n", "jj", "off", "jj = \"off\"\n\n[ui]\ncolor = 'auto'\n")]
#[case::dotted(
    "save.max-file-size = 1\nlink = 'none'\n",
    "save.min-free-space",
    "2",
    "save.max-file-size = 1\nsave.min-free-space = 2\nlink = 'none'\n"
)]
#[case::inline(
    "save = { max-file-size = 1 }\n",
    "save.min-free-space",
    "2",
    "save = { max-file-size = 1 , min-free-space = 2 }\n"
)]
#[case::crlf("# a\r\njj = 'off'\r\n", "link", "none", "# a\r\njj = 'off'\r\nlink = \"none\"\r\n")]
#[case::byte_order_mark("\u{feff}jj = 'off'\n", "jj", "detect", "\u{feff}jj = \"detect\"\n")]
#[case::no_final_newline("jj = 'off'", "link", "none", "jj = 'off'\nlink = \"none\"\n")]
#[case::unknown_kept("banana = 1\n", "jj", "off", "banana = 1\njj = \"off\"\n")]
fn set_keeps_the_rest(#[case] before: &str, #[case] key: &str, #[case] value: &str, #[case] after: &str) {
    let bench = Bench::with(Layer::User, before);
    edit::set(Layer::User, &bench.path(Layer::User), key, &[value.to_owned()]).expect("the value is sound");
    assert_eq!(bench.read(Layer::User), after);
    load(&bench.sources).expect("what was set can be read");
}

#[rstest]
#[case::line("# a\njj = 'off' # b\nlink = 'none'\n", "jj", Some("# a\nlink = 'none'\n"))]
#[case::last("link = 'none'\njj = 'off'", "jj", Some("link = 'none'\n"))]
#[case::in_table(
    "[save]\nmax-file-size = 1\nexclude = [\n  'a',\n  'b',\n] # c\n[ui]\n",
    "save.exclude",
    Some("[save]\nmax-file-size = 1\n[ui]\n")
)]
#[case::dotted("  save.exclude = []\nsave.max-file-size = 1\n", "save.exclude", Some("save.max-file-size = 1\n"))]
#[case::inline(
    "save = { exclude = [], max-file-size = 1 } # c\n",
    "save.exclude",
    Some("save = { max-file-size = 1 } # c\n")
)]
#[case::crlf("jj = 'off'\r\nlink = 'none'\r\n", "jj", Some("link = 'none'\r\n"))]
#[case::unknown("banana = 1\njj = 'off'\n", "banana", Some("jj = 'off'\n"))]
#[case::absent("jj = 'off'\n", "link", None)]
#[case::absent_table("jj = 'off'\n", "save.exclude", None)]
#[case::below_value("jj = 'off'\n", "jj.exclude", None)]
fn unset_keeps_the_rest(#[case] before: &str, #[case] key: &str, #[case] after: Option<&str>) {
    let bench = Bench::with(Layer::User, before);
    let was_there = edit::unset(Layer::User, &bench.path(Layer::User), key).expect("the file is sound");
    assert_eq!((was_there, bench.read(Layer::User).as_str()), (after.is_some(), after.unwrap_or(before)));
}

#[rstest]
#[case::unknown_key("enabeld", &["true"], Kind::User, "unknown setting 'enabeld'")]
#[case::bad_value("enabled", &["perhaps"], Kind::User, "bad value for 'enabled': expected true or false, found 'perhaps'")]
#[case::two_values("jj", &["a", "b"], Kind::User, "bad value for 'jj': expected \"detect\", \"manage\" or \"off\", found 'a' 'b'")]
#[case::no_table("save.exclude", &["x"], Kind::Config, "bad value for 'save' in 'user.toml': expected a table")]
fn set_checks_before_it_writes(#[case] key: &str, #[case] values: &[&str], #[case] kind: Kind, #[case] message: &str) {
    let bench = Bench::with(Layer::User, "save = 5\n");
    let values: Vec<_> = values.iter().map(ToString::to_string).collect();
    let error = edit::set(Layer::User, &bench.path(Layer::User), key, &values).expect_err("the value is bad");
    assert_eq!((error.kind(), bench.short(error.message()).as_str()), (kind, message));
    assert_eq!(bench.read(Layer::User), "save = 5\n");
}

#[test]
fn a_damaged_file_is_not_changed() {
    let bench = Bench::with(Layer::User, "jj = \n");
    let set = edit::set(Layer::User, &bench.path(Layer::User), "link", &["none".to_owned()]);
    let unset = edit::unset(Layer::User, &bench.path(Layer::User), "link");
    assert_eq!(set.expect_err("no TOML").kind(), Kind::Config);
    assert_eq!(unset.expect_err("no TOML").kind(), Kind::Config);
    assert_eq!(bench.read(Layer::User), "jj = \n");
}

#[test]
fn set_makes_directories_and_keeps_links_and_modes() {
    use std::os::unix::fs::PermissionsExt as _;
    let bench = Bench::with(Layer::User, "jj = 'off'\n");
    let (target, link) = (bench.path(Layer::User), bench.directory.path().join("new/deep/link.toml"));
    edit::set(Layer::Local, &link.with_file_name("other.toml"), "jj", &["off".to_owned()]).expect("parents are made");
    std::os::unix::fs::symlink(&target, &link).expect("the bench is writable");
    std::fs::set_permissions(&target, std::fs::Permissions::from_mode(0o640)).expect("the file is ours");
    edit::set(Layer::User, &link, "link", &["none".to_owned()]).expect("the value is sound");
    assert!(link.is_symlink());
    assert_eq!(bench.read(Layer::User), "jj = 'off'\nlink = \"none\"\n");
    assert_eq!(target.metadata().expect("it is there").permissions().mode() & 0o777, 0o640);
}

#[rstest]
#[case("transcript.redact", "false", false)]
#[case("transcript.redact", "true", true)]
#[case("transcript.store", "prompts", true)]
#[case("push.remote", "origin", false)]
#[case("ui.pager", "less", false)]
#[case("link", "none", true)]
fn set_refuses_what_the_project_may_not(#[case] key: &str, #[case] value: &str, #[case] is_allowed: bool) {
    let bench = Bench::new();
    let result = edit::set(Layer::Project, &bench.path(Layer::Project), key, &[value.to_owned()]);
    assert_eq!(result.map_err(|error| error.kind()), if is_allowed { Ok(()) } else { Err(Kind::Refused) });
}

#[test]
fn a_created_file_has_every_default_commented_out() {
    let bench = Bench::new();
    let path = bench.path(Layer::User);
    assert!(edit::create(Layer::User, &path).expect("the bench is writable"));
    assert!(!edit::create(Layer::User, &path).expect("the bench is writable"), "it is there now");
    let loaded = bench.load();
    assert!(loaded.warnings.is_empty() && loaded.origins.iter().all(|origin| origin.layer == Layer::Default));
    let text = bench.read(Layer::User);
    let uncomment = |line: &str| {
        let is_key = line.starts_with('#') && !line.starts_with("# ");
        line[usize::from(is_key)..].to_owned()
    };
    let lines: Vec<_> = text.lines().map(uncomment).collect();
    assert_eq!(lines.join("\n") + "\n", DEFAULTS);
    edit::set(Layer::User, &path, "save.exclude", &["x".to_owned()]).expect("it can be set");
    assert_eq!(bench.load().settings.save.exclude, ["x"]);
    edit::remove_untouched(Layer::User, &path).expect("it stays");
    edit::unset(Layer::User, &path, "save.exclude").expect("it can be unset");
    assert!(path.exists());
    edit::remove_untouched(Layer::User, &path).expect("it can be removed");
    assert!(!path.exists());
}
