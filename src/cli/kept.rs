//! What a command prints that runs inside another one.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex, PoisonError},
};

/// What was printed. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept(Arc<Mutex<Vec<u8>>>);

impl Kept {
    /// Returns what was printed so far.
    pub(super) fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
