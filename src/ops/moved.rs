//! Whose are the lines that an agent's command has brought from elsewhere with git? Git moves lines, it does not write them:
//! before the checkpoint of the agent, a checkpoint for each of their authors takes them.

use std::collections::{BTreeMap, BTreeSet};

use bstr::{BString, ByteSlice as _};
use gix::{ObjectId, objs::Kind as ObjectKind};

use super::{
    Worktree,
    attribution::Who,
    blame::{Options, blame},
    chain::{Seen, Shadow, draft::Draft, stashed::stash_entries},
    records,
};
use crate::{
    error::{Error, Result},
    git::{
        Repo,
        edit_tree::edit_tree,
        line_edits::{is_binary, step_edits},
        new_objects::{NewObjects, Target},
        versions::Version,
    },
    model::{
        attribution::kind::Kind,
        change::{Change, Leaf, Mode},
        checkpoint::{Checkpoint, Origin},
        contributor::Contributor,
        moved::Search,
    },
};

/// If git may have brought more files than this, we do not look: the tool would have to wait.
const MOST_FILES: usize = 1_000;
/// How many versions git blames at most. The author of what came from others is unknown.
const MOST_BLAMED: usize = 64;
/// How many checkpoints back we look for the content of a file.
const MOST_CHECKPOINTS: usize = 64;

/// Puts checkpoints on `shadow`, without moving its ref, of the lines in `seen` that git has brought from commits and stash
/// entries; what the chain had before is left to whom it is attributed there. Returns true if there were any. A failure is only
/// logged.
pub(crate) fn take_moved(
    worktree: &Worktree<'_>,
    shadow: &mut Shadow,
    seen: &Seen,
    objects: &NewObjects<'_>,
) -> Result<bool> {
    let last = shadow.tip.as_ref().map(|tip| tip.id);
    if let Err(error) = try_take(worktree, shadow, seen, objects) {
        worktree.check_interrupt()?;
        tracing::warn!(%error, "what git has brought from elsewhere counts as the work of the session");
    }
    Ok(shadow.tip.as_ref().map(|tip| tip.id) != last)
}

/// A file that git may have changed.
struct File<'t> {
    change: &'t Change,
    search: Search<'t>,
    /// The version that is the whole new content.
    whole: Option<usize>,
    /// Each with the name that the file has there.
    versions: Vec<(BString, Version)>,
}

fn try_take(worktree: &Worktree<'_>, shadow: &mut Shadow, seen: &Seen, objects: &NewObjects<'_>) -> Result<()> {
    let repo = &worktree.repo;
    let changes = suspects(repo, shadow, seen, objects)?;
    if changes.is_empty() || changes.len() > MOST_FILES {
        return Ok(());
    }
    let versions = versions(repo, shadow, &changes, &stashes(worktree)?)?;
    let texts = changes.iter().map(|change| {
        let text = |leaf: Option<Leaf>| leaf.map_or(Some(Vec::new()), |leaf| objects.read_blob(leaf.id));
        text(change.before).zip(text(change.after)).filter(|(before, after)| !is_binary(before) && !is_binary(after))
    });
    let texts: Vec<Option<(Vec<u8>, Vec<u8>)>> = texts.collect();
    let earlier = earlier_trees(repo, shadow)?;
    let mut files = Vec::new();
    for ((change, versions), text) in changes.iter().zip(versions).zip(&texts) {
        worktree.check_interrupt()?;
        if let Some((before, after)) = text {
            let file = File {
                change,
                search: Search::new(before, after, step_edits(before, after)),
                whole: versions
                    .iter()
                    .position(|(_, version)| Some(version.leaf.id) == change.after.map(|leaf| leaf.id)),
                versions,
            };
            files.extend(look(repo, file, after, &earlier)?);
        }
    }
    put_on(worktree, shadow, &files)
}

/// Returns the changed files of which git knows more than HEAD has: their content is stored already, or they are staged.
fn suspects(repo: &Repo, shadow: &Shadow, seen: &Seen, objects: &NewObjects<'_>) -> Result<Vec<Change>> {
    let mut changes = objects.changes_of_trees(shadow.last_tree_id(), seen.tree_id)?;
    let is_file = |leaf: Leaf| matches!(leaf.mode, Mode::File | Mode::Executable);
    changes.retain(|change| change.after.is_some_and(is_file) && change.before.is_none_or(is_file));
    let staged: BTreeSet<BString> = match seen.index_tree_id.filter(|_| !changes.is_empty()) {
        Some(tree_id) => {
            objects.changes_of_trees(shadow.head_tree_id, tree_id)?.into_iter().map(|change| change.path).collect()
        }
        None => BTreeSet::new(),
    };
    let mut found = Vec::new();
    for change in changes {
        let is_known = change.after.is_some_and(|leaf| !objects.is_new(leaf.id)) || staged.contains(&change.path);
        if is_known && repo.find_leaf(shadow.head_tree_id, change.path.as_bstr())? != change.after {
            found.push(change);
        }
    }
    Ok(found)
}

