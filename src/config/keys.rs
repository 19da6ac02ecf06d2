//! The known keys as data: name, type, default, and what the project's committed file may do to each.
//!
//! `config/default.toml` is what people read, with a comment on each key. It has the same defaults, but the program starts too
//! often to parse it each time. Tests hold both and the man page together.

use super::{kind::Kind, value::Value};
use crate::model::likely;

/// One setting.
#[derive(Debug)]
pub(crate) struct Key {
    /// The name, with a dot between table and key.
    pub name: &'static str,
    /// What its values look like.
    pub(super) kind: Kind,
    /// What it is where no layer says anything.
    pub(super) default: Fixed,
    /// What the project's file may do to it.
    pub(super) trust: Trust,
}

/// A [`Value`] as a constant.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fixed {
    /// `true`.
    Yes,
    /// `false`.
    No,
    /// A whole number.
    Number(i64),
    /// A string: text, a choice, a size or a duration.
    Words(&'static str),
    /// A list of strings.
    Several(&'static [&'static str]),
}

/// What the project's file may do: anyone who can commit writes it, so it must not run commands that the user has not approved,
/// weaken redaction, add or enable a push target, change which directories are protected, leave files out of checkpoints
/// or make `prune` drop any.
#[derive(Clone, Copy, Debug)]
pub(super) enum Trust {
    /// Set it.
    Free,
    /// Move it towards the first of these, from what the layers below say.
    Stricter(&'static [&'static str]),
    /// Raise the limit, from what the layers below say; 0 is no limit.
    Higher,
    /// Lower the threshold, from what the layers below say.
    Lower,
    /// Set commands, of which none runs before the user has approved exactly these.
    Approved,
    /// Nothing.
    Never,
}

use Fixed::{No, Number, Several, Words, Yes};
use Kind::{Bool, Choice, Count, Duration, List, Prices, Size, Text};
use Trust::{Approved, Free, Higher, Lower, Never, Stricter};

/// Every known key, in the order of `config/default.toml`.
pub(crate) const KEYS: &[Key] = &[
    key("enabled", Bool, Yes, Free),
    key("enable-multisession-warning", Bool, No, Free),
    key("storage", Choice(&["worktree", "session"]), Words("worktree"), Free),
    key("link", Choice(&["trailer", "none"]), Words("trailer"), Free),
    key("concurrency", Choice(&["refuse", "strict", "warn", "off"]), Words("refuse"), Free),
    key("overlap", Choice(&["off", "warn", "ask"]), Words("warn"), Free),
    key("stale-after", Duration, Words("30m"), Free),
    key("lock-timeout", Duration, Words("10s"), Free),
    key("jj", Choice(&["detect", "manage", "off"]), Words("detect"), Stricter(&["off", "detect", "manage"])),
    key("save.max-file-size", Size, Words("10 MiB"), Higher),
    key("save.max-untracked-files", Count, Number(5000), Higher),
    key("save.min-free-space", Size, Words("512 MiB"), Lower),
    key("save.exclude", List, Several(&[]), Never),
    key("save.protected-paths", List, Several(&["/", "~", "~/Desktop", "~/Documents", "~/Downloads"]), Never),
    key("archive.keep-days", Count, Number(30), Never),
    key("archive.keep-count", Count, Number(0), Never),
    key("archive.max-size", Size, Number(0), Never),
    key("operations.keep-days", Count, Number(30), Never),
    key("operations.keep-count", Count, Number(1000), Never),
    key(
        "transcript.store",
        Choice(&["full", "prompts", "none"]),
        Words("full"),
        Stricter(&["none", "prompts", "full"]),
    ),
    key("transcript.redact", Bool, Yes, Stricter(&["true", "false"])),
    key("transcript.max-size", Size, Words("50 MiB"), Free),
    key("attribution.max-agent-percentage", Count, Number(100), Lower),
    key("attribution.max-unknown-percentage", Count, Number(0), Lower),
    key(
        "commit.disclosure",
        Choice(&["off", "assisted-by", "generated-by"]),
        Words("off"),
        Stricter(&["generated-by", "assisted-by", "off"]),
    ),
    key("ci.max-agent-percentage", Count, Number(100), Free),
    key("ci.max-unknown-percentage", Count, Number(0), Free),
    key("ci.disclosure-trailers", List, Several(&[]), Free),
    key("ci.review-trailers", List, Several(&[]), Free),
    key("ci.human-paths", List, Several(&[]), Free),
    key("push.auto", Bool, No, Stricter(&["false", "true"])),
    key("push.remote", Text, Words(""), Never),
    key("push.transcripts", Bool, No, Stricter(&["false", "true"])),
    key("remote.timeout", Duration, Words("2m"), Never),
    key("remote.max-fetch-size", Size, Words("2 GiB"), Never),
    key("agents.pre-tool-scan", Duration, Words("0s"), Free),
    key("agents.transcript-dirs", List, Several(&[]), Never),
    key("worktree.dir", Text, Words(".."), Never),
    key("worktree.name-template", Text, Words("{repo}-wt-{name}"), Free),
    key("worktree.max", Count, Number(32), Free),
    key("worktree.roots", List, Several(&[]), Never),
    key("worktree.setup", List, Several(&[]), Approved),
    key("worktree.teardown", List, Several(&[]), Approved),
    key("round.mode", Choice(&["auto", "worktree", "isolated", "legacy"]), Words("auto"), Never),
    key("round.branch-prefix", Text, Words("agents"), Free),
    key("round.scratch", Text, Words(".checkpoint_scratch"), Never),
    key("round.archive", Text, Words(".scratch_archive"), Never),
    key("round.mirror", Choice(&["none", "tracked", "all"]), Words("none"), Never),
    key("round.branches", Choice(&["keep", "retire", "delete"]), Words("keep"), Never),
    key("usage.count", Bool, Yes, Stricter(&["false", "true"])),
    key("usage.prices", Prices, Several(&[]), Never),
    key("usage.currency", Text, Words("USD"), Never),
    key("ui.color", Choice(&["auto", "always", "never"]), Words("auto"), Free),
    key("ui.pager", Text, Words(""), Never),
];

