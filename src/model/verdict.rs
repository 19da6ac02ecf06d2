//! Whether a path may be changed by a restore, and why not.

use std::fmt;

use bstr::{BString, ByteSlice as _};

use super::{change::Mode, manifest::Reason, path_text, step::Step};

/// Why a path is left as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
    /// A human changed it after the checkpoint.
    Human,
    /// Another session changed it after the checkpoint.
    Session(String),
    /// An agent of unknown session changed it after the checkpoint.
    Agent,
    /// It changed after the checkpoint, by whom is not known.
    Unknown,
    /// HEAD has another version of it than the base commit of the checkpoint.
    Committed,
    /// The same, and it has changes that no commit has.
    CommittedInPart,
    /// It changed after the restore that is being undone.
    Since,
    /// Its entry in the index changed after that restore.
    StagedSince,
    /// The ignore rules cover it, now or at the time of the checkpoint.
    Ignored,
    /// It makes this agent call us, which the restore would end.
    Installed(String),
    /// It is not in a checkpoint, so it could not be brought back; and why it was left out, if that is known.
    Skipped(Option<Reason>),
    /// Something that is not part of the plan has its place.
    InTheWay,
    /// It is not as it was when the restore began.
    UnderWay,
    /// The same, and another version that no checkpoint holds has this path now.
    KeptAs(BString),
    /// It belongs to a repository inside the worktree.
    InNested,
    /// It is a submodule or another repository.
    Nested,
    /// It was a repository that is no submodule, and is gone.
    RepositoryGone,
    /// It is a submodule whose files are not there.
    SubmoduleGone,
    /// A directory on the way to it is a symbolic link.
    BelowLink,
    /// Its directory is not checked out.
    Sparse,
    /// Git does not allow such a path.
    Invalid,
    /// The operating system does not let us.
    Denied,
    /// Its conversion failed.
    Unconvertible,
}

impl Why {
    /// Returns the path at which another version of the file was kept, if there is one.
    pub fn kept_as(&self) -> Option<&BString> {
        if let Self::KeptAs(path) = self { Some(path) } else { None }
    }

    /// Returns true if the path is only left because of who changed it, so that a restore of everything takes it.
    pub(crate) fn yields_to_all(&self) -> bool {
        let is_of_others = matches!(self, Self::Human | Self::Session(_) | Self::Agent | Self::Unknown);
        is_of_others || self.is_for_commits() || matches!(self, Self::Since | Self::StagedSince)
    }

    /// Returns true if every restore leaves the path as it is, because its files are in no checkpoint, or it has an agent's hooks.
    pub(crate) fn is_of_every_restore(&self) -> bool {
        matches!(self, Self::Installed(_) | Self::InNested | Self::Nested)
    }

    /// Returns true if the path is left because commits have changed it.
    pub(crate) fn is_for_commits(&self) -> bool {
        matches!(self, Self::Committed | Self::CommittedInPart)
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Session(id) => return write!(f, "changed by session '{id}'"),
            Self::Installed(agent) => return write!(f, "has the hooks of {agent}"),
            Self::Skipped(Some(reason)) => {
                let (why, setting) = (reason.as_str(), reason.setting().map(|setting| format!(", {setting}")));
                return write!(f, "skipped: {why}{}", setting.unwrap_or_default());
            }
            Self::KeptAs(path) => {
                return write!(f, "changed under way; another version is in '{}'", path_text::escape(path.as_bstr()));
            }
            Self::Human => "changed by a human since",
            Self::Agent => "changed by another agent since",
            Self::Unknown => "changed since, by whom is not known",
            Self::Committed => "changed by commits since",
            Self::CommittedInPart => "changed since, in commits and uncommitted",
            Self::Since => "changed since the restore",
            Self::StagedSince => "in the index: changed since the restore",
            Self::Ignored => "ignored",
            Self::Skipped(None) => "skipped",
            Self::InTheWay => "in the way",
            Self::UnderWay => "changed under way",
            Self::InNested => "inside a nested repository",
            Self::Nested => "a nested repository",
            Self::RepositoryGone => "a repository that is gone; no checkpoint has its files",
            Self::SubmoduleGone => "a submodule that is not there",
            Self::BelowLink => "below a symbolic link",
            Self::Sparse => "outside the sparse checkout",
            Self::Invalid => "invalid name",
            Self::Denied => "permission denied",
            Self::Unconvertible => "its filter failed, or is not configured",
        })
    }
}

/// A path that is left as it is, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Left {
    /// The path.
    pub path: BString,
    /// Why.
    pub why: Why,
}

/// What is known of a path besides its content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    /// True if git allows no such name.
    pub is_invalid: bool,
    /// True if it is in a nested repository, now or at the time of the checkpoint.
    pub is_in_nested: bool,
    /// Set if the checkpoint has a repository there, and there is none.
    pub gone: Option<Why>,
    /// True if the checkpoint left it out, or a save would now.
    pub is_skipped: bool,
    /// Why, if that is known.
    pub skipped: Option<Reason>,
    /// True if sparse checkout leaves it out, and it does not exist.
    pub is_sparse: bool,
    /// True if the ignore rules cover it, now or at the time of the checkpoint.
    pub is_ignored: bool,
    /// The agent that would not call us any more; set unless a pathspec is its very name.
    pub installed: Option<String>,
    /// Set if another author changed it, and no pathspec names it.
    pub foreign: Option<Why>,
}

