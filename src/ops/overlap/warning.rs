//! The warning to an agent before it changes a file that a live session in another worktree has changed.
//!
//! What each worktree has is what its last checkpoint has, or its HEAD: a hook has no time to look at all files, nor to open other
//! repositories.

use std::collections::BTreeSet;

use bstr::{BStr, BString, ByteSlice as _};
use gix::ObjectId;

use super::{
    compare::{Limits, of_pairs},
    found::{Maker, PathOverlap},
    makers,
    sides::{self, Saved},
};
use crate::{
    config::Overlap,
    error::Result,
    git::{
        Repo,
        registrations::{Place, Registration},
    },
    model::{
        both_changed::{Kind, pairs},
        change::Change,
        path_text::{escape, printable},
        session::Phase,
        three_way::Meeting,
    },
    ops::{Context, Worktree, guard, session_info},
};

/// How many files are named at once. What is beyond that is counted.
const NAMED: usize = 3;
/// Of how many paths that one call names, others are asked for.
const MOST_PATHS: usize = 64;
/// How many files are compared before one call: the agent waits for it, and so do the hooks of others.
const MOST_COMPARED: usize = 16;
/// How many characters of a path, a name or a prompt are shown.
const LONGEST: usize = 80;

/// What another session has done to a file that an agent is about to change.
struct News {
    path: BString,
    worktree: BString,
    /// A live session; none if that is not known yet.
    maker: Option<Maker>,
    /// How its change meets that in this worktree; none if the file was not changed here.
    meeting: Option<PathOverlap>,
}

/// Returns the warnings for `session` before it changes `paths`: what live sessions have done to them in other worktrees. Leaves out those
/// that it has got before, and notes these.
///
/// What cannot be compared is no trouble for the agent: `git checkpoint overlap` shows why.
pub(crate) fn before_change(worktree: &Worktree<'_>, session: &str, paths: &[BString]) -> Vec<String> {
    let is_alone = worktree.repo.worktree_id() == "main" && !worktree.repo.common_dir().join("worktrees").is_dir();
    if worktree.settings.overlap == Overlap::Off || paths.is_empty() || is_alone {
        return Vec::new();
    }
    let mut look = Look { worktree, session, left: MOST_COMPARED, news: Vec::new(), without: Vec::new() };
    look.at_others(paths).unwrap_or_else(|error| tracing::warn!(%error, "cannot compare with other worktrees"));
    let Look { news, without, .. } = look;
    if !news.is_empty() || !without.is_empty() {
        let keys = news.iter().map(|it| it.key(session)).chain(without);
        worktree.edit_turns(|turns| turns.overlaps.extend(keys));
    }
    texts(&news)
}

/// What is looked at before a tool call.
struct Look<'w> {
    worktree: &'w Worktree<'w>,
    session: &'w str,
    /// How many more files may be compared.
    left: usize,
    news: Vec<News>,
    /// The digests of those changes that are of no live session.
    without: Vec<String>,
}

