//! `git checkpoint show`: one checkpoint with all that is known of it, or another commit.

use gix::ObjectId;

use super::{
    Exit,
    call::{Call, with_target_hint},
    date,
    diff::{self, Shape},
    marks, note,
    output::printable,
    phrase,
};
use crate::{
    error::Result,
    model::{change::Change, manifest::Part, moment},
    ops::{
        Context, compare,
        show::{self, Shown, ShownCheckpoint, ShownCommit},
    },
};

/// Show one checkpoint, or another commit, and what changed in it
#[derive(clap::Args, Debug)]
pub(super) struct Show {
    /// The checkpoint: an id, @{<n>}, <session>@<turn>, verified, base, a tag or a revision (default: the latest)
    #[arg(value_name = "checkpoint", default_value = "@", hide_default_value = true)]
    target: String,
    /// Show the changed lines
    #[arg(short, long, conflicts_with_all = ["stat", "json"])]
    patch: bool,
    /// Show how many lines changed in each file
    #[arg(long, conflicts_with = "json")]
    stat: bool,
    /// Print the checkpoint as JSON
    #[arg(long)]
    json: bool,
}

impl Show {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.context()?;
        let shown = show::show(&context, &self.target);
        let shown = shown.map_err(|error| with_target_hint(error, &context.repo, "diff", &self.target))?;
        if self.json {
            call.out.json(&shown)?;
            return Ok(Exit::Done);
        }
        call.start_pager(&context)?;
        let shape = match (self.patch, self.stat) {
            (true, _) => Some(Shape::patch()),
            (false, true) => Some(Shape::Stat),
            (false, false) => None,
        };
        match &shown {
            Shown::Checkpoint(shown) => print_checkpoint(shown, &context, shape, call)?,
            Shown::Commit(shown) => print_commit(shown, &context, shape, call)?,
        }
        Ok(Exit::Done)
    }
}

fn print_checkpoint(shown: &ShownCheckpoint, context: &Context, shape: Option<Shape>, call: &mut Call) -> Result<()> {
    print_head(shown, call)?;
    let sides = (shown.checkpoint.before_id(), shown.checkpoint.id);
    print_changes(&shown.changes, sides, context, shape, call)?;
    print_manifest(shown, call)?;
    for broken in &shown.broken {
        call.out.warning(&format!("not all can be shown: {broken}"));
    }
    if !shown.broken.is_empty() {
        call.out.hint("'git checkpoint doctor' says what to do");
    }
    Ok(())
}

fn print_commit(shown: &ShownCommit, context: &Context, shape: Option<Shape>, call: &mut Call) -> Result<()> {
    let id = call.out.paint(phrase::ID, &format!("commit {}", shown.id));
    call.out.line(&id)?;
    let date = date_of(shown.time, call);
    call.out.line(&format!("By:       {}", printable(&shown.author)))?;
    call.out.line(&format!("Date:     {date}"))?;
    for record in &shown.records {
        call.out.field("Record:  ", &phrase::record(&record.id, record.remote.as_deref()))?;
    }
    print_message(&shown.subject, &shown.body, call)?;
    shown.notes.iter().try_for_each(|note| note::print_shown(note, shown.id, call))?;
    let before = shown.parent.unwrap_or_else(|| context.repo.empty_tree_id());
    print_changes(&shown.changes, (before, shown.id), context, shape, call)
}

/// Returns the moment `seconds` at `offset` as people read it.
fn date_of((seconds, offset): (i64, i32), call: &Call) -> String {
    date::in_full(&moment::iso(seconds, offset), call.out.is_terminal())
}

fn print_message(subject: &str, body: &str, call: &mut Call) -> Result<()> {
    call.out.line("")?;
    call.out.prose(&format!("    {}", printable(subject)))?;
    if !body.is_empty() {
        call.out.line("")?;
        for line in body.lines() {
            call.out.prose(format!("    {}", printable(line)).trim_end())?;
        }
    }
    Ok(())
}

