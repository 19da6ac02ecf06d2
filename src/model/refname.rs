//! Names of our refs: the only place that spells `refs/checkpoints/`.

#[cfg(test)]
mod tests;

use bstr::{BStr, BString, ByteSlice as _};
use gix::ObjectId;

pub use super::ref_component::{decode_component, encode_component};

/// The namespace of everything we keep in a repository.
pub const PREFIX: &str = "refs/checkpoints/";
/// The namespace of live shadows.
pub const SHADOWS: &str = "refs/checkpoints/shadow/";
/// The namespace of shadows set aside.
pub const ARCHIVE: &str = "refs/checkpoints/archive/";
/// The namespace of what worktrees were when a turn began.
pub const PENDING: &str = "refs/checkpoints/pending/";
/// The namespace of verified checkpoints.
pub const VERIFIED: &str = "refs/checkpoints/verified/";
/// The namespace of checkpoints the user named.
pub const TAGS: &str = "refs/checkpoints/tags/";
/// The namespace of checkpoints that were shared, in remotes.
pub const SHARED: &str = "refs/checkpoints/shared/";
/// The namespace of the notes of checkpoints that were shared, in remotes: one ref for each checkpoint.
pub const SHARED_NOTES: &str = "refs/checkpoints/shared-notes/";
/// The namespace of refs that were fetched from remotes.
pub const FETCHED: &str = "refs/checkpoints-remote/";
/// How the names of both begin: of our refs, and of those that were fetched from remotes.
pub const OURS: &str = "refs/checkpoints";
/// The hint for records that are not here.
pub(crate) const FETCH: &str = "if a remote has the records, 'git checkpoint fetch <remote>' gets them";
/// The namespace of the operation logs. They are of this repository alone: no other clone can undo what they record.
pub const OPERATIONS: &str = "refs/checkpoints/operations/";
/// The namespace of what only removed worktrees lead to.
pub const REMOVED_WORKTREES: &str = "refs/checkpoints/removed/";
/// Follows the name of a worktree in that of a log which a removed one of this name has left.
const REMOVED: &str = "@/removed-";
/// The log of records.
pub const HISTORY: &str = "refs/checkpoints/history";
/// The notes of the user, as a tree of git-notes(1).
pub const NOTES: &str = "refs/checkpoints/notes";
/// What a person has decided about changed lines, as a tree in the form of notes.
pub const REVIEWS: &str = "refs/checkpoints/reviews";
/// The namespace of transcripts, one ref a month.
pub const TRANSCRIPTS: &str = "refs/checkpoints/transcripts/";
/// What a file that was exported has, in such a file.
pub const EXPORT: &str = "refs/checkpoints/export";
/// How the name of what was imported from a file begins where others have the name of a remote. Git allows no remote such a name.
const IMPORTED: &str = "import:";

/// The base commit of a shadow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Base {
    /// HEAD was at this commit.
    Commit(ObjectId),
    /// HEAD had no commit yet.
    Unborn,
}

impl Base {
    /// Returns the base for what HEAD points to.
    pub(crate) fn of_head(head: Option<ObjectId>) -> Self {
        head.map_or(Self::Unborn, Self::Commit)
    }

    /// Returns the base written as `text` by [`Display`](std::fmt::Display).
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "unborn" => Some(Self::Unborn),
            _ => ObjectId::from_hex(text.as_bytes()).ok().map(Self::Commit),
        }
    }

    /// Returns the commit; none if unborn.
    pub fn commit_id(self) -> Option<ObjectId> {
        match self {
            Self::Commit(id) => Some(id),
            Self::Unborn => None,
        }
    }
}

impl std::fmt::Display for Base {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Commit(id) => id.fmt(f),
            Self::Unborn => f.write_str("unborn"),
        }
    }
}

