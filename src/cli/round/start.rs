//! `round start`.

use std::path::PathBuf;

use super::{
    super::{
        Exit, agent_files,
        call::Call,
        environment,
        output::printable,
        phrase, settings,
        worktree::{check_hooks, check_hooks_of_copy, set_up_copy, set_up_new},
    },
    end::{print_left, print_retired},
    list::print_places,
};
use crate::{
    config::{self, BranchPolicy, RoundMode},
    error::{Context as _, Error, Kind, Result},
    git::Repo,
    ops::rounds::{self, ShownPlace, StartOptions},
};

#[derive(clap::Args, Debug)]
pub(super) struct Start {
    /// A directory to work on (may be given several times; default: the workspace itself)
    #[arg(long = "context", value_name = "dir", required_unless_present = "workspace")]
    contexts: Vec<PathBuf>,
    /// The directory of the agent: worktrees and experiments are kept there
    #[arg(long, value_name = "dir")]
    workspace: Option<PathBuf>,
    /// The session that works in it; its worktree is for it alone
    #[arg(long, value_name = "session")]
    session: Option<String>,
    /// What other agents call the one that works in it
    #[arg(long, value_name = "name")]
    agent: Option<String>,
    /// How to isolate the work (default: the setting 'round.mode')
    #[arg(long, value_name = "mode")]
    mode: Option<Mode>,
    /// Where the branches begin (default: HEAD)
    #[arg(long, value_name = "from")]
    base: Option<String>,
    /// The name of the branch; with random digits, if it is taken
    #[arg(long, value_name = "name")]
    label: Option<String>,
    /// What you call the run that the round is a part of
    #[arg(long, value_name = "name")]
    group: Option<String>,
    /// The branch of the agent's round before, which goes when this one has begun
    #[arg(long, value_name = "branch")]
    previous: Option<String>,
    /// What becomes of that branch (default: retire)
    #[arg(long, value_name = "policy", requires = "previous")]
    previous_policy: Option<PreviousPolicy>,
    /// Retire that branch at once, even if another agent may know it
    #[arg(long, requires = "previous")]
    now: bool,
    /// Without --context: take along what is not committed in the workspace
    #[arg(long, conflicts_with = "contexts")]
    with_changes: bool,
    /// What is not committed in a directory comes along (default: the setting 'round.mirror')
    #[arg(long, value_name = "what", requires = "contexts")]
    mirror: Option<Mirror>,
    /// Do not run the commands of the setting 'worktree.setup'
    #[arg(long)]
    no_setup: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Mode {
    /// A worktree for each directory in a repository, and a copy of others
    Auto,
    /// A worktree for each directory
    Worktree,
    /// A copy with a repository of its own
    Isolated,
    /// The directory itself
    Legacy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Mirror {
    /// Nothing
    None,
    /// The changes of files that git tracks
    Tracked,
    /// New files, too, if they are not ignored
    All,
}

impl From<Mirror> for config::Mirror {
    fn from(mirror: Mirror) -> Self {
        match mirror {
            Mirror::None => Self::None,
            Mirror::Tracked => Self::Tracked,
            Mirror::All => Self::All,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum PreviousPolicy {
    /// It stays
    Keep,
    /// It goes to the archive
    Retire,
}

impl From<Mode> for RoundMode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Auto => Self::Auto,
            Mode::Worktree => Self::Worktree,
            Mode::Isolated => Self::Isolated,
            Mode::Legacy => Self::Legacy,
        }
    }
}

impl Start {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let previous_policy = match (self.previous_policy, self.now) {
            (Some(PreviousPolicy::Keep), true) => {
                return Err(Error::user(
                    "'--now' says when the branch goes, and '--previous-policy keep' that it stays",
                ));
            }
            (Some(PreviousPolicy::Keep), false) => BranchPolicy::Keep,
            (_, true) => BranchPolicy::Delete,
            (_, false) => BranchPolicy::Retire,
        };
        let mut options = StartOptions {
            contexts: self.contexts,
            workspace: self.workspace,
            session: self.session,
            agent: self.agent,
            mode: self.mode.map(Into::into),
            base: self.base,
            label: self.label,
            group: self.group,
            previous: self.previous,
            previous_policy,
            with_changes: self.with_changes,
            is_new_group: false,
            mirror: self.mirror.map(Into::into),
            sets_up: !self.no_setup,
            program: Some(agent_files::program()?),
        };
        if !options.contexts.is_empty() {
            enter_workspace(&mut options)?;
        }
        let mut takes_files = false;
        if options.contexts.is_empty()
            && let Some(path) = options.workspace.take()
        {
            let path =
                std::path::absolute(&path).context(Kind::User, || format!("cannot find '{}'", path.display()))?;
            let mode = if let Some(mode) = options.mode {
                mode
            } else {
                // Another process may make it just now.
                let repo = Repo::is_inside_repository(&path).then(|| Repo::open(&path).ok()).flatten();
                config::load(&settings::sources(repo.as_ref()))?.settings.round.mode
            };
            if mode != RoundMode::Legacy {
                rounds::check(&options)?;
                // The agent is to work on what is in a folder that has been no repository.
                let is_made = rounds::prepare(&path)?;
                takes_files = is_made && rounds::has_files(&path);
                options.with_changes |= is_made;
            }
            Call::enter(&path)?;
            options.workspace = Some(path);
        }
        let context = call.writing_context()?;
        let progress = call.progress("beginning the round");
        let started = rounds::start(&context, &options)?;
        drop(progress);
        if self.json {
            call.out.json(&started)?;
            // A program may read it while the set-up runs.
            call.out.flush()?;
        } else {
            call.out.note(&format!("round {}", started.round))?;
            print_places(&started.contexts, call)?;
            print_retired(&started.retired, call)?;
            print_left(&started.left, call)?;
        }
        if takes_files {
            warn_of_files(&started.contexts, call);
        }
        for path in &started.made.worktrees {
            check_hooks(&context, &path.as_os_str().as_encoded_bytes().into(), call)?;
        }
        for path in &started.made.copies {
            check_hooks_of_copy(&context, path, call)?;
        }
        let mut exit = Exit::Done;
        if !self.no_setup {
            for path in &started.due.worktrees {
                let ended = set_up_new(&context, path, call)?;
                exit = if ended == Exit::Done { exit } else { ended };
            }
            for path in &started.due.copies {
                let ended = set_up_copy(&context, path, call)?;
                exit = if ended == Exit::Done { exit } else { ended };
            }
        }
        // What the commands of the set-up have made is not the agent's.
        if let Err(error) = rounds::stand_in(&context, &started.round) {
            call.out.warning(&format!("what the agent changes without reporting it will count as yours: {error}"));
        }
        let without = started.contexts.iter().find(|place| place.branch.is_none());
        if let Some(place) = without {
            call.out.warning(&format!(
                "{} is not isolated: other agents and you see the work there",
                phrase::quoted(&place.context)
            ));
        }
        Ok(exit)
    }
}

/// Says that the files of a directory in which no repository was leave it with the round.
fn warn_of_files(places: &[ShownPlace], call: &mut Call) {
    for (place, branch) in places.iter().filter_map(|place| Some((place, place.branch.as_ref()?))) {
        let path = phrase::quoted(place.path.as_ref().unwrap_or(&place.context));
        call.out.warning(&format!("the files in {path} are part of the round, and leave it when the round ends"));
        call.out.hint(&format!("then 'git checkpoint round apply {}' brings them back", printable(branch)));
    }
}

/// Goes to the workspace, where the round is kept, if a directory that is in no repository is to be copied, and the command runs in
/// none. If the workspace is in none either, a repository is made there.
///
/// # Errors
/// [`Kind::User`] without a workspace; [`Kind::Refused`] if that would become a repository inside of what is to be copied.
fn enter_workspace(options: &mut StartOptions) -> Result<()> {
    let is_plain = |path: &PathBuf| path.is_dir() && !Repo::is_inside_repository(path);
    let Some(plain) = options.contexts.iter().find(|path| is_plain(path)) else { return Ok(()) };
    if environment::variable("GIT_DIR").is_some() || Repo::is_inside_repository(".".as_ref()) {
        return Ok(());
    }
    let mode = match options.mode {
        Some(mode) => mode,
        None => config::load(&settings::sources(None))?.settings.round.mode,
    };
    if !matches!(mode, RoundMode::Auto | RoundMode::Isolated) {
        return Ok(());
    }
    let Some(workspace) = &options.workspace else {
        return Err(Error::user("neither this directory nor the one to work on is in a git repository").with_hint(
            "'--workspace <dir>' names a directory in which the round is kept: a repository is made there",
        ));
    };
    let real = |path: &PathBuf| {
        std::fs::canonicalize(path).context(Kind::User, || format!("cannot find the directory '{}'", path.display()))
    };
    let workspace = real(workspace)?;
    if !Repo::is_inside_repository(&workspace) {
        for path in &options.contexts {
            rounds::refuse_below(&real(path)?, &workspace)?;
        }
    }
    if workspace.starts_with(real(plain)?) {
        return Err(Error::refused(format!(
            "the workspace '{}' is in '{}', which is to be copied",
            workspace.display(),
            plain.display()
        ))
        .with_hint("give another directory as '--workspace'"));
    }
    options.contexts = options.contexts.iter().map(real).collect::<Result<_>>()?;
    rounds::check(options)?;
    rounds::prepare(&workspace)?;
    Call::enter(&workspace)?;
    options.workspace = Some(workspace);
    Ok(())
}
