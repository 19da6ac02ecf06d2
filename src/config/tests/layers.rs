//! Which layer wins, what is ignored, and what is an error.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rstest::rstest;

use super::Bench;
use crate::config::{Jj, Layer, Link, Store, Warning, edit, load_lenient};
use crate::error::Kind;

#[rstest]
#[case::system(Layer::System, "lock-timeout = 1", 1)]
#[case::user(Layer::User, "lock-timeout = '2s'", 2)]
#[case::project(Layer::Project, "lock-timeout = 3", 3)]
#[case::local(Layer::Local, "lock-timeout = 4", 4)]
#[case::git(Layer::Git, "checkpoint.lock-timeout=5", 5)]
#[case::environment(Layer::Environment, "GIT_CHECKPOINT_LOCK_TIMEOUT=6s", 6)]
#[case::flag(Layer::Flag, "lock-timeout=7", 7)]
fn a_layer_wins_over_those_below(#[case] layer: Layer, #[case] text: &str, #[case] expected: u64) {
    let all = [
        (Layer::System, "lock-timeout = 91"),
        (Layer::User, "lock-timeout = 92"),
        (Layer::Project, "lock-timeout = 93"),
        (Layer::Local, "lock-timeout = 94"),
        (Layer::Git, "checkpoint.lock-timeout=95"),
        (Layer::Environment, "GIT_CHECKPOINT_LOCK_TIMEOUT=96"),
    ];
    let mut bench = Bench::new();
    for (below, text) in all.into_iter().filter(|(below, _)| *below < layer) {
        bench.put(below, text);
    }
    bench.put(layer, text);
    let loaded = bench.load();
    assert_eq!(loaded.settings.lock_timeout, Duration::from_secs(expected));
    assert_eq!(loaded.origin("lock-timeout").map(|origin| origin.layer), Some(layer));
}

#[test]
fn origins_name_file_line_variable_and_git_file() {
    let mut bench = Bench::with(Layer::User, "\n[save]\nmax-file-size = '1k'\n");
    bench.put(Layer::Git, "checkpoint.archive.keep-days=3");
    bench.put(Layer::Environment, "GIT_CHECKPOINT_UI_COLOR=never");
    let loaded = bench.load();
    let place = |key: &str| {
        let origin = loaded.origin(key).expect("every key has an origin");
        (bench.short(&origin.source), origin.line)
    };
    assert_eq!(place("save.max-file-size"), ("user.toml".to_owned(), Some(3)));
    assert_eq!(place("archive.keep-days"), ("file:.git/config".to_owned(), None));
    assert_eq!(place("ui.color"), ("GIT_CHECKPOINT_UI_COLOR".to_owned(), None));
    assert_eq!(place("jj").0, "");
}

