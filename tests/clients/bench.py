"""A repository, a home and a client for one case, and what is found there after the client has worked."""

import ctypes
import json
import os
import shlex
import signal
import subprocess
import time
from pathlib import Path

import mutations
from clients import asking, write

# How long a client may take for a turn, in seconds.
TURN = 60
KEPT = "one\ntwo\nthree\nfour\n"


class Failed(Exception):
    """The case cannot continue."""


class Bench:
    """One case with one client. Failed expectations are collected in `failures`."""

    def __init__(self, case, client, program, npm, stub, folder, mutation=None):
        self.case, self.client, self.stub, self.folder = case, client, stub, folder
        self.bin, self.mutation = folder / "bin", mutation
        self.home, self.repo = folder / "home", folder / "repo"
        self.failures, self.turns, self.log = [], 0, folder / "client.log"
        self.repo.mkdir(parents=True)
        self.bin.mkdir()
        os.link(program, self.bin / "git-checkpoint")
        self.env = {
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "PATH": os.pathsep.join([str(self.bin), str(npm), os.environ["PATH"]]),
            "TERM": "xterm-256color",
            "GIT_CONFIG_NOSYSTEM": "1",
            **client.environment(stub.url),
        }
        client.is_asked = False
        client.settings(self.home, stub.url)
        self.git("init", "-q", "-b", "main")
        # Not the user's, which one client hides from its shell.
        self.git("config", "user.name", "A Person")
        self.git("config", "user.email", "person@example.com")
        write(self.repo / "kept.txt", KEPT)
        self.git("add", ".")
        self.git("commit", "-qm", "base")
        self.base = self.git("rev-parse", "HEAD").strip()

    # What is done.

    def enable(self):
        """Makes git and the client call git-checkpoint."""
        self.git("checkpoint", "enable")
        self.git("checkpoint", "enable", "--agent", self.client.name, *self.client.options)
        if self.mutation is not None:
            mutations.insert(self.mutation, self.bin)

    def git(self, *arguments):
        """Runs git as the person who sits before the worktree; returns what it prints."""
        command = ["git", *arguments]
        done = subprocess.run(command, cwd=self.repo, env=self.env, capture_output=True, text=True, timeout=60)
        if done.returncode != 0:
            raise Failed(f"'git {shlex.join(arguments)}' exits with {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def play(self, name, steps, is_helper=False):
        """Teaches the stub a play."""
        self.stub.plays[name] = self.client.calls(steps, self.repo, is_helper)

    def turn(self, *steps, resume=False, until=None, then=None):
        """Lets the client take a turn that plays `steps`; with `until`, sends it the signal `then` once that exists."""
        prompt = self.next_play(steps)
        command = [self.client.program, *self.client.command(prompt, resume, self.repo)]
        with open(self.log, "ab") as log:
            log.write(f"$ {shlex.join(command)}\n".encode())
            log.flush()
            process = subprocess.Popen(
                command,
                cwd=self.repo,
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                if until is not None:
                    self.await_file(until, process)
                    os.killpg(process.pid, then)
                status = process.wait(TURN)
            except subprocess.TimeoutExpired:
                raise Failed(f"turn {self.turns} of the client takes less than {TURN} s: it is still running") from None
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
        if until is None and status != 0:
            raise Failed(f"the client ends turn {self.turns} with 0: it ended with {status}")
        return prompt

    def next_play(self, steps):
        """Teaches the stub the play of the next turn, and returns the prompt that names it."""
        self.turns += 1
        name = f"{self.case}-{'abcdefgh'[self.turns - 1]}"
        self.play(name, steps)
        return asking(name)

    def await_file(self, path, process=None):
        """Waits until a file is there; `path` is relative to the worktree."""
        end = time.monotonic() + TURN
        while not (self.repo / path).exists():
            if time.monotonic() > end or process is not None and process.poll() is not None:
                raise Failed(f"'{path}' appears while the client works: it does not")
            time.sleep(0.05)

    @staticmethod
    def end_processes():
        """Ends what the client has left running."""
        end_descendants()

    def link(self):
        """Continues in a linked worktree; returns the main one."""
        main, self.repo = self.repo, self.folder / "linked"
        subprocess.run(["git", "worktree", "add", "-q", self.repo], cwd=main, env=self.env, check=True, timeout=60)
        return main

    def change(self, path, old, new):
        """Changes a file as the person who sits before the worktree."""
        text = (self.repo / path).read_text()
        write(self.repo / path, text.replace(old, new))

    def commit(self, message):
        """Commits everything, as the person."""
        self.git("add", "-A")
        self.git("commit", "-qm", message)

    # What is found.

    def expect(self, what, expected, found):
        """Notes a failure unless it was found as expected."""
        if expected != found:
            self.failures.append(f"{what}: expected {expected!r}, found {found!r}")

    def expect_of_person(self, path):
        """Expects that no line of a file is taken for the agent's."""
        owners = self.owners(path)
        if set(owners) - {"human", "unknown"}:
            self.failures.append(f"owners of {path}: expected a person, or unknown ones, found {owners!r}")

    def json(self, *arguments):
        """Returns what a command of git-checkpoint reports."""
        return json.loads(self.git("checkpoint", *arguments, "--json"))

    def sessions(self, commit="HEAD"):
        """Returns the sessions in the records of a commit."""
        return [session for record in self.json("explain", commit)["records"] for session in record["sessions"]]

    def holds(self, text):
        """Returns true if a text is anywhere in the repository but in the worktree: in an object, or in a file of git."""
        objects = ["git", "cat-file", "--batch-all-objects", "--batch"]
        done = subprocess.run(objects, cwd=self.repo, env=self.env, capture_output=True, check=True, timeout=60)
        common = Path(self.git("rev-parse", "--path-format=absolute", "--git-common-dir").strip())
        files = [path.read_bytes() for path in common.rglob("*") if path.is_file()]
        return any(text.encode() in data for data in [done.stdout, *files])

    def checkpoints(self):
        """Returns all checkpoints, those that commits have taken and those that are left."""
        lists = [self.git("checkpoint", "list", "--all", "--json", *which) for which in ([], ["--archived"])]
        return [json.loads(line) for lines in lists for line in lines.splitlines()]

    def helpers(self, path):
        """Returns the ids of helpers that the checkpoints of a path name; an empty one: the agent itself."""
        trailer = "--format=%(trailers:key=Checkpoint-Agent-Id,valueonly)"
        taken = [taken for taken in self.checkpoints() if path in taken["paths"] and taken["contributor"] == "agent"]
        return {self.git("log", "-1", trailer, checkpoint["id"]).strip() for checkpoint in taken}

    def owners(self, path):
        """Returns whose the lines of a file are, in the last commit: `base` for those of the commit before."""
        owners = []
        for lines in self.json("blame", path)["lines"]:
            owner = "base" if lines["commit"] == self.base else lines["owner"]
            owner += f" {lines['turn']}" if owner == "agent" else ""
            owners += [owner] * (lines["end"] - lines["start"] + 1)
        return owners


def adopt_orphans():
    """Makes this process the parent of all whose parents end below it, so that they can be found."""
    ctypes.CDLL(None, use_errno=True).prctl(36, 1, 0, 0, 0)


def end_descendants():
    """Ends what clients have left running."""
    end = time.monotonic() + 5
    while time.monotonic() < end:
        running = descendants(os.getpid())
        for pid in running:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        try:
            while os.waitpid(-1, os.WNOHANG)[0] != 0:
                pass
        except ChildProcessError:
            return
        time.sleep(0.02)


def descendants(pid):
    """Returns the processes below one."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents.setdefault(int(stat.read_text().rsplit(")", 1)[1].split()[1]), []).append(int(stat.parent.name))
        except (OSError, IndexError):
            pass
    found, left = [], [pid]
    while left:
        children = parents.get(left.pop(), [])
        found += children
        left += children
    return found
