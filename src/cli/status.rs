//! `git checkpoint status`: the state of the worktree at a glance.

use std::collections::HashSet;

use bstr::BString;

use serde::Serialize;

use super::{
    Exit,
    agent_files::Places,
    call::Call,
    date,
    doctor::agents::{Listed, Missing, command_for},
    layout,
    output::printable,
    overlap, phrase,
};
use crate::{
    error::Result,
    git::hooks::Health,
    model::{moment, path_text::shell_word},
    ops::{
        Context,
        agent_hooks::Elsewhere,
        hooks::HookDone,
        status::{self, SessionStatus, Status},
    },
};

/// From this size on, `status` mentions the objects that git will repack.
const NOTEWORTHY_BYTES: u64 = 1 << 20;

/// Show where the worktree stands: checkpoints, changes, skipped paths
#[derive(clap::Args, Debug)]
pub(super) struct StatusCommand {
    /// Print the status as JSON
    #[arg(long)]
    json: bool,
}

/// All that `status --json` prints.
#[derive(Serialize)]
struct Whole<'a> {
    #[serde(flatten)]
    status: &'a Status,
    agents: &'a [Listed],
    agents_elsewhere: &'a [Elsewhere],
    agents_missing: &'a [Missing],
}

impl StatusCommand {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.context()?;
        self.run_in(&context, call)
    }

    /// Shows the status of the worktree of `context`.
    pub(super) fn run_in(self, context: &Context, call: &mut Call) -> Result<Exit> {
        let progress = call.progress("looking at the worktree");
        let status = status::status(context)?;
        let places = Places::new(context)?;
        let enabled = places.enabled(context)?;
        let elsewhere = places.elsewhere(context, &enabled)?;
        let missing = Missing::all(context, &places, &enabled)?;
        let agents = Listed::all(&enabled);
        drop(progress);
        if self.json {
            let (agents_elsewhere, agents_missing) = (&elsewhere[..], &missing[..]);
            call.out.json(&Whole { status: &status, agents: &agents, agents_elsewhere, agents_missing })?;
        } else {
            print(&status, &agents, (&elsewhere, &missing), call)?;
        }
        Ok(Exit::Done)
    }
}

fn print(status: &Status, agents: &[Listed], silent: (&[Elsewhere], &[Missing]), call: &mut Call) -> Result<()> {
    let base = match status.base.commit_id() {
        Some(id) => format!("base {}", call.out.paint(phrase::ID, &call.names.id(&id))),
        None => "no commit yet".to_owned(),
    };
    match &status.branch {
        Some(branch) => call.out.line(&format!("On branch {}, {base}", printable(branch)))?,
        None => call.out.line(&format!("HEAD detached, {base}"))?,
    }
    if status.worktree != "main" {
        call.out.line(&format!("In the linked worktree '{}'", printable(&status.worktree)))?;
    }
    print_shadow(status, call)?;
    print_problems(status, silent, call)?;
    let since = if status.shadow.is_some() { "the latest checkpoint" } else { "the base, and not saved on it yet" };
    print_paths(&format!("Changed since {since}:"), &status.unsaved, call)?;
    if !status.unsaved.is_empty() {
        call.out.note("  (use \"git checkpoint save\" to save them)")?;
    }
    let touched = status.shadow.as_ref().map(|shadow| shadow.touched.as_slice()).unwrap_or_default();
    print_paths("Saved, and different from the base:", &status.overlap, call)?;
    let changed: HashSet<&BString> = status.overlap.iter().collect();
    let only_saved: Vec<BString> = touched.iter().filter(|path| !changed.contains(path)).cloned().collect();
    print_paths("Saved, and since then as in the base again:", &only_saved, call)?;
    print_sessions(&status.sessions, call)?;
    if !agents.is_empty() {
        let lines = Listed::lines(agents, call);
        call.out.line("")?;
        call.out.prose(&format!("Agents: {}", lines.join(", ")))?;
    }
    if let Some(to_fetch) = &status.to_fetch {
        call.out.line("")?;
        call.out.prose(&phrase::to_fetch(to_fetch))?;
        call.out.note(&format!("  (use \"{}\" to get them)", phrase::fetch_command(to_fetch)))?;
    }
    if !status.notes.is_empty() {
        print_heading("Notes:", call)?;
    }
    for note in &status.notes {
        call.out.prose(&format!("\t{}", printable(note)))?;
    }
    Ok(())
}

