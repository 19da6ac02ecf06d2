//! `restore` without a checkpoint: the user picks one in the browser.

use std::ffi::OsString;

use super::{
    super::{browse, call::Call, environment},
    Restore,
};
use crate::error::Result;

/// Takes the place of the checkpoint on the command line: no checkpoint has this name.
pub(in crate::cli) const TO_PICK: &str = "";

impl Restore {
    /// Returns true if the user is to pick the checkpoint.
    pub(in crate::cli) fn is_to_be_picked(&self) -> bool {
        self.target.as_deref() == Some(TO_PICK) && browse::is_possible() && !environment::is_of_agent()
    }

    /// Returns the checkpoint that the user picks, after a look at what would be restored; none if none is picked.
    pub(super) fn pick(&self, call: &mut Call, runner: browse::Runner) -> Result<Option<browse::Picked>> {
        let mut options: Vec<OsString> = Vec::new();
        let given = [
            (self.before, "--before"),
            (self.all, "--all"),
            (self.staged, "--staged"),
            (self.patch, "--patch"),
            (self.force, "--force"),
        ];
        options.extend(given.into_iter().filter(|(is_given, _)| *is_given).map(|(_, option)| option.into()));
        options.extend(self.recurse.word());
        browse::pick(options, self.pathspecs.clone(), call, runner)
    }
}
