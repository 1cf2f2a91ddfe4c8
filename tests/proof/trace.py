"""What a trace says by itself: which mails left when, and whether everything that they rest on was synced before."""
import os
import struct

from mailserver import Mail

FRAME = 24


class Sent:
    """A mail as it left: from which tick its content went, and the mail."""

    def __init__(self, begun, mail):
        self.begun, self.mail = begun, mail


def sent(records):
    """The mails whose content began to leave, in their order."""
    mails, talks = [], {}
    for record in records:
        if record["kind"] != "mail server" or record["call"] == "connect" or record.get("result", 0) <= 0:
            continue
        talk = talks.setdefault(record["inode"], {"to": None, "content": None})
        data = record["data"][: record["result"]]
        if talk["content"] is None:
            if data.upper().startswith(b"RCPT TO:"):
                talk["to"] = data.split(b"<")[1].split(b">")[0].decode()
            if data.upper().startswith(b"DATA"):
                talk["content"], talk["begun"] = b"", None
            continue
        talk["begun"] = talk["begun"] or record["begun"]
        talk["content"] += data
        if talk["content"].endswith(b"\r\n.\r\n"):
            raw = b"\r\n" + talk["content"][:-3]
            mails.append(Sent(talk["begun"], Mail(talk["to"], raw.replace(b"\r\n..", b"\r\n.")[2:])))
            talk["content"] = None
    return mails


def commits(records):
    """Of each transaction in the journal: the ticks between which it was written, its bytes, and when a sync that covers
    it had returned (None: never)."""
    found, frame, page_size = [], b"", 4096
    current = {"begun": None, "data": b""}
    for record in records:
        if record["kind"] != "wal" or record.get("result", -1) < 0:
            continue
        if record["call"] in ("fsync", "fdatasync") and not record.get("lie"):
            for commit in found:
                commit["synced"] = commit["synced"] or record["done"]
        if record["call"] != "pwrite64":
            continue
        data = record["data"]
        if len(data) == FRAME:
            frame = data
            continue
        if len(data) < page_size:
            continue
        current["begun"] = current["begun"] or record["begun"]
        current["data"] += data
        if struct.unpack_from(">I", frame, 4)[0]:
            found.append({**current, "synced": None})
            current = {"begun": None, "data": b""}
    return found


def written_ahead(records):
    """No byte of a mail leaves before the sync that covers its row returned. Of its claim, the images know."""
    complaints, transactions = [], commits(records)
    for one in sent(records):
        name = one.mail.name.encode()
        rows = [commit for commit in transactions if name in commit["data"]]
        before = [commit for commit in rows if commit["synced"] and commit["synced"] < one.begun]
        if not before:
            complaints.append(f"{one.mail.news} left for {one.mail.to} before its row was synced")
    return complaints


def names_are_synced(records):
    """Where a file of the store gets its name by renaming, its directory is synced before anything else is renamed,
    created there, or mailed; what was renamed is synced before."""
    complaints, waiting, unsynced = [], None, set()
    for record in records:
        if record.get("result", -1) < 0:
            continue
        call, kind = record["call"], record["kind"]
        if call in ("fsync", "fdatasync") and not record.get("lie"):
            unsynced.discard(record["inode"])
            if kind == "folder":
                waiting = None
        elif call in ("pwrite64", "write", "ftruncate") and kind in ("store", "wal", "beside"):
            unsynced.add(record["inode"])
        elif call.startswith("rename") and kind in ("store", "wal", "beside"):
            # A journal goes with its file.
            if record["inode"] in unsynced and not record["path"].endswith("-wal"):
                complaints.append(f"{os.path.basename(record['path'])} is renamed before it is synced")
            waiting = record
        elif waiting and (kind == "mail server" or (call == "openat" and record.get("creates") and kind == "store")):
            names = f"{os.path.basename(waiting['path'])} to {os.path.basename(waiting['to'])}"
            complaints.append(f"{names}: the directory is not synced before what follows")
            waiting = None
    if waiting:
        complaints.append(f"{os.path.basename(waiting['path'])}: renamed, and the directory is never synced")
    return complaints