/// What becomes of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It may be taken.
    Go,
    /// Leave it: it must not be changed.
    Keep(Why),
    /// It was to be taken, and cannot be.
    Refuse(Why),
}

/// Returns what becomes of `step`, given `facts`.
pub(crate) fn decide(step: &Step, facts: &Facts) -> Verdict {
    if facts.is_invalid {
        return Verdict::Refuse(Why::Invalid);
    }
    let is_delete = step.after.is_none();
    let rules = [
        (step.modes().any(|mode| mode == Mode::Gitlink), Why::Nested),
        (facts.is_in_nested, Why::InNested),
        (facts.is_skipped, Why::Skipped(facts.skipped)),
        (facts.is_sparse, Why::Sparse),
        // Writing over an existing ignored file is refused later: no checkpoint has its bytes.
        (is_delete && facts.is_ignored, Why::Ignored),
    ];
    let rule = rules.into_iter().find(|(applies, _)| *applies).map(|(_, why)| why);
    let rule = facts.gone.clone().or(rule);
    let installed = || facts.installed.clone().map(Why::Installed);
    rule.or_else(installed).or_else(|| facts.foreign.clone()).map_or(Verdict::Go, Verdict::Keep)
}

#[cfg(test)]
mod tests {
    use gix::ObjectId;

    use super::*;
    use crate::model::{change::Leaf, step::Content};

    fn content(byte: u8, mode: Mode) -> Content {
        Content { leaf: Leaf { id: ObjectId::from_bytes_or_panic(&[byte; 20]), mode }, raw: None }
    }

    fn step(path: &str, before: u8, after: u8) -> Step {
        let side = |byte| (byte != 0).then(|| content(byte, Mode::File));
        Step { path: path.into(), before: side(before), after: side(after) }
    }

    fn moded(path: &str, before: Option<Mode>, after: Option<Mode>) -> Step {
        let side = |mode: Option<Mode>| mode.map(|mode| content(1, mode));
        Step { path: path.into(), before: side(before), after: side(after) }
    }

    const NOTHING: Facts = Facts {
        is_invalid: false,
        is_in_nested: false,
        gone: None,
        is_skipped: false,
        skipped: None,
        is_sparse: false,
        is_ignored: false,
        installed: None,
        foreign: None,
    };

    #[rstest::rstest]
    #[case::plain_write(step("f", 1, 2), NOTHING, Verdict::Go)]
    #[case::plain_delete(step("f", 1, 0), NOTHING, Verdict::Go)]
    #[case::invalid_beats_all(step("f", 1, 2), Facts { is_invalid: true, is_skipped: true, ..NOTHING }, Verdict::Refuse(Why::Invalid))]
    #[case::ignored_delete(step("f", 1, 0), Facts { is_ignored: true, ..NOTHING }, Verdict::Keep(Why::Ignored))]
    #[case::ignored_write(step("f", 1, 2), Facts { is_ignored: true, ..NOTHING }, Verdict::Go)]
    #[case::skipped(step("f", 0, 2), Facts { is_skipped: true, ..NOTHING }, Verdict::Keep(Why::Skipped(None)))]
    #[case::skipped_with_reason(step("f", 0, 2), Facts { is_skipped: true, skipped: Some(Reason::TooLarge), ..NOTHING }, Verdict::Keep(Why::Skipped(Some(Reason::TooLarge))))]
    #[case::skipped_delete(step("f", 1, 0), Facts { is_skipped: true, ..NOTHING }, Verdict::Keep(Why::Skipped(None)))]
    #[case::nested(step("n/f", 1, 0), Facts { is_in_nested: true, ..NOTHING }, Verdict::Keep(Why::InNested))]
    #[case::gitlink(moded("n", None, Some(Mode::Gitlink)), NOTHING, Verdict::Keep(Why::Nested))]
    #[case::gitlink_gone(moded("n", Some(Mode::Gitlink), None), NOTHING, Verdict::Keep(Why::Nested))]
    #[case::gitlink_that_went(moded("n", None, Some(Mode::Gitlink)), Facts { gone: Some(Why::RepositoryGone), ..NOTHING }, Verdict::Keep(Why::RepositoryGone))]
    #[case::gitlink_to_file(moded("n", Some(Mode::Gitlink), Some(Mode::File)), NOTHING, Verdict::Keep(Why::Nested))]
    #[case::sparse(step("f", 1, 2), Facts { is_sparse: true, ..NOTHING }, Verdict::Keep(Why::Sparse))]
    #[case::installed(step("f", 1, 0), Facts { installed: Some("x".into()), foreign: Some(Why::Human), ..NOTHING }, Verdict::Keep(Why::Installed("x".into())))]
    #[case::installed_write(step("f", 0, 1), Facts { installed: Some("x".into()), is_ignored: true, ..NOTHING }, Verdict::Keep(Why::Installed("x".into())))]
    #[case::human(step("f", 1, 2), Facts { foreign: Some(Why::Human), ..NOTHING }, Verdict::Keep(Why::Human))]
    #[case::safety_before_scope(step("f", 1, 0), Facts { is_ignored: true, foreign: Some(Why::Human), ..NOTHING }, Verdict::Keep(Why::Ignored))]
    fn decides(#[case] step: Step, #[case] facts: Facts, #[case] expected: Verdict) {
        assert_eq!(decide(&step, &facts), expected);
    }
}
