"""What the checks with real servers share: processes that end with the check, free ports, bounded waits."""

import contextlib
import json
import os
import pathlib
import signal
import socket
import socketserver
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
RULES = ROOT / "config/prometheus"


class Failed(Exception):
    """Something did not come about; the text says what."""


class Wrong(Failed):
    """Everything ran, and what came of it is not right."""


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def fetch(url, data=None, timeout=10):
    """The body of an answer; Failed with it where it is an error."""
    request = urllib.request.Request(url, data=data, method="GET" if data is None else "POST")
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return answer.read().decode()
    except urllib.error.HTTPError as error:
        raise Failed(f"{url}: {error.code} {error.read().decode(errors='replace')[:500]}") from None


def api(base, path, **parameters):
    """What Prometheus or Alertmanager answers to an API request."""
    return json.loads(fetch(f"{base}{path}?{urllib.parse.urlencode(parameters, doseq=True)}", timeout=30))


def control(provider, command, **fields):
    """Tells the simulated provider to do something (docs/provider.md)."""
    fetch(f"{provider}/_sim/{command}", json.dumps(fields).encode())


def wait(what, seconds, so):
    """The first thing true that `so()` gives. A server that is not up yet is asked again."""
    end = time.monotonic() + seconds
    while True:
        with contextlib.suppress(Failed, OSError):
            if found := so():
                return found
        if time.monotonic() > end:
            raise Failed(f"not within {seconds} s: {what}")
        time.sleep(0.1)


class Servers:
    """Processes in a temporary directory; both are gone at the end of the `with`."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="hostwatch-ci-")
        self.path = pathlib.Path(self.folder.name)
        self.running = []
        return self

    def __exit__(self, kind, *_):
        ended = [name for name, process, _ in self.running if process.poll() is not None]
        for _, process, _ in self.running:
            process.send_signal(signal.SIGTERM)
        for name, process, log in self.running:
            try:
                process.wait(8)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if name in ended or kind is not None and not issubclass(kind, Wrong):
                tail = log.read_text(errors="replace").splitlines()[-25:]
                print(f"-- the end of what {name} said:", *tail, sep="\n", file=sys.stderr)
        self.folder.cleanup()
        if ended and kind is None:
            raise Failed(f"ended by itself: {', '.join(ended)}")

    def start(self, name, *command, **options):
        log = self.path / f"{name}.log"
        with log.open("wb") as out:
            process = subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=out,
                                       stderr=subprocess.STDOUT, cwd=self.path, **options)
        self.running.append((name, process, log))
        return process

    def stop(self, name, how=signal.SIGTERM):
        """Ends one of them before the others."""
        for entry in [entry for entry in self.running if entry[0] == name]:
            self.running.remove(entry)
            entry[1].send_signal(how)
            entry[1].wait(8)

    def write(self, name, text):
        path = self.path / name
        path.write_text(text)
        return path

    def prometheus(self, targets, rules, alertmanager=None, name="prometheus", jobs=()):
        """Scrapes and evaluates every second. Gives its address."""
        alerting = {"alertmanagers": [{"static_configs": [{"targets": [alertmanager]}]}]} if alertmanager else {}
        # JSON is YAML.
        return self.prometheus_with(json.dumps({
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(path) for path in rules],
            "scrape_configs": [{"job_name": "hostwatch", "static_configs": [{"targets": targets}]}, *jobs],
            "alerting": alerting}), name)

    def prometheus_with(self, text, name="prometheus"):
        """The same by a configuration of its own; paths in it are relative to the directory of all servers."""
        port = free_port()
        config = self.write(f"{name}.yml", text)
        self.start(name, "prometheus", f"--config.file={config}", f"--storage.tsdb.path={self.path / name}",
                   f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn")
        base = f"http://127.0.0.1:{port}"
        wait(f"{name} is ready", 30, lambda: fetch(f"{base}/-/ready"))
        return base

    def simulator(self, binary, *flags, name="simulate"):
        """The provider. Gives its address."""
        port = free_port()
        self.start(name, binary, "simulate", f"--listen-address=127.0.0.1:{port}", "--control", *flags)
        base = f"http://127.0.0.1:{port}"
        wait("the simulator answers", 20, lambda: fetch(f"{base}/_sim/state"))
        return base

    def daemon(self, binary, provider, name="hostwatch", account="main", smtp=None, more="", schedule="", port=None, ready=True):
        """`hostwatch run` with everything polled every 2 s. Gives host and port."""
        port = port or free_port()
        email = f'[email]\nsmtp_url = "smtp://127.0.0.1:{smtp}"\nfrom = "h@example.com"\nto = ["you@example.com"]\n' if smtp else ""
        config = self.write(f"{name}.toml", f"""
