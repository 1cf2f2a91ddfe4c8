"""The daemon under test: its configuration, its start with and without the tracer, what it shows."""
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
STORE = "hostwatch.db"
CONFIG = """
[accounts.main]
base_url = "{url}"
panel_url = "{url}"
hosting_token = "hosting-token"
vm_api_key = "vm-api-key"
billing_username = "billing-user"
billing_password = "billing-password"
time_zone = "Europe/Moscow"
currency = "RUB"
[schedule]
vms = "* * * * * *"
expected_balance = "* * * * * *"
containers = ""
databases = ""
cron_jobs = ""
ips = ""
charges = ""
digest = ""
[limits]
vm_list_per_minute = 100000
vm_other_per_minute = 100000
hosting_per_minute = 100000
billing_per_minute = 100000
[alerts]
recover_polls = 1
[alerts.rules.vm_error]
to = ["a@example.com", "b@example.com"]
[email]
smtp_url = "smtp://127.0.0.1:{port}"
from = "hostwatch <hostwatch@example.com>"
to = ["ops@example.com"]
[store]
path = "{store}"
"""


class Daemon:
    """One start; `plan` is what the tracer is to do, None without it."""

    def __init__(self, binary, folder, provider, mail_server, plan=None):
        self.folder = folder
        self.store = os.path.join(folder, STORE)
        self.log = os.path.join(os.path.dirname(folder), "log")
        self.already = len(self.said(all_of_it=True))
        self.binary = binary
        config = self.config = os.path.join(os.path.dirname(folder), "hostwatch.toml")
        with open(config, "w") as file:
            file.write(CONFIG.format(url=provider.url, port=mail_server.port, store=self.store))
        command = [binary, "run", "--config.file", config, "--web.listen-address=127.0.0.1:0"]
        self.report = None
        if plan is None:
            with open(self.log, "ab") as log:
                self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
            return
        self.report = os.path.join(os.path.dirname(folder), "report")
        if os.path.exists(self.report):
            os.remove(self.report)
        plan = {"store": self.store, "mail_port": mail_server.port, "report": self.report, "log": self.log, **plan}
        with open(self.report + ".plan", "w") as file:
            json.dump(plan, file)
        tracer = [sys.executable, os.path.join(HERE, "tracer.py"), self.report + ".plan"]
        self.process = subprocess.Popen(tracer + command, cwd=folder)

    def ended(self):
        return self.process.poll() is not None

    def arm(self):
        self.process.send_signal(signal.SIGUSR1)

    def reported(self):
        with open(self.report) as file:
            return json.load(file)

    def traced_process(self):
        until = time.monotonic() + 20
        while not os.path.exists(self.report):
            if time.monotonic() > until or self.ended():
                raise RuntimeError("the tracer did not start")
            time.sleep(0.01)
        return self.reported()["process"]

    def signal(self, number):
        if not self.ended():
            try:
                os.kill(self.traced_process() if self.report else self.process.pid, number)
            except ProcessLookupError:
                """It ended by itself."""

    def kill(self):
        self.signal(signal.SIGKILL)
        self.process.wait(30)

    def stop(self):
        """The exit status after SIGTERM."""
        self.signal(signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.kill()
            return "did not stop within 30 s"
        return self.reported()["status"] if self.report else self.process.returncode

    def said(self, all_of_it=False):
        if not os.path.exists(self.log):
            return ""
        with open(self.log, errors="replace") as file:
            text = file.read()
        return text if all_of_it else text[self.already:]

    def address(self):
        found = re.search(r"(?:listening|address)\S*.*?127\.0\.0\.1:(\d+)", self.said())
        return int(found[1]) if found else None

    def outbox(self):
        """Recipients by what is owed to them, mails in flight; None where it does not answer."""
        port = self.address()
        if port is None:
            return None
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", "/metrics")
            page = connection.getresponse().read().decode()
            connection.close()
        except OSError:
            return None
        found = re.findall(r'^hostwatch_outbox_messages\{state="(\w+)"\} (\d+)', page, re.M)
        return {state: int(count) for state, count in found}

    def has_sent_all(self, count, seconds):
        """Waits until so many mails are known to be sent and nothing is owed; false where that does not come."""
        until = time.monotonic() + seconds
        while time.monotonic() < until and not self.ended():
            shown = self.outbox()
            if shown and not any(shown.values()) and self.sent() >= count:
                return True
            time.sleep(0.03)
        return False

    def sent(self):
        """The number of mails that are known to be sent."""
        asked = subprocess.run([self.binary, "outbox", "--json", "--config.file", self.config], capture_output=True)
        try:
            return len(json.loads(asked.stdout)["sent"])
        except (ValueError, KeyError):
            return -1
