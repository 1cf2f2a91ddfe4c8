"""What was mailed, held against what was answered and what was true. Written from the contract alone: it sees the
provider's history and the mails received, and asks no code of the program for its opinion."""
import bisect
import collections
import datetime

import amounts
import resources
from ladder import Ladder
from provider import PATIENCE
from world import DAY, MINUTE

UTC = datetime.timezone.utc
# "Until each collector concerned was tried once, at most 2 min."
LOOKS = 2 * MINUTE
# Mails are dated in whole seconds, and so are the provider's answers, which decide where the clock was set.
DATED = 2


class Verdict:
    def __init__(self):
        self.counts, self.complaints = {}, {}

    def count(self, what, number=1):
        self.counts[what] = self.counts.get(what, 0) + number

    def wrong(self, what, text):
        self.complaints.setdefault(what, []).append(text)


def when(moment):
    return datetime.datetime.fromtimestamp(moment, UTC).strftime("%F %H:%M:%S")


def judge(lane):
    verdict = Verdict()
    for what, number in [("steps", len(lane.steps)), ("requests answered", lane.provider.requests),
                         ("mails received", len(lane.mail_server.mails)), *lane.counts.items()]:
        verdict.count(what, number)
    chats = [mail for mail in lane.mail_server.mails if mail.is_chat]
    verdict.count("of them in chats", len(chats))
    verdict.count("messages in chats that were edited", lane.telegram.edits)
    for moment, to, text in lane.telegram.unkept:
        verdict.wrong("sent before it was kept", f"{to} {when(moment)}: {text!r}")
    for moment, to in lane.telegram.hasty:
        verdict.wrong("sent before the time was over", f"{to} {when(moment)}")
    for mail in chats:
        if mail.text.count("\n") > 5 or len(mail.text.encode("utf-16-le")) > 2 * 4096:
            verdict.wrong("too long for a chat", f"{mail.to} {when(mail.at)}: {mail.text!r}")
    by_account = {account.name: [] for account in lane.accounts}
    for mail in lane.mail_server.mails:
        for key, event in mail.news:
            by_account[key.split("/")[0]].append((mail, key, event))
    for account in lane.accounts:
        one = Judge(lane, account, by_account[account.name], verdict)
        one.nothing_twice()
        one.in_order()
        one.cut_off()
        one.heard_in_time()
        resources.judge(one)
    return verdict


class Acts:
    """What people did about one incident."""

    def __init__(self, acts):
        self.acked = [act.at for act in acts if act.what == "ack"]
        self.silent = [(act.at, act.until) for act in acts if act.what == "silence"]

    def acknowledges(self, now, ladder=None):
        """Of a disconnect it ends with the next rung, of an overdue account after three days."""
        return any(at < now and (ladder is None or (now - at < 3 * DAY and (ladder.last_rung or 0) < at))
                   for at in self.acked)

    def silences(self, now):
        return any(at < now < until for at, until in self.silent)

    def lifted(self, since, until):
        """When the last silence or acknowledgement ended within that time, if one did."""
        ends = [end for _, end in self.silent] + [at + 3 * DAY for at in self.acked]
        return max((end for end in ends if since < end <= until), default=None)


