#!/usr/bin/env python3
"""Load and scale in one run, the table of docs/performance.md. Started by load.sh, which installs what it needs.

Every server is started here, on loopback, and stopped at the end. What is compared is measured side by side in
the same run: another machine gives other numbers and the same ratios.
"""

import argparse
import contextlib
import gzip
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
# The ids of simulated VMs begin here.
FIRST_VM = 10_001
# What the daemon may hold of memory.
BASE_MIB = 20
BYTES_A_SERIES = 100
ROWS = []


def row(what, value, target="", met=None):
    """One line of the table, shown as it is found."""
    verdict = "" if met is None else ("yes" if met else "NO")
    ROWS.append((what, value, target, verdict))
    print(f"  {what}: {value}" + (f"  (target {target}: {verdict})" if target else ""), flush=True)


def table():
    """All rows at once, in Markdown."""
    print("\n| what | measured | target | met |\n|---|---|---|---|")
    for cells in ROWS:
        print("| " + " | ".join(cells) + " |")


# ── Processes ────────────────────────────────────────────────────────────────────────────────────────────────────


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def until(what, so, seconds=600, pause=0.02):
    end = time.monotonic() + seconds
    while not so():
        if time.monotonic() > end:
            sys.exit(f"not within {seconds} s: {what}")
        time.sleep(pause)


def listening(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextlib.contextmanager
def process(command, log, **options):
    with open(log, "wb") as out:
        child = subprocess.Popen([str(part) for part in command], stdout=out, stderr=out, **options)
        try:
            yield child
        finally:
            child.send_signal(signal.SIGTERM)
            try:
                child.wait(10)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()


def memory_mib(pid, what="VmRSS"):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(rf"{what}:\s+(\d+) kB", status)[1]) / 1024


def cpu_seconds(pid):
    """Time on a processor, of all its threads, those that ended too: the process's own clock."""
    return time.clock_gettime(~pid << 3 | 2)


# ── The daemon ───────────────────────────────────────────────────────────────────────────────────────────────────

CONFIG = """
[accounts.main]
base_url = "http://127.0.0.1:{provider}"
panel_url = "http://127.0.0.1:{provider}"
hosting_token = "hosting-token"
vm_api_key = "vm-api-key"
billing_username = "billing-user"
billing_password = "billing-password"
time_zone = "Europe/Moscow"
vm_memory_unit = "MB"
container_states = {{ 0 = "ENABLED", 1 = "DISABLED_BY_SERVICE", 2 = "DISABLED_BY_ADMIN", 3 = "DISABLED_BY_QUOTA" }}
[schedule]
vms = "{vms}"
containers = "{containers}"
expected_balance = "{expected_balance}"
databases = ""
cron_jobs = ""
ips = ""
charges = ""
digest = ""
[limits]
vm_list_per_minute = 1000000
vm_other_per_minute = 1000000
hosting_per_minute = 1000000
billing_per_minute = 1000000
[metrics]
state_series = "{state_series}"
"""
NEVER = "0 0 29 2 *"
EVERY = "*/5 * * * * *"
SWEEPS = ("vms", "containers", "sites", "expected_balance")


class Daemon:
    """A running daemon and what it serves."""

    def __init__(self, child, port):
        self.pid, self.port = child.pid, port

    def get(self, path="/metrics", packed=False):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}")
        if packed:
            request.add_header("Accept-Encoding", "gzip")
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read()

    def own(self):
        """Values of the daemon's own metrics; the last few kilobytes of the page."""
        text = gzip.decompress(self.get(packed=True)).decode()
        lines = [line for line in text[-40000:].splitlines() if line.startswith("hostwatch_")]
        return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}

    def polls(self, collector):
        name = f'hostwatch_collector_polls_total{{account="main",collector="{collector}",result='
        return sum(value for key, value in self.own().items() if key.startswith(name))

    def calls(self):
        return sum(value for key, value in self.own().items() if key.startswith("hostwatch_api_requests_total{"))

    def ready(self):
        """Waits until everything was polled once and stands on the page, which is made after the mails."""
        until("the first polls", lambda: all(self.polls(one) >= 1 for one in SWEEPS), 900, 0.2)
        shown = ("\nhosting_vms{", "\nhosting_sites{", "\nhosting_billing_orders{")
        until("the page", lambda: all(one in gzip.decompress(self.get(packed=True)).decode() for one in shown), 300, 1)

    def polled(self, times, collectors=SWEEPS, seconds=900):
        """Waits until each collector has ended so many more polls."""
        goal = {collector: self.polls(collector) + times for collector in collectors}
        for collector, wanted in goal.items():
            until(f"{times} polls of {collector}", lambda: self.polls(collector) >= wanted, seconds, 0.5)


