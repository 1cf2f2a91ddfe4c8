"""The provider of the stories: `hostwatch simulate` with two VMs, which shares no code with the daemon."""
import json
import re
import subprocess
import time
import urllib.request

READ = ("/api/cvds/v1/vms/", "/api/v1/expected_balance/")


class Provider:
    def __init__(self, binary):
        self.process = subprocess.Popen(
            [binary, "simulate", "--listen-address=127.0.0.1:0", "--control", "--vms=2", "--containers=0", "--sites=0"],
            stderr=subprocess.PIPE, text=True)
        self.url = "http://" + re.search(r"127\.0\.0\.1:\d+", self.process.stderr.readline())[0]

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stderr.close()

    def control(self, method, command, **fields):
        data = json.dumps(fields).encode() if fields else None
        with urllib.request.urlopen(urllib.request.Request(f"{self.url}/_sim/{command}", data, method=method), timeout=30) as answer:
            return answer.read().decode()

    def becomes(self, vm, state):
        self.control("POST", "set_vm", vm=vm, state=state)

    def lasts(self, days):
        self.control("POST", "last_days", days=days)

    def read_again(self, times, seconds):
        """Waits until everything was read so often from now on; false where it was not."""
        self.control("DELETE", "log")
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            log = self.control("GET", "log")
            if all(log.count(path) >= times for path in READ):
                return True
            time.sleep(0.05)
        return False
