//! Attribution of what the options select: one commit, a range, or the worktree.

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::{
    authors::Authors,
    commit::{OfCommit, Reader},
    earlier::Ancestors,
    options::{Options, Target},
    patch::PatchFile,
    present::Sum,
    report::Attribution,
    worktree,
};
use crate::{
    error::{Error, Result},
    ops::{Context, shallow::whole_range},
};

/// How many commits of a range are prepared for at once.
const AT_ONCE: usize = 200;

/// Returns the attribution of what `options` select.
///
/// # Errors
/// If the revision names no commit, or objects are missing.
pub(crate) fn attribution(context: &Context, options: &Options) -> Result<Attribution> {
    let mut sum = Sum::new(options.patch);
    match &options.target {
        Target::Worktree => worktree::add(context, options, &mut sum),
        Target::Head => one(context, options, "HEAD", &mut sum),
        Target::Revision(text) if is_range(text) => range(context, options, text, &mut sum),
        Target::Revision(text) => one(context, options, text, &mut sum),
    }?;
    let found = sum.finish();
    if options.check && !options.pathspecs.is_empty() && found.files.is_empty() {
        refuse_unknown_paths(context, options)?;
    }
    Ok(found)
}

/// Returns an error if no file that git knows matches the pathspecs: what checks a path that is spelled wrongly would pass.
fn refuse_unknown_paths(context: &Context, options: &Options) -> Result<()> {
    let repo = &context.repo;
    let mut pathspec = repo.pathspec(&options.pathspecs)?;
    let end = match &options.target {
        Target::Revision(text) if is_range(text) => {
            repo.commits_in(text)?.and_then(|ids| ids.first().copied()).map(|id| id.to_string())
        }
        Target::Revision(text) => repo.find_commit(text)?.map(|id| id.to_string()),
        Target::Head | Target::Worktree => None,
    };
    let tree = end.as_deref().unwrap_or("HEAD");
    let in_tree = repo.try_git(&["ls-tree", "-r", "-z", "--name-only", "--full-tree", tree], None)?;
    let in_worktree = repo.known_paths()?;
    let mut paths = in_tree.stdout.split_str(b"\0").chain(in_worktree.iter().map(|path| path.as_slice()));
    if paths.any(|path| !path.is_empty() && pathspec.matches(path.as_bstr())) {
        return Ok(());
    }
    let named: Vec<String> = options.pathspecs.iter().map(|it| it.to_str_lossy().into_owned()).collect();
    Err(Error::user(format!("no file matches '{}'", named.join("' '"))).with_hint("'git ls-files' lists the files"))
}

fn is_range(text: &str) -> bool {
    text.contains("..") || text.starts_with('^') || text.ends_with("^!")
}

fn one(context: &Context, options: &Options, text: &str, sum: &mut Sum) -> Result<()> {
    let id = context.repo.find_commit(text)?.ok_or_else(|| unknown(text))?;
    let mut reader = Reader::new(context)?;
    let mut pathspec = context.repo.pathspec(&options.pathspecs)?;
    let mut wanted = |path: &BString| pathspec.matches(path.as_bstr());
    let mut patch = Vec::new();
    let mut commit = reader.commit_with(id, &mut wanted, &mut |file, text| {
        if options.patch {
            patch.push(PatchFile::of(file, text));
        }
        Ok(())
    })?;
    if options.check {
        let mut ancestors = Ancestors::new(&context.repo)?;
        ancestors.correct(&mut commit);
        sum.has_history = ancestors.has_history;
    }
    sum.commit = Some(commit.id);
    sum.parent = commit.parent;
    sum.add(&commit, &reader.authors.list, true);
    sum.patch(patch, &reader.authors.list);
    sum.note_gaps(&reader);
    Ok(())
}

