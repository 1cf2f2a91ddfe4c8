#!/usr/bin/env python3
"""Many of what there is usually one of, in one run each: thousands of accounts in one daemon, and every VM of a large
account broken at once. Needs a release build, and nothing else:

    cargo build --release && benches/many.py accounts [--accounts N]
    cargo build --release && benches/many.py broken [--vms N]

Ratios, counts and memory; where times stand, they are of the processor.
"""

import argparse
import contextlib
import gzip
import pathlib
import re
import sys
import tempfile
import time

from load import (CONFIG, HERE, NEVER, ROWS, Daemon, control, cpu_seconds, daemon, free_port, listening,
                  memory_mib, process, provider, row, table, until)

sys.path.append(str(HERE.parent / "tests/proof"))
from mailserver import MailServer  # noqa: E402

# Of each of many accounts: a small one.
SMALL = (3, 1, 2)
KIB_PER_ACCOUNT = 50


def pages(running):
    """The daemon's page, as text."""
    return gzip.decompress(running.get(packed=True)).decode()


def total(page, pattern):
    """The sum of the series whose name and labels match."""
    return sum(float(value) for value in re.findall(rf"(?m)^{pattern} (\S+)$", page))


# ── Accounts ─────────────────────────────────────────────────────────────────────────────────────────────────────


@contextlib.contextmanager
def daemon_of(args, work, behind, count):
    """A daemon that polls so many accounts once; they are one at the provider."""
    text = CONFIG.format(provider=behind, vms=NEVER, containers=NEVER, expected_balance=NEVER, state_series="current")
    text = text.replace("[accounts.main]", "[defaults]")
    text += "".join(f"[accounts.customer-{index:04}]\n" for index in range(count))
    config, port = work / f"accounts-{count}.toml", free_port()
    config.write_text(text)
    command = [args.binary, "run", "--config.file", config, f"--web.listen-address=127.0.0.1:{port}"]
    with process(command, work / f"accounts-{count}.log", cwd=work) as child:
        until("the daemon", lambda: listening(port))
        yield Daemon(child, port)


def settled(running, count):
    """Resident memory once every account's first polls ended and all stand on the page."""
    ended = r'hostwatch_collector_polls_total\{[^}]*result="success"\}'

    def ready():
        page = pages(running)
        return total(page, ended) >= 4 * count and page.count("\nhosting_billing_balance{") >= count
    until(f"the first polls of {count} accounts", ready, 1800, 2)
    return memory_mib(running.pid), cpu_seconds(running.pid), pages(running)


def accounts(args, work):
    with provider(args, work, *SMALL, "small") as behind:
        with daemon_of(args, work, behind, 1) as running:
            alone, cpu_alone, _ = settled(running, 1)
        began = time.monotonic()
        with daemon_of(args, work, behind, args.accounts) as running:
            resident, cpu, page = settled(running, args.accounts)
            took = time.monotonic() - began
            peak = memory_mib(running.pid, "VmHWM")
            calls = total(page, r'hostwatch_api_requests_total\{[^}]*\}')
    each = (resident - alone) * 1024 / (args.accounts - 1)
    row(f"{args.accounts} accounts: resident", f"{resident:.0f} MiB, peak {peak:.0f} MiB; one account {alone:.0f} MiB")
    row("… each", f"{each:.1f} KiB", f"{KIB_PER_ACCOUNT} KiB", each <= KIB_PER_ACCOUNT)
    row("… calls each", f"{calls / args.accounts:.2f}", "4", calls == 4 * args.accounts)
    row("… CPU of the first polls, each", f"{cpu / args.accounts * 1000:.1f} ms, within {took:.0f} s")
    row("… series", f"{sum(1 for line in page.splitlines() if line and line[0] != '#')}")


# ── Everything broken at once ────────────────────────────────────────────────────────────────────────────────────


MAIL = """
[email]
smtp_url = "smtp://127.0.0.1:{port}"
from = "hostwatch@example.com"
to = ["ops@example.com"]
"""


def over(running, polls):
    """CPU a poll, the longest poll and the least and the most resident memory over so many polls of the VMs."""
    duration = 'hostwatch_collector_duration_seconds{account="main",collector="vms"}'
    before, cpu, last = running.polls("vms"), cpu_seconds(running.pid), 0
    longest, resident = 0.0, []
    while last < before + polls:
        last = running.polls("vms")
        longest = max(longest, running.own()[duration])
        resident.append(memory_mib(running.pid))
        time.sleep(0.5)
    return (cpu_seconds(running.pid) - cpu) / (last - before), longest, max(resident)


