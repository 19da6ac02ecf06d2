//! Compares the author that the program names for each line with the one who typed it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    common::{is_bracket, is_common},
    recorder::Recorder,
};

/// A line whose author is not the one that the program names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    /// Where the program was asked.
    pub(super) view: &'static str,
    /// The file and the line's number.
    pub(super) place: String,
    pub(super) text: String,
    /// The number of the step after which it was asked; none at the end.
    pub(super) step: Option<usize>,
    /// What the program says: `human`, a session, or another kind.
    pub(super) said: String,
}

/// The authors that the program names for all lines.
#[derive(Clone, Debug, Default)]
pub(super) struct Verdict {
    pub(super) lines: usize,
    pub(super) unknown: usize,
    /// The lines that several files of HEAD have.
    copied: BTreeSet<String>,
    pub(super) wrong: Vec<Wrong>,
    pub(super) trouble: Vec<String>,
}

impl Wrong {
    /// Returns who typed the line.
    pub(super) fn author(&self) -> &str {
        author(&self.text)
    }

    /// Returns the command that shows it.
    pub(super) fn question(&self) -> String {
        let path = self.place.split(':').next().unwrap_or_default();
        match self.view {
            "HEAD" => format!("git checkpoint blame --rev HEAD {path}\n"),
            "worktree" => format!("git checkpoint blame {path}\n"),
            "attribution of HEAD" => "git checkpoint attribution --patch HEAD\n".to_owned(),
            _ => "git checkpoint attribution --patch --worktree\n".to_owned(),
        }
    }

    /// Returns what is wrong with it, apart from where it is.
    pub(super) fn sort(&self) -> String {
        let plain = |name: &str| if name.starts_with('s') { "agent".to_owned() } else { name.to_owned() };
        let typed = if is_common(&self.text) { "another".to_owned() } else { plain(self.author()) };
        let said = plain(&self.said);
        if (typed.as_str(), said.as_str()) == ("agent", "agent") {
            return "agent's is another agent's".to_owned();
        }
        format!("{typed}'s is {said}")
    }
}

/// Returns whose the line `text` is: the words say it.
fn author(text: &str) -> &str {
    text.trim_start().split_once('x').map_or("nobody", |(name, _)| name)
}

/// Returns the authors who may have typed line `at` (from 0) of `lines`, a file at `path`; none if any may have.
fn authors<'l>(recorder: &'l Recorder, path: &str, lines: &[&'l str], at: usize) -> BTreeSet<&'l str> {
    let branch = recorder.branch();
    let of_line = |text: &'l str| {
        if is_common(text) { recorder.typed.authors(&branch, path, text) } else { BTreeSet::from([author(text)]) }
    };
    let Some(text) = lines.get(at) else { return BTreeSet::new() };
    let mut authors = of_line(text);
    if is_bracket(text) && !authors.is_empty() {
        let above = lines[..at].iter().rev().find(|line| !is_bracket(line));
        let below = lines[at..].iter().find(|line| !is_bracket(line));
        authors.extend([above, below].into_iter().flatten().flat_map(|line| of_line(line)));
    }
    authors
}

/// Asks about all lines of HEAD and of the worktree, in each worktree.
pub(super) fn check(recorder: &mut Recorder, verdict: &mut Verdict) {
    verdict.trouble.append(&mut recorder.trouble);
    let side = recorder.world.root().join("side");
    let places = [recorder.world.repo(), side];
    for place in places.into_iter().filter(|place| place.exists()) {
        recorder.place = place;
        if recorder.is_without_hooks {
            // Without a hook, the next command sees the commits, and readers write nothing.
            recorder.checkpoint(&["save", "-q"]);
        }
        check_place(recorder, verdict);
    }
}

/// Asks about all lines of HEAD in this worktree, after the step `number`.
pub(super) fn check_head(recorder: &Recorder, number: usize, verdict: &mut Verdict) {
    let before = verdict.wrong.len();
    let kept = check_commit(recorder, verdict);
    attribution(recorder, "HEAD", &kept, verdict);
    verdict.wrong[before..].iter_mut().for_each(|wrong| wrong.step = Some(number));
}

/// Asks `blame` about all lines of HEAD, and returns its files.
fn check_commit(recorder: &Recorder, verdict: &mut Verdict) -> BTreeMap<String, String> {
    let kept = recorder.committed();
    let mut lines = BTreeSet::new();
    let all = kept.values().flat_map(|text| text.lines());
    verdict.copied = all.map(str::trim).filter(|line| !lines.insert(*line)).map(str::to_owned).collect();
    for path in kept.keys() {
        blame(recorder, "HEAD", path, &kept, verdict);
    }
    kept
}

