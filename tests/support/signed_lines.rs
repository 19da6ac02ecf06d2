//! People and agents at work in a repository with hooks, and what must be true of whose their lines are.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{World, dice::Dice};

/// Edits of people and agents in a repository with hooks; each line ends with the name of who wrote it.
pub(crate) struct SignedLines {
    pub(crate) world: World,
    pub(crate) dice: Dice,
    turns: BTreeMap<&'static str, u32>,
    number: u32,
    /// Lines were moved or indented: git counts some as added that were there before.
    pub(crate) is_rearranged: bool,
}

pub(crate) const SESSIONS: [&str; 2] = ["s1", "s2"];
pub(crate) const FILES: [&str; 2] = ["a.txt", "dir/b.txt"];

impl std::ops::Deref for SignedLines {
    type Target = World;

    fn deref(&self) -> &World {
        &self.world
    }
}

impl SignedLines {
    pub(crate) fn new(seed: u64) -> Self {
        let world = World::with_hooks();
        let mut work = Self { world, dice: Dice(seed), turns: BTreeMap::new(), number: 0, is_rearranged: false };
        for file in FILES {
            let text: String = (0..12).map(|_| work.line("human")).collect();
            work.write(file, text);
        }
        work.commit_all();
        work
    }

    pub(crate) fn line(&mut self, who: &str) -> String {
        self.number += 1;
        let mut word = || format!("{:08x}", self.dice.below(1 << 32));
        format!("{} {} {} {} {who}\n", word(), word(), word(), self.number)
    }