def broken(args, work):
    server = MailServer()
    # Without orders: what is measured is not the report.
    scenario = work / "scenario.toml"
    scenario.write_text("resource_orders = false\n")
    with provider(args, work, args.vms, 10, 20, "large", "--scenario", scenario) as behind, \
            daemon(args, work, behind, "broken", more=MAIL.format(port=server.port), vms=args.every) as running:
        until("the first polls and their mail", lambda: running.polls("vms") >= 1 and server.mails, 300, 0.2)
        first = len(server.mails)
        running.polled(2, ["vms"])
        cpu_well, longest_well, resident_well = over(running, args.polls)
        began = time.monotonic()
        polls_well = running.polls("vms")
        time.sleep(args.watch)
        polls_well = (running.polls("vms") - polls_well) / (time.monotonic() - began)

        before, cpu = running.polls("vms"), cpu_seconds(running.pid)
        control(behind, "set_vm", vm="*", state="error")
        shown = 'hostwatch_incidents{account="main",kind="vm_error",severity="critical",state="firing"}'
        until("all incidents", lambda: running.own().get(shown) == args.vms, 300, 0.2)
        until("the mail", lambda: len(server.mails) > first, 60, 0.2)
        polls_until, cpu_storm = running.polls("vms") - before, cpu_seconds(running.pid) - cpu
        cpu_ill, longest_ill, resident_ill = over(running, args.polls)
        began = time.monotonic()
        polls_ill = running.polls("vms")
        time.sleep(args.watch)
        polls_ill = (running.polls("vms") - polls_ill) / (time.monotonic() - began)
        mails, largest = len(server.mails) - first, max(len(mail.raw) for mail in server.mails[first:])
        peak = memory_mib(running.pid, "VmHWM")
        control(behind, "set_vm", vm="*", state="active")
        until("the end of all", lambda: shown not in running.own() and len(server.mails) > first + mails, 300, 0.2)
        running.polled(2, ["vms"])
        after, ends = memory_mib(running.pid), len(server.mails) - first - mails
    server.close()
    row(f"{args.vms} VMs in error at once: mails; of their end", f"{mails} ({largest / 1024:.0f} KiB); {ends}", "1; 1",
        (mails, ends) == (1, 1))
    row("… polls until all were incidents, and mailed", f"{polls_until:.0f}", "2", polls_until <= 2)
    row("… polls a minute, before; with all of them in error", f"{60 * polls_well:.1f}; {60 * polls_ill:.1f}",
        "the same", polls_ill >= 0.95 * polls_well)
    row("… CPU of a poll and its step, before; with all in error; the one that saw it",
        f"{cpu_well * 1000:.0f} ms; {cpu_ill * 1000:.0f} ms; {cpu_storm * 1000:.0f} ms")
    row("… longest poll, before; with all in error", f"{longest_well:.2f} s; {longest_ill:.2f} s")
    row("… resident, before; with all in error; after", f"{resident_well:.0f} MiB; {resident_ill:.0f} MiB, peak {peak:.0f} MiB; {after:.0f} MiB")
    row("… memory of an incident", f"{(resident_ill - resident_well) * 1024 / args.vms:.2f} KiB")


PARTS = {"accounts": accounts, "broken": broken}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--binary", default=HERE.parent / "target/release/hostwatch", type=pathlib.Path)
    parser.add_argument("--accounts", type=int, default=5_000)
    parser.add_argument("--vms", type=int, default=20_000)
    parser.add_argument("--every", default="*/10 * * * * *", help="when the VMs are polled, while they break")
    parser.add_argument("--polls", type=int, default=6, help="over which a poll is measured")
    parser.add_argument("--watch", type=int, default=60, help="seconds in which polls are counted")
    args = parser.parse_args()
    args.binary = args.binary.resolve()
    with tempfile.TemporaryDirectory(prefix="hostwatch-many-") as directory:
        PARTS[args.part](args, pathlib.Path(directory))
    table()
    sys.exit(any(met == "NO" for *_, met in ROWS))


if __name__ == "__main__":
    main()
