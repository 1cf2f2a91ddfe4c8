"""Machines, containers and sites: what broke and recovered as the listings showed it was told, and nothing else. What
non-payment explains is told with the cut-off; what it does not explain is told by itself."""
import re

import amounts
from world import DAY, HOUR, MINUTE

REMINDERS = 3
# "2 min at most."
LOOKS = 2 * MINUTE
WAS = {"error": "in error", "blocked": "blocked"}


def judge(of):
    listings = of.answers("vms")
    vms = sorted(of.account.vms)
    for vm in vms:
        states = {step: [answer.content[vm] for answer in answers if answer.trouble is None]
                  for step, answers in listings.items()}
        for to in of.account.to:
            Line(of, to, f"{of.account.name}/vm_error/{vm}", states, "error", "active").walk()
        covered(of, f"{of.account.name}/vm_blocked/{vm}", states, "blocked")
        if not of.account.has_hosting:
            # Else its container, told by itself, covers it as well.
            left_over(of, f"{of.account.name}/vm_blocked/{vm}", states, "blocked")
    if of.account.has_hosting:
        hosting = {step: [answer.content for answer in answers if answer.trouble is None]
                   for step, answers in of.answers("hosting").items()}
        containers = {step: [container for container, _ in seen] for step, seen in hosting.items()}
        covered(of, f"{of.account.name}/container_disabled/7", containers, "DISABLED_BY_SERVICE")
        left_over(of, f"{of.account.name}/container_disabled/7", containers, "DISABLED_BY_SERVICE")
        for site in sorted(of.account.sites):
            covered(of, f"{of.account.name}/site_blocked/{site}",
                    {step: [sites[site] for _, sites in seen] for step, seen in hosting.items()}, "StoppedByService")
    failures(of, listings)
    drops(of)
    nothing_else(of)


class Told:
    """What one recipient was told of an incident."""

    def __init__(self):
        self.knows, self.at, self.reminders, self.lost, self.event = False, None, 0, False, None
        # "Of which episode."
        self.episode = None

    def took(self, event, mail, arrived, episode):
        # The rest of a mail that was outdated in part may be told once more.
        self.episode, self.event, self.lost = episode, event, not arrived
        self.knows, self.at = event not in ("resolved", "was-down"), mail.date
        self.reminders = int(event[9:]) if event.startswith("reminder") else 0