#[rstest]
#[case::boolean(
    "enabled = 'yes'",
    "bad value for 'enabled' in 'user.toml', line 1: expected true or false, found the string 'yes'"
)]
#[case::number(
    "\n\nenabled = 1",
    "bad value for 'enabled' in 'user.toml', line 3: expected true or false, found the number '1'"
)]
#[case::float(
    "[archive]\nkeep-days = 1.5",
    "bad value for 'archive.keep-days' in 'user.toml', line 2: expected a whole number, 0 or more, found the float '1.5'"
)]
#[case::negative(
    "archive.keep-days = -1",
    "bad value for 'archive.keep-days' in 'user.toml', line 1: expected a whole number, 0 or more, found the number '-1'"
)]
#[case::size(
    "save.max-file-size = 'big'",
    "bad value for 'save.max-file-size' in 'user.toml', line 1: expected a size such as \"10 MiB\" or a number of bytes, found the string 'big'"
)]
#[case::duration(
    "lock-timeout = true",
    "bad value for 'lock-timeout' in 'user.toml', line 1: expected a time such as \"30s\" or \"1h30m\", or a number of seconds, found the boolean 'true'"
)]
#[case::choice(
    "storage = 'branch'",
    "bad value for 'storage' in 'user.toml', line 1: expected \"worktree\" or \"session\", found the string 'branch'"
)]
#[case::three_choices(
    "ui.color = 'no'",
    "bad value for 'ui.color' in 'user.toml', line 1: expected \"auto\", \"always\" or \"never\", found the string 'no'"
)]
#[case::list(
    "[save]\n# c\nexclude = 'x'",
    "bad value for 'save.exclude' in 'user.toml', line 3: expected a list of strings, found the string 'x'"
)]
#[case::mixed_list(
    "save.exclude = ['x', 1]",
    "bad value for 'save.exclude' in 'user.toml', line 1: expected a list of strings, found a list with a value of type integer"
)]
#[case::table(
    "[enabled]\nx = 1",
    "bad value for 'enabled' in 'user.toml', line 2: expected true or false, found a table"
)]
#[case::empty_table(
    "[enabled]",
    "bad value for 'enabled' in 'user.toml', line 1: expected true or false, found a table"
)]
#[case::tables(
    "[[save]]\nx = 1",
    "bad value for 'save' in 'user.toml', line 1: expected a table, found a list of tables"
)]
#[case::no_table("save = 5", "bad value for 'save' in 'user.toml', line 1: expected a table, found the number '5'")]
#[case::date(
    "jj = 2026-01-01",
    "bad value for 'jj' in 'user.toml', line 1: expected \"detect\", \"manage\" or \"off\", found the date '2026-01-01'"
)]
#[case::control(
    "jj = \"\\u001b[31m\"",
    "bad value for 'jj' in 'user.toml', line 1: expected \"detect\", \"manage\" or \"off\", found the string '\\u{1b}[31m'"
)]
#[case::old_name(
    "disable-multisession-warning = 1",
    "bad value for 'disable-multisession-warning' in 'user.toml', line 1: expected true or false, found the number '1'"
)]
fn wrong_types_name_file_line_key_expected_found(#[case] text: &str, #[case] expected: &str) {
    assert_eq!(Bench::with(Layer::User, text).error(), expected);
}

#[rstest]
#[case::git(
    Layer::Git,
    "checkpoint.enabled=perhaps",
    "bad value for 'enabled' in git config (file:.git/config): expected true or false, found 'perhaps'"
)]
#[case::git_no_value(
    Layer::Git,
    "checkpoint.storage",
    "bad value for 'storage' in git config (file:.git/config): expected \"worktree\" or \"session\", found no value"
)]
#[case::variable(
    Layer::Environment,
    "GIT_CHECKPOINT_ARCHIVE_KEEP_DAYS=x",
    "bad value for 'archive.keep-days' in the variable 'GIT_CHECKPOINT_ARCHIVE_KEEP_DAYS': expected a whole number, 0 or more, found 'x'"
)]
#[case::flag(
    Layer::Flag,
    "ui.color=x",
    "bad value for 'ui.color' in the command line: expected \"auto\", \"always\" or \"never\", found 'x'"
)]
fn wrong_texts_name_their_place(#[case] layer: Layer, #[case] text: &str, #[case] expected: &str) {
    assert_eq!(Bench::with(layer, text).error(), expected);
}

#[rstest]
#[case::open_string("enabled = true\njj = 'x", 2)]
#[case::twice("enabled = true\nenabled = true", 2)]
#[case::conflict("<<<<<<< HEAD\n", 1)]
fn a_file_that_is_no_toml_is_an_error(#[case] text: &str, #[case] line: usize) {
    let error = Bench::with(Layer::Local, text).error();
    assert!(error.starts_with(&format!("cannot parse 'local.toml', line {line}: ")), "{error}");
}

#[test]
fn a_file_that_cannot_be_read_is_an_error() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path(Layer::User)).expect("the bench is writable");
    assert_eq!(bench.error(), "cannot read settings from 'user.toml': not a regular file");
    std::fs::remove_dir(bench.path(Layer::User)).expect("it is empty");
    std::fs::write(bench.path(Layer::User), b"jj = 'off'\nx = '\xff'").expect("the bench is writable");
    assert_eq!(bench.error(), "cannot read settings from 'user.toml', line 2: not UTF-8");
}

