//! Joins two logs: the result has all that either has, and is the same wherever it is made.
//!
//! Of trees, the join is a semilattice: commutative, associative and idempotent. It reads only trees that differ, and takes no
//! account of commits in which both agree: what is not in one of them is added to it, since nothing is ever removed from a log.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
};

use bstr::{BString, ByteSlice as _};
use gix::{ObjectId, objs::Kind as ObjectKind};

use super::{
    shape::{TOO_MANY_VERSIONS, checked, foreign},
    versions::{MOST_BESIDE, PURGED, Version, Versions, are_rewritten},
};
use crate::{
    error::{Error, Result},
    git::{
        Repo,
        commit::{Identity, Moment, NewCommit},
        new_objects::NewObjects,
        whole_tree::{TreeEntry, add_tree},
    },
    model::{
        log_place::{Place, piece},
        record::{JOINED, Link, RecordId},
    },
};

/// What two logs have become.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Differences {
    /// The records, and the paths of pieces of transcripts, that have other versions beside them from now on.
    pub(super) apart: BTreeSet<String>,
    /// Those whose text one of the logs has and the other one has replaced: so it is after a purge in one of two clones.
    pub(super) rewritten: BTreeSet<String>,
}

/// Returns the commit that has all of `one` and `other`, commits of the log whose trees are at `place`: one of the two if it leads to
/// the other and has all of it, else a new one.
pub(super) fn join_commits<'r>(
    repo: &'r Repo,
    place: Place,
    one: ObjectId,
    other: ObjectId,
    objects: &mut NewObjects<'r>,
) -> Result<(ObjectId, Differences)> {
    if one == other {
        return Ok((one, Differences::default()));
    }
    let (one_tree, other_tree) = (repo.tree_of_commit(one)?, repo.tree_of_commit(other)?);
    let (tree_id, differences) = join_trees(repo, place, one_tree, other_tree, objects)?;
    for (later, earlier, later_tree) in [(one, other, one_tree), (other, one, other_tree)] {
        // Others may have removed something in a later commit.
        if tree_id == later_tree && repo.leads_to(later, earlier) {
            return Ok((later, differences));
        }
    }
    let seconds = |id| repo.with_commit(id, |commit| commit.committer().map_or(0, |who| who.seconds()).max(0));
    // Nothing of this depends on who joins.
    let commit = NewCommit {
        tree_id,
        parents: vec![one.min(other), one.max(other)],
        author: Identity::fallback(),
        committer: Identity::fallback(),
        time: Moment { seconds: seconds(one)?.max(seconds(other)?), micros: 0, offset: 0 },
        message: &format!("{JOINED}\n"),
    };
    Ok((Repo::write_commit(&commit, objects)?, differences))
}

/// Returns the tree that has all of `one` and `other`, trees at `place` of a log.
///
/// # Errors
/// If a name where they differ is none of ours.
pub(super) fn join_trees<'r>(
    repo: &'r Repo,
    place: Place,
    one: ObjectId,
    other: ObjectId,
    objects: &mut NewObjects<'r>,
) -> Result<(ObjectId, Differences)> {
    let digits = repo.object_hash().len_in_hex();
    let mut join = Join { repo, objects, digits, path: Vec::new(), differences: Differences::default() };
    let tree_id = join.tree(place, one, other)?;
    Ok((tree_id, join.differences))
}

impl Differences {
    /// Adds those of another join.
    pub(super) fn add(&mut self, more: Self) {
        self.apart.extend(more.apart);
        self.rewritten.extend(more.rewritten);
    }

    /// Returns true if no text was replaced in one of the two.
    pub(super) fn is_free_of_rewritten(&self) -> bool {
        self.rewritten.is_empty()
    }

    /// Refuses to bring back what a purge has removed here, or in `remote`, whose log is called `name`.
    ///
    /// # Errors
    /// [`Kind::Refused`](crate::error::Kind::Refused) if a text was replaced in one of the two.
    pub(super) fn refuse_rewritten(&self, remote: &str, name: &str) -> Result<()> {
        let Some(first) = self.rewritten.first() else { return Ok(()) };
        let others = self.rewritten.len() - 1;
        let others = if others > 0 { format!(" and {others} more") } else { String::new() };
        let why = format!("'{name}' of '{remote}' has another text in {first}{others} than this repository");
        Err(Error::refused(why).with_hint(
            "one of the two was purged, and to join them would bring the text back; see git-checkpoint-push(1)",
        ))
    }
}

