//! `git checkpoint enable` and `git checkpoint disable`: git's hooks and coding agents call us, or not any more.

mod report;
mod stored;
mod trust;

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;

use super::{
    Exit,
    agent_files::{self, Places},
    call::Call,
};
use crate::{
    agent::{dialect::Dialect, dialects, install::Scope},
    error::{Error, Result},
    ops::{
        Context,
        agent_hooks::{self, Noted, Target},
        hooks,
    },
};
use report::Report;

/// Let git's hooks, and coding agents, call git-checkpoint in this repository
///
/// Existing hooks are kept, and called first. Where a program manages the hooks, or they are committed,
/// it says which line to add; with --hook-manager it adds it.
///
/// With --agent or --all-agents, the agents' own settings are changed to call git-checkpoint, too; all else in them
/// stays as it is. gitcheckpoint-agents(7) lists the files.
#[derive(clap::Args, Debug)]
pub(super) struct Enable {
    #[command(flatten)]
    choice: Choice,
    /// Let Codex trust the hooks, which it skips otherwise until you trust them with '/hooks'
    #[arg(long)]
    trust: bool,
    /// Add lines to files that are kept for husky or lefthook, or committed
    #[arg(long)]
    hook_manager: bool,
    /// Say what would be done, and do nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Take git-checkpoint out of git's hooks and the settings of coding agents
///
/// What was there before is as it was; checkpoints and records stay. Files in the home directory stay while other
/// repositories use them, unless --user is given. With --agent or --all-agents, git's hooks stay, too, and only the
/// agents' settings are changed, wherever git-checkpoint is in them.
#[derive(clap::Args, Debug)]
pub(super) struct Disable {
    #[command(flatten)]
    choice: Choice,
    /// Say what would be done, and do nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Which agents, and which of their files.
#[derive(clap::Args, Debug)]
struct Choice {
    /// The agent whose settings are changed; may be given several times
    #[arg(long = "agent", value_name = "name", value_parser = names())]
    agents: Vec<String>,
    /// All agents that are on this machine
    #[arg(long, conflicts_with = "agents")]
    all_agents: bool,
    /// Change the user's settings, for all projects
    #[arg(long, conflicts_with_all = ["project", "local"])]
    user: bool,
    /// Change the settings that are committed with the project
    #[arg(long, conflicts_with = "local")]
    project: bool,
    /// Change the user's settings for this project
    #[arg(long)]
    local: bool,
}

fn names() -> PossibleValuesParser {
    let mut names: Vec<&str> = dialects::ALL.iter().map(|dialect| dialect.name).collect();
    names.sort_unstable();
    PossibleValuesParser::new(names)
}

impl Choice {
    fn has_agents(&self) -> bool {
        self.all_agents || !self.agents.is_empty()
    }

    fn scope(&self) -> Result<Option<Scope>> {
        let scope = match (self.user, self.project, self.local) {
            (true, ..) => Scope::User,
            (_, true, _) => Scope::Project,
            (.., true) => Scope::Local,
            _ => return Ok(None),
        };
        if self.has_agents() {
            return Ok(Some(scope));
        }
        Err(Error::user(format!("'--{}' is about the settings of an agent", scope.as_str()))
            .with_hint("name the agent with '--agent', or take all with '--all-agents'"))
    }
}

impl Enable {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.writing_context().map_err(|error| self.with_place(error))?;
        let places = Places::new(&context)?;
        let dialects = self.dialects(&places, call)?;
        if !dialects.is_empty() {
            places.require()?;
        }
        let targets = self.targets(&places, &dialects, call)?;
        let options = agent_hooks::Options { dry_run: true, is_lenient: self.choice.all_agents };
        // Report what is wrong with a file before anything is changed.
        agent_hooks::enable(&context, &targets, options)?;
        let program = places.program.clone();
        let hooks = hooks::Options { program, hook_manager: self.hook_manager, dry_run: self.dry_run };
        let hooks = hooks::enable(&context, &hooks)?;
        if !self.dry_run {
            // Before the files: a 'disable' in another repository leaves those in the home directory from now on.
            note_repository(&context, &places, call);
        }
        let files = agent_hooks::enable(&context, &targets, agent_hooks::Options { dry_run: self.dry_run, ..options })?;
        let mut report = Report { hooks: Some(hooks), files, trusted: Vec::new(), dry_run: self.dry_run };
        let mut failure = None;
        if self.trust && !self.dry_run {
            match trust_codex(&context, &places, &targets) {
                Ok(trusted) => report.trusted = trusted,
                Err(error) => failure = Some(error),
            }
        }
        report.print(self.json, &places, call)?;
        if report.is_first() && !self.json {
            for line in stored::words(&context.settings.transcript) {
                call.out.note(&line)?;
            }
        }
        report.hints(self.hook_manager, &dialects, self.json, call);
        if !context.settings.enabled {
            call.out.warning("the setting 'enabled' is false, so that hooks do nothing here");
            call.out.hint("'git checkpoint config list --show-origin' shows where it is set");
        }
        if let Some(error) = failure {
            call.out.error("error", &error);
            return Ok(Exit::No);
        }
        Ok(if report.is_incomplete() { Exit::No } else { Exit::Done })
    }

