//! What a purge finds, changes and leaves.

use std::{
    collections::{BTreeSet, HashSet},
    path::{Path, PathBuf},
};

use bstr::{BStr, BString, ByteSlice as _};
use gix::ObjectId;
use serde::Serialize;

use super::{contents::paths_of, files::Found, scan::Scan};
use crate::{
    error::{Kind, Result},
    git::{Repo, ignore::Excludes, place::Holder, remove_objects::Removal},
    model::{id_text, path_text, refname, secret::Secret},
    ops::Context,
};

/// How the short name of a ref begins that holds what only a removed worktree leads to.
const REMOVED: &str = "checkpoints/removed/";
/// For how many files we look for a commit of the user that has them.
const MOST_PLACES: usize = 20;

/// A file or a checkpoint with the text that the user holds, too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Kept {
    /// The file; empty for a checkpoint.
    #[serde(serialize_with = "path_text::serialize")]
    pub path: BString,
    /// A commit that has it so, or the checkpoint; none if it is only staged, or nothing leads to it.
    #[serde(serialize_with = "id_text::serialize_optional")]
    pub commit: Option<ObjectId>,
    /// A ref that leads to the commit.
    pub r#ref: Option<String>,
    /// What keeps it.
    pub by: By,
    /// True if checkpoints or records have the object, too, from which it is taken out.
    pub is_stored: bool,
}

/// What keeps an object of the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// A ref of the user.
    Ref,
    /// A ref of ours: a checkpoint is based on the commit.
    Base,
    /// A removed worktree: a reflog there, or what is staged there.
    Removed,
    /// A reflog.
    Reflog,
    /// Nothing but that git has not yet removed the commit.
    Nothing,
    /// An index, or something else that only one worktree has.
    Worktree,
}

/// The result. Serializes to what `purge --json` prints.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Purged {
    /// The version of the JSON format.
    pub version: u32,
    /// How many checkpoints have the text.
    pub checkpoints: usize,
    /// How many checkpoints are written anew: these, and those after them.
    pub rewritten: usize,
    /// To how many of the checkpoints with the text, or of those that are to go, a ref leads.
    #[serde(skip)]
    pub live: usize,
    /// How many lists of prompts in records have the text.
    pub prompts: usize,
    /// How many pieces of transcripts have the text.
    pub transcripts: usize,
    /// How many notes have the text, earlier versions included.
    pub notes: usize,
    /// How many entries of operation logs have the text, superseded ones included.
    pub operations: usize,
    /// The paths of files in checkpoints that have the text; of checkpoints that are to go, those whose content nothing else has.
    #[serde(serialize_with = "path_text::serialize_list")]
    pub paths: Vec<BString>,
    /// Our own files that have the text.
    pub files: Vec<String>,
    /// How many objects are removed.
    pub objects: usize,
    /// What has the text and stays, because the user has it.
    pub kept: Vec<Kept>,
    /// The files of worktrees that still have the text: the next save stores it again.
    pub worktree: Vec<String>,
    /// Other such files: git or a setting ignores them, so no save stores them.
    pub ignored: Vec<String>,
    /// Our own files that still have the text.
    pub left: Vec<String>,
    /// True if names of files, refs, sessions, agents or models have the text: they stay.
    pub in_names: bool,
    /// How many other blobs have the text to which nothing but lost commits leads: they stay, as they may be the user's.
    pub unreachable: usize,
    /// The objects that could not be removed.
    pub stay: Vec<String>,
    /// The refs that were fetched from remotes, which have copies of checkpoints.
    pub fetched: Vec<String>,
    /// The refs of logs that were fetched from remotes and have it: they go as a whole.
    pub forgotten: Vec<String>,
    /// Why nothing of it would be done without `--dry-run`.
    pub refused: Option<String>,
    /// The path that is quoted there, from the root of the worktree.
    #[serde(skip)]
    pub refused_path: Option<BString>,
    /// What the user can do about that.
    #[serde(skip)]
    pub advice: Option<String>,
    /// True if objects of the user have the text. They are searched only if nothing of ours has it.
    #[serde(skip)]
    pub is_elsewhere: bool,
    /// True if nothing was done.
    pub dry_run: bool,
}

