#!/usr/bin/env python3
"""Pictures of the status page, into docs/images: in a small desktop's window down to the money, on a phone to the problems.

    docs/screenshots/page.py target/release/hostwatch

Simulator and daemon run beside each other for a moment, and Chromium takes the pictures. Needs Debian's chromium; no network.
"""

import base64
import pathlib
import sys
from contextlib import closing

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / ".ci"))

from browser import Browser  # noqa: E402
from servers import MailServer, Servers, control, expect, fetch, run, scenario, wait  # noqa: E402

SHOWN = scenario(3, 2, 5, vms=["web-1", "db-1"], sites=["shop.example.com"])
PICTURES = (("page-light", (820, 900), "light", "#billing"), ("page-dark-phone", (390, 844), "dark", ".cards"))
LARGEST_BYTES = 200 * 1024


def main(binary):
    with closing(MailServer()) as mail, Servers() as servers, Browser() as browser:
        provider = servers.simulator(binary, SHOWN)
        url = "http://" + servers.daemon(binary, provider, smtp=mail.port, schedule='databases = ""\ncron_jobs = ""\n',
                                         keys='pay_link = "https://pay.example.com/"\n')
        wait("the site is read", 90, lambda: "shop.example.com" in fetch(f"{url}/api/v1/status?kind=site"))
        for command, fields in (("set_vm", {"vm": "web-1", "state": "error"}), ("last_days", {"days": 12}),
                                ("set_site", {"site": "shop.example.com", "state": "StoppedByQuota"})):
            control(provider, command, **fields)
        for kind in ("vm_error", "site_blocked", "disconnect"):
            wait(kind, 90, lambda kind=kind: f"main/{kind}/" in fetch(f"{url}/api/v1/status"))
        for name, (width, height), scheme, end in PICTURES:
            browser.show(width, height, scheme)
            browser.open(f"{url}/")
            high = browser.evaluate(f"document.querySelector('{end}').getBoundingClientRect().bottom + 24")
            clip = {"x": 0, "y": 0, "width": width, "height": high, "scale": 1}
            picture = browser.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)["data"]
            data = base64.b64decode(picture)
            expect(f"whether {name}.png has {len(data)} bytes at most", len(data) <= LARGEST_BYTES, True)
            (ROOT / f"docs/images/{name}.png").write_bytes(data)


run(main, arguments=1)
