//! A repository that begins with commits of another one, and gives its own ones back later. Neither needs the other in between.

use std::{ffi::OsStr, fs, path::Path};

use bstr::ByteSlice as _;
use gix::ObjectId;

use super::{Repo, process::run_plain_git, said::shown, settings::ConfigPair};
use crate::error::{Context as _, Error, Kind, Result};

/// The settings of a repository that say who the user is, and what becomes of the content of files.
const SETTINGS: [(&str, &[&str]); 5] = [
    ("user", &[]),
    ("author", &[]),
    ("committer", &[]),
    ("filter", &[]),
    ("core", &["autocrlf", "eol", "safecrlf", "excludesfile", "attributesfile"]),
];

/// More is in a file of rules only by mistake.
const LONGEST: u64 = 1 << 20;

impl Repo {
    /// Makes a repository in the empty directory `path`, for objects as this one has them, whose HEAD is on `branch`, a short name,
    /// which has no commit yet.
    ///
    /// # Errors
    /// If git fails.
    pub(crate) fn make_beside(&self, path: &Path, branch: &str) -> Result<Self> {
        let what = || format!("cannot make a repository in '{}'", path.display());
        let (format, full) = (format!("--object-format={}", self.object_hash()), format!("refs/heads/{branch}"));
        for words in [vec!["init", "--quiet", &format], vec!["symbolic-ref", "HEAD", &full]] {
            let words: Vec<&OsStr> = words.into_iter().map(OsStr::new).collect();
            let output = run_plain_git(path, &words).context(Kind::User, what)?;
            if !output.status.success() {
                return Err(Error::user(what()).with_cause(output.stderr.trim().to_str_lossy().into_owned()));
            }
        }
        self.open_worktree(path)
    }

    /// Copies the commits `ids` with all they lead to from the repository `from`, on this machine; git checks that nothing is missing.
    /// No ref moves.
    ///
    /// # Errors
    /// If git fails.
    pub(crate) fn copy_commits(&self, from: &Self, ids: &[ObjectId]) -> Result<()> {
        let what = || format!("cannot copy commits from '{}'", from.worktree_root().display());
        let directory = fs::canonicalize(from.common_dir()).context(Kind::User, what)?;
        let mut words: Vec<std::ffi::OsString> = Vec::new();
        // The older protocol gives only what refs lead to. What is bad in a commit of the user's own is no reason to refuse it.
        for setting in
            ["protocol.version=2", "protocol.file.allow=always", "fetch.fsckObjects=false", "fetch.prune=false"]
        {
            words.extend(["-c".into(), setting.into()]);
        }
        let options = [
            "fetch",
            "--quiet",
            "--no-write-fetch-head",
            "--no-tags",
            "--no-auto-maintenance",
            "--no-progress",
            "--no-recurse-submodules",
            "--no-filter",
            "--update-shallow",
            "--refmap=",
            "--",
        ];
        words.extend(options.map(Into::into));
        words.push(directory.into());
        words.extend(ids.iter().map(|id| id.to_string().into()));
        let output = self.run_transport(&words, &[], None).context(Kind::Internal, what)?;
        if output.status.success() {
            return Ok(());
        }
        Err(Error::user(what()).with_cause(shown(&output.stderr)))
    }

    /// Gives `copy` the settings, rules and attributes of this repository that are in no commit, and without which its files would be
    /// others there.
    ///
    /// # Errors
    /// If git fails, or a file cannot be written.
    pub(crate) fn give_settings(&self, copy: &Self) -> Result<()> {
        for (section, names) in SETTINGS {
            let is_meant = |pair: &ConfigPair| names.is_empty() || names.contains(&pair.key.as_str());
            let there = copy.config_pairs(section);
            // What the user's own files, and the environment, have holds there, too.
            let is_new = |pair: &ConfigPair| pair.file.is_some() && !there.contains(pair);
            for pair in self.config_pairs(section).into_iter().filter(|pair| is_meant(pair) && is_new(pair)) {
                let (key, value) = (format!("{section}.{}", pair.key), pair.value.to_os_str_lossy());
                copy.run_git(&[OsStr::new("config"), OsStr::new(&key), &value], None)?;
            }
        }
        for name in ["exclude", "attributes"] {
            let from = self.common_dir().join("info").join(name);
            let is_plain = fs::symlink_metadata(&from).is_ok_and(|it| it.is_file() && it.len() <= LONGEST);
            if is_plain {
                let what = || format!("cannot copy '{}'", from.display());
                let folder = copy.common_dir().join("info");
                fs::create_dir_all(&folder).context(Kind::Internal, what)?;
                fs::copy(&from, folder.join(name)).context(Kind::Internal, what)?;
            }
        }
        Ok(())
    }

    /// Writes the files of HEAD to a worktree that has none yet. No hook runs.
    ///
    /// # Errors
    /// If git, or a filter, fails.
    pub(crate) fn check_out_first(&self) -> Result<()> {
        self.run_filtering_git(&["reset", "--quiet", "--hard"], b"", None).map(drop)
    }

    /// Stages all files that are not ignored, and returns their tree.
    ///
    /// # Errors
    /// If git, or a filter, fails.
    pub(crate) fn stage_all(&self) -> Result<ObjectId> {
        self.run_filtering_git(&["add", "--all", "--", "."], b"", None)?;
        let printed = self.run_git(&["write-tree"], None)?;
        ObjectId::from_hex(printed.trim()).context(Kind::Internal, || "git has printed no tree".into())
    }
}