    pub(crate) fn read(&self, file: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.repo().join(file)).unwrap_or_default();
        text.split_inclusive('\n').map(str::to_owned).collect()
    }

    pub(crate) fn roll(&mut self, sides: usize) -> usize {
        self.dice.roll(sides)
    }

    /// Inserts and deletes lines as `who`.
    pub(crate) fn edit(&mut self, file: &str, who: &str) {
        let mut lines = self.read(file);
        for _ in 0..=self.roll(2) {
            let at = self.roll(lines.len() + 1);
            let gone = self.roll(3).min(lines.len() - at);
            let new: Vec<String> = (0..=self.roll(3)).map(|_| self.line(who)).collect();
            lines.splice(at..at + gone, new);
        }
        self.write(file, lines.concat());
    }

    /// Moves or indents some lines, which stay whose they are.
    pub(crate) fn rearrange(&mut self, file: &str) {
        self.is_rearranged = true;
        let mut lines = self.read(file);
        let start = self.roll(lines.len().max(1)).min(lines.len());
        let end = (start + 1 + self.roll(5)).min(lines.len());
        if self.roll(3) == 0 {
            for line in &mut lines[start..end] {
                line.insert_str(0, "  ");
            }
        } else {
            let block: Vec<String> = lines.drain(start..end).collect();
            let at = self.roll(lines.len() + 1);
            lines.splice(at..at, block);
        }
        self.write(file, lines.concat());
    }

    pub(crate) fn human(&mut self, file: &str) {
        self.edit(file, "human");
    }

    pub(crate) fn agent(&mut self, session: &'static str, file: &str) {
        self.turn(session, |work| work.edit(file, session));
    }

    /// A turn of `session`, in which it does `what`.
    pub(crate) fn turn(&mut self, session: &'static str, what: impl FnOnce(&mut Self)) {
        let turn = self.turns.entry(session).or_default();
        *turn += 1;
        let message = format!("turn {turn} of {session}");
        self.done(&["session", "prompt", session, "--agent", "claude-code", "--model", "m1", "--message", &message]);
        what(self);
        // It saves what has changed.
        self.done(&["session", "stop", session]);
    }

    pub(crate) fn commit_all(&self) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "step"]);
    }

    /// Each commit's sums are those of git, and each line is whose its last word says.
    pub(crate) fn check(&self) {
        self.check_lines();
    }

    /// The same, and that all commands agree on the last commit and every second one before it.
    pub(crate) fn check_all(&mut self) {
        for (commit, found) in self.check_lines().into_iter().step_by(2) {
            self.check_agreement_of(&commit, &found);
        }
    }

    /// Returns the attributions of all commits.
    fn check_lines(&self) -> Vec<(String, Value)> {
        let found = self.check_commits();
        for file in FILES {
            self.check_blame(file, &[]);
            self.check_blame(file, &["--rev", "HEAD"]);
        }
        found
    }

    /// Returns the attributions of all commits.
    pub(crate) fn check_commits(&self) -> Vec<(String, Value)> {
        let commits = self.git(&["rev-list", "HEAD"]);
        let check = |commit: &str| {
            let found = check_sums(&self.world, commit);
            for file in found["files"].as_array().expect("a list") {
                self.check_file(commit, file);
            }
            (commit.to_owned(), found)
        };
        commits.lines().map(check).collect()
    }

    pub(crate) fn check_file(&self, commit: &str, file: &Value) {
        let path = file["path"].as_str().expect("a path");
        if path == "f" || file["blob"].is_null() {
            return;
        }
        let repository = gix::open_opts(self.repo(), gix::open::Options::isolated()).expect("it opens");
        let place = format!("{commit}:{path}");
        let blob = repository.rev_parse_single(place.as_str()).expect("it is there").object().expect("readable");
        let text = String::from_utf8_lossy(&blob.data);
        let lines: Vec<&str> = text.lines().collect();
        for owner in file["owners"].as_array().expect("a list") {
            if self.is_rearranged && owner["owner"] == "base" {
                continue;
            }
            let number = |key: &str| usize::try_from(owner[key].as_u64().expect("a number")).expect("small");
            for line in &lines[number("start") - 1..number("end")] {
                assert_eq!(named(owner), last_word(line), "{commit} {path}: {line}\n{file:#}");
            }
        }
    }

    pub(crate) fn check_blame(&self, file: &str, options: &[&str]) {
        let found = self.json(&[&["blame", "--json", file], options].concat());
        let rev = options.get(1).copied().into_iter();
        let arguments: Vec<&str> = ["blame", "--line-porcelain"].into_iter().chain(rev).chain(["--", file]).collect();
        let porcelain = self.git(&arguments);
        let mut commits = Vec::new();
        let mut texts = Vec::new();
        for line in porcelain.lines() {
            let first = line.split(' ').next().unwrap_or_default();
            if first.len() == 40 && first.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                commits.push(first);
            }
            texts.extend(line.strip_prefix('\t'));
        }
        let mut at = 0;
        for group in found["lines"].as_array().expect("a list") {
            let number = |key: &str| usize::try_from(group[key].as_u64().expect("a number")).expect("small");
            assert_eq!(number("start"), at + 1);
            for line in at..number("end") {
                let zeros = "0".repeat(40);
                assert_eq!(group["commit"].as_str().unwrap_or(&zeros), commits[line], "{file}:{line}");
                assert_eq!(named(group), last_word(texts[line]), "{file}:{}: {}\n{group:#}", line + 1, texts[line]);
            }
            at = number("end");
        }
        assert_eq!(at, texts.len());
    }
}

pub(crate) fn last_word(line: &str) -> &str {
    line.rsplit(' ').next().unwrap_or_default()
}

/// Lines of a commit's file with who has them, by number.
type Owners = BTreeMap<u64, (Value, Value)>;

impl SignedLines {
    /// `blame`, `why` and `explain` agree with `attribution` on each commit.
    pub(crate) fn check_agreement(&mut self) {
        for commit in self.git(&["rev-list", "HEAD"]).lines() {
            let found = self.json(&["attribution", "--json", commit]);
            self.check_agreement_of(commit, &found);
        }
    }

