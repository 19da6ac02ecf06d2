//! Holds the manual and the command line together: each command has its page, each option its entry.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use crate::support::World;

/// Commands that are explained on the page of another.
const SHARED_PAGES: &[(&str, &str)] = &[("undo", "restore"), ("completions", ""), ("man", "")];

#[test]
fn every_command_and_option_is_in_the_manual() {
    let first_page = page("git-checkpoint.1");
    let mut missing = Vec::new();
    for option in long_options(&help(&[])) {
        if !first_page.contains(&option) {
            missing.push(format!("git-checkpoint.1: {option}"));
        }
    }
    let global = long_options(&help(&[]));
    for command in commands() {
        if !first_page.contains(&format!("git-checkpoint-{command}"))
            && !first_page.contains(&format!("checkpoint {command}"))
        {
            missing.push(format!("git-checkpoint.1: {command}"));
        }
        let shared = SHARED_PAGES.iter().find(|(name, _)| *name == command).map(|(_, page)| *page);
        let name = match shared.unwrap_or(&command) {
            "" => "git-checkpoint.1".to_owned(),
            name => format!("git-checkpoint-{name}.1"),
        };
        let text = page(&name);
        for option in long_options(&help(&[&command])) {
            if !global.contains(&option) && !text.contains(&option) {
                missing.push(format!("{name}: {option}"));
            }
        }
    }
    assert!(missing.is_empty(), "not in the manual:\n{}", missing.join("\n"));
}

#[test]
fn the_first_page_names_every_page() {
    let first_page = page("git-checkpoint.1");
    for name in page_names() {
        let (stem, section) = name.rsplit_once('.').expect("pages have a section");
        let is_named =
            stem == "git-checkpoint" || first_page.contains(&format!("{stem} {section}")) || first_page.contains(stem);
        assert!(is_named, "git-checkpoint.1 does not name {name}");
    }
}

#[test]
fn every_page_is_compiled_in() {
    let world = World::new();
    let directory = world.root().join("share/man");
    let output =
        world.checkpoint(&["man", "--install", "--directory", directory.to_str().expect("temporary paths are plain")]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for name in page_names() {
        let section = name.rsplit_once('.').expect("pages have a section").1;
        let installed = directory.join(format!("man{section}")).join(&name);
        let text = fs::read_to_string(&installed).unwrap_or_default().replace("\\-", "-");
        assert!(text == page(&name), "{name} is not the one of man/: is it listed in src/cli/man.rs?");
    }
}

#[test]
fn mandoc_finds_nothing() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("man");
    let output = Command::new("mandoc").arg("-Tlint").args(page_names()).current_dir(folder).output();
    // Not every machine has mandoc; `.ci/run` installs it.
    let Ok(output) = output else { return };
    assert!(output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stdout));
}

fn help(command: &[&str]) -> String {
    let output = World::new().checkpoint(&[command, &["--help"]].concat());
    assert!(output.status.success(), "{command:?} has help");
    String::from_utf8(output.stdout).expect("help is UTF-8")
}

fn commands() -> Vec<String> {
    let text = help(&[]);
    let list = text.split("Commands:\n").nth(1).expect("the help lists the commands");
    let names = list
        .lines()
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names: Vec<String> = names.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect();
    assert!(names.len() > 1, "the help lists the commands");
    names.into_iter().filter(|name| name != "help").collect()
}

/// Returns the long options that `help` explains, as the pages spell them.
fn long_options(help: &str) -> BTreeSet<String> {
    let mut options = BTreeSet::new();
    for line in help.lines().map(str::trim_start).filter(|line| line.starts_with('-')) {
        for word in line.split([' ', ',', '=', '[']).filter(|word| word.starts_with("--") && word.len() > 2) {
            options.insert(word.trim_end_matches('.').to_owned());
        }
    }
    options
}

/// Returns the source of a page with its escaped hyphens as plain ones.
fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("man").join(name);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
    text.replace("\\-", "-")
}

fn page_names() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("man");
    let entries = fs::read_dir(folder).expect("man/ is readable");
    let mut names: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.sort();
    names
}
