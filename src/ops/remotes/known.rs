//! The remotes, and which of them the user lets records be sent to.
//!
//! The approval is for the URLs that git pushes to at that moment, and is kept where no commit and no included file can write it.

use gix::ObjectId;
use serde::Serialize;

use crate::{
    error::{Error, Result},
    git::{Repo, digest},
    model::{
        address::{is_relative_path, refusal, without_userinfo},
        path_text::shell_word,
        refname,
    },
    ops::Context,
    state::{failpoint, shared_with},
};

/// Whether records may be sent to a remote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Approval {
    /// They may.
    Approved,
    /// The user has not said so.
    None,
    /// The user has said so of other addresses.
    UrlChanged,
}

/// A remote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Remote {
    /// Its name.
    pub(crate) name: String,
    /// Where git pushes to, without passwords.
    pub(crate) urls: Vec<String>,
    /// Whether records may be sent there.
    pub(crate) approval: Approval,
    /// The last commit of its records that was fetched from it, or sent to it.
    #[serde(serialize_with = "crate::model::id_text::serialize_optional")]
    pub(crate) history: Option<gix::ObjectId>,
    /// Where git pushes to, as it is.
    #[serde(skip)]
    pub(super) push_urls: Vec<String>,
    /// False if its name is a URL or a path: no refs follow it.
    #[serde(skip)]
    pub(super) is_named: bool,
    /// The SHA-256 of that.
    #[serde(skip)]
    pub(super) digest: String,
}

/// What `remote list` says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Remotes {
    version: u32,
    /// By name.
    pub(crate) remotes: Vec<Remote>,
}

/// Returns what is known of the remote `name`.
pub(super) fn read(repo: &Repo, name: &str) -> Result<Remote> {
    // Git takes a relative path from the root of the worktree that it is run in, and each worktree has another one.
    let root = std::path::absolute(repo.worktree_root()).unwrap_or_else(|_| repo.worktree_root().to_owned());
    let absolute = |url: String| if is_relative_path(&url) { root.join(&url).display().to_string() } else { url };
    let urls: Vec<String> = repo.remote_urls(name, true)?.into_iter().map(absolute).collect();
    let parts: Vec<&[u8]> = urls.iter().flat_map(|url| [url.as_bytes(), b"\n"]).collect();
    let digest = digest::sha256(&parts);
    let approval = match shared_with::read(repo.common_dir())?.get(name) {
        Some(approved) if *approved == digest && !urls.is_empty() => Approval::Approved,
        Some(_) => Approval::UrlChanged,
        None => Approval::None,
    };
    let history = repo.find_sound_ref(&refname::tracking_ref(name, refname::HISTORY))?;
    let shown = urls.iter().map(|url| without_userinfo(url)).collect();
    Ok(Remote { name: name.to_owned(), urls: shown, approval, history, push_urls: urls, is_named: true, digest })
}

/// Returns all configured remotes.
pub(crate) fn list(context: &Context) -> Result<Remotes> {
    let repo = &context.repo;
    let remotes = repo.remote_names()?.iter().map(|name| read(repo, name)).collect::<Result<_>>()?;
    Ok(Remotes { version: 1, remotes })
}

/// Returns the remote `name`.
///
/// # Errors
/// If there is none, or nothing may be exchanged with its address.
pub(crate) fn find(context: &Context, name: &str) -> Result<Remote> {
    let repo = &context.repo;
    if !repo.remote_names()?.iter().any(|known| known == name) {
        return Err(Error::user(format!("there is no remote '{name}'"))
            .with_hint("'git checkpoint remote list' shows all; 'git checkpoint remote add' makes one"));
    }
    let remote = read(repo, name)?;
    if repo.config_value(&format!("remote.{name}.vcs")).is_some() {
        let why = "the setting 'vcs' of this remote runs a program that decides where to go";
        return Err(Error::refused(format!("the address of '{name}' cannot be used: {why}")));
    }
    if !repo.has_worktree() {
        refuse_relative(repo, name)?;
    }
    for urls in [&repo.remote_urls(name, false)?, &remote.push_urls] {
        let bad = urls.iter().find_map(|url| refusal(url)).or(urls.is_empty().then_some("it has none"));
        if let Some(why) = bad {
            return Err(Error::refused(format!("the address of '{name}' cannot be used: {why}")));
        }
    }
    Ok(remote)
}

