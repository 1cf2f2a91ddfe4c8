#!/usr/bin/env python3
"""The picture that README.md begins with: `hostwatch demo` in a terminal of 80 columns, as an SVG that moves.

    docs/screenshots/demo.py BINARY            # runs the demo, writes docs/images/demo.svg
    docs/screenshots/demo.py BINARY --check    # runs it, and says whether the picture still shows what it prints
    docs/screenshots/demo.py --check           # only whether the picture is what this script makes of its own words

The demo is real: it runs in a pseudo-terminal until its last mail, gets a Ctrl-C, and every line is kept with its second.
Ports become the same each time; dates, days and amounts are those of the day it was recorded, so a check looks past
numbers, days and months. The SVG has no script and loads nothing: CSS shows each line when its time has come. Who wants
no motion, and whatever draws no animation, gets all lines at once. Standard library only.
"""

import argparse
import fcntl
import html
import os
import pathlib
import pty
import re
import select
import signal
import struct
import sys
import tempfile
import termios
import time

PICTURE = pathlib.Path(__file__).resolve().parent.parent / "images/demo.svg"
COLUMNS, ROWS = 80, 48
ARGUMENTS = ["demo", "--log.level=warn"]
PROMPT = "$ hostwatch " + " ".join(ARGUMENTS)
LAST_MAIL, PATIENCE = re.compile(r"^mail \d+: \[RESOLVED\] No cut-off", re.M), 90
LARGEST_BYTES = 100 * 1024
# The picture goes so many times faster than the demo, and rests at the end before it begins again.
FASTER, REST = 2.5, 7.0
CHARACTER, LINE, FONT, MARGIN, BAR = 8.4, 19, 14, 18, 34

STYLE = """
svg { --page: #ffffff; --edge: #d0d7de; --bar: #f6f8fa; --text: #1f2328; --soft: #59636e; --prompt: #116329 }
@media (prefers-color-scheme: dark) {
  svg { --page: #0d1117; --edge: #30363d; --bar: #161b22; --text: #e6edf3; --soft: #9198a1; --prompt: #7ee787 }
}
text { font: %dpx ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; fill: var(--text); white-space: pre }
.soft { fill: var(--soft) } .prompt { fill: var(--prompt); font-weight: bold }
.clock { user-select: none }
""" % FONT


class Failed(Exception):
    pass


def record(binary):
    """What the demo prints: the second and the text of each line."""
    with tempfile.TemporaryDirectory() as home:
        process, terminal = pty.fork()
        if process == 0:
            os.chdir(home)
            os.execve(binary, ["hostwatch", *ARGUMENTS], {"HOME": home, "TMPDIR": home, "TERM": "xterm-256color"})
        try:
            fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
            return list(listen(process, terminal))
        finally:
            os.close(terminal)


def listen(process, terminal):
    """Reads until the demo has ended; ends it after its last mail."""
    begun, said, waiting, interrupted = time.monotonic(), "", b"", False
    while True:
        passed = time.monotonic() - begun
        if passed > PATIENCE:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            raise Failed(f"the demo did not come to its end within {PATIENCE} s:\n{said}")
        ready, _, _ = select.select([terminal], [], [], 1)
        try:
            # The end of a pseudo-terminal is an error.
            piece = os.read(terminal, 1 << 16) if ready else None
        except OSError:
            break
        *lines, waiting = (waiting + (piece or b"")).split(b"\n")
        for line in lines:
            text = line.decode().rstrip("\r")
            said += text + "\n"
            yield passed, text
        if LAST_MAIL.search(said) and not ready and not interrupted:
            # Quiet for a second after the last mail: its address is there, too.
            os.write(terminal, b"\x03")
            interrupted = True
    _, status = os.waitpid(process, 0)
    if not interrupted or status != 0:
        raise Failed(f"the demo ended by itself, or not well ({status}):\n{said}")


def as_shown(lines):
    """With the same ports each time, and as rows of the terminal: a long line goes on in the next."""
    text = "\n".join(line for _, line in lines)
    ports = {}
    for name, port in (("status page", "10245"), ("mails", "10246")):
        found = re.search(rf"(?m)^ +{name} +http://[^:]+:(\d+)/$", text)
        if not found:
            raise Failed(f"the demo does not say where its {name} can be seen:\n{text}")
        ports[found[1]] = port
    rows = [(0, PROMPT)]
    for second, line in lines:
        line = re.sub(r"\x1b\[[0-9;]*m", "", line)
        line = re.sub(r"(?<=:)\d+\b|(?<= -L )\d+(?=:)", lambda port: ports.get(port[0], port[0]), line)
        rows += [(round(second), line[at : at + COLUMNS]) for at in range(0, max(len(line), 1), COLUMNS)]
    return rows


def animation(second, total, name):
    """Keyframes that show something from its second on."""
    part = 100 * second / FASTER / total
    return f"@keyframes {name} {{ 0% {{ visibility: hidden }} {part:.3f}%, to {{ visibility: visible }} }}"


