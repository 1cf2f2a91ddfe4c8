"""Machines, containers and sites: what broke and recovered as the listings showed it was told, and nothing else. What
non-payment explains is told with the cut-off; what it does not explain is told by itself."""
import re

import amounts
from world import DAY, HOUR, MINUTE

REMINDERS = 3
WAS = {"error": "in error", "blocked": "blocked"}


def judge(of):
    listings = of.answers("vms")
    vms = sorted(of.account.vms)
    for vm in vms:
        states = {step: [answer.content[vm] for answer in answers if answer.trouble is None]
                  for step, answers in listings.items()}
        Line(of, f"{of.account.name}/vm_error/{vm}", states, "error", "active").walk()
        covered(of, f"{of.account.name}/vm_blocked/{vm}", states, "blocked")
        followed_up(of, vm, states)
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


class Line:
    """One incident that nothing else explains."""

    def __init__(self, of, key, states, bad, good):
        self.of, self.key, self.states, self.bad, self.good = of, key, states, bad, good
        self.open, self.right, self.mailed_at, self.reminders = False, 0, None, 0
        self.decided, self.acts = [], of.acts(key)
        self.opened_at = None

    def walk(self):
        for step, moment in enumerate(self.of.steps):
            found = self.of.by_step.get((self.key, step), [])
            expected = set()
            for state in self.states.get(step, []):
                due = self.see(state, moment)
                if due:
                    expected |= self.decide(step, {to: due for to in self.of.account.to}, found)
            if self.reminder_is_due(step, found):
                self.reminders, self.mailed_at = self.reminders + 1, moment
                expected |= self.decide(step, {to: self.reminder_to(to, step) for to in self.of.account.to}, found)
            for mail, event in found:
                if (mail.to, event) not in expected:
                    self.of.wrong("told, and not due", moment, f"{self.key} {event} to {mail.to}: {mail.subject}")
                elif self.open:
                    says_the_state(self.of, self.key, mail, self.bad, self.states.get(step, []))
        steps = [step for step, *_ in self.decided]
        for place, (step, due, found) in enumerate(self.decided):
            self.of.verdict.count("news of machines that were due")
            arrived = {mail.to for mail, event in found if event in due.get(mail.to, ())}
            missing = self.of.missing(step, arrived, steps[place + 1:])
            if missing:
                here = sorted({event for _, event in found})
                self.of.wrong("not told", self.of.steps[step],
                              f"{self.key} {' or '.join(sorted(due[missing[0]]))} to {missing}; told was {here}")

    def decide(self, step, due, found):
        """What is due, by recipient, from this step on; what of it came."""
        self.decided.append((step, due, found))
        return {(mail.to, event) for mail, event in found if event in due.get(mail.to, ())}

    def reminder_is_due(self, step, found):
        """`remind_every = { critical = "1d" }`, "three times, then the digest"; "while a collector fails, its
        resources' mails wait"; "an ack stops reminders". Another state that is wrong is no recovery."""
        seen, moment = self.states.get(step, []), self.of.steps[step]
        if not (self.open and seen and self.good not in seen and self.reminders < REMINDERS) \
                or self.is_acknowledged(moment):
            return False
        # Where the last was mailed a day ago to the minute it may be due in the next one.
        since = moment - self.mailed_at
        return since >= DAY + MINUTE or (since >= DAY - MINUTE and (bool(found) or self.gave_way(step)))

    def gave_way(self, step):
        """It could not leave in the minute in which it may have been due, and never came: "newer news of an incident
        replaces older that was surely not delivered"."""
        begin, event = self.of.steps[step], f"reminder:{self.reminders + 1}"
        comes = any(key == self.key and which == event and begin <= mail.date < begin + 2 * DAY
                    for mail, key, which in self.of.told)
        return not comes and all(self.of.is_hindered(to, step) for to in self.of.account.to)

    def reminder_to(self, to, step):
        """"An incident of which no mail arrived anywhere is untold, and told when one can": to whoever got none since
        it began it is the beginning."""
        begin = self.of.steps[step]
        came = [mail.at for mail, key, _ in self.of.told
                if key == self.key and mail.to == to and self.opened_at <= mail.date + 1 < begin]
        reminder = {f"reminder:{self.reminders}"}
        if any(at < begin for at in came):
            return reminder
        # What waited for the mail server may have left a moment before.
        return {"opened"} | (reminder if any(self.of.step_of(at) == step for at in came) else set())

    def is_acknowledged(self, moment):
        return any(self.opened_at < at < moment for at in self.acts.acked)

    def see(self, state, moment):
        if state == self.bad:
            self.right = 0
            if not self.open:
                self.open, self.mailed_at, self.reminders, self.opened_at = True, moment, 0, moment
                return {"opened", "flapping"}
        elif state == self.good and self.open:
            self.right += 1
            if self.right >= 2:
                self.open, self.right = False, 0
                return {"resolved", "was-down", "flapping"}
        elif state is not None:
            # "recover_polls": "good polls in a row".
            self.right = 0
        return None


