"""A headless Chromium, spoken to over a pipe in the DevTools protocol. Standard library only."""

import base64
import json
import os
import select
import subprocess
import tempfile
import time

from servers import Failed

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
         "--disable-dev-shm-usage", "--disable-extensions", "--disable-sync", "--hide-scrollbars", "--metrics-recording-only",
         "--no-default-browser-check", "--no-first-run", "--remote-debugging-pipe", "--force-color-profile=srgb"]
PATIENCE = 30


class Browser:
    """One browser with one tab. `complaints` is all that the console said and every request that left `origin`."""

    def __enter__(self):
        self.profile = tempfile.TemporaryDirectory(prefix="hostwatch-browser-", ignore_cleanup_errors=True)
        theirs_in, self.ours_out = os.pipe()
        self.ours_in, theirs_out = os.pipe()
        # The browser reads from descriptor 3 and writes to 4.
        script = f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}'
        command = ["bash", "-c", script, "bash", "chromium", *FLAGS, f"--user-data-dir={self.profile.name}", "about:blank"]
        self.process = subprocess.Popen(command, pass_fds=(theirs_in, theirs_out), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        env={**os.environ, "HOME": self.profile.name})
        os.close(theirs_in)
        os.close(theirs_out)
        self.number, self.buffer, self.session, self.events = 0, b"", None, []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Audits"):
            self.ask(f"{domain}.enable")
        return self

    def __exit__(self, *_):
        try:
            self.session = None
            self.ask("Browser.close")
            self.process.wait(10)
        except (Failed, OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.ours_in)
        os.close(self.ours_out)
        self.profile.cleanup()

    def receive(self, end):
        """The next message, or Failed at the end of patience."""
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.ours_in], [], [], max(0, end - time.monotonic()))
            piece = os.read(self.ours_in, 1 << 20) if ready else b""
            if not piece:
                raise Failed("the browser does not answer")
            self.buffer += piece
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def ask(self, method, **parameters):
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.ours_out, json.dumps(request).encode() + b"\0")
        end = time.monotonic() + PATIENCE
        while True:
            message = self.receive(end)
            if message.get("id") == self.number:
                if "error" in message:
                    raise Failed(f"{method}: {message['error']['message']}")
                return message["result"]
            if "method" in message:
                self.events.append(message)

    def until(self, method):
        end = time.monotonic() + PATIENCE
        while not any(event["method"] == method for event in self.events):
            message = self.receive(end)
            if "method" in message:
                self.events.append(message)

    def show(self, width, height, scheme):
        """The window, and whether its owner likes it dark."""
        phone = width < 600
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        self.ask("Emulation.setTouchEmulationEnabled", enabled=phone)
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, url):
        self.events = []
        answer = self.ask("Page.navigate", url=url)
        if answer.get("errorText"):
            raise Failed(f"{url}: {answer['errorText']}")
        self.until("Page.loadEventFired")

    def evaluate(self, expression):
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise Failed(f"{answer['exceptionDetails']}")
        return answer["result"].get("value")

    def press_tab(self):
        key = {"key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9}
        self.ask("Input.dispatchKeyEvent", type="rawKeyDown", **key)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **key)

    def complaints(self, origin):
        """Errors and warnings of the console, violations of the policy, issues, and requests that left the origin."""
        said = []
        for event in self.events:
            method, what = event["method"], event["params"]
            if method == "Log.entryAdded":
                said.append(f"{what['entry']['level']}: {what['entry']['text']}")
            elif method == "Runtime.consoleAPICalled":
                said.append(f"console.{what['type']}")
            elif method == "Runtime.exceptionThrown":
                said.append(f"exception: {what['exceptionDetails']['text']}")
            elif method == "Audits.issueAdded":
                said.append(f"issue: {what['issue']['code']}: {what['issue']['details']}")
            elif method == "Network.requestWillBeSent":
                url = what["request"]["url"]
                if not url.startswith((origin, "data:")):
                    said.append(f"asked elsewhere: {url}")
            elif method == "Network.loadingFailed":
                said.append(f"not loaded: {what['errorText']} {what.get('blockedReason', '')}")
            elif method == "Network.responseReceived" and what["response"]["status"] >= 400:
                said.append(f"{what['response']['status']}: {what['response']['url']}")
        return said

    def screenshot(self, path, height=None):
        """The whole page, or its top."""
        size = self.ask("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], height or 20_000), "scale": 1}
        data = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)["data"]
        path.write_bytes(base64.b64decode(data))