    /// Returns `error` with the hint that settings for all projects are changed from within one of them.
    fn with_place(&self, error: Error) -> Error {
        if !self.choice.user || !error.message().starts_with("not a git repository") {
            return error;
        }
        error.with_hint(
            "run it in one of your repositories: it lets git's hooks call git-checkpoint there, and the agent in all of them",
        )
    }

    fn dialects(&self, places: &Places, call: &mut Call) -> Result<Vec<&'static Dialect>> {
        let dialects = if self.choice.all_agents {
            dialects::ALL.iter().filter(|dialect| places.is_installed(dialect)).collect()
        } else {
            agent_files::all_named(&self.choice.agents)?
        };
        if self.choice.all_agents && dialects.is_empty() {
            // Without a home directory, nothing was looked at.
            places.require()?;
            call.out.warning("no supported agent found");
        }
        if self.trust && !dialects.iter().any(|dialect| dialect.name == trust::AGENT) {
            return Err(
                Error::user("'--trust' is for codex, which is not among the agents").with_hint("add '--agent codex'")
            );
        }
        Ok(dialects)
    }

    /// Returns the files to change: those of the scope that was asked for, or of the most private one.
    fn targets(&self, places: &Places, dialects: &[&'static Dialect], call: &mut Call) -> Result<Vec<Target>> {
        let asked = self.choice.scope()?;
        let mut targets = Vec::new();
        for dialect in dialects {
            let scopes = agent_files::scopes(dialect);
            match asked.or(scopes.first().copied()) {
                Some(scope) if scopes.contains(&scope) => targets.extend(places.targets(dialect, Some(scope))),
                Some(scope) if self.choice.all_agents => {
                    call.out.warning(&format!("{} has no settings for '--{}'", dialect.name, scope.as_str()));
                }
                Some(scope) if !scopes.is_empty() => return Err(no_such_scope(dialect, scope, &scopes)),
                _ => {}
            }
        }
        Ok(targets)
    }
}

fn trust_codex(context: &Context, places: &Places, targets: &[Target]) -> Result<Vec<String>> {
    let target = targets.iter().find(|target| target.agent == trust::AGENT);
    let target = target.ok_or_else(|| Error::internal("codex has no file"))?;
    trust::trust(&target.path(), &places.program, context.repo.worktree_root())
}

fn no_such_scope(dialect: &Dialect, scope: Scope, scopes: &[Scope]) -> Error {
    let known: Vec<String> = scopes.iter().map(|scope| format!("'--{}'", scope.as_str())).collect();
    Error::user(format!("{} has no settings for '--{}'", dialect.name, scope.as_str()))
        .with_hint(format!("it has some for {}", known.join(" and ")))
}

impl Disable {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.writing_context()?;
        let places = Places::new(&context)?;
        let is_all_of_user = self.choice.user && !self.choice.has_agents();
        let scope = if is_all_of_user { None } else { self.choice.scope()? };
        let targets = self.targets(&context, &places, scope)?;
        let paths: Vec<PathBuf> = targets.iter().map(Target::path).collect();
        let others = if self.choice.user { Vec::new() } else { places.other_repositories(&context)? };
        let is_shared = |target: &Target| target.scope == "user" && !others.is_empty();
        let (shared, targets): (Vec<_>, Vec<_>) = targets.into_iter().partition(is_shared);
        let is_lenient = self.choice.agents.is_empty();
        let options = agent_hooks::Options { dry_run: self.dry_run, is_lenient };
        let mut files = agent_hooks::disable(&context, &targets, options)?;
        files.extend(agent_hooks::leave(&context, &shared, &others, self.dry_run)?);
        let left: Vec<Noted> = agent_hooks::noted(&context)?.into_iter().filter(|it| is_in_use(&context, it)).collect();
        let keeps_hooks = !left.is_empty();
        let hooks = !self.choice.has_agents() && !keeps_hooks;
        let hooks = hooks.then(|| hooks::disable(&context, self.dry_run)).transpose()?;
        if !self.dry_run {
            note_repository(&context, &places, call);
        }
        let has_none = files.is_empty() && hooks.as_ref().is_none_or(|hooks| hooks.hooks.is_empty());
        let report = Report { hooks, files, trusted: Vec::new(), dry_run: self.dry_run };
        report.print(self.json, &places, call)?;
        if !self.json && has_none && (self.choice.has_agents() || !keeps_hooks) {
            let who = if self.choice.has_agents() { "agent" } else { "hook" };
            call.out.note(&format!("no {who} calls git-checkpoint"))?;
        }
        for noted in &left {
            if self.choice.agents.is_empty() || self.choice.agents.contains(&noted.agent) {
                let path = noted.root.join(&noted.name);
                let (agent, path) = (&noted.agent, places.shown(&path));
                call.out.warning(&format!("{agent} still calls git-checkpoint in another worktree: '{path}'"));
            }
        }
        if keeps_hooks && !self.choice.has_agents() {
            // A bare repository has no main worktree.
            let is_bare = context.repo.config_bool("core.bare") == Some(true);
            let place = if is_bare { "also in the other worktrees" } else { "in the main worktree" };
            call.out.hint(&format!(
                "git's hooks, which all worktrees share, stay for it; 'git checkpoint disable' {place} takes out all"
            ));
        }
        if !self.choice.has_agents() {
            name_others(&context, &places, &paths, call)?;
        }
        Ok(if report.is_incomplete() { Exit::No } else { Exit::Done })
    }

