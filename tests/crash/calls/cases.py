"""The commands that are made to die, each with the repository that it works in."""

import json


class Case:
    """A command. `prepare` makes its repository; `changes` names what of the user's it may change."""

    def __init__(self, name, argv, prepare, changes=(), event=None, hook=None, undo=False):
        self.name, self.argv, self.prepare, self.changes = name, argv, prepare, set(changes)
        # An agent's event on standard input; the hook of git that is meant, where git runs the program.
        self.event, self.hook, self.undo = event, hook, undo


def start(site):
    """A commit, a stash, something staged, two checkpoints, and files that only the worktree has."""
    site.git("init", "-q", "-b", "main")
    site.write("kept", "kept\n")
    site.write("f", "committed\n")
    site.write("gone", "to be deleted\n")
    site.write("dir/deep/x", "deep\n")
    site.write(".gitignore", "ignored\n")
    site.git("add", "-A")
    site.git("commit", "-qm", "first")
    site.git("branch", "side")
    site.write("f", "stashed\n")
    site.git("stash", "push", "-q")
    site.write("ignored", "ignored\n")
    site.write("staged", "staged\n")
    site.git("add", "staged")
    site.write("f", "first version\n")
    site.ours("save", "-q", "-m", "one")
    site.write("f", "second version\n")
    site.write("new", "untracked\n")
    site.ours("save", "-q", "-m", "two")


def unsaved(site):
    start(site)
    site.write("f", "only in the worktree\n")
    site.write("dir/new/y", "only here\n")
    site.remove("gone")


def many(site):
    unsaved(site)
    for n in range(100):
        site.write(f"many/{n}", f"{n} is only here\n" * 20)


def known_files(site):
    """So many that several threads look at them."""
    start(site)
    for n in range(1100):
        site.write(f"known/{n % 50}/{n}", f"{n}\n")
    site.git("add", "known")
    site.git("commit", "-qm", "known")
    site.ours("save", "-q", "--allow-empty")
    site.write("known/1/1", "changed\n")


def reftable(site):
    site.git("init", "-q", "-b", "main", "--ref-format=reftable")
    site.write("f", "committed\n")
    site.git("add", "-A")
    site.git("commit", "-qm", "first")
    site.write("f", "saved\n")
    site.ours("save", "-q")
    site.write("f", "only in the worktree\n")


def unborn(site):
    site.git("init", "-q", "-b", "main")
    site.write("f", "only in the worktree\n")


def restored(site):
    unsaved(site)
    site.ours("restore", "-q", "@{1}", "--all")


def archived(site):
    start(site)
    site.ours("reset")
    site.write("f", "only in the worktree\n")
    site.ours("save", "-q")


def session(site):
    unsaved(site)
    site.ours("session", "start", "s1", "--agent", "claude-code")


def turn(site):
    session(site)
    site.ours("session", "prompt", "s1", "-m", "do it")
    site.write("by-agent", "an agent's\n")
    site.write("f", "an agent's, too\n")


def stopped(site):
    turn(site)
    site.ours("session", "stop", "s1")


def enabled(site):
    start(site)
    site.ours("enable", "-q")


def to_commit(site):
    enabled(site)
    site.ours("session", "start", "s1", "--agent", "claude-code")
    site.ours("session", "prompt", "s1", "-m", "do it")
    site.write("f", "an agent's\n")
    site.ours("session", "stop", "s1")
    site.write("mine", "a person's\n")
    site.git("add", "f")
    site.wrap_hooks()


def to_amend(site):
    to_commit(site)
    site.git("commit", "-qm", "with an agent")
    site.write("kept", "amended\n")
    site.git("add", "kept")


def old_settings(site):
    start(site)
    site.write(".checkpoint.toml", "disable-multisession-warning = true\n")


def events(*names):
    """Returns what has come of these events of Claude Code before."""

    def prepare(site):
        unsaved(site)
        for name in names:
            site.ours("hook", "--agent", "claude-code", stdin=event(site, name))
        if "pre-tool-write" in names:
            site.write("made", "by an agent\n")

    return prepare


def event(site, name):
    """Returns the fixture `name`, as it would be sent from here."""
    if name == "pre-tool-write":
        sent = json.loads((site.fixtures / "claude-code/post-tool-write.json").read_text())
        sent["hook_event_name"] = "PreToolUse"
        del sent["tool_response"]
    else:
        sent = json.loads((site.fixtures / f"claude-code/{name}.json").read_text())
    sent["cwd"], sent["session_id"] = str(site.repo), "5b1f3c9e-7a44-4f0e-9f43-2f8f0c6f1c11"
    sent["transcript_path"] = str(site.home / "transcript.jsonl")
    if "tool_input" in sent:
        sent["tool_input"]["file_path"] = str(site.repo / "made")
    return json.dumps(sent).encode()


AGENT = ["hook", "--agent", "claude-code"]
COMMIT = ["git", "commit", "-qm", "with an agent"]
CASES = [
    Case("save", ["save", "--json"], unsaved),
    Case("save-paths", ["save", "--json", "--paths", "f", "dir/new/y"], unsaved),
    Case("save-many", ["save", "--json"], many),
    Case("save-known", ["save", "--json"], known_files),
    Case("save-reftable", ["save", "--json"], reftable),
    Case("save-unborn", ["save", "--json"], unborn),
    Case("save-verify", ["save", "--json", "--verify"], unsaved),
    Case("restore", ["restore", "--all", "@{1}"], unsaved, ["files"], undo=True),
    Case("restore-many", ["restore", "--all", "@{1}"], many, ["files"], undo=True),
    Case("restore-paths", ["restore", "@{1}", "f", "dir"], unsaved, ["files"], undo=True),
    Case("restore-staged", ["restore", "--all", "--staged", "@{1}"], unsaved, ["files", "index"], undo=True),
    Case("undo", ["undo"], restored, ["files"]),
    Case("reset", ["reset"], unsaved, ["archive"]),
    Case("prune", ["prune", "--keep", "0"], archived, ["checkpoints"]),
    Case("verify", ["verify"], unsaved),
    Case("session-start", ["session", "start", "s1", "--agent", "claude-code"], unsaved),
    Case("session-prompt", ["session", "prompt", "s1", "-m", "do it"], session),
    Case("session-stop", ["session", "stop", "s1"], turn),
    Case("session-end", ["session", "end", "s1"], turn),
    Case("session-forget", ["session", "forget", "s1"], stopped),
    Case("agent-prompt", AGENT, events("session-start"), event="prompt"),
    Case("agent-pre-tool", AGENT, events("session-start", "prompt"), event="pre-tool-write"),
    Case("agent-post-tool", AGENT, events("session-start", "prompt", "pre-tool-write"), event="post-tool-write"),
    Case("agent-stop", AGENT, events("session-start", "prompt", "pre-tool-write", "post-tool-write"), event="stop"),
    Case("commit-message", COMMIT, to_commit, ["HEAD", "index"], hook="prepare-commit-msg"),
    Case("commit-made", COMMIT, to_commit, ["HEAD", "index"], hook="post-commit"),
    Case("commit-rewritten", ["git", "commit", "-q", "--amend", "--no-edit"], to_amend, ["HEAD", "index"], hook="post-rewrite"),
    Case("enable", ["enable"], start, ["config"]),
    Case("enable-agent", ["enable", "--agent", "claude-code"], start, ["config", "files"]),
    Case("disable", ["disable"], enabled, ["config"]),
    Case("config-set", ["config", "set", "--local", "lock-timeout", "3s"], start),
    Case("config-migrate", ["config", "migrate"], old_settings, ["files"]),
]
