"""What has to be mailed of one account's cut-off, from what its reports said: section 6 of the contract, written once
more. No line of the program was copied, and none of it is asked."""
import copy
import datetime

from amounts import begins, last_safe_day, left_then
from world import DAY, HOUR

UTC = datetime.timezone.utc


class Ladder:
    """What is true, and what one recipient was told of it."""

    def __init__(self, account):
        self.zone, self.deletion, self.lead = account.zone, account.deletion, account.lead
        self.rungs = sorted({14, 7, 3, 1, account.lead + 1})
        self.failed, self.read_at, self.dated_at = False, None, None
        # The report that mails rest on, and the one before it.
        self.last = self.last_before = self.last_at = None
        self.balance, self.seen = None, []
        # The last good report; a payment that no date followed yet.
        self.foresaw, self.paying = None, False
        self.date = self.computed = self.gone = self.later = None
        self.bare_since, self.clear = None, 0
        # An episode is open; its beginning is owed, and could not leave; something waits for the mail server.
        self.open = self.owed = self.waits = False
        # No reply came to the last mail; what it told.
        self.lost, self.last_event, self.last_rung = False, None, None
        self.forget()

    def forget(self):
        """Nothing of an episode was told."""
        self.knows = self.used_up_told = self.paid = False
        self.rung = self.overdue = self.told = None
        self.mailed = {}

    def copy(self):
        other = copy.copy(self)
        other.seen, other.mailed = list(self.seen), dict(self.mailed)
        other.overdue = self.overdue and {**self.overdue, "events": set(self.overdue["events"])}
        return other

    # What a report says

    def read(self, now, trouble, forecast):
        """True where the episode is over with it."""
        self.failed = trouble is not None
        if self.failed:
            # "A failed poll … neither counts nor breaks the row"; a date beside an error is one, and breaks it.
            if trouble == "error" and forecast is not None and forecast.cut_off is not None:
                self.clear = 0
                self.take_date(now, forecast.cut_off, False, self.paying, False)
                self.paying = False
            return False
        moments = forecast.moments()
        bare = not moments
        self.bare_since = (self.bare_since or now) if bare else None
        doubted = bare and now - self.bare_since < DAY
        dry = next((moment for moment, _, left in moments if left <= 0), None)
        date, computed = (forecast.cut_off, False) if forecast.cut_off is not None else (dry, dry is not None)
        end = moments[-1][2] if moments else forecast.balance
        known = max([one for one in (self.date, self.later and self.later[2]) if one is not None], default=None)
        is_clear = (forecast.cut_off is None and end > 0 and dry is None and forecast.balance > 0 and not doubted
                    and (known is None or forecast.until >= known))
        self.read_at = now
        if not bare:
            self.paying = self.paying or self.is_payment(now, forecast)
        # "A null `edd` is not good news by itself", and a report "without a single charge … is no good news": what is
        # mailed of the cut-off, and what to pay before it, is that of the report before.
        if is_clear or date is not None or (self.date is None and not self.gone):
            self.last, self.last_before, self.last_at = forecast, self.last, now
        if is_clear:
            self.clear += 1
            if self.clear >= 2:
                over, self.clear, self.open, self.last_rung = self.open, 0, False, None
                self.date = self.computed = self.gone = self.later = None
                self.take_balance(now, forecast.balance)
                if not self.knows:
                    self.forget()
                return over
            return False
        self.clear = 0
        if not doubted:
            self.take_balance(now, forecast.balance)
        if date is not None:
            self.take_date(now, date, computed, self.paying)
            self.paying = False
        elif not doubted and forecast.balance <= 0:
            self.gone, self.paying = True, False
        return False

    def is_payment(self, now, forecast):
        """"A payment is a balance above what the last good report foresaw for now, however long ago that was."""
        last, self.foresaw = self.foresaw, forecast
        return last is not None and forecast.balance > left_then(last, min(now, last.until), 0)

    def take_balance(self, now, balance):
        self.seen = [(at, amount) for at, amount in self.seen if now - at < DAY]
        if self.seen and balance > max(amount for _, amount in self.seen):
            # "At most once in 24 h each, unless the balance rose above its highest of those 24 h."
            self.mailed = {}
        self.seen.append((now, balance))
        self.balance = balance
        if balance > 0 and self.used_up_told:
            self.used_up_told = False

    def take_date(self, now, date, computed, rose, is_balance_known=True):
        self.gone, self.dated_at = None, now
        before = self.date
        if not (self.open and before is not None and date > before):
            # "A date that moves back": a payment that nobody was told of and that was taken back moved none.
            self.paid = self.paid and (self.told is None or date > self.told)
            self.date, self.computed, self.later = date, computed, None
        elif before <= now and (self.balance <= 0 or not is_balance_known):
            """"It stays so until … a date ahead of now is believed … with a balance above 0": a date that has passed by now and
            that the provider names takes the place of what stood in for it."""
            if self.computed and not computed and date <= now:
                self.date, self.computed = date, False
        elif rose:
            self.date, self.computed, self.later = date, computed, None
            self.paid = self.paid or date > now
        else:
            since, earliest, _ = self.later or (now, date, date)
            self.later = (since, min(earliest, date), date)
            if now - since >= HOUR:
                self.date, self.computed = min(earliest, date), computed
                self.later = (now, date, date) if date > self.date else None

    # What is due

    def day(self, moment):
        return datetime.datetime.fromtimestamp(moment, UTC).astimezone(self.zone).date().isoformat()

    def days_later(self, moment, days):
        """"Mailed again daily": at the same time of the day, also where a day has 23 hours or 25."""
        local = datetime.datetime.fromtimestamp(moment, UTC).astimezone(self.zone).replace(tzinfo=None)
        return (local + datetime.timedelta(days=days)).replace(tzinfo=self.zone).timestamp()

    def crossed(self, rung):
        """When the date comes within this rung. "A cut-off is near from the first moment of the pay-by day, or from lead_days + 1
        periods of 24 h before it, whichever is earlier … From then on: `rung:{lead_days + 1}`"."""
        at = self.date - rung * DAY
        return min(at, begins(last_safe_day(self.date, self.lead, self.zone), self.zone)) if rung == self.lead + 1 else at

    def tightest(self, now):
        return min((rung for rung in self.rungs if now >= self.crossed(rung)), default=None)

    def is_overdue(self, now):
        return bool(self.gone) or (self.date is not None and self.date <= now)

    def explains(self, now):
        """Does it explain what is off? "Non-payment (overdue, balance ≤ 0 …)"."""
        return self.open and (self.is_overdue(now) or self.is_used_up())

    def is_used_up(self):
        return self.balance is not None and self.balance <= 0

    def is_near(self, now):
        return self.is_overdue(now) or (self.date is not None and (self.is_used_up() or self.tightest(now) is not None))

    def due(self, now, acknowledged=False):
        """What must be mailed, each by the events of which one has to come; and what may be."""
        # "During poll failures the last known date stands."
        is_taken_back = self.clear > 0 and not self.failed
        self.open = self.open or (self.is_near(now) and not is_taken_back)
        if not self.open:
            # "A cut-off that returns before its end could be told is the same one"; "episodes that began and ended before any
            # mail about them could leave: one `was-down`".
            return ([{"resolved"}] if self.knows else [{"was-down"}] if self.owed else []), set()
        if is_taken_back:
            # One good report of two: nothing is said either way.
            return [], set()
        if self.is_overdue(now):
            return self.due_overdue(now, acknowledged)
        must, may = [], set()
        if self.date is None:
            return must, may

        def add(event, name=None):
            at = self.mailed.get(name or event)
            if at is not None and now - at < DAY:
                may.add(event)
            else:
                must.append({event})

        # A date that the recipient knows already is no news.
        if self.knows and self.paid and (self.told is None or self.date > self.told or self.rung == 0):
            add(f"paid:{self.day(self.date)}", "paid")
            if must:
                return must, may
        left_behind = self.rung is not None and (
            self.rung == 0 or now < self.crossed(self.rung) - DAY)
        if left_behind and not self.paid:
            add(f"extended:{self.day(self.date)}", "extended")
        current, rungs = self.tightest(now), len(must)
        if current is not None and (self.rung is None or current < self.rung):
            add(f"rung:{current}")
        # A rung of the same report says it too: "Balance used up, cut-off Sat 19 Feb".
        if self.is_used_up() and not self.used_up_told and len(must) == rungs:
            add("balance-used-up")
        if current is None:
            # What was owed of a date that is far away by now is owed no more.
            self.owed = self.owed and (self.knows or bool(must or may))
        return must, may

    def due_overdue(self, now, acknowledged):
        cut_off = None if self.gone else self.date
        told = self.overdue
        begin = cut_off if cut_off is not None else told["at"] if told else now
        ends = self.deletion if self.deletion and cut_off is not None else None
        near = {} if ends is None else {ends - left: left for left in (7, 3, 1, 0) if ends - left > 0}
        deletions = sorted((begin + day * DAY, f"deletion:{left}") for day, left in near.items())
        # "Also on a machine that is awake once a day": after a sleep the mail of a day may come before its time of the day.
        early = {event for moment, event in deletions if now < moment and self.day(moment) == self.day(now)}
        if told is None:
            at = self.mailed.get("rung:0")
            again = at is not None and now - at < DAY and self.mailed.get("cut-off") == cut_off
            # "A silence holds back everything but ends and `deletion:N`", also where it held back that the account is off.
            passed = {event for moment, event in deletions if moment <= now}
            return ([], {"rung:0"}) if again else ([{"rung:0"}], early | passed)
        missed = [event for moment, event in deletions if told["at"] < moment <= now]
        # "After a sleep the tightest missed one": it takes the place of those before it.
        if missed and not told["events"] & {missed[-1], *(event for moment, event in deletions if moment > now)}:
            return [{missed[-1]} | early], set()
        days = [day for day in range(1, 38) if (day <= 7 or (day - 7) % 3 == 0) and (ends is None or day < ends)]
        today, told_on = self.day(now), self.day(told["mailed"])
        if acknowledged or today == told_on:
            return [], early
        # "Counted in the account's days": one mail a day; what was mailed on that day in any case was its mail.
        moments = [self.days_later(begin, day) for day in days if day not in near]
        untold = [moment for moment in moments if self.day(moment) > told_on]
        event = {f"overdue:{today}"}
        if any(moment <= now for moment in untold):
            return [event | early], set()
        return [], early | (event if any(self.day(moment) == today for moment in untold) else set())

    # What was mailed

    def took(self, now, event):
        name = event.split(":")[0]
        self.owed = self.waits = False
        self.last_event = event
        if event in ("resolved", "was-down"):
            self.forget()
            return
        self.knows = True
        self.told = self.date
        if name == "rung":
            # "Of a disconnect it ends with the next rung": one that was crossed before is none, though it is told later.
            crossed = None if self.gone else self.date if event == "rung:0" else self.crossed(int(event[5:]))
            self.last_rung = min(now, crossed or now)
        self.mailed[name if name in ("extended", "paid") else event] = now
        if name == "rung" and event != "rung:0":
            self.rung = int(event[5:])
        elif event == "rung:0":
            self.rung, self.mailed["cut-off"] = 0, None if self.gone else self.date
            self.overdue = {"at": now, "mailed": now, "events": set()}
        elif name in ("overdue", "deletion") and self.overdue:
            self.overdue["mailed"] = now
            self.overdue["events"].add(event)
        elif name == "paid":
            self.rung, self.overdue = self.tightest(now), None
        elif name == "extended":
            self.rung, self.overdue = self.tightest(now), None
        if event == "balance-used-up" or (name == "rung" and self.is_used_up()):
            self.used_up_told = True
        if event != "balance-used-up":
            self.paid = False
