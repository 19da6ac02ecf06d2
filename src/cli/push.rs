//! `git checkpoint push` and `git checkpoint sync`: share records with others.

use std::collections::BTreeSet;

use super::{Exit, call::Call, fetch, output::printable, phrase};
use crate::{
    error::{Error, Result},
    model::{path_text::shell_word, refname},
    ops::remotes::{self, NoteFate, PushOptions, Sent, ShareOptions, Shared, SharedCheckpoint, SharedNote, TagFate},
};

/// Send records to others
///
/// What the remote has already is joined with your own records first, so that nothing of either side is lost, and no push is refused
/// because others were faster. Without <remote>, the only approved remote is meant.
#[derive(clap::Args, Debug)]
pub(super) struct Push {
    #[command(flatten)]
    arguments: Arguments,
    /// Send this checkpoint instead of records; may be given more than once
    #[arg(long = "checkpoint", value_name = "checkpoint", conflicts_with = "transcripts")]
    checkpoints: Vec<String>,
    /// Send the latest checkpoint of this worktree instead of records
    #[arg(long, conflicts_with = "transcripts")]
    shadow: bool,
    /// Send the notes of the checkpoints that the remote has already instead of records
    #[arg(long, conflicts_with = "transcripts")]
    notes: bool,
    /// Send the commits that these stand on, too, if the remote lacks them
    #[arg(long)]
    with_history: bool,
}

/// Get the records of others, and send them yours
///
/// This is 'git checkpoint fetch' and then 'git checkpoint push', with the same remote.
#[derive(clap::Args, Debug)]
pub(super) struct Sync {
    #[command(flatten)]
    arguments: Arguments,
    /// The process to wait for, in the background (for the hook pre-push)
    #[arg(long, value_name = "process", hide = true, conflicts_with_all = ["no_scan", "dry_run", "json", "transcripts"])]
    after: Option<String>,
}

#[derive(clap::Args, Debug)]
struct Arguments {
    /// The name of an approved remote
    #[arg(value_name = "remote")]
    remote: Option<String>,
    /// Send transcripts, too: what was said, and what agents have read and answered
    #[arg(long)]
    transcripts: bool,
    /// Do not look for secrets in what is sent
    #[arg(long)]
    no_scan: bool,
    /// Say what would be sent; send nothing, and move no ref
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

impl Push {
    pub(super) fn run(mut self, call: &mut Call) -> Result<Exit> {
        self.checkpoints.extend(self.shadow.then(|| "@".to_owned()));
        if self.checkpoints.is_empty() && !self.notes {
            if self.with_history {
                let error = Error::user("'--with-history' is for checkpoints");
                return Err(error.with_hint("name one with '--checkpoint', or the latest with '--shadow'"));
            }
            return self.arguments.run(false, call);
        }
        let context = call.writing_context()?;
        let Arguments { remote, no_scan, dry_run, json, .. } = self.arguments;
        let remote = remote.or_else(|| context.settings.push.remote.clone());
        let (checkpoints, notes, with_history) = (self.checkpoints, self.notes, self.with_history);
        let options = ShareOptions { remote, checkpoints, notes, with_history, no_scan, dry_run };
        let shared = {
            let _progress = call.progress("sending checkpoints");
            remotes::share(&context, &options)?
        };
        if json {
            call.out.json(&shared)?;
        } else {
            print_shared(&shared, call)?;
        }
        Ok(Exit::Done)
    }
}

/// Says which checkpoints were sent, and what goes with them.
fn print_shared(shared: &Shared, call: &mut Call) -> Result<()> {
    let remote = printable(&shared.remote);
    for line in &shared.said {
        call.out.note(&format!("'{remote}' says: {}", printable(line)))?;
    }
    for one in &shared.checkpoints {
        let id = call.names.id(&one.id);
        if let Some(first) = one.skipped.first() {
            let more = one.skipped.len() - 1;
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            call.out.warning(&format!(
                "{id} has left out '{first}'{more}: others do not get it, and 'restore --all' deletes what they have there"
            ));
        }
        let verb = if shared.dry_run { "would send" } else { "sent" };
        if !one.is_new {
            call.out.note(&format!("'{remote}' has {id} already"))?;
            print_tags(one, verb, shared, call)?;
            continue;
        }
        let (files, size) = (phrase::count(one.files, "new file"), phrase::size(one.bytes));
        let commits = match one.commits {
            0 => String::new(),
            count => format!(", and {} of code", phrase::count(count, "commit")),
        };
        call.out.note(&format!("{verb} {id} to '{remote}': {files} ({size}){commits}"))?;
        print_tags(one, verb, shared, call)?;
    }
    let verb = if shared.dry_run { "would send" } else { "sent" };
    for note in &shared.notes {
        print_note(note, verb, shared, call)?;
    }
    if shared.checkpoints.is_empty() && shared.notes.iter().all(|it| it.fate == NoteFate::Same) {
        call.out.note(&format!("no note is new to '{remote}'"))?;
    }
    if let Some(first) = shared.checkpoints.first().filter(|_| !shared.dry_run) {
        call.out.hint(&format!(
            "others get it with 'git checkpoint fetch --checkpoints <remote>', and name it <remote>/{}",
            call.names.id(&first.id)
        ));
    }
    Ok(())
}

/// Says what became of `note`.
fn print_note(note: &SharedNote, verb: &str, shared: &Shared, call: &mut Call) -> Result<()> {
    let (id, remote) = (call.names.id(&note.id), printable(&shared.remote));
    let removed = if shared.dry_run { "would remove" } else { "removed" };
    match &note.fate {
        NoteFate::Same => {}
        NoteFate::Sent => call.out.note(&format!("{verb} the note of {id}"))?,
        NoteFate::Removed => call.out.note(&format!("{removed} the note of {id} in '{remote}'"))?,
        NoteFate::Refused { why } => {
            call.out.warning(&format!("'{remote}' has refused the note of {id}: {}", printable(why)));
        }
    }
    Ok(())
}

/// Says what became of the tags and the note of `one`, a checkpoint.
fn print_tags(one: &SharedCheckpoint, verb: &str, shared: &Shared, call: &mut Call) -> Result<()> {
    let (id, remote) = (call.names.id(&one.id), printable(&shared.remote));
    for it in &one.tags {
        let tag = printable(&it.tag);
        match &it.fate {
            TagFate::Sent => call.out.note(&format!("{verb} the tag '{tag}' of {id}"))?,
            TagFate::Same => {}
            TagFate::Kept => {
                call.out.warning(&format!("'{remote}' has a tag '{tag}' that names something else, and keeps it"));
                let (remote, name) = (shell_word(&shared.remote), shell_word(&format!(":{}", it.name)));
                call.out.hint(&format!(
                    "'git push {remote} {name}' deletes it there; then the same command sends this one"
                ));
            }
            TagFate::Refused { why } => {
                call.out.warning(&format!("'{remote}' has refused the tag '{tag}': {}", printable(why)));
            }
        }
    }
    one.note.as_ref().map_or(Ok(()), |note| print_note(note, verb, shared, call))
}

impl Sync {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let (Some(after), Some(remote)) = (&self.after, &self.arguments.remote) else {
            return self.arguments.run(true, call);
        };
        let context = call.writing_context()?;
        remotes::after_push(&context, remote, after)?;
        Ok(Exit::Done)
    }
}

