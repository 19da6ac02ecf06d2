//! Filter drivers (gitattributes(5)): commands that run once for a file, and servers that convert many.

use std::{
    collections::BTreeMap,
    io::{self, ErrorKind, Read as _, Write as _},
};

use bstr::{BStr, BString, ByteSlice as _};
use gix::filter::plumbing::Driver;
use rustix::io::Errno;

use super::{Repo, subprocess::Subprocess};
use crate::error::{Error, Result};

/// The setting that names the command of a server.
const WORD: &str = "process";

/// The direction of a conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// To what git stores.
    Clean,
    /// To what the worktree has.
    Smudge,
}

impl Way {
    fn as_str(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Smudge => "smudge",
        }
    }
}

/// The drivers that git is configured with, and their servers.
pub(super) struct Drivers<'r> {
    repo: &'r Repo,
    all: Vec<Driver>,
    /// By the command that starts it.
    servers: BTreeMap<BString, Server>,
    /// Why the optional driver that was asked last has failed, if it has.
    forgiven: Option<Error>,
}

impl<'r> Drivers<'r> {
    pub(super) fn new(repo: &'r Repo, all: Vec<Driver>) -> Self {
        Self { repo, all, servers: BTreeMap::new(), forgiven: None }
    }

    /// Returns true if git is configured with none.
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns true if the driver `name` has a command for `way`; a server reports this once it has run.
    pub(super) fn can(&self, name: &BStr, way: Way) -> bool {
        let Some(driver) = self.all.iter().find(|driver| driver.name == name) else { return false };
        match (&driver.process, way) {
            (Some(line), _) => self.servers.get(line).is_some_and(|server| server.can(way)),
            (None, Way::Clean) => driver.clean.as_ref().is_some_and(|line| !line.is_empty()),
            (None, Way::Smudge) => driver.smudge.as_ref().is_some_and(|line| !line.is_empty()),
        }
    }

    /// Returns what the driver `name` makes of `bytes` of the file `path`; none if it has no command for that, or is an
    /// optional one whose command fails.
    ///
    /// # Errors
    /// If the command cannot be run, fails, or is ended as the work is to end.
    pub(super) fn convert(&mut self, name: &BStr, way: Way, path: &BStr, bytes: &[u8]) -> Result<Option<Vec<u8>>> {
        let Some(driver) = self.all.iter().find(|driver| driver.name == name) else { return Ok(None) };
        // With a server, git does not look at the other commands.
        if let Some(line) = &driver.process {
            if line.is_empty() {
                return without_command(driver, way);
            }
            let (line, none, is_optional) = (line.clone(), without_command(driver, way), !driver.required);
            return match self.by_server(&line, way, path, bytes) {
                Ok(None) => none,
                Err(error) if is_optional && is_refused(&error) => {
                    self.forgive(error);
                    Ok(None)
                }
                done => done,
            };
        }
        let line = match way {
            Way::Clean => &driver.clean,
            Way::Smudge => &driver.smudge,
        };
        let Some(line) = line.as_ref().filter(|line| !line.is_empty()) else { return without_command(driver, way) };
        let command = self.repo.start_filter(with_path(line.as_bstr(), path));
        let command = command.map_err(|cause| not_started(way.as_str(), &cause))?;
        let output = command.output(bytes).map_err(|cause| failed(way.as_str(), &cause))?;
        match output.status.success() {
            true => Ok(Some(output.stdout)),
            false if driver.required => Err(failed(way.as_str(), &output.status)),
            false => {
                self.forgive(failed(way.as_str(), &output.status));
                Ok(None)
            }
        }
    }

    /// Notes that an optional driver has failed with `error`, and that the file goes without it.
    pub(super) fn forgive(&mut self, error: Error) {
        self.forgiven = Some(error);
    }

    /// Returns why an optional driver has failed since the last call: git continues without it.
    pub(super) fn take_forgiven(&mut self) -> Option<Error> {
        self.forgiven.take()
    }

    /// Notes that the work was interrupted while the driver `name` `did` something.
    pub(super) fn note_interrupt(&self, name: &BStr, did: &str) {
        let hint = format!("'git config --get-regexp filter.{name}' shows what it runs");
        self.repo.interrupt.note(format!("the filter '{name}' {did}"), hint);
    }

