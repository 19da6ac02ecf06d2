//! Holds the map of `src/lib.rs`: which room may use which, that files do not import each other, who may name what, and how
//! long a file may be.

mod cycles;
mod imports;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// Room -> rooms it may use beside itself and `error`.
const MAY_USE: &[(&str, &[&str])] = &[
    // What it re-exports is the public surface.
    ("lib", &["config", "model", "ops"]),
    ("error", &[]),
    ("model", &[]),
    ("config", &["model"]),
    // `state` for the stat cache, which is a file of ours about what git holds.
    ("git", &["model", "state"]),
    ("state", &["model"]),
    ("ops", &["config", "git", "model", "state"]),
    ("agent", &["model"]),
    ("cli", &["agent", "config", "git", "model", "ops"]),
    // What git itself asks of us.
    ("remote", &["config", "git", "model", "ops"]),
    ("bin", &["cli", "remote"]),
    ("testing", &["agent", "config", "git", "model", "ops", "state"]),
];

/// Text -> the only rooms (or files) that may name it.
const ONLY_IN: &[(&str, &[&str])] = &[
    // The one way in: takes the lock of a worktree's checkpoints, and brings them up to date with HEAD.
    ("with_lock(", &["ops/enter.rs", "ops/worktree.rs"]),
    // `purge` takes the locks of all worktrees. The others take locks of other files.
    (
        "Lock::acquire(",
        &[
            "ops/enter.rs",
            "ops/agent_hooks/mod.rs",
            "ops/hooks/mod.rs",
            "ops/purge/locks.rs",
            "ops/records/append.rs",
            "ops/remotes/auto.rs",
            "ops/rounds/lock.rs",
            "ops/worktrees/lock.rs",
            "ops/worktrees/worktree_lock.rs",
            "state",
        ],
    ),
    // Each file that leaves the second half for later, and may do that: `ops::enter::Purpose` says why.
    ("catch_up(", &["ops/enter.rs", "ops/agents/tool.rs", "ops/commit.rs", "ops/guard/crashed.rs"]),
    ("clap::", &["cli"]),
    ("clap_complete::", &["cli"]),
    ("figment::", &["config"]),
    ("gix::Repository", &["git"]),
    ("process::Command", &["git/process.rs", "git/wire/programs.rs", "cli/external.rs"]),
    ("refs/checkpoints/", &["model/refname.rs", "model/refname/tests.rs", "cli"]),
    ("similar::", &["model"]),
    ("std::env::var", &["git/environment.rs", "cli/environment.rs", "state/failpoint.rs", "bin"]),
    ("stdout()", &["cli/output.rs", "cli/usage.rs", "remote"]),
];

/// Lines of a file, tests included.
const LIMIT: usize = 400;

/// Reviewed: files above the limit, each with why it is one thing.
const LONG_FILES: &[(&str, &str)] = &[];