#[test]
fn a_committed_symbolic_link_is_not_followed() {
    let bench = Bench::with(Layer::User, "enabled = false");
    std::os::unix::fs::symlink(bench.path(Layer::User), bench.path(Layer::Project)).expect("the bench is writable");
    assert_eq!(bench.error(), "cannot read settings from '.checkpoint.toml': not a regular file");
    let refused = edit::set(Layer::Project, &bench.path(Layer::Project), "jj", &["off".to_owned()]);
    assert_eq!(refused.expect_err("links are refused").kind(), Kind::Config);
    assert_eq!(bench.read(Layer::User), "enabled = false");
}

#[rstest]
#[case::typo("enabeld = true", "enabeld", Some("enabled"))]
#[case::underscores("lock_timeout = 3", "lock_timeout", Some("lock-timeout"))]
#[case::table_typo("[sav]\nexclude = []", "sav.exclude", Some("save.exclude"))]
#[case::without_table("max-file-size = 3", "max-file-size", Some("save.max-file-size"))]
#[case::transposed("ui.colro = 'never'", "ui.colro", Some("ui.color"))]
#[case::british("ui.colour = 'never'", "ui.colour", Some("ui.color"))]
#[case::quoted("'save.exclude' = []", "\"save.exclude\"", Some("save.exclude"))]
#[case::nothing_near("banana = 1", "banana", None)]
#[case::empty_unknown_table("[banana]", "banana", None)]
fn unknown_keys_warn_and_change_nothing(#[case] text: &str, #[case] name: &str, #[case] meant: Option<&str>) {
    let bench = Bench::with(Layer::User, text);
    let loaded = bench.load();
    assert_eq!(loaded.settings, Bench::new().load().settings);
    assert_eq!(bench.warnings(), [format!("unknown setting '{name}' in 'user.toml', line {}", text.lines().count())]);
    assert_eq!(loaded.warnings[0].hint, meant.map(|meant| format!("did you mean '{meant}'?")));
}

#[rstest]
#[case::git(
    Layer::Git,
    "checkpoint.lock-timeot=1",
    "unknown setting 'lock-timeot' in git config (file:.git/config)",
    "did you mean 'lock-timeout'?"
)]
#[case::variable(
    Layer::Environment,
    "GIT_CHECKPOINT_SAVE_EXCLUD=x",
    "the variable 'GIT_CHECKPOINT_SAVE_EXCLUD' is no known setting",
    "did you mean 'GIT_CHECKPOINT_SAVE_EXCLUDE'?"
)]
fn unknown_names_elsewhere_warn_too(
    #[case] layer: Layer,
    #[case] text: &str,
    #[case] message: &str,
    #[case] hint: &str,
) {
    let warnings = Bench::with(layer, text).load().warnings;
    assert_eq!(warnings, [Warning { message: message.to_owned(), hint: Some(hint.to_owned()) }]);
}

#[test]
fn reserved_and_foreign_variables_are_no_settings() {
    let text =
        "GIT_CHECKPOINT_WORKTREE=x\nGIT_CHECKPOINT_SESSION=y\nGIT_CHECKPOINT_LOG=debug\nGIT_CHECKPOINT_JJ=\nHOME=/";
    assert_eq!(Bench::with(Layer::Environment, text).load().warnings, []);
}

#[rstest]
#[case::plain("checkpoint.lock-timeout=9")]
#[case::capitals("CheckPoint.Lock-Timeout=9")]
#[case::camel("checkpoint.locktimeout=9")]
#[case::without_section("lock-timeout=9")]
#[case::last_wins("checkpoint.lock-timeout=nonsense\ncheckpoint.lock-timeout=9")]
fn git_names(#[case] text: &str) {
    assert_eq!(Bench::with(Layer::Git, text).load().settings.lock_timeout, Duration::from_secs(9));
}

