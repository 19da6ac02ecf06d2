//! The command line: the global options and the table of all commands.

use std::ffi::OsString;

use clap::{ArgMatches, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, error::ErrorKind};

use super::{
    attribution, blame,
    browse::{self, Ran},
    call::Call,
    ci,
    command_line::CommandLine,
    completions, config, diff, doctor, drop, enable, events,
    exit::Exit,
    explain, export, fetch,
    globals::Globals,
    hook, import, list, man, note, op, overlap, prune, purge, push, remote, report, reset, restore, review, round,
    save, search, session, show, status, tag, tour, undo, verify, why, worktree,
};
use crate::error::{Kind, Result};

/// Save the whole worktree at any moment, and get any such moment back
///
/// A checkpoint is a commit of the whole worktree below refs/checkpoints/. Taking one leaves HEAD, the
/// index, the stash and all branches as they are; restoring one first saves what it replaces.
#[derive(Debug, Parser)]
#[command(
    name = "git-checkpoint",
    bin_name = "git checkpoint",
    version,
    disable_help_subcommand = true,
    max_term_width = 100
)]
pub(super) struct Cli {
    #[command(flatten)]
    pub(super) globals: Globals,
    #[command(subcommand)]
    pub(super) command: Command,
}

impl Cli {
    /// Parses `arguments`, with the program's name first.
    pub(super) fn read(arguments: &[OsString]) -> std::result::Result<Self, clap::Error> {
        let of_hook = hook::HookCommand::from_plain(arguments)
            .map(|hook| Self { globals: Globals::default(), command: Command::Hook(hook) });
        let parse = || Self::try_parse_from(arguments).or_else(|error| Self::read_to_pick(arguments, error));
        of_hook.or_else(|| Self::read_alone(arguments)).map_or_else(parse, Ok)
    }

    /// Reads `restore` without a checkpoint: on a terminal, the user picks one. All else is the `error` that it was.
    fn read_to_pick(arguments: &[OsString], error: clap::Error) -> std::result::Result<Self, clap::Error> {
        if error.kind() != ErrorKind::MissingRequiredArgument {
            return Err(error);
        }
        let to_pick = arguments.iter().cloned().chain([OsString::from(restore::TO_PICK)]);
        match Self::try_parse_from(to_pick) {
            Ok(cli) if matches!(&cli.command, Command::Restore(restore) if restore.is_to_be_picked()) => Ok(cli),
            _ => Err(error),
        }
    }

    /// The same if the first argument names a command and all are sound; else none, and a description of all commands has to
    /// say what is wrong or asked for.
    ///
    /// Hooks and agents start us often, and to describe all commands takes longer than most of what they do.
    fn read_alone(arguments: &[OsString]) -> Option<Self> {
        let name = arguments.get(1)?.to_str()?;
        let (command, finish) = Command::alone(name)?;
        let all = Globals::augment_args(clap::Command::new("git-checkpoint").bin_name("git checkpoint"));
        let mut matches = all.subcommand(command).try_get_matches_from(arguments).ok()?;
        let globals = Globals::from_arg_matches_mut(&mut matches).ok()?;
        let (_, mut matches) = matches.remove_subcommand()?;
        Some(Self { globals, command: finish(&mut matches).ok()? })
    }
}

impl Cli {
    /// Runs the command, and reports what fails.
    pub(super) fn run(self, call: &mut Call) -> Exit {
        let is_agents = matches!(&self.command, Command::Hook(hook) if hook.is_agents());
        let outcome = call.enter_directory().and_then(|()| self.command.run(call));
        call.print_notices();
        let outcome = call.out.finish(outcome).map_err(|error| call.names.in_error(error));
        match outcome {
            Ok(exit) => exit,
            Err(_) if is_agents => Exit::Done,
            Err(error) if call.interrupt.is_raised() => {
                // Without a hint, the error only says that a signal came.
                if error.hint().is_some() {
                    call.out.error("fatal", &error);
                }
                Exit::Interrupted
            }
            Err(error) if error.kind() == Kind::Refused => {
                call.out.error("error", &error);
                Exit::No
            }
            Err(error) => {
                call.out.error("fatal", &error);
                Exit::Fatal
            }
        }
    }

    /// Runs the command line `words` (without the program's name) inside `call`, and returns how it ended and what it has printed.
    fn inside(words: &[OsString], call: &Call) -> Ran {
        let arguments: Vec<OsString> = [OsString::from("git-checkpoint")].iter().chain(words).cloned().collect();
        match Self::try_parse_from(&arguments) {
            Ok(cli) => {
                let mut call = call.inside(cli.globals.clone(), CommandLine::new(&arguments));
                let exit = cli.run(&mut call);
                Ran { exit, printed: call.out.take_kept() }
            }
            Err(error) => Ran { exit: Exit::Usage, printed: error.render().to_string().into_bytes() },
        }
    }
}

