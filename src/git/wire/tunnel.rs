//! Carries the protocol to another repository: by git's program for HTTP, or by `git upload-pack` on this machine.

use std::{
    any::Any,
    borrow::Cow,
    cell::RefCell,
    ffi::OsStr,
    fs::File,
    io::{self, BufReader, Read, Seek as _, Write},
    os::unix::ffi::OsStrExt as _,
    path::Path,
    rc::Rc,
};

use bstr::{BStr, ByteSlice as _};
use gix_protocol::transport::{
    Protocol, Service,
    client::{
        self, MessageKind, TransportWithoutIO, WriteMode,
        blocking_io::{RequestWriter, SetServiceResponse, Transport},
        git::{ConnectMode, blocking_io::Connection},
    },
};

use super::{
    super::{Repo, environment, patience::is_stalled, said::shown, subprocess::Subprocess},
    packets::{Heard, Packets},
};
use crate::error::{Context as _, Error, Kind, Result};

/// The answers of a remote helper are one word.
const MAX_LINE: usize = 1 << 10;
/// A server may talk for ever.
const MOST_SAID: u64 = 1 << 14;

/// A way to the other side.
pub(super) struct Tunnel {
    transport: Box<dyn Transport>,
    /// What the programs say that carry it.
    said: File,
    /// What the other side says to people.
    heard: Heard,
}

/// What came of the attempt.
pub(super) enum Dug {
    Tunnel(Tunnel),
    /// Why only git can reach the address.
    Unsupported(&'static str),
}

impl Tunnel {
    /// Returns a way from `repo` to `url`, on which nothing has been said yet.
    ///
    /// # Errors
    /// If the other side cannot be reached.
    pub(super) fn dig(repo: &Repo, url: &BStr) -> Result<Dug> {
        let what = || "cannot connect to the other side".to_owned();
        let way = match way_to(url) {
            Ok(way) => way,
            Err(why) => return Ok(Dug::Unsupported(why)),
        };
        if has_policy(repo) {
            return Ok(Dug::Unsupported("settings say which protocols git may use"));
        }
        if repo.config_value("protocol.version").is_some_and(|version| version != "2") {
            return Ok(Dug::Unsupported("settings say which version of its protocol git speaks"));
        }
        let said = tempfile::tempfile().context(Kind::Internal, what)?;
        let heard = Heard::default();
        let transport: Box<dyn Transport> = match way {
            Way::Path(path) if path.is_file() => return Ok(Dug::Unsupported("it is a bundle")),
            Way::Path(path) => Box::new(local(repo, path, &said, &heard).context(Kind::User, what)?),
            Way::Http(scheme) => {
                let found = http(repo, scheme, url, &said, &heard);
                match found.context(Kind::User, what).map_err(|error| why(error, text_of(&said)))? {
                    Some(carried) => Box::new(carried),
                    None => return Ok(Dug::Unsupported("the server does not know version 2 of git's protocol")),
                }
            }
        };
        Ok(Dug::Tunnel(Self { transport, said, heard }))
    }

    /// Returns `error` with what the programs have said that carry the connection, which know more of what went wrong.
    pub(super) fn why(&self, error: Error) -> Error {
        // They do not know why they were ended.
        if is_stalled(&error) { self.why_also(error) } else { why(error, self.text()) }
    }

    /// The same, and what `error` says itself stays its cause.
    pub(super) fn why_also(&self, error: Error) -> Error {
        let causes = error.causes();
        let text = self.text();
        if text.is_empty() { error } else { error.with_cause([causes, vec![text]].concat().join("\n")) }
    }

    /// Returns what the programs and the other side have said, fit for a terminal.
    fn text(&self) -> String {
        let heard = self.heard.borrow();
        // Of a progress, what overwrites it.
        let lines = heard.lines().filter_map(|line| line.trim_end().rsplit(|byte| *byte == b'\r').next());
        let lines = lines.filter(|line| !line.is_empty()).map(|line| [b"remote: ", line].concat());
        shown(&[text_of(&self.said).into_bytes()].into_iter().chain(lines).collect::<Vec<_>>().join(&b'\n'))
    }

