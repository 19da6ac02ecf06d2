"""What can be wrong with the hooks, so that the cases have to notice it.

A mutated run puts this program in the place that the hooks call. It hands each payload on to git-checkpoint, changed or
not at all, and writes down what came (`hooks.log`) and whether it has changed anything (`mutated`).
"""

import json
import subprocess
import sys
from pathlib import Path

# What the clients call their events.
PROMPT = ["UserPromptSubmit", "BeforeAgent", "chat.message"]
BEFORE_TOOL = ["PreToolUse", "BeforeTool", "tool.execute.before"]
AFTER_TOOL = ["PostToolUse", "PostToolUseFailure", "AfterTool", "tool.execute.after"]
STOP = ["Stop", "StopFailure", "AfterAgent", "session.idle"]
INTERRUPT = ["Interrupt"]

HOMES = {"claude-code": ".claude", "codex": ".codex", "gemini": ".gemini"}


def event(payload):
    """Returns the name of an event, as the client has it."""
    return payload.get("hook_event_name") or payload.get("hook")


def without(names):
    """Drops some events."""
    return lambda payload, arguments: (None if event(payload) in names else payload, arguments)


def swapped(payload, arguments):
    """Makes the events another agent's: in the hook, and wherever the payload tells."""
    name = arguments[arguments.index("--agent") + 1]
    other = "codex" if name == "claude-code" else "claude-code"
    text = json.dumps(payload).replace(HOMES.get(name, "opencode"), HOMES[other])
    changed = {key: value for key, value in json.loads(text).items() if key not in ["turn_id", "timestamp", "plugin"]}
    return changed, [other if argument == name else argument for argument in arguments]


def mixed(payload, arguments):
    """Lets tools be used in another session than the one that was asked."""
    if event(payload) not in BEFORE_TOOL + AFTER_TOOL:
        return payload, arguments
    text = json.dumps(payload)
    session = payload.get("session_id") or payload["input"]["sessionID"]
    return json.loads(text.replace(session, session[:-1] + ("0" if session[-1] != "0" else "1"))), arguments


def removed(keys):
    """Removes fields, wherever they are."""

    def strip(value):
        if isinstance(value, dict):
            return {key: strip(inner) for key, inner in value.items() if key not in keys}
        return [strip(inner) for inner in value] if isinstance(value, list) else value

    return lambda payload, arguments: (strip(payload), arguments)


def same(payload, arguments):
    """Changes nothing."""
    return payload, arguments


# Each with the cases that are to notice it. Starts of sessions, and of helpers and their ends, are not here: without them, the
# first prompt and the helper's tools tell the same.
MUTATIONS = {
    "no-prompt": (without(PROMPT), ["shell", "approved"]),
    "no-before-tool": (without(BEFORE_TOOL), ["patch", "denied"]),
    "no-after-tool": (without(AFTER_TOOL), ["patch", "approved"]),
    "no-stop": (without(STOP), ["background", "approved", "refused"]),
    "no-interrupt": (without(INTERRUPT), ["escaped"]),
    "no-model": (removed(["model", "transcript_path"]), ["models", "shell"]),
    "no-conversation": (removed(["transcript_path"]), ["patch"]),
    "no-names-of-helpers": (removed(["agent_id", "parentID", "parent"]), ["helper"]),
    "no-git-hooks": (without(["git"]), ["shell"]),
    "swapped-agent": (swapped, ["shell"]),
    "mixed-sessions": (mixed, ["shell"]),
    "none": (same, []),
}


def insert(name, folder):
    """Puts this program in the place of `folder`/git-checkpoint; it calls the one that was there."""
    program, inner = folder / "git-checkpoint", folder / "inner/git-checkpoint"
    inner.parent.mkdir()
    program.rename(inner)
    program.write_text(f"#!{sys.executable}\nimport sys\n\nsys.path.insert(0, {str(Path(__file__).parent)!r})\n"
                       f"import mutations\n\nsys.exit(mutations.run({name!r}, {str(inner)!r}, {str(folder)!r}))\n")
    program.chmod(0o755)


def run(name, inner, folder):
    """Calls git-checkpoint as this program was called, but for what the mutation changes; returns its exit code."""
    arguments = sys.argv[1:]
    if arguments[:1] != ["hook"]:
        return subprocess.run([inner, *arguments], check=False).returncode
    data = sys.stdin.buffer.read() if "--agent" in arguments else None
    payload = json.loads(data) if data is not None else {"hook": "git"}
    changed, called_with = MUTATIONS[name][0](payload, arguments)
    with open(Path(folder) / "hooks.log", "a") as log:
        log.write(json.dumps([arguments, payload]) + "\n")
    if (changed, called_with) != (payload, arguments):
        (Path(folder) / "mutated").touch()
    if changed is None:
        return 0
    given = None if data is None else data if changed == payload else json.dumps(changed).encode()
    done = subprocess.run([inner, *called_with], input=given, capture_output=data is not None, check=False)
    if data is not None:
        with open(Path(folder) / "hooks.log", "a") as log:
            log.write(json.dumps([done.returncode, done.stdout.decode(), done.stderr.decode()]) + "\n")
        sys.stdout.buffer.write(done.stdout)
        sys.stderr.buffer.write(done.stderr)
    return done.returncode
