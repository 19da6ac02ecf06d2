//! The only place that prints: results to standard output (or a pager), messages to standard error.
//!
//! Decides once whether to colour and to page. What is printed is the commands' business.

use std::{
    ffi::OsString,
    io::{self, BufWriter, IsTerminal as _, Write},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use anstyle::Style;
use bstr::{BStr, BString};
use serde::Serialize;

use super::{color::When, environment, external::Pager, kept::Kept, layout};
use crate::{
    error::{Context as _, Error, Kind, Result},
    git::{Repo, threads},
    model::path_text,
};

/// Where the results of one command go.
pub(super) struct Output {
    sink: BufWriter<Box<dyn Write>>,
    is_terminal: bool,
    has_pager: bool,
    flag: Option<When>,
    is_coloured: bool,
    is_quiet: bool,
    is_closed: Arc<AtomicBool>,
    /// Where results and messages go in the place of the process's output.
    kept: Option<Kept>,
}

impl Output {
    /// Returns the process's own output; `color` is the flag of that name.
    pub(super) fn new(color: Option<When>, is_quiet: bool) -> Self {
        let stdout = io::stdout();
        let is_terminal = is_terminal();
        let is_coloured = color.unwrap_or(When::Auto).decide(is_terminal);
        let sink = BufWriter::with_capacity(1 << 16, Box::new(stdout) as Box<dyn Write>);
        let (is_closed, kept) = (Arc::default(), None);
        Self { sink, is_terminal, has_pager: false, flag: color, is_coloured, is_quiet, is_closed, kept }
    }

    /// Returns an output that keeps what is printed, results and messages in order, without colours.
    pub(super) fn kept(is_quiet: bool) -> Self {
        let kept = Kept::default();
        Self {
            sink: BufWriter::new(Box::new(kept.clone()) as Box<dyn Write>),
            is_terminal: false,
            has_pager: false,
            flag: Some(When::Never),
            is_coloured: false,
            is_quiet,
            is_closed: Arc::default(),
            kept: Some(kept),
        }
    }

    /// Returns what was kept so far.
    pub(super) fn take_kept(&mut self) -> Vec<u8> {
        drop(self.sink.flush());
        self.kept.as_ref().map(Kept::take).unwrap_or_default()
    }

    /// Returns true if the output is coloured.
    pub(super) fn is_coloured(&self) -> bool {
        self.is_coloured
    }

    /// Takes colours as `repo` and our setting `ui.color` want them; a flag or `NO_COLOR` wins.
    pub(super) fn configure(&mut self, repo: &Repo, setting: When) {
        if self.flag.is_some() {
            return;
        }
        let of_git =
            || ["color.checkpoint", "color.ui"].into_iter().find_map(|key| When::from_git(&repo.config_value(key)?));
        let when = if setting == When::Auto { of_git().unwrap_or(When::Auto) } else { setting };
        self.is_coloured = environment::variable("NO_COLOR").is_none() && when.decide(self.is_terminal);
    }

    /// Sends the rest of the output through the user's pager, if it goes to a terminal; returns whether it does.
    ///
    /// `setting` is our own setting of a pager, which comes before git's.
    pub(super) fn start_pager(&mut self, repo: &Repo, setting: Option<&str>) -> Result<bool> {
        if !self.is_terminal || self.has_pager {
            return Ok(self.has_pager);
        }
        let Some(command) = setting.map(OsString::from).or_else(|| pager_command(repo)) else { return Ok(false) };
        self.flush()?;
        match Pager::start(&command) {
            Ok(pager) => {
                self.sink = BufWriter::with_capacity(1 << 13, Box::new(pager));
                self.has_pager = true;
                let may_colour = repo.config_bool("color.pager").unwrap_or(true);
                self.is_coloured &= may_colour || self.flag == Some(When::Always);
            }
            Err(cause) => self.warning(&format!("cannot start the pager '{}': {cause}", command.display())),
        }
        Ok(self.has_pager)
    }

    /// Returns true if people read the output directly: relative dates, abbreviations.
    pub(super) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Returns `COLUMNS`, or the columns of the terminal, or 80.
    pub(super) fn width() -> usize {
        columns_of(&io::stdout())
    }

    /// Returns the columns that tables must fit; none if the output is no terminal, where nothing is cut.
    pub(super) fn columns(&self) -> Option<usize> {
        self.is_terminal.then(Self::width)
    }

    /// Returns `text`, which has no colours, cut to what is left of a line after `used` columns; whole if the output is no
    /// terminal.
    pub(super) fn fit(&self, text: &str, used: usize) -> String {
        self.columns().map_or_else(|| text.to_owned(), |columns| layout::cut(text, columns.saturating_sub(used)))
    }

    /// Returns true once the reader has closed its end.
    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }

    /// Raises `flag` once the reader has closed its end, even if nothing is printed.
    pub(super) fn raise_when_closed(&self, flag: Arc<AtomicBool>) {
        use rustix::event::{PollFd, PollFlags, poll};
        let is_closed = self.is_closed.clone();
        let watch = move || {
            let stdout = io::stdout();
            // `poll` always reports an error or hang-up; we wait for nothing else.
            let mut ends = [PollFd::new(&stdout, PollFlags::empty())];
            if poll(&mut ends, None).is_ok() {
                is_closed.store(true, Ordering::Relaxed);
                flag.store(true, Ordering::Relaxed);
            }
        };
        // Without a thread, it is noticed when something is printed.
        drop(threads::detach(watch));
    }

    /// Prints `bytes` as they are.
    ///
    /// A reader that has seen enough (`git checkpoint list | head`) does not change how the command ends.
    pub(super) fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        if self.is_closed() {
            return Ok(());
        }
        let written = self.sink.write_all(bytes);
        self.check(written)
    }

    /// Prints `text` as it is; whatever comes from outside must have gone through [`printable`].
    pub(super) fn text(&mut self, text: &str) -> Result<()> {
        self.bytes(text.as_bytes())
    }

    /// Prints `line` and a line break.
    pub(super) fn line(&mut self, line: &str) -> Result<()> {
        self.bytes(line.as_bytes())?;
        self.bytes(b"\n")
    }

    /// Prints `line` unless the user asked for quiet; on a terminal, it is wrapped between words.
    pub(super) fn note(&mut self, line: &str) -> Result<()> {
        if self.is_quiet { Ok(()) } else { self.prose(line) }
    }

    /// Prints `line`; on a terminal, it is wrapped between words.
    pub(super) fn prose(&mut self, line: &str) -> Result<()> {
        let columns = self.columns().unwrap_or(usize::MAX);
        layout::prose(line, columns).iter().try_for_each(|line| self.line(line))
    }

    /// Prints `line` unless the user asked for quiet; on a terminal, it is wrapped between words, with `indent` blanks before what
    /// follows.
    pub(super) fn item(&mut self, line: &str, indent: usize) -> Result<()> {
        let columns = self.columns().unwrap_or(usize::MAX);
        layout::wrap(line, columns, indent).iter().try_for_each(|line| self.row(line))
    }

    /// Prints a `field` such as `By:` and its `value` in a column; on a terminal, it is wrapped between words within that column.
    pub(super) fn field(&mut self, field: &str, value: &str) -> Result<()> {
        let line = format!("{field} {value}");
        let columns = self.columns().unwrap_or(usize::MAX);
        layout::wrap(&line, columns, layout::width(field) + 1).iter().try_for_each(|line| self.line(line))
    }

    /// Prints `line` unless the user asked for quiet. Does not wrap it: wrapping could remove a blank of a name in it.
    pub(super) fn row(&mut self, line: &str) -> Result<()> {
        if self.is_quiet { Ok(()) } else { self.line(line) }
    }

    /// Prints `value` as JSON on one line.
    pub(super) fn json(&mut self, value: &impl Serialize) -> Result<()> {
        let mut text =
            serde_json::to_vec(value).context(Kind::Internal, || "cannot write the result as JSON".into())?;
        text.push(b'\n');
        self.bytes(&text)
    }

    /// Returns `text` in `style`, or as it is if the output is not coloured.
    pub(super) fn paint(&self, style: Style, text: &str) -> String {
        if self.is_coloured && !text.is_empty() { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }

    /// Returns what to print before and after text in `style`; both empty if the output is not coloured.
    pub(super) fn around(&self, style: Style) -> (String, String) {
        if self.is_coloured { (style.to_string(), format!("{style:#}")) } else { Default::default() }
    }

    /// Writes buffered output to the reader.
    pub(super) fn flush(&mut self) -> Result<()> {
        if self.is_closed() {
            return Ok(());
        }
        let flushed = self.sink.flush();
        self.check(flushed)
    }

    /// Ends the output: nothing stays in a buffer, and the pager (if any) has been left. Returns `outcome` or why not.
    pub(super) fn finish<T>(&mut self, outcome: Result<T>) -> Result<T> {
        let flushed = self.flush();
        if self.has_pager {
            self.sink = BufWriter::new(Box::new(io::sink()));
        }
        outcome.and_then(|value| flushed.map(|()| value))
    }

    fn check(&mut self, written: io::Result<()>) -> Result<()> {
        match written {
            Err(cause) if cause.kind() == io::ErrorKind::BrokenPipe => {
                self.is_closed.store(true, Ordering::Relaxed);
                Ok(())
            }
            other => other.context(Kind::User, || "cannot write to standard output".into()),
        }
    }

    /// Says on standard error, in one line, that something is not as it should be.
    pub(super) fn warning(&mut self, text: &str) {
        if !self.is_quiet {
            self.stderr(&prefixed("warning: ", &printable(text)));
        }
    }

    /// Says on standard error, in one line, what the result is about.
    pub(super) fn aside(&mut self, text: &str) {
        if !self.is_quiet {
            self.stderr(&prefixed("", &printable(text)));
        }
    }

    /// Says on standard error what to do next.
    pub(super) fn hint(&mut self, text: &str) {
        if !self.is_quiet {
            self.stderr(&prefixed("hint: ", &items(text)));
        }
    }

    /// Warns of `troubles`, the errors of records that cannot be read.
    pub(super) fn unreadable_records(&mut self, troubles: &[String]) {
        for trouble in troubles {
            self.warning(&format!("{}: the authors of lines that these may cover are unknown", printable(trouble)));
        }
        if !troubles.is_empty() {
            self.hint("'git checkpoint doctor' says what can be done");
        }
    }

    /// Reports `error` on standard error: the failure, its causes indented, and the hint unless the user asked for quiet.
    pub(super) fn error(&mut self, word: &str, error: &Error) {
        // A message is one line, whatever names are in it.
        let mut text = prefixed(&format!("{word}: "), &printable(error.message()));
        for cause in error.causes() {
            text.push_str(&prefixed("    ", &cause));
        }
        if let Some(hint) = error.hint().filter(|_| !self.is_quiet) {
            text.push_str(&prefixed("hint: ", &items(hint)));
        }
        self.stderr(&text);
    }

    /// Writes `text` to standard error; a failure of that is ignored, as there is no other place to report it.
    pub(super) fn stderr(&mut self, text: &str) {
        drop(self.flush());
        match &mut self.kept {
            Some(kept) => drop(kept.write_all(text.as_bytes())),
            None => stderr(text),
        }
    }
}