class Line:
    """One incident that nothing else explains, and one recipient."""

    def __init__(self, of, to, key, states, bad, good):
        self.of, self.to, self.key, self.states, self.bad, self.good = of, to, key, states, bad, good
        self.open, self.right, self.owed, self.told = False, 0, False, Told()
        self.acts, self.opened_at, self.episode = of.acts(key), None, 0

    def walk(self):
        for step, moment in enumerate(self.of.steps):
            found = {}
            for mail, event in self.of.by_step.get((self.key, step), []):
                if mail.to == self.to:
                    found.setdefault(event, mail)
            expected = set()
            waited = self.due(step, True)[0] if self.owed or self.told.lost else set()
            waited |= {self.told.event} if self.told.lost else set()
            for state in [None, *self.states.get(step, [])]:
                self.see(state, moment)
                self.decide(step, found, expected, state is not None)
            for event, mail in found.items():
                # What waited may leave before it is looked.
                if event not in expected | waited:
                    self.of.wrong("told, and not due", moment, f"{self.key} {event} to {self.to}: {mail.subject}")
                elif self.open:
                    says_the_state(self.of, self.key, mail, self.bad, self.states.get(step, []))
                if event not in expected:
                    self.told.took(event, mail, self.arrived(mail), self.episode)
            if self.to == self.of.account.to[0]:
                self.of.shown(self.key, step, self.open)

    def arrived(self, mail):
        return (self.to, mail.name) in self.of.arrived

    def decide(self, step, found, expected, must):
        """What is due in this step; what of it came."""
        due, surely = self.due(step, bool(found))
        came = next((event for event in due if event in found and event not in expected), None)
        if came:
            self.of.verdict.count("news of machines that were due")
            self.told.took(came, found[came], self.arrived(found[came]), self.episode)
            self.owed = False
            expected.add(came)
        elif due and self.told.lost and self.is_repeated(step):
            # "After a lost reply the same bytes are tried again": meanwhile nothing newer is told.
            pass
        elif due and must and surely:
            if self.of.is_hindered(self.to, step):
                self.owed = True
            else:
                self.of.wrong("not told", self.of.steps[step],
                              f"{self.key} {' or '.join(sorted(due))} to {self.to}; told was {sorted(found)}")
                self.told.knows, self.told.at, self.told.lost = self.open, self.of.steps[step], False
                self.told.episode = self.episode
                self.told.reminders += 1
                self.owed = False

    def is_repeated(self, step):
        """Did bytes of an earlier step come?"""
        of = self.of
        return any(mail.to == self.to and key == self.key and of.step_of(mail.at) == step > of.step_of(mail.date)
                   for mail, key, _ in of.told)

    def due(self, step, came):
        """By one of which event it is to be told now, and whether it has to have come in this step."""
        return self.after(self.told, step, came)

    def after(self, told, step, came):
        if not self.open:
            return ({"resolved"} if told.knows else {"was-down"} if self.owed else set()), True
        if self.right:
            return set(), False
        if not told.knows or told.episode != self.episode:
            return {"opened"}, True
        return self.reminder(told, step, came)

    def reminder(self, told, step, came):
        """`remind_every = { critical = "1d" }`, "three times, then the digest"; "while a collector fails, its
        resources' mails wait"; "an ack stops reminders". Another state that is wrong is no recovery, and may explain it."""
        seen, moment = self.states.get(step, []), self.of.steps[step]
        if not seen or self.good in seen or told.reminders >= REMINDERS or self.is_acknowledged(moment):
            return set(), False
        # Where the last was mailed a day ago to the minute it may be due in the next one.
        since = moment - told.at
        may = since >= DAY + MINUTE or (since >= DAY - 5 * MINUTE and came)
        # "A resource that is wrong in two ways is named once in a mail."
        other = self.of.by_step.get((self.key.replace("vm_error", "vm_blocked"), step), [])
        is_named = any(mail.to == self.to and event == "opened" for mail, event in other)
        return ({f"reminder:{told.reminders + 1}"} if may else set()), since >= DAY + MINUTE and not is_named and set(seen) == {self.bad}

    def is_acknowledged(self, moment):
        return any(self.opened_at < at < moment for at in self.acts.acked)

    def see(self, state, moment):
        if state == self.bad:
            self.right = 0
            if not self.open:
                self.open, self.opened_at, self.episode = True, moment, self.episode + 1
        elif state == self.good and self.open:
            self.right += 1
            if self.right >= 2:
                self.open, self.right = False, 0
        elif state is not None:
            # "recover_polls": "good polls in a row".
            self.right = 0


def says_the_state(of, key, mail, bad, seen):
    """"What changed … is mailed as it now is": where it went from one wrong state into another, both."""
    now = {state for state in seen if state != bad}
    if now and not any(names_both(mail, key, state, bad) for state in now):
        of.wrong("told otherwise than it is", mail.date, f"{seen}: {mail.subject}")


def names_both(mail, key, now, was):
    """Of this one alone, or of as many as a table below lists, this one among them. A chat has no tables."""
    if mail.is_chat and len(mail.news) > 1:
        return True
    _, kind, number = key.split("/")
    was = WAS.get(was, was)
    if not kind.startswith("vm_"):
        return f"(now {now}, was {was})" in mail.subject + mail.text
    before, after = f"not OK (now {now}, ", f" {was})"
    for part in mail.text.replace("\r\n", "\n").split("\n\n"):
        head, *rows = part.split("\n")
        # In a chat the subject, with its severity, is the first line.
        head = re.sub(r"^\[[A-Z]+\] ", "", head).replace(" still ", " ", 1)
        listed = [row.split()[1] for row in rows if re.match(r"  web-\d+ +\d+( |$)", row)]
        if head.startswith(f"VM web-{number} {before}was{after}"):
            return True
        if head.startswith(f"{len(listed)} VMs {before}were{after}") and number in listed:
            return True
    return False


