"""The clocks of a daemon: they run as this machine's do, ahead of them by what is written here. What is preloaded is
tests/common/clock.c, compiled once."""
import mmap
import os
import struct
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "..", "common", "clock.c")
SECOND = 1_000_000_000


def library(folder):
    path = os.path.join(folder, "clock.so")
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", path, SOURCE], check=True)
    return path


class Clock:
    def __init__(self, compiled, folder, begin):
        """It is `begin` now, seconds since 1970."""
        path = os.path.join(folder, "clock")
        with open(path, "wb") as file:
            file.write(bytes(24))
        with open(path, "r+b") as file:
            self.page = mmap.mmap(file.fileno(), 24)
        self.environment = {"LD_PRELOAD": compiled, "MOVED_CLOCK": path, "MOVED_CLOCK_LOOK": "5"}
        self.gone, self.slept, self.set_by = begin - time.time(), 0.0, 0.0
        self.write()

    def now(self):
        """The true time, which the wall clock shows unless somebody set it."""
        return time.time() + self.gone + self.slept

    def go_on(self, seconds):
        """All clocks go on."""
        self.gone += seconds
        self.write()

    def sleep_until(self, moment):
        """The machine sleeps: its monotonic clock stands still, that since its boot does not, as Linux has it."""
        self.slept += moment - self.now()
        self.write()

    def set_wall(self, off):
        """The wall clock is off by so much from now on."""
        self.set_by = off
        self.write()

    def write(self):
        self.page[:] = struct.pack("=qqq", *(int(by * SECOND) for by in (self.gone, self.set_by, self.slept)))


class Timers:
    """A clock, and what is to be done once it shows a moment."""

    def __init__(self, clock):
        self.clock, self.waiting = clock, []
        self.now = clock.now

    def later(self, seconds, call, *arguments):
        self.waiting.append((self.now() + seconds, call, arguments))

    def until_next(self):
        """Seconds; none where nothing waits."""
        return max(0.0, min((one[0] for one in self.waiting), default=0.0) - self.now())

    def run(self):
        now = self.now()
        due = [one for one in self.waiting if one[0] <= now]
        self.waiting = [one for one in self.waiting if one[0] > now]
        for _, call, arguments in due:
            call(*arguments)
