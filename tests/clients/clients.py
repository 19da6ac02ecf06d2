"""The clients: where their packages are, how they are pointed at the stub, and what they call their tools.

A play is written once, in neutral steps; each client turns a step into the calls of its own tools:

    ("write", path, text)       a file is written as a whole
    ("edit", path, old, new)    a line of a file is replaced
    ("shell", command)          a command is run, and waited for
    ("background", command)     a command runs on after the tool has returned
    ("helper", play)            a subagent plays something, and the client waits for it

Between two steps, a function is what a person does meanwhile.
"""

import json
import sys
from pathlib import Path


class Client:
    """What clients have in common. `name` is also the agent's name in git-checkpoint."""

    name = package = program = version = ""
    # True if the agent tells by `agent_id` which of its helpers did what.
    names_helpers = False
    # True if the git that the agent runs in its shell calls git's hooks.
    runs_git_hooks = True
    # The model, as the client or its transcript tells it, if one does.
    model = None
    # True if the client keeps the conversation in a file that can be read.
    has_transcript = True
    # True if a user can answer whether a tool may be used.
    is_asked = False
    # What its screen shows before it takes a prompt, each with the keys that lead on; and what it shows then.
    greetings, ready = (), ""
    # What its screen shows while it asks whether a tool may be used; the keys that say yes and no.
    asks, yes, no = "", ("Enter",), ("Escape",)
    # The keys that interrupt a tool, and the line that leaves the client.
    escape, quit = ("Escape",), "/quit"
    # The model that is changed to, and how: lines that are typed, each with keys that are pressed after it; what is shown then.
    other_model, other_model_by, changed = "", (), ""
    # Cases that there cannot be, each with the reason.
    lacks = {}
    # Who reads a warning of a hook before a tool.
    shows_warnings = {"model": False, "user": True}
    # Options of `enable` beside the name.
    options = ("--user",)

    def settings(self, home, url):
        """Writes what points the client at the stub and keeps it quiet."""

    def environment(self, url):
        """Returns the variables that do the same."""
        return {}

    def command(self, prompt, resume, repo):
        """Returns the arguments for one turn without a terminal; `resume` continues the last session."""
        raise NotImplementedError

    def terminal(self, how):
        """Returns the arguments for a terminal; `how` is `resume` or `fork` to continue the last session, or none."""
        raise NotImplementedError

    def calls(self, steps, repo, is_helper):
        """Returns the calls of tools for `steps`: the name, the input, and where a client has it, the namespace."""
        calls = []
        for step in steps:
            calls += [step] if callable(step) else getattr(self, step[0])(repo, *step[1:])
        return calls


class Codex(Client):
    name, package, program, version = "codex", "@openai/codex", "codex", "0.169.0"
    names_helpers = True
    options = ("--user", "--trust")
    model = "gpt-5.5"
    greetings = ((r"Trust this folder\?", ["Enter"]),)
    # Its line of status; what comes before that may still be followed by a question.
    ready = r"GPT-\S+ .*· /"
    asks = r"Would you like to"
    yes = ("y",)
    # Which one it is depends on the version: the client says it.
    other_model_by = (("/model", ["8"]), ("", ["Enter"]))
    changed = r"Model changed to ([\w.-]+)"

    def settings(self, home, url):
        write(
            home / ".codex/config.toml",
            f"""model = "{self.model}"
model_provider = "stub"
check_for_update_on_startup = false

[analytics]
enabled = false

[notice.model_migrations]
"{self.model}" = "gpt-6-sol"

[model_providers.stub]
name = "stub"
base_url = "{url}"
wire_api = "responses"
env_key = "STUB_KEY"
request_max_retries = 0
stream_max_retries = 0

[features]
multi_agent_v2 = true
""",
        )

    def environment(self, url):
        return {"STUB_KEY": "none"}

    def command(self, prompt, resume, repo):
        return ["exec", "--dangerously-bypass-approvals-and-sandbox", *(["resume", "--last"] if resume else []), prompt]

    def terminal(self, how):
        # A sandbox within the network of its own cannot be had; what has to leave it is asked about.
        return [*([how, "--last"] if how else []), "--sandbox", "read-only", "--ask-for-approval", "on-request"]

    def write(self, repo, path, text):
        return [self.patch(f"*** Add File: {path}\n" + "".join(f"+{line}\n" for line in text.splitlines()))]

    def edit(self, repo, path, old, new):
        return [self.patch(f"*** Update File: {path}\n@@\n-{old}\n+{new}\n")]

    @staticmethod
    def patch(text):
        return ("apply_patch", f"*** Begin Patch\n{text}*** End Patch\n")

    def shell(self, repo, command):
        first = {"sandbox_permissions": "require_escalated", "justification": "work"} if self.is_asked else {}
        return [("exec_command", {"cmd": command, "yield_time_ms": 30000, **first})]

    def background(self, repo, command):
        return [("exec_command", {"cmd": command, "yield_time_ms": 250})]

    def helper(self, repo, play):
        task = {"task_name": "helper", "message": asking(play), "fork_turns": "none"}
        return [("spawn_agent", task, "collaboration"), ("wait_agent", {"timeout_ms": 20000}, "collaboration")]