#[rstest]
#[case::no_value("checkpoint.enable-multisession-warning", true)]
#[case::yes("checkpoint.enable-multisession-warning=Yes", true)]
#[case::empty("checkpoint.enable-multisession-warning=", false)]
fn git_booleans(#[case] text: &str, #[case] expected: bool) {
    assert_eq!(Bench::with(Layer::Git, text).load().settings.enable_multisession_warning, expected);
}

#[rstest]
#[case::several("checkpoint.save.exclude=a\ncheckpoint.save.exclude=b", &["a", "b"])]
#[case::begun_anew("checkpoint.save.exclude=a\ncheckpoint.save.exclude=\ncheckpoint.save.exclude=b", &["b"])]
#[case::array("checkpoint.save.exclude=['a', 'b']", &["a", "b"])]
fn git_lists(#[case] text: &str, #[case] expected: &[&str]) {
    assert_eq!(Bench::with(Layer::Git, text).load().settings.save.exclude, expected);
}

#[rstest]
#[case::pager("ui.pager = 'curl evil'")]
#[case::remote("push.remote = 'evil'")]
#[case::auto("push.auto = true")]
#[case::transcripts("push.transcripts = true")]
#[case::redact("transcript.redact = false")]
#[case::protected("save.protected-paths = []")]
#[case::roots("worktree.roots = ['/']")]
#[case::dir("worktree.dir = '/etc'")]
#[case::scratch("round.scratch = 'src'")]
#[case::archive("round.archive = 'src'")]
#[case::branches("round.branches = 'delete'")]
#[case::jj("jj = 'manage'")]
#[case::bad_type("transcript.redact = 'no'")]
#[case::keep_days("archive.keep-days = 1")]
#[case::keep_count("archive.keep-count = 1")]
#[case::archive_size("archive.max-size = 1")]
#[case::exclude("save.exclude = ['*']")]
#[case::max_file_size("save.max-file-size = 1")]
#[case::max_untracked_files("save.max-untracked-files = 4999")]
#[case::min_free_space("save.min-free-space = '1 TiB'")]
fn the_project_may_not_loosen(#[case] text: &str) {
    let bench = Bench::with(Layer::Project, text);
    assert_eq!(bench.load().settings, Bench::new().load().settings);
    let key = text.split(' ').next().unwrap_or(text);
    let expected = format!("'{key}' in '.checkpoint.toml', line 1 is ignored: the project's file may not set it so");
    assert_eq!(bench.warnings(), [expected]);
}

/// Commands of the project come in place of the user's own; no commands do not.
#[rstest]
#[case::none("", "[]", &[], false, false)]
#[case::the_users("['a']", "[]", &["a"], false, false)]
#[case::the_projects("[]", "['b']", &["b"], true, false)]
#[case::both("['a']", "['b']", &["b"], true, true)]
fn the_project_may_not_take_commands_away(
    #[case] user: &str,
    #[case] project: &str,
    #[case] lines: &[&str],
    #[case] is_from_project: bool,
    #[case] replaces_own: bool,
) {
    let of_user = if user.is_empty() { String::new() } else { format!("worktree.teardown = {user}") };
    let mut bench = Bench::with(Layer::User, &of_user);
    bench.put(Layer::Project, &format!("worktree.teardown = {project}"));
    let commands = bench.load().settings.worktree.teardown;
    assert_eq!(commands.lines, lines);
    assert_eq!((commands.is_from_project && !lines.is_empty(), commands.replaces_own), (is_from_project, replaces_own));
    assert_eq!(bench.warnings(), [""; 0], "no list is no mistake");
    bench.put(Layer::Local, "worktree.teardown = ['c']");
    let commands = bench.load().settings.worktree.teardown;
    assert_eq!((commands.lines.as_slice(), commands.is_from_project), (&["c".to_owned()][..], false));
    assert!(!commands.replaces_own);
}

