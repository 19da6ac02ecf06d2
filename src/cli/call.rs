//! One run of the command line: its global options, its output, and the way to the repository.

use std::{
    ffi::{OsStr, OsString},
    path::Path,
    sync::{Arc, Mutex},
};

use bstr::{BStr, BString, ByteSlice as _};
use gix::ObjectId;

use super::{
    command_line::CommandLine,
    environment,
    globals::Globals,
    interrupt::{Interrupt, Listening},
    long_lists::LongLists,
    names::Names,
    notices::Notices,
    output::Output,
    phrase::FETCH,
    progress::Progress,
    settings,
};
use crate::{
    error::{Context as _, Error, Kind, Result},
    git::{RefNames, Repo, counter::Counter},
    model::{path_text::shell_word, record::RecordId},
    ops::{
        Context,
        attribution::lacking_content,
        unrecorded::{Unrecorded, unrecorded},
    },
};

/// What every command gets.
pub(super) struct Call {
    pub(super) out: Output,
    pub(super) interrupt: Interrupt,
    /// How paths and ids are printed for people.
    pub(super) names: Names,
    globals: Globals,
    operation: CommandLine,
    /// Messages for the user about what a command did beside its task.
    notices: Arc<Mutex<Vec<String>>>,
    skipped_refs: RefNames,
    /// Counts the files of the operation.
    counter: Arc<Counter>,
    /// True if another command has the terminal, and keeps what this one prints.
    is_inside: bool,
}

impl Call {
    pub(super) fn new(globals: Globals, operation: CommandLine) -> Self {
        start_log(globals.verbose);
        Self {
            out: Output::new(globals.color, globals.quiet),
            interrupt: Interrupt::default(),
            names: Names::default(),
            globals,
            operation,
            notices: Arc::default(),
            skipped_refs: RefNames::default(),
            counter: Arc::default(),
            is_inside: false,
        }
    }

    /// Returns the call of a command inside this one, with the options `globals` and the words of `operation`: what it prints is kept,
    /// and it shows no progress.
    pub(super) fn inside(&self, globals: Globals, operation: CommandLine) -> Self {
        Self {
            out: Output::kept(self.globals.quiet),
            interrupt: self.interrupt.inside(),
            names: Names::default(),
            globals: Globals { no_pager: true, quiet: self.globals.quiet, ..globals },
            operation,
            notices: Arc::default(),
            skipped_refs: RefNames::default(),
            counter: Arc::default(),
            is_inside: true,
        }
    }

    /// Returns how many of `count` paths to list: on a terminal, a long list is cut unless the user asked for more (`-v`).
    pub(super) fn listed(&self, count: usize) -> usize {
        self.long_lists().listed(count)
    }

    /// Returns how this command shows long lists.
    pub(super) fn long_lists(&self) -> LongLists {
        LongLists { are_cut: self.out.is_terminal() && self.globals.verbose == 0 }
    }

    /// Returns the columns for a name after `used` columns; none if the output is no terminal or the user asked for more (`-v`):
    /// then names are whole.
    pub(super) fn room(&self, used: usize) -> Option<usize> {
        let columns = self.out.columns().filter(|_| self.globals.verbose == 0)?;
        Some(columns.saturating_sub(used))
    }

    /// Goes where the `-C` options say, one after the other, as git does.
    pub(super) fn enter_directory(&self) -> Result<()> {
        self.globals.directory.iter().try_for_each(|directory| Self::enter(directory.as_ref()))
    }

    /// Goes to `directory`, where the rest of the command runs.
    pub(super) fn enter(directory: &Path) -> Result<()> {
        std::env::set_current_dir(directory)
            .context(Kind::User, || format!("cannot change to '{}'", directory.display()))
    }

    /// Opens the repository of the current directory with its settings.
    pub(super) fn context(&mut self) -> Result<Context> {
        self.context_of(Repo::open_from_environment(Path::new("."))?)
    }

    /// The same for the logs of records alone, which a bare repository has, too.
    pub(super) fn context_for_logs(&mut self) -> Result<Context> {
        self.context_of(Repo::open_for_logs(Path::new("."))?)
    }

