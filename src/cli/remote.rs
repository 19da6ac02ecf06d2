//! `git checkpoint remote`: which remotes have records, and to which of them ours may be sent.

use super::{Exit, call::Call, layout, output::printable, phrase, question};
use crate::{
    error::{Error, Result},
    model::refname,
    ops::remotes::{self, Approval, Removed},
};

/// Say where records may be sent
///
/// Nothing leaves this repository until a remote is approved. The approval is for the URL that git pushes to: if that changes, it
/// has to be approved again.
#[derive(clap::Args, Debug)]
pub(super) struct RemoteCommand {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(clap::Subcommand, Debug)]
enum Action {
    List(List),
    Add(Add),
    Approve(Approve),
    Remove(Remove),
}

/// Show the remotes, and whether records may be sent to them
#[derive(clap::Args, Debug, Default)]
struct List {
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Add a remote for records alone, which git itself does not fetch from
#[derive(clap::Args, Debug)]
struct Add {
    /// Its name
    #[arg(value_name = "name")]
    name: String,
    /// Its URL or path
    #[arg(value_name = "url")]
    url: String,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Let records be sent to a remote
#[derive(clap::Args, Debug)]
struct Approve {
    /// The name of the remote
    #[arg(value_name = "remote")]
    remote: String,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    /// Print the result as JSON; it is only approved with --yes
    #[arg(long)]
    json: bool,
}

/// Let no more records be sent to a remote, and forget what was fetched from it
#[derive(clap::Args, Debug)]
struct Remove {
    /// The name of the remote, also of one that git no longer knows
    #[arg(value_name = "remote")]
    remote: String,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    /// Say what would be removed, and remove nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Print the result as JSON; what was fetched is only forgotten with --yes
    #[arg(long)]
    json: bool,
}

impl RemoteCommand {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        match self.action.unwrap_or_else(|| Action::List(List::default())) {
            Action::List(command) => command.run(call),
            Action::Add(command) => command.run(call),
            Action::Approve(command) => command.run(call),
            Action::Remove(command) => command.run(call),
        }
    }
}

impl List {
    fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.context_for_logs()?;
        let found = remotes::list(&context)?;
        if self.json {
            call.out.json(&found)?;
            return Ok(Exit::Done);
        }
        let columns = found.remotes.iter().map(|it| layout::width(&it.name)).max().unwrap_or_default();
        for remote in &found.remotes {
            let words = match remote.approval {
                Approval::Approved => "approved",
                Approval::None => "not approved",
                Approval::UrlChanged => "not approved: the URL has changed",
            };
            let name = layout::padded(&printable(&remote.name), columns);
            call.out.line(&format!("{name}  {} ({words})", printable(remote.urls.join(", "))))?;
        }
        if found.remotes.is_empty() {
            call.out.note("there is no remote")?;
            call.out.hint("'git checkpoint remote add <name> <url>' adds one for records alone");
        }
        Ok(Exit::Done)
    }
}

impl Add {
    fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.writing_context()?;
        let added = remotes::add(&context, &self.name, &self.url)?;
        if self.json {
            call.out.json(&added)?;
            return Ok(Exit::Done);
        }
        call.out.note(&format!(
            "added '{}' for records: {}",
            printable(&added.name),
            printable(added.urls.join(", "))
        ))?;
        call.out.hint(&format!(
            "'git checkpoint fetch {0}' gets records from it, 'git checkpoint remote approve {0}' lets records be sent to it",
            printable(&added.name)
        ));
        Ok(Exit::Done)
    }
}

