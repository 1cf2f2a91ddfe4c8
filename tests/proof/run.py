#!/usr/bin/env python3
"""Proof of the release binary by its system calls: killed at each of them, failed at each that touches the store, and
started on what a disk may hold after a power cut at each of them.

    tests/proof/run.py BINARY              everything: every call of every story, every image
    tests/proof/run.py --bounded BINARY    every kill of one story, and of all else a sample chosen by --seed
    tests/proof/run.py --bugs BINARY       bugs planted on purpose: each must be caught

Linux on x86-64, as root or whoever may trace its own children. docs/dev/judges.md says more.
"""
import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import bugs
import power
import stories
from daemon import HERE
from injection import CALLS, ERRORS, Injection

PARTS = ("kills", "failures", "images")
# The sample of the bounded form; the story whose kills are all tried there.
SMALL = "killed, cut-off"
KILLS, FAILURES, SHARE = 24, 24, 0.03
# No two runs have the same number of calls.
BEYOND = 12


class Report:
    def __init__(self):
        self.failed, self.began = 0, time.monotonic()

    def outcome(self, outcome):
        if outcome.complaints:
            self.failed += 1
            print(f"FAIL {outcome.name}")
            for complaint in outcome.complaints[:10]:
                print(f"     {complaint}")
            if self.failed <= 3:
                print("".join(f"     | {line}\n" for line in outcome.log.splitlines()[-30:]), end="", flush=True)

    def line(self, text):
        print(f"{text} [{time.monotonic() - self.began:.0f} s]", flush=True)


class Proof:
    def __init__(self, options, report, stores):
        self.options, self.report, self.stores = options, report, stores
        self.injection = Injection(options.binary, stores, options.traced)
        self.choice = random.Random(options.seed)
        self.pool = ThreadPoolExecutor(options.jobs)

    def all_at_once(self, tasks):
        return [done for done in (task.result() for task in [self.pool.submit(*task) for task in tasks]) if done]

    def go_through(self, attempts, size):
        """Each attempt at each of its calls, and beyond them until the story is over before; or a sample."""
        sample = []
        for what, attempt, count in attempts:
            if self.options.bounded and what != SMALL:
                sample += [(attempt, number) for number in range(1, count + 1)]
            else:
                self.take(what, [(attempt, number) for number in range(1, count + BEYOND)])
        if sample:
            self.take(f"{size} of {len(sample)} others", self.choice.sample(sample, size))

    def take(self, what, tasks):
        outcomes = self.all_at_once(tasks)
        for outcome in outcomes:
            self.report.outcome(outcome)
        self.report.line(f"{what}: {len(outcomes)}")

    def kills(self):
        self.go_through([(f"killed, {story.name}", partial(self.injection.kill, story), self.injection.points(story)[0])
                         for story in stories.STORIES], KILLS)

    def failures(self):
        for story in stories.STORIES[1:]:
            self.report.outcome(self.injection.beside(story))
        counts = [(story, self.injection.points(story)[1]) for story in stories.STORIES]
        self.go_through([(f"failed, {story.name}, {error} at {call}", partial(self.injection.fail, story, call, error), calls[call])
                         for story, calls in counts for call in CALLS if calls[call] for error in ERRORS], FAILURES)

    def images(self):
        share = SHARE if self.options.bounded else 1.0
        for story in stories.STORIES + stories.RENAMES:
            traced = power.Traced(self.options.binary, story, self.stores)
            self.complain(f"{story.name}: by the trace alone", traced.of_itself())
            count, complaints, sample = power.check(traced, not self.options.bounded, share, self.options.seed)
            self.complain(f"{story.name}: after a power cut", complaints)
            started = [] if story in stories.RENAMES else sample[:1] if self.options.bounded else sample
            for found in self.all_at_once([(power.started, self.options.binary, traced, cut) for cut in started]):
                self.complain(f"{story.name}: started after a power cut", found)
            self.report.line(f"power cuts, {story.name}: {count} images opened, {len(started)} started")

    def complain(self, name, complaints):
        if complaints:
            self.report.failed += 1
            print(f"FAIL {name}: {len(complaints)} complaints")
            for complaint in complaints[:10]:
                print(f"     {complaint}", flush=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=os.path.abspath)
    parser.add_argument("--bounded", action="store_true", help="a sample that takes a few minutes")
    parser.add_argument("--bugs", action="store_true", help="bugs planted on purpose instead")
    parser.add_argument("--only", action="append", help=f"one of {', '.join(PARTS)}, or the name of a bug; repeatable")
    parser.add_argument("--seed", type=int, default=7, help="of the sample")
    parser.add_argument("--jobs", type=int, default=8, help="runs at a time; most of them wait")
    parser.add_argument("--traced", type=int, default=4, help="runs under the tracer at a time")
    return parser.parse_args()


def may_trace():
    """Whether a program runs to its end under the tracer."""
    with tempfile.TemporaryDirectory() as folder:
        plan = {"store": f"{folder}/store", "mail_port": 0, "report": f"{folder}/report", "log": f"{folder}/log"}
        with open(f"{folder}/plan", "w") as file:
            json.dump(plan, file)
        tracer = [sys.executable, os.path.join(HERE, "tracer.py"), f"{folder}/plan", "/bin/true"]
        return subprocess.run(tracer, stderr=subprocess.DEVNULL).returncode == 0


def main():
    options, report = arguments(), Report()
    if os.uname().sysname != "Linux" or os.uname().machine != "x86_64" or not may_trace():
        print("skipped: no Linux on x86-64, or this user may not trace its own programs")
        return 0
    folder = tempfile.mkdtemp(prefix="proof-stores-")
    try:
        proof = Proof(options, report, stories.stores(options.binary, folder))
        if options.bugs:
            return bugs.table(options, proof.stores)
        for part in PARTS:
            if not options.only or part in options.only:
                getattr(proof, part)()
    except stories.Failed as error:
        print(f"the proof itself does not work here: {error}")
        return 2
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    report.line(f"seed {options.seed}: " + (f"{report.failed} FAILED" if report.failed else "all good"))
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
