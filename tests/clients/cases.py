"""What clients are made to do, and what has to be known of it after a commit.

Each case is a function of a bench. A person sits before the worktree, too: what is changed between the turns is theirs.
"""

import signal


def patch(bench):
    """Files are written by the client's own tools; a person edits them, too, between the tools and after the turn."""
    prompt = bench.turn(
        ("write", "made.txt", "first\nsecond\nthird\n"),
        lambda: bench.change("made.txt", "third", "drei"),
        lambda: bench.change("kept.txt", "four", "FOUR"),
        ("edit", "kept.txt", "two", "TWO"),
        lambda: bench.change("kept.txt", "one", "eins"),
    )
    bench.change("kept.txt", "three", "tres")
    bench.commit("patched")
    bench.expect("owners of made.txt", ["agent 1", "agent 1", "human"], bench.owners("made.txt"))
    bench.expect("owners of kept.txt", ["human", "agent 1", "human", "human"], bench.owners("kept.txt"))
    is_recorded(bench, {1: prompt}, ["kept.txt", "made.txt"])
    kept = [session["transcript"] for record in bench.json("explain")["records"] for session in record["sessions"]]
    bench.expect("transcript in the record", bench.client.has_transcript, all(kept))


def shell(bench):
    """Files are written, changed and removed by a shell."""
    command = "printf 'a\\nb\\n' > made.txt && sed -i s/three/THREE/ kept.txt && mkdir -p deep && echo c > deep/c.txt"
    prompt = bench.turn(("shell", command))
    bench.commit("by a shell")
    bench.expect("owners of made.txt", ["agent 1"] * 2, bench.owners("made.txt"))
    bench.expect("owners of kept.txt", ["base", "base", "agent 1", "base"], bench.owners("kept.txt"))
    bench.expect("owners of deep/c.txt", ["agent 1"], bench.owners("deep/c.txt"))
    is_recorded(bench, {1: prompt}, ["deep/c.txt", "kept.txt", "made.txt"])


def background(bench):
    """A command goes on writing while the turn goes on, and another one after the client has ended."""
    late = f"{waiting('../end')}; echo late > late.txt"
    first = bench.turn(
        # One client tells the model of its end by a prompt of its own, within the turn.
        ("background", f"{waiting('../go')}; echo during > during.txt"),
        ("shell", f"setsid sh -c '{late}' >/dev/null 2>&1 </dev/null & touch ../go; {waiting('during.txt')}"),
        ("write", "made.txt", "made\n"),
    )
    (bench.repo / "../end").touch()
    bench.await_file("late.txt")
    second = bench.turn(("write", "after.txt", "after\n"), resume=True)
    bench.commit("in the background")
    bench.expect("owners of made.txt", ["agent 1"], bench.owners("made.txt"))
    bench.expect("owners of during.txt", ["agent 1"], bench.owners("during.txt"))
    bench.expect("owners of after.txt", ["agent 2"], bench.owners("after.txt"))
    # Between a stop and the next prompt, nobody can tell it from a person's work.
    bench.expect("owners of late.txt", ["human"], bench.owners("late.txt"))
    is_recorded(bench, {1: first, 2: second}, ["after.txt", "during.txt", "made.txt"])


def waiting(path):
    """Returns a command that waits until a file is there."""
    return f"while [ ! -e {path} ]; do sleep 0.1; done"


def interrupted(bench):
    """The client is interrupted while a command runs, as by Ctrl-C; the next prompt closes the gap."""
    stopped(bench, signal.SIGINT)


def killed(bench):
    """The client is killed while a command runs, and tells nothing of it; the next prompt closes the gap."""
    stopped(bench, signal.SIGKILL)


def stopped(bench, how):
    steps = [("write", "made.txt", "made\n"), ("shell", "echo half > half.txt; sleep 20; echo never > never.txt")]
    first = bench.turn(*steps, until="half.txt", then=how)
    bench.end_processes()
    second = bench.turn(("write", "after.txt", "after\n"), resume=True)
    bench.commit("after all")
    bench.expect("never.txt is there", False, (bench.repo / "never.txt").exists())
    bench.expect("owners of made.txt", ["agent 1"], bench.owners("made.txt"))
    bench.expect("owners of half.txt", ["agent 1"], bench.owners("half.txt"))
    bench.expect("owners of after.txt", ["agent 2"], bench.owners("after.txt"))
    is_recorded(bench, {1: first, 2: second}, ["after.txt", "half.txt", "made.txt"])


