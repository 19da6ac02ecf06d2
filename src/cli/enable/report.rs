//! What `enable` and `disable` have done, for people and as JSON.

use std::collections::BTreeSet;

use bstr::ByteSlice as _;
use serde_json::json;

use crate::{
    agent::dialect::Dialect,
    cli::{agent_files::Places, call::Call, output::printable, phrase},
    error::{Context as _, Kind, Result},
    ops::{
        agent_hooks::FileDone,
        hooks::{Action, HookDone, HooksDone},
    },
};

/// What was done to git's hooks and to the files of agents.
pub(super) struct Report {
    /// None if they were not asked for.
    pub(super) hooks: Option<HooksDone>,
    pub(super) files: Vec<FileDone>,
    /// The hooks that were trusted.
    pub(super) trusted: Vec<String>,
    pub(super) dry_run: bool,
}

impl Report {
    /// Returns true if the user has something left to do, or to look at.
    pub(super) fn is_incomplete(&self) -> bool {
        let is_open = |file: &FileDone| matches!(file.action, Action::Todo | Action::Kept);
        self.hooks.as_ref().is_some_and(HooksDone::is_incomplete) || self.files.iter().any(is_open)
    }

    /// Returns true if something calls us now that did not before.
    pub(super) fn is_first(&self) -> bool {
        let is_new = |action: Action| matches!(action, Action::Installed | Action::Added);
        let has_new_hook = self.hooks.iter().flat_map(|hooks| &hooks.hooks).any(|hook| is_new(hook.action));
        !self.dry_run && (has_new_hook || self.files.iter().any(|file| is_new(file.action)))
    }

    pub(super) fn print(&self, is_json: bool, places: &Places, call: &mut Call) -> Result<()> {
        if is_json {
            let mut value = match &self.hooks {
                Some(hooks) => serde_json::to_value(hooks).context(Kind::Internal, || "cannot write JSON".into())?,
                None => json!({ "version": 1, "dry_run": self.dry_run }),
            };
            value["agents"] = json!(self.files);
            value["trusted"] = json!(self.trusted);
            return call.out.json(&value);
        }
        let hooks = self.hooks.as_ref().map(|hooks| hooks.hooks.as_slice()).unwrap_or_default();
        let is_old = |hook: &HookDone| hook.action == Action::Unchanged && hook.note.is_none();
        let is_brief = !self.files.is_empty() && !hooks.is_empty() && hooks.iter().all(is_old);
        if is_brief {
            call.out.note(&format!("{}  git's hooks", word(Action::Unchanged, self.dry_run, call)))?;
        }
        for hook in hooks.iter().filter(|_| !is_brief) {
            let what = word(hook.action, self.dry_run, call);
            call.out.note(&format!("{what}  {}", hook.name))?;
            details(hook, call)?;
        }
        let mut rest = self.files.as_slice();
        while let Some(first) = rest.first() {
            let key = |file: &FileDone| (file.agent.clone(), file.scope, file.action, file.note.clone());
            let is_like = |file: &&FileDone| key(file) == key(first);
            let count = rest.iter().take_while(is_like).count();
            self.print_files(&rest[..count], places, call)?;
            rest = &rest[count..];
        }
        if !self.trusted.is_empty() {
            let what = call.out.paint(phrase::NEW, &format!("{:<16}", "trusted"));
            call.out.note(&format!("{what}  {}", printable(self.trusted.join(", "))))?;
        }
        Ok(())
    }

