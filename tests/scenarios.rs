//! Runs `scenarios/<command>/<case>.sh` and compares its transcript with `<case>.out`.
//!
//! `UPDATE_SCENARIOS=1` writes the transcripts anew; the difference then shows in review. A scenario ends with
//! `git fsck --strict` and a check that nothing of the user's has moved (`support/scenario.sh`).

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Mutex,
};

use crate::support::{START, World};

#[test]
fn transcripts_are_as_written() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let scripts = scripts_below(&root.join("scenarios"));
    let is_update = std::env::var_os("UPDATE_SCENARIOS").is_some_and(|value| !value.is_empty());
    let wanted = std::env::var("SCENARIO").unwrap_or_default();
    let left = Mutex::new(scripts.iter().filter(|script| script.to_string_lossy().contains(&wanted)));
    let broken = Mutex::new(Vec::new());
    let work = || {
        loop {
            let Some(script) = left.lock().expect("no panic").next() else { break };
            let found = check(&root, script, is_update);
            broken.lock().expect("no panic").extend(found.map(|text| format!("{}:\n{text}", script.display())));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let mut broken = broken.into_inner().expect("no panic");
    broken.sort();
    assert!(broken.is_empty(), "{}\nUPDATE_SCENARIOS=1 accepts what is printed now", broken.join("\n"));
}

/// Runs one script and returns what is wrong with its transcript.
fn check(root: &Path, script: &Path, is_update: bool) -> Option<String> {
    let transcript = run(root, script);
    let expected_file = script.with_extension("out");
    if is_update {
        fs::write(&expected_file, &transcript).expect("the transcript can be written");
    }
    let expected = fs::read_to_string(&expected_file).unwrap_or_default();
    if transcript != expected {
        return Some(difference(&expected, &transcript));
    }
    let is_failed = transcript.lines().any(|line| line.starts_with("!!"));
    is_failed.then(|| format!("a check failed:\n{transcript}"))
}

#[test]
fn every_transcript_has_its_script() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
    for folder in folders(&root) {
        for entry in fs::read_dir(folder).expect("the folder is readable") {
            let path = entry.expect("the folder is readable").path();
            assert!(path.with_extension("sh").is_file(), "'{}' has no script", path.display());
        }
    }
}

/// Runs one script in a world of its own; ids and temporary paths in the result are stable.
fn run(root: &Path, script: &Path) -> String {
    let world = World::new();
    let output = world
        .command("bash")
        .arg("-c")
        .arg(". \"$1\"; . \"$2\"")
        .arg("scenario")
        .arg(root.join("support/scenario.sh"))
        .arg(script)
        .env("WORLD", world.root())
        .env("START_SECONDS", START.to_string())
        .output()
        .expect("bash runs");
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    if !errors.is_empty() {
        text.push_str(&format!("!! the script itself said:\n{errors}"));
    }
    let text = text.replace(world.root().to_str().expect("temporary paths are plain"), "$WORLD");
    without_measures(&text)
}

/// Times differ from run to run, and sizes on disk with the version of the compressor.
fn without_measures(text: &str) -> String {
    let mut out = text.to_owned();
    for key in ["\"duration_ms\":", "\"bytes\":"] {
        let parts: Vec<&str> = out.split(key).collect();
        let rest = |part: &&str| part.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').to_owned();
        let (first, others) = parts.split_first().expect("there is always one part");
        out = others.iter().fold((*first).to_owned(), |text, part| text + key + "N" + &rest(part));
    }
    let out = without_chance(&out);
    // Shadows are set aside at the time of the clock.
    let mut parts = out.split(ARCHIVE);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        text + ARCHIVE + if rest.starts_with('-') { "N" } else { &part[..part.len() - rest.len()] } + rest
    })
}

/// Records have random names, which change the ids of commits that name them; sessions go by the clock.
fn without_chance(text: &str) -> String {
    let is_hex = |word: &str, length: usize| word.len() == length && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut is_chance = false;
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        let (body, end) = line.strip_suffix('\n').map_or((line, ""), |body| (body, "\n"));
        for (at, word) in body.split(' ').enumerate() {
            out.push_str(if at > 0 { " " } else { "" });
            let before = &out[out[..].rfind('\n').map_or(0, |at| at + 1)..];
            let is_record =
                ["record ", "Checkpoint: ", "Record:  "].contains(&before) && is_hex(word, 16) && word != FIXED;
            is_chance |= is_record;
            let is_clock =
                word.len() == 25 && word.starts_with("20") && !word.starts_with("2025") && word.contains('T');
            // An import, a slash and an id name a checkpoint.
            let named = word.rfind('/').map_or(0, |at| at + 1);
            let id = word[named..].trim_end_matches(['\'', ':']);
            let is_commit = is_chance && (is_hex(id, 40) || is_hex(id, 8));
            if is_commit {
                out.push_str(&format!("{}N{}", &word[..named], &word[named + id.len()..]));
            } else {
                out.push_str(if is_record || is_clock { "N" } else { word });
            }
        }
        out.push_str(end);
    }
    out
}

/// The name of the record that a scenario lays down by hand.
const FIXED: &str = "0123456789abcdef";

const ARCHIVE: &str = "refs/checkpoints/archive/";

fn difference(expected: &str, found: &str) -> String {
    let at = expected.lines().zip(found.lines()).take_while(|(old, new)| old == new).count();
    let side = |text: &str, mark: char| {
        text.lines().skip(at).take(12).map(|line| format!("{mark}{line}\n")).collect::<String>()
    };
    format!("from line {}:\n{}{}", at + 1, side(expected, '-'), side(found, '+'))
}

fn scripts_below(root: &Path) -> Vec<PathBuf> {
    let mut scripts = Vec::new();
    for folder in folders(root) {
        for entry in fs::read_dir(folder).expect("the folder is readable") {
            let path = entry.expect("the folder is readable").path();
            if path.extension().is_some_and(|extension| extension == "sh") {
                scripts.push(path);
            }
        }
    }
    scripts.sort();
    scripts
}

fn folders(root: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(root).expect("tests/scenarios is readable");
    entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).filter(|path| path.is_dir()).collect()
}