impl serde::Serialize for Base {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The name of a shadow: one ref per base and worktree, and one more for each session that has a shadow of its own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShadowName {
    /// Its base commit.
    pub base: Base,
    /// The worktree it belongs to: `main` or git's id of a linked worktree, as it is (not encoded).
    pub worktree: BString,
    /// The session that the shadow belongs to; none: it is the worktree's.
    pub session: Option<String>,
}

impl ShadowName {
    /// Returns the name of the shadow that `worktree` has on `base`.
    pub fn of_worktree(base: Base, worktree: &BStr) -> Self {
        Self { base, worktree: worktree.to_owned(), session: None }
    }

    /// Returns the name of the ref.
    pub fn to_ref(&self) -> String {
        match &self.session {
            None => format!("{SHADOWS}{}/{}", self.base, encode_component(self.worktree.as_bstr())),
            Some(session) => format!("{}{}", self.sessions(), encode_component(session.as_str().into())),
        }
    }

    /// Returns the namespace of the sessions' own shadows beside this one.
    ///
    /// No encoded name has an `@`, so that a file and a directory never want the same name.
    pub fn sessions(&self) -> String {
        format!("{SHADOWS}{}/{}@/", self.base, encode_component(self.worktree.as_bstr()))
    }

    /// Parses the ref `name`; none if it is no shadow's.
    pub fn from_ref(name: &str) -> Option<Self> {
        let (base, rest) = name.strip_prefix(SHADOWS)?.split_once('/')?;
        let (worktree, session) = match rest.split_once("@/") {
            None => (rest, None),
            Some((worktree, session)) => (worktree, Some(decode_component(session)?.to_str().ok()?.to_owned())),
        };
        Some(Self { base: Base::parse(base)?, worktree: decode_component(worktree)?, session })
    }
}

/// Returns the ref of a shadow set aside at `seconds` (Unix time) with `tip` as its last checkpoint.
pub fn archive_ref(seconds: i64, tip: ObjectId) -> String {
    format!("{ARCHIVE}{seconds}-{}", tip.to_hex_with_len(12))
}

/// Why nothing in an archived shadow waits to be taken up again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// All its work is in records.
    Condensed,
    /// Another shadow carries all of its work forward.
    Carried,
    /// An undo took it off its shadow. No agent wrote it.
    Undone,
}

impl Settled {
    fn suffix(self) -> &'static str {
        match self {
            Self::Condensed => "-condensed",
            Self::Carried => "-carried",
            Self::Undone => "-undone",
        }
    }
}

/// Returns the name of the archive ref `name` of a shadow that is `settled`.
pub fn settled_archive_ref(name: &str, settled: Settled) -> String {
    format!("{name}{}", settled.suffix())
}

/// Returns the name of the archive ref `name` where `tip` takes the place of its last checkpoint.
pub fn renamed_archive(name: &str, tip: ObjectId) -> Option<String> {
    let mut parts = name.strip_prefix(ARCHIVE)?.splitn(3, '-');
    let (seconds, _) = (parts.next()?.parse().ok()?, parts.next()?);
    let suffix = parts.next().map(|suffix| format!("-{suffix}")).unwrap_or_default();
    Some(archive_ref(seconds, tip) + &suffix)
}

/// Returns true if the archive ref `name` is of a shadow whose work is all in commits or in another shadow.
pub fn is_settled(name: &str) -> bool {
    let all = [Settled::Condensed, Settled::Carried, Settled::Undone];
    all.iter().any(|settled| name.ends_with(settled.suffix()))
}

/// Returns true if the archive ref `name` holds what an undo took off its shadow, and no agent wrote.
pub fn is_undone(name: &str) -> bool {
    name.ends_with(Settled::Undone.suffix())
}

/// Returns the ref that holds the state in which `worktree` was when the turn of `session` began. Encoded names contain no `@`, so the directory cannot have the name of an old ref ([`old_pending_ref`]).
pub fn pending_ref(worktree: &BStr, session: &str) -> String {
    format!("{PENDING}{}@/{}", encode_component(worktree), encode_component(session.into()))
}

/// Returns the ref that earlier versions kept the same in, one for all worktrees.
pub fn old_pending_ref(session: &str) -> String {
    format!("{PENDING}{}", encode_component(session.into()))
}

