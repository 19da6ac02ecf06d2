//! `push`: joins our logs with those of a remote, and sends the result. Our own logs do not change, and nothing of another remote goes
//! along.
//!
//! A push that is not forced is the compare-and-swap: the server moves the ref only forward. If it has listed a log, git sends nothing
//! unless it still says that it has it: what that log leads to was never looked at as something to send. Whether we lost a race is seen
//! from what the remote lists afterwards, not from what git says.

use std::{
    collections::BTreeMap,
    hash::{BuildHasher as _, Hasher as _},
    time::Duration,
};

use gix::ObjectId;
use serde::Serialize;

use super::{
    fetch::{bring, list, record_ids},
    known::{Approval, Remote, refused, to_send_to},
    news::{note_sent, own_tips},
    outgoing,
    tracking::{Joining, logs_of, set_damaged_aside},
};
use crate::{
    error::{Error, Kind, Result},
    git::{Repo, exact_address::ExactAddress, refs::RefUpdate, transfer::Outcome},
    model::{id_text, log_place::Place, path_text::shell_word, refname},
    ops::{Context, whole::complete_rewritten},
    state::failpoint,
};

/// What to send, and where.
#[derive(Clone, Debug, Default)]
pub(crate) struct PushOptions {
    /// The name of an approved remote.
    pub(crate) remote: Option<String>,
    /// Transcripts, too.
    pub(crate) transcripts: bool,
    /// Do not look for secrets.
    pub(crate) no_scan: bool,
    /// Send nothing, and move no ref.
    pub(crate) dry_run: bool,
}

/// What was sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Sent {
    version: u32,
    pub(crate) remote: String,
    pub(crate) urls: Vec<String>,
    pub(crate) dry_run: bool,
    pub(crate) refs: Vec<SentRef>,
    /// What the server's hooks have printed.
    pub(crate) said: Vec<String>,
    /// Refs with what was fetched before that could not be read, and were set aside.
    pub(crate) damaged: Vec<String>,
    /// How many commits that git has rewritten lack a record for others, because not all that it takes is here.
    pub(crate) incomplete_commits: usize,
}

/// A log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct SentRef {
    /// Its name, here and there.
    #[serde(rename = "ref")]
    pub(crate) name: String,
    /// Where it was sent to.
    pub(crate) url: String,
    /// What it was in the remote before.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub(crate) old: Option<ObjectId>,
    /// What it is there now.
    #[serde(serialize_with = "id_text::serialize")]
    pub(crate) new: ObjectId,
    /// True if the remote had something that our own log has not, so that both were joined.
    pub(crate) joined: bool,
    /// How many records were sent.
    pub(crate) sent_records: usize,
    /// True if the remote does not show the ref to those who fetch.
    pub(crate) hidden: bool,
    /// Records, or pieces of transcripts, of which there are several versions from now on.
    pub(crate) apart: Vec<String>,
}

/// How often a push that has lost a race is tried again.
const ATTEMPTS: u32 = 12;
/// How often a push is tried again while the remote lists what it listed before: another one may be about to move the ref.
const REFUSALS: u32 = 2;

/// Sends our own logs to a remote, joined with what it has and what it had when records were last exchanged with it.
///
/// # Errors
/// [`Kind::Refused`] if the remote is not approved, or something must not be sent; [`Kind::Race`] if others win all races.
pub(crate) fn push(context: &Context, options: &PushOptions) -> Result<Sent> {
    let remote = to_send_to(context, options.remote.as_deref())?;
    let repo = &context.repo;
    let incomplete_commits = if options.dry_run { 0 } else { complete_rewritten(context)? };
    let tips = own_tips(repo, options.transcripts)?;
    let mut sent = Sent {
        version: 1,
        remote: remote.name.clone(),
        urls: remote.urls.clone(),
        dry_run: options.dry_run,
        refs: Vec::new(),
        said: Vec::new(),
        damaged: Vec::new(),
        incomplete_commits,
    };
    if !options.dry_run {
        sent.damaged = set_damaged_aside(repo, &remote.name)?;
    }
    let unscanned = format!("git checkpoint push --no-scan {}", shell_word(&remote.name));
    // To the URLs that were approved, whatever the settings have become since they were read.
    for url in &remote.push_urls {
        let address = ExactAddress::new(repo, &remote.name, url);
        let listed = list(repo, &remote, Some(&address), options.transcripts)?;
        let mut names: Vec<String> = listed.iter().map(|(name, _)| name.clone()).collect();
        let own = repo.refs_below(refname::PREFIX)?.into_iter().map(|(name, _)| name);
        let is_wanted =
            |name: &String| name == refname::HISTORY || options.transcripts && Place::of_ref(name).is_some();
        names.extend(own.filter(is_wanted));
        // The remote may have lost a log that only others have written.
        let tracked = logs_of(repo, &remote.name)?.into_iter().filter_map(|(name, _)| refname::fetched_log(&name));
        names.extend(tracked.map(|(_, name)| name).filter(is_wanted));
        // Transcripts first: a record never names what is not there.
        names.sort_by_key(|name| (name == refname::HISTORY, name.clone()));
        names.dedup();
        for name in names {
            let theirs = listed.iter().find(|(known, _)| *known == name).map(|(_, id)| *id);
            let place = Place::of_ref(&name).expect("only logs are listed");
            let (remote, address, said, damaged) = (&remote, &address, &mut sent.said, &mut sent.damaged);
            let tracking = Some(refname::tracking_ref(&remote.name, &name));
            let unscanned = &unscanned;
            let mut sending =
                Sending { context, remote, address, options, unscanned, name, tracking, place, said, damaged };
            sent.refs.extend(sending.run(theirs)?);
        }
    }
    if !options.dry_run {
        note_sent(repo, &remote, tips)?;
    }
    Ok(sent)
}

