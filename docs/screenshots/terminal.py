#!/usr/bin/env python3
"""A picture of `hostwatch status` in a terminal of 96 columns, into docs/images.

    docs/screenshots/terminal.py target/release/hostwatch

Simulator and daemon run beside each other for a moment; its colours become HTML, and Chromium takes the
picture. Needs python3 and Chromium (CHROMIUM names another binary); no network.
"""

import html
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from contextlib import closing

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / ".ci"))

from servers import MailServer, Servers, control, fetch, run, wait  # noqa: E402

COLUMNS = 96
COLOURS = {"31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "34": "#79c0ff", "36": "#56d4dd", "90": "#8b949e"}
STYLE = """body { margin: 0; background: #0d1117; }
pre { margin: 0; padding: 16px 20px; color: #e6edf3; font: 14px/1.165 'DejaVu Sans Mono', monospace; }"""


def page(command, text):
    """A terminal's text with its colours, as HTML."""
    out, opened = [f"<b>$ hostwatch {html.escape(command)}</b>\n"], 0
    for part in re.split(r"(\x1b\[[0-9;]*m)", text):
        found = re.fullmatch(r"\x1b\[([0-9;]*)m", part)
        if not found:
            out.append(html.escape(part))
            continue
        out.append("</span>" * opened)
        opened = 0
        codes = [code for code in found[1].split(";") if code not in ("", "0")]
        if codes:
            style = ["font-weight: bold" if code == "1" else "opacity: .7" if code == "2" else
                     f"color: {COLOURS.get(code, 'inherit')}" for code in codes]
            out.append(f'<span style="{"; ".join(style)}">')
            opened = 1
    return f"<!doctype html><meta charset=utf-8><style>{STYLE}</style><pre>{''.join(out)}{'</span>' * opened}</pre>"


def shoot(name, command, text):
    chromium = os.environ.get("CHROMIUM", "chromium")
    height = 32 + round((text.count("\n") + 1) * 14 * 1.165)
    width = 40 + round((COLUMNS + 2) * 8.43)
    with tempfile.TemporaryDirectory() as scratch:
        source = pathlib.Path(scratch, "page.html")
        source.write_text(page(command, text))
        picture = ROOT / f"docs/images/{name}.png"
        subprocess.run([chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
                        "--no-first-run", "--hide-scrollbars", f"--user-data-dir={scratch}/profile",
                        f"--window-size={width},{height}", f"--screenshot={picture}", source.as_uri()],
                       check=True, timeout=60, stderr=subprocess.DEVNULL)
        print(picture.relative_to(ROOT), picture.stat().st_size, "bytes")


def main():
    binary = pathlib.Path(sys.argv[1]).resolve()
    with closing(MailServer()) as mail, Servers() as servers:
        provider = servers.simulator(binary)
        url = "http://" + servers.daemon(binary, provider, smtp=mail.port)
        vm = re.search(r'hosting_vm_info\{[^}]*vm="(\d+)"', fetch(f"{url}/metrics"))[1]
        control(provider, "set_vm", vm=int(vm), state="error")
        control(provider, "last_days", days=12)
        wait("the error to be seen", 90, lambda: "in error" in fetch(f"{url}/api/v1/status"))
        wait("the cut-off's incident", 90, lambda: "main/disconnect/account" in fetch(f"{url}/api/v1/status"))
        config = next(servers.path.glob("**/*.toml"))
        done = subprocess.run([binary, "status", f"--config.file={config}", "--color=always"], text=True,
                              stdout=subprocess.PIPE, env={**os.environ, "COLUMNS": str(COLUMNS)}, timeout=60)
        shoot("terminal-status", "status", done.stdout)


run(main)
