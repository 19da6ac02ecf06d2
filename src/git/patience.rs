//! How long a program of git that talks to another repository may make no progress, and how much may arrive through it.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use crate::error::Error;

/// What the error of a program says that was ended since the other side did nothing.
const STALLED: &str = "the other side has done nothing for";
/// What the error says of one that was ended since too much arrived.
const TOO_MUCH: &str = "the other side sends more than";

/// Less than so many bytes, read and written by all processes, is what keeps a connection open, and no progress.
const TRIFLE: u64 = 1 << 10;
/// How often what has arrived is measured.
const PAUSE: Duration = Duration::from_millis(200);

/// What an exchange with another repository may take. None: as much as it wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Limits {
    /// How long it may make no progress.
    pub(crate) time: Option<Duration>,
    /// How many bytes may arrive at once.
    pub(crate) bytes: Option<u64>,
}

/// The limits of a repository, which all parts of an operation share.
pub(super) type SharedLimits = Arc<Mutex<Limits>>;

/// The patience with one program.
#[derive(Debug)]
pub(super) struct Patience {
    limits: Limits,
    /// True if what goes through our pipes is not all that it does: then, what its processes read and write counts, too.
    is_silent: bool,
    /// Where it stores what arrives.
    place: Option<PathBuf>,
    /// When it was last measured what has arrived.
    measured: Mutex<Instant>,
    idle: Mutex<Idle>,
}

/// What has gone through the pipes of a program since the last progress.
#[derive(Debug, Default)]
struct Idle {
    /// How long we have waited for it.
    waited: Duration,
    /// How many bytes it was.
    bytes: u64,
}

impl Patience {
    /// Returns the patience with a program all of whose work goes through its pipes.
    pub(super) fn with_pipes(limits: Limits) -> Self {
        Self { limits, is_silent: false, place: None, measured: Mutex::new(Instant::now()), idle: Mutex::default() }
    }

    /// Returns the patience with one that says little, and stores what arrives in `place`, a directory of objects.
    pub(super) fn with_processes(limits: Limits, place: Option<PathBuf>) -> Self {
        Self { limits, is_silent: true, place, measured: Mutex::new(Instant::now()), idle: Mutex::default() }
    }

    /// Begins to wait for the process `pid`.
    pub(super) fn begin(&self, pid: u32) -> Waiting<'_> {
        let now = Instant::now();
        let since = now.checked_sub(self.idle().waited).unwrap_or(now);
        Waiting { patience: self, pid, since, looked: None }
    }

    /// Counts `bytes` that have gone through a pipe. What only keeps the connection open is no progress.
    pub(super) fn moved(&self, bytes: usize) {
        let mut idle = self.idle();
        idle.bytes = idle.bytes.saturating_add(bytes.try_into().unwrap_or(u64::MAX));
        if idle.bytes >= TRIFLE {
            *idle = Idle::default();
        }
    }

    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if a program that does nothing but end may not take `elapsed`.
    pub(super) fn is_exhausted_by(&self, elapsed: Duration) -> bool {
        self.limits.time.is_some_and(|limit| elapsed > limit)
    }

    /// Measures what has arrived, unless that was done just now; to be called again and again, also while the program says something.
    ///
    /// # Errors
    /// [`io::ErrorKind::FileTooLarge`] if it is too much.
    pub(super) fn check_size(&self) -> io::Result<()> {
        let Some((place, most)) = self.place.as_deref().zip(self.limits.bytes) else { return Ok(()) };
        let mut measured = self.measured.lock().unwrap_or_else(PoisonError::into_inner);
        if measured.elapsed() < PAUSE {
            return Ok(());
        }
        *measured = Instant::now();
        refuse_more(place, most)
    }
}

/// Refuses what has arrived in `place`, a directory of objects, if it has more than `most` bytes.
pub(super) fn refuse_more(place: &Path, most: u64) -> io::Result<()> {
    if size_of_packs(place) <= most {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::FileTooLarge, too_much(most)))
}

/// Returns what an error says if more than `most` bytes arrive.
pub(super) fn too_much(most: u64) -> String {
    match most {
        most if most % (1 << 20) == 0 => format!("{TOO_MUCH} {} MiB", most >> 20),
        most => format!("{TOO_MUCH} {most} bytes"),
    }
}

/// Returns true if `error`, of a pipe or of what reads one, is that the other side has done nothing for too long.
pub(super) fn is_stall(error: &io::Error) -> bool {
    let mut next: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = next {
        if error.to_string().contains(STALLED) {
            return true;
        }
        next = error.source();
    }
    false
}

/// Returns true if `error` is that the other side has done nothing for too long: to ask it for something else takes as long again.
pub(crate) fn is_stalled(error: &Error) -> bool {
    says(error, STALLED)
}