/// Prints what needs the user: it comes before what only informs.
fn print_problems(status: &Status, (elsewhere, missing): (&[Elsewhere], &[Missing]), call: &mut Call) -> Result<()> {
    if let Some(target) = &status.interrupted_restore {
        print_heading(&format!("Restoring {} was interrupted.", call.names.id(target)), call)?;
        call.out.note("  (use \"git checkpoint restore --continue\" to continue)")?;
        call.out.note("  (use \"git checkpoint undo\" to take it back)")?;
    }
    if let Some(broken) = &status.broken {
        let heading = if status.hidden { "The shadow cannot be opened:" } else { "The shadow is broken:" };
        print_heading(heading, call)?;
        let broken = call.out.paint(phrase::OLD, &printable(broken));
        call.out.prose(&format!("\t{broken}"))?;
        call.out.note(if status.hidden {
            "  (see to owner and permissions of its files, and whether their disk is mounted; nothing is given up until then)"
        } else {
            "  (\"git checkpoint save\" sets it aside if it cannot continue it, \"git checkpoint doctor --fix\" always does)"
        })?;
    }
    if let Some(error) = &status.last_error {
        print_heading("Last error:", call)?;
        let error = call.out.paint(phrase::OLD, &printable(error));
        call.out.prose(&format!("\t{error}"))?;
    }
    for failed in &status.failed_exchanges {
        let remote = printable(&failed.remote);
        print_heading(
            &format!("Records were not exchanged with '{remote}' ({}):", moment_of(failed.time, call)),
            call,
        )?;
        let message = call.out.paint(phrase::OLD, &printable(&failed.message));
        call.out.prose(&format!("\t{message}"))?;
        call.out.note(&format!("  (use \"git checkpoint sync {}\" to try it again)", shell_word(&remote)))?;
    }
    print_hooks(status, call)?;
    for it in missing {
        let (text, command) = it.text();
        call.out.line("")?;
        call.out.prose(&text)?;
        call.out.note(&format!("  (use \"{command}\" to put them there again)"))?;
    }
    for it in elsewhere.iter().filter(|it| !missing.iter().any(|missing| missing.is_of(&it.agent))) {
        let worktree = printable(phrase::worktree(&it.worktree));
        call.out.line("")?;
        call.out.prose(&format!("Hooks of {} are installed in {worktree}, not here.", printable(&it.agent)))?;
        call.out.note(&format!("  (use \"{}\" to install them here, too)", command_for(it)))?;
    }
    if !status.skipped.is_empty() {
        print_heading("Skipped, in no checkpoint:", call)?;
        for skipped in &status.skipped {
            call.out.line(&format!(
                "\t{}",
                phrase::skipped(&call.names.path(&skipped.path), skipped.reason, skipped.size)
            ))?;
        }
    }
    print_overlaps(status, call)?;
    let unfiltered: Vec<_> = status.unfiltered.iter().map(|file| file.path.clone()).collect();
    print_paths("Saved unfiltered, because a filter fails:", &unfiltered, call)?;
    print_inside(status, call)
}

/// Prints which other worktrees have changed paths that this one has changed, too.
fn print_overlaps(status: &Status, call: &mut Call) -> Result<()> {
    for (at, found) in status.overlaps.iter().enumerate() {
        if at == 0 {
            call.out.line("")?;
        }
        call.out.prose(&overlap::summary(found))?;
    }
    if status.overlaps.is_empty() {
        return Ok(());
    }
    call.out.note("  (use \"git checkpoint overlap\" to see where)")
}

/// Prints which repositories inside the worktree have changes that a save leaves out.
fn print_inside(status: &Status, call: &mut Call) -> Result<()> {
    if !status.submodules.is_empty() {
        print_heading("Submodules with changes of their own, which a save leaves out:", call)?;
        for submodule in &status.submodules {
            call.out.line(&format!("\t{} ({})", call.names.path(&submodule.path), submodule.words()))?;
        }
    }
    print_paths(
        "Nested repositories with changes of their own, which a save leaves out:",
        &status.changed_nested,
        call,
    )?;
    if status.submodules.is_empty() && status.changed_nested.is_empty() {
        return Ok(());
    }
    call.out.note("  (use \"git checkpoint save --recurse-submodules\" to save them, too)")
}

