//! `git checkpoint verify`: marks a checkpoint as good, shows the mark, takes it away.

use super::{Exit, call::Call, output::printable, phrase};
use crate::{
    error::Result,
    ops::verify::{self, Verified},
};

/// Mark a checkpoint as known to be good
///
/// 'git checkpoint restore verified' goes back to it, and 'git checkpoint diff' compares with it.
#[derive(clap::Args, Debug)]
pub(super) struct Verify {
    /// The checkpoint: an id, @{<n>} or a tag (default: the latest)
    #[arg(value_name = "checkpoint")]
    target: Option<String>,
    /// Print the verified checkpoint
    #[arg(long, conflicts_with_all = ["target", "reset"])]
    show: bool,
    /// Take the mark away; the next save by a person becomes verified
    #[arg(long, conflicts_with = "target")]
    reset: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

impl Verify {
    pub(super) fn run(self, call: &mut Call) -> Result<Exit> {
        if self.show {
            let context = call.context()?;
            return match verify::show(&context)? {
                Some(verified) => self.print(&verified, if verified.start { "start " } else { "" }, call),
                None if self.json => {
                    call.out.json(&serde_json::json!({ "version": 1, "id": null }))?;
                    Ok(Exit::No)
                }
                None => {
                    call.out.aside("no checkpoint is verified, and there is no start");
                    call.out.hint("'git checkpoint verify' marks the latest checkpoint");
                    Ok(Exit::No)
                }
            };
        }
        let context = call.writing_context()?;
        if self.reset {
            let unverified = verify::reset(&context)?;
            if self.json {
                call.out.json(&unverified)?;
            } else {
                call.out.note("no checkpoint is verified; the next one that a person saves will be")?;
            }
            return Ok(Exit::Done);
        }
        let verified = verify::verify(&context, self.target.as_deref())?;
        self.print(&verified, "verified ", call)
    }

    fn print(&self, verified: &Verified, verb: &str, call: &mut Call) -> Result<Exit> {
        if self.json {
            call.out.json(verified)?;
            return Ok(Exit::Done);
        }
        let id = call.names.id(&verified.id);
        let called = call.out.fit(&printable(&verified.called), verb.len() + id.len() + 1);
        let line = format!("{verb}{} {called}", call.out.paint(phrase::ID, &id));
        // The requested output is printed even with --quiet.
        let printed = if verb.is_empty() { call.out.line(&line) } else { call.out.note(&line) };
        printed.map(|()| Exit::Done)
    }
}
