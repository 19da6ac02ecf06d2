//! `round archive`.

use std::path::PathBuf;

use super::super::{Exit, call::Call, phrase};
use crate::{error::Result, ops::rounds};

#[derive(clap::Args, Debug)]
pub(super) struct Archive {
    /// The round
    #[arg(value_name = "round")]
    name: String,
    /// What the experiments are kept as (default: the name of its agent, or the digits of its branch)
    #[arg(long, value_name = "name")]
    label: Option<String>,
    /// The directory that they are moved to, which is made if need be (default: the archive)
    #[arg(long, value_name = "dir")]
    to: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

impl Archive {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        let context = call.writing_context()?;
        let kept = rounds::archive_now(&context, &self.name, self.label.as_deref(), self.to.as_deref())?;
        if self.json {
            call.out.json(&kept)?;
            return Ok(Exit::Done);
        }
        let mut archives = kept.contexts.iter().filter_map(|place| place.archive.as_ref()).peekable();
        if archives.peek().is_none() {
            call.out.note("there are no experiments")?;
        }
        archives.try_for_each(|path| call.out.note(&format!("the experiments are in {}", phrase::quoted(path))))?;
        Ok(Exit::Done)
    }
}
