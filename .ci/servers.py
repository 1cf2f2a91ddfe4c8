"""The checks with real servers are cases on top of this module: it starts simulator, daemon, demo, Prometheus, web and mail
servers, which end with the check, and waits for what they do."""

import contextlib
import http.server
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
RULES = ROOT / "config/prometheus"
# The simulator's, by the names that the shipped configuration has for them.
SECRETS = {"main.hosting_token": "hosting-token", "main.vm_api_key": "vm-api-key", "main.billing_password": "billing-password"}
sys.path.append(str(ROOT / "tests/proof"))
from mailserver import Handler, MailServer  # noqa: E402, F401


class Failed(Exception):
    """Something did not come about; the text says what."""


class Wrong(Failed):
    """Everything ran, and what came of it is not right."""


def output(*command, said="", **options):
    """The output of a command that is told something; Failed with it where the command fails."""
    done = subprocess.run([str(part) for part in command], text=True, input=said, timeout=300, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, **options)
    if done.returncode:
        raise Failed(f"{' '.join(map(str, command))}: {done.returncode} {done.stdout[-20000:]}")
    return done.stdout


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def expect(what, got, wanted):
    if got != wanted:
        raise Wrong(f"{what}: {got}, not {wanted}")


def replaced(text, changes):
    """The text with each change made in its one place."""
    for old, new in changes:
        expect(f"{old!r} in a shipped file", text.count(old), 1)
        text = text.replace(old, new)
    return text


def packaged(provider):
    """The packaged configuration, with this provider."""
    return replaced((ROOT / "packaging/hostwatch.toml").read_text(), [
        ("https://api.example.com", provider), ("https://panel.example.com", provider), ('"customer"', '"billing-user"')])


def fetch(url, data=None, timeout=10):
    """The body of an answer; Failed with it where it is an error."""
    request = urllib.request.Request(url, data=data, method="GET" if data is None else "POST")
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return answer.read().decode()
    except urllib.request.HTTPError as error:
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


def scenario(number, containers, total, vms=(), sites=()):
    """So many VMs, containers and sites of the simulator, among them VMs and sites with these names; the sites are in a container."""
    tables = [("vm", f'name = "{name}"') for name in vms] + [("container", 'name = "shop"')] * bool(sites)
    tables += [("site", f'name = "{name}"\ncontainer = "shop"') for name in sites]
    return f"vms = {number}\ncontainers = {containers}\nsites = {total}\n" + "".join(f"[[{kind}]]\n{keys}\n" for kind, keys in tables)


def break_a_vm(provider, at):
    """One that the daemon knows. Gives its name."""
    vm = re.search(r'(?m)^hosting_vm_info\{.*\bname="([^"]+)"', fetch(f"http://{at}/metrics"))[1]
    control(provider, "set_vm", vm=vm, state="error")
    return vm


def npm(folder, *packages):
    """Installs packages into a folder; nothing true where npm is not installed."""
    install = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", folder]
    return shutil.which("npm") and [output(*install, *packages)]


