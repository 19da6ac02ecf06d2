//! A repository to save and restore in, and what is on its disk.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::{ffi::OsStrExt as _, fs::PermissionsExt as _},
    path::Path,
};

use bstr::{BString, ByteSlice as _};
use git_checkpoint::{
    Author, Context, Event, Origin, RestoreOptions, Restored, SaveOptions, Subscriber, UndoOptions, restore,
    testing::ops::undo::redo, undo,
};
use gix::ObjectId;

use super::World;

/// A world with a repository of one commit (the file `f`), and the library opened on it.
pub(crate) struct Stage {
    pub(crate) world: World,
    pub(crate) context: Context,
}

/// What is at a path of the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    Directory,
    Link(BString),
    File { bytes: BString, mode: u32 },
    Special,
}

/// What is on a disk, by path.
pub(crate) type Disk = BTreeMap<BString, Node>;

impl std::ops::Deref for Stage {
    type Target = World;

    fn deref(&self) -> &World {
        &self.world
    }
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    /// The same, with `prepare` run before the library opens the repository.
    pub(crate) fn with(prepare: impl FnOnce(&World)) -> Self {
        let world = World::with_commit();
        prepare(&world);
        Self::on(world)
    }

    /// Opens the library on the repository of `world`.
    pub(crate) fn on(world: World) -> Self {
        let context = Context::open(&world.repo()).expect("the repository opens");
        Self { world, context }
    }

    /// Takes a checkpoint as a human.
    pub(crate) fn save(&self) -> ObjectId {
        self.save_as(&Origin::default())
    }

    /// Takes a checkpoint.
    pub(crate) fn save_as(&self, origin: &Origin) -> ObjectId {
        let mut options = SaveOptions::default();
        (options.author, options.allow_empty) = (Author::Is(origin.clone()), true);
        git_checkpoint::save(&self.context, &options).expect("saved").id.expect("a checkpoint was taken")
    }

    pub(crate) fn restore(&self, target: ObjectId) -> Restored {
        self.restore_with(target, RestoreOptions::default())
    }

    /// Restores only `paths`.
    pub(crate) fn restore_paths(&self, target: ObjectId, paths: &[&str]) -> Restored {
        let pathspecs = paths.iter().map(|path| BString::from(*path)).collect();
        self.restore_with(target, RestoreOptions { pathspecs, ..RestoreOptions::default() })
    }

    pub(crate) fn restore_with(&self, target: ObjectId, options: RestoreOptions) -> Restored {
        restore(&self.context, &RestoreOptions { target: target.to_string(), ..options }).expect("restored")
    }

    pub(crate) fn undo(&self) -> Restored {
        undo(&self.context, &UndoOptions::default()).expect("undone")
    }

    /// Takes the last undo back.
    pub(crate) fn redo(&self) -> Restored {
        redo(&self.context, &UndoOptions::default()).expect("redone").restored.expect("files were changed")
    }

    /// Checks that the repository is sound, and returns what must not move: HEAD, branches, stash, index.
    pub(crate) fn untouchables(&self) -> (String, Vec<u8>) {
        self.assert_sound("the repository");
        let refs = self.git(&["for-each-ref", "refs/heads", "refs/tags", "refs/stash"]);
        let head = fs::read_to_string(self.repo().join(".git/HEAD")).expect("HEAD is there");
        (refs + &head, fs::read(self.repo().join(".git/index")).unwrap_or_default())
    }
}

/// Does something just after each checkpoint, also the one before a restore.
pub(crate) struct Meddler(pub(crate) Box<dyn Fn() + Send + Sync>);

impl Subscriber for Meddler {
    fn event(&self, event: &Event) {
        if matches!(event, Event::Checkpoint { .. }) {
            (self.0)();
        }
    }
}

/// Returns everything below `root` but its `.git`.
pub(crate) fn disk(root: &Path) -> Disk {
    let mut nodes = Disk::new();
    walk(root, &BString::default(), &mut nodes);
    nodes
}

fn walk(directory: &Path, prefix: &BString, nodes: &mut Disk) {
    for entry in fs::read_dir(directory).expect("readable") {
        let entry = entry.expect("readable");
        if prefix.is_empty() && entry.file_name() == ".git" {
            continue;
        }
        let mut path = prefix.clone();
        path.extend_from_slice(entry.file_name().as_bytes());
        let metadata = fs::symlink_metadata(entry.path()).expect("it is there");
        let node = if metadata.is_dir() {
            let mut inner = path.clone();
            inner.push(b'/');
            walk(&entry.path(), &inner, nodes);
            Node::Directory
        } else if metadata.is_symlink() {
            Node::Link(fs::read_link(entry.path()).expect("a link").as_os_str().as_bytes().into())
        } else if metadata.is_file() {
            let bytes = fs::read(entry.path()).expect("readable").into();
            Node::File { bytes, mode: metadata.permissions().mode() & 0o7777 }
        } else {
            Node::Special
        };
        nodes.insert(path, node);
    }
}

/// Writes a result as `+written -deleted =kept: why !conflict: why`.
pub(crate) fn picture(restored: &Restored) -> Vec<String> {
    let text = |path: &BString| path.to_str_lossy().into_owned();
    let mut out: Vec<String> = restored.written.iter().map(|path| format!("+{}", text(path))).collect();
    out.extend(restored.deleted.iter().map(|path| format!("-{}", text(path))));
    out.extend(restored.kept.iter().map(|left| format!("={}: {}", text(&left.path), left.why)));
    out.extend(restored.conflicts.iter().map(|left| format!("!{}: {}", text(&left.path), left.why)));
    out
}