    fn by_server(&mut self, line: &BString, way: Way, path: &BStr, bytes: &[u8]) -> Result<Option<Vec<u8>>> {
        if !self.servers.contains_key(line) {
            let child = self.repo.start_filter(line.clone()).map_err(|cause| not_started(WORD, &cause))?;
            self.servers.insert(line.clone(), Server::greet(child).map_err(|cause| broken(&cause))?);
        }
        let server = self.servers.get_mut(line).expect("it was just there");
        if !server.can(way) {
            return Ok(None);
        }
        match server.convert(way, path, bytes) {
            Ok(Ok(converted)) => Ok(Some(converted)),
            Ok(Err(status)) if status == "error" => Err(refused("status=error")),
            Ok(Err(status)) if status == "abort" => {
                server.ways.retain(|known| *known != way);
                Err(refused("status=abort"))
            }
            answer => {
                // What it will say next belongs to nothing that was asked.
                self.servers.remove(line).expect("it was just there").child.end();
                Err(match answer {
                    Err(cause) => broken(&cause),
                    Ok(status) => failed(WORD, &format!("status={}", status.err().unwrap_or_default())),
                })
            }
        }
    }
}

/// Returns nothing, or an error if `driver` must clean: git refuses to store a file then.
///
/// For the worktree, a required driver without a command is no error here: a file that is stored as it is comes back so.
fn without_command(driver: &Driver, way: Way) -> Result<Option<Vec<u8>>> {
    match way {
        Way::Clean if driver.required => Err(Error::user(match &driver.process {
            Some(line) if !line.is_empty() => format!("its server does not announce the capability '{}'", way.as_str()),
            _ => format!("it has no command '{}'", way.as_str()),
        })),
        Way::Clean | Way::Smudge => Ok(None),
    }
}

impl Drop for Drivers<'_> {
    /// Waits for the servers, as git does: what they have begun may take them a while.
    fn drop(&mut self) {
        for (line, server) in std::mem::take(&mut self.servers) {
            let was_raised = self.repo.interrupt.is_raised();
            drop(server);
            let driver = self.all.iter().find(|driver| driver.process.as_ref() == Some(&line));
            if let Some(driver) = driver.filter(|_| !was_raised && self.repo.interrupt.is_raised()) {
                self.note_interrupt(driver.name.as_bstr(), "came to its end");
            }
        }
    }
}

/// Why a filter did not convert, where that matters.
#[derive(Debug)]
enum Cause {
    /// The system did not start a command: another time it may.
    NotNow(String),
    /// The server has answered that it does not.
    Refused(String),
}

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (Self::NotNow(text) | Self::Refused(text)) = self;
        f.write_str(text)
    }
}

impl std::error::Error for Cause {}

fn cause(error: &Error) -> Option<&Cause> {
    let mut causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    causes.find_map(<dyn std::error::Error>::downcast_ref)
}

/// Returns true if `error` says nothing of the filter, only of the system at this moment.
pub(super) fn is_of_the_moment(error: &Error) -> bool {
    matches!(cause(error), Some(Cause::NotNow(_)))
}

/// Returns true if a server has refused a file: git would only ask another one the same.
pub(super) fn is_refused(error: &Error) -> bool {
    matches!(cause(error), Some(Cause::Refused(_)))
}

fn not_started(word: &str, cause: &io::Error) -> Error {
    const MOMENTARY: [Errno; 5] = [Errno::AGAIN, Errno::NOMEM, Errno::MFILE, Errno::NFILE, Errno::TXTBSY];
    let text = format!("'{word}' cannot be run: {cause}");
    let error = Error::user("the filter failed");
    match Errno::from_io_error(cause) {
        Some(errno) if MOMENTARY.contains(&errno) => error.with_cause(Cause::NotNow(text)),
        _ => error.with_cause(text),
    }
}

fn failed(word: &str, how: &dyn std::fmt::Display) -> Error {
    Error::user("the filter failed").with_cause(format!("'{word}' failed ({how})"))
}

fn refused(how: &str) -> Error {
    Error::user("the filter failed").with_cause(Cause::Refused(format!("'{WORD}' failed ({how})")))
}

/// Returns the error that `cause` is of talking to a server.
fn broken(cause: &io::Error) -> Error {
    match cause.kind() {
        ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe => failed(WORD, &"it hung up"),
        _ => failed(WORD, cause),
    }
}

/// Returns the command `line` with `path` in the place of `%f`, as git has it.
fn with_path(line: &BStr, path: &BStr) -> BString {
    let mut out = BString::default();
    let mut rest = line.as_bytes();
    while let Some(at) = rest.find_byte(b'%') {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at + 1..];
        match rest.first() {
            Some(b'f') => out.extend_from_slice(&gix::quote::single(path)),
            Some(b'%') => out.push(b'%'),
            _ => {
                out.push(b'%');
                continue;
            }
        }
        rest = &rest[1..];
    }
    out.extend_from_slice(rest);
    out
}