def says_the_state(of, key, mail, bad, seen):
    """"What changed … is mailed as it now is": where it went from one wrong state into another, both."""
    now = {state for state in seen if state != bad}
    if now and not any(names_both(mail, key, state, bad) for state in now):
        of.wrong("told otherwise than it is", mail.date, f"{seen}: {mail.subject}")


def names_both(mail, key, now, was):
    """Of this one alone, or of as many as a table below lists, this one among them."""
    account, kind, number = key.split("/")
    as_it_is, was = WAS.get(now, now), WAS.get(was, was)
    if not kind.startswith("vm_"):
        return f"(now {now}, was {was})" in mail.subject + mail.text
    forms = [(f"not OK (now {now}, ", f" {was})")]
    # Where the mail has the incident of the present state too, that is how it now is: "VM web-1 blocked, was in error".
    if any(other == f"{account}/vm_{now}/{number}" for other, _ in mail.news):
        forms.append((f"{as_it_is}, ", f" {was}"))
    for part in mail.text.replace("\r\n", "\n").split("\n\n"):
        head, *rows = part.split("\n")
        head = head.replace(" still ", " ", 1)
        listed = [row.split()[1] for row in rows if re.match(r"  web-\d+ +\d+( |$)", row)]
        for before, after in forms:
            if head.startswith(f"VM web-{number} {before}was{after}"):
                return True
            if head.startswith(f"{len(listed)} VMs {before}were{after}") and number in listed:
                return True
    return False


def covered(of, key, states, bad):
    """It is off for non-payment: "an incident folds only into a cause that explains it and is open"."""
    before, since = None, None
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
            elif explained and since is None:
                of.wrong("told beside its cause", moment, f"{key}: the account is overdue")
        if {"resolved", "was-down"} & events and seen and seen[-1] == bad:
            of.wrong("told, and not due", moment, f"{key} over, and it is {seen}")
        before = seen[-1] if seen else before


def followed_up(of, vm, states):
    """"What folds after that mail left is told in one follow-up ("also offline now: …"), at most one an hour": within the next
    step, unless that day's mail has it. Looked at where nothing hindered either."""
    key = f"{of.account.name}/disconnect/account"
    silences, was = of.acts(key).silences, None
    for step in range(1, len(of.steps) - 1):
        seen, later = states.get(step, []), states.get(step + 1, [])
        known = all(of.overdue[one][0] for one in (step - 1, step, step + 1))
        both = (step, step + 1)
        if was == "active" and set(seen) == set(later) == {"blocked"} and known \
                and of.steps[step + 1] - of.steps[step] > HOUR and not any(silences(of.steps[one]) for one in both):
            of.verdict.count("blocked after the mail about its cause")
            for to in of.account.to:
                told = [mail for one in both for mail, _ in of.by_step.get((key, one), []) if mail.to == to]
                if not any(of.is_hindered(to, one) for one in both) and not any(f"web-{vm}" in mail.text for mail in told):
                    of.wrong("not told", of.steps[step], f"web-{vm} to {to}: blocked since the mail about the cut-off")
        was = seen[-1] if seen else was