    /// Prints what was done to one file, or to several in the same way.
    fn print_files(&self, files: &[FileDone], places: &Places, call: &mut Call) -> Result<()> {
        let first = &files[0];
        let path = first.path.to_path().map_or_else(|_| first.path.to_string(), |path| places.shown(path));
        let more = if files.len() > 1 { format!(" and {} more", files.len() - 1) } else { String::new() };
        let what = match (first.action, self.dry_run) {
            (Action::Added, false) => call.out.paint(phrase::NEW, &format!("{:<16}", "added to")),
            (Action::Added, true) => call.out.paint(phrase::NEW, &format!("{:<16}", "would add to")),
            (action, dry_run) => word(action, dry_run, call),
        };
        let line = format!("{what}  {}: {}{more} ({})", first.agent, printable(path), whose(first.scope));
        call.out.item(&line, WORD + 2)?;
        if let Some(note) = &first.note {
            call.out.note(&format!("\t{}", printable(note)))?;
        }
        for before in files.iter().filter_map(|file| file.before.as_ref()) {
            let what = if first.action == Action::Kept { "the script that was there before is" } else { "calls first" };
            call.out.note(&format!("\t{what} {}", phrase::quoted(before)))?;
        }
        Ok(())
    }

    /// Prints the remaining steps.
    pub(super) fn hints(&self, asked: bool, dialects: &[&'static Dialect], is_json: bool, call: &mut Call) {
        if is_json {
            return;
        }
        if let Some(hooks) = self.hooks.as_ref().filter(|hooks| hooks.hooks.iter().any(|it| it.action == Action::Todo))
        {
            hint(hooks, asked, call);
        }
        let is_new = |file: &&FileDone| matches!(file.action, Action::Installed | Action::Added | Action::Updated);
        let changed: BTreeSet<&str> = self.files.iter().filter(is_new).map(|file| file.agent.as_str()).collect();
        for dialect in dialects {
            let is_changed = changed.contains(dialect.name) || dialect.files.is_empty();
            let is_trusted = dialect.name == super::trust::AGENT && !self.trusted.is_empty();
            if is_changed && !is_trusted {
                call.out.hint(&format!("{}: {}", dialect.name, dialect.todo));
            }
        }
    }
}

/// The columns of what was done.
const WORD: usize = 16;

fn whose(scope: &str) -> &'static str {
    match scope {
        "user" => "yours, for all projects",
        "project" => "the project's, to be committed",
        _ => "yours, for this project",
    }
}

fn word(action: Action, dry_run: bool, call: &Call) -> String {
    let (what, style) = match (action, dry_run) {
        (Action::Installed, false) => ("installed", phrase::NEW),
        (Action::Installed, true) => ("would install", phrase::NEW),
        (Action::Updated, false) => ("updated", phrase::NEW),
        (Action::Updated, true) => ("would update", phrase::NEW),
        (Action::Added, false) => ("added a line", phrase::NEW),
        (Action::Added, true) => ("would add a line", phrase::NEW),
        (Action::Unchanged, _) => ("unchanged", phrase::DIM),
        (Action::Todo, _) => ("needs you", phrase::OLD),
        (Action::Removed, false) => ("removed", phrase::NEW),
        (Action::Removed, true) => ("would remove", phrase::NEW),
        (Action::Restored, false) => ("as it was", phrase::NEW),
        (Action::Restored, true) => ("would put back", phrase::NEW),
        (Action::Kept, _) => ("kept", phrase::OLD),
    };
    call.out.paint(style, &format!("{what:<16}"))
}

fn details(hook: &HookDone, call: &mut Call) -> Result<()> {
    if let Some(note) = &hook.note {
        call.out.note(&format!("\t{}: {}", phrase::quoted(&hook.path), printable(note)))?;
    }
    if let Some(before) = &hook.before {
        let what = if hook.action == Action::Kept { "the hook that was there before is" } else { "calls first" };
        call.out.note(&format!("\t{what} {}", phrase::quoted(before)))?;
    }
    if let Some(line) = &hook.line {
        // Without this line, the hook does not work: quiet or not, the user has to see it.
        call.out.line(&format!("\tadd to {}:", phrase::quoted(&hook.path)))?;
        for line in line.lines() {
            call.out.line(&format!("\t    {line}"))?;
        }
    }
    Ok(())
}

fn hint(done: &HooksDone, asked: bool, call: &mut Call) {
    if !asked && done.hooks.iter().any(|hook| hook.is_addable) {
        call.out.hint("'git checkpoint enable --hook-manager' adds these lines, and 'disable' removes them");
    }
    call.out.hint("'git checkpoint status' shows which hooks do not call git-checkpoint yet");
}