/// A filter that converts many files, by the protocol in gitattributes(5).
struct Server {
    child: Subprocess,
    ways: Vec<Way>,
}

/// How many bytes fit into one packet, without its length.
const PACKET: usize = 65_516;

impl Server {
    /// Returns the server that `child` is, once it has reported its abilities.
    fn greet(child: Subprocess) -> io::Result<Self> {
        let mut server = Self { child, ways: Vec::new() };
        match server.agree() {
            Ok(()) => Ok(server),
            Err(error) => {
                server.child.end();
                Err(error)
            }
        }
    }

    fn agree(&mut self) -> io::Result<()> {
        self.send(&["git-filter-client", "version=2"].map(BString::from))?;
        if self.lines()? != ["git-filter-server", "version=2"] {
            return Err(io::Error::other("it does not speak version 2 of the protocol"));
        }
        let ways = [Way::Clean, Way::Smudge];
        self.send(&ways.map(|way| format!("capability={}", way.as_str()).into()))?;
        let capabilities = self.lines()?;
        let is_there = |way: &Way| capabilities.iter().any(|line| *line == format!("capability={}", way.as_str()));
        self.ways = ways.into_iter().filter(is_there).collect();
        Ok(())
    }

    fn can(&self, way: Way) -> bool {
        self.ways.contains(&way)
    }

    /// Returns the converted bytes, or the status if that is not `success`.
    fn convert(&mut self, way: Way, path: &BStr, bytes: &[u8]) -> io::Result<std::result::Result<Vec<u8>, BString>> {
        let path = BString::from([b"pathname=", path.as_bytes()].concat());
        self.send(&[format!("command={}", way.as_str()).into(), path])?;
        for piece in bytes.chunks(PACKET) {
            self.send_packet(piece)?;
        }
        self.child.write_all(b"0000")?;
        let status = self.status()?.unwrap_or_default();
        if status != "success" {
            return Ok(Err(status));
        }
        let mut converted = Vec::with_capacity(bytes.len());
        while let Some(piece) = self.packet()? {
            converted.extend_from_slice(&piece);
        }
        // Without another status, that before the content holds.
        Ok(match self.status()? {
            Some(status) if status != "success" => Err(status),
            _ => Ok(converted),
        })
    }

    fn send(&mut self, lines: &[BString]) -> io::Result<()> {
        for line in lines {
            self.send_packet(&[line.as_bytes(), b"\n"].concat())?;
        }
        self.child.write_all(b"0000")
    }

    fn send_packet(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.child.write_all(format!("{:04x}", bytes.len() + 4).as_bytes())?;
        self.child.write_all(bytes)
    }

    /// Returns the next packet; none for a flush packet.
    fn packet(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut length = [0; 4];
        self.child.read_exact(&mut length)?;
        let length = length.to_str().ok().and_then(|length| usize::from_str_radix(length, 16).ok());
        let length = match length {
            Some(0) => return Ok(None),
            Some(length @ 4..) => length - 4,
            _ => return Err(io::Error::other("it does not speak the protocol")),
        };
        let mut bytes = vec![0; length];
        self.child.read_exact(&mut bytes)?;
        Ok(Some(bytes))
    }

    fn lines(&mut self) -> io::Result<Vec<BString>> {
        let mut lines = Vec::new();
        while let Some(line) = self.packet()? {
            lines.push(line.strip_suffix(b"\n").unwrap_or(&line).into());
        }
        Ok(lines)
    }

    /// Returns the last status among the next lines.
    fn status(&mut self) -> io::Result<Option<BString>> {
        let lines = self.lines()?;
        Ok(lines.iter().rev().find_map(|line| line.strip_prefix(b"status=")).map(BString::from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::none("cat", "cat")]
    #[case::path("clean -- %f %f", "clean -- 'a b' 'a b'")]
    #[case::percent("date +%%d %d%", "date +%d %d%")]
    fn placeholders(#[case] line: &str, #[case] expected: &str) {
        assert_eq!(with_path(line.into(), "a b".into()), expected);
    }

    #[rstest::rstest]
    #[case::no_more_processes(Errno::AGAIN, true)]
    #[case::no_more_files(Errno::MFILE, true)]
    #[case::no_memory(Errno::NOMEM, true)]
    #[case::no_such_program(Errno::NOENT, false)]
    #[case::denied(Errno::ACCESS, false)]
    fn some_errors_are_of_the_moment(#[case] errno: Errno, #[case] expected: bool) {
        let error = not_started("clean", &io::Error::from(errno));
        assert_eq!(is_of_the_moment(&error), expected);
        assert!(error.causes()[0].starts_with("'clean' cannot be run: "), "{error:?}");
    }
}
