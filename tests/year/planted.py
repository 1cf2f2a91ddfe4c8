#!/usr/bin/env python3
"""Bugs planted in the engine on purpose, all in one build, of which the environment switches one on: with each it lives
through a part of the year, and each must be caught. The build is that of the proof by system call (tests/proof/bugs.py); PROOF_TARGET_DIR may name a build directory that has the
dependencies already."""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "proof"))
from bugs import built  # noqa: E402

BUGS = ["a fold that explains too much", "an order broken", "a closing without proof", "a rung told twice",
        "a staleness rule off", "a sum one unit short",
        # Of somebody who had not written the judge.
        "amounts as of the report", "pay by in UTC", "the same bytes for good", "the last safe day is a warning",
        "the least as of a day ago", "was as first mailed", "untold once its cause ended",
        "the end in UTC"]
# They do not show in the part of the year that shows the others: 40 accounts, and what these say.
APART = {"the same bytes for good": ["--lost-days", "6"],
         "untold once its cause ended": ["--calm", "--skip", "20", "--days", "90"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bugs", nargs="*", default=BUGS)
    parser.add_argument("--accounts", default="24")
    parser.add_argument("--days", default="80")
    parser.add_argument("--seed", default="7")
    options = parser.parse_args()
    missed = 0
    folder = tempfile.mkdtemp(prefix="year-bugs-")
    try:
        binary = built(os.path.join(HERE, "planted.patch"), folder)
        clean = []
        for bug in options.bugs:
            apart = APART.get(bug)
            caught = caught_by(binary, bug, options, apart)
            missed += not caught
            print(f"{bug}: " + ("; ".join(caught) or "NOT CAUGHT"), flush=True)
            # Without any the same binary has to be fine, or nothing is proved.
            clean += caught_by(binary, "none", options, apart) if apart else []
        clean += caught_by(binary, "none", options)
        print("none: " + ("; ".join(clean) or "nothing to complain of"))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if missed or clean else 0


def caught_by(binary, bug, options, apart=None):
    """What the judge complains of: how often, and the first of each."""
    command = [sys.executable, os.path.join(HERE, "run.py"), binary, "--accounts", options.accounts, "--days", options.days,
               "--seed", options.seed, "--show", "1", *(["--accounts", "40", *apart] if apart else [])]
    run = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PLANTED": bug})
    if run.returncode not in (0, 1) or "seed" not in run.stdout:
        raise SystemExit(f"{bug}: the run failed: {run.stdout[-500:]}{run.stderr[-1000:]}")
    found = re.findall(r"^ *([\d,]+)  WRONG: (.*)\n +(.*)$", run.stdout, re.M)
    return [f"{what} ({count}), first {first}" for count, what, first in found]


if __name__ == "__main__":
    sys.exit(main())
