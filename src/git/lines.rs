//! Reads what git prints line by line, or field by field: others may decide how much that is.

use std::{
    io::{BufRead as _, BufReader, Read as _, Seek as _, Write as _},
    ops::ControlFlow,
};

use bstr::ByteSlice as _;

use super::Repo;
use crate::error::{Context as _, Error, Kind, Result};

/// How much of git's error messages is read.
const MOST_SAID: u64 = 1 << 14;

impl Repo {
    /// Calls `each` for each line that git with `arguments` prints, without its end, and for at most `longest` + 1 bytes of it. Git
    /// ends when `each` breaks or fails.
    ///
    /// # Errors
    /// If git fails, and that of `each`.
    pub(crate) fn lines_of_git(
        &self,
        arguments: &[&str],
        input: &[u8],
        longest: usize,
        each: &mut dyn FnMut(&[u8]) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        self.parts_of_git(arguments, input, (b'\n', longest), each)
    }

    /// Does the same with fields that end with a zero byte.
    ///
    /// # Errors
    /// As [`Repo::lines_of_git`].
    pub(crate) fn fields_of_git(
        &self,
        arguments: &[&str],
        input: &[u8],
        longest: usize,
        each: &mut dyn FnMut(&[u8]) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        self.parts_of_git(arguments, input, (0, longest), each)
    }

    fn parts_of_git(
        &self,
        arguments: &[&str],
        input: &[u8],
        (end, longest): (u8, usize),
        each: &mut dyn FnMut(&[u8]) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let what = || format!("cannot run 'git {}'", arguments.join(" "));
        let mut given = tempfile::tempfile().context(Kind::Internal, what)?;
        let mut said = tempfile::tempfile().context(Kind::Internal, what)?;
        given.write_all(input).and_then(|()| given.rewind()).context(Kind::Internal, what)?;
        let stderr = said.try_clone().context(Kind::Internal, what)?;
        let started = self.start_to_end(self.git(arguments).stdin(given).stderr(stderr));
        let mut git = BufReader::new(started.context(Kind::Internal, what)?);
        let most = u64::try_from(longest).unwrap_or(u64::MAX).saturating_add(1);
        let mut line = Vec::new();
        loop {
            line.clear();
            if git.by_ref().take(most).read_until(end, &mut line).context(Kind::Internal, what)? == 0 {
                break;
            }
            if line.last() == Some(&end) {
                line.pop();
            } else {
                git.skip_until(end).context(Kind::Internal, what)?;
            }
            match each(&line) {
                Ok(ControlFlow::Continue(())) => {}
                ended => {
                    git.get_mut().end();
                    return ended.map(drop);
                }
            }
        }
        let output = git.into_inner().output(b"").context(Kind::Internal, what)?;
        if output.status.success() {
            return Ok(());
        }
        let mut text = Vec::new();
        said.rewind().and_then(|()| said.take(MOST_SAID).read_to_end(&mut text)).context(Kind::Internal, what)?;
        Err(Error::internal(format!("'git {}' failed", arguments.join(" "))).with_cause(text.trim().to_str_lossy()))
    }
}
