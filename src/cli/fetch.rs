//! `git checkpoint fetch`: gets the records of others.

use super::{Exit, call::Call, output::printable, phrase};
use crate::{
    error::Result,
    ops::remotes::{self, FetchOptions, Fetched},
};

/// Get the records of others
///
/// They stay beside your own, which do not change: blame, why, explain, show and attribution then know the commits of others. Without
/// <remote>, the approved remote is asked, or else the only one, or origin.
#[derive(clap::Args, Debug)]
pub(super) struct Fetch {
    /// The name of a remote
    #[arg(value_name = "remote")]
    remote: Option<String>,
    /// Get transcripts, too
    #[arg(long)]
    transcripts: bool,
    /// Say what would be fetched, and move no ref
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

impl Fetch {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.writing_context()?;
        let options = FetchOptions { remote: self.remote, transcripts: self.transcripts, dry_run: self.dry_run };
        let fetched = {
            let _progress = call.progress("fetching records");
            remotes::fetch(&context, &options)?
        };
        if self.json {
            call.out.json(&fetched)?;
        } else {
            print(&fetched, call)?;
        }
        Ok(Exit::Done)
    }
}

/// Names the refs that were set `aside`.
pub(super) fn damaged(aside: &[String], call: &mut Call) {
    for name in aside {
        call.out.warning(&format!("'{}' could not be read, and was set aside", printable(name)));
    }
}

/// Says what was `fetched`.
pub(super) fn print(fetched: &Fetched, call: &mut Call) -> Result<()> {
    let remote = printable(&fetched.remote);
    damaged(&fetched.damaged, call);
    if fetched.refs.is_empty() {
        return call.out.note(&format!("'{remote}' has no records"));
    }
    let verb = if fetched.dry_run { "would fetch" } else { "fetched" };
    let is_new = fetched.refs.iter().any(|it| it.old != Some(it.new));
    let count = phrase::count(fetched.new_records, "record");
    match (is_new, fetched.new_records) {
        (false, _) => call.out.note(&format!("nothing is new in '{remote}'")),
        (true, _) => call.out.note(&format!("{verb} {count} from '{remote}'")),
    }
}
