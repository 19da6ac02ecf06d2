//! `git checkpoint blame`: who wrote each line of a file.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::{OsStr, OsString},
};

use bstr::ByteSlice as _;
use gix::ObjectId;

use super::{
    Exit, attribution,
    call::Call,
    from_root::{self, Form},
    layout,
    output::printable,
    phrase,
    sessions_in_table::Sessions,
};
use crate::{
    error::Result,
    model::{attribution::kind::Kind, moment, path_text::shell_word},
    ops::{
        attribution::Who,
        blame::{self, Blame, BlamedLines},
    },
};

/// Show who wrote each line of a file: the commit as git blame has it, the agent's session and turn
#[derive(clap::Args, Debug)]
#[command(name = "blame")]
pub(super) struct BlameCommand {
    /// The file
    #[arg(value_name = "file")]
    file: OsString,
    /// Only these lines, as git-blame(1) takes them; may be given more than once
    #[arg(short = 'L', value_name = "range")]
    ranges: Vec<String>,
    /// The file as a commit has it, not the worktree
    #[arg(long, value_name = "commit")]
    rev: Option<String>,
    /// Look through changes of blanks
    #[arg(short = 'w')]
    whitespace: bool,
    /// Print the result as JSON
    #[arg(long, conflicts_with = "porcelain")]
    json: bool,
    /// Print the result in a form for scripts that stays as it is
    #[arg(long)]
    porcelain: bool,
}

impl BlameCommand {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.context()?;
        let path = Call::paths(&context.repo, std::slice::from_ref(&self.file))?.pop().unwrap_or_default();
        let options = blame::Options { path, rev: self.rev, ranges: self.ranges, ignores_whitespace: self.whitespace };
        let found = blame::blame(&context, &options).map_err(|error| {
            let (rev, path) = (options.rev.as_deref(), options.path.as_bstr());
            if let Some(hint) = hint_at_line(&self.file) {
                return error.with_hint(hint);
            }
            let error = from_root::with_hint(error, &context, &[self.file], rev, Form::Path);
            if rev.is_some() { error } else { from_root::with_deleted_hint(error, &context, path) }
        })?;
        call.out.unreadable_records(&found.troubles);
        if self.json {
            call.out.json(&found)?;
        } else if self.porcelain {
            let no_commit = "0".repeat(context.repo.object_hash().len_in_hex());
            found.lines.iter().try_for_each(|lines| print_porcelain(lines, &no_commit, call))?;
        } else {
            call.start_pager(&context)?;
            print(&found, context.repo.object_hash(), call)?;
        }
        if !found.are_turns_known && found.lines.iter().any(|lines| lines.commit.is_none()) {
            call.out
                .warning("it is not known which turns are open: lines that no checkpoint has are of unknown authors");
            call.out.hint("'git checkpoint doctor' names the file");
        }
        if !self.json && !self.porcelain {
            of_others(&found, call);
        }
        let unknown = || found.lines.iter().filter(|lines| lines.who.owner == Kind::Unknown);
        if !self.json && !self.porcelain && unknown().next().is_some() {
            let commits: BTreeSet<ObjectId> = unknown().filter_map(|lines| lines.commit).collect();
            call.say_what_lacks(&found.lacking);
            call.hint_at_unrecorded(&context, &commits.into_iter().collect::<Vec<_>>());
        }
        Ok(Exit::Done)
    }
}

/// Says which remotes have named authors of lines.
fn of_others(found: &Blame, call: &mut Call) {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for lines in &found.lines {
        let Some(remote) = &lines.record_remote else { continue };
        *counts.entry(remote).or_default() += lines.contents.len();
    }
    for (remote, count) in counts {
        let count = phrase::count(count, "line");
        call.out.aside(&format!("the authors of {count} were recorded in '{}', not in this clone", printable(remote)));
    }
}

/// Returns what to type instead of `file` if that is a file of the worktree with the number of a line.
fn hint_at_line(file: &OsStr) -> Option<String> {
    let (path, line) = file.to_str()?.rsplit_once(':')?;
    let is_it = line.parse::<u32>().is_ok_and(|line| line > 0) && std::fs::symlink_metadata(path).is_ok();
    let path = shell_word(path);
    is_it.then(|| format!("'git checkpoint blame -L {line},{line} {path}' or 'git checkpoint why {path}:{line}'"))
}

/// The least columns of a name, and of a part of a line of the file.
const LEAST_NAME: usize = 12;
const LEAST_TEXT: usize = 16;

