//! `export --format=tar`: the files of one checkpoint.

use std::fs::File;

use super::{
    super::{
        outgoing::Scan,
        push_shared::{carrier, count},
    },
    chosen::{Choice, chosen},
    exported::{Exported, Format},
};
use crate::{
    error::{Error, Result},
    git::new_objects::{NewObjects, Target},
    ops::Context,
};

/// Writes the files of the checkpoint that `choice` names, or else of the latest, to `out`, as git-archive(1) does.
///
/// # Errors
/// If several are named; [`Kind::Refused`](crate::error::Kind::Refused) if a file looks as if it has a secret.
pub(crate) fn export_tree(context: &Context, choice: &Choice, no_scan: bool, out: &File) -> Result<Exported> {
    let repo = &context.repo;
    let latest = Choice::Named(vec!["@".into()]);
    let chosen = chosen(context, if *choice == Choice::Live { &latest } else { choice })?;
    let [checkpoint] = &chosen.checkpoints[..] else {
        let what = format!("an archive has the files of one checkpoint, and not of {}", chosen.checkpoints.len());
        return Err(Error::user(what).with_hint("name one; 'git checkpoint list' shows them"));
    };
    let mut objects = NewObjects::new(repo, Target::Loose);
    let alone = carrier(repo, checkpoint, None, &mut objects)?;
    let written = objects.write()?;
    let counted = count(repo, &[alone], &[], &Scan::of_export(!no_scan))?;
    repo.archive_into(checkpoint.id, out)?;
    written.check_and_release()?;
    Ok(Exported { files: counted.files, left_out: chosen.left_out, ..Exported::new(Format::Tar, [checkpoint]) })
}
