//! Lists the refs of another repository and fetches from it, by version 2 of git's protocol (gitprotocol-v2(5)).
//!
//! `git ls-remote` reads all refs of the other side, and `git fetch` negotiates about all refs of this one: a repository with
//! 20,000 branches costs megabytes before the first checkpoint arrives. Here, the other side lists the refs below a prefix only,
//! and hears of those commits only that the caller names.
//!
//! It reaches servers by HTTP, and repositories at an absolute path, through git's own programs (`wire::tunnel`), so that
//! credentials and proxies are the user's. All else is left to `git fetch`: ssh and `git://`, for which only git knows which host,
//! key and proxy its settings mean; paths that git expands (relative, `~/`, percent-encoded); older servers, bundles, other remote
//! helpers; and all of it if a setting says which protocols git may use. [`Opened::Unsupported`] says why.

mod negotiate;
mod packets;
mod programs;
mod receive;
mod tunnel;

use std::sync::atomic::AtomicBool;

use bstr::{BStr, BString, ByteSlice as _};
use gix::ObjectId;
use gix_protocol::{
    Handshake, LsRefsCommand,
    command::Feature,
    fetch::{Context as FetchContext, Options, Shallow, Tags},
    handshake::Ref,
    ls_refs::RefPrefixes,
    transport::{Protocol, Service},
};

pub(super) use self::receive::store;
use self::{negotiate::Named, tunnel::Tunnel};
use super::{
    Repo,
    received::{Basis, Received},
};
use crate::{
    error::{Context as _, Error, Kind, Result},
    model::path_text,
};

/// What is made of an address.
pub(crate) enum Opened {
    /// The other side answers in version 2.
    Connection(Box<Connection>),
    /// Only git can reach it; the reason, for a log.
    Unsupported(&'static str),
}

/// A ref of the other side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RemoteRef {
    /// The full name. It comes from the other side: nothing has checked it.
    pub(crate) name: BString,
    /// What it points to; of an annotated tag, the tag.
    pub(crate) id: ObjectId,
}

/// A connection to another repository. Dropping it ends the programs that carry it.
pub(crate) struct Connection {
    handshake: Handshake,
    tunnel: Tunnel,
}

impl Connection {
    /// Connects `repo` with `url`, which is a URL or a path after `url.<base>.insteadOf`, not the name of a remote.
    ///
    /// # Errors
    /// If the other side cannot be reached, says no, or has another object format.
    pub(crate) fn open(repo: &Repo, url: &BStr) -> Result<Opened> {
        let mut tunnel = match Tunnel::dig(repo, url)? {
            tunnel::Dug::Tunnel(tunnel) => tunnel,
            tunnel::Dug::Unsupported(why) => return Ok(Opened::Unsupported(why)),
        };
        let handshake = gix_protocol::handshake(
            tunnel.transport(),
            Service::UploadPack,
            // The programs that carry the connection ask for credentials themselves.
            |_| Err(gix::error::message("the other side asks for credentials").into()),
            Vec::new(),
            &mut gix::progress::Discard,
        );
        let handshake = handshake.context(Kind::User, || "the other side does not answer".into());
        let handshake = handshake.map_err(|error| tunnel.why(error))?;
        if handshake.server_protocol_version != Protocol::V2 {
            return Ok(Opened::Unsupported("the server does not know version 2 of git's protocol"));
        }
        let connection = Self { handshake, tunnel };
        let (ours, theirs) = (repo.object_hash().to_string(), connection.object_format());
        if ours != theirs {
            return Err(Error::user(format!(
                "the objects of the other side have ids of {theirs}, and those of this repository of {ours}: they cannot be exchanged"
            )));
        }
        Ok(Opened::Connection(Box::new(connection)))
    }

    /// Returns the object format of the other side, printable.
    fn object_format(&self) -> String {
        let named = self.handshake.capabilities.capability("object-format");
        let named = named.and_then(|capability| capability.value().map(ToOwned::to_owned));
        // gitprotocol-v2(5): a server that names none has SHA-1.
        named.map_or_else(|| "sha1".into(), |name| path_text::printable(name.as_ref()))
    }

    /// Returns the refs of the other side below `prefix`, sorted by name.
    ///
    /// # Errors
    /// If the connection breaks, or the answer makes no sense.
    pub(crate) fn list(&mut self, prefix: &str) -> Result<Vec<RemoteRef>> {
        let mut prefixes = RefPrefixes::new();
        prefixes.extend([prefix.into()]);
        let command = LsRefsCommand::new(Some(prefixes), &self.handshake.capabilities, agent());
        let listed = command.invoke_blocking(self.tunnel.transport(), &mut gix::progress::Discard, false);
        let listed = listed.context(Kind::User, || "cannot list the refs of the other side".into());
        let listed = listed.map_err(|error| self.tunnel.why(error))?;
        // A server may ignore the prefix.
        let mut refs: Vec<RemoteRef> =
            listed.into_iter().filter_map(named).filter(|found| found.name.starts_with_str(prefix)).collect();
        refs.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(refs)
    }

    /// Fetches `wants` and all that they lead to, except what the commits of `basis` lead to, which this repository has as a whole.
    ///
    /// Git checks each object (`transfer.fsckObjects`), and that all they lead to is there. The objects are not part of `repo` yet.
    ///
    /// # Errors
    /// If the connection breaks, the other side does not have or hand out `wants`, an object is malformed, or the pack has more
    /// than `limit` bytes. Then nothing has changed.
    pub(crate) fn fetch(
        &mut self,
        repo: &Repo,
        wants: &[ObjectId],
        basis: Basis<'_>,
        limit: Option<u64>,
    ) -> Result<Received> {
        if wants.is_empty() {
            return Ok(Received::default());
        }
        let never = AtomicBool::new(false);
        let mut received = Ok(Received::default());
        let context = FetchContext {
            handshake: &mut self.handshake,
            transport: &mut self.tunnel.transport(),
            user_agent: agent(),
            trace_packetlines: false,
        };
        let options = Options {
            shallow_file: repo.common_dir().join("shallow"),
            shallow: &Shallow::NoChange,
            tags: Tags::None,
            reject_shallow_remote: true,
        };
        let fetched = gix_protocol::fetch(
            &mut Named { wants, haves: basis.haves() },
            |pack, _, _| {
                received = store(repo, pack, basis, limit);
                // After an error, the rest of the pack is of no use to anyone.
                Ok(received.is_ok())
            },
            gix::progress::Discard,
            repo.interrupt.flag().unwrap_or(&never),
            context,
            options,
        );
        // What went wrong here says more than that the other side was not read to the end; why it was not, the other side says.
        let received = received.map_err(|error| self.tunnel.why_also(error))?;
        let fetched = fetched.context(Kind::User, || "cannot fetch from the other side".into());
        fetched.map_err(|error| self.tunnel.why(error))?;
        Ok(received)
    }
}

/// Returns how this program calls itself.
fn agent() -> Feature {
    ("agent", Some(concat!("git-checkpoint/", env!("CARGO_PKG_VERSION")).into()))
}

/// Returns the name and the id of `listed`, unless it has none.
fn named(listed: Ref) -> Option<RemoteRef> {
    match listed {
        Ref::Direct { full_ref_name: name, object: id } | Ref::Peeled { full_ref_name: name, tag: id, .. } => {
            Some(RemoteRef { name, id })
        }
        Ref::Symbolic { full_ref_name: name, tag, object, .. } => Some(RemoteRef { name, id: tag.unwrap_or(object) }),
        Ref::Unborn { .. } => None,
    }
}
