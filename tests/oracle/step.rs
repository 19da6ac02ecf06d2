//! The steps of a history, their text, and the strategy that makes them up.

use proptest::{collection, prelude::*, sample, strategy::BoxedStrategy};

/// Who does a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    Person,
    /// An agent's session.
    Agent(u8),
}

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Insert,
    Change,
    Delete,
    Create,
    Remove,
    Format,
    Save,
    Commit,
    CommitPath,
    CommitStaged,
    CommitPart,
    EditAndCommit,
    Amend,
    Worktree,
    ResetSoft,
    ResetMixed,
    ResetHard,
    StashPush,
    StashPop,
    Branch,
    Checkout,
    Merge,
    MergeSquash,
    Rebase,
    Fixup,
    Reorder,
    Pick,
    PickBare,
    Am,
    Revert,
    GitMv,
    Mv,
    /// A file is moved, and another one takes its name.
    MvTaken,
    /// A file is moved over another one.
    MvOnto,
    /// Lines are cut out of a file and added to another one.
    Cut,
    /// Lines are added to another file, someone makes a new file, and then the lines are cut out.
    CutLater,
    CheckoutPath,
    /// The same from another branch.
    CheckoutOther,
    Restore,
    Undo,
}

/// Each kind with its name, the set it belongs to, and how often it is chosen.
pub(super) const KINDS: &[(Kind, &str, &str, u32)] = &[
    (Kind::Insert, "insert", "edit", 6),
    (Kind::Change, "change", "edit", 3),
    (Kind::Delete, "delete", "edit", 2),
    (Kind::Create, "create", "edit", 1),
    (Kind::Remove, "remove", "edit", 1),
    (Kind::Format, "format", "format", 1),
    (Kind::Save, "save", "edit", 1),
    (Kind::Commit, "commit", "commit", 3),
    (Kind::CommitPath, "commit-path", "commit", 1),
    (Kind::CommitStaged, "commit-staged", "commit", 1),
    (Kind::CommitPart, "commit-part", "commit", 1),
    (Kind::EditAndCommit, "edit-and-commit", "commit", 1),
    (Kind::Amend, "amend", "amend", 2),
    (Kind::Worktree, "worktree", "worktree", 2),
    (Kind::ResetSoft, "reset-soft", "reset", 2),
    (Kind::ResetMixed, "reset-mixed", "reset", 2),
    (Kind::ResetHard, "reset-hard", "reset", 2),
    (Kind::StashPush, "stash-push", "stash", 2),
    (Kind::StashPop, "stash-pop", "stash", 2),
    (Kind::Branch, "branch", "branch", 2),
    (Kind::Checkout, "checkout", "branch", 2),
    (Kind::Merge, "merge", "merge", 2),
    (Kind::MergeSquash, "merge-squash", "squash", 2),
    (Kind::Rebase, "rebase", "rebase", 2),
    (Kind::Fixup, "fixup", "fixup", 2),
    (Kind::Reorder, "reorder", "reorder", 2),
    (Kind::Pick, "pick", "pick", 2),
    (Kind::PickBare, "pick-bare", "pick-bare", 2),
    (Kind::Am, "am", "am", 2),
    (Kind::Revert, "revert", "revert", 2),
    (Kind::GitMv, "git-mv", "rename", 2),
    (Kind::Mv, "mv", "rename", 2),
    (Kind::MvTaken, "mv-taken", "replace", 1),
    (Kind::MvOnto, "mv-onto", "replace", 1),
    (Kind::Cut, "cut", "cut", 1),
    (Kind::CutLater, "cut-later", "cut-later", 1),
    (Kind::CheckoutPath, "checkout-path", "checkout-path", 2),
    (Kind::CheckoutOther, "checkout-other", "checkout-other", 1),
    (Kind::Restore, "restore", "restore", 2),
    (Kind::Undo, "undo", "restore", 1),
];

/// The bits of [`Step::how`] that are set if an edit types a line that others type, too.
const COMMON: u8 = 0b11_0000;

/// One step. What its numbers mean depends on the kind and on the repository; a step that does not fit does nothing, so
/// that any step may be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) kind: Kind,
    pub(super) who: Who,
    /// Which of the files, branches or checkpoints that are there.
    pub(super) which: u8,
    /// Where in the file, of 256.
    pub(super) at: u8,
    /// How many lines.
    pub(super) size: u8,
    /// Ways to do it, a bit each.
    pub(super) how: u8,
}

/// Which steps there are, and who does them.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    pub(super) kinds: Vec<Kind>,
    /// Agents run git's commands, too.
    pub(super) agents_run_git: bool,
    /// People edit during an agent's turn.
    pub(super) amid: bool,
    /// Two sessions have turns at the same time.
    pub(super) together: bool,
    /// All type lines that others type, too.
    pub(super) common: bool,
    /// Git runs no hooks.
    pub(super) without_hooks: bool,
}