fn print(found: &Blame, hash: gix::hash::Kind, call: &mut Call) -> Result<()> {
    let columns = call.out.columns();
    let is_narrow = layout::is_narrow(columns);
    let sessions = Sessions::new(found.lines.iter().filter_map(|lines| lines.who.session.as_deref()));
    let most = columns.map_or(usize::MAX, |columns| {
        let least = found.lines.iter().map(|lines| least_name(lines, &sessions)).max().unwrap_or(0);
        (columns / 4).max(LEAST_NAME).max(least.min(columns / 2))
    });
    let names: Vec<String> = found.lines.iter().map(|lines| name(lines, &sessions, most)).collect();
    let width = names.iter().map(|name| layout::width(name)).max().unwrap_or(0);
    let digits = found.lines.last().map_or(1, |last| last.end.to_string().len());
    // Many lines are of one commit, and each abbreviation takes a search through the objects.
    let commits: BTreeSet<Option<ObjectId>> = found.lines.iter().map(|lines| lines.commit).collect();
    let mut ids: BTreeMap<_, _> = commits.into_iter().map(|commit| (commit, id(commit, hash, call))).collect();
    let longest = ids.values().map(String::len).max().unwrap_or(0);
    for id in ids.values_mut() {
        *id = call.out.paint(phrase::ID, &format!("{id:<longest$}"));
    }
    for (lines, name) in found.lines.iter().zip(names) {
        let id = &ids[&lines.commit];
        let padding = " ".repeat(width - layout::width(&name));
        let kind = lines.who.owner;
        let owner = if is_narrow { attribution::letter(kind).to_string() } else { format!("{:<7}", kind.as_str()) };
        let who = call.out.paint(attribution::style(kind), &format!("{owner} {name}"));
        let time = moment::iso(lines.authored, 0);
        let day = if lines.commit.is_some() { time.split('T').next().unwrap_or_default() } else { "now" };
        let day = if is_narrow { String::new() } else { format!("{day:<10} ") };
        for (number, content) in (lines.start..).zip(&lines.contents) {
            let before = format!("{id} {who}{padding} {day}{number:>digits$}) ");
            let text = attribution::visible(content);
            let indent = layout::width(&before);
            // Nothing of the line is cut: what does not fit stands below.
            let room = columns.map_or(usize::MAX, |columns| columns.saturating_sub(indent).max(LEAST_TEXT));
            for (at, part) in layout::fold(&text, room).into_iter().enumerate() {
                let before = if at == 0 { before.clone() } else { " ".repeat(indent) };
                call.out.line(format!("{before}{part}").trim_end())?;
            }
        }
    }
    Ok(())
}

/// Returns the abbreviated id of `commit`; zeros for uncommitted lines.
fn id(commit: Option<ObjectId>, hash: gix::hash::Kind, call: &Call) -> String {
    commit.map_or_else(|| "0".repeat(call.names.digits(hash)), |commit| call.names.id(&commit))
}

/// Returns the agent and the turn of `lines`; none if they are a person's.
fn agent(lines: &BlamedLines) -> Option<(String, String)> {
    let Who { owner, turn, agent, .. } = &lines.who;
    let turn = turn.map_or_else(String::new, |turn| format!(" t{turn}"));
    let is_agents = matches!(owner, Kind::Agent | Kind::Mixed);
    is_agents.then(|| (printable(agent.as_deref().unwrap_or("agent")), turn))
}

/// Returns the least columns in which the session of `lines` differs from the others.
fn least_name(lines: &BlamedLines, sessions: &Sessions) -> usize {
    agent(lines).map_or(0, |(agent, turn)| sessions.least(&agent, lines.who.session.as_deref(), &turn))
}

/// Returns the agent with session and turn, or the commit's author, in at most `columns`.
fn name(lines: &BlamedLines, sessions: &Sessions, columns: usize) -> String {
    match agent(lines) {
        Some((agent, turn)) => sessions.name(&agent, lines.who.session.as_deref(), &turn, columns),
        None => layout::cut(&printable(&lines.author), columns),
    }
}

/// In the style of git's porcelain format: a header for each group, its fields, and the lines after tabs.
fn print_porcelain(lines: &BlamedLines, no_commit: &str, call: &mut Call) -> Result<()> {
    let id = lines.commit.map_or_else(|| no_commit.to_owned(), |commit| commit.to_string());
    let (original, start) = (lines.original, lines.start);
    for (at, content) in (0..).zip(&lines.contents) {
        let count = if at == 0 { format!(" {}", lines.contents.len()) } else { String::new() };
        call.out.line(&format!("{id} {} {}{count}", original + at, start + at))?;
        if at == 0 {
            let turn = lines.who.turn.map(|turn| turn.to_string());
            let fields = [
                ("owner", Some(lines.who.owner.as_str().to_owned())),
                ("session", lines.who.session.clone()),
                ("turn", turn),
                ("agent", lines.who.agent.clone()),
                ("model", lines.who.model.clone()),
                ("record-remote", lines.record_remote.clone()),
                ("author", Some(lines.author.to_string())),
                ("author-time", lines.commit.map(|_| lines.authored.to_string())),
                ("filename", Some(phrase::quoted(&lines.original_path))),
            ];
            for (key, value) in fields {
                if let Some(value) = value {
                    call.out.line(&format!("{key} {}", printable(value)))?;
                }
            }
        }
        call.out.text("\t")?;
        call.out.bytes(content)?;
        call.out.text("\n")?;
    }
    Ok(())
}
