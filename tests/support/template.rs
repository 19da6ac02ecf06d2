//! Repositories that real git and the real program make once in a process; each test gets a copy.

use std::{
    fs,
    os::unix::{
        ffi::{OsStrExt as _, OsStringExt as _},
        fs::PermissionsExt as _,
    },
    path::{Path, PathBuf},
    sync::OnceLock,
    time::SystemTime,
};

use bstr::ByteSlice as _;

use super::{World, files::write_scripts};

/// A repository with one commit, of the file `f`.
static COMMIT: Template = Template::new(World::commit_base);

/// The same with our hooks.
static HOOKS: Template = Template::new(|world| {
    world.commit_base();
    world.done(&["enable"]);
});

/// A repository with our hooks and no commit.
static UNBORN: Template = Template::new(|world| {
    world.init();
    world.done(&["enable"]);
});

/// A repository with our hooks, and one commit, of `f` with twenty lines, `g` and `h`.
static LINES: Template = Template::new(World::commit_lines);

impl World {
    /// A repository with one commit, of the file `f`.
    pub(crate) fn with_commit() -> Self {
        COMMIT.world()
    }

    /// The same with our hooks.
    pub(crate) fn with_hooks() -> Self {
        HOOKS.world()
    }

    /// A repository with our hooks and no commit.
    pub(crate) fn unborn_with_hooks() -> Self {
        UNBORN.world()
    }

    /// A repository with our hooks, and one commit, of `f` with twenty lines, `g` and `h`.
    pub(crate) fn with_lines() -> Self {
        LINES.world()
    }

    /// Makes a repository.
    pub(crate) fn init(&self) {
        self.git(&["init", "-q", "-b", "main", "."]);
    }

    /// Makes a repository with one commit, of the file `f`.
    pub(crate) fn commit_base(&self) {
        self.init();
        self.write("f", "base\n");
        self.commit_all("base");
    }

    /// Makes a repository with our hooks, and one commit, of `f` with twenty lines, `g` and `h`.
    pub(crate) fn commit_lines(&self) {
        self.init();
        self.done(&["enable"]);
        self.write("f", (1..=20).map(|line| format!("line {line}\n")).collect::<String>());
        self.write("g", "g\n");
        self.write("h", "h\n");
        self.commit_all("base");
    }

    /// Commits everything.
    pub(crate) fn commit_all(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-qm", message]);
    }
}

/// How to make a world, and what was there when it was made.
///
/// The copies share no file: what was made is kept in memory.
pub(crate) struct Template {
    make: fn(&World),
    made: OnceLock<Made>,
}

/// A world as it was made.
struct Made {
    /// Its path, which some files name.
    root: PathBuf,
    /// What is below it, directories before what they hold.
    nodes: Vec<(PathBuf, Node)>,
}

enum Node {
    Directory,
    Link(Vec<u8>),
    File { bytes: Vec<u8>, mode: u32, modified: SystemTime },
}

impl Template {
    pub(crate) const fn new(make: fn(&World)) -> Self {
        Self { make, made: OnceLock::new() }
    }

    /// Returns a world as it is when it has just been made.
    pub(crate) fn world(&self) -> World {
        self.copied_to(World::new())
    }

    /// The same on a disk.
    pub(crate) fn world_on_disk(&self) -> World {
        self.copied_to(World::on_disk())
    }

    fn copied_to(&self, world: World) -> World {
        self.made.get_or_init(|| self.made()).copy_to(&world.root());
        world
    }

    /// Makes it in `world`, which is new.
    pub(crate) fn make(&self, world: &World) {
        (self.make)(world);
    }

    fn made(&self) -> Made {
        let world = World::new();
        self.make(&world);
        let mut made = Made { root: world.root(), nodes: Vec::new() };
        made.read(Path::new(""));
        made
    }
}

impl Made {
    fn read(&mut self, directory: &Path) {
        for entry in fs::read_dir(self.root.join(directory)).expect("readable").map(|entry| entry.expect("readable")) {
            let path = directory.join(entry.file_name());
            // What our program remembers of files is no longer so where they are copied.
            if path.ends_with("checkpoint/index") {
                continue;
            }
            let metadata = fs::symlink_metadata(entry.path()).expect("it is there");
            if metadata.is_dir() {
                self.nodes.push((path.clone(), Node::Directory));
                self.read(&path);
            } else if metadata.is_symlink() {
                let target = fs::read_link(entry.path()).expect("a link").into_os_string().into_vec();
                self.nodes.push((path, Node::Link(target)));
            } else {
                let (bytes, modified) = (fs::read(entry.path()).expect("readable"), metadata.modified());
                let (mode, modified) = (metadata.permissions().mode(), modified.expect("it has one"));
                self.nodes.push((path, Node::File { bytes, mode, modified }));
            }
        }
    }

