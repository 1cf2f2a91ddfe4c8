"""What has to be true, whatever happened: said from the mails that arrived and from what the store holds. Each function
returns complaints; none is good."""
import os
import shutil
import sqlite3
import tempfile
from collections import defaultdict

from daemon import STORE

# An envelope of which the reply may have been lost, or came.
OUT = ("sending", "sent")


def crlf(raw):
    """A mail as it arrives, without the line ends after its last line."""
    return raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n").replace(b"\n", b"\r\n").rstrip(b"\r\n")


class Rows:
    """What a store's files hold; opened as a copy, so that nothing changes them."""

    def __init__(self, folder, connect_in_place=False):
        self.complaints, self.version = [], 0
        self.mails, self.open_incidents, self.news, self.untold = {}, set(), defaultdict(set), []
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
            if self.version:
                self.read_tables(store)
        except sqlite3.Error as error:
            self.complaints.append(f"the store does not open: {error}")
        finally:
            store.close()

    def read_tables(self, store):
        for name, to, state, raw in store.execute(
                "SELECT message_id, recipient, state, raw FROM envelopes JOIN messages USING (message_id)"):
            self.mails[name, to] = state, raw
        for row in store.execute(
                "SELECT message_id, recipient FROM envelopes e WHERE state <> 'withdrawn' AND NOT EXISTS "
                "(SELECT 1 FROM told t WHERE t.message_id = e.message_id AND t.recipient = e.recipient)"):
            self.untold.append(row)
        self.open_incidents = {key for key, in store.execute("SELECT key FROM incidents WHERE phase = 'firing'")}
        if self.version >= 4:
            for incident, name in store.execute("SELECT incident, message_id FROM news"):
                self.news[incident].add(name)

    def whole(self):
        """Sound, and an incident is never there without its mail, nor a mail without the note that it tells it."""
        complaints = list(self.complaints)
        for key in sorted(self.open_incidents):
            if not self.news[key]:
                complaints.append(f"{key} is open in the store and has no mail")
        complaints += [f"mail {name} to {to} is there without what it tells" for name, to in self.untold]
        return complaints

    def covers(self, mails, done=()):
        """Each mail that left has its row, the very bytes, and is known to be on its way; of those in `done`, to be sent."""
        complaints = []
        for mail in mails:
            state, raw = self.mails.get((mail.name, mail.to), (None, b""))
            if state is None:
                complaints.append(f"{mail.news} went to {mail.to} and has no row")
            elif state not in OUT:
                complaints.append(f"{mail.news} went to {mail.to}, its row says {state}")
            elif crlf(raw) != crlf(mail.raw):
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
    return {key for key, (state, _) in rows.mails.items() if state == "sending"}


def at_rest(rows):
    """Nothing waits, and the store is whole."""
    waiting = [f"{name} to {to} is {state}" for (name, to), (state, _) in sorted(rows.mails.items())
               if state not in ("sent", "withdrawn")]
    return rows.whole() + [f"left behind: {one}" for one in waiting]


def log(text):
    return [f"the log says: {line}" for line in text.splitlines() if "panicked" in line or "was damaged" in line]
