//! `git checkpoint ci relink`: records for the commits that a forge has made of others.

use super::{
    super::{Exit, call::Call, output::printable, phrase},
    place::{Said, place},
};
use crate::{
    error::{Error, Result},
    model::record::RecordId,
    ops::ci::{self, RelinkOptions, Relinked, State},
};

/// Write the records of commits that a forge has squashed or rebased
///
/// They are found by the trailers, the tree, the patch or the lines of the records that were fetched. 'git checkpoint push' sends the new
/// ones. The exit status is 1 if the content of a record is not here.
#[derive(clap::Args, Debug)]
pub(super) struct Relink {
    /// A range of commits, or one commit
    #[arg(value_name = "range")]
    range: Option<String>,
    /// The last of the commits that were merged, if it is known
    #[arg(long, value_name = "commit")]
    merged: Option<String>,
    /// Say what would be written, and write nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

impl Relink {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.writing_context()?;
        let found = place(&context.repo, self.range.as_deref(), true)?;
        let mut merged = found.merged;
        if let Some(text) = &self.merged {
            let commit = context.repo.find_commit(text)?;
            merged = Some(commit.ok_or_else(|| Error::user(format!("no commit matches '{text}'")))?);
        }
        let options = RelinkOptions { range: found.range.clone(), merged, dry_run: self.dry_run };
        let relinked = {
            let _progress = call.progress("looking for records");
            ci::relink(&context, &options)?
        };
        let is_incomplete = relinked.commits.iter().any(|commit| commit.state == State::Incomplete);
        if self.json {
            call.out.json(&Said { source: &found.said_by, result: &relinked })?;
        } else {
            let commits = phrase::count(relinked.commits.len(), "commit");
            call.out.note(&format!("{commits} without merges ({})", printable(&found.said_by)))?;
            print(&relinked, call)?;
            if let Some(fetch) = found.missing.filter(|_| merged.is_none()) {
                call.out.hint(&format!("the commits that were merged are not here: '{fetch}' brings them"));
            } else if is_incomplete {
                call.out
                    .hint("fetch the branch that was merged, or refs/pull/<n>/head, or refs/merge-requests/<n>/head");
            }
        }
        Ok(if is_incomplete { Exit::No } else { Exit::Done })
    }
}

fn print(relinked: &Relinked, call: &mut Call) -> Result<()> {
    let written = if relinked.dry_run { "its record would be written" } else { "its record was written" };
    for commit in &relinked.commits {
        let mut by: Vec<&str> = commit.sources.iter().map(|source| source.by).collect();
        by.sort_unstable();
        by.dedup();
        let records = phrase::count(commit.sources.len(), "record");
        let what = match commit.state {
            State::Recorded => "has a record".to_owned(),
            State::Found => format!("names {records}"),
            State::Written => format!("{written}, from {records} (by {})", by.join(", ")),
            State::Incomplete => {
                let lacking: Vec<&str> = commit.lacking.iter().map(RecordId::as_str).collect();
                format!("left alone: the content of {} is not here", lacking.join(", "))
            }
            State::None => "no record was found".to_owned(),
        };
        call.out.line(&format!("{}: {what}", call.names.id(&commit.commit)))?;
    }
    let count = relinked.commits.iter().filter(|commit| commit.state == State::Written).count();
    if count > 0 && !relinked.dry_run {
        call.out.hint("'git checkpoint push' sends the new records");
    }
    Ok(())
}