impl Purged {
    /// Returns true if there is nothing to remove.
    pub fn is_empty(&self) -> bool {
        let stored = self.checkpoints + self.rewritten + self.prompts + self.transcripts + self.operations;
        let stored = stored + self.notes;
        stored + self.files.len() + self.objects + self.forgotten.len() == 0
    }

    /// Returns true if nothing has the text in `later`, a later plan, that does not have it in this one.
    pub(super) fn covers(&self, later: &Self) -> bool {
        let counts = |it: &Self| [it.checkpoints, it.prompts, it.transcripts, it.notes, it.operations];
        counts(self).iter().zip(counts(later)).all(|(count, later)| later <= *count)
            && later.paths.iter().all(|path| self.paths.contains(path))
            && later.files.iter().all(|file| self.files.contains(file))
    }

    /// Adds what a second round has done.
    pub(super) fn add(&mut self, more: Self) {
        let first = std::mem::replace(self, more);
        self.checkpoints += first.checkpoints;
        self.rewritten += first.rewritten;
        self.live += first.live;
        self.prompts += first.prompts;
        self.transcripts += first.transcripts;
        self.notes += first.notes;
        self.operations += first.operations;
        self.objects += first.objects;
        self.paths.extend(first.paths);
        self.files.extend(first.files);
        self.forgotten.extend(first.forgotten);
        for list in [&mut self.files, &mut self.stay, &mut self.forgotten] {
            list.sort();
            list.dedup();
        }
        self.paths.sort();
        self.paths.dedup();
    }

    /// Notes what became of the objects.
    pub(super) fn note(&mut self, removal: &Removal) {
        self.stay = removal.stay.iter().map(ToString::to_string).collect();
        self.stay.sort();
        self.objects = removal.gone.len();
    }

    /// Returns true if no object has the text, no file of ours and no file of a worktree that the next save would store.
    pub fn is_nowhere(&self) -> bool {
        self.is_empty() && self.is_complete() && self.worktree.is_empty() && !self.is_elsewhere
    }

    /// Returns true if nothing is left that was to be removed.
    pub fn is_complete(&self) -> bool {
        !self.in_names
            && self.unreachable == 0
            && self.stay.is_empty()
            && self.left.is_empty()
            && self.refused.is_none()
            && self.kept.iter().all(|kept| !kept.path.is_empty() && !kept.is_stored && kept.by != By::Base)
    }

    /// Notes, in a dry run, why the purge would be refused.
    pub(super) fn note_refusal(&mut self, may_purge: Result<()>) -> Result<()> {
        match may_purge {
            Err(error) if error.kind() == Kind::Refused => {
                self.advice = error.hint().map(ToOwned::to_owned);
                self.refused = Some(error.message().to_owned());
                self.refused_path = error.path().cloned();
                Ok(())
            }
            may_purge => may_purge,
        }
    }

