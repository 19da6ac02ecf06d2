"""A repository of its own for each run, and what has to hold there whatever has happened."""

import os
import re
import shutil
import subprocess
from pathlib import Path

LIMIT = 60
DATE = "@1748779200 +0000"
OURS = {"lock", "repack.lock", "hooks.lock", "records.lock", "events.lock", "agents.lock"}
HOOKS = """#!/bin/sh
# Lets strace look at the hook that is meant, and only at that.
if [ "$1/$2" = "hook/${EVERY_CALL_HOOK-}" ]; then
	exec strace -qq $EVERY_CALL -- %(program)s "$@"
fi
exec %(program)s "$@"
"""


class Broken(Exception):
    """A program that has to work has not."""


class Site:
    """`folder` holds `repo` and `home`; `fresh` makes it again as `keep` has found it."""

    def __init__(self, folder, program, fixtures):
        self.folder, self.program, self.fixtures = folder, program, fixtures
        self.top = folder / "site"
        self.repo, self.home, self.kept = self.top / "repo", self.top / "home", folder / "kept"
        self.env = {
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home / ".config"),
            "TMPDIR": str(self.top / "tmp"),
            "PATH": os.pathsep.join([str(program.parent), os.environ["PATH"]]),
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_CHECKPOINT_LOCK_TIMEOUT": "3s",
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
        }
        for role, name in [("AUTHOR", "A U Thor"), ("COMMITTER", "C O Mitter")]:
            self.env |= {f"GIT_{role}_NAME": name, f"GIT_{role}_EMAIL": "a@example.com", f"GIT_{role}_DATE": DATE}
        shutil.rmtree(folder, ignore_errors=True)
        for path in [self.repo, self.home, self.top / "tmp"]:
            path.mkdir(parents=True)

    def keep(self):
        subprocess.run(["cp", "-a", str(self.top), str(self.kept)], check=True)

    def fresh(self):
        shutil.rmtree(self.top)
        subprocess.run(["cp", "-a", str(self.kept), str(self.top)], check=True)

    def run(self, argv, stdin=b"", env=None):
        return subprocess.run(argv, input=stdin, cwd=self.repo, env=self.env | (env or {}), capture_output=True, timeout=LIMIT)

    def done(self, argv, **more):
        ended = self.run([str(word) for word in argv], **more)
        if ended.returncode != 0:
            raise Broken(f"{' '.join(map(str, argv))}: {ended.returncode}: {said(ended)}")
        return ended.stdout.decode(errors="replace")

    def git(self, *argv):
        return self.done(["git", *argv])

    def ours(self, *argv, **more):
        return self.done([self.program, *argv], **more)

    def write(self, name, text):
        path = self.repo / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def remove(self, name):
        (self.repo / name).unlink()

    def wrap_hooks(self):
        """Lets the installed hooks call the program through strace."""
        wrapper = self.top / "wrapper"
        wrapper.write_text(HOOKS % {"program": self.program})
        wrapper.chmod(0o755)
        for hook in (self.repo / ".git/hooks").iterdir():
            text = hook.read_text(errors="replace")
            if hook.suffix != ".sample" and "_checkpoint_program=" in text:
                hook.write_text(re.sub("_checkpoint_program='.*'", f"_checkpoint_program='{wrapper}'", text, count=1))

    def files(self):
        """Returns what is in the worktree, and outside of the repository."""
        found = {}
        for root, folders, names in os.walk(self.top):
            folders[:] = [name for name in folders if name != ".git"]
            for name in names:
                path = Path(root, name)
                content = os.readlink(path).encode() if path.is_symlink() else path.read_bytes()
                found[str(path.relative_to(self.top))] = (content, path.lstat().st_mode & 0o111 != 0)
        return found

    def refs(self):
        """Returns the refs below refs/checkpoints/, and all others."""
        lines = self.git("for-each-ref", "--format=%(refname) %(objectname)").splitlines()
        ours = {line for line in lines if line.startswith("refs/checkpoints/")}
        return ours, [line for line in lines if line not in ours]

    def facts(self):
        """Returns what is the user's beside the files."""
        git = self.repo / ".git"
        logs = {str(path): path.read_bytes() for path in sorted(git.glob("logs/**/*")) if path.is_file()}
        facts = {"refs": self.refs()[1], "HEAD": (git / "HEAD").read_bytes(), "logs": logs}
        index = git / "index"
        facts["index"] = self.git("ls-files", "--stage", "-v") if index.exists() else None
        facts["config"] = [(git / "config").read_bytes(), *sorted(hooks(git / "hooks").items())]
        return facts

    def trees(self):
        """Returns what our refs stand for, without what differs from run to run."""
        ours, _ = self.refs()
        names = sorted(re.sub("[0-9]{10}-|[0-9a-f]{16,}", "*", line.split()[0]) for line in ours)
        glob = "--glob=refs/checkpoints/*"
        trees = self.git("log", "--format=%T", glob).split() if ours else []
        return names, sorted(trees)

    def held(self):
        """Returns the content of all blobs that our refs hold."""
        if not self.refs()[0]:
            return set()
        objects = self.git("rev-list", "--objects", "--no-object-names", "--glob=refs/checkpoints/*")
        batch = self.run(["git", "cat-file", "--batch"], stdin=objects.encode()).stdout
        held, at = set(), 0
        while at < len(batch):
            end = batch.index(b"\n", at)
            _, kind, size = batch[at:end].split(b" ")
            at = end + 1 + int(size) + 1
            if kind == b"blob":
                held.add(batch[end + 1 : at - 1])
        return held

    def worktree_tree(self):
        """Returns the tree that git makes of the worktree."""
        env = {"GIT_INDEX_FILE": str(self.folder / "other-index")}
        (self.folder / "other-index").unlink(missing_ok=True)
        if (self.repo / ".git/index").exists():
            shutil.copy(self.repo / ".git/index", self.folder / "other-index")
        self.done(["git", "add", "-A"], env=env)
        return self.done(["git", "write-tree"], env=env).strip()

    def leftovers(self):
        """Returns the temporary files and locks that stay."""
        found = []
        for root, _, names in os.walk(self.top):
            for name in names:
                is_ours = name in OURS and Path(root).name == "checkpoint"
                ends = name.endswith((".lock", ".keep", ".tmp"))
                if (ends or name.startswith(("tmp_", ".tmp", ".git-checkpoint-"))) and not is_ours:
                    found.append(str(Path(root, name).relative_to(self.top)))
        return found + [f"tmp/{name}" for name in os.listdir(self.top / "tmp")]


def hooks(folder):
    return {path.name: path.read_bytes() for path in folder.glob("*") if path.suffix != ".sample" and path.is_file()}


def said(ended):
    return (ended.stdout + ended.stderr).decode(errors="replace").strip()
