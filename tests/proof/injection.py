"""The daemon is killed at the N-th system call of a story, or that call fails: for every N, until the story is over
before the N-th."""
import errno
import sqlite3
import threading
import time
from collections import Counter

import judge
from stories import PATIENCE, Failed, World

CALLS = ("fsync", "fdatasync", "pwrite64", "ftruncate", "rename", "unlink", "openat")
ERRORS = ("EIO", "ENOSPC")


class Outcome:
    def __init__(self, name, complaints, log):
        self.name, self.complaints, self.log = name, complaints, log


class Injection:
    """Few daemons at a time run under the tracer: `traced` lets them in."""

    def __init__(self, binary, stores, traced):
        self.binary, self.stores, self.traced = binary, stores, threading.Semaphore(traced)

    def happens(self, world, story, plan):
        """Runs the story under the tracer; returns the daemon and whether it was over before anything fired."""
        plan = {**plan, "armed": not story.live}
        daemon = world.polled(plan) if story.live else world.start(plan)
        if story.live:
            daemon.arm()
            story.happens(world.provider)
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and not daemon.ended():
            if world.mail_server.wait_for(story.told, 0.1):
                if daemon.has_sent_all(world.before + len(story.told), PATIENCE / 2):
                    return daemon, True
                break
        return daemon, False

    def goes_on(self, world, story, known, seconds=PATIENCE):
        """The next start: it tells what was not told, says nothing twice, and stops cleanly."""
        daemon, complaints = world.start(), []
        if not world.mail_server.wait_for(story.told, seconds):
            complaints.append("not told after the next start")
        elif not (daemon.has_sent_all(known, seconds) and world.provider.read_again(2, seconds)):
            complaints.append(f"does not come to rest after the next start: {daemon.outbox()}")
        status = daemon.stop()
        if status != 0:
            complaints.append(f"the next start ended with {status}")
        return complaints + judge.log(daemon.said()) + judge.at_rest(judge.Rows(world.folder))

    def points(self, story):
        """How many calls the story has, and how many of each on the store."""
        with World(self.binary, story, self.stores) as world:
            with self.traced:
                daemon, over = self.happens(world, story, {"action": {"do": "count"}})
                daemon.kill()
            if not over:
                raise Failed(f"the story {story.name} does not end: {daemon.said()}")
            points = daemon.reported()["points"]
            on_store = ("store", "wal", "folder", "beside")
            calls = (point.split(" ", 1) for point in points)
            return len(points), Counter(call for call, kind in calls if kind in on_store)

    def kill(self, story, number):
        """SIGKILL in place of the N-th call. None where the story was over before."""
        with World(self.binary, story, self.stores) as world:
            with self.traced:
                daemon, over = self.happens(world, story, {"action": {"do": "kill", "at": number}})
                daemon.kill()
                fired = daemon.reported()["fired"]
            if over and not fired:
                return None
            complaints, name = ["the story did not end"], f"{story.name}: killed at call {number}, {fired}"
            if fired:
                rows = judge.Rows(world.folder)
                complaints = rows.whole() + rows.covers(world.mail_server.received())
                complaints += self.afterwards(world, story, judge.uncertain(rows))
            return Outcome(name, complaints, daemon.said(True))

    def fail(self, story, call, error, number):
        """The N-th `call` on the store fails once. None where the story was over before."""
        plan = {"action": {"do": "fail", "at": number, "calls": [call], "errno": getattr(errno, error)}}
        with World(self.binary, story, self.stores) as world:
            with self.traced:
                daemon, over = self.happens(world, story, plan)
                complaints = [] if over else self.says_why(daemon)
                status = daemon.stop()
                fired = daemon.reported()["fired"]
            if over and not fired:
                return None
            if fired:
                if over and status != 0:
                    complaints.append(f"ended with {status}")
                complaints += judge.log(daemon.said()) + self.afterwards(world, story)
            elif not complaints:
                complaints = ["the story did not end"]
            return Outcome(f"{story.name}: {error} at {call} {number}, {fired}", complaints, daemon.said(True))

    def beside(self, story):
        """A command beside the daemon holds the store for longer than a commit takes: the daemon waits for it."""
        with World(self.binary, story, self.stores) as world:
            daemon = world.polled()
            other = sqlite3.connect(daemon.store, isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
            story.happens(world.provider)
            world.provider.read_again(1, PATIENCE)
            time.sleep(1)
            other.execute("ROLLBACK")
            other.close()
            complaints = [] if world.mail_server.wait_for(story.told, PATIENCE) else ["the mails do not arrive"]
            if daemon.stop() != 0:
                complaints.append("did not end cleanly")
            if "cannot be used" in daemon.said():
                complaints.append("left its file although a command held it for a second only")
            complaints += self.afterwards(world, story)
            return Outcome(f"{story.name}: a command beside holds the store", complaints, daemon.said(True))

    def afterwards(self, world, story, uncertain=()):
        complaints = self.goes_on(world, story, world.before + len(story.told))
        return complaints + judge.ledger(story, world.mail_server.received(), uncertain)

    @staticmethod
    def says_why(daemon):
        """Who does not go on ends with 1 and says why in its last line."""
        if not daemon.ended():
            return [f"goes on, and the mails do not arrive: {daemon.outbox()}"]
        status, lines = daemon.reported()["status"], daemon.said().strip().splitlines()
        if status == 1 and lines and "store" in lines[-1]:
            return []
        return [f"ended with {status} and said: {lines[-1:]}"]
