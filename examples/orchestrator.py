#!/usr/bin/env python3
"""Give one task to three agents at once, and commit the best result.

    python3 examples/orchestrator.py [<directory>]

makes a repository in the new <directory>, or in a temporary one, and lets three
functions play the agents. All that it knows of git-checkpoint's work it reads
from JSON, which the manual page git-checkpoint-round(1) describes.
"""

import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

GROUP = "slug"  # what we call this run
TASK = "Write slug(title) in slug.py: lower case, words joined by '-'."


def checkpoint(*words, cwd, event=None):
    """Run 'git checkpoint <words>...' in cwd, and return what it answers."""
    given = json.dumps(event) if event else None
    words = ["git", "checkpoint", *words]
    done = subprocess.run(words, cwd=cwd, input=given, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def git(*words, cwd):
    subprocess.run(["git", *words], cwd=cwd, check=True)


# The agents. Real ones would be processes that run in the same directory.


def replaces(directory):
    """Forgets the lower case."""
    write(directory, "slug.py", "def slug(title):\n    return title.replace(' ', '-')\n")


def splits(directory):
    """Has it right, in two lines."""
    write(directory, "slug.py", "def slug(title):\n    return '-'.join(title.lower().split())\n")


def loops(directory):
    """Has it right, in more lines, and tries something out first."""
    write(directory, ".checkpoint_scratch/notes", "split() would do, too\n")
    write(directory, "slug.py", LOOP)


LOOP = """def slug(title):
    words = []
    for word in title.split():
        words.append(word.lower())
    return '-'.join(words)
"""
AGENTS = {"agent1": replaces, "agent2": splits, "agent3": loops}
TEST = "from slug import slug; assert slug('Hello  New World') == 'hello-new-world'"


def write(directory, name, text):
    with open(os.path.join(directory, name), "w", encoding="utf-8") as file:
        file.write(text)


# The orchestrator.


def work(agent, round_, repository):
    """Let an agent do its turn, and report it: git-checkpoint then knows whose lines these are."""
    directory = round_["contexts"][0]["directory"]
    # A part of the agent's system prompt: its branch, and those of others.
    about = checkpoint("round", "context", round_["round"], "--json", cwd=repository)["text"]

    def say(event, **more):
        event = {"event": event, "session": f"{GROUP}-{agent}", "agent": agent, "cwd": directory, **more}
        answer = checkpoint("hook", "--agent", "generic", event=event, cwd=directory)
        if answer["decision"] != "allow":
            raise RuntimeError(answer["message"])

    tool = {"name": "write", "id": "1", "paths": ["slug.py"]}
    say("prompt", prompt=f"{about}\n{TASK}")
    try:
        say("pre-tool", tool=tool)
        AGENTS[agent](directory)
        say("post-tool", tool=tool)
    finally:
        # Also if the agent fails: no round ends while a turn is under way in it.
        say("stop")
        say("session-end")
    test = subprocess.run([sys.executable, "-B", "-c", TEST], cwd=directory, stderr=subprocess.DEVNULL)
    return test.returncode == 0


def main(repository):
    os.mkdir(repository)
    git("init", "-q", cwd=repository)
    write(repository, "README", "slugs\n")
    git("add", "README", cwd=repository)
    git("commit", "-q", "-m", "first", cwd=repository)
    # With git's hooks, the later commit gets its record when it is made.
    checkpoint("enable", "--json", cwd=repository)

    # A round for each agent: a worktree and a branch of its own.
    rounds = {}
    for agent in AGENTS:
        words = ["--context", ".", "--group", GROUP, "--agent", agent, "--session", f"{GROUP}-{agent}"]
        rounds[agent] = checkpoint("round", "start", *words, "--json", cwd=repository)

    # They work at the same time. One that fails does not keep the others from theirs.
    with ThreadPoolExecutor() as pool:
        turns = {agent: pool.submit(work, agent, rounds[agent], repository) for agent in AGENTS}
    for agent, turn in turns.items():
        if turn.exception():
            print(f"{agent} has failed: {turn.exception()}")
    passes = {agent: not turn.exception() and turn.result() for agent, turn in turns.items()}

    # All work is committed to the branches, and the worktrees are removed.
    for agent in AGENTS:
        checkpoint("round", "end", rounds[agent]["round"], "--json", cwd=repository)

    # The best one passes the test, and needs the fewest lines.
    branches = checkpoint("round", "branches", "--group", GROUP, "--json", cwd=repository)["branches"]
    sizes = {}
    for agent, branch in branches.items():
        contexts = checkpoint("round", "diff", "--json", branch, cwd=repository)["contexts"]
        # A binary file has no lines.
        counts = [(file["added"] or 0) + (file["deleted"] or 0) for file in contexts[0]["diff"]["files"]]
        sizes[agent] = sum(counts)
        print(f"{agent}: {branch}, {sizes[agent]} lines, test {'passes' if passes[agent] else 'fails'}")
    winner = min((agent for agent in AGENTS if passes[agent]), key=sizes.get, default=None)
    if winner is None:
        sys.exit("no result passes the test; all work is on the branches")
    print(f"the winner is {winner}")

    # Its changes come into our worktree, where we may look at them first.
    checkpoint("round", "apply", branches[winner], "--json", cwd=repository)
    git("add", "slug.py", cwd=repository)
    git("commit", "-q", "-m", "slugs", cwd=repository)
    summary = checkpoint("attribution", "HEAD", "--json", cwd=repository)["summary"]
    print(f"lines of the agent in the commit: {summary['agent_lines']} of {summary['total_committed']}")

    # The branches go; the archive of checkpoints has their last commits.
    checkpoint("round", "end", "--group", GROUP, "--branches", "delete", "--json", cwd=repository)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(os.path.abspath(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as directory:
            main(os.path.join(directory, "slugs"))