/// Returns true if standard output is a terminal.
pub(super) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Returns standard output for what draws on a whole terminal.
pub(super) fn screen_writer() -> BufWriter<io::Stdout> {
    BufWriter::with_capacity(1 << 16, io::stdout())
}

/// Writes `text` to standard error as it is.
pub(super) fn stderr(text: &str) {
    drop(io::stderr().write_all(text.as_bytes()));
}

/// Returns the pager that git would use here; none if it is `cat` or empty.
fn pager_command(repo: &Repo) -> Option<OsString> {
    let of_command = repo.config_value("pager.checkpoint");
    let mut named = None;
    match of_command.as_deref().map(|value| value.to_ascii_lowercase()).as_deref() {
        Some(b"false" | b"no" | b"off" | b"0") => return None,
        None | Some(b"" | b"true" | b"yes" | b"on" | b"1") => {}
        Some(_) => named = of_command.map(os_string),
    }
    let command = environment::read("GIT_PAGER")
        .or(named)
        .or_else(|| repo.config_value("core.pager").map(os_string))
        .or_else(|| environment::read("PAGER"))
        .unwrap_or_else(|| "less".into());
    (!command.is_empty() && command != "cat").then_some(command)
}

fn os_string(value: BString) -> OsString {
    use std::os::unix::ffi::OsStringExt as _;
    OsString::from_vec(value.into())
}