@contextlib.contextmanager
def provider(args, work, vms, containers, sites, name, *more):
    port = free_port()
    command = [args.binary, "simulate", "--listen-address", f"127.0.0.1:{port}", "--control", "--vms", vms,
               "--containers", containers, "--sites", sites, "--vm-page-size", 100, "--unlimited", *more]
    with process(command, work / f"{name}.provider.log"):
        until("the simulated provider", lambda: listening(port))
        yield port


@contextlib.contextmanager
def daemon(args, work, provider_port, name, more="", **schedule):
    settings = {"vms": NEVER, "containers": NEVER, "expected_balance": NEVER, "state_series": "all"} | schedule
    config = work / f"{name}.toml"
    config.write_text(CONFIG.format(provider=provider_port, **settings) + more)
    port = free_port()
    command = [args.binary, "run", "--config.file", config, f"--web.listen-address=127.0.0.1:{port}"]
    began = time.perf_counter()
    with process(command, work / f"{name}.log", cwd=work) as child:
        while not listening(port):
            time.sleep(0.001)
        running = Daemon(child, port)
        running.get()
        running.began, running.first_page = began, time.perf_counter() - began
        yield running


def control(port, command, **fields):
    body = json.dumps(fields).encode()
    urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}/_sim/{command}", body), timeout=60)


# ── What is measured ─────────────────────────────────────────────────────────────────────────────────────────────


def at_size(args, work, vms, containers, sites, name):
    """Memory, calls and CPU of polls at a size."""
    result = {}
    with provider(args, work, vms, containers, sites, name) as port:
        schedule = {"vms": EVERY, "containers": EVERY, "expected_balance": EVERY}
        with daemon(args, work, port, name) as running:
            began = time.monotonic()
            running.ready()
            result["first_sweep_s"] = time.monotonic() - began
            result["calls"] = running.calls()
            result["rss_first"] = memory_mib(running.pid)
            result["cpu_first_s"] = cpu_seconds(running.pid)
            packed = running.get(packed=True)
            text = gzip.decompress(packed)
            result["gzip_bytes"], result["text_bytes"] = len(packed), len(text)
            result["series"] = sum(1 for line in text.splitlines() if line and not line.startswith(b"#"))
        with daemon(args, work, port, f"{name}-on", **schedule) as running:
            running.ready()
            resident = [memory_mib(running.pid)]
            for turn in range(args.polls):
                control(port, "set_vm", vm=FIRST_VM + turn, state="stopped")
                running.polled(1)
                resident.append(memory_mib(running.pid))
            print("  resident after each sweep, MiB: " + ", ".join(f"{one:.0f}" for one in resident), flush=True)
            result["rss_on"], result["rss_peak"] = max(resident), memory_mib(running.pid, "VmHWM")
    listings = -(-vms // 100) + -(-containers // 100) + containers * max(1, -(-(sites // containers) // 100)) + 1
    result["least_calls"] = listings
    return result


def refresh(args, work, scale, target):
    """CPU from a poll of everything to the served page: all of it new, then nothing changed. The least of some turns, since
    a busy machine only adds."""
    scenario = work / "no-orders.toml"
    scenario.write_text("resource_orders = false\n")
    size = [int(part * scale) for part in (args.vms, args.containers, args.sites)]
    new, again = [], []
    with provider(args, work, *size, "refresh", "--scenario", scenario) as port:
        for _ in range(args.rounds):
            with daemon(args, work, port, "refresh") as running:
                running.ready()
                new.append(cpu_seconds(running.pid))
                poll = [args.binary, "poll", "--config.file", work / "refresh.toml"]
                subprocess.run(poll, cwd=work, check=True, capture_output=True)
                lines = gzip.decompress(running.get(packed=True)).count(b"\n")
                again.append(cpu_seconds(running.pid) - new[-1])
                mib = memory_mib(running.pid)
    row(f"refresh of {lines} lines: CPU", f"{min(new):.2f} s all new, {min(again):.2f} s nothing changed; {mib:.0f} MiB",
        f"{target} s", min(new) <= target)


def resident(what, found, mib, more=""):
    """Against the bound: so many bytes a series over a base."""
    bound = BASE_MIB + BYTES_A_SERIES * found["series"] / (1 << 20)
    each = (mib - BASE_MIB) * (1 << 20) / found["series"]
    row(what, f"{mib:.0f} MiB{more}: {each:.0f} bytes a series over {BASE_MIB} MiB", f"{bound:.0f} MiB", mib <= bound)


def scrapes(url, seconds):
    """Requests a second with 40 connections kept alive, and what failed."""
    command = ["wrk", "-t1", "-c40", f"-d{seconds}s", "--timeout", "30s", "-H", "Accept-Encoding: gzip", url]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    errors = re.findall(r"(Socket errors.*|Non-2xx.*)", said)
    return float(re.search(r"Requests/sec:\s+([\d.]+)", said)[1]), "; ".join(errors)


NGINX = """
daemon off; worker_processes auto; pid {work}/nginx.pid; error_log {work}/nginx.error.log;
events {{ worker_connections 1024; }}
http {{
  access_log off; sendfile on; tcp_nopush on; tcp_nodelay on; keepalive_requests 1000000; keepalive_timeout 60;
  client_body_temp_path {work}/t1; proxy_temp_path {work}/t2; fastcgi_temp_path {work}/t3;
  uwsgi_temp_path {work}/t4; scgi_temp_path {work}/t5;
  default_type "text/plain; version=0.0.4; charset=utf-8";
  server {{
    listen 127.0.0.1:{port}; root {work}/www;
    location = /gzip {{ add_header Content-Encoding gzip; add_header Vary "Accept, Accept-Encoding"; }}
  }}
}}
"""


def family(pid):
    """A process and its children."""
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *map(int, children)]


