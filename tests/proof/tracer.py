"""Runs a command and stops at each of its system calls that writes, syncs, renames, connects or sends: notes it, kills
the process there, lets it fail, or lets a sync lie. Linux on x86-64 only.

strace can inject, too, but counts for each thread by itself, and the daemon's threads take turns: "the N-th write" would
be another one in every run. Here all threads are counted as one, from the moment at which SIGUSR1 arms the count.
"""
import ctypes
import errno
import json
import os
import pickle
import signal
import stat
import struct
import sys

CALLS = {
    1: "write", 18: "pwrite64", 20: "writev", 42: "connect", 44: "sendto", 46: "sendmsg", 74: "fsync", 75: "fdatasync",
    76: "truncate", 77: "ftruncate", 82: "rename", 83: "mkdir", 86: "link", 87: "unlink", 257: "openat", 263: "unlinkat",
    264: "renameat", 277: "sync_file_range", 285: "fallocate", 296: "pwritev", 316: "renameat2", 328: "pwritev2",
}
PATH_ARGUMENTS = {"truncate": (0,), "rename": (0, 1), "mkdir": (0,), "link": (0, 1), "unlink": (0,), "openat": (1,),
                  "unlinkat": (1,), "renameat": (1, 3), "renameat2": (1, 3)}
SYNCS = ("fsync", "fdatasync")

TRACEME, CONT, SYSCALL, SETOPTIONS, GETREGS, SETREGS = 0, 7, 24, 0x4200, 12, 13
# SYSGOOD, FORK, VFORK, CLONE, EXEC, SECCOMP, EXITKILL
OPTIONS = 1 | 2 | 4 | 8 | 16 | 0x80 | 0x100000
EVENT_EXEC, EVENT_SECCOMP = 4, 7
WALL = 0x40000000
O_CREAT = 0o100

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


class Registers(ctypes.Structure):
    _fields_ = [(name, ctypes.c_ulonglong) for name in (
        "r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss fs_base gs_base "
        "ds es fs gs").split()]

    def arguments(self):
        return self.rdi, self.rsi, self.rdx, self.r10, self.r8, self.r9


def ptrace(request, thread, data=None):
    """False where the thread is gone meanwhile, as after SIGKILL."""
    if libc.ptrace(request, thread, None, data) == -1:
        if ctypes.get_errno() == errno.ESRCH:
            return False
        raise OSError(ctypes.get_errno(), f"ptrace {request}")
    return True


def stop_only_at(numbers):
    """A seccomp filter: these calls stop for the tracer, all others pass at full speed."""
    def instruction(code, yes, no, value):
        return struct.pack("HBBI", code, yes, no, value)

    program = instruction(0x20, 0, 0, 0)
    for left, number in zip(range(len(numbers), 0, -1), numbers):
        program += instruction(0x15, left, 0, number)
    program += instruction(0x06, 0, 0, 0x7FFF0000) + instruction(0x06, 0, 0, 0x7FF00000)
    code = ctypes.create_string_buffer(program, len(program))
    header = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code)))
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, header, 0, 0):
        os._exit(97)


