//! `git checkpoint reset`: archives the shadow, lists the archive, makes an archived shadow live again.

use super::{Exit, call::Call, date, date_column::date_column, layout, output::printable, phrase};
use crate::{
    error::Result,
    ops::{
        Context,
        reset::{self, Archived, ResetDone},
    },
};

/// Set the checkpoints since the last commit aside and begin afresh
///
/// Moves the checkpoints of this worktree on HEAD to the archive; the next save begins anew at the base. No file is
/// touched, and nothing is lost.
#[derive(clap::Args, Debug)]
pub(super) struct Reset {
    /// Give up only what the turn of this session was about to do; takes the whole id
    #[arg(long, value_name = "session", conflicts_with_all = ["list", "restore_archived"])]
    session: Option<String>,
    /// Even while a session is active
    #[arg(long, conflicts_with_all = ["list", "restore_archived"])]
    force: bool,
    /// Say what would be done, and do nothing
    #[arg(short = 'n', long, conflicts_with_all = ["list", "restore_archived"])]
    dry_run: bool,
    /// List what is in the archive
    #[arg(long, conflicts_with = "restore_archived")]
    list: bool,
    /// Take the archived checkpoints that hold <id> out of the archive again
    #[arg(long, value_name = "id")]
    restore_archived: Option<String>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// What `--list --json` prints.
#[derive(serde::Serialize)]
struct Archive {
    version: u32,
    archived: Vec<Archived>,
}

impl Reset {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        if self.list {
            let context = call.context()?;
            return self.list(&context, call);
        }
        let context = call.writing_context()?;
        if let Some(id) = &self.restore_archived {
            let done = reset::restore_archived(&context, id)?;
            return self.report("brought back", &done, call);
        }
        if let Some(session) = &self.session {
            let done = reset::give_up(&context, session, self.dry_run)?;
            if self.json {
                call.out.json(&done)?;
            } else {
                let verb = if done.dry_run { "would give up" } else { "gave up" };
                call.out.note(&format!("{verb} what the turn of {} was about to do", printable(&done.session.id)))?;
                if done.archive.is_some() {
                    let verb = if done.dry_run { "would set aside" } else { "set aside" };
                    call.out.note(&format!("{verb} its checkpoints"))?;
                }
            }
            return Ok(Exit::Done);
        }
        let options = reset::Options { force: self.force, dry_run: self.dry_run };
        let done = reset::reset(&context, &options)?;
        for note in &done.notes {
            call.out.warning(&printable(note));
        }
        let verb = if done.dry_run { "would set aside" } else { "set aside" };
        self.report(verb, &done, call)?;
        if let Some(tip) = done.tip.filter(|_| !self.json && !done.dry_run && done.checkpoints > 0) {
            call.out
                .hint(&format!("'git checkpoint reset --restore-archived {}' brings them back", call.names.id(&tip)));
        }
        Ok(Exit::Done)
    }

    fn report(&self, verb: &str, done: &ResetDone, call: &mut Call) -> Result<Exit> {
        if self.json {
            call.out.json(done)?;
        } else {
            let tip = done.tip.map(|tip| call.out.paint(phrase::ID, &call.names.id(&tip)));
            let latest = tip.map(|tip| format!(", the latest {tip}")).unwrap_or_default();
            let count = phrase::count(done.checkpoints, "checkpoint");
            call.out.note(&format!("{verb} {count}{latest}"))?;
        }
        Ok(Exit::Done)
    }

    fn list(&self, context: &Context, call: &mut Call) -> Result<Exit> {
        let archived = reset::list_archived(context)?;
        if self.json {
            call.out.json(&Archive { version: 1, archived })?;
            return Ok(Exit::Done);
        }
        call.start_pager(context)?;
        let now = date::now();
        if archived.is_empty() {
            call.out.aside("the archive is empty");
        }
        for shadow in archived {
            let date = match call.out.columns() {
                Some(_) => date_column((shadow.seconds, 0), now, call),
                None => shadow.time,
            };
            let tip = call.names.id(&shadow.tip);
            let count = phrase::count(shadow.checkpoints, "checkpoint");
            let middle = format!("{}  {count:<14}", printable(&shadow.worktree));
            let used = tip.len() + layout::width(&date) + layout::width(&middle) + 6;
            let subject = call.out.fit(&printable(&shadow.called), used);
            let (tip, date) = (call.out.paint(phrase::ID, &tip), call.out.paint(phrase::DIM, &date));
            call.out.line(&format!("{tip}  {date}  {middle}  {subject}"))?;
        }
        Ok(Exit::Done)
    }
}