def render(rows):
    last = rows[-1][0]
    total = last / FASTER + REST
    seconds = sorted({second for second, _ in rows if second > 0})
    width = round(COLUMNS * CHARACTER + 2 * MARGIN)
    height = BAR + len(rows) * LINE + 2 * MARGIN
    moving = [animation(second, total, f"at{second}") for second in seconds]
    moving += [f".s{second} {{ animation: at{second} {total:.2f}s step-end infinite }}" for second in seconds]
    # As many steps as seconds, on the way to the last one; then it rests.
    end = f"transform: translateY(-{last * LINE}px)"
    moving.append(f"@keyframes clock {{ 0% {{ transform: none }} {100 * last / FASTER / total:.3f}%, to {{ {end} }} }}")
    moving.append(f".clock {{ animation: clock {total:.2f}s steps({last}) infinite }}")
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
           'aria-labelledby="title">',
           f'<title id="title">hostwatch demo in a terminal: {last} seconds, {FASTER:g} times as fast</title>',
           f"<style>{STYLE}.clock {{ {end} }}\n@media (prefers-reduced-motion: no-preference) {{", *moving, "}</style>",
           f'<rect x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="8" style="fill: var(--page); stroke: var(--edge)"/>',
           f'<path d="M1 {BAR} V9 a8 8 0 0 1 8 -8 H{width - 9} a8 8 0 0 1 8 8 V{BAR} Z" style="fill: var(--bar)"/>',
           f'<path d="M1 {BAR}.5 H{width - 1}" style="stroke: var(--edge)"/>',
           f'<text class="soft" x="{MARGIN}" y="22">hostwatch demo, {FASTER:g} times as fast</text>',
           clock(last, width)]
    for number, (second, text) in enumerate(rows):
        if text.strip():
            out.append(row(number, second, text))
    return "\n".join(out) + "\n</svg>\n"


def clock(last, width):
    """The second of the demo, at the right end of the bar: a strip of numbers that moves behind a window."""
    x = width - MARGIN
    numbers = "".join(f'<text class="soft" x="{x}" y="{22 + LINE * second}" text-anchor="end">{second} s</text>'
                      for second in range(last + 1))
    return (f'<svg x="0" y="6" width="{width}" height="{LINE + 4}" viewBox="0 6 {width} {LINE + 4}" aria-hidden="true">'
            f'<g class="clock">{numbers}</g></svg>')


def row(number, second, text):
    """One row. Its length is given, so that columns stand below each other whatever the font."""
    indent = len(text) - len(text.lstrip())
    text = text.strip()
    x, y = MARGIN + indent * CHARACTER, BAR + MARGIN + (number + 1) * LINE - 5
    kind = "prompt" if number == 0 else f"s{second}"
    return (f'<text class="{kind}" data-at="{second}" data-row="{number}" x="{x:g}" y="{y}" '
            f'textLength="{len(text) * CHARACTER:g}">{html.escape(text)}</text>')


def kept(picture):
    """The rows that a picture shows."""
    found = re.findall(r'data-at="(\d+)" data-row="(\d+)" x="([\d.]+)"[^>]*>([^<]*)</text>', picture)
    rows = {int(number): (int(second), " " * round((float(x) - MARGIN) / CHARACTER) + html.unescape(text))
            for second, number, x, text in found}
    if not rows:
        raise Failed(f"{PICTURE.name} has no rows")
    return [rows.get(number, (0, "")) for number in range(max(rows) + 1)]


def masked(rows):
    """Without what differs from day to day and from hour to hour."""
    days = r"\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\b"
    masked = (re.sub(r"\d+", "0", re.sub(days, "Day", text)).rstrip() for _, text in rows)
    # When to pay is a matter of the hour: the last safe day is tomorrow's, today's or past.
    return [re.sub(r" RUB (by Day 0 Day|today|now)\b", " RUB by a day", text) for text in masked]


def check(recorded):
    there = PICTURE.read_text()
    rows = kept(there)
    if render(rows) != there:
        raise Failed(f"{PICTURE.name} is not what this script makes of its words: record it again")
    if recorded is None:
        return
    shown, now = masked(rows), masked(recorded)
    if shown != now:
        differ = [f"  picture: {a}\n  demo:    {b}" for a, b in zip(shown, now) if a != b]
        raise Failed(f"{PICTURE.name}: {len(shown)} rows, the demo printed {len(now)}; record it again\n" + "\n".join(differ))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", nargs="?", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if not options.binary and not options.check:
        parser.error("BINARY is missing")
    rows = as_shown(list(record(options.binary.resolve()))) if options.binary else None
    if options.check:
        check(rows)
        return print(f"{PICTURE.name} shows what the demo prints" if rows else f"{PICTURE.name} is as it was made")
    made = render(rows)
    if len(made.encode()) > LARGEST_BYTES:
        raise Failed(f"{PICTURE.name} would have {len(made.encode())} bytes")
    PICTURE.write_text(made)
    check(rows)
    print(f"{PICTURE.name}: {len(made.encode())} bytes, {len(rows)} rows, {rows[-1][0]} s")


if __name__ == "__main__":
    try:
        main()
    except (Failed, OSError) as failed:
        sys.exit(f"{failed}")