    /// Returns what gix speaks with.
    pub(super) fn transport(&mut self) -> &mut dyn Transport {
        &mut *self.transport
    }
}

/// Returns `error` with `text` as its cause, if there is one.
fn why(error: Error, text: String) -> Error {
    if text.is_empty() { error } else { error.with_cause(text) }
}

/// Returns what is in `said`, fit for a terminal; nothing if it cannot be read.
fn text_of(mut said: &File) -> String {
    let mut text = Vec::new();
    let read = said.rewind().and_then(|()| said.take(MOST_SAID).read_to_end(&mut text));
    if read.is_ok() { shown(&text) } else { String::new() }
}

/// How an address is reached.
enum Way<'a> {
    /// An absolute path, as it is.
    Path(&'a Path),
    /// By git's program for this scheme.
    Http(&'static str),
}

/// Returns how `url` is reached; else why only git can do that.
fn way_to(url: &BStr) -> Result<Way<'_>, &'static str> {
    let is_file_url = url.starts_with(b"file://");
    let path = url.strip_prefix(b"file://").unwrap_or(url);
    match path.first() {
        Some(b'/') if is_file_url && path.contains(&b'%') => Err("git decodes what is percent-encoded"),
        Some(b'/') => Ok(Way::Path(Path::new(OsStr::from_bytes(path)))),
        _ if url.starts_with(b"http://") => Ok(Way::Http("http")),
        _ if url.starts_with(b"https://") => Ok(Way::Http("https")),
        _ => Err("git knows what this address means"),
    }
}

/// Returns true if anything says which protocols git may use (`protocol.allow` in git-config(1)), also without a value: git knows
/// what that means.
fn has_policy(repo: &Repo) -> bool {
    // Settings that git cannot read are errors of git.
    let is_in_settings = || repo.config_values(r"^protocol\.(.*\.)?allow$").map_or(true, |found| !found.is_empty());
    ["GIT_ALLOW_PROTOCOL", "GIT_PROTOCOL_FROM_USER"].iter().any(|name| environment::is_set(name)) || is_in_settings()
}

/// A program of git that both reads and writes, shared by the two halves of a connection.
#[derive(Clone)]
struct Pipe(Rc<RefCell<Subprocess>>);

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.borrow_mut().read(buffer)
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Ends the program when the connection is dropped: it may wait for more, or still send what is of no use any more.
struct Ends(Pipe);

impl Ends {
    fn of(program: Subprocess) -> Self {
        Self(Pipe(Rc::new(RefCell::new(program))))
    }
}

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.0.borrow_mut().end();
    }
}

/// A connection that a program of git carries.
struct Carried<R: Read> {
    connection: Connection<R, Pipe>,
    /// False for HTTP: each request stands for itself.
    persists: bool,
    _program: Ends,
}

impl<R: Read> Carried<R> {
    fn new(reader: R, program: Ends, url: &BStr, persists: bool) -> Self {
        let host = None::<(&str, Option<u16>)>;
        let writer = program.0.clone();
        let connection = Connection::new(reader, writer, Protocol::V2, url, host, ConnectMode::Process, false);
        Self { connection: connection.custom_url(Some(url.to_owned())), persists, _program: program }
    }
}

impl<R: Read> TransportWithoutIO for Carried<R> {
    fn to_url(&self) -> Cow<'_, BStr> {
        self.connection.to_url()
    }

    fn connection_persists_across_multiple_requests(&self) -> bool {
        self.persists
    }

    fn configure(&mut self, config: &dyn Any) -> gix::Result {
        self.connection.configure(config)
    }
}

impl<R: Read> Transport for Carried<R> {
    fn handshake<'a>(
        &mut self,
        service: Service,
        parameters: &'a [(&'a str, Option<&'a str>)],
    ) -> Result<SetServiceResponse<'_>, client::Error> {
        self.connection.handshake(service, parameters)
    }

    fn request(
        &mut self,
        mode: WriteMode,
        on_into_read: MessageKind,
        trace: bool,
    ) -> Result<RequestWriter<'_>, client::Error> {
        self.connection.request(mode, on_into_read, trace)
    }
}

/// Returns a connection to the repository at `path`, an absolute path.
fn local(repo: &Repo, path: &Path, said: &File, heard: &Heard) -> io::Result<Carried<BufReader<Packets<Pipe>>>> {
    let program = Ends::of(repo.start_upload_pack(path, said.try_clone()?)?);
    let reader = BufReader::new(Packets::new(program.0.clone(), Rc::clone(heard)));
    Ok(Carried::new(reader, program, path.as_os_str().as_bytes().into(), true))
}

/// Returns a connection by `git remote-http` (gitremote-helpers(7), `stateless-connect`); none if the server only knows older
/// versions of the protocol.
fn http(
    repo: &Repo,
    scheme: &str,
    url: &BStr,
    said: &File,
    heard: &Heard,
) -> io::Result<Option<Carried<BufReader<Packets<Pipe>>>>> {
    let program = Ends::of(repo.start_remote_helper(scheme, OsStr::from_bytes(url), said.try_clone()?)?);
    let mut pipe = program.0.clone();
    pipe.write_all(b"stateless-connect git-upload-pack\n")?;
    match one_line(&mut pipe)?.as_slice() {
        b"" => {}
        b"fallback" => return Ok(None),
        _ => return Err(io::Error::other("'git remote-http' gives an answer that makes no sense")),
    }
    let packets = BufReader::new(Packets::new(pipe, Rc::clone(heard)));
    Ok(Some(Carried::new(packets, program, url, false)))
}

/// Returns the next line of `reader` without its end, and reads nothing beyond it.
fn one_line(reader: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    let mut byte = [0];
    while line.len() < MAX_LINE {
        match reader.read(&mut byte)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            _ if byte == *b"\n" => return Ok(line),
            _ => line.push(byte[0]),
        }
    }
    Err(io::ErrorKind::InvalidData.into())
}
