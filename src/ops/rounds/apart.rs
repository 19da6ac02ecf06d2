//! `round archive`: keeps the experiments of a round that goes on.

use std::path::Path;

use bstr::BString;
use serde::Serialize;

use super::{
    super::Context,
    archive::{self, Kept},
    copies,
    end::{follow_move, found},
    listing::{bytes, named},
    lock::locked,
    names::check_label,
    scratch,
};
use crate::{
    error::{Error, Result},
    model::{path_text, round::Mode},
    state::rounds::Phase,
};

/// Where the experiments in one directory are. Serializes to an entry of `contexts`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ApartPlace {
    /// The directory that is worked on.
    #[serde(serialize_with = "path_text::serialize")]
    pub(crate) context: BString,
    /// The empty folder for experiments; none if the worktree is gone.
    #[serde(serialize_with = "path_text::serialize_optional")]
    pub(crate) scratch: Option<BString>,
    /// Where those are that were in it; none if there were none.
    #[serde(serialize_with = "path_text::serialize_optional")]
    pub(crate) archive: Option<BString>,
}

/// Serializes to what `round archive --json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Apart {
    /// The version of this shape.
    pub(crate) version: u32,
    /// The round.
    pub(crate) round: String,
    /// Its directories that have a folder for experiments.
    pub(crate) contexts: Vec<ApartPlace>,
}

/// Moves the experiments of the round that `name` stands for to the archive, as its end does, or to the folder `to`, and makes
/// empty folders for new ones.
///
/// # Errors
/// [`Kind::Refused`](crate::error::Kind::Refused) if the round has ended; as [`archive::archive`] and [`archive::chosen`].
pub(crate) fn archive_now(context: &Context, name: &str, label: Option<&str>, to: Option<&Path>) -> Result<Apart> {
    context.repo.name_operation("round archive");
    context.emit_failure("round archive", try_archive(context, name, label, to))
}

fn try_archive(context: &Context, name: &str, label: Option<&str>, to: Option<&Path>) -> Result<Apart> {
    label.map_or(Ok(()), |label| check_label("the label", label))?;
    let (common, id) = (context.repo.common_dir(), named(context, name)?.id);
    let (_lock, mut round) = locked(context, &id)?;
    if round.phase == Phase::Ended {
        return Err(Error::refused(format!("the round '{id}' has ended: its experiments are in the archive"))
            .with_hint(format!("'git checkpoint round show {id}' says where")));
    }
    let folder = to.map(|to| archive::chosen(context, &round, to)).transpose()?;
    let kept = Kept { label, folder: folder.as_deref() };
    let mut contexts = Vec::new();
    for at in 0..round.places.len() {
        if round.places[at].scratch.is_none() {
            continue;
        }
        let mut made = None;
        let before = round.places[at].archive.take();
        let is_there = match round.places[at].mode {
            Mode::Worktree => match found(context, &round.places[at])? {
                Some(found) => {
                    follow_move(&mut round.places[at], &found);
                    true
                }
                None => false,
            },
            Mode::Isolated => copies::open(context, &round.places[at])?.is_some(),
            Mode::Workspace | Mode::Legacy => true,
        };
        if is_there {
            archive::archive(context, &mut round, at, &kept)?;
            made = round.places[at].scratch.as_deref().map(scratch::make_folder).transpose()?;
        }
        let place = &mut round.places[at];
        contexts.push(ApartPlace {
            context: bytes(&place.context),
            scratch: made.as_deref().map(bytes),
            archive: place.archive.as_deref().map(bytes),
        });
        place.archive = place.archive.take().or(before);
        round.write(common)?;
    }
    Ok(Apart { version: 1, round: id, contexts })
}