/// The old name of `enable-multisession-warning`, with the opposite meaning.
pub(super) const INVERTED: &str = "disable-multisession-warning";

/// What [`INVERTED`] became.
pub(super) const INVERTED_NOW: &str = "enable-multisession-warning";

/// What follows `GIT_CHECKPOINT_` in variables that are no settings.
pub(super) const RESERVED_VARIABLES: &[&str] =
    &["WORKTREE", "SESSION", "LOG", "MAIN", "BRANCH", "PORT", "ROUND", "NUMBER"];

const fn key(name: &'static str, kind: Kind, default: Fixed, trust: Trust) -> Key {
    Key { name, kind, default, trust }
}

/// Returns the key called `name`.
pub(crate) fn find(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}

/// Returns whether `name` is a table of the settings.
pub(super) fn is_table(name: &str) -> bool {
    KEYS.iter().any(|key| key.name.split_once('.').is_some_and(|(table, _)| table == name))
}

/// Returns the key that a git config variable below `checkpoint.` names: git compares without regard to
/// capitals, and its own names have no dashes (`checkpoint.lockTimeout`).
pub(super) fn find_git(name: &str) -> Option<&'static str> {
    let plain = |name: &str| name.to_ascii_lowercase().replace('-', "");
    let wanted = plain(name);
    all_names().find(|known| plain(known) == wanted)
}

/// Returns the key that the variable `GIT_CHECKPOINT_<suffix>` names.
pub(super) fn find_variable(suffix: &str) -> Option<&'static str> {
    all_names().find(|known| known.to_ascii_uppercase().replace(['.', '-'], "_") == suffix)
}

/// Returns the key that `name` was probably meant to be.
pub(crate) fn suggest(name: &str) -> Option<&'static str> {
    let wanted = name.to_ascii_lowercase().replace('_', "-");
    let distance = |key: &Key| {
        let whole = likely::slips(&wanted, key.name);
        let leaf = key.name.rsplit('.').next().unwrap_or(key.name);
        // A key outside its table is a likely slip, but the same word in full is likelier still.
        if wanted.contains('.') { whole } else { whole.min(likely::slips(&wanted, leaf) + 1) }
    };
    let (nearest, key) = KEYS.iter().map(|key| (distance(key), key)).min_by_key(|(distance, _)| *distance)?;
    likely::are_few(nearest, &wanted).then_some(key.name)
}

fn all_names() -> impl Iterator<Item = &'static str> {
    KEYS.iter().map(|key| key.name).chain([INVERTED])
}

impl Fixed {
    /// Returns the value.
    pub(super) fn value(self) -> Value {
        match self {
            Yes => Value::Bool(true),
            No => Value::Bool(false),
            Number(number) => Value::Integer(number),
            Words(text) => Value::Text(text.to_owned()),
            Several(items) => Value::List(items.iter().map(|item| (*item).to_owned()).collect()),
        }
    }
}

impl Key {
    /// Returns the values that the setting accepts if they can be listed; else nothing.
    pub(crate) fn choices(&self) -> &'static [&'static str] {
        match self.kind {
            Bool => &["true", "false"],
            Choice(names) => names,
            Count | Size | Duration | Text | List | Prices => &[],
        }
    }

    /// Returns whether the project's file may set `value` where the layers below say `below`.
    pub(super) fn is_allowed_in_project(&self, value: &Value, below: &Value) -> bool {
        let rank = |order: &[&str], value: &Value| order.iter().position(|name| *name == value.to_string());
        let limit = |value: &Value| value.as_number().map(|number| if number == 0 { u64::MAX } else { number });
        match self.trust {
            Free | Approved => true,
            Never => false,
            Higher => limit(value) >= limit(below),
            Lower => value.as_number() <= below.as_number(),
            Stricter(order) => rank(order, value).is_some_and(|new| rank(order, below).is_some_and(|old| new <= old)),
        }
    }

    /// Returns whether `value` in the project's file says nothing: no commands in place of the user's own would leave these out, and
    /// nothing of it would have to be approved.
    pub(super) fn is_void_in_project(&self, value: &Value) -> bool {
        matches!(self.trust, Approved) && value.is_empty_list()
    }

    /// Returns whether the project's file may have some other value.
    pub(super) fn is_for_project(&self) -> bool {
        matches!(self.trust, Free | Approved)
    }

    /// Returns whether the project's file may set `value` for some values of the layers below. The loosest value is
    /// excluded: it could never have an effect.
    pub(super) fn is_worth_setting_in_project(&self, value: &Value) -> bool {
        match self.trust {
            Free | Approved | Higher | Lower => true,
            Never => false,
            Stricter(order) => order.last().is_some_and(|loosest| *loosest != value.to_string()),
        }
    }

    /// Returns whether a bad value in the project's file is ignored as the whole key might be.
    pub(super) fn is_restricted_in_project(&self) -> bool {
        !matches!(self.trust, Free)
    }
}