    fn copy_to(&self, root: &Path) {
        let (mut indexes, mut scripts) = (Vec::new(), Vec::new());
        for (path, node) in &self.nodes {
            let to = root.join(path);
            match node {
                Node::Directory => fs::create_dir_all(to).expect("a directory can be made"),
                Node::Link(target) => {
                    let target = self.moved(target, root);
                    std::os::unix::fs::symlink(std::ffi::OsStr::from_bytes(&target), to).expect("links can be made");
                }
                Node::File { bytes, mode, modified } if mode & 0o111 != 0 => {
                    scripts.push((to, self.moved(bytes, root), *mode, *modified));
                }
                Node::File { bytes, mode, modified } => {
                    fs::write(&to, self.moved(bytes, root)).expect("files can be written");
                    let file = fs::File::open(&to).expect("it is there");
                    file.set_permissions(fs::Permissions::from_mode(*mode)).expect("it is ours");
                    if bytes.starts_with(b"DIRC") {
                        indexes.push(to);
                    } else {
                        // The files of a worktree are older than its index: git need not read them again.
                        file.set_modified(*modified).expect("it is ours");
                    }
                }
            }
        }
        write_scripts(scripts.iter().map(|(to, bytes, ..)| (to.clone(), bytes.clone())));
        for (to, _, mode, modified) in scripts {
            fs::set_permissions(&to, fs::Permissions::from_mode(mode)).expect("it is ours");
            fs::File::open(&to).and_then(|file| file.set_modified(modified)).expect("it is ours");
        }
        for index in indexes {
            renew(&index);
        }
    }

    /// Returns `bytes` with the path of a copy where they name that of the template.
    fn moved(&self, bytes: &[u8], root: &Path) -> Vec<u8> {
        bytes.replace(self.root.as_os_str().as_bytes(), root.as_os_str().as_bytes())
    }
}

/// Writes into the index `path` what its files are now where they are as staged, as `git update-index --refresh` does.
fn renew(path: &Path) {
    use gix::index::{File, decode, entry::Stat, fs::Metadata, write};
    let git_dir = path.parent().expect("it is in a git directory");
    let worktree = worktree_of(git_dir);
    let mut index =
        File::at(path, gix::hash::Kind::Sha1, false, decode::Options::default()).expect("git has written it");
    let (entries, paths) = index.entries_mut_and_pathbacking();
    for entry in entries {
        let file = worktree.join(entry.path_in(paths).to_path().expect("a plain path"));
        // What differs from the index has to be seen to differ.
        let is_as_staged = fs::read(&file).is_ok_and(|bytes| {
            let id = gix::objs::compute_hash(gix::hash::Kind::Sha1, gix::objs::Kind::Blob, &bytes);
            id.expect("no collision") == entry.id
        });
        if is_as_staged {
            let metadata = Metadata::from_path_no_follow(&file).expect("it is there");
            entry.stat = Stat::from_fs(&metadata).expect("times are plain");
        }
    }
    let extensions = write::Extensions::Given { tree_cache: true, end_of_index_entry: false };
    index.write(write::Options { extensions, ..write::Options::default() }).expect("it is ours");
}

/// Returns the main worktree of the git directory: the directory it is in or, of a submodule, the one that it names.
fn worktree_of(git_dir: &Path) -> PathBuf {
    if git_dir.ends_with(".git") {
        return git_dir.parent().expect("it is in the worktree").to_owned();
    }
    let config = fs::read_to_string(git_dir.join("config")).expect("readable");
    let named = config.lines().find_map(|line| line.trim().strip_prefix("worktree = "));
    git_dir.join(named.unwrap_or_else(|| panic!("{} is not that of a main worktree", git_dir.display())))
}

/// What was changed or staged where it was made is so in a copy, even with as many bytes as before.
#[test]
fn a_copy_has_what_was_changed_and_staged() {
    static CHANGED: Template = Template::new(|world| {
        world.commit_lines();
        world.write("g", "x\n");
        world.write("h", "y\n");
        world.git(&["add", "h"]);
    });
    for _ in 0..2 {
        assert_eq!(CHANGED.world().git(&["status", "--porcelain"]), " M g\nM  h\n");
    }
}

/// A copy is what git and our program would have left there, and another copy knows nothing of it.
#[test]
fn a_copy_stands_for_itself() {
    let (world, other) = (World::with_lines(), World::with_lines());
    let index = || fs::read(world.repo().join(".git/index")).expect("readable");
    let copied = index();
    world.git(&["update-index", "--refresh"]);
    assert_eq!(world.git(&["diff-files", "--name-only"]), "");
    assert!(index() == copied, "git has nothing to add to the index");
    world.assert_sound("copied");
    world.done(&["doctor"]);
    let hooks = fs::read_to_string(world.repo().join(".git/checkpoint/hooks.toml")).expect("they are noted");
    assert!(hooks.contains(world.root().to_str().expect("a plain path")), "{hooks}");
    world.write("f", "changed\n");
    world.commit_all("changed");
    assert_eq!(other.git(&["log", "--format=%s"]), "base\n");
    assert_eq!(other.git(&["status", "--porcelain"]), "");
    assert!(std::os::unix::fs::MetadataExt::nlink(&fs::metadata(world.repo().join("g")).expect("it is there")) == 1);
}
