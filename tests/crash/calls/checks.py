"""What has to hold after a command was killed, or after one of its calls has failed."""

import json
import re

from world import Broken, said

# Rust's own library unwraps what reading a pipe of a child returns, which fails only here.
PIPE = re.compile(r"panicked at /rustc/[^ ]*/library/std/src/(sys/)?process")
# What a person should never read: a panic, or a value as Rust prints it.
CODE = re.compile(r"panicked|RUST_BACKTRACE|fatal runtime|memory allocation|Os \{|Error \{|Kind\(|Some\(|Err\(")


class Reference:
    """What a command finds, and leaves behind if nothing happens to it."""

    def __init__(self, site, case, run):
        self.before = (site.files(), site.facts(), site.trees())
        self.held = site.held()
        self.known = known(site)
        self.ended = run(site, case, [])
        if self.ended.returncode != 0:
            raise Broken(f"{case.name}: {self.ended.returncode}: {said(self.ended)}")
        self.after = (site.files(), site.facts(), site.trees())


def known(site):
    """Returns the ids of all checkpoints that `list` shows."""
    listed = site.ours("list", "--all", "--json").splitlines()
    return {json.loads(line)["id"] for line in listed}


def logged(site):
    """Returns the ids of all commits that the operation log leads to."""
    logs = site.git("for-each-ref", "--format=%(refname)", "refs/checkpoints/operations/").split()
    return set(site.git("rev-list", *logs).split()) if logs else set()


def check(site, case, reference, ended, call, is_killed):
    """Yields what is wrong."""
    if not is_killed:
        yield from check_words(case, ended)
    sound = site.run(["git", "fsck", "--strict", "--no-dangling"])
    if sound.returncode != 0 or [line for line in said(sound).splitlines() if not line.startswith("notice: ")]:
        yield f"fsck: {said(sound)}"
    yield from check_users(site, case, reference)
    if not is_killed and ended.returncode == 0:
        yield from check_done(site, case, reference, ended)
    elif not is_killed:
        yield from check_not_done(site, case, reference)
    stock = site.run(["git", "status"])
    if stock.returncode != 0:
        yield f"blocked: git status: {said(stock)}"
    yield from check_next(site, case, reference, ended, call, is_killed)
    yield from check_git(site, reference, case, is_killed or ended.returncode != 0)


def check_words(case, ended):
    words = ended.stderr.decode(errors="replace")
    if PIPE.search(words):
        return
    if CODE.search(words) or ended.returncode < 0:
        yield f"it panics: {ended.returncode}: {words.strip()}"
    if case.hook:
        return
    failed = [line for line in words.splitlines() if line.startswith(("fatal:", "error:"))]
    codes = {0, 2} if case.event else {0, 1, 128}
    if ended.returncode not in codes:
        yield f"exit code {ended.returncode}: {words.strip()}"
    elif (case.undo or case.name == "undo") and ended.returncode == 1 and not failed:
        # Some of it was not restored, and the output says what.
        if not ended.stdout:
            yield f"exit code 1 without a word: {words.strip()}"
    elif case.name == "disable" and ended.returncode == 1 and not failed:
        # A file of an agent that cannot be looked at is left, and named.
        if b"\nkept " not in ended.stdout:
            yield f"exit code 1 without a word: {words.strip()}"
    elif len(failed) != (0 if ended.returncode in (0, 2) else 1):
        yield f"exit code {ended.returncode} with {len(failed)} errors: {words.strip()}"


def check_users(site, case, reference):
    """What is the user's is as before, or where the command may change it, as after."""
    facts, (files_before, facts_before, _), (files_after, facts_after, _) = site.facts(), reference.before, reference.after
    is_commit = "HEAD" in case.changes
    for name, value in facts.items():
        may = name in case.changes or is_commit and name in ("refs", "logs", "index")
        if value != facts_before[name] and not may:
            yield f"{name} has changed: {facts_before[name]!r} -> {value!r}"
        elif value not in (facts_before[name], facts_after[name]) and not is_commit and name != "config":
            yield f"{name} is neither as before nor as after: {value!r}"
    files = site.files()
    held = site.held()
    for name in sorted(files_before.keys() | files_after.keys() | files.keys()):
        if name.split("/")[-1].startswith(".git-checkpoint-") or name.startswith("tmp/"):
            continue
        before, now, after = files_before.get(name), files.get(name), files_after.get(name)
        if now != before and ("files" not in case.changes and now != after or now not in (before, after)):
            yield f"{name} is neither as before nor as after: {now}"
        if before and now != before and before[0] not in held and name.startswith("repo/") and case.name != "config-migrate":
            yield f"{name}: what it was is lost"
    if "checkpoints" not in case.changes and reference.held - held:
        yield f"lost from checkpoints: {reference.held - held}"