[accounts.{account}]
base_url = "{provider}"
panel_url = "{provider}"
hosting_token = "hosting-token"
vm_api_key = "vm-api-key"
billing_username = "billing-user"
billing_password = "billing-password"
time_zone = "Europe/Moscow"
currency = "RUB"
vm_memory_unit = "MB"
container_states = {{ 0 = "ENABLED", 1 = "DISABLED_BY_SERVICE", 2 = "DISABLED_BY_ADMIN", 3 = "DISABLED_BY_QUOTA" }}
[schedule]
vms = "*/2 * * * * *"
containers = "*/2 * * * * *"
expected_balance = "*/2 * * * * *"
ssh_keys = "*/30 * * * * *"
{schedule}[limits]
billing_per_minute = 1000
hosting_per_minute = 100000
[store]
path = "{self.path / name}.db"
{email}{more}""")
        environment = {key: value for key, value in os.environ.items() if not key.startswith("HOSTWATCH_")}
        self.start(name, binary, "run", f"--config.file={config}", f"--web.listen-address=127.0.0.1:{port}", env=environment)
        answers = "ready" if ready else "healthy"
        wait(f"{name} is {answers}", 60, lambda: fetch(f"http://127.0.0.1:{port}/-/{answers}"))
        return f"127.0.0.1:{port}"


class MailServer(socketserver.ThreadingTCPServer):
    """Asks everybody to come again for some seconds from the first mail on, then takes all; or refuses every sender."""

    GREYLISTED_SECONDS = 5

    daemon_threads = True

    def __init__(self, refuses=False):
        self.first_at, self.refuses = None, refuses
        super().__init__(("127.0.0.1", 0), MailSession)
        threading.Thread(target=self.serve_forever, daemon=True).start()
        self.port = self.server_address[1]

    def is_greylisting(self):
        if self.first_at is None:
            self.first_at = time.monotonic()
        return time.monotonic() - self.first_at < self.GREYLISTED_SECONDS

    def __exit__(self, *what):
        self.shutdown()
        super().__exit__(*what)


class MailSession(socketserver.StreamRequestHandler):
    timeout = 60

    def handle(self):
        with contextlib.suppress(OSError):
            self.say("220 check")
            while line := self.rfile.readline(2000):
                word = line[:4].upper()
                if word == b"MAIL" and self.server.refuses:
                    self.say("554 5.7.1 sender refused")
                elif word == b"RCPT" and self.server.is_greylisting():
                    self.say("451 4.7.1 come again")
                elif word == b"DATA":
                    self.say("354 go on")
                    while self.rfile.readline(100_000).strip(b"\r\n") != b".":
                        pass
                    self.say("250 taken")
                elif word == b"QUIT":
                    return self.say("221 bye")
                else:
                    self.say("250 check")

    def say(self, text):
        self.wfile.write(text.encode() + b"\r\n")


def run(main):
    """Runs a check; says what failed in one line."""
    # So that a stop from outside ends the processes too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    try:
        main()
    except Failed as failure:
        sys.exit(f"failed: {failure}")