/// Returns `text` fit for a terminal: control characters and invalid bytes become visible escapes.
pub(super) fn printable(text: impl AsRef<[u8]>) -> String {
    path_text::printable(BStr::new(text.as_ref()))
}

/// Returns each line of `text` after `prefix`; on a terminal, wrapped between words. As git, a hint has it before each part of a
/// line; of a failure or a warning, one line says that it is one.
fn prefixed(prefix: &str, text: &str) -> String {
    let is_hint = prefix == "hint: ";
    let room = stderr_columns().saturating_sub(prefix.len());
    let mut out = String::new();
    for line in text.lines().map(printable) {
        for (at, part) in layout::prose(&line, room).into_iter().enumerate() {
            let before = if at == 0 || is_hint { prefix.to_owned() } else { " ".repeat(prefix.len()) };
            out.push_str(&format!("{before}{part}\n"));
        }
    }
    out
}

/// Returns the text of a hint in which only a list, whose items are indented, has line breaks: those of names are escaped.
fn items(text: &str) -> String {
    text.split("\n  ").map(printable).collect::<Vec<_>>().join("\n  ")
}

/// Returns `text` as [`Output`] prints messages: a line that begins as an error, a warning or a hint is wrapped on a terminal.
pub(super) fn messages(text: &str) -> String {
    let line = |line: &str| {
        let prefix = ["error: ", "warning: ", "hint: "].into_iter().find(|prefix| line.starts_with(prefix));
        prefix.map_or_else(|| format!("{line}\n"), |prefix| prefixed(prefix, &line[prefix.len()..]))
    };
    text.lines().map(line).collect()
}

