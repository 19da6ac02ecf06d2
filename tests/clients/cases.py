"""What clients are made to do, and what has to be known of it after a commit.

Each case is a function of a bench. A person sits before the worktree, too: what is changed between the turns is theirs.
"""

import signal

from clients import write
from terminal import Terminal, name_of, plain


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
    """A command keeps writing during the turn, and another one after the client has ended."""
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
    # Between a stop and the next prompt, it looks like a person's work.
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
    bench.expect("owners of after.txt", ["agent 2"], bench.owners("after.txt"))
    is_recorded(bench, {1: first, 2: second}, ["after.txt", "made.txt", *half_done(bench)])


def half_done(bench):
    """Returns `half.txt` if it is the agent's. Unless an event comes while the command runs, that is unknown: the command
    may have been refused, and a person have written the file.
    """
    owners = bench.owners("half.txt")
    bench.expect("half.txt is a person's", False, owners == ["human"])
    return ["half.txt"] if owners == ["agent 1"] else []


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
    # Where git calls no hooks, the records have no trailers, and what one command writes and commits was never seen before.
    has_hooks = bench.client.runs_git_hooks
    is_recorded(bench, {1: prompt}, ["made.txt"], "HEAD~2", has_trailer=has_hooks)
    if not has_hooks:
        bench.expect_of_person("quick.txt")
    else:
        bench.expect("owners of quick.txt", ["agent 1"], bench.owners("quick.txt"))
        is_recorded(bench, {1: prompt}, ["quick.txt"], "HEAD~1")
    is_recorded(bench, {1: prompt}, ["more.txt"])


def approved(bench):
    """In the terminal, each tool is asked about and allowed; a person edits a file while the first question is open."""
    with Terminal(bench) as terminal:
        first = terminal.prompt(
            ("write", "made.txt", "made\n"),
            ("shell", "echo x > shell.txt && sed -i s/two/TWO/ kept.txt"),
        )
        terminal.await_question()
        bench.change("kept.txt", "four", "FOUR")
        terminal.approve(2)
        terminal.await_end(first)
        bench.change("kept.txt", "one", "eins")
        second = terminal.turn(("write", "more.txt", "more\n"))
    bench.commit("approved")
    bench.expect("owners of made.txt", ["agent 1"], bench.owners("made.txt"))
    bench.expect("owners of shell.txt", ["agent 1"], bench.owners("shell.txt"))
    bench.expect("owners of more.txt", ["agent 2"], bench.owners("more.txt"))
    bench.expect("owners of kept.txt", ["human", "agent 1", "base", "human"], bench.owners("kept.txt"))
    is_recorded(bench, {1: first, 2: second}, ["kept.txt", "made.txt", "more.txt", "shell.txt"])


def refused(bench):
    """A file, a command, and a file after a command are refused; what a person writes meanwhile is never the agent's."""
    with Terminal(bench) as terminal:
        terminal.prompt(("write", "never.txt", "never\n"))
        terminal.await_question()
        write(bench.repo / "first.txt", "mine\n")
        terminal.refuse()
        terminal.prompt(("shell", "echo never > never.txt"))
        terminal.await_question()
        write(bench.repo / "second.txt", "mine\n")
        terminal.refuse()
        write(bench.repo / "third.txt", "mine\n")
        terminal.prompt(("shell", "echo shell > shell.txt"), ("write", "never.txt", "never\n"))
        terminal.approve()
        terminal.await_question()
        write(bench.repo / "fourth.txt", "mine\n")
        terminal.refuse()
        terminal.turn(("write", "after.txt", "after\n"))
    bench.commit("refused")
    bench.expect("never.txt is there", False, (bench.repo / "never.txt").exists())
    for path in ["first.txt", "second.txt", "third.txt", "fourth.txt"]:
        bench.expect_of_person(path)
    bench.expect("owners of shell.txt", ["agent 3"], bench.owners("shell.txt"))
    bench.expect("owners of after.txt", ["agent 4"], bench.owners("after.txt"))
    is_sound(bench)


def meanwhile(bench):
    """While a question is open, a person writes a file and commits it; then the tool is allowed."""
    with Terminal(bench) as terminal:
        prompt = terminal.prompt(("shell", "echo made > made.txt"), ("write", "more.txt", "more\n"))
        terminal.await_question()
        write(bench.repo / "mine.txt", "mine\n")
        bench.commit("mine")
        bench.expect_of_person("mine.txt")
        terminal.approve()
        terminal.await_question()
        write(bench.repo / "other.txt", "mine\n")
        bench.git("add", "other.txt")
        bench.git("commit", "-qm", "other")
        bench.expect_of_person("other.txt")
        terminal.approve()
        terminal.await_end(prompt)
    bench.commit("made")
    for path in ["made.txt", "more.txt"]:
        bench.expect(f"owners of {path}", ["agent 1"], bench.owners(path))
    is_recorded(bench, {1: prompt}, ["made.txt", "more.txt"])


