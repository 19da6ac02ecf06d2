"""Runs the cases with the clients; called by `run`, within a network that has nothing but the loopback device."""

import argparse
import fcntl
import signal
import socket
import struct
import subprocess
import sys
import time
import traceback
from pathlib import Path

from bench import Bench, Failed, adopt_orphans, end_descendants
from cases import CASES
from clients import CLIENTS
from mutations import MUTATIONS
from stub import Stub

NAMES = [case.__name__ for case in CASES]


def main():
    """Returns the exit status: 0 only if each case of each client is as expected."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, required=True, help="where homes, repositories and logs are made")
    parser.add_argument("--program", type=Path, required=True, help="the git-checkpoint that is tested")
    parser.add_argument("--npm", type=Path, required=True, help="where the clients are installed, a folder each")
    parser.add_argument("--case", action="append", choices=NAMES, help="only this case (may be repeated)")
    parser.add_argument("--mutate", choices=list(MUTATIONS), help="change what the hooks tell")
    parser.add_argument("--mutations", action="store_true", help="expect that each of these changes is noticed")
    parser.add_argument("clients", nargs="+")
    options = parser.parse_args()
    options.folder, options.npm = options.folder.resolve(), options.npm.resolve()
    loopback_up()
    if len(options.clients) > 1:
        return together(options.clients)
    adopt_orphans()
    # A script that runs this in the background makes it ignore the signal, and the clients would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    client = next(client for client in CLIENTS if client.name == options.clients[0])
    cases = [case for case in CASES if case.__name__ in (options.case or NAMES)]
    with open(options.folder / f"{client.name}.log", "w") as log:
        stub = Stub(log)
        if options.mutations:
            noticed = [is_noticed(client, mutation, stub, options) for mutation, (_, by) in MUTATIONS.items() if by]
            return 0 if all(noticed) else 1
        for case in [case for case in cases if case.__name__ in client.lacks]:
            print(f"skip - {client.name}: {case.__name__}: {client.lacks[case.__name__]}", flush=True)
            cases.remove(case)
        passed = [passes(client, case, stub, options) for case in cases]
    print(f"{client.name}: {passed.count(True)} cases are as expected, {passed.count(False)} are not", flush=True)
    return 0 if passed and all(passed) else 1


def together(clients):
    """Runs a process for each client; returns 0 only if all of them do."""
    own = [argument for argument in sys.argv if argument not in clients]
    processes = [subprocess.Popen([sys.executable, *own, client]) for client in clients]
    try:
        return max([process.wait() for process in processes], key=abs)
    finally:
        for process in processes:
            process.kill()


def passes(client, case, stub, options):
    """Runs a case, prints what came of it, and returns true if all was as expected."""
    name, begun = f"{client.name}: {case.__name__}", time.monotonic()
    failures, _ = run(client, case, stub, options, options.folder / client.name / case.__name__, options.mutate)
    print(f"{'not ok' if failures else 'ok'} - {name} ({time.monotonic() - begun:.1f} s)", flush=True)
    for failure in failures:
        print(f"    {name}: {failure}", flush=True)
    return not failures


def is_noticed(client, mutation, stub, options):
    """Runs cases with hooks that are wrong, until one fails, and prints which; returns false if none does."""
    name, is_any = f"{client.name}: {mutation}", False
    for case in CASES:
        if case.__name__ not in MUTATIONS[mutation][1] or case.__name__ in client.lacks:
            continue
        folder = options.folder / client.name / mutation / case.__name__
        failures, is_mutated = run(client, case, stub, options, folder, mutation)
        is_any |= is_mutated
        if failures and is_mutated:
            first = failures[0].splitlines()[0]
            print(f"ok - {name}: noticed by {case.__name__}: {first}", flush=True)
            return True
    if not is_any:
        print(f"skip - {name}: there is nothing that it would change", flush=True)
        return True
    print(f"not ok - {name}: no case has noticed it", flush=True)
    return False


def run(client, case, stub, options, folder, mutation):
    """Runs a case; returns what was not as expected, and whether the mutation has changed anything."""
    bench, failures = None, []
    try:
        npm = options.npm / client.name / "node_modules/.bin"
        bench = Bench(case.__name__, client, options.program, npm, stub, folder, mutation)
        bench.enable()
        case(bench)
    except Failed as failure:
        failures.append(f"expected that {failure}")
    except (OSError, LookupError, ValueError, subprocess.SubprocessError) as error:
        failures.append(f"expected to be able to tell: {traceback.format_exc(limit=-2)}{error}")
    finally:
        end_descendants()
    return [*(bench.failures if bench else []), *failures], (folder / "bin/mutated").exists()


def loopback_up():
    """Brings the loopback device up, as a new network has it down."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        get, put, is_up, name = 0x8913, 0x8914, 1, b"lo".ljust(16, b"\0")
        flags = struct.unpack("16sh", fcntl.ioctl(control, get, struct.pack("16sh", name, 0)))[1]
        fcntl.ioctl(control, put, struct.pack("16sh", name, flags | is_up))


if __name__ == "__main__":
    sys.exit(main())
