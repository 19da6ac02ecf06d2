//! A repository in which sessions meet.

use super::{BTreeMap, Concurrency, Context, Entry, PathBuf, Purpose, Turns, Worktree, repo, sessions};
use crate::support::World;

/// A repository with a commit, and one after it.
pub(super) struct Ground {
    pub(super) world: World,
    root: PathBuf,
}

impl std::ops::Deref for Ground {
    type Target = World;

    fn deref(&self) -> &World {
        &self.world
    }
}

impl Ground {
    pub(super) fn new() -> Self {
        let world = World::with_commit();
        Self::on(world)
    }

    /// The repository of `world` as it is.
    pub(super) fn on(world: World) -> Self {
        let root = world.repo();
        Self { world, root }
    }

    /// The same in a linked worktree.
    pub(super) fn linked(self) -> Self {
        let root = self.root().join("linked");
        self.git(&["worktree", "add", "-q", "-b", "side", root.to_str().expect("a plain path")]);
        Self { root, ..self }
    }

    pub(super) fn context(&self, policy: Concurrency) -> Context {
        let mut context = Context::open(&self.root).expect("a repository");
        context.settings.concurrency = policy;
        context
    }

    /// Calls `with` while the lock is held.
    pub(super) fn at<T>(&self, policy: Concurrency, with: impl FnOnce(&Worktree<'_>) -> T) -> T {
        // Another test's child may hold the lock until it has become another program.
        with(&Worktree::enter(&self.context(policy), Purpose::ToolBegins).expect("it is free soon"))
    }

    /// Makes `session` known, with a turn under way.
    pub(super) fn prompt(&self, session: &str) -> Vec<String> {
        let told = sessions::SessionInfo { agent: Some("claude-code".into()), ..sessions::SessionInfo::default() };
        let context = self.context(Concurrency::Refuse);
        sessions::prompt(&context, session, Some("do"), &told, &mut |_| Ok(true)).expect("it begins").interrupted
    }

    pub(super) fn stop(&self, session: &str) {
        let context = self.context(Concurrency::Refuse);
        sessions::stop(&context, session, &sessions::SessionInfo::default()).expect("it is known");
    }

    pub(super) fn end(&self, session: &str) {
        let context = self.context(Concurrency::Refuse);
        sessions::end(&context, session, &sessions::SessionInfo::default()).expect("it is known");
    }

    /// Commits something with `message`.
    pub(super) fn commit(&self, message: &str) -> String {
        self.git(&["commit", "-q", "--allow-empty", "--cleanup=verbatim", "-m", message]);
        self.git(&["rev-parse", "HEAD"]).trim().to_owned()
    }

    /// Returns the file of what is open here.
    pub(super) fn turns_file(&self) -> PathBuf {
        self.git_dir().join("checkpoint/turns.toml")
    }

    /// Returns true if `session` has a claim on the worktree.
    pub(super) fn has_claim(&self, session: &str) -> bool {
        let text = std::fs::read_to_string(self.turns_file()).unwrap_or_default();
        Turns::parse(&text).is_some_and(|turns| turns.find(session).is_some_and(Entry::has_claim))
    }

    pub(super) fn git_dir(&self) -> PathBuf {
        repo(&self.context(Concurrency::Refuse)).git_dir().to_owned()
    }

    /// Lets the process of `session` be one that is gone: another one has its number now.
    pub(super) fn kill(&self, session: &str) {
        self.edit(session, |entry| entry.process.as_mut().expect("it is known").start = 1);
        let path = self.repo().join(format!(".git/checkpoint/sessions/{session}.toml"));
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        if let Some((before, after)) = text.split_once("\nstart = ") {
            let rest = after.split_once('\n').map_or("", |(_, rest)| rest);
            std::fs::write(&path, format!("{before}\nstart = 1\n{rest}")).expect("it is ours");
        }
    }

    /// Changes what `session` has open here.
    pub(super) fn edit(&self, session: &str, change: impl FnOnce(&mut Entry)) {
        let path = self.turns_file();
        let text = std::fs::read_to_string(&path).expect("something is open");
        let mut turns = Turns::parse(&text).expect("it is sound");
        change(turns.find_mut(session).expect("it has something open"));
        std::fs::write(&path, turns.to_toml()).expect("it is ours");
    }

    /// Returns all refs, all of our files, and how many objects there are.
    pub(super) fn everything(&self) -> BTreeMap<String, String> {
        let mut all = BTreeMap::new();
        all.insert("refs".into(), self.git(&["for-each-ref", "--format=%(refname) %(objectname)"]));
        all.insert("objects".into(), self.git(&["count-objects", "-v"]));
        for name in ["HEAD", "logs/HEAD", "index"] {
            all.insert(name.into(), format!("{:?}", std::fs::read(self.repo().join(".git").join(name)).ok()));
        }
        let mut folders = vec![self.repo().join(".git/checkpoint"), self.git_dir().join("checkpoint")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
                if entry.path().is_dir() {
                    folders.push(entry.path());
                } else if entry.file_name() != "lock" {
                    let text = String::from_utf8_lossy(&std::fs::read(entry.path()).expect("readable")).into_owned();
                    all.insert(entry.path().display().to_string(), text);
                }
            }
        }
        all
    }
}