/// Returns true if the ref `name` is of what some worktree was when a turn of `session` began.
pub fn is_pending_of(name: &str, session: &str) -> bool {
    let rest = name.strip_prefix(PENDING).unwrap_or_default();
    rest.split_once("@/").map_or(rest, |(_, session)| session) == encode_component(session.into())
}

/// Returns when (Unix seconds) the shadow in the archive ref `name` was set aside.
pub fn archived_at(name: &str) -> Option<i64> {
    name.strip_prefix(ARCHIVE)?.split_once('-')?.0.parse().ok()
}

/// Returns the ref of the last verified checkpoint of `worktree`.
pub fn verified_ref(worktree: &BStr) -> String {
    format!("{VERIFIED}{}", encode_component(worktree))
}

/// Returns the ref of the operation log of `worktree`: its newest entry.
pub fn operations_ref(worktree: &BStr) -> String {
    format!("{OPERATIONS}{}", encode_component(worktree))
}

/// Returns the ref of the older part of that log. No encoded name has an `@`, so that a file and a directory never want the
/// same name.
pub fn older_operations_ref(worktree: &BStr) -> String {
    format!("{}@/older", operations_ref(worktree))
}

/// Returns the refs of the log that a removed worktree of the name `worktree` has left, and of its older part, set aside at
/// `seconds` (Unix time).
pub fn removed_operations_refs(worktree: &BStr, seconds: i64) -> [String; 2] {
    let name = format!("{}{REMOVED}{seconds}", operations_ref(worktree));
    [name.clone(), format!("{name}-older")]
}

/// Returns when (Unix seconds) the log of the ref `name` was set aside; none if it is a worktree's log.
pub fn operations_removed_at(name: &str) -> Option<i64> {
    let (_, rest) = name.strip_prefix(OPERATIONS)?.split_once(REMOVED)?;
    rest.strip_suffix("-older").unwrap_or(rest).parse().ok()
}

/// Returns the worktree that the ref `name` of an operation log belongs to.
pub fn worktree_of_operations(name: &str) -> Option<BString> {
    let rest = name.strip_prefix(OPERATIONS)?;
    decode_component(rest.split_once("@/").map_or(rest, |(worktree, _)| worktree))
}

/// Returns true if the ref `name` is of a log of records or transcripts, whose commits follow one another.
pub fn is_log(name: &str) -> bool {
    name == HISTORY || name.starts_with(TRANSCRIPTS)
}

/// Returns true if the ref `name` has texts of people in the form of notes.
pub fn is_notes(name: &str) -> bool {
    [NOTES, REVIEWS].contains(&name)
}

/// Returns true if the ref `name` is of a log of records that was fetched from a remote.
pub fn is_fetched_history(name: &str) -> bool {
    remote_of_fetched(name).is_some()
}

/// Returns the name of the remote from which the log of records in the ref `name` was fetched; none if it is no such ref.
pub fn remote_of_fetched(name: &str) -> Option<String> {
    fetched_log(name).filter(|(_, log)| log == HISTORY).map(|(remote, _)| remote)
}

/// Returns the name of the remote, and what the log is called there, if the ref `name` is of a log that was fetched from it.
pub fn fetched_log(name: &str) -> Option<(String, String)> {
    fetched_ref(name).filter(|(_, log)| log == HISTORY || transcripts_month(log).is_some())
}

/// Returns the name of the remote, and what the ref is called there, if the ref `name` follows one of a remote.
pub fn fetched_ref(name: &str) -> Option<(String, String)> {
    let (remote, rest) = name.strip_prefix(FETCHED)?.split_once('/')?;
    let remote = String::from_utf8(decode_component(remote)?.into()).ok()?;
    Some((remote, format!("{PREFIX}{rest}")))
}

/// Returns what stands for the name of a remote in refs with what was imported as `name`.
pub fn imported(name: &str) -> String {
    format!("{IMPORTED}{name}")
}

