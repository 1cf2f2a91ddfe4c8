"""What has to be mailed of one account's cut-off, from what its reports said: section 6 of the contract, written once
more. No line of the program was copied, and none of it is asked."""
import copy
import datetime

from world import DAY, HOUR

UTC = datetime.timezone.utc
# "Overdue is mailed again daily": one that is due sooner than this after the last mail may come or not.
REMINDER_PAUSE = 12 * HOUR


class Ladder:
    def __init__(self, account):
        self.zone, self.deletion = account.zone, account.deletion
        self.rungs = sorted({14, 7, 3, 1, account.lead + 1})
        self.failed, self.read_at, self.dated_at = False, None, None
        # The report that mails rest on, and the one before it.
        self.last = self.last_before = None
        self.balance, self.seen = None, []
        self.date = self.computed = self.gone = self.later = None
        self.bare_since, self.clear = None, 0
        self.forget()

    def forget(self):
        """No episode is open: nothing of it was told."""
        self.open = self.used_up_told = self.paid = False
        self.rung = self.fell_from = self.overdue = self.last_rung = self.began = self.told = None
        self.mailed = {}

    def untold(self):
        """The same, as if nothing had been mailed of its episode."""
        fresh = copy.copy(self)
        fresh.forget()
        fresh.open, fresh.last_rung, fresh.began = True, self.last_rung, self.began
        return fresh

    # What a report says

    def read(self, now, trouble, forecast):
        """True where the episode is over with it."""
        self.failed = trouble is not None
        if self.failed:
            self.clear = 0
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
        # "A null `edd` is not good news by itself", and a report "without a single charge … is no good news": what is
        # mailed of the cut-off, and what to pay before it, is that of the report before.
        if is_clear or date is not None or (self.date is None and not self.gone):
            self.last, self.last_before = forecast, self.last
        if is_clear:
            self.clear += 1
            if self.clear >= 2:
                over, self.clear = self.open, 0
                self.date = self.computed = self.gone = self.later = None
                self.take_balance(now, forecast.balance)
                self.forget()
                return over
            return False
        self.clear = 0
        rose = False if doubted else self.take_balance(now, forecast.balance)
        if date is not None:
            self.take_date(now, date, computed, rose)
        elif not doubted and forecast.balance <= 0:
            self.gone = True
        return False

    def take_balance(self, now, balance):
        rose = self.balance is not None and balance > self.balance
        self.seen = [(at, amount) for at, amount in self.seen if now - at < DAY]
        if self.seen and balance > max(amount for _, amount in self.seen):
            # A payment: what was mailed may be mailed again.
            self.mailed = {event: at for event, at in self.mailed.items() if event.startswith("paid")}
        self.seen.append((now, balance))
        self.balance = balance
        if balance > 0 and self.used_up_told:
            self.used_up_told = False
        return rose

    def take_date(self, now, date, computed, rose):
        self.gone, self.dated_at = None, now
        before = self.date
        if not (self.open and before is not None and date > before):
            if before is not None and before - date > 3 * DAY:
                self.fell_from = before
            # "A date that moves back": a payment that nobody was told of and that was taken back moved none.
            self.paid = self.paid and (self.told is None or date > self.told)
            self.date, self.computed, self.later = date, computed, None
        elif computed and before <= now and self.balance <= 0:
            """Past its date, and still nothing left: it stays overdue until reports show otherwise."""
        elif rose:
            self.date, self.computed, self.later = date, computed, None
            self.paid = self.paid or date > now
        else:
            since, earliest, _ = self.later or (now, date, date)
            self.later = (since, min(earliest, date), date)
            if now - since >= HOUR:
                self.date, self.computed, self.later = min(earliest, date), computed, None
        if self.fell_from is not None and self.fell_from - self.date <= 3 * DAY:
            self.fell_from = None

    # What is due

    def day(self, moment):
        return datetime.datetime.fromtimestamp(moment, UTC).astimezone(self.zone).date().isoformat()

    def days_later(self, moment, days):
        """"Mailed again daily": at the same time of the day, also where a day has 23 hours or 25."""
        local = datetime.datetime.fromtimestamp(moment, UTC).astimezone(self.zone).replace(tzinfo=None)
        return (local + datetime.timedelta(days=days)).replace(tzinfo=self.zone).timestamp()

    def tightest(self, now, margin=0):
        left = self.date - now
        return min((rung for rung in self.rungs if left <= (rung + margin) * DAY), default=None)

    def is_overdue(self, now):
        return bool(self.gone) or (self.date is not None and self.date <= now)

    def explains(self, now):
        """Does it explain what is off? "What a cause covers is listed in its mail": where one good report of two holds that
        mail back, nobody would know."""
        held_back = self.clear and self.overdue is None
        return self.used_up_told or (self.is_overdue(now) and not held_back)

    def due(self, now, acknowledged=False):
        """What must be mailed, each by the events of which one has to come; and what may be."""
        if self.clear:
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

        if self.open and self.paid:
            return [{f"paid:{self.day(self.date)}"}], may
        left_behind = self.rung is not None and (
            self.rung == 0 or self.date - now > (self.rung + 1) * DAY)
        if left_behind:
            add(f"extended:{self.day(self.date)}", "extended")
        if self.balance is not None and self.balance <= 0 and not self.used_up_told:
            add("balance-used-up")
        current = self.tightest(now)
        if current is None:
            return must, may
        if self.rung is None or current < self.rung:
            add(f"rung:{current}")
        elif self.fell_from is not None and not left_behind and self.open:
            add(f"extended:{self.day(self.date)}", f"earlier:{self.date}")
        return must, may

    def due_overdue(self, now, acknowledged):
        cut_off = None if self.gone else self.date
        if self.overdue is None:
            at = self.mailed.get("rung:0")
            again = at is not None and now - at < DAY and self.mailed.get("cut-off") == cut_off
            return ([], {"rung:0"}) if again else ([{"rung:0"}], set())
        told = self.overdue
        if cut_off is not None and cut_off > told["at"] and cut_off != told["cut off"]:
            return [{"rung:0"}], set()
        begin = cut_off if cut_off is not None else told["at"]
        ends = self.deletion if self.deletion and cut_off is not None else None
        near = {} if ends is None else {ends - left: left for left in (7, 3, 1, 0) if ends - left > 0}
        days = [day for day in range(1, 38) if (day <= 7 or (day - 7) % 3 == 0) and (ends is None or day < ends)]
        due = {}
        for day in sorted({*days, *near}):
            moment = begin + day * DAY if day in near else self.days_later(begin, day)
            if told["mailed"] < moment <= now:
                if day in near:
                    due[moment] = f"deletion:{near[day]}"
                elif not acknowledged:
                    due[moment] = f"overdue:{self.day(moment)}"
        due = {moment: event for moment, event in due.items() if event not in told["events"]}
        if not due:
            return [], set()
        soon = all(moment - told["mailed"] < REMINDER_PAUSE and event.startswith("overdue")
                   for moment, event in due.items())
        return ([], set(due.values())) if soon else ([set(due.values())], set())

    # What was mailed

    def took(self, now, event):
        name = event.split(":")[0]
        self.open = True
        self.began = self.began or now
        self.told = self.date
        if name == "rung":
            self.last_rung = now
        self.mailed["extended" if name == "extended" else event] = now
        if name == "rung" and event != "rung:0":
            self.rung = int(event[5:])
        elif event == "rung:0":
            self.rung, self.mailed["cut-off"] = 0, None if self.gone else self.date
            self.overdue = {"at": now, "mailed": now, "cut off": None if self.gone else self.date, "events": set()}
        elif name in ("overdue", "deletion"):
            self.overdue["mailed"] = now
            self.overdue["events"].add(event)
        elif name == "paid":
            self.rung, self.overdue = self.tightest(now), None
        elif name == "extended":
            if self.fell_from is not None:
                self.mailed[f"earlier:{self.date}"] = now
            else:
                self.rung, self.overdue = self.tightest(now, 1), None
        if event == "balance-used-up":
            self.used_up_told = True
        else:
            self.paid, self.fell_from = False, None