fn print_shadow(status: &Status, call: &mut Call) -> Result<()> {
    let mut parts = Vec::new();
    match &status.shadow {
        Some(shadow) => {
            let tip = call.out.paint(phrase::ID, &call.names.id(&shadow.tip));
            let count = phrase::count(shadow.checkpoints, "checkpoint");
            parts.push(format!("{count}, the latest {tip} {}", moment_of(shadow.tip_time, call)));
        }
        None if status.broken.is_some() => parts.push("The checkpoints on this base cannot be read".to_owned()),
        None => parts.push("No checkpoint on this base yet".to_owned()),
    }
    if let Some(id) = status.verified {
        parts.push(format!("verified {}", call.out.paint(phrase::ID, &call.names.id(&id))));
    }
    if let Some(id) = status.start {
        parts.push(format!("start {}", call.out.paint(phrase::ID, &call.names.id(&id))));
    }
    let columns = call.out.columns().unwrap_or(usize::MAX);
    phrase::wrapped_with(";", "", &parts, 0, columns).iter().try_for_each(|line| call.out.prose(line))?;
    let mut held = Vec::new();
    if status.archived > 0 {
        held.push(format!("{} in the archive", phrase::count(status.archived, "shadow")));
    }
    if status.bytes >= NOTEWORTHY_BYTES {
        held.push(format!("{} of new objects, which the next 'git gc' packs", phrase::size(status.bytes)));
    }
    if held.is_empty() { Ok(()) } else { call.out.prose(&held.join(", ")) }
}

fn print_sessions(sessions: &[SessionStatus], call: &mut Call) -> Result<()> {
    if sessions.is_empty() {
        return Ok(());
    }
    print_heading("Sessions:", call)?;
    for session in sessions {
        let state = phrase::session_state(session.phase, session.life);
        let state = call.out.paint(phrase::MARK, &format!("{state:<15}"));
        let mut parts = vec![
            call.out.paint(phrase::ID, &phrase::session_id(&session.id, call.out.columns(), layout::TAB + STATE + 1)),
        ];
        parts.extend(session.agent.as_ref().map(printable));
        parts.extend(session.model.as_ref().map(printable));
        parts.extend(session.turn.map(|turn| format!("turn {turn}")));
        parts.push(phrase::count(session.checkpoints, "checkpoint"));
        if session.should_reset_shadow {
            parts.push("sets the checkpoints aside first".to_owned());
        } else if !session.touched.is_empty() {
            parts.push(phrase::count(session.touched.len(), "file"));
        }
        parts.push(moment_of(session.last_seen, call));
        let columns = call.out.columns().map_or(usize::MAX, |columns| columns.saturating_sub(layout::TAB));
        for line in phrase::wrapped(&format!("{state}  "), &parts, STATE, columns) {
            call.out.line(&format!("\t{line}"))?;
        }
    }
    Ok(())
}

/// Columns of the state of a session and what is between it and the rest.
const STATE: usize = 17;

fn print_hooks(status: &Status, call: &mut Call) -> Result<()> {
    let is_broken = |health: &Health| *health != Health::Ok;
    if !status.hooks.values().any(is_broken) {
        return Ok(());
    }
    print_heading("Hooks of git that do not call git-checkpoint:", call)?;
    let mut is_mendable = false;
    for (name, health) in status.hooks.iter().filter(|(_, health)| is_broken(health)) {
        let to_add = status.hooks_without_line.iter().find(|hook| hook.name == *name);
        is_mendable |= to_add.is_none();
        let why = match (to_add.map(HookDone::has_file), health) {
            (Some(true), _) => "not one of git-checkpoint's, and without its line",
            (None, Health::Replaced) => "replaced",
            _ => "missing",
        };
        call.out.line(&format!("\t{name} ({why})"))?;
    }
    if is_mendable {
        call.out.note("  (use \"git checkpoint enable\" to mend that)")?;
    }
    let mut are_addable = status.hooks_without_line.iter().map(|hook| hook.is_addable);
    if are_addable.clone().any(|is_addable| is_addable) {
        call.out.note("  (use \"git checkpoint enable --hook-manager\" to add the lines)")?;
    }
    if are_addable.any(|is_addable| !is_addable) {
        call.out.note("  (use \"git checkpoint enable\" to see the line to add)")?;
    }
    Ok(())
}

fn moment_of(seconds: i64, call: &Call) -> String {
    if call.out.is_terminal() { date::relative(seconds, date::now()) } else { moment::iso(seconds, 0) }
}

fn print_heading(heading: &str, call: &mut Call) -> Result<()> {
    let heading = call.out.paint(phrase::BOLD, heading);
    call.out.line(&format!("\n{heading}"))
}

fn print_paths(heading: &str, paths: &[BString], call: &mut Call) -> Result<()> {
    if paths.is_empty() {
        return Ok(());
    }
    print_heading(heading, call)?;
    let shown = call.listed(paths.len());
    for path in &paths[..shown] {
        call.out.line(&format!("\t{}", call.names.path(path)))?;
    }
    match paths.len() - shown {
        0 => Ok(()),
        more => call.out.line(&format!("\t{}", phrase::and_more(more))),
    }
}