impl Arguments {
    fn run(self, sync: bool, call: &mut Call) -> Result<Exit> {
        let context = call.writing_context()?;
        let Self { remote, transcripts, no_scan, dry_run, json } = self;
        let settings = &context.settings.push;
        let remote = remote.or_else(|| settings.remote.clone());
        let options = PushOptions { remote, transcripts: transcripts || settings.transcripts, no_scan, dry_run };
        if sync {
            let (synced, result) = {
                let _progress = call.progress("exchanging records");
                remotes::sync(&context, &options)?
            };
            if json {
                call.out.json(&synced)?;
            } else {
                fetch::print(&synced.fetched, call)?;
                synced.sent.as_ref().map_or(Ok(()), |sent| print(sent, call))?;
            }
            return result.map(|()| Exit::Done);
        }
        let sent = {
            let _progress = call.progress("sending records");
            remotes::push(&context, &options)?
        };
        if json {
            call.out.json(&sent)?;
        } else {
            print(&sent, call)?;
        }
        Ok(Exit::Done)
    }
}

fn print(sent: &Sent, call: &mut Call) -> Result<()> {
    let remote = printable(&sent.remote);
    for line in &sent.said {
        call.out.note(&format!("'{remote}' says: {}", printable(line)))?;
    }
    fetch::damaged(&sent.damaged, call);
    if sent.incomplete_commits > 0 {
        call.out.warning(&format!(
            "others may not know who wrote the lines of {}: git has rewritten them, and what they were before is not here, or cannot be read",
            phrase::count(sent.incomplete_commits, "commit")
        ));
    }
    let (mut records, mut others) = (0, BTreeSet::new());
    for it in &sent.refs {
        let is_history = it.name == refname::HISTORY;
        // A remote may have several URLs.
        records = it.sent_records.max(records);
        if !is_history && it.old != Some(it.new) {
            others.insert(&it.name);
        }
        for name in &it.apart {
            call.out.warning(&format!(
                "there are several versions of {} {name}, and all are kept",
                if is_history { "record" } else { "the transcript" }
            ));
        }
        if it.hidden {
            call.out.warning(&format!("'{}' was pushed, but '{remote}' does not show it to those who fetch", it.name));
            call.out.hint(
                "the server hides it (transfer.hideRefs, uploadpack.hideRefs); its administrator can change that",
            );
        }
    }
    let verb = if sent.dry_run { "would send" } else { "sent" };
    let mut parts = Vec::new();
    parts.extend((records > 0).then(|| format!("{verb} {}", phrase::count(records, "record"))));
    parts.extend(
        (!others.is_empty()).then(|| format!("{verb} transcripts of {}", phrase::count(others.len(), "month"))),
    );
    if parts.is_empty() {
        let is_moved = sent.refs.iter().any(|it| it.old != Some(it.new));
        parts.push(format!("{verb} {}", if is_moved { "changes of records" } else { "nothing" }));
    }
    call.out.note(&format!("{} to '{remote}'", parts.join(" and ")))
}
