//! The stored part of conversations: redacted, cut to size, each chunk stored once in
//! `refs/checkpoints/transcripts/<month>`.

use std::collections::BTreeMap;

use bstr::{BString, ByteSlice as _};
use gix::{ObjectId, objs::Kind as ObjectKind};

use super::{NewRecord, commit};
use crate::{
    config::Store,
    error::Result,
    git::{
        Repo,
        edit_tree::{Edit, edit_tree},
        new_objects::NewObjects,
        refs::RefUpdate,
    },
    model::{
        change::Mode,
        moment,
        record::{Chunk, Prompt},
        redact, refname,
    },
    ops::Context,
};

/// The texts of a session that will be stored.
#[derive(Default)]
pub(super) struct Redacted {
    pub(super) prompts: Vec<Prompt>,
    transcript: Vec<u8>,
    /// True if transcripts are stored.
    is_full: bool,
}

/// Returns the texts of `new` that the settings allow to store.
pub(super) fn redact(context: &Context, new: &mut NewRecord) -> Vec<Redacted> {
    let settings = &context.settings.transcript;
    let clean = |bytes: Vec<u8>| if settings.redact { redact::redact(bytes) } else { bytes };
    let mut texts = Vec::new();
    for session in std::mem::take(&mut new.sessions) {
        let mut text = Redacted::default();
        if settings.store != Store::None {
            let prompt = |it: Prompt| {
                let text = String::from_utf8_lossy(&clean(it.text.into_bytes())).into_owned();
                Prompt { text, ..it }
            };
            text.prompts = session.prompts.into_iter().map(prompt).collect();
        }
        text.is_full = settings.store == Store::Full;
        if text.is_full {
            // Redact before cutting: half a secret would not be recognized.
            text.transcript = clean(session.transcript.unwrap_or_default());
            cut(&mut text.transcript, settings.max_size);
        }
        texts.push(text);
    }
    texts
}

/// Removes lines at the beginning until at most `limit` bytes are left.
fn cut(text: &mut Vec<u8>, limit: Option<u64>) {
    let Some(limit) = limit.and_then(|limit| usize::try_from(limit).ok()) else { return };
    if text.len() > limit {
        let start = text.len() - limit;
        // A line that is longer than the limit is cut, too.
        let end_of_line = text[start - 1..].find_byte(b'\n').map(|at| start + at);
        text.drain(..end_of_line.filter(|end| *end < text.len()).unwrap_or(start));
    }
}

/// The transcripts of the month.
pub(super) struct Transcripts<'r> {
    repo: &'r Repo,
    reference: String,
    tip: Option<ObjectId>,
    tree_id: ObjectId,
    edits: BTreeMap<BString, Edit>,
    /// The number and blob of the last chunk of each session seen so far.
    last: BTreeMap<String, (u32, Option<ObjectId>)>,
}

impl<'r> Transcripts<'r> {
    pub(super) fn read(repo: &'r Repo) -> Result<Self> {
        let reference = refname::transcripts_ref(&moment::month(repo.now().seconds));
        let tip = repo.find_ref(&reference)?;
        let tree_id = tip.map_or(Ok(repo.empty_tree_id()), |tip| repo.tree_of_commit(tip))?;
        Ok(Self { repo, reference, tip, tree_id, edits: BTreeMap::new(), last: BTreeMap::new() })
    }

    /// Adds a chunk to the transcript of `session`, and returns where it is.
    ///
    /// If the last chunk has the same bytes, that one is used: a crash came before its record was written, or two
    /// records share it.
    pub(super) fn add(
        &mut self,
        session: &str,
        text: &Redacted,
        objects: &mut NewObjects<'_>,
    ) -> Result<Option<Chunk>> {
        if text.transcript.is_empty() {
            return Ok(None);
        }
        let id = objects.add(ObjectKind::Blob, &text.transcript)?;
        let folder = refname::encode_component(session.into());
        let (mut number, last) = match self.last.get(&folder) {
            Some(last) => *last,
            None => self.find_last(&folder)?,
        };
        if last != Some(id) {
            number += 1;
        }
        let path = format!("{folder}/{number:06}");
        if last != Some(id) {
            self.edits.insert(path.as_str().into(), Some((id, Mode::File)));
        }
        self.last.insert(folder, (number, Some(id)));
        Ok(Some(Chunk { reference: self.reference.clone(), path, id }))
    }

    /// Returns where the last chunk of `session` is, if `text` may name one: for a record of work that was talked about before.
    pub(super) fn last(&self, session: &str, text: &Redacted) -> Result<Option<Chunk>> {
        if !text.is_full {
            return Ok(None);
        }
        let folder = refname::encode_component(session.into());
        let (number, id) = self.last.get(&folder).map_or_else(|| self.find_last(&folder), |last| Ok(*last))?;
        let chunk = |id| Chunk { reference: self.reference.clone(), path: format!("{folder}/{number:06}"), id };
        Ok(id.map(chunk))
    }

    fn find_last(&self, folder: &str) -> Result<(u32, Option<ObjectId>)> {
        let Some((0o40_000, tree_id)) = self.repo.find_entry(self.tree_id, folder.into())? else {
            return Ok((0, None));
        };
        let mut last = (0, None);
        for (name, _, id) in self.repo.tree_entries(tree_id)? {
            let number = name.to_str().ok().and_then(|name| name.parse().ok());
            if let Some(number) = number.filter(|number| *number > last.0) {
                last = (number, Some(id));
            }
        }
        Ok(last)
    }

    /// Returns the updates that make the additions visible.
    pub(super) fn finish(self, objects: &mut NewObjects<'_>) -> Result<Vec<RefUpdate>> {
        if self.edits.is_empty() {
            return Ok(Vec::new());
        }
        let edits: Vec<_> = self.edits.into_iter().collect();
        let tree_id = edit_tree(self.tree_id, &edits, objects)?;
        let id = commit(self.repo, tree_id, self.tip, "transcripts\n", objects)?;
        Ok(vec![RefUpdate { name: self.reference, old: self.tip, new: Some(id) }])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::short("a\nb\n", Some(4), "a\nb\n")]
    #[case::at_a_line("aaa\nb\n", Some(2), "b\n")]
    #[case::inside_a_line("aaa\nb\nc\n", Some(5), "b\nc\n")]
    #[case::one_long_line("aaaaaa", Some(3), "aaa")]
    #[case::last_line_too_long("a\nbbbbbb\n", Some(3), "bb\n")]
    #[case::no_limit("aaaa", None, "aaaa")]
    fn the_beginning_is_cut(#[case] text: &str, #[case] limit: Option<u64>, #[case] expected: &str) {
        let mut text = text.as_bytes().to_vec();
        cut(&mut text, limit);
        assert_eq!(text.as_bstr(), expected);
    }
}
