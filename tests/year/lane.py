"""One daemon, its provider and its mail server through the year: steps of virtual time, each begun once all that the one
before it made due was seen to be done."""
import asyncio
import collections
import os
import random
import shutil
import signal
import tempfile
import time
import types

import clock as clocks
from daemon import Daemon
from mailserver import MailServer
from provider import Provider
from telegram import Telegram
from weather import Weather
from world import DAY, GRID, HOUR, MINUTE, Account, on_grid

# Within a step, which begins three minutes past a mark of the grid.
PAST = 3 * MINUTE
LONGEST_STEP = 600
NUDGE, LOOKING = 1.0, 10.0


Act = collections.namedtuple("Act", "what at until pattern")


class Stuck(Exception):
    pass


class Lane:
    def __init__(self, binary, number, names, seed, begin, end, calm=False, keep=None, lost_days=1):
        self.binary, self.number, self.seed, self.begin, self.end = binary, number, seed, begin, end
        self.draw = random.Random(f"{seed} lane {number}")
        self.accounts = [Account(name, seed, begin, end) for name in names]
        self.weather = Weather(f"{seed} {number}", self.accounts, begin, end, calm, lost_days)
        self.calm, self.keep = calm, keep
        # When each step began, when all of it was done, and which incidents the metrics then showed as open.
        self.steps, self.ends, self.open = [], [], []
        self.acts, self.counts, self.read = [], {}, 0
        self.off_for = self.clock_off = 0

    def run(self):
        root = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = tempfile.mkdtemp(prefix="year-", dir=root)
        try:
            asyncio.run(self.live())
        finally:
            if self.keep:
                shutil.copy(os.path.join(self.folder, "log"), f"{self.keep}.{self.number}.log")
            shutil.rmtree(self.folder, ignore_errors=True)
        return self

    def record(self):
        """What the judge needs, as it can be written down."""
        kept = types.SimpleNamespace(**{name: getattr(self, name) for name in
                                        ("accounts", "weather", "steps", "ends", "open", "acts", "counts")})
        kept.provider = types.SimpleNamespace(requests=self.provider.requests, answers=self.provider.answers)
        kept.telegram = types.SimpleNamespace(unkept=self.telegram.unkept, hasty=self.telegram.hasty, edits=self.telegram.edits)
        kept.mail_server = types.SimpleNamespace(mails=self.mail_server.mails, refused=self.mail_server.refused)
        return kept

    def count(self, what):
        self.counts[what] = self.counts.get(what, 0) + 1

    def moments(self):
        """When it is looked: about twice a day, now and then soon again."""
        moment = self.begin
        while moment < self.end:
            # What has to hold for a day to the second nobody could say either.
            yield on_grid(moment) + PAST + self.draw.randrange(50)
            # What has to hold for an hour has, or has not: to the second nobody could say.
            ahead = self.draw.choices([12 * HOUR, 8 * HOUR, HOUR + GRID, GRID], [90, 6, 2, 2])[0]
            moment += ahead if ahead < 2 * HOUR else ahead + self.draw.uniform(-HOUR, HOUR)

    async def live(self):
        clock = clocks.Clock(clocks.library(self.folder), self.folder, self.begin)
        self.clock = clocks.Timers(clock)
        self.provider = Provider(self.accounts, self.weather, self.clock)
        self.mail_server = MailServer(self.weather, self.clock)
        await self.provider.start()
        await self.mail_server.start()
        self.telegram = Telegram(self.weather, self.clock, self.mail_server, os.path.join(self.folder, "hostwatch.db"))
        await self.telegram.start()
        self.daemon = Daemon(self.binary, self.folder, clock, self.accounts, self.provider.port, self.mail_server.port,
                             self.telegram.port)
        self.collectors = {(one.name, name) for one in self.accounts for name in
                           ["vms", "expected_balance"] + (["containers", "sites"] if one.has_hosting else [])}
        try:
            for moment in self.moments():
                # A step that lasted longer than planned: no clock goes back.
                if moment > clock.now():
                    await self.step(clock, moment)
        finally:
            if self.daemon.process:
                self.daemon.process.kill()
                self.daemon.process.wait()

    async def step(self, clock, moment):
        started = self.daemon.process is None
        before = {} if started else self.polls
        # Without the provider's dates nobody could know better.
        self.off_for = 0 if self.weather.provider.at(moment) == "closed" else max(0, self.off_for - 1)
        if self.draw.random() < 0.5 and not clock.set_by and not self.off_for:
            clock.sleep_until(moment)
        else:
            clock.go_on(moment - clock.now())
        clock.set_wall(self.clock_off if self.off_for else 0)
        self.steps.append(moment)
        self.provider.troubled = False
        await self.mail_server.follow_weather()
        await self.telegram.follow_weather()
        if started:
            await self.daemon.start()
        await self.settle(clock, before)
        self.ends.append(clock.now())
        if not self.calm:
            await self.interfere()

    async def settle(self, clock, before):
        """Until every collector polled since `before`, all that followed is done, and no mail waits that can go."""
        until, seen, calm = time.monotonic() + LONGEST_STEP, None, 0
        looks = False
        while True:
            if time.monotonic() > until or self.daemon.process.poll() is not None:
                raise Stuck(f"lane {self.number}: {self.missing} at {self.steps[-1]}: {self.daemon.tail()}")
            activity = (self.provider.requests, len(self.mail_server.mails), self.mail_server.turned_away)
            calm = calm + 1 if activity == seen and self.daemon.rests() and not (self.mail_server.busy or self.telegram.busy) else 0
            seen = activity
            if calm < 2:
                await asyncio.sleep(0.002)
                continue
            calm = 0
            polls, mails, is_open = self.daemon.metrics()
            self.missing = [key for key in self.collectors if polls.get(key, 0) <= before.get(key, 0)]
            looks = False
            if not self.missing:
                queued = mails.get("queued", 0) + mails.get("sending", 0)
                now = clock.now()
                queued = 0 if self.weather.mail.at(now) or self.weather.telegram.at(now) else queued
                waits = 0 if self.weather.greylists else queued
                self.missing = f"{mails} mails" if waits else None
                # "Hold nothing back longer than a minute": what then still waits was put off by its recipient.
                looks = queued and clock.now() < self.steps[-1] + 90
                # Where something could not be read, it speaks of what it knew after two minutes at the latest, and so it does of
                # what is still wrong when its cause is over: "owed once it was read after that (2 min at most)". Time is looked
                # at once a minute.
                looks = looks or clock.now() < self.steps[-1] + 200
                # An answer on its way would come after the clock was moved by hours.
                if not waits and not looks and not self.clock.waiting and self.daemon.rests():
                    self.polls = polls
                    self.open.append(is_open)
                    return
            # What takes time takes it at once, with all that began beside it.
            clock.go_on(LOOKING if looks else self.clock.until_next() + NUDGE)
            self.clock.run()
            # It looks at its clock every 5 ms.
            await asyncio.sleep(0.006)

    async def interfere(self):
        """What people and the machine do to it now and then."""
        await self.people()
        chance = self.draw.random()
        if chance < 0.01:
            self.count("SIGKILL")
            await self.daemon.end(signal.SIGKILL)
        elif chance < 0.02:
            self.count("restarts")
            await self.daemon.end()
        elif chance < 0.03 and not self.off_for:
            self.count("the wall clock set wrong for a while")
            self.off_for = self.draw.randint(2, 6)
            self.clock_off = self.draw.choice([-1, 1]) * self.draw.choice([3 * HOUR, DAY, 40 * DAY])

    async def people(self):
        """Some who were mailed acknowledge, or want to hear no more of it for some days; most forget."""
        mails = self.mail_server.mails
        new, self.read = mails[self.read:], len(mails)
        for mail in new:
            key = mail.news[0][0] if mail.news else ""
            if "/disconnect/" not in key and "/vm_error/" not in key:
                continue
            chance = self.draw.random()
            if chance < 0.03:
                await self.act("ack", mail, key)
            elif chance < 0.05 and "/disconnect/" in key:
                days = self.draw.randint(1, 6)
                # The second is of all that concerns the account: it names no cut-off, and silences none.
                pattern = key.rsplit("/", 1)[0] + "/*" if chance < 0.04 else key.split("/")[0] + "/*/account"
                await self.act("silence", mail, pattern, days * DAY, "--for", f"{days}d")

    async def act(self, what, mail, pattern, lasts=0, *more):
        status, _ = await self.daemon.command(what, pattern, *more)
        if status == 0:
            self.count(f"people who {what}")
            now = self.clock.now()
            self.acts.append(Act(what, now, now + lasts, pattern))
