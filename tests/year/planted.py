#!/usr/bin/env python3
"""Bugs planted in the engine on purpose: each is built, lives through a part of the year, and must be caught. The build is
that of the proof by system call (tests/proof/bugs.py); PROOF_TARGET_DIR may name a build directory that has the
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

BUGS = ["fold-explains-too-much", "order-broken", "closing-without-proof", "rung-told-twice", "staleness-off",
        "sum-one-unit-short"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bugs", nargs="*", default=BUGS)
    parser.add_argument("--accounts", default="60")
    parser.add_argument("--days", default="120")
    parser.add_argument("--seed", default="7")
    options = parser.parse_args()
    missed = 0
    for bug in options.bugs:
        folder = tempfile.mkdtemp(prefix="year-bug-")
        try:
            binary = built(os.path.join(HERE, "bugs", f"{bug}.patch"), folder)
            run = subprocess.run([sys.executable, os.path.join(HERE, "run.py"), binary, "--accounts", options.accounts,
                                  "--days", options.days, "--seed", options.seed, "--show", "1"],
                                 capture_output=True, text=True)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        found = re.findall(r"^ *([\d,]+)  WRONG: (.*)\n +(.*)$", run.stdout, re.M)
        missed += not found
        print(f"{bug}: " + ("; ".join(f"{what} ({count}), first {first}" for count, what, first in found)
                            or f"NOT CAUGHT {run.stdout[-300:]}{run.stderr[-300:]}"), flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
