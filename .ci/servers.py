"""What the checks with real servers share: processes that end with the check, free ports, bounded waits."""

import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
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


def expect(what, got, wanted):
    if got != wanted:
        raise Wrong(f"{what}: {got}, not {wanted}")


def replaced(text, changes):
    """The text with each change made, each in one place."""
    for old, new in changes:
        expect(f"{old!r} in a shipped file", text.count(old), 1)
        text = text.replace(old, new)
    return text


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


def value(base, query):
    """The one value that Prometheus gives; None where it gives nothing."""
    found = api(base, "/api/v1/query", query=query)["data"]["result"]
    return float(found[0]["value"][1]) if found else None


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
        options.setdefault("env", {key: value for key, value in os.environ.items() if not key.startswith("HOSTWATCH_")})
        with log.open("wb") as out:
            process = subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=out,
                                       stderr=subprocess.STDOUT, **{"cwd": self.path, **options})
        self.running.append((name, process, log))
        return process

    def stop(self, name, how=signal.SIGTERM, within=8, ends_with=(0, -signal.SIGKILL)):
        """Ends one of them before the others."""
        for entry in [entry for entry in self.running if entry[0] == name]:
            entry[1].send_signal(how)
            expect(f"whether {name} ended with {entry[1].wait(within)}", entry[1].returncode in ends_with, True)
            self.running.remove(entry)

    def write(self, name, text):
        path = self.path / name
        path.write_text(text)
        return path

    def web(self, name, *command, ready="/-/ready", port=None, **options):
        """Starts what takes --web.listen-address and waits until it answers. Gives host and port."""
        at = f"127.0.0.1:{port or free_port()}"
        self.start(name, *command, f"--web.listen-address={at}", **options)
        wait(f"{name} answers", 60, lambda: fetch(f"http://{at}{ready}"))
        return at

    def prometheus(self, config, *flags):
        """Gives its address; paths in the configuration are relative to the directory of all servers."""
        # JSON is YAML.
        path = self.write("prometheus.yml", config if isinstance(config, str) else json.dumps(config))
        return "http://" + self.web("prometheus", "prometheus", f"--config.file={path}", "--log.level=warn",
                                    f"--storage.tsdb.path={self.path / 'prometheus'}", *flags)

    def simulator(self, binary, *flags, name="simulate"):
        """The provider. Gives its address."""
        port = free_port()
        self.start(name, binary, "simulate", f"--listen-address=127.0.0.1:{port}", "--control", *flags)
        base = f"http://127.0.0.1:{port}"
        wait("the simulator answers", 20, lambda: fetch(f"{base}/_sim/state"))
        return base

    def configured(self, provider, name="hostwatch", smtp=None, more="", schedule="", keys=""):
        """A configuration with everything polled every 2 s. Gives its path."""
        email = f'[email]\nsmtp_url = "smtp://127.0.0.1:{smtp}"\nfrom = "h@example.com"\nto = ["you@example.com"]\n' if smtp else ""
        return self.write(f"{name}.toml", f"""
[accounts.main]
base_url = "{provider}"
panel_url = "{provider}"
hosting_token = "hosting-token"
vm_api_key = "vm-api-key"
billing_username = "billing-user"
billing_password = "billing-password"
time_zone = "Europe/Moscow"
currency = "RUB"
vm_memory_unit = "MB"
{keys}container_states = {{ 0 = "ENABLED", 1 = "DISABLED_BY_SERVICE", 2 = "DISABLED_BY_ADMIN", 3 = "DISABLED_BY_QUOTA" }}
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

    def daemon(self, binary, provider, name="hostwatch", port=None, **keys):
        """`hostwatch run`. Gives host and port."""
        return self.web(name, binary, "run", f"--config.file={self.configured(provider, name, **keys)}", port=port)


def run(main):
    """Runs a check; says what failed in one line."""
    # So that a stop from outside ends the processes too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    try:
        main()
    except Failed as failure:
        sys.exit(f"failed: {failure}")
