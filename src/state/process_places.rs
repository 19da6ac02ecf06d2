//! Which processes work in a directory, and what is mounted there, as far as the kernel shows them (proc(5)).

use std::{
    collections::HashMap,
    fs,
    os::unix::{ffi::OsStringExt as _, fs::MetadataExt as _},
    path::{Path, PathBuf},
    rc::Rc,
};

/// A process that works in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    /// The name of its program.
    pub(crate) name: String,
    /// True if it has the directory, or one below it, mounted at another path, where this process does not see it: in a container,
    /// for example.
    pub(crate) has_mount: bool,
}

/// Returns a process, other than this one, whose current directory, program or open file is `root` or below it, a canonical path,
/// or that has mounted that. None if there is none, or if the kernel does not show it.
pub(crate) fn one_in(root: &Path) -> Option<Process> {
    let own = mounts("self");
    let origin = origin(root, &own);
    // Many processes see the same mounts, most of them those that this one sees.
    let mut known = HashMap::new();
    known.extend(view("self").map(|view| (view, Rc::new(own))));
    let (pid, has_mount) = pids().find_map(|pid| {
        // Of a process of another user, the kernel may show the mounts and not the view.
        let view = view(&pid.to_string());
        let seen = view.as_ref().and_then(|view| known.get(view)).cloned();
        let is_new = seen.is_none();
        let mounts = seen.unwrap_or_else(|| Rc::new(mounts(&pid.to_string())));
        if is_new {
            known.extend(view.map(|view| (view, mounts.clone())));
        }
        if is_new && origin.as_ref().is_some_and(|origin| mounts.iter().any(|mount| mount.is_of(origin))) {
            return Some((pid, true));
        }
        is_in(pid, root, origin.as_ref(), &mounts).then_some((pid, false))
    })?;
    let name = fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
    Some(Process { pid, name: String::from_utf8_lossy(&name).trim().to_owned(), has_mount })
}

/// Returns the processes, other than this one, that have the file `path` open, in the order of their numbers. None if there is none,
/// or if the kernel does not show it.
pub(crate) fn with_open(path: &Path) -> Vec<u32> {
    let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    let Ok(sought) = fs::symlink_metadata(path).map(identity) else { return Vec::new() };
    let is_it = |file: &Path| {
        // First the name: to look at a file that is elsewhere may take long.
        fs::read_link(file).is_ok_and(|link| link.file_name() == path.file_name())
            && fs::metadata(file).is_ok_and(|metadata| identity(metadata) == sought)
    };
    let has_it = |pid: &u32| {
        let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        files.into_iter().any(|file| is_it(&file.path()))
    };
    let mut found: Vec<u32> = pids().filter(has_it).collect();
    found.sort_unstable();
    found
}

/// Returns the processes, other than this one, that the kernel shows.
fn pids() -> impl Iterator<Item = u32> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| *pid != std::process::id())
}

/// Returns what decides which mounts the process sees: its namespace of mounts, and its root. None if the kernel does not show it.
fn view(process: &str) -> Option<[PathBuf; 2]> {
    let [namespace, root] = ["ns/mnt", "root"].map(|link| fs::read_link(format!("/proc/{process}/{link}")).ok());
    Some([namespace?, root?])
}

/// Returns a file system that is mounted below the directory `root`, a canonical path. None if there is none, or if the kernel
/// does not show it.
pub(crate) fn mount_in(root: &Path) -> Option<PathBuf> {
    let mut places = mounts("self").into_iter().map(|mount| mount.place);
    places.find(|place| place != root && place.starts_with(root))
}

/// Returns where the directory `root`, a canonical path, or one below it is mounted, too. None if it is not, or if the kernel does
/// not show it.
pub(crate) fn mount_of(root: &Path) -> Option<PathBuf> {
    let mounts = mounts("self");
    let origin = origin(root, &mounts)?;
    let is_outside = |mount: &&Mount| !mount.place.starts_with(root) && !root.starts_with(&mount.place);
    mounts.iter().filter(is_outside).find(|mount| mount.is_of(&origin)).map(|mount| mount.place.clone())
}

/// Returns true if a file system is mounted at `root`, a canonical path, or below it, or that is mounted elsewhere, too, as far as
/// the kernel shows it.
pub(crate) fn has_mount(root: &Path) -> bool {
    mounts("self").iter().any(|mount| mount.place.starts_with(root)) || mount_of(root).is_some()
}

/// A mount, as a line of `mountinfo` has it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mount {
    /// The number of the file system.
    device: Vec<u8>,
    /// The directory, or file, of the file system that is mounted.
    source: PathBuf,
    /// Where it is mounted.
    place: PathBuf,
}

impl Mount {
    fn parse(line: &[u8]) -> Option<Self> {
        let mut fields = line.split(|byte| *byte == b' ').skip(2);
        let (device, source, place) = (fields.next()?, fields.next()?, fields.next()?);
        Some(Self { device: device.to_owned(), source: unescaped(source), place: unescaped(place) })
    }

    /// Returns true if it is a mount of the directory `origin`, or of one below it.
    fn is_of(&self, origin: &Origin) -> bool {
        self.device == origin.0 && self.source.starts_with(&origin.1)
    }
}

/// The number of a file system, and a path inside of it.
type Origin = (Vec<u8>, PathBuf);

