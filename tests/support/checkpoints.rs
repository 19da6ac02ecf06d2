//! Checkpoints as git sees them: made by git itself, so that reading them is tested apart from saving them, and what is in all.

use std::{collections::BTreeSet, io::Write as _, process::Stdio};

use git_checkpoint::{
    Base, Origin,
    testing::model::{checkpoint, refname::ShadowName},
};
use gix::ObjectId;

use super::{START, World};

/// A shadow under construction.
pub(crate) struct Shadow<'w> {
    world: &'w World,
    name: ShadowName,
    tip: ObjectId,
    seconds: i64,
}

impl World {
    /// Runs git, and returns the id it printed.
    pub(crate) fn id(&self, arguments: &[&str]) -> ObjectId {
        ObjectId::from_hex(self.git(arguments).trim().as_bytes()).expect("git prints an id")
    }

    /// Returns the tree of all files as they are now; the user's index is left alone.
    pub(crate) fn tree(&self) -> ObjectId {
        let index = self.root().join("index-of-tree");
        let run = |arguments: &[&str]| {
            let output = self.command("git").env("GIT_INDEX_FILE", &index).args(arguments).output().expect("git runs");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        };
        run(&["add", "-A"]);
        ObjectId::from_hex(run(&["write-tree"]).as_bytes()).expect("git prints an id")
    }

    /// Begins a shadow on HEAD for `worktree`, whose first checkpoint is taken `seconds` after the start.
    pub(crate) fn shadow(&self, worktree: &str, seconds: i64) -> Shadow<'_> {
        let base = self.id(&["rev-parse", "HEAD"]);
        let name = ShadowName::of_worktree(Base::Commit(base), worktree.into());
        Shadow { world: self, name, tip: base, seconds: START + seconds }
    }

    /// Returns the ids of the live shadows of all worktrees.
    pub(crate) fn shadows(&self) -> Vec<String> {
        let ids = self.git(&["for-each-ref", "--format=%(objectname)", "refs/checkpoints/shadow/"]);
        ids.lines().map(ToOwned::to_owned).collect()
    }

    /// Returns the content of every blob that a checkpoint holds.
    pub(crate) fn held(&self) -> BTreeSet<Vec<u8>> {
        let objects = self.git(&["rev-list", "--objects", "--no-object-names", "--glob=refs/checkpoints/*"]);
        let mut child = self
            .command("git")
            .args(["cat-file", "--batch"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("git starts");
        let mut input = child.stdin.take().expect("piped");
        let writer = std::thread::spawn(move || std::io::Write::write_all(&mut input, objects.as_bytes()));
        let output = child.wait_with_output().expect("git runs").stdout;
        writer.join().expect("no panic").expect("git reads");
        let mut held = BTreeSet::new();
        let mut rest = output.as_slice();
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let header = std::str::from_utf8(&rest[..end]).expect("a header is text");
            let words: Vec<&str> = header.split(' ').collect();
            let &[_, kind, size] = words.as_slice() else { panic!("not there: {header}") };
            let size: usize = size.parse().expect("a size");
            let content = &rest[end + 1..=end + size];
            if kind == "blob" {
                held.insert(content.to_vec());
            }
            rest = &rest[end + size + 2..];
        }
        held
    }
}

impl Shadow<'_> {
    /// Takes a checkpoint of the files as they are, a minute after the one before.
    pub(crate) fn save(&mut self, subject: &str, origin: &Origin) -> ObjectId {
        let tree = self.world.tree();
        self.commit(tree, subject, origin)
    }

    /// The same for a given tree.
    pub(crate) fn commit(&mut self, tree: ObjectId, subject: &str, origin: &Origin) -> ObjectId {
        let message = checkpoint::message(subject, "", origin, self.name.base, self.name.worktree.as_ref(), None, 0);
        let (tree, parent) = (tree.to_string(), self.tip.to_string());
        let output = self
            .world
            .command("git")
            .env("GIT_COMMITTER_DATE", format!("@{} +0000", self.seconds))
            .args(["commit-tree", &tree, "-p", &parent, "-m", &message])
            .output()
            .expect("git runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        self.tip = ObjectId::from_hex(output.stdout.trim_ascii()).expect("git prints an id");
        self.world.git(&["update-ref", &self.name.to_ref(), &self.tip.to_string()]);
        self.seconds += 60;
        self.tip
    }

    /// Takes a checkpoint of `tree` for each of `subjects`, by one process.
    pub(crate) fn commits(&mut self, tree: ObjectId, subjects: &[String]) -> Vec<ObjectId> {
        let (name, begin) = (self.name(), self.tip);
        let mut script = format!("reset {name}\nfrom {begin}\n\n");
        for subject in subjects {
            let (base, worktree) = (self.name.base, self.name.worktree.as_ref());
            let message = checkpoint::message(subject, "", &Origin::default(), base, worktree, None, 0);
            // As `git commit -m` ends it.
            let (message, seconds) = (format!("{}\n", message.trim_end()), self.seconds);
            script += &format!("commit {name}\nauthor A U Thor <author@example.com> {START} +0000\n");
            script += &format!("committer C O Mitter <committer@example.com> {seconds} +0000\n");
            script += &format!("data {}\n{message}\nM 040000 {tree} \"\"\n\n", message.len());
            self.seconds += 60;
        }
        // Each an object of its own, as when they are taken one by one.
        let unpacked = ["-c", "fastimport.unpackLimit=100000", "fast-import", "--quiet", "--force"];
        let mut child = self.world.command("git").args(unpacked).stdin(Stdio::piped()).spawn().expect("git starts");
        child.stdin.take().expect("piped").write_all(script.as_bytes()).expect("git reads");
        assert!(child.wait().expect("git runs").success());
        let range = format!("{begin}..{name}");
        let ids = self.world.git(&["rev-list", "--reverse", "--first-parent", &range]);
        let ids: Vec<_> = ids.lines().map(|id| ObjectId::from_hex(id.as_bytes()).expect("git prints ids")).collect();
        assert_eq!(ids.len(), subjects.len());
        self.tip = *ids.last().expect("there are some");
        ids
    }

    /// Returns the name of its ref.
    pub(crate) fn name(&self) -> String {
        self.name.to_ref()
    }
}

/// Returns the origin of an agent's checkpoint.
pub(crate) fn agent(session: &str, turn: u32) -> Origin {
    Origin {
        contributor: git_checkpoint::Contributor::Agent,
        session: Some(session.into()),
        agent: Some("claude-code".into()),
        turn: Some(turn),
        ..Origin::default()
    }
}
