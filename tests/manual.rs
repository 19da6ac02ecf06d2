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
fn every_field_of_the_json_is_in_the_manual() {
    let world = World::new();
    world.git(&["init", "-q", "."]);
    let write = |name: &str, text: &[u8]| fs::write(world.repo().join(name), text).expect("a file can be written");
    write("a", b"1\n");
    write(".git/config", b"[core]\n\trepositoryformatversion = 0\n[checkpoint \"save\"]\n\tmax-file-size = 9\n");
    world.checkpoint(&["save", "--session", "s"]);
    write("a", b"2\n");
    write("large", b"more than nine bytes\n");
    fs::create_dir(world.repo().join("empty")).expect("a directory can be made");
    let commands = [
        "save",
        "status",
        "list",
        "show",
        "diff --content @{1}",
        "restore --dry-run @{1}",
        "restore @{1}",
        "undo",
        "verify",
        "reset",
        "reset --list",
        "prune --keep 0 --dry-run",
    ];
    let page = page("git-checkpoint.1");
    let mut missing = BTreeSet::new();
    for command in commands {
        let words: Vec<&str> = command.split(' ').chain(["--json"]).collect();
        let output = world.checkpoint(&words);
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        for line in output.stdout.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            let value = serde_json::from_slice(line).expect("it is JSON");
            let mut fields = BTreeSet::new();
            collect_fields(&value, &mut fields);
            assert!(!fields.is_empty(), "{command} has fields");
            let is_missing =
                |field: &String| !page.contains(&format!("\"{field}\"")) && !page.contains(&format!("\\fI{field}\\fR"));
            missing.extend(fields.into_iter().filter(is_missing).map(|field| format!("{command}: {field}")));
        }
    }
    assert!(missing.is_empty(), "not in git-checkpoint.1: {missing:?}");
}

fn collect_fields(value: &serde_json::Value, fields: &mut BTreeSet<String>) {
    match value {
        serde_json::Value::Object(map) => {
            fields.extend(map.keys().cloned());
            map.values().for_each(|value| collect_fields(value, fields));
        }
        serde_json::Value::Array(items) => items.iter().for_each(|value| collect_fields(value, fields)),
        _ => {}
    }
}

#[test]
fn every_workflow_is_run_by_a_scenario() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios/workflows");
    let mut transcripts = String::new();
    for entry in fs::read_dir(folder).expect("the folder is readable") {
        let path = entry.expect("the folder is readable").path();
        if path.extension().is_some_and(|extension| extension == "out") {
            transcripts.push_str(&fs::read_to_string(path).expect("transcripts are UTF-8"));
        }
    }
    let page = page("gitcheckpoint-workflows.7");
    let mut lines = page.lines().peekable();
    let mut commands = Vec::new();
    while let Some(line) = lines.next() {
        let Some(command) = line.strip_prefix("$ ") else { continue };
        let mut command = command.to_owned();
        while let Some(more) = lines.next_if(|line| line.starts_with("      ")) {
            command = format!("{} {}", command.trim_end_matches("\\e").trim_end(), more.trim_start());
        }
        commands.push(command);
    }
    assert!(commands.len() > 10, "the page has commands");
    commands.retain(|command| !transcripts.lines().any(|line| line.strip_prefix("$ ") == Some(command)));
    assert!(commands.is_empty(), "no scenario runs: {commands:#?}");
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