def check_done(site, case, reference, ended):
    """It says that it is done: then it is as if nothing had happened."""
    words = (ended.stdout + ended.stderr).decode(errors="replace")
    if case.event or case.hook or re.search(r'warning: |^(skipped|kept)  |"skipped":\[\{', words, re.MULTILINE):
        return
    if site.files() != reference.after[0]:
        yield "done, says it, but the files are not as after"
    if site.facts() != reference.after[1]:
        yield "done, says it, but HEAD, index, refs or config are not as after"
    # That a checkpoint of what was restored could not be taken costs nothing but where later ones come from.
    # What is not known to be held elsewhere goes to the archive: that is more, never less.
    is_more = set(site.trees()[1]) == set(reference.after[2][1]) and set(site.trees()[0]) >= set(reference.after[2][0])
    # Rules that cannot be read ignore nothing, as for git.
    is_more = is_more or '"path":"ignored"' in words
    if site.trees() != reference.after[2] and not is_more and not case.undo and case.name != "undo":
        yield f"done, says it, but its refs are not as after: {site.trees()}, not {reference.after[2]}"


def check_not_done(site, case, reference):
    """It says that it failed: then its refs are as before, or as after where only what follows has failed."""
    if case.event or case.hook or case.undo or case.name == "undo":
        return
    before, after, now = reference.before, reference.after, site.trees()
    if now not in (before[2], after[2]):
        yield f"failed, says it, but its refs are neither as before nor as after: {now}"


def could_not_go(name, call, is_killed):
    """Returns true if `name` is what the failed `call` was to remove; a pack has another name in each run."""
    name, arguments = (re.sub("[0-9a-f]{40,64}", "*", text) for text in (name.split("/")[-1], call.arguments))
    return not is_killed and call.name in ("unlink", "unlinkat") and name in arguments


def check_next(site, case, reference, ended, call, is_killed):
    """The next command works, and leaves nothing behind."""
    try:
        ids = known(site)
    except Broken as broken:
        yield f"list: {broken}"
        return
    told = set()
    for line in ended.stdout.decode(errors="replace").splitlines():
        if line.startswith("{") and line.endswith("}") and json.loads(line).get("id"):
            told.add(json.loads(line)["id"])
    # A commit puts what it takes into a record, a reset into the archive, which `list` does not show.
    # What an undo takes back is in the operation log.
    gone = (reference.known | told) - ids - logged(site)
    if not {"checkpoints", "archive", "HEAD"} & case.changes and gone:
        yield f"checkpoints are not listed any more: {gone}"
    if case.undo:
        yield from check_undo(site, case, reference)
    elif case.name == "undo" and json.loads(site.ours("status", "--json"))["interrupted_restore"]:
        site.ours("restore", "--continue")
    try:
        if "config" in case.changes and ended.returncode != 0:
            # Another lock than that of a save, so that only the same command knows of a death.
            site.ours(*case.argv)
        elif case.name.startswith("config-"):
            # Of what was left where settings are, only who writes there knows.
            site.ours("doctor", "--fix")
        tree = site.worktree_tree()
        saved = json.loads(site.ours("save", "--json", "--allow-empty"))
        if saved["tree"] != tree:
            yield f"the next save takes {saved['tree']}, not {tree}"
    except Broken as broken:
        yield f"the next save: {broken}"
        return
    left = [name for name in site.leftovers() if not could_not_go(name, call, is_killed)]
    if left:
        yield f"left behind: {left}"


def check_undo(site, case, reference):
    changed = site.files() != reference.before[0] or site.facts()["index"] != reference.before[1]["index"]
    undone = site.run([str(site.program), "undo"])
    if undone.returncode != 0 and changed:
        yield f"undo: {undone.returncode}: {said(undone)}"
    files = {name: value for name, value in site.files().items() if ".git-checkpoint-" not in name}
    if files != reference.before[0] or site.facts()["index"] != reference.before[1]["index"]:
        different = [name for name in reference.before[0] if files.get(name) != reference.before[0][name]]
        yield f"undo does not bring back {different}: {said(undone)}"


def check_git(site, reference, case, is_worth_it):
    """Git still works on everything, and forgets nothing."""
    if not is_worth_it:
        return
    before = site.held() | set()
    for argv in (["git", "add", "-A"], ["git", "commit", "-qm", "after", "--allow-empty"], ["git", "gc", "-q", "--prune=now"]):
        stock = site.run(argv)
        if stock.returncode != 0:
            yield f"blocked: {' '.join(argv)}: {said(stock)}"
    if before - site.held():
        yield "lost to git gc"
    sound = site.run(["git", "fsck", "--strict", "--no-dangling"])
    if sound.returncode != 0:
        yield f"fsck, in the end: {said(sound)}"