impl Look<'_> {
    /// Finds which of `paths` live sessions other than this one have changed in other worktrees, and how that meets the changes here.
    fn at_others(&mut self, paths: &[BString]) -> Result<()> {
        let repo = &self.worktree.repo;
        let here = Saved::of(repo, repo.worktree_id(), repo.head()?.id)?;
        let Some(head) = here.head else { return Ok(()) };
        let paths = &paths[..paths.len().min(MOST_PATHS)];
        for other in sides::others(repo)?.into_iter().filter(|it| it.place == Place::Worktree) {
            if self.left == 0 {
                break;
            }
            if let Err(error) = self.at(&other, (&here, head), paths) {
                tracing::warn!(%error, worktree = %other.id, "cannot compare with another worktree");
            }
        }
        Ok(())
    }

    fn at(&mut self, other: &Registration, (here, head): (&Saved, ObjectId), paths: &[BString]) -> Result<()> {
        let repo = &self.worktree.repo;
        let there = Saved::of(repo, other.id.as_bstr(), other.head.id)?;
        let Some(head_there) = there.head else { return Ok(()) };
        let mut differing_paths: Vec<BString> =
            differing(repo, here.tree_id, there.tree_id, paths)?.into_iter().map(|change| change.path).collect();
        // What was made by no live session is looked at again when the other worktree has another checkpoint.
        let is_known = |key: &String| self.worktree.turns().overlaps.contains(key);
        let without =
            |path: &BString| key(self.session, other.id.as_bstr(), path.as_bstr(), &there.tree_id.to_string());
        differing_paths.retain(|path| !is_known(&without(path)));
        if differing_paths.is_empty() {
            return Ok(());
        }
        // Without one merge base, `overlap` says that nothing is known.
        let [base] = repo.merge_bases(head, head_there)?[..] else { return Ok(()) };
        let base_tree_id = repo.tree_of_commit(base)?;
        let mut theirs = differing(repo, base_tree_id, there.tree_id, &differing_paths)?;
        theirs.truncate(self.left);
        self.left -= theirs.len();
        let ours = differing(repo, base_tree_id, here.tree_id, &differing_paths)?;
        let pairs = pairs(&ours, &theirs).sorted();
        let meetings = of_pairs(repo, &pairs, Limits::QUICK);
        let meeting = |change: &Change| {
            pairs.iter().zip(&meetings).find(|(pair, _)| pair.there == change).map(|(_, meeting)| meeting.clone())
        };
        let found = theirs.iter().map(|change| News {
            path: change.path.clone(),
            worktree: other.id.clone(),
            maker: None,
            meeting: meeting(change),
        });
        let mut found: Vec<News> = found.filter(|news| !is_known(&news.key(self.session))).collect();
        if found.is_empty() {
            return Ok(());
        }
        let wanted: Vec<&BString> = found.iter().map(|news| &news.path).collect();
        let made = makers::lately(repo, &wanted, there.tip.clone(), (head_there, base));
        for (at, maker) in made {
            if found[at].maker.is_none() && maker.id != self.session && is_live(self.worktree, &maker.id) {
                found[at].maker = Some(maker);
            }
        }
        let (news, others): (Vec<News>, Vec<News>) = found.into_iter().partition(|news| news.maker.is_some());
        self.without.extend(others.iter().map(|news| without(&news.path)));
        self.news.extend(news);
        Ok(())
    }
}

/// Returns how the trees differ in `paths`.
fn differing(repo: &Repo, before: ObjectId, after: ObjectId, paths: &[BString]) -> Result<Vec<Change>> {
    let mut changes = Vec::new();
    for path in paths.iter().collect::<BTreeSet<_>>() {
        let leaf = |tree_id| repo.find_leaf(tree_id, path.as_bstr());
        changes.extend(Change::between(path.clone(), leaf(before)?, leaf(after)?));
    }
    Ok(changes)
}

fn is_live(context: &Context, session: &str) -> bool {
    let session = session_info::peek(context, session).filter(|session| session.phase != Phase::Ended);
    session.is_some_and(|session| !guard::is_silent(context, session.process.as_ref(), session.last_seen))
}

impl News {
    fn key(&self, session: &str) -> String {
        let state = match self.meeting.as_ref().map(|meeting| meeting.state) {
            None => "changed",
            Some(Meeting::Clean) => "clean",
            Some(Meeting::Touching) => "touching",
            Some(Meeting::Conflict) => "conflict",
            Some(Meeting::Unknown) => "unknown",
        };
        key(session, self.worktree.as_bstr(), self.path.as_bstr(), state)
    }

    fn text(&self) -> String {
        let worktree = match self.worktree.as_bytes() {
            b"main" => "the main worktree".to_owned(),
            name => format!("the worktree '{}'", short(name.as_bstr())),
        };
        format!(
            "'{}' was changed in {worktree}{}{}",
            short(self.path.as_bstr()),
            self.maker.as_ref().map(by).unwrap_or_default(),
            self.meeting.as_ref().map_or("", words)
        )
    }
}