def covered(of, key, states, bad):
    """It is off for non-payment: "an incident folds only into a cause that explains it and is open"."""
    before, since, silences = None, None, of.acts(f"{of.account.name}/disconnect/account").silences
    for step, moment in enumerate(of.steps):
        found = of.by_step.get((key, step), [])
        events, seen = {event for _, event in found}, states.get(step, [])
        explained = is_explained(of, step)
        if bad in seen and not explained and since is None:
            # "Told when one can": its own mail, once one gets through.
            since = step
        if since is not None and not all(of.is_hindered(to, one) for to in of.account.to for one in range(since, step)):
            since = None
        if "opened" in events:
            of.verdict.count("told by itself, as no cut-off explained it")
            if bad not in seen and before != bad:
                for mail, _ in found:
                    says_the_state(of, key, mail, bad, seen)
            elif explained and since is None and not silences(of.ends[step] + 1):
                of.wrong("told beside its cause", moment, f"{key}: the account is overdue")
        if {"resolved", "was-down"} & events and seen and seen[-1] == bad:
            of.wrong("told, and not due", moment, f"{key} over, and it is {seen}")
        before = seen[-1] if seen else before


def left_over(of, key, states, bad):
    """"When the cause ends … what is still wrong is told at once": paid, and not switched on again."""
    is_bad = is_told = False
    # What people know to be wrong with the same resource as something else.
    others = [(mail.date, event) for mail, other, event in of.told if other == key.replace("vm_blocked", "vm_error") != key]
    for step in range(1, len(of.steps)):
        seen, (unpaid, failed) = states.get(step, []), of.overdue[step]
        ends = of.overdue[step - 1][0] and not unpaid and not failed
        events = [event for at, event in others if at <= of.ends[step]]
        is_known = bool(events) and events[-1].split(":")[0] in ("opened", "reminder")
        # "Once it was read after that (2 min at most)": where the step ended before, by what was read next.
        reads = of.reads.get(step)
        if reads and reads[-1].came + LOOKS > of.ends[step]:
            again = step + 1 < len(of.overdue) and of.overdue[step + 1][0]
            ends = ends and set(states.get(step + 1, [])) == {bad} and not again
        if ends and is_bad and not is_told and not is_known and seen and set(seen) == {bad}:
            of.verdict.count("told by itself, as its cause ended")
            for to in of.account.to:
                # What else was due to them is tried again first where its reply was lost.
                free = next((one for one in range(step, len(of.steps)) if not of.is_hindered(to, one)
                             and of.weather.of(to, of.steps[one]) != "loses replies"), None)
                again = free and any(of.overdue[one][0] for one in range(step + 1, free + 1))
                if free and free > step and (again or bad not in states.get(free, [bad])):
                    # The mail of its cause named it, and before one of its own could leave it was right or explained again.
                    continue
                told = free and [mail for one in range(step, free + 2) for mail, _ in of.by_step.get((key, one), [])]
                if free and not any(mail.to == to for mail in told):
                    of.wrong("not told", of.steps[step], f"{key} to {to}: what explained it is over, and it is {seen}")
        is_bad = seen[-1] == bad if seen else is_bad
        is_told = is_bad and (is_told or bool(of.by_step.get((key, step))))


def is_explained(of, step):
    """"Non-payment (overdue, balance ≤ 0 …) explains": known before, and a failed poll ends nothing; or by a report of this
    step, as "the engine looks before it speaks"."""
    was = of.overdue[step - 1][0] if step else False
    unpaid, failed = of.overdue[step]
    # "What a cause covers is listed in its mail": where that is held back by a silence, nobody would know.
    silenced = of.acts(f"{of.account.name}/disconnect/account").silences(of.steps[step])
    return unpaid and (was or not failed) and not silenced


