"""A headless Chromium, spoken to over a pipe in the DevTools protocol. Standard library only."""

import json
import os
import select
import subprocess
import tempfile
import time

from servers import Failed

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
         "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run", "--remote-debugging-pipe", "--force-color-profile=srgb"]


class Browser:
    """One browser with one tab. `complaints` is all that the console said and every request that left `origin`."""

    def __enter__(self):
        self.profile = tempfile.TemporaryDirectory(prefix="hostwatch-browser-", ignore_cleanup_errors=True)
        theirs_in, self.ours_out = os.pipe()
        self.ours_in, theirs_out = os.pipe()
        # The browser reads from descriptor 3 and writes to 4.
        command = ["bash", "-c", f'exec chromium "$@" 3<&{theirs_in} 4>&{theirs_out}', "bash", *FLAGS, f"--user-data-dir={self.profile.name}"]
        self.process = subprocess.Popen(command, pass_fds=(theirs_in, theirs_out), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, env={**os.environ, "HOME": self.profile.name})
        for pipe in (theirs_in, theirs_out):
            os.close(pipe)
        self.number, self.buffer, self.session, self.events = 0, b"", None, []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Audits"):
            self.ask(f"{domain}.enable")
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.profile.cleanup()

    def ask(self, method, **parameters):
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters} | ({"sessionId": self.session} if self.session else {})
        os.write(self.ours_out, json.dumps(request).encode() + b"\0")
        answer = self.until(lambda message: message.get("id") == request["id"])
        if "error" in answer:
            raise Failed(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def until(self, wanted):
        """The next message that is wanted; events are kept."""
        end = time.monotonic() + 30
        while True:
            while b"\0" not in self.buffer:
                ready, _, _ = select.select([self.ours_in], [], [], max(0, end - time.monotonic()))
                piece = os.read(self.ours_in, 1 << 20) if ready else b""
                if not piece:
                    raise Failed("the browser does not answer")
                self.buffer += piece
            text, self.buffer = self.buffer.split(b"\0", 1)
            message = json.loads(text)
            if "method" in message:
                self.events.append(message)
            if wanted(message):
                return message

    def show(self, width, height, scheme):
        """The window, and whether its owner likes it dark."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.ask("Emulation.setTouchEmulationEnabled", enabled=width < 600)
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, url):
        self.events = []
        if error := self.ask("Page.navigate", url=url).get("errorText"):
            raise Failed(f"{url}: {error}")
        if not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.until(lambda message: message.get("method") == "Page.loadEventFired")

    def evaluate(self, expression):
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise Failed(f"{answer['exceptionDetails']}")
        return answer["result"].get("value")

    def press_tab(self):
        for what in ("rawKeyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=what, key="Tab", code="Tab", windowsVirtualKeyCode=9)

    def complaints(self, origin):
        """Errors and warnings of the console, violations of the policy, issues, and requests that left the origin."""
        sorts = {
            "Log.entryAdded": lambda what: f"{what['entry']['level']}: {what['entry']['text']}",
            "Runtime.consoleAPICalled": lambda what: f"console.{what['type']}",
            "Runtime.exceptionThrown": lambda what: f"exception: {what['exceptionDetails']['text']}",
            "Audits.issueAdded": lambda what: f"issue: {what['issue']['code']}: {what['issue']['details']}",
            "Network.requestWillBeSent": lambda what: not what["request"]["url"].startswith((origin, "data:")) and
            f"asked elsewhere: {what['request']['url']}",
            "Network.loadingFailed": lambda what: f"not loaded: {what['errorText']} {what.get('blockedReason', '')}",
            "Network.responseReceived": lambda what: what["response"]["status"] >= 400 and f"{what['response']['status']}: {what['response']['url']}"}
        return [said for event in self.events if (sort := sorts.get(event["method"])) and (said := sort(event["params"]))]
