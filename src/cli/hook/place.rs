//! Where an event of an agent is handled: in the repository of the directory that it names, and in the one where its session is
//! at home. An agent may go on in a directory outside of that one, and still change its files.

use std::path::Path;

use super::super::agent_files::{self, Places};
use crate::{
    agent::{
        self,
        dialect::{Dialect, Environment},
        event::Event,
        install::Scope,
    },
    config,
    git::Repo,
    ops::{
        Context, agent_hooks,
        agents::home::{is_known, is_same, is_used, last_worktree, of_file, of_session},
    },
};

/// The repositories in which an event is handled.
pub(super) enum Place {
    Nowhere,
    One(Box<Repo>),
    /// The one where the session is at home, and the one of the event's directory.
    Both(Box<Repo>, Box<Repo>),
}

/// Which of the two repositories an event is handled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    Nowhere,
    Here,
    Home,
    Both,
}

/// Decides where an event is handled. `here`: whether agents are to call us in the repository of its directory; none if that is in
/// no repository. `has_home`: whether its session is at home in another repository.
///
/// Without a home, whatever has called us there did so on purpose.
fn choose(here: Option<bool>, has_home: bool) -> Choice {
    match (here, has_home) {
        (None, false) => Choice::Nowhere,
        (Some(_), false) => Choice::Here,
        (Some(true), true) => Choice::Both,
        (None | Some(false), true) => Choice::Home,
    }
}

/// Returns where `event` is handled, which names the directory `cwd`.
pub(super) fn of(event: &Event, dialect: &'static Dialect, cwd: &Path, environment: &Environment) -> Place {
    let here = here(cwd, &event.session);
    let home = home(event, cwd, environment, here.as_ref());
    let is_served = here.as_ref().map(|here| home.is_none() || is_served(here, dialect));
    match (choose(is_served, home.is_some()), home, here) {
        (Choice::Here, _, Some(repo)) | (Choice::Home, Some(repo), _) => Place::One(Box::new(repo)),
        (Choice::Both, Some(home), Some(here)) => Place::Both(Box::new(home), Box::new(here)),
        _ => Place::Nowhere,
    }
}

/// Opens the repository that the agent works in. If an agent has deleted its own directory, that is the one around it, or the
/// one that we were started in, where its session is known.
fn here(cwd: &Path, session: &str) -> Option<Repo> {
    if Repo::is_inside_repository(cwd) {
        return Repo::open(cwd).ok();
    }
    if cwd.symlink_metadata().is_ok() {
        return None;
    }
    let around = cwd.ancestors().find(|dir| dir.is_dir()).map(Path::to_owned);
    let mut repos = around.into_iter().chain(std::env::current_dir().ok()).filter_map(|dir| Repo::open(&dir).ok());
    repos.find(|repo| is_known(repo, session))
}

/// Returns the worktree in which the session is at home, if that is in another repository than `here`: what the agent's
/// environment names comes first, then where the session was seen first. Outside of any repository, a file that the tool names
/// decides if neither is known.
fn home(event: &Event, cwd: &Path, environment: &Environment, here: Option<&Repo>) -> Option<Repo> {
    let session = &event.session;
    let is_elsewhere = |repo: &Repo| here.is_none_or(|here| !is_same(repo, here));
    for named in agent::project_directories(environment) {
        if here.is_some_and(|here| std::fs::canonicalize(&named).is_ok_and(|named| named == here.worktree_root())) {
            return None;
        }
        let Some(repo) = Repo::open(&named).ok().filter(is_used) else { continue };
        return Some(last_worktree(repo, session)).filter(is_elsewhere);
    }
    let list = agent_files::repositories()?;
    if let Some(repo) = of_session(&list, here, session) {
        return Some(repo).filter(is_elsewhere);
    }
    let named: &[String] = event.tool.as_ref().filter(|_| here.is_none()).map_or(&[], |tool| &tool.paths);
    named.iter().find_map(|name| of_file(&list, cwd, name))
}

/// Returns true if git-checkpoint is used in `repo`, or the agent of `dialect` calls it in all repositories of the user.
fn is_served(repo: &Repo, dialect: &'static Dialect) -> bool {
    let for_all_repositories = || {
        let context = Context::new(Repo::open(repo.worktree_root()).ok()?, config::Settings::default());
        let targets = Places::new(&context).ok()?.targets(dialect, Some(Scope::User));
        Some(!agent_hooks::find(&targets).is_empty())
    };
    is_used(repo) || for_all_repositories().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::in_no_repository(None, false, Choice::Nowhere)]
    #[case::at_home_or_not_known(Some(false), false, Choice::Here)]
    #[case::at_home_and_used(Some(true), false, Choice::Here)]
    #[case::outside(None, true, Choice::Home)]
    #[case::in_another_one(Some(false), true, Choice::Home)]
    #[case::in_another_one_that_is_used(Some(true), true, Choice::Both)]
    fn the_table(#[case] here: Option<bool>, #[case] has_home: bool, #[case] expected: Choice) {
        assert_eq!(choose(here, has_home), expected);
    }
}
