"""What the checks with a real Alertmanager share: a receiver of its messages, and rules that do not wait for long."""

import http.server
import json
import re
import threading

from servers import RULES, Wrong


class Receiver(http.server.ThreadingHTTPServer):
    """Keeps the alerts of every message, as (status, alert name, labels, annotations), and counts the messages."""

    def __init__(self):
        self.alerts = []
        self.messages = 0
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server_address[1]}/"

    def told(self, status, name):
        return [alert for alert in self.alerts if alert[:2] == (status, name)]

    def names(self):
        return {name for _, name, _, _ in self.alerts}

    def __exit__(self, *what):
        self.shutdown()
        super().__exit__(*what)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.messages += 1
        self.server.alerts += [(alert["status"], alert["labels"]["alertname"], alert["labels"], alert["annotations"])
                               for alert in message["alerts"]]
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


def expect(what, got, wanted):
    if got != wanted:
        raise Wrong(f"{what}: {got}, not {wanted}")


def replaced(text, changes):
    """The text with each change made, each in one place."""
    for old, new in changes:
        expect(f"{old!r} in a shipped file", text.count(old), 1)
        text = text.replace(old, new)
    return text


def impatient_rules(servers):
    """The rules as they are shipped, but `for` 2 s."""
    for path in sorted(RULES.glob("*.rules.yml")):
        text, changed = re.subn(r"(?m)^( +for:) \d+[mh]$", r"\1 2s", path.read_text())
        if "- alert:" in text:
            expect(f"alerts of {path.name} that wait", changed, text.count("- alert:"))
        yield servers.write(path.name, text)


def impatient_alertmanager(servers, receiver):
    """The configuration of Alertmanager as it is shipped, but with intervals of seconds. What inhibits has to be there
    before what it inhibits is sent, on a busy machine too: a group's first message waits for longer than two polls."""
    return servers.write("alertmanager.yml", replaced((RULES / "alertmanager.yml").read_text(), [
        ("http://127.0.0.1:9099/", receiver.url), ("group_wait: 30s", "group_wait: 6s"),
        ("group_interval: 5m", "group_interval: 3s")]))