def turn(args, url, pid):
    """Requests a second, milliseconds of CPU for each, and what failed, over one turn."""
    pids = family(pid)
    before = sum(map(cpu_seconds, pids))
    speed, errors = scrapes(url, args.seconds)
    return speed, (sum(map(cpu_seconds, pids)) - before) * 1000 / (speed * args.seconds), errors


def against_nginx(args, work, vms, containers, sites):
    """Turn by turn beside nginx, which serves the same bytes from files: no work but to send them."""
    port = free_port()
    (work / "www").mkdir(exist_ok=True)
    os.chmod(work, 0o755)
    (work / "nginx.conf").write_text(NGINX.format(work=work, port=port))
    found = []
    with provider(args, work, vms, containers, sites, "nginx") as behind, \
            daemon(args, work, behind, "served") as running:
        running.ready()
        page = running.get(packed=True)
        (work / "www/gzip").write_bytes(page)
        with process(["nginx", "-p", work, "-c", work / "nginx.conf"], work / "nginx.log") as nginx:
            until("nginx", lambda: listening(port))
            for _ in range(args.rounds):
                theirs = turn(args, f"http://127.0.0.1:{port}/gzip", nginx.pid)
                ours = turn(args, f"http://127.0.0.1:{running.port}/metrics", running.pid)
                found.append((ours, theirs))
        return len(page), found, memory_mib(running.pid)


def beside_nginx(args, work, size):
    page, turns, resident = against_nginx(args, work, *size)
    our, their = ([statistics.median(column) for column in zip(*(one[who][:2] for one in turns))] for who in (0, 1))
    ratios = sorted(ours[0] / theirs[0] for ours, theirs in turns)
    ratio, spread = statistics.median(ratios), f"{ratios[0]:.2f} to {ratios[-1]:.2f}"
    row("gzip: page", f"{page / 1e6:.2f} MB")
    row("gzip: requests a second, 40 connections",
        f"{our[0]:.0f}; nginx {their[0]:.0f}; ratio {ratio:.2f} ({spread} in {len(turns)} turns)", "0.95", ratio >= 0.95)
    row("gzip: CPU a request", f"{our[1]:.2f} ms; nginx {their[1]:.2f} ms; ratio {our[1] / their[1]:.2f}")
    problems = [ours[2] for ours, _ in turns if ours[2]]
    row("gzip: errors of 40 scrapers at once", "; ".join(problems) or "none", "none", not problems)
    row("resident while scraped", f"{resident:.0f} MiB")