def failures(of, listings):
    """That something cannot be read is told where it could not, and its end where it can."""
    trouble = {}
    for group, found in (("vms", listings), ("report", of.answers("report")), ("hosting", of.answers("hosting"))):
        for step, answers in found.items():
            for answer in answers:
                # "For an hour none of them could name a cut-off or prove that there is none."
                is_dateless = answer.trouble is None and group == "report" and not names_a_cut_off(answer.content)
                trouble.setdefault(step, []).append("dateless" if is_dateless else answer.trouble)
    told_open = {}
    for (key, step), found in sorted(of.by_step.items(), key=lambda one: one[0][1]):
        kind = key.split("/")[1]
        if kind not in ("collector_failing", "billing_report"):
            continue
        for mail, event in found:
            near = trouble.get(step, []) + trouble.get(step - 1, [])
            if event == "opened" and not any(near):
                of.wrong("told, and not due", mail.date, f"{key} opened, and all could be read")
            # "Mails decided before go."
            waited = step > 0 and of.turned_away(mail.to, step - 1)
            if event == "resolved" and not waited and all(one not in (None, "dateless") for one in trouble.get(step, [])):
                of.wrong("told, and not due", mail.date, f"{key} resolved, and nothing could be read")
            told_open[mail.to, key] = (event, step)
    for (to, key), (event, step) in told_open.items():
        after = [trouble.get(later, []) for later in range(step + 1, len(of.steps))]
        well = [seen for seen in after if seen and not any(seen)]
        if event == "opened" or event.startswith("reminder"):
            if len(well) > 6 and not of.is_hindered(to, len(of.steps) - 1):
                of.wrong("not told", of.steps[step], f"the end of {key} to {to}")
    reports = of.answers("report")
    for step, answers in reports.items():
        if all(answer.trouble == "error" for answer in answers) and step + 4 < len(of.steps):
            told = any(("billing_report" in key) for (key, at), _ in of.by_step.items() if step - 8 <= at <= step + 4)
            told = told or any(all_silenced(of)(of.steps[at]) for at in range(max(0, step - 8), step + 5))
            if not told and not any(of.is_hindered(to, step) for to in of.account.to):
                of.wrong("not told", of.steps[step], "that the report carries an error")


def names_a_cut_off(forecast):
    return forecast.cut_off is not None or any(left <= 0 for _, _, left in forecast.moments())


def all_silenced(of):
    """"A silence holds back beginnings and reminders, of a disconnect only where its pattern names that kind"."""
    return of.acts(f"{of.account.name}/*/account").silences


def drops(of):
    """`balance_drop`: "below what the previous report foresaw for now by more than 20 % and more than 3 days' cost; where a
    disconnect mail goes out of the same report, it is that mail's reason instead". Days of cost are those to the report's
    end; what is within a fiftieth of either measure may come or not."""
    account, before = of.account, []
    key, cut_off = f"{account.name}/balance_drop/account", f"{account.name}/disconnect/account"
    told_at, waits = None, False
    for step, moment in enumerate(of.steps):
        reads = of.reads.get(step, [])
        found, surely, perhaps = of.by_step.get((key, step), []), False, waits
        for read in reads:
            if read.trouble is not None:
                continue
            # Which report is the one before, where some without a charge came in between, is not looked at.
            certain = len(before) == 1 and bool(before[0].content.moments()) and bool(read.content.moments())
            for one in before:
                # A charge of the day to come may have come early.
                soon = amounts.left_then(one.content, read.at, 1)
                early = soon is not None and read.content.balance >= soon
                surely = surely or certain and fell(one, read, 1.02) and not early
                perhaps = perhaps or fell(one, read, 0.98)
            before = [read] if read.content.moments() else [*before, read]
        if found and not perhaps:
            of.wrong("told, and not due", found[0][0].date, f"{key}: {found[0][0].subject}")
        again = told_at is not None and moment - told_at < DAY + MINUTE
        if surely and not again and not all_silenced(of)(moment) and not of.by_step.get((cut_off, step)):
            of.verdict.count("balances that dropped")
            for to in account.to:
                if not of.is_hindered(to, step) and to not in {mail.to for mail, _ in found}:
                    of.wrong("not told", moment, f"{key} to {to}")
        told_at = moment if found else told_at
        waits = perhaps and any(of.is_hindered(to, step) for to in account.to)


def fell(before, read, by):
    foreseen = amounts.left_then(before.content, read.at, 0)
    if foreseen is None or foreseen <= 0:
        return False
    missing, days = foreseen - read.content.balance, (before.content.until - before.at) / DAY
    cost = sum(price for _, price, _ in before.content.moments()) / days
    return missing > by * foreseen / 5 and missing > by * 3 * cost


def nothing_else(of):
    known = {"disconnect", "vm_error", "vm_blocked", "container_disabled", "site_blocked", "collector_failing",
             "billing_report", "balance_drop", "started"}
    for (key, step), found in of.by_step.items():
        _, kind, name = key.split("/")
        if kind not in known and not (kind == "order_cost" and is_repriced(of, int(name))):
            of.wrong("told, and not due", of.steps[step], f"{key}: {found[0][0].subject}")


def is_repriced(of, number):
    """Did the reports name two prices of an order?"""
    contents = [read.content for reads in of.reads.values() for read in reads if read.content]
    return len({price for one in contents for _, _, order, price in one.rows if order.number == number}) > 1