/// Makes a command of what was parsed.
type Finish = Box<dyn Fn(&mut ArgMatches) -> std::result::Result<Command, clap::Error>>;

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    Save(save::Save),
    Status(status::StatusCommand),
    #[command(visible_alias = "log")]
    List(list::List),
    Show(show::Show),
    Search(search::Search),
    Explain(explain::Explain),
    Attribution(attribution::AttributionCommand),
    Blame(blame::BlameCommand),
    Why(why::WhyCommand),
    Browse(browse::Browse),
    Report(report::ReportCommand),
    Diff(diff::Diff),
    Overlap(overlap::Overlap),
    Restore(restore::Restore),
    Review(review::ReviewCommand),
    Undo(undo::Undo),
    Redo(undo::Redo),
    Op(op::Op),
    Reset(reset::Reset),
    Drop(drop::Drop),
    Session(session::Session),
    Worktree(worktree::Worktree),
    Round(round::Round),
    Prompts(session::Prompts),
    Verify(verify::Verify),
    Tag(tag::Tag),
    Note(note::Note),
    Events(events::Events),
    Remote(remote::RemoteCommand),
    Fetch(fetch::Fetch),
    Push(push::Push),
    Sync(push::Sync),
    Export(export::Export),
    Import(import::Import),
    Ci(ci::Ci),
    Prune(prune::Prune),
    Purge(purge::Purge),
    Doctor(doctor::Doctor),
    Tour(tour::Tour),
    Config(config::Config),
    Enable(enable::Enable),
    Disable(enable::Disable),
    Hook(hook::HookCommand),
    Completions(completions::Completions),
    Man(man::Man),
}

impl Command {
    /// Returns the description of the command called `name` without that of any other, and what makes the command of matches.
    fn alone(name: &str) -> Option<(clap::Command, Finish)> {
        Some(match name {
            "save" => alone("save", Self::Save),
            "status" => alone("status", Self::Status),
            "list" => alone("list", Self::List),
            "show" => alone("show", Self::Show),
            "search" => alone("search", Self::Search),
            "explain" => alone("explain", Self::Explain),
            "attribution" => alone("attribution", Self::Attribution),
            "blame" => alone("blame", Self::Blame),
            "why" => alone("why", Self::Why),
            "browse" => alone("browse", Self::Browse),
            "report" => alone("report", Self::Report),
            "diff" => alone("diff", Self::Diff),
            "overlap" => alone("overlap", Self::Overlap),
            "restore" => alone("restore", Self::Restore),
            "review" => alone("review", Self::Review),
            "undo" => alone("undo", Self::Undo),
            "redo" => alone("redo", Self::Redo),
            "op" => alone("op", Self::Op),
            "reset" => alone("reset", Self::Reset),
            "drop" => alone("drop", Self::Drop),
            "session" => alone("session", Self::Session),
            "worktree" => alone("worktree", Self::Worktree),
            "round" => alone("round", Self::Round),
            "prompts" => alone("prompts", Self::Prompts),
            "verify" => alone("verify", Self::Verify),
            "tag" => alone("tag", Self::Tag),
            "note" => alone("note", Self::Note),
            "events" => alone("events", Self::Events),
            "remote" => alone("remote", Self::Remote),
            "fetch" => alone("fetch", Self::Fetch),
            "push" => alone("push", Self::Push),
            "sync" => alone("sync", Self::Sync),
            "export" => alone("export", Self::Export),
            "import" => alone("import", Self::Import),
            "ci" => alone("ci", Self::Ci),
            "prune" => alone("prune", Self::Prune),
            "purge" => alone("purge", Self::Purge),
            "doctor" => alone("doctor", Self::Doctor),
            "tour" => alone("tour", Self::Tour),
            "config" => alone("config", Self::Config),
            "enable" => alone("enable", Self::Enable),
            "disable" => alone("disable", Self::Disable),
            "hook" => alone("hook", Self::Hook),
            "completions" => alone("completions", Self::Completions),
            "man" => alone("man", Self::Man),
            _ => return None,
        })
    }

    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        match self {
            Self::Save(command) => command.run(call),
            Self::Status(command) => command.run(call),
            Self::List(command) => command.run(call),
            Self::Show(command) => command.run(call),
            Self::Search(command) => command.run(call),
            Self::Explain(command) => command.run(call),
            Self::Attribution(command) => command.run(call),
            Self::Blame(command) => command.run(call),
            Self::Why(command) => command.run(call),
            Self::Browse(command) => command.run(call, Cli::inside),
            Self::Report(command) => command.run(call),
            Self::Diff(command) => command.run(call),
            Self::Overlap(command) => command.run(call),
            Self::Restore(command) => command.run(call, Cli::inside),
            Self::Review(command) => command.run(call),
            Self::Undo(command) => command.run(call),
            Self::Redo(command) => command.run(call),
            Self::Op(command) => command.run(call),
            Self::Reset(command) => command.run(call),
            Self::Drop(command) => command.run(call),
            Self::Session(command) => command.run(call),
            Self::Worktree(command) => command.run(call),
            Self::Round(command) => command.run(call),
            Self::Prompts(command) => command.run(call),
            Self::Verify(command) => command.run(call),
            Self::Tag(command) => command.run(call),
            Self::Note(command) => command.run(call),
            Self::Events(command) => command.run(call),
            Self::Remote(command) => command.run(call),
            Self::Fetch(command) => command.run(call),
            Self::Push(command) => command.run(call),
            Self::Sync(command) => command.run(call),
            Self::Export(command) => command.run(call),
            Self::Import(command) => command.run(call),
            Self::Ci(command) => command.run(call),
            Self::Prune(command) => command.run(call),
            Self::Purge(command) => command.run(call),
            Self::Doctor(command) => command.run(call),
            Self::Tour(command) => command.run(call),
            Self::Completions(command) => command.run(call, Cli::command()),
            Self::Config(command) => command.run(call),
            Self::Enable(command) => command.run(call),
            Self::Disable(command) => command.run(call),
            Self::Hook(command) => command.run(call),
            Self::Man(command) => command.run(call),
        }
    }
}

