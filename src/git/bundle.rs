//! Git's own programs for files that leave a repository, and for packs that come from a file: packs, archives and patches.

use std::{
    collections::BTreeSet,
    fs::File,
    io::{BufRead, Read, Seek as _, Write as _},
    process::Stdio,
};

use gix::ObjectId;

use super::{
    Repo,
    received::{Basis, Received},
    said::shown,
    wire,
};
use crate::{
    error::{Context as _, Error, Kind, Result},
    model::bundle::{Header, LONGEST_HEADER, is_bundle},
};

/// How much of what git says is read.
const MOST_SAID: u64 = 1 << 14;
/// What no setting changes of patches: they are for git-am(1) of any repository.
const SERIES: [&str; 22] = [
    "-c",
    "i18n.logOutputEncoding=UTF-8",
    "-c",
    "format.mboxrd=false",
    "-c",
    "diff.orderFile=/dev/null",
    "format-patch",
    "--stdout",
    "--binary",
    "--full-index",
    "--find-renames",
    "--no-attach",
    "--no-thread",
    "--no-cover-letter",
    "--no-signature",
    "--no-signoff",
    "--no-to",
    "--no-cc",
    "--no-add-header",
    "--no-color",
    "--no-textconv",
    "--no-ext-diff",
];
const OF_SERIES: [&str; 9] = [
    "--no-notes",
    "--no-base",
    "--subject-prefix=PATCH",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--submodule=short",
    "--unified=3",
    "--inter-hunk-context=0",
    "--ignore-submodules=none",
];

impl Repo {
    /// Writes the objects that the commits `tips` lead to, and the commits `without` do not, to `out`, as a pack for a bundle.
    ///
    /// # Errors
    /// If one of them is missing.
    pub(crate) fn pack_into(&self, tips: &[ObjectId], without: &[ObjectId], out: &File) -> Result<()> {
        let mut input: String = tips.iter().map(|id| format!("{id}\n")).collect();
        input.extend(without.iter().map(|id| format!("^{id}\n")));
        let words = ["pack-objects", "--revs", "--stdout", "--thin", "--delta-base-offset", "-q"];
        self.git_into(&words, &[], input.as_bytes(), out)
    }

    /// Writes the files of the commit `id` to `out`, as `git archive --format=tar` does, but without the filters that change what is
    /// stored: they may decrypt it.
    pub(crate) fn archive_into(&self, id: ObjectId, out: &File) -> Result<()> {
        let filters: BTreeSet<String> = self
            .config_pairs("filter")
            .iter()
            .filter_map(|pair| Some(pair.key.rsplit_once('.')?.0.to_owned()))
            .collect();
        let off = |name: &String| {
            [("smudge", ""), ("process", ""), ("required", "false")]
                .map(|(key, value)| (format!("filter.{name}.{key}"), value.to_owned()))
        };
        let settings: Vec<(String, String)> = filters.iter().flat_map(off).collect();
        self.git_into(&["archive", "--format=tar", &id.to_string()], &settings, b"", out)
    }

    /// Writes the commits after `base`, or all if there is none, up to `tip` to `out`, as patches for git-am(1).
    pub(crate) fn series_into(&self, base: Option<ObjectId>, tip: ObjectId, out: &File) -> Result<()> {
        let range = base.map_or_else(|| tip.to_string(), |base| format!("{base}..{tip}"));
        let root = base.is_none().then_some("--root");
        let words: Vec<&str> = SERIES.into_iter().chain(OF_SERIES).chain(root).chain([range.as_str()]).collect();
        self.git_into(&words, &[], b"", out)
    }

    /// Runs git with `words` and the settings `settings`, and lets it print to `out`.
    fn git_into(&self, words: &[&str], settings: &[(String, String)], input: &[u8], out: &File) -> Result<()> {
        let name = words.iter().find(|word| !word.starts_with('-') && !word.contains('=')).copied().unwrap_or_default();
        let what = || format!("'git {name}' failed");
        self.check_interrupt()?;
        let mut given = tempfile::tempfile().context(Kind::Internal, what)?;
        given.write_all(input).and_then(|()| given.rewind()).context(Kind::Internal, what)?;
        let mut said = tempfile::tempfile().context(Kind::Internal, what)?;
        let stderr = said.try_clone().context(Kind::Internal, what)?;
        let stdout = out.try_clone().context(Kind::Internal, what)?;
        let mut command = self.git(words);
        Self::add_settings(&mut command, settings);
        let started = self.start_to_end(command.stdin(given).stdout(Stdio::from(stdout)).stderr(stderr));
        let output = started.and_then(|git| git.output(b"")).context(Kind::Internal, what)?;
        if output.status.success() {
            return Ok(());
        }
        let mut text = Vec::new();
        said.rewind().and_then(|()| said.take(MOST_SAID).read_to_end(&mut text)).context(Kind::Internal, what)?;
        self.check_interrupt()?;
        Err(Error::user(what()).with_cause(shown(&text)))
    }

