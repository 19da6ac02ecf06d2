//! `git checkpoint diff`: what changed between two checkpoints, or between one and the worktree.

mod patch;
mod stat;

use std::ffi::OsString;

use super::{
    Exit,
    call::{Call, with_target_hint},
    from_root::{self, Form},
    phrase,
};
use crate::{
    error::Result,
    model::change::Status,
    ops::{
        Context,
        compare::{self, Comparison, FileDiff},
    },
};

/// How many unchanged lines a patch shows around each change.
const CONTEXT_LINES: usize = 3;

/// Show changes between checkpoints, or between one and the worktree
///
/// Without <to>, the new side is the worktree as it is now. Without <from>, the old side is the checkpoint that is marked as
/// verified, or the base if none is.
#[derive(clap::Args, Debug)]
#[command(override_usage = "git checkpoint diff [<option>...] [<from> [<to>]] [-- <pathspec>...]")]
pub(super) struct Diff {
    /// The old side: an id, @{<n>}, <session>@<turn>, verified, base, a tag or a revision
    #[arg(value_name = "from")]
    from: Option<String>,
    /// The new side
    #[arg(value_name = "to")]
    to: Option<String>,
    /// Only paths that one of these matches, after --
    #[arg(value_name = "pathspec", last = true)]
    paths: Vec<OsString>,
    /// Show the changed lines (the default)
    #[arg(short, long)]
    patch: bool,
    /// Show <n> unchanged lines around each change
    #[arg(short = 'U', long, value_name = "n")]
    unified: Option<usize>,
    /// Show how many lines changed in each file
    #[arg(long, conflicts_with_all = ["patch", "unified"])]
    stat: bool,
    /// Show only letters and paths
    #[arg(long, conflicts_with_all = ["patch", "unified", "stat"])]
    name_status: bool,
    /// Show only paths
    #[arg(long, conflicts_with_all = ["patch", "unified", "stat", "name_status"])]
    name_only: bool,
    /// End letters and paths with NUL (with --name-status or --name-only)
    #[arg(short = 'z', conflicts_with_all = ["patch", "unified", "stat", "json"])]
    nul: bool,
    /// Show a renamed file as one deleted and one added
    #[arg(long)]
    no_renames: bool,
    /// Print the changes as JSON
    #[arg(long, conflicts_with_all = ["patch", "unified", "stat", "name_status", "name_only"])]
    json: bool,
    /// With --json, include the text before and after
    #[arg(long, requires = "json")]
    content: bool,
}

/// How changes are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// The lines, with so many unchanged ones around.
    Patch(usize),
    /// Counts of lines.
    Stat,
    /// Letters and paths.
    NameStatus,
    /// Paths.
    NameOnly,
}

impl Shape {
    /// The lines, with as many around as git shows.
    pub(super) fn patch() -> Self {
        Self::Patch(CONTEXT_LINES)
    }

    /// Returns `options` with what this shape needs to know.
    pub(super) fn needs(self, options: compare::DiffOptions) -> compare::DiffOptions {
        match self {
            Self::Patch(lines) => compare::DiffOptions { hunks: Some(lines), counts: false, ..options },
            Self::Stat => compare::DiffOptions { counts: true, ..options },
            Self::NameStatus | Self::NameOnly => compare::DiffOptions { counts: false, ..options },
        }
    }
}

/// Says what the worktree is compared with, if nothing was named.
fn compared_with(comparison: &compare::Comparison, call: &Call) -> String {
    match comparison.from {
        compare::Side::Commit(id) if comparison.is_from_verified => {
            format!("compared with the verified checkpoint {}", call.names.id(&id))
        }
        compare::Side::Commit(id) => format!("compared with the base commit {}", call.names.id(&id)),
        _ => "compared with nothing: HEAD has no commit yet".to_owned(),
    }
}

impl Diff {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.context()?;
        self.run_in(&context, call)
    }

    /// Shows the changes in the worktree of `context`.
    pub(super) fn run_in(self, context: &Context, call: &mut Call) -> Result<Exit> {
        let shape = self.shape();
        let is_by_default = self.from.is_none();
        let options = compare::DiffOptions {
            from: self.from,
            to: self.to,
            pathspecs: Call::pathspecs(&context.repo, &self.paths)?,
            renames: !self.no_renames,
            content: self.content,
            ..compare::DiffOptions::default()
        };
        let sides = [options.from.clone(), options.to.clone()].map(Option::unwrap_or_default);
        let with_hint = |error, side: &String| with_target_hint(error, &context.repo, "diff", side);
        let with_hints = |error| sides.iter().fold(error, with_hint);
        let compare = |options: &compare::DiffOptions| compare::diff(context, options).map_err(with_hints);
        if self.json {
            call.out.json(&compare(&options)?)?;
            return Ok(Exit::Done);
        }
        let progress = call.progress("comparing");
        let comparison = compare(&shape.needs(options))?;
        drop(progress);
        if is_by_default {
            let compared = compared_with(&comparison, call);
            call.out.aside(&compared);
        }
        call.start_pager(context)?;
        print(&comparison, shape, self.nul, call)?;
        if comparison.files.is_empty()
            && let Some(hint) = from_root::hint(context, &self.paths, None, Form::Pathspec)
        {
            call.out.hint(&hint);
        }
        Ok(Exit::Done)
    }

    fn shape(&self) -> Shape {
        if self.stat {
            Shape::Stat
        } else if self.name_only {
            Shape::NameOnly
        } else if self.name_status || self.nul {
            Shape::NameStatus
        } else {
            Shape::Patch(self.unified.unwrap_or(CONTEXT_LINES))
        }
    }
}

/// Prints `comparison` in `shape`; paths end with NUL if `is_nul`.
pub(super) fn print(comparison: &Comparison, shape: Shape, is_nul: bool, call: &mut Call) -> Result<()> {
    match shape {
        Shape::Patch(_) => comparison.files.iter().try_for_each(|file| patch::print(file, call)),
        Shape::Stat => stat::print(&comparison.files, call),
        Shape::NameStatus | Shape::NameOnly => {
            let with_letter = shape == Shape::NameStatus;
            comparison.files.iter().try_for_each(|file| print_name(file, with_letter, is_nul, call))
        }
    }
}

fn print_name(file: &FileDiff, with_letter: bool, is_nul: bool, call: &mut Call) -> Result<()> {
    let old_path = file.old_path.as_ref().filter(|_| with_letter);
    let paths = old_path.into_iter().chain([&file.path]);
    if is_nul {
        if with_letter {
            call.out.text(&format!("{}\0", file.status.letter()))?;
        }
        for path in paths {
            call.out.bytes(path)?;
            call.out.bytes(&[0])?;
        }
        return Ok(());
    }
    let mut fields: Vec<String> = paths.map(phrase::quoted).collect();
    if with_letter {
        let style = match file.status {
            Status::Added => phrase::NEW,
            Status::Deleted => phrase::OLD,
            Status::Modified | Status::TypeChanged | Status::Renamed => phrase::BOLD,
        };
        fields.insert(0, call.out.paint(style, &file.status.letter().to_string()));
    }
    call.out.line(&fields.join("\t"))
}