impl Choice {
    /// Returns what `text` names: sets and kinds, `agents-run-git`, `amid`, `together`, `common`, `without-hooks`, or `all` (with
    /// hooks); `-` before a name takes it out again. `all` leaves out `cut-later`: the authors of lines are not known if a person moves
    /// committed ones in this way, and a commit takes only one of the files.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut choice = Self {
            kinds: Vec::new(),
            agents_run_git: false,
            amid: false,
            together: false,
            common: false,
            without_hooks: false,
        };
        for word in text.split([',', ' ']).filter(|word| !word.is_empty()) {
            let (name, is_in) = word.strip_prefix('-').map_or((word, true), |name| (name, false));
            let named = |(_, kind, set, _): &&(Kind, &str, &str, u32)| {
                name == "all" && *kind != "cut-later" || *kind == name || *set == name
            };
            let kinds: Vec<Kind> = KINDS.iter().filter(named).map(|it| it.0).collect();
            match name {
                "agents-run-git" => choice.agents_run_git = is_in,
                "amid" => choice.amid = is_in,
                "together" => choice.together = is_in,
                "common" => choice.common = is_in,
                "without-hooks" => choice.without_hooks = is_in,
                _ if kinds.is_empty() => return None,
                _ => {}
            }
            if name == "all" {
                (choice.agents_run_git, choice.amid, choice.together, choice.common) = (is_in, is_in, is_in, is_in);
            }
            choice.kinds.retain(|kind| !kinds.contains(kind));
            choice.kinds.extend(kinds.into_iter().filter(|_| is_in));
        }
        Some(choice)
    }

    /// Returns the histories with as many steps as `lengths` says.
    pub(super) fn histories(&self, lengths: std::ops::RangeInclusive<usize>) -> BoxedStrategy<Vec<Step>> {
        collection::vec(self.step(), lengths).boxed()
    }

    fn step(&self) -> impl Strategy<Value = Step> + use<> {
        let weighted = KINDS.iter().filter(|it| self.kinds.contains(&it.0));
        let kinds: Vec<Kind> = weighted.flat_map(|it| std::iter::repeat_n(it.0, it.3 as usize)).collect();
        let who =
            sample::select(vec![Who::Person, Who::Person, Who::Person, Who::Agent(1), Who::Agent(1), Who::Agent(2)]);
        let (agents_run_git, common) = (self.agents_run_git, self.common);
        (sample::select(kinds), who, any::<u8>(), any::<u8>(), 1..=4_u8, any::<u8>()).prop_map(
            move |(kind, who, which, at, size, how)| {
                let who = if agents_run_git || kind.is_edit() { who } else { Who::Person };
                let how = if common || !kind.is_edit() { how } else { how & !COMMON };
                Step { kind, who, which, at, size, how }
            },
        )
    }
}

impl Step {
    /// Returns true if a line is typed that others type, too.
    pub(super) fn has_common_line(self) -> bool {
        self.how & COMMON == COMMON
    }
}

impl Kind {
    /// Returns true if git has no part in it.
    pub(super) fn is_edit(self) -> bool {
        ["edit", "format", "cut", "cut-later"].contains(&self.entry().2) || self == Self::EditAndCommit
    }

    fn entry(self) -> &'static (Self, &'static str, &'static str, u32) {
        KINDS.iter().find(|it| it.0 == self).expect("all are listed")
    }
}

impl Who {
    /// Returns the name that begins each word the author types.
    pub(super) fn name(self) -> String {
        match self {
            Self::Person => "person".to_owned(),
            Self::Agent(number) => format!("s{number}"),
        }
    }
}

impl std::fmt::Display for Step {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { kind, who, which, at, size, how } = self;
        write!(out, "{} {} {which} {at} {size} {how}", kind.entry().1, who.name())
    }
}

/// Returns the steps of a history as [`parse`] reads them.
pub(super) fn text(steps: &[Step]) -> String {
    steps.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Returns the steps that `text` names.
pub(super) fn parse(text: &str) -> Option<Vec<Step>> {
    let step = |text: &str| {
        let words: Vec<&str> = text.split_whitespace().collect();
        let [kind, who, which, at, size, how] = *words.as_slice() else { return None };
        let kind = KINDS.iter().find(|it| it.1 == kind)?.0;
        let who = match who.strip_prefix('s') {
            Some(number) => Who::Agent(number.parse().ok()?),
            None => Who::Person,
        };
        let number = |text: &str| text.parse::<u8>().ok();
        Some(Step { kind, who, which: number(which)?, at: number(at)?, size: number(size)?, how: number(how)? })
    };
    text.split(';').map(str::trim).filter(|text| !text.is_empty()).map(step).collect()
}
