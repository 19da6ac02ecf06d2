//! What sessions cost: prompts, and commits with our hooks, however many sessions and records there are.

use std::{
    fs,
    io::{BufWriter, Write},
    process::{Command, Stdio},
};

use crate::{
    Arguments, Result, corpus,
    lab::{Lab, SESSION, SESSION_WITH_TOOLS, State},
    plan::{Goal, MAIN, Plan, SMALL, Stage},
};

const ARCHIVED: usize = 500;
const RECORDS: usize = 20_000;
/// What a repository in which nothing of that has happened may be ahead, in milliseconds.
const FLAT: f64 = 5.0;

/// The repositories that differ in what has happened in them: ended sessions, archived shadows and records.
const PASTS: [(&str, usize, usize, usize); 5] = [
    ("nothing before", 0, 0, 0),
    ("500 ended sessions", 500, 0, 0),
    ("5,000 ended sessions", 5_000, 0, 0),
    ("500 archived shadows", 0, ARCHIVED, 0),
    ("20,000 records", 0, 0, RECORDS),
];

/// Returns what is to be measured, with the repositories it takes.
pub(crate) fn stage(plan: &mut Plan, arguments: &Arguments) -> Result<Stage> {
    const PROMPT: [&str; 6] = ["checkpoint", "session", "prompt", SESSION, "-m", "go on"];
    const COMMIT: [&str; 4] = ["git", "commit", "-qm", "work"];
    const PLAIN: [&str; 6] = ["git", "-c", "core.hooksPath=/dev/null", "commit", "-qm", "work"];
    let mut stage = Stage { rounds: usize::MAX, ..Stage::default() };
    stage.case("git status -uall", MAIN, State::Settled, &["git", "status", "--porcelain", "-uall"]);
    stage.case("prompt, large", MAIN, State::Waiting, &PROMPT);
    stage.case("commit of a session", MAIN, State::SessionWork, &COMMIT);
    stage.case("commit of one's own", MAIN, State::OwnWork, &COMMIT);
    stage.case("commit of one's own in a turn", MAIN, State::OwnWorkInTurn, &COMMIT);
    stage.case("git commit", MAIN, State::OwnWork, &PLAIN);
    stage.row("session prompt, clean", "prompt, large", "git status -uall", Goal::Factor(0.8));
    stage.row("session commit", "commit of a session", "git commit", Goal::More(20.0));
    stage.row("commit without session work", "commit of one's own", "git commit", Goal::More(6.0));
    stage.row("the same in the middle of a turn", "commit of one's own in a turn", "git commit", Goal::None);
    tools(plan, &mut stage);
    let first = plan.labs.len();
    let none = PASTS[0].0;
    stage.case("git commit, small", SMALL, State::OwnWork, &PLAIN);
    for (at, (name, ..)) in PASTS.iter().enumerate() {
        stage.case(&format!("prompt, {name}"), first + at, State::Waiting, &PROMPT);
        stage.case(&format!("session commit, {name}"), first + at, State::SessionWork, &COMMIT);
        stage.case(&format!("own commit, {name}"), first + at, State::OwnWork, &COMMIT);
        let kinds = [("session prompt", "prompt"), ("session commit", "session commit"), ("own commit", "own commit")];
        for (work, case) in kinds.iter().filter(|_| at > 0) {
            let (work, ours, theirs) =
                (format!("{work}: {name}"), format!("{case}, {name}"), format!("{case}, {none}"));
            stage.row(&work, &ours, &theirs, Goal::More(FLAT));
        }
    }
    let theirs = "git commit, small";
    stage.row("session commit, 10,000 files", &format!("session commit, {none}"), theirs, Goal::More(20.0));
    stage.row("own commit, 10,000 files", &format!("own commit, {none}"), theirs, Goal::More(6.0));
    stage.keep(arguments.only.as_deref());
    if stage.cases.iter().any(|case| case.lab >= first) {
        let small = plan.labs[SMALL].root().to_owned();
        for (at, (_, sessions, archived, records)) in PASTS.into_iter().enumerate() {
            let root = corpus::clone(&arguments.cache, &small, &format!("past{at}"))?;
            let mut lab = Lab::new(root, &arguments.binary)?;
            lab.enter(State::SessionWork)?;
            write_sessions(&lab, sessions)?;
            write_past(&lab, archived, records)?;
            lab.settle()?;
            plan.labs.push(lab);
        }
    }
    Ok(stage)
}