    fn context_of(&mut self, repo: Repo) -> Result<Context> {
        self.skipped_refs = repo.skipped_refs();
        let settings = settings::load(&repo, &mut self.out)?;
        self.out.configure(&repo, settings.ui.color.into());
        self.names = Names::new(&repo);
        self.counter = Arc::clone(repo.counter());
        Ok(Context::new(repo, settings))
    }

    /// The same for a command that writes: a signal makes it end in an orderly way.
    pub(super) fn writing_context(&mut self) -> Result<Context> {
        let context = self.context()?;
        self.listening(context)
    }

    /// Makes a signal end what is done in `context` in an orderly way.
    pub(super) fn listening(&mut self, context: Context) -> Result<Context> {
        self.interrupt.listen()?;
        Ok(self.interruptible(context))
    }

    /// The same for a command that first lets another program ask the user: that program decides what Ctrl-C means.
    pub(super) fn asking_context(&mut self) -> Result<(Context, Listening)> {
        let context = self.context()?;
        Ok((self.interruptible(context), self.interrupt.listen_only()?))
    }

    /// Lets the operation log say that this command line does what is done in `repo`.
    pub(super) fn describe(&self, repo: &Repo) {
        repo.describe_operation(self.operation.text(), self.operation.kind());
    }

    fn interruptible(&mut self, mut context: Context) -> Context {
        self.describe(&context.repo);
        context.subscribe(Box::new(Notices(Arc::clone(&self.notices))));
        context.interrupt_by(self.interrupt.flag());
        context
    }

    /// Warns of what a command did beside what it was asked for.
    pub(super) fn print_notices(&mut self) {
        let notices = self.notices.lock().map(|mut notices| std::mem::take(&mut *notices)).unwrap_or_default();
        for notice in notices {
            self.out.warning(&notice);
            self.out.hint("'git checkpoint list --archived' shows what can be read");
        }
        let skipped = self.skipped_refs.lock().map(|mut skipped| std::mem::take(&mut *skipped)).unwrap_or_default();
        for text in skipped {
            self.out.warning(&text);
            self.out.hint("'git checkpoint doctor' says what can be done");
        }
    }

    /// Says that lines are unknown because the content that the records `ids` are of is not here.
    pub(super) fn say_what_lacks(&mut self, ids: &[RecordId]) {
        if let Some(why) = lacking_content(ids) {
            self.out.aside(&why);
            self.out.hint(
                "once their author has run 'git checkpoint push' again, 'git checkpoint fetch' gets what is lacking",
            );
        }
    }

    /// Says what helps if lines of `commits` are unknown.
    pub(super) fn hint_at_unrecorded(&mut self, context: &Context, commits: &[ObjectId]) {
        let Some(why) = unrecorded(context, commits) else { return };
        self.out.hint(&match why {
            Unrecorded::AwaitsSave => {
                "'git checkpoint save' records what git has committed without hooks, and whose lines it has".to_owned()
            }
            Unrecorded::IsElsewhere(id) => format!("the record {} is not here; {FETCH}", id.as_str()),
            Unrecorded::NeverEnabled => {
                "commits made before 'git checkpoint enable' have no record of who wrote their lines".to_owned()
            }
        });
    }

    /// Shows on the terminal that `what` is being done, if it takes long, until the result is dropped.
    pub(super) fn progress(&self, what: &'static str) -> Progress {
        Progress::start(what, Arc::clone(&self.counter), self.globals.quiet || self.is_inside)
    }

    /// Sends the rest of the output through a pager, if people read it.
    pub(super) fn start_pager(&mut self, context: &Context) -> Result<()> {
        if !self.globals.no_pager && self.out.start_pager(&context.repo, context.settings.ui.pager.as_deref())? {
            // The pager ends first when the user presses Ctrl-C, and then we do.
            self.interrupt.listen()?;
        }
        Ok(())
    }

    /// Returns the pathspecs that `arguments` are, relative to the worktree's root.
    pub(super) fn pathspecs(repo: &Repo, arguments: &[OsString]) -> Result<Vec<BString>> {
        use std::os::unix::ffi::OsStrExt as _;
        let texts: Vec<BString> = arguments.iter().map(|argument| argument.as_bytes().into()).collect();
        repo.root_pathspecs(&texts, repo.prefix(Path::new(".")).as_bstr())
    }