/// Returns the file system of `root`, a canonical path, and the path inside of it, by the `mounts` that this process sees.
fn origin(root: &Path, mounts: &[Mount]) -> Option<Origin> {
    let above = mounts.iter().filter(|mount| root.starts_with(&mount.place));
    // Of those at one place, the last one hides the others.
    let mount = above.max_by_key(|mount| mount.place.components().count())?;
    Some((mount.device.clone(), mount.source.join(root.strip_prefix(&mount.place).ok()?)))
}

/// Returns the mounts that the process sees.
fn mounts(process: &str) -> Vec<Mount> {
    let text = fs::read(format!("/proc/{process}/mountinfo")).unwrap_or_default();
    text.split(|byte| *byte == b'\n').filter_map(Mount::parse).collect()
}

/// Returns the path that `text` is in the kernel's list of mounts, which has blanks and such as octal numbers.
fn unescaped(text: &[u8]) -> PathBuf {
    let (mut bytes, mut rest) = (Vec::new(), text);
    while let Some((&byte, tail)) = rest.split_first() {
        let digits = tail.get(..3).filter(|_| byte == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        if let Some(number) = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            bytes.push(number);
            rest = &tail[3..];
        } else {
            bytes.push(byte);
            rest = tail;
        }
    }
    PathBuf::from(std::ffi::OsString::from_vec(bytes))
}

/// Returns true if the process works in the directory `root`, whose file system and path there are `origin`. The process sees
/// `mounts`, which may show the directory at another path, or another directory at this one.
fn is_in(pid: u32, root: &Path, origin_of_root: Option<&Origin>, mounts: &[Mount]) -> bool {
    let process = PathBuf::from(format!("/proc/{pid}"));
    let leads_there = |link: &Path| {
        let Some(path) = fs::read_link(link).ok().filter(|path| path.is_absolute()) else { return false };
        match (origin(&path, mounts), origin_of_root) {
            (Some((device, path)), Some((device_of_root, root))) => device == *device_of_root && path.starts_with(root),
            _ => path.starts_with(root),
        }
    };
    if ["cwd", "exe"].iter().any(|link| leads_there(&process.join(link))) {
        return true;
    }
    let files = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
    files.into_iter().any(|file| leads_there(&file.path()))
}

#[cfg(test)]
mod tests {
    use std::process as run;

    use super::*;

    #[test]
    fn mounts_are_found_below() {
        assert_eq!(unescaped(br"/a\040b\134c\x"), Path::new(r"/a b\c\x"));
        if Path::new("/proc/self/mountinfo").exists() {
            assert!(mount_in(Path::new("/")).is_some(), "there is at least /proc");
            assert!(has_mount(Path::new("/proc")) && !has_mount(Path::new("/proc/self/fd")));
            assert_eq!(mount_in(Path::new("/proc/self/fd")), None);
        }
    }

    #[test]
    fn a_mount_is_known_by_what_it_shows() {
        let parse = |line: &str| Mount::parse(line.as_bytes()).expect("a line");
        let mounts = [
            parse("21 1 8:1 / / rw - ext4 /dev/sda1 rw"),
            parse("22 21 8:2 /home /home rw - ext4 /dev/sda2 rw"),
            parse("23 22 8:1 /srv /home/srv rw - ext4 /dev/sda1 rw"),
            parse(r"24 21 8:2 /home/w/a\040b /work rw - ext4 /dev/sda2 rw"),
        ];
        let of = |root: &str| {
            let origin = origin(Path::new(root), &mounts).expect("the root is mounted");
            mounts.iter().filter(|mount| mount.is_of(&origin)).map(|mount| mount.place.clone()).collect::<Vec<_>>()
        };
        assert_eq!(of("/home/w"), [Path::new("/work")]);
        assert_eq!(of("/home/w/a b"), [Path::new("/work")]);
        assert_eq!(of("/home/srv"), [Path::new("/home/srv")]);
        assert_eq!((of("/home/w/a b/c"), of("/home/v"), of("/w")), (vec![], vec![], vec![]));
    }

    #[test]
    fn a_process_is_found_by_its_directory_and_by_an_open_file() {
        if !Path::new("/proc/self/cwd").exists() {
            return;
        }
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = fs::canonicalize(dir.path()).expect("it is there");
        fs::create_dir(root.join("inside")).expect("it can be made");
        fs::write(root.join("file"), "").expect("it can be written");
        assert_eq!(one_in(&root), None);
        #[expect(clippy::disallowed_methods, reason = "the test needs a process that works there")]
        let start = |line: &str, at: &Path| run::Command::new("sh").args(["-c", line]).current_dir(at).spawn();
        for (line, at) in [("exec sleep 60", root.join("inside")), ("exec sleep 60 <file", root.clone())] {
            let from = if line.contains('<') { PathBuf::from("/") } else { at };
            let line = line.replace("file", &root.join("file").display().to_string());
            let mut child = start(&line, &from).expect("it starts");
            let found = (0..500).find_map(|_| {
                std::thread::sleep(std::time::Duration::from_millis(10));
                one_in(&root)
            });
            assert_eq!(found.map(|found| found.pid), Some(child.id()), "{line}");
            child.kill().expect("it is ours");
            child.wait().expect("it has ended");
        }
    }
}
