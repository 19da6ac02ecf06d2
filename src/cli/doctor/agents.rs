//! Do agents really call us? Looks at the files that were changed, and runs what they run.

use std::{collections::BTreeSet, path::Path, time::Duration};

use bstr::{BString, ByteVec as _};
use serde::Serialize;

use super::super::{
    agent_files::{Enabled, Places, find_program},
    call::Call,
    date, environment, external,
    output::printable,
    phrase,
};
use crate::{
    agent::{
        codex,
        install::{IN_PATH, Scope, program_of},
    },
    error::Result,
    git,
    model::{moment, path_text},
    ops::{
        Context,
        agent_hooks::{self, Elsewhere, Seen, Target},
        doctor::Problem,
    },
};

/// A hook is to take milliseconds.
const LONGEST: Duration = Duration::from_secs(10);

/// An agent that is to call us.
#[derive(Debug, Serialize)]
pub(in crate::cli) struct Listed {
    /// Its name.
    agent: &'static str,
    /// Whom its file is for.
    scope: &'static str,
    /// The file.
    #[serde(serialize_with = "path_text::serialize")]
    path: BString,
    /// The last event that it sent.
    last_event: Option<LastEvent>,
}

/// The last event of an agent.
#[derive(Debug, Serialize)]
pub(in crate::cli) struct LastEvent {
    event: String,
    time: String,
    #[serde(skip)]
    seconds: i64,
}

impl From<&Seen> for LastEvent {
    fn from(seen: &Seen) -> Self {
        Self { event: seen.moment.clone(), time: moment::iso(seen.seconds, 0), seconds: seen.seconds }
    }
}

impl Listed {
    pub(in crate::cli) fn all(enabled: &[Enabled]) -> Vec<Self> {
        let mut agents: Vec<Self> = Vec::new();
        for it in enabled {
            // Some have several files.
            if agents.iter().any(|agent| (agent.agent, agent.scope) == (it.dialect.name, it.target.scope)) {
                continue;
            }
            agents.push(Self {
                agent: it.dialect.name,
                scope: it.target.scope,
                path: Vec::from_path_lossy(&it.target.path()).into_owned().into(),
                last_event: it.seen.as_ref().map(LastEvent::from),
            });
        }
        agents
    }

    /// Returns a line for each of `agents`, wherever their files are.
    pub(in crate::cli) fn lines(agents: &[Self], call: &Call) -> Vec<String> {
        let mut lines: Vec<String> = agents.iter().map(|agent| agent.line(call)).collect();
        lines.dedup();
        lines
    }

    /// Returns its name, and when it was heard of last.
    fn line(&self, call: &Call) -> String {
        let Some(last) = &self.last_event else { return format!("{} (no event yet)", self.agent) };
        let when = if call.out.is_terminal() { date::relative(last.seconds, date::now()) } else { last.time.clone() };
        format!("{} (last event {when})", self.agent)
    }
}

/// Returns the command that installs the hooks of `elsewhere` here, too.
pub(in crate::cli) fn command_for(elsewhere: &Elsewhere) -> String {
    let scope = if elsewhere.scope == "project" { " --project" } else { "" };
    format!("git checkpoint enable --agent {}{scope}", elsewhere.agent)
}

/// Says of each agent that calls us in another worktree only that it does not here.
fn elsewhere(it: &Elsewhere) -> Problem {
    let message = format!("its hooks are installed in {}, not here", phrase::worktree(&it.worktree));
    let hint = format!("'{}' installs them here, too", command_for(it));
    Problem::new("agent-elsewhere", it.agent.clone(), message).note().hint(hint)
}

/// Returns the files that made agents call us, as noted, and do not any more.
fn missing(context: &Context, places: &Places) -> Result<Vec<Target>> {
    let targets = agent_hooks::noted(context)?.into_iter().filter_map(|noted| places.noted(&noted));
    let is_missing =
        |target: &Target| target.root.exists() && agent_hooks::find(std::slice::from_ref(target)).is_empty();
    Ok(targets.filter(is_missing).collect())
}

/// An agent that does not call us any more.
#[derive(Debug, Serialize)]
pub(in crate::cli) struct Missing {
    agent: String,
    scope: &'static str,
    /// The file that made it call us.
    #[serde(serialize_with = "path_text::serialize")]
    path: BString,
}

impl Missing {
    /// Returns the agents that called us in this worktree, and do not any more: their files have lost our hooks, or are gone.
    pub(in crate::cli) fn all(context: &Context, places: &Places, enabled: &[Enabled]) -> Result<Vec<Self>> {
        let is_of_here =
            |target: &Target| target.scope == Scope::User.as_str() || target.root == context.repo.worktree_root();
        let calls = |target: &Target| enabled.iter().any(|it| it.dialect.name == target.agent);
        let missing = missing(context, places)?.into_iter().filter(|target| is_of_here(target) && !calls(target));
        let path = |target: &Target| Vec::from_path_lossy(&target.path()).into_owned().into();
        Ok(missing.map(|it| Self { path: path(&it), agent: it.agent, scope: it.scope }).collect())
    }

    /// Returns true if it is the agent called `name`.
    pub(in crate::cli) fn is_of(&self, name: &str) -> bool {
        self.agent == name
    }

    /// Returns what to say of it, and the command that installs its hooks again.
    pub(in crate::cli) fn text(&self) -> (String, String) {
        let path = phrase::quoted(&self.path);
        let text = format!("{} does not call git-checkpoint any more: its hooks are not in {path}.", self.agent);
        (text, again(&self.agent, self.scope))
    }
}

