//! `git checkpoint round`: isolated work whose end loses nothing.

mod afterwards;
mod agents;
mod apart;
mod applies;
mod begun;
mod branches;
mod brought;
mod changes;
mod compares;
mod crashes;
mod ends;
mod groups;
mod isolated;
mod late;
mod mirrors;
mod previous;
mod pruned_copies;
mod races;
mod same_text;
mod starts;
mod unreported;
mod workspaces;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Output,
};

use serde_json::Value;

use crate::support::{World, program};

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Makes the directory `name` beside the repository, and returns its path.
fn folder(world: &World, name: &str) -> PathBuf {
    let path = world.root().join(name);
    fs::create_dir_all(&path).expect("a directory can be made");
    path
}

fn text(path: &Path) -> &str {
    path.to_str().expect("temporary paths are plain")
}

/// Begins a round on this repository in the workspace `ws`, with `more` options.
fn start(world: &World, more: &[&str]) -> Value {
    let workspace = folder(world, "ws");
    world.json(&[&["round", "start", "--context", ".", "--workspace", text(&workspace), "--json"], more].concat())
}

/// Returns the field `name` of the first directory of a round.
fn field<'v>(round: &'v Value, name: &str) -> &'v str {
    round["contexts"][0][name].as_str().unwrap_or_else(|| panic!("{name}: {round}"))
}

fn path(round: &Value) -> PathBuf {
    field(round, "path").into()
}

/// Ends `round`.
fn end(world: &World, round: &Value) -> Value {
    world.json(&["round", "end", round["round"].as_str().expect("it has an id"), "--json"])
}

/// Tries to end `round`, and returns what it says when that is refused: all of the round is as before.
fn refused(world: &World, round: &Value) -> String {
    let (root, id) = (path(round), round["round"].as_str().expect("it has an id"));
    let files = || {
        world.sh(&format!("cd '{}'; find . -path ./.git -prune -o -type f -exec cksum {{}} + | sort", root.display()))
    };
    let branch = field(round, "branch");
    let (before, tip) = (files(), world.git(&["rev-parse", branch]));
    let output = world.checkpoint(&["round", "end", id]);
    assert!(!output.status.success(), "{}", said(&output));
    assert_eq!((files(), world.git(&["rev-parse", branch])), (before, tip), "{}", said(&output));
    said(&output)
}

/// Runs the program with `arguments`, which ends at the failpoint `name`.
fn dies(world: &World, name: &str, arguments: &[&str]) {
    let output = world.command(program()).args(arguments).env("CHECKPOINT_FAILPOINT", name).output().expect("it runs");
    assert_eq!(output.status.code(), None, "{name}: {}", said(&output));
}

/// Returns all worktrees, branches and files of rounds that there are.
fn everything(world: &World) -> String {
    world.sh(
        "git worktree list --porcelain; git for-each-ref refs/heads; ls .git/checkpoint/rounds 2>/dev/null | grep -v lock || true
         find .. -path '*/.git' -prune -o -print | sort",
    )
}

fn is_anonymous(branch: &str) -> bool {
    let digits = branch.strip_prefix("agents/").unwrap_or_default();
    digits.len() == 8 && digits.bytes().all(|byte| byte.is_ascii_hexdigit() && !byte.is_ascii_uppercase())
}
