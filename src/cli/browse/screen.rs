//! The whole terminal, until it is given back: also on a panic.

use std::{
    io::{self, BufWriter, Stdout, Write as _},
    panic::{self, PanicHookInfo},
    sync::Arc,
    thread,
    time::Duration,
};

use base64::Engine as _;
use ratatui::{
    Terminal,
    backend::CrosstermBackend,
    crossterm::{
        cursor::Show,
        execute,
        terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode},
    },
};
use rustix::process::{Signal, kill_current_process_group};

use super::super::output::screen_writer;
use crate::error::{Context as _, Kind, Result};

/// What is called on a panic.
type Hook = Arc<dyn Fn(&PanicHookInfo<'_>) + Sync + Send>;

/// The terminal. Dropping it gives it back as it was.
pub(super) struct Screen {
    pub(super) terminal: Terminal<CrosstermBackend<BufWriter<Stdout>>>,
    /// What was called on a panic before.
    hook: Hook,
}

impl Screen {
    /// Takes the terminal.
    pub(super) fn take() -> Result<Self> {
        let hook: Hook = panic::take_hook().into();
        let former = Arc::clone(&hook);
        panic::set_hook(Box::new(move |info| {
            // The message would be lost with the screen that it is printed on.
            let _ = give_back();
            former(info);
        }));
        let terminal = Terminal::new(CrosstermBackend::new(screen_writer())).context(Kind::User, unusable)?;
        let mut screen = Self { terminal, hook };
        screen.enter()?;
        Ok(screen)
    }

    fn enter(&mut self) -> Result<()> {
        enable_raw_mode().context(Kind::User, unusable)?;
        execute!(screen_writer(), EnterAlternateScreen).context(Kind::User, unusable)?;
        self.terminal.hide_cursor().context(Kind::User, unusable)?;
        self.terminal.clear().context(Kind::User, unusable)
    }

    /// Lets `work` have the terminal as it was before, and takes it again.
    pub(super) fn outside<T>(&mut self, work: impl FnOnce() -> T) -> Result<T> {
        give_back().context(Kind::User, unusable)?;
        let result = work();
        self.enter()?;
        Ok(result)
    }

    /// Stops this process and those that wait for it, as Ctrl-Z does elsewhere. Returns once the shell lets them go on.
    pub(super) fn suspend(&mut self) -> Result<()> {
        self.outside(|| {
            // The kernel ignores it where no shell could let us go on.
            let _ = kill_current_process_group(Signal::TSTP);
            // Another thread may be the one that gets the signal.
            thread::sleep(Duration::from_millis(50));
        })
    }

    /// Takes the terminal again, after a shell may have changed it, and draws all.
    pub(super) fn take_again(&mut self) -> Result<()> {
        let _ = disable_raw_mode();
        self.enter()
    }

    /// Asks the terminal to put `text` on the user's clipboard (xterm's OSC 52, which works through ssh, too).
    pub(super) fn copy(&mut self, text: &str) -> Result<()> {
        let encoded = base64::engine::general_purpose::STANDARD.encode(text);
        let mut writer = screen_writer();
        let written = write!(writer, "\x1b]52;c;{encoded}\x07").and_then(|()| writer.flush());
        written.context(Kind::User, unusable)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // A terminal that is gone cannot be given back.
        let _ = give_back();
        if !thread::panicking() {
            let hook = Arc::clone(&self.hook);
            panic::set_hook(Box::new(move |info| hook(info)));
        }
    }
}

fn give_back() -> io::Result<()> {
    let left = execute!(screen_writer(), LeaveAlternateScreen, Show);
    disable_raw_mode().and(left)
}

fn unusable() -> String {
    "cannot use the terminal".to_owned()
}
