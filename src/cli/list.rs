//! `git checkpoint list`: checkpoints, newest first, one a line.

use std::ffi::OsString;

use super::{Exit, call::Call, date, output::printable, phrase};
use crate::{
    error::{Error, Result},
    model::moment,
    ops::{
        Context,
        history::{self, Entry, ListOptions},
    },
};

/// List checkpoints, newest first
///
/// The checkpoints of one turn of an agent are one line, the last of them, unless --all is given.
#[derive(clap::Args, Debug)]
pub(super) struct List {
    /// At most this many
    #[arg(short = 'n', long, value_name = "number")]
    max_count: Option<usize>,
    /// Only those of this session
    #[arg(long, value_name = "id")]
    session: Option<String>,
    /// Only those of this agent
    #[arg(long, value_name = "name")]
    agent: Option<String>,
    /// Only those in which this path changed (may be repeated)
    #[arg(long = "path", value_name = "path")]
    named_paths: Vec<OsString>,
    /// Only those since then, for example '2 hours ago' or 2026-01-31
    #[arg(long, value_name = "date")]
    since: Option<String>,
    /// Only those until then
    #[arg(long, value_name = "date")]
    until: Option<String>,
    /// Only those whose message matches
    #[arg(long, value_name = "regex")]
    grep: Option<String>,
    /// Those in the archive instead of the live ones
    #[arg(long)]
    archived: bool,
    /// Those of all worktrees
    #[arg(long)]
    all_worktrees: bool,
    /// Each of the checkpoints of a turn
    #[arg(long)]
    all: bool,
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
    /// Only those in which one of these paths changed
    #[arg(value_name = "path")]
    paths: Vec<OsString>,
}

impl List {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.context()?;
        let is_json = self.json;
        let options = self.options(&context)?;
        let is_filtered = options.session.is_some()
            || options.agent.is_some()
            || options.grep.is_some()
            || options.since.is_some()
            || options.until.is_some()
            || !options.paths.is_empty();
        call.start_pager(&context)?;
        let now = date::now();
        let mut found = 0;
        let broken = history::list(&context, &options, &mut |entry| {
            found += 1;
            if is_json {
                call.out.json(&entry)?;
            } else {
                let line = line(&entry, now, call);
                call.out.line(&line)?;
            }
            Ok(!call.interrupt.is_raised() && !call.out.is_closed())
        })?;
        for error in &broken {
            call.out.warning(&format!("not all can be shown: {error}"));
        }
        if !broken.is_empty() {
            call.out.hint("'git checkpoint doctor' says what to do");
        }
        Ok(if found == 0 && is_filtered { Exit::No } else { Exit::Done })
    }

    fn options(self, context: &Context) -> Result<ListOptions> {
        let paths = [self.named_paths, self.paths].concat();
        Ok(ListOptions {
            session: self.session,
            agent: self.agent,
            paths: Call::pathspecs(&context.repo, &paths)?,
            since: self.since.as_deref().map(moment_of).transpose()?,
            until: self.until.as_deref().map(moment_of).transpose()?,
            grep: self.grep,
            archived: self.archived,
            all_worktrees: self.all_worktrees,
            all: self.all,
            limit: self.max_count,
            with_paths: self.json,
            ..ListOptions::default()
        })
    }
}

/// Returns the moment that the user typed as `text`.
pub(super) fn moment_of(text: &str) -> Result<i64> {
    date::parse_moment(text, date::now()).ok_or_else(|| {
        Error::user(format!("'{text}' is not a date"))
            .with_hint("for example '2 hours ago', 'yesterday' or '2026-01-31T08:15'")
    })
}

fn line(entry: &Entry, now: i64, call: &Call) -> String {
    let checkpoint = &entry.checkpoint;
    let date = if call.out.is_terminal() {
        format!("{:<14}", date::relative(checkpoint.seconds, now))
    } else {
        moment::iso(checkpoint.seconds, checkpoint.offset)
    };
    let id = call.out.paint(phrase::ID, &phrase::short(&checkpoint.id));
    let date = call.out.paint(phrase::DIM, &date);
    let marks = marks(entry.verified, &entry.tags, entry.folded);
    let marks = if marks.is_empty() {
        String::new()
    } else {
        call.out.paint(phrase::MARK, &format!(" [{}]", marks.join(", ")))
    };
    format!("{id}  {date}  {:<20}  {}{marks}", phrase::who(&checkpoint.origin), printable(&checkpoint.subject))
}

/// Returns the marks of a checkpoint, which follow its message.
pub(super) fn marks(is_verified: bool, tags: &[String], folded: usize) -> Vec<String> {
    let mut marks = Vec::new();
    if is_verified {
        marks.push("verified".to_owned());
    }
    marks.extend(tags.iter().map(|tag| format!("tag: {}", printable(tag))));
    if folded > 0 {
        marks.push(format!("{folded} more in this turn"));
    }
    marks
}