class Gemini(Client):
    name, package, program, version = "gemini", "@google/gemini-cli", "gemini", "0.61.0"
    runs_git_hooks = False
    model = "gemini-2.5-flash"
    ready = r"Type your message"
    asks = r"Apply this change\?|Allow execution of"
    lacks = {"forked": "it cannot fork a conversation"}
    other_model = "gemini-2.5-pro"
    other_model_by = (("/model set gemini-2.5-pro", []),)
    changed = r"Model set to"

    def settings(self, home, url):
        settings = {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "privacy": {"usageStatisticsEnabled": False},
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        }
        write(home / ".gemini/settings.json", json.dumps(settings, indent=2) + "\n")

    def environment(self, url):
        return {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": url}

    def command(self, prompt, resume, repo):
        last = ["--resume", "latest"] if resume else []
        return ["--skip-trust", "--approval-mode", "yolo", "-m", self.model, *last, "-p", prompt]

    def terminal(self, how):
        return ["--skip-trust", "-m", self.model, *(["--resume", "latest"] if how else [])]

    def calls(self, steps, repo, is_helper):
        calls = super().calls(steps, repo, is_helper)
        return [*calls, ("complete_task", {"result": {"response": "done"}})] if is_helper else calls

    def write(self, repo, path, text):
        return [("write_file", {"file_path": path, "content": text})]

    def edit(self, repo, path, old, new):
        change = {"instruction": "change a line", "old_string": old, "new_string": new, "allow_multiple": False}
        return [("replace", {"file_path": path, **change})]

    def shell(self, repo, command):
        return [("run_shell_command", {"command": command, "description": "work"})]

    def background(self, repo, command):
        return [("run_shell_command", {"command": command, "description": "work", "is_background": True})]

    def helper(self, repo, play):
        return [("invoke_agent", {"agent_name": "generalist", "prompt": asking(play)})]


class Claude(Client):
    name, package, program, version = "claude-code", "@anthropic-ai/claude-code", "claude", "2.1.330"
    names_helpers = True
    model = "claude-sonnet-4-5"
    greetings = ((r"❯ No, exit", ["Down"]), (r"❯ Yes, I trust", ["Enter"]))
    ready = r"\? for shortcuts"
    asks = r"Do you want to "
    quit = "/exit"
    other_model = "claude-opus-4-5"
    other_model_by = (("/model claude-opus-4-5", ["Enter"]),)
    changed = r"Set model to"

    def settings(self, home, url):
        # Without these, it begins with a choice of colours and a login.
        settled = {"hasCompletedOnboarding": True, "theme": "dark"}
        settled["customApiKeyResponses"] = {"approved": ["none"], "rejected": []}
        write(home / ".claude.json", json.dumps(settled))

    def environment(self, url):
        return {
            "ANTHROPIC_API_KEY": "none",
            "ANTHROPIC_BASE_URL": url,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            # Within the namespace it sees itself as root, and would refuse to work unasked.
            "IS_SANDBOX": "1",
        }

    def command(self, prompt, resume, repo):
        last = ["--continue"] if resume else []
        return ["-p", prompt, "--permission-mode", "bypassPermissions", "--model", self.model, *last]

    def terminal(self, how):
        last = {"resume": ["--continue"], "fork": ["--continue", "--fork-session"]}
        return ["--model", self.model, *last.get(how, [])]

    def write(self, repo, path, text):
        return [("Write", {"file_path": str(repo / path), "content": text})]

    def edit(self, repo, path, old, new):
        # It edits only what it has read.
        change = {"file_path": str(repo / path), "old_string": old, "new_string": new}
        return [("Read", {"file_path": str(repo / path)}), ("Edit", change)]

    def shell(self, repo, command):
        return [("Bash", {"command": command, "description": "work"})]

    def background(self, repo, command):
        return [("Bash", {"command": command, "description": "work", "run_in_background": True})]

    def helper(self, repo, play):
        task = {"description": "help", "prompt": asking(play), "subagent_type": "general-purpose"}
        return [("Agent", {**task, "run_in_background": False})]


class Opencode(Client):
    name, package, program, version = "opencode", "opencode-ai", "opencode", "1.18.33"
    names_helpers = True
    model = "stub"
    has_transcript = False
    ready = r"Ask anything|tab agents|ctrl\+p commands"
    asks = r"Permission required"
    escape = ("Escape", "Escape")
    quit = "/exit"
    other_model = "other"
    other_model_by = (("/models", []), ("other", []))
    changed = r"· other"

    def settings(self, home, url):
        models = {name: {"name": name} for name in [self.model, self.other_model]}
        provider = {"npm": "@ai-sdk/anthropic", "name": "stub", "models": models}
        provider["options"] = {"baseURL": f"{url}/v1", "apiKey": "none"}
        settings = {"provider": {"stub": provider}, "model": "stub/stub", "small_model": "stub/stub"}
        settings |= {"autoupdate": False, "share": "disabled", "permission": {"edit": "ask", "bash": "ask"}}
        write(home / ".config/opencode/opencode.json", json.dumps(settings, indent=2) + "\n")
        # Before it loads a plugin, it would wait for the registry, which is not there.
        write(home / ".npmrc", "offline=true\nfetch-retries=0\n")

    def environment(self, url):
        return {"OPENCODE_DISABLE_MODELS_FETCH": "1"}

    def command(self, prompt, resume, repo):
        return ["run", "--auto", *(["--continue"] if resume else []), prompt]

    def terminal(self, how):
        return {"resume": ["--continue"], "fork": ["--continue", "--fork"]}.get(how, [])

    def write(self, repo, path, text):
        return [("write", {"filePath": str(repo / path), "content": text})]

    def edit(self, repo, path, old, new):
        change = {"filePath": str(repo / path), "oldString": old, "newString": new}
        return [("read", {"filePath": str(repo / path)}), ("edit", change)]

    def shell(self, repo, command):
        return [("bash", {"command": command, "description": "work"})]

    def background(self, repo, command):
        # It has no such tool; its shell has.
        return self.shell(repo, f"({command}) >/dev/null 2>&1 &")

    def helper(self, repo, play):
        return [("task", {"description": "help", "prompt": asking(play), "subagent_type": "general"})]


CLIENTS = [Codex(), Gemini(), Claude(), Opencode()]


def asking(play):
    """Returns the prompt that makes the stub play something; without spaces, as one client quotes those."""
    return f"play:{play}"


def write(path: Path, text):
    """Writes a file and the folders that it is in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


if __name__ == "__main__":
    # For `run`: the package of a client, and the version that it was last seen to work with.
    found = [client for client in CLIENTS if client.name == sys.argv[1]]
    if not found:
        sys.exit(1)
    print(found[0].package, found[0].version)
