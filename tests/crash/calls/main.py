"""Runs the commands of cases.py as often as they have calls; called by `every-call`."""

import argparse
import re
import shlex
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cases
from checks import Reference, check
from world import Broken, Site, said

# What a sample that takes seconds is of.
QUICK = ["save", "save-many", "restore", "undo", "session-stop", "agent-post-tool"]
HERE = Path(__file__).resolve().parent
LINE = re.compile(r"(\w+)\((.*)")
# What changes something that outlives the process. Reading leaves all as it is, so that to die before it or after is the same.
CHANGES = {
    *("write", "writev", "pwrite64", "rename", "renameat", "renameat2", "unlink", "unlinkat", "rmdir", "link", "linkat"),
    *("mkdir", "mkdirat", "symlink", "symlinkat", "ftruncate", "fallocate", "chmod", "fchmod", "fchmodat", "utimensat"),
    *("copy_file_range", "sendfile", "fsync", "fdatasync", "syncfs", "flock", "clone", "clone3", "vfork", "exit_group"),
}
ERRORS = {
    **dict.fromkeys(("write", "writev", "pwrite64", "ftruncate", "fallocate", "copy_file_range"), ("EIO", "ENOSPC")),
    **dict.fromkeys(("rename", "renameat", "renameat2", "link", "linkat"), ("EIO", "ENOSPC", "EACCES")),
    **dict.fromkeys(("mkdir", "mkdirat", "symlink", "symlinkat"), ("EIO", "ENOSPC", "EACCES")),
    **dict.fromkeys(("unlink", "unlinkat", "rmdir", "chmod", "fchmod", "fchmodat", "utimensat"), ("EIO", "EACCES")),
    **dict.fromkeys(("fsync", "fdatasync", "syncfs", "read", "pread64", "getdents64", "flock"), ("EIO",)),
    **dict.fromkeys(("statx", "newfstatat", "fstat", "lstat", "stat", "readlink", "readlinkat"), ("EIO", "EACCES")),
    **dict.fromkeys(("clone", "clone3", "vfork", "fork"), ("EAGAIN", "ENOMEM")),
    **dict.fromkeys(("open", "openat", "openat2"), ("EIO", "EMFILE", "EACCES")),
    **dict.fromkeys(("pipe2", "socketpair", "fcntl", "dup", "dup3", "getcwd", "lseek"), ("EMFILE",)),
}


def strace(inject):
    return ["-o", "/dev/null", "-e", f"inject={inject}"] if inject else []


def run(site, case, options):
    """Runs the command of `case`, under strace with `options` if there are any."""
    stdin = cases.event(site, case.event) if case.event else b""
    if case.hook:
        env = {"EVERY_CALL": shlex.join(options), "EVERY_CALL_HOOK": case.hook} if options else {}
        return site.run(case.argv, env=env)
    traced = ["strace", "-qq", *options, "--"] if options else []
    return site.run([*traced, str(site.program), *case.argv], stdin=stdin)


class Call:
    """The `nth` call of `name` in the main thread."""

    def __init__(self, name, nth, arguments):
        self.name, self.nth, self.arguments = name, nth, arguments

    def changes(self):
        is_made = self.name in ("open", "openat", "openat2") and re.search("O_CREAT|O_TRUNC|O_TMPFILE", self.arguments)
        return self.name in CHANGES or is_made

    def errors(self):
        is_open = self.name in ("open", "openat", "openat2")
        return ERRORS.get(self.name, ()) + (("ENOSPC",) if is_open and self.changes() else ())


def calls(site, case):
    """Returns the calls of the command's main thread from main() on."""
    site.fresh()
    path = site.folder / "trace"
    ended = run(site, case, ["-o", str(path)])
    if ended.returncode != 0:
        raise Broken(f"{case.name} under strace: {ended.returncode}: {ended.stderr.decode()}")
    counts, found, is_started = {}, [], False
    for line in path.read_text(errors="replace").splitlines():
        match = LINE.match(line)
        if not match:
            continue
        name, arguments = match.groups()
        counts[name] = counts.get(name, 0) + 1
        # The first thing that Rust's runtime does before main().
        is_started = is_started or name == "sigaltstack"
        if is_started:
            found.append(Call(name, counts[name], arguments))
    return found


