//! Tests of the room as a whole: files, layers and edits on disk.

use std::path::{Path, PathBuf};
use std::time::Duration;

use proptest::prelude::*;
use rstest::rstest;

use super::keys::KEYS;
use super::*;
use crate::error::Kind;

/// A directory with a file per layer.
struct Bench {
    directory: tempfile::TempDir,
    sources: Sources,
}

impl Bench {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory can be made");
        let path = |name: &str| Some(directory.path().join(name));
        let sources = Sources {
            system: path("system.toml"),
            user: path("user.toml"),
            project: path(PROJECT_FILE),
            local: path("local.toml"),
            home: Some("/home/me".into()),
            ..Sources::default()
        };
        Self { directory, sources }
    }

    fn with(layer: Layer, text: &str) -> Self {
        let mut bench = Self::new();
        bench.put(layer, text);
        bench
    }

    /// Gives `layer` what `text` says: TOML for files, else lines of `key=value`.
    fn put(&mut self, layer: Layer, text: &str) {
        let pairs = || {
            text.lines().map(|line| match line.split_once('=') {
                Some((key, value)) => (key.to_owned(), Some(value.to_owned())),
                None => (line.to_owned(), None),
            })
        };
        let full = |(key, value): (String, Option<String>)| (key, value.unwrap_or_default());
        match layer {
            Layer::Git => self.sources.git.extend(pairs().map(|(key, value)| GitEntry {
                key,
                value,
                origin: "file:.git/config".to_owned(),
            })),
            Layer::Environment => self.sources.environment.extend(pairs().map(full)),
            Layer::Flag => self.sources.flags.extend(pairs().map(full)),
            file => std::fs::write(self.path(file), text).expect("the bench is writable"),
        }
    }

    fn path(&self, layer: Layer) -> PathBuf {
        self.sources.file(layer).expect("the bench has all files").to_owned()
    }

    fn read(&self, layer: Layer) -> String {
        std::fs::read_to_string(self.path(layer)).expect("the test has written it")
    }

    fn load(&self) -> Loaded {
        load(&self.sources).expect("the test's settings are sound")
    }

    /// Returns the error with the bench's directory left out.
    fn error(&self) -> String {
        let error = load(&self.sources).expect_err("the test's settings are bad");
        assert_eq!(error.kind(), Kind::Config);
        self.short(error.message())
    }

    fn warnings(&self) -> Vec<String> {
        self.load().warnings.iter().map(|warning| self.short(&warning.message)).collect()
    }

    fn short(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.directory.path().display()), "")
    }
}

#[test]
fn defaults_are_complete_and_sound() {
    let loaded = load(&Sources::default()).expect("the defaults are sound");
    assert_eq!(loaded.warnings, []);
    let names: Vec<_> = loaded.origins.iter().map(|origin| origin.key).collect();
    let known: Vec<_> = KEYS.iter().map(|key| key.name).collect();
    assert_eq!(names, known);
    assert!(loaded.origins.windows(2).all(|pair| pair[0].line < pair[1].line), "keys are in the file's order");
    let settings = loaded.settings;
    assert_eq!(settings, Settings::default());
    assert!(settings.enabled && !settings.enable_multisession_warning && settings.transcript.redact);
    assert_eq!(settings.lock_timeout, Duration::from_secs(10));
    assert_eq!(settings.save.max_file_size, Some(ByteSize(10 << 20)));
    assert_eq!(settings.save.protected_paths, [Path::new("/")], "paths below an unknown home are dropped");
    assert_eq!((settings.archive.keep_days, settings.archive.keep_count), (Some(30), None));
    assert_eq!((settings.ui.pager, settings.push.remote), (None, None));
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
            keys::Kind::Choice(names) => names.to_vec(),
            keys::Kind::Bool => vec!["true", "false"],
            keys::Kind::Count | keys::Kind::Size | keys::Kind::Duration => vec!["0", "9223372036854775807"],
            keys::Kind::Text | keys::Kind::List => vec!["~/x"],
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
fn every_key_and_variable_is_in_the_man_page() {
    let page = include_str!("../../man/git-checkpoint-config.5").replace('\\', "");
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
        assert!(text.contains(&format!("Default: {default}.")), "{}: no 'Default: {default}.' in {text}", origin.key);
        let key = keys::find(origin.key).expect("origins name known keys");
        let is_marked = text.contains("untrusted");
        assert_eq!(is_marked, key.is_restricted_in_project(), "{} in the page", origin.key);
    }
}

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
#[case::jj("jj = 'manage'")]
#[case::bad_type("transcript.redact = 'no'")]
fn the_project_may_not_loosen(#[case] text: &str) {
    let bench = Bench::with(Layer::Project, text);
    assert_eq!(bench.load().settings, Bench::new().load().settings);
    let key = text.split(' ').next().unwrap_or(text);
    let expected = format!("'{key}' in '.checkpoint.toml', line 1 is ignored: the project's file may not set it so");
    assert_eq!(bench.warnings(), [expected]);
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
    assert_eq!(loaded.warnings[0].hint.as_deref(), Some("write 'enable-multisession-warning = true' instead"));
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
    edit::create(Layer::User, &bench.path(Layer::User)).expect("the bench is writable");
    let loaded = bench.load();
    assert!(loaded.warnings.is_empty() && loaded.origins.iter().all(|origin| origin.layer == Layer::Default));
    let text: String = bench
        .read(Layer::User)
        .lines()
        .map(|line| {
            let is_key = line.starts_with('#') && !line.starts_with("# ");
            format!("{}\n", if is_key { &line[1..] } else { line })
        })
        .collect();
    assert_eq!(text, DEFAULTS);
    edit::set(Layer::User, &bench.path(Layer::User), "save.exclude", &["x".to_owned()]).expect("it can be set");
    assert_eq!(bench.load().settings.save.exclude, ["x"]);
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
        let _ = edit::check(&key, &[value.clone()]);
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
