"""What was mailed, held against what was answered and what was true. Written from the contract alone: it sees the
provider's history and the mails received, and asks no code of the program for its opinion."""
import bisect
import copy
import datetime

import amounts
import resources
from ladder import Ladder
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
        """Mails to them did not get through in this step."""
        return (self.weather.mail.at(self.steps[step]) in ("defers", "refuses", "silent")
                or (to, step) in self.refused or self.steps[step] >= self.weather.dead.get(to, float("inf")))

    def missing(self, step, arrived, decided_later):
        """Who should have had a mail of this step, and had it not: "newer news of an incident replaces older that was
        surely not delivered"."""
        missing = []
        for to in self.account.to:
            if to in arrived:
                continue
            free = step
            while free < len(self.steps) and self.is_hindered(to, free):
                free += 1
            if free < len(self.steps) and not any(step < later <= free for later in decided_later):
                missing.append(to)
        return missing

    def nothing_twice(self):
        """Neither a mail nor, in another mail, its news: nothing changes within a step."""
        first = {}
        for mail, key, event in self.told:
            other = first.setdefault((mail.to, key, mail.name), mail)
            if other is not mail and (other.digest != mail.digest or not other.reply_lost):
                self.wrong("twice", mail.at, f"{key} {event} to {mail.to}: {mail.subject}")
            other = first.setdefault((mail.to, key, event, self.step_of(mail.date)), mail)
            if other.name != mail.name:
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
        key = f"{self.account.name}/disconnect/account"
        self.reads = reads = self.answers("report")
        ladder = Ladder(self.account)
        self.decided, acts, self.coming = [], self.acts(key), None
        for step, moment in enumerate(self.steps):
            found = self.by_step.get((key, step), [])
            self.expected, last = set(), moment
            for answer in reads.get(step, []):
                if self.is_asked_again(answer):
                    continue
                if last <= moment + LOOKS < answer.came:
                    # It may have spoken of what it knew before, and a report takes a moment to be read.
                    before = [(mail, event) for mail, event in found
                              if moment + LOOKS - 1 <= mail.date < answer.came + DATED]
                    self.coming = answer
                    self.speak(step, moment + LOOKS, ladder, acts, before, False)
                    self.coming = None
                last = answer.came
                over = ladder.read(answer.at, answer.trouble, answer.content)
                self.day_asked_for(answer)
                if over:
                    self.decide(step, {"resolved", "was-down"}, found, ladder)
                else:
                    self.speak(step, answer.at, ladder, acts, found, True)
            # "When it ends the rung then due is mailed": time is looked at once a minute.
            lifted, end = acts.lifted(last, self.ends[step]), self.ends[step]
            if lifted:
                after = [(mail, event) for mail, event in found if lifted <= mail.date + 1]
                self.speak(step, end, ladder, acts, after, end - lifted > 2 * MINUTE)
            ladder = self.told_anew(step, ladder, found)
            self.made_anew(step, found, ladder)
            for event in sorted({event for _, event in found} - self.expected):
                known = ladder.overdue or ladder.used_up_told or (self.overdue and self.overdue[-1][0])
                if not (event.startswith("covered:") and known):
                    self.wrong("told, and not due", moment, f"{event}: {found[0][0].subject}")
            self.overdue.append((ladder.explains(moment), ladder.failed))
        self.all_arrived(self.decided)

    def speak(self, step, at, ladder, acts, found, must):
        """What is due by then. Where it need not have come yet, the next look asks for it."""
        due, may = ladder.due(at, acts.acknowledges(at, ladder))
        events = {event for _, event in found}
        if acts.silences(at):
            due, may = [], {event for choice in due for event in choice
                            if event.split(":")[0] in ("paid", "extended")}
        paid = False
        for choice in due:
            if must or choice & events:
                told = self.decide(step, choice, found, ladder)
                ladder.took(at, told)
                paid = paid or told.startswith("paid")
        if paid:
            # That stood alone: what is due beside it, such as that the balance is used up by now, may come in the same step.
            self.speak(step, at, ladder, acts, found, False)
        for event in sorted(may & events):
            self.expected.add(event)
            self.check(step, found, event, ladder)
            ladder.took(at, event)

    def decide(self, step, choice, found, ladder):
        """One of these is due; which of them came, or would do."""
        came = choice & {event for _, event in found}
        self.expected |= came
        told = min(came or choice)
        self.decided.append((step, told, choice, found))
        self.check(step, found, told, ladder)
        return told

    def told_anew(self, step, ladder, found):
        """"Told is what a mail arrived about …: an incident of which no mail arrived anywhere is untold, and told when one
        can", as it then is: where a mail was given up. One that waits for somebody else gives way to it."""
        anew = sorted({event for _, event in found} - self.expected)
        if not anew or not ladder.open or ladder.began is None:
            return ladder
        key, first = f"{self.account.name}/disconnect/account", self.step_of(ladder.began)
        new = [mail for mail, event in found if event in anew]
        made = min(mail.date for mail in new)
        given_up = any(self.weather.dead.get(to, made) <= self.steps[first] for to in self.account.to)
        arrived = any(mail.at < made + 1 and self.steps[first] <= mail.date + 1 for mail, which, _ in self.told
                      if which == key and mail not in new)
        if first >= step or not given_up or arrived:
            return ladder
        untold = ladder.untold()
        for choice in untold.due(self.steps[step])[0]:
            if choice & set(anew):
                untold.took(self.steps[step], self.decide(step, choice, found, untold))
                ladder = untold
        return ladder

    def made_anew(self, step, found, ladder):
        """"What to pay, and every count of days, is computed from the moment of the mail": one that waited for the mail server
        past midnight is of the day on which it leaves. It stands for the step in which it was decided."""
        for event in sorted({event for _, event in found} - self.expected):
            mails = [mail for mail, which in found if which == event]
            decided = [one for one in self.decided if one[0] < step and event in one[2]]
            if not decided:
                continue
            first, _, _, waited = decided[-1]
            news = any(first < later < step for later, *_ in self.decided)
            if not news and all(self.is_hindered(mail.to, one) for mail in mails for one in range(first, step)):
                self.expected.add(event)
                self.check(step, found, event, ladder)
                waited.extend((mail, event) for mail in mails)

    def acts(self, key):
        return Acts([act for act in self.lane.acts if act.pattern in (key, key.rsplit("/", 1)[0] + "/*")])

    def day_asked_for(self, answer):
        """Today, the horizon and a day, in the account's zone."""
        if answer.trouble is None:
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

    def all_arrived(self, decided):
        steps = [step for step, *_ in decided]
        for place, (step, told, choice, found) in enumerate(decided):
            self.verdict.count(f"cut-off mails that were due: {told.split(':')[0]}")
            arrived = {mail.to for mail, event in found if event in choice}
            missing = self.missing(step, arrived, steps[place + 1:])
            if missing:
                here = sorted({event for _, event in found})
                self.wrong("not told", self.steps[step], f"{' or '.join(sorted(choice))} to {missing}; told was {here}")

    def check(self, step, found, event, ladder):
        for mail, told in found:
            if told == event and event in ("resolved", "was-down"):
                for one in amounts.check_end(mail, self.account, [read.content for read in self.reads.get(step, [])]):
                    self.wrong("sums and days", mail.date, f"{event}: {one}")
            elif told == event:
                self.verdict.count("mails whose sums and days were counted again")
                for one in amounts.check(mail, event, self.account, ladder, self.had_then(mail, ladder)):
                    self.wrong("sums and days", mail.date, f"{event}: {one}")

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
        # "`deletion:N` takes the place of that day's mail"; "a balance at or below 0 with the date ahead is told once as
        # `balance-used-up`", where the provider names no date and the next charge has to stand in for it.
        says_so = [mail for mail, which, event in self.told if which == key and (
            "OVERDUE" in mail.subject or event.startswith("deletion:")
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
        zone = self.account.zone
        last = datetime.datetime.fromtimestamp(cut_off - 1, zone).date() - datetime.timedelta(days=self.account.lead)
        after = datetime.datetime.combine(last + datetime.timedelta(days=1), datetime.time(), zone)
        return min(after.timestamp(), cut_off)