/// Returns what is at `address`: the name of a remote, or what git takes for an address. Records may be sent to such a one if a
/// remote that git has now is approved, and has this URL alone.
///
/// # Errors
/// If nothing may be exchanged with it.
pub(crate) fn at(context: &Context, address: &str) -> Result<Remote> {
    let repo = &context.repo;
    if repo.remote_names()?.iter().any(|known| known == address) {
        let remote = find(context, address)?;
        if std::env::current_dir().is_ok_and(|here| here != repo.worktree_root()) {
            refuse_relative(repo, address)?;
        }
        return Ok(remote);
    }
    if let Some(why) = refusal(address) {
        return Err(Error::refused(format!("'{}' cannot be used: {why}", without_userinfo(address))));
    }
    // As git does, from where it runs, whatever that is to our own git.
    let here = std::env::current_dir().unwrap_or_default();
    let absolute = is_relative_path(address).then(|| here.join(address).display().to_string());
    let address = absolute.as_deref().unwrap_or(address);
    let found = repo.address_to_push_to(address)?;
    let (is_certain, url) = found.map_or((false, address.to_owned()), |url| (true, url));
    if is_relative_path(&url) {
        return Err(Error::refused(format!("'{}' {RELATIVE}", without_userinfo(&url))));
    }
    if let Some(why) = refusal(&url) {
        return Err(Error::refused(format!("'{}' cannot be used: {why}", without_userinfo(&url))));
    }
    let digest = digest::sha256(&[url.as_bytes(), b"\n"]);
    let is_this = |other: &String| *other == url || repo.worktree_root().join(other).to_str() == Some(&url);
    let is_approved = is_certain
        && list(context)?.remotes.iter().any(|remote| {
            remote.approval == Approval::Approved && remote.push_urls.len() == 1 && remote.push_urls.iter().all(is_this)
        });
    Ok(Remote {
        name: address.to_owned(),
        urls: vec![without_userinfo(&url)],
        approval: if is_approved { Approval::Approved } else { Approval::None },
        history: None,
        push_urls: vec![url],
        is_named: false,
        digest,
    })
}

const RELATIVE: &str =
    "is a relative path, and which directory it begins in is not certain here: an absolute one is needed";

/// Refuses the remote `name` if git has a relative path for it, which in a worktree begins at the root.
fn refuse_relative(repo: &Repo, name: &str) -> Result<()> {
    for is_push in [false, true] {
        if let Some(url) = repo.remote_urls(name, is_push)?.iter().find(|url| is_relative_path(url)) {
            return Err(Error::refused(format!("the address '{url}' of '{name}' {RELATIVE}")));
        }
    }
    Ok(())
}

/// Returns the remote `name`; without a name, the only one that is approved, or else the only one, or `origin`.
pub(super) fn to_fetch_from(context: &Context, name: Option<&str>) -> Result<Remote> {
    if let Some(name) = name {
        return find(context, name);
    }
    let remotes = list(context)?.remotes;
    let approved: Vec<&Remote> = remotes.iter().filter(|it| it.approval == Approval::Approved).collect();
    let found = match (&approved[..], &remotes[..]) {
        ([only], _) => Some(*only),
        (_, [only]) => Some(only),
        ([], all) => all.iter().find(|it| it.name == "origin"),
        _ => None,
    };
    match found {
        Some(remote) => find(context, &remote.name),
        None if remotes.is_empty() => Err(Error::user("there is no remote").with_hint(ADD)),
        None => {
            Err(Error::user("several remotes may have records").with_hint("name one of 'git checkpoint remote list'"))
        }
    }
}

/// Returns the remote `name`, which must be approved; without a name, the only one that is.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if the user has not approved its address.
pub(super) fn to_send_to(context: &Context, name: Option<&str>) -> Result<Remote> {
    let remote = if let Some(name) = name { find(context, name)? } else { find(context, &only_approved(context)?)? };
    if remote.approval == Approval::Approved { Ok(remote) } else { Err(refused(&remote)) }
}

