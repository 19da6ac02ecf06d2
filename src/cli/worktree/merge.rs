//! `worktree merge`.

use std::ffi::OsString;

use bstr::ByteSlice as _;

use super::super::{Exit, call::Call, output::printable, phrase};
use crate::{
    error::Result,
    model::path_text::shell_word,
    ops::worktrees::{self, How, MergeOptions, Merged, Outcome},
};

#[derive(clap::Args, Debug)]
pub(super) struct Merge {
    /// The worktree
    #[arg(value_name = "worktree")]
    name: OsString,
    /// Only stage the changes, as one commit to be made
    #[arg(long, conflicts_with_all = ["rebase", "ff_only"])]
    squash: bool,
    /// Rebase the branch first, in its worktree, so that no merge commit is made
    #[arg(long, conflicts_with = "ff_only")]
    rebase: bool,
    /// Refuse if a merge commit would have to be made
    #[arg(long)]
    ff_only: bool,
    /// Say what would be done, and do nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

impl Merge {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.writing_context()?;
        let how = match (self.squash, self.rebase, self.ff_only) {
            (true, ..) => How::Squash,
            (_, true, _) => How::Rebase,
            (.., true) => How::FfOnly,
            _ => How::Merge,
        };
        let progress = call.progress("merging the branch");
        let merged = worktrees::merge(&context, &MergeOptions { name: self.name, how, dry_run: self.dry_run })?;
        drop(progress);
        if self.json {
            call.out.json(&merged)?;
        } else {
            for path in merged.conflicts.iter().flatten() {
                call.out.row(&format!("{} (conflict)", phrase::quoted(path)))?;
            }
            if let Some(line) = line(&merged, call) {
                call.out.note(&line)?;
            }
        }
        said(&merged, call);
        Ok(match merged.result {
            Outcome::Conflicts | Outcome::Stopped => Exit::No,
            _ => Exit::Done,
        })
    }
}

/// Returns what was done, or would be; none if git has stopped.
fn line(merged: &Merged, call: &Call) -> Option<String> {
    let (source, branch) = (printable(&merged.source), printable(&merged.branch));
    let commits = phrase::count(merged.commits, "commit");
    let rebased = if merged.how == How::Rebase { ", rebased" } else { "" };
    let done = if merged.dry_run { "would merge" } else { "merged" };
    let end = match merged.result {
        Outcome::Nothing if merged.rebased.is_some() => {
            return Some(format!("nothing to merge: {branch} has all changes of {source}, which is rebased"));
        }
        // What was to be squashed is here in other commits.
        Outcome::Nothing if merged.commits > 0 => {
            return Some(format!("nothing to merge: {branch} has all changes of {source}"));
        }
        Outcome::Nothing => return Some(format!("nothing to merge: {branch} has all commits of {source}")),
        Outcome::Staged => {
            let staged = if merged.dry_run { "would be staged" } else { "staged" };
            return Some(format!("{staged} in {branch}: the changes of {commits} of {source}"));
        }
        Outcome::FastForward if merged.dry_run => "a fast-forward".to_owned(),
        Outcome::FastForward => format!("a fast-forward to {}", call.names.id(&merged.after)),
        Outcome::Merged if merged.dry_run => "by a merge commit".to_owned(),
        Outcome::Merged => format!("by the commit {}", call.names.id(&merged.after)),
        Outcome::Conflicts | Outcome::Stopped => return None,
    };
    Some(format!("{done} {source} into {branch}: {commits}{rebased}, {end}"))
}

/// Says what else there is to know, and what to do next.
fn said(merged: &Merged, call: &mut Call) {
    // A progress line of git's ends with a carriage return.
    for line in merged.said.split(|byte| b"\r\n".contains(byte)).filter(|line| !line.trim().is_empty()) {
        call.out.aside(&line.to_str_lossy().replace('\t', "    "));
    }
    let (source, branch) = (printable(&merged.source), printable(&merged.branch));
    let git = match merged.how {
        How::Rebase => format!("git -C {}", shell_word(&merged.path.to_str_lossy())),
        _ => "git".to_owned(),
    };
    let what = if merged.how == How::Rebase { "rebase" } else { "merge" };
    match merged.result {
        Outcome::Conflicts if merged.dry_run => {
            call.out.warning(&format!("the merge of {source} into {branch} would have conflicts"));
        }
        Outcome::Conflicts => {
            let verb = if merged.how == How::Rebase { "rebase of" } else { "merge of" };
            call.out.warning(&format!("the {verb} {source} has stopped at conflicts"));
            let next =
                if merged.how == How::Squash { "git commit".to_owned() } else { format!("{git} {what} --continue") };
            call.out.hint(&format!("resolve them, and '{git} add' the files; then '{next}' ends it"));
        }
        Outcome::Stopped => {
            call.out.warning(&format!("git has stopped in the {what} of {source}, without a conflict"));
            call.out.hint(&format!("'{git} {what} --continue' goes on"));
        }
        Outcome::Staged if !merged.dry_run => call.out.hint("'git commit' commits them"),
        _ => {}
    }
    let is_under_way = !merged.dry_run && matches!(merged.result, Outcome::Conflicts | Outcome::Stopped);
    if is_under_way {
        // It takes back what was done since, too.
        let end = match merged.how {
            How::Squash if merged.result == Outcome::Conflicts => "git reset --merge".to_owned(),
            _ => format!("{git} {what} --abort"),
        };
        // A checkpoint keeps also what was committed there since, of which nothing else may be left.
        let save = if merged.how == How::Rebase { "checkpoint save --allow-empty" } else { "checkpoint save" };
        call.out.hint(&format!("to give it up, save what is there first: '{git} {save}', then '{end}'"));
    }
    if merged.how == How::Rebase && is_under_way {
        call.out.hint("when it is rebased, run this again");
    }
    if merged.dry_run && merged.conflicts.is_none() {
        call.out.hint("whether there are conflicts is not known before");
    }
    if merged.moved {
        call.out.warning(&format!(
            "{source} has moved on since it was looked at: only its commits up to {} count",
            call.names.id(&merged.commit)
        ));
        call.out.hint("look at its new commits, and run this again");
    }
}
