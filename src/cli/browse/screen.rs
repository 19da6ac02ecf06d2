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
    Frame, Terminal, TerminalOptions, Viewport,
    backend::CrosstermBackend,
    crossterm::{
        cursor::{Hide, Show},
        execute,
        terminal::{
            self, Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
        },
    },
    layout::Rect,
};
use rustix::process::{Signal, kill_current_process_group};

use super::super::output::screen_writer;
use crate::error::{Context as _, Kind, Result};

/// What is called on a panic.
type Hook = Arc<dyn Fn(&PanicHookInfo<'_>) + Sync + Send>;

/// The terminal. Dropping it gives it back as it was.
pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<BufWriter<Stdout>>>,
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
        let terminal = terminal(size()?)?;
        let mut screen = Self { terminal, hook };
        screen.enter()?;
        Ok(screen)
    }

    /// Draws all that `draw` puts into a buffer of the size of the terminal.
    pub(super) fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> Result<()> {
        let size = size()?;
        if size != self.terminal.get_frame().area() {
            self.enter()?;
        }
        self.terminal.draw(draw).map(drop).context(Kind::User, unusable)
    }

    fn enter(&mut self) -> Result<()> {
        enable_raw_mode().context(Kind::User, unusable)?;
        // One that knows nothing of what was drawn before.
        self.terminal = terminal(size()?)?;
        let mut writer = screen_writer();
        execute!(writer, EnterAlternateScreen, Clear(ClearType::All), Hide).context(Kind::User, unusable)
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
    #[expect(clippy::unused_self, reason = "only what has the terminal may write to it")]
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

/// Returns a terminal of this size. If it were to find out the size itself, it would ask the terminal where the cursor is, and some do
/// not answer.
fn terminal(area: Rect) -> Result<Terminal<CrosstermBackend<BufWriter<Stdout>>>> {
    let options = TerminalOptions { viewport: Viewport::Fixed(area) };
    Terminal::with_options(CrosstermBackend::new(screen_writer()), options).context(Kind::User, unusable)
}

fn size() -> Result<Rect> {
    let (columns, rows) = terminal::size().context(Kind::User, unusable)?;
    Ok(Rect::new(0, 0, columns, rows))
}

fn give_back() -> io::Result<()> {
    let mut writer = screen_writer();
    let left = execute!(writer, LeaveAlternateScreen, Show);
    disable_raw_mode().and(left)
}

fn unusable() -> String {
    "cannot use the terminal".to_owned()
}
