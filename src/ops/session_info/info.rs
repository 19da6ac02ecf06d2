//! What the program that runs a session reports about it.

use std::path::Path;

use crate::{
    error::{Error, Kind, Result},
    model::usage::Tokens,
};

/// What to do when another session has uncommitted work on the same base.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnMultisession {
    /// Ask, if there is a terminal to ask on.
    #[default]
    Ask,
    /// Continue.
    Continue,
    /// Change nothing, and fail.
    Cancel,
}

/// What the caller of a command reports about a session.
#[derive(Clone, Debug, Default)]
pub struct SessionInfo {
    /// The agent's name.
    pub agent: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The file that the agent writes the conversation to.
    pub transcript: Option<String>,
    /// The file that a subagent has written its part of the conversation to.
    pub subagent_transcript: Option<String>,
    /// What the model has used in the turn that ends, beside what is in these files.
    pub tokens: Option<Tokens>,
    /// What to do when another session has uncommitted work here.
    pub on_multisession: OnMultisession,
}

/// Refuses a transcript that is no file.
pub(crate) fn check_transcript(info: &SessionInfo) -> Result<()> {
    match &info.transcript {
        Some(path) if !Path::new(path).is_absolute() => {
            Err(Error::new(Kind::User, format!("the transcript '{path}' is not an absolute path")))
        }
        _ => Ok(()),
    }
}