fn check_place(recorder: &Recorder, verdict: &mut Verdict) {
    let kept = check_commit(recorder, verdict);
    let now: BTreeMap<String, String> =
        recorder.files().into_iter().map(|path| (path.clone(), recorder.read(&path))).collect();
    for path in now.keys().filter(|path| kept.get(*path) != now.get(*path)) {
        blame(recorder, "worktree", path, &now, verdict);
    }
    attribution(recorder, "HEAD", &kept, verdict);
    if now != kept {
        attribution(recorder, "worktree", &now, verdict);
    }
    if let Some(status) = recorder.ask_checkpoint(&["status", "--json"]) {
        let status: Value = serde_json::from_str(&status).expect("it is JSON");
        verdict.trouble.extend(status["last_error"].as_str().map(str::to_owned));
    }
}

/// Judges `git checkpoint blame` of the file at `path` in `view`, where the files are `texts`.
fn blame(recorder: &Recorder, view: &'static str, path: &str, texts: &BTreeMap<String, String>, verdict: &mut Verdict) {
    if texts[path].is_empty() {
        return;
    }
    let mut arguments = vec!["blame", "--json", path];
    arguments.extend(if view == "HEAD" { ["--rev", "HEAD"].as_slice() } else { &[] });
    let Some(printed) = recorder.ask_checkpoint(&arguments) else {
        verdict.trouble.push(format!("blame of {path} in {view} fails"));
        return;
    };
    let blame: Value = serde_json::from_str(&printed).expect("it is JSON");
    judge(recorder, &blame["lines"], (view, path), texts, verdict);
}

/// Judges `git checkpoint attribution` of `view`, where the files are `texts`.
fn attribution(recorder: &Recorder, view: &'static str, texts: &BTreeMap<String, String>, verdict: &mut Verdict) {
    let what = if view == "HEAD" { "HEAD" } else { "--worktree" };
    let Some(printed) = recorder.ask_checkpoint(&["attribution", "--json", what]) else {
        verdict.trouble.push(format!("attribution of {view} fails"));
        return;
    };
    let report: Value = serde_json::from_str(&printed).expect("it is JSON");
    for file in report["files"].as_array().into_iter().flatten() {
        let path = file["path"].as_str().unwrap_or_default();
        let view = if view == "HEAD" { "attribution of HEAD" } else { "attribution of the worktree" };
        judge(recorder, &file["owners"], (view, path), texts, verdict);
    }
}

/// Judges `spans` of the lines of the file at `path`, where the files are `texts`.
fn judge(
    recorder: &Recorder,
    spans: &Value,
    (view, path): (&'static str, &str),
    texts: &BTreeMap<String, String>,
    verdict: &mut Verdict,
) {
    let lines: Vec<&str> = texts.get(path).into_iter().flat_map(|text| text.lines()).collect();
    let others = || texts.iter().filter(|(other, _)| *other != path).flat_map(|(_, text)| text.lines()).map(str::trim);
    for span in spans.as_array().into_iter().flatten() {
        let number = |key: &str| usize::try_from(span[key].as_u64().unwrap_or_default()).unwrap_or_default();
        let owner = span["owner"].as_str().unwrap_or_default();
        let said = if owner == "agent" { span["session"].as_str().unwrap_or("agent") } else { owner };
        for at in number("start")..=number("end") {
            let text = lines.get(at.saturating_sub(1)).copied().unwrap_or_default();
            let authors = authors(recorder, path, &lines, at.saturating_sub(1));
            let is_right = match owner {
                "agent" => authors.contains(said),
                "human" => authors.contains("person"),
                "base" | "moved" => view.starts_with("attribution"),
                _ => authors.len() > 1,
            };
            verdict.lines += 1;
            verdict.unknown += usize::from(owner == "unknown");
            // Git may put back a file that was renamed. That looks like a copy, whose author is the one who made it, also after
            // the first file has gone again.
            let is_copied = verdict.copied.contains(text.trim()) || others().any(|line| line == text.trim());
            let may_be_copied = is_copied && (owner != "agent" || !is_common(text));
            if !is_right && !authors.is_empty() && !may_be_copied {
                verdict.wrong.push(Wrong {
                    view,
                    place: format!("{path}:{at}"),
                    step: None,
                    text: text.to_owned(),
                    said: said.to_owned(),
                });
            }
        }
    }
}
