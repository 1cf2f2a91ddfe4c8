"""Runs the daemon beside a provider and a mail server of the proof's, and reads what it sends with other people's programs."""
import email
import json
import pathlib
import re
import subprocess
import sys
import urllib.request

import icalendar
from stories import World

BINARY, READERS = sys.argv[1], pathlib.Path(sys.argv[2])
PATIENCE = 60
ICAL_JS = """
const { default: ical } = await import(process.argv[1] + '/node_modules/ical.js/dist/ical.js')
let text = ''
for await (const part of process.stdin) text += part
const all = new ical.Component(ical.parse(text)).getAllSubcomponents('vevent')
console.log(JSON.stringify(all.map((one) => {
  const event = new ical.Event(one)
  const alarms = one.getAllSubcomponents('valarm').length
  return [event.uid, event.sequence, event.startDate.toString(), one.getFirstPropertyValue('status'), alarms]
})))
"""


def by_icalendar(text):
    calendar = icalendar.Calendar.from_ical(text)
    assert not calendar.errors, calendar.errors
    for event in calendar.walk("VEVENT"):
        assert not event.errors, event.errors
        start = event.decoded("DTSTART")
        start = start.strftime("%Y-%m-%dT%H:%M:%SZ") if hasattr(start, "hour") else start.isoformat()
        yield [str(event["UID"]), int(event["SEQUENCE"]), start, str(event["STATUS"]), len(event.walk("VALARM"))]


def by_ical_js(text):
    command = ["node", "--input-type=module", "-e", ICAL_JS, "--", str(READERS)]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def events(text):
    found = list(by_icalendar(text))
    if (READERS / "node_modules/ical.js").exists():
        assert by_ical_js(text) == found, (by_ical_js(text), found)
    return found


class Calendar:
    """Holds what it was given, by UID; the newest SEQUENCE counts."""

    def __init__(self):
        self.seen, self.held = {}, {}

    def take_in(self, text):
        for uid, sequence, start, status, alarms in events(text):
            if sequence < self.seen.get(uid, -1):
                continue
            self.seen[uid] = sequence
            self.held.pop(uid, None)
            if status != "CANCELLED":
                assert alarms == 2, alarms
                self.held[uid] = (sequence, start)


def of_mail(raw):
    parts = [part for part in email.message_from_bytes(raw).walk() if part.get_content_type() == "text/calendar"]
    assert len(parts) == 1, "a mail about a cut-off without its calendar file"
    return parts[0].get_payload(decode=True).decode()


def main():
    world, mine = World(), Calendar()
    world.provider.lasts(9)
    daemon = world.start(BINARY)
    try:
        steps = [(9, "rung:14"), (12, "paid:"), (5, "rung:7"), (400, "resolved")]
        last = 0
        for days, event in steps:
            world.provider.lasts(days)
            seen = lambda: [mail for mail in world.mail_server.received()
                            for news in mail.news if f"/disconnect/account {event}" in news]
            with world.mail_server.lock:
                assert world.mail_server.lock.wait_for(seen, PATIENCE), f"no {event}: {daemon.said()}"
            mine.take_in(of_mail(seen()[0].raw))
            feed = Calendar()
            with urllib.request.urlopen(f"http://127.0.0.1:{daemon.address()}/calendar.ics", timeout=10) as answer:
                assert answer.headers["Content-Type"] == "text/calendar; charset=utf-8", answer.headers
                feed.take_in(answer.read().decode())
            assert feed.held == mine.held, (feed.held, mine.held)
            print(f"{event} {len(mine.held)} events: {mine.held}")
            assert len(mine.held) == (0 if event == "resolved" else 2), mine.held
            numbers = {number for number, _ in mine.held.values()}
            assert len(numbers) <= 1 and all(number > last for number in numbers), (last, mine.held)
            last = max(numbers, default=last)
        assert re.fullmatch(r"main\.(cut-off|pay-by)@example\.com", next(iter(mine.seen))), mine.seen
    finally:
        daemon.kill()
        world.close()


main()