def helper(bench):
    """A subagent writes a file, a person changes another one meanwhile, and the agent writes a third one."""
    steps = [("write", "helped.txt", "helped\n"), lambda: bench.change("kept.txt", "four", "FOUR")]
    bench.play("the-helper", steps, is_helper=True)
    prompt = bench.turn(("helper", "the-helper"), ("write", "made.txt", "made\n"))
    bench.commit("with help")
    bench.expect("owners of kept.txt", ["base", "base", "base", "human"], bench.owners("kept.txt"))
    bench.expect("owners of helped.txt", ["agent 1"], bench.owners("helped.txt"))
    bench.expect("owners of made.txt", ["agent 1"], bench.owners("made.txt"))
    is_recorded(bench, {1: prompt}, ["helped.txt", "made.txt"])
    bench.expect("helped.txt is a helper's", bench.client.names_helpers, "" not in bench.helpers("helped.txt"))
    bench.expect("made.txt is the agent's own", {""}, bench.helpers("made.txt"))


def committed(bench):
    """The agent commits its work itself in the middle of its turn; then it writes and commits in one go."""
    prompt = bench.turn(
        ("write", "made.txt", "made\n"),
        ("shell", "git add made.txt && git commit -qm first"),
        ("write", "more.txt", "more\n"),
        ("shell", "echo quick > quick.txt && git add quick.txt && git commit -qm second"),
    )
    bench.commit("third")
    bench.expect("subjects", ["third", "second", "first", "base"], bench.git("log", "--format=%s").split())
    for path in ["made.txt", "more.txt"]:
        bench.expect(f"owners of {path}", ["agent 1"], bench.owners(path))
    # Where git calls no hooks, the records have no trailers, and whoever commits has written what nobody told of.
    has_hooks = bench.client.runs_git_hooks
    bench.expect("owners of quick.txt", ["agent 1" if has_hooks else "human"], bench.owners("quick.txt"))
    is_recorded(bench, {1: prompt}, ["made.txt"], "HEAD~2", has_trailer=has_hooks)
    if has_hooks:
        is_recorded(bench, {1: prompt}, ["quick.txt"], "HEAD~1")
    is_recorded(bench, {1: prompt}, ["more.txt"])


def is_recorded(bench, prompts, paths, commit="HEAD", has_trailer=True):
    """Expects a record of one session with these turns at a commit."""
    trailers = bench.git("log", "-1", "--format=%(trailers:key=Checkpoint,valueonly)", commit).split()
    records = bench.json("explain", commit)["records"]
    bench.expect(f"number of records of {commit}", 1, len(records))
    expected = [record["id"] for record in records if has_trailer]
    bench.expect(f"Checkpoint trailers in {commit}", expected, trailers)
    for record in records:
        bench.expect("number of sessions in the record", 1, len(record["sessions"]))
        for session in record["sessions"]:
            bench.expect("agent of the session", bench.client.name, session["agent"])
            bench.expect("model of the session", bench.client.model, session["model"])
            bench.expect("turns in the record", sorted(prompts), session["turns"])
            told = {prompt["turn"]: prompt["text"] for prompt in session["prompts"]}
            bench.expect("prompts in the record", prompts, told)
        known = [entry["path"] for entry in record["files"] if entry["sessions"]]
        bench.expect("files of the session in the record", sorted(paths), sorted(known))
    is_sound(bench)


def is_sound(bench):
    """Expects that no hook has failed, that the store is sound, and that nobody but this agent took checkpoints."""
    status = bench.json("status")
    bench.expect("last error of a hook", None, status["last_error"])
    agents = {taken["agent"] for taken in bench.checkpoints() if taken["contributor"] == "agent"}
    bench.expect("agents that took checkpoints", {bench.client.name}, agents)
    bench.git("fsck", "--strict")
    bench.git("checkpoint", "doctor")


CASES = [patch, shell, background, interrupted, killed, helper, committed]
