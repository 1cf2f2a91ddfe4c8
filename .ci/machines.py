"""Machines on which somebody follows README.md: one in a folder, and a Debian root into which a release is installed."""

import os
import pathlib
import re
import shutil
import subprocess

from alerting import expect, replaced
from servers import ROOT, Wrong, fetch, free_port, wait

SECRETS = {"main.hosting_token": "hosting-token", "main.vm_api_key": "vm-api-key",
           "main.billing_password": "billing-password"}
PACKAGED = "/etc/hostwatch"
START = "Five minutes to a real account"
# Any that is not root: the unit has one made for the service.
USER = 65534
CREDENTIALS = "/run/credentials/hostwatch.service"
STATE = "/var/lib/hostwatch"


def section(heading):
    return re.search(rf"(?ms)^## {heading}\n(.*?)^## ", (ROOT / "README.md").read_text())[1]


def blocks(heading):
    """The blocks of commands below a heading of README.md, each as its lines without what is said beside them."""
    found = re.findall(r"(?ms)^ *```\n(.*?)^ *```$", section(heading))
    return [[line.split(" #")[0].strip() for line in block.splitlines()] for block in found]


def block(heading, wanted):
    """The one that has a word."""
    found = [lines for lines in blocks(heading) if wanted in "\n".join(lines)]
    expect(f"blocks of README.md with `{wanted}`", len(found), 1)
    return found[0]


