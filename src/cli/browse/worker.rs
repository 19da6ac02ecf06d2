//! Reads what takes long beside the thread that draws: what a row has changed, what a search finds, and whether refs have changed.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    time::{Duration, Instant},
};

use bstr::BString;
use gix::ObjectId;

use super::{
    super::{date, output::printable},
    state::Hits,
};
use crate::{
    config::Settings,
    error::{Context as _, Kind, Result},
    git::{Repo, threads},
    model::hit::{FIELDS, Field},
    ops::{
        Context,
        browse::{self, Details, Subject},
        find::{self, Hit, Options, Pattern},
    },
};

/// How often refs are looked at.
const PAUSE: Duration = Duration::from_secs(1);
/// The share of the time that this takes at most.
const SHARE: u32 = 50;

/// What is to be read.
#[derive(Debug)]
pub(super) enum Job {
    /// What the subject has changed, or only one file of it.
    Load(Subject, Option<BString>),
    /// Where the regular expression matches.
    Search(String),
}

/// What was read.
pub(super) enum Done {
    Loaded(Subject, Option<BString>, Result<Details>),
    Found(Result<Hits>),
    /// Refs have changed.
    Changed,
}

/// A thread that does one job after the other: a new one ends the one before.
pub(super) struct Worker {
    jobs: Sender<Job>,
    stop: Arc<AtomicBool>,
}

impl Worker {
    /// Starts one. If it `watches`, it also looks at refs.
    pub(super) fn start(settings: &Settings, pathspecs: &[BString], done: Sender<Done>, watches: bool) -> Result<Self> {
        let (jobs, new) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let (settings, pathspecs, flag) = (settings.clone(), pathspecs.to_vec(), Arc::clone(&stop));
        let work = move || work(settings, &pathspecs, &new, &done, &flag, watches);
        threads::detach(work).context(Kind::Internal, || "cannot start a thread".into())?;
        Ok(Self { jobs, stop })
    }

    /// Does `job` next, and nothing else any more.
    pub(super) fn give(&self, job: Job) {
        self.stop.store(true, Ordering::Relaxed);
        // Without the thread, nothing is ever done; the other end says so.
        let _ = self.jobs.send(job);
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn work(
    settings: Settings,
    pathspecs: &[BString],
    jobs: &Receiver<Job>,
    done: &Sender<Done>,
    stop: &Arc<AtomicBool>,
    watches: bool,
) {
    // The browser has opened it, too, and says why it cannot be.
    let Ok(repo) = Repo::open_from_environment(Path::new(".")) else { return };
    let mut context = Context::new(repo, settings);
    context.interrupt_by(Arc::clone(stop));
    let mut known = None;
    let mut pause = PAUSE;
    loop {
        let job = match jobs.recv_timeout(pause) {
            Ok(job) => job,
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) if !watches => continue,
            Err(RecvTimeoutError::Timeout) => {
                let begin = Instant::now();
                // What cannot be read says so where it is shown.
                let state = browse::state(&context).ok();
                let is_new = known.is_some() && state != known;
                known = state;
                pause = PAUSE.max(begin.elapsed() * SHARE);
                if is_new && done.send(Done::Changed).is_err() {
                    return;
                }
                continue;
            }
        };
        let job = jobs.try_iter().last().unwrap_or(job);
        stop.store(false, Ordering::Relaxed);
        let result = match job {
            Job::Load(subject, only) => {
                let read = browse::look_at(&context, &subject, pathspecs, only.as_ref());
                Done::Loaded(subject, only, read)
            }
            Job::Search(text) => Done::Found(search(&context, text, pathspecs)),
        };
        // The job that has ended this one is waiting.
        if stop.load(Ordering::Relaxed) {
            continue;
        }
        if done.send(result).is_err() {
            return;
        }
    }
}

/// Searches as the command `search` does.
fn search(context: &Context, text: String, paths: &[BString]) -> Result<Hits> {
    let fields = FIELDS.iter().map(|(_, field)| *field).filter(|field| *field != Field::Content).collect();
    let pattern = Pattern { text: text.clone(), ..Pattern::default() };
    let options = Options { pattern, fields, paths: paths.to_vec(), ..Options::default() };
    let (found, _) = find::find(context, &options, date::now())?;
    let mut hits = Hits { text, ..Hits::default() };
    for hit in found {
        add(&mut hits, &hit);
    }
    Ok(hits)
}

/// Adds the rows that `hit` is about: those of a turn stand for its checkpoints.
fn add(hits: &mut Hits, hit: &Hit) {
    hits.ids.extend(ObjectId::from_hex(hit.id.as_bytes()).ok());
    hits.ids.extend(hit.commit);
    if let (Some(session), Some(turn)) = (&hit.session, hit.turn) {
        hits.turns.entry(printable(session)).or_default().insert(turn);
    }
    for (session, turn) in &hit.turns {
        hits.turns.entry(printable(session)).or_default().insert(*turn);
    }
}