    /// The same of one commit, whose attribution is `found`.
    pub(crate) fn check_agreement_of(&mut self, commit: &str, found: &Value) {
        if found["records"].as_array().is_some_and(|records| !records.is_empty()) {
            let explained = self.json(&["explain", "--json", commit]);
            for (ours, theirs) in [("agent", "agent_lines"), ("mixed", "mixed"), ("unknown", "unknown")] {
                assert_eq!(explained["lines"][ours], found["summary"][theirs], "{commit}: {explained:#}\n{found:#}");
            }
        }
        for file in found["files"].as_array().expect("a list").iter().filter(|file| !file["blob"].is_null()) {
            self.check_agreement_on(commit, file);
        }
    }

    fn check_agreement_on(&mut self, commit: &str, file: &Value) {
        let path = file["path"].as_str().expect("a path");
        let counted = owners(&file["owners"]);
        let blamed = self.json(&["blame", "--json", "--rev", commit, path]);
        let groups = blamed["lines"].as_array().expect("a list").iter();
        let of_commit: Vec<Value> = groups.filter(|group| group["commit"] == commit).cloned().collect();
        let blamed = owners(&Value::Array(of_commit));
        for (line, who) in &blamed {
            match counted.get(line) {
                // Only moved or reformatted: blame names the earlier owner.
                Some((kind, _)) if kind == "base" => {}
                Some(counted) => assert_eq!(who, counted, "{commit} {path}:{line}"),
                None => {}
            }
        }
        if let Some((line, who)) = blamed.iter().nth(self.roll(blamed.len().max(1))) {
            let place = format!("{path}:{line}");
            let why = self.json(&["why", "--json", "--rev", commit, &place]);
            assert_eq!((&why["owner"], &why["session"]), (&who.0, &who.1), "{commit} {place}");
        }
    }
}

fn owners(groups: &Value) -> Owners {
    let mut owners = Owners::new();
    for group in groups.as_array().expect("a list") {
        let number = |key: &str| group[key].as_u64().expect("a number");
        let who = (group["owner"].clone(), group["session"].clone());
        owners.extend((number("start")..=number("end")).map(|line| (line, who.clone())));
    }
    owners
}

/// The session, or the kind of who has no session.
pub(crate) fn named(owner: &Value) -> &str {
    owner["session"].as_str().or(owner["owner"].as_str()).expect("an owner")
}

/// What git counts in each file is what is counted; returns the attribution of the commit.
pub(crate) fn check_sums(world: &World, commit: &str) -> Value {
    let printed = world.git(&["show", "--numstat", "-M", "--format=", commit]);
    let mut expected: Vec<(u64, u64)> = Vec::new();
    for line in printed.lines().filter(|line| !line.is_empty()) {
        let mut fields = line.split('\t');
        let mut number = || fields.next().expect("a field").parse().unwrap_or(0);
        expected.push((number(), number()));
    }
    let found = world.json(&["attribution", "--json", commit]);
    let files = found["files"].as_array().expect("a list");
    let count = |file: &Value, key: &str| file[key].as_u64().expect("a number");
    let mut counted: Vec<(u64, u64)> =
        files.iter().map(|file| (count(file, "added"), count(file, "deleted"))).collect();
    let sum = |list: &[(u64, u64)]| list.iter().fold((0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
    let summary = |keys: &[&str]| keys.iter().map(|key| count(&found["summary"], key)).sum::<u64>();
    let added = summary(&["agent_lines", "human_added", "human_modified", "mixed", "unknown", "kept_added"]);
    let removed = summary(&["agent_removed", "human_removed", "unknown_removed", "kept_removed"]);
    assert_eq!((added, removed), sum(&expected), "{commit}: {found:#}");
    counted.sort_unstable();
    expected.sort_unstable();
    assert_eq!(counted, expected, "{commit}");
    for file in files {
        let of = |list: &str, lines: &dyn Fn(&Value) -> u64| {
            file[list].as_array().expect("a list").iter().map(lines).sum::<u64>()
        };
        let owned = of("owners", &|it| count(it, "end") + 1 - count(it, "start"));
        assert_eq!(owned, count(file, "added"));
        assert_eq!(of("deleted_by", &|it| count(it, "lines")), count(file, "deleted"));
    }
    found
}
