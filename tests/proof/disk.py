"""The store's files as a disk may hold them after a power cut, rebuilt from a trace.

What was written since the last sync of a file may be lost, kept, or torn; a name counts only once its directory was
synced. The file of shared memory beside the store is made anew by whoever opens it, and is left out.
"""
import hashlib
import itertools
import os

from daemon import STORE

KINDS = ("store", "wal", "beside")
SECTOR, BLOCK = 512, 4096


class Change:
    """Something the disk may not have yet: part of a file's content, its size, or a name in the directory."""

    def __init__(self, sort, file, **what):
        self.sort, self.file = sort, file
        self.__dict__.update(what)

    def torn(self):
        """The parts that a disk may have of a write: sectors and blocks are whole or not there."""
        if self.sort != "write":
            return
        end = self.offset + len(self.data)
        splits = set()
        for size in (SECTOR, BLOCK):
            borders = range((self.offset // size + 1) * size, end, size)
            if borders:
                splits |= {borders[0], borders[len(borders) // 2], borders[-1]}
        for split in sorted(splits):
            cut = split - self.offset
            yield Change("write", self.file, offset=self.offset, data=self.data[:cut])
            yield Change("write", self.file, offset=split, data=self.data[cut:])


class Image:
    """Content by name."""

    def __init__(self, files):
        self.files = files
        digest = hashlib.blake2b(digest_size=16)
        for name in sorted(files):
            digest.update(name.encode() + b"\0" + len(files[name]).to_bytes(8, "big") + files[name])
        self.digest = digest.digest()

    def write(self, folder):
        for name, content in self.files.items():
            with open(os.path.join(folder, name), "wb") as file:
                file.write(content)


class Disk:
    def __init__(self, begins_with=None):
        """Begins with the files of a folder, all synced."""
        self.contents, self.names, self.pending = {}, {}, []
        # The name that each file has for the running program, and the file that each inode is now.
        self.seen, self.by_inode = {}, {}
        self.file_count = 0
        for name in sorted(os.listdir(begins_with)) if begins_with else ():
            if not name.endswith("-shm"):
                with open(os.path.join(begins_with, name), "rb") as file:
                    self.contents[self.new_file()] = bytearray(file.read())
                self.names[name] = self.seen[name] = self.file_count

    def new_file(self):
        self.file_count += 1
        return self.file_count

    def take(self, record):
        """Takes a call in. True where it changed what the disk may hold."""
        if record["kind"] not in (*KINDS, "folder") or record.get("result", -1) < 0:
            return False
        call, name = record["call"], os.path.basename(record["path"].removesuffix(" (deleted)"))
        if call in ("fsync", "fdatasync"):
            if not record.get("lie"):
                self.synced(None if record["kind"] == "folder" else self.file_of(record, name))
            return False
        if call == "openat":
            return self.opened(record, name)
        if call in ("rename", "renameat", "renameat2"):
            to = os.path.basename(record["to"])
            self.seen[to] = self.seen.pop(name)
            self.pending.append(Change("rename", None, name=name, to=to))
        elif call in ("unlink", "unlinkat"):
            self.seen.pop(name, None)
            self.pending.append(Change("unlink", None, name=name))
        elif call in ("pwrite64", "pwritev", "pwritev2"):
            data = record["data"][: record["result"]]
            self.pending.append(Change("write", self.file_of(record, name), offset=record["offset"], data=data))
        elif call == "ftruncate":
            self.pending.append(Change("size", self.file_of(record, name), length=record["length"]))
        else:
            raise ValueError(f"{call} of {record['path']} is not understood")
        return True

    def opened(self, record, name):
        if record["kind"] == "folder":
            return False
        if record["creates"]:
            self.seen[name] = self.new_file()
            self.contents[self.file_count] = bytearray()
            self.pending.append(Change("create", None, name=name, made=self.file_count))
        elif record["truncates"] and name in self.seen:
            self.pending.append(Change("size", self.seen[name], length=0))
        return bool(record["creates"])

    def file_of(self, record, name):
        """By inode, since a file stays the same one under another name; a new file may get an old one's number."""
        if name in self.seen and not record["path"].endswith(" (deleted)"):
            self.by_inode[record["inode"]] = self.seen[name]
        return self.by_inode[record["inode"]]

    def synced(self, file):
        for change in [change for change in self.pending if change.file == file]:
            self.pending.remove(change)
            apply(change, self.contents, self.names)

    def image(self, changes):
        """What the disk holds with these changes on it."""
        touched = {change.file for change in changes}
        contents = {file: bytearray(content) if file in touched else content
                    for file, content in self.contents.items()}
        names = dict(self.names)
        for change in changes:
            apply(change, contents, names)
        return Image({name: bytes(contents[file]) for name, file in names.items()})

    def outcomes(self, deep):
        """Which of the pending changes a power cut now may leave on the disk; with `deep` each single survival, each write
        torn, and all pairs, too."""
        pending = self.pending
        yield []
        yield pending
        for part in pending[-1].torn() if pending else ():
            yield [*pending[:-1], part]
        for lost in range(len(pending)):
            yield pending[:lost] + pending[lost + 1 :]
        if deep:
            yield from self.deep_outcomes()

    def deep_outcomes(self):
        pending = self.pending
        for place, kept in enumerate(pending):
            yield [kept]
            for part in kept.torn():
                yield [*pending[:place], part, *pending[place + 1 :]]
                yield [part]
        for first, second in itertools.combinations(range(len(pending)), 2):
            yield [pending[first], pending[second]]
            yield [one for place, one in enumerate(pending) if place not in (first, second)]


def apply(change, contents, names):
    if change.sort == "create":
        names[change.name] = change.made
    elif change.sort == "unlink":
        names.pop(change.name, None)
    elif change.sort == "rename":
        # Nothing to rename where the file's creation was lost.
        if change.name in names:
            names[change.to] = names.pop(change.name)
    elif change.sort == "size":
        content = contents[change.file]
        del content[change.length :]
        content.extend(bytes(change.length - len(content)))
    else:
        content = contents[change.file]
        content.extend(bytes(max(0, change.offset - len(content))))
        content[change.offset : change.offset + len(change.data)] = change.data