def plan(found, options, offset):
    """Returns what is injected: where, and what."""
    whole = []
    for call in found:
        if options.kill and call.changes():
            whole.append((call, "kill"))
        if options.errors:
            whole.extend((call, error) for error in call.errors())
    if options.only:
        return [(call, what) for call, what in whole if f"{call.name}:{call.nth}:{what}" in options.only]
    return whole[offset % options.sample :: options.sample]


def sweep(case, options, folder):
    """Returns the line of `case` in the table, and its failures."""
    site = Site(folder / case.name, options.program, HERE.parents[1] / "fixtures/agents")
    case.prepare(site)
    site.keep()
    reference = Reference(site, case, run)
    found = calls(site, case)
    failures, kills, errors = [], 0, 0
    for call, what in plan(found, options, cases.CASES.index(case)):
        is_kill = what == "kill"
        site.fresh()
        effect = "signal=SIGKILL" if is_kill else f"error={what}"
        ended = None
        try:
            ended = run(site, case, strace(f"{call.name}:{effect}:when={call.nth}"))
            # What git's hook calls dies alone.
            problems = list(check(site, case, reference, ended, call, is_kill))
        except (Broken, subprocess.TimeoutExpired, UnicodeDecodeError, ValueError, OSError) as error:
            problems = [f"{type(error).__name__}: {error}"]
        kills, errors = kills + is_kill, errors + (not is_kill)
        if problems:
            problems.append(ended and f"it said: {ended.returncode}: {said(ended)}")
            failures.append((f"{case.name} --only {call.name}:{call.nth}:{what}", f"{call.name}({call.arguments}"[:200], problems))
            if options.watch:
                show(failures[-1])
    return (case.name, len(found), kills, errors, len(failures)), failures


def show(failure):
    command, call, problems = failure
    print(f"\ntests/crash/every-call {command}\n  {call}", *(f"  {problem[:1500]}" for problem in problems if problem), sep="\n", flush=True)


def main():
    parser = argparse.ArgumentParser(prog="tests/crash/every-call")
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--kill", action="store_true")
    parser.add_argument("--errors", action="store_true")
    parser.add_argument("--sample", type=int, default=1)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", action="append")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--folder", type=Path, help="where the repositories are made")
    parser.add_argument("commands", nargs="*")
    options = parser.parse_args()
    options.program = options.program.resolve()
    options.watch = True
    if options.list:
        return print("\n".join(case.name for case in cases.CASES))
    unknown = set(options.commands) - {case.name for case in cases.CASES}
    if unknown:
        parser.error(f"no command is called {', '.join(sorted(unknown))}; see --list")
    if not (options.kill or options.errors):
        options.kill = options.errors = True
    if options.quick:
        options.sample, options.commands = 270, options.commands or QUICK
    chosen = [case for case in cases.CASES if not options.commands or case.name in options.commands]
    shared = Path("/dev/shm")
    start, total = time.time(), []
    with tempfile.TemporaryDirectory(prefix="every-call-", dir=options.folder or (shared if shared.is_dir() else None)) as folder:
        with ThreadPoolExecutor(options.jobs) as pool:
            results = [(case, pool.submit(sweep, case, options, Path(folder))) for case in chosen]
            for case, result in results:
                try:
                    row, failures = result.result()
                except Broken as broken:
                    row, failures = (case.name, 0, 0, 0, 1), [(case.name, "", [str(broken)])]
                    show(failures[0])
                total.append(row)
    print(f"\n{'command':<20} {'calls':>6} {'kills':>6} {'errors':>7} {'failures':>9}")
    for row in [*total, ("all", *(sum(row[at] for row in total) for at in range(1, 5)))]:
        print(f"{row[0]:<20} {row[1]:>6} {row[2]:>6} {row[3]:>7} {row[4]:>9}")
    print(f"{time.time() - start:.0f} s")
    return 1 if any(row[4] for row in total) else 0


if __name__ == "__main__":
    sys.exit(main())
