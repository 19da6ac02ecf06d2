//! What is staged at some paths, in the index that git has named to its hook.

use std::collections::BTreeMap;

use bstr::{BString, ByteSlice as _};
use gix::index::{
    File,
    entry::{Flags, Stage},
};

use super::{Repo, environment};
use crate::{
    error::{Context as _, Kind, Result},
    model::change::{Leaf, Mode},
};

impl Repo {
    /// Returns what the commit to come will have at each of `paths`: what is staged there.
    ///
    /// `git commit -a`, `git commit <path>` and their like run hooks with an index of their own.
    pub(crate) fn staged_leaves(&self, paths: &[BString]) -> Result<BTreeMap<BString, Option<Leaf>>> {
        let path = match environment::variable("GIT_INDEX_FILE").filter(|_| self.honours_environment) {
            // Git names it relative to the directory that hooks run in: the root of the worktree.
            Some(name) => self.worktree_root().join(name.to_path_lossy()),
            None => self.inner.index_path(),
        };
        let mut leaves: BTreeMap<BString, Option<Leaf>> = paths.iter().map(|path| (path.clone(), None)).collect();
        if !path.exists() {
            return Ok(leaves);
        }
        let options = gix::index::decode::Options::default();
        let index = File::at(&path, self.object_hash(), true, options)
            .context(Kind::Corrupt, || format!("cannot read the index '{}'", path.display()))?;
        for (path, leaf) in &mut leaves {
            let Some(entry) = index.entry_by_path_and_stage(path.as_bstr(), Stage::Unconflicted) else { continue };
            if !entry.flags.contains(Flags::INTENT_TO_ADD) {
                *leaf = Mode::from_bits(entry.mode.bits()).map(|mode| Leaf { id: entry.id, mode });
            }
        }
        Ok(leaves)
    }
}
