"""The daemon of a lane: its configuration, its starts and ends, its metrics, and people's commands beside it."""
import asyncio
import collections
import http.client
import os
import re
import signal
import subprocess

from telegram import BOT

CONFIG = """
[defaults]
base_url = "{url}"
panel_url = "{url}"
billing_password = "secret"
[defaults.container_states]
0 = "ENABLED"
1 = "DISABLED_BY_SERVICE"
[schedule]
vms = "30 5 1 * *"
containers = "30 5 1 * *"
expected_balance = "30 5 1 * *"
charges = ""
databases = ""
cron_jobs = ""
ips = ""
digest = ""
[limits]
vm_list_per_minute = 100000
vm_other_per_minute = 100000
hosting_per_minute = 100000
billing_per_minute = 100000
[email]
smtp_url = "smtp://127.0.0.1:{port}"
from = "hostwatch <hostwatch@example.com>"
max_per_hour = 100000
[store]
path = "{folder}/hostwatch.db"
[metrics]
stale_after = "36h"
"""
CHAT = """
[telegram.{name}]
token = "{bot}"
chat_id = {number}
api_url = "http://127.0.0.1:{port}"
"""
ACCOUNT = """
[accounts.{name}]
vm_api_key = "{name}"
billing_username = "{name}"
{hosting}time_zone = "{zone}"
currency = "{currency}"
to = {to}
[accounts.{name}.billing]
lead_days = {lead}
deletion_days = {deletion}
"""


class Daemon:
    def __init__(self, binary, folder, clock, accounts, provider_port, mail_port, telegram_port):
        self.binary, self.folder, self.clock = binary, folder, clock
        self.config, self.log = os.path.join(folder, "hostwatch.toml"), os.path.join(folder, "log")
        self.process = None
        with open(self.config, "w") as file:
            file.write(CONFIG.format(url=f"http://127.0.0.1:{provider_port}", port=mail_port, folder=folder))
            for one in accounts:
                hosting = f'hosting_token = "{one.name}"\n' if one.has_hosting else ""
                to = "[" + ", ".join(f'"{to}"' for to in one.to) + "]"
                file.write(ACCOUNT.format(name=one.name, hosting=hosting, zone=one.zone_name, currency=one.currency,
                                          to=to, lead=one.lead, deletion=one.deletion))
                if f"telegram:{one.name}" in one.to:
                    file.write(CHAT.format(name=one.name, bot=BOT, number=int(one.name[1:]) + 1, port=telegram_port))

    def environment(self):
        return {**os.environ, **self.clock.environment}

    async def start(self):
        already = os.path.getsize(self.log) if os.path.exists(self.log) else 0
        command = [self.binary, "run", "--config.file", self.config, "--web.listen-address=127.0.0.1:0",
                   "--log.level=warn,hostwatch=info"]
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(command[:-1], stdout=log, stderr=log, cwd=self.folder,
                                            env=self.environment())
        for _ in range(1500):
            await asyncio.sleep(0.02)
            with open(self.log, errors="replace") as file:
                file.seek(already)
                found = re.search(r"(?:listening|address)\S*.*?127\.0\.0\.1:(\d+)", file.read())
            if found:
                self.port = int(found[1])
                return
            if self.process.poll() is not None:
                break
        raise RuntimeError(f"the daemon does not start: {self.tail()}")

    def tail(self):
        with open(self.log, errors="replace") as file:
            return "".join(file.readlines()[-15:])

    async def end(self, by=signal.SIGTERM):
        if self.process is None:
            return
        self.process.send_signal(by)
        loop = asyncio.get_running_loop()
        try:
            status = await loop.run_in_executor(None, self.process.wait, 30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise RuntimeError("the daemon did not stop within 30 s")
        self.process = None
        if by == signal.SIGTERM and status != 0:
            raise RuntimeError(f"the daemon ended with {status}: {self.tail()}")

    def rests(self):
        """Every thread of it sleeps: nothing that was begun is under way."""
        folder = f"/proc/{self.process.pid}/task"
        try:
            for task in os.listdir(folder):
                with open(f"{folder}/{task}/stat") as file:
                    if file.read().rsplit(")", 1)[1].split()[0] != "S":
                        return False
        except OSError:
            return False
        return True

    def metrics(self):
        """Polls by account and collector, mails by state, and the keys of open incidents."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("GET", "/metrics")
        page, polls = connection.getresponse().read().decode(), collections.Counter()
        connection.close()
        for account, collector, count in re.findall(
                r'^hostwatch_collector_polls_total\{account="(\w+)",collector="(\w+)",[^}]*\} (\d+)', page, re.M):
            polls[account, collector] += int(count)
        mails = dict(re.findall(r'^hostwatch_outbox_messages\{state="(\w+)"\} (\d+)', page, re.M))
        is_open = re.findall(r'^hostwatch_incident_open\{account="(\w+)",kind="(\w+)",resource="(\w+)",.*\} 1$', page, re.M)
        return polls, {state: int(count) for state, count in mails.items()}, {"/".join(key) for key in is_open}

    async def command(self, *words):
        process = await asyncio.create_subprocess_exec(
            self.binary, words[0], "--config.file", self.config, *words[1:], env=self.environment(),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        said, _ = await asyncio.wait_for(process.communicate(), 30)
        return process.returncode, said.decode(errors="replace")