def twice(bench):
    """A person commits while the client asks, and again: each record has the conversation of the one turn."""
    paths = ["first.txt", "second.txt", "third.txt"]
    with Terminal(bench) as terminal:
        prompt = terminal.prompt(*(("write", path, "made\n") for path in paths))
        for path in paths[:2]:
            terminal.approve()
            terminal.await_question()
            bench.commit(path)
        terminal.approve()
        terminal.await_end(prompt)
    bench.commit(paths[2])
    for commit, path in zip(["HEAD~2", "HEAD~1", "HEAD"], paths):
        bench.expect(f"owners of {path}", ["agent 1"], bench.owners(path))
        is_recorded(bench, {1: prompt}, [path], commit)


def escaped(bench):
    """A person interrupts a command by Esc, writes a file and continues."""
    with Terminal(bench) as terminal:
        first = terminal.prompt(
            ("write", "made.txt", "made\n"),
            ("shell", "echo half > half.txt; sleep 40; echo never > never.txt"),
        )
        terminal.approve(2)
        bench.await_file("half.txt")
        terminal.interrupt()
        write(bench.repo / "mine.txt", "mine\n")
        second = terminal.turn(("write", "after.txt", "after\n"))
    bench.commit("after all")
    bench.expect("never.txt is there", False, (bench.repo / "never.txt").exists())
    bench.expect_of_person("mine.txt")
    bench.expect("owners of made.txt", ["agent 1"], bench.owners("made.txt"))
    bench.expect("owners of after.txt", ["agent 2"], bench.owners("after.txt"))
    is_recorded(bench, {1: first, 2: second}, ["after.txt", "made.txt", *half_done(bench)])


def secret(bench):
    """A prompt with secrets is kept without them, and so is the conversation."""
    secrets = ["ghp_" + "a1B2c3D4e5F6" * 3, "AKIA" + "QWERTYUIOPASDFGH"]
    with Terminal(bench) as terminal:
        terminal.turn(("write", "made.txt", "made\n"), words=f"with {secrets[0]} and {secrets[1]} please")
    bench.commit("without secrets")
    bench.expect("owners of made.txt", ["agent 1"], bench.owners("made.txt"))
    prompts = [prompt["text"] for session in bench.sessions() for prompt in session["prompts"]]
    bench.expect("number of prompts in the record", 1, len(prompts))
    for prompt in prompts:
        bench.expect("the rest of the prompt is there", True, prompt.startswith("play:") and "please" in prompt)
    bench.expect("secrets that are in the repository", [], [it for it in secrets if bench.holds(it)])
    bench.expect("the prompt is in the repository", True, bench.holds("please"))
    is_sound(bench)


def resumed(bench):
    """The user leaves the client, and continues the conversation in a second terminal."""
    prompts = goes_on(bench, "resume")
    bench.expect("owners of more.txt", ["agent 2"], bench.owners("more.txt"))
    is_recorded(bench, dict(enumerate(prompts, 1)), ["made.txt", "more.txt"])


def forked(bench):
    """The user leaves the client, and a second conversation begins as a copy of the first one."""
    prompts = goes_on(bench, "fork")
    bench.expect("owners of more.txt", ["agent 1"], bench.owners("more.txt"))
    told = [[prompt["text"] for prompt in session["prompts"]] for session in bench.sessions()]
    bench.expect("prompts of the sessions", [[prompt] for prompt in prompts], sorted(told))
    is_sound(bench)


def goes_on(bench, how):
    """Takes a turn each in two terminals, commits, and returns the prompts."""
    with Terminal(bench) as terminal:
        first = terminal.turn(("write", "made.txt", "made\n"))
        terminal.leave()
    write(bench.repo / "mine.txt", "mine\n")
    with Terminal(bench, how) as terminal:
        second = terminal.turn(("write", "more.txt", "more\n"))
        terminal.leave()
    bench.commit("went on")
    bench.expect("owners of mine.txt", ["human"], bench.owners("mine.txt"))
    bench.expect("owners of made.txt", ["agent 1"], bench.owners("made.txt"))
    return [first, second]