fn alone<T: Args + 'static>(name: &'static str, command: fn(T) -> Command) -> (clap::Command, Finish) {
    let finish = move |matches: &mut ArgMatches| T::from_arg_matches_mut(matches).map(command);
    (T::augment_args(clap::Command::new(name)), Box::new(finish))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn each_command_can_be_parsed_without_the_others() {
        for of_all in Cli::command().get_subcommands() {
            let name = of_all.get_name();
            let (alone, _) = Command::alone(name).unwrap_or_else(|| panic!("{name} is not in the table"));
            let arguments = |command: &clap::Command| format!("{:?}", command.get_arguments().collect::<Vec<_>>());
            assert_eq!(arguments(&alone), arguments(of_all), "{name}");
            let commands = |command: &clap::Command| format!("{:?}", command.get_subcommands().collect::<Vec<_>>());
            assert_eq!(commands(&alone), commands(of_all), "{name}");
        }
    }

    #[rstest::rstest]
    #[case::plain(&["save", "-m", "x"], true)]
    #[case::global_option(&["save", "-q", "--no-pager", "-C", "x"], true)]
    #[case::of_git(&["hook", "prepare-commit-msg", "x", "-y"], true)]
    #[case::of_an_agent(&["hook", "--agent", "x"], true)]
    #[case::action(&["session", "prompt", "s1"], true)]
    #[case::alias(&["log"], false)]
    #[case::global_option_first(&["-q", "save"], false)]
    #[case::help(&["save", "--help"], false)]
    #[case::version(&["--version"], false)]
    #[case::mistake(&["save", "--no-such-option"], false)]
    #[case::nothing(&[], false)]
    fn what_is_read_alone_is_what_all_commands_read(#[case] words: &[&str], #[case] is_alone: bool) {
        let arguments: Vec<OsString> = ["git-checkpoint"].iter().chain(words).map(OsString::from).collect();
        let alone = Cli::read_alone(&arguments).map(|cli| format!("{cli:?}"));
        assert_eq!(alone.is_some(), is_alone);
        if is_alone {
            assert_eq!(alone, Cli::try_parse_from(&arguments).ok().map(|cli| format!("{cli:?}")));
        }
    }

    #[rstest::rstest]
    #[case::of_git(&["hook", "prepare-commit-msg", ".git/COMMIT_EDITMSG", "commit", "HEAD"], true)]
    #[case::without_arguments(&["hook", "post-commit"], true)]
    #[case::of_an_agent(&["hook", "--agent", "codex"], true)]
    #[case::unknown_agent(&["hook", "--agent", "x y"], true)]
    #[case::answered(&["hook", "--agent", "codex", "--on-multisession", "cancel"], false)]
    #[case::one_word(&["hook", "--agent=codex"], false)]
    #[case::no_agent(&["hook", "--agent", "--help"], false)]
    #[case::unknown_hook(&["hook", "update", "x"], false)]
    #[case::option(&["hook", "post-merge", "-q"], false)]
    #[case::empty(&["hook", "prepare-commit-msg", ""], false)]
    #[case::another_command(&["save", "--agent", "x"], false)]
    #[case::nothing(&["hook"], false)]
    fn plain_calls_of_hooks_are_read_as_all_commands_read_them(#[case] words: &[&str], #[case] is_plain: bool) {
        let arguments: Vec<OsString> = ["git-checkpoint"].iter().chain(words).map(OsString::from).collect();
        let plain = hook::HookCommand::from_plain(&arguments);
        assert_eq!(plain.is_some(), is_plain);
        if let Some(hook) = plain {
            let read = Cli::try_parse_from(&arguments).expect("clap reads it as well");
            let plain = Cli { globals: Globals::default(), command: Command::Hook(hook) };
            assert_eq!(format!("{plain:?}"), format!("{read:?}"));
        }
    }
}