/// Returns who has made a change, in words.
fn by(maker: &Maker) -> String {
    let agent = maker.agent.iter().map(|agent| short(agent.as_bytes().as_bstr()));
    let prompt = maker.prompt.iter().map(|prompt| format!("'{}'", short(prompt.as_bytes().as_bstr())));
    let what: Vec<String> = agent.chain(prompt).collect();
    let what = if what.is_empty() { String::new() } else { format!(" ({})", what.join(", ")) };
    format!(" by the session {}{what}", short(maker.id.as_bytes().as_bstr()))
}

/// Returns the digest of what `session` need not hear again about the file at `path` in a worktree, as long as it is in this `state`. A
/// path may be long, and each hook reads the file that has these digests.
fn key(session: &str, worktree: &BStr, path: &BStr, state: &str) -> String {
    let text = format!("{session}\t{state}\t{}\t{}", escape(worktree), escape(path));
    let id = gix::objs::compute_hash(gix::hash::Kind::Sha1, gix::objs::Kind::Blob, text.as_bytes());
    id.map(|id| id.to_string()).unwrap_or(text)
}

/// Returns how the changes meet, in words.
fn words(meeting: &PathOverlap) -> &'static str {
    match (meeting.state, meeting.kind) {
        (Meeting::Clean, _) => ", in other lines than here",
        (Meeting::Touching, _) => ", in lines next to those changed here",
        (Meeting::Conflict, Some(Kind::Content | Kind::Added)) => ", in the same lines as here",
        (Meeting::Conflict, Some(Kind::Deleted)) => ": one of both has deleted it",
        (Meeting::Conflict, _) => ", and git cannot merge that with the change here",
        (Meeting::Unknown, _) => ", and the changes cannot be compared",
    }
}

/// Returns the texts for the agent, of bounded length.
fn texts(news: &[News]) -> Vec<String> {
    let mut texts: Vec<String> = news.iter().take(NAMED).map(News::text).collect();
    let more = news.len().saturating_sub(NAMED);
    let rest = if more == 0 { String::new() } else { format!("and {more} more; ") };
    if !texts.is_empty() {
        texts.push(format!("{rest}'git checkpoint overlap' shows what both worktrees have changed"));
    }
    texts
}

/// Returns `text` fit for one line of a message, cut after some characters.
fn short(text: &BStr) -> String {
    let text = printable(text);
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn news(path: &str, prompt: &str) -> News {
        let maker = Maker { id: "s1".into(), agent: Some("codex".into()), turn: Some(1), prompt: Some(prompt.into()) };
        News { path: path.into(), worktree: "side".into(), maker: Some(maker), meeting: None }
    }

    #[test]
    fn a_text_is_one_line_of_bounded_length() {
        let texts = texts(&[news("a\nb", "do\u{1b}[31m\u{202e}x"), news(&"p".repeat(5000), &"q".repeat(5000))]);
        assert_eq!(
            texts[0],
            "'a\\nb' was changed in the worktree 'side' by the session s1 (codex, 'do\\u{1b}[31m\\u{202e}x')"
        );
        assert!(texts[1].len() < 400 && texts.len() == 3, "{texts:?}");
    }

    #[test]
    fn many_files_are_counted() {
        let many: Vec<News> = (0..9).map(|n| news(&n.to_string(), "p")).collect();
        let texts = texts(&many);
        assert_eq!(texts.len(), NAMED + 1);
        assert_eq!(texts[NAMED], "and 6 more; 'git checkpoint overlap' shows what both worktrees have changed");
    }

    #[test]
    fn each_state_has_a_warning_of_its_own() {
        let one = news("a", "p");
        let mut other = news("a", "p");
        assert_eq!(one.key("s"), other.key("s"));
        assert_ne!(one.key("s"), other.key("t"));
        other.worktree = "another".into();
        assert_ne!(one.key("s"), other.key("s"));
    }
}
