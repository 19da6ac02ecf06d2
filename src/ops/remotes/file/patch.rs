//! `export --format=patch`: checkpoints as patches for git-am(1), each with what differs from the one before it.

use std::{
    fs::File,
    io::{Read as _, Seek as _, Write as _},
};

use bstr::ByteSlice as _;
use gix::ObjectId;

use super::{
    super::{
        outgoing::Scan,
        push_shared::{author, count},
    },
    chosen::{Choice, chosen},
    exported::{Exported, Format, Prerequisite},
};
use crate::{
    error::{Context as _, Error, Kind, Result},
    git::{
        Repo,
        commit::{Moment, NewCommit},
        new_objects::{NewObjects, Target},
    },
    model::{checkpoint::Checkpoint, mail, refname::Base},
    ops::Context,
};

/// Writes the checkpoints of `choice` to `out`; of those of this worktree, the ones that stand on HEAD.
///
/// # Errors
/// If they stand on several commits, or change nothing; [`Kind::Refused`] if something looks as if it has a secret.
pub(crate) fn export_series(context: &Context, choice: &Choice, no_scan: bool, out: &mut File) -> Result<Exported> {
    let repo = &context.repo;
    let mut chosen = chosen(context, choice)?;
    if *choice == Choice::Live {
        let head = Base::of_head(repo.head()?.id);
        chosen.checkpoints.retain(|it| it.base == head);
    }
    let Some(first) = chosen.checkpoints.first() else {
        return Err(Error::user("there is no checkpoint to make a patch of")
            .with_hint("'git checkpoint list' shows the checkpoints of this worktree; name one"));
    };
    let base = first.base;
    if let Some(other) = chosen.checkpoints.iter().find(|it| it.base != base) {
        let [one, two] = [base, other.base].map(|base| short(repo, base));
        return Err(Error::user(format!(
            "the checkpoints stand on several commits ({one}, {two}), and patches on one"
        ))
        .with_hint("name checkpoints of one commit; a bundle can have all of them"));
    }
    let mut objects = NewObjects::new(repo, Target::Loose);
    let (series, tip) = series(repo, base.commit_id(), &chosen.checkpoints, &mut objects)?;
    let Some(tip) = tip else {
        return Err(Error::user("the checkpoints do not differ from the commit that they stand on"));
    };
    let written = objects.write_together()?;
    let scan = Scan::of_export(!no_scan);
    let counted = count(repo, &[tip], base.commit_id().as_slice(), &scan)?;
    let what = || "cannot write patches".to_owned();
    let mut patches = tempfile::tempfile().context(Kind::Internal, what)?;
    repo.series_into(base.commit_id(), tip, &patches)?;
    refuse_removed(&mut patches, &scan)?;
    patches.rewind().and_then(|()| std::io::copy(&mut patches, out)).context(Kind::User, what)?;
    out.flush().context(Kind::User, what)?;
    written.check_and_release()?;
    Ok(Exported {
        prerequisites: base.commit_id().map(|id| Prerequisite::of(repo, id)).into_iter().collect(),
        files: counted.files,
        left_out: chosen.left_out,
        ..Exported::new(Format::Patch, series)
    })
}

/// Adds a commit for each of `checkpoints` that differs from the one before, or from `base`. Returns these, and the last commit.
fn series<'c>(
    repo: &Repo,
    base: Option<ObjectId>,
    checkpoints: &'c [Checkpoint],
    objects: &mut NewObjects<'_>,
) -> Result<(Vec<&'c Checkpoint>, Option<ObjectId>)> {
    let mut tree_id = base.map_or(Ok(repo.empty_tree_id()), |id| repo.tree_of_commit(id))?;
    let (mut series, mut tip) = (Vec::new(), None);
    for checkpoint in checkpoints {
        if checkpoint.tree_id == tree_id {
            continue;
        }
        tree_id = checkpoint.tree_id;
        let author = author(repo, checkpoint.id)?;
        let commit = NewCommit {
            tree_id,
            parents: tip.or(base).into_iter().collect(),
            committer: author.clone(),
            author,
            time: Moment { micros: 0, ..Moment::of(checkpoint) },
            message: &mail::message(&checkpoint.subject, &checkpoint.body),
        };
        tip = Some(Repo::write_commit(&commit, objects)?);
        series.push(checkpoint);
    }
    Ok((series, tip))
}

/// Refuses `patches` if the lines that they remove look as if they had a secret: those of the base were not searched.
fn refuse_removed(patches: &mut File, scan: &Scan) -> Result<()> {
    let mut text = Vec::new();
    let read = patches.rewind().and_then(|()| patches.read_to_end(&mut text));
    read.context(Kind::Internal, || "cannot read the patches".into())?;
    let removed = text.lines().filter_map(|line| line.strip_prefix(b"-")).collect::<Vec<_>>().join(&b"\n"[..]);
    scan.refuse(|| "what the patches remove".to_owned(), &removed, false)
}

fn short(repo: &Repo, base: Base) -> String {
    base.commit_id().map_or_else(|| base.to_string(), |id| repo.short_id(&id))
}