/// What agents wait for before and after each of their tools.
fn tools(plan: &Plan, stage: &mut Stage) {
    let file = plan.labs[MAIN].path(0);
    let event =
        |event: &str, tool: &str| format!(r#"{{"event":"{event}","session":"{SESSION_WITH_TOOLS}","tool":{tool}}}"#);
    let (write, shell) = (format!(r#"{{"name":"write","paths":["{file}"]}}"#), r#"{"name":"shell"}"#);
    stage.case("git --version", MAIN, State::Settled, &["git", "--version"]);
    stage.case("before a tool", MAIN, State::Prompted, &["hook", &event("pre-tool", &write)]);
    stage.case("after a tool", MAIN, State::Edited, &["hook", &event("post-tool", &write)]);
    stage.case("after a shell", MAIN, State::Edited, &["hook", &event("post-tool", shell)]);
    stage.row("hook before a tool that names its file", "before a tool", "git --version", Goal::Factor(3.0));
    stage.row("hook after it, 1 file changed", "after a tool", "git --version", Goal::Factor(3.0));
    stage.row("hook after a shell command", "after a shell", "git status -uall", Goal::Factor(0.8));
}

/// Writes `count` sessions that have ended.
fn write_sessions(lab: &Lab, count: usize) -> Result<()> {
    let folder = lab.root().join(".git/checkpoint/sessions");
    let model = fs::read_to_string(folder.join(format!("{SESSION}.toml")))?;
    // A turn under way is in the worktree's file: for its own, the session is idle.
    let idle = "phase = \"idle\"";
    if !model.contains(idle) {
        return Err(format!("the session is not idle: {model}").into());
    }
    let model = model.replace(idle, "phase = \"ended\"");
    for number in 0..count {
        let id = format!("ended-{number}");
        let text = model.replace(&format!("id = \"{SESSION}\""), &format!("id = \"{id}\""));
        fs::write(folder.join(format!("{id}.toml")), text)?;
    }
    Ok(())
}

/// Makes `archived` shadows that were set aside with work that is in no record, and `records` records.
fn write_past(lab: &Lab, archived: usize, records: usize) -> Result<()> {
    let reference = lab.shadow_ref()?;
    let head = lab.git_output(&["rev-parse", "HEAD"])?.trim().to_owned();
    let model = lab.git_output(&["cat-file", "commit", &reference])?;
    let (_, message) = model.split_once("\n\n").ok_or("a commit without a message")?;
    let mut import = Command::new("git")
        .args(["fast-import", "--quiet", "--force"])
        .current_dir(lab.root())
        .stdin(Stdio::piped())
        .spawn()?;
    let mut input = BufWriter::new(import.stdin.take().ok_or("no pipe to git fast-import")?);
    for number in 0..archived {
        let name = format!("refs/checkpoints/archive/{}-{number:012x}", 1_700_000_000 + number);
        begin(&mut input, &name, message, Some(&head))?;
        let content = format!("what was set aside with the number {number}\n");
        file(&mut input, lab.path(number % lab.len()), &content)?;
    }
    if records > 0 {
        begin(&mut input, "refs/checkpoints/history", "records\n", None)?;
    }
    for number in 0..records {
        // Spread over the shards as random ids are.
        let id = format!("{:016x}", (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let hex = format!("{id}{id}{}", &id[..8]);
        let (shard, rest) = id.split_at(2);
        let record = format!(
            "version = 1\nid = \"{id}\"\nrevision = 1\ncommit = \"{hex}\"\ntree = \"{hex}\"\nseconds = 1700000000\n\
             base = \"{head}\"\nworktree = \"main\"\ntool = \"0.1.0\"\n\n[counts]\nagent = 1\nhuman = 0\nmixed = 0\n\
             unknown = 0\nagent-removed = 0\nhuman-removed = 0\n"
        );
        file(&mut input, &format!("{shard}/{rest}/record.toml"), &record)?;
        file(&mut input, &format!("{shard}/{rest}/attribution"), "attribution 1\n")?;
        file(&mut input, &format!("{shard}/{rest}/links/{hex}"), "version = 1\nhow = \"commit\"\n")?;
        for index in ["commits", "parents"] {
            file(&mut input, &format!("{index}/{}/{}", &hex[..2], &hex[2..]), &format!("{id}\n"))?;
        }
    }
    drop(input);
    if !import.wait()?.success() {
        return Err("git fast-import has failed".into());
    }
    Ok(())
}

fn begin(input: &mut impl Write, name: &str, message: &str, from: Option<&str>) -> Result<()> {
    writeln!(input, "commit {name}\ncommitter Bench <bench@example.com> 1700000000 +0000")?;
    writeln!(input, "data {}\n{message}", message.len())?;
    if let Some(from) = from {
        writeln!(input, "from {from}")?;
    }
    Ok(())
}

fn file(input: &mut impl Write, path: &str, content: &str) -> Result<()> {
    Ok(writeln!(input, "M 100644 inline {path}\ndata {}\n{content}", content.len())?)
}