impl Approve {
    fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.context_for_logs()?;
        let context = call.listening(context)?;
        let remote = remotes::find(&context, &self.remote)?;
        let (name, urls) = (printable(&remote.name), printable(remote.urls.join(", ")));
        let is_open = remote.approval != Approval::Approved;
        if is_open && !self.yes && !self.json {
            call.out.flush()?;
            call.out.stderr(&format!(
                "All who can read {urls} then see who wrote each line, what was asked of agents\nand, with --transcripts, \
                 what they answered. Records of all branches are sent, also of those that\nyou have not pushed, with the \
                 paths of their files, the names of worktrees, and how many tokens models have used.\n"
            ));
            let asked = format!("Let records be sent to '{name}'? [y/N] ");
            if !question::ask(&asked, &|| context.check_interrupt(), &mut call.out)? {
                let refused = Error::refused(format!("'{name}' is not approved"));
                let hint = "on a terminal, this command asks; '--yes' answers";
                return Err(if question::is_possible() { refused } else { refused.with_hint(hint) });
            }
        }
        let remote = if is_open && self.json && !self.yes { remote } else { remotes::approve(&context, &remote)? };
        if self.json {
            call.out.json(&remote)?;
        } else {
            call.out.note(&format!("records may be sent to '{name}': {urls}"))?;
            call.out.hint(&if context.repo.has_worktree() {
                format!("'git checkpoint push {name}' sends them")
            } else {
                format!("'git push checkpoint::{name} refs/checkpoints/history' sends them")
            });
        }
        Ok(Exit::Done)
    }
}

impl Remove {
    fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.context_for_logs()?;
        let context = call.listening(context)?;
        let plan = remotes::plan_removal(&context, &self.remote)?;
        let name = printable(&plan.name);
        // What is still there can be fetched again; the consent alone needs no question.
        let is_asked = !plan.refs.is_empty() && !self.yes && !self.dry_run;
        if is_asked && !self.json {
            call.out.flush()?;
            call.out.stderr(&format!("{}.\n", forgotten(&plan)));
            if !question::ask("Remove it? [y/N] ", &|| context.check_interrupt(), &mut call.out)? {
                let refused = Error::refused(format!("'{name}' is not removed"));
                let hint = "on a terminal, this command asks; '--yes' answers";
                return Err(if question::is_possible() { refused } else { refused.with_hint(hint) });
            }
        }
        let removed = if self.dry_run || is_asked && self.json { plan } else { remotes::remove(&context, plan)? };
        if self.json {
            call.out.json(&removed)?;
            return Ok(Exit::Done);
        }
        let (remove, can) = if removed.dry_run { ("would remove", "could then not") } else { ("removed", "cannot") };
        if removed.was_added {
            call.out.note(&format!("{remove} the remote '{name}': {}", printable(removed.urls.join(", "))))?;
        } else if !removed.imported {
            let again = if removed.was_approved && !removed.dry_run { " any more" } else { "" };
            call.out.note(&format!("records {can} be sent to '{name}'{again}"))?;
        }
        if !removed.refs.is_empty() {
            call.out.note(&forgotten(&removed))?;
        }
        Ok(Exit::Done)
    }
}

/// Says how much of what was fetched is forgotten.
fn forgotten(removed: &Removed) -> String {
    let goes = if removed.dry_run { "what was fetched from" } else { "forgot what was fetched from" };
    let only_there = match removed.only_there {
        0 => String::new(),
        count => format!(", {count} of which nothing else here has"),
    };
    let records = phrase::count(removed.records, "record");
    let would = if removed.dry_run { " goes" } else { "" };
    let name = printable(&removed.name);
    if removed.imported {
        let goes = if removed.dry_run { "what was imported as" } else { "forgot what was imported as" };
        let ids = removed.refs.iter().filter_map(|name| refname::fetched_ref(name));
        let checkpoints = ids.filter(|(_, there)| refname::shared_id(there).is_some()).count();
        let checkpoints = phrase::count(checkpoints, "checkpoint");
        return format!(
            "{goes} '{name}'{would}: {checkpoints}, {records}{only_there}; 'git checkpoint undo' brings it back"
        );
    }
    format!(
        "{goes} '{name}'{would}: {records}{only_there}; 'git checkpoint fetch' gets them again while the remote has them"
    )
}