/// Returns the logs where a push to `remote` goes to, and the commits that all its addresses have; none if they differ.
///
/// # Errors
/// If one of them cannot be asked.
pub(crate) fn list_to_push(repo: &Repo, remote: &Remote) -> Result<BTreeMap<String, Option<ObjectId>>> {
    let mut lists = Vec::new();
    if remote.approval == Approval::Approved {
        for url in &remote.push_urls {
            lists.push(list(repo, remote, Some(&ExactAddress::new(repo, &remote.name, url)), true)?);
        }
    } else {
        // The push will be refused.
        lists.push(list(repo, remote, None, true)?);
    }
    let mut all = BTreeMap::new();
    for (name, id) in lists.iter().flatten() {
        let is_same = lists.iter().all(|list| list.iter().any(|(other, there)| other == name && there == id));
        all.insert(name.clone(), is_same.then_some(*id));
    }
    Ok(all)
}

/// Sends the log `name` to `remote`, joined with what it has. Returns what was sent to its first address, and what the servers said.
/// The command `unscanned` would send it without a look for secrets.
///
/// # Errors
/// As [`push`]; if neither side has such a log.
pub(crate) fn send(
    context: &Context,
    remote: &Remote,
    name: &str,
    options: &PushOptions,
    unscanned: &str,
) -> Result<(SentRef, Vec<String>)> {
    if remote.approval != Approval::Approved {
        return Err(refused(remote));
    }
    let place = Place::of_ref(name).ok_or_else(|| Error::user(format!("'{name}' is no log of records")))?;
    if place == Place::History && !options.dry_run {
        complete_rewritten(context)?;
    }
    let tracking = remote.is_named.then(|| refname::tracking_ref(&remote.name, name));
    let (mut sent, mut said, mut damaged) = (None, Vec::new(), Vec::new());
    for url in &remote.push_urls {
        let address = &ExactAddress::new(&context.repo, &remote.name, url);
        let (name, tracking, said, damaged) = (name.to_owned(), tracking.clone(), &mut said, &mut damaged);
        let mut sending =
            Sending { context, remote, address, options, unscanned, name, tracking, place, said, damaged };
        let theirs = sending.listed()?;
        let one = sending.run(theirs)?;
        sent = sent.or(one);
    }
    Ok((sent.ok_or_else(|| Error::user(format!("there is no '{name}' yet")))?, said))
}

/// Waits for a random time, at most `most` milliseconds, so that two that have met do not meet again.
fn pause(most: u64) {
    // The standard library seeds this from the operating system's randomness.
    let random = std::hash::RandomState::new().build_hasher().finish();
    std::thread::sleep(Duration::from_millis(random % most + 1));
}

/// One log on its way.
struct Sending<'a> {
    context: &'a Context,
    remote: &'a Remote,
    address: &'a ExactAddress,
    options: &'a PushOptions,
    /// The command that sends the log without a look for secrets.
    unscanned: &'a str,
    name: String,
    /// The ref that follows the log there; none if git has no name for the remote.
    tracking: Option<String>,
    place: Place,
    said: &'a mut Vec<String>,
    damaged: &'a mut Vec<String>,
}

/// What an attempt has led to.
enum Attempt {
    /// The remote has all that we have.
    Over(Box<SentRef>),
    /// It was refused.
    Refused(String),
    /// What the remote has listed is no longer there.
    Moved,
    /// There is no such log, here or there.
    Nothing,
}

