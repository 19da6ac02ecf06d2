//! Which processes work in a directory, and what is mounted there, as far as the kernel shows them (proc(5)).

use std::{
    fs,
    os::unix::ffi::OsStringExt as _,
    path::{Path, PathBuf},
};

/// Returns the pid and the name of a process, other than this one, whose current directory, program or open file is `root` or
/// below it, a canonical path. None if there is none, or if the kernel does not show it.
pub(crate) fn one_in(root: &Path) -> Option<(u32, String)> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let pid = pids.find(|pid| *pid != std::process::id() && is_in(*pid, root))?;
    let name = fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
    Some((pid, String::from_utf8_lossy(&name).trim().to_owned()))
}

/// Returns a file system that is mounted below the directory `root`, a canonical path. None if there is none, or if the kernel
/// does not show it.
pub(crate) fn mount_in(root: &Path) -> Option<PathBuf> {
    mounts().into_iter().find(|place| place != root && place.starts_with(root))
}

/// Returns true if a file system is mounted at `root`, a canonical path, or below it, as far as the kernel shows it.
pub(crate) fn has_mount(root: &Path) -> bool {
    mounts().iter().any(|place| place.starts_with(root))
}

/// Returns where file systems are mounted.
fn mounts() -> Vec<PathBuf> {
    let mounts = fs::read("/proc/self/mountinfo").unwrap_or_default();
    let places = mounts.split(|byte| *byte == b'\n').filter_map(|line| line.split(|byte| *byte == b' ').nth(4));
    places.map(unescaped).collect()
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

fn is_in(pid: u32, root: &Path) -> bool {
    let process = PathBuf::from(format!("/proc/{pid}"));
    let leads_there = |link: &Path| fs::read_link(link).is_ok_and(|path| path.starts_with(root));
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
            assert_eq!(found.map(|(pid, _)| pid), Some(child.id()), "{line}");
            child.kill().expect("it is ours");
            child.wait().expect("it has ended");
        }
    }
}