    /// Returns the paths that `arguments` name, relative to the worktree's root.
    pub(super) fn paths(repo: &Repo, arguments: &[OsString]) -> Result<Vec<BString>> {
        let prefix = repo.prefix(Path::new("."));
        arguments.iter().map(|argument| inside(repo.worktree_root(), &prefix, argument)).collect()
    }
}

/// Returns the `error` of `git checkpoint <command> <target>`, with a hint at what to type instead if the target is a path or a
/// range.
pub(super) fn with_target_hint(error: Error, repo: &Repo, command: &str, target: &str) -> Error {
    // A range whose end is a turn is read as a turn of a session with a long name.
    let is_unknown = error.kind() == Kind::User
        && (error.message() == format!("no checkpoint matches '{target}'")
            || error.message().starts_with("no session '") && target.contains(".."));
    if !is_unknown {
        return error;
    }
    let is_path = || std::fs::symlink_metadata(target).is_ok();
    let prefix = repo.prefix(Path::new("."));
    match hint_at_target(command, target, is_path, prefix.as_bstr()) {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

/// Returns the two parts of `<revision>:<path>`. A colon in braces is part of the revision, as in `HEAD^{/fix: it}`.
fn file_of_revision(target: &str) -> Option<(&str, &str)> {
    let mut depth = 0_usize;
    let at = target.find(|c| {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ':' && depth == 0
    })?;
    let (revision, path) = (&target[..at], &target[at + 1..]);
    (!revision.is_empty() && !path.is_empty()).then_some((revision, path))
}

/// Returns a hint at what to type instead of `target`, which names no checkpoint; none if it is neither a path, nor a file of a
/// revision, nor a range. `prefix` is the current directory in the worktree.
fn hint_at_target(command: &str, target: &str, is_path: impl Fn() -> bool, prefix: &BStr) -> Option<String> {
    if is_path() {
        let path = shell_word(target);
        return Some(format!("'{target}' is a path; use 'git checkpoint {command} <checkpoint> -- {path}'"));
    }
    if let Some((revision, path)) = file_of_revision(target) {
        // Git takes the path from the root, unless it begins with a dot.
        let is_from_here = prefix.is_empty() || path.starts_with("./") || path.starts_with("../");
        let path = if is_from_here { shell_word(path) } else { shell_word(&format!(":/{path}")) };
        let is_plain = revision.chars().all(|c| c.is_alphanumeric() || "_@%+=:,./-~^{}".contains(c));
        let revision = if is_plain { revision.to_owned() } else { shell_word(revision) };
        return Some(format!("'{target}' names a file; use 'git checkpoint {command} {revision} -- {path}'"));
    }
    let (from, to) = target.split_once("..").map(|(from, to)| (from, to.trim_start_matches('.')))?;
    let or_latest = |side: &'static str, name: &str| if name.is_empty() { side.to_owned() } else { name.to_owned() };
    let (from, to) = (or_latest("base", from), or_latest("@", to));
    Some(match command {
        "restore" => {
            format!("'{target}' is a range; use 'git checkpoint restore {from}' or 'git checkpoint restore {to}'")
        }
        _ => format!("'{target}' is a range; use 'git checkpoint diff {from} {to}'"),
    })
}

/// Returns `argument`, typed in the directory `prefix`, as a path relative to `root`; empty for the root itself.
fn inside(root: &Path, prefix: &BString, argument: &OsStr) -> Result<BString> {
    let bytes = <[u8]>::from_os_str(argument).ok_or_else(|| Error::user("a path is not readable"))?;
    let outside = || Error::user(format!("'{}' is outside of the worktree '{}'", argument.display(), root.display()));
    if bytes.is_empty() {
        return Err(Error::user("an empty string is not a path").with_hint("use '.' to mean the current directory"));
    }
    let typed = if bytes.starts_with(b"/") {
        let root = <[u8]>::from_path(root).ok_or_else(outside)?;
        let rest = bytes.strip_prefix(root).map_or_else(|| canonical_inside(root, bytes), |rest| Some(rest.into()));
        rest.filter(|rest: &BString| rest.is_empty() || root == b"/" || rest.starts_with(b"/")).ok_or_else(outside)?
    } else {
        [prefix.as_slice(), bytes].concat().into()
    };
    normalize(&typed).ok_or_else(outside)
}

/// Returns what follows `root` in the absolute path `bytes` once the symbolic links of its directory are resolved.
fn canonical_inside(root: &[u8], bytes: &[u8]) -> Option<BString> {
    let path = bytes.to_path().ok()?;
    let directory = std::fs::canonicalize(path.parent()?).ok()?.join(path.file_name()?);
    <[u8]>::from_path(&directory)?.strip_prefix(root).map(Into::into)
}

/// Removes `.` and `..` from `path`; none if it leaves the root.
pub(super) fn normalize(path: &[u8]) -> Option<BString> {
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in path.split_str("/") {
        match part {
            b"" | b"." => {}
            b".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(bstr::join("/", parts).into())
}

/// Writes the trace to standard error, if `-v` or `GIT_CHECKPOINT_LOG` turns it on.
fn start_log(verbose: u8) {
    let filter = match environment::variable("GIT_CHECKPOINT_LOG") {
        Some(filter) => filter.to_string_lossy().into_owned(),
        None if verbose == 0 => return,
        None => format!("git_checkpoint={}", if verbose == 1 { "debug" } else { "trace" }),
    };
    let log = tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::new(filter))
        .with_writer(std::io::stderr)
        .with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr()))
        .with_target(false)
        // Printing it to standard error, which is what has failed, would panic.
        .log_internal_errors(false)
        .without_time();
    // A second log in one process (a test's) would be refused; the first one stays.
    drop(log.try_init());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::path("diff", "f", true, Some("'f' is a path; use 'git checkpoint diff <checkpoint> -- f'"))]
    #[case::range("diff", "a..b", false, Some("'a..b' is a range; use 'git checkpoint diff a b'"))]
    #[case::symmetric("show", "a...b", false, Some("'a...b' is a range; use 'git checkpoint diff a b'"))]
    #[case::open("diff", "a..", false, Some("'a..' is a range; use 'git checkpoint diff a @'"))]
    #[case::file("restore", "a:b/c", false, Some("'a:b/c' names a file; use 'git checkpoint restore a -- b/c'"))]
    #[case::quoted(
        "diff",
        "a^{/b: c}:d",
        false,
        Some("'a^{/b: c}:d' names a file; use 'git checkpoint diff 'a^{/b: c}' -- d'")
    )]
    #[case::no_file("diff", "a^{/b:c}", false, None)]
    #[case::nothing("diff", "a", false, None)]
    fn what_names_no_checkpoint_gets_a_hint(
        #[case] command: &str,
        #[case] target: &str,
        #[case] is_path: bool,
        #[case] expected: Option<&str>,
    ) {
        assert_eq!(hint_at_target(command, target, || is_path, "".into()).as_deref(), expected);
    }

    /// Git takes the path of `<revision>:<path>` from the root.
    #[rstest::rstest]
    #[case::from_the_root("a:b", "a -- :/b")]
    #[case::from_here("a:./b", "a -- ./b")]
    #[case::from_above("a:../b", "a -- ../b")]
    fn a_file_of_a_revision_is_found_from_a_subdirectory(#[case] target: &str, #[case] expected: &str) {
        let hint = hint_at_target("restore", target, || false, "d/".into());
        let expected = format!("'{target}' names a file; use 'git checkpoint restore {expected}'");
        assert_eq!(hint, Some(expected));
    }

    #[rstest::rstest]
    #[case::plain("a/", "b.txt", Some("a/b.txt"))]
    #[case::here("a/", ".", Some("a"))]
    #[case::root("", ".", Some(""))]
    #[case::up("a/b/", "../c", Some("a/c"))]
    #[case::above("a/", "../../c", None)]
    #[case::absolute("a/", "/repo/c", Some("c"))]
    #[case::absolute_root("a/", "/repo", Some(""))]
    #[case::sibling("a/", "/repository/c", None)]
    fn paths_are_relative_to_the_root(#[case] prefix: &str, #[case] typed: &str, #[case] expected: Option<&str>) {
        let found = inside(Path::new("/repo"), &prefix.into(), OsStr::new(typed)).ok();
        assert_eq!(found, expected.map(BString::from));
    }
}