/// Returns the versions of each changed file, also under the name that HEAD has for it.
fn versions(
    repo: &Repo,
    shadow: &Shadow,
    changes: &[Change],
    stashes: &[ObjectId],
) -> Result<Vec<Vec<(BString, Version)>>> {
    let mut names: Vec<Vec<BString>> = changes.iter().map(|change| vec![change.path.clone()]).collect();
    let is_new =
        |change: &Change| Ok::<_, Error>(repo.find_leaf(shadow.head_tree_id, change.path.as_bstr())?.is_none());
    let mut new = changes.iter().map(is_new);
    if new.any(|it| it.unwrap_or(false)) {
        let since = repo.detect_renames(repo.diff_trees(shadow.head_tree_id, shadow.last_tree_id())?)?;
        let former = |path: &BString| since.iter().find(|it| it.path == *path)?.old_path.clone();
        for names in &mut names {
            names.extend(former(&names[0]));
        }
    }
    let mut found = repo.versions(&names.concat(), stashes)?.into_iter();
    let of_names = |names: Vec<BString>| {
        let each = names.into_iter().zip(&mut found);
        each.flat_map(|(name, versions)| versions.into_iter().map(move |it| (name.clone(), it))).collect()
    };
    Ok(names.into_iter().map(of_names).collect())
}

/// Returns the stash entries from before the turn, which may be popped by now. What a session has stashed since is its own.
fn stashes(worktree: &Worktree<'_>) -> Result<Vec<ObjectId>> {
    let noted = worktree.turns().stashes;
    if noted.is_empty() && worktree.turns().entries.is_empty() {
        return stash_entries(&worktree.repo);
    }
    Ok(noted.iter().filter_map(|id| ObjectId::from_hex(id.as_bytes()).ok()).collect())
}

/// Returns the trees of HEAD and of the checkpoints before the next one, the newest first.
fn earlier_trees(repo: &Repo, shadow: &Shadow) -> Result<Vec<ObjectId>> {
    let chain = shadow.tip.iter().flat_map(|tip| repo.chain_in_time(tip.id).take(MOST_CHECKPOINTS));
    let mut trees = vec![shadow.head_tree_id];
    for checkpoint in chain {
        trees.push(checkpoint?.tree_id);
    }
    Ok(trees)
}

/// Looks for the lines of `file`, whose new content is `after`, in its versions; none if no version has any that the trees
/// `earlier` have not.
fn look<'t>(repo: &Repo, mut file: File<'t>, after: &[u8], earlier: &[ObjectId]) -> Result<Option<File<'t>>> {
    let mut known = BTreeSet::new();
    for tree_id in earlier {
        let leaf = repo.find_leaf(*tree_id, file.change.path.as_bstr())?;
        if leaf == file.change.after {
            return Ok(None);
        }
        if let Some(leaf) = leaf.filter(|leaf| Some(leaf.id) != file.change.before.map(|it| it.id))
            && known.insert(leaf.id)
        {
            file.search.leave_out(&step_edits(&repo.read_blob(leaf.id)?, after));
        }
    }
    let first = file.whole.into_iter();
    for at in first.chain(0..file.versions.len()) {
        if file.search.is_done() {
            break;
        }
        // A partial clone may lack it.
        if let Ok(content) = repo.read_blob(file.versions[at].1.leaf.id)
            && !is_binary(&content)
        {
            file.search.look_in(at, &step_edits(&content, after));
        }
    }
    let is_any = !file.search.found().is_empty();
    Ok(is_any.then_some(file))
}

