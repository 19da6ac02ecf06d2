//! `git checkpoint show`: one checkpoint with all that is known of it.

use super::{
    Exit,
    call::Call,
    date,
    diff::{self, Shape},
    list,
    output::printable,
    phrase,
};
use crate::{
    error::Result,
    model::{change::Change, manifest::Part, moment},
    ops::{
        Context, compare,
        history::{self, Shown},
    },
};

/// Show one checkpoint and what changed in it
#[derive(clap::Args, Debug)]
pub(super) struct Show {
    /// The checkpoint: an id, @{<n>}, verified or a tag (default: the latest)
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
        let shown = history::show(&context, &self.target)?;
        if self.json {
            call.out.json(&shown)?;
            return Ok(Exit::Done);
        }
        call.start_pager(&context)?;
        print_head(&shown, call)?;
        if self.patch || self.stat {
            let shape = if self.patch { Shape::patch() } else { Shape::Stat };
            call.out.line("")?;
            print_lines(&shown, &context, shape, call)?;
        } else {
            print_paths(&shown, call)?;
        }
        print_manifest(&shown, call)?;
        for broken in &shown.broken {
            call.out.warning(&format!("not all can be shown: {broken}"));
        }
        if !shown.broken.is_empty() {
            call.out.hint("'git checkpoint doctor' says what to do");
        }
        Ok(Exit::Done)
    }
}

fn print_head(shown: &Shown, call: &mut Call) -> Result<()> {
    let checkpoint = &shown.checkpoint;
    let mut marks = list::marks(shown.verified, &shown.tags, 0);
    if shown.archived {
        marks.push("archived".to_owned());
    }
    let marks = if marks.is_empty() {
        String::new()
    } else {
        call.out.paint(phrase::MARK, &format!(" [{}]", marks.join(", ")))
    };
    let id = call.out.paint(phrase::ID, &format!("checkpoint {}", checkpoint.id));
    call.out.line(&format!("{id}{marks}"))?;
    let moment = moment::iso(checkpoint.seconds, checkpoint.offset);
    let moment = if call.out.is_terminal() {
        format!("{moment} ({})", date::relative(checkpoint.seconds, date::now()))
    } else {
        moment
    };
    call.out.line(&format!("By:       {}", phrase::origin(checkpoint)))?;
    call.out.line(&format!("Date:     {moment}"))?;
    call.out.line(&format!("Base:     {}", checkpoint.base))?;
    call.out.line(&format!("Before:   {}", checkpoint.before_id()))?;
    call.out.line(&format!("Worktree: {}", printable(&checkpoint.worktree)))?;
    if let Some(note) = &checkpoint.origin.note {
        call.out.line(&format!("Note:     {}", printable(note)))?;
    }
    call.out.line("")?;
    call.out.line(&format!("    {}", printable(&checkpoint.subject)))?;
    if !checkpoint.body.is_empty() {
        call.out.line("")?;
        for line in checkpoint.body.lines() {
            call.out.line(format!("    {}", printable(line)).trim_end())?;
        }
    }
    Ok(())
}

fn print_paths(shown: &Shown, call: &mut Call) -> Result<()> {
    if !shown.changes.is_empty() {
        call.out.line("")?;
    }
    for Change { path, old_path, status, .. } in &shown.changes {
        let letter = call.out.paint(phrase::BOLD, &status.letter().to_string());
        match old_path {
            Some(old_path) => call.out.line(&format!("{letter}  {} -> {}", printable(old_path), printable(path)))?,
            None => call.out.line(&format!("{letter}  {}", printable(path)))?,
        }
    }
    Ok(())
}

fn print_lines(shown: &Shown, context: &Context, shape: Shape, call: &mut Call) -> Result<()> {
    let checkpoint = &shown.checkpoint;
    let options = compare::DiffOptions {
        from: Some(checkpoint.before_id().to_string()),
        to: Some(checkpoint.id.to_string()),
        ..compare::DiffOptions::default()
    };
    diff::print(&compare::diff(context, &shape.needs(options))?, shape, false, call)
}

fn print_manifest(shown: &Shown, call: &mut Call) -> Result<()> {
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
        let (path, filter) = (printable(&file.path), printable(&file.filter));
        call.out.line(&format!("    {path} (filter '{filter}': {})", printable(&file.reason)))?;
    }
    if !manifest.skipped.is_empty() {
        call.out.line("\nSkipped:")?;
    }
    for skipped in &manifest.skipped {
        call.out.line(&format!("    {}", phrase::skipped(&skipped.path, skipped.reason.as_str(), skipped.size)))?;
    }
    if !manifest.nested.is_empty() {
        call.out.line("\nNested repositories:")?;
    }
    for nested in &manifest.nested {
        let head = nested.head.map_or_else(|| "no commit".to_owned(), |id| phrase::short(&id));
        let dirty = if nested.dirty == Some(true) { ", with changes" } else { "" };
        call.out.line(&format!("    {} ({head}{dirty})", printable(&nested.path)))?;
    }
    let mut unmerged: Vec<_> = manifest.unmerged.iter().map(|entry| &entry.path).collect();
    unmerged.dedup();
    if !unmerged.is_empty() {
        call.out.line("\nUnmerged:")?;
    }
    for path in unmerged {
        call.out.line(&format!("    {}", printable(path)))?;
    }
    Ok(())
}
