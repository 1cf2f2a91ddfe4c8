"""What has to be true, whatever happened: said from the mails that arrived and from what the store holds. Each function
returns complaints; none is good."""
import json
import os
import shutil
import sqlite3
import tempfile
from collections import defaultdict

from daemon import STORE


def crlf(raw):
    """A mail as it arrives, without the line ends after its last line."""
    return raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n").replace(b"\n", b"\r\n").rstrip(b"\r\n")


class Rows:
    """What a store's files hold; opened as a copy, so that nothing changes them."""

    def __init__(self, folder, connect_in_place=False):
        self.complaints, self.version = [], 0
        # By name and recipient: "in flight" with its bytes, or "sent".
        self.mails = {}
        # What each recipient was told or is owed of each incident; everything that is owed.
        self.open_incidents, self.log, self.owed, self.untold = set(), {}, [], []
        copy = folder if connect_in_place else tempfile.mkdtemp(prefix="proof-rows-")
        try:
            if not connect_in_place:
                for end in ("", "-wal", "-journal"):
                    if os.path.exists(os.path.join(folder, STORE + end)):
                        shutil.copy(os.path.join(folder, STORE + end), copy)
            if os.path.exists(os.path.join(copy, STORE)):
                self.read(os.path.join(copy, STORE))
        finally:
            if not connect_in_place:
                shutil.rmtree(copy, ignore_errors=True)

    def read(self, path):
        store = sqlite3.connect(path, isolation_level=None)
        try:
            verdict = store.execute("PRAGMA integrity_check").fetchone()[0]
            if verdict != "ok":
                self.complaints.append(f"the store is damaged: {verdict}")
                return
            self.version = store.execute("PRAGMA user_version").fetchone()[0]
            if self.version >= 8:
                self.read_tables(store)
        except sqlite3.Error as error:
            self.complaints.append(f"the store does not open: {error}")
        finally:
            store.close()

    def read_tables(self, store):
        for key, to, body in store.execute("SELECT key, recipient, body FROM notification_log"):
            entry = self.log[key, to] = json.loads(body)
            if entry["owed"]:
                self.owed.append(f"{key} to {to}")
        for to, body in store.execute("SELECT recipient, body FROM standings"):
            if json.loads(body)["first"]:
                self.owed.append(f"the first mail to {to}")
        for name, to, told in store.execute("SELECT message_id, recipient, told FROM sent"):
            self.mails[name, to] = "sent", None
            # `key#episode#event`; a first mail may tell nothing but itself.
            if any((event.split("#")[0], to) not in self.log for event in json.loads(told)):
                self.untold.append((name, to))
        for name, to, body, raw in store.execute("SELECT message_id, recipient, body, raw FROM in_flight"):
            self.mails[name, to] = "in flight", raw
            flight = json.loads(body)
            keys = [item["key"] for item in flight["items"] if not flight["first"]]
            if any(self.log.get((key, to), {"told": {"what": "Nothing"}})["told"]["what"] == "Nothing" for key in keys):
                self.untold.append((name, to))
        self.open_incidents = {key for key, in store.execute("SELECT key FROM incidents WHERE json_extract(body, '$.phase') = 'firing'")}

    def whole(self):
        """Sound, and an incident is never there without the note of what is owed or told of it, nor a mail without the
        note that it tells it."""
        complaints = list(self.complaints)
        noted = {key for key, _ in self.log}
        complaints += [f"{key} is open in the store and owed to nobody" for key in sorted(self.open_incidents - noted)]
        complaints += [f"mail {name} to {to} is there without what it tells" for name, to in self.untold]
        return complaints

    def covers(self, mails, done=()):
        """Each mail that left has its row, the very bytes, and is known to be on its way; of those in `done`, to be sent."""
        complaints = []
        for mail in mails:
            state, raw = self.mails.get((mail.name, mail.to), (None, b""))
            if state is None:
                complaints.append(f"{mail.news} went to {mail.to} and has no row")
            elif raw is not None and crlf(raw) != crlf(mail.raw):
                complaints.append(f"{mail.news} to {mail.to} has other bytes than its row")
            elif mail in done and state != "sent":
                complaints.append(f"{mail.news} to {mail.to} was acknowledged and noted, its row says {state}")
        return complaints


def ledger(story, mails, uncertain=()):
    """Everybody was told everything, and nothing else; twice only byte for byte, and only what is in `uncertain`: the
    mails (name, recipient) of which the reply may have been lost."""
    complaints, copies = [], defaultdict(list)
    for mail in mails:
        for news in mail.news:
            copies[mail.to, news].append(mail)
    complaints += [f"lost: {news} to {to}" for to, news in sorted(story.told - set(copies))]
    for (to, news), told in sorted(copies.items()):
        if (to, news) not in story.told:
            complaints.append(f"never happened: {news} to {to}")
        if len(told) > 2 or len({mail.raw for mail in told}) > 1:
            complaints.append(f"told {len(told)} times, {len({mail.raw for mail in told})} texts: {news} to {to}")
        elif len(told) > 1 and (told[0].name, to) not in uncertain:
            complaints.append(f"told twice although its reply was not lost: {news} to {to}")
    return complaints


def uncertain(rows):
    return {key for key, (state, _) in rows.mails.items() if state == "in flight"}


def at_rest(rows):
    """Nothing waits, and the store is whole."""
    waiting = [f"{name} to {to} is {state}" for (name, to), (state, _) in sorted(rows.mails.items()) if state != "sent"]
    return rows.whole() + [f"left behind: {one}" for one in waiting + rows.owed]


def log(text):
    return [f"the log says: {line}" for line in text.splitlines() if "panicked" in line or "was damaged" in line]