    /// Returns those of the commits `ids` that only refs of the namespaces `except` lead to, or none.
    pub(crate) fn on_no_ref(&self, ids: &[ObjectId], except: &[&str]) -> Result<Vec<ObjectId>> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let input: String = ids.iter().map(|id| format!("{id}\n")).collect();
        let mut words = vec!["rev-list".to_owned(), "--stdin".into(), "--not".into()];
        words.extend(except.iter().map(|namespace| format!("--exclude={namespace}*")));
        words.push("--all".into());
        let printed = self.run_git(&words, Some(input.as_bytes()))?;
        let lines = printed.split(|byte| *byte == b'\n').filter_map(|line| ObjectId::from_hex(line).ok());
        Ok(lines.filter(|id| ids.contains(id)).collect())
    }

    /// Stores `pack`, which comes from a file and may be built on all that is here, beside our objects.
    ///
    /// # Errors
    /// If git finds a malformed object, or one that leads to an object that is missing. Nothing is stored then.
    pub(crate) fn receive_pack(&self, pack: &mut dyn Read) -> Result<Received> {
        wire::store(self, pack, Basis::Ours(&[]), None)
    }

    /// Makes sure that all is there that the commits `tips` in `received` lead to, and none of our refs does.
    ///
    /// # Errors
    /// If something is missing.
    pub(crate) fn check_connected(&self, received: &Received, tips: &[ObjectId]) -> Result<()> {
        let what = || "something that it leads to is missing".to_owned();
        let mut command = self.git(["rev-list", "--objects", "--stdin", "--not", "--all", "--quiet"]);
        Self::lead_to(received, &mut command);
        let input: String = tips.iter().map(|id| format!("{id}\n")).collect();
        let started = self.start_to_end(command.stdin(Stdio::piped()));
        let output = started.and_then(|git| git.output(input.as_bytes())).context(Kind::Internal, what)?;
        if output.status.success() {
            return Ok(());
        }
        self.check_interrupt()?;
        Err(Error::refused(what()).with_cause(shown(&output.stderr)))
    }
}

/// Reads the header of a bundle.
///
/// # Errors
/// [`Kind::Refused`] if it is no bundle, or not of a kind that we write.
pub(crate) fn read_header(file: &mut impl BufRead) -> Result<Header> {
    let mut text = Vec::new();
    loop {
        let most = LONGEST_HEADER.saturating_sub(text.len() as u64);
        let read = file.by_ref().take(most).read_until(b'\n', &mut text);
        let read = read.context(Kind::User, || "it cannot be read".into())?;
        if read == 0 || text.ends_with(b"\n\n") || !is_bundle(&text) {
            break;
        }
    }
    Header::parse(&text).map_err(Error::refused)
}

/// Returns true if `pack` is whole: it ends with the checksum of all before that.
///
/// # Errors
/// If it cannot be read.
pub(crate) fn is_whole_pack(pack: &mut impl Read, format: gix::hash::Kind) -> Result<bool> {
    let what = || "it cannot be read".to_owned();
    let length = format.len_in_bytes();
    let mut hasher = gix::hash::hasher(format);
    let (mut buffer, mut held) = (vec![0; 1 << 16], Vec::<u8>::new());
    loop {
        let read = pack.read(&mut buffer).context(Kind::User, what)?;
        if read == 0 {
            break;
        }
        held.extend_from_slice(&buffer[..read]);
        // The checksum does not count.
        let counts = held.len().saturating_sub(length);
        hasher.update(&held[..counts]);
        held.drain(..counts);
    }
    let checksum = hasher.try_finalize().context(Kind::User, what)?;
    Ok(held == checksum.as_slice())
}