fn range(context: &Context, options: &Options, text: &str, sum: &mut Sum) -> Result<()> {
    if options.patch {
        return Err(Error::user("a patch is of one commit, not of a range")
            .with_hint("'git checkpoint attribution --patch <commit>' shows one"));
    }
    let ids = whole_range(&context.repo, text)?.ok_or_else(|| unknown(text))?;
    let mut reader = Reader::new(context)?;
    let mut pathspec = context.repo.pathspec(&options.pathspecs)?;
    let mut wanted = |path: &BString| pathspec.matches(path.as_bstr());
    let mut ancestors = options.check.then(|| Ancestors::new(&context.repo)).transpose()?;
    sum.has_history = ancestors.as_ref().is_none_or(|it| it.has_history);
    sum.range = Some(text.to_owned());
    sum.by_commit = options.by_commit;
    for ids in ids.chunks(AT_ONCE) {
        reader.foresee(ids);
        for id in ids {
            context.check_interrupt()?;
            let mut commit = reader.commit(*id, &mut wanted)?;
            if let Some(ancestors) = &mut ancestors {
                ancestors.correct(&mut commit);
            }
            if options.pathspecs.is_empty() || !commit.files.is_empty() {
                sum.add(&commit, &reader.authors.list, false);
            }
        }
    }
    sum.note_gaps(&reader);
    Ok(())
}

/// Returns the attribution of the commits `ids`, as that of a range, with the files of each; calls `each` with every one as it
/// comes, and its changed lines.
pub(crate) fn of_commits(
    context: &Context,
    ids: &[ObjectId],
    each: &mut dyn FnMut(&OfCommit, Vec<PatchFile>) -> Result<()>,
) -> Result<Attribution> {
    let mut sum = Sum::new(false);
    sum.by_commit = true;
    let mut reader = Reader::new(context)?;
    for ids in ids.chunks(AT_ONCE) {
        reader.foresee(ids);
        for id in ids {
            context.check_interrupt()?;
            let mut patch = Vec::new();
            let commit = reader.commit_with(*id, &mut |_| true, &mut |file, text| {
                patch.push(PatchFile::of(file, text));
                Ok(())
            })?;
            let authors = &reader.authors.list;
            each(&commit, patch.into_iter().map(|file| file.named(authors)).collect())?;
            sum.add(&commit, authors, false);
        }
    }
    sum.note_gaps(&reader);
    Ok(sum.finish())
}

/// Returns the commits that `text` names, newest first, with their attribution; calls `each` with every one as it
/// comes.
pub(crate) fn each_commit(
    context: &Context,
    options: &Options,
    each: &mut dyn FnMut(&OfCommit, &Authors) -> Result<()>,
) -> Result<()> {
    let text = match &options.target {
        Target::Head => "HEAD",
        Target::Revision(text) => text,
        Target::Worktree => {
            return Err(Error::user("this format is of commits, not of the worktree")
                .with_hint("'--format markdown' and '--json' are of both"));
        }
    };
    let ids = named(context, text)?;
    let mut reader = Reader::new(context)?;
    let mut pathspec = context.repo.pathspec(&options.pathspecs)?;
    let mut wanted = |path: &BString| pathspec.matches(path.as_bstr());
    for ids in ids.chunks(AT_ONCE) {
        reader.foresee(ids);
        for id in ids {
            context.check_interrupt()?;
            let commit = reader.commit(*id, &mut wanted)?;
            each(&commit, &reader.authors)?;
        }
    }
    Ok(())
}

/// Returns the commits that `text`, a commit or a range, names, newest first.
///
/// # Errors
/// If it names none.
pub(crate) fn named(context: &Context, text: &str) -> Result<Vec<ObjectId>> {
    if is_range(text) {
        return whole_range(&context.repo, text)?.ok_or_else(|| unknown(text));
    }
    Ok(vec![context.repo.find_commit(text)?.ok_or_else(|| unknown(text))?])
}

/// Returns the error of a revision that names no commit.
fn unknown(text: &str) -> Error {
    Error::user(format!("no commit matches '{text}'")).with_hint(match text {
        "HEAD" => "there is no commit yet; 'git checkpoint attribution --worktree' shows the lines that the first one would have",
        _ => "'HEAD' names the last commit; 'git log' lists those before it",
    })
}