class Judge:
    """Of one account."""

    def __init__(self, lane, account, told, verdict):
        self.lane, self.account, self.verdict, self.told = lane, account, verdict, told
        self.steps, self.ends, self.weather = lane.steps, lane.ends, lane.weather
        self.by_step = {}
        for mail, key, event in told:
            self.by_step.setdefault((key, self.step_of(mail.date)), []).append((mail, event))
        mine = set(account.to)
        self.refused = {(to, self.step_of(at)) for at, to in lane.mail_server.refused if to in mine}
        self.arrived = {(mail.to, mail.name) for mail, _, _ in told if not mail.reply_lost}
        # By step: did a cut-off explain at its end what is off, and was the report good?
        self.overdue = []

    def wrong(self, what, moment, text):
        self.verdict.wrong(what, f"{self.account.name} {when(moment)}: {text}")

    def step_of(self, moment):
        return bisect.bisect_right(self.steps, moment + 1) - 1

    def answers(self, group):
        found = {}
        for answer in self.lane.provider.answers[self.account.name]:
            if answer.group == group:
                found.setdefault(self.step_of(answer.at), []).append(answer)
        return found

    # Delivery

    def is_hindered(self, to, step):
        """Mails to them did not get through in this step, or are not tried again yet: "each 30 min"."""
        if self.turned_away(to, step):
            return True
        return step > 0 and self.turned_away(to, step - 1) and self.ends[step] - self.ends[step - 1] < 31 * MINUTE

    def turned_away(self, to, step):
        return (self.weather.of(to, self.steps[step]) in ("defers", "refuses", "silent", "down", "busy")
                or (to, step) in self.refused or self.steps[step] >= self.weather.dead.get(to, float("inf")))

    def nothing_twice(self):
        """Neither a mail nor, in another mail, its news: nothing changes within a step."""
        first, copies = {}, collections.Counter()
        for mail, key, event in self.told:
            other = first.setdefault((mail.to, key, mail.name), mail)
            copies[mail.to, key, mail.name] += 1
            # "After a lost reply the same bytes are tried again, five times at most."
            if other is not mail and (other.digest != mail.digest or not other.reply_lost or copies[mail.to, key, mail.name] > 6):
                self.wrong("twice", mail.at, f"{key} {event} to {mail.to}: {mail.subject}")
            other = first.setdefault((mail.to, key, event, self.step_of(mail.date)), mail)
            # The rest of a mail that was outdated in part goes once more.
            if other.name != mail.name and not other.reply_lost:
                self.wrong("twice", mail.at, f"{key} {event} to {mail.to} in another mail: {mail.subject}")

    def in_order(self):
        """What was decided first arrives first, for each recipient and incident."""
        last = {}
        for mail, key, event in sorted(self.told, key=lambda one: one[0].at):
            before = last.get((mail.to, key))
            if before is not None and mail.date < before.date and mail.digest != before.digest:
                self.wrong("order", mail.at, f"{key} {event} of {when(mail.date)} came after news of {when(before.date)}")
            last[mail.to, key] = mail

    # The cut-off

    def cut_off(self):
        """To each recipient what it is owed: "an incident is what the readings prove; told is a row for each recipient"."""
        key = f"{self.account.name}/disconnect/account"
        self.reads, self.coming = self.answers("report"), None
        for answers in self.reads.values():
            for answer in answers:
                if not self.is_asked_again(answer):
                    self.day_asked_for(answer)
        for number, to in enumerate(self.account.to):
            ladder = Ladder(self.account)
            for step, moment in enumerate(self.steps):
                best = Walk(self, key, to, step, ladder, False)
                if best.wrong and (ladder.waits or ladder.lost):
                    # What waited for the mail server may leave before it is looked.
                    early = Walk(self, key, to, step, ladder, True)
                    best = min([best, early], key=lambda walk: len(walk.wrong))
                for what, at, text in best.wrong:
                    self.wrong(what, at, text)
                for what, times in best.counts.items():
                    self.verdict.count(what, times)
                ladder = best.ladder
                if number == 0:
                    self.overdue.append((ladder.explains(moment), ladder.failed))
                    # "A cut-off above the top rung is not exported"; "an overdue account as kind `overdue` beside `disconnect`".
                    self.shown(key, step, ladder.open and ladder.is_near(self.ends[step]))
                    self.shown(key.replace("disconnect", "overdue"), step, ladder.open and ladder.is_overdue(self.ends[step]))

    def shown(self, key, step, is_open):
        """Rules alert by what the metrics show: the same problems as mails."""
        if is_open != (key in self.lane.open[step]):
            self.wrong("shown otherwise than told", self.steps[step], f"{key} is {'' if is_open else 'not '}open")

    def acts(self, key):
        return Acts([act for act in self.lane.acts if act.pattern in (key, key.rsplit("/", 1)[0] + "/*")])

    def day_asked_for(self, answer):
        """Today, the horizon and a day, in the account's zone; half as many while a 404 may have meant that the day is too far,
        or after an answer that took longer than a request may."""
        refused = [one.at for one in self.lane.provider.answers[self.account.name]
                   if one.trouble == "missing" or (one.group == "report" and one.came - one.at > PATIENCE)]
        if answer.trouble is None and not any(0 <= answer.at - at < DAY for at in refused):
            zone = self.account.zone
            today = datetime.datetime.fromtimestamp(answer.at, zone).date()
            right = datetime.datetime.combine(today + datetime.timedelta(days=91), datetime.time(), zone).timestamp()
            if answer.content.until < right:
                self.wrong("asked for another day", answer.at, f"until {when(answer.content.until)}")

    def is_asked_again(self, answer):
        """After a sleep it learns by the first answer which day it is."""
        step = self.step_of(answer.at)
        if answer.content is None:
            return False
        return any(other.at > answer.at and other.content is not None and other.content.until > answer.content.until
                   for other in self.reads.get(step, []))

    def had_then(self, mail, ladder):
        """The reports that a mail can rest on. One that was asked for as of the day before is followed by another: "`days`
        beyond the report's date are absent" until that has arrived; and after two minutes it speaks of what it knew.
        A report takes a moment to be read."""
        step = self.step_of(mail.date)
        reads = self.reads.get(step, [])
        # A mail's date has no fractions.
        if self.coming and self.coming.content and self.coming.came < mail.date + 1:
            return [ladder.last, self.coming.content]
        last = next((read for read in reads if read.content is ladder.last), None)
        if last is None or last.came <= mail.date - 1:
            return [ladder.last]
        had = [read.content for read in reads if self.is_asked_again(read) and read.came < mail.date + DATED]
        if mail.date + 1 >= self.steps[step] + LOOKS and ladder.last_before is not None:
            had.append(ladder.last_before)
        return had + [ladder.last] * (last.came < mail.date + DATED)

    def heard_in_time(self):
        """By the true story alone: who was cut off was told before the last day on which a payment arrives was over,
        if any report knew it by then, and again once it had come."""
        account, key = self.account, f"{self.account.name}/disconnect/account"
        offs = account.offs + ([(account.off_at, account.end)] if account.off_at else [])
        arrived = [mail for mail, which, _ in self.told if which == key]
        # "During poll failures … past a date … "may be cut off""; "`deletion:N` takes the place of that day's mail"; "a balance
        # at or below 0 with the date ahead is told once as `balance-used-up`", where the provider names no date and the next
        # charge has to stand in for it.
        says_so = [mail for mail, which, event in self.told if which == key and (
            "OVERDUE" in mail.subject or "Cut-off was due" in mail.subject or event.startswith("deletion:")
            or (event == "balance-used-up" and not account.names_dates))]
        reports = [answer for answer in self.lane.provider.answers[account.name]
                   if answer.group == "report" and answer.trouble is None]
        # "A silence holds back beginnings and reminders, of a disconnect only where its pattern names that kind."
        acts = self.acts(key)

        def cannot_hear(step):
            return acts.silences(self.steps[step]) or all(self.is_hindered(to, step) for to in account.to)

        for cut_off, ended in offs:
            if cut_off >= self.steps[-1]:
                continue
            self.verdict.count("times an account was cut off")
            safe = self.safe_until(cut_off)
            dry = cut_off - account.grace
            knew = [answer.at for answer in reports if answer.at < safe and (
                answer.content.cut_off == cut_off or (not account.names_dates and dry in [
                    moment for moment, _, left in answer.content.moments() if left <= 0][:1]))]
            known = [at for at in knew if cut_off - at <= 14 * DAY]
            hindered = all(cannot_hear(step) for step, moment in enumerate(self.steps)
                           if known and known[0] <= moment < safe)
            if known and not hindered:
                self.verdict.count("of them known in time")
                if not any(mail.at < safe and mail.at > cut_off - 20 * DAY for mail in arrived):
                    self.wrong("not heard in time", cut_off, f"known since {when(known[0])}, safe until {when(safe)}")
            after = [step for step, moment in enumerate(self.steps) if cut_off < moment < min(ended, cut_off + 4 * DAY)]
            after = [step for step in after if not cannot_hear(step)]
            if not account.names_dates:
                # It was overdue from the charge on, as nobody knows of a grace: "an ack stops reminders; … of an overdue
                # account after 3 days".
                after = [step for step in after
                         if not any(at < self.steps[step] < at + 3 * DAY for at in acts.acked)]
            if len(after) > 2 and not any(cut_off <= mail.date < ended for mail in says_so):
                self.wrong("not heard once cut off", cut_off, f"off until {when(ended)}")

    def safe_until(self, cut_off):
        """The midnight after the last safe day."""
        last = amounts.last_safe_day(cut_off, self.account.lead, self.account.zone)
        return amounts.begins(last + datetime.timedelta(days=1), self.account.zone)