/// Returns the columns of standard error, to which messages are wrapped; no limit if it is no terminal.
pub(super) fn stderr_columns() -> usize {
    let stderr = io::stderr();
    if stderr.is_terminal() { columns_of(&stderr) } else { usize::MAX }
}

/// Returns the columns and rows of the terminal that standard error is, whatever `COLUMNS` says: what the user answers must be on
/// the screen. Without a terminal, there is no limit.
pub(super) fn screen() -> (usize, usize) {
    let stderr = io::stderr();
    if !stderr.is_terminal() {
        return (usize::MAX, usize::MAX);
    }
    let size = rustix::termios::tcgetwinsize(&stderr).ok();
    let [columns, rows] = [size.map(|size| size.ws_col), size.map(|size| size.ws_row)]
        .map(|count| count.map(usize::from).filter(|count| *count > 0));
    (columns.unwrap_or_else(|| columns_of(&stderr)), rows.unwrap_or(24))
}

/// Returns `COLUMNS`, or the columns of `terminal`, or 80.
fn columns_of(terminal: &impl std::os::fd::AsFd) -> usize {
    let of_variable = || environment::variable("COLUMNS")?.to_str()?.parse().ok();
    let of_terminal = || rustix::termios::tcgetwinsize(terminal).ok().map(|size| usize::from(size.ws_col));
    let is_some = |columns: &usize| *columns > 0;
    of_variable().filter(is_some).or_else(|| of_terminal().filter(is_some)).unwrap_or(80)
}
