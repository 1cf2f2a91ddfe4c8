"""Bugs planted on purpose. Each must be caught: by what the trace alone says, by the images after a power cut, by the
kills, or by a command beside the daemon."""
import os
import shutil
import subprocess
import tempfile

import power
import stories
from daemon import HERE
from injection import Injection

PRAGMAS = b"PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
# In the binary itself: settings of the same length.
IN_BINARY = {
    "synchronous NORMAL": b"PRAGMA journal_mode = WAL; PRAGMA synchronous=NORMAL;",
    "synchronous OFF": b"PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; ",
    "no busy timeout": b"PRAGMA journal_mode=WAL; PRAGMA busy_timeout = 0;    ",
}
# In what the system answers.
IN_SYSTEM = {"a sync that lies": {"do": "lie"}}
# In the code: applied to a copy of the checkout, which is built.
IN_CODE = {"sent before its commit": "sent-before-commit.patch", "two commits": "two-commits.patch"}
STORY = stories.STORIES[1]


def table(options, stores):
    missed = 0
    for bug in [*IN_BINARY, *IN_SYSTEM, *IN_CODE]:
        if options.only and bug not in options.only:
            continue
        folder = tempfile.mkdtemp(prefix="proof-bug-")
        try:
            binary = planted(bug, options.binary, folder)
            caught = caught_by(binary, stores, IN_SYSTEM.get(bug), options.traced)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        missed += not caught
        print(f"{bug}: " + ("; ".join(f"{how}: {said}" for how, said in caught.items()) or "NOT CAUGHT"), flush=True)
    return 1 if missed else 0


def planted(bug, binary, folder):
    """The binary that has the bug."""
    if bug in IN_BINARY:
        with open(binary, "rb") as file:
            program = file.read()
        if PRAGMAS not in program:
            raise stories.Failed("the binary does not have the settings that are to be changed")
        changed = os.path.join(folder, "hostwatch")
        with open(changed, "wb") as file:
            file.write(program.replace(PRAGMAS, IN_BINARY[bug]))
        os.chmod(changed, 0o755)
        return changed
    return built(os.path.join(HERE, "bugs", IN_CODE[bug]), folder) if bug in IN_CODE else binary


def built(patch, folder):
    """PROOF_TARGET_DIR may name a build directory that has the dependencies already."""
    checkout = os.path.join(HERE, "..", "..")
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=checkout, check=True, capture_output=True).stdout
    subprocess.run(["tar", "x", "-C", folder], input=archive, check=True)
    subprocess.run(["patch", "-p1", "-s", "-i", patch], cwd=folder, check=True)
    target = os.environ.get("PROOF_TARGET_DIR") or os.path.join(folder, "target")
    subprocess.run(["cargo", "build", "-q", "--locked", "--bin", "hostwatch"], cwd=folder, check=True,
                   env={**os.environ, "CARGO_TARGET_DIR": target})
    binary = os.path.join(folder, "hostwatch")
    shutil.copy(os.path.join(target, "debug", "hostwatch"), binary)
    return binary


def caught_by(binary, stores, action, at_a_time):
    """Which proof complains, and its first complaint."""
    caught = {}
    traced = power.Traced(binary, STORY, stores, action)
    complaints = {"trace": traced.of_itself(), "images": power.check(traced, False, 0.3)[1]}
    if not action:
        injection = Injection(binary, stores, at_a_time)
        complaints["beside"] = injection.beside(STORY).complaints
        # Where another proof has it, the kills need not be gone through.
        complaints["kills"] = [] if any(complaints.values()) else first_kill(injection)
    for how, found in complaints.items():
        if found:
            caught[how] = found[0]
    return caught


def first_kill(injection):
    number = 1
    while outcome := injection.kill(STORY, number):
        if outcome.complaints:
            return [f"{outcome.complaints[0]} ({outcome.name})"]
        number += 1
    return []