fn print_head(shown: &ShownCheckpoint, call: &mut Call) -> Result<()> {
    let checkpoint = &shown.checkpoint;
    let mut marks = marks::marks(shown.start, shown.verified, &shown.tags, (0, ""));
    if shown.archived {
        marks.push("archived".to_owned());
    }
    let marks = if marks.is_empty() {
        String::new()
    } else {
        call.out.paint(phrase::MARK, &format!(" [{}]", marks.join(", ")))
    };
    let id = call.out.paint(phrase::ID, &format!("checkpoint {}", checkpoint.id));
    call.out.prose(&format!("{id}{marks}"))?;
    let moment = date_of((checkpoint.seconds, checkpoint.offset), call);
    call.out.field("By:      ", &phrase::origin(checkpoint))?;
    call.out.line(&format!("Date:     {moment}"))?;
    call.out.line(&format!("Base:     {}", checkpoint.base))?;
    call.out.line(&format!("Before:   {}", checkpoint.before_id()))?;
    call.out.line(&format!("Worktree: {}", printable(&checkpoint.worktree)))?;
    if let Some(note) = &checkpoint.origin.note {
        call.out.line(&format!("Note:     {}", printable(note)))?;
    }
    print_message(&shown.called, &checkpoint.body, call)?;
    shown.note.iter().try_for_each(|note| note::print_shown(note, checkpoint.id, call))
}

/// Prints `changes`, which lead from `from` to `to`: the paths, or in `shape` the lines.
fn print_changes(
    changes: &[Change],
    (from, to): (ObjectId, ObjectId),
    context: &Context,
    shape: Option<Shape>,
    call: &mut Call,
) -> Result<()> {
    if let Some(shape) = shape {
        let (from, to) = (Some(from.to_string()), Some(to.to_string()));
        let options = compare::DiffOptions { from, to, ..compare::DiffOptions::default() };
        call.out.line("")?;
        return diff::print(&compare::diff(context, &shape.needs(options))?, shape, false, call);
    }
    if !changes.is_empty() {
        call.out.line("")?;
    }
    let line = |Change { path, old_path, status, .. }: &Change| {
        let letter = call.out.paint(phrase::BOLD, &status.letter().to_string());
        let old_path = old_path.as_ref().map(|path| format!("{} -> ", call.names.path(path))).unwrap_or_default();
        format!("{letter}  {old_path}{}", call.names.path(path))
    };
    let lines = call.long_lists().cut(changes.iter().map(line).collect());
    lines.iter().try_for_each(|line| call.out.line(line))
}

fn print_manifest(shown: &ShownCheckpoint, call: &mut Call) -> Result<()> {
    let manifest = &shown.manifest;
    if !manifest.lost.is_empty() {
        let lost: Vec<_> = manifest.lost.iter().map(|part| part.as_str()).collect();
        call.out.line(&format!("\nA copy of a damaged checkpoint, without {}", lost.join(", ")))?;
    }
    if shown.has_staged_tree && !manifest.lacks(&[Part::Staged, Part::Manifest]) {
        call.out.line("\nWhat was staged is kept too; 'restore --staged' brings it back")?;
    }
    if !manifest.unfiltered.is_empty() {
        call.out.line("\nSaved unfiltered, because a filter failed:")?;
    }
    for file in &manifest.unfiltered {
        let (path, filter) = (call.names.path(&file.path), printable(&file.filter));
        call.out.line(&format!("    {path} (filter '{filter}': {})", printable(&file.reason)))?;
    }
    if !manifest.skipped.is_empty() {
        call.out.line("\nSkipped:")?;
    }
    for skipped in &manifest.skipped {
        call.out.line(&format!(
            "    {}",
            phrase::skipped(&call.names.path(&skipped.path), skipped.reason.as_str(), skipped.size)
        ))?;
    }
    if !manifest.nested.is_empty() {
        call.out.line("\nNested repositories:")?;
    }
    for nested in &manifest.nested {
        let head = nested.head.map_or_else(|| "no commit".to_owned(), |id| call.names.id(&id));
        let dirty = if nested.dirty == Some(true) { ", with changes" } else { "" };
        call.out.line(&format!("    {} ({head}{dirty})", call.names.path(&nested.path)))?;
    }
    if !manifest.submodules.is_empty() {
        call.out.line("\nCheckpoints in submodules:")?;
    }
    for tied in &manifest.submodules {
        let id = call.out.paint(phrase::ID, &call.names.id(&tied.checkpoint));
        call.out.line(&format!("    {} {id}", printable(&tied.path)))?;
    }
    let mut unmerged: Vec<_> = manifest.unmerged.iter().map(|entry| &entry.path).collect();
    unmerged.dedup();
    if !unmerged.is_empty() {
        call.out.line("\nUnmerged:")?;
    }
    for path in unmerged {
        call.out.line(&format!("    {}", call.names.path(path)))?;
    }
    Ok(())
}
