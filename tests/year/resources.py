"""Machines, containers and sites: what broke and recovered as the listings showed it was told, and nothing else. What
non-payment explains is told with the cut-off; what it does not explain is told by itself."""
from world import DAY, HOUR

REMINDERS = 3


def judge(of):
    listings = of.answers("vms")
    vms = sorted(of.account.vms)
    for vm in vms:
        states = {step: [answer.content[vm] for answer in answers if answer.trouble is None]
                  for step, answers in listings.items()}
        Line(of, f"{of.account.name}/vm_error/{vm}", states, "error", "active").walk()
        covered(of, f"{of.account.name}/vm_blocked/{vm}", states, "blocked")
    if of.account.has_hosting:
        hosting = {step: [answer.content for answer in answers if answer.trouble is None]
                   for step, answers in of.answers("hosting").items()}
        covered(of, f"{of.account.name}/container_disabled/7",
                {step: [container for container, _ in seen] for step, seen in hosting.items()}, "DISABLED_BY_SERVICE")
        for site in sorted(of.account.sites):
            covered(of, f"{of.account.name}/site_blocked/{site}",
                    {step: [sites[site] for _, sites in seen] for step, seen in hosting.items()}, "StoppedByService")
    failures(of, listings)
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
            events, expected = {event for _, event in found}, set()
            for state in self.states.get(step, []):
                due = self.see(state, moment)
                if due:
                    expected |= due & events
                    self.decided.append((step, due, found))
            # One that could not leave gave way to the next.
            came = [event for event in events if event.startswith("reminder:") and int(event[9:]) > self.reminders]
            reminder = min(came, default=f"reminder:{self.reminders + 1}")
            if self.open and "opened" in events and self.was_untold(step):
                # It takes the place of a beginning that could not leave.
                expected.add("opened")
                self.mailed_at = moment
            elif self.open and self.reminders < REMINDERS and moment - self.mailed_at >= DAY - HOUR:
                if reminder in events:
                    if not self.is_acknowledged(moment):
                        expected.add(reminder)
                    self.reminders, self.mailed_at = int(reminder[9:]), moment
                elif moment - self.mailed_at > DAY + HOUR and self.is_bad(step) and not self.is_acknowledged(moment):
                    self.decided.append((step, {reminder}, found))
                    self.reminders, self.mailed_at = self.reminders + 1, moment
            for event in sorted(events - expected):
                self.of.wrong("told, and not due", moment, f"{self.key} {event}: {found[0][0].subject}")
        steps = [step for step, *_ in self.decided]
        for place, (step, due, found) in enumerate(self.decided):
            self.of.verdict.count("news of machines that were due")
            missing = self.of.missing(step, {mail.to for mail, event in found if event in due}, steps[place + 1:])
            if missing:
                here = sorted({event for _, event in found})
                self.of.wrong("not told", self.of.steps[step],
                              f"{self.key} {' or '.join(sorted(due))} to {missing}; told was {here}")

    def was_untold(self, step):
        """Its first mail met with trouble, and there has been nothing but trouble since."""
        first = self.of.step_of(self.opened_at)
        return first < step and any(all(self.of.is_hindered(to, one) for one in range(first, step))
                                    for to in self.of.account.to)

    def is_bad(self, step):
        """It was wrong in every listing of this step, and in those of the step before."""
        return all(self.states.get(one) and set(self.states[one]) == {self.bad} for one in (step - 1, step))

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
        return None


def covered(of, key, states, bad):
    """It is off for non-payment: told by itself only where the cut-off's mails do not speak for it."""
    before, since = None, None
    for step, moment in enumerate(of.steps):
        events = {event for _, event in of.by_step.get((key, step), [])}
        seen = states.get(step, [])
        was = of.overdue[step - 1][0] if step else False
        if bad in seen and not was and since is None:
            # Seen before its cause: it may be told by itself, as soon as a mail gets through.
            since = step
        if since is not None and not all(of.is_hindered(to, one) for to in of.account.to for one in range(since, step)):
            since = None
        if "opened" in events:
            of.verdict.count("told by itself, as no cut-off explained it")
            if bad not in seen and before != bad:
                of.wrong("told, and not due", moment, f"{key} opened, seen was {seen}")
            elif was and of.overdue[step][0] and not of.overdue[step][1] and since is None:
                of.wrong("told beside its cause", moment, f"{key}: the account is overdue")
        if {"resolved", "was-down"} & events and seen and seen[-1] == bad:
            of.wrong("told, and not due", moment, f"{key} over, and it is {seen}")
        before = seen[-1] if seen else before


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
            if not told and not any(of.is_hindered(to, step) for to in of.account.to):
                of.wrong("not told", of.steps[step], "that the report carries an error")


def nothing_else(of):
    known = {"disconnect", "vm_error", "vm_blocked", "container_disabled", "site_blocked", "collector_failing",
             "billing_report", "balance_drop", "started"}
    for (key, step), found in of.by_step.items():
        if key.split("/")[1] not in known:
            of.wrong("told, and not due", of.steps[step], f"{key}: {found[0][0].subject}")