    /// Notes `checkpoints` that have the text and stay, because a ref or a reflog of the user leads to them.
    pub(super) fn note_held(&mut self, repo: &Repo, checkpoints: &BTreeSet<ObjectId>) -> Result<()> {
        for id in checkpoints {
            if self.kept.iter().all(|kept| kept.commit != Some(*id)) {
                let name = repo.name_leading_to(*id, |name| !name.starts_with(refname::PREFIX))?;
                let name = name.map(|name| name.to_str_lossy().into_owned());
                let by = if name.is_some() { By::Ref } else { By::Reflog };
                self.kept.push(Kept { path: BString::default(), commit: Some(*id), r#ref: name, by, is_stored: true });
            }
        }
        Ok(())
    }
}

/// Returns what is known before the plan: what stays, of which checkpoints and records have `stored`.
pub(super) fn of(
    context: &Context,
    secret: &Secret,
    scan: &Scan,
    found: &Found,
    turns: &[PathBuf],
    removed: &BTreeSet<BString>,
    stored: &HashSet<ObjectId>,
) -> Result<Purged> {
    let repo = &context.repo;
    let shown = |path: &Path| {
        let common = repo.common_dir();
        path.strip_prefix(common).map_or_else(|_| path.display().to_string(), |path| path.display().to_string())
    };
    let mut files: Vec<String> = found.changes.iter().map(|(path, _)| shown(path)).collect();
    files.extend(turns.iter().map(|git_dir| shown(&git_dir.join("checkpoint/turns.toml"))));
    files.sort();
    let left = found.left.iter().map(|path| shown(path)).collect();
    let kept = kept(repo, scan, &scan.of_user, stored)?;
    let mut paths = paths_of(scan, scan.found.iter().chain(&scan.of_user));
    paths.extend(removed.iter().cloned());
    let mut roots = vec![repo.worktree_root().to_owned()];
    roots.extend(repo.other_worktrees().into_iter().map(|(_, root)| root));
    let (mut worktree, mut ignored) = (Vec::new(), Vec::new());
    for (number, root) in roots.iter().enumerate() {
        let has_it = |path: &&BString| {
            let file = root.join(path.to_path_lossy());
            let has_text = || std::fs::read(&file).is_ok_and(|text| secret.is_in(&text));
            file.symlink_metadata().is_ok_and(|it| it.is_file()) && (removed.contains(*path) || has_text())
        };
        let with_it: Vec<&BString> = paths.iter().filter(has_it).collect();
        let other = (number > 0 && !with_it.is_empty()).then(|| Repo::open(root));
        let is_ignored = match &other {
            None => are_ignored(repo, context, &with_it)?,
            // If its rules cannot be read, the next save might store the file.
            Some(other) => {
                other.as_ref().ok().and_then(|repo| are_ignored(repo, context, &with_it).ok()).unwrap_or_default()
            }
        };
        for (at, path) in with_it.into_iter().enumerate() {
            let path = path.to_path_lossy();
            let name = if number == 0 { path.into_owned() } else { root.join(path) };
            let is_ignored = is_ignored.get(at).is_some_and(|is_ignored| *is_ignored);
            if is_ignored { &mut ignored } else { &mut worktree }.push(name.display().to_string());
        }
    }
    let mut fetched: Vec<String> = repo.refs_below(refname::FETCHED)?.into_iter().map(|(name, _)| name).collect();
    // These are searched.
    fetched.retain(|name| refname::fetched_log(name).is_none());
    Ok(Purged {
        version: 1,
        files,
        left,
        kept,
        worktree,
        ignored,
        fetched,
        in_names: scan.is_in_names,
        unreachable: scan.unreachable,
        operations: scan.operations_with_text,
        ..Purged::default()
    })
}

/// Returns of each of `paths`, files of the worktree of `repo`, if no save there stores it, because a rule or a setting leaves it
/// out.
fn are_ignored(repo: &Repo, context: &Context, paths: &[&BString]) -> Result<Vec<bool>> {
    let index = repo.user_index()?;
    let is_tracked = |path: &BStr| index.as_ref().is_some_and(|index| index.entry_by_path(path).is_some());
    let mut rules = Excludes::for_worktree(repo, &context.settings.save.exclude)?;
    let paths = paths.iter().map(|path| path.as_bstr());
    paths.map(|path| Ok(!is_tracked(path) && rules.is_ignored(path, false)?)).collect()
}

/// Returns where the user has the blobs `ids`, some of which are `stored` by us, too.
pub(super) fn kept(
    repo: &Repo,
    scan: &Scan,
    ids: &BTreeSet<ObjectId>,
    stored: &HashSet<ObjectId>,
) -> Result<Vec<Kept>> {
    let mut kept = Vec::new();
    for (number, id) in ids.iter().enumerate() {
        let known = paths_of(scan, [id].into_iter()).into_iter().next();
        let place = if number < MOST_PLACES { repo.place_of(*id, &scan.own, refname::PREFIX)? } else { None };
        let of_place = place.as_ref().map(|place| place.path.clone());
        let commit = place.as_ref().map(|place| place.commit);
        let (by, name) = match place.map(|place| place.holder) {
            Some(Holder::Ref(name)) => (By::Ref, Some(name)),
            Some(Holder::Ours(name)) if name.starts_with(REMOVED.as_bytes()) => (By::Removed, Some(name)),
            Some(Holder::Ours(name)) => (By::Base, Some(name)),
            Some(Holder::Reflog) => (By::Reflog, None),
            Some(Holder::Nothing) => (By::Nothing, None),
            None => (By::Worktree, None),
        };
        let path = known.or(of_place).unwrap_or_else(|| id.to_string().into());
        let name = name.map(|name| name.to_str_lossy().into_owned());
        kept.push(Kept { path, commit, r#ref: name, by, is_stored: stored.contains(id) });
    }
    kept.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(kept)
}
