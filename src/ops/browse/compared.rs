//! How two states differ, with the owners of the lines where they are known.

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::{
    super::{
        Context,
        attribution::Who,
        blame::{self, BlamedLines},
        compare::{DiffOptions, FileDiff, diff},
        lookup,
    },
    details::{self, About, Details, File, Lines, MOST_AT_ONCE},
};
use crate::{
    error::{Kind, Result},
    model::{
        change::Mode,
        line_diff::{Hunk, Side},
    },
};

/// Unchanged lines around each change.
const CONTEXT: usize = 3;

/// Returns how `from` differs from `to`, or from the worktree.
pub(super) fn details(
    context: &Context,
    from: ObjectId,
    to: Option<ObjectId>,
    pathspecs: &[BString],
    only: Option<&BString>,
) -> Result<Details> {
    let repo = &context.repo;
    if let Some(to) = to
        && repo.find_checkpoint(to)?.is_some()
    {
        let checkpoint = lookup::checkpoint(context, to)?;
        let trees = (repo.tree_of_commit(from)?, checkpoint.tree_id);
        let changes = details::changes(context, trees, pathspecs)?;
        let is_same = changes.is_empty();
        let (files, troubles) = details::with_owners(context, from, &checkpoint, changes, only)?;
        if is_same || files.iter().any(|file| file.lines.is_some()) {
            return Ok(Details { about: About::Compared, files, troubles });
        }
    }
    let all = compared(context, from, to, pathspecs.to_vec(), None)?;
    let wanted = all.iter().filter(|file| only.is_none_or(|only| *only == file.path)).take(MOST_AT_ONCE);
    // Without its old path, a renamed file is a new one.
    let names = wanted.flat_map(|file| [Some(&file.path), file.old_path.as_ref()]).flatten();
    let pathspecs: Vec<BString> = names.map(details::literal).collect();
    let mut found =
        if pathspecs.is_empty() { Vec::new() } else { compared(context, from, to, pathspecs, Some(CONTEXT))? };
    if to.is_none() {
        for file in found.iter_mut().filter(|file| only == Some(&file.path)) {
            own(context, file)?;
        }
    }
    Ok(Details { about: About::Compared, files: with_lines(all, found), troubles: Vec::new() })
}

/// Returns the files that differ; with so many lines of context, the changed lines, too, without owners.
fn compared(
    context: &Context,
    from: ObjectId,
    to: Option<ObjectId>,
    pathspecs: Vec<BString>,
    hunks: Option<usize>,
) -> Result<Vec<File>> {
    context.check_interrupt()?;
    let options = DiffOptions {
        from: Some(from.to_string()),
        to: to.map(|id| id.to_string()),
        pathspecs,
        counts: false,
        hunks,
        ..DiffOptions::default()
    };
    let has_lines = hunks.is_some();
    Ok(diff(context, &options)?.files.into_iter().map(|it| file(it, has_lines)).collect())
}

fn file(file: FileDiff, has_lines: bool) -> File {
    let leaf = file.after_leaf.or(file.before_leaf);
    let is_binary = file.binary || leaf.is_some_and(|leaf| leaf.mode == Mode::Gitlink);
    File {
        path: file.path,
        old_path: file.old_path,
        letter: file.status.letter(),
        counted: file.added.zip(file.deleted),
        figures: None,
        lines: has_lines.then(|| Lines { is_binary, hunks: file.hunks.into_iter().map(|hunk| (hunk, None)).collect() }),
    }
}

fn with_lines(mut files: Vec<File>, found: Vec<File>) -> Vec<File> {
    for file in found {
        if let Some(known) = files.iter_mut().find(|known| known.path == file.path) {
            *known = file;
        }
    }
    files
}

/// Gives the added lines of `file`, which the worktree has, the owners that `blame` names.
fn own(context: &Context, file: &mut File) -> Result<()> {
    let Some(lines) = file.lines.as_mut().filter(|lines| file.letter != 'D' && !lines.is_binary) else {
        return Ok(());
    };
    let options = blame::Options { path: file.path.clone(), ..blame::Options::default() };
    let blamed = match blame::blame(context, &options) {
        Ok(blamed) => blamed.lines,
        // Git blames no file that is not text, or is beside what it tracks.
        Err(error) if error.kind() == Kind::User => return context.check_interrupt(),
        Err(error) => return Err(error),
    };
    for (hunk, owners) in &mut lines.hunks {
        *owners = owners_in(hunk, &blamed);
    }
    Ok(())
}

/// Returns the owners of the added lines of `hunk`; none if the file has changed since it was blamed.
fn owners_in(hunk: &Hunk, blamed: &[BlamedLines]) -> Option<Vec<Who>> {
    let mut number = u32::try_from(hunk.new.start).ok()?;
    let mut owners = Vec::new();
    for line in &hunk.lines {
        number += u32::from(line.side != Side::Deleted);
        if line.side == Side::Added {
            let lines = blamed.iter().find(|lines| (lines.start..=lines.end).contains(&number))?;
            let content = lines.contents.get((number - lines.start) as usize)?;
            if content.trim_end() != line.content.trim_end() {
                return None;
            }
            owners.push(lines.who.clone());
        }
    }
    Some(owners)
}