#[test]
fn the_project_may_tighten_and_trusted_layers_may_loosen_again() {
    let mut bench = Bench::with(Layer::User, "push.auto = true\ntranscript.store = 'prompts'");
    bench.put(Layer::Project, "push.auto = false\ntranscript.store = 'none'\njj = 'off'\nenabled = false");
    let settings = bench.load().settings;
    assert_eq!((settings.push.auto, settings.transcript.store, settings.jj), (false, Store::None, Jj::Off));
    assert!(!settings.enabled);
    bench.put(Layer::Local, "transcript.store = 'full'");
    assert_eq!(bench.load().settings.transcript.store, Store::Full);
    bench.put(Layer::Project, "transcript.store = 'full'");
    bench.put(Layer::Local, "");
    assert_eq!(bench.load().settings.transcript.store, Store::Prompts, "the user's choice stands");
}

#[test]
fn the_project_may_save_more() {
    let mut bench = Bench::with(
        Layer::Project,
        "[save]\nmax-file-size = '20 MiB'\nmax-untracked-files = 0\nmin-free-space = '100 MiB'",
    );
    let save = bench.load().settings.save;
    assert_eq!((save.max_file_size, save.max_untracked_files, save.min_free_space), (20 << 20, u64::MAX, 100 << 20));
    bench.put(Layer::User, "[save]\nmax-file-size = 0\nmin-free-space = 0");
    let save = bench.load().settings.save;
    assert_eq!((save.max_file_size, save.min_free_space), (u64::MAX, 0), "the user saves more still");
    assert_eq!(bench.warnings().len(), 2);
}

#[rstest]
#[case::not_set("", false)]
#[case::disabled("disable-multisession-warning = true", false)]
#[case::not_disabled("disable-multisession-warning = false", true)]
#[case::new_wins("disable-multisession-warning = false\nenable-multisession-warning = false", false)]
#[case::new_wins_first("enable-multisession-warning = true\ndisable-multisession-warning = true", true)]
fn the_old_name_is_read_inverted(#[case] text: &str, #[case] expected: bool) {
    for layer in [Layer::System, Layer::User, Layer::Project, Layer::Local] {
        let loaded = Bench::with(layer, text).load();
        assert_eq!(loaded.settings.enable_multisession_warning, expected);
        assert_eq!(loaded.warnings.len(), usize::from(text.contains("disable")));
    }
}

#[test]
fn the_old_name_obeys_the_order_of_layers_and_is_hinted_once() {
    let mut bench = Bench::with(Layer::User, "enable-multisession-warning = false");
    bench.put(Layer::Local, "disable-multisession-warning = false");
    bench.put(Layer::Git, "checkpoint.disable-multisession-warning=true");
    bench.put(Layer::Environment, "GIT_CHECKPOINT_DISABLE_MULTISESSION_WARNING=false");
    let loaded = bench.load();
    assert!(loaded.settings.enable_multisession_warning);
    assert_eq!(loaded.warnings.len(), 1);
    let hint = "'git checkpoint config migrate' makes 'enable-multisession-warning = true' of it";
    assert_eq!(loaded.warnings[0].hint.as_deref(), Some(hint));
}

#[test]
fn lenient_loading_uses_the_default_for_a_bad_key_and_keeps_the_rest() {
    let mut bench = Bench::with(Layer::User, "lock-timeout = 3\njj = 'off'");
    bench.put(Layer::Local, "lock-timeout = []\nlink = 'none'");
    bench.put(Layer::System, "= no toml");
    let loaded = load_lenient(&bench.sources);
    assert_eq!(loaded.settings.lock_timeout, Duration::from_secs(10));
    assert_eq!((loaded.settings.jj, loaded.settings.link), (Jj::Off, Link::None));
    assert_eq!(loaded.errors.len(), 2);
}

#[test]
fn home_is_expanded() {
    let bench = Bench::with(Layer::User, "worktree.dir = '~/wt'\nworktree.roots = ['~', '/x', 'a~']");
    let settings = bench.load().settings;
    assert_eq!(settings.worktree.dir, Path::new("/home/me/wt"));
    assert_eq!(settings.worktree.roots, [Path::new("/home/me"), Path::new("/x"), Path::new("a~")]);
    assert!(settings.save.protected_paths.contains(&PathBuf::from("/home/me/Desktop")));
}