class Web(http.server.BaseHTTPRequestHandler):
    """Answers each request with the status of its server; `take` of the server gets what is posted."""

    def do_GET(self):
        self.send_response(self.server.status)
        self.end_headers()

    def do_POST(self):
        self.server.take(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.do_GET()

    def log_message(self, *_):
        """The check says what matters."""


def web_server(status=200, take=None):
    """A web server on loopback until the check ends. Gives host and port."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Web)
    server.status, server.take = status, take
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"127.0.0.1:{server.server_address[1]}"


class Debian:
    """A Debian 12 of its own in a folder."""

    def __init__(self, root):
        self.root, self.enter = root, ["chroot", root]

    def inside(self, *command):
        """The output of a command in there, as root; Failed with it where the command fails."""
        return output(*self.enter, "/usr/bin/env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C",
                      "DEBIAN_FRONTEND=noninteractive", *command)

    def fails(self, *command):
        with contextlib.suppress(Failed):
            return self.inside(*command) is None
        return True

    def files(self):
        """Paths, but for what dpkg, apt and systemd keep about themselves."""
        kept = "proc sys tmp run var/lib/dpkg var/lib/apt var/lib/systemd var/cache var/log".split()
        but = [part for path in kept for part in ("-path", f"./{path}", "-o")][:-1]
        return set(output("find", ".", "-xdev", "(", *but, ")", "-prune", "-o", "-print", cwd=self.root).splitlines())


class Servers:
    """Processes in a temporary directory; both are gone at the end of the `with`."""

    def __enter__(self):
        self.folder, self.running = tempfile.TemporaryDirectory(prefix="hostwatch-ci-"), []
        self.path = pathlib.Path(self.folder.name)
        return self

    def __exit__(self, kind, *_):
        ended = [name for name, process, _ in self.running if process.poll() is not None]
        for _, process, _ in self.running:
            process.send_signal(signal.SIGTERM)
        for name, process, log in self.running:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(8)
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
            process = subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                       **{"cwd": self.path, **options})
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

    def certificate(self):
        """Writes server.crt and server.key of this machine's address."""
        output("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=server", "-addext",
               "subjectAltName=IP:127.0.0.1", "-keyout", "server.key", "-out", "server.crt", cwd=self.path)

    def web(self, name, *command, ready="/-/ready", port=None, **options):
        """Starts what takes --web.listen-address and waits until it answers. Gives host and port."""
        at = f"127.0.0.1:{port or free_port()}"
        self.start(name, *command, f"--web.listen-address={at}", **options)
        wait(f"{name} answers", 60, lambda: fetch(f"http://{at}{ready}"))
        return at

    def prometheus(self, config, *flags):
        """Gives its address. The configuration is text, or what to add to scrapes of each second; its paths are relative to the
        directory of all servers."""
        if not isinstance(config, str):
            config = json.dumps({"global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"}, **config})
        path = self.write("prometheus.yml", config)
        return "http://" + self.web("prometheus", "prometheus", f"--config.file={path}", "--log.level=warn",
                                    f"--storage.tsdb.path={self.path / 'prometheus'}", *flags)

    def simulator(self, binary, scenario="", name="simulate"):
        """The provider. Gives its address."""
        at, flags = f"127.0.0.1:{free_port()}", [f"--scenario={self.write(f'{name}-scenario.toml', scenario)}"] if scenario else []
        self.start(name, binary, "simulate", f"--listen-address={at}", "--control", *flags)
        wait("the simulator answers", 20, lambda: fetch(f"http://{at}/_sim/state"))
        return f"http://{at}"

    def demo(self, binary):
        """The demo in an empty home, as a stranger runs it. Gives host and port, its log and its home."""
        home = self.path / "home"
        (home / "tmp").mkdir(parents=True)
        at = self.web("demo", binary, "demo", cwd=home, env={"HOME": str(home), "TMPDIR": str(home / "tmp"), "PATH": os.environ["PATH"]})
        return at, self.path / "demo.log", home

    def configured(self, provider, name="hostwatch", smtp=None, more="", schedule="", keys=""):
        """A configuration with everything polled every 2 s. Gives its path."""
        if smtp:
            more = f'[email]\nsmtp_url = "smtp://127.0.0.1:{smtp}"\nfrom = "h@example.com"\nto = ["you@example.com"]\n{more}'
        values = {name.removeprefix("main."): secret for name, secret in SECRETS.items()} | {
            "base_url": provider, "panel_url": provider, "billing_username": "billing-user", "time_zone": "Europe/Moscow",
            "currency": "RUB", "vm_memory_unit": "MB"}
        quick = "".join(f'{name} = "*/2 * * * * *"\n' for name in ("vms", "containers", "expected_balance"))
        return self.write(f"{name}.toml", "[accounts.main]\n" + "".join(f'{key} = "{text}"\n' for key, text in values.items()) + f"""
{keys}container_states = {{ 0 = "ENABLED", 1 = "DISABLED_BY_SERVICE", 2 = "DISABLED_BY_ADMIN", 3 = "DISABLED_BY_QUOTA" }}
[schedule]
{quick}ssh_keys = "*/30 * * * * *"
{schedule}[limits]
billing_per_minute = 1000
hosting_per_minute = 100000
[store]
path = "{self.path / name}.db"
{more}""")

    def daemon(self, binary, provider, name="hostwatch", port=None, **keys):
        """`hostwatch run`. Gives host and port."""
        return self.web(name, binary, "run", f"--config.file={self.configured(provider, name, **keys)}", port=port)


def run(main, arguments=0):
    """Runs a check with so many paths as its arguments; says what failed in one line."""
    if arguments and len(sys.argv) != 1 + arguments:
        sys.exit(sys.modules["__main__"].__doc__)
    # So that a stop from outside ends the processes too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    try:
        main(*(pathlib.Path(path).resolve() for path in sys.argv[1:1 + arguments]))
    except Failed as failure:
        sys.exit(f"failed: {failure}")