def linked(bench):
    """The client works in a linked worktree, while a person works and commits in the main one."""
    main = bench.link()
    with Terminal(bench) as terminal:
        prompt = terminal.prompt(("write", "made.txt", "made\n"), ("shell", "echo x > shell.txt"))
        terminal.await_question()
        write(main / "mine.txt", "mine\n")
        terminal.approve(2)
        terminal.await_end(prompt)
    bench.commit("linked")
    for path in ["made.txt", "shell.txt"]:
        bench.expect(f"owners of {path}", ["agent 1"], bench.owners(path))
    is_recorded(bench, {1: prompt}, ["made.txt", "shell.txt"])
    bench.repo = main
    bench.commit("main")
    bench.expect("owners of mine.txt", ["human"], bench.owners("mine.txt"))
    bench.expect("trailers in the main worktree", "", bench.git("log", "-1", "--format=%(trailers)").strip())


def models(bench):
    """A person chooses another model between two turns."""
    with Terminal(bench) as terminal:
        first = terminal.turn(("write", "made.txt", "made\n"))
        other_model = terminal.change_model()
        second = terminal.turn(("write", "more.txt", "more\n"))
    bench.commit("by two models")
    told = [bench.client.model, other_model]
    found = [line["model"] for path in ["made.txt", "more.txt"] for line in bench.json("blame", path)["lines"]]
    bench.expect("models of made.txt and more.txt", told, found)
    taken = {path: checkpoint["model"] for checkpoint in bench.checkpoints() for path in checkpoint["paths"]}
    bench.expect("models of the checkpoints", dict(zip(["made.txt", "more.txt"], told)), taken)
    is_recorded(bench, {1: first, 2: second}, ["made.txt", "more.txt"], model=told[1])


def denied(bench):
    """The guard holds a tool back: nothing is written, and the model and the person read why."""
    with Terminal(bench) as terminal:
        guarded(bench)
        prompt = terminal.prompt(("write", "never.txt", "never\n"))
        terminal.await_end(prompt)
        is_read(bench, terminal, prompt, {"model": True, "user": True})
    bench.expect("never.txt is there", False, (bench.repo / "never.txt").exists())
    bench.expect("last error of a hook", None, bench.json("status")["last_error"])


def warned(bench):
    """With the setting `concurrency=warn`, the same tool runs, and the reason is shown to the model or the user."""
    bench.git("checkpoint", "config", "set", "concurrency", "warn")
    with Terminal(bench) as terminal:
        guarded(bench)
        prompt = terminal.turn(("write", "made.txt", "made\n"))
        is_read(bench, terminal, prompt, bench.client.shows_warnings)
    bench.commit("warned")
    bench.expect("owners of made.txt", ["agent 1"], bench.owners("made.txt"))
    bench.expect("last error of a hook", None, bench.json("status")["last_error"])


def guarded(bench):
    """Makes HEAD what no agent is to build on."""
    bench.git("commit", "-q", "--allow-empty", "-m", "[Claude Workspace] Temporary workspace for session other")


def is_read(bench, terminal, prompt, expected):
    """Expects that the guard's message is read, or not, by the model and the user."""
    words = "Temporary workspace detected"
    found = {"model": words in plain(bench.stub.heard[name_of(prompt)])}
    found["user"] = terminal.sees(words)
    bench.expect("who reads the guard's message", expected, found)


def is_recorded(bench, prompts, paths, commit="HEAD", has_trailer=True, model=None):
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
            bench.expect("model of the session", model or bench.client.model, session["model"])
            bench.expect("turns in the record", sorted(prompts), session["turns"])
            bench.expect("transcript in the record", bench.client.has_transcript, bool(session["transcript"]))
            told = {prompt["turn"]: prompt["text"] for prompt in session["prompts"]}
            bench.expect("prompts in the record", prompts, told)
        known = [entry["path"] for entry in record["files"] if entry["sessions"]]
        bench.expect("files of the session in the record", sorted(paths), sorted(known))
    is_sound(bench)


def is_sound(bench):
    """Expects that no hook has failed, that the store is sound, and that only this agent took checkpoints."""
    status = bench.json("status")
    bench.expect("last error of a hook", None, status["last_error"])
    agents = {taken["agent"] for taken in bench.checkpoints() if taken["contributor"] == "agent"}
    bench.expect("agents that took checkpoints", {bench.client.name}, agents)
    bench.git("fsck", "--strict")
    bench.git("checkpoint", "doctor")


CASES = [
    *[patch, shell, background, interrupted, killed, helper, committed],
    *[approved, refused, meanwhile, twice, escaped, secret, resumed, forked, linked, models, denied, warned],
]