class Walk:
    """One step of one recipient: what is due of the cut-off, and what came. `early`: what waited left before it was looked."""

    def __init__(self, of, key, to, step, ladder, early):
        self.of, self.to, self.step, self.ladder = of, to, step, ladder.copy()
        self.acts, self.expected, self.wrong, self.counts = of.acts(key), set(), [], {}
        self.found, names = [], set()
        for mail, event in of.by_step.get((key, step), []):
            if mail.to == to and mail.name not in names:
                self.found.append((mail, event))
                names.add(mail.name)
        self.walk(early)

    def walk(self, early):
        of, step, found = self.of, self.step, self.found
        moment = last = of.steps[step]
        reads = [answer for answer in of.reads.get(step, []) if not of.is_asked_again(answer)]
        if early:
            came = reads[0].came if reads else moment + LOOKS
            of.coming = reads[0] if reads else None
            self.speak(moment, [(mail, event) for mail, event in found if mail.date < came + DATED], False)
            of.coming = None
        for answer in reads:
            if last <= moment + LOOKS < answer.came:
                # It may have spoken of what it knew before, and a report takes a moment to be read.
                before = [(mail, event) for mail, event in found if moment + LOOKS - 1 <= mail.date < answer.came + DATED]
                of.coming = answer
                self.speak(moment + LOOKS, before, False)
                of.coming = None
            last = answer.came
            self.ladder.read(answer.at, answer.trouble, answer.content)
            self.speak(answer.at, found, True)
        # "What is still wrong when it ends is owed then": time is looked at once a minute.
        lifted, end = self.acts.lifted(last, of.ends[step]), of.ends[step]
        if lifted:
            after = [(mail, event) for mail, event in found if lifted <= mail.date + 1]
            self.speak(end, after, end - lifted > 2 * MINUTE)
        for mail, event in found:
            if event not in self.expected:
                self.wrong.append(("told, and not due", moment, f"{event} to {self.to}: {mail.subject}"))

    def due(self, ladder, at):
        """"A silence holds back everything but ends and `deletion:N`"."""
        due, may = ladder.due(at, self.acts.acknowledges(at, ladder))
        if ladder.lost:
            # "What to pay, and every count of days, is of the moment at which the mail leaves": those bytes are outdated on
            # the next day, and the mail is made anew. "No event … twice, but after a lost reply".
            last = ladder.last_event
            again = f"overdue:{ladder.day(at)}" if last.startswith("overdue:") else last
            may = may | {again}
            # Made anew on a later day, that the account is off is this day's mail.
            due = [choice | ({again} if again == "rung:0" and min(choice).startswith("overdue:") else set()) for choice in due]
        if self.acts.silences(at):
            passes = ("deletion", "resolved", "was-down")
            due = [choice for choice in due if min(choice).split(":")[0] in passes]
            may = {event for event in may if event.split(":")[0] in passes}
        return due, may

    def speak(self, at, found, must):
        """What is due by then. Where it need not have come yet, the next look asks for it."""
        events, of = {event for _, event in found}, self.of
        due, may = self.due(self.ladder, at)
        hindered, paid = of.is_hindered(self.to, self.step), False
        for choice in due:
            came = choice & events - self.expected
            if came:
                told = min(came)
                self.take(at, found, told)
                paid = paid or told.startswith("paid")
            elif must and hindered:
                self.ladder.owed = self.ladder.waits = True
            elif must and not choice & self.expected:
                self.wrong.append(("not told", of.steps[self.step],
                                   f"{' or '.join(sorted(choice))} to {self.to}; told was {sorted(events)}"))
                self.ladder.took(at, min(choice))
                self.ladder.lost = False
        if paid:
            # That stood alone: what is due beside it, such as that the balance is used up by now, may come in the same step.
            self.speak(at, found, False)
        for event in sorted(may & events - self.expected):
            self.take(at, found, event)

    def take(self, at, found, event):
        mail = next(mail for mail, told in found if told == event)
        name = event.split(":")[0]
        self.expected.add(event)
        for what in (f"cut-off mails that were due: {name}", "mails whose sums and days were counted again"):
            self.counts[what] = self.counts.get(what, 0) + 1
        self.check(mail, event)
        self.ladder.took(at, event)
        self.ladder.lost = (self.to, mail.name) not in self.of.arrived

    def check(self, mail, event):
        of, ladder = self.of, self.ladder
        if event in ("resolved", "was-down"):
            reports = [read.content for read in of.reads.get(self.step, [])] + [ladder.last]
            wrong = amounts.check_end(mail, of.account, reports)
        else:
            wrong = amounts.check(mail, event, of.account, ladder, of.had_then(mail, ladder))
        self.wrong.extend(("sums and days", mail.date, f"{event}: {one}") for one in wrong)