/// Puts a checkpoint for each author on `shadow`, each with the lines of the authors before it.
fn put_on(worktree: &Worktree<'_>, shadow: &mut Shadow, files: &[File<'_>]) -> Result<()> {
    if files.is_empty() {
        return Ok(());
    }
    let repo = &worktree.repo;
    let owners = owners(worktree, files)?;
    let mut authors: Vec<&Who> = Vec::new();
    for who in owners.iter().flat_map(BTreeMap::values) {
        if !authors.contains(&who) {
            authors.push(who);
        }
    }
    let mut objects = NewObjects::new(repo, Target::Loose);
    let mut new = shadow.clone();
    for count in 1..=authors.len() {
        let mut edits = Vec::new();
        for (file, owners) in files.iter().zip(&owners) {
            let is_in = |line: usize| owners.get(&line).is_some_and(|who| authors[..count].contains(&who));
            let is_last = owners.values().all(|who| authors[..count].contains(&who));
            let leaf = match file.change.after.filter(|_| file.whole.is_some() && is_last) {
                Some(leaf) => leaf,
                None if owners.keys().any(|line| is_in(*line)) => {
                    let id = objects.add(ObjectKind::Blob, &file.search.content_with(is_in))?;
                    let mode = file.change.before.or(file.change.after).map_or(Mode::File, |leaf| leaf.mode);
                    Leaf { id, mode }
                }
                None => continue,
            };
            edits.push((file.change.path.clone(), Some((leaf.id, leaf.mode))));
        }
        let tree_id = edit_tree(new.last_tree_id(), &edits, &mut objects)?;
        if tree_id != new.last_tree_id() {
            put_one(repo, &mut new, authors[count - 1], tree_id, &mut objects)?;
        }
    }
    objects.write()?.settle()?;
    *shadow = new;
    Ok(())
}

fn put_one(repo: &Repo, shadow: &mut Shadow, who: &Who, tree_id: ObjectId, objects: &mut NewObjects<'_>) -> Result<()> {
    let (parent_id, after) = shadow.links(objects)?;
    let (origin, subject, time) =
        (origin(who), "lines that git has brought from elsewhere", shadow.not_before(repo.now()));
    // No side data: the next checkpoint has them.
    let (name, side_id, body) = (&shadow.name, None, "");
    let id = Draft { name, tree_id, parent_id, after, side_id, origin: &origin, subject, body, time }
        .write(repo, objects)?;
    let checkpoint = Checkpoint {
        id,
        tree_id,
        parent_id,
        after,
        side_id,
        base: name.base,
        worktree: name.worktree.clone(),
        origin,
        subject: subject.to_owned(),
        body: body.to_owned(),
        seconds: time.seconds,
        offset: time.offset,
    };
    shadow.follow(repo, checkpoint)
}

fn origin(who: &Who) -> Origin {
    let Who { owner, session, turn, agent, model, agent_id } = who.clone();
    let contributor = match owner {
        _ if session.is_some() => Contributor::Agent,
        Kind::Human => Contributor::Human,
        _ => Contributor::Unknown,
    };
    Origin { contributor, session, agent, model, turn, agent_id, ..Origin::default() }
}

/// Returns for each of `files` the authors of the lines that were found in a version.
fn owners(worktree: &Worktree<'_>, files: &[File<'_>]) -> Result<Vec<BTreeMap<usize, Who>>> {
    let plain = |owner| Who { owner, session: None, turn: None, agent: None, model: None, agent_id: None };
    let has_records = records::Log::open(&worktree.repo)?.is_some();
    let mut blamed = 0;
    let mut owners = Vec::with_capacity(files.len());
    for file in files {
        let mut known: BTreeMap<usize, Vec<Who>> = BTreeMap::new();
        let found = file.search.found();
        for version in found.values().map(|origin| origin.version).collect::<BTreeSet<_>>() {
            blamed += usize::from(has_records);
            if has_records && blamed <= MOST_BLAMED {
                let (path, at) = &file.versions[version];
                let (path, rev) = (path.clone(), Some(at.commit.to_string()));
                // Where git cannot say whose the lines are, they are of an unknown author.
                let lines =
                    blame(worktree, &Options { path, rev, ..Options::default() }).map_or(Vec::new(), |it| it.lines);
                let each =
                    lines.into_iter().flat_map(|it| std::iter::repeat_n(it.who, (it.end - it.start + 1) as usize));
                known.insert(version, each.collect());
            }
        }
        let who = |version: usize, line: usize| match known.get(&version) {
            Some(lines) => lines.get(line).cloned().unwrap_or_else(|| plain(Kind::Unknown)),
            None if has_records => plain(Kind::Unknown),
            None => plain(Kind::Human),
        };
        owners.push(found.iter().map(|(line, origin)| (*line, who(origin.version, origin.line))).collect());
    }
    Ok(owners)
}
