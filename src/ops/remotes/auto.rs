//! `push.auto`: after `git push`, records are exchanged in the background.
//!
//! The hook pre-push only starts a process, so that nothing of ours slows the push, or makes it fail. That process waits until git has
//! ended. While one exchange runs, one more with each remote may wait, which sends what came meanwhile.

use std::time::{Duration, Instant};

use super::{
    known::{Approval, find},
    news::has_news,
    push::PushOptions,
    sync::sync,
};
use crate::{
    error::{Error, Result},
    git::{ancestors::pushing, detached, transfer::is_inside_helper},
    model::{event::Event, refname},
    ops::Context,
    state::{
        self,
        exchanges::{self, Exchange, Failure},
        failpoint,
        lock::Lock,
        process::{Started, leave_terminal},
    },
};

/// How long the end of a push, and of another exchange, is waited for.
const LONGEST: Duration = Duration::from_secs(3600);
/// How often it is looked at whether git has ended.
const TICK: Duration = Duration::from_millis(50);
/// How long no exchange is tried in the background after one has failed, in seconds.
const PAUSE: i64 = 600;

/// Starts an exchange that waits for the end of the `git push` which runs our hook: to the remote `name` with the address `url`. `pid`
/// is its process, if the hook's shell says so.
///
/// # Errors
/// If the process cannot be started.
pub(crate) fn begin(context: &Context, name: Option<&str>, url: Option<&str>, pid: Option<u32>) -> Result<()> {
    let settings = &context.settings.push;
    let is_of_records = url.is_some_and(|url| url.starts_with("checkpoint::")) || is_inside_helper();
    let Some(remote) = settings.remote.as_deref().or(name).filter(|_| settings.auto && !is_of_records) else {
        return Ok(());
    };
    let pushing = pushing(pid);
    if pushing.is_dry_run {
        return Ok(());
    }
    let after = pushing.process.map_or_else(String::new, |process| process.to_string());
    detached::start(&["sync", "--quiet", "--after", &after, "--", remote])
}

/// Exchanges records with `remote` once the process that `after` names, as [`begin`] writes it, has ended: if the remote is approved
/// and something is new here. Notes a failure, which `status` shows.
///
/// # Errors
/// If nothing can be noted.
pub(crate) fn after_push(context: &Context, remote: &str, after: &str) -> Result<()> {
    leave_terminal();
    let (git, start) = (Started::parse(after), Instant::now());
    while git.is_some_and(|git| !git.has_ended()) {
        context.check_interrupt()?;
        if start.elapsed() > LONGEST {
            return Ok(());
        }
        std::thread::sleep(TICK);
    }
    // Git calls it by its address if it has no name.
    if find(context, remote).is_err() {
        return Ok(());
    }
    let repo = &context.repo;
    let directory = state::ensure_directory(repo.common_dir())?;
    // The process that waits already sends what is here once it runs.
    let waiting = format!("exchange-next-{}.lock", refname::encode_component(remote.into()));
    let Some(next) = Lock::try_acquire(&directory.join(waiting))? else { return Ok(()) };
    let _running = Lock::acquire(&directory.join("exchange.lock"), LONGEST, &|| context.check_interrupt())?;
    drop(next);
    let Ok(found) = find(context, remote) else { return Ok(()) };
    let known = exchanges::read(repo.common_dir(), remote)?;
    let transcripts = context.settings.push.transcripts;
    let has_failed_lately = known.failure.as_ref().is_some_and(|failure| {
        let age = now() - failure.time;
        (0..PAUSE).contains(&age)
    });
    let is_wanted = context.settings.push.auto && found.approval == Approval::Approved && !has_failed_lately;
    if !is_wanted || !has_news(repo, &found, &known, transcripts)? {
        return Ok(());
    }
    failpoint::hit("exchange:begun");
    let start = Instant::now();
    let options = PushOptions { remote: Some(remote.to_owned()), transcripts, ..PushOptions::default() };
    let result = sync(context, &options).and_then(|(synced, result)| result.map(|()| synced));
    let failure = result.as_ref().err().map(|error| Failure { time: now(), message: in_full(error) });
    let sent_records = result.as_ref().ok().and_then(|synced| synced.sent.as_ref());
    let sent_records = sent_records.map_or(0, |sent| sent.refs.iter().map(|it| it.sent_records).max().unwrap_or(0));
    context.emit(&Event::Exchange {
        remote: remote.to_owned(),
        sent_records,
        new_records: result.as_ref().map_or(0, |synced| synced.fetched.new_records),
        failure: failure.as_ref().map(|failure| failure.message.clone()),
        duration_ms: u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX),
    });
    if failure.is_some() {
        exchanges::write(repo.common_dir(), remote, &Exchange { failure, ..known })?;
    }
    Ok(())
}

/// Returns `error` with its causes.
fn in_full(error: &Error) -> String {
    std::iter::once(error.to_string()).chain(error.causes()).collect::<Vec<_>>().join(": ")
}

fn now() -> i64 {
    jiff::Timestamp::now().as_second()
}