impl Sending<'_> {
    fn repo(&self) -> &Repo {
        &self.context.repo
    }

    /// Sends the log, which is `theirs` in the remote. None if neither has one.
    fn run(&mut self, mut theirs: Option<ObjectId>) -> Result<Option<SentRef>> {
        let mut refusals = 0;
        for attempt in 0..ATTEMPTS {
            self.context.check_interrupt()?;
            let ours = self.repo().find_ref(&self.name)?;
            let said = match self.attempt(ours, theirs)? {
                Attempt::Over(sent) => return Ok(Some(*sent)),
                Attempt::Nothing => return Ok(None),
                Attempt::Refused(said) => said,
                Attempt::Moved => String::new(),
            };
            let mut now = self.listed()?;
            if now == theirs {
                // Another push may hold the lock of the ref, and be about to move it.
                pause(200);
                now = self.listed()?;
            }
            refusals = if now == theirs { refusals + 1 } else { 0 };
            if refusals >= REFUSALS {
                return Err(Error::user(format!("'{}' has refused '{}'", self.remote.name, self.name))
                    .with_hint("the server's rules decide that; nothing here has changed")
                    .with_cause(said));
            }
            theirs = now;
            pause(25_u64 << attempt.min(6));
        }
        Err(Error::race(format!("others kept changing '{}' of '{}'", self.name, self.remote.name))
            .with_hint("nothing is lost; run the command again"))
    }

    fn listed(&self) -> Result<Option<ObjectId>> {
        let listed = list(self.repo(), self.remote, Some(self.address), self.options.transcripts)?;
        Ok(listed.into_iter().find(|(name, _)| *name == self.name).map(|(_, id)| id))
    }

    fn attempt(&mut self, ours: Option<ObjectId>, theirs: Option<ObjectId>) -> Result<Attempt> {
        let context = self.context;
        let repo = &context.repo;
        let wanted: Vec<_> = theirs.iter().map(|theirs| (self.name.clone(), *theirs)).collect();
        let _kept = match bring(repo, self.remote, Some(self.address), &wanted) {
            // Servers of the older protocol give only what they list at that moment.
            Err(error) => return if self.listed()? == theirs { Err(error) } else { Ok(Attempt::Moved) },
            Ok(kept) => kept,
        };
        let tracked = self.tracking.as_ref().map(|name| repo.find_sound_ref(name)).transpose()?.flatten();
        // What was fetched may be of another team: the name of a remote may have stood for another address then.
        let mut join = Joining::new(repo, self.place, theirs);
        join.add(ours)?;
        let Some(tip) = join.tip else { return Ok(Attempt::Nothing) };
        join.differences.refuse_rewritten(&self.remote.name, &self.name)?;
        // What follows the remote here loses nothing.
        let mut kept = Joining::new(repo, self.place, Some(tip));
        if !kept.add_tracked(tracked)? {
            self.damaged.extend(self.tracking.clone());
        }
        kept.differences.refuse_rewritten(&self.remote.name, &self.name)?;
        let mut sent = SentRef {
            name: self.name.clone(),
            url: self.address.shown().to_owned(),
            old: theirs,
            new: tip,
            joined: Some(tip) != ours && Some(tip) != theirs,
            sent_records: 0,
            hidden: false,
            apart: std::mem::take(&mut join.differences.apart).into_iter().collect(),
        };
        if self.place == Place::History {
            let (all, others) = (record_ids(repo, [tip])?, record_ids(repo, theirs)?);
            sent.sent_records = all.difference(&others).count();
        }
        if Some(tip) != theirs {
            let unscanned = Some(self.unscanned).filter(|_| !self.options.no_scan);
            outgoing::check(repo, self.place, tip, theirs.as_slice(), unscanned)?;
        }
        if self.options.dry_run {
            return Ok(Attempt::Over(Box::new(sent)));
        }
        if Some(tip) != theirs {
            let report = self.address.push(repo, tip, &self.name, theirs)?;
            let refused = report.refs.iter().find_map(|it| match &it.outcome {
                Outcome::Refused(why) => Some(format!("{why}\n{}", report.errors).trim_end().to_owned()),
                _ => None,
            });
            if let Some(said) = refused {
                return Ok(Attempt::Refused(said));
            }
            if !report.refs.iter().any(|it| it.name == self.name) {
                return Err(Error::internal(format!("git does not say whether '{}' was pushed", self.name))
                    .with_hint("run the command again: it sends what is missing"));
            }
            // Of an attempt that has lost a race, the server says only that.
            for line in report.said {
                if !self.said.contains(&line) {
                    self.said.push(line);
                }
            }
            failpoint::hit("push:after-remote");
            sent.hidden = self.listed()?.is_none();
        }
        self.follow(tracked, kept.tip.unwrap_or(tip))?;
        join.release()?;
        kept.release()?;
        Ok(Attempt::Over(Box::new(sent)))
    }

    /// Notes that the log of the remote is `tip`, which has all of `old`, what it was before.
    fn follow(&self, old: Option<ObjectId>, tip: ObjectId) -> Result<()> {
        let Some(name) = self.tracking.clone().filter(|_| old != Some(tip)) else { return Ok(()) };
        match self.repo().update_refs(&[RefUpdate { name, old, new: Some(tip) }]) {
            // Another command has just noted something as new.
            Err(error) if error.kind() == Kind::Race => Ok(()),
            updated => updated,
        }
    }
}
