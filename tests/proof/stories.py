"""What happens, who is to be told of it, and the stores that the stories begin with."""
import os
import shutil
import sqlite3
import tempfile

from daemon import HERE, STORE, Daemon
from mailserver import MailServer
from provider import Provider

OPS, ANN, BOB = "ops@example.com", "a@example.com", "b@example.com"
STARTED = "main/started/account started"
OPENED = "main/vm_error/10001 opened"
RESOLVED = "main/vm_error/10001 resolved"
CUT_OFF = "main/disconnect/account rung:3"
PATIENCE = 30


class Story:
    def __init__(self, name, begins, happens, told):
        self.name, self.begins, self.happens, self.told = name, begins, happens, told

    @property
    def live(self):
        """The daemon already runs when it happens."""
        return self.begins in ("calm", "broken")


def nothing(_):
    """The first start is the story."""


# `told`: pairs of recipient and event; `begins`: the store that it begins with.
STORIES = [
    Story("first start", None, nothing, {(OPS, STARTED)}),
    Story("VM in error", "calm", lambda provider: provider.becomes(10001, "error"), {(ANN, OPENED), (BOB, OPENED)}),
    Story("cut-off", "calm", lambda provider: provider.lasts(2), {(OPS, CUT_OFF)}),
    Story("recovery", "broken", lambda provider: provider.becomes(10001, "active"), {(ANN, RESOLVED), (BOB, RESOLVED)}),
]
# What renames files: the store of an older release is kept as a copy, a damaged one is set aside.
RENAMES = [
    Story("older store", "older", nothing, set()),
    Story("damaged store", "damaged", nothing, set()),
]
# Behind the head of a store: anything else in its place is refused.
DAMAGED = b"SQLite format 3\0".ljust(68, b"\0") + b"hwst" + b"this was a store once " * 400


class Failed(Exception):
    """The stand for the proof itself does not work; says nothing about the daemon."""


class World:
    """A provider, a mail server and a folder for one run."""

    def __init__(self, binary, story=None, stores=None):
        self.root = tempfile.mkdtemp(prefix="proof-")
        self.folder = os.path.join(self.root, "store")
        begins = story and story.begins
        if begins:
            shutil.copytree(stores[begins], self.folder)
        else:
            os.mkdir(self.folder)
        self.binary, self.provider, self.mail_server = binary, Provider(binary), MailServer()
        if begins == "broken":
            self.provider.becomes(10001, "error")
        # Mails that the store knows already.
        self.before = {"calm": 1, "broken": 3}.get(begins, 0)

    def start(self, plan=None):
        return Daemon(self.binary, self.folder, self.provider, self.mail_server, plan)

    def polled(self, plan=None):
        """A daemon that has polled; without the tracer, or by its plan."""
        daemon = self.start(plan)
        if not self.provider.read_again(1, PATIENCE):
            raise Failed("the daemon does not poll: " + daemon.said())
        return daemon

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.provider.close()
        self.mail_server.close()
        shutil.rmtree(self.root, ignore_errors=True)


def stores(binary, folder):
    """The stores that stories begin with: as a daemon leaves them, nothing wrong or a VM in error; older; damaged."""
    with World(binary) as world:
        for name, happens, told in (("calm", nothing, {(OPS, STARTED)}),
                                    ("broken", STORIES[1].happens, {(ANN, OPENED), (BOB, OPENED)})):
            daemon = world.start()
            happens(world.provider)
            count = world.before + len(told)
            if not (world.mail_server.wait_for(told, PATIENCE) and daemon.has_sent_all(count, PATIENCE)):
                raise Failed(f"no store to begin with ({name}): {daemon.said()}")
            world.before = count
            if daemon.stop() != 0:
                raise Failed(f"the daemon did not stop cleanly: {daemon.said()}")
            shutil.copytree(world.folder, os.path.join(folder, name))
    for name in ("older", "damaged"):
        os.mkdir(os.path.join(folder, name))
    older = sqlite3.connect(os.path.join(folder, "older", STORE))
    with open(os.path.join(HERE, "..", "fixtures", "store_v7", "schema.sql")) as file:
        older.executescript(file.read())
    older.execute("INSERT INTO meta VALUES ('started', '2026-03-02T12:02:01+00:00')")
    older.commit()
    older.close()
    with open(os.path.join(folder, "damaged", STORE), "wb") as file:
        file.write(DAMAGED)
    return {name: os.path.join(folder, name) for name in os.listdir(folder)}
