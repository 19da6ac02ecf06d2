//! What an agent is told before it changes a file that a live session in another worktree has changed.

use std::collections::BTreeSet;

use bstr::{BStr, BString, ByteSlice as _};
use gix::ObjectId;

use super::{
    compare::of_pair,
    found::{Maker, PathOverlap},
    makers,
    sides::{self, Now},
};
use crate::{
    config::Overlap,
    error::Result,
    git::Repo,
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
/// How many characters of a path, a name or a prompt are shown.
const LONGEST: usize = 80;

/// What another session has done to a file that an agent is about to change.
struct News {
    path: BString,
    worktree: BString,
    maker: Maker,
    /// How its change meets that in this worktree; none if the file was not changed here.
    meeting: Option<PathOverlap>,
}

/// Returns what to tell `session` before it changes `paths`: what live sessions have done to them in other worktrees, as far as it was
/// not told before. Notes that it is told.
///
/// What each worktree has now is what its last checkpoint has: a hook has no time to look at all files. What cannot be read is in
/// `status`.
pub(crate) fn before_change(worktree: &Worktree<'_>, session: &str, paths: &[BString]) -> Vec<String> {
    if worktree.settings.overlap == Overlap::Off || paths.is_empty() {
        return Vec::new();
    }
    let mut news = Vec::new();
    for (id, root) in worktree.repo.other_worktrees() {
        match Repo::open(&root).and_then(|there| look(worktree, &there, session, paths)) {
            Ok(found) => news.extend(found.into_iter().map(|(path, maker, meeting)| News {
                path,
                worktree: id.clone(),
                maker,
                meeting,
            })),
            Err(error) => tracing::warn!(%error, "cannot compare with another worktree"),
        }
    }
    if news.is_empty() {
        return Vec::new();
    }
    let told: BTreeSet<String> = worktree.turns().told.into_iter().collect();
    news.retain(|it| !told.contains(&it.key(session)));
    worktree.edit_turns(|turns| turns.told.extend(news.iter().map(|it| it.key(session))));
    texts(&news)
}

type Found = (BString, Maker, Option<PathOverlap>);

/// Returns which of `paths` a live session other than `session` has changed in the worktree `there`, and how that meets the change
/// here.
fn look(context: &Context, there: &Repo, session: &str, paths: &[BString]) -> Result<Vec<Found>> {
    let (here, there) = (Now::of_checkpoints(&context.repo)?, Now::of_checkpoints(there)?);
    let base = sides::base(here, there)?;
    let theirs = changes(there, base, paths)?;
    if theirs.is_empty() {
        return Ok(Vec::new());
    }
    let ours = changes(here, base, paths)?;
    let pairs = pairs(&ours, &theirs);
    let mut found = Vec::new();
    for change in &theirs {
        let pair = pairs.iter().find(|pair| pair.there == change);
        if pair.is_none() && ours.iter().any(|own| own.path == change.path) {
            // Both have done the same.
            continue;
        }
        let makers = makers::of_paths(there, base, &BTreeSet::from([change.path.clone()]));
        let maker = makers.into_iter().find(|maker| maker.id != session && is_live(context, &maker.id));
        if let Some(maker) = maker {
            let meeting = pair.map(|pair| of_pair(pair, here.repo, there.repo));
            found.push((change.path.clone(), maker, meeting));
        }
    }
    Ok(found)
}

/// Returns how `now` differs from the commit `base` in `paths`.
fn changes(now: Now<'_>, base: ObjectId, paths: &[BString]) -> Result<Vec<Change>> {
    let tree_id = now.repo.tree_of_commit(base)?;
    let mut changes = Vec::new();
    for path in paths {
        let leaf = |tree_id| now.repo.find_leaf(tree_id, path.as_bstr());
        changes.extend(Change::between(path.clone(), leaf(tree_id)?, leaf(now.tree_id)?));
    }
    Ok(changes)
}

fn is_live(context: &Context, session: &str) -> bool {
    let session = session_info::peek(context, session).filter(|session| session.phase != Phase::Ended);
    session.is_some_and(|session| !guard::is_silent(context, session.process.as_ref(), session.last_seen))
}

impl News {
    /// Returns the digest by which it is known whether `session` was told. A path may be long, and each hook reads the file.
    fn key(&self, session: &str) -> String {
        let state = match &self.meeting {
            None => "changed",
            Some(meeting) => match meeting.state {
                Meeting::Clean => "clean",
                Meeting::Touching => "touching",
                Meeting::Conflict => "conflict",
                Meeting::Unknown => "unknown",
            },
        };
        let text = format!("{session}\t{state}\t{}\t{}", escape(self.worktree.as_bstr()), escape(self.path.as_bstr()));
        let id = gix::objs::compute_hash(gix::hash::Kind::Sha1, gix::objs::Kind::Blob, text.as_bytes());
        id.map(|id| id.to_string()).unwrap_or(text)
    }

    fn text(&self) -> String {
        let agent = self.maker.agent.iter().map(|agent| short(agent.as_bytes().as_bstr()));
        let prompt = self.maker.prompt.iter().map(|prompt| format!("'{}'", short(prompt.as_bytes().as_bstr())));
        let what: Vec<String> = agent.chain(prompt).collect();
        let what = if what.is_empty() { String::new() } else { format!(" ({})", what.join(", ")) };
        let worktree = match self.worktree.as_bytes() {
            b"main" => "the main worktree".to_owned(),
            name => format!("the worktree '{}'", short(name.as_bstr())),
        };
        format!(
            "'{}' was changed in {worktree} by the session {}{what}{}",
            short(self.path.as_bstr()),
            short(self.maker.id.as_bytes().as_bstr()),
            self.meeting.as_ref().map_or(", and not here so far", words)
        )
    }
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
        News { path: path.into(), worktree: "side".into(), maker, meeting: None }
    }

    #[test]
    fn a_text_is_one_line_of_bounded_length() {
        let texts = texts(&[news("a\nb", "do\u{1b}[31m\u{202e}x"), news(&"p".repeat(5000), &"q".repeat(5000))]);
        assert_eq!(
            texts[0],
            "'a\\nb' was changed in the worktree 'side' by the session s1 (codex, 'do\\u{1b}[31m\\u{202e}x'), and not here so far"
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
    fn each_state_is_told_for_itself() {
        let one = news("a", "p");
        let mut other = news("a", "p");
        assert_eq!(one.key("s"), other.key("s"));
        assert_ne!(one.key("s"), other.key("t"));
        other.worktree = "another".into();
        assert_ne!(one.key("s"), other.key("s"));
    }
}