/// Returns true if `error` is that more arrives than may.
pub(crate) fn is_too_much(error: &Error) -> bool {
    says(error, TOO_MUCH)
}

/// Returns the hint to the limit that has ended an exchange with `error`; none if none has.
pub(super) fn limit_of(error: &Error) -> Option<&'static str> {
    match () {
        () if is_stalled(error) => {
            Some("nothing has changed; 'remote.timeout' says how long to wait, 0s means for ever")
        }
        () if is_too_much(error) => Some("nothing has changed; 'remote.max-fetch-size' says how much may arrive"),
        () => None,
    }
}

fn says(error: &Error, words: &str) -> bool {
    error.message().contains(words) || error.causes().iter().any(|it| it.contains(words))
}

/// A wait for a program.
pub(super) struct Waiting<'a> {
    patience: &'a Patience,
    pid: u32,
    /// Since when there was no progress.
    since: Instant,
    /// When the processes were last looked at, and what they had done by then.
    looked: Option<(Instant, u64)>,
}

impl Waiting<'_> {
    /// Looks whether the wait is to go on; to be called again and again.
    ///
    /// # Errors
    /// [`io::ErrorKind::TimedOut`] if there was no progress for too long; [`io::ErrorKind::FileTooLarge`] if too much has arrived.
    pub(super) fn check(&mut self) -> io::Result<()> {
        self.patience.check_size()?;
        let Some(limit) = self.patience.limits.time else { return Ok(()) };
        if self.patience.is_silent && self.looked.map_or(self.since, |(at, _)| at).elapsed() >= limit / 4 {
            // Where the system does not say what processes do, nothing is known of their progress.
            let done = done_by(self.pid);
            let is_progress = match (done, self.looked) {
                (Some(done), Some((_, before))) => done.abs_diff(before) >= TRIFLE,
                (Some(_), None) => false,
                (None, _) => true,
            };
            if is_progress {
                self.since = Instant::now();
            }
            if is_progress || self.looked.is_none() {
                self.looked = Some((Instant::now(), done.unwrap_or_default()));
            } else if let Some((at, _)) = &mut self.looked {
                *at = Instant::now();
            }
        }
        if self.since.elapsed() < limit {
            return Ok(());
        }
        Err(io::Error::new(io::ErrorKind::TimedOut, format!("{STALLED} {} s", limit.as_secs_f32())))
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        // What a program prints that says little is progress.
        if !self.patience.is_silent {
            self.patience.idle().waited = self.since.elapsed();
        }
    }
}

/// Returns a measure of what the process `pid` and those that it has started have done so far: the bytes that they have read and
/// written, and their time on the processor (proc(5)). None if the system does not say.
fn done_by(pid: u32) -> Option<u64> {
    let mut parents = Vec::new();
    for entry in fs::read_dir("/proc").ok()?.flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let Some(stat) = stat(id) else { continue };
        parents.push((id, stat.0, stat.1));
    }
    let (mut of_it, mut done) = (vec![pid], 0_u64);
    let mut at = 0;
    while let Some(id) = of_it.get(at).copied() {
        of_it.extend(parents.iter().filter(|(_, parent, _)| *parent == id).map(|(child, ..)| *child));
        at += 1;
    }
    parents.iter().find(|(id, ..)| *id == pid)?;
    for (id, _, ticks) in parents.iter().filter(|(id, ..)| of_it.contains(id)) {
        // A hundredth of a second is more than a sign of life.
        done = done.saturating_add(ticks.saturating_mul(TRIFLE));
        let text = fs::read_to_string(format!("/proc/{id}/io")).unwrap_or_default();
        let numbers = text.lines().filter_map(|line| line.strip_prefix("rchar: ").or(line.strip_prefix("wchar: ")));
        done = numbers.filter_map(|number| number.parse::<u64>().ok()).fold(done, u64::saturating_add);
    }
    Some(done)
}

/// Returns the parent of the process `pid`, and its time on the processor in ticks.
fn stat(pid: u32) -> Option<(u32, u64)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Its name may have any character.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some((u32::try_from(number(1)?).ok()?, number(11)?.saturating_add(number(12)?)))
}

/// Returns how many bytes the packs have that have arrived, or do so, in the directory `objects`.
fn size_of_packs(objects: &Path) -> u64 {
    let files = fs::read_dir(objects.join("pack")).into_iter().flatten().flatten();
    // Not the index, which git makes itself.
    let is_pack = |path: &Path| {
        let is_new = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"tmp_pack"));
        is_new || path.extension().is_some_and(|end| end == "pack")
    };
    let packs = files.filter(|file| is_pack(&file.path()));
    packs.filter_map(|file| Some(file.metadata().ok()?.len())).fold(0, u64::saturating_add)
}
