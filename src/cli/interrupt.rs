//! Signals that ask to end: raise a flag that long work looks at, so that it can leave in order.

use std::sync::{
    Arc,
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

/// Whether a signal asked to end.
#[derive(Clone, Debug, Default)]
pub(super) struct Interrupt(Arc<AtomicBool>);

/// As long as it lives, each signal only raises the flag.
pub(super) struct Listening {
    ids: Vec<SigId>,
    ends: Arc<AtomicBool>,
}

impl Listening {
    /// Returns a flag that SIGTERM and SIGHUP raise: unlike Ctrl-C, they may be sent to this process alone.
    pub(super) fn ends(&self) -> &AtomicBool {
        &self.ends
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        for id in self.ids.drain(..) {
            low_level::unregister(id);
        }
    }
}

impl Interrupt {
    /// From now on the first signal only raises the flag, the second ends the process at once.
    ///
    /// Our own locks are the kernel's and go with us; the second may leave a lock of a ref, which the next command removes.
    pub(super) fn listen(&self) -> Result<()> {
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // The order matters: the shutdown must not see the flag that its own signal raises.
            flag::register_conditional_shutdown(signal, INTERRUPTED, self.0.clone())
                .and_then(|_| flag::register(signal, self.0.clone()))
                .context(Kind::Internal, || format!("cannot listen for signal {signal}"))?;
        }
        Ok(())
    }

    /// Until the result is dropped, each signal only raises the flag: for commands that wait for the user.
    ///
    /// Git passes Ctrl-C on to `git checkpoint`, to which the terminal sends it, too. The second signal would otherwise end the
    /// process at once.
    pub(super) fn listen_only(&self) -> Result<Listening> {
        let mut listening = Listening { ids: Vec::new(), ends: Arc::default() };
        let own = [SIGINT, SIGTERM, SIGHUP].map(|signal| (signal, &self.0));
        for (signal, raised) in own.into_iter().chain([(SIGTERM, &listening.ends), (SIGHUP, &listening.ends)]) {
            let id = flag::register(signal, raised.clone());
            listening.ids.push(id.context(Kind::Internal, || format!("cannot listen for signal {signal}"))?);
        }
        Ok(listening)
    }

    /// Lowers the flag: the signals were meant for another program.
    pub(super) fn lower(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// Returns true once a signal came.
    pub(super) fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Returns the flag itself, for work that looks at it.
    pub(super) fn flag(&self) -> Arc<AtomicBool> {
        self.0.clone()
    }
}
