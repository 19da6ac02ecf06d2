//! The programs that tests start.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    sync::OnceLock,
};

/// Returns the path of a copy of the built program.
pub(crate) fn program() -> &'static str {
    static COPY: OnceLock<String> = OnceLock::new();
    COPY.get_or_init(|| {
        // Git finds it beside the other one.
        copied(Path::new(env!("CARGO_BIN_EXE_git-remote-checkpoint")));
        copied(Path::new(env!("CARGO_BIN_EXE_git-checkpoint")))
    })
}

/// Returns the path of a copy of this program, for tests that start themselves.
pub(crate) fn this_program() -> &'static str {
    static COPY: OnceLock<String> = OnceLock::new();
    COPY.get_or_init(|| copied(&std::env::current_exe().expect("this program has a path")))
}

/// Returns the path of a copy of `built`.
///
/// A linker fills a file page by page, and the system then keeps it in memory page by page. What is written at once it keeps in
/// large pieces, which take it far fewer page faults to show to a process: the copy starts in two thirds of the time.
fn copied(built: &Path) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("program");
    let name = built.file_name().expect("a file");
    let copy = folder.join(name);
    let (made, there) = (fs::metadata(built).expect("it was built"), fs::metadata(&copy));
    let time = made.modified().expect("it has one");
    let is_of = |other: fs::Metadata| other.len() == made.len() && other.modified().is_ok_and(|other| other == time);
    if !there.is_ok_and(is_of) {
        fs::create_dir_all(&folder).expect("a directory can be made");
        // Another process may run the one that is there.
        let new = folder.join(format!("new-{}-{}", std::process::id(), name.display()));
        write_at_once(built, &new, made.len());
        fs::set_permissions(&new, made.permissions()).expect("it is ours");
        fs::File::open(&new).and_then(|file| file.set_modified(time)).expect("it is ours");
        fs::rename(&new, &copy).expect("it can be renamed");
    }
    copy.into_os_string().into_string().expect("in UTF-8")
}

/// Copies `from`, of `size` bytes, by one write of another process: see [`write_scripts`](super::files::write_scripts).
fn write_at_once(from: &Path, to: &Path, size: u64) {
    let mut command = Command::new("dd");
    command.arg(format!("if={}", from.display())).arg(format!("of={}", to.display())).arg(format!("bs={size}"));
    let output = command.stdin(Stdio::null()).output().expect("dd runs");
    assert!(output.status.success(), "{}", super::processes::described(&output));
}
