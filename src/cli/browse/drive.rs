//! Runs the browser: waits for keys, reads what the state asks for, draws, and runs commands.

use std::{
    ffi::OsString,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, TryRecvError, channel},
    },
    time::{Duration, Instant},
};

use bstr::{BString, ByteSlice as _};
use ratatui::crossterm::event::{self, Event};
use rustix::{
    event::{PollFd, PollFlags, Timespec},
    io::Errno,
};
use signal_hook::{consts::SIGCONT, flag};

#[cfg(feature = "failpoints")]
use super::super::environment;
use super::super::{Exit, call::Call, date, interrupt::Listening, list::List, output::printable};
use super::{
    input::Key,
    lines,
    loaded::Loaded,
    press::{Effect, Picked},
    ran::{Ran, Runner, Words},
    screen::Screen,
    state::{State, Text},
    typed,
    view::{self, Look},
    worker::{Done, Job, Worker},
};
use crate::{
    error::{Context as _, Error, Kind, Result},
    ops::{
        Context,
        browse::Subject,
        history::{ListOptions, Listing},
    },
};

/// How long the list is read before keys are looked at again.
const SLICE: Duration = Duration::from_millis(20);
/// How long to wait for a key, and for what is being read.
const PAUSE: Duration = Duration::from_millis(250);
const SHORT_PAUSE: Duration = Duration::from_millis(15);

/// The browser, before it begins.
pub(super) struct Browser {
    pub(super) paths: Vec<OsString>,
    /// The options of `restore`, if that lets the user pick a checkpoint.
    pub(super) picks: Option<Vec<OsString>>,
    pub(super) runner: Runner,
}

/// Why the list is not read further.
enum Next {
    /// It is to be read again, with other arguments or because refs have changed.
    Again(Option<String>),
    /// The browser ends, with what was picked.
    End(Option<Picked>),
}

/// What is at work.
struct Running<'c> {
    call: &'c Call,
    state: State,
    screen: Screen,
    loader: Worker,
    searcher: Worker,
    done: Receiver<Done>,
    /// What `loader` reads.
    asked: Option<(Subject, Option<BString>)>,
    listening: Listening,
    /// Raised when a shell lets us go on.
    continued: Arc<AtomicBool>,
    runner: Runner,
    /// True if something else has to be drawn.
    is_stale: bool,
    /// True if refs have changed since the list was begun.
    is_changed: bool,
}

impl Browser {
    /// Lets the user browse; returns what was picked.
    pub(super) fn run(self, call: &mut Call) -> Result<Option<Picked>> {
        let context = call.context()?;
        let pathspecs = Call::pathspecs(&context.repo, &self.paths)?;
        let (results, done) = channel();
        let loader = Worker::start(&context.settings, &pathspecs, results.clone(), true)?;
        let searcher = Worker::start(&context.settings, &pathspecs, results, false)?;
        let continued = Arc::new(AtomicBool::new(false));
        let id = flag::register(SIGCONT, Arc::clone(&continued));
        let id = id.context(Kind::Internal, || "cannot listen for a signal".into())?;
        let prefix = context.repo.prefix(Path::new("."));
        let listening = call.interrupt.listen_only()?;
        let mut running = Running {
            state: State::new(self.paths.clone(), self.picks, prefix),
            screen: Screen::take()?,
            call,
            loader,
            searcher,
            done,
            asked: None,
            listening,
            continued,
            runner: self.runner,
            is_stale: true,
            is_changed: false,
        };
        let ended = running.lists(&context, &self.paths);
        drop(running);
        signal_hook::low_level::unregister(id);
        ended
    }
}

/// Returns the options of the list with the arguments `filter`, for what `paths` select.
fn options(context: &Context, filter: &str, paths: &[OsString]) -> Result<ListOptions> {
    let mut words = typed::words(filter).ok_or_else(|| Error::user("a quote is not closed"))?;
    if !words.iter().any(|word| word == "--") {
        words.push("--".into());
    }
    words.extend_from_slice(paths);
    let mut options = List::parse(&words)?.options(context)?;
    options.with_commits = !options.all_worktrees;
    options.with_paths = false;
    Ok(options)
}

