//! What is not committed yet: the live shadow, replayed up to the worktree as it is now.

use bstr::{BString, ByteSlice as _};

use super::{
    super::{
        Context, shadows,
        status::worktree_tree,
        work::{Work, steps},
    },
    OfCommit, OfFile, Options, PatchFile, Reader, Sum,
    file::Text,
};
use crate::{
    error::Result,
    git::Repo,
    model::{attribution::Author, refname::Base},
};

/// Whose what is not committed yet is.
pub(crate) struct Uncommitted {
    pub(crate) work: OfCommit,
    pub(crate) authors: Vec<Author>,
    pub(crate) texts: Vec<Option<Text>>,
}

/// Returns whose the lines are that the worktree adds to HEAD in the files that `wanted` asks for.
pub(crate) fn uncommitted(
    context: &Context,
    wanted: &mut dyn FnMut(&BString) -> bool,
    with_text: bool,
) -> Result<Uncommitted> {
    let worktree = worktree_tree(context)?;
    let repo: &Repo = &worktree.repo;
    let head = context.repo.head()?.id;
    let head_tree_id = head.map_or_else(|| Ok(repo.empty_tree_id()), |id| repo.tree_of_commit(id))?;
    let mut changes = repo.diff_trees(head_tree_id, worktree.tree_id)?;
    changes.retain(|change| wanted(&change.path));
    let changes = repo.detect_renames(changes)?;
    let checkpoint = shadows::latest_on(repo, Base::of_head(head))?;
    let mut names: Vec<&BString> =
        changes.iter().flat_map(|it| [Some(&it.path), it.old_path.as_ref()]).flatten().collect();
    names.sort();
    let all = match &checkpoint {
        Some(tip) => steps(repo, tip, &|path| names.binary_search(&path).is_ok())?,
        None => Vec::new(),
    };
    let mut reader = Reader::of_worktree(repo)?;
    let work = Work::of(repo, &all, &changes, &mut reader.counting)?;
    let mut files = Vec::with_capacity(changes.len());
    let mut texts = Vec::new();
    for (change, ownership) in changes.into_iter().zip(work.ownership.files) {
        if with_text {
            texts.push(reader.text(&change)?);
        }
        files.push(OfFile { ownership: reader.authors.adopt_file(ownership, &work.authors), change });
    }
    let work = OfCommit {
        id: gix::ObjectId::null(repo.object_hash()),
        parent: head,
        seconds: 0,
        committer: String::new(),
        records: Vec::new(),
        inferred: Vec::new(),
        files,
    };
    Ok(Uncommitted { work, authors: reader.authors.list, texts })
}

pub(super) fn add(context: &Context, options: &Options, sum: &mut Sum) -> Result<()> {
    let mut pathspec = context.repo.pathspec(&options.pathspecs)?;
    let found = uncommitted(context, &mut |path| pathspec.matches(path.as_bstr()), options.patch)?;
    sum.is_worktree = true;
    sum.parent = found.work.parent;
    sum.add(&found.work, &found.authors, true);
    let files = found.work.files.iter().zip(&found.texts);
    sum.patch(files.map(|(file, text)| PatchFile::of(file, text.as_ref())).collect(), &found.authors);
    Ok(())
}