class Machine:
    """What the package makes of a machine, in a folder."""

    def __init__(self, servers, binary):
        self.servers = servers
        self.etc, self.state, self.bin = (servers.path / name for name in ("etc", "state", "bin"))
        for folder in (self.etc, self.state, self.bin):
            folder.mkdir()
        (self.etc / "credentials").mkdir(mode=0o700)
        (self.bin / "hostwatch").symlink_to(binary)
        self.config = self.etc / "hostwatch.toml"
        self.store = self.state / "hostwatch.db"
        self.environment = {"PATH": f"{self.bin}:{os.environ['PATH']}", "HOME": str(servers.path),
                            "HOSTWATCH_CONFIG_FILE": str(self.config)}

    def configure(self, provider, smtp_port):
        """README.md, steps 1 and 2."""
        example = re.search(r'`smtp_url = "(smtp://127\.0\.0\.1:25)"`', section(START))
        if not example:
            raise Wrong("README.md does not tell how to use a mail server on this machine")
        shipped = re.search(r'(?m)^smtp_url = "(.*)"$', (ROOT / "packaging/hostwatch.toml").read_text())[1]
        self.config.write_text(replaced((ROOT / "packaging/hostwatch.toml").read_text(), [
            ("https://api.example.com", provider), ("https://panel.example.com", provider),
            ('"customer"', '"billing-user"'), (shipped, example[1].replace(":25", f":{smtp_port}")),
            ("/var/lib/hostwatch/hostwatch.db", str(self.store))]))
        self.give_secrets()

    def give_secrets(self):
        for name, secret in SECRETS.items():
            (self.etc / "credentials" / name).write_text(f"{secret}\n")

    def follow(self, lines):
        """Runs commands as they stand in README.md, one shell for all."""
        script = "set -e\n" + "\n".join(f"echo '$ {line}'\n{line}" for line in lines).replace(PACKAGED, str(self.etc))
        said = subprocess.run(["bash", "-c", script], env=self.environment, cwd=self.servers.path, text=True, timeout=120,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        print(said.stdout)
        expect("the exit status of README.md's commands", said.returncode, 0)
        return said.stdout

    def hand_over(self, credentials):
        """What LoadCredential= of the unit does."""
        credentials.mkdir(mode=0o700, parents=True)
        for secret in (self.etc / "credentials").iterdir():
            (credentials / f"hostwatch_{secret.name}").write_text(secret.read_text())

    def start(self, port):
        """As the unit does."""
        credentials = self.servers.path / "credentials"
        self.hand_over(credentials)
        self.servers.start("hostwatch", self.bin / "hostwatch", "run", f"--config.file={self.config}",
                           f"--web.listen-address=127.0.0.1:{port}",
                           env={"PATH": os.environ["PATH"], "STATE_DIRECTORY": str(self.state),
                                "CREDENTIALS_DIRECTORY": str(credentials)})

    def run(self):
        port = free_port()
        self.start(port)
        self.url = f"http://127.0.0.1:{port}"
        wait("everything was polled once", 60, lambda: fetch(f"{self.url}/-/ready"))

    def a_vm(self):
        """The name of one, as the metrics have it."""
        return re.search(r'(?m)^hosting_vm_info\{.*\bname="([^"]+)"', fetch(f"{self.url}/metrics"))[1]

    def try_printed(self, texts):
        """Runs what mail and page tell to run, in the same shell that README.md's commands were run in."""

    def account_for_it(self):
        """What it took, where everything was done by README.md's commands."""

    def leave(self):
        """Takes away what was installed."""


class Installed(Machine):
    """A Debian root, a release's file in it, and what README.md tells to do with it."""

    def __init__(self, servers, file, root):
        self.servers, self.root, self.package = servers, root, file.suffix == ".deb"
        self.before = self.files()
        self.counted = {}
        self.etc, self.config = root / "etc/hostwatch", root / "etc/hostwatch/hostwatch.toml"
        self.store = pathlib.Path(STATE) / "hostwatch.db"
        self.download = root / "root/download"
        self.download.mkdir()
        for path in (file, file.parent / "SHA256SUMS"):
            shutil.copy(path, self.download)
        self.follow(block("Install", "sha256sum"), "install")
        self.follow(block("Install", "apt install" if self.package else "tar -xzf"), "install")

    def files(self):
        """Paths, but for what dpkg and apt keep about themselves."""
        said = subprocess.run(["find", ".", "-xdev", "(", "-path", "./proc", "-o", "-path", "./sys", "-o", "-path",
                               "./var/lib/dpkg", "-o", "-path", "./var/lib/apt", "-o", "-path", "./var/cache", "-o",
                               "-path", "./var/log", ")", "-prune", "-o", "-print"],
                              cwd=self.root, capture_output=True, text=True, check=True)
        return set(said.stdout.splitlines())

    def inside(self, script):
        """Runs it by the root's own shell, as root."""
        said = subprocess.run(["chroot", self.root, "/usr/bin/env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
                               "HOME=/root", "DEBIAN_FRONTEND=noninteractive", "bash", "-c",
                               f'sudo() {{ "$@"; }}\nset -e\ncd /root/download\n{script}'],
                              text=True, timeout=120, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        print(said.stdout)
        expect("the exit status of README.md's commands", said.returncode, 0)
        return said.stdout

    def follow(self, lines, step="try"):
        self.counted[step] = self.counted.get(step, 0) + len(lines)
        return self.inside("\n".join(f"echo '$ {line}'\n{line}" for line in lines))

    def give_secrets(self):
        """Each is pasted; the mail server here wants none."""
        lines = block(START, "cat > ")
        expect("how secrets are put away", [line for line in lines if not line.startswith("cat > ")], ["sudo -s", "umask 077"])
        pasted = [f"{line} <<<'{SECRETS[name]}'" for line in lines for name in SECRETS if line.endswith(f"/{name}")]
        expect("secrets that README.md names", len(pasted), len(SECRETS))
        self.inside("\n".join(["umask 077", *pasted]))
        self.counted["secrets"] = 2 + len(pasted)

    def start(self, port):
        """By the installed unit's own command; systemd itself is .ci/systemd's."""
        self.counted["start"] = len([line for line in block(START, "systemctl enable") if "enable" in line])
        unit = (self.root / "usr/lib/systemd/system/hostwatch.service").read_text()
        command = re.search(r"(?m)^ExecStart=(.*)$", unit)[1].split()
        self.hand_over(self.root / CREDENTIALS[1:])
        (self.root / STATE[1:]).mkdir(mode=0o700)
        for path in (self.root / STATE[1:], self.root / CREDENTIALS[1:], *(self.root / CREDENTIALS[1:]).iterdir()):
            os.chown(path, USER, USER)
        self.servers.start("hostwatch", "chroot", f"--userspec={USER}:{USER}", self.root, *command,
                           f"--web.listen-address=127.0.0.1:{port}",
                           env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "STATE_DIRECTORY": STATE, "CREDENTIALS_DIRECTORY": CREDENTIALS})

    def try_printed(self, texts):
        """Every command line in them, from /, with no secret and no variable: as root, and as the service's user."""
        lines = sorted({line for text in texts for line in re.findall(r"hostwatch (?:why|ack|outbox) [^<\n]+", text)})
        expect("sorts of commands that are printed", {line.split()[1] for line in lines} >= {"why", "ack"}, True)
        for who in ((), (f"--userspec={USER}:{USER}",)):
            for line in [*lines, "hostwatch status", "hostwatch incidents", "hostwatch outbox list"]:
                said = subprocess.run(["chroot", *who, self.root, "/usr/bin/env", "-i", "PATH=/usr/bin:/bin", "sh", "-c",
                                       f"cd / && {line}"], text=True, timeout=30, stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                print(f"$ {line}: {said.returncode}, {said.stdout.splitlines()[:1]}")
                # `status` tells by it how things stand: by 3, once the VM is acknowledged, of states without a name.
                worked = (1, 3) if line == "hostwatch status" else (0,)
                expect(f"{line!r} works, with {said.returncode}: {said.stdout}", said.returncode in worked, True)

    def account_for_it(self):
        steps = ", ".join(f"{step} {number}" for step, number in self.counted.items())
        print(f"README.md, from the {'package' if self.package else 'archive'} to the first mail: "
              f"{sum(self.counted.values())} commands ({steps}), and one file edited")

    def leave(self):
        self.inside("apt-get --quiet --quiet purge --yes hostwatch" if self.package else "hostwatch-*-linux/install.sh remove")
        for path in (self.download, self.root / "run/credentials", self.root / STATE[1:], self.etc):
            shutil.rmtree(path, ignore_errors=True)
        expect("what is left", sorted(self.files() - self.before), [])
