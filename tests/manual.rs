//! Holds the manual and the command line together: each command has its page, each option its entry.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use git_checkpoint::testing::agent::{dialects::ALL, event::Moment};

use crate::support::World;

/// Commands that are explained on the page of another.
const SHARED_PAGES: &[(&str, &str)] = &[
    ("undo", "op"),
    ("redo", "op"),
    ("prompts", "session"),
    ("disable", "enable"),
    ("hook", "enable"),
    ("fetch", "push"),
    ("import", "export"),
    ("sync", "push"),
    ("completions", ""),
    ("man", ""),
];

#[test]
fn every_command_and_option_is_in_the_manual() {
    let first_page = page("git-checkpoint.1");
    let mut missing = Vec::new();
    for option in long_options(&help(&[])) {
        if !has_word(&first_page, &option) {
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
            if !global.contains(&option) && !has_word(&text, &option) {
                missing.push(format!("{name}: {option}"));
            }
        }
    }
    assert!(missing.is_empty(), "not in the manual:\n{}", missing.join("\n"));
}

/// `git checkpoint --help` says of each command what it is for.
#[test]
fn every_command_is_described_in_the_list() {
    let text = help(&[]);
    for command in commands() {
        let described = text.lines().any(|line| {
            let mut words = line.split_whitespace();
            line.starts_with("  ") && words.next() == Some(&command) && words.any(|word| !word.starts_with('['))
        });
        assert!(described, "'{command}' has no description in:\n{text}");
    }
}