/// Returns the name of the only remote that is approved.
fn only_approved(context: &Context) -> Result<String> {
    let remotes = list(context)?.remotes;
    let mut approved = remotes.iter().filter(|it| it.approval == Approval::Approved);
    match (approved.next(), approved.next()) {
        (Some(only), None) => Ok(only.name.clone()),
        (Some(_), Some(_)) => {
            Err(Error::user("several remotes are approved").with_hint("name one of 'git checkpoint remote list'"))
        }
        (None, _) => {
            let changed = remotes.iter().find(|it| it.approval == Approval::UrlChanged);
            Err(changed.map_or_else(|| Error::refused("no remote is approved").with_hint(APPROVE), refused))
        }
    }
}

/// Returns the branches that `remote` is known to have, as git has fetched them from there or pushed them, and their commits, as far as
/// these are here. What a server says that it has is no proof: it may say so of all commits whose ids it knows.
pub(super) fn branches_of(repo: &Repo, remote: &Remote) -> Result<Vec<(String, ObjectId)>> {
    let namespace = |name: &str| format!("refs/remotes/{name}/");
    let own = namespace(&remote.name);
    // The name of another remote may begin with this one and a slash.
    let others: Vec<String> = repo.remote_names()?.iter().map(|name| namespace(name)).collect();
    let is_of_other = |name: &str| others.iter().any(|other| other.len() > own.len() && name.starts_with(other));
    let mut branches = repo.refs_below(&own)?;
    branches.retain(|(name, id)| !is_of_other(name) && repo.is_commit(*id).unwrap_or(false));
    Ok(branches.into_iter().map(|(name, id)| (name[own.len()..].to_owned(), id)).collect())
}

const ADD: &str = "'git checkpoint remote add <name> <url>' adds one for records alone";
const APPROVE: &str = "'git checkpoint remote approve <remote>' lets records be sent there";

/// Returns the error that nothing may be sent to `remote`.
pub(super) fn refused(remote: &Remote) -> Error {
    if !remote.is_named {
        return Error::refused(format!("no remote with the URL '{}' is approved", remote.urls.join(", ")))
            .with_hint("'git checkpoint remote add <name> <url>' and 'git checkpoint remote approve <name>' do that");
    }
    let name = &remote.name;
    let why = match remote.approval {
        Approval::UrlChanged => {
            format!("the URL of '{name}' is not the one that was approved: {}", remote.urls.join(", "))
        }
        _ => format!("'{name}' is not approved, so nothing is sent to it"),
    };
    Error::refused(why)
        .with_hint(format!("'git checkpoint remote approve {}' lets records be sent to it", shell_word(name)))
}

/// Lets records be sent to `asked`, as the user has seen it.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if its URLs have changed since.
pub(crate) fn approve(context: &Context, asked: &Remote) -> Result<Remote> {
    failpoint::hit("remote:asked");
    let now = find(context, &asked.name)?;
    if now.digest != asked.digest {
        return Err(Error::refused(format!(
            "the URL of '{}' has changed meanwhile: {}",
            asked.name,
            now.urls.join(", ")
        ))
        .with_hint("it is not approved; run the command again"));
    }
    let common_dir = context.repo.common_dir();
    shared_with::change(common_dir, |approved| drop(approved.insert(asked.name.clone(), asked.digest.clone())))?;
    Ok(Remote { approval: Approval::Approved, ..asked.clone() })
}

/// Adds a remote for records alone to git's settings, and returns it. It is not approved.
pub(crate) fn add(context: &Context, name: &str, url: &str) -> Result<Remote> {
    let repo = &context.repo;
    if repo.is_bad_remote_name(name)? {
        return Err(Error::user(format!("'{name}' cannot be the name of a remote")));
    }
    if let Some(why) = refusal(url) {
        return Err(Error::refused(format!("'{}' cannot be used: {why}", without_userinfo(url))));
    }
    if repo.remote_names()?.iter().any(|known| known == name) {
        return Err(Error::user(format!("the remote '{name}' exists already"))
            .with_hint(format!("'git checkpoint remote approve {}' lets records be sent to it", shell_word(name))));
    }
    repo.add_remote(name, url)?;
    read(repo, name)
}
