//! The beginning of a file that `export` writes: the header of a git bundle (gitformat-bundle(5)), with refs of ours alone.
//!
//! A bundle has a checksum of its objects, and none of its header. So the header is among the objects once more: see
//! [`Header::manifest`].

use bstr::{BString, ByteSlice as _};
use gix::{ObjectId, hash::Kind};

use super::refname;

/// How bundles of version 2 begin: their ids are of SHA-1.
const VERSION_2: &[u8] = b"# v2 git bundle\n";
/// How bundles of version 3 begin.
const VERSION_3: &[u8] = b"# v3 git bundle\n";
const OBJECT_FORMAT: &[u8] = b"@object-format=";
/// The first line of what a file says of itself; 1 is the version.
const MANIFEST: &str = "git-checkpoint export 1\n";
/// What all versions of that begin with.
const MANIFESTS: &[u8] = b"git-checkpoint export ";
/// The name of the file with it, in the tree of the commit that [`refname::EXPORT`] leads to.
pub(crate) const MANIFEST_FILE: &str = "export";

/// The most bytes of a header: about a hundred thousand refs.
pub(crate) const LONGEST_HEADER: u64 = 16 << 20;

/// The header of a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// What the ids are of.
    pub(crate) format: Kind,
    /// The commits that must be there already, each with a line about it.
    pub(crate) prerequisites: Vec<(ObjectId, BString)>,
    /// What is in it, by names that are full.
    pub(crate) refs: Vec<(String, ObjectId)>,
}

/// Returns true if a file that begins with `text` is a bundle.
pub(crate) fn is_bundle(text: &[u8]) -> bool {
    text.starts_with(VERSION_2) || text.starts_with(VERSION_3)
}

/// Returns true if a file that begins with `text` is one that we have exported.
pub(crate) fn is_export(text: &[u8]) -> bool {
    let header = text.find(b"\n\n").and_then(|at| Header::parse(&text[..at + 2]).ok());
    header.is_some_and(|header| header.find(refname::EXPORT).is_some())
}

/// Returns what to do with a file that begins with `text` and is of another format that we export; none if it is another file.
pub(crate) fn other_use(text: &[u8]) -> Option<&'static str> {
    let is_archive = text.get(257..262) == Some(b"ustar");
    let is_mail = text.starts_with(b"From ");
    is_mail
        .then_some("these are patches: 'git am --keep-cr <file>' applies them")
        .or_else(|| is_archive.then_some("it is an archive: 'tar -xf <file>' takes the files out"))
}

impl Header {
    /// Reads `text`, a header with the empty line at its end.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn parse(text: &[u8]) -> Result<Self, String> {
        let mut header = Self { format: Kind::Sha1, prerequisites: Vec::new(), refs: Vec::new() };
        let is_new = text.starts_with(VERSION_3);
        let rest = text.strip_prefix(VERSION_2).or_else(|| text.strip_prefix(VERSION_3)).ok_or("it is no bundle")?;
        let lines = rest.strip_suffix(b"\n\n").ok_or("its header has no end")?;
        if is_new && !lines.starts_with(OBJECT_FORMAT) {
            return Err("its header names no object format".to_owned());
        }
        for line in lines.split(|byte| *byte == b'\n') {
            let malformed = || format!("its header has '{}'", super::path_text::printable(line.as_bstr()));
            if let Some(name) = line.strip_prefix(OBJECT_FORMAT).filter(|_| is_new) {
                let format = name.to_str().ok().and_then(|name| name.parse().ok());
                header.format = format.ok_or_else(malformed)?;
            } else if let Some(rest) = line.strip_prefix(b"-") {
                let (id, about) = rest.split_once_str(" ").unwrap_or((rest, b""));
                header.prerequisites.push((header.id(id).ok_or_else(malformed)?, about.into()));
            } else {
                let (id, name) = line.split_once_str(" ").ok_or_else(malformed)?;
                let name = name.to_str().map_err(|_| malformed())?.to_owned();
                header.refs.push((name, header.id(id).ok_or_else(malformed)?));
            }
        }
        Ok(header)
    }

    fn id(&self, hex: &[u8]) -> Option<ObjectId> {
        let is_plain = hex.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        ObjectId::from_hex(hex).ok().filter(|id| is_plain && id.kind() == self.format)
    }

    /// Returns the header as it is written.
    pub(crate) fn text(&self) -> Vec<u8> {
        let mut text = match self.format {
            Kind::Sha1 => VERSION_2.to_vec(),
            format => [VERSION_3, OBJECT_FORMAT, format.to_string().as_bytes(), b"\n"].concat(),
        };
        text.extend(self.lines(|_| true));
        text.push(b'\n');
        text
    }

    /// Returns what the file says of itself among its objects: that it is of ours, and all that the header has.
    pub(crate) fn manifest(&self) -> Vec<u8> {
        [MANIFEST.as_bytes(), &self.lines(|name| name != refname::EXPORT)].concat()
    }

    fn lines(&self, is_wanted: impl Fn(&str) -> bool) -> Vec<u8> {
        let mut text = Vec::new();
        for (id, about) in &self.prerequisites {
            text.extend_from_slice(format!("-{id} ").as_bytes());
            text.extend_from_slice(about);
            text.push(b'\n');
        }
        for (name, id) in self.refs.iter().filter(|(name, _)| is_wanted(name)) {
            text.extend_from_slice(format!("{id} {name}\n").as_bytes());
        }
        text
    }

    /// Returns what the ref `name` leads to.
    pub(crate) fn find(&self, name: &str) -> Option<ObjectId> {
        self.refs.iter().find(|(known, _)| known == name).map(|(_, id)| *id)
    }
}