/// The manual and `-h` call values by the same names, and options in one way.
#[test]
fn the_synopsis_is_spelled_as_the_usage() {
    let mut wrong = Vec::new();
    let one = |command: &str| {
        SHARED_PAGES
            .iter()
            .find(|(name, _)| *name == command)
            .map_or(command.to_owned(), |(_, page)| (*page).to_owned())
    };
    let values = |text: &str| -> BTreeSet<String> {
        let inner = |part: &str| part.split_once('>').map(|(name, _)| name.to_owned());
        let ours = ["option", "action", "command"];
        text.split('<').skip(1).filter_map(inner).filter(|name| !ours.contains(&name.as_str())).collect()
    };
    for command in commands() {
        let name = one(&command);
        if name.is_empty() {
            continue;
        }
        let text = page(&format!("git-checkpoint-{name}.1"));
        let synopsis = text.split(".SH \"SYNOPSIS\"").nth(1).and_then(|rest| rest.split(".SH").next());
        let synopsis = synopsis.unwrap_or_default();
        let help = help(&[&command]);
        let usage = help.lines().skip_while(|line| !line.starts_with("Usage: ")).take_while(|line| !line.is_empty());
        let usage = usage.collect::<Vec<_>>().join("\n");
        if synopsis.contains("[<options>]") {
            wrong.push(format!("{name}: [<options>]"));
        }
        let alternatives = |value: &str| value.split('|').map(str::to_owned).collect::<Vec<_>>();
        for value in values(&usage).iter().flat_map(|value| alternatives(value)) {
            if !synopsis.contains(&format!("<{value}>")) {
                wrong.push(format!("{command}: <{value}> is not in the synopsis"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A file that is listed twice has two descriptions, which may contradict each other.
#[test]
fn each_file_is_listed_once() {
    let page = page("gitcheckpoint-format.5");
    let files = page.split(".SH \"FILES\"").nth(1).and_then(|rest| rest.split(".SH").next()).expect("it lists files");
    let mut seen = BTreeSet::new();
    for entry in files.split(".TP\n").skip(1) {
        let names = entry.lines().next().unwrap_or_default();
        assert!(names.contains("checkpoint/"), "'{names}' is no file");
        assert!(seen.insert(names), "'{names}' is listed twice");
    }
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
        "restore --all @{1}",
        "undo",
        "op log",
        "op show",
        "verify",
        "drop --dry-run @{0}",
        "reset",
        "reset --list",
        "prune --keep 0 --dry-run",
        "purge --dry-run nowhere",
    ];
    let page = page("git-checkpoint.1");
    let mut missing = BTreeSet::new();
    for command in commands {
        let words: Vec<&str> = command.split(' ').chain(["--json"]).collect();
        let output = world.checkpoint(&words);
        // 1 if a restore has kept everything.
        assert!(matches!(output.status.code(), Some(0 | 1)), "{command}: {}", String::from_utf8_lossy(&output.stderr));
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

/// Its times, ids and names are those of a scenario, but for what differs from run to run.
#[test]
fn the_transcript_of_the_readme_is_that_of_a_scenario() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = fs::read_to_string(root.join("README.md")).expect("it is there");
    let (_, shown) = readme.split_once("<!-- transcript -->\n```console\n").expect("a transcript");
    let (shown, _) = shown.split_once("```\n").expect("it ends");
    let printed = fs::read_to_string(root.join("tests/scenarios/workflows/readme.out")).expect("it is there");
    let plain = |text: &str| {
        let chance = regex::Regex::new(r"\d+ minutes? ago|\b[0-9a-f]{7,8}\b|\b[0-9a-f]{16}\b|\d{4}-\d\d-\d\d")
            .expect("a pattern");
        let text = chance.replace_all(text, "N").replace("A U Thor", "Ada").replace('\'', "");
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>()
    };
    assert_eq!(plain(shown), plain(&printed));
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
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).expect("it is there");
    let in_readme = readme.lines().filter_map(|line| line.strip_prefix("$ ")).filter(|line| !line.starts_with("..."));
    commands.extend(in_readme.map(|line| line.split("  #").next().unwrap_or_default().trim_end().to_owned()));
    // Where the order depends on how long something takes, the transcript is sorted.
    let run = |line: &'_ str| line.strip_prefix("$ ").map(|line| line.trim_end_matches(" | sort").to_owned());
    let run: std::collections::BTreeSet<String> = transcripts.lines().filter_map(run).collect();
    commands.retain(|command| !run.contains(command));
    assert!(commands.is_empty(), "no scenario runs: {commands:#?}");
}

/// Each agent has its entry, with its files; each entry is about an agent.
#[test]
fn every_agent_is_in_the_manual() {
    let page = page("gitcheckpoint-agents.7");
    let (_, entries) = page.split_once(".SH \"AGENTS\"").expect("the page has a section on agents");
    let entries = entries.split(".SH").next().unwrap_or_default().split(".TP\n\\fB").skip(1);
    let entries: Vec<(&str, &str)> = entries.filter_map(|entry| entry.split_once("\\fR")).collect();
    let names: BTreeSet<&str> = entries.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ALL.iter().map(|dialect| dialect.name).collect());
    for dialect in ALL {
        let (_, entry) = entries.iter().find(|(name, _)| *name == dialect.name).expect("it was just seen");
        for file in dialect.files {
            let is_named = entry.contains(&format!("\\fI{}\\fR", file.path));
            let is_below = entry.match_indices("\\fI").any(|(at, mark)| {
                let folder = entry[at + mark.len()..].split("\\fR").next().unwrap_or_default();
                folder.ends_with('/') && file.path.starts_with(folder)
            });
            assert!(is_named || is_below, "{}: '{}' is not in the manual", dialect.name, file.path);
            assert!(entry.contains(&format!("{}: ", file.scope.as_str())), "{}: scopes", dialect.name);
            if let Some((variable, _)) = file.relocated {
                assert!(entry.contains(&format!("${variable}")), "{}: ${variable}", dialect.name);
            }
        }
        let scopes: Vec<&str> = entry.lines().filter_map(|line| line.split(": ").next()).collect();
        let first =
            ["local", "user"].into_iter().find(|scope| dialect.files.iter().any(|it| it.scope.as_str() == *scope));
        assert!(dialect.files.is_empty() || scopes.get(1).copied() == first, "{}: {scopes:?}", dialect.name);
    }
    for moment in Moment::ALL {
        assert!(page.contains(&format!("\\fI{}\\fR", moment.as_str())), "{}", moment.as_str());
    }
}

#[test]
fn the_event_of_claude_code_is_taken() {
    let page = page("gitcheckpoint-agents.7").replace("\\-", "-");
    let (command, event) = page.split_once(" <<'END'\n").expect("an event");
    let command = command.rsplit_once("$ git checkpoint ").expect("a command").1;
    let event = event.split("END").next().unwrap_or_default();
    let world = World::with_commit();
    let repository = world.repo().to_str().expect("temporary paths are plain").to_owned();
    world.write("../event", event.replace("/home/dev/src/app", &repository));
    world.sh(&format!("git checkpoint {command} <../event"));
    assert!(world.done(&["prompts"]).contains("rename the module"));
}

#[test]
fn mandoc_finds_nothing() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("man");
    let output = Command::new("mandoc").arg("-Tlint").args(page_names()).current_dir(folder).output();
    // Not every machine has mandoc; `.ci/run` installs it.
    let Ok(output) = output else {
        #[expect(clippy::print_stderr, reason = "a test that is left out must be seen")]
        return eprintln!("SKIPPED: there is no mandoc to read the manual with");
    };
    assert!(output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn the_manual_shows_every_field_of_json() {
    let world = World::with_commit();
    world.sh(
        "git commit -q --amend -m 'Of others\n\nCheckpoint: 0123456789abcdef'; git remote add origin ../origin.git",
    );
    fs::create_dir_all(world.repo().join(".git/checkpoint/exchanges")).expect("made");
    world.write(".git/checkpoint/exchanges/origin", "[failure]\ntime = 1\nmessage = 'no answer'\n");
    world.git(&["config", "checkpoint.save.max-file-size", "10"]);
    world.git(&["mv", "f", "g"]);
    world.write("a", "1\n");
    world.write("big", "more than ten bytes\n");
    world.git(&["config", "filter.broken.clean", "false"]);
    world.git(&["config", "filter.broken.required", "true"]);
    fs::create_dir_all(world.repo().join(".git/info")).expect("made");
    world.write(".git/info/attributes", "unclean filter=broken\n");
    world.write("unclean", "1\n");
    world.git(&["init", "-q", "nested"]);
    world.git(&["-C", "nested", "commit", "-q", "--allow-empty", "-m", "nested"]);
    check_json(&world, "save", "save --session s1 --agent tester --json");
    world.done(&["enable", "--agent", "claude-code"]);
    // The hooks have names of their own, and the agent was heard.
    fs::remove_file(world.repo().join(".git/checkpoint/hooks.toml")).expect("it was written");
    world.write(".git/checkpoint/agents/claude-code", "stop 1\n");
    world.sh("git worktree add -q ../side && echo side >../side/a && git -C ../side checkpoint save -q");
    check_json(&world, "overlap", "overlap --json");
    check_json(&world, "status", "status --json");
    world.done(&["disable"]);
    check_json(&world, "list", "list --json");
    check_json(&world, "show", "show --json");
    check_json(&world, "diff", "diff --json --content base @");
    world.write("a", "2\n");
    check_json(&world, "restore", "restore --json --dry-run @");
    assert!(world.checkpoint(&["save"]).status.success());
    check_json(&world, "restore", "restore --json --all @{1}");
    check_json(&world, "undo\\fR, \\fBredo\\fR, \\fBop undo\\fR, \\fBop restore", "undo --json --all");
    check_json(&world, "undo\\fR, \\fBredo\\fR, \\fBop undo\\fR, \\fBop restore", "op restore --json --dry-run @{1}");
    check_json(&world, "op log\\fR, \\fBundo --list", "op log --json");
    check_json(&world, "verify", "verify --json");
    assert!(world.checkpoint(&["verify", "--reset"]).status.success());
    check_json(&world, "reset", "reset --json");
    check_json(&world, "reset --list", "reset --list --json");
    // What the last restore needs is not dropped, so another one must follow.
    world.write("a", "3\n");
    assert!(world.checkpoint(&["save"]).status.success());
    assert!(world.checkpoint(&["restore", "--all", "base"]).status.success());
    // The verified checkpoint stays.
    assert!(world.checkpoint(&["verify"]).status.success());
    assert!(world.checkpoint(&["reset"]).status.success());
    // A copy of a round that ended long ago goes.
    world.sh("mkdir -p .git/checkpoint/rounds/01234567/01234567-1-1000/.git");
    check_json(&world, "prune", "prune --keep 0 --older-than 1d --json");
    check_json(&world, "enable\\fR, \\fBdisable", "enable --agent claude-code --json");
    check_json(&world, "enable\\fR, \\fBdisable", "disable --json");
    check_events(&world);
}

/// Runs `line`, and compares the names of all fields with those of the entry `heading` in git-checkpoint.1.
///
/// Fields of paths that restores left alone, and those of bytes, are only there if there are any.
fn check_json(world: &World, heading: &str, line: &str) {
    let output = world.checkpoint(&line.split(' ').collect::<Vec<_>>());
    // 1 if all was kept.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    let value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{line}: {error}"));
    let mut found = BTreeSet::new();
    collect_keys(&value, &mut found);
    let page = page("git-checkpoint.1");
    let (_, entry) = page.split_once(&format!("\n.TP\n\\fB{heading}\\fR\n")).expect("the page has an entry");
    let entry = entry.split_once(".nf").and_then(|(_, rest)| rest.split_once(".fi")).expect("it shows an object").0;
    let mut shown: BTreeSet<String> = entry.split('"').skip(1).step_by(2).map(str::to_owned).collect();
    for name in ["why", "kept_as", "ref", "old", "new"] {
        if !found.contains(name) && ["restore", "undo"].iter().any(|word| heading.starts_with(word)) {
            shown.remove(name);
        }
    }
    assert_eq!(found, shown, "{line} beside git-checkpoint.1");
}

/// The same for the log of events and gitcheckpoint-format.5.
fn check_events(world: &World) {
    let page = page("gitcheckpoint-format.5");
    let (_, page) = page.split_once(".SH \"EVENTS\"").expect("the page has a section on events");
    let output = world.checkpoint(&["events", "--json"]).stdout;
    let mut names = BTreeSet::new();
    for line in String::from_utf8(output).expect("JSON is UTF-8").lines() {
        let event: serde_json::Value = serde_json::from_str(line).expect("a line is an object");
        let name = event["event"].as_str().expect("it has a name");
        let (_, entry) = page.split_once(&format!("\n.TP\n\\fB{name}\\fR\n")).unwrap_or_else(|| panic!("no {name}"));
        let entry = entry.split(".TP").next().unwrap_or_default();
        for key in event.as_object().expect("an object").keys() {
            let is_common = ["version", "time", "worktree", "event"].contains(&key.as_str());
            assert!(is_common || entry.contains(&format!("\\fI{key}\\fR")), "{name}: {key} is not described");
        }
        names.insert(name.to_owned());
    }
    assert!(names.len() >= 7, "{names:?}");
}

fn collect_keys(value: &serde_json::Value, keys: &mut BTreeSet<String>) {
    match value {
        serde_json::Value::Object(fields) => fields.iter().for_each(|(key, value)| {
            keys.insert(key.clone());
            collect_keys(value, keys);
        }),
        serde_json::Value::Array(items) => items.iter().for_each(|item| collect_keys(item, keys)),
        _ => {}
    }
}

/// Returns true if `word` stands in `text` and not just as a part of another option.
fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
    text.match_indices(word).any(|(at, _)| {
        let after = text[at + word.len()..].chars().next();
        !after.is_some_and(is_part)
    })
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
