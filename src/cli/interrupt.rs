//! Signals that ask to end: raise a flag that long work looks at, so that it can leave in order.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use signal_hook::{
    SigId,
    consts::{SIGHUP, SIGINT, SIGTERM},
    flag, low_level,
};

use crate::error::{Context as _, Kind, Result};

/// The exit code of a command that a signal ended.
const INTERRUPTED: i32 = 130;

/// The signals that ask to end.
const SIGNALS: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// Whether a signal asked to end.
#[derive(Clone, Debug, Default)]
pub(super) struct Interrupt {
    raised: Arc<AtomicBool>,
    /// What lets the second signal end the process.
    second: Arc<Mutex<Vec<SigId>>>,
    /// True if the caller listens.
    is_inside: bool,
}

/// As long as it lives, each signal only raises the flag.
pub(super) struct Listening {
    ids: Vec<SigId>,
    ends: Arc<AtomicBool>,
    came: Arc<AtomicBool>,
    /// Set if the second signal would end the process without this value: it does so again afterwards.
    ended_by_second: Option<Interrupt>,
}

impl Listening {
    /// Returns a flag that SIGTERM and SIGHUP raise: unlike Ctrl-C, they may be sent to this process alone.
    pub(super) fn ends(&self) -> &AtomicBool {
        &self.ends
    }

    /// Returns a flag that each signal raises; it may be lowered.
    pub(super) fn came(&self) -> &AtomicBool {
        &self.came
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        // Git and the terminal may both send what has come meanwhile: the next signal is the first one.
        if let Some(interrupt) = &self.ended_by_second
            && interrupt.end_by_second().is_err()
        {
            // Then each signal still only raises the flag.
            return;
        }
        for id in self.ids.drain(..) {
            low_level::unregister(id);
        }
    }
}

impl Interrupt {
    /// Returns the same flag for a command inside this one, which has to undo something itself before a signal may end the process:
    /// the command changes nothing of what signals do.
    pub(super) fn inside(&self) -> Self {
        Self { raised: self.raised.clone(), is_inside: true, ..Self::default() }
    }

    /// From now on the first signal only raises the flag, the second ends the process at once.
    ///
    /// Our own locks are the kernel's and go with us; the second may leave a lock of a ref, which the next command removes.
    pub(super) fn listen(&self) -> Result<()> {
        if self.is_inside {
            return Ok(());
        }
        SIGNALS.into_iter().try_for_each(|signal| register(signal, &self.raised).map(drop))?;
        self.end_by_second()
    }

    /// From now on the second signal ends the process.
    fn end_by_second(&self) -> Result<()> {
        let has_come = Arc::new(AtomicBool::new(false));
        let mut second = self.second.lock().unwrap_or_else(PoisonError::into_inner);
        for signal in SIGNALS {
            // The order matters: the shutdown must not see the flag that its own signal raises.
            let id = flag::register_conditional_shutdown(signal, INTERRUPTED, has_come.clone());
            second.push(id.context(Kind::Internal, || cannot_listen(signal))?);
            second.push(register(signal, &has_come)?);
        }
        Ok(())
    }

    /// Until the result is dropped, each signal only raises the flag: while this process waits for the user, or for another program
    /// that decides itself what a signal means.
    ///
    /// Git passes Ctrl-C on to `git checkpoint`, to which the terminal sends it, too. The second signal would otherwise end the
    /// process at once.
    pub(super) fn listen_only(&self) -> Result<Listening> {
        let (ends, came) = <(Arc<_>, Arc<_>)>::default();
        let mut listening = Listening { ids: Vec::new(), ends, came, ended_by_second: None };
        for signal in SIGNALS {
            listening.ids.push(register(signal, &self.raised)?);
            listening.ids.push(register(signal, &listening.came)?);
            if signal != SIGINT {
                listening.ids.push(register(signal, &listening.ends)?);
            }
        }
        let second = std::mem::take(&mut *self.second.lock().unwrap_or_else(PoisonError::into_inner));
        listening.ended_by_second = (!second.is_empty()).then(|| self.clone());
        for id in second {
            low_level::unregister(id);
        }
        Ok(listening)
    }

    /// Lowers the flag: the signals were meant for another program.
    pub(super) fn lower(&self) {
        self.raised.store(false, Ordering::Relaxed);
    }

    /// Raises the flag again that was lowered.
    pub(super) fn raise(&self) {
        self.raised.store(true, Ordering::Relaxed);
    }

    /// Returns true once a signal came.
    pub(super) fn is_raised(&self) -> bool {
        self.raised.load(Ordering::Relaxed)
    }

    /// Returns the flag itself, for work that looks at it.
    pub(super) fn flag(&self) -> Arc<AtomicBool> {
        self.raised.clone()
    }
}

/// Lets `signal` raise `flag`.
fn register(signal: i32, flag: &Arc<AtomicBool>) -> Result<SigId> {
    flag::register(signal, flag.clone()).context(Kind::Internal, || cannot_listen(signal))
}

fn cannot_listen(signal: i32) -> String {
    format!("cannot listen for signal {signal}")
}