/// Returns what the user calls an import whose refs have `remote` for the name of a remote; none if it is a remote.
pub fn import_name(remote: &str) -> Option<&str> {
    remote.strip_prefix(IMPORTED)
}

/// Returns what the user calls the remote, or the import, that stands as `remote` in refs.
pub fn called(remote: &str) -> &str {
    import_name(remote).unwrap_or(remote)
}

/// Returns the ref that follows the log `name` of `remote`.
pub fn tracking_ref(remote: &str, name: &str) -> String {
    let rest = name.strip_prefix(PREFIX).unwrap_or(name);
    format!("{FETCHED}{}/{rest}", encode_component(remote.into()))
}

/// Returns the ref, in a remote, of the checkpoint `id`.
pub fn shared_ref(id: ObjectId) -> String {
    format!("{SHARED}{id}")
}

/// Returns the checkpoint that the ref `name` of a remote is of; none if it is another ref.
pub fn shared_id(name: &str) -> Option<ObjectId> {
    name.strip_prefix(SHARED).and_then(plain_id)
}

/// Returns the ref, in a remote, of the note of the checkpoint `id`.
pub fn shared_note_ref(id: ObjectId) -> String {
    format!("{SHARED_NOTES}{id}")
}

/// Returns the checkpoint of whose note the ref `name` of a remote is; none if it is another ref.
pub fn shared_note_id(name: &str) -> Option<ObjectId> {
    name.strip_prefix(SHARED_NOTES).and_then(plain_id)
}

fn plain_id(hex: &str) -> Option<ObjectId> {
    let is_plain = hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    ObjectId::from_hex(hex.as_bytes()).ok().filter(|_| is_plain)
}

/// Returns the name of the remote if the ref `name` leads to a shared checkpoint that was fetched from it: the ref of that, or a tag; or
/// to its note.
pub fn fetched_carrier(name: &str) -> Option<String> {
    let (remote, there) = fetched_ref(name)?;
    let is_carrier = shared_id(&there).is_some() || shared_note_id(&there).is_some() || tag_of_ref(&there).is_some();
    is_carrier.then_some(remote)
}

/// Returns the namespace of the checkpoints that were fetched from `remote`.
pub fn fetched_shared(remote: &str) -> String {
    tracking_ref(remote, SHARED)
}

/// Returns true if the operation log records the moves of the ref `name`: of what was fetched, only what was imported, since a file
/// may be gone.
pub fn is_recorded(name: &str) -> bool {
    if name.starts_with(FETCHED) {
        return fetched_ref(name).is_some_and(|(remote, _)| import_name(&remote).is_some());
    }
    name.starts_with(PREFIX) && !name.starts_with(OPERATIONS) && !name.starts_with(REMOVED_WORKTREES)
}

/// Returns the ref of what only the removed worktree `id` leads to.
pub fn removed_worktree_ref(id: &str) -> String {
    format!("{REMOVED_WORKTREES}{id}")
}

/// Returns the ref of the checkpoint that the user named `tag`.
pub fn tag_ref(tag: &str) -> String {
    format!("{TAGS}{}", encode_component(tag.into()))
}

/// Returns the tag of which `name` is the ref; none if it is another ref, or not as [`tag_ref`] writes it.
pub fn tag_of_ref(name: &str) -> Option<String> {
    decode_component(name.strip_prefix(TAGS)?)?.to_str().ok().map(str::to_owned)
}

/// Returns the ref of the transcripts that were written in `month` (six digits: year and month).
pub fn transcripts_ref(month: &str) -> String {
    format!("{TRANSCRIPTS}{month}")
}

/// Returns the month of the ref `name` if it holds transcripts.
pub fn transcripts_month(name: &str) -> Option<&str> {
    let is_digits = |month: &str| month.len() == 6 && month.bytes().all(|byte| byte.is_ascii_digit());
    name.strip_prefix(TRANSCRIPTS).filter(|month| is_digits(month) && matches!(month[4..].parse(), Ok(1..=12_u8)))
}