#[test]
fn rooms_use_only_what_they_may() {
    let mut broken = Vec::new();
    for file in sources() {
        let allowed = MAY_USE.iter().find(|(room, _)| *room == file.room).map(|(_, rooms)| *rooms);
        let allowed = allowed.unwrap_or_else(|| panic!("'{}' is in no room of the table", file.name));
        for used in rooms_named_in(&file.code) {
            if used != file.room && used != "error" && !allowed.contains(&used.as_str()) {
                broken.push(format!("{}: uses '{used}'", file.name));
            }
        }
        let globs = file.code.lines().filter(|line| line.contains("::*;"));
        for glob in globs.filter(|line| !["use super::*;", "use proptest::prelude::*;"].contains(&line.trim())) {
            broken.push(format!("{}: '{}' hides what is used", file.name, glob.trim()));
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn some_names_belong_to_one_room() {
    let mut broken = Vec::new();
    for file in sources() {
        for (name, owners) in ONLY_IN {
            if file.code.contains(name) && !owners.iter().any(|owner| *owner == file.room || *owner == file.name) {
                broken.push(format!("{}: names '{name}', which is for {}", file.name, owners.join(", ")));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn files_are_short_and_say_what_they_are_for() {
    let mut broken = Vec::new();
    for file in sources() {
        let is_reviewed = LONG_FILES.iter().any(|(name, _)| *name == file.name);
        if (file.lines > LIMIT) != is_reviewed {
            broken.push(format!("{}: {} lines (the limit is {LIMIT}; exceptions are listed)", file.name, file.lines));
        }
        if !file.begins_with_doc {
            broken.push(format!("{}: does not open with '//!'", file.name));
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// All else that other programs may use is re-exported by name, so that the compiler finds what is dead.
#[test]
fn rooms_are_private() {
    let map = sources().into_iter().find(|file| file.name == "lib.rs").expect("the map is there");
    let public: Vec<&str> = map.code.lines().filter_map(|line| line.strip_prefix("pub mod ")).collect();
    assert_eq!(public, ["cli;", "remote;", "testing;"]);
}

#[test]
fn no_test_file_is_forgotten() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    for (index, folder) in [("main.rs", ""), ("ops/mod.rs", "ops")] {
        let text = fs::read_to_string(root.join(index)).expect("the index of the tests is readable");
        for file in files_below(&root.join(folder), false) {
            let stem = file.file_stem().and_then(|stem| stem.to_str()).expect("test files have plain names");
            let is_named = text.lines().any(|line| line.trim() == format!("mod {stem};"));
            assert!(is_named || ["main", "mod"].contains(&stem), "'{}' is not named in tests/{index}", file.display());
        }
    }
}

struct Source {
    /// Relative to `src`.
    name: String,
    room: String,
    /// Without comments.
    code: String,
    lines: usize,
    begins_with_doc: bool,
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files = files_below(&root, true);
    assert!(files.len() > 10, "the sources are where they are looked for");
    files.iter().map(|path| Source::read(&root, path)).collect()
}

impl Source {
    fn read(root: &Path, path: &Path) -> Self {
        let text = fs::read_to_string(path).expect("sources are UTF-8");
        let relative = path.strip_prefix(root).expect("it was found below the root");
        let name = relative.to_str().expect("sources have plain names").to_owned();
        let room = name.split('/').next().unwrap_or_default().trim_end_matches(".rs").to_owned();
        let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        Self {
            room,
            code: code.join("\n"),
            lines: text.lines().count(),
            begins_with_doc: text.starts_with("//!"),
            name,
        }
    }
}

/// Returns the first names after each `crate::`, also in groups: `crate::{a, b::{c, d}}`.
fn rooms_named_in(code: &str) -> BTreeSet<String> {
    let mut rooms = BTreeSet::new();
    for (start, found) in code.match_indices("crate::").chain(code.match_indices("git_checkpoint::")) {
        let rest = &code[start + found.len()..];
        let Some(group) = rest.strip_prefix('{') else {
            rooms.insert(word(rest));
            continue;
        };
        let mut depth = 0;
        let mut at_name = true;
        for (at, c) in group.char_indices() {
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' => at_name = depth == 0,
                c if c.is_whitespace() => {}
                _ if at_name && depth == 0 => {
                    rooms.insert(word(&group[at..]));
                    at_name = false;
                }
                _ => {}
            }
        }
    }
    rooms.remove("");
    rooms
}

fn word(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

fn files_below(folder: &Path, is_deep: bool) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder is readable") {
        let path = entry.expect("the folder is readable").path();
        if path.is_dir() && is_deep {
            files.extend(files_below(&path, true));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

#[test]
fn groups_are_read() {
    let names = rooms_named_in("use crate::{error::{Error, Kind},\n  model::path_text,\n git};\ncrate::ops::save()");
    assert_eq!(names.into_iter().collect::<Vec<_>>(), ["error", "git", "model", "ops"]);
}