def left_over(of, key, states, bad):
    """"When the cause ends … what is still wrong is told at once": paid, and not switched on again. What is over before a mail
    can leave "becomes one `was-down` mail"."""
    is_bad = is_told = False
    # What people know to be wrong with the same resource as something else.
    others = [(mail.date, event) for mail, other, event in of.told if other == key.replace("vm_blocked", "vm_error") != key]
    for step in range(1, len(of.steps)):
        seen, (unpaid, failed) = states.get(step, []), of.overdue[step]
        ends = of.overdue[step - 1][0] and not unpaid and not failed
        events = [event for at, event in others if at <= of.ends[step]]
        is_known = bool(events) and events[-1].split(":")[0] in ("opened", "reminder")
        if ends and is_bad and not is_told and not is_known and seen and set(seen) == {bad}:
            of.verdict.count("told by itself, as its cause ended")
            for to in of.account.to:
                free = next((one for one in range(step, len(of.steps)) if not of.is_hindered(to, one)), None)
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
                trouble.setdefault(step, []).append(answer.trouble)
    told_open = {}
    for (key, step), found in sorted(of.by_step.items(), key=lambda one: one[0][1]):
        kind = key.split("/")[1]
        if kind not in ("collector_failing", "billing_report"):
            continue
        for mail, event in found:
            near = trouble.get(step, []) + trouble.get(step - 1, [])
            if event == "opened" and not any(near):
                of.wrong("told, and not due", mail.date, f"{key} opened, and all could be read")
            if event == "resolved" and all(trouble.get(step, [])):
                of.wrong("told, and not due", mail.date, f"{key} resolved, and nothing could be read")
            told_open[mail.to, key] = (event, step)
    for (to, key), (event, step) in told_open.items():
        after = [trouble.get(later, []) for later in range(step + 1, len(of.steps))]
        well = [seen for seen in after if seen and not any(seen)]
        if event in ("opened", "flapping") or event.startswith("reminder"):
            if len(well) > 6 and not of.is_hindered(to, len(of.steps) - 1):
                of.wrong("not told", of.steps[step], f"the end of {key} to {to}")
    reports = of.answers("report")
    for step, answers in reports.items():
        if all(answer.trouble in ("error", "missing") for answer in answers) and step + 4 < len(of.steps):
            told = any(("billing_report" in key) for (key, at), _ in of.by_step.items() if step - 8 <= at <= step + 4)
            told = told or any(all_silenced(of)(of.steps[at]) for at in range(max(0, step - 8), step + 5))
            if not told and not any(of.is_hindered(to, step) for to in of.account.to):
                of.wrong("not told", of.steps[step], "that the report carries an error")


def all_silenced(of):
    """"A silence holds back beginnings and reminders, of a disconnect only where its pattern names that kind"."""
    return of.acts(f"{of.account.name}/*/account").silences


def drops(of):
    """`balance_drop`: "below what the previous report foresaw for now by more than 20 % and more than 3 days' cost; where a
    disconnect mail goes out of the same report, it is that mail's reason instead". Days of cost are those to the report's
    end; what is within a fiftieth of either measure may come or not."""
    account, before = of.account, []
    key, cut_off = f"{account.name}/balance_drop/account", f"{account.name}/disconnect/account"
    told_at = None
    for step, moment in enumerate(of.steps):
        reads = of.reads.get(step, [])
        found, surely, perhaps = of.by_step.get((key, step), []), False, False
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
        if key.split("/")[1] not in known:
            of.wrong("told, and not due", of.steps[step], f"{key}: {found[0][0].subject}")
