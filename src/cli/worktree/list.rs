//! `worktree list` and `worktree show`.

use std::{ffi::OsString, path::Path};

use bstr::ByteSlice as _;

use super::super::{Exit, call::Call, layout, output::printable, overlap::in_numbers, phrase};
use crate::{
    error::Result,
    model::path_text,
    ops::{
        overlap::{self, Summary},
        worktrees::{self, Listed},
    },
};

#[derive(clap::Args, Debug)]
pub(super) struct List {
    /// Print the result as JSON
    #[arg(long, conflicts_with = "porcelain")]
    json: bool,
    /// Print the result in a form for scripts that stays as it is
    #[arg(long)]
    porcelain: bool,
    /// End lines with NUL (with --porcelain)
    #[arg(short = 'z', requires = "porcelain")]
    nul: bool,
}

#[derive(clap::Args, Debug)]
pub(super) struct Show {
    /// The worktree (default: this one)
    #[arg(value_name = "worktree")]
    name: Option<OsString>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// A worktree, and what this one and that have both changed.
#[derive(serde::Serialize)]
struct Entry<'l> {
    #[serde(flatten)]
    listed: &'l Listed,
    overlap: Option<&'l Summary>,
}

/// Columns before what is said of a worktree on a line of its own.
const INDENT: usize = 4;

impl List {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.context()?;
        let progress = call.progress("looking at the worktrees");
        let all = worktrees::list(&context)?;
        let overlaps = overlap::summaries_now(&context).unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot compare this worktree with others");
            Vec::new()
        });
        context.check_interrupt()?;
        let overlap_of =
            |it: &Listed| overlaps.iter().find(|found| path_text::escape(found.worktree.as_bstr()) == it.id);
        drop(progress);
        if self.json {
            let all: Vec<Entry<'_>> = all.iter().map(|listed| Entry { listed, overlap: overlap_of(listed) }).collect();
            call.out.json(&serde_json::json!({ "version": 1, "worktrees": all }))?;
            return Ok(Exit::Done);
        }
        if self.porcelain {
            return all.iter().try_for_each(|it| call.out.bytes(&porcelain(it, self.nul))).map(|()| Exit::Done);
        }
        call.start_pager(&context)?;
        all.iter().try_for_each(|it| print(it, overlap_of(it), call))?;
        Ok(Exit::Done)
    }
}

impl Show {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.context()?;
        let shown = worktrees::show(&context, self.name.as_deref())?;
        if self.json {
            call.out.json(&serde_json::json!({ "version": 1, "worktree": shown }))?;
        } else {
            print(&shown, None, call)?;
        }
        Ok(Exit::Done)
    }
}

/// Returns the lines of a worktree for scripts: those of `git worktree list --porcelain`, and what we know beside that.
fn porcelain(it: &Listed, is_nul: bool) -> Vec<u8> {
    let mut out = Vec::new();
    let mut line = |name: &str, value: Option<&[u8]>| {
        out.extend_from_slice(name.as_bytes());
        if let Some(value) = value {
            out.push(b' ');
            let value = if is_nul { value.to_vec() } else { phrase::quoted(&value.into()).into_bytes() };
            out.extend(value);
        }
        out.push(if is_nul { 0 } else { b'\n' });
    };
    line("worktree", Some(&it.path));
    match (it.bare, it.head) {
        (true, _) => line("bare", None),
        (false, Some(id)) => line("HEAD", Some(id.to_string().as_bytes())),
        (false, None) => {}
    }
    match &it.branch {
        _ if it.bare => {}
        Some(branch) => line("branch", Some(format!("refs/heads/{branch}").as_bytes())),
        None => line("detached", None),
    }
    if let Some(reason) = &it.locked {
        line("locked", Some(reason.as_bytes()).filter(|reason| !reason.is_empty()));
    }
    for (name, is_so) in [("prunable", it.prunable), ("taken", it.taken), ("merged", it.merged == Some(true))] {
        if is_so {
            line(name, None);
        }
    }
    line("id", Some(it.id.as_bytes()));
    let dirty = it.dirty.map_or_else(|| "unknown".to_owned(), |count| count.to_string());
    line("dirty", Some(dirty.as_bytes()));
    if let Some(port) = it.port {
        line("port", Some(port.to_string().as_bytes()));
    }
    for session in &it.sessions {
        line("session", Some(session.id.as_bytes()));
        line("phase", Some(word(session.phase).as_bytes()));
        line("life", Some(word(session.life).as_bytes()));
    }
    out.push(if is_nul { 0 } else { b'\n' });
    out
}

/// Returns the word for `value` in JSON.
fn word(value: impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

/// Prints the path of a worktree, and below it what is known of it. `overlap` is what this worktree and that one have both changed.
fn print(it: &Listed, overlap: Option<&Summary>, call: &mut Call) -> Result<()> {
    let columns = call.out.columns().unwrap_or(usize::MAX);
    let path = printable(&it.path);
    let shown = phrase::shortened(&path, columns);
    call.out.line(&call.out.paint(phrase::ID, &shown))?;
    let mut facts = facts(it, call);
    facts.extend(overlap.map(overlap_here));
    let lines = phrase::wrapped(&" ".repeat(INDENT), &facts, INDENT, columns);
    lines.iter().try_for_each(|line| call.out.line(line))?;
    for session in &it.sessions {
        let state = phrase::session_state(session.phase, Some(session.life));
        let mut line = format!("{}{state}: {}", " ".repeat(INDENT), printable(&session.id));
        if let Some(agent) = &session.agent {
            line.push_str(&format!(" ({})", printable(agent)));
        }
        for line in layout::wrap(&line, columns, 2 * INDENT) {
            call.out.line(&line)?;
        }
    }
    Ok(())
}

/// Returns what is said of an overlap with this worktree.
fn overlap_here(found: &Summary) -> String {
    match &found.unknown {
        Some(_) if found.paths == 0 => "overlap with this worktree unknown".to_owned(),
        _ => format!("overlaps with this worktree: {}", in_numbers(found)),
    }
}

/// Returns what is said of a worktree: its branch, its commit, its changes.
fn facts(it: &Listed, call: &Call) -> Vec<String> {
    let mut facts = Vec::new();
    if it.bare {
        return vec!["bare".to_owned()];
    }
    facts.push(it.branch.as_ref().map_or_else(|| "detached".to_owned(), printable));
    facts.push(it.head.map_or_else(|| "no commit yet".to_owned(), |id| call.names.id(&id)));
    facts.extend(if it.taken {
        Some("something else is in its place".to_owned())
    } else if it.prunable {
        let is_there = it.path.to_path().is_ok_and(Path::exists);
        Some(if is_there { "its '.git' is gone" } else { "its directory is gone" }.to_owned())
    } else {
        match it.dirty {
            None => Some("changes unknown".to_owned()),
            Some(0) => None,
            Some(count) => Some(phrase::count(count, "changed path")),
        }
    });
    if !it.main && it.merged == Some(true) {
        facts.push("merged".to_owned());
    }
    facts.extend(it.locked.as_ref().map(|reason| match reason.trim() {
        "" => "locked".to_owned(),
        reason => format!("locked: {}", printable(reason.as_bytes().as_bstr())),
    }));
    facts
}
