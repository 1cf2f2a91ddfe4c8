"""Power cuts: each image that a story's trace allows is opened and held against what had left by then; a sample is
started by the daemon."""
import os
import pickle
import random
import shutil
import sqlite3
import tempfile

import judge
import trace
from daemon import STORE
from disk import Disk
from stories import DAMAGED, PATIENCE, Failed, World


class Traced:
    """A story that ran to its end under the tracer."""

    def __init__(self, binary, story, stores, action=None):
        self.story, self.begins = story, stores.get(story.begins)
        with World(binary, story, stores) as world:
            plan = {"trace": os.path.join(world.root, "trace"), "action": action}
            daemon = world.polled(plan) if story.live else world.start(plan)
            if story.live:
                story.happens(world.provider)
            if not (world.mail_server.wait_for(story.told, PATIENCE)
                    and daemon.has_sent_all(world.before + len(story.told), PATIENCE)):
                raise Failed(f"the story {story.name} does not end: {daemon.said()}")
            world.provider.read_again(1, PATIENCE)
            self.status = daemon.stop()
            with open(plan["trace"], "rb") as file:
                self.records = pickle.load(file)

    def of_itself(self):
        return trace.written_ahead(self.records) + trace.names_are_synced(self.records)


class Cut:
    """An image, and what had left before: mails, and those of them whose result was surely noted."""

    def __init__(self, image, mails, done, at):
        self.image, self.mails, self.done, self.at = image, mails, done, at


def cuts(traced, deep, share, choice):
    """Every image that a power cut can leave, or a share of them; each once for each set of mails that had left by then."""
    disk, known = Disk(traced.begins), set()
    mails = trace.sent(traced.records)

    def now(record, deep):
        out = [one.mail for one in mails if one.begun <= record["begun"]]
        for changes in disk.outcomes(deep):
            if choice.random() >= share:
                continue
            image = disk.image(changes)
            if (image.digest, len(out)) not in known:
                known.add((image.digest, len(out)))
                # The next mail to a recipient is made only once the result of the one before is noted.
                done = [one for at, one in enumerate(out) if any(later.to == one.to for later in out[at + 1:])]
                yield Cut(image, out, done, f"{record['call']} {record['kind']} at {record['begun']}")

    for record in traced.records:
        syncs = record["call"] in ("fsync", "fdatasync") and bool(disk.pending)
        # All pairs right before a sync: those of earlier cuts are among them.
        if syncs and deep:
            yield from now(record, True)
        if disk.take(record) or syncs or record["kind"] == "mail server":
            yield from now(record, False)
    yield from now(traced.records[-1], deep)


def opened(story, cut, folder):
    """The image is sound and covers what had left."""
    for name in os.listdir(folder):
        os.remove(os.path.join(folder, name))
    cut.image.write(folder)
    if story.begins == "damaged":
        # Whoever wants to examine it finds all of it, under either name.
        kept = any(content == DAMAGED for content in cut.image.files.values())
        return [] if kept else [f"the damaged store is gone (cut at {cut.at})"]
    rows = judge.Rows(folder, connect_in_place=True)
    if story.begins == "older":
        complaints = rows.complaints + older_copy(rows.version, os.path.join(folder, STORE + ".v7"))
    else:
        complaints = rows.whole() + rows.covers(cut.mails, cut.done)
    return [f"{complaint} (cut at {cut.at})" for complaint in complaints]


def older_copy(version, path):
    """Whoever goes back to the older release finds the store as it was, once it is brought up."""
    if version == 7:
        return []
    if not os.path.exists(path):
        return ["the store is brought up and no copy of the older one is there"]
    copy = sqlite3.connect(path)
    try:
        if copy.execute("PRAGMA user_version").fetchone()[0] != 7:
            return ["the copy of the older store is of another version"]
        verdict = copy.execute("PRAGMA integrity_check").fetchone()[0]
        return [] if verdict == "ok" else [f"the copy of the older store is damaged: {verdict}"]
    except sqlite3.Error as error:
        return [f"the copy of the older store does not open: {error}"]
    finally:
        copy.close()


def started(binary, traced, cut):
    """The daemon goes on from the image: what the story tells is told, by then or from now on."""
    story = traced.story
    with World(binary) as world:
        cut.image.write(world.folder)
        if story.begins == "broken":
            world.provider.becomes(10001, "error")
        story.happens(world.provider)
        rows = judge.Rows(world.folder)
        told = {(mail.to, news) for mail in cut.mails for news in mail.news}
        sure = {(mail.to, news) for mail in cut.mails for news in mail.news
                if rows.mails.get((mail.name, mail.to), ("",))[0] == "sent"}
        daemon, complaints = world.start(), []
        if not world.mail_server.wait_for(story.told - told, PATIENCE):
            complaints.append("not told by the daemon that starts on the image")
        elif not (world.provider.read_again(2, PATIENCE) and daemon.has_sent_all(0, PATIENCE)):
            complaints.append(f"does not come to rest on the image: {daemon.outbox()}")
        status = daemon.stop()
        if status != 0:
            complaints.append(f"ended with {status} on the image")
        mails = cut.mails + world.mail_server.received()
        complaints += judge.log(daemon.said()) + judge.ledger(story, mails, judge.uncertain(rows))
        complaints += [f"told again: {news} to {to}" for to, news in set(world.mail_server.told()) & sure]
        return [f"{complaint} (cut at {cut.at})" for complaint in complaints]


def check(traced, deep, share=1.0, seed=7):
    """Opens the images, or a share of them chosen by the seed. Returns how many, the complaints, and a sample of the
    cuts."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    folder = tempfile.mkdtemp(prefix="proof-image-", dir=memory)
    choice, kept, complaints, count = random.Random(seed), [], [], 0
    try:
        for cut in cuts(traced, deep, share, choice):
            count += 1
            complaints += opened(traced.story, cut, folder)
            # A sample of eight, each image as likely as another.
            if len(kept) < 8:
                kept.append(cut)
            elif choice.randrange(count) < 8:
                kept[choice.randrange(8)] = cut
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return count, complaints, kept
