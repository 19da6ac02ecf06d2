//! `git checkpoint prune`: drops shadows of the archive that are old, too many or too large.

use super::{Exit, call::Call, date, output::printable, phrase};
use crate::{
    config::{self, ByteSize},
    error::{Error, Result},
    ops::prune::{self, NeededFor, Pruned, Why},
};

/// Drop old checkpoints from the archive
///
/// A shadow, the checkpoints of one commit that were set aside together, goes as a whole. Live shadows, and the one with the
/// verified checkpoint, are never dropped. Without an option, the settings archive.keep-days, archive.keep-count and
/// archive.max-size decide.
#[derive(clap::Args, Debug)]
pub(super) struct Prune {
    /// Drop what was set aside longer ago, for example 30d or '2 weeks'
    #[arg(long, value_name = "span")]
    older_than: Option<String>,
    /// Keep at most this many shadows, the newest
    #[arg(long, value_name = "number")]
    keep: Option<usize>,
    /// Drop the oldest until the rest takes at most this much, for example '500 MiB'
    #[arg(long, value_name = "size")]
    max_size: Option<String>,
    /// Say what would be dropped, and drop nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

impl Prune {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let options = prune::Options {
            older_than: self.older_than.as_deref().map(span_of).transpose()?,
            keep: self.keep,
            max_size: self.max_size.as_deref().map(size_of).transpose()?,
            dry_run: self.dry_run,
            now: None,
        };
        let context = call.writing_context()?;
        let pruned = prune::prune(&context, &options)?;
        if self.json {
            call.out.json(&pruned)?;
        } else {
            print(&pruned, call)?;
        }
        for copy in &pruned.copies_left {
            call.out.warning(&format!("the copy {} stays: {}", phrase::quoted(&copy.path), printable(&copy.why)));
        }
        context.check_interrupt()?;
        Ok(if pruned.copies_left.is_empty() { Exit::Done } else { Exit::No })
    }
}

fn span_of(text: &str) -> Result<i64> {
    let of_setting = || config::parse_duration(text).and_then(|span| i64::try_from(span.as_secs()).ok());
    date::parse_span(text).or_else(of_setting).ok_or_else(|| {
        Error::user(format!("'{text}' is not a span of time")).with_hint("for example '30d' or '2 weeks'")
    })
}

fn size_of(text: &str) -> Result<u64> {
    let size: std::result::Result<ByteSize, ()> = text.parse();
    size.map(ByteSize::bytes)
        .map_err(|()| Error::user(format!("'{text}' is not a size")).with_hint("for example '500 MiB' or '2g'"))
}

fn print(pruned: &Pruned, call: &mut Call) -> Result<()> {
    let verb = if pruned.dry_run { "would drop" } else { "dropped" };
    for shadow in &pruned.dropped {
        let tip = call.out.paint(phrase::ID, &call.names.id(&shadow.tip));
        let why = match shadow.why {
            Why::Age => "too old",
            Why::Count => "too many",
            Why::Size => "too large",
        };
        let when = date::shown(&shadow.archived, call.out.is_terminal());
        let line = format!("{verb} {tip}, set aside {when} ({why})");
        if pruned.dry_run { call.out.line(&line)? } else { call.out.note(&line)? }
    }
    for copy in &pruned.copies {
        let verb = if pruned.dry_run { "would delete" } else { "deleted" };
        let when = date::shown(&copy.ended, call.out.is_terminal());
        let line = format!(
            "{verb} the copy of the round {} in {}, which ended {when}",
            copy.round,
            phrase::quoted(&copy.path)
        );
        if pruned.dry_run { call.out.line(&line)? } else { call.out.note(&line)? }
    }
    if !pruned.dry_run && !pruned.copies.is_empty() {
        call.out.hint("copies are deleted for good: 'git checkpoint undo' brings none back");
    }
    for shadow in &pruned.stays {
        let tip = call.out.paint(phrase::ID, &call.names.id(&shadow.tip));
        let why = match shadow.needed_for {
            NeededFor::Verified => "it has the verified checkpoint",
            NeededFor::Undo => "'git checkpoint undo' needs it",
            NeededFor::Uncommitted => "without it, lines of uncommitted work may count as a person's",
            NeededFor::Damaged => "not all of it can be read, see 'git checkpoint doctor'",
        };
        let verb = if pruned.dry_run { "would keep" } else { "kept" };
        let when = date::shown(&shadow.archived, call.out.is_terminal());
        call.out.note(&format!("{verb} {tip}, set aside {when} ({why})"))?;
    }
    let held = match pruned.bytes {
        Some(bytes) if bytes > 0 => format!(", which held {}", phrase::size(bytes)),
        _ => String::new(),
    };
    let count = phrase::count(pruned.dropped.len(), "shadow");
    let stay = if pruned.kept == 1 { "stays" } else { "stay" };
    // These shadows are live, not in the archive: the limits do not hold for them.
    let left = match pruned.left {
        0 => String::new(),
        left => format!(", and {left} on commits that HEAD has left"),
    };
    call.out.note(&format!("{verb} {count}{held}; {} {stay} in the archive{left}", pruned.kept))
}