class Tracer:
    def __init__(self, plan):
        self.plan, self.action = plan, plan.get("action") or {}
        self.store, self.folder = plan["store"], os.path.dirname(plan["store"])
        self.armed = plan.get("armed", True)
        self.count = self.ticks = 0
        self.points, self.records, self.mail_sockets = [], [], set()
        self.fired = None
        self.inside = {}
        self.known = set()
        signal.signal(signal.SIGUSR1, lambda *_: setattr(self, "armed", True))
        signal.signal(signal.SIGUSR2, lambda *_: setattr(self, "armed", False))

    def start(self, command):
        child = os.fork()
        if child == 0:
            os.dup2(os.open(self.plan["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), 2)
            if libc.ptrace(TRACEME, 0, None, None):
                os._exit(98)
            os.kill(os.getpid(), signal.SIGSTOP)
            stop_only_at(sorted(CALLS))
            os.execv(command[0], command)
        self.leader = child
        if not os.WIFSTOPPED(os.waitpid(child, WALL)[1]):
            sys.exit("this user may not trace")
        ptrace(SETOPTIONS, child, OPTIONS)
        self.known.add(child)
        self.memory = None
        self.say("started")
        ptrace(CONT, child)

    def say(self, what):
        """Who waits reads the process number and, at the end, what became of it."""
        with open(self.plan["report"] + ".new", "w") as file:
            json.dump({"what": what, "process": self.leader, "points": self.points, "fired": self.fired,
                       "status": getattr(self, "status", None)}, file)
        os.rename(self.plan["report"] + ".new", self.plan["report"])

    def run(self, command):
        self.start(command)
        while True:
            thread, status = os.waitpid(-1, WALL)
            if os.WIFEXITED(status) or os.WIFSIGNALED(status):
                if thread == self.leader:
                    self.status = os.waitstatus_to_exitcode(status)
                    break
                continue
            self.stopped(thread, os.WSTOPSIG(status), status >> 16)
        if self.plan.get("trace"):
            with open(self.plan["trace"], "wb") as file:
                pickle.dump(self.records, file)
        self.say("ended")

    def stopped(self, thread, number, event):
        if event == EVENT_SECCOMP:
            self.entered(thread)
        elif number == signal.SIGTRAP | 0x80:
            self.left(thread)
            ptrace(CONT, thread)
        elif event or number == signal.SIGTRAP:
            if event == EVENT_EXEC and self.memory is not None:
                # It began anew in its own place, with memory of its own.
                os.close(self.memory)
                self.memory = None
            ptrace(CONT, thread)
        elif number == signal.SIGSTOP and thread not in self.known:
            self.known.add(thread)
            ptrace(CONT, thread)
        else:
            ptrace(CONT, thread, number)

    def entered(self, thread):
        if self.memory is None:
            # After exec: it is the program's own memory from here on.
            self.memory = os.open(f"/proc/{self.leader}/mem", os.O_RDONLY)
        registers = Registers()
        if not ptrace(GETREGS, thread, ctypes.addressof(registers)):
            return
        record = self.describe(CALLS[registers.orig_rax], registers.arguments())
        if record is None:
            ptrace(CONT, thread)
            return
        self.ticks += 1
        record["begun"] = self.ticks
        action = self.action.get("do")
        if self.armed and self.counts(record):
            self.count += 1
            if len(self.points) < 5000:
                self.points.append(f"{record['call']} {record['kind']}")
            if self.count == self.action.get("at") and action in ("kill", "fail"):
                self.fired = f"{record['call']} {record['kind']}"
                if action == "kill":
                    os.kill(self.leader, signal.SIGKILL)
                    return
                self.skip(thread, registers, -self.action["errno"])
                record["result"] = -self.action["errno"]
        if action == "lie" and record["call"] in SYNCS and record["kind"] in ("store", "wal", "folder", "beside"):
            self.skip(thread, registers, 0)
            record["result"], record["lie"], self.fired = 0, True, "lie"
        if "result" in record:
            record["done"] = record["begun"]
        self.inside[thread] = record
        if self.plan.get("trace"):
            self.records.append(record)
        ptrace(SYSCALL, thread)

    def skip(self, thread, registers, result):
        registers.orig_rax = 2**64 - 1
        registers.rax = result % 2**64
        ptrace(SETREGS, thread, ctypes.addressof(registers))

    def counts(self, record):
        if self.action.get("do") == "fail":
            return record["kind"] in ("store", "wal", "folder", "beside") and record["call"] in self.action["calls"]
        return record["kind"] != "reading"

    def left(self, thread):
        record = self.inside.pop(thread, None)
        if record is None:
            return
        self.ticks += 1
        if "result" in record:
            return
        registers = Registers()
        if ptrace(GETREGS, thread, ctypes.addressof(registers)):
            record["result"], record["done"] = ctypes.c_longlong(registers.rax).value, self.ticks

    def describe(self, call, arguments):
        """The call in words; None for what changes nothing."""
        record = {"call": call, "kind": "other"}
        if call in PATH_ARGUMENTS:
            paths = [self.text(arguments[place]) for place in PATH_ARGUMENTS[call]]
            record["path"], record["to"] = paths[0], paths[-1]
            record["kind"] = self.kind_of(paths[0])
            if call == "openat":
                record["creates"] = bool(arguments[2] & O_CREAT) and not os.path.lexists(paths[0])
                if not arguments[2] & O_CREAT and record["kind"] == "other":
                    return None
                record["truncates"] = bool(arguments[2] & 0o1000)
            record["inode"] = self.inode(paths[0])
            return record
        descriptor = f"/proc/{self.leader}/fd/{ctypes.c_int(arguments[0]).value}"
        try:
            record["path"] = os.readlink(descriptor)
            status = os.stat(descriptor)
        except OSError:
            return None
        record["inode"] = status.st_ino
        record["kind"] = self.kind_of(record["path"])
        if stat.S_ISSOCK(status.st_mode):
            record["kind"] = self.socket(record, arguments)
        elif "eventfd" in record["path"]:
            record["kind"] = "wake-up"
        elif arguments[0] == 2:
            record["kind"] = "log"
        if self.plan.get("trace"):
            self.contents(record, arguments)
        return record

    def socket(self, record, arguments):
        if record["call"] == "connect":
            address = os.pread(self.memory, min(arguments[2], 28), arguments[1])
            if struct.unpack_from(">H", address, 2)[0] == self.plan["mail_port"]:
                self.mail_sockets.add(record["inode"])
        return "mail server" if record["inode"] in self.mail_sockets else "network"

    def contents(self, record, arguments):
        call = record["call"]
        if call in ("write", "pwrite64", "sendto"):
            record["data"] = os.pread(self.memory, arguments[2], arguments[1])
        if call in ("writev", "pwritev", "pwritev2"):
            vector = os.pread(self.memory, 16 * arguments[2], arguments[1])
            parts = [struct.unpack_from("QQ", vector, 16 * i) for i in range(arguments[2])]
            record["data"] = b"".join(os.pread(self.memory, length, at) for at, length in parts)
        if call in ("pwrite64", "pwritev", "pwritev2"):
            record["offset"] = arguments[3]
        if call == "ftruncate":
            record["length"] = arguments[1]

    def kind_of(self, path):
        if path == self.store:
            return "store"
        if path == self.store + "-wal":
            return "wal"
        if path == self.folder:
            return "folder"
        if path.endswith("-shm"):
            return "shared memory"
        if path.endswith(".sock"):
            return "control socket"
        return "beside" if path.startswith(self.folder + "/") else "other"

    @staticmethod
    def inode(path):
        try:
            return os.lstat(path).st_ino
        except OSError:
            return None

    def text(self, address):
        if not address:
            return ""
        page = 4096 - address % 4096
        read = os.pread(self.memory, page, address)
        if b"\0" not in read:
            read += os.pread(self.memory, 4096, address + page)
        return os.fsdecode(read.split(b"\0")[0])


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        Tracer(json.load(file)).run(sys.argv[2:])