/// Returns the command that puts the hooks of `agent` into its file again.
fn again(agent: &str, scope: &str) -> String {
    format!("git checkpoint enable --agent {agent} --{scope}")
}

/// Looks at every agent that is enabled, and at those that were.
pub(super) fn check(context: &Context, places: &Places, enabled: &[Enabled], fix: bool) -> Result<Vec<Problem>> {
    let mut problems = Vec::new();
    for target in missing(context, places)? {
        let path = target.path().display().to_string();
        let problem =
            Problem::new("agent-hook-missing", path, format!("{} does not call git-checkpoint any more", target.agent));
        problems.push(mend(context, problem, target, fix));
    }
    let mut tried = BTreeSet::new();
    for it in enabled {
        problems.extend(check_file(context, places, it, fix, &mut tried));
        problems.extend(trust(it));
    }
    problems.extend(places.elsewhere(context, enabled)?.iter().map(elsewhere));
    let mut silent: Vec<_> = enabled.iter().filter(|it| it.seen.is_none()).map(|it| it.dialect).collect();
    silent.dedup_by_key(|dialect| dialect.name);
    for dialect in silent {
        let problem = Problem::new("agent-silent", dialect.name, "no event has come from it in this repository yet");
        problems.push(problem.note().hint(dialect.todo));
    }
    Ok(problems)
}

fn mend(context: &Context, problem: Problem, target: Target, fix: bool) -> Problem {
    let mut problem = problem.hint(format!("'{}' puts it there again", again(&target.agent, target.scope)));
    problem.fixed = fix && agent_hooks::enable(context, &[target], agent_hooks::Options::default()).is_ok();
    problem
}

/// A command that several files have is tried once.
fn check_file(
    context: &Context,
    places: &Places,
    it: &Enabled,
    fix: bool,
    tried: &mut BTreeSet<String>,
) -> Option<Problem> {
    let path = it.target.path().display().to_string();
    let again = |problem: Problem| {
        let mut targets = places.targets(it.dialect, Some(it.file.scope));
        let at = targets.iter().position(|target| target.path() == it.target.path())?;
        Some(mend(context, problem, targets.swap_remove(at), fix))
    };
    let commands = it.file.commands(&it.text);
    let line = commands.first()?;
    let Some((program, _)) = program_of(line) else {
        let problem = Problem::new(
            "agent-hook-foreign",
            path,
            "it calls git-checkpoint by another command than ours, which was not tried",
        );
        return Some(problem.note());
    };
    let found = if program == IN_PATH { find_program(IN_PATH) } else { Some(program.clone().into()) };
    let Some(found) = found else {
        let message = format!("{} is to call '{program}', which is not in $PATH", it.dialect.name);
        let hint = "add the directory of the program to $PATH, where agents are started, too";
        return Some(Problem::new("agent-program-missing", path, message).hint(hint));
    };
    if !found.is_file() {
        let message = format!("{} is to call '{program}', which is not there", it.dialect.name);
        return again(Problem::new("agent-program-missing", path, message));
    }
    let missing = it.file.missing(&it.text);
    if !missing.is_empty() {
        let message =
            format!("the settings of {} do not call git-checkpoint at {}", it.dialect.name, missing.join(", "));
        return again(Problem::new("agent-hook-incomplete", path, message));
    }
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    if real(&found) != real(&places.program) {
        let found = found.display();
        let message = format!("{} calls another program, '{found}', which was not tried", it.dialect.name);
        return Some(Problem::new("agent-program-other", path, message).note());
    }
    if !tried.insert(line.clone()) {
        return None;
    }
    let why = match external::ask(line, it.dialect.ignored, context.repo.worktree_root(), LONGEST) {
        Ok(Some(answer)) if answer.status.success() && answer.stderr.is_empty() => return None,
        Ok(Some(answer)) => format!("'{line}' ends with {}: {}", answer.status, answer.stderr),
        Ok(None) => format!("'{line}' does not end"),
        Err(error) => format!("'{line}' cannot be run: {error}"),
    };
    Some(Problem::new("agent-hook-failing", path, why).hint("run it by hand, with the agent's input, to see more"))
}

/// Codex silently skips hooks that it does not trust.
fn trust(it: &Enabled) -> Option<Problem> {
    if it.dialect.name != "codex" {
        return None;
    }
    let home = environment::variable("CODEX_HOME").map(Into::into);
    let home = home.or_else(|| Some(git::home()?.join(".codex")))?;
    let config = std::fs::read_to_string(home.join("config.toml")).unwrap_or_default();
    let names = |path: &Path| {
        let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        [path.to_owned(), real].map(|path| path.to_string_lossy().into_owned())
    };
    let path = it.target.path();
    let untrusted = codex::untrusted(&it.text, &names(&path), &config);
    let subject = path.display().to_string();
    if !untrusted.is_empty() {
        let message = format!("Codex skips hooks that it does not trust: {}", printable(untrusted.join(", ")));
        let hint = format!("'git checkpoint enable --agent codex --{} --trust', or '/hooks' in Codex", it.target.scope);
        return Some(Problem::new("agent-untrusted", subject, message).hint(hint));
    }
    let is_of_project = it.target.scope == "project";
    if is_of_project && !codex::is_project_trusted(&names(&it.target.root), &config) {
        let problem =
            Problem::new("agent-untrusted", subject, "Codex reads hooks of a project only where that is trusted");
        return Some(problem.hint("start codex in the project, and say that you trust it"));
    }
    None
}
