//! Whether the current operation is to end, and what it was waiting for at that moment; and what its exchanges with other repositories
//! may take before they end by themselves.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

use super::patience::{Limits, SharedLimits};
use crate::error::{Error, Result};

/// A flag that long work looks at. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Interrupt {
    /// None: nothing can interrupt it.
    flag: Option<Arc<AtomicBool>>,
    /// What the operation was waiting for, and a hint.
    waited_for: Arc<Mutex<Option<(String, String)>>>,
    limits: SharedLimits,
}

impl Interrupt {
    /// Returns an interrupt that comes once `flag` is raised.
    pub(super) fn by(flag: Arc<AtomicBool>) -> Self {
        Self { flag: Some(flag), ..Self::default() }
    }

    /// The same, with the limits of this one.
    pub(super) fn now_by(&self, flag: Arc<AtomicBool>) -> Self {
        Self { limits: Arc::clone(&self.limits), ..Self::by(flag) }
    }

    /// Limits what exchanges with other repositories may take.
    pub(super) fn limit_exchanges(&self, limits: Limits) {
        if let Ok(mut known) = self.limits.lock() {
            *known = limits;
        }
    }

    /// Returns what exchanges with other repositories may take.
    pub(super) fn limits(&self) -> Limits {
        self.limits.lock().map(|limits| *limits).unwrap_or_default()
    }

    /// Returns the flag, for work of gix; none if nothing can interrupt it.
    pub(super) fn flag(&self) -> Option<&AtomicBool> {
        self.flag.as_deref()
    }

    /// Returns false if the work is never asked to end.
    pub(super) fn may_come(&self) -> bool {
        self.flag.is_some()
    }

    /// Lets the operation go on: the program that had the terminal when the signal came did not end.
    pub(super) fn lower(&self) {
        if let Some(flag) = &self.flag {
            flag.store(false, Ordering::Relaxed);
        }
    }

    /// Returns true once the work is to end.
    pub(super) fn is_raised(&self) -> bool {
        self.flag.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// Returns an error once the operation is to end; it names what the operation was waiting for, if that is known.
    pub(super) fn check(&self) -> Result<()> {
        if !self.is_raised() {
            return Ok(());
        }
        let waited_for = self.waited_for.lock().ok().and_then(|waited_for| waited_for.clone());
        Err(match waited_for {
            Some((what, hint)) => Error::user(format!("interrupted while {what}")).with_hint(hint),
            None => Error::user("interrupted"),
        })
    }

    /// Notes that the operation was waiting for `what` when the interrupt came, with a `hint`. The first note stays.
    pub(super) fn note(&self, what: String, hint: String) {
        if let Ok(mut waited_for) = self.waited_for.lock() {
            waited_for.get_or_insert((what, hint));
        }
    }
}
