//! `git checkpoint overlap`: what this worktree and others have both changed.

use std::ffi::OsString;

use bstr::ByteSlice as _;

use super::{Exit, call::Call, layout, output::printable, phrase};
use crate::{
    error::Result,
    model::{
        both_changed::Kind,
        three_way::{Lines, Meeting, Place},
    },
    ops::overlap::{self, Maker, OfSide, OverlapOptions, PathOverlap, Summary, WorktreeOverlap},
};

/// Show which paths this worktree and another one have both changed
///
/// Compares what the files have now, saved or not, by a three-way merge on the commit from which both have gone on. Nothing is
/// merged, and nothing is written.
#[derive(clap::Args, Debug)]
pub(super) struct Overlap {
    /// Only these paths
    #[arg(value_name = "path")]
    paths: Vec<OsString>,
    /// Compare with this worktree only: its branch, path or name
    #[arg(long, value_name = "worktree")]
    with: Option<OsString>,
    /// Exit with 1 if git could not merge everything, or if that is not known
    #[arg(long)]
    exit_code: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

impl Overlap {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.context()?;
        let options = OverlapOptions { with: self.with, pathspecs: Call::pathspecs(&context.repo, &self.paths)? };
        let progress = call.progress("looking at the worktrees");
        let found = overlap::overlap(&context, &options)?;
        drop(progress);
        let exit = if self.exit_code && !found.is_clean() { Exit::No } else { Exit::Done };
        if self.json {
            call.out.json(&found)?;
            return Ok(exit);
        }
        call.start_pager(&context)?;
        if found.worktrees.is_empty() {
            call.out.aside("this repository has no other worktree");
        }
        for worktree in &found.worktrees {
            print_worktree(worktree, call)?;
        }
        Ok(exit)
    }
}

fn print_worktree(found: &WorktreeOverlap, call: &mut Call) -> Result<()> {
    let name = phrase::worktree(&found.worktree);
    let branch = found.branch.as_ref().map(|branch| format!(" (branch {})", printable(branch))).unwrap_or_default();
    let name = call.out.paint(phrase::BOLD, &format!("{name}{branch}"));
    if let Some(why) = &found.unknown {
        let why = call.out.paint(phrase::OLD, &printable(why));
        return call.out.prose(&format!("Overlap with {name} is not known: {why}"));
    }
    if found.paths.is_empty() {
        return call.out.prose(&format!("No overlap with {name}"));
    }
    let count = |state| found.paths.iter().filter(|path| path.state == state).count();
    let (conflicts, touching) = (count(Meeting::Conflict), count(Meeting::Touching));
    call.out.prose(&format!("Overlap with {name}: {}", numbers(found.paths.len(), conflicts, touching)))?;
    for path in &found.paths {
        print_path(path, call)?;
    }
    if let Some(why) = &found.sessions_unknown {
        call.out.prose(&format!("\tWhich sessions made the changes is not known for all: {}", printable(why)))?;
    }
    Ok(())
}

/// Returns an overlap in numbers.
pub(super) fn in_numbers(found: &Summary) -> String {
    let text = numbers(found.paths, found.conflicts, found.touching);
    if found.unknown.is_some() { format!("{text}, not all known") } else { text }
}

fn numbers(paths: usize, conflicts: usize, touching: usize) -> String {
    let mut text = phrase::count(paths, "path");
    if conflicts > 0 {
        text.push_str(&format!(", {conflicts} in conflict"));
    }
    if touching > 0 {
        text.push_str(&format!(", {touching} touching"));
    }
    text
}

fn print_path(found: &PathOverlap, call: &mut Call) -> Result<()> {
    let (word, style) = match found.state {
        Meeting::Clean => ("clean", phrase::NEW),
        Meeting::Touching => ("touching", phrase::MARK),
        Meeting::Conflict => ("conflict", phrase::OLD),
        Meeting::Unknown => ("unknown", phrase::OLD),
    };
    let state = call.out.paint(style, &format!("{word:<8}"));
    let mut path = call.names.path(&found.here.path);
    if found.there.path != found.here.path {
        path.push_str(&format!(", there {}", call.names.path(&found.there.path)));
    }
    let why = match (&found.unknown, found.kind) {
        (Some(why), _) => Some(printable(why)),
        (None, Some(kind)) => reason(kind, &found.here, &found.there),
        (None, None) => None,
    };
    let why = why.map(|why| format!(" ({why})")).unwrap_or_default();
    call.out.line(&format!("\t{state}  {path}{why}"))?;
    for place in &found.lines {
        call.out.line(&format!("\t          {}", in_words(place)))?;
    }
    print_makers("here", &found.here.sessions, call)?;
    print_makers("there", &found.there.sessions, call)
}

/// Returns why git cannot merge; none if the lines say that.
fn reason(kind: Kind, here: &OfSide, there: &OfSide) -> Option<String> {
    let letters = |what: &str| Some(format!("{what}: {} here, {} there", here.status.letter(), there.status.letter()));
    match kind {
        Kind::Content => None,
        Kind::Binary => Some("git does not merge this file line by line".to_owned()),
        Kind::Mode => Some("both have changed the executable bit".to_owned()),
        Kind::Deleted => letters("one has deleted it"),
        Kind::Renamed => letters("renamed"),
        Kind::Added => Some("both have added it".to_owned()),
        Kind::Type => letters("the types differ"),
        Kind::Link => Some("both have changed the symbolic link".to_owned()),
        Kind::Submodule => Some("both have moved the submodule".to_owned()),
        Kind::Moved => Some("one has added a file to a directory that the other one has renamed".to_owned()),
        Kind::Directory => Some("a file here or there is a directory on the other side".to_owned()),
    }
}

fn in_words(place: &Place) -> String {
    let verb = if place.state == Meeting::Touching { "next to each other: " } else { "" };
    format!("{verb}{} here, {} there", lines(&place.here), lines(&place.there))
}

fn lines(lines: &Lines) -> String {
    match lines.0.len() {
        0 if lines.0.start == 0 => "no lines at the beginning".to_owned(),
        0 => format!("no lines after line {}", lines.0.start),
        1 => format!("line {}", lines.0.start + 1),
        _ => format!("lines {}-{}", lines.0.start + 1, lines.0.end),
    }
}

fn print_makers(side: &str, makers: &[Maker], call: &mut Call) -> Result<()> {
    for maker in makers {
        let mut words = vec![call.out.paint(phrase::ID, &phrase::session_id(&maker.id, call.out.columns(), INDENT))];
        words.extend(maker.agent.as_ref().map(printable));
        words.extend(maker.turn.map(|turn| format!("turn {turn}")));
        let start = format!("{side}: {}", words.join(", "));
        let prompt = maker.prompt.as_ref().map(|prompt| {
            let prompt = printable(prompt.as_bytes().as_bstr());
            format!(", '{}'", call.out.fit(&prompt, INDENT + layout::width(&start) + 4))
        });
        call.out.line(&format!("\t          {start}{}", prompt.unwrap_or_default()))?;
    }
    Ok(())
}

/// The columns before a session.
const INDENT: usize = layout::TAB + 10;

/// Returns the sentence of `status` about an overlap with another worktree.
pub(super) fn summary(found: &Summary) -> String {
    let name = phrase::worktree(&found.worktree);
    match &found.unknown {
        Some(why) if found.paths == 0 => format!("Overlap with {name} is not known: {}", printable(why)),
        _ => format!("Overlaps with {name}: {}", in_numbers(found)),
    }
}