    /// Returns the files to look at. Unless an agent is named, these are the files that were changed in this repository
    /// and those of this repository only, with `--user` those of the user, too; files that a team or other repositories share are
    /// left alone. In a linked worktree, so are those of the others.
    fn targets(&self, context: &Context, places: &Places, scope: Option<Scope>) -> Result<Vec<Target>> {
        let has_agents = self.choice.has_agents();
        let dialects: Vec<&'static Dialect> = if self.choice.agents.is_empty() {
            dialects::ALL.iter().collect()
        } else {
            agent_files::all_named(&self.choice.agents)?
        };
        let mut targets: Vec<Target> = Vec::new();
        for noted in agent_hooks::noted(context)?.into_iter().filter(|noted| !is_left(context, noted)) {
            let is_asked = scope.is_none_or(|scope| scope.as_str() == noted.scope);
            if is_asked && dialects.iter().any(|dialect| dialect.name == noted.agent) {
                targets.extend(places.noted(&noted));
            }
        }
        let scopes = match (has_agents, self.choice.user) {
            (true, _) => vec![scope],
            // Another repository may have noted those of the user.
            (false, true) => vec![Some(Scope::Local), Some(Scope::User)],
            (false, false) => vec![Some(Scope::Local)],
        };
        for dialect in dialects {
            for target in scopes.iter().flat_map(|scope| places.targets(dialect, *scope)) {
                if !targets.iter().any(|other| other.path() == target.path()) {
                    targets.push(target);
                }
            }
        }
        Ok(targets)
    }
}

/// Returns true if the file that was noted is another worktree's, which is not this one's to change.
fn is_left(context: &Context, noted: &Noted) -> bool {
    context.repo.worktree_id() != "main"
        && noted.scope != "user"
        && agent_hooks::is_other_worktree(context, &noted.root)
}

/// Returns true if the file that was noted is another worktree's, and is there.
fn is_in_use(context: &Context, noted: &Noted) -> bool {
    is_left(context, noted) && noted.root.join(&noted.name).symlink_metadata().is_ok()
}

/// Notes for other repositories whether we are enabled in this one. It works without that.
fn note_repository(context: &Context, places: &Places, call: &mut Call) {
    if let Some(trouble) = places.note_repository(context) {
        call.out.warning(&trouble);
    }
}

/// Lists the agents that still call us because their files are shared.
fn name_others(context: &Context, places: &Places, paths: &[PathBuf], call: &mut Call) -> Result<()> {
    let is_used = !places.other_repositories(context)?.is_empty();
    let mut left: Vec<String> = Vec::new();
    let mut names: [Vec<String>; 2] = [Vec::new(), Vec::new()];
    for enabled in places.enabled(context)? {
        let path = enabled.target.path();
        if paths.contains(&path) || left.iter().any(|name| name == enabled.dialect.name) {
            continue;
        }
        let whose = if enabled.target.scope == "user" { "for all projects" } else { "of the project" };
        left.push(enabled.dialect.name.to_owned());
        names[usize::from(enabled.target.scope == "user" && is_used)].push(format!("--agent {}", enabled.dialect.name));
        call.out.warning(&format!(
            "{} still calls git-checkpoint: '{}' is {whose}",
            enabled.dialect.name,
            places.shown(&path)
        ));
    }
    for (names, whose) in names.iter().zip(["", " --user"]).filter(|(names, _)| !names.is_empty()) {
        call.out.hint(&format!("'git checkpoint disable {}{whose}' takes it out there, too", names.join(" ")));
    }
    Ok(())
}