struct Join<'a, 'r> {
    repo: &'r Repo,
    objects: &'a mut NewObjects<'r>,
    /// Of an id.
    digits: usize,
    /// Where the trees are that are being joined.
    path: Vec<BString>,
    differences: Differences,
}

/// The tree of a record.
#[derive(Default)]
struct RecordTree {
    version: Vec<TreeEntry>,
    links: Option<ObjectId>,
    others: Vec<TreeEntry>,
}

impl Join<'_, '_> {
    fn tree(&mut self, place: Place, one: ObjectId, other: ObjectId) -> Result<ObjectId> {
        if one == other {
            return Ok(one);
        }
        self.repo.check_interrupt()?;
        let (ours, theirs) = (self.read(place, one)?, self.read(place, other)?);
        let joined = match place {
            Place::Record => self.record(ours.clone(), theirs.clone())?,
            Place::Pieces => self.pieces(&ours, &theirs)?,
            _ => self.by_name(place, &ours, &theirs)?,
        };
        if joined == ours {
            return Ok(one);
        }
        if joined == theirs {
            return Ok(other);
        }
        add_tree(self.repo, joined, self.objects)
    }

    /// Returns the entries of the tree `id` at `place`, sorted by name.
    fn read(&self, place: Place, id: ObjectId) -> Result<Vec<TreeEntry>> {
        let mut entries = self.repo.read_tree(id)?;
        for entry in &entries {
            checked(place, entry, self.digits).map_err(|why| foreign(&self.path_of(&entry.name), why))?;
        }
        entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    fn path_of(&self, name: &[u8]) -> BString {
        let parts = self.path.iter().map(|part| part.as_slice()).chain([name]);
        bstr::join("/", parts).into()
    }

    /// Keeps what is on one side only, and joins what is on both.
    fn by_name(&mut self, place: Place, ours: &[TreeEntry], theirs: &[TreeEntry]) -> Result<Vec<TreeEntry>> {
        let mut joined = Vec::with_capacity(ours.len().max(theirs.len()));
        let (mut ours, mut theirs) = (ours.iter().peekable(), theirs.iter().peekable());
        loop {
            let order = match (ours.peek(), theirs.peek()) {
                (Some(our), Some(their)) => our.name.cmp(&their.name),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => return Ok(joined),
            };
            let our = if order.is_le() { ours.next() } else { None };
            let their = if order.is_ge() { theirs.next() } else { None };
            match (our, their) {
                (Some(our), Some(their)) if our.id != their.id => joined.push(self.entry(place, our, their)?),
                (our, their) => joined.extend(our.or(their).cloned()),
            }
        }
    }

    fn entry(&mut self, place: Place, our: &TreeEntry, their: &TreeEntry) -> Result<TreeEntry> {
        let below = place.below(&our.name, self.digits).ok_or_else(|| foreign(&self.path_of(&our.name), ""))?;
        let id = if below.is_tree() {
            self.path.push(our.name.clone());
            let id = self.tree(below, our.id, their.id)?;
            self.path.pop();
            id
        } else {
            self.file(below, our.id, their.id)?
        };
        Ok(TreeEntry { id, ..our.clone() })
    }

    fn file(&mut self, place: Place, one: ObjectId, other: ObjectId) -> Result<ObjectId> {
        if place == Place::Ids {
            let texts = [self.repo.read_blob(one)?, self.repo.read_blob(other)?];
            let lines = texts.iter().flat_map(|text| text.lines());
            let ids: BTreeSet<RecordId> = lines.filter_map(|line| RecordId::parse(line.to_str().ok()?)).collect();
            let text: String = ids.iter().map(|id| format!("{id}\n")).collect();
            return self.objects.add(ObjectKind::Blob, text.as_bytes());
        }
        // Two clones have found in different ways how a commit came to its record: the one that comes first in the list says more.
        let read = |id: ObjectId| -> Result<Option<Link>> {
            Ok(Link::from_toml(RecordId::of_commit(id), id, &self.repo.read_blob(id)?).ok())
        };
        let (mut first, mut second) = match (read(one)?, read(other)?) {
            (Some(one), Some(other)) => (one, other),
            (Some(_), None) => return Ok(one),
            (None, Some(_)) => return Ok(other),
            (None, None) => return Ok(one.min(other)),
        };
        let rank = |link: &Link| (link.how, link.from, link.commit);
        if rank(&second) < rank(&first) {
            std::mem::swap(&mut first, &mut second);
        }
        let alone = first.clone();
        first.widen(&second);
        if first == alone {
            return Ok(first.commit);
        }
        self.objects.add(ObjectKind::Blob, first.to_toml().as_bytes())
    }

    fn record(&mut self, ours: Vec<TreeEntry>, theirs: Vec<TreeEntry>) -> Result<Vec<TreeEntry>> {
        let name: BString = self.path.concat().into();
        let (ours, theirs) = (self.split(ours)?, self.split(theirs)?);
        let mut joined = Vec::new();
        if let Some(id) = match (ours.links, theirs.links) {
            (Some(one), Some(other)) => {
                self.path.push("links".into());
                let id = self.tree(Place::Links, one, other)?;
                self.path.pop();
                Some(id)
            }
            (one, other) => one.or(other),
        } {
            joined.push(TreeEntry::directory("links", id));
        }
        let mut versions = Versions::default();
        for side in [&ours, &theirs] {
            self.repo.check_interrupt()?;
            if side.others.len() > MOST_BESIDE {
                return Err(foreign(&self.path_of(b"others"), TOO_MANY_VERSIONS));
            }
            if !side.version.is_empty() {
                versions.add(Version::read(self.repo, side.version.clone())?);
            }
            // An empty one says nothing, and is in no place after a join.
            for other in side.others.iter().filter(|other| !other.id.is_empty_tree()) {
                versions.add(Version::read(self.repo, self.repo.read_tree(other.id)?)?);
            }
        }
        let (shown, beside) = versions.split();
        if beside.len() > MOST_BESIDE {
            return Err(foreign(&self.path_of(b"others"), TOO_MANY_VERSIONS));
        }
        let mut others = Vec::new();
        for version in &beside {
            let id = add_tree(self.repo, version.entries.clone(), self.objects)?;
            others.push(TreeEntry::directory(id.to_string(), id));
        }
        if !others.is_empty() && others != ours.others && others != theirs.others {
            if are_rewritten(&shown.iter().chain(&beside).collect::<Vec<_>>()) {
                self.differences.rewritten.insert(name.to_string());
            }
            self.differences.apart.insert(name.to_string());
        }
        if !others.is_empty() {
            joined.push(TreeEntry::directory("others", add_tree(self.repo, others, self.objects)?));
        }
        joined.extend(shown.into_iter().flat_map(|version| version.entries));
        joined.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(joined)
    }

    fn split(&self, entries: Vec<TreeEntry>) -> Result<RecordTree> {
        let mut tree = RecordTree::default();
        for entry in entries {
            match entry.name.as_slice() {
                b"links" => tree.links = Some(entry.id),
                b"others" => tree.others = self.read(Place::Others, entry.id)?,
                _ => tree.version.push(entry),
            }
        }
        Ok(tree)
    }

    /// Of pieces with the same number, the one with the highest id has the plain name, and the others have their ids behind it.
    fn pieces(&mut self, ours: &[TreeEntry], theirs: &[TreeEntry]) -> Result<Vec<TreeEntry>> {
        let mut numbers: BTreeMap<BString, BTreeSet<ObjectId>> = BTreeMap::new();
        for entry in ours.iter().chain(theirs) {
            if let Some((number, _)) = piece(&entry.name, self.digits) {
                numbers.entry(number.into()).or_default().insert(entry.id);
            }
        }
        let mut joined = Vec::new();
        for (number, ids) in numbers {
            let plain = |side: &[TreeEntry]| side.iter().find(|entry| entry.name == number).map(|entry| entry.id);
            if let (Some(our), Some(their)) = (plain(ours), plain(theirs))
                && our != their
            {
                let path = self.path_of(&number).to_string();
                if self.repo.read_blob(our)?.contains_str(PURGED) != self.repo.read_blob(their)?.contains_str(PURGED) {
                    self.differences.rewritten.insert(path.clone());
                }
                self.differences.apart.insert(path);
            }
            let last = ids.last().copied();
            for id in ids {
                let beside = if Some(id) == last { String::new() } else { format!("~{id}") };
                joined.push(TreeEntry::file(format!("{number}{beside}"), id));
            }
        }
        joined.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(joined)
    }
}