/// Returns true if `text`, which a file says of itself, is of another version than ours.
pub(crate) fn is_of_other_version(text: &[u8]) -> bool {
    text.starts_with(MANIFESTS) && !text.starts_with(MANIFEST.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "1111111111111111111111111111111111111111";
    const TWO: &str = "2222222222222222222222222222222222222222";

    fn header(format: Kind) -> Header {
        let id = |digit: &str| ObjectId::from_hex(digit.repeat(format.len_in_hex()).as_bytes()).expect("an id");
        let refs = [refname::HISTORY, refname::EXPORT].map(|name| (name.to_owned(), id("1")));
        Header { format, prerequisites: vec![(id("2"), "a subject".into()), (id("1"), "".into())], refs: refs.into() }
    }

    #[test]
    fn what_is_written_is_read() {
        for format in [Kind::Sha1, Kind::Sha256] {
            let header = header(format);
            assert_eq!(Header::parse(&header.text()), Ok(header.clone()), "{format}");
            assert_eq!(header.find(refname::EXPORT), Some(header.refs[1].1));
            assert!(is_export(&[&header.text(), &b"PACK"[..]].concat()) && !is_export(&header.manifest()));
            assert!(!header.manifest().contains_str(refname::EXPORT) && !is_of_other_version(&header.manifest()));
        }
        assert!(is_of_other_version(b"git-checkpoint export 2\n"));
    }

    #[rstest::rstest]
    #[case::none("", false)]
    #[case::signature("# v2 git bundle\n", false)]
    #[case::version_4("# v4 git bundle\nONE refs/x\n\n", false)]
    #[case::no_end("# v2 git bundle\nONE refs/x\n", false)]
    #[case::whole("# v2 git bundle\n-TWO\nONE refs/x\n\n", true)]
    #[case::short_id("# v2 git bundle\n11 refs/x\n\n", false)]
    #[case::capitals("# v2 git bundle\nABCDEFABCDEFABCDEFABCDEFABCDEFABCDEFABCD refs/x\n\n", false)]
    #[case::capability_of_version_3("# v2 git bundle\n@object-format=sha1\nONE refs/x\n\n", false)]
    #[case::filter("# v3 git bundle\n@filter=blob:none\nONE refs/x\n\n", false)]
    #[case::ids_of_another_kind("# v3 git bundle\n@object-format=sha256\nONE refs/x\n\n", false)]
    #[case::version_3_without_it("# v3 git bundle\nONE refs/x\n\n", false)]
    #[case::version_3("# v3 git bundle\n@object-format=sha1\nONE refs/x\n\n", true)]
    #[case::no_name("# v2 git bundle\nONE\n\n", false)]
    fn headers_are_read(#[case] text: &str, #[case] expected: bool) {
        let text = text.replace("ONE", ONE).replace("TWO", TWO);
        assert_eq!(Header::parse(text.as_bytes()).is_ok(), expected);
    }
}