impl Running<'_> {
    /// Shows one list after the other, until the user ends it.
    fn lists(&mut self, context: &Context, paths: &[OsString]) -> Result<Option<Picked>> {
        let mut chosen = options(context, "", paths)?;
        loop {
            let mut listing = Listing::new(context, &chosen)?;
            match self.list(&mut listing)? {
                Next::End(picked) => return Ok(picked),
                Next::Again(None) => {}
                Next::Again(Some(filter)) => match options(context, &filter, paths) {
                    Ok(options) => {
                        chosen = options;
                        self.state.filter = filter;
                    }
                    Err(error) => self.fail(&error),
                },
            }
            self.state.restart();
        }
    }

    /// Shows a list, until it has to be read again.
    fn list(&mut self, listing: &mut Listing<'_>) -> Result<Next> {
        loop {
            self.read(listing)?;
            self.take_done()?;
            self.load();
            if self.continued.swap(false, Ordering::Relaxed) {
                self.screen.take_again()?;
                self.is_stale = true;
            }
            if std::mem::take(&mut self.is_stale) {
                self.draw()?;
            }
            self.check()?;
            #[cfg(feature = "failpoints")]
            assert!(
                environment::variable("CHECKPOINT_FAILPOINT").is_none_or(|name| name != "browse"),
                "a test wants this"
            );
            let is_reading = self.state.rows.len() < self.state.needed() && !self.state.is_complete;
            let mut pause = match (is_reading, &self.asked) {
                (true, _) => Duration::ZERO,
                (_, Some(_)) => SHORT_PAUSE,
                _ => PAUSE,
            };
            // All keys that were pressed meanwhile, before anything is drawn.
            while poll(pause)? {
                pause = Duration::ZERO;
                self.is_stale = true;
                if let Event::Key(event) = event::read().context(Kind::User, unreadable)?
                    && let Some(key) = Key::of(event)
                    && let Some(effect) = self.state.press(key)
                    && let Some(next) = self.carry_out(effect)?
                {
                    return Ok(next);
                }
            }
            // What was just found or picked would be lost on the way.
            if self.is_changed && self.state.goal.is_none() {
                self.is_changed = false;
                return Ok(Next::Again(None));
            }
        }
    }

    /// Reads as much of the list as is needed, for a moment.
    fn read(&mut self, listing: &mut Listing<'_>) -> Result<()> {
        let begin = Instant::now();
        let mut rows = Vec::new();
        while self.state.rows.len() + rows.len() < self.state.needed() && !self.state.is_complete {
            if let Some(entry) = listing.next()? {
                rows.extend(self.state.authors.rows(entry));
            } else {
                self.is_stale = true;
                self.state.add(std::mem::take(&mut rows));
                self.state.end();
                if let Some(error) = listing.broken().next() {
                    let text = format!("not all can be shown: {}", printable(error.message()));
                    self.state.message = Some((text, true));
                }
            }
            if begin.elapsed() > SLICE {
                break;
            }
        }
        if !rows.is_empty() || self.state.goal.is_some() {
            self.is_stale = true;
            self.state.add(rows);
        }
        Ok(())
    }

    /// Takes what the workers have read.
    fn take_done(&mut self) -> Result<()> {
        loop {
            match self.done.try_recv() {
                Ok(done) => self.take(done),
                Err(TryRecvError::Empty) => return Ok(()),
                Err(TryRecvError::Disconnected) => return Err(Error::internal("a thread has ended")),
            }
            self.is_stale = true;
        }
    }

    fn take(&mut self, done: Done) {
        match done {
            Done::Changed => self.is_changed = true,
            Done::Found(Ok(hits)) => self.state.find(hits),
            Done::Found(Err(error)) => self.fail(&error),
            Done::Loaded(subject, only, read) => {
                self.asked = None;
                match (read, only) {
                    (Ok(details), None) => {
                        let short = |id: &_| self.call.names.id(id);
                        self.state.load(Loaded::new(subject, details, &short, date::now()));
                    }
                    (Ok(details), Some(path)) => {
                        if let Some(loaded) = self.state.loaded.as_mut().filter(|it| it.subject == subject) {
                            loaded.take(&path, details);
                        }
                    }
                    (Err(error), only) => {
                        self.fail(&error);
                        // It is not asked for again and again.
                        self.state.give_up(subject, only.as_ref(), &printable(error.message()));
                    }
                }
            }
        }
    }

    /// Lets the loader read what the state wants.
    fn load(&mut self) {
        let wanted = self.state.wanted();
        if wanted.is_some() && wanted != self.asked {
            self.asked.clone_from(&wanted);
            self.loader.give(wanted.map(|(subject, only)| Job::Load(subject, only)).expect("it is some"));
        }
    }

    fn draw(&mut self) -> Result<()> {
        let names = &self.call.names;
        let short = |id: &_| names.id(id);
        let look = Look { now: date::now(), short: &short, is_coloured: self.call.out.is_coloured() };
        let state = &mut self.state;
        self.screen.draw(|frame| {
            let area = frame.area();
            view::fit(state, area);
            view::draw(state, &look, area, frame.buffer_mut());
        })
    }

    /// Ends with an error once a signal came.
    fn check(&self) -> Result<()> {
        if self.call.interrupt.is_raised() { Err(Error::user("interrupted")) } else { Ok(()) }
    }

    fn fail(&mut self, error: &Error) {
        let mut text = printable(error.message());
        if let Some(hint) = error.hint() {
            text.push_str(&format!("; {}", printable(hint)));
        }
        self.state.message = Some((text, true));
    }

    /// Does what a key asks for besides another state.
    fn carry_out(&mut self, effect: Effect) -> Result<Option<Next>> {
        match effect {
            Effect::Quit => return Ok(Some(Next::End(None))),
            Effect::Pick(picked) => return Ok(Some(Next::End(Some(picked)))),
            Effect::Filter(filter) => return Ok(Some(Next::Again(Some(filter)))),
            Effect::Suspend => self.screen.suspend()?,
            Effect::Redraw => self.screen.take_again()?,
            Effect::Copy(text) => {
                self.screen.copy(&text)?;
                self.state.message = Some((format!("asked the terminal to copy {text}"), false));
            }
            Effect::Search(text) => {
                self.state.message = Some(("searching...".to_owned(), false));
                self.searcher.give(Job::Search(text));
            }
            Effect::Plan(plan, words) => self.run(plan, Some(words)),
            Effect::Agreed(text) => self.run_agreed(text),
            Effect::Run(words) => self.run(words, None),
            Effect::Outside(words) => {
                let (runner, call) = (self.runner, self.call);
                let ran = self.screen.outside(|| runner(&words, call))?;
                // Ctrl-C was meant for the editor.
                if !self.listening.ends().load(Ordering::Relaxed) {
                    self.call.interrupt.lower();
                }
                self.show(words, None, &ran);
            }
        }
        Ok(None)
    }

    /// Runs the command of the plan `agreed`, unless its plan is another one by now: then that is shown.
    fn run_agreed(&mut self, agreed: Text) {
        let Some(then) = agreed.then else { return };
        let now = (self.runner)(&agreed.words, self.call);
        if lines::printed(&now.printed.to_str_lossy()) == agreed.lines {
            return self.run(then, None);
        }
        self.show(agreed.words, Some(then), &now);
        self.state.message = Some(("this has changed meanwhile: look at it once more".to_owned(), true));
    }

    fn run(&mut self, words: Words, then: Option<Words>) {
        let ran = (self.runner)(&words, self.call);
        self.show(words, then, &ran);
    }

    /// Shows what `words` has printed, and all that it may have changed.
    fn show(&mut self, words: Words, then: Option<Words>, ran: &Ran) {
        let is_failure = ran.exit != Exit::Done;
        let is_plan = then.is_some();
        self.state.ran(words, then, &ran.printed.to_str_lossy(), is_failure);
        if !is_plan {
            self.is_changed = true;
            self.state.unload();
            self.asked = None;
        }
    }
}

/// Waits for an event, at most for `pause`; a signal ends the wait.
///
/// # Errors
/// If the terminal is gone: the library would wait for its keys forever.
fn poll(pause: Duration) -> Result<bool> {
    let ready = |pause: Duration| {
        let stdin = std::io::stdin();
        let mut ends = [PollFd::new(&stdin, PollFlags::IN)];
        let pause = Timespec { tv_sec: 0, tv_nsec: pause.subsec_nanos().into() };
        match rustix::event::poll(&mut ends, Some(&pause)) {
            Err(Errno::INTR) => {}
            polled => polled.context(Kind::User, unreadable).map(drop)?,
        }
        if ends[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
            return Err(Error::user("the terminal is gone"));
        }
        Ok(())
    };
    // It may have read more keys than one.
    let is_there = || match event::poll(Duration::ZERO) {
        Err(cause) if cause.kind() == std::io::ErrorKind::Interrupted => Ok(false),
        polled => polled.context(Kind::User, unreadable),
    };
    ready(Duration::ZERO)?;
    if is_there()? {
        return Ok(true);
    }
    ready(pause)?;
    is_there()
}

fn unreadable() -> String {
    "cannot read from the terminal".to_owned()
}
