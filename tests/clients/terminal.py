"""A client in a terminal: a session of tmux in which a person types prompts, answers, and reads the screen."""

import os
import re
import subprocess
import time
from pathlib import Path

from bench import TURN, Failed, descendants
from clients import asking

# How long a screen has to stay as it is until the client is taken to wait for a person, in seconds.
CALM = 1.5
# How long a client has for its first screen; all of them start at once.
START = 90


class Terminal:
    """The terminal interface of the bench's client; `how` is how it continues: `resume`, `fork`, or not at all."""

    def __init__(self, bench, how=None):
        self.bench, self.client, self.socket = bench, bench.client, bench.folder / "tmux"
        self.client.is_asked, self.seen = True, ""
        command = [self.client.program, *self.client.terminal(how)]
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", "110", "-y", "60", *command)
        # What the client has said last stays to be read when it is gone.
        self.tmux("set-option", "-g", "remain-on-exit", "on")
        self.greet()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with open(self.bench.log, "a") as log:
            log.write(self.screen() + "\n")
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], capture_output=True, check=False)

    # What is done.

    def prompt(self, *steps, words=""):
        """Types a prompt that makes the stub play `steps`, and returns it when the client has sent it."""
        prompt = " ".join(filter(None, [self.bench.next_play(steps), words]))
        self.type(prompt)
        end = time.monotonic() + TURN
        while not self.is_heard(prompt):
            if time.monotonic() > end:
                raise Failed(f"the client takes a prompt: it shows\n{self.screen().strip()}")
            # A busy client takes what comes quickly for pasted, with the line's end.
            self.keys("Enter")
        return prompt

    def is_heard(self, prompt):
        """Returns true if the stub hears of a prompt soon."""
        end = time.monotonic() + TURN / 4
        while name_of(prompt) not in self.bench.stub.heard:
            if time.monotonic() > end:
                return False
            time.sleep(0.1)
        return True

    def type(self, text):
        """Types a line."""
        self.tmux("send-keys", "-l", "--", text)
        time.sleep(0.6)
        self.keys("Enter")

    def keys(self, *keys):
        """Presses keys, as tmux names them."""
        for key in keys:
            self.tmux("send-keys", key)
            time.sleep(0.3)

    def await_question(self):
        """Waits until the client asks whether a tool may be used."""
        self.await_screen(self.client.asks, "asks whether a tool may be used")
        # It may blink meanwhile, and takes no keys in its first moment.
        time.sleep(0.5)

    def approve(self, times=1):
        """Says yes to the tool that the client asks about, and then to the next ones."""
        for _ in range(times):
            self.await_question()
            heard = self.bench.stub.count
            self.keys(*self.client.yes)
            self.wait(
                lambda heard=heard: self.bench.stub.count > heard or not self.shows(self.client.asks),
                "continues when it may use a tool",
            )

    def refuse(self):
        """Says no."""
        self.await_question()
        self.keys(*self.client.no)
        self.wait(lambda: not self.shows(self.client.asks), "stops asking when it may not use a tool")
        self.settle()

    def interrupt(self):
        """Interrupts a tool that runs."""
        self.keys(*self.client.escape)
        self.settle()

    def await_end(self, prompt):
        """Waits until the turn of a prompt has ended."""
        name = name_of(prompt)
        self.await_screen(rf"Done with {name}\.", f"says that it is done with {name}")
        self.settle()

    def turn(self, *steps, words=""):
        """Takes a whole turn, with a yes to each tool that is asked about; returns the prompt."""
        prompt = self.prompt(*steps, words=words)
        self.approve(sum(not callable(step) for step in steps))
        self.await_end(prompt)
        return prompt

    def change_model(self):
        """Chooses the client's other model; returns its name, as the client says it if it does."""
        for line, keys in self.client.other_model_by:
            if line:
                self.type(line)
                self.settle()
            self.keys(*keys)
            self.settle()
        self.await_screen(self.client.changed, "changes the model")
        said = re.search(self.client.changed, self.screen()).groups()
        self.settle()
        return said[0] if said else self.client.other_model

    def leave(self):
        """Leaves the client."""
        self.type(self.client.quit)
        self.wait(self.is_gone, "ends when it is left")
        self.settle()
        self.tmux("kill-server")

    # What is seen.

    def screen(self):
        """Returns the text on the screen."""
        shown = ["tmux", "-S", self.socket, "capture-pane", "-p", "-J"]
        text = subprocess.run(shown, capture_output=True, text=True, check=False).stdout
        if not self.seen.endswith(text):
            self.seen += text
        return text

    def shows(self, pattern):
        """Returns true if the screen has a text."""
        return re.search(pattern, self.screen()) is not None

    def sees(self, words):
        """Returns true if the screen has, or had, these words, however they are wrapped and framed: some go soon."""
        self.screen()
        return words in plain(self.seen)

    def is_gone(self):
        """Returns true if the client has ended."""
        shown = ["tmux", "-S", self.socket, "display-message", "-p", "#{pane_pid}"]
        done = subprocess.run(shown, capture_output=True, text=True, check=False)
        return done.returncode != 0 or state(done.stdout.strip())[1] in "XZ"

    def await_screen(self, pattern, what, seconds=TURN):
        """Waits until the screen has a text."""
        self.wait(lambda: self.shows(pattern), what, seconds)

    def settle(self):
        """Waits until the client waits for a person: nothing moves on the screen, and no hook runs."""
        last = [self.screen(), time.monotonic()]

        def is_calm():
            shown, now = self.screen(), time.monotonic()
            if shown != last[0] or is_hook_running():
                last[:] = shown, now
            return now - last[1] >= CALM

        self.wait(is_calm, "waits for a person")

    def wait(self, is_so, what, seconds=TURN):
        """Waits until something is so."""
        end = time.monotonic() + seconds
        while not is_so():
            if time.monotonic() > end:
                raise Failed(f"the client {what}: it shows\n{self.screen().strip()}")
            time.sleep(0.1)

    def greet(self):
        """Answers what the client asks when it starts, until it waits for a prompt."""
        end = time.monotonic() + START
        while True:
            self.settle()
            shown = self.screen()
            keys = next((keys for pattern, keys in self.client.greetings if re.search(pattern, shown)), None)
            if keys is not None and time.monotonic() < end:
                self.keys(*keys)
            elif re.search(self.client.ready, shown):
                return
            elif time.monotonic() > end or self.is_gone():
                raise Failed(f"the client waits for a prompt: it shows\n{shown.strip()}")

    def tmux(self, *arguments):
        """Runs tmux."""
        subprocess.run(
            ["tmux", "-S", self.socket, *arguments], cwd=self.bench.repo, env=self.bench.env, check=True, timeout=30
        )


def name_of(prompt):
    """Returns the name of the play that a prompt names."""
    return prompt.split()[0].removeprefix(asking(""))


def plain(text):
    """Returns text without frames, with single spaces."""
    return " ".join(re.sub(r"[^\w\s.,:;'()\[\]/-]", " ", text).split())


def is_hook_running():
    """Returns true while git-checkpoint runs below this process."""
    states = map(state, descendants(os.getpid()))
    return any(name == "git-checkpoint" and how not in "XZ" for name, how in states)


def state(pid):
    """Returns the name of a process's program, and the letter of its state; `X` if it is gone."""
    try:
        name, rest = Path(f"/proc/{pid}/stat").read_text().split("(", 1)[1].rsplit(")", 1)
        return name, rest.split()[0]
    except (OSError, IndexError):
        return "", "X"
