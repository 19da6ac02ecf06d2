//! The repositories to measure in: made once, kept in the cache directory.

use std::{
    fmt::Write as _,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{
    Result,
    lab::{Lab, git_in},
};

const PACKAGE: &str = "linux-source-6.1";
/// A file below `.git` that says that the repository is complete.
const READY: &str = "checkpoint-bench-is-ready";
const FILES: usize = 10_000;
const FILES_A_DIRECTORY: usize = 25;

/// Returns the repository of the kernel's source; none, with a word about why, where it cannot be had.
pub(crate) fn large(cache: &Path) -> Result<Option<PathBuf>> {
    let root = cache.join("large");
    if root.join(".git").join(READY).exists() {
        return Ok(Some(root));
    }
    let archive = PathBuf::from(format!("/usr/src/{PACKAGE}.tar.xz"));
    if !archive.exists() && !install() {
        eprintln!("skipped: the large repository needs the Debian package '{PACKAGE}', which cannot be installed here");
        return Ok(None);
    }
    eprintln!("making '{}'", root.display());
    drop(fs::remove_dir_all(&root));
    fs::create_dir_all(&root)?;
    let status = Command::new("tar").arg("xf").arg(&archive).arg("--strip-components=1").current_dir(&root).status()?;
    if !status.success() {
        return Err(format!("cannot unpack '{}'", archive.display()).into());
    }
    // Debian's block at the end ignores the whole source.
    let rules = fs::read_to_string(root.join(".gitignore"))?;
    let kept: Vec<_> = rules.lines().take_while(|line| !line.contains("Debian packaging")).collect();
    fs::write(root.join(".gitignore"), kept.join("\n") + "\n")?;
    commit(&root)?;
    Ok(Some(root))
}

fn install() -> bool {
    let apt = |arguments: &[&str]| {
        let mut command = Command::new("apt-get");
        command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive").stdout(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    apt(&["update", "-qq"]) && apt(&["install", "-y", "-qq", "--no-install-recommends", PACKAGE, "xz-utils"])
}

/// Returns a repository of ten thousand generated text files.
pub(crate) fn small(cache: &Path) -> Result<PathBuf> {
    let root = cache.join("small");
    if root.join(".git").join(READY).exists() {
        return Ok(root);
    }
    eprintln!("making '{}'", root.display());
    drop(fs::remove_dir_all(&root));
    // A fixed sequence (Knuth's MMIX constants): the same repository everywhere.
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    for number in 0..FILES {
        let group = number / FILES_A_DIRECTORY;
        let directory = root.join(format!("part{}/module{group}", group % 20));
        fs::create_dir_all(&directory)?;
        let mut text = String::new();
        for line in 0..20 + next() % 120 {
            writeln!(text, "line {line}: {:x} {:x}", next(), next())?;
        }
        fs::write(directory.join(format!("file{number}.txt")), text)?;
    }
    commit(&root)?;
    Ok(root)
}

fn commit(root: &Path) -> Result<()> {
    for arguments in [
        &["init", "-q"][..],
        &["config", "gc.auto", "0"],
        &["config", "user.name", "Bench"],
        &["config", "user.email", "bench@example.com"],
        &["add", "-A"],
        &["commit", "-q", "-m", "base"],
        &["gc", "-q"],
        // Entries as young as the index are read by every `git status`.
        &["update-index", "--really-refresh"],
    ] {
        git_in(root, arguments)?;
    }
    fs::write(root.join(".git").join(READY), "")?;
    Ok(())
}

/// Takes away what an earlier run has left in the repository `root`: objects, refs, our own files.
pub(crate) fn sweep(root: &Path) -> Result<()> {
    let directory = root.join(".git");
    start_again(root)?;
    drop(fs::remove_dir_all(directory.join("checkpoint")));
    drop(fs::remove_dir_all(directory.join("refs/checkpoints")));
    let base = directory.join("checkpoint-bench-packs");
    let packs = || -> Result<Vec<String>> {
        let items = fs::read_dir(directory.join("objects/pack"))?;
        Ok(items.flatten().filter_map(|item| item.file_name().into_string().ok()).collect())
    };
    match fs::read_to_string(&base) {
        Err(_) => fs::write(&base, packs()?.join("\n"))?,
        Ok(kept) => {
            let is_kept = |name: &String| kept.lines().any(|kept| kept == name);
            for name in packs()?.iter().filter(|name| !is_kept(name)) {
                fs::remove_file(directory.join("objects/pack").join(name))?;
            }
        }
    }
    for item in fs::read_dir(directory.join("objects"))?.flatten() {
        if item.file_name().len() == 2 {
            fs::remove_dir_all(item.path())?;
        }
    }
    git_in(root, &["reset", "-q", "--hard"])?;
    git_in(root, &["clean", "-q", "-f", "-d"])?;
    git_in(root, &["update-index", "-q", "--really-refresh"])
}

/// Brings HEAD back to where the first run found it.
fn start_again(root: &Path) -> Result<()> {
    let start = root.join(".git/checkpoint-bench-start");
    drop(fs::remove_dir_all(root.join(".git/refs/bench")));
    if let Ok(id) = fs::read_to_string(&start) {
        return git_in(root, &["update-ref", "HEAD", id.trim()]);
    }
    let output = Command::new("git").args(["rev-parse", "HEAD"]).current_dir(root).output()?;
    Ok(fs::write(&start, output.stdout)?)
}

/// Returns a fresh clone of `origin` called `name`.
pub(crate) fn clone(cache: &Path, origin: &Path, name: &str) -> Result<PathBuf> {
    let root = cache.join(name);
    drop(fs::remove_dir_all(&root));
    let status = Command::new("git").args(["clone", "-q", "--local"]).arg(origin).arg(&root).status()?;
    if !status.success() {
        return Err(format!("cannot clone '{}'", origin.display()).into());
    }
    for setting in [["gc.auto", "0"], ["user.name", "Bench"], ["user.email", "bench@example.com"]] {
        git_in(&root, &["config", setting[0], setting[1]])?;
    }
    fs::write(root.join(".git").join(READY), "")?;
    Ok(root)
}

/// Makes the shadow of `lab` `count` checkpoints long, each like one of ours that changes one file.
pub(crate) fn lengthen(lab: &Lab, count: usize) -> Result<()> {
    let reference = lab.shadow_ref()?;
    let model = lab.git_output(&["cat-file", "commit", &reference])?;
    let (_, message) = model.split_once("\n\n").ok_or("a commit without a message")?;
    let mut import = Command::new("git")
        .args(["fast-import", "--quiet", "--force"])
        .current_dir(lab.root())
        .stdin(Stdio::piped())
        .spawn()?;
    let mut input = std::io::BufWriter::new(import.stdin.take().ok_or("no pipe to git fast-import")?);
    let start: u64 = lab.git_output(&["log", "-1", "--format=%ct", &reference])?.trim().parse()?;
    for number in 1..count as u64 {
        writeln!(input, "commit {reference}")?;
        writeln!(input, "author Bench <bench@example.com> {} +0000", start + number)?;
        writeln!(input, "committer Bench <bench@example.com> {} +0000", start + number)?;
        writeln!(input, "data {}\n{message}", message.len())?;
        if number == 1 {
            writeln!(input, "from {reference}^0")?;
        }
        let content = format!("version {number}\n");
        let path = lab.path(usize::try_from(number)? % lab.len());
        writeln!(input, "M 100644 inline {path}\ndata {}\n{content}", content.len())?;
    }
    drop(input);
    if !import.wait()?.success() {
        return Err("git fast-import has failed".into());
    }
    // So many saves would have cached the statistics.
    let cache = lab.root().join(".git/checkpoint/tally");
    while !cache.exists() {
        lab.output(&["checkpoint", "save", "--allow-empty"])?;
    }
    Ok(())
}