def idle(args, work):
    """A hundred resources, between polls."""
    with provider(args, work, 40, 10, 50, "idle") as port:
        starts = []
        for turn in range(5):
            with daemon(args, work, port, f"idle{turn}") as running:
                starts.append(running.first_page)
                until("the first polls", lambda: all(running.polls(one) >= 1 for one in SWEEPS), 60, 0.005)
                known = time.perf_counter() - running.began
                if turn == 4:
                    time.sleep(3)
                    before = cpu_seconds(running.pid)
                    time.sleep(args.idle)
                    used = cpu_seconds(running.pid) - before
                    return sorted(starts)[2], known, memory_mib(running.pid), 100 * used / args.idle
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", default=HERE.parent / "target/release/hostwatch", type=pathlib.Path)
    parser.add_argument("--vms", type=int, default=10_000)
    parser.add_argument("--containers", type=int, default=1_000)
    parser.add_argument("--sites", type=int, default=20_000)
    parser.add_argument("--polls", type=int, default=6, help="further sweeps for the memory")
    parser.add_argument("--rounds", type=int, default=5, help="of hostwatch and nginx in turn")
    parser.add_argument("--seconds", type=int, default=5, help="a turn")
    parser.add_argument("--idle", type=int, default=30, help="seconds")
    parser.add_argument("--growth", action="store_true", help="a tenth of the size as well, and how things grow")
    parser.add_argument("--only", default="size,refresh,nginx,idle", help="parts of the run")
    args = parser.parse_args()
    args.binary = args.binary.resolve()
    parts = args.only.split(",")
    has = shutil.which
    if "nginx" in parts and not (has("nginx") and has("wrk")):
        parser.error("the part nginx needs nginx and wrk: load.sh installs them, --only leaves the part out")
    size = (args.vms, args.containers, args.sites)
    cpu = re.search(r"model name\s*:\s*(.*)", pathlib.Path("/proc/cpuinfo").read_text())
    print(f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores ({cpu[1] if cpu else 'unknown'}), "
          f"load {os.getloadavg()[0]:.1f} at the start; {size[0]} VMs, {size[1]} containers, {size[2]} sites")
    with tempfile.TemporaryDirectory(prefix="hostwatch-load-") as directory:
        work = pathlib.Path(directory)
        if "size" in parts:
            found = at_size(args, work, *size, "full")
            row("series on the page", f"{found['series']}")
            row("page", f"{found['text_bytes'] / 1e6:.1f} MB text, {found['gzip_bytes'] / 1e6:.2f} MB gzip")
            resident("resident after the first polls", found, found["rss_first"])
            resident(f"resident through {args.polls} further sweeps", found, found["rss_on"], f", peak {found['rss_peak']:.0f} MiB")
            row("API calls of a sweep", f"{found['calls']:.0f}, least possible {found['least_calls']}",
                "the least", found["calls"] <= found["least_calls"])
            row("first polls of everything", f"{found['first_sweep_s']:.1f} s, {found['cpu_first_s']:.1f} s of CPU")
            if args.growth:
                small = at_size(args, work, *(part // 10 for part in size), "tenth")
                for what, key in (("series", "series"), ("gzip bytes", "gzip_bytes"), ("API calls", "calls"),
                                  ("CPU of the first polls", "cpu_first_s"), ("resident at the most", "rss_peak")):
                    ratio = found[key] / small[key]
                    grown = f"{small[key]:.4g} to {found[key]:.4g}, ×{ratio:.1f}"
                    row(f"10 times the size: {what}", grown, "×10.5", ratio <= 10.5)
        if "refresh" in parts:
            refresh(args, work, 1, 0.4)
            refresh(args, work, 2.5, 0.7)
        if "nginx" in parts:
            beside_nginx(args, work, size)
        if "idle" in parts:
            start, known, rss, cpu_used = idle(args, work)
            row("start to the first served page", f"{start * 1000:.0f} ms; with all of 100 resources {known * 1000:.0f} ms",
                "200 ms", start < 0.2)
            row("idle with 100 resources: resident", f"{rss:.1f} MiB", "20 MiB", rss < 20)
            row("idle with 100 resources: CPU", f"{cpu_used:.3f} % of a core", "0.1 %", cpu_used < 0.1)
    table()


if __name__ == "__main__":
    main()
