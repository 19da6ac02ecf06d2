//! `git checkpoint report`: one page about commits, for people who do not use git-checkpoint, or a comment for a pull request.

mod form;
mod html;
mod lines;
mod markdown;
mod timeline;

use std::{io::Write as _, path::PathBuf};

use clap::ValueEnum;

use super::{Exit, call::Call, external, output::printable, output_file, phrase::FETCH};
use crate::{
    error::{Context as _, Error, Kind, Result},
    ops::report::{self, Subject},
};

/// How many commits a report without a range has.
const LATEST: usize = 100;

/// Make one HTML page of commits: who wrote which line, for which prompt
///
/// Without a range it is about the newest commits of HEAD. The page has no scripts and needs no network.
#[derive(clap::Args, Debug)]
pub(super) struct ReportCommand {
    /// A commit or a range of commits
    #[arg(value_name = "commit|range")]
    revision: Option<String>,
    /// The commits that this session has a part in
    #[arg(long, value_name = "session", conflicts_with = "revision")]
    session: Option<String>,
    /// Without a range: at most so many commits (default: 100)
    #[arg(short = 'n', long, value_name = "number", conflicts_with_all = ["revision", "session"])]
    max_count: Option<usize>,
    /// Write it to this file
    #[arg(short, long, value_name = "file")]
    output: Option<PathBuf>,
    /// Replace the file of --output, whatever it is
    #[arg(short, long, requires = "output")]
    force: bool,
    /// Show it in the browser that 'git web--browse' finds
    #[arg(long, conflicts_with_all = ["format", "json"])]
    open: bool,
    /// html (default), or markdown for a comment of a pull request
    #[arg(long, value_name = "format", hide_possible_values = true)]
    format: Option<Format>,
    /// Print the data of the page as JSON
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

/// What a report looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    #[default]
    Html,
    Markdown,
}

impl ReportCommand {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let format = self.format.unwrap_or_default();
        let is_page = format == Format::Html && !self.json;
        if is_page && self.output.is_none() && !self.open && call.out.is_terminal() {
            return Err(Error::user("the page is not for a terminal").with_hint(
                "'git checkpoint report --output report.html' writes it to a file, \
                 'git checkpoint report --open' shows it in the browser",
            ));
        }
        let context = call.context()?;
        let subject = match (self.revision, self.session) {
            (Some(text), _) => Subject::Revision(text),
            (None, Some(session)) => Subject::Session(session),
            (None, None) => Subject::Latest(self.max_count.unwrap_or(LATEST)),
        };
        let target = self.output.as_deref().map(|path| output_file::check(path, self.force, form::FORM)).transpose()?;
        let progress = call.progress("attributing");
        let found = report::report(&context, &subject)?;
        drop(progress);
        found.troubles.iter().for_each(|trouble| call.out.warning(&printable(trouble)));
        if !found.missing_records.is_empty() && found.troubles.is_empty() {
            call.out.hint(FETCH);
        }
        if let Some(error) = &found.left_out {
            call.out.warning(&format!("{}: that one is left out", error.message()));
            error.hint().iter().for_each(|hint| call.out.hint(hint));
        }
        if found.commits.is_empty() {
            call.out.aside("there is no commit to report on");
            return Ok(Exit::No);
        }
        let text = match format {
            _ if self.json => {
                let json = serde_json::to_string(&found).context(Kind::Internal, || "cannot write JSON".into())?;
                format!("{json}\n")
            }
            Format::Html => html::page(&found)?,
            Format::Markdown => markdown::comment(&found),
        };
        let path = match target {
            None if self.open => shown(&text)?,
            None => {
                call.out.text(&text)?;
                return Ok(Exit::Done);
            }
            Some(target) => target.write_text(&text)?,
        };
        call.out.note(&format!("written to '{}'", printable(path.as_os_str().as_encoded_bytes())))?;
        if self.open {
            call.out.flush()?;
            external::browse(&context.repo, &path)?;
        }
        Ok(Exit::Done)
    }
}

/// Writes `text` to a new temporary file that only the user can read, and which stays for the browser.
fn shown(text: &str) -> Result<PathBuf> {
    let what = || "cannot write the page to the directory for temporary files".to_owned();
    let mut file = tempfile::Builder::new()
        .prefix("git-checkpoint-report-")
        .suffix(".html")
        .tempfile()
        .context(Kind::Internal, what)?;
    file.write_all(text.as_bytes()).context(Kind::Internal, what)?;
    let (_, path) = file.keep().map_err(|error| error.error).context(Kind::Internal, what)?;
    Ok(path)
}
